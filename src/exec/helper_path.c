/* Where the helper program is. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "exec/exec.h"

#define HELPER "inboxd-exec"

static const char *const beside[] = {HELPER, "../libexec/inboxd/" HELPER};

char *exec_helper_path(struct err *err)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self));
    struct str folder = {self, len > 0 && (size_t)len < sizeof(self) ? (size_t)len : 0};
    char *path;

    while (folder.len > 0 && folder.ptr[folder.len - 1] != '/')
        folder.len--;
    for (size_t i = 0; folder.len > 0 && i < ARRAY_LEN(beside); i++) {
        path = mem_printf("%.*s%s", STR_ARG(folder), beside[i]);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    path = mem_copy(STR(INBOXD_LIBEXECDIR "/" HELPER));
    if (access(path, X_OK) == 0)
        return path;
    err_set(err, ERR_NEVER,
            "cannot run programs: %s is not there; it is installed together with inboxd", path);
    free(path);
    return NULL;
}
