/* Compiled functions in hands that are new to them: what is said, and that a right call
 * works as before. */
#include "pith_test.h"

#include <pith/pith.h>

typedef struct {
    const pith_array *x, *v;
} Ball;
PITH_NODE(Ball, PITH_LEAF(x, "f64[n]"), PITH_LEAF(v, "f64[n]"))
typedef struct {
    const pith_array *x, *v;
} Bat;
PITH_NODE(Bat, PITH_LEAF(x, "f64[n]"), PITH_LEAF(v, "f64[n]"))

static const Ball *throw(pith_scope * in, const Ball *b, const pith_array *dt) {
    Ball next = *b;
    next.x = pith_add(in, b->x, pith_mul(in, b->v, dt));
    return pith_freeze(in, Ball, &next);
}
PITH_FUNCTION2(throw_step, throw, Ball, Ball, pith_array)

static pith_runtime *rt;
static pith_scope *s;
static const pith_function *f;
static const Ball *ball;
static const pith_array *dt;

static const Ball *make(pith_scope *in) {
    const Ball b = {pith_ones(in, PITH_F64, PITH_SHAPE(3)),
                    pith_ones(in, PITH_F64, PITH_SHAPE(3))};
    return pith_freeze(in, Ball, &b);
}
static const void *call(pith_scope *in, const void *first, const void *second) {
    return pith_apply(in, f, first, second);
}
static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    f = pith_jit(s, &throw_step, NULL);
    ball = make(s);
    dt = pith_f64(s, 0.5);
    pt_ok(s, call(s, ball, dt));
}
/* The program is still there and right. */
static void end(void) {
    const int64_t misses = pith_jit_about(rt).misses;
    const Ball *next = call(s, ball, dt);
    pt_ok(s, next);
    double x[3];
    pt_ok(s, pith_read(s, next->x, x, sizeof x));
    cr_assert(x[2] == 1.5 && pith_jit_about(rt).misses == misses);
    pith_scope_close(s);
    pt_close(rt);
}
#define SAYS(code, expr, text)                                                           \
    do {                                                                                 \
        pt_fails(code, s, expr);                                                         \
        pt_says(text);                                                                   \
    } while (0)

Test(wrong_calls, wrong_arguments_are_named, .init = begin) {
    SAYS(PITH_E_ARG, pith_apply(s, f, ball), "throw: expected 2 arguments, got 1");
    SAYS(PITH_E_ARG, pith_call(s, f, 0, NULL), "expected 2 arguments, got 0");
    SAYS(PITH_E_ARG, pith_call(s, f, 2, NULL), "throw: the arguments are NULL");
    SAYS(PITH_E_ARG, call(s, ball, NULL), "throw: argument 2: expected a tree, got ");
    SAYS(PITH_E_TYPE, call(s, dt, dt), "argument 1: expected Ball, got an array");
    SAYS(PITH_E_TYPE, call(s, ball, ball),
         "argument 2: expected an array, got a record of Ball");
    const Bat bat = {ball->x, ball->v};
    SAYS(PITH_E_TYPE, call(s, pith_freeze(s, Bat, &bat), dt),
         "argument 1: expected Ball, got a record of Bat");
    const Ball loose = *ball;
    SAYS(PITH_E_ARG, call(s, &loose, dt), "argument 1: expected a tree, got a pointer");
    SAYS(PITH_E_ARG, call(s, (const void *)f, dt), "argument 1: expected a tree, got");
    SAYS(PITH_E_ARG, call(s, (const char *)ball + 8, dt), "argument 1: expected a tree");
    end();
}

static const Ball *swap(pith_scope *in, const Ball *b) {
    const Bat bat = {b->v, b->x};
    return (const void *)pith_freeze(in, Bat, &bat);
}
PITH_FUNCTION1(swap_step, swap, Ball, Ball)

Test(wrong_calls, a_result_of_another_type_is_refused_each_time, .init = begin) {
    const pith_function *wrong = pith_jit(s, &swap_step, NULL);
    for (int round = 0; round < 3; round++)
        SAYS(PITH_E_TYPE, pith_apply(s, wrong, ball),
             "swap: result: expected Ball, got a record of Bat");
    end();
}

Test(wrong_calls, what_is_gone_is_noticed, .init = begin) {
    pith_scope *in = pith_scope_open_in(s);
    const Ball *gone = make(in);
    const pith_function *g = pith_jit(in, &throw_step, NULL);
    pt_ok(in, pith_apply(in, g, gone, dt));
    pith_scope_close(in);
    SAYS(PITH_E_ARG, call(s, gone, dt), "freed: its scope is closed");
    SAYS(PITH_E_SCOPE, pith_apply(s, g, ball, dt),
         "pith_call: the scope of the function is closed");
    SAYS(PITH_E_SCOPE, pith_explain_miss(s, g), "the scope of the function is closed");
    const pith_array *dropped = pith_f64(s, 2);
    pith_drop(s, dropped);
    SAYS(PITH_E_ARG, call(s, ball, dropped),
         "argument 2: expected a tree, got a pointer");
    const Ball *nil = pith_apply(in, f, ball, dt);
    cr_assert(nil && !nil->x && pith_code(in) == PITH_E_SCOPE);
    SAYS(PITH_E_ARG, call(s, nil, dt), "argument 1: ");
    end();
}

Test(wrong_calls, a_leaf_that_was_donated_is_found_in_its_tree, .init = begin) {
    const pith_function *g = pith_jit(
        s, &throw_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const Ball large = {pith_ones(s, PITH_F64, PITH_SHAPE(10000)),
                        pith_ones(s, PITH_F64, PITH_SHAPE(10000))};
    const Ball *given = pith_freeze(s, Ball, &large);
    pt_ok(s, pith_apply(s, g, given, dt));
    SAYS(PITH_E_DONATED, call(s, given, dt), ".x: ");
    SAYS(PITH_E_DONATED, pith_apply(s, g, given, dt), "donated at test_wrong_calls.c:");
    end();
}

Test(wrong_calls, runtimes_are_not_mixed, .init = begin) {
    pith_runtime *other = pt_open();
    pith_scope *there = pith_scope_open(other);
    const Ball *foreign = make(there);
    SAYS(PITH_E_ARG, call(s, foreign, dt), "argument 1: ");
    pt_fails(PITH_E_ARG, there, call(there, foreign, pith_f64(there, 1)));
    const Ball mixed = {ball->x, foreign->v};
    SAYS(PITH_E_ARG, pith_freeze(s, Ball, &mixed), ".v");
    pith_scope_close(there);
    pt_close(other);
    SAYS(PITH_E_ARG, call(s, foreign, dt), "argument 1: ");
    end();
}

Test(wrong_calls, a_runtime_that_could_not_be_opened_has_no_programs) {
    pith_runtime *none = pith_open(&(pith_open_options){.device = "abacus"});
    cr_assert(pith_runtime_code(none) != PITH_OK);
    pith_jit_clear(none);
    pith_jit_set_limits(none, 1, 1);
    cr_assert(pith_jit_about(none).programs == 0);
    pith_close(none);
}

Test(wrong_calls, a_runtime_closes_with_functions_that_were_kept, .init = begin) {
    pith_scope *in = pith_scope_open(rt);
    const pith_function *kept = pith_keep(in, f);
    pt_ok(in, pith_apply(in, kept, ball, dt));
    pith_scope_close(s);
    s = in;
    ball = make(s);
    dt = pith_f64(s, 0.5);
    f = kept;
    pt_ok(s, call(s, ball, dt));
    pt_close(rt); /* with the scope open, and the program in its seat */
}
