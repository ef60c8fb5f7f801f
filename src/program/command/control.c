/* Control flow in command buffers. Each nested program has its own list of tasks. The
 * bind of the list writes the addresses of its inputs and outputs, from words of the
 * branch or loop:
 *
 *     loop:  current[k]          address of carry k
 *            result[k] spare[k]  the two buffers that hold it in turn. If the number of
 *                                iterations is known, the last one writes to the result
 *            counter             number of the iteration */
#include "program/command/builder.h"
#include "program/emit/loop.h"

#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
#include "program/source/args/predicate.h"

enum { FLAG_BYTES = PITHP_ALIGNMENT, WORD = sizeof(uint64_t) };
/* Loops of fewer steps in all are laid out if they hold moves between ranks. */
enum { UNROLLED_STEPS = 512 };

typedef struct looping {
    pithp_scheduling *g;
    pithp_making_frame *outer;
    const pithp_step *step;
    const pithp_instruction *i;
    pithp_regions layout;
    int32_t current, result, spare; /* words of the first carry */
    int64_t regions;                /* of current, result, spare of the first, ... */
    int32_t counter, decision;
    int64_t length; /* iterations; 0: unknown */
    bool driven;    /* by the host */
} looping;

/* Whether the host drives a branch or loop, because a conditional node cannot. */
static bool is_driven(const pithp_step *step) {
    int needs = 0;
    for (int k = 0; k < step->call->program_count; k++)
        needs |= pithp_plan_needs(step->plans[k]);
    return needs != 0;
}

/* ---- Decisions ---- */

/* The data of the lowering of a decision. */
typedef struct deciding {
    const pithp_making_frame *f;
    pithp_value value; /* -1: the counter of the loop */
    m_decide_args args;
} deciding;

static pith_status
lower_decision(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const deciding *d = what;
    m_decide_args args = d->args;
    if (d->value >= 0)
        args.value = pithp_false_address(g, d->f, d->value);
    return pithp_cuda_launch(sink, PITHP_CUDA_decide, "decide", &args, sizeof args, 1);
}

/* Append a task that sets a decision. value -1: it is computed from the word `counter`.
 */
static bool decide(pithp_scheduling *g,
                   pithp_making_frame *f,
                   pithp_value value,
                   int32_t counter,
                   m_decide_args args,
                   int32_t decision,
                   bool driven) {
    const pith_dtype dtype =
        value >= 0 ? pithp_value_spec(f->plan->program, value)->dtype : PITH_I64;
    deciding d = {.f = f, .value = value, .args = args};
    d.args.size = (i32)pith_dtype_size(dtype);
    d.args.is_signed = pithp_dtype_is_signed(dtype);
    pithp_order_begin(f);
    if (!pithp_record(g, f, &f->writes, lower_decision, &d))
        return false;
    pithp_task *task = &f->tasks->list[f->tasks->count - 1];
    task->decides = decision;
    task->driven = driven;
    const int32_t at = task->args;
    return pithp_own_address(g, at + (int32_t)offsetof(m_decide_args, to) / WORD,
                             decision) &&
           (value >= 0 ||
            pithp_own_address(g, at + (int32_t)offsetof(m_decide_args, value) / WORD,
                              counter)) &&
           pithp_order_barrier(g, f);
}

/* Append a task with `count` bodies. The pointer is valid until the list grows. */
static pithp_task *add_control(pithp_scheduling *g,
                               pithp_making_frame *f,
                               pithp_task_kind kind,
                               int count,
                               bool driven) {
    pithp_tasks *tasks = f->tasks;
    const size_t bytes = (size_t)count * sizeof(pithp_tasks);
    pithp_order_begin(f);
    if (!pithp_making_grow(g, &tasks->list, tasks->count, 1, &tasks->room,
                           sizeof *tasks->list))
        return NULL;
    pithp_tasks *bodies = pithp_allocate(g->s->runtime, bytes);
    if (!bodies) {
        pithp_making_fail(g, PITH_E_MEMORY, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    memset(bodies, 0, bytes);
    tasks->list[tasks->count++] = (pithp_task){.kind = kind,
                                               .decides = -1,
                                               .driven = driven,
                                               .body_count = count,
                                               .bodies = bodies};
    return pithp_order_barrier(g, f) ? &tasks->list[tasks->count - 1] : NULL;
}

/* ---- Frames of programs ---- */

static bool open_interface(pithp_scheduling *g,
                           const pithp_making_frame *outer,
                           const pithp_step *step,
                           int k,
                           pithp_making_interface *in) {
    const int64_t count = pithp_making_slots(step->plans[k]);
    in->inputs = step->plans[k]->program->input_count;
    in->bytes = (size_t)count * (sizeof *in->slots + sizeof *in->alignments);
    in->slots = pithp_allocate(g->s->runtime, in->bytes);
    if (!in->slots)
        return pithp_making_fail(g, PITH_E_MEMORY, "out of memory: %zu bytes", in->bytes);
    memset(in->slots, 0, in->bytes);
    in->alignments = (uint64_t *)(void *)(in->slots + count);
    in->slots[0] = (pithp_cuda_write){
        .kind = PITHP_WRITE_ADDRESS, .from = outer->first, .offset = step->temporary};
    return true;
}

static void close_interface(pithp_scheduling *g, pithp_making_interface *in) {
    pithp_release(g->s->runtime, in->slots, in->bytes);
}

static uint64_t
alignment_of(const pithp_scheduling *g, const pithp_making_frame *f, pithp_value v) {
    return pithp_false_alignment(g, pithp_false_address(g, f, v));
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Input or output `slot` (inputs first) is a value of the outer plan. */
static void pass_value(const pithp_scheduling *g,
                       pithp_making_interface *in,
                       int64_t slot,
                       const pithp_making_frame *outer,
                       pithp_value v) {
    in->slots[1 + slot] = pithp_write_address(outer, v);
    in->alignments[slot] = alignment_of(g, outer, v);
}

/* Input or output `slot` is element `counter` of a value of the outer plan. */
static void pass_element(const looping *l,
                         pithp_making_interface *in,
                         int64_t slot,
                         pithp_value v,
                         uint64_t bytes) {
    const pithp_loop_params *params = l->i->params;
    pithp_cuda_write *write = &in->slots[1 + slot];
    pass_value(l->g, in, slot, l->outer, v);
    in->alignments[slot] = smaller(in->alignments[slot], pithp_alignment_of(bytes));
    write->kind = PITHP_WRITE_ELEMENT;
    write->other = l->counter;
    write->stride = params->reverse ? -(int64_t)bytes : (int64_t)bytes;
    if (params->reverse)
        write->offset += (params->length - 1) * (int64_t)bytes;
}

/* The constants of program b. */
static void pass_constants(const pithp_scheduling *g,
                           pithp_making_interface *in,
                           const pithp_making_frame *outer,
                           const pithp_instruction *i,
                           int b) {
    const pithp_regions r = pithp_regions_of(i);
    const pithp_value *operands = pithp_operands(outer->plan->program, i);
    for (int o = 0; o < i->operand_count; o++) {
        const int input = pithp_region_input(&r, b, o);
        if (input >= 0 &&
            r.groups[pithp_operand_group_of(&r, o)].role == PITHP_OPERAND_CONSTANT)
            pass_value(g, in, input, outer, operands[o]);
    }
}

/* Copy an output to its buffer, unless it was written there. */
static bool materialise(pithp_scheduling *g, pithp_making_frame *f, int64_t k) {
    const pithp_program *p = f->plan->program;
    const pithp_place place = f->plan->places[p->outputs[k]];
    const size_t bytes = pithp_value_spec(p, p->outputs[k])->bytes;
    if ((place.store == PITHP_IN_OUTPUT && place.at == k) || !bytes)
        return true;
    const pithp_copying copying = {
        .f = f,
        .value = p->outputs[k],
        .to = g->regions[f->region + 1 + p->input_count + k].begin,
        .bytes = bytes};
    pithp_order_begin(f);
    f->order.all = true; /* the copy comes after all tasks before */
    return pithp_schedule_copy(g, f, &f->writes, &copying) && pithp_order_end(g, f);
}

/* ---- cond ---- */

static bool schedule_branch(pithp_scheduling *g,
                            pithp_making_frame *outer,
                            const pithp_step *step,
                            int k,
                            pithp_tasks *body) {
    const pithp_instruction *i = step->call;
    pithp_making_interface in;
    pithp_making_frame f;
    if (!open_interface(g, outer, step, k, &in))
        return false;
    pass_constants(g, &in, outer, i, k);
    for (int o = 0; o < i->result_count; o++)
        pass_value(g, &in, in.inputs + o, outer, i->result + o);
    bool done = pithp_making_open(g, &f, step->plans[k], body, &in, NULL) &&
                pithp_schedule_steps(g, &f);
    for (int o = 0; o < i->result_count && done; o++)
        done = materialise(g, &f, o);
    done &= pithp_making_close(g, &f);
    close_interface(g, &in);
    return done;
}

static bool
schedule_cond(pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_value index = pithp_operands(f->plan->program, i)[PITHP_COND_INDEX];
    const int32_t decision = pithp_words(g, 1);
    const bool driven = is_driven(step);
    if (decision < 0 ||
        !decide(g, f, index, 0,
                (m_decide_args){.kind = M_DECIDE_CLAMP, .limit = i->program_count},
                decision, driven))
        return false;
    pithp_task *task = add_control(g, f, PITHP_TASK_SWITCH, i->program_count, driven);
    if (!task)
        return false;
    task->name = "cond";
    task->decision = decision;
    pithp_tasks *bodies = task->bodies;
    for (int k = 0; k < i->program_count; k++)
        if (!schedule_branch(g, f, step, k, &bodies[k]))
            return false;
    return true;
}

/* ---- Loops ---- */

static pithp_value operand_of(const looping *l, int k) {
    return pithp_operands(l->outer->plan->program, l->i)[k];
}

static const pith_spec *carry_spec(const looping *l, int k) {
    return pithp_value_spec(l->outer->plan->program, l->i->result + k);
}

static size_t aligned(size_t bytes) {
    return (bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}

static bool bind(pithp_scheduling *g, pithp_making_frame *f, const pithp_writes *writes) {
    return pithp_bind_add(g, f) &&
           pithp_bind_fill(g, &f->tasks->list[f->tasks->count - 1], writes);
}

/* Add the words of the loop, and a bind in the outer list that sets them. */
static bool begin_loop(looping *l) {
    pithp_scheduling *g = l->g;
    const int n = l->layout.carries.count;
    pithp_writes writes = {.list = NULL};
    const int32_t words = pithp_words(g, 3 * n + 2);
    if (words < 0)
        return false;
    l->current = words;
    l->result = words + n;
    l->spare = words + 2 * n;
    l->counter = words + 3 * n;
    l->decision = l->counter + 1;
    l->regions = g->region_count;
    int64_t offset = l->step->temporary + (int64_t)l->step->programs_bytes;
    bool done = true;
    for (int k = 0; k < n && done; k++) {
        const pithp_value operand = operand_of(l, l->layout.carries.first + k);
        const uint64_t bytes = carry_spec(l, k)->bytes;
        const uint64_t to = alignment_of(g, l->outer, l->i->result + k);
        const uint64_t both = smaller(to, alignment_of(g, l->outer, operand));
        pithp_cuda_write starts = pithp_write_address(l->outer, operand),
                         result = pithp_write_address(l->outer, l->i->result + k),
                         spare = {.kind = PITHP_WRITE_ADDRESS,
                                  .from = l->outer->first,
                                  .offset = offset};
        starts.to = l->current + k;
        result.to = l->result + k;
        spare.to = l->spare + k;
        offset += (int64_t)aligned(bytes);
        done = pithp_write_add(g, &writes, starts) &&
               pithp_write_add(g, &writes, result) &&
               pithp_write_add(g, &writes, spare) &&
               pithp_region_add(g, l->current + k, bytes, both) &&
               pithp_region_add(g, l->result + k, bytes, to);
    }
    const pithp_cuda_write zero = {.to = l->counter, .kind = PITHP_WRITE_ADDRESS};
    pithp_order_begin(l->outer);
    done = done && pithp_write_add(g, &writes, zero) && bind(g, l->outer, &writes) &&
           pithp_order_barrier(g, l->outer);
    pithp_release(g->s->runtime, writes.list, (size_t)writes.room * sizeof *writes.list);
    return done;
}

static uint64_t current_region(const looping *l, int k) {
    return l->g->regions[l->regions + 2 * k].begin;
}
static uint64_t result_region(const looping *l, int k) {
    return l->g->regions[l->regions + 2 * k + 1].begin;
}

/* Input `slot` reads carry k; output `slot` writes it. */
static void
pass_carry(const looping *l, pithp_making_interface *in, int64_t slot, int k, bool out) {
    const bool spare_first = l->length && l->length % 2 == 0;
    const int32_t result = l->result + k, spare = l->spare + k;
    in->slots[1 + slot] =
        out ? (pithp_cuda_write){.kind = PITHP_WRITE_FREE,
                                 .from = spare_first ? spare : result,
                                 .other = l->current + k,
                                 .third = spare_first ? result : spare}
            : (pithp_cuda_write){.kind = PITHP_WRITE_ADDRESS, .from = l->current + k};
    in->alignments[slot] = l->g->regions[l->regions + 2 * k + out].alignment;
}

/* The carries of program b; those of the body are its first outputs too. */
static void pass_carries(const looping *l, pithp_making_interface *in, int b) {
    const int first = pithp_region_first_carry(&l->layout, b);
    for (int k = 0; k < l->layout.carries.count; k++) {
        pass_carry(l, in, first + k, k, false);
        if (pithp_region_yields(&l->layout, b))
            pass_carry(l, in, in->inputs + k, k, true);
    }
}

/* Whether carry k ends in the result for any initial value. */
static bool ends_in_result(const looping *l, int k) {
    return l->length && pithp_forwarded_operand(l->i, k) < 0;
}

/* End of an iteration: the written buffers become the current ones. */
static bool advance(const looping *l, pithp_making_frame *f) {
    pithp_scheduling *g = l->g;
    const pithp_program *p = f->plan->program;
    pithp_writes writes = {.list = NULL};
    bool done = true;
    for (int k = 0; k < l->layout.carries.count && done; k++) {
        if (pithp_forwarded_operand(l->i, k) >= 0)
            continue;
        const int32_t output = f->first + 1 + (int32_t)p->input_count + k;
        done = materialise(g, f, k) &&
               pithp_write_add(g, &writes,
                               (pithp_cuda_write){.kind = PITHP_WRITE_ADDRESS,
                                                  .to = l->current + k,
                                                  .from = output});
    }
    pithp_order_begin(f);
    done = done &&
           pithp_write_add(g, &writes,
                           (pithp_cuda_write){.kind = PITHP_WRITE_ADDRESS,
                                              .to = l->counter,
                                              .from = l->counter,
                                              .offset = 1}) &&
           bind(g, f, &writes) && pithp_order_barrier(g, f);
    pithp_release(g->s->runtime, writes.list, (size_t)writes.room * sizeof *writes.list);
    return done;
}

/* After the loop, copy carries that are not in their results. */
static bool finish(const looping *l) {
    pithp_scheduling *g = l->g;
    pithp_making_frame *f = l->outer;
    pithp_writes writes = {.list = NULL};
    const int32_t count_word = (int32_t)offsetof(pithp_cuda_move_args, count) / WORD;
    bool all = true;
    for (int k = 0; k < l->layout.carries.count; k++)
        all &= ends_in_result(l, k);
    if (all)
        return true;
    pithp_order_begin(f);
    /* the bind precedes the copies; its writes are known after them */
    if (!pithp_bind_add(g, f))
        return false;
    const int64_t first = f->tasks->count - 1;
    bool done = true;
    for (int k = 0; k < l->layout.carries.count && done; k++) {
        const int64_t before = f->tasks->count;
        if (ends_in_result(l, k))
            continue;
        done = pithp_schedule_copy(g, f, &writes,
                                   &(pithp_copying){.value = -1,
                                                    .from = current_region(l, k),
                                                    .to = result_region(l, k),
                                                    .bytes = carry_spec(l, k)->bytes});
        for (int64_t t = before; t < f->tasks->count && done; t++) {
            const int32_t word = f->tasks->list[t].args + count_word;
            done = pithp_write_add(
                g, &writes,
                (pithp_cuda_write){.kind = PITHP_WRITE_UNLESS,
                                   .to = word,
                                   .from = l->current + k,
                                   .other = l->result + k,
                                   .offset = (int64_t)g->to->words[word]});
        }
    }
    done = done && pithp_bind_fill(g, &f->tasks->list[first], &writes) &&
           pithp_order_barrier(g, f);
    pithp_release(g->s->runtime, writes.list, (size_t)writes.room * sizeof *writes.list);
    return done;
}

/* ---- while ---- */

/* Append the condition of a while to the tasks of a frame. */
static bool schedule_condition(const looping *l, pithp_making_frame *after) {
    pithp_scheduling *g = l->g;
    pithp_making_interface in;
    pithp_making_frame f;
    if (!open_interface(g, l->outer, l->step, 0, &in))
        return false;
    pass_constants(g, &in, l->outer, l->i, 0);
    pass_carries(l, &in, 0);
    in.slots[1 + in.inputs] = (pithp_cuda_write){
        .kind = PITHP_WRITE_ADDRESS,
        .from = l->outer->first,
        .offset = l->step->temporary + (int64_t)l->step->programs_bytes - FLAG_BYTES};
    in.alignments[in.inputs] = PITHP_ALIGNMENT;
    bool done = pithp_making_open(g, &f, l->step->plans[0], after->tasks, &in, after) &&
                pithp_schedule_steps(g, &f) &&
                decide(g, &f, l->step->plans[0]->program->outputs[0], 0,
                       (m_decide_args){.kind = M_DECIDE_TRUTH}, l->decision, l->driven);
    after->order.barrier = f.order.barrier;
    done &= pithp_making_close(g, &f);
    close_interface(g, &in);
    return done;
}

static bool schedule_while(looping *l) {
    pithp_scheduling *g = l->g;
    pithp_making_interface in;
    pithp_making_frame f;
    if (!begin_loop(l) || !schedule_condition(l, l->outer))
        return false;
    pithp_task *task = add_control(g, l->outer, PITHP_TASK_WHILE, 1, l->driven);
    if (!task || !open_interface(g, l->outer, l->step, l->layout.body, &in))
        return false;
    task->name = "while";
    task->repeats = -1;
    task->decision = l->decision;
    pass_constants(g, &in, l->outer, l->i, l->layout.body);
    pass_carries(l, &in, l->layout.body);
    bool done = pithp_making_open(g, &f, l->step->plans[l->layout.body], &task->bodies[0],
                                  &in, NULL) &&
                pithp_schedule_steps(g, &f) && advance(l, &f) &&
                schedule_condition(l, &f);
    done &= pithp_making_close(g, &f);
    close_interface(g, &in);
    return done && finish(l);
}

/* ---- scan ---- */

static bool count_on(const looping *l, pithp_making_frame *f) {
    const pithp_loop_params *params = l->i->params;
    return decide(l->g, f, -1, l->counter,
                  (m_decide_args){.kind = M_DECIDE_BELOW, .limit = params->length},
                  l->decision, l->driven);
}

static void pass_scanned(const looping *l, pithp_making_interface *in) {
    const pithp_program *p = l->step->plans[0]->program;
    const pithp_operand_group xs = l->layout.groups[PITHP_SCAN_XS];
    pass_constants(l->g, in, l->outer, l->i, 0);
    pass_carries(l, in, 0);
    for (int k = xs.first; k < xs.first + xs.count; k++) /* operands are inputs */
        pass_element(l, in, k, operand_of(l, k),
                     pithp_value_spec(p, p->inputs[k])->bytes);
    for (int k = l->layout.carries.count; k < l->i->result_count; k++)
        pass_element(l, in, in->inputs + k, l->i->result + k,
                     pithp_value_spec(p, p->outputs[k])->bytes);
}

static bool schedule_scan(looping *l) {
    pithp_scheduling *g = l->g;
    const pithp_loop_params *params = l->i->params;
    pithp_making_interface in;
    pithp_making_frame f;
    if (!begin_loop(l) || !count_on(l, l->outer))
        return false;
    pithp_task *task = add_control(g, l->outer, PITHP_TASK_WHILE, 1, l->driven);
    if (!task || !open_interface(g, l->outer, l->step, 0, &in))
        return false;
    task->name = "scan";
    task->repeats = params->length;
    task->decision = l->decision;
    pass_scanned(l, &in);
    bool done =
        pithp_making_open(g, &f, l->step->plans[0], &task->bodies[0], &in, NULL) &&
        pithp_schedule_steps(g, &f);
    for (int k = l->layout.carries.count; k < l->i->result_count && done; k++)
        done = materialise(g, &f, k);
    done = done && advance(l, &f) && count_on(l, &f);
    done &= pithp_making_close(g, &f);
    close_interface(g, &in);
    return done && finish(l);
}

/* ---- Unrolled loops ---- */

/* The number of steps of a plan, with those of loops of known length each time. */
static int64_t steps_of(const pithp_plan *plan) {
    int64_t count = plan->step_count;
    for (int64_t k = 0; k < plan->step_count && count < UNROLLED_STEPS; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->kind != PITHP_STEP_CONTROL || step->call->primitive != PITHP_OP_SCAN)
            continue;
        const pithp_loop_params *params = step->call->params;
        count += params->length < UNROLLED_STEPS
                     ? params->length * steps_of(step->plans[0])
                     : UNROLLED_STEPS;
    }
    return count < UNROLLED_STEPS ? count : UNROLLED_STEPS;
}

/* Moves between ranks stay in a graph if the loop around them is laid out. */
static bool is_unrolled(const looping *l) {
    const pithp_plan *body = l->step->plans[0];
    return pithp_plan_needs(body) == PITHP_NEEDS_TOP && l->length < UNROLLED_STEPS &&
           l->length * steps_of(body) < UNROLLED_STEPS;
}

/* One iteration, behind the tasks of the outer list. */
static bool schedule_iteration(looping *l) {
    pithp_scheduling *g = l->g;
    pithp_making_interface in;
    pithp_making_frame f;
    if (!open_interface(g, l->outer, l->step, 0, &in))
        return false;
    pass_scanned(l, &in);
    bool done =
        pithp_making_open(g, &f, l->step->plans[0], l->outer->tasks, &in, l->outer) &&
        pithp_schedule_steps(g, &f);
    for (int k = l->layout.carries.count; k < l->i->result_count && done; k++)
        done = materialise(g, &f, k);
    done = done && advance(l, &f);
    l->outer->order.barrier = f.order.barrier;
    done &= pithp_making_close(g, &f);
    close_interface(g, &in);
    return done;
}

static bool schedule_unrolled(looping *l) {
    bool done = begin_loop(l);
    for (int64_t k = 0; k < l->length && done; k++)
        done = schedule_iteration(l);
    return done && finish(l);
}

bool pithp_schedule_control(pithp_scheduling *g,
                            pithp_making_frame *f,
                            const pithp_step *step) {
    looping l = {.g = g,
                 .outer = f,
                 .step = step,
                 .i = step->call,
                 .layout = pithp_regions_of(step->call),
                 .driven = is_driven(step)};
    switch ((int)step->call->primitive) {
        case PITHP_OP_COND:
            return schedule_cond(g, f, step);
        case PITHP_OP_WHILE:
            return schedule_while(&l);
        case PITHP_OP_SCAN:
            l.length = ((const pithp_loop_params *)step->call->params)->length;
            return is_unrolled(&l) ? schedule_unrolled(&l) : schedule_scan(&l);
        default:
            return pithp_making_fail(g, PITH_E_UNSUPPORTED, "%s has no schedule",
                                     pithp_ops[step->call->primitive].name);
    }
}
