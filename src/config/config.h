/* The configuration: one INI file read into an immutable snapshot. A snapshot is reference-counted
 * (atomic) and shared between threads; a reload makes a new one and swaps it whole. Every mistake
 * of a file is reported at once, with file, line, what is wrong and what would be right
 * (config/mistakes.h). What a key means, its type, default and range stand in one table
 * (config/keys.h); `inboxctl check` and the manual page come from it. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/str.h"
#include "config/mistakes.h"
#include "core/address.h"
#include "core/backoff.h"
#include "core/tolerance.h"

/* A text of the file together with the place where it was written, for mistakes that later readers
 * of it find. */
struct setting {
    struct str text;  /* ptr NULL: not set */
    const char *file; /* the configuration file, or "preset NAME" */
    int line;
};

enum listen_kind { LISTEN_TCP, LISTEN_UNIX, LISTEN_SYSTEMD };

struct listen_address {
    enum listen_kind kind;
    struct str host; /* TCP: numeric IPv4 or IPv6 without brackets */
    uint16_t port;   /* TCP; 0: any free one */
    struct str path; /* UNIX */
    unsigned mode;   /* UNIX: of the socket's file */
    uint32_t owner, group;
    bool has_owner, has_group;
    bool proxy_protocol; /* connections begin with the header of the PROXY protocol */
};

enum order { ORDER_NONE, ORDER_SERIAL, ORDER_STRICT };
enum store_what { STORE_BOTH, STORE_BODY, STORE_PAYLOAD };
enum on_off { SWITCH_OFF, SWITCH_ON };

#define QUARANTINE_PER_MINUTE 120

/* How much of what was refused is kept for one provider. */
struct quarantine_bounds {
    int rows;
    int64_t bytes;
    int per_minute; /* from one source address, in one daemon */
};

/* One line `on PATTERN = ACTIONS`; pattern NULL for the plain `on`. */
struct route_config {
    struct setting pattern; /* an event type, or a prefix that ends in '*' */
    struct setting actions; /* "sql:schema.fn", separated by commas; src/route compiles them */
};

/* Requests in a time; count 0: no limit. */
struct rate {
    int64_t count;
    int64_t period_us;
};

/* Networks as one setting lists them. */
struct network_list {
    const struct network *list;
    size_t count;
    bool unix_peers; /* "unix": whoever is connected by a Unix socket; only trusted_proxies */
};

/* Names of headers as one setting lists them. */
struct name_list {
    const struct str *list;
    size_t count;
};

struct provider_config {
    struct str name;
    const char *file;
    int line;

    /* Verification: texts as written (or as the preset has them); src/provider compiles them with
     * src/verify. */
    struct setting verify; /* "none" | "hmac-sha256" | ...; a preset's name was replaced by what the
                              preset says */
    struct setting methods;         /* POST, ... */
    struct str preset;              /* its name; ptr NULL: none */
    struct setting signature;       /* SOURCE [split ..] [prefix ..] hex|base64|base64url */
    struct setting timestamp;       /* SOURCE unit | item PREFIX unit */
    struct setting signed_template; /* key `signed` */
    struct setting secret_encoding;
    struct setting public_url;
    struct setting signed_body;          /* sent or inflated */
    struct setting vars;                 /* NAME=VALUE, ... */
    struct setting body_unauthenticated; /* yes or no */
    struct setting algorithms, claims;   /* of a JSON Web Token */
    int64_t leeway_ms;
    struct tolerance tolerance;
    struct secret **secrets; /* as read, not yet decoded */
    struct setting
        *secret_settings; /* where each was written (its text is the reference, never the value) */
    size_t secret_count;

    /* How the provider proves the endpoint: handshakes, separated by commas; src/handshake compiles
     * them. */
    struct setting handshake;
    bool captures_secret; /* one of them hands the secret over, which a person accepts */
    struct secret **handshake_tokens; /* what `hub` compares; any may match */
    size_t handshake_token_count;

    /* Identity and content: texts of the sources grammar. */
    struct setting event_id, event_type, key, event_time;
    struct setting format, split, reply;
    enum store_what store;
    enum order order;
    struct setting machine; /* rows of inboxd.transition; judges events before their handlers */
    int64_t max_body;       /* bytes */
    int64_t ack_timeout_ms; /* never more than the daemon's */

    enum on_off quarantine;
    struct quarantine_bounds quarantine_max;

    struct name_list redact; /* that of [inboxd] and its own */

    struct network_list allow; /* count 0: everybody */
    struct rate rate, rate_per_address;

    /* Work. */
    struct route_config *routes;
    size_t route_count;
    int attempts;
    struct backoff backoff;
    int64_t defer_ms, defer_limit_ms;
    int64_t timeout_ms;               /* of one run of a handler */
    int64_t lease_ms;                 /* of events that run outside of the claim's transaction */
    int64_t exec_memory, exec_output; /* bytes; exec_memory 0: no limit */
    struct str module_path;           /* the daemon's */
    int concurrency; /* most batches of this provider that run at once in one daemon */
    int weight;      /* turns in a row among the providers */
};

struct config {
    const char *path;
    struct str database; /* libpq connection string */
    struct listen_address *listens;
    size_t listen_count;
    int workers;      /* threads that run handlers; 0: this daemon only accepts */
    int writers;      /* threads that store; default 2 */
    int64_t max_body; /* bytes */
    int max_connections;
    int max_connections_per_address; /* 0: no limit of its own */
    int max_requests_per_connection;
    int64_t max_header, max_buffered; /* bytes */
    int64_t header_timeout_ms, body_timeout_ms;
    int64_t min_rate; /* bytes a second; 0: any */
    struct network_list trusted_proxies;
    struct name_list redact;
    int64_t idle_timeout_ms;
    int64_t ack_timeout_ms;
    int64_t shutdown_timeout_ms;
    struct str module_path; /* folder of plug-ins */
    /* 0: for ever, where that may be */
    int64_t retain_ms, retain_dead_ms, retain_attempts_ms, retain_ids_ms, retain_quarantine_ms,
        retain_audit_ms;
    int queue_max; /* most requests that wait for a writer */
    int64_t queue_max_bytes;
    struct secret *capture_key; /* of base/seal.h; NULL: secrets are not captured */
    enum log_format log_format;
    enum log_level log_level;
    struct provider_config *providers; /* sorted by name (bytes) */
    size_t provider_count;
};

/* Reads and checks. NULL when there are mistakes; all of them are then in `mistakes` (warnings may
 * be there on success too). */
struct config *config_read(const char *path, struct mistakes *mistakes);
/* config_read() with a further judge of providers, so that its mistakes come with the others:
 * called for every provider whose own section is right, also where the rest of the file is not. */
typedef void config_judge(const struct provider_config *provider, struct mistakes *mistakes);
struct config *config_read_checked(const char *path, config_judge *judge,
                                   struct mistakes *mistakes);
/* config_read() for programs that need no secrets and may not be allowed to read them: every
 * provider's secret_count is 0. */
struct config *config_read_without_secrets(const char *path, struct mistakes *mistakes);
/* config_read() from text, for tests and fuzzing. `path` is only named in messages. */
struct config *config_parse(const char *path, struct str text, struct mistakes *mistakes);

struct config *config_ref(const struct config *config);
void config_unref(const struct config *config); /* takes NULL */

/* What a reload cannot bring into force: the names of keys whose values differ and that need a
 * restart, at most `max` of them. Returns how many. */
size_t config_needs_restart(const struct config *running, const struct config *wanted,
                            const char **names, size_t max);

/* NULL when there is none of that name. */
const struct provider_config *config_provider(const struct config *config, struct str name);

#endif
