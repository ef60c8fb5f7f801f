/* Blocks: the number of entries that the host runs at a time by itself. */
#include "gpu/gpu_internal.h"
#include "mesh/mesh_internal.h"
#include "program/op/thresholds.h"
#include "program/vmap/chunk.h"

#include <string.h>

enum { USUAL_THREADS = 8 }; /* of a rank */

/* The most elements of a value of an instruction, with those of nested programs. */
static int64_t most_elements(const pithp_program *p, const pithp_instruction *i) {
    int64_t most = 0;
    for (int k = 0; k < i->result_count; k++) {
        const int64_t count = pithp_value_spec(p, i->result + k)->count;
        most = count > most ? count : most;
    }
    for (int b = 0; b < i->program_count; b++)
        for (int64_t k = 0; k < i->programs[b]->instruction_count; k++) {
            const int64_t inside =
                most_elements(i->programs[b], &i->programs[b]->instructions[k]);
            most = inside > most ? inside : most;
        }
    return most;
}

static bool is_dependent(const pithp_program *p,
                         const pithp_instruction *i,
                         const uint64_t *depends) {
    bool any = false;
    for (int k = 0; k < i->operand_count; k++)
        any |= depends[pithp_operands(p, i)[k]] != 0;
    return any;
}

/* Whether the batch of an instruction is a loop over the entries: no two may run at the
 * same time. */
static bool is_sequential(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_SCAN &&
           ((const pithp_loop_params *)i->params)->sequential;
}

/* Elements of an entry: those of its largest value. 0: its program is a chain of calls
 * that run well for all entries at a time, or must run one entry after the other. */
static int64_t entry_elements(const pithp_program *p, const uint64_t *depends) {
    bool worthwhile = false;
    int64_t most = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (!is_dependent(p, i, depends))
            continue;
        if (is_sequential(i))
            return 0;
        const int64_t count = most_elements(p, i);
        most = count > most ? count : most;
        worthwhile |= i->primitive == PITHP_OP_KERNEL ||
                      pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS);
    }
    return worthwhile ? most : 0;
}

int pithp_program_vmap_steps(pith_scope *s) {
    return pithp_scope_device(s)->immediate ? 1 : 4;
}

int64_t pithp_program_vmap_block(pith_scope *s,
                                 const pithp_program *p,
                                 int64_t size,
                                 const bool *batched) {
    const pithp_device *d = pithp_scope_device(s);
    if (!d->immediate || p->has_effects || pithp_calls_rule(p, true))
        return INT64_MAX; /* a rule gets the whole batch */
    const size_t bytes = ((size_t)p->value_count + 1) * sizeof(uint64_t);
    uint64_t *depends = pithp_scope_allocate(s, bytes);
    if (!depends)
        return INT64_MAX;
    memset(depends, 0, bytes);
    for (int64_t k = 0; k < p->input_count; k++)
        depends[p->inputs[k]] = batched[k];
    const int64_t each =
        pithp_program_follow(s, p, depends) ? entry_elements(p, depends) : 0;
    if (each == 0)
        return INT64_MAX;
    /* Ranks record the same program, whatever the numbers of their threads. */
    const int64_t threads = pithp_has_ranks(s) ? USUAL_THREADS : d->threads,
                  share = (size + threads - 1) / threads,
                  block = each < PITHP_BLOCK_ELEMENTS ? PITHP_BLOCK_ELEMENTS / each : 1;
    return share > 0 && share < block ? share : block;
}
