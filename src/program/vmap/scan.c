/* Batching of scans. Their rows have the batch axis behind the axis of the iterations,
 * where an iteration's row has it in front. */
#include "program/vmap/control.h"

/* The operands: the mask, constants, carries, and rows with the batch axis second. */
static bool list_operands(const pithp_batched_flow *f, bool masked, pithp_value *list) {
    const int rows = f->r.groups[PITHP_SCAN_XS].first;
    bool fine = true;
    if (masked)
        *list++ = f->b->mask;
    for (int k = 0; k < f->i->operand_count && fine; k++) {
        list[k] = pithp_flow_operand(f, k);
        if (k >= rows && f->batched[k])
            list[k] = pithp_batch_move_axis(f->b, list[k], 1, 0);
        fine = list[k] >= 0;
    }
    return fine;
}

/* Whether rows that the body makes are batched says f->outputs. */
static bool take_results(const pithp_batched_flow *f,
                         pithp_value first,
                         pithp_value *results,
                         bool *batched) {
    bool fine = first >= 0;
    for (int k = 0; k < f->i->result_count && fine; k++) {
        results[k] = first + k;
        batched[k] = f->outputs[k];
        if (k >= f->r.carries.count && batched[k])
            fine = (results[k] = pithp_batch_move_axis(f->b, results[k], 1, 0)) >= 0;
    }
    return fine;
}

bool pithp_vmap_loop(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched);

bool pithp_vmap_loop(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched) {
    pithp_batched_flow f;
    if (!pithp_flow_begin(&f, b, c) || !pithp_flow_carries(&f))
        return false;
    const bool masked = b->mask >= 0 && pithp_uses_mask(c->i->programs[0]);
    if (!list_operands(&f, masked, c->scratch))
        return false;
    pithp_program *body = pithp_flow_program(&f, 0, masked);
    pithp_loop_params params = *(const pithp_loop_params *)c->i->params;
    params.constants += masked;
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = c->i->operand_count + masked,
                                        .operands = c->scratch,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body,
                                        .site = c->i->site};
    const pithp_value first = body ? pithp_program_add_many(b->s, b->to, &scan) : -1;
    pithp_program_release(body);
    return take_results(&f, first, results, batched);
}
