/* Loop rotation of while loops whose condition makes checks, or that end at a failed
 * check. The condition is computed before the loop and at the end of the body. So the
 * values of its checks are carried like those of the body, and the loop tests only a
 * carried flag. A loop that ends at a failed check does not compute the condition on the
 * carry of a failed iteration. */
#include "trace/control/control_internal.h"

/* Carried: the flag, the carry, check values of the body and of the condition. */
typedef struct rotation {
    pith_scope *s;
    pithp_trace *trace;
    const pithp_checked_while *w;
    int64_t carries, body_values, cond_values;
    const bool *body_needs, *cond_needs; /* values that depend on the carry; NULL: none */
    /* Values of the trace: results of the two programs, each followed by its checks. */
    pithp_value *inputs, *of_body, *of_cond;
    const pith_array **before, **now, **kept;
} rotation;

static int64_t count_of(const rotation *r) {
    return 1 + r->carries + r->body_values + r->cond_values;
}

static rotation rotation_of(pith_scope *s, pithp_trace *t, const pithp_checked_while *w) {
    rotation r = {.s = s, .trace = t, .w = w};
    r.carries = w->carry->structure.item_count;
    r.body_values = pithp_checks_values(w->body->checks);
    r.cond_values = pithp_checks_values(w->cond->checks);
    const int64_t fixed = w->of_cond->count + w->of_body->count, all = count_of(&r);
    const size_t n = (size_t)(fixed + all) + 1;
    r.inputs = pithp_scope_allocate(s, n * sizeof *r.inputs);
    r.of_body = pithp_scope_allocate(s, n * sizeof *r.of_body);
    r.of_cond = pithp_scope_allocate(s, n * sizeof *r.of_cond);
    r.before = pithp_scope_allocate(s, 3 * n * sizeof *r.before);
    r.now = r.before ? r.before + n : NULL;
    r.kept = r.now ? r.now + n : NULL;
    return r;
}

static void set_inputs(const rotation *r,
                       const pithp_program *p,
                       const pithp_value *fixed,
                       const pithp_value *carries) {
    const int64_t count = p->input_count - r->carries;
    for (int64_t k = 0; k < p->input_count; k++)
        r->inputs[k] = k < count ? fixed[k] : carries[k - count];
}

static bool call(const rotation *r,
                 const pithp_program *p,
                 const pithp_value *fixed,
                 const pithp_value *carries,
                 pithp_value *results) {
    set_inputs(r, p, fixed, carries);
    return pithp_program_inline(r->s, r->trace->program, p, r->inputs, results);
}

/* Conjunction of truth and these checks; NULL: error set. */
static const pith_array *
and_passed(const rotation *r, const pith_array *truth, const pithp_checks *c) {
    const pith_array *both[2] = {truth,
                                 truth ? pithp_checks_passed(r->s, c, r->kept) : NULL};
    if (!c || !r->w->stops)
        return truth;
    return both[1] ? pithp_bind(r->s, PITHP_OP_LOGICAL_AND, 2, both, NULL) : NULL;
}

static bool add_output(const rotation *r, const pith_array *a) {
    const pithp_value v = a ? pithp_trace_value(r->s, r->trace, a) : -1;
    return v >= 0 && pithp_program_output(r->s, r->trace->program, v);
}

static bool find_arrays(const rotation *r,
                        int64_t count,
                        const pithp_value *values,
                        const pith_array **arrays) {
    for (int64_t k = 0; k < count; k++)
        if (!(arrays[k] = pithp_trace_array(r->s, r->trace, values[k])))
            return false;
    return true;
}

/* ---- The body ---- */

/* Add the inputs of the trace, its first values; returns them. */
static pithp_value *add_inputs(const rotation *r) {
    const pithp_checked_while *w = r->w;
    const pithp_program *cond = w->cond->program, *body = w->body->program;
    const int64_t of_cond = w->of_cond->count, of_body = w->of_body->count,
                  all = of_cond + of_body + count_of(r);
    pithp_value *values = pithp_scope_allocate(r->s, ((size_t)all + 1) * sizeof *values);
    for (int64_t k = 0; values && k < all; k++) {
        const int64_t at = k - of_cond - of_body - 1; /* index after the flag */
        const pith_spec *spec =
            k < of_cond ? pithp_value_spec(cond, cond->inputs[k])
            : at < -1   ? pithp_value_spec(body, body->inputs[k - of_cond])
            : at == -1  ? pithp_value_spec(cond, cond->outputs[0])
            : at < r->carries + r->body_values
                ? pithp_value_spec(body, body->outputs[at])
                : pithp_value_spec(cond,
                                   cond->outputs[1 + at - r->carries - r->body_values]);
        values[k] = pithp_program_input(r->s, r->trace->program, spec);
        if (values[k] < 0)
            return NULL;
    }
    return values;
}

/* Conjunction of the checks with a fix, and `others`; NULL: error set. */
static const pith_array *all_sound(const rotation *r,
                                   const pithp_checks *c,
                                   const pithp_value *values,
                                   const pith_array *others) {
    if (!find_arrays(r, pithp_checks_values(c), values, r->before))
        return NULL;
    const pith_array *both[2] = {pithp_checks_sound(r->s, c, r->before), others};
    return both[0] && others ? pithp_bind(r->s, PITHP_OP_LOGICAL_AND, 2, both, NULL)
                             : both[0];
}

/* Whether no check with a fix has failed, of the given values of body and condition.
 * NULL: error set. */
static const pith_array *
sound(const rotation *r, const pithp_value *of_body, const pithp_value *of_cond) {
    const pith_array *cond = all_sound(r, r->w->cond->checks, of_cond, NULL);
    return cond ? all_sound(r, r->w->body->checks, of_body, cond) : NULL;
}

/* Merge the check values of one part into r->kept, which become outputs later. */
static bool keep(const rotation *r,
                 const pithp_checks *c,
                 const pithp_value *before,
                 const pithp_value *now,
                 const bool *needs,
                 const pith_array *sound_so_far) {
    const int64_t count = pithp_checks_values(c);
    const pithp_checks_step step = {
        .before = r->before, .now = r->now, .carried = needs, .sound = sound_so_far};
    return find_arrays(r, count, before, r->before) &&
           find_arrays(r, count, now, r->now) &&
           pithp_checks_merge(r->s, c, &step, r->kept);
}

/* Call the condition on the next carry only if the body's checks passed; otherwise its
 * result is false. */
static bool call_cond_if(const rotation *r,
                         const pith_array *passed,
                         const pithp_value *fixed,
                         const pithp_value *carries) {
    const pithp_conditional cond = {.program = r->w->cond->program,
                                    .checks = r->w->cond->checks};
    set_inputs(r, cond.program, fixed, carries);
    return pithp_control_call_if(r->s, &cond, passed, r->inputs, r->of_cond);
}

/* The condition on the next carry; false if the loop ends because `passed` is false
 * (NULL: it does not end there). NULL: error set. */
static const pith_array *
next_truth(const rotation *r, const pithp_value *in, const pith_array *passed) {
    const bool fine = passed && r->cond_values
                          ? call_cond_if(r, passed, in, r->of_body)
                          : call(r, r->w->cond->program, in, r->of_body, r->of_cond);
    const pith_array *both[2] = {
        fine ? pithp_trace_array(r->s, r->trace, r->of_cond[0]) : NULL, passed};
    return both[0] && passed ? pithp_bind(r->s, PITHP_OP_LOGICAL_AND, 2, both, NULL)
                             : both[0];
}

/* Add the next carry, and merge the body's check values. */
static bool add_next(const rotation *r, const pithp_value *in, const pithp_value *carry) {
    const pithp_value *values = carry + r->carries;
    const pith_array *before = NULL;
    bool fine = call(r, r->w->body->program, in, carry, r->of_body);
    for (int64_t k = 0; k < r->carries && fine; k++)
        fine = pithp_program_output(r->s, r->trace->program, r->of_body[k]);
    if (fine && r->body_needs)
        fine = (before = sound(r, values, values + r->body_values));
    fine = fine && keep(r, r->w->body->checks, values, r->of_body + r->carries,
                        r->body_needs, before);
    for (int64_t k = 0; k < r->body_values && fine; k++)
        fine = add_output(r, r->kept[k]);
    return fine;
}

/* The next flag; merge the condition's check values. NULL: error set. */
static const pith_array *
add_truth(const rotation *r, const pithp_value *in, const pithp_value *values) {
    const pithp_checks *of_body = r->w->body->checks, *of_cond = r->w->cond->checks;
    const pith_array *passed = NULL, *before = NULL;
    if (of_body && r->w->stops && !(passed = pithp_checks_passed(r->s, of_body, r->kept)))
        return NULL;
    const pith_array *truth = next_truth(r, in, passed);
    bool fine = truth;
    if (fine && r->cond_needs)
        fine = (before = pithp_checks_sound(r->s, of_body, r->kept)) &&
               (before = all_sound(r, of_cond, values, before));
    fine = fine && keep(r, of_cond, values, r->of_cond + 1, r->cond_needs, before);
    for (int64_t k = 0; k < r->cond_values && fine; k++)
        fine = add_output(r, r->kept[k]);
    return fine ? and_passed(r, truth, of_cond) : NULL;
}

/* The flag is the first output, but known last. */
static bool add_body(const rotation *r, const pithp_value *in) {
    const int64_t of_cond = r->w->of_cond->count;
    const pithp_value *truth_before = in + of_cond + r->w->of_body->count,
                      *carry = truth_before + 1;
    pithp_program *p = r->trace->program;
    const int64_t first = p->output_count;
    const pith_array *truth = NULL;
    if (pithp_program_output(r->s, p, *truth_before) && add_next(r, in + of_cond, carry))
        truth = add_truth(r, in, carry + r->carries + r->body_values);
    const pithp_value v = truth ? pithp_trace_value(r->s, r->trace, truth) : -1;
    if (v >= 0)
        p->outputs[first] = v;
    return v >= 0;
}

/* Find the needs that depend on the carry. */
static pith_status find_needs(rotation *r) {
    const pithp_checked_while *w = r->w;
    const pithp_loop_carries carried = {.fixed = w->of_body->count,
                                        .count = r->carries,
                                        .ends = w->stops,
                                        .repairs = pithp_checks_repair(w->body->checks) ||
                                                   pithp_checks_repair(w->cond->checks)};
    const pith_status rc = pithp_part_carried_needs(r->s, w->body, carried.fixed, w->body,
                                                    &carried, &r->body_needs);
    return rc == PITH_OK ? pithp_part_carried_needs(r->s, w->cond, w->of_cond->count,
                                                    w->body, &carried, &r->cond_needs)
                         : rc;
}

/* NULL: error set. */
static pithp_program *make_body(pith_scope *outer, const pithp_checked_while *w) {
    pith_scope *s = pith_scope_open_in(outer);
    if (!pithp_scope_writable(s)) {
        pithp_fail_memory(outer, PITHP_BLOCK_BYTES);
        return NULL;
    }
    s->site = outer->site;
    pithp_trace *t = pithp_trace_begin(s);
    pithp_program *made = NULL;
    if (t) {
        rotation r = rotation_of(s, t, w);
        const bool ready = s->error.code == PITH_OK && find_needs(&r) == PITH_OK;
        const pithp_value *in = ready ? add_inputs(&r) : NULL;
        const bool fine = in && add_body(&r, in);
        made = pithp_trace_end(s, t);
        if (!fine) {
            pithp_program_release(made);
            made = NULL;
        }
    }
    pith_scope_close(s); /* its error moves to the outer scope */
    return made;
}

/* Make program(truth, ...) -> truth. NULL: error set. */
static pithp_program *make_cond(pith_scope *s, const pithp_program *body, int64_t fixed) {
    pithp_program *p = pithp_program_make(s);
    bool fine = p;
    for (int64_t k = fixed; k < body->input_count && fine; k++)
        fine = pithp_program_input(s, p, pithp_value_spec(body, body->inputs[k])) >= 0;
    if (fine && pithp_program_output(s, p, 0))
        return p;
    pithp_program_release(p);
    return NULL;
}

/* ---- The instruction ---- */

/* Add the operands that are known before the first evaluation of the condition; the
 * others are -1. */
static pith_status add_known(const rotation *r, pithp_operand_list *o) {
    const pithp_checked_while *w = r->w;
    pith_scope *s = r->s;
    const int64_t fixed = w->of_cond->count + w->of_body->count;
    for (int64_t k = 0; k < fixed && s->error.code == PITH_OK; k++)
        pithp_operands_add(s, o,
                           k < w->of_cond->count
                               ? w->of_cond->arrays[k]
                               : w->of_body->arrays[k - w->of_cond->count],
                           w->function, "bound tree");
    o->values[o->count++] = -1; /* the flag */
    if (s->error.code != PITH_OK ||
        pithp_operands_add_all(s, o, w->carry, w->function, "init") != PITH_OK ||
        pithp_operands_add_neutral(s, o, w->body->checks, w->function) != PITH_OK)
        return s->error.code;
    for (int64_t k = 0; k < r->cond_values; k++)
        o->values[o->count++] = -1;
    return PITH_OK;
}

/* Evaluate the condition in the trace of s, and set the operands that depend on it. */
static bool add_first_condition(const rotation *r, const pithp_operand_list *o) {
    const pithp_checked_while *w = r->w;
    pithp_value *flag = o->values + w->of_cond->count + w->of_body->count,
                *checks = flag + 1 + r->carries + r->body_values;
    if (!call(r, w->cond->program, o->values, flag + 1, r->of_cond) ||
        !find_arrays(r, r->cond_values, r->of_cond + 1, r->kept))
        return false;
    for (int64_t k = 0; k < r->cond_values; k++)
        checks[k] = r->of_cond[1 + k];
    const pith_array *truth =
        and_passed(r, pithp_trace_array(r->s, r->trace, r->of_cond[0]), w->cond->checks);
    *flag = truth ? pithp_trace_value(r->s, r->trace, truth) : -1;
    return *flag >= 0;
}

const pith_array **pithp_control_add_checked(pith_scope *s,
                                             const pithp_checked_while *w) {
    const int64_t fixed = w->of_cond->count + w->of_body->count;
    const rotation r = rotation_of(s, pithp_scope_trace(s), w);
    pithp_operand_list o;
    const pith_array **made = NULL;
    if (s->error.code != PITH_OK ||
        pithp_operands_begin(s, &o, fixed + count_of(&r)) != PITH_OK ||
        add_known(&r, &o) != PITH_OK)
        return NULL;
    pithp_program *programs[2] = {NULL, make_body(s, w)};
    if (programs[1])
        programs[0] = make_cond(s, programs[1], fixed);
    if (programs[0]) {
        const pithp_while_params params = {.body_operands = (int32_t)fixed};
        const pithp_new_instruction given = {.primitive = PITHP_OP_WHILE,
                                             .operand_count = o.count,
                                             .operands = o.values,
                                             .params = &params,
                                             .program_count = 2,
                                             .programs = programs,
                                             .site = s->site};
        if (pithp_control_widen(s, &given, 1, w->widening) == PITH_OK &&
            !w->widening->again && add_first_condition(&r, &o))
            made = pithp_control_add_while(s, &given, w->record);
    }
    pithp_program_release(programs[0]);
    pithp_program_release(programs[1]);
    const pith_array **values = made ? made + 1 + r.carries : NULL;
    if (!values ||
        pithp_checks_replay(s, w->cond->checks, values + r.body_values, true) !=
            PITH_OK ||
        pithp_checks_replay(s, w->body->checks, values, true) != PITH_OK)
        return NULL; /* record checks in eager order */
    return made + 1;
}
