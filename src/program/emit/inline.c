/* Unrolled plans: frames, which assign locations to values, and the sequence of steps. */
#include "program/emit/inline.h"

#include "program/emit/loop.h"
#include "program/op/thresholds.h"

/* ---- Loops ---- */

void pithp_inline_loop(pithp_string *t, int axis, int64_t begin, int64_t end, bool simd) {
    if (simd && end - begin >= PITHP_INLINE_SHORTEST_VECTOR)
        pithp_string_add(t, "        M_LOOP\n");
    pithp_string_print(t, "        for (i64 j%d = %lld; j%d < %lld; j%d++)\n", axis,
                       (long long)begin, axis, (long long)end, axis);
}

void pithp_inline_loops(pithp_string *t, int rank, const int64_t *shape, bool simd) {
    for (int d = 0; d < rank; d++)
        pithp_inline_loop(t, d, 0, shape[d], simd && d == rank - 1);
}

void pithp_inline_index(pithp_string *t, int rank, const int64_t *stride) {
    bool any = false;
    for (int d = 0; d < rank; d++) {
        if (stride[d] == 0)
            continue;
        pithp_string_print(t, "%sj%d * %lld", any ? " + " : "", d, (long long)stride[d]);
        any = true;
    }
    pithp_string_add(t, any ? "" : "0");
}

/* ---- Frames ---- */

/* The value that v is, unless a run finds out: of a forwarded one the operand that is
 * always forwarded. */
static pithp_value source_of(const pithp_plan *plan, pithp_value v) {
    const pithp_program *p = plan->program;
    while (plan->places[v].store == PITHP_FORWARDED) {
        const pithp_instruction *i = pithp_maker(p, v);
        while (i->primitive == PITHP_OP_RESHAPE) {
            v = pithp_operands(p, i)[0];
            i = pithp_maker(p, v);
        }
        const int operand = pithp_forwarded_operand(i, v - i->result);
        if (operand < 0)
            break;
        v = pithp_operands(p, i)[operand];
    }
    return v;
}

pithp_place pithp_frame_place(const pithp_plan *plan, pithp_value v) {
    const pithp_place place = plan->places[source_of(plan, v)];
    return place.store == PITHP_FORWARDED ? plan->forwarded_places[place.at] : place;
}

int pithp_frame_forwarded(const pithp_plan *plan, pithp_value v) {
    v = source_of(plan, v);
    const pithp_instruction *i = pithp_maker(plan->program, v);
    const bool found =
        plan->places[v].store == PITHP_FORWARDED && i->primitive == PITHP_OP_COND &&
        pithp_value_spec(plan->program, v)->bytes > PITHP_INLINE_LOCAL_BYTES;
    return found ? (int)plan->places[v].at : -1;
}

/* Whether only steps of the frame access a value, by its own name. */
static bool is_local(const pithp_plan *plan, pithp_value v) {
    const pithp_place place = pithp_frame_place(plan, v);
    return place.store == PITHP_IN_WORKSPACE && !place.is_part;
}

static bool is_variable(const pithp_plan *plan, pithp_value v) {
    return is_local(plan, v) && plan->program->values[v].spec->count == 1;
}

/* Whether a value is a local array: the compiler then knows that no other code accesses
 * it, and omits its stores if it fits into registers. */
static bool is_array(const pithp_plan *plan, pithp_value v) {
    const pith_spec *spec = plan->program->values[v].spec;
    return is_local(plan, v) && spec->count > 1 &&
           spec->bytes <= PITHP_INLINE_LOCAL_BYTES &&
           pithp_frame_place(plan, v).at < PITHP_INLINE_LOCAL_END;
}

/* Names contain the offset in the workspace: values that share memory share a variable.
 */
static void add_variable(const pithp_frame *f, pithp_value v) {
    pithp_string_print(f->x->t, "l%d_%lld_%s", f->number,
                       (long long)pithp_frame_place(f->plan, v).at,
                       pithp_dtype_spelling(f->plan->program->values[v].spec->dtype));
}
static void add_array(const pithp_frame *f, pithp_value v) {
    pithp_string_print(f->x->t, "m%d_%lld", f->number,
                       (long long)pithp_frame_place(f->plan, v).at);
}

static bool shares_variable(const pithp_plan *plan, pithp_value v, pithp_value other) {
    return is_variable(plan, other) &&
           pithp_frame_place(plan, other).at == pithp_frame_place(plan, v).at &&
           plan->program->values[other].spec->dtype ==
               plan->program->values[v].spec->dtype;
}
static bool shares_array(const pithp_plan *plan, pithp_value v, pithp_value other) {
    return is_array(plan, other) &&
           pithp_frame_place(plan, other).at == pithp_frame_place(plan, v).at;
}

static bool is_declared(const pithp_plan *plan,
                        pithp_value v,
                        bool (*shares)(const pithp_plan *, pithp_value, pithp_value)) {
    for (pithp_value before = 0; before < v; before++)
        if (shares(plan, v, before))
            return true;
    return false;
}

static void declare_variable(const pithp_frame *f, pithp_value v) {
    if (is_declared(f->plan, v, shares_variable))
        return;
    pithp_string_print(f->x->t, "        %s ",
                       pithp_dtype_spelling(f->plan->program->values[v].spec->dtype));
    add_variable(f, v);
    pithp_string_add(f->x->t, ";\n");
}

/* The array has the size of the largest value that shares it. */
static void declare_array(const pithp_frame *f, pithp_value v) {
    size_t bytes = 0;
    if (is_declared(f->plan, v, shares_array))
        return;
    for (pithp_value other = v; other < f->plan->program->value_count; other++) {
        const size_t its = f->plan->program->values[other].spec->bytes;
        if (shares_array(f->plan, v, other) && its > bytes)
            bytes = its;
    }
    pithp_string_add(f->x->t, "        _Alignas(64) char ");
    add_array(f, v);
    pithp_string_print(f->x->t, "[%zu];\n", bytes);
}

pithp_frame pithp_frame_open(pithp_inlining *x, const pithp_plan *plan) {
    const pithp_frame f = {x, plan, x->frames++, x->slot};
    x->slot += 1 + (int)plan->program->constant_count;
    for (pithp_value v = 0; v < plan->program->value_count; v++) {
        if (is_variable(plan, v))
            declare_variable(&f, v);
        else if (is_array(plan, v))
            declare_array(&f, v);
        else if (pithp_frame_forwarded(plan, v) >= 0 && source_of(plan, v) == v)
            pithp_string_print(x->t, "        char *f%d_%d;\n", f.number,
                               pithp_frame_forwarded(plan, v));
    }
    return f;
}

void pithp_frame_address(const pithp_frame *f, pithp_value v) {
    const int forwarded = pithp_frame_forwarded(f->plan, v);
    if (forwarded >= 0)
        pithp_string_print(f->x->t, "f%d_%d", f->number, forwarded);
    else
        pithp_frame_memory(f, v);
}

void pithp_frame_memory(const pithp_frame *f, pithp_value v) {
    pithp_string *t = f->x->t;
    const pithp_place place = pithp_frame_place(f->plan, v);
    const long long at = (long long)place.at;
    if (is_variable(f->plan, v)) {
        pithp_string_add(t, "(char *)&");
        add_variable(f, v);
        return;
    }
    if (is_array(f->plan, v)) {
        add_array(f, v);
        return;
    }
    switch (place.store) {
        case PITHP_IN_INPUT:
            pithp_string_print(t, "i%d_%lld", f->number, at);
            break;
        case PITHP_IN_CONSTANT:
            pithp_string_print(t, "a%lld", f->slot + 1 + at);
            break;
        case PITHP_IN_LITERALS:
            pithp_string_print(t, "a%d + %lld", f->slot, at);
            break;
        case PITHP_IN_WORKSPACE:
            pithp_string_print(t, "w%d + %lld", f->number, at);
            break;
        case PITHP_IN_OUTPUT:
            pithp_string_print(t, "o%d_%lld", f->number, at);
            break;
        case PITHP_FORWARDED:
        case PITHP_NOWHERE:
            PITH_ASSERT(false);
    }
    if (place.offset)
        pithp_string_print(t, " + %lld", (long long)place.offset);
}

/* ---- Steps ---- */

static void add_call(const pithp_frame *f, const pithp_step *step) {
    pithp_line_begin(f->x->t, step->call->site);
    if (pithp_inline_library_fits(f->plan, step))
        pithp_inline_library(f, step);
    else
        pithp_inline_call(f, step);
    pithp_line_end(f->x->t);
}

static void add_step(const pithp_frame *f, const pithp_step *step) {
    if (step->kind == PITHP_STEP_FUSED)
        pithp_inline_fused(f, step);
    else if (step->kind == PITHP_STEP_CONTROL)
        pithp_inline_control(f, step);
    else
        add_call(f, step);
}

/* Emit a step with its timing: add its ticks and one call to the tally. */
static void add_timed(const pithp_frame *f, int64_t k) {
    const long long at = 2 * (f->plan->first_entry + k - f->x->first_entry);
    pithp_string_add(f->x->t, "        {\n        const u64 begun = lap;\n");
    add_step(f, &f->plan->steps[k]);
    pithp_string_print(f->x->t,
                       "        lap = ticks();\n"
                       "        tally[%lld] += lap - begun;\n"
                       "        tally[%lld]++;\n"
                       "        }\n",
                       at, at + 1);
}

void pithp_frame_steps(const pithp_frame *f) {
    for (int64_t k = 0; k < f->plan->step_count; k++)
        if (f->x->timed)
            add_timed(f, k);
        else
            add_step(f, &f->plan->steps[k]);
}
