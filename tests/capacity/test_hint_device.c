/* Exact hints of gradients on a CUDA device that is made of host memory (gpu/fake_cuda):
 * a call that runs before its compiled code is ready takes more memory. */
#include "pith/pith.h"

#include "pith_test.h"

enum { COUNT = 10000 };

static const pith_array *waves(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_exp(in, pith_sin(in, pith_cumsum(in, x, 0, NULL)));
    return pith_sum(in, pith_mul(in, pith_mul(in, x, y), pith_sin(in, y)), PITH_ALL_AXES);
}
PITH_FUNCTION1(waves_of, waves, pith_array, pith_array)

typedef struct peaks {
    size_t hint, first, later; /* bytes */
    pith_program_costs costs;
} peaks;

/* The hint of the gradient, and the peaks of its first call and of a later one. */
static peaks measure(const char *device, const char *jit) {
    setenv("PITH_JIT", jit, 1);
    pith_runtime *rt = pt_open_on(device);
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_mul(s, pith_arange(s, PITH_F64, COUNT), 1e-3);
    pith_wait(s);
    const pith_function *g = pith_grad(s, &waves_of, NULL);
    peaks p = {
        .hint =
            pith_hint_gradient_exact(s, &waves_of, PITH_ITEMS(x), 1, NULL).per_sample};
    p.first = pith_measure_peak(s, g, PITH_ITEMS(x));
    p.later = pith_measure_peak(s, g, PITH_ITEMS(x));
    p.costs = pith_program_cost(s, g, PITH_ITEMS(x));
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
    return p;
}

Test(hint_device, covers_calls_before_compiled_code_is_ready) {
    const peaks waiting = measure("cuda", "off"), compiled = measure("cuda", "wait");
    cr_assert(waiting.first > compiled.later, "%zu and %zu bytes: the case is not tested",
              waiting.first, compiled.later);
    cr_assert(compiled.hint == waiting.first && waiting.hint == waiting.first,
              "hints of %zu and %zu bytes, %zu are needed", compiled.hint, waiting.hint,
              waiting.first);
    const pith_program_costs *c = &compiled.costs;
    cr_assert(c->first_workspace_bytes + c->output_bytes == waiting.first);
    cr_assert(c->workspace_bytes + c->output_bytes == compiled.later,
              "%zu and %zu bytes, %zu measured", c->workspace_bytes, c->output_bytes,
              compiled.later);
}

Test(hint_device, is_the_peak_of_both_on_the_host) {
    const peaks waiting = measure("host", "off"), compiled = measure("host", "wait");
    cr_assert(waiting.hint == waiting.first && compiled.hint == waiting.hint);
    cr_assert(compiled.first == compiled.hint && compiled.later == compiled.hint);
    cr_assert(compiled.costs.first_workspace_bytes == compiled.costs.workspace_bytes);
}
