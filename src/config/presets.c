/* Presets, straight from the embedded files. */
#include "config/presets.h"

#include "base/embedded.h"

#define SUFFIX_LEN 5 /* ".conf" */

const char *const verify_schemes[] = {"hmac-sha1", "hmac-sha256", "hmac-sha512",
                                      "sha256",    "none",        NULL};

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
