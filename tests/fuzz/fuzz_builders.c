/* Any bytes as a request to the kinds that are no template: token, basic, twilio, adyen, sns.
 * Nobody has signed them, so none is ever valid; what we sign of them is. And any text as the
 * certificates of sns makes a scheme or is refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/attr.h"
#include "fields.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 3

static const struct {
    const char *algorithm, *signature;
} specs[] = {
    {"token", "header:S prefix Bearer | query:t"},
    {"token", "json:/value/*/token"},
    {"token", "json:/*"},
    {"basic", NULL},
    {"twilio", NULL},
    {"adyen", NULL},
    {"sns", NULL},
};

static struct verify_scheme *schemes[ARRAY_LEN(specs)];

static void note(void *argument, enum verify_field field, size_t index, const char *text)
{
    (void)field;
    (void)index;
    *(bool *)argument = text[0] != '\0';
}

/* A certificate whose private key is forgotten at once. */
static struct str make_certificate(void)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    X509 *cert = X509_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes, *copy;
    long len;

    ASN1_TIME_set(X509_getm_notBefore(cert), 0);
    ASN1_TIME_set(X509_getm_notAfter(cert), 1);
    if (!pkey || X509_set_pubkey(cert, pkey) != 1 || X509_sign(cert, pkey, EVP_sha256()) <= 0 ||
        PEM_write_bio_X509(bio, cert) != 1)
        abort();
    len = BIO_get_mem_data(bio, &bytes);
    copy = malloc((size_t)len);
    if (!copy)
        abort();
    memcpy(copy, bytes, (size_t)len);
    BIO_free(bio);
    X509_free(cert);
    EVP_PKEY_free(pkey);
    return (struct str){copy, (size_t)len};
}

static void make_schemes(void)
{
    struct str certificate = make_certificate();
    bool said = false;

    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct str algorithm = str_from(specs[i].algorithm);
        struct str secret = str_is(algorithm, "sns")     ? certificate
                            : str_is(algorithm, "basic") ? STR("user:0123456789abcdef0123")
                                                         : STR("0123456789abcdef01230123456789ab");
        struct verify_spec spec = {.algorithm = algorithm,
                                   .signature = str_from(specs[i].signature),
                                   .public_url = STR("https://example.com/in"),
                                   .secrets = &secret,
                                   .secret_count = 1};

        schemes[i] = verify_scheme_new(&spec, note, &said);
        if (!schemes[i])
            abort();
    }
    free((void *)(uintptr_t)certificate.ptr);
}

/* With our signature it is valid, and with one that is wrong it is not. */
static void sign_and_check(struct verify_scheme *scheme, struct request request)
{
    struct arena *arena = arena_new(1024);
    struct header header;
    struct err err;

    for (int bad = 0; bad < 2; bad++) {
        size_t count = 0;

        request.headers = &header;
        request.header_count = 0;
        if (verify_sign(scheme, &request, 0, bad, arena, &header, 1, &count, &err) < 0)
            continue;
        request.header_count = count;
        if (verify_request(scheme, &request, NULL) != (bad ? VERIFY_BAD : VERIFY_VALID))
            abort();
    }
    arena_free(arena);
}

static void tell(void *argument, const char *step, const char *text)
{
    (void)argument;
    if (!step[0] || !text[0])
        abort();
}

static void try_certificates(struct str text)
{
    struct verify_spec spec = {.algorithm = STR("sns"), .secrets = &text, .secret_count = 1};
    bool said = false;
    struct verify_scheme *scheme = verify_scheme_new(&spec, note, &said);

    if (!scheme != said)
        abort();
    verify_scheme_free(scheme);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str fields[FIELDS];
    struct header headers[3];
    struct request request = {.method = STR("POST"),
                              .target = STR("/in"),
                              .headers = headers,
                              .header_count = ARRAY_LEN(headers),
                              .received_us = INT64_C(1700000000000000)};

    if (!schemes[0])
        make_schemes();
    fields_cut(data, size, fields, FIELDS);
    headers[0] = (struct header){STR("S"), fields[0]};
    headers[1] = (struct header){STR("X-Twilio-Signature"), fields[0]};
    headers[2] = (struct header){STR("Authorization"), fields[0]};
    request.query = fields[1].len ? fields[1] : STR_NONE;
    request.body = fields[2];
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        enum verify_result result = verify_request(schemes[i], &request, NULL);

        if (result != VERIFY_BAD && result != VERIFY_MISSING)
            abort();
        verify_explain(schemes[i], &request, tell, NULL);
        sign_and_check(schemes[i], request);
    }
    try_certificates(fields[2]);
    fields_free(fields, FIELDS);
    return 0;
}
