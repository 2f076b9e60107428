/* The quarantine without its database: what is copied and concealed, what comes back from it, what
 * is dropped when there is no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "quarantine/cap.h"
#include "quarantine/conceal.h"
#include "quarantine/queue.h"
#include "quarantine/restore.h"
#include "requests.h"

#define SECOND ((int64_t)1000000)

static struct str text(const char *bytes)
{
    return str_from(bytes);
}

/* A provider with secrets; to be given back with end_provider(). */
static struct provider_config provider_with(const char *verify, const char *signature,
                                            struct secret **secrets, const char *first,
                                            const char *second)
{
    secrets[0] = secret_new(text(first));
    secrets[1] = secret_new(text(second));
    return (struct provider_config){.name = STR("p"),
                                    .verify = {.text = text(verify)},
                                    .signature = {.text = text(signature)},
                                    .secrets = secrets,
                                    .secret_count = 2,
                                    .quarantine_max = {1000, 10 << 20, 120}};
}

static void end_provider(struct secret **secrets)
{
    secret_unref(secrets[0]);
    secret_unref(secrets[1]);
}

static bool holds(struct str haystack, const char *needle)
{
    return haystack.len && memmem(haystack.ptr, haystack.len, needle, strlen(needle));
}

/* ---- what is a credential ---- */

static void test_signatures_are_no_credentials_and_tokens_are(void **state)
{
    struct provider_config hmac = {.verify = {.text = STR("hmac-sha256")},
                                   .signature = {.text = STR("header:X-Token-Signature hex")}};
    struct provider_config token = {
        .verify = {.text = STR("token")},
        .signature = {.text = STR("header:X-Acme prefix Key | query:t")}};
    struct provider_config jwt = {.verify = {.text = STR("jwt")},
                                  .signature = {.text = STR("header:Authorization prefix Bearer")}};

    (void)state;
    assert_false(conceal_header(&hmac, STR("x-token-signature")));
    assert_true(conceal_header(&hmac, STR("X-Token")));
    assert_true(conceal_header(&hmac, STR("Authorization")));
    assert_false(conceal_header(&hmac, STR("X-Acme")));
    assert_true(conceal_header(&token, STR("X-ACME")));
    assert_true(conceal_parameter(&token, STR("t")));
    assert_true(conceal_parameter(&token, STR("access_token")));
    assert_false(conceal_parameter(&token, STR("page")));
    assert_false(conceal_header(&jwt, STR("Authorization"))); /* it is what has to be verified */
}

static void test_the_word_before_a_credential_is_none(void **state)
{
    struct provider_config plain = {.signature = {.text = STR("header:X-Acme")}};
    struct provider_config prefix = {.signature = {.text = STR("header:X-Acme prefix Key")}};

    (void)state;
    assert_true(str_is(conceal_part(&plain, STR("Bearer abc")), "abc"));
    assert_true(str_is(conceal_part(&plain, STR("bAsIc   abc=")), "abc="));
    assert_true(str_is(conceal_part(&plain, STR("correct horse")), "correct horse"));
    assert_true(str_is(conceal_part(&plain, STR("Bearer")), "Bearer"));
    assert_true(str_is(conceal_part(&plain, STR("")), ""));
    assert_true(str_is(conceal_part(&prefix, STR("key  abc")), "abc"));
    assert_true(str_is(conceal_part(&prefix, STR("Keyabc")), "abc"));
}

/* ---- there and back ---- */

static void restore(const struct refused *refused, const struct provider_config *provider,
                    struct buf *bytes, struct arena *arena, struct request *request, int missing)
{
    const struct kept_request kept = {
        .head = refused->head,
        .salt = {(const char *)refused->salt, REFUSED_SALT_SIZE},
        .concealed = refused->hashes,
        .body = refused->body,
        .source_ip = refused->source_ip,
    };

    assert_int_equal(restore_request(&kept, provider, bytes, arena, request), missing);
}

static void test_a_request_comes_back_as_it_was(void **state)
{
    struct secret *secrets[2];
    struct provider_config provider =
        provider_with("token", "header:X-Acme", secrets, "first secret & more", "second+secret/x=");
    struct arena *arena = arena_new(512);
    struct test_request test;
    struct refused *refused;
    struct request back;
    struct str value;
    struct buf bytes;

    (void)state;
    request_begin(&test, (struct str){"\0\xff body", 7});
    test.request.target = STR("/webhooks/p?a=1&to%6ben=second%2Bsecret%2Fx%3D&b=%zz");
    test.request.source_ip = STR("192.0.2.7");
    request_add(&test, "X-Acme", STR("first secret & more"));
    request_add(&test, "X-Odd", STR("caf\xe9: \"x\""));
    request_add(&test, "X-Odd", STR(""));
    request_add(&test, "Authorization", STR("Basic c2Vjb25kK3NlY3JldC94PQ=="));
    request_add(&test, "Cookie", STR("session=unknown"));
    refused = refused_new(&provider, &test.request, "bad signature");
    assert_false(holds(refused->head, "secret"));
    assert_false(holds(refused->head, "c2Vj"));
    assert_false(holds(refused->target, "second"));
    assert_false(holds(refused->headers, "secret &"));
    assert_int_equal(refused->hashes.len, 4 * REFUSED_HASH_SIZE);
    assert_true(str_is(refused->target, "/webhooks/p?a=1&to%6ben=[redacted]&b=%zz"));

    buf_init(&bytes, BUF_NO_CAP);
    restore(refused, &provider, &bytes, arena, &back, 1); /* the cookie */
    assert_true(str_equal(back.body, test.request.body));
    assert_true(str_is(back.method, "POST"));
    assert_true(str_is(back.source_ip, "192.0.2.7"));
    assert_true(str_is(back.query, "a=1&to%6ben=second%2Bsecret%2Fx%3D&b=%zz"));
    assert_int_equal(back.header_count, 5);
    assert_int_equal(request_header(&back, STR("x-acme"), &value), 1);
    assert_true(str_is(value, "first secret & more"));
    assert_int_equal(request_header(&back, STR("X-Odd"), &value), 2);
    assert_true(str_is(value, "caf\xe9: \"x\""));
    assert_int_equal(request_header(&back, STR("Authorization"), &value), 1);
    assert_true(str_is(value, "Basic c2Vjb25kK3NlY3JldC94PQ=="));
    assert_int_equal(request_header(&back, STR("Cookie"), &value), 1);
    assert_true(str_is(value, ""));

    buf_release(&bytes);
    refused_free(refused);
    request_end(&test);
    arena_free(arena);
    end_provider(secrets);
}

static void check_target(const struct provider_config *provider, const char *target,
                         const char *shown, const char *head)
{
    struct test_request test;
    struct refused *refused;

    request_begin(&test, STR("{}"));
    test.request.target = text(target);
    refused = refused_new(provider, &test.request, "bad signature");
    assert_true(str_is(refused->target, shown));
    assert_true(str_is(refused->head, head));
    refused_free(refused);
    request_end(&test);
}

static void test_who_an_absolute_target_is_for_is_not_kept(void **state)
{
    struct provider_config hmac = {.name = STR("p"), .verify = {.text = STR("hmac-sha256")}};

    (void)state;
    check_target(&hmac, "http://user:pass@host/webhooks/p", "http://host/webhooks/p",
                 "POST http://host/webhooks/p\n");
    check_target(&hmac, "HTTPS://a@b:c@host:1/webhooks/p?x=@", "HTTPS://host:1/webhooks/p?x=@",
                 "POST HTTPS://host:1/webhooks/p?x=@\n");
    check_target(&hmac, "http://host/webhooks/p@q", "http://host/webhooks/p@q",
                 "POST http://host/webhooks/p@q\n");
    check_target(&hmac, "/webhooks/p?u=http://a:b@c/", "/webhooks/p?u=http://a:b@c/",
                 "POST /webhooks/p?u=http://a:b@c/\n");
    check_target(&hmac, "/webhooks/://a@p", "/webhooks/://a@p", "POST /webhooks/://a@p\n");
    check_target(&hmac, "", "", "POST \n");
}

/* It has to be verified again, and opens something as long as it is valid. */
static void test_a_json_web_token_is_kept_and_not_shown(void **state)
{
    struct provider_config jwt = {.name = STR("p"),
                                  .verify = {.text = STR("jwt")},
                                  .signature = {.text = STR("header:X-Proof | query:proof")}};
    struct test_request test;
    struct refused *refused;

    (void)state;
    check_target(&jwt, "/webhooks/p?a=1&pro%6ff=a.b.c", "/webhooks/p?a=1&pro%6ff=[redacted]",
                 "POST /webhooks/p?a=1&pro%6ff=a.b.c\n");
    request_begin(&test, STR("{}"));
    request_add(&test, "X-Proof", STR("a.b.c"));
    refused = refused_new(&jwt, &test.request, "bad signature");
    assert_true(str_is(refused->headers, "{\"x-proof\":\"[redacted]\"}"));
    assert_true(str_is(refused->head, "POST /webhooks/p\nX-Proof: a.b.c\n"));
    refused_free(refused);
    request_end(&test);
}

/* What a release needs is kept and not shown; anything else that the configuration hides is
 * neither.
 */
static void test_what_the_configuration_hides(void **state)
{
    const struct str names[] = {STR("X-Sig"),      STR("X-Time"), STR("X-Id"),
                                STR("X-Customer"), STR("X-I"),    STR("X-Signed")};
    struct provider_config hmac = {
        .name = STR("p"),
        .verify = {.text = STR("hmac-sha256")},
        .signature = {.text = STR("header:X-Sig hex")},
        .timestamp = {.text = STR("header:X-Time s")},
        .signed_template = {.text = STR("{ts}.{header:x-signed}.{body}")},
        .event_id = {.text = STR("body:/id + header:x-id | sha256")},
        .redact = {names, ARRAY_LEN(names)}};
    struct test_request test;
    struct refused *refused;

    (void)state;
    request_begin(&test, STR("{}"));
    request_add(&test, "X-Sig", STR("s"));
    request_add(&test, "X-Time", STR("t"));
    request_add(&test, "X-ID", STR("i"));
    request_add(&test, "X-Signed", STR("w"));
    request_add(&test, "X-Customer", STR("hidden"));
    request_add(&test, "X-I", STR("hidden"));
    request_add(&test, "X-Open", STR("o"));
    refused = refused_new(&hmac, &test.request, "bad signature");
    assert_true(
        str_is(refused->headers,
               "{\"x-sig\":\"[redacted]\",\"x-time\":\"[redacted]\",\"x-id\":\"[redacted]\","
               "\"x-signed\":\"[redacted]\",\"x-customer\":\"[redacted]\","
               "\"x-i\":\"[redacted]\",\"x-open\":\"o\"}"));
    assert_true(holds(refused->head, "X-Sig: s\nX-Time: t\nX-ID: i\nX-Signed: w\nX-Customer: "));
    assert_true(holds(refused->head, "X-Open: o\n"));
    assert_false(holds(refused->head, "hidden"));
    assert_int_equal(refused->hashes.len, 2 * REFUSED_HASH_SIZE);
    refused_free(refused);
    request_end(&test);
}

static void check_body(const char *body, const char *want)
{
    struct provider_config hmac = {.name = STR("p"), .verify = {.text = STR("hmac-sha256")}};
    struct test_request test;
    struct refused *refused;

    request_begin(&test, text(body));
    refused = refused_new(&hmac, &test.request, "missing signature");
    assert_true(str_is(refused->body, want));
    refused_free(refused);
    request_end(&test);
}

static void test_a_token_that_is_handed_over_is_not_kept(void **state)
{
    static const char hidden[] = "{\"verification_token\":\"[redacted]\"}";
    static const char *const kept[] = {"",
                                       "{}",
                                       "{\"verification_token\":1}",
                                       "{\"verification_token\":\"s\",\"id\":1}",
                                       "{\"verification_token\":\"s\"",
                                       "[\"verification_token\"]",
                                       "\"verification_token\""};

    (void)state;
    check_body("{\"verification_token\":\"secret_abcdef\"}", hidden);
    check_body(" {\n \"verification_token\" :\t\"a,\\\"}b\" } \n", hidden);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        check_body(kept[i], kept[i]);
}

/* What a sender writes never stands for a credential, and no line of it becomes another one. */
static void test_bytes_of_a_sender_are_no_marks(void **state)
{
    struct secret *secrets[2];
    struct provider_config provider =
        provider_with("hmac-sha256", "header:X-Sig hex", secrets, "secret one", "secret two");
    struct arena *arena = arena_new(512);
    struct test_request test;
    struct refused *refused;
    struct request back;
    struct buf bytes;

    (void)state;
    request_begin(&test, STR(""));
    request_add(&test, "X-Evil", (struct str){"a\0b\nX-Sig: c", 12});
    refused = refused_new(&provider, &test.request, "bad signature");
    assert_int_equal(refused->hashes.len, 0);
    buf_init(&bytes, BUF_NO_CAP);
    restore(refused, &provider, &bytes, arena, &back, 0);
    assert_int_equal(back.header_count, 1);
    assert_true(str_is(back.headers[0].value, "a b X-Sig: c"));
    buf_release(&bytes);
    refused_free(refused);
    request_end(&test);
    arena_free(arena);
    end_provider(secrets);
}

static void test_what_is_no_head_is_refused(void **state)
{
    static const char *const heads[] = {"", "POST", "POST /x", "POST\n", "POST /x\nno colon\n"};
    struct provider_config provider = {.name = STR("p")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        const struct kept_request kept = {.head = text(heads[i])};
        struct arena *arena = arena_new(64);
        struct request request;
        struct buf bytes;

        buf_init(&bytes, BUF_NO_CAP);
        assert_int_equal(restore_request(&kept, &provider, &bytes, arena, &request), -1);
        buf_release(&bytes);
        arena_free(arena);
    }
}

/* ---- sources ---- */

static void test_sources(void **state)
{
    (void)state;
    assert_int_equal(refused_source(STR("192.0.2.1")), 0xc0000201);
    assert_int_not_equal(refused_source(STR("192.0.2.1")), refused_source(STR("192.0.2.2")));
    assert_int_equal(refused_source(STR("2001:db8:1:2::1")), 0x20010db800010002);
    assert_int_equal(refused_source(STR("2001:db8:1:2:ffff::9")), 0x20010db800010002);
    assert_int_equal(refused_source(STR_NONE), UINT64_MAX);
    assert_int_equal(refused_source(STR("what is this, and why is it so long, so very long")),
                     UINT64_MAX);
}

/* ---- the cap ---- */

static void test_the_cap_is_a_source_a_provider_and_a_minute(void **state)
{
    struct cap *cap = cap_new();
    int64_t now = 600 * SECOND;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(cap_take(cap, STR("p"), 7, 3, now + i * SECOND));
    assert_false(cap_take(cap, STR("p"), 7, 3, now + 59 * SECOND));
    assert_true(cap_take(cap, STR("p"), 8, 3, now));
    assert_true(cap_take(cap, STR("q"), 7, 3, now));
    assert_true(cap_take(cap, STR("p"), 7, 3, now + 60 * SECOND));
    cap_free(cap);
}

/* A flood from very many sources does not use up the place of one that comes later. */
static void test_the_cap_lets_through_what_it_has_no_room_for(void **state)
{
    struct cap *cap = cap_new();

    (void)state;
    for (uint64_t source = 0; source < 100000; source++)
        (void)cap_take(cap, STR("p"), source, 1, SECOND);
    assert_true(cap_take(cap, STR("p"), UINT64_C(1) << 40, 1, SECOND));
    cap_free(cap);
}

/* ---- the queue ---- */

static struct refused *item(uint64_t source, int64_t bytes, const char *name)
{
    struct arena *arena = arena_new(256);
    struct refused *refused = arena_alloc(arena, sizeof(*refused));

    *refused =
        (struct refused){.arena = arena, .source = source, .bytes = bytes, .reason = text(name)};
    return refused;
}

/* Puts one; checks which one had to go (NULL: none). */
static void put(struct refused_queue *queue, uint64_t source, int64_t bytes, const char *name,
                const char *gone)
{
    struct refused *dropped = queue_put(queue, item(source, bytes, name));

    assert_int_equal(dropped != NULL, gone != NULL);
    if (!dropped)
        return;
    assert_string_equal(dropped->reason.ptr, gone);
    assert_null(dropped->next);
    refused_free(dropped);
}

static void check_queue(struct refused_queue *queue, const char *want)
{
    struct refused *list = queue_take(queue, 1000, INT64_MAX), *next;
    struct buf names;

    buf_init(&names, BUF_NO_CAP);
    for (; list; list = next) {
        next = list->next;
        buf_put_str(&names, list->reason);
        refused_free(list);
    }
    assert_true(str_is(buf_str(&names), want));
    buf_release(&names);
    assert_int_equal(queue->rows, 0);
    assert_int_equal(queue->bytes, 0);
    assert_null(queue->first);
    assert_null(queue->last);
}

static void test_a_full_queue_drops_the_newest_of_the_noisiest(void **state)
{
    struct refused_queue queue = {.rows_max = 4, .bytes_max = 1000};

    (void)state;
    put(&queue, 1, 1, "a", NULL);
    put(&queue, 1, 1, "b", NULL);
    put(&queue, 2, 1, "C", NULL);
    put(&queue, 1, 1, "d", NULL);
    put(&queue, 1, 1, "e", "e");
    put(&queue, 3, 1, "F", "d");
    put(&queue, 4, 1, "G", "b");
    put(&queue, 5, 1, "H", "H"); /* all have one: the newest */
    check_queue(&queue, "aCFG");
}

static void test_a_queue_full_of_bytes_drops_by_bytes(void **state)
{
    struct refused_queue queue = {.rows_max = 100, .bytes_max = 1000};
    struct refused *gone;

    (void)state;
    put(&queue, 1, 400, "a", NULL);
    put(&queue, 2, 50, "B", NULL);
    put(&queue, 2, 50, "C", NULL);
    put(&queue, 2, 50, "D", NULL);
    put(&queue, 1, 400, "e", NULL);
    put(&queue, 3, 300, "F", "e");
    gone = queue_put(&queue, item(4, 900, "g"));
    assert_string_equal(gone->reason.ptr, "g");
    refused_free(gone);
    check_queue(&queue, "aBCDF");
}

static void test_what_is_taken_and_given_back_keeps_its_order(void **state)
{
    struct refused_queue queue = {.rows_max = 10, .bytes_max = 1000};
    struct refused *list;

    (void)state;
    for (int i = 0; i < 5; i++)
        put(&queue, 1, 10, (const char *[]){"a", "b", "c", "d", "e"}[i], NULL);
    list = queue_take(&queue, 2, INT64_MAX);
    assert_non_null(list->next);
    assert_null(list->next->next);
    put(&queue, 1, 10, "f", NULL);
    queue_return(&queue, list);
    list = queue_take(&queue, 100, 15); /* the first, whatever its size, and what fits behind it */
    assert_null(list->next);
    queue_return(&queue, list);
    check_queue(&queue, "abcdef");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_are_no_credentials_and_tokens_are),
        cmocka_unit_test(test_the_word_before_a_credential_is_none),
        cmocka_unit_test(test_a_request_comes_back_as_it_was),
        cmocka_unit_test(test_bytes_of_a_sender_are_no_marks),
        cmocka_unit_test(test_who_an_absolute_target_is_for_is_not_kept),
        cmocka_unit_test(test_a_json_web_token_is_kept_and_not_shown),
        cmocka_unit_test(test_what_the_configuration_hides),
        cmocka_unit_test(test_a_token_that_is_handed_over_is_not_kept),
        cmocka_unit_test(test_what_is_no_head_is_refused),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_the_cap_is_a_source_a_provider_and_a_minute),
        cmocka_unit_test(test_the_cap_lets_through_what_it_has_no_room_for),
        cmocka_unit_test(test_a_full_queue_drops_the_newest_of_the_noisiest),
        cmocka_unit_test(test_a_queue_full_of_bytes_drops_by_bytes),
        cmocka_unit_test(test_what_is_taken_and_given_back_keeps_its_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
