#include <string.h>
#include <zlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ingest/intake.h"
#include "stage.h"

#define ID_MAX 512
#define INFLATED_MAX ((size_t)64 * 1024)
#define WAITING_MAX 4096

/* Never looked into. */
static char places[4];
struct writer *const inbox_writer = (struct writer *)&places[0];
struct keeper *const inbox_keeper = (struct keeper *)&places[1];
struct vault *const inbox_vault = (struct vault *)&places[2];
struct quarantine *const inbox_quarantine = (struct quarantine *)&places[3];

/* What waits: an event's item or a secret's. */
struct waiting {
    struct store_group *group;
    struct vault_item *secret;
};

static struct inbox_plan plan;
static struct waiting waiting[WAITING_MAX];
static size_t waiting_count, committed;

void inbox_begin(const struct inbox_plan *wanted)
{
    plan = *wanted;
    waiting_count = committed = 0;
}

size_t inbox_waiting(void)
{
    return waiting_count;
}

size_t inbox_committed(void)
{
    return committed;
}

/* ---- what an event may be ---- */

static bool header_is_there(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (str_equal_nocase(request->headers[i].name, str_from(name)))
            return true;
    return false;
}

static bool holds(struct str text, struct str part)
{
    return part.len == 0 || (text.len > 0 && memmem(text.ptr, text.len, part.ptr, part.len));
}

/* Whether `part` lies in what zlib makes of `packed`, read as `bits` says. */
static bool inflated_holds(struct str packed, int bits, struct str part)
{
    static char out[INFLATED_MAX];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)packed.ptr,
                  .avail_in = (unsigned)packed.len,
                  .next_out = (unsigned char *)out,
                  .avail_out = sizeof(out)};

    if (inflateInit2(&z, bits) != Z_OK)
        return false;
    /* A gzip body may have several members. */
    while (inflate(&z, Z_NO_FLUSH) == Z_STREAM_END && z.avail_in > 0)
        inflateReset(&z);
    inflateEnd(&z);
    return holds((struct str){out, sizeof(out) - z.avail_out}, part);
}

static void check_body(const struct intake *intake, const struct event *event)
{
    struct str received = intake->request->body;

    CHECK(plan.sent(received, header_is_there(&intake->view, "Transfer-Encoding")));
    if (!intake->split)
        CHECK(str_equal(event->body, received));
    else
        CHECK(holds(received, event->body) || inflated_holds(received, 15 + 32, event->body) ||
              inflated_holds(received, -15, event->body));
}

static void check_text(struct str text, size_t max)
{
    CHECK(text.len <= max && utf8_valid(text) &&
          (text.len == 0 || !memchr(text.ptr, '\0', text.len)));
}

static void check_json(struct str text)
{
    struct json_scan scan;

    CHECK(json_scan(text, NULL, JSON_DEPTH_CEILING, &scan, NULL) && !scan.needs_repair &&
          !scan.had_bom);
}

static void check_event(const struct store_item *item)
{
    const struct intake *intake = item->owner;
    const struct event *event = &item->event;

    CHECK(intake->request->body.len <= (size_t)intake->snapshot->config->max_body);
    CHECK(event->id.len > 0);
    check_text(event->id, ID_MAX);
    check_text(event->type, SIZE_MAX);
    check_text(event->key, SIZE_MAX);
    check_body(intake, event);
    check_json(event->headers);
    if (event->has_payload)
        check_json(event->document.ptr ? event->document : event->body);
}

/* ---- the writer ---- */

bool writer_put_group(struct writer *writer, struct store_group *group)
{
    CHECK(writer == inbox_writer && group->count > 0);
    for (size_t i = 0; i < group->count; i++) {
        CHECK(group->items[i].group == group && group->items[i].done);
        check_event(&group->items[i]);
    }
    if (plan.full || waiting_count == WAITING_MAX)
        return false;
    waiting[waiting_count++].group = group;
    return true;
}

static unsigned digest_of(struct str id)
{
    return (unsigned)crc32(0, (const unsigned char *)id.ptr, (unsigned)id.len);
}

static enum store_result result_of(const struct store_item *item)
{
    switch (plan.mood) {
    case INBOX_STORES:
        return STORE_STORED;
    case INBOX_KNOWS:
        return STORE_DUPLICATE;
    case INBOX_FAILS:
        return STORE_UNAVAILABLE;
    case INBOX_VARIES:
        break;
    }
    if (digest_of(item->group->items[0].event.id) % 4 == 0)
        return STORE_UNAVAILABLE;
    return digest_of(item->event.id) % 3 == 0 ? STORE_DUPLICATE : STORE_STORED;
}

/* The group may be gone with the last done(). */
static void give_back(struct store_group *group)
{
    size_t count = group->count;
    struct store_item *items = group->items;

    for (size_t i = 0; i < count; i++) {
        check_event(&items[i]); /* still there, still the same */
        items[i].result = result_of(&items[i]);
    }
    committed += items[0].result != STORE_UNAVAILABLE;
    for (size_t i = 0; i < count; i++)
        items[i].done(&items[i]);
}

/* ---- the vault ---- */

bool vault_put(struct vault *vault, struct vault_item *item)
{
    CHECK(vault == inbox_vault && item->done && item->secret.len > 0);
    CHECK(plan.sent(item->secret, true));
    if (plan.full || waiting_count == WAITING_MAX)
        return false;
    waiting[waiting_count++].secret = item;
    return true;
}

static void give_back_secret(struct vault_item *item)
{
    item->result = plan.mood == INBOX_FAILS   ? VAULT_UNAVAILABLE
                   : plan.taken               ? VAULT_TAKEN
                   : plan.mood == INBOX_KNOWS ? VAULT_SAME
                                              : VAULT_CAPTURED;
    item->done(item);
}

void inbox_release(void)
{
    plan.holds = false;
    inbox_turn();
}

void inbox_turn(void)
{
    size_t count = waiting_count;
    struct waiting next;

    if (plan.holds)
        return;
    for (size_t i = 0; i < count; i++) {
        next = waiting[i];
        if (next.group)
            give_back(next.group);
        else
            give_back_secret(next.secret);
    }
    waiting_count -= count;
    memmove(waiting, waiting + count, waiting_count * sizeof(*waiting));
    memset(waiting + waiting_count, 0, count * sizeof(*waiting));
}

/* ---- the others ---- */

struct refusal_counts *keeper_refusal_counts(struct keeper *keeper)
{
    static struct refusal_counts *counts;

    CHECK(keeper == inbox_keeper);
    if (!counts)
        counts = refusal_counts_new();
    return counts;
}

struct secret_uses *keeper_secret_uses(struct keeper *keeper)
{
    static struct secret_uses *uses;

    CHECK(keeper == inbox_keeper);
    if (!uses)
        uses = secret_uses_new();
    return uses;
}

struct confirmations *keeper_confirmations(struct keeper *keeper)
{
    static struct confirmations *confirmations;

    CHECK(keeper == inbox_keeper);
    if (!confirmations)
        confirmations = confirmations_new();
    return confirmations;
}

void quarantine_put(struct quarantine *quarantine, const struct provider_config *provider,
                    const struct request *request, const char *reason)
{
    CHECK(quarantine == inbox_quarantine && provider && reason[0]);
    CHECK(plan.sent(request->body, header_is_there(request, "Transfer-Encoding")));
}

struct secret *accepted_secret(const struct accepted_secrets *secrets, struct str provider)
{
    (void)provider;
    CHECK(!secrets);
    return NULL;
}
