/* Wrong calls of functions of derivatives: code, path and text of each error, the same
 * for every function that has it, and that a right call works as before. */
#include "derive_test.h"

/* ---- A function of a record and an array ---- */

static const pith_array *trap(pith_scope *in, const Ions *ions, const pith_array *by) {
    const pith_array *e = pith_mul(in, ions->position, ions->position);
    if (ions->charge)
        e = pith_mul(in, e, ions->charge);
    if (ions->kind)
        e = pith_mul(in, e, pith_cast(in, ions->kind, PITH_F64));
    return pith_sum(in, pith_mul(in, e, by), PITH_ALL_AXES);
}
PITH_FUNCTION2(trap_of, trap, pith_array, Ions, pith_array)

static const Ions *ions_of(int64_t n, bool charges, bool kinds, int64_t width) {
    Ions ions = pith_initial(Ions);
    ions.position = pith_ones(s, PITH_F64, PITH_SHAPE(n));
    if (charges)
        ions.charge = pith_ones(s, PITH_F64, PITH_SHAPE(n));
    if (kinds)
        ions.kind = pith_ones(s, PITH_I64, PITH_SHAPE(n));
    ions.width = width;
    return pith_freeze(s, Ions, &ions);
}

/* ---- Each way to derive a function at (a, b), with a tangent or cotangent ---- */

typedef const void *(*way)(const pith_function *f,
                           const void *a,
                           const void *b,
                           const void *along,
                           const pith_derive_options *o);

static const void *by_grad(const pith_function *f,
                           const void *a,
                           const void *b,
                           const void *along,
                           const pith_derive_options *o) {
    (void)along;
    const pith_function *g = pith_grad(s, f, o);
    return g ? pith_call(s, g, 2, ((const void *[]){a, b})) : NULL;
}
static const void *by_value_and_grad(const pith_function *f,
                                     const void *a,
                                     const void *b,
                                     const void *along,
                                     const pith_derive_options *o) {
    (void)along;
    const pith_function *g = pith_value_and_grad(s, f, o);
    return g ? pith_call(s, g, 2, ((const void *[]){a, b})) : NULL;
}
static const void *by_hessian(const pith_function *f,
                              const void *a,
                              const void *b,
                              const void *along,
                              const pith_derive_options *o) {
    const pith_function *g = pith_hessian_product(s, f, o);
    return g ? pith_call(s, g, 3, ((const void *[]){a, b, along})) : NULL;
}
static const void *by_jvp(const pith_function *f,
                          const void *a,
                          const void *b,
                          const void *along,
                          const pith_derive_options *o) {
    const pith_pushed y = pith_jvp(s, f, 2, ((const void *[]){a, b}), along, o);
    cr_assert(!pith_failed(s) || (!y.value && !y.tangent && !y.aux));
    return y.tangent;
}
static const void *by_linearize(const pith_function *f,
                                const void *a,
                                const void *b,
                                const void *along,
                                const pith_derive_options *o) {
    const pith_linearized y = pith_linearize(s, f, 2, ((const void *[]){a, b}), o);
    cr_assert(!pith_failed(s) || (!y.value && !y.map && !y.aux));
    return y.map && along ? pith_call(s, y.map, 1, &along) : NULL;
}
static const void *by_vjp(const pith_function *f,
                          const void *a,
                          const void *b,
                          const void *along,
                          const pith_derive_options *o) {
    (void)along;
    const pith_linearized y = pith_vjp(s, f, 2, ((const void *[]){a, b}), o);
    cr_assert(!pith_failed(s) || (!y.value && !y.map && !y.aux));
    return y.map ? pith_call(s, y.map, PITH_ITEMS(pith_f64(s, 1))) : NULL;
}

static const struct {
    way call;
    const char *name;
    bool scalar, forward, along; /* the value is a float of rank 0; modes; a direction */
} ways[] = {
    {by_grad, "pith_grad", true, false, false},
    {by_value_and_grad, "pith_value_and_grad", true, false, false},
    {by_hessian, "pith_hessian_product", true, true, true},
    {by_jvp, "pith_jvp", false, true, true},
    {by_linearize, "pith_linearize", false, true, true},
    {by_vjp, "pith_vjp", false, false, false},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Way k fails so; the message names its function. */
#define WAY_FAILS(k, code, text, f, a, b, along, o)                                      \
    do {                                                                                 \
        pt_fails(code, s, ways[k].call(f, a, b, along, o));                              \
        pt_says(text);                                                                   \
        cr_assert(strstr(pt_error.message, ways[k].name), "%s: %s", ways[k].name,        \
                  pt_error.message);                                                     \
        cr_assert(strstr(pt_error.message, "test_derive_errors.c:"), "%s",               \
                  pt_error.message);                                                     \
    } while (0)
#define EACH_FAILS(code, text, f, a, b, along, o)                                        \
    for (int k_ = 0; k_ < WAYS; k_++)                                                    \
    WAY_FAILS(k_, code, text, f, a, b, along, o)

static const Ions *ions, *other;
static const pith_array *by;

static void begin(void) {
    open_scope();
    ions = ions_of(3, true, false, 2);
    by = pith_f64(s, 2);
}
/* A right call works, in each way. */
static void end(void) {
    for (int k = 0; k < WAYS; k++)
        pt_ok(s, ways[k].call(&trap_of, ions, by, ions, NULL));
    close_scope();
}

/* ---- Selections ---- */

#define PATHS(...) (&(pith_derive_options){.paths = PITH_PATHS(__VA_ARGS__)})

Test(derive_errors, selections, .init = begin) {
    const char *none[] = {NULL};
    const pith_derive_options third = {.arguments = PITH_ARGUMENT(2)},
                              far = {.arguments = PITH_ARGUMENT(0) | 1u << 31},
                              empty = {.paths = none},
                              two = {.arguments = 1, .paths = PITH_PATHS("[0].charge")},
                              odd = {.cuts = (pith_cuts)2};
    EACH_FAILS(PITH_E_ARG, "select argument [2]: expected [0] to [1]", &trap_of, ions, by,
               ions, &third);
    EACH_FAILS(PITH_E_ARG, "select argument [31]", &trap_of, ions, by, ions, &far);
    EACH_FAILS(PITH_E_ARG, "trap: invalid cuts: 2", &trap_of, ions, by, ions, &odd);
    EACH_FAILS(PITH_E_ARG, "no path is selected", &trap_of, ions, by, ions, &empty);
    EACH_FAILS(PITH_E_ARG, "select arguments or paths, not both", &trap_of, ions, by,
               ions, &two);
    EACH_FAILS(PITH_E_ARG, "the paths '[1]' and '[1]' select a part twice", &trap_of,
               ions, by, ions, PATHS("[1]", "[1]"));
    EACH_FAILS(PITH_E_ARG, "'[0].position' and '[0]' select a part twice", &trap_of, ions,
               by, ions, PATHS("[0].position", "[0]"));
    EACH_FAILS(PITH_E_ARG, "'[0]' and '[0].position' select a part twice", &trap_of, ions,
               by, ions, PATHS("[0]", "[0].position"));
    EACH_FAILS(PITH_E_PATH, "the path '[2]' names no argument: expected [0] to [1]",
               &trap_of, ions, by, ions, PATHS("[2]"));
    EACH_FAILS(PITH_E_PATH, "the path 'position' names no argument", &trap_of, ions, by,
               ions, PATHS("position"));
    EACH_FAILS(PITH_E_PATH, "the path '' names no argument", &trap_of, ions, by, ions,
               PATHS(""));
    for (int k = 0; k < WAYS; k++) {
        pt_fails(PITH_E_PATH, s,
                 ways[k].call(&trap_of, ions, by, ions, PATHS("[0].mass")));
        pt_says("mass");
        pt_fails(PITH_E_PATH, s, ways[k].call(&trap_of, ions, by, ions, PATHS("[0]..x")));
        pt_fails(PITH_E_PATH, s,
                 ways[k].call(&trap_of, ions, by, ions, PATHS("[0].width")));
        pt_says("'width' is a static of Ions, not a node");
    }
    const Ions *bare = ions_of(2, false, false, 3);
    EACH_FAILS(PITH_E_PATH, "[0].charge: ", &trap_of, bare, by, bare,
               PATHS("[0].position", "[0].charge"));
    EACH_FAILS(PITH_E_PATH, "expected a part to differentiate, which is absent", &trap_of,
               bare, by, bare, PATHS("[0].charge"));
    end();
}

/* Two spellings of a path are one part. */
static const pith_array *
first_two(pith_scope *in, const void *list, const pith_array *b) {
    (void)b;
    return pith_mul(in, pith_child(list, 0), pith_child(list, 1));
}
PITH_FUNCTION2(first_two_of, first_two, pith_array, void, pith_array)

Test(derive_errors, spellings_of_paths, .init = begin) {
    const void *list = pith_list_make(s, PITH_ITEMS(by, by));
    EACH_FAILS(PITH_E_ARG, "the paths '[0][1]' and '[0][01]' select a part twice",
               &first_two_of, list, by, list, PATHS("[0][1]", "[0][01]"));
    EACH_FAILS(PITH_E_ARG, "the paths '[00]' and '[0][1]' select a part twice",
               &first_two_of, list, by, list, PATHS("[00]", "[0][1]"));
    end();
}

/* ---- Leaves and values ---- */

Test(derive_errors, integer_leaves, .init = begin) {
    other = ions_of(3, false, true, 2);
    for (int k = 0; k < WAYS; k++) {
        WAY_FAILS(k, PITH_E_DTYPE, "expected a float dtype to differentiate, got i64",
                  &trap_of, other, by, other, NULL);
        cr_assert_str_eq(pt_error.path, "[0].kind");
        WAY_FAILS(k, PITH_E_DTYPE, "got i64", &trap_of, other, by, other,
                  PATHS("[1]", "[0].kind"));
        cr_assert_str_eq(pt_error.path, "[0].kind");
        WAY_FAILS(k, PITH_E_DTYPE, "got bool", &trap_of, ions, pith_bool(s, true), by,
                  PATHS("[1]"));
        cr_assert_str_eq(pt_error.path, "[1]");
    }
    end();
}

static const pith_array *row(pith_scope *in, const Ions *a, const pith_array *b) {
    return pith_mul(in, a->position, b);
}
static const pith_array *whole(pith_scope *in, const Ions *a, const pith_array *b) {
    return pith_cast(in, trap(in, a, b), PITH_I32);
}
static const void *record(pith_scope *in, const Ions *a, const pith_array *b) {
    (void)in, (void)b;
    return a;
}
static const void *nothing(pith_scope *in, const Ions *a, const pith_array *b) {
    (void)a, (void)b;
    return pith_none_make(in);
}
PITH_FUNCTION2(row_of, row, pith_array, Ions, pith_array)
PITH_FUNCTION2(whole_of, whole, pith_array, Ions, pith_array)
PITH_FUNCTION2(record_of, record, void, Ions, pith_array)
PITH_FUNCTION2(nothing_of, nothing, void, Ions, pith_array)

Test(derive_errors, values_that_are_no_float_of_rank_0, .init = begin) {
    const pith_derive_options aux = {.aux = true};
    for (int k = 0; k < WAYS; k++) {
        if (ways[k].scalar) {
            WAY_FAILS(k, PITH_E_SHAPE, "row: expected a value of rank 0, got f64[3]",
                      &row_of, ions, by, ions, NULL);
            WAY_FAILS(k, PITH_E_DTYPE,
                      "whole: expected a value of a float dtype, got i32", &whole_of,
                      ions, by, ions, NULL);
            WAY_FAILS(k, PITH_E_STRUCTURE, "record: the value is not an array",
                      &record_of, ions, by, ions, NULL);
            WAY_FAILS(k, PITH_E_STRUCTURE, "nothing: the value is not an array",
                      &nothing_of, ions, by, ions, NULL);
        }
        WAY_FAILS(k, PITH_E_TYPE,
                  "expected a record with the members value and aux, got another tree",
                  &trap_of, ions, by, ions, &aux);
        WAY_FAILS(k, PITH_E_TYPE, "expected a record with the members value and aux",
                  &record_of, ions, by, ions, &aux);
    }
    end();
}

/* ---- Counts, and what are no functions or trees ---- */

Test(derive_errors, counts_and_pointers, .init = begin) {
    const void *const primals[] = {ions, by, by};
    const int64_t counts[] = {0, 1, 3, -1};
    for (int k = 0; k < 4; k++) {
        pt_fails(PITH_E_ARG, s, pith_jvp(s, &trap_of, counts[k], primals, ions, NULL));
        pt_says("trap: expected 2 arguments, got");
        pt_fails(PITH_E_ARG, s, pith_linearize(s, &trap_of, counts[k], primals, NULL));
        pt_says("trap: expected 2 arguments, got");
        pt_fails(PITH_E_ARG, s, pith_vjp(s, &trap_of, counts[k], primals, NULL));
        pt_says("trap: expected 2 arguments, got");
    }
    pt_fails(PITH_E_ARG, s, pith_jvp(s, &trap_of, 2, NULL, ions, NULL));
    pt_fails(PITH_E_ARG, s, pith_linearize(s, &trap_of, 2, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_vjp(s, &trap_of, 2, NULL, NULL));
    EACH_FAILS(PITH_E_ARG, "expected a function", NULL, ions, by, ions, NULL);
    for (int k = 0; k < WAYS; k++) {
        pt_fails(PITH_E_ARG, s, ways[k].call(&trap_of, NULL, by, ions, NULL));
        pt_says("trap: argument 1: expected a tree, got ");
        pt_fails(PITH_E_TYPE, s, ways[k].call(&trap_of, by, by, ions, NULL));
        pt_says("trap: argument 1: expected Ions, got an array");
        if (!ways[k].along)
            continue;
        const int x = 0;
        if (ways[k].call == by_linearize)
            continue; /* NULL is no argument here */
        pt_fails(PITH_E_ARG, s, ways[k].call(&trap_of, ions, by, NULL, NULL));
        pt_says("expected a tree, got ");
        pt_fails(PITH_E_ARG, s, ways[k].call(&trap_of, ions, by, &x, NULL));
        pt_says("expected a tree, got ");
    }
    pt_fails(PITH_E_ARG, s, pith_stop_gradient(s, (const pith_array *)NULL));
    pt_says("pith_stop_gradient: ");
    pt_fails(PITH_E_ARG, s, pith_non_differentiable(s, (const pith_array *)NULL));
    pt_says("pith_non_differentiable: ");
    cr_assert(!pith_is_zero_tangent(NULL) && !pith_is_zero_tangent(by));
    end();
}

/* ---- Tangents and cotangents that do not fit ---- */

Test(derive_errors, tangents_that_do_not_fit, .init = begin) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    for (int k = 0; k < WAYS; k++) {
        if (!ways[k].along)
            continue;
        pt_fails(PITH_E_SHAPE, s,
                 ways[k].call(&trap_of, ions, by, ions_of(4, true, false, 2), NULL));
        cr_assert_str_eq(pt_error.path, ".position", "%s", pt_error.message);
        pt_says("expected f64[3], got f64[4]");
        pt_fails(PITH_E_STRUCTURE, s,
                 ways[k].call(&trap_of, ions, by, ions_of(3, false, false, 2), NULL));
        cr_assert_str_eq(pt_error.path, ".charge");
        pt_fails(PITH_E_STRUCTURE, s,
                 ways[k].call(&trap_of, ions, by, ions_of(3, true, false, 5), NULL));
        cr_assert_str_eq(pt_error.path, ".width");
        if (ways[k].call != by_hessian) {
            pt_fails(PITH_E_STRUCTURE, s, ways[k].call(&trap_of, ions, by, by, NULL));
            pt_fails(PITH_E_STRUCTURE, s,
                     ways[k].call(&trap_of, ions, by, pith_none_make(s), NULL));
        }
        pt_fails(PITH_E_STRUCTURE, s, ways[k].call(&trap_of, ions, by, ions, &both));
        pt_fails(PITH_E_STRUCTURE, s,
                 ways[k].call(&trap_of, ions, by, pith_tuple_make(s, PITH_ITEMS(ions)),
                              &both));
        pt_fails(PITH_E_DTYPE, s,
                 ways[k].call(&trap_of, ions, by,
                              pith_tuple_make(s, PITH_ITEMS(ions, pith_f32(s, 1))),
                              &both));
        pt_says("expected f64[], got f32[]");
        cr_assert_str_eq(pt_error.path, "[1]", "%s", pt_error.message);
    }
    const pith_linearized v = pith_vjp(s, &trap_of, PITH_ITEMS(ions, by), NULL);
    pt_fails(PITH_E_STRUCTURE, s, pith_call(s, v.map, PITH_ITEMS(ions)));
    pt_fails(PITH_E_SHAPE, s,
             pith_call(s, v.map, PITH_ITEMS(pith_ones(s, PITH_F64, PITH_SHAPE(1)))));
    pt_says("pith_vjp: map of trap's argument: expected f64[], got f64[1]");
    pt_fails(PITH_E_DTYPE, s, pith_call(s, v.map, PITH_ITEMS(pith_f32(s, 1))));
    end();
}

/* ---- What has no derivative ---- */

static const pith_array *floors(pith_scope *in, const Ions *a, const pith_array *b) {
    return pith_sum(in, pith_mul(in, pith_floor(in, a->position), b), PITH_ALL_AXES);
}
static const pith_array *next(pith_scope *in, const Ions *a, const pith_array *b) {
    return pith_sum(in, pith_nextafter(in, a->position, b), PITH_ALL_AXES);
}
static const pith_array *marked(pith_scope *in, const Ions *a, const pith_array *b) {
    return pith_sum(in, pith_mul(in, pith_non_differentiable(in, a->position), b),
                    PITH_ALL_AXES);
}
static const pith_array *small(pith_scope *in, const pith_array *x) {
    return pith_less(in, pith_sum(in, x, PITH_ALL_AXES), 100.0);
}
static const pith_array *doubled(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, x);
}
PITH_FUNCTION1(small_of, small, pith_array, pith_array)
PITH_FUNCTION1(doubled_of, doubled, pith_array, pith_array)
static int line;
static const pith_array *loop(pith_scope *in, const Ions *a, const pith_array *b) {
    line = __LINE__ + 1;
    const pith_array *x = pith_while(in, &small_of, &doubled_of, a->position);
    return pith_sum(in, pith_mul(in, x, b), PITH_ALL_AXES);
}
PITH_FUNCTION2(floors_of, floors, pith_array, Ions, pith_array)
PITH_FUNCTION2(next_of, next, pith_array, Ions, pith_array)
PITH_FUNCTION2(marked_of, marked, pith_array, Ions, pith_array)
PITH_FUNCTION2(loop_of, loop, pith_array, Ions, pith_array)

Test(derive_errors, what_has_no_derivative, .init = begin) {
    const Ions *bare = ions_of(3, false, false, 2);
    const pith_derive_options only = {.arguments = PITH_ARGUMENT(1)};
    for (int k = 0; k < WAYS; k++) {
        const void *along =
            ways[k].call == by_jvp || ways[k].call == by_hessian ? bare : NULL;
        WAY_FAILS(k, PITH_E_DERIVATIVE,
                  ": floors: every path to the result is cut, by floor at ", &floors_of,
                  bare, by, along, NULL);
        cr_assert_str_eq(pt_error.path, "[0].position");
        WAY_FAILS(k, PITH_E_DERIVATIVE,
                  ": next: nextafter has no derivative, and a tangent reaches it (",
                  &next_of, bare, by, along, NULL);
        WAY_FAILS(k, PITH_E_DERIVATIVE, ": marked: a tangent reaches a value that is ",
                  &marked_of, bare, by, along, NULL);
        pt_says("marked as non-differentiable (");
        if (!ways[k].forward || ways[k].scalar) {
            char site[48];
            WAY_FAILS(k, PITH_E_DERIVATIVE,
                      ": loop: a while has no derivative in reverse mode", &loop_of, bare,
                      by, along, NULL);
            snprintf(site, sizeof site, "test_derive_errors.c:%d", line);
            pt_says(site);
        } else
            pt_ok(s, ways[k].call(&loop_of, bare, by, bare, NULL));
        /* Of the other argument they have one. */
        pt_ok(s, ways[k].call(&floors_of, bare, by, by, &only));
        pt_ok(s, ways[k].call(&marked_of, bare, by, by, &only));
        pt_ok(s, ways[k].call(&loop_of, bare, by, by, &only));
    }
    end();
}

/* A value without a float leaf: its casts are cuts, too. */
static const pith_array *count(pith_scope *in, const Ions *i, const pith_array *most) {
    return pith_count_nonzero(in, pith_less(in, i->position, most), PITH_ALL_AXES);
}
PITH_FUNCTION2(count_of, count, pith_array, Ions, pith_array)

Test(derive_errors, values_of_integers_alone_are_cut, .init = begin) {
    const Ions *bare = ions_of(3, false, false, 2);
    const pith_derive_options zero = {.cuts = PITH_CUTS_ARE_ZERO};
    for (int k = 0; k < WAYS; k++) {
        if (ways[k].scalar)
            continue;
        const void *along = ways[k].call == by_jvp ? bare : NULL;
        WAY_FAILS(k, PITH_E_DERIVATIVE,
                  ": count: every path to the result is cut, by lt at ", &count_of, bare,
                  by, along, NULL);
        cr_assert_str_eq(pt_error.path, "[0].position");
        if (ways[k].call == by_vjp)
            pt_ok(s, pith_vjp(s, &count_of, PITH_ITEMS(bare, by), &zero).map);
        else
            pt_ok(s, ways[k].call(&count_of, bare, by, bare, &zero));
    }
    end();
}

/* ---- Scopes and runtimes ---- */

Test(derive_errors, maps_and_functions_whose_scope_is_closed, .init = begin) {
    pith_scope *inner = pith_scope_open_in(s);
    const pith_linearized l = pith_linearize(inner, &trap_of, PITH_ITEMS(ions, by), NULL),
                          v = pith_vjp(inner, &trap_of, PITH_ITEMS(ions, by), NULL);
    const pith_function *g = pith_grad(inner, &trap_of, NULL),
                        *t = pith_linear_transpose(inner, l.map, ions);
    pt_ok(inner, l.map && v.map && g && t);
    pith_scope_close(inner);
    pt_fails(PITH_E_SCOPE, s, pith_call(s, l.map, PITH_ITEMS(ions)));
    pt_says("the scope of the function is closed");
    pt_fails(PITH_E_SCOPE, s, pith_call(s, v.map, PITH_ITEMS(by)));
    pt_fails(PITH_E_SCOPE, s, pith_call(s, g, PITH_ITEMS(ions, by)));
    pt_fails(PITH_E_SCOPE, s, pith_call(s, t, PITH_ITEMS(by)));
    EACH_FAILS(PITH_E_SCOPE, "the scope of the function is closed", g, ions, by, ions,
               NULL);
    pt_fails(PITH_E_SCOPE, s, pith_linear_transpose(s, l.map, ions));
    pt_fails(PITH_E_SCOPE, s, pith_custom_jvp(s, g, &trap_of));
    /* A call on the closed scope. */
    const pith_pushed y = pith_jvp(inner, &trap_of, PITH_ITEMS(ions, by), ions, NULL);
    cr_assert(!y.tangent && pith_code(inner) == PITH_E_SCOPE);
    end();
}

Test(derive_errors, arrays_and_functions_of_other_runtimes, .init = begin) {
    pith_runtime *far = pt_open();
    pith_scope *there = pith_scope_open(far);
    const pith_array *x = pith_f64(there, 1);
    const pith_linearized v = pith_vjp(s, &trap_of, PITH_ITEMS(ions, by), NULL);
    const pith_function *g = pith_grad(s, &trap_of, NULL);
    for (int k = 0; k < WAYS; k++) {
        pt_fails(PITH_E_ARG, s, ways[k].call(&trap_of, ions, x, ions, NULL));
        pt_says("belongs to another runtime");
    }
    pt_fails(PITH_E_ARG, s, pith_call(s, v.map, PITH_ITEMS(x)));
    pt_says("belongs to another runtime");
    /* Functions and maps of this runtime in the other one. */
    pt_fails(PITH_E_ARG, there, pith_call(there, v.map, PITH_ITEMS(x)));
    pt_fails(PITH_E_ARG, there, pith_call(there, g, PITH_ITEMS(ions, by)));
    pt_fails(PITH_E_ARG, there, pith_grad(there, g, NULL));
    pt_fails(PITH_E_ARG, there, pith_keep(there, v.map));
    pt_ok(there, x);
    pith_scope_close(there);
    pt_close(far);
    end();
}
