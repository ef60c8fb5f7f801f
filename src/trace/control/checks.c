/* Checks in loop bodies: their values become carries. The first failed iteration is kept,
 * and the greatest needs (src/array/checks/merge.c). */
#include "trace/control/control_internal.h"

#include <string.h>

/* ---- Checks that depend on the carry ---- */

/* Mark the carries that the body changes; a forwarded carry is a constant. */
static void
mark_changed(bool *marks, const pithp_part *body, const pithp_loop_carries *c) {
    const pithp_program *p = body->program;
    for (int64_t k = c->counts; k < c->count; k++)
        marks[k] = p->outputs[k] != p->inputs[c->fixed + k];
}

pith_status pithp_part_carried_needs(pith_scope *s,
                                     const pithp_part *part,
                                     int64_t fixed,
                                     const pithp_part *body,
                                     const pithp_loop_carries *carried,
                                     const bool **needs) {
    const pithp_program *p = part->program;
    const int64_t values = pithp_checks_values(part->checks);
    *needs = NULL;
    if (carried->ends || !carried->repairs || !values)
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

/* ---- Bodies and conditions that run only if checks passed ---- */

/* A program with the same inputs and outputs that computes nothing. NULL: error set. */
static pithp_program *make_idle(pith_scope *s, const pithp_conditional *c) {
    const pithp_program *from = c->program;
    const int64_t checks = from->output_count - pithp_checks_values(c->checks);
    pithp_program *p = pithp_program_make(s);
    bool fine = p;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine = pithp_program_input(s, p, pithp_value_spec(from, from->inputs[k])) >= 0;
    for (int64_t k = 0; k < from->output_count && fine; k++) {
        const uint64_t bits =
            k < checks ? 0 : pithp_checks_neutral_bits(c->checks, k - checks);
        fine = k < c->handed_on
                   ? pithp_program_output(s, p, p->inputs[c->first + k])
                   : pithp_control_add_filled(
                         s, p, pithp_value_spec(from, from->outputs[k]), bits);
    }
    if (fine)
        return p;
    pithp_program_release(p);
    return NULL;
}

bool pithp_control_call_if(pith_scope *s,
                           const pithp_conditional *c,
                           const pith_array *passed,
                           const pithp_value *inputs,
                           pithp_value *outputs) {
    pithp_trace *t = pithp_scope_trace(s);
    pithp_program *programs[2] = {make_idle(s, c), c->program};
    const int64_t count = c->program->input_count;
    pithp_value *operands =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *operands);
    const pith_array **made = NULL;
    if (programs[0] && operands) {
        operands[0] = pithp_trace_value(s, t, passed);
        memcpy(operands + 1, inputs, (size_t)count * sizeof *operands);
        made =
            pithp_control_add(s, &(pithp_new_instruction){.primitive = PITHP_OP_COND,
                                                          .operand_count = 1 + (int)count,
                                                          .operands = operands,
                                                          .program_count = 2,
                                                          .programs = programs,
                                                          .site = s->site});
    }
    pithp_program_release(programs[0]);
    for (int64_t k = 0; made && k < c->program->output_count; k++)
        outputs[k] = pithp_trace_value(s, t, made[k]);
    return made;
}

/* ---- Carrying the values of checks ---- */

/* A program under construction, made of a body or a condition in a separate trace. */
typedef struct wrapping {
    pith_scope *s;
    pithp_trace *trace;
    pithp_program *from;
    const pithp_checks *checks; /* of the body */
    const pith_spec *const *specs;
    int64_t values, fixed, carries; /* number of check values; inputs of the program */
    bool is_cond;                   /* reads the check values and has none */
    bool ends;                      /* the loop ends at a failed check */
    const bool *needs;              /* values that depend on the carry; NULL: none */
    pithp_value *inputs, *outputs;  /* of the program, mapped to the new one */
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

/* Add inputs from..to - 1 of the program. */
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

/* Add the previous check values as inputs. */
static pith_status add_before(wrapping *w) {
    for (int64_t k = 0; k < w->values; k++)
        if (!(w->before[k] = pithp_trace_input(w->s, w->trace, w->specs[k])))
            break;
    return w->s->error.code;
}

/* Add the merged check values as outputs. */
static pith_status add_kept(wrapping *w) {
    const int64_t own = w->from->output_count - w->values;
    for (int64_t k = 0; k < w->values; k++)
        if (!(w->now[k] = pithp_trace_array(w->s, w->trace, w->outputs[own + k])))
            return w->s->error.code;
    pithp_checks_step step = {.before = w->before, .now = w->now, .carried = w->needs};
    if (w->needs && !(step.sound = pithp_checks_sound(w->s, w->checks, w->before)))
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

/* Add the truth of a condition, which is false after a failed check. */
static pith_status add_truth(wrapping *w) {
    const pith_array *both[2] = {pithp_trace_array(w->s, w->trace, w->outputs[0]),
                                 pithp_checks_passed(w->s, w->checks, w->before)};
    const pith_array *truth =
        both[0] && both[1] ? pithp_bind(w->s, PITHP_OP_LOGICAL_AND, 2, both, NULL) : NULL;
    const pithp_value v = truth ? pithp_trace_value(w->s, w->trace, truth) : -1;
    if (v >= 0)
        pithp_program_output(w->s, w->trace->program, v);
    return w->s->error.code;
}

static pith_status wrap_cond(wrapping *w) {
    if (!pithp_program_inline(w->s, w->trace->program, w->from, w->inputs, w->outputs))
        return w->s->error.code;
    return w->ends ? add_truth(w) : add_outputs(w, 0, w->from->output_count);
}

/* Inline the body. A scan that ends at a failed check skips it after the failure. */
static bool run_body(wrapping *w) {
    const pithp_conditional body = {.program = w->from,
                                    .checks = w->checks,
                                    .first = w->fixed,
                                    .handed_on = w->carries};
    if (!w->ends)
        return pithp_program_inline(w->s, w->trace->program, w->from, w->inputs,
                                    w->outputs);
    const pith_array *passed = pithp_checks_passed(w->s, w->checks, w->before);
    return passed && pithp_control_call_if(w->s, &body, passed, w->inputs, w->outputs);
}

static pith_status wrap_body(wrapping *w) {
    if (!run_body(w))
        return w->s->error.code;
    pith_status rc = add_outputs(w, 0, w->carries);
    if (rc == PITH_OK)
        rc = add_kept(w);
    return rc == PITH_OK ? add_outputs(w, w->carries, w->from->output_count - w->values)
                         : rc;
}

static pith_status wrap(wrapping *w) {
    const int64_t others = w->fixed + w->carries;
    pith_status rc = make_room(w);
    if (rc == PITH_OK)
        rc = add_inputs(w, 0, others);
    if (rc == PITH_OK)
        rc = add_before(w);
    if (rc == PITH_OK)
        rc = add_inputs(w, others, w->from->input_count);
    if (rc != PITH_OK)
        return rc;
    return w->is_cond ? wrap_cond(w) : wrap_body(w);
}

/* Replace *program by one that also carries the check values. */
static pith_status replace(pith_scope *s, pithp_program **program, const wrapping *like) {
    wrapping w = *like;
    w.from = *program;
    w.s = pith_scope_open_in(s);
    if (!pithp_scope_writable(w.s))
        return pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    w.s->site = s->site;
    w.trace = pithp_trace_begin(w.s);
    pith_status rc = w.trace ? wrap(&w) : w.s->error.code;
    pithp_program *made = w.trace ? pithp_trace_end(w.s, w.trace) : NULL;
    if (rc == PITH_OK) {
        pithp_program_release(*program);
        *program = made;
    } else {
        pithp_program_release(made);
    }
    pith_scope_close(w.s); /* its error moves to s */
    return rc;
}

pith_status pithp_part_carry_checks(pith_scope *s,
                                    pithp_part *part,
                                    const pithp_loop_carries *carried,
                                    pithp_program **cond,
                                    int64_t cond_fixed) {
    wrapping w = {.checks = part->checks,
                  .values = pithp_checks_values(part->checks),
                  .fixed = carried->fixed,
                  .carries = carried->count,
                  .ends = carried->ends && !cond};
    const pithp_program *p = part->program;
    if (!w.values)
        return PITH_OK;
    const pith_spec **specs = pithp_scope_allocate(s, (size_t)w.values * sizeof *specs);
    if (!specs || pithp_part_carried_needs(s, part, carried->fixed, part, carried,
                                           &w.needs) != PITH_OK)
        return s->error.code;
    for (int64_t k = 0; k < w.values; k++)
        specs[k] = pithp_value_spec(p, p->outputs[p->output_count - w.values + k]);
    w.specs = specs;
    const pith_status rc = replace(s, &part->program, &w);
    if (rc != PITH_OK || !cond)
        return rc;
    w.is_cond = true;
    w.ends = carried->ends;
    w.fixed = cond_fixed;
    return replace(s, cond, &w);
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
