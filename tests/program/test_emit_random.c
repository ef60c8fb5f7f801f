/* Random programs, compiled, give the bits of their calls: a few as users get them, and
 * many by a compiler that optimises little, which takes them by the dozen. */
#include "emit_test.h"
#include "program/emit/loop.h"
#include "program/pass/pass.h"
#include "random_file.h"

typedef struct compiled_recipe {
    recipe *r;
    pithp_executable *exe;
} compiled_recipe;

static pithp_executable *compiled_plan_of(const recipe *r, bool passes) {
    pithp_program *p = recipe_program(r);
    if (passes) {
        pithp_program *better = pithp_program_optimise(r->s, p, PITHP_PASS_ALL);
        pt_ok(r->s, better);
        pithp_program_release(p);
        p = better;
    }
    setenv("PITH_JIT", "wait", 1);
    pithp_executable *exe = pithp_executable_make(r->s, p, true);
    pt_ok(r->s, exe);
    pithp_program_release(p);
    return exe;
}

/* Whether a run of its executable gives other bits, or is not compiled. */
static bool run_differs(const recipe *r, pithp_executable *exe) {
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    bool fused = false, wrong = false;
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    pithp_executable_run(r->s, exe, inputs, outputs);
    pt_ok(r->s);
    pith_wait(r->s);
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        fused |= exe->plan->steps[k].kind == PITHP_STEP_FUSED ||
                 pithp_loop_fits(exe->plan, &exe->plan->steps[k]);
    wrong |= fused != (exe->code != NULL);
    for (int k = 0; k < r->output_count; k++) {
        const pithp_place place = pithp_plan_output(exe->plan, k);
        if (place.store == PITHP_IN_OUTPUT)
            wrong |= !recipe_is(r, k, outputs[place.at]);
    }
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    return wrong;
}

static bool differs(const recipe *r, void *closure) {
    pithp_executable *exe = compiled_plan_of(r, closure != NULL);
    const bool wrong = run_differs(r, exe);
    pithp_executable_free(exe);
    return wrong;
}

static void expect_same_bits(recipe *r, pithp_executable *exe, bool passes) {
    if (!run_differs(r, exe))
        return;
    recipe_shrink(r, differs, passes ? r : NULL);
    fprintf(stderr, "%s\n", said);
    recipe_fail(r, "compiled");
}

Test(emit_random, programs_give_the_bits_of_their_calls, .timeout = 600) {
    const int64_t count = pt_series(500) / 20;
    use_cache();
    for (int64_t k = 0; k < count; k++) {
        bench b = begin();
        recipe *r =
            recipe_make(b.s, pt_series_first(31337) + (uint64_t)k, 10 + (int)(k % 45));
        pithp_executable *exe = compiled_plan_of(r, k % 2);
        expect_same_bits(r, exe, k % 2);
        pithp_executable_free(exe);
        recipe_free(r);
        end(&b);
    }
}

/* One translation unit for each batch. */
Test(emit_random, many_programs_give_the_bits_of_their_calls, .timeout = 3600) {
    enum { BATCH = 25 };
    const int64_t count = pt_series(500);
    use_cache();
    setenv("PITH_CC", PITH_TEST_SOURCE "/cc_quick", 1);
    for (int64_t first = 0; first < count; first += BATCH) {
        bench b = begin();
        recipe *recipes[BATCH];
        pithp_executable *plans[BATCH];
        for (int k = 0; k < BATCH; k++) {
            recipes[k] = recipe_make(b.s, pt_series_first(900000) + (uint64_t)(first + k),
                                     4 + (int)(first + k) % 30);
            plans[k] = compiled_plan_of(recipes[k], k % 2);
        }
        const bool together = pithp_compiled_together(b.s, plans, BATCH);
        for (int k = 0; k < BATCH; k++) {
            if (!together) { /* one of them does not compile: which? */
                pithp_executable_free(plans[k]);
                plans[k] = compiled_plan_of(recipes[k], k % 2);
            }
            expect_same_bits(recipes[k], plans[k], k % 2);
            pithp_executable_free(plans[k]);
            recipe_free(recipes[k]);
        }
        cr_assert(together, "%s", said);
        end(&b);
    }
}

Test(emit_random, those_that_failed_once_give_them, .timeout = 300) {
    use_cache();
    for (recipe_files files = recipe_files_open(); recipe_files_next(&files);) {
        bench b = begin();
        recipe *r = recipe_read(b.s, files.path);
        for (int passes = 0; passes < 2; passes++)
            cr_assert(!differs(r, passes ? r : NULL), "%s", files.path);
        recipe_free(r);
        end(&b);
    }
}
