/* Loop unrolling: scans that ask for it get several iterations in one body. Values
 * between iterations then stay inside fused steps, and loop overhead shrinks. Only scans
 * without outputs are unrolled, by the largest divisor of the length up to the requested
 * factor.
 */
#include "program/op/thresholds.h"
#include "program/pass/rewrite.h"

static int64_t factor_of(const pithp_flow *f) {
    const pithp_loop_params *l = &f->params.as_loop;
    const int64_t each = f->programs[0]->instruction_count + 1;
    int64_t factor = l->unroll < l->length ? l->unroll : l->length;
    if (f->primitive != PITHP_OP_SCAN || f->result_count != l->carries)
        return 1;
    while (factor > 1 &&
           (l->length % factor || factor * each > PITHP_UNROLL_INSTRUCTIONS))
        factor--;
    return factor > 1 ? factor : 1;
}

/* The spec of the rows of a block. */
static const pith_spec *
block_spec(const pithp_flow *f, pithp_value input, int64_t factor) {
    const pith_spec *row = pithp_value_spec(f->programs[0], input);
    int64_t shape[PITHP_MAX_RANK] = {factor};
    for (int d = 0; d < row->rank; d++)
        shape[d + 1] = row->shape[d];
    return pithp_spec_of_value(f->r->s, row->dtype, row->rank + 1, shape);
}

/* x [...] as that spec. */
static pithp_value
reshape(pith_scope *s, pithp_program *p, pithp_value x, int rank, const int64_t *shape) {
    pithp_reshape_params params = {.rank = rank};
    for (int d = 0; d < rank; d++)
        params.shape[d] = shape[d];
    return pithp_program_add(s, p, PITHP_OP_RESHAPE, 1, &x, &params, NULL);
}

/* Row i of a block. */
static pithp_value row_of(pith_scope *s,
                          pithp_program *p,
                          pithp_value block,
                          int64_t i,
                          const pith_spec *row) {
    pithp_slice_params slice = {{i}, {i + 1}, {1}};
    for (int d = 0; d < row->rank; d++) {
        slice.limit[d + 1] = row->shape[d];
        slice.step[d + 1] = 1;
    }
    const pithp_value v =
        pithp_program_add(s, p, PITHP_OP_SLICE, 1, &block, &slice, NULL);
    return v < 0 ? -1 : reshape(s, p, v, row->rank, row->shape);
}

static bool lay_out(const pithp_flow *f, pithp_program *p, int64_t factor) {
    const pithp_loop_params *l = &f->params.as_loop;
    const pithp_regions r = pithp_flow_regions(f);
    const pithp_program *body = f->programs[0];
    const int64_t inputs = body->input_count, fixed = r.groups[PITHP_SCAN_XS].first;
    const int carry = r.carries.first; /* operands are inputs */
    pith_scope *s = f->r->s;
    pithp_value *in = pithp_scope_allocate(s, ((size_t)inputs + 1) * sizeof *in);
    bool fine = in != NULL;
    for (int64_t k = 0; k < inputs && fine; k++) {
        const pith_spec *spec = k < fixed ? pithp_value_spec(body, body->inputs[k])
                                          : block_spec(f, body->inputs[k], factor);
        fine = spec && (in[k] = pithp_program_input(s, p, spec)) >= 0;
    }
    for (int64_t t = 0; t < factor && fine; t++) {
        for (int64_t k = fixed; k < inputs && fine; k++)
            fine = (in[k] = row_of(s, p, p->inputs[k], l->reverse ? factor - 1 - t : t,
                                   pithp_value_spec(body, body->inputs[k]))) >= 0;
        fine = fine && pithp_program_inline(s, p, body, in, in + carry);
    }
    for (int k = 0; k < r.carries.count && fine; k++)
        fine = pithp_program_output(s, p, in[carry + k]);
    return fine;
}

/* xs in blocks. */
static bool take_blocks(pithp_flow *f, int64_t factor) {
    const pithp_loop_params *l = &f->params.as_loop;
    const int fixed = pithp_flow_regions(f).groups[PITHP_SCAN_XS].first;
    const size_t bytes = ((size_t)f->operand_count + 1) * sizeof(pithp_value);
    pithp_value *operands = pithp_scope_allocate(f->r->s, bytes);
    for (int k = 0; operands && k < f->operand_count; k++) {
        const pith_spec *x = pithp_value_spec(f->r->to, f->operands[k]);
        int64_t shape[PITHP_MAX_RANK + 1] = {l->length / factor, factor};
        for (int d = 1; d < x->rank; d++)
            shape[d + 1] = x->shape[d];
        operands[k] =
            k < fixed ? f->operands[k]
                      : reshape(f->r->s, f->r->to, f->operands[k], x->rank + 1, shape);
        if (operands[k] < 0)
            return false;
    }
    f->operands = operands;
    return operands;
}

static bool has_deep_rows(const pithp_flow *f) {
    bool deep = false;
    for (int k = pithp_flow_regions(f).groups[PITHP_SCAN_XS].first; k < f->operand_count;
         k++)
        deep |= pithp_value_spec(f->r->to, f->operands[k])->rank == PITHP_MAX_RANK;
    return deep;
}

bool pithp_flow_unroll(pithp_flow *f) {
    const int64_t factor = factor_of(f);
    if (factor == 1 || has_deep_rows(f))
        return true;
    pithp_program *p = pithp_program_make(f->r->s);
    if (!p || !lay_out(f, p, factor) || !take_blocks(f, factor)) {
        pithp_program_release(p);
        return false;
    }
    pithp_program_release(f->programs[0]);
    f->programs[0] = p;
    f->params.as_loop.length /= factor;
    f->params.as_loop.unroll = 1;
    return true;
}
