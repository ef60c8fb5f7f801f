/* Programs: built, verified, optimised and run by plans give the bits that running them
 * call by call gives. */
#include "program/exec/executable.h"
#include "program/pass/pass.h"
#include "random_file.h"

/* Run p by an executable; the outputs differ from the recipe's: the first one, else -1.
 */
static int run_plan(const recipe *r, pithp_program *p, bool fuse) {
    pith_scope *s = pith_scope_open_in(r->s);
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    int wrong = -1;
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    pithp_executable *exe = pithp_executable_make(s, p, fuse);
    pt_ok(s);
    pithp_executable_run(s, exe, inputs, outputs);
    pt_ok(s);
    pith_wait(s);
    for (int k = 0; k < r->output_count; k++) {
        const ingredient *x = &r->list[r->outputs[k]];
        const pithp_place place = pithp_plan_output(exe->plan, k);
        const void *got = place.store == PITHP_IN_INPUT ? inputs[place.at]
                          : place.store == PITHP_IN_LITERALS
                              ? (char *)exe->plan->literals->data + place.at
                              : outputs[place.at];
        if (wrong < 0 && !recipe_is(r, k, got))
            wrong = k;
        uint64_t guard;
        memcpy(&guard, (char *)outputs[k] + x->spec->bytes, 8);
        cr_assert(guard == 0xA5A5A5A5A5A5A5A5u, "output %d is written beyond its end", k);
    }
    pithp_executable_free(exe);
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    pith_scope_close(s);
    return wrong;
}

/* passes, or: */
enum { NO_PASSES = -1, NOT_FUSED = -2 };

static bool is_wrong(const recipe *r, void *closure) {
    const int passes = *(int *)closure;
    pithp_refusal why;
    pithp_program *p = recipe_program(r);
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    if (passes >= 0) {
        pithp_program *better = pithp_program_optimise(r->s, p, (unsigned)passes);
        pt_ok(r->s);
        cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
        pithp_program_release(p);
        p = better;
    }
    const bool wrong = run_plan(r, p, passes != NOT_FUSED) >= 0;
    pithp_program_release(p);
    return wrong;
}

static const char *passes_text(int passes, uint64_t seed) {
    static char text[64];
    snprintf(text, sizeof text, "seed %llu, passes %d", (unsigned long long)seed, passes);
    return text;
}

static void expect_right(recipe *r, int passes, uint64_t seed) {
    if (!is_wrong(r, &passes))
        return;
    recipe_shrink(r, is_wrong, &passes);
    recipe_fail(r, passes_text(passes, seed));
}

/* Add to each primitive its calls in a recipe and its bodies. */
static void count_calls(const recipe *r, int64_t *met) {
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        met[x->primitive] += x->kind >= RECIPE_CALL;
        for (int b = 0; x->kind == RECIPE_CONTROL && b < x->body_count; b++)
            count_calls(x->bodies[b], met);
    }
}

/* Messages and checks of rules have no value, marks only derivations have, and
 * collectives have their own tests (tests/mesh). */
static bool is_drawn(int p) {
    return p != PITHP_OP_DEBUG && p != PITHP_OP_EXPOSE &&
           !pithp_is_collective((pithp_primitive)p) &&
           !pithp_op_has((pithp_primitive)p, PITHP_TRAIT_MARK);
}

/* Every row is met, but those that look at the sign of a NaN. */
static void expect_all_rows(const int64_t *met, int64_t programs) {
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++)
        cr_assert(met[p] > 0 || p == PITHP_OP_SIGNBIT || p == PITHP_OP_COPYSIGN ||
                      !is_drawn(p),
                  "no program of %lld has %s", (long long)programs, pithp_ops[p].name);
    for (int p = PITHP_LOWERED_COUNT; p < PITHP_PRIMITIVE_COUNT; p++)
        cr_assert(met[p] > programs / 50 || !is_drawn(p), "%s is met too seldom: %lld",
                  pithp_ops[p].name, (long long)met[p]);
}

static void random_programs(int64_t count, int passes, uint64_t from) {
    setenv("PITH_JIT", "off", 1); /* test_emit_random.c compiles */
    pith_runtime *rt = pt_open();
    int64_t met[PITHP_PRIMITIVE_COUNT] = {0};
    for (int64_t k = 0; k < count; k++) {
        const uint64_t seed = pt_series_first(from) + (uint64_t)k;
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, seed, 6 + (int)(k % 50));
        expect_right(r, passes, seed);
        count_calls(r, met);
        recipe_free(r);
        pith_scope_close(s);
    }
    if (count >= 700)
        expect_all_rows(met, count);
    pt_close(rt);
}

Test(program, plans_of_random_programs_give_the_bits_of_their_calls) {
    random_programs(pt_series(3000), NO_PASSES, 0);
}

Test(program, algebra_never_changes_a_bit) {
    random_programs(pt_series(1500), PITHP_PASS_ALGEBRA, 100000);
}

Test(program, folding_gives_the_bits_of_the_run) {
    random_programs(pt_series(1500), PITHP_PASS_FOLD, 200000);
}

Test(program, equal_calls_are_made_once) {
    random_programs(pt_series(1000), PITHP_PASS_COMMON, 300000);
}

Test(program, unused_instructions_are_removed) {
    random_programs(pt_series(1000), PITHP_PASS_DEAD, 400000);
}

Test(program, control_flow_is_narrowed) {
    random_programs(pt_series(1500), PITHP_PASS_CONTROL, 600000);
}

Test(program, all_passes_together) {
    random_programs(pt_series(3000), PITHP_PASS_ALL, 500000);
}

Test(program, layouts_of_products_change_no_bit) {
    random_programs(pt_series(500), PITHP_PASS_LAYOUT, 900000);
}

static int64_t count_updates(const recipe *r, int64_t *all) {
    int64_t met[PITHP_PRIMITIVE_COUNT] = {0}, updates = 0;
    count_calls(r, met);
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++) {
        updates += pithp_op_has((pithp_primitive)p, PITHP_TRAIT_SCATTER) ? met[p] : 0;
        *all += met[p];
    }
    return updates;
}

/* "Fails" where a loop or branch has an update in its body, and its values are right. */
static bool updates_in_a_body(const recipe *r, void *closure) {
    int none = NO_PASSES;
    int64_t found = 0, all = 0;
    for (int k = 0; k < r->count; k++)
        for (int b = 0; r->list[k].kind == RECIPE_CONTROL && b < r->list[k].body_count;
             b++)
            found += count_updates(r->list[k].bodies[b], &all);
    if (closure && found)
        cr_assert(!is_wrong(r, &none), "values are not those of what is left");
    return found > 0;
}

Test(program, a_failing_program_is_made_small_inside_its_bodies) {
    pith_runtime *rt = pt_open();
    int shrunk = 0;
    for (uint64_t seed = 700000; shrunk < 10; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, seed, 40);
        if (updates_in_a_body(r, NULL)) {
            recipe_shrink(r, updates_in_a_body, rt);
            int none = NO_PASSES;
            int64_t all = 0;
            cr_assert(!is_wrong(r, &none), "seed %d: values are others now", (int)seed);
            const int64_t updates = count_updates(r, &all);
            cr_assert(updates == 1 && all <= 6, "seed %d: %d calls", (int)seed, (int)all);
            shrunk++;
        }
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(program, plans_that_do_not_fuse_give_them_too) {
    random_programs(pt_series(500), NOT_FUSED, 600000);
}

Test(program, those_that_failed_once_give_them) {
    static const int ways[] = {NO_PASSES,          NOT_FUSED,       PITHP_PASS_ALL,
                               PITHP_PASS_ALGEBRA, PITHP_PASS_FOLD, PITHP_PASS_COMMON,
                               PITHP_PASS_CONTROL, PITHP_PASS_DEAD, PITHP_PASS_RUN};
    pith_runtime *rt = pt_open();
    for (recipe_files files = recipe_files_open(); recipe_files_next(&files);) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_read(s, files.path);
        for (size_t k = 0; k < PITHP_COUNT(ways); k++)
            cr_assert(!is_wrong(r, (void *)(uintptr_t)&ways[k]), "%s, passes %d",
                      files.path, ways[k]);
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* What a file holds is the program that was written. */
Test(program, files_keep_programs) {
    pith_runtime *rt = pt_open();
    char path[320];
    pt_folder(path);
    strcat(path, "/one.recipe");
    for (uint64_t seed = 0; seed < 200; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 800000 + seed, 20);
        FILE *f = fopen(path, "w");
        cr_assert(f);
        recipe_write_list(f, r);
        fclose(f);
        recipe *read = recipe_read(s, path);
        pithp_program *p = recipe_program(r), *q = recipe_program(read);
        cr_assert(pithp_program_equal(p, q), "seed %d", (int)seed);
        for (int k = 0; k < r->output_count; k++)
            cr_assert(recipe_is(r, k, read->list[read->outputs[k]].data));
        pithp_program_release(p);
        pithp_program_release(q);
        recipe_free(r);
        recipe_free(read);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(program, every_failure_of_memory_is_survived) {
    pith_runtime *rt = pt_open();
    for (uint64_t seed = 0; seed < 12; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 700000 + seed, 40);
        pithp_program *p = recipe_program(r);
        bool failed = true;
        for (long long at = 1; failed; at++) {
            pith_scope *inner = pith_scope_open_in(s);
            atomic_store(&pt_default_heap.fail_at,
                         atomic_load(&pt_default_heap.allocations) + at);
            pithp_program *better = pithp_program_optimise(inner, p, PITHP_PASS_ALL);
            pithp_executable *exe =
                better ? pithp_executable_make(inner, better, true) : NULL;
            atomic_store(&pt_default_heap.fail_at, 0);
            failed = pith_failed(inner);
            cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : exe != NULL);
            pithp_executable_free(exe);
            pithp_program_release(better);
            pith_clear(inner);
            pith_scope_close(inner);
            cr_assert(at < 10000);
        }
        pithp_program_release(p);
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}
