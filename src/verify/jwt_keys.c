/* The keys of `verify = jwt`: each is used with the algorithm of its kind and with no other. A
 * secret that is written as a JSON Web Key may be a set of them. */
#include <stdlib.h>

#include "verify/jwt.h"

/* ---- compiling ---- */

struct compiler {
    struct jwt_keys *keys;
    const struct verify_spec *spec;
    const bool *allowed;
    struct scheme_mistakes *mistakes;
};

static struct jwt_key *add(struct compiler *compiler, size_t secret)
{
    struct jwt_keys *keys = compiler->keys;
    struct jwt_key *key;

    if (keys->count == JWT_KEYS_MAX) {
        scheme_mistake(compiler->mistakes, VERIFY_SECRET, secret,
                       "makes more than 32 keys; take away those that are no longer used");
        return NULL;
    }
    key = &keys->items[keys->count++];
    key->secret = secret;
    return key;
}

static bool takes_raw(const struct verify_spec *spec)
{
    return !spec->secret_encoding.ptr || str_is(spec->secret_encoding, "raw");
}

/* A public key as the secret of an HMAC is the classic mistake: then everybody can write tokens. */
static void check_shared(const struct compiler *compiler, struct str text, size_t secret)
{
    if (memmem(text.ptr, text.len, "-----BEGIN ", 11))
        scheme_mistake(compiler->mistakes, VERIFY_SECRET, secret,
                       "is a key in PEM, which everybody may know; it is for algorithms = ES256 or "
                       "RS256");
    else if (text.len > 0 && text.ptr[0] == '{' && memmem(text.ptr, text.len, "\"kty\"", 5))
        scheme_mistake(compiler->mistakes, VERIFY_SECRET, secret,
                       "is a JSON Web Key; write secret_encoding = jwk");
}

/* Both sides have the same secret: the forms of all keyed schemes. */
static void compile_shared(struct compiler *compiler)
{
    struct secrets secrets;

    for (size_t i = 0; takes_raw(compiler->spec) && i < compiler->spec->secret_count; i++)
        check_shared(compiler, compiler->spec->secrets[i], i);
    if (compiler->mistakes->any)
        return;
    secrets_compile(&secrets, compiler->spec, compiler->mistakes);
    for (size_t i = 0; i < secrets.count && !compiler->mistakes->any; i++) {
        struct jwt_key *key = add(compiler, i);

        for (size_t j = 0; key && j < JWT_SHARED; j++)
            if (compiler->allowed[j])
                key->digesters[j] =
                    digester_new_keyed(jwt_algorithms[j].digest, secret_reveal(secrets.items[i]));
    }
    secrets_release(&secrets);
}

static bool is_public_encoding(struct str encoding)
{
    return str_is(encoding, "spki") || str_is(encoding, "pem-cert") || str_is(encoding, "jwk");
}

static bool allows_kind(const struct compiler *compiler, enum verify_key_kind kind)
{
    for (size_t i = JWT_SHARED; i < JWT_ALGORITHMS; i++)
        if (compiler->allowed[i] && jwt_algorithms[i].key == kind)
            return true;
    return false;
}

/* The public key of a text; NULL with the reason. */
static struct verify_key *read_key(const struct compiler *compiler, struct str text,
                                   struct err *err)
{
    struct verify_key *key = verify_key_read(compiler->spec->secret_encoding, text, err);

    if (!key || allows_kind(compiler, verify_key_kind(key)))
        return key;
    err_set(err, ERR_INPUT, "is %s, which is not for algorithms = %.*s",
            verify_key_kind_text(verify_key_kind(key)), STR_ARG(compiler->spec->algorithms));
    verify_key_free(key);
    return NULL;
}

/* The array of a set of JSON Web Keys (RFC 7517 section 5); ptr NULL: the text is none. */
static struct str set_of(struct str text)
{
    struct str pointer = STR("/keys");
    struct json_value keys = {JSON_KIND_ABSENT, STR_NONE};
    struct json_scan scan;
    struct err err;
    struct json_paths *paths = json_paths_new(&pointer, 1, &err);

    if (!json_scan(text, paths, JWT_DEPTH, &scan, &keys) || keys.kind != JSON_KIND_ARRAY)
        keys.text = STR_NONE;
    json_paths_free(paths);
    return keys.text;
}

static bool take(struct compiler *compiler, size_t secret, struct verify_key *public)
{
    struct jwt_key *key = add(compiler, secret);

    if (key)
        key->public = public;
    else
        verify_key_free(public);
    return key != NULL;
}

/* Keys that are not for us are passed over, as the RFC says; one has to be left. */
static void compile_set(struct compiler *compiler, size_t secret, struct str set)
{
    struct json_items items = json_items_begin(set);
    struct err err = {.text = "is an empty set of keys"};
    struct json_value element;
    bool any = false;

    while (json_items_next(&items, &element)) {
        struct verify_key *public = read_key(compiler, element.text, &err);

        if (public && !take(compiler, secret, public))
            return;
        any = any || public;
    }
    if (any)
        return;
    if (err.kind)
        err_prefix(&err, "is a set without a key that fits; the last one");
    scheme_mistake(compiler->mistakes, VERIFY_SECRET, secret, err.text);
}

static void compile_secret(struct compiler *compiler, size_t secret)
{
    struct str text = compiler->spec->secrets[secret], set = STR_NONE;
    struct verify_key *public;
    struct err err = {0};

    if (str_is(compiler->spec->secret_encoding, "jwk"))
        set = set_of(text);
    if (set.ptr) {
        compile_set(compiler, secret, set);
        return;
    }
    public = read_key(compiler, text, &err);
    if (public)
        take(compiler, secret, public);
    else
        scheme_mistake(compiler->mistakes, VERIFY_SECRET, secret, err.text);
}

static void compile_public(struct compiler *compiler)
{
    const struct verify_spec *spec = compiler->spec;

    if (!is_public_encoding(spec->secret_encoding)) {
        scheme_mistake(compiler->mistakes, VERIFY_SECRET_ENCODING, 0,
                       "is not how the public key of an ES or RS algorithm is written; write spki, "
                       "pem-cert or jwk");
        return;
    }
    if (spec->secret_count == 0)
        scheme_mistake(compiler->mistakes, VERIFY_SECRET, 0,
                       "is missing; write secret = file:PATH with the sender's public key");
    for (size_t i = 0; i < spec->secret_count; i++)
        compile_secret(compiler, i);
    compiler->keys->hash = digester_new(DIGEST_SHA256);
}

void jwt_keys_compile(struct jwt_keys *keys, const struct verify_spec *spec, const bool *allowed,
                      struct scheme_mistakes *mistakes)
{
    struct compiler compiler = {keys, spec, allowed, mistakes};
    bool shared = false;

    for (size_t i = 0; i < JWT_SHARED; i++)
        shared = shared || allowed[i];
    if (shared)
        compile_shared(&compiler);
    else
        compile_public(&compiler);
}

void jwt_keys_release(struct jwt_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        verify_key_free(keys->items[i].public);
        for (size_t j = 0; j < JWT_SHARED; j++)
            digester_free(keys->items[i].digesters[j]);
    }
    digester_free(keys->hash);
}

/* ---- checking ---- */

static bool fits_shared(struct digester *digester, struct str signed_part, struct str signature)
{
    unsigned char digest[DIGEST_MAX];
    size_t size;
    bool fits;

    digester_begin(digester);
    digester_add(digester, signed_part);
    size = digester_end(digester, digest);
    fits = signature.len == size && digest_equal(signature.ptr, digest, size);
    secret_wipe(digest, sizeof(digest));
    return fits;
}

static bool fits_public(const struct verify_key *key, const unsigned char *hash,
                        struct str signature)
{
    unsigned char der[VERIFY_KEY_P256_DER];

    if (verify_key_kind(key) == VERIFY_KEY_P256) {
        if (signature.len != VERIFY_KEY_P256_RAW)
            return false;
        signature.len = verify_key_p256_der((const unsigned char *)signature.ptr, der);
        signature.ptr = (const char *)der;
    }
    return verify_key_check_hash(key, DIGEST_SHA256, hash, signature);
}

/* Whether the key may be the one that the token names. */
static bool is_named(const struct jwt_key *key, struct str id)
{
    struct str own = key->public ? verify_key_id(key->public) : STR_NONE;

    return !id.ptr || !own.ptr || str_equal(own, id);
}

bool jwt_keys_fit(struct jwt_keys *keys, enum jwt_algorithm algorithm, struct str id,
                  struct str signed_part, struct str signature, size_t *secret)
{
    unsigned char hash[DIGEST_MAX];
    bool shared = algorithm < JWT_SHARED, fits = false;

    if (!shared) {
        digester_begin(keys->hash);
        digester_add(keys->hash, signed_part);
        digester_end(keys->hash, hash);
    }
    for (size_t i = 0; i < keys->count && !fits; i++) {
        const struct jwt_key *key = &keys->items[i];

        if (!is_named(key, id))
            continue;
        if (shared)
            fits = fits_shared(key->digesters[algorithm], signed_part, signature);
        else if (verify_key_kind(key->public) == jwt_algorithms[algorithm].key)
            fits = fits_public(key->public, hash, signature);
        *secret = key->secret;
    }
    return fits;
}
