/* The verdict on a request's signature. */
#include "provider/parts.h"

enum refusal provider_judge(struct provider *provider, const struct request *request,
                            bool *verified)
{
    switch (verify_request(provider->scheme, request, &provider->matched)) {
    case VERIFY_VALID:
        if (provider->matched <= provider->config->secret_count) /* as long is `uses` */
            provider->uses[provider->matched]++;
        *verified = true;
        return REFUSAL_NONE;
    case VERIFY_MISSING:
        return REFUSAL_MISSING_SIGNATURE;
    case VERIFY_STALE:
        return REFUSAL_STALE_TIMESTAMP;
    case VERIFY_BAD:
        break;
    }
    return REFUSAL_BAD_SIGNATURE;
}
