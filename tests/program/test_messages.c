/* Messages in random programs, in loops and branches too: whatever passes and plans do,
 * the same ones are printed in the same order with the same values. */
#include "program/exec/executable.h"
#include "program/pass/pass.h"
#include "random_messages.h"

/* ---- Running ---- */

static void run(const recipe *r, pithp_program *p, bool fuse, int times) {
    pith_scope *s = pith_scope_open_in(r->s);
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    pithp_executable *exe = pithp_executable_make(s, p, fuse);
    pt_ok(s);
    while (times-- > 0) {
        now.count = 0;
        pithp_executable_run(s, exe, inputs, outputs);
        pt_ok(s);
        pith_wait(s);
        pith_clear(s);
    }
    pithp_executable_free(exe);
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    pith_scope_close(s);
}

/* Plans of the program after passes print what the unchanged one prints step by step. */
static int64_t
try_program(pith_scope *s, uint64_t seed, int steps, const char *way, int times) {
    static const unsigned passes[] = {0,
                                      PITHP_PASS_ALGEBRA,
                                      PITHP_PASS_FOLD,
                                      PITHP_PASS_COMMON,
                                      PITHP_PASS_DEAD,
                                      PITHP_PASS_CONTROL,
                                      PITHP_PASS_ALL};
    recipe *r = recipe_make(s, seed, steps);
    adding a = {.s = s, .state = seed};
    pithp_program *plain = recipe_program(r), *p = with_messages(&a, plain);
    pithp_refusal why;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    setenv("PITH_JIT", "off", 1);
    run(r, p, false, 1);
    memcpy(&expected, &now, sizeof now);
    setenv("PITH_JIT", way, 1);
    for (int k = 0; k < PITHP_COUNT(passes); k++) {
        pithp_program *better = passes[k] ? pithp_program_optimise(s, p, passes[k]) : p;
        pt_ok(s, better);
        cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
        if (times == 1 || passes[k] == PITHP_PASS_ALL) {
            run(r, better, true, times);
            expect_same(seed, way, passes[k]);
        }
        if (better != p)
            pithp_program_release(better);
    }
    pithp_program_release(p);
    pithp_program_release(plain);
    recipe_free(r);
    return expected.count;
}

static void try_programs(int64_t count, uint64_t from, const char *way, int times) {
    pith_runtime *rt = pt_open();
    int64_t met = 0;
    for (int64_t k = 0; k < count; k++) {
        pith_scope *s = pith_scope_open(rt);
        met += try_program(s, pt_series_first(from) + (uint64_t)k, 6 + (int)(k % 50), way,
                           times);
        pith_scope_close(s);
    }
    cr_assert_gt(met, 5 * count);
    pt_close(rt);
}

Test(messages, are_printed_in_order_whatever_passes_do) {
    try_programs(pt_series(500), 0, "off", 1);
}

Test(messages, compiled_code_prints_them_too) {
    try_programs(pt_series(40), 50000, "wait", 2);
}
