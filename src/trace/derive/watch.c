/* Checks of derivatives for NaN and infinity: a report for each watch. Its words are
 * computed in the trace: ~element, the fraction and the exponent of the operand's value,
 * and the kinds of the derivative and of this value. */
#include "array/checks/list.h"
#include "trace/derive/derive_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_A_NUMBER, POSITIVE, NEGATIVE, FINITE, KINDS };
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
 * break the name of the value that is shown, or nothing. */
static void describe(const void *subject,
                     const pith_report *report,
                     const char *site,
                     pithp_error *e) {
    static const char *const kinds[KINDS] = {"NaN", "Infinity", "-Infinity", "finite"};
    const char *what = strchr(subject, '\n') + 1, *shown = strchr(what, '\n') + 1;
    const uint64_t shown_kind = report->what / KINDS % KINDS;
    char index[200], value[40];
    print_index(index, sizeof index, subject, ~report->first);
    if (shown_kind != FINITE)
        snprintf(value, sizeof value, "%s", kinds[shown_kind]);
    else
        snprintf(value, sizeof value, "%.9g",
                 ldexp((double)(int64_t)report->need,
                       (int)(int64_t)report->have - FRACTION_BITS));
    pithp_error_set(e, PITH_E_CHECK, NULL, site, "%.*s is %s%s%s%s%s%s",
                    (int)(shown - 1 - what), what, kinds[report->what % KINDS], index,
                    *shown ? ", where " : "", shown, *shown ? " is " : "",
                    *shown ? value : "");
}

/* Add what the derivative is, and after a line break what is shown. */
static void
print_subject(pithp_string *text, const char *function, const pithp_derive_watch *w) {
    pithp_string_print(text, "\n%s: %s", function, pithp_ops[w->row].name);
    if (w->rule)
        pithp_string_print(text, " in the rule of %s", w->rule);
    if (w->operand >= 0)
        pithp_string_print(text, ": the cotangent of operand %d", w->operand);
    else if (w->rule)
        pithp_string_add(text, ": the result");
    else
        pithp_string_add(text, ": the tangent of the result");
    pithp_string_add(text, "\n");
    if (w->beside >= 0 && w->beside == w->operand)
        pithp_string_add(text, "the operand");
    else if (w->beside >= 0)
        pithp_string_print(text, "operand %d", w->beside);
    else if (!w->rule)
        pithp_string_add(text, "the result");
}

/* The subject of the report of a watch. NULL: error set. */
static const char *
subject_of(pith_scope *s, const char *function, const pithp_derive_watch *w) {
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    for (int d = 0; d < w->spec->rank; d++)
        pithp_string_print(&text, "%" PRId64 ",", w->spec->shape[d]);
    print_subject(&text, function, w);
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

/* Which kind of what is not finite, as f64[]. */
static const pith_array *kind_of(pith_scope *s, const pith_array *a) {
    return pith_where(s, pith_is_nan(s, a), pith_f64(s, NOT_A_NUMBER),
                      pith_where(s, pith_greater(s, a, pith_f64(s, 0)),
                                 pith_f64(s, POSITIVE), pith_f64(s, NEGATIVE)));
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
    const pith_array *shown = pith_where(s, pith_is_finite(s, value), pith_f64(s, FINITE),
                                         kind_of(s, value)),
                     *kind = pith_add(s, kind_of(s, got),
                                      pith_mul(s, shown, pith_f64(s, KINDS)));
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

/* Check the parts: the derivative, the guard, and what is shown. */
static pith_status check_parts(pith_scope *s,
                               const char *function,
                               const pithp_derive_watch *w,
                               const pith_array **parts,
                               bool columns) {
    const char *subject = subject_of(s, function, w);
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

static pith_status check_one(pith_scope *s,
                             const char *function,
                             const pithp_derive_watch *w,
                             const pithp_value *outputs,
                             bool columns) {
    const pith_array **parts = pithp_trace_arrays(s, PITHP_WATCH_OUTPUTS, outputs);
    return parts ? check_parts(s, function, w, parts, columns) : s->error.code;
}

/* In the order in which derivatives are computed, with those inside of control flow. */
static pith_status check_all(pith_scope *s,
                             const char *function,
                             const pithp_derive_watches *watches,
                             const pithp_value *outputs,
                             pithp_rule_checks *inside,
                             bool columns) {
    const bool reverse = watches->watched == PITHP_WATCH_COTANGENTS;
    pith_scope *work =
        watches->count || inside->lifted.count ? pithp_temporaries_open(s) : NULL;
    for (int64_t n = 0; work && n < watches->count && !pith_failed(work); n++) {
        const int64_t k = reverse ? watches->count - 1 - n : n;
        if (pithp_rule_checks_watch(work, inside, watches->list[k].place, reverse) ==
            PITH_OK)
            check_one(work, function, &watches->list[k],
                      outputs + k * PITHP_WATCH_OUTPUTS, columns);
    }
    if (work && !pith_failed(work))
        pithp_rule_checks_watch(work, inside, reverse ? -1 : INT64_MAX, reverse);
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return s->error.code;
}

pith_status pithp_watches_check(pith_scope *s,
                                const char *function,
                                const pithp_derive_watches *watches,
                                const pithp_value *outputs,
                                pithp_rule_checks *inside) {
    return check_all(s, function, watches, outputs, inside, false);
}

pith_status pithp_watches_check_columns(pith_scope *s,
                                        const char *function,
                                        const pithp_derive_watches *watches,
                                        const pithp_value *outputs,
                                        pithp_rule_checks *inside) {
    return check_all(s, function, watches, outputs, inside, true);
}

/* ---- Inside of control flow ---- */

/* The rule of one watch: its program checks the derivative. */
typedef struct watch_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    const char *function; /* of the user, a literal */
    pithp_derive_watch watch;
    const pith_spec *specs[PITHP_WATCH_OUTPUTS]; /* of the guard, what is shown, and the
                                                    derivative */
} watch_rule;

static void free_watch(pithp_rule *rule) {
    watch_rule *u = (watch_rule *)(void *)rule;
    pithp_release(u->runtime, u, sizeof *u);
}

/* Record the check, and the derivative as output. NULL: error set. */
static pithp_checks *record_check(pith_scope *w, pithp_trace *t, const watch_rule *u) {
    const pith_array *in[PITHP_WATCH_OUTPUTS];
    pithp_checks *checks = NULL;
    for (int k = 0; k < PITHP_WATCH_OUTPUTS; k++)
        if (!(in[k] = pithp_trace_input(w, t, u->specs[k])))
            return NULL;
    const pithp_value v = pithp_trace_value(w, t, in[2]);
    const pith_array *parts[] = {in[2], in[0], in[1]};
    if (v < 0 || !pithp_program_output(w, t->program, v) ||
        check_parts(w, u->function, &u->watch, parts, false) != PITH_OK ||
        !pithp_checks_take(w, t, true, &checks))
        return NULL;
    return checks;
}

/* guard, shown, derivative -> derivative */
static pithp_program *record_watch(pithp_rule *rule,
                                   pith_scope *s,
                                   bool reverse,
                                   const bool *zeros,
                                   pithp_rule **linear) {
    const watch_rule *u = (const watch_rule *)(void *)rule;
    pith_scope *w = pith_scope_open_in(s);
    pithp_program *p = NULL;
    (void)reverse, (void)zeros, (void)linear;
    if (!pithp_scope_writable(w)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    pithp_trace *t = pithp_trace_begin(w);
    pithp_checks *checks = t ? record_check(w, t, u) : NULL;
    if (t)
        p = pithp_trace_end(w, t);
    pith_scope_close(w); /* its error moves to s */
    const bool fine =
        s->error.code == PITH_OK && p && checks &&
        pithp_rule_checks_expose(s, p, checks, NULL, 0, NULL, 1 + u->watch.place);
    pithp_checks_release(checks);
    if (fine)
        return p;
    pithp_program_release(p);
    return NULL;
}

pithp_rule *pithp_watch_rule(const pithp_derive_watches *watches,
                             pith_scope *s,
                             const pithp_derive_watch *w,
                             const pith_spec *guard,
                             const pith_spec *shown) {
    watch_rule *u = pithp_allocate(s->runtime, sizeof *u);
    if (!u) {
        pithp_fail_memory(s, sizeof *u);
        return NULL;
    }
    *u = (watch_rule){.rule = {.free = free_watch,
                               .record = record_watch,
                               .name = "find_nonfinite",
                               .reverse = true,
                               .linear = true,
                               .first_count = 2,
                               .result_count = 1,
                               .results = &u->specs[2]},
                      .runtime = s->runtime,
                      .function = watches->function,
                      .watch = *w,
                      .specs = {guard, shown, w->spec}};
    atomic_init(&u->rule.refs, 1);
    return &u->rule;
}
