/* Programs in reverse: linearization, with the tangents of the value alone, and its
 * transpose. */
#include "trace/derive/derive_internal.h"

#include <string.h>

/* A program with the first outputs of another. NULL: error set. */
static pithp_program *
first_outputs(pith_scope *s, const pithp_program *from, int64_t count) {
    const size_t n = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, n * sizeof *inputs),
                *outputs = inputs + from->input_count;
    pithp_program *to = inputs ? pithp_program_make(s) : NULL;
    bool fine = to;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine = (inputs[k] = pithp_program_input(
                    s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    fine = fine && pithp_program_inline(s, to, from, inputs, outputs);
    for (int64_t k = 0; k < count && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}

/* The transpose of the tangents of the value. `reaches`: by tangent. NULL: error set. */
static pithp_program *
transpose(pith_scope *s, const pithp_linearization *l, int64_t tangents, bool *reaches) {
    const int64_t residuals = l->residual_count, inputs = l->linear->input_count;
    bool *marks = pithp_scope_allocate(s, 2 * (size_t)inputs + 1);
    pithp_program *linear = marks ? first_outputs(s, l->linear, tangents) : NULL;
    if (!linear)
        return NULL;
    memset(marks, 0, (size_t)residuals);
    memset(marks + residuals, 1, (size_t)(inputs - residuals));
    pithp_program *transposed = pithp_program_transpose(s, linear, marks, marks + inputs);
    pithp_program_release(linear);
    if (transposed)
        memcpy(reaches, marks + inputs + residuals, (size_t)(inputs - residuals));
    return transposed;
}

bool pithp_reverse_make(pith_scope *s,
                        const pithp_program *p,
                        const bool *moves,
                        int64_t value_count,
                        pithp_reverse *r) {
    pithp_linearization l;
    int64_t tangents = 0, next = 0;
    *r = (pithp_reverse){0};
    const size_t inputs = (size_t)p->input_count;
    r->reaches = pithp_scope_allocate(s, 2 * inputs + (size_t)p->output_count + 1);
    if (!r->reaches)
        return false;
    bool *by_tangent = r->reaches + inputs;
    r->moves = by_tangent + inputs;
    if (!pithp_program_linearize(s, p, moves, r->moves, &l))
        return false;
    for (int64_t k = 0; k < value_count; k++)
        tangents += r->moves[k];
    r->forward = l.forward;
    r->residual_count = l.residual_count;
    r->transposed = transpose(s, &l, tangents, by_tangent);
    pithp_program_release(l.linear);
    if (!r->transposed) {
        pithp_program_release(r->forward);
        return false;
    }
    for (int64_t k = 0; k < p->input_count; k++)
        r->reaches[k] = moves[k] && by_tangent[next++];
    return true;
}

void pithp_reverse_end(pithp_reverse *r) {
    pithp_program_release(r->forward);
    pithp_program_release(r->transposed);
}

/* Add the program to `to`, with its gradient, from values of its inputs. */
static bool join(pith_scope *s,
                 const pithp_program *p,
                 const pithp_reverse *r,
                 pithp_program *to,
                 const pithp_value *inputs,
                 pithp_value *outputs) {
    uint64_t one = 0;
    const pith_spec *spec = pithp_value_spec(p, p->outputs[0]);
    bool fine = pithp_program_inline(s, to, r->forward, inputs, outputs);
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    if (!fine || !r->moves[0])
        return fine;
    pithp_value *residuals = outputs + p->output_count,
                *gradients = residuals + r->residual_count + 1;
    pithp_dtype_encode(spec->dtype, 1, &one);
    residuals[r->residual_count] = pithp_program_literal(s, to, spec, &one);
    fine = residuals[r->residual_count] >= 0 &&
           pithp_program_inline(s, to, r->transposed, residuals, gradients);
    for (int64_t k = 0; k < r->transposed->output_count && fine; k++)
        fine = pithp_program_output(s, to, gradients[k]);
    return fine;
}

pithp_program *
pithp_reverse_join(pith_scope *s, const pithp_program *p, const pithp_reverse *r) {
    const size_t n = (size_t)(p->input_count + r->forward->output_count + 1 +
                              r->transposed->output_count);
    pithp_value *inputs = pithp_scope_allocate(s, (n + 1) * sizeof *inputs);
    pithp_program *to = inputs ? pithp_program_make(s) : NULL;
    bool fine = to;
    for (int64_t k = 0; k < p->input_count && fine; k++)
        fine = (inputs[k] =
                    pithp_program_input(s, to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    fine = fine && join(s, p, r, to, inputs, inputs + p->input_count);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}
