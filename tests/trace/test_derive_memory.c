/* Derivations in which every allocation fails once. */
#include "derive_test.h"
#include "fail_allocator.h"

static const pith_array *wave(pith_scope *in, const pith_array *x, const pith_array *a) {
    pith_check(in, pith_less(in, x, pith_f64(in, 100)), "x is large");
    return pith_sum(in,
                    pith_expression(in, "sin(a * x) * x", PITH_BIND({"x", x}, {"a", a})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(wave_of, wave, pith_array, pith_array, pith_array)

static const pith_array *map_of(const pith_array *x, const pith_array *a) {
    const pith_linearized v = pith_vjp(s, &wave_of, PITH_ITEMS(x, a), NULL);
    return pith_call(s, v.map, PITH_ITEMS(a));
}

/* A loop with a record. */
static const pith_array *is_low(pith_scope *in, const pith_array *x) {
    return pith_any(in, pith_less(in, x, 9), PITH_ALL_AXES);
}
static const pith_array *
higher(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_add(in, x, pith_mul(in, a, pith_add(in, pith_sin(in, x), 2)));
}
PITH_FUNCTION1(is_low_test, is_low, pith_array, pith_array)
PITH_FUNCTION2(higher_of, higher, pith_array, pith_array, pith_array)
static const pith_array *climb(pith_scope *in, const pith_array *x, const pith_array *a) {
    const pith_array *last =
        pith_while_recorded(in, &is_low_test, pith_partial(in, &higher_of, a), x,
                            &(pith_record_options){.most = 40, .name = "memory"});
    return pith_failed(in) ? NULL : pith_sum(in, last, PITH_ALL_AXES);
}
PITH_FUNCTION2(climb_of, climb, pith_array, pith_array, pith_array)

static pith_status derive(const pith_open_options *options) {
    static const char *const path[] = {"[1]", NULL};
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3), *a = pith_f64(s, 0.5);
    if (!pith_failed(s)) {
        const pith_derive_options by_path = {.paths = path};
        pt_again(s,
                 pith_call(s, pith_value_and_grad(s, &wave_of, NULL), PITH_ITEMS(x, a)));
        if (!pith_failed(s))
            pt_again(s, pith_jvp(s, &wave_of, PITH_ITEMS(x, a), a, &by_path).tangent);
        if (!pith_failed(s))
            pt_again(s, map_of(x, a));
        if (!pith_failed(s))
            pt_again(s, pith_call(s, pith_grad(s, &climb_of, NULL), PITH_ITEMS(x, a)));
        const pith_recompute_options named = {.names = PITH_NAMES("x")};
        if (!pith_failed(s))
            pt_again(s,
                     pith_call(s, pith_grad(s, pith_recompute(s, &wave_of, &named), NULL),
                               PITH_ITEMS(x, a)));
        const pith_derive_options finding = {.find_nonfinite = true};
        if (!pith_failed(s))
            pt_again(s, pith_call(s, pith_grad(s, &wave_of, &finding), PITH_ITEMS(x, a)));
        if (!pith_failed(s))
            pt_again(s,
                     pith_call(s, pith_grad(s, &climb_of, &finding), PITH_ITEMS(x, a)));
        if (!pith_failed(s))
            pt_again(s, pith_linearize(s, &wave_of, PITH_ITEMS(x, a), &finding).value);
        if (!pith_failed(s))
            pt_again(s, pith_residual_text(s, &wave_of, PITH_ITEMS(x, a), NULL));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_memory, every_failure_is_survived) {
    const pt_failures failures = pt_fail_each(derive);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}

/* ---- Trees, loops, marks and lenses; several parts, integers and aux ---- */

typedef struct {
    const pith_array *value;
    const void *aux;
} Scored;
PITH_NODE(Scored, PITH_LEAF(value, "f64[]"), PITH_TREE(aux))

static const pith_array *
turn(pith_scope *in, const pith_array *i, const pith_array *x, const pith_array *a) {
    const pith_array *n = pith_cast(in, i, PITH_F64);
    return pith_expression(in, "x + 0.1 * n * sin(a * x)",
                           PITH_BIND({"x", x}, {"a", a}, {"n", n}));
}
PITH_FUNCTION3(turn_of, turn, pith_array, pith_array, pith_array, pith_array)
static const pith_array *squares(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_mul(in, x, x), PITH_ALL_AXES);
}
static const pith_array *roots(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_sqrt(in, pith_add(in, pith_mul(in, x, x), 1.0)),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(squares_of, squares, pith_array, pith_array)
PITH_FUNCTION1(roots_of, roots, pith_array, pith_array)

/* A loop and a branch of the positions, which are scaled by kinds; aux: the kinds. */
static const Scored *score(pith_scope *in, const Ions *ions, const pith_array *a) {
    const pith_array *kind =
        pith_cast(in, pith_name_kept(in, ions->kind, "kinds"), PITH_F64);
    const pith_array *x =
        pith_fori(in, 0, 2, pith_partial(in, &turn_of, a), ions->position);
    x = pith_mul(in, x, pith_stop_gradient(in, kind));
    const pith_array *y = pith_cond(in, pith_less(in, a, 1.0), &squares_of, &roots_of, x);
    return pith_record(in, Scored, .value = pith_mul(in, y, a), .aux = ions->kind);
}
PITH_FUNCTION2(score_of, score, Scored, Ions, pith_array)
static const pith_array *barred(pith_scope *in, const Ions *ions, const pith_array *a) {
    return squares(in, pith_mul(in, pith_non_differentiable(in, ions->position), a));
}
PITH_FUNCTION2(barred_of, barred, pith_array, Ions, pith_array)
static const pith_array *
linear(pith_scope *in, const pith_array *x, const pith_array *a) {
    return pith_cumsum(in, pith_mul(in, x, a), 0, NULL);
}
PITH_FUNCTION2(linear_of, linear, pith_array, pith_array, pith_array)

/* Call the map of both, its transpose, and the map of pith_vjp. */
static const void *
map_both(const Ions *ions, const pith_array *a, const pith_derive_options *o) {
    const pith_linearized l = pith_linearize(s, &score_of, PITH_ITEMS(ions, a), o);
    const void *both = l.map ? pith_tuple_make(s, PITH_ITEMS(ions, a)) : NULL;
    return both ? pith_call(s, l.map, PITH_ITEMS(both)) : NULL;
}
static const void *transposed(const pith_array *x, const pith_array *a) {
    const pith_function *f = pith_partial(s, &linear_of, a);
    const pith_function *t = f ? pith_linear_transpose(s, f, x) : NULL;
    return t ? pith_call(s, t, PITH_ITEMS(x)) : NULL;
}
/* The gradient by one part, which pith_non_differentiable does not bar. */
static const void *beside(const Ions *ions, const pith_array *a) {
    const pith_function *g =
        pith_grad(s, &barred_of, &(pith_derive_options){.arguments = PITH_ARGUMENT(1)});
    return g ? pith_call(s, g, PITH_ITEMS(ions, a)) : NULL;
}
static const void *focused(const Ions *ions, const pith_array *a) {
    const pith_lens *lens =
        pith_lens_merge(s, PITH_LENSES(PITH_LENS(Ions, position), PITH_LENS(Ions, kind)));
    const pith_derive_options o = {.aux = true, .skip_integers = true};
    const void *focus = lens ? pith_lens_get(s, lens, ions) : NULL;
    const pith_function *f = focus ? pith_at_focus(s, lens, &score_of) : NULL,
                        *g = f ? pith_grad(s, f, &o) : NULL;
    return g ? pith_call(s, g, PITH_ITEMS(focus, ions, a)) : NULL;
}

static pith_status derive_trees(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    Ions parts = {.position = PITH_VECTOR(s, f64, 1, 2),
                  .kind = PITH_VECTOR(s, i64, 1, 3),
                  .width = 2};
    const Ions *ions = pith_freeze(s, Ions, &parts);
    const pith_array *a = pith_f64(s, 0.5);
    const pith_derive_options o = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                   .aux = true,
                                   .skip_integers = true};
    if (!pith_failed(s))
        pt_again(s, map_both(ions, a, &o));
    if (!pith_failed(s))
        pt_again(s, transposed(parts.position, a));
    if (!pith_failed(s))
        pt_again(s, beside(ions, a));
    if (!pith_failed(s))
        pt_again(s, focused(ions, a));
    if (!pith_failed(s)) {
        const pith_function *h = NULL;
        const void *both = NULL;
        pt_again(s, h = pith_hessian_product(s, &score_of, &o));
        if (!pith_failed(s))
            pt_again(s, both = pith_tuple_make(s, PITH_ITEMS(ions, a)));
        if (!pith_failed(s))
            pt_again(s, pith_call(s, h, PITH_ITEMS(ions, a, both)));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_memory, every_failure_with_trees_is_survived, .timeout = 300) {
    const pt_failures failures = pt_fail_each(derive_trees);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}

/* ---- Errors, which need memory for their texts, and traces that end in them ---- */

static pith_status refuse(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    Ions parts = {.position = PITH_VECTOR(s, f64, 1, 2),
                  .kind = PITH_VECTOR(s, i64, 1, 3),
                  .width = 2};
    const Ions *ions = pith_freeze(s, Ions, &parts);
    const pith_array *a = pith_f64(s, 0.5);
    static const char *const position[] = {"[0].position", NULL};
    const pith_derive_options by_position = {.paths = position};
    pith_status code = pith_code(s);
    for (int k = 0; k < 3 && code == PITH_OK; k++) {
        const pith_function *g = k == 0   ? pith_grad(s, &barred_of, NULL)
                                 : k == 1 ? pith_grad(s, &barred_of, &by_position)
                                          : pith_grad(s, &score_of, &by_position);
        if (g)
            pith_call(s, g, PITH_ITEMS(ions, a));
        static const pith_status wanted[] = {PITH_E_DTYPE, PITH_E_DERIVATIVE,
                                             PITH_E_STRUCTURE};
        code = pith_code(s) == wanted[k] ? PITH_OK : pith_code(s);
        pith_clear(s);
    }
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(derive_memory, errors_without_memory, .timeout = 300) {
    const pt_failures failures = pt_fail_each(refuse);
    cr_assert(failures.allocations > 50, "%d allocations, %d errors",
              failures.allocations, failures.errors);
}
