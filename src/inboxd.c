/* The daemon: reads the configuration, wires the parts, reloads, drains. Everything here runs on
 * the main thread, which is the loop's, except where a function says otherwise.
 *
 * The order at the end: stop listening and stop claiming; answer what was begun; let the writer
 * finish; then free. `shutdown_timeout` bounds it, a second signal cuts it short: a kill at any
 * instant breaks no promise, so there is nothing that must be waited for. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "config/config.h"
#include "config/keys.h"
#include "db/migrate.h"
#include "db/pooler.h"
#include "http/server.h"
#include "inbox/keeper.h"
#include "inbox/vault.h"
#include "inbox/writer.h"
#include "ingest/ingest.h"
#include "loop/loop.h"
#include "loop/notify.h"
#include "quarantine/quarantine.h"
#include "work/module_check.h"
#include "work/policy.h"
#include "work/pool.h"

#define RESTARTS_MAX 16 /* keys that are named */
#define DRAIN_TICK_MS 20
#define DATABASE_RETRY_S 1
/* Beyond shutdown_timeout, for statements that are being interrupted. */
#define GRACE_MS 3000
/* A last net: freeing may wait for nothing that long. */
#define RELEASE_S 15
/* Descriptors beside the connections of senders: farewells, databases, the process's own. */
#define OTHER_DESCRIPTORS 700
/* With fewer there is no start. */
#define DESCRIPTORS_MIN 256

struct daemon {
    const char *config_path;
    struct config *config;
    struct loop *loop;
    struct ingest *ingest;
    struct http_server *server;
    struct pool *pool;     /* NULL until the database was seen */
    struct writer *writer; /* the same */
    struct keeper *keeper; /* the same */
    atomic_int hung;       /* workers whose handler does not return; the pool writes it */
    struct quarantine *quarantine;
    struct vault *vault; /* the same, where there is a capture_key */
    struct secret *vault_key;
    struct accepted_secrets *accepted; /* what it said last; NULL: nothing yet */
    struct loop_signal *on_term, *on_int, *on_hup;
    struct loop_timer *watchdog, *drain;
    int exit_code;

    bool stopping, writer_draining, writer_ended, pool_ended;
    int64_t started_us, stopping_us;
    pthread_t stopper; /* runs pool_stop() */
    bool stopper_runs;

    /* The thread that waits for a database which was away at the start. */
    pthread_t waiter;
    char *waiter_conninfo;
    bool waiter_runs;
    pthread_mutex_t waiter_lock;
    pthread_cond_t waiter_wake;
    bool waiter_stop; /* under the lock */
    struct err database_refused;
};

/* ---- the database at the start ---- */

/* 0: the schema is one that this program works on. */
static int check_database(const char *conninfo, struct err *err)
{
    struct db *db = db_new(&(struct db_options){
        .conninfo = conninfo, .application_name = "inboxd start", .connect_timeout_ms = 2000});
    int rc = -1;

    db_set_timeout(db, 5000);
    if (pooler_check(conninfo, err) == 0 && db_connect(db, err) == 0 && migrate_check(db, err) == 0)
        rc = 0;
    db_free(db);
    return rc;
}

static void stored(void *argument, struct str provider, enum queue queue, int64_t run_at)
{
    pool_notify(argument, provider, queue, run_at);
}

static void different(void *argument, const struct event *event, int64_t first)
{
    quarantine_put_different(argument, event, first);
}

/* Starts the keeper, or tells it of another configuration. */
static void set_keeper(struct daemon *daemon)
{
    const struct config *config = daemon->config;
    struct policy *policies = mem_alloc((config->provider_count + 1) * sizeof(*policies));
    struct keeper_options options = {.conninfo = config->database.ptr,
                                     .workers = config->workers,
                                     .hung = &daemon->hung,
                                     .providers = policies,
                                     .provider_count = config->provider_count,
                                     .retain = {{
                                         [PURGE_DONE] = config->retain_ms,
                                         [PURGE_DEAD] = config->retain_dead_ms,
                                         [PURGE_ATTEMPTS] = config->retain_attempts_ms,
                                         [PURGE_IDS] = config->retain_ids_ms,
                                         [PURGE_QUARANTINE] = config->retain_quarantine_ms,
                                         [PURGE_AUDIT] = config->retain_audit_ms,
                                     }}};

    policy_read(config, policies);
    if (daemon->keeper)
        keeper_configure(daemon->keeper, &options);
    else
        daemon->keeper = keeper_new(&options);
    free(policies);
}

static void log_mistakes(const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        log_event(mistake->warning ? LOG_WARN : LOG_ERROR,
                  mistake->warning ? "configuration warning" : "configuration mistake",
                  F_TEXT("file", mistake->file), F_NUM("line", mistake->line),
                  F_TEXT("what", mistake->text));
    }
}

/* Compiles the configuration anew with these secrets, which are taken; NULL: not known. */
static void set_accepted(struct daemon *daemon, struct accepted_secrets *secrets)
{
    struct mistakes *mistakes = mistakes_new();
    struct snapshot *snapshot = snapshot_new(daemon->config, secrets, mistakes);

    if (snapshot)
        ingest_reload(daemon->ingest, snapshot);
    else
        log_mistakes(mistakes);
    snapshot_unref(snapshot);
    mistakes_free(mistakes);
    accepted_secrets_free(daemon->accepted);
    daemon->accepted = secrets;
    quarantine_configure(daemon->quarantine, daemon->config, daemon->accepted);
}

static void on_secrets(void *argument, struct accepted_secrets *secrets)
{
    log_event(LOG_INFO, "secrets from handshakes are in force", F_NUM("accepted", secrets->count));
    set_accepted(argument, secrets);
}

static bool same_secret(const struct secret *a, const struct secret *b)
{
    return a && b ? str_equal(secret_reveal(a), secret_reveal(b)) : a == b;
}

/* Starts the vault, or stops it, as the configuration has it now. */
static void set_vault(struct daemon *daemon)
{
    struct secret *key = daemon->config->capture_key;

    if (same_secret(key, daemon->vault_key))
        return;
    ingest_set_vault(daemon->ingest, NULL);
    vault_free(daemon->vault);
    secret_unref(daemon->vault_key);
    daemon->vault = NULL;
    daemon->vault_key = key ? secret_ref(key) : NULL;
    set_accepted(daemon, NULL);
    if (!key)
        return;
    daemon->vault = vault_new(&(struct vault_options){.conninfo = daemon->config->database.ptr,
                                                      .key = key,
                                                      .loop = daemon->loop,
                                                      .changed = on_secrets,
                                                      .argument = daemon});
    ingest_set_vault(daemon->ingest, daemon->vault);
}

/* From here on events are taken and worked on. */
static void start_work(struct daemon *daemon)
{
    const struct config *config = daemon->config;

    daemon->pool = pool_new(config, &daemon->hung);
    daemon->writer = writer_new(&(struct writer_options){
        .conninfo = config->database.ptr,
        .threads = config->writers,
        .queue_max = config->queue_max,
        .queue_max_bytes = config->queue_max_bytes,
        .ack_timeout_ms = config->ack_timeout_ms,
        .loop = daemon->loop,
        .stored = stored,
        .stored_argument = daemon->pool,
        .different = different,
        .different_argument = daemon->quarantine,
    });
    set_keeper(daemon);
    set_vault(daemon);
    ingest_set_inbox(daemon->ingest, daemon->writer, daemon->keeper);
    notify_status("accepting events for %zu providers", config->provider_count);
    log_event(LOG_INFO, "ready", F_NUM("providers", config->provider_count),
              F_NUM("workers", config->workers), F_NUM("writers", config->writers));
}

static void begin_stop(struct daemon *daemon, int exit_code);

static void on_database(void *argument)
{
    struct daemon *daemon = argument;

    pthread_join(daemon->waiter, NULL);
    daemon->waiter_runs = false;
    if (daemon->stopping)
        return;
    if (daemon->database_refused.kind == ERR_NONE) {
        start_work(daemon);
        return;
    }
    log_event(LOG_ERROR, "cannot work on this database",
              F_TEXT("why", daemon->database_refused.text));
    begin_stop(daemon, EX_CONFIG);
}

/* Its own thread: tries until the database answers or the daemon stops. */
static void *wait_for_database(void *argument)
{
    struct daemon *daemon = argument;
    struct err err = {.kind = ERR_NONE};
    bool stop = false;

    while (!stop) {
        struct timespec until;

        err_clear(&err);
        if (check_database(daemon->waiter_conninfo, &err) == 0 || err.kind == ERR_NEVER)
            break;
        pthread_mutex_lock(&daemon->waiter_lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += DATABASE_RETRY_S;
        if (!daemon->waiter_stop)
            pthread_cond_timedwait(&daemon->waiter_wake, &daemon->waiter_lock, &until);
        stop = daemon->waiter_stop;
        pthread_mutex_unlock(&daemon->waiter_lock);
    }
    daemon->database_refused = err;
    loop_post(daemon->loop, on_database, daemon);
    return NULL;
}

/* 0, or -1 when the database is there and cannot be used. */
static int meet_database(struct daemon *daemon)
{
    struct err err;

    if (check_database(daemon->config->database.ptr, &err) == 0) {
        start_work(daemon);
        return 0;
    }
    if (err.kind == ERR_NEVER) {
        log_event(LOG_ERROR, "cannot work on this database", F_TEXT("why", err.text));
        return -1;
    }
    log_event(LOG_WARN, "database is away, answering 503 until it comes", F_TEXT("why", err.text));
    notify_status("waiting for the database");
    daemon->waiter_conninfo = mem_copy(daemon->config->database);
    if (pthread_create(&daemon->waiter, NULL, wait_for_database, daemon) != 0)
        abort();
    daemon->waiter_runs = true;
    return 0;
}

/* ---- the end ---- */

/* Its own thread, because pool_stop() waits. */
static void *stop_pool(void *argument);

static void on_pool_stopped(void *argument)
{
    struct daemon *daemon = argument;

    pthread_join(daemon->stopper, NULL);
    daemon->stopper_runs = false;
    daemon->pool_ended = true;
}

static void *stop_pool(void *argument)
{
    struct daemon *daemon = argument;

    pool_stop(daemon->pool, daemon->config->shutdown_timeout_ms);
    loop_post(daemon->loop, on_pool_stopped, daemon);
    return NULL;
}

static void on_writer_ended(void *argument)
{
    struct daemon *daemon = argument;

    daemon->writer_ended = true;
}

static void on_drain_tick(void *argument)
{
    struct daemon *daemon = argument;
    int64_t elapsed_ms = (clock_mono_us() - daemon->stopping_us) / 1000;
    size_t open = http_server_open(daemon->server);

    if (!daemon->writer_draining &&
        (open == 0 || elapsed_ms > daemon->config->shutdown_timeout_ms / 2)) {
        daemon->writer_draining = true;
        if (daemon->writer)
            writer_drain(daemon->writer, on_writer_ended, daemon);
        else
            daemon->writer_ended = true;
    }
    if (daemon->writer_draining)
        http_server_cut(daemon->server);
    if (open == 0 && daemon->writer_ended && daemon->pool_ended && !daemon->waiter_runs) {
        loop_stop(daemon->loop);
    } else if (elapsed_ms > daemon->config->shutdown_timeout_ms + GRACE_MS) {
        log_event(LOG_ERROR, "did not end within shutdown_timeout, leaving at once",
                  F_NUM("open_requests", open));
        _exit(EXIT_FAILURE);
    }
}

static void begin_stop(struct daemon *daemon, int exit_code)
{
    daemon->stopping = true;
    daemon->stopping_us = clock_mono_us();
    daemon->exit_code = exit_code;
    http_server_drain(daemon->server);
    log_event(LOG_INFO, "stopping", F_NUM("open_requests", http_server_open(daemon->server)));
    notify_stopping();
    notify_status("answering what was received");
    pthread_mutex_lock(&daemon->waiter_lock);
    daemon->waiter_stop = true;
    pthread_cond_signal(&daemon->waiter_wake);
    pthread_mutex_unlock(&daemon->waiter_lock);
    if (daemon->pool) {
        if (pthread_create(&daemon->stopper, NULL, stop_pool, daemon) != 0)
            abort();
        daemon->stopper_runs = true;
    } else {
        daemon->pool_ended = true;
    }
    daemon->drain = loop_timer_new(daemon->loop, DRAIN_TICK_MS, on_drain_tick, daemon);
}

static void on_stop_signal(void *argument)
{
    struct daemon *daemon = argument;

    if (!daemon->stopping) {
        begin_stop(daemon, EXIT_SUCCESS);
        return;
    }
    log_event(LOG_WARN, "second signal, leaving at once",
              F_NUM("open_requests", http_server_open(daemon->server)));
    _exit(EXIT_FAILURE);
}

/* ---- the configuration ---- */

/* Reads and compiles; NULL, with every mistake logged, when the file cannot be used. */
static struct snapshot *read_config(const char *path, const struct accepted_secrets *accepted)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_read(path, mistakes);
    struct snapshot *snapshot = NULL;

    if (config && config->workers > 0)
        modules_check(config, mistakes);
    if (config && mistakes_errors(mistakes) == 0)
        snapshot = snapshot_new(config, accepted, mistakes);
    log_mistakes(mistakes);
    mistakes_free(mistakes);
    config_unref(config);
    return snapshot;
}

/* Names what a running daemon cannot change. */
static void warn_of_restart(const struct config *old, const struct config *new)
{
    const char *names[RESTARTS_MAX];
    size_t count = config_needs_restart(old, new, names, RESTARTS_MAX);

    for (size_t i = 0; i < count; i++)
        log_event(LOG_WARN, "changed key takes effect at the next start", F_TEXT("key", names[i]));
}

static void on_reload(void *argument)
{
    struct daemon *daemon = argument;
    struct snapshot *snapshot;

    if (daemon->stopping)
        return;
    notify_reloading();
    snapshot = read_config(daemon->config_path, daemon->accepted);
    if (snapshot) {
        struct config *old = daemon->config;

        warn_of_restart(old, snapshot->config);
        daemon->config = config_ref(snapshot->config);
        log_configure(daemon->config->log_format, daemon->config->log_level);
        ingest_reload(daemon->ingest, snapshot);
        if (daemon->pool) {
            pool_reload(daemon->pool, daemon->config);
            set_keeper(daemon);
            set_vault(daemon);
        }
        quarantine_configure(daemon->quarantine, daemon->config, daemon->accepted);
        log_event(LOG_INFO, "configuration reloaded",
                  F_NUM("providers", daemon->config->provider_count));
        config_unref(old);
        snapshot_unref(snapshot);
    } else {
        log_event(LOG_ERROR, "configuration not reloaded, the old one stays in force",
                  F_TEXT("file", daemon->config_path));
    }
    notify_ready();
}

/* ---- the start ---- */

static int listen_on(struct http_server *server, const struct listen_address *address)
{
    char name[HTTP_NAME_SIZE];
    struct err err;
    int rc = 0, first, count;

    switch (address->kind) {
    case LISTEN_TCP:
        rc = http_server_listen_tcp(server, address->host, address->port, address->proxy_protocol,
                                    name, &err);
        break;
    case LISTEN_UNIX:
        rc = http_server_listen_unix(
            server,
            &(struct http_unix){.path = address->path,
                                .mode = address->mode,
                                .owner = address->has_owner ? address->owner : (uid_t)-1,
                                .group = address->has_group ? address->group : (gid_t)-1,
                                .proxied = address->proxy_protocol},
            name, &err);
        break;
    case LISTEN_SYSTEMD:
        count = notify_sockets(&first);
        if (count == 0) {
            log_event(LOG_ERROR, "cannot listen: the service manager handed no socket over");
            return -1;
        }
        for (int i = 0; i < count; i++) {
            http_server_listen_fd(server, first + i, address->proxy_protocol, name);
            log_event(LOG_INFO, "listening", F_TEXT("address", name));
        }
        return 0;
    }
    if (rc < 0)
        log_event(LOG_ERROR, "cannot listen", F_TEXT("why", err.text));
    else
        log_event(LOG_INFO, "listening", F_TEXT("address", name));
    return rc;
}

/* How many connections the limit of open files allows; 0, with a message: none. */
static size_t connections_allowed(const struct config *config)
{
    size_t others = OTHER_DESCRIPTORS + (size_t)config->workers + (size_t)config->writers;
    size_t wanted = (size_t)config->max_connections + others;
    size_t limit = process_descriptors(wanted);
    size_t allowed = (size_t)config->max_connections;

    if (limit >= wanted)
        return allowed;
    if (limit < DESCRIPTORS_MIN) {
        log_event(LOG_ERROR,
                  "limit of open files is too low to start "
                  "(raise LimitNOFILE in the service, or ulimit -n)",
                  F_NUM("limit", limit), F_NUM("least", DESCRIPTORS_MIN), F_NUM("wanted", wanted));
        return 0;
    }
    allowed = limit > 2 * others ? limit - others : limit / 2;
    log_event(LOG_WARN,
              "limit of open files is too low for max_connections, fewer are accepted "
              "(raise LimitNOFILE in the service, or ulimit -n)",
              F_NUM("limit", limit), F_NUM("wanted", wanted), F_NUM("max_connections", allowed));
    return allowed;
}

static struct http_limits limits_of(const struct config *config)
{
    return (struct http_limits){
        .connections = connections_allowed(config),
        .connections_per_address = (size_t)config->max_connections_per_address,
        .requests_per_connection = (size_t)config->max_requests_per_connection,
        .header = (size_t)config->max_header,
        .buffered = (size_t)config->max_buffered,
        .idle_timeout_ms = config->idle_timeout_ms,
        .header_timeout_ms = config->header_timeout_ms,
        .body_timeout_ms = config->body_timeout_ms,
        .body_rate = config->min_rate,
    };
}

static int start_server(struct daemon *daemon)
{
    const struct config *config = daemon->config;
    struct http_server_options options = {.loop = daemon->loop, .limits = limits_of(config)};
    struct err err;

    if (options.limits.connections == 0)
        return -1;
    ingest_serve(daemon->ingest, &options);
    daemon->server = http_server_new(&options, &err);
    if (!daemon->server) {
        log_event(LOG_ERROR, "cannot start", F_TEXT("why", err.text));
        return -1;
    }
    for (size_t i = 0; i < config->listen_count; i++)
        if (listen_on(daemon->server, &config->listens[i]) < 0)
            return -1;
    return 0;
}

static void take_signals(struct daemon *daemon)
{
    daemon->on_term = loop_signal_new(daemon->loop, SIGTERM, on_stop_signal, daemon);
    daemon->on_int = loop_signal_new(daemon->loop, SIGINT, on_stop_signal, daemon);
    daemon->on_hup = loop_signal_new(daemon->loop, SIGHUP, on_reload, daemon);
}

static void release(struct daemon *daemon)
{
    alarm(RELEASE_S);
    writer_free(daemon->writer);
    pool_free(daemon->pool);
    ingest_flush(daemon->ingest);
    keeper_free(daemon->keeper);
    quarantine_free(daemon->quarantine);
    vault_free(daemon->vault);
    secret_unref(daemon->vault_key);
    accepted_secrets_free(daemon->accepted);
    http_server_free(daemon->server);
    ingest_free(daemon->ingest);
    loop_timer_free(daemon->watchdog);
    loop_timer_free(daemon->drain);
    loop_signal_free(daemon->on_term);
    loop_signal_free(daemon->on_int);
    loop_signal_free(daemon->on_hup);
    loop_free(daemon->loop);
    config_unref(daemon->config);
    free(daemon->waiter_conninfo);
    pthread_mutex_destroy(&daemon->waiter_lock);
    pthread_cond_destroy(&daemon->waiter_wake);
}

static int serve(const char *config_path)
{
    struct daemon daemon = {.config_path = config_path, .started_us = clock_mono_us()};
    struct snapshot *snapshot = read_config(config_path, NULL);
    struct ingest_counts counts = {0};
    bool served = false;

    if (!snapshot)
        return EX_CONFIG;
    daemon.config = config_ref(snapshot->config);
    log_configure(daemon.config->log_format, daemon.config->log_level);
    log_event(LOG_INFO, "starting", F_TEXT("version", INBOXD_VERSION),
              F_TEXT("config", config_path));
    pthread_mutex_init(&daemon.waiter_lock, NULL);
    pthread_cond_init(&daemon.waiter_wake, NULL);
    daemon.loop = loop_new();
    daemon.ingest = ingest_new(daemon.loop, snapshot);
    snapshot_unref(snapshot);
    process_block_signals();
    daemon.quarantine = quarantine_new(daemon.config); /* what is refused needs no database yet */
    ingest_set_quarantine(daemon.ingest, daemon.quarantine);
    if (start_server(&daemon) < 0) {
        daemon.exit_code = EXIT_FAILURE;
    } else if (meet_database(&daemon) < 0) {
        daemon.exit_code = EX_CONFIG;
    } else {
        take_signals(&daemon);
        http_server_start(daemon.server);
        daemon.watchdog = notify_watchdog(daemon.loop);
        notify_ready();
        loop_run(daemon.loop);
        counts = ingest_counts(daemon.ingest);
        served = true;
    }
    release(&daemon);
    if (served)
        log_event(LOG_INFO, "stopped", F_NUM("stored", counts.stored),
                  F_NUM("duplicate", counts.duplicate), F_NUM("handshakes", counts.handshakes),
                  F_NUM("refused", counts.refused), F_NUM("unavailable", counts.unavailable),
                  F_NUM("seconds", (clock_mono_us() - daemon.started_us) / 1000000));
    return daemon.exit_code;
}

/* ---- the command line ---- */

static void usage(FILE *out)
{
    fputs("usage: inboxd [--config FILE] [--check]\n"
          "       inboxd --help | --version\n"
          "\n"
          "  -c, --config FILE  configuration, default /etc/inboxd/inboxd.conf\n"
          "      --check        read the configuration, name every mistake, and end\n"
          "  -h, --help         this text\n"
          "  -V, --version      the version\n"
          "\n"
          "See inboxd(8) and inboxd.conf(5).\n",
          out);
}

static int check_only(const char *config_path)
{
    struct snapshot *snapshot = read_config(config_path, NULL);
    int rc = snapshot ? EXIT_SUCCESS : EX_CONFIG;

    snapshot_unref(snapshot);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"config", required_argument, NULL, 'c'},
                                            {"check", no_argument, NULL, 'k'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    const char *config_path = "/etc/inboxd/inboxd.conf";
    bool check = false;
    int option;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no threads yet */
    while ((option = getopt_long(argc, argv, "c:hV", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            config_path = optarg;
            break;
        case 'k':
            check = true;
            break;
        case 'h':
            usage(stdout);
            return EXIT_SUCCESS;
        case 'V':
            puts("inboxd " INBOXD_VERSION);
            return EXIT_SUCCESS;
        default:
            usage(stderr);
            return EX_USAGE;
        }
    }
    if (optind < argc) {
        usage(stderr);
        return EX_USAGE;
    }
    process_hide_environment();
    process_harden();
    return check ? check_only(config_path) : serve(config_path);
}
