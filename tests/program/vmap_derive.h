/* Derivatives of batches and batches of derivatives. */
#ifndef PITH_TESTS_VMAP_DERIVE_H
#define PITH_TESTS_VMAP_DERIVE_H

#include "program/derive/derive.h"
#include "vmap_check.h"

static PT_UNUSED pithp_value batch_op(pith_scope *s,
                                      pithp_program *p,
                                      pithp_primitive o,
                                      pithp_value x) {
    return graph_op(s, p, o, x, -1, NULL);
}
static PT_UNUSED void batch_give(pith_scope *s, pithp_program *p, pithp_value v) {
    pt_ok(s, v >= 0 && pithp_program_output(s, p, v));
}

/* A program that gives its outputs and the gradient of the sum of all their elements to
 * each f64 input. */
static PT_UNUSED pithp_program *batch_gradient(pith_scope *s, pithp_program *p) {
    enum { ROOM = 1024 };
    bool moving[GRAPH_MOST], moves[GRAPH_MOST], marks[ROOM], reaches[ROOM];
    pithp_derive_options options = {.cuts_are_zero = true, .reverse = true};
    pithp_linearization l;
    for (int64_t k = 0; k < p->input_count; k++)
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pt_ok(s, pithp_program_linearize(s, p, moving, &options, moves, &l));
    cr_assert(l.residual_count + p->input_count + p->output_count < ROOM);
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *t = pithp_program_transpose(s, l.linear, marks, reaches);
    pt_ok(s, t);
    /* inputs of p -> its outputs, cotangents of inputs for cotangents of ones */
    pithp_program *g = pithp_program_make(s);
    pithp_value list[ROOM], made[ROOM];
    for (int64_t k = 0; k < p->input_count; k++)
        list[k] = pithp_program_input(s, g, pithp_value_spec(p, p->inputs[k]));
    pt_ok(s, pithp_program_inline(s, g, l.forward, list, made));
    for (int64_t k = 0; k < p->output_count; k++)
        batch_give(s, g, made[k]);
    memcpy(list, made + p->output_count, (size_t)l.residual_count * sizeof *list);
    for (int64_t k = l.residual_count; k < t->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(t, t->inputs[k]);
        pithp_full_params one = {.dtype = spec->dtype, .rank = spec->rank};
        memcpy(one.shape, spec->shape, sizeof one.shape);
        pithp_dtype_encode(spec->dtype, 1, &one.value);
        list[k] = pithp_program_add(s, g, PITHP_OP_FULL, 0, NULL, &one, NULL);
    }
    pt_ok(s, pithp_program_inline(s, g, t, list, made));
    for (int64_t k = 0, mark = l.residual_count, next = 0; k < p->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(p, p->inputs[k]);
        pithp_full_params zero = {.dtype = spec->dtype, .rank = spec->rank};
        memcpy(zero.shape, spec->shape, sizeof zero.shape);
        if (moving[k])
            batch_give(s, g,
                       reaches[mark++] ? made[next++]
                                       : pithp_program_add(s, g, PITHP_OP_FULL, 0, NULL,
                                                           &zero, NULL));
    }
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(t);
    return g;
}

/* The gradient of a batch against the gradient of each entry: where an input is shared
 * its cotangents are sums, which are not compared. */
static PT_UNUSED void batch_check_gradient(pith_scope *s,
                                           pithp_program *p,
                                           const bool *batched,
                                           int64_t size,
                                           const char *what) {
    bool results[GRAPH_MOST], none[GRAPH_MOST] = {false};
    pithp_program *q = batch_of(s, p, batched, size, results);
    pithp_program *of_one = batch_gradient(s, p), *of_all = batch_gradient(s, q);
    cr_assert(of_one->output_count == of_all->output_count, "%s", what);
    batch_arrays in = batch_inputs(p, batched, size);
    batch_arrays one = batch_arrays_make(of_one, of_one->outputs, of_one->output_count,
                                         none, 1),
                 all = batch_arrays_make(of_all, of_all->outputs, of_all->output_count,
                                         none, 1);
    batch_run(s, of_all, PITHP_PASS_RUN, &in, NULL, 0, &all);
    for (int64_t k = p->output_count; k < of_all->output_count; k++)
        for (size_t n = 0; n < all.each[k] / sizeof(double); n++)
            cr_assert(isfinite(((double *)(void *)all.at[k])[n]) || strchr(what, '!'),
                      "%s: cotangent %d[%d] is not finite\n%s", what,
                      (int)(k - p->output_count), (int)n, graph_text(of_all));
    for (int64_t e = 0; e < size; e++) {
        batch_run(s, of_one, PITHP_PASS_RUN, &in, batched, e, &one);
        for (int64_t k = 0; k < of_one->output_count; k++) {
            if (all.each[k] != one.each[k] * (size_t)size)
                continue;
            const double *a = (double *)(void *)(all.at[k] + one.each[k] * (size_t)e),
                         *b = (double *)(void *)one.at[k];
            for (size_t n = 0; n < one.each[k] / sizeof(double); n++)
                cr_assert(!memcmp(a + n, b + n, sizeof *a) || (a[n] == 0 && b[n] == 0) ||
                              (isnan(a[n]) && isnan(b[n])),
                          "%s: entry %d, gradient %d[%d]: %.17g, alone %.17g\n%s", what,
                          (int)e, (int)k, (int)n, a[n], b[n], graph_text(of_all));
        }
    }
    batch_arrays_free(&in), batch_arrays_free(&one), batch_arrays_free(&all);
    pithp_program_release(q);
    pithp_program_release(of_one);
    pithp_program_release(of_all);
}

/* Forward mode with all f64 inputs moving; inputs: those of p, their tangents. */
static PT_UNUSED pithp_program *
batch_forward(pith_scope *s, pithp_program *p, bool *moves) {
    const pithp_derive_options options = {.cuts_are_zero = true};
    bool moving[GRAPH_MOST];
    for (int64_t k = 0; k < p->input_count; k++)
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pithp_program *made = pithp_program_jvp(s, p, moving, &options, moves);
    pt_ok(s, made);
    return made;
}

/* Tangents of a batch, and a batch of tangents, against the tangents of each entry. */
static PT_UNUSED void batch_check_forward(pith_scope *s,
                                          pithp_program *p,
                                          const bool *batched,
                                          int64_t size,
                                          const char *what) {
    bool moves[GRAPH_MOST], flags[GRAPH_MOST], results[GRAPH_MOST];
    pithp_program *one = batch_forward(s, p, moves);
    int64_t next = p->input_count;
    for (int64_t k = 0; k < p->input_count; k++) {
        flags[k] = batched[k];
        if (pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64)
            flags[next++] = batched[k];
    }
    batch_arrays in = batch_inputs(one, flags, size);
    pithp_program *q = batch_of(s, one, flags, size, results);
    batch_compare(s, one, q, flags, results, size, &in, PITHP_PASS_RUN, what);
    pithp_program_release(q);
    pithp_program *b = batch_of(s, p, batched, size, results);
    q = batch_forward(s, b, moves);
    next = p->output_count;
    cr_assert(q->output_count == one->output_count, "%s\n%s", what, graph_text(q));
    for (int64_t k = 0; k < p->output_count; k++)
        if (moves[k])
            results[next++] = results[k];
    batch_compare(s, one, q, flags, results, size, &in, PITHP_PASS_RUN, what);
    batch_arrays_free(&in);
    pithp_program_release(b);
    pithp_program_release(q);
    pithp_program_release(one);
}

#endif
