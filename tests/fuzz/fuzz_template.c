/* Any bytes as the texts of a scheme: no crash, no leak, and either a scheme or a reason that holds
 * neither the secret nor nothing. What became a scheme keeps the safety rules: what it signs is
 * valid, and no longer so when the body or the timestamp changes, unless it says that the body is
 * not signed, or shows a secret instead of signing. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_US (1700000000 * INT64_C(1000000))
#define FIELDS 8
#define SECRET "s3cr3t-0123456789abcdef"

static void note(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)field;
    (void)index;
    ++*(int *)argument;
    if (!text[0] || strstr(text, SECRET))
        abort();
}

static void use(struct verify_scheme *scheme, bool whole)
{
    struct header headers[8] = {{STR("X-Id"), STR("7")}, {STR("X-Time"), STR("1700000000")}};
    struct request request = {.method = STR("POST"),
                              .target = STR("/in?a=b"),
                              .query = STR("a=b"),
                              .headers = headers,
                              .header_count = 2,
                              .body = STR("{\"id\":\"x\",\"t\":1700000000}"),
                              .received_us = NOW_US};
    struct arena *arena = arena_new(1024);
    size_t count = 0;
    struct err err;

    if (verify_request(scheme, &request, NULL) == VERIFY_VALID)
        abort();
    if (verify_sign(scheme, &request, 0, false, arena, headers + 2, 6, &count, &err) == 0) {
        request.header_count += count;
        verify_request(scheme, &request, NULL);
        request.body = STR("{\"id\":\"y\",\"t\":1700000000}");
        if (verify_request(scheme, &request, NULL) == VERIFY_VALID && whole)
            abort();
    }
    arena_free(arena);
}

/* Whether it promises that another body is refused. */
static bool covers_body(const struct verify_spec *spec)
{
    return !str_is(spec->algorithm, "token") && !str_is(spec->algorithm, "basic") &&
           !str_is(spec->body_unauthenticated, "yes");
}

/* An empty line: not set. */
static struct str setting(struct str line)
{
    return line.len ? line : STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str fields[FIELDS], secret = STR(SECRET);
    struct verify_spec spec = {
        .tolerance = {300000, 300000}, .secrets = &secret, .secret_count = 1};
    struct verify_scheme *scheme;
    int reports = 0;

    if (memmem(data, size, SECRET, sizeof(SECRET) - 1)) /* a report may quote what was written */
        return 0;
    fields_cut(data, size, fields, FIELDS);
    spec.algorithm = setting(fields[0]);
    spec.signature = setting(fields[1]);
    spec.timestamp = setting(fields[2]);
    spec.signed_template = setting(fields[3]);
    spec.secret_encoding = setting(fields[4]);
    spec.public_url = setting(fields[5]);
    spec.vars = setting(fields[6]);
    spec.body_unauthenticated = setting(fields[7]);
    scheme = verify_scheme_new(&spec, note, &reports);
    if (!scheme != (reports > 0))
        abort();
    if (scheme)
        use(scheme, covers_body(&spec));
    verify_scheme_free(scheme);
    fields_free(fields, FIELDS);
    return 0;
}
