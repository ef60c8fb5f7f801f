/* Stacking and concatenating trees, filling trees like others, and what is refused. */
#include "array/array_internal.h"
#include "tree_types.h"

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

static void holds(const pith_array *a, int64_t count, const double *values) {
    double got[64];
    cr_assert(pith_array_spec(a)->count == count);
    cr_assert(pith_read(s, pith_cast(s, a, PITH_F64), got, (size_t)count * 8));
    for (int64_t i = 0; i < count; i++)
        cr_assert(got[i] == values[i], "%lld: %g, expected %g", (long long)i, got[i],
                  values[i]);
}
#define HOLDS(a, ...)                                                                    \
    holds((a), sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})

static void has_shape(const pith_array *a, pith_shape shape) {
    cr_assert(pith_array_spec(a)->rank == shape.rank);
    for (int i = 0; i < shape.rank; i++)
        cr_assert(pith_array_spec(a)->shape[i] == shape.extents[i]);
}

Test(tree_stack, puts_a_new_axis_in_front) {
    open_all();
    const void *trees[] = {pt_atoms(s, 1, 1), pt_atoms(s, 1, 4), pt_atoms(s, 1, 7)};
    const Atoms *made = pith_tree_stack(s, 3, trees);
    pt_ok(s, made);
    has_shape(made->position, PITH_SHAPE(3, 1, 3));
    HOLDS(made->position, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    HOLDS(made->force, 201, 202, 203, 204, 205, 206, 207, 208, 209);
    const void *scalars[] = {pith_i32(s, 5), pith_i32(s, 6)};
    const pith_array *pair = pith_tree_stack(s, 2, scalars);
    has_shape(pair, PITH_SHAPE(2));
    HOLDS(pair, 5, 6);
    const void *batched[] = {made, made};
    const Atoms *twice = pith_tree_stack(s, 2, batched);
    pt_ok(s, twice);
    has_shape(twice->velocity, PITH_SHAPE(2, 3, 1, 3));
    close_all();
}

Test(tree_stack, rejects_what_does_not_fit) {
    open_all();
    const void *shapes[] = {pt_atoms(s, 2, 0), pt_atoms(s, 3, 0)};
    pt_fails(PITH_E_SHAPE, s, pith_tree_stack(s, 2, shapes));
    cr_assert_str_eq(pt_error.path, ".position");
    pt_says("expected f64[2,3], got f64[3,3] in tree 1");
    const void *dtypes[] = {pith_f64(s, 1), pith_f32(s, 1)};
    pt_fails(PITH_E_DTYPE, s, pith_tree_stack(s, 2, dtypes));
    const void *statics[] = {pt_sim(s, 2, 4, 0), pt_sim(s, 2, 5, 0)};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_stack(s, 2, statics));
    cr_assert_str_eq(pt_error.path, ".max_neighbour");
    pt_fails(PITH_E_ARG, s, pith_tree_stack(s, 0, statics));
    pt_fails(PITH_E_ARG, s, pith_tree_stack(s, 2, NULL));
    const pith_array *deep = pith_zeros(s, PITH_F64, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    const void *list[] = {pith_list_make(s, PITH_ITEMS(deep))};
    pt_fails(PITH_E_SHAPE, s, pith_tree_stack(s, 1, list));
    cr_assert_str_eq(pt_error.path, "[0]");
    close_all();
}

Test(tree_concat, joins_along_an_axis) {
    open_all();
    const void *trees[] = {pt_atoms(s, 1, 1), pt_atoms(s, 2, 4)};
    const Atoms *made = pith_tree_concat(s, 2, trees, 0);
    pt_ok(s, made);
    has_shape(made->position, PITH_SHAPE(3, 3));
    HOLDS(made->position, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    const void *lists[] = {
        pith_list_make(s, PITH_ITEMS(pt_array(s, PITH_SHAPE(2, 1), 1))),
        pith_list_make(s, PITH_ITEMS(pt_array(s, PITH_SHAPE(2, 2), 5)))};
    const void *wide = pith_tree_concat(s, 2, lists, -1);
    pt_ok(s, wide);
    has_shape(pith_child(wide, 0), PITH_SHAPE(2, 3));
    HOLDS(pith_child(wide, 0), 1, 5, 6, 2, 7, 8);
    const void *alone[] = {trees[0]};
    pt_ok(s, pith_tree_equal(s, pith_tree_concat(s, 1, alone, 0), trees[0]));
    close_all();
}

Test(tree_concat, rejects_what_does_not_fit) {
    open_all();
    const void *trees[] = {pt_atoms(s, 1, 1), pt_atoms(s, 2, 4)};
    pt_fails(PITH_E_SHAPE, s, pith_tree_concat(s, 2, trees, 1));
    cr_assert_str_eq(pt_error.path, ".position");
    pt_says("expected f64[1,3] but for axis 1, got f64[2,3] in tree 1");
    pt_fails(PITH_E_SHAPE, s, pith_tree_concat(s, 2, trees, 2));
    cr_assert_str_eq(pt_error.path, ".position");
    const void *scalars[] = {pith_f64(s, 1), pith_f64(s, 1)};
    pt_fails(PITH_E_SHAPE, s, pith_tree_concat(s, 2, scalars, 0));
    const void *sims[] = {pt_sim(s, 2, 4, 0), pt_sim(s, 2, 4, 0)};
    pt_ok(s, pith_tree_concat(s, 2, sims, 0));
    /* axis 1 of the list would be 8, which a static says is 4 */
    pt_fails(PITH_E_SHAPE, s, pith_tree_concat(s, 2, sims, 1));
    close_all();
}

/* Trees of leaves of every width, several sizes and empty ones, one large; every leaf of
 * the result against the array operation on the leaves in its place. */
static const void *many_leaves(int tree, int64_t rows) {
    enum { LEAVES = 120 };
    static const pith_dtype dtypes[] = {PITH_F64, PITH_U8, PITH_F16, PITH_I32};
    const void *items[LEAVES];
    for (int i = 0; i < LEAVES; i++) {
        const int64_t columns = i == 50 ? 30000 : i % 11 == 0 ? 0 : i % 9;
        const pith_shape shape = PITH_SHAPE(rows, columns, i % 3 + 1);
        const pith_array *numbers =
            pith_arange(s, PITH_I64, rows * columns * (i % 3 + 1));
        items[i] =
            pith_reshape(s,
                         pith_cast(s, pith_add(s, numbers, pith_i64(s, 100 * tree + i)),
                                   dtypes[i % 4]),
                         shape);
    }
    return pith_list_make(s, LEAVES, items);
}

static void check_many_leaves(void) {
    const void *trees[] = {many_leaves(0, 3), many_leaves(1, 3), many_leaves(2, 3)};
    const void *longer[] = {trees[0], many_leaves(3, 5), trees[1], many_leaves(4, 1)};
    const void *stacked = pith_tree_stack(s, 3, trees);
    const void *wide = pith_tree_concat(s, 3, trees, -1);
    const void *high = pith_tree_concat(s, 4, longer, 0);
    pt_ok(s, stacked && wide && high);
    for (int i = 0; i < 120; i++) {
        const pith_array *a[] = {pith_child(trees[0], i), pith_child(trees[1], i),
                                 pith_child(trees[2], i)};
        const pith_array *b[] = {pith_child(longer[0], i), pith_child(longer[1], i),
                                 pith_child(longer[2], i), pith_child(longer[3], i)};
        cr_assert(pith_tree_equal(s, pith_child(stacked, i), pith_stack(s, 3, a, 0)));
        cr_assert(pith_tree_equal(s, pith_child(wide, i), pith_concatenate(s, 3, a, -1)));
        cr_assert(pith_tree_equal(s, pith_child(high, i), pith_concatenate(s, 4, b, 0)));
    }
    pt_ok(s);
    cr_assert(pithp_array_buffer(pith_child(wide, 1)) ==
                  pithp_array_buffer(pith_child(wide, 119)),
              "small results share a block");
}

Test(tree_join, of_many_leaves) {
    open_all();
    check_many_leaves();
    close_all();
    setenv("PITH_HOST_ASYNC", "1", 1);
    open_all();
    check_many_leaves();
    close_all();
    unsetenv("PITH_HOST_ASYNC");
}

Test(tree_like, fills_every_dtype) {
    open_all();
    const void *items[PITH_DTYPE_COUNT];
    int count = 0;
    for (pith_dtype d = PITH_BOOL; d <= PITH_F64; d++)
        items[count++] = pith_ones(s, d, PITH_SHAPE(5));
    items[count++] = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    const pith_list *list = pith_list_make(s, count, items);
    const void *zeros = pith_tree_zeros_like(s, list);
    const void *ones = pith_tree_full_like(s, list, 1);
    pt_ok(s, zeros && ones);
    cr_assert(pith_tree_equal(s, ones, list));
    for (int i = 0; i + 1 < count; i++)
        HOLDS(pith_child(zeros, i), 0, 0, 0, 0, 0);
    /* the leaves lie together, so that work over them can run flat */
    const pith_array *first = pith_child(ones, 0), *last = pith_child(ones, count - 1);
    cr_assert(pithp_array_buffer(first) == pithp_array_buffer(last));
    close_all();
}

Test(tree_like, wants_exact_values) {
    open_all();
    const Sim *sim = pt_sim(s, 2, 4, 0);
    pt_fails(PITH_E_DTYPE, s, pith_tree_full_like(s, sim, 0.5));
    cr_assert_str_eq(pt_error.path, ".neighbour");
    pt_says("0.5 is not exact in i32");
    const Sim *made = pith_tree_full_like(s, sim, 3);
    pt_ok(s, made);
    HOLDS(made->atoms->force, 3, 3, 3, 3, 3, 3);
    const Atoms *halves = pith_tree_full_like(s, sim->atoms, 0.5);
    HOLDS(halves->velocity, .5, .5, .5, .5, .5, .5);
    pt_fails(PITH_E_ARG, s, pith_tree_zeros_like(s, NULL));
    close_all();
}
