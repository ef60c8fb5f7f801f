/* Linear maps of loops with a record: what they read from it, and iterations beyond it.
 */
#include "derive_test.h"

/* x is turned `left` times, in a record of `rows`. */
typedef struct {
    const pith_array *x, *left;
    int64_t rows;
} Walk;
PITH_NODE(Walk,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(left, "i64[]"),
          PITH_STATIC(rows, .initial = 8))

static const Walk *walk_of(int64_t left, int64_t rows) {
    return pith_record(s, Walk, .x = PITH_VECTOR(s, f64, 1, -2, 0.5),
                       .left = pith_i64(s, left), .rows = rows);
}

static const pith_array *goes_on(pith_scope *in, const Walk *w) {
    return pith_greater(in, w->left, pith_i64(in, 0));
}
PITH_FUNCTION1(goes_on_test, goes_on, pith_array, Walk)

/* x is multiplied by a matrix, and bent. */
static const Walk *turn(pith_scope *in, const Walk *w) {
    Walk next = *w;
    const pith_array *m = PITH_VECTOR(in, f64, 0.5, -1, 0.25, 1, 0.75, -0.5, 2, 0.125, 1);
    m = pith_reshape(in, m, PITH_SHAPE(3, 3));
    next.x = pith_tanh(in, pith_matmul(in, m, w->x));
    next.left = pith_sub(in, w->left, pith_i64(in, 1));
    return pith_freeze(in, Walk, &next);
}
PITH_FUNCTION1(turn_of, turn, Walk, Walk)
static const pith_array *total(pith_scope *in, const Walk *w) {
    return pith_sum(in, pith_mul(in, w->x, w->x), PITH_ALL_AXES);
}

static const pith_array *turned(pith_scope *in, const Walk *w) {
    return total(
        in, pith_while_recorded(in, &goes_on_test, &turn_of, w,
                                &(pith_record_options){.most = w->rows, .name = "rows"}));
}
static const pith_array *turned_freely(pith_scope *in, const Walk *w) {
    return total(in, pith_while(in, &goes_on_test, &turn_of, w));
}
PITH_FUNCTION1(turned_of, turned, pith_array, Walk)
PITH_FUNCTION1(turned_freely_of, turned_freely, pith_array, Walk)

/* Products of matrices that a call runs. */
static int64_t products_of(const pith_function *f, const void *argument) {
    const pith_profile *p = pith_program_profile(s, f, 1, &argument, 1);
    int64_t count = 0;
    pt_ok(s, p);
    for (int64_t k = 0; k < p->row_count; k++)
        if (strstr(p->rows[k].name, "dot_general"))
            count += p->rows[k].calls;
    return count;
}

/* Beyond the record, products are computed once more. */
Test(derive_record_map, a_linear_map_reads_products_from_the_record, .init = open_scope) {
    static const int64_t lengths[] = {0, 1, 5, 8, 9, 20};
    const pith_derive_options of_x = {.paths = PITH_PATHS("[0].x")};
    for (int k = 0; k < 6; k++) {
        const int64_t n = lengths[k], beyond = n > 8 ? n - 8 : 0;
        const Walk *w = walk_of(n, 8);
        const pith_array *t = PITH_VECTOR(s, f64, 0.5, 1, -2);
        const pith_pushed wanted =
            pith_jvp(s, &turned_freely_of, PITH_ITEMS(w), t, &of_x);
        const pith_linearized l = pith_linearize(s, &turned_of, PITH_ITEMS(w), &of_x);
        pt_ok(s, l.map);
        cr_assert(pith_tree_equal(s, l.value, wanted.value), "%d", (int)n);
        cr_assert(pith_tree_equal(s, pith_call(s, l.map, PITH_ITEMS(t)), wanted.tangent),
                  "%d", (int)n);
        cr_assert_eq(products_of(l.map, t), n + beyond, "%d", (int)n);
    }
    close_scope();
}

/* Reverse mode over the map: the loop beyond the record has its own, which is long
 * enough. */
static const pith_array *pushed_turn(pith_scope *in, const Walk *w) {
    const pith_derive_options of_x = {.paths = PITH_PATHS("[0].x")};
    const pith_array *t = PITH_VECTOR(in, f64, 0.5, 1, -2);
    const pith_linearized l = pith_linearize(in, &turned_of, PITH_ITEMS(w), &of_x);
    return pith_apply(in, l.map, t);
}
static const pith_array *pushed_freely(pith_scope *in, const Walk *w) {
    const pith_derive_options of_x = {.paths = PITH_PATHS("[0].x")};
    const pith_array *t = PITH_VECTOR(in, f64, 0.5, 1, -2);
    return pith_jvp(in, &turned_of, PITH_ITEMS(w), t, &of_x).tangent;
}
PITH_FUNCTION1(pushed_turn_of, pushed_turn, pith_array, Walk)
PITH_FUNCTION1(pushed_freely_of, pushed_freely, pith_array, Walk)

Test(derive_record_map, maps_of_recorded_loops_are_derived_again, .init = open_scope) {
    const pith_derive_options of_x = {.paths = PITH_PATHS("[0].x")};
    double wanted[3];
    for (int64_t n = 0; n <= 12; n += 4) {
        const Walk *w = walk_of(n, 8);
        const pith_array *one =
            pith_call(s, pith_grad(s, &pushed_turn_of, &of_x), PITH_ITEMS(w));
        const pith_array *other = pith_call(s, pith_grad(s, &pushed_freely_of, &of_x),
                                            PITH_ITEMS(walk_of(n, 16)));
        pt_ok(s, one && other && pith_read(s, other, wanted, sizeof wanted));
        for (int i = 0; i < 3; i++)
            near(one, i, wanted[i]);
    }
    const pith_function *g = pith_grad(s, &pushed_turn_of, &of_x);
    const void *long_walk = pith_call(s, g, PITH_ITEMS(walk_of(20, 8)));
    pt_fails(PITH_E_CAPACITY, s, pith_read(s, long_walk, wanted, sizeof wanted));
    cr_assert(strstr(pt_error.message, "have 8, need 12"), "%s", pt_error.message);
    close_scope();
}
