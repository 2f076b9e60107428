/* What `inboxctl check` says of sections that work but will lose or double events: ids that change
 * with each attempt (A31), and bodies that the provider may send and that are refused (A13). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/mem.h"
#include "provider/provider.h"

/* The warnings of a section, "LINE: TEXT" each, but that its secret stands in it. Taken. */
static char *warnings_of(const char *lines)
{
    char *text = mem_printf("[provider p]\n%s\non = ignore\n", lines), *said;
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("t.conf", str_from(text), mistakes);
    struct provider *provider;
    struct buf buf;

    assert_non_null(config);
    provider = provider_new(&config->providers[0], mistakes);
    assert_non_null(provider);
    assert_int_equal(mistakes_errors(mistakes), 0);
    buf_init(&buf, BUF_NO_CAP);
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        if (!strstr(mistakes_get(mistakes, i)->text, "stands in the configuration"))
            buf_printf(&buf, "%d: %s\n", mistakes_get(mistakes, i)->line,
                       mistakes_get(mistakes, i)->text);
    said = mem_copy(buf_str(&buf));
    buf_release(&buf);
    provider_free(provider);
    config_unref(config);
    mistakes_free(mistakes);
    free(text);
    return said;
}

#define NONE "verify = none\n"
#define SIGNED "verify = hmac-sha256\nsecret = text:0123456789abcdef\nsigned = {ts}{body}\n"
#define ADVICE                                                                                     \
    ", so that each one looks like a new event; join what makes the event the same, such as "      \
    "body:/object/id + body:/action + body:/updated_at, or write sha256\n"

static void test_a31_ids_that_are_new_at_each_attempt(void **state)
{
    static const struct {
        const char *lines, *want;
    } cases[] = {
        {NONE "event_id = header:X-Request-Id",
         "3: provider \"p\": event_id: header:X-Request-Id names the attempt" ADVICE},
        {NONE "event_id = header:x-request-ID",
         "3: provider \"p\": event_id: header:x-request-ID names the attempt" ADVICE},
        {NONE "event_id = body:/id | header:traceparent",
         "3: provider \"p\": event_id: header:traceparent names the attempt" ADVICE},
        {NONE "event_id = header:X-Topic + header:X-WC-Webhook-Delivery-ID",
         "3: provider \"p\": event_id: header:X-WC-Webhook-Delivery-ID names the attempt" ADVICE},
        {SIGNED
         "signature = header:X-Sig hex\ntimestamp = header:X-Time s\nevent_id = header:X-Time",
         "7: provider \"p\": event_id: header:X-Time is the time of the attempt" ADVICE},
        {SIGNED
         "signature = header:X-Sig hex\ntimestamp = header:X-Time s\nevent_id = header:x-sig",
         "7: provider \"p\": event_id: header:x-sig signs the time of the attempt" ADVICE},
        {"verify = stripe\nsecret = text:0123456789abcdef\nevent_id = header:Stripe-Signature",
         "4: provider \"p\": event_id: header:Stripe-Signature signs the time of the "
         "attempt" ADVICE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *said = warnings_of(cases[i].lines);

        assert_string_equal(said, cases[i].want);
        free(said);
    }
}

static void test_a31_ids_that_stay(void **state)
{
    static const char *const good[] = {
        NONE "event_id = header:X-GitHub-Delivery",
        NONE "event_id = header:Idempotency-Key",
        NONE "event_id = header:X-Request-Identity",
        NONE "event_id = body:/request_id",
        NONE "event_id = sha256",
        "verify = hmac-sha256\nsecret = text:0123456789abcdef\nsigned = {body}\n"
        "signature = header:X-Sig hex\nevent_id = header:X-Sig",
        SIGNED "signature = header:X-Sig hex\ntimestamp = header:X-Time s\nevent_id = header:X-Ti",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char *said = warnings_of(good[i]);

        assert_string_equal(said, "");
        free(said);
    }
}

#define GITHUB "verify = github\nsecret = text:0123456789abcdef\n"

static void test_a13_a_limit_below_what_the_provider_sends(void **state)
{
    char *said = warnings_of(GITHUB "max_body = 1M");

    (void)state;
    assert_string_equal(said, "4: max_body: 1M is less than the 25M that this provider may send "
                              "(preset github); what is larger is refused with 413, and lost where "
                              "it is not sent again\n");
    free(said);
    said = warnings_of(GITHUB "max_body = 25M");
    assert_string_equal(said, "");
    free(said);
    said = warnings_of("verify = slack\nsecret = text:0123456789abcdef\nmax_body = 64K");
    assert_string_equal(said, "");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a31_ids_that_are_new_at_each_attempt),
        cmocka_unit_test(test_a31_ids_that_stay),
        cmocka_unit_test(test_a13_a_limit_below_what_the_provider_sends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
