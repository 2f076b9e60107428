/* Configured secrets: from the text that people paste to the bytes that a kind works with. */
#include <stdlib.h>

#include "base/codec.h"
#include "verify/scheme.h"

#define SECRET_MIN 8 /* bytes of a decoded one; less is a mistake, not a key */

static bool encoding_known(struct str encoding)
{
    return str_is(encoding, "raw") || str_is(encoding, "hex") || str_is(encoding, "base64") ||
           str_is(encoding, "whsec");
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

    if (!encoding.ptr || str_is(encoding, "raw")) {
        if (text.len == 0)
            err_set(err, ERR_INPUT, "is empty, so anybody could sign");
        return text.len == 0 ? NULL : secret_new(text);
    }
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
        scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0, "is one of raw, hex, base64, whsec");
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
