/* Schemes whose senders have the private key: what is signed, any signature with any key, how many
 * are tried, and settings that do not go together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/err.h>

#include "base/buf.h"
#include "requests.h"
#include "signer.h"
#include "verify/verify.h"

#define BODY "{\"id\":\"evt_1\"}"
#define KEYS_MAX 3

static const char *const algorithms[] = {"ed25519", "ecdsa-p256-sha256", "rsa-sha256"};
static const char *const kinds[] = {"ED25519", "P-256", "RSA2048"};

/* A scheme of one algorithm with its senders' keys. */
struct sender {
    size_t algorithm;
    EVP_PKEY *keys[KEYS_MAX];
    struct verify_scheme *scheme;
};

static void fail_on_mistake(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)argument;
    fail_msg("field %d, index %zu: %s", (int)field, index, text);
}

static void sender_begin(struct sender *sender, size_t algorithm, size_t key_count)
{
    struct str secrets[KEYS_MAX];
    struct verify_spec spec = {
        .algorithm = str_from(algorithms[algorithm]),
        .signature = STR("header:S split space prefix v1a, base64"),
        .timestamp = STR("header:T s"),
        .signed_template = STR("{header:Id}.{ts}.{body}"),
        .secret_encoding = STR("spki"),
        .tolerance = {300000, 300000},
        .secrets = secrets,
        .secret_count = key_count,
    };

    *sender = (struct sender){.algorithm = algorithm};
    for (size_t i = 0; i < key_count; i++) {
        sender->keys[i] = signer_key(kinds[algorithm]);
        secrets[i] = signer_spki(sender->keys[i]);
    }
    sender->scheme = verify_scheme_new(&spec, fail_on_mistake, NULL);
    assert_non_null(sender->scheme);
}

static void sender_end(struct sender *sender)
{
    for (size_t i = 0; i < KEYS_MAX; i++)
        EVP_PKEY_free(sender->keys[i]);
    verify_scheme_free(sender->scheme);
}

/* One item of the list, for "m1" at that time. */
static const char *item(const struct sender *sender, EVP_PKEY *key, const char *time,
                        const char *body)
{
    static char items[16][800];
    static size_t next;
    char *out = items[next++ % ARRAY_LEN(items)], text[256];
    unsigned char bytes[512];
    size_t len;

    snprintf(text, sizeof(text), "m1.%s.%s", time, body);
    len = signer_sign(key, sender->algorithm == 0 ? NULL : EVP_sha256(), str_from(text), bytes,
                      sizeof(bytes));
    snprintf(out, sizeof(items[0]), "v1a,%s", signer_base64(bytes, len, false, true).ptr);
    return out;
}

static enum verify_result judge(struct sender *sender, const char *time, const char *body,
                                const char *value, size_t *key)
{
    struct test_request test;
    enum verify_result result;

    request_begin(&test, str_from(body));
    request_add(&test, "Id", STR("m1"));
    request_add(&test, "T", str_from(time));
    request_add(&test, "S", str_from(value));
    result = verify_request(sender->scheme, &test.request, key);
    request_end(&test);
    assert_int_equal(ERR_peek_error(), 0);
    return result;
}

static void test_what_is_signed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        struct sender sender;
        const char *good;

        sender_begin(&sender, i, 1);
        good = item(&sender, sender.keys[0], "1700000000", BODY);
        assert_int_equal(judge(&sender, "1700000000", BODY, good, NULL), VERIFY_VALID);
        assert_int_equal(judge(&sender, "1700000000", BODY " ", good, NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000001", BODY, good, NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000000", "", good, NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000000", BODY, good + 4, NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000000", BODY, "", NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000000", BODY, "v1a,", NULL), VERIFY_BAD);
        assert_int_equal(judge(&sender, "1700000000", BODY, "v1a,AAAA", NULL), VERIFY_BAD);
        good = item(&sender, sender.keys[0], "1699999699", BODY);
        assert_int_equal(judge(&sender, "1699999699", BODY, good, NULL), VERIFY_STALE);
        good = item(&sender, sender.keys[0], "1700000000", "");
        assert_int_equal(judge(&sender, "1700000000", "", good, NULL), VERIFY_VALID);
        sender_end(&sender);
    }
}

/* While keys are changed the sender signs with both, or we know both. */
static void test_any_signature_with_any_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        EVP_PKEY *stranger = signer_key(kinds[i]);
        struct sender sender;
        const char *theirs;
        char list[2400];
        size_t key = 9;

        sender_begin(&sender, i, 3);
        theirs = item(&sender, stranger, "1700000000", BODY);
        snprintf(list, sizeof(list), "v1,AAAA %s %s", theirs,
                 item(&sender, sender.keys[2], "1700000000", BODY));
        assert_int_equal(judge(&sender, "1700000000", BODY, list, &key), VERIFY_VALID);
        assert_int_equal(key, 2);
        snprintf(list, sizeof(list), "%s %s", item(&sender, sender.keys[1], "1700000000", BODY),
                 theirs);
        assert_int_equal(judge(&sender, "1700000000", BODY, list, &key), VERIFY_VALID);
        assert_int_equal(key, 1);
        key = 9;
        assert_int_equal(judge(&sender, "1700000000", BODY, theirs, &key), VERIFY_BAD);
        assert_int_equal(key, 9);
        EVP_PKEY_free(stranger);
        sender_end(&sender);
    }
}

/* A list of others' signatures, then a good one. Those that cannot be one of the key by their
 * length cost nothing and do not count. */
static enum verify_result behind(struct sender *sender, EVP_PKEY *stranger, size_t others)
{
    enum verify_result result;
    struct buf list;

    buf_init(&list, BUF_NO_CAP);
    for (size_t i = 0; i < 50; i++)
        buf_printf(&list, "v1a,AAAA v1,bm8= ");
    for (size_t i = 0; i < others; i++)
        buf_printf(&list, "%s ", item(sender, stranger, "1700000000", BODY));
    buf_printf(&list, "%s", item(sender, sender->keys[0], "1700000000", BODY));
    buf_put_char(&list, '\0');
    result = judge(sender, "1700000000", BODY, list.data, NULL);
    buf_release(&list);
    return result;
}

static void test_eight_signatures_are_tried(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        EVP_PKEY *stranger = signer_key(kinds[i]);
        struct sender sender;

        sender_begin(&sender, i, 1);
        assert_int_equal(behind(&sender, stranger, 7), VERIFY_VALID);
        assert_int_equal(behind(&sender, stranger, 8), VERIFY_BAD);
        EVP_PKEY_free(stranger);
        sender_end(&sender);
    }
}

static void test_it_cannot_sign(void **state)
{
    struct sender sender;
    struct test_request test;
    struct header headers[2];
    struct arena *arena = arena_new(1024);
    struct err err = {0};
    size_t count = 9;

    (void)state;
    sender_begin(&sender, 0, 1);
    request_begin(&test, STR(BODY));
    assert_int_equal(
        verify_sign(sender.scheme, &test.request, 0, false, arena, headers, 2, &count, &err), -1);
    assert_int_equal(err.kind, ERR_NEVER);
    assert_string_equal(err.text,
                        "cannot sign with verify = ed25519: only the sender has the private key");
    request_end(&test);
    arena_free(arena);
    sender_end(&sender);
}

/* ---- settings that do not go together ---- */

static void note(void *argument, enum verify_field field, size_t index, const char *text)
{
    buf_printf(argument, "%d %zu: %s\n", (int)field, index, text);
}

/* Everything that is said, a line each. */
static void assert_said(struct verify_spec spec, const char *want)
{
    struct verify_scheme *scheme;
    struct buf said;

    spec.signature = STR("header:S base64");
    if (!spec.signed_template.ptr)
        spec.signed_template = STR("{body}");
    buf_init(&said, BUF_NO_CAP);
    scheme = verify_scheme_new(&spec, note, &said);
    buf_put_char(&said, '\0');
    assert_string_equal(said.data, want);
    assert_int_equal(scheme == NULL, want[0] != '\0');
    verify_scheme_free(scheme);
    buf_release(&said);
}

static void test_the_encoding_has_to_be_the_kinds(void **state)
{
    static const struct {
        const char *algorithm, *encoding, *want;
    } cases[] = {
        {"ed25519", "raw",
         "5 0: is not how the public key of verify = ed25519 is written; write ed25519-hex, whpk, "
         "spki, pem-cert or jwk\n"},
        {"ed25519", NULL,
         "5 0: is not how the public key of verify = ed25519 is written; write ed25519-hex, whpk, "
         "spki, pem-cert or jwk\n"},
        {"ecdsa-p256-sha256", "base64",
         "5 0: is not how the public key of verify = ecdsa-p256-sha256 is written; write spki, "
         "pem-cert or jwk\n"},
        {"rsa-sha256", "whpk",
         "5 0: is not how the public key of verify = rsa-sha256 is written; write spki, pem-cert "
         "or jwk\n"},
        {"ed25519", "spki", ""},
        {"ecdsa-p256-sha256", "spki",
         "4 0: is an Ed25519 key, but verify = ecdsa-p256-sha256 wants an EC key on P-256\n"},
        {"rsa-sha256", "spki",
         "4 0: is an Ed25519 key, but verify = rsa-sha256 wants an RSA key\n"},
        {"ed25519", "ed25519-hex", "4 0: is not the 64 hexadecimal digits of an Ed25519 key\n"},
        {"hmac-sha256", "spki",
         "5 0: is how a public key is written, with which anybody could sign; a secret is written "
         "as raw, hex, base64, whsec or jwk\n"},
    };
    EVP_PKEY *key = signer_key("ED25519");
    struct str secret = signer_spki(key);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_said((struct verify_spec){.algorithm = str_from(cases[i].algorithm),
                                         .secret_encoding = str_from(cases[i].encoding),
                                         .secrets = &secret,
                                         .secret_count = 1},
                    cases[i].want);
    EVP_PKEY_free(key);
}

static void test_a_public_key_is_no_secret(void **state)
{
    static const char *const keys[] = {
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str secret = str_from(keys[i]);

        assert_said((struct verify_spec){.algorithm = STR("hmac-sha256"),
                                         .secrets = &secret,
                                         .secret_count = 1},
                    "4 0: is a public key, with which anybody could sign; write verify = ed25519, "
                    "ecdsa-p256-sha256 or rsa-sha256 where the sender has the private one\n");
    }
}

static void test_other_contradictions(void **state)
{
    struct str secrets[2] = {STR("{\"kty\":\"oct\",\"k\":\"AAECAwQFBgc\"}"),
                             STR("{\"kty\":\"EC\",\"crv\":\"P-256\"}")};

    (void)state;
    assert_said((struct verify_spec){.algorithm = STR("ed25519"), .secret_encoding = STR("jwk")},
                "4 0: is missing; write secret = file:PATH with the sender's public key\n");
    assert_said((struct verify_spec){.algorithm = STR("hmac-sha256"),
                                     .secret_encoding = STR("jwk"),
                                     .secrets = secrets,
                                     .secret_count = 1},
                "");
    assert_said((struct verify_spec){.algorithm = STR("hmac-sha256"),
                                     .secret_encoding = STR("jwk"),
                                     .secrets = secrets,
                                     .secret_count = 2},
                "4 1: is a public key, which everybody may know; a keyed digest wants "
                "\"kty\":\"oct\"\n");
    secrets[0] = STR("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_said((struct verify_spec){.algorithm = STR("ed25519"),
                                     .secret_encoding = STR("ed25519-hex"),
                                     .signed_template = STR("{secret}{body}"),
                                     .secrets = secrets,
                                     .secret_count = 1},
                "3 0: uses {secret}, which is only for verify = sha256\n");
    assert_said((struct verify_spec){.algorithm = STR("ed25519"),
                                     .secret_encoding = STR("ed25519-hex"),
                                     .signed_template = STR("{crc32:body}"),
                                     .secrets = secrets,
                                     .secret_count = 1},
                "3 0: does not cover the body; without {body} or {sha256hex:body} anybody could "
                "change it; where the sender signs no body, write body_unauthenticated = yes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_signed),
        cmocka_unit_test(test_any_signature_with_any_key),
        cmocka_unit_test(test_eight_signatures_are_tried),
        cmocka_unit_test(test_it_cannot_sign),
        cmocka_unit_test(test_the_encoding_has_to_be_the_kinds),
        cmocka_unit_test(test_a_public_key_is_no_secret),
        cmocka_unit_test(test_other_contradictions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
