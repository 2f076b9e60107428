/* Addresses to listen on. */
#include "config/listen.h"

#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/un.h>

#include "config/value.h"

#define MODE_DEFAULT 0660
#define WORD_MAX 64

#define ADDRESS_RIGHT                                                                              \
    "write a numeric address and port such as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or "       \
    "systemd"

static int bad_address(struct str text, const char *why, struct err *err)
{
    char shown[VALUE_SHOWN_SIZE];

    value_show(text, shown);
    return err_set(err, ERR_INPUT, "%s %s; " ADDRESS_RIGHT, shown, why);
}

static int read_unix(struct str text, struct arena *arena, struct listen_address *address,
                     struct err *err)
{
    struct str path = {text.ptr + 5, text.len - 5};
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    char shown[VALUE_SHOWN_SIZE];

    value_show(text, shown);
    if (path.len < 2 || path.ptr[0] != '/')
        return bad_address(text, "has no absolute path", err);
    if (path.len > most)
        return err_set(err, ERR_INPUT,
                       "%s has a path of %zu bytes; a unix socket's has at most %zu", shown,
                       path.len, most);
    address->kind = LISTEN_UNIX;
    address->path = arena_copy(arena, path);
    return 0;
}

static bool read_port(struct str text, uint16_t *port)
{
    unsigned number = 0;

    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        number = number * 10 + (unsigned)(text.ptr[i] - '0');
    }
    *port = (uint16_t)number;
    return number <= UINT16_MAX;
}

static int read_tcp(struct str text, struct arena *arena, struct listen_address *address,
                    struct err *err)
{
    const char *colon = memrchr(text.ptr, ':', text.len);
    bool six = text.len > 0 && text.ptr[0] == '[';
    unsigned char binary[16];
    struct str host, port;

    if (!colon)
        return bad_address(text, "has no port", err);
    host = (struct str){text.ptr, (size_t)(colon - text.ptr)};
    port = (struct str){colon + 1, text.len - host.len - 1};
    if (six && (host.len < 2 || host.ptr[host.len - 1] != ']'))
        return bad_address(text, "is not an address with a port", err);
    if (six)
        host = (struct str){host.ptr + 1, host.len - 2};
    host = arena_copy(arena, host);
    if (inet_pton(six ? AF_INET6 : AF_INET, host.ptr, binary) != 1)
        return bad_address(text, "has no numeric address", err);
    if (!read_port(port, &address->port))
        return bad_address(text, "has no port from 0 to 65535", err);
    address->kind = LISTEN_TCP;
    address->host = host;
    return 0;
}

/* The next word; ptr NULL at the end. */
static struct str take_word(struct str *text)
{
    struct str word = str_trim(*text);
    size_t len = 0;

    if (word.len == 0)
        return STR_NONE;
    while (len < word.len && word.ptr[len] != ' ' && word.ptr[len] != '\t')
        len++;
    *text = (struct str){word.ptr + len, word.len - len};
    word.len = len;
    return word;
}

static bool read_mode(struct str word, unsigned *mode)
{
    *mode = 0;
    if (word.len < 3 || word.len > 4)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '7')
            return false;
        *mode = *mode * 8 + (unsigned)(word.ptr[i] - '0');
    }
    return *mode <= 0777;
}

static bool is_known(bool group, struct str name, uint32_t *id)
{
    char text[WORD_MAX];
    const struct passwd *user;
    const struct group *found;

    if (!name.ptr || name.len >= sizeof(text))
        return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    if (group) {
        found = getgrnam(text); /* NOLINT(concurrency-mt-unsafe): one thread, see the header */
        *id = found ? found->gr_gid : 0;
        return found;
    }
    user = getpwnam(text); /* NOLINT(concurrency-mt-unsafe): likewise */
    *id = user ? user->pw_uid : 0;
    return user;
}

static int read_word(struct str word, struct str *rest, struct listen_address *address,
                     struct err *err)
{
    bool group = str_is(word, "group");
    struct str value;

    if (str_is(word, "proxy-protocol")) {
        address->proxy_protocol = true;
        return 0;
    }
    if (address->kind != LISTEN_UNIX || !(group || str_is(word, "owner") || str_is(word, "mode")))
        return err_set(
            err, ERR_INPUT,
            "cannot use \"%.*s\"; behind an address there may be proxy-protocol, and for "
            "unix:/PATH also mode OCTAL, owner NAME and group NAME",
            STR_ARG(word));
    value = take_word(rest);
    if (str_is(word, "mode"))
        return read_mode(value, &address->mode)
                   ? 0
                   : err_set(err, ERR_INPUT, "mode wants an octal number such as 0660");
    if (!is_known(group, value, group ? &address->group : &address->owner))
        return err_set(err, ERR_INPUT, "there is no %s \"%.*s\" on this system",
                       group ? "group" : "user", STR_ARG(value));
    *(group ? &address->has_group : &address->has_owner) = true;
    return 0;
}

int value_address(struct str text, struct arena *arena, struct listen_address *address,
                  struct err *err)
{
    struct listen_address read = {.mode = MODE_DEFAULT};
    struct str rest = text, place = take_word(&rest), word;

    if (!place.ptr)
        place = STR("");
    if (str_is(place, "systemd"))
        read.kind = LISTEN_SYSTEMD;
    else if (str_starts(place, STR("unix:")) ? read_unix(place, arena, &read, err) < 0
                                             : read_tcp(place, arena, &read, err) < 0)
        return -1;
    while ((word = take_word(&rest)).ptr)
        if (read_word(word, &rest, &read, err) < 0)
            return -1;
    *address = read;
    return 0;
}
