/* Which headers and parameters a scheme compares stands in `signature`; the words "header:NAME" and
 * "query:NAME" are looked for there, wherever the grammar puts them. */
#include "quarantine/conceal.h"

#include "base/attr.h"
#include "base/digest.h"
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

bool conceal_header(const struct provider_config *provider, struct str name)
{
    if (reads(provider, STR("header:"), name))
        return compares_secrets(provider);
    return headers_are_secret(name);
}

bool conceal_parameter(const struct provider_config *provider, struct str name)
{
    if (reads(provider, STR("query:"), name))
        return compares_secrets(provider);
    return headers_are_secret(name);
}

struct str conceal_part(struct str value)
{
    static const struct str schemes[] = {{"Bearer ", 7}, {"Basic ", 6}, {"Token ", 6}};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct str scheme = schemes[i];

        if (value.len > scheme.len && str_equal_nocase((struct str){value.ptr, scheme.len}, scheme))
            return str_trim((struct str){value.ptr + scheme.len, value.len - scheme.len});
    }
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
