/* Needs the capture_key, and the rights of the daemon: operators see no sealed secret. */
#include "ctl/handed_over.h"

#include <stdio.h>

#include "base/seal.h"
#include "ctl/session.h"

bool handed_over_is_needed(const struct provider_config *provider)
{
    return provider->captures_secret && provider->secret_count == 0;
}

/* secrets_accepted.sql: id, provider, sealed. */
static struct secret *open_one(const struct db_result *rows, const struct secret *key,
                               struct str provider)
{
    struct secret *secret;

    for (int i = 0; i < db_rows(rows); i++) {
        if (!str_equal(db_text(rows, i, 1), provider))
            continue;
        secret = seal_open(key, provider, db_text(rows, i, 2));
        if (!secret)
            fprintf(stderr, "inboxctl: the secret of \"%.*s\" was kept with another capture_key\n",
                    STR_ARG(provider));
        return secret;
    }
    fprintf(stderr,
            "inboxctl: no secret of \"%.*s\" was handed over and accepted; see inboxctl secrets\n",
            STR_ARG(provider));
    return NULL;
}

static struct secret *ask(const struct context *context, const struct secret *key,
                          struct str provider)
{
    struct db_result *rows = NULL;
    struct secret *secret = NULL;
    struct err err = {0};
    int code;
    struct db *db = session_connect(context, false, &code);

    if (!db)
        return NULL;
    if (db_run(db, db_query("secrets_accepted"), NULL, &rows, &err) < 0)
        (void)session_failed("secrets", db, &err);
    else
        secret = open_one(rows, key, provider);
    db_result_free(rows);
    db_free(db);
    return secret;
}

const struct provider_config *handed_over_find(const struct context *context,
                                               const struct config *config,
                                               const struct provider_config *provider,
                                               struct handed_over *with)
{
    if (!config->capture_key) {
        fprintf(stderr, "inboxctl: %s has no capture_key, with which secrets are kept\n",
                config->path);
        return NULL;
    }
    with->secret = ask(context, config->capture_key, provider->name);
    if (!with->secret)
        return NULL;
    with->reference = (struct setting){STR("handshake"), provider->file, provider->line};
    with->section = *provider;
    with->section.secrets = &with->secret;
    with->section.secret_settings = &with->reference;
    with->section.secret_count = 1;
    return &with->section;
}

void handed_over_release(struct handed_over *with)
{
    secret_unref(with->secret);
}
