/* Inflating: every format that HTTP knows is read back; what is cut, damaged or followed by
 * anything is refused; the bound holds to the byte, however well the text packs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/attr.h"
#include "base/inflate.h"
#include "base/mem.h"

#define TEXT "{\"id\":\"evt_1\",\"text\":\"webhook webhook webhook\"}"
#define GZIP 31
#define ZLIB 15
#define RAW (-15)

/* Appends `text` packed with zlib's windowBits `bits`. */
static void pack(struct buf *out, struct str text, int bits)
{
    z_stream stream = {0};

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (z_const Bytef *)text.ptr;
    stream.avail_in = (uInt)text.len;
    stream.avail_out = (uInt)deflateBound(&stream, text.len);
    stream.next_out = (Bytef *)buf_reserve(out, stream.avail_out);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->len += stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void assert_inflates(struct str packed, enum inflate_format format, size_t max,
                            enum inflate_result want, const char *text)
{
    struct buf out;

    buf_init(&out, max);
    assert_int_equal(inflate_text(packed, format, &out), want);
    if (want == INFLATE_OK) {
        assert_int_equal(out.len, strlen(text));
        assert_memory_equal(buf_str(&out).ptr, text, out.len);
    }
    assert_true(out.size <= (max > 256 ? max : 256));
    buf_release(&out);
}

static void test_every_format_is_read_back(void **state)
{
    static const struct {
        int bits;
        enum inflate_format format;
    } cases[] = {{GZIP, INFLATE_GZIP},
                 {ZLIB, INFLATE_DEFLATE},
                 {RAW, INFLATE_DEFLATE},
                 {9, INFLATE_DEFLATE},
                 {-9, INFLATE_DEFLATE}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf packed, empty;

        buf_init(&packed, BUF_NO_CAP);
        buf_init(&empty, BUF_NO_CAP);
        pack(&packed, STR(TEXT), cases[i].bits);
        assert_inflates(buf_str(&packed), cases[i].format, 1000, INFLATE_OK, TEXT);
        pack(&empty, STR(""), cases[i].bits);
        assert_inflates(buf_str(&empty), cases[i].format, 1000, INFLATE_OK, "");
        buf_release(&packed);
        buf_release(&empty);
    }
}

static void test_gzip_of_several_members_is_one_text(void **state)
{
    struct buf packed;

    (void)state;
    buf_init(&packed, BUF_NO_CAP);
    pack(&packed, STR("one "), GZIP);
    pack(&packed, STR(""), GZIP);
    pack(&packed, STR("two"), GZIP);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, 7, INFLATE_OK, "one two");
    assert_inflates(buf_str(&packed), INFLATE_GZIP, 6, INFLATE_TOO_LARGE, NULL);
    buf_release(&packed);
}

/* Wherever it is cut, and whatever follows it. */
static void test_cut_and_followed_streams_are_bad(void **state)
{
    static const int bits[] = {GZIP, ZLIB, RAW};
    static const struct str tails[] = {{"\0", 1}, {"\n", 1}, {"\x1f\x8b", 2}, {TEXT, 10}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        enum inflate_format format = bits[i] == GZIP ? INFLATE_GZIP : INFLATE_DEFLATE;
        struct buf packed;
        size_t len;

        buf_init(&packed, BUF_NO_CAP);
        pack(&packed, STR(TEXT), bits[i]);
        len = packed.len;
        for (size_t cut = 0; cut < len; cut++)
            assert_inflates((struct str){packed.data, cut}, format, 1000, INFLATE_BAD, NULL);
        for (size_t j = 0; j < ARRAY_LEN(tails); j++) {
            packed.len = len;
            buf_put_str(&packed, tails[j]);
            assert_inflates(buf_str(&packed), format, 1000, INFLATE_BAD, NULL);
        }
        packed.len = len;
        if (format == INFLATE_DEFLATE) { /* a second stream is not a second member */
            pack(&packed, STR(TEXT), bits[i]);
            assert_inflates(buf_str(&packed), format, 1000, INFLATE_BAD, NULL);
        }
        buf_release(&packed);
    }
}

static void test_what_is_not_that_format_is_bad(void **state)
{
    struct buf gzip, zlib;

    (void)state;
    assert_inflates(STR(TEXT), INFLATE_GZIP, 1000, INFLATE_BAD, NULL);
    assert_inflates(STR(TEXT), INFLATE_DEFLATE, 1000, INFLATE_BAD, NULL);
    assert_inflates(STR_NONE, INFLATE_GZIP, 1000, INFLATE_BAD, NULL);
    assert_inflates(STR_NONE, INFLATE_DEFLATE, 1000, INFLATE_BAD, NULL);
    buf_init(&gzip, BUF_NO_CAP);
    buf_init(&zlib, BUF_NO_CAP);
    pack(&gzip, STR(TEXT), GZIP);
    pack(&zlib, STR(TEXT), ZLIB);
    assert_inflates(buf_str(&gzip), INFLATE_DEFLATE, 1000, INFLATE_BAD, NULL);
    assert_inflates(buf_str(&zlib), INFLATE_GZIP, 1000, INFLATE_BAD, NULL);
    buf_release(&gzip);
    buf_release(&zlib);
}

static void test_checksums_and_lengths_are_checked(void **state)
{
    struct buf gzip, zlib;

    (void)state;
    buf_init(&gzip, BUF_NO_CAP);
    buf_init(&zlib, BUF_NO_CAP);
    pack(&gzip, STR(TEXT), GZIP);
    pack(&zlib, STR(TEXT), ZLIB);
    for (size_t i = 1; i <= 8; i++) { /* CRC-32 and length */
        gzip.data[gzip.len - i] ^= 1;
        assert_inflates(buf_str(&gzip), INFLATE_GZIP, 1000, INFLATE_BAD, NULL);
        gzip.data[gzip.len - i] ^= 1;
    }
    for (size_t i = 1; i <= 4; i++) { /* Adler-32 */
        zlib.data[zlib.len - i] ^= 1;
        assert_inflates(buf_str(&zlib), INFLATE_DEFLATE, 1000, INFLATE_BAD, NULL);
        zlib.data[zlib.len - i] ^= 1;
    }
    assert_inflates(buf_str(&gzip), INFLATE_GZIP, 1000, INFLATE_OK, TEXT);
    assert_inflates(buf_str(&zlib), INFLATE_DEFLATE, 1000, INFLATE_OK, TEXT);
    buf_release(&gzip);
    buf_release(&zlib);
}

static void test_the_bound_is_exact(void **state)
{
    struct buf packed;
    size_t len = sizeof(TEXT) - 1;

    (void)state;
    buf_init(&packed, BUF_NO_CAP);
    pack(&packed, STR(TEXT), GZIP);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, len, INFLATE_OK, TEXT);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, len - 1, INFLATE_TOO_LARGE, NULL);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, 0, INFLATE_TOO_LARGE, NULL);
    buf_release(&packed);
}

/* Field report A15: 130 KB that hold 128 MiB. assert_inflates() looks at the memory. */
static void test_a15_a_bomb_is_given_up_at_the_bound(void **state)
{
    size_t len = (size_t)128 * 1024 * 1024;
    char *zeros = mem_alloc(len);
    struct buf packed;

    (void)state;
    buf_init(&packed, BUF_NO_CAP);
    pack(&packed, (struct str){zeros, len}, GZIP);
    free(zeros);
    assert_true(packed.len < 200 * 1024);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, 1024 * 1024, INFLATE_TOO_LARGE, NULL);
    buf_release(&packed);
}

/* RFC 1952 section 2.3.1: a header with everything in it, and one that asks for a dictionary. */
static void test_odd_headers(void **state)
{
    static const char full[] = "\x1f\x8b\x08\x1c\0\0\0\0\0\xff"
                               "\x02\x00xx"
                               "name\0comment\0";
    static const unsigned char dictionary[] = {0x78, 0xbb, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1};
    struct buf packed, plain;

    (void)state;
    buf_init(&packed, BUF_NO_CAP);
    buf_init(&plain, BUF_NO_CAP);
    pack(&plain, STR(TEXT), GZIP);
    buf_put(&packed, full, sizeof(full) - 1);
    buf_put(&packed, plain.data + 10, plain.len - 10);
    assert_inflates(buf_str(&packed), INFLATE_GZIP, 1000, INFLATE_OK, TEXT);
    assert_inflates((struct str){(const char *)dictionary, sizeof(dictionary)}, INFLATE_DEFLATE,
                    1000, INFLATE_BAD, NULL);
    buf_release(&packed);
    buf_release(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format_is_read_back),
        cmocka_unit_test(test_gzip_of_several_members_is_one_text),
        cmocka_unit_test(test_cut_and_followed_streams_are_bad),
        cmocka_unit_test(test_what_is_not_that_format_is_bad),
        cmocka_unit_test(test_checksums_and_lengths_are_checked),
        cmocka_unit_test(test_the_bound_is_exact),
        cmocka_unit_test(test_a15_a_bomb_is_given_up_at_the_bound),
        cmocka_unit_test(test_odd_headers),
    };

    return cmocka_run_group_tests_name("inflate", tests, NULL, NULL);
}
