/* Checks of derivatives for NaN and infinity: a report for each watch. Its words are
 * computed in the trace: ~element, the fraction and the exponent of the operand's value,
 * and the kind of the derivative. */
#include "array/checks/list.h"
#include "trace/derive/derive_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_A_NUMBER, POSITIVE, NEGATIVE };
enum { FRACTION_BITS = 52, LEAST_EXPONENT = -1022 };

/* ---- Messages ---- */

/* Print an element as "[3, 0]" from the extents "4,2,". */
static void print_index(char *text, size_t room, const char *extents, uint64_t element) {
    uint64_t index[PITH_MAX_RANK], extent[PITH_MAX_RANK];
    int rank = 0;
    for (char *end; rank < PITH_MAX_RANK && *extents != '\n'; extents = end + 1)
        extent[rank++] = strtoull(extents, &end, 10);
    for (int d = rank; d-- > 0; element /= extent[d])
        index[d] = element % extent[d];
    size_t used = 0;
    text[0] = 0;
    for (int d = 0; d < rank && used < room; d++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64 "%s",
                                 d ? ", " : " at element [", index[d],
                                 d + 1 == rank ? "]" : "");
}

/* subject: the extents, a line break, and what the derivative is of; after another line
 * break the name of the value that is shown. */
static void describe(const void *subject,
                     const pith_report *report,
                     const char *site,
                     pithp_error *e) {
    static const char *const kinds[] = {"NaN", "Infinity", "-Infinity"};
    const char *what = strchr(subject, '\n') + 1, *shown = strchr(what, '\n') + 1;
    char index[200];
    print_index(index, sizeof index, subject, ~report->first);
    pithp_error_set(
        e, PITH_E_CHECK, NULL, site, "%.*s is %s%s, where %s is %.9g",
        (int)(shown - 1 - what), what, kinds[report->what % 3], index, shown,
        ldexp((double)(int64_t)report->need, (int)(int64_t)report->have - FRACTION_BITS));
}

/* The subject of the report of a watch. NULL: error set. */
static const char *subject_of(pith_scope *s,
                              const char *function,
                              const pithp_derive_watches *watches,
                              const pithp_derive_watch *w) {
    const char *row = pithp_ops[w->row].name;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    for (int d = 0; d < w->spec->rank; d++)
        pithp_string_print(&text, "%" PRId64 ",", w->spec->shape[d]);
    if (watches->watched == PITHP_WATCH_COTANGENTS)
        pithp_string_print(&text, "\n%s: %s: the cotangent of operand %d", function, row,
                           w->operand);
    else
        pithp_string_print(&text, "\n%s: %s: the tangent of the result", function, row);
    if (w->operand < 0)
        pithp_string_add(&text, "\nthe result");
    else if (watches->watched == PITHP_WATCH_COTANGENTS)
        pithp_string_add(&text, "\nthe operand");
    else
        pithp_string_print(&text, "\noperand %d", w->operand);
    const char *subject = pithp_report_name(s, &text);
    pithp_string_end(&text);
    return subject;
}

/* ---- Reports ---- */

static const pith_array *flat(pith_scope *s, const pith_array *a) {
    return a ? pith_reshape(s, a, PITH_SHAPE(pithp_array_spec(a)->count)) : NULL;
}

/* One element of an array, as f64[]. */
static const pith_array *
element_at(pith_scope *s, const pith_array *a, const pith_array *index) {
    const pith_take_options clip = {.mode = PITH_INDEX_CLIP};
    return pith_cast(s, pith_take(s, flat(s, a), index, &clip), PITH_F64);
}

static const pith_array *as_word(pith_scope *s, const pith_array *a) {
    return pith_reshape(s, pith_cast(s, pith_cast(s, a, PITH_I64), PITH_U64),
                        PITH_SHAPE(1));
}

/* u64[4]: zeros if all is well. */
static const pith_array *report_of(pith_scope *s, const pith_array *const parts[3]) {
    const pith_array *derivative = parts[0], *zero = pith_f64(s, 0);
    const pith_array *bad =
        flat(s, pith_logical_and(s, pith_is_finite(s, parts[1]),
                                 pith_logical_not(s, pith_is_finite(s, derivative))));
    const pith_array *index = pith_argmax(s, bad, PITH_ALL_AXES),
                     *any = pith_any(s, bad, PITH_ALL_AXES),
                     *value = element_at(s, parts[2], index),
                     *got = element_at(s, derivative, index);
    const pith_array *regular = pith_logical_and(s, pith_is_finite(s, value),
                                                 pith_not_equal(s, value, zero)),
                     *safe = pith_where(s, regular, value, pith_f64(s, 1)),
                     *exponent =
                         pith_maximum(s, pith_floor(s, pith_log2(s, pith_abs(s, safe))),
                                      pith_f64(s, LEAST_EXPONENT));
    const pith_array *fraction =
        pith_mul(s, pith_mul(s, safe, pith_exp2(s, pith_neg(s, exponent))),
                 pith_f64(s, ldexp(1, FRACTION_BITS)));
    const pith_array *kind =
        pith_where(s, pith_is_nan(s, got), pith_i64(s, NOT_A_NUMBER),
                   pith_where(s, pith_greater(s, got, zero), pith_i64(s, POSITIVE),
                              pith_i64(s, NEGATIVE)));
    const pith_array *words[] = {pith_bitwise_not(s, as_word(s, index)),
                                 as_word(s, pith_where(s, regular, fraction, zero)),
                                 as_word(s, pith_where(s, regular, exponent, zero)),
                                 as_word(s, kind)};
    const pith_array *report = pith_concatenate(s, 4, words, 0);
    return pith_where(s, any, report, pith_cast(s, pith_i64(s, 0), PITH_U64));
}

/* The parts in the first column with a derivative that is not finite though its value
 * is, or in the first column. */
static void take_column(pith_scope *s, const pith_array *parts[3]) {
    const int64_t columns = pith_array_spec(parts[0])->shape[0];
    const pith_array *bad = pith_logical_and(
        s, pith_is_finite(s, parts[1]), pith_logical_not(s, pith_is_finite(s, parts[0])));
    const int64_t count = pith_array_spec(parts[0])->count / columns;
    const pith_array *each = pith_reshape(s, bad, PITH_SHAPE(columns, count)),
                     *first =
                         pith_argmax(s, pith_any(s, each, PITH_AXES(1)), PITH_ALL_AXES);
    for (int k = 0; k < 3; k++)
        parts[k] = pith_take(s, parts[k], first, &(pith_take_options){.axis = 0});
}

static pith_status check_one(pith_scope *s,
                             const char *function,
                             const pithp_derive_watches *watches,
                             const pithp_derive_watch *w,
                             const pithp_value *outputs,
                             bool columns) {
    const pith_array **parts = pithp_trace_arrays(s, PITHP_WATCH_OUTPUTS, outputs);
    const char *subject = parts ? subject_of(s, function, watches, w) : NULL;
    for (int k = 0; subject && k < PITHP_WATCH_OUTPUTS; k++) {
        parts[k] = pithp_mark(s, PITHP_OP_STOP_GRADIENT, NULL, parts[k]);
        if (!parts[k])
            return s->error.code;
    }
    if (subject && columns)
        take_column(s, parts);
    const pith_array *report = subject ? report_of(s, parts) : NULL;
    const pithp_recorded entry = {.kind = PITHP_RECORDED_REPORT,
                                  .describe = describe,
                                  .subject = subject,
                                  .site = w->site};
    return report ? pithp_checks_add(s, &entry, 1, &report, NULL) : s->error.code;
}

static pith_status check_all(pith_scope *s,
                             const char *function,
                             const pithp_derive_watches *watches,
                             const pithp_value *outputs,
                             bool columns) {
    const bool reverse = watches->watched == PITHP_WATCH_COTANGENTS;
    if (!watches->count)
        return PITH_OK;
    pith_scope *work = pithp_temporaries_open(s);
    for (int64_t n = 0; work && n < watches->count && !pith_failed(work); n++) {
        const int64_t k = reverse ? watches->count - 1 - n : n;
        check_one(work, function, watches, &watches->list[k],
                  outputs + k * PITHP_WATCH_OUTPUTS, columns);
    }
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return s->error.code;
}

pith_status pithp_watches_check(pith_scope *s,
                                const char *function,
                                const pithp_derive_watches *watches,
                                const pithp_value *outputs) {
    return check_all(s, function, watches, outputs, false);
}

pith_status pithp_watches_check_columns(pith_scope *s,
                                        const char *function,
                                        const pithp_derive_watches *watches,
                                        const pithp_value *outputs) {
    return check_all(s, function, watches, outputs, true);
}
