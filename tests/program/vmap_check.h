/* Batches of programs against one run an entry, bit for bit. */
#ifndef PITH_TESTS_VMAP_CHECK_H
#define PITH_TESTS_VMAP_CHECK_H

#include "graph_test.h"
#include "program/vmap/vmap.h"
#include "series.h"

#include <math.h>

/* Arrays of the values of a program: of batched ones an entry after the other. */
typedef struct batch_arrays {
    int64_t count;
    char *at[GRAPH_MOST];
    size_t each[GRAPH_MOST]; /* bytes of an entry */
} batch_arrays;

static PT_UNUSED batch_arrays batch_arrays_make(const pithp_program *p,
                                                const pithp_value *values,
                                                int64_t count,
                                                const bool *batched,
                                                int64_t size) {
    batch_arrays a = {.count = count};
    for (int64_t k = 0; k < count; k++) {
        a.each[k] = pithp_value_spec(p, values[k])->bytes;
        a.at[k] = calloc(1, a.each[k] * (size_t)(batched[k] ? size : 1) + 64);
    }
    return a;
}
static PT_UNUSED void batch_arrays_free(batch_arrays *a) {
    for (int64_t k = 0; k < a->count; k++)
        free(a->at[k]);
}

static PT_UNUSED uint64_t batch_seed;
static PT_UNUSED uint64_t batch_draw(uint64_t below) {
    batch_seed =
        batch_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (batch_seed >> 33) % below;
}

/* Whether elements have equal bits, or are both NaN. */
static PT_UNUSED bool batch_same(const pith_spec *spec, const char *a, const char *b) {
    const size_t each = pith_dtype_size(spec->dtype);
    bool same = true;
    for (int64_t n = 0; n < spec->count && same; n++, a += each, b += each)
        same = !memcmp(a, b, each) || (isnan(pithp_dtype_decode(spec->dtype, a)) &&
                                       isnan(pithp_dtype_decode(spec->dtype, b)));
    return same;
}

/* Random elements: f64 and f32 from -2 to 2, bools, integers from -2 to 5. */
static PT_UNUSED void batch_fill(const pith_spec *spec, void *to, int64_t entries) {
    for (int64_t n = 0; n < spec->count * entries; n++) {
        const double x = (double)batch_draw(1u << 30) / 0x1p28 - 2;
        const int64_t i = (int64_t)batch_draw(8) - 2;
        if (pith_dtype_is_float(spec->dtype))
            pithp_dtype_encode(spec->dtype, x,
                               (char *)to + (size_t)n * pith_dtype_size(spec->dtype));
        else if (spec->dtype == PITH_BOOL)
            ((char *)to)[n] = i > 1;
        else
            memcpy((char *)to + (size_t)n * pith_dtype_size(spec->dtype), &i,
                   pith_dtype_size(spec->dtype));
    }
}

static PT_UNUSED batch_arrays batch_inputs(const pithp_program *p,
                                           const bool *batched,
                                           int64_t size) {
    batch_arrays a = batch_arrays_make(p, p->inputs, p->input_count, batched, size);
    for (int64_t k = 0; k < p->input_count; k++)
        batch_fill(pithp_value_spec(p, p->inputs[k]), a.at[k], batched[k] ? size : 1);
    return a;
}

/* Run p on an entry, or on all arrays of a batch (entry 0 of a batch of size 1). */
static PT_UNUSED void batch_run(pith_scope *s,
                                pithp_program *p,
                                int passes,
                                const batch_arrays *in,
                                const bool *batched,
                                int64_t entry,
                                batch_arrays *out) {
    const void *from[GRAPH_MOST];
    void *to[GRAPH_MOST] = {NULL};
    for (int64_t k = 0; k < in->count; k++)
        from[k] = in->at[k] + (batched && batched[k] ? in->each[k] * (size_t)entry : 0);
    for (int64_t k = 0; k < out->count; k++)
        to[k] = out->at[k];
    graph_run(s, p, passes, from, to);
}

/* Compare a run of the batched program with one run an entry. */
static PT_UNUSED void batch_compare(pith_scope *s,
                                    pithp_program *p,
                                    pithp_program *q,
                                    const bool *batched,
                                    const bool *results,
                                    int64_t size,
                                    const batch_arrays *in,
                                    int passes,
                                    const char *what) {
    const bool none[GRAPH_MOST] = {false};
    batch_arrays all = batch_arrays_make(p, p->outputs, p->output_count, results, size);
    batch_arrays one = batch_arrays_make(p, p->outputs, p->output_count, none, 1);
    batch_run(s, q, passes, in, NULL, 0, &all);
    for (int64_t e = 0; e < size; e++) {
        batch_run(s, p, passes, in, batched, e, &one);
        for (int64_t k = 0; k < p->output_count; k++)
            cr_assert(
                batch_same(pithp_value_spec(p, p->outputs[k]),
                           all.at[k] + (results[k] ? one.each[k] * (size_t)e : 0),
                           one.at[k]),
                "%s: entry %d of %d, output %d: %.17g, alone %.17g\n%s", what, (int)e,
                (int)size, (int)k,
                pithp_dtype_decode(pithp_value_spec(p, p->outputs[k])->dtype,
                                   all.at[k] +
                                       (results[k] ? one.each[k] * (size_t)e : 0)),
                pithp_dtype_decode(pithp_value_spec(p, p->outputs[k])->dtype, one.at[k]),
                graph_text(q));
    }
    batch_arrays_free(&all);
    batch_arrays_free(&one);
}

/* The batch of p; results is set for each output. */
static PT_UNUSED pithp_program *batch_of(pith_scope *s,
                                         pithp_program *p,
                                         const bool *batched,
                                         int64_t size,
                                         bool *results) {
    const pithp_vmap_options o = {.steps = 1 + (int)((size + 1) % 3)};
    pithp_program *q = pithp_program_vmap(s, p, size, batched, &o, results);
    pt_ok(s, q);
    for (int64_t k = 0; k < p->output_count; k++) {
        const pith_spec *own = pithp_value_spec(p, p->outputs[k]),
                        *made = pithp_value_spec(q, q->outputs[k]);
        cr_assert(made->rank == own->rank + results[k], "output %d\n%s", (int)k,
                  graph_text(q));
    }
    return q;
}

/* Batches of 3, 1 and 0 entries, with passes and without, of inputs that `batched` marks
 * with these elements in a batch of 3; in: NULL: random ones. */
static PT_UNUSED void batch_check_on(pith_scope *s,
                                     pithp_program *p,
                                     const bool *batched,
                                     const batch_arrays *in,
                                     const char *what) {
    static const int64_t sizes[] = {3, 1, 0};
    bool results[GRAPH_MOST];
    for (int n = 0; n < 3; n++) {
        pithp_program *q = batch_of(s, p, batched, sizes[n], results);
        batch_arrays own;
        if (!in)
            own = batch_inputs(p, batched, sizes[n]);
#ifndef RUN_SCHEDULED /* marks do not run there */
        batch_compare(s, p, q, batched, results, sizes[n], in ? in : &own, -1, what);
#endif
        batch_compare(s, p, q, batched, results, sizes[n], in ? in : &own, PITHP_PASS_RUN,
                      what);
        if (!in)
            batch_arrays_free(&own);
        pithp_program_release(q);
    }
}

/* The same with each set of inputs batched. Schedules, which are compiled, have a share.
 */
static PT_UNUSED void batch_check(pith_scope *s, pithp_program *p, const char *what) {
    bool batched[GRAPH_MOST];
#ifdef RUN_SCHEDULED
    static int64_t turn;
    turn++;
#endif
    for (unsigned set = 0; set < 1u << p->input_count; set++) {
        char name[128];
#ifdef RUN_SCHEDULED
        if (!pt_in_share(turn + set))
            continue;
#endif
        snprintf(name, sizeof name, "%s, batched %x", what, set);
        for (int64_t k = 0; k < p->input_count; k++)
            batched[k] = set >> k & 1;
        batch_check_on(s, p, batched, NULL, name);
    }
}

/* The batch of a batch, both of the same size, against one run an entry. */
static PT_UNUSED void batch_check_twice(pith_scope *s,
                                        pithp_program *p,
                                        const bool *inner,
                                        const bool *outer,
                                        int64_t size,
                                        const char *what) {
    bool once[GRAPH_MOST], twice[GRAPH_MOST], none[GRAPH_MOST] = {false};
    pithp_program *q = batch_of(s, p, inner, size, once),
                  *r = batch_of(s, q, outer, size, twice);
    batch_arrays in = batch_inputs(q, outer, size);
    batch_arrays all = batch_arrays_make(q, q->outputs, q->output_count, twice, size),
                 one = batch_arrays_make(p, p->outputs, p->output_count, none, 1);
    batch_run(s, r, PITHP_PASS_RUN, &in, NULL, 0, &all);
    for (int64_t o = 0; o < size; o++)
        for (int64_t i = 0; i < size; i++) {
            batch_arrays at = in;
            for (int64_t k = 0; k < p->input_count; k++)
                at.at[k] += (outer[k] ? in.each[k] * (size_t)o : 0) +
                            (inner[k] ? in.each[k] / (size_t)size * (size_t)i : 0);
            batch_run(s, p, PITHP_PASS_RUN, &at, NULL, 0, &one);
            for (int64_t k = 0; k < p->output_count; k++) {
                const char *got = all.at[k] + (twice[k] ? all.each[k] * (size_t)o : 0) +
                                  (once[k] ? one.each[k] * (size_t)i : 0);
                cr_assert(batch_same(pithp_value_spec(p, p->outputs[k]), got, one.at[k]),
                          "%s: entry %d, %d, output %d\n%s", what, (int)o, (int)i, (int)k,
                          graph_text(r));
            }
        }
    batch_arrays_free(&in);
    batch_arrays_free(&all);
    batch_arrays_free(&one);
    pithp_program_release(q);
    pithp_program_release(r);
}

#endif
