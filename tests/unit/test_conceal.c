/* What looks like a key is not shown, and what is none is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "config/conceal.h"

static const struct {
    const char *text, *want;
} cases[] = {
    {"", ""},
    {"\"whsec_AAECAwQF\" is not a duration", "\"whsec_...\" is not a duration"},
    {"there is no preset \"v1,whsec_!!!!x\", write", "there is no preset \"v1,whsec_...\", write"},
    {"\"text:abcdef\" is unknown", "\"text:...\" is unknown"},
    {"\"text:a\"", "\"text:a\""}, /* nothing to hide */
    {"\"0123456789abcdef0123456789abcdef\" is", "\"...\" is"},
    {"x 0123456789abcdef/+0123== y", "x ... y"},
    {"bnVsbC1zZXBhcmF0ZWQtMQ==", "..."},
    {"key=0123456789abcdef", "key=..."},
    {"cut \"k0k0k0k0k0k0k0k0k0k0...\"", "cut \"...\""},
    {"\"https://user:pass@host/p@q?x\" is not", "\"https://...@host/p@q?x\" is not"},
    {"https://host/a@b", "https://host/a@b"},
    {"https://user@", "https://...@"},
    /* Long words, paths, addresses, functions. */
    {"X-Hub-Signature-256 header:X-Shopify-Hmac-Sha256",
     "X-Hub-Signature-256 header:X-Shopify-Hmac-Sha256"},
    {"could not open /run/secrets/0123456789abcdef0123",
     "could not open /run/secrets/0123456789abcdef0123"},
    {"https://hooks.example.com/webhooks/acme2024acme2024",
     "https://hooks.example.com/webhooks/acme2024acme2024"},
    {"sql:app.handle20241231events1", "sql:app.handle20241231events1"},
    {"incomprehensibilities ecdsa-p256-sha256 127.0.0.1:8080",
     "incomprehensibilities ecdsa-p256-sha256 127.0.0.1:8080"},
    {"12345678901234567890 is too large", "12345678901234567890 is too large"},
    {"9999999999999999G is too large", "9999999999999999G is too large"},
    {"write file:/PATH, env:NAME or text:SECRET", "write file:/PATH, env:NAME or text:SECRET"},
};

static void test_what_looks_like_a_key_is_not_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[200];

        snprintf(text, sizeof(text), "%s", cases[i].text);
        conceal(text);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_looks_like_a_key_is_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
