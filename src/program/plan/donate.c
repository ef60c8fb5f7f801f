/* Donation: outputs of a plan that can reuse the buffers of inputs without later readers.
 */
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
    use *uses;        /* of inputs */
    int32_t *made;    /* the step that makes an output, or -1 */
    int32_t *made_by; /* the op of that step */
    char *taken;      /* outputs that reuse an input's buffer */
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
                       (step->runs_in_consumer && band_end < 0);
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
        const pithp_place place =
            to < 0 ? (pithp_place){PITHP_NOWHERE, 0} : place_of(x, step, to);
        if (place.store == PITHP_IN_OUTPUT) {
            x->made[place.at] = number;
            x->made_by[place.at] = k;
        }
    }
}

static void look_at_call(const reusing *x, int32_t number) {
    const pithp_step *step = &x->plan->steps[number];
    const pithp_instruction *i = step->call;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_place place = x->plan->places[pithp_operands(x->plan->program, i)[o]];
        if (place.store != PITHP_IN_INPUT || x->uses[place.at].step > number)
            continue;
        /* A value forwarded by a loop or branch is read later. */
        use *u = &x->uses[place.at];
        const bool again = u->step == number;
        *u = (use){step->kind == PITHP_STEP_CONTROL ? INT32_MAX : number, -1,
                   again || pithp_updated(step, o) < 0};
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
        look_at_call(x, number);
    if (step->kind != PITHP_STEP_FUSED && step->producer >= 0)
        look_at_fused(x, &x->plan->steps[step->producer], number, -1);
}

static bool fits(const reusing *x, int64_t input, int64_t output) {
    const pithp_program *p = x->plan->program;
    const use *u = &x->uses[input];
    if (x->taken[output] || x->made[output] < 0 ||
        pithp_value_spec(p, p->inputs[input]) != pithp_value_spec(p, p->outputs[output]))
        return false;
    /* A fused step reads an element before it writes it, unless an earlier instruction
     * wrote it. */
    return u->step < x->made[output] ||
           (u->step == x->made[output] && !u->moved && u->op <= x->made_by[output]);
}

/* Choose an output for an input: of its last reader, else one of a few without a donor.
 */
static int64_t find_output(const reusing *x, int64_t input, int64_t *cursor) {
    const pithp_plan *plan = x->plan;
    const int32_t last = x->uses[input].step;
    const pithp_step *step =
        last < 0 || last >= plan->step_count ? NULL : &plan->steps[last];
    for (int e = 0;
         step && step->kind == PITHP_STEP_FUSED && e < step->fused->external_count; e++) {
        const pithp_place place = place_of(x, step, e);
        if (place.store == PITHP_IN_OUTPUT && fits(x, input, place.at))
            return place.at;
    }
    const int64_t outputs = plan->program->output_count;
    while (*cursor < outputs && x->taken[*cursor])
        ++*cursor;
    for (int64_t k = *cursor; k < outputs && k < *cursor + PITHP_DONATE_LOOKED_AT; k++)
        if (fits(x, input, k))
            return k;
    return -1;
}

static void look_at_all(const reusing *x) {
    int32_t band_end = -1;
    for (int32_t k = 0; k < x->plan->step_count; k++) {
        if (x->plan->steps[k].band)
            band_end = k + x->plan->steps[k].band - 1;
        look_at(x, k, k <= band_end ? band_end : -1);
    }
}

static void choose(const reusing *x, const int64_t *inputs, int64_t count, int64_t *to) {
    int64_t cursor = 0;
    look_at_all(x);
    for (int64_t i = 0; i < count; i++) {
        to[i] = find_output(x, inputs[i], &cursor);
        if (to[i] >= 0) {
            x->taken[to[i]] = 1;
            x->plan->reused[to[i]] = inputs[i];
        }
    }
}

/* An input that this plan reads after it writes the output cannot be reused. */
static bool choose_as(const reusing *x, const int64_t *reused) {
    bool all = true;
    look_at_all(x);
    for (int64_t k = 0; k < x->plan->program->output_count && all; k++) {
        all = reused[k] < 0 || fits(x, reused[k], k);
        x->plan->reused[k] = reused[k];
    }
    return all;
}

/* Choose reuses, or check those of `other` if it is not NULL. */
static bool reuse(pith_scope *s,
                  pithp_plan *plan,
                  const int64_t *other,
                  const int64_t *inputs,
                  int64_t count,
                  int64_t *outputs) {
    const pithp_program *p = plan->program;
    bool done = true;
    const size_t in = (size_t)p->input_count, out = (size_t)p->output_count;
    const size_t bytes = in * sizeof(use) + out * (2 * sizeof(int32_t) + 1) + 1;
    char *memory = pithp_allocate(s->runtime, bytes);
    plan->reused = pithp_allocate(s->runtime, out * sizeof *plan->reused + 1);
    if (memory && plan->reused) {
        reusing x = {.plan = plan, .uses = (use *)(void *)memory};
        x.made = (int32_t *)(x.uses + in);
        x.made_by = x.made + out;
        x.taken = (char *)(x.made_by + out);
        for (size_t k = 0; k < in; k++)
            x.uses[k] = (use){.step = -1};
        for (size_t k = 0; k < out; k++)
            plan->reused[k] = x.made[k] = x.made_by[k] = -1;
        memset(x.taken, 0, out);
        if (other)
            done = choose_as(&x, other);
        else
            choose(&x, inputs, count, outputs);
    } else {
        pithp_fail_memory(s, bytes);
        done = false;
    }
    pithp_release(s->runtime, memory, bytes);
    return done;
}

void pithp_plan_reuse(pith_scope *s,
                      pithp_plan *plan,
                      const int64_t *inputs,
                      int64_t count,
                      int64_t *outputs) {
    reuse(s, plan, NULL, inputs, count, outputs);
}

bool pithp_plan_reuse_as(pith_scope *s, pithp_plan *plan, const int64_t *reused) {
    return !reused || reuse(s, plan, reused, NULL, 0, NULL);
}
