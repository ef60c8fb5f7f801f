/* Assertions: a step with checks beside the same step without them, the question whether
 * all passed, and the way from an overflow to the repeated step.
 *
 * Peers within pith: "none" computes the same predicates and makes no checks, "unseen"
 * makes checks that nobody collects, "step" is one passing step. */
#include "bench.h"

enum { LEAVES = 10, MANY = 1000 };

typedef struct {
    pith_scope *s;
    const void *state;
    const pith_result *result;
    int checks;
    const pith_function *step;
} Work;

static int checks_made; /* by a step, and whether it makes them */
static bool makes_checks;

/* Ten leaves f32[64] and a size: every leaf becomes x * 0.999 + 0.001. */
static const void *
map_ten(const pith_function *self, pith_scope *s, const void *const *given) {
    (void)self;
    const void *next =
        pith_tree_map_expression(s, "a * 0.999f + 0.001f", 1, given, 0, NULL);
    const pith_array *limit = pith_f32(s, 1e6f);
    for (int k = 0; k < checks_made; k++) {
        const pith_array *m = pith_max(s, pith_child(next, k % LEAVES), PITH_ALL_AXES);
        const pith_array *below = pith_less(s, m, limit);
        if (makes_checks)
            pith_check(s, below, "the greatest is {m}", .args = {{"m", m}},
                       .fix_args = m);
    }
    return next;
}
static const pith_function ten_step = {"map_ten", map_ten, 1, NULL, {NULL}, NULL};

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

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    static const int counts[] = {0, 1, 5, 20};
    const void *leaves[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        leaves[i] = pith_full(s, PITH_F32, PITH_SHAPE(64), i + 0.5);
    Work w = {.s = s, .state = pith_list_make(s, LEAVES, leaves)};
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
    makes_checks = true;
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
