/* How signatures are written, where they are, and every part of a template (field reports A09, A10,
 * A33). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/digest.h"
#include "verify/verify.h"

#define K0 "k0-k0-k0-k0-k0-k0"
#define BODY "{\"id\":\"x\",\"n\":1.50,\"s\":{\"sig\":\"\",\"t\":\"a\\u0062\"}}"

/* Of BODY with K0. */
static char good[CODEC_HEX_SIZE(32)], good_base64[CODEC_BASE64_SIZE(32)],
    good_url[CODEC_BASE64_SIZE(32)];

static void sign(struct str bytes, unsigned char digest[static DIGEST_MAX])
{
    struct digester *digester = digester_new_keyed(DIGEST_SHA256, STR(K0));

    digester_begin(digester);
    digester_add(digester, bytes);
    digester_end(digester, digest);
    digester_free(digester);
}

static int sign_body(void **state)
{
    unsigned char digest[DIGEST_MAX];

    (void)state;
    sign(STR(BODY), digest);
    codec_hex_encode(digest, 32, good);
    codec_base64_encode(digest, 32, false, good_base64);
    codec_base64_encode(digest, 32, true, good_url);
    return 0;
}

static void fail_report(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    fail_msg("field %d, %zu: %s", (int)field, index, text);
}

static struct verify_scheme *scheme_of(const char *signature, const char *signed_template)
{
    struct str secret = STR(K0);
    struct verify_spec spec = {
        .algorithm = STR("hmac-sha256"),
        .signature = str_from(signature),
        .signed_template = str_from(signed_template),
        .public_url = STR("https://example.com/in/h"),
        .vars =
            strstr(signed_template, "{var:") ? STR("id=WH-1 {body} %3A, a.b-C_9 = = ") : STR_NONE,
        .body_unauthenticated = strstr(signed_template, "body}") ? STR_NONE : STR("yes"),
        .secrets = &secret,
        .secret_count = 1};

    return verify_scheme_new(&spec, fail_report, NULL);
}

static enum verify_result judge_value(const char *signature, const char *value)
{
    struct verify_scheme *scheme = scheme_of(signature, "{body}");
    struct header header = {STR("X-Sig"), str_from(value)};
    struct request request = {.headers = &header, .header_count = 1, .body = STR(BODY)};
    enum verify_result result = verify_request(scheme, &request, NULL);

    verify_scheme_free(scheme);
    return result;
}

static void test_a09_hexadecimal_is_compared_as_bytes(void **state)
{
    char upper[sizeof(good)], mixed[sizeof(good)], text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(good); i++) {
        upper[i] = good[i] >= 'a' ? (char)(good[i] - 32) : good[i];
        mixed[i] = i % 2 ? upper[i] : good[i];
    }
    assert_int_equal(judge_value("header:X-Sig hex", good), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig hex", upper), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig hex", mixed), VERIFY_VALID);
    snprintf(text, sizeof(text), " \t%s ", good);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_VALID);
    snprintf(text, sizeof(text), "%.63s", good);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    snprintf(text, sizeof(text), "%s0", good);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    snprintf(text, sizeof(text), "%s00", good);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    snprintf(text, sizeof(text), "%.63sg", good);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    snprintf(text, sizeof(text), "%.32s %s", good, good + 32);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    assert_int_equal(judge_value("header:X-Sig hex", ""), VERIFY_BAD);
    assert_int_equal(judge_value("header:X-Sig base64", good), VERIFY_BAD);
}

static void test_a09_the_prefix_is_part_of_the_form(void **state)
{
    char text[200];

    (void)state;
    snprintf(text, sizeof(text), "sha256=%s", good);
    assert_int_equal(judge_value("header:X-Sig prefix sha256= hex", text), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig hex prefix sha256=", text), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    assert_int_equal(judge_value("header:X-Sig prefix sha256= hex", good), VERIFY_BAD);
    assert_int_equal(judge_value("header:X-Sig prefix SHA256= hex", text), VERIFY_BAD);
    assert_int_equal(judge_value("header:X-Sig prefix sha256= hex", "sha256="), VERIFY_BAD);
    snprintf(text, sizeof(text), "sha256= %s", good);
    assert_int_equal(judge_value("header:X-Sig prefix sha256= hex", text), VERIFY_BAD);
}

static void test_base64_forms(void **state)
{
    char text[200];

    (void)state;
    assert_int_equal(judge_value("header:X-Sig base64", good_base64), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig base64url", good_url), VERIFY_VALID);
    snprintf(text, sizeof(text), "%.43s", good_url);
    assert_int_equal(judge_value("header:X-Sig base64url", text), VERIFY_VALID);
    assert_int_equal(judge_value("header:X-Sig base64", text), VERIFY_BAD);
    /* The last symbol has spare bits: another symbol would be the same digest. */
    snprintf(text, sizeof(text), "%s", good_base64);
    text[42]++;
    assert_int_equal(judge_value("header:X-Sig base64", text), VERIFY_BAD);
}

static void test_every_way_to_split(void **state)
{
    static const struct {
        const char *rule, *before; /* the right signature */
    } cases[] = {
        {"header:X-Sig split comma hex", "00,"},
        {"header:X-Sig split space hex", "00 "},
        {"header:X-Sig split semicolon hex", "00;"},
        {"header:X-Sig split | hex", "00|"},
        {"header:X-Sig split , prefix a= hex", "b=00, a="},
        {"header:X-Sig prefix a= split ; hex", ";a=0; a="},
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(text, sizeof(text), "%s%s", cases[i].before, good);
        assert_int_equal(judge_value(cases[i].rule, text), VERIFY_VALID);
        assert_int_equal(judge_value("header:X-Sig hex", text), VERIFY_BAD);
    }
}

static void test_a10_names_of_headers_have_no_case(void **state)
{
    static const char *const names[] = {"x-sig", "X-SIG", "X-Sig"};
    struct verify_scheme *scheme = scheme_of("header:X-Sig hex", "{body}");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct header header = {str_from(names[i]), str_from(good)};
        struct request request = {.headers = &header, .header_count = 1, .body = STR(BODY)};

        assert_int_equal(verify_request(scheme, &request, NULL), VERIFY_VALID);
    }
    verify_scheme_free(scheme);
}

static enum verify_result judge_headers(const char *signature, const struct header *headers,
                                        size_t count)
{
    struct verify_scheme *scheme = scheme_of(signature, "{body}");
    struct request request = {.headers = headers, .header_count = count, .body = STR(BODY)};
    enum verify_result result = verify_request(scheme, &request, NULL);

    verify_scheme_free(scheme);
    return result;
}

static void test_a_header_that_comes_twice(void **state)
{
    struct header same[] = {{STR("X-Sig"), str_from(good)}, {STR("x-sig"), str_from(good)}};
    struct header other[] = {{STR("X-Sig"), STR("00")}, {STR("X-Sig"), str_from(good)}};

    (void)state;
    assert_int_equal(judge_headers("header:X-Sig hex", same, 2), VERIFY_BAD);
    assert_int_equal(judge_headers("header:X-Sig hex", other, 2), VERIFY_BAD);
    assert_int_equal(judge_headers("header:X-Sig hex repeat any", other, 2), VERIFY_VALID);
    assert_int_equal(judge_headers("header:X-Sig hex repeat any", other, 1), VERIFY_BAD);
    assert_int_equal(judge_headers("header:X-Sig hex repeat any", other, 0), VERIFY_MISSING);
}

static void test_numbered_families(void **state)
{
    static const struct {
        const char *name;
        enum verify_result want;
    } cases[] = {{"X-Sig-1", VERIFY_VALID},    {"x-sig-12", VERIFY_VALID},
                 {"X-Sig-999", VERIFY_VALID},  {"X-Sig-1000", VERIFY_MISSING},
                 {"X-Sig-", VERIFY_MISSING},   {"X-Sig", VERIFY_MISSING},
                 {"X-Sig-a", VERIFY_MISSING},  {"X-Sig-1a", VERIFY_MISSING},
                 {"X-X-Sig-1", VERIFY_MISSING}};
    struct header two[] = {{STR("X-Sig-1"), STR("00")}, {STR("X-Sig-2"), str_from(good)}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct header header = {str_from(cases[i].name), str_from(good)};

        assert_int_equal(judge_headers("header:X-Sig-* hex", &header, 1), cases[i].want);
    }
    assert_int_equal(judge_headers("header:X-Sig-* hex", two, 2), VERIFY_VALID);
    assert_int_equal(judge_headers("header:X-Sig-* hex", two, 1), VERIFY_BAD);
}

static void test_a_signature_in_the_query_or_the_body(void **state)
{
    struct verify_scheme *query = scheme_of("query:sig hex", "{body}");
    struct verify_scheme *member = scheme_of("json:/sig hex", "{json:/id}");
    unsigned char digest[DIGEST_MAX];
    char text[200], hex[CODEC_HEX_SIZE(32)];
    struct request request = {.body = STR(BODY)};

    (void)state;
    snprintf(text, sizeof(text), "a=1&sig=%s", good);
    assert_int_equal(verify_request(query, &request, NULL), VERIFY_MISSING);
    request.query = str_from(text);
    assert_int_equal(verify_request(query, &request, NULL), VERIFY_VALID);
    snprintf(text, sizeof(text), "sig=%s&sig=0", good);
    request.query = str_from(text);
    assert_int_equal(verify_request(query, &request, NULL), VERIFY_BAD);
    assert_int_equal(verify_request(member, &request, NULL), VERIFY_MISSING);
    request.body = STR("{\"sig\":\"00\"}");
    assert_int_equal(verify_request(member, &request, NULL), VERIFY_BAD);
    request.body = STR("{\"sig\":");
    assert_int_equal(verify_request(member, &request, NULL), VERIFY_BAD);
    sign(STR("evt_1"), digest);
    codec_hex_encode(digest, 32, hex);
    snprintf(text, sizeof(text), "{\"id\":\"evt_1\",\"sig\":\"%s\"}", hex);
    request.body = str_from(text);
    assert_int_equal(verify_request(member, &request, NULL), VERIFY_VALID);
    verify_scheme_free(query);
    verify_scheme_free(member);
}

static const struct header part_headers[] = {{STR("X-Sig"), STR_NONE},
                                             {STR("X-Other"), STR("o1")},
                                             {STR("X-Twice"), STR("1")},
                                             {STR("X-Twice"), STR("1")}};

/* What a template makes of the fixed request is `want`; NULL: the request is refused with `result`.
 */
static void check_template(const char *template, const char *want, enum verify_result result)
{
    struct verify_scheme *scheme = scheme_of("header:X-Sig hex", template);
    struct header headers[ARRAY_LEN(part_headers)];
    unsigned char digest[DIGEST_MAX];
    char hex[CODEC_HEX_SIZE(32)];
    struct request request = {.method = STR("PUT"),
                              .query = STR("a=%20b&c=d&t=1&t=1"),
                              .headers = headers,
                              .header_count = ARRAY_LEN(headers),
                              .body = STR(BODY)};

    memcpy(headers, part_headers, sizeof(headers));
    sign(str_from(want ? want : ""), digest);
    codec_hex_encode(digest, 32, hex);
    headers[0].value = str_from(hex);
    if (verify_request(scheme, &request, NULL) != result)
        fail_msg("%s", template);
    verify_scheme_free(scheme);
}

static void test_every_part_of_a_template(void **state)
{
    unsigned char sha256[32];
    char hex[CODEC_HEX_SIZE(32)];

    (void)state;
    digest_sha256(STR(BODY), sha256);
    codec_hex_encode(sha256, 32, hex);
    check_template("{body}", BODY, VERIFY_VALID);
    check_template("a:{body}} b", "a:" BODY "} b", VERIFY_VALID);
    check_template("{body}{body}", BODY BODY, VERIFY_VALID);
    check_template("{method} {url}{body}", "PUT https://example.com/in/h?a=%20b&c=d&t=1&t=1" BODY,
                   VERIFY_VALID);
    check_template("{header:x-other}.{query:a}{body}", "o1.%20b" BODY, VERIFY_VALID);
    check_template("{json:/n}{json:/s/t}{json:/s/sig}{body}", "1.50ab" BODY, VERIFY_VALID);
    check_template("{sha256hex:body}", hex, VERIFY_VALID);
    check_template("{crc32:body}{body}", "3940225345" BODY, VERIFY_VALID);
    check_template("{var:id}|{var:a.b-C_9}{body}", "WH-1 {body} %3A|=" BODY, VERIFY_VALID);
    check_template("{body}", BODY " ", VERIFY_BAD);
    check_template("{header:X-Missing}{body}", BODY, VERIFY_MISSING);
    check_template("{header:X-Twice}{body}", "1" BODY, VERIFY_BAD);
    check_template("{query:missing}{body}", BODY, VERIFY_MISSING);
    check_template("{query:t}{body}", "1" BODY, VERIFY_BAD);
    check_template("{json:/missing}{body}", BODY, VERIFY_BAD);
    check_template("{json:/s}{body}", BODY, VERIFY_BAD);
}

/* HubSpot's escapes are decoded, all others stay; the "?" in front of the query is no escape. */
static void test_the_url_with_some_escapes_decoded(void **state)
{
    static const struct {
        const char *url, *query, *want;
    } cases[] = {
        {"https://example.com/in", NULL, "https://example.com/in"},
        {"https://example.com/in", "", "https://example.com/in?"},
        {"https://example.com/a%3Ab%2Fc", "u=%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B",
         "https://example.com/a:b/c?u=:/?@!$'()*,;"},
        {"https://example.com/", "%3a%2f%3f%40%21%24%27%28%29%2a%2c%3b",
         "https://example.com/?:/?@!$'()*,;"},
        {"https://example.com/", "a=%20%26%3D%25%2B%23%5B%5D%22%C3%A9+b",
         "https://example.com/?a=%20%26%3D%25%2B%23%5B%5D%22%C3%A9+b"},
        {"https://example.com/", "a=%253A", "https://example.com/?a=%253A"},
        {"https://example.com/", "a=%00%", "https://example.com/?a=%00%"},
        {"https://example.com/", "%3", "https://example.com/?%3"},
        {"https://example.com/", "%3g%3A%3", "https://example.com/?%3g:%3"},
        {"https://example.com/", "%%3A", "https://example.com/?%:"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str secret = STR(K0);
        struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                                   .signature = STR("header:X-Sig hex"),
                                   .signed_template = STR("{url:decoded}{body}"),
                                   .public_url = str_from(cases[i].url),
                                   .secrets = &secret,
                                   .secret_count = 1};
        struct verify_scheme *scheme = verify_scheme_new(&spec, fail_report, NULL);
        struct header header = {STR("X-Sig"), STR_NONE};
        struct request request = {
            .query = str_from(cases[i].query), .headers = &header, .header_count = 1};
        unsigned char digest[DIGEST_MAX];
        char hex[CODEC_HEX_SIZE(32)];

        sign(str_from(cases[i].want), digest);
        codec_hex_encode(digest, 32, hex);
        header.value = str_from(hex);
        if (verify_request(scheme, &request, NULL) != VERIFY_VALID)
            fail_msg("%s?%s", cases[i].url, cases[i].query);
        verify_scheme_free(scheme);
    }
}

/* Box, Sentry: any signature of any place, but no place twice. */
static void test_several_places(void **state)
{
    static const char rule[] =
        "header:A hex | header:B prefix v1= base64 | header:C hex repeat any";
    char value[80];
    struct header cases[][2] = {
        {{STR("A"), str_from(good)}, {STR("B"), STR("v1=AAAA")}},
        {{STR("A"), STR("00")}, {STR("b"), STR_NONE}},
        {{STR("B"), STR_NONE}, {STR("X"), STR("")}},
        {{STR("C"), STR("00")}, {STR("C"), str_from(good)}},
        {{STR("A"), str_from(good)}, {STR("A"), str_from(good)}},
        {{STR("A"), STR("00")}, {STR("B"), str_from(good)}},
        {{STR("X"), str_from(good)}, {STR("Y"), str_from(good)}},
    };
    static const enum verify_result want[] = {VERIFY_VALID,  VERIFY_VALID, VERIFY_VALID,
                                              VERIFY_VALID,  VERIFY_BAD,   VERIFY_BAD,
                                              VERIFY_MISSING};
    struct header good_then_twice[] = {
        {STR("A"), str_from(good)}, {STR("B"), STR("v1=AAAA")}, {STR("B"), STR("v1=AAAA")}};

    (void)state;
    snprintf(value, sizeof(value), "v1=%s", good_base64);
    cases[1][1].value = cases[2][0].value = str_from(value);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (judge_headers(rule, cases[i], 2) != want[i])
            fail_msg("%zu", i);
    assert_int_equal(judge_headers(rule, good_then_twice, 3), VERIFY_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a09_hexadecimal_is_compared_as_bytes),
        cmocka_unit_test(test_a09_the_prefix_is_part_of_the_form),
        cmocka_unit_test(test_base64_forms),
        cmocka_unit_test(test_every_way_to_split),
        cmocka_unit_test(test_a10_names_of_headers_have_no_case),
        cmocka_unit_test(test_a_header_that_comes_twice),
        cmocka_unit_test(test_numbered_families),
        cmocka_unit_test(test_a_signature_in_the_query_or_the_body),
        cmocka_unit_test(test_every_part_of_a_template),
        cmocka_unit_test(test_the_url_with_some_escapes_decoded),
        cmocka_unit_test(test_several_places),
    };

    return cmocka_run_group_tests(tests, sign_body, NULL);
}
