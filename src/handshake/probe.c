/* Handshakes that only ask whether somebody is there. */
#include "handshake/kind.h"

bool answer_head_ok(const struct handshake_call *call)
{
    return reply_empty(call, 200);
}
