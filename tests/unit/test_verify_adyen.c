/* Adyen's standard notifications: every item with its own signature (field report A34). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "requests.h"
#include "schemes.h"

#define KEY "00112233445566778899aabbccddeeff"

static const char key[] = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
static struct str secrets[] = {STR("ffeeddccbbaa9988"), STR(KEY)};

static struct verify_scheme *adyen(void)
{
    return scheme_new(
        &(struct verify_spec){.algorithm = STR("adyen"), .secrets = secrets, .secret_count = 2});
}

/* The signature of what is signed of an item. */
static const char *sign(struct test_request *test, const char *text)
{
    return hmac_base64(test, EVP_sha256(), (struct str){key, 16}, str_from(text));
}

static void judge(const char *body, enum verify_result want)
{
    struct verify_scheme *scheme = adyen();
    struct test_request test;
    size_t secret = 99;

    request_begin(&test, str_from(body));
    if (verify_request(scheme, &test.request, &secret) != want)
        fail_msg("%s: not %d", body, (int)want);
    assert_int_equal(secret, want == VERIFY_VALID ? 1 : 99);
    request_end(&test);
    verify_scheme_free(scheme);
}

/* A notification of one item with `members`, whose signature is over `text`. */
static void judge_item(const char *members, const char *text, enum verify_result want)
{
    struct test_request keeper;
    char body[4096];

    request_begin(&keeper, STR(""));
    snprintf(body, sizeof(body),
             "{\"live\":\"false\",\"notificationItems\":[{\"NotificationRequestItem\":{%s,"
             "\"additionalData\":{\"hmacSignature\":\"%s\"}}}]}",
             members, sign(&keeper, text));
    judge(body, want);
    request_end(&keeper);
}

static void test_every_mistake(void **state)
{
    static struct str bad[] = {STR("zz"), STR("0011"), STR("")};

    (void)state;
    assert_said(&(struct verify_spec){.algorithm = STR("adyen"),
                                      .secret_encoding = STR("hex"),
                                      .secrets = secrets,
                                      .secret_count = 2},
                "");
    assert_said(&(struct verify_spec){.algorithm = STR("adyen"),
                                      .secret_encoding = STR("raw"),
                                      .secrets = secrets,
                                      .secret_count = 2},
                "");
    assert_said(&(struct verify_spec){.algorithm = STR("adyen"),
                                      .signature = STR("header:HmacSignature base64"),
                                      .timestamp = STR("header:T s"),
                                      .signed_template = STR("{body}"),
                                      .secret_encoding = STR("base64"),
                                      .secrets = secrets,
                                      .secret_count = 2},
                "signature: is not used by this kind of verification; take it away\n"
                "timestamp: is not used by this kind of verification; take it away\n"
                "signed: is not used by this kind of verification; take it away\n"
                "secret_encoding: is hex here; leave it out\n");
    assert_said(&(struct verify_spec){.algorithm = STR("adyen"), .secrets = bad, .secret_count = 3},
                "secret: is not hexadecimal\n"
                "secret 1: decodes to 2 bytes; it needs at least 8\n"
                "secret 2: decodes to 0 bytes; it needs at least 8\n");
    assert_said(&(struct verify_spec){.algorithm = STR("adyen")},
                "secret: is missing; write secret = file:PATH\n");
}

#define MEMBERS                                                                                    \
    "\"pspReference\":\"p1\",\"originalReference\":\"o1\",\"merchantAccountCode\":\"m1\","         \
    "\"amount\":{\"value\":1130,\"currency\":\"EUR\"},\"eventCode\":\"AUTHORISATION\","            \
    "\"success\":\"true\",\"reason\":\"not signed\""

static void test_a34_fields_are_joined_unescaped(void **state)
{
    static const struct {
        const char *reference, *text;
    } cases[] = {
        {"plain", "plain"},
        {"14-08-2020-09:53:00", "14-08-2020-09:53:00"},
        {"a\\\\b", "a\\b"},
        {"\\\\:\\/\\\\/slashes", "\\:/\\/slashes"},
        {"\\u00e4\\\"", "\xc3\xa4\""},
        {"", ""},
    };
    char members[1024], text[1024];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(members, sizeof(members), "\"merchantReference\":\"%s\",%s", cases[i].reference,
                 MEMBERS);
        snprintf(text, sizeof(text), "p1:o1:m1:%s:1130:EUR:AUTHORISATION:true", cases[i].text);
        judge_item(members, text, VERIFY_VALID);
    }
}

static void test_a34_what_is_not_there_is_empty(void **state)
{
    (void)state;
    judge_item("\"pspReference\":\"p1\"", "p1:::::::", VERIFY_VALID);
    judge_item("\"pspReference\":\"p1\",\"amount\":null", "p1:::::::", VERIFY_VALID);
    judge_item("\"pspReference\":\"p1\",\"amount\":{\"currency\":\"EUR\"}",
               "p1:::::EUR::", VERIFY_VALID);
    judge_item("\"pspReference\":\"p1\",\"amount\":{\"value\":null,\"currency\":\"EUR\"}",
               "p1:::::EUR::", VERIFY_VALID);
    judge_item("\"pspReference\":\"p1\",\"originalReference\":null,\"success\":true",
               "p1:::::::true", VERIFY_VALID);
    judge_item("\"pspReference\":\"p1\",\"amount\":{\"value\":1130.0}",
               "p1::::1130.0:::", VERIFY_VALID);
}

static void test_what_was_changed(void **state)
{
    (void)state;
    judge_item("\"pspReference\":\"p2\"", "p1:::::::", VERIFY_BAD);
    judge_item("\"pspReference\":\"p1\",\"amount\":{\"value\":2}", "p1::::1:::", VERIFY_BAD);
    /* No text can be made of these. */
    judge_item("\"pspReference\":{\"a\":1}", "p1:::::::", VERIFY_BAD);
    judge_item("\"pspReference\":[]", ":::::::", VERIFY_BAD);
    judge_item("\"pspReference\":\"\\ud800\"", "\xed\xa0\x80:::::::", VERIFY_BAD);
    /* Of two members the last counts. */
    judge_item("\"pspReference\":\"p1\",\"pspReference\":\"p2\"", "p1:::::::", VERIFY_BAD);
    judge_item("\"pspReference\":\"p1\",\"pspReference\":\"p2\"", "p2:::::::", VERIFY_VALID);
}

static void test_a34_a_notification_without_signature(void **state)
{
    (void)state;
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"pspReference\":\"p1\"}}]}",
          VERIFY_MISSING);
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"additionalData\":null}}]}",
          VERIFY_MISSING);
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"additionalData\":{}}}]}",
          VERIFY_MISSING);
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"additionalData\":"
          "{\"hmacSignature\":null}}}]}",
          VERIFY_MISSING);
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"additionalData\":"
          "{\"hmacSignature\":\"\"}}}]}",
          VERIFY_BAD);
    judge("{\"notificationItems\":[{\"NotificationRequestItem\":{\"additionalData\":"
          "{\"hmacSignature\":[\"x\"]}}}]}",
          VERIFY_BAD);
    judge("{\"notificationItems\":[{}]}", VERIFY_MISSING);
    judge("{\"notificationItems\":[7]}", VERIFY_MISSING);
    judge("{\"notificationItems\":[]}", VERIFY_MISSING);
    judge("{\"notificationItems\":null}", VERIFY_BAD);
    judge("{\"notificationItems\":{}}", VERIFY_BAD);
    judge("{}", VERIFY_MISSING);
    judge("", VERIFY_BAD);
    judge("{\"notificationItems\":[", VERIFY_BAD);
}

static void test_a34_of_two_items_one_bad(void **state)
{
    static const char item[] = "{\"NotificationRequestItem\":{\"pspReference\":\"%s\","
                               "\"additionalData\":{\"hmacSignature\":\"%s\"}}}";
    struct test_request keeper;
    char good[512], bad[512], body[2048];

    (void)state;
    request_begin(&keeper, STR(""));
    snprintf(good, sizeof(good), item, "p1", sign(&keeper, "p1:::::::"));
    snprintf(bad, sizeof(bad), item, "p2", sign(&keeper, "p1:::::::"));
    snprintf(body, sizeof(body), "{\"notificationItems\":[%s,%s]}", good, good);
    judge(body, VERIFY_VALID);
    snprintf(body, sizeof(body), "{\"notificationItems\":[%s,%s]}", good, bad);
    judge(body, VERIFY_BAD);
    snprintf(body, sizeof(body), "{\"notificationItems\":[%s,%s]}", bad, good);
    judge(body, VERIFY_BAD);
    snprintf(body, sizeof(body), "{\"notificationItems\":[%s,{}]}", good);
    judge(body, VERIFY_MISSING);
    request_end(&keeper);
}

static void test_it_cannot_be_sent(void **state)
{
    struct verify_scheme *scheme = adyen();
    struct test_request test;
    struct header header;
    struct err err = {0};
    size_t count;

    (void)state;
    request_begin(&test, STR("{}"));
    assert_int_equal(verify_sign(scheme, &test.request, 0, false, NULL, &header, 1, &count, &err),
                     -1);
    assert_int_equal(err.kind, ERR_NEVER);
    assert_string_equal(err.text, "cannot sign with a scheme whose signature is not in a header");
    request_end(&test);
    verify_scheme_free(scheme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake),
        cmocka_unit_test(test_a34_fields_are_joined_unescaped),
        cmocka_unit_test(test_a34_what_is_not_there_is_empty),
        cmocka_unit_test(test_what_was_changed),
        cmocka_unit_test(test_a34_a_notification_without_signature),
        cmocka_unit_test(test_a34_of_two_items_one_bad),
        cmocka_unit_test(test_it_cannot_be_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
