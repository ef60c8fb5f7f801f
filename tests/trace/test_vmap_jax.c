/* Batches against those of JAX: operations, branches, loops and indices with operands
 * mapped along any axis or shared, batches of batches, and tangents and gradients of
 * batches. The table is jax_batches.def, made by jax_batches.py. */
#include "jax_case.h"

typedef struct {
    jax_point point;      /* first */
    const char *in, *out; /* axes of the operands, and of the value, by level */
    numbers value, tangent, gradients;
} jax_case;

#define CASE(function, parameters, shapes, kind, in, out, ...)                           \
    {{function, parameters, shapes, kind, {0, NULL}}, in, out, __VA_ARGS__},
static const jax_case cases[] = {
#include "jax_batches.def"
};
enum { CASES = sizeof cases / sizeof *cases };

/* Read an axis, or "n"; moves to the next one. */
static int read_axis(const char **at) {
    char *end = NULL;
    const int axis = **at == 'n' ? PITH_NOT_MAPPED : (int)strtol(*at, &end, 10);
    *at = end ? end : *at + 1;
    *at += **at == ',';
    return axis;
}

/* The batch of levels from the outermost one on. */
static const pith_function *batch_of(const char *in, const char *out, int64_t chunk) {
    static const char *const paths[] = {"[0].operands[0]", "[0].operands[1]",
                                        "[0].operands[2]"};
    pith_mapped operands_of[JAX_OPERANDS + 1] = {{NULL, 0}},
                                           value_in[] = {{"", read_axis(&out)},
                                                         {NULL, 0}};
    for (int k = 0; *in && *in != '|'; k++)
        operands_of[k] = (pith_mapped){paths[k], read_axis(&in)};
    const pith_function *f = *in ? batch_of(in + 1, out + 1, chunk) : &value_of;
    return pith_vmap(
        s, f, &(pith_vmap_options){.in = operands_of, .out = value_in, .chunk = chunk});
}

static int64_t chunk;

static void run_case(const jax_point *c, pith_dtype dtype, double bound) {
    const jax_case *of = (const jax_case *)(const void *)c;
    const void *xs, *ts;
    read_operands(c, dtype, &xs, &ts);
    const Point *point = pith_record(s, Point, .function = c->function,
                                     .parameters = c->parameters, .operands = xs);
    const pith_function *all = batch_of(of->in, of->out, chunk);
    const pith_array *y = pith_call(s, all, PITH_ITEMS(point));
    compare(c, dtype, "value", y, &of->value, bound);
    if (of->tangent.count) {
        const pith_pushed pushed = pith_jvp(s, all, PITH_ITEMS(point), ts, &operands);
        compare(c, dtype, "tangent", pushed.tangent, &of->tangent, bound);
    }
    if (of->gradients.count) {
        const pith_array *ct = cotangent_like(y);
        const pith_linearized v = pith_vjp(s, all, PITH_ITEMS(point), &operands);
        compare(c, dtype, "gradients", v.map ? pith_call(s, v.map, PITH_ITEMS(ct)) : NULL,
                &of->gradients, bound);
    }
}

static void run_all(pith_dtype dtype, double bound) {
    for (int k = 0; k < CASES; k++)
        run_in_scope(&cases[k].point, dtype, bound, run_case);
    cr_assert(wrong == 0, "%d numbers differ", wrong);
    cr_assert(CASES > 600);
}

Test(vmap_jax, f64, .init = open_scope) {
    run_all(PITH_F64, 1e-11);
    close_scope();
}
Test(vmap_jax, f32, .init = open_scope) {
    run_all(PITH_F32, 2e-5);
    close_scope();
}
Test(vmap_jax, f64_in_chunks, .init = open_scope) {
    chunk = 2;
    run_all(PITH_F64, 1e-11);
    close_scope();
}
