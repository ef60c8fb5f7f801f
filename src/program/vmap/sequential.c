/* Batching of functions that run for one entry after the other: the batch is a scan over
 * entries, whose body is the instruction of one entry. That is a mark as before, so that
 * batches of batches are loops in loops. An entry that takes no part (control.h) is
 * skipped. */
#include "program/vmap/control.h"

#include <string.h>

/* The body of the scan. Its inputs are shared operands, then batched ones, then perhaps
 * whether the entry takes part. */
typedef struct entry {
    pithp_batching *b;
    const pithp_batched_call *c;
    pithp_program *p;
    pithp_value *operands; /* of the instruction, in p */
    int shared, count;     /* operands that are not batched; inputs */
} entry;

/* ---- The body ---- */

/* Add the operands that are batched or shared as inputs, and list them for the scan. */
static bool add_inputs(entry *e, bool batched, pithp_value *list) {
    for (int k = 0; k < e->c->i->operand_count; k++) {
        if (e->c->batched[k] != batched)
            continue;
        list[e->count++] = e->c->operands[k];
        e->operands[k] =
            pithp_program_input(e->b->s, e->p, pithp_entry_spec(e->b, e->c, k));
        if (e->operands[k] < 0)
            return false;
    }
    return true;
}

/* The instruction on other operands. Its first result; -1: error set. */
static pithp_value add_instruction(pith_scope *s,
                                   const pithp_instruction *i,
                                   pithp_program *to,
                                   const pithp_value *operands) {
    const pithp_new_instruction same = {.primitive = i->primitive,
                                        .operand_count = i->operand_count,
                                        .operands = operands,
                                        .params = i->params,
                                        .program_count = i->program_count,
                                        .programs = i->programs,
                                        .site = i->site};
    return pithp_program_add_many(s, to, &same);
}

static const pith_spec *result_spec(const entry *e, int k) {
    return pithp_value_spec(e->b->from, e->c->i->result + k);
}

static pithp_value zeros(pith_scope *s, pithp_program *to, const pith_spec *spec) {
    pithp_full_params params = {.dtype = spec->dtype, .rank = spec->rank};
    memcpy(params.shape, spec->shape, sizeof params.shape);
    return pithp_program_add(s, to, PITHP_OP_FULL, 0, NULL, &params, NULL);
}

/* A branch: zeros, or the instruction. NULL: error set. */
static pithp_program *branch(const entry *e, bool runs) {
    pith_scope *s = e->b->s;
    const pithp_instruction *i = e->c->i;
    pithp_program *p = pithp_program_make(s);
    pithp_value *operands =
        pithp_scope_allocate(s, ((size_t)i->operand_count + 1) * sizeof *operands);
    bool fine = p && operands;
    for (int k = 0; k < i->operand_count && fine; k++)
        fine = (operands[k] =
                    pithp_program_input(s, p, pithp_entry_spec(e->b, e->c, k))) >= 0;
    const pithp_value first = fine && runs ? add_instruction(s, i, p, operands) : 0;
    fine = fine && first >= 0;
    for (int k = 0; k < i->result_count && fine; k++) {
        const pithp_value v = runs ? first + k : zeros(s, p, result_spec(e, k));
        fine = v >= 0 && pithp_program_output(s, p, v);
    }
    if (fine)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* The instruction if the entry takes part. Its first result; -1: error set. */
static pithp_value add_if(const entry *e, pithp_value part) {
    pith_scope *s = e->b->s;
    const int count = e->c->i->operand_count;
    pithp_program *branches[2] = {branch(e, false), branch(e, true)};
    pithp_value *operands =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *operands);
    pithp_value first = -1;
    if (branches[0] && branches[1] && operands) {
        operands[0] = part;
        memcpy(operands + 1, e->operands, (size_t)count * sizeof *operands);
        const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                            .operand_count = count + 1,
                                            .operands = operands,
                                            .program_count = 2,
                                            .programs = branches,
                                            .site = e->c->i->site};
        first = pithp_program_add_many(s, e->p, &cond);
    }
    pithp_program_release(branches[0]);
    pithp_program_release(branches[1]);
    return first;
}

/* All inputs, and all results as outputs; `list` receives the operands of the scan. */
static bool fill_body(entry *e, bool masked, pithp_value *list) {
    pith_scope *s = e->b->s;
    const pith_spec *flag = pithp_spec(s, PITH_BOOL, 0, NULL);
    pithp_value part = -1;
    if (!flag || !add_inputs(e, false, list) || !add_inputs(e, true, list))
        return false;
    if (masked) {
        list[e->count++] = e->b->mask;
        if ((part = pithp_program_input(s, e->p, flag)) < 0)
            return false;
    }
    const pithp_value first =
        masked ? add_if(e, part) : add_instruction(s, e->c->i, e->p, e->operands);
    bool fine = first >= 0;
    for (int k = 0; k < e->c->i->result_count && fine; k++)
        fine = pithp_program_output(s, e->p, first + k);
    return fine;
}

/* ---- The scan ---- */

static pithp_value add_scan(const entry *e, const pithp_value *operands) {
    const pithp_loop_params params = {
        .length = e->b->size, .constants = e->shared, .unroll = 1};
    pithp_program *body = e->p;
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = e->count,
                                        .operands = operands,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body,
                                        .site = e->c->i->site};
    return pithp_program_add_many(e->b->s, e->b->to, &scan);
}

static pithp_value first_row(pithp_batching *b, pithp_value v, const pith_spec *row) {
    pithp_slice_params one = {.limit = {1}, .step = {1}};
    for (int d = 0; d < row->rank; d++) {
        one.limit[d + 1] = row->shape[d];
        one.step[d + 1] = 1;
    }
    return pithp_batch_reshape(b, pithp_batch_call(b, PITHP_OP_SLICE, 1, &v, &one),
                               row->rank, row->shape);
}

/* Results that depend on no batched operand: those of entry 0. Without entries, or if it
 * may take no part, the instruction runs once, and zeros stand for batched operands. */
static bool
share_results(const entry *e, bool masked, pithp_value *results, const bool *batched) {
    pithp_batching *b = e->b;
    const pithp_instruction *i = e->c->i;
    const bool again = masked || !b->size;
    pithp_value first = 0;
    for (int k = 0; k < i->operand_count && again; k++) {
        e->operands[k] = e->c->batched[k]
                             ? zeros(b->s, b->to, pithp_entry_spec(b, e->c, k))
                             : e->c->operands[k];
        if (e->operands[k] < 0)
            return false;
    }
    if (again)
        first = add_instruction(b->s, i, b->to, e->operands);
    for (int k = 0; k < i->result_count && first >= 0; k++) {
        if (batched[k])
            continue;
        results[k] = again ? first + k : first_row(b, results[k], result_spec(e, k));
        if (results[k] < 0)
            return false;
    }
    return first >= 0;
}

/* Whether each result depends on a batched operand. False sets the error. */
static bool find_batched(const entry *e, bool masked, bool *batched, bool *all) {
    bool *inputs = pithp_scope_allocate(e->b->s, (size_t)e->count + 1);
    if (!inputs)
        return false;
    for (int k = 0; k < e->count; k++)
        inputs[k] = k >= e->shared && k < e->count - masked;
    if (!pithp_program_reach(e->b->s, e->p, inputs, batched))
        return false;
    *all = true;
    for (int k = 0; k < e->c->i->result_count; k++)
        *all &= batched[k];
    return true;
}

bool pithp_batch_in_turn(pithp_batching *b,
                         const pithp_batched_call *c,
                         pithp_value *results,
                         bool *batched) {
    const size_t count = (size_t)c->i->operand_count + 1;
    const bool masked = b->mask >= 0;
    pithp_value *list = pithp_scope_allocate(b->s, 2 * count * sizeof *list);
    entry e = {b, c, list ? pithp_program_make(b->s) : NULL, list + count, 0, 0};
    bool all = true;
    for (int k = 0; k < c->i->operand_count; k++)
        e.shared += !c->batched[k];
    const bool fine =
        e.p && fill_body(&e, masked, list) && find_batched(&e, masked, batched, &all);
    const pithp_value first = fine ? add_scan(&e, list) : -1;
    pithp_program_release(e.p);
    for (int k = 0; k < c->i->result_count; k++)
        results[k] = first + k;
    return first >= 0 && (all || share_results(&e, masked, results, batched));
}

bool pithp_vmap_loop(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched);
bool pithp_vmap_scan_loop(pithp_batching *b,
                          const pithp_batched_call *c,
                          pithp_value *results,
                          bool *batched);

bool pithp_vmap_scan_loop(pithp_batching *b,
                          const pithp_batched_call *c,
                          pithp_value *results,
                          bool *batched) {
    const pithp_loop_params *l = c->i->params;
    return l->sequential ? pithp_batch_in_turn(b, c, results, batched)
                         : pithp_vmap_loop(b, c, results, batched);
}
