/* Cases of sharded trees. */
#include "mesh/shard_trees.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sharding and back ---- */

static void shards_of_arrays(mesh_test *t) {
    const pith_array *whole = mesh_data(t, 7, PITH_I32, PITH_SHAPE(4 * t->size, 3));
    const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", "x", NULL}));
    const pith_sharding how = pith_array_sharding(a);
    MESH_CHECK(t, how.mesh == pith_mesh_of(t->s) && strcmp(how.axes, "x") == 0);
    MESH_CHECK(t, how.whole.rank == 2 && how.whole.extents[0] == 4 * t->size &&
                      how.whole.extents[1] == 3 && how.rows == -1);
    MESH_CHECK(t, how.begin[0] == 4 * t->rank && how.begin[1] == 0);
    MESH_CHECK(t, pith_array_spec(a)->shape[0] == 4);
    const pith_array *own = pith_unshard_local(t->s, a);
    MESH_CHECK(t, mesh_equal(t, own, rows(t, whole, 4 * t->rank, 4 * t->rank + 4)));
    MESH_CHECK(t, !pith_array_sharding(own).mesh && !pith_array_sharding(NULL).mesh);
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, a, -1), whole));
    for (int64_t root = 0; root < t->size; root++) {
        const pith_array *at = pith_unshard(t->s, a, root);
        MESH_CHECK(t, root == t->rank ? mesh_equal(t, at, whole) : !at);
        MESH_CHECK(t, !pith_failed(t->s));
    }
    /* without a copy, and equal arrays share a spec */
    const pith_array *again = pith_shard_local(t->s, own, PITH_SPECS({"", NULL, NULL}));
    MESH_CHECK(t, pith_array_spec(again) == pith_array_spec(a));
    MESH_CHECK(t, pith_array_spec(again) != pith_array_spec(own));
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, again, -1), whole));
    /* the second axis, and none */
    const pith_array *wide = mesh_data(t, 8, PITH_F32, PITH_SHAPE(2, 3 * t->size, 2));
    const pith_array *b = pith_shard(t->s, wide, PITH_SPECS({"", ";x;", NULL}));
    MESH_CHECK(t, strcmp(pith_array_sharding(b).axes, ";x") == 0);
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1), wide));
    MESH_CHECK(t,
               mesh_equal(t, pith_shard(t->s, wide, PITH_SPECS({"", "", NULL})), wide));
    const pith_array *empty = pith_zeros(t->s, PITH_F64, PITH_SHAPE(0, 2));
    const pith_array *none = pith_shard(t->s, empty, PITH_SPECS({"", "x", NULL}));
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, none, -1), empty));
}

/* Meshes of two axes: every way to lay an array over them. */
static void shards_over_two_axes(mesh_test *t) {
    if (t->size % 2)
        return;
    const int64_t half = t->size / 2, x = t->rank / half, y = t->rank % half;
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    const pith_array *whole =
        mesh_data(t, 5, PITH_F64, PITH_SHAPE(2 * t->size, 3 * t->size, 2));
    static const char *const specs[] = {"x",  "y",  "x,y",  "y,x",  "x;y", "y;x",
                                        ";x", ";y", ";x,y", "x;;y", ""};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (strcmp(specs[i], "x;;y") == 0 && half != 1 && half != 2)
            continue; /* the last axis does not divide */
        const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", specs[i], NULL}));
        MESH_CHECK(t, strcmp(pith_array_sharding(a).axes, specs[i]) == 0);
        MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, a, -1), whole));
        const pith_array *at = pith_unshard(t->s, a, t->size - 1);
        MESH_CHECK(t, t->rank == t->size - 1 ? mesh_equal(t, at, whole) : !at);
    }
    const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", "x;y", NULL}));
    const pith_sharding how = pith_array_sharding(a);
    MESH_CHECK(t,
               how.begin[0] == x * t->size && how.begin[1] == y * 6 && how.begin[2] == 0);
}

static void shards_with_counts(mesh_test *t) {
    static const int64_t all[][2] = {{1000, 1000}, {1000, 7}, {10, 0}, {1, 1}, {2, 2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t n = all[i][0], used = all[i][1];
        const ShardAtoms *whole = atoms_of(t, n, used);
        const ShardAtoms *a = pith_shard(t->s, whole, NULL);
        const int64_t room = (n + t->size - 1) / t->size;
        MESH_CHECK(t, a->max == room && a->cutoff == 2.5 && a->box);
        MESH_CHECK(t, pith_array_sharding(a->position).rows == room);
        MESH_CHECK(t, pith_array_sharding(a->count).whole.extents[0] == t->size);
        MESH_CHECK(t, !pith_array_sharding(a->box).mesh);
        const ShardAtoms *own = pith_unshard_local(t->s, a);
        const int64_t each = used / t->size, more = used % t->size,
                      count = each + (t->rank < more),
                      begin = t->rank * each + (t->rank < more ? t->rank : more);
        MESH_CHECK(t, pith_read_i64(t->s, own->count) == count);
        MESH_CHECK(t, mesh_equal(t, rows(t, own->position, 0, count),
                                 rows(t, whole->position, begin, begin + count)));
        MESH_CHECK(
            t, mesh_equal(t, rows(t, own->position, count, room),
                          pith_full(t->s, PITH_F64, PITH_SHAPE(room - count, 3), -1)));
        const ShardAtoms *back = pith_unshard(t->s, a, -1);
        MESH_CHECK(t, back->max == used && pith_read_i64(t->s, back->count) == used);
        MESH_CHECK(t, mesh_equal(t, back->position, rows(t, whole->position, 0, used)));
        MESH_CHECK(t, mesh_equal(t, back->mass, rows(t, whole->mass, 0, used)));
        MESH_CHECK(t, mesh_equal(t, back->box, whole->box));
        /* unsharding and sharding are inverses on rows in use */
        const ShardAtoms *third = pith_unshard(t->s, pith_shard(t->s, back, NULL), -1);
        MESH_CHECK(t, equal_trees(t, third, back));
    }
}

/* Each rank has rows of its own; one has none. */
static void shards_of_each_rank(mesh_test *t) {
    const int64_t own = t->rank == 1 ? 0 : t->rank + 1;
    ShardAtoms part = *atoms_of(t, 6, own);
    part.position = mesh_data(t, 10 + t->rank, PITH_F64, PITH_SHAPE(6, 3));
    const ShardAtoms *a =
        pith_shard_local(t->s, pith_freeze(t->s, ShardAtoms, &part), NULL);
    const ShardAtoms *whole = pith_unshard(t->s, a, -1);
    const pith_array *parts[64];
    int64_t sum = 0;
    for (int64_t r = 0; r < t->size; r++) {
        const int64_t used = r == 1 ? 0 : r + 1;
        parts[r] = rows(t, mesh_data(t, 10 + r, PITH_F64, PITH_SHAPE(6, 3)), 0, used);
        sum += used;
    }
    MESH_CHECK(t, pith_read_i64(t->s, whole->count) == sum && whole->max == sum);
    MESH_CHECK(t,
               mesh_equal(t, whole->position, pith_concatenate(t->s, t->size, parts, 0)));
    const ShardAtoms *none = pith_unshard(t->s, a, t->size - 1);
    MESH_CHECK(t, (none->position != NULL) == (t->rank == t->size - 1));
    MESH_CHECK(t, !pith_failed(t->s));
}

static void shards_of_nested_trees(mesh_test *t) {
    const ShardSystem whole = {
        .atoms = atoms_of(t, 5, 5),
        .charge = mesh_data(t, 4, PITH_F64, PITH_SHAPE(5)),
        .field = mesh_data(t, 6, PITH_F64, PITH_SHAPE(4, 2 * t->size)),
    };
    const ShardSystem *w = pith_freeze(t->s, ShardSystem, &whole);
    const ShardSystem *a = pith_shard(t->s, w, NULL);
    MESH_CHECK(t, a->atoms->max == (5 + t->size - 1) / t->size);
    MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, a, -1), w));
    /* specs by path replace declarations; the longest decides */
    const ShardSystem *b = pith_shard(
        t->s, w,
        PITH_SPECS({".atoms", "", NULL}, {".atoms.position", "x", ".atoms.count"},
                   {".atoms.mass", "x", "count"}, {".atoms.count", "x", NULL},
                   {".field", "", NULL}));
    MESH_CHECK(t, !pith_array_sharding(b->field).mesh);
    MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, b, -1), w));
    /* structure, lenses and scopes take whole leaves */
    MESH_CHECK(t, pith_tree_structure(t->s, a) && pith_tree_structure(t->s, b));
    const pith_treedef *first = pith_tree_structure(t->s, a),
                       *second = pith_tree_structure(t->s, pith_shard(t->s, w, NULL)),
                       *plain = pith_tree_structure(t->s, pith_unshard_local(t->s, a));
    MESH_CHECK(t, pith_treedef_equal(first, second) && !pith_treedef_equal(first, plain));
    ShardSystem next = *a;
    next.charge = pith_add(t->s, a->charge, a->charge);
    const ShardSystem *changed = pith_freeze(t->s, ShardSystem, &next);
    MESH_CHECK(t, changed->atoms == a->atoms && changed->field == a->field);
    pith_scope *inner = pith_scope_open_in(t->s);
    const ShardSystem *kept =
        pith_keep(t->s, (const ShardSystem *)pith_shard(inner, w, NULL));
    pith_scope_close(inner);
    MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, kept, -1), w));
    MESH_CHECK(t, strcmp(pith_array_sharding(kept->field).axes, ";x") == 0);
    const pith_lens *lens = pith_lens_path(t->s, ShardSystem_pith_type(), ".field");
    const pith_array *field = pith_lens_get(t->s, lens, a);
    MESH_CHECK(t, field == a->field);
    MESH_CHECK(t, pith_lens_set(t->s, lens, a, field) != NULL);
}

/* ---- Refusals ---- */

typedef struct {
    const pith_array *few, *all, *count;
    int64_t n;
} ShardTwo;
PITH_NODE(ShardTwo,
          PITH_LEAF(few, "f64[n]", .shard = "x", .rows = "count"),
          PITH_LEAF(all, "f64[n]", .shard = "x"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_STATIC(n))

/* Leaves of which the extents of the whole would differ, but have one name. */
static void refuses_wholes(mesh_test *t) {
    const ShardTwo two = {.few = mesh_data(t, 1, PITH_F64, PITH_SHAPE(2)),
                          .all = mesh_data(t, 2, PITH_F64, PITH_SHAPE(2)),
                          .count = pith_i64(t->s, t->rank ? 2 : 1),
                          .n = 2};
    const ShardTwo *own = pith_freeze(t->s, ShardTwo, &two);
    pith_unshard(t->s, pith_shard_local(t->s, own, NULL), -1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE,
                             t->size == 1 ? "the extent of axis 0 is 2, but n is now 1, "
                                            "because of .few: their rows must be counted"
                                          : ".all: makes n "));
    if (t->size == 1)
        return;
    const pith_shard_spec *half = PITH_SPECS({"", ""}, {".all", "x"});
    pith_unshard(t->s, pith_shard_local(t->s, own, half), -1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE,
                             "axis 0 is whole, but n is now the extent of all shards"));
}

/* Every use of the elements names the way out. */
static void refuses_elements(mesh_test *t) {
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size));
    const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", "x", NULL}));
    const pith_list *list = pith_list_make(t->s, PITH_ITEMS(a, whole));
    const pith_array *b =
        pith_shard(t->s, pith_add(t->s, whole, whole), PITH_SPECS({"", "x", NULL}));
    const pith_list *other = pith_list_make(t->s, PITH_ITEMS(b, whole));
    const pith_list *plain =
        pith_list_make(t->s, PITH_ITEMS(pith_unshard_local(t->s, a), whole));
    double buffer[2];
    pith_view view;
#define REFUSED(...)                                                                     \
    ((void)(__VA_ARGS__), MESH_CHECK(t, mesh_fails(t, PITH_E_ARG,                        \
                                                   "expected a plain array, got f64[2] " \
                                                   "sharded \"x\"")))
    REFUSED(pith_read(t->s, a, buffer, sizeof buffer));
    REFUSED(pith_read_f64(t->s, a));
    REFUSED(pith_array_view(t->s, a, &view));
    REFUSED(pith_add(t->s, a, a));
    REFUSED(pith_mul(t->s, a, 2.0));
    REFUSED(pith_sum(t->s, a, PITH_ALL_AXES));
    REFUSED(pith_reshape(t->s, a, PITH_SHAPE(1, 2)));
    REFUSED(pith_cast(t->s, a, PITH_F32));
    REFUSED(pith_psum(t->s, a, "x", NULL));
    REFUSED(pith_tree_equal(t->s, list, other));
    REFUSED(pith_tree_all_close(t->s, list, plain, 0, 0));
    REFUSED(pith_tree_concat(t->s, PITH_ITEMS(list, list), 0));
    REFUSED(pith_tree_stack(t->s, PITH_ITEMS(list, list)));
    REFUSED(pith_tree_take(t->s, list, pith_i64(t->s, 0), NULL));
    REFUSED(pith_tree_psum(t->s, list, "x", NULL));
    REFUSED(pith_shard(t->s, a, PITH_SPECS({"", "x", NULL})));
    REFUSED(pith_shard_local(t->s, a, PITH_SPECS({"", "x", NULL})));
    const char *text = pith_tree_text(t->s, list, &(pith_print_options){.values = true});
    MESH_CHECK(t, text && strstr(text, "f64[2] sharded \"x\""));
}

static void refuses_shapes(mesh_test *t) {
    const pith_array *odd = mesh_data(t, 1, PITH_F64, PITH_SHAPE(2 * t->size + 1, 2));
    if (t->size > 1) {
        pith_shard(t->s, odd, PITH_SPECS({"", "x", NULL}));
        MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "or rows that are counted"));
    }
    pith_shard(t->s, odd, PITH_SPECS({"", "z", NULL}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "no such axis; the mesh has x"));
    pith_shard(t->s, odd, PITH_SPECS({"", "x,x", NULL}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "an axis is named twice"));
    pith_shard(t->s, odd, PITH_SPECS({"", ";;x", NULL}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "is for 3 axes, the leaf is f64["));
    pith_shard(t->s, odd, PITH_SPECS({".a", "x", NULL}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_PATH, "the path '.a' of a spec leads to no leaf"));
    pith_shard(t->s, odd, PITH_SPECS({"", "x", "count"}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_PATH, "'count', which counts its rows"));
    pith_shard(t->s, atoms_of(t, 4, 5), NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "5 rows in use (count), expected 0 to 4"));
    if (t->size > 1) { /* a leaf that was forgotten */
        pith_shard(t->s, atoms_of(t, 4 * t->size, 4),
                   PITH_SPECS({"", ""}, {".position", "x"}));
        MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE,
                                 "axis 0 is whole, but max is now the "
                                 "extent of a shard, 4, because "
                                 ".position is sharded"));
    }
    /* a count that no shard has room for */
    const ShardAtoms *bad = pith_shard_local(t->s, atoms_of(t, 4, 5), NULL);
    pith_unshard(t->s, bad, -1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "rank 0: 5 rows in use, expected 0 to 4"));
    /* a part without the leaf that counts */
    pith_unshard(t->s, bad->position, -1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_PATH, "'count', which counts its rows"));
    /* values of each rank, which no whole can hold */
    const pith_array *number =
        pith_shard_local(t->s, pith_i64(t->s, t->rank), PITH_SPECS({"", "x", NULL}));
    pith_unshard(t->s, number, -1);
    if (t->size > 1)
        MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "rank 1 has another than rank 0"));
    const pith_array *five =
        pith_shard_local(t->s, pith_i64(t->s, 5), PITH_SPECS({"", "x", NULL}));
    MESH_CHECK(t, pith_read_i64(t->s, pith_unshard(t->s, five, -1)) == 5);
    pith_unshard(t->s, five, t->size);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_unshard: root "));
}

/* Ranks that differ are told, and none waits. */
static void refuses_differences(mesh_test *t) {
    if (t->size == 1)
        return;
    pith_shard(t->s, pith_full(t->s, PITH_F64, PITH_SHAPE(t->size), (double)t->rank),
               PITH_SPECS({"", "x", NULL}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "calls pith_shard at "));
    pith_shard_local(t->s, atoms_of(t, t->rank ? 4 : 5, 1), NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "but their arguments differ: "));
    const pith_array *a = pith_shard(t->s, pith_ones(t->s, PITH_F64, PITH_SHAPE(t->size)),
                                     PITH_SPECS({"", "x", NULL}));
    if (t->rank == 1)
        pith_fail(t->s, PITH_E_ARG, NULL, "no luck");
    pith_unshard(t->s, a, -1);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck"));
    MESH_CHECK(t, pith_unshard(t->s, a, -1) != NULL);
}

const mesh_case mesh_shard_cases[] = {
    {"shards_of_arrays", shards_of_arrays},
    {"shards_over_two_axes", shards_over_two_axes},
    {"shards_with_counts", shards_with_counts},
    {"shards_of_each_rank", shards_of_each_rank},
    {"shards_of_nested_trees", shards_of_nested_trees},
    {"refuses_elements", refuses_elements},
    {"refuses_shapes", refuses_shapes},
    {"refuses_wholes", refuses_wholes},
    {"refuses_differences", refuses_differences},
    {NULL, NULL},
};
