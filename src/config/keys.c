/* The rows, and how to find one. Constant data: nothing here allocates or fails. A new setting is a
 * member in config.h, a row here, a paragraph in docs/inboxd.conf.5 and a line in
 * config/inboxd.conf; tests/unit/test_config_docs.c names the one that was forgotten. */
#include "config/keys.h"

#include <string.h>

#include "base/attr.h"
#include "config/config.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const struct key_word log_formats[] = {
    {"logfmt", LOG_LOGFMT}, {"json", LOG_JSON}, {NULL, 0}};
static const struct key_word log_levels[] = {
    {"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"warn", LOG_WARN}, {"error", LOG_ERROR}, {NULL, 0}};
static const struct key_word orders[] = {
    {"serial", ORDER_SERIAL}, {"strict", ORDER_STRICT}, {"none", ORDER_NONE}, {NULL, 0}};
static const struct key_word stores[] = {
    {"both", STORE_BOTH}, {"body", STORE_BODY}, {"payload", STORE_PAYLOAD}, {NULL, 0}};
static const struct key_word switches[] = {{"on", SWITCH_ON}, {"off", SWITCH_OFF}, {NULL, 0}};

/* One row: section, name, type, default, help, and members of struct key by name. */
#define KEY(in, key, kind, text, line, ...)                                                        \
    {                                                                                              \
        .name = #key, .section = KEY_##in, .type = KEY_##kind, .default_text = (text),             \
        .help = (line), __VA_ARGS__                                                                \
    }
#define IN_CONFIG(name) .member = offsetof(struct config, name)
#define IN_PROVIDER(name) .member = offsetof(struct provider_config, name)

/* clang-format off */
const struct key key_table[] = {
    KEY(INBOXD, database, TEXT, "dbname=inboxd",
        "The database, as a connection string of libpq.",
        IN_CONFIG(database), .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, listen, ADDRESS, "127.0.0.1:8080",
        "Where webhooks come in.",
        .flags = KEY_REPEATABLE | KEY_NEEDS_RESTART),
    KEY(INBOXD, workers, COUNT, "4",
        "Threads that run handlers; with 0 this daemon only accepts.",
        IN_CONFIG(workers), .min = 0, .max = 256),
    KEY(INBOXD, writers, COUNT, "2",
        "Threads that store what came in.",
        IN_CONFIG(writers), .min = 1, .max = 64, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, max_body, SIZE, "1M",
        "The largest body that is accepted; a larger one is answered 413.",
        IN_CONFIG(max_body), .min = KIB, .max = 128 * MIB),
    KEY(INBOXD, max_connections, COUNT, "4096",
        "The most connections that are open at once; one more is answered 503.",
        IN_CONFIG(max_connections), .min = 1, .max = 1000000, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, max_connections_per_address, COUNT, "0",
        "The most connections from one address; 0: no limit of its own.",
        IN_CONFIG(max_connections_per_address), .min = 0, .max = 1000000,
        .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, max_requests_per_connection, COUNT, "100000",
        "How many requests a connection serves before it is closed.",
        IN_CONFIG(max_requests_per_connection), .min = 1, .max = 1000000000,
        .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, max_header, SIZE, "7680",
        "The memory for the header of a request; a larger one is answered 431, or 414 where its first "
        "line alone is larger.",
        IN_CONFIG(max_header), .min = 4 * KIB, .max = MIB, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, max_buffered, SIZE, "256M",
        "The most bytes of bodies that are held at once; more is answered 503.",
        IN_CONFIG(max_buffered), .min = MIB, .max = 64 * GIB, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, header_timeout, DURATION, "15s",
        "How long the header of a request may take to arrive; then the answer is 408.",
        IN_CONFIG(header_timeout_ms), .min = SECOND, .max = HOUR, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, body_timeout, DURATION, "5m",
        "How long a body may take to arrive; then the answer is 408.",
        IN_CONFIG(body_timeout_ms), .min = SECOND, .max = DAY, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, min_rate, SIZE, "256",
        "The fewest bytes a second of a body after its first ten seconds; fewer is answered 408.",
        IN_CONFIG(min_rate), .min = 0, .max = GIB, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, idle_timeout, DURATION, "90s",
        "How long a connection may be silent before it is closed.",
        IN_CONFIG(idle_timeout_ms), .min = SECOND, .max = HOUR, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, ack_timeout, DURATION, "5s",
        "How long a sender waits for the commit at most; then the answer is 503.",
        IN_CONFIG(ack_timeout_ms), .min = 100, .max = MINUTE),
    KEY(INBOXD, shutdown_timeout, DURATION, "30s",
        "How long a stop waits for requests and handlers that have begun.",
        IN_CONFIG(shutdown_timeout_ms), .min = SECOND, .max = HOUR),
    KEY(INBOXD, module_path, TEXT, "/usr/lib/inboxd/modules",
        "The folder of the plug-ins that module: names.",
        IN_CONFIG(module_path)),
    KEY(INBOXD, retain, DURATION, "30d",
        "How long a finished event keeps its content.",
        IN_CONFIG(retain_ms), .min = SECOND, .max = 36500 * DAY),
    KEY(INBOXD, retain_dead, DURATION, "0s",
        "How long a dead event waits for somebody before it is given up; with 0 for ever.",
        IN_CONFIG(retain_dead_ms), .min = 0, .max = 36500 * DAY),
    KEY(INBOXD, retain_attempts, DURATION, "90d",
        "How long the attempts of a finished event are kept; with 0 as long as its id.",
        IN_CONFIG(retain_attempts_ms), .min = 0, .max = 36500 * DAY),
    KEY(INBOXD, retain_quarantine, DURATION, "30d",
        "How long a refused request is kept.",
        IN_CONFIG(retain_quarantine_ms), .min = SECOND, .max = 36500 * DAY),
    KEY(INBOXD, retain_audit, DURATION, "0s",
        "How long the record of what operators did is kept; with 0 for ever.",
        IN_CONFIG(retain_audit_ms), .min = 0, .max = 36500 * DAY),
    KEY(INBOXD, retain_ids, DURATION, "400d",
        "How long an event's id is known, so that a copy of it is a duplicate.",
        IN_CONFIG(retain_ids_ms), .min = SECOND, .max = 36500 * DAY),
    KEY(INBOXD, trusted_proxies, NETWORKS, NULL,
        "Whose X-Forwarded-For and Forwarded are believed.",
        IN_CONFIG(trusted_proxies), .flags = KEY_MAY_EMPTY),
    KEY(INBOXD, redact, NAMES, NULL,
        "Headers whose values are not kept, beside those that inboxd takes for secrets.",
        IN_CONFIG(redact), .flags = KEY_MAY_EMPTY),
    KEY(INBOXD, queue_max, COUNT, "10000",
        "The most requests that wait for a writer; one more is answered 503.",
        IN_CONFIG(queue_max), .min = 1, .max = 1000000, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, queue_max_bytes, SIZE, "64M",
        "The most bytes of bodies that wait for a writer; more is answered 503.",
        IN_CONFIG(queue_max_bytes), .min = MIB, .max = 64 * GIB, .flags = KEY_NEEDS_RESTART),
    KEY(INBOXD, capture_key, SECRET, NULL,
        "Where the key is that secrets from handshakes are kept with: 32 bytes.",
        .flags = 0),
    KEY(INBOXD, log, WORD, "logfmt",
        "The form of the log lines.",
        IN_CONFIG(log_format), .words = log_formats),
    KEY(INBOXD, log_level, WORD, "info",
        "The least important lines that are logged.",
        IN_CONFIG(log_level), .words = log_levels),

    KEY(PROVIDER, verify, SETTING, NULL,
        "How requests are verified: a preset, a scheme, or none.",
        IN_PROVIDER(verify), .flags = KEY_REQUIRED),
    KEY(PROVIDER, methods, SETTING, "POST",
        "The methods that events come with.",
        IN_PROVIDER(methods)),
    KEY(PROVIDER, signature, SETTING, NULL,
        "Where the signature is and how it is encoded.",
        IN_PROVIDER(signature), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, timestamp, SETTING, NULL,
        "Where the signed time is and its unit.",
        IN_PROVIDER(timestamp), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, tolerance, TOLERANCE, "5m",
        "How far the signed time may be from now, both ways; with 0 it is not checked.",
        IN_PROVIDER(tolerance), .min = 0, .max = 7 * DAY),
    KEY(PROVIDER, signed, SETTING, NULL,
        "The text that is signed, as a template.",
        IN_PROVIDER(signed_template), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, signed_body, SETTING, "sent",
        "Which bytes of a packed body are signed: as sent, or inflated.",
        IN_PROVIDER(signed_body)),
    KEY(PROVIDER, vars, SETTING, NULL,
        "Texts for {var:NAME} in signed.",
        IN_PROVIDER(vars), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, body_unauthenticated, SETTING, "no",
        "Whether signed may leave the body out, so that anybody could change it.",
        IN_PROVIDER(body_unauthenticated)),
    KEY(PROVIDER, algorithms, SETTING, NULL,
        "The algorithms that a JSON Web Token may have.",
        IN_PROVIDER(algorithms), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, claims, SETTING, NULL,
        "What a JSON Web Token has to say.",
        IN_PROVIDER(claims), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, leeway, DURATION, "0s",
        "How far the clocks may differ where a JSON Web Token begins and ends to be valid.",
        IN_PROVIDER(leeway_ms), .min = 0, .max = HOUR),
    KEY(PROVIDER, secret, SECRET, NULL,
        "Where the secret is; any of several may match.",
        .flags = KEY_REPEATABLE),
    KEY(PROVIDER, secret_encoding, SETTING, "raw",
        "What the secret's text has to be decoded from.",
        IN_PROVIDER(secret_encoding)),
    KEY(PROVIDER, public_url, SETTING, NULL,
        "The address that the provider was given, for templates with {url}.",
        IN_PROVIDER(public_url), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, handshake, SETTING, NULL,
        "How the provider proves the endpoint: handshakes, separated by commas.",
        IN_PROVIDER(handshake), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, handshake_token, SECRET, NULL,
        "Where the verify token of handshake = hub is; any of several may match.",
        .flags = KEY_REPEATABLE),
    KEY(PROVIDER, event_id, SETTING, NULL,
        "Where the id is that makes an event the same as another.",
        IN_PROVIDER(event_id), .flags = KEY_REQUIRED),
    KEY(PROVIDER, event_type, SETTING, NULL,
        "Where the type is that chooses among the on lines.",
        IN_PROVIDER(event_type), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, key, SETTING, NULL,
        "Where the ordering key is: events that share it run one at a time.",
        IN_PROVIDER(key), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, event_time, SETTING, NULL,
        "Where the time is at which an event happened, as its sender says.",
        IN_PROVIDER(event_time), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, order, WORD, "serial with a key, none without",
        "What happens to the events of a key when one fails.",
        IN_PROVIDER(order), .words = orders, .flags = KEY_COMPUTED),
    KEY(PROVIDER, machine, SETTING, NULL,
        "The state machine that says which events come too early or too late.",
        IN_PROVIDER(machine), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, format, SETTING, "json",
        "What a body has to be, and where its JSON is.",
        IN_PROVIDER(format)),
    KEY(PROVIDER, split, SETTING, NULL,
        "Which array of a body holds its events, where a request has several.",
        IN_PROVIDER(split), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, store, WORD, "both",
        "What is kept of an event: its bytes, its JSON, or both.",
        IN_PROVIDER(store), .words = stores),
    KEY(PROVIDER, reply, SETTING, NULL,
        "The answer to a stored or duplicate event, where the sender wants a certain one.",
        IN_PROVIDER(reply), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, max_body, SIZE, "that of [inboxd]",
        "The largest body that is accepted from this provider.",
        IN_PROVIDER(max_body), .min = KIB, .max = 128 * MIB, .flags = KEY_COMPUTED),
    KEY(PROVIDER, ack_timeout, DURATION, "that of [inboxd]",
        "How long this provider waits for the commit at most; then the answer is 503.",
        IN_PROVIDER(ack_timeout_ms), .min = 100, .max = MINUTE, .flags = KEY_COMPUTED),
    KEY(PROVIDER, quarantine, WORD, "on",
        "Whether requests that were refused are kept, so that they can be released.",
        IN_PROVIDER(quarantine), .words = switches),
    KEY(PROVIDER, quarantine_max, BOUNDS, "1000 10M 120",
        "The most refused requests and bytes that are kept, and the most a minute from one address.",
        IN_PROVIDER(quarantine_max)),
    KEY(PROVIDER, redact, NAMES, NULL,
        "Headers whose values are not kept, beside those of [inboxd].",
        IN_PROVIDER(redact), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, allow, NETWORKS, NULL,
        "The addresses that may send; others are answered 403.",
        IN_PROVIDER(allow), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, rate, RATE, NULL,
        "The most requests in a time; one more is answered 429.",
        IN_PROVIDER(rate), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, rate_per_address, RATE, NULL,
        "The most requests in a time from one address; one more is answered 429.",
        IN_PROVIDER(rate_per_address), .flags = KEY_MAY_EMPTY),
    KEY(PROVIDER, on, ACTIONS, NULL,
        "What is done with an event, or with events of a type.",
        .flags = KEY_REQUIRED | KEY_REPEATABLE | KEY_PATTERN),
    KEY(PROVIDER, attempts, COUNT, "12",
        "How often a failing event is run before it is dead.",
        IN_PROVIDER(attempts), .min = 1, .max = 10000),
    KEY(PROVIDER, backoff, BACKOFF, "exponential 2s 1h",
        "How long to wait before the next attempt.",
        IN_PROVIDER(backoff), .min = 0, .max = 30 * DAY),
    KEY(PROVIDER, defer, DURATION, "5m",
        "How long a deferred event waits, unless its handler says otherwise.",
        IN_PROVIDER(defer_ms), .min = 10, .max = 30 * DAY),
    KEY(PROVIDER, defer_limit, DURATION, "24h",
        "How long an event may be deferred in all before it is dead.",
        IN_PROVIDER(defer_limit_ms), .min = 10, .max = 3650 * DAY),
    KEY(PROVIDER, timeout, DURATION, "30s",
        "How long one run of a handler may take.",
        IN_PROVIDER(timeout_ms), .min = 10, .max = DAY),
    KEY(PROVIDER, lease, DURATION, "15s",
        "How long others wait for a worker that died, where an event runs outside of a transaction.",
        IN_PROVIDER(lease_ms), .min = 1000, .max = HOUR),
    KEY(PROVIDER, exec_memory, SIZE, "1G",
        "The most memory that each process of a program may use; 0: no limit.",
        IN_PROVIDER(exec_memory), .min = 0, .max = 1024 * GIB),
    KEY(PROVIDER, exec_output, SIZE, "8K",
        "The most bytes of a program's output that are kept, the last ones.",
        IN_PROVIDER(exec_output), .min = 256, .max = MIB),
    KEY(PROVIDER, concurrency, COUNT, "workers - 1, at least 1",
        "The most batches of this provider that one daemon runs at once.",
        IN_PROVIDER(concurrency), .min = 1, .max = 256, .flags = KEY_COMPUTED),
    KEY(PROVIDER, weight, COUNT, "1",
        "How many batches in a row are this provider's where others wait too.",
        IN_PROVIDER(weight), .min = 1, .max = 100),
};
/* clang-format on */

const size_t key_count = ARRAY_LEN(key_table);
_Static_assert(ARRAY_LEN(key_table) <= KEYS_MAX, "struct section has a flag for each row");

const struct key *key_find(enum key_section section, struct str name)
{
    for (size_t i = 0; i < key_count; i++)
        if (key_table[i].section == section && str_is(name, key_table[i].name))
            return &key_table[i];
    return NULL;
}

const struct key *key_nearest(enum key_section section, struct str name)
{
    const struct key *nearest = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < key_count; i++) {
        size_t distance;

        if (key_table[i].section != section)
            continue;
        distance = key_distance(name, str_from(key_table[i].name));
        if (distance < least && key_is_near(distance, strlen(key_table[i].name))) {
            least = distance;
            nearest = &key_table[i];
        }
    }
    return nearest;
}

const char *key_section_text(enum key_section section)
{
    return section == KEY_INBOXD ? "inboxd" : "provider";
}

const char *key_type_text(enum key_type type)
{
    static const char *const texts[] = {
        [KEY_COUNT] = "count",         [KEY_SIZE] = "size",       [KEY_DURATION] = "duration",
        [KEY_WORD] = "word",           [KEY_ADDRESS] = "address", [KEY_TEXT] = "text",
        [KEY_SETTING] = "text",        [KEY_BACKOFF] = "backoff", [KEY_BOUNDS] = "bound",
        [KEY_TOLERANCE] = "tolerance", [KEY_SECRET] = "secret",   [KEY_ACTIONS] = "actions",
        [KEY_NETWORKS] = "networks",   [KEY_RATE] = "rate",       [KEY_NAMES] = "names",
    };

    return texts[type];
}

#define NAME_MAX_NEAR 64

static char plain(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c + ('a' - 'A'));
    return c == '-' ? '_' : c;
}

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Optimal string alignment over three rows. */
size_t key_distance(struct str a, struct str b)
{
    size_t rows[3][NAME_MAX_NEAR + 1] = {{0}};

    if (a.len > NAME_MAX_NEAR || b.len > NAME_MAX_NEAR)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = plain(a.ptr[i - 1]), y = plain(b.ptr[j - 1]);

            row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == plain(b.ptr[j - 2]) && plain(a.ptr[i - 2]) == y &&
                two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a.len % 3][b.len];
}

bool key_is_near(size_t distance, size_t len)
{
    return distance <= len / 3 || (len > 2 && distance <= 1);
}
