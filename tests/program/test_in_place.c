/* Updates in place: arrays that are updated and not read afterwards stay where they are,
 * in straight programs, in bodies of loops and in loops of loops; others are copied. */
#include "graph_test.h"

enum { N = 64, T = 10 };

static pith_runtime *rt;
static pith_scope *s;
static double xs[N];

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    for (int k = 0; k < N; k++)
        xs[k] = k + 0.25;
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* x with the number at index i (i64[]). */
static pithp_value
put(pithp_program *p, pithp_value x, pithp_value i, pithp_value number) {
    const pithp_reshape_params one = {.rank = 1, .shape = {1}};
    const pithp_value at = graph_op(s, p, PITHP_OP_RESHAPE, i, -1, &one),
                      box = graph_op(s, p, PITHP_OP_RESHAPE, number, -1, &one),
                      operands[3] = {x, box, at};
    return pithp_program_add(s, p, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3, operands, NULL,
                             "here:3");
}
/* x with the number added at index i. */
static pithp_value
add_at(pithp_program *p, pithp_value x, pithp_value i, pithp_value number) {
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP};
    const pithp_reshape_params one = {.rank = 1, .shape = {1}};
    const pithp_value at = graph_op(s, p, PITHP_OP_RESHAPE, i, -1, &one),
                      box = graph_op(s, p, PITHP_OP_RESHAPE, number, -1, &one),
                      operands[3] = {x, at, box};
    return pithp_program_add(s, p, PITHP_OP_SCATTER_ADD, 3, operands, &params, "here:4");
}
/* The last element. */
static pithp_value last_of(pithp_program *p, pithp_value x) {
    const pithp_slice_params slice = {{N - 1}, {N}, {1}};
    const pithp_reshape_params number = {.rank = 0};
    return graph_op(s, p, PITHP_OP_RESHAPE, graph_op(s, p, PITHP_OP_SLICE, x, -1, &slice),
                    -1, &number);
}

static pithp_executable *plan_of(pithp_program *p) {
    pt_ok(s);
    pithp_executable *exe = pithp_executable_make(s, p, true);
    pt_ok(s, exe);
    return exe;
}

/* A chain of updates of what a cumsum makes takes one piece of memory; where the middle
 * one is read later, it takes two. */
Test(in_place, chains_of_updates_are_one_in_memory) {
    begin();
    size_t bytes[2];
    for (int read = 0; read < 2; read++) {
        pithp_program *p = pithp_program_make(s);
        const pithp_value x = graph_input(s, p, PITH_F64, N);
        const pithp_scan_params along = {0};
        const pithp_value sums = graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &along);
        const pithp_value first =
            put(p, sums, graph_integer(s, p, 3), graph_number(s, p, -1));
        const pithp_value second =
            add_at(p, first, graph_integer(s, p, 3), graph_number(s, p, 5));
        const pithp_value third =
            put(p, second, graph_integer(s, p, 5), last_of(p, read ? first : x));
        const pithp_value all = graph_op(s, p, PITHP_OP_CUMSUM, third, -1, &along);
        pithp_program_output(s, p, all);
        pithp_executable *exe = plan_of(p);
        bytes[read] = exe->plan->workspace_bytes;
        double got[N], sum = 0, wanted[N];
        graph_run_plan(s, exe, false, (const void *[]){xs}, (void *[]){got}, NULL);
        for (int k = 0; k < N; k++)
            wanted[k] = sum += xs[k];
        wanted[3] = 4;
        wanted[5] = read ? sum : xs[N - 1];
        sum = 0;
        for (int k = 0; k < N; k++) {
            sum += wanted[k];
            cr_assert(got[k] == sum, "%d, element %d: %g", read, k, got[k]);
        }
        pithp_executable_free(exe);
        pithp_program_release(p);
    }
    if (pithp_scope_device(s)->backend->addressable)
        cr_assert(bytes[0] + N * sizeof(double) <= bytes[1], "%zu and %zu bytes",
                  bytes[0], bytes[1]);
    end();
}

/* body(a, x; i): x[i] = a + 1, then x[i] += 2; a becomes the sum of two last elements: of
 * the new x; way 1: of the old one, which goes out too; 2: of that between the updates;
 * 3: of the old one, which becomes another carry; 4: of the old one. */
static pithp_program *body_of(int way) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, -1),
                      x = graph_input(s, p, PITH_F64, N),
                      other = way == 3 ? graph_input(s, p, PITH_F64, N) : -1,
                      i = graph_input(s, p, PITH_I64, -1);
    (void)other;
    const pithp_value first =
        put(p, x, i, graph_op2(s, p, PITHP_OP_ADD, a, graph_number(s, p, 1)));
    const pithp_value second = add_at(p, first, i, graph_number(s, p, 2));
    pithp_program_output(s, p,
                         graph_op2(s, p, PITHP_OP_ADD, last_of(p, second),
                                   last_of(p, way == 0   ? second
                                              : way == 2 ? first
                                                         : x)));
    pithp_program_output(s, p, second);
    if (way == 3)
        pithp_program_output(s, p, x);
    if (way == 1)
        pithp_program_output(s, p, x);
    return p;
}

/* Returns the bytes of the workspace. */
static size_t expect_scan(int way) {
    pithp_program *p = pithp_program_make(s), *body = body_of(way);
    pithp_value in[4];
    int count = 0;
    in[count++] = graph_input(s, p, PITH_F64, -1);
    in[count++] = graph_input(s, p, PITH_F64, N);
    if (way == 3)
        in[count++] = in[1];
    in[count++] = graph_input(s, p, PITH_I64, T);
    const pithp_loop_params params = {.length = T, .carries = way == 3 ? 3 : 2};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_SCAN, &params, count, in, 1, &body);
    for (int k = 0; k < (way == 1 || way == 3 ? 3 : 2); k++)
        pithp_program_output(s, p, v + k);
    const double zero = 0;
    const int64_t order[T] = {0, 5, 63, 5, 7, -1, 63, 2, 9, 0};
    double a = 0, x[N], other[N], old[T][N], got_a, got_x[N];
    static double more[T * N];
    memcpy(x, xs, sizeof x);
    memcpy(other, xs, sizeof x);
    for (int t = 0; t < T; t++) {
        const int64_t at = order[t] < 0 ? N + order[t] : order[t];
        memcpy(old[t], x, sizeof x);
        memcpy(other, x, sizeof x);
        const double before = x[N - 1];
        x[at] = a + 1;
        const double middle = x[N - 1];
        x[at] += 2;
        a = x[N - 1] + (way == 0 ? x[N - 1] : way == 2 ? middle : before);
    }
    pithp_executable *exe = plan_of(p);
    graph_run_plan(s, exe, false, (const void *[]){&zero, xs, order},
                   (void *[]){&got_a, got_x, more}, NULL);
    cr_assert(got_a == a, "way %d: %g, not %g", way, got_a, a);
    cr_assert(!memcmp(got_x, x, sizeof x), "way %d", way);
    if (way == 1)
        cr_assert(!memcmp(more, old, sizeof old));
    if (way == 3)
        cr_assert(!memcmp(more, other, sizeof other));
    const pithp_plan *inner = exe->plan->steps[0].plans[0];
    if (exe->plan->forwards)
        cr_assert((inner->updates && inner->updates[1] == 1) == (way == 0), "way %d",
                  way);
    const size_t bytes = exe->plan->workspace_bytes;
    pithp_executable_free(exe);
    pithp_program_release(p);
    return bytes;
}

Test(in_place, carries_stay_where_they_are_unless_they_are_read) {
    size_t bytes[5];
    begin();
    for (int way = 0; way < 5; way++)
        bytes[way] = expect_scan(way);
    if (pithp_scope_device(s)->backend->addressable) /* and have no second buffer */
        cr_assert(bytes[0] + N * sizeof(double) <= bytes[4], "%zu and %zu bytes",
                  bytes[0], bytes[4]);
    end();
}

/* ---- Branches ---- */

/* x with a number at an index, or as it was; way 1: the other branch computes another; 2:
 * both update. */
static pithp_program *branch_of(int branch, int way) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, N),
                      i = graph_input(s, p, PITH_I64, -1);
    if (branch == 0)
        pithp_program_output(s, p, put(p, x, i, graph_number(s, p, -7)));
    else if (way == 1)
        pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_ADD, x, x));
    else if (way == 2)
        pithp_program_output(s, p, add_at(p, x, i, graph_number(s, p, 1)));
    else
        pithp_program_output(s, p, x);
    return p;
}

static void branch_in_c(int branch, int way, int64_t at, double *x) {
    if (branch == 0)
        x[at] = -7;
    else if (way == 2)
        x[at] += 1;
    for (int k = 0; k < N && branch && way == 1; k++)
        x[k] += x[k];
}

/* A scan whose body is a cond; way 3: the old x is read behind it, 4: and goes out. */
static void expect_branches(int way) {
    pithp_program *p = pithp_program_make(s), *body = pithp_program_make(s),
                  *branches[2] = {branch_of(0, way), branch_of(1, way)};
    const pithp_value x = graph_input(s, body, PITH_F64, N),
                      i = graph_input(s, body, PITH_I64, -1);
    const pithp_value bit =
        graph_op2(s, body, PITHP_OP_BITWISE_AND, i, graph_integer(s, body, 1));
    const pithp_value in[3] = {bit, x, i};
    const pithp_value v = graph_control(s, body, PITHP_OP_COND, NULL, 3, in, 2, branches);
    pithp_program_output(s, body, v);
    pithp_program_output(s, body,
                         graph_op2(s, body, PITHP_OP_ADD, last_of(body, v),
                                   last_of(body, way == 3 ? x : v)));
    if (way == 4)
        pithp_program_output(s, body, x);
    const pithp_value operands[2] = {graph_input(s, p, PITH_F64, N),
                                     graph_input(s, p, PITH_I64, T)};
    const pithp_loop_params params = {.length = T, .carries = 1};
    const pithp_value first =
        graph_control(s, p, PITHP_OP_SCAN, &params, 2, operands, 1, &body);
    for (int k = 0; k < (way == 4 ? 3 : 2); k++)
        pithp_program_output(s, p, first + k);
    const int64_t order[T] = {0, 5, 63, 8, 7, 1, 62, 2, 9, 63};
    static double wanted[N], sums[T], old[T][N], got[N], got_sums[T], got_old[T][N];
    memcpy(wanted, xs, sizeof wanted);
    for (int t = 0; t < T; t++) {
        memcpy(old[t], wanted, sizeof wanted);
        branch_in_c((int)(order[t] & 1), way, order[t], wanted);
        sums[t] = wanted[N - 1] + (way == 3 ? old[t][N - 1] : wanted[N - 1]);
    }
    pithp_executable *exe = plan_of(p);
    graph_run_plan(s, exe, false, (const void *[]){xs, order},
                   (void *[]){got, got_sums, got_old}, NULL);
    cr_assert(!memcmp(got, wanted, sizeof got), "way %d", way);
    cr_assert(!memcmp(got_sums, sums, sizeof sums), "way %d", way);
    cr_assert(way != 4 || !memcmp(got_old, old, sizeof old));
    const pithp_plan *inner = exe->plan->steps[0].plans[0];
    if (exe->plan->forwards)
        cr_assert((inner->updates && inner->updates[0] == 0) == (way == 0 || way == 2),
                  "way %d", way);
    pithp_executable_free(exe);
    pithp_program_release(p);
}

Test(in_place, branches_update_what_they_hand_on) {
    begin();
    for (int way = 0; way < 5; way++)
        expect_branches(way);
    end();
}

/* Branches of what a cumsum makes, one behind the other: one piece of memory, unless the
 * first result is read later. */
Test(in_place, branches_behind_branches_are_one_in_memory) {
    size_t bytes[2];
    begin();
    for (int read = 0; read < 2; read++) {
        pithp_program *p = pithp_program_make(s);
        const pithp_scan_params along = {0};
        const pithp_value x = graph_input(s, p, PITH_F64, N),
                          i = graph_input(s, p, PITH_I64, -1);
        pithp_value v[3] = {graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &along)};
        for (int k = 0; k < 2; k++) {
            pithp_program *branches[2] = {branch_of(k, 0), branch_of(!k, 0)};
            const pithp_value in[3] = {i, v[k], graph_integer(s, p, 11 + k)};
            v[k + 1] = graph_control(s, p, PITHP_OP_COND, NULL, 3, in, 2, branches);
        }
        const pithp_value all = graph_op(s, p, PITHP_OP_CUMSUM, v[2], -1, &along);
        pithp_program_output(s, p, all);
        pithp_program_output(s, p, last_of(p, read ? v[1] : x));
        pithp_executable *exe = plan_of(p);
        bytes[read] = exe->plan->workspace_bytes;
        for (int64_t index = 0; index < 2; index++) {
            double got[N], last, sum = 0, sums[N], total = 0;
            graph_run_plan(s, exe, false, (const void *[]){xs, &index},
                           (void *[]){got, &last}, NULL);
            for (int k = 0; k < N; k++)
                sums[k] = sum += xs[k];
            cr_assert(last == (read ? sum : xs[N - 1]));
            sums[11 + index] = -7;
            for (int k = 0; k < N; k++) {
                total += sums[k];
                cr_assert(got[k] == total, "%d, element %d: %g", read, k, got[k]);
            }
        }
        pithp_executable_free(exe);
        pithp_program_release(p);
    }
    if (pithp_scope_device(s)->backend->addressable)
        cr_assert(bytes[0] + N * sizeof(double) <= bytes[1], "%zu and %zu bytes",
                  bytes[0], bytes[1]);
    end();
}

/* A while around a scan that fills rows: x goes through both. */
Test(in_place, loops_of_loops_hand_the_memory_in) {
    begin();
    pithp_program *inner = pithp_program_make(s), *cond = pithp_program_make(s),
                  *outer = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_value n = graph_input(s, inner, PITH_F64, -1),
                x = graph_input(s, inner, PITH_F64, N);
    pithp_program_output(s, inner,
                         add_at(inner, x, graph_input(s, inner, PITH_I64, -1), n));
    n = graph_input(s, cond, PITH_F64, -1);
    graph_input(s, cond, PITH_F64, N);
    graph_input(s, cond, PITH_I64, T);
    pithp_program_output(s, cond,
                         graph_op2(s, cond, PITHP_OP_LT, n, graph_number(s, cond, 4)));
    n = graph_input(s, outer, PITH_F64, -1);
    x = graph_input(s, outer, PITH_F64, N);
    const pithp_value rows = graph_input(s, outer, PITH_I64, T), scan[3] = {n, x, rows};
    const pithp_loop_params params = {.length = T, .constants = 1, .carries = 1};
    const pithp_value v =
        graph_control(s, outer, PITHP_OP_SCAN, &params, 3, scan, 1, &inner);
    pithp_program_output(s, outer,
                         graph_op2(s, outer, PITHP_OP_ADD, n, graph_number(s, outer, 1)));
    pithp_program_output(s, outer, v);
    pithp_program_output(s, outer, rows);
    pithp_program *programs[2] = {cond, outer};
    const pithp_value in[3] = {graph_input(s, p, PITH_F64, -1),
                               graph_input(s, p, PITH_F64, N),
                               graph_input(s, p, PITH_I64, T)};
    const pithp_value w =
        graph_control(s, p, PITHP_OP_WHILE, &(pithp_while_params){0}, 3, in, 2, programs);
    pithp_program_output(s, p, w + 1);
    const int64_t order[T] = {0, 5, 63, 5, 7, 70, 63, 2, 9, 0};
    for (int passes = -1; passes <= PITHP_PASS_ALL; passes += PITHP_PASS_ALL + 1) {
        const double zero = 0;
        double wanted[N], got[N];
        memcpy(wanted, xs, sizeof xs);
        for (int turn = 0; turn < 4; turn++)
            for (int t = 0; t < T; t++)
                if (order[t] < N)
                    wanted[order[t]] += turn;
        graph_run(s, p, passes, (const void *[]){&zero, xs, order}, (void *[]){got});
        cr_assert(!memcmp(got, wanted, sizeof got), "passes %d", passes);
    }
    pithp_executable *exe = plan_of(p);
    if (exe->plan->forwards) {
        const pithp_plan *body = exe->plan->steps[0].plans[1];
        cr_assert(body->updates && body->updates[1] == 1, "the scan's carry too");
    }
    pithp_executable_free(exe);
    pithp_program_release(p);
    end();
}

/* What a branch may hand on is not overwritten as long as it may be read. */
Test(in_place, what_was_handed_on_is_not_updated) {
    begin();
    pithp_program *p = pithp_program_make(s), *branches[2];
    const pithp_scan_params along = {0};
    const pithp_value i = graph_input(s, p, PITH_I64, -1),
                      x = graph_input(s, p, PITH_F64, N),
                      sums = graph_op(s, p, PITHP_OP_CUMSUM, x, -1, &along);
    for (int b = 0; b < 2; b++) {
        branches[b] = pithp_program_make(s);
        const pithp_value y = graph_input(s, branches[b], PITH_F64, N);
        pithp_program_output(s, branches[b],
                             b ? y : graph_op2(s, branches[b], PITHP_OP_ADD, y, y));
    }
    const pithp_value in[2] = {i, sums};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 2, in, 2, branches);
    const pithp_value first = put(p, sums, i, graph_number(s, p, -1));
    const pithp_value second = put(p, v, i, graph_number(s, p, -2));
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_SUB, second, first));
    pithp_program_output(s, p, v);
    for (int64_t index = 0; index < 2; index++) {
        double difference[N], got[N], sum = 0;
        graph_run(s, p, -1, (const void *[]){&index, xs}, (void *[]){difference, got});
        for (int k = 0; k < N; k++) {
            sum += xs[k];
            const double y = index ? sum : sum + sum;
            cr_assert(got[k] == y, "%d: element %d", (int)index, k);
            cr_assert(difference[k] == (k == index ? -1 : y - sum), "element %d", k);
        }
    }
    pithp_program_release(p);
    end();
}
