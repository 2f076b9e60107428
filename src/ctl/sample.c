/* Samples are small and made up; the shapes are those that the providers document. */
#include "ctl/sample.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/attr.h"
#include "base/buf.h"

static const struct {
    const char *preset;
    const char *body;
} samples[] = {
    {"stripe",
     "{\"id\":\"evt_{id}\",\"object\":\"event\",\"api_version\":\"2024-06-20\",\"created\":"
     "1735689600,"
     "\"type\":\"invoice.paid\",\"livemode\":false,\"data\":{\"object\":{\"id\":\"in_1PqSample\","
     "\"object\":\"invoice\",\"amount_paid\":1999,\"currency\":\"eur\",\"customer\":\"cus_Sample\","
     "\"status\":\"paid\"}}}"},
    {"github",
     "{\"action\":\"opened\",\"number\":7,\"pull_request\":{\"id\":1,\"title\":\"A sample\"},"
     "\"repository\":{\"id\":42,\"full_name\":\"octocat/hello-world\"},"
     "\"sender\":{\"login\":\"octocat\"}}"},
};
void sample_new_id(char id[static SAMPLE_ID_SIZE])
{
    unsigned char b[16] = {0};

    if (getrandom(b, sizeof(b), 0) != sizeof(b))
        return;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(id, SAMPLE_ID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

static struct str sample_of(struct str preset)
{
    for (size_t i = 0; i < ARRAY_LEN(samples); i++)
        if (preset.ptr && str_is(preset, samples[i].preset))
            return str_from(samples[i].body);
    return STR("");
}

struct str sample_body(const struct provider_config *provider, struct str text, const char *id,
                       struct arena *arena)
{
    static const char mark[] = "{id}";
    const char *found;
    struct buf body;
    struct str copy;

    buf_init(&body, BUF_NO_CAP);
    if (!text.ptr)
        text = sample_of(provider->preset);
    if (text.len == 0)
        sample_shape_body(provider, id, arena, &body);
    while ((found = memmem(text.ptr, text.len, mark, sizeof(mark) - 1))) {
        size_t before = (size_t)(found - text.ptr);

        buf_put(&body, text.ptr, before);
        buf_put_str(&body, str_from(id));
        text.ptr += before + sizeof(mark) - 1;
        text.len -= before + sizeof(mark) - 1;
    }
    buf_put_str(&body, text);
    copy = arena_copy(arena, buf_str(&body));
    buf_release(&body);
    return copy;
}
