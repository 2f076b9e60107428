/* "/webhooks/NAME" with NAME = [a-z0-9][a-z0-9_.-]{0,62}. */
#include "ingest/path.h"

#define NAME_MAX_LEN 63

static struct str after(struct str s, size_t count)
{
    return (struct str){s.ptr + count, s.len - count};
}

/* RFC 9112 section 3.2.2: a server must take the absolute form too. */
static struct str skip_authority(struct str target)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}};

    for (size_t i = 0; i < 2; i++)
        if (target.len >= schemes[i].len &&
            str_equal_nocase((struct str){target.ptr, schemes[i].len}, schemes[i])) {
            target = after(target, schemes[i].len);
            while (target.len > 0 && target.ptr[0] != '/' && target.ptr[0] != '?')
                target = after(target, 1);
            return target;
        }
    return target;
}

static bool is_name(struct str name)
{
    if (name.len == 0 || name.len > NAME_MAX_LEN)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!plain && (i == 0 || (c != '_' && c != '.' && c != '-')))
            return false;
    }
    return true;
}

struct path path_read(struct str target)
{
    static const struct str prefix = {"/webhooks/", 10};
    struct path path = {STR_NONE, STR_NONE};
    struct str name = skip_authority(target);
    const char *mark = name.len ? memchr(name.ptr, '?', name.len) : NULL;

    if (mark) {
        path.query = after(name, (size_t)(mark - name.ptr) + 1);
        name.len = (size_t)(mark - name.ptr);
    }
    if (!str_starts(name, prefix))
        return path;
    name = after(name, prefix.len);
    if (name.len > 0 && name.ptr[name.len - 1] == '/')
        name.len--;
    if (is_name(name))
        path.provider = name;
    return path;
}
