/* Translation unit: the text of a plan's fused steps and compiled loops. */
#include "base/hash_index.h"
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/emit/loop.h"
#include "program/host/math/link.h"

#include <stdio.h>
#include <string.h>

void pithp_step_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function) {
    snprintf(name, PITHP_STEP_NAME_BYTES, "%.*s_%lld", PITHP_PREFIX_BYTES - 1, prefix,
             (long long)function);
}

/* A function, and the fused step that it runs, perhaps with a reduction of its result.
 * NULL: a loop, which is not shared. */
typedef struct function {
    const pithp_fused_step *step;
    pithp_map_reduce map_reduce;
} function;

typedef struct module {
    pithp_string *t;
    char prefix[PITHP_PREFIX_BYTES];
    pithp_emitted_ops ops;
    /* Capacity: the steps of all plans. */
    function *functions;
    pithp_hash_index index; /* by the hashes of their steps */
} module;

/* ---- Sharing ---- */

/* The number of the function of an equal step, or of a new one. */
static int32_t function_of(module *x,
                           const pithp_fused_step *step,
                           const pithp_map_reduce *map_reduce,
                           bool *is_new) {
    const uint64_t hash = pithp_fused_hash(step);
    int32_t k = pithp_hash_index_last(&x->index, hash);
    for (; k >= 0; k = pithp_hash_index_before(&x->index, k)) {
        const function *f = &x->functions[k];
        if (f->step && pithp_map_reduce_equal(&f->map_reduce, map_reduce) &&
            pithp_fused_alike(f->step, step))
            break;
    }
    *is_new = k < 0;
    if (k >= 0)
        return k;
    x->functions[x->index.count] = (function){step, *map_reduce};
    pithp_hash_index_add(&x->index, hash);
    return x->index.count - 1;
}

/* ---- The host ---- */

static void declare(const module *x, int32_t number, char name[PITHP_STEP_NAME_BYTES]) {
    pithp_step_name(name, x->prefix, number);
    pithp_string_print(x->t, "void %s(const void *args, i64 begin, i64 end);\n", name);
}

static int32_t add_fused(module *x, const pithp_plan *plan, const pithp_step *whole) {
    char name[PITHP_STEP_NAME_BYTES];
    const pithp_fused_step *step = whole->fused;
    const pithp_map_reduce map_reduce = pithp_map_reduce_of(plan, whole);
    bool is_new;
    const int32_t number = function_of(x, step, &map_reduce, &is_new);
    if (!is_new)
        return number;
    pithp_emit_op_functions(x->t, &x->ops, step);
    declare(x, number, name);
    if (pithp_map_reduces(&map_reduce))
        pithp_emit_map_reduce(x->t, name, step, &map_reduce);
    else
        pithp_emit_fused(x->t, name, step);
    return number;
}

static int32_t add_loop(module *x, const pithp_plan *plan, const pithp_step *step) {
    char name[PITHP_STEP_NAME_BYTES];
    const int32_t number = x->index.count;
    x->functions[number] = (function){.step = NULL};
    pithp_hash_index_add(&x->index, 0);
    pithp_emit_loop_functions(x->t, &x->ops, step);
    declare(x, number, name);
    pithp_string_print(x->t, "void %s", name);
    pithp_emit_loop(x->t, plan, step);
    return number;
}

static void add_plan(module *x, const pithp_plan *plan, int32_t *functions) {
    for (int64_t k = 0; k < plan->step_count; k++)
        functions[k] =
            plan->steps[k].kind == PITHP_STEP_FUSED  ? add_fused(x, plan, &plan->steps[k])
            : pithp_loop_fits(plan, &plan->steps[k]) ? add_loop(x, plan, &plan->steps[k])
                                                     : -1;
}

bool pithp_emit_host_all(pithp_string *t,
                         pithp_plan *const *plans,
                         int64_t count,
                         int32_t *const *functions,
                         bool *maths) {
    int64_t steps = 0;
    for (int64_t k = 0; k < count; k++)
        steps += plans[k]->step_count;
    const size_t bytes = (size_t)steps * sizeof(function);
    module x = {.t = t, .functions = pithp_allocate(t->rt, bytes)};
    if (!x.functions || !pithp_hash_index_reserve(t->rt, &x.index, (int32_t)steps)) {
        pithp_release(t->rt, x.functions, bytes);
        return false;
    }
    pithp_debug_prefix(x.prefix, plans[0]);
    x.ops.as_macros = pithp_debug_lines();
    pithp_string_add(t, pithp_text_host);
    pithp_debug_prologue(t);
    for (int64_t k = 0; k < count; k++)
        add_plan(&x, plans[k], functions[k]);
    if (x.ops.maths)
        pithp_math_text(t);
    *maths = x.ops.maths;
    const bool any = x.index.count > 0;
    pithp_hash_index_free(t->rt, &x.index);
    pithp_release(t->rt, x.functions, bytes);
    return any && !t->failed;
}

bool pithp_emit_host(pithp_string *t, pithp_plan *plan, int32_t *functions, bool *maths) {
    return pithp_emit_host_all(t, &plan, 1, &functions, maths);
}
