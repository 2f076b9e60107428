/* Another preset: the request may be of another service than the section says. */
#include "base/buf.h"
#include "config/presets.h"
#include "diagnose/kinds.h"

/* A section that takes the preset as it is. NULL: it cannot be so short. */
static struct config *section_of(const struct search *search, struct str preset)
{
    struct str url = search->trial.config->public_url.text;
    struct mistakes *mistakes = mistakes_new();
    struct config *config;
    struct buf text;

    if (!url.ptr)
        url = STR("https://localhost/");
    buf_init(&text, BUF_NO_CAP);
    buf_printf(&text,
               "[inboxd]\n[provider p]\nverify = %.*s\npublic_url = %.*s\nevent_id = sha256\n"
               "secret = text:user:0123456789abcdef0123456789abcdef\non = ignore\n",
               STR_ARG(preset), STR_ARG(url));
    config = config_parse("preset", buf_str(&text), mistakes);
    buf_release(&text);
    mistakes_free(mistakes);
    return config;
}

/* Whether the preset fits with the secrets of the section, taken in that encoding; NULL: in the
 * preset's own. */
static bool fits(struct search *search, const struct provider_config *preset, const char *encoding)
{
    const struct provider_config *ours = search->trial.config;
    struct provider_config changed = *preset;

    changed.secrets = ours->secrets;
    changed.secret_settings = ours->secret_settings;
    changed.secret_count = ours->secret_count;
    if (encoding)
        changed.secret_encoding.text = str_from(encoding);
    return trial_fits(&search->trial, &changed, search->trial.request);
}

/* Services share their layouts, so that several presets may fit: all are named. */
static bool find_in(struct search *search, const char *encoding)
{
    struct buf names;
    size_t count = 0;

    buf_init(&names, BUF_NO_CAP);
    for (size_t i = 0; i < presets_count(); i++) {
        struct preset preset = presets_get(i);
        struct config *config = section_of(search, preset.name);

        if (config && config->provider_count == 1 &&
            !str_equal(preset.name, search->trial.config->preset) &&
            fits(search, &config->providers[0], encoding))
            buf_printf(&names, "%s%.*s", count++ ? ", " : "", STR_ARG(preset.name));
        config_unref(config);
    }
    buf_put_char(&names, '\0');
    if (count)
        search_tell(search, "it is signed as %s %.*s: write verify = %s%s%s",
                    count == 1 ? "the preset" : "the presets", (int)names.len - 1, names.data,
                    count == 1 ? names.data : "that of the sender",
                    encoding ? " and secret_encoding = " : "", encoding ? encoding : "");
    buf_release(&names);
    return count > 0;
}

bool find_preset(struct search *search)
{
    static const char *const encodings[] = {NULL, "raw", "base64", "hex", "whsec"};

    for (size_t i = 0; i < ARRAY_LEN(encodings); i++)
        if (find_in(search, encodings[i]))
            return true;
    return false;
}
