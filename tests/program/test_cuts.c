/* Cuts: inputs all of whose paths to results are constant almost everywhere are refused,
 * with the calls at which their tangents end. */
#include "graph_test.h"
#include "program/derive/derive.h"

typedef struct building {
    pith_runtime *rt;
    pith_scope *s;
    pithp_program *p;
} building;

static building begin(void) {
    building b = {.rt = pt_open()};
    b.s = pith_scope_open(b.rt);
    b.p = pithp_program_make(b.s);
    return b;
}

static void end(building *b) {
    pt_ok(b->s);
    pithp_program_release(b->p);
    pith_scope_close(b->s);
    pt_close(b->rt);
}

static pithp_value in(building *b) {
    return graph_input(b->s, b->p, PITH_F64, 3);
}

static pithp_value
at(building *b, pithp_primitive op, pithp_value x, pithp_value y, const char *site) {
    const pithp_value operands[2] = {x, y};
    return pithp_program_add(b->s, b->p, op, y >= 0 ? 2 : 1, operands, NULL, site);
}

static pithp_value cast(building *b, pithp_value x, pith_dtype to, const char *site) {
    return pithp_program_add(b->s, b->p, PITHP_OP_CAST, 1, &x, &(pithp_cast_params){to},
                             site);
}

static void out(building *b, pithp_value v) {
    pithp_program_output(b->s, b->p, v);
}

/* Derive in all inputs that are floats. */
static bool derives(building *b, const pithp_derive_options *options) {
    bool moving[GRAPH_MOST], moves[GRAPH_MOST];
    pithp_linearization l;
    for (int64_t k = 0; k < b->p->input_count; k++)
        moving[k] = pith_dtype_is_float(pithp_value_spec(b->p, b->p->inputs[k])->dtype);
    pithp_program *jvp = pithp_program_jvp(b->s, b->p, moving, options, moves);
    if (!jvp)
        return false;
    pithp_program_release(jvp);
    pt_ok(b->s, pithp_program_linearize(b->s, b->p, moving, options, moves, &l));
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    return true;
}

/* Refused, unless cuts are zero. */
static void expect_cut(building *b, const char *path, const char *text) {
    static const char *const names[] = {"x", "y", "z"};
    const pithp_derive_options named = {.names = names};
    pt_ok(b->s);
    pt_ok(b->s, derives(b, &(pithp_derive_options){.cuts_are_zero = true}));
    pt_fails(PITH_E_DERIVATIVE, b->s, derives(b, &named));
    pt_says(path);
    pt_says(text);
}

static void expect_uncut(building *b) {
    pt_ok(b->s);
    pt_ok(b->s, derives(b, NULL));
}

Test(cuts, a_call) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    out(&b, at(&b, PITHP_OP_MUL, x, at(&b, PITHP_OP_FLOOR, y, -1, "a/f.c:7"), "f.c:8"));
    expect_cut(&b, "y: every path", "to the result is cut, by floor at f.c:7, which is");
    end(&b);
}

Test(cuts, an_input_without_a_name_has_a_number) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    out(&b, at(&b, PITHP_OP_MUL, x, at(&b, PITHP_OP_SIGN, y, -1, "f.c:7"), "f.c:8"));
    pt_fails(PITH_E_DERIVATIVE, b.s, derives(&b, NULL));
    pt_says("input 1: every path to the result is cut, by sign at f.c:7");
    end(&b);
}

Test(cuts, an_uncut_path_is_enough) {
    building b = begin();
    const pithp_value x = in(&b);
    out(&b, at(&b, PITHP_OP_ADD, at(&b, PITHP_OP_FLOOR, x, -1, "f.c:1"),
               at(&b, PITHP_OP_SIN, x, -1, "f.c:2"), "f.c:3"));
    expect_uncut(&b);
    end(&b);
}

Test(cuts, an_input_that_no_result_depends_on_is_not_refused) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    at(&b, PITHP_OP_FLOOR, y, -1, "f.c:1");
    out(&b, x);
    expect_uncut(&b);
    end(&b);
}

/* Before and after a cut. */
Test(cuts, a_path_that_ends_in_stop_gradient_is_no_path) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b), z = in(&b);
    const pithp_value a = at(&b, PITHP_OP_STOP_GRADIENT, y, -1, "f.c:1"),
                      c = at(&b, PITHP_OP_STOP_GRADIENT,
                             at(&b, PITHP_OP_FLOOR, z, -1, "f.c:2"), -1, "f.c:3");
    out(&b, at(&b, PITHP_OP_ADD, x,
               at(&b, PITHP_OP_ADD, at(&b, PITHP_OP_ROUND, a, -1, "f.c:4"), c, "f.c:5"),
               "f.c:6"));
    expect_uncut(&b);
    end(&b);
}

/* Through integers and a condition; each call once. */
Test(cuts, the_calls_at_which_tangents_end) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    const pithp_value n = cast(&b, y, PITH_I64, "f.c:1"),
                      back = cast(&b, at(&b, PITHP_OP_NEG, n, -1, "f.c:2"), PITH_F64,
                                  "f.c:3");
    const pithp_value less = at(&b, PITHP_OP_LT, y, back, "f.c:4");
    const pithp_value again = at(&b, PITHP_OP_LT, y, x, "f.c:4");
    const pithp_value both = at(&b, PITHP_OP_LOGICAL_AND, less, again, "f.c:5");
    const pithp_value operands[3] = {both, x, back};
    out(&b, pithp_program_add(b.s, b.p, PITHP_OP_WHERE, 3, operands, NULL, "f.c:6"));
    expect_cut(&b, "y: every path",
               "cut, by cast at f.c:1 and lt at f.c:4, which are constant almost "
               "everywhere; PITH_CUTS_ARE_ZERO makes the derivative 0");
    end(&b);
}

Test(cuts, many_calls_are_counted) {
    static const char *const sites[] = {"f.c:1", "f.c:2", "f.c:3", "f.c:4", "f.c:5"};
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    pithp_value sum = x;
    for (int k = 0; k < 5; k++)
        sum = at(&b, PITHP_OP_ADD, sum, at(&b, PITHP_OP_CEIL, y, -1, sites[k]), "f.c:9");
    out(&b, sum);
    expect_cut(&b, "y: every path",
               "ceil at f.c:1, ceil at f.c:2, ceil at f.c:3 and 2 more, which");
    end(&b);
}

/* The signs of copysign and the exponent of ldexp. */
Test(cuts, operands_in_which_a_row_is_constant) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    out(&b, at(&b, PITHP_OP_LDEXP, at(&b, PITHP_OP_COPYSIGN, x, y, "f.c:1"), y, "f.c:2"));
    expect_cut(&b, "y: every path", "by copysign at f.c:1 and ldexp at f.c:2");
    end(&b);
}

/* Integer results count, checks do not. */
Test(cuts, the_outputs_that_are_results) {
    building b = begin();
    const pithp_value x = in(&b), y = in(&b);
    out(&b, x);
    out(&b, at(&b, PITHP_OP_LT, y, x, "f.c:1"));
    expect_cut(&b, "y: every path", "by lt at f.c:1");
    pt_ok(b.s, derives(&b, &(pithp_derive_options){.results = (bool[]){true, false}}));
    end(&b);
}

/* ---- Control flow ---- */

/* x -> op(x), with a site */
static pithp_program *one_call(building *b, pithp_primitive op, const char *site) {
    building inner = *b;
    inner.p = pithp_program_make(b->s);
    const pithp_value x = in(&inner);
    out(&inner, at(&inner, op, x, -1, site));
    return inner.p;
}

static void add_cond(building *b, pithp_primitive first, pithp_primitive second) {
    pithp_program *ways[2] = {one_call(b, first, "g.c:1"), one_call(b, second, "g.c:2")};
    const pithp_value which = graph_input(b->s, b->p, PITH_BOOL, -1), x = in(b);
    const pithp_value operands[2] = {which, x};
    out(b, graph_control(b->s, b->p, PITHP_OP_COND, NULL, 2, operands, 2, ways));
}

Test(cuts, both_branches) {
    building b = begin();
    add_cond(&b, PITHP_OP_FLOOR, PITHP_OP_TRUNC);
    expect_cut(&b, "y: every path", "by floor at g.c:1 and trunc at g.c:2");
    end(&b);
}

Test(cuts, one_branch) {
    building b = begin();
    add_cond(&b, PITHP_OP_FLOOR, PITHP_OP_SIN);
    expect_uncut(&b);
    end(&b);
}

/* An input that only chooses the branch. */
Test(cuts, an_index) {
    building b = begin();
    pithp_program *ways[2] = {one_call(&b, PITHP_OP_SIN, "g.c:1"),
                              one_call(&b, PITHP_OP_COS, "g.c:2")};
    const pithp_value x = in(&b), y = graph_input(b.s, b.p, PITH_F64, -1);
    const pithp_value operands[2] = {
        at(&b, PITHP_OP_GT, y, graph_number(b.s, b.p, 0), "f.c:1"), x};
    out(&b, graph_control(b.s, b.p, PITHP_OP_COND, NULL, 2, operands, 2, ways));
    expect_cut(&b, "y: every path", "by gt at f.c:1");
    end(&b);
}

/* Carries a, c: a -> sin(a), c -> op(a): the path goes through two iterations. */
static void add_scan(building *b, pithp_primitive op) {
    building body = *b;
    body.p = pithp_program_make(b->s);
    const pithp_value a = in(&body), c = in(&body);
    out(&body, at(&body, PITHP_OP_SIN, a, -1, "g.c:1"));
    out(&body, at(&body, PITHP_OP_ADD, at(&body, op, a, -1, "g.c:2"),
                  at(&body, PITHP_OP_FLOOR, c, -1, "g.c:3"), "g.c:4"));
    const pithp_value x = in(b), y = in(b);
    const pithp_value operands[2] = {x, y};
    const pithp_loop_params loop = {.length = 4, .carries = 2};
    out(b, graph_control(b->s, b->p, PITHP_OP_SCAN, &loop, 2, operands, 1, &body.p) + 1);
}

Test(cuts, a_carry_through_several_iterations) {
    building b = begin();
    add_scan(&b, PITHP_OP_FLOOR);
    expect_cut(&b, "x: every path", "by floor at g.c:2");
    end(&b);
}

/* Its initial value is cut too, in the first iteration. A scan may have none, and the
 * analysis does not ask for the length. */
Test(cuts, a_carry_that_moves) {
    building b = begin();
    add_scan(&b, PITHP_OP_COS);
    expect_uncut(&b);
    end(&b);
}

/* while (c < limit) c = c + step: the limit is compared alone. */
Test(cuts, a_limit) {
    building b = begin();
    pithp_program *programs[2] = {pithp_program_make(b.s), pithp_program_make(b.s)};
    building test = b, body = b;
    test.p = programs[0], body.p = programs[1];
    const pithp_value limit = graph_input(b.s, test.p, PITH_F64, -1),
                      c = graph_input(b.s, test.p, PITH_F64, -1);
    out(&test, at(&test, PITHP_OP_LT, c, limit, "g.c:1"));
    const pithp_value step = graph_input(b.s, body.p, PITH_F64, -1),
                      d = graph_input(b.s, body.p, PITH_F64, -1);
    out(&body, at(&body, PITHP_OP_ADD, d, step, "g.c:2"));
    const pithp_value operands[3] = {graph_input(b.s, b.p, PITH_F64, -1),
                                     graph_input(b.s, b.p, PITH_F64, -1),
                                     graph_input(b.s, b.p, PITH_F64, -1)};
    const pithp_while_params params = {1, 1, 0};
    out(&b, graph_control(b.s, b.p, PITHP_OP_WHILE, &params, 3, operands, 2, programs));
    expect_cut(&b, "x: every path", "by lt at g.c:1");
    end(&b);
}

/* A gather in mode error: the array moves, and its report does not. */
Test(cuts, a_checked_gather) {
    building b = begin();
    const int64_t places[] = {2, 0, 2};
    const pithp_value x = in(&b), y = in(&b);
    const pithp_value operands[2] = {
        x, pithp_program_literal(b.s, b.p, graph_spec(b.s, PITH_I64, 3), places)};
    const pithp_checked_params take = {PITHP_OP_TAKE, {.mode = PITHP_INDEX_ERROR}};
    out(&b, graph_control(b.s, b.p, PITHP_OP_CHECKED, &take, 2, operands, 0, NULL));
    const pithp_value indices[2] = {x, cast(&b, y, PITH_I64, "f.c:4")};
    out(&b, graph_control(b.s, b.p, PITHP_OP_CHECKED, &take, 2, indices, 0, NULL));
    expect_cut(&b, "y: every path", "by cast at f.c:4");
    end(&b);
}

/* ---- Derivatives of derivatives ---- */

/* The second derivative of a piecewise linear function is 0, and not refused. */
static void expect_twice(pithp_primitive op) {
    building b = begin();
    const pithp_value x = in(&b);
    out(&b, at(&b, op, x, op == PITHP_OP_ABS ? -1 : graph_number(b.s, b.p, 0), "f.c:1"));
    bool moves[2];
    pithp_program *once = pithp_program_jvp(b.s, b.p, (const bool[]){true}, NULL, moves);
    pt_ok(b.s, once && moves[0]);
    pithp_program *twice =
        pithp_program_jvp(b.s, once, (const bool[]){true, false}, NULL, moves);
    pt_ok(b.s, twice && moves[0] && !moves[1]);
    pithp_program_release(once);
    pithp_program_release(twice);
    end(&b);
}

Test(cuts, the_cuts_of_rules_are_meant) {
    expect_twice(PITHP_OP_ABS);
    expect_twice(PITHP_OP_MAX);
    expect_twice(PITHP_OP_MIN);
}
