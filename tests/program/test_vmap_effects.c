/* Batches of rows with reports and other effects, and of rules of the user. */
#include "gpu/kernels/faulty.h"
#include "program/derive/lift.h"
#include "program/op/debug.h"
#include "random_kernels.h"
#include "vmap_derive.h"

#define SCOPED(name) PT_SCOPED(vmap_effects, name)

/* ---- Indices out of range ---- */

static void check_index(pith_scope *s,
                        pithp_primitive op,
                        int count,
                        const pith_spec *const *specs,
                        pithp_index_params index) {
    const pithp_checked_params params = {op, index};
    pithp_program *p = pithp_program_make(s);
    pithp_value operands[4];
    char name[64];
    for (int k = 0; k < count; k++)
        operands[k] = pithp_program_input(s, p, specs[k]);
    const pithp_value v =
        graph_control(s, p, PITHP_OP_CHECKED, &params, count, operands, 0, NULL);
    batch_give(s, p, v);
    batch_give(s, p, v + 1);
    snprintf(name, sizeof name, "%s", pithp_ops[op].name);
    for (batch_seed = 1; batch_seed < 6; batch_seed++)
        batch_check(s, p, name);
    pithp_program_release(p);
}

/* The report of each entry is that of the entry alone: the first position, the index and
 * the axis. */
SCOPED(indices_out_of_range) {
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I32, PITH_I64, PITH_U64};
    const pith_spec *x = pithp_spec(s, PITH_F64, 2, (const int64_t[]){4, 3});
    for (int k = 0; k < 4; k++)
        for (int no_negative = 0; no_negative < 2; no_negative++) {
            const pith_spec *i = graph_spec(s, dtypes[k], 5),
                            *along = pithp_spec(s, dtypes[k], 2, (const int64_t[]){2, 3}),
                            *none = graph_spec(s, dtypes[k], 0),
                            *rows = pithp_spec(s, PITH_F64, 2, (const int64_t[]){5, 3}),
                            *updates = graph_spec(s, PITH_F64, 5),
                            *empty = pithp_spec(s, PITH_F64, 2, (const int64_t[]){4, 0}),
                            *no_rows =
                                pithp_spec(s, PITH_F64, 2, (const int64_t[]){5, 0});
            const pithp_index_params p = {.mode = PITHP_INDEX_ERROR,
                                          .no_negative = no_negative};
            check_index(s, PITHP_OP_TAKE, 2, (const pith_spec *const[]){x, i}, p);
            check_index(s, PITHP_OP_TAKE, 3, (const pith_spec *const[]){x, i, i}, p);
            check_index(s, PITHP_OP_TAKE, 2, (const pith_spec *const[]){x, none}, p);
            check_index(s, PITHP_OP_TAKE, 2, (const pith_spec *const[]){empty, i}, p);
            check_index(s, PITHP_OP_SCATTER_SET, 3,
                        (const pith_spec *const[]){empty, i, no_rows}, p);
            check_index(s, PITHP_OP_TAKE_ALONG, 2, (const pith_spec *const[]){x, along},
                        p);
            check_index(s, PITHP_OP_SCATTER_SET, 3,
                        (const pith_spec *const[]){x, i, rows}, p);
            check_index(s, PITHP_OP_SCATTER_ADD, 4,
                        (const pith_spec *const[]){x, i, i, updates}, p);
        }
}

/* ---- Checked kernels ---- */

/* Faults of checked kernels: the report of each entry is its own, and the arrays of an
 * entry end at the entry. */
SCOPED(checked_kernels) {
    const pith_kernel_variant *const kernels[] = {put_kernel.plain(),
                                                  take_kernel.plain()};
    for (int n = 0; n < 2; n++) {
        const pithp_kernel_params params = {.kernel = kernels[n]};
        pithp_program *p = pithp_program_make(s);
        const pithp_value operands[2] = {graph_input(s, p, PITH_I32, n ? 3 : 6),
                                         graph_input(s, p, n ? PITH_F64 : PITH_F32, 6)};
        const pithp_value v =
            graph_control(s, p, PITHP_OP_KERNEL, &params, 2, operands, 0, NULL);
        batch_give(s, p, v);
        batch_give(s, p, v + 1);
        for (batch_seed = 1; batch_seed < 6; batch_seed++)
            batch_check(s, p, kernels[n]->name);
        pithp_program_release(p);
    }
}

/* ---- Messages ---- */

static double printed[256];
static int printed_count;

static void note(const pithp_debug *debug,
                 pith_scope *s,
                 const pith_spec *const *specs,
                 const void *const *operands) {
    (void)debug, (void)s;
    for (int k = 0; k < 2; k++)
        printed[printed_count++] = pithp_dtype_decode(specs[k]->dtype, operands[k]);
}
static const pithp_debug message = {note, "values"};

/* if (x > 0) while (y < x + 2) { print x y; y = y + 1 }; prints x y. */
static pithp_program *talking(pith_scope *s) {
    const pithp_debug_params params = {&message};
    pithp_program *p = pithp_program_make(s), *ways[2], *programs[2];
    for (int b = 0; b < 2; b++) {
        ways[b] = pithp_program_make(s);
        const pithp_value x = graph_input(s, ways[b], PITH_F64, -1),
                          y = graph_input(s, ways[b], PITH_F64, -1);
        if (b == 0) {
            batch_give(s, ways[b], y);
            continue;
        }
        for (int k = 0; k < 2; k++) {
            pithp_program *q = programs[k] = pithp_program_make(s);
            const pithp_value pair[2] = {graph_input(s, q, PITH_F64, -1),
                                         graph_input(s, q, PITH_F64, -1)};
            if (k)
                graph_control(s, q, PITHP_OP_DEBUG, &params, 2, pair, 0, NULL);
            batch_give(s, q,
                       k ? graph_op2(s, q, PITHP_OP_ADD, pair[1], graph_number(s, q, 1))
                         : graph_op2(s, q, PITHP_OP_LT, pair[1],
                                     graph_op2(s, q, PITHP_OP_ADD, pair[0],
                                               graph_number(s, q, 2))));
        }
        batch_give(
            s, ways[b],
            graph_control(s, ways[b], PITHP_OP_WHILE,
                          &(pithp_while_params){.cond_operands = 1, .body_operands = 1},
                          3, (const pithp_value[]){x, x, y}, 2, programs));
    }
    const pithp_value x = graph_input(s, p, PITH_F64, -1),
                      y = graph_input(s, p, PITH_F64, -1),
                      positive = graph_op2(s, p, PITHP_OP_GT, x, graph_number(s, p, 0));
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 3,
                                        (const pithp_value[]){positive, x, y}, 2, ways);
    graph_control(s, p, PITHP_OP_DEBUG, &params, 2, (const pithp_value[]){x, v}, 0, NULL);
    batch_give(s, p, v);
    return p;
}

static int compare_pairs(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(double));
}

/* An entry prints what it prints alone, and each message is in the order of the entries;
 * those of different iterations are in the order of the iterations. */
SCOPED(messages) {
    double alone[256], x[4] = {1.5, -1, 0.5, 2}, y[4] = {1, 2, 0.25, 3.5}, out[4];
    pithp_program *p = talking(s);
    for (unsigned set = 1; set < 4; set++) {
        const bool batched[2] = {set & 1, set & 2};
        bool results[1];
        int count = 0;
        printed_count = 0;
        for (int e = 0; e < 4; e++)
            graph_run(
                s, p, PITHP_PASS_RUN,
                (const void *const[]){x + (batched[0] ? e : 0), y + (batched[1] ? e : 0)},
                (void *const[]){out});
        memcpy(alone, printed, sizeof alone);
        count = printed_count;
        pithp_program *q = batch_of(s, p, batched, 4, results);
        printed_count = 0;
        graph_run(s, q, PITHP_PASS_RUN, (const void *const[]){x, y},
                  (void *const[]){out});
        cr_assert(printed_count == count, "%d numbers, alone %d", printed_count, count);
        for (int e = 0; e < 4; e++) /* the last message */
            cr_assert(printed[count - 8 + 2 * e] == x[batched[0] ? e : 0]);
        qsort(printed, (size_t)count / 2, 2 * sizeof *printed, compare_pairs);
        qsort(alone, (size_t)count / 2, 2 * sizeof *alone, compare_pairs);
        cr_assert(!memcmp(printed, alone, (size_t)count * sizeof *alone));
        pithp_program_release(q);
    }
    pithp_program_release(p);
}

/* ---- Rules ---- */

/* f(x, y; b) = x y, with the tangent b (3 tx + 5 ty), and the cotangents 7 c (x + b) and
 * 11 c. */
typedef struct test_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    const pith_spec *result;
} test_rule;

static int rules; /* alive */

static void free_rule(pithp_rule *rule) {
    rules--;
    free(rule);
}

static pithp_value
times(pith_scope *s, pithp_program *p, double number, pithp_value x, pithp_value y) {
    const pithp_value of = graph_op2(s, p, PITHP_OP_MUL, graph_number(s, p, number), x);
    return y < 0 ? of : graph_op2(s, p, PITHP_OP_MUL, of, y);
}

static void refuse(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    (void)rule;
    pithp_fail_at(s, PITH_E_DERIVATIVE, NULL, site, "bound operand %d", k);
}

static pithp_rule *make_rule(pith_scope *s, const pith_spec *result, bool linear);

static pithp_program *record(pithp_rule *rule,
                             pith_scope *s,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear) {
    const pith_spec *scalar = pithp_spec(s, PITH_F64, 0, NULL), *spec = rule->results[0];
    pithp_program *p = pithp_program_make(s);
    const pithp_value b = pithp_program_input(s, p, scalar);
    if (rule->linear) {
        const pithp_value of = pithp_program_input(s, p, spec),
                          c = pithp_program_input(s, p, spec);
        batch_give(s, p, times(s, p, 7, c, of));
        batch_give(s, p, times(s, p, 11, c, -1));
        return p;
    }
    const pithp_value x = pithp_program_input(s, p, spec),
                      y = pithp_program_input(s, p, spec);
    if (reverse) {
        batch_give(s, p, graph_op2(s, p, PITHP_OP_MUL, x, y));
        batch_give(s, p, graph_op2(s, p, PITHP_OP_ADD, x, b));
        *linear = make_rule(s, spec, true);
        return p;
    }
    pithp_value tangents[2], t = -1;
    for (int k = 0; k < 2; k++)
        tangents[k] = zeros[k] ? -1 : pithp_program_input(s, p, spec);
    for (int k = 0; k < 2; k++)
        if (!zeros[k]) {
            const pithp_value more = times(s, p, k ? 5 : 3, tangents[k], b);
            t = t < 0 ? more : graph_op2(s, p, PITHP_OP_ADD, t, more);
        }
    batch_give(s, p, graph_op2(s, p, PITHP_OP_MUL, x, y));
    batch_give(s, p, t);
    return p;
}

static pithp_rule *make_rule(pith_scope *s, const pith_spec *result, bool linear) {
    test_rule *r = calloc(1, sizeof *r);
    rules++;
    r->runtime = s->runtime;
    r->result = result;
    r->rule = (pithp_rule){.free = free_rule,
                           .record = record,
                           .refuse = refuse,
                           .name = "f",
                           .forward = true,
                           .reverse = true,
                           .linear = linear,
                           .first_count = linear ? 1 : 2,
                           .bound_count = 1,
                           .result_count = 1,
                           .results = &r->result};
    atomic_init(&r->rule.refs, 1);
    return &r->rule;
}

static pithp_value op_stopped(pith_scope *s, pithp_program *p, pithp_value v) {
    return batch_op(s, p, PITHP_OP_STOP_GRADIENT, v);
}

static pithp_program *ruled(pith_scope *s) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      y = graph_input(s, p, PITH_F64, 3);
    const pithp_value b = op_stopped(s, p, graph_input(s, p, PITH_F64, -1));
    pithp_rule *rule = make_rule(s, graph_spec(s, PITH_F64, 3), false);
    const pithp_value operands[4] = {
        batch_op(s, p, PITHP_OP_SIN, x), y, b,
        graph_op2(s, p, PITHP_OP_MUL, batch_op(s, p, PITHP_OP_SIN, x), y)};
    const pithp_value v = graph_control(s, p, PITHP_OP_RULE, &(pithp_rule_params){rule},
                                        4, operands, 0, NULL);
    batch_give(s, p, batch_op(s, p, PITHP_OP_COS, v));
    pithp_rule_release(rule);
    return p;
}

/* The rule of the batch is the batch of the rule, in both modes and in nested batches. */
SCOPED(rules_of_the_user) {
    pithp_program *p = ruled(s);
    batch_seed = 9;
    batch_check(s, p, "rule");
    pithp_program *g = batch_gradient(s, p);
    batch_check(s, g, "gradient of a rule");
    for (unsigned set = 1; set < 8; set++) {
        const bool batched[3] = {set & 1, set & 2, set & 4};
        bool results[GRAPH_MOST];
        batch_check_forward(s, p, batched, 3, "tangents of a rule");
        batch_check_gradient(s, p, batched, 3, "cotangents of a rule");
        pithp_program *q = batch_of(s, p, batched, 2, results);
        batch_check_gradient(s, q, (const bool[]){true, set & 4, false}, 2, "nested");
        pithp_program_release(q);
    }
    pithp_program_release(g);
    pithp_program_release(p);
    cr_assert(rules == 0, "%d", rules);
}

/* ---- Checks of rules ---- */

static uint64_t passing(const pithp_exposed *e, int32_t k) {
    (void)e, (void)k;
    return 1;
}
static pithp_program *merge(const pithp_exposed *e, pith_scope *s) {
    (void)e;
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_BOOL, -1),
                      y = graph_input(s, p, PITH_BOOL, -1);
    batch_give(s, p, graph_op2(s, p, PITHP_OP_LOGICAL_AND, x, y));
    return p;
}
static void free_check(pithp_exposed *e) {
    (void)e;
}

/* i = 0; if (x > 0) while (i < x + 1) { expose i < y; i = i + 1 } */
static pithp_program *checking(pith_scope *s, pithp_exposed *check) {
    pithp_program *p = pithp_program_make(s), *ways[2], *programs[2];
    for (int b = 0; b < 2; b++) {
        ways[b] = pithp_program_make(s);
        const pithp_value x = graph_input(s, ways[b], PITH_F64, -1),
                          y = graph_input(s, ways[b], PITH_F64, -1);
        if (b == 0) {
            batch_give(s, ways[b], y);
            continue;
        }
        for (int k = 0; k < 2; k++) {
            pithp_program *q = programs[k] = pithp_program_make(s);
            const pithp_value fixed = graph_input(s, q, PITH_F64, -1),
                              i = graph_input(s, q, PITH_F64, -1);
            const pithp_value less = graph_op2(s, q, PITHP_OP_LT, i, fixed);
            if (k)
                graph_control(s, q, PITHP_OP_EXPOSE, &(pithp_expose_params){check}, 1,
                              &less, 0, NULL);
            batch_give(
                s, q, k ? graph_op2(s, q, PITHP_OP_ADD, i, graph_number(s, q, 1)) : less);
        }
        batch_give(s, ways[b],
                   graph_control(
                       s, ways[b], PITHP_OP_WHILE,
                       &(pithp_while_params){.cond_operands = 1, .body_operands = 1}, 3,
                       (const pithp_value[]){graph_op2(s, ways[b], PITHP_OP_ADD, x,
                                                       graph_number(s, ways[b], 1)),
                                             y, graph_number(s, ways[b], 0)},
                       2, programs));
    }
    const pithp_value x = graph_input(s, p, PITH_F64, -1),
                      y = graph_input(s, p, PITH_F64, -1);
    const pithp_value positive = graph_op2(s, p, PITHP_OP_GT, x, graph_number(s, p, 0));
    batch_give(s, p,
               graph_control(s, p, PITHP_OP_COND, NULL, 3,
                             (const pithp_value[]){positive, x, y}, 2, ways));
    return p;
}

/* Branches that an entry does not take, and iterations after it ended, pass. */
SCOPED(checks_of_rules) {
    pithp_exposed check = {
        .free = free_check, .count = 1, .neutral = passing, .merge = merge};
    atomic_init(&check.refs, 1);
    pithp_program *p = checking(s, &check);
    pithp_lifted_list one, all;
    pithp_program *alone = pithp_program_lift(s, p, &one);
    pt_ok(s, alone);
    cr_assert(one.value_count == 1);
    int failures = 0;
    for (unsigned set = 1; set < 4; set++) {
        const bool batched[2] = {set & 1, set & 2};
        bool results[2] = {false, true};
        int64_t size = 0;
        pithp_program *q = batch_of(s, p, batched, 4, results),
                      *together = pithp_program_lift(s, q, &all);
        pt_ok(s, together);
        cr_assert(all.value_count == 1);
        const pithp_exposed *of = pithp_exposed_of_entry(all.list[0].exposed, &size);
        cr_assert((of == &check && size == 4) || all.list[0].exposed == &check);
        results[1] = of != NULL;
        batch_seed = set;
        batch_arrays in = batch_inputs(p, batched, 4);
        batch_compare(s, alone, together, batched, results, 4, &in, PITHP_PASS_RUN,
                      "checks");
        batch_arrays_free(&in);
        failures++;
        pithp_lifted_end(&all);
        pithp_program_release(together);
        pithp_program_release(q);
    }
    pithp_lifted_end(&one);
    pithp_program_release(alone);
    pithp_program_release(p);
    cr_assert(atomic_load(&check.refs) == 1);
}

/* if (x > 0) f(x, 2), where f has a rule that checks x > 0. */
static pithp_rule *checked_rule;
static pithp_exposed positive_check = {.free = free_check,
                                       .count = 1,
                                       .neutral = passing,
                                       .merge = merge};

static pithp_program *record_checked(pithp_rule *rule,
                                     pith_scope *s,
                                     bool reverse,
                                     const bool *zeros,
                                     pithp_rule **linear) {
    (void)rule, (void)reverse, (void)zeros, (void)linear;
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, -1),
                      t = graph_input(s, p, PITH_F64, -1);
    const pithp_value holds = graph_op2(s, p, PITHP_OP_GT, x, graph_number(s, p, 0));
    graph_control(s, p, PITHP_OP_EXPOSE, &(pithp_expose_params){&positive_check}, 1,
                  &holds, 0, NULL);
    batch_give(s, p, batch_op(s, p, PITHP_OP_SQRT, x));
    batch_give(s, p, t);
    return p;
}

/* The check that a rule records in the derivative of a batch passes for entries that do
 * not take the branch of its function. */
SCOPED(checks_of_rules_in_branches) {
    const bool batched[1] = {true};
    bool moves[GRAPH_MOST], results[GRAPH_MOST];
    double in[8] = {1, -2, 3, -4, 1, 1, 1, 1}, out[GRAPH_MOST][4];
    void *to[GRAPH_MOST];
    atomic_init(&positive_check.refs, 1);
    checked_rule = make_rule(s, pithp_spec(s, PITH_F64, 0, NULL), false);
    checked_rule->record = record_checked;
    checked_rule->first_count = 1;
    checked_rule->bound_count = 0;
    pithp_program *p = pithp_program_make(s), *ways[2];
    const pithp_value x = graph_input(s, p, PITH_F64, -1);
    for (int b = 0; b < 2; b++) {
        ways[b] = pithp_program_make(s);
        const pithp_value y = graph_input(s, ways[b], PITH_F64, -1);
        const pithp_value pair[2] = {y, batch_op(s, ways[b], PITHP_OP_ABS, y)};
        batch_give(s, ways[b],
                   b ? graph_control(s, ways[b], PITHP_OP_RULE,
                                     &(pithp_rule_params){checked_rule}, 2, pair, 0, NULL)
                     : y);
    }
    const pithp_value operands[2] = {
        graph_op2(s, p, PITHP_OP_GT, x, graph_number(s, p, 0)), x};
    batch_give(s, p, graph_control(s, p, PITHP_OP_COND, NULL, 2, operands, 2, ways));
    pithp_program *q = batch_of(s, p, batched, 4, results),
                  *d = batch_forward(s, q, moves);
    pithp_lifted_list lifted;
    pithp_program *all = pithp_program_lift(s, d, &lifted);
    pt_ok(s, all);
    cr_assert(lifted.value_count == 1 && moves[0]);
    for (int k = 0; k < GRAPH_MOST; k++)
        to[k] = out[k];
    graph_run(s, all, PITHP_PASS_RUN, (const void *const[]){in, in + 4}, to);
    for (int e = 0; e < 4; e++) {
        cr_assert(((char *)out[2])[e] == 1, "entry %d", e);
        cr_assert(out[1][e] == 1);
    }
    pithp_lifted_end(&lifted);
    pithp_program_release(all), pithp_program_release(d);
    pithp_program_release(q), pithp_program_release(p);
    pithp_rule_release(checked_rule);
    cr_assert(rules == 0 && atomic_load(&positive_check.refs) == 1);
}

static pithp_exposed plain_check = {.free = free_check,
                                    .count = 1,
                                    .neutral = passing,
                                    .merge = merge};

/* if (x > 0) a loop of a derivation, which counts to 2, with a check of x > 0. */
SCOPED(checks_of_loops_that_count) {
    const pithp_while_params params = {.cond_operands = 1, .body_operands = 1, .most = 4};
    double in[4] = {1, -2, 3, -4}, out[2][4];
    bool results[1];
    atomic_init(&plain_check.refs, 1);
    pithp_program *p = pithp_program_make(s), *ways[2], *programs[2];
    const pithp_value x = graph_input(s, p, PITH_F64, -1);
    for (int b = 0; b < 2; b++) {
        ways[b] = pithp_program_make(s);
        const pithp_value y = graph_input(s, ways[b], PITH_F64, -1);
        for (int k = 0; b && k < 2; k++) {
            pithp_program *q = programs[k] = pithp_program_make(s);
            const pithp_value fixed = graph_input(s, q, k ? PITH_F64 : PITH_I64, -1),
                              i = graph_input(s, q, PITH_I64, -1);
            if (k) {
                const pithp_value holds =
                    graph_op2(s, q, PITHP_OP_GT, fixed, graph_number(s, q, 0));
                graph_control(s, q, PITHP_OP_EXPOSE, &(pithp_expose_params){&plain_check},
                              1, &holds, 0, NULL);
            }
            batch_give(s, q,
                       k ? graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1))
                         : graph_op2(s, q, PITHP_OP_LT, i, fixed));
        }
        const pithp_value operands[3] = {graph_integer(s, ways[b], 2), y,
                                         graph_integer(s, ways[b], 0)};
        batch_give(s, ways[b],
                   b ? graph_control(s, ways[b], PITHP_OP_WHILE, &params, 3, operands, 2,
                                     programs)
                     : operands[2]);
    }
    const pithp_value operands[2] = {
        graph_op2(s, p, PITHP_OP_GT, x, graph_number(s, p, 0)), x};
    batch_give(s, p, graph_control(s, p, PITHP_OP_COND, NULL, 2, operands, 2, ways));
    pithp_program *q = batch_of(s, p, (const bool[]){true}, 4, results);
    pithp_lifted_list lifted;
    pithp_program *all = pithp_program_lift(s, q, &lifted);
    pt_ok(s, all);
    graph_run(s, all, PITHP_PASS_RUN, (const void *const[]){in},
              (void *const[]){out[0], out[1]});
    for (int e = 0; e < 4; e++)
        cr_assert(((char *)out[1])[e] == 1, "entry %d", e);
    pithp_lifted_end(&lifted);
    pithp_program_release(all), pithp_program_release(q), pithp_program_release(p);
}

/* ---- Allocations that fail ---- */

/* Branches with loops and messages, with checks, a function with a rule, a kernel, and
 * indices that are checked. */
static pithp_program *make_program(pith_scope *s, int number) {
    const pithp_kernel_params kernel = {.kernel = random_below_kernel.f64(),
                                        .values = {0, 3, 0}};
    const pithp_checked_params take = {PITHP_OP_TAKE, {.mode = PITHP_INDEX_ERROR}};
    if (number < 2)
        return number ? checking(s, &plain_check) : talking(s);
    if (number == 2)
        return ruled(s);
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      i = graph_input(s, p, PITH_I32, 3);
    batch_give(s, p,
               number == 3 ? graph_control(s, p, PITHP_OP_KERNEL, &kernel, 1, &i, 0, NULL)
                           : graph_control(s, p, PITHP_OP_CHECKED, &take, 2,
                                           (const pithp_value[]){x, i}, 0, NULL));
    return p;
}

/* The batch with allocation n of it failing. Returns whether there is such a one. */
static bool fail_at(int number, long long n) {
    static const bool batched[4] = {true, true, true, true};
    pt_heap heap = {.fail_at = 0};
    const pith_allocator allocator = pt_allocator(&heap);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = "host", .threads = 1, .allocator = &allocator});
    pith_scope *s = pith_scope_open(rt);
    pithp_program *p = make_program(s, number);
    bool results[GRAPH_MOST];
    pt_ok(s, p);
    const long long before = atomic_load(&heap.allocations);
    heap.fail_at = before + n;
    pithp_program *q = pithp_program_vmap(s, p, 3, batched, NULL, results);
    const bool reached = atomic_load(&heap.allocations) >= before + n;
    cr_assert((q != NULL) == !pith_failed(s));
    cr_assert(reached || q, "no allocation failed: %s", pith_message(s));
    cr_assert(q || pith_code(s) == PITH_E_MEMORY, "%s", pith_message(s));
    pith_clear(s);
    heap.fail_at = 0;
    pithp_program_release(q);
    q = pithp_program_vmap(s, p, 3, batched, NULL, results);
    pt_ok(s, q);
    pithp_program_release(q);
    pithp_program_release(p);
    pith_scope_close(s);
    pith_close(rt);
    pt_no_leak(&heap);
    return reached;
}

Test(vmap_effects, allocations_that_fail) {
    atomic_init(&plain_check.refs, 1);
    for (int number = 0; number < 5; number++) {
        long long n = 1;
        while (fail_at(number, n))
            n++;
        cr_assert(n > 1, "program %d allocates nothing", number);
    }
    cr_assert(rules == 0 && atomic_load(&plain_check.refs) == 1);
}
