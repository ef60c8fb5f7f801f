/* Derivatives against those of JAX, in every float dtype: forward, reverse, the map of
 * pith_linearize, and second derivatives by forward over reverse and reverse over
 * reverse. The table is jax_derivatives.def, made by jax_derivatives.py. */
#include "jax_case.h"

typedef struct {
    jax_point point; /* first */
    numbers tangent, gradients, second;
} jax_case;

#define CASE(function, parameters, shapes, kind, operands, ...)                          \
    {{function, parameters, shapes, kind, operands}, __VA_ARGS__},
static const jax_case cases[] = {
#include "jax_derivatives.def"
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- Derivatives ---- */

/* The gradients, by the map of pith_vjp. */
static const void *pull(pith_scope *in, const Point *point, const pith_array *ct) {
    const pith_linearized v = pith_vjp(in, &value_of, PITH_ITEMS(point), &operands);
    return v.map ? pith_call(in, v.map, PITH_ITEMS(ct)) : NULL;
}
PITH_FUNCTION2(pull_of, pull, void, Point, pith_array)

/* The product of the gradients with tangents. */
static const pith_array *
pull_along(pith_scope *in, const Point *point, const pith_array *ct, const void *t) {
    const void *g = pull(in, point, ct);
    const pith_array *sum = NULL;
    for (int64_t k = 0; k < pith_child_count(g); k++) {
        const pith_array *a = pith_sum(
            in, pith_mul(in, pith_child(g, k), (const pith_array *)pith_child(t, k)),
            PITH_ALL_AXES);
        sum = sum ? pith_add(in, sum, a) : a;
    }
    return sum;
}
PITH_FUNCTION3(pull_along_of, pull_along, pith_array, Point, pith_array, void)

/* ---- Cases ---- */

static void run_case(const jax_point *c, pith_dtype dtype, double bound) {
    const jax_case *of = (const jax_case *)(const void *)c;
    const void *xs, *ts;
    read_operands(c, dtype, &xs, &ts);
    const Point *point = pith_record(s, Point, .function = c->function,
                                     .parameters = c->parameters, .operands = xs);
    const pith_array *ct = cotangent_like(value(s, point));
    pt_ok(s, ct);
    if (strcmp(c->function, "rule_clip")) { /* it has a rule for reverse mode alone */
        const pith_pushed y = pith_jvp(s, &value_of, PITH_ITEMS(point), ts, &operands);
        compare(c, dtype, "forward", y.tangent, &of->tangent, bound);
        const pith_linearized l =
            pith_linearize(s, &value_of, PITH_ITEMS(point), &operands);
        compare(c, dtype, "map", l.map ? pith_call(s, l.map, PITH_ITEMS(ts)) : NULL,
                &of->tangent, bound);
    }
    if (!strncmp(c->function, "while", 5))
        return;
    const void *g = pull(s, point, ct);
    compare(c, dtype, "reverse", g, &of->gradients, bound);
    const void *h = pith_jvp(s, &pull_of, PITH_ITEMS(point, ct), ts, &operands).tangent;
    if (of->second.count == of->gradients.count)
        compare(c, dtype, "forward over reverse", h, &of->second, bound);
    h = pith_call(s, pith_grad(s, &pull_along_of, &operands), PITH_ITEMS(point, ct, ts));
    if (of->second.count == of->gradients.count)
        compare(c, dtype, "reverse over reverse", h, &of->second, bound);
}

static void run_all(pith_dtype dtype, double bound) {
    for (int k = 0; k < CASES; k++)
        run_in_scope(&cases[k].point, dtype, bound, run_case);
    cr_assert(wrong == 0, "%d numbers differ", wrong);
}

Test(derive_jax, f64, .init = open_scope) {
    run_all(PITH_F64, 1e-11);
    close_scope();
}
Test(derive_jax, f32, .init = open_scope) {
    run_all(PITH_F32, 2e-5);
    close_scope();
}
Test(derive_jax, f16, .init = open_scope) {
    run_all(PITH_F16, 2e-2);
    close_scope();
}
Test(derive_jax, bf16, .init = open_scope) {
    run_all(PITH_BF16, 1e-1);
    close_scope();
}
