/* CloudEvents over HTTP: the mode by Content-Type, attributes in headers, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "provider/cloudevent.h"
#include "provider/provider.h"
#include "requests.h"

#define SECTION                                                                                    \
    "[provider c]\nverify = none\nformat = cloudevents\nevent_id = ce:source + ce:id\n"            \
    "event_type = ce:type\nkey = ce:subject | body:/k\non = ignore\n"
#define EVENT(id)                                                                                  \
    "{\"specversion\":\"1.0\",\"id\":\"" id "\",\"source\":\"/s\",\"type\":\"t." id "\"}"

/* Headers "Name: value", and a body: what is made of it, as "source:id type key payload; ..." */
static const char *read_as(const char *config_text, const char *body, ...)
{
    static char said[1024];
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(config_text), mistakes);
    struct provider *provider = config ? provider_new(&config->providers[0], mistakes) : NULL;
    struct arena *arena = arena_new(1024);
    struct provider_events events = {0};
    struct test_request test;
    enum refusal refusal;
    const char *header;
    struct buf buf;
    va_list headers;

    for (size_t i = 0; !provider && i < mistakes_count(mistakes); i++)
        print_error("%s\n", mistakes_get(mistakes, i)->text);
    assert_non_null(provider);
    request_begin(&test, str_from(body));
    va_start(headers, body);
    while ((header = va_arg(headers, const char *))) {
        size_t len = strcspn(header, ":");
        struct str name =
            request_keep(&test, str_from(arena_printf(arena, "%.*s", (int)len, header)));

        request_add(&test, arena_copy(arena, name).ptr, str_from(header + len + 2));
    }
    va_end(headers);
    buf_init(&buf, BUF_NO_CAP);
    refusal = provider_read(provider, &test.request, arena, &events);
    if (refusal != REFUSAL_NONE)
        buf_printf(&buf, "%u %s%s", refusal_info(refusal)->status, refusal_info(refusal)->text,
                   events.element == PROVIDER_NO_ELEMENT ? "" : " in an element");
    for (size_t i = 0; refusal == REFUSAL_NONE && i < events.count; i++) {
        const struct event *event = &events.list[i];

        buf_printf(&buf, "%s%.*s %.*s %.*s", i ? "; " : "", STR_ARG(event->id),
                   STR_ARG(event->type), STR_ARG(event->key));
        if (event->has_payload)
            buf_printf(&buf, " %.*s", STR_ARG(event->document.ptr ? event->document : event->body));
    }
    if (refusal == REFUSAL_NONE && events.split)
        buf_printf(&buf, " (batch of %zu)", events.count);
    snprintf(said, sizeof(said), "%.*s", STR_ARG(buf_str(&buf)));
    buf_release(&buf);
    request_end(&test);
    arena_free(arena);
    provider_free(provider);
    config_unref(config);
    mistakes_free(mistakes);
    return said;
}

#define HEAD "ce-specversion: 1.0", "ce-id: 7", "ce-source: /s", "ce-type: t"
#define READ(body, ...) read_as(SECTION, body, __VA_ARGS__, NULL)

static void test_binary(void **state)
{
    (void)state;
    assert_string_equal(READ("{\"k\":1}", HEAD, "Content-Type: application/json"),
                        "/s:7 t 1 {\"k\":1}");
    assert_string_equal(READ("{\"k\":1}", HEAD, "Content-Type: application/vnd.x+JSON; charset=u"),
                        "/s:7 t 1 {\"k\":1}");
    assert_string_equal(READ("{\"k\":1}", HEAD, "Content-Type: text/plain"), "/s:7 t ");
    assert_string_equal(READ("{\"k\":1}", HEAD), "/s:7 t ");
    assert_string_equal(READ("", HEAD, "Content-Type: application/json"), "/s:7 t ");
    assert_string_equal(READ("x", HEAD, "CE-Subject: s/1", "Content-Type: text/xml"), "/s:7 t s/1");
    /* The data is what its Content-Type says, or it is refused. */
    assert_string_equal(READ("{", HEAD, "Content-Type: application/json"), "400 invalid json");
    /* Members of the data are no attributes. */
    assert_string_equal(READ("{\"id\":\"x\",\"source\":\"x\",\"type\":\"x\",\"subject\":\"x\"}",
                             HEAD, "Content-Type: application/json"),
                        "/s:7 t  {\"id\":\"x\",\"source\":\"x\",\"type\":\"x\",\"subject\":\"x\"}");
}

static void test_binary_without_what_is_required(void **state)
{
    (void)state;
    assert_string_equal(READ("", "ce-id: 7", "ce-source: /s", "ce-type: t"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("", "ce-specversion: 1.0", "ce-source: /s", "ce-type: t"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("", "ce-specversion: 1.0", "ce-id: 7", "ce-type: t"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("", "ce-specversion: 1.0", "ce-id: 7", "ce-source: /s"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("", HEAD, "ce-id: 8"), "400 invalid cloudevent");
    assert_string_equal(READ("", HEAD, "ce-datacontenttype: text/xml"), "400 invalid cloudevent");
    assert_string_equal(
        READ("{}", HEAD, "Content-Type: text/xml", "Content-Type: application/json"),
        "400 invalid cloudevent");
    assert_string_equal(READ(EVENT("1"), "Content-Type: application/json"),
                        "400 invalid cloudevent");
}

static void test_structured(void **state)
{
    (void)state;
    assert_string_equal(READ(EVENT("1"), "Content-Type: application/cloudevents+json"),
                        "/s:1 t.1  " EVENT("1"));
    assert_string_equal(
        READ(EVENT("1"), "content-type: Application/CloudEvents+JSON ; charset=utf-8"),
        "/s:1 t.1  " EVENT("1"));
    assert_string_equal(READ(EVENT("1"), "Content-Type: application/cloudevents"),
                        "/s:1 t.1  " EVENT("1"));
    /* Headers are no attributes here. */
    assert_string_equal(READ("{}", HEAD, "Content-Type: application/cloudevents+json"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("[" EVENT("1") "]", "Content-Type: application/cloudevents+json"),
                        "400 invalid cloudevent");
    assert_string_equal(READ("", "Content-Type: application/cloudevents+json"), "400 invalid json");
    assert_string_equal(READ("x", "Content-Type: application/cloudevents+avro"),
                        "415 unsupported event format");
    assert_string_equal(READ(EVENT("1"), "Content-Type: application/cloudeventsx"),
                        "415 unsupported event format");
}

static void test_batch(void **state)
{
    (void)state;
    assert_string_equal(READ("[" EVENT("1") ", " EVENT("2") "]",
                             "Content-Type: APPLICATION/cloudevents-batch+json;charset=utf-8"),
                        "/s:1 t.1  " EVENT("1") "; /s:2 t.2  " EVENT("2") " (batch of 2)");
    assert_string_equal(READ("[]", "Content-Type: application/cloudevents-batch+json"),
                        " (batch of 0)");
    assert_string_equal(
        READ("[" EVENT("1") ",{\"id\":\"2\"}]", "Content-Type: application/cloudevents-batch+json"),
        "400 invalid cloudevent in an element");
    assert_string_equal(READ(EVENT("1"), "Content-Type: application/cloudevents-batch+json"),
                        "400 missing events");
    assert_string_equal(READ("x", "Content-Type: application/cloudevents-batch+avro"),
                        "415 unsupported event format");
}

/* One header: what the attribute is; "-": nothing. */
static void assert_header(const char *value, const char *want)
{
    struct arena *arena = arena_new(256);
    struct test_request test;
    struct str got;

    request_begin(&test, STR(""));
    request_add(&test, "cE-X1", str_from(value));
    got = cloudevent_header(&test.request, STR("x1"), arena);
    if (!got.ptr)
        got = STR("-");
    if (!str_is(got, want))
        fail_msg("%s is \"%.*s\", not \"%s\"", value, STR_ARG(got), want);
    request_end(&test);
    arena_free(arena);
}

static void test_values_of_headers_are_decoded_once(void **state)
{
    (void)state;
    assert_header("plain", "plain");
    assert_header("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_header("%2525", "%25");
    assert_header("a+b", "a+b");
    assert_header("%e2%82%ac", "\xe2\x82\xac");
    assert_header("\"a \\\"b\\\" \\\\ %22c\"", "a \"b\" \\ \"c");
    assert_header("a\"b", "a\"b");
    assert_header("\"open", "-");
    assert_header("\"", "-");
    assert_header("\"end\\\"", "-");
    assert_header("\"\"", "-");
    assert_header("", "-");
    assert_header("100%", "-");
    assert_header("%zz", "-");
    assert_header("%C3%28", "-"); /* no UTF-8 */
    assert_header("a%00b", "-");
}

static void assert_mistake(const char *config_text, const char *want)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(config_text), mistakes);
    bool found = false;

    assert_non_null(config);
    assert_null(provider_new(&config->providers[0], mistakes));
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        found |= strstr(mistakes_get(mistakes, i)->text, want) != NULL;
        if (!strstr(mistakes_get(mistakes, i)->text, want))
            print_message("%s\n", mistakes_get(mistakes, i)->text);
    }
    assert_true(found);
    mistakes_free(mistakes);
    config_unref(config);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_mistake("[provider c]\nverify = none\nevent_id = ce:id\non = ignore\n",
                   "event_id: ce: is of CloudEvents; write format = cloudevents");
    assert_mistake(SECTION "split = body:/events\n", "the Content-Type says which requests hold");
    assert_mistake(
        "[provider c]\nverify = none\nformat = cloudevents\nevent_id = ce:My-Id\non = ignore\n",
        "\"ce:My-Id\" is no attribute; its name has lower-case letters and digits");
    assert_mistake(
        "[provider c]\nverify = none\nformat = cloudevents | form\nevent_id = ce:id\non = ignore\n",
        "cloudevents stands alone");
    assert_mistake("[provider c]\nverify = none\nformat = cloudevents\nevent_id = header:X\n"
                   "on = ignore\n",
                   "only the first would be stored");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_binary_without_what_is_required),
        cmocka_unit_test(test_structured),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_values_of_headers_are_decoded_once),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
