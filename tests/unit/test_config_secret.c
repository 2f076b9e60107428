/* Secrets from files, environment, credentials and text: what is part of one, what is refused, and
 * that no message shows one (field report A06). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "config/config.h"
#include "config/secret_source.h"

static char folder[] = "/tmp/inboxd_secret_XXXXXX";
static char *path; /* of the one file in it */

/* The environment for what follows: one variable, or none. A test program has one thread. */
static void set_environment(const char *variable)
{
    static char text[256];
    static char *variables[2];

    snprintf(text, sizeof(text), "%s", variable);
    variables[0] = variable[0] ? text : NULL;
    environ = variables;
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    path = mem_printf("%s/secret", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    free(path);
    return rmdir(folder);
}

static void write_secret(struct str bytes, mode_t mode)
{
    FILE *file;

    unlink(path); /* its mode may forbid writing */
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Reads the secret; `said` is what is wrong, or empty. The file's path stands as PATH there. */
static struct secret *read_said(const char *reference, char said[512])
{
    struct mistakes *mistakes = mistakes_new();
    struct secret *secret = secret_source_read(str_from(reference), "t.conf", 7, mistakes);
    const char *at;

    said[0] = '\0';
    assert_true(mistakes_count(mistakes) <= 1);
    if (mistakes_count(mistakes) == 1) {
        const struct mistake *mistake = mistakes_get(mistakes, 0);

        assert_string_equal(mistake->file, "t.conf");
        assert_int_equal(mistake->line, 7);
        assert_int_equal(mistake->warning, secret != NULL);
        at = strstr(mistake->text, path);
        if (at)
            snprintf(said, 512, "%.*sPATH%s", (int)(at - mistake->text), mistake->text,
                     at + strlen(path));
        else
            snprintf(said, 512, "%s", mistake->text);
    }
    mistakes_free(mistakes);
    return secret;
}

static void assert_secret(const char *reference, struct str bytes, const char *want_said)
{
    char said[512];
    struct secret *secret = read_said(reference, said);

    assert_string_equal(said, want_said);
    assert_non_null(secret);
    assert_int_equal(secret_len(secret), bytes.len);
    assert_memory_equal(secret_reveal(secret).ptr, bytes.ptr, bytes.len);
    secret_unref(secret);
}

static void assert_refused(const char *reference, const char *want_said)
{
    char said[512];

    assert_null(read_said(reference, said));
    assert_string_equal(said, want_said);
}

static void assert_file(struct str content, struct str bytes)
{
    char *reference = mem_printf("file:%s", path);

    write_secret(content, 0640);
    assert_secret(reference, bytes, "");
    free(reference);
}

static void test_a06_line_end_of_a_file_is_no_part(void **state)
{
    (void)state;
    assert_file(STR("k0-k0-k0-k0-k0-k0"), STR("k0-k0-k0-k0-k0-k0"));
    assert_file(STR("k0-k0-k0-k0-k0-k0\n"), STR("k0-k0-k0-k0-k0-k0"));
    assert_file(STR("k0-k0-k0-k0-k0-k0\r\n"), STR("k0-k0-k0-k0-k0-k0"));
    assert_file(STR("k0-k0-k0-k0-k0-k0\n\r\n\n"), STR("k0-k0-k0-k0-k0-k0"));
}

static void test_a06_blanks_are_part(void **state)
{
    (void)state;
    assert_file(STR(" k0 "), STR(" k0 "));
    assert_file(STR(" k0 \n"), STR(" k0 "));
    assert_file(STR("\tk0\t\r\n"), STR("\tk0\t"));
    assert_file(STR("\nk0"), STR("\nk0"));
    assert_file(STR("k0\nk1\n"), STR("k0\nk1"));
    assert_file(STR("k0\r"), STR("k0\r"));
    assert_file(STR("k\0\xff"), STR("k\0\xff"));
    assert_file(STR(" \n"), STR(" "));
}

static void test_a06_empty_is_refused(void **state)
{
    char *reference = mem_printf("file:%s", path);

    (void)state;
    write_secret(STR(""), 0640);
    assert_refused(reference, "secret: PATH is empty; put the secret into it");
    write_secret(STR("\n"), 0640);
    assert_refused(reference, "secret: PATH is empty; put the secret into it");
    write_secret(STR("\r\n\r\n"), 0640);
    assert_refused(reference, "secret: PATH is empty; put the secret into it");
    free(reference);
}

static void test_a06_environment(void **state)
{
    (void)state;
    set_environment("INBOXD_TEST_SECRET=k0-k0-k0\n");
    assert_secret("env:INBOXD_TEST_SECRET", STR("k0-k0-k0"), "");
    set_environment("INBOXD_TEST_SECRET= k0 ");
    assert_secret("env:INBOXD_TEST_SECRET", STR(" k0 "), "");
    set_environment("INBOXD_TEST_SECRET=");
    assert_refused(
        "env:INBOXD_TEST_SECRET",
        "secret: the environment variable INBOXD_TEST_SECRET is empty; put the secret into it");
    set_environment("");
    assert_refused("env:INBOXD_TEST_SECRET", "secret: the environment has no variable "
                                             "\"INBOXD_TEST_SECRET\"; set it, or write file:/PATH");
}

static void test_loose_mode_is_a_warning(void **state)
{
    static const struct {
        mode_t mode;
        const char *said;
    } modes[] = {
        {0400, ""},
        {0600, ""},
        {0640, ""},
        {0440, ""},
        {0644, "secret: PATH has mode 0644; chmod 0640 or stricter keeps others out"},
        {0660, "secret: PATH has mode 0660; chmod 0640 or stricter keeps others out"},
        {0604, "secret: PATH has mode 0604; chmod 0640 or stricter keeps others out"},
        {0777, "secret: PATH has mode 0777; chmod 0640 or stricter keeps others out"},
    };
    char *reference = mem_printf("file:%s", path);

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_secret(STR("k0-k0-k0"), modes[i].mode);
        assert_secret(reference, STR("k0-k0-k0"), modes[i].said);
    }
    free(reference);
}

static void test_size_is_bounded(void **state)
{
    char *bytes = mem_alloc(SECRET_MAX + 3), *reference = mem_printf("file:%s", path);

    (void)state;
    memset(bytes, 'x', SECRET_MAX + 1);
    memcpy(bytes + SECRET_MAX, "\r\n", 2);
    write_secret((struct str){bytes, SECRET_MAX + 2}, 0640);
    assert_secret(reference, (struct str){bytes, SECRET_MAX}, "");
    bytes[SECRET_MAX] = 'x';
    write_secret((struct str){bytes, SECRET_MAX + 1}, 0640);
    assert_refused(reference, "secret: PATH is larger than 64K, which no secret is");
    free(reference);
    free(bytes);
    assert_refused("file:/dev/zero", "secret: /dev/zero is not a regular file; name the file that "
                                     "holds the secret");
}

static void assert_folder_is_for_sns(const char *reference)
{
    static const char *const kinds[] = {"sns", "token"};

    for (size_t i = 0; i < 2; i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf("[provider p]\nverify = %s\nsecret = %s\nevent_id = sha256\n"
                                "on = ignore\n",
                                kinds[i], reference);
        struct config *config = config_parse("t.conf", str_from(text), mistakes);

        assert_int_equal(config == NULL, i);
        assert_int_equal(mistakes_count(mistakes), i);
        if (i)
            assert_string_equal(mistakes_get(mistakes, 0)->text,
                                "secret: a folder is for the certificates of verify = sns; name a "
                                "file");
        config_unref(config);
        mistakes_free(mistakes);
        free(text);
    }
}

/* Certificates, one a file: each behind its name, in the order of the names. */
static void test_a_folder_of_certificates(void **state)
{
    static const char *const names[] = {"b.pem", "a.pem", ".hidden.pem", "c.pem.new", "README"};
    char *reference = mem_printf("file:%s/certs/", folder), *certs = mem_printf("%s/certs", folder);
    char said[512], *want;

    (void)state;
    assert_null(read_said(reference, said));
    want = mem_printf("secret: could not read %s/: No such file or directory", certs);
    assert_string_equal(said, want);
    free(want);
    assert_int_equal(mkdir(certs, 0755), 0);
    assert_null(read_said(reference, said));
    want = mem_printf("secret: %s/ has no file NAME.pem in it; put the sender's certificates there",
                      certs);
    assert_string_equal(said, want);
    free(want);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        free(path);
        path = mem_printf("%s/%s", certs, names[i]);
        write_secret(str_from(names[i]), 0644);
    }
    assert_secret(reference, STR("# a.pem\na.pem\n# b.pem\nb.pem\n"), "");
    assert_folder_is_for_sns(reference);
    free(path);
    path = mem_printf("%s/a.pem", certs);
    write_secret(STR("\n"), 0644);
    assert_refused(reference, "secret: PATH is empty; put the secret into it");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        free(path);
        path = mem_printf("%s/%s", certs, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(certs), 0);
    free(path);
    path = mem_printf("%s/secret", folder);
    free(reference);
    free(certs);
}

static void test_credential(void **state)
{
    char *variable;

    (void)state;
    set_environment("");
    assert_refused("credential:secret",
                   "secret: there is no credential \"secret\": CREDENTIALS_DIRECTORY is not set; "
                   "systemd sets it for a service with LoadCredential=secret:/PATH");
    variable = mem_printf("CREDENTIALS_DIRECTORY=%s", folder);
    set_environment(variable);
    free(variable);
    write_secret(STR("k0-k0-k0\n"), 0444); /* systemd's folder keeps others out */
    assert_secret("credential:secret", STR("k0-k0-k0"), "");
    assert_refused("credential:..", "secret: \"..\" cannot be a credential's name; write the name "
                                    "that LoadCredential= gives it");
    assert_refused("credential:", "secret: \"\" cannot be a credential's name; write the name that "
                                  "LoadCredential= gives it");
    set_environment("");
}

static void test_text(void **state)
{
    (void)state;
    assert_secret("text: k0 ", STR(" k0 "),
                  "secret: the secret stands in the configuration; file:/PATH, env:NAME or "
                  "credential:NAME keep it apart");
    assert_true(str_is(secret_source_shown(STR("text:k0")), "text:..."));
    assert_true(str_is(secret_source_shown(STR("file:/k0")), "file:/k0"));
    assert_refused("k0-k0-k0", "secret: the value does not say where the secret is; write "
                               "file:/PATH, env:NAME, credential:NAME or text:SECRET");
}

/* Whoever operates the database need not be able to read the secrets. */
static void test_without_secrets(void **state)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config;

    (void)state;
    write_secret(STR("[provider s]\nverify = stripe\nsecret = file:/nonexistent\non = ignore\n"),
                 0640);
    assert_null(config_read(path, mistakes));
    assert_int_equal(mistakes_count(mistakes), 1);
    config = config_read_without_secrets(path, mistakes);
    assert_non_null(config);
    assert_int_equal(mistakes_count(mistakes), 1);
    assert_int_equal(config->providers[0].secret_count, 0);
    config_unref(config);
    mistakes_free(mistakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a06_line_end_of_a_file_is_no_part),
        cmocka_unit_test(test_a06_blanks_are_part),
        cmocka_unit_test(test_a06_empty_is_refused),
        cmocka_unit_test(test_a06_environment),
        cmocka_unit_test(test_loose_mode_is_a_warning),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_a_folder_of_certificates),
        cmocka_unit_test(test_credential),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_without_secrets),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
