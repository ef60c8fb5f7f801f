/* Collectives in command buffers. What needs no host becomes kernels and moves between
 * ranks, which a graph holds at top level. A library fixes the addresses of a move when
 * it is captured, so moves work within memory of the schedule. Temporary memory of a
 * collective is in it: kernels that make strips, stacks and parts write and read them
 * there. Operands and results have other addresses in each run, and are copied. All
 * collectives share that memory, which makes them one chain: the order in which all ranks
 * recorded them. */
#include "program/collective/collective.h"
#include "program/command/builder.h"

#include <string.h>

typedef struct moving {
    pithp_scheduling *g;
    const pithp_making_frame *f;
    const pithp_step *step;
    const pithp_sink *sink;
    uint64_t temporary; /* bytes of the shared memory that the collective has */
} moving;

/* The collective itself needs no host, and its ranks are connected. */
static bool is_on_device(const pithp_instruction *i) {
    const pithp_collective_params *params = i->params;
    return pithp_collective_is_on_device(i->primitive, i->operand_count) &&
           (params->group->size == 1 || params->group->communicator);
}

/* One rank alone has none. */
static bool has_moves(const pithp_instruction *i) {
    return ((const pithp_collective_params *)i->params)->group->size > 1;
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

static uint64_t shared_base(const moving *m) {
    return m->g->base + m->g->regions[m->g->move_region].begin;
}

/* The offset of memory that a move works in: its own place, if that is shared, or one
 * behind the temporary memory of the collective. *at: the first free byte there. */
static uint64_t place_of(const moving *m, const void *data, size_t bytes, uint64_t *at) {
    const uint64_t offset = (uint64_t)(uintptr_t)data - shared_base(m);
    if (offset < m->temporary)
        return offset;
    const uint64_t place = *at;
    *at += pithp_aligned(bytes);
    return place;
}

/* Copy between memory of a run and its place; nothing if that is the memory itself. */
static pith_status
copy_placed(const moving *m, const void *data, uint64_t place, size_t bytes, bool in) {
    void *shared = (void *)(uintptr_t)(shared_base(m) + place);
    if (!bytes || data == shared)
        return PITH_OK;
    return in ? pithp_record_copy(m->sink, shared, data, bytes)
              : pithp_record_copy(m->sink, (void *)(uintptr_t)data, shared, bytes);
}

/* To the shared memory, to the other ranks, and from there. */
static pith_status record_transfer(void *closure,
                                   const pithp_mesh_group *group,
                                   const pithp_device_move *t) {
    const moving *m = closure;
    const bool sends = t->kind != PITHP_TRANSFER_PERMUTE || t->receiver >= 0;
    const bool receives = t->kind != PITHP_TRANSFER_PERMUTE || t->sender >= 0;
    const size_t out = sends ? pithp_transfer_reads(t, group->size) : 0;
    const size_t in = receives ? pithp_transfer_writes(t, group->size) : 0;
    uint64_t at = m->temporary;
    const uint64_t from = place_of(m, t->from, out, &at),
                   to = place_of(m, t->to, in, &at);
    pithp_device_move own = *t;
    own.from = (const void *)(uintptr_t)from;
    own.to = (void *)(uintptr_t)to;
    if (at > m->g->to->move_bytes)
        m->g->to->move_bytes = at;
    pith_status rc = copy_placed(m, t->from, from, out, true);
    if (rc == PITH_OK)
        rc = pithp_record_transfer(m->sink, m->step, &own);
    return rc == PITH_OK ? copy_placed(m, t->to, to, in, false) : rc;
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
    const bool shares = has_moves(i);
    const uint64_t workspace = g->base + g->regions[m.f->region].begin;
    if (shares)
        m.temporary = pithp_collective_measure(&call, m.step->spec, 0, false).device;
    if (m.temporary > g->to->move_bytes)
        g->to->move_bytes = m.temporary;
    void *const result = pithp_false_address(g, m.f, i->result);
    const pithp_collective_memory memory = {
        .operands = operands,
        .results = &result,
        .device = (void *)(uintptr_t)(shares ? shared_base(&m)
                                             : workspace + (uint64_t)m.step->temporary)};
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
    if (!has_moves(i))
        pithp_touch_temporary(f, step);
    pithp_order_touch(f, &(pithp_touch){pithp_making_slots(f->plan) + 1, 0, 1, true});
    return pithp_record(g, f, &f->writes, lower_collective, &m);
}
