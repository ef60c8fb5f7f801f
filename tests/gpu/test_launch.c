/* Launches on the host: every index once, whatever the count and the number of threads.
 */
#include "gpu_test.h"

#include <fenv.h>
#include <pith/runtime.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(launch, .init = gt_reset);

static pith_runtime *open_with(int threads) {
    return pith_open(&(pith_open_options){.device = "host", .threads = threads});
}

typedef struct {
    atomic_uchar *seen;
    atomic_int *calls;
} touch_args;

static void touch(const void *args, int64_t begin, int64_t end) {
    const touch_args *a = args;
    atomic_fetch_add(a->calls, 1);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&a->seen[i], 1);
}
static const pithp_host_loop touch_loops[PITHP_ISA_COUNT] = {touch};

Test(launch, touches_every_index_once) {
    static const int64_t counts[] = {0,    1,    2,    63,     64,    100,
                                     4096, 4097, 8192, 100000, 200003};
    static const int64_t grains[] = {0, 1, 3, 64, 100, 1000, 2000000};
    for (int threads = 1; threads <= 7; threads += 3) {
        pith_runtime *rt = open_with(threads);
        pith_scope *s = pith_scope_open(rt);
        for (int c = 0; c < PITHP_COUNT(counts); c++) {
            for (int g = 0; g < PITHP_COUNT(grains); g++) {
                atomic_uchar *seen = calloc(200003, 1);
                atomic_int calls = 0;
                const touch_args args = {seen, &calls};
                pithp_launch_run(s, &(pithp_launch){.name = "touch",
                                                    .loops = touch_loops,
                                                    .args = &args,
                                                    .args_bytes = sizeof args,
                                                    .count = counts[c],
                                                    .grain = grains[g]});
                pt_ok(s);
                for (int64_t i = 0; i < counts[c]; i++)
                    cr_assert_eq(atomic_load(&seen[i]), 1, "index %lld of %lld",
                                 (long long)i, (long long)counts[c]);
                free(seen);
            }
        }
        pith_scope_close(s);
        pith_close(rt);
    }
}

static void meet(const void *args, int64_t begin, int64_t end) {
    atomic_int *waiting = *(atomic_int *const *)args;
    (void)begin, (void)end;
    atomic_fetch_add(waiting, 1);
    for (int i = 0; i < 60000 && atomic_load(waiting) < 2; i++) {
        const struct timespec t = {.tv_nsec = 1000000};
        nanosleep(&t, NULL);
    }
}
static const pithp_host_loop meet_loops[PITHP_ISA_COUNT] = {meet};

Test(launch, runs_on_several_threads_at_once) {
    pith_runtime *rt = open_with(2);
    pith_scope *s = pith_scope_open(rt);
    atomic_int waiting = 0;
    atomic_int *const args = &waiting;
    /* Each range waits for another to begin: alone, the first would wait for 60 s. */
    pithp_launch_run(s, &(pithp_launch){.name = "meet",
                                        .loops = meet_loops,
                                        .args = &args,
                                        .args_bytes = sizeof args,
                                        .count = 64,
                                        .grain = 1});
    cr_assert_geq(atomic_load(&waiting), 2);
    pith_scope_close(s);
    pith_close(rt);
}

static void read_rounding(const void *args, int64_t begin, int64_t end) {
    int *out = *(int *const *)args;
    for (int64_t i = begin; i < end; i++)
        out[i] = fegetround();
}
static const pithp_host_loop rounding_loops[PITHP_ISA_COUNT] = {read_rounding};

Test(launch, rounds_as_its_caller_does_on_every_thread) {
    enum { COUNT = 4096 };
    pith_runtime *rt = open_with(4);
    pith_scope *s = pith_scope_open(rt);
    static int modes[COUNT];
    int *const args = modes;
    static const int rounding[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD};
    for (int turn = 0; turn < 30; turn++) {
        fesetround(rounding[turn % 3]);
        pithp_launch_run(s, &(pithp_launch){.name = "rounding",
                                            .loops = rounding_loops,
                                            .args = &args,
                                            .args_bytes = sizeof args,
                                            .count = COUNT,
                                            .grain = 1});
        for (int i = 0; i < COUNT; i++)
            cr_assert_eq(modes[i], rounding[turn % 3]);
    }
    fesetround(FE_TONEAREST);
    pith_scope_close(s);
    pith_close(rt);
}

typedef struct {
    int64_t *to, numbers[PITHP_LAUNCH_ARGS];
} big_args;

static void copy_big(const void *args, int64_t begin, int64_t end) {
    const big_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->to[i] = a->numbers[i];
}

Test(launch, takes_arguments_of_any_size_on_the_host) {
    static const pithp_host_loop loops[PITHP_ISA_COUNT] = {copy_big};
    static big_args args;
    static int64_t to[PITHP_LAUNCH_ARGS];
    for (int asynchronous = 0; asynchronous < 2; asynchronous++) {
        setenv("PITH_HOST_ASYNC", asynchronous ? "1" : "0", 1);
        pith_runtime *rt = open_with(2);
        pith_scope *s = pith_scope_open(rt);
        args.to = to;
        for (int i = 0; i < PITHP_LAUNCH_ARGS; i++)
            args.numbers[i] = i + asynchronous;
        pt_ok(s, pithp_launch_enqueue(s, &(pithp_launch){.name = "big",
                                                         .loops = loops,
                                                         .args = &args,
                                                         .args_bytes = sizeof args,
                                                         .count = PITHP_LAUNCH_ARGS,
                                                         .grain = 1}) == PITH_OK);
        memset(args.numbers, 0, sizeof args.numbers); /* they were copied */
        pt_ok(s, pithp_synchronise(s) == PITH_OK);
        for (int i = 0; i < PITHP_LAUNCH_ARGS; i++)
            cr_assert_eq(to[i], i + asynchronous);
        pith_scope_close(s);
        pith_close(rt);
    }
    unsetenv("PITH_HOST_ASYNC");
}

enum { USERS = 4, USER_COUNT = 100000, USER_TURNS = 20 };

static void *use(void *closure) {
    pith_scope *s = pith_scope_open(closure);
    for (int turn = 0; turn < USER_TURNS; turn++) {
        pithp_buffer *a = gt_buffer(s, USER_COUNT), *b = gt_buffer(s, USER_COUNT);
        gt_launch(s, NULL, a->data, USER_COUNT);
        gt_launch(s, a->data, b->data, USER_COUNT);
        pt_ok(s);
        const int64_t *data = b->data;
        for (int64_t i = 0; i < USER_COUNT; i++)
            if (data[i] != 4 * i)
                return "wrong";
        pithp_buffer_release(a, 1);
        pithp_buffer_release(b, 1);
    }
    pith_scope_close(s);
    return NULL;
}

Test(launch, serves_several_threads_of_the_user) {
    pith_runtime *rt = pt_open();
    pthread_t users[USERS];
    for (int i = 0; i < USERS; i++)
        cr_assert_eq(pthread_create(&users[i], NULL, use, rt), 0);
    for (int i = 0; i < USERS; i++) {
        void *wrong = NULL;
        pthread_join(users[i], &wrong);
        cr_assert_null(wrong);
    }
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pt_close(rt);
}

#if !defined(__SANITIZE_THREAD__) /* which does not follow forks of threads */
enum { CHILD_IS_RIGHT = 42 };
static void expect_right(pid_t child) {
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_RIGHT, "status %d",
              status);
}

Test(launch, a_forked_child_computes_alone) {
    enum { COUNT = 400000 };
    pith_runtime *rt = open_with(4);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *b = gt_buffer(s, COUNT);
    gt_launch(s, NULL, b->data, COUNT);
    const pid_t child = fork();
    if (child == 0) {
        memset(b->data, 0, COUNT * sizeof(int64_t));
        gt_launch(s, NULL, b->data, COUNT);
        const bool right = ((int64_t *)b->data)[COUNT - 1] == COUNT - 1;
        pithp_buffer_release(b, 1);
        pith_close(rt);
        _exit(right ? CHILD_IS_RIGHT : 1);
    }
    expect_right(child);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pith_close(rt);
}

/* Workers on their way as the process forks hold what they sleep by in the child, too. */
Test(launch, a_forked_child_wakes_no_worker, .timeout = 60) {
    enum { COUNT = 400000, TURNS = 20 };
    pith_runtime *rt = open_with(4);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *b = gt_buffer(s, COUNT);
    const struct timespec rest = {.tv_nsec = 2000000};
    for (int turn = 0; turn < TURNS; turn++) {
        gt_launch(s, NULL, b->data, COUNT);
        nanosleep(&rest, NULL); /* they sleep */
        gt_launch(s, NULL, b->data, COUNT);
        const pid_t child = fork();
        if (child == 0) {
            for (int again = 0; again < 3; again++)
                gt_launch(s, NULL, b->data, COUNT);
            _exit(CHILD_IS_RIGHT);
        }
        expect_right(child);
    }
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pith_close(rt);
}
#endif
