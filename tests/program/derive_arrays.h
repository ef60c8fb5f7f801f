/* What tests of derivations of random programs share: arrays of doubles, runs, and the
 * program of a gradient. */
#ifndef PITH_TESTS_DERIVE_ARRAYS_H
#define PITH_TESTS_DERIVE_ARRAYS_H

#include "program/derive/derive.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"
#include "random_derive.h"

#include <stdlib.h>

enum { STEPS = 14, SHOWN = 1 << 16 };

/* What is wrong with a program. */
static char wrong[1024];

static inline bool fails(const char *format, ...) PITH_FORMAT(1, 2);
static inline bool fails(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong, sizeof wrong, format, arguments);
    va_end(arguments);
    return false;
}

static inline const char *text_of(const pithp_program *p) {
    static char shown[SHOWN];
    pithp_string text;
    pithp_string_begin(&text, p->runtime);
    pithp_program_text(p, &text);
    snprintf(shown, sizeof shown, "%s", text.bytes);
    pithp_string_end(&text);
    return shown;
}

/* ---- Arrays ---- */

/* Arrays of a number of values of a program, with doubles or other elements. */
typedef struct arrays {
    int64_t count;
    double **at;
    int64_t *counts;
} arrays;

static inline arrays
arrays_make(const pithp_program *p, const pithp_value *values, int64_t n) {
    arrays a = {n, calloc((size_t)n + 1, sizeof *a.at),
                calloc((size_t)n + 1, sizeof *a.counts)};
    for (int64_t k = 0; k < n; k++) {
        const size_t bytes = (pithp_value_spec(p, values[k])->bytes + 511) & ~(size_t)255;
        a.at[k] = aligned_alloc(256, bytes);
        a.counts[k] = pithp_value_spec(p, values[k])->count;
        memset(a.at[k], 0, bytes);
    }
    return a;
}

static inline void arrays_free(arrays *a) {
    for (int64_t k = 0; k < a->count; k++)
        free(a->at[k]);
    free(a->at);
    free(a->counts);
}

/* The outputs of a run of p after passes on arrays of its inputs. */
static inline arrays run(pith_scope *s, const pithp_program *p, double *const *in) {
    arrays out = arrays_make(p, p->outputs, p->output_count);
    pithp_program *q = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    pithp_executable *exe = q ? pithp_executable_make(s, q, true) : NULL;
    pt_ok(s, exe);
    pithp_executable_run(s, exe, (const void *const *)in, (void *const *)out.at);
    pith_wait(s);
    pt_ok(s);
    for (int64_t k = 0; k < q->output_count; k++) {
        const pithp_place place = pithp_plan_output(exe->plan, k);
        const void *from = out.at[k];
        if (place.store == PITHP_IN_INPUT)
            from = in[place.at];
        else if (place.store == PITHP_IN_LITERALS)
            from = (const char *)exe->plan->literals->data + place.at;
        else if (place.store == PITHP_IN_CONSTANT)
            from = q->constants[place.at].data;
        else if (place.store == PITHP_IN_OUTPUT)
            from = out.at[place.at];
        if (from != out.at[k])
            memcpy(out.at[k], from, pithp_value_spec(q, q->outputs[k])->bytes);
    }
    pithp_executable_free(exe);
    pithp_program_release(q);
    return out;
}

static inline void fill(uint64_t *state, double *at, int64_t count) {
    for (int64_t n = 0; n < count; n++)
        at[n] = drawn_number(state, -1, 1);
}

static inline bool is_same(const double *a, const double *b, int64_t count) {
    bool same = true;
    for (int64_t n = 0; n < count && same; n++)
        same = !memcmp(&a[n], &b[n], sizeof *a) || (isnan(a[n]) && isnan(b[n]));
    return same;
}

/* Whether a is b, but for what rounding does to numbers of this size. */
static inline bool is_near(double a, double b, double size, double within) {
    return fabs(a - b) <= within * (1 + size);
}

static const pithp_derive_options zeros = {.cuts_are_zero = true, .reverse = true};

/* The inputs of p and a cotangent of each output that moves -> gradients. NULL: refused.
 */
static inline pithp_program *gradient_of(pith_scope *s, const pithp_program *p) {
    bool moving[64], moves[64], *marks, *reaches;
    pithp_linearization l;
    for (int64_t k = 0; k < p->input_count; k++)
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    if (!pithp_program_linearize(s, p, moving, &zeros, moves, &l))
        return NULL;
    marks = calloc((size_t)l.linear->input_count + 1, 1);
    reaches = calloc((size_t)l.linear->input_count + 1, 1);
    for (int64_t k = l.residual_count; k < l.linear->input_count; k++)
        marks[k] = true;
    pithp_program *back = pithp_program_transpose(s, l.linear, marks, reaches),
                  *g = back ? pithp_program_make(s) : NULL;
    if (g) {
        const int64_t n = p->input_count, m = l.linear->output_count;
        pithp_value *in = calloc((size_t)(n + m) + 1, sizeof *in),
                    *out = calloc((size_t)(l.forward->output_count + m) + 1, sizeof *out),
                    *end = calloc((size_t)back->output_count + 1, sizeof *end);
        for (int64_t k = 0; k < n; k++)
            in[k] = pithp_program_input(s, g, pithp_value_spec(p, p->inputs[k]));
        for (int64_t k = 0; k < m; k++)
            in[n + k] = pithp_program_input(
                s, g, pithp_value_spec(l.linear, l.linear->outputs[k]));
        pt_ok(s, pithp_program_inline(s, g, l.forward, in, out));
        memcpy(out + l.forward->output_count, in + n, (size_t)m * sizeof *in);
        pt_ok(s, pithp_program_inline(s, g, back, out + p->output_count, end));
        for (int64_t k = 0; k < back->output_count; k++)
            pithp_program_output(s, g, end[k]);
        free(in);
        free(out);
        free(end);
    }
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(back);
    free(marks);
    free(reaches);
    return g;
}

#endif
