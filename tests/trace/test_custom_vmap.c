/* Functions with a rule of the user for batches: which arguments the rule gets, its
 * result, derivatives, nested batches, and errors of rules. */
#include "fail_allocator.h"
#include "vmap_test.h"

/* x * y, whose rule adds 1000 to tell that it ran, and 100 times the set of mapped
 * arguments. */
static const pith_array *
product(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_mul(in, x, y);
}
PITH_FUNCTION2(product_of, product, pith_array, pith_array, pith_array)

static int64_t seen_size, seen_mapped, calls;
static const pith_array *told(pith_scope *in, const pith_vmap_call *call) {
    const pith_array *x = pith_child(call->arguments, 0),
                     *y = pith_child(call->arguments, 1);
    seen_size = call->size;
    seen_mapped = call->mapped;
    calls++;
    const pith_array *z =
        pith_add(in, pith_mul(in, x, y), 1000 + 100 * (double)call->mapped);
    return call->mapped ? z : pith_broadcast_to(in, z, PITH_SHAPE(call->size));
}
PITH_FUNCTION1(told_rule, told, pith_array, pith_vmap_call)

static void told_is(const pith_array *z, int64_t mapped, double x, double y) {
    pt_ok(s, z);
    cr_assert(seen_size == 3 && seen_mapped == mapped);
    const pith_array *last = entry_of(z, 2, 0);
    cr_assert(pith_read_f64(s, last) == x * y + 1000 + 100 * (double)mapped);
}

Test(custom_vmap, the_rule_stands_for_the_function_in_batches, .init = open_scope) {
    const pith_function *f = pith_custom_vmap(s, &product_of, &told_rule);
    const pith_array *x = numbers(PITH_SHAPE(3)), *two = pith_f64(s, 2);
    cr_assert(pith_read_f64(s, pith_apply(s, f, two, two)) == 4 && !calls);
    cr_assert(pith_read_f64(s, pith_apply(s, pith_jit(s, f, NULL), two, two)) == 4);
    cr_assert(!calls);
    const pith_vmap_options second = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})},
                            first = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    told_is(pith_apply(s, pith_vmap(s, f, NULL), x, x), 3, 2.5, 2.5);
    told_is(pith_apply(s, pith_vmap(s, f, &first), x, two), 1, 2.5, 2);
    told_is(pith_apply(s, pith_vmap(s, f, &second), two, x), 2, 2, 2.5);
    const pith_vmap_options none = {
        .in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}, {"[1]", PITH_NOT_MAPPED}), .size = 3};
    calls = 0;
    const pith_array *z = pith_apply(s, pith_vmap(s, f, &none), two, two);
    cr_assert(pith_read_f64(s, entry_of(z, 1, 0)) == 4 && !calls);
    close_scope();
}

/* ---- Trees ---- */

typedef struct {
    const pith_array *mass, *position;
} Body;
PITH_NODE(Body, PITH_LEAF(mass, "f64[]"), PITH_LEAF(position, "f64[n]"))
static const Body *shift(pith_scope *in, const Body *body) {
    return pith_record(in, Body, .mass = pith_mul(in, body->mass, 2),
                       .position = pith_mul(in, body->position, body->mass));
}
PITH_FUNCTION1(shift_of, shift, Body, Body)
static const Body *shift_all(pith_scope *in, const pith_vmap_call *call) {
    const Body *body = call->arguments;
    return pith_record(
        in, Body, .mass = pith_mul(in, body->mass, 2),
        .position =
            pith_mul(in, body->position, pith_expand_dims(in, body->mass, PITH_AXES(1))));
}
PITH_FUNCTION1(shift_rule, shift_all, Body, pith_vmap_call)

static const Body *some_bodies(int64_t n) {
    return pith_record(s, Body, .mass = numbers(PITH_SHAPE(n)),
                       .position = numbers(PITH_SHAPE(n, 3)));
}

Test(custom_vmap, one_argument_is_itself, .init = open_scope) {
    const Body *many = some_bodies(4);
    const Body *got = pith_apply(
        s, pith_vmap(s, pith_custom_vmap(s, &shift_of, &shift_rule), NULL), many);
    const Body *wanted = pith_apply(s, pith_vmap(s, &shift_of, NULL), many);
    pt_ok(s, got && wanted);
    same_bits(got->mass, wanted->mass);
    same_bits(got->position, wanted->position);
    close_scope();
}

/* ---- Derivatives and nested batches ---- */

static bool custom;
static const pith_array *
energy(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_function *f =
        custom ? pith_custom_vmap(in, &product_of, &told_rule) : &product_of;
    return pith_mul(in, pith_apply(in, f, x, y), x);
}
PITH_FUNCTION2(energy_of, energy, pith_array, pith_array, pith_array)

Test(custom_vmap, derivatives_are_those_of_the_function, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    const pith_function *g = pith_grad(s, &energy_of, NULL);
    custom = true;
    const pith_array *got = pith_apply(s, g, pith_f64(s, 3), pith_f64(s, 5));
    cr_assert(pith_read_f64(s, got) == 30);
    /* y x is the rule's in a batch: y x + 1300, and its derivative y. */
    got = pith_apply(s, pith_vmap(s, g, NULL), x, x);
    for (int64_t i = 0; i < 3; i++) {
        const double a = 0.5 + (double)i;
        cr_assert(pith_read_f64(s, entry_of(got, i, 0)) == a * a + 1300 + a * a);
    }
    close_scope();
}

Test(custom_vmap, batches_of_batches_batch_the_rule, .init = open_scope) {
    const pith_function *f = pith_custom_vmap(s, &product_of, &told_rule);
    const pith_array *x = numbers(PITH_SHAPE(2, 3));
    const pith_array *z = pith_apply(s, pith_vmap(s, pith_vmap(s, f, NULL), NULL), x, x);
    same_bits(z, pith_add(s, pith_mul(s, x, x), 1300));
    cr_assert(seen_size == 3);
    close_scope();
}

static const pith_array *taken(pith_scope *in, const pith_array *x) {
    return pith_apply(in, pith_custom_vmap(in, &product_of, &told_rule), x, x);
}
static const pith_array *not_taken(pith_scope *in, const pith_array *x) {
    return pith_neg(in, x);
}
PITH_FUNCTION1(taken_of, taken, pith_array, pith_array)
PITH_FUNCTION1(not_taken_of, not_taken, pith_array, pith_array)
static const pith_array *
if_true(pith_scope *in, const pith_array *p, const pith_array *x) {
    return pith_cond(in, pith_greater(in, p, 0), &taken_of, &not_taken_of, x);
}
PITH_FUNCTION2(if_true_of, if_true, pith_array, pith_array, pith_array)

Test(custom_vmap, in_a_branch_that_entries_choose_all_is_mapped, .init = open_scope) {
    const pith_array *p = PITH_VECTOR(s, f64, 1, -1, 1), *x = numbers(PITH_SHAPE(3));
    same_bits(pith_apply(s, pith_vmap(s, &if_true_of, NULL), p, x),
              PITH_VECTOR(s, f64, 0.25 + 1300, -1.5, 6.25 + 1300));
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    same_bits(pith_apply(s, pith_vmap(s, &if_true_of, &shared), p, pith_f64(s, 3)),
              PITH_VECTOR(s, f64, 9 + 1300, -3, 9 + 1300));
    close_scope();
}

/* ---- Functions that cannot be batched ---- */

/* An entry has rank 8 on the way: an axis more is too many. */
static const pith_array *detour(pith_scope *in, const pith_array *x) {
    const pith_array *deep =
        pith_broadcast_to(in, pith_exp(in, x), PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    return pith_sum(in, pith_mul(in, deep, deep), PITH_ALL_AXES);
}
static int64_t sizes[4], size_count;
static const pith_array *straight(pith_scope *in, const pith_vmap_call *call) {
    const pith_array *e = pith_exp(in, call->arguments);
    if (size_count < 4)
        sizes[size_count++] = call->size;
    return pith_mul(in, e, e);
}
PITH_FUNCTION1(detour_of, detour, pith_array, pith_array)
PITH_FUNCTION1(straight_rule, straight, pith_array, pith_vmap_call)
static const pith_array *by_rule(pith_scope *in, const pith_array *x) {
    return pith_apply(in, pith_custom_vmap(in, &detour_of, &straight_rule), x);
}
PITH_FUNCTION1(by_rule_of, by_rule, pith_array, pith_array)
static const pith_array *
turned(pith_scope *in, const pith_array *i, const pith_array *x) {
    const pith_array *factor = pith_cast(in, pith_add(in, i, 1), PITH_F64);
    return pith_mul(in, by_rule(in, pith_mul(in, x, 0.25)), factor);
}
PITH_FUNCTION2(turned_of, turned, pith_array, pith_array, pith_array)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_fori(in, 0, 3, &turned_of, x);
}
PITH_FUNCTION1(looped_of, looped, pith_array, pith_array)

Test(custom_vmap, the_function_itself_is_not_batched, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(5));
    pt_fails(PITH_E_SHAPE, s, pith_apply(s, pith_vmap(s, &detour_of, NULL), x));
    static const pith_function *const functions[] = {&by_rule_of, &looped_of};
    for (int f = 0; f < 2; f++)
        for (int64_t chunk = 0; chunk < 4; chunk++) {
            const pith_vmap_options o = {.chunk = chunk};
            const pith_array *all = pith_apply(s, pith_vmap(s, functions[f], &o), x);
            for (int64_t i = 0; i < 5; i++)
                same_bits(entry_of(all, i, 0),
                          pith_apply(s, functions[f], entry_of(x, i, 0)));
        }
    const pith_array *two = numbers(PITH_SHAPE(2, 3));
    same_bits(pith_apply(s, pith_vmap(s, pith_vmap(s, &by_rule_of, NULL), NULL), two),
              pith_square(s, pith_exp(s, two)));
    close_scope();
}

/* A function of the rule's function, whose results only some calls use. */
static const pith_array *outer_rule_sum(pith_scope *in, const pith_array *x) {
    const pith_function *inner = pith_custom_vmap(in, &detour_of, &straight_rule);
    return pith_add(in, pith_apply(in, inner, x), pith_apply(in, inner, pith_f64(in, 1)));
}
PITH_FUNCTION1(outer_rule_sum_of, outer_rule_sum, pith_array, pith_array)
static const pith_array *not_batched(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_custom_vmap(in, &outer_rule_sum_of, &straight_rule);
    return pith_add(in, pith_apply(in, f, pith_f64(in, 2)), x);
}
PITH_FUNCTION1(not_batched_of, not_batched, pith_array, pith_array)

Test(custom_vmap, calls_without_a_batched_argument_run_the_function, .init = open_scope) {
    static const pith_function *const functions[] = {&outer_rule_sum_of, &not_batched_of};
    const pith_array *x = numbers(PITH_SHAPE(5));
    for (int f = 0; f < 2; f++) {
        const pith_array *all = pith_apply(s, pith_vmap(s, functions[f], NULL), x);
        for (int64_t i = 0; i < 5; i++)
            same_bits(entry_of(all, i, 0),
                      pith_apply(s, functions[f], entry_of(x, i, 0)));
    }
    close_scope();
}

Test(custom_vmap, the_rule_gets_the_whole_batch, .init = open_scope) {
    enum { MANY = 5000 }; /* a loop that the host would run in blocks */
    size_count = 0;
    pt_ok(s, pith_apply(s, pith_vmap(s, &looped_of, NULL),
                        pith_mul(s, numbers(PITH_SHAPE(MANY)), 1e-4)));
    cr_assert(size_count == 1 && sizes[0] == MANY, "%d", (int)sizes[0]);
    const pith_vmap_options chunks = {.chunk = 2000};
    size_count = 0;
    pt_ok(s, pith_apply(s, pith_vmap(s, &looped_of, &chunks),
                        pith_mul(s, numbers(PITH_SHAPE(MANY)), 1e-4)));
    cr_assert(size_count == 2 && sizes[0] == 2000 && sizes[1] == 1000);
    close_scope();
}

/* ---- Checks of rules in batches in chunks ---- */

/* x is the argument, of all entries; most is a number of the batch. */
static const pith_array *checked(pith_scope *in, const pith_vmap_call *call) {
    const pith_array *x = call->arguments,
                     *most = pith_max(in, pith_abs(in, x), PITH_ALL_AXES);
    pith_check(in, pith_less(in, x, 10.0), "x is {x}, at most {most}",
               .args = {{"x", x}, {"most", most}}, .level = PITH_CHECK_ALWAYS);
    pith_check(in, pith_less(in, most, 1000.0), "{most} in all", .args = {{"most", most}},
               .level = PITH_CHECK_ALWAYS);
    return pith_mul(in, x, 2.0);
}
static const pith_array *doubled(pith_scope *in, const pith_array *x) {
    return pith_mul(in, x, 2.0);
}
PITH_FUNCTION1(checked_rule, checked, pith_array, pith_vmap_call)
PITH_FUNCTION1(doubled_of, doubled, pith_array, pith_array)
static const pith_array *by_checked(pith_scope *in, const pith_array *x) {
    return pith_apply(in, pith_custom_vmap(in, &doubled_of, &checked_rule), x);
}
PITH_FUNCTION1(by_checked_of, by_checked, pith_array, pith_array)

static const char *
message_of(const pith_function *f, const pith_array *x, int64_t checks) {
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x));
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == checks, "%d checks",
              (int)pith_result_count(s, r));
    same_bits(pith_result_value(r), pith_mul(s, x, 2.0));
    return pith_result_failed(s, r)
               ? pith_assertion_message(s, pith_result_get_failed(s, r, 0))
               : "";
}

Test(custom_vmap, checks_of_rules_count_entries_of_all_chunks, .init = open_scope) {
    for (int64_t chunk = 0; chunk < 8; chunk++) {
        const pith_vmap_options o = {.chunk = chunk};
        const pith_function *all = pith_vmap(s, &by_checked_of, &o);
        for (int entry = 0; entry < 7; entry++) {
            double x[14];
            char text[200];
            for (int k = 0; k < 14; k++)
                x[k] = k == 2 * entry + 1 || k == 13 ? 20 + k : 1;
            const int64_t width = chunk ? chunk : 7, part = entry / width;
            const int most = (part + 1) * width >= 7 ? 33 : 21 + 2 * entry;
            const char *got =
                message_of(all, pith_array_copy(s, PITH_F64, PITH_SHAPE(7, 2), x), 2);
            snprintf(text, sizeof text, "at most %d.0 (first failing index [%d, 1])",
                     most, entry);
            cr_assert(strstr(got, text), "chunk %d: %s, not %s", (int)chunk, got, text);
            cr_assert(!strncmp(got, "x is [", 6));
        }
        cr_assert_str_eq(message_of(all, pith_ones(s, PITH_F64, PITH_SHAPE(7, 2)), 2),
                         "");
    }
    close_scope();
}

/* The rule in a loop of an entry, in batches in chunks of batches in chunks. */
static const pith_array *
checked_turn(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_mul(in, by_checked(in, x), 0.5);
}
PITH_FUNCTION2(checked_turn_of, checked_turn, pith_array, pith_array, pith_array)
static const pith_array *checked_loop(pith_scope *in, const pith_array *x) {
    return pith_mul(in, pith_fori(in, 0, 3, &checked_turn_of, x), 2.0);
}
PITH_FUNCTION1(checked_loop_of, checked_loop, pith_array, pith_array)

Test(custom_vmap, checks_of_rules_count_in_nests, .init = open_scope) {
    static const pith_function *const functions[] = {&by_checked_of, &checked_loop_of};
    for (int64_t k = 0; k < 32; k++) {
        const pith_vmap_options inner = {.chunk = k / 2 % 4}, outer = {.chunk = k / 8};
        const pith_function *all =
            pith_vmap(s, pith_vmap(s, functions[k % 2], &inner), &outer);
        for (int entry = 0; entry < 15; entry++) {
            double x[15];
            char text[80];
            for (int i = 0; i < 15; i++)
                x[i] = i == entry || i == 14 ? 20 + i : 0.5;
            snprintf(text, sizeof text, "(first failing index [%d, %d])", entry / 5,
                     entry % 5);
            const char *got =
                message_of(all, pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 5), x), 2);
            cr_assert(strstr(got, text), "%d: %s, not %s", (int)k, got, text);
        }
        cr_assert_str_eq(message_of(all, pith_ones(s, PITH_F64, PITH_SHAPE(3, 5)), 2),
                         "");
    }
    close_scope();
}

static pith_status chunks_in_little_memory(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_vmap_options two = {.chunk = 2};
    const pith_function *all = NULL;
    if (!pith_failed(s))
        pt_again(s, all = pith_vmap(s, &by_checked_of, &two));
    if (!pith_failed(s))
        pt_again(s, pith_apply(s, all, PITH_VECTOR(s, f64, 1, 2, 3, 4, 5)));
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(custom_vmap, chunks_with_checks_in_little_memory, .timeout = 300) {
    const pt_failures f = pt_fail_each(chunks_in_little_memory);
    cr_assert(f.allocations > 100 && f.errors > 5, "%d of %d", f.errors, f.allocations);
}

/* ---- Both kinds of rules ---- */

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[]"), PITH_LEAF(tangent, "f64[]"))
static const Pushed *push(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_record(in, Pushed, .value = pith_sin(in, x),
                       .tangent = pith_mul(in, t, 7));
}
static const pith_array *wave(pith_scope *in, const pith_array *x) {
    return pith_sin(in, x);
}
static const pith_array *wave_all(pith_scope *in, const pith_vmap_call *call) {
    return pith_add(in, pith_sin(in, call->arguments), 50);
}
PITH_FUNCTION2(push_rule, push, Pushed, pith_array, pith_array)
PITH_FUNCTION1(wave_of, wave, pith_array, pith_array)
PITH_FUNCTION1(wave_rule, wave_all, pith_array, pith_vmap_call)

Test(custom_vmap, goes_with_rules_for_derivatives, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    for (int order = 0; order < 2; order++) {
        const pith_function *f =
            order ? pith_custom_jvp(s, pith_custom_vmap(s, &wave_of, &wave_rule),
                                    &push_rule)
                  : pith_custom_vmap(s, pith_custom_jvp(s, &wave_of, &push_rule),
                                     &wave_rule);
        same_bits(pith_apply(s, pith_vmap(s, f, NULL), x),
                  pith_add(s, pith_sin(s, x), 50));
        same_bits(pith_apply(s, pith_vmap(s, pith_grad(s, f, NULL), NULL), x),
                  pith_full(s, PITH_F64, PITH_SHAPE(3), 7));
    }
    close_scope();
}

/* ---- Errors ---- */

static const pith_array *no_axis(pith_scope *in, const pith_vmap_call *call) {
    return pith_sum(in, pith_child(call->arguments, 0), PITH_ALL_AXES);
}
static const void *another_tree(pith_scope *in, const pith_vmap_call *call) {
    return pith_tuple_make(in, PITH_ITEMS(pith_child(call->arguments, 0)));
}
static const pith_array *another_dtype(pith_scope *in, const pith_vmap_call *call) {
    return pith_cast(in, pith_child(call->arguments, 0), PITH_F32);
}
static const Body *short_body(pith_scope *in, const pith_vmap_call *call) {
    const Body *body = call->arguments;
    return pith_record(
        in, Body, .mass = body->mass,
        .position = pith_slice_array(in, body->position, 2,
                                     (pith_slice[]){PITH_WHOLE, PITH_SLICE(0, 2, 1)}));
}
PITH_FUNCTION1(no_axis_rule, no_axis, pith_array, pith_vmap_call)
PITH_FUNCTION1(another_tree_rule, another_tree, void, pith_vmap_call)
PITH_FUNCTION1(another_dtype_rule, another_dtype, pith_array, pith_vmap_call)
PITH_FUNCTION1(short_body_rule, short_body, Body, pith_vmap_call)

Test(custom_vmap, results_of_rules_are_checked, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    static const struct {
        const pith_function *rule;
        pith_status code;
        const char *text;
    } wrong[] = {{&no_axis_rule, PITH_E_SHAPE, "expected f64[3], got f64[]"},
                 {&another_tree_rule, PITH_E_STRUCTURE, "no_axis"},
                 {&another_dtype_rule, PITH_E_DTYPE, "f32[3]"}};
    for (int k = 0; k < 3; k++) {
        const pith_function *f = pith_custom_vmap(s, &product_of, wrong[k].rule);
        pt_fails(wrong[k].code, s, pith_apply(s, pith_vmap(s, f, NULL), x, x));
        pt_says("pith_custom_vmap");
        pt_says(wrong[k].rule->name);
        if (k != 1)
            pt_says(wrong[k].text);
    }
    const pith_function *f = pith_custom_vmap(s, &shift_of, &short_body_rule);
    pt_fails(PITH_E_SHAPE, s, pith_apply(s, pith_vmap(s, f, NULL), some_bodies(4)));
    cr_assert_str_eq(pt_error.path, ".position", "%s", pt_error.path);
    pt_fails(PITH_E_ARG, s, pith_custom_vmap(s, &product_of, &product_of));
    pt_says("expected a function of 1 tree, got product of 2");
    close_scope();
}

static const pith_array *bound(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_function *f =
        pith_custom_vmap(in, pith_partial(in, &product_of, y), &wave_rule);
    return pith_apply(in, f, x);
}
PITH_FUNCTION2(bound_of, bound, pith_array, pith_array, pith_array)

Test(custom_vmap, bound_trees_must_be_shared, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    const pith_vmap_options first = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    same_bits(pith_apply(s, pith_vmap(s, &bound_of, &first), x, pith_f64(s, 2)),
              pith_add(s, pith_sin(s, x), 50));
    pt_fails(PITH_E_ARG, s, pith_apply(s, pith_vmap(s, &bound_of, NULL), x, x));
    pt_says("a tree that is bound in it is batched; make it an argument");
    close_scope();
}

static pith_status in_little_memory(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3);
    custom = true;
    if (!pith_failed(s))
        pt_again(s, pith_apply(s, pith_vmap(s, &energy_of, NULL), x, x));
    if (!pith_failed(s))
        pt_again(s,
                 pith_apply(s, pith_vmap(s, pith_grad(s, &energy_of, NULL), NULL), x, x));
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(custom_vmap, survives_each_failed_allocation, .timeout = 300) {
    const pt_failures f = pt_fail_each(in_little_memory);
    cr_assert(f.allocations > 50, "%d allocations, %d errors", f.allocations, f.errors);
}
