/* The examples of docs/verification.md: every ini block loads without a mistake, every http block
 * is accepted by the provider that its first line names, or refused where it says so; "any body"
 * where the scheme does not cover the body. */
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
#include "provider/provider.h"
#include "requests.h"

#define PAGE TEST_TREE "/docs/verification.md"

static void read_page(struct buf *page)
{
    FILE *file = fopen(PAGE, "rb");
    size_t len;

    assert_non_null(file);
    buf_init(page, BUF_NO_CAP);
    while ((len = fread(buf_reserve(page, 4096), 1, 4096, file)) > 0)
        page->len += len;
    fclose(file);
}

/* The next block behind ```KIND; false at the end of the page. `kind` gets the words behind it. */
static bool next_block(struct str *rest, struct str *kind, struct str *block)
{
    const char *open = memmem(rest->ptr, rest->len, "\n```", 4), *line_end, *close;

    if (!open)
        return false;
    open += 4;
    line_end = memchr(open, '\n', rest->len - (size_t)(open - rest->ptr));
    assert_non_null(line_end);
    *kind = (struct str){open, (size_t)(line_end - open)};
    close = memmem(line_end, rest->len - (size_t)(line_end - rest->ptr), "\n```", 4);
    assert_non_null(close);
    *block = (struct str){line_end + 1, close > line_end ? (size_t)(close - line_end - 1) : 0};
    rest->len -= (size_t)(close + 4 - rest->ptr);
    rest->ptr = close + 4;
    return true;
}

/* Files that the page names stand in the tests' data. */
static void put_block(struct buf *text, struct str block)
{
    const char *at;

    while ((at = memmem(block.ptr, block.len, "/etc/inboxd/", 12))) {
        size_t before = (size_t)(at - block.ptr);

        buf_put(text, block.ptr, before);
        buf_put_str(text, STR(TEST_DATA "/"));
        block = (struct str){at + 12, block.len - before - 12};
    }
    buf_put_str(text, block);
    buf_put_char(text, '\n');
}

/* All ini blocks as one configuration. */
static struct config *read_sections(struct str page, struct mistakes *mistakes)
{
    struct str kind, block;
    struct config *config;
    struct buf text;

    buf_init(&text, BUF_NO_CAP);
    while (next_block(&page, &kind, &block)) {
        if (!str_is(kind, "ini"))
            continue;
        put_block(&text, block);
    }
    config = config_parse(PAGE, buf_str(&text), mistakes);
    buf_release(&text);
    return config;
}

static void assert_no_mistakes(const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!mistakes_get(mistakes, i)->warning ||
            !strstr(mistakes_get(mistakes, i)->text,
                    "stands in the configuration")) /* as the page says */
            fail_msg("%s", mistakes_get(mistakes, i)->text);
}

static struct str cut_line(struct str *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    struct str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};

    rest->ptr += line.len + (end != NULL);
    rest->len -= line.len + (end != NULL);
    return line;
}

/* "POST /webhooks/NAME[?QUERY] HTTP/1.1", headers, an empty line, the body. */
static void read_http(struct str text, struct test_request *test, struct str *provider)
{
    struct str target = cut_line(&text), line, headers = text;
    const char *query;

    assert_true(str_starts(target, STR("POST /webhooks/")));
    target.ptr += 15;
    target.len = (size_t)((const char *)memchr(target.ptr, ' ', target.len - 15) - target.ptr);
    query = memchr(target.ptr, '?', target.len);
    *provider = (struct str){target.ptr, query ? (size_t)(query - target.ptr) : target.len};
    while (cut_line(&text).len > 0)
        ;
    request_begin(test, text);
    if (query)
        test->request.query =
            request_keep(test, (struct str){query + 1, target.len - provider->len - 1});
    while ((line = cut_line(&headers)).len > 0) {
        const char *colon = memchr(line.ptr, ':', line.len);
        char *name;

        assert_non_null(colon);
        name = mem_copy((struct str){line.ptr, (size_t)(colon - line.ptr)});
        test->owned[test->owned_count++] = name;
        line.len -= strlen(name) + 1;
        line.ptr = colon + 1;
        request_add(test, name, str_trim(line));
    }
}

/* `any_body`: the scheme does not cover it. */
static void play(const struct config *config, struct str text, bool refused, bool any_body)
{
    struct arena *arena = arena_new(4096);
    struct mistakes *mistakes = mistakes_new();
    struct test_request test;
    struct provider *provider;
    enum refusal refusal;
    struct provider_events events;
    struct str name;
    bool verified;

    read_http(text, &test, &name);
    assert_non_null(config_provider(config, name));
    provider = provider_new(config_provider(config, name), mistakes);
    assert_no_mistakes(mistakes);
    assert_non_null(provider);
    refusal = provider_read(provider, &test.request, arena, &events);
    if (refusal != (refused ? REFUSAL_BAD_SIGNATURE : REFUSAL_NONE))
        fail_msg("%.*s: %s", STR_ARG(name), refusal_info(refusal)->text);
    if (!refused)
        assert_true(events.list[0].signature_verified && events.list[0].id.len > 0);
    /* With another body it is refused, or lacks what is looked for in it. */
    test.request.body = request_keep(&test, STR("{}"));
    refusal = provider_verify(provider, &test.request, &verified);
    if (any_body)
        assert_int_equal(refusal, REFUSAL_NONE);
    else
        assert_true(refusal == REFUSAL_BAD_SIGNATURE || refusal == REFUSAL_MISSING_SIGNATURE);
    provider_free(provider);
    request_end(&test);
    mistakes_free(mistakes);
    arena_free(arena);
}

static void test_the_examples_of_the_page(void **state)
{
    struct mistakes *mistakes = mistakes_new();
    struct str rest, kind, block;
    struct config *config;
    size_t played = 0;
    struct buf page;

    (void)state;
    read_page(&page);
    rest = buf_str(&page);
    config = read_sections(rest, mistakes);
    assert_no_mistakes(mistakes);
    assert_non_null(config);
    while (next_block(&rest, &kind, &block)) {
        bool refused = str_is(kind, "http refused"), any_body = str_is(kind, "http any body");

        if (!refused && !any_body && !str_is(kind, "http"))
            continue;
        play(config, block, refused, any_body);
        played += !refused;
    }
    /* Every section has one request that is accepted. */
    assert_int_equal(played, config->provider_count);
    config_unref(config);
    mistakes_free(mistakes);
    buf_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_examples_of_the_page)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
