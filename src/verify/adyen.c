/* `verify = adyen`: Adyen's standard notifications. Each item of the body has its own signature,
 * HMAC-SHA256 over eight of its fields, joined by colons and not escaped (field report A34); keys
 * are hexadecimal. Every item has to be signed. All other members of an item, and the rest of the
 * body, are not authenticated. */
#include <stdlib.h>

#include "base/codec.h"
#include "base/digest.h"
#include "base/json.h"
#include "verify/scheme.h"

#define SHA256_SIZE 32

static const struct str list_pointer = {"/notificationItems", 18};

#define ITEM "/NotificationRequestItem"

/* In the order in which they are signed; the signature itself comes last. */
static const struct str pointers[] = {
    STR(ITEM "/pspReference"),
    STR(ITEM "/originalReference"),
    STR(ITEM "/merchantAccountCode"),
    STR(ITEM "/merchantReference"),
    STR(ITEM "/amount/value"),
    STR(ITEM "/amount/currency"),
    STR(ITEM "/eventCode"),
    STR(ITEM "/success"),
    STR(ITEM "/additionalData/hmacSignature"),
};

#define SIGNED (ARRAY_LEN(pointers) - 1)

struct adyen_scheme {
    struct json_paths *list, *item;
    struct secrets secrets;
    struct digester **digesters; /* one a secret */
};

/* ---- compiling ---- */

static void adyen_free(void *state)
{
    struct adyen_scheme *scheme = state;

    digesters_free(scheme->digesters, scheme->secrets.count);
    secrets_release(&scheme->secrets);
    json_paths_free(scheme->list);
    json_paths_free(scheme->item);
    free(scheme);
}

/* Adyen shows its keys in hexadecimal and never in another way, so the default is right too. */
static void compile_keys(struct adyen_scheme *scheme, const struct verify_spec *spec,
                         struct scheme_mistakes *mistakes)
{
    struct verify_spec hex = *spec;

    if (spec->secret_encoding.ptr && !str_is(spec->secret_encoding, "hex") &&
        !str_is(spec->secret_encoding, "raw")) {
        scheme_mistake(mistakes, VERIFY_SECRET_ENCODING, 0, "is hex here; leave it out");
        return;
    }
    hex.secret_encoding = STR("hex");
    secrets_compile(&scheme->secrets, &hex, mistakes);
}

static void *adyen_compile(const struct verify_spec *spec, struct scheme_mistakes *mistakes)
{
    struct adyen_scheme *scheme = mem_alloc(sizeof(*scheme));
    struct err err;

    compile_keys(scheme, spec, mistakes);
    if (mistakes->any) {
        adyen_free(scheme);
        return NULL;
    }
    scheme->digesters = secrets_key(&scheme->secrets, DIGEST_SHA256);
    scheme->list = json_paths_new(&list_pointer, 1, &err);
    scheme->item = json_paths_new(pointers, ARRAY_LEN(pointers), &err);
    return scheme;
}

/* ---- judging ---- */

/* A field as it is signed: what is not there is empty. False: it cannot be part of a text. */
static bool field_text(const struct json_value *value, struct arena *arena, struct str *text)
{
    struct json_text content;

    switch (value->kind) {
    case JSON_KIND_ABSENT:
    case JSON_KIND_NULL:
        *text = STR("");
        return true;
    case JSON_KIND_NUMBER:
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        *text = value->text;
        return true;
    case JSON_KIND_STRING:
        content = json_string_text(value->text, arena);
        *text = content.bytes;
        return !content.lone_surrogate;
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        break;
    }
    return false;
}

static bool fits(const struct adyen_scheme *scheme, const struct str *fields,
                 const unsigned char *offered, size_t *secret)
{
    unsigned char digest[DIGEST_MAX];
    bool found = false;

    for (size_t i = 0; i < scheme->secrets.count && !found; i++) {
        struct digester *digester = scheme->digesters[i];

        digester_begin(digester);
        for (size_t j = 0; j < SIGNED; j++) {
            if (j > 0)
                digester_add(digester, STR(":"));
            digester_add(digester, fields[j]);
        }
        digester_end(digester, digest);
        found = digest_equal(offered, digest, SHA256_SIZE);
        *secret = i;
    }
    secret_wipe(digest, sizeof(digest));
    return found;
}

static enum verify_result judge_item(const struct adyen_scheme *scheme, struct str item,
                                     struct arena *arena, size_t *secret)
{
    struct json_value values[ARRAY_LEN(pointers)];
    struct str fields[ARRAY_LEN(pointers)];
    unsigned char offered[SHA256_SIZE];
    struct json_scan scan;

    if (!json_scan(item, scheme->item, JSON_DEPTH_DEFAULT, &scan, values))
        return VERIFY_BAD;
    if (values[SIGNED].kind == JSON_KIND_ABSENT || values[SIGNED].kind == JSON_KIND_NULL)
        return VERIFY_MISSING;
    for (size_t i = 0; i < ARRAY_LEN(pointers); i++)
        if (!field_text(&values[i], arena, &fields[i]))
            return VERIFY_BAD;
    if (codec_base64_decode(fields[SIGNED], BASE64_STRICT, offered, SHA256_SIZE) != SHA256_SIZE)
        return VERIFY_BAD;
    return fits(scheme, fields, offered, secret) ? VERIFY_VALID : VERIFY_BAD;
}

static enum verify_result judge_items(const struct adyen_scheme *scheme, struct str list,
                                      struct arena *arena, size_t *secret)
{
    enum verify_result result = VERIFY_MISSING; /* no items, no signature */
    struct json_items items = json_items_begin(list);
    struct json_value item;

    while (json_items_next(&items, &item)) {
        result = judge_item(scheme, item.text, arena, secret);
        if (result != VERIFY_VALID)
            break;
    }
    return result;
}

static enum verify_result adyen_judge(void *state, const struct request *request, size_t *secret)
{
    const struct adyen_scheme *scheme = state;
    enum verify_result result;
    struct json_value list;
    struct json_scan scan;
    struct arena *arena;

    if (!json_scan(request->body, scheme->list, JSON_DEPTH_DEFAULT, &scan, &list))
        return VERIFY_BAD;
    if (list.kind != JSON_KIND_ARRAY)
        return list.kind == JSON_KIND_ABSENT ? VERIFY_MISSING : VERIFY_BAD;
    arena = arena_new(4096);
    result = judge_items(scheme, list.text, arena, secret);
    arena_free(arena);
    return result;
}

/* ---- for people ---- */

static void adyen_explain(void *state, const struct request *request,
                          const struct scheme_teller *teller)
{
    static const char *const verdicts[] = {[VERIFY_VALID] = "fits",
                                           [VERIFY_MISSING] = "is not there",
                                           [VERIFY_BAD] = "does not fit",
                                           [VERIFY_STALE] = "does not fit"};
    struct arena *arena = arena_new(4096);
    struct json_value list, item;
    struct json_items items;
    struct json_scan scan;
    size_t secret, n = 0;

    if (!json_scan(request->body, ((struct adyen_scheme *)state)->list, JSON_DEPTH_DEFAULT, &scan,
                   &list) ||
        list.kind != JSON_KIND_ARRAY) {
        scheme_tell(teller, "signature", "the body has no array notificationItems");
    } else {
        items = json_items_begin(list.text);
        while (json_items_next(&items, &item))
            scheme_tell(teller, "signature", "item %zu: additionalData.hmacSignature %s", ++n,
                        verdicts[judge_item(state, item.text, arena, &secret)]);
        if (n == 0)
            scheme_tell(teller, "signature", "notificationItems is empty");
    }
    arena_free(arena);
}

const struct scheme_kind scheme_adyen = {
    .names = (const char *const[]){"adyen", NULL},
    .reads = SCHEME_READS(VERIFY_BODY_UNAUTHENTICATED),
    .compile = adyen_compile,
    .judge = adyen_judge,
    .explain = adyen_explain,
    .free = adyen_free,
};
