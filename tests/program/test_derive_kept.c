/* Values that a linearization keeps: fewer bytes, and gradients with the same bits. */
#include "graph_test.h"
#include "program/derive/derive.h"

enum { N = 6, MOST = 256 };

typedef struct linearized {
    pithp_linearization l;
    int64_t bytes; /* of the residuals that are no inputs */
    double gradient[MOST];
    int64_t count; /* of elements of the gradient */
} linearized;

static double start(int64_t k) {
    return 0.3 + 0.17 * (double)(k % 11);
}

/* Linearize by all inputs. */
static void
linearize(pith_scope *s, const pithp_program *p, bool fewest, linearized *to) {
    const pithp_derive_options options = {.fewest_bytes = fewest};
    bool moving[GRAPH_MOST], moves[GRAPH_MOST];
    memset(moving, 1, sizeof moving);
    pt_ok(s, pithp_program_linearize(s, p, moving, &options, moves, &to->l));
    const pithp_linearization *l = &to->l;
    cr_assert(p->output_count == 1);
    to->bytes = 0;
    for (int64_t k = 0; k < l->residual_count; k++) {
        const pithp_value v = l->forward->outputs[1 + k];
        if (pithp_maker(l->forward, v))
            to->bytes += (int64_t)pithp_value_spec(l->forward, v)->bytes;
    }
}

/* The same, and run the transposed map at some cotangent. */
static void derive(pith_scope *s, const pithp_program *p, bool fewest, linearized *to) {
    static double at[GRAPH_MOST][MOST], residuals[GRAPH_MOST][MOST];
    bool moving[GRAPH_MOST], reaches[GRAPH_MOST];
    const void *in[GRAPH_MOST];
    void *out[GRAPH_MOST];
    for (int k = 0; k < GRAPH_MOST; k++) {
        for (int64_t n = 0; n < MOST; n++)
            at[k][n] = start(n + k);
        in[k] = at[k];
        out[k] = residuals[k];
    }
    linearize(s, p, fewest, to);
    const pithp_linearization *l = &to->l;
    graph_run(s, l->forward, 0, in, out);
    for (int64_t k = 0; k < l->linear->input_count; k++) {
        moving[k] = k >= l->residual_count;
        in[k] = moving[k] ? at[k] : residuals[1 + k];
    }
    pithp_program *back = pithp_program_transpose(s, l->linear, moving, reaches);
    pt_ok(s, back);
    in[l->residual_count] = at[0];
    for (int k = 0; k < GRAPH_MOST; k++)
        out[k] = at[k + 1 < GRAPH_MOST ? k + 1 : 0];
    graph_run(s, back, 0, in, out);
    to->count = 0;
    for (int64_t k = 0; k < back->output_count; k++)
        for (int64_t n = 0; n < pithp_value_spec(back, back->outputs[k])->count; n++)
            to->gradient[to->count++] = ((double *)out[k])[n];
    pithp_program_release(back);
}

static void end(linearized *l) {
    pithp_program_release(l->l.forward);
    pithp_program_release(l->l.linear);
}

/* What is kept without and with a choice. Releases the program. */
static void expect_bytes(pith_scope *s, pithp_program *p, int64_t all, int64_t fewest) {
    static linearized a, b;
    derive(s, p, false, &a);
    derive(s, p, true, &b);
    cr_assert(a.bytes == all && b.bytes == fewest, "kept %d and %d bytes\n%s",
              (int)a.bytes, (int)b.bytes, graph_text(b.l.linear));
    cr_assert(a.count > 0 && a.count == b.count);
    cr_assert(!memcmp(a.gradient, b.gradient, (size_t)a.count * 8));
    end(&a);
    end(&b);
    pithp_program_release(p);
}

#define SCOPED(name)                                                                     \
    static void name(pith_scope *s, pithp_program *p);                                   \
    Test(derive_kept, name) {                                                            \
        pith_runtime *rt = pt_open();                                                    \
        pith_scope *s = pith_scope_open(rt);                                             \
        name(s, pithp_program_make(s));                                                  \
        pt_ok(s);                                                                        \
        pith_scope_close(s);                                                             \
        pt_close(rt);                                                                    \
    }                                                                                    \
    static void name(pith_scope *s, pithp_program *p)

static pithp_value
op1(pith_scope *s, pithp_program *p, pithp_primitive op, pithp_value x) {
    return graph_op(s, p, op, x, -1, NULL);
}

SCOPED(a_chain_keeps_its_input) {
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    pithp_value y = op1(s, p, PITHP_OP_SQRT, x);
    y = op1(s, p, PITHP_OP_SIN, y);
    y = op1(s, p, PITHP_OP_EXP, y);
    pithp_program_output(s, p, y);
    /* sqrt's 2 r, cos, exp */
    expect_bytes(s, p, 3 * N * 8, 0);
}

SCOPED(a_result_of_a_sum_is_kept_not_what_is_made_of_it) {
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, N);
    const pithp_value sum =
        graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &(pithp_scan_params){0});
    const pithp_value z =
        graph_op2(s, p, PITHP_OP_MUL, op1(s, p, PITHP_OP_SQUARE, sum),
                  graph_op2(s, p, PITHP_OP_MUL, op1(s, p, PITHP_OP_NEG, sum), y));
    pithp_program_output(s, p, z);
    expect_bytes(s, p, 4 * N * 8, N * 8);
}

SCOPED(of_equal_choices_the_one_with_less_work) {
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    const pithp_value sum =
        graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &(pithp_scan_params){0});
    pithp_program_output(s, p, op1(s, p, PITHP_OP_EXP, sum));
    static linearized l;
    linearize(s, p, true, &l);
    cr_assert(l.bytes == N * 8);
    cr_assert(pithp_program_instructions(l.l.linear, PITHP_OP_EXP) == 0);
    end(&l);
    pithp_program_release(p);
}

SCOPED(a_small_source_is_kept_for_a_broadcast) {
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      y = graph_input(s, p, PITH_F64, -1);
    const pithp_value sum =
        graph_op(s, p, PITHP_OP_SUM, x, -1, &(pithp_reduce_params){1});
    const pithp_value wide = graph_op(s, p, PITHP_OP_BROADCAST, sum, -1,
                                      &(pithp_broadcast_params){1, {N}, {0}});
    pithp_program_output(s, p,
                         graph_op2(s, p, PITHP_OP_MUL, op1(s, p, PITHP_OP_SIN, wide), y));
    expect_bytes(s, p, 2 * N * 8, 8);
}

/* x -> sin(x) w, with x as the carry and w as a constant. */
static pithp_value
add_loop(pith_scope *s, pithp_program *p, pithp_value x, pithp_value w, int64_t length) {
    pithp_program *body = pithp_program_make(s);
    const pithp_value weight = graph_input(s, body, PITH_F64, N),
                      before = graph_input(s, body, PITH_F64, N);
    pithp_program_output(
        s, body,
        graph_op2(s, body, PITHP_OP_MUL, op1(s, body, PITHP_OP_SIN, before), weight));
    const pithp_loop_params loop = {.length = length, .constants = 1, .carries = 1};
    return graph_control(s, p, PITHP_OP_SCAN, &loop, 2, (pithp_value[]){w, x}, 1, &body);
}

SCOPED(a_loop_keeps_its_carry_alone) {
    const int64_t length = 5;
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      w = graph_input(s, p, PITH_F64, N);
    pithp_program_output(s, p, add_loop(s, p, x, w, length));
    expect_bytes(s, p, length * N * 8, length * N * 8);
}

SCOPED(a_long_chain_is_cut_too) {
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    pithp_value y = graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &(pithp_scan_params){0});
    for (int k = 0; k < 2000; k++)
        y = graph_op2(s, p, PITHP_OP_MUL, y, y);
    pithp_program_output(s, p, y);
    static linearized l;
    linearize(s, p, true, &l);
    cr_assert(l.bytes == N * 8);
    end(&l);
    pithp_program_release(p);
}

/* ---- Groups and stages ---- */

/* Instructions of a row after passes. */
static int64_t
count_after(pith_scope *s, const pithp_program *p, unsigned passes, pithp_primitive op) {
    pithp_program *better = pithp_program_optimise(s, p, passes);
    pt_ok(s, better);
    const int64_t count = pithp_program_instructions(better, op);
    pithp_program_release(better);
    return count;
}

SCOPED(stages_are_not_merged) {
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    for (int k = 0; k < 4; k++) {
        p->remat.stage = p->stages = (uint16_t)(k / 2);
        pithp_program_output(s, p, op1(s, p, PITHP_OP_EXP, x));
    }
    cr_assert(count_after(s, p, PITHP_PASS_ALL, PITHP_OP_EXP) == 2);
    cr_assert(count_after(s, p, PITHP_PASS_RUN, PITHP_OP_EXP) == 2);
    pithp_program_release(p);
}

SCOPED(groups_are_merged_in_programs_that_run_alone) {
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    for (int k = 0; k < 4; k++) {
        p->remat.group = p->groups = k / 2;
        pithp_program_output(s, p, op1(s, p, PITHP_OP_EXP, x));
    }
    cr_assert(count_after(s, p, PITHP_PASS_ALL, PITHP_OP_EXP) == 2);
    cr_assert(count_after(s, p, PITHP_PASS_RUN, PITHP_OP_EXP) == 1);
    pithp_program_release(p);
}

/* x -> exp(sin(x)), with sin in group 1. */
static pithp_program *part(pith_scope *s) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, N);
    p->remat.group = p->groups = 1;
    const pithp_value y = op1(s, p, PITHP_OP_SIN, x);
    p->remat.group = 0;
    pithp_program_output(s, p, op1(s, p, PITHP_OP_EXP, y));
    return p;
}

SCOPED(groups_of_inlined_programs_are_new) {
    static const int32_t wanted[] = {1, 0, 2, 0, 3, 3};
    pithp_program *inner = part(s);
    pithp_value x = graph_input(s, p, PITH_F64, N);
    for (int k = 0; k < 3; k++) {
        p->remat.group = k == 2 ? ++p->groups : 0;
        pt_ok(s, pithp_program_inline(s, p, inner, &x, &x));
    }
    pithp_program_output(s, p, x);
    pithp_program *same = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    cr_assert(p->instruction_count == 6 && same->instruction_count == 6);
    for (int k = 0; k < 6; k++) {
        cr_assert(p->instructions[k].remat.group == wanted[k]);
        cr_assert(same->instructions[k].remat.group == wanted[k]);
    }
    pithp_program_release(same);
    pithp_program_release(inner);
    pithp_program_release(p);
}

/* A cond with a known index becomes its branch: in the group of the cond, or with groups
 * of its own. */
SCOPED(groups_of_branches) {
    pithp_value x = graph_input(s, p, PITH_F64, N);
    const pithp_value zero = graph_integer(s, p, 0);
    p->groups = 1;
    for (int k = 0; k < 2; k++) {
        pithp_program *branches[2] = {part(s), part(s)};
        p->remat.group = k;
        x = graph_control(s, p, PITHP_OP_COND, NULL, 2, (pithp_value[]){zero, x}, 2,
                          branches);
    }
    pithp_program_output(s, p, x);
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    static const int32_t wanted[] = {2, 0, 1, 1};
    cr_assert(better->instruction_count == 4);
    for (int k = 0; k < 4; k++)
        cr_assert(better->instructions[k].remat.group == wanted[k], "%d: group %d", k,
                  better->instructions[k].remat.group);
    pithp_program_release(better);
    pithp_program_release(p);
}
