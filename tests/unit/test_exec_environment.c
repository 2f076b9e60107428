/* The environment of programs: built up from nothing, bounded, with what had no place named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/environment.h"
#include "exec/exec.h"

static struct str repeated(char c, size_t len)
{
    char *text = mem_alloc(len + 1);

    memset(text, c, len);
    return (struct str){text, len};
}

static void test_variables_and_headers(void **state)
{
    static const char *const expected[] = {"PATH=/bin",
                                           "EMPTY=", "INBOXD_HEADER_X_GITHUB_EVENT=push",
                                           "INBOXD_HEADER_A_B_=\xc3\xa4 ; rm -rf *\n=", NULL};
    struct environment *environment = environment_new();
    const char *const *list;

    (void)state;
    environment_add(environment, "PATH", STR("/bin"));
    environment_add(environment, "ABSENT", STR_NONE);
    environment_add(environment, "EMPTY", STR(""));
    environment_add_header(environment, STR("x-github-event"), STR("push"));
    environment_add_header(environment, STR("x_github_event"), STR("second"));
    environment_add_header(environment, STR("authorization"), STR("[redacted]"));
    environment_add_header(environment, STR("a.b="), STR("\xc3\xa4 ; rm -rf *\n="));
    environment_add_header(environment, STR(""), STR("nameless"));
    list = environment_list(environment);
    for (size_t i = 0; expected[i]; i++)
        assert_string_equal(list[i], expected[i]);
    assert_null(list[4]);
    environment_free(environment);
}

static void test_a37_what_is_too_long_is_left_out_and_named(void **state)
{
    struct environment *environment = environment_new();
    struct str longest = repeated('x', ENVIRONMENT_VALUE_MAX),
               longer = repeated('x', ENVIRONMENT_VALUE_MAX + 1), huge = repeated('y', 200000);
    const char *const *list;

    (void)state;
    environment_add_header(environment, STR("fits"), longest);
    environment_add_header(environment, STR("longer"), longer);
    environment_add(environment, "HUGE", huge);
    environment_add(environment, "NUL", (struct str){"a\0b", 3});
    list = environment_list(environment);
    assert_int_equal(strlen(list[0]), strlen("INBOXD_HEADER_FITS=") + ENVIRONMENT_VALUE_MAX);
    assert_string_equal(list[1], "INBOXD_LEFT_OUT=INBOXD_HEADER_LONGER HUGE NUL");
    assert_null(list[2]);
    environment_free(environment);
    free((char *)longest.ptr);
    free((char *)longer.ptr);
    free((char *)huge.ptr);
}

/* Many headers, 4 MB in all: a program starts with what fits, even where the stack is small. */
static void test_a37_many_headers_are_bounded_as_a_whole(void **state)
{
    struct environment *environment = environment_new();
    struct str value = repeated('v', 1000);
    const char *argv[] = {"/bin/sh", "-c", "echo ${#INBOXD_HEADER_H0} ${INBOXD_LEFT_OUT##* }",
                          NULL};
    struct exec_program program = {.helper = TEST_HELPER,
                                   .argv = argv,
                                   .timeout_ms = 60000,
                                   .grace_ms = 60000,
                                   .output_max = 1024};
    struct exec_result result;
    struct err err;
    struct buf text;
    size_t bytes = 0;
    bool cut;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "h%d", i);
        environment_add_header(environment, str_from(name), value);
    }
    program.environment = environment_list(environment);
    for (size_t i = 0; program.environment[i]; i++)
        bytes += strlen(program.environment[i]) + 1 + sizeof(char *);
    assert_in_range(bytes, ENVIRONMENT_MAX - 2000, ENVIRONMENT_MAX + 5000);
    assert_int_equal(exec_run(&program, NULL, &result, &err), 0);
    buf_init(&text, BUF_NO_CAP);
    tail_text(&result.output, &text, &cut);
    buf_put_char(&text, '\0');
    assert_string_equal(text.data, "1000 ...");
    buf_release(&text);
    exec_result_release(&result);
    environment_free(environment);
    free((char *)value.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_and_headers),
        cmocka_unit_test(test_a37_what_is_too_long_is_left_out_and_named),
        cmocka_unit_test(test_a37_many_headers_are_bounded_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
