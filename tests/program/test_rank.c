/* Values inside programs of a rank above PITH_MAX_RANK: stacked residuals and batches add
 * axes to arrays of the user. Every extent is 2, so the bits of an element's number are
 * its index: axis d is bit rank - 1 - d. */
#include "graph_test.h"

enum { LEAST = PITH_MAX_RANK + 1, MOST = 1 << PITHP_MAX_RANK };

static double x[MOST], results[4 * MOST];
static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    for (int i = 0; i < MOST; i++)
        x[i] = i * 7 % 31 - 15;
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_spec *spec_of(pith_dtype dtype, int rank) {
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0; d < PITHP_MAX_RANK; d++)
        shape[d] = 2;
    return pithp_spec_of_value(s, dtype, rank, shape);
}

/* Number i with its bits in the other order. */
static int turned(int i, int rank) {
    int to = 0;
    for (int d = 0; d < rank; d++)
        to |= (i >> d & 1) << (rank - 1 - d);
    return to;
}

static pithp_transpose_params transposition(int rank) {
    pithp_transpose_params params = {0};
    for (int d = 0; d < rank; d++)
        params.permutation[d] = rank - 1 - d;
    return params;
}

/* Bits of a number whose axes are even. */
static int even_bits(int rank) {
    int bits = 0;
    for (int d = 0; d < rank; d += 2)
        bits |= 1 << (rank - 1 - d);
    return bits;
}

/* Run program(x) -> v, and expect element i of v to be expected(i, rank). */
static void
expect(pithp_program *p, pithp_value v, int rank, double (*expected)(int i, int rank)) {
    pt_ok(s);
    pithp_program_output(s, p, v);
    const int64_t count = pithp_value_spec(p, v)->count;
    graph_run(s, p, PITHP_PASS_ALL, (const void *[]){x}, (void *[]){results});
    for (int i = 0; i < count; i++)
        cr_assert(results[i] == expected(i, rank), "rank %d, element %d: %g, expected %g",
                  rank, i, results[i], expected(i, rank));
    pithp_program_release(p);
}

#define EACH_RANK                                                                        \
    begin();                                                                             \
    for (int rank = LEAST; rank <= PITHP_MAX_RANK; rank++)

static pithp_value open_program(pithp_program **p, int rank) {
    *p = pithp_program_make(s);
    return pithp_program_input(s, *p, spec_of(PITH_F64, rank));
}

/* ---- Elementwise, through views that no axes can be merged in ---- */

static double of_views(int i, int rank) {
    return x[i] * x[turned(i, rank)] - x[i ^ even_bits(rank)] + x[(i & 1) << (rank - 1)];
}

Test(rank, elementwise_through_views) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        const pithp_transpose_params turn = transposition(rank);
        pithp_reverse_params back = {0};
        for (int d = 0; d < rank; d += 2)
            back.axes |= 1u << d;
        pithp_slice_params first = {{0}, {2}, {1}};
        for (int d = 1; d < rank; d++)
            first.limit[d] = first.step[d] = 1;
        const pithp_reshape_params line = {1, {2}};
        pithp_broadcast_params wide = {.rank = rank, .dimensions = {rank - 1}};
        memcpy(wide.shape, spec_of(PITH_F64, rank)->shape, sizeof wide.shape);
        pithp_value v = graph_op(s, p, PITHP_OP_TRANSPOSE, in, -1, &turn);
        v = graph_op2(s, p, PITHP_OP_MUL, in, v);
        v = graph_op2(s, p, PITHP_OP_SUB, v,
                      graph_op(s, p, PITHP_OP_REVERSE, in, -1, &back));
        pithp_value few = graph_op(s, p, PITHP_OP_SLICE, in, -1, &first);
        few = graph_op(s, p, PITHP_OP_RESHAPE, few, -1, &line);
        few = graph_op(s, p, PITHP_OP_BROADCAST, few, -1, &wide);
        expect(p, graph_op2(s, p, PITHP_OP_ADD, v, few), rank, of_views);
    }
    end();
}

/* ---- Pieces ---- */

static double of_joined(int i, int rank) {
    const int low = i & ((1 << (rank - 1)) - 1), at = i >> (rank - 1);
    return 2 * (at < 2 ? x[at << (rank - 1) | low]
                       : x[turned((at - 2) << (rank - 1) | low, rank)]);
}

Test(rank, concatenate_and_pad) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        const pithp_transpose_params turn = transposition(rank);
        const pithp_concatenate_params join = {0};
        /* a pad that adds an element along each odd axis, and a slice that drops it */
        pithp_pad_params more = {.low = {0}};
        pithp_slice_params less = {{0}, {4}, {1}};
        for (int d = 1; d < rank; d++) {
            more.low[d] = less.start[d] = d % 2;
            less.limit[d] = less.start[d] + 2;
            less.step[d] = 1;
        }
        pithp_value v = graph_op(s, p, PITHP_OP_TRANSPOSE, in, -1, &turn);
        v = graph_op(s, p, PITHP_OP_CONCATENATE, in, v, &join);
        v = graph_op2(s, p, PITHP_OP_ADD, v, v);
        v = graph_op(s, p, PITHP_OP_PAD, v, graph_number(s, p, 5), &more);
        v = graph_op(s, p, PITHP_OP_SLICE, v, -1, &less);
        expect(p, v, rank, of_joined);
    }
    end();
}

/* ---- Reductions, products, scans, sorts ---- */

static double of_sum(int i, int rank) {
    double sum = 0;
    for (int j = 0; j < 1 << rank; j++) {
        int left = 0;
        for (int d = 1; d < rank; d += 2)
            left = left << 1 | (j >> (rank - 1 - d) & 1);
        sum += left == i ? 2 * x[j] : 0;
    }
    return sum;
}

Test(rank, sum_over_even_axes) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        pithp_reduce_params even = {0};
        for (int d = 0; d < rank; d += 2)
            even.axes |= 1u << d;
        const pithp_value twice = graph_op2(s, p, PITHP_OP_ADD, in, in);
        expect(p, graph_op(s, p, PITHP_OP_SUM, twice, -1, &even), rank, of_sum);
    }
    end();
}

static double of_dot(int i, int rank) {
    return x[2 * i] * x[turned(2 * i, rank)] + x[2 * i + 1] * x[turned(2 * i + 1, rank)];
}

Test(rank, dot_in_batches) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        const pithp_transpose_params turn = transposition(rank);
        pithp_dot_params params = {.contracts = 1, .batches = rank - 1};
        params.contract[0][0] = params.contract[1][0] = (int8_t)(rank - 1);
        for (int8_t d = 0; d < rank - 1; d++)
            params.batch[0][d] = params.batch[1][d] = d;
        const pithp_value v = graph_op(s, p, PITHP_OP_TRANSPOSE, in, -1, &turn);
        expect(p, graph_op(s, p, PITHP_OP_DOT_GENERAL, in, v, &params), rank, of_dot);
    }
    end();
}

static double of_running(int i, int rank) {
    const int bit = 1 << (rank - 2);
    const double a = x[i & ~bit], b = x[i | bit], low = a < b ? a : b;
    return i & bit ? a + b : low; /* the sum of both along axis 1 ascends or not */
}

Test(rank, sort_and_cumulative_sum) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        const pithp_sort_params sort = {.axis = 1};
        const pithp_scan_params run = {.axis = 1};
        const pithp_value v = graph_op(s, p, PITHP_OP_SORT, in, -1, &sort);
        expect(p, graph_op(s, p, PITHP_OP_CUMSUM, v, -1, &run), rank, of_running);
    }
    end();
}

/* ---- Indices ---- */

static double of_taken(int i, int rank) {
    /* axes 1 .. rank - 2 by one index array [2]: 0 or 1 along all of them */
    const int first = i >> 2 & 1, chosen = i >> 1 & 1, last = i & 1;
    const int middle = chosen ? (1 << (rank - 1)) - 2 : 0;
    return x[first << (rank - 1) | middle | last];
}

Test(rank, take_along_many_axes) {
    EACH_RANK {
        pithp_program *p;
        pithp_value operands[PITHP_MAX_RANK + 1] = {open_program(&p, rank)};
        const pithp_value index = pithp_program_literal(s, p, graph_spec(s, PITH_I64, 2),
                                                        (const int64_t[]){0, 1});
        for (int k = 1; k <= rank - 2; k++)
            operands[k] = index;
        const pithp_index_params params = {.axis = 1, .mode = PITHP_INDEX_CLIP};
        const pithp_value v =
            pithp_program_add(s, p, PITHP_OP_TAKE, rank - 1, operands, &params, "here:1");
        expect(p, v, rank, of_taken);
    }
    end();
}

static double of_update(int i, int rank) {
    return i == (1 << rank) - 1 ? x[i] : -x[i]; /* from start 0 in all but the last */
}

Test(rank, dynamic_slice_and_update) {
    EACH_RANK {
        pithp_program *p;
        const pithp_value in = open_program(&p, rank);
        int64_t zeros[PITHP_MAX_RANK] = {0}, ones[PITHP_MAX_RANK];
        pithp_dynamic_params box = {.shape = {0}};
        for (int d = 0; d < rank; d++)
            ones[d] = box.shape[d] = 1;
        const pith_spec *starts = graph_spec(s, PITH_I64, rank);
        const pithp_value first = pithp_program_literal(s, p, starts, zeros),
                          last = pithp_program_literal(s, p, starts, ones);
        const pithp_value corner = graph_op(s, p, PITHP_OP_DYNAMIC_SLICE, in, last, &box);
        const pithp_value less = graph_op(s, p, PITHP_OP_NEG, in, -1, NULL);
        const pithp_value operands[3] = {less, corner, last};
        const pithp_value v = pithp_program_add(s, p, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                                                operands, NULL, "here:1");
        cr_assert(first >= 0);
        expect(p, v, rank, of_update);
    }
    end();
}

/* ---- Stacks ---- */

static double of_stack(int i, int rank) {
    const int half = 1 << (rank - 1), row = i & (half - 1);
    return x[i] * x[(i & half) | turned(row, rank - 1)];
}

Test(rank, scan_stacks_rows) {
    EACH_RANK {
        pithp_program *p, *body;
        const pithp_value in = open_program(&p, rank),
                          row = open_program(&body, rank - 1);
        const pithp_transpose_params turn = transposition(rank - 1);
        const pithp_value v = graph_op(s, body, PITHP_OP_TRANSPOSE, row, -1, &turn);
        pithp_program_output(s, body, graph_op2(s, body, PITHP_OP_MUL, row, v));
        const pithp_loop_params params = {.length = 2, .unroll = 1};
        const pithp_value all =
            graph_control(s, p, PITHP_OP_SCAN, &params, 1, &in, 1, &body);
        cr_assert(pithp_value_spec(p, all)->rank == rank);
        expect(p, all, rank, of_stack);
    }
    end();
}

/* ---- Limits ---- */

/* Values of programs have ranks up to PITHP_MAX_RANK, results of the user's calls up to
 * PITH_MAX_RANK. */
Test(rank, has_limits) {
    begin();
    cr_assert(!pithp_spec(s, PITH_F64, LEAST, spec_of(PITH_F64, LEAST)->shape));
    cr_assert(s->error.code == PITH_E_SHAPE);
    pith_clear(s);
    pithp_program *p, *body;
    const pithp_value in = open_program(&p, PITHP_MAX_RANK);
    const pithp_value row = open_program(&body, PITHP_MAX_RANK);
    pithp_program_output(s, body, row);
    const pithp_loop_params params = {.length = 2, .constants = 1, .unroll = 1};
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = 1,
                                        .operands = &in,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body};
    cr_assert(pithp_program_add_many(s, p, &scan) < 0);
    cr_assert(s->error.code == PITH_E_SHAPE);
    pith_clear(s);
    pithp_program_release(body);
    pithp_program_release(p);
    const pith_spec *key = pithp_spec(s, PITH_U32, 1, (const int64_t[]){2});
    pithp_random_params draw = {.dtype = PITH_F64, .rank = LEAST, .low = 0, .high = 1};
    pith_spec result;
    pithp_refusal refusal;
    pithp_call call = pithp_call_of(PITHP_OP_RANDOM_UNIFORM, 1, &key, &draw);
    cr_assert(pithp_infer(&call, &result, &refusal) == PITH_OK && result.rank == LEAST);
    call.max_rank = PITH_MAX_RANK;
    cr_assert(pithp_infer(&call, &result, &refusal) == PITH_E_SHAPE);
    end();
}
