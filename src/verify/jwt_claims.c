/* The claims of `verify = jwt`: which there have to be, and what they have to say. */
#include "verify/jwt.h"

#include <stdlib.h>

#include "base/codec.h"

#define SHA256_SIZE 32

/* ---- compiling ---- */

/* A member's name as a JSON pointer. */
static struct str pointer_of(struct str name, struct arena *arena)
{
    struct buf text;
    struct str pointer;

    buf_init(&text, BUF_NO_CAP);
    buf_put_char(&text, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '~')
            buf_put(&text, "~0", 2);
        else if (name.ptr[i] == '/')
            buf_put(&text, "~1", 2);
        else
            buf_put_char(&text, name.ptr[i]);
    }
    pointer = arena_copy(arena, buf_str(&text));
    buf_release(&text);
    return pointer;
}

/* The number of a claim in the pointers; adds it. */
static size_t path_of(struct jwt_claims *claims, struct str name, struct arena *arena)
{
    struct str pointer = pointer_of(name, arena);

    for (size_t i = 0; i < claims->pointer_count; i++)
        if (str_equal(claims->pointers[i], pointer))
            return i;
    claims->pointers[claims->pointer_count] = pointer;
    return claims->pointer_count++;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What stands behind "NAME=": a text in quotes may hold blanks. */
static struct str cut_text(struct str *rest, bool *closed)
{
    const char *end;
    struct str text;

    *closed = true;
    if (rest->len == 0 || rest->ptr[0] != '\'')
        return scheme_word(rest);
    end = memchr(rest->ptr + 1, '\'', rest->len - 1);
    *closed = end && (end + 1 == rest->ptr + rest->len || is_blank(end[1]));
    if (!*closed)
        return STR_NONE;
    text = (struct str){rest->ptr + 1, (size_t)(end - rest->ptr - 1)};
    rest->len -= text.len + 2;
    rest->ptr += text.len + 2;
    return text;
}

/* Cuts "NAME", "NAME=TEXT" or "NAME?=TEXT" off; text.ptr NULL: nothing is said about it. */
static int cut_claim(struct str *rest, struct claim *claim, struct err *err)
{
    size_t len = 0;
    bool closed;

    while (len < rest->len && rest->ptr[len] != '=' && !is_blank(rest->ptr[len]))
        len++;
    claim->name = (struct str){rest->ptr, len};
    rest->ptr += len;
    rest->len -= len;
    if (rest->len == 0 || rest->ptr[0] != '=')
        return 0;
    rest->ptr++;
    rest->len--;
    if (claim->name.len > 0 && claim->name.ptr[claim->name.len - 1] == '?') {
        claim->with_body = true;
        claim->name.len--;
    }
    if (rest->len > 0 && !is_blank(rest->ptr[0]))
        claim->text = cut_text(rest, &closed);
    else
        closed = false;
    if (claim->name.len == 0 || !closed)
        return err_set(err, ERR_INPUT,
                       "are written NAME, NAME=TEXT or NAME='TEXT WITH BLANKS', with blanks "
                       "between them");
    return 0;
}

/* What a claim's text means. */
static int read_rule(struct claim *claim, struct err *err)
{
    static const struct {
        const char *name;
        enum claim_rule rule;
    } rules[] = {{"{url}", CLAIM_URL},
                 {"{sha256hex:url}", CLAIM_URL_SHA256},
                 {"{sha256hex:body}", CLAIM_BODY_SHA256}};

    claim->rule = claim->text.ptr ? CLAIM_TEXT : CLAIM_THERE;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (claim->text.ptr && str_is(claim->text, rules[i].name))
            claim->rule = rules[i].rule;
    if (claim->rule == CLAIM_TEXT && claim->text.len > 0 && claim->text.ptr[0] == '{')
        return err_set(err, ERR_INPUT,
                       "cannot use %.*s; there are {url}, {sha256hex:url} and {sha256hex:body}",
                       STR_ARG(claim->text));
    if (claim->with_body && claim->rule != CLAIM_BODY_SHA256)
        return err_set(err, ERR_INPUT, "have ?= only in front of {sha256hex:body}");
    if (claim->text.ptr && (str_is(claim->name, "exp") || str_is(claim->name, "nbf")))
        return err_set(err, ERR_INPUT,
                       "have %.*s without a value: it is a time, and is always looked at",
                       STR_ARG(claim->name));
    return 0;
}

static bool names(const struct jwt_claims *claims, struct str name)
{
    for (size_t i = 0; i < claims->count; i++)
        if (str_equal(claims->items[i].name, name))
            return true;
    return false;
}

static int parse_claims(struct jwt_claims *claims, struct str text, struct arena *arena,
                        struct err *err)
{
    struct str rest = str_trim(text);

    for (; rest.len > 0; rest = str_trim(rest)) {
        struct claim claim = {0};

        if (cut_claim(&rest, &claim, err) < 0 || read_rule(&claim, err) < 0)
            return -1;
        if (claims->count == CLAIMS_MAX)
            return err_set(err, ERR_INPUT, "are more than %d", CLAIMS_MAX);
        if (names(claims, claim.name))
            return err_set(err, ERR_INPUT, "have %.*s twice", STR_ARG(claim.name));
        claim.name = arena_copy(arena, claim.name);
        claim.text = arena_copy(arena, claim.text);
        claim.path = path_of(claims, claim.name, arena);
        claims->items[claims->count++] = claim;
    }
    return 0;
}

/* claim:NAME s|ms */
static int parse_time(struct jwt_claims *claims, struct str text, struct arena *arena,
                      struct err *err)
{
    struct str rest = text, place = scheme_word(&rest), unit = scheme_word(&rest);
    bool s = unit.ptr && str_is(unit, "s"), ms = unit.ptr && str_is(unit, "ms");

    if (!place.ptr || !str_starts(place, STR("claim:")) || place.len == 6 || !(s || ms) ||
        scheme_word(&rest).ptr)
        return err_set(err, ERR_INPUT,
                       "is written claim:NAME s or claim:NAME ms, such as "
                       "timestamp = claim:iat s");
    claims->timed = true;
    claims->unit = s ? TIME_S : TIME_MS;
    claims->time_name = arena_copy(arena, (struct str){place.ptr + 6, place.len - 6});
    claims->time = path_of(claims, claims->time_name, arena);
    return 0;
}

static void check_url(const struct jwt_claims *claims, struct scheme_mistakes *mistakes)
{
    if (claims->public_url.ptr) {
        scheme_check_url(mistakes, claims->public_url);
        return;
    }
    for (size_t i = 0; i < claims->count; i++) {
        if (claims->items[i].rule != CLAIM_URL && claims->items[i].rule != CLAIM_URL_SHA256)
            continue;
        scheme_mistake(mistakes, VERIFY_PUBLIC_URL, 0,
                       "is missing, but `claims` use it; write the URL as the provider knows it");
        return;
    }
}

void jwt_claims_compile(struct jwt_claims *claims, const struct verify_spec *spec,
                        struct arena *arena, struct scheme_mistakes *mistakes)
{
    struct err err = {0};

    claims->public_url = arena_copy(arena, spec->public_url);
    claims->past_us = spec->tolerance.past_ms * 1000;
    claims->future_us = spec->tolerance.future_ms * 1000;
    claims->leeway_us = spec->leeway_ms * 1000;
    claims->expires = path_of(claims, STR("exp"), arena);
    claims->not_before = path_of(claims, STR("nbf"), arena);
    if (spec->timestamp.ptr && parse_time(claims, spec->timestamp, arena, &err) < 0)
        scheme_mistake(mistakes, VERIFY_TIMESTAMP, 0, err.text);
    if (spec->claims.ptr && parse_claims(claims, spec->claims, arena, &err) < 0)
        scheme_mistake(mistakes, VERIFY_CLAIMS, 0, err.text);
    check_url(claims, mistakes);
    claims->paths = json_paths_new(claims->pointers, claims->pointer_count, &err);
    if (!claims->paths)
        scheme_mistake(mistakes, VERIFY_CLAIMS, 0, err.text);
}

void jwt_claims_release(struct jwt_claims *claims)
{
    json_paths_free(claims->paths);
}

bool jwt_claims_cover_body(const struct jwt_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        if (claims->items[i].rule == CLAIM_BODY_SHA256)
            return true;
    return false;
}

/* ---- judging: texts ---- */

/* What claims are compared with, made when it is needed. */
struct judge {
    const struct jwt_claims *claims;
    const struct request *request;
    const struct json_value *values;
    struct arena *arena;
};

static struct str full_url(const struct jwt_claims *claims, const struct request *request,
                           struct arena *arena)
{
    if (!request->query.ptr)
        return claims->public_url;
    return str_from(
        arena_printf(arena, "%.*s?%.*s", STR_ARG(claims->public_url), STR_ARG(request->query)));
}

static bool text_is(const struct json_value *value, struct str want, struct arena *arena)
{
    switch (value->kind) {
    case JSON_KIND_STRING:
        return str_equal(json_string_text(value->text, arena).bytes, want);
    case JSON_KIND_NUMBER:
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        return str_equal(value->text, want);
    case JSON_KIND_ABSENT:
    case JSON_KIND_NULL:
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        break;
    }
    return false;
}

/* An audience may be a list, in which ours is one (RFC 7519 section 4.1.3). */
static bool has_text(const struct claim *claim, const struct json_value *value, struct str want,
                     struct arena *arena)
{
    struct json_value element;
    struct json_items items;

    if (value->kind != JSON_KIND_ARRAY || !str_is(claim->name, "aud"))
        return text_is(value, want, arena);
    items = json_items_begin(value->text);
    while (json_items_next(&items, &element))
        if (element.kind == JSON_KIND_STRING && text_is(&element, want, arena))
            return true;
    return false;
}

static bool is_digest_of(const struct json_value *value, struct str bytes, struct arena *arena)
{
    unsigned char wanted[SHA256_SIZE], sha256[SHA256_SIZE];

    if (value->kind != JSON_KIND_STRING ||
        codec_hex_decode(json_string_text(value->text, arena).bytes, wanted, SHA256_SIZE) !=
            SHA256_SIZE)
        return false;
    digest_sha256(bytes, sha256);
    return digest_equal(wanted, sha256, SHA256_SIZE);
}

static bool claim_holds(const struct judge *judge, const struct claim *claim)
{
    const struct json_value *value = &judge->values[claim->path];

    switch (claim->rule) {
    case CLAIM_THERE:
        return value->kind != JSON_KIND_ABSENT && value->kind != JSON_KIND_NULL;
    case CLAIM_TEXT:
        return has_text(claim, value, claim->text, judge->arena);
    case CLAIM_URL:
        return has_text(claim, value, full_url(judge->claims, judge->request, judge->arena),
                        judge->arena);
    case CLAIM_URL_SHA256:
        return is_digest_of(value, full_url(judge->claims, judge->request, judge->arena),
                            judge->arena);
    case CLAIM_BODY_SHA256:
        if (claim->with_body && judge->request->body.len == 0)
            return value->kind == JSON_KIND_ABSENT;
        return is_digest_of(value, judge->request->body, judge->arena);
    }
    return false;
}

/* ---- judging: times ---- */

/* A number of JSON as a time; in whole seconds where the unit is one: what is behind a point is cut
 * off. */
static enum time_read read_time(const struct json_value *value, enum time_unit unit, int64_t *us)
{
    struct str text = value->text;
    const char *point;

    if (value->kind != JSON_KIND_NUMBER)
        return TIME_UNREADABLE;
    point = memchr(text.ptr, '.', text.len);
    if (point && !memchr(text.ptr, 'e', text.len) && !memchr(text.ptr, 'E', text.len))
        text.len = (size_t)(point - text.ptr);
    return time_read(unit, text, us);
}

/* Whether a time is at least `least_us` and at most `most_us`. */
static enum verify_result judge_time(const struct json_value *value, enum time_unit unit,
                                     int64_t least_us, int64_t most_us)
{
    int64_t us = 0;

    switch (read_time(value, unit, &us)) {
    case TIME_READ:
        return us >= least_us && us <= most_us ? VERIFY_VALID : VERIFY_STALE;
    case TIME_OUT_OF_RANGE:
        return VERIFY_STALE;
    case TIME_UNREADABLE:
        break;
    }
    return VERIFY_BAD;
}

/* Whole seconds of the sender's clock are compared with whole seconds of ours. */
static int64_t now_in(enum time_unit unit, const struct request *request)
{
    return unit == TIME_S ? request->received_us - request->received_us % 1000000
                          : request->received_us;
}

static enum verify_result judge_times(const struct judge *judge)
{
    const struct jwt_claims *claims = judge->claims;
    const struct json_value *expires = &judge->values[claims->expires];
    const struct json_value *not_before = &judge->values[claims->not_before];
    int64_t now = now_in(TIME_S, judge->request);
    enum verify_result result = VERIFY_VALID;

    /* "On or after" it a token is not accepted any more. */
    if (expires->kind != JSON_KIND_ABSENT)
        result = judge_time(expires, TIME_S, now - claims->leeway_us + 1, INT64_MAX);
    if (result == VERIFY_VALID && not_before->kind != JSON_KIND_ABSENT)
        result = judge_time(not_before, TIME_S, 0, now + claims->leeway_us);
    if (result != VERIFY_VALID || !claims->timed)
        return result;
    now = now_in(claims->unit, judge->request);
    if (claims->past_us == 0)
        return judge_time(&judge->values[claims->time], claims->unit, 0, INT64_MAX);
    return judge_time(&judge->values[claims->time], claims->unit, now - claims->past_us,
                      now + claims->future_us);
}

enum verify_result jwt_claims_judge(const struct jwt_claims *claims, struct str document,
                                    const struct request *request, struct arena *arena)
{
    struct json_value values[JSON_PATHS_MAX];
    struct judge judge = {claims, request, values, arena};
    struct json_scan scan;

    if (!json_scan(document, claims->paths, JWT_DEPTH, &scan, values) ||
        scan.value.kind != JSON_KIND_OBJECT)
        return VERIFY_BAD;
    for (size_t i = 0; i < claims->count; i++)
        if (!claim_holds(&judge, &claims->items[i]))
            return VERIFY_BAD;
    return judge_times(&judge);
}

/* ---- for people ---- */

static const char *wanted(enum claim_rule rule)
{
    static const char *const texts[] = {
        [CLAIM_THERE] = "set",
        [CLAIM_TEXT] = "what `claims` says",
        [CLAIM_URL] = "public_url with the query",
        [CLAIM_URL_SHA256] = "the SHA-256 of public_url with the query",
        [CLAIM_BODY_SHA256] = "the SHA-256 of the body",
    };

    return texts[rule];
}

static void explain_claim(const struct judge *judge, const struct claim *claim,
                          const struct scheme_teller *teller)
{
    bool there = judge->values[claim->path].kind != JSON_KIND_ABSENT;

    if (claim_holds(judge, claim))
        return;
    if (there && claim->with_body && judge->request->body.len == 0)
        scheme_tell(teller, "claims", "%.*s is there, but there is no body", STR_ARG(claim->name));
    else
        scheme_tell(teller, "claims", "%.*s is not %s%s", STR_ARG(claim->name),
                    there ? "" : "there, and has to be ", wanted(claim->rule));
}

static void explain_time(const struct judge *judge, struct str name, size_t path,
                         enum time_unit unit, const struct scheme_teller *teller)
{
    const struct json_value *value = &judge->values[path];
    int64_t us = 0, off;

    if (read_time(value, unit, &us) != TIME_READ) {
        scheme_tell(teller, "claims", "%.*s is %s", STR_ARG(name),
                    value->kind == JSON_KIND_ABSENT ? "not there, and has to be a time"
                                                    : "no time that can be read");
        return;
    }
    off = (us - now_in(unit, judge->request)) / 1000000;
    scheme_tell(teller, "claims", "%.*s is %lld s %s now", STR_ARG(name),
                (long long)(off < 0 ? -off : off), off < 0 ? "before" : "after");
}

void jwt_claims_explain(const struct jwt_claims *claims, struct str document,
                        const struct request *request, struct arena *arena,
                        const struct scheme_teller *teller)
{
    struct json_value values[JSON_PATHS_MAX];
    struct judge judge = {claims, request, values, arena};
    struct json_scan scan;

    if (!json_scan(document, claims->paths, JWT_DEPTH, &scan, values) ||
        scan.value.kind != JSON_KIND_OBJECT) {
        scheme_tell(teller, "claims", "they are no JSON object");
        return;
    }
    for (size_t i = 0; i < claims->count; i++)
        explain_claim(&judge, &claims->items[i], teller);
    if (values[claims->expires].kind != JSON_KIND_ABSENT)
        explain_time(&judge, STR("exp"), claims->expires, TIME_S, teller);
    if (values[claims->not_before].kind != JSON_KIND_ABSENT)
        explain_time(&judge, STR("nbf"), claims->not_before, TIME_S, teller);
    if (claims->timed)
        explain_time(&judge, claims->time_name, claims->time, claims->unit, teller);
}

/* ---- the sender's side ---- */

#define LIFE_S 300 /* how long what is sent is valid */

static void put_digest(struct str bytes, struct buf *out)
{
    unsigned char sha256[SHA256_SIZE];
    char hex[CODEC_HEX_SIZE(SHA256_SIZE)];

    digest_sha256(bytes, sha256);
    codec_hex_encode(sha256, SHA256_SIZE, hex);
    buf_put_json_string(out, str_from(hex));
}

static void put_time(struct str name, int64_t us, enum time_unit unit, struct buf *out)
{
    buf_put_json_string(out, name);
    buf_printf(out, ":%lld,", (long long)(us / (unit == TIME_S ? 1000000 : 1000)));
}

/* What a claim that has only to be there says. */
static void put_there(const struct claim *claim, int64_t now_us, struct buf *out)
{
    int64_t s = now_us / 1000000;

    if (str_is(claim->name, "exp"))
        buf_printf(out, "%lld", (long long)s + LIFE_S);
    else if (str_is(claim->name, "nbf") || str_is(claim->name, "iat"))
        buf_printf(out, "%lld", (long long)s);
    else
        buf_put_json_string(out, STR("test"));
}

static void put_claim(const struct jwt_claims *claims, const struct claim *claim,
                      const struct request *request, int64_t now_us, struct arena *arena,
                      struct buf *out)
{
    if (claim->with_body && request->body.len == 0)
        return;
    buf_put_json_string(out, claim->name);
    buf_put_char(out, ':');
    switch (claim->rule) {
    case CLAIM_THERE:
        put_there(claim, now_us, out);
        break;
    case CLAIM_TEXT:
        buf_put_json_string(out, claim->text);
        break;
    case CLAIM_URL:
        buf_put_json_string(out, full_url(claims, request, arena));
        break;
    case CLAIM_URL_SHA256:
        put_digest(full_url(claims, request, arena), out);
        break;
    case CLAIM_BODY_SHA256:
        put_digest(request->body, out);
        break;
    }
    buf_put_char(out, ',');
}

void jwt_claims_write(const struct jwt_claims *claims, const struct request *request,
                      int64_t now_us, struct arena *arena, struct buf *out)
{
    buf_put_char(out, '{');
    for (size_t i = 0; i < claims->count; i++)
        if (!claims->timed || !str_equal(claims->items[i].name, claims->time_name))
            put_claim(claims, &claims->items[i], request, now_us, arena, out);
    if (claims->timed)
        put_time(claims->time_name, now_us, claims->unit, out);
    if (out->data[out->len - 1] == ',')
        out->len--;
    buf_put_char(out, '}');
}
