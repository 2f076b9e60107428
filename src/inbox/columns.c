/* Columns go as binary arrays, the body once: the statement makes `payload` from it. */
#include "inbox/columns.h"

#include <stdlib.h>

#include "base/mem.h"

void columns_release(struct columns *columns)
{
    free(columns->places);
    free(columns->lanes);
}

/* ---- events ---- */

static struct str provider_of(const struct batch_row *row)
{
    return row->item->event.provider;
}

static struct str id_of(const struct batch_row *row)
{
    return row->item->event.id;
}

static struct str type_of(const struct batch_row *row)
{
    return row->item->event.type;
}

static struct str key_of(const struct batch_row *row)
{
    return row->item->event.key;
}

static struct str headers_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_HEADERS ? STR("{}") : row->item->event.headers;
}

static struct str body_of(const struct batch_row *row)
{
    struct str body = row->item->event.body;

    return body.ptr ? body : STR("");
}

static struct str document_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_PAYLOAD ? STR_NONE : row->item->event.document;
}

static struct str source_ip_of(const struct batch_row *row)
{
    return row->without >= WITHOUT_HEADERS ? STR_NONE : row->item->event.source_ip;
}

static struct str class_of(const struct batch_row *row)
{
    return str_from(work_class_name(row->item->event.class));
}

static struct str sha256_of(const struct batch_row *row)
{
    return (struct str){(const char *)row->item->event.body_sha256, EVENT_SHA256_SIZE};
}

static struct str lane_of(const struct batch_row *row)
{
    return event_has_lane(&row->item->event) ? row->item->event.key : STR_NONE;
}

static bool is_repaired(const struct batch_row *row)
{
    return row->without == WITHOUT_NOTHING && row->item->event.payload_repaired;
}

/* What has no payload in the end keeps its body. */
static bool drops_body(const struct batch_row *row)
{
    return row->without == WITHOUT_NOTHING && row->item->event.drops_body;
}

static bool has_payload(const struct batch_row *row)
{
    return row->without == WITHOUT_NOTHING && row->item->event.has_payload;
}

static bool is_verified(const struct batch_row *row)
{
    return row->item->event.signature_verified;
}

static void put_column(struct db_args *args, enum db_type type, const struct batch_row *rows,
                       size_t n, struct str (*value)(const struct batch_row *row))
{
    db_args_array_begin(args, type);
    for (size_t i = 0; i < n; i++)
        db_args_element(args, value(&rows[i]));
    db_args_array_end(args);
}

static void put_flags(struct db_args *args, const struct batch_row *rows, size_t n,
                      bool (*value)(const struct batch_row *row))
{
    db_args_array_begin(args, DB_BOOL);
    for (size_t i = 0; i < n; i++)
        db_args_element_bool(args, value(&rows[i]));
    db_args_array_end(args);
}

void columns_rank(struct columns *columns, const struct batch_row *rows, size_t n)
{
    size_t places = 0;
    int64_t rank = 0;

    for (size_t i = 0; i < n; i++)
        if (rows[i].item->arrival >= places)
            places = rows[i].item->arrival + 1;
    if (columns->places_size < places) {
        columns->places_size = places;
        columns->places = mem_resize(columns->places, places * sizeof(*columns->places));
    }
    memset(columns->places, 0, places * sizeof(*columns->places));
    for (size_t i = 0; i < n; i++)
        columns->places[rows[i].item->arrival] = 1;
    for (size_t i = 0; i < places; i++)
        columns->places[i] = columns->places[i] ? ++rank : 0;
}

/* Where each row's id is in an array of ids; the array, unless the statement draws it. */
static void put_ids(const struct columns *columns, struct db_args *args,
                    const struct batch_row *rows, size_t n, const int64_t *ids)
{
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < n; i++)
        db_args_element_int8(args, ids ? (int64_t)i + 1 : columns->places[rows[i].item->arrival]);
    db_args_array_end(args);
    if (!ids) {
        db_args_null_array(args, DB_INT8);
        return;
    }
    db_args_array_begin(args, DB_INT8);
    for (size_t i = 0; i < n; i++)
        db_args_element_int8(args, ids[columns->places[rows[i].item->arrival] - 1]);
    db_args_array_end(args);
}

/* Only what comes out of the quarantine has a time of its own, and it comes one request at a time.
 */
static void put_time(struct db_args *args, const struct event *event)
{
    if (event->received_at)
        db_args_time(args, event->received_at);
    else
        db_args_null(args, DB_TIMESTAMPTZ);
}

static void put_times(struct db_args *args, const struct batch_row *rows, size_t n)
{
    db_args_array_begin(args, DB_TIMESTAMPTZ);
    for (size_t i = 0; i < n; i++) {
        const struct event *event = &rows[i].item->event;

        if (event->has_time)
            db_args_element_time(args, event->time);
        else
            db_args_element_null(args);
    }
    db_args_array_end(args);
}

void columns_put(const struct columns *columns, struct db_args *args, const struct batch_row *rows,
                 size_t n, const int64_t *ids)
{
    db_args_clear(args);
    put_column(args, DB_TEXT, rows, n, provider_of);
    put_column(args, DB_TEXT, rows, n, id_of);
    put_column(args, DB_TEXT, rows, n, type_of);
    put_column(args, DB_TEXT, rows, n, key_of);
    put_column(args, DB_TEXT, rows, n, headers_of);
    put_column(args, DB_BYTEA, rows, n, body_of);
    put_column(args, DB_TEXT, rows, n, document_of);
    put_flags(args, rows, n, is_repaired);
    put_flags(args, rows, n, has_payload);
    put_flags(args, rows, n, is_verified);
    put_column(args, DB_TEXT, rows, n, source_ip_of);
    put_column(args, DB_TEXT, rows, n, class_of);
    put_column(args, DB_BYTEA, rows, n, sha256_of);
    put_column(args, DB_TEXT, rows, n, lane_of);
    put_ids(columns, args, rows, n, ids);
    put_time(args, &rows[0].item->event);
    put_times(args, rows, n);
    put_flags(args, rows, n, drops_body);
}

/* ---- lanes ---- */

static int compare_lanes(const void *left, const void *right)
{
    const struct event *a = *(const struct event *const *)left;
    const struct event *b = *(const struct event *const *)right;
    int order = str_compare(a->provider, b->provider);

    return order ? order : str_compare(a->key, b->key);
}

/* Each lane once, sorted, at the begin of `lanes`. Returns how many. */
static size_t sort_lanes(const struct event **lanes, size_t count)
{
    size_t kept = 0;

    if (count > 0)
        qsort(lanes, count, sizeof(*lanes), compare_lanes);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_lanes(&lanes[kept - 1], &lanes[i]) != 0)
            lanes[kept++] = lanes[i];
    return kept;
}

bool columns_put_lanes(struct columns *columns, struct db_args *args, const struct batch_row *rows,
                       size_t n)
{
    size_t count = 0;

    if (columns->lanes_size < n) {
        columns->lanes_size = n;
        columns->lanes = mem_resize(columns->lanes, n * sizeof(*columns->lanes));
    }
    for (size_t i = 0; i < n; i++)
        if (event_has_lane(&rows[i].item->event))
            columns->lanes[count++] = &rows[i].item->event;
    count = sort_lanes(columns->lanes, count);
    db_args_clear(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < count; i++)
        db_args_element(args, columns->lanes[i]->provider);
    db_args_array_end(args);
    db_args_array_begin(args, DB_TEXT);
    for (size_t i = 0; i < count; i++)
        db_args_element(args, columns->lanes[i]->key);
    db_args_array_end(args);
    return count > 0;
}
