/* A good file becomes a snapshot: values, defaults, presets, references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

#define SECRET "secret = text:0123456789abcdef\n"

/* The snapshot of `text`, which must be without errors. */
static struct config *parsed(const char *text)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(text), mistakes);

    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning)
            print_error("line %d: %s\n", mistakes_get(mistakes, i)->line,
                        mistakes_get(mistakes, i)->text);
    assert_non_null(config);
    mistakes_free(mistakes);
    return config;
}

static void assert_str(struct str s, const char *text)
{
    assert_non_null(s.ptr);
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.ptr, text, s.len);
}

static void test_empty_file_is_all_defaults(void **state)
{
    struct config *config = parsed("");

    (void)state;
    assert_string_equal(config->path, "t.conf");
    assert_str(config->database, "dbname=inboxd");
    assert_int_equal(config->listen_count, 1);
    assert_int_equal(config->listens[0].kind, LISTEN_TCP);
    assert_str(config->listens[0].host, "127.0.0.1");
    assert_int_equal(config->listens[0].port, 8080);
    assert_int_equal(config->workers, 4);
    assert_int_equal(config->writers, 2);
    assert_int_equal(config->max_body, 1048576);
    assert_int_equal(config->max_connections, 4096);
    assert_int_equal(config->idle_timeout_ms, 90000);
    assert_int_equal(config->ack_timeout_ms, 5000);
    assert_int_equal(config->shutdown_timeout_ms, 30000);
    assert_int_equal(config->retain_ms, 30 * 86400000LL);
    assert_int_equal(config->retain_ids_ms, 400 * 86400000LL);
    assert_int_equal(config->queue_max, 10000);
    assert_int_equal(config->queue_max_bytes, 64 * 1048576LL);
    assert_int_equal(config->log_format, LOG_LOGFMT);
    assert_int_equal(config->log_level, LOG_INFO);
    assert_int_equal(config->provider_count, 0);
    config_unref(config);
}

static void test_provider_defaults(void **state)
{
    struct config *config =
        parsed("[inboxd]\nworkers = 8\nmax_body = 2M\n[provider n]\nverify = none\n"
               "event_id = body:/id\non = sql:t.ok\n");
    const struct provider_config *p = &config->providers[0];

    (void)state;
    assert_int_equal(config->provider_count, 1);
    assert_str(p->name, "n");
    assert_int_equal(p->line, 4);
    assert_str(p->verify.text, "none");
    assert_int_equal(p->verify.line, 5);
    assert_null(p->preset.ptr);
    assert_null(p->signature.text.ptr);
    assert_null(p->timestamp.text.ptr);
    assert_null(p->signed_template.text.ptr);
    assert_null(p->public_url.text.ptr);
    assert_null(p->event_type.text.ptr);
    assert_null(p->key.text.ptr);
    assert_str(p->secret_encoding.text, "raw");
    assert_int_equal(p->tolerance.past_ms, 300000);
    assert_int_equal(p->tolerance.future_ms, 300000);
    assert_int_equal(p->secret_count, 0);
    assert_int_equal(p->order, ORDER_NONE);
    assert_true(str_is(p->format.text, "json"));
    assert_int_equal(p->max_body, 2 * 1048576);
    assert_int_equal(p->route_count, 1);
    assert_null(p->routes[0].pattern.text.ptr);
    assert_str(p->routes[0].actions.text, "sql:t.ok");
    assert_int_equal(p->attempts, 12);
    assert_int_equal(p->backoff.kind, BACKOFF_EXPONENTIAL);
    assert_int_equal(p->backoff.base_ms, 2000);
    assert_int_equal(p->backoff.cap_ms, 3600000);
    assert_int_equal(p->defer_ms, 300000);
    assert_int_equal(p->defer_limit_ms, 86400000);
    assert_int_equal(p->timeout_ms, 30000);
    assert_int_equal(p->concurrency, 7);
    config_unref(config);
}

static void test_preset_is_defaults(void **state)
{
    struct config *config =
        parsed("[provider s]\nverify = stripe\n" SECRET
               "event_type = body:/kind\nkey = body:/data/object/id\n"
               "on = ignore\n[provider g]\nverify = github\n" SECRET "on = ignore\ntimestamp =\n");
    const struct provider_config *s = config_provider(config, STR("s"));
    const struct provider_config *g = config_provider(config, STR("g"));

    (void)state;
    assert_null(config_provider(config, STR("x")));
    assert_ptr_equal(g, &config->providers[0]);
    assert_str(s->preset, "stripe");
    assert_str(s->verify.text, "hmac-sha256");
    assert_string_equal(s->verify.file, "preset stripe");
    assert_str(s->signature.text, "header:Stripe-Signature split comma prefix v1= hex");
    assert_str(s->event_id.text, "body:/id");
    assert_string_equal(s->event_id.file, "preset stripe");
    assert_str(s->event_type.text, "body:/kind");
    assert_string_equal(s->event_type.file, "t.conf");
    assert_int_equal(s->event_type.line, 4);
    assert_int_equal(s->order, ORDER_SERIAL);
    assert_int_equal(s->max_body, 1048576);
    assert_int_equal(g->max_body, 25 * 1048576);
    assert_null(g->timestamp.text.ptr);
    assert_int_equal(g->timestamp.line, 11);
    assert_int_equal(s->secret_count, 1);
    assert_str(secret_reveal(s->secrets[0]), "0123456789abcdef");
    assert_str(s->secret_settings[0].text, "text:...");
    assert_int_equal(s->secret_settings[0].line, 3);
    config_unref(config);
}

static void test_references(void **state)
{
    struct config *config = parsed("[provider s]\nverify = stripe\n" SECRET "on = ignore\n");

    (void)state;
    assert_ptr_equal(config_ref(config), config);
    config_unref(config);
    assert_str(config->providers[0].name, "s");
    config_unref(config);
    config_unref(NULL);
}

static void test_what_needs_a_restart(void **state)
{
    struct config *a = parsed("[inboxd]\nworkers = 1\n[provider s]\nverify = none\n"
                              "event_id = body:/id\non = ignore\n");
    struct config *b = parsed("[inboxd]\nworkers = 9\nlog = json\nretain = 31d\n");
    struct config *c = parsed("[inboxd]\nlisten = 127.0.0.1:8081\nwriters = 3\n"
                              "database = dbname=other\nqueue_max_bytes = 65M\n");
    struct config *d = parsed("[inboxd]\nlisten = 127.0.0.1:8080\nlisten = systemd\n");
    const char *names[4];

    (void)state;
    assert_int_equal(config_needs_restart(a, a, names, 4), 0);
    assert_int_equal(config_needs_restart(a, b, names, 4), 0);
    assert_int_equal(config_needs_restart(a, c, names, 4), 4);
    assert_string_equal(names[0], "database");
    assert_string_equal(names[1], "listen");
    assert_string_equal(names[2], "writers");
    assert_string_equal(names[3], "queue_max_bytes");
    assert_int_equal(config_needs_restart(a, c, names, 1), 1);
    assert_int_equal(config_needs_restart(a, d, names, 4), 1);
    assert_string_equal(names[0], "listen");
    config_unref(a);
    config_unref(b);
    config_unref(c);
    config_unref(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_file_is_all_defaults), cmocka_unit_test(test_provider_defaults),
        cmocka_unit_test(test_preset_is_defaults),         cmocka_unit_test(test_references),
        cmocka_unit_test(test_what_needs_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
