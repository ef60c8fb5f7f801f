/* Background compilation: a work queue with one thread per device. The thread starts with
 * the first work and sleeps when the queue is empty.
 *
 * fork() waits until no such thread is working. A child process has none of the threads,
 * finds all locks free and all data consistent, and starts its own thread. */
#include "gpu/compile/background.h"

#include "base/environment.h"
#include "base/in_flight.h"
#include "gpu/compile/toolchain.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct pithp_background {
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    pid_t process; /* process of the thread */
    pithp_background_work *first, **end;
    pithp_background_work *compiling; /* current work of the thread, or NULL */
    pithp_cc_job job;                 /* compiler job of the thread */
} pithp_background;

/* Guards all queues. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t still = PTHREAD_COND_INITIALIZER; /* a thread stops working */
static int
    at_work; /* number of working threads, without those that wait for a compiler */
static _Thread_local int own_work; /* 1: this thread is working */

/* ---- Code ---- */

pithp_code_when pithp_code_when_set(void) {
    static const char *const words[] = {[PITHP_CODE_WAIT] = "wait",
                                        [PITHP_CODE_OFF] = "off",
                                        [PITHP_CODE_EAGER] = "eager"};
    const char *set = pithp_environment("PITH_JIT");
    if (pithp_secure_execution())
        return PITHP_CODE_OFF;
    for (int k = PITHP_CODE_WAIT; set && k < PITHP_COUNT(words); k++)
        if (strcmp(set, words[k]) == 0)
            return (pithp_code_when)k;
    return PITHP_CODE_ASYNC; /* pith_open refuses other words */
}

pithp_code *
pithp_code_make(pithp_device *d, const char *text, const pithp_compile_options *options) {
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

void pithp_code_compile(pithp_code *code) {
    const pith_status rc = pithp_compile_on(code->device, code->text, &code->options,
                                            &code->module, &code->error);
    drop_text(code);
    atomic_store_explicit(&code->state,
                          rc == PITH_OK ? PITHP_CODE_READY : PITHP_CODE_FAILED,
                          memory_order_release);
}

pithp_code *pithp_code_compiled(pithp_device *d,
                                const char *text,
                                const pithp_compile_options *options) {
    pithp_code *code = pithp_code_make(d, text, options);
    if (code)
        pithp_code_compile(code);
    return code;
}

/* ---- Forks ---- */

static void begin_work(void) {
    at_work++;
    own_work = 1;
}

static void end_work(void) {
    at_work--;
    own_work = 0;
    pthread_cond_broadcast(&still);
}

/* Called on a background thread before and after it waits for a compiler. */
static void wait_for_compiler(bool begins) {
    pthread_mutex_lock(&lock);
    (begins ? end_work : begin_work)();
    pthread_mutex_unlock(&lock);
}

static void before_fork(void) {
    pthread_mutex_lock(&lock);
    while (at_work >
           own_work) /* excludes its own work: a log hook of the program may fork */
        pthread_cond_wait(&still, &lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&still, NULL);
    at_work = own_work;
}

static void prepare_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- Queue ---- */

/* Initialise a queue without a thread. */
static bool init_queue(pithp_background *l) {
    l->running = false;
    l->process = getpid();
    l->job = (pithp_cc_job){.wait = wait_for_compiler};
    if (pthread_cond_init(&l->wake, NULL) != 0)
        return false;
    if (pthread_mutex_init(&l->job.lock, NULL) == 0)
        return true;
    pthread_cond_destroy(&l->wake);
    return false;
}

/* The caller holds the lock. In the child of fork() there is no thread: the parent's
 * current work goes back to the queue. */
static void reset_after_fork(pithp_background *l) {
    if (l->process == getpid())
        return;
    if (l->compiling) {
        l->compiling->next = l->first;
        if (!l->first)
            l->end = &l->compiling->next;
        l->first = l->compiling;
        l->compiling = NULL;
    }
    (void)init_queue(l);
}

static pithp_background_work *take_first(pithp_background *l) {
    pithp_background_work *work = l->first;
    l->first = work->next;
    if (!l->first)
        l->end = &l->first;
    return work;
}

static void *work(void *closure) {
    pithp_background *l = closure;
    pithp_closing_helper();
    pithp_cc_job_use(&l->job);
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!l->first && !l->stop)
            pthread_cond_wait(&l->wake, &lock);
        if (l->stop)
            break;
        pithp_background_work *next = l->compiling = take_first(l);
        begin_work();
        pthread_mutex_unlock(&lock);
        next->run(next, false);
        pthread_mutex_lock(&lock);
        l->compiling = NULL;
        end_work();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The queue of the device, made on first use; NULL if memory is short. */
static pithp_background *background_of(pithp_device *d) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pithp_background *l = atomic_load(&d->background);
    if (l)
        return l;
    pthread_once(&once, prepare_forks);
    pithp_background *made = pithp_allocate(d->runtime, sizeof *made);
    if (!made)
        return NULL;
    memset(made, 0, sizeof *made);
    made->end = &made->first;
    if (!init_queue(made))
        goto failed;
    if (atomic_compare_exchange_strong(&d->background, &l, made))
        return made;
    pthread_mutex_destroy(&made->job.lock); /* another thread was first */
    pthread_cond_destroy(&made->wake);
failed:
    pithp_release(d->runtime, made, sizeof *made);
    return l;
}

/* The caller holds the lock. */
static bool start(pithp_background *l) {
    sigset_t all, before;
    reset_after_fork(l);
    if (l->running)
        return true;
    sigfillset(&all); /* signals go to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->running = pthread_create(&l->thread, NULL, work, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l->running;
}

bool pithp_background_do(pithp_device *d, pithp_background_work *work) {
    pithp_background *l = background_of(d);
    if (!l)
        return false;
    work->next = NULL;
    pthread_mutex_lock(&lock);
    const bool taken = !l->stop && start(l);
    if (taken) {
        *l->end = work;
        l->end = &work->next;
        pthread_cond_signal(&l->wake);
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

bool pithp_background_ends(pithp_device *d) {
    pithp_background *l = atomic_load(&d->background);
    if (!l)
        return false;
    pthread_mutex_lock(&lock);
    const bool ends = l->stop;
    pthread_mutex_unlock(&lock);
    return ends;
}

/* ---- Shutdown ---- */

void pithp_background_join(pithp_device *d) {
    pithp_background *l = atomic_load(&d->background);
    if (!l)
        return;
    pthread_mutex_lock(&lock);
    reset_after_fork(l);
    const bool running = l->running;
    l->stop = true;
    l->running = false;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&lock);
    if (running) { /* its result will not be used */
        pithp_cc_job_cancel(&l->job);
        pthread_join(l->thread, NULL);
    }
    while (l->first) {
        pithp_background_work *next = take_first(l);
        next->run(next, true);
    }
}

void pithp_background_close(pithp_device *d) {
    pithp_background *l = atomic_exchange(&d->background, NULL);
    if (!l)
        return;
    pthread_mutex_destroy(&l->job.lock);
    pthread_cond_destroy(&l->wake);
    pithp_release(d->runtime, l, sizeof *l);
}
