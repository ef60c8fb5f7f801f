/* The same part of every leaf: slices, splits, takes, choices, scatters; over batched
 * nodes too, and with the options that records ask for. */
#include "forest.h"

#include <pith/array_order.h>

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static double at(const pith_array *a, int64_t i) {
    double values[256];
    cr_assert(pith_read(s, a, values, pith_array_spec(a)->bytes), "%s", pith_message(s));
    return values[i];
}

static const pith_array *places(int64_t count, const int64_t *values) {
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(count), values);
}
#define PLACES(...)                                                                      \
    places((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
           (int64_t[]){__VA_ARGS__})

/* ---- Slices, splits, takes ---- */

Test(tree_slice, cuts_every_leaf) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 10);
    const Sim *cut = pith_tree_slice(s, sim, 1, &PITH_SLICE(1, -1, 1));
    pt_ok(s, pith_is(Sim, cut));
    cr_assert(pith_array_spec(cut->atoms->position)->shape[0] == 2);
    cr_assert(pith_array_spec(cut->neighbour)->shape[0] == 2);
    cr_assert(at(cut->atoms->position, 0) == 13 && cut->cutoff == 2.5);
    /* The second axis of neighbour has the extent that a static names. */
    pt_fails(PITH_E_SHAPE, s,
             pith_tree_slice(s, sim, 2, (pith_slice[]){PITH_WHOLE, PITH_SLICE(0, 2, 1)}));
    cr_assert_str_eq(pt_error.path, ".atoms.position");
    const void *list = pith_list_make(s, PITH_ITEMS(sim->neighbour, pith_f64(s, 1)));
    pt_fails(PITH_E_ARG, s, pith_tree_slice(s, list, 1, &PITH_SLICE(0, 1, 1)));
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_fails(PITH_E_ARG, s, pith_tree_slice(s, sim, 1, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_slice(s, sim, -1, &PITH_WHOLE));
    pt_fails(PITH_E_ARG, s, pith_tree_slice(s, NULL, 1, &PITH_WHOLE));
    close_all();
}

Test(tree_split, gives_equal_parts_that_concat_joins) {
    open_all();
    const Sim *sim = pt_sim(s, 6, 8, 10);
    const void *const *parts = pith_tree_split(s, sim, 3, 0);
    pt_ok(s, parts);
    cr_assert(at(((const Sim *)parts[2])->atoms->force, 0) == 10 + 200 + 12);
    cr_assert(pith_tree_equal(s, pith_tree_concat(s, 3, parts, 0), sim));
    pt_fails(PITH_E_SHAPE, s, pith_tree_split(s, sim, 4, 0));
    pt_says(
        ".atoms.position: pith_tree_split: an extent of 6 along axis 0 does not split into 4 equal parts");
    pt_fails(PITH_E_ARG, s, pith_tree_split(s, sim, 0, 0));
    pt_fails(PITH_E_SHAPE, s, pith_tree_split(s, sim, 2, 2));
    cr_assert_str_eq(pt_error.path, ".atoms.position");
    pt_fails(PITH_E_ARG, s, pith_tree_split(s, NULL, 2, 0));

    const int64_t cuts[] = {1, 1, -2, 9};
    parts = pith_tree_split_at(s, sim, 4, cuts, 0);
    pt_ok(s, parts);
    const int64_t rows[] = {1, 0, 3, 2, 0};
    for (int i = 0; i < 5; i++)
        cr_assert(pith_array_spec(((const Sim *)parts[i])->neighbour)->shape[0] ==
                  rows[i]);
    cr_assert(pith_tree_equal(s, pith_tree_concat(s, 5, parts, 0), sim));
    parts = pith_tree_split_at(s, sim, 0, NULL, 0);
    pt_ok(s, pith_tree_equal(s, parts[0], sim));
    pt_fails(PITH_E_ARG, s, pith_tree_split_at(s, sim, 1, NULL, 0));
    pt_fails(PITH_E_ARG, s, pith_tree_split_at(s, sim, -1, cuts, 0));
    close_all();
}

Test(tree_take, takes_rows_and_entries_of_batches) {
    open_all();
    const Sim *sims[] = {pt_sim(s, 3, 4, 10), pt_sim(s, 3, 4, 20)};
    const Sim *batch = pith_tree_stack(s, 2, (const void *const *)sims);
    const Sim *second = pith_tree_take(s, batch, pith_i64(s, 1), NULL);
    pt_ok(s, pith_is(Sim, second));
    cr_assert(pith_tree_equal(s, second, sims[1]));
    const Sim *rows = pith_tree_take(s, sims[0], PLACES(2, 0), NULL);
    pt_ok(s, rows);
    cr_assert(at(rows->atoms->position, 0) == 16 && at(rows->atoms->position, 3) == 10);
    /* Rows of a batched node: its axis 1. */
    const Sim *inner =
        pith_tree_take(s, batch, PLACES(2), &(pith_take_options){.axis = 1});
    pt_ok(s, inner);
    cr_assert(at(inner->atoms->position, 3) == 26);
    pt_fails(PITH_E_DTYPE, s, pith_tree_take(s, batch, pith_f64(s, 1), NULL));
    cr_assert_str_eq(pt_error.path, ".atoms.position");
    pt_fails(PITH_E_ARG, s, pith_tree_take(s, batch, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_take(s, NULL, pith_i64(s, 1), NULL));
    close_all();
}

/* ---- Choices ---- */

Test(tree_where, repeats_the_condition_along_last_axes) {
    open_all();
    const Sim *a = pt_sim(s, 3, 4, 10), *b = pt_sim(s, 3, 4, 50);
    const pith_array *pick =
        pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), (bool[]){true, false, true});
    const Sim *made = pith_tree_where_broadcast_last(s, pick, a, b);
    pt_ok(s, pith_is(Sim, made));
    cr_assert(at(made->atoms->position, 2) == 12 && at(made->atoms->position, 3) == 53 &&
              at(made->atoms->position, 8) == 18);
    /* One array in both trees stays itself; so does a tree. */
    Sim next = *b;
    next.neighbour = a->neighbour;
    made = pith_tree_where_broadcast_last(s, pick, a, pith_freeze(s, Sim, &next));
    pt_ok(s, made->neighbour == a->neighbour);
    cr_assert(pith_tree_where_broadcast_last(s, pick, a, a) == a);
    const pith_array *all = pith_bool(s, false);
    cr_assert(pith_tree_equal(s, pith_tree_where_broadcast_last(s, all, a, b), b));

    const pith_array *deep = pith_zeros(s, PITH_BOOL, PITH_SHAPE(3, 3, 1));
    pt_fails(PITH_E_SHAPE, s, pith_tree_where_broadcast_last(s, deep, a, b));
    pt_says(".atoms.position: pith_tree_where_broadcast_last: the condition has 3 axes");
    pt_fails(PITH_E_DTYPE, s, pith_tree_where_broadcast_last(s, pith_f64(s, 1), a, b));
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_where_broadcast_last(s, pick, a, pt_sim(s, 3, 5, 0)));
    pt_fails(
        PITH_E_SHAPE, s,
        pith_tree_where_broadcast_last(s, pick, pt_sim(s, 4, 4, 0), pt_sim(s, 4, 4, 1)));
    pt_fails(PITH_E_ARG, s, pith_tree_where_broadcast_last(s, NULL, a, b));
    pt_fails(PITH_E_ARG, s, pith_tree_where_broadcast_last(s, pick, NULL, b));
    close_all();
}

/* ---- Scatters ---- */

Test(tree_scatter_set, sets_rows_of_every_leaf) {
    open_all();
    const Sim *into = pt_sim(s, 4, 8, 10), *rows = pt_sim(s, 2, 8, 100);
    const Sim *made = pith_tree_scatter_set(s, into, PLACES(3, 1), rows, NULL);
    pt_ok(s, pith_is(Sim, made));
    cr_assert(at(made->atoms->position, 9) == 100 &&
              at(made->atoms->position, 3) == 103 && at(made->atoms->position, 0) == 10);
    cr_assert(at(into->atoms->position, 9) == 19);
    /* An empty index gives the tree itself; trees of another structure are refused. */
    const pith_array *none = pith_zeros(s, PITH_I64, PITH_SHAPE(0));
    cr_assert(pith_tree_scatter_set(s, into, none, rows, NULL) == into);
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_scatter_set(s, into, none, rows->atoms, NULL));
    /* Batches: axis 1 has the rows. */
    const void *both[] = {into, into}, *values[] = {rows, rows};
    const Sim *batch = pith_tree_scatter_set(s, pith_tree_stack(s, 2, both), PLACES(3, 1),
                                             pith_tree_stack(s, 2, values),
                                             &(pith_scatter_options){.axis = 1});
    pt_ok(s, batch);
    cr_assert(pith_tree_equal(s, pith_tree_take(s, batch, pith_i64(s, 1), NULL), made));
    pt_fails(PITH_E_SHAPE, s,
             pith_tree_scatter_set(s, into, PLACES(0, 1, 2), rows, NULL));
    cr_assert_str_eq(pt_error.path, ".atoms.position");
    pt_fails(PITH_E_DTYPE, s, pith_tree_scatter_set(s, into, pith_f64(s, 0), rows, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_scatter_set(s, into, NULL, rows, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_scatter_set(s, NULL, none, rows, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_scatter_set(s, into, none, NULL, NULL));
    close_all();
}

/* Records that ask for a mode: Outer for clip, Inner, below it, for error. */
typedef struct Inner {
    const pith_array *x;
    int64_t mode;
} Inner;
static pith_scatter_options inner_args(const Inner *inner) {
    return (pith_scatter_options){.mode = (pith_index_mode)inner->mode};
}
PITH_NODE(Inner, PITH_LEAF(x, "f64[n]"), PITH_STATIC(mode), PITH_SCATTER_ARGS(inner_args))

typedef struct Outer {
    const pith_array *y;
    const Inner *inner;
    bool clips;
} Outer;
static pith_scatter_options outer_args(const Outer *outer) {
    return (pith_scatter_options){.mode = outer->clips ? PITH_INDEX_CLIP
                                                       : PITH_INDEX_DEFAULT};
}
PITH_NODE(Outer,
          PITH_LEAF(y, "f64[m]"),
          PITH_CHILD(inner, Inner),
          PITH_STATIC(clips),
          PITH_SCATTER_ARGS(outer_args))

static const Outer *outer_of(double first, int64_t n, bool clips, pith_index_mode mode) {
    const pith_array *x = pt_array(s, PITH_SHAPE(n), first);
    const Inner *inner = pith_freeze(s, Inner, &(Inner){x, (int64_t)mode});
    return pith_freeze(s, Outer, &(Outer){x, inner, clips});
}

Test(tree_scatter_set, merges_what_records_ask_for) {
    open_all();
    const pith_array *beyond = PLACES(9);
    /* An inner record alone: outside is dropped by default, or clipped where it says so.
     */
    const Outer *into = outer_of(10, 3, false, PITH_INDEX_CLIP);
    const Outer *value = outer_of(70, 1, false, PITH_INDEX_CLIP);
    const Outer *made = pith_tree_scatter_set(s, into, beyond, value, NULL);
    pt_ok(s, made);
    cr_assert(at(made->y, 2) == 12 && at(made->inner->x, 2) == 70);
    /* The outer record's options hold below it, before the inner one's. */
    into = outer_of(10, 3, true, PITH_INDEX_DROP);
    value = outer_of(70, 1, true, PITH_INDEX_DROP);
    made = pith_tree_scatter_set(s, into, beyond, value, NULL);
    pt_ok(s, made);
    cr_assert(at(made->y, 2) == 70 && at(made->inner->x, 2) == 70);
    /* The call's options come before all of them. */
    made = pith_tree_scatter_set(s, into, beyond, value,
                                 &(pith_scatter_options){.mode = PITH_INDEX_DROP});
    pt_ok(s, made);
    cr_assert(at(made->y, 2) == 12 && at(made->inner->x, 2) == 12);
    close_all();
}

/* A record whose indices are always sorted and never repeat. */
typedef struct {
    const pith_array *x;
} Ordered;
static pith_scatter_options ordered_args(const Ordered *ordered) {
    (void)ordered;
    return (pith_scatter_options){
        .mode = PITH_INDEX_CLIP, .unique = true, .sorted = true, .axis = 1};
}
PITH_NODE(Ordered, PITH_LEAF(x, "any[n,2]"), PITH_SCATTER_ARGS(ordered_args))

/* Promises that are kept change nothing but speed; the axis is the call's. */
Test(tree_scatter_set, takes_promises_of_records) {
    open_all();
    static const pith_dtype dtypes[] = {PITH_I8, PITH_F16, PITH_F32, PITH_F64};
    for (int d = 0; d < 4; d++) {
        const pith_array *x = pith_cast(s, pt_array(s, PITH_SHAPE(5, 2), 0), dtypes[d]);
        const pith_array *y = pith_cast(s, pt_array(s, PITH_SHAPE(3, 2), 50), dtypes[d]);
        const Ordered *into = pith_freeze(s, Ordered, &(Ordered){x});
        const Ordered *rows = pith_freeze(s, Ordered, &(Ordered){y});
        const Ordered *made =
            pith_tree_scatter_set(s, into, PLACES(0, 3, 99), rows, NULL);
        pt_ok(s, pith_is(Ordered, made));
        const pith_array *wide = pith_cast(s, made->x, PITH_F64);
        static const double want[] = {50, 51, 2, 3, 4, 5, 52, 53, 54, 55};
        for (int i = 0; i < 10; i++)
            cr_assert(at(wide, i) == want[i]);
    }
    close_all();
}

/* ---- Laws ---- */

static const pith_array *
double_it(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)closure;
    return pith_add(in, leaf[0], leaf[0]);
}
static const pith_array *
add_one(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)closure;
    return pith_add(in, leaf[0], pith_full(in, PITH_F64, PITH_SCALAR, 1));
}
static const pith_array *
both_at_once(pith_scope *in, const pith_array *const *leaf, void *closure) {
    const pith_array *doubled = double_it(in, leaf, closure);
    return add_one(in, &doubled, closure);
}

Test(tree_laws, hold_on_random_trees) {
    open_all();
    forest *f = malloc(sizeof *f);
    for (uint64_t seed = 1; seed <= 150; seed++) {
        pith_scope *in = pith_scope_open_in(s);
        const void *tree = forest_grow(f, in, seed), *other = forest_grow(f, in, seed);
        /* map f after map g is map of f after g */
        const void *one = pith_tree_map(in, double_it, NULL, 1, &tree, NULL);
        one = pith_tree_map(in, add_one, NULL, 1, &one, NULL);
        const void *two = pith_tree_map(in, both_at_once, NULL, 1, &tree, NULL);
        cr_assert(pith_tree_equal(in, one, two), "%s", pith_message(in));
        /* stack, then take: each of them */
        const void *trees[] = {tree, other, one};
        const void *stacked = pith_tree_stack(in, 3, trees);
        for (int k = 0; k < 3; k++)
            cr_assert(pith_tree_equal(
                in, pith_tree_take(in, stacked, pith_i64(in, k), NULL), trees[k]));
        /* split, then concat: the whole; the parts are what take gives */
        const void *const *parts = pith_tree_split(in, stacked, 3, 0);
        cr_assert(pith_tree_equal(in, pith_tree_concat(in, 3, parts, 0), stacked));
        /* scatter what was taken: no change; take what was scattered: it */
        const pith_array *rows =
            pith_array_copy(in, PITH_I64, PITH_SHAPE(2), (int64_t[]){2, 0});
        const void *taken = pith_tree_take(in, stacked, rows, NULL);
        const void *set = pith_tree_scatter_set(in, stacked, rows, taken, NULL);
        cr_assert(pith_tree_equal(in, set, stacked), "%s", pith_message(in));
        const void *zeros = pith_tree_zeros_like(in, taken);
        set = pith_tree_scatter_set(in, stacked, rows, zeros, NULL);
        cr_assert(pith_tree_equal(in, pith_tree_take(in, set, rows, NULL), zeros));
        /* a choice is one or the other */
        const pith_array *yes = pith_bool(in, true);
        cr_assert(
            pith_tree_equal(in, pith_tree_where_broadcast_last(in, yes, one, tree), one));
        pt_ok(in);
        pith_scope_close(in);
    }
    free(f);
    close_all();
}

/* Rows of many leaves go in one launch, those of a large one by themselves: the same
 * bits.
 */
Test(tree_take, and_scatters_give_the_bits_of_leaf_by_leaf) {
    open_all();
    enum { LEAVES = 60 };
    static const pith_dtype dtypes[] = {PITH_F32, PITH_I8,   PITH_F64,
                                        PITH_U16, PITH_BOOL, PITH_BF16};
    const void *leaves[LEAVES], *rows[LEAVES];
    for (int round = 0; round < 4; round++) {
        const int64_t n = round == 3 ? 90 : 1 + 2 * round;
        int64_t values[90];
        for (int64_t i = 0; i < n; i++)
            values[i] = (i * 7 + round) % 11 - 5;
        const pith_array *index = pith_array_copy(s, PITH_I64, PITH_SHAPE(n), values);
        for (int i = 0; i < LEAVES; i++) {
            const int64_t rows_of_leaf = i == 7 ? 9000 : 1 + i % 6;
            const pith_shape shape =
                i % 3 ? PITH_SHAPE(rows_of_leaf, 1 + i % 4) : PITH_SHAPE(rows_of_leaf);
            const pith_shape part = i % 3 ? PITH_SHAPE(n, 1 + i % 4) : PITH_SHAPE(n);
            const pith_dtype dtype = dtypes[i % 6];
            const pith_array *key = pith_random_key(s, (uint64_t)(i + 100 * round));
            leaves[i] = pith_cast(
                s, pith_random_integers(s, key, PITH_I32, shape, 0, 100, NULL), dtype);
            rows[i] =
                pith_cast(s, pith_random_integers(s, key, PITH_I32, part, 100, 200, NULL),
                          i == 9 ? PITH_I32 : dtype);
        }
        const void *tree = pith_list_make(s, LEAVES, leaves);
        const void *values_tree = pith_list_make(s, LEAVES, rows);
        static const pith_index_mode modes[] = {PITH_INDEX_DROP, PITH_INDEX_CLIP,
                                                PITH_INDEX_WRAP};
        for (int m = 0; m < 3; m++) {
            const pith_take_options take = {.mode = modes[m]};
            const pith_scatter_options scatter = {.mode = modes[m]};
            const void *taken = pith_tree_take(s, tree, index, &take);
            const void *set =
                pith_tree_scatter_set(s, tree, index, values_tree, &scatter);
            pt_ok(s, taken && set);
            for (int i = 0; i < LEAVES; i++) {
                const pith_array *a = pith_take(s, leaves[i], index, &take);
                const pith_array *b =
                    pith_scatter_set(s, leaves[i], index, rows[i], &scatter);
                pt_ok(s, pith_tree_equal(s, pith_child(taken, i), a));
                pt_ok(s, pith_tree_equal(s, pith_child(set, i), b));
            }
        }
    }
    close_all();
}
