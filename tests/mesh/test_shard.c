/* Sharded trees over threads, on 1 to 4 ranks. */
#include "mesh/fake/jobs.h"
#include "mesh/shard_trees.h"

#include <stdlib.h>
#include <string.h>

static void passes(const char *only) {
    for (int size = 1; size <= 4; size++)
        if (fake_takes(size, 4))
            fake_case_passes(NULL, only, size, size == 3);
}

Test(shard, shards_of_arrays) {
    passes("shards_of_arrays");
}
Test(shard, shards_over_two_axes) {
    passes("shards_over_two_axes");
}
Test(shard, shards_with_counts) {
    passes("shards_with_counts");
}
Test(shard, shards_of_each_rank) {
    passes("shards_of_each_rank");
}
Test(shard, shards_of_nested_trees) {
    passes("shards_of_nested_trees");
}
Test(shard, refuses_elements) {
    passes("refuses_elements");
}
Test(shard, refuses_shapes) {
    passes("refuses_shapes");
}
Test(shard, refuses_wholes) {
    passes("refuses_wholes");
}
Test(shard, refuses_differences) {
    passes("refuses_differences");
}
Test(shard, maps_arrays) {
    passes("maps_arrays");
}
Test(shard, maps_records) {
    passes("maps_records");
}
Test(shard, maps_identities) {
    passes("maps_identities");
}
Test(shard, maps_grow) {
    passes("maps_grow");
}
Test(shard, maps_grow_by_fixes) {
    passes("maps_grow_by_fixes");
}
Test(shard, maps_assert) {
    passes("maps_assert");
}
Test(shard, maps_refuse) {
    passes("maps_refuse");
}
Test(shard, maps_compare_equal_shards) {
    passes("maps_compare_equal_shards");
}
Test(shard, maps_refuse_variance) {
    passes("maps_refuse_variance");
}
Test(shard, maps_fail) {
    passes("maps_fail");
}
Test(shard, maps_collectives) {
    passes("maps_collectives");
}
Test(shard, derives_of_replicated) {
    passes("derives_of_replicated");
}
Test(shard, derives_calls_once) {
    passes("derives_calls_once");
}
Test(shard, derives_of_shards) {
    passes("derives_of_shards");
}
Test(shard, derives_terms_outside) {
    passes("derives_terms_outside");
}
Test(shard, derives_own_terms) {
    passes("derives_own_terms");
}
Test(shard, derives_in_loops) {
    passes("derives_in_loops");
}
Test(shard, derives_in_every_mode) {
    passes("derives_in_every_mode");
}
Test(shard, checks_gradients) {
    passes("checks_gradients");
}
Test(shard, checks_own_gradients) {
    passes("checks_own_gradients");
}
Test(shard, finds_wrong_gradients) {
    passes("finds_wrong_gradients");
}
Test(shard, derives_sharded_values) {
    passes("derives_sharded_values");
}
Test(shard, derives_around_flow) {
    passes("derives_around_flow");
}
Test(shard, derives_with_sharded_aux) {
    passes("derives_with_sharded_aux");
}
Test(shard, derives_sharded_blocks) {
    passes("derives_sharded_blocks");
}
Test(shard, derives_no_units_of_shards) {
    passes("derives_no_units_of_shards");
}
Test(shard, derives_equal_shards) {
    passes("derives_equal_shards");
}
Test(shard, maps_gradients) {
    passes("maps_gradients");
}
Test(shard, maps_gradients_refused) {
    passes("maps_gradients_refused");
}
/* Compiled functions that have no programs. */
Test(shard, maps_gradients_eagerly) {
    setenv("PITH_JIT", "eager", 1);
    passes("maps_gradients");
    passes("maps_gradients_refused");
}

Test(shard, maps_nest) {
    passes("maps_nest");
}
Test(shard, nest_with_jit) {
    passes("nest_with_jit");
}
Test(shard, nest_between) {
    passes("nest_between");
}
Test(shard, nest_gradients) {
    passes("nest_gradients");
}
Test(shard, flow_carries_shards) {
    passes("flow_carries_shards");
}
Test(shard, flow_binds_shards) {
    passes("flow_binds_shards");
}
Test(shard, flow_marks_shards) {
    passes("flow_marks_shards");
}
Test(shard, flow_refuses) {
    passes("flow_refuses");
}

Test(shard, batches_beside_shards) {
    passes("batches_beside_shards");
}
Test(shard, batches_of_sums) {
    passes("batches_of_sums");
}
Test(shard, batches_nest) {
    passes("batches_nest");
}
Test(shard, batches_within) {
    passes("batches_within");
}
Test(shard, batches_of_records) {
    passes("batches_of_records");
}
Test(shard, batches_refuse) {
    passes("batches_refuse");
}

Test(shard, wrong_collectives) {
    passes("wrong_collectives");
}
Test(shard, wrong_shards) {
    passes("wrong_shards");
}
Test(shard, wrong_times) {
    passes("wrong_times");
}
Test(shard, wrong_rows) {
    passes("wrong_rows");
}

/* ---- Ranks with other numbers of threads ---- */

static const pith_array *wave(pith_scope *s, const pith_array *i, const pith_array *a) {
    (void)i;
    return pith_sin(s, pith_add(s, a, 1.0));
}
PITH_FUNCTION2(wave_function, wave, pith_array, pith_array, pith_array)
static const pith_array *waves(pith_scope *s, const pith_array *a) {
    return pith_fori(s, 0, 5, &wave_function, a);
}
PITH_FUNCTION1(waves_function, waves, pith_array, pith_array)
static const pith_array *sum_of_waves(pith_scope *s, const pith_array *a) {
    const pith_array *all = pith_apply(s, pith_vmap(s, &waves_function, NULL), a);
    return pith_psum(s, all, NULL, NULL);
}
PITH_FUNCTION1(sum_of_waves_function, sum_of_waves, pith_array, pith_array)

/* The blocks of a batch, which threads take, are part of the program. */
static void sum_waves(fake_rank *r) {
    const pith_array *a = pith_ones(r->s, PITH_F64, PITH_SHAPE(64, 7));
    const pith_function *f = pith_jit(r->s, &sum_of_waves_function, NULL);
    for (int call = 0; call < 2; call++)
        FAKE_CHECK(r, pith_apply(r->s, f, a));
}

Test(shard, ranks_have_other_numbers_of_threads) {
    const pith_open_options one = {.device = "host", .threads = 1},
                            three = {.device = "host", .threads = 3};
    const fake_result result = fake_run(
        &(fake_options){.size = 2, .timeout = 60, .open = {&one, &three}}, sum_waves);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* ---- Replicated leaves are compared, if the mesh says so ---- */

static const ShardAtoms *add_sums(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    next.box = pith_add(s, in->box,
                        pith_psum(s, pith_sum(s, in->position, PITH_AXES(0)), "x", NULL));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(add_sums_function, add_sums, ShardAtoms, ShardAtoms)

/* A call of which the state of rank 2 has another box, and one of which it has not. */
static void refuses_other_box(fake_rank *r, const pith_function *f, bool runs) {
    mesh_test t = {.s = r->s, .rank = r->rank, .size = 3};
    const ShardAtoms *own = atoms_of(&t, 4, 4);
    ShardAtoms other = *own;
    if (r->rank == 2)
        other.box = pith_mul(r->s, own->box, 2.0);
    own = pith_shard_local(r->s, own, NULL);
    const ShardAtoms *odd =
        pith_shard_local(r->s, pith_freeze(r->s, ShardAtoms, &other), NULL);
    for (int round = 0; round < 2; round++) {
        const ShardAtoms *const states[] = {own, odd};
        for (int k = 0; k < 2; k++) {
            if (runs)
                pith_propagate(r->s, ShardAtoms, f, states[k], NULL);
            else
                pith_apply(r->s, f, states[k]);
            FAKE_CHECK(r, pith_code(r->s) == (k ? PITH_E_DIVERGED : PITH_OK));
            FAKE_CHECK(r, !k || strstr(pith_message(r->s),
                                       ": rank 2 of 3 (x=2) has other elements than"));
            FAKE_CHECK(r, !k || strncmp(pith_message(r->s), ".box: ", 6) == 0);
            pith_clear(r->s);
        }
    }
    FAKE_CHECK(r, pith_agree(r->s));
}

static void compares(fake_rank *r) {
    const pith_function *f = pith_shard_map(r->s, &add_sums_function, NULL),
                        *inside = pith_shard_map(
                            r->s, pith_jit(r->s, &add_sums_function, NULL), NULL);
    refuses_other_box(r, f, false);
    refuses_other_box(r, inside, false);
    refuses_other_box(r, pith_jit(r->s, f, NULL), false);
    refuses_other_box(r, f, true);
    refuses_other_box(r, pith_jit(r->s, f, NULL), true);
}

Test(shard, compares_replicated_leaves) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        const fake_result result = fake_run(
            &(fake_options){.size = 3, .seed = seed, .timeout = 60, .compare = true},
            compares);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

/* ---- Shards that several ranks hold ---- */

static const pith_array *sum_all(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_sum(s, a, PITH_ALL_AXES), "x", NULL);
}
PITH_FUNCTION1(sum_all_function, sum_all, pith_array, pith_array)

/* Along y ranks hold the same shard, but rank `odd` another one. */
static const void *columns(fake_rank *r, int odd) {
    const double x = r->rank / 2 + (r->rank == odd ? 0.5 : 0);
    const pith_array *leaves[] = {pith_full(r->s, PITH_F64, PITH_SHAPE(3), 1),
                                  pith_full(r->s, PITH_F64, PITH_SHAPE(3), x)};
    return pith_shard_local(r->s, pith_tuple_make(r->s, 2, (const void *const *)leaves),
                            PITH_SPECS({"", "x", NULL}));
}

static const void *sum_second(pith_scope *s, const void *pair) {
    return sum_all(s, pith_child(pair, 1));
}
PITH_FUNCTION1(sum_second_function, sum_second, void, void)

static void compares_columns(fake_rank *r) {
    fake_open(r, r->s, PITH_MESH_AXES({"x", 2}, {"y", 2}));
    const pith_function *f =
        pith_shard_map(r->s, &sum_second_function,
                       &(pith_shard_options){.in = {PITH_SPECS({"", "x", NULL})},
                                             .out = PITH_SPECS({"", "", NULL})});
    const pith_function *const forms[] = {f, pith_jit(r->s, f, NULL)};
    for (int k = 0; k < 2; k++)
        for (int odd = -1; odd < 4; odd++) {
            char text[64];
            pith_apply(r->s, forms[k], columns(r, odd));
            FAKE_CHECK(r, pith_code(r->s) == (odd < 0 ? PITH_OK : PITH_E_DIVERGED));
            snprintf(text, sizeof text, "rank %d of 4 (x=%d, y=1) has other",
                     odd / 2 * 2 + 1, odd / 2);
            FAKE_CHECK(r, odd < 0 || strstr(pith_message(r->s), text));
            FAKE_CHECK(r, odd < 0 || strncmp(pith_message(r->s), "[1]: ", 5) == 0);
            snprintf(text, sizeof text, "than rank %d, expected the same shard",
                     odd / 2 * 2);
            FAKE_CHECK(r, odd < 0 || strstr(pith_message(r->s), text));
            pith_clear(r->s);
        }
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(shard, compares_shards_that_ranks_share) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        const fake_result result = fake_run(
            &(fake_options){.size = 4, .seed = seed, .timeout = 60, .compare = true},
            compares_columns);
        cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
    }
}

/* ---- Results that are not replicated ---- */

static const void *numbers(pith_scope *s, const pith_array *a) {
    const pith_array *leaves[] = {a, pith_axis_index(s, "x"), pith_axis_index(s, "y")};
    return pith_tuple_make(s, 3, (const void *const *)leaves);
}
PITH_FUNCTION1(numbers_function, numbers, void, pith_array)

/* Mapped over y alone, what depends on x is not one value of the ranks along y. */
static void names_results(fake_rank *r) {
    fake_open(r, r->s, PITH_MESH_AXES({"x", 2}, {"y", 2}));
    const pith_array *a = pith_f64(r->s, 3);
    const pith_shard_spec *none = PITH_SPECS({"", "", NULL});
    pith_apply(r->s,
               pith_shard_map(r->s, &numbers_function,
                              &(pith_shard_options){.in = {none}, .out = none}),
               a);
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_DIVERGED);
    FAKE_CHECK(r, strstr(pith_message(r->s), "[1]: ") == pith_message(r->s));
    FAKE_CHECK(r, strstr(pith_message(r->s),
                         "rank 2 (x=1, y=0) has other elements than rank 0 (x=0, y=0)"));
    pith_clear(r->s);
    pith_apply(
        r->s,
        pith_shard_map(r->s, &numbers_function,
                       &(pith_shard_options){.in = {none}, .out = none, .axes = "y"}),
        a);
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_DIVERGED);
    FAKE_CHECK(r, strstr(pith_message(r->s), "[2]: ") == pith_message(r->s));
    FAKE_CHECK(r, strstr(pith_message(r->s),
                         "rank 1 (x=0, y=1) has other elements than rank 0 (x=0, y=0)"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}

Test(shard, names_results_that_differ) {
    const fake_result result =
        fake_run(&(fake_options){.size = 4, .timeout = 60}, names_results);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

static void run_shard_cases(fake_rank *r) {
    r->failures += mesh_run_list(r->s, mesh_shard_cases, NULL, NULL);
    r->failures += mesh_run_list(r->s, mesh_shard_map_cases, NULL, NULL);
    r->failures += mesh_run_list(r->s, mesh_shard_nest_cases, NULL, NULL);
    r->failures += mesh_run_list(r->s, mesh_shard_flow_cases, NULL, NULL);
}

/* Own parts are not: every case is as without it. */
Test(shard, compares_no_parts) {
    const fake_result result = fake_run(
        &(fake_options){.size = 2, .timeout = 120, .compare = true}, run_shard_cases);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

/* ---- Short memory ---- */

typedef struct {
    const pith_array *x, *count;
    int64_t room;
} ShardRows;
PITH_NODE(ShardRows,
          PITH_LEAF(x, "f64[room,2]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_STATIC(room))

static const ShardRows *add_one(pith_scope *s, const ShardRows *in) {
    ShardRows next = *in;
    next.x = pith_add(s, in->x, 1.0);
    return pith_freeze(s, ShardRows, &next);
}
PITH_FUNCTION1(add_one_function, add_one, ShardRows, ShardRows)

/* Each allocation fails once: nothing leaks, and the error says so. */
static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pt_again(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    const ShardRows rows = {.x = pith_ones(s, PITH_F64, PITH_SHAPE(3, 2)),
                            .count = pith_i64(s, 2),
                            .room = 3};
    const ShardRows *whole = pith_freeze(s, ShardRows, &rows);
    if (pith_code(s) == PITH_OK) {
        const ShardRows *a = pith_shard(s, whole, NULL);
        pt_again(s, ((const ShardRows *)pith_shard(s, whole, NULL))->x);
        pt_again(s, ((const ShardRows *)pith_shard_local(s, whole,
                                                         PITH_SPECS({"", "x", NULL})))
                        ->x);
        const pith_function *f = pith_shard_map(s, &add_one_function, NULL);
        if (f && a->x) {
            pt_again(s, ((const ShardRows *)pith_apply(s, f, a))->x);
            const pith_function *compiled = pith_jit(s, f, NULL);
            if (compiled)
                pt_again(s, ((const ShardRows *)pith_apply(s, compiled, a))->x);
            pt_again(s, ((const ShardRows *)pith_unshard(s, a, -1))->x);
            pt_again(s, ((const ShardRows *)pith_unshard(s, a, 0))->x);
            pt_again(s, ((const ShardRows *)pith_unshard_local(s, a))->x);
        }
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(shard, survives_short_memory) {
    const pt_failures result = pt_fail_each(scenario);
    cr_assert(result.allocations > 30, "%d", result.allocations);
}
