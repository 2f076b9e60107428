/* The template scheme: a keyed digest or a public key's signature over what `signed =` says. Its
 * compiled parts, shared by its files: signed_compile.c makes it; signed.c judges, with
 * signed_public.c for public keys and signed_places.c for what is read from a request;
 * signed_sender.c signs; template.c, signature.c and timestamp.c each read one setting. */
#ifndef VERIFY_SIGNED_H
#define VERIFY_SIGNED_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/json.h"
#include "verify/key.h"
#include "verify/scheme.h"
#include "verify/timestamp.h"

enum signed_method {
    METHOD_KEYED, /* HMAC */
    METHOD_PLAIN, /* a digest of a text that holds the secret */
    METHOD_PUBLIC /* the sender has the private key */
};

/* What `verify =` says. */
struct signed_algorithm {
    const char *name;
    enum signed_method method;
    enum digest digest;       /* Ed25519 has its own */
    enum verify_key_kind key; /* METHOD_PUBLIC */
};

enum place_kind { PLACE_HEADER, PLACE_HEADER_FAMILY, PLACE_QUERY, PLACE_JSON };

/* Where a text is read from. */
struct place {
    enum place_kind kind;
    struct str
        name; /* of the header (family: without the number) or parameter; of JSON: the pointer */
    size_t pointer; /* PLACE_JSON: its number in the scheme's pointers */
};

enum encoding { ENCODING_HEX, ENCODING_BASE64, ENCODING_BASE64URL };

struct signature_rule {
    struct place place;
    char split; /* '\0': the value is one item */
    struct str prefix;
    enum encoding encoding;
    bool repeat; /* the header may come several times */
};

#define SIGNATURE_PLACES_MAX 4

struct time_rule {
    bool used;
    bool item; /* an item of the signature's list that begins with `prefix` */
    struct str prefix;
    struct place place;
    enum time_unit unit;
};

enum part_kind {
    PART_LITERAL,
    PART_BODY,
    PART_TS,
    PART_METHOD,
    PART_URL,
    PART_URL_DECODED,
    PART_HEADER,
    PART_QUERY,
    PART_JSON,
    PART_SECRET,
    PART_SHA256HEX,
    PART_CRC32
};

struct part {
    enum part_kind kind;
    struct str text; /* literal, or name of header or parameter */
    size_t pointer;  /* PART_JSON */
};

#define PARTS_MAX 24
#define VARS_MAX 8

struct var {
    struct str name, value;
    bool used;
};

struct template
{
    struct part parts[PARTS_MAX];
    size_t count;
};

struct signed_scheme {
    struct arena *arena; /* holds all texts */
    const struct signed_algorithm *algorithm;
    struct signature_rule signatures[SIGNATURE_PLACES_MAX]; /* any of them may fit */
    size_t signature_count;
    struct time_rule time;
    struct template template;
    struct str public_url;
    struct var vars[VARS_MAX];
    size_t var_count;
    bool body_unauthenticated;   /* the template may leave the body out */
    int64_t past_us, future_us;  /* past 0: no window */
    struct secrets secrets;      /* none with METHOD_PUBLIC */
    struct digester **digesters; /* one a secret; METHOD_PUBLIC: one */
    size_t digester_count;
    struct verify_key **keys; /* METHOD_PUBLIC */
    size_t key_count;
    struct buf text; /* scratch: what Ed25519 is over, which takes no pieces */
    struct str pointers[JSON_PATHS_MAX];
    size_t pointer_count;
    struct json_paths *paths; /* NULL: nothing is read from the body */
    bool signs_time;          /* the template has {ts} */
    bool signs_members;       /* members of the body are needed to check the signature */
    unsigned char (*digests)[DIGEST_MAX]; /* one a secret: of the request being judged */
};

/* What is read from one request before the digest is computed. */
struct material {
    const struct request *request;
    struct str timestamp;                     /* as sent; ptr NULL: none */
    struct json_value values[JSON_PATHS_MAX]; /* of scheme->pointers */
    struct arena *arena;                      /* for decoded JSON strings; NULL until needed */
};

/* The number of a pointer in the scheme; adds it. */
int scheme_pointer(struct signed_scheme *scheme, struct str pointer, size_t *number,
                   struct err *err) MUST_CHECK;

bool place_same(const struct place *a, const struct place *b);
int place_parse(struct signed_scheme *scheme, struct str word, struct place *place,
                struct err *err) MUST_CHECK;

int signature_parse(struct signed_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
int time_parse(struct signed_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
/* `vars =`, which template_parse() uses. */
int vars_parse(struct signed_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
int template_parse(struct signed_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
bool template_has(const struct template *template, enum part_kind kind);
bool template_has_url(const struct template *template); /* in one form or the other */
/* Whether the body, or a digest of it that nobody can match with another one, is signed. */
bool template_covers_body(const struct template *template);
/* Whether anything is signed that differs from request to request. */
bool template_varies(const struct template *template);
/* Whether a part of that kind has that name (PART_HEADER, PART_QUERY). */
bool template_names(const struct template *template, enum part_kind kind, struct str name);
bool template_has_pointer(const struct template *template, size_t pointer);

/* The functions of scheme_signed; as in verify/scheme.h. */
void *signed_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes);
int signed_sign(void *state, const struct request *request, int64_t age_s, bool bad,
                struct arena *arena, struct header *headers, size_t max, size_t *count,
                struct err *err) MUST_CHECK;
void signed_free(void *state);
void signed_explain(void *state, const struct request *request, const struct scheme_teller *teller);
extern const char *const signed_names[];

/* Where signed bytes go: one of both is there. */
struct sink {
    struct digester *digester;
    struct buf *text;
};

/* Feeds the signed bytes into the sink. VERIFY_VALID: done. */
enum verify_result template_feed(const struct signed_scheme *scheme, struct material *material,
                                 struct str secret, struct sink sink);

/* The JSON value of a pointer as text; false when it is not there or no scalar. */
bool material_json(struct material *material, size_t pointer, struct str *text);

/* Called for every item of the signatures' lists; true: enough. */
typedef bool signature_visitor(void *argument, const struct signature_rule *rule, struct str item);

/* Cuts the list. True: the visitor had enough. */
bool signature_items(const struct signature_rule *rule, struct str value, signature_visitor *visit,
                     void *argument);
/* The bytes of an item's signature, at most `max`; returns how many, 0 for items of another kind.
 */
size_t signature_decode(const struct signature_rule *rule, struct str item, unsigned char *out,
                        size_t max);

/* What is read from a request (signed_places.c). Whether everything is there that the scheme reads
 * from headers and the query: before anything is computed or parsed. */
bool places_all_there(const struct signed_scheme *scheme, const struct request *request);
/* Visits every item that is offered as a signature; a timestamp among them is one too.
 * VERIFY_MISSING: there is none of the places; VERIFY_BAD: one of them is there more often than it
 * may be. */
enum verify_result places_visit(const struct signed_scheme *scheme, struct material *material,
                                signature_visitor *visit, void *argument);
/* Sets material->timestamp. */
enum verify_result places_time(const struct signed_scheme *scheme, struct material *material);
/* Sets material->values; false: the body is no JSON. */
bool places_members(const struct signed_scheme *scheme, struct material *material);

/* Public keys (signed_public.c). */
void public_compile(struct signed_scheme *scheme, const struct verify_spec *spec,
                    struct scheme_mistakes *mistakes);
void public_release(struct signed_scheme *scheme);
/* VERIFY_VALID: *key says which of them fits. */
enum verify_result public_judge(struct signed_scheme *scheme, struct material *material,
                                size_t *key);

#endif
