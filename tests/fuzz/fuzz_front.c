/* Any bytes on the connections of the whole front end: sockets, libmicrohttpd, src/http and
 * src/ingest as the daemon wires them, with the inbox and the clock of tests/fuzz/front. What must
 * hold whatever comes: every answer is one of ours or the library's, whole, and there are no more
 * of them than requests; what is accepted was committed; what is to be stored was sent; in the end
 * every connection ends, and no request, descriptor or timer is left.
 *
 * An input is two bytes of choices and then what the senders send. 0xff 0x00 and a letter stand
 * for what happens in between: c the next connection, p a pause in which the server runs, t time
 * that passes, T the same while the loop is held up, r a reload of the configuration, R the inbox
 * answers. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/log.h"
#include "front/answers.h"
#include "front/stage.h"
#include "http/exchange.h"
#include "ingest/ingest.h"
#include "ingest/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SENDERS_MAX 8
#define PASS_MS 20000
#define ENDS_WITHIN_MS 600000
#define SETTLE_TURNS 4
#define SMALL_PIECES 1024 /* as many bytes go one by one */

/* clang-format off */
static const char config_text[] =
    "[inboxd]\nmax_body = 16K\nmax_header = 4K\nmax_buffered = 1M\nmax_connections = 6\n"
    "max_connections_per_address = 5\nmax_requests_per_connection = 12\n"
    "trusted_proxies = 127.0.0.1, unix\n"
    "capture_key = text:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define P(name) "[provider " name "]\non = ignore\n"
#define SECRET "secret = text:0123456789abcdef0123456789abcdef\n"
    P("allow") "verify = none\nevent_id = body:/id | sha256\nallow = 192.0.2.0/24, 2001:db8::/32\n"
    P("asana") "verify = hmac-sha256\nsignature = header:X-Hook-Signature hex\nsigned = {body}\n"
               "handshake = header-echo\nevent_id = sha256\n"
    P("cloud") "verify = none\nformat = cloudevents\nevent_id = ce:source + ce:id\nhandshake = options a.example\n"
    P("form") "verify = none\nformat = form\nevent_id = body:/id | sha256\nkey = body:/k\n"
    P("hmac") "verify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\nevent_id = body:/id\n"
              "methods = POST, PUT\n" SECRET
    P("meta") "verify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\nsplit = body:/entry/*/c\n"
              "event_id = body:/id | sha256\nhandshake = hub, crc, echo-query, head-ok, json-challenge unsigned\n"
              "handshake_token = text:tokentokentoken\n" SECRET
    P("none") "verify = none\nevent_id = body:/id | header:X-Id | sha256\nevent_type = body:/t\nmax_body = 8K\n"
    P("notion") "verify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\n"
                "handshake = token-capture, validation-token\nevent_id = sha256\n"
    P("rated") "verify = none\nevent_id = sha256\nrate = 2/min\nrate_per_address = 1/s\n"
    P("raw") "verify = none\nformat = raw\nevent_id = sha256\nreply = 202 application/json {\"ok\":true}\n"
    P("split") "verify = none\nsplit = body: | body:/e\nevent_id = body:/id | sha256\n"
    P("stripe") "verify = stripe\nsecret = text:whsec_0123456789abcdef0123456789abcdef\n"
    P("token") "verify = token\nsignature = header:X-Token | query:t\nevent_id = body:/id | header:X-Id\n" SECRET;
/* clang-format on */

/* ---- the choices of an input ---- */

enum origin { FROM_PROXY, FROM_AFAR, FROM_UNIX, THROUGH_PROXY_PROTOCOL };
enum ending { HALF_CLOSE, STAY, CLOSE, STOP };

/* Only STOP ends the server, which otherwise serves the next input too. */
struct choices {
    enum origin source;
    size_t piece; /* bytes a time; 0: all */
    enum ending ending;
    bool blind; /* the senders read nothing before the end */
    struct inbox_plan plan;
};

static bool was_sent(struct str bytes, bool apart);

static struct choices choices_of(uint8_t first, uint8_t second)
{
    static const size_t pieces[] = {0, 509, 61, 1};

    return (struct choices){.source = (enum origin)(first & 3),
                            .piece = pieces[first >> 2 & 3],
                            .ending = (enum ending)(second & 3),
                            .blind = second & 4,
                            .plan = {.mood = (enum inbox_mood)(first >> 4 & 3),
                                     .holds = first & 64,
                                     .taken = first & 128,
                                     .full = (second & 24) == 24,
                                     .sent = was_sent}};
}

/* ---- the stage ---- */

struct sender {
    int fd; /* -1: closed */
    bool ended;
    size_t lines;
    struct buf sent, got;
};

static struct loop *loop;
static struct snapshot *snapshot;
static struct ingest *ingest;
static struct http_server *server;
static struct sender senders[SENDERS_MAX];
static size_t sender_count, own_timers;

static void complain(const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes_count(mistakes); i++)
        fprintf(stderr, "line %d: %s\n", mistakes_get(mistakes, i)->line,
                mistakes_get(mistakes, i)->text);
}

static void make_snapshot(void)
{
    struct mistakes *mistakes = mistakes_new();
    struct config *config = config_parse("front", str_from(config_text), mistakes);

    snapshot = config ? snapshot_new(config, NULL, mistakes) : NULL;
    if (!snapshot)
        complain(mistakes);
    CHECK(snapshot);
    snapshot->secrets_known = true;
    config_unref(config);
    mistakes_free(mistakes);
    log_configure(LOG_LOGFMT, LOG_ERROR);
    loop = loop_new();
}

/* As the daemon does it. */
static void start(void)
{
    const struct config *config = snapshot->config;
    struct http_server_options options = {
        .loop = loop,
        .limits = {.connections = (size_t)config->max_connections,
                   .connections_per_address = (size_t)config->max_connections_per_address,
                   .requests_per_connection = (size_t)config->max_requests_per_connection,
                   .header = (size_t)config->max_header,
                   .buffered = (size_t)config->max_buffered,
                   .idle_timeout_ms = config->idle_timeout_ms,
                   .header_timeout_ms = config->header_timeout_ms,
                   .body_timeout_ms = config->body_timeout_ms,
                   .body_rate = config->min_rate}};
    struct err err;

    ingest = ingest_new(loop, snapshot);
    ingest_set_inbox(ingest, inbox_writer, inbox_keeper);
    ingest_set_quarantine(ingest, inbox_quarantine);
    ingest_set_vault(ingest, inbox_vault);
    ingest_serve(ingest, &options);
    server = http_server_new(&options, &err);
    CHECK(server);
    own_timers = stage_timers(loop);
}

/* ---- senders ---- */

static bool is_part_apart(struct str text, struct str part)
{
    size_t at = 0;

    for (size_t i = 0; i < part.len; i++, at++) {
        const char *found =
            at < text.len ? memchr(text.ptr + at, part.ptr[i], text.len - at) : NULL;

        if (!found)
            return false;
        at = (size_t)(found - text.ptr);
    }
    return true;
}

static bool was_sent(struct str bytes, bool apart)
{
    for (size_t i = 0; i < sender_count; i++) {
        struct str sent = buf_str(&senders[i].sent);

        if (bytes.len == 0 ||
            (apart ? is_part_apart(sent, bytes)
                   : sent.len > 0 && memmem(sent.ptr, sent.len, bytes.ptr, bytes.len)))
            return true;
    }
    return false;
}

static void add_sender(enum origin source)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons(40000),
                             .sin_addr.s_addr =
                                 htonl(source == FROM_AFAR ? 0xc0000209 : INADDR_LOOPBACK)};
    struct sockaddr local = {.sa_family = AF_UNIX};
    const struct sockaddr *address =
        source == FROM_UNIX ? &local : (const struct sockaddr *)(const void *)&in;
    socklen_t len = source == FROM_UNIX ? sizeof(local.sa_family) : sizeof(in);
    struct sender *sender = &senders[sender_count++];
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    *sender = (struct sender){.fd = fds[0]};
    buf_init(&sender->sent, BUF_NO_CAP);
    buf_init(&sender->got, BUF_NO_CAP);
    arrive(server->arrivals, fds[1], address, len, source == THROUGH_PROXY_PROTOCOL);
}

/* Whether anything came. */
static bool receive(struct sender *sender)
{
    char bytes[4096];
    bool any = false;
    ssize_t n;

    if (sender->fd < 0 || sender->ended)
        return false;
    while ((n = recv(sender->fd, bytes, sizeof(bytes), 0)) > 0) {
        buf_put(&sender->got, bytes, (size_t)n);
        any = true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        CHECK(n == 0 || errno == ECONNRESET);
        sender->ended = true;
        any = true;
    }
    return any;
}

static bool receive_all(void)
{
    bool any = false;

    for (size_t i = 0; i < sender_count; i++)
        any |= receive(&senders[i]);
    return any;
}

/* Lets the server run until nothing comes any more. */
static void settle(bool blind)
{
    for (int quiet = 0; quiet < SETTLE_TURNS; quiet++) {
        stage_turn(loop);
        inbox_turn();
        if (!blind && receive_all())
            quiet = 0;
    }
}

static void send_bytes(struct sender *sender, struct str bytes, const struct choices *choices)
{
    int refused = 0;

    buf_put_str(&sender->sent, bytes);
    for (size_t i = 0; i < bytes.len; i++)
        sender->lines += bytes.ptr[i] == '\n';
    while (bytes.len > 0 && !sender->ended) {
        bool small = choices->piece > 0 && choices->piece < bytes.len;
        ssize_t n = send(sender->fd, bytes.ptr, small ? choices->piece : bytes.len, MSG_NOSIGNAL);

        stage_turn(loop);
        if (!choices->blind)
            receive(sender);
        if (n < 0 && (errno != EAGAIN || ++refused > SETTLE_TURNS))
            return; /* the server has ended it, or reads no more until something happens */
        bytes.ptr += n > 0 ? n : 0;
        bytes.len -= n > 0 ? (size_t)n : 0;
        if (choices->piece == 1 && sender->sent.len - bytes.len > SMALL_PIECES) {
            struct choices rest = *choices;

            rest.piece = 0;
            sender->sent.len -= bytes.len;
            send_bytes(sender, bytes, &rest);
            return;
        }
    }
}

static void happen(char what, const struct choices *choices)
{
    if (what == 'c' && sender_count < SENDERS_MAX)
        add_sender(choices->source);
    if (what == 't')
        settle(choices->blind);
    if (what == 't' || what == 'T')
        stage_pass(loop, PASS_MS);
    if (what == 'r')
        ingest_reload(ingest, snapshot);
    if (what == 'R')
        inbox_release();
    settle(choices->blind);
}

/* Sends up to the next mark, and says what that is; 0: the end. */
static char play_part(struct str *input, const struct choices *choices)
{
    const char *mark = input->len > 2 ? memmem(input->ptr, input->len - 1, "\xff", 2) : NULL;
    struct str part = {input->ptr, mark ? (size_t)(mark - input->ptr) : input->len};
    char what = mark ? mark[2] : '\0';

    input->ptr += part.len + (mark ? 3 : 0);
    input->len -= part.len + (mark ? 3 : 0);
    send_bytes(&senders[sender_count - 1], part, choices);
    return what;
}

/* ---- the end ---- */

static void close_sender(struct sender *sender)
{
    if (sender->fd >= 0)
        close(sender->fd);
    sender->fd = -1;
}

static bool all_ended(void)
{
    for (size_t i = 0; i < sender_count; i++)
        if (senders[i].fd >= 0 && !senders[i].ended)
            return false;
    return true;
}

/* A server that is stopped closes the idle connections when it is freed. */
static bool is_over(const struct choices *choices)
{
    return http_server_open(server) == 0 && inbox_waiting() == 0 &&
           (choices->ending == STOP ||
            (all_ended() && peers_count(server->peers) == 0 && stage_timers(loop) == own_timers));
}

static void end_senders(enum ending ending)
{
    for (size_t i = 0; i < sender_count; i++) {
        if (ending == HALF_CLOSE)
            shutdown(senders[i].fd, SHUT_WR);
        if (ending == CLOSE)
            close_sender(&senders[i]);
    }
    if (ending == STOP)
        http_server_drain(server);
}

static void play_end(const struct choices *choices)
{
    end_senders(choices->ending);
    settle(false);
    for (int64_t ms = 0; !is_over(choices); ms += PASS_MS / 2) {
        CHECK(ms < ENDS_WITHIN_MS);
        if (ms >= PASS_MS) /* later than every deadline of an answer */
            inbox_release();
        if (choices->ending == STOP)
            http_server_cut(server);
        stage_pass(loop, PASS_MS / 2);
        settle(false);
    }
}

static void stop(void)
{
    http_server_free(server);
    ingest_free(ingest);
    CHECK(stage_timers(loop) == 0 && snapshot->references == 1);
    receive_all();
    CHECK(all_ended());
}

static void check_answers(void)
{
    size_t accepted = 0;

    for (size_t i = 0; i < sender_count; i++) {
        struct answers answers = answers_read(buf_str(&senders[i].got));

        CHECK(answers.count <= senders[i].lines + 1);
        accepted += answers.accepted;
    }
    CHECK(accepted <= inbox_committed());
}

static void forget_senders(void)
{
    for (size_t i = 0; i < sender_count; i++) {
        close_sender(&senders[i]);
        buf_release(&senders[i].sent);
        buf_release(&senders[i].got);
    }
    sender_count = 0;
}

/* The lowest free one. */
static int next_descriptor(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data + 2, size - 2};
    struct choices choices;
    int descriptor;
    char what;

    if (size < 3)
        return 0;
    if (!snapshot) {
        make_snapshot();
        start();
    }
    choices = choices_of(data[0], data[1]);
    descriptor = next_descriptor();
    stage_begin();
    inbox_begin(&choices.plan);
    add_sender(choices.source);
    do {
        what = play_part(&input, &choices);
        happen(what, &choices);
    } while (what);
    play_end(&choices);
    CHECK(server->buffered == 0 && snapshot->references == 2);
    if (choices.ending == STOP) {
        stop();
        start();
    }
    check_answers();
    forget_senders();
    CHECK(next_descriptor() == descriptor);
    return 0;
}
