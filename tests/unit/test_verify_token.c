/* Secrets that the sender shows: `token` in a header, the query or the body, and `basic`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "requests.h"
#include "schemes.h"

#define OLD "old-token-0123456789"
#define NEW "new-token-0123456789"

static struct str secrets[] = {STR(NEW), STR(OLD)};

static struct verify_scheme *token_at(const char *signature)
{
    return scheme_new(&(struct verify_spec){.algorithm = STR("token"),
                                            .signature = str_from(signature),
                                            .secrets = secrets,
                                            .secret_count = 2});
}

/* ---- mistakes ---- */

static void test_every_mistake_of_a_token(void **state)
{
    static const struct {
        const char *signature, *want;
    } cases[] = {
        {"header:X-Token", ""},
        {"header:Authorization prefix Bearer", ""},
        {"header:Authorization prefix Bearer | query:access_token", ""},
        {"json:/token", ""},
        {"json:/value/*/clientState", ""},
        {"json:/*/t", ""},
        {"json:/value/*", ""},
        {NULL, "signature: is missing; write, for example, signature = header:X-Token\n"},
        {"", "signature: \"\" is no place; write header:NAME or query:NAME\n"},
        {"X-Token", "signature: \"X-Token\" is no place; write header:NAME or query:NAME\n"},
        {"header:", "signature: \"header:\" is no place; write header:NAME or query:NAME\n"},
        {"header:X:Y", "signature: \"X:Y\" is no header's name\n"},
        {"header:X hex", "signature: cannot use \"hex\"; after a place come prefix WORD, or | and "
                         "one more place\n"},
        {"header:X prefix", "signature: prefix wants a word, such as \"prefix Bearer\"\n"},
        {"header:X |", "signature: \"\" is no place; write header:NAME or query:NAME\n"},
        {"header:X | json:/a",
         "signature: \"json:/a\" is no place; write header:NAME or query:NAME\n"},
        {"query:a | query:b | query:c | query:d | query:e", "signature: has more than 4 places\n"},
        {"json:/a b", "signature: has more than a pointer after json:\n"},
        {"json:/a/*/b/*/c", "signature: has more than one * in it\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_said(&(struct verify_spec){.algorithm = STR("token"),
                                          .signature = str_from(cases[i].signature),
                                          .secrets = secrets,
                                          .secret_count = 1},
                    cases[i].want);
}

static void test_settings_that_a_token_does_not_read(void **state)
{
    struct str empty = STR("");

    (void)state;
    assert_said(&(struct verify_spec){.algorithm = STR("token"),
                                      .signature = STR("header:X"),
                                      .timestamp = STR("header:T s"),
                                      .signed_template = STR("{body}"),
                                      .secret_encoding = STR("hex"),
                                      .secrets = secrets,
                                      .secret_count = 1},
                "timestamp: is not used by this kind of verification; take it away\n"
                "signed: is not used by this kind of verification; take it away\n"
                "secret_encoding: has to be raw here: the secret is used as it is written\n");
    assert_said(&(struct verify_spec){.algorithm = STR("token"), .signature = STR("header:X")},
                "secret: is missing; write secret = file:PATH\n");
    assert_said(&(struct verify_spec){.algorithm = STR("token"),
                                      .signature = STR("header:X"),
                                      .secrets = &empty,
                                      .secret_count = 1},
                "secret: is empty, so anybody could sign\n");
}

static void test_every_mistake_of_basic(void **state)
{
    static struct str pairs[] = {STR("user:password"), STR("user"), STR("user:"), STR("")};

    (void)state;
    assert_said(&(struct verify_spec){.algorithm = STR("basic"),
                                      .signature = STR("header:Authorization"),
                                      .secret_encoding = STR("base64"),
                                      .secrets = pairs,
                                      .secret_count = 1},
                "signature: is not used by this kind of verification; take it away\n"
                "secret_encoding: has to be raw here: the secret is used as it is written\n");
    assert_said(
        &(struct verify_spec){.algorithm = STR("basic"), .secrets = pairs, .secret_count = 4},
        "secret 1: has no colon; with verify = basic it is USER:PASSWORD\n"
        "secret 2: has no password behind its colon, so anybody could guess it\n"
        "secret 3: is empty, so anybody could sign\n");
}

/* ---- headers and parameters ---- */

static void assert_judged(struct verify_scheme *scheme, struct test_request *test,
                          enum verify_result want, size_t want_secret)
{
    size_t secret = 99;

    assert_int_equal(verify_request(scheme, &test->request, &secret), want);
    assert_int_equal(secret, want == VERIFY_VALID ? want_secret : 99);
    request_end(test);
}

static void judge_header(const char *signature, const char *name, const char *value,
                         enum verify_result want, size_t want_secret)
{
    struct verify_scheme *scheme = token_at(signature);
    struct test_request test;

    request_begin(&test, STR("{}"));
    if (value)
        request_add(&test, name, str_from(value));
    assert_judged(scheme, &test, want, want_secret);
    verify_scheme_free(scheme);
}

static void test_a_token_in_a_header(void **state)
{
    static const struct {
        const char *value;
        enum verify_result want;
        size_t secret;
    } cases[] = {
        {NEW, VERIFY_VALID, 0},
        {OLD, VERIFY_VALID, 1},
        {NULL, VERIFY_MISSING, 0},
        {"", VERIFY_BAD, 0},
        {NEW "x", VERIFY_BAD, 0},
        {"new-token-012345678", VERIFY_BAD, 0},
        {"x" NEW, VERIFY_BAD, 0},
        {"Bearer " NEW, VERIFY_BAD, 0},
        {"NEW-token-0123456789", VERIFY_BAD, 0},
        {NEW "," OLD, VERIFY_BAD, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge_header("header:X-Gitlab-Token", "x-gitlab-token", cases[i].value, cases[i].want,
                     cases[i].secret);
}

static void test_a_token_behind_a_scheme_word(void **state)
{
    static const char place[] = "header:Authorization prefix Bearer";

    (void)state;
    judge_header(place, "Authorization", "Bearer " NEW, VERIFY_VALID, 0);
    judge_header(place, "Authorization", "bearer " OLD, VERIFY_VALID, 1);
    judge_header(place, "Authorization", "BEARER   " NEW, VERIFY_VALID, 0);
    judge_header(place, "Authorization", NEW, VERIFY_BAD, 0);
    judge_header(place, "Authorization", "Basic " NEW, VERIFY_BAD, 0);
    judge_header(place, "Authorization", "Bearer", VERIFY_BAD, 0);
    judge_header(place, "Authorization", "Bearer ", VERIFY_BAD, 0);
    judge_header(place, "Authorization", "Beare", VERIFY_BAD, 0);
    judge_header(place, "Proxy-Authorization", "Bearer " NEW, VERIFY_MISSING, 0);
}

static void test_a_header_twice_is_ambiguous_even_with_the_same_token(void **state)
{
    struct verify_scheme *scheme = token_at("header:X-Token");
    struct test_request test;

    (void)state;
    request_begin(&test, STR("{}"));
    request_add(&test, "X-Token", STR(NEW));
    request_add(&test, "x-token", STR(NEW));
    assert_judged(scheme, &test, VERIFY_BAD, 0);
    verify_scheme_free(scheme);
}

static void judge_query(struct verify_scheme *scheme, const char *query, const char *header,
                        enum verify_result want, size_t want_secret)
{
    struct test_request test;

    request_begin(&test, STR("{}"));
    if (query)
        test.request.query = request_keep(&test, str_from(query));
    if (header)
        request_add(&test, "Authorization", str_from(header));
    assert_judged(scheme, &test, want, want_secret);
}

static void test_a_token_in_the_query_or_else_in_a_header(void **state)
{
    struct verify_scheme *scheme =
        token_at("header:Authorization prefix Bearer | query:access_token");

    (void)state;
    judge_query(scheme, "access_token=" NEW, NULL, VERIFY_VALID, 0);
    judge_query(scheme, "a=b&access_token=" OLD "&c", NULL, VERIFY_VALID, 1);
    judge_query(scheme, "access_token=new%2dtoken%2D0123456789", NULL, VERIFY_VALID, 0);
    judge_query(scheme, NULL, "Bearer " OLD, VERIFY_VALID, 1);
    judge_query(scheme, "access_token=" OLD, "Basic dTpw", VERIFY_VALID, 1);
    judge_query(scheme, "access_token=x", "Bearer " NEW, VERIFY_VALID, 0);
    judge_query(scheme, NULL, NULL, VERIFY_MISSING, 0);
    judge_query(scheme, "access_token", NULL, VERIFY_BAD, 0);
    judge_query(scheme, "access_token=", NULL, VERIFY_BAD, 0);
    judge_query(scheme, "access_token=%zz", NULL, VERIFY_BAD, 0);
    judge_query(scheme, "access_token=" NEW "%", NULL, VERIFY_BAD, 0);
    judge_query(scheme, "access_token=" NEW "&access_token=" NEW, NULL, VERIFY_BAD, 0);
    judge_query(scheme, "access_token=x", "Bearer x", VERIFY_BAD, 0);
    verify_scheme_free(scheme);
}

/* ---- members of the body ---- */

static void judge_body(struct verify_scheme *scheme, const char *body, enum verify_result want,
                       size_t want_secret)
{
    struct test_request test;

    request_begin(&test, str_from(body));
    assert_judged(scheme, &test, want, want_secret);
}

static void test_a_token_in_every_element(void **state)
{
    struct verify_scheme *scheme = token_at("json:/value/*/clientState");

    (void)state;
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"}]}", VERIFY_VALID, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"new\\u002dtoken-0123456789\"}]}",
               VERIFY_VALID, 0);
    /* While it is changed, old and new subscriptions come in one request. */
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"},{\"clientState\":\"" OLD "\"}]}",
               VERIFY_VALID, 1);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"},{\"clientState\":\"x\"}]}",
               VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"x\"},{\"clientState\":\"" NEW "\"}]}",
               VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"},{\"id\":1}]}", VERIFY_MISSING, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"},7]}", VERIFY_MISSING, 0);
    judge_body(scheme, "{\"value\":[]}", VERIFY_MISSING, 0);
    judge_body(scheme, "{\"other\":1}", VERIFY_MISSING, 0);
    judge_body(scheme, "{\"value\":{\"0\":{\"clientState\":\"" NEW "\"}}}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":null}]}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":[\"" NEW "\"]}]}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"\"}]}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\\u0000\"}]}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"value\":[{\"clientState\":\"" NEW "\"}]", VERIFY_BAD, 0);
    judge_body(scheme, "", VERIFY_BAD, 0);
    /* Of duplicate members the last counts, as everywhere. */
    judge_body(scheme,
               "{\"value\":[{\"clientState\":\"x\",\"clientState\":\"" NEW "\"}],\"value\":[]}",
               VERIFY_MISSING, 0);
    verify_scheme_free(scheme);
}

static void test_a_token_once_in_the_body(void **state)
{
    struct verify_scheme *scheme = token_at("json:/token");

    (void)state;
    judge_body(scheme, "{\"token\":\"" OLD "\"}", VERIFY_VALID, 1);
    judge_body(scheme, "{\"token\":\"" OLD "x\"}", VERIFY_BAD, 0);
    judge_body(scheme, "{\"token\":1}", VERIFY_BAD, 0);
    judge_body(scheme, "[1]", VERIFY_MISSING, 0);
    verify_scheme_free(scheme);
    scheme = token_at("json:/*");
    judge_body(scheme, "[\"" OLD "\",\"" OLD "\"]", VERIFY_VALID, 1);
    judge_body(scheme, "[\"" OLD "\",[\"" OLD "\"]]", VERIFY_BAD, 0);
    verify_scheme_free(scheme);
}

/* ---- basic ---- */

static void test_basic_authentication(void **state)
{
    static struct str pairs[] = {STR("hook:new:password"), STR("hook:old")};
    static const struct {
        const char *value;
        enum verify_result want;
        size_t secret;
    } cases[] = {
        {"Basic aG9vazpuZXc6cGFzc3dvcmQ=", VERIFY_VALID, 0},
        {"basic   aG9vazpvbGQ=", VERIFY_VALID, 1},
        {NULL, VERIFY_MISSING, 0},
        {"", VERIFY_BAD, 0},
        {"Basic", VERIFY_BAD, 0},
        {"Basic aG9vazpvbGQ", VERIFY_BAD, 0},  /* without padding */
        {"Basic aG9vazpvbGR=", VERIFY_BAD, 0}, /* spare bits */
        {"Basic aG9vazpvbGQ= x", VERIFY_BAD, 0},
        {"Basic aG9vazpuZXc=", VERIFY_BAD, 0}, /* hook:new */
        {"Basic aG9vaw==", VERIFY_BAD, 0},     /* hook */
        {"Basic hook:old", VERIFY_BAD, 0},
        {"Bearer aG9vazpvbGQ=", VERIFY_BAD, 0},
    };
    struct verify_scheme *scheme = scheme_new(
        &(struct verify_spec){.algorithm = STR("basic"), .secrets = pairs, .secret_count = 2});

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_request test;

        request_begin(&test, STR("{}"));
        if (cases[i].value)
            request_add(&test, "authorization", str_from(cases[i].value));
        assert_judged(scheme, &test, cases[i].want, cases[i].secret);
    }
    verify_scheme_free(scheme);
}

/* ---- the sender's side ---- */

static void assert_signs(struct verify_scheme *scheme, const char *name, const char *value)
{
    struct arena *arena = arena_new(256);
    struct header headers[2];
    struct err err = {0};

    for (int bad = 0; bad < 2; bad++) {
        struct test_request test;
        size_t count = 0;

        request_begin(&test, STR("{}"));
        assert_int_equal(
            verify_sign(scheme, &test.request, 0, bad, arena, headers, 2, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_true(str_is(headers[0].name, name));
        assert_int_equal(str_is(headers[0].value, value), !bad);
        request_add(&test, name, headers[0].value);
        assert_int_equal(verify_request(scheme, &test.request, NULL),
                         bad ? VERIFY_BAD : VERIFY_VALID);
        request_end(&test);
    }
    arena_free(arena);
    verify_scheme_free(scheme);
}

static void test_what_is_sent_is_what_is_accepted(void **state)
{
    struct str pair = STR("hook:old");

    (void)state;
    assert_signs(token_at("header:X-Token"), "X-Token", NEW);
    assert_signs(token_at("query:t | header:Authorization prefix Bearer"), "Authorization",
                 "Bearer " NEW);
    assert_signs(scheme_new(&(struct verify_spec){
                     .algorithm = STR("basic"), .secrets = &pair, .secret_count = 1}),
                 "Authorization", "Basic aG9vazpvbGQ=");
}

static void test_what_does_not_stand_in_a_header_cannot_be_sent(void **state)
{
    static const char *const places[] = {"query:t", "json:/value/*/t"};
    struct test_request test;

    (void)state;
    request_begin(&test, STR("{}"));
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct verify_scheme *scheme = token_at(places[i]);
        struct header header;
        struct err err = {0};
        size_t count = 0;

        assert_int_equal(
            verify_sign(scheme, &test.request, 0, false, NULL, &header, 1, &count, &err), -1);
        assert_int_equal(err.kind, ERR_NEVER);
        verify_scheme_free(scheme);
    }
    request_end(&test);
}

static void test_which_headers_show_the_secret(void **state)
{
    struct str secret = STR("0123456789abcdef");
    struct verify_scheme *scheme = token_at("query:a | header:X-Key prefix Bearer");

    (void)state;
    assert_true(verify_shows_secret(scheme, STR("x-key")));
    assert_false(verify_shows_secret(scheme, STR("a")));
    assert_false(verify_shows_secret(scheme, STR("X-Other")));
    verify_scheme_free(scheme);
    scheme = scheme_new(&(struct verify_spec){.algorithm = STR("hmac-sha256"),
                                              .signature = STR("header:X-Key hex"),
                                              .signed_template = STR("{body}"),
                                              .secrets = &secret,
                                              .secret_count = 1});
    assert_false(verify_shows_secret(scheme, STR("X-Key")));
    verify_scheme_free(scheme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake_of_a_token),
        cmocka_unit_test(test_settings_that_a_token_does_not_read),
        cmocka_unit_test(test_every_mistake_of_basic),
        cmocka_unit_test(test_a_token_in_a_header),
        cmocka_unit_test(test_a_token_behind_a_scheme_word),
        cmocka_unit_test(test_a_header_twice_is_ambiguous_even_with_the_same_token),
        cmocka_unit_test(test_a_token_in_the_query_or_else_in_a_header),
        cmocka_unit_test(test_a_token_in_every_element),
        cmocka_unit_test(test_a_token_once_in_the_body),
        cmocka_unit_test(test_basic_authentication),
        cmocka_unit_test(test_what_is_sent_is_what_is_accepted),
        cmocka_unit_test(test_what_does_not_stand_in_a_header_cannot_be_sent),
        cmocka_unit_test(test_which_headers_show_the_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
