/* Compiling in the background: texts, and other work, wait in a line for one thread of
 * the device's, which starts with the first of them and sleeps when there is none. */
#include "gpu/compile/later.h"

#include "base/under_way.h"
#include "gpu/compile/toolchain.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct pithp_later {
    pthread_mutex_t lock; /* guards all below it */
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    pid_t process; /* that started the thread */
    pithp_later_work *first, **end;
    pithp_cc_job job; /* of the thread */
} pithp_later;

/* ---- Code ---- */

pithp_code_when pithp_code_when_set(void) {
    static const char *const words[] = {[PITHP_CODE_WAIT] = "wait",
                                        [PITHP_CODE_OFF] = "off",
                                        [PITHP_CODE_EAGER] = "eager"};
    const char *set = getenv("PITH_JIT");
    for (int k = PITHP_CODE_WAIT; set && k < PITHP_COUNT(words); k++)
        if (strcmp(set, words[k]) == 0)
            return (pithp_code_when)k;
    return PITHP_CODE_ASYNC; /* pith_open refuses other words */
}

static pithp_code *
make_code(pithp_device *d, const char *text, const pithp_compile_options *options) {
    pith_runtime *rt = d->runtime;
    const size_t bytes = strlen(text) + 1;
    pithp_code *code = pithp_allocate(rt, sizeof *code);
    char *copy = pithp_allocate(rt, bytes);
    if (!code || !copy) {
        pithp_release(rt, code, sizeof *code);
        pithp_release(rt, copy, bytes);
        return NULL;
    }
    memset(code, 0, sizeof *code);
    memcpy(copy, text, bytes);
    atomic_init(&code->refs, 1);
    atomic_init(&code->state, PITHP_CODE_WAITING);
    code->device = d;
    code->text = copy;
    code->text_bytes = bytes;
    code->options = *options;
    return code;
}

static void drop_text(pithp_code *code) {
    pithp_release(code->device->runtime, code->text, code->text_bytes);
    code->text = NULL;
}

void pithp_code_release(pithp_code *code) {
    if (!code || atomic_fetch_sub_explicit(&code->refs, 1, memory_order_acq_rel) != 1)
        return;
    pithp_module_release(code->module);
    if (code->text)
        drop_text(code);
    pithp_release(code->device->runtime, code, sizeof *code);
}

/* Nobody waits for it any more but the line. */
static bool is_given_up(const pithp_code *code) {
    return atomic_load_explicit(&code->refs, memory_order_relaxed) == 1;
}

static void compile(pithp_code *code) {
    const pith_status rc = pithp_compile_on(code->device, code->text, &code->options,
                                            &code->module, &code->error);
    drop_text(code);
    atomic_store_explicit(&code->state,
                          rc == PITH_OK ? PITHP_CODE_READY : PITHP_CODE_FAILED,
                          memory_order_release);
}

/* ---- The line ---- */

static pithp_later_work *take_first(pithp_later *l) {
    pithp_later_work *work = l->first;
    l->first = work->next;
    if (!l->first)
        l->end = &l->first;
    return work;
}

static void *work(void *closure) {
    pithp_later *l = closure;
    pithp_closing_helper();
    pithp_cc_job_use(&l->job);
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->first && !l->stop)
            pthread_cond_wait(&l->wake, &l->lock);
        if (l->stop)
            break;
        pithp_later_work *next = take_first(l);
        pthread_mutex_unlock(&l->lock);
        next->run(next, false);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* The device's, made when it is first used; NULL when memory is short. */
static pithp_later *later_of(pithp_device *d) {
    pithp_later *l = atomic_load(&d->later);
    if (l)
        return l;
    pithp_later *made = pithp_allocate(d->runtime, sizeof *made);
    if (!made)
        return NULL;
    memset(made, 0, sizeof *made);
    made->end = &made->first;
    if (pthread_mutex_init(&made->lock, NULL) != 0)
        goto no_lock;
    if (pthread_cond_init(&made->wake, NULL) != 0)
        goto no_condition;
    if (pthread_mutex_init(&made->job.lock, NULL) != 0)
        goto no_job;
    if (atomic_compare_exchange_strong(&d->later, &l, made))
        return made;
    pthread_mutex_destroy(&made->job.lock); /* another thread was first */
no_job:
    pthread_cond_destroy(&made->wake);
no_condition:
    pthread_mutex_destroy(&made->lock);
no_lock:
    pithp_release(d->runtime, made, sizeof *made);
    return l;
}

/* With the lock held; a child after fork() has no thread and starts its own. */
static bool start(pithp_later *l) {
    sigset_t all, before;
    if (l->running && l->process == getpid())
        return true;
    if (l->process != getpid()) /* a thread of the parent may have been inside */
        pthread_mutex_init(&l->job.lock, NULL);
    sigfillset(&all); /* signals are for the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->running = pthread_create(&l->thread, NULL, work, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    l->process = getpid();
    return l->running;
}

bool pithp_later_do(pithp_device *d, pithp_later_work *work) {
    pithp_later *l = later_of(d);
    if (!l)
        return false;
    work->next = NULL;
    pthread_mutex_lock(&l->lock);
    const bool taken = !l->stop && start(l);
    if (taken) {
        *l->end = work;
        l->end = &work->next;
        pthread_cond_signal(&l->wake);
    }
    pthread_mutex_unlock(&l->lock);
    return taken;
}

bool pithp_later_ends(pithp_device *d) {
    pithp_later *l = atomic_load(&d->later);
    if (!l)
        return false;
    pthread_mutex_lock(&l->lock);
    const bool ends = l->stop;
    pthread_mutex_unlock(&l->lock);
    return ends;
}

static void compile_next(pithp_later_work *work, bool given_up) {
    pithp_code *code = (pithp_code *)(void *)((char *)work - offsetof(pithp_code, work));
    if (!given_up && !is_given_up(code))
        compile(code);
    pithp_code_release(code);
}

static bool put_last(pithp_device *d, pithp_code *code) {
    code->work.run = compile_next;
    atomic_fetch_add(&code->refs, 1);
    if (pithp_later_do(d, &code->work))
        return true;
    atomic_fetch_sub(&code->refs, 1);
    return false;
}

pithp_code *pithp_compile_later(pithp_device *d,
                                const char *text,
                                const pithp_compile_options *options,
                                bool wait) {
    pithp_code *code = make_code(d, text, options);
    if (!code)
        return NULL;
    if (wait) {
        compile(code);
    } else if (!put_last(d, code)) {
        pithp_code_release(code);
        code = NULL;
    }
    return code;
}

/* ---- The end ---- */

void pithp_compile_later_join(pithp_device *d) {
    pithp_later *l = atomic_load(&d->later);
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    const bool running = l->running && l->process == getpid();
    l->stop = true;
    l->running = false;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
    if (running) { /* nobody will use what it compiles */
        pithp_cc_job_cancel(&l->job);
        pthread_join(l->thread, NULL);
    }
    while (l->first) {
        pithp_later_work *next = take_first(l);
        next->run(next, true);
    }
}

void pithp_compile_later_close(pithp_device *d) {
    pithp_later *l = atomic_exchange(&d->later, NULL);
    if (!l)
        return;
    if (l->process == getpid()) { /* else a thread of the parent may have been inside */
        pthread_mutex_destroy(&l->job.lock);
        pthread_cond_destroy(&l->wake);
        pthread_mutex_destroy(&l->lock);
    }
    pithp_release(d->runtime, l, sizeof *l);
}
