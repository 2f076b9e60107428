/* Schemes that must not exist: every contradiction, every unsafe rule and every bad secret, with
 * exactly what is said about it (field report A33 among them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "config/presets.h"
#include "schemes.h"
#include "verify/verify.h"

#define NO_PART                                                                                    \
    "; there are {body} {ts} {method} {url} {url:decoded} {header:NAME} {query:NAME} "             \
    "{json:/POINTER} {var:NAME} {secret} {sha256hex:body} {crc32:body}\n"
#define NO_PLACE " is no place; write header:NAME, header:NAME-*, query:NAME or json:/POINTER\n"
#define NO_COVER                                                                                   \
    "signed: does not cover the body; without {body} or {sha256hex:body} anybody could change "    \
    "it; "                                                                                         \
    "where the sender signs no body, write body_unauthenticated = yes\n"
#define AFTER_PLACE                                                                                \
    "; after the place come split CH, prefix TEXT, repeat any, and hex, base64 or base64url\n"

#define CIRCLE "signed: covers the place of the signature itself, which no sender can do\n"

static const struct {
    const char *algorithm, *signature, *timestamp, *signed_template, *url;
    const char *want;
} cases[] = {
    {"hmac-sha256", "header:A hex", NULL, "{body}", NULL, ""},
    {"hmac-sha1", "header:A-* base64", "header:T ms", "{ts}{body}", NULL, ""},
    {"hmac-sha512", "query:a base64url", "json:/t iso8601", "{sha256hex:body}", NULL, ""},
    {"sha256", "header:a hex", NULL, "{secret}{method}{url}{body}", "https://a.example/b", ""},

    /* No sender can sign the signature. */
    {"hmac-sha256", "json:/a hex", NULL, "{body}", NULL, CIRCLE},
    {"hmac-sha256", "json:/a hex", NULL, "{sha256hex:body}", NULL, CIRCLE},
    {"hmac-sha256", "header:A hex", NULL, "{header:a}{body}", NULL, CIRCLE},
    {"hmac-sha256", "query:a hex", NULL, "{query:a}{body}", NULL, CIRCLE},
    {"hmac-sha256", "query:a hex", NULL, "{url}{body}", "https://a.example/b", CIRCLE},
    {"hmac-sha256", "header:B hex | query:a hex", NULL, "{url:decoded}{body}",
     "https://a.example/b", CIRCLE},

    {NULL, "header:A hex", NULL, "{body}", NULL,
     "verify: is no scheme; inboxd.conf(5) lists them\n"},
    {"hmac-md5", "header:A hex", NULL, "{body}", NULL,
     "verify: is no scheme; inboxd.conf(5) lists them\n"},

    {"hmac-sha256", NULL, NULL, "{body}", NULL,
     "signature: is missing; write, for example, signature = header:X-Signature hex\n"},
    {"hmac-sha256", "", NULL, "{body}", NULL, "signature: \"\"" NO_PLACE},
    {"hmac-sha256", "X-Sig hex", NULL, "{body}", NULL, "signature: \"X-Sig\"" NO_PLACE},
    {"hmac-sha256", "header: X-Sig hex", NULL, "{body}", NULL, "signature: \"header:\"" NO_PLACE},
    {"hmac-sha256", "header:X:Sig hex", NULL, "{body}", NULL,
     "signature: \"X:Sig\" is no header's name\n"},
    {"hmac-sha256", "header:X-Sig", NULL, "{body}", NULL,
     "signature: does not say how the signature is written; add hex, base64 or base64url\n"},
    {"hmac-sha256", "header:X-Sig HEX", NULL, "{body}", NULL,
     "signature: cannot use \"HEX\"" AFTER_PLACE},
    {"hmac-sha256", "header:X-Sig split hex", NULL, "{body}", NULL,
     "signature: split wants one character, or comma, space or semicolon; not \"hex\"\n"},
    {"hmac-sha256", "header:X-Sig hex split", NULL, "{body}", NULL,
     "signature: split wants one character, or comma, space or semicolon; not \"\"\n"},
    {"hmac-sha256", "header:X-Sig hex prefix", NULL, "{body}", NULL,
     "signature: prefix wants a text\n"},
    {"hmac-sha256", "header:X-Sig hex repeat", NULL, "{body}", NULL,
     "signature: repeat is written \"repeat any\"\n"},

    {"hmac-sha256", "header:A hex |", NULL, "{body}", NULL, "signature: \"\"" NO_PLACE},
    {"hmac-sha256", "| header:A hex", NULL, "{body}", NULL, "signature: \"|\"" NO_PLACE},
    {"hmac-sha256", "header:A hex|header:B hex", NULL, "{body}", NULL,
     "signature: cannot use \"hex|header:B\"" AFTER_PLACE},
    {"hmac-sha256", "header:A | header:B hex", NULL, "{body}", NULL,
     "signature: does not say how the signature is written; add hex, base64 or base64url\n"},
    {"hmac-sha256", "header:A hex | header:B hex | header:C hex | header:D hex", NULL, "{body}",
     NULL, ""},
    {"hmac-sha256", "header:A hex | header:B hex | header:C hex | header:D hex | header:E hex",
     NULL, "{body}", NULL, "signature: has more than 4 places\n"},
    {"hmac-sha256", "header:A hex | header:B split comma hex", "item t= s", "{ts}{body}", NULL, ""},
    {"hmac-sha256", "header:A hex | header:B split comma prefix v1, hex", NULL, "{body}", NULL,
     "signature: has a prefix with the character in it at which the signature is split\n"},

    {"hmac-sha256", "query:a hex repeat any", NULL, "{body}", NULL,
     "signature: repeat any is for header:NAME, which may come twice\n"},
    {"hmac-sha256", "header:A-* hex repeat any", NULL, "{body}", NULL,
     "signature: repeat any is for header:NAME, which may come twice\n"},
    {"hmac-sha256", "header:A hex", "header:a s", "{ts}{body}", NULL,
     "timestamp: is in the place of the signature; write item PREFIX where both are in one list\n"},
    {"hmac-sha256", "query:a hex", "query:A s", "{ts}{body}", NULL, ""},
    {"hmac-sha256", "header:B hex | query:a hex", "query:a s", "{ts}{body}", NULL,
     "timestamp: is in the place of the signature; write item PREFIX where both are in one list\n"},
    {"hmac-sha256", "header:A split comma prefix t= hex", "item t= s", "{ts}{body}", NULL,
     "timestamp: has the prefix of the signatures\n"},

    {"hmac-sha256", "header:A hex", "header:T", "{ts}{body}", NULL,
     "timestamp: ends with the unit: s, ms or iso8601\n"},
    {"hmac-sha256", "header:A hex", "header:T us", "{ts}{body}", NULL,
     "timestamp: ends with the unit: s, ms or iso8601\n"},
    {"hmac-sha256", "header:A hex", "header:T s 5m", "{ts}{body}", NULL,
     "timestamp: ends with the unit: s, ms or iso8601\n"},
    {"hmac-sha256", "header:A hex", "T s", "{ts}{body}", NULL, "timestamp: \"T\"" NO_PLACE},
    {"hmac-sha256", "header:A hex", "header:T-* s", "{ts}{body}", NULL,
     "timestamp: a timestamp comes from one header, not from a numbered family\n"},
    {"hmac-sha256", "header:A split comma hex", "item", "{ts}{body}", NULL,
     "timestamp: item wants the prefix of the timestamp, such as \"item t= s\"\n"},
    {"hmac-sha256", "header:A hex", "item t= s", "{ts}{body}", NULL,
     "timestamp: is an item of a list, but `signature` does not split one\n"},
    {"hmac-sha256", "header:A hex", "header:T s", "{body}", NULL,
     "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},
    {"hmac-sha256", "header:A split comma hex", "item t= s", "{body}", NULL,
     "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},
    {"hmac-sha256", "header:A hex", "query:t s", "{body}", NULL,
     "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},

    {"hmac-sha256", "header:A hex", NULL, NULL, NULL,
     "signed: is missing; write, for example, signed = {body}\n"},
    {"hmac-sha256", "header:A hex", NULL, "", NULL, NO_COVER},
    {"hmac-sha256", "header:A hex", NULL, "{method}{json:/id}", NULL, NO_COVER},
    {"hmac-sha256", "header:A hex", NULL, "{crc32:body}", NULL, NO_COVER},
    {"hmac-sha256", "header:A hex", NULL, "{ts}.{body}", NULL,
     "signed: uses {ts}, but there is no `timestamp`\n"},
    {"hmac-sha256", "header:A hex", NULL, "{url}{body}", NULL,
     "public_url: is missing, but `signed` uses {url}; write the URL as the provider knows it\n"},
    {"hmac-sha256", "header:A hex", NULL, "{url:decoded}{body}", NULL,
     "public_url: is missing, but `signed` uses {url}; write the URL as the provider knows it\n"},
    {"hmac-sha256", "header:A hex", NULL, "{var:x}{body}", NULL,
     "signed: uses {var:x}, which is not there; write vars = x=VALUE\n"},
    {"hmac-sha256", "header:A hex", NULL, "{var:}{body}", NULL,
     "signed: cannot use {var:}" NO_PART},
    {"hmac-sha256", "header:A hex", NULL, "{secret}{body}", NULL,
     "signed: uses {secret}, which is only for verify = sha256\n"},
    {"sha256", "header:A hex", NULL, "{body}", NULL,
     "signed: has to use {secret}, or anybody could sign\n"},
    {"hmac-sha256", "header:A hex", NULL, "{body", NULL, "signed: has a { without a }\n"},
    {"hmac-sha256", "header:A hex", NULL, "{}", NULL, "signed: cannot use {}" NO_PART},
    {"hmac-sha256", "header:A hex", NULL, "{Body}", NULL, "signed: cannot use {Body}" NO_PART},
    {"hmac-sha256", "header:A hex", NULL, "{header:}{body}", NULL,
     "signed: cannot use {header:}" NO_PART},
    {"hmac-sha256", "header:A hex", NULL, "{header:a b}{body}", NULL,
     "signed: \"a b\" is no header's name\n"},
    {"hmac-sha256", "header:A hex", NULL, "{body:x}", NULL, "signed: cannot use {body:x}" NO_PART},
    {"hmac-sha256", "header:A hex", NULL,
     "{body}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}.{ts}", NULL,
     "signed: has more than 24 parts\n"},

    {"md5", "A hex", "T s", "{x}", NULL, "verify: is no scheme; inboxd.conf(5) lists them\n"},
};

static void test_every_mistake_of_a_scheme(void **state)
{
    struct str secret = STR("0123456789abcdef");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verify_spec spec = {.algorithm = str_from(cases[i].algorithm),
                                   .signature = str_from(cases[i].signature),
                                   .timestamp = str_from(cases[i].timestamp),
                                   .signed_template = str_from(cases[i].signed_template),
                                   .public_url = str_from(cases[i].url),
                                   .secrets = &secret,
                                   .secret_count = 1};

        assert_said(&spec, cases[i].want);
    }
}

static const struct {
    const char *timestamp, *signed_template, *vars, *unauthenticated, *want;
} further[] = {
    {NULL, "{body}{var:a}{var:b}", "a=1, b = x y ", NULL, ""},
    {NULL, "{body}", "", NULL, "vars: cannot use \"\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}", "a", NULL, "vars: cannot use \"a\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}", "a=", NULL, "vars: cannot use \"a=\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}", "=1", NULL, "vars: cannot use \"=1\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}", "a b=1", NULL, "vars: cannot use \"a b=1\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}{var:a}", "a=1,", NULL, "vars: cannot use \"\"; write NAME=VALUE, NAME=VALUE\n"},
    {NULL, "{body}{var:a}", "a=1, a=2", NULL, "vars: names \"a\" twice\n"},
    {NULL, "{body}", "a=1", NULL, "vars: names \"a\", which `signed` does not use as {var:a}\n"},
    {NULL, "{body}{var:a}", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", NULL,
     "vars: has more than 8 names\n"},

    {NULL, "{body}", NULL, "no", ""},
    {NULL, "{body}", NULL, "maybe", "body_unauthenticated: is yes or no\n"},
    {NULL, "{body}", NULL, "", "body_unauthenticated: is yes or no\n"},
    {NULL, "{body}", NULL, "yes",
     "body_unauthenticated: is yes, but `signed` covers the body; take it away\n"},
    {NULL, "{sha256hex:body}", NULL, "yes",
     "body_unauthenticated: is yes, but `signed` covers the body; take it away\n"},
    {NULL, "{crc32:body}", NULL, "yes", ""},
    {NULL, "{header:Id}", NULL, "yes", ""},
    {NULL, "{json:/id}", NULL, "yes", ""},
    {NULL, "{method}{url}v1{var:a}", "a=1", "yes",
     "signed: holds nothing of the request, so one signature would fit them all\n"},
    {"json:/t s", "{json:/t}{json:/token}", NULL, "yes", ""},
    {"json:/t s", "{ts}{json:/token}", NULL, "yes", ""},
    {"json:/t s", "{json:/token}", NULL, "yes",
     "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},
    {"json:/t s", "{crc32:body}", NULL, "yes",
     "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},
    {"header:T s", "{json:/token}", NULL, "no",
     NO_COVER "timestamp: is not signed, so anybody could change it; `signed` has to use {ts}\n"},
    {"query:t s", "{url:decoded}{body}", NULL, NULL, ""},
};

static void test_vars_and_bodies_that_are_not_signed(void **state)
{
    struct str secret = STR("0123456789abcdef");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(further); i++) {
        struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                                   .signature = STR("header:A hex"),
                                   .timestamp = str_from(further[i].timestamp),
                                   .signed_template = str_from(further[i].signed_template),
                                   .vars = str_from(further[i].vars),
                                   .body_unauthenticated = str_from(further[i].unauthenticated),
                                   .public_url = STR("https://a.example/b"),
                                   .secrets = &secret,
                                   .secret_count = 1};

        assert_said(&spec, further[i].want);
    }
}

static void test_pointers_that_are_none_or_too_many(void **state)
{
    struct str secret = STR("0123456789abcdef");
    struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                               .signature = STR("header:A hex"),
                               .secrets = &secret,
                               .secret_count = 1};
    struct buf said, template;
    struct verify_scheme *scheme;

    (void)state;
    buf_init(&said, BUF_NO_CAP);
    buf_init(&template, BUF_NO_CAP);
    spec.signed_template = STR("{body}{json:id}");
    assert_null(verify_scheme_new(&spec, scheme_note, &said));
    assert_true(str_starts(buf_str(&said), STR("signed: ")));
    buf_put_str(&template, STR("{body}"));
    for (int i = 0; i < 16; i++)
        buf_printf(&template, "{json:/m%d}", i);
    spec.signed_template = buf_str(&template);
    scheme = verify_scheme_new(&spec, scheme_note, &said);
    assert_non_null(scheme);
    verify_scheme_free(scheme);
    spec.signature = STR("json:/s hex");
    assert_said(&spec, "signed: names more than 16 members of the body\n");
    buf_release(&template);
    buf_release(&said);
}

#define NOT_WHSEC                                                                                  \
    "secret: is not base64 (after an optional \"whsec_\"); copy it as the provider shows it\n"

static const struct {
    const char *encoding, *secret, *want;
} secret_cases[] = {
    {NULL, "01234567", ""},
    {"raw", "01234567", ""},
    {"raw", "whsec_of_stripe_is_raw", ""},
    {"raw", "x", ""},
    {"raw", "", "secret: is empty, so anybody could sign\n"},
    {"hex", "00112233445566aA", ""},
    {"hex", "00112233445566", "secret: decodes to 7 bytes; it needs at least 8\n"},
    {"hex", "", "secret: decodes to 0 bytes; it needs at least 8\n"},
    {"hex", "00112233445566778", "secret: is not hexadecimal\n"},
    {"hex", "0011223344556677 ", "secret: is not hexadecimal\n"},
    {"base64", "MDEyMzQ1Njc=", ""},
    {"base64", "MDEyMzQ1Njc", ""},
    {"base64", "-_-_-_-_-_-_", ""},
    {"base64", "+/+/+/+/+/+/", ""},
    {"base64", "MDEyMzQ1Ng==", "secret: decodes to 7 bytes; it needs at least 8\n"},
    {"base64", "MDEyMzQ1Njc=\n", "secret: is not base64\n"},
    {"base64", "whsec_MDEyMzQ1Njc4",
     "secret: begins with \"whsec_\"; write secret_encoding = whsec\n"},
    {"hex", "whsec_MDEyMzQ1Njc4",
     "secret: begins with \"whsec_\"; write secret_encoding = whsec\n"},
    {"whsec", "whsec_MDEyMzQ1Njc=", ""},
    {"whsec", "whsec_MDEyMzQ1Njc", ""},
    {"whsec", "MDEyMzQ1Njc", ""},
    {"whsec", "whsec_-_-_-_-_-_-_", ""},
    {"whsec", "whsec_!!!!", NOT_WHSEC},
    {"whsec", "whsec_", "secret: decodes to 0 bytes; it needs at least 8\n"},
    {"whsec", "whsec_AA==", "secret: decodes to 1 bytes; it needs at least 8\n"},
    {"whsec", "v1,whsec_MDEyMzQ1Njc=", NOT_WHSEC},
    {"whsec", "", "secret: decodes to 0 bytes; it needs at least 8\n"},
    {"utf8", "01234567", "secret_encoding: is one of raw, hex, base64, whsec or jwk\n"},
};

static void test_a33_every_form_of_a_secret(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(secret_cases); i++) {
        struct str secret = str_from(secret_cases[i].secret);
        struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                                   .signature = STR("header:A hex"),
                                   .signed_template = STR("{body}"),
                                   .secret_encoding = str_from(secret_cases[i].encoding),
                                   .secrets = &secret,
                                   .secret_count = 1};

        assert_said(&spec, secret_cases[i].want);
    }
}

static void test_each_secret_is_judged(void **state)
{
    struct str secrets[] = {STR("MDEyMzQ1Njc="), STR("MDEy"), STR("")};
    struct verify_spec spec = {.algorithm = STR("hmac-sha256"),
                               .signature = STR("header:A hex"),
                               .signed_template = STR("{body}"),
                               .secret_encoding = STR("base64"),
                               .secrets = secrets,
                               .secret_count = 3};

    (void)state;
    assert_said(&spec, "secret 1: decodes to 3 bytes; it needs at least 8\n"
                       "secret 2: decodes to 0 bytes; it needs at least 8\n");
    spec.secret_count = 0;
    assert_said(&spec, "secret: is missing; write secret = file:PATH\n");
}

/* What the configuration lets pass is what there is. */
static void test_the_schemes_that_there_are(void **state)
{
    (void)state;
    for (size_t i = 0; verify_schemes[i]; i++)
        if (strcmp(verify_schemes[i], "none") != 0)
            assert_true(verify_knows(str_from(verify_schemes[i])));
    assert_true(verify_knows(STR("hmac-sha256")));
    assert_false(verify_knows(STR("HMAC-SHA256")));
    assert_false(verify_knows(STR("none")));
    assert_false(verify_knows(STR_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake_of_a_scheme),
        cmocka_unit_test(test_vars_and_bodies_that_are_not_signed),
        cmocka_unit_test(test_pointers_that_are_none_or_too_many),
        cmocka_unit_test(test_a33_every_form_of_a_secret),
        cmocka_unit_test(test_each_secret_is_judged),
        cmocka_unit_test(test_the_schemes_that_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
