/* In-flight calls: a runtime does not close while another thread runs a call on it. A
 * call publishes its scope and then reads whether a runtime closes; closing publishes
 * itself and then reads the scopes. The call has no fence between store and load: closing
 * issues a membarrier, so that a call costs a few plain stores. */
#include "base/in_flight.h"

#include "base/membarrier.h"

#include <sched.h>

/* Calls nested deeper than this are not recorded. An outer recorded call usually has the
 * same runtime. */
enum { DEPTH = 12 };

typedef struct pithp_thread_calls {
    _Atomic(const pith_scope *) scopes[DEPTH]; /* NULL: no call */
    _Atomic(const pith_runtime *)
        runtimes[DEPTH]; /* of those scopes; NULL: not yet known */
    _Atomic(const char *) names[DEPTH];
    int depth;
    int closes; /* runtimes that this thread closes: their hooks may call public functions
                 */
    int locks;  /* recursion depth of the lock: hooks may close other runtimes */
    struct pithp_thread_calls *next, *previous;
} thread_calls;

static _Thread_local thread_calls mine;
/* &mine, once it is in the list; NULL before. A pointer, because each access to a
 * thread-local address costs a call in a shared library. */
static _Thread_local thread_calls *listed;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t closed = PTHREAD_COND_INITIALIZER;
static const pith_runtime none;
static thread_calls *threads;  /* guarded by lock */
static pithp_closing *closing; /* guarded by lock */
atomic_int pithp_closing_count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static bool has_key;
static atomic_bool fences; /* no membarrier: each call has a fence */

static void take_lock(void) {
    if (mine.locks++ == 0)
        pthread_mutex_lock(&lock);
}

static void release_lock(void) {
    if (--mine.locks == 0)
        pthread_mutex_unlock(&lock);
}

/* ---- Threads ---- */

static void unlist(void *thread) {
    thread_calls *t = thread;
    take_lock();
    if (t->previous)
        t->previous->next = t->next;
    else
        threads = t->next;
    if (t->next)
        t->next->previous = t->previous;
    listed = NULL;
    release_lock();
}

/* The child of fork() has one thread; the calls of other threads do not exist there. */
static void forget_others(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&closed, NULL);
    mine.locks = mine.closes = 0;
    threads = NULL;
    closing = NULL;
    atomic_store(&pithp_closing_count, 0);
    listed = NULL;
}

static void prepare(void) {
    has_key = pthread_key_create(&at_exit, unlist) == 0;
    pthread_atfork(NULL, NULL, forget_others);
    if (!pithp_membarrier_possible())
        atomic_store(&fences, true);
}

/* A plugin with the archive in it may be unloaded. Threads that exit later must not call
 * into it. */
static __attribute__((destructor)) void forget_key(void) {
    if (has_key)
        pthread_key_delete(at_exit);
}

/* Add this thread to the list. If memory is short, its calls stay invisible to other
 * threads. */
static thread_calls *list(void) {
    thread_calls *t = &mine;
    pthread_once(&once, prepare);
    if (!has_key || pthread_setspecific(at_exit, t) != 0)
        return t;
    take_lock();
    t->previous = NULL;
    t->next = threads;
    if (threads)
        threads->previous = t;
    threads = t;
    listed = t;
    release_lock();
    return t;
}

/* ---- Calls ---- */

static bool is_closing(const pith_runtime *rt) {
    const pithp_closing *c = closing;
    while (c && c->rt != rt)
        c = c->next;
    return c != NULL;
}

void pithp_wait_for_close(const pith_scope *s) {
    if (mine.closes > 0)
        return;
    pthread_mutex_lock(&lock);
    while (pithp_scope_writable(s) && is_closing(s->runtime))
        pthread_cond_wait(&closed, &lock);
    pthread_mutex_unlock(&lock);
}

pithp_in_flight pithp_in_flight_begin(const pith_scope *s, const char *name) {
    thread_calls *t = PITHP_LIKELY(listed) ? listed : list();
    const int at = t->depth++;
    if (PITHP_UNLIKELY(at >= DEPTH))
        return (pithp_in_flight){t};
    atomic_store_explicit(&t->runtimes[at], NULL, memory_order_relaxed);
    atomic_store_explicit(&t->names[at], name, memory_order_relaxed);
    atomic_store_explicit(&t->scopes[at], s, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (PITHP_UNLIKELY(atomic_load_explicit(&fences, memory_order_relaxed)))
        atomic_thread_fence(memory_order_seq_cst);
    if (PITHP_UNLIKELY(pithp_any_closing()))
        pithp_wait_for_close(s);
    atomic_store_explicit(&t->runtimes[at], pithp_scope_writable(s) ? s->runtime : &none,
                          memory_order_release);
    return (pithp_in_flight){t};
}

void pithp_in_flight_end(const pithp_in_flight *call) {
    thread_calls *t = call->thread;
    const int at = --t->depth;
    if (PITHP_LIKELY(at < DEPTH))
        atomic_store_explicit(&t->scopes[at], NULL, memory_order_release);
}

pith_scope *pithp_scope_in_flight(const pith_runtime *rt) {
    const pith_scope *s = NULL;
    for (int i = mine.depth < DEPTH ? mine.depth : DEPTH; i > 0 && !s; i--)
        if (atomic_load_explicit(&mine.runtimes[i - 1], memory_order_relaxed) == rt)
            s = atomic_load_explicit(&mine.scopes[i - 1], memory_order_relaxed);
    return (pith_scope *)(uintptr_t)s;
}

/* ---- Closing ---- */

typedef enum { NO_CALL, CALL, UNKNOWN } sight;

/* Whether a thread is in a call on the runtime, and the name of the call. */
static sight inspect_thread(thread_calls *t, const pith_runtime *rt, const char **name) {
    sight seen = NO_CALL;
    for (int i = 0; i < DEPTH && seen != CALL; i++) {
        if (!atomic_load_explicit(&t->scopes[i], memory_order_acquire))
            continue;
        const pith_runtime *of =
            atomic_load_explicit(&t->runtimes[i], memory_order_acquire);
        if (of && of != rt)
            continue;
        seen = of ? CALL : UNKNOWN;
        *name = atomic_load_explicit(&t->names[i], memory_order_relaxed);
    }
    return seen;
}

static sight inspect_threads(const pith_runtime *rt, const char **name) {
    sight seen = NO_CALL;
    for (thread_calls *t = threads; t && seen != CALL; t = t->next) {
        const sight at = inspect_thread(t, rt, name);
        seen = at == NO_CALL ? seen : at;
    }
    return seen;
}

bool pithp_closing_begin(pithp_closing *c, pith_runtime *rt, const char **name) {
    enum { PATIENCE = 10000 };
    sight seen = UNKNOWN;
    *name = NULL;
    pthread_once(&once, prepare);
    take_lock();
    atomic_fetch_add(&pithp_closing_count, 1);
    pithp_membarrier_all();
    for (int i = 0; i < PATIENCE && seen == UNKNOWN && !is_closing(rt); i++) {
        if (i >
            0) { /* a thread that is about to publish its runtime may wait for the lock */
            release_lock();
            sched_yield();
            take_lock();
        }
        seen = inspect_threads(rt, name);
    }
    const bool closes = seen == NO_CALL && !is_closing(rt);
    if (closes) {
        *c = (pithp_closing){.rt = rt, .next = closing};
        closing = c;
        mine.closes++;
    } else {
        atomic_fetch_sub(&pithp_closing_count, 1);
        if (is_closing(rt)) /* another thread closes it */
            *name = NULL;
    }
    release_lock();
    return closes;
}

void pithp_closing_helper(void) {
    mine.closes = 1;
    mine.depth = DEPTH; /* its calls are not recorded */
}

void pithp_closing_lock(void) {
    take_lock();
}

void pithp_closing_end(pithp_closing *c) {
    pithp_closing **at = &closing;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    atomic_fetch_sub(&pithp_closing_count, 1);
    pthread_cond_broadcast(&closed);
    mine.closes--;
    release_lock();
}
