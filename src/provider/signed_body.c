/* Verifying what a packed body holds. */
#include "provider/signed_body.h"

#include "provider/encoding.h"
#include "provider/parts.h"

int signed_body_parse(struct str text, bool *inflated, struct err *err)
{
    *inflated = str_is(text, "inflated");
    if (!text.ptr || *inflated || str_is(text, "sent"))
        return 0;
    return err_set(err, ERR_INPUT, "is sent or inflated");
}

enum refusal signed_body_verify(struct provider *provider, const struct request *request,
                                bool *verified)
{
    struct request view = *request;
    struct arena *arena;
    enum refusal refusal;

    view.body = STR("");
    if (verify_request(provider->scheme, &view, NULL) == VERIFY_MISSING)
        return REFUSAL_MISSING_SIGNATURE;
    arena = arena_new(4096);
    refusal = encoding_undo(request, (size_t)provider->config->max_body, arena, &view.body);
    if (refusal == REFUSAL_NONE)
        refusal = provider_judge(provider, &view, verified);
    arena_free(arena);
    return refusal;
}
