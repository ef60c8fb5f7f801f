/* Batching of while loops. A loop whose condition is the same for all entries stays a
 * loop. Otherwise it runs until the last entry ends:
 *
 *     while (any(active))
 *         next = body(carries)
 *         carries = where(active, next, carries)
 *         active = active & condition(carries)
 *
 * An iteration after the last entry ended changes nothing. So the loop may run several
 * before it asks again: where the question takes longer than a small body, as in a graph
 * of CUDA.
 *
 * A carry that does not depend on the entry, such as a counter, has one value for all
 * entries that are active; it has no axis, and goes on. Its last value in an entry is a
 * further carry if the program uses it.
 *
 * A loop that counts to a limit of each entry counts to the greatest: it stays a loop
 * that counts, which can be transposed, and an entry is active below its limit. */
#include "program/derive/record.h"
#include "program/vmap/control.h"

#include <string.h>

typedef struct batched_while {
    pithp_batched_flow f;
    int fixed, carries; /* constants of condition and body; carries */
    bool counts;        /* to a limit of each entry */
    bool *lasts;        /* carries without axis whose last value in an entry is kept */
    int last_count;
    pithp_program *cond, *body; /* batched; with the mask if these use it */
    bool cond_masked, body_masked;
} batched_while;

/* ---- One condition for all entries ---- */

/* The condition, and whether an entry takes part. */
static pithp_program *
mask_condition(pithp_batching *b, pithp_program *from, bool masked) {
    pithp_batching in = pithp_batching_in(b, pithp_program_make(b->s));
    const int64_t given = from->input_count - masked;
    pithp_value *list =
        pithp_scope_allocate(b->s, ((size_t)from->input_count + 2) * sizeof *list);
    const pith_spec *entries = pithp_spec(b->s, PITH_BOOL, 1, &b->size);
    bool fine = in.to && list && entries;
    fine = fine && (list[0] = pithp_program_input(b->s, in.to, entries)) >= 0;
    for (int64_t k = 0; k < given && fine; k++)
        fine = (list[1 + k] = pithp_program_input(
                    b->s, in.to, pithp_value_spec(from, from->inputs[masked + k]))) >= 0;
    pithp_value truth;
    fine = fine && pithp_program_inline(b->s, in.to, from, list + !masked, &truth);
    const pithp_value both =
        fine ? pithp_batch_and(&in, truth, pithp_batch_any(&in, list[0])) : -1;
    if (both >= 0 && pithp_program_output(b->s, in.to, both))
        return in.to;
    pithp_program_release(in.to);
    return NULL;
}

static bool loop_together(batched_while *w, pithp_value *results, bool *batched) {
    pithp_batched_flow *f = &w->f;
    pithp_batching *b = f->b;
    const pithp_instruction *i = f->i;
    /* A loop that counts ends in any case. */
    const bool masked = b->mask >= 0 && !pithp_is_counted(i);
    const bool body_masked = b->mask >= 0 && pithp_uses_mask(i->programs[1]);
    const bool cond_masked = masked && pithp_uses_mask(i->programs[0]);
    pithp_while_params params = *(const pithp_while_params *)i->params;
    const size_t most = (size_t)i->operand_count + 3;
    pithp_value *list = pithp_scope_allocate(b->s, most * sizeof *list);
    pithp_program *programs[2] = {NULL, NULL};
    int count = 0;
    bool fine = list;
    for (int k = 0; k < i->operand_count && fine; k++) {
        if (masked && k == 0)
            list[count++] = b->mask;
        if (body_masked && k == params.cond_operands)
            list[count++] = b->mask;
        fine = (list[count++] = pithp_flow_operand(f, k)) >= 0;
    }
    pithp_flow_batched_inputs(f, 1);
    fine = fine && (programs[1] = pithp_flow_program(f, 1, body_masked));
    for (int k = 0; k < i->result_count; k++)
        batched[k] = f->outputs[k];
    pithp_flow_batched_inputs(f, 0);
    f->outputs[0] = false;
    fine = fine && (programs[0] = pithp_flow_program(f, 0, cond_masked));
    if (fine && masked) {
        pithp_program *whole = mask_condition(b, programs[0], cond_masked);
        pithp_program_release(programs[0]);
        fine = (programs[0] = whole);
    }
    params.cond_operands += masked;
    params.body_operands += body_masked;
    const pithp_new_instruction loop = {.primitive = PITHP_OP_WHILE,
                                        .operand_count = count,
                                        .operands = list,
                                        .params = &params,
                                        .program_count = 2,
                                        .programs = programs,
                                        .site = i->site};
    const pithp_value first = fine ? pithp_program_add_many(b->s, b->to, &loop) : -1;
    pithp_program_release(programs[0]);
    pithp_program_release(programs[1]);
    for (int k = 0; k < i->result_count; k++)
        results[k] = first + k;
    return first >= 0;
}

/* ---- A condition for each entry ---- */

static bool carry_batched(const batched_while *w, int k) {
    return w->f.batched[w->fixed + k];
}

/* Whether the body hands a carry on unchanged. */
static bool hands_on(const batched_while *w, int k) {
    return pithp_forwarded_operand(w->f.i, k) >= 0;
}

/* Find the carries without axis whose last values are used. */
static bool find_lasts(batched_while *w) {
    const pithp_program *p = w->f.b->from;
    const pithp_value first = w->f.i->result;
    w->lasts = pithp_scope_allocate(w->f.b->s, (size_t)w->carries + 1);
    if (!w->lasts)
        return false;
    memset(w->lasts, 0, (size_t)w->carries);
    for (int64_t k = 0; k < p->operand_count + p->output_count; k++) {
        const pithp_value v =
            k < p->operand_count ? p->operands[k] : p->outputs[k - p->operand_count];
        if (v >= first && v < first + w->carries)
            w->lasts[v - first] = true;
    }
    w->last_count = 0;
    for (int k = 0; k < w->carries; k++) {
        w->lasts[k] &= !carry_batched(w, k) && !hands_on(w, k);
        w->last_count += w->lasts[k];
    }
    return true;
}

/* Whether a value is another one and a positive number. */
static bool is_next(const pithp_program *p, pithp_value v, pithp_value of) {
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i || i->primitive != PITHP_OP_ADD)
        return false;
    const pithp_value *operands = pithp_operands(p, i);
    const int other = operands[0] == of;
    const void *by = pithp_literal_of(p, operands[other]);
    const pith_spec *spec = pithp_value_spec(p, operands[other]);
    return operands[!other] == of && by && spec->rank == 0 &&
           pithp_dtype_decode(spec->dtype, by) > 0;
}

/* Whether a loop counts from one number to a limit of each entry. */
static bool counts_to_limits(const batched_while *w) {
    const pithp_instruction *i = w->f.i;
    const pithp_program *body = i->programs[1];
    const pithp_value first = body->inputs[pithp_region_first_carry(&w->f.r, 1)];
    return pithp_is_range(i) && w->f.batched[0] && !carry_batched(w, 0) &&
           (pithp_is_counted(i) || is_next(body, body->outputs[0], first));
}

/* Batch condition and body. */
static bool make_programs(batched_while *w) {
    pithp_batched_flow *f = &w->f;
    w->cond_masked = pithp_uses_mask(f->i->programs[0]);
    w->body_masked = pithp_uses_mask(f->i->programs[1]);
    pithp_flow_batched_inputs(f, 1);
    for (int k = 0; k < w->carries; k++)
        f->outputs[k] = carry_batched(w, k);
    w->body = pithp_flow_program(f, 1, w->body_masked);
    pithp_flow_batched_inputs(f, 0);
    f->outputs[0] = true;
    w->cond = w->body ? pithp_flow_program(f, 0, w->cond_masked) : NULL;
    return w->cond;
}

/* Add a program with these constants and carries. False sets the error. */
static bool call(const batched_while *w,
                 pithp_batching *in,
                 const pithp_program *p,
                 bool masked,
                 pithp_value mask,
                 const pithp_value *constants,
                 const pithp_value *carries,
                 pithp_value *outputs) {
    const int fixed = (int)p->input_count - masked - w->carries;
    pithp_value *list =
        pithp_scope_allocate(in->s, ((size_t)p->input_count + 1) * sizeof *list);
    if (!list || (masked && mask < 0))
        return false;
    if (masked)
        list[0] = mask;
    memcpy(list + masked, constants, (size_t)fixed * sizeof *list);
    memcpy(list + masked + fixed, carries, (size_t)w->carries * sizeof *list);
    return pithp_program_inline(in->s, in->to, p, list, outputs);
}

/* The condition of each entry; -1 sets the error. */
static pithp_value condition(const batched_while *w,
                             pithp_batching *in,
                             pithp_value mask,
                             const pithp_value *constants,
                             const pithp_value *carries) {
    pithp_value truth;
    return call(w, in, w->cond, w->cond_masked, mask, constants, carries, &truth) ? truth
                                                                                  : -1;
}

static bool outputs_all(pithp_batching *in, const pithp_value *values, int count) {
    bool fine = true;
    for (int k = 0; k < count && fine; k++)
        fine = values[k] >= 0 && pithp_program_output(in->s, in->to, values[k]);
    return fine;
}

/* The next values of the carries, and the last values of those that are kept. */
static bool add_next(const batched_while *w,
                     pithp_batching *in,
                     pithp_value active,
                     const pithp_value *constants,
                     const pithp_value *carries,
                     const pithp_value *lasts,
                     pithp_value *next) {
    const int of_cond = ((const pithp_while_params *)w->f.i->params)->cond_operands;
    if (!call(w, in, w->body, w->body_masked, active, constants + of_cond, carries, next))
        return false;
    pithp_value *kept = next + w->carries;
    bool fine = true;
    for (int k = 0; k < w->carries && fine; k++) {
        if (w->lasts[k])
            *kept++ = pithp_batch_where(in, active, next[k], false, *lasts++, true);
        if (carry_batched(w, k) && next[k] != carries[k])
            next[k] = pithp_batch_where(in, active, next[k], true, carries[k], true);
        fine = next[k] >= 0;
    }
    return fine;
}

/* Add an iteration: constants, and the state: carries, active, lasts. A loop that counts
 * has no carry `active`: it is k < limit. The next state; NULL sets the error. */
static const pithp_value *add_iteration(const batched_while *w,
                                        pithp_batching *in,
                                        const pithp_value *constants,
                                        const pithp_value *state) {
    const pithp_value *after = state + w->carries;
    const pithp_value active =
        w->counts ? condition(w, in, -1, constants, state) : *after++;
    pithp_value *next = pithp_scope_allocate(
        in->s, ((size_t)(w->carries + w->last_count) + 2) * sizeof *next);
    if (!next || active < 0 || !add_next(w, in, active, constants, state, after, next))
        return NULL;
    if (w->counts)
        return next;
    pithp_value *lasts = next + w->carries;
    memmove(lasts + 1, lasts, (size_t)w->last_count * sizeof *lasts);
    *lasts = pithp_batch_and(in, active, condition(w, in, active, constants, next));
    return *lasts >= 0 ? next : NULL;
}

/* Most elements of a value, and instructions of the body, of loops that run several
 * iterations before they ask. */
enum { SMALL_ELEMENTS = 1 << 16, SMALL_INSTRUCTIONS = 512 };

static bool has_control_flow(const pithp_program *p) {
    bool has = false;
    for (int64_t k = 0; k < p->instruction_count && !has; k++)
        has = pithp_op_has(p->instructions[k].primitive, PITHP_TRAIT_REGIONS);
    return has;
}

/* The number of iterations in the body of the loop. */
static int64_t steps_of(const batched_while *w) {
    const pithp_instruction *i = w->f.i;
    int64_t steps = w->f.b->options->steps;
    if (((const pithp_while_params *)i->params)->most || w->body->has_effects ||
        has_control_flow(w->body))
        return 1; /* its iterations are counted, or seen, or take long */
    for (int64_t v = 0; v < w->body->value_count; v++)
        if (pithp_value_spec(w->body, (pithp_value)v)->count > SMALL_ELEMENTS)
            return 1;
    while (steps > 1 && steps * w->body->instruction_count > SMALL_INSTRUCTIONS)
        steps--;
    return steps > 1 ? steps : 1;
}

/* The body: constants, state -> state. */
static pithp_program *
make_body(const batched_while *w, const pithp_value *operands, int count) {
    pithp_batching in = pithp_batching_in(w->f.b, pithp_program_make(w->f.b->s));
    pithp_value *values =
        pithp_scope_allocate(in.s, ((size_t)count + 1) * sizeof *values);
    bool fine = in.to && values;
    for (int k = 0; k < count && fine; k++)
        fine = (values[k] = pithp_program_input(
                    in.s, in.to, pithp_batch_spec(w->f.b, operands[k]))) >= 0;
    const pithp_value *state = fine ? values + w->fixed : NULL;
    for (int64_t k = steps_of(w); state && k > 0; k--)
        state = add_iteration(w, &in, values, state);
    if (state && outputs_all(&in, state, count - w->fixed))
        return in.to;
    pithp_program_release(in.to);
    return NULL;
}

/* The condition of the loop: carries, active, lasts -> any(active). */
static pithp_program *
make_condition(const batched_while *w, const pithp_value *operands, int count) {
    pithp_batching in = pithp_batching_in(w->f.b, pithp_program_make(w->f.b->s));
    pithp_value active = -1;
    bool fine = in.to;
    for (int k = w->fixed; k < count && fine; k++) {
        const pithp_value v =
            pithp_program_input(in.s, in.to, pithp_batch_spec(w->f.b, operands[k]));
        fine = v >= 0;
        if (k == w->fixed + w->carries)
            active = v;
    }
    const pithp_value any = fine ? pithp_batch_any(&in, active) : -1;
    if (any >= 0 && outputs_all(&in, &any, 1))
        return in.to;
    pithp_program_release(in.to);
    return NULL;
}

/* limit, carries, lasts -> k < limit. */
static pithp_program *
make_range(const batched_while *w, const pithp_value *operands, int count) {
    pithp_batching in = pithp_batching_in(w->f.b, pithp_program_make(w->f.b->s));
    pithp_value first[2] = {-1, -1};
    bool fine = in.to;
    for (int k = w->fixed - 1; k < count && fine; k++) {
        const int carry = k < w->fixed ? w->fixed : k;
        const pithp_value v =
            pithp_program_input(in.s, in.to, pithp_batch_spec(w->f.b, operands[carry]));
        fine = v >= 0;
        if (k <= w->fixed)
            first[k - w->fixed + 1] = v;
    }
    const pithp_value less =
        fine ? pithp_batch_call(&in, PITHP_OP_LT, 2,
                                (const pithp_value[]){first[1], first[0]}, NULL)
             : -1;
    if (less >= 0 && outputs_all(&in, &less, 1))
        return in.to;
    pithp_program_release(in.to);
    return NULL;
}

/* The greatest limit. */
static pithp_value greatest(pithp_batching *b, pithp_value limits) {
    const pithp_reduce_params entries = {1};
    return b->size
               ? pithp_batch_call(b, PITHP_OP_MAX_OF, 1, &limits, &entries)
               : pithp_batch_full(
                     b, pithp_spec(b->s, pithp_batch_spec(b, limits)->dtype, 0, NULL), 0);
}

/* The operands of the body: constants, carries, active, lasts. Returns their number; 0
 * sets the error. */
static int list_operands(const batched_while *w, pithp_value *list) {
    const pithp_batched_flow *f = &w->f;
    pithp_batching *b = f->b;
    int count = 0;
    bool fine = true;
    for (; count < f->i->operand_count && fine; count++)
        fine = (list[count] = pithp_flow_operand(f, count)) >= 0;
    if (fine && !w->counts) {
        pithp_value active = condition(w, b, w->cond_masked ? pithp_batch_mask(b) : -1,
                                       list, list + w->fixed);
        if (active >= 0 && b->mask >= 0)
            active = pithp_batch_and(b, active, b->mask);
        fine = (list[count++] = active) >= 0;
    }
    for (int k = 0; k < w->carries && fine; k++)
        if (w->lasts[k])
            fine = (list[count++] = pithp_batch_repeat(b, list[w->fixed + k])) >= 0;
    return fine ? count : 0;
}

static pithp_value add_loop(const batched_while *w, pithp_value *list, int count) {
    pithp_batching *b = w->f.b;
    const pithp_instruction *i = w->f.i;
    pithp_program *programs[2] = {NULL, make_body(w, list + w->counts, count)};
    if (programs[1])
        programs[0] =
            w->counts ? make_range(w, list + 1, count) : make_condition(w, list, count);
    const pithp_while_params params = {.cond_operands = w->counts,
                                       .body_operands = w->fixed,
                                       .most =
                                           ((const pithp_while_params *)i->params)->most};
    const pithp_new_instruction loop = {.primitive = PITHP_OP_WHILE,
                                        .operand_count = count + w->counts,
                                        .operands = list,
                                        .params = &params,
                                        .program_count = 2,
                                        .programs = programs,
                                        .site = i->site};
    const pithp_value first =
        programs[0] ? pithp_program_add_many(b->s, b->to, &loop) : -1;
    pithp_program_release(programs[0]);
    pithp_program_release(programs[1]);
    return first;
}

static void take_results(const batched_while *w,
                         pithp_value first,
                         pithp_value *results,
                         bool *batched) {
    pithp_value last = first + w->carries + !w->counts;
    for (int k = 0; k < w->carries; k++) {
        results[k] = w->lasts[k] ? last++ : first + k;
        batched[k] = w->lasts[k] || carry_batched(w, k);
    }
}

static bool loop_apart(batched_while *w, pithp_value *results, bool *batched) {
    pithp_batching *b = w->f.b;
    w->counts = counts_to_limits(w);
    if (!find_lasts(w) || !make_programs(w))
        return false;
    const size_t most = (size_t)(w->fixed + 2 * w->carries) + 3;
    pithp_value *list = pithp_scope_allocate(b->s, most * sizeof *list);
    const int count = list ? list_operands(w, list + w->counts) : 0;
    if (count && w->counts && w->f.b->mask >= 0) {
        /* No entry that is left out counts. */
        const pithp_value from = pithp_batch_repeat(b, list[w->counts + w->fixed]);
        list[1] = pithp_batch_where(b, b->mask, list[1], true, from, true);
    }
    if (count && w->counts)
        list[0] = greatest(b, list[1]);
    const bool fine = count && list[0] >= 0 && list[w->counts] >= 0;
    const pithp_value first = fine ? add_loop(w, list, count) : -1;
    if (first >= 0)
        take_results(w, first, results, batched);
    return first >= 0;
}

bool pithp_vmap_while(pithp_batching *b,
                      const pithp_batched_call *c,
                      pithp_value *results,
                      bool *batched);

bool pithp_vmap_while(pithp_batching *b,
                      const pithp_batched_call *c,
                      pithp_value *results,
                      bool *batched) {
    batched_while w = {.carries = c->i->result_count};
    if (!pithp_flow_begin(&w.f, b, c) || !pithp_flow_carries(&w.f))
        return false;
    w.fixed = w.f.r.carries.first;
    bool *truth = pithp_scope_allocate(b->s, 1);
    pithp_flow_batched_inputs(&w.f, 0);
    if (!truth || !pithp_program_reach(b->s, c->i->programs[0], w.f.inputs, truth))
        return false;
    const bool fine =
        *truth ? loop_apart(&w, results, batched) : loop_together(&w, results, batched);
    pithp_program_release(w.cond);
    pithp_program_release(w.body);
    return fine;
}
