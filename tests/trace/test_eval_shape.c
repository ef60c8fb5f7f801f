/* Dtypes and shapes of results without their values: those that the call would have, and
 * nothing is computed, kept or read. */
#include "fail_allocator.h"
#include "jit_test.h"

/* That no memory holds: 8 TiB. */
enum { HUGE_COUNT = 1 << 20 };

static const pith_array *make_huge(pith_scope *in, const pith_array *x) {
    const pith_array *huge = pith_zeros(in, PITH_F64, PITH_SHAPE(HUGE_COUNT, HUGE_COUNT));
    return pith_add(in, huge, x);
}
static const void *sums(pith_scope *in, const pith_array *x) {
    const void *both[] = {pith_sum(in, x, PITH_AXES(0)), pith_less(in, x, x)};
    return pith_tuple_make(in, 2, both);
}
PITH_FUNCTION1(make_huge_function, make_huge, pith_array, pith_array)
PITH_FUNCTION1(sums_function, sums, void, pith_array)

static bool leaf_is(const pith_treedef *def, int64_t leaf, const char *text) {
    char got[PITHP_SPEC_TEXT_BYTES];
    const pith_spec *spec = pith_treedef_leaf_spec(def, leaf);
    cr_assert(spec);
    return !strcmp(pithp_spec_print(spec, got), text);
}

#define EVAL(f, ...) pith_eval_shape(s, f, PITH_ITEMS(__VA_ARGS__))

Test(eval_shape, is_the_structure_of_the_result, .init = open_scope) {
    const Sim *sim = some_sim(4);
    const pith_function *ways[] = {&drift_step, pith_jit(s, &drift_step, NULL)};
    for (int k = 0; k < 2; k++) {
        const pith_treedef *def = EVAL(ways[k], sim);
        pt_ok(s, def);
        cr_assert(runs == k + 1);
        cr_assert(pith_treedef_equal(def, pith_tree_structure(s, drift(s, sim))) &&
                  runs-- > 0);
        cr_assert(leaf_is(def, 0, "f64[4,3]") && leaf_is(def, 2, "i32[]"));
        cr_assert(!pith_treedef_leaf_spec(def, 3) && !pith_treedef_leaf_spec(def, -1));
    }
    const pith_jit_info info = pith_jit_about(rt);
    cr_assert(info.programs == 0 && info.misses == 0);
    close_scope();
}

Test(eval_shape, takes_structures_for_trees, .init = open_scope) {
    const pith_treedef *huge = EVAL(&make_huge_function, pith_f64(s, 1));
    pt_ok(s, huge);
    cr_assert(leaf_is(huge, 0, "f64[1048576,1048576]"));
    const pith_treedef *both = EVAL(&sums_function, huge);
    pt_ok(s, both);
    cr_assert(leaf_is(both, 0, "f64[1048576]"));
    cr_assert(leaf_is(both, 1, "bool[1048576,1048576]"));
    const Sim *sim = some_sim(2);
    const pith_treedef *next = EVAL(&drift_step, pith_tree_structure(s, sim));
    pt_ok(s, next);
    cr_assert(pith_treedef_equal(next, pith_tree_structure(s, sim)));
    close_scope();
}

static const pith_array *
scaled(pith_scope *in, const pith_array *x, const pith_array *by) {
    cr_assert(pith_is_traced(by));
    return pith_mul(in, x, by);
}
PITH_FUNCTION2(scaled_function, scaled, pith_array, pith_array, pith_array)

Test(eval_shape, bound_trees_are_not_computed_with, .init = open_scope) {
    const pith_array *by = pith_ones(s, PITH_F32, PITH_SHAPE(3, 1));
    const pith_function *f = pith_partial(s, &scaled_function, by);
    const pith_treedef *def = EVAL(f, pith_ones(s, PITH_F64, PITH_SHAPE(5)));
    pt_ok(s, def);
    cr_assert(leaf_is(def, 0, "f64[3,5]"));
    close_scope();
}

/* What a traced function would get, asked while it is traced. */
static const pith_array *pads(pith_scope *in, const pith_array *x) {
    const pith_treedef *def = pith_eval_shape(in, &sums_function, PITH_ITEMS(x));
    const int64_t n = pith_treedef_leaf_spec(def, 0)->shape[0];
    return pith_add(in, x, pith_full(in, PITH_F64, PITH_SHAPE(n), (double)n));
}
PITH_FUNCTION1(pads_function, pads, pith_array, pith_array)

Test(eval_shape, may_be_asked_in_a_trace, .init = open_scope) {
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 7));
    const pith_array *y = pith_apply(s, pith_jit(s, &pads_function, NULL), x);
    pt_ok(s, y);
    cr_assert(element(y, 13) == 7);
    const pith_treedef *def = EVAL(&pads_function, x);
    cr_assert(leaf_is(def, 0, "f64[2,7]"));
    close_scope();
}

static const pith_array *checked(pith_scope *in, const pith_array *x) {
    pith_check(in, pith_less(in, x, pith_f64(in, 0)), "{x} is not below 0",
               .args = {{"x", x}}, .level = PITH_CHECK_ALWAYS);
    return x;
}
PITH_FUNCTION1(checked_function, checked, pith_array, pith_array)

Test(eval_shape, checks_are_not_made, .init = open_scope) {
    const pith_treedef *def = EVAL(&checked_function, pith_f64(s, 1));
    pt_ok(s, def);
    pith_wait(s);
    pt_ok(s);
    close_scope();
}

Test(eval_shape, errors_are_those_of_the_function, .init = open_scope) {
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(3)), *two = pith_i64(s, 2);
    pt_fails(PITH_E_TRACED, s, EVAL(&power_function, x, two));
    pt_says("pith_read_i64");
    pt_says("jit_test.h:");
    pt_fails(PITH_E_SHAPE, s,
             EVAL(&scaled_function, x, pith_zeros(s, PITH_F64, PITH_SHAPE(4))));
    pt_says("test_eval_shape.c:");
    pt_fails(PITH_E_ARG, s, EVAL(&scaled_function, x));
    pt_says("pith_eval_shape: scaled: expected 2 arguments, got 1");
    pt_fails(PITH_E_TYPE, s, EVAL(&drift_step, x));
    pt_says("drift: argument 1: expected Sim, got an array");
    pt_fails(PITH_E_TYPE, s, EVAL(&drift_step, pith_tree_structure(s, x)));
    pt_fails(PITH_E_ARG, s, EVAL(&drift_step, NULL));
    const pith_function *f = pith_jit(
        s, &power_function, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    pt_fails(PITH_E_TRACED, s, EVAL(f, x, two));
    close_scope();
}

static bool any_node(const void *node, void *closure) {
    (void)closure;
    return node != NULL;
}
Test(eval_shape, places_for_any_tree_have_no_shape, .init = open_scope) {
    const void *list = pith_list_make(s, PITH_ITEMS(pith_f64(s, 1)));
    const pith_treedef *def = pith_tree_flatten_where(s, list, any_node, NULL, NULL);
    pt_ok(s, def);
    cr_assert(!pith_treedef_leaf_spec(def, 0));
    pt_fails(PITH_E_ARG, s, EVAL(&none_function, def));
    pt_says("pith_eval_shape: argument: the structure has places for any tree");
    close_scope();
}

static pith_status evaluate(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1);
    if (!pith_failed(s))
        pt_again(s, EVAL(&sums_function, EVAL(&make_huge_function, x)));
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(eval_shape, every_failure_of_memory_is_survived) {
    const pt_failures failures = pt_fail_each(evaluate);
    cr_assert(failures.allocations > 0);
}
