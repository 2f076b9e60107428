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

/* `methods`: an event may be a PUT; a GET is one only where it is no challenge. */
static void test_events_with_other_methods(void **state)
{
    static const char lines[] = "methods = POST,PUT , GET\nhandshake = echo-query\n" SECRET;
    struct subject *subject = subject_of(lines);

    (void)state;
    assert_string_equal(handshakes_allow(subject->handshakes), "GET, POST, PUT");
    assert_true(handshakes_take(subject->handshakes, STR("PUT")));
    assert_false(handshakes_take(subject->handshakes, STR("PATCH")));
    assert_false(handshakes_take(subject->handshakes, STR("put")));
    release(subject);
    assert_answer(lines, "PUT", "challenge=x", "event");
    assert_answer(lines, "GET", "challenge=x", "200 text/plain x");
    assert_answer(lines, "GET", "id=1", "event");
    subject = subject_of("methods = DELETE\n" SECRET);
    assert_string_equal(handshakes_allow(subject->handshakes), "DELETE");
    assert_false(handshakes_take(subject->handshakes, STR("POST")));
    release(subject);
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

/* A POST with that body, and up to two headers: "Name: value". */
static const char *posted(struct subject *subject, const char *body, const char *first,
                          const char *second, enum handshake_stage stage)
{
    struct test_request *test = &subject->request;
    const char *const headers[] = {first, second};

    request_end(test);
    request_begin(test, str_from(body));
    for (size_t i = 0; i < 2; i++) {
        char name[128];

        if (!headers[i])
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(headers[i], ":"), headers[i]);
        request_add(test, request_keep(test, (struct str){name, strlen(name) + 1}).ptr,
                    str_from(headers[i] + strlen(name) + 2));
    }
    return answer(subject, "POST", NULL, stage);
}

/* What is said of the body before and after its signature was checked. */
static void assert_message(const char *lines, const char *body, const char *header,
                           const char *before, const char *after)
{
    struct subject *subject = subject_of(lines);

    assert_string_equal(posted(subject, body, header, NULL, HANDSHAKE_BEFORE_VERIFY), before);
    assert_string_equal(posted(subject, body, header, NULL, HANDSHAKE_AFTER_VERIFY), after);
    release(subject);
}

static void test_json_challenge_of_slack(void **state)
{
    static const char lines[] = "handshake = json-challenge\n" SECRET;

    (void)state;
    assert_message(lines,
                   "{\"token\": \"t\", \"challenge\": \"3eZb\\u0026y\", \"type\": "
                   "\"url_verification\"}",
                   NULL, "event", "200 text/plain 3eZb&y");
    assert_message(lines, "{\"challenge\":\"x\",\"type\":\"event_callback\"}", NULL, "event",
                   "event");
    assert_message(lines, "{\"type\":\"url_verification\"}", NULL, "event", "400 bad challenge");
    assert_message(lines, "{\"type\":\"url_verification\",\"challenge\":1}", NULL, "event",
                   "400 bad challenge");
    assert_message(lines, "{\"type\":\"url_verification\",\"challenge\":\"\\ud800\"}", NULL,
                   "event", "400 bad challenge");
    assert_message(lines, "{\"type\":\"url_verification\",\"challenge\":\"x\"", NULL, "event",
                   "event");
}

static void test_json_challenge_of_monday(void **state)
{
    static const char body[] = " { \"challenge\" : \"3eZb\\u003cb\\u003e\\\"\" }\n";
    static const char want[] = "200 application/json {\"challenge\":\"3eZb<b>\\\"\"}";

    (void)state;
    assert_message("handshake = json-challenge unsigned\n" SECRET, body, NULL, want, want);
    assert_message("handshake = json-challenge\n" SECRET, body, NULL, "event", want);
    /* Nothing but a lone challenge needs no signature. */
    assert_message("handshake = json-challenge unsigned\n" SECRET,
                   "{\"type\":\"url_verification\",\"challenge\":\"x\"}", NULL, "event",
                   "200 text/plain x");
    assert_message("handshake = json-challenge unsigned\n" SECRET, "{\"challenge\":\"x\",\"id\":1}",
                   NULL, "event", "event");
    assert_message("handshake = json-challenge unsigned\n" SECRET,
                   "{\"challenge\":\"x\",\"challenge\":\"y\"}", NULL, "event", "event");
    assert_message("handshake = json-challenge unsigned\n" SECRET, "[\"challenge\"]", NULL, "event",
                   "event");
}

static void test_json_challenge_of_twitch(void **state)
{
    static const char lines[] = "handshake = json-challenge\n" SECRET;
    static const char body[] = "{\"challenge\":\"pogchamp-kappa-360noscope-vohiyo\","
                               "\"subscription\":{\"id\":\"f1c2a387\"}}";

    (void)state;
    assert_message(lines, body, "twitch-eventsub-message-type: webhook_callback_verification",
                   "event", "200 text/plain pogchamp-kappa-360noscope-vohiyo");
    assert_message(lines, body, "Twitch-Eventsub-Message-Type: notification", "event", "event");
    assert_message(lines, body, NULL, "event", "event");
}

static void test_zoom(void **state)
{
    static const char body[] =
        "{\"payload\":{\"plainToken\":\"qgg8vlvZRS6UYooatFL8Aw\"},\"event_ts\":1654503849680,"
        "\"event\":\"endpoint.url_validation\"}";
    static const char want[] =
        "200 application/json {\"plainToken\":\"qgg8vlvZRS6UYooatFL8Aw\",\"encryptedToken\":"
        "\"ab6193e5fc2172ba4a29511700f0cbf2aeabefa44064ef9bf89732e27aa58708\"}";
    struct subject *subject;
    struct request *request;

    (void)state;
    assert_message("handshake = zoom\nsecret = text:zoom_secret_token_example\n", body, NULL,
                   "event", want);
    assert_message("handshake = zoom\n" SECRET, "{\"event\":\"meeting.started\"}", NULL, "event",
                   "event");
    assert_message("handshake = zoom\n" SECRET,
                   "{\"event\":\"endpoint.url_validation\",\"payload\":{}}", NULL, "event",
                   "400 bad challenge");
    /* While a secret is replaced, the one that has signed the request counts. */
    subject = subject_of("handshake = zoom\n" SECRET);
    request = &subject->request.request;
    request->body = request_keep(&subject->request, str_from(body));
    assert_true(handshakes_answer(subject->handshakes, HANDSHAKE_AFTER_VERIFY, request,
                                  STR("zoom_secret_token_example"), subject->arena,
                                  &subject->reply));
    assert_true(str_is(subject->reply.body, want + 21));
    release(subject);
}

static void test_ping_pong(void **state)
{
    static const char lines[] = "handshake = ping-pong\n" SECRET;

    (void)state;
    assert_message(lines, "{\"id\":\"1\",\"type\":1,\"version\":1}", NULL, "event",
                   "200 application/json {\"type\":1}");
    assert_message(lines, "{\"version\":1,\"application_id\":\"1\",\"type\":0}", NULL, "event",
                   "204 application/json ");
    assert_message(lines, "{\"type\":1,\"event\":{\"type\":\"APPLICATION_AUTHORIZED\"}}", NULL,
                   "event", "event");
    assert_message(lines, "{\"id\":\"1\",\"type\":2}", NULL, "event", "event");
    assert_message(lines, "{\"id\":\"1\",\"type\":\"1\"}", NULL, "event", "event");
    assert_message(lines, "{\"id\":\"1\",\"type\":10}", NULL, "event", "event");
}

static void assert_sns(const char *url, const char *want)
{
    struct subject *subject = subject_of("handshake = sns-confirm\n" SECRET);
    const char *body = arena_printf(
        subject->arena, "{\"Type\":\"SubscriptionConfirmation\",\"SubscribeURL\":\"%s\"}", url);

    assert_string_equal(posted(subject, body, NULL, NULL, HANDSHAKE_AFTER_VERIFY), want);
    if (want[0] == '2')
        assert_true(str_is(subject->reply.visit, url));
    assert_string_equal(posted(subject, body, NULL, NULL, HANDSHAKE_BEFORE_VERIFY), "event");
    release(subject);
}

static void test_sns_confirm(void **state)
{
    static const char good[] = "200 text/plain ok\n", bad[] = "400 bad challenge";

    (void)state;
    assert_sns("https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336", good);
    assert_sns("https://sns.cn-north-1.amazonaws.com.cn/?Action=ConfirmSubscription", good);
    assert_sns("http://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription", bad);
    assert_sns("https://sns.us-east-1.amazonaws.com.evil.test/?Action=x", bad);
    assert_sns("https://evil.test/sns.us-east-1.amazonaws.com/", bad);
    assert_sns("https://sns.evil.test/.amazonaws.com/", bad);
    assert_sns("https://sns.us-east-1.amazonaws.com@evil.test/", bad);
    assert_sns("https://sns.us-east-1.amazonaws.com/ x", bad);
    assert_sns("https://sns..amazonaws.com/", bad);
    assert_sns("", bad);
    assert_message("handshake = sns-confirm\n" SECRET, "{\"Type\":\"Notification\"}", NULL, "event",
                   "event");
    assert_message("handshake = sns-confirm\n" SECRET, "{\"Type\":\"SubscriptionConfirmation\"}",
                   NULL, "event", "400 bad challenge");
}

static void test_unsigned_ping(void **state)
{
    static const char lines[] = "handshake = unsigned-ping\n" SECRET;

    (void)state;
    assert_message(lines, "webhook_id=12", NULL, "200 text/plain ok\n", "event");
    assert_message(lines, "webhook_id=", NULL, "event", "event");
    assert_message(lines, "webhook_id=1&x=2", NULL, "event", "event");
    assert_message(lines, "webhook_id=12\n", NULL, "event", "event");
    assert_message(lines, "webhook_id=123456789012345678901", NULL, "event", "event");
    assert_message(lines, "hook_id=12", NULL, "event", "event");
    assert_message("handshake = unsigned-ping hook\n" SECRET, "hook=12", NULL,
                   "200 text/plain ok\n", "event");
}

/* "405 method not allowed" or the status with the headers. */
static const char *asked(const char *lines, const char *first, const char *second)
{
    static char said[512];
    struct subject *subject = subject_of(lines);
    const struct handshake_reply *reply = &subject->reply;
    size_t len;

    posted(subject, "", first, second, HANDSHAKE_BEFORE_VERIFY);
    len = (size_t)snprintf(said, sizeof(said), "%s",
                           answer(subject, "OPTIONS", NULL, HANDSHAKE_BEFORE_VERIFY));
    for (size_t i = 0; i < reply->header_count; i++)
        len += (size_t)snprintf(said + len, sizeof(said) - len, "; %.*s: %.*s",
                                STR_ARG(reply->headers[i].name), STR_ARG(reply->headers[i].value));
    release(subject);
    return said;
}

static void test_options(void **state)
{
    static const char lines[] = "handshake = options\n" SECRET;
    static const char only[] = "handshake = options a.example b.example\n" SECRET;

    (void)state;
    assert_string_equal(asked(lines, "WebHook-Request-Origin: eventemitter.example.com", NULL),
                        "200 - ; Allow: POST; WebHook-Allowed-Origin: eventemitter.example.com");
    assert_string_equal(asked(lines, "webhook-request-origin: a", "WebHook-Request-Rate: 120"),
                        "200 - ; Allow: POST; WebHook-Allowed-Origin: a; WebHook-Allowed-Rate: *");
    assert_string_equal(asked(lines, NULL, "WebHook-Request-Rate: 120"), "405 method not allowed");
    assert_string_equal(asked(lines, "WebHook-Request-Origin: a b", NULL), "400 bad challenge");
    assert_string_equal(asked(lines, "WebHook-Request-Origin: a", "WebHook-Request-Origin: a"),
                        "400 bad challenge");
    assert_string_equal(asked(only, "WebHook-Request-Origin: B.example", NULL),
                        "200 - ; Allow: POST; WebHook-Allowed-Origin: B.example");
    assert_string_equal(asked(only, "WebHook-Request-Origin: c.example", NULL),
                        "405 method not allowed");
    assert_string_equal(asked(SECRET, "WebHook-Request-Origin: a", NULL), "405 method not allowed");
}

/* "200 - ; X-Hook-Secret: x; keeps x" */
static const char *handed_over(const char *lines, const char *body, const char *header)
{
    static char said[2048];
    struct subject *subject = subject_of(lines);
    const struct handshake_reply *reply = &subject->reply;
    size_t len = (size_t)snprintf(said, sizeof(said), "%s",
                                  posted(subject, body, header, NULL, HANDSHAKE_BEFORE_VERIFY));

    for (size_t i = 0; i < reply->header_count; i++)
        len += (size_t)snprintf(said + len, sizeof(said) - len, "; %.*s: %.*s",
                                STR_ARG(reply->headers[i].name), STR_ARG(reply->headers[i].value));
    if (reply->capture.ptr)
        snprintf(said + len, sizeof(said) - len, "; keeps %.*s", STR_ARG(reply->capture));
    release(subject);
    return said;
}

static void test_header_echo(void **state)
{
    static const char asana[] = "handshake = header-echo\n";
    static const char smartsheet[] =
        "handshake = header-echo Smartsheet-Hook-Challenge Smartsheet-Hook-Response\n" SECRET;
    char *longest = mem_printf("X-Hook-Secret: %0512d", 7), *longer = mem_printf("%s1", longest);

    (void)state;
    assert_string_equal(handed_over(asana, "", "x-hook-secret: b537207f20cbfa02357cf448134da559"),
                        "200 - ; X-Hook-Secret: b537207f20cbfa02357cf448134da559; keeps "
                        "b537207f20cbfa02357cf448134da559");
    assert_string_equal(handed_over(asana, "{}", "X-Hook-Secret: 1234567"), "400 bad challenge");
    assert_string_equal(handed_over(asana, "{}", "X-Hook-Secret: 1234 5678"), "400 bad challenge");
    assert_string_equal(handed_over(asana, "{}", "X-Hook-Secret: 1234567\xc3\xa4"),
                        "400 bad challenge");
    assert_string_equal(handed_over(asana, "{}", "X-Hook-Secret: "), "400 bad challenge");
    assert_memory_equal(handed_over(asana, "{}", longest), "200", 3);
    assert_string_equal(handed_over(asana, "{}", longer), "400 bad challenge");
    assert_string_equal(handed_over(asana, "{}", "X-Hook-Signature: x"), "event");
    assert_string_equal(handed_over("handshake = header-echo X-Own\n", "", "X-Own: 12345678"),
                        "200 - ; X-Own: 12345678; keeps 12345678");
    assert_string_equal(handed_over(smartsheet, "{}", "Smartsheet-Hook-Challenge: f9b8"),
                        "200 - ; Smartsheet-Hook-Response: f9b8");
    assert_string_equal(handed_over(smartsheet, "{}", "Smartsheet-Hook-Challenge: a b"),
                        "400 bad challenge");
    free(longest);
    free(longer);
}

static void test_token_capture(void **state)
{
    static const char lines[] = "handshake = token-capture\n";

    (void)state;
    assert_string_equal(
        handed_over(lines, "{\"verification_token\":\"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce\"}",
                    NULL),
        "200 text/plain ok\n; X-Content-Type-Options: nosniff; keeps "
        "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce");
    assert_string_equal(handed_over(lines, "{\"verification_token\":\"short\"}", NULL),
                        "400 bad challenge");
    assert_string_equal(handed_over(lines, "{\"verification_token\":12345678}", NULL),
                        "400 bad challenge");
    assert_string_equal(
        handed_over(lines, "{\"verification_token\":\"secret_tMrlL\",\"id\":\"x\"}", NULL),
        "event");
    assert_string_equal(handed_over(lines, "{\"id\":\"x\"}", NULL), "event");
}

/* What the configuration takes for a hand-over is what the handshakes do. */
static void test_the_configuration_knows_what_is_handed_over(void **state)
{
    static const struct {
        const char *text;
        bool captures;
    } want[] = {
        {"header-echo", true},
        {"header-echo X-A", true},
        {"header-echo X-A X-B", false},
        {"head-ok,token-capture", true},
        {"head-ok , \theader-echo\tX-A", true},
        {"head-ok, header-echo X-A X-B", false},
        {"head-ok, echo-query token-capture", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        char *lines = mem_printf("handshake = %s\n" SECRET, want[i].text);
        struct subject *subject = subject_of(lines);

        assert_int_equal(subject->config->providers[0].captures_secret, want[i].captures);
        release(subject);
        free(lines);
    }
}

static void test_a_large_body_is_no_handshake(void **state)
{
    struct subject *subject = subject_of("handshake = json-challenge\n" SECRET);
    char *body =
        mem_printf("{\"type\":\"url_verification\",\"challenge\":\"x\",\"pad\":\"%65600d\"}", 1);

    (void)state;
    assert_string_equal(posted(subject, body, NULL, NULL, HANDSHAKE_AFTER_VERIFY), "event");
    free(body);
    release(subject);
}

/* Every mistake names the provider, the key, and what would be right. */
static void assert_mistake_of(const char *key, const char *lines, const char *want)
{
    char *start = mem_printf("provider \"p\": %s: ", key);
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
        assert_memory_equal(mistake->text, start, strlen(start));
        assert_int_equal(mistake->line, 7);
    }
    mistakes_free(mistakes);
    config_unref(config);
    free(text);
    free(start);
}

static void assert_mistake(const char *lines, const char *want)
{
    assert_mistake_of("handshake", lines, want);
}

static void test_mistakes_of_methods(void **state)
{
    static const char *const wrong[][2] = {
        {"methods = post\n" SECRET, "\"post\" is no method of events; write one or more of POST, "},
        {"methods = POST,\n" SECRET, "\"\" is no method of events"},
        {"methods = POST PUT\n" SECRET, "\"POST PUT\" is no method of events"},
        {"methods = HEAD\n" SECRET, "\"HEAD\" is no method of events"},
        {"methods = POST, OPTIONS\n" SECRET, "\"OPTIONS\" is no method of events"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_mistake_of("methods", wrong[i][0], wrong[i][1]);
}

/* Of a preset's handshakes none is a mistake: a section of three lines is enough. */
static void test_a_presets_hub_without_a_token_is_a_warning(void **state)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config =
        config_parse("t.conf", STR(PROVIDER "handshake = hub\n" SECRET), mistakes);
    struct handshakes *handshakes;
    size_t found = 0;

    (void)state;
    assert_non_null(config);
    config->providers[0].handshake.file = "preset p";
    handshakes = handshakes_new(&config->providers[0], mistakes);
    assert_non_null(handshakes);
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        found += strstr(mistakes_get(mistakes, i)->text, "hub compares a token") != NULL;
    assert_int_equal(found, 1);
    assert_int_equal(mistakes_errors(mistakes), 0);
    handshakes_free(handshakes);
    mistakes_free(mistakes);
    config_unref(config);
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
    assert_mistake("handshake = json-challenge slack\n" SECRET,
                   "json-challenge takes only unsigned");
    assert_mistake("handshake = header-echo a b c\n" SECRET,
                   "header-echo takes only the header's name, and the answer's");
    assert_mistake("handshake = header-echo X:Y\n" SECRET, "header-echo takes only the header's");
    assert_mistake("handshake = token-capture\nsecret_encoding = hex\n",
                   "token-capture uses the secret as it is; write secret_encoding = raw");
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
        cmocka_unit_test(test_events_with_other_methods),
        cmocka_unit_test(test_head_ok),
        cmocka_unit_test(test_echo_query),
        cmocka_unit_test(test_a_long_challenge_is_refused),
        cmocka_unit_test(test_hub),
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_a22_validation_token),
        cmocka_unit_test(test_json_challenge_of_slack),
        cmocka_unit_test(test_json_challenge_of_monday),
        cmocka_unit_test(test_json_challenge_of_twitch),
        cmocka_unit_test(test_zoom),
        cmocka_unit_test(test_ping_pong),
        cmocka_unit_test(test_sns_confirm),
        cmocka_unit_test(test_unsigned_ping),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_header_echo),
        cmocka_unit_test(test_token_capture),
        cmocka_unit_test(test_the_configuration_knows_what_is_handed_over),
        cmocka_unit_test(test_a_large_body_is_no_handshake),
        cmocka_unit_test(test_a_presets_hub_without_a_token_is_a_warning),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_mistakes_of_methods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
