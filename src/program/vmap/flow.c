/* Nested programs of control flow in a batch: which values come to be batched, and who
 * takes part. */
#include "program/vmap/control.h"

#include <string.h>

/* ---- Values ---- */

pithp_batching pithp_batching_in(const pithp_batching *b, pithp_program *to) {
    pithp_batching in = *b;
    in.to = to;
    in.mask = -1;
    return in;
}

pithp_value pithp_batch_where(pithp_batching *b,
                              pithp_value mask,
                              pithp_value a,
                              bool a_batched,
                              pithp_value other,
                              bool other_batched) {
    return pithp_batch_pointwise(b, PITHP_OP_WHERE, 3,
                                 (const pithp_value[]){mask, a, other},
                                 (const bool[]){true, a_batched, other_batched}, NULL);
}

pithp_value pithp_batch_any(pithp_batching *b, pithp_value mask) {
    const pithp_reduce_params entries = {1};
    return pithp_batch_call(b, PITHP_OP_ANY, 1, &mask, &entries);
}

pithp_value pithp_batch_and(pithp_batching *b, pithp_value x, pithp_value y) {
    return pithp_batch_call(b, PITHP_OP_LOGICAL_AND, 2, (const pithp_value[]){x, y},
                            NULL);
}

pithp_value pithp_batch_full(pithp_batching *b, const pith_spec *spec, uint64_t bits) {
    pithp_full_params full = {.value = bits};
    if (!spec)
        return -1;
    full.dtype = spec->dtype;
    full.rank = spec->rank;
    memcpy(full.shape, spec->shape, (size_t)spec->rank * sizeof *spec->shape);
    return pithp_batch_call(b, PITHP_OP_FULL, 0, NULL, &full);
}

pithp_value pithp_batch_mask(pithp_batching *b) {
    return b->mask >= 0
               ? b->mask
               : pithp_batch_full(b, pithp_spec(b->s, PITH_BOOL, 1, &b->size), 1);
}

/* ---- Who takes part ---- */

bool pithp_instruction_uses_mask(const pithp_instruction *i) {
    bool uses = i->primitive == PITHP_OP_WHILE || i->primitive == PITHP_OP_KERNEL ||
                i->primitive == PITHP_OP_DEBUG || i->primitive == PITHP_OP_EXPOSE ||
                i->primitive == PITHP_OP_RULE;
    for (int k = 0; k < i->program_count && !uses; k++)
        uses = pithp_uses_mask(i->programs[k]);
    return uses;
}

bool pithp_uses_mask(const pithp_program *p) {
    bool uses = false;
    for (int64_t k = 0; k < p->instruction_count && !uses; k++)
        uses = pithp_instruction_uses_mask(&p->instructions[k]);
    return uses;
}

/* ---- Nested programs ---- */

static int64_t most_of(const pithp_instruction *i) {
    int64_t most = i->operand_count + i->result_count;
    for (int k = 0; k < i->program_count; k++) {
        const pithp_program *p = i->programs[k];
        most = p->input_count > most ? p->input_count : most;
        most = p->output_count > most ? p->output_count : most;
    }
    return most + 1;
}

bool pithp_flow_begin(pithp_batched_flow *f,
                      pithp_batching *b,
                      const pithp_batched_call *c) {
    const size_t most = (size_t)most_of(c->i);
    bool *memory = pithp_scope_allocate(b->s, 3 * most);
    if (!memory)
        return false;
    *f = (pithp_batched_flow){.b = b,
                              .c = c,
                              .i = c->i,
                              .r = pithp_regions_of(c->i),
                              .batched = memory,
                              .inputs = memory + most,
                              .outputs = memory + 2 * most};
    memcpy(f->batched, c->batched, (size_t)c->i->operand_count);
    return true;
}

void pithp_flow_batched_inputs(const pithp_batched_flow *f, int program) {
    for (int64_t k = 0; k < f->i->programs[program]->input_count; k++)
        f->inputs[k] = f->batched[pithp_region_operand(&f->r, program, (int)k)];
}

bool pithp_flow_reach(const pithp_batched_flow *f, int program) {
    return pithp_program_reach(f->b->s, f->i->programs[program], f->inputs, f->outputs);
}

bool pithp_flow_carries(pithp_batched_flow *f) {
    for (bool changed = true; changed;) {
        changed = false;
        pithp_flow_batched_inputs(f, f->r.body);
        if (!pithp_flow_reach(f, f->r.body))
            return false;
        for (int k = 0; k < f->r.carries.count; k++) {
            bool *carry = &f->batched[f->r.carries.first + k];
            changed |= f->outputs[k] && !*carry;
            *carry |= f->outputs[k];
        }
    }
    for (int k = 0; k < f->r.carries.count; k++)
        f->outputs[k] = f->batched[f->r.carries.first + k];
    return true;
}

pithp_value pithp_flow_operand(const pithp_batched_flow *f, int k) {
    const pithp_value v = f->c->operands[k];
    return f->batched[k] && !f->c->batched[k] ? pithp_batch_repeat(f->b, v) : v;
}

pithp_program *pithp_flow_program(const pithp_batched_flow *f, int program, bool masked) {
    return pithp_batch_outputs(f->b->s, f->i->programs[program], f->b->size, f->inputs,
                               f->b->options, masked, f->outputs);
}

pithp_program *pithp_batch_outputs(pith_scope *s,
                                   const pithp_program *p,
                                   int64_t size,
                                   const bool *batched,
                                   const pithp_vmap_options *options,
                                   bool masked,
                                   const bool *demanded) {
    bool *made = pithp_scope_allocate(s, (size_t)p->output_count + 1);
    pithp_batching in = {.s = s, .size = size, .mask = -1};
    in.to = made ? pithp_batch_program(s, p, size, batched, options, masked, made) : NULL;
    bool fine = in.to;
    for (int64_t k = 0; fine && k < p->output_count; k++) {
        pithp_value *v = &in.to->outputs[k];
        PITH_ASSERT(!demanded || demanded[k] || !made[k]);
        if ((!demanded || demanded[k]) && !made[k])
            fine = (*v = pithp_batch_repeat(&in, *v)) >= 0;
    }
    if (fine) {
        PITHP_VERIFY(in.to);
        return in.to;
    }
    pithp_program_release(in.to);
    return NULL;
}
