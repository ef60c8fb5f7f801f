/* Checkpoints of many ranks, loaded by programs whose records have changed since. */
#include "mesh/parts_test.h"

/* ---- New fields ---- */

typedef struct {
    const pith_array *position, *mass, *count, *box, *field, *age, *grid, *seen;
    int64_t max;
    const char *name;
} NewAtoms;
PITH_NODE(NewAtoms,
          PITH_LEAF(position, "f64[max,3]", .shard = "x", .rows = "count", .fill = -1),
          PITH_LEAF(mass, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(box, "f64[3]"),
          PITH_LEAF(field, "f32[5,m]", .shard = ";x"),
          PITH_LEAF(age, "i32[max,2]", .shard = "x", .rows = "count", .fill = 7),
          PITH_LEAF(grid, "f64[2,k]", .shard = ";x"),
          PITH_LEAF(seen, "i64[]"),
          PITH_STATIC(max),
          PITH_STATIC(name))

/* New fields come from whole leaves that all ranks have, as pith_shard takes them. */
static void load_with_new_fields(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *old = whole_of(r->s, 1, j->rows);
    const NewAtoms want = {
        .position = old->position,
        .mass = old->mass,
        .count = old->count,
        .box = old->box,
        .field = old->field,
        .age = pith_iota(r->s, PITH_I32, PITH_SHAPE(j->rows, 2), 0),
        .grid = pith_iota(r->s, PITH_F64, PITH_SHAPE(2, 12), 1),
        .seen = pith_i64(r->s, 5),
        .max = j->rows,
        .name = "parts",
    };
    const NewAtoms *whole = pith_freeze(r->s, NewAtoms, &want);
    const pith_load_options o = {.initial = whole,
                                 .renames = PITH_RENAMES({"PartAtoms", "NewAtoms"})};
    const NewAtoms *a = pith_load_any(r->s, NewAtoms_pith_type(), j->path, &o);
    FAKE_CHECK(r, !pith_failed(r->s));
    FAKE_CHECK(r, strcmp(pith_array_sharding(a->age).axes, "x") == 0);
    const NewAtoms *back = pith_unshard(r->s, a, -1);
    FAKE_CHECK(r, pith_tree_equal(r->s, back->age, whole->age));
    FAKE_CHECK(r, j->local || pith_tree_equal(r->s, back, whole));
    const NewAtoms *own = pith_unshard_local(r->s, a);
    const int64_t used = pith_read_i64(r->s, own->count);
    const pith_array *rest =
        pith_slice_array(r->s, own->age, 1, &PITH_SLICE(used, own->max, 1));
    FAKE_CHECK(
        r, pith_tree_equal(r->s, rest,
                           pith_full(r->s, PITH_I32, PITH_SHAPE(own->max - used, 2), 7)));
    NewAtoms few = want;
    few.age = pith_iota(r->s, PITH_I32, PITH_SHAPE(j->rows - 1, 2), 0);
    few.max = j->rows - 1;
    few.position = pith_zeros(r->s, PITH_F64, PITH_SHAPE(few.max, 3));
    few.mass = pith_zeros(r->s, PITH_F32, PITH_SHAPE(few.max));
    const pith_load_options wrong = {.initial = pith_freeze(r->s, NewAtoms, &few),
                                     .renames = o.renames};
    pith_load_any(r->s, NewAtoms_pith_type(), j->path, &wrong);
    FAKE_CHECK(r, strstr(pith_message(r->s), ".age: ") != NULL);
    pith_clear(r->s);
    const pith_load_options cut = {.initial = a, .renames = o.renames};
    pith_load_any(r->s, NewAtoms_pith_type(), j->path, &cut);
    FAKE_CHECK(r, strstr(pith_message(r->s), "'age' is not in the file, and is sharded"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(parts_changed, new_fields_are_cut_as_declared) {
    for (int local = 0; local < 2; local++) { /* local: uneven rows, 10 in all */
        job j = begin();
        j.local = local;
        run(&j, 3, save);
        j.rows = local ? 10 : ROWS;
        for (int size = 1; size <= 4; size++)
            run(&j, size, load_with_new_fields);
        remove_folder(j.folder);
    }
}

/* ---- Upgrade hooks ---- */

typedef struct {
    const pith_array *position, *mass, *weight, *count, *box, *field;
    int64_t max;
    const char *name;
} HeavyAtoms;
static int64_t added; /* to the count, by each rank */
static void atoms_1_to_2(pith_scope *s, pith_upgrade *u) {
    const pith_array *count = pith_upgrade_array(s, u, ".count");
    if (added)
        pith_upgrade_set(s, u, ".count", pith_add(s, count, pith_i64(s, added)));
    const pith_array *mass = pith_upgrade_array(s, u, ".mass");
    pith_upgrade_set(s, u, ".weight", pith_mul(s, mass, 2.0));
}
PITH_NODE(HeavyAtoms,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, atoms_1_to_2),
          PITH_LEAF(position, "f64[max,3]", .shard = "x", .rows = "count", .fill = -1),
          PITH_LEAF(mass, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(weight, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(box, "f64[3]"),
          PITH_LEAF(field, "f32[5,m]", .shard = ";x"),
          PITH_STATIC(max),
          PITH_STATIC(name))

/* A hook sees whole leaves; what it has seen or made is cut after it. */
static void load_upgraded(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *old = whole_of(r->s, 1, j->rows);
    const pith_load_options o = {.renames = PITH_RENAMES({"PartAtoms", "HeavyAtoms"})};
    const HeavyAtoms *a = pith_load_any(r->s, HeavyAtoms_pith_type(), j->path, &o);
    FAKE_CHECK(r, !pith_failed(r->s));
    FAKE_CHECK(r, strcmp(pith_array_sharding(a->mass).axes, "x") == 0);
    const HeavyAtoms *back = pith_unshard(r->s, a, -1);
    FAKE_CHECK(r, pith_tree_equal(r->s, back->position, old->position));
    FAKE_CHECK(r, pith_tree_equal(r->s, back->mass, old->mass));
    FAKE_CHECK(r, pith_tree_equal(r->s, back->weight, pith_mul(r->s, old->mass, 2.0)));
    FAKE_CHECK(r, back->max == j->rows);
}
/* Counts of other rows than the ranks have. */
static void load_miscounted(fake_rank *r) {
    const job *j = r->closure;
    const pith_load_options o = {.renames = PITH_RENAMES({"PartAtoms", "HeavyAtoms"})};
    pith_load_any(r->s, HeavyAtoms_pith_type(), j->path, &o);
    FAKE_CHECK(r, pith_failed(r->s) && strstr(pith_message(r->s), "count"));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(parts_changed, upgrade_hooks_see_whole_leaves) {
    job j = begin();
    run(&j, 3, save);
    for (int size = 1; size <= 4; size++)
        run(&j, size, load_upgraded);
    added = 1;
    run(&j, 2, load_miscounted);
    run(&j, 3, load_miscounted);
    added = 0;
    remove_folder(j.folder);
}
