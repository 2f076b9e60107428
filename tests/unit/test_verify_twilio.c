/* Twilio: the URL in both spellings of its port, the sorted pairs of a form, bodySHA256. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "requests.h"
#include "schemes.h"

#define TOKEN "12345678901234567890"
#define URL "https://h.example/in"

static struct str secrets[] = {STR(TOKEN), STR("an older token")};

static struct verify_scheme *twilio_at(const char *url)
{
    return scheme_new(&(struct verify_spec){.algorithm = STR("twilio"),
                                            .public_url = str_from(url),
                                            .secrets = secrets,
                                            .secret_count = 2});
}

/* A request with `body` whose signature is over `text`, which is written out by hand. */
static void begin(struct test_request *test, const char *body, const char *query, const char *text)
{
    request_begin(test, str_from(body));
    if (query)
        test->request.query = request_keep(test, str_from(query));
    request_addf(test, "x-twilio-signature", "%s",
                 hmac_base64(test, EVP_sha1(), STR(TOKEN), str_from(text)));
}

static void judge(const char *url, const char *body, const char *query, const char *text,
                  enum verify_result want)
{
    struct verify_scheme *scheme = twilio_at(url);
    struct test_request test;
    size_t secret = 99;

    begin(&test, body, query, text);
    if (verify_request(scheme, &test.request, &secret) != want)
        fail_msg("%s: not %d", text, (int)want);
    assert_int_equal(secret, want == VERIFY_VALID ? 0 : 99);
    request_end(&test);
    verify_scheme_free(scheme);
}

static void test_every_mistake(void **state)
{
    struct str empty = STR("");

    (void)state;
    assert_said(&(struct verify_spec){.algorithm = STR("twilio")},
                "public_url: is missing, but Twilio signs it; write the URL as Twilio knows it\n"
                "secret: is missing; write secret = file:PATH\n");
    assert_said(&(struct verify_spec){.algorithm = STR("twilio"),
                                      .signature = STR("header:X-Twilio-Signature base64"),
                                      .timestamp = STR("header:T s"),
                                      .signed_template = STR("{url}{body}"),
                                      .secret_encoding = STR("base64"),
                                      .public_url = STR("h.example/in"),
                                      .secrets = secrets,
                                      .secret_count = 1},
                "signature: is not used by this kind of verification; take it away\n"
                "timestamp: is not used by this kind of verification; take it away\n"
                "signed: is not used by this kind of verification; take it away\n"
                "public_url: has to begin with https:// or http://\n"
                "secret_encoding: has to be raw here: the secret is used as it is written\n");
    assert_said(&(struct verify_spec){.algorithm = STR("twilio"),
                                      .public_url = STR("https://h.example/in?a=b"),
                                      .secrets = &empty,
                                      .secret_count = 1},
                "public_url: is written without query; the query that was received is added to it\n"
                "secret: is empty, so anybody could sign\n");
}

static void test_the_pairs_of_a_form(void **state)
{
    static const struct {
        const char *body, *text;
        enum verify_result want;
    } cases[] = {
        {"", URL, VERIFY_VALID},
        {"b=2&a=1", URL "a1b2", VERIFY_VALID},
        {"b=2&a=1", URL "b2a1", VERIFY_BAD},
        /* By name first, and "Sid" is a name before "SidAccount". */
        {"SidAccount=AC&Sid=CA", URL "SidCASidAccountAC", VERIFY_VALID},
        {"a=2&a=10&a=2", URL "a10a2", VERIFY_VALID},
        {"a=2&a=10&a=2", URL "a10a2a2", VERIFY_BAD},
        {"B=1&a=2&_=3", URL "B1_3a2", VERIFY_VALID},
        /* Pairs without value, without name, and no pairs at all. */
        {"a", URL "a", VERIFY_VALID},
        {"a=", URL "a", VERIFY_VALID},
        {"=v", URL "v", VERIFY_VALID},
        {"&&a=1&", URL "a1", VERIFY_VALID},
        {"a=b=c", URL "ab=c", VERIFY_VALID},
        /* Escapes are decoded, in names too; what they stand for is not decoded again. */
        {"From=%2B1+415&T=%c3%A4", URL "From+1 415T\xc3\xa4", VERIFY_VALID},
        {"a%20b=1", URL "a b1", VERIFY_VALID},
        {"a=%2526", URL "a%26", VERIFY_VALID},
        {"a=1%26b=2", URL "a1&b=2", VERIFY_VALID},
        {"a=%FF", URL "a\xff", VERIFY_VALID},
        /* A broken escape is no form that Twilio sends. */
        {"a=%", URL "a%", VERIFY_BAD},
        {"a=%2", URL "a%2", VERIFY_BAD},
        {"a=%zz", URL "a%zz", VERIFY_BAD},
        {"%=1", URL "%1", VERIFY_BAD},
        /* JSON without bodySHA256 is covered as if it were a form: never by the URL alone. */
        {"{\"id\":1}", URL, VERIFY_BAD},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge(URL, cases[i].body, NULL, cases[i].text, cases[i].want);
}

static void test_the_url_with_and_without_its_port(void **state)
{
    static const struct {
        const char *url, *text;
        enum verify_result want;
    } cases[] = {
        {"https://h.example/in", "https://h.example/in", VERIFY_VALID},
        {"https://h.example/in", "https://h.example:443/in", VERIFY_VALID},
        {"https://h.example/in", "https://h.example:80/in", VERIFY_BAD},
        {"https://h.example/in", "http://h.example/in", VERIFY_BAD},
        {"https://h.example/in", "https://h.example/in/", VERIFY_BAD},
        {"http://h.example/in", "http://h.example:80/in", VERIFY_VALID},
        {"https://h.example:8443/in", "https://h.example:8443/in", VERIFY_VALID},
        {"https://h.example:8443/in", "https://h.example/in", VERIFY_VALID},
        {"https://h.example:8443/in", "https://h.example:443/in", VERIFY_BAD},
        {"https://h.example", "https://h.example:443", VERIFY_VALID},
        {"https://u:p@h.example/in", "https://u:p@h.example:443/in", VERIFY_VALID},
        {"https://u:1@h.example/in", "https://u:1@h.example:443/in", VERIFY_VALID},
        {"https://h.example:443/in:80", "https://h.example/in:80", VERIFY_VALID},
        {"https://[::1]/in", "https://[::1]:443/in", VERIFY_VALID},
        {"https://[::1]:99/in", "https://[::1]/in", VERIFY_VALID},
        {"https://192.0.2.1/in", "https://192.0.2.1:443/in", VERIFY_VALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge(cases[i].url, "", NULL, cases[i].text, cases[i].want);
}

static void test_the_query_is_signed_as_it_came(void **state)
{
    (void)state;
    judge(URL, "", "q=It%27s+1", URL "?q=It%27s+1", VERIFY_VALID);
    judge(URL, "", "q=It%27s+1", URL "?q=It's 1", VERIFY_BAD);
    judge(URL, "", "", URL "?", VERIFY_VALID);
    judge(URL, "a=1", "q", URL "?qa1", VERIFY_VALID);
    judge(URL, "", "q=1&r=2", URL "?q=1", VERIFY_BAD);
}

/* And the SHA-256 of nothing. */
#define JSON "{\"id\":1}"
#define NOTHING_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_a_body_that_is_no_form(void **state)
{
    unsigned char sha256[32];
    char good[200], upper[200], twice[400], query[500];
    unsigned len = 0;

    (void)state;
    assert_int_equal(EVP_Digest(JSON, strlen(JSON), sha256, &len, EVP_sha256(), NULL), 1);
    snprintf(good, sizeof(good), "bodySHA256=");
    codec_hex_encode(sha256, 32, good + 11);
    for (size_t i = 0; i <= strlen(good); i++)
        upper[i] = i > 11 && good[i] >= 'a' && good[i] <= 'f' ? (char)(good[i] - 32) : good[i];
    snprintf(query, sizeof(query), "%s?%s", URL, good);
    judge(URL, JSON, good, query, VERIFY_VALID);
    judge(URL, JSON " ", good, query, VERIFY_BAD);
    judge(URL, "", good, query, VERIFY_BAD);
    snprintf(query, sizeof(query), "%s?%s", URL, upper);
    judge(URL, JSON, upper, query, VERIFY_VALID);
    /* What is not signed does not count, and two digests are ambiguous. */
    judge(URL, JSON, good, URL, VERIFY_BAD);
    snprintf(twice, sizeof(twice), "%s&%s", good, good);
    snprintf(query, sizeof(query), "%s?%s", URL, twice);
    judge(URL, JSON, twice, query, VERIFY_BAD);
    /* A digest that is none does not turn into a form. */
    judge(URL, JSON, "bodySHA256=", URL "?bodySHA256=", VERIFY_BAD);
    judge(URL, "", "bodySHA256=00", URL "?bodySHA256=00", VERIFY_BAD);
    judge(URL, "", "bodySHA256=" NOTHING_SHA256, URL "?bodySHA256=" NOTHING_SHA256, VERIFY_VALID);
    judge(URL, "", "bodysha256=00", URL "?bodysha256=00", VERIFY_VALID);
}

static void test_a_form_of_too_many_pairs(void **state)
{
    struct buf body, text;

    (void)state;
    for (int pairs = 1000; pairs <= 1001; pairs++) {
        buf_init(&body, BUF_NO_CAP);
        buf_init(&text, BUF_NO_CAP);
        buf_printf(&text, "%s", URL);
        for (int i = pairs; i-- > 0;)
            buf_printf(&body, "p%04d=v&", i);
        for (int i = 0; i < pairs; i++)
            buf_printf(&text, "p%04dv", i);
        buf_put_char(&body, '\0');
        buf_put_char(&text, '\0');
        judge(URL, body.data, NULL, text.data, pairs == 1000 ? VERIFY_VALID : VERIFY_BAD);
        buf_release(&body);
        buf_release(&text);
    }
}

static void test_the_signatures_header(void **state)
{
    static const char *const bad[] = {"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                      "AAAAAAAAAAAAAAAAAAAAAAAAAAA=, AAAA"};
    struct verify_scheme *scheme = twilio_at(URL);
    struct test_request test;
    size_t secret = 99;

    (void)state;
    request_begin(&test, STR(""));
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_MISSING);
    request_end(&test);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        request_begin(&test, STR(""));
        request_add(&test, "X-Twilio-Signature", str_from(bad[i]));
        assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
        request_end(&test);
    }
    begin(&test, "", NULL, URL);
    request_add(&test, "X-Twilio-Signature", test.headers[0].value);
    assert_int_equal(verify_request(scheme, &test.request, NULL), VERIFY_BAD);
    request_end(&test);
    /* The older of two secrets. */
    request_begin(&test, STR(""));
    request_addf(&test, "X-Twilio-Signature", "%s",
                 hmac_base64(&test, EVP_sha1(), secrets[1], STR(URL)));
    assert_int_equal(verify_request(scheme, &test.request, &secret), VERIFY_VALID);
    assert_int_equal(secret, 1);
    request_end(&test);
    verify_scheme_free(scheme);
}

static void test_what_is_sent_is_what_is_accepted(void **state)
{
    static const char *const bodies[] = {"", "b=2&a=1&a=1", "{\"id\":\"e 1\"}"};
    struct verify_scheme *scheme = twilio_at(URL);
    struct arena *arena = arena_new(1024);
    struct header header;
    struct err err = {0};
    size_t count;

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(bodies); i++) {
        struct test_request test;
        bool bad = i % 2;

        request_begin(&test, str_from(bodies[i / 2]));
        assert_int_equal(
            verify_sign(scheme, &test.request, 0, bad, arena, &header, 1, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_true(str_is(header.name, "X-Twilio-Signature"));
        request_add(&test, "X-Twilio-Signature", header.value);
        assert_int_equal(verify_request(scheme, &test.request, NULL),
                         bad ? VERIFY_BAD : VERIFY_VALID);
        request_end(&test);
    }
    {
        struct test_request test;

        request_begin(&test, STR("a=%"));
        assert_int_equal(
            verify_sign(scheme, &test.request, 0, false, arena, &header, 1, &count, &err), -1);
        assert_string_equal(err.text,
                            "cannot sign: the body is neither a form nor what bodySHA256 says");
        request_end(&test);
    }
    arena_free(arena);
    verify_scheme_free(scheme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake),
        cmocka_unit_test(test_the_pairs_of_a_form),
        cmocka_unit_test(test_the_url_with_and_without_its_port),
        cmocka_unit_test(test_the_query_is_signed_as_it_came),
        cmocka_unit_test(test_a_body_that_is_no_form),
        cmocka_unit_test(test_a_form_of_too_many_pairs),
        cmocka_unit_test(test_the_signatures_header),
        cmocka_unit_test(test_what_is_sent_is_what_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
