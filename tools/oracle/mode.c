/* Ways to call an operation, and the judgement of what it gave. */
#include "oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void call_eager(pith_scope *s, const oracle_row *row, oracle_call *call) {
    row->run(s, row, call);
}

/* ---- Compiled: the handler is traced ---- */

/* What the function that is traced calls; there is one case at a time. */
static struct {
    const oracle_row *row;
    oracle_call *call;
} traced;

static const void *run_traced(pith_scope *s, const void *operands) {
    oracle_call *call = traced.call;
    for (int k = 0; k < call->count; k++)
        call->in[k] = pith_child(operands, k);
    traced.row->run(s, traced.row, call);
    if (call->trouble[0] || pith_failed(s))
        return pith_tuple_make(s, 0, NULL);
    return pith_tuple_make(s, call->results, (const void *const *)call->out);
}
PITH_FUNCTION1(traced_function, run_traced, void, void)

/* The program has to give what the calls give, and the second run what the first gives.
 */
static void call_compiled(pith_scope *s, const oracle_row *row, oracle_call *call) {
    traced.row = row;
    traced.call = call;
    pith_jit_clear(pith_scope_runtime(s)); /* another case is another function */
    const pith_function *f = pith_jit(s, &traced_function, NULL);
    const void *operands = pith_list_make(s, call->count, (const void *const *)call->in);
    const void *results = NULL;
    for (int run = 0; run < 2 && !pith_failed(s) && !call->trouble[0]; run++)
        results = pith_call(s, f, 1, &operands);
    for (int k = 0; k < call->results && results && !pith_failed(s); k++)
        call->out[k] = pith_child(results, k);
}

static const oracle_mode modes[] = {{"eager", call_eager, NULL, NULL},
                                    {"tier0", call_compiled, "off", NULL},
                                    {"tier1", call_compiled, "wait", NULL},
                                    {"cuda", call_compiled, "wait", "cuda"}};

const oracle_mode *oracle_mode_named(const char *name) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, name))
            return &modes[i];
    return NULL;
}

/* ---- What differs, in lines ---- */

typedef struct {
    char *text;
    size_t size;
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

/* One result beside the golden one. */
static void compare(pith_scope *s,
                    const golden_family *family,
                    const golden_json *one,
                    int k,
                    const pith_array *result,
                    report *r) {
    const golden_tensor *want = golden_tensor_of(family, one, "out", k);
    const pith_spec *spec = pith_array_spec(result);
    char got_text[256], want_text[256];
    if (!spec || spec->dtype != want->spec.dtype || spec->rank != want->spec.rank ||
        memcmp(spec->shape, want->spec.shape, (size_t)spec->rank * sizeof *spec->shape) !=
            0) {
        say(r, "result %d: expected %s, got %s\n", k,
            spec_text(&want->spec, want_text, sizeof want_text),
            spec ? spec_text(spec, got_text, sizeof got_text) : "no array");
        return;
    }
    void *got = malloc(spec->bytes + 1);
    int64_t wrong = 0;
    if (!got || !pith_read(s, result, got, spec->bytes)) {
        say(r, "result %d cannot be read: %s\n", k, pith_message(s));
    } else {
        const int64_t worst = golden_compare(family, one, k, got, &wrong);
        if (worst >= 0) {
            const uint64_t apart = golden_distance(spec, got, want->data, worst);
            say(r, "result %d, element %" PRId64 ": expected %s, got %s, ", k, worst,
                golden_print(spec, want->data, worst, want_text),
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
    const int wanted = golden_length(golden_get(one, "out"));
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
        for (int k = 0; k < wanted; k++)
            compare(s, family, one, k, call->out[k], r);
    }
}

void oracle_case(pith_runtime *rt,
                 const oracle_mode *mode,
                 const golden_family *family,
                 const golden_json *one,
                 char *text,
                 size_t size) {
    report r = {text, size};
    oracle_call call = {.op = golden_text(one, "op"),
                        .params = golden_get(one, "params")};
    const oracle_row *row = oracle_find(family->name, call.op);
    text[0] = 0;
    if (!row) {
        say(&r, "no such operation here\n");
        return;
    }
    pith_scope *s = pith_scope_open(rt);
    if (row->judge) {
        char why[ORACLE_TEXT_BYTES] = "";
        if (!row->judge(s, one, why))
            say(&r, "%s\n", why);
    } else if (!take_operands(s, family, one, &call)) {
        say(&r, "operands cannot be made: %s\n", pith_message(s));
    } else {
        mode->call(s, row, &call);
        pith_wait(s);
        judge_arrays(s, family, one, &call, &r);
    }
    pith_clear(s); /* an error that was expected is not the runtime's */
    pith_scope_close(s);
}
