/* Equality and closeness of trees: special values, integers exactly, structure, layout.
 */
#include "scope_test.h"
#include "tree_types.h"

static bool equal(double a, double b) {
    const bool same = pith_tree_equal(s, pith_f64(s, a), pith_f64(s, b));
    cr_assert(same == pith_tree_equal(s, pith_f32(s, (float)a), pith_f32(s, (float)b)));
    return same;
}

Test(tree_equal, knows_special_values) {
    open_scope();
    cr_assert(equal(1, 1) && !equal(1, 2));
    cr_assert(equal(NAN, NAN) && equal(NAN, -NAN) && !equal(NAN, 1) && !equal(1, NAN));
    cr_assert(equal(0.0, -0.0));
    cr_assert(equal(INFINITY, INFINITY) && !equal(INFINITY, -INFINITY));
    close_scope();
}

Test(tree_equal, looks_at_every_element_and_leaf) {
    open_scope();
    enum { LEAVES = 50 };
    const void *a[LEAVES], *b[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        a[i] = b[i] = pt_array(s, PITH_SHAPE(i % 4, 3), i);
    const pith_list *left = pith_list_make(s, LEAVES, a);
    cr_assert(pith_tree_equal(s, left, pith_list_make(s, LEAVES, b)));
    for (int i = 0; i < LEAVES; i++) {
        const int64_t count = pith_array_spec(a[i])->count;
        for (int64_t k = 0; k < count; k++) {
            double values[16];
            cr_assert(pith_read(s, a[i], values, (size_t)count * 8));
            values[k] += 1;
            b[i] = pith_array_copy(s, PITH_F64, PITH_SHAPE(i % 4, 3), values);
            cr_assert(!pith_tree_equal(s, left, pith_list_make(s, LEAVES, b)),
                      "leaf %d, element %d", i, (int)k);
        }
        b[i] = a[i];
    }
    close_scope();
}

/* Leaves that lie side by side are compared as one. */
Test(tree_equal, sees_differences_in_blocks) {
    open_scope();
    enum { LEAVES = 20 };
    const void *items[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        items[i] = pith_zeros(s, PITH_F32, PITH_SHAPE(64));
    const void *list = pith_list_make(s, LEAVES, items);
    const void *a = pith_tree_full_like(s, list, 3), *b = pith_tree_full_like(s, list, 3);
    cr_assert(pith_tree_equal(s, a, b));
    for (int i = 0; i < LEAVES; i++) {
        for (int k = 0; k < LEAVES; k++)
            items[k] = pith_child(b, k);
        items[i] = pith_child(list, i);
        cr_assert(!pith_tree_equal(s, a, pith_list_make(s, LEAVES, items)));
    }
    close_scope();
}

Test(tree_equal, compares_structure_and_specs) {
    open_scope();
    const pith_array *x = pith_f64(s, 1);
    cr_assert(!pith_tree_equal(s, x, pith_f32(s, 1)));
    cr_assert(!pith_tree_equal(s, x, pt_array(s, PITH_SHAPE(1), 1)));
    cr_assert(!pith_tree_equal(s, pith_list_make(s, PITH_ITEMS(x)),
                               pith_tuple_make(s, PITH_ITEMS(x))));
    cr_assert(!pith_tree_equal(s, pt_sim(s, 2, 4, 0), pt_sim(s, 2, 5, 0)));
    cr_assert(pith_tree_equal(s, pt_sim(s, 2, 4, 0), pt_sim(s, 2, 4, 0)));
    cr_assert(pith_tree_equal(s, pith_none_make(s), pith_none_make(s)));
    cr_assert(pith_tree_equal(s, x, x));
    pt_fails(PITH_E_ARG, s, pith_tree_equal(s, x, NULL));
    pt_says("pith_tree_equal: b");
    close_scope();
}

static bool close_f64(double a, double b, double rtol, double atol) {
    return pith_tree_all_close(s, pith_f64(s, a), pith_f64(s, b), rtol, atol);
}
static bool close_i64(int64_t a, int64_t b, double rtol, double atol) {
    return pith_tree_all_close(s, pith_i64(s, a), pith_i64(s, b), rtol, atol);
}

Test(tree_all_close, keeps_to_the_tolerances) {
    open_scope();
    cr_assert(close_f64(1, 1.1, 0.1, 0) && !close_f64(1, 1.2, 0.1, 0));
    cr_assert(close_f64(1, 1.1, 0, 0.11) && !close_f64(1, 1.1, 0, 0.09));
    cr_assert(close_f64(NAN, NAN, 0, 0) && !close_f64(NAN, 1, 1, 1));
    cr_assert(close_f64(INFINITY, INFINITY, 0, 0));
    cr_assert(!close_f64(1, INFINITY, 1, 1) && !close_f64(INFINITY, 1, 1, 1));
    cr_assert(!close_f64(-INFINITY, INFINITY, 1, 1));
    cr_assert(close_f64(0.0, -0.0, 0, 0));
    cr_assert(pith_tree_all_close(s, pith_f32(s, 1), pith_f64(s, 1.05), 0.1, 0));
    cr_assert(
        !pith_tree_all_close(s, pith_f64(s, 1), pt_array(s, PITH_SHAPE(1), 1), 1, 1));
    cr_assert(pith_tree_all_close(s, pt_sim(s, 2, 4, 0), pt_sim(s, 2, 4, 0.25), 0, 0.3));
    cr_assert(!pith_tree_all_close(s, pt_sim(s, 2, 4, 0), pt_sim(s, 2, 4, 0.5), 0, 0.3));
    pt_fails(PITH_E_ARG, s, close_f64(1, 1, -1, 0));
    pt_fails(PITH_E_ARG, s, close_f64(1, 1, 0, NAN));
    close_scope();
}

/* Integers that are one number as f64 differ still. */
Test(tree_all_close, takes_integers_exactly) {
    open_scope();
    const int64_t big = (int64_t)1 << 53;
    cr_assert(!close_i64(big, big + 1, 0, 0) && close_i64(big, big + 1, 0, 1));
    cr_assert(!close_i64(INT64_MIN, INT64_MAX, 0.5, 1e3));
    cr_assert(close_i64(INT64_MIN, INT64_MAX, 2.5, 0));
    cr_assert(close_i64(INT64_MAX - 500, INT64_MAX, 0, 500));
    cr_assert(!close_i64(INT64_MAX - 500, INT64_MAX, 0, 499));
    const int8_t low[] = {-128}, high[] = {127};
    const pith_array *a = pith_array_copy(s, PITH_I8, PITH_SHAPE(1), low);
    const pith_array *b = pith_array_copy(s, PITH_I8, PITH_SHAPE(1), high);
    cr_assert(!pith_tree_all_close(s, a, b, 0, 254) &&
              pith_tree_all_close(s, a, b, 0, 255));
    const uint64_t most[] = {UINT64_MAX}, less[] = {UINT64_MAX - 1};
    a = pith_array_copy(s, PITH_U64, PITH_SHAPE(1), most);
    b = pith_array_copy(s, PITH_U64, PITH_SHAPE(1), less);
    cr_assert(!pith_tree_all_close(s, a, b, 0, 0.5) &&
              pith_tree_all_close(s, a, b, 0, 1));
    cr_assert(!pith_tree_all_close(s, pith_bool(s, true), pith_bool(s, false), 0, 0.5));
    close_scope();
}

/* ---- Differences ---- */

static const pith_difference *
diff(const void *a, const void *b, double atol, int64_t expected) {
    int64_t count = -1;
    const pith_diff_options options = {.atol = atol};
    const pith_difference *all = pith_tree_diff(s, a, b, &count, &options);
    pt_ok(s, all);
    cr_assert(count == expected, "%lld", (long long)count);
    return all;
}
#define SAYS(difference, at, what)                                                       \
    do {                                                                                 \
        cr_assert_str_eq((difference).path, at);                                         \
        cr_assert_str_eq((difference).text, what);                                       \
    } while (0)

Test(tree_diff, names_every_place) {
    open_scope();
    const Sim *sim = pt_sim(s, 3, 4, 10), *other = pt_sim(s, 3, 4, 10);
    diff(sim, sim, 0, 0);
    diff(sim, other, 0, 0);
    Sim next = *sim;
    Atoms atoms = *sim->atoms;
    double values[9];
    for (int i = 0; i < 9; i++)
        values[i] = 10 + i;
    values[5] += 0.5;
    values[7] = (double)NAN;
    atoms.position = pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 3), values);
    next.atoms = pith_freeze(s, Atoms, &atoms);
    next.cutoff = 3;
    const void *changed = pith_list_make(
        s, PITH_ITEMS(pith_freeze(s, Sim, &next), pith_none_make(s), pith_i64(s, 9)));
    const void *was =
        pith_list_make(s, PITH_ITEMS(sim, pith_f64(s, 1), pith_i64(s, 9007199254740993)));
    const pith_difference *all = diff(was, changed, 0, 3);
    SAYS(all[0], "[0]", "cutoff: expected 2.5, got 3");
    SAYS(all[1], "[1]", "expected f64[], got none");
    SAYS(all[2], "[2]", "expected 9007199254740993, got 9");
    /* Below nodes that are the same, values are compared. */
    next.cutoff = sim->cutoff;
    const void *moved = pith_freeze(s, Sim, &next);
    all = diff(sim, moved, 0, 1);
    SAYS(all[0], ".atoms.position", "2 of 9 differ, first [1,2]: expected 15, got 15.5");
    all = diff(sim, moved, 1, 1);
    SAYS(all[0], ".atoms.position", "1 of 9 differ, first [2,1]: expected 17, got nan");
    diff(moved, moved, 0, 0);
    /* Leaves where the other has nodes, and the other way; specs. */
    const pith_array *x = pith_f64(s, 1);
    const void *left = pith_list_make(s, PITH_ITEMS(x, was, x, pith_bool(s, true)));
    const void *right = pith_list_make(
        s, PITH_ITEMS(was, x, pith_cast(s, x, PITH_F32), pith_bool(s, false)));
    all = diff(left, right, 0, 4);
    SAYS(all[0], "[0]", "expected f64[], got a list of 3");
    SAYS(all[1], "[1]", "expected a list of 3, got f64[]");
    SAYS(all[2], "[2]", "expected f64[], got f32[]");
    SAYS(all[3], "[3]", "expected true, got false");
    int64_t count;
    pt_fails(PITH_E_ARG, s, pith_tree_diff(s, x, x, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_diff(s, NULL, x, &count, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_diff(s, x, NULL, &count, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_tree_diff(s, x, x, &count, &(pith_diff_options){.rtol = -1}));
    close_scope();
}
