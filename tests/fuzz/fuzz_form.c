/* Any bytes as a form: no crash; what is one gives JSON, whose repaired text is UTF-8, and each
 * field is found under its name. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/form.h"
#include "base/json.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(1024);
    struct json_scan scan;
    struct form form;
    struct str value, json;

    if (form_read((struct str){(const char *)data, size}, arena, &form)) {
        json = form_json(&form, arena);
        if (!json_scan(json, NULL, JSON_DEPTH_DEFAULT, &scan, NULL) ||
            !utf8_valid(json_repair(json, arena)))
            abort();
        for (size_t i = 0; i < form.count && i < 100; i++)
            if (form_find(&form, form.fields[i].name, &value) == 0)
                abort();
    }
    arena_free(arena);
    return 0;
}
