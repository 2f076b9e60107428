/* Configured secrets: from the text that people paste to the bytes that a kind works with. */
#include <stdlib.h>

#include "base/codec.h"
#include "verify/key.h"
#include "verify/scheme.h"

#define SECRET_MIN 8 /* bytes of a decoded one; less is a mistake, not a key */

#define KEYED_ENCODINGS "raw, hex, base64, whsec or jwk"

static bool encoding_known(struct str encoding)
{
    return str_is(encoding, "raw") || str_is(encoding, "hex") || str_is(encoding, "base64") ||
           str_is(encoding, "whsec") || str_is(encoding, "jwk");
}

/* Whether a text that is to be used as it is shows that it is a public key, which everybody may
 * know: a sender's page that offers both is easily mistaken. */
static bool is_public(struct str text)
{
    return str_starts(text, STR("-----BEGIN ")) || str_starts(text, STR("whpk_"));
}

static struct secret *take_raw(struct str text, struct err *err)
{
    if (text.len == 0)
        err_set(err, ERR_INPUT, "is empty, so anybody could sign");
    else if (is_public(text))
        err_set(err, ERR_INPUT,
                "is a public key, with which anybody could sign; write verify = ed25519, "
                "ecdsa-p256-sha256 or rsa-sha256 where the sender has the private one");
    else
        return secret_new(text);
    return NULL;
}

/* Base64 as people paste it: either alphabet, padding or not. "whsec": the prefix may be there or
 * not (Standard Webhooks specification). */
static ssize_t decode_bytes(struct str encoding, struct str text, unsigned char *out, size_t max)
{
    if (str_is(encoding, "hex"))
        return codec_hex_decode(text, out, max);
    if (str_is(encoding, "whsec") && str_starts(text, STR("whsec_"))) {
        text.ptr += 6;
        text.len -= 6;
    }
    return codec_base64_decode(text, BASE64_EITHER_ALPHABET | BASE64_PADDING_OPTIONAL, out, max);
}

/* NULL with the reason, which never holds the secret. */
static struct secret *secret_decode(struct str encoding, struct str text, struct err *err)
{
    unsigned char bytes[4096];
    struct secret *secret = NULL;
    ssize_t len;

    if (!encoding.ptr || str_is(encoding, "raw"))
        return take_raw(text, err);
    if (str_is(encoding, "jwk"))
        return verify_key_read_oct(text, err);
    if (!str_is(encoding, "whsec") && str_starts(text, STR("whsec_"))) {
        err_set(err, ERR_INPUT, "begins with \"whsec_\"; write secret_encoding = whsec");
        return NULL;
    }
    len = decode_bytes(encoding, text, bytes, sizeof(bytes));
    if (len < 0)
        err_set(err, ERR_INPUT, "is not %s%s", str_is(encoding, "hex") ? "hexadecimal" : "base64",
                str_is(encoding, "whsec")
                    ? " (after an optional \"whsec_\"); copy it as the provider shows it"
                    : "");
    else if (len < SECRET_MIN)
        err_set(err, ERR_INPUT, "decodes to %zd bytes; it needs at least %d", len, SECRET_MIN);
    else
        secret = secret_new((struct str){(const char *)bytes, (size_t)len});
    secret_wipe(bytes, sizeof(bytes));
    return secret;
}

void secrets_compile(struct secrets *secrets, const struct verify_spec *spec,
                     struct scheme_mistakes *mistakes)
{
    *secrets = (struct secrets){NULL, 0};
    if (spec->secret_encoding.ptr && !encoding_known(spec->secret_encoding)) {
        scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0,
                       verify_key_encoding(spec->secret_encoding)
                           ? "is how a public key is written, with which anybody could sign; a "
                             "secret is written as " KEYED_ENCODINGS
                           : "is one of " KEYED_ENCODINGS);
        return;
    }
    if (spec->secret_count == 0)
        scheme_mistake(mistakes, VERIFY_SECRET, 0, "is missing; write secret = file:PATH");
    secrets->items = mem_alloc((spec->secret_count + 1) * sizeof(struct secret *));
    for (size_t i = 0; i < spec->secret_count; i++) {
        struct err err = {0};
        struct secret *secret = secret_decode(spec->secret_encoding, spec->secrets[i], &err);

        if (secret)
            secrets->items[secrets->count++] = secret;
        else
            scheme_mistake(mistakes, VERIFY_SECRET, i, err.text);
    }
}

void secrets_release(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        secret_unref(secrets->items[i]);
    free(secrets->items);
    *secrets = (struct secrets){NULL, 0};
}

struct digester **secrets_key(const struct secrets *secrets, enum digest digest)
{
    struct digester **digesters = mem_alloc((secrets->count + 1) * sizeof(struct digester *));

    for (size_t i = 0; i < secrets->count; i++)
        digesters[i] = digester_new_keyed(digest, secret_reveal(secrets->items[i]));
    return digesters;
}

void digesters_free(struct digester **digesters, size_t count)
{
    for (size_t i = 0; digesters && i < count; i++)
        digester_free(digesters[i]);
    free(digesters);
}
