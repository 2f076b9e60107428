/* exec: what a program gets of an event, and what its end means. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "work/handler.h"

static char folder[] = "/tmp/inboxd-exec-XXXXXX";

/* The program, as a script; its path. */
static char *script(const char *text)
{
    char *path = mem_printf("%s/program", folder);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static const struct handler_event plain = {
    .id = 7,
    .provider = {"acme", 4},
    .event_id = {"evt_1", 5},
    .received_at = 1,
    .headers = {"{}", 2},
    .body = {"{\"a\": 1}", 8},
    .attempt = 3,
};

static struct provider_config provider = {
    .name = {"acme", 4}, .timeout_ms = 60000, .exec_memory = 1 << 30, .exec_output = 8192};

static struct handler_result run(const char *text, const struct handler_event *event)
{
    char *path = script(text);
    struct action action = {.kind = &handler_exec, .name = str_from(path)};
    struct arena *arena = arena_new(1024);
    atomic_bool interrupted = false;
    struct handler_run run = {.provider = &provider,
                              .action = &action,
                              .event = event,
                              .deadline_us = clock_mono_us() + provider.timeout_ms * 1000,
                              .interrupted = &interrupted};
    struct handler_result result = {0};
    struct err err;

    if (handler_exec.compile(&provider, &action, arena, &err) < 0)
        fail_msg("%s", err.text);
    handler_exec.run(&run, &result);
    arena_free(arena);
    free(path);
    return result;
}

static void release(struct handler_result *result)
{
    free(result->error);
    free(result->more);
}

static void assert_ends(const char *text, enum handler_end end, const char *error, const char *more)
{
    struct handler_result result = run(text, &plain);

    assert_int_equal(result.end, end);
    if (error)
        assert_string_equal(result.error, error);
    else
        assert_null(result.error);
    if (more)
        assert_string_equal(result.more, more);
    else
        assert_null(result.more);
    release(&result);
}

static void test_exit_codes(void **state)
{
    struct handler_result early;

    (void)state;
    assert_ends("echo fine; exit 0", HANDLER_DONE, NULL, NULL);
    assert_ends("echo no such customer; exit 65", HANDLER_DEAD, "exit status 65: no such customer",
                NULL);
    assert_ends("exit 75", HANDLER_RETRY, "exit status 75", NULL);
    assert_ends("exit 1", HANDLER_RETRY, "exit status 1", NULL);
    assert_ends("kill -ABRT $$", HANDLER_RETRY, "killed by SIGABRT", NULL);
    early = run("echo too early >&2; exit 99", &plain);
    assert_int_equal(early.end, HANDLER_DEFER);
    assert_true(early.delay_s < 0);
    release(&early);
}

static void test_the_last_line_is_the_error_and_the_whole_is_for_the_log(void **state)
{
    (void)state;
    assert_ends("echo Traceback; echo '  line 1' >&2; echo 'ValueError: 5'; exit 1", HANDLER_RETRY,
                "exit status 1: ValueError: 5", "OUTPUT: Traceback\n  line 1\nValueError: 5");
}

static void test_b15_output_is_cut_at_a_character_with_its_length(void **state)
{
    struct handler_result result;
    size_t last;

    (void)state;
    /* 20 MB without a line end, in characters of 3 bytes, behind a byte that puts them out of step.
     */
    result = run("{ printf x; head -c 20000001 /dev/zero | sed 's/\\x00\\x00\\x00/\xe2\x82\xac/g'; "
                 "} >&2; exit 1",
                 &plain);
    assert_int_equal(result.end, HANDLER_RETRY);
    last = strlen("exit status 1: ") + 1023;
    assert_memory_equal(result.error, "exit status 1: \xe2\x82\xac", strlen("exit status 1: ") + 3);
    assert_string_equal(result.error + last, " [cut, 20000002 bytes in all]");
    assert_memory_equal(result.error + last - 3, "\xe2\x82\xac", 3);
    assert_memory_equal(result.more, "OUTPUT (the end of 20000002 bytes): \xe2\x82\xac",
                        strlen("OUTPUT (the end of 20000002 bytes): ") + 3);
    assert_int_equal(strlen(result.more), strlen("OUTPUT (the end of 20000002 bytes): ") + 8190);
    release(&result);
}

static void test_the_event_is_on_stdin_and_in_the_environment(void **state)
{
    static const char headers[] = "{\"x-event\": \"push \\u00e4\", \"x-token\": \"[redacted]\", "
                                  "\"content-type\": \"application/json\", \"n\": 1}";
    struct handler_event event = plain;
    struct handler_result result;

    (void)state;
    event.type = STR("invoice.paid");
    event.key = STR("in_1; rm -rf /");
    event.headers = str_from(headers);
    result = run("env | sort | grep -vE '^(PWD|_|HOME|OLDPWD|SHLVL)='; cat; exit 1", &event);
    assert_string_equal(result.more, "OUTPUT: INBOXD_ATTEMPT=3\n"
                                     "INBOXD_EVENT_ID=evt_1\n"
                                     "INBOXD_EVENT_TYPE=invoice.paid\n"
                                     "INBOXD_HEADER_CONTENT_TYPE=application/json\n"
                                     "INBOXD_HEADER_X_EVENT=push \xc3\xa4\n"
                                     "INBOXD_ID=7\n"
                                     "INBOXD_KEY=in_1; rm -rf /\n"
                                     "INBOXD_PROVIDER=acme\n"
                                     "INBOXD_RECEIVED_AT=2000-01-01T00:00:00.000001Z\n"
                                     "LANG=C.UTF-8\n"
                                     "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
                                     "/sbin:/bin\n"
                                     "{\"a\": 1}");
    release(&result);
}

static void test_p11_nothing_of_the_daemons_environment_gets_there(void **state)
{
    struct handler_result result;

    (void)state;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    assert_non_null(getenv("PATH")); /* there is something to inherit */
    result =
        run("tr '\\0' '\\n' </proc/$$/environ | grep -c .; cut -d= -f1 </dev/null; exit 1", &plain);
    /* PATH, LANG, HOME and INBOXD_ID, ATTEMPT, PROVIDER, EVENT_ID, RECEIVED_AT. */
    assert_string_equal(result.error, "exit status 1: 8");
    release(&result);
}

static void test_a37_a_body_and_headers_of_any_size_do_not_keep_it_from_running(void **state)
{
    size_t len = 200000;
    char *body = mem_alloc(len), *headers = mem_alloc(len + 100), *id = mem_alloc(512);
    struct handler_event event = plain;
    struct handler_result result;

    (void)state;
    memset(body, 'b', len);
    memset(id, 'i', 512);
    memcpy(headers, "{\"h\": \"", 7);
    memset(headers + 7, 'v', len);
    memcpy(headers + 7 + len, "\"}", 2);
    event.body = (struct str){body, len};
    event.event_id = event.type = event.key = (struct str){id, 512};
    event.headers = (struct str){headers, len + 9};
    result =
        run("echo $(wc -c) ${#INBOXD_EVENT_ID} ${#INBOXD_KEY} $INBOXD_LEFT_OUT; exit 1", &event);
    assert_string_equal(result.error, "exit status 1: 200000 512 512 INBOXD_HEADER_H");
    release(&result);
    free(body);
    free(headers);
    free(id);
}

static void test_a_timeout_and_a_shutdown_are_told_apart(void **state)
{
    struct handler_result result;

    (void)state;
    provider.timeout_ms = 1500;
    result = run("echo at work; sleep 1000", &plain);
    provider.timeout_ms = 60000;
    assert_int_equal(result.end, HANDLER_TIMEOUT);
    assert_string_equal(result.error, "did not end within timeout (1.5 s): at work");
    release(&result);
}

static void test_what_is_not_there_is_tried_again(void **state)
{
    struct action action = {.kind = &handler_exec, .name = STR("/nowhere/program")};
    struct arena *arena = arena_new(1024);
    atomic_bool interrupted = true; /* and a shutdown at once is no failure */
    struct handler_run run = {.provider = &provider,
                              .action = &action,
                              .event = &plain,
                              .deadline_us = clock_mono_us() + 60000000,
                              .interrupted = NULL};
    struct handler_result result = {0};
    struct err err;
    char *path;

    (void)state;
    assert_int_equal(handler_exec.compile(&provider, &action, arena, &err), 0);
    handler_exec.run(&run, &result);
    assert_int_equal(result.end, HANDLER_RETRY);
    assert_string_equal(result.error, "exit status 127: cannot run /nowhere/program: it, or what "
                                      "its first line names, is not there");
    release(&result);
    path = script("sleep 1000");
    action.name = str_from(path);
    run.interrupted = &interrupted;
    assert_int_equal(handler_exec.compile(&provider, &action, arena, &err), 0);
    result = (struct handler_result){0};
    handler_exec.run(&run, &result);
    assert_int_equal(result.end, HANDLER_INTERRUPTED);
    release(&result);
    free(path);
    arena_free(arena);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char *path = mem_printf("%s/program", folder);

    (void)state;
    unlink(path);
    free(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_the_last_line_is_the_error_and_the_whole_is_for_the_log),
        cmocka_unit_test(test_b15_output_is_cut_at_a_character_with_its_length),
        cmocka_unit_test(test_the_event_is_on_stdin_and_in_the_environment),
        cmocka_unit_test(test_p11_nothing_of_the_daemons_environment_gets_there),
        cmocka_unit_test(test_a37_a_body_and_headers_of_any_size_do_not_keep_it_from_running),
        cmocka_unit_test(test_a_timeout_and_a_shutdown_are_told_apart),
        cmocka_unit_test(test_what_is_not_there_is_tried_again),
    };

    /* As the daemon has it. */
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
