/* The form of configuration files: what is a line, a name, a value, and what is a mistake. Each
 * case is a text and what the reader makes of it: "2[kind|name]", "3 key|argument=value", with
 * q for a quoted value and c for a comment behind it, and "!4 mistake". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/ini.h"

static const struct {
    struct str text;
    const char *want;
} cases[] = {
    {STR(""), ""},
    {STR("\n\n  \n\t\n"), ""},
    {STR("# a\n; b\n  # c\n\t;d\n#"), ""},
    {STR("[inboxd]\na = 1\n"), "1[inboxd]\n2 a=1\n"},
    {STR("[inboxd]\r\na = 1\r\n\r\n"), "1[inboxd]\n2 a=1\n"},
    {STR("\xef\xbb\xbf[inboxd]\na=1"), "1[inboxd]\n2 a=1\n"},
    {STR("[ provider\t stripe ] ; x\n"), "1[provider|stripe]c\n"},
    {STR("[provider a b]\n"), "1[provider|a b]\n"},
    {STR("[a]]\n"), "!1 only a comment that begins with \" ;\" may follow a section's \"]\"\n"},
    {STR("[a];x\n"), "!1 only a comment that begins with \" ;\" may follow a section's \"]\"\n"},
    {STR("[]\n"), "!1 the section has no name; write [inboxd] or [provider NAME]\n"},
    {STR("[ \n"), "!1 the section's \"]\" is missing; write [inboxd] or [provider NAME]\n"},
    /* keys and values */
    {STR("a=1\na =2\na= 3\na\t=\t4\t\n"), "1 a=1\n2 a=2\n3 a=3\n4 a=4\n"},
    {STR("a = b = c == d\n"), "1 a=b = c == d\n"},
    {STR("database = host=/run/postgresql dbname=x\n"),
     "1 database=host=/run/postgresql dbname=x\n"},
    {STR("on invoice.* = sql:a.b\n"), "1 on|invoice.*=sql:a.b\n"},
    {STR("on  a \t b  = x\n"), "1 on|a \t b=x\n"},
    {STR("a =\nb = ; c\nc =;\n"), "1 a=\n2 b=c\n3 c=;\n"},
    {STR("url = https://x/y:z,%41\n"), "1 url=https://x/y:z,%41\n"},
    {STR("\xc3\xa4 = \xf0\x9f\x98\x80\n"), "1 \xc3\xa4=\xf0\x9f\x98\x80\n"},
    {STR("= 1\n"), "!1 the key before \"=\" is missing; write KEY = VALUE\n"},
    {STR("a\n"), "!1 neither a section nor a setting; write [SECTION], KEY = VALUE or # COMMENT\n"},
    /* comments behind values */
    {STR("a = 1 ; x\n"), "1 a=1c\n"},
    {STR("a = 1\t;x\n"), "1 a=1c\n"},
    {STR("a = 1;x ;y ;z\n"), "1 a=1;xc\n"},
    {STR("a = 1 # x\n"), "1 a=1 # x\n"},
    {STR("a = split ;\n"), "1 a=splitc\n"},
    /* quotes */
    {STR("a = \"1 ; x\"\n"), "1 a=1 ; xq\n"},
    {STR("a = \" 1 \" ; \"\n"), "1 a= 1 qc\n"},
    {STR("a = \"\"\n"), "1 a=q\n"},
    {STR("a = \"x\\\"y\\\\z\\\\\"\n"), "1 a=x\"y\\z\\q\n"},
    {STR("a = x\"y\"\n"), "1 a=x\"y\"\n"},
    {STR("a = \"\xc3\xa4\\\"\"\n"), "1 a=\xc3\xa4\"q\n"},
    {STR("a = \"x\\ny\"\n"),
     "!1 in a quoted value only \\\" and \\\\ may follow a backslash; write \\\\ "
     "for a backslash\n"},
    {STR("a = \"x\\\n"),
     "!1 in a quoted value only \\\" and \\\\ may follow a backslash; write \\\\ for "
     "a backslash\n"},
    {STR("a = \"x\n"),
     "!1 the value's closing quote is missing; a value that begins with \" ends with "
     "\" on the same line\n"},
    {STR("a = \"x\\\"\n"),
     "!1 the value's closing quote is missing; a value that begins with \" ends "
     "with \" on the same line\n"},
    {STR("a = \"x\"y\n"),
     "!1 only a comment that begins with \" ;\" may follow a quoted value; write "
     "\\\" for a quote inside it\n"},
    {STR("a = \"x\";y\n"),
     "!1 only a comment that begins with \" ;\" may follow a quoted value; write "
     "\\\" for a quote inside it\n"},
    /* no continuation */
    {STR("a = 1\n  2\nb = 3\n"), "1 a=1\n!2 the line begins with a blank, and no line continues "
                                 "the one before it; take the blank "
                                 "away, or write the value on one line\n3 b=3\n"},
    {STR(" a = 1\n"),
     "!1 the line begins with a blank, and no line continues the one before it; take "
     "the blank away, or write the value on one line\n"},
    {STR("a = 1 \\\n2 = 3\n"), "!1 a value is not continued in the next line; write it on one "
                               "line, and in quotes where it really "
                               "ends with a backslash\n2 2=3\n"},
    {STR("a = \"c:\\\\\"\n"), "1 a=c:\\q\n"},
    /* bytes */
    {STR("a = \xff\nb = 1\n"), "!1 the line is not UTF-8; save the file as UTF-8\n2 b=1\n"},
    {STR("# \xc0\xaf\n"), "!1 the line is not UTF-8; save the file as UTF-8\n"},
    {STR("a = \xed\xa0\x80\n"), "!1 the line is not UTF-8; save the file as UTF-8\n"},
    {STR("a = x\0y\n"),
     "!1 the line holds the control character U+0000; only text and tabs may stand here\n"},
    {STR("a = 1\rb = 2\n"),
     "!1 the line holds the control character U+000D; only text and tabs may stand here\n"},
    {STR("a = \x7f\n"),
     "!1 the line holds the control character U+007F; only text and tabs may stand here\n"},
    {STR("\xef\xbb\xbf\xef\xbb\xbf[a]\n"),
     "!1 neither a section nor a setting; write [SECTION], KEY = VALUE or # COMMENT\n"},
};

static void put_line(struct buf *buf, const struct ini_line *line)
{
    if (line->kind == INI_SECTION)
        buf_printf(buf, "%d[%.*s", line->line, STR_ARG(line->name));
    else
        buf_printf(buf, "%d %.*s", line->line, STR_ARG(line->name));
    if (line->argument.ptr)
        buf_printf(buf, "|%.*s", STR_ARG(line->argument));
    if (line->kind == INI_SECTION)
        buf_printf(buf, "]");
    else
        buf_printf(buf, "=%.*s", STR_ARG(line->value));
    buf_printf(buf, "%s%s\n", line->quoted ? "q" : "", line->commented ? "c" : "");
}

/* What the reader makes of `text`; taken by the caller. */
static char *reading_of(struct str text)
{
    struct mistakes *mistakes = mistakes_new();
    char *copy = mem_copy(text), *result;
    struct ini ini;
    struct ini_line line;
    struct buf buf;
    size_t said = 0;

    buf_init(&buf, BUF_NO_CAP);
    ini_init(&ini, "t.conf", copy, text.len, mistakes);
    for (bool more = true; more;) {
        more = ini_next(&ini, &line);
        for (; said < mistakes_count(mistakes); said++)
            buf_printf(&buf, "!%d %s\n", mistakes_get(mistakes, said)->line,
                       mistakes_get(mistakes, said)->text);
        if (more)
            put_line(&buf, &line);
    }
    result = mem_copy(buf_str(&buf));
    buf_release(&buf);
    free(copy);
    mistakes_free(mistakes);
    return result;
}

static void test_readings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = reading_of(cases[i].text);

        if (strcmp(got, cases[i].want) != 0)
            print_error("case %zu: %s\n", i, cases[i].text.ptr);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

/* A text of `len` bytes: `head`, then x, then `tail`. Taken. */
static char *long_text(const char *head, size_t len, const char *tail)
{
    char *text = mem_alloc(len + 1);

    memset(text, 'x', len);
    memcpy(text, head, strlen(head));
    memcpy(text + len - strlen(tail), tail, strlen(tail));
    return text;
}

static void test_long_lines_are_whole(void **state)
{
    char *text = long_text("a = ", INI_LINE_MAX + 2, "\r\n");
    struct mistakes *mistakes = mistakes_new();
    struct ini ini;
    struct ini_line line;

    (void)state;
    ini_init(&ini, "t.conf", text, INI_LINE_MAX + 2, mistakes);
    assert_true(ini_next(&ini, &line));
    assert_int_equal(line.value.len, INI_LINE_MAX - 4);
    assert_false(ini_next(&ini, &line));
    assert_int_equal(mistakes_count(mistakes), 0);
    mistakes_free(mistakes);
    free(text);
}

static void test_long_names_are_whole(void **state)
{
    char *text = long_text("[provider ", 2000, "]");
    struct mistakes *mistakes = mistakes_new();
    struct ini ini;
    struct ini_line line;

    (void)state;
    ini_init(&ini, "t.conf", text, 2000, mistakes);
    assert_true(ini_next(&ini, &line));
    assert_int_equal(line.argument.len, 2000 - 11);
    mistakes_free(mistakes);
    free(text);
}

static void test_limits_are_named(void **state)
{
    char *text = long_text("a = ", INI_LINE_MAX + 2, "\n");
    char *got = reading_of((struct str){text, INI_LINE_MAX + 2});

    (void)state;
    assert_string_equal(got, "!1 the line has 65537 bytes; a line has at most 64K (65536)\n");
    free(got);
    free(text);
    text = long_text("a = 1\n#", INI_FILE_MAX + 1, "\n");
    got = reading_of((struct str){text, INI_FILE_MAX + 1});
    assert_string_equal(
        got, "!0 the file has more than 1M (1048576 bytes), which no configuration needs\n");
    free(got);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_long_lines_are_whole),
        cmocka_unit_test(test_long_names_are_whole),
        cmocka_unit_test(test_limits_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
