/* Carries that are equal on all ranks before a loop, and a rank's own after an iteration.
 * Gradients by them in the loop and around it, of every kind of loop, on 1 to 4 ranks
 * against the same over the rows of all ranks at once without a collective. */
#include "mesh/fake/fake.h"
#include "pith_test.h"

#include <math.h>
#include <pith/pith.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4, STEPS = 3 };

/* ---- One iteration: w + x / 8 + cos(w) x / 4, of which the last term is a gradient.
 * With weights of all ranks it would be the sum over the ranks. ---- */

typedef struct Pair {
    const pith_array *w, *x;
} Pair;
PITH_NODE(Pair, PITH_LEAF(w, "f64[...]"), PITH_LEAF(x, "f64[...]"))

static const pith_array *height(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_sum(s, pith_mul(s, pith_sin(s, w), x), PITH_ALL_AXES);
}
PITH_FUNCTION2(height_function, height, pith_array, pith_array, pith_array)

static const pith_array *climb(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *g =
        pith_call(s, pith_grad(s, &height_function, NULL), PITH_ITEMS(w, x));
    return pith_add(s, pith_add(s, w, pith_mul(s, x, 0.125)), pith_mul(s, g, 0.25));
}
static const pith_array *
climb_known(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *g = pith_mul(s, pith_cos(s, w), x);
    return pith_add(s, pith_add(s, w, pith_mul(s, x, 0.125)), pith_mul(s, g, 0.25));
}

/* ---- Kinds of loops ---- */

static const Pair *climb_pair(pith_scope *s, const Pair *p) {
    return pith_record(s, Pair, .w = climb(s, p->w, p->x), .x = p->x);
}
PITH_FUNCTION1(climb_pair_function, climb_pair, Pair, Pair)
static const Pair *climb_at(pith_scope *s, const pith_array *i, const Pair *p) {
    (void)i;
    return climb_pair(s, p);
}
PITH_FUNCTION2(climb_at_function, climb_at, Pair, pith_array, Pair)
static const pith_array *climb_bound(pith_scope *s,
                                     const pith_array *i,
                                     const pith_array *w,
                                     const pith_array *x) {
    (void)i;
    return climb(s, w, x);
}
PITH_FUNCTION3(climb_bound_function,
               climb_bound,
               pith_array,
               pith_array,
               pith_array,
               pith_array)

static const pith_array *
by_range(pith_scope *s, const pith_array *w, const pith_array *x) {
    const Pair *p = pith_record(s, Pair, .w = w, .x = x);
    return ((const Pair *)pith_fori(s, 0, STEPS, &climb_at_function, p))->w;
}
static const pith_array *
by_partial(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_fori(s, 0, STEPS, pith_partial(s, &climb_bound_function, x), w);
}

/* A number of steps that is not known, and equal on all ranks. */
static const pith_array *steps(pith_scope *s, const pith_array *w) {
    const pith_array *first = pith_slice_at(s, w, 0, 0);
    return pith_add(s, pith_cast(s, pith_mul(s, first, 0.0), PITH_I64),
                    pith_i64(s, STEPS));
}
static const pith_array *
by_bounds(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_loop_options o = {.most = STEPS + 2};
    return pith_fori_with(s, pith_i64(s, 0), steps(s, w),
                          pith_partial(s, &climb_bound_function, x), w, &o);
}

/* A scan, with the weights on the way; only the last ones count. */
typedef struct Scanned {
    const pith_array *carry, *out;
} Scanned;
PITH_NODE(Scanned, PITH_LEAF(carry, "f64[...]"), PITH_LEAF(out, "f64[...]"))
static const Scanned *climb_row(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *next = climb(s, w, x);
    return pith_record(s, Scanned, .carry = next, .out = next);
}
PITH_FUNCTION2(climb_row_function, climb_row, Scanned, pith_array, pith_array)
static const pith_array *
by_scan(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *rows[STEPS] = {x, x, x};
    const void *outs = NULL;
    pith_scan(s, &climb_row_function, w, pith_stack(s, STEPS, rows, 0), &outs, NULL);
    return outs ? pith_slice_at(s, outs, 0, STEPS - 1) : NULL;
}

/* While loops count beside the pair. */
static const pith_array *is_below(pith_scope *s, const void *counted) {
    return pith_less(s, pith_child(counted, 0), pith_i64(s, STEPS));
}
PITH_FUNCTION1(is_below_function, is_below, pith_array, void)
static const void *climb_counted(pith_scope *s, const void *counted) {
    const void *next[] = {pith_add(s, pith_child(counted, 0), pith_i64(s, 1)),
                          climb_pair(s, pith_child(counted, 1))};
    return pith_tuple_make(s, 2, next);
}
PITH_FUNCTION1(climb_counted_function, climb_counted, void, void)
static const void *counted(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_tuple_make(
        s, PITH_ITEMS(pith_i64(s, 0), pith_record(s, Pair, .w = w, .x = x)));
}
static const pith_array *last_of(const void *counted) {
    const Pair *p = pith_child(counted, 1);
    return p ? p->w : NULL;
}
static const pith_array *
by_record(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_record_options o = {.most = STEPS + 1};
    return last_of(pith_while_recorded(s, &is_below_function, &climb_counted_function,
                                       counted(s, w, x), &o));
}

/* With checks in condition and body: such a loop is rotated. */
static const pith_array *is_below_checked(pith_scope *s, const void *pair) {
    const pith_array *n = pith_child(pair, 0);
    pith_check(s, pith_less(s, n, pith_i64(s, 9)), "{n} steps", .args = {{"n", n}});
    return is_below(s, pair);
}
PITH_FUNCTION1(is_below_checked_function, is_below_checked, pith_array, void)
static const void *climb_checked(pith_scope *s, const void *pair) {
    const Pair *p = pith_child(pair, 1);
    pith_check(s, pith_all(s, pith_less(s, p->w, pith_f64(s, 99)), PITH_ALL_AXES),
               "high");
    return climb_counted(s, pair);
}
PITH_FUNCTION1(climb_checked_function, climb_checked, void, void)
static const pith_array *
by_checks(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_record_options o = {.most = STEPS + 1};
    return last_of(pith_while_recorded_passing(
        s, &is_below_checked_function, &climb_checked_function, counted(s, w, x), &o));
}

/* The criterion is a gradient by the carry, the sum over all ranks of a number that never
 * ends the loop early. */
static const pith_array *is_steep(pith_scope *s, const void *pair) {
    const Pair *p = pith_child(pair, 1);
    const pith_array *g =
        pith_call(s, pith_grad(s, &height_function, NULL), PITH_ITEMS(p->w, p->x));
    const pith_array *all =
        pith_psum(s, pith_sum(s, pith_square(s, g), PITH_ALL_AXES), NULL, NULL);
    return pith_logical_and(s, is_below(s, pair), pith_greater(s, all, pith_f64(s, -1)));
}
PITH_FUNCTION1(is_steep_function, is_steep, pith_array, void)
static const pith_array *
by_criterion(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_record_options o = {.most = STEPS + 1};
    return last_of(pith_while_recorded(s, &is_steep_function, &climb_counted_function,
                                       counted(s, w, x), &o));
}

/* Every rank has a number of steps of its own, which here is the same: the weights are
 * bound, and in the loop they are a rank's own as the carry is. */
static const pith_array *
is_own_below(pith_scope *s, const void *pair, const Pair *bound) {
    const pith_array *own =
        pith_less(s, pith_slice_at(s, bound->x, 0, 0), pith_f64(s, 99));
    return pith_logical_and(s, own, is_below(s, pair));
}
PITH_FUNCTION2(is_own_below_function, is_own_below, pith_array, void, Pair)
static const void *climb_from(pith_scope *s, const void *pair, const Pair *bound) {
    const Pair *p = pith_child(pair, 1);
    const pith_array *g = pith_call(s, pith_grad(s, &height_function, NULL),
                                    PITH_ITEMS(bound->w, bound->x));
    const pith_array *w = pith_sub(s, climb(s, p->w, p->x), pith_mul(s, g, 0.125));
    const void *next[] = {pith_add(s, pith_child(pair, 0), pith_i64(s, 1)),
                          pith_record(s, Pair, .w = w, .x = p->x)};
    return pith_tuple_make(s, 2, next);
}
PITH_FUNCTION2(climb_from_function, climb_from, void, void, Pair)
static const pith_array *
by_own_length(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_record_options o = {.most = STEPS + 1};
    const Pair *bound = pith_record(s, Pair, .w = w, .x = x);
    return last_of(pith_while_recorded(s, pith_partial(s, &is_own_below_function, bound),
                                       pith_partial(s, &climb_from_function, bound),
                                       counted(s, w, x), &o));
}
static const pith_array *
known_from(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *g = pith_mul(s, pith_mul(s, pith_cos(s, w), x), 0.125), *v = w;
    for (int k = 0; k < STEPS; k++)
        v = pith_sub(s, climb_known(s, v, x), g);
    return v;
}

/* A loop in a loop, of which the outer one makes the carry vary. */
static const pith_array *climb_twice(pith_scope *s,
                                     const pith_array *i,
                                     const pith_array *w,
                                     const pith_array *x) {
    (void)i;
    return pith_fori(s, 0, 2, pith_partial(s, &climb_bound_function, x), w);
}
PITH_FUNCTION3(climb_twice_function,
               climb_twice,
               pith_array,
               pith_array,
               pith_array,
               pith_array)
static const pith_array *
by_nest(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_fori(s, 0, STEPS, pith_partial(s, &climb_twice_function, x), w);
}
static const pith_array *
known_twice(pith_scope *s, const pith_array *w, const pith_array *x) {
    for (int k = 0; k < 2 * STEPS; k++)
        w = climb_known(s, w, x);
    return w;
}

/* In a branch, of which the result is the carry. */
static const Pair *stay(pith_scope *s, const Pair *p) {
    (void)s;
    return p;
}
PITH_FUNCTION1(stay_function, stay, Pair, Pair)
static const Pair *choose(pith_scope *s, const pith_array *i, const Pair *p) {
    return pith_cond(s, pith_less(s, i, pith_i64(s, STEPS)), &climb_pair_function,
                     &stay_function, p);
}
PITH_FUNCTION2(choose_function, choose, Pair, pith_array, Pair)
static const pith_array *
by_branch(pith_scope *s, const pith_array *w, const pith_array *x) {
    const Pair *p = pith_record(s, Pair, .w = w, .x = x);
    return ((const Pair *)pith_fori(s, 0, STEPS + 2, &choose_function, p))->w;
}

/* One carry varies after an iteration, the next after two: the body is recorded thrice.
 */
static const void *pass_on(pith_scope *s, const pith_array *i, const void *list) {
    const pith_array *first = pith_child(list, 0), *x = pith_child(list, 2);
    (void)i;
    return pith_tuple_make(s, PITH_ITEMS(climb(s, pith_child(list, 1), x),
                                         pith_add(s, x, pith_mul(s, first, 0.5)), x));
}
PITH_FUNCTION2(pass_on_function, pass_on, void, pith_array, void)
static const pith_array *
by_turns(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_child(pith_fori(s, 0, STEPS, &pass_on_function,
                                pith_tuple_make(s, PITH_ITEMS(w, w, x))),
                      0);
}
static const pith_array *
known_turns(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *second = w;
    for (int k = 0; k < STEPS; k++) {
        const pith_array *next = pith_add(s, x, pith_mul(s, w, 0.5));
        w = climb_known(s, second, x);
        second = next;
    }
    return w;
}

static const pith_array *
known_steps(pith_scope *s, const pith_array *w, const pith_array *x) {
    for (int k = 0; k < STEPS; k++)
        w = climb_known(s, w, x);
    return w;
}

/* ---- The function over shards ---- */

typedef const pith_array *
loop_call(pith_scope *s, const pith_array *w, const pith_array *x);
static const struct {
    const char *name;
    loop_call *made, *known;
} loops[] = {
    {"range", by_range, known_steps},         {"partial", by_partial, known_steps},
    {"bounds", by_bounds, known_steps},       {"scan", by_scan, known_steps},
    {"record", by_record, known_steps},       {"checks", by_checks, known_steps},
    {"criterion", by_criterion, known_steps}, {"own length", by_own_length, known_from},
    {"nest", by_nest, known_twice},           {"branch", by_branch, known_steps},
    {"turns", by_turns, known_turns},
};
enum { LOOPS = sizeof loops / sizeof *loops };

typedef struct over_ranks {
    pith_function call; /* first */
    int loop;
    int64_t ranks; /* whose rows are here, without collectives; 0: of one, with them */
} over_ranks;

static const void *
call_over_ranks(const pith_function *self, pith_scope *s, const void *const *given) {
    const over_ranks *o = (const over_ranks *)(const void *)self;
    const pith_array *w = given[0], *x = given[1], *sum = NULL;
    if (!o->ranks) {
        const pith_array *last = loops[o->loop].made(s, w, x);
        return pith_psum(s, pith_sum(s, pith_mul(s, last, x), PITH_ALL_AXES), NULL, NULL);
    }
    for (int64_t r = 0; r < o->ranks; r++) {
        const pith_array *own =
            pith_slice_array(s, x, 1, &PITH_SLICE(r * MANY, (r + 1) * MANY, 1));
        const pith_array *last = loops[o->loop].known(s, w, own),
                         *one = pith_sum(s, pith_mul(s, last, own), PITH_ALL_AXES);
        sum = sum ? pith_add(s, sum, one) : one;
    }
    return sum;
}

static over_ranks over(int loop, int64_t ranks) {
    return (over_ranks){
        .call = {.name = loops[loop].name, .call = call_over_ranks, .arity = 2},
        .loop = loop,
        .ranks = ranks};
}

static const pith_function *mapped(pith_scope *s, const pith_function *f, bool gradient) {
    const pith_shard_options o = {
        .in = {PITH_SPECS({"", "", NULL}), PITH_SPECS({"", "x", NULL})},
        .out = gradient ? PITH_SPECS({"[0]", "", NULL}, {"[1][0]", "", NULL},
                                     {"[1][1]", "x", NULL})
                        : PITH_SPECS({"", "", NULL})};
    return pith_shard_map(s, f, &o);
}

static double distance(pith_scope *s, const pith_array *a, const pith_array *b) {
    double x[4 * MANY], y[4 * MANY], most = 0;
    const size_t n = pith_array_spec(b)->bytes / sizeof *x;
    if (!a || !b || pith_array_spec(a)->bytes != n * sizeof *x)
        return (double)INFINITY;
    pith_read(s, a, x, n * sizeof *x);
    pith_read(s, b, y, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, isnan(x[i]) ? (double)INFINITY : fabs(x[i] - y[i]));
    return pith_failed(s) ? (double)INFINITY : most;
}

static int ranks_of(const fake_rank *r) {
    return *(const int *)r->closure;
}

static void tell(fake_rank *r, int loop, const char *way, const char *what) {
    fprintf(stderr, "rank %d of %d, %s, %s: %s differs: %s\n", r->rank, ranks_of(r),
            loops[loop].name, way, what, pith_message(r->s));
    r->failures++;
}

/* The value and both gradients, [value, [by w, by x]]. */
static void
compare(fake_rank *r, int loop, const char *way, const void *made, const void *wanted) {
    pith_scope *s = r->s;
    const void *whole = pith_unshard(s, made, -1), *got = pith_child(whole, 1),
               *want = pith_child(wanted, 1);
    if (pith_failed(s) ||
        distance(s, pith_child(whole, 0), pith_child(wanted, 0)) > 1e-12)
        tell(r, loop, way, "the value");
    else if (distance(s, pith_child(got, 0), pith_child(want, 0)) > 1e-12)
        tell(r, loop, way, "the gradient by the weights");
    else if (distance(s, pith_child(got, 1), pith_child(want, 1)) > 1e-12)
        tell(r, loop, way, "the gradient by the rows");
    pith_clear(s);
}

static void check_loop(fake_rank *r, int loop) {
    pith_scope *s = r->s;
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const over_ranks own = over(loop, 0), all = over(loop, ranks_of(r));
    const pith_array *w = pith_linspace(s, PITH_F64, -1, 1, MANY, true),
                     *x = pith_linspace(s, PITH_F64, 0.5, 2, MANY * ranks_of(r), true),
                     *shards = pith_shard(s, x, PITH_SPECS({"", "x", NULL}));
    const void *wanted =
        pith_call(s, pith_value_and_grad(s, &all.call, &both), PITH_ITEMS(w, x));
    const pith_function *around =
                            pith_value_and_grad(s, mapped(s, &own.call, false), &both),
                        *inside =
                            mapped(s, pith_value_and_grad(s, &own.call, &both), true);
    const struct {
        const char *name;
        const pith_function *f;
    } ways[] = {{"around", around},
                {"around, compiled", pith_jit(s, around, NULL)},
                {"inside", inside},
                {"inside, compiled", pith_jit(s, inside, NULL)}};
    for (int k = 0; k < 4; k++)
        for (int times = 0; times < 1 + k % 2; times++)
            compare(r, loop, ways[k].name, pith_call(s, ways[k].f, PITH_ITEMS(w, shards)),
                    wanted);
    /* the value alone, also without a trace */
    const pith_function *value = mapped(s, &own.call, false);
    for (int k = 0; k < 2; k++, value = pith_jit(s, value, NULL))
        if (distance(s, pith_call(s, value, PITH_ITEMS(w, shards)),
                     pith_child(wanted, 0)) > 1e-12)
            tell(r, loop, k ? "compiled" : "eager", "the value");
    pith_clear(s);
    pith_jit_clear(r->runtime); /* functions are known by their address */
}

static void check_loops(fake_rank *r) {
    const char *only = getenv("PITH_CHECK");
    for (int k = 0; k < LOOPS; k++)
        if (!only || strcmp(only, loops[k].name) == 0)
            check_loop(r, k);
}

static void passes(int size, uint64_t seed) {
    const fake_result result = fake_run(
        &(fake_options){.size = size, .seed = seed, .timeout = 120, .closure = &size},
        check_loops);
    cr_assert(result.failures == 0 && !result.ended, "%d ranks: %s", size, result.report);
}

Test(carries, come_to_vary) {
    for (int size = 1; size <= 4; size++)
        passes(size, size == 3);
}
Test(carries, come_to_vary_in_the_interpreter) {
    setenv("PITH_JIT", "off", 1);
    passes(2, 0);
    passes(3, 0);
}
Test(carries, come_to_vary_without_programs) {
    setenv("PITH_JIT", "eager", 1);
    passes(2, 0);
}
