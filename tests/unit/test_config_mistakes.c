/* Wrong files, and exactly what is said about them: all of it at once, each with its line, and with
 * what would be right. A warning alone leaves the file usable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/config.h"

#define GENERAL "[inboxd]\n"
#define PROVIDER "[provider p]\n"
#define NONE "verify = none\nevent_id = body:/id\non = ignore\n"
#define HMAC                                                                                       \
    "verify = hmac-sha256\nsignature = header:X-Sig hex\nsigned = {body}\nevent_id = body:/id\n"
#define SECRET "secret = text:0123456789abcdef\n"

#define NO_PROVIDER "there is no [provider NAME] section: every webhook is answered 404"

static const struct {
    const char *text, *want;
} cases[] = {
    {"workers = 4\nwriters = 2\n",
     "1: a setting before the first section; write [inboxd] above it\n"},
    {"[inboxd]\n[inboxd]\n", "2: [inboxd] stands in line 1 already; write its keys there\n"},
    {"[inboxd x]\n", "1: [inboxd] takes no name; write [inboxd]\n"},
    {"[Inbox]\n", "1: unknown section \"Inbox\"; did you mean [inboxd]?\n"},
    {"[endpoint erp]\nurl = x\n",
     "1: unknown section \"endpoint\"; there are [inboxd] and [provider NAME]\n"},
    {"[provider]\nverify = none\n", "1: the provider's name is missing; write [provider NAME]\n"},
    {"[provider Stripe]\n", "1: \"Stripe\" cannot be a provider's name; write 1 to 63 of a-z, 0-9, "
                            "_, . and -, the first a letter or digit\n"},
    {"[provider -x]\n", "1: \"-x\" cannot be a provider's name; write 1 to 63 of a-z, 0-9, _, . "
                        "and -, the first a letter or digit\n"},
    {"[provider a]\n" NONE "[provider b]\n" NONE "[provider a]\n" NONE,
     "9: [provider a] stands in line 1 already; write its keys there\n"},
    {"[provders x]\nverify = none\n",
     "1: unknown section \"provders\"; did you mean [provider NAME]?\n"},
    {GENERAL "worker = 4\n", "2: unknown key \"worker\" in [inboxd]; did you mean workers?\n"},
    {GENERAL "MAX_BODY = 1M\n",
     "2: unknown key \"MAX_BODY\" in [inboxd]; did you mean max_body?\n"},
    {GENERAL "shutdown-timeout = 1s\n",
     "2: unknown key \"shutdown-timeout\" in [inboxd]; did you mean shutdown_timeout?\n"},
    {GENERAL "timeout = 5s\n",
     "2: \"timeout\" is no key of [inboxd]; it belongs in a [provider NAME] section\n"},
    {GENERAL "max_body = 3M\nqueue_max_bytes = 2M\n",
     "3: queue_max_bytes: 2M is less than max_body, 3M; write at least 3M\n"},
    {GENERAL "frobnicate = yes\n",
     "2: unknown key \"frobnicate\" in [inboxd]; inboxd.conf(5) lists them\n"},
    {GENERAL "workers = 1\nworkers = 2\n", "3: workers stands in line 2 already; write it once\n"},
    {GENERAL "workers =\n", "2: workers has no value; write one, or take the line away\n"},
    {GENERAL "workers many = 4\n",
     "2: workers takes nothing before \"=\"; write workers = VALUE\n"},
    {GENERAL "workers = many\n",
     "2: workers: \"many\" is not a count; write a number from 0 to 256\n"},
    {GENERAL "workers = -1\n", "2: workers: \"-1\" is not a count; write a number from 0 to 256\n"},
    {GENERAL "workers = 257\n", "2: workers: \"257\" is too large; write a number from 0 to 256\n"},
    {GENERAL "workers = 4x\n", "2: workers: \"4x\" is not a count; write a number from 0 to 256\n"},
    {GENERAL "workers = 99999999999999999999\n",
     "2: workers: \"99999999999999999999\" is too large; write a number from 0 to 256\n"},
    {GENERAL "writers = 0\n", "2: writers: \"0\" is too small; write a number from 1 to 64\n"},
    {GENERAL "workers = 4 # four\n",
     "2: warning: workers: \" #\" is part of the value; begin a comment with \" ;\", or put the "
     "value in quotes\n"
     "2: workers: \"4 # four\" is not a count; write a number from 0 to 256\n"},
    {GENERAL "max_body = 1MB\n",
     "2: max_body: \"1MB\" is not a size; write a size from 1K to 128M, such as 512K or 1M\n"},
    {GENERAL "max_body = 1k\n",
     "2: max_body: \"1k\" is not a size; write a size from 1K to 128M, such as 512K or 1M\n"},
    {GENERAL "max_body = 0\n",
     "2: max_body: \"0\" is too small; write a size from 1K to 128M, such as 512K or 1M\n"},
    {GENERAL "max_body = 129M\n",
     "2: max_body: \"129M\" is too large; write a size from 1K to 128M, such as 512K or 1M\n"},
    {GENERAL "max_body = 1.5M\n",
     "2: max_body: \"1.5M\" is not a size; write a size from 1K to 128M, such as 512K or 1M\n"},
    {GENERAL "queue_max_bytes = 9999999999999999G\n",
     "2: queue_max_bytes: \"9999999999999999G\" is too large; write a size from 1M to 64G, such as "
     "512K or 1M\n"},
    {GENERAL "ack_timeout = 5\n", "2: ack_timeout: \"5\" is not a duration; write a duration from "
                                  "100ms to 1m, such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "ack_timeout = 5 s\n", "2: ack_timeout: \"5 s\" is not a duration; write a duration "
                                    "from 100ms to 1m, such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "ack_timeout = 99ms\n", "2: ack_timeout: \"99ms\" is too small; write a duration from "
                                     "100ms to 1m, such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "ack_timeout = 2m\n", "2: ack_timeout: \"2m\" is too large; write a duration from "
                                   "100ms to 1m, such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "retain = 1w\n", "2: retain: \"1w\" is not a duration; write a duration from 1s to "
                              "36500d, such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "retain = 0\n", "2: retain: \"0\" is too small; write a duration from 1s to 36500d, "
                             "such as 500ms, 5s, 15m, 24h or 30d\n"},
    {GENERAL "log = xml\n", "2: log: \"xml\" is unknown; write logfmt or json\n"},
    {GENERAL "log_level = warning\n",
     "2: log_level: \"warning\" is unknown; write debug, info, warn or error\n"},
    {GENERAL "trusted_proxies = 127.0.0.1,\n", "2: trusted_proxies: \"\" is no network; write an "
                                               "address such as 192.0.2.1 or 2001:db8::1, or a "
                                               "network such as 10.0.0.0/8\n"},
    {GENERAL "trusted_proxies = unix, 10.1.0.0/8\n",
     "2: trusted_proxies: \"10.1.0.0/8\" has bits set behind its first 8; write the network's "
     "first "
     "address, or a longer prefix\n"},
    {GENERAL "redact = X-Key,\n",
     "2: redact: \"\" is no name of a header; write names separated by "
     "commas, such as X-Acme-Key, X-Acme-Session\n"},
    {GENERAL "redact = header:X-Key\n",
     "2: redact: \"header:X-Key\" is no name of a header; write names separated by commas, such as "
     "X-Acme-Key, X-Acme-Session\n"},
    {GENERAL "listen = 127.0.0.1:80 mode 0660\n",
     "2: listen: cannot use \"mode\"; behind an address there may be proxy-protocol, and for "
     "unix:/PATH also mode OCTAL, owner NAME and group NAME\n"},
    {GENERAL "listen = unix:/run/x mode 0999\n",
     "2: listen: mode wants an octal number such as 0660\n"},
    {GENERAL "listen = unix:/run/x group nobody-knows-it\n",
     "2: listen: there is no group \"nobody-knows-it\" on this system\n"},
    {GENERAL "listen = unix:/run/x owner\n", "2: listen: there is no user \"\" on this system\n"},
    {GENERAL "listen = 8080\n", "2: listen: \"8080\" has no port; write a numeric address and port "
                                "such as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = localhost:8080\n",
     "2: listen: \"localhost:8080\" has no numeric address; write a numeric address and port such "
     "as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = *:80\n",
     "2: listen: \"*:80\" has no numeric address; write a numeric address and port such as "
     "127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = ::1:80\n",
     "2: listen: \"::1:80\" has no numeric address; write a numeric address and port such as "
     "127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = [::1]80\n",
     "2: listen: \"[::1]80\" is not an address with a port; write a numeric address and port such "
     "as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = [127.0.0.1]:80\n",
     "2: listen: \"[127.0.0.1]:80\" has no numeric address; write a numeric address and port such "
     "as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = 127.0.0.1:65536\n",
     "2: listen: \"127.0.0.1:65536\" has no port from 0 to 65535; write a numeric address and port "
     "such as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = 127.0.0.1:\n",
     "2: listen: \"127.0.0.1:\" has no port from 0 to 65535; write a numeric address and port such "
     "as 127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = unix:run/x\n",
     "2: listen: \"unix:run/x\" has no absolute path; write a numeric address and port such as "
     "127.0.0.1:8080 or [::1]:8080, unix:/PATH, or systemd\n"},
    {GENERAL "listen = "
             "unix:/"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
     "2: listen: "
     "\"unix:/"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" has "
     "a path of 121 bytes; a unix socket's has at most 107\n"},
    {GENERAL "listen = 127.0.0.1:80\nlisten = systemd\nlisten = 127.0.0.1:80\nlisten = systemd\n",
     "4: listen: this address stands in line 2 already; write it once\n"
     "5: listen: this address stands in line 3 already; write it once\n"},
    {GENERAL "database = inboxd\n", "2: database: not a connection string; write one such as "
                                    "host=/run/postgresql dbname=inboxd\n"},
    {GENERAL "database = dbname=x password=geheim\n",
     "2: warning: database: a password stands in the configuration; passfile=/PATH keeps it "
     "apart\n"},
    {PROVIDER HMAC "on = ignore\n",
     "1: [provider p] has no secret; write secret = file:/PATH, env:NAME or credential:NAME\n"},
    {PROVIDER "",
     "1: [provider p] has no verify; write verify = PRESET, verify = hmac-sha256, or verify = "
     "none\n"
     "1: [provider p] has no event_id; write where the id is, such as event_id = body:/id\n"
     "1: [provider p] has no plain on; write what to do with an event, such as on = "
     "sql:SCHEMA.FUNCTION\n"},
    {PROVIDER NONE "order = serial\n",
     "5: order: there is no key to order by; write key = SOURCE, or order = none\n"},
    {PROVIDER NONE "machine = order\nkey = body:/k\norder = none\n",
     "5: machine: there is no event_type, by which a machine moves on; write event_type = "
     "SOURCE\n"},
    {PROVIDER NONE "machine = order\nevent_type = body:/type\n",
     "5: machine: there is no key, which says what entity an event is about; write key = SOURCE\n"},
    {PROVIDER NONE "order = strickt\n",
     "5: order: \"strickt\" is unknown; write serial, strict or none\n"},
    {PROVIDER NONE SECRET, "5: warning: secret: the secret stands in the configuration; "
                           "file:/PATH, env:NAME or credential:NAME keep it apart\n"
                           "5: secret: verify = none accepts every request and does not use it; "
                           "take this line away, or write how requests are verified\n"},
    {PROVIDER NONE "signature = header:A hex\nsigned = {body}\ntimestamp = header:T s\n",
     "5: signature: verify = none accepts every request and does not use it; take this line away, "
     "or write how requests are verified\n"
     "6: signed: verify = none accepts every request and does not use it; take this line away, or "
     "write how requests are verified\n"
     "7: timestamp: verify = none accepts every request and does not use it; take this line away, "
     "or write how requests are verified\n"},
    {PROVIDER NONE "signature =\n", ""},
    {PROVIDER HMAC "on = ignore\nsecret = geheim\n",
     "7: secret: the value does not say where the secret is; write file:/PATH, env:NAME, "
     "credential:NAME or text:SECRET\n"},
    {PROVIDER HMAC "on = ignore\nsecret = text:geheim-geheim\n",
     "7: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"
     "7: warning: secret: it has 13 bytes; a good one has 16 or more\n"},
    {PROVIDER HMAC "on = ignore\nsecret = text:0123456789abcdef ;geheim\n",
     "7: warning: secret: what follows \" ;\" is a comment; put the value in quotes where it is "
     "part of the secret\n"
     "7: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"},
    {PROVIDER HMAC "on = ignore\nsecret = file:secrets/p\n",
     "7: secret: file:secrets/p is not an absolute path; write file:/PATH\n"},
    {PROVIDER HMAC "on = ignore\nsecret = file:/nonexistent/secret\n",
     "7: secret: could not open /nonexistent/secret: No such file or directory\n"},
    {PROVIDER HMAC "on = ignore\nsecret = file:/tmp\n",
     "7: secret: /tmp is not a regular file; name the file that holds the secret\n"},
    {PROVIDER HMAC "on = ignore\nsecret = env:INBOXD_TEST_NOT_SET\n",
     "7: secret: the environment has no variable \"INBOXD_TEST_NOT_SET\"; set it, or write "
     "file:/PATH\n"},
    {PROVIDER HMAC "on = ignore\nsecret = env:\n",
     "7: secret: the environment has no variable \"\"; set it, or write file:/PATH\n"},
    {PROVIDER HMAC "on = ignore\nsecret = credential:a/b\n",
     "7: secret: \"a/b\" cannot be a credential's name; write the name that LoadCredential= gives "
     "it\n"},
    {PROVIDER HMAC "on = ignore\nsecret = text:\n",
     "7: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"
     "7: secret: text: is empty; put the secret into it\n"},
    {PROVIDER "verify = stirpe\n" SECRET "on = ignore\n",
     "2: verify: there is no preset or scheme \"stirpe\"; did you mean stripe?\n"
     "3: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"},
    {PROVIDER "verify = hmac_sha256\n" SECRET "event_id = sha256\non = ignore\n",
     "2: verify: there is no preset or scheme \"hmac_sha256\"; did you mean hmac-sha256?\n"
     "3: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"},
    {PROVIDER "verify = somebody\n" SECRET "event_id = sha256\non = ignore\n",
     "2: verify: there is no preset or scheme \"somebody\"; write a preset, which `inboxctl "
     "presets` lists, or a scheme: hmac-sha1, hmac-sha256, hmac-sha512, sha256, ed25519, "
     "ecdsa-p256-sha256, rsa-sha256, token, basic, jwt, "
     "twilio, adyen, sns, none\n"
     "3: warning: secret: the secret stands in the configuration; file:/PATH, env:NAME or "
     "credential:NAME keep it apart\n"},
    {PROVIDER "verify = none\non = ignore\n",
     "1: [provider p] has no event_id; write where the id is, such as event_id = body:/id\n"},
    {PROVIDER "verify = none\nevent_id = body:/id\n",
     "1: [provider p] has no plain on; write what to do with an event, such as on = "
     "sql:SCHEMA.FUNCTION\n"},
    {PROVIDER "verify = none\nevent_id = body:/id\nevent_type = body:/t\non a = ignore\n",
     "1: [provider p] has no plain on; write what to do with an event, such as on = "
     "sql:SCHEMA.FUNCTION\n"},
    {PROVIDER NONE "on a = ignore\n",
     "5: on a: there is no event_type to choose by; write event_type = SOURCE\n"},
    {PROVIDER NONE "on = sql:a.b\n", "5: on stands in line 4 already; write it once\n"},
    {PROVIDER NONE "event_type = body:/t\non a = ignore\non b* = ignore\non a = sql:a.b\n",
     "8: on a stands in line 6 already; write it once\n"},
    {PROVIDER NONE "on * = ignore\n", "5: on *: for all other events write on = ACTION\n"},
    {PROVIDER NONE "on a*b = ignore\n",
     "5: on: the pattern \"a*b\" is neither an event type nor the beginning of one; write one "
     "word, which may end with one *\n"},
    {PROVIDER NONE "on a b = ignore\n",
     "5: on: the pattern \"a b\" is neither an event type nor the beginning of one; write one "
     "word, which may end with one *\n"},
    {PROVIDER NONE "on ** = ignore\n",
     "5: on: the pattern \"**\" is neither an event type nor the beginning of one; write one word, "
     "which may end with one *\n"},
    {PROVIDER NONE "attempts = 0\n",
     "5: attempts: \"0\" is too small; write a number from 1 to 10000\n"},
    {PROVIDER NONE "backoff = exponential\n",
     "5: backoff: an exponential backoff has a base and a cap; write exponential BASE CAP, such as "
     "exponential 2s 1h, or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = exponential 2s\n",
     "5: backoff: an exponential backoff has a base and a cap; write exponential BASE CAP, such as "
     "exponential 2s 1h, or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = exponential 0s 1h\n",
     "5: backoff: the base is 0, so it never grows; write exponential BASE CAP, such as "
     "exponential 2s 1h, or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = exponential 1h 2s\n",
     "5: backoff: the cap \"2s\" is smaller than the base; write exponential BASE CAP, such as "
     "exponential 2s 1h, or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = exponential 2s 31d\n",
     "5: backoff: \"31d\" is too large; write a duration up to 30d\n"},
    {PROVIDER NONE "backoff = 1m,,2m\n",
     "5: backoff: \"\" is not a duration; write exponential BASE CAP, such as exponential 2s 1h, "
     "or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = 1m, 2\n",
     "5: backoff: \"2\" is not a duration; write exponential BASE CAP, such as exponential 2s 1h, "
     "or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = 2 4 8\n",
     "5: backoff: \"2 4 8\" is not a duration; write exponential BASE CAP, such as exponential 2s "
     "1h, or a list, such as 1m, 5m, 15m\n"},
    {PROVIDER NONE "backoff = 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, "
                   "1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s\n",
     "5: backoff: the list is too long; write at most 32 durations\n"},
    {PROVIDER NONE "defer = 2h\ndefer_limit = 1h\n",
     "5: defer: a wait of 2h is longer than the limit of 1h; write defer at most as long as "
     "defer_limit\n"},
    {PROVIDER NONE "defer_limit = 1s\n", "5: defer_limit: a wait of 5m is longer than the limit of "
                                         "1s; write defer at most as long as defer_limit\n"},
    {PROVIDER NONE "tolerance = 1m\n",
     "5: warning: tolerance: without a timestamp it is not used\n"},
    {PROVIDER NONE "leeway = 1s\n", "5: warning: leeway: without verify = jwt it is not used\n"},
    {PROVIDER NONE "rate = 100\n", "5: rate: \"100\" is not a rate; write a number up to 1000000 "
                                   "and /s, /min or /h, such as 100/s "
                                   "or 600/min\n"},
    {PROVIDER NONE "rate = 0/s\n", "5: rate: \"0/s\" is not a rate; write a number up to 1000000 "
                                   "and /s, /min or /h, such as 100/s "
                                   "or 600/min\n"},
    {PROVIDER NONE "rate_per_address = 9999999999999999999999/h\n",
     "5: rate_per_address: \"9999999999999999999999/h\" is not a rate; write a number up to "
     "1000000 "
     "and /s, /min or /h, such as 100/s or 600/min\n"},
    {PROVIDER NONE "allow = unix\n",
     "5: allow: \"unix\" is no network; write an address such as 192.0.2.1 or 2001:db8::1, or a "
     "network such as 10.0.0.0/8\n"},
    {PROVIDER NONE "concurrency = 0\n",
     "5: concurrency: \"0\" is too small; write a number from 1 to 256\n"},
    {PROVIDER NONE "public_url = hooks.example.com/x\n",
     "5: public_url: \"hooks.example.com/x\" is not an address without a query; write "
     "https://HOST/PATH as the provider was given it\n"},
    {PROVIDER NONE "public_url = https://hooks.example.com/x?a=b\n",
     "5: public_url: \"https://hooks.example.com/x?a=b\" is not an address without a query; write "
     "https://HOST/PATH as the provider was given it\n"},
    {PROVIDER NONE "max_body = 100M\n", "1: queue_max_bytes: 64M is less than the max_body of "
                                        "[provider p], 100M; write at least 100M\n"},
    {PROVIDER NONE "[inboxd]\nretain_ids = 30d\n",
     "6: retain_ids: 30d is shorter than retain, 30d, and the defer_limit of [provider p], 1d, "
     "together; write at least 31d\n"},
    {PROVIDER NONE "[inboxd]\nretain = 400d\n",
     "6: retain_ids: 400d is shorter than retain, 400d, and the defer_limit of [provider p], 1d, "
     "together; write at least 401d\n"},
    {PROVIDER NONE "listen = systemd\n",
     "5: \"listen\" is no key of [provider]; it belongs in [inboxd]\n"},
};

/* What is said about `text`, but for files without a provider; taken by the caller. */
static char *said_about(const char *text, struct config **config)
{
    struct mistakes *mistakes = mistakes_new();
    struct buf buf;
    char *said;

    buf_init(&buf, BUF_NO_CAP);
    *config = config_parse("t.conf", str_from(text), mistakes);
    for (size_t i = 0; i < mistakes_count(mistakes); i++) {
        const struct mistake *mistake = mistakes_get(mistakes, i);

        assert_string_equal(mistake->file, "t.conf");
        if (strcmp(mistake->text, NO_PROVIDER) != 0)
            buf_printf(&buf, "%d: %s%s\n", mistake->line, mistake->warning ? "warning: " : "",
                       mistake->text);
    }
    assert_int_equal(!*config, mistakes_errors(mistakes) > 0);
    said = mem_copy(buf_str(&buf));
    buf_release(&buf);
    mistakes_free(mistakes);
    return said;
}

static void test_each_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config *config;
        char *said = said_about(cases[i].text, &config);

        if (strcmp(said, cases[i].want) != 0)
            print_error("case %zu: %s\n", i, cases[i].text);
        assert_string_equal(said, cases[i].want);
        assert_null(strstr(said, "geheim"));
        config_unref(config);
        free(said);
    }
}

static void test_all_mistakes_at_once_in_order(void **state)
{
    struct config *config;
    char *said = said_about("[provider p]\n" HMAC
                            "attempts = 0\non = ignore\nsecret = env:INBOXD_TEST_NOT_SET\n"
                            "[inboxd]\nworkers = many\nlog_format = json\n[provder q]\n  x\n",
                            &config);

    (void)state;
    assert_null(config);
    assert_string_equal(
        said,
        "6: attempts: \"0\" is too small; write a number from 1 to 10000\n"
        "8: secret: the environment has no variable \"INBOXD_TEST_NOT_SET\"; set it, or write "
        "file:/PATH\n"
        "10: workers: \"many\" is not a count; write a number from 0 to 256\n"
        "11: unknown key \"log_format\" in [inboxd]; inboxd.conf(5) lists them\n"
        "12: unknown section \"provder\"; did you mean [provider NAME]?\n"
        "13: the line begins with a blank, and no line continues the one before it; take the "
        "blank away, or write the value on one line\n");
    free(said);
}

static void judge_name(const struct provider_config *provider, struct mistakes *mistakes)
{
    mistakes_add(mistakes, provider->file, provider->line, "judged %.*s", STR_ARG(provider->name));
}

/* A further judge sees the providers that are right in themselves, whatever else is wrong. */
static void test_a_judge_adds_to_the_rest(void **state)
{
    char path[] = "/tmp/inboxd_config_XXXXXX";
    const char *text = "[inboxd]\nworkers = many\n[provider b]\n" NONE
                       "[provider a]\non = ignore\n[provider c]\n" NONE;
    struct mistakes *mistakes = mistakes_new();
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    assert_null(config_read_checked(path, judge_name, mistakes));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mistakes_count(mistakes), 5);
    assert_int_equal(mistakes_get(mistakes, 0)->line, 2);
    assert_string_equal(mistakes_get(mistakes, 1)->text, "judged b");
    assert_int_equal(mistakes_get(mistakes, 2)->line, 7);
    assert_int_equal(mistakes_get(mistakes, 3)->line, 7);
    assert_string_equal(mistakes_get(mistakes, 4)->text, "judged c");
    mistakes_free(mistakes);
}

static void test_order_of_the_list(void **state)
{
    struct mistakes *mistakes = mistakes_new();

    (void)state;
    mistakes_add(mistakes, "b", 2, "four");
    mistakes_warn(mistakes, "b", 1, "three");
    mistakes_add(mistakes, "b", 2, "five %d", 5);
    mistakes_add(mistakes, "a", 9, "two");
    mistakes_warn(mistakes, "a", 0, "one");
    assert_int_equal(mistakes_count(mistakes), 5);
    assert_int_equal(mistakes_errors(mistakes), 3);
    assert_string_equal(mistakes_get(mistakes, 0)->text, "one");
    assert_true(mistakes_get(mistakes, 0)->warning);
    assert_string_equal(mistakes_get(mistakes, 1)->text, "two");
    assert_string_equal(mistakes_get(mistakes, 2)->text, "three");
    assert_string_equal(mistakes_get(mistakes, 3)->text, "four");
    assert_string_equal(mistakes_get(mistakes, 4)->text, "five 5");
    mistakes_free(mistakes);
    mistakes_free(NULL);
}

/* config_read() of a path; the one mistake's text. */
static char *said_about_path(const char *path)
{
    struct mistakes *mistakes = mistakes_new();
    char *said;

    assert_null(config_read(path, mistakes));
    assert_int_equal(mistakes_count(mistakes), 1);
    assert_int_equal(mistakes_get(mistakes, 0)->line, 0);
    assert_string_equal(mistakes_get(mistakes, 0)->file, path);
    said = mem_printf("%s", mistakes_get(mistakes, 0)->text);
    mistakes_free(mistakes);
    return said;
}

static void test_files_that_cannot_be_read(void **state)
{
    char *said = said_about_path("/nonexistent/inboxd.conf");

    (void)state;
    assert_string_equal(said, "could not read the configuration: No such file or directory");
    free(said);
    said = said_about_path("/tmp");
    assert_string_equal(said, "could not read the configuration: Is a directory");
    free(said);
    said = said_about_path("/dev/zero");
    assert_string_equal(said,
                        "the file has more than 1M (1048576 bytes), which no configuration needs");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_mistake),
        cmocka_unit_test(test_all_mistakes_at_once_in_order),
        cmocka_unit_test(test_a_judge_adds_to_the_rest),
        cmocka_unit_test(test_order_of_the_list),
        cmocka_unit_test(test_files_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
