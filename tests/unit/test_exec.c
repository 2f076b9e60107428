/* Programs that are run: what they find, how they end, and that nothing of them is left. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/exec.h"

static const char *no_environment[] = {NULL};

/* A program for /bin/sh, with time enough for any machine. */
static struct exec_program shell(const char **argv, const char *script)
{
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (struct exec_program){.helper = TEST_HELPER,
                                 .argv = argv,
                                 .environment = no_environment,
                                 .timeout_ms = 60000,
                                 .grace_ms = 60000,
                                 .files = 64,
                                 .output_max = 1024};
}

static void run(const struct exec_program *program, const atomic_bool *stop,
                struct exec_result *result)
{
    struct err err;

    if (exec_run(program, stop, result, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_output(const struct exec_result *result, const char *expected)
{
    struct buf text;
    bool cut;

    buf_init(&text, BUF_NO_CAP);
    tail_text(&result->output, &text, &cut);
    buf_put_char(&text, '\0');
    assert_string_equal(text.data, expected);
    assert_false(cut);
    buf_release(&text);
}

static void assert_ends(const char *script, enum exec_end end, int code, const char *output)
{
    const char *argv[4];
    struct exec_program program = shell(argv, script);
    struct exec_result result;

    run(&program, NULL, &result);
    assert_int_equal(result.end, end);
    assert_int_equal(result.code, code);
    assert_output(&result, output);
    exec_result_release(&result);
}

static void wait_until_gone(pid_t pid)
{
    while (kill(pid, 0) == 0)
        usleep(1000);
    assert_int_equal(errno, ESRCH);
}

static pid_t pid_in(const struct exec_result *result)
{
    struct buf text;
    bool cut;
    long pid;

    buf_init(&text, BUF_NO_CAP);
    tail_text(&result->output, &text, &cut);
    buf_put_char(&text, '\0');
    pid = strtol(text.data, NULL, 10);
    buf_release(&text);
    assert_true(pid > 1);
    return (pid_t)pid;
}

/* ---- how it ends ---- */

static void test_its_end_is_told(void **state)
{
    (void)state;
    assert_ends("exit 0", EXEC_EXITED, 0, "");
    assert_ends("echo sorry >&2; exit 75", EXEC_EXITED, 75, "sorry");
    assert_ends("echo a; echo b >&2; echo c; exit 255", EXEC_EXITED, 255, "a\nb\nc");
    assert_ends("echo last; kill -KILL $$", EXEC_KILLED, SIGKILL, "last");
    assert_ends("kill -SEGV $$", EXEC_KILLED, SIGSEGV, "");
}

static void test_a_program_that_cannot_run_says_why(void **state)
{
    const char *missing[] = {"/nowhere/at all", NULL}, *folder[] = {"/usr", NULL}, *unused[4];
    struct exec_program program = shell(unused, "");
    struct exec_result result;

    (void)state;
    program.argv = missing;
    run(&program, NULL, &result);
    assert_int_equal(result.code, EXEC_CODE_NOT_FOUND);
    assert_output(&result,
                  "cannot run /nowhere/at all: it, or what its first line names, is not there");
    exec_result_release(&result);
    program.argv = folder;
    run(&program, NULL, &result);
    assert_int_equal(result.code, EXEC_CODE_CANNOT_RUN);
    assert_output(&result, "cannot run /usr: Permission denied");
    exec_result_release(&result);
}

static void test_without_the_helper_nothing_runs(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "exit 0");
    struct exec_result result;
    struct err err;

    (void)state;
    program.helper = "/nowhere/inboxd-exec";
    assert_int_equal(exec_run(&program, NULL, &result, &err), -1);
    assert_int_equal(err.kind, ERR_AGAIN);
    assert_string_equal(err.text, "could not start /bin/sh: No such file or directory");
    exec_result_release(&result);
}

/* ---- what it gets ---- */

static void test_input_comes_whole_while_output_goes(void **state)
{
    size_t len = (size_t)3 << 20;
    char *input = mem_alloc(len);
    const char *argv[4];
    struct exec_program program = shell(argv, "cat; echo end");
    struct exec_result result;

    (void)state;
    memset(input, 'x', len);
    program.input = (struct str){input, len};
    program.output_max = 8;
    run(&program, NULL, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.output.all, len + 4);
    exec_result_release(&result);
    argv[2] = "wc -c";
    program.output_max = 1024;
    run(&program, NULL, &result);
    assert_output(&result, "3145728");
    exec_result_release(&result);
    free(input);
}

static void test_input_that_it_does_not_want_is_no_fault(void **state)
{
    size_t len = (size_t)3 << 20;
    char *input = mem_alloc(len);
    const char *argv[4];
    struct exec_program program = shell(argv, "exec <&-; echo fine");
    struct exec_result result;

    (void)state;
    program.input = (struct str){input, len};
    run(&program, NULL, &result);
    assert_int_equal(result.end, EXEC_EXITED);
    assert_int_equal(result.code, 0);
    assert_output(&result, "fine");
    exec_result_release(&result);
    free(input);
}

static void test_it_finds_a_clean_process(void **state)
{
    static const char script[] = "echo $(cut -d' ' -f5,6 /proc/$$/stat) = $$ $$; pwd; ls -1 "
                                 "/proc/$$/fd | grep -cE '^[0-2]$';"
                                 "ls /proc/$$/fd | wc -l; ulimit -n; ulimit -c; ulimit -d;"
                                 "grep -E '^Sig(Blk|Ign)' /proc/$$/status | tr -d '\\t'; env";
    const char *argv[4], *environment[] = {"A=1", NULL};
    char expected[400];
    struct exec_program program = shell(argv, script);
    struct exec_result result;
    struct buf text;
    bool cut;
    long pid;
    uint64_t ignored;
    int leak = dup(STDERR_FILENO); /* not closed on exec */

    (void)state;
    program.environment = environment;
    program.memory = 64 << 20;
    run(&program, NULL, &result);
    buf_init(&text, BUF_NO_CAP);
    tail_text(&result.output, &text, &cut);
    buf_put_char(&text, '\0');
    pid = strtol(text.data, NULL, 10);
    snprintf(expected, sizeof(expected), "%ld %ld = %ld %ld\n/\n3\n", pid, pid, pid, pid);
    assert_memory_equal(text.data, expected, strlen(expected));
    assert_non_null(strstr(text.data, "\n64\n0\n65536\nSigBlk:0000000000000000\nSigIgn:0000000"));
    ignored = strtoull(strstr(text.data, "SigIgn:") + strlen("SigIgn:"), NULL, 16);
    /* But for 32 and 33, which are glibc's own and which it leaves so. */
    assert_int_equal(ignored & ~(UINT64_C(3) << 31), 0);
    assert_non_null(strstr(text.data, "\nA=1"));
    assert_null(strstr(text.data, "PATH"));
    buf_release(&text);
    exec_result_release(&result);
    close(leak);
}

static void test_memory_is_bounded(void **state)
{
    const char *argv[] = {"/usr/bin/python3", "-c", "b'x' * (200 << 20)", NULL}, *unused[4];
    struct exec_program program = shell(unused, "");
    struct exec_result result;

    (void)state;
    program.argv = argv;
    program.memory = 100 << 20;
    run(&program, NULL, &result);
    assert_int_equal(result.code, 1);
    exec_result_release(&result);
    program.memory = 400 << 20;
    run(&program, NULL, &result);
    assert_int_equal(result.code, 0);
    exec_result_release(&result);
}

/* ---- its output ---- */

static void test_b15_output_without_end_is_read_and_its_tail_kept(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(
        argv, "head -c 20000000 /dev/zero | tr '\\0' 'a' >&2; printf '\\303\\244\\303\\244' >&2");
    struct exec_result result;
    struct buf text;
    bool cut;

    (void)state;
    program.output_max = 7; /* in the middle of no character: 3 a, 2 characters of 2 bytes */
    run(&program, NULL, &result);
    assert_int_equal(result.output.all, 20000004);
    buf_init(&text, BUF_NO_CAP);
    tail_text(&result.output, &text, &cut);
    assert_true(cut);
    assert_int_equal(text.len, 7);
    assert_memory_equal(text.data, "aaa\xc3\xa4\xc3\xa4", 7);
    exec_result_release(&result);
    buf_clear(&text);
    program.output_max = 3; /* in the middle of the first one */
    run(&program, NULL, &result);
    tail_text(&result.output, &text, &cut);
    assert_int_equal(text.len, 2);
    assert_memory_equal(text.data, "\xc3\xa4", 2);
    buf_release(&text);
    exec_result_release(&result);
}

static void test_output_becomes_text(void **state)
{
    (void)state;
    assert_ends("printf '\\n a\\000b\\377c \\n\\n'", EXEC_EXITED, 0,
                "a\xef\xbf\xbd"
                "b\xef\xbf\xbd"
                "c");
}

static void test_the_tail_of_any_pieces_is_the_same(void **state)
{
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    (void)state;
    for (size_t size = 1; size <= sizeof(text) + 1; size++) {
        for (size_t piece = 1; piece < sizeof(text); piece++) {
            size_t len = sizeof(text) - 1, kept = size < len ? size : len;
            struct tail tail;
            struct buf buf;
            bool cut;

            tail_init(&tail, size);
            buf_init(&buf, BUF_NO_CAP);
            for (size_t at = 0; at < len; at += piece)
                tail_add(&tail, text + at, piece < len - at ? piece : len - at);
            tail_text(&tail, &buf, &cut);
            assert_int_equal(buf.len, kept);
            assert_memory_equal(buf.data, text + len - kept, kept);
            assert_int_equal(cut, size < len);
            buf_release(&buf);
            tail_release(&tail);
        }
    }
}

/* ---- its time ---- */

static void test_at_its_timeout_it_is_asked_to_end(void **state)
{
    const char *argv[4];
    struct exec_program program =
        shell(argv, "trap 'echo asked; exit 3' TERM; while :; do :; done");
    struct exec_result result;

    (void)state;
    program.timeout_ms = 1500;
    run(&program, NULL, &result);
    assert_int_equal(result.end, EXEC_TIMEOUT);
    assert_int_equal(result.code, 0);
    assert_output(&result, "asked");
    exec_result_release(&result);
}

static void test_what_does_not_listen_is_killed_with_its_group(void **state)
{
    const char *argv[4];
    struct exec_program program =
        shell(argv, "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $!; wait; wait");
    struct exec_result result;

    (void)state;
    program.timeout_ms = 1500;
    program.grace_ms = 50;
    run(&program, NULL, &result);
    assert_int_equal(result.end, EXEC_TIMEOUT);
    assert_int_equal(result.code, SIGKILL);
    wait_until_gone(pid_in(&result));
    exec_result_release(&result);
}

static void test_what_is_stopped_ends_too(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "kill -STOP $$");
    struct exec_result result;

    (void)state;
    program.timeout_ms = 1500;
    run(&program, NULL, &result);
    assert_int_equal(result.end, EXEC_TIMEOUT);
    assert_int_equal(result.code, SIGTERM);
    exec_result_release(&result);
}

static void test_b26_a_shutdown_ends_the_group(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "sleep 1000 & echo $!; wait");
    struct exec_result result;
    atomic_bool stop = true;

    (void)state;
    /* Asked before it began: then it begins and ends, and may not have said anything. */
    run(&program, &stop, &result);
    assert_int_equal(result.end, EXEC_INTERRUPTED);
    assert_int_equal(result.code, SIGTERM);
    exec_result_release(&result);
}

struct late_stop {
    atomic_bool stop;
    const char *when; /* a file that appears */
};

static void *stop_later(void *argument)
{
    struct late_stop *stop = argument;

    while (access(stop->when, F_OK) < 0)
        usleep(1000);
    atomic_store(&stop->stop, true);
    return NULL;
}

static void test_b26_another_thread_ends_what_runs(void **state)
{
    char name[] = "/tmp/inboxd-exec-XXXXXX", script[200] = "";
    const char *argv[4];
    struct exec_program program = shell(argv, script);
    struct exec_result result;
    struct late_stop stop = {false, name};
    pthread_t thread;

    (void)state;
    assert_non_null(mkdtemp(name));
    rmdir(name);
    snprintf(script, sizeof(script), "sleep 1000 & echo $!; mkdir %s; wait", name);
    pthread_create(&thread, NULL, stop_later, &stop);
    run(&program, &stop.stop, &result);
    pthread_join(thread, NULL);
    assert_int_equal(result.end, EXEC_INTERRUPTED);
    wait_until_gone(pid_in(&result));
    exec_result_release(&result);
    rmdir(name);
}

/* ---- what it leaves behind ---- */

static void test_a_grandchild_that_holds_the_output_is_not_waited_for(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "sleep 1000 & echo $!; exit 0");
    struct exec_result result;

    (void)state;
    run(&program, NULL, &result);
    assert_int_equal(result.end, EXEC_EXITED);
    assert_int_equal(result.code, 0);
    wait_until_gone(pid_in(&result));
    exec_result_release(&result);
}

static void test_a_grandchild_that_holds_nothing_ends_too(void **state)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "sleep 1000 <&- >/dev/null 2>&1 & echo $!; exit 0");
    struct exec_result result;

    (void)state;
    run(&program, NULL, &result);
    assert_int_equal(result.code, 0);
    wait_until_gone(pid_in(&result));
    exec_result_release(&result);
}

static void test_it_dies_with_the_daemon(void **state)
{
    int said[2];
    char text[32] = "";
    pid_t daemon, program_pid;

    (void)state;
    assert_int_equal(pipe(said), 0);
    daemon = fork();
    if (daemon == 0) {
        char script[100] = "";
        const char *argv[4];
        struct exec_program program = shell(argv, script);
        struct exec_result result;
        struct err err;

        snprintf(script, sizeof(script), "echo $$ >/proc/%d/fd/%d; exec sleep 1000", (int)getpid(),
                 said[1]);
        _exit(exec_run(&program, NULL, &result, &err) == 0 ? 0 : 1);
    }
    close(said[1]);
    assert_true(read(said[0], text, sizeof(text) - 1) > 0);
    program_pid = (pid_t)strtol(text, NULL, 10);
    assert_int_equal(kill(program_pid, 0), 0);
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
    /* Whoever adopts it reaps it. */
    wait_until_gone(program_pid);
    close(said[0]);
}

static size_t open_files(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void *run_many(void *argument)
{
    const char *argv[4];
    struct exec_program program = shell(argv, "read x; echo $x");
    struct exec_result result;
    char input[16];

    (void)argument;
    for (int i = 0; i < 25; i++) {
        char *expected = mem_printf("%d", i);

        snprintf(input, sizeof(input), "%d\n", i);
        program.input = str_from(input);
        run(&program, NULL, &result);
        assert_int_equal(result.code, 0);
        assert_output(&result, expected);
        exec_result_release(&result);
        free(expected);
    }
    return NULL;
}

static void test_threads_do_not_meet(void **state)
{
    pthread_t threads[8];
    size_t before = open_files();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_create(&threads[i], NULL, run_many, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_end_is_told),
        cmocka_unit_test(test_a_program_that_cannot_run_says_why),
        cmocka_unit_test(test_without_the_helper_nothing_runs),
        cmocka_unit_test(test_input_comes_whole_while_output_goes),
        cmocka_unit_test(test_input_that_it_does_not_want_is_no_fault),
        cmocka_unit_test(test_it_finds_a_clean_process),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_b15_output_without_end_is_read_and_its_tail_kept),
        cmocka_unit_test(test_output_becomes_text),
        cmocka_unit_test(test_the_tail_of_any_pieces_is_the_same),
        cmocka_unit_test(test_at_its_timeout_it_is_asked_to_end),
        cmocka_unit_test(test_what_does_not_listen_is_killed_with_its_group),
        cmocka_unit_test(test_what_is_stopped_ends_too),
        cmocka_unit_test(test_b26_a_shutdown_ends_the_group),
        cmocka_unit_test(test_b26_another_thread_ends_what_runs),
        cmocka_unit_test(test_a_grandchild_that_holds_the_output_is_not_waited_for),
        cmocka_unit_test(test_a_grandchild_that_holds_nothing_ends_too),
        cmocka_unit_test(test_it_dies_with_the_daemon),
        cmocka_unit_test(test_threads_do_not_meet),
    };

    /* As the daemon has it. */
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
