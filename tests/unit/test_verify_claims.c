/* JSON Web Tokens: what they have to say, when they are over, where they stand, and those that are
 * sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tokens.h"

static char body_hex[CODEC_HEX_SIZE(32)], nothing_hex[CODEC_HEX_SIZE(32)],
    url_hex[CODEC_HEX_SIZE(32)];

static void hex_of(const char *text, char *out)
{
    unsigned char sha256[32];
    unsigned len = 0;

    assert_int_equal(EVP_Digest(text, strlen(text), sha256, &len, EVP_sha256(), NULL), 1);
    codec_hex_encode(sha256, 32, out);
}

static int prepare(void **state)
{
    (void)state;
    hex_of(BODY, body_hex);
    hex_of("", nothing_hex);
    hex_of(URL "?a=b", url_hex);
    return 0;
}

/* ---- claims ---- */

static void test_claims_are_an_object(void **state)
{
    static const char *const bad[] = {"[]", "\"x\"", "7", "null", "{", "{} x", "{\"a\":\xff}", " "};
    struct scheme scheme = {0};

    (void)state;
    judge(&scheme, hs256(" {} "), VERIFY_VALID);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        judge(&scheme, hs256(bad[i]), VERIFY_BAD);
}

static void test_claims_that_have_to_say_something(void **state)
{
    static const struct {
        const char *claims, *token;
        enum verify_result want;
    } cases[] = {
        {"iss=netlify", "{\"iss\":\"netlify\"}", VERIFY_VALID},
        {"iss=netlify", "{\"iss\":\"netl\\u0069fy\"}", VERIFY_VALID},
        {"iss=netlify", "{\"iss\":\"Netlify\"}", VERIFY_BAD},
        {"iss=netlify", "{\"iss\":\"netlify\\u0000\"}", VERIFY_BAD},
        {"iss=netlify", "{\"iss\":[\"netlify\"]}", VERIFY_BAD},
        {"iss=netlify", "{\"iss\":null}", VERIFY_BAD},
        {"iss=netlify", "{}", VERIFY_BAD},
        {"iss=netlify", "{\"iss\":\"x\",\"iss\":\"netlify\"}", VERIFY_VALID},
        {"iss=netlify", "{\"iss\":\"netlify\",\"iss\":\"x\"}", VERIFY_BAD},
        {"iss='a b'  sub=7", "{\"iss\":\"a b\",\"sub\":7}", VERIFY_VALID},
        {"sub=7", "{\"sub\":\"7\"}", VERIFY_VALID},
        {"sub=7", "{\"sub\":7.0}", VERIFY_BAD},
        {"live=true", "{\"live\":true}", VERIFY_VALID},
        {"sub=''", "{\"sub\":\"\"}", VERIFY_VALID},
        {"sub=''", "{}", VERIFY_BAD},
        {"https://x/y~z=1", "{\"https://x/y~z\":\"1\"}", VERIFY_VALID},
        {"jti", "{\"jti\":0}", VERIFY_VALID},
        {"jti", "{\"jti\":null}", VERIFY_BAD},
        {"jti", "{}", VERIFY_BAD},
        {"aud=me", "{\"aud\":\"me\"}", VERIFY_VALID},
        {"aud=me", "{\"aud\":[\"you\",\"me\"]}", VERIFY_VALID},
        {"aud=me", "{\"aud\":[\"you\"]}", VERIFY_BAD},
        {"aud=me", "{\"aud\":[]}", VERIFY_BAD},
        {"aud=me", "{\"aud\":[[\"me\"]]}", VERIFY_BAD},
        {"aud=me", "{\"aud\":{\"me\":\"me\"}}", VERIFY_BAD},
        {"aud=7", "{\"aud\":[7]}", VERIFY_BAD},
        {"aud={url}", "{\"aud\":\"" URL "?a=b\"}", VERIFY_VALID},
        {"aud={url}", "{\"aud\":\"" URL "\"}", VERIFY_BAD},
        {"aud={url}", "{\"aud\":[\"x\",\"https:\\/\\/h.example\\/in?a=b\"]}", VERIFY_VALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge(&(struct scheme){.claims = cases[i].claims}, hs256(cases[i].token), cases[i].want);
}

static void test_digests_of_url_and_body(void **state)
{
    struct scheme url = {.claims = "u={sha256hex:url}"};
    struct scheme body = {.claims = "b={sha256hex:body}", .covered = true};
    char claims[200];

    (void)state;
    snprintf(claims, sizeof(claims), "{\"u\":\"%s\",\"b\":\"%s\"}", url_hex, body_hex);
    judge(&url, hs256(claims), VERIFY_VALID);
    judge(&body, hs256(claims), VERIFY_VALID);
    for (char *c = claims; *c; c++)
        if (*c >= 'a' && *c <= 'f' && c > claims + 5 && c[-1] != '"')
            *c = (char)(*c - 32);
    judge(&body, hs256(claims), VERIFY_VALID);
    snprintf(claims, sizeof(claims), "{\"u\":\"%s\",\"b\":\"%s\"}", body_hex, url_hex);
    judge(&url, hs256(claims), VERIFY_BAD);
    judge(&body, hs256(claims), VERIFY_BAD);
    snprintf(claims, sizeof(claims), "{\"b\":\"%.62s\"}", body_hex);
    judge(&body, hs256(claims), VERIFY_BAD);
    snprintf(claims, sizeof(claims), "{\"b\":\"%s00\"}", body_hex);
    judge(&body, hs256(claims), VERIFY_BAD);
    snprintf(claims, sizeof(claims), "{\"b\":[\"%s\"]}", body_hex);
    judge(&body, hs256(claims), VERIFY_BAD);
    judge(&body, hs256("{\"b\":\"\"}"), VERIFY_BAD);
    judge(&body, hs256("{}"), VERIFY_BAD);
}

static void judge_body(const char *claims, const char *body, const char *token,
                       enum verify_result want)
{
    struct verify_spec spec = spec_of(&(struct scheme){.claims = claims, .covered = true});
    struct verify_scheme *scheme = scheme_new(&spec);
    struct test_request test;

    request_begin(&test, str_from(body));
    request_add(&test, "J", str_from(token));
    assert_int_equal(verify_request(scheme, &test.request, NULL), want);
    request_end(&test);
    verify_scheme_free(scheme);
}

static void test_a_digest_exactly_where_there_is_a_body(void **state)
{
    static const char rule[] = "p?={sha256hex:body}", always[] = "p={sha256hex:body}";
    char of_body[200], of_nothing[200];

    (void)state;
    snprintf(of_body, sizeof(of_body), "{\"p\":\"%s\"}", body_hex);
    snprintf(of_nothing, sizeof(of_nothing), "{\"p\":\"%s\"}", nothing_hex);
    judge_body(rule, BODY, hs256(of_body), VERIFY_VALID);
    judge_body(rule, BODY, hs256("{}"), VERIFY_BAD);
    judge_body(rule, "", hs256("{}"), VERIFY_VALID);
    judge_body(rule, "", hs256(of_nothing), VERIFY_BAD);
    judge_body(rule, "", hs256(of_body), VERIFY_BAD);
    judge_body(always, "", hs256(of_nothing), VERIFY_VALID);
    judge_body(always, "", hs256("{}"), VERIFY_BAD);
}

/* ---- times ---- */

static void judge_time(const char *name, const char *value, int leeway_s, const char *timestamp,
                       enum verify_result want)
{
    char claims[100];

    snprintf(claims, sizeof(claims), "{\"%s\":%s}", name, value);
    judge(&(struct scheme){.leeway_s = leeway_s, .timestamp = timestamp}, hs256(claims), want);
}

/* Now is 1700000000. */
static void test_the_end_and_the_beginning(void **state)
{
    static const struct {
        const char *name, *value;
        int leeway_s;
        enum verify_result want;
    } cases[] = {
        {"exp", "1700000001", 0, VERIFY_VALID},
        {"exp", "1700000000", 0, VERIFY_STALE},
        {"exp", "1699999999", 0, VERIFY_STALE},
        {"exp", "1700000000", 1, VERIFY_VALID},
        {"exp", "1699999999", 1, VERIFY_STALE},
        {"exp", "1699999941", 60, VERIFY_VALID},
        {"exp", "33254540828", 0, VERIFY_VALID},
        {"exp", "1700000000.9", 0, VERIFY_STALE},
        {"exp", "1700000001.0", 0, VERIFY_VALID},
        {"exp", "0", 0, VERIFY_STALE},
        {"exp", "-1", 0, VERIFY_STALE},
        {"exp", "99999999999999999999", 0, VERIFY_STALE},
        {"exp", "1e20", 0, VERIFY_BAD},
        {"exp", "1.7e9", 0, VERIFY_BAD},
        {"exp", "\"1700000001\"", 0, VERIFY_BAD},
        {"exp", "null", 0, VERIFY_BAD},
        {"exp", "true", 0, VERIFY_BAD},
        {"exp", "[1700000001]", 0, VERIFY_BAD},
        {"nbf", "1700000000", 0, VERIFY_VALID},
        {"nbf", "1700000001", 0, VERIFY_STALE},
        {"nbf", "1700000001", 1, VERIFY_VALID},
        {"nbf", "1700000002", 1, VERIFY_STALE},
        {"nbf", "0", 0, VERIFY_VALID},
        {"nbf", "99999999999999999999", 0, VERIFY_STALE},
        {"nbf", "\"0\"", 0, VERIFY_BAD},
        /* Not looked at unless `timestamp` says so. */
        {"iat", "0", 0, VERIFY_VALID},
        {"iat", "\"x\"", 0, VERIFY_VALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge_time(cases[i].name, cases[i].value, cases[i].leeway_s, NULL, cases[i].want);
}

/* The window is that of `tolerance`, five minutes here; the leeway is not for it. */
static void test_the_age_of_a_token(void **state)
{
    static const struct {
        const char *timestamp, *name, *value;
        enum verify_result want;
    } cases[] = {
        {"claim:iat s", "iat", "1700000000", VERIFY_VALID},
        {"claim:iat s", "iat", "1699999700", VERIFY_VALID},
        {"claim:iat s", "iat", "1699999699", VERIFY_STALE},
        {"claim:iat s", "iat", "1700000300", VERIFY_VALID},
        {"claim:iat s", "iat", "1700000301", VERIFY_STALE},
        {"claim:iat s", "iat", "1699999700.999", VERIFY_VALID},
        {"claim:iat s", "iat", "99999999999999999999", VERIFY_STALE},
        {"claim:iat s", "iat", "\"1700000000\"", VERIFY_BAD},
        {"claim:iat s", "iat", "null", VERIFY_BAD},
        {"claim:iat s", "other", "1700000000", VERIFY_BAD},
        {"claim:iat s", "iat", "1700000000000", VERIFY_STALE},
        {"claim:t ms", "t", "1700000000000", VERIFY_VALID},
        {"claim:t ms", "t", "1699999700000", VERIFY_VALID},
        {"claim:t ms", "t", "1699999699999", VERIFY_STALE},
        {"claim:t ms", "t", "1700000000", VERIFY_STALE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge_time(cases[i].name, cases[i].value, 60, cases[i].timestamp, cases[i].want);
}

static void test_times_that_have_to_be_there(void **state)
{
    struct scheme scheme = {.claims = "exp nbf"};

    (void)state;
    judge(&scheme, hs256("{\"exp\":1700000001,\"nbf\":0}"), VERIFY_VALID);
    judge(&scheme, hs256("{\"exp\":1700000001}"), VERIFY_BAD);
    judge(&scheme, hs256("{\"nbf\":0}"), VERIFY_BAD);
    judge(&scheme, hs256("{\"exp\":1,\"nbf\":0}"), VERIFY_STALE);
}

static void test_a_window_of_nothing_is_none(void **state)
{
    struct verify_spec spec = spec_of(&(struct scheme){.timestamp = "claim:iat s"});
    struct verify_scheme *scheme;
    struct test_request test;

    (void)state;
    spec.tolerance = (struct tolerance){0, 0};
    scheme = scheme_new(&spec);
    request_begin(&test, STR(BODY));
    request_add(&test, "J", str_from(hs256("{\"iat\":5}")));
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_VALID);
    request_end(&test);
    request_begin(&test, STR(BODY));
    request_add(&test, "J", str_from(hs256("{}")));
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
    request_end(&test);
    verify_scheme_free(scheme);
}

static void test_what_is_wrong_is_not_called_old(void **state)
{
    struct scheme scheme = {.claims = "iss=a"};

    (void)state;
    judge(&scheme, hs256("{\"iss\":\"a\",\"exp\":1}"), VERIFY_STALE);
    judge(&scheme, hs256("{\"iss\":\"b\",\"exp\":1}"), VERIFY_BAD);
    judge(&scheme, keyed(EVP_sha256(), STR(K1), HS256, "{\"iss\":\"a\",\"exp\":1}"), VERIFY_BAD);
}

/* ---- places ---- */

static void test_the_places_of_a_token(void **state)
{
    struct verify_spec spec =
        spec_of(&(struct scheme){.signature = "header:Authorization prefix Bearer | query:jwt"});
    struct verify_scheme *scheme = scheme_new(&spec);
    char *good = mem_copy(str_from(hs256("{}"))), *old = mem_copy(str_from(hs256("{\"exp\":1}")));
    struct {
        const char *header, *query;
        enum verify_result want;
    } cases[] = {
        {NULL, NULL, VERIFY_MISSING}, {good, NULL, VERIFY_VALID}, {NULL, good, VERIFY_VALID},
        {"x", good, VERIFY_VALID},    {good, "x", VERIFY_VALID},  {"x", "x", VERIFY_BAD},
        {old, NULL, VERIFY_STALE},    {old, good, VERIFY_VALID},  {"x", old, VERIFY_BAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_request test;
        char query[1024];

        request_begin(&test, STR(BODY));
        if (cases[i].header)
            request_addf(&test, "authorization", "bearer  %s", cases[i].header);
        snprintf(query, sizeof(query), "jwt=%s", cases[i].query ? cases[i].query : "");
        if (cases[i].query)
            test.request.query = request_keep(&test, str_from(query));
        assert_int_equal(verify_request(scheme, &test.request, NULL), cases[i].want);
        request_end(&test);
    }
    {
        struct test_request test;

        request_begin(&test, STR(BODY));
        request_addf(&test, "Authorization", "Bearer %s", good);
        request_addf(&test, "Authorization", "Bearer %s", good);
        assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
        request_end(&test);
    }
    free(good);
    free(old);
    verify_scheme_free(scheme);
}

static void test_a_token_that_fits_any_body_is_as_good_as_a_secret(void **state)
{
    struct verify_spec any = spec_of(&(struct scheme){0});
    struct verify_spec one =
        spec_of(&(struct scheme){.claims = "b={sha256hex:body}", .covered = true});
    struct verify_scheme *scheme = scheme_new(&any);

    (void)state;
    assert_true(verify_shows_secret(scheme, STR("j")));
    assert_false(verify_shows_secret(scheme, STR("k")));
    verify_scheme_free(scheme);
    scheme = scheme_new(&one);
    assert_false(verify_shows_secret(scheme, STR("j")));
    verify_scheme_free(scheme);
}

/* ---- the sender's side ---- */

static void assert_sent(const struct scheme *wanted, const char *body, int64_t age_s, bool bad,
                        enum verify_result want)
{
    struct verify_spec spec = spec_of(wanted);
    struct verify_scheme *scheme = scheme_new(&spec);
    struct arena *arena = arena_new(1024);
    struct test_request test;
    struct header header;
    struct err err = {0};
    size_t count = 0;

    request_begin(&test, str_from(body));
    assert_int_equal(
        verify_sign(scheme, &test.request, age_s, bad, arena, &header, 1, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_true(str_is(header.name, "J"));
    request_add(&test, "J", header.value);
    assert_int_equal(verify_request(scheme, &test.request, NULL), want);
    request_end(&test);
    arena_free(arena);
    verify_scheme_free(scheme);
}

static void test_what_is_sent_is_what_is_accepted(void **state)
{
    struct scheme plain = {.algorithms = "HS512"};
    struct scheme full = {.claims = "iss='a \"b' exp nbf iat jti aud={url} u={sha256hex:url} "
                                    "p?={sha256hex:body} sha256={sha256hex:body}",
                          .timestamp = "claim:iat s",
                          .covered = true};
    struct scheme ms = {.timestamp = "claim:t ms", .signature = "query:j | header:J prefix Bearer"};

    (void)state;
    assert_sent(&plain, BODY, 0, false, VERIFY_VALID);
    assert_sent(&plain, BODY, 0, true, VERIFY_BAD);
    assert_sent(&full, BODY, 0, false, VERIFY_VALID);
    assert_sent(&full, "", 0, false, VERIFY_VALID);
    assert_sent(&full, BODY, 299, false, VERIFY_VALID);
    assert_sent(&full, BODY, 301, false, VERIFY_STALE);
    assert_sent(&full, BODY, 0, true, VERIFY_BAD);
    assert_sent(&ms, BODY, 0, false, VERIFY_VALID);
    assert_sent(&ms, BODY, 400, false, VERIFY_STALE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_are_an_object),
        cmocka_unit_test(test_claims_that_have_to_say_something),
        cmocka_unit_test(test_digests_of_url_and_body),
        cmocka_unit_test(test_a_digest_exactly_where_there_is_a_body),
        cmocka_unit_test(test_the_end_and_the_beginning),
        cmocka_unit_test(test_the_age_of_a_token),
        cmocka_unit_test(test_times_that_have_to_be_there),
        cmocka_unit_test(test_a_window_of_nothing_is_none),
        cmocka_unit_test(test_what_is_wrong_is_not_called_old),
        cmocka_unit_test(test_the_places_of_a_token),
        cmocka_unit_test(test_a_token_that_fits_any_body_is_as_good_as_a_secret),
        cmocka_unit_test(test_what_is_sent_is_what_is_accepted),
    };

    return cmocka_run_group_tests(tests, prepare, NULL);
}
