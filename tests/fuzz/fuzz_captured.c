/* Any bytes as a captured request, and its body in all variations: no crash; a capture's parts lie
 * in its text or its arena; JSON written anew is JSON with as many values, and writing it without
 * blanks twice changes nothing. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "diagnose/bodies.h"
#include "diagnose/captured.h"
#include "diagnose/rejson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(struct str text)
{
    struct json_scan scan;
    struct buf once, twice;

    for (int blanks = BLANKS_AS_SENT; blanks <= BLANKS_INDENT_TAB; blanks++) {
        for (int escapes = ESCAPES_AS_SENT; escapes <= ESCAPES_NOHTML; escapes++) {
            buf_init(&once, BUF_NO_CAP);
            buf_init(&twice, BUF_NO_CAP);
            rejson(text, (enum rejson_blanks)blanks, (enum rejson_escapes)escapes, &once);
            if (!json_scan(buf_str(&once), NULL, JSON_DEPTH_DEFAULT, &scan, NULL))
                abort();
            rejson(buf_str(&once), (enum rejson_blanks)blanks, (enum rejson_escapes)ESCAPES_AS_SENT,
                   &twice);
            if (!str_equal(buf_str(&once), buf_str(&twice)))
                abort();
            buf_release(&once);
            buf_release(&twice);
        }
    }
}

static void check_bodies(const struct request *request)
{
    struct arena *arena = arena_new(4096);
    const char *what;
    struct str body;

    for (size_t n = 0; bodies_vary(n, request, arena, &body, &what); n++)
        if (body.ptr && str_equal(body, request->body))
            abort();
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(4096);
    struct captured captured;
    struct json_scan scan;
    struct err err = {0};

    if (captured_read((struct str){(const char *)data, size}, arena, &captured, &err) < 0) {
        if (!err.text[0])
            abort();
    } else {
        if (captured.request.body.len > captured.file_body)
            abort();
        check_bodies(&captured.request);
        if (json_scan(captured.request.body, NULL, JSON_DEPTH_DEFAULT, &scan, NULL) &&
            !scan.had_bom)
            check_json(captured.request.body);
    }
    arena_free(arena);
    return 0;
}
