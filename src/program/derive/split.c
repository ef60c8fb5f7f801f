/* Linearization: a program in forward mode is split into the instructions that depend on
 * no tangent, and those that do. Values that cross are residuals, or computed again. */
#include "program/derive/split.h"

#include "program/derive/nest.h"

#include <string.h>

void pithp_colour(const pithp_program *p, const bool *inputs, bool *linear) {
    memset(linear, 0, (size_t)p->value_count * sizeof *linear);
    for (int64_t k = 0; k < p->input_count; k++)
        linear[p->inputs[k]] = inputs[k];
    for (int64_t n = 0; n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        bool any = false;
        for (int k = 0; k < i->operand_count; k++)
            any |= linear[pithp_operands(p, i)[k]];
        for (int k = 0; k < i->result_count; k++)
            linear[i->result + k] = any;
    }
}

bool pithp_copy_value(pith_scope *s,
                      pithp_program *to,
                      const pithp_program *from,
                      pithp_value v,
                      const pithp_instruction *i,
                      pithp_value *names) {
    if (i)
        to->remat = i->remat;
    return pithp_program_copy(s, to, from, v, i, names);
}

int pithp_most_operands(const pithp_program *p) {
    int most = 1;
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (p->instructions[k].operand_count > most)
            most = p->instructions[k].operand_count;
    return most;
}

typedef struct split {
    pith_scope *s;
    const pithp_program *from;
    int64_t primal_count; /* inputs that are no tangents */
    bool *linear, *crosses;
    bool *again; /* values that the linear program computes once more */
    pithp_value *forward_names, *linear_names, *residual_names;
    pithp_linearization *to;
} split;

/* Whether an instruction belongs to the linear program. One without results, a message or
 * checks, does if it reads a tangent. */
static bool is_linear(const split *p, const pithp_instruction *i) {
    bool any = false;
    for (int k = 0; !i->result_count && k < i->operand_count; k++)
        any |= p->linear[pithp_operands(p->from, i)[k]];
    return i->result_count ? p->linear[i->result] : any;
}

/* The linear program reads operands of instructions without results. */
static void keep_for_effects(split *p) {
    for (int64_t n = 0; n < p->from->instruction_count; n++) {
        const pithp_instruction *i = &p->from->instructions[n];
        for (int k = 0; !i->result_count && is_linear(p, i) && k < i->operand_count;
             k++) {
            const pithp_value v = pithp_operands(p->from, i)[k];
            if (!p->linear[v] && p->from->values[v].origin != PITHP_FROM_CONSTANT)
                p->crosses[v] = true;
        }
    }
}

/* The linear program returns known values that belong to watches. Constants both sides
 * can have. */
static void keep_watched(split *p, int64_t output_count) {
    for (int64_t k = output_count; k < p->from->output_count; k++) {
        const pithp_value v = p->from->outputs[k];
        if (!p->linear[v] && p->from->values[v].origin != PITHP_FROM_CONSTANT)
            p->crosses[v] = true;
    }
}

static bool add_inputs(split *p) {
    const pithp_program *from = p->from;
    bool fine = true;
    for (int64_t k = 0; k < p->primal_count && fine; k++)
        fine = (p->forward_names[from->inputs[k]] = pithp_program_input(
                    p->s, p->to->forward, pithp_value_spec(from, from->inputs[k]))) >= 0;
    for (pithp_value v = 0; v < from->value_count && fine; v++)
        if (p->crosses[v]) {
            p->residual_names[v] =
                pithp_program_input(p->s, p->to->linear, pithp_value_spec(from, v));
            fine = (p->linear_names[v] = p->residual_names[v]) >= 0;
            p->to->residual_count++;
        }
    for (int64_t k = p->primal_count; k < from->input_count && fine; k++)
        fine = (p->linear_names[from->inputs[k]] = pithp_program_input(
                    p->s, p->to->linear, pithp_value_spec(from, from->inputs[k]))) >= 0;
    return fine;
}

/* Whether the linear program computes a result once more. */
static bool is_again(const split *p, const pithp_instruction *i) {
    bool any = false;
    for (int k = 0; k < i->result_count; k++)
        any |= p->again[i->result + k];
    return any;
}

/* Add control flow to the linear program, without what it does beside its values. */
static bool copy_quiet(split *p, const pithp_instruction *i) {
    pithp_instruction quiet = *i;
    bool fine = (quiet.programs = pithp_scope_allocate(p->s, (size_t)i->program_count *
                                                                 sizeof *quiet.programs));
    int made = 0;
    for (; made < i->program_count && fine; made += fine)
        fine = (quiet.programs[made] = pithp_quiet(p->s, i->programs[made]));
    fine = fine && pithp_copy_value(p->s, p->to->linear, p->from, i->result, &quiet,
                                    p->linear_names);
    for (int k = 0; k < made; k++)
        pithp_program_release(quiet.programs[k]);
    return fine;
}

/* Add a constant or an instruction to the linear program. Results that cross are there
 * already. */
static bool add_to_linear(split *p, pithp_value v, const pithp_instruction *i) {
    pithp_program *to = p->to->linear;
    const bool again = i && is_again(p, i);
    const bool fine = again && (pithp_has_effects(i) || pithp_has_refusals(i))
                          ? copy_quiet(p, i)
                          : pithp_copy_value(p->s, to, p->from, v, i, p->linear_names);
    if (fine && again) {
        to->stages = (uint16_t)(p->from->stages + 1);
        to->instructions[to->instruction_count - 1].remat.stage = to->stages;
    }
    for (int k = 0; i && k < i->result_count; k++)
        if (p->crosses[v + k])
            p->linear_names[v + k] = p->residual_names[v + k];
    return fine;
}

static bool add_values(split *p) {
    pithp_graph_walk w = {p->from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(p->to->forward, p->from);
    pithp_program_take_groups(p->to->linear, p->from);
    while (fine && pithp_graph_next(&w, &v, &i)) {
        if (!i && p->from->values[v].origin == PITHP_FROM_INPUT)
            continue;
        const bool linear = i && is_linear(p, i);
        if (!linear)
            fine =
                pithp_copy_value(p->s, p->to->forward, p->from, v, i, p->forward_names);
        if (fine && (!i || linear || is_again(p, i)))
            fine = add_to_linear(p, v, i);
    }
    p->to->forward->remat = p->to->linear->remat = (pithp_remat){0};
    return fine;
}

/* Outputs, tangents and residuals. */
static bool add_outputs(split *p, int64_t output_count) {
    const pithp_program *from = p->from;
    bool fine = true;
    for (int64_t k = 0; k < from->output_count && fine; k++) {
        const bool tangent = k >= output_count;
        fine = pithp_program_output(
            p->s, tangent ? p->to->linear : p->to->forward,
            (tangent ? p->linear_names : p->forward_names)[from->outputs[k]]);
    }
    for (pithp_value v = 0; v < from->value_count && fine; v++)
        if (p->crosses[v])
            fine = pithp_program_output(p->s, p->to->forward, p->forward_names[v]);
    return fine;
}

static bool split_program(pith_scope *s,
                          const pithp_program *jvp,
                          int64_t primal_count,
                          int64_t output_count,
                          const bool *taken,
                          pithp_linearization *result) {
    const size_t n = (size_t)jvp->value_count + 1,
                 bytes = 3 * n * (sizeof(pithp_value) + sizeof(bool));
    pithp_value *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    split p = {.s = s,
               .from = jvp,
               .primal_count = primal_count,
               .forward_names = memory,
               .linear_names = memory + n,
               .residual_names = memory + 2 * n,
               .linear = (bool *)(memory + 3 * n),
               .to = result};
    p.crosses = p.linear + n;
    p.again = p.crosses + n;
    /* It holds the moving inputs until they are coloured. */
    for (int64_t k = 0; k < jvp->input_count; k++)
        p.crosses[k] = k >= primal_count;
    pithp_colour(jvp, p.crosses, p.linear);
    memset(p.crosses, 0, 2 * n * sizeof(bool));
    keep_watched(&p, output_count);
    keep_for_effects(&p);
    pithp_keep_groups(jvp, p.linear, p.crosses, p.again);
    const bool fine = (!taken || pithp_choose_kept(s, jvp, taken, p.crosses, p.again)) &&
                      add_inputs(&p) && add_values(&p) && add_outputs(&p, output_count);
    pithp_release(s->runtime, memory, bytes);
    return fine;
}

/* Splits of programs whose loops are nests. */
typedef struct within {
    pith_scope *s;
    const pithp_program *p;
    const bool *moving;
    pithp_derive_mode mode;
    bool *moves;
    pithp_linearization *result;
    size_t budget, least;
    size_t *kept; /* receives what is kept; or NULL */
    bool has_inner;
} within;

static void forget(pithp_linearization *l) {
    pithp_program_release(l->forward);
    pithp_program_release(l->linear);
    *l = (pithp_linearization){NULL, NULL, 0};
}

/* Split with these levels of loops, and of loops inside of them. *better: set if they
 * keep fewer bytes than others. False sets the error; a result beyond the budget is
 * empty. */
static bool try_levels(within *w, int levels, int inner, bool *better) {
    pithp_kept kept = {.levels = levels, .inner = inner};
    w->mode.kept = &kept;
    if (w->mode.watches)
        w->mode.watches->count = 0;
    if (!pithp_split(w->s, w->p, w->moving, w->mode, w->moves, w->result))
        return false;
    w->has_inner |= kept.has_inner;
    *better |= kept.bytes < w->least || kept.held;
    w->least = kept.bytes < w->least ? kept.bytes : w->least;
    if (kept.bytes > w->budget)
        forget(w->result);
    else if (w->kept)
        *w->kept = kept.bytes;
    return true;
}

/* Split with the fewest sweeps that keep within the budget: `levels` for loops, and
 * `inner - 1` more for those inside of them. */
static bool split_within(within *w) {
    bool better = true;
    for (int sweeps = 1; sweeps <= PITHP_MOST_LEVELS && better; sweeps++) {
        better = false;
        for (int inner = 1; inner <= (w->has_inner ? sweeps : 1); inner++) {
            if (!try_levels(w, sweeps + 1 - inner, inner, &better))
                return false;
            if (w->result->forward)
                return true;
        }
    }
    pithp_fail(w->s, PITH_E_MEMORY, NULL,
               "the backward half of the loops keeps %zu bytes at least, and .kept_bytes "
               "is %zu",
               w->least, w->budget);
    return false;
}

bool pithp_program_linearize(pith_scope *s,
                             const pithp_program *p,
                             const bool *moving,
                             const pithp_derive_options *options,
                             bool *moves,
                             pithp_linearization *result) {
    pithp_derive_mode mode = {.split = true};
    *result = (pithp_linearization){NULL, NULL, 0};
    if (!pithp_program_check_cuts(s, p, moving, options))
        return false;
    if (options) {
        mode.reverse = options->reverse;
        mode.no_cuts = options->function_is_linear;
        mode.strong_zero = options->strong_zero;
        mode.watches = options->watches;
        mode.calls = options->calls;
        mode.callees = options->callees;
    }
    if (options && options->fewest_bytes) {
        bool *taken = pithp_scope_allocate(s, (size_t)p->input_count + 1);
        if (!taken)
            return false;
        memset(taken, 1, (size_t)p->input_count + 1);
        mode.taken = taken;
    }
    within w = {.s = s,
                .p = p,
                .moving = moving,
                .mode = mode,
                .moves = moves,
                .result = result,
                .budget = options ? options->kept_bytes : 0,
                .kept = options ? options->kept : NULL,
                .least = SIZE_MAX};
    return w.budget ? split_within(&w) : pithp_split(s, p, moving, mode, moves, result);
}

/* Transposition checks its rows itself, and watches are not linear. */
static bool check_tangents(pith_scope *s,
                           const pithp_derive_mode *mode,
                           const pithp_linearization *l) {
    const size_t count = (size_t)l->linear->input_count,
                 residuals = (size_t)l->residual_count;
    if (mode->reverse || mode->watches || mode->inside)
        return true;
    bool *tangents = pithp_scope_allocate(s, count + 1);
    if (!tangents)
        return false;
    memset(tangents, 0, residuals);
    memset(tangents + residuals, 1, count - residuals);
    return pithp_check_linear(s, l->linear, tangents);
}

bool pithp_split(pith_scope *s,
                 const pithp_program *p,
                 const bool *moving,
                 pithp_derive_mode mode,
                 bool *moves,
                 pithp_linearization *result) {
    *result = (pithp_linearization){NULL, NULL, 0};
    mode.split = true;
    pithp_program *jvp = pithp_forward(s, p, moving, mode, moves);
    const bool fine =
        jvp && (result->forward = pithp_program_make(s)) &&
        (result->linear = pithp_program_make(s)) &&
        split_program(s, jvp, p->input_count, p->output_count, mode.taken, result) &&
        check_tangents(s, &mode, result);
    pithp_program_release(jvp);
    if (fine) {
        PITHP_VERIFY(result->forward);
        PITHP_VERIFY(result->linear);
        return true;
    }
    pithp_program_release(result->forward);
    pithp_program_release(result->linear);
    *result = (pithp_linearization){NULL, NULL, 0};
    return false;
}
