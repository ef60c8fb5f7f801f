/* Programs in two: the values, and their tangents or the transpose of these. */
#include "program/derive/outlined.h"
#include "program/ir/select.h"
#include "program/pass/pass.h"
#include "program/vary/vary.h"
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Making ---- */

/* A program with the first and the last outputs of another. NULL: error set. */
static pithp_program *
ends_of(pith_scope *s, const pithp_program *from, int64_t first, int64_t last) {
    const int64_t count = from->output_count;
    bool *chosen = pithp_scope_allocate(s, (size_t)count + 1);
    for (int64_t k = 0; chosen && k < count; k++)
        chosen[k] = k < first || k >= count - last;
    return chosen ? pithp_program_select(s, from, chosen, NULL) : NULL;
}

/* Transpose the linear program. by_tangent: set for each tangent, whether it is reached.
 * False: error set, or callees->refused. */
static bool
transpose(pith_scope *s, pithp_split *split, pithp_callees *callees, bool *by_tangent) {
    const int64_t residuals = split->residual_count, inputs = split->linear->input_count;
    bool *marks = pithp_scope_allocate(s, 2 * (size_t)inputs + 1);
    if (!marks)
        return false;
    memset(marks, 0, (size_t)residuals);
    memset(marks + residuals, 1, (size_t)(inputs - residuals));
    pithp_program *transposed =
        callees ? pithp_program_transpose_called(s, split->linear, marks, marks + inputs,
                                                 callees)
                : pithp_program_transpose_watched(s, split->linear, marks, marks + inputs,
                                                  &split->watches);
    if (!transposed)
        return false;
    memcpy(by_tangent, marks + inputs + residuals, (size_t)(inputs - residuals));
    pithp_program_release(split->linear);
    split->linear = transposed;
    return true;
}

/* Note what the derivation relies on: carries of a loop around it may come to vary. */
static bool
expect(pithp_derivation_call *c, const pith_mesh *mesh, const pithp_axis_set *axes) {
    pith_scope *s = c->s;
    const pithp_axis_set all = pithp_mesh_axes(mesh);
    for (int64_t k = 0; c->trace->around && k < c->program->input_count; k++) {
        if (axes[k] == all)
            continue;
        const pithp_vary_params params = {
            .group = pithp_mesh_group_along(s, mesh, all & ~axes[k]), .expected = true};
        if (!params.group ||
            (c->inputs[k] = pithp_program_add(s, c->trace->program, PITHP_OP_REPLICATED,
                                              1, &c->inputs[k], &params, s->site)) < 0)
            return false;
    }
    return true;
}

/* A value that varies, and to which a mapped function adds what all ranks have, would be
 * differentiated as the sum over ranks, with the shared part once for each of them. */
static bool check_value(pithp_derivation_call *c,
                        const pith_mesh *mesh,
                        const pithp_axis_set *axes,
                        pithp_axis_set mapped) {
    pith_scope *s = c->s;
    const pithp_program *p = c->program;
    char text[PITHP_AXES_BYTES];
    pithp_axis_set *values =
        pithp_scope_allocate(s, ((size_t)p->value_count + 1) * sizeof *values);
    if (!values || !pithp_program_variance(s, p, axes, values))
        return false;
    for (int64_t k = 0; k < c->value_count; k++) {
        const pithp_axis_set over = values[p->outputs[k]] & mapped;
        if (!over || pithp_placement_of(c->part.flats[0].structure.specs[k]))
            continue;
        pithp_mesh_axes_text(mesh, over, text);
        pithp_fail(s, PITH_E_DERIVATIVE, NULL,
                   "the value combines what pith_shard_map calls equal along %s with "
                   "arrays that are a rank's own: compute it within the mapped function, "
                   "or make these equal by pith_pbroadcast",
                   text);
        return false;
    }
    return true;
}

int64_t
pithp_derivation_axes(pithp_derivation_call *c, bool relies, pithp_axis_set *axes) {
    pith_scope *s = c->s;
    const int64_t count = c->program->input_count;
    if (pithp_trace_variance(s, c->trace, count, c->inputs, axes) != PITH_OK ||
        (relies && !expect(c, pith_mesh_of(s), axes)))
        return -1;
    const pithp_axis_set mapped = pithp_program_claims(s, c->program, axes + count);
    for (int64_t k = 0; k < count; k++)
        axes[k] &= ~axes[count + k];
    return s->error.code == PITH_OK ? (int64_t)mapped : -1;
}

/* Mark where the linear program uses values that are equal on all ranks as ones that are
 * not. False: error set. */
static bool
widen(pithp_derivation_call *c, const pithp_split *split, pithp_linearization *l) {
    pith_scope *s = c->s;
    const pith_mesh *mesh = pith_mesh_of(s);
    const size_t n = 2 * (size_t)c->program->input_count + 1;
    if (!mesh)
        return true;
    pithp_axis_set *axes = pithp_scope_allocate(s, n * sizeof *axes);
    const int64_t mapped = axes ? pithp_derivation_axes(c, true, axes) : -1;
    return mapped >= 0 &&
           (!mapped || check_value(c, mesh, axes, (pithp_axis_set)mapped)) &&
           pithp_linearization_widen(s, l, mesh, axes, c->moves, split->moves,
                                     split->varies);
}

/* callees: of a program with rows for calls, or NULL. False: error set, or
 * callees->refused. */
static bool make(pithp_derivation_call *c,
                 bool reverse,
                 bool map,
                 pithp_callees *callees,
                 pithp_split *split) {
    pith_scope *s = c->s;
    const pithp_program *p = callees ? callees->outlined : c->program;
    const bool *moves = c->moves;
    pithp_linearization l;
    int64_t tangents = 0, next = 0;
    size_t kept = 0;
    *split = (pithp_split){.watches.watched =
                               reverse ? PITHP_WATCH_COTANGENTS : PITHP_WATCH_TANGENTS};
    pithp_derive_options options = pithp_derivation_options(c, &split->watches);
    /* The residuals of a linear function do not depend on its argument, as they are. */
    options.kept_bytes = pithp_derivation_budget_left(c);
    options.kept = &kept;
    /* A gradient runs as one program. Its plan fuses elementwise residuals with their
     * readers already: a choice by bytes computes more and does not lower the peak. */
    options.fewest_bytes = map && !c->derived->kind->linear;
    options.reverse = reverse;
    options.callees = callees;
    options.function_is_linear = c->derived->kind->linear;
    const size_t inputs = (size_t)p->input_count;
    split->reached = pithp_scope_allocate(s, 2 * inputs + (size_t)p->output_count + 1);
    split->varies =
        pithp_scope_allocate(s, ((size_t)p->output_count + 1) * sizeof *split->varies);
    if (!split->reached || !split->varies)
        return false;
    memset(split->varies, 0, (size_t)p->output_count * sizeof *split->varies);
    bool *by_tangent = split->reached + inputs;
    split->moves = by_tangent + inputs;
    if (!pithp_program_linearize(s, p, moves, &options, split->moves, &l))
        return false;
    pithp_derivation_take_budget(c, kept);
    if (reverse && !widen(c, split, &l)) {
        pithp_program_release(l.forward);
        pithp_program_release(l.linear);
        return false;
    }
    for (int64_t k = 0; k < c->value_count; k++)
        tangents += split->moves[k];
    split->forward = l.forward;
    split->residual_count = l.residual_count;
    split->linear =
        ends_of(s, l.linear, tangents, pithp_watches_outputs(&split->watches));
    pithp_program_release(l.linear);
    memset(by_tangent, 1, inputs);
    if (!split->linear || (reverse && !transpose(s, split, callees, by_tangent))) {
        pithp_split_end(split);
        return false;
    }
    for (int64_t k = 0; k < p->input_count; k++)
        split->reached[k] = moves[k] && by_tangent[next++];
    return true;
}

bool pithp_derivation_may_have_rows(const pithp_derivation_call *c) {
    return !c->derived->kind->linear && !pithp_derivation_budget(c) &&
           !c->derived->options.find_nonfinite && !pith_mesh_of(c->s);
}

bool pithp_split_make(pithp_derivation_call *c,
                      bool reverse,
                      bool map,
                      pithp_split *split) {
    pithp_callees callees = {0};
    bool fine = !reverse || map || !pithp_derivation_may_have_rows(c) ||
                pithp_callees_begin(c->s, c->program, &callees);
    const bool outlined = fine && callees.outlined;
    fine = fine && make(c, reverse, map, outlined ? &callees : NULL, split);
    if (outlined && !fine && callees.refused && c->s->error.code == PITH_OK)
        fine = make(c, reverse, map, NULL, split);
    else
        pithp_derivation_count_calls(c, &callees.counts);
    pithp_callees_end(&callees);
    return fine;
}

void pithp_split_end(pithp_split *split) {
    pithp_program_release(split->forward);
    pithp_program_release(split->linear);
}

/* ---- Residuals ---- */

static void mark_read(const pithp_program *p, int64_t residuals, bool *read) {
    for (int64_t k = 0; k < p->operand_count; k++)
        if (p->operands[k] < residuals)
            read[p->operands[k]] = true;
    for (int64_t k = 0; k < p->output_count; k++)
        if (p->outputs[k] < residuals)
            read[p->outputs[k]] = true;
}

/* Count residuals that stay: those that the forward program makes. */
static void
count_kept(pithp_derivation_call *c, const pithp_split *split, const bool *stays) {
    const pithp_program *p = split->forward;
    const pithp_value *residuals = p->outputs + p->output_count - split->residual_count;
    for (int64_t k = 0; k < split->residual_count; k++)
        if (stays[k] && p->values[residuals[k]].origin == PITHP_FROM_INSTRUCTION)
            c->trace->kept_bytes += pithp_value_spec(p, residuals[k])->bytes;
}

/* The linear program without the inputs that are not read. */
static bool drop_inputs(pith_scope *s,
                        const pithp_program *from,
                        int64_t residuals,
                        const bool *read,
                        pithp_program *to) {
    const size_t n = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, n * sizeof *inputs),
                *outputs = inputs + from->input_count;
    bool fine = inputs;
    for (int64_t k = 0; k < from->input_count && fine; k++) {
        inputs[k] = 0; /* not read */
        if (k >= residuals || read[k])
            fine = (inputs[k] = pithp_program_input(
                        s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    }
    fine = fine && pithp_program_inline(s, to, from, inputs, outputs);
    for (int64_t k = 0; k < from->output_count && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    return fine;
}

bool *pithp_split_trim(pithp_derivation_call *c, pithp_split *split) {
    pith_scope *s = c->s;
    const int64_t residuals = split->residual_count;
    bool *read = pithp_scope_allocate(s, (size_t)residuals + 1);
    pithp_program *better =
        read ? pithp_program_optimise(s, split->linear, PITHP_PASS_ALL) : NULL;
    pithp_program *trimmed = better ? pithp_program_make(s) : NULL;
    if (trimmed) {
        memset(read, 0, (size_t)residuals + 1);
        mark_read(better, residuals, read);
        if (!drop_inputs(s, better, residuals, read, trimmed)) {
            pithp_program_release(trimmed);
            trimmed = NULL;
        }
    }
    pithp_program_release(better);
    if (!trimmed)
        return NULL;
    pithp_program_release(split->linear);
    split->linear = trimmed;
    count_kept(c, split, read);
    return read;
}

/* ---- One program ---- */

/* Add the program to `to`, with its gradient, from values of its inputs. */
static bool join(pith_scope *s,
                 const pithp_program *p,
                 const pithp_split *split,
                 pithp_program *to,
                 const pithp_value *inputs,
                 pithp_value *outputs) {
    uint64_t one = 0;
    const pith_spec *spec = pithp_value_spec(p, p->outputs[0]);
    bool fine = pithp_program_inline(s, to, split->forward, inputs, outputs);
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    if (!fine || !split->moves[0])
        return fine;
    pithp_value *residuals = outputs + p->output_count,
                *gradients = residuals + split->residual_count + 1;
    pithp_dtype_encode(spec->dtype, 1, &one);
    residuals[split->residual_count] = pithp_program_literal(s, to, spec, &one);
    fine = residuals[split->residual_count] >= 0 &&
           pithp_program_inline(s, to, split->linear, residuals, gradients);
    for (int64_t k = 0; k < split->linear->output_count && fine; k++)
        fine = pithp_program_output(s, to, gradients[k]);
    return fine;
}

pithp_program *pithp_split_join(pithp_derivation_call *c, const pithp_split *split) {
    pith_scope *s = c->s;
    const pithp_program *p = c->program;
    const size_t n = (size_t)(p->input_count + split->forward->output_count + 1 +
                              split->linear->output_count);
    pithp_value *inputs = pithp_scope_allocate(s, (n + 1) * sizeof *inputs);
    bool *read = pithp_scope_allocate(s, (size_t)split->residual_count + 1);
    pithp_program *to = inputs && read ? pithp_program_make(s) : NULL;
    bool fine = to;
    for (int64_t k = 0; k < p->input_count && fine; k++)
        fine = (inputs[k] =
                    pithp_program_input(s, to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    fine = fine && join(s, p, split, to, inputs, inputs + p->input_count);
    if (fine) {
        memset(read, 0, (size_t)split->residual_count + 1);
        mark_read(split->linear, split->residual_count, read);
        count_kept(c, split, read);
        return to;
    }
    pithp_program_release(to);
    return NULL;
}

/* ---- The gradient as a program to derive ---- */

/* Check cuts before the gradient, whose values are the last outputs but those of watches.
 */
static pith_status check_gradient_cuts(pithp_derivation_call *c,
                                       const pithp_program *p,
                                       const pithp_derive_watches *watches) {
    const int64_t last = p->output_count - pithp_watches_outputs(watches);
    bool *results = pithp_scope_allocate(c->s, (size_t)p->output_count + 1);
    if (!results)
        return c->s->error.code;
    for (int64_t k = 0; k < p->output_count; k++)
        results[k] = k >= c->program->output_count && k < last;
    return pithp_derivation_check_cuts(c, p, results);
}

pithp_program *pithp_split_gradient(pithp_derivation_call *c, const pithp_split *split) {
    pithp_program *joined = pithp_split_join(c, split),
                  *better = joined ? pithp_program_optimise(c->s, joined, PITHP_PASS_ALL)
                                   : NULL;
    pithp_program_release(joined);
    if (!better || check_gradient_cuts(c, better, &split->watches) == PITH_OK)
        return better;
    pithp_program_release(better);
    return NULL;
}
