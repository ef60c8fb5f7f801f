/* C emitter of map-reduce: a fused step and the reduction of its result in one loop
 * (source/map_reduce.h). */
#include "program/emit/fused.h"
#include "program/emit/reducers.h"

#include <string.h>

/* Whether a step computes the operand of the reduction element by element from contiguous
 * memory. Functions of math.def would use up the registers of the lanes. */
static bool makes_elements(const pithp_fused_step *a) {
    pithp_step_text x;
    bool calls = false;
    pithp_step_text_begin(&x, NULL, a);
    for (int e = 0; e < a->external_count; e++)
        x.is_hoisted[e] = pithp_is_uniform(a, &a->externals[e]);
    for (int k = 0; k < a->op_count; k++)
        calls |= pithp_op_calls_maths(&a->ops[k]);
    return pithp_is_direct(a) && pithp_step_text_is_plain(&x) && !calls;
}

pithp_map_reduce pithp_map_reduce_of(const pithp_plan *plan, const pithp_step *step) {
    pithp_map_reduce map_reduce = {.reducer = -1, .external = -1};
    if (step->fused_reduction < 0 || !makes_elements(step->fused))
        return map_reduce;
    const pithp_step *reduction = &plan->steps[step->fused_reduction];
    const pithp_call call = pithp_call_of(reduction->call->primitive, 1, reduction->specs,
                                          reduction->call->params);
    map_reduce.rows = pithp_reduce_view_of(&call).inner == 1;
    map_reduce.external = pithp_plan_external(step, reduction->produced);
    map_reduce.reducer =
        pithp_text_reducer_of(call.primitive, reduction->specs[0]->dtype);
    /* row loops of minima and maxima are faster without the order of NaNs and zeros,
     * which seldom matters */
    if (map_reduce.rows &&
        pithp_text_reducer_chooses(&pithp_text_reducers[map_reduce.reducer]))
        map_reduce.reducer = -1;
    return map_reduce;
}

static void add_from(const void *closure, int e) {
    const pithp_step_text *x = closure;
    pithp_string_print(x->t, x->is_hoisted[e] ? "from.x%d" : "from.x%d[i]", e);
}

/* Emit NAME_from and NAME_open. */
static void add_open(const pithp_step_text *x, const char *name, int reduced) {
    pithp_string_print(x->t, "typedef struct %s_from {\n", name);
    for (int e = 0; e < x->a->external_count; e++)
        if (e != reduced)
            pithp_string_print(x->t,
                               x->is_hoisted[e] ? "    %s x%d;\n" : "    %s *x%d;\n",
                               pithp_dtype_spelling(x->dtype[e]), e);
    pithp_string_print(x->t,
                       "} %s_from;\n"
                       "M_FN %s_from %s_open(char *const *at) {\n    %s_from from;\n",
                       name, name, name, name);
    for (int e = 0; e < x->a->external_count; e++)
        if (e != reduced)
            pithp_string_print(x->t, "    from.x%d = %s(%s *)at[%d];\n", e,
                               x->is_hoisted[e] ? "*" : "",
                               pithp_dtype_spelling(x->dtype[e]), e);
    pithp_string_add(x->t, "    return from;\n}\n");
}

static void add_element(const pithp_step_text *x,
                        const char *name,
                        const pithp_text_reducer *r,
                        int reduced) {
    const pithp_elements memory = {add_from, x};
    char element[PITHP_ELEMENT_NAME_BYTES];
    pithp_step_text inner = *x; /* no variable is declared before the loops */
    memset(inner.is_hoisted, 0, (size_t)x->a->external_count * sizeof *inner.is_hoisted);
    pithp_string_print(x->t, "M_FN %s %s_element(const %s_from from, i64 i) {\n",
                       r->accumulator, name, name);
    pithp_step_text_values(&inner, "    ", &memory);
    pithp_step_text_stores(&inner, "    ", &memory, reduced);
    pithp_step_text_element(x, reduced, element);
    pithp_string_print(x->t, "    return %s(%s);\n}\n", r->loaded, element);
}

void pithp_emit_map_reduce(pithp_string *t,
                           const char *name,
                           const pithp_fused_step *step,
                           pithp_map_reduce map_reduce) {
    const pithp_text_reducer *r = &pithp_text_reducers[map_reduce.reducer];
    pithp_step_text x;
    pithp_step_text_begin(&x, t, step);
    for (int e = 0; e < step->external_count; e++)
        x.is_hoisted[e] = pithp_is_uniform(step, &step->externals[e]);
    add_open(&x, name, map_reduce.external);
    add_element(&x, name, r, map_reduce.external);
    pithp_string_print(t, "M_MAP_REDUCE_%s(%s, %s, %s, %s)\n",
                       map_reduce.rows ? "ROWS" : "COLUMNS", name, r->accumulator,
                       r->identity, r->combine);
}
