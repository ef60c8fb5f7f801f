/* Batched functions: which axes are mapped, trees in and out, and that an entry is the
 * call alone. */
#include "vmap_test.h"

/* ---- Functions of arrays ---- */

static const pith_array *wave(pith_scope *in, const pith_array *x, const pith_array *y) {
    return pith_add(in, pith_mul(in, pith_sin(in, x), y), 1.0);
}
PITH_FUNCTION2(wave_of, wave, pith_array, pith_array, pith_array)

/* Each entry of a batch has the bits of the call alone. */
static void
entries_are_calls(const pith_array *x, int x_axis, const pith_array *y, int y_axis) {
    const pith_function *all = pith_vmap(
        s, &wave_of,
        &(pith_vmap_options){.in = PITH_MAPPED({"[0]", x_axis}, {"[1]", y_axis})});
    const pith_array *z = pith_apply(s, all, x, y);
    pt_ok(s, z);
    const int64_t size = pith_array_spec(z)->shape[0];
    for (int64_t i = 0; i < size; i++)
        same_bits(entry_of(z, i, 0),
                  wave(s, entry_of(x, i, x_axis), entry_of(y, i, y_axis)));
}

Test(vmap, maps_axis_0_of_every_leaf, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3, 2)), *y = numbers(PITH_SHAPE(3));
    const pith_array *z = pith_apply(s, pith_vmap(s, &wave_of, NULL), x, y);
    pt_ok(s, z);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(z, i, 0), wave(s, entry_of(x, i, 0), entry_of(y, i, 0)));
    close_scope();
}

Test(vmap, maps_any_axis_and_shares, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(2, 3, 4)), *y = numbers(PITH_SHAPE(4, 2));
    const int shared = PITH_NOT_MAPPED;
    entries_are_calls(x, 0, y, 1);
    entries_are_calls(x, -3, y, -1);
    entries_are_calls(numbers(PITH_SHAPE(3, 4, 2)), 2, y, 1);
    entries_are_calls(numbers(PITH_SHAPE(2, 5)), 1, numbers(PITH_SHAPE(5, 2)), -2);
    entries_are_calls(numbers(PITH_SHAPE(2, 5)), 1, numbers(PITH_SHAPE(2)), shared);
    entries_are_calls(numbers(PITH_SHAPE(2)), shared, numbers(PITH_SHAPE(2, 7)), 1);
    entries_are_calls(numbers(PITH_SHAPE(3)), 0, numbers(PITH_SHAPE(2, 2)), shared);
    close_scope();
}

Test(vmap, puts_the_axis_of_the_result_anywhere, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(5, 2, 3)), *y = numbers(PITH_SHAPE(5));
    const pith_array *front = pith_apply(s, pith_vmap(s, &wave_of, NULL), x, y);
    for (int axis = -3; axis < 3; axis++) {
        const pith_vmap_options o = {.out = PITH_MAPPED({"", axis})};
        same_bits(pith_apply(s, pith_vmap(s, &wave_of, &o), x, y),
                  pith_moveaxis(s, front, 0, axis));
    }
    close_scope();
}

static const pith_array *first(pith_scope *in, const pith_array *x, const pith_array *y) {
    (void)y;
    return pith_sin(in, x);
}
PITH_FUNCTION2(first_of, first, pith_array, pith_array, pith_array)

Test(vmap, results_that_do_not_depend_on_the_batch, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(2)), *y = numbers(PITH_SHAPE(3));
    const pith_mapped *in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED});
    const pith_vmap_options shared = {.in = in,
                                      .out = PITH_MAPPED({"", PITH_NOT_MAPPED})};
    same_bits(pith_apply(s, pith_vmap(s, &first_of, &shared), x, y), pith_sin(s, x));
    const pith_vmap_options last = {.in = in, .out = PITH_MAPPED({"", -1})};
    const pith_array *z = pith_apply(s, pith_vmap(s, &first_of, &last), x, y);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(z, i, 1), pith_sin(s, x));
    close_scope();
}

Test(vmap, where_nothing_is_mapped_the_size_counts, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(2)), *y = numbers(PITH_SCALAR);
    const pith_vmap_options o = {
        .in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}, {"[1]", PITH_NOT_MAPPED}), .size = 4};
    const pith_array *z = pith_apply(s, pith_vmap(s, &wave_of, &o), x, y);
    for (int64_t i = 0; i < 4; i++)
        same_bits(entry_of(z, i, 0), wave(s, x, y));
    close_scope();
}

Test(vmap, sizes_0_and_1, .init = open_scope) {
    const pith_function *all = pith_vmap(s, &wave_of, NULL);
    const pith_array *none =
        pith_apply(s, all, numbers(PITH_SHAPE(0, 2)), numbers(PITH_SHAPE(0)));
    pt_ok(s, none);
    cr_assert(pith_array_spec(none)->rank == 2 && pith_array_spec(none)->shape[0] == 0 &&
              pith_array_spec(none)->shape[1] == 2);
    entries_are_calls(numbers(PITH_SHAPE(1, 2)), 0, numbers(PITH_SHAPE(2, 1)), 1);
    close_scope();
}

/* ---- Batches in batches ---- */

static const pith_array *
outer_wave(pith_scope *in, const pith_array *x, const pith_array *y) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    return pith_call(in, pith_vmap(in, &wave_of, &o), PITH_ITEMS(x, y));
}
PITH_FUNCTION2(outer_wave_of, outer_wave, pith_array, pith_array, pith_array)

/* All pairs of x and y, where every extent is the same. */
Test(vmap, nested_batches_of_equal_sizes, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3)), *y = pith_mul(s, x, 10.0);
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    const pith_array *z = pith_apply(s, pith_vmap(s, &outer_wave_of, &o), x, y);
    pt_ok(s, z);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 3; k++)
            same_bits(entry_of(entry_of(z, i, 0), k, 0),
                      wave(s, entry_of(x, k, 0), entry_of(y, i, 0)));
    /* the same, of a batched function */
    const pith_function *rows =
        pith_vmap(s, &wave_of, &(pith_vmap_options){.in = PITH_MAPPED({"[1]", -128})});
    same_bits(pith_apply(s, pith_vmap(s, rows, &o), x, y), z);
    close_scope();
}

/* ---- Records ---- */

typedef struct {
    const pith_array *cell;
    int64_t kinds;
} Box;
PITH_NODE(Box, PITH_LEAF(cell, "f64[3]"), PITH_STATIC(kinds, .initial = 2))
typedef struct {
    const pith_array *position, *charge, *kind;
    const Box *box;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "f64[n,3]"),
          PITH_LEAF(charge, "f64[n]", .optional = true),
          PITH_LEAF(kind, "i64[n]"),
          PITH_CHILD(box, Box))

/* Inside, the record has its declared specs. */
static const Atoms *move(pith_scope *in, const Atoms *atoms, const pith_array *by) {
    const pith_spec *spec = pith_array_spec(atoms->position);
    cr_assert(spec->rank == 2 && spec->shape[1] == 3);
    cr_assert(pith_array_spec(atoms->box->cell)->rank == 1 && atoms->box->kinds == 5);
    Atoms next = *atoms;
    next.position = pith_add(in, atoms->position, pith_mul(in, atoms->box->cell, by));
    if (atoms->charge)
        next.charge = pith_mul(in, atoms->charge, by);
    next.kind = pith_add(in, atoms->kind, atoms->box->kinds);
    return pith_freeze(in, Atoms, &next);
}
PITH_FUNCTION2(move_of, move, Atoms, Atoms, pith_array)

static const Atoms *atoms_of(int64_t lead, bool charges, bool boxes) {
    const pith_shape cell = boxes ? PITH_SHAPE(lead, 3) : PITH_SHAPE(3);
    const Box *box = pith_record(s, Box, .cell = numbers(cell), .kinds = 5);
    return pith_record(
        s, Atoms, .position = numbers(PITH_SHAPE(lead, 2, 3)),
        .charge = charges ? numbers(PITH_SHAPE(lead, 2)) : NULL,
        .kind = pith_reshape(s, pith_arange(s, PITH_I64, 2 * lead), PITH_SHAPE(lead, 2)),
        .box = box);
}

static const Atoms *entry(const Atoms *all, int64_t i, bool boxes) {
    const Box *box =
        pith_record(s, Box, .cell = entry_of(all->box->cell, i, boxes ? 0 : -128),
                    .kinds = all->box->kinds);
    return pith_record(s, Atoms, .position = entry_of(all->position, i, 0),
                       .charge = all->charge ? entry_of(all->charge, i, 0) : NULL,
                       .kind = entry_of(all->kind, i, 0), .box = box);
}

static void same_entry(const Atoms *all, int64_t i, const Atoms *one, bool boxes) {
    same_bits(entry_of(all->position, i, 0), one->position);
    cr_assert(!all->charge == !one->charge);
    if (all->charge)
        same_bits(entry_of(all->charge, i, 0), one->charge);
    same_bits(entry_of(all->kind, i, 0), one->kind);
    same_bits(entry_of(all->box->cell, i, boxes ? 0 : -128), one->box->cell);
    cr_assert(all->box->kinds == one->box->kinds);
}

Test(vmap, records_have_their_declared_specs_inside, .init = open_scope) {
    const pith_array *by = numbers(PITH_SHAPE(4));
    for (int charges = 0; charges < 2; charges++) {
        const Atoms *atoms = atoms_of(4, charges, true);
        const Atoms *moved = pith_apply(s, pith_vmap(s, &move_of, NULL), atoms, by);
        pt_ok(s, moved);
        for (int64_t i = 0; i < 4; i++)
            same_entry(moved, i, move(s, entry(atoms, i, true), entry_of(by, i, 0)),
                       true);
    }
    close_scope();
}

Test(vmap, child_nodes_are_shared_by_their_path, .init = open_scope) {
    const Atoms *atoms = atoms_of(4, true, false);
    const pith_array *by = numbers(PITH_SHAPE(4));
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0].box", PITH_NOT_MAPPED}),
                                 .out = PITH_MAPPED({".box", PITH_NOT_MAPPED})};
    const Atoms *moved = pith_apply(s, pith_vmap(s, &move_of, &o), atoms, by);
    pt_ok(s, moved);
    for (int64_t i = 0; i < 4; i++)
        same_entry(moved, i, move(s, entry(atoms, i, false), entry_of(by, i, 0)), false);
    /* a part in a part that is named: the inner path counts, in any order */
    const pith_vmap_options inner = {
        .in = PITH_MAPPED({"[0].box.cell", PITH_NOT_MAPPED}, {"[0]", 0}),
        .out = PITH_MAPPED({".box", PITH_NOT_MAPPED}, {"", 0})};
    const Atoms *again = pith_apply(s, pith_vmap(s, &move_of, &inner), atoms, by);
    pt_ok(s, again);
    same_bits(again->position, moved->position);
    same_bits(again->box->cell, moved->box->cell);
    close_scope();
}

Test(vmap, absent_leaves_may_be_named, .init = open_scope) {
    const Atoms *atoms = atoms_of(2, false, true);
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0].charge", 1}),
                                 .out = PITH_MAPPED({".charge", 1})};
    const Atoms *moved =
        pith_apply(s, pith_vmap(s, &move_of, &o), atoms, numbers(PITH_SHAPE(2)));
    pt_ok(s, moved);
    cr_assert_null(moved->charge);
    close_scope();
}

/* ---- Functions like any other ---- */

static const pith_array *
advance(pith_scope *in, const pith_array *i, const pith_array *x) {
    (void)i;
    return pith_mul(in, x, 1.5);
}
PITH_FUNCTION2(advance_of, advance, pith_array, pith_array, pith_array)

Test(vmap, bound_trees_are_shared, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3)), *y = numbers(PITH_SHAPE(2));
    const pith_array *z =
        pith_apply(s, pith_vmap(s, pith_partial(s, &wave_of, y), NULL), x);
    pt_ok(s, z);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(z, i, 0), wave(s, entry_of(x, i, 0), y));
    /* an argument of the batched function, bound, is an argument */
    const pith_array *w = numbers(PITH_SHAPE(3));
    const pith_array *v =
        pith_apply(s, pith_partial(s, pith_vmap(s, &wave_of, NULL), w), x);
    for (int64_t i = 0; i < 3; i++)
        same_bits(entry_of(v, i, 0), wave(s, entry_of(x, i, 0), entry_of(w, i, 0)));
    close_scope();
}

Test(vmap, can_be_a_body_and_compiled, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    const pith_function *all =
        pith_vmap(s, &advance_of,
                  &(pith_vmap_options){.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})});
    const pith_array *wanted = pith_mul(s, pith_mul(s, x, 1.5), 1.5);
    same_bits(pith_fori(s, 0, 2, all, x), wanted);
    same_bits(pith_apply(s, pith_jit(s, all, NULL), pith_i64(s, 0), x),
              pith_mul(s, x, 1.5));
    close_scope();
}

static const pith_array *total(pith_scope *in, const pith_array *x) {
    const pith_array *y = pith_call(in, pith_vmap(in, &wave_of, NULL), PITH_ITEMS(x, x));
    return pith_sum(in, y, PITH_ALL_AXES);
}
PITH_FUNCTION1(total_of, total, pith_array, pith_array)
static const pith_array *alone(pith_scope *in, const pith_array *x) {
    return wave(in, x, x);
}
PITH_FUNCTION1(alone_of, alone, pith_array, pith_array)

Test(vmap, the_gradient_of_a_sum_is_the_batch_of_gradients, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(5));
    const pith_array *a = pith_apply(s, pith_grad(s, &total_of, NULL), x);
    const pith_array *b =
        pith_apply(s, pith_vmap(s, pith_grad(s, &alone_of, NULL), NULL), x);
    same_bits(a, b);
    close_scope();
}

static int recordings;
static const pith_array *counted(pith_scope *in, const pith_array *x) {
    recordings++;
    return pith_neg(in, x);
}
PITH_FUNCTION1(counted_of, counted, pith_array, pith_array)

Test(vmap, is_recorded_once_a_structure, .init = open_scope) {
    for (int again = 0; again < 3; again++)
        pt_ok(s, pith_apply(s, pith_vmap(s, &counted_of, NULL), numbers(PITH_SHAPE(4))));
    cr_assert(recordings == 1, "%d", recordings);
    const pith_vmap_options last = {.in = PITH_MAPPED({"[0]", -1})};
    pt_ok(s, pith_apply(s, pith_vmap(s, &counted_of, &last), numbers(PITH_SHAPE(4))));
    cr_assert(recordings == 2, "%d", recordings);
    const pith_function *all = pith_vmap(s, &counted_of, NULL);
    pt_ok(s, pith_apply(s, all, numbers(PITH_SHAPE(5))));
    cr_assert(recordings == 3, "%d", recordings);
    const char *why = pith_explain_miss(s, all);
    cr_assert(why && strstr(why, "f64[5]") && strstr(why, "f64[4]"), "%s", why);
    close_scope();
}

Test(vmap, can_be_kept, .init = open_scope) {
    pith_scope *in = pith_scope_open_in(s);
    char path[] = "[0]";
    const pith_vmap_options o = {.in = PITH_MAPPED({path, 1})};
    const pith_function *all = pith_keep(s, pith_vmap(in, &counted_of, &o));
    path[1] = '7';
    pith_scope_close(in);
    pt_ok(s, all);
    const pith_array *x = numbers(PITH_SHAPE(2, 3));
    same_bits(pith_apply(s, all, x), pith_neg(s, pith_transpose(s, x, NULL)));
    close_scope();
}
/* ---- Draws ---- */

static const pith_array *draw(pith_scope *in, const pith_array *key) {
    return pith_random_normal(in, key, PITH_F64, PITH_SHAPE(3), NULL);
}
PITH_FUNCTION1(draw_of, draw, pith_array, pith_array)

Test(vmap, keys_that_are_mapped_draw_their_own, .init = open_scope) {
    const pith_array *keys =
        pith_random_split(s, pith_random_key(s, 7), PITH_SHAPE(4), NULL);
    const pith_array *drawn = pith_apply(s, pith_vmap(s, &draw_of, NULL), keys);
    pt_ok(s, drawn);
    for (int64_t i = 0; i < 4; i++)
        same_bits(entry_of(drawn, i, 0), draw(s, entry_of(keys, i, 0)));
    const pith_vmap_options o = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}), .size = 2};
    const pith_array *same =
        pith_apply(s, pith_vmap(s, &draw_of, &o), entry_of(keys, 0, 0));
    same_bits(entry_of(same, 0, 0), entry_of(drawn, 0, 0));
    same_bits(entry_of(same, 1, 0), entry_of(drawn, 0, 0));
    close_scope();
}
