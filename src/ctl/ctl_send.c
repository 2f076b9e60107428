/* inboxctl send: makes events, signs them with the provider's own scheme and secret, posts them one
 * after the other over one connection, and says what was answered. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "ctl/commands.h"
#include "ctl/handed_over.h"
#include "ctl/options.h"
#include "ctl/sample.h"
#include "ctl/session.h"

#define MAX_HEADERS 24
#define MAX_EVENT_BYTES (64 * 1024 * 1024)
#define TIMEOUT_MS 30000L

struct send_options {
    const char *event_path, *header, *url;
    int64_t count, age_s;
    bool duplicate, bad_signature, quiet;
};

struct sender {
    const struct send_options *options;
    const struct provider_config *config;
    struct provider *provider;
    struct str text; /* of --event; ptr NULL: none */
    CURL *curl;
    FILE *out;
    struct buf answer;
    char result[64]; /* Inboxd-Result */
    int64_t accepted, refused;
};

/* ---- one post ---- */

static size_t on_body(char *bytes, size_t size, size_t n, void *argument)
{
    struct sender *sender = argument;

    if (sender->answer.len + size * n <= 4096)
        buf_put(&sender->answer, bytes, size * n);
    return size * n;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *argument)
{
    static const struct str name = {"inboxd-result:", 14};
    struct sender *sender = argument;
    struct str line = {bytes, size * n};

    if (line.len > name.len && str_equal_nocase((struct str){bytes, name.len}, name)) {
        struct str value = {bytes + name.len, line.len - name.len};

        while (value.len && (value.ptr[value.len - 1] == '\r' || value.ptr[value.len - 1] == '\n'))
            value.len--;
        value = str_trim(value);
        snprintf(sender->result, sizeof(sender->result), "%.*s", STR_ARG(value));
    }
    return size * n;
}

static struct curl_slist *curl_headers(const struct header *headers, size_t count)
{
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

    list = curl_slist_append(list, "Expect:");
    for (size_t i = 0; i < count; i++) {
        char *line = mem_printf("%.*s: %.*s", STR_ARG(headers[i].name), STR_ARG(headers[i].value));

        list = curl_slist_append(list, line);
        free(line);
    }
    return list;
}

static int post(struct sender *sender, struct str body, const struct header *headers, size_t count,
                struct err *err)
{
    struct curl_slist *list = curl_headers(headers, count);
    struct str answer;
    CURLcode rc;
    long status = 0;

    buf_clear(&sender->answer);
    sender->result[0] = '\0';
    curl_easy_setopt(sender->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDS, body.ptr);
    curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    rc = curl_easy_perform(sender->curl);
    curl_slist_free_all(list);
    if (rc != CURLE_OK)
        return err_set(err, ERR_AGAIN, "could not post: %s", curl_easy_strerror(rc));
    curl_easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, &status);
    answer = buf_str(&sender->answer);
    while (answer.len && (answer.ptr[answer.len - 1] == '\n' || answer.ptr[answer.len - 1] == '\r'))
        answer.len--;
    if (!sender->options->quiet)
        fprintf(sender->out, "%ld %s %.*s\n", status, sender->result[0] ? sender->result : "-",
                STR_ARG(answer));
    if (status >= 200 && status < 300)
        sender->accepted++;
    else
        sender->refused++;
    return 0;
}

/* Sets the header of --header, "NAME:VALUE", in place of the sample's of that name. */
static size_t add_given_header(const char *given, struct header *headers, size_t count)
{
    const char *colon = given ? strchr(given, ':') : NULL;
    struct header header;
    size_t i = 0;

    if (!colon)
        return count;
    header.name = (struct str){given, (size_t)(colon - given)};
    header.value = str_trim(str_from(colon + 1));
    while (i < count && !str_equal_nocase(headers[i].name, header.name))
        i++;
    headers[i] = header;
    return i == count ? count + 1 : count;
}

/* Makes, signs and posts one event, or the same bytes twice. */
static int send_one(struct sender *sender, struct err *err)
{
    struct arena *arena = arena_new(16384);
    struct header headers[MAX_HEADERS];
    char id[SAMPLE_ID_SIZE] = "";
    struct request request = {.method = STR("POST"), .received_us = clock_wall_us()};
    size_t count, signatures = 0;
    int rc = -1;

    sample_new_id(id);
    request.body = sample_body(sender->config, sender->text, id, arena);
    request.target = str_from(arena_printf(arena, "/webhooks/%.*s", STR_ARG(sender->config->name)));
    count = sample_headers(sender->config, id, arena, headers, MAX_HEADERS);
    count = add_given_header(sender->options->header, headers, count);
    request.headers = headers;
    request.header_count = count;
    if (provider_sign(sender->provider, &request, sender->options->age_s,
                      sender->options->bad_signature, arena, headers + count, MAX_HEADERS - count,
                      &signatures, err) < 0)
        goto out;
    count += signatures;
    rc = post(sender, request.body, headers, count, err);
    if (rc == 0 && sender->options->duplicate)
        rc = post(sender, request.body, headers, count, err);
out:
    arena_free(arena);
    return rc;
}

/* ---- where to, and what ---- */

static char *default_url(const struct config *config, const struct provider_config *provider,
                         CURL *curl)
{
    const struct listen_address *listen = &config->listens[0];
    struct str host = listen->host;

    if (config->listen_count == 0 || listen->kind == LISTEN_SYSTEMD)
        return NULL;
    if (listen->kind == LISTEN_UNIX) {
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, listen->path.ptr);
        return mem_printf("http://localhost/webhooks/%.*s", STR_ARG(provider->name));
    }
    if (str_is(host, "0.0.0.0"))
        host = STR("127.0.0.1");
    else if (str_is(host, "::"))
        host = STR("::1");
    return mem_printf(memchr(host.ptr, ':', host.len) ? "http://[%.*s]:%u/webhooks/%.*s"
                                                      : "http://%.*s:%u/webhooks/%.*s",
                      STR_ARG(host), (unsigned)listen->port, STR_ARG(provider->name));
}

static int read_event(const char *path, struct buf *text, struct err *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char bytes[16384];
    size_t n;
    int rc = 0;

    if (!file)
        return err_set(err, ERR_INPUT, "cannot read %s: %m", path);
    while (rc == 0 && (n = fread(bytes, 1, sizeof(bytes), file)) > 0)
        rc = buf_add(text, bytes, n, err);
    if (file != stdin)
        fclose(file);
    return rc;
}

static int send_all(struct sender *sender, const struct config *config, struct err *err)
{
    const struct send_options *options = sender->options;
    char *url = options->url ? mem_copy(str_from(options->url))
                             : default_url(config, sender->config, sender->curl);
    int rc = 0;

    if (!url)
        return err_set(err, ERR_INPUT, "`listen` names no address to post to; give --url URL");
    curl_easy_setopt(sender->curl, CURLOPT_URL, url);
    curl_easy_setopt(sender->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(sender->curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(sender->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(sender->curl, CURLOPT_WRITEDATA, sender);
    curl_easy_setopt(sender->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(sender->curl, CURLOPT_HEADERDATA, sender);
    for (int64_t i = 0; rc == 0 && i < options->count; i++)
        rc = send_one(sender, err);
    if (rc < 0)
        err_prefix(err, "%s", url);
    free(url);
    return rc;
}

static int run_send(struct sender *sender, const struct config *config,
                    const struct mistakes *mistakes)
{
    struct err err = {0};
    int code = EXIT_DONE;

    if (!sender->provider) {
        for (size_t i = 0; i < mistakes_count(mistakes); i++)
            fprintf(stderr, "%s:%d: %s\n", mistakes_get(mistakes, i)->file,
                    mistakes_get(mistakes, i)->line, mistakes_get(mistakes, i)->text);
        return EXIT_BAD_CONFIG;
    }
    sender->curl = curl_easy_init();
    if (!sender->curl || send_all(sender, config, &err) < 0) {
        fprintf(stderr, "inboxctl: send: %s\n", sender->curl ? err.text : "out of memory");
        code = err.kind == ERR_AGAIN ? EXIT_UNREACHABLE : EXIT_FAILED;
    }
    if (sender->options->quiet || sender->options->count > 1)
        fprintf(sender->out, "%lld accepted, %lld refused\n", (long long)sender->accepted,
                (long long)sender->refused);
    curl_easy_cleanup(sender->curl);
    return code == EXIT_DONE && sender->refused > 0 ? EXIT_FAILED : code;
}

static int send_to(const struct context *context, const struct config *config, const char *name,
                   const struct send_options *options)
{
    struct mistakes *mistakes = mistakes_new();
    struct sender sender = {.options = options, .out = context->out};
    struct handed_over with = {0};
    struct buf text;
    struct err err = {0};
    int code = EXIT_FAILED;

    buf_init(&text, MAX_EVENT_BYTES);
    buf_init(&sender.answer, BUF_NO_CAP);
    sender.config = config_provider(config, str_from(name));
    if (!sender.config) {
        fprintf(stderr, "inboxctl: send: %s has no [provider %s]; it has:", config->path, name);
        for (size_t i = 0; i < config->provider_count; i++)
            fprintf(stderr, " %.*s", STR_ARG(config->providers[i].name));
        fputc('\n', stderr);
    } else if (handed_over_is_needed(sender.config) &&
               !(sender.config = handed_over_find(context, config, sender.config, &with))) {
        fprintf(stderr, "inboxctl: send: so nothing can be signed for \"%s\"\n", name);
    } else if (options->event_path && read_event(options->event_path, &text, &err) < 0) {
        fprintf(stderr, "inboxctl: send: %s\n", err.text);
    } else {
        if (options->event_path)
            sender.text = buf_str(&text);
        sender.provider = provider_new(sender.config, mistakes);
        code = run_send(&sender, config, mistakes);
    }
    provider_free(sender.provider);
    handed_over_release(&with);
    buf_release(&sender.answer);
    buf_release(&text);
    mistakes_free(mistakes);
    return code;
}

int ctl_send(const struct context *context, int argc, char **argv)
{
    struct send_options options = {.count = 1};
    const struct option_spec specs[] = {
        {"event", OPTION_TEXT, {.text = &options.event_path}},
        {"count", OPTION_COUNT, {.number = &options.count}},
        {"duplicate", OPTION_FLAG, {.flag = &options.duplicate}},
        {"bad-signature", OPTION_FLAG, {.flag = &options.bad_signature}},
        {"age", OPTION_COUNT, {.number = &options.age_s}},
        {"header", OPTION_TEXT, {.text = &options.header}},
        {"url", OPTION_TEXT, {.text = &options.url}},
        {"quiet", OPTION_FLAG, {.flag = &options.quiet}},
        {0}};
    struct config *config;
    int words, code;

    if (options_parse("send", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words != 1)
        return command_usage("send", "wants the name of one provider");
    if (options.header && !strchr(options.header, ':'))
        return command_usage("send", "--header is written NAME:VALUE, not \"%s\"", options.header);
    config = session_config(context);
    if (!config)
        return EXIT_BAD_CONFIG;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    code = send_to(context, config, argv[1], &options);
    curl_global_cleanup();
    config_unref(config);
    return code;
}
