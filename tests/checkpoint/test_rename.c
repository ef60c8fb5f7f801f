/* options.renames: what the file calls otherwise comes to its place, whatever the order
 * of the renames, and one that cannot be done is an error that names it. */
#include "checkpoint_test.h"

typedef struct OldAtoms {
    const pith_array *pos, *vel;
    double lx;
} OldAtoms;
PITH_NODE(OldAtoms, PITH_LEAF(pos, "f64[n]"), PITH_LEAF(vel, "f64[n]"), PITH_STATIC(lx))

typedef struct OldState {
    const OldAtoms *a, *b;
    const pith_array *energy;
    const void *any;
    double dt;
    int64_t steps;
} OldState;
PITH_NODE(OldState,
          PITH_CHILD(a, OldAtoms),
          PITH_CHILD(b, OldAtoms, .optional = true),
          PITH_LEAF(energy, "f64"),
          PITH_TREE(any),
          PITH_STATIC(dt),
          PITH_STATIC(steps))

typedef struct NewAtoms {
    const pith_array *position, *velocity;
    Cell box;
} NewAtoms;
PITH_NODE(NewAtoms,
          PITH_LEAF(position, "f64[n]"),
          PITH_LEAF(velocity, "f64[n]"),
          PITH_STATIC_STRUCT(box, x),
          PITH_STATIC_STRUCT(box, y, z))

typedef struct State {
    const OldAtoms *a, *b;
    const pith_array *energy;
    const void *any;
    double timestep;
    int64_t steps;
} State;
PITH_NODE(State,
          PITH_CHILD(a, OldAtoms),
          PITH_CHILD(b, OldAtoms, .optional = true),
          PITH_LEAF(energy, "f64"),
          PITH_TREE(any),
          PITH_STATIC(timestep),
          PITH_STATIC(steps))

static pith_scope *open_all(pith_runtime **rt) {
    ct_begin();
    *rt = pt_open();
    return pith_scope_open(*rt);
}
static void close_all(pith_scope *s, pith_runtime *rt) {
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

static const OldAtoms *make_atoms(pith_scope *s, double first) {
    const double x[] = {first, first + 1}, v[] = {-first, 0.5};
    const OldAtoms atoms = {pith_array_copy(s, PITH_F64, PITH_SHAPE(2), x),
                            pith_array_copy(s, PITH_F64, PITH_SHAPE(2), v), 3.5};
    return pith_freeze(s, OldAtoms, &atoms);
}

static const OldState *save_old(pith_scope *s) {
    const char *const keys[] = {"p", "q"};
    const void *items[] = {pith_f64(s, 7), make_atoms(s, 70)};
    const void *any =
        pith_list_make(s, PITH_ITEMS(pith_dict_make(s, 2, keys, items), pith_f32(s, 8)));
    const OldState state = {
        make_atoms(s, 1), make_atoms(s, 2), pith_f64(s, -6), any, 0.25, 17};
    const OldState *frozen = pith_freeze(s, OldState, &state);
    pt_ok(s, pith_save(s, frozen, "a.json", &(pith_save_options){.inline_bytes = -1}));
    return frozen;
}

static const void *
load(pith_scope *s, const pith_type *type, const char *at, const pith_rename *renames) {
    const pith_load_options options = {.at = at, .renames = renames};
    return pith_load_any(s, type, "a.json", &options);
}

Test(rename, of_a_type_and_its_static) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldState *old = save_old(s);
    const State *state =
        load(s, State_pith_type(), NULL,
             PITH_RENAMES({"OldState", "State"}, {"OldState.dt", "State.timestep"}));
    pt_ok(s, pith_is(State, state));
    cr_assert(state->timestep == 0.25 && state->steps == 17);
    cr_assert(ct_same_bits(s, state->a, old->a) && ct_same_bits(s, state->any, old->any));
    close_all(s, rt);
}

Test(rename, of_a_field_holds_for_all_records_of_the_type) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldAtoms *one = make_atoms(s, 4);
    const void *list = pith_list_make(s, PITH_ITEMS(one, make_atoms(s, 5)));
    pt_ok(s, pith_save(s, list, "a.json", NULL));
    (void)NewAtoms_pith_type();
    pt_fails(PITH_E_STRUCTURE, s,
             load(s, NULL, NULL,
                  PITH_RENAMES(
                      {"OldAtoms", "NewAtoms"}, {"OldAtoms.pos", "NewAtoms.position"},
                      {"OldAtoms.vel", "NewAtoms.velocity"},
                      {"OldAtoms.lx",
                       "NewAtoms.box.x"}))); /* the others of the box are in no file */
    cr_assert_str_eq(pt_error.path, "[0].box.y");
    pt_says("[0].box.z: missing");
    pt_says("(4 differences)");
    close_all(s, rt);
}

Test(rename, may_exchange_names_of_nodes_fields_and_statics) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldState *old = save_old(s);
    const OldState *by_path =
        load(s, OldState_pith_type(), NULL, PITH_RENAMES({".a", ".b"}, {".b", ".a"}));
    pt_ok(s, ct_same_bits(s, by_path->a, old->b) && ct_same_bits(s, by_path->b, old->a));
    const OldState *by_field = load(
        s, OldState_pith_type(), NULL,
        PITH_RENAMES({"OldAtoms.pos", "OldAtoms.vel"}, {"OldAtoms.vel", "OldAtoms.pos"}));
    pt_ok(s, ct_same_bits(s, by_field->a->pos, old->a->vel) &&
                 ct_same_bits(s, by_field->b->vel, old->b->pos));
    close_all(s, rt);
}

Test(rename, leads_across_records_and_dicts) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldState *old = save_old(s);
    const OldState *moved =
        load(s, OldState_pith_type(), NULL,
             PITH_RENAMES({".any[0]['q']", ".b"}, {".energy", ".any[0]['a']"},
                          {".any[0]['p']", ".energy"}, {".b", ".any[0]['old']"}));
    pt_ok(s, pith_is(OldState, moved));
    const void *dict = pith_child(old->any, 0), *now = pith_child(moved->any, 0);
    cr_assert(ct_same_bits(s, moved->b, pith_dict_get(dict, "q")));
    cr_assert(ct_same_bits(s, pith_dict_get(now, "old"), old->b));
    cr_assert(pith_read_f64(s, moved->energy) == 7);
    cr_assert(pith_read_f64(s, pith_dict_get(now, "a")) == -6);
    cr_assert_str_eq(pith_child_name(now, 0), "a");
    /* a static to another record, and the place of one that went */
    const pith_rename statics[] = {{".dt", ".a.lx"}, {".a.lx", ".dt"}, {NULL, NULL}};
    const OldState *exchanged = load(s, OldState_pith_type(), NULL, statics);
    pt_ok(s, exchanged->dt == 3.5 && exchanged->a->lx == 0.25 && exchanged->b->lx == 3.5);
    close_all(s, rt);
}

typedef struct Ions {
    OldAtoms base;
    const pith_array *charge;
} Ions;
PITH_NODE(Ions,
          PITH_LEAF(base.pos, "f64[n]"),
          PITH_LEAF(base.vel, "f64[n]"),
          PITH_STATIC(base.lx),
          PITH_LEAF(charge, "f64[n]"))

/* Members of embedded structs have names with dots, which paths do not show. */
Test(rename, knows_members_of_embedded_structs) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldAtoms *atoms = make_atoms(s, 3);
    const char *const keys[] = {"charge", "pos"};
    const void *items[] = {atoms->vel, atoms->pos};
    const void *tree = pith_list_make(
        s, PITH_ITEMS(make_atoms(s, 2), pith_dict_make(s, 2, keys, items)));
    pt_ok(s, pith_save(s, tree, "a.json", NULL));
    (void)Ions_pith_type();
    const void *ions_tree =
        load(s, NULL, NULL,
             PITH_RENAMES({"OldAtoms", "Ions"}, {"[0].pos", "[0].base.pos"},
                          {"[0].vel", "[0].base.vel"}, {"[0].lx", "[0].base.lx"},
                          {"[1]['charge']", "[0].charge"}));
    pt_ok(s, ions_tree != NULL);
    const Ions *ions = pith_child(ions_tree, 0);
    cr_assert(ct_same_bits(s, ions->charge, atoms->vel) && ions->base.lx == 3.5);
    pt_ok(s, pith_save(s, ions, "a.json", NULL));
    const Ions *again =
        load(s, Ions_pith_type(), NULL,
             PITH_RENAMES({".base.pos", ".base.vel"}, {".base.vel", ".base.pos"}));
    pt_ok(s, ct_same_bits(s, again->base.vel, ions->base.pos) &&
                 ct_same_bits(s, again->base.pos, ions->base.vel));
    close_all(s, rt);
}

Test(rename, into_a_place_that_is_moved_itself) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldState *old = save_old(s);
    /* .b comes to the key, and what was .a.pos into it, by its new path */
    const OldState *moved =
        load(s, OldState_pith_type(), NULL,
             PITH_RENAMES({".a.pos", ".any[0]['b'].pos"}, {".b.pos", ".a.pos"},
                          {".b", ".any[0]['b']"}, {".any[0]['q']", ".b"}));
    pt_ok(s, pith_is(OldState, moved));
    const OldAtoms *b = pith_dict_get(pith_child(moved->any, 0), "b");
    cr_assert(ct_same_bits(s, b->pos, old->a->pos) &&
              ct_same_bits(s, b->vel, old->b->vel));
    cr_assert(ct_same_bits(s, moved->a->pos, old->b->pos));
    close_all(s, rt);
}

Test(rename, loads_a_part_of_the_file) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const OldState *old = save_old(s);
    const OldAtoms *part = load(s, OldAtoms_pith_type(), ".any[0]['q']", NULL);
    pt_ok(s, ct_same_bits(s, part, pith_dict_get(pith_child(old->any, 0), "q")));
    pt_ok(s, pith_read_f64(s, load(s, pith_array_pith_type(), ".energy", NULL)) == -6);
    pt_fails(PITH_E_STRUCTURE, s,
             load(s, OldAtoms_pith_type(), ".a",
                  PITH_RENAMES({".b.vel", ".vel"}, {".a.vel", ".pos"}, {".a.pos", ".x"},
                               {".dt", ".lx"}, {".a.lx", ".old"})));
    pt_says("(2 differences)"); /* .x and .old; the rest is in its place */
    pt_fails(PITH_E_TYPE, s, load(s, OldState_pith_type(), ".a", NULL));
    pt_says("expected a record OldState, the file holds a record OldAtoms");
    pt_fails(PITH_E_STRUCTURE, s, load(s, NULL, ".c", NULL));
    cr_assert_str_eq(pt_error.path, ".c");
    pt_says("the file has no such node");
    pt_fails(PITH_E_STRUCTURE, s, load(s, NULL, ".dt", NULL));
    pt_fails(PITH_E_PATH, s, load(s, NULL, ".a[", NULL));
    close_all(s, rt);
}

Test(rename, that_cannot_be_done_is_an_error_that_names_it) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_old(s);
    static const struct {
        pith_status code;
        pith_rename names[3];
        const char *says;
    } cases[] = {
        {PITH_E_STRUCTURE,
         {{".x", ".y"}},
         "cannot rename \".x\" to \".y\": the file has no such node"},
        {PITH_E_STRUCTURE,
         {{"Atom", "B"}},
         "cannot rename \"Atom\" to \"B\": the file has no such type"},
        {PITH_E_STRUCTURE, {{"OldAtoms.x", "OldAtoms.y"}}, "has no such field or static"},
        {PITH_E_STRUCTURE, {{"Atom.x", "Atom.y"}}, "has no such type"},
        {PITH_E_STRUCTURE,
         {{".a", ".b"}},
         "cannot put \".a\" there: the target exists already"},
        {PITH_E_STRUCTURE,
         {{"OldAtoms.pos", "OldAtoms.vel"}},
         "the target exists already"},
        {PITH_E_STRUCTURE,
         {{"OldState", "OldAtoms"}},
         "the file has such a type already"},
        {PITH_E_STRUCTURE,
         {{"OldAtoms.pos", "Sim.x"}},
         "the program calls its type OldAtoms"},
        {PITH_E_STRUCTURE,
         {{".a", ".a.pos"}},
         "cannot put \".a\" there: the parent node does not exist"},
        {PITH_E_STRUCTURE, {{".a", ".b.x"}, {".b", ".a.x"}}, "(2 differences)"},
        {PITH_E_STRUCTURE, {{".a", ".energy.x"}}, "the parent cannot have such a child"},
        {PITH_E_STRUCTURE, {{".dt", ".any[0]['dt']"}}, "a static belongs to a record"},
        {PITH_E_STRUCTURE,
         {{".any[0]", ".x"}},
         "items of lists and tuples cannot be moved"},
        {PITH_E_STRUCTURE,
         {{".a", ".any[2]"}},
         "items of lists and tuples cannot be moved"},
        {PITH_E_STRUCTURE, {{".a", ".any[7].x"}}, "the parent node does not exist"},
        {PITH_E_ARG, {{".a", ".c"}, {".a", ".d"}}, "\".a\" is renamed twice"},
        {PITH_E_ARG,
         {{".a", ".c"}, {".b", ".c"}},
         "both \".a\" and \".b\" become \".c\""},
        {PITH_E_ARG,
         {{".a", "B"}},
         "expected two types, two fields of types or two paths"},
        {PITH_E_ARG, {{"OldAtoms", "A.b"}}, "expected two types"},
        {PITH_E_ARG, {{"", "A"}}, "expected two types"},
        {PITH_E_ARG, {{".a", NULL}}, "expected two types"},
        {PITH_E_PATH, {{".a", ".b["}}, "malformed path \".b[\""},
        {PITH_E_PATH, {{"[x]", ".b"}}, "malformed path \"[x]\""},
    };
    for (int i = 0; i < PITHP_COUNT(cases); i++) {
        pt_fails(cases[i].code, s, load(s, OldState_pith_type(), NULL, cases[i].names));
        cr_assert(strstr(pt_error.message, cases[i].says), "%d: %s", i, pt_error.message);
    }
    close_all(s, rt);
}

Test(rename, faults_are_all_in_one_report) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_old(s);
    pt_fails(PITH_E_STRUCTURE, s,
             load(s, OldState_pith_type(), NULL,
                  PITH_RENAMES({".x", ".y"}, {".z", ".u"}, {".dt", ".v"})));
    pt_says("the file has no such node or static; .z: cannot rename");
    pt_says("(2 differences)");
    pt_fails(
        PITH_E_STRUCTURE, s,
        load(s, OldState_pith_type(), NULL,
             PITH_RENAMES({".x", ".y"}, {".any[0]", ".u"}, {"Atom", "B"}, {".a", ".b"},
                          {"OldAtoms.x", "OldAtoms.y"}, {".dt", ".v"})));
    pt_says("no such node or static");
    pt_says("items of lists and tuples");
    pt_says("no such field or static");
    pt_says("no such type");
    pt_says("the target exists already");
    pt_says("(5 differences)");
    close_all(s, rt);
}

/* ---- Random renames ---- */

enum { GROUPS = 6, KEYS = 5, PLACES = GROUPS * KEYS, ROUNDS = 200 };

static uint32_t random_state = 7;
static int random_below(int n) {
    random_state = random_state * 1103515245 + 12345;
    return (int)(random_state >> 16) % n;
}

static void shuffle(int *items, int n) {
    for (int i = n - 1; i > 0; i--) {
        const int k = random_below(i + 1), held = items[i];
        items[i] = items[k];
        items[k] = held;
    }
}

static void print_place(char *to, int place) {
    sprintf(to, "['g%d']['k%d']", place / KEYS, place % KEYS);
}

/* A dict of dicts whose leaves are their numbers. */
static const void *make_groups(pith_scope *s) {
    static const char *const groups[] = {"g0", "g1", "g2", "g3", "g4", "g5"};
    static const char *const keys[] = {"k0", "k1", "k2", "k3", "k4"};
    const void *made[GROUPS], *items[KEYS];
    for (int g = 0; g < GROUPS; g++) {
        for (int k = 0; k < KEYS; k++)
            items[k] = pith_i32(s, g * KEYS + k);
        made[g] = pith_dict_make(s, KEYS, keys, items);
    }
    return pith_dict_make(s, GROUPS, groups, made);
}

/* Some groups change their names, and some leaves their places, which are named as they
 * are then. after[p]: the number that place p has in the end. */
static int draw_renames(pith_rename *renames, char text[][2][24], int after[PLACES]) {
    int group[GROUPS], moved[PLACES], to[PLACES], order[GROUPS + PLACES], count = 0;
    const int leaves = random_below(PLACES + 1), groups = random_below(GROUPS + 1);
    for (int g = 0; g < GROUPS; g++)
        group[g] = g;
    shuffle(group, groups); /* group g becomes group[g] */
    for (int p = 0; p < PLACES; p++) {
        moved[p] = p;
        after[group[p / KEYS] * KEYS + p % KEYS] = p;
    }
    shuffle(moved, PLACES);
    for (int i = 0; i < leaves; i++)
        to[i] = group[moved[i] / KEYS] * KEYS + moved[i] % KEYS;
    shuffle(to, leaves);
    for (int i = 0; i < leaves; i++, count++) {
        print_place(text[count][0], moved[i]);
        print_place(text[count][1], to[i]);
        after[to[i]] = moved[i];
    }
    for (int g = 0; g < groups; g++, count++) {
        sprintf(text[count][0], "['g%d']", g);
        sprintf(text[count][1], "['g%d']", group[g]);
    }
    for (int i = 0; i < count; i++)
        order[i] = i;
    shuffle(order, count);
    for (int i = 0; i < count; i++)
        renames[i] = (pith_rename){text[order[i]][0], text[order[i]][1]};
    renames[count] = (pith_rename){NULL, NULL};
    return count;
}

Test(rename, takes_random_renames_in_any_order) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    pith_rename renames[GROUPS + PLACES + 1];
    char text[GROUPS + PLACES][2][24], path[24];
    int after[PLACES];
    pt_ok(s, pith_save(s, make_groups(s), "a.json", NULL));
    for (int round = 0; round < ROUNDS; round++) {
        pith_scope *inner = pith_scope_open_in(s);
        const int count = draw_renames(renames, text, after);
        const void *tree = load(inner, NULL, NULL, renames);
        pt_ok(inner, tree != NULL);
        for (int p = 0; p < PLACES; p++) {
            print_place(path, p);
            const pith_array *leaf = pith_tree_at(inner, tree, path);
            cr_assert(pith_read_f64(inner, leaf) == after[p],
                      "round %d of %d renames: %s is %g, not %d", round, count, path,
                      pith_read_f64(inner, leaf), after[p]);
        }
        pith_scope_close(inner);
    }
    close_all(s, rt);
}
