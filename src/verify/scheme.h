/* The compiled parts of a scheme, shared by the files of src/verify. */
#ifndef VERIFY_SCHEME_H
#define VERIFY_SCHEME_H

#include "base/digest.h"
#include "base/json.h"
#include "base/secret.h"
#include "verify/verify.h"

enum place_kind { PLACE_HEADER, PLACE_HEADER_FAMILY, PLACE_QUERY, PLACE_JSON };

/* Where a text is read from. */
struct place {
    enum place_kind kind;
    struct str
        name; /* of the header (family: without the number) or parameter; of JSON: the pointer */
    size_t pointer; /* PLACE_JSON: its number in the scheme's pointers */
};

enum encoding { ENCODING_HEX, ENCODING_BASE64, ENCODING_BASE64URL };
enum time_unit { TIME_S, TIME_MS, TIME_ISO8601 };

struct signature_rule {
    struct place place;
    char split; /* '\0': the value is one item */
    struct str prefix;
    enum encoding encoding;
    bool repeat; /* the header may come several times */
};

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

struct template
{
    struct part parts[PARTS_MAX];
    size_t count;
};

struct verify_scheme {
    struct arena *arena; /* holds all texts */
    enum digest digest;
    bool keyed;
    struct signature_rule signature;
    struct time_rule time;
    struct template template;
    struct str public_url;
    int64_t tolerance_us;
    struct secret **secrets;     /* decoded */
    struct digester **digesters; /* one a secret where keyed, else one */
    size_t secret_count;
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
int scheme_pointer(struct verify_scheme *scheme, struct str pointer, size_t *number,
                   struct err *err) MUST_CHECK;

/* A word of a blank-separated text; ptr NULL at the end. */
struct str scheme_word(struct str *rest);
int place_parse(struct verify_scheme *scheme, struct str word, struct place *place,
                struct err *err) MUST_CHECK;

int signature_parse(struct verify_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
int time_parse(struct verify_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
int template_parse(struct verify_scheme *scheme, struct str text, struct err *err) MUST_CHECK;
bool template_has(const struct template *template, enum part_kind kind);
/* Whether a part of that kind has that name (PART_HEADER, PART_QUERY). */
bool template_names(const struct template *template, enum part_kind kind, struct str name);

/* Decodes one configured secret; NULL with the reason, which never holds the secret. */
struct secret *secret_decode(struct str encoding, struct str text, struct err *err);

/* Feeds the signed bytes into a digester. VERIFY_VALID: done. */
enum verify_result template_feed(const struct verify_scheme *scheme, struct material *material,
                                 struct str secret, struct digester *digester);

/* The JSON value of a pointer as text; false when it is not there or no scalar. */
bool material_json(struct material *material, size_t pointer, struct str *text);

/* Calls `each` for every item of the signature's list; stops when it returns true, and returns
 * that. */
bool signature_items(const struct signature_rule *rule, struct str value,
                     bool (*each)(void *argument, struct str item), void *argument);
/* The decoded signature of an item; false for items of another kind. */
bool signature_decode(const struct signature_rule *rule, struct str item, unsigned char *out,
                      size_t size);

enum time_read { TIME_READ, TIME_OUT_OF_RANGE, TIME_UNREADABLE };
/* Strictly: digits only, or RFC 3339. */
enum time_read time_read(enum time_unit unit, struct str text, int64_t *us);

#endif
