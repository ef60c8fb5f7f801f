/* Assertions: a step with and without checks, the test whether all passed, and the time
 * from an overflow to the repeated step.
 *
 * Peers within pith: "none" computes the same predicates and makes no checks, "unseen"
 * makes checks without a collector, "step" is one passing step. Rows assert/step call it
 * operation by operation, rows assert/compiled through pith_jit, rows assert/large with
 * large leaves: a step takes 10 us or more. */
#include "bench.h"

enum { LEAVES = 10, SMALL = 64, LARGE = 8192, MOST_CHECKS = 20, MANY = 1000 };

typedef struct {
    pith_scope *s;
    const void *state;
    const pith_result *result;
    int checks;
    const pith_function *step;
} Work;

static int checks_made; /* by a step, and whether it makes them */
static bool makes_checks;

/* The greatest elements, as many as there are checks, each checked or only compared. */
static const void *check_leaves(pith_scope *s, const void *next, int checks, bool makes) {
    const pith_array *limit = pith_f32(s, 1e6f);
    const void *most[MOST_CHECKS];
    for (int k = 0; k < checks; k++) {
        const pith_array *m = pith_max(s, pith_child(next, k % LEAVES), PITH_ALL_AXES);
        const pith_array *below = pith_less(s, m, limit);
        if (makes)
            pith_check(s, below, "the greatest is {m}", .args = {{"m", m}},
                       .fix_args = m);
        most[k] = pith_where(s, below, m, limit);
    }
    return pith_list_make(s, checks, most);
}

static const void *scaled(pith_scope *s, const void *leaves) {
    return pith_tree_map_expression(s, "a * 0.999f + 0.001f", 1, &leaves, 0, NULL);
}

/* Ten leaves f32[]: every leaf becomes x * 0.999 + 0.001. */
static const void *map_ten(pith_scope *s, const void *state) {
    const void *next = scaled(s, state);
    check_leaves(s, next, checks_made, makes_checks);
    return next;
}
PITH_FUNCTION1(ten_step, map_ten, void, void)

/* The same of operations that are traced; what is checked is part of the program's key.
 */
typedef struct {
    const void *leaves, *most;
    int64_t checks;
    bool makes;
} Traced;
PITH_NODE(Traced,
          PITH_TREE(leaves),
          PITH_TREE(most),
          PITH_STATIC(checks),
          PITH_STATIC(makes))

static const Traced *map_traced(pith_scope *s, const Traced *in) {
    Traced next = *in;
    next.leaves = scaled(s, in->leaves);
    next.most = check_leaves(s, next.leaves, (int)in->checks, in->makes);
    return pith_freeze(s, Traced, &next);
}
PITH_FUNCTION1(traced_step, map_traced, Traced, Traced)

static void run_checked(void *closure) {
    const Work *w = closure;
    checks_made = w->checks;
    makes_checks = true;
    pith_scope *s = pith_scope_open_in(w->s);
    const pith_result *r = pith_as_result(s, &ten_step, 1, &w->state);
    if (!pith_result_all_pass(s, r))
        exit(EXIT_FAILURE);
    pith_scope_close(s);
}

static void run_plain(const Work *w, bool makes) {
    checks_made = w->checks;
    makes_checks = makes;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_call(s, &ten_step, 1, &w->state);
    pith_wait(s);
    pith_scope_close(s);
}
static void run_unchecked(void *closure) {
    run_plain(closure, false);
}
static void run_unseen(void *closure) {
    run_plain(closure, true);
}

/* ---- Compiled: programs with and without the checks ---- */

typedef struct {
    pith_scope *s;
    const pith_function *step; /* compiled */
    const void *state;
} Compiled;

static void run_compiled(void *closure) {
    const Compiled *c = closure;
    pith_scope *s = pith_scope_open_in(c->s);
    const pith_result *r = pith_as_result(s, c->step, 1, &c->state);
    if (!pith_result_all_pass(s, r))
        bench_check(s);
    pith_scope_close(s);
}

static Compiled compiled(const Work *w, int checks, bool makes) {
    const Traced start = {w->state, pith_list_make(w->s, 0, NULL), checks, makes};
    return (Compiled){w->s, pith_jit(w->s, &traced_step, NULL),
                      pith_freeze(w->s, Traced, &start)};
}

static void compiled_row(const Work *w, const char *name, int checks, const char *only) {
    char row[64];
    snprintf(row, sizeof row, "assert/%s/%d", name, checks);
    if (!bench_wanted(row, only))
        return;
    Compiled checked = compiled(w, checks, true), plain = compiled(w, checks, false);
    bench_row(row, "us", 1e6, 2,
              (const bench_entry[]){{"pith", run_compiled, &checked},
                                    {"none", run_compiled, &plain}});
}

static volatile bool sink;
static void ask(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < MANY; i++)
        sink = pith_result_all_pass(w->s, w->result);
}

/* ---- Overflow ---- */

typedef struct {
    const pith_array *x, *found;
    int64_t cap;
} Small;
PITH_NODE(Small, PITH_LEAF(x, "f32[n]"), PITH_LEAF(found, "f32[cap]"), PITH_STATIC(cap))

static const Small *grow(pith_scope *s, const Small *in, const pith_array *need) {
    Small next = *in;
    next.cap = pith_read_i64(s, need);
    return pith_tree_resize(s, Small, &next, NULL);
}
PITH_FUNCTION2(grow_fix, grow, Small, Small, pith_array)

/* Elements of x below a half, compacted into `found`; of 1024 there are 512. */
static const Small *compact(pith_scope *s, const Small *in) {
    Small next = *in;
    const pith_array *low = pith_less(s, in->x, pith_f32(s, 0.5f));
    const pith_array *at = pith_cumsum(s, pith_cast(s, low, PITH_I64), 0, NULL);
    const pith_array *need = pith_max(s, at, PITH_ALL_AXES);
    pith_check(s, pith_less_equal(s, need, pith_i64(s, in->cap)), "need {need}",
               .args = {{"need", need}}, .fix = &grow_fix, .fix_args = need);
    const pith_array *to =
        pith_where(s, low, pith_sub(s, at, pith_i64(s, 1)), pith_i64(s, INT32_MAX));
    next.found = pith_scatter_set(s, in->found, to, in->x, NULL);
    return pith_freeze(s, Small, &next);
}
PITH_FUNCTION1(compact_step, compact, Small, Small)

static void propagate(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const Small *next = pith_propagate(s, Small, &compact_step, w->state, NULL);
    if (next->cap != 512)
        exit(EXIT_FAILURE);
    pith_scope_close(s);
}

static const Small *small(pith_scope *s, int64_t cap) {
    float x[1024];
    for (int i = 0; i < 1024; i++)
        x[i] = i % 2 ? 0.25f : 0.75f;
    Small start = pith_initial(Small);
    start.x = pith_array_copy(s, PITH_F32, PITH_SHAPE(1024), x);
    start.cap = cap;
    return pith_make(s, Small, &start, NULL);
}

static const void *ten_leaves(pith_scope *s, int64_t count) {
    const void *leaves[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        leaves[i] = pith_full(s, PITH_F32, PITH_SHAPE(count), i + 0.5);
    return pith_list_make(s, LEAVES, leaves);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    static const int counts[] = {0, 1, 5, 20};
    Work w = {.s = s, .state = ten_leaves(s, SMALL)},
         large = {.s = s, .state = ten_leaves(s, LARGE)};
    for (int i = 0; i < 4; i++) {
        char row[64];
        snprintf(row, sizeof row, "assert/step/%d", counts[i]);
        w.checks = counts[i];
        if (bench_wanted(row, only))
            bench_row(row, "us", 1e6, 3,
                      (const bench_entry[]){{"pith", run_checked, &w},
                                            {"none", run_unchecked, &w},
                                            {"unseen", run_unseen, &w}});
        bench_check(s);
    }
    for (int i = 0; i < 4; i++)
        compiled_row(&w, "compiled", counts[i], only);
    for (int i = 0; i < 4; i++)
        compiled_row(&large, "large", counts[i], only);
    bench_check(s);
    makes_checks = true;
    checks_made = 20;
    w.result = pith_as_result(s, &ten_step, 1, &w.state);
    if (bench_wanted("assert/all pass", only))
        bench_row("assert/all pass", "ns", 1e9 / MANY, 1,
                  (const bench_entry[]){{"pith", ask, &w}});
    Work tight = {.s = s, .state = small(s, 64)},
         roomy = {.s = s, .state = small(s, 512)};
    if (bench_wanted("assert/repair/small", only))
        bench_row("assert/repair/small", "us", 1e6, 2,
                  (const bench_entry[]){{"pith", propagate, &tight},
                                        {"step", propagate, &roomy}});
    bench_check(s);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
