/* Capacities: the cost of a requirement in a step, and the time from an overflow to the
 * result of the repeated step. Peers within pith: "step" has enough room, "plain step"
 * has no requirement. Rows: capacity/... */
#include "bench.h"

enum { COUNT = 1024, SMALL = 64 };

typedef struct {
    const pith_array *x, *sum;
    int64_t cap;
} Compact;
PITH_NODE(Compact,
          PITH_LEAF(x, "f32[n]"),
          PITH_LEAF(sum, "f32"),
          PITH_STATIC(cap, .initial = SMALL))

/* The squares of the elements below 0.5, of which there is room for `cap`. */
static const Compact *compact(pith_scope *s, const Compact *in, bool require) {
    const pith_array *below = pith_less(s, in->x, pith_f32(s, 0.5f));
    const pith_indices below_cut = pith_nonzero(s, below, in->cap, NULL);
    const pith_array *found = pith_take(s, in->x, below_cut.axes[0], NULL);
    Compact next = *in;
    next.sum = pith_sum(s, pith_mul(s, found, found), PITH_ALL_AXES);
    if (require)
        pith_capacity_require(
            s, pith_lens_capacity(s, PITH_LENS(Compact, cap), in->cap, 2.0),
            pith_count_nonzero(s, below, PITH_ALL_AXES));
    return pith_freeze(s, Compact, &next);
}
static const Compact *with_capacity(pith_scope *s, const Compact *in) {
    return compact(s, in, true);
}
static const Compact *without(pith_scope *s, const Compact *in) {
    return compact(s, in, false);
}
PITH_FUNCTION1(checked_step, with_capacity, Compact, Compact)
PITH_FUNCTION1(bare_step, without, Compact, Compact)

typedef struct {
    pith_scope *s;
    const Compact *small, *large;
    const pith_capacity *capacity;
    const pith_array *need;
} work;

/* The step on a state with room enough. */
static void run_bare(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, &bare_step, w->large);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void run_checked(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const pith_result *r = pith_as_result(s, &checked_step, PITH_ITEMS(w->large));
    if (!pith_result_all_pass(s, r))
        abort();
    bench_check(s);
    pith_scope_close(s);
}
/* The step that fails, its repair, and the step again. */
static void run_overflow(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const pith_result *r = pith_as_result(s, &checked_step, PITH_ITEMS(w->small));
    if (pith_result_all_pass(s, r))
        abort();
    const Compact *grown = pith_result_fix_or_raise(s, r, w->small);
    r = pith_as_result(s, &checked_step, PITH_ITEMS(grown));
    if (!pith_result_all_pass(s, r))
        abort();
    bench_check(s);
    pith_scope_close(s);
}
static void run_require(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_collect_begin(s);
    for (int i = 0; i < 100; i++)
        pith_capacity_require(s, w->capacity, w->need);
    pith_result_all_pass(s, pith_collect_end(s, NULL));
    bench_check(s);
    pith_scope_close(s);
}
static void run_growth(void *closure) {
    const work *w = closure;
    int64_t sum = 0;
    for (int64_t i = 0; i < 100; i++)
        sum += pith_grown_size(w->s, 64, 1000 + 977 * i, 2.0);
    if (sum == 0)
        abort();
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    float x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i / COUNT; /* 512 are below 0.5 */
    Compact state = pith_initial(Compact);
    state.x = pith_array_copy(s, PITH_F32, PITH_SHAPE(COUNT), x);
    work w = {.s = s, .small = pith_make(s, Compact, &state, NULL)};
    state.cap = COUNT / 2;
    w.large = pith_make(s, Compact, &state, NULL);
    w.capacity = pith_lens_capacity(s, PITH_LENS(Compact, cap), COUNT, 2.0);
    w.need = pith_i64(s, COUNT);
    bench_check(s);
    if (bench_wanted("capacity/overflow", only))
        bench_row("capacity/overflow", "us", 1e6, 3,
                  (bench_entry[]){{"pith", run_overflow, &w},
                                  {"step", run_checked, &w},
                                  {"plain step", run_bare, &w}});
    if (bench_wanted("capacity/step", only))
        bench_row(
            "capacity/step", "us", 1e6, 2,
            (bench_entry[]){{"pith", run_checked, &w}, {"plain step", run_bare, &w}});
    if (bench_wanted("capacity/require", only))
        bench_row("capacity/require", "ns", 1e7, 1,
                  (bench_entry[]){{"pith", run_require, &w}});
    if (bench_wanted("capacity/growth", only))
        bench_row("capacity/growth", "ns", 1e7, 1,
                  (bench_entry[]){{"pith", run_growth, &w}});
    pith_scope_close(s);
    pith_close(rt);
    return 0;
}
