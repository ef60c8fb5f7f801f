/* Loops with a record against values and derivatives of JAX (record_values.py). */
#include "derive_test.h"

static const struct {
    double start[3], a;
    int iterations;
    double value, by_x[3], by_a, product[3];
} values[] = {
#include "record_values.def"
};

typedef struct {
    const pith_array *x, *a, *count;
} Path;
PITH_NODE(Path, PITH_LEAF(x, "f64[n]"), PITH_LEAF(a, "f64[]"), PITH_LEAF(count, "i64[]"))

static const pith_array *is_inside(pith_scope *in, const Path *p) {
    return pith_less(in, pith_sum(in, pith_mul(in, p->x, p->x), PITH_ALL_AXES), 40);
}
static const Path *outward(pith_scope *in, const Path *p) {
    Path next = *p;
    const pith_array *rolled = pith_roll(in, p->x, 1, 0);
    next.x = pith_expression(in, "x * (a + 0.1 * sin(x)) + 0.01 * r",
                             PITH_BIND({"x", p->x}, {"a", p->a}, {"r", rolled}));
    next.count = pith_add(in, p->count, 1);
    return pith_freeze(in, Path, &next);
}
PITH_FUNCTION1(is_inside_test, is_inside, pith_array, Path)
PITH_FUNCTION1(outward_step, outward, Path, Path)
static const Path *end_of(pith_scope *in, const pith_array *x, const pith_array *a) {
    const Path *first = pith_record(in, Path, .x = x, .a = a, .count = pith_i64(in, 0));
    return pith_while_recorded(in, &is_inside_test, &outward_step, first,
                               &(pith_record_options){.most = 21});
}
static const pith_array *path(pith_scope *in, const pith_array *x, const pith_array *a) {
    const Path *last = end_of(in, x, a);
    return pith_sum(in,
                    pith_expression(in, "exp(-0.1 * x) * x", PITH_BIND({"x", last->x})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION2(path_of, path, pith_array, pith_array, pith_array)

static void like(double got, double wanted, double scale) {
    cr_assert(fabs(got - wanted) <= 1e-11 * scale, "%.17g, not %.17g", got, wanted);
}

Test(derive_record_jax, values_and_derivatives_are_those_of_jax, .init = open_scope) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const pith_array *direction = PITH_VECTOR(s, f64, 1, -0.5, 0.25);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        const pith_array *x =
                             pith_array_copy(s, PITH_F64, PITH_SHAPE(3), values[k].start),
                         *a = pith_f64(s, values[k].a);
        cr_assert(pith_read_i64(s, end_of(s, x, a)->count) == values[k].iterations);
        const void *pair = pith_call(s, pith_value_and_grad(s, &path_of, &both),
                                     PITH_ITEMS(x, a)),
                   *g = item(pair, 1);
        const void *h = pith_call(s, pith_hessian_product(s, &path_of, NULL),
                                  PITH_ITEMS(x, a, direction));
        like(at(item(pair, 0), 0), values[k].value, 10);
        like(at(item(g, 1), 0), values[k].by_a, 100);
        for (int i = 0; i < 3; i++) {
            like(at(item(g, 0), i), values[k].by_x[i], 200);
            like(at(item(h, 1), i), values[k].product[i], 8000);
        }
    }
    close_scope();
}
