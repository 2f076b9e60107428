/* The rules that make a scheme safe: what is looked at before what, what must be single, what a
 * signature has to cover, and mistakes of a scheme that are found when it is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "requests.h"
#include "verify/verify.h"

#define SECRET "k0-k0-k0-k0-k0-k0"
#define BODY "{\"id\":\"evt_1\"}"

static void fail_on_mistake(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    fail_msg("field %d, index %zu: %s", (int)field, index, text);
}

static struct verify_scheme *compile(const struct verify_spec *spec)
{
    static const struct str secrets[] = {STR(SECRET)};
    struct verify_spec whole = *spec;
    struct verify_scheme *scheme;

    if (!whole.secrets) {
        whole.secrets = secrets;
        whole.secret_count = 1;
    }
    if (!whole.algorithm.ptr)
        whole.algorithm = STR("hmac-sha256");
    scheme = verify_scheme_new(&whole, fail_on_mistake, NULL);
    assert_non_null(scheme);
    return scheme;
}

/* What is decided about a body with one header. */
static enum verify_result one_header(struct verify_scheme *scheme, const char *body,
                                     const char *name, struct str value)
{
    struct test_request test;
    enum verify_result result;

    request_begin(&test, str_from(body));
    request_add(&test, name, value);
    result = verify_request(scheme, &test.request, NULL);
    request_end(&test);
    return result;
}

/* The signature of BODY with that text as its time. */
static const char *timed_hex(struct test_request *test, const char *time)
{
    char message[256];

    snprintf(message, sizeof(message), "%s.%s", time, BODY);
    return hmac_hex(test, EVP_sha256(), STR(SECRET), str_from(message));
}

/* The boundary between a time and a body without a mark between them cannot be moved. */
static void test_no_byte_moves_across_the_boundary(void **state)
{
    struct verify_scheme *scheme =
        compile(&(struct verify_spec){.signature = STR("header:X-Sig hex"),
                                      .timestamp = STR("header:X-Time s"),
                                      .tolerance = {300000, 300000},
                                      .signed_template = STR("{ts}{body}")});
    static const struct {
        const char *time, *body;
        enum verify_result result;
    } cases[] = {
        {"1700000000", "{\"a\":1}", VERIFY_VALID}, {"1700000000{", "\"a\":1}", VERIFY_BAD},
        {"170000000", "0{\"a\":1}", VERIFY_STALE}, {"", "1700000000{\"a\":1}", VERIFY_BAD},
        {"1700000000{\"a\":1}", "", VERIFY_BAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_request test;

        request_begin(&test, str_from(cases[i].body));
        request_add(&test, "X-Time", str_from(cases[i].time));
        request_add(
            &test, "X-Sig",
            str_from(hmac_hex(&test, EVP_sha256(), STR(SECRET), STR("1700000000{\"a\":1}"))));
        assert_int_equal(verify_request(scheme, &test.request, NULL), cases[i].result);
        request_end(&test);
    }
    verify_scheme_free(scheme);
}

/* In either order, and also when both are right. */
static void test_a_single_header_that_comes_twice(void **state)
{
    static const char *const single[] = {"X-Sig", "X-Time", "X-Id"};
    struct verify_scheme *scheme =
        compile(&(struct verify_spec){.signature = STR("header:X-Sig hex"),
                                      .timestamp = STR("header:X-Time s"),
                                      .tolerance = {300000, 300000},
                                      .signed_template = STR("{header:X-Id}.{ts}.{body}")});

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(single) * 3; i++) {
        struct test_request test;
        struct header *headers = test.headers, other;

        request_begin(&test, STR(BODY));
        request_add(&test, "X-Id", STR("7"));
        request_add(&test, "X-Time", STR("1700000000"));
        request_add(
            &test, "X-Sig",
            str_from(hmac_hex(&test, EVP_sha256(), STR(SECRET), STR("7.1700000000." BODY))));
        assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_VALID);
        for (size_t k = 0; k < 3; k++)
            if (str_is(headers[k].name, single[i % 3]))
                other = headers[k];
        if (i / 3 == 0) { /* the same again */
            request_add(&test, "x-other", STR("1"));
            headers[3] = other;
        } else { /* another value, behind or in front */
            request_add(&test, single[i % 3], STR("1699999999"));
            if (i / 3 == 2) {
                other = headers[3];
                memmove(headers + 1, headers, 3 * sizeof(*headers));
                headers[0] = other;
            }
        }
        assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
        request_end(&test);
    }
    verify_scheme_free(scheme);
}

static void test_missing_headers_are_missing_whatever_else_is_wrong(void **state)
{
    static const char *const names[] = {"X-Id", "X-Time", "X-Sig"};
    struct verify_scheme *scheme =
        compile(&(struct verify_spec){.signature = STR("header:X-Sig hex"),
                                      .timestamp = STR("header:X-Time s"),
                                      .tolerance = {300000, 300000},
                                      .signed_template = STR("{header:X-Id}.{ts}.{body}")});

    (void)state;
    for (size_t missing = 0; missing < ARRAY_LEN(names); missing++) {
        struct test_request test;

        request_begin(&test, STR(BODY));
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            for (int twice = 0; twice < 2 && i != missing; twice++)
                request_add(&test, names[i], STR("nonsense"));
        assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_MISSING);
        request_end(&test);
    }
    verify_scheme_free(scheme);
}

/* Where a scheme signs members of the body they are read before; else only after. */
static void test_members_of_the_body(void **state)
{
    static const char body[] =
        "{\"signature\":{\"timestamp\":\"1700000000\",\"token\":\"t\\u006fk\",\"n\":12}}";
    struct verify_scheme *scheme = compile(&(struct verify_spec){
        .signature = STR("header:X-Sig hex"),
        .timestamp = STR("json:/signature/timestamp s"),
        .tolerance = {300000, 300000},
        .signed_template = STR("{ts}{json:/signature/token}{json:/signature/n}{body}")});
    struct test_request test;
    char message[256];

    (void)state;
    snprintf(message, sizeof(message), "1700000000tok12%s", body);
    request_begin(&test, str_from(body));
    request_add(&test, "X-Sig",
                str_from(hmac_hex(&test, EVP_sha256(), STR(SECRET), str_from(message))));
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_VALID);
    test.request.received_us += 301000000;
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_STALE);
    request_end(&test);
    assert_int_equal(one_header(scheme, "{", "X-Sig", STR("00")), VERIFY_BAD);
    assert_int_equal(one_header(scheme, "{", "X-None", STR("00")), VERIFY_MISSING);
    assert_int_equal(one_header(scheme, "{\"signature\":{\"timestamp\":null}}", "X-Sig", STR("00")),
                     VERIFY_MISSING);
    assert_int_equal(one_header(scheme, "{\"signature\":{\"timestamp\":1,\"token\":\"\\ud800\"}}",
                                "X-Sig", STR("00")),
                     VERIFY_BAD);
    verify_scheme_free(scheme);
}

static void test_a_signature_in_the_body_or_query(void **state)
{
    struct verify_scheme *scheme =
        compile(&(struct verify_spec){.signature = STR("query:sig hex"),
                                      .timestamp = STR("query:t s"),
                                      .tolerance = {300000, 300000},
                                      .signed_template = STR("{ts}.{body}")});
    struct test_request test;
    char query[128];

    (void)state;
    request_begin(&test, STR(BODY));
    snprintf(query, sizeof(query), "t=1700000000&sig=%s", timed_hex(&test, "1700000000"));
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_MISSING);
    test.request.query = str_from(query);
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_VALID);
    test.request.query = str_from("t=1700000000&sig");
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
    request_end(&test);
    verify_scheme_free(scheme);
}

/* The timestamp of the body is vouched for by {body}; nothing is parsed for a stranger. */
static void test_a_timestamp_beside_the_signature(void **state)
{
    struct verify_scheme *scheme =
        compile(&(struct verify_spec){.signature = STR("header:Linear-Signature hex"),
                                      .timestamp = STR("json:/webhookTimestamp ms"),
                                      .tolerance = {60000, 60000},
                                      .signed_template = STR("{body}")});
    static const struct {
        const char *body;
        enum verify_result result;
    } cases[] = {
        {"{\"webhookTimestamp\":1700000000000}", VERIFY_VALID},
        {"{\"webhookTimestamp\":1700000060000}", VERIFY_VALID},
        {"{\"webhookTimestamp\":1700000060001}", VERIFY_STALE},
        {"{\"webhookTimestamp\":1699999939999}", VERIFY_STALE},
        {"{\"webhookTimestamp\":1.7e12}", VERIFY_BAD},
        {"{\"webhookTimestamp\":null}", VERIFY_BAD},
        {"{}", VERIFY_BAD},
        {"{", VERIFY_BAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_request test;

        request_begin(&test, str_from(cases[i].body));
        request_add(&test, "Linear-Signature",
                    str_from(hmac_hex(&test, EVP_sha256(), STR(SECRET), str_from(cases[i].body))));
        if (verify_request(scheme, &test.request, NULL) != cases[i].result)
            fail_msg("%s", cases[i].body);
        request_end(&test);
    }
    verify_scheme_free(scheme);
}

static void note_mistake(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)index;
    snprintf(argument, 512, "%d %s", (int)field, text);
}

static void test_what_could_never_match_is_a_mistake(void **state)
{
    static const struct {
        const char *signature, *timestamp, *template, *url;
        enum verify_field field;
        const char *text; /* part of the mistake; NULL: none */
    } cases[] = {
        {"header:S split comma prefix v1, hex", NULL, "{body}", NULL, VERIFY_SIGNATURE, "is split"},
        {"header:S split comma prefix v1= hex", "item t,= s", "{ts}{body}", NULL, VERIFY_TIMESTAMP,
         "is split"},
        {"header:S split = hex", NULL, "{body}", NULL, VERIFY_SIGNATURE, "cannot split at"},
        {"header:S split a hex", NULL, "{body}", NULL, VERIFY_SIGNATURE, "cannot split at"},
        {"header:S hex", NULL, "{url}{body}", NULL, VERIFY_PUBLIC_URL, "is missing"},
        {"header:S hex", NULL, "{url}{body}", "example.com/in", VERIFY_PUBLIC_URL, "https://"},
        {"header:S hex", NULL, "{url}{body}", "https://x/in?a=1", VERIFY_PUBLIC_URL, "query"},
        {"header:S hex", NULL, "{url}{body}", "https://x/in#a", VERIFY_PUBLIC_URL, "query"},
        {"header:S hex", NULL, "{url}{body}", "http://x/in", VERIFY_PUBLIC_URL, NULL},
        {"header:S hex", "header:T s", "{body}", NULL, VERIFY_TIMESTAMP, "is not signed"},
        {"header:S hex", "header:T s", "{header:X}{body}", NULL, VERIFY_TIMESTAMP, "is not signed"},
        {"header:S hex", "header:T s", "{header:t}{body}", NULL, VERIFY_TIMESTAMP, NULL},
        {"header:S hex", "query:t s", "{query:T}{body}", NULL, VERIFY_TIMESTAMP, "is not signed"},
        {"header:S hex", "query:t s", "{query:t}{body}", NULL, VERIFY_TIMESTAMP, NULL},
        {"header:S hex", "query:t s", "{url}{body}", "https://x/in", VERIFY_TIMESTAMP, NULL},
        {"header:S hex", "json:/t s", "{body}", NULL, VERIFY_TIMESTAMP, NULL},
        {"header:S split comma hex", "item t= s", "{body}", NULL, VERIFY_TIMESTAMP,
         "is not signed"},
    };
    static const struct str secret = STR(SECRET);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                                   .signature = str_from(cases[i].signature),
                                   .timestamp = str_from(cases[i].timestamp),
                                   .signed_template = str_from(cases[i].template),
                                   .public_url = str_from(cases[i].url),
                                   .secrets = &secret,
                                   .secret_count = 1};
        char mistake[512] = "";
        struct verify_scheme *scheme = verify_scheme_new(&spec, note_mistake, mistake);

        if (!scheme != (cases[i].text != NULL) || !scheme != (mistake[0] != '\0'))
            fail_msg("%zu: %s", i, mistake);
        if (!scheme && (mistake[0] - '0' != (int)cases[i].field || !strstr(mistake, cases[i].text)))
            fail_msg("%zu: %s", i, mistake);
        verify_scheme_free(scheme);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_byte_moves_across_the_boundary),
        cmocka_unit_test(test_a_single_header_that_comes_twice),
        cmocka_unit_test(test_missing_headers_are_missing_whatever_else_is_wrong),
        cmocka_unit_test(test_members_of_the_body),
        cmocka_unit_test(test_a_signature_in_the_body_or_query),
        cmocka_unit_test(test_a_timestamp_beside_the_signature),
        cmocka_unit_test(test_what_could_never_match_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
