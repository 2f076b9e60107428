/* The table of handshakes, and the list of a provider's. */
#include "handshake/handshake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "handshake/kind.h"

#define LIST_MAX 16
#define NAME_SHOWN_MAX 64

#define BEFORE HANDSHAKE_BEFORE_VERIFY
#define AFTER HANDSHAKE_AFTER_VERIFY

/* clang-format off */
static const struct handshake_kind kinds[] = {
    {.name = "crc", .methods = METHOD_GET, .needs = NEEDS_SECRET, .answer = answer_crc},
    {.name = "echo-query", .methods = METHOD_GET, .words_max = 1, .words = "the parameter's name",
     .answer = answer_echo_query},
    {.name = "head-ok", .methods = METHOD_HEAD, .answer = answer_head_ok},
    {.name = "header-echo", .methods = METHOD_POST, .stages = BEFORE, .words_max = 2,
     .words = "the header's name, and the answer's", .fits = fits_header_echo,
     .needs = NEEDS_RAW, .answer = answer_header_echo},
    {.name = "hub", .methods = METHOD_GET, .needs = NEEDS_TOKEN, .words_max = 1, .words = "json",
     .fits = fits_hub, .answer = answer_hub},
    {.name = "json-challenge", .methods = METHOD_POST, .stages = BEFORE | AFTER, .reads_body = true,
     .words_max = 1, .words = "unsigned", .fits = fits_json_challenge, .answer = answer_json_challenge},
    {.name = "options", .methods = METHOD_OPTIONS, .words_max = 8, .words = "the origins that are allowed",
     .answer = answer_options},
    {.name = "ping-pong", .methods = METHOD_POST, .stages = AFTER, .reads_body = true,
     .answer = answer_ping_pong},
    {.name = "sns-confirm", .methods = METHOD_POST, .stages = AFTER, .reads_body = true,
     .answer = answer_sns_confirm},
    {.name = "token-capture", .methods = METHOD_POST, .stages = BEFORE, .reads_body = true,
     .needs = NEEDS_RAW, .answer = answer_token_capture},
    {.name = "unsigned-ping", .methods = METHOD_POST, .stages = BEFORE, .words_max = 1,
     .words = "the form field's name", .answer = answer_unsigned_ping},
    {.name = "validation-token", .methods = METHOD_GET | METHOD_POST, .stages = BEFORE,
     .words_max = 1, .words = "the parameter's name", .answer = answer_validation_token},
    {.name = "zoom", .methods = METHOD_POST, .stages = AFTER, .needs = NEEDS_SECRET,
     .reads_body = true, .answer = answer_zoom},
};
/* clang-format on */

/* clang-format off */
static const struct str pointers[MEMBER_COUNT] = {
    [MEMBER_TYPE] = {"/type", 5},
    [MEMBER_CHALLENGE] = {"/challenge", 10},
    [MEMBER_EVENT] = {"/event", 6},
    [MEMBER_PLAIN_TOKEN] = {"/payload/plainToken", 19},
    [MEMBER_SNS_TYPE] = {"/Type", 5},
    [MEMBER_SNS_URL] = {"/SubscribeURL", 13},
    [MEMBER_VERIFICATION] = {"/verification_token", 19},
};
/* clang-format on */

struct handshakes {
    struct arena *arena;
    struct handshake list[LIST_MAX];
    size_t count;
    unsigned methods;         /* of handshakes */
    unsigned event_methods;   /* of events */
    unsigned body_stages;     /* in which a handshake reads the body */
    struct json_paths *paths; /* pointers; NULL where no handshake reads the body */
    const char *allow;
};

/* ---- compiling ---- */

struct compiler {
    const struct provider_config *config;
    struct handshakes *handshakes;
    struct mistakes *mistakes;
    unsigned needs; /* of all of them */
    bool failed;
};

static void mistake(struct compiler *compiler, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void mistake(struct compiler *compiler, const char *fmt, ...)
{
    const struct setting *setting = &compiler->config->handshake;
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    mistakes_add(compiler->mistakes, setting->file, setting->line,
                 "provider \"%.*s\": handshake: %s", STR_ARG(compiler->config->name), text);
    free(text);
    compiler->failed = true;
}

static const struct handshake_kind *kind_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

static void unknown_kind(struct compiler *compiler, struct str name)
{
    struct buf list;

    if (name.len > NAME_SHOWN_MAX)
        name.len = NAME_SHOWN_MAX;
    buf_init(&list, BUF_NO_CAP);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        buf_printf(&list, "%s%s", i ? ", " : "", kinds[i].name);
    mistake(compiler, "there is no \"%.*s\"; write one or more of %.*s, separated by commas",
            STR_ARG(name), STR_ARG(buf_str(&list)));
    buf_release(&list);
}

/* The next word of a text, cut off its front; ptr NULL at the end. */
static struct str next_word(struct str *rest)
{
    struct str word = str_trim(*rest);
    size_t len = 0;

    while (len < word.len && word.ptr[len] != ' ' && word.ptr[len] != '\t')
        len++;
    *rest = (struct str){word.ptr + len, word.len - len};
    return len ? (struct str){word.ptr, len} : STR_NONE;
}

/* A preset brings its provider's handshakes, and whoever has an endpoint that is proved already
 * does well without the token: without one the handshake is refused. */
static void no_token(struct compiler *compiler, const struct handshake_kind *kind)
{
    const struct provider_config *config = compiler->config;

    if (strcmp(config->handshake.file, config->file) == 0)
        mistake(compiler, "%s compares a token; write handshake_token = file:/PATH", kind->name);
    else
        mistakes_warn(compiler->mistakes, config->file, config->line,
                      "provider \"%.*s\": handshake: %s compares a token and refuses all as long "
                      "as there is none; write handshake_token = file:/PATH, or handshake = to do "
                      "without",
                      STR_ARG(config->name), kind->name);
}

/* What the handshake needs of the section. */
static void check_needs(struct compiler *compiler, const struct handshake_kind *kind)
{
    const struct provider_config *config = compiler->config;
    bool raw = !config->secret_encoding.text.ptr || str_is(config->secret_encoding.text, "raw");

    if ((kind->needs & NEEDS_TOKEN) && config->handshake_token_count == 0)
        no_token(compiler, kind);
    if ((kind->needs & NEEDS_SECRET) && config->secret_count == 0)
        mistake(compiler, "%s answers with a digest; write secret = file:/PATH", kind->name);
    if ((kind->needs & (NEEDS_SECRET | NEEDS_RAW)) && !raw)
        mistake(compiler, "%s uses the secret as it is; write secret_encoding = raw", kind->name);
}

/* One handshake of the list: its name and its words. */
static void add(struct compiler *compiler, struct str text)
{
    struct handshakes *handshakes = compiler->handshakes;
    struct handshake handshake = {.config = compiler->config};
    struct str rest = text, name = next_word(&rest), word;
    const struct handshake_kind *kind = handshake.kind = kind_find(name);

    if (!kind) {
        unknown_kind(compiler, name);
        return;
    }
    while ((word = next_word(&rest)).ptr) {
        if (handshake.word_count == kind->words_max ||
            handshake.word_count == HANDSHAKE_WORDS_MAX) {
            mistake(compiler, "%s takes %s%s", kind->name, kind->words ? "only " : "no words",
                    kind->words ? kind->words : "");
            return;
        }
        handshake.words[handshake.word_count++] = arena_copy(handshakes->arena, word);
    }
    if (kind->fits && !kind->fits(&handshake)) {
        mistake(compiler, "%s takes only %s", kind->name, kind->words);
        return;
    }
    if (handshakes->count == LIST_MAX) {
        mistake(compiler, "more than %d; take away those that the provider does not use", LIST_MAX);
        return;
    }
    check_needs(compiler, kind);
    compiler->needs |= kind->needs;
    if (kind->reads_body)
        handshakes->body_stages |= kind->stages;
    handshakes->methods |= kind->methods;
    handshakes->list[handshakes->count++] = handshake;
}

/* What events come with. */
static void read_methods(struct compiler *compiler)
{
    const struct setting *setting = &compiler->config->methods;
    struct err err;

    compiler->handshakes->event_methods = METHOD_POST;
    if (!setting->text.ptr ||
        methods_parse(setting->text, &compiler->handshakes->event_methods, &err) == 0)
        return;
    mistakes_add(compiler->mistakes, setting->file, setting->line, "provider \"%.*s\": methods: %s",
                 STR_ARG(compiler->config->name), err.text);
    compiler->failed = true;
}

struct handshakes *handshakes_new(const struct provider_config *config, struct mistakes *mistakes)
{
    struct handshakes *handshakes = mem_alloc(sizeof(*handshakes));
    struct compiler compiler = {.config = config, .handshakes = handshakes, .mistakes = mistakes};
    struct str rest = config->handshake.text;

    handshakes->arena = arena_new(256);
    while (rest.ptr) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        size_t len = comma ? (size_t)(comma - rest.ptr) : rest.len;

        add(&compiler, (struct str){rest.ptr, len});
        rest = comma ? (struct str){comma + 1, rest.len - len - 1} : STR_NONE;
    }
    if (config->handshake_token_count > 0 && !(compiler.needs & NEEDS_TOKEN))
        mistakes_warn(mistakes, config->file, config->line,
                      "provider \"%.*s\": handshake_token: only handshake = hub uses it",
                      STR_ARG(config->name));
    if (handshakes->body_stages)
        handshakes->paths = json_paths_new(pointers, MEMBER_COUNT, NULL);
    read_methods(&compiler);
    handshakes->allow =
        methods_text(handshakes->methods | handshakes->event_methods, handshakes->arena);
    if (!compiler.failed)
        return handshakes;
    handshakes_free(handshakes);
    return NULL;
}

void handshakes_free(struct handshakes *handshakes)
{
    if (!handshakes)
        return;
    json_paths_free(handshakes->paths);
    arena_free(handshakes->arena);
    free(handshakes);
}

/* ---- answering ---- */

bool handshakes_take(const struct handshakes *handshakes, struct str method)
{
    return (method_of(method) & (handshakes->methods | handshakes->event_methods)) != 0;
}

const char *handshakes_allow(const struct handshakes *handshakes)
{
    return handshakes->allow;
}

/* Whether a request of that method and stage may be this handshake. */
static bool may_be(const struct handshake_kind *kind, unsigned method,
                   const struct handshake_call *call)
{
    if (!(kind->methods & method) || (kind->reads_body && !call->members))
        return false;
    return method != METHOD_POST || (kind->stages & call->stage);
}

/* Reads the body's members where a handshake of this stage wants them. */
static void read_members(const struct handshakes *handshakes, struct handshake_call *call,
                         struct json_value *members)
{
    struct str body = call->request->body;
    struct json_scan scan;

    if (!(handshakes->body_stages & call->stage) || body.len > HANDSHAKE_BODY_MAX ||
        !json_scan(body, handshakes->paths, JSON_DEPTH_DEFAULT, &scan, members))
        return;
    call->members = members;
    call->document = scan.value.text;
}

bool handshakes_answer(const struct handshakes *handshakes, enum handshake_stage stage,
                       const struct request *request, struct str secret, struct arena *arena,
                       struct handshake_reply *reply)
{
    unsigned method = method_of(request->method);
    struct json_value members[MEMBER_COUNT];
    struct handshake_call call = {
        .request = request, .stage = stage, .secret = secret, .arena = arena, .reply = reply};

    *reply = (struct handshake_reply){.refusal = REFUSAL_NONE};
    if (method == METHOD_POST)
        read_members(handshakes, &call, members);
    for (size_t i = 0; i < handshakes->count; i++) {
        call.handshake = &handshakes->list[i];
        if (may_be(call.handshake->kind, method, &call) && call.handshake->kind->answer(&call))
            return true;
    }
    if (method & handshakes->event_methods)
        return false;
    return reply_refuse(&call, method == METHOD_GET ? REFUSAL_MISSING_CHALLENGE
                                                    : REFUSAL_METHOD_NOT_ALLOWED);
}

/* ---- reading ---- */

struct str call_string(const struct handshake_call *call, enum member member)
{
    struct json_text text;

    if (call->members[member].kind != JSON_KIND_STRING)
        return STR_NONE;
    text = json_string_text(call->members[member].text, call->arena);
    return text.nul || text.lone_surrogate ? STR_NONE : text.bytes;
}

static struct str skip_blanks(struct str s)
{
    while (s.len > 0 &&
           (s.ptr[0] == ' ' || s.ptr[0] == '\t' || s.ptr[0] == '\n' || s.ptr[0] == '\r')) {
        s.ptr++;
        s.len--;
    }
    return s;
}

/* Takes `text` and the blanks behind it off the front. */
static bool skip(struct str *s, struct str text)
{
    if (!str_starts(*s, text))
        return false;
    *s = skip_blanks((struct str){s->ptr + text.len, s->len - text.len});
    return true;
}

/* The document is JSON, so what stands before and after the value tells all. */
bool call_is_only(const struct handshake_call *call, enum member member, struct str name)
{
    struct str value = call->members[member].text, rest = call->document;

    return value.ptr && skip(&rest, STR("{")) && skip(&rest, STR("\"")) && skip(&rest, name) &&
           skip(&rest, STR("\"")) && skip(&rest, STR(":")) && rest.ptr == value.ptr &&
           skip(&rest, value) && str_is(rest, "}");
}

enum parameter call_header(const struct handshake_call *call, struct str name, struct str *value)
{
    size_t count = request_header(call->request, name, value);

    if (count == 0)
        return PARAMETER_ABSENT;
    return count > 1 || value->len == 0 || value->len > CHALLENGE_MAX ? PARAMETER_BAD
                                                                      : PARAMETER_THERE;
}

/* Takes a string off the front of what is known to be JSON. */
static bool skip_string(struct str *s)
{
    size_t i = 1;

    if (s->len == 0 || s->ptr[0] != '"')
        return false;
    while (i < s->len && s->ptr[i] != '"')
        i += s->ptr[i] == '\\' ? 2 : 1;
    return i < s->len && skip(s, (struct str){s->ptr, i + 1});
}

bool handshake_hands_over(struct str body)
{
    static const struct str name = {"\"verification_token\"", 20};
    struct json_scan scan;
    struct str rest;

    if (body.len < name.len || body.len > HANDSHAKE_BODY_MAX ||
        !memmem(body.ptr, body.len, name.ptr, name.len) ||
        !json_scan(body, NULL, JSON_DEPTH_DEFAULT, &scan, NULL))
        return false;
    rest = scan.value.text;
    return skip(&rest, STR("{")) && skip(&rest, name) && skip(&rest, STR(":")) &&
           skip_string(&rest) && str_is(rest, "}");
}

/* ---- ways to answer ---- */

bool reply_refuse(const struct handshake_call *call, enum refusal refusal)
{
    call->reply->refusal = refusal;
    return true;
}

void reply_header(const struct handshake_call *call, const char *name, struct str value)
{
    struct handshake_reply *reply = call->reply;

    if (reply->header_count < HANDSHAKE_HEADERS_MAX)
        reply->headers[reply->header_count++] = (struct header){str_from(name), value};
}

/* A browser that is led here must not take what it sent for a page. */
static bool reply_body(const struct handshake_call *call, const char *type, struct str body)
{
    call->reply->status = 200;
    call->reply->content_type = type;
    call->reply->body = body;
    reply_header(call, "X-Content-Type-Options", STR("nosniff"));
    return true;
}

bool reply_text(const struct handshake_call *call, struct str body)
{
    return reply_body(call, "text/plain", body);
}

bool reply_json(const struct handshake_call *call, struct str body)
{
    return reply_body(call, "application/json", body);
}

bool reply_empty(const struct handshake_call *call, unsigned status)
{
    call->reply->status = status;
    call->reply->body = STR("");
    return true;
}

bool secret_matches(const struct secret *secret, struct str offered)
{
    unsigned char want[32], have[32];
    bool equal;

    digest_sha256(secret_reveal(secret), want);
    digest_sha256(offered, have);
    equal = digest_equal(want, have, sizeof(want));
    secret_wipe(want, sizeof(want));
    return equal;
}
