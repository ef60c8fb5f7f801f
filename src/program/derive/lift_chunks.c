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

bool pithp_lift_is_mixed(const pithp_exposed *e, int axis) {
    bool mixed = false;
    for (int32_t k = 0; k < e->count && !mixed; k++)
        mixed = !pithp_lift_has_axis(e, axis, k);
    return mixed;
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

/* A value of all chunks, and then of the entries that remain; padded: whose value has
 * others in place of those in the chunks. */
static pithp_value join_rest(pith_scope *s,
                             pithp_program *to,
                             pithp_value chunks,
                             pithp_value rest,
                             int axis,
                             bool padded) {
    const pith_spec *spec = pithp_value_spec(to, rest);
    const pithp_concatenate_params along = {.axis = axis};
    pithp_slice_params part = {{0}, {0}, {0}};
    for (int k = 0; k < spec->rank; k++) {
        part.limit[k] = spec->shape[k];
        part.step[k] = 1;
    }
    if (padded)
        part.start[axis] = pithp_value_spec(to, chunks)->shape[axis];
    const pithp_value both[2] = {chunks, call(s, to, PITHP_OP_SLICE, 1, &rest, &part)};
    return call(s, to, PITHP_OP_CONCATENATE, 2, both, &along);
}

/* A check of a list, and its values. */
typedef struct lifted_check {
    pithp_lifted *row;
    pithp_value *values;
} lifted_check;

/* An array of a spec that stands for value k, which has the entries: whether all of it
 * holds, or of a number, anything. */
static pithp_value stand_in(pith_scope *s,
                            pithp_program *to,
                            const pith_spec *spec,
                            const lifted_check *c,
                            int32_t k,
                            int axis) {
    const pithp_exposed *e = c->row->exposed;
    if (spec->dtype != PITH_BOOL) {
        pithp_full_params full = {
            .dtype = spec->dtype, .rank = spec->rank, .value = e->neutral(e, k)};
        memcpy(full.shape, spec->shape, sizeof full.shape);
        return call(s, to, PITHP_OP_FULL, 0, NULL, &full);
    }
    const pithp_reduce_params inner = {(1U << spec->rank) - (1U << axis)};
    pithp_broadcast_params over = {.rank = spec->rank};
    memcpy(over.shape, spec->shape, sizeof over.shape);
    for (int d = 0; d < axis; d++)
        over.dimensions[d] = d;
    const pithp_value all = call(s, to, PITHP_OP_ALL, 1, &c->values[k], &inner);
    return call(s, to, PITHP_OP_BROADCAST, 1, &all, &over);
}

/* Merge the values that do not have the entries, as a loop over both parts does. */
static bool merge_others(pith_scope *s,
                         pithp_program *to,
                         const lifted_check *chunks,
                         const lifted_check *rest,
                         int axis,
                         pithp_value *merged) {
    const pithp_exposed *e = chunks->row->exposed;
    const lifted_check *parts[2] = {chunks, rest};
    pithp_value *both =
        pithp_scope_allocate(s, (2 * (size_t)e->count + 1) * sizeof *both);
    pithp_program *p = both ? rest->row->exposed->merge(rest->row->exposed, s) : NULL;
    bool fine = p;
    for (int part = 0; part < 2; part++)
        for (int32_t k = 0; k < e->count && fine; k++) {
            const int32_t at = part * e->count + k;
            const pith_spec *spec = pithp_value_spec(p, p->inputs[at]);
            both[at] = pithp_lift_has_axis(e, axis, k)
                           ? stand_in(s, to, spec, parts[part], k, axis)
                           : parts[part]->values[k];
            fine = both[at] >= 0;
        }
    fine = fine && pithp_program_inline(s, to, p, both, merged);
    pithp_program_release(p);
    return fine;
}

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
    pithp_value *merged =
        pithp_scope_allocate(s, ((size_t)e->count + 1) * sizeof *merged);
    bool fine = merged && (!pithp_lift_is_mixed(e, axis) ||
                           merge_others(s, to, chunks, rest, axis, merged));
    const bool padded = pithp_lift_methods_of(e)->is_padded(e, axis);
    int64_t size = 0;
    for (int32_t k = 0; k < e->count && fine; k++) {
        const bool has = pithp_lift_has_axis(e, axis, k);
        const pithp_value v =
            has ? join_rest(s, to, chunks->values[k], rest->values[k], axis, padded)
                : merged[k];
        fine = v >= 0;
        chunks->values[k] = v;
        if (has && fine)
            size = pithp_value_spec(to, v)->shape[axis];
    }
    if (!fine)
        return false;
    pithp_exposed *whole = e->batch->resize(e, s, axis, size, true);
    if (!whole)
        return false;
    chunks->row->exposed = whole;
    pithp_exposed_release(e);
    return true;
}

/* Whether values without the entries have the same specs in both parts. */
static bool fits(const pithp_program *to,
                 const lifted_check *chunks,
                 const lifted_check *rest,
                 int axis) {
    const pithp_exposed *e = chunks->row->exposed;
    bool same = true;
    for (int32_t k = 0; k < e->count && same; k++)
        same = pithp_lift_has_axis(e, axis, k)
                   ? pithp_lift_has_axis(rest->row->exposed, axis, k)
                   : pithp_spec_same(pithp_value_spec(to, chunks->values[k]),
                                     pithp_value_spec(to, rest->values[k]));
    return same;
}

/* The check of the list with the entries that follow those of check k; -1: none. */
static int64_t find_rest(const pithp_program *to,
                         const pithp_lifted_list *lifted,
                         pithp_value *values,
                         int64_t k,
                         int *axis) {
    const lifted_check chunks = check_at(lifted, values, k);
    const pithp_exposed *e = chunks.row->exposed;
    for (int64_t i = 0; i < lifted->count && e->batch && e->count; i++) {
        const lifted_check rest = check_at(lifted, values, i);
        *axis = e->batch->rest_axis(e, rest.row->exposed);
        if (*axis >= 0 && fits(to, &chunks, &rest, *axis))
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
        const int64_t i = find_rest(to, lifted, values, k, &axis);
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
