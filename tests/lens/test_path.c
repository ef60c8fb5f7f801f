/* Lenses of paths: what they get and set, what they share, and how they refuse. */
#include "lens_types.h"

PITH_LENS_DEFINE(sim_position, Sim, atoms->position)

Test(lens_path, gets_and_sets_what_c_names) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *position = PITH_LENS(World, sim->atoms->position);
    pt_ok(s, pith_lens_get(s, position, w) == w->sim->atoms->position);
    const pith_array *x = pt_array(s, PITH_SHAPE(4, 3), 50);
    const World *next = pith_lens_set(s, position, w, x);
    pt_ok(s, pith_is(World, next));
    cr_assert(next != w && next->sim->atoms->position == x);
    cr_assert(pith_lens_get(s, position, next) == x);

    /* All that is not on the way is shared, and the original is what it was. */
    cr_assert(next->sim->atoms->velocity == w->sim->atoms->velocity);
    cr_assert(next->sim->neighbour == w->sim->neighbour);
    cr_assert(next->base.position == w->base.position && next->config == w->config);
    cr_assert(w->sim->atoms->position != x);

    /* A lens of a file; one from a path; the whole. */
    cr_assert(pith_lens_get(s, sim_position(), w->sim) == w->sim->atoms->position);
    const pith_lens *same = pith_lens_path(s, World_pith_type(), ".sim.atoms.position");
    cr_assert(pith_lens_get(s, same, next) == x);
    cr_assert(pith_lens_get(s, pith_lens_identity(), w) == w);
    cr_assert(pith_lens_set(s, pith_lens_identity(), w, next) == next);
    cr_assert_str_eq(pith_lens_text(s, position), ".sim.atoms.position");
    cr_assert_str_eq(pith_lens_text(s, pith_lens_identity()), "");
    pith_scope_close(s);
    pt_close(rt);
}

/* A macro's lens is looked up once, and lives with the process. */
Test(lens_path, is_looked_up_once) {
    const pith_lens *seen[2];
    pith_runtime *rts[2] = {pt_open(), pt_open()};
    for (int i = 0; i < 2; i++) {
        pith_scope *s = pith_scope_open(rts[i]);
        const Sim *sim = lens_sim(s, 2, 3);
        seen[i] = PITH_LENS(Sim, atoms->force);
        pt_ok(s, pith_lens_get(s, seen[i], sim) == sim->atoms->force);
        cr_assert(pith_keep(s, seen[i]) == seen[i]);
        pith_scope_close(s);
    }
    cr_assert(seen[0] == seen[1] && sim_position() == sim_position());
    pt_close(rts[0]);
    pt_close(rts[1]);
}

Test(lens_path, goes_through_every_kind_of_node) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_f64(s, 1), *b = pith_f64(s, 2), *c = pith_f64(s, 3);
    const char *const keys[] = {"it's", "x"};
    const void *dict = pith_dict_make(s, 2, keys, (const void *[]){a, b});
    const void *tuple = pith_tuple_make(s, PITH_ITEMS(dict, b));
    const void *list = pith_list_make(s, PITH_ITEMS(a, tuple));
    const Part part = {.any = list};
    const Part *root = pith_freeze(s, Part, &part);
    pt_ok(s, root);
    static const char *const paths[] = {".any[1][0]['it\\'s']", ".any[-1][-2]['it\\'s']"};
    for (int typed = 0; typed < 2; typed++)
        for (int i = 0; i < 2; i++) {
            const pith_lens *lens =
                pith_lens_path(s, typed ? Part_pith_type() : NULL, paths[i]);
            pt_ok(s, pith_lens_get(s, lens, root) == a);
            const Part *set = pith_lens_set(s, lens, root, c);
            pt_ok(s, pith_is(Part, set));
            cr_assert(pith_lens_get(s, lens, set) == c);
            cr_assert(pith_child(set->any, 0) == a);
            cr_assert(pith_tree_at(s, set, ".any[1][0]['x']") == b);
            cr_assert(pith_lens_get(s, lens, root) == a);
            cr_assert_str_eq(pith_lens_text(s, lens), paths[i]);
        }
    /* An item becomes a node, a node an item. */
    const pith_lens *item = pith_lens_path(s, NULL, "[0]");
    const void *deep = pith_lens_set(s, item, list, dict);
    pt_ok(s, pith_tree_at(s, deep, "[0]['x']") == b);
    deep = pith_lens_set(s, pith_lens_path(s, NULL, "[1]"), deep, a);
    pt_ok(s, deep && pith_tree_num_leaves(deep) == 3);
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_path, looks_at_rows_of_leaves) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sim *sim = lens_sim(s, 4, 3);
    const pith_lens *row = pith_lens_path(s, Sim_pith_type(), ".atoms.position[-1]");
    const pith_lens *one = pith_lens_focus(s, row, "[1]");
    const pith_array *got = pith_lens_get(s, row, sim);
    double values[12];
    pt_ok(s, pith_array_spec(got)->rank == 1 && pith_read(s, got, values, 24));
    cr_assert(values[0] == 10 && values[1] == 11 && values[2] == 12);
    cr_assert(pith_lens_get_f64(s, one, sim) == 11);
    const Sim *next = pith_lens_set(s, one, sim, pith_f64(s, -1));
    pt_ok(s, pith_read(s, next->atoms->position, values, sizeof values));
    cr_assert(values[10] == -1 && values[9] == 10 && values[11] == 12 && values[0] == 1);
    next = pith_lens_set(s, row, next, pith_f64(s, 5)); /* broadcast */
    pt_ok(s, pith_read(s, next->atoms->position, values, sizeof values));
    cr_assert(values[9] == 5 && values[10] == 5 && values[11] == 5 && values[8] == 9);
    cr_assert(next->atoms->velocity == sim->atoms->velocity);
    cr_assert(pith_tree_equal(s, pith_lens_set(s, row, sim, got), sim));

    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_path(s, NULL, ".neighbour[4]"), sim));
    pt_says(".neighbour[4]: i32[4,3] has no row 4");
    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_path(s, NULL, ".neighbour[0][-4]"), sim));
    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_path(s, NULL, ".neighbour[0][0][0]"), sim));
    pt_says(".neighbour[0][0][0]: i32[4,3] has no axis left");
    pt_fails(PITH_E_SHAPE, s,
             pith_lens_set(s, row, sim, pith_zeros(s, PITH_F64, PITH_SHAPE(2))));
    cr_assert_str_eq(pt_error.path, ".atoms.position[3]");
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, row, sim, sim));
    pith_scope_close(s);
    pt_close(rt);
}

/* What the types tell is refused when the lens is made, the rest when it is used. */
Test(lens_path, names_the_step_that_fails) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_type *world = World_pith_type();
    static const struct {
        const char *path, *says;
    } bad[] = {
        {".sim.atom", ".sim.atom: Sim has no field 'atom' (has atoms, neighbour, "
                      "max_neighbour, cutoff)"},
        {".config.round",
         ".config.round: Config has no field 'round' (has tolerance, rounds)"},
        {".sim[0]", ".sim[0]: Sim has no items"},
        {".sim['a']", ".sim['a']: Sim has no keys"},
        {".sim[*]", ".sim[*]: Sim has no items"},
        {".sim.neighbour.x", ".sim.neighbour.x: a leaf has no fields"},
        {".steps.x", ".steps.x: a static has no fields"},
        {".scratch", ".scratch: World has no field 'scratch'"},
        {".cells.w", ".cells.w: World has no field 'cells.w'"},
        {".sim.", "malformed path"},
        {".any[-0]", "expected a positive number after '-'"},
        {".any[--1]", "malformed path"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pt_fails(PITH_E_PATH, s, pith_lens_path(s, world, bad[i].path));
        pt_says(bad[i].says);
    }
    World value = *lens_world(s);
    value.any = pith_list_make(s, PITH_ITEMS(value.sim, value.base.position));
    const World *w = pith_freeze(s, World, &value);
    static const struct {
        const char *path, *says;
    } absent[] = {
        {".any[2]", ".any[2]: a list of 2 has no item 2"},
        {".any[-3].x", ".any[-3]: a list of 2 has no item -3"},
        {".any[0].atom", ".any[0].atom: Sim has no field 'atom'"},
        {".any['k']", ".any['k']: a list of 2 has no keys"},
        {".any.k", ".any.k: a list of 2 has no fields"},
        {".any[0].cutoff.x", ".any[0].cutoff.x: a static has no children"},
        {".ghosts.position", ".ghosts.position: nothing has no children"},
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const pith_lens *lens = pith_lens_path(s, world, absent[i].path);
        pt_ok(s, lens);
        pt_fails(PITH_E_PATH, s, pith_lens_get(s, lens, w));
        pt_says(absent[i].says);
        pt_fails(PITH_E_PATH, s, pith_lens_set(s, lens, w, w->base.position));
        pt_says(absent[i].says);
    }
    pt_fails(PITH_E_TYPE, s, pith_lens_get(s, PITH_LENS(World, sim), w->sim));
    pt_says("pith_lens_get: root: expected World, got Sim");
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, PITH_LENS(World, sim), w->sim, w->sim));
    pt_says("pith_lens_set: root: expected World, got Sim");
    pith_scope_close(s);
    pt_close(rt);
}

/* A lens of what is no field refuses every use, with the reason. */
Test(lens_path, of_an_ignored_member_refuses_every_use) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *bad = PITH_LENS(World, scratch);
    pt_fails(PITH_E_PATH, s, pith_lens_get(s, bad, w));
    pt_says("World has no field 'scratch'");
    pt_fails(PITH_E_PATH, s, pith_lens_focus(s, bad, ".x"));
    pt_fails(PITH_E_PATH, s, pith_lens_text(s, bad));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_path, sets_what_is_optional_to_nothing) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *ghosts = PITH_LENS(World, ghosts);
    cr_assert(!pith_lens_get(s, ghosts, w));
    pt_ok(s);
    const World *with = pith_lens_set(s, ghosts, w, w->sim->atoms);
    pt_ok(s, with->ghosts == w->sim->atoms);
    const World *without = pith_lens_set(s, ghosts, with, NULL);
    pt_ok(s, pith_is(World, without));
    cr_assert(!without->ghosts && pith_tree_equal(s, without, w));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, PITH_LENS(World, sim->atoms), w, NULL));
    cr_assert_str_eq(pt_error.path, ".sim.atoms");
    pt_says("expected Atoms, got NULL");
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, pith_lens_identity(), w, NULL));
    /* The root of a lens of a type stays of that type. */
    const pith_lens *whole = pith_lens_path(s, World_pith_type(), "");
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, whole, w, (const void *)w->sim));
    pt_says("expected World, got Sim");
    pt_ok(s, pith_lens_set(s, whole, w, with) == with);
    pith_scope_close(s);
    pt_close(rt);
}

/* Nodes that are made anew are checked as any other. */
Test(lens_path, checks_what_is_made) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *position = PITH_LENS(World, sim->atoms->position);
    worlds_checked = 0;
    pt_ok(s, pith_lens_set(s, position, w, pt_array(s, PITH_SHAPE(4, 3), 0)));
    cr_assert(worlds_checked == 1);
    pt_ok(s, pith_lens_set(s, PITH_LENS(World, sim->cutoff), w, pith_f64(s, 3)));
    cr_assert(worlds_checked == 2);
    pt_fails(PITH_E_SHAPE, s,
             pith_lens_set(s, position, w, pt_array(s, PITH_SHAPE(5, 3), 0)));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.position");
    pt_fails(PITH_E_DTYPE, s,
             pith_lens_set(s, position, w, pith_zeros(s, PITH_F32, PITH_SHAPE(4, 3))));
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, position, w, w->sim));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.position");

    const pith_lens *cutoff = PITH_LENS(World, cutoff);
    pt_fails(PITH_E_CHECK, s, pith_lens_set_f64(s, cutoff, w, -1));
    cr_assert_str_eq(pt_error.path, ".cutoff");
    pith_scope_set_validation(s, false);
    const World *bad = pith_lens_set_f64(s, cutoff, w, -1);
    pt_ok(s, bad->cutoff == -1);
    pith_scope_set_validation(s, true);
    /* A leaf alone was replaced: the check of the record around it runs too. */
    const void *list = pith_list_make(s, PITH_ITEMS(w, bad));
    const pith_lens *leaf = pith_lens_path(s, NULL, "[1].sim.atoms.position");
    pt_fails(PITH_E_CHECK, s,
             pith_lens_set(s, leaf, list, pt_array(s, PITH_SHAPE(4, 3), 0)));
    cr_assert_str_eq(pt_error.path, "[1].cutoff");
    pt_fails(PITH_E_CHECK, s,
             pith_lens_set(s, position, bad, pt_array(s, PITH_SHAPE(4, 3), 0)));
    cr_assert_str_eq(pt_error.path, ".cutoff");
    pith_scope_close(s);
    pt_close(rt);
}

/* Results live where they are made, whatever they are made of. */
Test(lens_path, works_across_scopes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s), *made;
    const pith_lens *lens = PITH_LENS(World, sim->atoms->position), *kept;
    pith_scope *inner = pith_scope_open_in(s);
    const pith_lens *path = pith_lens_path(inner, World_pith_type(), ".sim.atoms");
    /* A value, and then a root, of an inner scope. */
    made = pith_lens_set(s, lens, w, pt_array(inner, PITH_SHAPE(4, 3), 20));
    pt_ok(s, pith_is(World, made));
    const World *of_inner =
        pith_lens_set(inner, lens, w, pt_array(inner, PITH_SHAPE(4, 3), 30));
    const World *outside = pith_lens_set(s, PITH_LENS(World, base.position), of_inner,
                                         pt_array(s, PITH_SHAPE(3), 0));
    const World *straight = pith_lens_set(s, PITH_LENS(World, sim->atoms->velocity),
                                          of_inner, of_inner->sim->atoms->velocity);
    pt_ok(s, pith_is(World, outside) && pith_is(World, straight));
    kept = pith_keep(s, path);
    pt_ok(s, kept && kept != path);
    cr_assert(pith_keep(inner, kept) == kept);
    pt_ok(inner);
    pith_scope_close(inner);
    double x[12];
    pt_ok(s, pith_read(s, made->sim->atoms->position, x, sizeof x) && x[0] == 20);
    pt_ok(s, pith_read(s, outside->sim->atoms->position, x, sizeof x) && x[0] == 30);
    pt_ok(s, pith_read(s, straight->sim->atoms->position, x, sizeof x) && x[0] == 30);
    pt_ok(s, pith_lens_get(s, kept, w) == w->sim->atoms);
    cr_assert_str_eq(pith_lens_text(s, kept), ".sim.atoms");
    pt_fails(PITH_E_ARG, s, pith_lens_get(s, path, w)); /* its scope is closed */

    pith_runtime *other = pt_open();
    pith_scope *there = pith_scope_open(other);
    const World *foreign = lens_world(there);
    pt_fails(PITH_E_ARG, there, pith_lens_get(there, kept, foreign));
    pt_says("it belongs to another runtime");
    pt_fails(PITH_E_ARG, s, pith_lens_get(s, kept, foreign));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, kept, w, foreign->sim->atoms));
    pt_ok(there, pith_lens_get(there, lens, foreign));
    pith_scope_close(there);
    pt_close(other);
    pith_scope_close(s);
    pt_close(rt);
}

/* Depth is memory, and nothing else. */
Test(lens_path, reaches_deep) {
    enum { DEPTH = 5000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Chain *chain = NULL;
    static char path[DEPTH * 5 + 6];
    for (int i = 0; i <= DEPTH; i++) {
        const Chain link = {pith_f64(s, i), chain};
        chain = pith_freeze(s, Chain, &link);
        if (i)
            strcat(path + 5 * (i - 1), ".next");
    }
    strcat(path, ".leaf");
    const pith_lens *lens = pith_lens_path(s, Chain_pith_type(), path);
    pt_ok(s, lens && pith_lens_get_f64(s, lens, chain) == 0);
    const Chain *next = pith_lens_set(s, lens, chain, pith_f64(s, -1));
    pt_ok(s, pith_is(Chain, next));
    cr_assert(pith_lens_get_f64(s, lens, next) == -1);
    cr_assert(pith_lens_get_f64(s, lens, chain) == 0);
    pith_scope_close(s);
    pt_close(rt);
}
