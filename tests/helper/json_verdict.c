/* json_verdict [POINTER...]: what the JSON reader makes of documents, for tests that compare it
 * with other readers. On stdin, and for every text on stdout: four bytes of length (this machine's
 * order), then the bytes. For each document one letter: 'n' it is not JSON, 'y' jsonb takes the
 * bytes as they are, 'r' it does not. Unless 'n', the repaired document follows, then for each
 * pointer the repaired value that it finds, empty where there is none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

static void write_text(struct str text)
{
    uint32_t len = (uint32_t)text.len;

    fwrite(&len, sizeof(len), 1, stdout);
    fwrite(text.ptr, 1, text.len, stdout);
}

static void judge(struct str document, const struct json_paths *paths)
{
    struct json_value values[JSON_PATHS_MAX];
    struct json_scan scan;
    struct arena *arena;

    if (!json_scan(document, paths, JSON_DEPTH_DEFAULT, &scan, values)) {
        putchar('n');
        return;
    }
    putchar(scan.needs_repair || scan.had_bom ? 'r' : 'y');
    arena = arena_new(65536);
    write_text(json_repair(document, arena));
    for (size_t i = 0; i < json_paths_count(paths); i++)
        write_text(values[i].kind == JSON_KIND_ABSENT ? STR("")
                                                      : json_repair(values[i].text, arena));
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct str pointers[JSON_PATHS_MAX];
    struct json_paths *paths;
    struct err err = {0};
    uint32_t len;

    for (int i = 1; i < argc && i <= JSON_PATHS_MAX; i++)
        pointers[i - 1] = str_from(argv[i]);
    paths = json_paths_new(pointers, (size_t)argc - 1, &err);
    if (!paths) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    while (fread(&len, sizeof(len), 1, stdin) == 1) {
        char *bytes = mem_alloc(len);

        if (fread(bytes, 1, len, stdin) != len) {
            fprintf(stderr, "input ends in the middle of a document\n");
            return 2;
        }
        judge((struct str){bytes, len}, paths);
        free(bytes);
    }
    json_paths_free(paths);
    return 0;
}
