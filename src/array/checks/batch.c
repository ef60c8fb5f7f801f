/* Checks of batches: those of one entry, with values of all entries. A check of a batch
 * has a flag, whether its predicate holds everywhere: a run that passed looks at one
 * element. */
#include "array/checks/list.h"

#include <math.h>
#include <string.h>

/* A check or a report of a batch. Arrays are in memory of s. */
typedef struct batched {
    pith_scope *s;
    const pithp_checks *from;
    const pithp_recorded *r;
    const pith_array *const *values; /* of all entries, */
    const bool *has_axis;            /* and whether along axis 0 */
    const pith_array *predicate;     /* of a check, with all its axes */
    int axes;                        /* batch axes, which axis 0 is, */
    const int64_t *sizes;            /* and their extents */
    const pith_array *entry;         /* the first that fails, i64 []; NULL: any */
} batched;

static const pith_array *
reduce(pith_scope *s, pithp_primitive op, const pith_array *a, uint32_t axes) {
    const pithp_reduce_params params = {axes};
    return pithp_bind(s, op, 1, &a, &params);
}

/* Whether each entry holds, given a predicate or flag: bool [n]. */
static const pith_array *each_holds(pith_scope *s, const pith_array *a) {
    const uint32_t all = (1u << pithp_array_spec(a)->rank) - 1;
    return reduce(s, PITHP_OP_ALL, a, all & ~1u);
}

/* Whether each entry has no failure in its report, u64 [n,4]: bool [n]. */
static const pith_array *each_report_holds(pith_scope *s, const pith_array *reports) {
    const pithp_slice_params word = {
        {0, 0}, {pithp_array_spec(reports)->shape[0], 1}, {1, 1}};
    const pith_array *first = pithp_bind(s, PITHP_OP_SLICE, 1, &reports, &word);
    first = first ? pithp_bind(s, PITHP_OP_LOGICAL_NOT, 1, &first, NULL) : NULL;
    return first ? each_holds(s, first) : NULL;
}

/* The first entry that fails; the first one if none does. An entry fails where the first
 * value, which decides, does. */
static bool find_entry(batched *b) {
    const pith_array *a = b->values[0];
    if (!b->has_axis[0] || !pithp_array_spec(a)->shape[0])
        return true;
    const pith_array *holds = b->r->kind == PITHP_RECORDED_REPORT
                                  ? each_report_holds(b->s, a)
                                  : each_holds(b->s, a);
    b->entry = holds ? reduce(b->s, PITHP_OP_ARGMIN, holds, 1) : NULL;
    return b->entry;
}

static const pith_array *zero(pith_scope *s) {
    const pithp_full_params params = {.dtype = PITH_I64};
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

/* Value k of the entry that counts. */
static const pith_array *of_entry(batched *b, int64_t k) {
    static const pithp_index_params at = {.mode = PITHP_INDEX_CLIP};
    const pith_array *operands[2] = {b->values[k], b->entry};
    if (!b->has_axis[k])
        return b->values[k];
    if (!pithp_array_spec(operands[0])->shape[0])
        return pithp_recorded_neutral(b->s, b->from, b->r, k);
    if (!operands[1] && !(operands[1] = b->entry = zero(b->s)))
        return NULL;
    return pithp_bind(b->s, PITHP_OP_TAKE, 2, operands, &at);
}

/* The greatest of value k, a need. */
static const pith_array *greatest(batched *b, int64_t k) {
    if (!b->has_axis[k])
        return b->values[k];
    return pithp_array_spec(b->values[k])->shape[0]
               ? reduce(b->s, PITHP_OP_MAX_OF, b->values[k], 1)
               : pithp_recorded_neutral(b->s, b->from, b->r, k);
}

static bool grows(const batched *b, int64_t k) {
    return pithp_recorded_grows(b->r, k, b->from->values[b->r->first + k].spec);
}

/* The flag of a check: whether all of it holds. */
static const pith_array *flag_of(const batched *b) {
    return reduce(b->s, PITHP_OP_ALL, b->values[0],
                  (1u << pithp_array_spec(b->values[0])->rank) - 1);
}

/* ---- Checks ---- */

/* The values of the check of the batch into `list`. *has_flag: whether the first is a
 * flag. Their number; -1: error set. */
static int64_t list_check(batched *b, const pith_array **list, bool *has_flag) {
    const pithp_recorded *r = b->r;
    int64_t n = 0;
    *has_flag = r->has_flag || b->has_axis[0];
    if (*has_flag && !(list[n++] = flag_of(b)))
        return -1;
    list[n++] = b->predicate;
    for (int64_t k = r->has_flag + 1; k < r->count; k++)
        if (!(list[n++] = grows(b, k) ? greatest(b, k) : of_entry(b, k)))
            return -1;
    return n;
}

/* ---- Reports ---- */

/* The entry of a report of which the greatest words count: the one with the check that is
 * first in the source. */
static const pith_array *entry_of_greatest(batched *b) {
    const pithp_slice_params word = {
        {0, 0}, {pithp_array_spec(b->values[0])->shape[0], 1}, {1, 1}};
    const pith_array *first = pithp_bind(b->s, PITHP_OP_SLICE, 1, b->values, &word);
    const pithp_reduce_params last = {2};
    first = first ? pithp_bind(b->s, PITHP_OP_MAX_OF, 1, &first, &last) : NULL;
    return first ? reduce(b->s, PITHP_OP_ARGMAX, first, 1) : NULL;
}

static const pith_array *
call(pith_scope *s, pithp_primitive op, const pith_array *a, const pith_array *b) {
    const pith_array *operands[2] = {a, b};
    return a && b ? pithp_bind(s, op, 2, operands, NULL) : NULL;
}

static const pith_array *number(pith_scope *s, int64_t value) {
    const pithp_full_params params = {.dtype = PITH_I64, .value = (uint64_t)value};
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

/* The number of the entry, after that of the entry of an inner batch. */
static const pith_array *entry_number(batched *b) {
    const pithp_recorded *r = b->r;
    int64_t inner = 1;
    if (r->merges)
        b->entry = entry_of_greatest(b);
    if (!r->batch_rank || !b->entry)
        return b->entry;
    for (int k = 0; k < r->batch_rank; k++)
        inner *= r->batch[k];
    return call(b->s, PITHP_OP_ADD,
                call(b->s, PITHP_OP_MUL, b->entry, number(b->s, inner)), of_entry(b, 1));
}

/* The report of the batch, and the number of its entry. *axes: of the batch; 0: the entry
 * is not named. */
static int64_t list_report(batched *b, const pith_array **list, int *axes) {
    const pithp_recorded *r = b->r;
    if (!b->has_axis[0]) {
        memcpy(list, b->values, (size_t)r->count * sizeof *list);
        return r->count;
    }
    if (!(list[0] = r->merges ? greatest(b, 0) : of_entry(b, 0)))
        return -1;
    if (!b->entry || r->batch_rank + b->axes > PITHP_ENTRY_RANK)
        return 1;
    *axes = b->axes;
    return (list[1] = entry_number(b)) ? 2 : -1;
}

/* ---- Lists ---- */

/* Without entries what does not depend on the batch is computed all the same, but no
 * check fails. */
static int64_t list_passing(batched *b, const pith_array **list, bool *has_flag) {
    *has_flag = b->r->has_flag;
    for (int64_t k = 0; k < b->r->count; k++)
        if (!(list[k] = pithp_recorded_neutral(b->s, b->from, b->r, k)))
            return -1;
    return b->r->count;
}

static bool is_empty(const batched *b) {
    for (int k = 0; k < b->axes; k++)
        if (b->sizes[k] == 0)
            return true;
    return false;
}

static pith_status replay_entry(batched *b, pithp_checks *to, int64_t i, bool part) {
    const pithp_recorded *r = b->r;
    const char *site = b->s->site;
    const pith_array **list =
        pithp_scope_allocate(b->s, ((size_t)r->count + 1) * sizeof *list);
    pithp_recorded_copy copy = {.i = i, .values = list, .batch = b->sizes, .part = part};
    if (!list)
        return b->s->error.code;
    b->s->site = r->site;
    if (r->count && !b->has_axis[0] && is_empty(b))
        copy.count = list_passing(b, list, &copy.has_flag);
    else if (r->count && !find_entry(b))
        copy.count = -1;
    else if (r->kind == PITHP_RECORDED_CHECK)
        copy.count = list_check(b, list, &copy.has_flag);
    else if (r->kind == PITHP_RECORDED_REPORT)
        copy.count = list_report(b, list, &copy.batch_axes);
    b->s->site = site;
    return copy.count < 0 ? b->s->error.code
                          : pithp_checks_copy(b->s, to, b->from, &copy);
}

pith_status pithp_checks_replay_batch(pith_scope *s,
                                      pithp_checks *from,
                                      const pith_array *const *values,
                                      const bool *has_axis,
                                      int64_t size) {
    pithp_checks *to = from ? pithp_checks_adopt(s, from, false) : NULL;
    for (int64_t i = 0; to && i < from->count && s->error.code == PITH_OK; i++) {
        const pithp_recorded *r = &from->list[i];
        batched b = {.s = s,
                     .from = from,
                     .r = r,
                     .values = values + r->first,
                     .has_axis = has_axis + r->first,
                     .axes = 1,
                     .sizes = &size};
        if (r->kind == PITHP_RECORDED_CHECK)
            b.predicate = b.values[r->has_flag];
        replay_entry(&b, to, i, false);
    }
    return s->error.code;
}

/* The first axes of an array as one. */
static const pith_array *join_axes(pith_scope *s, const pith_array *a, int axes) {
    const pith_spec *spec = pithp_array_spec(a);
    pithp_reshape_params to = {.rank = spec->rank - axes + 1, .shape = {1}};
    for (int k = 0; k < axes; k++)
        to.shape[0] *= spec->shape[k];
    memcpy(to.shape + 1, spec->shape + axes,
           (size_t)(spec->rank - axes) * sizeof *to.shape);
    return pithp_bind(s, PITHP_OP_RESHAPE, 1, &a, &to);
}

pith_status pithp_checks_replay_batch_one(pith_scope *s,
                                          pithp_checks *from,
                                          int64_t i,
                                          const pith_array *const *values,
                                          int axes,
                                          bool part) {
    const pithp_recorded *r = &from->list[i];
    const size_t count = (size_t)r->count + 1;
    pithp_checks *to = pithp_checks_adopt(s, from, part);
    const pith_array **joined = pithp_scope_allocate(s, count * sizeof *joined);
    bool *all = pithp_scope_allocate(s, count);
    if (!to || !joined || !all)
        return s->error.code;
    memset(all, 1, count);
    for (int64_t k = 0; k < r->count; k++)
        if (!(joined[k] = join_axes(s, values[k], axes)))
            return s->error.code;
    batched b = {
        .s = s, .from = from, .r = r, .values = joined, .has_axis = all, .axes = axes};
    if (r->count)
        b.sizes = pithp_array_spec(values[0])->shape;
    if (r->kind == PITHP_RECORDED_CHECK)
        b.predicate = values[r->has_flag];
    return replay_entry(&b, to, i, part);
}
