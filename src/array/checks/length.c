/* Reports of lengths and of rows in use. The words of a report are those of a launch:
 * need and have are numbers. */
#include "array/checks/length.h"

#include "array/checks/list.h"
#include "program/ir/program.h"

#include <inttypes.h>
#include <string.h>

/* What a report is about; lives as long as the process. */
typedef struct subject {
    const struct subject *next;
    const char *function, *name;
} subject;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const subject *subjects; /* guarded by lock */

static bool is_of(const subject *x, const pithp_record *r) {
    return strcmp(x->function, r->function) == 0 &&
           strcmp(x->name, r->name ? r->name : "") == 0;
}

static const subject *make_subject(const pithp_record *r) {
    const size_t n = r->name ? strlen(r->name) : 0;
    subject *made = pithp_permanent(sizeof *made + n + 1);
    if (!made)
        return NULL;
    char *name = (char *)(made + 1);
    memcpy(name, r->name ? r->name : "", n + 1);
    *made = (subject){.next = subjects, .function = r->function, .name = name};
    return subjects = made;
}

/* NULL: error set. */
static const subject *subject_of(pith_scope *s, const pithp_record *r) {
    pthread_mutex_lock(&lock);
    const subject *found = subjects;
    while (found && !is_of(found, r))
        found = found->next;
    if (!found)
        found = make_subject(r);
    pthread_mutex_unlock(&lock);
    if (!found)
        pithp_fail_memory(s, sizeof *found);
    return found;
}

static void
describe(const void *of, const pith_report *report, const char *site, pithp_error *e) {
    const subject *x = of;
    pithp_error_set(e, PITH_E_CAPACITY, NULL, site,
                    "%s: %s is too small: have %" PRIu64 ", need %" PRIu64, x->function,
                    x->name[0] ? x->name : "most", report->have, report->need);
}

const char *pithp_length_lacks(const pithp_check_slot *slot, int64_t *need) {
    if (slot->describe != describe)
        return NULL;
    *need = (int64_t)slot->seen.need;
    return ((const subject *)slot->subject)->name;
}

/* A literal of the trace. */
static const pith_array *
literal(pith_scope *s, pith_dtype dtype, int64_t count, const void *values) {
    pithp_trace *t = pithp_scope_trace(s);
    const pith_spec *spec = pithp_spec(s, dtype, count > 1, &count);
    const pithp_value v = spec ? pithp_program_literal(s, t->program, spec, values) : -1;
    return v >= 0 ? pithp_trace_array(s, t, v) : NULL;
}

static const pith_array *words(pith_scope *s, const uint64_t values[4]) {
    return literal(s, PITH_U64, 4, values);
}

static const pith_array *
call(pith_scope *s, pithp_primitive op, const pith_array *a, const pith_array *b) {
    const pith_array *operands[2] = {a, b};
    return a && b ? pithp_bind(s, op, 2, operands, NULL) : NULL;
}

/* [first, need, have, what] of a pith_report, zeros if the number of rows is from 0 to
 * `most`. */
static const pith_array *report_of(pith_scope *s, int64_t most, const pith_array *rows) {
    static const pithp_cast_params to = {PITH_U64};
    static const uint64_t is_need[4] = {0, 1, 0, 0}, none[4] = {0};
    const uint64_t have = (uint64_t)most, others[4] = {UINT64_MAX, 0, have, 0};
    const pith_array *need = pithp_bind(s, PITHP_OP_CAST, 1, &rows, &to);
    const pith_array *report =
        call(s, PITHP_OP_ADD, call(s, PITHP_OP_MUL, need, words(s, is_need)),
             words(s, others));
    const pith_array *either[3] = {
        call(s, PITHP_OP_GT, need, literal(s, PITH_U64, 1, &have)), report,
        words(s, none)};
    return either[0] && report && either[2]
               ? pithp_bind(s, PITHP_OP_WHERE, 3, either, NULL)
               : NULL;
}

pith_status
pithp_trace_length(pith_scope *s, const pithp_record *record, const pith_array *rows) {
    const subject *of = subject_of(s, record);
    const pith_array *report = of ? report_of(s, record->most, rows) : NULL;
    const pithp_recorded entry = {.kind = PITHP_RECORDED_REPORT,
                                  .describe = describe,
                                  .subject = of,
                                  .site = s->site,
                                  .merges = true};
    return report ? pithp_checks_add(s, &entry, 1, &report, NULL) : s->error.code;
}

void pithp_lengths_lose(pithp_checks *c) {
    for (int64_t i = 0; c && i < c->count; i++)
        if (c->list[i].describe == describe)
            c->list[i].repairs = true;
}

/* ---- Rows in use ---- */

static void describe_rows(const void *function,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e) {
    pithp_error_set(e, PITH_E_INDEX, NULL, site,
                    "%s: rows: %" PRId64 " rows in use, expected 0 to %" PRIu64,
                    (const char *)function, (int64_t)report->need, report->have);
}

pith_status pithp_trace_rows(pith_scope *s,
                             const char *function,
                             int64_t most,
                             const pith_array *rows) {
    const pith_array *report = report_of(s, most, rows);
    const pithp_recorded entry = {.kind = PITHP_RECORDED_REPORT,
                                  .describe = describe_rows,
                                  .subject = function,
                                  .site = s->site,
                                  .lasts = true};
    return report ? pithp_checks_add(s, &entry, 1, &report, NULL) : s->error.code;
}

pith_status
pithp_rows_fail(pith_scope *s, const char *function, int64_t most, int64_t rows) {
    const pith_report report = {UINT64_MAX, (uint64_t)rows, (uint64_t)most, 0};
    if (pithp_collector_of(s)) {
        pith_report *to = pithp_check_make(s, describe_rows, function);
        return to ? pithp_copy_in(s, to, &report, sizeof report) : s->error.code;
    }
    pithp_error e;
    describe_rows(function, &report, s->site, &e);
    return pithp_fail_at(s, e.code, NULL, e.site, "%s", e.text);
}

bool pithp_rows_exceed(const pithp_check_slot *slot) {
    return slot->describe == describe_rows;
}
