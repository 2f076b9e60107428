/* Which headers and parameters a scheme compares stands in `signature`; the words "header:NAME" and
 * "query:NAME" are looked for there, wherever the grammar puts them. */
#include "quarantine/conceal.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/codec.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/secret.h"
#include "config/names.h"
#include "provider/headers.h"

/* The next word of a setting; ptr NULL: none is left. */
static struct str next_word(struct str *rest)
{
    struct str word = {NULL, 0};
    const char *end;

    *rest = str_trim(*rest);
    if (rest->len == 0)
        return word;
    end = memchr(rest->ptr, ' ', rest->len);
    word = (struct str){rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    rest->ptr += word.len;
    rest->len -= word.len;
    return word;
}

/* Whether the provider's `signature` reads PLACE:NAME. */
static bool reads(const struct provider_config *provider, struct str place, struct str name)
{
    struct str rest = provider->signature.text, word;

    while ((word = next_word(&rest)).ptr)
        if (str_starts(word, place) &&
            str_equal_nocase((struct str){word.ptr + place.len, word.len - place.len}, name))
            return true;
    return false;
}

/* Whether the scheme compares what was sent with the secret itself. */
static bool compares_secrets(const struct provider_config *provider)
{
    return str_is(provider->verify.text, "token") || str_is(provider->verify.text, "basic");
}

/* Whether a setting names that header, as a source or in a template. */
static bool mentions(struct str text, struct str name)
{
    static const struct str place = {"header:", 7};

    for (; text.len > place.len; text = (struct str){text.ptr + 1, text.len - 1}) {
        struct str rest = {text.ptr + place.len, text.len - place.len};
        size_t len = 1;

        if (!str_starts(text, place))
            continue;
        while (len <= rest.len && request_names_header((struct str){rest.ptr, len}))
            len++;
        if (str_equal_nocase((struct str){rest.ptr, len - 1}, name))
            return true;
    }
    return false;
}

/* Whether a request without that header would be another event, or none. */
static bool needs(const struct provider_config *provider, struct str name)
{
    const struct setting *const settings[] = {&provider->timestamp, &provider->signed_template,
                                              &provider->event_id,  &provider->event_type,
                                              &provider->key,       &provider->event_time};

    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (mentions(settings[i]->text, name))
            return true;
    return false;
}

bool conceal_header(const struct provider_config *provider, struct str name)
{
    if (reads(provider, STR("header:"), name))
        return compares_secrets(provider);
    return headers_are_secret(name) ||
           (names_have(&provider->redact, name) && !needs(provider, name));
}

bool conceal_from_view_header(const struct provider_config *provider, struct str name)
{
    return str_is(provider->verify.text, "jwt") && reads(provider, STR("header:"), name);
}

bool conceal_from_view_parameter(const struct provider_config *provider, struct str name)
{
    return str_is(provider->verify.text, "jwt") && reads(provider, STR("query:"), name);
}

bool conceal_parameter(const struct provider_config *provider, struct str name)
{
    if (reads(provider, STR("query:"), name))
        return compares_secrets(provider);
    return headers_are_secret(name);
}

/* Takes a prefix off; false: it is not there, or all there is. */
static bool take_prefix(struct str *value, struct str prefix)
{
    if (prefix.len == 0 || value->len <= prefix.len ||
        !str_equal_nocase((struct str){value->ptr, prefix.len}, prefix))
        return false;
    *value = str_trim((struct str){value->ptr + prefix.len, value->len - prefix.len});
    return true;
}

struct str conceal_part(const struct provider_config *provider, struct str value)
{
    static const struct str schemes[] = {{"Bearer ", 7}, {"Basic ", 6}, {"Token ", 6}};
    struct str rest = provider->signature.text, word;

    while ((word = next_word(&rest)).ptr)
        if (str_is(word, "prefix") && take_prefix(&value, next_word(&rest)))
            return value;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (take_prefix(&value, schemes[i]))
            break;
    return value;
}

void conceal_hash(const unsigned char salt[static REFUSED_SALT_SIZE], struct str credential,
                  unsigned char hash[static REFUSED_HASH_SIZE])
{
    struct digester *digester = digester_new(DIGEST_SHA256);
    unsigned char digest[DIGEST_MAX];

    digester_begin(digester);
    digester_add(digester, (struct str){(const char *)salt, REFUSED_SALT_SIZE});
    digester_add(digester, credential);
    (void)digester_end(digester, digest);
    memcpy(hash, digest, REFUSED_HASH_SIZE);
    digester_free(digester);
}

static bool fits(const unsigned char salt[static REFUSED_SALT_SIZE],
                 const unsigned char hash[static REFUSED_HASH_SIZE], struct str candidate)
{
    unsigned char other[REFUSED_HASH_SIZE];

    conceal_hash(salt, candidate, other);
    return digest_equal(hash, other, sizeof(other));
}

bool conceal_reveal(const struct provider_config *provider,
                    const unsigned char salt[static REFUSED_SALT_SIZE],
                    const unsigned char hash[static REFUSED_HASH_SIZE], struct buf *out)
{
    bool found = false;

    for (size_t i = 0; i < provider->secret_count && !found; i++) {
        struct str secret = secret_reveal(provider->secrets[i]);
        size_t size = CODEC_BASE64_SIZE(secret.len);
        char *packed = mem_alloc(size);
        struct str shown = secret;

        codec_base64_encode(secret.ptr, secret.len, false, packed);
        found = fits(salt, hash, secret);
        if (!found) {
            shown = str_from(packed);
            found = fits(salt, hash, shown);
        }
        if (found)
            buf_put_str(out, shown);
        secret_wipe(packed, size);
        free(packed);
    }
    return found;
}
