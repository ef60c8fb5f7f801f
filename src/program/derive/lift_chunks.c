#include "program/derive/lift_chunks.h"

#include <string.h>

static pithp_value call(pith_scope *s,
                        pithp_program *to,
                        pithp_primitive op,
                        int count,
                        const pithp_value *operands,
                        const void *params) {
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add(s, to, op, count, operands, params, NULL);
}

/* ---- Chunks ---- */

int pithp_lift_chunk_axis(const pithp_exposed *e, const pithp_loop_params *scan) {
    return scan->batch && e->batch ? e->batch->chunk_axis(e, scan->batch, scan->chunk)
                                   : -1;
}

pithp_value
pithp_lift_join_chunks(pith_scope *s, pithp_program *to, pithp_value v, int axis) {
    const pith_spec *spec = pithp_value_spec(to, v);
    pithp_transpose_params order = {{0}};
    pithp_reshape_params joined = {.rank = spec->rank - 1};
    for (int k = 0; k < spec->rank; k++)
        order.permutation[k] = k < axis ? k + 1 : k == axis ? 0 : k;
    for (int k = 0; k < joined.rank; k++)
        joined.shape[k] = spec->shape[k + 1];
    joined.shape[axis] *= spec->shape[0];
    if (axis)
        v = call(s, to, PITHP_OP_TRANSPOSE, 1, &v, &order);
    return call(s, to, PITHP_OP_RESHAPE, 1, &v, &joined);
}

/* ---- Entries that remain ---- */

/* A value of all chunks, and then of the entries that remain, whose value has others in
 * place of those in the chunks. */
static pithp_value join_rest(pith_scope *s,
                             pithp_program *to,
                             pithp_value chunks,
                             pithp_value rest,
                             int axis) {
    const pith_spec *spec = pithp_value_spec(to, rest);
    const pithp_concatenate_params along = {.axis = axis};
    pithp_slice_params part = {{0}, {0}, {0}};
    for (int k = 0; k < spec->rank; k++) {
        part.limit[k] = spec->shape[k];
        part.step[k] = 1;
    }
    part.start[axis] = pithp_value_spec(to, chunks)->shape[axis];
    const pithp_value both[2] = {chunks, call(s, to, PITHP_OP_SLICE, 1, &rest, &part)};
    return call(s, to, PITHP_OP_CONCATENATE, 2, both, &along);
}

/* A check of a list, and its values. */
typedef struct lifted_check {
    pithp_lifted *row;
    pithp_value *values;
} lifted_check;

static lifted_check
check_at(const pithp_lifted_list *lifted, pithp_value *values, int64_t k) {
    for (int64_t i = 0; i < k; i++)
        values += lifted->list[i].exposed->count;
    return (lifted_check){&lifted->list[k], values};
}

static void remove_at(pithp_lifted_list *lifted, pithp_value *values, int64_t k) {
    const lifted_check c = check_at(lifted, values, k);
    const int32_t count = c.row->exposed->count;
    pithp_value *end = values + lifted->value_count;
    memmove(c.values, c.values + count,
            (size_t)(end - c.values - count) * sizeof *values);
    pithp_exposed_release(c.row->exposed);
    memmove(c.row, c.row + 1, (size_t)(lifted->count - k - 1) * sizeof *c.row);
    lifted->count--;
    lifted->value_count -= count;
}

static bool join(pith_scope *s,
                 pithp_program *to,
                 const lifted_check *chunks,
                 const lifted_check *rest,
                 int axis) {
    pithp_exposed *e = chunks->row->exposed;
    bool fine = true;
    for (int32_t k = 0; k < e->count && fine; k++)
        fine = (chunks->values[k] =
                    join_rest(s, to, chunks->values[k], rest->values[k], axis)) >= 0;
    if (!fine)
        return false;
    const int64_t size = pithp_value_spec(to, chunks->values[0])->shape[axis];
    pithp_exposed *whole = e->batch->resize(e, s, axis, size, true);
    if (!whole)
        return false;
    chunks->row->exposed = whole;
    pithp_exposed_release(e);
    return true;
}

/* The check of the list with the entries that follow those of check k; -1: none. */
static int64_t find_rest(const pithp_lifted_list *lifted, int64_t k, int *axis) {
    const pithp_exposed *e = lifted->list[k].exposed;
    for (int64_t i = 0; i < lifted->count && e->batch && e->count; i++) {
        *axis = e->batch->rest_axis(e, lifted->list[i].exposed);
        if (*axis >= 0)
            return i;
    }
    return -1;
}

bool pithp_lift_join_rests(pith_scope *s,
                           pithp_program *to,
                           pithp_lifted_list *lifted,
                           pithp_value *values) {
    for (int64_t k = 0; k < lifted->count; k++) {
        int axis;
        const int64_t i = find_rest(lifted, k, &axis);
        if (i < 0)
            continue;
        const lifted_check chunks = check_at(lifted, values, k),
                           rest = check_at(lifted, values, i);
        if (!join(s, to, &chunks, &rest, axis))
            return false;
        remove_at(lifted, values, i);
        k = -1; /* what was joined may be a part of another batch in chunks */
    }
    return true;
}
