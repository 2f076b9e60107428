/* The nine rules that make the template scheme safe and enough, one after the other. What each says
 * in detail is tested beside the others of its kind; here they stand together, so that none is
 * lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "requests.h"
#include "schemes.h"
#include "verify/verify.h"

#define SECRET "k0-k0-k0-k0-k0-k0"
#define BODY "{\"id\":\"evt_1\"}"
#define TIME "1700000000"

static void fail_on_mistake(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    fail_msg("%s %zu: %s", scheme_field(field), index, text);
}

static const struct str the_secret = STR(SECRET);

/* A keyed scheme; what is not given is as it is most often. */
static struct verify_spec spec_of(const char *signature, const char *timestamp,
                                  const char *signed_template)
{
    return (struct verify_spec){.algorithm = STR("hmac-sha256"),
                                .signature = str_from(signature),
                                .timestamp = str_from(timestamp),
                                .signed_template = str_from(signed_template),
                                .tolerance = {300000, 300000},
                                .secrets = &the_secret,
                                .secret_count = 1};
}

/* Up to three headers, NULL-terminated pairs of name and value. */
static enum verify_result judge(const struct verify_spec *spec, const char *body, ...)
{
    struct verify_scheme *scheme = verify_scheme_new(spec, fail_on_mistake, NULL);
    struct test_request test;
    enum verify_result result;
    const char *name;
    va_list headers;

    assert_non_null(scheme);
    request_begin(&test, str_from(body));
    va_start(headers, body);
    while ((name = va_arg(headers, const char *)))
        request_add(&test, name, str_from(va_arg(headers, const char *)));
    va_end(headers);
    result = verify_request(scheme, &test.request, NULL);
    request_end(&test);
    verify_scheme_free(scheme);
    return result;
}

/* Lower-case hexadecimal; lives as long as the program. */
static const char *mac(const char *text)
{
    static struct test_request keeper;

    return hmac_hex(&keeper, EVP_sha256(), the_secret, str_from(text));
}

static const char *format(const char *fmt, ...) PRINTF_LIKE(1, 2);
static const char *format(const char *fmt, ...)
{
    static char texts[16][512];
    static size_t next;
    char *text = texts[next++ % ARRAY_LEN(texts)];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(texts[0]), fmt, args);
    va_end(args);
    return text;
}

/* 1. Items: cut, trimmed, those with the prefix, decoded; others are passed over, none left is a
 * failure. */
static void test_rule_1_items_of_another_kind_are_passed_over(void **state)
{
    struct verify_spec spec = spec_of("header:S split comma prefix v1= hex", NULL, "{body}");
    const char *good = mac(BODY);

    (void)state;
    assert_int_equal(
        judge(&spec, BODY, "S", format("v0=%s,v1=zz,,v1=00, v1=%s\t,x", good, good), NULL),
        VERIFY_VALID);
    assert_int_equal(judge(&spec, BODY, "S", format("v0=%s,v1=zz", good), NULL), VERIFY_BAD);
    assert_int_equal(judge(&spec, BODY, "S", format("V1=%s", good), NULL), VERIFY_BAD);
    assert_int_equal(judge(&spec, BODY, "S", format("v1= %s", good), NULL), VERIFY_BAD);
    assert_int_equal(judge(&spec, BODY, "S", format("%s", good), NULL), VERIFY_BAD);
}

/* 2. A time out of the signature's list: exactly one. */
static void test_rule_2_one_time_in_the_list(void **state)
{
    struct verify_spec spec =
        spec_of("header:S split comma prefix v1= hex", "item t= s", "{ts}.{body}");
    const char *good = mac(TIME "." BODY);

    (void)state;
    assert_int_equal(judge(&spec, BODY, "S", format("v1=%s, t=" TIME, good), NULL), VERIFY_VALID);
    assert_int_equal(judge(&spec, BODY, "S", format("v1=%s", good), NULL), VERIFY_BAD);
    assert_int_equal(judge(&spec, BODY, "S", format("t=" TIME ",t=" TIME ",v1=%s", good), NULL),
                     VERIFY_BAD);
}

/* 3. The time's text goes in as it came and is then read strictly, so that no byte moves between it
 * and what stands beside it. */
static void test_rule_3_a_time_is_read_strictly(void **state)
{
    static const char *const times[] = {
        " 1700000000", "+1700000000", "1700000000.0", "1.7e9", "0x6553f100", "1700000000x", "",
        "-1"};
    struct verify_spec spec = spec_of("header:S hex", "header:T s", "{ts}{body}");

    (void)state;
    assert_int_equal(judge(&spec, "1", "T", TIME, "S", mac(TIME "1"), NULL), VERIFY_VALID);
    assert_int_equal(judge(&spec, "", "T", TIME "1", "S", mac(TIME "1"), NULL), VERIFY_STALE);
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        assert_int_not_equal(
            judge(&spec, "x", "T", times[i], "S", mac(format("%sx", times[i])), NULL),
            VERIFY_VALID);
}

/* 4. Bytes of the digest's length are compared; base64 is strict. */
static void test_rule_4_decoded_bytes_are_compared(void **state)
{
    struct verify_spec hex = spec_of("header:S hex", NULL, "{body}");
    struct verify_spec base64 = spec_of("header:S base64", NULL, "{body}");
    const char *good = mac(BODY);
    char upper[65] = {0}, text[48];
    unsigned char digest[32];

    (void)state;
    for (size_t i = 0; i < 64; i++)
        upper[i] = (char)(good[i] >= 'a' ? good[i] - 32 : good[i]);
    assert_int_equal(judge(&hex, BODY, "S", upper, NULL), VERIFY_VALID);
    assert_int_equal(judge(&hex, BODY, "S", format("%s00", good), NULL), VERIFY_BAD);
    assert_int_equal(judge(&hex, BODY, "S", format("%.62s", good), NULL), VERIFY_BAD);
    assert_int_equal(codec_hex_decode(str_from(good), digest, 32), 32);
    codec_base64_encode(digest, 32, false, text);
    assert_int_equal(judge(&base64, BODY, "S", text, NULL), VERIFY_VALID);
    assert_int_equal(judge(&base64, BODY, "S", format("%.43s", text), NULL), VERIFY_BAD);
    assert_int_equal(judge(&base64, BODY, "S", format("%s\n", text), NULL), VERIFY_BAD);
    text[42]++; /* a bit that no byte has */
    assert_int_equal(judge(&base64, BODY, "S", text, NULL), VERIFY_BAD);
}

/* 5. What must be single and comes twice is a failure, whatever stands in it. */
static void test_rule_5_a_single_header_that_comes_twice(void **state)
{
    struct verify_spec one = spec_of("header:S hex", "header:T s", "{header:Id}{ts}{body}");
    struct verify_spec any = spec_of("header:S hex repeat any", NULL, "{body}");
    struct verify_spec family = spec_of("header:S-* hex", NULL, "{body}");
    const char *good = mac("7" TIME BODY), *body = mac(BODY);

    (void)state;
    assert_int_equal(judge(&one, BODY, "S", good, "T", TIME, "Id", "7", NULL), VERIFY_VALID);
    assert_int_equal(judge(&one, BODY, "S", good, "T", TIME, "Id", "7", "s", good, NULL),
                     VERIFY_BAD);
    assert_int_equal(judge(&one, BODY, "S", good, "T", TIME, "Id", "7", "t", TIME, NULL),
                     VERIFY_BAD);
    assert_int_equal(judge(&one, BODY, "S", good, "T", TIME, "Id", "7", "id", "7", NULL),
                     VERIFY_BAD);
    assert_int_equal(judge(&any, BODY, "S", "00", "S", body, NULL), VERIFY_VALID);
    assert_int_equal(judge(&family, BODY, "S-1", "00", "S-2", body, NULL), VERIFY_VALID);
}

/* 6. Nothing is an open door: no secret, no header, no signature. */
static void test_rule_6_what_is_not_there_fails(void **state)
{
    struct verify_spec spec = spec_of("header:S hex", "header:T s", "{header:Id}{ts}{body}");
    struct str empty = STR("");
    const char *good = mac("7" TIME BODY);

    (void)state;
    assert_int_equal(judge(&spec, BODY, "T", TIME, "Id", "7", NULL), VERIFY_MISSING);
    assert_int_equal(judge(&spec, BODY, "S", good, "Id", "7", NULL), VERIFY_MISSING);
    assert_int_equal(judge(&spec, BODY, "S", good, "T", TIME, NULL), VERIFY_MISSING);
    assert_int_equal(judge(&spec, BODY, "S", "", "T", TIME, "Id", "7", NULL), VERIFY_BAD);
    spec.secrets = &empty;
    assert_said(&spec, "secret: is empty, so anybody could sign\n");
    spec.secret_count = 0;
    assert_said(&spec, "secret: is missing; write secret = file:PATH\n");
}

#define NO_COVER                                                                                   \
    "signed: does not cover the body; without {body} or {sha256hex:body} anybody could change "    \
    "it; "                                                                                         \
    "where the sender signs no body, write body_unauthenticated = yes\n"

/* 7. The body is signed, or it is said that it is not; {secret} only where nothing else is keyed.
 */
static void test_rule_7_what_has_to_be_signed(void **state)
{
    struct verify_spec spec = spec_of("header:S hex", NULL, "{header:Id}");

    (void)state;
    assert_said(&spec, NO_COVER);
    spec.signed_template = STR("{header:Id}{crc32:body}");
    assert_said(&spec, NO_COVER);
    spec.body_unauthenticated = STR("yes");
    assert_said(&spec, "");
    spec = spec_of("header:S hex", NULL, "{secret}{body}");
    assert_said(&spec, "signed: uses {secret}, which is only for verify = sha256\n");
    spec.algorithm = STR("sha256");
    assert_said(&spec, "");
    spec.signed_template = STR("{body}");
    assert_said(&spec, "signed: has to use {secret}, or anybody could sign\n");
}

/* 8. {url} is what was configured and the query as it came; never the Host. */
static void test_rule_8_the_url_is_configured(void **state)
{
    struct verify_spec spec = spec_of("header:S hex", NULL, "{url}{body}");
    const char *good = mac("https://hooks.example.com/in" BODY);

    (void)state;
    assert_said(&spec, "public_url: is missing, but `signed` uses {url}; write the URL as the "
                       "provider knows it\n");
    spec.public_url = STR("https://hooks.example.com/in");
    assert_int_equal(judge(&spec, BODY, "S", good, "Host", "evil.example", "X-Forwarded-Host",
                           "evil.example", "X-Forwarded-Proto", "http", NULL),
                     VERIFY_VALID);
    assert_int_equal(
        judge(&spec, BODY, "S", mac("https://evil.example/in" BODY), "Host", "evil.example", NULL),
        VERIFY_BAD);
}

/* 9. The window has two sides, also where the sender's own library looks at one only. */
static void test_rule_9_the_window_has_two_sides(void **state)
{
    static const struct {
        const char *time;
        enum verify_result want;
    } cases[] = {{"1699999700", VERIFY_VALID},
                 {"1699999699", VERIFY_STALE},
                 {"1700000300", VERIFY_VALID},
                 {"1700000301", VERIFY_STALE}};
    struct verify_spec spec = spec_of("header:S hex", "header:T s", "{ts}.{body}");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(judge(&spec, BODY, "T", cases[i].time, "S",
                               mac(format("%s." BODY, cases[i].time)), NULL),
                         cases[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_1_items_of_another_kind_are_passed_over),
        cmocka_unit_test(test_rule_2_one_time_in_the_list),
        cmocka_unit_test(test_rule_3_a_time_is_read_strictly),
        cmocka_unit_test(test_rule_4_decoded_bytes_are_compared),
        cmocka_unit_test(test_rule_5_a_single_header_that_comes_twice),
        cmocka_unit_test(test_rule_6_what_is_not_there_fails),
        cmocka_unit_test(test_rule_7_what_has_to_be_signed),
        cmocka_unit_test(test_rule_8_the_url_is_configured),
        cmocka_unit_test(test_rule_9_the_window_has_two_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
