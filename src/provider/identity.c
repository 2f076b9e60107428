/* Headers that name an attempt and not the event. Nothing of a single request can tell them apart
 * from an id, so they are known by name. */
#include "provider/identity.h"

#include "base/attr.h"

static const char *const attempt_headers[] = {
    /* by clients, proxies and load balancers: the request */
    "X-Request-Id", "Request-Id", "X-Correlation-Id", "Correlation-Id", "X-Amzn-RequestId",
    "X-Amz-Request-Id", "X-Amz-Cf-Id", "X-GitHub-Request-Id", "X-Azure-Ref", "CF-Ray",
    "Fly-Request-Id", "X-Vercel-Id", "X-Request-Start",
    /* traces */
    "traceparent", "tracestate", "X-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "b3",
    "X-B3-TraceId", "X-B3-SpanId", "uber-trace-id", "X-Datadog-Trace-Id", "Sentry-Trace",
    /* the attempt */
    "Date", "X-Attempt-Number", "X-Retry-Count", "X-Slack-Retry-Num", "X-WC-Webhook-Delivery-ID",
    "BOX-DELIVERY-ID"};

static bool names_an_attempt(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(attempt_headers); i++)
        if (str_equal_nocase(name, str_from(attempt_headers[i])))
            return true;
    return false;
}

/* Whether a setting that begins with "header:NAME" names this header. */
static bool reads_header(const struct setting *setting, struct str name)
{
    const struct str mark = STR("header:");
    struct str text = setting->text;

    if (!text.ptr || !str_starts(text, mark))
        return false;
    text.ptr += mark.len;
    text.len -= mark.len;
    return text.len >= name.len && str_equal_nocase((struct str){text.ptr, name.len}, name) &&
           (text.len == name.len || text.ptr[name.len] == ' ' || text.ptr[name.len] == '\t');
}

void identity_check(const struct provider_config *config, const struct source *event_id,
                    struct mistakes *mistakes)
{
    const struct setting *setting = &config->event_id;
    struct str name;

    if (!setting->file || str_starts(str_from(setting->file), STR("preset ")))
        return;
    for (size_t i = 0; source_header_name(event_id, i, &name); i++) {
        const char *why = NULL;

        if (names_an_attempt(name))
            why = "names the attempt";
        else if (reads_header(&config->timestamp, name))
            why = "is the time of the attempt";
        else if (config->timestamp.text.ptr && reads_header(&config->signature, name))
            why = "signs the time of the attempt";
        if (why)
            mistakes_warn(
                mistakes, setting->file, setting->line,
                "provider \"%.*s\": event_id: header:%.*s %s, so that each one looks like "
                "a new event; join what makes the event the same, such as body:/object/id "
                "+ body:/action + body:/updated_at, or write sha256",
                STR_ARG(config->name), STR_ARG(name), why);
    }
}
