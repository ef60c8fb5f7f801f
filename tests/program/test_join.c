/* Concatenations in place: rows of loops and elementwise results are written to the
 * memory of what joins them, with the bits of copies; and what must be copied. */
#include "emit_test.h"

enum { WIDE = 64, ROWS = 120 };

static double x[ROWS * WIDE], y[ROWS * WIDE];

static bench begin_numbers(void) {
    for (int k = 0; k < ROWS * WIDE; k++) {
        x[k] = 0.5 + 0.001 * (k % 97);
        y[k] = 1.25 - 0.002 * (k % 89);
    }
    return begin();
}

static int64_t count_joins(const pithp_plan *plan) {
    int64_t count = 0;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        count += step->kind == PITHP_STEP_CALL && step->joins;
        for (int p = 0; step->kind == PITHP_STEP_CONTROL && p < step->call->program_count;
             p++)
            count += count_joins(step->plans[p]);
    }
    return count;
}

/* `most`: bytes of the workspace. */
static void expect_joins(const bench *b, const char *what, int64_t joins, size_t most) {
    pithp_executable *exe = plan_of(b, "off");
    const int64_t found = count_joins(exe->plan);
    const size_t bytes = exe->plan->workspace_bytes;
    pithp_executable_free(exe);
    cr_assert(found == joins && bytes <= most, "%s: %lld joins, %zu bytes", what,
              (long long)found, bytes);
    expect_same(b, what);
}

static pithp_value matrix(bench *b, int64_t rows, const double *data) {
    return input(b, PITH_F64, 2, (const int64_t[]){rows, WIDE}, data);
}

static pithp_value slice(bench *b, pithp_value v, int64_t first, int64_t end) {
    const pithp_slice_params params = {{first, 0}, {end, WIDE}, {1, 1}};
    return pithp_program_add(b->s, b->p, PITHP_OP_SLICE, 1, &v, &params, NULL);
}

static pithp_value joined(bench *b, int axis, int count, const pithp_value *list) {
    const pithp_concatenate_params params = {axis};
    const pithp_value v =
        pithp_program_add(b->s, b->p, PITHP_OP_CONCATENATE, count, list, &params, NULL);
    pt_ok(b->s, v >= 0);
    return v;
}

static void give(bench *b, pithp_value v) {
    pt_ok(b->s, pithp_program_output(b->s, b->p, v));
}

/* Rows c x of running sums c of the rows from `first` on, which begin with `carry`.
 * Returns the loop's last carry, which its rows follow. */
static pithp_value
loop(bench *b, pithp_value carry, pithp_value rows, int64_t first, int64_t end) {
    const int64_t wide = WIDE;
    pithp_program *body = pithp_program_make(b->s);
    const pithp_value c = pithp_program_input(b->s, body,
                                              pithp_spec(b->s, PITH_F64, 1, &wide)),
                      row = pithp_program_input(b->s, body,
                                                pithp_spec(b->s, PITH_F64, 1, &wide));
    const pithp_value sum = op_in(b, body, PITHP_OP_ADD, c, row);
    pithp_program_output(b->s, body, sum);
    pithp_program_output(b->s, body, op_in(b, body, PITHP_OP_MUL, sum, row));
    const pithp_loop_params params = {.length = end - first, .carries = 1, .unroll = 1};
    return control(b, PITHP_OP_SCAN, &params, 2,
                   (const pithp_value[]){carry, slice(b, rows, first, end)}, 1, &body);
}

/* Three loops, each of which begins with the last carry of the one before. */
typedef struct parts {
    pithp_value carry, list[3];
} parts;
static parts three_loops(bench *b, int64_t first, int64_t second) {
    const int64_t wide = WIDE, ends[] = {first, second, ROWS};
    parts p = {.carry = input(b, PITH_F64, 1, &wide, y)};
    const pithp_value rows = matrix(b, ROWS, x);
    for (int k = 0; k < 3; k++) {
        p.carry = loop(b, p.carry, rows, k ? ends[k - 1] : 0, ends[k]);
        p.list[k] = p.carry + 1;
    }
    return p;
}

Test(join, rows_of_loops_are_written_where_they_belong, .timeout = 100) {
    static const int64_t ends[][2] = {{60, 97}, {1, 2}, {119, 119}, {0, 7}};
    use_cache();
    for (int k = 0; k < 4; k++)
        for (int pairwise = 0; pairwise < 2; pairwise++) {
            bench b = begin_numbers();
            parts p = three_loops(&b, ends[k][0], ends[k][1]);
            if (pairwise) {
                const pithp_value two[] = {joined(&b, 0, 2, p.list), p.list[2]};
                give(&b, joined(&b, 0, 2, two));
            } else {
                give(&b, joined(&b, 0, 3, p.list));
            }
            give(&b, p.carry);
            expect_joins(&b, "loops", 1 + pairwise, 8 * WIDE * 8);
            end(&b);
        }
}

/* In memory of the program, which a step reads that is not fused; in a loop too, which is
 * compiled. */
Test(join, what_joins_them_may_be_read_by_the_program, .timeout = 100) {
    const pithp_scan_params sums = {.axis = 0};
    use_cache();
    bench b = begin_numbers();
    parts p = three_loops(&b, 30, 31);
    const pithp_value all = joined(&b, 0, 3, p.list);
    give(&b, pithp_program_add(b.s, b.p, PITHP_OP_CUMSUM, 1, &all, &sums, NULL));
    expect_joins(&b, "read", 1, sizeof x + 8 * WIDE * 8);
    end(&b);
}

Test(join, elementwise_parts_of_bodies, .timeout = 100) {
    const pithp_scan_params sums = {.axis = 0};
    use_cache();
    for (int first = 1; first < ROWS; first += 58) {
        bench b = begin_numbers();
        const int64_t shape[2] = {ROWS, WIDE}, wide[2] = {first, WIDE};
        pithp_program *body = pithp_program_make(b.s);
        const pithp_value carry =
            pithp_program_input(b.s, body, pithp_spec(b.s, PITH_F64, 2, shape));
        const pithp_slice_params low = {{0, 0}, {wide[0], WIDE}, {1, 1}},
                                 high = {{wide[0], 0}, {ROWS, WIDE}, {1, 1}};
        pithp_value two[] = {
            pithp_program_add(b.s, body, PITHP_OP_SLICE, 1, &carry, &low, NULL),
            pithp_program_add(b.s, body, PITHP_OP_SLICE, 1, &carry, &high, NULL)};
        two[0] = op_in(&b, body, PITHP_OP_MUL, two[0], two[0]);
        two[1] = op_in(&b, body, PITHP_OP_ADD, two[1], two[1]);
        const pithp_value all = pithp_program_add(b.s, body, PITHP_OP_CONCATENATE, 2, two,
                                                  &(pithp_concatenate_params){0}, NULL);
        pithp_program_output(
            b.s, body,
            pithp_program_add(b.s, body, PITHP_OP_CUMSUM, 1, &all, &sums, NULL));
        const pithp_loop_params params = {.length = 3, .carries = 1, .unroll = 1};
        const pithp_value begins = matrix(&b, ROWS, x);
        give(&b, control(&b, PITHP_OP_SCAN, &params, 1, &begins, 1, &body));
        give(&b, op(&b, PITHP_OP_MUL, 2, begins, begins)); /* is compiled */
        expect_joins(&b, "body", 1, 3 * sizeof x);
        end(&b);
    }
}

/* What is copied: a part that is read later, is an output, or twice in the result; parts
 * that are not rows of the result, an input, and a carry. */
Test(join, parts_that_are_needed_elsewhere_are_copied, .timeout = 100) {
    use_cache();
    for (int way = 0; way < 6; way++) {
        bench b = begin_numbers();
        parts p = three_loops(&b, 40, 80);
        pithp_value list[3] = {p.list[0], p.list[1], p.list[2]};
        const pithp_value other = slice(&b, b.p->inputs[1], 0, 40);
        if (way == 2)
            list[2] = p.list[0];
        if (way == 4)
            list[1] = other;
        if (way == 5) {
            const pithp_reshape_params row = {2, {1, WIDE}};
            list[1] =
                pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &p.carry, &row, NULL);
        }
        give(&b, joined(&b, way == 3, 3, list));
        if (way == 0) {
            const pithp_scan_params sums = {.axis = 0};
            give(&b,
                 pithp_program_add(b.s, b.p, PITHP_OP_CUMSUM, 1, &list[1], &sums, NULL));
        }
        if (way == 1)
            give(&b, list[0]);
        expect_joins(&b, "copied", 0, 4 * sizeof x);
        end(&b);
    }
}
