/* Checks in the bodies of loops: what they need is carried, so that of all iterations the
 * first one that failed is kept, and of needs the greatest (src/assert/merge.c). */
#include "trace/control/control_internal.h"

#include <string.h>

/* ---- Which needs depend on the carry ---- */

/* Marks of the carries that the body changes; what it hands on is a constant. */
static void mark_changed(bool *marks, const pithp_part *body, const pithp_carried *c) {
    const pithp_program *p = body->program;
    for (int64_t k = c->counts; k < c->count; k++)
        marks[k] = p->outputs[k] != p->inputs[c->fixed + k];
}

pith_status pithp_part_carried_needs(pith_scope *s,
                                     const pithp_part *part,
                                     int64_t fixed,
                                     const pithp_part *body,
                                     const pithp_carried *carried,
                                     const bool **needs) {
    const pithp_program *p = part->program;
    const int64_t values = pithp_checks_values(part->checks);
    *needs = NULL;
    if (!pithp_checks_have_needs(part->checks))
        return PITH_OK;
    const size_t inputs = (size_t)p->input_count + 1;
    bool *marks = pithp_scope_allocate(s, inputs + (size_t)p->output_count);
    if (!marks)
        return s->error.code;
    memset(marks, 0, inputs);
    mark_changed(marks + fixed, body, carried);
    if (!pithp_program_reach(s, p, marks, marks + inputs))
        return s->error.code;
    const bool *of_checks = marks + inputs + p->output_count - values;
    if (memchr(of_checks, true, (size_t)values))
        *needs = of_checks;
    return PITH_OK;
}

/* ---- Carrying the values of checks ---- */

/* A program that is being made of that of a part, in a trace of its own. */
typedef struct wrapping {
    pith_scope *s;
    pithp_trace *trace;
    const pithp_program *from;
    const pithp_checks *checks;
    int64_t values;                /* of the checks */
    const bool *needs;             /* those that depend on the carry; NULL: none */
    pithp_value *inputs, *outputs; /* of the program, as they are in the new one */
    const pith_array **before, **now, **kept; /* values of the checks */
} wrapping;

static pith_status make_room(wrapping *w) {
    const size_t values = (size_t)w->values + 1;
    w->inputs = pithp_scope_allocate(w->s, ((size_t)w->from->input_count + 1) *
                                               sizeof *w->inputs);
    w->outputs = pithp_scope_allocate(w->s, ((size_t)w->from->output_count + 1) *
                                                sizeof *w->outputs);
    w->before = pithp_scope_allocate(w->s, 3 * values * sizeof *w->before);
    if (!w->inputs || !w->outputs || !w->before)
        return w->s->error.code;
    w->now = w->before + values;
    w->kept = w->now + values;
    return PITH_OK;
}

/* Inputs from..to - 1 of the program. */
static pith_status add_inputs(wrapping *w, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k++) {
        w->inputs[k] = pithp_program_input(w->s, w->trace->program,
                                           pithp_value_spec(w->from, w->from->inputs[k]));
        if (w->inputs[k] < 0)
            break;
    }
    return w->s->error.code;
}

static pith_status add_outputs(wrapping *w, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k++)
        if (!pithp_program_output(w->s, w->trace->program, w->outputs[k]))
            break;
    return w->s->error.code;
}

/* The values that checks had before, as inputs. */
static pith_status add_before(wrapping *w, const pith_spec *const *specs) {
    for (int64_t k = 0; k < w->values; k++)
        if (!(w->before[k] = pithp_trace_input(w->s, w->trace, specs[k])))
            break;
    return w->s->error.code;
}

/* The values that are kept, as outputs. */
static pith_status add_kept(wrapping *w) {
    const int64_t own = w->from->output_count - w->values;
    for (int64_t k = 0; k < w->values; k++)
        if (!(w->now[k] = pithp_trace_array(w->s, w->trace, w->outputs[own + k])))
            return w->s->error.code;
    pithp_checks_step step = {.before = w->before, .now = w->now, .carried = w->needs};
    if (w->needs && !(step.sound = pithp_checks_passed(w->s, w->checks, w->before)))
        return w->s->error.code;
    if (!pithp_checks_merge(w->s, w->checks, &step, w->kept))
        return w->s->error.code;
    for (int64_t k = 0; k < w->values; k++) {
        const pithp_value v = pithp_trace_value(w->s, w->trace, w->kept[k]);
        if (v < 0 || !pithp_program_output(w->s, w->trace->program, v))
            break;
    }
    return w->s->error.code;
}

static pith_status
wrap(wrapping *w, int64_t fixed, int64_t carries, const pith_spec *const *specs) {
    const pithp_program *p = w->from;
    pith_status rc = make_room(w);
    if (rc == PITH_OK)
        rc = add_inputs(w, 0, fixed + carries);
    if (rc == PITH_OK)
        rc = add_before(w, specs);
    if (rc == PITH_OK)
        rc = add_inputs(w, fixed + carries, p->input_count);
    if (rc == PITH_OK &&
        !pithp_program_inline(w->s, w->trace->program, p, w->inputs, w->outputs))
        rc = w->s->error.code;
    if (!w->checks) /* a condition reads none of them */
        return rc == PITH_OK ? add_outputs(w, 0, p->output_count) : rc;
    if (rc == PITH_OK)
        rc = add_outputs(w, 0, carries);
    if (rc == PITH_OK)
        rc = add_kept(w);
    return rc == PITH_OK ? add_outputs(w, carries, p->output_count - w->values) : rc;
}

/* Put in the place of *program one that carries the values too. */
static pith_status replace(pith_scope *s,
                           pithp_program **program,
                           const pithp_checks *checks,
                           int64_t values,
                           const bool *needs,
                           int64_t fixed,
                           int64_t carries,
                           const pith_spec *const *specs) {
    wrapping w = {.s = pith_scope_open_in(s),
                  .from = *program,
                  .checks = checks,
                  .values = values,
                  .needs = needs};
    if (!pithp_scope_writable(w.s))
        return pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    w.trace = pithp_trace_begin(w.s);
    pith_status rc = w.trace ? wrap(&w, fixed, carries, specs) : w.s->error.code;
    pithp_program *made = w.trace ? pithp_trace_end(w.s, w.trace) : NULL;
    if (rc == PITH_OK) {
        pithp_program_release(*program);
        *program = made;
    } else {
        pithp_program_release(made);
    }
    pith_scope_close(w.s); /* its error goes to s */
    return rc;
}

pith_status pithp_part_carry_checks(pith_scope *s,
                                    pithp_part *part,
                                    const pithp_carried *carried,
                                    pithp_program **cond,
                                    int64_t cond_fixed) {
    const int64_t values = pithp_checks_values(part->checks), fixed = carried->fixed,
                  carries = carried->count;
    const pithp_program *p = part->program;
    const bool *needs;
    if (!values)
        return PITH_OK;
    const pith_spec **specs = pithp_scope_allocate(s, (size_t)values * sizeof *specs);
    if (!specs ||
        pithp_part_carried_needs(s, part, fixed, part, carried, &needs) != PITH_OK)
        return s->error.code;
    for (int64_t k = 0; k < values; k++)
        specs[k] = pithp_value_spec(p, p->outputs[p->output_count - values + k]);
    pith_status rc =
        replace(s, &part->program, part->checks, values, needs, fixed, carries, specs);
    if (rc == PITH_OK && cond)
        rc = replace(s, cond, NULL, values, NULL, cond_fixed, carries, specs);
    return rc;
}

pith_status pithp_operands_add_neutral(pith_scope *s,
                                       pithp_operand_list *o,
                                       const pithp_checks *checks,
                                       const char *function) {
    const int64_t values = pithp_checks_values(checks);
    const pith_array **neutral =
        pithp_scope_allocate(s, ((size_t)values + 1) * sizeof *neutral);
    if (!neutral || !pithp_checks_neutral(s, checks, neutral))
        return s->error.code;
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < values && rc == PITH_OK; k++)
        rc = pithp_operands_add(s, o, neutral[k], function, "a check");
    return rc;
}
