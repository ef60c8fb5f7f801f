/* Merging of recorded checks of control flow. Checks of a branch not taken pass. In a
 * loop the first failed iteration counts, and the greatest need. Values that depend on
 * the carry count up to the first iteration with a failed check that has a fix, because
 * later iterations have lost data. Other values count in all iterations. */
#include "array/checks/list.h"

#include <math.h>
#include <string.h>

static const pith_array *filled(pith_scope *s, const pith_spec *spec, uint64_t bits) {
    pithp_full_params params = {.dtype = spec->dtype, .rank = spec->rank, .value = bits};
    memcpy(params.shape, spec->shape, (size_t)spec->rank * sizeof *spec->shape);
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

/* The bits of the least element of a dtype. */
static uint64_t least_of(pith_dtype dtype) {
    const int bits = 8 * (int)pith_dtype_size(dtype);
    uint64_t least = 0;
    if (pith_dtype_is_float(dtype))
        pithp_dtype_encode(dtype, -INFINITY, &least);
    else if (pithp_dtype_is_signed(dtype))
        least = (uint64_t)1 << (bits - 1);
    return least;
}

bool pithp_recorded_grows(const pithp_recorded *r, int64_t k, const pith_spec *spec) {
    return r->kind == PITHP_RECORDED_CHECK && r->merges && k >= r->count - r->leaves &&
           spec->dtype != PITH_BOOL;
}

bool pithp_checks_repair(const pithp_checks *c) {
    bool any = false;
    for (int64_t i = 0; c && i < c->count; i++)
        any |= c->list[i].repairs;
    return any;
}

/* The bits of every element of value k of a passing entry. */
static uint64_t passing_bits(const pithp_checks *c, const pithp_recorded *r, int64_t k) {
    const pith_spec *spec = c->values[r->first + k].spec;
    if (r->kind == PITHP_RECORDED_CHECK && pithp_recorded_decides(r, k))
        return 1;
    return pithp_recorded_grows(r, k, spec) ? least_of(spec->dtype) : 0;
}

uint64_t pithp_checks_neutral_bits(const pithp_checks *c, int64_t value) {
    int64_t i = c->count - 1;
    while (c->list[i].first > value || !c->list[i].count)
        i--;
    return passing_bits(c, &c->list[i], value - c->list[i].first);
}

const pith_array *pithp_recorded_neutral(pith_scope *s,
                                         const pithp_checks *c,
                                         const pithp_recorded *r,
                                         int64_t k) {
    return filled(s, c->values[r->first + k].spec, passing_bits(c, r, k));
}

bool pithp_checks_neutral(pith_scope *s,
                          const pithp_checks *c,
                          const pith_array **values) {
    for (int64_t i = 0; c && i < c->count; i++) {
        const pithp_recorded *r = &c->list[i];
        for (int64_t k = 0; k < r->count; k++)
            if (!(values[r->first + k] = pithp_recorded_neutral(s, c, r, k)))
                return false;
    }
    return true;
}

const pith_array *
pithp_recorded_passed(pith_scope *s, const pithp_recorded *r, const pith_array *value) {
    const pithp_slice_params word = {{0}, {1}, {1}};
    const pithp_reduce_params all = {(1u << pithp_array_spec(value)->rank) - 1};
    if (r->kind == PITHP_RECORDED_CHECK)
        return pithp_bind(s, PITHP_OP_ALL, 1, &value, &all);
    const pith_array *first = pithp_bind(s, PITHP_OP_SLICE, 1, &value, &word);
    first = first ? pithp_bind(s, PITHP_OP_LOGICAL_NOT, 1, &first, NULL) : NULL;
    return first ? pithp_bind(s, PITHP_OP_ALL, 1, &first, &all) : NULL;
}

static bool is_carried(const pithp_checks_step *step, int64_t at) {
    return step->carried && step->carried[at];
}

/* Whether the predicate and all needs of an entry depend on the carry: then the entry
 * counts only while the state is sound. */
static bool is_carried_check(const pithp_checks *c,
                             const pithp_recorded *r,
                             const pithp_checks_step *step) {
    bool others = !is_carried(step, r->first);
    for (int64_t k = 0; k < r->count; k++)
        if (pithp_recorded_grows(r, k, c->values[r->first + k].spec))
            others |= !is_carried(step, r->first + k);
    return !others;
}

/* The merged need for value `at`. */
static const pith_array *
merge_need(pith_scope *s, const pithp_checks_step *step, int64_t at) {
    const pith_array *both[] = {step->before[at], step->now[at]};
    const pith_array *greater = pithp_bind(s, PITHP_OP_MAX, 2, both, NULL);
    if (!greater || !is_carried(step, at))
        return greater;
    const pith_array *either[] = {step->sound, greater, step->before[at]};
    return pithp_bind(s, PITHP_OP_WHERE, 3, either, NULL);
}

/* Whether the iteration counts for an entry that passed in earlier ones: bool []. */
static const pith_array *counting(pith_scope *s,
                                  const pithp_checks *c,
                                  const pithp_recorded *r,
                                  const pithp_checks_step *step) {
    const bool carried = is_carried_check(c, r, step);
    if (carried && r->repairs)
        return step->sound;
    const pith_array *both[] = {pithp_recorded_passed(s, r, step->before[r->first]),
                                step->sound};
    return carried && both[0] ? pithp_bind(s, PITHP_OP_LOGICAL_AND, 2, both, NULL)
                              : both[0];
}

static bool merge_entry(pith_scope *s,
                        const pithp_checks *c,
                        const pithp_recorded *r,
                        const pithp_checks_step *step,
                        const pith_array **kept) {
    const int64_t first = r->first;
    if (r->kind == PITHP_RECORDED_GUARD)
        return true;
    const bool merges = r->kind == PITHP_RECORDED_REPORT && r->merges;
    if (merges && !(kept[first] = merge_need(s, step, first)))
        return false;
    if (merges && r->count == 1)
        return true;
    const pith_array *counts = counting(s, c, r, step);
    for (int64_t k = merges; counts && k < r->count; k++) {
        const int64_t at = first + k;
        const pith_array *either[] = {counts, step->now[at], step->before[at]};
        kept[at] = pithp_recorded_grows(r, k, c->values[at].spec)
                       ? merge_need(s, step, at)
                       : pithp_bind(s, PITHP_OP_WHERE, 3, either, NULL);
        if (!kept[at])
            return false;
    }
    return counts;
}

bool pithp_checks_merge_one(pith_scope *s,
                            const pithp_checks *c,
                            int64_t i,
                            const pithp_checks_step *step,
                            const pith_array **kept) {
    return merge_entry(s, c, &c->list[i], step, kept);
}

bool pithp_checks_merge(pith_scope *s,
                        const pithp_checks *c,
                        const pithp_checks_step *step,
                        const pith_array **kept) {
    bool fine = true;
    for (int64_t i = 0; c && i < c->count && fine; i++)
        fine = merge_entry(s, c, &c->list[i], step, kept);
    return fine;
}

/* Checks of a list: all, those whose failure ends a loop, or those with a fix. */
typedef enum chosen { ALL, ENDING, REPAIRED } chosen;

static bool is_chosen(const pithp_recorded *r, chosen which) {
    return r->kind != PITHP_RECORDED_GUARD && (which != ENDING || !r->lasts) &&
           (which != REPAIRED || r->repairs);
}

/* Conjunction of `all` and the checks: bool []. NULL stays NULL. */
static const pith_array *conjoin(pith_scope *s,
                                 const pith_array *all,
                                 const pithp_checks *c,
                                 const pith_array *const *values,
                                 chosen which) {
    for (int64_t i = 0; c && all && i < c->count; i++) {
        const pithp_recorded *r = &c->list[i];
        if (!is_chosen(r, which))
            continue;
        const pith_array *both[] = {all, pithp_recorded_passed(s, r, values[r->first])};
        all = both[1] ? pithp_bind(s, PITHP_OP_LOGICAL_AND, 2, both, NULL) : NULL;
    }
    return all;
}

static const pith_array *yes(pith_scope *s) {
    const pithp_full_params params = {.dtype = PITH_BOOL, .value = 1};
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

const pith_array *pithp_checks_passed(pith_scope *s,
                                      const pithp_checks *c,
                                      const pith_array *const *values) {
    return conjoin(s, yes(s), c, values, ENDING);
}

const pith_array *pithp_checks_sound(pith_scope *s,
                                     const pithp_checks *c,
                                     const pith_array *const *values) {
    return conjoin(s, yes(s), c, values, REPAIRED);
}

/* The checks of a list under construction, and before those of the outer lists. */
static const pith_array *so_far(pith_scope *s, pithp_trace *t, pithp_checks *c) {
    const pith_array *all = c && c->around ? so_far(s, t, c->around) : yes(s);
    const int64_t count = pithp_checks_values(c);
    const size_t bytes = (size_t)(count + 1) * sizeof(pith_array *);
    const pith_array **values = pithp_allocate(s->runtime, bytes);
    bool fine = values != NULL;
    if (!values)
        pithp_fail_memory(s, bytes);
    if (c)
        c->asked = true;
    for (int64_t k = 0; fine && k < count; k++)
        fine = (values[k] = pithp_trace_array(s, t, c->values[k].value));
    all = fine ? conjoin(s, all, c, values, ALL) : NULL;
    pithp_release(s->runtime, values, bytes);
    return all;
}

const pith_array *pithp_checks_so_far(pith_scope *s) {
    pithp_trace *t = pithp_scope_trace(s);
    return so_far(s, t, t->checks);
}
