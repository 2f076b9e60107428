/* Which targets name a provider. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "ingest/path.h"

struct example {
    const char *target, *provider, *query;
};

#define NAME_63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct example examples[] = {
    {"/webhooks/h", "h", NULL},
    {"/webhooks/h/", "h", NULL},
    {"/webhooks/h?x=1", "h", "x=1"},
    {"/webhooks/h/?x=1?y", "h", "x=1?y"},
    {"/webhooks/h?", "h", ""},
    {"/webhooks/stripe-eu_2.live", "stripe-eu_2.live", NULL},
    {"/webhooks/" NAME_63, NAME_63, NULL},
    {"http://hooks.example.com/webhooks/h?x", "h", "x"},
    {"HTTPS://hooks.example.com:443/webhooks/h/", "h", NULL},
    {"/webhooks/" NAME_63 "4", NULL, NULL},
    {"//webhooks/h", NULL, NULL},
    {"/webhooks/h//", NULL, NULL},
    {"/webhooks//h", NULL, NULL},
    {"/webhooks/", NULL, NULL},
    {"/webhooks", NULL, NULL},
    {"/webhooks/H", NULL, NULL},
    {"/webhooks/-h", NULL, NULL},
    {"/webhooks/h%2F", NULL, NULL},
    {"/webhooks/%68", NULL, NULL},
    {"/webhooks/h/../h", NULL, NULL},
    {"/webhooks/h#x", NULL, NULL},
    {"http://webhooks/h", NULL, NULL},
    {"http://x?/webhooks/h", NULL, NULL},
    {"*", NULL, NULL},
    {"/", NULL, NULL},
    {"", NULL, NULL},
};

static void check(const char *target, const char *what, const char *expected, struct str got)
{
    if (expected ? !got.ptr || !str_is(got, expected) : got.ptr != NULL)
        fail_msg("%s: %s is \"%.*s\"", target, what, STR_ARG(got));
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        struct path path = path_read(str_from(examples[i].target));

        check(examples[i].target, "provider", examples[i].provider, path.provider);
        if (examples[i].provider)
            check(examples[i].target, "query", examples[i].query, path.query);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
