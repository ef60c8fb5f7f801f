/* Derivation of a scan with a budget: the nest with the fewest levels whose plan keeps
 * within it. The measure is the workspace of the planned gradient of the loop alone. */
#include "program/derive/lift.h"
#include "program/derive/nest.h"
#include "program/pass/pass.h"
#include "program/plan/plan.h"

#include <string.h>

typedef struct choosing {
    pith_scope *s; /* errors and results */
    const pithp_deriving_flow *f;
    bool *moving, *moves; /* of the operands; of the results */
    bool has_loops;       /* inside */
    pithp_derive_mode mode;
    pithp_kept inner; /* for loops inside; levels 0: they are part of a step */
} choosing;

/* ---- Loops inside of loops ---- */

/* Whether a program is the body of a nest, or a chunk of it. */
static bool is_chunk(const pithp_program *p, const pithp_program *body) {
    bool found = p == body;
    for (int64_t n = 0; n < p->instruction_count && !found; n++)
        found = p->instructions[n].primitive == PITHP_OP_SCAN &&
                is_chunk(p->instructions[n].programs[0], body);
    return found;
}

bool pithp_is_nested(const pithp_kept *kept, const pithp_instruction *i) {
    return !(kept && kept->whole) &&
           (((const pithp_loop_params *)i->params)->kept_bytes ||
            (kept && !(kept->body && is_chunk(i->programs[0], kept->body))));
}

static bool has_loops(const pithp_program *p) {
    bool found = false;
    for (int64_t n = 0; n < p->instruction_count && !found; n++) {
        const pithp_instruction *i = &p->instructions[n];
        found = i->primitive == PITHP_OP_SCAN;
        for (int k = 0; k < i->program_count && !found; k++)
            found = has_loops(i->programs[k]);
    }
    return found;
}

/* ---- Measure ---- */

/* Bytes of the residuals that the forward program makes. */
static size_t made_bytes(const pithp_linearization *l) {
    const pithp_program *p = l->forward;
    size_t bytes = 0;
    for (int64_t k = p->output_count - l->residual_count; k < p->output_count; k++)
        if (p->values[p->outputs[k]].origin == PITHP_FROM_INSTRUCTION)
            bytes += pithp_value_spec(p, p->outputs[k])->bytes;
    return bytes;
}

/* Inline a program; its outputs become those of `to`, but the last `hidden` ones. */
static bool add_part(pith_scope *s,
                     pithp_program *to,
                     const pithp_program *part,
                     const pithp_value *inputs,
                     pithp_value *outputs,
                     int64_t hidden) {
    bool fine = pithp_program_inline(s, to, part, inputs, outputs);
    for (int64_t k = 0; k < part->output_count - hidden && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    return fine;
}

/* The loop and its linear or transposed program as one. NULL: error set. */
static pithp_program *
join(pith_scope *s, const pithp_linearization *l, const pithp_program *transposed) {
    const pithp_program *forward = l->forward;
    const int64_t cotangents = transposed->input_count - l->residual_count,
                  values = forward->output_count - l->residual_count;
    const size_t n = (size_t)(forward->input_count + cotangents + forward->output_count +
                              transposed->output_count);
    pithp_value *in = pithp_scope_allocate(s, (2 * n + 1) * sizeof *in);
    pithp_program *to = in ? pithp_program_make(s) : NULL;
    bool fine = to;
    if (!fine)
        return NULL;
    pithp_value *out = in + forward->input_count, *cts = out + forward->output_count,
                *gradients = cts + cotangents;
    for (int64_t k = 0; k < forward->input_count && fine; k++)
        fine = (in[k] = pithp_program_input(
                    s, to, pithp_value_spec(forward, forward->inputs[k]))) >= 0;
    for (int64_t k = 0; k < cotangents && fine; k++)
        fine = (cts[k] = pithp_program_input(
                    s, to,
                    pithp_value_spec(transposed,
                                     transposed->inputs[l->residual_count + k]))) >= 0;
    fine = fine && add_part(s, to, forward, in, out, l->residual_count) &&
           add_part(s, to, transposed, out + values, gradients, 0);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}

static pithp_program *transpose(pith_scope *s, const pithp_linearization *l) {
    const size_t inputs = (size_t)l->linear->input_count;
    bool *marks = pithp_scope_allocate(s, 2 * inputs + 1);
    if (!marks)
        return NULL;
    memset(marks, 1, inputs);
    memset(marks, 0, (size_t)l->residual_count);
    return pithp_program_transpose(s, l->linear, marks, marks + inputs);
}

/* The workspace of a run: of the gradient, or without reverse of the tangents. Checks of
 * rules are results of the loop, as where the program is added to a trace. */
static size_t planned_bytes(pith_scope *s, const pithp_linearization *l, bool reverse) {
    pithp_lifted_list lifted = {0};
    pithp_program *transposed = reverse ? transpose(s, l) : NULL, *better = NULL,
                  *joined = transposed || !reverse
                                ? join(s, l, reverse ? transposed : l->linear)
                                : NULL,
                  *whole = joined ? pithp_program_lift(s, joined, &lifted) : NULL;
    size_t bytes = 0;
    if (whole)
        better = pithp_program_optimise(s, whole, PITHP_PASS_RUN);
    pithp_plan *plan = better ? pithp_plan_make_for(s, better, PITHP_PLAN_FUSED) : NULL;
    if (plan)
        bytes = plan->workspace_bytes;
    pithp_plan_free(plan);
    pithp_program_release(better);
    pithp_program_release(whole);
    pithp_lifted_end(&lifted);
    pithp_program_release(joined);
    pithp_program_release(transposed);
    return bytes;
}

/* Set the workspace of a nest, and the bytes of its residuals. kept is NULL if they are
 * not wanted. False sets the error. */
static bool
measure(choosing *c, const pithp_nest nests[2], size_t *workspace, size_t *kept) {
    pith_scope *work = pith_scope_open_in(c->s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(c->s, PITHP_BLOCK_BYTES);
        return false;
    }
    pithp_linearization l = {NULL, NULL, 0};
    pithp_program *p = pithp_nest_make(work, c->f->i, nests);
    if (p && pithp_split(work, p, c->moving, c->mode, c->moves, &l)) {
        if (kept)
            *kept = made_bytes(&l);
        *workspace = planned_bytes(work, &l, c->mode.reverse);
    }
    pithp_program_release(p);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pith_scope_close(work); /* its error moves to the outer scope */
    return c->s->error.code == PITH_OK;
}

/* ---- Choice ---- */

static int64_t carry_bytes(const pithp_deriving_flow *f) {
    int64_t bytes = 0;
    for (int k = 0; k < f->r.carries.count; k++)
        bytes += (int64_t)pithp_flow_operand_spec(f, f->r.carries.first + k)->bytes;
    return bytes;
}

/* A search for the nest with the least work whose plan, without what one step needs,
 * keeps within a budget. Nests are tried in the order of their work. */
typedef struct search {
    choosing *c;
    pithp_nest *nests; /* the best two; the second with 0 levels: one */
    int64_t length;
    pithp_nest_costs costs;
    bool rows; /* xs or outputs, which are cut for several parts */
    size_t budget, step;
    size_t least; /* bytes of the best */
} search;

static bool is_found(const search *x) {
    return x->least <= x->budget;
}

/* Take nests if they keep fewer bytes. False sets the error. */
static bool try_nests(search *x, pithp_nest first, pithp_nest second) {
    const pithp_nest nests[2] = {first, second};
    size_t workspace;
    if (!first.levels)
        return true;
    if (!measure(x->c, nests, &workspace, NULL))
        return false;
    const size_t kept = workspace > x->step ? workspace - x->step : 0;
    if (kept < x->least) {
        x->least = kept;
        x->nests[0] = first;
        x->nests[1] = second;
    }
    return true;
}

/* The first steps with this number of levels, the others with one less. */
static bool try_mixed(search *x, int levels, int quarters) {
    pithp_nest_costs costs = x->costs;
    const int64_t many = x->length / 4 * quarters;
    const pithp_nest second = pithp_nest_choose(levels - 1, x->length - many, &costs);
    if (!many || !second.levels)
        return true;
    costs.beside = second.bytes;
    const pithp_nest first = pithp_nest_choose(levels, many, &costs);
    return (size_t)first.bytes > x->budget || try_nests(x, first, second);
}

/* All chunks of the highest level but the last, whose steps need one level less. */
static bool try_last(search *x, int levels) {
    pithp_nest first = pithp_nest_choose(levels, x->length, &x->costs);
    if (!first.levels)
        return true;
    for (int k = 1; k < levels; k++)
        first.counts[k] = 0;
    first.counts[levels]--;
    first.length = first.counts[levels] * first.sizes[levels];
    const pithp_nest second =
        pithp_nest_choose(levels - 1, x->length - first.length, &x->costs);
    return !second.levels || try_nests(x, first, second);
}

static bool try_levels(search *x, int levels) {
    const pithp_nest none = {0};
    for (int quarters = 1; quarters < 4 && !x->rows && !is_found(x); quarters++)
        if (!try_mixed(x, levels, quarters))
            return false;
    if (!x->rows && !is_found(x) && !try_last(x, levels))
        return false;
    x->costs.even = x->rows;
    if (!is_found(x) &&
        !try_nests(x, pithp_nest_choose(levels, x->length, &x->costs), none))
        return false;
    x->costs.even = false;
    return is_found(x) || !x->rows ||
           try_nests(x, pithp_nest_choose(levels, x->length, &x->costs), none);
}

/* Set what one step needs, and the bytes of the nest of one level, which is the best so
 * far. For the first, loops inside keep all that they can in a step, so that bytes with
 * and without nests of them compare. False sets the error. */
static bool measure_step(search *x) {
    choosing *c = x->c;
    pithp_kept *inner = c->mode.kept,
               whole = {.whole = true, .body = c->f->i->programs[0]};
    size_t workspace;
    x->nests[0] = pithp_nest_choose(1, x->length, &x->costs);
    c->mode.kept = c->has_loops ? &whole : NULL;
    if (!measure(c, x->nests, &workspace, &x->least))
        return false;
    c->mode.kept = inner;
    x->step = workspace > x->least ? workspace - x->least : 0;
    if (c->has_loops && !measure(c, x->nests, &workspace, NULL))
        return false;
    if (c->has_loops)
        x->least = workspace > x->step ? workspace - x->step : 0;
    return true;
}

/* Set the nests for a budget, or those of at most this number of levels that keep the
 * fewest bytes, which are more if its own budget needs them. False sets the error. */
static bool choose_levels(search *x, int most) {
    const size_t own =
        (size_t)((const pithp_loop_params *)x->c->f->i->params)->kept_bytes;
    if (!measure_step(x))
        return false;
    x->costs.residual = x->length ? (int64_t)x->least / x->length : 0;
    for (int levels = 2; levels <= PITHP_MOST_LEVELS && !is_found(x); levels++) {
        const bool held = own && x->least > own;
        if (levels > most && !held)
            break;
        if (levels > most)
            x->c->f->d->kept->held = true;
        if (!try_levels(x, levels))
            return false;
    }
    return true;
}

static search begin(choosing *c, pithp_nest nests[2], size_t budget) {
    const pithp_loop_params *loop = c->f->i->params;
    return (search){.c = c,
                    .nests = nests,
                    .length = loop->length,
                    .costs = {.carry = carry_bytes(c->f)},
                    .rows = c->f->i->operand_count > loop->constants + loop->carries ||
                            c->f->i->result_count > loop->carries,
                    .budget = budget};
}

static bool refuse(const choosing *c, size_t least) {
    const pithp_loop_params *loop = c->f->i->params;
    pithp_fail_at(c->s, PITH_E_MEMORY, NULL, c->f->i->site,
                  "the backward half of the loop keeps %zu bytes at least, and "
                  ".kept_bytes is %zu",
                  least, (size_t)loop->kept_bytes);
    return false;
}

/* Set the nests of a loop in a derivation with a budget, which counts what it keeps. */
static bool choose_within(choosing *c, pithp_nest nests[2]) {
    pithp_kept *kept = c->f->d->kept;
    const size_t own = (size_t)((const pithp_loop_params *)c->f->i->params)->kept_bytes;
    search x = begin(c, nests, 0);
    if (!choose_levels(&x, kept->levels))
        return false;
    kept->bytes += x.least;
    return !own || x.least <= own || refuse(c, x.least);
}

/* Set the nests of a loop with a budget, in which loops inside count with what they keep:
 * if it is too small for all that they may keep, they have more levels. */
static bool choose_alone(choosing *c, pithp_nest nests[2]) {
    size_t least = SIZE_MAX;
    bool better = true;
    for (int inner = 1; inner <= PITHP_MOST_LEVELS && better; inner++) {
        search x = begin(
            c, nests, (size_t)((const pithp_loop_params *)c->f->i->params)->kept_bytes);
        c->inner =
            (pithp_kept){.levels = inner, .inner = inner, .body = c->f->i->programs[0]};
        c->mode.kept = inner > 1 ? &c->inner : NULL;
        nests[1] = (pithp_nest){0};
        if (!choose_levels(&x, PITHP_MOST_LEVELS))
            return false;
        if (is_found(&x))
            return true;
        better = c->has_loops && (x.least < least || c->inner.held);
        least = x.least < least ? x.least : least;
    }
    return refuse(c, least);
}

/* ---- Derivation ---- */

/* Add the nest in two halves, and name its results. */
static bool add_nest(const choosing *c,
                     const pithp_nest nests[2],
                     pithp_value *results,
                     pithp_value *tangents) {
    const pithp_deriving_flow *f = c->f;
    pith_scope *s = c->s;
    const int n = f->i->operand_count, m = f->i->result_count;
    pithp_value *in =
                    pithp_scope_allocate(s, 2 * ((size_t)n + (size_t)m + 1) * sizeof *in),
                *out = in + 2 * n;
    pithp_program *p = in ? pithp_nest_make(s, f->i, nests) : NULL,
                  *jvp = p ? pithp_forward(s, p, c->moving, c->mode, c->moves) : NULL;
    int count = n;
    for (int k = 0; k < n && jvp; k++) {
        in[k] = f->c->operands[k];
        if (c->moving[k])
            in[count++] = f->c->tangents[k];
    }
    const bool fine = jvp && pithp_program_inline(s, f->d->to, jvp, in, out);
    pithp_program_release(jvp);
    pithp_program_release(p);
    count = m;
    for (int k = 0; k < m && fine; k++) {
        results[k] = out[k];
        tangents[k] = c->moves[k] ? out[count++] : PITHP_ABSENT;
    }
    return fine;
}

bool pithp_split_nested(pithp_deriving_flow *f,
                        pithp_value *results,
                        pithp_value *tangents) {
    static _Atomic uint64_t number;
    const size_t n = (size_t)f->i->operand_count + 1, m = (size_t)f->i->result_count + 1;
    bool *memory = pithp_scope_allocate(f->d->s, 2 * n + m), *taken = memory + n + m;
    choosing c = {.s = f->d->s,
                  .f = f,
                  .moving = memory,
                  .moves = memory + n,
                  .mode = pithp_mode_in(f->d)};
    pithp_nest nests[2] = {{0}, {0}};
    if (!memory)
        return false;
    memset(taken, 1, n);
    c.mode.split = true;
    c.mode.taken = taken;
    if (!c.mode.nest) /* else its checks are told apart as those of the loop around */
        c.mode.nest = 1 + atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
    c.mode.kept = NULL;
    c.has_loops = has_loops(f->i->programs[0]);
    if (f->d->kept && c.has_loops) {
        f->d->kept->has_inner = true;
        c.inner = (pithp_kept){.levels = f->d->kept->inner,
                               .inner = f->d->kept->inner,
                               .body = f->i->programs[0]};
        c.mode.kept = c.inner.levels > 1 ? &c.inner : NULL;
    }
    for (int k = 0; k < f->i->operand_count; k++)
        c.moving[k] = f->c->tangents[k] >= 0;
    return (f->d->kept ? choose_within(&c, nests) : choose_alone(&c, nests)) &&
           add_nest(&c, nests, results, tangents);
}
