/* Known answers: FIPS 180-4 examples, RFC 2202 and RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/digest.h"

static void assert_digest(struct digester *digester, struct str bytes, const char *want)
{
    unsigned char out[DIGEST_MAX];
    char hex[CODEC_HEX_SIZE(DIGEST_MAX)];
    size_t len;

    digester_begin(digester);
    digester_add(digester, bytes);
    len = digester_end(digester, out);
    codec_hex_encode(out, len, hex);
    assert_string_equal(hex, want);
}

static void test_plain_digests(void **state)
{
    static const struct {
        enum digest digest;
        const char *abc, *nothing;
    } cases[] = {
        {DIGEST_SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d",
         "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {DIGEST_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {DIGEST_SHA512,
         "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
         "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
         "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
         "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct digester *digester = digester_new(cases[i].digest);

        assert_int_equal(digest_size(cases[i].digest) * 2, strlen(cases[i].abc));
        assert_digest(digester, STR("abc"), cases[i].abc);
        assert_digest(digester, STR_NONE, cases[i].nothing);
        assert_digest(digester, STR("abc"), cases[i].abc);
        digester_free(digester);
    }
}

static void test_the_short_cut_for_sha256(void **state)
{
    unsigned char out[32];
    char hex[CODEC_HEX_SIZE(32)];

    (void)state;
    digest_sha256(STR("abc"), out);
    codec_hex_encode(out, sizeof(out), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* Keys of a few bytes, and longer than a block. */
static void test_keyed_digests(void **state)
{
    char key_aa[131], key_0b[20];
    struct {
        enum digest digest;
        struct str key, data;
        const char *want;
    } cases[] = {
        {DIGEST_SHA1, {key_0b, 20}, STR("Hi There"), "b617318655057264e28bc0b6fb378c8ef146be00"},
        {DIGEST_SHA1, STR("Jefe"), STR("what do ya want for nothing?"),
         "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
        {DIGEST_SHA1,
         {key_aa, 80},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "aa4ae5e15272d00e95705637ce8a3b55ed402112"},
        {DIGEST_SHA256,
         {key_0b, 20},
         STR("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {DIGEST_SHA256, STR("Jefe"), STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {DIGEST_SHA256,
         {key_aa, 131},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {DIGEST_SHA512,
         {key_0b, 20},
         STR("Hi There"),
         "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
         "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"},
        {DIGEST_SHA512,
         {key_aa, 131},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
         "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"},
        {DIGEST_SHA256, STR_NONE, STR_NONE,
         "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
    };

    (void)state;
    memset(key_aa, 0xaa, sizeof(key_aa));
    memset(key_0b, 0x0b, sizeof(key_0b));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct digester *digester = digester_new_keyed(cases[i].digest, cases[i].key);

        assert_digest(digester, cases[i].data, cases[i].want);
        assert_digest(digester, cases[i].data, cases[i].want); /* the key is still in it */
        digester_free(digester);
    }
}

static void test_pieces_make_the_same_digest(void **state)
{
    struct digester *digester = digester_new_keyed(DIGEST_SHA256, STR("Jefe"));
    unsigned char out[DIGEST_MAX];
    char hex[CODEC_HEX_SIZE(DIGEST_MAX)];

    (void)state;
    digester_begin(digester);
    digester_add(digester, STR("what do "));
    digester_add(digester, STR_NONE);
    digester_add(digester, STR("ya want for nothing?"));
    codec_hex_encode(out, digester_end(digester, out), hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    digester_free(digester);
    digester_free(NULL);
}

static void test_equality(void **state)
{
    (void)state;
    assert_true(digest_equal("abcd", "abcd", 4));
    assert_false(digest_equal("abcd", "abce", 4));
    assert_false(digest_equal("abcd", "bbcd", 4));
    assert_true(digest_equal("abcd", "abce", 3));
    assert_true(digest_equal("a", "b", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_digests), cmocka_unit_test(test_the_short_cut_for_sha256),
        cmocka_unit_test(test_keyed_digests), cmocka_unit_test(test_pieces_make_the_same_digest),
        cmocka_unit_test(test_equality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
