/* Jacobians and Hessians: closed forms, in both modes, of arrays and of trees, in chunks
 * and at once, and derivatives of them. */
#include "derive_test.h"

static const pith_derive_options each_chunk[] = {{0},
                                                 {.chunk = 1},
                                                 {.chunk = 2},
                                                 {.chunk = 3},
                                                 {.chunk = 100}};
enum { CHUNKS = sizeof each_chunk / sizeof *each_chunk };

typedef const pith_function *
maker(pith_scope *in, const pith_function *f, const pith_derive_options *o);
static maker *const both[2] = {(pith_jacobian_forward), (pith_jacobian_reverse)};

static void has_shape(const pith_array *a, int rank, const int64_t *shape) {
    const pith_spec *spec = pith_array_spec(a);
    pt_ok(s, spec);
    cr_assert(spec->rank == rank, "rank %d, expected %d", spec->rank, rank);
    for (int k = 0; k < rank; k++)
        cr_assert(spec->shape[k] == shape[k], "extent %d is %d, expected %d", k,
                  (int)spec->shape[k], (int)shape[k]);
}
#define HAS_SHAPE(a, ...)                                                                \
    has_shape((a), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),            \
              (int64_t[]){__VA_ARGS__})

static void same_bits(const pith_array *a, const pith_array *b) {
    const pith_spec *spec = pith_array_spec(a);
    pt_ok(s, spec && spec == pith_array_spec(b));
    for (int64_t i = 0; i < spec->count; i++)
        cr_assert(at(a, i) == at(b, i), "element %d: %.17g, expected %.17g", (int)i,
                  at(a, i), at(b, i));
}

/* ---- Arrays ---- */

static const pith_array *squares(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, x);
}
PITH_FUNCTION1(squares_of, squares, pith_array, pith_array)

Test(jacobian, of_squares_is_diagonal, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3, 4, 5);
    for (int mode = 0; mode < 2; mode++)
        for (int k = 0; k < CHUNKS; k++) {
            const pith_array *j =
                pith_apply(s, both[mode](s, &squares_of, &each_chunk[k]), x);
            HAS_SHAPE(j, 5, 5);
            for (int64_t i = 0; i < 25; i++)
                near(j, i, i % 6 ? 0 : 2.0 * (double)(i / 6 + 1));
        }
    close_scope();
}

/* [2,3] -> [4]: element k is the sum over i, l of x[i,l]^2 (k + 2 i + l), by products
 * with constants. */
static const pith_array *weighted(pith_scope *in, const pith_array *x) {
    const pith_array *k = pith_arange(in, PITH_F64, 4), *i = pith_arange(in, PITH_F64, 2),
                     *l = pith_arange(in, PITH_F64, 3);
    const pith_array *w =
        pith_add(in, pith_reshape(in, k, PITH_SHAPE(4, 1, 1)),
                 pith_add(in, pith_mul(in, pith_reshape(in, i, PITH_SHAPE(2, 1)), 2), l));
    return pith_sum(in, pith_mul(in, w, pith_mul(in, x, x)), PITH_AXES(1, 2));
}
PITH_FUNCTION1(weighted_of, weighted, pith_array, pith_array)

static const pith_array *two_by_three(void) {
    return pith_reshape(s, PITH_VECTOR(s, f64, 1, -2, 3, 0.5, 5, -6), PITH_SHAPE(2, 3));
}
static double weighted_slope(const pith_array *x, int64_t k, int64_t e) {
    return 2 * at(x, e) * (double)(k + 2 * (e / 3) + e % 3);
}

Test(jacobian, has_the_axes_of_the_value_then_of_the_argument, .init = open_scope) {
    const pith_array *x = two_by_three();
    for (int mode = 0; mode < 2; mode++)
        for (int c = 0; c < CHUNKS; c++) {
            const pith_array *j =
                pith_apply(s, both[mode](s, &weighted_of, &each_chunk[c]), x);
            HAS_SHAPE(j, 4, 2, 3);
            for (int64_t k = 0; k < 4; k++)
                for (int64_t e = 0; e < 6; e++)
                    near(j, 6 * k + e, weighted_slope(x, k, e));
        }
    close_scope();
}

/* A linear function: its Jacobian is the matrix. */
static const pith_array *
product(pith_scope *in, const pith_array *m, const pith_array *x) {
    return pith_matmul(in, m, x);
}
PITH_FUNCTION2(product_of, product, pith_array, pith_array, pith_array)

Test(jacobian, of_a_linear_function_is_its_matrix, .init = open_scope) {
    const pith_array *m = two_by_three(), *x = PITH_VECTOR(s, f64, 7, 8, 9);
    for (int mode = 0; mode < 2; mode++)
        for (int c = 0; c < CHUNKS; c++) {
            pith_derive_options o = each_chunk[c];
            o.arguments = PITH_ARGUMENT(1);
            same_bits(pith_call(s, both[mode](s, &product_of, &o), PITH_ITEMS(m, x)), m);
            o.arguments = PITH_ARGUMENT(0);
            const pith_array *j =
                pith_call(s, both[mode](s, &product_of, &o), PITH_ITEMS(m, x));
            HAS_SHAPE(j, 2, 2, 3);
            for (int64_t i = 0; i < 12; i++)
                near(j, i, i / 6 == i / 3 % 2 ? at(x, i % 3) : 0);
        }
    close_scope();
}

static const pith_array *total(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_mul(in, x, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(total_of, total, pith_array, pith_array)
static const pith_array *repeated(pith_scope *in, const pith_array *x) {
    return pith_broadcast_to(in, pith_sin(in, x), PITH_SHAPE(3));
}
PITH_FUNCTION1(repeated_of, repeated, pith_array, pith_array)

Test(jacobian, of_rank_0_is_a_gradient_or_a_column, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    for (int mode = 0; mode < 2; mode++) {
        const pith_array *j = pith_apply(s, both[mode](s, &total_of, NULL), x);
        same_bits(j, pith_apply(s, pith_grad(s, &total_of, NULL), x));
        j = pith_apply(s, both[mode](s, &repeated_of, NULL), pith_f64(s, 0.5));
        HAS_SHAPE(j, 3);
        for (int64_t i = 0; i < 3; i++)
            near(j, i, cos(0.5));
    }
    close_scope();
}

Test(jacobian, of_no_elements_is_empty, .init = open_scope) {
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0, 3));
    for (int mode = 0; mode < 2; mode++) {
        HAS_SHAPE(pith_apply(s, both[mode](s, &squares_of, NULL), none), 0, 3, 0, 3);
        HAS_SHAPE(pith_apply(s, both[mode](s, &total_of, NULL), none), 0, 3);
    }
    HAS_SHAPE(pith_apply(s, pith_hessian(s, &total_of, NULL), none), 0, 3, 0, 3);
    close_scope();
}

static const pith_array *narrow(pith_scope *in, const pith_array *x) {
    return pith_cast(in, squares(in, x), PITH_F32);
}
PITH_FUNCTION1(narrow_of, narrow, pith_array, pith_array)

Test(jacobian, dtype_is_of_the_value_or_of_the_argument, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    const pith_array *forward = pith_apply(s, both[0](s, &narrow_of, NULL), x),
                     *reverse = pith_apply(s, both[1](s, &narrow_of, NULL), x);
    pt_ok(s, forward && reverse);
    cr_assert(pith_array_spec(forward)->dtype == PITH_F32);
    cr_assert(pith_array_spec(reverse)->dtype == PITH_F64);
    same_bits(pith_cast(s, forward, PITH_F64), reverse);
    close_scope();
}

/* ---- Trees ---- */

typedef struct {
    const pith_array *energy, *force, *count;
} Result;
PITH_NODE(Result,
          PITH_LEAF(energy, "f64[]"),
          PITH_LEAF(force, "f64[n]"),
          PITH_LEAF(count, "i64[]"))

static const Result *field(pith_scope *in, const Ions *ions) {
    Result r = pith_initial(Result);
    r.energy = pith_sum(in, pith_mul(in, squares(in, ions->position), ions->charge),
                        PITH_ALL_AXES);
    r.force = pith_mul(in, ions->position, 3);
    r.count = pith_sum(in, ions->kind, PITH_ALL_AXES);
    return pith_freeze(in, Result, &r);
}
PITH_FUNCTION1(field_of, field, Result, Ions)

static const Ions *some_ions(void) {
    Ions ions = pith_initial(Ions);
    ions.position = PITH_VECTOR(s, f64, 1, 2, 3);
    ions.charge = PITH_VECTOR(s, f64, 0.5, 1, 2);
    ions.kind = PITH_VECTOR(s, i64, 4, 5, 6);
    return pith_freeze(s, Ions, &ions);
}
static const pith_array *block(const void *tree, const char *of, const char *by) {
    pt_ok(s, tree && pith_kind(tree) == PITH_NODE_DICT);
    const void *row = pith_dict_get(tree, of);
    cr_assert(row && pith_kind(row) == PITH_NODE_DICT, "no %s", of);
    const void *found = pith_dict_get(row, by);
    cr_assert(found && pith_kind(found) == PITH_NODE_LEAF, "no %s by %s", of, by);
    return found;
}

Test(jacobian, of_trees_is_a_dict_of_dicts_by_paths, .init = open_scope) {
    for (int mode = 0; mode < 2; mode++)
        for (int c = 0; c < CHUNKS; c++) {
            pith_derive_options o = each_chunk[c];
            o.skip_integers = true;
            const void *j = pith_apply(s, both[mode](s, &field_of, &o), some_ions());
            cr_assert(pith_child_count(j) == 3);
            const pith_array *energy = block(j, ".energy", ".position"),
                             *charge = block(j, ".energy", ".charge"),
                             *force = block(j, ".force", ".position");
            HAS_SHAPE(energy, 3);
            near(energy, 2, 12);
            near(charge, 1, 4);
            HAS_SHAPE(force, 3, 3);
            for (int64_t i = 0; i < 9; i++) {
                near(force, i, i % 4 ? 0 : 3);
                near(block(j, ".force", ".charge"), i, 0);
            }
            HAS_SHAPE(block(j, ".count", ".position"), 3);
            HAS_SHAPE(block(j, ".force", ".kind"), 3, 3);
        }
    close_scope();
}

Test(jacobian, drops_the_dict_of_an_array, .init = open_scope) {
    static const char *const paths[] = {"[0].position", NULL};
    for (int mode = 0; mode < 2; mode++) {
        const void *j = pith_apply(
            s, both[mode](s, &field_of, &(pith_derive_options){.paths = paths}),
            some_ions());
        pt_ok(s, j && pith_kind(j) == PITH_NODE_DICT);
        near(pith_dict_get(j, ".energy"), 0, 1);
        HAS_SHAPE(pith_dict_get(j, ".force"), 3, 3);
    }
    close_scope();
}

static const pith_array *mixed(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_mul(in, pith_mul(in, x, y), y);
}
PITH_FUNCTION2(mixed_of, mixed, pith_array, pith_array, pith_array)

Test(jacobian, of_several_arguments_has_the_paths_of_their_tuple, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3), *y = pith_f64(s, 4);
    for (int mode = 0; mode < 2; mode++) {
        const void *j = pith_call(
            s,
            both[mode](s, &mixed_of, &(pith_derive_options){.arguments = 3, .chunk = 2}),
            PITH_ITEMS(x, y));
        pt_ok(s, j && pith_kind(j) == PITH_NODE_DICT);
        const pith_array *by_x = pith_dict_get(j, "[0]"), *by_y = pith_dict_get(j, "[1]");
        HAS_SHAPE(by_x, 3, 3);
        HAS_SHAPE(by_y, 3);
        near(by_x, 4, 16);
        near(by_x, 5, 0);
        near(by_y, 2, 2 * 3 * 4);
    }
    close_scope();
}

/* ---- Hessians ---- */

/* The sum over i of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2 */
static const pith_array *rosenbrock(pith_scope *in, const pith_array *x) {
    const pith_array *a = pith_slice_array(in, x, 1, &PITH_SLICE(0, -1, 1)),
                     *b = pith_slice_array(in, x, 1, &PITH_SLICE(1, INT64_MAX, 1));
    return pith_sum(in,
                    pith_expression(in, "100 * square(b - a * a) + square(1 - a)",
                                    PITH_BIND({"a", a}, {"b", b})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(rosenbrock_of, rosenbrock, pith_array, pith_array)

static double rosenbrock_second(const double *x, int n, int i, int j) {
    double h = 0;
    if (i == j && i + 1 < n)
        h += 1200 * x[i] * x[i] - 400 * x[i + 1] + 2;
    if (i == j && i > 0)
        h += 200;
    if (j == i + 1 || i == j + 1)
        h -= 400 * x[i < j ? i : j];
    return h;
}

Test(jacobian, hessian_of_rosenbrock, .init = open_scope) {
    const double x[6] = {1, 0.5, -0.25, 2, 1.5, -1};
    const pith_array *at_x = pith_array_copy(s, PITH_F64, PITH_SHAPE(6), x);
    for (int c = 0; c < CHUNKS; c++) {
        const pith_array *h =
            pith_apply(s, pith_hessian(s, &rosenbrock_of, &each_chunk[c]), at_x);
        HAS_SHAPE(h, 6, 6);
        for (int k = 0; k < 36; k++)
            near(h, k, rosenbrock_second(x, 6, k / 6, k % 6));
    }
    const pith_function *f = &rosenbrock_of;
    for (int mode = 0; mode < 4; mode++) {
        const pith_array *h =
            pith_apply(s, both[mode / 2](s, both[mode % 2](s, f, NULL), NULL), at_x);
        for (int k = 0; k < 36; k++)
            near(h, k, rosenbrock_second(x, 6, k / 6, k % 6));
    }
    close_scope();
}

static const pith_array *trap(pith_scope *in, const Ions *ions) {
    return pith_sum(in, pith_mul(in, squares(in, ions->position), ions->charge),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(trap_of, trap, pith_array, Ions)

Test(jacobian, hessian_of_a_tree_is_a_dict_of_dicts, .init = open_scope) {
    const pith_derive_options o = {.skip_integers = true};
    const void *h = pith_apply(s, pith_hessian(s, &trap_of, &o), some_ions());
    static const double charge[3] = {0.5, 1, 2};
    for (int64_t i = 0; i < 9; i++) {
        const int64_t row = i / 3;
        const bool same = i % 4 == 0;
        near(block(h, ".position", ".position"), i, same ? 2 * charge[row] : 0);
        near(block(h, ".position", ".charge"), i, same ? 2.0 * (double)(row + 1) : 0);
        near(block(h, ".charge", ".position"), i, same ? 2.0 * (double)(row + 1) : 0);
        near(block(h, ".charge", ".charge"), i, 0);
    }
    close_scope();
}

/* ---- Options, and compositions ---- */

typedef struct {
    const pith_array *value, *aux;
} WithAux;
PITH_NODE(WithAux, PITH_LEAF(value, "f64[n]"), PITH_LEAF(aux, "f64[]"))
static const WithAux *with_aux(pith_scope *in, const pith_array *x) {
    return pith_record(in, WithAux, .value = squares(in, x), .aux = total(in, x));
}
PITH_FUNCTION1(with_aux_of, with_aux, WithAux, pith_array)

Test(jacobian, aux_is_returned_unchanged, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    for (int mode = 0; mode < 2; mode++)
        for (int64_t chunk = 0; chunk < 4; chunk++) {
            const pith_derive_options o = {.aux = true, .chunk = chunk};
            const void *two = pith_apply(s, both[mode](s, &with_aux_of, &o), x);
            near(item(two, 1), 0, 14);
            HAS_SHAPE(item(two, 0), 3, 3);
            near(item(two, 0), 8, 6);
        }
    close_scope();
}

typedef struct {
    const pith_array *value, *aux;
} Scored;
PITH_NODE(Scored, PITH_LEAF(value, "f64[]"), PITH_LEAF(aux, "f64[n]"))
static const Scored *scored(pith_scope *in, const pith_array *x) {
    return pith_record(in, Scored, .value = total(in, x), .aux = squares(in, x));
}
PITH_FUNCTION1(scored_of, scored, Scored, pith_array)

Test(jacobian, hessian_returns_aux, .init = open_scope) {
    const pith_derive_options o = {.aux = true};
    const void *two =
        pith_apply(s, pith_hessian(s, &scored_of, &o), PITH_VECTOR(s, f64, 1, 2, 3));
    near(item(two, 0), 4, 2);
    near(item(two, 0), 5, 0);
    near(item(two, 1), 2, 9);
    close_scope();
}

/* Infinity times 0, unless 0 is strong. */
static const pith_array *guarded(pith_scope *in, const pith_array *x) {
    return pith_where(in, pith_greater(in, x, 0), pith_sqrt(in, x), x);
}
PITH_FUNCTION1(guarded_of, guarded, pith_array, pith_array)

Test(jacobian, strong_zero_and_find_nonfinite_are_kept, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 4, 0, 1);
    for (int mode = 0; mode < 2; mode++)
        for (int64_t chunk = 0; chunk < 3; chunk++) {
            const pith_derive_options strong = {.strong_zero = true, .chunk = chunk},
                                      find = {.find_nonfinite = true, .chunk = chunk};
            const pith_array *j = pith_apply(s, both[mode](s, &guarded_of, &strong), x);
            near(j, 0, 0.25);
            near(j, 4, 1);
            near(j, 8, 0.5);
            near(j, 5, 0);
            const pith_function *finding = both[mode](s, &guarded_of, &find);
            j = pith_apply(s, finding, PITH_VECTOR(s, f64, 4, 1, 1));
            near(j, 4, 0.5);
            pt_fails(PITH_E_CHECK, s, (pith_apply(s, finding, x), pith_wait(s)));
            pt_says("at element [1]");
        }
    close_scope();
}

Test(jacobian, calls_are_cached, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    for (int k = 0; k < 4; k++)
        pith_apply(s, pith_jacobian_forward(s, &squares_of, NULL), x);
    cr_assert(pith_jit_about(rt).misses == 1 && pith_jit_about(rt).hits == 3);
    pith_apply(
        s, pith_jacobian_forward(s, &squares_of, &(pith_derive_options){.chunk = 2}), x);
    pith_apply(s, pith_jacobian_reverse(s, &squares_of, NULL), x);
    pith_apply(s, pith_jacobian_reverse(s, &squares_of, NULL), PITH_VECTOR(s, f64, 1, 2));
    cr_assert(pith_jit_about(rt).misses == 4);
    close_scope();
}
