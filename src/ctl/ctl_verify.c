/* inboxctl verify: judges a captured request as the daemon would, and says step by step what was
 * found; where it is refused, why. Prints neither a signature nor a secret. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "ctl/commands.h"
#include "ctl/handed_over.h"
#include "ctl/options.h"
#include "ctl/session.h"
#include "diagnose/captured.h"
#include "diagnose/causes.h"
#include "diagnose/trial.h"
#include "handshake/handshake.h"
#include "provider/provider.h"

#define MAX_REQUEST_BYTES (256 * 1024 * 1024)

struct verify_options {
    const char *provider, *request, *now;
};

struct judging {
    FILE *out;
    const struct provider_config *config;
    struct provider *provider;
    struct captured captured;
    struct arena *arena;
    const char *last_step; /* printed once for its lines */
};

/* ---- printing ---- */

/* Nothing that a stranger wrote may move the cursor. */
static void print_safe(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

static void on_tell(void *argument, const char *step, const char *text)
{
    struct judging *judging = argument;
    bool again = judging->last_step && strcmp(judging->last_step, step) == 0;

    fprintf(judging->out, "%-10s ", again ? "" : step);
    print_safe(judging->out, text);
    fputc('\n', judging->out);
    judging->last_step = step;
}

PRINTF_LIKE(3, 4)
static void tell(struct judging *judging, const char *step, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    on_tell(judging, step, text);
    free(text);
}

static void on_cause(void *argument, const char *text)
{
    on_tell(argument, "likely", text);
}

/* ---- what was captured ---- */

static void tell_length(struct judging *judging)
{
    const struct captured *captured = &judging->captured;

    if (captured->content_length < 0 || (size_t)captured->content_length == captured->file_body)
        return;
    if ((size_t)captured->content_length > captured->file_body)
        tell(judging, "request",
             "Content-Length says %" PRId64 " bytes, and the file has %zu: the capture is not "
             "whole, or its line ends were changed",
             captured->content_length, captured->file_body);
    else
        tell(judging, "request",
             "Content-Length says %" PRId64 " bytes, and the file has %zu: what is beyond was left "
             "out",
             captured->content_length, captured->file_body);
}

static struct str path_of(const struct request *request)
{
    const char *mark = memchr(request->target.ptr, '?', request->target.len);

    return (struct str){request->target.ptr,
                        mark ? (size_t)(mark - request->target.ptr) : request->target.len};
}

/* Whether the request's path names the provider; another one may have been meant. */
static bool is_for(const struct request *request, struct str provider)
{
    static const struct str prefix = {"/webhooks/", 10};
    struct str path = path_of(request);

    if (!str_starts(path, prefix))
        return true; /* a capture from elsewhere */
    path.ptr += prefix.len;
    path.len -= prefix.len;
    if (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    return str_equal(path, provider);
}

/* The query is not printed: tokens may be in it. */
static void tell_request(struct judging *judging)
{
    const struct request *request = &judging->captured.request;
    struct str encoding;

    tell(judging, "request", "%.*s %.*s%s, %zu header%s, a body of %zu bytes%s",
         STR_ARG(request->method), STR_ARG(path_of(request)),
         request->query.ptr ? " with a query" : "", request->header_count,
         request->header_count == 1 ? "" : "s", request->body.len,
         judging->captured.chunked ? " in chunks" : "");
    tell_length(judging);
    if (request_header(request, STR("content-encoding"), &encoding) > 0)
        tell(judging, "request", "Content-Encoding is %.*s; signatures are over the bytes as sent",
             STR_ARG(encoding));
    if (!is_for(request, judging->config->name))
        tell(judging, "request", "its path is not that of [provider %.*s]",
             STR_ARG(judging->config->name));
}

static void tell_scheme(struct judging *judging)
{
    const struct provider_config *config = judging->config;

    if (config->preset.ptr)
        tell(judging, "verify", "%.*s, by the preset %.*s", STR_ARG(config->verify.text),
             STR_ARG(config->preset));
    else
        tell(judging, "verify", "%.*s", STR_ARG(config->verify.text));
    if (config->signed_template.text.ptr)
        tell(judging, "verify", "signed = %.*s", STR_ARG(config->signed_template.text));
}

/* ---- the secrets, one by one ---- */

static bool secret_is_elsewhere(const struct provider_config *config)
{
    return config->secret_count == 0 && config->captures_secret;
}

static void tell_secrets(struct judging *judging)
{
    const struct provider_config *config = judging->config;
    struct trial trial = {config, &judging->captured.request, judging->arena, 0};

    if (secret_is_elsewhere(config))
        tell(judging, "secret", "comes in a handshake, and none could be had from the database");
    for (size_t i = 0; i < config->secret_count; i++) {
        struct secret *secret;
        struct provider_config alone =
            trial_with_secret(&trial, secret_reveal(config->secrets[i]), &secret);

        tell(judging, "secret", "%zu (%.*s): %s", i + 1, STR_ARG(config->secret_settings[i].text),
             trial_fits(&trial, &alone, &judging->captured.request) ? "fits" : "does not fit");
        secret_unref(secret);
    }
}

/* ---- the verdict ---- */

static void tell_events(struct judging *judging, const struct provider_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->list[i];

        tell(judging, "event", "id %.*s, type %.*s, key %.*s", STR_ARG(event->id),
             STR_ARG(event->type.ptr ? event->type : STR("-")),
             STR_ARG(event->key.ptr ? event->key : STR("-")));
    }
}

static bool is_of_signature(enum refusal refusal)
{
    return refusal == REFUSAL_MISSING_SIGNATURE || refusal == REFUSAL_BAD_SIGNATURE ||
           refusal == REFUSAL_STALE_TIMESTAMP;
}

static void tell_causes(struct judging *judging, enum refusal refusal)
{
    size_t tried;

    if (refusal == REFUSAL_STALE_TIMESTAMP)
        tell(judging, "likely",
             "the signature is right, and only the time is not: the request is old, or was sent "
             "again, or one of the clocks is wrong; --now SECONDS judges it as of then");
    tried = causes_find(judging->config, &judging->captured.request, refusal, on_cause, judging);
    if (judging->last_step && strcmp(judging->last_step, "likely") == 0)
        return;
    if (refusal == REFUSAL_MISSING_SIGNATURE)
        tell(judging, "likely",
             "the request is not of this provider, the sender does not sign, or a proxy has taken "
             "the header off");
    else
        tell(judging, "likely",
             "none of %zu variations fits: another secret (of another endpoint, or of test and "
             "live), or a body that was changed in a way that was not tried",
             tried);
}

/* Whether it is a handshake, which is answered and not stored; then *code is the exit code. */
static bool tell_handshake(struct judging *judging, enum handshake_stage stage, struct str secret,
                           int *code)
{
    struct handshake_reply reply;

    if (!handshakes_answer(provider_handshakes(judging->provider), stage,
                           &judging->captured.request, secret, judging->arena, &reply))
        return false;
    if (reply.refusal != REFUSAL_NONE) {
        tell(judging, "verdict", "refused: a handshake, answered %u %s",
             refusal_info(reply.refusal)->status, refusal_info(reply.refusal)->text);
        *code = EXIT_FAILED;
    } else if (stage == HANDSHAKE_AFTER_VERIFY) {
        tell(judging, "verdict", "valid: a handshake, answered %u and not stored", reply.status);
        *code = EXIT_DONE;
    } else {
        tell(judging, "verdict",
             "cannot tell: a handshake, answered %u whoever sends it, so that nothing is verified",
             reply.status);
        *code = EXIT_CANNOT_TELL;
    }
    return true;
}

static int tell_refused(struct judging *judging, enum refusal refusal)
{
    tell(judging, "verdict", "refused: %u %s", refusal_info(refusal)->status,
         refusal_info(refusal)->text);
    if (is_of_signature(refusal))
        tell_causes(judging, refusal);
    return EXIT_FAILED;
}

/* What the daemon would answer, in its order. */
static int tell_verdict(struct judging *judging)
{
    const struct request *request = &judging->captured.request;
    struct provider_events events = {.element = PROVIDER_NO_ELEMENT};
    bool verified = false;
    enum refusal refusal;
    int code;

    if (!handshakes_take(provider_handshakes(judging->provider), request->method))
        return tell_refused(judging, REFUSAL_METHOD_NOT_ALLOWED);
    if (tell_handshake(judging, HANDSHAKE_BEFORE_VERIFY, STR_NONE, &code))
        return code;
    refusal = provider_verify(judging->provider, request, &verified);
    if (refusal == REFUSAL_NONE &&
        tell_handshake(judging, HANDSHAKE_AFTER_VERIFY, provider_matched(judging->provider), &code))
        return code;
    if (refusal == REFUSAL_NONE)
        refusal = provider_parse(judging->provider, request, verified, judging->arena, &events);
    if (refusal == REFUSAL_BAD_SIGNATURE && secret_is_elsewhere(judging->config)) {
        tell(judging, "verdict", "cannot tell: the secret is not here");
        return EXIT_CANNOT_TELL;
    }
    if (events.element != PROVIDER_NO_ELEMENT)
        tell(judging, "element", "%zu of the array that split names", events.element);
    if (refusal != REFUSAL_NONE)
        return tell_refused(judging, refusal);
    tell(judging, "verdict",
         verified ? "valid" : "cannot tell: with verify = none everything is accepted");
    tell_events(judging, &events);
    return verified ? EXIT_DONE : EXIT_CANNOT_TELL;
}

static int judge(struct judging *judging)
{
    tell_request(judging);
    tell_scheme(judging);
    provider_explain(judging->provider, &judging->captured.request, on_tell, judging);
    tell_secrets(judging);
    return tell_verdict(judging);
}

/* ---- reading what is asked for ---- */

static int read_file(const char *path, struct buf *text, struct err *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char bytes[16384];
    size_t n;
    int rc = 0;

    if (!file)
        return err_set(err, ERR_INPUT, "could not be opened: %m");
    while (rc == 0 && (n = fread(bytes, 1, sizeof(bytes), file)) > 0)
        rc = buf_add(text, bytes, n, err);
    if (rc == 0 && ferror(file))
        rc = err_set(err, ERR_INPUT, "could not be read: %m");
    if (file != stdin)
        fclose(file);
    return rc;
}

static int judge_file(struct judging *judging, const struct verify_options *options)
{
    struct mistakes *mistakes = mistakes_new();
    struct err err = {0};
    struct buf text;
    int64_t now = 0;
    int code = EXIT_CANNOT_TELL;

    buf_init(&text, MAX_REQUEST_BYTES);
    judging->arena = arena_new(65536);
    judging->provider = provider_new(judging->config, mistakes);
    if (!judging->provider) {
        session_print_mistakes(mistakes, false);
        code = EXIT_BAD_CONFIG;
    } else if (read_file(options->request, &text, &err) < 0 ||
               captured_read(buf_str(&text), judging->arena, &judging->captured, &err) < 0) {
        fprintf(stderr, "inboxctl: verify: %s %s\n", options->request, err.text);
    } else {
        judging->captured.request.received_us =
            options->now && options_number(options->now, &now) == 0 ? now * 1000000
                                                                    : clock_wall_us();
        code = judge(judging);
    }
    provider_free(judging->provider);
    arena_free(judging->arena);
    buf_release(&text);
    mistakes_free(mistakes);
    return code;
}

static int verify(const struct context *context, const struct config *config,
                  const struct verify_options *options)
{
    const struct provider_config *section = config_provider(config, str_from(options->provider));
    struct judging judging = {.out = context->out, .config = section};
    struct handed_over with = {0};
    int code;

    if (section && handed_over_is_needed(section))
        section = handed_over_find(context, config, section, &with);
    if (judging.config) {
        judging.config = section ? section : judging.config;
        code = judge_file(&judging, options);
        handed_over_release(&with);
        return code;
    }
    fprintf(stderr, "inboxctl: verify: %s has no [provider %s]; it has:", config->path,
            options->provider);
    for (size_t i = 0; i < config->provider_count; i++)
        fprintf(stderr, " %.*s", STR_ARG(config->providers[i].name));
    fputc('\n', stderr);
    return EXIT_CANNOT_TELL;
}

int ctl_verify(const struct context *context, int argc, char **argv)
{
    struct verify_options options = {0};
    const struct option_spec specs[] = {{"provider", OPTION_TEXT, {.text = &options.provider}},
                                        {"request", OPTION_TEXT, {.text = &options.request}},
                                        {"now", OPTION_TEXT, {.text = &options.now}},
                                        {0}};
    struct config *config;
    int64_t now;
    int words, code;

    if (options_parse("verify", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words > 0)
        return command_usage("verify", "takes no words, but there is \"%s\"", argv[1]);
    if (!options.provider || !options.request)
        return command_usage("verify", "wants --provider NAME and --request FILE");
    if (options.now && (options_number(options.now, &now) < 0 || now > INT64_MAX / 1000000))
        return command_usage("verify", "--now wants seconds since 1970, not \"%s\"", options.now);
    config = session_config(context);
    if (!config)
        return EXIT_BAD_CONFIG;
    code = verify(context, config, &options);
    config_unref(config);
    return code;
}
