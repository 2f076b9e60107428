/* Secrets at rest: they open only with their key, for their name, and undamaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/seal.h"

#define HEX_KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static struct secret *key_of(const char *text)
{
    struct secret *key = seal_key(str_from(text));

    assert_non_null(key);
    return key;
}

static void assert_key(const char *text, const char *hex)
{
    struct secret *key = key_of(text), *want = key_of(hex);

    assert_int_equal(secret_len(key), SEAL_KEY_SIZE);
    assert_true(str_equal(secret_reveal(key), secret_reveal(want)));
    secret_unref(key);
    secret_unref(want);
}

static void test_keys(void **state)
{
    (void)state;
    assert_key("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", HEX_KEY);
    assert_key("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", HEX_KEY);
    assert_key("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", HEX_KEY);
    assert_key("0123456789abcdef0123456789abcdef",
               "3031323334353637383961626364656630313233343536373839616263646566");
    assert_null(seal_key(STR("")));
    assert_null(seal_key(STR("0123456789abcdef")));
    assert_null(seal_key(STR(HEX_KEY "00")));
    assert_null(seal_key(STR("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==")));
}

static void test_what_is_sealed_opens_and_shows_nothing(void **state)
{
    static const char *const texts[] = {"", "x", "0123456789abcdef0123456789abcdef"};
    struct secret *key = key_of(HEX_KEY);
    struct arena *arena = arena_new(256);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct str plain = str_from(texts[i]);
        struct str sealed = seal(key, STR("asana"), plain, arena);
        struct str again = seal(key, STR("asana"), plain, arena);
        struct secret *opened = seal_open(key, STR("asana"), sealed);

        assert_non_null(opened);
        assert_true(str_equal(secret_reveal(opened), plain));
        assert_int_equal(sealed.len, plain.len + 29);
        assert_false(str_equal(sealed, again)); /* another nonce */
        if (plain.len > 4)
            assert_null(memmem(sealed.ptr, sealed.len, plain.ptr, 4));
        secret_unref(opened);
    }
    arena_free(arena);
    secret_unref(key);
}

static void test_another_key_another_name_or_a_changed_bit_does_not_open(void **state)
{
    struct secret *key = key_of(HEX_KEY), *other = key_of("0123456789abcdef0123456789abcdef");
    struct arena *arena = arena_new(256);
    struct str sealed = seal(key, STR("asana"), STR("the secret"), arena);
    char copy[64];

    (void)state;
    assert_null(seal_open(other, STR("asana"), sealed));
    assert_null(seal_open(key, STR("notion"), sealed));
    assert_null(seal_open(key, STR(""), sealed));
    for (size_t len = 0; len < sealed.len; len++)
        assert_null(seal_open(key, STR("asana"), (struct str){sealed.ptr, len}));
    for (size_t i = 0; i < sealed.len; i++) {
        memcpy(copy, sealed.ptr, sealed.len);
        copy[i] = (char)(copy[i] ^ 0x10);
        assert_null(seal_open(key, STR("asana"), (struct str){copy, sealed.len}));
    }
    arena_free(arena);
    secret_unref(key);
    secret_unref(other);
}

static void test_fingerprints(void **state)
{
    struct secret *key = key_of(HEX_KEY), *other = key_of("0123456789abcdef0123456789abcdef");
    unsigned char a[SEAL_FINGERPRINT_SIZE], b[SEAL_FINGERPRINT_SIZE];

    (void)state;
    seal_fingerprint(key, STR("p"), STR("s"), a);
    seal_fingerprint(key, STR("p"), STR("s"), b);
    assert_memory_equal(a, b, sizeof(a));
    seal_fingerprint(other, STR("p"), STR("s"), b);
    assert_memory_not_equal(a, b, sizeof(a));
    seal_fingerprint(key, STR("q"), STR("s"), b);
    assert_memory_not_equal(a, b, sizeof(a));
    seal_fingerprint(key, STR("p"), STR("t"), b);
    assert_memory_not_equal(a, b, sizeof(a));
    secret_unref(key);
    secret_unref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_what_is_sealed_opens_and_shows_nothing),
        cmocka_unit_test(test_another_key_another_name_or_a_changed_bit_does_not_open),
        cmocka_unit_test(test_fingerprints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
