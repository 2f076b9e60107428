/* Inside handshake/ only: what a handshake is made of. To add one: a function that answers, and a
 * row in handshake.c. */
#ifndef HANDSHAKE_KIND_H
#define HANDSHAKE_KIND_H

#include "base/json.h"
#include "handshake/handshake.h"
#include "handshake/methods.h"

/* Longest text that is reflected or signed. */
#define CHALLENGE_MAX 4096
/* A longer body is no handshake. */
#define HANDSHAKE_BODY_MAX ((size_t)64 * 1024)
#define HANDSHAKE_WORDS_MAX 8

struct handshake;

/* The members of a body that handshakes read. */
enum member {
    MEMBER_TYPE,         /* /type */
    MEMBER_CHALLENGE,    /* /challenge */
    MEMBER_EVENT,        /* /event */
    MEMBER_PLAIN_TOKEN,  /* /payload/plainToken */
    MEMBER_SNS_TYPE,     /* /Type */
    MEMBER_SNS_URL,      /* /SubscribeURL */
    MEMBER_VERIFICATION, /* /verification_token */
    MEMBER_COUNT,
};

/* What an answer is made of. */
struct handshake_call {
    const struct handshake *handshake;
    const struct request *request;
    enum handshake_stage stage;
    const struct json_value *members; /* MEMBER_COUNT of them; NULL: the body is not JSON */
    struct str document;              /* the JSON itself */
    struct str secret;                /* that verified the request; ptr NULL: none */
    struct arena *arena;
    struct handshake_reply *reply;
};

enum handshake_needs {
    NEEDS_SECRET = 1, /* `secret`, used as it is */
    NEEDS_TOKEN = 2,  /* `handshake_token` */
    NEEDS_RAW = 4,    /* a secret that is used as it is, once there is one */
};

struct handshake_kind {
    const char *name;
    unsigned methods; /* of enum method */
    unsigned stages;  /* of a POST: of enum handshake_stage */
    bool reads_body;  /* only a body that is JSON is one */
    unsigned needs;   /* of enum handshake_needs */
    size_t words_max;
    const char *words; /* what may follow the name, for mistakes; NULL: nothing */
    /* Whether the words may stand there; NULL: any may. */
    bool (*fits)(const struct handshake *handshake);
    /* False: the request is not this handshake, and nothing was set. */
    bool (*answer)(const struct handshake_call *call);
};

struct handshake {
    const struct handshake_kind *kind;
    const struct provider_config *config;
    struct str words[HANDSHAKE_WORDS_MAX];
    size_t word_count;
};

/* Longest and shortest secret that is captured. */
#define CAPTURED_MIN 8
#define CAPTURED_MAX 512

/* Ways to answer; all return true. */
bool reply_refuse(const struct handshake_call *call, enum refusal refusal);
bool reply_text(const struct handshake_call *call, struct str body);
bool reply_json(const struct handshake_call *call, struct str body);
bool reply_empty(const struct handshake_call *call, unsigned status);
/* Adds a header; the value is borrowed. */
void reply_header(const struct handshake_call *call, const char *name, struct str value);

/* The query parameter of that name, decoded; letters of the name count without case. */
enum parameter { PARAMETER_ABSENT, PARAMETER_THERE, PARAMETER_BAD };
/* PARAMETER_BAD: it comes twice, does not decode, is empty or longer than CHALLENGE_MAX. */
enum parameter call_parameter(const struct handshake_call *call, struct str name,
                              struct str *value);

/* The content of a member that is a string; ptr NULL: it is none, or has what no text has. */
struct str call_string(const struct handshake_call *call, enum member member);
/* Whether the body is an object with that member and no other. `name`: as it stands there. */
bool call_is_only(const struct handshake_call *call, enum member member, struct str name);
/* A header that must be single; PARAMETER_BAD as above. */
enum parameter call_header(const struct handshake_call *call, struct str name, struct str *value);

/* In constant time. */
bool secret_matches(const struct secret *secret, struct str offered);

/* query.c */
bool answer_echo_query(const struct handshake_call *call);
bool answer_hub(const struct handshake_call *call);
bool answer_crc(const struct handshake_call *call);
bool answer_validation_token(const struct handshake_call *call);
bool fits_hub(const struct handshake *handshake);
/* probe.c */
bool answer_head_ok(const struct handshake_call *call);
bool answer_options(const struct handshake_call *call);
bool answer_unsigned_ping(const struct handshake_call *call);
/* capture.c */
bool answer_header_echo(const struct handshake_call *call);
bool fits_header_echo(const struct handshake *handshake);
bool answer_token_capture(const struct handshake_call *call);
/* message.c */
bool answer_json_challenge(const struct handshake_call *call);
bool fits_json_challenge(const struct handshake *handshake);
bool answer_ping_pong(const struct handshake_call *call);
bool answer_sns_confirm(const struct handshake_call *call);
bool answer_zoom(const struct handshake_call *call);

#endif
