/* Calls in flight, and closing a runtime beside them. A thread notes the scope of a call
 * where it can be seen by others, and then looks whether some runtime is being closed;
 * who closes one says so, and then looks at the notes. Between the two of the first there
 * is no fence: the second makes all threads pass one, so that a call costs a few plain
 * stores. */
#include "base/in_flight.h"

#include "base/membarrier.h"

#include <sched.h>

/* Calls deeper than that are of a runtime that one above them is of, or unseen. */
enum { DEPTH = 12 };

typedef struct pithp_thread_calls {
    _Atomic(const pith_scope *) scopes[DEPTH];     /* NULL: none */
    _Atomic(const pith_runtime *) runtimes[DEPTH]; /* theirs; NULL: not known yet */
    _Atomic(const char *) names[DEPTH];
    int depth;
    int closes; /* runtimes that it is closing: their hooks may call what it is to call */
    int locks;  /* and may close others */
    struct pithp_thread_calls *next, *previous;
} thread_calls;

static _Thread_local thread_calls mine;
/* That, once it is listed; NULL before. A pointer, for in a shared library each look at
 * what belongs to the thread is a call. */
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
static atomic_bool fences; /* who closes cannot have them: each call has one */

static void take_lock(void) {
    if (mine.locks++ == 0)
        pthread_mutex_lock(&lock);
}

static void give_lock(void) {
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
    give_lock();
}

/* A child of fork() has one thread, whatever calls the others were in. */
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

/* A plugin with the archive in it may be unloaded: threads that end then call nothing. */
static __attribute__((destructor)) void forget_key(void) {
    if (has_key)
        pthread_key_delete(at_exit);
}

/* The notes of this thread, seen by others unless memory is short. */
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
    give_lock();
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

/* Whether a thread is in a call of the runtime, and of what. */
static sight look_at(thread_calls *t, const pith_runtime *rt, const char **name) {
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

static sight look_around(const pith_runtime *rt, const char **name) {
    sight seen = NO_CALL;
    for (thread_calls *t = threads; t && seen != CALL; t = t->next) {
        const sight at = look_at(t, rt, name);
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
        if (i > 0) { /* who is about to say it may wait for the lock */
            give_lock();
            sched_yield();
            take_lock();
        }
        seen = look_around(rt, name);
    }
    const bool closes = seen == NO_CALL && !is_closing(rt);
    if (closes) {
        *c = (pithp_closing){.rt = rt, .next = closing};
        closing = c;
        mine.closes++;
    } else {
        atomic_fetch_sub(&pithp_closing_count, 1);
        if (is_closing(rt)) /* by somebody else */
            *name = NULL;
    }
    give_lock();
    return closes;
}

void pithp_closing_helper(void) {
    mine.closes = 1;
    mine.depth = DEPTH; /* its calls go unseen */
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
    give_lock();
}
