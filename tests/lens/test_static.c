/* Lenses of statics: numbers, texts, enums, dtypes, static records and structs by value;
 * leaves that follow a static that names their extent. */
#include "lens_types.h"

Test(lens_static, is_got_and_set_as_an_array_of_rank_0) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *cutoff = PITH_LENS(World, cutoff), *steps = PITH_LENS(World, steps),
                    *periodic = PITH_LENS(World, periodic);
    const pith_array *a = pith_lens_get(s, cutoff, w), *b = pith_lens_get(s, steps, w),
                     *c = pith_lens_get(s, periodic, w);
    pt_ok(s, a && b && c);
    cr_assert(pith_array_spec(a)->dtype == PITH_F64 && pith_array_spec(a)->rank == 0);
    cr_assert(pith_array_spec(b)->dtype == PITH_I64 && pith_array_spec(b)->rank == 0);
    cr_assert(pith_array_spec(c)->dtype == PITH_BOOL && pith_array_spec(c)->rank == 0);
    cr_assert(pith_read_f64(s, a) == 2.5 && pith_read_i64(s, b) == 0);
    const World *next = pith_lens_set(s, cutoff, w, pith_f32(s, 3.5f));
    next = pith_lens_set(s, steps, next, pith_i32(s, -7));
    next = pith_lens_set(s, periodic, next, pith_bool(s, true));
    pt_ok(s, next->cutoff == 3.5 && next->steps == -7 && next->periodic);
    cr_assert(next->sim == w->sim && w->cutoff == 2.5 && w->steps == 0 && !w->periodic);
    cr_assert(pith_tree_equal(s, pith_lens_set(s, cutoff, w, a), w));

    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, steps, w, pith_f64(s, 1)));
    cr_assert_str_eq(pt_error.path, ".steps");
    pt_says("expected an integer, got f64[]");
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, steps, w, pith_bool(s, true)));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, periodic, w, pith_i64(s, 1)));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, cutoff, w, pith_bool(s, true)));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, cutoff, w, w->sim));
    pt_fails(PITH_E_SHAPE, s, pith_lens_set(s, cutoff, w, w->base.position));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, cutoff, w, NULL));
    const uint64_t big = UINT64_MAX;
    pt_fails(PITH_E_DTYPE, s,
             pith_lens_set(s, steps, w, pith_array_copy(s, PITH_U64, PITH_SCALAR, &big)));
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_static, has_numbers_without_arrays) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens_options none = {0};
    w = pith_lens_set_i64_with(s, PITH_LENS(World, steps), w, 12, &none);
    w = pith_lens_set_f64(s, PITH_LENS(World, cutoff), w, 1.25);
    w = pith_lens_set_bool(s, PITH_LENS(World, periodic), w, true);
    w = pith_lens_set_text(s, PITH_LENS(World, label), w, "glass");
    w = pith_lens_set_text(s, PITH_LENS(World, scheme), w, "verlet");
    w = pith_lens_set_text(s, PITH_LENS(World, precision), w, "f64");
    w = pith_lens_set_i64(s, PITH_LENS(World, sim->max_neighbour), w, 8);
    pt_ok(s, pith_is(World, w));
    cr_assert(w->steps == 12 && w->cutoff == 1.25 && w->periodic);
    cr_assert(strcmp(w->label, "glass") == 0 && w->scheme == VERLET);
    cr_assert(w->precision == PITH_F64 && w->sim->max_neighbour == 8);
    cr_assert(pith_lens_get_i64(s, PITH_LENS(World, steps), w) == 12);
    cr_assert(pith_lens_get_f64(s, PITH_LENS(World, cutoff), w) == 1.25);
    cr_assert(pith_lens_get_f64(s, PITH_LENS(World, steps), w) == 12);
    cr_assert(pith_lens_get_bool(s, PITH_LENS(World, periodic), w));
    cr_assert_str_eq(pith_lens_get_text(s, PITH_LENS(World, label), w), "glass");
    cr_assert_str_eq(pith_lens_get_text(s, PITH_LENS(World, scheme), w), "verlet");
    cr_assert_str_eq(pith_lens_get_text(s, PITH_LENS(World, precision), w), "f64");
    cr_assert(pith_lens_get_i64(s, PITH_LENS(World, scheme), w) == VERLET);
    pt_ok(s);

    /* Numbers of leaves too, and of statics that a computed lens gives. */
    const pith_lens *third = pith_lens_path(s, World_pith_type(), ".base.position[2]");
    cr_assert(pith_lens_get_f64(s, third, w) == 9);
    w = pith_lens_set_f64(s, third, w, -2);
    pt_ok(s, pith_lens_get_f64(s, third, w) == -2);

    pt_fails(PITH_E_DTYPE, s, pith_lens_get_i64(s, PITH_LENS(World, cutoff), w));
    pt_fails(PITH_E_DTYPE, s, pith_lens_get_bool(s, PITH_LENS(World, steps), w));
    pt_fails(PITH_E_DTYPE, s, pith_lens_get_f64(s, PITH_LENS(World, periodic), w));
    pt_fails(PITH_E_TYPE, s, pith_lens_get_text(s, PITH_LENS(World, steps), w));
    pt_fails(PITH_E_TYPE, s, pith_lens_get_text(s, PITH_LENS(World, sim), w));
    pt_fails(PITH_E_TYPE, s, pith_lens_get_i64(s, PITH_LENS(World, sim), w));
    pt_fails(PITH_E_DTYPE, s,
             pith_lens_set(s, PITH_LENS(World, label), w, pith_f64(s, 1)));
    pt_says(".label: expected a text (a pith_text), got f64[]");
    pt_fails(PITH_E_DTYPE, s,
             pith_lens_set(s, PITH_LENS(World, label), w, pith_i64(s, 1)));
    pt_fails(PITH_E_ARG, s,
             pith_lens_set_text(s, PITH_LENS(World, scheme), w, "leapfrog"));
    cr_assert_str_eq(pt_error.path, ".scheme");
    pt_fails(PITH_E_ARG, s, pith_lens_set_i64(s, PITH_LENS(World, scheme), w, 2));
    pt_says("expected 0 to 1 (euler to verlet), got 2");
    pt_fails(PITH_E_DTYPE, s, pith_lens_set_i64(s, PITH_LENS(World, label), w, 2));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set_text(s, PITH_LENS(World, steps), w, "2"));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set_f64(s, PITH_LENS(World, steps), w, 2));
    pt_fails(PITH_E_TYPE, s, pith_lens_set_text(s, PITH_LENS(World, sim), w, "2"));
    pith_scope_close(s);
    pt_close(rt);
}

static const void *glass(pith_scope *s, const void *part, void *closure) {
    (void)closure;
    cr_assert_str_eq(((const pith_text *)part)->text, "melt");
    return pith_text_make(s, "glass");
}
static const void *get_label(pith_scope *s, const void *root, void *closure) {
    (void)closure;
    return pith_text_make(s, ((const World *)root)->label);
}
static const void *
set_label(pith_scope *s, const void *root, const void *value, void *closure) {
    World next = *(const World *)root;
    (void)closure;
    next.label = ((const pith_text *)value)->text;
    return pith_freeze(s, World, &next);
}

/* A text is a part as any other: merged, applied, bound, collected, nested. */
Test(lens_static, a_text_is_a_tree) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *label = PITH_LENS(World, label), *steps = PITH_LENS(World, steps);
    const pith_text *text = pith_lens_get(s, label, w);
    pt_ok(s, pith_is(pith_text, text));
    cr_assert_str_eq(text->text, "melt");
    cr_assert(pith_child_count(text) == 0);
    const World *next = pith_lens_set(s, label, w, pith_text_make(s, "ice"));
    pt_ok(s, strcmp(next->label, "ice") == 0 && strcmp(w->label, "melt") == 0);
    cr_assert(pith_tree_equal(s, pith_lens_set(s, label, next, text), w));

    const pith_lens *both = pith_lens_merge(s, PITH_LENSES(label, steps));
    const void *pair = pith_tuple_make(
        s, PITH_ITEMS((const void *)pith_text_make(s, "glass"), pith_i64(s, 9)));
    next = pith_lens_set(s, both, w, pair);
    pt_ok(s, strcmp(next->label, "glass") == 0 && next->steps == 9);
    cr_assert(pith_tree_equal(s, pith_lens_get(s, both, next), pair));
    cr_assert(
        pith_tree_equal(s, pith_lens_set(s, both, w, pith_lens_get(s, both, w)), w));
    next = pith_lens_apply(s, label, w, glass, NULL);
    pt_ok(s, strcmp(next->label, "glass") == 0);

    const pith_bound *bound = pith_lens_bind(s, label, w);
    pt_ok(s, strcmp(((const pith_text *)pith_bound_get(s, bound))->text, "melt") == 0);
    next = pith_bound_set(s, bound, pith_text_make(s, "bound"), NULL);
    pt_ok(s, strcmp(next->label, "bound") == 0);

    const pith_lens *labels = pith_lens_path(s, NULL, "[*].label");
    const void *list = pith_list_make(s, PITH_ITEMS(w, next));
    const void *got = pith_lens_get(s, labels, list);
    pt_ok(s, pith_child_count(got) == 2);
    cr_assert_str_eq(((const pith_text *)pith_child(got, 1))->text, "bound");
    cr_assert(pith_tree_equal(s, pith_lens_set(s, labels, list, got), list));

    const pith_lens *own = pith_lens_function(s, "label", get_label, set_label, NULL);
    cr_assert_str_eq(pith_lens_get_text(s, own, w), "melt");
    next = pith_lens_set_text(s, own, w, "own");
    pt_ok(s, strcmp(next->label, "own") == 0);
    cr_assert_str_eq(pith_lens_get_text(s, pith_lens_identity(), text), "melt");
    pt_fails(PITH_E_TYPE, s, pith_lens_get_text(s, pith_lens_identity(), w));
    pt_says("expected a text, got World");

    /* No text at all, which is not the empty one; and names of enums and dtypes. */
    next = pith_lens_set(s, label, w, pith_text_make(s, NULL));
    pt_ok(s, !next->label);
    text = pith_lens_get(s, label, next);
    pt_ok(s, text && !text->text);
    next = pith_lens_set(s, PITH_LENS(World, scheme), w, pith_text_make(s, "verlet"));
    next = pith_lens_set(s, PITH_LENS(World, precision), next, pith_text_make(s, "f64"));
    pt_ok(s, next->scheme == VERLET && next->precision == PITH_F64);
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, label, w, NULL));
    pt_fails(PITH_E_DTYPE, s, pith_lens_set(s, steps, w, pith_text_make(s, "9")));
    pt_says(".steps: expected an integer, got a text");
    pith_scope_close(s);
    pt_close(rt);
}

Test(lens_static, of_a_static_record_and_of_a_struct_by_value) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *tolerance = PITH_LENS(World, config->tolerance);
    cr_assert(pith_lens_get_f64(s, tolerance, w) == 1e-6);
    const World *next = pith_lens_set_f64(s, tolerance, w, 0.5);
    pt_ok(s, next->config->tolerance == 0.5 && next->config->rounds == 0);
    cr_assert(w->config->tolerance == 1e-6 && next->sim == w->sim);
    next = pith_lens_set(s, pith_lens_path(s, NULL, ".config.tolerance"), next,
                         pith_f64(s, 0.25));
    pt_ok(s, next->config->tolerance == 0.25);

    const pith_lens *config = PITH_LENS(World, config);
    cr_assert(pith_lens_get(s, config, next) == next->config);
    const Config other = {2, 3};
    next = pith_lens_set(s, config, next, pith_freeze(s, Config, &other));
    pt_ok(s, next->config->tolerance == 2 && next->config->rounds == 3);
    pt_fails(PITH_E_TYPE, s, pith_lens_set(s, config, w, w->sim));
    cr_assert_str_eq(pt_error.path, ".config");

    /* A member, and all of them. */
    next = pith_lens_set_i64(s, PITH_LENS(World, cells.y), w, 5);
    pt_ok(s, next->cells.y == 5 && next->cells.x == 0);
    const pith_lens *cells = PITH_LENS(World, cells);
    const void *three =
        pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 1), pith_i64(s, 2), pith_i64(s, 3)));
    next = pith_lens_set(s, cells, next, three);
    pt_ok(s, next->cells.x == 1 && next->cells.y == 2 && next->cells.z == 3);
    cr_assert(pith_tree_equal(s, pith_lens_get(s, cells, next), three));
    cr_assert_str_eq(pith_lens_text(s, cells), "(.cells.x, .cells.y, .cells.z)");
    const pith_lens *base = pith_lens_path(s, World_pith_type(), ".base");
    cr_assert(pith_child(pith_lens_get(s, base, w), 0) == w->base.position);
    pith_scope_close(s);
    pt_close(rt);
}

/* Leaves whose extents name a static follow it where that is asked for. */
Test(lens_static, leaves_follow_on_request) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const World *w = lens_world(s);
    const pith_lens *width = PITH_LENS(World, sim->max_neighbour);
    pt_fails(PITH_E_SHAPE, s, pith_lens_set_i64(s, width, w, 16));
    cr_assert_str_eq(pt_error.path, ".sim.neighbour");
    const pith_lens_options resize = {.resize = true};
    const World *wide = pith_lens_set_i64_with(s, width, w, 16, &resize);
    pt_ok(s, wide->sim->max_neighbour == 16);
    cr_assert(pith_array_spec(wide->sim->neighbour)->shape[1] == 16);
    cr_assert(wide->sim->atoms == w->sim->atoms &&
              wide->base.position == w->base.position);
    int32_t values[4 * 16];
    pt_ok(s, pith_read(s, wide->sim->neighbour, values, sizeof values));
    cr_assert(values[7] == 0 && values[8] == -1 && values[16] == 0);
    wide = pith_lens_set_with(s, width, w, pith_i64(s, 9), &resize);
    pt_ok(s, wide->sim->max_neighbour == 9 &&
                 pith_array_spec(wide->sim->neighbour)->shape[1] == 9);

    pt_fails(PITH_E_SHAPE, s, pith_lens_set_i64_with(s, width, w, 4, &resize));
    cr_assert_str_eq(pt_error.path, ".sim.neighbour");
    const World *narrow = pith_lens_set_i64_with(
        s, width, w, 4, &(pith_lens_options){.resize = true, .shrink = true});
    pt_ok(s, pith_array_spec(narrow->sim->neighbour)->shape[1] == 4);
    cr_assert(pith_tree_equal(s, pith_lens_set_i64_with(s, width, w, 8, &resize), w));
    pith_scope_close(s);
    pt_close(rt);
}

/* Capacities of several statics: a tuple of numbers, set and resized at once. */
typedef struct {
    const pith_array *pairs;
    int64_t rows, columns;
} Table;
PITH_NODE(Table,
          PITH_LEAF(pairs, "i32[rows,columns]", .fill = -1),
          PITH_STATIC(rows),
          PITH_STATIC(columns))
typedef struct {
    const Table *table;
    const pith_array *cells;
    int64_t most;
} Lists;
PITH_NODE(Lists,
          PITH_CHILD(table, Table),
          PITH_LEAF(cells, "i32[most]"),
          PITH_STATIC(most))

Test(lens_static, several_are_set_and_resized_together) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Table table = {pith_zeros(s, PITH_I32, PITH_SHAPE(2, 3)), 2, 3};
    const Lists value = {pith_freeze(s, Table, &table),
                         pith_zeros(s, PITH_I32, PITH_SHAPE(4)), 4};
    const Lists *lists = pith_freeze(s, Lists, &value);
    const pith_lens *all = pith_lens_merge(
        s, PITH_LENSES(PITH_LENS(Lists, most), PITH_LENS(Lists, table->rows),
                       PITH_LENS(Lists, table->columns)));
    const void *sizes = pith_lens_get(s, all, lists);
    pt_ok(s, pith_kind(sizes) == PITH_NODE_TUPLE && pith_child_count(sizes) == 3);
    cr_assert(pith_read_i64(s, pith_child(sizes, 0)) == 4);
    cr_assert(pith_read_i64(s, pith_child(sizes, 2)) == 3);
    const void *grown =
        pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 8), pith_i64(s, 4), pith_i64(s, 5)));
    const Lists *next =
        pith_lens_set_with(s, all, lists, grown, &(pith_lens_options){.resize = true});
    pt_ok(s, pith_is(Lists, next));
    cr_assert(next->most == 8 && next->table->rows == 4 && next->table->columns == 5);
    cr_assert(pith_array_spec(next->cells)->shape[0] == 8);
    cr_assert(pith_array_spec(next->table->pairs)->shape[0] == 4);
    int32_t pairs[20];
    pt_ok(s, pith_read(s, next->table->pairs, pairs, sizeof pairs));
    cr_assert(pairs[0] == 0 && pairs[3] == -1 && pairs[5] == 0 && pairs[19] == -1);
    cr_assert(pith_tree_equal(s, pith_lens_get(s, all, next), grown));
    pith_scope_close(s);
    pt_close(rt);
}
