/* Fused steps of hundreds of instructions and operands: one step where it is one cluster,
 * with the bits of one call after the other, interpreted, compiled, run later than they
 * are enqueued, and as CUDA runs them. */
#include "both.h"
#include "fuse_concat_test.h"

enum { OPERANDS = 100, N = 2000 };

static char *memory_of[OPERANDS];

static bench begin_with(pith_dtype dtype) {
    bench b = begin();
    const int64_t n = N;
    recipe r = {.s = b.s, .state = 7 + (uint64_t)dtype};
    for (int k = 0; k < OPERANDS; k++) {
        memory_of[k] = malloc(N * 8 + 64);
        recipe_fill(&r, pithp_spec(b.s, dtype, 1, &n), memory_of[k]);
    }
    return b;
}

static void end_all(bench *b) {
    for (int k = 0; k < OPERANDS; k++)
        free(memory_of[k]);
    end(b);
}

/* All inputs are one array of n elements. */
static bench begin_with_one(int64_t n) {
    bench b = begin();
    recipe r = {.s = b.s, .state = 3};
    char *x = malloc((size_t)n * 8 + 64);
    recipe_fill(&r, pithp_spec(b.s, PITH_F64, 1, &n), x);
    for (int k = 0; k < OPERANDS; k++)
        memory_of[k] = x;
    return b;
}

static void end_one(bench *b) {
    free(memory_of[0]);
    end(b);
}

/* Steps that run on their own. */
static int count_steps(const bench *b) {
    pithp_executable *exe = plan_of(b, "off");
    int count = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        count += !exe->plan->steps[k].runs_in_consumer;
    pithp_executable_free(exe);
    return count;
}

static void expect_steps(const bench *b, const char *what, int steps) {
    cr_assert_eq(count_steps(b), steps, "%s: %d steps", what, count_steps(b));
    expect_same(b, what);
    if (!getenv("PITH_HOST_ASYNC"))
        expect_scheduled(b, what);
}

/* Inputs come first in a program. */
static pithp_value in[128];
static void inputs(bench *b, pith_dtype dtype, int rank, const int64_t *shape) {
    for (int k = 0; k < OPERANDS; k++)
        in[k] = input(b, dtype, rank, shape, memory_of[k]);
}

/* Two instructions an operand: v = max(v, x) + x. */
static pithp_value chain(bench *b, pith_dtype dtype, int rank, const int64_t *shape) {
    inputs(b, dtype, rank, shape);
    pithp_value v = op(b, PITHP_OP_NEG, 1, in[0]);
    for (int k = 1; k < OPERANDS; k++)
        v = op(b, PITHP_OP_ADD, 2, op(b, PITHP_OP_MAX, 2, v, in[k]), in[k]);
    return v;
}

BOTH(wide, a_chain_of_200_instructions_is_one_step) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_I16, PITH_BF16};
    const int64_t shape[1] = {N};
    use_cache();
    for (int d = 0; d < 3; d++) {
        bench b = begin_with(dtypes[d]);
        pithp_program_output(b.s, b.p, chain(&b, dtypes[d], 1, shape));
        cr_assert_gt(b.p->instruction_count, 190);
        expect_steps(&b, "chain", 1);
        end_all(&b);
    }
}

/* Results of 120 instructions wait for the last of them: more than buffers of whole
 * blocks, or a compiler's registers, hold. Some rows are loops of their own. */
static void many_at_once(pith_dtype dtype, pithp_primitive first, bool by_rows) {
    enum { WAITING = 120 };
    pithp_value v[WAITING];
    /* a row operand whose period is longer than blocks can be, or rows in place */
    const int64_t shape[2] = {by_rows ? 20 : 40, by_rows ? 100 : 48};
    bench b = begin_with(dtype);
    inputs(&b, dtype, 2, shape);
    const pithp_value row = input(&b, dtype, 1, &shape[1], memory_of[0]);
    for (int k = 0; k < WAITING; k++) {
        const pithp_value x = k < 9 ? in[k] : v[k - 9];
        v[k] = op(&b, k % 5 == 4 ? first : PITHP_OP_MAX, 2, x,
                  k % 11 ? v[k < 9 ? 0 : k - 5] : row);
        if (k == 0)
            v[0] = op(&b, PITHP_OP_ADD, 2, v[0], v[0]);
    }
    pithp_value sum = v[0];
    for (int k = 1; k < WAITING; k++)
        sum = op(&b, PITHP_OP_SUB, 2, sum, v[k]);
    pithp_program_output(b.s, b.p, sum);
    pithp_program_output(b.s, b.p, v[50]);
    expect_steps(&b, "many at once", 1);
    end_all(&b);
}

BOTH(wide, values_that_wait_keep_their_bits) {
    use_cache();
    many_at_once(PITH_F64, PITHP_OP_ADD, false);
    many_at_once(PITH_F32, PITHP_OP_MUL, true);
    many_at_once(PITH_I32, PITHP_OP_FLOOR_DIVIDE, false);
    many_at_once(PITH_I64, PITHP_OP_REMAINDER, true);
}

/* Operands that are staged cut a step: columns, turned rows, and one element for all. */
BOTH(wide, operands_that_are_staged_are_limited) {
    use_cache();
    const int64_t shape[2] = {30, 60}, column[2] = {30, 1};
    bench b = begin_with(PITH_F64);
    for (int k = 0; k < OPERANDS; k++)
        in[k] = k % 3 || !k ? input(&b, PITH_F64, 2, shape, memory_of[k])
                : k % 2     ? input(&b, PITH_F64, 0, NULL, memory_of[k])
                            : input(&b, PITH_F64, 2, column, memory_of[k]);
    pithp_value v = in[0];
    for (int k = 1; k < OPERANDS; k++) {
        const pithp_reverse_params turned = {2};
        pithp_value x = in[k];
        if (k % 3 == 1)
            x = pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &x, &turned, NULL);
        v = op(&b, PITHP_OP_MUL, 2, op(&b, PITHP_OP_ADD, 2, v, x), x);
    }
    pithp_program_output(b.s, b.p, v);
    expect_steps(&b, "staged", 2);
    end_all(&b);
}

/* Pieces beside many operands that lie flat. */
BOTH(wide, pieces_beside_many_operands) {
    use_cache();
    for (int64_t length = 30; length <= 200; length += 170) {
        const int64_t shape[2] = {N / 200, length};
        bench b = begin_with(PITH_F32);
        const building x = {.b = &b, .p = b.p};
        inputs(&b, PITH_F32, 2, shape);
        pithp_value v = in[0];
        for (int k = 1; k < OPERANDS; k++) {
            pithp_value y = in[k];
            if (k % 10 == 0)
                y = roll(&x, y, 1, length / 2 - k % 7);
            v = op(&b, PITHP_OP_ADD, 2, op(&b, PITHP_OP_MIN, 2, v, y), y);
        }
        pithp_program_output(b.s, b.p, v);
        expect_steps(&b, "pieces", 1);
        end_all(&b);
    }
}

/* ---- What makes or reads elements of other steps ---- */

static pithp_value reduced(bench *b, pithp_primitive primitive, pithp_value v, int axis) {
    const pithp_reduce_params params = {1u << axis};
    const pithp_value r = pithp_program_add(b->s, b->p, primitive, 1, &v, &params, NULL);
    pt_ok(b->s, r >= 0);
    return r;
}

BOTH(wide, a_wide_step_makes_what_is_reduced) {
    const int64_t shape[2] = {5000, 2};
    use_cache();
    for (int axis = 0; axis < 2; axis++) {
        bench b = begin_with_one(shape[0] * shape[1]);
        inputs(&b, PITH_F64, 2, shape);
        pithp_value v = in[0];
        for (int k = 1; k < OPERANDS; k++)
            v = op(&b, PITHP_OP_SUB, 2, in[k], v);
        pithp_program_output(b.s, b.p, reduced(&b, PITHP_OP_SUM, v, axis));
        expect_steps(&b, "reduced", 1);
        end_one(&b);
    }
}

BOTH(wide, a_wide_step_gathers_what_it_reads) {
    const int64_t n = 5000;
    use_cache();
    bench b = begin_with_one(n);
    int64_t *index = malloc((size_t)n * sizeof *index);
    for (int64_t k = 0; k < n; k++)
        index[k] = k * 17 % n - n / 3;
    const pithp_index_params clamps = {.mode = PITHP_INDEX_CLIP};
    inputs(&b, PITH_F64, 1, &n);
    const pithp_value taken[2] = {in[0], input(&b, PITH_I64, 1, &n, index)};
    pithp_value v = pithp_program_add(b.s, b.p, PITHP_OP_TAKE, 2, taken, &clamps, NULL);
    for (int k = 1; k < OPERANDS; k++)
        v = op(&b, PITHP_OP_SUB, 2, in[k], v);
    pithp_program_output(b.s, b.p, v);
    expect_steps(&b, "taken", 1);
    free(index);
    end_one(&b);
}

/* More than the arguments of one launch for such steps: they run on their own. */
BOTH(wide, the_widest_steps) {
    const int64_t n = 5000;
    use_cache();
    bench b = begin_with_one(n);
    inputs(&b, PITH_F64, 1, &n);
    pithp_value v = in[0];
    for (int k = 0; k < 700; k++) {
        v = op(&b, k % 5 ? PITHP_OP_SUB : PITHP_OP_MIN, 2, in[k * 7 % OPERANDS], v);
        if (k % 3 == 0)
            pithp_program_output(b.s, b.p, v);
    }
    pithp_program_output(b.s, b.p, reduced(&b, PITHP_OP_SUM, v, 0));
    cr_assert_lt(count_steps(&b), 6, "%d", count_steps(&b));
    expect_same(&b, "the widest");
    end_one(&b);
}
