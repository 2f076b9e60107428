/* What a body may be: packed or not, JSON, a form, or any bytes (field reports A14, A15, A16). The
 * bytes as sent are what is kept; the JSON in them is what sources read and `payload` becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/attr.h"
#include "base/buf.h"
#include "provider/encoding.h"
#include "provider/provider.h"
#include "requests.h"

#define NONE "[provider n]\nverify = none\non = ignore\nmax_body = 1K\n"
#define JSON NONE "event_id = body:/id\n"
#define FORM_TYPE "application/x-www-form-urlencoded"

struct subject {
    const struct config *config;
    struct provider *provider;
    struct arena *arena;
    struct test_request test;
    struct event event;
};

static void begin(struct subject *subject, const char *config, struct str body)
{
    struct mistakes *mistakes = mistakes_new();

    subject->config = config_parse("t.conf", str_from(config), mistakes);
    assert_non_null(subject->config);
    subject->provider = provider_new(&subject->config->providers[0], mistakes);
    assert_non_null(subject->provider);
    mistakes_free(mistakes);
    subject->arena = arena_new(1024);
    request_begin(&subject->test, body);
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
    struct provider_events events;
    enum refusal refusal =
        provider_read(subject->provider, &subject->test.request, subject->arena, &events);

    if (refusal == REFUSAL_NONE) {
        assert_int_equal(events.count, 1);
        subject->event = events.list[0];
    }
    return refusal;
}

static void assert_str(struct str s, const char *want)
{
    if (!str_is(s, want) || !s.ptr)
        fail_msg("\"%.*s\", not \"%s\"", STR_ARG(s), want);
}

/* One request with at most one header besides; "": the event's `document` is absent. */
static void assert_event(const char *config, const char *name, const char *value, struct str body,
                         const char *id, const char *document)
{
    struct subject subject;

    begin(&subject, config, body);
    if (name)
        request_addf(&subject.test, name, "%s", value);
    assert_int_equal(read_request(&subject), REFUSAL_NONE);
    assert_str(subject.event.id, id);
    assert_true(str_equal(subject.event.body, body));
    if (*document)
        assert_str(subject.event.document, document);
    else
        assert_null(subject.event.document.ptr);
    end(&subject);
}

static void assert_refused(const char *config, const char *name, const char *value, struct str body,
                           enum refusal want)
{
    struct subject subject;
    enum refusal refusal;

    begin(&subject, config, body);
    if (name)
        request_addf(&subject.test, name, "%s", value);
    refusal = read_request(&subject);
    if (refusal != want)
        fail_msg("%s: %s: %.*s: %s", name ? name : "", value ? value : "", STR_ARG(body),
                 refusal_info(refusal)->text);
    end(&subject);
}

/* ---- Content-Encoding ---- */

static struct str pack(struct buf *out, struct str text, int bits)
{
    z_stream stream = {0};

    buf_init(out, BUF_NO_CAP);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (z_const Bytef *)text.ptr;
    stream.avail_in = (uInt)text.len;
    stream.avail_out = (uInt)deflateBound(&stream, text.len);
    stream.next_out = (Bytef *)buf_reserve(out, stream.avail_out);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->len = stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return buf_str(out);
}

static void test_a14_packed_bodies_are_kept_as_sent_and_read_unpacked(void **state)
{
    static const struct {
        const char *name;
        int bits;
    } cases[] = {{"gzip", 31},           {"GZIP", 31},          {"x-gzip", 31},
                 {"X-GZip", 31},         {"deflate", 15},       {"Deflate", -15},
                 {"identity, gzip", 31}, {"gzip,identity", 31}, {" gzip ,", 31}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *text = "{\"id\":\"evt_1\", \"a\":[1,2]}";
        struct buf packed;
        struct str body = pack(&packed, str_from(text), cases[i].bits);

        assert_event(JSON, "Content-Encoding", cases[i].name, body, "evt_1", text);
        buf_release(&packed);
    }
}

static void test_a14_identity_is_no_encoding(void **state)
{
    static const char *const names[] = {"identity", "Identity", "", " , identity,"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_event(JSON, "content-encoding", names[i], STR("{\"id\":1}"), "1", "");
}

static enum encoding encoding_named(const char *first, const char *second)
{
    struct header headers[2] = {{STR("Content-Encoding"), str_from(first)},
                                {STR("content-encoding"), str_from(second)}};

    return encoding_of(&(struct request){.headers = headers, .header_count = second ? 2 : 1});
}

static void test_a14_what_is_not_decoded(void **state)
{
    static const char *const names[] = {"br",        "gzip, gzip", "zstd",     "compress",
                                        "gzip, br",  "x-deflate",  "gzip;q=1", "gzip gzip",
                                        "gzip,gzip", "utf-8",      "*"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(encoding_named(names[i], NULL), ENCODING_UNKNOWN);
        assert_refused(JSON, "Content-Encoding", names[i], STR("{\"id\":1}"),
                       REFUSAL_UNSUPPORTED_ENCODING);
    }
    assert_int_equal(encoding_named("gzip", "gzip"), ENCODING_UNKNOWN);
    assert_int_equal(encoding_named("gzip", "deflate"), ENCODING_UNKNOWN);
    assert_int_equal(encoding_named("gzip", "identity"), ENCODING_GZIP);
    assert_int_equal(encoding_named("", "deflate"), ENCODING_DEFLATE);
}

static void test_a14_a_lying_header(void **state)
{
    struct buf packed;
    struct str body = pack(&packed, STR("{\"id\":1}"), 31);

    (void)state;
    assert_refused(JSON, "Content-Encoding", "gzip", STR("{\"id\":1}"), REFUSAL_INVALID_ENCODING);
    assert_refused(JSON, "Content-Encoding", "deflate", STR("{\"id\":1}"),
                   REFUSAL_INVALID_ENCODING);
    assert_refused(JSON, "Content-Encoding", "deflate", body, REFUSAL_INVALID_ENCODING);
    assert_refused(JSON, "Content-Encoding", "gzip", (struct str){body.ptr, body.len - 1},
                   REFUSAL_INVALID_ENCODING);
    assert_refused(JSON, "Content-Encoding", "identity", body, REFUSAL_INVALID_JSON);
    assert_refused(NONE "format = raw\nevent_id = sha256\n", "Content-Encoding", "gzip",
                   STR("plain"), REFUSAL_INVALID_ENCODING);
    /* No bytes at all are packed in no way. */
    assert_refused(JSON, "Content-Encoding", "gzip", STR(""), REFUSAL_INVALID_JSON);
    buf_release(&packed);
}

static void test_a15_what_is_unpacked_has_the_limit_of_a_body(void **state)
{
    char text[1026];
    struct buf packed;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "{\"id\":1}", 8);
    assert_event(JSON, "Content-Encoding", "gzip", pack(&packed, (struct str){text, 1024}, 31), "1",
                 "{\"id\":1}");
    buf_release(&packed);
    assert_refused(JSON, "Content-Encoding", "gzip", pack(&packed, (struct str){text, 1025}, 31),
                   REFUSAL_BODY_TOO_LARGE);
    buf_release(&packed);
}

/* What jsonb takes only repaired, and a byte order mark, inside of an encoding. */
static void test_packed_json_is_repaired(void **state)
{
    struct buf packed;
    struct subject subject;

    (void)state;
    begin(&subject, JSON, pack(&packed, STR("\xef\xbb\xbf{\"id\":\"a\",\"b\":\"\\u0000\"}"), 31));
    request_addf(&subject.test, "Content-Encoding", "gzip");
    assert_int_equal(read_request(&subject), REFUSAL_NONE);
    assert_true(subject.event.payload_repaired);
    assert_str(subject.event.document, "{\"id\":\"a\",\"b\":\"\xef\xbf\xbd\"}");
    end(&subject);
    buf_release(&packed);
}

/* ---- forms ---- */

#define FORM NONE "format = form\nevent_id = body:/id\n"
#define FIELD NONE "format = form:payload\nevent_id = body:/id\n"
#define EITHER NONE "format = json | form:payload\nevent_id = body:/id\n"

static void test_a16_fields_are_members(void **state)
{
    (void)state;
    assert_event(FORM, NULL, NULL, STR("id=a%20b&x=1"), "a b", "{\"id\":\"a b\",\"x\":\"1\"}");
    assert_event(FORM, "Content-Type", "application/json", STR("id=7"), "7", "{\"id\":\"7\"}");
    assert_refused(FORM, NULL, NULL, STR("id=%7"), REFUSAL_INVALID_FORM);
    assert_refused(FORM, NULL, NULL, STR("x=1"), REFUSAL_MISSING_EVENT_ID);
    /* As with a header that comes twice: which is meant cannot be told. */
    assert_refused(FORM, NULL, NULL, STR("id=1&id=2"), REFUSAL_MISSING_EVENT_ID);
}

static void test_a16_a_field_holds_the_json(void **state)
{
    (void)state;
    assert_event(FIELD, NULL, NULL, STR("payload=%7B%22id%22%3A%22a+b%22%7d"), "a b",
                 "{\"id\":\"a b\"}");
    assert_event(FIELD, NULL, NULL, STR("a=1&payload=%7B%22id%22:%22a%2Bb%22}%0D%0A&z=%25"), "a+b",
                 "{\"id\":\"a+b\"}");
    assert_refused(FIELD, NULL, NULL, STR("payloa=%7B%7D"), REFUSAL_MISSING_FORM_FIELD);
    assert_refused(FIELD, NULL, NULL, STR(""), REFUSAL_MISSING_FORM_FIELD);
    assert_refused(FIELD, NULL, NULL, STR("payload=%7B%7"), REFUSAL_INVALID_FORM);
    assert_refused(FIELD, NULL, NULL, STR("payload={\"id\":1}&x=%7"), REFUSAL_INVALID_FORM);
    assert_refused(FIELD, NULL, NULL, STR("payload={\"id\":1}&payload={\"id\":2}"),
                   REFUSAL_INVALID_FORM);
    assert_refused(FIELD, NULL, NULL, STR("payload="), REFUSAL_INVALID_JSON);
    assert_refused(FIELD, NULL, NULL, STR("payload={"), REFUSAL_INVALID_JSON);
    assert_refused(FIELD, NULL, NULL, STR("payload={\"id\":\"%ff\"}"), REFUSAL_INVALID_JSON);
    assert_refused(FIELD, NULL, NULL, STR("{\"id\":1}"), REFUSAL_MISSING_FORM_FIELD);
}

static void test_a16_json_or_a_form_by_its_type(void **state)
{
    struct str json = STR("{\"id\":\"1\"}"), form = STR("payload={\"id\":\"2\"}");
    static const char *const others[] = {"application/json", "text/plain", "",
                                         "x-www-form-urlencoded",
                                         "application/x-www-form-urlencodedx"};
    static const char *const forms[] = {FORM_TYPE, "Application/X-WWW-Form-URLencoded",
                                        FORM_TYPE "; charset=utf-8", " " FORM_TYPE " ;x"};

    (void)state;
    assert_event(EITHER, NULL, NULL, json, "1", "");
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_event(EITHER, "Content-Type", others[i], json, "1", "");
        assert_refused(EITHER, "Content-Type", others[i], form, REFUSAL_INVALID_JSON);
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        assert_event(EITHER, "content-type", forms[i], form, "2", "{\"id\":\"2\"}");
        assert_refused(EITHER, "Content-Type", forms[i], json, REFUSAL_MISSING_FORM_FIELD);
    }
}

static void test_a16_a_packed_form(void **state)
{
    struct buf packed;
    struct str body = pack(&packed, STR("payload=%7B%22id%22%3A3%7D"), -15);

    (void)state;
    assert_event(FIELD, "Content-Encoding", "deflate", body, "3", "{\"id\":3}");
    buf_release(&packed);
}

/* Bytes that are no text are repaired for `payload`, and stay distinct as identities. */
static void test_a_form_that_is_not_utf8(void **state)
{
    struct subject one, other;

    (void)state;
    begin(&one, FORM, STR("id=%ff"));
    begin(&other, FORM, STR("id=%fe"));
    assert_int_equal(read_request(&one), REFUSAL_NONE);
    assert_int_equal(read_request(&other), REFUSAL_NONE);
    assert_true(one.event.payload_repaired);
    assert_str(one.event.document, "{\"id\":\"\xef\xbf\xbd\"}");
    assert_true(str_starts(one.event.id, STR("sha256:")));
    assert_false(str_equal(one.event.id, other.event.id));
    end(&one);
    end(&other);
}

/* ---- nothing and anything ---- */

static void test_raw_and_empty_bodies(void **state)
{
    struct subject subject;

    (void)state;
    begin(&subject, NONE "format = raw\nevent_id = header:X-Id\n", STR(""));
    request_addf(&subject.test, "X-Id", "1");
    request_addf(&subject.test, "Content-Type", "multipart/form-data; boundary=x");
    assert_int_equal(read_request(&subject), REFUSAL_NONE);
    assert_false(subject.event.has_payload);
    assert_int_equal(subject.event.body.len, 0);
    end(&subject);
    assert_event(NONE "format = raw\nevent_id = body:/id | header:X-Id\n", "X-Id", "2",
                 STR("\0\xff{"), "2", "");
    assert_event(NONE "format = form\nevent_id = header:X-Id\n", "X-Id", "3", STR(""), "3", "{}");
    assert_event(NONE "format = raw | form\nevent_id = header:X-Id | sha256\n", "X-Id", "4",
                 STR("a=1"), "4", "");
    assert_refused(JSON, NULL, NULL, STR(""), REFUSAL_INVALID_JSON);
}

static void test_formats_that_are_mistakes(void **state)
{
    static const char *const cases[][2] = {
        {"format = xml\nevent_id = sha256\n", "format: \"xml\" is no format; "},
        {"format = json | raw\nevent_id = sha256\n", "format: only a form can be told from "},
        {"format = form | form:a\nevent_id = sha256\n", "format: a form is named twice; "},
        {"format = form:\nevent_id = sha256\n", "format: form: wants the name of a field; "},
        {"format = form:a b\nevent_id = sha256\n", "format: form: wants the name of a field; "},
        {"format = json |\nevent_id = sha256\n", "format: \"\" is no format; "},
        {"format = raw\nevent_id = body:/id | body:/a + 'x'\n",
         "event_id: with format = raw a body has no members; "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf("[provider n]\nverify = none\non = ignore\n%s", cases[i][0]);
        const struct config *config = config_parse("t.conf", str_from(text), mistakes);

        assert_non_null(config);
        assert_null(provider_new(&config->providers[0], mistakes));
        assert_int_equal(mistakes_count(mistakes), 1);
        if (!strstr(mistakes_get(mistakes, 0)->text, cases[i][1]))
            fail_msg("%s, not %s", mistakes_get(mistakes, 0)->text, cases[i][1]);
        assert_true(mistakes_get(mistakes, 0)->line >= 4);
        config_unref(config);
        free(text);
        mistakes_free(mistakes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a14_packed_bodies_are_kept_as_sent_and_read_unpacked),
        cmocka_unit_test(test_a14_identity_is_no_encoding),
        cmocka_unit_test(test_a14_what_is_not_decoded),
        cmocka_unit_test(test_a14_a_lying_header),
        cmocka_unit_test(test_a15_what_is_unpacked_has_the_limit_of_a_body),
        cmocka_unit_test(test_packed_json_is_repaired),
        cmocka_unit_test(test_a16_fields_are_members),
        cmocka_unit_test(test_a16_a_field_holds_the_json),
        cmocka_unit_test(test_a16_json_or_a_form_by_its_type),
        cmocka_unit_test(test_a16_a_packed_form),
        cmocka_unit_test(test_a_form_that_is_not_utf8),
        cmocka_unit_test(test_raw_and_empty_bodies),
        cmocka_unit_test(test_formats_that_are_mistakes),
    };

    return cmocka_run_group_tests_name("provider_formats", tests, NULL, NULL);
}
