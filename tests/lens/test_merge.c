/* Merged lenses of all kinds: independent parts are set together, the laws hold, and
 * parts that overlap are refused with both lenses. */
#include "lens_types.h"

/* ---- Lenses of fields, with functions of their own ---- */

/* A static and a leaf of World by offsets, as a user would write them by name. */
static const void *get_steps(pith_scope *s, const void *root, void *closure) {
    (void)closure;
    return pith_i64(s, ((const World *)root)->steps);
}
static const void *
set_steps(pith_scope *s, const void *root, const void *value, void *closure) {
    World next = *(const World *)root;
    (void)closure;
    next.steps = pith_read_i64(s, value);
    return pith_freeze(s, World, &next);
}
static const void *get_cutoff(pith_scope *s, const void *root, void *closure) {
    (void)closure;
    return pith_f64(s, ((const World *)root)->cutoff);
}
static const void *
set_cutoff(pith_scope *s, const void *root, const void *value, void *closure) {
    World next = *(const World *)root;
    (void)closure;
    next.cutoff = pith_read_f64(s, value);
    return pith_freeze(s, World, &next);
}
static const void *get_velocity(pith_scope *s, const void *root, void *closure) {
    (void)s, (void)closure;
    return ((const World *)root)->sim->atoms->velocity;
}
static const void *
set_velocity(pith_scope *s, const void *root, const void *value, void *closure) {
    const World *w = root;
    (void)closure;
    return pith_lens_set(s, PITH_LENS(World, sim->atoms->velocity), w,
                         (const pith_array *)value);
}
static const void *get_doubled(pith_scope *s, const void *root, void *closure) {
    (void)closure;
    return pith_add(s, root, root);
}
static const void *
set_doubled(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)root, (void)closure;
    return pith_mul(s, value, pith_like(s, value, 0.5));
}
static const void *get_rounds(pith_scope *s, const void *root, void *closure) {
    (void)closure;
    return pith_i64(s, ((const Config *)root)->rounds);
}
static const void *
set_rounds(pith_scope *s, const void *root, const void *value, void *closure) {
    Config next = *(const Config *)root;
    (void)closure;
    next.rounds = pith_read_i64(s, value);
    return pith_freeze(s, Config, &next);
}

static const pith_lens *
own(pith_scope *s, const char *name, pith_lens_getter get, pith_lens_setter set) {
    return pith_lens_function(s, name, get, set, NULL);
}

/* Lenses that the laws are tried with; those of one place overlap. */
typedef struct {
    const pith_lens *lens;
    int place;
    const void *a, *b; /* values */
} subject;
enum { SUBJECTS = 19 };

static void make_subjects(pith_scope *s, subject *to) {
    const pith_lens *base = PITH_LENS(World, base.position),
                    *velocity = PITH_LENS(World, sim->atoms->velocity),
                    *force = PITH_LENS(World, sim->atoms->force);
    const pith_array *x = pt_array(s, PITH_SHAPE(4, 3), 20),
                     *y = pt_array(s, PITH_SHAPE(4, 3), 40),
                     *three = pt_array(s, PITH_SHAPE(3), 60),
                     *other = pt_array(s, PITH_SHAPE(3), 80),
                     *two = pt_array(s, PITH_SHAPE(2, 3), 100),
                     *more = pt_array(s, PITH_SHAPE(2, 3), 120);
    const pith_array *index =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(2), (int32_t[]){2, 0});
    const void *one = pith_list_make(s, PITH_ITEMS(pith_f64(s, 1), pith_f64(s, 2)));
    const void *next = pith_list_make(s, PITH_ITEMS(pith_f64(s, 3), pith_f64(s, 4)));
    const pith_array *five = pith_i64(s, 5), *six = pith_i64(s, 6),
                     *half = pith_f64(s, 0.5), *quarter = pith_f64(s, 0.25);
    const subject all[SUBJECTS] = {
        {own(s, "steps", get_steps, set_steps), 1, five, six},
        {PITH_LENS(World, steps), 1, six, five},
        {own(s, "cutoff", get_cutoff, set_cutoff), 2, half, quarter},
        {PITH_LENS(World, cutoff), 2, quarter, half},
        {own(s, "velocity", get_velocity, set_velocity), 3, x, y},
        {velocity, 3, y, x},
        {pith_lens_at(s, velocity, index, NULL), 3, two, more},
        {PITH_LENS(World, sim->atoms->position), 4, x, y},
        {pith_lens_nest(s, base, own(s, "doubled", get_doubled, set_doubled)), 5, three,
         other},
        {base, 5, other, three},
        {pith_lens_focus(s, base, "[-1]"), 5, half, quarter},
        {pith_lens_nest(s, PITH_LENS(World, config),
                        own(s, "rounds", get_rounds, set_rounds)),
         6, five, six},
        {PITH_LENS(World, config->rounds), 6, six, five},
        {PITH_LENS(World, config->tolerance), 7, half, quarter},
        {pith_lens_at(s, force, index, NULL), 8, two, more},
        {pith_lens_slice(s, force, 1, (pith_slice[]){PITH_SLICE(1, 3, 1)}), 8, more, two},
        {pith_lens_path(s, World_pith_type(), ".any[*]"), 9, one, next},
        {pith_lens_leaves_where(s, PITH_LENS(World, any), NULL, NULL), 9, next, one},
        {pith_lens_constant(s, five), 0, five, five},
    };
    memcpy(to, all, sizeof all);
}

static const World *make_world(pith_scope *s) {
    World w = *lens_world(s);
    w.any = pith_list_make(s, PITH_ITEMS(pith_f64(s, -1), pith_f64(s, -2)));
    return pith_freeze(s, World, &w);
}

static bool same(pith_scope *s, const void *a, const void *b) {
    return pith_tree_equal(s, a, b);
}

static void check_laws(pith_scope *s,
                       const pith_lens *lens,
                       const World *w,
                       const void *v,
                       const void *then) {
    const char *text = pith_lens_text(s, lens);
    const World *set = pith_lens_set(s, lens, w, v);
    pt_ok(s, pith_is(World, set));
    cr_assert(same(s, pith_lens_get(s, lens, set), v), "%s: set, then get", text);
    cr_assert(same(s, pith_lens_set(s, lens, w, pith_lens_get(s, lens, w)), w),
              "%s: get, then set", text);
    cr_assert(same(s, pith_lens_set(s, lens, set, then), pith_lens_set(s, lens, w, then)),
              "%s: set twice", text);
    pt_ok(s);
}

Test(lens_merge, keeps_the_laws_for_independent_lenses_of_all_kinds) {
    pith_runtime *rt = pt_open();
    int set = 0, refused = 0;
    for (int i = 0; i < SUBJECTS; i++)
        for (int k = 0; k < SUBJECTS; k++) {
            pith_scope *s = pith_scope_open(rt);
            subject all[SUBJECTS];
            make_subjects(s, all);
            const World *w = make_world(s);
            const subject *x = &all[i], *y = &all[k];
            pt_ok(s, w);
            const pith_lens *both = pith_lens_merge(s, PITH_LENSES(x->lens, y->lens));
            const void *a = pith_tuple_make(s, PITH_ITEMS(x->a, y->a)),
                       *b = pith_tuple_make(s, PITH_ITEMS(x->b, y->b));
            if (x->place != y->place || !x->place) {
                check_laws(s, both, w, a, b);
                set++;
            } else {
                const void *differ =
                    i == k ? pith_tuple_make(s, PITH_ITEMS(x->a, x->b)) : a;
                pt_fails(PITH_E_ARG, s, pith_lens_set(s, both, w, differ));
                pt_says(pith_lens_text(s, x->lens));
                pt_says(pith_lens_text(s, y->lens));
                refused++;
            }
            pith_scope_close(s);
        }
    cr_assert(set > 200 && refused > 30, "%d set, %d refused", set, refused);
    pt_close(rt);
}

Test(lens_merge, sets_many_and_makes_each_node_once) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    subject all[SUBJECTS];
    make_subjects(s, all);
    static const int pick[] = {0, 2, 4, 7, 8, 11, 13, 14, 16};
    enum { COUNT = sizeof pick / sizeof *pick };
    for (int turn = 0; turn < COUNT; turn++) { /* in every order of a ring */
        const pith_lens *lenses[COUNT];
        const void *a[COUNT], *b[COUNT];
        for (int i = 0; i < COUNT; i++) {
            const subject *x = &all[pick[(i + turn) % COUNT]];
            lenses[i] = x->lens;
            a[i] = x->a;
            b[i] = x->b;
        }
        check_laws(s, pith_lens_merge(s, COUNT, lenses), make_world(s),
                   pith_tuple_make(s, COUNT, a), pith_tuple_make(s, COUNT, b));
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* Rows of one leaf are parts too. */
Test(lens_merge, sets_different_rows_of_one_leaf) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = make_world(s);
    const char *const paths[] = {".base.position[0]", ".base.position[-1]",
                                 ".sim.atoms.force[1][2]", ".sim.atoms.force[0]"};
    const pith_lens *rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = pith_lens_path(s, World_pith_type(), paths[i]);
    const pith_lens *all = pith_lens_merge(s, 4, rows);
    const void *a =
        pith_tuple_make(s, PITH_ITEMS(pith_f64(s, 1), pith_f64(s, 2), pith_f64(s, 3),
                                      pt_array(s, PITH_SHAPE(3), 4)));
    const void *b =
        pith_tuple_make(s, PITH_ITEMS(pith_f64(s, 9), pith_f64(s, 8), pith_f64(s, 7),
                                      pt_array(s, PITH_SHAPE(3), 6)));
    check_laws(s, all, w, a, b);
    const pith_lens *twice = pith_lens_merge(
        s,
        PITH_LENSES(rows[1], pith_lens_path(s, World_pith_type(), ".base.position[2]")));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, twice, w, pith_lens_get(s, twice, w)));
    cr_assert_str_eq(pt_error.path, ".base.position[2]");
    pt_says(".base.position[-1]");
    pith_scope_close(s);
    pt_close(rt);
}

/* Behind one function lens, two parts of what it gets. */
static const void *get_atoms(pith_scope *s, const void *root, void *closure) {
    (void)s, (void)closure;
    return ((const World *)root)->sim->atoms;
}
static const void *
set_atoms(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)closure;
    return pith_lens_set(s, PITH_LENS(World, sim->atoms), (const World *)root, value);
}

Test(lens_merge, sets_two_parts_behind_one_function) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = make_world(s);
    const pith_lens *atoms = own(s, "atoms", get_atoms, set_atoms);
    const pith_lens *both =
        pith_lens_merge(s, PITH_LENSES(pith_lens_focus(s, atoms, ".position"),
                                       pith_lens_focus(s, atoms, ".force")));
    const pith_array *x = pt_array(s, PITH_SHAPE(4, 3), 1),
                     *y = pt_array(s, PITH_SHAPE(4, 3), 2);
    check_laws(s, both, w, pith_tuple_make(s, PITH_ITEMS(x, y)),
               pith_tuple_make(s, PITH_ITEMS(y, x)));
    const pith_lens *twice =
        pith_lens_merge(s, PITH_LENSES(atoms, pith_lens_focus(s, atoms, ".force")));
    pt_fails(
        PITH_E_ARG, s,
        pith_lens_set(s, twice, w, pith_tuple_make(s, PITH_ITEMS(pt_atoms(s, 4, 9), y))));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.force");
    pith_scope_close(s);
    pt_close(rt);
}

/* A setter that changes nothing for this value has no visible place, and a getter may
 * read what another lens sets: both are found by getting again. */
static const void *get_sum(pith_scope *s, const void *root, void *closure) {
    const World *w = root;
    (void)closure;
    return pith_f64(s, w->cutoff + (double)w->steps);
}
static const void *
set_sum(pith_scope *s, const void *root, const void *value, void *closure) {
    World next = *(const World *)root;
    (void)closure;
    next.cutoff = pith_read_f64(s, value) - (double)next.steps;
    return pith_freeze(s, World, &next);
}

Test(lens_merge, refuses_what_would_not_be_got_again) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = make_world(s);
    const pith_lens *steps = own(s, "steps", get_steps, set_steps),
                    *again = own(s, "again", get_steps, set_steps),
                    *sum = own(s, "sum", get_sum, set_sum);
    const pith_lens *both = pith_lens_merge(s, PITH_LENSES(steps, again));
    const void *kept =
        pith_tuple_make(s, PITH_ITEMS(pith_i64(s, w->steps), pith_i64(s, 77)));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, both, w, kept));
    pt_says("'steps()' and 'again()'");

    /* Set last, the sum counts the new steps; set first, its value would be gone. */
    const pith_lens *good = pith_lens_merge(s, PITH_LENSES(steps, sum));
    check_laws(s, good, w,
               pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 3), pith_f64(s, 10))),
               pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 4), pith_f64(s, 20))));
    const pith_lens *bad = pith_lens_merge(s, PITH_LENSES(sum, steps));
    pt_fails(
        PITH_E_ARG, s,
        pith_lens_set(s, bad, w,
                      pith_tuple_make(s, PITH_ITEMS(pith_f64(s, 10), pith_i64(s, 3)))));
    pt_says("'sum()' and 'steps()'");
    /* A path is set before functions, wherever it stands. */
    const pith_lens *mixed =
        pith_lens_merge(s, PITH_LENSES(sum, PITH_LENS(World, steps)));
    check_laws(s, mixed, w,
               pith_tuple_make(s, PITH_ITEMS(pith_f64(s, 10), pith_i64(s, 3))),
               pith_tuple_make(s, PITH_ITEMS(pith_f64(s, 20), pith_i64(s, 4))));
    pith_scope_close(s);
    pt_close(rt);
}

static const void *
set_other(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)root, (void)value, (void)closure;
    return pith_f64(s, 1);
}

Test(lens_merge, names_the_place_of_a_setter_that_fails) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = make_world(s);
    const pith_lens *config = PITH_LENS(World, config);
    const pith_lens *lens = pith_lens_merge(
        s, PITH_LENSES(pith_lens_nest(s, config, own(s, "bad", get_rounds, set_other)),
                       own(s, "steps", get_steps, set_steps)));
    const void *two = pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 1), pith_i64(s, 2)));
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, lens, w, two));
    cr_assert_str_eq(pt_error.path, ".config");
    lens = pith_lens_merge(
        s, PITH_LENSES(own(s, "whole", get_rounds, set_other), PITH_LENS(World, steps)));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, lens, w, two));
    pt_says("'whole()' and '.steps'");
    pith_scope_close(s);
    pt_close(rt);
}
