/* Presets, straight from the embedded files. */
#include "config/presets.h"

#include "base/embedded.h"

#define SUFFIX_LEN 5 /* ".conf" */

const char *const verify_schemes[] = {
    "hmac-sha1",  "hmac-sha256", "hmac-sha512", "sha256", "ed25519", "ecdsa-p256-sha256",
    "rsa-sha256", "token",       "basic",       "jwt",    "twilio",  "adyen",
    "sns",        "none",        NULL};

size_t presets_count(void)
{
    return embedded_presets_count;
}

struct preset presets_get(size_t i)
{
    const struct embedded *file = &embedded_presets[i];

    return (struct preset){
        .name = {file->name, strlen(file->name) - SUFFIX_LEN},
        .text = {file->text, file->len},
    };
}

static struct str next_line(struct str *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    struct str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};

    rest->ptr += line.len + (end != NULL);
    rest->len -= line.len + (end != NULL);
    return line;
}

struct str preset_title(const struct preset *preset)
{
    struct str rest = preset->text, line = next_line(&rest);

    return str_starts(line, STR("#")) ? str_trim((struct str){line.ptr + 1, line.len - 1})
                                      : STR("");
}

struct str preset_scheme(const struct preset *preset)
{
    struct str rest = preset->text;

    while (rest.len > 0) {
        struct str line = next_line(&rest);
        const char *equals = memchr(line.ptr, '=', line.len);

        if (str_starts(line, STR("verify")) && equals)
            return str_trim((struct str){equals + 1, line.len - (size_t)(equals + 1 - line.ptr)});
    }
    return STR_NONE;
}

bool presets_find(struct str name, struct preset *preset)
{
    for (size_t i = 0; i < presets_count(); i++) {
        struct preset candidate = presets_get(i);

        if (str_equal(candidate.name, name)) {
            *preset = candidate;
            return true;
        }
    }
    return false;
}
