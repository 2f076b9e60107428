/* Signatures of senders that have the private key. A check costs ten to a hundred times what a
 * digest does, so that what a stranger may have checked is bounded: so many signatures of the right
 * length, each with every key. */
#include <stdio.h>
#include <stdlib.h>

#include "verify/signed.h"

#define SIGNATURES_TRIED 8   /* of one request */
#define SIGNATURE_MAX 1024   /* bytes: of the largest RSA key */
#define TEXT_KEPT (1U << 20) /* bytes of scratch that are kept for the next request */

/* ---- compiling ---- */

/* How a kind of key may be written; the bare bytes are for Ed25519 alone. */
static bool encoding_fits(enum verify_key_kind kind, struct str encoding)
{
    bool bare = str_is(encoding, "ed25519-hex") || str_is(encoding, "whpk");

    return verify_key_encoding(encoding) && (!bare || kind == VERIFY_KEY_ED25519);
}

static bool check_encoding(const struct signed_algorithm *algorithm, struct str encoding,
                           struct scheme_mistakes *mistakes)
{
    char text[160];

    if (encoding_fits(algorithm->key, encoding))
        return true;
    snprintf(text, sizeof(text), "is not how the public key of verify = %s is written; write %s",
             algorithm->name,
             algorithm->key == VERIFY_KEY_ED25519 ? "ed25519-hex, whpk, spki, pem-cert or jwk"
                                                  : "spki, pem-cert or jwk");
    scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0, text);
    return false;
}

static struct verify_key *read_key(const struct signed_algorithm *algorithm, struct str encoding,
                                   struct str text, struct err *err)
{
    struct verify_key *key = verify_key_read(encoding, text, err);

    if (!key || verify_key_kind(key) == algorithm->key)
        return key;
    err_set(err, ERR_INPUT, "is %s, but verify = %s wants %s",
            verify_key_kind_text(verify_key_kind(key)), algorithm->name,
            verify_key_kind_text(algorithm->key));
    verify_key_free(key);
    return NULL;
}

void public_compile(struct signed_scheme *scheme, const struct verify_spec *spec,
                    struct scheme_mistakes *mistakes)
{
    if (!check_encoding(scheme->algorithm, spec->secret_encoding, mistakes))
        return;
    if (spec->secret_count == 0)
        scheme_mistake(mistakes, VERIFY_SECRET, 0,
                       "is missing; write secret = file:PATH with the sender's public key");
    scheme->keys = mem_alloc((spec->secret_count + 1) * sizeof(struct verify_key *));
    for (size_t i = 0; i < spec->secret_count; i++) {
        struct err err = {0};
        struct verify_key *key =
            read_key(scheme->algorithm, spec->secret_encoding, spec->secrets[i], &err);

        if (key)
            scheme->keys[scheme->key_count++] = key;
        else
            scheme_mistake(mistakes, VERIFY_SECRET, i, err.text);
    }
}

void public_release(struct signed_scheme *scheme)
{
    for (size_t i = 0; i < scheme->key_count; i++)
        verify_key_free(scheme->keys[i]);
    free(scheme->keys);
}

/* ---- judging ---- */

struct trial {
    const struct signed_scheme *scheme;
    struct str text;           /* Ed25519 */
    const unsigned char *hash; /* the others */
    size_t tried;
    bool found;
    size_t key;
};

static bool fits(const struct trial *trial, const struct verify_key *key, struct str signature)
{
    if (verify_key_kind(key) == VERIFY_KEY_ED25519)
        return verify_key_check_text(key, trial->text, signature);
    return verify_key_check_hash(key, trial->scheme->algorithm->digest, trial->hash, signature);
}

/* Whether a signature of that length could be one of any key. */
static bool is_worth_it(const struct signed_scheme *scheme, size_t len)
{
    for (size_t i = 0; i < scheme->key_count; i++)
        if (verify_key_takes(scheme->keys[i], len))
            return true;
    return false;
}

static bool try_item(void *argument, const struct signature_rule *rule, struct str item)
{
    struct trial *trial = argument;
    unsigned char bytes[SIGNATURE_MAX];
    struct str signature = {(const char *)bytes, 0};

    if (trial->found || trial->tried == SIGNATURES_TRIED)
        return true;
    signature.len = signature_decode(rule, item, bytes, sizeof(bytes));
    if (!is_worth_it(trial->scheme, signature.len))
        return false;
    trial->tried++;
    for (size_t i = 0; i < trial->scheme->key_count && !trial->found; i++) {
        trial->found = fits(trial, trial->scheme->keys[i], signature);
        trial->key = i;
    }
    return trial->found;
}

/* What the sender has signed: whole where the key wants it so, else its digest. */
static enum verify_result make_text(struct signed_scheme *scheme, struct material *material)
{
    bool whole = scheme->algorithm->key == VERIFY_KEY_ED25519;
    struct sink sink = {whole ? NULL : scheme->digesters[0], whole ? &scheme->text : NULL};
    enum verify_result result;

    buf_clear(&scheme->text);
    digester_begin(scheme->digesters[0]);
    result = template_feed(scheme, material, STR_NONE, sink);
    digester_end(scheme->digesters[0], scheme->digests[0]);
    return result;
}

enum verify_result public_judge(struct signed_scheme *scheme, struct material *material,
                                size_t *key)
{
    struct trial trial = {.scheme = scheme};
    enum verify_result result = make_text(scheme, material);

    trial.text = buf_str(&scheme->text);
    trial.hash = scheme->digests[0];
    if (result == VERIFY_VALID)
        result = places_visit(scheme, material, try_item, &trial);
    if (result == VERIFY_VALID && !trial.found)
        result = VERIFY_BAD;
    if (result == VERIFY_VALID)
        *key = trial.key;
    if (scheme->text.size > TEXT_KEPT)
        buf_release(&scheme->text);
    return result;
}
