/* A program of ranks under a launcher of MPI, for checkpoints: mpi_parts WHAT FOLDER.
 * parts.sh says what must come of it. */
#include "mesh/shard_run.h"

#include <pith/pith.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static pith_runtime *rt;
static mesh_test job;
static bool good = true;

#define CHECK(...)                                                                       \
    ((__VA_ARGS__) ? (void)0                                                             \
                   : (good = false,                                                      \
                      fprintf(stderr, "rank %d, line %d: %s: %s\n", (int)job.rank,       \
                              __LINE__, #__VA_ARGS__, pith_message(job.s)),              \
                      (void)0))

static void join(void) {
    rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    job.s = pith_scope_open(rt);
    const pith_mesh_info info =
        pith_mesh_about(pith_mesh_open(job.s, PITH_MESH_AXES({"x", 0}), NULL));
    job.rank = info.rank;
    job.size = info.size;
    job.name = "parts";
}

static int leave(void) {
    CHECK(!pith_failed(job.s));
    pith_clear(job.s);
    pith_scope_close(job.s);
    pith_close(rt);
    return !good || job.failures;
}

/* ---- Runs that are continued by other numbers of ranks ---- */

PITH_FUNCTION1(step_function, shard_run_step, ShardAtoms, ShardAtoms)

typedef struct watch {
    int64_t signal_at, first;
} watch;

static void each(pith_scope *s, const void *state, int64_t step, void *closure) {
    watch *w = closure;
    (void)s;
    CHECK(shard_run_is(&job, state, step));
    if (w->first < 0)
        w->first = step;
    if (step == w->signal_at && job.rank == job.size - 1)
        raise(SIGTERM);
}

/* Continue the run of the folder; the last rank gets SIGTERM at a step. */
static void run(const char *signal_at) {
    watch w = {.signal_at = signal_at ? atoll(signal_at) : -1, .first = -1};
    const pith_function *step =
        pith_jit(job.s, pith_shard_map(job.s, &step_function, NULL), NULL);
    const ShardAtoms *out =
        pith_run(job.s, ShardAtoms, step, shard_run_start(&job),
                 &(pith_run_options){.steps = SHARD_RUN_STEPS,
                                     .save = "run.json",
                                     .save_every = 5,
                                     .save_options = &(pith_save_options){.keep = 2},
                                     .each = each,
                                     .closure = &w,
                                     .resume = true,
                                     .signals = true});
    const pith_run_end end = pith_run_outcome(job.s);
    CHECK(out && shard_run_is(&job, out, end.step));
    CHECK(end.signal == (w.signal_at < 0 ? 0 : SIGTERM));
    printf("rank %d: from %d to %d, signal %d\n", (int)job.rank, (int)w.first,
           (int)end.step, end.signal);
}

/* ---- Saves that are killed ---- */

static const ShardAtoms *state_of(double value) {
    ShardAtoms next = *atoms_of(&job, 40000, 40000);
    next.box = pith_full(job.s, PITH_F64, PITH_SHAPE(3), value);
    next.position = pith_full(job.s, PITH_F64, PITH_SHAPE(40000, 3), value);
    return pith_shard(job.s, pith_freeze(job.s, ShardAtoms, &next), NULL);
}

/* Save numbered states, in the background and not, until the job is ended. */
static void save_for_ever(void) {
    pith_scope *outer = job.s;
    for (int k = 1; good; k++) {
        const pith_save_options o = {.step = k,
                                     .background = k % 2,
                                     .part_per_node = k % 3 == 0,
                                     .compress = k % 5 == 0};
        job.s = pith_scope_open_in(outer);
        CHECK(pith_save(job.s, state_of(k), "killed.json", &o));
        pith_scope_close(job.s);
        if (job.rank == 0 && k == 2) {
            printf("saving\n");
            fflush(stdout);
        }
    }
    job.s = outer;
}

static bool is_saved(const char *path, double value) {
    const ShardAtoms *a = pith_load(job.s, ShardAtoms, path);
    const void *whole = pith_unshard(job.s, a, -1),
               *want = pith_unshard(job.s, state_of(value), -1);
    return !pith_failed(job.s) && pith_tree_equal(job.s, whole, want);
}

/* The checkpoint is whole: all of it is of one state, the one that its step names. */
static void check_whole(void) {
    const ShardAtoms *a = pith_load(job.s, ShardAtoms, "killed.json");
    const ShardAtoms *whole = pith_unshard(job.s, a, -1);
    const double value =
        pith_failed(job.s) ? 0
                           : pith_read_f64(job.s, pith_slice_at(job.s, whole->box, 0, 0));
    CHECK(!pith_failed(job.s) && value >= 1);
    CHECK(mesh_equal(&job, whole->position,
                     pith_full(job.s, PITH_F64, PITH_SHAPE(40000, 3), value)));
    const ShardAtoms *rest = atoms_of(&job, 40000, 40000);
    CHECK(mesh_equal(&job, whole->mass, rest->mass));
    const pith_checkpoint *c = pith_checkpoint_open(job.s, "killed.json");
    CHECK((double)pith_checkpoint_about(c)->step == value);
}

/* ---- A disk that is full for one rank ---- */

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void fill_disk(void) {
    const bool here = job.rank == job.size - 1;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(pith_save(job.s, state_of(1), "full.json", NULL));
    for (int way = 0; way < 4; way++) {
        const bool background = way % 2;
        const pith_save_options o = {.background = background, .part_per_node = way > 1};
        if (here)
            limit_files(20000);
        const bool saved = pith_save(job.s, state_of(2), "full.json", &o);
        CHECK(saved == background);
        CHECK(!saved || !pith_save_wait(job.s));
        CHECK(pith_code(job.s) == (here ? PITH_E_IO : PITH_E_PEER));
        CHECK(strstr(pith_message(job.s), "File too large") != NULL);
        pith_clear(job.s);
        if (here)
            limit_files(RLIM_INFINITY);
        CHECK(is_saved("full.json", 1)); /* the one before */
    }
    CHECK(pith_save(job.s, state_of(3), "full.json", NULL));
    CHECK(is_saved("full.json", 3));
}

/* ---- A folder that one rank does not see ---- */

static void save_apart(void) {
    const bool here = job.rank == job.size - 1;
    char host[64], text[120];
    CHECK(pith_save(job.s, state_of(1), "apart.json", NULL));
    if (here)
        CHECK(mkdir("apart", 0777) == 0 && chdir("apart") == 0);
    gethostname(host, sizeof host);
    for (int background = 0; background < 2; background++) {
        const pith_save_options o = {.background = background};
        CHECK(!pith_save(job.s, state_of(2), "apart.json", &o) || !pith_save_wait(job.s));
        snprintf(text, sizeof text, "that rank %d (%s) wrote: all ranks must write to",
                 (int)job.size - 1, host);
        CHECK(strstr(pith_message(job.s), text) != NULL);
        CHECK(pith_code(job.s) == (job.rank ? PITH_E_PEER : PITH_E_IO));
        pith_clear(job.s);
    }
    if (here)
        CHECK(chdir("..") == 0);
    CHECK(pith_agree(job.s));
    CHECK(is_saved("apart.json", 1));
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    join();
    if (argc < 3 || chdir(argv[2]) != 0)
        return 2;
    if (strcmp(what, "run") == 0)
        run(argc > 3 ? argv[3] : NULL);
    else if (strcmp(what, "save") == 0)
        save_for_ever();
    else if (strcmp(what, "whole") == 0)
        check_whole();
    else if (strcmp(what, "full") == 0)
        fill_disk();
    else if (strcmp(what, "apart") == 0)
        save_apart();
    else
        return 2;
    return leave();
}
