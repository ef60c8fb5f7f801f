/* Jacobians and Hessians: the Jacobian of a linear function of 64 variables beside one
 * product of two 64 by 64 matrices, and the Hessian of 30 variables. One thread.
 *
 * Peers within pith: "product" a compiled product, "gradients" one Hessian-vector product
 * for each variable. Rows: jacobian/... */
#include "bench.h"

enum { LINEAR = 64, VARIABLES = 30 };

static const pith_array *linear(pith_scope *s, const pith_array *m, const pith_array *x) {
    return pith_matmul(s, m, x);
}
PITH_FUNCTION2(linear_of, linear, pith_array, pith_array, pith_array)

static const pith_array *rosenbrock(pith_scope *s, const pith_array *x) {
    const pith_array *a = pith_slice_array(s, x, 1, &PITH_SLICE(0, -1, 1)),
                     *b = pith_slice_array(s, x, 1, &PITH_SLICE(1, INT64_MAX, 1));
    return pith_sum(s,
                    pith_expression(s, "100 * square(b - a * a) + square(1 - a)",
                                    PITH_BIND({"a", a}, {"b", b})),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(rosenbrock_of, rosenbrock, pith_array, pith_array)

typedef struct {
    pith_scope *s;
    const pith_function *f;
    int64_t count;
    const void *arguments[2];
    const pith_array *directions[VARIABLES];
} work;

static void call(void *closure) {
    const work *w = closure;
    bench_call(w->s, w->f, (int)w->count, w->arguments);
}
static void call_each(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    for (int k = 0; k < VARIABLES; k++)
        pith_call(s, w->f, PITH_ITEMS(w->arguments[0], w->directions[k]));
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}

static void linear_rows(pith_scope *s, const char *only) {
    if (!bench_wanted("jacobian/linear", only))
        return;
    static double values[LINEAR * LINEAR];
    for (int k = 0; k < LINEAR * LINEAR; k++)
        values[k] = (k * 37 + 11) % 101 / 16.0 - 3;
    const pith_array *m =
                         pith_array_copy(s, PITH_F64, PITH_SHAPE(LINEAR, LINEAR), values),
                     *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(LINEAR), values);
    const pith_derive_options of_x = {.arguments = PITH_ARGUMENT(1)};
    work forward = {s, pith_jacobian_forward(s, &linear_of, &of_x), 2, {m, x}, {NULL}},
         reverse = {s, pith_jacobian_reverse(s, &linear_of, &of_x), 2, {m, x}, {NULL}},
         product = {s, pith_jit(s, &linear_of, NULL), 2, {m, m}, {NULL}};
    bench_row("jacobian/linear forward", "us", 1e6, 2,
              (bench_entry[]){{"pith", call, &forward}, {"product", call, &product}});
    bench_row("jacobian/linear reverse", "us", 1e6, 2,
              (bench_entry[]){{"pith", call, &reverse}, {"product", call, &product}});
}

static void hessian_rows(pith_scope *s, const char *only) {
    if (!bench_wanted("jacobian/hessian", only))
        return;
    double values[VARIABLES];
    for (int k = 0; k < VARIABLES; k++)
        values[k] = k % 7 / 4.0 - 0.5;
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(VARIABLES), values);
    work whole = {s, pith_hessian(s, &rosenbrock_of, NULL), 1, {x}, {NULL}},
         each = {s, pith_hessian_product(s, &rosenbrock_of, NULL), 2, {x}, {NULL}};
    for (int k = 0; k < VARIABLES; k++) {
        double unit[VARIABLES] = {0};
        unit[k] = 1;
        each.directions[k] = pith_array_copy(s, PITH_F64, PITH_SHAPE(VARIABLES), unit);
    }
    bench_row("jacobian/hessian", "us", 1e6, 2,
              (bench_entry[]){{"pith", call, &whole}, {"gradients", call_each, &each}});
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    bench_compiled("wait", linear_rows, only);
    bench_compiled("wait", hessian_rows, only);
    return 0;
}
