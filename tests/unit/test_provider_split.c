/* Requests that hold several events (field reports A26, A28), and what they are answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "provider/provider.h"
#include "provider/split.h"
#include "requests.h"

#define NONE "[provider n]\nverify = none\non = ignore\n"
#define LIST NONE "split = body:\nevent_id = body:/id\nevent_type = body:/t\nkey = body:/k\n"
#define NESTED                                                                                     \
    NONE "split = body:/entry/*/changes | body:/entry/*/messaging\n"                               \
         "event_id = body:/mid | request:/entry/*/id + body:/field\n"                              \
         "event_type = request:/object\nkey = request:/entry/*/id\n"

struct subject {
    const struct config *config;
    struct provider *provider;
    struct arena *arena;
    struct test_request test;
    struct provider_events events;
};

static struct subject *begin(const char *config, const char *body)
{
    static struct subject subject;
    struct mistakes *mistakes = mistakes_new();

    subject.config = config_parse("t.conf", str_from(config), mistakes);
    assert_non_null(subject.config);
    subject.provider = provider_new(&subject.config->providers[0], mistakes);
    for (size_t i = 0; !subject.provider && i < mistakes_count(mistakes); i++)
        print_error("%s\n", mistakes_get(mistakes, i)->text);
    assert_non_null(subject.provider);
    mistakes_free(mistakes);
    subject.arena = arena_new(1024);
    request_begin(&subject.test, str_from(body));
    return &subject;
}

static void end(struct subject *subject)
{
    request_end(&subject->test);
    arena_free(subject->arena);
    provider_free(subject->provider);
    config_unref(subject->config);
}

static enum refusal read_request(struct subject *subject)
{
    subject->events = (struct provider_events){.count = 77};
    return provider_read(subject->provider, &subject->test.request, subject->arena,
                         &subject->events);
}

/* "a b c": the ids of the events. */
static void assert_ids(const char *config, const char *body, const char *want)
{
    struct subject *subject = begin(config, body);
    enum refusal refusal = read_request(subject);
    struct buf ids;

    if (refusal != REFUSAL_NONE)
        fail_msg("%s: %s", body, refusal_info(refusal)->text);
    assert_true(subject->events.split);
    assert_int_equal(subject->events.element, PROVIDER_NO_ELEMENT);
    buf_init(&ids, BUF_NO_CAP);
    for (size_t i = 0; i < subject->events.count; i++)
        buf_printf(&ids, "%s%.*s", i ? " " : "", STR_ARG(subject->events.list[i].id));
    if (!str_is(buf_str(&ids), want))
        fail_msg("%s: \"%.*s\", not \"%s\"", body, STR_ARG(buf_str(&ids)), want);
    buf_release(&ids);
    end(subject);
}

static void assert_refused(const char *config, const char *body, enum refusal want, size_t element)
{
    struct subject *subject = begin(config, body);
    enum refusal refusal = read_request(subject);

    if (refusal != want)
        fail_msg("%s: %s", body, refusal_info(refusal)->text);
    assert_int_equal(subject->events.element, element);
    assert_int_equal(subject->events.count, 77);
    assert_null(subject->events.list);
    end(subject);
}

static void test_a28_each_element_is_an_event(void **state)
{
    (void)state;
    assert_ids(LIST, "[]", "");
    assert_ids(LIST, " [ {\"id\":\"a\"} ] ", "a");
    assert_ids(LIST, "[{\"id\":\"b\"},{\"id\":1},{\"id\":\"b\"}]", "b 1 b");
    assert_ids(NONE "split = body:/x/events\nevent_id = body:/id\n",
               "{\"x\":{\"events\":[{\"id\":7},{\"id\":8}]},\"id\":9}", "7 8");
    assert_ids(NONE "split = body:/a | body:/b\nevent_id = body:/id\n",
               "{\"a\":{},\"b\":[{\"id\":1}]}", "1");
    assert_ids(NONE "split = body:/a | body:/b\nevent_id = body:/id\n",
               "{\"b\":[{\"id\":1}],\"a\":[]}", "");
    /* Scalars, too: the element itself is what the empty pointer names. */
    assert_ids(NONE "split = body:/ids\nevent_id = body:\n", "{\"ids\":[\"x\",5,true]}",
               "x 5 true");
    /* Of members that come twice the last counts. */
    assert_ids(NONE "split = body:/e\nevent_id = body:/id\n",
               "{\"e\":[{\"id\":1}],\"e\":[{\"id\":2,\"id\":3}]}", "3");
}

static void test_a28_one_without_an_id_refuses_all(void **state)
{
    (void)state;
    assert_refused(LIST, "[{\"id\":1},{\"t\":1},{}]", REFUSAL_MISSING_EVENT_ID, 1);
    assert_refused(LIST, "[{\"id\":null}]", REFUSAL_MISSING_EVENT_ID, 0);
    assert_refused(LIST, "[1]", REFUSAL_MISSING_EVENT_ID, 0);
    assert_refused(LIST, "[{\"id\":1},", REFUSAL_INVALID_JSON, PROVIDER_NO_ELEMENT);
    assert_refused(LIST, "", REFUSAL_INVALID_JSON, PROVIDER_NO_ELEMENT);
    assert_refused(LIST, "{\"id\":1}", REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    assert_refused(NONE "split = body:/e\nevent_id = body:/id\n", "{\"e\":null}",
                   REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    assert_refused(NESTED,
                   "{\"entry\":[{\"id\":1,\"changes\":[{\"field\":1},{\"field\":2}]},"
                   "{\"id\":2,\"messaging\":[{\"mid\":\"m\"},{}]}]}",
                   REFUSAL_MISSING_EVENT_ID, 3);
}

static void test_a26_a_digest_is_of_the_element(void **state)
{
    struct subject *subject =
        begin(NONE "split = body:\nevent_id = body:/sg_event_id | sha256\n",
              "[{\"sg_event_id\":\"x\"},{ \"a\":1 },{\"sg_event_id\":\"\"},{\"sg_event_id\":[]}]");
    unsigned char sha256[32];
    char hex[CODEC_HEX_SIZE(32)];

    (void)state;
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_int_equal(subject->events.count, 4);
    assert_true(str_is(subject->events.list[0].id, "x"));
    digest_sha256(STR("{ \"a\":1 }"), sha256);
    codec_hex_encode(sha256, sizeof(sha256), hex);
    assert_true(str_is(subject->events.list[1].id, hex));
    assert_memory_equal(subject->events.list[1].body_sha256, sha256, sizeof(sha256));
    assert_false(str_equal(subject->events.list[2].id, subject->events.list[3].id));
    end(subject);
}

static void test_an_event_has_its_own_bytes(void **state)
{
    struct subject *subject =
        begin(LIST, "\xef\xbb\xbf[ {\"id\" : \"a\",\"t\":\"T\",\"k\":1} ,{\"id\":\"b\\u0000\"}\n,"
                    "{\"id\":\"c\"}]");
    const struct event *events;

    (void)state;
    request_addf(&subject->test, "X-Any", "1");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    events = subject->events.list;
    assert_int_equal(subject->events.count, 3);
    assert_true(str_is(events[0].body, "{\"id\" : \"a\",\"t\":\"T\",\"k\":1}"));
    assert_true(str_is(events[0].type, "T"));
    assert_true(str_is(events[0].key, "1"));
    assert_null(events[0].document.ptr);
    assert_false(events[0].payload_repaired);
    assert_true(events[0].has_payload);
    assert_true(str_is(events[0].headers, "{\"x-any\":\"1\"}"));
    /* Only what jsonb cannot hold is written anew. */
    assert_true(events[1].payload_repaired);
    assert_true(str_is(events[1].document, "{\"id\":\"b\xef\xbf\xbd\"}"));
    assert_true(str_starts(events[1].id, STR("sha256:")));
    assert_false(events[2].payload_repaired);
    assert_null(events[2].document.ptr);
    assert_ptr_equal(events[0].headers.ptr, events[2].headers.ptr);
    end(subject);
}

static void test_nested_arrays(void **state)
{
    struct subject *subject;

    (void)state;
    assert_ids(NESTED, "{\"entry\":[]}", "");
    assert_ids(NESTED, "{\"entry\":[{\"id\":1,\"changes\":[]},{\"messaging\":[]}]}", "");
    assert_refused(NESTED, "{\"entry\":[{\"id\":1}]}", REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    assert_refused(NESTED, "{\"entry\":[1]}", REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    assert_refused(NESTED, "{\"entry\":{}}", REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    assert_refused(NESTED, "[]", REFUSAL_MISSING_EVENTS, PROVIDER_NO_ELEMENT);
    subject = begin(NESTED, "{\"object\":\"page\",\"entry\":["
                            "{\"changes\":[{\"field\":\"f\"},{\"field\":\"g\"}],\"id\":1},"
                            "{\"id\":2,\"messaging\":[{\"mid\":\"m\"}]}]}");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_int_equal(subject->events.count, 3);
    assert_true(str_is(subject->events.list[0].id, "1:f"));
    assert_true(str_is(subject->events.list[1].id, "1:g"));
    assert_true(str_is(subject->events.list[2].id, "m"));
    assert_true(str_is(subject->events.list[2].key, "2"));
    assert_true(str_is(subject->events.list[1].type, "page"));
    end(subject);
}

static void test_forms_and_raw_bodies(void **state)
{
    struct subject *subject;

    (void)state;
    assert_ids(NONE "format = form:p\nsplit = body:\nevent_id = body:/id\n",
               "p=%5B%7B%22id%22:1},{\"id\":2}]", "1 2");
    assert_ids(NONE "format = form\nsplit = body:/id\nevent_id = body:\n", "id=a&id=b", "a b");
    /* Where there is no JSON the request is one event. */
    subject = begin(NONE "format = raw\nsplit = body:\nevent_id = sha256\n", "[]");
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_int_equal(subject->events.count, 1);
    assert_false(subject->events.split);
    end(subject);
}

static void test_a28_as_many_as_are_allowed(void **state)
{
    struct subject *subject;
    struct buf body;

    (void)state;
    buf_init(&body, BUF_NO_CAP);
    buf_put_char(&body, '[');
    for (int i = 0; i < SPLIT_EVENTS_MAX; i++)
        buf_printf(&body, "%s{\"id\":%d}", i ? "," : "", i);
    buf_put(&body, "]", 2);
    subject = begin(LIST, body.data);
    assert_int_equal(read_request(subject), REFUSAL_NONE);
    assert_int_equal(subject->events.count, SPLIT_EVENTS_MAX);
    assert_true(str_is(subject->events.list[0].id, "0"));
    assert_true(str_is(subject->events.list[SPLIT_EVENTS_MAX - 1].id, "19999"));
    end(subject);
    body.len -= 2;
    buf_put(&body, ",{}]", 5);
    assert_refused(LIST, body.data, REFUSAL_TOO_MANY_EVENTS, PROVIDER_NO_ELEMENT);
    buf_release(&body);
}

#define TAIL "\nevent_id = body:/id\n"

static void test_splits_that_are_mistakes(void **state)
{
    static const char *const cases[][2] = {
        {"split = /events" TAIL, "split: \"/events\" names no array; write body:/POINTER"},
        {"split = body:events" TAIL, "split: json pointer \"events\" does not begin"},
        {"split = body:/a |" TAIL, "split: \"\" names no array; "},
        {"split = body:/a body:/b" TAIL, "split: \"body:/a body:/b\" names no array; "},
        {"split = body:/a/*" TAIL, "split: \"*\" stands once, between "},
        {"split = body:/a/*/b/*/c" TAIL, "split: \"*\" stands once, between "},
        {"split = body:/a/*/b | body:/c" TAIL, "split: its arrays are not behind the same \"*\""},
        {"split = body:/a/*/b | body:/c/*/b" TAIL, "split: its arrays are not behind the same"},
        {"split = body:/a | body:/b | body:/c | body:/d | body:/e" TAIL,
         "split: names more than 4"},
        {"split = body:\nevent_id = header:X\n", "event_id: with split all events of a request "},
        {"split = body:\nevent_id = body:/id | header:X\n", "event_id: with split all events of "},
        {"reply = 404\nevent_id = body:/id\n", "reply: \"404\" is no status from 200 to 299; "},
        {"reply = ok\nevent_id = body:/id\n", "reply: \"ok\" is no status from 200 to 299; "},
        {"reply = 204 ok\nevent_id = body:/id\n", "reply: an answer with the status 204 has no "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf(NONE "%s", cases[i][0]);
        const struct config *config = config_parse("t.conf", str_from(text), mistakes);

        assert_non_null(config);
        assert_null(provider_new(&config->providers[0], mistakes));
        assert_int_equal(mistakes_count(mistakes), 1);
        if (!strstr(mistakes_get(mistakes, 0)->text, cases[i][1]))
            fail_msg("%s, not %s", mistakes_get(mistakes, 0)->text, cases[i][1]);
        config_unref(config);
        free(text);
        mistakes_free(mistakes);
    }
}

static void assert_reply(const char *text, unsigned status, const char *type, const char *body)
{
    struct reply reply = {0};
    struct err err;

    assert_int_equal(reply_parse(str_from(text), &reply, &err), 0);
    assert_int_equal(reply.status, status);
    assert_true(type ? str_is(reply.content_type, type) : !reply.content_type.ptr);
    if (!str_is(reply.body, body))
        fail_msg("%s: \"%.*s\", not \"%s\"", text, STR_ARG(reply.body), body);
}

static void test_replies(void **state)
{
    (void)state;
    assert_reply("204", 204, NULL, "");
    assert_reply("204 application/json", 204, "application/json", "");
    assert_reply("200 [accepted]", 200, NULL, "[accepted]");
    assert_reply("200 text/xml <Response/>", 200, "text/xml", "<Response/>");
    assert_reply("200 <Response/>", 200, NULL, "<Response/>");
    assert_reply("202   text/plain;charset=utf-8   thank  you ", 202, "text/plain;charset=utf-8",
                 "thank  you");
    assert_reply("200 {\"a\": \"b/c\"}", 200, NULL, "{\"a\": \"b/c\"}");
    assert_reply("200 a/b/c d", 200, NULL, "a/b/c d");
    assert_reply("200 text/plain a/b", 200, "text/plain", "a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a28_each_element_is_an_event),
        cmocka_unit_test(test_a28_one_without_an_id_refuses_all),
        cmocka_unit_test(test_a26_a_digest_is_of_the_element),
        cmocka_unit_test(test_an_event_has_its_own_bytes),
        cmocka_unit_test(test_nested_arrays),
        cmocka_unit_test(test_forms_and_raw_bodies),
        cmocka_unit_test(test_a28_as_many_as_are_allowed),
        cmocka_unit_test(test_splits_that_are_mistakes),
        cmocka_unit_test(test_replies),
    };

    return cmocka_run_group_tests_name("provider_split", tests, NULL, NULL);
}
