/* `verify = sns`: Amazon SNS. The signature stands in the body and is over some of its members, a
 * line with the name and one with the value of each. Version 1 is RSA with SHA-1, version 2 with
 * SHA-256.
 *
 * The message says where its certificate is; nothing is ever fetched from there. The address has to
 * be one of Amazon's, and then only picks among the certificates that the operator has put down:
 * the one of that file name, or one that has no name. They are pinned: their issuers and dates are
 * not looked at. */
#include <stdlib.h>

#include "base/codec.h"
#include "base/digest.h"
#include "base/json.h"
#include "verify/key.h"
#include "verify/scheme.h"

#define CERTIFICATES_MAX 100
#define SIGNATURE_MAX 1024 /* bytes: of the largest RSA key */

/* The members that are signed, in that order, and then those that say how. */
enum member {
    MESSAGE,
    MESSAGE_ID,
    SUBJECT,
    SUBSCRIBE_URL,
    TIMESTAMP,
    TOKEN,
    TOPIC_ARN,
    TYPE,
    SIGNED, /* as many */
    SIGNATURE = SIGNED,
    VERSION,
    CERTIFICATE_URL,
    MEMBERS
};

static const struct {
    struct str pointer;
    bool always; /* in every message */
} members[MEMBERS] = {
    [MESSAGE] = {STR("/Message"), true},
    [MESSAGE_ID] = {STR("/MessageId"), true},
    [SUBJECT] = {STR("/Subject"), false},
    [SUBSCRIBE_URL] = {STR("/SubscribeURL"), false},
    [TIMESTAMP] = {STR("/Timestamp"), true},
    [TOKEN] = {STR("/Token"), false},
    [TOPIC_ARN] = {STR("/TopicArn"), true},
    [TYPE] = {STR("/Type"), true},
    [SIGNATURE] = {STR("/Signature"), true},
    [VERSION] = {STR("/SignatureVersion"), true},
    [CERTIFICATE_URL] = {STR("/SigningCertURL"), true},
};

struct certificate {
    struct str name; /* of its file; ptr NULL: it fits every address */
    struct verify_key *key;
    size_t secret; /* which of the configured ones it comes from */
};

struct sns_scheme {
    struct arena *arena;
    struct json_paths *paths; /* of all members */
    struct certificate certificates[CERTIFICATES_MAX];
    size_t count;
    struct digester *sha1, *sha256;
};

/* ---- compiling ---- */

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"

static void sns_free(void *state)
{
    struct sns_scheme *scheme = state;

    for (size_t i = 0; i < scheme->count; i++)
        verify_key_free(scheme->certificates[i].key);
    json_paths_free(scheme->paths);
    digester_free(scheme->sha1);
    digester_free(scheme->sha256);
    arena_free(scheme->arena);
    free(scheme);
}

/* The key of a certificate; NULL with the reason. */
static struct verify_key *read_key(struct str pem, struct err *err)
{
    struct verify_key *key = verify_key_read(STR("pem-cert"), pem, err);

    if (!key || verify_key_kind(key) == VERIFY_KEY_RSA)
        return key;
    err_set(err, ERR_INPUT, "is a certificate of %s; Amazon's are of RSA keys",
            verify_key_kind_text(verify_key_kind(key)));
    verify_key_free(key);
    return NULL;
}

static int add(struct sns_scheme *scheme, struct str name, struct str pem, size_t secret,
               struct err *err)
{
    struct verify_key *key;

    if (scheme->count == CERTIFICATES_MAX)
        return err_set(err, ERR_INPUT, "makes more than %d certificates; take old ones away",
                       CERTIFICATES_MAX);
    key = read_key(pem, err);
    if (!key)
        return name.ptr ? err_prefix(err, "%.*s", STR_ARG(name)) : -1;
    scheme->certificates[scheme->count++] =
        (struct certificate){arena_copy(scheme->arena, name), key, secret};
    return 0;
}

/* The name in a last line "# NAME" of what stands in front of a certificate. */
static struct str name_in(struct str text)
{
    size_t start;

    text = str_trim(text);
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    start = text.len;
    while (start > 0 && text.ptr[start - 1] != '\n')
        start--;
    text = (struct str){text.ptr + start, text.len - start};
    if (!str_starts(text, STR("# ")))
        return STR_NONE;
    return str_trim((struct str){text.ptr + 2, text.len - 2});
}

/* Certificates one after the other, each behind a line "# NAME" where it has a name: as a folder of
 * them is read. */
static int read_certificates(struct sns_scheme *scheme, struct str text, size_t secret,
                             struct err *err)
{
    bool any = false;

    for (;;) {
        const char *begin = text.len ? memmem(text.ptr, text.len, BEGIN, strlen(BEGIN)) : NULL;
        const char *end;
        struct str before, pem;

        if (!begin)
            break;
        before = (struct str){text.ptr, (size_t)(begin - text.ptr)};
        end = memmem(begin, text.len - before.len, END, strlen(END));
        if (!end)
            return err_set(err, ERR_INPUT, "holds a certificate that is cut off");
        end += strlen(END);
        pem = (struct str){begin, (size_t)(end - begin)};
        if (add(scheme, name_in(before), pem, secret, err) < 0)
            return -1;
        text = (struct str){end, text.len - before.len - pem.len};
        any = true;
    }
    return any ? 0 : err_set(err, ERR_INPUT, "holds no certificate in PEM, from \"" BEGIN "\" on");
}

static void compile_certificates(struct sns_scheme *scheme, const struct verify_spec *spec,
                                 struct scheme_mistakes *mistakes)
{
    struct err err = {0};

    if (spec->secret_encoding.ptr && !str_is(spec->secret_encoding, "raw") &&
        !str_is(spec->secret_encoding, "pem-cert")) {
        scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0, "is pem-cert here; leave it out");
        return;
    }
    if (spec->secret_count == 0)
        scheme_mistake(mistakes, VERIFY_SECRET, 0,
                       "is missing; write secret = file:/FOLDER/ with Amazon's certificates");
    for (size_t i = 0; i < spec->secret_count; i++)
        if (read_certificates(scheme, spec->secrets[i], i, &err) < 0)
            scheme_mistake(mistakes, VERIFY_SECRET, i, err.text);
}

static void *sns_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct sns_scheme *scheme = mem_alloc(sizeof(*scheme));
    struct str pointers[MEMBERS];
    struct err err;

    scheme->arena = arena_new(1024);
    compile_certificates(scheme, spec, mistakes);
    if (mistakes->any) {
        sns_free(scheme);
        return NULL;
    }
    for (size_t i = 0; i < MEMBERS; i++)
        pointers[i] = members[i].pointer;
    scheme->paths = json_paths_new(pointers, MEMBERS, &err);
    scheme->sha1 = digester_new(DIGEST_SHA1);
    scheme->sha256 = digester_new(DIGEST_SHA256);
    return scheme;
}

/* ---- the certificate's address ---- */

static bool take(struct str *text, struct str prefix)
{
    if (!str_starts(*text, prefix))
        return false;
    text->ptr += prefix.len;
    text->len -= prefix.len;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool is_path(char c)
{
    return is_word(c) || c == '/' || c == '.' || c == '_';
}

/* https://sns.REGION.amazonaws.com[.cn]/PATH.pem and nothing else: no port, no user, no query, no
 * dots that lead elsewhere. The last part of the path, or ptr NULL. */
static struct str certificate_name(struct str url)
{
    size_t region = 0, name;

    if (!take(&url, STR("https://sns.")))
        return STR_NONE;
    while (region < url.len && is_word(url.ptr[region]))
        region++;
    url = (struct str){url.ptr + region, url.len - region};
    if (region < 3 || !take(&url, STR(".amazonaws.com")))
        return STR_NONE;
    take(&url, STR(".cn"));
    if (url.len == 0 || url.ptr[0] != '/')
        return STR_NONE;
    for (size_t i = 0; i < url.len; i++)
        if (!is_path(url.ptr[i]))
            return STR_NONE;
    name = url.len;
    while (url.ptr[name - 1] != '/')
        name--;
    url = (struct str){url.ptr + name, url.len - name};
    if (url.len < 5 || !str_is((struct str){url.ptr + url.len - 4, 4}, ".pem"))
        return STR_NONE;
    return url;
}

/* ---- judging ---- */

/* The members of a message, decoded. Null is as good as not there. */
static enum verify_result read_members(const struct sns_scheme *scheme, struct str body,
                                       struct str *texts, struct arena *arena)
{
    struct json_value values[MEMBERS];
    enum verify_result result = VERIFY_VALID;
    struct json_scan scan;

    if (!json_scan(body, scheme->paths, JSON_DEPTH_DEFAULT, &scan, values))
        return VERIFY_BAD;
    for (size_t i = 0; i < MEMBERS; i++) {
        texts[i] = STR_NONE;
        if (values[i].kind == JSON_KIND_STRING)
            texts[i] = json_string_text(values[i].text, arena).bytes;
        else if (values[i].kind != JSON_KIND_ABSENT && values[i].kind != JSON_KIND_NULL)
            return VERIFY_BAD;
        else if (members[i].always)
            result = VERIFY_MISSING;
    }
    return result;
}

/* Confirmations have an address and a token, and nothing else has. */
static bool is_whole(const struct str *texts)
{
    bool confirms = str_is(texts[TYPE], "SubscriptionConfirmation") ||
                    str_is(texts[TYPE], "UnsubscribeConfirmation");

    if (!confirms && !str_is(texts[TYPE], "Notification"))
        return false;
    return confirms == (texts[SUBSCRIBE_URL].ptr != NULL) &&
           confirms == (texts[TOKEN].ptr != NULL) && (!confirms || !texts[SUBJECT].ptr);
}

static void feed(struct digester *digester, const struct str *texts)
{
    for (size_t i = 0; i < SIGNED; i++) {
        struct str pointer = members[i].pointer;

        if (!texts[i].ptr)
            continue;
        digester_add(digester, (struct str){pointer.ptr + 1, pointer.len - 1});
        digester_add(digester, STR("\n"));
        digester_add(digester, texts[i]);
        digester_add(digester, STR("\n"));
    }
}

static bool fits(const struct sns_scheme *scheme, struct str name, enum digest digest,
                 const unsigned char *hash, struct str signature, size_t *secret)
{
    for (size_t i = 0; i < scheme->count; i++) {
        const struct certificate *certificate = &scheme->certificates[i];

        if (certificate->name.ptr && !str_equal(certificate->name, name))
            continue;
        if (verify_key_check_hash(certificate->key, digest, hash, signature)) {
            *secret = certificate->secret;
            return true;
        }
    }
    return false;
}

static enum verify_result judge_message(const struct sns_scheme *scheme, const struct str *texts,
                                        size_t *secret)
{
    bool second = str_is(texts[VERSION], "2");
    struct digester *digester = second ? scheme->sha256 : scheme->sha1;
    struct str name = certificate_name(texts[CERTIFICATE_URL]);
    unsigned char signature[SIGNATURE_MAX], hash[DIGEST_MAX];
    ssize_t len =
        codec_base64_decode(texts[SIGNATURE], BASE64_STRICT, signature, sizeof(signature));

    if (len <= 0 || !name.ptr || !(second || str_is(texts[VERSION], "1")) || !is_whole(texts))
        return VERIFY_BAD;
    digester_begin(digester);
    feed(digester, texts);
    digester_end(digester, hash);
    return fits(scheme, name, second ? DIGEST_SHA256 : DIGEST_SHA1, hash,
                (struct str){(const char *)signature, (size_t)len}, secret)
               ? VERIFY_VALID
               : VERIFY_BAD;
}

static enum verify_result sns_judge(void *state, const struct request *request, size_t *secret)
{
    struct arena *arena = arena_new(4096);
    struct str texts[MEMBERS];
    enum verify_result result = read_members(state, request->body, texts, arena);

    if (result == VERIFY_VALID)
        result = judge_message(state, texts, secret);
    arena_free(arena);
    return result;
}

/* ---- for people ---- */

static void explain_certificate(const struct sns_scheme *scheme, struct str url,
                                const struct scheme_teller *teller)
{
    struct str name = certificate_name(url);
    size_t fitting = 0;

    if (!name.ptr) {
        scheme_tell(teller, "signature", "SigningCertURL is not an address of Amazon's");
        return;
    }
    for (size_t i = 0; i < scheme->count; i++)
        fitting +=
            !scheme->certificates[i].name.ptr || str_equal(scheme->certificates[i].name, name);
    if (fitting)
        scheme_tell(teller, "signature", "its certificate %.*s is among those of `secret`",
                    STR_ARG(name));
    else
        scheme_tell(teller, "signature",
                    "its certificate %.*s is none of the %zu that `secret` names: put it there",
                    STR_ARG(name), scheme->count);
}

static void sns_explain(void *state, const struct request *request,
                        const struct scheme_teller *teller)
{
    struct arena *arena = arena_new(4096);
    struct str texts[MEMBERS];
    enum verify_result result = read_members(state, request->body, texts, arena);

    if (result == VERIFY_BAD)
        scheme_tell(teller, "signature", "the body is no message of SNS");
    for (size_t i = 0; result == VERIFY_MISSING && i < MEMBERS; i++)
        if (members[i].always && !texts[i].ptr)
            scheme_tell(teller, "signature", "the body has no member %.*s",
                        STR_ARG(members[i].pointer));
    if (result == VERIFY_VALID) {
        scheme_tell(teller, "signature", "version %.*s, of a %.*s", STR_ARG(texts[VERSION]),
                    STR_ARG(texts[TYPE]));
        explain_certificate(state, texts[CERTIFICATE_URL], teller);
        if (!is_whole(texts))
            scheme_tell(teller, "signed", "the members are not those of such a message");
    }
    arena_free(arena);
}

const struct scheme_kind scheme_sns = {
    .names = (const char *const[]){"sns", NULL},
    .compile = sns_compile,
    .judge = sns_judge,
    .explain = sns_explain,
    .free = sns_free,
};
