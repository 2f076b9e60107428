/* The judgement on a request's header. A message is refused where RFC 9112 asks for it, and where
 * it lets a reader choose between mending and refusing; a bare LF as the end of a line and empty
 * lines before the first one are taken. */
#include "http/head.h"

#include <string.h>

/* What the library needs for an answer, and beyond their bytes for a field, be it one of the
 * header, the query or a cookie: as in version 0.9.75. */
#define ANSWER_COST ((size_t)1024)
#define FIELD_COST ((size_t)64)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter_or_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_letter_or_digit(text.ptr[i]) && !is_one_of(text.ptr[i], "!#$%&'*+-.^_`|~"))
            return false;
    return text.len > 0;
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

static enum http_fault judge_version(struct str version)
{
    if (str_is(version, "HTTP/1.1") || str_is(version, "HTTP/1.0"))
        return HTTP_NO_FAULT;
    if (version.len == 8 && str_starts(version, STR("HTTP/")) && is_digit(version.ptr[5]) &&
        version.ptr[6] == '.' && is_digit(version.ptr[7]))
        return HTTP_BAD_VERSION;
    return HTTP_BAD_FRAMING;
}

static bool starts_nocase(struct str text, struct str start)
{
    return text.len >= start.len && str_equal_nocase((struct str){text.ptr, start.len}, start);
}

/* One of the forms of RFC 9112 section 3.2, and no byte in it that would end it for somebody. */
static bool is_target(struct str target, struct str method)
{
    for (size_t i = 0; i < target.len; i++)
        if (is_control(target.ptr[i]) || target.ptr[i] == ' ')
            return false;
    if (target.len == 0)
        return false;
    return target.ptr[0] == '/' || str_is(method, "CONNECT") ||
           (str_is(target, "*") && str_is(method, "OPTIONS")) ||
           starts_nocase(target, STR("http://")) || starts_nocase(target, STR("https://"));
}

/* A host and a port, by their signs only. */
static bool is_host(struct str host)
{
    for (size_t i = 0; i < host.len; i++)
        if (!is_letter_or_digit(host.ptr[i]) && !is_one_of(host.ptr[i], "-._~%!$&'()*+;=:[]"))
            return false;
    return true;
}

static bool is_value(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\0' || value.ptr[i] == '\r' || value.ptr[i] == '\n')
            return false;
    return true;
}

void http_head_line(struct http_head *head, struct str method, struct str target,
                    struct str version)
{
    *head = (struct http_head){.framing = http_framing_begin(!str_is(version, "HTTP/1.1")),
                               .fault = judge_version(version)};
    if (head->fault != HTTP_NO_FAULT)
        return;
    if (!is_token(method) || !is_target(target, method))
        head->fault = HTTP_BAD_FRAMING;
    else if (method.len > HTTP_METHOD_MAX)
        head->fault = HTTP_BAD_METHOD;
}

void http_head_field(struct http_head *head, struct str name, struct str value)
{
    bool host = str_equal_nocase(name, STR("host"));

    http_framing_field(&head->framing, name, value);
    if (host)
        head->hosts++;
    if (++head->fields > HTTP_FIELDS_MAX && head->fault == HTTP_NO_FAULT)
        head->fault = HTTP_HEADER_TOO_LARGE;
    if (head->fault == HTTP_NO_FAULT &&
        (head->framing.ambiguous || !is_token(name) || !is_value(value) ||
         (host && (head->hosts > 1 || !is_host(value)))))
        head->fault = HTTP_BAD_FRAMING;
}

void http_head_end(struct http_head *head)
{
    if (head->fault == HTTP_NO_FAULT && head->hosts == 0 && !head->framing.old)
        head->fault = HTTP_BAD_FRAMING;
}

/* ---- bytes ---- */

enum line_state {
    LINE_PART,
    LINE_WHOLE,
    LINE_BAD, /* a CR that no LF follows, or a NUL */
};

/* Takes the next line off the front of `rest`. Otherwise `line` is what there is of it before the
 * end of the bytes or the byte that is wrong. */
static enum line_state next_line(struct str *rest, struct str *line)
{
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        size_t end = c == '\r' ? i + 1 : i;

        *line = (struct str){rest->ptr, i};
        if (c == '\0')
            return LINE_BAD;
        if (c != '\r' && c != '\n')
            continue;
        if (end == rest->len)
            return LINE_PART;
        if (rest->ptr[end] != '\n')
            return LINE_BAD;
        rest->ptr += end + 1;
        rest->len -= end + 1;
        return LINE_WHOLE;
    }
    *line = *rest;
    return LINE_PART;
}

/* The length of what can still become a request line: no control character, and a method first. */
static size_t sound_length(struct str line)
{
    bool method = true;

    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ' ' && i > 0)
            method = false;
        if (method ? !is_token((struct str){line.ptr + i, 1}) : is_control(line.ptr[i]))
            return i;
    }
    return line.len;
}

/* Cuts at the first blank, which is in neither part. */
static bool cut_at_blank(struct str text, struct str *before, struct str *behind)
{
    const char *blank = text.len ? memchr(text.ptr, ' ', text.len) : NULL;

    if (!blank)
        return false;
    *before = (struct str){text.ptr, (size_t)(blank - text.ptr)};
    *behind = (struct str){blank + 1, text.len - before->len - 1};
    return true;
}

static size_t count_of(struct str text, char sign)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == sign;
    return count;
}

static void scan_line(struct http_head *head, struct str line, size_t *cost)
{
    struct str method, target, version, rest;

    if (!cut_at_blank(line, &method, &rest) || !cut_at_blank(rest, &target, &version)) {
        head->fault = HTTP_BAD_FRAMING;
        return;
    }
    http_head_line(head, method, target, version);
    *cost += (count_of(target, '&') + count_of(target, '?')) * FIELD_COST;
}

static void scan_field(struct http_head *head, struct str line, size_t *cost)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    struct str name = {line.ptr, colon ? (size_t)(colon - line.ptr) : line.len}, value;

    if (!colon) {
        head->fault = HTTP_BAD_FRAMING;
        return;
    }
    value = str_trim((struct str){colon + 1, line.len - name.len - 1});
    http_head_field(head, name, value);
    if (is_blank(line.ptr[line.len - 1]) && str_equal_nocase(name, STR("content-length")))
        head->fault = HTTP_BAD_FRAMING; /* the library would not read it */
    *cost += FIELD_COST;
    if (str_equal_nocase(name, STR("cookie"))) /* the library reads its own copy */
        *cost += value.len + (count_of(value, ';') + count_of(value, ',') + 1) * FIELD_COST;
}

/* A scan under way. */
struct scanning {
    struct http_scan result;
    struct http_head head;
    size_t limit, cost; /* cost: beyond the bytes */
};

static bool is_too_large(struct scanning *scanning, size_t bytes)
{
    if (scanning->cost + bytes <= scanning->limit)
        return false;
    scanning->result.fault = scanning->result.line ? HTTP_HEADER_TOO_LARGE : HTTP_TARGET_TOO_LONG;
    return true;
}

/* A line that is complete. */
static void scan_one(struct scanning *scanning, struct str line, size_t bytes)
{
    bool first = !scanning->result.line;

    if (first && line.len == 0) /* an empty line before the request */
        return;
    if (first)
        scan_line(&scanning->head, line, &scanning->cost);
    else if (line.len > 0)
        scan_field(&scanning->head, line, &scanning->cost);
    else
        http_head_end(&scanning->head);
    scanning->result.fault = scanning->head.fault;
    if (scanning->result.fault != HTTP_NO_FAULT || is_too_large(scanning, bytes))
        return;
    scanning->result.line = true;
    scanning->result.whole = !first && line.len == 0;
}

struct http_scan http_head_scan(struct str bytes, size_t limit)
{
    struct scanning scanning = {.limit = limit, .cost = ANSWER_COST};
    struct str rest = bytes, line;

    while (scanning.result.fault == HTTP_NO_FAULT && !scanning.result.whole) {
        enum line_state state = next_line(&rest, &line);

        if (!scanning.result.line && sound_length(line) < line.len) {
            line.len = sound_length(line);
            state = LINE_BAD;
        }
        if (is_too_large(&scanning, (size_t)(line.ptr - bytes.ptr) + line.len))
            break;
        if (state == LINE_BAD)
            scanning.result.fault = HTTP_BAD_FRAMING;
        else if (state == LINE_PART)
            break;
        else
            scan_one(&scanning, line, (size_t)(rest.ptr - bytes.ptr));
    }
    return scanning.result;
}
