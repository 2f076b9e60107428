/* Readers of secrets. What passes through memory of ours is wiped. A reference that has no known
 * kind may be the secret itself, pasted, so it is never shown. */
#include "config/secret_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* What all readers share. */
struct place {
    const char *file;
    int line;
    struct mistakes *mistakes;
};

/* Takes the line ends off; the secret, or NULL and a mistake when nothing is left. */
static struct secret *finish(const struct place *place, struct str bytes, const char *what)
{
    while (bytes.len > 0 && bytes.ptr[bytes.len - 1] == '\n') {
        bytes.len--;
        if (bytes.len > 0 && bytes.ptr[bytes.len - 1] == '\r')
            bytes.len--;
    }
    if (bytes.len == 0) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: %s is empty; put the secret into it", what);
        return NULL;
    }
    if (bytes.len > SECRET_MAX) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: %s is larger than 64K, which no secret is", what);
        return NULL;
    }
    return secret_new(bytes);
}

/* Reads at most `size` bytes. -1: errno says why. */
static ssize_t read_all(int fd, char *bytes, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t got = read(fd, bytes + have, size - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static struct secret *read_open_file(const struct place *place, int fd, const char *path)
{
    size_t size = SECRET_MAX + 3; /* a line end may follow the largest secret */
    char *bytes = mem_alloc(size);
    struct secret *secret = NULL;
    ssize_t len = read_all(fd, bytes, size);

    if (len < 0)
        mistakes_add(place->mistakes, place->file, place->line, "secret: could not read %s: %m",
                     path);
    else
        secret = finish(place, (struct str){bytes, (size_t)len}, path);
    secret_wipe(bytes, size);
    free(bytes);
    return secret;
}

static struct secret *read_file(const struct place *place, const char *path, bool check_mode)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct secret *secret = NULL;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        mistakes_add(place->mistakes, place->file, place->line, "secret: could not open %s: %m",
                     path);
    } else if (!S_ISREG(status.st_mode)) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: %s is not a regular file; name the file that holds the secret", path);
    } else {
        if (check_mode && (status.st_mode & 0137))
            mistakes_warn(place->mistakes, place->file, place->line,
                          "secret: %s has mode %04o; chmod 0640 or stricter keeps others out", path,
                          (unsigned)status.st_mode & 07777);
        secret = read_open_file(place, fd, path);
    }
    if (fd >= 0)
        close(fd);
    return secret;
}

/* ---- folders of certificates ---- */

#define FOLDER_FILES_MAX 100
#define PEM_SUFFIX_LEN 4 /* ".pem" */

static int is_pem(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);

    return entry->d_name[0] != '.' && len > PEM_SUFFIX_LEN &&
           strcmp(entry->d_name + len - PEM_SUFFIX_LEN, ".pem") == 0;
}

/* Adds a file behind a line with its name. */
static bool add_file(const struct place *place, const char *folder, const char *name,
                     struct buf *out)
{
    char *path = mem_printf("%s%s", folder, name);
    struct secret *content = read_file(place, path, false);

    if (content) {
        buf_printf(out, "# %s\n", name);
        buf_put_str(out, secret_reveal(content));
        buf_put_char(out, '\n');
    }
    free(path);
    secret_unref(content);
    return content != NULL;
}

static struct secret *join_files(const struct place *place, const char *folder,
                                 struct dirent **files, int count)
{
    struct secret *secret = NULL;
    struct buf text;
    bool well = true;

    buf_init(&text, BUF_NO_CAP);
    for (int i = 0; i < count; i++)
        well = add_file(place, folder, files[i]->d_name, &text) && well;
    if (well)
        secret = secret_new(buf_str(&text));
    buf_release(&text);
    return secret;
}

/* What is in them is public, so modes are not looked at; names decide the order. */
static struct secret *from_folder(const struct place *place, const char *folder)
{
    struct dirent **files = NULL;
    struct secret *secret = NULL;
    int count = scandir(folder, &files, is_pem, alphasort);

    if (count < 0)
        mistakes_add(place->mistakes, place->file, place->line, "secret: could not read %s: %m",
                     folder);
    else if (count == 0)
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: %s has no file NAME.pem in it; put the sender's certificates there",
                     folder);
    else if (count > FOLDER_FILES_MAX)
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: %s has more than %d files; take old certificates away", folder,
                     FOLDER_FILES_MAX);
    else
        secret = join_files(place, folder, files, count);
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    return secret;
}

static struct secret *from_file(const struct place *place, const char *path)
{
    if (path[0] != '/') {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: file:%s is not an absolute path; write file:/PATH", path);
        return NULL;
    }
    if (path[strlen(path) - 1] == '/')
        return from_folder(place, path);
    return read_file(place, path, true);
}

/* Nothing in our programs changes the environment, so reading it is safe beside other threads. */
static const char *environment(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

static struct secret *from_env(const struct place *place, const char *name)
{
    const char *value = name[0] ? environment(name) : NULL;
    char what[160];

    if (!value) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: the environment has no variable \"%s\"; set it, or write file:/PATH",
                     name);
        return NULL;
    }
    snprintf(what, sizeof(what), "the environment variable %s", name);
    return finish(place, str_from(value), what);
}

static struct secret *from_credential(const struct place *place, const char *name)
{
    const char *folder = environment("CREDENTIALS_DIRECTORY");
    struct secret *secret;
    char *path;

    if (!name[0] || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: \"%s\" cannot be a credential's name; write the name that "
                     "LoadCredential= gives it",
                     name);
        return NULL;
    }
    if (!folder) {
        mistakes_add(place->mistakes, place->file, place->line,
                     "secret: there is no credential \"%s\": CREDENTIALS_DIRECTORY is not set; "
                     "systemd sets it for a service with LoadCredential=%s:/PATH",
                     name, name);
        return NULL;
    }
    path = mem_printf("%s/%s", folder, name);
    secret = read_file(place, path, false);
    free(path);
    return secret;
}

static struct secret *from_text(const struct place *place, struct str text)
{
    mistakes_warn(place->mistakes, place->file, place->line,
                  "secret: the secret stands in the configuration; file:/PATH, env:NAME or "
                  "credential:NAME keep it apart");
    return finish(place, text, "text:");
}

static bool take_prefix(struct str reference, struct str prefix, struct str *rest)
{
    if (!str_starts(reference, prefix))
        return false;
    *rest = (struct str){reference.ptr + prefix.len, reference.len - prefix.len};
    return true;
}

struct secret *secret_source_read(struct str reference, const char *file, int line,
                                  struct mistakes *mistakes)
{
    struct place place = {file, line, mistakes};
    struct secret *secret = NULL;
    struct str rest;
    char *name;

    if (take_prefix(reference, STR("text:"), &rest))
        return from_text(&place, rest);
    if (!take_prefix(reference, STR("file:"), &rest) &&
        !take_prefix(reference, STR("env:"), &rest) &&
        !take_prefix(reference, STR("credential:"), &rest)) {
        mistakes_add(mistakes, file, line,
                     "secret: the value does not say where the secret is; write file:/PATH, "
                     "env:NAME, credential:NAME or text:SECRET");
        return NULL;
    }
    name = mem_copy(rest);
    if (reference.ptr[0] == 'f')
        secret = from_file(&place, name);
    else if (reference.ptr[0] == 'e')
        secret = from_env(&place, name);
    else
        secret = from_credential(&place, name);
    free(name);
    return secret;
}

bool secret_source_is_folder(struct str reference)
{
    return str_starts(reference, STR("file:")) && reference.ptr[reference.len - 1] == '/';
}

struct str secret_source_shown(struct str reference)
{
    return str_starts(reference, STR("text:")) ? STR("text:...") : reference;
}
