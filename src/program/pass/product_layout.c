/* Layout of products, so that fewer elements are moved before and after them:
 *
 *   1. A transposition of a product that nothing else reads is the product with exchanged
 *      operands: transpose(dot(a, b)) -> dot(b, a).
 *   2. A literal matrix whose rows are the terms is transposed once, here: columns are
 *      multiplied side by side.
 *
 * Elements are the same sums in the same order (host/vector/dot.h). Products by a vector
 * stay as they are: their sums are in lanes. */
#include "program/host/dot.h"
#include "program/pass/rewrite.h"

#include <string.h>

typedef struct product {
    const pith_spec *operands[2];
    const pith_spec *result;
    const pithp_dot_params *params;
} product;

static product product_of(const pithp_program *p, const pithp_instruction *i) {
    const pithp_value *operands = pithp_operands(p, i);
    return (product){
        .operands = {pithp_value_spec(p, operands[0]), pithp_value_spec(p, operands[1])},
        .result = pithp_value_spec(p, i->result),
        .params = i->params};
}

static int free_rank(const product *d, int side) {
    return d->operands[side]->rank - d->params->contracts - d->params->batches;
}

/* Elements of these dimensions of the result. */
static int64_t count_of(const product *d, int first, int rank) {
    int64_t count = 1;
    for (int n = first; n < first + rank; n++)
        count *= d->result->shape[n];
    return count;
}

/* Whether a permutation exchanges the free dimensions of two matrices, no vectors. */
static bool exchanges(const product *d, const int32_t *permutation) {
    const int batches = d->params->batches, a = free_rank(d, 0), b = free_rank(d, 1);
    bool same = count_of(d, batches, a) > 1 && count_of(d, batches + a, b) > 1;
    for (int n = 0; n < batches; n++)
        same &= permutation[n] == n;
    for (int n = 0; n < b; n++)
        same &= permutation[batches + n] == batches + a + n;
    for (int n = 0; n < a; n++)
        same &= permutation[batches + b + n] == batches + n;
    return same;
}

static pithp_dot_params exchanged(const pithp_dot_params *p) {
    pithp_dot_params to = {.contracts = p->contracts, .batches = p->batches};
    for (int side = 0; side < 2; side++) {
        memcpy(to.contract[side], p->contract[!side], sizeof *to.contract);
        memcpy(to.batch[side], p->batch[!side], sizeof *to.batch);
    }
    return to;
}

/* Elements that the host moves before it multiplies: operands whose dimensions do not
 * merge, and columns that are not contiguous. */
static int64_t moved_elements(const pith_spec *const operands[2],
                              const pithp_dot_params *params) {
    const pithp_call call = pithp_call_of(PITHP_OP_DOT_GENERAL, 2, operands, params);
    const pithp_product_view v = pithp_product_view_of(&call);
    const bool packs = v.b.free != 1 && !v.small && !v.dots;
    return (packs ? v.terms * v.n * v.batches : 0) +
           (v.a.moved ? operands[v.a.operand]->count : 0) +
           (v.b.moved ? operands[v.b.operand]->count : 0);
}

/* ---- Transposed products ---- */

static bool is_read_once(const pithp_program *p, pithp_value v) {
    int64_t reads = 0;
    for (int64_t k = 0; k < p->operand_count; k++)
        reads += p->operands[k] == v;
    for (int64_t k = 0; k < p->output_count; k++)
        reads += p->outputs[k] == v;
    return reads == 1;
}

/* The product whose exchanged form is better than this transposition of it, or NULL. */
static const pithp_instruction *product_to_exchange(const pithp_program *p,
                                                    const pithp_instruction *i) {
    const pithp_instruction *made = i->primitive == PITHP_OP_TRANSPOSE
                                        ? pithp_maker(p, pithp_operands(p, i)[0])
                                        : NULL;
    if (!made || made->primitive != PITHP_OP_DOT_GENERAL)
        return NULL;
    const product d = product_of(p, made);
    const pithp_dot_params other = exchanged(d.params);
    const bool better =
        exchanges(&d, ((const pithp_transpose_params *)i->params)->permutation) &&
        is_read_once(p, made->result) &&
        moved_elements((const pith_spec *const[]){d.operands[1], d.operands[0]}, &other) <
            moved_elements(d.operands, d.params) + d.result->count;
    return better ? made : NULL;
}

/* ---- Literals ---- */

/* Whether the second operand of a product is a literal to transpose. */
static bool has_literal_rows(const pithp_program *p, const pithp_instruction *i) {
    if (i->primitive != PITHP_OP_DOT_GENERAL)
        return false;
    const product d = product_of(p, i);
    const pith_spec *b = d.operands[1];
    return d.params->contracts == 1 && d.params->batches == 0 && b->rank == 2 &&
           d.params->contract[1][0] == 1 && b->shape[0] > 1 && b->shape[1] > 1 &&
           count_of(&d, 0, free_rank(&d, 0)) > 1 &&
           pithp_literal_of(p, pithp_operands(p, i)[1]);
}

/* The transposed matrix as a literal; -1 sets the error. */
static pithp_value transposed_literal(pithp_rebuild *r, pithp_value v) {
    const pith_spec *spec = pithp_value_spec(r->from, v);
    const int64_t rows = spec->shape[0], columns = spec->shape[1];
    const size_t size = pith_dtype_size(spec->dtype);
    const char *from = pithp_literal_of(r->from, v);
    const pith_spec *turned =
        pithp_spec(r->s, spec->dtype, 2, (const int64_t[]){columns, rows});
    char *to = pithp_scope_allocate(r->s, spec->bytes);
    if (!turned || !to)
        return -1;
    for (int64_t k = 0; k < rows; k++)
        for (int64_t n = 0; n < columns; n++)
            memcpy(to + (size_t)(n * rows + k) * size,
                   from + (size_t)(k * columns + n) * size, size);
    return pithp_program_literal(r->s, r->to, turned, to);
}

/* ---- The pass ---- */

static bool
turn_literal(pithp_rebuild *r, const pithp_instruction *i, pithp_proposal *c) {
    const pithp_value *operands = pithp_operands(r->from, i);
    pithp_dot_params params = *(const pithp_dot_params *)i->params;
    params.contract[1][0] = 0;
    c->new_operands[0] = r->names[operands[0]];
    c->new_operands[1] = transposed_literal(r, operands[1]);
    c->operands = c->new_operands;
    memcpy(c->new_params, &params, sizeof params);
    c->params = c->new_params;
    return c->new_operands[1] >= 0;
}

static void exchange(pithp_rebuild *r, const pithp_instruction *made, pithp_proposal *c) {
    const pithp_value *operands = pithp_operands(r->from, made);
    const pithp_dot_params params = exchanged(made->params);
    c->primitive = PITHP_OP_DOT_GENERAL;
    c->count = 2;
    c->new_operands[0] = r->names[operands[1]];
    c->new_operands[1] = r->names[operands[0]];
    c->operands = c->new_operands;
    memcpy(c->new_params, &params, sizeof params);
    c->params = c->new_params;
}

bool pithp_lay_out_product(pithp_rebuild *r,
                           const pithp_instruction *i,
                           pithp_proposal *c) {
    const pithp_instruction *made = product_to_exchange(r->from, i);
    if (made)
        exchange(r, made, c);
    return !has_literal_rows(r->from, i) || turn_literal(r, i, c);
}

bool pithp_has_products_to_lay_out(const pithp_program *p) {
    bool any = false;
    for (int64_t k = 0; k < p->instruction_count && !any; k++) {
        const pithp_instruction *i = &p->instructions[k];
        any = product_to_exchange(p, i) || has_literal_rows(p, i);
        for (int b = 0; b < i->program_count && !any; b++)
            any = pithp_has_products_to_lay_out(i->programs[b]);
    }
    return any;
}
