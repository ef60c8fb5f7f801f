/* PITH_JIT=eager, for debugging: compiled functions run as they are written, with values,
 * and give what they give compiled. */
#include "jit_test.h"

static void open_eager(void) {
    setenv("PITH_JIT", "eager", 1);
    open_scope();
}

/* ---- Values ---- */

static double seen;
static const pith_array *reads(pith_scope *in, const pith_array *x) {
    runs++;
    seen = pith_read_f64(in, pith_max(in, x, PITH_ALL_AXES));
    return pith_add(in, x, pith_f64(in, 1));
}
PITH_FUNCTION1(reads_function, reads, pith_array, pith_array)

Test(eager, functions_see_values_each_time, .init = open_eager) {
    const pith_function *f = pith_jit(s, &reads_function, NULL);
    const pith_array *x = pith_arange(s, PITH_F64, 4);
    for (int call = 1; call <= 3; call++) {
        const pith_array *y = pith_apply(s, f, x);
        pt_ok(s, y);
        cr_assert(seen == 3 && runs == call && element(y, 3) == 4);
    }
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.programs == 0 && info.hits == 0 && info.misses == 0);
    cr_assert_str_eq(pith_explain_miss(s, f), "");
    close_scope();
}

static const pith_array *
sum_to(pith_scope *in, const pith_array *i, const pith_array *x) {
    seen += (double)pith_read_i64(in, i);
    return pith_add(in, x, pith_cast(in, i, PITH_F64));
}
PITH_FUNCTION2(sum_to_step, sum_to, pith_array, pith_array, pith_array)
static const pith_array *below_ten(pith_scope *in, const pith_array *x) {
    return pith_bool(in, pith_read_f64(in, x) < 10);
}
PITH_FUNCTION1(below_ten_test, below_ten, pith_array, pith_array)

static const pith_array *loops(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_fori(in, 0, 4, &sum_to_step, x);
    y = pith_while(in, &below_ten_test, &reads_function, y);
    const pith_array *large = pith_greater(in, y, pith_f64(in, 3));
    return pith_cond(in, large, &reads_function, &reads_function, y);
}
PITH_FUNCTION1(loops_function, loops, pith_array, pith_array)

static const pith_array *whole(pith_scope *in, const pith_array *x) {
    return pith_call(in, pith_jit(in, &loops_function, NULL), PITH_ITEMS(x));
}
PITH_FUNCTION1(whole_function, whole, pith_array, pith_array)

Test(eager, bodies_and_functions_inside_do_too, .init = open_eager) {
    const pith_array *y =
        pith_apply(s, pith_jit(s, &whole_function, NULL), pith_f64(s, 1));
    pt_ok(s, y);
    cr_assert(pith_read_f64(s, y) == 11 && seen == 10 && runs == 4);
    close_scope();
}

/* ---- What stays ---- */

Test(eager, results_have_the_bits_of_compiled_ones) {
    unsigned char bytes[2][7 * 3 * sizeof(double)];
    for (int way = 0; way < 2; way++) {
        setenv("PITH_JIT", way ? "eager" : "wait", 1);
        open_scope();
        const pith_function *f = pith_jit(s, &drift_step, NULL);
        const Sim *sim = some_sim(7);
        for (int step = 0; step < 5; step++)
            sim = pith_apply(s, f, sim);
        pt_ok(s, pith_read(s, sim->atoms->position, bytes[way], sizeof bytes[way]));
        cr_assert(pith_read_i64(s, pith_cast(s, sim->count, PITH_I64)) == 5);
        cr_assert(runs == (way ? 5 : 1));
        close_scope();
    }
    cr_assert(!memcmp(bytes[0], bytes[1], sizeof bytes[0]));
}

static const pith_array *add_two(pith_scope *in, const pith_array *x) {
    const pith_array *one = pith_f64(in, 1);
    return pith_add(in, pith_add(in, x, one), one);
}
PITH_FUNCTION1(add_two_function, add_two, pith_array, pith_array)

Test(eager, what_is_made_beside_the_result_goes, .init = open_eager) {
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(1 << 16));
    const pith_function *f = pith_jit(s, &add_two_function, NULL);
    const size_t before = pith_scope_statistics(s).current;
    pt_ok(s, pith_apply(s, f, x));
    cr_assert(pith_scope_statistics(s).current - before < 2 * sizeof(double) << 16);
    close_scope();
}

Test(eager, what_is_donated_stays, .init = open_eager) {
    const pith_function *f = pith_jit(
        s, &reads_function, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const pith_array *x = pith_arange(s, PITH_F64, 4);
    pt_ok(s, pith_apply(s, f, x));
    cr_assert(element(x, 3) == 3);
    cr_assert(pith_jit_about(rt).donated == 0);
    close_scope();
}

Test(eager, what_is_static_has_to_be_there, .init = open_eager) {
    const pith_function *f = pith_jit(
        s, &power_function, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    cr_assert(pith_read_f64(s, pith_apply(s, f, pith_f64(s, 3), pith_i64(s, 4))) == 81);
    const pith_function *named = pith_jit(
        s, &drift_step, &(pith_jit_options){.static_paths = PITH_PATHS("[0].nothing")});
    pt_fails(PITH_E_PATH, s, pith_apply(s, named, some_sim(2)));
    close_scope();
}

static const pith_array *positive(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_greater(in, x, pith_f64(in, 0)), "{x} is not positive",
               .args = {{"x", x}}, .level = PITH_CHECK_ALWAYS);
    return pith_neg(in, x);
}
PITH_FUNCTION1(positive_function, positive, pith_array, pith_array)

Test(eager, checks_and_errors_are_those_of_the_function, .init = open_eager) {
    const pith_function *f = pith_jit(s, &positive_function, NULL);
    const pith_array *bad = pith_f64(s, -2);
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(bad));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 1 && !pith_result_all_pass(s, r));
    pt_fails(PITH_E_CHECK, s, (pith_apply(s, f, bad), pith_wait(s)));
    pt_says("-2.0 is not positive (test_eager.c:");
    pt_fails(PITH_E_TYPE, s, pith_apply(s, pith_jit(s, &drift_step, NULL), bad));
    pt_says("drift: argument 1: expected Sim, got an array");
    close_scope();
}

Test(eager, programs_are_shown_all_the_same, .init = open_eager) {
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    const Sim *sim = some_sim(2);
    const char *text = pith_program_text(s, f, PITH_ITEMS(sim));
    pt_ok(s, text);
    cr_assert(strstr(text, "add"), "%s", text);
    pt_ok(s, pith_eval_shape(s, f, PITH_ITEMS(sim)));
    close_scope();
}
