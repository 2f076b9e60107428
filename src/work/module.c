/* The list of modules belongs to the process, as what dlopen() makes does. Its lock is held while a
 * module starts or stops, never while it handles an event. */
#include "work/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "inboxd/handler.h"

/* What a module keeps for one thread. */
struct seat {
    struct module *module;
    void *data;
    bool taken; /* false: given back already */
    struct seat *next;
};

struct module {
    char *path;
    const struct inboxd_module *functions;
    size_t references;
    void *data;
    pthread_key_t key; /* a thread's seat */
    struct seat *seats;
    struct module *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *modules; /* none is ever freed */

/* ---- loading ---- */

static const struct inboxd_module *load(const char *path, struct err *err)
{
    const struct inboxd_module *functions;
    void *object;

    if (access(path, R_OK) < 0) {
        err_set(err, ERR_INPUT, "cannot load %s: %m", path);
        return NULL;
    }
    /* All symbols now: one that is missing is to be named here, not to end the process later. */
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!object) {
        err_set(err, ERR_INPUT, "cannot load %s: %s", path, dlerror()); /* NOLINT: under our lock */
        return NULL;
    }
    functions = dlsym(object, INBOXD_MODULE_SYMBOL);
    if (!functions)
        err_set(err, ERR_INPUT,
                "%s is no plug-in: it has no symbol " INBOXD_MODULE_SYMBOL
                "; write INBOXD_MODULE(...) of inboxd/handler.h",
                path);
    else if (functions->abi != INBOXD_HANDLER_ABI)
        err_set(
            err, ERR_INPUT,
            "%s was compiled for version %u of inboxd/handler.h, this is version %d; compile it "
            "anew",
            path, (unsigned)functions->abi, INBOXD_HANDLER_ABI);
    else if (functions->size < sizeof(*functions) || !functions->handle)
        err_set(err, ERR_INPUT, "%s has no function `handle`; write INBOXD_MODULE(.handle = ...)",
                path);
    else
        return functions;
    dlclose(object);
    return NULL;
}

static char *path_of(const char *folder, struct str name)
{
    return mem_printf("%s/%.*s.so", folder, STR_ARG(name));
}

int module_check(const char *folder, struct str name, struct err *err)
{
    char *path = path_of(folder, name);
    const struct inboxd_module *functions;

    pthread_mutex_lock(&lock);
    functions = load(path, err);
    pthread_mutex_unlock(&lock);
    free(path);
    return functions ? 0 : -1;
}

/* ---- seats ---- */

/* Under the lock. */
static void give_back(struct seat *seat)
{
    const struct inboxd_module *functions = seat->module->functions;
    struct seat **at = &seat->module->seats;

    while (*at && *at != seat)
        at = &(*at)->next;
    if (*at)
        *at = seat->next;
    seat->taken = false;
    if (functions->thread_release)
        functions->thread_release(seat->module->data, seat->data);
}

/* When its thread ends. */
static void seat_end(void *argument)
{
    struct seat *seat = argument;

    pthread_mutex_lock(&lock);
    if (seat->taken)
        give_back(seat);
    pthread_mutex_unlock(&lock);
    free(seat);
}

/* NULL: the module refuses. */
static struct seat *take_seat(struct module *module)
{
    struct seat *seat = pthread_getspecific(module->key);

    if (seat && seat->taken)
        return seat;
    if (!seat) {
        seat = mem_alloc(sizeof(*seat));
        seat->module = module;
        if (pthread_setspecific(module->key, seat) != 0)
            abort();
    }
    seat->data = NULL;
    if (module->functions->thread_init &&
        module->functions->thread_init(module->data, &seat->data) != 0)
        return NULL;
    pthread_mutex_lock(&lock);
    seat->next = module->seats;
    seat->taken = true;
    module->seats = seat;
    pthread_mutex_unlock(&lock);
    return seat;
}

/* ---- references ---- */

/* Under the lock: known before, or new. */
static struct module *find(const char *path, struct err *err)
{
    const struct inboxd_module *functions;
    struct module *module;

    for (module = modules; module; module = module->next)
        if (strcmp(module->path, path) == 0)
            return module;
    functions = load(path, err);
    if (!functions)
        return NULL;
    module = mem_alloc(sizeof(*module));
    module->path = mem_copy(str_from(path));
    module->functions = functions;
    if (pthread_key_create(&module->key, seat_end) != 0)
        abort();
    module->next = modules;
    modules = module;
    return module;
}

static int start(struct module *module, struct err *err)
{
    char why[256] = "";

    /* Before, not after: it may end the daemon, and then this line says which one did. */
    log_event(LOG_INFO, "starting module", F_TEXT("path", module->path));
    module->data = NULL;
    if (!module->functions->init || module->functions->init(&module->data, why, sizeof(why)) == 0)
        return 0;
    why[sizeof(why) - 1] = '\0';
    return err_set(err, ERR_INPUT, "%s does not start: %s", module->path,
                   why[0] ? why : "it does not say why");
}

struct module *module_ref(const char *folder, struct str name, struct err *err)
{
    char *path = path_of(folder, name);
    struct module *module;

    pthread_mutex_lock(&lock);
    module = find(path, err);
    if (module && module->references == 0 && start(module, err) < 0)
        module = NULL;
    if (module)
        module->references++;
    pthread_mutex_unlock(&lock);
    free(path);
    return module;
}

void module_unref(struct module *module)
{
    if (!module)
        return;
    pthread_mutex_lock(&lock);
    if (--module->references == 0) {
        while (module->seats)
            give_back(module->seats);
        if (module->functions->release)
            module->functions->release(module->data);
    }
    pthread_mutex_unlock(&lock);
}

int module_handle(struct module *module, void *event, int *result, struct err *err)
{
    struct seat *seat = take_seat(module);

    if (!seat)
        return err_set(err, ERR_AGAIN, "%s refuses to work in this thread", module->path);
    *result = module->functions->handle(event, module->data, seat->data);
    return 0;
}
