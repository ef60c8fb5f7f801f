/* A program of ranks of which one is lost: mpi_ends PHASE HOW [OTHERS [RANK]]. The rank
 * (1) is lost in a phase of a job, in one of several ways, while the others do the same
 * as it, compute, sleep, are stopped, or have much memory. ends.sh says what must come of
 * it; the file MESH_STRUCK gets the time at which the rank is lost. */
#include "mesh/shard_run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SOON_MS = 150, HEAVY_MS = 3000, LONG_S = 60 };

static pith_runtime *rt;
static mesh_test job;
static const char *how, *others = "same"; /* how a rank is lost; what the others do */
static bool lost;                         /* this rank will be */
static pthread_t main_thread;

static void sleep_ms(long ms) {
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- Ways to be lost ---- */

static void note_time(void) {
    const char *path = getenv("MESH_STRUCK");
    FILE *f = path ? fopen(path, "w") : NULL;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (f) {
        fprintf(f, "%lld.%03ld\n", (long long)t.tv_sec, t.tv_nsec / 1000000);
        fclose(f);
    }
}

static void loop_for_ever(int number) {
    static volatile int more = 1;
    (void)number;
    while (more)
        continue;
}

static void be_lost(void) {
    note_time();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit") == 0)
        exit(0);
    else if (strcmp(how, "_exit") == 0)
        _exit(3);
    else if (strcmp(how, "_exit0") == 0)
        _exit(0);
    else if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    else if (strcmp(how, "loop") == 0 && pthread_equal(pthread_self(), main_thread))
        loop_for_ever(0);
    else if (strcmp(how, "loop") == 0) /* the main thread, within a call */
        pthread_kill(main_thread, SIGUSR1);
    else if (strcmp(how, "sleep") == 0)
        sleep(LONG_S);
}

/* In user code of the main thread. */
static void be_lost_here(void) {
    if (lost)
        be_lost();
}

static void *be_lost_later(void *closure) {
    sleep_ms(*(const long *)closure);
    be_lost();
    return NULL;
}

/* Within what follows: by another thread. */
static void be_lost_soon(void) {
    static long ms;
    pthread_t thread;
    const char *text = getenv("MESH_SOON_MS");
    if (!lost)
        return;
    ms = text ? atol(text) : strcmp(others, "heavy") == 0 ? HEAVY_MS : SOON_MS;
    if (pthread_create(&thread, NULL, be_lost_later, &ms) == 0)
        pthread_detach(thread);
}

/* ---- What the others do ---- */

/* Memory that the kernel frees for some time when the process ends. */
static void take_memory(void) {
    const size_t bytes = (size_t)2 << 30;
    char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
}

/* Ranks that compute or sleep for 3 s come to the phase later, those that are stopped do
 * not. */
static void be_late(void) {
    const time_t begin = time(NULL);
    if (lost || strcmp(others, "same") == 0)
        return;
    if (strcmp(others, "sleep") == 0)
        sleep(3);
    else if (strcmp(others, "stop") == 0)
        raise(SIGSTOP);
    else if (strcmp(others, "heavy") == 0)
        take_memory();
    else
        while (time(NULL) < begin + 4)
            continue;
}

/* ---- Phases ---- */

static void join(void) {
    rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    job.s = pith_scope_open(rt);
    const pith_mesh_info info =
        pith_mesh_about(pith_mesh_open(job.s, PITH_MESH_AXES({"x", 0}), NULL));
    job.rank = info.rank;
    job.size = info.size;
    job.name = "ends";
}

static int leave(void) {
    const bool failed = pith_failed(job.s);
    if (failed)
        fprintf(stderr, "error: %s\n", pith_message(job.s));
    pith_clear(job.s);
    pith_scope_close(job.s);
    pith_close(rt);
    return failed;
}

static const pith_array *many_sums(pith_scope *s, const pith_array *a) {
    for (int i = 0; i < 20; i++)
        a = pith_psum(s, a, NULL, NULL);
    return a;
}
PITH_FUNCTION1(many_sums_of, many_sums, pith_array, pith_array)

static const pith_array *many_halos(pith_scope *s, const pith_array *a) {
    for (int i = 0; i < 20; i++)
        a = pith_halo_add(s, pith_halo(s, a, 0, "x", 1, 1, true), 0, "x", 1, 1, true);
    return a;
}
PITH_FUNCTION1(many_halos_of, many_halos, pith_array, pith_array)

PITH_FUNCTION1(step_function, shard_run_step, ShardAtoms, ShardAtoms)

static const pith_array *ones(int64_t n) {
    return pith_ones(job.s, PITH_F64, PITH_SHAPE(n));
}

static void once_user(void) {
    be_lost_here();
    pith_agree(job.s);
}

static void once_agree(void) {
    pith_agree(job.s);
}

static void once_eager(void) {
    pith_psum(job.s, ones(8), NULL, NULL);
}

static void once_compiled(void) {
    const pith_function *f = pith_jit(job.s, &many_sums_of, NULL);
    pith_call(job.s, f, PITH_ITEMS(ones(8)));
}

static void once_rows(void) { /* 64 MiB */
    pith_psum_rows(job.s, ones(INT64_C(1) << 23), NULL, NULL);
}

static void once_big(void) {
    pith_psum(job.s, ones(INT64_C(1) << 23), NULL, NULL);
}

static void once_halo(void) {
    const pith_function *f = pith_jit(job.s, &many_halos_of, NULL);
    pith_call(job.s, f, PITH_ITEMS(ones(1 << 16)));
}

/* n rows for the next rank. */
static const pith_route *route_on(int64_t n) {
    const pith_array *rows = pith_arange(job.s, PITH_I64, n),
                     *to = pith_full(job.s, PITH_I64, PITH_SHAPE(n),
                                     (double)((job.rank + 1) % job.size));
    return pith_route_make(job.s, rows, to, NULL, pith_route_room(job.s, 2, n, n));
}

static void once_route(void) {
    const int64_t n = 1 << 14, little = 100; /* by MPI, and in memory of the node */
    const pith_route *route = route_on(n), *few = route_on(little);
    for (int i = 0; i < 10; i++) {
        pith_route_send(job.s, route, ones(n));
        pith_route_send(job.s, few, ones(little));
    }
}

static void once_shard(void) {
    const pith_array *whole = ones(INT64_C(100000) * job.size);
    pith_unshard(job.s, pith_shard(job.s, whole, PITH_SPECS({"", "x", NULL})), -1);
}

static const char *path_of(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s",
             getenv("MESH_FOLDER") ? getenv("MESH_FOLDER") : "/tmp", name);
    return path;
}

static const void *state(void) {
    return pith_shard(job.s, ones(INT64_C(200000) * job.size),
                      PITH_SPECS({"", "x", NULL}));
}

static void once_save(void) {
    pith_save(job.s, state(), path_of("ends.json"), NULL);
}

static void once_background(void) {
    const void *tree = state();
    for (int i = 0; i < 2; i++)
        pith_save(job.s, tree, path_of("ends.json"),
                  &(pith_save_options){.background = true});
    pith_save_wait(job.s);
}

static void once_load(void) {
    static bool saved;
    if (!saved)
        once_save();
    saved = true;
    pith_load(job.s, pith_array, path_of("ends.json"));
}

static void each(pith_scope *s, const void *tree, int64_t step, void *closure) {
    (void)s, (void)tree, (void)closure;
    if (step == 5)
        be_lost_here();
}

static void run_with(pith_run_options o) {
    const pith_function *step =
        pith_jit(job.s, pith_shard_map(job.s, &step_function, NULL), NULL);
    pith_run(job.s, ShardAtoms, step, shard_run_start(&job), &o);
}

static void once_callback(void) {
    run_with((pith_run_options){.steps = 10, .each = each});
}

static void once_run(void) {
    run_with((pith_run_options){.steps = 1000});
}

/* ---- A fix ---- */

typedef struct {
    const pith_array *x;
} Fixed;
PITH_NODE(Fixed, PITH_LEAF(x, "f64"))

static const Fixed *fix(pith_scope *s, const Fixed *in) {
    Fixed next = *in;
    be_lost_here();
    next.x = pith_f64(s, 1);
    return pith_freeze(s, Fixed, &next);
}
PITH_FUNCTION1(fix_of, fix, Fixed, Fixed)

static const Fixed *fixed_step(pith_scope *s, const Fixed *in) {
    Fixed next = *in;
    pith_check(s, pith_greater(s, in->x, pith_f64(s, 0)), "too small", .fix = &fix_of);
    next.x = pith_psum(s, in->x, NULL, NULL);
    return pith_freeze(s, Fixed, &next);
}
PITH_FUNCTION1(fixed_step_of, fixed_step, Fixed, Fixed)

static void once_fix(void) {
    const pith_function *step = pith_jit(job.s, &fixed_step_of, NULL);
    pith_propagate(job.s, Fixed, step,
                   pith_make(job.s, Fixed, &(Fixed){.x = pith_f64(job.s, 0)}, NULL),
                   NULL);
}

/* ---- The table ---- */

static const struct {
    const char *name;
    void (*once)(void); /* a call, made again and again */
    bool here;          /* the rank is lost in its user code, not by another thread */
} phases[] = {
    {"user", once_user, true},
    {"agree", once_agree, false},
    {"eager", once_eager, false},
    {"compiled", once_compiled, false},
    {"rows", once_rows, false},
    {"big", once_big, false},
    {"halo", once_halo, false},
    {"route", once_route, false},
    {"shard", once_shard, false},
    {"save", once_save, false},
    {"background", once_background, false},
    {"load", once_load, false},
    {"callback", once_callback, true},
    {"run", once_run, false},
    {"fix", once_fix, true},
};

static int run_phase(int k) {
    join();
    pith_scope *outer = job.s;
    phases[k].once();
    be_late();
    if (!phases[k].here)
        be_lost_soon();
    const time_t begin = time(NULL);
    while (!pith_failed(job.s) && time(NULL) < begin + LONG_S) {
        job.s = pith_scope_open_in(outer);
        phases[k].once();
        if (pith_failed(job.s))
            fprintf(stderr, "error: %s\n", pith_message(job.s));
        pith_scope_close(job.s);
        job.s = outer;
    }
    return leave();
}

/* ---- The start and the end of a job ---- */

static int rank_of_launcher(void) {
    const char *rank =
        getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    return rank ? atoi(rank) : 0;
}

static void in_finalize(void) {
    be_late();
    be_lost_soon();
}

static int lose_at_start(const char *phase) {
    if (strcmp(phase, "before") == 0)
        be_lost_here();
    else
        be_lost_soon();
    be_late();
    join();
    const time_t begin = time(NULL);
    while (time(NULL) < begin + LONG_S)
        pith_agree(job.s);
    return leave();
}

static int lose_at_end(const char *phase) {
    join();
    if (strcmp(phase, "close") == 0) {
        be_late();
        be_lost_soon();
        if (!lost)
            sleep(1);
        return leave();
    }
    const int failed = leave();
    if (strcmp(phase, "closed") == 0)
        be_late(), be_lost_here();
    else /* finalize */
        atexit(in_finalize);
    return failed;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    how = argv[2];
    others = argc > 3 ? argv[3] : others;
    lost = rank_of_launcher() == (argc > 4 ? atoi(argv[4]) : 1);
    main_thread = pthread_self();
    signal(SIGUSR1, loop_for_ever);
    for (int k = 0; k < (int)(sizeof phases / sizeof *phases); k++)
        if (strcmp(phases[k].name, argv[1]) == 0)
            return run_phase(k);
    if (strcmp(argv[1], "before") == 0 || strcmp(argv[1], "joining") == 0)
        return lose_at_start(argv[1]);
    return lose_at_end(argv[1]);
}
