/* What a public key has to be. */
#include <openssl/err.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/mem.h"
#include "verify/key_parts.h"

#define ED25519_KEY 32
#define RSA_MIN 2048 /* bits */
#define RSA_MAX 8192 /* more costs a stranger's request too much of our time */

/* Points of small order: with one of them as the key anybody makes signatures that fit. A key of
 * zeros, as people write in place of one, is among them. Both signs of each. */
static bool is_weak_ed25519(const unsigned char key[static ED25519_KEY])
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    unsigned char point[ED25519_KEY];

    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        if (codec_hex_decode(str_from(points[i]), point, sizeof(point)) != ED25519_KEY)
            abort();
        if (memcmp(point, key, ED25519_KEY - 1) == 0 &&
            (key[ED25519_KEY - 1] & 0x7f) == point[ED25519_KEY - 1])
            return true;
    }
    return false;
}

static int judge_ed25519(EVP_PKEY *pkey, struct err *err)
{
    unsigned char bytes[ED25519_KEY];
    size_t len = sizeof(bytes);

    if (EVP_PKEY_get_raw_public_key(pkey, bytes, &len) != 1 || len != sizeof(bytes))
        return err_set(err, ERR_INPUT, "is no key that can be used");
    if (is_weak_ed25519(bytes))
        return err_set(err, ERR_INPUT,
                       "is a key with which anybody could sign; copy the one that the provider "
                       "shows");
    return 0;
}

static int judge_ec(EVP_PKEY *pkey, struct err *err)
{
    char group[64] = "";

    if (EVP_PKEY_get_group_name(pkey, group, sizeof(group), NULL) != 1 ||
        !str_is(str_from(group), "prime256v1"))
        return err_set(err, ERR_INPUT, "is an EC key on another curve than P-256");
    return 0;
}

static int judge_rsa(EVP_PKEY *pkey, struct err *err)
{
    int bits = EVP_PKEY_get_bits(pkey);

    if (bits < RSA_MIN || bits > RSA_MAX)
        return err_set(err, ERR_INPUT, "is an RSA key of %d bits; it needs %d to %d", bits, RSA_MIN,
                       RSA_MAX);
    return 0;
}

static int judge_kind(EVP_PKEY *pkey, enum verify_key_kind *kind, struct err *err)
{
    static const struct {
        const char *name;
        enum verify_key_kind kind;
        int (*judge)(EVP_PKEY *pkey, struct err *err);
    } kinds[] = {{"ED25519", VERIFY_KEY_ED25519, judge_ed25519},
                 {"EC", VERIFY_KEY_P256, judge_ec},
                 {"RSA", VERIFY_KEY_RSA, judge_rsa}};

    for (size_t i = 0; pkey && i < ARRAY_LEN(kinds); i++) {
        if (!EVP_PKEY_is_a(pkey, kinds[i].name))
            continue;
        *kind = kinds[i].kind;
        return kinds[i].judge(pkey, err);
    }
    return err_set(err, ERR_INPUT, "is no key of Ed25519, P-256 or RSA");
}

/* Whether the numbers make sense: the point lies on its curve, the exponent is odd. */
static int judge_numbers(EVP_PKEY *pkey, struct err *err)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(pkey, NULL);
    bool sound = context && EVP_PKEY_public_check(context) == 1;

    EVP_PKEY_CTX_free(context);
    return sound ? 0 : err_set(err, ERR_INPUT, "is no key that can be used");
}

struct verify_key *key_judge(EVP_PKEY *pkey, struct err *err)
{
    struct verify_key *key = NULL;
    enum verify_key_kind kind = VERIFY_KEY_RSA;

    if (judge_kind(pkey, &kind, err) == 0 && judge_numbers(pkey, err) == 0) {
        key = mem_alloc(sizeof(*key));
        key->pkey = pkey;
        key->kind = kind;
    } else {
        EVP_PKEY_free(pkey);
    }
    ERR_clear_error();
    return key;
}

struct verify_key *key_from_ed25519(const unsigned char bytes[static ED25519_KEY], struct err *err)
{
    return key_judge(EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, bytes, ED25519_KEY),
                     err);
}
