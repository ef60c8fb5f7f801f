/* The pool of threads of the host: when a launch wakes workers, and where they run. No
 * test depends on time: what does is tested with given times, and a state that comes by
 * itself is awaited for up to a minute. */
#include "gpu/host/threads.h"
#include "gpu_test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { SMALL = 31, LARGE = 32, TURNS = 20 }; /* grains: from LARGE on workers are woken */

static pith_runtime *rt;
static pithp_threads *pool;

static void open_pool(int threads) {
    rt = pt_open();
    pool = pithp_threads_make(rt, threads);
    cr_assert(pool);
}

static void close_pool(void) {
    pithp_threads_free(pool);
    pt_close(rt);
}

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Rests, and says whether a minute has not passed since then. */
static bool rest_within_a_minute(time_t start) {
    const struct timespec rest = {.tv_nsec = 200000};
    nanosleep(&rest, NULL);
    return seconds() - start < 60;
}

static bool sleep_at_last(int workers) {
    const time_t start = seconds();
    while (pithp_threads_asleep(pool) < workers && rest_within_a_minute(start))
        ;
    return pithp_threads_asleep(pool) == workers;
}

typedef struct {
    atomic_int calls;
    pthread_t caller;
    cpu_set_t allowed;  /* processors of the caller */
    atomic_int joined;  /* ranges of other threads */
    atomic_int strayed; /* of those that run elsewhere than the caller may */
    int asleep;         /* workers, as the caller works on its first range */
    atomic_bool looked; /* the caller did */
    bool wait;          /* the caller does not end before a worker has come */
} launch;

/* Workers stay until the caller has looked. */
static void look(const void *args, int64_t begin, int64_t end) {
    launch *l = *(launch *const *)args;
    cpu_set_t allowed;
    (void)begin, (void)end;
    atomic_fetch_add(&l->calls, 1);
    if (pthread_equal(pthread_self(), l->caller)) {
        if (!atomic_load(&l->looked))
            l->asleep = pithp_threads_asleep(pool);
        atomic_store(&l->looked, true);
        const time_t start = seconds();
        while (l->wait && !atomic_load(&l->joined) && rest_within_a_minute(start))
            ;
        return;
    }
    atomic_fetch_add(&l->joined, 1);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        !CPU_EQUAL(&allowed, &l->allowed))
        atomic_fetch_add(&l->strayed, 1);
    while (!atomic_load(&l->looked))
        sched_yield();
}

static void run_launch(launch *l, int64_t grains) {
    l->caller = pthread_self();
    cr_assert(sched_getaffinity(0, sizeof l->allowed, &l->allowed) == 0);
    pithp_threads_run(pool, look, &l, grains, 1);
}

static bool is_shared(int64_t grains) {
    launch l = {.wait = false};
    run_launch(&l, grains);
    return atomic_load(&l.calls) > 1;
}

Test(threads, sleep_when_there_is_no_work) {
    open_pool(4);
    for (int turn = 0; turn < TURNS; turn++) {
        cr_assert(is_shared(1024));
        cr_assert(sleep_at_last(3));
    }
    close_pool();
}

Test(threads, are_as_many_as_are_used) {
    open_pool(4);
    pithp_threads_use(pool, 1);
    cr_assert_not(is_shared(1024));
    pithp_threads_use(pool, 2);
    cr_assert(is_shared(1024));
    cr_assert(sleep_at_last(1));
    pithp_threads_use(pool, 9);
    cr_assert(is_shared(1024));
    cr_assert(sleep_at_last(3));
    pithp_threads_use(pool, 1);
    cr_assert_not(is_shared(1024));
    cr_assert_eq(pithp_threads_asleep(pool), 3);
    close_pool();
}

Test(threads, are_woken_by_large_launches_alone) {
    open_pool(2);
    for (int turn = 0; turn < TURNS; turn++) {
        cr_assert(is_shared(LARGE));
        cr_assert(sleep_at_last(1));
        cr_assert_not(is_shared(SMALL));
        cr_assert_eq(pithp_threads_asleep(pool), 1);
    }
    close_pool();
}

/* A worker that was signalled takes its time. A small launch that comes meanwhile would
 * be its caller's alone if all workers slept. */
Test(threads, that_were_signalled_count_as_awake) {
    const time_t start = seconds();
    bool joined = false;
    open_pool(2);
    cr_assert(is_shared(LARGE));
    for (int turn = 0; turn < TURNS || (!joined && rest_within_a_minute(start)); turn++) {
        launch l = {.wait = false};
        cr_assert(sleep_at_last(1));
        run_launch(&l, LARGE);
        joined |= is_shared(4); /* unless the worker has come and sleeps again */
        cr_assert_eq(l.asleep, 0);
    }
    cr_assert(joined);
    close_pool();
}

/* Where they may run is narrowed as they are woken, and widened before they work. */
static void work_where_the_caller_may(void) {
    open_pool(2);
    for (int turn = 0; turn < TURNS; turn++) {
        launch l = {.wait = true};
        run_launch(&l, LARGE);
        cr_assert(atomic_load(&l.joined) > 0);
        cr_assert_eq(atomic_load(&l.strayed), 0);
        cr_assert(sleep_at_last(1));
    }
    close_pool();
}

Test(threads, work_on_the_processors_of_their_caller) {
    work_where_the_caller_may();
}

Test(threads, stay_on_the_only_processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    cr_assert(sched_setaffinity(0, sizeof one, &one) == 0);
    work_where_the_caller_may();
}

Test(threads, wake_on_another_processor_than_their_caller) {
    cpu_set_t allowed, others;
    CPU_ZERO(&allowed);
    CPU_SET(2, &allowed);
    CPU_SET(5, &allowed);
    cr_assert(pithp_processors_without(&others, &allowed, 2));
    cr_assert(CPU_COUNT(&others) == 1 && CPU_ISSET(5, &others));
    cr_assert(pithp_processors_without(&others, &allowed, 3));
    cr_assert(CPU_EQUAL(&others, &allowed));
    cr_assert_not(pithp_processors_without(&others, &allowed, -1), "not known");
    CPU_CLR(5, &allowed);
    cr_assert_not(pithp_processors_without(&others, &allowed, 2), "the only one");
}

/* Small launches count by the time that they took, whatever they were said to be. */
Test(threads, are_woken_when_small_launches_have_taken_long) {
    enum { US = 1000 };
    pithp_alone a = {.spent = 0};
    int64_t time = INT64_C(1) << 40;
    for (int k = 0; k < 8; k++) { /* 8 launches of 8 us, 10 us apart */
        cr_assert(pithp_alone_begin(&a, time), "launch %d", k);
        pithp_alone_end(&a, time += 8 * US);
        time += 10 * US;
    }
    cr_assert_not(pithp_alone_begin(&a, time), "64 us");
    cr_assert(pithp_alone_begin(&a, time + 200 * US), "after a rest");
    a = (pithp_alone){.spent = 0};
    for (int k = 0; k < 1000; k++) { /* each as long, and far apart */
        cr_assert(pithp_alone_begin(&a, time));
        pithp_alone_end(&a, time += 100 * US);
        time += 200 * US;
    }
    for (int k = 0; k < 1000; k++) { /* over at once */
        cr_assert(pithp_alone_begin(&a, time));
        pithp_alone_end(&a, time += 50);
        time += 10;
    }
    pithp_alone_begin(&a, time);
    pithp_alone_end(&a, time += 100 * US);
    cr_assert_not(pithp_alone_begin(&a, time + 199 * US), "one that took long");
}
