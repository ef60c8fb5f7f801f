/* Lenses made of lenses: focus, nest, merge, constants, functions of the user's. */
#include "lens_types.h"

Test(lens_focus, goes_deeper) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *sim = PITH_LENS(World, sim);
    const pith_lens *position =
        pith_lens_focus(s, pith_lens_focus(s, sim, ".atoms"), ".position");
    pt_ok(s, pith_lens_get(s, position, w) == w->sim->atoms->position);
    cr_assert_str_eq(pith_lens_text(s, position), ".sim.atoms.position");
    const World *next = pith_lens_set(s, position, w, w->sim->atoms->velocity);
    pt_ok(s, next->sim->atoms->position == w->sim->atoms->velocity);
    pt_fails(PITH_E_PATH, s, pith_lens_focus(s, sim, ".atom"));
    pt_says(".atom: Sim has no field 'atom'");
    pt_fails(PITH_E_PATH, s, pith_lens_focus(s, PITH_LENS(World, steps), "[0]"));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_nest, puts_a_lens_into_a_lens) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    World value = *lens_world(s);
    value.any = pith_list_make(s, PITH_ITEMS(value.sim, value.sim->atoms));
    const World *w = pith_freeze(s, World, &value);
    const pith_lens *position = PITH_LENS(Sim, atoms->position);
    const pith_lens *nested = pith_lens_nest(s, PITH_LENS(World, sim), position);
    pt_ok(s, pith_lens_get(s, nested, w) == w->sim->atoms->position);
    cr_assert_str_eq(pith_lens_text(s, nested), ".sim.atoms.position");
    /* Where the types do not tell, the record is checked when the lens is used. */
    const pith_lens *first =
        pith_lens_nest(s, pith_lens_path(s, NULL, ".any[0]"), position);
    const pith_lens *second =
        pith_lens_nest(s, pith_lens_path(s, NULL, ".any[1]"), position);
    pt_ok(s, pith_lens_get(s, first, w) == w->sim->atoms->position);
    const World *next = pith_lens_set(s, first, w, w->sim->atoms->force);
    pt_ok(s, pith_lens_get(s, first, next) == w->sim->atoms->force);
    cr_assert(next->sim == w->sim);
    pt_fails(PITH_E_TYPE, s, pith_lens_get(s, second, w));
    cr_assert_str_eq(pt_error.path, ".any[1]");
    pt_says("expected Sim, got Atoms");
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, second, w, w->sim->atoms->force));
    pt_says("expected Sim, got Atoms");
    pt_fails(PITH_E_TYPE, s, pith_lens_nest(s, PITH_LENS(World, ghosts), position));
    pt_says("the inner lens applies to Sim, the outer one ends in Atoms");
    pt_fails(PITH_E_TYPE, s, pith_lens_nest(s, PITH_LENS(World, steps), position));
    pt_fails(PITH_E_TYPE, s,
             pith_lens_nest(s, PITH_LENS(World, base.position), position));

    /* The identity changes nothing, on either side. */
    const pith_lens *left = pith_lens_nest(s, pith_lens_identity(), position);
    const pith_lens *right = pith_lens_nest(s, position, pith_lens_identity());
    pt_ok(s, pith_lens_get(s, left, w->sim) == w->sim->atoms->position);
    pt_ok(s, pith_lens_get(s, right, w->sim) == w->sim->atoms->position);
    pt_fails(PITH_E_TYPE, s, pith_lens_get(s, left, w));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_merge, looks_at_several_parts_at_once) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *both = pith_lens_merge(
        s, PITH_LENSES(PITH_LENS(World, sim->atoms->velocity),
                       PITH_LENS(World, sim->atoms->position), PITH_LENS(World, cutoff)));
    const void *got = pith_lens_get(s, both, w);
    pt_ok(s, pith_kind(got) == PITH_NODE_TUPLE && pith_child_count(got) == 3);
    cr_assert(pith_child(got, 0) == w->sim->atoms->velocity);
    cr_assert(pith_child(got, 1) == w->sim->atoms->position);
    cr_assert_str_eq(pith_lens_text(s, both),
                     "(.sim.atoms.velocity, .sim.atoms.position, .cutoff)");
    worlds_checked = 0;
    const void *swapped = pith_tuple_make(
        s, PITH_ITEMS(w->sim->atoms->position, w->sim->atoms->velocity, pith_f64(s, 1)));
    const World *next = pith_lens_set(s, both, w, swapped);
    pt_ok(s, pith_is(World, next));
    cr_assert(next->sim->atoms->velocity == w->sim->atoms->position);
    cr_assert(next->sim->atoms->position == w->sim->atoms->velocity && next->cutoff == 1);
    cr_assert(next->sim->neighbour == w->sim->neighbour && worlds_checked == 1);

    /* Leaves that must agree change together: one after the other would be refused. */
    const pith_lens *all = pith_lens_merge(s, PITH_LENSES(PITH_LENS(Atoms, position),
                                                          PITH_LENS(Atoms, velocity),
                                                          PITH_LENS(Atoms, force)));
    const pith_array *x = pt_array(s, PITH_SHAPE(6, 3), 0);
    const Atoms *six =
        pith_lens_set(s, all, w->sim->atoms, pith_tuple_make(s, PITH_ITEMS(x, x, x)));
    pt_ok(s, pith_is(Atoms, six) && six->force == x);
    pt_fails(PITH_E_SHAPE, s,
             pith_lens_set(s, PITH_LENS(Atoms, position), w->sim->atoms, x));

    /* A lens behind a merged one looks into the tuple. */
    const pith_lens *second = pith_lens_focus(s, all, "[1]");
    pt_ok(s, pith_lens_get(s, second, six) == x);
    const pith_array *y = pt_array(s, PITH_SHAPE(6, 3), 9);
    const Atoms *changed = pith_lens_set(s, second, six, y);
    pt_ok(s, changed->velocity == y && changed->position == x && changed->force == x);

    pt_fails(PITH_E_STRUCTURE, s,
             pith_lens_set(s, all, six, pith_tuple_make(s, PITH_ITEMS(x, x))));
    pt_says("expected a tuple of 3, one for each lens, got a tuple of 2");
    pt_fails(PITH_E_TYPE, s,
             pith_lens_set(s, all, six, pith_list_make(s, PITH_ITEMS(x, x, x))));
    pt_fails(
        PITH_E_TYPE, s,
        pith_lens_merge(s, PITH_LENSES(PITH_LENS(Atoms, force), PITH_LENS(Sim, atoms))));
    pt_fails(
        PITH_E_PATH, s,
        pith_lens_get(s, pith_lens_merge(s, PITH_LENSES(PITH_LENS(World, ghosts))), w));
    const pith_lens *none = pith_lens_merge(s, 0, NULL);
    pt_ok(s, pith_child_count(pith_lens_get(s, none, w)) == 0);
    cr_assert(pith_lens_set(s, none, w, pith_lens_get(s, none, w)) == w);
    pith_scope_close(s);
    pt_close(rt);
}

/* What is set twice would not be what is got: the later one must not win in silence. */
Test(lens_merge, refuses_parts_that_overlap) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *position = PITH_LENS(World, sim->atoms->position),
                    *atoms = PITH_LENS(World, sim->atoms),
                    *steps = PITH_LENS(World, steps);
    const pith_lens *bad[] = {
        pith_lens_merge(s, PITH_LENSES(position, position)),
        pith_lens_merge(s, PITH_LENSES(position, steps, atoms)),
        pith_lens_merge(s, PITH_LENSES(steps, steps)),
        pith_lens_merge(
            s, PITH_LENSES(atoms, pith_lens_merge(s, PITH_LENSES(steps, position)))),
        pith_lens_merge(s, PITH_LENSES(pith_lens_identity(), steps)),
        pith_lens_merge(
            s, PITH_LENSES(PITH_LENS(World, config), PITH_LENS(World, config->rounds))),
    };
    static const char *const paths[] = {".sim.atoms.position",
                                        ".sim.atoms.position",
                                        ".steps",
                                        ".sim.atoms.position",
                                        ".steps",
                                        ".config.rounds"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const void *got = pith_lens_get(s, bad[i], w); /* to get them is no error */
        pt_ok(s, got);
        pt_fails(PITH_E_ARG, s, pith_lens_set(s, bad[i], w, got));
        cr_assert_str_eq(pt_error.path, paths[i]);
        pt_says("two lenses set it");
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_constant, gets_its_value_whatever_the_root) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    pith_scope *inner = pith_scope_open_in(s);
    const pith_lens *lens = pith_lens_constant(inner, pith_f64(inner, 0.5)), *kept;
    pt_ok(inner, lens);
    const pith_array *got = pith_lens_get(s, lens, w); /* it outlives the lens */
    kept = pith_keep(s, lens);
    pith_scope_close(inner);
    pt_ok(s, pith_read_f64(s, got) == 0.5);
    cr_assert(pith_lens_get_f64(s, kept, w->sim) == 0.5);
    cr_assert_str_eq(pith_lens_text(s, kept), "constant(f64[])");
    /* Setting is no error, and does nothing. */
    cr_assert(pith_lens_set(s, kept, w, pith_f64(s, 2)) == w);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* The sum of positions; setting it moves all by the same. */
static const void *get_sum(pith_scope *s, const void *root, void *closure) {
    ++*(int *)closure;
    return pith_sum(s, ((const Atoms *)root)->position, PITH_AXES(0));
}
static const void *
set_sum(pith_scope *s, const void *root, const void *value, void *closure) {
    Atoms next = *(const Atoms *)root;
    const pith_array *n =
        pith_like(s, next.position, (double)pith_array_spec(next.position)->shape[0]);
    const pith_array *move = pith_sub(s, value, get_sum(s, root, closure));
    next.position = pith_add(s, next.position, pith_div(s, move, n));
    return pith_freeze(s, Atoms, &next);
}
static const void *fail_to_get(pith_scope *s, const void *root, void *closure) {
    (void)root, (void)closure;
    pith_fail(s, PITH_E_CHECK, ".inside", "no");
    return NULL;
}
static const void *
set_nothing(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)s, (void)root, (void)value, (void)closure;
    return NULL;
}

Test(lens_function, is_what_the_user_says) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    int calls = 0;
    const pith_lens *sum = pith_lens_function(s, "sum", get_sum, set_sum, &calls);
    /* Nested, the setter stays the lens's own. */
    const pith_lens *nested = pith_lens_nest(s, PITH_LENS(World, sim->atoms), sum);
    cr_assert_str_eq(pith_lens_text(s, nested), ".sim.atoms.sum()");
    const pith_array *zero = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    const World *next = pith_lens_set(s, nested, w, zero);
    pt_ok(s, pith_is(World, next));
    cr_assert(pith_tree_all_close(s, pith_lens_get(s, nested, next), zero, 0, 1e-9));
    cr_assert(next->sim->atoms->velocity == w->sim->atoms->velocity);
    cr_assert(next->sim->neighbour == w->sim->neighbour && calls >= 2);
    double x[12];
    pt_ok(s, pith_read(s, next->sim->atoms->position, x, sizeof x));
    cr_assert(x[3] - x[0] == 3 && x[0] == -4.5);

    /* Behind it one may look on: at one coordinate of the sum. */
    const pith_lens *first = pith_lens_focus(s, nested, "[0]");
    next = pith_lens_set(s, first, next, pith_f64(s, 4));
    pt_ok(s, pith_lens_get_f64(s, first, next) == 4);
    cr_assert(fabs(pith_lens_get_f64(s, pith_lens_focus(s, nested, "[1]"), next)) < 1e-9);

    const pith_lens *read_only = pith_lens_function(s, "view", get_sum, NULL, &calls);
    pt_ok(s, pith_lens_get(s, read_only, w->sim->atoms));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, read_only, w->sim->atoms, zero));
    pt_says("the lens view() has no set function");
    const pith_lens *bad =
        pith_lens_nest(s, PITH_LENS(World, sim->atoms),
                       pith_lens_function(s, "bad", fail_to_get, set_nothing, NULL));
    pt_fails(PITH_E_CHECK, s, pith_lens_get(s, bad, w));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.inside");
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, bad, w, zero));
    pt_says(".sim.atoms: bad: set returned NULL, and no error");
    pt_fails(PITH_E_ARG, s, pith_lens_function(s, NULL, get_sum, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_lens_function(s, "x", NULL, NULL, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

static const void *twice(pith_scope *s, const void *part, void *closure) {
    ++*(int *)closure;
    return pith_add(s, part, part);
}
static const void *failing(pith_scope *s, const void *part, void *closure) {
    (void)part, (void)closure;
    pith_fail(s, PITH_E_CHECK, NULL, "no");
    return NULL;
}

Test(lens_apply, sets_what_a_function_makes_of_what_is_got) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    int calls = 0;
    const World *next =
        pith_lens_apply(s, PITH_LENS(World, sim->atoms->position), w, twice, &calls);
    pt_ok(s, calls == 1);
    double x[12];
    pt_ok(s, pith_read(s, next->sim->atoms->position, x, sizeof x) && x[0] == 2 &&
                 x[11] == 24);
    next = pith_lens_apply(s, PITH_LENS(World, cutoff), next, twice, &calls);
    pt_ok(s, next->cutoff == 5);
    next = pith_lens_apply_with(s, PITH_LENS(World, sim->max_neighbour), next, twice,
                                &calls, &(pith_lens_options){.resize = true});
    pt_ok(s, next->sim->max_neighbour == 16 && calls == 3);
    pt_fails(PITH_E_CHECK, s,
             pith_lens_apply(s, PITH_LENS(World, cutoff), w, failing, NULL));
    pt_fails(PITH_E_ARG, s, pith_lens_apply(s, PITH_LENS(World, cutoff), w, NULL, NULL));
    pith_scope_close(s);
    pt_close(rt);
}
/* What was set is at fault, not what stands beside or below it. */
typedef struct {
    const pith_array *inside;
} Inner;
PITH_NODE(Inner, PITH_LEAF(inside, "f64[^n]"))
typedef struct {
    const pith_array *x, *y, *z;
    const Inner *inner;
} Outer;
PITH_NODE(Outer,
          PITH_LEAF(x, "float[n]", .optional = true),
          PITH_LEAF(y, "float[n]", .optional = true),
          PITH_LEAF(z, "f64[n+1]", .optional = true),
          PITH_CHILD(inner, Inner, .optional = true))

Test(lens_set, blames_the_leaf_that_was_set) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *two = pith_zeros(s, PITH_F64, PITH_SHAPE(2)),
                     *three = pith_zeros(s, PITH_F64, PITH_SHAPE(3)),
                     *nine = pith_zeros(s, PITH_F64, PITH_SHAPE(9)),
                     *half = pith_zeros(s, PITH_F32, PITH_SHAPE(2));
    const Inner *inner = pith_freeze(s, Inner, &(Inner){two});
    const Outer *outer = pith_freeze(s, Outer, &(Outer){two, two, three, NULL});
    const Outer *only = pith_freeze(s, Outer, &(Outer){two, NULL, NULL, inner});
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, PITH_LENS(Outer, x), outer, nine));
    pt_says(".x: expected f64[n=2], got f64[9]; n is 2 in .y");
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, PITH_LENS(Outer, y), outer, nine));
    pt_says(".y: expected f64[n=2], got f64[9]; n is 2 in .x");
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, PITH_LENS(Outer, z), outer, nine));
    pt_says(".z: expected f64[n+1=3], got f64[9]; n is 2 in .x");
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, PITH_LENS(Outer, x), only, nine));
    pt_says(".x: expected f64[n=2], got f64[9]");
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, PITH_LENS(Outer, x), outer, half));
    pt_says(".x: expected f64[n=2], got f32[2]");
    const pith_array *ranked = pith_zeros(s, PITH_F64, PITH_SHAPE(4, 2));
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, PITH_LENS(Outer, x), outer, ranked));
    cr_assert_str_eq(pt_error.path, ".x");
    const void *list = pith_list_make(s, PITH_ITEMS(outer));
    pt_fails(PITH_E_SHAPE, s,
             pith_lens_set(s, pith_lens_path(s, NULL, "[0].x"), list, nine));
    pt_says("[0].x: expected f64[n=2], got f64[9]");
    /* All together they may change. */
    const pith_lens *all = pith_lens_merge(
        s, PITH_LENSES(PITH_LENS(Outer, x), PITH_LENS(Outer, y), PITH_LENS(Outer, z)));
    const Outer *longer = pith_lens_set(
        s, all, outer,
        pith_tuple_make(
            s, PITH_ITEMS(three, three, pith_zeros(s, PITH_F64, PITH_SHAPE(4)))));
    pt_ok(s, longer->x == three);
    /* A struct says nothing of what was changed: the error has both. */
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Outer, &(Outer){nine, two, NULL, NULL}));
    pt_says(".y: expected f64[n=9], got f64[2]; n is 9 in .x");
    pith_scope_close(s);
    pt_close(rt);
}
