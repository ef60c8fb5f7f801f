/* Background saves: a thread writes a captured tree in a scope of its own. Arrays are
 * immutable, so no copy is needed. A runtime writes one save at a time, so at most one
 * state is held. */
#include "base/in_flight.h"
#include "checkpoint/document/capture.h"
#include "checkpoint/save/parted.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Background state of a runtime, created by its first background save. */
typedef struct background {
    pthread_mutex_t lock; /* the thread itself never takes it */
    pthread_t thread;
    bool running;  /* started and not joined */
    pid_t process; /* process that started it */
    pith_scope *scope;
    pithp_saving *saving;
    pithp_error error;        /* of a joined thread, until it is reported */
    pithp_parted_job *parted; /* of a save by many ranks; NULL: there is none */
} background;

static void *run(void *closure) {
    pithp_closing_helper();
    const background *b = closure;
    if (pithp_saving_write(b->saving) == PITH_OK && !b->saving->options.keep)
        pithp_saving_sweep_parts(b->saving, 0);
    return NULL;
}

/* After fork(), a child process has no such thread. The save and its files belong to the
 * parent and are left alone. */
static void join(background *b) {
    if (!b->running)
        return;
    b->running = false;
    if (b->process != getpid())
        return;
    pthread_join(b->thread, NULL);
    pithp_saving_end(b->saving);
    if (b->scope->error.code != PITH_OK)
        b->error = b->scope->error;
    pith_clear(b->scope);
    pith_scope_close(b->scope);
}

/* ---- The room of a runtime ---- */

static background *find(pith_runtime *rt) {
    pthread_mutex_lock(&rt->lock);
    background *b = rt->room[PITHP_ROOM_CHECKPOINT];
    pthread_mutex_unlock(&rt->lock);
    return b;
}

static void threads_joining(pith_runtime *rt) {
    background *b = find(rt);
    if (!b)
        return;
    if (b->parted)
        pithp_parted_job_settle(NULL, b->parted);
    b->parted = NULL;
    join(b);
    if (b->error.code != PITH_OK)
        pithp_log(rt, PITH_LOG_ERROR, "%s%s", pithp_in_background, b->error.message);
}

static void runtime_closing(pith_runtime *rt) {
    background *b = find(rt);
    if (!b)
        return;
    rt->room[PITHP_ROOM_CHECKPOINT] = NULL;
    pthread_mutex_destroy(&b->lock);
    pithp_release(rt, b, sizeof *b);
}

static const pithp_room_hooks hooks = {.runtime_closing = runtime_closing,
                                       .threads_joining = threads_joining};

static background *find_or_make(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    background *b = find(rt);
    if (b)
        return b;
    background *fresh = pithp_allocate(rt, sizeof *fresh);
    if (!fresh) {
        pithp_fail_memory(s, sizeof *fresh);
        return NULL;
    }
    memset(fresh, 0, sizeof *fresh);
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_mutex_lock(&rt->lock);
    b = rt->room[PITHP_ROOM_CHECKPOINT];
    if (!b)
        rt->room[PITHP_ROOM_CHECKPOINT] = b = fresh;
    pthread_mutex_unlock(&rt->lock);
    if (b != fresh) {
        pthread_mutex_destroy(&fresh->lock);
        pithp_release(rt, fresh, sizeof *fresh);
    }
    pithp_room_hook(rt, PITHP_ROOM_CHECKPOINT, &hooks);
    return b;
}

/* ---- Errors of threads ---- */

const char pithp_in_background[] = "a checkpoint saved in the background: ";

void pithp_saving_take_error(pith_scope *s, const pithp_error *e, const char *prefix) {
    if (e->code != PITH_OK)
        pithp_fail(s, e->code, e->path[0] ? e->path : NULL, "%s%s", prefix,
                   e->text[0] ? e->text : e->message);
}

/* ---- Starting and waiting ---- */

/* Block all signals in the thread: they are handled by the program's threads. */
int pithp_background_thread(pthread_t *thread,
                            void *(*body)(void *closure),
                            void *closure) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, body, closure);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static pith_status start(background *b, pith_scope *scope, pithp_saving *saving) {
    char reason[128];
    pthread_mutex_lock(&b->lock);
    join(b); /* another thread may have started one */
    b->scope = scope;
    b->saving = saving;
    b->process = getpid();
    const int error = pithp_background_thread(&b->thread, run, b);
    b->running = error == 0;
    pthread_mutex_unlock(&b->lock);
    return error == 0 ? PITH_OK
                      : pithp_fail(scope, PITH_E_IO, NULL,
                                   "cannot start the thread of a background save: %s",
                                   strerror_r(error, reason, sizeof reason));
}

pith_status pithp_background_start(pith_scope *s,
                                   const void *tree,
                                   const char *path,
                                   const pith_save_options *options) {
    background *b = find_or_make(s);
    if (!b)
        return pith_code(s);
    pith_scope *scope = pith_scope_open(s->runtime);
    pithp_saving *saving = NULL;
    if (pithp_scope_writable(scope) && pith_code(scope) == PITH_OK &&
        pithp_keep_slots(scope, 1, &tree) == PITH_OK)
        saving = pithp_saving_begin(scope, pithp_capture, tree, path, options);
    if (saving && start(b, scope, saving) == PITH_OK)
        return PITH_OK;
    if (saving)
        pithp_saving_end(saving);
    pithp_saving_take_error(s, &scope->error, "");
    pith_clear(scope);
    pith_scope_close(scope);
    return pith_code(s);
}

pith_status pithp_background_settle(pith_scope *s) {
    background *b = find(s->runtime);
    if (!b)
        return PITH_OK;
    pthread_mutex_lock(&b->lock);
    join(b);
    const pithp_error e = b->error;
    b->error.code = PITH_OK;
    pthread_mutex_unlock(&b->lock);
    pithp_saving_take_error(s, &e, pithp_in_background);
    return e.code;
}

/* ---- Saves by many ranks ---- */

pithp_parted_job **pithp_background_parted(pith_scope *s) {
    background *b = find_or_make(s);
    return b ? &b->parted : NULL;
}

/* The save that is not settled. NULL: there is none, or it is that of a parent process.
 */
static pithp_parted_job *unsettled(pith_scope *s) {
    background *b = pithp_scope_writable(s) ? find(s->runtime) : NULL;
    return b && b->parted && b->parted->process == getpid() ? b->parted : NULL;
}

bool pithp_background_is_parted(pith_scope *s) {
    return unsettled(s) != NULL;
}

/* Whether a path names the document of a save, or its series. */
static bool is_document_of(pith_scope *s, const pithp_parted_job *j, const char *path) {
    pithp_location location;
    struct stat a, b;
    if (strcmp(path, j->path) == 0)
        return true;
    pith_scope *w = pith_scope_open(s->runtime); /* a path that is wrong is no error */
    const bool found =
        pithp_scope_writable(w) && pithp_location_open(w, path, &location) == PITH_OK &&
        strcmp(location.name, j->location.name) == 0 && fstat(location.folder, &a) == 0 &&
        fstat(j->location.folder, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino;
    if (pithp_scope_writable(w)) {
        pithp_location_close(&location);
        pith_clear(w);
        pith_scope_close(w);
    }
    return found;
}

bool pithp_background_settle_parted(pith_scope *s, const char *path) {
    pithp_parted_job *j = unsettled(s);
    if (!j || (path && !is_document_of(s, j, path)))
        return true;
    find(s->runtime)->parted = NULL;
    return pithp_parted_job_settle(s, j);
}

pith_status pithp_background_settle_before(pith_scope *s, const char *path) {
    const pithp_parted_job *j = unsettled(s);
    if (j && is_document_of(s, j, path)) {
        if (j->ranks > 1)
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "pith_save: \"%s\" is being saved in the background by all "
                              "ranks: call pith_save_wait on all of them before",
                              path);
        if (!pithp_background_settle_parted(s, path))
            return s->error.code;
    }
    return pithp_background_settle(s);
}

bool pith_save_wait(pith_scope *s) {
    PITHP_IN_FLIGHT(s, "pith_save_wait");
    const bool fine = pithp_enter_as(s, "pith_save_wait"),
               saved = pithp_background_settle_parted(s, NULL);
    return fine && saved && pithp_background_settle(s) == PITH_OK;
}
