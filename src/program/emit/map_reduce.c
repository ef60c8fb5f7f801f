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

/* The first of the siblings that the step makes values for; NULL: none. */
static const pithp_step *siblings_of(const pithp_plan *plan, const pithp_step *step) {
    for (const pithp_step *k = step + 1; k < plan->steps + plan->step_count; k++)
        if (k->siblings && k->producer == step - plan->steps)
            return k;
    return NULL;
}

static int reducer_of(const pithp_step *reduction) {
    return pithp_text_reducer_of(reduction->call->primitive, reduction->specs[0]->dtype);
}

/* Minima and maxima are faster without the order of NaNs and zeros, which seldom
 * matters. */
static bool is_slow(int reducer) {
    return reducer < 0 || pithp_text_reducer_chooses(&pithp_text_reducers[reducer]);
}

static void
find_siblings(pithp_map_reduce *m, const pithp_plan *plan, const pithp_step *step) {
    const pithp_step *first = siblings_of(plan, step);
    for (int k = 0; first && k <= first->siblings; k++) {
        const pithp_step *reduction = first + k;
        m->siblings[k].reducer = reducer_of(reduction);
        m->siblings[k].external = pithp_plan_external(step, reduction->produced);
        m->siblings[k].stored = !pithp_is_buffered(plan, reduction->produced);
        if (is_slow(m->siblings[k].reducer))
            return;
    }
    m->sibling_count = first ? first->siblings + 1 : 0;
}

pithp_map_reduce pithp_map_reduce_of(const pithp_plan *plan, const pithp_step *step) {
    pithp_map_reduce map_reduce = {.reducer = -1, .external = -1};
    const bool reduced = step->fused_reduction >= 0;
    if ((!reduced && !step->runs_in_consumer) || !makes_elements(step->fused))
        return map_reduce;
    if (!reduced) {
        find_siblings(&map_reduce, plan, step);
        return map_reduce;
    }
    const pithp_step *reduction = &plan->steps[step->fused_reduction];
    const pithp_call call = pithp_call_of(reduction->call->primitive, 1, reduction->specs,
                                          reduction->call->params);
    map_reduce.rows = pithp_reduce_view_of(&call).inner == 1;
    map_reduce.external = pithp_plan_external(step, reduction->produced);
    map_reduce.reducer = reducer_of(reduction);
    if (map_reduce.rows && is_slow(map_reduce.reducer))
        map_reduce.reducer = -1;
    return map_reduce;
}

bool pithp_map_reduce_equal(const pithp_map_reduce *a, const pithp_map_reduce *b) {
    bool same = a->reducer == b->reducer && a->external == b->external &&
                a->rows == b->rows && a->sibling_count == b->sibling_count;
    for (int k = 0; k < a->sibling_count && same; k++)
        same = a->siblings[k].reducer == b->siblings[k].reducer &&
               a->siblings[k].external == b->siblings[k].external &&
               a->siblings[k].stored == b->siblings[k].stored;
    return same;
}

static void add_from(const void *closure, int e) {
    const pithp_step_text *x = closure;
    pithp_string_print(x->t, x->is_hoisted[e] ? "from.x%d" : "from.x%d[i]", e);
}

/* Emit NAME_from and NAME_open. */
static void add_open(const pithp_step_text *x, const char *name, const bool *reduced) {
    pithp_string_print(x->t, "typedef struct %s_from {\n", name);
    for (int e = 0; e < x->a->external_count; e++)
        if (!reduced[e])
            pithp_string_print(x->t,
                               x->is_hoisted[e] ? "    %s x%d;\n" : "    %s *x%d;\n",
                               pithp_dtype_spelling(x->dtype[e]), e);
    pithp_string_print(x->t,
                       "} %s_from;\n"
                       "M_FN %s_from %s_open(char *const *at) {\n    %s_from from;\n",
                       name, name, name, name);
    for (int e = 0; e < x->a->external_count; e++)
        if (!reduced[e])
            pithp_string_print(x->t, "    from.x%d = %s(%s *)at[%d];\n", e,
                               x->is_hoisted[e] ? "*" : "",
                               pithp_dtype_spelling(x->dtype[e]), e);
    pithp_string_add(x->t, "    return from;\n}\n");
}

/* Emit the statements that compute the elements of index i, and store those that are not
 * reduced alone. */
static void add_values(const pithp_step_text *x, const bool *reduced) {
    const pithp_elements memory = {add_from, x};
    pithp_step_text inner = *x; /* no variable is declared before the loops */
    memset(inner.is_hoisted, 0, (size_t)x->a->external_count * sizeof *inner.is_hoisted);
    pithp_step_text_values(&inner, "    ", &memory);
    pithp_step_text_stores(&inner, "    ", &memory, reduced);
}

static void add_element(const pithp_step_text *x,
                        const char *name,
                        const pithp_text_reducer *r,
                        const bool *reduced,
                        int external) {
    char element[PITHP_ELEMENT_NAME_BYTES];
    pithp_string_print(x->t, "M_FN %s %s_element(const %s_from from, i64 i) {\n",
                       r->accumulator, name, name);
    add_values(x, reduced);
    pithp_step_text_element(x, external, element);
    pithp_string_print(x->t, "    return %s(%s);\n}\n", r->loaded, element);
}

/* ---- Siblings ---- */

/* Emit a line for each sibling: its number, and names of its reducer. */
typedef void add_line(const pithp_step_text *x, int k, const pithp_text_reducer *r);
static void each(const pithp_step_text *x, const pithp_map_reduce *m, add_line *add) {
    for (int k = 0; k < m->sibling_count; k++)
        add(x, k, &pithp_text_reducers[m->siblings[k].reducer]);
}
static void add_member(const pithp_step_text *x, int k, const pithp_text_reducer *r) {
    pithp_string_print(x->t, "    %s v%d;\n", r->accumulator, k);
}
static void add_lanes(const pithp_step_text *x, int k, const pithp_text_reducer *r) {
    pithp_string_print(x->t, "    %s lanes%d[64];\n", r->accumulator, k);
}
static void add_first(const pithp_step_text *x, int k, const pithp_text_reducer *r) {
    (void)r;
    pithp_string_print(x->t, "            lanes%d[j] = made.v%d;\n", k, k);
}
static void add_next(const pithp_step_text *x, int k, const pithp_text_reducer *r) {
    pithp_string_print(x->t, "            lanes%d[j] = %s(lanes%d[j], made.v%d);\n", k,
                       r->combine, k, k);
}
static void add_result(const pithp_step_text *x, int k, const pithp_text_reducer *r) {
    pithp_string_print(x->t,
                       "    for (i64 j = 0; j < count; j++)\n"
                       "        ((%s *)r->lanes[%d])[j] = lanes%d[j];\n",
                       r->accumulator, k, k);
}

/* Emit a loop over lanes j below `end`, of the elements from `from` on. */
static void add_row(const pithp_step_text *x,
                    const char *name,
                    const pithp_map_reduce *m,
                    const char *from,
                    const char *end,
                    add_line *add) {
    pithp_string_print(x->t,
                       "        M_LOOP\n"
                       "        for (i64 j = 0; j < %s; j++) {\n"
                       "            const %s_made made = %s_elements(from, %s + j);\n",
                       end, name, name, from);
    each(x, m, add);
    pithp_string_add(x->t, "        }\n");
}

/* Emit NAME_elements and NAME, in the order of host/vector/reduce.c. */
static void add_siblings(const pithp_step_text *x,
                         const char *name,
                         const pithp_map_reduce *m,
                         const bool *reduced) {
    char element[PITHP_ELEMENT_NAME_BYTES];
    pithp_string_print(x->t, "typedef struct %s_made {\n", name);
    each(x, m, add_member);
    pithp_string_print(x->t,
                       "} %s_made;\n"
                       "M_FN %s_made %s_elements(const %s_from from, i64 i) {\n"
                       "    %s_made made;\n",
                       name, name, name, name, name);
    add_values(x, reduced);
    for (int k = 0; k < m->sibling_count; k++) {
        pithp_step_text_element(x, m->siblings[k].external, element);
        pithp_string_print(x->t, "    made.v%d = %s(%s);\n", k,
                           pithp_text_reducers[m->siblings[k].reducer].loaded, element);
    }
    pithp_string_print(
        x->t,
        "    return made;\n}\n"
        "void %s(const void *args, i64 begin, i64 end) {\n"
        "    const m_map_siblings_args *const r = (const m_map_siblings_args *)args;\n"
        "    const %s_from from = %s_open(r->at);\n"
        "    const i64 n = end - begin, count = n < 64 ? n : 64;\n",
        name, name, name);
    each(x, m, add_lanes);
    pithp_string_add(x->t, "    if (n < 64) {\n");
    add_row(x, name, m, "begin", "n", add_first);
    pithp_string_add(x->t, "    } else {\n");
    add_row(x, name, m, "begin", "64", add_first);
    pithp_string_add(x->t, "    }\n"
                           "    begin += 64;\n"
                           "    for (; begin + 64 <= end; begin += 64) {\n");
    add_row(x, name, m, "begin", "64", add_next);
    pithp_string_add(x->t, "    }\n"
                           "    {\n");
    add_row(x, name, m, "begin", "end - begin", add_next);
    pithp_string_add(x->t, "    }\n");
    each(x, m, add_result);
    pithp_string_add(x->t, "}\n");
}

void pithp_emit_map_reduce(pithp_string *t,
                           const char *name,
                           const pithp_fused_step *step,
                           const pithp_map_reduce *map_reduce) {
    bool reduced[PITHP_FUSED_EXTERNALS] = {false};
    pithp_step_text x;
    pithp_step_text_begin(&x, t, step);
    for (int e = 0; e < step->external_count; e++)
        x.is_hoisted[e] = pithp_is_uniform(step, &step->externals[e]);
    if (map_reduce->reducer >= 0)
        reduced[map_reduce->external] = true;
    for (int k = 0; k < map_reduce->sibling_count; k++)
        reduced[map_reduce->siblings[k].external] = !map_reduce->siblings[k].stored;
    add_open(&x, name, reduced);
    if (map_reduce->sibling_count) {
        add_siblings(&x, name, map_reduce, reduced);
        return;
    }
    const pithp_text_reducer *r = &pithp_text_reducers[map_reduce->reducer];
    add_element(&x, name, r, reduced, map_reduce->external);
    pithp_string_print(t, "M_MAP_REDUCE_%s(%s, %s, %s, %s)\n",
                       map_reduce->rows ? "ROWS" : "COLUMNS", name, r->accumulator,
                       r->identity, r->combine);
}
