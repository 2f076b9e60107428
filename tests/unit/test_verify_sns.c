/* Amazon SNS: what is signed, which certificate is taken, and that no address of a stranger is ever
 * followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/pem.h>

#include "requests.h"
#include "schemes.h"
#include "signer.h"

#define URL "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem"
#define OTHER_URL "https://sns.us-east-2.amazonaws.com/SimpleNotificationService-2.pem"

static EVP_PKEY *first, *second; /* Amazon's keys */
static char *first_pem, *second_pem, *ec_pem, *small_pem;

/* A certificate of a key, signed by itself; its dates are long past, which is no matter. */
static char *certificate(EVP_PKEY *pkey)
{
    X509 *cert = X509_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes, *pem;
    long len;

    ASN1_TIME_set(X509_getm_notBefore(cert), 0);
    ASN1_TIME_set(X509_getm_notAfter(cert), 1);
    assert_int_equal(X509_set_pubkey(cert, pkey), 1);
    assert_true(X509_sign(cert, pkey, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
    len = BIO_get_mem_data(bio, &bytes);
    pem = mem_copy((struct str){bytes, (size_t)len});
    BIO_free(bio);
    X509_free(cert);
    return pem;
}

static int make_keys(void **state)
{
    EVP_PKEY *ec = signer_key("P-256"), *small = signer_key("RSA1024");

    (void)state;
    first = signer_key("RSA2048");
    second = signer_key("RSA2048");
    first_pem = certificate(first);
    second_pem = certificate(second);
    ec_pem = certificate(ec);
    small_pem = certificate(small);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(small);
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    EVP_PKEY_free(first);
    EVP_PKEY_free(second);
    free(first_pem);
    free(second_pem);
    free(ec_pem);
    free(small_pem);
    return 0;
}

/* ---- what can be configured ---- */

static void assert_certificates_said(const char *text, const char *want)
{
    struct str secret = str_from(text);

    assert_said(
        &(struct verify_spec){.algorithm = STR("sns"), .secrets = &secret, .secret_count = 1},
        want);
}

static void test_every_mistake(void **state)
{
    struct str secret = str_from(first_pem);
    char *text;

    (void)state;
    assert_said(&(struct verify_spec){.algorithm = STR("sns")},
                "secret: is missing; write secret = file:/FOLDER/ with Amazon's certificates\n");
    assert_said(&(struct verify_spec){.algorithm = STR("sns"),
                                      .signature = STR("json:/Signature base64"),
                                      .timestamp = STR("json:/Timestamp iso8601"),
                                      .signed_template = STR("{body}"),
                                      .secret_encoding = STR("spki"),
                                      .secrets = &secret,
                                      .secret_count = 1},
                "signature: is not used by this kind of verification; take it away\n"
                "timestamp: is not used by this kind of verification; take it away\n"
                "signed: is not used by this kind of verification; take it away\n"
                "secret_encoding: is pem-cert here; leave it out\n");
    assert_certificates_said(first_pem, "");
    assert_certificates_said("", "secret: holds no certificate in PEM, from \"-----BEGIN "
                                 "CERTIFICATE-----\" on\n");
    assert_certificates_said("0123456789abcdef",
                             "secret: holds no certificate in PEM, from \"-----BEGIN "
                             "CERTIFICATE-----\" on\n");
    assert_certificates_said("-----BEGIN CERTIFICATE-----\nMIIF\n",
                             "secret: holds a certificate that is cut off\n");
    assert_certificates_said("-----BEGIN CERTIFICATE-----\nMIIF\n-----END CERTIFICATE-----\n",
                             "secret: is not a certificate as PEM, from \"-----BEGIN "
                             "CERTIFICATE-----\" on\n");
    assert_certificates_said(ec_pem, "secret: is a certificate of an EC key on P-256; Amazon's are "
                                     "of RSA keys\n");
    assert_certificates_said(small_pem,
                             "secret: is an RSA key of 1024 bits; it needs 2048 to 8192\n");
    text = mem_printf("# a.pem\n%s\n# b.pem\n%s", first_pem, ec_pem);
    assert_certificates_said(text, "secret: b.pem: is a certificate of an EC key on P-256; "
                                   "Amazon's are of RSA keys\n");
    free(text);
}

static void test_at_most_a_hundred_certificates(void **state)
{
    struct buf text;

    (void)state;
    for (int count = 100; count <= 101; count++) {
        buf_init(&text, BUF_NO_CAP);
        for (int i = 0; i < count; i++)
            buf_printf(&text, "# %d.pem\n%s\n", i, first_pem);
        buf_put_char(&text, '\0');
        assert_certificates_said(
            text.data, count == 100 ? ""
                                    : "secret: makes more than 100 certificates; take old ones "
                                      "away\n");
        buf_release(&text);
    }
}

/* ---- messages ---- */

/* What is said of a message; NULL: as in a good notification. "" leaves a member out. */
struct message {
    const char *text;    /* what is signed */
    const char *members; /* the members but those that say how it is signed */
    const char *version, *url, *signature;
    EVP_PKEY *key;
    const EVP_MD *md;
};

#define NOTIFICATION                                                                               \
    "\"Type\":\"Notification\",\"MessageId\":\"m1\",\"TopicArn\":\"arn\",\"Message\":\"a\\nb\","   \
    "\"Timestamp\":\"2022-07-28T21:23:58.317Z\""
#define NOTIFICATION_TEXT                                                                          \
    "Message\na\nb\nMessageId\nm1\nTimestamp\n2022-07-28T21:23:58.317Z\nTopicArn\narn\nType\n"     \
    "Notification\n"

static void put_member(struct buf *out, const char *name, const char *text)
{
    if (text[0])
        buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

static struct str body_of(const struct message *message, struct test_request *test)
{
    const char *text = message->text ? message->text : NOTIFICATION_TEXT;
    unsigned char signature[512];
    size_t len =
        signer_sign(message->key ? message->key : first, message->md ? message->md : EVP_sha256(),
                    str_from(text), signature, sizeof(signature));
    struct str base64 = signer_base64(signature, len, false, true), body;
    struct buf out;

    buf_init(&out, BUF_NO_CAP);
    buf_printf(&out, "{%s", message->members ? message->members : NOTIFICATION);
    put_member(&out, "SignatureVersion", message->version ? message->version : "2");
    put_member(&out, "SigningCertURL", message->url ? message->url : URL);
    put_member(&out, "Signature", message->signature ? message->signature : base64.ptr);
    buf_put_char(&out, '}');
    body = request_keep(test, buf_str(&out));
    buf_release(&out);
    return body;
}

static void judge_with(const char *certificates, const struct message *message,
                       enum verify_result want)
{
    struct str secret = str_from(certificates);
    struct verify_scheme *scheme = scheme_new(
        &(struct verify_spec){.algorithm = STR("sns"), .secrets = &secret, .secret_count = 1});
    struct test_request test;
    size_t matched = 99;

    request_begin(&test, STR(""));
    test.request.body = body_of(message, &test);
    if (verify_request(scheme, &test.request, &matched) != want)
        fail_msg("%.*s: not %d", STR_ARG(test.request.body), (int)want);
    assert_int_equal(matched, want == VERIFY_VALID ? 0 : 99);
    request_end(&test);
    verify_scheme_free(scheme);
}

static void judge(const struct message *message, enum verify_result want)
{
    judge_with(first_pem, message, want);
}

static void test_both_versions(void **state)
{
    (void)state;
    judge(&(struct message){0}, VERIFY_VALID);
    judge(&(struct message){.version = "1", .md = EVP_sha1()}, VERIFY_VALID);
    /* The version says how it is checked, and nothing else is tried. */
    judge(&(struct message){.version = "1"}, VERIFY_BAD);
    judge(&(struct message){.md = EVP_sha1()}, VERIFY_BAD);
    judge(&(struct message){.version = "3"}, VERIFY_BAD);
    judge(&(struct message){.version = "02"}, VERIFY_BAD);
    judge(&(struct message){.version = ""}, VERIFY_MISSING);
    judge(&(struct message){.key = second}, VERIFY_BAD);
    judge(&(struct message){.text = "Message\na\nb\n"}, VERIFY_BAD);
}

static void test_the_lines_that_are_signed(void **state)
{
    static const struct {
        const char *members, *text;
        enum verify_result want;
    } cases[] = {
        {NOTIFICATION ",\"Subject\":\"s\"",
         "Message\na\nb\nMessageId\nm1\nSubject\ns\nTimestamp\n2022-07-28T21:23:58.317Z\nTopicArn\n"
         "arn\nType\nNotification\n",
         VERIFY_VALID},
        {NOTIFICATION ",\"Subject\":\"\"",
         "Message\na\nb\nMessageId\nm1\nSubject\n\nTimestamp\n2022-07-28T21:23:58.317Z\nTopicArn\n"
         "arn\nType\nNotification\n",
         VERIFY_VALID},
        {NOTIFICATION ",\"Subject\":null", NOTIFICATION_TEXT, VERIFY_VALID},
        {NOTIFICATION ",\"Subject\":\"s\"", NOTIFICATION_TEXT, VERIFY_BAD},
        {NOTIFICATION ",\"Subject\":7", NOTIFICATION_TEXT, VERIFY_BAD},
        {NOTIFICATION ",\"UnsubscribeURL\":\"https://x\",\"MessageAttributes\":{}",
         NOTIFICATION_TEXT, VERIFY_VALID},
        /* Of two members the last counts. */
        {NOTIFICATION ",\"MessageId\":\"m2\"", NOTIFICATION_TEXT, VERIFY_BAD},
        {"\"Type\":\"SubscriptionConfirmation\",\"MessageId\":\"m1\",\"TopicArn\":\"arn\","
         "\"Message\":\"m\",\"Timestamp\":\"t\",\"Token\":\"k\",\"SubscribeURL\":\"https://s\"",
         "Message\nm\nMessageId\nm1\nSubscribeURL\nhttps://s\nTimestamp\nt\nToken\nk\nTopicArn\narn"
         "\nType\nSubscriptionConfirmation\n",
         VERIFY_VALID},
        {"\"Type\":\"UnsubscribeConfirmation\",\"MessageId\":\"m1\",\"TopicArn\":\"arn\","
         "\"Message\":\"m\",\"Timestamp\":\"t\",\"Token\":\"k\",\"SubscribeURL\":\"https://s\"",
         "Message\nm\nMessageId\nm1\nSubscribeURL\nhttps://s\nTimestamp\nt\nToken\nk\nTopicArn\narn"
         "\nType\nUnsubscribeConfirmation\n",
         VERIFY_VALID},
        {"\"Type\":\"SubscriptionConfirmation\",\"MessageId\":\"m1\",\"TopicArn\":\"arn\","
         "\"Message\":\"m\",\"Timestamp\":\"t\"",
         "Message\nm\nMessageId\nm1\nTimestamp\nt\nTopicArn\narn\nType\nSubscriptionConfirmation\n",
         VERIFY_BAD},
        {NOTIFICATION ",\"Token\":\"k\",\"SubscribeURL\":\"https://s\"", NOTIFICATION_TEXT,
         VERIFY_BAD},
        {"\"Type\":\"Other\",\"MessageId\":\"m1\",\"TopicArn\":\"arn\",\"Message\":\"m\","
         "\"Timestamp\":\"t\"",
         "Message\nm\nMessageId\nm1\nTimestamp\nt\nTopicArn\narn\nType\nOther\n", VERIFY_BAD},
        {"\"Type\":\"Notification\"", NOTIFICATION_TEXT, VERIFY_MISSING},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        judge(&(struct message){.members = cases[i].members, .text = cases[i].text}, cases[i].want);
}

static void test_a_signature_that_is_none(void **state)
{
    static const char *const bad[] = {"AAAA", "====", "not base64", "\\u0000"};

    (void)state;
    judge(&(struct message){.signature = ""}, VERIFY_MISSING);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        judge(&(struct message){.signature = bad[i]}, VERIFY_BAD);
}

static void test_bodies_that_are_no_message(void **state)
{
    static const struct {
        const char *body;
        enum verify_result want;
    } cases[] = {
        {"", VERIFY_BAD},       {"{", VERIFY_BAD},         {"[]", VERIFY_MISSING},
        {"{}", VERIFY_MISSING}, {"\"x\"", VERIFY_MISSING}, {"{\"Signature\":7}", VERIFY_BAD},
    };
    struct str secret = str_from(first_pem);
    struct verify_scheme *scheme = scheme_new(
        &(struct verify_spec){.algorithm = STR("sns"), .secrets = &secret, .secret_count = 1});

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_request test;

        request_begin(&test, str_from(cases[i].body));
        assert_int_equal(verify_request(scheme, &test.request, NULL), cases[i].want);
        request_end(&test);
    }
    verify_scheme_free(scheme);
}

/* ---- certificates ---- */

static void test_only_amazons_addresses(void **state)
{
    static const char *const good[] = {
        URL,
        "https://sns.us-gov-west-1.amazonaws.com/x.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/x.pem",
        "https://sns.abc.amazonaws.com/a/b/x.pem",
    };
    static const char *const bad[] = {
        "http://sns.eu-central-1.amazonaws.com/x.pem",
        "https://foo.amazonaws.com/x.pem",
        "https://sns.amazonaws.com/x.pem",
        "https://sns.eu.amazonaws.com/x.pem",
        "https://sns..amazonaws.com/x.pem",
        "https://sns.a.b.c.amazonaws.com/x.pem",
        "https://sns.eu-central-1.amazonaws.com.evil.example/x.pem",
        "https://sns.eu-central-1.amazonaws.com.cn.evil.example/x.pem",
        "https://sns.eu-central-1.amazonaws.community/x.pem",
        "https://sns.eu-central-1.amazonaws.com@evil.example/x.pem",
        "https://sns.eu-central-1.amazonaws.com:8443/x.pem",
        "https://sns.evil.example/x?https://sns.eu-central-1.amazonaws.com/x.pem",
        "https://evil.example/sns.eu-central-1.amazonaws.com/x.pem",
        "https://evil.example/https://sns.eu-central-1.amazonaws.com/x.pem",
        " https://sns.eu-central-1.amazonaws.com/x.pem",
        "https://sns.eu-central-1.amazonaws.com/x.pem ",
        "https://sns.eu-central-1.amazonaws.com/x.pem?a=b",
        "https://sns.eu-central-1.amazonaws.com/x.pem#a",
        "https://sns.eu-central-1.amazonaws.com/x.pem/",
        "https://sns.eu-central-1.amazonaws.com/x%2f.pem",
        "https://sns.eu-central-1.amazonaws.com/x\\\\y.pem",
        "https://sns.eu-central-1.amazonaws.com/x.pem\\u0000",
        "https://sns.eu-central-1.amazonaws.com/x.crt",
        "https://sns.eu-central-1.amazonaws.com/.pem",
        "https://sns.eu-central-1.amazonaws.com/",
        "https://sns.eu-central-1.amazonaws.com",
        "https://sns.eu_central.amazonaws.com/x.pem",
        "HTTPS://SNS.EU-CENTRAL-1.AMAZONAWS.COM/x.pem",
        "file:///etc/inboxd/x.pem",
        "x.pem",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        judge(&(struct message){.url = good[i]}, VERIFY_VALID);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        judge(&(struct message){.url = bad[i]}, VERIFY_BAD);
    judge(&(struct message){.url = ""}, VERIFY_MISSING);
}

static void test_the_address_picks_the_certificate(void **state)
{
    char *folder = mem_printf("# SimpleNotificationService-1.pem\n%s\n"
                              "# SimpleNotificationService-2.pem\n%s\n",
                              first_pem, second_pem);

    (void)state;
    judge_with(folder, &(struct message){0}, VERIFY_VALID);
    judge_with(folder, &(struct message){.url = OTHER_URL, .key = second}, VERIFY_VALID);
    /* A key signs only under its own name. */
    judge_with(folder, &(struct message){.url = OTHER_URL}, VERIFY_BAD);
    judge_with(folder, &(struct message){.key = second}, VERIFY_BAD);
    judge_with(folder, &(struct message){.url = "https://sns.eu-central-1.amazonaws.com/other.pem"},
               VERIFY_BAD);
    judge_with(folder,
               &(struct message){.url = "https://sns.eu-central-1.amazonaws.com/a/"
                                        "SimpleNotificationService-1.pem"},
               VERIFY_VALID);
    free(folder);
}

static void test_certificates_without_a_name_fit_every_address(void **state)
{
    char *both = mem_printf("%s%s", second_pem, first_pem);
    char *commented = mem_printf("Amazon's own\r\n%s\r\n", first_pem);

    (void)state;
    judge_with(both, &(struct message){0}, VERIFY_VALID);
    judge_with(both, &(struct message){.key = second, .url = OTHER_URL}, VERIFY_VALID);
    judge_with(commented, &(struct message){0}, VERIFY_VALID);
    free(both);
    free(commented);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake),
        cmocka_unit_test(test_at_most_a_hundred_certificates),
        cmocka_unit_test(test_both_versions),
        cmocka_unit_test(test_the_lines_that_are_signed),
        cmocka_unit_test(test_a_signature_that_is_none),
        cmocka_unit_test(test_bodies_that_are_no_message),
        cmocka_unit_test(test_only_amazons_addresses),
        cmocka_unit_test(test_the_address_picks_the_certificate),
        cmocka_unit_test(test_certificates_without_a_name_fit_every_address),
    };

    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
