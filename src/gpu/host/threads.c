/* Thread pool with work stealing. A launch is divided into pieces; each thread has its
 * own share and then takes pieces of other shares. So a sleeping or descheduled thread
 * delays nothing: the caller only waits for pieces in progress.
 *
 * The assignment of pieces to threads is unspecified. Loops have independent indices, so
 * results do not depend on it.
 *
 * A worker spins for 20 us after its last piece and then sleeps. A wake-up takes 40 us,
 * and up to 20 us of the waking thread. The caller runs smaller launches alone, unless
 * launches in quick succession add up to enough work.
 *
 * After fork() the child has no workers: its launches run on the caller alone, and it may
 * close the runtime. No launch may run during the fork. */
#include "gpu/host/threads.h"

#include "base/base_internal.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_NS = 20000,
    WAKE_WORK = 32,         /* in grains (2 us each): least work that wakes a thread */
    WAKE_NS = 64000,        /* least total of launches run alone in quick succession */
    SUCCESSION_NS = 200000, /* longest gap between such launches */
    PIECES = 16,            /* of a share, at most */
    LEAST_PART = 2,         /* a piece has at least grain / LEAST_PART indices */
    LINE = 64,              /* bytes of a cache line */
};

/* State word of a job: number of threads inside, open bit, job number. */
#define INSIDE     UINT64_C(0xffff)
#define OPEN       UINT64_C(0x10000)
#define NUMBER_ONE UINT64_C(0x20000)

/* Floating-point modes: rounding and subnormals. Every launch reads and sets them;
 * fegetenv would be too slow. */
#if defined(__x86_64__)
typedef struct {
    uint32_t vector; /* MXCSR without its sticky flags */
    uint16_t x87;
} modes;
static inline modes modes_get(void) {
    modes m = {.vector = __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f)};
    __asm__ volatile("fnstcw %0" : "=m"(m.x87));
    return m;
}
static inline void modes_set(modes m) {
    const modes now = modes_get();
    if (now.vector != m.vector)
        __builtin_ia32_ldmxcsr(m.vector);
    if (now.x87 != m.x87)
        __asm__ volatile("fldcw %0" : : "m"(m.x87));
}
#else
#    include <fenv.h>
typedef fenv_t modes;
static inline modes modes_get(void) {
    modes m;
    fegetenv(&m);
    return m;
}
static inline void modes_set(modes m) {
    fesetenv(&m);
}
#endif

typedef struct {
    _Alignas(LINE) atomic_llong next; /* next piece */
    long long end;
} share;

typedef struct {
    pithp_threads *pool;
    pthread_t thread;
    int number;  /* index of its share; 0 is the caller's */
    bool asleep; /* this and the members below are guarded by the pool's lock */
    bool placed; /* its affinity is `allowed` without its waker's processor */
    cpu_set_t allowed;
} worker;

struct pithp_threads {
    pith_runtime *runtime;
    size_t bytes;     /* of this struct with its arrays */
    int most;         /* threads, with the caller */
    atomic_int count; /* of them in use */
    int started;      /* running workers */
    bool tried;       /* starting them was tried */
    pid_t process;    /* process of the workers */
    pithp_alone alone;
    worker *workers;
    share *shares; /* one per thread */

    /* The job. Its owner writes it while no thread is inside. */
    _Alignas(LINE) atomic_flag owned;
    pithp_host_loop loop;
    const void *args;
    int64_t count_of_job, piece;
    int shared;      /* shares with pieces */
    modes of_caller; /* taken over by the workers */
    _Alignas(LINE) atomic_uint_least64_t word;

    _Alignas(LINE) pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    atomic_int asleep; /* workers asleep and not yet signalled */
    int tickets;       /* signalled workers that are not yet awake */
    atomic_bool stop;
};

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Execution of a job ---- */

static void work(pithp_threads *t, int own) {
    for (int i = 0; i < t->shared; i++) {
        share *from = &t->shares[(own + i) % t->shared];
        for (;;) {
            const long long piece =
                atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
            if (piece >= from->end)
                break;
            const int64_t begin = piece * t->piece;
            const int64_t rest = t->count_of_job - begin;
            t->loop(t->args, begin, begin + (rest < t->piece ? rest : t->piece));
        }
    }
}

/* Enter the open job unless it was already `seen`. */
static bool enter(pithp_threads *t, uint64_t *seen) {
    uint64_t w = atomic_load_explicit(&t->word, memory_order_acquire);
    while ((w & OPEN) && w / NUMBER_ONE != *seen) {
        if (!atomic_compare_exchange_weak_explicit(
                &t->word, &w, w + 1, memory_order_acq_rel, memory_order_acquire))
            continue;
        *seen = w / NUMBER_ONE;
        return true;
    }
    return false;
}

/* Sleep until a signal. A job that was opened before this worker counted as asleep has
 * none for it, so the word is read after the count; a caller writes and reads in the
 * other order. */
static void doze(worker *me, uint64_t seen) {
    pithp_threads *t = me->pool;
    pthread_mutex_lock(&t->lock);
    me->asleep = true;
    atomic_fetch_add(&t->asleep, 1);
    const uint64_t w = atomic_load(&t->word);
    const bool missed = (w & OPEN) && w / NUMBER_ONE != seen;
    while (t->tickets == 0 && !missed && !atomic_load(&t->stop))
        pthread_cond_wait(&t->wake, &t->lock);
    if (t->tickets > 0)
        t->tickets--;
    else if (missed)
        atomic_fetch_sub(&t->asleep, 1);
    me->asleep = false;
    const bool placed = me->placed;
    const cpu_set_t allowed = me->allowed;
    me->placed = false;
    pthread_mutex_unlock(&t->lock);
    if (placed)
        sched_setaffinity(0, sizeof allowed, &allowed);
}

static void *run_worker(void *closure) {
    worker *me = closure;
    pithp_threads *t = me->pool;
    uint64_t seen = 0;
    int64_t deadline = now() + SPIN_NS;
    for (unsigned turn = 1; !atomic_load_explicit(&t->stop, memory_order_relaxed);
         turn++) {
        if (enter(t, &seen)) {
            modes_set(t->of_caller);
            work(t, me->number);
            atomic_fetch_sub_explicit(&t->word, 1, memory_order_release);
            deadline = now() + SPIN_NS;
        }
        pithp_pause();
        if (turn % 64 == 0 && now() > deadline) {
            doze(me, seen);
            deadline = now() + SPIN_NS;
        }
    }
    return NULL;
}

/* ---- Start and stop ---- */

/* It works with fewer workers, or none. */
static void start(pithp_threads *t) {
    sigset_t all, before;
    t->tried = true;
    t->process = getpid();
    sigfillset(&all); /* signals go to the program's threads */
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    while (t->started < t->count - 1) {
        worker *w = &t->workers[t->started];
        *w = (worker){.pool = t, .number = t->started + 1};
        if (pthread_create(&w->thread, NULL, run_worker, w) != 0)
            break;
        t->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

pithp_threads *pithp_threads_make(pith_runtime *rt, int count) {
    const size_t bytes = sizeof(pithp_threads) + (size_t)count * sizeof(share) +
                         (size_t)count * sizeof(worker);
    pithp_threads *t = pithp_allocate_aligned(rt, bytes, LINE);
    if (!t)
        return NULL;
    memset(t, 0, bytes);
    t->runtime = rt;
    t->bytes = bytes;
    t->most = count;
    t->count = count;
    t->shares = (share *)(t + 1);
    t->workers = (worker *)(t->shares + count);
    atomic_flag_clear(&t->owned);
    if (pthread_mutex_init(&t->lock, NULL) != 0)
        goto no_lock;
    if (pthread_cond_init(&t->wake, NULL) != 0)
        goto no_condition;
    return t;
no_condition:
    pthread_mutex_destroy(&t->lock);
no_lock:
    pithp_release_aligned(rt, t, bytes, LINE);
    return NULL;
}

void pithp_threads_use(pithp_threads *t, int count) {
    while (atomic_flag_test_and_set_explicit(&t->owned, memory_order_acquire))
        sched_yield();
    t->count = count < 1 ? 1 : count < t->most ? count : t->most;
    t->tried = false; /* workers that are still to be started */
    atomic_flag_clear_explicit(&t->owned, memory_order_release);
}

void pithp_threads_free(pithp_threads *t) {
    if (t->started && t->process == getpid()) {
        pthread_mutex_lock(&t->lock);
        atomic_store(&t->stop, true);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
        for (int i = 0; i < t->started; i++)
            pthread_join(t->workers[i].thread, NULL);
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
    }
    pithp_release_aligned(t->runtime, t, t->bytes, LINE);
}

int pithp_threads_asleep(const pithp_threads *t) {
    return atomic_load(&t->asleep);
}

/* ---- Scheduling ---- */

bool pithp_alone_begin(pithp_alone *a, int64_t time) {
    if (time - a->end >= SUCCESSION_NS)
        a->spent = 0;
    a->begin = time;
    return a->spent < WAKE_NS;
}

void pithp_alone_end(pithp_alone *a, int64_t time) {
    a->end = time;
    a->spent += time - a->begin;
}

/* Number of threads for the work, given the number of sleepers. Called by the owner. */
static int64_t threads_for(pithp_threads *t, int64_t grains) {
    int64_t wanted = grains < t->count ? grains : t->count;
    const bool sleeping =
        !t->tried || atomic_load_explicit(&t->asleep, memory_order_relaxed) == t->started;
    if (!sleeping)
        return wanted;
    if (grains < WAKE_WORK && pithp_alone_begin(&t->alone, now()))
        return 1;
    t->alone.spent = 0;
    return wanted;
}

bool pithp_processors_without(cpu_set_t *others, const cpu_set_t *allowed, int one) {
    *others = *allowed;
    if (one >= 0)
        CPU_CLR((size_t)one, others);
    return one >= 0 && CPU_COUNT(others) > 0;
}

/* Let a worker wake on another processor than its waker's. Otherwise the kernel may queue
 * it on that processor, and takes milliseconds to migrate it. */
static void avoid_waker(worker *w) {
    cpu_set_t others;
    if (!w->asleep || w->placed ||
        pthread_getaffinity_np(w->thread, sizeof w->allowed, &w->allowed) != 0)
        return;
    w->placed = pithp_processors_without(&others, &w->allowed, sched_getcpu()) &&
                pthread_setaffinity_np(w->thread, sizeof others, &others) == 0;
}

/* Signalled workers count as awake: they are not signalled again, and may enter jobs
 * opened meanwhile. */
static void wake(pithp_threads *t, int64_t wanted) {
    const int asleep = atomic_load(&t->asleep); /* after the job was opened */
    int64_t more = wanted - 1 - (t->started - asleep);
    if (asleep == 0 || more <= 0 ||
        t->process != getpid()) /* the workers are the parent's */
        return;
    pthread_mutex_lock(&t->lock);
    const int sleepers = atomic_load(&t->asleep);
    const int told = more < sleepers ? (int)more : sleepers;
    for (int i = 0; i < t->started && told == sleepers; i++)
        avoid_waker(&t->workers[i]);
    t->tickets += told;
    atomic_fetch_sub(&t->asleep, told);
    if (told == sleepers)
        pthread_cond_broadcast(&t->wake);
    else
        for (int i = 0; i < told; i++)
            pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* Divide the job into equal shares. If the grain is large, pieces are multiples of LINE
 * indices, so that threads rarely write to the same cache line. */
static void cut(pithp_threads *t, int64_t threads, int64_t count, int64_t grain) {
    const int64_t unit = grain >= LINE ? LINE : 1;
    int64_t rounds = LEAST_PART * count / (threads * grain);
    rounds = rounds < 1 ? 1 : rounds > PIECES ? PIECES : rounds;
    int64_t piece = (count + threads * rounds - 1) / (threads * rounds);
    piece = (piece + unit - 1) / unit * unit;
    const int64_t pieces = count / piece + (count % piece != 0);
    const int64_t each = (pieces + threads - 1) / threads;
    t->piece = piece;
    t->shared = (int)threads;
    for (int64_t i = 0, first = 0; i < threads; i++, first += each) {
        const int64_t end = first + each;
        atomic_store_explicit(&t->shares[i].next, first < pieces ? first : pieces,
                              memory_order_relaxed);
        t->shares[i].end = end < pieces ? end : pieces;
    }
}

static void open_job(pithp_threads *t) {
    t->of_caller = modes_get();
    const uint64_t number =
        atomic_load_explicit(&t->word, memory_order_relaxed) / NUMBER_ONE + 1;
    atomic_store(&t->word, number * NUMBER_ONE | OPEN);
}

static void close_job(pithp_threads *t) {
    atomic_fetch_and_explicit(&t->word, ~OPEN, memory_order_acq_rel);
    for (int turn = 0; atomic_load_explicit(&t->word, memory_order_acquire) & INSIDE;
         turn++) {
        if (turn < 4096)
            pithp_pause();
        else
            sched_yield();
    }
}

void pithp_threads_run(pithp_threads *t,
                       pithp_host_loop loop,
                       const void *args,
                       int64_t count,
                       int64_t grain) {
    const int64_t grains = count / grain;
    if (t->count == 1 || grains < 2 ||
        atomic_flag_test_and_set_explicit(&t->owned, memory_order_acquire)) {
        loop(args, 0, count);
        return;
    }
    const int64_t threads = threads_for(t, grains);
    if (threads == 1) {
        loop(args, 0, count);
        pithp_alone_end(&t->alone, now());
    } else {
        if (!t->tried)
            start(t);
        t->loop = loop;
        t->args = args;
        t->count_of_job = count;
        cut(t, threads, count, grain);
        open_job(t);
        wake(t, threads);
        work(t, 0);
        close_job(t);
    }
    atomic_flag_clear_explicit(&t->owned, memory_order_release);
}
