/* Cases of runs whose state is sharded: every save is one of all ranks. */
#include "mesh/shard_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PITH_FUNCTION1(step_function, shard_run_step, ShardAtoms, ShardAtoms)

static const char *name_of(mesh_test *t, const char *name, char path[200]) {
    const char *folder = getenv("MESH_FOLDER");
    MESH_CHECK(t, folder != NULL);
    snprintf(path, 200, "%s/%s", folder ? folder : ".", name);
    return path;
}

/* What the last rank does at step 5. */
typedef struct {
    mesh_test *t;
    enum { NOTHING, STOP, SIGNAL, FAIL } what;
} event;

static void each(pith_scope *s, const void *state, int64_t step, void *closure) {
    const event *e = closure;
    MESH_CHECK(e->t, shard_run_is(e->t, state, step));
    if (step != 5 || e->t->rank != e->t->size - 1)
        return;
    if (e->what == STOP)
        pith_run_request(pith_scope_runtime(s), PITH_RUN_STOP);
    else if (e->what == SIGNAL)
        raise(SIGTERM);
    else if (e->what == FAIL)
        pith_fail(s, PITH_E_CALLBACK, NULL, "seen enough");
}

static const ShardAtoms *run_with(mesh_test *t, event e, const char *path, bool resume) {
    const pith_function *step =
        pith_jit(t->s, pith_shard_map(t->s, &step_function, NULL), NULL);
    const pith_save_options background = {.background = true};
    return pith_run(t->s, ShardAtoms, step, shard_run_start(t),
                    &(pith_run_options){.steps = SHARD_RUN_STEPS,
                                        .save = path,
                                        .save_every = 2,
                                        .save_options = resume ? &background : NULL,
                                        .each = each,
                                        .closure = &e,
                                        .resume = resume,
                                        .signals = e.what == SIGNAL});
}

static void check_saved(mesh_test *t, const char *path, int64_t step) {
    const ShardAtoms *saved = pith_load(t->s, ShardAtoms, path);
    MESH_CHECK(t, !pith_failed(t->s) && shard_run_is(t, saved, step));
}

/* The run ends at step 5 on all ranks, and continues from there. */
static void stops(mesh_test *t, event e) {
    char path[200];
    run_with(t, e, name_of(t, "shards.json", path), false);
    const pith_run_end end = pith_run_outcome(t->s);
    MESH_CHECK(t, !pith_failed(t->s) && end.step == 5);
    MESH_CHECK(t, end.reason == (e.what == SIGNAL ? PITH_RUN_SIGNAL : PITH_RUN_REQUEST));
    MESH_CHECK(t, end.signal == (e.what == SIGNAL ? SIGTERM : 0));
    check_saved(t, path, 5);
    const ShardAtoms *out = run_with(t, (event){t, NOTHING}, path, true);
    MESH_CHECK(t, shard_run_is(t, out, SHARD_RUN_STEPS));
    MESH_CHECK(t, pith_run_outcome(t->s).reason == PITH_RUN_FINISHED);
    check_saved(t, path, SHARD_RUN_STEPS);
}

static void shards_stop(mesh_test *t) {
    stops(t, (event){t, STOP});
}

/* Ranks that are threads of one process have one signal. */
static void shards_signal(mesh_test *t) {
    if (strcmp(pith_mesh_about(pith_mesh_of(t->s)).library, "threads") != 0)
        stops(t, (event){t, SIGNAL});
}

/* A callback that fails on one rank leaves the save before it. */
static void shards_fail(mesh_test *t) {
    char path[200];
    run_with(t, (event){t, FAIL}, name_of(t, "shards_fail.json", path), false);
    MESH_CHECK(t, pith_run_outcome(t->s).reason == PITH_RUN_FAILED);
    MESH_CHECK(t, mesh_fails(t, t->rank == t->size - 1 ? PITH_E_CALLBACK : PITH_E_PEER,
                             "seen enough"));
    check_saved(t, path, 4);
}

/* Of a sharded tree, the leaves that are written once are equal on all ranks. */
static void shards_differ(mesh_test *t) {
    char path[200];
    ShardAtoms other = *shard_run_start(t);
    if (t->rank == t->size - 1)
        other.box = pith_add(t->s, other.box, 1.0);
    const ShardAtoms *a = pith_freeze(t->s, ShardAtoms, &other);
    MESH_CHECK(t, !pith_save(t->s, a, name_of(t, "shards_differ.json", path), NULL));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, ".box: pith_save: rank "));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_cases_of_shard_runs[] = {
    {"shards_stop", shards_stop},
    {"shards_signal", shards_signal},
    {"shards_fail", shards_fail},
    {"shards_differ", shards_differ},
    {NULL, NULL},
};
