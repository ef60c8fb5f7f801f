/* Derivatives with respect to the part of a lens. */
#include "derive_test.h"

typedef struct {
    const Ions *ions;
    const void *others;
    const pith_array *scale;
} Box;
PITH_NODE(Box, PITH_CHILD(ions, Ions), PITH_TREE(others), PITH_LEAF(scale, "f64[]"))

/* The energy of the ions, times scale, times the sum of the others. */
static const pith_array *energy(pith_scope *in, const Box *box, const pith_array *by) {
    const pith_array *e =
        pith_sum(in,
                 pith_mul(in, pith_mul(in, box->ions->position, box->ions->position),
                          box->ions->charge),
                 PITH_ALL_AXES);
    for (int64_t k = 0; k < pith_child_count(box->others); k++)
        e = pith_mul(in, e, pith_child(box->others, k));
    return pith_mul(in, by, pith_mul(in, e, box->scale));
}
PITH_FUNCTION2(energy_of, energy, pith_array, Box, pith_array)

static const Box *some_box(void) {
    Ions ions = pith_initial(Ions);
    ions.position = PITH_VECTOR(s, f64, 1, 2, 3);
    ions.charge = PITH_VECTOR(s, f64, 0.5, 1, 2);
    return pith_record(s, Box, .ions = pith_freeze(s, Ions, &ions),
                       .others =
                           pith_list_make(s, PITH_ITEMS(pith_f64(s, 2), pith_f64(s, 5))),
                       .scale = pith_f64(s, 0.25));
}
static const pith_array *by_one(void) {
    return pith_f64(s, 1);
}

Test(derive_focus, parts_of_lenses_are_differentiated, .init = open_scope) {
    const Box *box = some_box();
    const pith_lens *lens = PITH_LENS(Box, ions->position);
    for (int k = 0; k < 3; k++) {
        const pith_function *f = pith_at_focus(s, lens, &energy_of);
        const pith_array *at_2 = PITH_VECTOR(s, f64, 1, 4, 3);
        near(pith_call(s, f, PITH_ITEMS(at_2, box, by_one())), 0, 2.5 * (0.5 + 16 + 18));
        const pith_array *g =
            pith_call(s, pith_grad(s, f, NULL), PITH_ITEMS(at_2, box, by_one()));
        near(g, 1, 2.5 * 2 * 4);
    }
    cr_assert(pith_jit_about(rt).misses == 1 && pith_jit_about(rt).hits == 2);
    close_scope();
}

Test(derive_focus, merges_and_traversals_are_differentiated, .init = open_scope) {
    const Box *box = some_box();
    const pith_lens *merged = pith_lens_merge(
        s, PITH_LENSES(PITH_LENS(Box, ions->charge), PITH_LENS(Box, scale)));
    const void *focus = pith_lens_get(s, merged, box);
    const void *g = pith_call(s, pith_grad(s, pith_at_focus(s, merged, &energy_of), NULL),
                              PITH_ITEMS(focus, box, by_one()));
    const double e = at(energy(s, box, by_one()), 0);
    near(item(g, 0), 2, 2.5 * 9);
    near(item(g, 1), 0, e / 0.25);
    const pith_lens *each = pith_lens_each(s, PITH_LENS(Box, others));
    focus = pith_lens_get(s, each, box);
    g = pith_call(s, pith_grad(s, pith_at_focus(s, each, &energy_of), NULL),
                  PITH_ITEMS(focus, box, by_one()));
    pt_ok(s, g);
    near(pith_child(g, 0), 0, e / 2);
    near(pith_child(g, 1), 0, e / 5);
    /* The focus of a focus, with the hessian along it. */
    const pith_function *h = pith_hessian_product(
        s, pith_at_focus(s, PITH_LENS(Box, ions->position), &energy_of), NULL);
    pt_fails(PITH_E_ARG, s,
             pith_hessian_product(
                 s,
                 pith_at_focus(s, PITH_LENS(Box, scale),
                               pith_at_focus(s, PITH_LENS(Box, scale), &energy_of)),
                 NULL));
    const void *both = pith_call(
        s, h,
        PITH_ITEMS(box->ions->position, box, by_one(), PITH_VECTOR(s, f64, 1, 0, 2)));
    near(item(both, 1), 2, 2.5 * 2 * 2 * 2);
    close_scope();
}

Test(derive_focus, lenses_with_arrays_are_not_confused, .init = open_scope) {
    const Box *box = some_box();
    for (int k = 0; k < 3; k++) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_array *rows =
            pith_array_copy(inner, PITH_I64, PITH_SHAPE(1), (int64_t[]){k});
        const pith_lens *lens =
            pith_lens_at(inner, PITH_LENS(Box, ions->position), rows, NULL);
        const pith_array *focus = pith_lens_get(inner, lens, box);
        const pith_function *f = pith_keep(s, pith_at_focus(inner, lens, &energy_of));
        const pith_array *g = pith_keep(s, pith_call(inner, pith_grad(inner, f, NULL),
                                                     PITH_ITEMS(focus, box, by_one())));
        pt_ok(inner, g);
        pith_scope_close(inner);
        near(g, 0, 2.5 * 2 * (k + 1) * (k == 0 ? 0.5 : k));
        near(pith_call(s, f, PITH_ITEMS(PITH_VECTOR(s, f64, 0), box, by_one())), 0,
             2.5 * (0.5 + 4 + 18 -
                    (k == 0   ? 0.5
                     : k == 1 ? 4
                              : 18)));
    }
    /* The gradients are one program, and so are the calls. */
    cr_assert(pith_jit_about(rt).misses == 1 && pith_jit_about(rt).hits == 2);
    close_scope();
}

/* ---- Traced index arrays ---- */

/* The slope of the energy along the row at an index, which is traced. */
static const pith_array *slope_at(pith_scope *in, const pith_array *k, const Box *box) {
    const pith_lens *row = pith_lens_at(in, PITH_LENS(Box, ions->position),
                                        pith_reshape(in, k, PITH_SHAPE(1)), NULL);
    const pith_function *f = pith_at_focus(in, row, &energy_of);
    const pith_array *g =
        pith_call(in, pith_grad(in, f, NULL),
                  PITH_ITEMS(pith_lens_get(in, row, box), box, pith_f64(in, 1)));
    return pith_sum(in, g, PITH_ALL_AXES);
}
PITH_FUNCTION2(slope_at_of, slope_at, pith_array, pith_array, Box)

/* 2 * 2.5 * position * charge */
static const double slopes[3] = {2.5, 10, 30};

Test(derive_focus, lenses_with_traced_arrays_are_differentiated, .init = open_scope) {
    const pith_function *compiled = pith_jit(s, &slope_at_of, NULL);
    for (int k = 0; k < 3; k++) {
        const pith_array *got =
            pith_call(s, compiled, PITH_ITEMS(pith_i64(s, k), some_box()));
        pt_ok(s, got);
        near(got, 0, slopes[k]);
    }
    /* Derived again, by the charge. */
    static const char *const charge[] = {"[1].ions.charge", NULL};
    const pith_function *second =
        pith_grad(s, &slope_at_of, &(pith_derive_options){.paths = charge});
    const pith_array *g = pith_call(s, second, PITH_ITEMS(pith_i64(s, 1), some_box()));
    pt_ok(s, g);
    near(g, 0, 0);
    near(g, 1, 5 * 2);
    near(g, 2, 0);
    close_scope();
}

static const pith_array *
add_slope(pith_scope *in, const pith_array *k, const pith_array *sum, const Box *box) {
    return pith_add(in, sum, pith_mul(in, sum, slope_at(in, k, box)));
}
PITH_FUNCTION3(add_slope_of, add_slope, pith_array, pith_array, pith_array, Box)
/* by * (1 + slope 0) * (1 + slope 1) * (1 + slope 2) */
static const pith_array *
product_of_slopes(pith_scope *in, const pith_array *by, const Box *box) {
    return pith_fori(in, 0, 3, pith_partial(in, &add_slope_of, box), by);
}
PITH_FUNCTION2(product_of_slopes_of, product_of_slopes, pith_array, pith_array, Box)

Test(derive_focus,
     lenses_with_traced_arrays_are_differentiated_in_loops,
     .init = open_scope) {
    const double all = 3.5 * 11 * 31;
    const pith_array *value =
        pith_call(s, &product_of_slopes_of, PITH_ITEMS(pith_f64(s, 1), some_box()));
    pt_ok(s, value);
    near(value, 0, all);
    static const char *const position[] = {"[1].ions.position", NULL};
    const pith_function *g =
        pith_grad(s, &product_of_slopes_of, &(pith_derive_options){.paths = position});
    const pith_array *got = pith_call(s, g, PITH_ITEMS(pith_f64(s, 1), some_box()));
    pt_ok(s, got);
    near(got, 0, all / 3.5 * 2.5);
    near(got, 1, all / 11 * 5);
    near(got, 2, all / 31 * 10);
    close_scope();
}

/* The focus is (row at index 1, constant), of which the constant is not set. */
Test(derive_focus, merges_with_arrays_are_one_program, .init = open_scope) {
    const Box *box = some_box();
    for (int k = 0; k < 3; k++) {
        const pith_array *rows = PITH_VECTOR(s, i64, k);
        const pith_lens *both = pith_lens_merge(
            s, PITH_LENSES(pith_lens_at(s, PITH_LENS(Box, ions->position), rows, NULL),
                           pith_lens_constant(s, pith_f64(s, k)),
                           pith_lens_at(s, PITH_LENS(Box, ions->charge),
                                        PITH_VECTOR(s, i64, 2 - k), NULL)));
        const pith_function *f = pith_at_focus(s, both, &energy_of);
        const void *g = pith_call(s, pith_grad(s, f, NULL),
                                  PITH_ITEMS(pith_lens_get(s, both, box), box, by_one()));
        pt_ok(s, g);
        near(item(g, 0), 0, slopes[k]);
        near(item(g, 1), 0, 0);
        near(item(g, 2), 0, 2.5 * (3 - k) * (3 - k));
    }
    cr_assert(pith_jit_about(rt).misses == 1 && pith_jit_about(rt).hits == 2);
    /* Other options are another program. */
    const pith_lens *at = pith_lens_at(s, PITH_LENS(Box, ions->position),
                                       PITH_VECTOR(s, i64, 7),
                                       &(pith_lens_at_options){.mode = PITH_INDEX_CLIP}),
                    *dropping = pith_lens_at(s, PITH_LENS(Box, ions->position),
                                             PITH_VECTOR(s, i64, 7), NULL);
    const pith_array *seven = PITH_VECTOR(s, f64, 7);
    near(pith_call(s, pith_grad(s, pith_at_focus(s, at, &energy_of), NULL),
                   PITH_ITEMS(seven, box, by_one())),
         0, 2.5 * 2 * 7 * 2);
    near(pith_call(s, pith_grad(s, pith_at_focus(s, dropping, &energy_of), NULL),
                   PITH_ITEMS(seven, box, by_one())),
         0, 0);
    close_scope();
}

static const pith_array *of_four(pith_scope *in,
                                 const pith_array *a,
                                 const pith_array *b,
                                 const pith_array *c,
                                 const Box *box) {
    (void)in, (void)b, (void)c, (void)box;
    return a;
}
PITH_FUNCTION4(four_of, of_four, pith_array, pith_array, pith_array, pith_array, Box)

Test(derive_focus, wrong_functions_are_refused, .init = open_scope) {
    pt_fails(PITH_E_ARG, s, pith_at_focus(s, PITH_LENS(Box, scale), &four_of));
    pt_says("pith_at_focus: of_four: expected a function of at most 3 trees");
    pt_fails(PITH_E_ARG, s, pith_at_focus(s, NULL, &energy_of));
    const pith_function *f = pith_at_focus(s, PITH_LENS(Box, scale), &energy_of);
    pt_fails(PITH_E_TYPE, s, pith_call(s, f, PITH_ITEMS(by_one(), by_one(), by_one())));
    close_scope();
}
