/* Cases of sharded trees and of functions over shards. */
#include "mesh/cases.h"

#include <stdlib.h>
#include <string.h>

/* ---- Types ---- */

typedef struct {
    const pith_array *position, *mass, *count, *box;
    int64_t max;
    double cutoff;
} ShardAtoms;
PITH_NODE(ShardAtoms,
          PITH_LEAF(position, "float[max,3]", .shard = "x", .rows = "count", .fill = -1),
          PITH_LEAF(mass, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(box, "float[3]"),
          PITH_STATIC(max),
          PITH_STATIC(cutoff))

typedef struct {
    const ShardAtoms *atoms;
    const pith_array *charge, *field;
} ShardSystem;
PITH_NODE(ShardSystem,
          PITH_CHILD(atoms, ShardAtoms),
          PITH_LEAF(charge, "f64[n]"),
          PITH_LEAF(field, "f64[2*k,m]", .shard = ";x"))

/* A record of n atoms, equal on all ranks; `used` of them count. */
static const ShardAtoms *atoms_of(mesh_test *t, int64_t n, int64_t used) {
    const ShardAtoms a = {
        .position = mesh_data(t, 1, PITH_F64, PITH_SHAPE(n, 3)),
        .mass = mesh_data(t, 2, PITH_F32, PITH_SHAPE(n)),
        .count = pith_i64(t->s, used),
        .box = mesh_data(t, 3, PITH_F64, PITH_SHAPE(3)),
        .max = n,
        .cutoff = 2.5,
    };
    return pith_freeze(t->s, ShardAtoms, &a);
}

static const pith_array *
rows(mesh_test *t, const pith_array *a, int64_t from, int64_t to) {
    return pith_slice_array(t->s, a, 1, &PITH_SLICE(from, to, 1));
}

static bool equal_trees(mesh_test *t, const void *a, const void *b) {
    return a && b && pith_tree_equal(t->s, a, b);
}

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
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_shard"));
    pith_shard_local(t->s, atoms_of(t, t->rank ? 4 : 5, 1), NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_shard_local"));
    const pith_array *a = pith_shard(t->s, pith_ones(t->s, PITH_F64, PITH_SHAPE(t->size)),
                                     PITH_SPECS({"", "x", NULL}));
    if (t->rank == 1)
        pith_fail(t->s, PITH_E_ARG, NULL, "no luck");
    pith_unshard(t->s, a, -1);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck"));
    MESH_CHECK(t, pith_unshard(t->s, a, -1) != NULL);
}

/* ---- Functions over shards ---- */

/* x + number of the rank, which differs between ranks. */
static const pith_array *add_rank(pith_scope *s, const pith_array *x) {
    return pith_add(s, pith_mul(s, x, 2.0),
                    pith_cast(s, pith_axis_index(s, "x"), PITH_F64));
}
PITH_FUNCTION1(add_rank_function, add_rank, pith_array, pith_array)

static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, x);
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)

static const pith_array *total(pith_scope *s, const pith_array *x, const pith_array *y) {
    return pith_psum(s, pith_sum(s, pith_mul(s, x, y), PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION2(total_function, total, pith_array, pith_array, pith_array)

static void maps_arrays(mesh_test *t) {
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(3 * t->size, 2));
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_array *a = pith_shard(t->s, whole, x);
    const pith_function *f = pith_shard_map(t->s, &add_rank_function,
                                            &(pith_shard_options){.in = {x}, .out = x});
    const pith_array *b = pith_apply(t->s, f, a);
    const pith_array *parts[64];
    for (int64_t r = 0; r < t->size; r++)
        parts[r] = pith_add(t->s, pith_mul(t->s, rows(t, whole, 3 * r, 3 * r + 3), 2.0),
                            (double)r);
    MESH_CHECK(t, pith_array_spec(b) == pith_array_spec(a));
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1),
                             pith_concatenate(t->s, t->size, parts, 0)));
    /* a replicated argument, and a result that is summed */
    const pith_array *y = mesh_data(t, 9, PITH_F64, PITH_SHAPE(2));
    const pith_function *g =
        pith_shard_map(t->s, &total_function,
                       &(pith_shard_options){.in = {x, PITH_SPECS({"", "", NULL})},
                                             .out = PITH_SPECS({"", "", NULL})});
    const double sum = pith_read_f64(t->s, pith_apply(t->s, g, a, y));
    const pith_array *all = pith_mul(t->s, whole, y);
    for (int64_t r = 0; r < t->size; r++)
        parts[r] = pith_sum(t->s, rows(t, all, 3 * r, 3 * r + 3), PITH_ALL_AXES);
    MESH_CHECK(
        t, sum == pith_read_f64(t->s, pith_sum(t->s, pith_stack(t->s, t->size, parts, 0),
                                               PITH_AXES(0))));
}

/* Atoms that move; those beyond the box are dropped from the end. */
static const ShardAtoms *move(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    next.position = pith_add(s, in->position, in->box);
    next.mass = pith_mul(s, in->mass, 0.5);
    next.count = pith_minimum(s, in->count, pith_i64(s, 3));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(move_function, move, ShardAtoms, ShardAtoms)

/* The same by pieces of the whole. */
static const ShardAtoms *moved(mesh_test *t, const ShardAtoms *whole, int64_t n) {
    const pith_array *positions[64], *masses[64];
    int64_t all = 0, begin = 0;
    for (int64_t r = 0; r < t->size; r++) {
        const int64_t own = n / t->size + (r < n % t->size), used = own < 3 ? own : 3;
        positions[r] =
            rows(t, pith_add(t->s, whole->position, whole->box), begin, begin + used);
        masses[r] = rows(t, pith_mul(t->s, whole->mass, 0.5), begin, begin + used);
        begin += own;
        all += used;
    }
    ShardAtoms next = *whole;
    next.position = pith_concatenate(t->s, t->size, positions, 0);
    next.mass = pith_concatenate(t->s, t->size, masses, 0);
    next.count = pith_i64(t->s, all);
    next.max = all;
    return pith_freeze(t->s, ShardAtoms, &next);
}

static void maps_records(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 11, 11);
    const ShardAtoms *a = pith_shard(t->s, whole, NULL), *want = moved(t, whole, 11);
    const pith_function *f = pith_shard_map(t->s, &move_function, NULL);
    const ShardAtoms *b = pith_apply(t->s, f, a);
    MESH_CHECK(t, b->max == a->max && b->position && b->box);
    MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, b, -1), want));
    /* compiled, inside and outside */
    const pith_function *inside = pith_shard_map(
                            t->s, pith_jit(t->s, &move_function, NULL), NULL),
                        *outside = pith_jit(t->s, f, NULL);
    const pith_function *all[] = {inside, outside, pith_jit(t->s, inside, NULL)};
    for (int i = 0; i < 3; i++) {
        for (int again = 0; again < 2; again++)
            MESH_CHECK(t,
                       equal_trees(t, pith_unshard(t->s, pith_apply(t->s, all[i], a), -1),
                                   want));
        const pith_jit_info before = pith_jit_about(pith_scope_runtime(t->s));
        pith_apply(t->s, all[i], a);
        const pith_jit_info after = pith_jit_about(pith_scope_runtime(t->s));
        MESH_CHECK(t, after.misses == before.misses);
    }
    /* donated shards are written */
    const pith_function *gives =
        pith_jit(t->s, f, &(pith_jit_options){.donate_arguments = 1});
    const ShardAtoms *c = pith_apply(t->s, gives, pith_shard(t->s, whole, NULL));
    MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, c, -1), want));
    /* returned as they are: with the placement of the spec, and without */
    const pith_array *own = pith_unshard_local(t->s, a->position);
    MESH_CHECK(t, pith_read(t->s, own, (double[64]){0}, pith_array_spec(own)->bytes));
}

static const pith_array *as_it_is(pith_scope *s, const pith_array *x) {
    (void)s;
    return x;
}
PITH_FUNCTION1(identity_function, as_it_is, pith_array, pith_array)
static const pith_array *local_part(pith_scope *s, const pith_array *x) {
    return pith_unshard_local(s, x);
}
PITH_FUNCTION1(local_function, local_part, pith_array, pith_array)

/* A program that returns an input gives it the placement of its result. */
static void maps_identities(mesh_test *t) {
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size));
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_array *a = pith_shard(t->s, whole, x);
    const pith_function *same = pith_jit(t->s, &identity_function, NULL),
                        *local = pith_jit(t->s, &local_function, NULL),
                        *outer = pith_jit(t->s, local, NULL);
    for (int i = 0; i < 2; i++) {
        MESH_CHECK(
            t, mesh_equal(t, pith_unshard(t->s, pith_apply(t->s, same, a), -1), whole));
        MESH_CHECK(
            t, mesh_equal(t, pith_apply(t->s, local, a), pith_unshard_local(t->s, a)));
        MESH_CHECK(
            t, mesh_equal(t, pith_apply(t->s, outer, a), pith_unshard_local(t->s, a)));
    }
    const pith_function *f =
        pith_jit(t->s,
                 pith_shard_map(t->s, &identity_function,
                                &(pith_shard_options){.in = {x}, .out = x}),
                 NULL);
    MESH_CHECK(t, pith_array_spec(pith_apply(t->s, f, a)) == pith_array_spec(a));
}

/* A capacity that grows makes every shard longer. */
static const ShardAtoms *need_room(pith_scope *s, const ShardAtoms *in) {
    pith_capacity_require(s,
                          pith_lens_capacity(s, PITH_LENS(ShardAtoms, max), in->max, 2.0),
                          pith_i64(s, 9));
    ShardAtoms next = *in;
    next.mass = pith_add(s, in->mass, 1.0);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(need_room_function, need_room, ShardAtoms, ShardAtoms)

static void maps_grow(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 4, 4);
    const pith_function *f =
        pith_jit(t->s, pith_shard_map(t->s, &need_room_function, NULL), NULL);
    const ShardAtoms *a =
        pith_propagate(t->s, ShardAtoms, f, pith_shard(t->s, whole, NULL), NULL);
    MESH_CHECK(t, a->max == 16 && pith_array_sharding(a->mass).rows == 16);
    const ShardAtoms *back = pith_unshard(t->s, a, -1);
    MESH_CHECK(t, mesh_equal(t, back->position, whole->position));
    MESH_CHECK(t, mesh_equal(t, back->mass, pith_add(t->s, whole->mass, 1.0)));
}

/* ---- Nested ---- */

static const pith_array *add_y(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, pith_cast(s, pith_axis_index(s, "y"), PITH_F64));
}
PITH_FUNCTION1(add_y_function, add_y, pith_array, pith_array)

/* Over x; inside, its argument is still sharded over y. */
static const pith_array *over_y(pith_scope *s, const pith_array *x) {
    const pith_shard_spec *spec = PITH_SPECS({"", "x,y", NULL});
    const pith_function *f =
        pith_shard_map(s, &add_y_function,
                       &(pith_shard_options){.in = {spec}, .out = spec, .axes = "y"});
    return pith_apply(s, f, x);
}
PITH_FUNCTION1(over_y_function, over_y, pith_array, pith_array)

static void maps_nest(mesh_test *t) {
    if (t->size % 2)
        return;
    const int64_t half = t->size / 2;
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size));
    const pith_shard_spec *spec = PITH_SPECS({"", "x,y", NULL});
    const pith_array *a = pith_shard(t->s, whole, spec);
    const pith_function *f =
        pith_shard_map(t->s, &over_y_function,
                       &(pith_shard_options){.in = {spec}, .out = spec, .axes = "x"});
    const pith_array *b = pith_apply(t->s, f, a);
    MESH_CHECK(t, pith_array_spec(b) == pith_array_spec(a));
    const pith_array *parts[64];
    for (int64_t r = 0; r < t->size; r++)
        parts[r] = pith_add(t->s, rows(t, whole, 2 * r, 2 * r + 2), (double)(r % half));
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1),
                             pith_concatenate(t->s, t->size, parts, 0)));
    /* the same axis twice */
    const pith_function *g = pith_shard_map(
        t->s, &over_y_function, &(pith_shard_options){.in = {spec}, .out = spec});
    pith_apply(t->s, g, a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "the axis y is mapped already"));
}

static void maps_refuse(mesh_test *t) {
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL}),
                          *none = PITH_SPECS({"", "", NULL});
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size, t->size));
    const pith_array *a = pith_shard(t->s, whole, x),
                     *b = pith_shard(t->s, whole, PITH_SPECS({"", ";x", NULL}));
    const pith_function *f =
        pith_shard_map(t->s, &twice_function, &(pith_shard_options){.in = {x}, .out = x});
    MESH_CHECK(t, pith_apply(t->s, f, a) != NULL);
    pith_apply(t->s, f, b);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "sharded \";x\", but its spec is \"x\""));
    pith_apply(t->s, f, whole);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "], but its spec is \"x\""));
    pith_apply(t->s, pith_jit(t->s, f, NULL), whole);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "], but its spec is \"x\""));
    pith_apply(t->s,
               pith_shard_map(t->s, &twice_function,
                              &(pith_shard_options){.in = {none}, .out = none}),
               a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "sharded \"x\", but its spec is \"\""));
    MESH_CHECK(
        t, pith_apply(t->s,
                      pith_shard_map(t->s, &twice_function,
                                     &(pith_shard_options){
                                         .in = {x}, .out = PITH_SPECS({"", ";x", NULL})}),
                      a) != NULL);
    /* a result that is not replicated */
    pith_apply(t->s,
               pith_shard_map(t->s, &twice_function,
                              &(pith_shard_options){.in = {x}, .out = none}),
               a);
    if (t->size > 1)
        MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "their elements differ between ranks"));
    pith_shard_map(t->s, &twice_function,
                   &(pith_shard_options){.in = {PITH_SPECS({"", "x y", NULL})}});
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "spec \"x y\""));
    pith_apply(t->s,
               pith_shard_map(t->s, &twice_function, &(pith_shard_options){.axes = "z"}),
               whole);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "no such axis"));
    /* outside of a map, no operation takes shards, compiled or not */
    pith_apply(t->s, pith_jit(t->s, &twice_function, NULL), a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "expected a plain array, got f64[2,"));
}

/* A rank that fails before, or within, an eager call holds up no other. */
static const pith_array *fail_on_one(pith_scope *s, const pith_array *x) {
    if (pith_axis_rank(s, "x") == 1)
        pith_fail(s, PITH_E_ARG, NULL, "no luck inside");
    return pith_psum(s, x, "x", NULL);
}
PITH_FUNCTION1(fail_on_one_function, fail_on_one, pith_array, pith_array)

static void maps_fail(mesh_test *t) {
    if (t->size == 1)
        return;
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size));
    const pith_array *a = pith_shard(t->s, whole, x);
    const pith_function *f = pith_shard_map(t->s, &twice_function,
                                            &(pith_shard_options){.in = {x}, .out = x}),
                        *g = pith_shard_map(t->s, &fail_on_one_function,
                                            &(pith_shard_options){.in = {x}, .out = x});
    if (t->rank == 1)
        pith_fail(t->s, PITH_E_ARG, NULL, "no luck before");
    pith_apply(t->s, f, a);
    MESH_CHECK(t,
               mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck before"));
    pith_apply(t->s, f, t->rank == 1 ? (const void *)pith_none_make(t->s) : a);
    MESH_CHECK(t, pith_code(t->s) == (t->rank == 1 ? PITH_E_TYPE : PITH_E_PEER));
    pith_clear(t->s);
    pith_apply(t->s, f, t->rank == 1 ? whole : a);
    MESH_CHECK(t, pith_code(t->s) == (t->rank == 1 ? PITH_E_ARG : PITH_E_PEER));
    pith_clear(t->s);
    pith_apply(t->s, g, a);
    MESH_CHECK(t,
               mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck inside"));
    MESH_CHECK(t, pith_apply(t->s, f, a) != NULL);
    MESH_CHECK(t, pith_agree(t->s));
}

/* A compiled step with collectives, on shards: the same bits as the eager one. */
static const ShardAtoms *pull(pith_scope *s, const ShardAtoms *in) {
    const pith_collective_options used = {.rows = in->count};
    const pith_array *sum = pith_psum_rows(s, in->position, NULL, &used);
    ShardAtoms next = *in;
    next.position = pith_sub(s, in->position, pith_mul(s, sum, 0.125));
    next.box = pith_add(s, in->box, sum);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(pull_function, pull, ShardAtoms, ShardAtoms)

static void maps_collectives(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 1000, 1000);
    const ShardAtoms *a = pith_shard(t->s, whole, NULL);
    const pith_function *f = pith_shard_map(t->s, &pull_function, NULL),
                        *compiled = pith_jit(t->s, f, NULL);
    const ShardAtoms *want = pith_unshard(t->s, pith_apply(t->s, f, a), -1);
    const pith_array *sum = pith_sum(t->s, whole->position, PITH_AXES(0));
    MESH_CHECK(t, mesh_equal(t, want->box, pith_add(t->s, whole->box, sum)));
    for (int i = 0; i < 3; i++)
        MESH_CHECK(
            t,
            equal_trees(t, pith_unshard(t->s, pith_apply(t->s, compiled, a), -1), want));
    const ShardAtoms *run =
        pith_run(t->s, ShardAtoms, compiled, a, &(pith_run_options){.steps = 2});
    const ShardAtoms *two = pith_apply(t->s, f, pith_apply(t->s, f, a));
    MESH_CHECK(t,
               equal_trees(t, pith_unshard(t->s, run, -1), pith_unshard(t->s, two, -1)));
}

static const pith_array *
weigh(pith_scope *s, const pith_array *box, const pith_array *position) {
    const pith_array *each = pith_mul(s, position, box);
    return pith_psum(s, pith_sum(s, each, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION2(weigh_function, weigh, pith_array, pith_array, pith_array)
static const ShardAtoms *descend(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    next.box = pith_apply(s, pith_grad(s, &weigh_function, NULL), in->box, in->position);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(descend_function, descend, ShardAtoms, ShardAtoms)

/* The gradient of what all ranks have has the terms of all ranks, or is refused. */
static void maps_gradients(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 900, 900);
    const ShardAtoms *a = pith_shard(t->s, whole, NULL);
    const pith_function *f = pith_shard_map(t->s, &descend_function, NULL);
    const ShardAtoms *made = pith_apply(t->s, pith_jit(t->s, f, NULL), a);
    const pith_array *sum = pith_sum(t->s, whole->position, PITH_AXES(0));
    const pith_array *rest = pith_abs(t->s, pith_sub(t->s, made->box, sum));
    const double most = pith_read_f64(t->s, pith_max(t->s, rest, PITH_ALL_AXES));
    MESH_CHECK(t, !pith_failed(t->s) && most < 1e-6);
    if (t->size > 1) {
        pith_apply(t->s, f, a);
        MESH_CHECK(t, mesh_fails(t, PITH_E_UNSUPPORTED,
                                 "pith_grad: weigh: in an eager call of pith_shard_map"));
    }
}

const mesh_case mesh_shard_cases[] = {
    {"shards_of_arrays", shards_of_arrays},
    {"shards_over_two_axes", shards_over_two_axes},
    {"shards_with_counts", shards_with_counts},
    {"shards_of_each_rank", shards_of_each_rank},
    {"shards_of_nested_trees", shards_of_nested_trees},
    {"refuses_elements", refuses_elements},
    {"refuses_shapes", refuses_shapes},
    {"refuses_differences", refuses_differences},
    {"maps_arrays", maps_arrays},
    {"maps_records", maps_records},
    {"maps_identities", maps_identities},
    {"maps_grow", maps_grow},
    {"maps_nest", maps_nest},
    {"maps_refuse", maps_refuse},
    {"maps_fail", maps_fail},
    {"maps_collectives", maps_collectives},
    {"maps_gradients", maps_gradients},
    {NULL, NULL},
};
