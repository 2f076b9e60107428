/* signed_body: signatures over what came or over what it holds, and what a stranger may have
 * inflated (field reports A14, A15). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/buf.h"
#include "provider/provider.h"
#include "requests.h"

#define SECRET "k0-k0-k0-k0-k0-k0"
#define BODY                                                                                       \
    "{\"id\":\"evt_1\",\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"
#define SECTION                                                                                    \
    "[provider p]\nverify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\n"          \
    "secret = text:" SECRET "\nevent_id = body:/id\non = ignore\nmax_body = 1K\n"
#define INFLATED SECTION "signed_body = inflated\n"
#define GZIP 31
#define ZLIB 15

static void pack(struct buf *out, struct str text, int bits)
{
    z_stream stream = {0};

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    buf_init(out, BUF_NO_CAP);
    stream.next_in = (Bytef *)(uintptr_t)text.ptr;
    stream.avail_in = (uInt)text.len;
    stream.avail_out = (uInt)deflateBound(&stream, text.len);
    stream.next_out = (Bytef *)buf_reserve(out, stream.avail_out);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->len = stream.total_out;
    deflateEnd(&stream);
}

/* What is said about a request. `encoding`, `over` (what is signed): NULL for none. */
static enum refusal judge(const char *section, struct str body, const char *encoding,
                          const struct str *over)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(section), mistakes);
    struct provider *provider = config ? provider_new(&config->providers[0], mistakes) : NULL;
    struct arena *arena = arena_new(1024);
    struct provider_events events;
    struct test_request test;
    enum refusal refusal;

    assert_non_null(provider);
    request_begin(&test, body);
    if (encoding)
        request_add(&test, "Content-Encoding", str_from(encoding));
    if (over)
        request_add(&test, "X-Sig", str_from(hmac_hex(&test, EVP_sha256(), STR(SECRET), *over)));
    refusal = provider_read(provider, &test.request, arena, &events);
    if (refusal == REFUSAL_NONE) {
        assert_true(events.list[0].signature_verified);
        assert_true(str_is(events.list[0].id, "evt_1"));
        assert_true(str_equal(events.list[0].body, body)); /* as it came */
    }
    request_end(&test);
    arena_free(arena);
    provider_free(provider);
    config_unref(config);
    mistakes_free(mistakes);
    return refusal;
}

static void test_a14_what_came_is_signed(void **state)
{
    struct str text = STR(BODY), packed;
    struct buf buf;

    (void)state;
    pack(&buf, text, GZIP);
    packed = buf_str(&buf);
    assert_int_equal(judge(SECTION, packed, "gzip", &packed), REFUSAL_NONE);
    assert_int_equal(judge(SECTION, packed, "gzip", &text), REFUSAL_BAD_SIGNATURE);
    assert_int_equal(judge(SECTION "signed_body = sent\n", packed, "gzip", &packed), REFUSAL_NONE);
    buf_release(&buf);
}

static void test_a14_what_it_holds_is_signed_where_that_is_said(void **state)
{
    struct str text = STR(BODY), other = STR(BODY " ");
    static const struct {
        const char *encoding;
        int bits;
    } cases[] = {{"gzip", GZIP}, {"X-Gzip", GZIP}, {"deflate", ZLIB}, {"deflate", -ZLIB}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str packed;
        struct buf buf;

        pack(&buf, text, cases[i].bits);
        packed = buf_str(&buf);
        assert_int_equal(judge(INFLATED, packed, cases[i].encoding, &text), REFUSAL_NONE);
        assert_int_equal(judge(INFLATED, packed, cases[i].encoding, &packed),
                         REFUSAL_BAD_SIGNATURE);
        assert_int_equal(judge(INFLATED, packed, cases[i].encoding, &other), REFUSAL_BAD_SIGNATURE);
        assert_int_equal(judge(INFLATED, packed, NULL, &text), REFUSAL_BAD_SIGNATURE);
        buf_release(&buf);
    }
    assert_int_equal(judge(INFLATED, text, NULL, &text), REFUSAL_NONE);
    assert_int_equal(judge(INFLATED, text, "identity", &text), REFUSAL_NONE);
    assert_int_equal(judge(INFLATED, other, NULL, &text), REFUSAL_BAD_SIGNATURE);
}

/* Bounded by max_body, and nothing for who shows no signature. */
static void test_a15_what_a_stranger_may_have_inflated(void **state)
{
    char zeros[4096] = {0};
    struct str text = {zeros, sizeof(zeros)}, damaged = STR("\x1f\x8b no gzip"), packed;
    struct buf buf;

    (void)state;
    pack(&buf, text, GZIP);
    packed = buf_str(&buf);
    assert_int_equal(judge(INFLATED, packed, "gzip", &text), REFUSAL_BODY_TOO_LARGE);
    assert_int_equal(judge(INFLATED, packed, "gzip", NULL), REFUSAL_MISSING_SIGNATURE);
    assert_int_equal(judge(INFLATED, damaged, "gzip", &text), REFUSAL_INVALID_ENCODING);
    assert_int_equal(judge(INFLATED, damaged, "gzip", NULL), REFUSAL_MISSING_SIGNATURE);
    buf_release(&buf);
}

static void assert_mistake(const char *section, const char *want)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(section), mistakes);

    assert_non_null(config);
    assert_null(provider_new(&config->providers[0], mistakes));
    assert_int_equal(mistakes_errors(mistakes), 1);
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning)
            assert_string_equal(mistakes_get(mistakes, i)->text, want);
    config_unref(config);
    mistakes_free(mistakes);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_mistake(SECTION "signed_body = gunzipped\n",
                   "provider \"p\": signed_body is sent or inflated");
    assert_mistake("[provider p]\nverify = none\nevent_id = sha256\non = ignore\n"
                   "signed_body = inflated\n",
                   "provider \"p\": signed_body is not used with verify = none; take it away");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a14_what_came_is_signed),
        cmocka_unit_test(test_a14_what_it_holds_is_signed_where_that_is_said),
        cmocka_unit_test(test_a15_what_a_stranger_may_have_inflated),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
