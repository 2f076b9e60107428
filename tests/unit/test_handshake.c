/* Handshakes: a request in, the answer that the provider's documentation asks for out (field
 * reports A21, A22). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "handshake/handshake.h"
#include "requests.h"

#define PROVIDER                                                                                   \
    "[provider p]\nverify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\n"          \
    "event_id = body:/id\non = ignore\n"
#define SECRET "secret = text:consumer_secret_example\n"

struct subject {
    struct config *config;
    struct handshakes *handshakes;
    struct arena *arena;
    struct test_request request;
    struct handshake_reply reply;
};

/* `lines`: of the section. */
static struct subject *subject_of(const char *lines)
{
    static struct subject subject;
    struct mistakes *mistakes = mistakes_new();
    char *text = mem_printf("%s%s", PROVIDER, lines);

    memset(&subject, 0, sizeof(subject));
    subject.config = config_parse("t.conf", str_from(text), mistakes);
    if (subject.config)
        subject.handshakes = handshakes_new(&subject.config->providers[0], mistakes);
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning)
            print_error("%s\n", mistakes_get(mistakes, i)->text);
    assert_non_null(subject.handshakes);
    mistakes_free(mistakes);
    free(text);
    subject.arena = arena_new(1024);
    request_begin(&subject.request, STR(""));
    return &subject;
}

static void release(struct subject *subject)
{
    request_end(&subject->request);
    handshakes_free(subject->handshakes);
    arena_free(subject->arena);
    config_unref(subject->config);
}

/* "GET", "?query": what is answered, as "200 text/plain body", "400 missing challenge", "event". */
static const char *answer(struct subject *subject, const char *method, const char *query,
                          enum handshake_stage stage)
{
    struct request *request = &subject->request.request;
    const struct handshake_reply *reply = &subject->reply;

    request->method = str_from(method);
    request->query = query ? request_keep(&subject->request, str_from(query)) : STR_NONE;
    if (!handshakes_answer(subject->handshakes, stage, request, STR_NONE, subject->arena,
                           &subject->reply))
        return "event";
    if (reply->refusal != REFUSAL_NONE)
        return arena_printf(subject->arena, "%u %s", refusal_info(reply->refusal)->status,
                            refusal_info(reply->refusal)->text);
    return arena_printf(subject->arena, "%u %s %.*s", reply->status,
                        reply->content_type ? reply->content_type : "-", STR_ARG(reply->body));
}

/* The same with a section of its own. */
static void assert_answer(const char *lines, const char *method, const char *query,
                          const char *want)
{
    struct subject *subject = subject_of(lines);

    assert_string_equal(answer(subject, method, query, HANDSHAKE_BEFORE_VERIFY), want);
    release(subject);
}

static void test_a_provider_without_a_handshake_takes_only_posts(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "PUT", "get", ""};
    struct subject *subject = subject_of(SECRET);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        assert_false(handshakes_take(subject->handshakes, str_from(methods[i])));
    assert_true(handshakes_take(subject->handshakes, STR("POST")));
    assert_string_equal(handshakes_allow(subject->handshakes), "POST");
    assert_string_equal(
        answer(subject, "POST", "challenge=x&validationToken=y", HANDSHAKE_BEFORE_VERIFY), "event");
    release(subject);
}

static void test_allow_lists_what_the_handshakes_take(void **state)
{
    static const char *const want[][2] = {
        {"handshake = echo-query\n" SECRET, "GET, POST"},
        {"handshake = head-ok\n" SECRET, "HEAD, POST"},
        {"handshake = head-ok, echo-query\n" SECRET, "GET, HEAD, POST"},
        {"handshake =\n" SECRET, "POST"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct subject *subject = subject_of(want[i][0]);

        assert_string_equal(handshakes_allow(subject->handshakes), want[i][1]);
        release(subject);
    }
}

static void test_head_ok(void **state)
{
    (void)state;
    assert_answer("handshake = head-ok\n" SECRET, "HEAD", NULL, "200 - ");
}

static void test_echo_query(void **state)
{
    static const char lines[] = "handshake = echo-query\n" SECRET;
    struct subject *subject = subject_of(lines);

    (void)state;
    assert_string_equal(
        answer(subject, "GET", "a=b&challenge=x%20y%2Bz&c", HANDSHAKE_BEFORE_VERIFY),
        "200 text/plain x y+z");
    assert_int_equal(subject->reply.header_count, 1);
    assert_true(str_is(subject->reply.headers[0].name, "X-Content-Type-Options"));
    assert_true(str_is(subject->reply.headers[0].value, "nosniff"));
    release(subject);
    assert_answer(lines, "GET", NULL, "400 missing challenge");
    assert_answer(lines, "GET", "challeng=x", "400 missing challenge");
    assert_answer(lines, "GET", "challenge=", "400 bad challenge");
    assert_answer(lines, "GET", "challenge", "400 bad challenge");
    assert_answer(lines, "GET", "challenge=a&challenge=a", "400 bad challenge");
    assert_answer(lines, "GET", "challenge=%4", "400 bad challenge");
    assert_answer("handshake = echo-query crc\n" SECRET, "GET", "crc=1", "200 text/plain 1");
    assert_answer("handshake = echo-query crc\n" SECRET, "GET", "challenge=1",
                  "400 missing challenge");
}

static void test_a_long_challenge_is_refused(void **state)
{
    char query[8192] = "challenge=";

    (void)state;
    memset(query + 10, 'x', 4096);
    query[10 + 4096] = '\0';
    {
        struct subject *subject = subject_of("handshake = echo-query\n" SECRET);
        const char *said = answer(subject, "GET", query, HANDSHAKE_BEFORE_VERIFY);

        assert_memory_equal(said, "200 text/plain xxxx", 19);
        release(subject);
    }
    query[10 + 4096] = 'x';
    assert_answer("handshake = echo-query\n" SECRET, "GET", query, "400 bad challenge");
}

static void test_hub(void **state)
{
    static const char lines[] =
        "handshake = hub\nhandshake_token = text:tok en&1\nhandshake_token = text:older\n" SECRET;

    (void)state;
    assert_answer(lines, "GET", "hub.mode=subscribe&hub.verify_token=tok+en%261&hub.challenge=42",
                  "200 text/plain 42");
    assert_answer(lines, "GET", "hub.challenge=<b>&hub.verify_token=older&hub.mode=subscribe",
                  "200 text/plain <b>");
    assert_answer(lines, "GET", "hub%2Emode=subscribe&hub.verify_token=older&hub.challenge=42",
                  "200 text/plain 42");
    assert_answer(lines, "GET", "hub.mode=subscribe&hub.verify_token=olde&hub.challenge=42",
                  "403 wrong verify token");
    assert_answer(lines, "GET", "hub.mode=subscribe&hub.challenge=42", "403 wrong verify token");
    assert_answer(lines, "GET", "hub.mode=subscribe&hub.verify_token=&hub.challenge=42",
                  "403 wrong verify token");
    assert_answer(lines, "GET",
                  "hub.mode=subscribe&hub.verify_token=older&hub.verify_token=x&hub.challenge=42",
                  "403 wrong verify token");
    assert_answer(lines, "GET", "hub.mode=denied&hub.verify_token=older&hub.challenge=42",
                  "400 bad challenge");
    assert_answer(lines, "GET", "hub.verify_token=older&hub.challenge=42", "400 bad challenge");
    assert_answer(lines, "GET", "hub.mode=subscribe&hub.verify_token=older",
                  "400 missing challenge");
    assert_answer(lines, "GET", NULL, "400 missing challenge");
    assert_answer("handshake = hub json\nhandshake_token = text:older\n" SECRET, "GET",
                  "hub.mode=subscribe&hub.verify_token=older&hub.challenge=4%222",
                  "200 application/json {\"hub.challenge\":\"4\\\"2\"}");
}

static void test_crc(void **state)
{
    static const char lines[] = "handshake = crc\n" SECRET;

    (void)state;
    assert_answer(lines, "GET", "crc_token=challenge_string",
                  "200 application/json "
                  "{\"response_token\":\"sha256=jbXKbME72EP4whP7Jiwf8KJkZpedcmIvi6wGXiUuI/w=\"}");
    assert_answer(lines, "GET", "crc_token=challenge%5Fstring",
                  "200 application/json "
                  "{\"response_token\":\"sha256=jbXKbME72EP4whP7Jiwf8KJkZpedcmIvi6wGXiUuI/w=\"}");
    assert_answer(lines, "GET", "crc_token=", "400 bad challenge");
    assert_answer(lines, "GET", "x=y", "400 missing challenge");
}

static void test_a22_validation_token(void **state)
{
    static const char lines[] = "handshake = validation-token\n" SECRET;
    static const char query[] = "validationToken=Validation%3a+Testing+a%2Bb%3Cscript%3E";
    static const char want[] = "200 text/plain Validation: Testing a+b<script>";

    (void)state;
    assert_answer(lines, "POST", query, want);
    assert_answer(lines, "GET", query, want);
    assert_answer(lines, "POST", "validationtoken=x", "200 text/plain x");
    assert_answer(lines, "POST", "validationToken=", "400 bad challenge");
    assert_answer(lines, "GET", "", "400 missing challenge");
    assert_answer(lines, "POST", NULL, "event");
}

/* Every mistake names the provider, the key, and what would be right. */
static void assert_mistake(const char *lines, const char *want)
{
    struct mistakes *mistakes = mistakes_new();
    char *text = mem_printf("%s%s", PROVIDER, lines);
    struct config *config = config_parse("t.conf", str_from(text), mistakes);

    assert_non_null(config);
    assert_null(handshakes_new(&config->providers[0], mistakes));
    assert_int_equal(mistakes_errors(mistakes), 1);
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        if (mistake->warning)
            continue;
        if (!strstr(mistake->text, want))
            print_error("%s\n", mistake->text);
        assert_non_null(strstr(mistake->text, want));
        assert_memory_equal(mistake->text, "provider \"p\": handshake: ", 24);
        assert_int_equal(mistake->line, 7);
    }
    mistakes_free(mistakes);
    config_unref(config);
    free(text);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_mistake("handshake = hubb\n" SECRET,
                   "there is no \"hubb\"; write one or more of crc, echo-query, ");
    assert_mistake("handshake = echo-query,\n" SECRET, "there is no \"\"; write");
    assert_mistake("handshake = hub\n" SECRET,
                   "hub compares a token; write handshake_token = file:/PATH");
    assert_mistake("handshake = hub xml\nhandshake_token = text:x\n" SECRET, "hub takes only json");
    assert_mistake("handshake = crc now\n" SECRET, "crc takes no words");
    assert_mistake("handshake = echo-query a b\n" SECRET,
                   "echo-query takes only the parameter's name");
    assert_mistake("handshake = crc\nsecret_encoding = hex\nsecret = text:00112233445566778899\n",
                   "crc uses the secret as it is; write secret_encoding = raw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_provider_without_a_handshake_takes_only_posts),
        cmocka_unit_test(test_allow_lists_what_the_handshakes_take),
        cmocka_unit_test(test_head_ok),
        cmocka_unit_test(test_echo_query),
        cmocka_unit_test(test_a_long_challenge_is_refused),
        cmocka_unit_test(test_hub),
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_a22_validation_token),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
