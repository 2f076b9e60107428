/* Hexadecimal, base64 and percent-decoding: what is written is read back, and what is not exactly
 * that encoding is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/codec.h"

#define REFUSED (-1)

static void assert_hex(const char *text, const char *want, ssize_t want_len)
{
    unsigned char out[64];
    ssize_t len = codec_hex_decode(str_from(text), out, sizeof(out));

    assert_int_equal(len, want_len);
    if (len > 0)
        assert_memory_equal(out, want, (size_t)len);
}

static void test_hex_is_read_in_either_case(void **state)
{
    (void)state;
    assert_hex("00ff10aB", "\x00\xff\x10\xab", 4);
    assert_hex("DEADbeef", "\xde\xad\xbe\xef", 4);
    assert_hex("", "", 0);
}

static void test_hex_that_is_none_is_refused(void **state)
{
    static const char *const cases[] = {"0",    "000",  "0g", "g0",    "0x00",
                                        " 000", "000 ", "+0", "0\xc3", "00\n1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_hex(cases[i], "", REFUSED);
    /* A NUL is a byte like any other, and no digit. */
    assert_int_equal(codec_hex_decode((struct str){"0\0", 2}, (unsigned char[1]){0}, 1), REFUSED);
}

static void test_nothing_is_written_past_the_end(void **state)
{
    unsigned char out[4] = {9, 9, 9, 9};

    (void)state;
    assert_int_equal(codec_hex_decode(STR("0102"), out, 1), REFUSED);
    assert_int_equal(codec_hex_decode(STR("0102"), out, 2), 2);
    assert_int_equal(out[2], 9);
    assert_int_equal(codec_base64_decode(STR("AQID"), BASE64_STRICT, out, 2), REFUSED);
    assert_int_equal(codec_base64_decode(STR("AQI="), BASE64_STRICT, out, 2), 2);
    assert_int_equal(codec_base64_decode(STR("AQI"), BASE64_PADDING_OPTIONAL, out, 1), REFUSED);
    assert_int_equal(out[2], 9);
}

/* RFC 4648 section 10. */
static void test_base64_of_the_rfc(void **state)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        unsigned char out[16];
        char text[CODEC_BASE64_SIZE(6)];
        size_t len = strlen(vectors[i][0]);

        codec_base64_encode(vectors[i][0], len, false, text);
        assert_string_equal(text, vectors[i][1]);
        assert_int_equal(codec_base64_decode(str_from(text), BASE64_STRICT, out, sizeof(out)), len);
        assert_memory_equal(out, vectors[i][0], len);
    }
}

static const struct {
    const char *text;
    int flags;
    ssize_t len;
} base64_cases[] = {
    {"+/+/", BASE64_STRICT, 3},
    {"-_-_", BASE64_STRICT, REFUSED},
    {"-_-_", BASE64_URL, 3},
    {"+/+/", BASE64_URL, REFUSED},
    {"+_-/", BASE64_EITHER_ALPHABET, 3},
    {"Zg==", BASE64_STRICT, 1},
    {"Zg", BASE64_STRICT, REFUSED},
    {"Zg", BASE64_PADDING_OPTIONAL, 1},
    {"Zg=", BASE64_PADDING_OPTIONAL, REFUSED},
    {"Zg==", BASE64_PADDING_OPTIONAL, 1},
    {"Zh==", BASE64_STRICT, REFUSED}, /* spare bits that are not zero: a second text for "f" */
    {"Zm9=", BASE64_STRICT, REFUSED},
    {"Zm8", BASE64_PADDING_OPTIONAL, 2},
    {"Z", BASE64_PADDING_OPTIONAL, REFUSED},
    {"Zm9vY", BASE64_PADDING_OPTIONAL, REFUSED},
    {"Zg===", BASE64_STRICT, REFUSED},
    {"Z===", BASE64_STRICT, REFUSED},
    {"====", BASE64_STRICT, REFUSED},
    {"Zm9v====", BASE64_STRICT, REFUSED},
    {"Zg==Zg==", BASE64_STRICT, REFUSED},
    {"Zm9v Zm9", BASE64_STRICT, REFUSED},
    {" Zm9v", BASE64_PADDING_OPTIONAL, REFUSED},
    {"Zm9v\n", BASE64_PADDING_OPTIONAL, REFUSED},
    {"Zm9\xc3", BASE64_STRICT, REFUSED},
};

static void test_base64_is_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(base64_cases); i++) {
        unsigned char out[16];
        ssize_t len = codec_base64_decode(str_from(base64_cases[i].text), base64_cases[i].flags,
                                          out, sizeof(out));

        if (len != base64_cases[i].len)
            fail_msg("\"%s\" with %d: %zd, not %zd", base64_cases[i].text, base64_cases[i].flags,
                     len, base64_cases[i].len);
    }
}

/* Every byte, at every place of a group. */
static void test_what_is_written_is_read(void **state)
{
    unsigned char bytes[256 + 2], back[sizeof(bytes)];
    char text[CODEC_BASE64_SIZE(sizeof(bytes))], hex[CODEC_HEX_SIZE(sizeof(bytes))];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        codec_base64_encode(bytes, len, false, text);
        assert_int_equal(codec_base64_decode(str_from(text), BASE64_STRICT, back, len), len);
        assert_memory_equal(back, bytes, len);
        codec_base64_encode(bytes, len, true, text);
        assert_int_equal(codec_base64_decode(str_from(text), BASE64_URL, back, len), len);
        assert_memory_equal(back, bytes, len);
        codec_hex_encode(bytes, len, hex);
        assert_int_equal(codec_hex_decode(str_from(hex), back, len), len);
        assert_memory_equal(back, bytes, len);
    }
}

static void test_percent_decoding(void **state)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"", ""},         {"abc", "abc"},         {"a%20b+c", "a b c"},
        {"%2B%2b", "++"}, {"%C3%a9", "\xc3\xa9"}, {"a%", NULL},
        {"a%2", NULL},    {"%zz", NULL},          {"%2 ", NULL},
        {"%%20", NULL},   {"100%25", "100%"},     {"=&?", "=&?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[32];
        ssize_t len = codec_percent_decode(str_from(cases[i].text), out);

        assert_int_equal(len, cases[i].want ? (ssize_t)strlen(cases[i].want) : REFUSED);
        if (len > 0)
            assert_memory_equal(out, cases[i].want, (size_t)len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hex_is_read_in_either_case),
        cmocka_unit_test(test_hex_that_is_none_is_refused),
        cmocka_unit_test(test_nothing_is_written_past_the_end),
        cmocka_unit_test(test_base64_of_the_rfc),
        cmocka_unit_test(test_base64_is_strict),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_percent_decoding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
