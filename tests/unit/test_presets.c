/* Every preset is enough for a section of `verify`, `secret` and `on` (and of what its file says it
 * needs besides): it compiles without a mistake and without a warning, and says where its sender
 * documents what it does and what to do on the sender's side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/presets.h"
#include "provider/provider.h"

#define CERTIFICATE TEST_DATA "/sns/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem"

static char secret_file[] = "/tmp/inboxd_presets_XXXXXX";

static int make_secret_file(void **state)
{
    int fd = mkstemp(secret_file);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_secret_file(void **state)
{
    (void)state;
    return unlink(secret_file);
}

/* What a sender of that kind might hand out, by the scheme or the encoding. */
static const char *secret_for(struct str scheme, struct str encoding)
{
    static const char *const secrets[][2] = {
        {"basic", "user:0123456789abcdef"},
        {"hex", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"},
        {"base64", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="},
        {"whsec", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="},
        {"whpk", "whpk_O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="},
        {"ed25519-hex", "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"},
        {"jwk", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"x\":\"Rb-"
                "05je8dcRIFTLhlegR8rhuGObdBrA7UH1IgGzIGP4\",\"y\":\"oNq105QBLV2ND9XF1MpURQQ_"
                "MecAkRDwZ1XNw2cEVzI\"}"},
        {"spki", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9Z85Fxpbux6REHHkDwYsKwiaQi8ptG/"
                 "hZaWbvuq9b+9cveLagNKA7kyDRoseNIag0lmk172nc62vcVpb/p6p7Q=="},
    };

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (str_is(scheme, secrets[i][0]) || str_is(encoding, secrets[i][0]))
            return secrets[i][1];
    return "00112233445566778899aabbccddeeff";
}

static void write_secret(const char *secret)
{
    FILE *file = fopen(secret_file, "w");

    assert_non_null(file);
    assert_true(fputs(secret, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The same, and for certificates one of Amazon's. */
static void write_secret_for(struct str scheme, struct str encoding)
{
    char pem[8192];
    FILE *file;

    if (!str_is(scheme, "sns") && !str_is(encoding, "pem-cert")) {
        write_secret(secret_for(scheme, encoding));
        return;
    }
    file = fopen(CERTIFICATE, "r");
    assert_non_null(file);
    pem[fread(pem, 1, sizeof(pem) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    write_secret(pem);
}

static bool says(const struct preset *preset, const char *text)
{
    return memmem(preset->text.ptr, preset->text.len, text, strlen(text)) != NULL;
}

/* The three lines, and those that the preset says it needs besides; all secrets are one file. */
static void put_section(struct buf *out, const struct preset *preset)
{
    static const char mark[] = "\n# Also needs: ";
    struct str rest = preset->text;
    const char *found;

    buf_printf(out, "[provider p]\nverify = %.*s\nsecret = file:%s\non = ignore\n",
               STR_ARG(preset->name), secret_file);
    while ((found = memmem(rest.ptr, rest.len, mark, sizeof(mark) - 1))) {
        const char *line = found + sizeof(mark) - 1;
        size_t len = strcspn(line, "\n"), key = strcspn(line, " ");

        if (memmem(line, len, "= file:", 7))
            buf_printf(out, "%.*s = file:%s\n", (int)key, line, secret_file);
        else
            buf_printf(out, "%.*s\n", (int)len, line);
        rest.len -= (size_t)(line + len - rest.ptr);
        rest.ptr = line + len;
    }
}

static void assert_no_mistakes(const struct preset *preset, const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        print_error("%.*s: %s:%d: %s\n", STR_ARG(preset->name), mistake->file, mistake->line,
                    mistake->text);
    }
    assert_int_equal(mistakes_count(mistakes), 0);
}

static void check_section(const struct preset *preset, struct str section)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("presets.conf", section, mistakes);
    struct provider *provider;

    assert_no_mistakes(preset, mistakes);
    assert_non_null(config);
    assert_true(str_equal(config->providers[0].preset, preset->name));
    assert_true(str_equal(config->providers[0].verify.text, preset_scheme(preset)));
    write_secret_for(preset_scheme(preset), config->providers[0].secret_encoding.text);
    config_unref(config);
    config = config_parse("presets.conf", section, mistakes);
    provider = provider_new(&config->providers[0], mistakes);
    assert_no_mistakes(preset, mistakes);
    assert_non_null(provider);
    provider_free(provider);
    config_unref(config);
    mistakes_free(mistakes);
}

/* `more`: lines of the section besides. */
static void check_presets(const char *more)
{
    for (size_t i = 0; i < presets_count(); i++) {
        struct preset preset = presets_get(i);
        struct buf section;

        buf_init(&section, BUF_NO_CAP);
        put_section(&section, &preset);
        buf_put_str(&section, str_from(more));
        write_secret_for(preset_scheme(&preset), STR(""));
        check_section(&preset, buf_str(&section));
        buf_release(&section);
    }
}

static void test_every_preset_is_enough(void **state)
{
    (void)state;
    check_presets("");
}

/* For bodies that are no event, whatever the preset would read out of one. */
static void test_every_preset_verifies_raw_bodies_too(void **state)
{
    (void)state;
    check_presets("format = raw\nevent_id = sha256\n");
}

/* Asana and Notion hand their secret over: there is none to be written down. */
static void test_presets_whose_secret_comes_in_a_handshake(void **state)
{
    static const char *const names[] = {"asana", "notion"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf("[inboxd]\ncapture_key = file:%s\n[provider p]\nverify = %s\n"
                                "on = ignore\n",
                                secret_file, names[i]);
        struct provider *provider;
        struct config *config;
        struct preset preset;

        write_secret("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
        config = config_parse("captured.conf", str_from(text), mistakes);
        assert_true(presets_find(str_from(names[i]), &preset));
        assert_no_mistakes(&preset, mistakes);
        assert_non_null(config);
        provider = provider_new(&config->providers[0], mistakes);
        assert_no_mistakes(&preset, mistakes);
        provider_free(provider);
        config_unref(config);
        mistakes_free(mistakes);
        free(text);
    }
}

static void test_every_preset_says_what_it_follows(void **state)
{
    (void)state;
    for (size_t i = 0; i < presets_count(); i++) {
        struct preset preset = presets_get(i);

        if (preset_title(&preset).len == 0 || !says(&preset, "\n# https://") ||
            !says(&preset, "\n# Setup: "))
            fail_msg(
                "%.*s: has to begin with a title, and to have a line \"# https://...\" and one "
                "\"# Setup: ...\"",
                STR_ARG(preset.name));
    }
}

static bool is_scheme(struct str text)
{
    for (size_t i = 0; verify_schemes[i]; i++)
        if (str_is(text, verify_schemes[i]))
            return true;
    return false;
}

/* Else the name could not be had as a scheme any more. */
static void test_a_preset_named_as_a_scheme_is_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < presets_count(); i++) {
        struct preset preset = presets_get(i);

        assert_true(is_scheme(preset_scheme(&preset)));
        if (is_scheme(preset.name))
            assert_true(str_equal(preset.name, preset_scheme(&preset)));
    }
}

static void test_they_are_found_by_name(void **state)
{
    struct preset preset;

    (void)state;
    assert_true(presets_find(STR("stripe"), &preset));
    assert_true(str_is(preset_title(&preset), "Stripe"));
    assert_true(str_is(preset_scheme(&preset), "hmac-sha256"));
    assert_false(presets_find(STR("stripe.conf"), &preset));
    assert_false(presets_find(STR(""), &preset));
}

/* What is below a provider's own limit brings its answer in time; [inboxd] bounds it. */
static void test_ack_timeout(void **state)
{
    static const struct {
        const char *inboxd, *section;
        int64_t ms;
        const char *warning;
    } cases[] = {
        {"", "verify = slack\n", 2000, NULL},
        {"", "verify = stripe\n", 5000, NULL},
        {"", "verify = typeform\n", 5000, NULL},
        {"ack_timeout = 1s\n", "verify = slack\n", 1000, NULL},
        {"ack_timeout = 1m\n", "verify = typeform\n", 20000, NULL},
        {"", "verify = slack\nack_timeout = 500ms\n", 500, NULL},
        {"", "verify = slack\nack_timeout = 10s\n", 5000,
         "ack_timeout: 10s is longer than the 5s of [inboxd], which count"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mistakes *mistakes = mistakes_new();
        char *text = mem_printf("[inboxd]\n%s[provider p]\n%ssecret = file:%s\non = ignore\n",
                                cases[i].inboxd, cases[i].section, secret_file);
        struct config *config;

        write_secret("0123456789abcdef");
        config = config_parse("ack.conf", str_from(text), mistakes);
        assert_non_null(config);
        assert_int_equal(config->providers[0].ack_timeout_ms, cases[i].ms);
        assert_int_equal(mistakes_count(mistakes), cases[i].warning ? 1 : 0);
        if (cases[i].warning)
            assert_string_equal(mistakes_get(mistakes, 0)->text, cases[i].warning);
        config_unref(config);
        mistakes_free(mistakes);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_preset_is_enough),
        cmocka_unit_test(test_every_preset_verifies_raw_bodies_too),
        cmocka_unit_test(test_presets_whose_secret_comes_in_a_handshake),
        cmocka_unit_test(test_every_preset_says_what_it_follows),
        cmocka_unit_test(test_a_preset_named_as_a_scheme_is_of_it),
        cmocka_unit_test(test_they_are_found_by_name),
        cmocka_unit_test(test_ack_timeout),
    };

    return cmocka_run_group_tests(tests, make_secret_file, remove_secret_file);
}
