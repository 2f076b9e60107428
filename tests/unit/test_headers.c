/* Headers as they are stored: valid JSON whatever was received, names in lower case, no secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/json.h"
#include "provider/headers.h"

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void check_with(const struct name_list *redact, const struct header *headers, size_t count,
                       const char *want)
{
    struct request request = {.headers = headers, .header_count = count};
    struct json_scan scan;
    struct buf out;

    buf_init(&out, BUF_NO_CAP);
    headers_put_json(&request, NULL, redact, &out);
    assert_true(json_scan(buf_str(&out), NULL, JSON_DEPTH_DEFAULT, &scan, NULL));
    assert_false(scan.needs_repair);
    buf_put_char(&out, '\0');
    assert_string_equal(out.data, want);
    buf_release(&out);
}

static void check(const struct header *headers, size_t count, const char *want)
{
    check_with(NULL, headers, count, want);
}

static void test_no_headers(void **state)
{
    (void)state;
    check(NULL, 0, "{}");
}

static void test_a10_names_are_stored_in_lower_case(void **state)
{
    const struct header headers[] = {{STR("Content-Type"), STR("application/JSON")},
                                     {STR("X-SIG"), STR("AbC")},
                                     {STR("x-empty"), STR("")}};

    (void)state;
    check(headers, 3, "{\"content-type\":\"application/JSON\",\"x-sig\":\"AbC\",\"x-empty\":\"\"}");
}

static void test_repeated_fields_are_joined_in_order(void **state)
{
    const struct header headers[] = {
        {STR("A"), STR("1")}, {STR("B"), STR("x")}, {STR("a"), STR("")}, {STR("A"), STR("3, 4")}};

    (void)state;
    check(headers, 4, "{\"a\":\"1, , 3, 4\",\"b\":\"x\"}");
}

static void test_values_are_escaped(void **state)
{
    const struct header headers[] = {
        {STR("Quote"), STR("say \"hi\\\"")},
        {STR("Tab"), STR("a\tb")},
        {STR("Utf8"), STR("\xc3\xa9\xf0\x9f\x98\x80")},
    };

    (void)state;
    check(headers, 3,
          "{\"quote\":\"say "
          "\\\"hi\\\\\\\"\",\"tab\":\"a\\tb\",\"utf8\":\"\xc3\xa9\xf0\x9f\x98\x80\"}");
}

static void test_what_is_no_text_is_made_safe(void **state)
{
    const struct header headers[] = {
        {STR("Latin"), STR("caf\xe9")},
        {STR("Nul"), {"a\0b", 3}},
        {STR("Escape"), STR("\x1b[31m\r\n\x7f")},
        {STR("Half"), STR("\xed\xa0\x80\xc0\x80\xf0\x9f")},
        {STR("N\xe4me"), STR("v")},
    };

    (void)state;
    check(headers, 5,
          "{\"latin\":\"caf" BAD "\",\"nul\":\"a" BAD "b\",\"escape\":\"" BAD "[31m" BAD BAD BAD
          "\",\"half\":\"" BAD BAD BAD BAD BAD BAD BAD "\",\"n" BAD "me\":\"v\"}");
}

static void test_secrets_are_not_stored(void **state)
{
    const struct header headers[] = {
        {STR("AUTHORIZATION"), STR("Bearer t0ken")},
        {STR("Cookie"), STR("a=1")},
        {STR("cookie"), STR("b=2")},
        {STR("X-Gitlab-Token"), STR("t0ken")},
        {STR("X-Hub-Signature-256"), STR("sha256=0")},
    };

    (void)state;
    check(headers, 5,
          "{\"authorization\":\"[redacted]\",\"cookie\":\"[redacted]\",\"x-gitlab-token\":"
          "\"[redacted]\",\"x-hub-signature-256\":\"sha256=0\"}");
}

static void test_which_headers_are_secrets(void **state)
{
    static const char *const secret[] = {"authorization",
                                         "proxy-authorization",
                                         "set-cookie",
                                         "x-telegram-bot-api-secret-token",
                                         "x-api-key",
                                         "x-hook-secret",
                                         "x-auth",
                                         "auth",
                                         "x-jwt-assertion",
                                         "x-functions-key",
                                         "ocp-apim-subscription-key",
                                         "x-amz-security-token",
                                         "x-auth-key"};
    static const char *const open[] = {
        "x-signature", "stripe-signature", "x-key-id",        "cook",   "",
        "x-author",    "oauthor",          "idempotency-key", "x-jwts", "authority"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(secret) + ARRAY_LEN(open); i++) {
        bool hidden = i < ARRAY_LEN(secret);
        const char *name = hidden ? secret[i] : open[i - ARRAY_LEN(secret)];
        struct header header = {str_from(name), STR("value")};
        char want[100];

        snprintf(want, sizeof(want), "{\"%s\":\"%s\"}", name, hidden ? "[redacted]" : "value");
        check(&header, 1, want);
    }
}

static void test_what_the_configuration_lists_is_not_stored(void **state)
{
    const struct str names[] = {STR("X-Customer"), STR("x-sig")};
    const struct name_list redact = {names, ARRAY_LEN(names)};
    const struct header headers[] = {
        {STR("x-CUSTOMER"), STR("a")}, {STR("X-Customer-Id"), STR("b")}, {STR("X-Sig"), STR("c")},
        {STR("X-Customer"), STR("d")}, {STR("X-Api-Key"), STR("e")},
    };

    (void)state;
    check_with(&redact, headers, ARRAY_LEN(headers),
               "{\"x-customer\":\"[redacted]\",\"x-customer-id\":\"b\",\"x-sig\":\"[redacted]\","
               "\"x-api-key\":\"[redacted]\"}");
}

/* Every byte at every place of a character: the object stays JSON, in which jsonb finds nothing to
 * refuse, and one value never runs into another. */
static void test_any_bytes_are_safe(void **state)
{
    static const char ends[] = {'a',    '"',    '\\',   '\x80', '\xbf',
                                '\xc3', '\xe2', '\xf0', '\xff', '\0'};

    (void)state;
    for (unsigned first = 0; first < 256; first++)
        for (size_t second = 0; second < sizeof(ends); second++) {
            char bytes[3] = {(char)first, ends[second], (char)(255 - first)};
            struct header headers[] = {{STR("x"), {bytes, 3}}, {STR("y"), STR("kept")}};
            struct request request = {.headers = headers, .header_count = 2};
            struct json_scan scan;
            struct buf out;

            buf_init(&out, BUF_NO_CAP);
            headers_put_json(&request, NULL, NULL, &out);
            assert_true(json_scan(buf_str(&out), NULL, JSON_DEPTH_DEFAULT, &scan, NULL));
            assert_false(scan.needs_repair);
            for (size_t i = 0; i < out.len; i++)
                assert_true((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
            buf_put_char(&out, '\0');
            assert_non_null(strstr(out.data, "\",\"y\":\"kept\"}"));
            buf_release(&out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_headers),
        cmocka_unit_test(test_a10_names_are_stored_in_lower_case),
        cmocka_unit_test(test_repeated_fields_are_joined_in_order),
        cmocka_unit_test(test_values_are_escaped),
        cmocka_unit_test(test_what_is_no_text_is_made_safe),
        cmocka_unit_test(test_secrets_are_not_stored),
        cmocka_unit_test(test_which_headers_are_secrets),
        cmocka_unit_test(test_what_the_configuration_lists_is_not_stored),
        cmocka_unit_test(test_any_bytes_are_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
