/* `verify = twilio`: HMAC-SHA1 over the URL and, for forms, over the decoded pairs behind it:
 * sorted by name and then by value, each pair once. A body that is no form is covered through the
 * parameter bodySHA256 of the signed URL. Senders disagree on whether the standard port is in the
 * URL, so both spellings are tried.
 *
 * Nothing stands between a name and its value, so a form is only as tight as Twilio makes it: bytes
 * may move between the two. */
#include <stdlib.h>

#include "base/codec.h"
#include "base/digest.h"
#include "verify/scheme.h"

#define PAIRS_MAX                                                                                  \
    1000 /* a form of more is no event, and sorting it would cost a stranger nothing */
#define SHA1_SIZE 20
#define SHA256_SIZE 32
#define URLS 2

static const struct str header_name = {"X-Twilio-Signature", 18};

struct twilio_scheme {
    struct arena *arena;
    struct str urls[URLS]; /* public_url as it is written, and the other spelling of its port */
    struct secrets secrets;
    struct digester **digesters; /* one a secret */
};

/* ---- compiling ---- */

/* Where the host and port of a URL end. */
static size_t authority_end(struct str url, size_t start)
{
    while (start < url.len && url.ptr[start] != '/')
        start++;
    return start;
}

/* The URL without its port, or with the standard one where it has none. */
static struct str other_port(struct str url, struct arena *arena)
{
    bool tls = str_starts(url, STR("https://"));
    size_t start = tls ? 8 : 7, end = authority_end(url, start), colon = end;

    while (colon > start && url.ptr[colon - 1] >= '0' && url.ptr[colon - 1] <= '9')
        colon--;
    if (colon > start && colon < end && url.ptr[colon - 1] == ':')
        return str_from(arena_printf(arena, "%.*s%.*s", (int)(colon - 1), url.ptr,
                                     (int)(url.len - end), url.ptr + end));
    return str_from(arena_printf(arena, "%.*s%s%.*s", (int)end, url.ptr, tls ? ":443" : ":80",
                                 (int)(url.len - end), url.ptr + end));
}

static void twilio_free(void *state)
{
    struct twilio_scheme *scheme = state;

    digesters_free(scheme->digesters, scheme->secrets.count);
    secrets_release(&scheme->secrets);
    arena_free(scheme->arena);
    free(scheme);
}

static void *twilio_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct twilio_scheme *scheme = mem_alloc(sizeof(*scheme));

    scheme->arena = arena_new(512);
    if (spec->public_url.ptr)
        scheme_check_url(mistakes, spec->public_url);
    else
        scheme_mistake(mistakes, VERIFY_PUBLIC_URL, 0,
                       "is missing, but Twilio signs it; write the URL as Twilio knows it");
    if (scheme_takes_raw(spec, mistakes))
        secrets_compile(&scheme->secrets, spec, mistakes);
    if (mistakes->any) {
        twilio_free(scheme);
        return NULL;
    }
    scheme->urls[0] = arena_copy(scheme->arena, spec->public_url);
    scheme->urls[1] = other_port(spec->public_url, scheme->arena);
    scheme->digesters = secrets_key(&scheme->secrets, DIGEST_SHA1);
    return scheme;
}

/* ---- what is signed behind the URL ---- */

struct pair {
    struct str name, value;
};

struct form {
    struct pair *pairs;
    size_t count;
};

static bool unescape(struct str *text, struct arena *arena)
{
    char *plain = arena_bytes(arena, text->len + 1);
    ssize_t len = codec_percent_decode(*text, plain);

    *text = (struct str){plain, len < 0 ? 0 : (size_t)len};
    return len >= 0;
}

static bool read_pair(struct str text, struct pair *pair, struct arena *arena)
{
    const char *equals = memchr(text.ptr, '=', text.len);
    size_t name = equals ? (size_t)(equals - text.ptr) : text.len, behind = name + (equals != NULL);

    pair->name = (struct str){text.ptr, name};
    pair->value = (struct str){text.ptr + behind, text.len - behind};
    return unescape(&pair->name, arena) && unescape(&pair->value, arena);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    int order = str_compare(left->name, right->name);

    return order ? order : str_compare(left->value, right->value);
}

/* The pairs of a body, in the order in which they are signed. False: a broken escape, or too many.
 */
static bool read_form(struct str body, struct form *form, struct arena *arena)
{
    form->pairs = arena_alloc(arena, PAIRS_MAX * sizeof(struct pair));
    while (body.len > 0) {
        const char *end = memchr(body.ptr, '&', body.len);
        struct str text = {body.ptr, end ? (size_t)(end - body.ptr) : body.len};
        size_t taken = text.len + (end != NULL);

        if (text.len > 0 &&
            (form->count == PAIRS_MAX || !read_pair(text, &form->pairs[form->count++], arena)))
            return false;
        body = (struct str){body.ptr + taken, body.len - taken};
    }
    qsort(form->pairs, form->count, sizeof(struct pair), compare_pairs);
    return true;
}

/* Whether bodySHA256 is that of the body. */
static bool body_fits(struct str body, struct str hex)
{
    unsigned char wanted[SHA256_SIZE], sha256[SHA256_SIZE];

    if (codec_hex_decode(hex, wanted, sizeof(wanted)) != SHA256_SIZE)
        return false;
    digest_sha256(body, sha256);
    return digest_equal(wanted, sha256, SHA256_SIZE);
}

/* What is signed beside the URL. False: the body cannot have been signed. */
static bool read_body(const struct request *request, struct form *form, struct arena *arena)
{
    struct str hex;
    size_t found = request_query(request, STR("bodySHA256"), &hex);

    if (found == 0)
        return read_form(request->body, form, arena);
    return found == 1 && body_fits(request->body, hex);
}

static void compute(struct digester *digester, struct str url, const struct request *request,
                    const struct form *form, unsigned char digest[static DIGEST_MAX])
{
    digester_begin(digester);
    digester_add(digester, url);
    if (request->query.ptr) {
        digester_add(digester, STR("?"));
        digester_add(digester, request->query);
    }
    for (size_t i = 0; i < form->count; i++) {
        if (i > 0 && compare_pairs(&form->pairs[i - 1], &form->pairs[i]) == 0)
            continue;
        digester_add(digester, form->pairs[i].name);
        digester_add(digester, form->pairs[i].value);
    }
    digester_end(digester, digest);
}

/* ---- judging ---- */

static bool fits(const struct twilio_scheme *scheme, const struct request *request,
                 const struct form *form, const unsigned char *offered, size_t *secret)
{
    unsigned char digest[DIGEST_MAX];
    bool found = false;

    for (size_t i = 0; i < scheme->secrets.count && !found; i++) {
        for (size_t j = 0; j < URLS && !found; j++) {
            compute(scheme->digesters[i], scheme->urls[j], request, form, digest);
            found = digest_equal(offered, digest, SHA1_SIZE);
            *secret = i;
        }
    }
    secret_wipe(digest, sizeof(digest));
    return found;
}

static enum verify_result twilio_judge(void *state, const struct request *request, size_t *secret)
{
    const struct twilio_scheme *scheme = state;
    unsigned char offered[SHA1_SIZE];
    struct form form = {NULL, 0};
    struct arena *arena;
    struct str value;
    size_t found = request_header(request, header_name, &value);
    bool well;

    if (found == 0)
        return VERIFY_MISSING;
    if (found > 1 || codec_base64_decode(value, BASE64_STRICT, offered, SHA1_SIZE) != SHA1_SIZE)
        return VERIFY_BAD;
    arena = arena_new(4096);
    well = read_body(request, &form, arena) && fits(scheme, request, &form, offered, secret);
    arena_free(arena);
    return well ? VERIFY_VALID : VERIFY_BAD;
}

/* ---- the sender's side ---- */

static int twilio_sign(void *state, const struct request *request, int64_t age_s, bool bad,
                       struct arena *arena, struct header *headers, size_t max, size_t *count,
                       struct err *err)
{
    const struct twilio_scheme *scheme = state;
    unsigned char digest[DIGEST_MAX];
    char text[CODEC_BASE64_SIZE(SHA1_SIZE)];
    struct form form = {NULL, 0};

    (void)age_s;
    if (max == 0)
        return err_set(err, ERR_NEVER, "cannot sign without room for a header");
    if (!read_body(request, &form, arena))
        return err_set(err, ERR_INPUT,
                       "cannot sign: the body is neither a form nor what bodySHA256 says");
    compute(scheme->digesters[0], scheme->urls[0], request, &form, digest);
    if (bad)
        digest[0] ^= 1;
    codec_base64_encode(digest, SHA1_SIZE, false, text);
    headers[0] = (struct header){header_name, arena_copy(arena, str_from(text))};
    *count = 1;
    return 0;
}

/* ---- for people ---- */

static void explain_body(const struct request *request, const struct scheme_teller *teller)
{
    struct arena *arena = arena_new(4096);
    struct form form = {NULL, 0};
    struct str hex;
    size_t found = request_query(request, STR("bodySHA256"), &hex);

    if (found == 0 && read_form(request->body, &form, arena))
        scheme_tell(teller, "signed", "behind it the %zu pairs of the form", form.count);
    else if (found == 0)
        scheme_tell(teller, "signed", "the body is no form, and there is no bodySHA256");
    else if (found > 1)
        scheme_tell(teller, "signed", "bodySHA256 comes %zu times, and may come once", found);
    else
        scheme_tell(teller, "signed", "bodySHA256 is %s",
                    body_fits(request->body, hex) ? "that of the body"
                                                  : "not that of the body, which was changed");
    arena_free(arena);
}

static void twilio_explain(void *state, const struct request *request,
                           const struct scheme_teller *teller)
{
    const struct twilio_scheme *scheme = state;
    unsigned char offered[SHA1_SIZE];
    struct str value;
    size_t found = request_header(request, header_name, &value);

    if (found == 0)
        scheme_tell(teller, "signature", "header X-Twilio-Signature: not there");
    else if (found > 1)
        scheme_tell(teller, "signature",
                    "header X-Twilio-Signature: comes %zu times, and may come once", found);
    else
        scheme_tell(teller, "signature", "header X-Twilio-Signature: there, %s",
                    codec_base64_decode(value, BASE64_STRICT, offered, SHA1_SIZE) == SHA1_SIZE
                        ? "base64 of 20 bytes, as HMAC-SHA1 has them"
                        : "but not the base64 of 20 bytes");
    for (size_t i = 0; i < URLS; i++)
        scheme_tell(teller, "signed", "%s%.*s%s", i ? "or " : "",
                    STR_ARG(scheme_url_shown(scheme->urls[i])),
                    request->query.ptr ? "?<query>" : "");
    explain_body(request, teller);
}

const struct scheme_kind scheme_twilio = {
    .names = (const char *const[]){"twilio", NULL},
    .compile = twilio_compile,
    .judge = twilio_judge,
    .sign = twilio_sign,
    .explain = twilio_explain,
    .free = twilio_free,
};
