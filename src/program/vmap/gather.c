/* Batching rules of rows that select elements by index arrays, or boxes by starts. */
#include "program/vmap/gather.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c);       \
    pithp_value pithp_vmap_##name(pithp_batching *b, const pithp_batched_call *c)

/* ---- Index arrays ---- */

/* Whether each number of an entry is one of the dtype. */
static bool holds_entries(pith_dtype dtype, int64_t size) {
    const int bits = 8 * (int)pith_dtype_size(dtype) - 1; /* of one with a sign */
    return bits >= 63 || size - 1 <= (INT64_C(1) << bits) - 1;
}

/* The call in the middle of being batched. */
typedef struct indexed {
    pithp_batching *b;
    const pithp_batched_call *c;
    pithp_batched_index *to;
    int first, arrays; /* number of the first index array, and of the entry's arrays */
} indexed;

static bool is_batched(const indexed *x) {
    bool any = false;
    for (int k = 0; k < x->arrays; k++)
        any |= x->c->batched[x->first + k];
    return any;
}

/* Messages name the axis of the caller, the entry and the position in it. */
static void keep_messages(const indexed *x, const pithp_index_params *own) {
    const bool numbered = x->to->count > x->c->i->operand_count;
    if (own->mode != PITHP_INDEX_ERROR)
        return;
    uint64_t axes = numbered; /* the number of an entry is never out of range */
    for (int k = 0; k < x->arrays && k + numbered < 8; k++)
        axes |= (uint64_t)(pithp_index_axis(own, k) + 1) << 8 * (k + numbered);
    x->to->params.axes = axes;
    if (is_batched(x) && !own->entry)
        x->to->params.entry = (uint64_t)pithp_entry_spec(x->b, x->c, x->first)->count;
}

/* Positions of different entries select different elements. */
static void keep_entries(const indexed *x, const pithp_index_params *own) {
    const bool numbered = x->to->count > x->c->i->operand_count;
    x->to->params.numbers += numbered;
    if (numbered && !own->numbers)
        x->to->params.apart = (uint64_t)pithp_entry_spec(x->b, x->c, x->first)->count;
    if (is_batched(x) && !numbered) /* all entries take of one array */
        x->to->params.numbers = 0, x->to->params.apart = 0;
}

/* An operand that is no index array, with the batch axis at `axis`. */
static pithp_value operand_at(const indexed *x, int k, int axis) {
    return x->c->batched[k] ? pithp_batch_move_axis(x->b, x->c->operands[k], 0, axis)
                            : pithp_batch_repeat_at(x->b, x->c->operands[k], axis);
}

/* The index arrays, batched, after the numbers of the entries where these select too. */
static bool add_arrays(const indexed *x, bool numbered) {
    pithp_batching *b = x->b;
    pithp_value *to = x->to->operands + x->first;
    const pith_spec *own = pithp_entry_spec(b, x->c, x->first);
    const bool wide = numbered && !holds_entries(own->dtype, b->size);
    const pithp_cast_params i64 = {PITH_I64};
    bool fine = true;
    if (numbered) {
        const pith_spec *all = pithp_batched_spec(b, own);
        *to = all ? pithp_batch_iota(b, wide ? PITH_I64 : own->dtype, all->rank,
                                     all->shape, 0)
                  : -1;
        fine = *to++ >= 0;
    }
    for (int k = 0; k < x->arrays && fine; k++) {
        to[k] = pithp_batch_operand(b, x->c, x->first + k);
        if (wide)
            to[k] = pithp_batch_call(b, PITHP_OP_CAST, 1, &to[k], &i64);
        fine = to[k] >= 0;
    }
    return fine;
}

bool pithp_batch_take(pithp_batching *b,
                      const pithp_batched_call *c,
                      const pithp_index_params *own,
                      pithp_batched_index *to) {
    const indexed x = {b, c, to, 1, c->i->operand_count - 1};
    const bool batched = is_batched(&x), numbered = batched && c->batched[0];
    *to = (pithp_batched_index){.params = *own,
                                .axis = batched ? own->axis : 0,
                                .count = c->i->operand_count + numbered};
    if (!batched) {
        memcpy(to->operands, c->operands, (size_t)to->count * sizeof *to->operands);
        to->params.axis++;
    } else {
        to->operands[0] = numbered ? operand_at(&x, 0, own->axis) : c->operands[0];
        if (to->operands[0] < 0 || !add_arrays(&x, numbered))
            return false;
    }
    keep_messages(&x, own);
    keep_entries(&x, own);
    return true;
}

bool pithp_batch_take_along(pithp_batching *b,
                            const pithp_batched_call *c,
                            const pithp_index_params *own,
                            pithp_batched_index *to) {
    const indexed x = {b, c, to, 1, 1};
    *to = (pithp_batched_index){.params = *own, .count = 2};
    to->params.axis++;
    for (int k = 0; k < 2; k++)
        to->operands[k] = pithp_batch_operand(b, c, k);
    keep_messages(&x, own);
    return to->operands[0] >= 0 && to->operands[1] >= 0;
}

bool pithp_batch_scatter(pithp_batching *b,
                         const pithp_batched_call *c,
                         const pithp_index_params *own,
                         pithp_batched_index *to) {
    const int last = c->i->operand_count - 1;
    const indexed x = {b, c, to, 1, last - 1};
    const bool batched = is_batched(&x);
    const int axis = batched ? own->axis : 0;
    *to = (pithp_batched_index){
        .params = *own, .axis = axis, .count = c->i->operand_count + batched};
    to->operands[0] = operand_at(&x, 0, axis);
    if (batched && !add_arrays(&x, true))
        return false;
    if (!batched) {
        memcpy(to->operands + 1, c->operands + 1,
               (size_t)x.arrays * sizeof *to->operands);
        to->params.axis++;
    }
    to->operands[to->count - 1] = operand_at(&x, last, axis);
    keep_messages(&x, own);
    keep_entries(&x, own);
    return to->operands[0] >= 0 && to->operands[to->count - 1] >= 0;
}

static pithp_value finish(pithp_batching *b,
                          const pithp_batched_call *c,
                          const pithp_batched_index *x,
                          bool fine) {
    const pithp_value v =
        fine ? pithp_batch_call(b, c->i->primitive, x->count, x->operands, &x->params)
             : -1;
    return pithp_batch_move_axis(b, v, x->axis, 0);
}

RULE(take) {
    pithp_batched_index x;
    return finish(b, c, &x, pithp_batch_take(b, c, c->i->params, &x));
}

RULE(take_along) {
    pithp_batched_index x;
    return finish(b, c, &x, pithp_batch_take_along(b, c, c->i->params, &x));
}

RULE(scatter) {
    pithp_batched_index x;
    return finish(b, c, &x, pithp_batch_scatter(b, c, c->i->params, &x));
}

/* ---- Boxes ---- */

/* Starts for a whole batch: it begins at entry 0. */
static pithp_value starts_after_zero(pithp_batching *b, pithp_value starts) {
    pithp_pad_params one_before = {.low = {1}};
    const pithp_full_params zero = {.dtype = pithp_batch_spec(b, starts)->dtype};
    return pithp_batch_call(
        b, PITHP_OP_PAD, 2,
        (const pithp_value[]){starts, pithp_batch_call(b, PITHP_OP_FULL, 0, NULL, &zero)},
        &one_before);
}

/* Starts of all entries, or of the batch if they are shared and have no leading axes. */
static pithp_value starts_of(pithp_batching *b, const pithp_batched_call *c, int k) {
    return !c->batched[k] && pithp_entry_spec(b, c, k)->rank == 1
               ? starts_after_zero(b, c->operands[k])
               : pithp_batch_operand(b, c, k);
}

/* Give an array that leading axes of the starts share these axes, behind the batch axis.
 */
static pithp_value lead(pithp_batching *b, pithp_value x, const pith_spec *starts) {
    const pith_spec *spec = x >= 0 ? pithp_batch_spec(b, x) : NULL;
    const int leading = starts->rank - 1;
    if (!spec || leading == 0)
        return x;
    pithp_broadcast_params to = {.rank = spec->rank + leading, .shape = {b->size}};
    memcpy(to.shape + 1, starts->shape, (size_t)leading * sizeof *to.shape);
    for (int k = 1; k < spec->rank; k++) {
        to.shape[leading + k] = spec->shape[k];
        to.dimensions[k] = leading + k;
    }
    return pithp_batch_call(b, PITHP_OP_BROADCAST, 1, &x, &to);
}

/* An array that all entries share is not repeated. */
RULE(dynamic_slice) {
    const pithp_dynamic_params *own = c->i->params;
    const pith_spec *x = pithp_entry_spec(b, c, 0), *starts = pithp_entry_spec(b, c, 1);
    const bool whole = x->rank == starts->shape[starts->rank - 1];
    if (x->rank == 0) /* the box is the whole array */
        return pithp_batch_operand(b, c, 0);
    if (whole && !c->batched[0])
        return pithp_batch_same(
            b, c, (const pithp_value[]){c->operands[0], c->operands[1]}, own);
    const pithp_value repeated = pithp_batch_operand(b, c, 0);
    const pithp_value operands[] = {whole ? lead(b, repeated, starts) : repeated,
                                    starts_of(b, c, 1)};
    const pith_spec *spec = operands[0] >= 0 ? pithp_batch_spec(b, operands[0]) : NULL;
    pithp_dynamic_params p = {{0}};
    for (int k = 0; spec && k < spec->rank; k++)
        p.shape[k] = k < spec->rank - x->rank ? spec->shape[k]
                                              : own->shape[k - spec->rank + x->rank];
    return pithp_batch_same(b, c, operands, &p);
}

RULE(dynamic_update_slice) {
    if (pithp_entry_spec(b, c, 0)->rank == 0)
        return pithp_batch_operand(b, c, 1);
    const pithp_value operands[] = {pithp_batch_operand(b, c, 0),
                                    pithp_batch_operand(b, c, 1), starts_of(b, c, 2)};
    return pithp_batch_same(b, c, operands, NULL);
}
