/* Collectives in command buffers. What needs no host becomes kernels and moves between
 * ranks, which a graph holds at top level. A library fixes the addresses of a move when
 * it is captured, so moves work within memory of the schedule, and kernels copy to it and
 * from it. All moves share that memory, which makes them one chain: the order in which
 * all ranks recorded them. */
#include "program/collective/collective.h"
#include "program/command/builder.h"

#include <string.h>

typedef struct moving {
    pithp_scheduling *g;
    const pithp_making_frame *f;
    const pithp_step *step;
    const pithp_sink *sink;
} moving;

/* The collective itself needs no host, and its ranks are connected. */
static bool is_on_device(const pithp_instruction *i) {
    const pithp_collective_params *params = i->params;
    return pithp_collective_is_on_device(i->primitive, i->operand_count) &&
           (params->group->size == 1 || params->group->communicator);
}

int pithp_step_needs(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_DEBUG)
        return PITHP_NEEDS_HOST;
    if (!pithp_is_collective(i->primitive) || i->primitive == PITHP_OP_AXIS_INDEX)
        return 0;
    const pithp_collective_params *params = i->params;
    return !is_on_device(i)          ? PITHP_NEEDS_HOST
           : params->group->size > 1 ? PITHP_NEEDS_TOP
                                     : 0;
}

int pithp_plan_needs(const pithp_plan *plan) {
    int needs = 0;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->kind == PITHP_STEP_CONTROL)
            for (int p = 0; p < step->call->program_count; p++)
                needs |= pithp_plan_needs(step->plans[p]);
        else if (step->kind == PITHP_STEP_CALL)
            needs |= pithp_step_needs(step->call);
    }
    return needs;
}

/* ---- Recording ---- */

/* From its place to the shared memory, to the other ranks, and from there to its place.
 */
static pith_status record_transfer(void *closure,
                                   const pithp_mesh_group *group,
                                   const pithp_device_move *t) {
    const moving *m = closure;
    const bool sends = t->kind != PITHP_TRANSFER_PERMUTE || t->receiver >= 0;
    const bool receives = t->kind != PITHP_TRANSFER_PERMUTE || t->sender >= 0;
    const size_t out = sends ? pithp_transfer_reads(t, group->size) : 0;
    const size_t in = receives ? pithp_transfer_writes(t, group->size) : 0;
    const size_t at = pithp_aligned(out);
    char *base = (char *)(uintptr_t)(m->g->base + m->g->regions[m->g->move_region].begin);
    pithp_device_move own = *t;
    own.from = (const void *)(uintptr_t)0;
    own.to = (void *)(uintptr_t)at;
    if (at + in > m->g->to->move_bytes)
        m->g->to->move_bytes = at + in;
    pith_status rc = out ? pithp_record_copy(m->sink, base, t->from, out) : PITH_OK;
    if (rc == PITH_OK)
        rc = pithp_record_transfer(m->sink, m->step, &own);
    return rc == PITH_OK && in ? pithp_record_copy(m->sink, t->to, base + at, in) : rc;
}

static pith_status
lower_collective(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    moving m = *(const moving *)what;
    const pithp_instruction *i = m.step->call;
    const pithp_program *p = m.f->plan->program;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, m.step->specs, i->params);
    const void *operands[2] = {NULL};
    PITH_ASSERT(i->operand_count <= PITHP_COUNT(operands));
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = pithp_false_address(g, m.f, pithp_operands(p, i)[k]);
    m.sink = sink;
    const uint64_t workspace = g->base + g->regions[m.f->region].begin;
    const pithp_collective_memory memory = {
        .operands = operands,
        .result = pithp_false_address(g, m.f, i->result),
        .device = (void *)(uintptr_t)(workspace + (uint64_t)m.step->temporary)};
    const pithp_collective_recorder recorder = {sink, record_transfer, &m};
    return pithp_collective_record(g->s, &call, m.step->spec, &memory, &recorder);
}

/* Reserve the memory that all moves share: a region, and the word for its address. */
static bool need_moves(pithp_scheduling *g) {
    pithp_schedule *to = g->to;
    if (g->move_region >= 0)
        return true;
    to->move_word = pithp_words(g, 1);
    g->move_region = g->region_count;
    return to->move_word >= 0 &&
           pithp_region_add(g, to->move_word, (uint64_t)1 << 40, PITHP_ALIGNMENT);
}

bool pithp_schedule_collective(pithp_scheduling *g,
                               pithp_making_frame *f,
                               const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const moving m = {.g = g, .f = f, .step = step};
    if (!need_moves(g))
        return false;
    for (int k = 0; k < i->operand_count; k++)
        pithp_touch_value(f, pithp_operands(f->plan->program, i)[k], false);
    pithp_touch_value(f, i->result, true);
    pithp_touch_temporary(f, step);
    pithp_order_touch(f, &(pithp_touch){pithp_making_slots(f->plan) + 1, 0, 1, true});
    return pithp_record(g, f, &f->writes, lower_collective, &m);
}
