/* Frames: where values are, fused steps as loops, and the order of all steps. */
#include "program/emit/inline.h"

#include "program/emit/loop.h"

/* ---- Loops ---- */

enum { SHORTEST_VECTOR = 4 };

void pithp_inline_loops(pithp_text *t, int rank, const int64_t *shape, bool simd) {
    for (int d = 0; d < rank; d++) {
        if (d == rank - 1 && simd && shape[d] >= SHORTEST_VECTOR)
            pithp_text_add(t, "        M_LOOP\n");
        pithp_text_print(t, "        for (i64 j%d = 0; j%d < %lld; j%d++)\n", d, d,
                         (long long)shape[d], d);
    }
}

void pithp_inline_index(pithp_text *t, int rank, const int64_t *stride) {
    bool any = false;
    for (int d = 0; d < rank; d++) {
        if (stride[d] == 0)
            continue;
        pithp_text_print(t, "%sj%d * %lld", any ? " + " : "", d, (long long)stride[d]);
        any = true;
    }
    pithp_text_add(t, any ? "" : "0");
}

/* ---- Frames ---- */

pithp_place pithp_frame_place(const pithp_plan *plan, pithp_value v) {
    const pithp_program *p = plan->program;
    while (plan->places[v].store == PITHP_IN_PASSED) {
        const pithp_instruction *i = pithp_maker(p, v);
        while (i->primitive == PITHP_OP_RESHAPE) {
            v = pithp_operands(p, i)[0];
            i = pithp_maker(p, v);
        }
        const int operand = pithp_handed_on(i, v - i->result);
        if (operand < 0)
            return plan->homes[plan->places[v].at];
        v = pithp_operands(p, i)[operand];
    }
    return plan->places[v];
}

/* Whether a value is a variable; nobody outside of the frame sees the workspace. */
static bool is_variable(const pithp_plan *plan, pithp_value v) {
    const pith_spec *spec = plan->program->values[v].spec;
    return pithp_frame_place(plan, v).store == PITHP_IN_WORKSPACE && spec->count == 1;
}

/* The name says where in the workspace it would be: what shares memory shares it. */
static void add_variable(const pithp_frame *f, pithp_value v) {
    pithp_text_print(f->x->t, "l%d_%lld_%s", f->number, (long long)f->plan->places[v].at,
                     pithp_dtype_spelling(f->plan->program->values[v].spec->dtype));
}

static bool is_declared(const pithp_plan *plan, pithp_value v) {
    for (pithp_value before = 0; before < v; before++)
        if (is_variable(plan, before) &&
            pithp_frame_place(plan, before).at == pithp_frame_place(plan, v).at &&
            plan->program->values[before].spec->dtype ==
                plan->program->values[v].spec->dtype)
            return true;
    return false;
}

pithp_frame pithp_frame_open(pithp_inlining *x, const pithp_plan *plan) {
    const pithp_frame f = {x, plan, x->frames++, x->slot};
    x->slot += 1 + (int)plan->program->constant_count;
    for (pithp_value v = 0; v < plan->program->value_count; v++) {
        if (!is_variable(plan, v) || is_declared(plan, v))
            continue;
        pithp_text_print(x->t, "        %s ",
                         pithp_dtype_spelling(plan->program->values[v].spec->dtype));
        add_variable(&f, v);
        pithp_text_add(x->t, ";\n");
    }
    return f;
}

void pithp_frame_address(const pithp_frame *f, pithp_value v) {
    pithp_text *t = f->x->t;
    const pithp_place place = pithp_frame_place(f->plan, v);
    const long long at = (long long)place.at;
    if (is_variable(f->plan, v)) {
        pithp_text_add(t, "(char *)&");
        add_variable(f, v);
        return;
    }
    switch (place.store) {
        case PITHP_IN_INPUT:
            pithp_text_print(t, "i%d_%lld", f->number, at);
            break;
        case PITHP_IN_CONSTANT:
            pithp_text_print(t, "a%lld", f->slot + 1 + at);
            break;
        case PITHP_IN_LITERALS:
            pithp_text_print(t, "a%d + %lld", f->slot, at);
            break;
        case PITHP_IN_WORKSPACE:
            pithp_text_print(t, "w%d + %lld", f->number, at);
            break;
        case PITHP_IN_OUTPUT:
            pithp_text_print(t, "o%d_%lld", f->number, at);
            break;
        case PITHP_IN_PASSED:
        case PITHP_NOWHERE:
            PITH_ASSERT(false);
    }
}

/* ---- Fused steps ---- */

typedef struct fusing {
    pithp_text *t;
    const pithp_step *step;
    const pithp_frame *f;
} fusing;

/* Literals are hoisted out of all loops: stores could be to them, for all that the
 * compiler knows. */
static bool is_literal(const fusing *x, int e) {
    return x->f->plan->places[x->step->external[e]].store == PITHP_IN_LITERALS &&
           pithp_is_uniform(x->step->fused, &x->step->fused->externals[e]) &&
           x->step->offset[e] == 0;
}

static void add_element(const void *closure, int e) {
    const fusing *x = closure;
    const pithp_external *external = &x->step->fused->externals[e];
    if (is_literal(x, e)) {
        pithp_text_print(x->t, "q%d_%d", x->f->slot, (int)x->step->external[e]);
        return;
    }
    pithp_text_print(x->t, "e%d[", e);
    pithp_inline_index(x->t, x->step->fused->rank, external->stride);
    pithp_text_add(x->t, "]");
}

static void add_fused(const pithp_frame *f, const pithp_step *step) {
    pithp_step_text s;
    const fusing x = {f->x->t, step, f};
    if (step->spec->count == 0)
        return;
    pithp_step_text_begin(&s, x.t, step->fused);
    pithp_text_add(x.t, "        {\n");
    for (int e = 0; e < step->fused->external_count; e++) {
        const char *type = pithp_dtype_spelling(s.dtype[e]);
        if (is_literal(&x, e))
            continue;
        pithp_text_print(x.t, "        %s *const e%d = (%s *)(", type, e, type);
        pithp_frame_address(f, step->external[e]);
        pithp_text_print(x.t, ") + %lld;\n", (long long)step->offset[e]);
    }
    pithp_inline_loops(x.t, step->fused->rank, step->fused->shape, true);
    pithp_text_add(x.t, "        {\n");
    pithp_step_text_index(&s, "            ", add_element, &x);
    pithp_text_add(x.t, "        }\n        }\n");
}

void pithp_frame_steps(const pithp_frame *f) {
    for (int64_t k = 0; k < f->plan->step_count; k++) {
        const pithp_step *step = &f->plan->steps[k];
        if (step->fused)
            add_fused(f, step);
        else if (step->plans)
            pithp_inline_control(f, step);
        else
            pithp_inline_call(f, step);
    }
}
