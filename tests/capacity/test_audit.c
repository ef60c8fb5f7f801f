/* The audit: statics that name extents and have no capacity, and draws shaped by them. */
#include "capacity_test.h"

static const Sim *careless(pith_scope *in, const Sim *sim) {
    pith_capacity_require(
        in, pith_lens_capacity(in, PITH_LENS(Sim, max_edges), sim->max_edges, 2),
        pith_i64(in, 5));
    return sim;
}
PITH_FUNCTION1(careless_step, careless, Sim, Sim)

static const Sim *careful(pith_scope *in, const Sim *sim) {
    const pith_lens *both = pith_lens_merge(
        in, PITH_LENSES(PITH_LENS(Sim, max_edges), PITH_LENS(Sim, lists->width)));
    pith_capacity_require(
        in,
        pith_capacity_make(
            in, &(pith_capacity_options){PITH_SIZES(sim->max_edges, sim->lists->width),
                                         .lens = both, .base = 2}),
        pith_i64(in, 1));
    pith_capacity_require(
        in,
        pith_capacity_make(in,
                           &(pith_capacity_options){.size = sim->lists->depth,
                                                    .lens = PITH_LENS(Sim, lists->depth),
                                                    .fixed = true}),
        pith_i64(in, 1));
    return sim;
}
PITH_FUNCTION1(careful_step, careful, Sim, Sim)

Test(audit, lists_unguarded_statics) {
    open_all();
    int64_t count = -1;
    const pith_capacity_gap *gaps =
        pith_capacity_audit(s, &careless_step, start(), &count);
    pt_ok(s, gaps);
    cr_assert(count == 2);
    cr_assert(gaps[0].kind == PITH_GAP_STATIC);
    cr_assert_str_eq(gaps[0].path, ".lists.width");
    cr_assert_str_eq(gaps[1].path, ".lists.depth");
    cr_assert_str_eq(gaps[0].text,
                     "names an extent of .lists.list, and no capacity covers it");
    gaps = pith_capacity_audit(s, &careful_step, start(), &count);
    pt_ok(s, gaps);
    cr_assert(count == 0);
    close_all();
}

static const Sim *drawing(pith_scope *in, const Sim *sim) {
    const pith_array *key = pith_random_key(in, 7);
    pith_random_uniform(in, key, PITH_F64, PITH_SHAPE(4), 0, 1, NULL);
    pith_random_uniform(in, key, PITH_F32, PITH_SHAPE(sim->max_edges), 0, 1, NULL);
    return careful(in, sim);
}
PITH_FUNCTION1(drawing_step, drawing, Sim, Sim)

Test(audit, lists_draws_that_a_size_shapes) {
    open_all();
    int64_t count = -1;
    const Sim *sim = start();
    const size_t live = pith_memory_about(rt).live;
    const pith_capacity_gap *gaps = pith_capacity_audit(s, &drawing_step, sim, &count);
    pt_ok(s, gaps);
    cr_assert(count == 1, "%lld", (long long)count);
    cr_assert(gaps[0].kind == PITH_GAP_DRAW);
    cr_assert_str_eq(gaps[0].path, ".max_edges");
    cr_assert(strstr(gaps[0].text, "shapes random_uniform f32[100] at test_audit.c:"),
              "%s", gaps[0].text);
    cr_assert(pith_memory_about(rt).live == live, "nothing comes of it");
    close_all();
}

/* ^names are those of the record that provides them; kinds of a user's own guard too. */
typedef struct {
    const pith_array *row;
} Inner;
PITH_NODE(Inner, PITH_LEAF(row, "f32[^cap,2*^cap]"))
typedef struct {
    const Inner *a, *b;
    int64_t cap, other;
} Outer;
PITH_NODE(Outer,
          PITH_CHILD(a, Inner),
          PITH_CHILD(b, Inner),
          PITH_STATIC(cap, .initial = 3),
          PITH_STATIC(other))

static const void *widen(pith_scope *in,
                         const void *root,
                         int64_t count,
                         const int64_t *sizes,
                         void *closure) {
    (void)count, (void)closure;
    return pith_lens_set_i64_with(in, PITH_LENS(Outer, cap), root, sizes[0],
                                  &(pith_lens_options){.resize = true});
}
static const pith_capacity_kind own = {.fix = widen};

static const Outer *idle(pith_scope *in, const Outer *o) {
    (void)in;
    return o;
}
PITH_FUNCTION1(idle_step, idle, Outer, Outer)
static const Outer *guarded(pith_scope *in, const Outer *o) {
    pith_capacity_require(
        in,
        pith_capacity_make(in, &(pith_capacity_options){.size = o->cap, .kind = &own}),
        pith_i64(in, 1));
    return o;
}
PITH_FUNCTION1(guarded_step, guarded, Outer, Outer)

Test(audit, follows_names_of_enclosing_nodes) {
    open_all();
    const Outer *o = pith_make(s, Outer, NULL, NULL);
    int64_t count = -1;
    const pith_capacity_gap *gaps = pith_capacity_audit(s, &idle_step, o, &count);
    pt_ok(s, gaps);
    cr_assert(count == 1, "each static once");
    cr_assert_str_eq(gaps[0].path, ".cap");
    pt_ok(s, pith_capacity_audit(s, &guarded_step, o, &count));
    cr_assert(count == 0);
    close_all();
}

/* Branches that this state does not take count too, of compiled steps and others. */
static const Sim *guard_and_draw(pith_scope *in, const Sim *sim) {
    pith_capacity_guard(
        in, pith_lens_capacity(in, PITH_LENS(Sim, lists->width), sim->lists->width, 2),
        "width");
    return drawing(in, sim);
}
static const Sim *unchanged(pith_scope *in, const Sim *sim) {
    (void)in;
    return sim;
}
PITH_FUNCTION1(guard_and_draw_function, guard_and_draw, Sim, Sim)
PITH_FUNCTION1(unchanged_function, unchanged, Sim, Sim)
static const Sim *branching(pith_scope *in, const Sim *sim) {
    const pith_array *done = pith_greater(in, sim->step, 1000);
    return pith_cond(in, done, &guard_and_draw_function, &unchanged_function, sim);
}
PITH_FUNCTION1(branching_step, branching, Sim, Sim)

Test(audit, sees_branches_that_are_not_taken) {
    open_all();
    const pith_function *const steps[] = {&branching_step,
                                          pith_jit(s, &branching_step, NULL)};
    for (int i = 0; i < 2; i++) {
        int64_t count = -1;
        const pith_capacity_gap *gaps = pith_capacity_audit(s, steps[i], start(), &count);
        pt_ok(s, gaps);
        cr_assert(count == 1, "%d: %lld: %s", i, (long long)count, gaps[0].path);
        cr_assert(gaps[0].kind == PITH_GAP_DRAW);
        cr_assert_str_eq(gaps[0].path, ".max_edges");
    }
    close_all();
}

/* A step that reads values is not recorded. */
static const Sim *reading(pith_scope *in, const Sim *sim) {
    return pith_read_i64(in, sim->step) > 1000 ? sim : careful(in, sim);
}
PITH_FUNCTION1(reading_step, reading, Sim, Sim)

Test(audit, takes_steps_that_read_values) {
    open_all();
    int64_t count = -1;
    pt_ok(s, pith_capacity_audit(s, &reading_step, start(), &count));
    cr_assert(count == 0);
    close_all();
}

static const Sim *failing(pith_scope *in, const Sim *sim) {
    pith_fail(in, PITH_E_CALLBACK, ".x", "on purpose");
    return sim;
}
PITH_FUNCTION1(failing_step, failing, Sim, Sim)

Test(audit, of_a_step_that_fails_fails) {
    open_all();
    int64_t count = -1;
    pt_fails(PITH_E_CALLBACK, s, pith_capacity_audit(s, &failing_step, start(), &count));
    cr_assert(count == 0);
    pt_fails(PITH_E_ARG, s, pith_capacity_audit(s, &failing_step, start(), NULL));
    pt_fails(PITH_E_ARG, s, pith_capacity_audit(s, NULL, start(), &count));
    close_all();
}
