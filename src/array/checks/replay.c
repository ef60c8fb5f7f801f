/* Replay of a program's checks after a run. If all passed, only one collected slot is
 * made. */
#include "array/checks/list.h"
#include "gpu/collect.h"

#include <string.h>

/* The extents of the batch, of which a report is about an entry. */
static pithp_entry extents_of(const pithp_recorded *r) {
    pithp_entry extents = {.rank = r->batch_rank};
    memcpy(extents.index, r->batch, sizeof extents.index);
    return extents;
}

/* On a device that may not be done. */
static pith_status
report_later(pith_scope *s, const pithp_recorded *r, const pith_array *const *values) {
    const pithp_entry extents = extents_of(r);
    int64_t *number;
    pith_report *to =
        pithp_check_make_later(s, r->describe, r->subject, &extents, &number);
    return to && pithp_copy(s, number, values[1]->data, sizeof *number) == PITH_OK
               ? pithp_copy(s, to, values[0]->data, sizeof *to)
               : s->error.code;
}

static pith_status
report_again(pith_scope *s, const pithp_recorded *r, const pith_array *const *values) {
    const bool immediate = pithp_scope_device(s)->immediate;
    const pith_report *report = values[0]->data;
    pithp_entry of = extents_of(r);
    if (immediate && report->first == 0)
        return PITH_OK;
    if (!immediate && of.rank)
        return report_later(s, r, values);
    if (of.rank)
        pithp_entry_set(&of, *(const int64_t *)values[1]->data);
    pith_report *to = pithp_check_make_of(s, r->describe, r->subject, &of);
    return to ? pithp_copy(s, to, report, sizeof *to) : s->error.code;
}

/* Make all checks of the run that can be observed. After a failed loop, consequences are
 * skipped, as in an eager loop. */
static pith_status
make_all(pith_scope *s, pithp_checks *c, const pith_array *const *values) {
    pithp_looping parts = {NULL};
    if (c->has_parts)
        pithp_looping_begin(s, &parts);
    for (int64_t i = 0; i < c->count && s->error.code == PITH_OK; i++) {
        const pithp_recorded *r = &c->list[i];
        const pith_array *const *own = values + r->first;
        s->site = r->site;
        if (r->kind == PITHP_RECORDED_REPORT)
            report_again(s, r, own);
        else
            r->methods->make(s, c, r, own);
    }
    pithp_looping_end(&parts);
    return s->error.code;
}

/* ---- All checks passed ---- */

/* Most predicates are one bool. */
static inline bool holds(const pith_spec *spec, const void *data) {
    const int32_t width = (int32_t)pith_dtype_size(spec->dtype);
    return PITHP_LIKELY(spec->count == 1 && width == 1)
               ? *(const char *)data != 0
               : pithp_first_zero(data, width, spec->count) < 0;
}

static bool
passed(const pithp_checks *c, const pithp_recorded *r, const pithp_run_values *values) {
    if (r->kind == PITHP_RECORDED_GUARD || pithp_recorded_is_flagged(c, r))
        return true;
    const void *data = pithp_recorded_held(c, values, r->first).data;
    return r->kind == PITHP_RECORDED_REPORT ? ((const pith_report *)data)->first == 0
                                            : holds(c->values[r->first].spec, data);
}

static bool all_passed(const pithp_checks *c, const pithp_run_values *values) {
    if (c->flags && pithp_first_zero(values->buffer->data, 1, c->flags) >= 0)
        return false;
    for (int64_t i = 0; c->unflagged && i < c->count; i++)
        if (!passed(c, &c->list[i], values))
            return false;
    return true;
}

/* Without a collector nothing is to be told. */
static pith_status
note_passed(pith_scope *s, pithp_checks *c, const pithp_run_values *values) {
    if (!pithp_collector_of(s))
        return PITH_OK;
    for (int64_t i = 0; c->guard_count && i < c->count && s->error.code == PITH_OK; i++)
        if (c->list[i].kind == PITHP_RECORDED_GUARD)
            c->list[i].methods->make(s, c, &c->list[i], NULL);
    return s->error.code == PITH_OK && c->check_count
               ? c->methods->collect_passed(s, c, values)
               : s->error.code;
}

/* ---- Some checks failed, or are unknown ---- */

/* The values as arrays of s, while the checks are made. */
static pith_status
make_arrays(pith_scope *s, pithp_checks *c, const pithp_run_values *values) {
    const char *site = s->site;
    const size_t bytes = (size_t)(c->value_count + 1) * sizeof(const pith_array *);
    const pith_array **arrays = pithp_scratch_allocate(s->runtime, bytes);
    int64_t made = 0;
    if (!arrays)
        return pithp_fail_memory(s, bytes);
    for (; made < c->value_count; made++) {
        const pithp_held held = pithp_recorded_held(c, values, made);
        if (!(arrays[made] =
                  pithp_array_view(s, c->values[made].spec, held.buffer, held.data)))
            break;
    }
    if (made == c->value_count)
        make_all(s, c, arrays);
    while (made)
        pithp_array_drop(s, arrays[--made]);
    pithp_scratch_release(s->runtime, arrays, bytes);
    s->site = site;
    return s->error.code;
}

pith_status
pithp_checks_make(pith_scope *s, pithp_checks *c, const pithp_run_values *values) {
    if (!c)
        return PITH_OK;
    return pithp_scope_device(s)->immediate && all_passed(c, values)
               ? note_passed(s, c, values)
               : make_arrays(s, c, values);
}
