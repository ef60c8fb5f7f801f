/* What tests of bands share: their memory, the steps that are in bands, and inputs that
 * are overwritten. */
#ifndef PITH_BAND_TEST_H
#define PITH_BAND_TEST_H

#include "emit_test.h"

enum { ROOM = 100000 }; /* elements */

static char *x, *y;

static inline void make_memory(const bench *b, pith_dtype dtype) {
    const int64_t n = ROOM;
    recipe r = {.s = b->s, .state = 5 + (uint64_t)dtype};
    x = malloc(ROOM * 8 + 64);
    y = malloc(ROOM * 8 + 64);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), x);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), y);
}

static inline void free_memory(void) {
    free(x);
    free(y);
}

/* Steps of bands, and bands. */
static inline void
expect_bands(const bench *b, const char *what, int64_t bands, int64_t members) {
    pithp_executable *exe = plan_of(b, "off");
    int64_t found = 0, steps = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++) {
        found += exe->plan->steps[k].band > 0;
        steps += exe->plan->steps[k].band;
    }
    pithp_executable_free(exe);
    cr_assert(found == bands && steps == members, "%s: %lld bands of %lld steps", what,
              (long long)found, (long long)steps);
    expect_same(b, what);
}

/* A reduction over the last axes, which are kept as 1. */
static inline pithp_value kept(bench *b,
                               pithp_primitive primitive,
                               pithp_value v,
                               int axes,
                               int rank,
                               const int64_t *shape) {
    const pithp_reduce_params params = {((1u << axes) - 1) << (rank - axes)};
    pithp_reshape_params up = {.rank = rank};
    for (int d = 0; d < rank; d++)
        up.shape[d] = d < rank - axes ? shape[d] : 1;
    const pithp_value r = pithp_program_add(b->s, b->p, primitive, 1, &v, &params, NULL);
    pt_ok(b->s, r >= 0);
    return pithp_program_add(b->s, b->p, PITHP_OP_RESHAPE, 1, &r, &up, NULL);
}

/* Run with input 0 as memory of what the executable chooses, and compare. */
static inline void overwrite(const bench *b, const char *when, int64_t expected) {
    const int64_t input = 0;
    int64_t chosen = -1;
    void *want[MOST], *got[MOST];
    take_memory(b, want);
    take_memory(b, got);
    pithp_executable *exe = plan_of(b, when), *plain = plan_of(b, "off");
    pithp_plan_reuse(b->s, exe->plan, NULL, &input, 1, &chosen);
    pt_ok(b->s);
    cr_assert_eq(chosen, expected, "%lld", (long long)chosen);
    run(b, plain, want);
    void *const own = chosen >= 0 ? got[chosen] : NULL;
    if (chosen >= 0)
        got[chosen] = (void *)(uintptr_t)b->inputs[0];
    run(b, exe, got);
    expect_outputs(b, "overwritten", when, want, got);
    if (chosen >= 0)
        got[chosen] = own;
    for (int64_t k = 0; k < b->p->output_count; k++) {
        free(want[k]);
        free(got[k]);
    }
    pithp_executable_free(exe);
    pithp_executable_free(plain);
}

#endif
