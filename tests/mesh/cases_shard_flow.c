/* Cases of control flow whose carries and operands are sharded: loops and branches around
 * functions over shards, call by call and compiled. */
#include "mesh/shard_trees.h"

#include <string.h>

/* ---- A step over shards ---- */

/* Every rank moves its rows to the centre of all; the box says how far they went. */
static const ShardAtoms *pull_rows(pith_scope *s, const ShardAtoms *in) {
    const pith_collective_options used = {.rows = in->count};
    const pith_array *sum = pith_psum_rows(s, in->position, NULL, &used);
    ShardAtoms next = *in;
    next.position = pith_sub(s, in->position, pith_mul(s, sum, 0.125));
    next.box = pith_add(s, in->box, pith_mul(s, sum, sum));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(pull_rows_function, pull_rows, ShardAtoms, ShardAtoms)

static const ShardAtoms *pull(pith_scope *s, const ShardAtoms *in) {
    return pith_apply(s, pith_shard_map(s, &pull_rows_function, NULL), in);
}
PITH_FUNCTION1(pull_function, pull, ShardAtoms, ShardAtoms)
static const ShardAtoms *stay(pith_scope *s, const ShardAtoms *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(stay_function, stay, ShardAtoms, ShardAtoms)

static const ShardAtoms *pulled(mesh_test *t, const ShardAtoms *a, int times) {
    while (times-- > 0)
        a = pull(t->s, a);
    return a;
}

/* ---- Loops and branches, with a sharded tree going through ---- */

static const ShardAtoms *
pull_at(pith_scope *s, const pith_array *i, const ShardAtoms *in) {
    (void)i;
    return pull(s, in);
}
PITH_FUNCTION2(pull_at_function, pull_at, ShardAtoms, pith_array, ShardAtoms)

static const ShardAtoms *by_range(pith_scope *s, const ShardAtoms *in) {
    return pith_fori(s, 0, 3, &pull_at_function, in);
}
PITH_FUNCTION1(by_range_function, by_range, ShardAtoms, ShardAtoms)

/* A number that is computed from a leaf, and known to be equal on all ranks. */
static const pith_array *first_of_box(pith_scope *s, const ShardAtoms *in) {
    return pith_pmax(s, pith_slice_at(s, in->box, 0, 0), NULL);
}

static const ShardAtoms *by_bounds(pith_scope *s, const ShardAtoms *in) {
    const pith_array *first = first_of_box(s, in);
    const pith_array *count =
        pith_add(s, pith_cast(s, pith_mul(s, first, 0.0), PITH_I64), pith_i64(s, 3));
    return pith_fori_between(s, pith_i64(s, 0), count, &pull_at_function, in);
}
PITH_FUNCTION1(by_bounds_function, by_bounds, ShardAtoms, ShardAtoms)

/* The number of steps is carried beside the atoms. */
static const pith_array *is_below(pith_scope *s, const void *pair) {
    const pith_array *count = pith_child(pair, 0);
    return pith_less(s, count, pith_i64(s, 3));
}
PITH_FUNCTION1(is_below_function, is_below, pith_array, void)
static const void *pull_counted(pith_scope *s, const void *pair) {
    const pith_array *count = pith_child(pair, 0);
    const void *next[] = {pith_add(s, count, pith_i64(s, 1)),
                          pull(s, pith_child(pair, 1))};
    return pith_tuple_make(s, 2, next);
}
PITH_FUNCTION1(pull_counted_function, pull_counted, void, void)
static const ShardAtoms *by_while(pith_scope *s, const ShardAtoms *in) {
    const void *first[] = {pith_i64(s, 0), in};
    return pith_child(pith_while(s, &is_below_function, &pull_counted_function,
                                 pith_tuple_make(s, 2, first)),
                      1);
}
PITH_FUNCTION1(by_while_function, by_while, ShardAtoms, ShardAtoms)

/* With checks in condition and body, which are carried. */
static const pith_array *is_below_checked(pith_scope *s, const void *pair) {
    const ShardAtoms *a = pith_child(pair, 1);
    pith_check(s, pith_greater(s, first_of_box(s, a), -1e300), "the box");
    return is_below(s, pair);
}
PITH_FUNCTION1(is_below_checked_function, is_below_checked, pith_array, void)
static const void *pull_checked(pith_scope *s, const void *pair) {
    const pith_array *count = pith_child(pair, 0);
    pith_check(s, pith_less(s, count, pith_i64(s, 9)), "{count} steps",
               .args = {{"count", count}});
    return pull_counted(s, pair);
}
PITH_FUNCTION1(pull_checked_function, pull_checked, void, void)
static const ShardAtoms *by_checked_while(pith_scope *s, const ShardAtoms *in) {
    const void *first[] = {pith_i64(s, 0), in};
    return pith_child(pith_while_passing(s, &is_below_checked_function,
                                         &pull_checked_function,
                                         pith_tuple_make(s, 2, first)),
                      1);
}
PITH_FUNCTION1(by_checked_while_function, by_checked_while, ShardAtoms, ShardAtoms)

typedef struct FlowStep {
    const ShardAtoms *carry;
    const pith_array *out;
} FlowStep;
PITH_NODE(FlowStep, PITH_CHILD(carry, ShardAtoms), PITH_LEAF(out, "f64[...]"))

static const FlowStep *
pull_row(pith_scope *s, const ShardAtoms *in, const pith_array *row) {
    const ShardAtoms *next = pull(s, in);
    return pith_record(s, FlowStep, .carry = next,
                       .out = pith_mul(s, pith_slice_at(s, next->box, 0, 0), row));
}
PITH_FUNCTION2(pull_row_function, pull_row, FlowStep, ShardAtoms, pith_array)
static const ShardAtoms *by_scan(pith_scope *s, const ShardAtoms *in) {
    const void *outs = NULL;
    return pith_scan(s, &pull_row_function, in, pith_ones(s, PITH_F64, PITH_SHAPE(3)),
                     &outs, NULL);
}
PITH_FUNCTION1(by_scan_function, by_scan, ShardAtoms, ShardAtoms)

/* Both branches, one after the other, and a third time by a switch. */
static const ShardAtoms *by_branches(pith_scope *s, const ShardAtoms *in) {
    const pith_array *first = first_of_box(s, in);
    const pith_array *yes = pith_greater(s, first, -1e300),
                     *no = pith_logical_not(s, yes);
    const pith_function *const both[] = {&stay_function, &pull_function};
    in = pith_cond(s, yes, &pull_function, &stay_function, in);
    in = pith_cond(s, no, &stay_function, &pull_function, in);
    return pith_switch(s, pith_cast(s, yes, PITH_I32), 2, both, in);
}
PITH_FUNCTION1(by_branches_function, by_branches, ShardAtoms, ShardAtoms)

static void flow_carries_shards(mesh_test *t) {
    static const pith_function *const ways[] = {
        &by_range_function,         &by_bounds_function, &by_while_function,
        &by_checked_while_function, &by_scan_function,   &by_branches_function};
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 11, 11), NULL);
    const ShardAtoms *want = pith_unshard(t->s, pulled(t, a, 3), -1);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        const pith_function *compiled = pith_jit(t->s, ways[k], NULL);
        const ShardAtoms *eager = pith_apply(t->s, ways[k], a);
        MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, eager, -1), want));
        for (int call = 0; call < 3; call++) {
            const ShardAtoms *made = pith_apply(t->s, compiled, a);
            MESH_CHECK(t, made && pith_array_spec(made->position) ==
                                      pith_array_spec(a->position));
            MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, made, -1), want));
        }
    }
}

/* A sharded tree that a body has bound, beside a plain carry. */
static const pith_array *
dot_rows(pith_scope *s, const ShardAtoms *in, const pith_array *weight) {
    const pith_array *all = pith_mul(s, in->position, weight);
    return pith_psum(s, pith_sum(s, all, PITH_AXES(0)), NULL, NULL);
}
PITH_FUNCTION2(dot_rows_function, dot_rows, pith_array, ShardAtoms, pith_array)
static const pith_array *
dot(pith_scope *s, const pith_array *i, const pith_array *sum, const ShardAtoms *in) {
    (void)i;
    const pith_array *more =
        pith_apply(s, pith_shard_map(s, &dot_rows_function, NULL), in, sum);
    return pith_mul(s, pith_add(s, sum, more), 0.25);
}
PITH_FUNCTION3(dot_function, dot, pith_array, pith_array, pith_array, ShardAtoms)
static const pith_array *dots(pith_scope *s, const ShardAtoms *in) {
    return pith_fori(s, 0, 4, pith_partial(s, &dot_function, in), in->box);
}
PITH_FUNCTION1(dots_function, dots, pith_array, ShardAtoms)

static void flow_binds_shards(mesh_test *t) {
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 4 * t->size, 4 * t->size), NULL);
    const pith_array *want = dots(t->s, a);
    const pith_function *compiled = pith_jit(t->s, &dots_function, NULL);
    for (int call = 0; call < 2; call++)
        MESH_CHECK(t, mesh_equal(t, pith_apply(t->s, compiled, a), want));
}

/* ---- Marks ---- */

static const ShardAtoms *mark(pith_scope *s, const ShardAtoms *in) {
    in = pith_stop_gradient(s, in);
    in = pith_non_differentiable(s, in);
    return pith_name_kept(s, in, "atoms");
}
PITH_FUNCTION1(mark_function, mark, ShardAtoms, ShardAtoms)
static const pith_array *stop_one(pith_scope *s, const pith_array *a) {
    return pith_stop_gradient(s, a);
}
PITH_FUNCTION1(stop_one_function, stop_one, pith_array, pith_array)

/* Marks for derivatives leave sharded leaves as they are. */
static void flow_marks_shards(mesh_test *t) {
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 2 * t->size, 2 * t->size), NULL);
    const pith_function *compiled = pith_jit(t->s, &mark_function, NULL),
                        *one = pith_jit(t->s, &stop_one_function, NULL);
    const ShardAtoms *made = pith_apply(t->s, compiled, a);
    MESH_CHECK(t,
               made && pith_array_spec(made->position) == pith_array_spec(a->position));
    MESH_CHECK(t,
               equal_trees(t, pith_unshard(t->s, made, -1), pith_unshard(t->s, a, -1)));
    const pith_array *stopped = pith_apply(t->s, one, a->position);
    MESH_CHECK(t, pith_array_spec(stopped) == pith_array_spec(a->position));
}

/* ---- Refusals ---- */

static const FlowStep *
keep_row(pith_scope *s, const ShardAtoms *in, const pith_array *row) {
    return pith_record(s, FlowStep, .carry = in, .out = row);
}
PITH_FUNCTION2(keep_row_function, keep_row, FlowStep, ShardAtoms, pith_array)
static const void *scans_shards(pith_scope *s, const ShardAtoms *in) {
    const void *outs = NULL;
    return pith_scan(s, &keep_row_function, in, in->position, &outs, NULL);
}
PITH_FUNCTION1(scans_shards_function, scans_shards, void, ShardAtoms)

static const FlowStep *
put_shard(pith_scope *s, const ShardAtoms *in, const pith_array *row) {
    (void)row;
    return pith_record(s, FlowStep, .carry = in, .out = in->position);
}
PITH_FUNCTION2(put_shard_function, put_shard, FlowStep, ShardAtoms, pith_array)
static const void *stacks_shards(pith_scope *s, const ShardAtoms *in) {
    const void *outs = NULL;
    return pith_scan(s, &put_shard_function, in, pith_ones(s, PITH_F64, PITH_SHAPE(2)),
                     &outs, NULL);
}
PITH_FUNCTION1(stacks_shards_function, stacks_shards, void, ShardAtoms)

static const void *chooses_by_shards(pith_scope *s, const ShardAtoms *in) {
    return pith_switch(s, in->count, 2,
                       (const pith_function *const[]){&stay_function, &pull_function},
                       in);
}
PITH_FUNCTION1(chooses_by_shards_function, chooses_by_shards, void, ShardAtoms)

static const pith_array *local_at(pith_scope *s, const pith_array *i, const void *in) {
    (void)i;
    return pith_unshard_local(s, in);
}
PITH_FUNCTION2(local_at_function, local_at, pith_array, pith_array, void)
static const void *loses_placement(pith_scope *s, const ShardAtoms *in) {
    return pith_fori(s, 0, 2, &local_at_function, in->position);
}
PITH_FUNCTION1(loses_placement_function, loses_placement, void, ShardAtoms)

static void flow_refuses(mesh_test *t) {
    static const struct {
        const pith_function *f;
        pith_status code;
        const char *text;
    } refused[] = {
        {&scans_shards_function, PITH_E_ARG,
         "pith_scan: xs: expected a plain array, got"},
        {&stacks_shards_function, PITH_E_ARG, "expected a plain array, got"},
        {&chooses_by_shards_function, PITH_E_ARG,
         "pith_switch: index: expected a plain array, got i64[] sharded \"x\""},
        {&loses_placement_function, PITH_E_SHAPE, "sharded \"x\", rows count, got f64["},
    };
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 2 * t->size, 2 * t->size), NULL);
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        const pith_function *compiled = pith_jit(t->s, refused[k].f, NULL);
        for (int i = 0; i < 2; i++) {
            pith_call(t->s, i ? compiled : refused[k].f, 1, (const void *[]){a});
            MESH_CHECK(t, strstr(pith_message(t->s), "pith_unshard") ||
                              refused[k].code != PITH_E_ARG);
            MESH_CHECK(t, mesh_fails(t, refused[k].code, refused[k].text));
        }
    }
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_shard_flow_cases[] = {
    {"flow_carries_shards", flow_carries_shards},
    {"flow_binds_shards", flow_binds_shards},
    {"flow_marks_shards", flow_marks_shards},
    {"flow_refuses", flow_refuses},
    {NULL, NULL},
};
