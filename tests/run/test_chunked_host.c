/* Steps over chunks of runs that lie in the host's memory: the bits of the whole run on a
 * device that has room for it, on one that has none for the state. */
#include "chunked_test.h"
#include "fail_allocator.h"
#include "series.h"

#include <unistd.h>

/* Paths of the leaves that are tables. */
typedef struct {
    const char *paths[200];
    int count;
} tables;

static tables tables_of(pith_scope *s, const void *state) {
    tables t = {.count = 0};
    const pith_array *const *leaves;
    pt_ok(s, pith_tree_flatten(s, state, &leaves));
    for (int64_t i = 0; i < pith_tree_num_leaves(state); i++)
        if (pith_array_spec(leaves[i])->dtype == PITH_U16) {
            cr_assert(t.count < 200);
            t.paths[t.count++] = pith_tree_path(s, state, i);
        }
    return t;
}

static bool is_among(const char *path, const pith_array *leaf, void *closure) {
    const tables *t = closure;
    (void)leaf; /* NULL for those of the state */
    for (int i = 0; i < t->count; i++)
        if (strcmp(path, t->paths[i]) == 0)
            return true;
    return false;
}

BOTH(chunked_host, is_the_same_bit_for_bit_for_any_tree_and_split) {
    int64_t split_cases = 0;
    RUNTIME;
    for (uint64_t seed = 1; seed <= (uint64_t)pt_series(80); seed++) {
        pith_scope *work = pith_scope_open_in(s);
        const whole_run w = run_whole(work, seed);
        const int64_t runs = w.runs;
        tables t = tables_of(work, w.state);
        const pith_host_tree *on_host = pith_host_tree_copy(work, w.state, NULL);
        pt_ok(work, on_host);
        same_bits(work, w.state, work, pith_host_tree_load(work, on_host));
        const int64_t lengths[] = {0, 1, 2, runs / 2 + 1, runs + 5};
        for (int i = 0; i < 5; i++) {
            pith_chunks chunks = {0};
            const pith_chunked_options o = {.steps = w.steps,
                                            .length = lengths[i],
                                            .whole = is_among,
                                            .closure = &t,
                                            .chunks = &chunks};
            for (int again = 0; again < 2; again++) {
                const pith_host_tree *out =
                    pith_run_chunked_host(work, &advance_step, on_host, w.axis, &o, NULL);
                pt_ok(work, out);
                same_bits(work, w.whole, work, pith_host_tree_load(work, out));
            }
            cr_assert(chunks.runs == runs);
            split_cases += chunks.count > 1;
        }
        same_bits(work, w.state, work, pith_host_tree_load(work, on_host));
        pith_scope_close(work);
    }
    cr_assert(split_cases > 15 * pt_series(80) / 8, "%lld", (long long)split_cases);
    CLOSE;
}

/* Leaves of several kinds with `runs` runs along the first axis, and a table. */
static const void *mixed_state(pith_scope *s, uint64_t seed, int64_t runs) {
    maker m = {.s = s, .state = seed};
    const int64_t columns = 1 + draw(&m, 30);
    const pith_shape shapes[] = {PITH_SHAPE(runs, columns), PITH_SHAPE(runs),
                                 PITH_SHAPE(1 + draw(&m, 50)),
                                 PITH_SHAPE(runs, 2, 1 + draw(&m, 4))};
    const pith_dtype dtypes[] = {PITH_F64, PITH_I32, PITH_U16, PITH_F32};
    const pith_array *leaves[4];
    for (int i = 0; i < 4; i++) {
        size_t bytes = pith_dtype_size(dtypes[i]);
        for (int d = 0; d < shapes[i].rank; d++)
            bytes *= (size_t)shapes[i].extents[d];
        unsigned char *values = malloc(bytes);
        for (size_t k = 0; k < bytes; k++)
            values[k] = (unsigned char)draw(&m, 256);
        leaves[i] = pith_array_copy(s, dtypes[i], shapes[i], values);
        free(values);
    }
    const char *const keys[] = {"a", "table"};
    return pith_list_make(
        s, PITH_ITEMS(leaves[0],
                      pith_dict_make(s, 2, keys, (const void *[]){leaves[1], leaves[2]}),
                      leaves[3]));
}

/* The state alone is larger than the device, which has seen the structure of one run. */
BOTH(chunked_host, needs_room_for_a_chunk_alone) {
    const size_t memory = 786432;
    int64_t larger = 0;
    step_axis = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)pt_series(40); seed++) {
        const int64_t runs = 1000 + (int64_t)(seed * 7919 % 20000);
        pith_runtime *big = pt_open_on("host");
        pith_scope *t = pith_scope_open(big);
        const void *state = mixed_state(t, seed, runs);
        const void *whole = pith_call(t, &advance_step, 1, &state);
        tables whole_leaves = tables_of(t, state);
        const pith_host_tree *there = pith_host_tree_copy(t, state, NULL);
        pt_ok(t, whole && there);
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .memory = memory});
        pith_scope *s = pith_scope_open(rt);
        const pith_host_tree here = {pith_tree_structure(s, mixed_state(s, seed, 1)),
                                     there->count, there->leaves};
        pith_chunks chunks = {0};
        const pith_chunked_options o = {
            .whole = is_among, .closure = &whole_leaves, .chunks = &chunks};
        const pith_host_tree *out =
            pith_run_chunked_host(s, &advance_step, &here, 0, &o, NULL);
        pt_ok(s, out && chunks.runs == runs);
        const pith_host_tree back = {there->def, out->count, out->leaves};
        same_bits(t, whole, t, pith_host_tree_load(t, &back));
        cr_assert(pith_memory_about(rt).peak <= memory);
        if (pith_tree_bytes(state) > memory) {
            larger++;
            cr_assert(chunks.count > 1);
        }
        pith_scope_close(s);
        pith_close(rt);
        pith_scope_close(t);
        pt_close(big);
    }
    cr_assert(larger > pt_series(40) / 2, "%lld", (long long)larger);
}

/* ---- Mistakes ---- */

static int64_t trouble;
static const void *odd(pith_scope *s, const void *tree) {
    const pith_array *const *leaves;
    pith_tree_flatten(s, tree, &leaves);
    const pith_array *x = leaves[0], *count = leaves[1];
    if (trouble == 1)
        count = pith_sum(s, x, PITH_ALL_AXES);
    if (trouble == 2)
        x = pith_slice_array(s, x, 1, (pith_slice[]){PITH_SLICE(0, 1, 1)});
    if (trouble == 3)
        pith_check(s, pith_less(s, x, pith_f64(s, 7)), "too large", .path = "[0]");
    if (trouble == 4 && pith_read_f64(s, pith_max(s, x, PITH_ALL_AXES)) > 5)
        return x;
    return pith_list_make(s, PITH_ITEMS(x, count));
}
PITH_FUNCTION1(odd_step, odd, void, void)

static const pith_host_tree *ten_runs(pith_scope *s) {
    double x[10];
    for (int i = 0; i < 10; i++)
        x[i] = i;
    return pith_host_tree_copy(
        s,
        pith_list_make(s, PITH_ITEMS(pith_array_copy(s, PITH_F64, PITH_SHAPE(10), x),
                                     pith_f64(s, 3))),
        NULL);
}

static const pith_host_tree *run(pith_scope *s, const pith_host_tree *in, int64_t what) {
    trouble = what;
    return pith_run_chunked_host(s, &odd_step, in, 0,
                                 &(pith_chunked_options){.length = 3}, NULL);
}

BOTH(chunked_host, mistakes_are_told_with_their_place) {
    RUNTIME;
    const pith_host_tree *in = ten_runs(s);
    pt_ok(s, in && run(s, in, 0));
    pt_fails(PITH_E_CHECK, s, run(s, in, 1));
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_says("runs 3 to 5 of 10");
    pt_fails(PITH_E_SHAPE, s, run(s, in, 2));
    pt_says("with 3 runs");
    pt_fails(PITH_E_CHECK, s, run(s, in, 3));
    pt_says("too large");
    pt_says("runs 6 to 8 of 10");
    pt_fails(PITH_E_STRUCTURE, s, run(s, in, 4));
    pith_host_array wrong = *in->leaves[0];
    const pith_host_array *leaves[] = {&wrong, in->leaves[1]};
    pith_host_tree tree = {in->def, 2, leaves};
    wrong.bytes--;
    pt_fails(PITH_E_ARG, s, run(s, &tree, 0));
    cr_assert_str_eq(pt_error.path, "[0]");
    pt_fails(PITH_E_ARG, s, pith_host_tree_load(s, &tree));
    leaves[0] = NULL;
    pt_fails(PITH_E_ARG, s, run(s, &tree, 0));
    tree.count = 1;
    pt_fails(PITH_E_ARG, s, run(s, &tree, 0));
    pt_says("1 host arrays, and 2 leaves");
    tree.leaves = NULL;
    pt_fails(PITH_E_ARG, s, run(s, &tree, 0));
    pt_fails(PITH_E_ARG, s, run(s, NULL, 0));
    pt_fails(PITH_E_ARG, s, pith_host_tree_load(s, NULL));
    pt_fails(PITH_E_ARG, s, pith_run_chunked_host(s, NULL, in, 0, NULL, NULL));
    pt_fails(PITH_E_SHAPE, s, pith_run_chunked_host(s, &odd_step, in, 3, NULL, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_run_chunked_host(s, &odd_step, in, 0,
                                   &(pith_chunked_options){.steps = -1}, NULL));
    CLOSE;
}

static void no_warning(pith_warning what, const char *message, void *closure) {
    (void)what, (void)message;
    ++*(int *)closure;
}

static const pith_array *halve(pith_scope *s, const pith_array *x) {
    return pith_mul(s, x, 0.5);
}
PITH_FUNCTION1(halve_step, halve, pith_array, pith_array)

/* Results lie in memory of freed arrays, of which no old content may remain. */
Test(chunked_host, results_in_used_memory_are_those_in_new_memory) {
    enum { RUNS = 30000 };
    RUNTIME;
    const pith_array *start = pith_cast(s, pith_arange(s, PITH_I32, RUNS), PITH_F64);
    const pith_host_tree *state = pith_host_tree_copy(s, start, NULL);
    const pith_chunked_options o = {.length = RUNS / 7 + 1, .steps = 3};
    pt_ok(s, state);
    for (int round = 0; round < 3; round++) {
        pith_scope *work = pith_scope_open_in(s);
        const pith_host_tree *out =
            pith_run_chunked_host(work, &halve_step, state, 0, &o, NULL);
        pt_ok(work, out && out->leaves[0]->bytes == RUNS * sizeof(double));
        double *to = out->leaves[0]->data;
        for (int i = 0; i < RUNS; i++)
            cr_assert(to[i] == i / 8.0, "%d", i);
        memset(to, 0xff, out->leaves[0]->bytes); /* old content is NaN */
        pith_scope_close(work);
    }
    CLOSE;
}

Test(chunked_host, where_the_host_has_no_room_for_the_result_nothing_is_split) {
    int warnings = 0;
    RUNTIME;
    pith_memory_set_warning_hook(rt, no_warning, &warnings);
    const pith_host_tree *in = ten_runs(s);
    pt_ok(s, in && pith_memory_set_pinned_budget(s, 40));
    trouble = 0;
    pt_fails(PITH_E_MEMORY, s,
             pith_run_chunked_host(s, &odd_step, in, 0, NULL,
                                   &(pith_host_options){.only = true}));
    pt_says("pinned memory");
    cr_assert_eq(warnings, 0);
    char folder[256];
    pt_folder(folder);
    const pith_host_tree *out = pith_run_chunked_host(
        s, &odd_step, in, 0, &(pith_chunked_options){.length = 4},
        &(pith_host_options){.kind = PITH_HOST_SPILLED, .spill = folder});
    pt_ok(s, out && out->leaves[0]->kind == PITH_HOST_SPILLED);
    cr_assert(memcmp(out->leaves[0]->data, in->leaves[0]->data, 80) == 0);
    rmdir(folder);
    CLOSE;
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const pith_host_tree *in = ten_runs(s), *out = in ? run(s, in, 0) : NULL;
    const pith_status code = pith_code(s);
    if (code == PITH_OK)
        cr_assert(memcmp(out->leaves[0]->data, in->leaves[0]->data, 80) == 0);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

BOTH(chunked_host, every_allocation_may_fail) {
    const pt_failures failures = pt_fail_each(scenario);
    cr_assert(failures.errors > 0);
}
