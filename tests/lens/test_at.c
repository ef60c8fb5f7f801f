/* Parts of every leaf: rows at an array of indices, slices; what follows what. */
#include "lens_types.h"

/* Records whose leaves ask for options of their own. */
typedef struct {
    const pith_array *x;
} Clipped;
static pith_scatter_options clip(const Clipped *c) {
    (void)c;
    return (pith_scatter_options){.mode = PITH_INDEX_CLIP};
}
PITH_NODE(Clipped, PITH_LEAF(x, "f64[...]"), PITH_SCATTER_ARGS(clip))

static const pith_array *index_of(pith_scope *s, int64_t n, const int64_t *values) {
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(n), values);
}
#define INDEX(s, ...)                                                                    \
    index_of((s), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                    \
             (int64_t[]){__VA_ARGS__})

static void read6(pith_scope *s, const pith_array *a, double values[6]) {
    pt_ok(s, pith_read(s, a, values, pith_array_spec(a)->bytes));
}

Test(lens_at, takes_and_sets_rows_of_every_leaf) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *atoms = PITH_LENS(World, sim->atoms);
    const pith_array *index = INDEX(s, -1, 0);
    const pith_lens *at = pith_lens_at(s, atoms, index, NULL);
    const Atoms *rows = pith_lens_get(s, at, w);
    pt_ok(s, pith_is(Atoms, rows));
    double v[6];
    read6(s, rows->position, v);
    cr_assert(v[0] == 10 && v[3] == 1); /* the last row, and the first */
    read6(s, rows->velocity, v);
    cr_assert(v[0] == 110 && v[3] == 101);
    const World *same = pith_lens_set(s, at, w, rows);
    pt_ok(s, pith_tree_equal(s, same, w));
    const Atoms *other = pith_tree_full_like(s, rows, -1);
    const World *next = pith_lens_set(s, at, w, other);
    pt_ok(s, pith_is(World, next));
    cr_assert(pith_tree_equal(s, pith_lens_get(s, at, next), other));
    cr_assert(next->sim->neighbour == w->sim->neighbour);
    double all[12];
    pt_ok(s, pith_read(s, next->sim->atoms->force, all, sizeof all));
    cr_assert(all[0] == -1 && all[3] == 204 && all[11] == -1);
    cr_assert(pith_tree_equal(s, w, lens_world(s))); /* as it was */

    /* One array for all leaves; a number for all elements. */
    next = pith_lens_set(s, at, w, pt_array(s, PITH_SHAPE(2, 3), 70));
    pt_ok(s, pith_read(s, next->sim->atoms->velocity, all, sizeof all));
    cr_assert(all[0] == 73 && all[9] == 70 && all[4] == 105);
    next = pith_lens_set(s, at, w, pith_f32(s, 8));
    pt_ok(s, pith_read(s, next->sim->atoms->velocity, all, sizeof all));
    cr_assert(all[0] == 8 && all[10] == 8 && all[4] == 105);

    /* One leaf. */
    const pith_lens *leaf =
        pith_lens_at(s, PITH_LENS(World, base.position), INDEX(s, 1), NULL);
    cr_assert(pith_lens_get_f64(s, leaf, w) == 8);
    next = pith_lens_set(s, leaf, w, pith_f64(s, 3));
    pt_ok(s, pith_lens_get_f64(s, leaf, next) == 3);
    cr_assert_str_eq(pith_lens_text(s, leaf), ".base.position.at(i64[1])");

    pt_fails(PITH_E_SHAPE, s,
             pith_lens_set(s, at, w, pith_tree_full_like(s, w->sim->atoms, 0)));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.position");
    pt_fails(PITH_E_STRUCTURE, s, pith_lens_set(s, at, w, w->sim));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, at, w, NULL));
    pt_fails(PITH_E_DTYPE, s, pith_lens_at(s, atoms, w->base.position, NULL));
    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_at(s, PITH_LENS(World, ghosts), index, NULL), w));
    pith_scope_close(s);
    pt_close(rt);
}

/* Indices out of range and repeated ones, in every mode, as documented; negative ones are
 * the same for both. */
Test(lens_at, follows_its_mode_both_ways) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pt_array(s, PITH_SHAPE(4), 1);
    const pith_lens *whole = pith_lens_identity();
    static const pith_index_mode modes[] = {PITH_INDEX_DEFAULT, PITH_INDEX_DROP,
                                            PITH_INDEX_CLIP, PITH_INDEX_FILL,
                                            PITH_INDEX_WRAP};
    static const double got[][3] = {
        {4, NAN, NAN}, {4, NAN, NAN}, {4, 4, 1}, {4, NAN, NAN}, {4, 2, 3}};
    for (int i = 0; i < 5; i++) {
        const pith_lens_at_options o = {.mode = modes[i]};
        const pith_lens *at = pith_lens_at(s, whole, INDEX(s, -1, 5, -6), &o);
        double v[4];
        pt_ok(s, pith_read(s, pith_lens_get(s, at, x), v, 24));
        for (int k = 0; k < 3; k++)
            cr_assert(isnan(got[i][k]) ? isnan(v[k]) : v[k] == got[i][k],
                      "mode %d: %g at %d", modes[i], v[k], k);
        /* What was got, set again, changes nothing. */
        cr_assert(
            pith_tree_equal(s, pith_lens_set(s, at, x, pith_lens_get(s, at, x)), x));
        /* What is set in range is got. */
        const pith_lens *inside = pith_lens_at(s, whole, INDEX(s, -1, 1), &o);
        const pith_array *value = pt_array(s, PITH_SHAPE(2), 50);
        const pith_array *set = pith_lens_set(s, inside, x, value);
        pt_ok(s, pith_tree_equal(s, pith_lens_get(s, inside, set), value));
        pt_ok(s, pith_read(s, set, v, sizeof v));
        cr_assert(v[0] == 1 && v[1] == 51 && v[2] == 3 && v[3] == 50);
    }
    const double nine = 9;
    const pith_lens *filled =
        pith_lens_at(s, whole, INDEX(s, 7), &(pith_lens_at_options){.fill = &nine});
    cr_assert(pith_lens_get_f64(s, filled, x) == 9);
    const pith_lens *strict = pith_lens_at(
        s, whole, INDEX(s, 0, 4), &(pith_lens_at_options){.mode = PITH_INDEX_ERROR});
    pt_fails(PITH_E_INDEX, s, (pith_lens_get(s, strict, x), pith_wait(s)));
    pt_fails(PITH_E_INDEX, s,
             (pith_lens_set(s, strict, x, pith_f64(s, 0)), pith_wait(s)));
    pt_fails(PITH_E_ARG, s,
             pith_lens_at(s, whole, INDEX(s, 0),
                          &(pith_lens_at_options){.mode = (pith_index_mode)77}));

    /* Repeated: the last row counts. */
    const pith_lens *twice = pith_lens_at(s, whole, INDEX(s, 2, 2, -2), NULL);
    double v[4];
    pt_ok(s, pith_read(s, pith_lens_set(s, twice, x, pt_array(s, PITH_SHAPE(3), 60)), v,
                       sizeof v));
    cr_assert(v[2] == 62 && v[1] == 2);
    /* None: the part itself. */
    const pith_lens *none =
        pith_lens_at(s, whole, pith_zeros(s, PITH_I32, PITH_SHAPE(0)), NULL);
    cr_assert(pith_lens_set(s, none, x, pith_lens_get(s, none, x)) == x);
    /* Another axis. */
    const pith_array *grid = pt_array(s, PITH_SHAPE(2, 3), 0);
    const pith_lens *column =
        pith_lens_at(s, whole, INDEX(s, -1), &(pith_lens_at_options){.axis = -1});
    double six[6];
    read6(s, pith_lens_set(s, column, grid, pith_f64(s, 7)), six);
    cr_assert(six[2] == 7 && six[5] == 7 && six[0] == 0 && six[3] == 3);
    pith_scope_close(s);
    pt_close(rt);
}

/* What records ask for holds where the call is silent, for getting and setting. */
Test(lens_at, merges_what_records_ask_for) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Clipped value = {pt_array(s, PITH_SHAPE(4), 1)};
    const Clipped *clipped = pith_freeze(s, Clipped, &value);
    const void *tree = pith_list_make(s, PITH_ITEMS(clipped, value.x));
    const pith_lens *at = pith_lens_at(s, pith_lens_identity(), INDEX(s, 9), NULL);
    const void *got = pith_lens_get(s, at, tree);
    double v[4];
    pt_ok(s, pith_read(s, pith_tree_at(s, got, "[0].x"), v, 8) && v[0] == 4);
    pt_ok(s, pith_read(s, pith_tree_at(s, got, "[1]"), v, 8) && isnan(v[0]));
    const void *set = pith_lens_set(s, at, tree, pith_f64(s, 5));
    pt_ok(s, pith_read(s, pith_tree_at(s, set, "[0].x"), v, sizeof v) && v[3] == 5);
    pt_ok(s, pith_read(s, pith_tree_at(s, set, "[1]"), v, sizeof v) && v[3] == 4);
    const pith_lens *drop =
        pith_lens_at(s, pith_lens_identity(), INDEX(s, 9),
                     &(pith_lens_at_options){.mode = PITH_INDEX_DROP});
    cr_assert(pith_tree_equal(s, pith_lens_set(s, drop, tree, pith_f64(s, 5)), tree));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_at, nothing_goes_behind_it) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_array *index = INDEX(s, 0);
    const pith_lens *ends[] = {
        pith_lens_at(s, PITH_LENS(World, sim->atoms), index, NULL),
        pith_lens_slice(s, PITH_LENS(World, sim->atoms), 1, &PITH_SLICE(0, 2, 1))};
    static const char *const texts[] = {"the lens ends in .at(i64[1])",
                                        "the lens ends in .slice(:2)"};
    for (int i = 0; i < 2; i++) {
        pt_fails(PITH_E_ARG, s, pith_lens_at(s, ends[i], index, NULL));
        pt_says(texts[i]);
        pt_fails(PITH_E_ARG, s, pith_lens_focus(s, ends[i], ".position"));
        pt_fails(PITH_E_ARG, s, pith_lens_nest(s, ends[i], PITH_LENS(Atoms, position)));
        pt_fails(PITH_E_ARG, s, pith_lens_slice(s, ends[i], 1, &PITH_WHOLE));
        pt_fails(PITH_E_ARG, s, pith_lens_each(s, ends[i]));
        pt_ok(s, pith_lens_nest(s, ends[i], pith_lens_identity()));
        pt_ok(s, pith_lens_focus(s, ends[i], ""));
    }
    /* Behind a row, or behind each of several parts, it may stand. */
    const pith_lens *rows =
        pith_lens_at(s, pith_lens_path(s, World_pith_type(), ".sim.atoms.position[1]"),
                     INDEX(s, 2), NULL);
    cr_assert(pith_lens_get_f64(s, rows, w) == 6);
    const World *next = pith_lens_set(s, rows, w, pith_f64(s, 0));
    pt_ok(s, pith_lens_get_f64(s, rows, next) == 0);
    const pith_lens *firsts = pith_lens_at(
        s, pith_lens_leaves_where(s, PITH_LENS(World, sim->atoms), NULL, NULL), index,
        NULL);
    const void *got = pith_lens_get(s, firsts, w);
    pt_ok(s, pith_child_count(got) == 3);
    cr_assert(pith_tree_equal(s, pith_lens_set(s, firsts, w, got), w));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_slice, counts_from_both_ends_and_by_steps) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_slice slice = PITH_SLICE(-1, INT64_MIN, -2);
    const pith_lens *part = pith_lens_slice(s, PITH_LENS(World, sim->atoms), 1, &slice);
    const Atoms *got = pith_lens_get(s, part, w);
    double v[6];
    pt_ok(s, pith_is(Atoms, got));
    read6(s, got->position, v);
    cr_assert(v[0] == 10 && v[2] == 12 && v[3] == 4);
    const World *next = pith_lens_set(s, part, w, pith_tree_zeros_like(s, got));
    pt_ok(s, pith_is(World, next));
    double all[12];
    pt_ok(s, pith_read(s, next->sim->atoms->force, all, sizeof all));
    cr_assert(all[9] == 0 && all[3] == 0 && all[0] == 201 && all[6] == 207);
    cr_assert(next->sim->neighbour == w->sim->neighbour);
    /* What is got must still fit what its records declare. */
    const pith_slice columns[] = {PITH_WHOLE, PITH_SLICE(1, -1, 1)};
    const pith_lens *column =
        pith_lens_slice(s, PITH_LENS(World, sim->atoms), 2, columns);
    pt_fails(PITH_E_SHAPE, s, pith_lens_get(s, column, w));
    cr_assert_str_eq(pt_error.path, ".sim.atoms.position");
    pith_scope_close(s);
    pt_close(rt);
}

/* Leaves of a list, whose shapes nothing declares. */
Test(lens_slice, sets_what_it_gets) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *list = pith_list_make(s, PITH_ITEMS(pt_array(s, PITH_SHAPE(4, 3), 1),
                                                    pt_array(s, PITH_SHAPE(5, 3), 50)));
    static const pith_slice all[][2] = {{{-1, INT64_MIN, -2}, {1, -1, 1}},
                                        {{0, INT64_MAX, 1}, {2, INT64_MAX, 1}},
                                        {{1, 3, 1}, {0, INT64_MAX, 2}},
                                        {{3, 1, 1}, {0, INT64_MAX, 1}},
                                        {{-3, -1, 1}, {-1, INT64_MIN, -1}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int count = 0; count <= 2; count++) {
            const pith_lens *part =
                pith_lens_slice(s, pith_lens_identity(), count, all[i]);
            const void *got = pith_lens_get(s, part, list);
            pt_ok(s, got);
            cr_assert(pith_tree_equal(s, pith_lens_set(s, part, list, got), list));
            const void *other = pith_tree_full_like(s, got, -3);
            const void *set = pith_lens_set(s, part, list, other);
            pt_ok(s, pith_tree_equal(s, pith_lens_get(s, part, set), other));
            const void *again = pith_lens_set(s, part, list, pith_f64(s, -3));
            pt_ok(s, pith_tree_equal(s, again, set));
        }
    pt_fails(PITH_E_ARG, s,
             pith_lens_slice(s, pith_lens_identity(), 1, &PITH_SLICE(0, 1, 0)));
    pt_fails(PITH_E_ARG, s, pith_lens_slice(s, pith_lens_identity(), -1, NULL));
    pt_fails(PITH_E_ARG, s, pith_lens_slice(s, pith_lens_identity(), 1, NULL));
    const pith_lens *deep = pith_lens_slice(
        s, pith_lens_identity(), 3, (pith_slice[]){PITH_WHOLE, PITH_WHOLE, PITH_WHOLE});
    pt_fails(PITH_E_ARG, s, pith_lens_get(s, deep, list));
    cr_assert_str_eq(pt_error.path, "[0]");
    pith_scope_close(s);
    pt_close(rt);
}
