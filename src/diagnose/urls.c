/* Another public_url: senders sign the URL that they were given, letter by letter. */
#include <string.h>

#include "diagnose/kinds.h"

struct url {
    struct str host, path; /* host: with credentials in front of it, and without port */
};

static struct url cut(struct str text)
{
    const char *scheme = text.len ? memmem(text.ptr, text.len, "://", 3) : NULL;
    struct url url = {STR_NONE, STR("")};
    size_t end = 0, host;

    if (!scheme)
        return url;
    text.len -= (size_t)(scheme + 3 - text.ptr);
    text.ptr = scheme + 3;
    while (end < text.len && text.ptr[end] != '/')
        end++;
    for (host = end; host > 0 && text.ptr[host - 1] >= '0' && text.ptr[host - 1] <= '9';)
        host--; /* a port */
    host = host > 0 && host < end && text.ptr[host - 1] == ':' ? host - 1 : end;
    url.host = (struct str){text.ptr, host};
    url.path = (struct str){text.ptr + end, text.len - end};
    return url;
}

static struct str without_credentials(struct str host)
{
    const char *at = host.len ? memrchr(host.ptr, '@', host.len) : NULL;

    return at ? (struct str){at + 1, host.len - (size_t)(at + 1 - host.ptr)} : STR_NONE;
}

static struct str host_header(const struct request *request, const char *name)
{
    struct str value;

    if (request_header(request, str_from(name), &value) != 1)
        return STR_NONE;
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == ':' || value.ptr[i] == ',' || value.ptr[i] == ' ')
            value.len = i;
    return value;
}

static struct str target_path(const struct request *request)
{
    struct str path = request->target;
    const char *mark = path.len ? memchr(path.ptr, '?', path.len) : NULL;

    if (mark)
        path.len = (size_t)(mark - path.ptr);
    return path.len && path.ptr[0] == '/' ? path : STR_NONE;
}

/* Where the host begins in SCHEME://[CREDENTIALS@]HOST/PATH. */
static const char *host_in(const char *url)
{
    const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
    const char *at = path ? memrchr(host, '@', (size_t)(path - host)) : strrchr(host, '@');

    return at ? at + 1 : host;
}

/* Without credentials. */
static const char *shown(const struct search *search, const char *url)
{
    const char *host = host_in(url), *start = strstr(url, "://") + 3;

    return host == start
               ? url
               : arena_printf(search->trial.arena, "%.*s...@%s", (int)(start - url), url, host);
}

static bool try_url(struct search *search, const char *text, bool query)
{
    struct provider_config changed = TRIAL_WITH(&search->trial, public_url, str_from(text));
    struct request request = *search->trial.request;

    if (!query)
        request.query = STR_NONE;
    if (!trial_fits(&search->trial, &changed, &request))
        return false;
    if (!query)
        return search_tell(search,
                           "the signature fits the URL %s without the query: something added the "
                           "query on the way",
                           shown(search, text));
    return search_tell(search, "the sender knows another URL: write public_url = %s",
                       shown(search, text));
}

/* A host and a path in all spellings. */
static bool try_spellings(struct search *search, struct str host, struct str path)
{
    static const char *const schemes[] = {"https", "http"};
    static const char *const ports[] = {"", ":443", ":80", ":8080", ":8443"};
    bool slash = path.len > 0 && path.ptr[path.len - 1] == '/';
    struct str other = path;

    if (slash)
        other.len--;
    for (size_t i = 0; i < ARRAY_LEN(schemes) * ARRAY_LEN(ports) * 4; i++) {
        const char *scheme = schemes[i % 2], *port = ports[i / 2 % ARRAY_LEN(ports)];
        size_t rest = i / 2 / ARRAY_LEN(ports);
        struct str written = rest & 1 ? other : path;

        if (try_url(search,
                    arena_printf(search->trial.arena, "%s://%.*s%s%.*s%s", scheme, STR_ARG(host),
                                 port, STR_ARG(written), (rest & 1) && !slash ? "/" : ""),
                    !(rest & 2) || !search->trial.request->query.ptr))
            return true;
    }
    return false;
}

bool find_url(struct search *search)
{
    const struct provider_config *config = search->trial.config;
    const struct request *request = search->trial.request;
    struct url url = cut(config->public_url.text);
    struct str hosts[] = {url.host, without_credentials(url.host), host_header(request, "host"),
                          host_header(request, "x-forwarded-host")};
    struct str paths[] = {url.path, target_path(request)};

    if (!url.host.ptr)
        return false;
    for (size_t p = 0; p < ARRAY_LEN(paths); p++)
        for (size_t h = 0; h < ARRAY_LEN(hosts); h++)
            if (hosts[h].ptr && paths[p].ptr && try_spellings(search, hosts[h], paths[p]))
                return true;
    return false;
}
