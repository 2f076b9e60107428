/* A head is lines; the first is the request line. A NUL cannot come from a sender: each stands for
 * the next hash. In the request line what is revealed is percent-encoded. */
#include "quarantine/restore.h"

#include "base/secret.h"
#include "quarantine/conceal.h"
#include "quarantine/refused.h"

struct restoring {
    const struct kept_request *kept;
    const struct provider_config *provider;
    struct buf *text;
    size_t hash; /* the next */
    int missing;
};

static void put_encoded(struct buf *text, struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '-' || c == '.' || c == '_' || c == '~';

        if (plain)
            buf_put_char(text, (char)c);
        else
            buf_printf(text, "%%%02X", c);
    }
}

static void put_credential(struct restoring *restoring, bool encode)
{
    const struct kept_request *kept = restoring->kept;
    size_t at = restoring->hash++ * REFUSED_HASH_SIZE;
    struct buf found;

    buf_init(&found, BUF_NO_CAP);
    if (kept->salt.len != REFUSED_SALT_SIZE || at + REFUSED_HASH_SIZE > kept->concealed.len ||
        !conceal_reveal(restoring->provider, (const unsigned char *)kept->salt.ptr,
                        (const unsigned char *)kept->concealed.ptr + at, &found))
        restoring->missing++;
    else if (encode)
        put_encoded(restoring->text, buf_str(&found));
    else
        buf_put_str(restoring->text, buf_str(&found));
    if (found.data)
        secret_wipe(found.data, found.size);
    buf_release(&found);
}

static void put_text(struct restoring *restoring)
{
    struct str head = restoring->kept->head;
    bool first_line = true;

    for (size_t i = 0; i < head.len; i++) {
        if (head.ptr[i] == '\0')
            put_credential(restoring, first_line);
        else
            buf_put_char(restoring->text, head.ptr[i]);
        first_line = first_line && head.ptr[i] != '\n';
    }
}

/* The part of `rest` before `stop`; `rest` is moved behind it. ptr NULL: it is not there. */
static struct str take_until(struct str *rest, char stop)
{
    const char *end = rest->len ? memchr(rest->ptr, stop, rest->len) : NULL;
    struct str part = {rest->ptr, end ? (size_t)(end - rest->ptr) : 0};

    if (!end)
        return STR_NONE;
    *rest = (struct str){end + 1, rest->len - part.len - 1};
    return part;
}

static int read_request_line(struct str line, struct request *request)
{
    const char *mark;

    request->method = take_until(&line, ' ');
    request->target = line;
    mark = line.len ? memchr(line.ptr, '?', line.len) : NULL;
    if (mark)
        request->query = (struct str){mark + 1, line.len - (size_t)(mark + 1 - line.ptr)};
    return request->method.ptr ? 0 : -1;
}

static size_t count_lines(struct str text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

static int read_head(struct str rest, struct arena *arena, struct request *request)
{
    struct header *headers = arena_alloc(arena, (count_lines(rest) + 1) * sizeof(*headers));
    struct str line = take_until(&rest, '\n');
    size_t count = 0;

    if (!line.ptr || read_request_line(line, request) < 0)
        return -1;
    while ((line = take_until(&rest, '\n')).ptr) {
        headers[count].name = take_until(&line, ':');
        headers[count].value = str_trim(line);
        if (!headers[count++].name.ptr)
            return -1;
    }
    request->headers = headers;
    request->header_count = count;
    return 0;
}

int restore_request(const struct kept_request *kept, const struct provider_config *provider,
                    struct buf *text, struct arena *arena, struct request *request)
{
    struct restoring restoring = {.kept = kept, .provider = provider, .text = text};
    struct request read = {.body = kept->body, .source_ip = kept->source_ip};

    put_text(&restoring);
    if (read_head(buf_str(text), arena, &read) < 0)
        return -1;
    *request = read;
    return restoring.missing;
}
