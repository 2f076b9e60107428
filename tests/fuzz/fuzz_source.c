/* Any bytes as a source and as the request that it reads: no crash, either a source or a reason,
 * and a value that PostgreSQL can hold, at most 512 bytes long; also the headers as they are stored
 * are JSON whatever was sent. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fields.h"
#include "provider/headers.h"
#include "provider/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 5

static void check_value(struct str value)
{
    if (value.ptr && (value.len == 0 || value.len > SOURCE_VALUE_MAX || !utf8_valid(value) ||
                      memchr(value.ptr, '\0', value.len)))
        abort();
}

static void check_headers(const struct request *request)
{
    struct json_scan scan;
    struct buf out;

    buf_init(&out, BUF_NO_CAP);
    headers_put_json(request, NULL, NULL, &out);
    if (!json_scan(buf_str(&out), NULL, JSON_DEPTH_DEFAULT, &scan, NULL) || scan.needs_repair)
        abort();
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str fields[FIELDS];
    struct header headers[3];
    struct request request = {.headers = headers, .header_count = 3};
    struct scope scope = {0};
    struct json_value values[JSON_PATHS_MAX];
    struct arena *arena = arena_new(1024);
    struct source_input input = {.request = &request, .arena = arena};
    const struct source *source;
    struct json_scan scan;
    struct err err = {0};

    fields_cut(data, size, fields, FIELDS);
    source = source_new(fields[0], &scope, arena, &err);
    if (!source && !err.text[0])
        abort();
    headers[0] = (struct header){STR("X-Id"), fields[1]};
    headers[1] = (struct header){fields[2], fields[1]};
    headers[2] = (struct header){STR("x-other"), fields[2]};
    request.query = fields[3];
    request.body = fields[4];
    input.body_sha256_hex = STR("00");
    if (source) {
        struct json_paths *paths =
            json_paths_new(scope.lists[SCOPE_EVENT].texts, scope.lists[SCOPE_EVENT].count, &err);

        if (!paths)
            abort();
        if (json_scan(request.body, paths, JSON_DEPTH_DEFAULT, &scan, values))
            input.values[SCOPE_EVENT] = values;
        check_value(source_value(source, &input));
        json_paths_free(paths);
    }
    check_headers(&request);
    arena_free(arena);
    fields_free(fields, FIELDS);
    return 0;
}
