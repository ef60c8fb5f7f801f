/* Traversals: several parts at once, found anew in each root. */
#include "lens_types.h"

static bool is_record(const void *node, void *closure) {
    return pith_type_of(node) == closure;
}
static bool is_tuple(const void *node, void *closure) {
    (void)closure;
    return pith_kind(node) == PITH_NODE_TUPLE;
}
static bool is_rank(const void *node, void *closure) {
    return pith_array_spec(node)->rank == *(int *)closure;
}
static bool nothing(const void *node, void *closure) {
    (void)node, (void)closure;
    return false;
}

static const void *make_tree(pith_scope *s) {
    const Sim *a = lens_sim(s, 2, 3), *b = lens_sim(s, 4, 3);
    const char *const keys[] = {"u", "v"};
    const void *dict =
        pith_dict_make(s, 2, keys, (const void *[]){a->atoms, pith_f64(s, 5)});
    const void *tuple = pith_tuple_make(s, PITH_ITEMS(b, pith_none_make(s)));
    return pith_list_make(s, PITH_ITEMS(a, dict, tuple, pith_f64(s, 6)));
}

Test(lens_each, looks_at_the_items_of_containers) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_tree(s);
    const pith_lens *each = pith_lens_each(s, pith_lens_identity());
    const void *got = pith_lens_get(s, each, tree);
    pt_ok(s, pith_kind(got) == PITH_NODE_LIST && pith_child_count(got) == 4);
    for (int i = 0; i < 4; i++)
        cr_assert(pith_child(got, i) == pith_child(tree, i));
    cr_assert_str_eq(pith_lens_text(s, each), "[*]");
    const pith_lens *dict = pith_lens_each(s, pith_lens_path(s, NULL, "[1]"));
    const pith_array *nine = pith_f64(s, 9);
    const void *next =
        pith_lens_set(s, dict, tree, pith_tuple_make(s, PITH_ITEMS(nine, nine)));
    pt_ok(s, pith_tree_at(s, next, "[1]['u']") == nine &&
                 pith_tree_at(s, next, "[1]['v']") == nine);
    cr_assert(pith_child(next, 0) == pith_child(tree, 0));
    cr_assert(pith_child(next, 2) == pith_child(tree, 2));

    const pith_list *two = pith_list_make(s, PITH_ITEMS(nine, nine));
    pt_fails(PITH_E_STRUCTURE, s, pith_lens_set(s, each, tree, two));
    pt_says("expected a list of 4, one for each part found, got a list of 2");
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, each, tree, nine));
    pt_fails(PITH_E_PATH, s, pith_lens_get(s, each, pith_child(tree, 0)));
    pt_says("Sim has no items");
    pt_fails(PITH_E_PATH, s, pith_lens_get(s, each, nine));
    const void *empty = pith_list_make(s, 0, NULL);
    pt_ok(s, pith_child_count(pith_lens_get(s, each, empty)) == 0);
    cr_assert(pith_lens_set(s, each, empty, empty) == empty);
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_each, picks_by_slices) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *items[5];
    for (int i = 0; i < 5; i++)
        items[i] = pith_f64(s, i);
    const void *list = pith_list_make(s, 5, items);
    static const struct {
        pith_slice slice;
        int count, picks[5];
        const char *text;
    } rows[] = {{{-2, INT64_MAX, 1}, 2, {3, 4}, "[-2:]"},
                {{0, -1, 2}, 2, {0, 2}, "[:-1:2]"},
                {{-1, INT64_MIN, -2}, 3, {4, 2, 0}, "[::-2]"},
                {{7, 9, 1}, 0, {0}, "[7:9]"},
                {{0, INT64_MAX, 1}, 5, {0, 1, 2, 3, 4}, "[*]"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const pith_lens *some = pith_lens_items(s, pith_lens_identity(), rows[r].slice);
        const void *got = pith_lens_get(s, some, list);
        pt_ok(s, pith_child_count(got) == rows[r].count);
        cr_assert_str_eq(pith_lens_text(s, some), rows[r].text);
        const void *values[5];
        for (int i = 0; i < rows[r].count; i++) {
            cr_assert(pith_child(got, i) == items[rows[r].picks[i]]);
            values[i] = pith_f64(s, 10 + i);
        }
        const void *set =
            pith_lens_set(s, some, list, pith_list_make(s, rows[r].count, values));
        pt_ok(s, set);
        int changed = 0;
        for (int i = 0; i < rows[r].count; i++)
            cr_assert(pith_child(set, rows[r].picks[i]) == values[i]);
        for (int i = 0; i < 5; i++)
            changed += pith_child(set, i) != items[i];
        cr_assert(changed == rows[r].count);
    }
    pt_fails(PITH_E_ARG, s,
             pith_lens_items(s, pith_lens_identity(), PITH_SLICE(0, 1, 0)));
    pith_scope_close(s);
    pt_close(rt);
}

/* This field of each entry, and of each entry of each. */
Test(lens_each, is_looked_into) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sim *a = lens_sim(s, 2, 3), *b = lens_sim(s, 4, 3);
    const void *list = pith_list_make(s, PITH_ITEMS(a, b));
    const pith_lens *positions = pith_lens_path(s, NULL, "[*].atoms.position");
    const pith_lens *nested = pith_lens_nest(s, pith_lens_each(s, pith_lens_identity()),
                                             PITH_LENS(Sim, atoms->position));
    cr_assert_str_eq(pith_lens_text(s, positions), "[*].atoms.position");
    const void *got = pith_lens_get(s, positions, list);
    pt_ok(s, pith_child(got, 0) == a->atoms->position &&
                 pith_child(got, 1) == b->atoms->position);
    cr_assert(pith_tree_equal(s, got, pith_lens_get(s, nested, list)));
    const void *values = pith_list_make(s, PITH_ITEMS(a->atoms->force, b->atoms->force));
    const void *next = pith_lens_set(s, nested, list, values);
    pt_ok(s, pith_tree_at(s, next, "[1].atoms.position") == b->atoms->force);
    cr_assert(pith_tree_at(s, next, "[1].neighbour") == b->neighbour);
    /* Statics of each too. */
    const pith_lens *cutoffs = pith_lens_path(s, NULL, "[*].cutoff");
    next = pith_lens_set(s, cutoffs, list,
                         pith_list_make(s, PITH_ITEMS(pith_f64(s, 1), pith_f64(s, 2))));
    pt_ok(s, ((const Sim *)pith_child(next, 1))->cutoff == 2);

    const void *twice = pith_tuple_make(s, PITH_ITEMS(list, next));
    const pith_lens *deep = pith_lens_path(s, NULL, "[*][*].cutoff");
    got = pith_lens_get(s, deep, twice);
    pt_ok(s, pith_child_count(got) == 2 && pith_child_count(pith_child(got, 0)) == 2);
    cr_assert(pith_read_f64(s, pith_tree_at(s, got, "[1][1]")) == 2);
    cr_assert(pith_tree_equal(s, pith_lens_set(s, deep, twice, got), twice));

    /* Errors name the entry. */
    const void *mixed = pith_list_make(s, PITH_ITEMS(a, b->atoms));
    pt_fails(PITH_E_PATH, s, pith_lens_get(s, positions, mixed));
    cr_assert_str_eq(pt_error.path, "[1].atoms");
    pt_fails(PITH_E_TYPE, s, pith_lens_get(s, nested, mixed));
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_fails(
        PITH_E_SHAPE, s,
        pith_lens_set(s, positions, list,
                      pith_list_make(s, PITH_ITEMS(a->atoms->force, a->atoms->force))));
    cr_assert_str_eq(pt_error.path, "[1].atoms.position");
    const World *w = lens_world(s);
    const void *worlds = pith_list_make(s, PITH_ITEMS(w, w));
    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_path(s, NULL, "[*].ghosts"), worlds));
    cr_assert_str_eq(pt_error.path, "[0]");
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_where, finds_what_a_predicate_takes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_tree(s);
    const pith_lens *whole = pith_lens_identity();
    const pith_lens *atoms = pith_lens_all_of(s, whole, Atoms);
    const void *got = pith_lens_get(s, atoms, tree);
    pt_ok(s, pith_child_count(got) == 3);
    const Atoms *first = pith_child(got, 0);
    cr_assert(((const Sim *)pith_child(tree, 0))->atoms == first);
    cr_assert(pith_child(got, 1) == first); /* in two places */
    cr_assert_str_eq(pith_lens_text(s, atoms), "[all Atoms]");
    union {
        const pith_type *type;
        void *closure;
    } sims = {.type = Sim_pith_type()};
    const pith_lens *where = pith_lens_all_where(s, whole, is_record, sims.closure);
    cr_assert(pith_child_count(pith_lens_get(s, where, tree)) == 2);
    pt_ok(s);

    /* What is found may be replaced by anything that fits there. */
    const Atoms *zero = pith_tree_zeros_like(s, first);
    const void *third = pith_child(got, 2);
    const void *next =
        pith_lens_set(s, atoms, tree, pith_list_make(s, PITH_ITEMS(zero, first, third)));
    pt_ok(s, pith_tree_at(s, next, "[0].atoms") == zero);
    cr_assert(pith_tree_at(s, next, "[1]['u']") == first);
    cr_assert(pith_child(next, 3) == pith_child(tree, 3));

    int rank = 0;
    const pith_lens *numbers = pith_lens_leaves_where(s, whole, is_rank, &rank);
    got = pith_lens_get(s, numbers, tree);
    pt_ok(s, pith_child_count(got) == 2 && pith_read_f64(s, pith_child(got, 1)) == 6);
    const pith_lens *all = pith_lens_leaves_where(s, whole, NULL, NULL);
    pt_ok(s, pith_child_count(pith_lens_get(s, all, tree)) == pith_tree_num_leaves(tree));
    /* The root itself may be found; or nothing is. */
    const pith_lens *tuples = pith_lens_all_where(s, whole, is_tuple, NULL);
    const void *tuple = pith_child(tree, 2);
    got = pith_lens_get(s, tuples, tuple);
    pt_ok(s, pith_child_count(got) == 1 && pith_child(got, 0) == tuple);
    cr_assert(pith_lens_set(s, tuples, tuple, pith_list_make(s, PITH_ITEMS(zero))) ==
              zero);
    const pith_lens *none = pith_lens_all_where(s, whole, nothing, NULL);
    got = pith_lens_get(s, none, tree);
    pt_ok(s, pith_child_count(got) == 0 && pith_lens_set(s, none, tree, got) == tree);
    pt_fails(PITH_E_ARG, s, pith_lens_all_where(s, whole, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_lens_all_of_any(s, whole, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

/* Records that embed Atoms by value, once and twice; and one that only looks like it. */
typedef struct {
    Atoms base;
    const pith_array *charge;
    const Sim *sim;
} Ions;
PITH_NODE(Ions,
          PITH_LEAF(base.position, "float[n,3]"),
          PITH_LEAF(base.velocity, "float[n,3]"),
          PITH_LEAF(base.force, "float[n,3]"),
          PITH_LEAF(charge, "f64[n]"),
          PITH_CHILD(sim, Sim, .optional = true))
typedef struct {
    int64_t step;
    Atoms a, b;
} Two;
PITH_NODE(Two,
          PITH_STATIC(step),
          PITH_LEAF(a.position, "float[n,3]"),
          PITH_LEAF(a.velocity, "float[n,3]"),
          PITH_LEAF(a.force, "float[n,3]"),
          PITH_LEAF(b.position, "float[n,3]"),
          PITH_LEAF(b.velocity, "float[n,3]"),
          PITH_LEAF(b.force, "float[n,3]"))
typedef struct {
    Atoms other;
} Unlike;
PITH_NODE(Unlike,
          PITH_LEAF(other.position, "float[n,3]"),
          PITH_LEAF(other.velocity, "float[n,2]"),
          PITH_LEAF(other.force, "float[n,3]"))
/* One that holds a child within the struct that it embeds. */
typedef struct {
    const Sim *sim;
    int64_t rounds;
    const char *name;
} Run;
PITH_NODE(Run, PITH_CHILD(sim, Sim), PITH_STATIC(rounds), PITH_STATIC(name))
typedef struct {
    double cost;
    Run run;
    const Sim *other;
} Batch;
PITH_NODE(Batch,
          PITH_STATIC(cost),
          PITH_CHILD(run.sim, Sim),
          PITH_STATIC(run.rounds),
          PITH_STATIC(run.name),
          PITH_CHILD(other, Sim))

Test(lens_where, finds_embedded_records) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Atoms *atoms = pt_atoms(s, 2, 1), *more = pt_atoms(s, 2, 5),
                *zero = pith_tree_zeros_like(s, atoms);
    const Sim *sim = lens_sim(s, 2, 3);
    const pith_array *charge = pt_array(s, PITH_SHAPE(2), 3);
    const Ions *ions = pith_freeze(s, Ions, &(Ions){*atoms, charge, sim});
    const Two *two = pith_freeze(s, Two, &(Two){7, *atoms, *more});
    const Unlike *unlike = pith_freeze(
        s, Unlike,
        &(Unlike){{atoms->position, pt_array(s, PITH_SHAPE(2, 2), 0), atoms->force}});
    const void *tree =
        pith_list_make(s, PITH_ITEMS((const void *)ions, two, atoms, unlike));
    const pith_lens *all = pith_lens_all_of(s, pith_lens_identity(), Atoms);
    const void *got = pith_lens_get(s, all, tree);
    pt_ok(s, pith_child_count(got) == 5);
    const Atoms *want[] = {atoms, sim->atoms, atoms, more, atoms};
    for (int i = 0; i < 5; i++) {
        cr_assert(pith_is(Atoms, pith_child(got, i)), "%d", i);
        cr_assert(pith_tree_equal(s, pith_child(got, i), want[i]), "%d", i);
    }
    /* The laws. */
    const void *five = pith_list_make(s, PITH_ITEMS(zero, more, more, zero, more));
    const void *set = pith_lens_set(s, all, tree, five);
    pt_ok(s, pith_tree_equal(s, pith_lens_get(s, all, set), five));
    cr_assert(pith_tree_equal(s, pith_lens_set(s, all, tree, got), tree));
    cr_assert(pith_tree_equal(s, pith_lens_set(s, all, set, got), tree));
    const Ions *ion = pith_child(set, 0);
    cr_assert(ion->base.position == zero->position && ion->charge == charge);
    cr_assert(ion->sim->atoms == more && ion->sim->neighbour == sim->neighbour);
    cr_assert(((const Two *)pith_child(set, 1))->step == 7);
    cr_assert(pith_child(set, 3) == unlike);

    /* Behind it, and beside other lenses of what it embeds. */
    const pith_lens *position = pith_lens_focus(s, all, ".position"),
                    *velocity = pith_lens_focus(s, all, ".velocity");
    const pith_lens *charges = pith_lens_path(s, NULL, "[0].charge");
    const pith_lens *both = pith_lens_merge(s, PITH_LENSES(position, velocity, charges));
    got = pith_lens_get(s, both, tree);
    const pith_array *x = pt_array(s, PITH_SHAPE(2, 3), 50);
    const void *xs = pith_list_make(s, PITH_ITEMS(x, x, x, x, x));
    const void *v = pith_tuple_make(s, PITH_ITEMS(xs, pith_child(got, 1), charge));
    set = pith_lens_set(s, both, tree, v);
    pt_ok(s, pith_tree_equal(s, pith_lens_get(s, both, set), v));
    cr_assert(((const Two *)pith_child(set, 1))->b.position == x);
    cr_assert(((const Two *)pith_child(set, 1))->b.velocity == more->velocity);
    const pith_lens *twice = pith_lens_merge(
        s, PITH_LENSES(position, pith_lens_path(s, NULL, "[0].base.position")));
    pt_fails(PITH_E_ARG, s,
             pith_lens_set(s, twice, tree,
                           pith_tuple_make(s, PITH_ITEMS(xs, zero->position))));
    cr_assert_str_eq(pt_error.path, "[0].base.position");

    /* Errors name what is embedded. */
    const void *bad =
        pith_list_make(s, PITH_ITEMS((const void *)sim, zero, zero, zero, zero));
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, all, tree, bad));
    pt_says("[0].base: expected Atoms, got Sim");
    const pith_array *nine = pt_array(s, PITH_SHAPE(9, 3), 50);
    const void *longer = pith_list_make(s, PITH_ITEMS(x, x, nine, x, x));
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, position, tree, longer));
    pt_says("[1].a.position: expected f64[n=2,3], got f64[9,3]");
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_where, looks_beside_embedded_records) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sim *a = lens_sim(s, 2, 3), *b = lens_sim(s, 3, 3);
    const Batch *batch = pith_freeze(s, Batch, &(Batch){0.5, {a, 3, "first"}, b});
    const pith_lens *runs = pith_lens_all_of(s, pith_lens_identity(), Run);
    const void *got = pith_lens_get(s, runs, batch);
    pt_ok(s, pith_child_count(got) == 1);
    const Run *run = pith_child(got, 0);
    cr_assert(run->sim == a && run->rounds == 3 && strcmp(run->name, "first") == 0);
    const Run other = {b, 4, "second"};
    const Batch *next = pith_lens_set(
        s, runs, batch, pith_list_make(s, PITH_ITEMS(pith_freeze(s, Run, &other))));
    pt_ok(s, next->run.sim == b && next->run.rounds == 4 && next->cost == 0.5);
    cr_assert(strcmp(next->run.name, "second") == 0 && next->other == b);
    const pith_lens *names = pith_lens_focus(s, runs, ".name");
    next = pith_lens_set(s, names, batch,
                         pith_list_make(s, PITH_ITEMS(pith_text_make(s, "third"))));
    pt_ok(s, strcmp(next->run.name, "third") == 0 && next->run.sim == a);
    /* Both are found as records of their own. */
    pt_ok(s, pith_child_count(pith_lens_get(
                 s, pith_lens_all_of(s, pith_lens_identity(), Sim), batch)) == 2);
    pith_scope_close(s);
    pt_close(rt);
}

/* Of parts within each other the outermost is found: what is set in one is then not
 * within another. */
Test(lens_where, finds_the_outermost) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1);
    const Chain *chain = NULL;
    for (int i = 0; i < 3; i++) {
        const Chain link = {x, chain};
        chain = pith_freeze(s, Chain, &link);
    }
    const void *tree =
        pith_tuple_make(s, PITH_ITEMS(pith_tuple_make(s, PITH_ITEMS(x)), chain));
    const pith_lens *whole = pith_lens_identity();
    const void *got = pith_lens_get(s, pith_lens_all_of(s, whole, Chain), tree);
    pt_ok(s, pith_child_count(got) == 1 && pith_child(got, 0) == chain);
    got = pith_lens_get(s, pith_lens_all_where(s, whole, is_tuple, NULL), tree);
    pt_ok(s, pith_child_count(got) == 1 && pith_child(got, 0) == tree);
    /* To go on inside, look into each. */
    const pith_lens *inner =
        pith_lens_all_where(s, pith_lens_each(s, whole), is_tuple, NULL);
    got = pith_lens_get(s, inner, tree);
    pt_ok(s, pith_child_count(got) == 2 && pith_child_count(pith_child(got, 0)) == 1);
    cr_assert(pith_child_count(pith_child(got, 1)) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* A million parts, deep and wide, need memory and nothing else. */
Test(lens_where, reaches_far) {
    enum { WIDE = 100000, DEEP = 20000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    static const void *items[WIDE];
    for (int i = 0; i < WIDE; i++)
        items[i] = x;
    const void *list = pith_list_make(s, WIDE, items);
    const pith_lens *all = pith_lens_leaves_where(s, pith_lens_identity(), NULL, NULL);
    for (int i = 0; i < WIDE; i++)
        items[i] = y;
    const void *ys = pith_list_make(s, WIDE, items);
    const void *set = pith_lens_set(s, all, list, ys);
    pt_ok(s, set && pith_child(set, WIDE - 1) == y && pith_child(set, 0) == y);
    const void *deep = x;
    for (int i = 0; i < DEEP; i++)
        deep = pith_list_make(s, PITH_ITEMS(deep));
    const void *one = pith_list_make(s, PITH_ITEMS(y));
    set = pith_lens_set(s, all, deep, one);
    pt_ok(s, set && pith_tree_equal(s, pith_lens_get(s, all, set), one));
    pith_scope_close(s);
    pt_close(rt);
}
