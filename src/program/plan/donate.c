/* Donation: outputs of a plan that can reuse the buffers of inputs without later readers.
 * A device has two plans of a program: one of single calls, and one for its replay, which
 * runs the steps in another order. An output reuses a buffer only if both allow it. */
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

#include <string.h>

/* Uses of an input by a plan, and writers of its buffer. */
typedef struct use {
    int32_t step, op; /* last reader; -1: none. op: within a fused step */
    bool moved;       /* that step reads it not elementwise */
} use;

typedef struct reusing {
    const pithp_plan *plan;
    bool begins;      /* a result of the band at hand is begun before its first row */
    use *uses;        /* of inputs */
    int32_t *made;    /* the step that makes an output, or -1 */
    int32_t *made_by; /* the op of that step */
} reusing;

static pithp_place place_of(const reusing *x, const pithp_step *step, int e) {
    return x->plan->places[step->operands[e].value];
}

/* External e is read by op k of step `number`; see below. */
static void note_read(const reusing *x,
                      const pithp_step *step,
                      int32_t number,
                      int32_t k,
                      int e,
                      int32_t band_end) {
    const pithp_fused_step *a = step->fused;
    const pithp_external *external = &a->externals[e];
    if (external->access == PITHP_ACCESS_PIECES)
        for (int p = 0; p < external->pieces; p++)
            note_read(x, step, number, k, a->external_count + external->first_piece + p,
                      band_end);
    const pithp_place place = place_of(x, step, e);
    if (place.store != PITHP_IN_INPUT)
        return;
    use *u = &x->uses[place.at];
    const bool moved = external->access != PITHP_ACCESS_FLAT || e >= a->external_count ||
                       (step->runs_in_consumer && band_end < 0) || x->begins;
    const int32_t last = moved && band_end > number ? band_end : number;
    if (u->step <= last)
        *u = (use){last, k, moved || (u->step == last && u->moved)};
}

/* Record reads and writes of the ops of a fused step, in order, which runs as step
 * `number` or inside it. In a band (last step or -1), reads that are not elementwise may
 * happen until its last step. */
static void look_at_fused(const reusing *x,
                          const pithp_step *step,
                          int32_t number,
                          int32_t band_end) {
    const pithp_fused_step *a = step->fused;
    if (!step->members)
        note_read(x, step, number, -1, 0, band_end);
    for (int32_t k = 0; k < a->op_count; k++) {
        for (int o = 0; o < 3; o++) {
            const int e = a->ops[k].from[o] - a->temporary_count;
            if (e >= 0)
                note_read(x, step, number, k, e, band_end);
        }
        const int to = a->ops[k].to - a->temporary_count;
        const pithp_place place = to < 0 ? (pithp_place){.store = PITHP_NOWHERE, .at = 0}
                                         : place_of(x, step, to);
        if (place.store == PITHP_IN_OUTPUT) {
            x->made[place.at] = number;
            x->made_by[place.at] = k;
        }
    }
}

/* Whether an instruction reads element k of an operand to make element k alone. */
static bool
reads_flat(const pithp_program *p, const pithp_instruction *i, const pith_spec *operand) {
    const pith_spec *made = pithp_value_spec(p, i->result);
    return pithp_is_elementwise(i->primitive) && operand->rank == made->rank &&
           memcmp(operand->shape, made->shape, sizeof made->shape) == 0;
}

/* Whether a call in a band reads an operand until the band's last step: a gather reads
 * any row, and results that are begun early are written before other steps. */
static bool reads_on(const reusing *x, const pithp_step *step, int operand) {
    return step->call->primitive == PITHP_OP_TAKE ||
           (x->begins && !(operand == 0 && pithp_updated(step, 0) == 0));
}

static void look_at_call(const reusing *x, int32_t number, int32_t band_end) {
    const pithp_step *step = &x->plan->steps[number];
    const pithp_program *p = x->plan->program;
    const pithp_instruction *i = step->call;
    for (int o = 0; o < i->operand_count; o++) {
        const int32_t operand = pithp_operands(p, i)[o];
        const pithp_place place = x->plan->places[operand];
        const bool on = band_end >= 0 && reads_on(x, step, o);
        const int32_t until = step->kind == PITHP_STEP_CONTROL ? INT32_MAX
                              : on                             ? band_end
                                                               : number;
        if (place.store != PITHP_IN_INPUT || x->uses[place.at].step > until)
            continue;
        use *u = &x->uses[place.at];
        const bool again = u->step >= number,
                   moved = reads_flat(p, i, pithp_value_spec(p, operand))
                               ? again && u->moved
                               : again || pithp_updated(step, o) < 0;
        /* A value forwarded by a loop or branch is read later. */
        *u = (use){until, -1, moved || on};
    }
    for (int k = 0; k < i->result_count; k++) {
        const pithp_place place = x->plan->places[i->result + k];
        if (place.store == PITHP_IN_OUTPUT && x->made[place.at] < 0)
            x->made[place.at] = number; /* later ones update it in place */
    }
}

static void look_at(const reusing *x, int32_t number, int32_t band_end) {
    const pithp_step *step = &x->plan->steps[number];
    if (step->runs_in_consumer && band_end < 0) /* runs in the step that reads it */
        return;
    if (step->kind == PITHP_STEP_FUSED)
        look_at_fused(x, step, number, band_end);
    else
        look_at_call(x, number, band_end);
    if (step->kind != PITHP_STEP_FUSED && step->producer >= 0)
        look_at_fused(x, &x->plan->steps[step->producer], number, -1);
}

static void look_at_all(reusing *x) {
    int32_t band_end = -1;
    for (int32_t k = 0; k < x->plan->step_count; k++) {
        const pithp_step *step = &x->plan->steps[k];
        if (step->band)
            band_end = k + step->band - 1;
        if (step->band || k > band_end)
            x->begins = step->band_block > 0;
        look_at(x, k, k <= band_end ? band_end : -1);
    }
}

/* ---- Choice ---- */

typedef struct choice {
    reusing of[2]; /* the plan; its replay's, or the plan again */
    char *taken;   /* outputs that reuse an input's buffer */
} choice;

static bool fits_one(const reusing *x, int64_t input, int64_t output) {
    const use *u = &x->uses[input];
    /* A fused step reads an element before it writes it, unless an earlier instruction
     * wrote it. */
    return x->made[output] >= 0 &&
           (u->step < x->made[output] ||
            (u->step == x->made[output] && !u->moved && u->op <= x->made_by[output]));
}

static bool fits(const choice *c, int64_t input, int64_t output) {
    const pithp_program *p = c->of[0].plan->program;
    return !c->taken[output] &&
           pithp_value_spec(p, p->inputs[input]) ==
               pithp_value_spec(p, p->outputs[output]) &&
           fits_one(&c->of[0], input, output) && fits_one(&c->of[1], input, output);
}

/* An output of the input's last reader that fits, or -1. */
static int64_t find_nearest(const choice *c, int64_t input) {
    const reusing *x = &c->of[1];
    const int32_t last = x->uses[input].step;
    const pithp_step *step =
        last < 0 || last >= x->plan->step_count ? NULL : &x->plan->steps[last];
    if (!step)
        return -1;
    const bool fused = step->kind == PITHP_STEP_FUSED;
    const int count = fused ? step->fused->external_count : step->call->result_count;
    for (int e = 0; e < count; e++) {
        const pithp_place place =
            fused ? place_of(x, step, e) : x->plan->places[step->call->result + e];
        if (place.store == PITHP_IN_OUTPUT && fits(c, input, place.at))
            return place.at;
    }
    return -1;
}

/* Choose an output for an input: of its last reader, else one of a few without a donor.
 */
static int64_t find_output(const choice *c, int64_t input, int64_t *cursor) {
    const int64_t nearest = find_nearest(c, input);
    if (nearest >= 0)
        return nearest;
    const int64_t outputs = c->of[0].plan->program->output_count;
    while (*cursor < outputs && c->taken[*cursor])
        ++*cursor;
    for (int64_t k = *cursor; k < outputs && k < *cursor + PITHP_DONATE_LOOKED_AT; k++)
        if (fits(c, input, k))
            return k;
    return -1;
}

static void choose(const choice *c,
                   pithp_plan *plan,
                   const int64_t *inputs,
                   int64_t count,
                   int64_t *to) {
    int64_t cursor = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = find_output(c, inputs[i], &cursor);
        if (to[i] >= 0) {
            c->taken[to[i]] = 1;
            plan->reused[to[i]] = inputs[i];
        }
    }
}

/* ---- Memory ---- */

static size_t reusing_bytes(const pithp_program *p) {
    return (size_t)p->input_count * sizeof(use) +
           (size_t)p->output_count * 2 * sizeof(int32_t);
}

/* Reads and writes of a plan, in reusing_bytes of memory. */
static reusing reusing_of(const pithp_plan *plan, void *memory) {
    const size_t in = (size_t)plan->program->input_count,
                 out = (size_t)plan->program->output_count;
    reusing x = {.plan = plan, .uses = memory};
    x.made = (int32_t *)(x.uses + in);
    x.made_by = x.made + out;
    for (size_t k = 0; k < in; k++)
        x.uses[k] = (use){.step = -1};
    for (size_t k = 0; k < out; k++)
        x.made[k] = x.made_by[k] = -1;
    look_at_all(&x);
    return x;
}

/* Memory of plan->reused, without entries. NULL sets the error. */
static bool begin(pith_scope *s, pithp_plan *plan) {
    const size_t out = (size_t)plan->program->output_count;
    plan->reused = pithp_allocate(s->runtime, out * sizeof *plan->reused + 1);
    for (size_t k = 0; plan->reused && k < out; k++)
        plan->reused[k] = -1;
    if (!plan->reused)
        pithp_fail_memory(s, out * sizeof *plan->reused);
    return plan->reused != NULL;
}

void pithp_plan_reuse(pith_scope *s,
                      pithp_plan *plan,
                      const pithp_plan *replayed,
                      const int64_t *inputs,
                      int64_t count,
                      int64_t *outputs) {
    const size_t out = (size_t)plan->program->output_count,
                 each = reusing_bytes(plan->program), bytes = 2 * each + out + 1;
    char *memory = pithp_allocate(s->runtime, bytes);
    if (!memory)
        pithp_fail_memory(s, bytes);
    else if (begin(s, plan)) {
        choice c = {.of = {reusing_of(plan, memory)}, .taken = memory + 2 * each};
        c.of[1] = replayed ? reusing_of(replayed, memory + each) : c.of[0];
        memset(c.taken, 0, out);
        choose(&c, plan, inputs, count, outputs);
    }
    pithp_release(s->runtime, memory, bytes);
}

bool pithp_plan_reuse_as(pith_scope *s, pithp_plan *plan, const int64_t *reused) {
    if (!reused)
        return true;
    const size_t bytes = reusing_bytes(plan->program) + 1;
    void *memory = pithp_allocate(s->runtime, bytes);
    bool all = memory && begin(s, plan);
    if (!memory)
        pithp_fail_memory(s, bytes);
    if (all) {
        const reusing x = reusing_of(plan, memory);
        for (int64_t k = 0; k < plan->program->output_count; k++) {
            all &= reused[k] < 0 || fits_one(&x, reused[k], k);
            plan->reused[k] = reused[k];
        }
    }
    pithp_release(s->runtime, memory, bytes);
    return all;
}
