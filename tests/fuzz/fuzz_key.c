/* Any bytes as a key: the first line says how it is written, the rest is the text. No crash, no
 * leak, no question at a terminal; either a key or a reason, and the reason never quotes the text.
 * A key never takes a signature of zeros. */
#include <openssl/err.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verify/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUOTED 24 /* so many bytes of the text in the reason are no chance */

static void check_reason(struct str text, const struct err *err)
{
    char part[QUOTED + 1] = {0};

    if (!err->text[0] || ERR_peek_error())
        abort();
    if (text.len < QUOTED)
        return;
    memcpy(part, text.ptr, QUOTED);
    if (!strpbrk(part, " \"{") && strlen(part) == QUOTED && strstr(err->text, part))
        abort();
}

static void use(const struct verify_key *key)
{
    static const char zeros[1024];
    static const unsigned char hash[DIGEST_MAX];

    for (size_t len = 0; len <= sizeof(zeros); len += 8) {
        struct str signature = {zeros, len};

        if (verify_key_check_text(key, STR("text"), signature) ||
            verify_key_check_hash(key, DIGEST_SHA256, hash, signature))
            abort();
    }
    if (ERR_peek_error())
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t len = end ? (size_t)(end - data) : size;
    struct str encoding = {(const char *)data, len};
    struct str text = {(const char *)data + len + 1, end ? size - len - 1 : 0};
    struct err err = {0};
    struct secret *secret;
    struct verify_key *key;

    if (!end || text.len > 8192)
        return 0;
    key = verify_key_read(encoding, text, &err);
    if (key)
        use(key);
    else
        check_reason(text, &err);
    verify_key_free(key);
    err_clear(&err);
    secret = verify_key_read_oct(text, &err);
    if (!secret)
        check_reason(text, &err);
    else if (secret_len(secret) < 8)
        abort();
    secret_unref(secret);
    return 0;
}
