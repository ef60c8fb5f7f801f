/* Batches of random programs with control flow: each entry against the program alone, bit
 * for bit (with products within a bound), tangents of batches and batches of tangents,
 * gradients, and batches of batches. PITH_TEST_PROGRAMS and PITH_TEST_FIRST choose how
 * many, and from which seed on. */
#include "random_derive.h"
#include "series.h"
#include "vmap_derive.h"

#include <stdlib.h>

#ifdef MANY
enum { PROGRAMS = 3000 };
#else
enum { PROGRAMS = 150 };
#endif
enum { STEPS = 12 };

static bool has_product(const pithp_program *p) {
    bool any = false;
    for (int64_t k = 0; k < p->instruction_count && !any; k++) {
        const pithp_instruction *i = &p->instructions[k];
        any = i->primitive == PITHP_OP_DOT_GENERAL;
        for (int b = 0; b < i->program_count && !any; b++)
            any = has_product(i->programs[b]);
    }
    return any;
}

/* Whether outputs agree: equal bits, both NaN, or near each other. */
static bool agree(const pith_spec *spec, const char *a, const char *b, double bound) {
    bool fine = true;
    for (int64_t n = 0; n < spec->count && fine; n++) {
        const size_t at = (size_t)n * pith_dtype_size(spec->dtype);
        const double x = pithp_dtype_decode(spec->dtype, a + at),
                     y = pithp_dtype_decode(spec->dtype, b + at);
        fine = !memcmp(a + at, b + at, pith_dtype_size(spec->dtype)) ||
               (isnan(x) && isnan(y)) || (bound > 0 && x == y) ||
               (bound > 0 && spec->dtype == PITH_F64 &&
                fabs(x - y) <= bound * (1 + fabs(y)));
    }
    return fine;
}

/* Run both. derived: q is derived from a batch, and a zero may have another sign. */
static void compare(pith_scope *s,
                    uint64_t seed,
                    const char *what,
                    pithp_program *p,
                    pithp_program *q,
                    const bool *batched,
                    const bool *results,
                    int64_t size,
                    bool derived,
                    const batch_arrays *in) {
    const bool none[GRAPH_MOST] = {false};
    const double bound = has_product(p) ? 1e-9 : derived ? 1e-300 : 0;
    batch_arrays all = batch_arrays_make(p, p->outputs, p->output_count, results, size),
                 one = batch_arrays_make(p, p->outputs, p->output_count, none, 1);
    batch_run(s, q, PITHP_PASS_RUN, in, NULL, 0, &all);
    for (int64_t e = 0; e < size; e++) {
        batch_run(s, p, PITHP_PASS_RUN, in, batched, e, &one);
        for (int64_t k = 0; k < p->output_count; k++)
            cr_assert(agree(pithp_value_spec(p, p->outputs[k]),
                            all.at[k] + (results[k] ? one.each[k] * (size_t)e : 0),
                            one.at[k], bound),
                      "seed %llu, %s: entry %d, output %d: %.17g, alone %.17g\n%s",
                      (unsigned long long)seed, what, (int)e, (int)k,
                      *(double *)(void *)(all.at[k] +
                                          (results[k] ? one.each[k] * (size_t)e : 0)),
                      *(double *)(void *)one.at[k], graph_text(p));
    }
    batch_arrays_free(&all);
    batch_arrays_free(&one);
}

static void check_batch(pith_scope *s,
                        uint64_t seed,
                        const char *what,
                        pithp_program *p,
                        const bool *batched,
                        int64_t size) {
    bool results[GRAPH_MOST];
    pithp_program *q = batch_of(s, p, batched, size, results);
    batch_arrays in = batch_inputs(p, batched, size);
    compare(s, seed, what, p, q, batched, results, size, false, &in);
    batch_arrays_free(&in);
    pithp_program_release(q);
}

/* Tangents of the batch against tangents of each entry. */
static void check_tangents(pith_scope *s,
                           uint64_t seed,
                           pithp_program *p,
                           const bool *batched,
                           int64_t size) {
    bool moves[GRAPH_MOST], flags[GRAPH_MOST], results[GRAPH_MOST];
    pithp_program *one = batch_forward(s, p, moves),
                  *b = batch_of(s, p, batched, size, results);
    int64_t next = p->input_count;
    for (int64_t k = 0; k < p->input_count; k++) {
        flags[k] = batched[k];
        if (pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64)
            flags[next++] = batched[k];
    }
    pithp_program *q = batch_forward(s, b, moves);
    next = p->output_count;
    for (int64_t k = 0; k < p->output_count; k++)
        if (moves[k])
            results[next++] = results[k];
    cr_assert(q->output_count == one->output_count, "seed %llu %s",
              (unsigned long long)seed, graph_text(p));
    batch_arrays in = batch_inputs(one, flags, size);
    compare(s, seed, "tangents of a batch", one, q, flags, results, size, true, &in);
    batch_arrays_free(&in);
    check_batch(s, seed, "batch of tangents", one, flags, size);
    pithp_program_release(b);
    pithp_program_release(q);
    pithp_program_release(one);
}

/* Cotangents of batched inputs, in the gradient of the batch, against those of each
 * entry. */
static void check_cotangents(pith_scope *s,
                             uint64_t seed,
                             pithp_program *p,
                             const bool *batched,
                             int64_t size) {
    bool results[GRAPH_MOST], none[GRAPH_MOST] = {false};
    pithp_program *b = batch_of(s, p, batched, size, results),
                  *of_one = batch_gradient(s, p), *of_all = batch_gradient(s, b);
    batch_arrays in = batch_inputs(p, batched, size);
    batch_arrays one = batch_arrays_make(of_one, of_one->outputs, of_one->output_count,
                                         none, 1),
                 all = batch_arrays_make(of_all, of_all->outputs, of_all->output_count,
                                         none, 1);
    cr_assert(of_one->output_count == of_all->output_count, "seed %llu",
              (unsigned long long)seed);
    batch_run(s, of_all, PITHP_PASS_RUN, &in, NULL, 0, &all);
    for (int64_t e = 0; e < size; e++) {
        batch_run(s, of_one, PITHP_PASS_RUN, &in, batched, e, &one);
        for (int64_t k = p->output_count; k < of_one->output_count; k++)
            if (all.each[k] == one.each[k] * (size_t)size)
                cr_assert(agree(pithp_value_spec(of_one, of_one->outputs[k]),
                                all.at[k] + one.each[k] * (size_t)e, one.at[k], 1e-9),
                          "seed %llu: entry %d, cotangent %d: %.17g, alone %.17g\n%s",
                          (unsigned long long)seed, (int)e, (int)(k - p->output_count),
                          *(double *)(void *)(all.at[k] + one.each[k] * (size_t)e),
                          *(double *)(void *)one.at[k], graph_text(p));
    }
    check_batch(s, seed, "batch of gradients", of_one, batched, size);
    batch_arrays_free(&in), batch_arrays_free(&one), batch_arrays_free(&all);
    pithp_program_release(b);
    pithp_program_release(of_one);
    pithp_program_release(of_all);
}

static void check_twice(pith_scope *s,
                        uint64_t seed,
                        pithp_program *p,
                        const bool *inner,
                        const bool *outer,
                        int64_t size) {
    bool results[GRAPH_MOST];
    pithp_program *q = batch_of(s, p, inner, size, results);
    check_batch(s, seed, "batch of a batch", q, outer, size);
    pithp_program_release(q);
}

static void check(pith_scope *s, uint64_t seed) {
    bool inner[GRAPH_MOST], outer[GRAPH_MOST], has_while;
    pithp_program *p = draw_program(s, seed, STEPS, &has_while);
    pt_ok(s, p);
    batch_seed = seed;
    for (int64_t k = 0; k < p->input_count; k++) {
        inner[k] = batch_draw(3);
        outer[k] = batch_draw(2);
    }
    const int64_t size = 1 + (int64_t)batch_draw(3);
    check_batch(s, seed, "batch", p, inner, size);
    check_twice(s, seed, p, inner, outer, size);
    check_tangents(s, seed, p, inner, size);
    if (!has_while)
        check_cotangents(s, seed, p, inner, size);
    pithp_program_release(p);
}

Test(vmap_nested, programs) {
    const uint64_t from = pt_series_first(1), to = from + (uint64_t)pt_series(PROGRAMS);
    pith_runtime *rt = pt_open();
    for (uint64_t seed = from; seed < to; seed++) {
        pith_scope *s = pith_scope_open(rt);
        check(s, seed);
        pt_ok(s);
        pith_scope_close(s);
    }
    pt_close(rt);
}
