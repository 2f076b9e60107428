/* The table of keys, docs/inboxd.conf.5, config/inboxd.conf and config/presets/ say the same: every
 * key with its type, range, default and line of help, and nothing that is no key. */
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
#include "config/config.h"
#include "config/keys.h"
#include "config/presets.h"
#include "config/value.h"

#define MAN TEST_TREE "/docs/inboxd.conf.5"
#define SAMPLE TEST_TREE "/config/inboxd.conf"

/* The file with a newline before its first line; taken. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    struct buf buf;
    char *text;
    size_t got;

    assert_non_null(file);
    buf_init(&buf, BUF_NO_CAP);
    buf_put_char(&buf, '\n');
    do {
        got = fread(buf_reserve(&buf, 4096), 1, 4096, file);
        buf.len += got;
    } while (got > 0);
    assert_int_equal(fclose(file), 0);
    text = mem_copy(buf_str(&buf));
    buf_release(&buf);
    return text;
}

/* The next line; NULL at the end. `*at` moves behind it. The line is ended in place. */
static char *next_line(char **at)
{
    char *line = *at, *end;

    if (!*line)
        return NULL;
    end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

static void put_range(struct buf *buf, const struct key *key, const char *name)
{
    char min[VALUE_TEXT_SIZE], max[VALUE_TEXT_SIZE];

    value_format(key->type, key->min, min);
    value_format(key->type, key->max, max);
    buf_printf(buf, "A %s from %s to %s", name, min, max);
}

static void put_words(struct buf *buf, const struct key *key)
{
    buf_printf(buf, "One of");
    for (const struct key_word *word = key->words; word->word; word++)
        buf_printf(buf, "%s %s", word == key->words ? "" : ",", word->word);
}

/* What the manual page has to say of the key's form: "A count from 0 to 256; the default is 4." */
static void put_facts(struct buf *buf, const struct key *key)
{
    switch (key->type) {
    case KEY_COUNT:
    case KEY_SIZE:
    case KEY_DURATION:
        put_range(buf, key, key_type_text(key->type));
        break;
    case KEY_WORD:
        put_words(buf, key);
        break;
    case KEY_TOLERANCE:
        put_range(buf, key, key_type_text(key->type));
        break;
    case KEY_ADDRESS:
        buf_printf(buf, "An address");
        break;
    case KEY_ACTIONS:
        buf_printf(buf, "Actions");
        break;
    case KEY_NAMES:
        buf_printf(buf, "Names");
        break;
    case KEY_NETWORKS:
        buf_printf(buf, "Networks");
        break;
    case KEY_TEXT:
    case KEY_SETTING:
    case KEY_BACKOFF:
    case KEY_BOUNDS:
    case KEY_RATE:
    case KEY_SECRET:
        buf_printf(buf, "A %s", key_type_text(key->type));
        break;
    }
    if (key->default_text)
        buf_printf(buf, "; the default is %s", key->default_text);
    buf_printf(buf, "%s%s%s%s.\n", key->flags & KEY_REQUIRED ? "; required" : "",
               key->flags & KEY_MAY_EMPTY ? "; an empty value unsets it" : "",
               key->flags & KEY_REPEATABLE ? "; may be repeated" : "",
               key->flags & KEY_NEEDS_RESTART ? "; needs a restart" : "");
}

static void test_every_key_is_in_the_manual_page(void **state)
{
    char *page = text_of(MAN);
    char *of_providers = strstr(page, "\n.Sh KEYS OF A PROVIDER\n");

    (void)state;
    assert_non_null(of_providers);
    for (size_t i = 0; i < key_count; i++) {
        const struct key *key = &key_table[i];
        struct buf buf;
        const char *found;

        buf_init(&buf, BUF_NO_CAP);
        buf_printf(&buf, "\n.It Cm %s\n%s\n.br\n", key->name, key->help);
        put_facts(&buf, key);
        buf_put_char(&buf, '\0');
        found = strstr(key->section == KEY_PROVIDER ? of_providers : page, buf.data);
        if (!found)
            print_error("the manual page has to say:%s", buf.data);
        assert_non_null(found);
        assert_int_equal(key->section == KEY_PROVIDER, found > of_providers);
        buf_release(&buf);
    }
    free(page);
}

static void test_the_manual_page_has_no_other_keys(void **state)
{
    char *page = text_of(MAN), *at = page, *line;
    enum key_section section = KEY_INBOXD;
    bool keys = false;
    size_t seen = 0;

    (void)state;
    while ((line = next_line(&at))) {
        if (strncmp(line, ".Sh ", 4) == 0) {
            keys = strncmp(line + 4, "KEYS OF ", 8) == 0;
            section = strcmp(line + 4, "KEYS OF A PROVIDER") == 0 ? KEY_PROVIDER : KEY_INBOXD;
        }
        if (!keys || strncmp(line, ".It Cm ", 7) != 0)
            continue;
        seen++;
        if (!key_find(section, str_from(line + 7)))
            print_error("no key: %s\n", line);
        assert_non_null(key_find(section, str_from(line + 7)));
    }
    assert_int_equal(seen, key_count);
    free(page);
}

static void test_the_manual_page_lists_the_presets(void **state)
{
    char *page = text_of(MAN);
    char *list = strstr(page, "\n.Sh PRESETS\n");
    char *end = strstr(list + 1, "\n.Sh ");
    size_t items = 0;

    (void)state;
    *end = '\0';
    for (char *at = list; (at = strstr(at, "\n.It Cm ")); at++)
        items++;
    assert_int_equal(items, presets_count());
    for (size_t i = 0; i < presets_count(); i++) {
        char *want = mem_printf("\n.It Cm %.*s\n", STR_ARG(presets_get(i).name));

        assert_non_null(strstr(list, want));
        free(want);
    }
    free(page);
}

/* Parses `text`; nothing may be wrong with it. */
static struct config *parsed(const char *name, struct str text)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse(name, text, mistakes);

    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        if (!mistake->warning)
            print_error("%s:%d: %s\n%.*s\n", mistake->file, mistake->line, mistake->text,
                        STR_ARG(text));
    }
    assert_non_null(config);
    mistakes_free(mistakes);
    return config;
}

/* Adds a line of an example, with a secret that is there. */
static void put_example_line(struct buf *buf, const char *line)
{
    if (strncmp(line, "secret = ", 9) == 0 && line[9] != '"')
        line = "secret = text:0123456789abcdef";
    if (strncmp(line, "capture_key = ", 14) == 0)
        line = "capture_key = text:0123456789abcdef0123456789abcdef";
    if (strncmp(line, "handshake_token = ", 18) == 0)
        line = "handshake_token = text:0123456789abcdef";
    buf_printf(buf, "%s\n", line);
}

static void test_the_examples_of_the_manual_page_work(void **state)
{
    char *page = text_of(MAN), *at = page, *line;
    bool literal = false;
    struct buf buf;
    size_t examples = 0;

    (void)state;
    buf_init(&buf, BUF_NO_CAP);
    while ((line = next_line(&at))) {
        if (strncmp(line, ".Bd -literal", 12) == 0) {
            literal = true;
            buf_clear(&buf);
        } else if (strcmp(line, ".Ed") == 0) {
            literal = false;
            if (buf.data[0] != '[' && buf.data[0] != '#')
                continue; /* a line by itself */
            config_unref(parsed(MAN, buf_str(&buf)));
            examples++;
        } else if (literal) {
            put_example_line(&buf, line);
        }
    }
    assert_int_equal(examples, 3);
    buf_release(&buf);
    free(page);
}

/* The key of a sample's line "#key = value" or "#on pattern = value"; ptr NULL: another line. */
static struct str sample_key(const char *line, const char **value)
{
    const char *equals = strstr(line, " = ");
    size_t len = strcspn(line, " ");

    if (line[0] != '#' || line[1] == ' ' || line[1] == '[' || !equals)
        return STR_NONE;
    *value = equals + 3;
    return (struct str){line + 1, len - 1};
}

static void test_every_key_is_in_the_sample(void **state)
{
    char *sample = text_of(SAMPLE), *at = sample, *line;
    char *previous = sample;
    enum key_section section = KEY_INBOXD;
    bool seen[KEYS_MAX] = {false};

    (void)state;
    for (; (line = next_line(&at)); previous = line) {
        const struct key *key;
        const char *value;
        struct str name = sample_key(line, &value);

        if (strncmp(line, "#[provider ", 11) == 0)
            section = KEY_PROVIDER;
        if (!name.ptr)
            continue;
        key = key_find(section, name);
        if (!key)
            print_error("no key: %s\n", line);
        assert_non_null(key);
        if (strncmp(previous, "# ", 2) == 0) {
            seen[key - key_table] = true;
            assert_string_equal(previous + 2, key->help);
        }
        if (key->default_text && !(key->flags & KEY_COMPUTED))
            assert_string_equal(value, key->default_text);
    }
    for (size_t i = 0; i < key_count; i++) {
        if (!seen[i])
            print_error("not in the sample, or without its help: %s\n", key_table[i].name);
        assert_true(seen[i]);
    }
    free(sample);
}

static void test_the_sample_is_a_good_file(void **state)
{
    char *sample = text_of(SAMPLE), *at = sample, *line;
    struct config *config = parsed(SAMPLE, str_from(sample)), *defaults = parsed("", STR(""));
    const char *names[8];
    struct buf buf;

    (void)state;
    assert_int_equal(config->provider_count, 0);
    assert_int_equal(config_needs_restart(config, defaults, names, 8), 0);
    config_unref(config);
    buf_init(&buf, BUF_NO_CAP);
    while ((line = next_line(&at)))
        put_example_line(&buf, line[0] == '#' && line[1] != ' ' ? line + 1 : line);
    config = parsed(SAMPLE " without #", buf_str(&buf));
    assert_int_equal(config->provider_count, 2);
    assert_int_equal(config_needs_restart(config, defaults, names, 8), 0);
    config_unref(config);
    config_unref(defaults);
    buf_release(&buf);
    free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_in_the_manual_page),
        cmocka_unit_test(test_the_manual_page_has_no_other_keys),
        cmocka_unit_test(test_the_manual_page_lists_the_presets),
        cmocka_unit_test(test_the_examples_of_the_manual_page_work),
        cmocka_unit_test(test_every_key_is_in_the_sample),
        cmocka_unit_test(test_the_sample_is_a_good_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
