/* A provider as ingest uses it: from a request to an event, or the refusal that the contract's
 * order names first (field reports A17, A18, A26). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/codec.h"
#include "provider/provider.h"

#define NOW_US (1700000000 * INT64_C(1000000))
#define HMAC                                                                                       \
    "[provider h]\nverify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\n"          \
    "secret = text:k0-k0-k0-k0-k0-k0\nevent_id = body:/id\nkey = body:/k\nevent_type = "           \
    "header:X-Type | body:/t\non = ignore\n"
#define STRIPE "[provider s]\nverify = stripe\nsecret = text:whsec_0123456789abcdef\non = ignore\n"
#define NONE "[provider n]\nverify = none\nevent_id = body:/id | header:X-Id\non = ignore\n"
#define RAW "[provider r]\nverify = none\nformat = raw\nevent_id = body:/id | sha256\non = ignore\n"

struct subject {
    const struct config *config;
    struct provider *provider;
    struct arena *arena;
    struct header headers[8];
    struct request request;
    struct event event;
};

static struct subject *subject_of(const char *text)
{
    static struct subject subject;
    struct mistakes *mistakes = mistakes_new();

    memset(&subject, 0, sizeof(subject));
    subject.config = config_parse("t.conf", str_from(text), mistakes);
    assert_non_null(subject.config);
    subject.provider = provider_new(&subject.config->providers[0], mistakes);
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning)
            print_error("%s\n", mistakes_get(mistakes, i)->text);
    assert_non_null(subject.provider);
    mistakes_free(mistakes);
    subject.arena = arena_new(1024);
    subject.request = (struct request){.method = STR("POST"),
                                       .target = STR("/webhooks/h"),
                                       .headers = subject.headers,
                                       .source_ip = STR("192.0.2.1"),
                                       .received_us = NOW_US};
    return &subject;
}

static void release(struct subject *subject)
{
    provider_free(subject->provider);
    arena_free(subject->arena);
    config_unref(subject->config);
}

static void put_header(struct subject *subject, const char *name, const char *value)
{
    subject->headers[subject->request.header_count++] =
        (struct header){str_from(name), str_from(value)};
}

static void sign(struct subject *subject, int64_t age_s, bool bad)
{
    struct err err;
    size_t count;

    assert_int_equal(provider_sign(subject->provider, &subject->request, age_s, bad, subject->arena,
                                   subject->headers + subject->request.header_count, 3, &count,
                                   &err),
                     0);
    subject->request.header_count += count;
}

/* Reads one event; *events must be untouched where the request is refused. */
static enum refusal read_request(struct subject *subject)
{
    struct provider_events events = {.count = 77};
    enum refusal refusal =
        provider_read(subject->provider, &subject->request, subject->arena, &events);

    if (refusal != REFUSAL_NONE) {
        assert_null(events.list);
        assert_int_equal(events.count, 77);
        return refusal;
    }
    assert_int_equal(events.count, 1);
    subject->event = events.list[0];
    return refusal;
}

static enum refusal read_signed(const char *config, struct str body)
{
    struct subject *subject = subject_of(config);
    enum refusal refusal;

    subject->request.body = body;
    sign(subject, 0, false);
    refusal = read_request(subject);
    release(subject);
    return refusal;
}

static void assert_str(struct str s, const char *want)
{
    if (!s.ptr || !str_is(s, want))
        fail_msg("\"%.*s\", not \"%s\"", STR_ARG(s), want);
}

static void test_an_event_with_all_its_parts(void **state)
{
    struct subject *subject = subject_of(HMAC);
    char hex[CODEC_HEX_SIZE(32)];

    (void)state;
    subject->request.body = STR("{\"id\":\"e1\",\"k\":7}");
    put_header(subject, "X-Type", "made");
    sign(subject, 0, false);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_str(subject->event.provider, "h");
    assert_str(subject->event.id, "e1");
    assert_str(subject->event.type, "made");
    assert_str(subject->event.key, "7");
    assert_str(subject->event.body, "{\"id\":\"e1\",\"k\":7}");
    assert_str(subject->event.source_ip, "192.0.2.1");
    assert_null(subject->event.document.ptr);
    assert_true(subject->event.has_payload);
    assert_false(subject->event.payload_repaired);
    assert_true(subject->event.signature_verified);
    assert_true(str_starts(subject->event.headers, STR("{\"x-type\":\"made\",\"x-sig\":\"")));
    codec_hex_encode(subject->event.body_sha256, 32, hex);
    assert_string_equal(hex, "8acbc3c7a417d8ee4f59a60897fb98a7b419c55b7987e3525f3f036cf416b846");
    release(subject);
}

/* Whatever the header is called. */
static void test_a_header_that_shows_the_secret_is_not_kept(void **state)
{
    struct subject *subject =
        subject_of("[provider h]\nverify = token\nsignature = header:X-Hook\n"
                   "secret = text:0123456789abcdef\nevent_id = sha256\non = ignore\n");

    (void)state;
    subject->request.body = STR("{}");
    sign(subject, 0, false);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_str(subject->event.headers, "{\"x-hook\":\"[redacted]\"}");
    release(subject);
}

static void test_what_is_not_there_is_absent(void **state)
{
    struct subject *subject = subject_of(HMAC);

    (void)state;
    subject->request.body = STR("{\"id\":1,\"k\":null}");
    subject->request.source_ip = STR_NONE;
    sign(subject, 0, false);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_null(subject->event.type.ptr);
    assert_null(subject->event.key.ptr);
    assert_null(subject->event.source_ip.ptr);
    release(subject);
}

/* Each row's request is wrong in everything that comes after its refusal, too. */
static void test_refusals_come_in_the_contracts_order(void **state)
{
    static const struct {
        const char *body;
        bool no_signature, bad;
        int64_t age_s;
        enum refusal want;
    } cases[] = {
        {"{", true, false, 0, REFUSAL_MISSING_SIGNATURE},
        {"{", false, true, 9000, REFUSAL_BAD_SIGNATURE},
        {"{", false, false, 9000, REFUSAL_STALE_TIMESTAMP},
        {"{", false, false, -9000, REFUSAL_STALE_TIMESTAMP},
        {"{", false, false, 0, REFUSAL_INVALID_JSON},
        {"", false, false, 0, REFUSAL_INVALID_JSON},
        {"{}", false, false, 0, REFUSAL_MISSING_EVENT_ID},
        {"{\"id\":\"\"}", false, false, 0, REFUSAL_MISSING_EVENT_ID},
        {"{\"id\":\"evt_1\"}", false, false, 300, REFUSAL_NONE},
        {"{\"id\":\"evt_1\"}", false, false, -300, REFUSAL_NONE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct subject *subject = subject_of(STRIPE);

        subject->request.body = str_from(cases[i].body);
        if (!cases[i].no_signature)
            sign(subject, cases[i].age_s, cases[i].bad);
        assert_int_equal(read_request(subject), cases[i].want);
        release(subject);
    }
}

static void test_without_verification_nothing_is_verified(void **state)
{
    struct subject *subject = subject_of(NONE);

    (void)state;
    put_header(subject, "X-Id", "h1");
    subject->request.body = STR("{}");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_false(subject->event.signature_verified);
    assert_str(subject->event.id, "h1");
    subject->request.body = STR("{");
    assert_int_equal(read_request(subject), REFUSAL_INVALID_JSON);
    release(subject);
}

static void test_raw_bodies_are_any_bytes(void **state)
{
    struct subject *subject = subject_of(RAW);

    (void)state;
    subject->request.body = STR("{\"id\":\"not looked at\"}\xff");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_false(subject->event.has_payload);
    assert_null(subject->event.document.ptr);
    assert_int_equal(subject->event.id.len, 64);
    subject->request.body = STR("");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_str(subject->event.id,
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    release(subject);
}

static void test_a17_the_content_type_is_never_a_reason(void **state)
{
    static const char *const types[] = {"text/plain; charset=UTF-8",
                                        "application/json;charset=\"utf-8\"",
                                        "application/cloudevents+json", "", "\xff"};

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(types); i++) {
        struct subject *subject = subject_of(HMAC);

        subject->request.body = STR("{\"id\":\"a17\"}");
        if (i < ARRAY_LEN(types)) {
            put_header(subject, "Content-Type", types[i]);
            put_header(subject, "Content-Type", "text/plain");
        }
        sign(subject, 0, false);
        assert_int_equal(read_request(subject), REFUSAL_NONE);
        assert_str(subject->event.id, "a17");
        release(subject);
    }
}

static void test_a18_bytes_that_are_no_utf8_are_no_json(void **state)
{
    static const char *const bodies[] = {"{\"id\":\"a18\",\"v\":\"\xff\"}",
                                         "{\"id\":\"a18\",\"v\":\"\xc0\x80\"}",
                                         "{\"id\":\"a18\",\"v\":\"\xed\xa0\x80\"}",
                                         "{\"id\":\"a18\",\"v\":\"caf\xe9\"}",
                                         "{\"id\":\"a18\",\"v\":\"\xf0\x9f\x98\"}",
                                         "{\"id\":\"a18\",\"v\xff\":1}",
                                         "{\"id\":\"a18\"}\xff"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        assert_int_equal(read_signed(HMAC, str_from(bodies[i])), REFUSAL_INVALID_JSON);
    assert_int_equal(read_signed(HMAC, (struct str){"{\"id\":\"a\0b\"}", 12}),
                     REFUSAL_INVALID_JSON);
    assert_int_equal(read_signed(HMAC, STR("{\"id\":\"caf\xc3\xa9\"}")), REFUSAL_NONE);
}

/* What jsonb cannot hold is repaired in `document`; the body stays. */
static void test_documents_that_jsonb_cannot_hold(void **state)
{
    struct subject *subject = subject_of(HMAC);

    (void)state;
    subject->request.body = STR("{\"id\":\"a01\",\"v\":\"x\\u0000y\"}");
    sign(subject, 0, false);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_true(subject->event.payload_repaired);
    assert_str(subject->event.document, "{\"id\":\"a01\",\"v\":\"x\xef\xbf\xbdy\"}");
    assert_str(subject->event.body, "{\"id\":\"a01\",\"v\":\"x\\u0000y\"}");
    release(subject);
    subject = subject_of(HMAC);
    subject->request.body = STR("\xef\xbb\xbf{\"id\":\"bom\"} ");
    sign(subject, 0, false);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_false(subject->event.payload_repaired);
    assert_str(subject->event.document, "{\"id\":\"bom\"}");
    release(subject);
}

static void test_the_halves_are_the_whole(void **state)
{
    struct subject *subject = subject_of(STRIPE);
    struct provider_events events;
    bool verified = false;

    (void)state;
    subject->request.body = STR("{\"id\":\"evt_1\",\"type\":\"t\"}");
    assert_int_equal(provider_verify(subject->provider, &subject->request, &verified),
                     REFUSAL_MISSING_SIGNATURE);
    assert_int_equal(
        provider_parse(subject->provider, &subject->request, false, subject->arena, &events),
        REFUSAL_NONE);
    assert_false(events.list[0].signature_verified);
    assert_str(events.list[0].id, "evt_1");
    sign(subject, 0, false);
    assert_int_equal(provider_verify(subject->provider, &subject->request, &verified),
                     REFUSAL_NONE);
    assert_true(verified);
    assert_ptr_equal(provider_config(subject->provider), &subject->config->providers[0]);
    release(subject);
}

/* ---- sections that cannot work ---- */

#define SIGNED "signature = header:X-Sig hex\nsigned = {body}\n"

static const struct {
    const char *text, *want;
} wrong[] = {
    {"[provider p]\nverify = hmac-sha256\nsecret = text:0123456789abcdef\n" SIGNED
     "event_id = id\non = ignore\n",
     "6: provider \"p\": event_id: \"id\" is no source; write body:/POINTER, header:NAME, "
     "query:NAME, sha256 or 'literal'\n"},
    {"[provider p]\nverify = none\nevent_id = body:/id\nevent_type = x\nkey = y\non = ignore\n",
     "4: provider \"p\": event_type: \"x\" is no source; write body:/POINTER, header:NAME, "
     "query:NAME, sha256 or 'literal'\n"
     "5: provider \"p\": key: \"y\" is no source; write body:/POINTER, header:NAME, query:NAME, "
     "sha256 or 'literal'\n"},
    {"[provider p]\nverify = hmac-sha256\nsecret = text:c2hvcnQ=\n" SIGNED
     "secret_encoding = base64\nsecret = text:0123456789abcdef\nevent_id = body:/id\non = ignore\n",
     "3: provider \"p\": secret decodes to 5 bytes; it needs at least 8\n"},
    {"[provider p]\nverify = hmac-sha256\nsecret = text:0123456789abcdef\nevent_id = body:/id\n"
     "on = ignore\n",
     "1: provider \"p\": signature is missing; write, for example, signature = header:X-Signature "
     "hex\n1: provider \"p\": signed is missing; write, for example, signed = {body}\n"},
    {"[provider p]\nverify = standard-webhooks\nsecret = text:whsec_!!!!\non = ignore\n",
     "3: provider \"p\": secret is not base64 (after an optional \"whsec_\"); copy it as the "
     "provider shows it\n"},
    {"[provider p]\nverify = hmac-sha256\n" SIGNED "secret_encoding = utf8\n"
     "secret = text:0123456789abcdef\nevent_id = body:/id\non = ignore\n",
     "5: provider \"p\": secret_encoding is one of raw, hex, base64, whsec or jwk\n"},
};

static void test_mistakes_have_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct mistakes *mistakes = mistakes_new();
        struct config *config = config_parse("t.conf", str_from(wrong[i].text), mistakes);
        struct buf said;

        buf_init(&said, BUF_NO_CAP);
        assert_non_null(config);
        assert_int_equal(mistakes_errors(mistakes), 0);
        mistakes_free(mistakes);
        mistakes = mistakes_new();
        assert_null(provider_new(&config->providers[0], mistakes));
        for (size_t j = 0; j < mistakes_count(mistakes); j++) {
            assert_string_equal(mistakes_get(mistakes, j)->file, "t.conf");
            buf_printf(&said, "%d: %s\n", mistakes_get(mistakes, j)->line,
                       mistakes_get(mistakes, j)->text);
        }
        buf_put_char(&said, '\0');
        assert_string_equal(said.data, wrong[i].want);
        buf_release(&said);
        mistakes_free(mistakes);
        config_unref(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_with_all_its_parts),
        cmocka_unit_test(test_a_header_that_shows_the_secret_is_not_kept),
        cmocka_unit_test(test_what_is_not_there_is_absent),
        cmocka_unit_test(test_refusals_come_in_the_contracts_order),
        cmocka_unit_test(test_without_verification_nothing_is_verified),
        cmocka_unit_test(test_raw_bodies_are_any_bytes),
        cmocka_unit_test(test_a17_the_content_type_is_never_a_reason),
        cmocka_unit_test(test_a18_bytes_that_are_no_utf8_are_no_json),
        cmocka_unit_test(test_documents_that_jsonb_cannot_hold),
        cmocka_unit_test(test_the_halves_are_the_whole),
        cmocka_unit_test(test_mistakes_have_file_and_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
