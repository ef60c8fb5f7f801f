/* Batching of indexing in mode error. The values are those of the row with the checks
 * left out. The report of each entry is computed from its indices, as the row does alone
 * (host/gather.c): it names the first position of the entry whose index is out of range.
 */
#include "program/host/gather.h"
#include "program/vmap/control.h"

#include <string.h>

/* The indices of all entries in rows, or of one entry if none is batched. */
typedef struct index_check {
    pithp_batching *b;
    const pithp_index_params *params;
    pith_dtype dtype; /* of the indices */
    int rank;         /* of rows: 2, or 1 */
    int64_t shape[2];
} index_check;

static pithp_value number(const index_check *x, int64_t value) {
    return pithp_batch_full(x->b, pithp_spec(x->b->s, PITH_I64, 0, NULL),
                            (uint64_t)value);
}

static pithp_value
two(const index_check *x, pithp_primitive op, pithp_value a, pithp_value b) {
    return pithp_batch_call(x->b, op, 2, (const pithp_value[]){a, b}, NULL);
}

static pithp_value cast(const index_check *x, pithp_value v, pith_dtype dtype) {
    const pithp_cast_params to = {dtype};
    return pithp_batch_call(x->b, PITHP_OP_CAST, 1, &v, &to);
}

static pithp_value
select(const index_check *x, pithp_value a, pithp_value b, pithp_value c) {
    return pithp_batch_call(x->b, PITHP_OP_WHERE, 3, (const pithp_value[]){a, b, c},
                            NULL);
}

/* Reduce each row. */
static pithp_value reduce(const index_check *x, pithp_primitive op, pithp_value v) {
    const pithp_reduce_params row = {1u << (x->rank - 1)};
    return pithp_batch_call(x->b, op, 1, &v, &row);
}

/* Whether an index is out of range. */
static pithp_value out_of_range(const index_check *x, pithp_value index, int64_t extent) {
    const bool from_end = !x->params->no_negative && x->dtype != PITH_U64;
    return two(x, PITHP_OP_LOGICAL_OR,
               two(x, PITHP_OP_LT, index, number(x, from_end ? -extent : 0)),
               two(x, PITHP_OP_GE, index, number(x, extent)));
}

/* One word of each report, with an axis of its own. */
static pithp_value as_word(const index_check *x, pithp_value v) {
    const int64_t shape[2] = {x->shape[0], 1};
    return pithp_batch_reshape(x->b, cast(x, v, PITH_U64), x->rank,
                               x->rank == 2 ? shape : shape + 1);
}

/* The index at the position of each row. */
static pithp_value
index_at(const index_check *x, pithp_value index, pithp_value position) {
    const pithp_index_params along = {.axis = x->rank - 1, .mode = PITHP_INDEX_CLIP};
    const int64_t shape[2] = {x->shape[0], 1};
    const pithp_value operands[2] = {
        index,
        pithp_batch_reshape(x->b, position, x->rank, x->rank == 2 ? shape : shape + 1)};
    const pithp_value at =
        pithp_batch_call(x->b, PITHP_OP_TAKE_ALONG, 2, operands, &along);
    return at >= 0 ? pithp_batch_reshape(x->b, at, x->rank - 1, shape) : -1;
}

/* Reports of index arrays, in rows of i64. */
static pithp_value reports_of(const index_check *x,
                              int arrays,
                              const pithp_value *index,
                              const int64_t *extents) {
    pithp_batching *b = x->b;
    const pithp_iota_params iota = {.dtype = PITH_I64,
                                    .rank = x->rank,
                                    .shape = {x->shape[0], x->shape[1]},
                                    .axis = x->rank - 1};
    pithp_value bad = out_of_range(x, index[0], extents[0]);
    for (int k = 1; k < arrays; k++)
        bad = two(x, PITHP_OP_LOGICAL_OR, bad, out_of_range(x, index[k], extents[k]));
    const pithp_value any = reduce(x, PITHP_OP_ANY, bad);
    const pithp_value position =
        reduce(x, PITHP_OP_MIN_OF,
               select(x, bad, pithp_batch_call(b, PITHP_OP_IOTA, 0, NULL, &iota),
                      number(x, INT64_MAX)));
    pithp_value need = -1, have = -1, what = -1;
    for (int k = arrays; k-- > 0;) { /* of the first array that fails */
        const pithp_value at = index_at(x, index[k], position);
        const pithp_value fails = out_of_range(x, at, extents[k]),
                          note = number(
                              x, (int64_t)pithp_index_note(x->params, x->dtype, k)),
                          extent = number(x, extents[k]);
        need = need < 0 ? at : select(x, fails, at, need);
        have =
            have < 0 ? select(x, fails, extent, extent) : select(x, fails, extent, have);
        what = what < 0 ? select(x, fails, note, note) : select(x, fails, note, what);
    }
    const pithp_value words[4] = {
        as_word(x, pithp_batch_call(b, PITHP_OP_BITWISE_NOT, 1, &position, NULL)),
        as_word(x, need), as_word(x, have), as_word(x, what)};
    const pithp_concatenate_params join = {.axis = x->rank - 1};
    const pithp_value report = pithp_batch_call(b, PITHP_OP_CONCATENATE, 4, words, &join);
    const pithp_value none = pithp_batch_full(b, pithp_spec(b->s, PITH_U64, 0, NULL), 0);
    const pithp_value fails = as_word(x, any);
    return select(x, two(x, PITHP_OP_NE, fails, none), report, none);
}

/* Whether the row has elements to take or to combine: otherwise it looks at no index. */
static bool moves_elements(const pithp_batching *b, const pithp_batched_call *c) {
    const pithp_checked_params *checked = c->i->params;
    return pithp_op_has(checked->primitive, PITHP_TRAIT_SCATTER)
               ? pithp_entry_spec(b, c, c->i->operand_count - 1)->count > 0
               : pithp_value_spec(b->from, c->i->result)->count > 0;
}

/* The reports of a call; sets whether they are batched. */
static pithp_value
report(pithp_batching *b, const pithp_batched_call *c, int arrays, bool *batched) {
    const pithp_checked_params *checked = c->i->params;
    const pith_spec *array = pithp_entry_spec(b, c, 0),
                    *first = pithp_entry_spec(b, c, 1);
    int64_t extents[PITHP_MAX_RANK];
    pithp_value index[PITHP_MAX_RANK];
    *batched = false;
    for (int k = 0; k < arrays; k++)
        *batched |= c->batched[1 + k];
    index_check x = {.b = b,
                     .params = &checked->index,
                     .dtype = first->dtype,
                     .rank = 1 + *batched,
                     .shape = {first->count}};
    if (*batched) {
        x.shape[0] = b->size;
        x.shape[1] = first->count;
    }
    if (!moves_elements(b, c)) {
        const int64_t words[2] = {b->size, 4};
        return pithp_batch_full(
            b, pithp_spec_of_value(b->s, PITH_U64, x.rank, words + !*batched), 0);
    }
    for (int k = 0; k < arrays; k++) {
        const pithp_value v =
            *batched ? pithp_batch_operand(b, c, 1 + k) : c->operands[1 + k];
        index[k] =
            v < 0 ? -1 : pithp_batch_reshape(b, cast(&x, v, PITH_I64), x.rank, x.shape);
        extents[k] = array->shape[checked->index.axis + k];
    }
    return reports_of(&x, arrays, index, extents);
}

bool pithp_vmap_checked(pithp_batching *b,
                        const pithp_batched_call *c,
                        pithp_value *results,
                        bool *batched);

bool pithp_vmap_checked(pithp_batching *b,
                        const pithp_batched_call *c,
                        pithp_value *results,
                        bool *batched) {
    const pithp_checked_params *checked = c->i->params;
    pithp_index_params index = checked->index;
    pithp_instruction inner = *c->i;
    pithp_batched_call call = *c;
    const bool scatter = pithp_op_has(checked->primitive, PITHP_TRAIT_SCATTER);
    index.mode = PITHP_INDEX_DROP; /* so does mode error */
    inner.primitive = checked->primitive;
    inner.params = &index;
    inner.result_count = 1;
    call.i = &inner;
    results[1] = report(b, c, c->i->operand_count - 1 - scatter, &batched[1]);
    results[0] = results[1] >= 0 ? pithp_batch_of(inner.primitive).shift(b, &call) : -1;
    batched[0] = true;
    return results[0] >= 0;
}
