/* Compensated sums of trees against exact ones. */
#include "tree_types.h"

static const void *pair(pith_scope *s, const pith_array *x, const pith_array *n) {
    const void *items[] = {x, n};
    return pith_tuple_make(s, 2, items);
}

static double first_of(pith_scope *s, const void *tree) {
    pt_ok(s, tree);
    return pith_read_f64(s, pith_tree_at(s, tree, "[0]"));
}

/* 10,000 times 0.1f: exact is 1000.00001490116..., plain f32 gives 999.9029. */
Test(kahan, beats_a_plain_sum) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *step = pith_f32(s, 0.1f), *sum = pith_f32(s, 0), *lost = NULL;
    float plain = 0;
    for (int i = 0; i < 10000; i++) {
        sum = pith_tree_kahan_sum(s, PITH_ITEMS(sum, step), lost, &lost);
        plain += 0.1f;
    }
    pt_ok(s, sum);
    cr_assert(fabs((double)plain - 1000) > 0.05);
    cr_assert(pith_read_f64(s, sum) == 1000);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kahan, carries_what_was_lost) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *lost;
    const void *large = pair(s, pith_f32(s, 1e8f), pith_i32(s, 7)),
               *small = pair(s, pith_f32(s, 1), pith_i32(s, -9));
    const void *sum = pith_tree_kahan_sum(s, PITH_ITEMS(large, small), NULL, &lost);
    cr_assert(first_of(s, sum) == 1e8 && first_of(s, lost) == -1);
    cr_assert(pith_read_i64(s, pith_tree_at(s, sum, "[1]")) == -2);
    cr_assert(pith_read_i64(s, pith_tree_at(s, lost, "[1]")) == 0);
    /* the next three ones and the one that was lost make a unit in the last place, twice
     */
    sum = pith_tree_kahan_sum(s, PITH_ITEMS(sum, small, small, small), lost, &lost);
    cr_assert(first_of(s, sum) - first_of(s, lost) == 1e8 + 4);
    /* alone a tree is its own sum */
    cr_assert(first_of(s, pith_tree_kahan_sum(s, 1, &small, NULL, &lost)) == 1);
    cr_assert(first_of(s, lost) == 0);
    pt_ok(s, pith_tree_kahan_sum(s, PITH_ITEMS(sum, small), NULL, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

Test(kahan, infinities_leave_nothing_behind) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *lost, *infinite = pith_f64(s, (double)INFINITY), *one = pith_f64(s, 1);
    const void *sum = pith_tree_kahan_sum(s, PITH_ITEMS(one, infinite, one), NULL, &lost);
    pt_ok(s, sum);
    cr_assert(pith_read_f64(s, sum) == (double)INFINITY && pith_read_f64(s, lost) == 0);
    const void *most = pith_f64(s, 0x1.fffffffffffffp1023);
    sum = pith_tree_kahan_sum(s, PITH_ITEMS(most, most), NULL, &lost);
    cr_assert(pith_read_f64(s, sum) == (double)INFINITY && pith_read_f64(s, lost) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kahan, refuses_what_does_not_fit) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *lost;
    const void *a = pair(s, pith_zeros(s, PITH_F32, PITH_SHAPE(3)), pith_i32(s, 1)),
               *b = pair(s, pith_zeros(s, PITH_F32, PITH_SHAPE(1)), pith_i32(s, 1)),
               *c = pair(s, pith_zeros(s, PITH_F64, PITH_SHAPE(3)), pith_i32(s, 1)),
               *flag = pith_bool(s, true);
    pt_fails(PITH_E_SHAPE, s, pith_tree_kahan_sum(s, PITH_ITEMS(a, b), NULL, &lost));
    pt_says("expected f32[3], got f32[1] in tree 1");
    cr_assert(strcmp(pt_error.path, "[0]") == 0, "%s", pt_error.path);
    pt_fails(PITH_E_DTYPE, s, pith_tree_kahan_sum(s, PITH_ITEMS(a, a), c, &lost));
    pt_fails(PITH_E_STRUCTURE, s,
             pith_tree_kahan_sum(s, PITH_ITEMS(a, flag), NULL, &lost));
    pt_fails(PITH_E_DTYPE, s,
             pith_tree_kahan_sum(s, PITH_ITEMS(flag, flag), NULL, &lost));
    pt_fails(PITH_E_ARG, s, pith_tree_kahan_sum(s, 0, &a, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_kahan_sum(s, 1, NULL, NULL, NULL));
    pith_scope_close(s);
    pt_close(rt);
}
