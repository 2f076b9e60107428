#include "ingest/sender.h"

#include "core/forwarded.h"

bool sender_find(const struct config *config, const struct provider_config *provider,
                 struct request *request, struct arena *arena)
{
    const struct network_list *trusted = &config->trusted_proxies, *allowed = &provider->allow;
    struct forwarding forwarding = {trusted->list, trusted->count, trusted->unix_peers};
    struct address peer, sender;
    bool has_peer = request->source_ip.ptr && address_read(request->source_ip, &peer);
    char text[ADDRESS_TEXT_SIZE];

    request->source_ip = STR_NONE;
    if (forwarded_sender(&forwarding, has_peer ? &peer : NULL, request, &sender) != FORWARDED_KNOWN)
        return allowed->count == 0;
    address_write(&sender, text);
    request->source_ip = arena_copy(arena, str_from(text));
    return allowed->count == 0 || networks_have(allowed->list, allowed->count, &sender);
}
