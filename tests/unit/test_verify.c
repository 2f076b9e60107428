/* Signatures: what senders really send (field reports A04 to A10, A33), and every mistake in a
 * scheme's texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "verify/verify.h"

#define K0 "k0-k0-k0-k0-k0-k0"
#define K1 "k1-k1-k1-k1-k1-k1"
#define NOW 1700000000
#define NOTHING SIZE_MAX

/* The fixtures of the field reports: plain hexadecimal, Stripe's and Standard Webhooks' layout. */
static const struct verify_spec spec_h = {.algorithm = STR("hmac-sha256"),
                                          .signature = STR("header:X-Sig hex"),
                                          .signed_template = STR("{body}")};
static const struct verify_spec spec_s = {
    .algorithm = STR("hmac-sha256"),
    .signature = STR("header:Stripe-Signature split comma prefix v1= hex"),
    .timestamp = STR("item t= s"),
    .signed_template = STR("{ts}.{body}"),
    .tolerance = {300000, 300000}};
static const struct verify_spec spec_w = {
    .algorithm = STR("hmac-sha256"),
    .signature = STR("header:webhook-signature split space prefix v1, base64"),
    .timestamp = STR("header:webhook-timestamp s"),
    .signed_template = STR("{header:webhook-id}.{ts}.{body}"),
    .secret_encoding = STR("whsec"),
    .tolerance = {300000, 300000}};

static void fail_report(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    fail_msg("field %d, %zu: %s", (int)field, index, text);
}

static struct verify_scheme *scheme_with(struct verify_spec spec, const struct str *secrets,
                                         size_t count)
{
    spec.secrets = secrets;
    spec.secret_count = count;
    return verify_scheme_new(&spec, fail_report, NULL);
}

static struct verify_scheme *scheme_of(struct verify_spec spec, const char *secret)
{
    struct str text = str_from(secret);

    return scheme_with(spec, &text, 1);
}

/* Lower-case hexadecimal HMAC-SHA256. */
static const char *mac(const char *key, struct str bytes)
{
    static char hex[4][CODEC_HEX_SIZE(32)];
    static int next;
    char *out = hex[next++ % 4];
    struct digester *digester = digester_new_keyed(DIGEST_SHA256, str_from(key));
    unsigned char digest[DIGEST_MAX];

    digester_begin(digester);
    digester_add(digester, bytes);
    codec_hex_encode(digest, digester_end(digester, digest), out);
    digester_free(digester);
    return out;
}

static enum verify_result judge(struct verify_scheme *scheme, const struct header *headers,
                                size_t count, struct str body)
{
    struct request request = {.method = STR("POST"),
                              .target = STR("/webhooks/h"),
                              .headers = headers,
                              .header_count = count,
                              .body = body,
                              .received_us = NOW * 1000000LL + 400000};
    size_t secret = NOTHING;
    enum verify_result result = verify_request(scheme, &request, &secret);

    assert_int_equal(secret == NOTHING, result != VERIFY_VALID && result != VERIFY_STALE);
    return result;
}

static enum verify_result judge_one(struct verify_scheme *scheme, const char *name,
                                    const char *value, struct str body)
{
    struct header header = {str_from(name), str_from(value)};

    return judge(scheme, &header, 1, body);
}

/* ---- the body's bytes ---- */

static void test_a04_the_bytes_as_sent_are_signed(void **state)
{
    struct verify_scheme *scheme = scheme_of(spec_h, K0);
    struct str body = STR("{ \"b\":1,\r\n \"a\" : 1.0 ,\"id\":\"a04\" }\n");
    const char *good = mac(K0, body);

    (void)state;
    assert_int_equal(judge_one(scheme, "X-Sig", good, body), VERIFY_VALID);
    body.len--;
    assert_int_equal(judge_one(scheme, "X-Sig", good, body), VERIFY_BAD);
    verify_scheme_free(scheme);
}

static void test_a05_no_text_is_decoded_before_it_is_signed(void **state)
{
    static const char *const bodies[] = {
        "{\"id\":\"a05\",\"v\":\"\xf0\x9f\x98\x8a\"}", "{\"id\":\"a05\",\"v\":\"\\ud83d\\ude0a\"}",
        "{\"id\":\"a05\",\"v\":\"\\uD83D\\uDE0A\"}", "{\"id\":\"a05\",\"v\":\"\\\\ud83d\"}",
        "\xff\xfe not even text"};
    struct verify_scheme *scheme = scheme_of(spec_h, K0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        for (size_t j = 0; j < ARRAY_LEN(bodies); j++)
            assert_int_equal(
                judge_one(scheme, "X-Sig", mac(K0, str_from(bodies[j])), str_from(bodies[i])),
                i == j ? VERIFY_VALID : VERIFY_BAD);
    /* NULs and nothing at all are bytes too. */
    assert_int_equal(
        judge_one(scheme, "X-Sig", mac(K0, (struct str){"a\0b", 3}), (struct str){"a\0b", 3}),
        VERIFY_VALID);
    assert_int_equal(judge_one(scheme, "X-Sig", mac(K0, STR("")), STR("")), VERIFY_VALID);
    verify_scheme_free(scheme);
}

/* ---- several signatures, several secrets ---- */

static void test_a07_any_offered_signature_may_fit(void **state)
{
    struct verify_scheme *scheme = scheme_of(spec_s, K0);
    const char *good = mac(K0, STR("1700000000.{}")), *bad = mac(K1, STR("1700000000.{}"));
    struct buf value;
    static const struct {
        const char *form; /* G: the right one, B: a wrong one */
        enum verify_result want;
    } cases[] = {
        {"t=1700000000,v1=B,v1=G", VERIFY_VALID},
        {"v1=G,t=1700000000,v0=x", VERIFY_VALID},
        {"t=1700000000, v1=B, v1=G", VERIFY_VALID},
        {"t=1700000000,v1=,v1=G,", VERIFY_VALID},
        {",,v1=G,,t=1700000000", VERIFY_VALID},
        {"t=1700000000,v1=B", VERIFY_BAD},
        {"t=1700000000,v0=G", VERIFY_BAD},
        {"t=1700000000,V1=G", VERIFY_BAD},
        {"t=1700000000", VERIFY_BAD},
        {"v1=G", VERIFY_BAD},
        {"t=1700000000,t=1700000000,v1=G", VERIFY_BAD},
        {"t=1700000000,t=1700000001,v1=G", VERIFY_BAD},
        {"t=1700000000;v1=G", VERIFY_BAD},
        {"G", VERIFY_BAD},
        {"", VERIFY_BAD},
    };

    (void)state;
    buf_init(&value, BUF_NO_CAP);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&value);
        for (const char *c = cases[i].form; *c; c++)
            buf_put_str(&value, *c == 'G'   ? str_from(good)
                                : *c == 'B' ? str_from(bad)
                                            : (struct str){c, 1});
        buf_put_char(&value, '\0');
        if (judge_one(scheme, "Stripe-Signature", value.data, STR("{}")) != cases[i].want)
            fail_msg("%s", cases[i].form);
    }
    buf_release(&value);
    verify_scheme_free(scheme);
}

static void test_a07_two_hundred_wrong_ones_and_a_right_one(void **state)
{
    struct verify_scheme *scheme = scheme_of(spec_s, K0);
    struct buf value;

    (void)state;
    buf_init(&value, BUF_NO_CAP);
    buf_put_str(&value, STR("t=1700000000"));
    for (int i = 0; i < 200; i++)
        buf_printf(&value, ",v1=%064x", i);
    buf_put_char(&value, '\0');
    assert_int_equal(judge_one(scheme, "Stripe-Signature", value.data, STR("{}")), VERIFY_BAD);
    value.len--;
    buf_printf(&value, ",v1=%s", mac(K0, STR("1700000000.{}")));
    buf_put_char(&value, '\0');
    assert_int_equal(judge_one(scheme, "Stripe-Signature", value.data, STR("{}")), VERIFY_VALID);
    buf_release(&value);
    verify_scheme_free(scheme);
}

static void test_a07_standard_webhooks_lists(void **state)
{
    /* base64 of K0 */
    struct verify_scheme *scheme = scheme_of(spec_w, "whsec_azAtazAtazAtazAtazAtazA=");
    unsigned char digest[32];
    char base64[CODEC_BASE64_SIZE(32)], value[400];
    struct header headers[] = {{STR("webhook-id"), STR("msg_1")},
                               {STR("webhook-timestamp"), STR("1700000000")},
                               {STR("Webhook-Signature"), STR_NONE}};

    (void)state;
    codec_hex_decode(str_from(mac(K0, STR("msg_1.1700000000.{}"))), digest, 32);
    codec_base64_encode(digest, 32, false, base64);
    snprintf(value, sizeof(value), "v1,AAAA v1,%s v1a,x", base64);
    headers[2].value = str_from(value);
    assert_int_equal(judge(scheme, headers, 3, STR("{}")), VERIFY_VALID);
    assert_int_equal(judge(scheme, headers, 3, STR("{} ")), VERIFY_BAD);
    assert_int_equal(judge(scheme, headers, 2, STR("{}")), VERIFY_MISSING);
    assert_int_equal(judge(scheme, headers + 1, 2, STR("{}")), VERIFY_MISSING);
    headers[0].value = STR("msg_2");
    assert_int_equal(judge(scheme, headers, 3, STR("{}")), VERIFY_BAD);
    verify_scheme_free(scheme);
}

static void test_a07_the_older_secret_still_counts(void **state)
{
    struct str secrets[] = {STR(K1), STR(K0)};
    struct verify_scheme *scheme = scheme_with(spec_h, secrets, 2);
    struct header header = {STR("X-Sig"), str_from(mac(K0, STR("{}")))};
    struct request request = {.headers = &header, .header_count = 1, .body = STR("{}")};
    size_t secret = NOTHING;

    (void)state;
    assert_int_equal(verify_request(scheme, &request, &secret), VERIFY_VALID);
    assert_int_equal(secret, 1);
    header.value = str_from(mac(K1, STR("{}")));
    assert_int_equal(verify_request(scheme, &request, &secret), VERIFY_VALID);
    assert_int_equal(secret, 0);
    assert_int_equal(verify_request(scheme, &request, NULL), VERIFY_VALID);
    verify_scheme_free(scheme);
}

/* ---- the clock ---- */

static enum verify_result judge_time_text(struct verify_scheme *scheme, const char *time)
{
    char text[200], value[400];

    snprintf(text, sizeof(text), "%s.{}", time);
    snprintf(value, sizeof(value), "t=%s,v1=%s", time, mac(K0, str_from(text)));
    return judge_one(scheme, "Stripe-Signature", value, STR("{}"));
}

static void test_a08_the_window_has_two_sides(void **state)
{
    static const struct {
        const char *time;
        enum verify_result want;
    } cases[] = {
        {"1699999701", VERIFY_VALID},
        {"1699999700", VERIFY_VALID},
        {"1699999699", VERIFY_STALE},
        {"1700000299", VERIFY_VALID},
        {"1700000300", VERIFY_VALID},
        {"1700000301", VERIFY_STALE},
        {"0", VERIFY_STALE},
        {"-1", VERIFY_STALE},
        {"99999999999999999999", VERIFY_STALE},
        {"9223372036854775807", VERIFY_STALE},
        {"9223372036854", VERIFY_STALE},
        {"9223372036855", VERIFY_STALE},
        {"", VERIFY_BAD},
        {"12a", VERIFY_BAD},
        {"+1700000000", VERIFY_BAD},
        {"1700000000.0", VERIFY_BAD},
        {"0x6553f100", VERIFY_BAD},
        {"1.7e9", VERIFY_BAD},
        {"-", VERIFY_BAD},
        {"--1", VERIFY_BAD},
        {"1700 000000", VERIFY_BAD},
    };
    struct verify_scheme *scheme = scheme_of(spec_s, K0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (judge_time_text(scheme, cases[i].time) != cases[i].want)
            fail_msg("t=%s: %d", cases[i].time, (int)judge_time_text(scheme, cases[i].time));
    /* A wrong signature is called wrong, however old it is. */
    assert_int_equal(judge_one(scheme, "Stripe-Signature", "t=1,v1=00", STR("{}")), VERIFY_BAD);
    verify_scheme_free(scheme);
}

static void test_a_tolerance_of_nothing_looks_at_no_clock(void **state)
{
    struct verify_spec spec = spec_s;
    struct verify_scheme *scheme;

    (void)state;
    spec.tolerance = (struct tolerance){0, 0};
    scheme = scheme_of(spec, K0);
    assert_int_equal(judge_time_text(scheme, "1"), VERIFY_VALID);
    assert_int_equal(judge_time_text(scheme, "12a"), VERIFY_BAD);
    verify_scheme_free(scheme);
}

static void test_a08_the_sides_may_differ(void **state)
{
    static const struct {
        int now;
        enum verify_result want;
    } cases[] = {{NOW + 300, VERIFY_VALID},
                 {NOW + 301, VERIFY_STALE},
                 {NOW - 60, VERIFY_VALID},
                 {NOW - 61, VERIFY_STALE}};
    struct verify_spec spec = spec_h;
    struct header headers[] = {{STR("X-Time"), STR("1700000000")},
                               {STR("X-Sig"), str_from(mac(K0, STR("1700000000{}")))}};

    (void)state;
    spec.timestamp = STR("header:X-Time s");
    spec.signed_template = STR("{ts}{body}");
    spec.tolerance = (struct tolerance){300000, 60000};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_scheme *scheme = scheme_of(spec, K0);
        struct request request = {.headers = headers,
                                  .header_count = 2,
                                  .body = STR("{}"),
                                  .received_us = (int64_t)cases[i].now * 1000000};

        assert_int_equal(verify_request(scheme, &request, NULL), cases[i].want);
        verify_scheme_free(scheme);
    }
}

static void test_other_units_of_time(void **state)
{
    static const struct {
        const char *unit, *time;
        enum verify_result want;
    } cases[] = {
        {"ms", "1700000300400", VERIFY_VALID},
        {"ms", "1700000300401", VERIFY_STALE},
        {"ms", "1700000", VERIFY_STALE},
        {"iso8601", "2023-11-14T22:13:20Z", VERIFY_VALID},
        {"iso8601", "2023-11-14t22:13:20z", VERIFY_VALID},
        {"iso8601", "2023-11-14T22:13:20.123456789Z", VERIFY_VALID},
        {"iso8601", "2023-11-15T00:13:20+02:00", VERIFY_VALID},
        {"iso8601", "2023-11-14T16:43:20-05:30", VERIFY_VALID},
        {"iso8601", "2023-11-14T22:13:20+02:00", VERIFY_STALE},
        {"iso8601", "2023-11-14T22:08:19Z", VERIFY_STALE},
        {"iso8601", "2024-02-29T00:00:00Z", VERIFY_STALE},
        {"iso8601", "2023-02-29T00:00:00Z", VERIFY_BAD},
        {"iso8601", "2023-04-31T00:00:00Z", VERIFY_BAD},
        {"iso8601", "2023-11-14T22:13:20", VERIFY_BAD},
        {"iso8601", "2023-11-14 22:13:20Z", VERIFY_BAD},
        {"iso8601", "2023-11-14T22:13:20.Z", VERIFY_BAD},
        {"iso8601", "2023-11-14T22:13:20Z ", VERIFY_BAD},
        {"iso8601", "2023-11-14T22:13Z", VERIFY_BAD},
        {"iso8601", "2023-13-14T22:13:20Z", VERIFY_BAD},
        {"iso8601", "2023-11-14T24:13:20Z", VERIFY_BAD},
        {"iso8601", "2023-11-14T22:13:20+0200", VERIFY_BAD},
        {"iso8601", "2023-1-14T22:13:20Z", VERIFY_BAD},
        {"iso8601", "1700000000", VERIFY_BAD},
        {"iso8601", "", VERIFY_BAD},
        {"iso8601", "2023-11-14", VERIFY_BAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_spec spec = spec_h;
        char rule[64], text[100];
        struct header headers[2] = {{STR("X-Time"), str_from(cases[i].time)}};
        struct verify_scheme *scheme;

        snprintf(rule, sizeof(rule), "header:X-Time %s", cases[i].unit);
        snprintf(text, sizeof(text), "%s{}", cases[i].time);
        spec.timestamp = str_from(rule);
        spec.signed_template = STR("{ts}{body}");
        spec.tolerance = (struct tolerance){300000, 300000};
        scheme = scheme_of(spec, K0);
        headers[1] = (struct header){STR("X-Sig"), str_from(mac(K0, str_from(text)))};
        if (judge(scheme, headers, 2, STR("{}")) != cases[i].want)
            fail_msg("%s %s", cases[i].unit, cases[i].time);
        verify_scheme_free(scheme);
    }
}

/* A byte that moves between timestamp and body makes no other request valid. */
static void test_no_byte_moves_between_timestamp_and_body(void **state)
{
    struct verify_spec spec = spec_h;
    struct verify_scheme *scheme;
    const char *good = mac(K0, STR("170000000012"));
    struct header headers[] = {{STR("X-Time"), STR("1700000000")}, {STR("X-Sig"), str_from(good)}};

    (void)state;
    spec.timestamp = STR("header:X-Time s");
    spec.signed_template = STR("{ts}{body}");
    spec.tolerance = (struct tolerance){300000, 300000};
    scheme = scheme_of(spec, K0);
    assert_int_equal(judge(scheme, headers, 2, STR("12")), VERIFY_VALID);
    headers[0].value = STR("17000000001");
    assert_int_equal(judge(scheme, headers, 2, STR("2")), VERIFY_STALE);
    headers[0].value = STR("170000000");
    assert_int_equal(judge(scheme, headers, 2, STR("012")), VERIFY_STALE);
    verify_scheme_free(scheme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a04_the_bytes_as_sent_are_signed),
        cmocka_unit_test(test_a05_no_text_is_decoded_before_it_is_signed),
        cmocka_unit_test(test_a07_any_offered_signature_may_fit),
        cmocka_unit_test(test_a07_two_hundred_wrong_ones_and_a_right_one),
        cmocka_unit_test(test_a07_standard_webhooks_lists),
        cmocka_unit_test(test_a07_the_older_secret_still_counts),
        cmocka_unit_test(test_a08_the_window_has_two_sides),
        cmocka_unit_test(test_a08_the_sides_may_differ),
        cmocka_unit_test(test_a_tolerance_of_nothing_looks_at_no_clock),
        cmocka_unit_test(test_other_units_of_time),
        cmocka_unit_test(test_no_byte_moves_between_timestamp_and_body),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
