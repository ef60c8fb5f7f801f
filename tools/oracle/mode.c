/* Modes of calling an operation, and comparison of its results. */
#include "oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void call_eager(pith_scope *s, int count, const oracle_case_run *runs) {
    for (int k = 0; k < count; k++)
        runs[k].row->run(s, runs[k].row, runs[k].call);
}

/* ---- Compiled: several cases are traced as one program ---- */

/* State for the traced function; one batch at a time. */
static struct {
    const oracle_case_run *runs;
    int count;
} traced;

static const void *run_traced(pith_scope *s, const void *operands) {
    const void *results[ORACLE_BATCH];
    for (int k = 0; k < traced.count; k++) {
        const oracle_row *row = traced.runs[k].row;
        oracle_call *call = traced.runs[k].call;
        const void *mine = pith_child(operands, k);
        for (int i = 0; i < call->count; i++)
            call->in[i] = pith_child(mine, i);
        row->run(s, row, call);
        results[k] =
            call->trouble[0] || pith_failed(s)
                ? pith_tuple_make(s, 0, NULL)
                : pith_tuple_make(s, call->results, (const void *const *)call->out);
    }
    return pith_tuple_make(s, traced.count, results);
}
PITH_FUNCTION1(traced_function, run_traced, void, void)

const pith_function *oracle_compiled(pith_scope *s,
                                     int count,
                                     const oracle_case_run *runs,
                                     const void **operands) {
    const void *lists[ORACLE_BATCH];
    traced.runs = runs;
    traced.count = count;
    pith_jit_clear(pith_scope_runtime(s)); /* other cases are another function */
    for (int k = 0; k < count; k++)
        lists[k] =
            pith_list_make(s, runs[k].call->count, (const void *const *)runs[k].call->in);
    *operands = pith_list_make(s, count, lists);
    return pith_jit(s, &traced_function, NULL);
}

/* The program must give the results of the eager calls, and the second run those of the
 * first. */
static void call_compiled(pith_scope *s, int count, const oracle_case_run *runs) {
    const void *operands, *results = NULL;
    const pith_function *f = oracle_compiled(s, count, runs, &operands);
    bool troubled = false;
    for (int run = 0; run < 2 && !pith_failed(s) && !troubled; run++) {
        results = pith_call(s, f, 1, &operands);
        for (int k = 0; k < count; k++)
            troubled |= runs[k].call->trouble[0] != 0;
    }
    for (int k = 0; k < count && results && !pith_failed(s); k++)
        for (int i = 0; i < runs[k].call->results; i++)
            runs[k].call->out[i] = pith_child(pith_child(results, k), i);
}

static const oracle_mode modes[] = {
    {.name = "eager", .call = call_eager},
    {.name = "tier0", .call = call_compiled, .tier = "off", .joins = true},
    {.name = "tier1", .call = call_compiled, .tier = "wait", .joins = true},
    {.name = "cuda",
     .call = call_compiled,
     .tier = "wait",
     .device = "cuda",
     .joins = true},
    {.name = "cuda-text",
     .call = oracle_call_text,
     .tier = "off",
     .device = "host",
     .texts = true},
    {.name = "cuda-text-once",
     .call = oracle_call_text,
     .tier = "off",
     .device = "host",
     .texts = true,
     .once = true},
};

const oracle_mode *oracle_mode_named(const char *name) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, name))
            return &modes[i];
    return NULL;
}

/* ---- Reports of differences ---- */

typedef struct {
    char *text;
    size_t size;
    bool *aside;
} report;

static void say(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(report *r, const char *format, ...) {
    const size_t used = strlen(r->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->text + used, r->size - used, format, arguments);
    va_end(arguments);
}

static const char *spec_text(const pith_spec *spec, char *text, size_t size) {
    int at = snprintf(text, size, "%s[", pith_dtype_name(spec->dtype));
    for (int d = 0; d < spec->rank; d++)
        at += snprintf(text + at, size - (size_t)at, "%s%" PRId64, d ? "," : "",
                       spec->shape[d]);
    snprintf(text + at, size - (size_t)at, "]");
    return text;
}

/* Compare one result with the golden one. way: how it was computed, as a prefix. */
static void compare(pith_scope *s,
                    const golden_family *family,
                    const golden_json *one,
                    int k,
                    const char *way,
                    const pith_array *result,
                    report *r) {
    const golden_tensor *want = golden_tensor_of(family, one, "out", k);
    const pith_spec *spec = pith_array_spec(result);
    char got_text[256], want_text[256];
    if (!spec || spec->dtype != want->spec.dtype || spec->rank != want->spec.rank ||
        memcmp(spec->shape, want->spec.shape, (size_t)spec->rank * sizeof *spec->shape) !=
            0) {
        say(r, "%sresult %d: expected %s, got %s\n", way, k,
            spec_text(&want->spec, want_text, sizeof want_text),
            spec ? spec_text(spec, got_text, sizeof got_text) : "no array");
        return;
    }
    void *got = malloc(spec->bytes + 1);
    int64_t wrong = 0;
    if (!got || !pith_read(s, result, got, spec->bytes)) {
        say(r, "%sresult %d cannot be read: %s\n", way, k, pith_message(s));
    } else {
        const int64_t worst = golden_compare(family, one, k, got, &wrong);
        if (worst >= 0) {
            const uint64_t apart = golden_distance(spec, got, want->data, worst);
            say(r, "%sresult %d, element %" PRId64 ": expected %s, got %s, ", way, k,
                worst, golden_print(spec, want->data, worst, want_text),
                golden_print(spec, got, worst, got_text));
            if (apart == UINT64_MAX)
                say(r, "one is NaN");
            else
                say(r, "%" PRIu64 " %s apart", apart,
                    pith_dtype_is_float(spec->dtype) ? "ulp" : "units");
            say(r, " (%" PRId64 " of %" PRId64 " elements differ)\n", wrong, spec->count);
        }
    }
    free(got);
}

/* ---- Cases ---- */

static bool take_operands(pith_scope *s,
                          const golden_family *family,
                          const golden_json *one,
                          oracle_call *call) {
    for (const golden_tensor *t;
         (t = golden_tensor_of(family, one, "in", call->count)) != NULL; call->count++) {
        if (call->count == ORACLE_OPERANDS)
            return false;
        pith_shape shape = {t->spec.rank, {0}};
        memcpy(shape.extents, t->spec.shape, sizeof shape.extents);
        call->in[call->count] = pith_array_copy(s, t->spec.dtype, shape, t->data);
    }
    return !pith_failed(s);
}

static void judge_arrays(pith_scope *s,
                         const golden_family *family,
                         const golden_json *one,
                         const oracle_call *call,
                         report *r) {
    const int each = golden_length(golden_get(one, "out"));
    const int wanted = each * (call->way_count ? call->way_count : 1);
    if (call->trouble[0]) {
        say(r, "%s\n", call->trouble);
    } else if (!strcmp(golden_text(one, "expect"), "error")) {
        if (!pith_failed(s))
            say(r, "expected to be refused, but was not\n");
    } else if (pith_failed(s)) {
        say(r, "refused: %s: %s\n", pith_status_name(pith_code(s)), pith_message(s));
    } else if (call->results != wanted) {
        say(r, "expected %d results, got %d\n", wanted, call->results);
    } else {
        for (int k = 0; k < wanted; k++) {
            char way[ORACLE_TEXT_BYTES] = "";
            if (call->way_count)
                snprintf(way, sizeof way, "%s: ", call->ways[k / each]);
            compare(s, family, one, k % each, way, call->out[k], r);
        }
    }
}

/* Judge a case in a mode that runs nothing. A call that refuses values becomes a program
 * with a check. */
static void
judge_text(pith_scope *s, const golden_json *one, const oracle_call *call, report *r) {
    const bool refuses = !strcmp(golden_text(one, "expect"), "error");
    *r->aside = call->aside[0] && !call->trouble[0];
    if (call->trouble[0])
        say(r, "%s\n", call->trouble);
    else if (call->aside[0])
        say(r, "%s\n", call->aside);
    else if (refuses && !pith_failed(s) && !call->checked)
        say(r, "expected to be refused, but was not\n");
    else if (!refuses && pith_failed(s))
        say(r, "refused: %s: %s\n", pith_status_name(pith_code(s)), pith_message(s));
}

/* Whether a case can share a program: a refused call would end the trace. */
static bool
can_join(const oracle_mode *mode, const oracle_row *row, const golden_json *one) {
    return mode->joins && row && !row->judge &&
           strcmp(golden_text(one, "expect"), "error") != 0;
}

static bool judge_alone(pith_scope *s,
                        const oracle_mode *mode,
                        const oracle_row *row,
                        const golden_json *one,
                        report *r) {
    char why[ORACLE_TEXT_BYTES] = "";
    if (!row)
        say(r, "no such operation here\n");
    else if (row->judge && mode->texts)
        *r->aside = true; /* without arrays there is no program */
    else if (row->judge && !row->judge(s, one, why))
        say(r, "%s\n", why);
    return !row || row->judge;
}

/* Run cases as one program; false: one of them is refused, and nothing was reported. */
static bool run_cases(pith_runtime *rt,
                      const oracle_mode *mode,
                      const golden_family *family,
                      int count,
                      const golden_json *const *cases,
                      report *const *reports) {
    static oracle_call calls[ORACLE_BATCH];
    oracle_case_run runs[ORACLE_BATCH];
    bool ran = true;
    pith_scope *s = pith_scope_open(rt);
    for (int k = 0; k < count; k++) {
        calls[k] = (oracle_call){.op = golden_text(cases[k], "op"),
                                 .name = golden_text(cases[k], "name"),
                                 .params = golden_get(cases[k], "params")};
        runs[k] = (oracle_case_run){oracle_find(family->name, calls[k].op), &calls[k]};
        if (ran &&
            (count > 1 || !judge_alone(s, mode, runs[k].row, cases[k], reports[k])))
            ran = take_operands(s, family, cases[k], &calls[k]);
        else
            ran = false; /* judged separately */
    }
    if (ran) {
        mode->call(s, count, runs);
        pith_wait(s);
    } else if (count == 1 && runs[0].row && !runs[0].row->judge) {
        say(reports[0], "operands cannot be made: %s\n", pith_message(s));
    }
    for (int k = 0; k < count && count > 1; k++)
        ran &= !calls[k].trouble[0] && !pith_failed(s);
    for (int k = 0; k < count && ran; k++)
        if (mode->texts)
            judge_text(s, cases[k], &calls[k], reports[k]);
        else
            judge_arrays(s, family, cases[k], &calls[k], reports[k]);
    pith_clear(s); /* an expected error is not the runtime's */
    pith_scope_close(s);
    return ran || count == 1;
}

void oracle_cases(pith_runtime *rt,
                  const oracle_mode *mode,
                  const golden_family *family,
                  int count,
                  const golden_json *const *cases,
                  oracle_report *texts) {
    const golden_json *joined[ORACLE_BATCH];
    report reports[ORACLE_BATCH], *of_joined[ORACLE_BATCH];
    int joins = 0;
    for (int k = 0; k < count; k++) {
        const char *op = golden_text(cases[k], "op");
        reports[k] = (report){texts[k].text, sizeof texts[k].text, &texts[k].aside};
        texts[k].text[0] = 0;
        texts[k].aside = false;
        if (can_join(mode, oracle_find(family->name, op), cases[k])) {
            joined[joins] = cases[k];
            of_joined[joins++] = &reports[k];
        } else {
            run_cases(rt, mode, family, 1, &cases[k], &(report *){&reports[k]});
        }
    }
    if (joins > 0 && !run_cases(rt, mode, family, joins, joined, of_joined))
        for (int k = 0; k < joins; k++)
            run_cases(rt, mode, family, 1, &joined[k], &of_joined[k]);
}
