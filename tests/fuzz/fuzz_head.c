/* The header of a connection's first request from any bytes: what is found depends on the bytes
 * only, not on how many of them there were at a time. The first byte of the input says how much
 * memory the library has for a header. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "http/head.h"

#define LONGEST 2048 /* every beginning of the input is looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copied, so that a read behind the end of what has come is seen. */
static struct http_scan scan(const uint8_t *data, size_t size, size_t limit)
{
    char *bytes = malloc(size ? size : 1);
    struct http_scan found;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    found = http_head_scan((struct str){bytes, size}, limit);
    free(bytes);
    return found;
}

static void check(const struct http_scan *before, const struct http_scan *now)
{
    if (before->fault != HTTP_NO_FAULT && now->fault != before->fault)
        abort(); /* more bytes mend nothing, nor is another fault found first */
    if (before->fault == HTTP_NO_FAULT && before->line && !now->line)
        abort();
    if (before->fault == HTTP_NO_FAULT && before->whole &&
        (!now->whole || now->fault != HTTP_NO_FAULT))
        abort(); /* what follows the header is not looked at */
    if (now->whole && now->fault == HTTP_NO_FAULT && !now->line)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_scan before = {0};
    size_t limit;

    if (size == 0)
        return 0;
    limit = 1024 + (size_t)data[0] * 128;
    data++;
    size--;
    for (size_t n = 0; n <= size && n <= LONGEST; n++) {
        struct http_scan now = scan(data, n, limit);

        check(&before, &now);
        before = now;
    }
    return 0;
}
