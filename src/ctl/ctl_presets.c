/* inboxctl presets: the providers that are known by name, from the files that are compiled in.
 * Needs neither a configuration nor a database. */
#include <stdio.h>
#include <string.h>

#include "config/presets.h"
#include "ctl/commands.h"
#include "ctl/options.h"

static int name_width(void)
{
    size_t width = 0;

    for (size_t i = 0; i < presets_count(); i++)
        if (presets_get(i).name.len > width)
            width = presets_get(i).name.len;
    return (int)width;
}

static void list(FILE *out)
{
    int width = name_width();

    for (size_t i = 0; i < presets_count(); i++) {
        struct preset preset = presets_get(i);

        fprintf(out, "%-*.*s  %-17.*s  %.*s\n", width, STR_ARG(preset.name),
                STR_ARG(preset_scheme(&preset)), STR_ARG(preset_title(&preset)));
    }
}

static int show(const char *name, FILE *out)
{
    struct preset preset;

    if (!presets_find(str_from(name), &preset)) {
        fprintf(stderr,
                "inboxctl: there is no preset \"%s\"; `inboxctl presets` lists those there are\n",
                name);
        return EXIT_FAILED;
    }
    fwrite(preset.text.ptr, 1, preset.text.len, out);
    return EXIT_DONE;
}

int ctl_presets(const struct context *context, int argc, char **argv)
{
    const struct option_spec specs[] = {{0}};
    int words;

    if (options_parse("presets", specs, argc, argv, &words) < 0)
        return EXIT_USAGE;
    if (words == 0) {
        list(context->out);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "show") != 0)
        return command_usage("presets", "there is no \"%s\"; write presets, or presets show NAME",
                             argv[1]);
    if (words != 2)
        return command_usage("presets", "show takes the name of one preset");
    return show(argv[2], context->out);
}
