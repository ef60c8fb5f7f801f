/* Compiled functions on a CUDA device that is made of host memory (gpu/fake_cuda): a call
 * is one launch, whatever loops are in it, with the bits of the host. */
#include "pith/pith.h"

#include "../gpu/fake_cuda/fake_cuda.h"
#include "pith_test.h"

typedef struct {
    const pith_array *x, *v, *count;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n,3]"),
          PITH_LEAF(v, "f64[n,3]"),
          PITH_LEAF(count, "i64[]"))

/* Force, velocity, position; every third step turns around. */
enum { ROWS = 40, BYTES = 3 * ROWS * sizeof(double) };

static const State *turn(pith_scope *in, const State *a) {
    State next = *a;
    next.v = pith_neg(in, a->v);
    return pith_freeze(in, State, &next);
}
static const State *stay(pith_scope *in, const State *a) {
    (void)in;
    return a;
}
PITH_FUNCTION1(turn_function, turn, State, State)
PITH_FUNCTION1(stay_function, stay, State, State)

static const State *move(pith_scope *in, const State *a) {
    State next = *a;
    const pith_array *rate = pith_f64(in, 0.01);
    const pith_array *centre = pith_mean(in, a->x, PITH_AXES(0));
    next.v = pith_sub(in, a->v, pith_mul(in, rate, pith_sub(in, a->x, centre)));
    next.x = pith_add(in, a->x, pith_mul(in, rate, next.v));
    next.count = pith_add(in, a->count, pith_i64(in, 1));
    const pith_array *third =
        pith_equal(in, pith_remainder(in, next.count, pith_i64(in, 3)), pith_i64(in, 0));
    return pith_cond(in, third, &turn_function, &stay_function,
                     pith_freeze(in, State, &next));
}
static const State *step(pith_scope *in, const pith_array *i, const State *a) {
    (void)i;
    return move(in, a);
}
PITH_FUNCTION2(step_function, step, State, pith_array, State)
static const State *many(pith_scope *in, const State *a) {
    return pith_fori(in, 0, 7, &step_function, a);
}
PITH_FUNCTION1(many_function, many, State, State)
PITH_FUNCTION1(move_function, move, State, State)

typedef struct {
    double x[3 * ROWS], v[3 * ROWS];
    int64_t count;
} numbers;

static const State *begin_state(pith_scope *s) {
    const pith_array *range = pith_arange(s, PITH_F64, 3 * ROWS);
    State state = {.x = pith_reshape(s, range, PITH_SHAPE(ROWS, 3)),
                   .v = pith_zeros(s, PITH_F64, PITH_SHAPE(ROWS, 3)),
                   .count = pith_zeros(s, PITH_I64, PITH_SCALAR)};
    return pith_freeze(s, State, &state);
}

static numbers read_state(pith_scope *s, const State *state) {
    numbers n;
    cr_assert(pith_read(s, state->x, n.x, BYTES) && pith_read(s, state->v, n.v, BYTES) &&
                  pith_read(s, state->count, &n.count, sizeof n.count),
              "%s", pith_message(s));
    return n;
}

/* Calls from the beginning, each on what the last one made. */
static numbers run(const char *device,
                   const pith_function *f,
                   int calls,
                   const pith_jit_options *options,
                   pith_jit_info *info) {
    pith_runtime *rt = pt_open_on(device);
    pith_scope *s = pith_scope_open(rt);
    const pith_function *fast = pith_jit(s, f, options);
    const State *state = begin_state(s);
    for (int k = 0; k < calls; k++)
        state = pith_apply(s, fast, state);
    pt_ok(s, state);
    const numbers n = read_state(s, state);
    *info = pith_jit_about(rt);
    pith_scope_close(s);
    pt_close(rt);
    return n;
}

static void set(const char *how) {
    static char directory[320];
    if (!directory[0])
        pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", "wait", 1);
    setenv("PITH_CUDA_GRAPH", how, 1);
    memset(&fake_cuda, 0, sizeof fake_cuda);
}

Test(graph, a_call_is_one_launch_whatever_loops_are_in_it) {
    set("on");
    pith_jit_info info;
    const numbers want = run("host", &many_function, 4, NULL, &info);
    fake_cuda_order(77);
    const numbers got = run("cuda", &many_function, 4, NULL, &info);
    cr_assert(want.count == 28 && !memcmp(&want, &got, sizeof want));
    cr_assert_eq(fake_cuda.graphs_made, 1);
    cr_assert_eq(fake_cuda.graph_launches, 4);
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* What is donated is written where it lies, by tasks in another order. */
Test(graph, donated_memory_is_written) {
    set("on");
    const pith_jit_options donate = {.donate_arguments = PITH_ARGUMENT(0)};
    pith_jit_info info;
    const numbers want = run("host", &move_function, 9, NULL, &info);
    for (uint64_t seed = 1; seed < 20; seed++) {
        fake_cuda_order(seed);
        const numbers got = run("cuda", &move_function, 9, &donate, &info);
        cr_assert(want.count == 9 && !memcmp(&want, &got, sizeof want), "seed %d",
                  (int)seed);
        cr_assert(info.donated > 9 && info.written > 0);
    }
    cr_assert_eq(fake_cuda.graph_launches, 19 * 9);
}

/* x is made where x was read, by work that shares nothing with the reader. */
static const State *exchange(pith_scope *in, const State *a) {
    State next = *a;
    next.v = pith_cumsum(in, a->x, 0, NULL);
    next.x = pith_add(in, a->v, pith_f64(in, 1));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(exchange_function, exchange, State, State)

Test(graph, memory_that_is_written_is_read_before) {
    set("on");
    const pith_jit_options donate = {.donate_arguments = PITH_ARGUMENT(0)};
    pith_jit_info info;
    const numbers want = run("host", &exchange_function, 5, NULL, &info);
    for (uint64_t seed = 1; seed < 40; seed++) {
        fake_cuda_order(seed);
        const numbers got = run("cuda", &exchange_function, 5, &donate, &info);
        cr_assert(!memcmp(&want, &got, sizeof want), "seed %d", (int)seed);
    }
    cr_assert_gt(info.written, 0, "nothing was written");
}

/* ---- Many leaves ---- */

typedef struct {
    const void *x, *y; /* lists */
} Leaves;
PITH_NODE(Leaves, PITH_TREE(x), PITH_TREE(y))

enum { LEAVES = 50 };

static const Leaves *decay(pith_scope *in, const Leaves *a) {
    const void *x[LEAVES], *y[LEAVES];
    const pith_array *const *old_x = a->x, *const *old_y = a->y;
    for (int k = 0; k < LEAVES; k++) {
        y[k] = pith_sub(in, pith_mul(in, old_y[k], pith_f64(in, 0.9)), old_x[k]);
        x[k] = pith_add(in, old_x[k], pith_mul(in, pith_f64(in, 0.1), y[k]));
    }
    const Leaves next = {.x = pith_list_make(in, LEAVES, x),
                         .y = pith_list_make(in, LEAVES, y)};
    return pith_freeze(in, Leaves, &next);
}
PITH_FUNCTION1(decay_function, decay, Leaves, Leaves)

/* What all leaves sum up to, after some calls that donate. */
static double sum_leaves(const char *device) {
    const pith_jit_options donate = {.donate_arguments = PITH_ARGUMENT(0)};
    const void *x[LEAVES], *y[LEAVES];
    pith_runtime *rt = pt_open_on(device);
    pith_scope *s = pith_scope_open(rt);
    for (int k = 0; k < LEAVES; k++) {
        x[k] = pith_arange(s, PITH_F64, 1 + 37 * k);
        y[k] = pith_ones(s, PITH_F64, PITH_SHAPE(1 + 37 * k));
    }
    const Leaves first = {.x = pith_list_make(s, LEAVES, x),
                          .y = pith_list_make(s, LEAVES, y)};
    const Leaves *state = pith_freeze(s, Leaves, &first);
    const pith_function *fast = pith_jit(s, &decay_function, &donate);
    for (int k = 0; k < 5; k++) {
        pith_wait(s);
        const long long before = fake_cuda.launches;
        state = pith_apply(s, fast, state);
        pith_wait(s);
        if (strcmp(device, "cuda") == 0)
            cr_assert_leq(fake_cuda.launches - before, 3, "%lld launches",
                          fake_cuda.launches - before);
    }
    pt_ok(s, state);
    double sum = 0, values[1 + 37 * LEAVES];
    for (int k = 0; k < LEAVES; k++) {
        const pith_array *a = ((const pith_array *const *)state->x)[k];
        cr_assert(pith_read(s, a, values, pith_array_spec(a)->bytes));
        for (int64_t i = 0; i < pith_array_spec(a)->count; i++)
            sum += values[i];
    }
    pith_scope_close(s);
    pt_close(rt);
    return sum;
}

Test(graph, equal_leaves_are_one_launch) {
    set("on");
    const double want = sum_leaves("host");
    for (uint64_t seed = 0; seed < 5; seed++) {
        fake_cuda_order(seed);
        cr_assert_eq(sum_leaves("cuda"), want);
    }
}

/* ---- What it costs ---- */

static const State *drift(pith_scope *in, const pith_array *i, const State *a) {
    State next = *a;
    (void)i;
    next.x = pith_add(in, a->x, pith_cumsum(in, a->v, 0, NULL));
    next.v = pith_sub(in, a->v, pith_mean(in, next.x, PITH_AXES(0)));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION2(drift_function, drift, State, pith_array, State)
static const State *drifts(pith_scope *in, const State *a) {
    return pith_fori(in, 0, 11, &drift_function, a);
}
PITH_FUNCTION1(drifts_function, drifts, State, State)

/* What a call launches by what pith_program_cost says, and as the device counts. */
static pith_program_costs count_launches(const pith_function *f, long long *counted) {
    pith_runtime *rt = pt_open_on("cuda");
    pith_scope *s = pith_scope_open(rt);
    const pith_function *fast = pith_jit(s, f, NULL);
    const State *state = begin_state(s);
    const pith_program_costs before = pith_program_cost(s, fast, PITH_ITEMS(state));
    const size_t bytes = pith_jit_about(rt).bytes;
    pt_ok(s, pith_apply(s, fast, state));
    const pith_program_costs c = pith_program_cost(s, fast, PITH_ITEMS(state));
    cr_assert(memcmp(&c, &before, sizeof c) == 0, "what was not made yet costs the same");
    cr_assert_gt(pith_jit_about(rt).bytes, bytes, "the cache counts it when it is made");
    pith_wait(s);
    *counted = -fake_cuda.launches;
    pt_ok(s, pith_apply(s, fast, state));
    pith_wait(s);
    *counted += fake_cuda.launches;
    pith_jit_set_limits(rt, 0, pith_jit_about(rt).bytes - 1);
    pt_ok(s, pith_apply(s, pith_jit(s, &turn_function, NULL), state));
    cr_assert_eq(pith_jit_about(rt).evictions, 1);
    cr_assert_eq(pith_jit_about(rt).programs, 1);
    pith_scope_close(s);
    pt_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
    return c;
}

Test(graph, costs_are_what_a_call_launches) {
    long long counted;
    set("on");
    pith_program_costs c = count_launches(&drifts_function, &counted);
    cr_assert(c.launches == counted + 1 && c.whiles == 0, "%lld, not %lld",
              (long long)c.launches, counted + 1);
    c = count_launches(&many_function,
                       &counted); /* with branches, of which one is none */
    cr_assert(c.launches >= counted + 1 && c.launches <= 2 * counted, "%lld, not %lld",
              (long long)c.launches, counted + 1);
}

static const State *neighbours(pith_scope *in, const State *a, bool rolled) {
    State next = *a;
    for (int way = -1; way <= 1; way += 2)
        next.x = pith_add(in, next.x, rolled ? pith_roll(in, a->v, way, 0) : a->v);
    return pith_freeze(in, State, &next);
}
static const State *stencil(pith_scope *in, const State *a) {
    return neighbours(in, a, true);
}
static const State *flat(pith_scope *in, const State *a) {
    return neighbours(in, a, false);
}
PITH_FUNCTION1(stencil_function, stencil, State, State)
PITH_FUNCTION1(flat_function, flat, State, State)

/* A roll is read where its operand is: it is no launch, and takes no memory. */
Test(graph, a_stencil_costs_what_its_sum_does) {
    long long counted;
    set("on");
    const pith_program_costs want = count_launches(&flat_function, &counted);
    const pith_program_costs got = count_launches(&stencil_function, &counted);
    cr_assert_eq(got.launches, counted + 1);
    cr_assert_eq(got.launches, want.launches);
    cr_assert_eq(got.workspace_bytes, want.workspace_bytes);
}

/* x plus the sum of v, or of the products of its neighbours. */
static const State *summed(pith_scope *in, const State *a, bool rolled) {
    State next = *a;
    const pith_array *of = rolled ? pith_mul(in, pith_roll(in, a->v, 1, 0), a->v) : a->v;
    next.x = pith_add(in, next.x, pith_sum(in, of, PITH_ALL_AXES));
    return pith_freeze(in, State, &next);
}
static const State *products(pith_scope *in, const State *a) {
    return summed(in, a, true);
}
static const State *plain(pith_scope *in, const State *a) {
    return summed(in, a, false);
}
PITH_FUNCTION1(products_function, products, State, State)
PITH_FUNCTION1(plain_function, plain, State, State)

/* What is summed is made where it is: it is no launch, and takes no memory. */
Test(graph, a_sum_of_products_costs_what_a_sum_does) {
    long long counted;
    set("on");
    const pith_program_costs want = count_launches(&plain_function, &counted);
    const pith_program_costs got = count_launches(&products_function, &counted);
    cr_assert_eq(got.launches, counted + 1);
    cr_assert_eq(got.launches, want.launches);
    cr_assert_eq(got.workspace_bytes, want.workspace_bytes);
}

/* Two streams share the memory of a graph. */
Test(graph, scopes_take_turns) {
    set("on");
    pith_jit_info info;
    const numbers want = run("host", &many_function, 3, NULL, &info);
    pith_runtime *rt = pt_open_on("cuda");
    pith_scope *s[2] = {pith_scope_open(rt), pith_scope_open(rt)};
    const State *state[2] = {begin_state(s[0]), begin_state(s[1])};
    for (int k = 0; k < 6; k++)
        state[k % 2] =
            pith_apply(s[k % 2], pith_jit(s[k % 2], &many_function, NULL), state[k % 2]);
    for (int k = 0; k < 2; k++) {
        const numbers got = read_state(s[k], state[k]);
        cr_assert(!memcmp(&want, &got, sizeof want));
        pith_scope_close(s[k]);
    }
    cr_assert_eq(fake_cuda.graphs_made, 1);
    pt_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* An error of a task that the host drives names it. */
Test(graph, what_fails_task_by_task_says_which) {
    set("drive");
    pith_runtime *rt = pt_open_on("cuda");
    pith_scope *s = pith_scope_open(rt);
    const pith_function *fast = pith_jit(s, &move_function, NULL);
    const State *state = begin_state(s);
    pt_ok(s, pith_apply(s, fast, state));
    fake_cuda.fail_launch = 3;
    pt_fails(PITH_E_UNSUPPORTED, s, pith_apply(s, fast, state));
    pt_says("task ");
    pith_scope_close(s);
    pt_close(rt);
}
