/* Batches of control flow, of kernels and of rows with several results: each entry has
 * the bits of the program alone. */
#include "program/ir/region.h"
#include "random_kernels.h"
#include "vmap_derive.h"

#define SCOPED(name) PT_SCOPED(vmap_control, name)

/* ---- Branches ---- */

/* Branches over x [n], y []: outputs x-like and y-like. Branch 1 has logarithms of
 * negative numbers, branch 2 hands x on. */
static pithp_program *branch(pith_scope *s, int number, int64_t n) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, n),
                      y = graph_input(s, p, PITH_F64, -1);
    if (number == 0) {
        batch_give(s, p, graph_op2(s, p, PITHP_OP_MUL, x, y));
        batch_give(s, p, graph_number(s, p, 2.5));
    } else if (number == 1) {
        batch_give(s, p, batch_op(s, p, PITHP_OP_LOG, x));
        batch_give(s, p, batch_op(s, p, PITHP_OP_SQRT, y));
    } else {
        batch_give(s, p, x);
        batch_give(s, p, batch_op(s, p, PITHP_OP_SIN, y));
    }
    return p;
}

static pithp_program *choice(pith_scope *s, pith_dtype index, int ways) {
    pithp_program *p = pithp_program_make(s), *programs[3];
    const pithp_value operands[3] = {graph_input(s, p, index, -1),
                                     graph_input(s, p, PITH_F64, 4),
                                     graph_input(s, p, PITH_F64, -1)};
    for (int k = 0; k < ways; k++)
        programs[k] = branch(s, k, 4);
    const pithp_value v =
        graph_control(s, p, PITHP_OP_COND, NULL, 3, operands, ways, programs);
    batch_give(s, p, v);
    batch_give(s, p, v + 1);
    batch_give(s, p, batch_op(s, p, PITHP_OP_COS, v + 1));
    return p;
}

SCOPED(branches) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I32, PITH_I8, PITH_I64};
    for (int k = 0; k < 4; k++)
        for (int ways = k ? 1 : 2; ways <= (k ? 3 : 2); ways++) {
            pithp_program *p = choice(s, dtypes[k], ways);
            for (batch_seed = 1; batch_seed < 4; batch_seed++)
                batch_check(s, p, "branches");
            pithp_program_release(p);
        }
}

SCOPED(branches_of_a_batch_of_a_batch) {
    pithp_program *p = choice(s, PITH_I32, 3);
    for (unsigned k = 0; k < 64; k++) {
        const bool inner[3] = {k & 1, k & 2, k & 4}, outer[3] = {k & 8, k & 16, k & 32};
        batch_seed = k;
        batch_check_twice(s, p, inner, outer, 3, "branches twice");
    }
    pithp_program_release(p);
}

/* Results that all branches forward stay shared. */
SCOPED(a_result_that_all_branches_forward) {
    pithp_program *p = pithp_program_make(s), *programs[2];
    const pithp_value operands[2] = {graph_input(s, p, PITH_I32, -1),
                                     graph_input(s, p, PITH_F64, 3)};
    for (int k = 0; k < 2; k++) {
        programs[k] = pithp_program_make(s);
        const pithp_value x = graph_input(s, programs[k], PITH_F64, 3);
        batch_give(s, programs[k], x);
        batch_give(s, programs[k], k ? x : batch_op(s, programs[k], PITHP_OP_NEG, x));
    }
    const pithp_value v =
        graph_control(s, p, PITHP_OP_COND, NULL, 2, operands, 2, programs);
    batch_give(s, p, v), batch_give(s, p, v + 1);
    bool results[2];
    pithp_program *q = batch_of(s, p, (const bool[]){true, false}, 3, results);
    cr_assert(!results[0] && results[1]);
    pithp_program_release(q);
    batch_check(s, p, "forwarded");
    pithp_program_release(p);
}

/* The branch with logarithms is taken by no entry, but all branches run: no cotangent of
 * theirs, which would be NaN, reaches x or y, whether these are shared or not. */
SCOPED(cotangents_of_branches_not_taken) {
    pithp_program *p = pithp_program_make(s), *programs[2];
    const pithp_value x = graph_input(s, p, PITH_F64, 4),
                      y = graph_input(s, p, PITH_F64, -1),
                      i = graph_input(s, p, PITH_I32, -1);
    /* x is positive exactly if the branch with logarithms is taken */
    const pithp_value square = batch_op(s, p, PITHP_OP_SQUARE, x),
                      less = graph_op2(s, p, PITHP_OP_LT, i, i);
    const pithp_value operands[3] = {less, graph_op2(s, p, PITHP_OP_SUB, square, square),
                                     y};
    programs[0] = branch(s, 0, 4);
    programs[1] = branch(s, 1, 4);
    const pithp_value v =
        graph_control(s, p, PITHP_OP_COND, NULL, 3, operands, 2, programs);
    batch_give(s, p, v);
    for (unsigned set = 0; set < 4; set++) {
        const bool batched[3] = {set & 1, set & 2, true};
        batch_seed = set;
        batch_check_gradient(s, p, batched, 3, "not taken");
    }
    pithp_program_release(p);
}

/* ---- Loops ---- */

/* while (x < limit) i + 1, x * x + step, z + i: over x, step, limit, z. */
static pithp_program *growing(pith_scope *s, bool shared_limit) {
    pithp_program *p = pithp_program_make(s), *programs[2];
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k] = pithp_program_make(s);
        const pithp_value fixed = graph_input(s, q, PITH_F64, -1),
                          i = graph_input(s, q, PITH_I64, -1),
                          x = graph_input(s, q, PITH_F64, -1),
                          z = graph_input(s, q, PITH_F64, 3),
                          u = graph_input(s, q, PITH_F64, -1);
        if (k == 0) {
            batch_give(s, q, graph_op2(s, q, PITHP_OP_LT, x, fixed));
            continue;
        }
        batch_give(s, q, graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        batch_give(s, q,
                   graph_op2(s, q, PITHP_OP_ADD, batch_op(s, q, PITHP_OP_ABS, x),
                             batch_op(s, q, PITHP_OP_SQUARE, fixed)));
        batch_give(s, q,
                   graph_op2(s, q, PITHP_OP_SUB, z,
                             graph_op(s, q, PITHP_OP_CAST, i, -1,
                                      &(pithp_cast_params){PITH_F64})));
        batch_give(s, q, u);
    }
    const pithp_value x = graph_input(s, p, PITH_F64, -1),
                      step = graph_input(s, p, PITH_F64, -1),
                      limit = graph_input(s, p, PITH_F64, -1),
                      z = graph_input(s, p, PITH_F64, 3);
    const pithp_value operands[6] = {
        shared_limit ? graph_number(s, p, 6)
                     : graph_op2(s, p, PITHP_OP_ADD, limit, graph_number(s, p, 5)),
        graph_op2(s, p, PITHP_OP_ADD, batch_op(s, p, PITHP_OP_ABS, step),
                  graph_number(s, p, 0.5)),
        graph_integer(s, p, 0),
        x,
        z,
        step};
    const pithp_while_params params = {.cond_operands = 1, .body_operands = 1};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_WHILE, &params, 6, operands, 2, programs);
    for (int k = 0; k < 4; k++)
        batch_give(s, p, v + k);
    return p;
}

SCOPED(loops_run_until_the_last_entry_ends) {
    for (int shared = 0; shared < 2; shared++) {
        pithp_program *p = growing(s, shared);
        batch_seed = 5;
        batch_check(s, p, "while");
        for (unsigned k = 0; k < 256; k += 7) {
            const bool inner[4] = {k & 1, k & 2, k & 4, k & 8},
                       outer[4] = {k & 16, k & 32, k & 64, k & 128};
            batch_check_twice(s, p, inner, outer, 2, "while twice");
        }
        pithp_program_release(p);
    }
}

/* The instructions of a primitive in the body of the only loop. */
static int in_the_body(const pithp_program *q, pithp_primitive op) {
    int count = 0;
    for (int64_t k = 0; k < q->instruction_count; k++)
        for (int64_t n = 0; q->instructions[k].primitive == PITHP_OP_WHILE &&
                            n < q->instructions[k].programs[1]->instruction_count;
             n++)
            count += q->instructions[k].programs[1]->instructions[n].primitive == op;
    return count;
}

SCOPED(small_loops_run_several_iterations_before_they_ask) {
    enum { LARGE = 1 << 17 };
    static const struct {
        int64_t size;
        int steps, runs;
    } cases[] = {{5, 0, 1}, {5, 1, 1}, {5, 3, 3}, {5, 7, 7}, {LARGE, 4, 1}};
    for (int shared = 0; shared < 2; shared++)
        for (size_t k = 0; k < PITHP_COUNT(cases); k++) {
            pithp_program *p = growing(s, shared);
            const bool batched[4] = {true, k & 1, false, true};
            const pithp_vmap_options o = {.steps = cases[k].steps};
            bool results[4];
            pithp_program *q =
                pithp_program_vmap(s, p, cases[k].size, batched, &o, results);
            pt_ok(s, q);
            cr_assert(in_the_body(q, PITHP_OP_ABS) == cases[k].runs, "%s", graph_text(q));
            if (cases[k].size < LARGE) {
                batch_arrays in = batch_inputs(p, batched, cases[k].size);
                batch_compare(s, p, q, batched, results, cases[k].size, &in,
                              PITHP_PASS_RUN, "steps");
                batch_arrays_free(&in);
            }
            pithp_program_release(q);
            pithp_program_release(p);
        }
}

/* A counter stays without the axis while it runs: the loop has two carries for it. */
SCOPED(counters_stay_unbatched) {
    pithp_program *p = growing(s, true);
    bool results[4];
    pithp_program *q =
        batch_of(s, p, (const bool[]){true, false, false, false}, 5, results);
    const pithp_instruction *loop = NULL;
    for (int64_t k = 0; k < q->instruction_count; k++)
        if (q->instructions[k].primitive == PITHP_OP_WHILE)
            loop = &q->instructions[k];
    cr_assert(loop);
    const pithp_regions r = pithp_regions_of(loop);
    const pithp_program *body = loop->programs[1];
    const pithp_value i = body->inputs[pithp_region_first_carry(&r, 1)];
    cr_assert(pithp_value_spec(body, i)->rank == 0, "%s", graph_text(q));
    cr_assert(results[0] && results[1] && results[2] && !results[3]);
    pithp_program_release(q);
    pithp_program_release(p);
}

/* for (i = from; i < to; i++) x = sin(x) + i; most: rows of a record. */
static pithp_program *counting(pith_scope *s, int64_t most, bool dynamic) {
    pithp_program *p = pithp_program_make(s), *programs[2];
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k] = pithp_program_make(s);
        const pithp_value to = k ? -1 : graph_input(s, q, PITH_I64, -1),
                          rows = most ? graph_input(s, q, PITH_I64, -1) : -1,
                          i = graph_input(s, q, PITH_I64, -1),
                          x = graph_input(s, q, PITH_F64, 3);
        if (k == 0) {
            batch_give(s, q, graph_op2(s, q, PITHP_OP_LT, i, to));
            continue;
        }
        if (most)
            batch_give(s, q, batch_op(s, q, PITHP_OP_STOP_GRADIENT, rows));
        batch_give(s, q, graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        batch_give(s, q,
                   graph_op2(s, q, PITHP_OP_ADD, batch_op(s, q, PITHP_OP_SIN, x),
                             graph_op(s, q, PITHP_OP_CAST, i, -1,
                                      &(pithp_cast_params){PITH_F64})));
    }
    pithp_value operands[4];
    int count = 0;
    const pithp_value from = graph_input(s, p, PITH_I64, -1),
                      to = graph_input(s, p, PITH_I64, -1),
                      x = graph_input(s, p, PITH_F64, 3);
    operands[count++] = to;
    if (most)
        operands[count++] = graph_integer(s, p, 0);
    operands[count++] = dynamic ? from : graph_integer(s, p, 0);
    operands[count++] = x;
    const pithp_while_params params = {.cond_operands = 1, .most = most};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_WHILE, &params, count, operands, 2, programs);
    batch_give(s, p, v + (most > 0));
    batch_give(s, p, v + (most > 0) + 1);
    return p;
}

SCOPED(loops_with_bounds) {
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        pithp_program *p = counting(s, 0, dynamic);
        batch_seed = 11;
        batch_check(s, p, "for");
        pithp_program_release(p);
    }
}

/* A limit of each entry leaves a loop that counts to the greatest. */
SCOPED(limits_leave_a_range) {
    pithp_program *p = counting(s, 0, false);
    bool results[2];
    pithp_program *q = batch_of(s, p, (const bool[]){false, true, false}, 4, results);
    const pithp_instruction *loop = NULL;
    for (int64_t k = 0; k < q->instruction_count; k++)
        if (q->instructions[k].primitive == PITHP_OP_WHILE)
            loop = &q->instructions[k];
    cr_assert(loop && ((const pithp_while_params *)loop->params)->cond_operands == 1);
    cr_assert(loop->programs[0]->instruction_count == 1, "%s", graph_text(q));
    pithp_program_release(q);
    pithp_program_release(p);
}

SCOPED(recorded_loops) {
    pithp_program *p = counting(s, 8, false);
    batch_seed = 3;
    batch_check(s, p, "recorded");
    for (unsigned set = 1; set < 8; set++) {
        const bool batched[3] = {set & 1, set & 2, set & 4};
        batch_check_gradient(s, p, batched, 3, "recorded");
    }
    /* and the batch of the gradient */
    pithp_program *g = batch_gradient(s, p);
    batch_check(s, g, "gradient of recorded");
    pithp_program_release(g);
    pithp_program_release(p);
}

/* if (index) while (x != x + 1) x = x + step, which ends for no step 0, and an unbatched
 * loop that does not end: entries with index 0 have step 0. */
SCOPED(loops_in_branches_that_are_not_taken) {
    pithp_program *p = pithp_program_make(s), *ways[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *w = ways[b] = pithp_program_make(s), *programs[2];
        const pithp_value step = graph_input(s, w, PITH_F64, -1),
                          never = graph_input(s, w, PITH_F64, -1);
        if (b == 0) {
            batch_give(s, w, step);
            batch_give(s, w, never);
            continue;
        }
        for (int loop = 0; loop < 2; loop++) {
            for (int k = 0; k < 2; k++) {
                pithp_program *q = programs[k] = pithp_program_make(s);
                const pithp_value by = graph_input(s, q, PITH_F64, -1),
                                  x = graph_input(s, q, PITH_F64, -1);
                batch_give(s, q,
                           k ? graph_op2(s, q, PITHP_OP_ADD, x, by)
                             : graph_op2(s, q, PITHP_OP_LT, x,
                                         graph_op2(s, q, PITHP_OP_ADD,
                                                   graph_number(s, q, 4), by)));
            }
            const pithp_value by = loop ? never : step,
                              operands[3] = {by, by, graph_number(s, w, loop ? 1 : 0)};
            batch_give(s, w,
                       graph_control(
                           s, w, PITHP_OP_WHILE,
                           &(pithp_while_params){.cond_operands = 1, .body_operands = 1},
                           3, operands, 2, programs));
        }
        batch_seed = 1;
    }
    const pithp_value operands[3] = {graph_input(s, p, PITH_I32, -1),
                                     graph_input(s, p, PITH_F64, -1),
                                     graph_input(s, p, PITH_F64, -1)};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 3, operands, 2, ways);
    batch_give(s, p, v), batch_give(s, p, v + 1);
    int32_t index[3] = {1, 0, 1};
    double step[3] = {0.5, 0, 0.75}, never[3] = {2, 0, 3};
    batch_arrays in = {.count = 3,
                       .at = {(char *)index, (char *)step, (char *)never},
                       .each = {4, 8, 8}};
    batch_check_on(s, p, (const bool[]){true, true, true}, &in, "not taken");
    /* no entry takes it, and what it does not end with is shared */
    memset(index, 0, sizeof index);
    never[0] = 0;
    batch_check_on(s, p, (const bool[]){true, true, false}, &in, "taken by none");
    step[0] = 0;
    batch_check_on(s, p, (const bool[]){true, false, false}, &in, "shared");
    pithp_program_release(p);
}

/* scan over constants c [], carries u [] and v [2], xs [4,2]: u moves with v one
 * iteration later. */
static pithp_program *scanning(pith_scope *s, bool reverse) {
    pithp_program *p = pithp_program_make(s), *q = pithp_program_make(s);
    const pithp_value c = graph_input(s, q, PITH_F64, -1),
                      u = graph_input(s, q, PITH_F64, 2),
                      v = graph_input(s, q, PITH_F64, 2),
                      i = graph_input(s, q, PITH_I64, -1),
                      x = graph_input(s, q, PITH_F64, 2);
    batch_give(s, q, v);
    batch_give(s, q, batch_op(s, q, PITHP_OP_SIN, graph_op2(s, q, PITHP_OP_ADD, v, x)));
    batch_give(s, q, graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 2)));
    batch_give(s, q, graph_op2(s, q, PITHP_OP_MUL, u, c));
    batch_give(s, q, i);
    batch_give(s, q, x);
    pithp_value operands[5];
    for (int k = 0; k < 3; k++)
        operands[k] = graph_input(s, p, PITH_F64, k ? 2 : -1);
    operands[4] =
        pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){4, 2}));
    operands[3] = graph_integer(s, p, 3);
    const pithp_loop_params params = {
        .length = 4, .constants = 1, .carries = 3, .reverse = reverse};
    const pithp_value r = graph_control(s, p, PITHP_OP_SCAN, &params, 5, operands, 1, &q);
    for (int k = 0; k < 6; k++)
        batch_give(s, p, r + k);
    return p;
}

SCOPED(scans) {
    for (int reverse = 0; reverse < 2; reverse++) {
        pithp_program *p = scanning(s, reverse);
        batch_seed = 7;
        batch_check(s, p, "scan");
        for (unsigned set = 1; set < 16; set++) {
            const bool batched[4] = {set & 1, set & 2, set & 4, set & 8};
            batch_check_gradient(s, p, batched, 2, "scan");
        }
        for (unsigned k = 0; k < 256; k += 5) {
            const bool inner[4] = {k & 1, k & 2, k & 4, k & 8},
                       outer[4] = {k & 16, k & 32, k & 64, k & 128};
            batch_check_twice(s, p, inner, outer, 2, "scan twice");
        }
        pithp_program_release(p);
    }
}

/* ---- Kernels ---- */

/* Results of a kernel on inputs; in a branch if masked. */
static pithp_program *calling(pith_scope *s,
                              const pith_kernel_variant *kernel,
                              int count,
                              const pith_spec *const *specs,
                              const uint64_t *values,
                              bool in_branch) {
    pithp_program *p = pithp_program_make(s), *ways[2] = {NULL, NULL};
    pithp_kernel_params params = {.kernel = kernel};
    memcpy(params.values, values, (size_t)kernel->arg_count * sizeof *values);
    pithp_value operands[8];
    if (in_branch)
        operands[0] = graph_input(s, p, PITH_BOOL, -1);
    for (int k = 0; k < count; k++)
        operands[in_branch + k] = pithp_program_input(s, p, specs[k]);
    for (int b = 0; b < 1 + in_branch; b++) {
        pithp_program *to = p;
        pithp_value list[8];
        if (in_branch)
            to = ways[b] = pithp_program_make(s);
        for (int k = 0; k < count; k++)
            list[k] = in_branch ? pithp_program_input(s, to, specs[k]) : operands[k];
        if (b == 0 && in_branch)
            continue;
        const pithp_new_instruction call = {.primitive = PITHP_OP_KERNEL,
                                            .operand_count = count,
                                            .operands = list,
                                            .params = &params,
                                            .site = "here:3"};
        const pithp_value first = pithp_program_add_many(s, to, &call);
        pt_ok(s, first >= 0);
        const int results = to->instructions[to->instruction_count - 1].result_count;
        for (int k = 0; k < results; k++)
            batch_give(s, to, first + k);
        for (int k = 0; k < results && in_branch; k++) {
            const pith_spec *spec = pithp_value_spec(to, first + k);
            pithp_full_params zero = {.dtype = spec->dtype, .rank = spec->rank};
            memcpy(zero.shape, spec->shape, sizeof zero.shape);
            batch_give(
                s, ways[0],
                pithp_program_add(s, ways[0], PITHP_OP_FULL, 0, NULL, &zero, NULL));
        }
    }
    if (in_branch) {
        const int results = (int)ways[1]->output_count;
        const pithp_value v =
            graph_control(s, p, PITHP_OP_COND, NULL, 1 + count, operands, 2, ways);
        for (int k = 0; k < results; k++)
            batch_give(s, p, v + k);
    }
    return p;
}

static void check_kernel(pith_scope *s,
                         const pith_kernel_variant *kernel,
                         int count,
                         const pith_spec *const *specs,
                         const uint64_t *values) {
    pithp_program *p = calling(s, kernel, count, specs, values, false);
    batch_seed = 17;
    batch_check(s, p, kernel->name);
    for (unsigned set = 0; set < 1u << 2 * count; set++) {
        bool inner[8], outer[8];
        for (int k = 0; k < count; k++) {
            inner[k] = set >> k & 1;
            outer[k] = set >> (count + k) & 1;
        }
        batch_check_twice(s, p, inner, outer, 2, kernel->name);
    }
    pithp_program_release(p);
    p = calling(s, kernel, count, specs, values, true);
    batch_check(s, p, "a kernel in a branch");
    for (unsigned set = 0; set < 4; set++) {
        const bool inner[8] = {set & 1, true, set & 1}, outer[8] = {set & 2, false, true};
        batch_check_twice(s, p, inner, outer, 2, "a kernel in a branch, twice");
    }
    pithp_program_release(p);
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Reports too: that of each entry is its own. */
SCOPED(kernels) {
    const pith_spec *reals = graph_spec(s, PITH_F64, 5),
                    *less = graph_spec(s, PITH_F64, 3),
                    *counts = graph_spec(s, PITH_I64, 5),
                    *integers = graph_spec(s, PITH_I32, 5);
    check_kernel(s, random_grow_kernel.f64(), 3,
                 (const pith_spec *const[]){reals, reals, counts},
                 (const uint64_t[]){0, 0, bits_of(0.75), 0, 0});
    check_kernel(s, random_below_kernel.f64(), 1, (const pith_spec *const[]){integers},
                 (const uint64_t[]){0, 3, 0});
    check_kernel(s, random_pairs_kernel.f64(), 2, (const pith_spec *const[]){reals, less},
                 (const uint64_t[]){0, 0, 6, 0, 0, 0});
    check_kernel(s, random_count_kernel.f64(), 1, (const pith_spec *const[]){integers},
                 (const uint64_t[]){0, 5, 0, 0});
}

/* One launch, in which entries have different numbers: also above the grain of a thread.
 */
SCOPED(a_large_batch_of_a_kernel) {
    const pith_spec *reals = graph_spec(s, PITH_F64, 700),
                    *counts = graph_spec(s, PITH_I64, 700);
    pithp_program *p = calling(s, random_grow_kernel.f64(), 3,
                               (const pith_spec *const[]){reals, reals, counts},
                               (const uint64_t[]){0, 0, bits_of(0.75), 0, 0}, false);
    const bool batched[3] = {true, false, true};
    bool results[GRAPH_MOST];
    pithp_program *q = batch_of(s, p, batched, 40, results);
    int kernels = 0, controls = 0;
    for (int64_t k = 0; k < q->instruction_count; k++) {
        kernels += q->instructions[k].primitive == PITHP_OP_KERNEL;
        controls += q->instructions[k].program_count > 0;
    }
    cr_assert(kernels == 1 && controls == 0);
    batch_arrays in = batch_inputs(p, batched, 40);
    batch_compare(s, p, q, batched, results, 40, &in, PITHP_PASS_RUN, "large");
    batch_arrays_free(&in);
    pithp_program_release(q);
    pithp_program_release(p);
}
