/* Common code of tests of pieces: programs of concatenations, pads and rolls, and their
 * command buffers for CUDA. */
#ifndef PITH_TESTS_FUSE_CONCAT_TEST_H
#define PITH_TESTS_FUSE_CONCAT_TEST_H

#include "emit_test.h"
#include "schedule_run.h"

/* A program that is being filled: the whole one, or a loop's body. */
typedef struct building {
    bench *b;
    pithp_program *p;
    recipe r;     /* for its random numbers */
    int64_t most; /* elements */
} building;

static inline pithp_value add(const building *x,
                              pithp_primitive primitive,
                              int count,
                              const pithp_value *operands,
                              const void *params) {
    const pithp_value v =
        pithp_program_add(x->b->s, x->p, primitive, count, operands, params, NULL);
    pt_ok(x->b->s, v >= 0);
    return v;
}

static inline const pith_spec *spec_of(const building *x, pithp_value v) {
    return pithp_value_spec(x->p, v);
}

static inline int64_t pick(building *x, int64_t low, int64_t high) {
    return low + (int64_t)recipe_random(&x->r, (uint64_t)(high - low + 1));
}

/* ---- Moves ---- */

static inline pithp_value
part(const building *x, pithp_value v, int axis, int64_t begin, int64_t end) {
    const pith_spec *spec = spec_of(x, v);
    pithp_slice_params params = {{0}, {0}, {0}};
    for (int d = 0; d < spec->rank; d++) {
        params.limit[d] = spec->shape[d];
        params.step[d] = 1;
    }
    params.start[axis] = begin;
    params.limit[axis] = end;
    return add(x, PITHP_OP_SLICE, 1, &v, &params);
}

static inline pithp_value
join(const building *x, pithp_value v, pithp_value w, int axis) {
    const pithp_concatenate_params params = {axis};
    return add(x, PITHP_OP_CONCATENATE, 2, (pithp_value[]){v, w}, &params);
}

/* by: from 0 to the extent */
static inline pithp_value roll(const building *x, pithp_value v, int axis, int64_t by) {
    const int64_t n = spec_of(x, v)->shape[axis];
    return join(x, part(x, v, axis, n - by, n), part(x, v, axis, 0, n - by), axis);
}

static inline pithp_value filling(const building *x, pith_dtype dtype) {
    uint64_t bits = 0;
    pithp_dtype_encode(dtype, dtype == PITH_BOOL ? 1 : 2.5, &bits);
    return pithp_program_literal(x->b->s, x->p, pithp_spec(x->b->s, dtype, 0, NULL),
                                 &bits);
}

/* Values before, behind and between the elements of an axis. */
static inline pithp_value pad_axis(const building *x,
                                   pithp_value v,
                                   int axis,
                                   int64_t low,
                                   int64_t high,
                                   int64_t between) {
    pithp_pad_params params = {{0}, {0}, {0}};
    params.low[axis] = low;
    params.high[axis] = high;
    params.interior[axis] = between;
    const pithp_value operands[] = {v, filling(x, spec_of(x, v)->dtype)};
    return add(x, PITHP_OP_PAD, 2, operands, &params);
}

/* ---- Inputs ---- */

static char memory[64000];

static inline void fill_memory(building *x, const pith_spec *spec) {
    cr_assert(spec->bytes <= sizeof memory);
    recipe_fill(&x->r, spec, memory);
}

/* ---- As CUDA reads them ---- */

typedef struct {
    int choose;   /* kernels that choose pieces */
    int reduce;   /* kernels that reduce what they make */
    int both;     /* those that choose what they reduce */
    int copies;   /* concatenations and pads that are made */
    int64_t many; /* tasks that are one for many leaves */
} kernels;
static inline kernels count_kernels(const schedule_run *scheduled) {
    kernels found = {.many = scheduled->schedule->many_count};
    for (int64_t k = 0; k < scheduled->schedule->fused_count; k++) {
        const pithp_kernel_work *work = &scheduled->schedule->fused[k];
        const bool chooses = work->step->piece_count > 0,
                   reduces = work->reduction.kind != PITHP_REDUCE_KERNEL_NOTHING;
        found.choose += chooses;
        found.reduce += reduces;
        found.both += chooses && reduces;
    }
    for (int64_t k = 0; k < scheduled->plan->step_count; k++) {
        const pithp_instruction *i = scheduled->plan->steps[k].call;
        found.copies +=
            i && (i->primitive == PITHP_OP_CONCATENATE || i->primitive == PITHP_OP_PAD);
    }
    return found;
}

/* The command buffer for CUDA gives the bits of the calls, in the order of its list and
 * in another that its edges allow. */
static inline kernels expect_scheduled(const bench *b, const char *what) {
    void *want[MOST], *got[MOST];
    take_memory(b, want);
    take_memory(b, got);
    pithp_executable *calls = pithp_executable_make(b->s, b->p, false);
    pt_ok(b->s, calls);
    run(b, calls, want);
    schedule_run scheduled = schedule_open(b->s, b->p);
    for (uint64_t order = 0; order < 2; order++) {
        scheduled.order = order;
        schedule_inputs(&scheduled, b->inputs, got);
        expect_outputs(b, what, "scheduled", want, got);
    }
    const kernels found = count_kernels(&scheduled);
    for (int64_t k = 0; k < b->p->output_count; k++) {
        free(want[k]);
        free(got[k]);
    }
    schedule_close(&scheduled);
    pithp_executable_free(calls);
    return found;
}

#endif
