/* Compiled configurations, counted by references that only the loop takes. */
#include "ingest/snapshot.h"

#include <stdlib.h>

#include "base/mem.h"

static struct http_answer *make_reply(const struct reply *reply, const char *result)
{
    return http_answer_new(&(struct http_answer_spec){.status = reply->status,
                                                      .body = reply->body,
                                                      .content_type = reply->content_type.ptr,
                                                      .result = result});
}

static void make_replies(const struct provider *provider, struct replies *replies)
{
    const struct reply *reply = provider_reply(provider);

    if (reply->status == 0)
        return;
    replies->stored = make_reply(reply, "stored");
    replies->duplicate = make_reply(reply, "duplicate");
}

struct snapshot *snapshot_new(const struct config *config, const struct accepted_secrets *accepted,
                              struct mistakes *mistakes)
{
    struct snapshot *snapshot = mem_alloc(sizeof(*snapshot));
    size_t failed = 0;

    snapshot->config = config_ref(config);
    snapshot->references = 1;
    snapshot->secrets_known = accepted || !config->capture_key;
    snapshot->providers = mem_alloc((config->provider_count + 1) * sizeof(struct provider *));
    snapshot->replies = mem_alloc((config->provider_count + 1) * sizeof(struct replies));
    snapshot->refusals = refusals_new(config);
    snapshot->rates = rates_new(config);
    for (size_t i = 0; i < config->provider_count; i++) {
        const struct secret *captured = accepted_secret(accepted, config->providers[i].name);

        snapshot->providers[i] = provider_new_captured(&config->providers[i], captured, mistakes);
        failed += !snapshot->providers[i];
        if (snapshot->providers[i])
            make_replies(snapshot->providers[i], &snapshot->replies[i]);
    }
    if (failed == 0)
        return snapshot;
    snapshot_unref(snapshot);
    return NULL;
}

struct snapshot *snapshot_ref(struct snapshot *snapshot)
{
    snapshot->references++;
    return snapshot;
}

static void free_provider(struct snapshot *snapshot, size_t i)
{
    provider_free(snapshot->providers[i]);
    http_answer_free(snapshot->replies[i].stored);
    http_answer_free(snapshot->replies[i].duplicate);
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (!snapshot || --snapshot->references > 0)
        return;
    for (size_t i = 0; i < snapshot->config->provider_count; i++)
        free_provider(snapshot, i);
    free(snapshot->providers);
    free(snapshot->replies);
    refusals_free(snapshot->refusals);
    rates_free(snapshot->rates);
    config_unref(snapshot->config);
    free(snapshot);
}

bool snapshot_lacks_secret(const struct snapshot *snapshot, size_t provider)
{
    const struct provider_config *config = &snapshot->config->providers[provider];

    return config->captures_secret && config->secret_count == 0 && !snapshot->secrets_known;
}

ptrdiff_t snapshot_find(const struct snapshot *snapshot, struct str name)
{
    size_t low = 0, high = snapshot->config->provider_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_compare(name, snapshot->config->providers[middle].name);

        if (order == 0)
            return (ptrdiff_t)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}
