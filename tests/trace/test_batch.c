/* Equal work on many leaves, which compiled code does as one: the same bits as leaf by
 * leaf, for any layout of the leaves and any readers of the results. */
#include "pith/pith.h"

#include "pith_test.h"
#include "program/exec/horizontal.h"
#include "series.h"
#include "trace/jit/jit_internal.h"

typedef struct {
    const void *x, *y; /* lists of as many leaves of the same shapes */
    const void *scale; /* a list of scalars */
} Leaves;
PITH_NODE(Leaves, PITH_TREE(x), PITH_TREE(y), PITH_TREE(scale))

enum { COUNT = 701 }; /* leaves: prime, and more than a few fused steps can hold */
enum { MOST_THREADS = 3, LEAST_THREADS = PT_SANITIZED ? MOST_THREADS : 1 };

static pith_runtime *rt;
static pith_scope *s;

static void begin(int threads) {
    setenv("PITH_JIT", "wait", 1);
    const pith_allocator allocator = pt_allocator(&pt_default_heap);
    rt = pith_open(&(pith_open_options){
        .device = "host", .allocator = &allocator, .threads = threads});
    pt_open_runtimes++;
    s = pith_scope_open(rt);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Leaves of `most` elements or, where they are mixed, up to so many. */
static const void *list_of(int64_t most, bool mixed, double from) {
    const void *items[COUNT];
    for (int k = 0; k < COUNT; k++) {
        const int64_t n = mixed ? (k / 3 * 7 % 5) * most / 4 : most;
        items[k] = pith_add(s, pith_arange(s, PITH_F64, n), pith_f64(s, from + k));
    }
    return pith_list_make(s, COUNT, items);
}
static const Leaves *make(int64_t most, bool mixed) {
    const void *scalars[COUNT];
    for (int k = 0; k < COUNT; k++)
        scalars[k] = pith_f64(s, 1 + k);
    const Leaves l = {.x = list_of(most, mixed, 1),
                      .y = list_of(most, mixed, 100),
                      .scale = pith_list_make(s, COUNT, scalars)};
    const Leaves *made = pith_freeze(s, Leaves, &l);
    pt_ok(s, made);
    return made;
}
static const pith_array *const *items(const void *list) {
    return list;
}
static void same(const void *a, const void *b) {
    pt_ok(s, pith_tree_equal(s, a, b));
}

/* ---- Steps ---- */

typedef const pith_array *(*leaf_of)(pith_scope *in, const Leaves *l, int k);

static const void *each(pith_scope *in, const Leaves *l, leaf_of leaf) {
    const void *made[COUNT];
    for (int k = 0; k < COUNT; k++)
        made[k] = leaf(in, l, k);
    Leaves next = *l;
    next.x = pith_list_make(in, COUNT, made);
    return pith_freeze(in, Leaves, &next);
}

static const pith_array *of_two(pith_scope *in, const Leaves *l, int k) {
    return pith_sqrt(in, pith_add(in, pith_mul(in, items(l->x)[k], items(l->y)[k]),
                                  pith_f64(in, 0.5)));
}
static const pith_array *scaled(pith_scope *in, const Leaves *l, int k) {
    return pith_add(in, pith_mul(in, items(l->x)[k], items(l->scale)[k]),
                    items(l->scale)[0]);
}
static const pith_array *shuffled(pith_scope *in, const Leaves *l, int k) {
    return pith_sub(in, items(l->x)[k * 7 % COUNT], items(l->y)[k * 7 % COUNT]);
}
static const pith_array *rolled(pith_scope *in, const Leaves *l, int k) {
    return pith_sub(in, pith_mul(in, items(l->x)[k], items(l->x)[(k + 1) % COUNT]),
                    items(l->y)[k]);
}

#define STEP(name)                                                                       \
    static const Leaves *each_##name(pith_scope *in, const Leaves *l) {                  \
        return each(in, l, name);                                                        \
    }                                                                                    \
    PITH_FUNCTION1(name##_step, each_##name, Leaves, Leaves)
STEP(of_two)
STEP(scaled)
STEP(shuffled)
STEP(rolled)

/* Leaf k is made of leaf k - 1 of the result. */
static const Leaves *chained(pith_scope *in, const Leaves *l) {
    const void *made[COUNT];
    const pith_array *last = items(l->y)[0];
    for (int k = 0; k < COUNT; k++)
        made[k] = last = pith_sub(in, pith_flip(in, items(l->x)[k], PITH_ALL_AXES), last);
    Leaves next = *l;
    next.x = pith_list_make(in, COUNT, made);
    return pith_freeze(in, Leaves, &next);
}
PITH_FUNCTION1(chained_step, chained, Leaves, Leaves)

/* ---- Runs ---- */

/* Steps that run in batches of the compiled program of a call. */
static int64_t batched(const pith_function *jitted, const Leaves *l) {
    pithp_jit_program *p =
        pithp_jit_program_of(s, pithp_jit_closure_of(jitted), (const void *[]){l});
    const pithp_compiled *code = p->executable->code;
    int64_t steps = 0;
    for (int64_t k = 0; code && k < code->count; k++)
        steps += code->steps[k].horizontal ? code->steps[k].horizontal->steps : 0;
    pithp_jit_program_release(p);
    return steps;
}

/* Run compiled, with and without donation, against the same leaf by leaf; how many steps
 * ran in batches. */
static int64_t compare(const pith_function *f, int64_t most, bool mixed) {
    const pith_function *plain = pith_jit(s, f, NULL);
    const pith_function *donating =
        pith_jit(s, f, &(pith_jit_options){.donate_paths = PITH_PATHS("[0].x")});
    const Leaves *l = make(most, mixed), *last = make(most, mixed);
    const Leaves *expected = pith_apply(s, f, l);
    pt_ok(s, expected);
    same(expected->x, ((const Leaves *)pith_apply(s, plain, l))->x);
    expected = pith_apply(s, f, expected);
    last = pith_apply(s, donating, last);
    last = pith_apply(s, donating, last); /* in place */
    same(expected->x, last->x);
    return batched(plain, l);
}

Test(batch, leaves_are_done_together) {
    for (int threads = LEAST_THREADS; threads <= MOST_THREADS; threads++) {
        begin(threads);
        cr_assert(compare(&of_two_step, 64, false) == COUNT);
        cr_assert(compare(&of_two_step, 5, false) == COUNT, "with gaps between them");
        cr_assert(compare(&of_two_step, 400, true) == COUNT);
        cr_assert(compare(&of_two_step, 8000, true) == COUNT);
        cr_assert(compare(&scaled_step, 64, false) == COUNT - 1, "the first adds itself");
        cr_assert(compare(&scaled_step, 7000, false) == COUNT - 1);
        cr_assert(compare(&shuffled_step, 64, false) == COUNT);
        end();
    }
}

Test(batch, leaves_that_others_are_made_of_come_first) {
    for (int threads = LEAST_THREADS; threads <= MOST_THREADS; threads++) {
        begin(threads);
        cr_assert(compare(&rolled_step, 64, false) > 1);
        compare(&rolled_step, 7000, false);
        compare(&chained_step, 64, false);
        compare(&chained_step, 7000, false);
        end();
    }
}

Test(batch, leaves_that_are_read_by_others_are_not_written_at_the_same_time) {
    begin(2);
    const pith_function *donating = pith_jit(
        s, &rolled_step, &(pith_jit_options){.donate_paths = PITH_PATHS("[0].x")});
    const Leaves *l = make(64, false);
    pt_ok(s, pith_apply(s, donating, l));
    cr_assert(batched(donating, make(64, false)) == 0);
    end();
}
