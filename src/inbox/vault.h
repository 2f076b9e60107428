/* Secrets that providers hand over in a handshake. A thread with its own connection keeps each of
 * them sealed (base/seal.h) in the provider's slot, and watches which ones a person has accepted:
 * those verify requests. Nothing of a secret is logged. */
#ifndef INBOX_VAULT_H
#define INBOX_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/secret.h"
#include "base/str.h"
#include "loop/loop.h"

struct vault;

enum vault_result {
    VAULT_CAPTURED,    /* committed; waits for a person */
    VAULT_SAME,        /* this one is in the slot already */
    VAULT_TAKEN,       /* another one is */
    VAULT_UNAVAILABLE, /* not known to be committed: the sender tries again */
};

/* Embedded in the caller's request; the caller fills the upper part. */
struct vault_item {
    struct str provider, secret, source_ip; /* borrowed until done() */
    void (*done)(struct vault_item *item);  /* on the loop's thread, exactly once */
    void *owner;                            /* the caller's */

    enum vault_result result; /* set before done() */
    bool abandoned; /* set by the caller (atomic store): its sender has been answered already */
    struct vault_item *next; /* the vault's */
};

/* The accepted secrets of all providers; immutable, at most one a provider. */
struct accepted_secret {
    int64_t id;
    struct str provider;
    struct secret *secret;
};

struct accepted_secrets {
    struct accepted_secret *list;
    size_t count;
    struct arena *arena;
};

void accepted_secrets_free(struct accepted_secrets *secrets); /* takes NULL */
/* Borrowed; NULL: there is none for that provider. Takes NULL. */
struct secret *accepted_secret(const struct accepted_secrets *secrets, struct str provider);

struct vault_options {
    const char *conninfo;
    struct secret *key; /* of base/seal.h */
    struct loop *loop;
    /* On the loop's thread: what is accepted, once at the start and after every change. Takes the
     * secrets. */
    void (*changed)(void *argument, struct accepted_secrets *secrets);
    void *argument;
};

/* Starts the thread. Copies what it needs, takes references. */
struct vault *vault_new(const struct vault_options *options);

/* Loop thread. False, and nothing is taken: too many wait. */
bool vault_put(struct vault *vault, struct vault_item *item);

/* Interrupts what runs; every item that was put is given back first. Takes NULL. */
void vault_free(struct vault *vault);

#endif
