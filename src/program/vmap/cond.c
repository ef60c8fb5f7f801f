/* Batching of branches. If all entries take one branch, the instruction stays a choice of
 * programs. If entries differ, all branches run, each with the entries that take it as
 * its mask, and each result is that of the branch taken.
 *
 * Then an operand x of a branch is where(taken, x, stop_gradient(x)): the same number,
 * but no cotangent of an entry that does not take the branch, which may be NaN, goes
 * further. */
#include "mesh/mesh_internal.h"
#include "program/vmap/control.h"

#include <string.h>

/* ---- One branch for all entries ---- */

/* Mark the outputs that are batched in a branch. */
static bool find_outputs(pithp_batched_flow *f) {
    const size_t count = (size_t)f->i->result_count;
    bool *any = pithp_scope_allocate(f->b->s, count + 1);
    if (!any)
        return false;
    memset(any, 0, count);
    pithp_flow_batched_inputs(f, 0); /* the same for all */
    for (int n = 0; n < f->i->program_count; n++) {
        if (!pithp_flow_reach(f, n))
            return false;
        for (size_t k = 0; k < count; k++)
            any[k] |= f->outputs[k];
    }
    memcpy(f->outputs, any, count);
    return true;
}

static bool choose_one(pithp_batched_flow *f,
                       pithp_value index,
                       pithp_value *results,
                       bool *batched) {
    pithp_batching *b = f->b;
    const pithp_instruction *i = f->i;
    pithp_value *list = f->c->scratch;
    pithp_program **programs =
        pithp_scope_allocate(b->s, (size_t)i->program_count * sizeof *programs);
    const bool masked = b->mask >= 0 && pithp_instruction_uses_mask(i);
    int count = 0, made = 0;
    bool fine = programs && find_outputs(f);
    list[count++] = index;
    if (masked)
        list[count++] = b->mask;
    for (int k = 1; k < i->operand_count; k++)
        list[count++] = f->c->operands[k];
    for (; made < i->program_count && fine; made += fine)
        fine = (programs[made] = pithp_flow_program(f, made, masked)) != NULL;
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = count,
                                        .operands = list,
                                        .program_count = i->program_count,
                                        .programs = programs,
                                        .site = i->site};
    const pithp_value first = fine ? pithp_program_add_many(b->s, b->to, &cond) : -1;
    for (int k = 0; k < made; k++)
        pithp_program_release(programs[k]);
    for (int k = 0; k < i->result_count && first >= 0; k++) {
        results[k] = first + k;
        batched[k] = f->outputs[k];
    }
    return first >= 0;
}

/* ---- Collectives ---- */

/* The axes of the collectives in a program, at any depth, and their mesh. */
static pithp_axis_set axes_of_collectives(const pithp_program *p,
                                          const pith_mesh **mesh) {
    pithp_axis_set all = 0;
    for (int64_t k = 0; p->has_collectives && k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        for (int32_t n = 0; n < i->program_count; n++)
            all |= axes_of_collectives(i->programs[n], mesh);
        if (!pithp_is_collective(i->primitive) || i->primitive == PITHP_OP_AXIS_INDEX)
            continue;
        const pithp_collective_params *params = i->params;
        *mesh = params->group->mesh;
        all |= pithp_mesh_group_axes(params->group);
    }
    return all;
}

/* The choice of each entry. The collectives of a branch are made for all entries, so the
 * ranks along their axes must choose alike, as without a batch: that is checked when it
 * is known what varies (program/vary/check.c). */
static pithp_value choices(const pithp_batched_flow *f) {
    const pithp_value index = f->c->operands[PITHP_COND_INDEX];
    const pith_mesh *mesh = NULL;
    pithp_axis_set axes = 0;
    for (int32_t k = 0; k < f->i->program_count; k++)
        axes |= axes_of_collectives(f->i->programs[k], &mesh);
    if (!axes)
        return index;
    const pithp_vary_params params = {.group =
                                          pithp_mesh_group_along(f->b->s, mesh, axes),
                                      .expected = true,
                                      .mapped = true};
    return params.group ? pithp_batch_call(f->b, PITHP_OP_REPLICATED, 1, &index, &params)
                        : -1;
}

/* ---- A branch for each entry ---- */

/* The entries that take a branch: bool [size]. */
static pithp_value taken(const pithp_batched_flow *f, pithp_value index, int branch) {
    pithp_batching *b = f->b;
    const pith_dtype dtype = pithp_batch_spec(b, index)->dtype;
    const int last = f->i->program_count - 1;
    if (dtype == PITH_BOOL)
        return branch ? index
                      : pithp_batch_call(b, PITHP_OP_LOGICAL_NOT, 1, &index, NULL);
    const pithp_value number =
        pithp_batch_full(b, pithp_spec(b->s, dtype, 0, NULL), (uint64_t)branch);
    return pithp_batch_call(b,
                            branch == 0      ? PITHP_OP_LE
                            : branch == last ? PITHP_OP_GE
                                             : PITHP_OP_EQ,
                            2, (const pithp_value[]){index, number}, NULL);
}

/* Mark the inputs of a program that it uses. */
static void find_uses(const pithp_program *p, bool *used) {
    memset(used, 0, (size_t)p->input_count);
    for (int64_t k = 0; k < p->operand_count; k++)
        if (p->values[p->operands[k]].origin == PITHP_FROM_INPUT)
            used[p->values[p->operands[k]].at] = true;
    for (int64_t k = 0; k < p->output_count; k++)
        if (p->values[p->outputs[k]].origin == PITHP_FROM_INPUT)
            used[p->values[p->outputs[k]].at] = true;
}

/* The operand of a branch whose other entries get no cotangent. Sets *batched. */
static pithp_value
stopped(pithp_batching *b, pithp_value mask, pithp_value x, bool *batched) {
    const pithp_value stop = pithp_batch_call(b, PITHP_OP_STOP_GRADIENT, 1, &x, NULL);
    const bool of_entries = *batched;
    *batched = true;
    return pithp_batch_where(b, mask, x, of_entries, stop, of_entries);
}

/* Add a branch for the entries that take it. Sets its outputs, of which all are batched.
 */
static bool
add_branch(pithp_batched_flow *f, int branch, pithp_value mask, pithp_value *outputs) {
    pithp_batching *b = f->b;
    const pithp_program *p = f->i->programs[branch];
    const bool masked = pithp_uses_mask(p);
    pithp_value *list = f->c->scratch, *next = list;
    bool *used = pithp_scope_allocate(b->s, (size_t)p->input_count + 1);
    if (!used)
        return false;
    find_uses(p, used);
    if (masked)
        *next++ = b->mask >= 0 ? pithp_batch_and(b, mask, b->mask) : mask;
    for (int64_t k = 0; k < p->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(p, p->inputs[k]);
        f->inputs[k] = f->c->batched[1 + k];
        *next = f->c->operands[1 + k];
        if (used[k] && pith_dtype_is_float(spec->dtype))
            *next = stopped(b, mask, *next, &f->inputs[k]);
        if (*next++ < 0)
            return false;
    }
    for (int64_t k = 0; k < p->output_count; k++)
        f->outputs[k] = true;
    pithp_program *made = pithp_flow_program(f, branch, masked);
    const bool fine = made && (!masked || list[0] >= 0) &&
                      pithp_program_inline(b->s, b->to, made, list, outputs);
    pithp_program_release(made);
    return fine;
}

/* The operand that all branches forward as result k; -1: they differ. */
static int forwarded(const pithp_instruction *i, int k) {
    const pithp_value_info *first = NULL;
    for (int n = 0; n < i->program_count; n++) {
        const pithp_program *p = i->programs[n];
        const pithp_value_info *v = &p->values[p->outputs[k]];
        if (v->origin != PITHP_FROM_INPUT || (first && v->at != first->at))
            return -1;
        first = v;
    }
    return first ? 1 + first->at : -1;
}

static bool choose_each(pithp_batched_flow *f, pithp_value *results, bool *batched) {
    pithp_batching *b = f->b;
    const pithp_instruction *i = f->i;
    pithp_value *outputs =
        pithp_scope_allocate(b->s, ((size_t)i->result_count + 1) * sizeof *outputs);
    const pithp_value index = outputs ? choices(f) : -1;
    bool fine = index >= 0;
    for (int n = 0; n < i->program_count && fine; n++) {
        const pithp_value mask = taken(f, index, n);
        fine = mask >= 0 && add_branch(f, n, mask, outputs);
        for (int k = 0; k < i->result_count && fine; k++) {
            results[k] =
                n ? pithp_batch_where(b, mask, outputs[k], true, results[k], true)
                  : outputs[k];
            fine = results[k] >= 0;
        }
    }
    for (int k = 0; k < i->result_count && fine; k++) {
        const int operand = forwarded(i, k);
        if (operand >= 0)
            results[k] = f->c->operands[operand];
        batched[k] = operand < 0 || f->c->batched[operand];
    }
    return fine;
}

bool pithp_vmap_cond(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched);

bool pithp_vmap_cond(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched) {
    pithp_batched_flow f;
    if (!pithp_flow_begin(&f, b, c))
        return false;
    pithp_value index = c->operands[PITHP_COND_INDEX];
    if (c->batched[PITHP_COND_INDEX] && c->i->program_count > 1)
        return choose_each(&f, results, batched);
    if (c->batched[PITHP_COND_INDEX]) /* of one branch: any index chooses it */
        index = pithp_batch_full(b, pithp_spec(b->s, PITH_I32, 0, NULL), 0);
    return index >= 0 && choose_one(&f, index, results, batched);
}
