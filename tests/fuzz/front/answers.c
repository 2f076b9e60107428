#include "answers.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "core/refusal.h"
#include "stage.h"

/* What libmicrohttpd answers by itself. */
static const unsigned library_statuses[] = {400, 413, 414, 431, 505};

struct answer {
    unsigned status;
    struct str result; /* ptr NULL: no such header */
    bool has_length, close;
    size_t length;
    struct str rest; /* behind the header */
};

/* Up to CR LF, which is taken too. */
static bool take_line(struct str *bytes, struct str *line)
{
    const char *end = bytes->len ? memmem(bytes->ptr, bytes->len, "\r\n", 2) : NULL;

    if (!end)
        return false;
    *line = (struct str){bytes->ptr, (size_t)(end - bytes->ptr)};
    bytes->len -= line->len + 2;
    bytes->ptr += line->len + 2;
    return true;
}

static bool is_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (((unsigned char)s.ptr[i] < ' ' && s.ptr[i] != '\t') || s.ptr[i] == 0x7f)
            return false;
    return true;
}

static void read_field(struct str line, struct answer *answer)
{
    const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    struct str name, value;

    CHECK(colon && colon > line.ptr);
    name = (struct str){line.ptr, (size_t)(colon - line.ptr)};
    value = str_trim((struct str){colon + 1, line.len - name.len - 1});
    CHECK(is_text(line) && !memchr(name.ptr, ' ', name.len));
    if (str_equal_nocase(name, STR("Content-Length"))) {
        CHECK(!answer->has_length && value.len > 0 && value.len < 8);
        for (size_t i = 0; i < value.len; i++) {
            CHECK(value.ptr[i] >= '0' && value.ptr[i] <= '9');
            answer->length = answer->length * 10 + (size_t)(value.ptr[i] - '0');
        }
        answer->has_length = true;
    }
    if (str_equal_nocase(name, STR("Inboxd-Result"))) {
        CHECK(!answer->result.ptr);
        answer->result = value;
    }
    CHECK(!str_equal_nocase(name, STR("Transfer-Encoding")));
    if (str_equal_nocase(name, STR("Connection")) && str_equal_nocase(value, STR("close")))
        answer->close = true;
}

/* False: no header of an answer, whole, is there. */
static bool read_header(struct str bytes, struct answer *answer)
{
    struct str line;

    *answer = (struct answer){.result = STR_NONE};
    if (!take_line(&bytes, &line) || line.len < 13 ||
        !(str_starts(line, STR("HTTP/1.1 ")) || str_starts(line, STR("HTTP/1.0 "))))
        return false;
    for (size_t i = 9; i < 12; i++) {
        CHECK(line.ptr[i] >= '0' && line.ptr[i] <= '9');
        answer->status = answer->status * 10 + (unsigned)(line.ptr[i] - '0');
    }
    CHECK(line.ptr[12] == ' ' && is_text(line));
    for (;;) {
        if (!take_line(&bytes, &line))
            return false;
        if (line.len == 0)
            break;
        read_field(line, answer);
    }
    answer->rest = bytes;
    return true;
}

static bool is_refusal(const struct answer *answer)
{
    for (int i = REFUSAL_NONE + 1; i < REFUSAL_COUNT; i++) {
        const struct refusal_info *info = refusal_info((enum refusal)i);

        if (info->status == answer->status && str_is(answer->result, info->result)) {
            CHECK(answer->close || !info->close);
            return true;
        }
    }
    return false;
}

static bool is_stored(const struct answer *answer)
{
    return answer->status / 100 == 2 &&
           (str_is(answer->result, "stored") || str_is(answer->result, "duplicate"));
}

static bool is_the_librarys(const struct answer *answer)
{
    for (size_t i = 0; i < ARRAY_LEN(library_statuses); i++)
        if (library_statuses[i] == answer->status)
            return answer->close;
    return false;
}

static void check_kind(const struct answer *answer)
{
    if (!answer->result.ptr)
        CHECK(is_the_librarys(answer));
    else if (str_is(answer->result, "handshake"))
        CHECK(answer->status == 200 || answer->status == 204);
    else
        CHECK(is_stored(answer) || is_refusal(answer));
}

/* libmicrohttpd 0.9.75 sends the header twice where it refuses a Content-Length by itself. */
static void skip_double(struct str bytes, struct answer *answer)
{
    struct str header = {bytes.ptr, (size_t)(answer->rest.ptr - bytes.ptr)};

    if (answer->result.ptr || !str_starts(answer->rest, header))
        return;
    answer->rest.ptr += header.len;
    answer->rest.len -= header.len;
}

/* Whether all of `bytes` is answers; whether one has a body depends on its request's method, which
 * is not known here. */
static bool read_all(struct str bytes, struct answers *answers)
{
    struct answers before;
    struct answer answer;
    struct str rest;
    bool empty;

    if (bytes.len == 0)
        return true;
    if (!read_header(bytes, &answer))
        return false;
    if (answer.status == 100)
        return read_all(answer.rest, answers);
    check_kind(&answer);
    skip_double(bytes, &answer);
    answers->count++;
    CHECK(answer.has_length || answer.status == 204);
    rest = answer.rest;
    empty = is_stored(&answer) && str_starts(rest, STR("ok 0\n"));
    answers->accepted += is_stored(&answer) && !empty;
    before = *answers;
    if (rest.len >= answer.length) {
        rest.ptr += answer.length;
        rest.len -= answer.length;
        if ((rest.len == 0 || !answer.close) && read_all(rest, answers))
            return true;
    }
    *answers = before; /* as the answer to HEAD */
    return (answer.rest.len == 0 || !answer.close) && read_all(answer.rest, answers);
}

struct answers answers_read(struct str bytes)
{
    struct answers answers = {0, 0};

    if (!read_all(bytes, &answers)) {
        fwrite(bytes.ptr, 1, bytes.len, stderr);
        CHECK(!"whole answers");
    }
    return answers;
}
