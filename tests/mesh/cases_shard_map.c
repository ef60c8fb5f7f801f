/* Cases of functions over shards. */
#include "mesh/shard_trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The same by a fix of the user, which gets the state with its sharded leaves. The last
 * rank needs most. */
static const ShardAtoms *
grow_to(pith_scope *s, const ShardAtoms *state, const pith_array *need) {
    ShardAtoms next = *state;
    next.max = pith_read_i64(s, need);
    return pith_tree_resize(s, ShardAtoms, &next, NULL);
}
PITH_FUNCTION2(grow_fix, grow_to, ShardAtoms, ShardAtoms, pith_array)
static const ShardAtoms *need_more(pith_scope *s, const ShardAtoms *in) {
    const pith_array *rank = pith_cast(s, pith_axis_index(s, "x"), PITH_I64),
                     *need = pith_add(s, rank, pith_i64(s, 5));
    pith_check(s, pith_less_equal(s, need, pith_i64(s, in->max)), "{need} rows",
               .args = {{"need", need}}, .fix = &grow_fix, .fix_args = need,
               .fix_greatest = true);
    ShardAtoms next = *in;
    next.mass = pith_add(s, in->mass, 1.0);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(need_more_function, need_more, ShardAtoms, ShardAtoms)

static void maps_grow_by_fixes(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 4, 4);
    const pith_function *f = pith_shard_map(t->s, &need_more_function, NULL);
    for (int way = 0; way < 2; way++, f = pith_jit(t->s, f, NULL)) {
        const ShardAtoms *a =
            pith_propagate(t->s, ShardAtoms, f, pith_shard(t->s, whole, NULL), NULL);
        const ShardAtoms *back = pith_unshard(t->s, a, -1);
        MESH_CHECK(t, a->max == 4 + t->size);
        MESH_CHECK(t, mesh_equal(t, back->position, whole->position));
        MESH_CHECK(t, mesh_equal(t, back->mass, pith_add(t->s, whole->mass, 1.0)));
    }
}

/* The documented use of assertions in kUPS's shard_map, whose attempts raise NameError. A
 * predicate that holds on all ranks but the last: its fix runs on all, or its message is
 * that of all. A fix is applied to the state, so it maps what it does to shards. */
static const ShardAtoms *
lighten(pith_scope *s, const ShardAtoms *in, const pith_array *by) {
    ShardAtoms next = *in;
    next.mass = pith_add(s, in->mass, pith_cast(s, by, PITH_F32));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION2(lighten_function, lighten, ShardAtoms, ShardAtoms, pith_array)
static const ShardAtoms *
lighten_all(pith_scope *s, const ShardAtoms *in, const pith_array *by) {
    return pith_call(s, pith_shard_map(s, &lighten_function, NULL), PITH_ITEMS(in, by));
}
PITH_FUNCTION2(lighten_fix, lighten_all, ShardAtoms, ShardAtoms, pith_array)

static const ShardAtoms *
weigh_atoms(pith_scope *s, const ShardAtoms *in, const pith_function *fix) {
    const pith_array *last = pith_f64(s, (double)pith_axis_size(s, "x") - 1);
    const pith_array *rank = pith_cast(s, pith_axis_index(s, "x"), PITH_F64);
    const pith_array *lightest =
        pith_cast(s, pith_min(s, in->mass, PITH_ALL_AXES), PITH_F64);
    const pith_array *fine = pith_logical_or(s, pith_not_equal(s, rank, last),
                                             pith_greater(s, lightest, 5000.0));
    pith_check(s, fine, "rank {rank} is too light", .args = {{"rank", rank}},
               .path = ".mass", .fix = fix, .fix_args = pith_add(s, rank, 1e4));
    return in;
}
static const ShardAtoms *weigh_and_mend(pith_scope *s, const ShardAtoms *in) {
    return weigh_atoms(s, in, &lighten_fix);
}
PITH_FUNCTION1(weigh_and_mend_function, weigh_and_mend, ShardAtoms, ShardAtoms)
static const ShardAtoms *weigh_only(pith_scope *s, const ShardAtoms *in) {
    return weigh_atoms(s, in, NULL);
}
PITH_FUNCTION1(weigh_only_function, weigh_only, ShardAtoms, ShardAtoms)

static void maps_assert(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 2 * t->size, 2 * t->size);
    const ShardAtoms *a = pith_shard(t->s, whole, NULL);
    const pith_function *mend = pith_shard_map(t->s, &weigh_and_mend_function, NULL),
                        *only = pith_shard_map(t->s, &weigh_only_function, NULL);
    const pith_array *heavier =
        pith_add(t->s, whole->mass,
                 pith_cast(t->s, pith_f64(t->s, (double)t->size + 9999), PITH_F32));
    char text[80];
    snprintf(text, sizeof text, "rank %d.0 is too light", (int)t->size - 1);
    for (int compiled = 0; compiled < 2; compiled++) {
        const ShardAtoms *out = pith_propagate(
            t->s, ShardAtoms, compiled ? pith_jit(t->s, mend, NULL) : mend, a, NULL);
        MESH_CHECK(t,
                   mesh_equal(t, ((const ShardAtoms *)pith_unshard(t->s, out, -1))->mass,
                              heavier));
        pith_propagate(t->s, ShardAtoms, compiled ? pith_jit(t->s, only, NULL) : only, a,
                       NULL);
        MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, text));
        MESH_CHECK(t, pith_agree(t->s));
    }
}

/* ---- Refusals ---- */

/* The box becomes a rank's own, in one leaf of many. */
static const ShardAtoms *own_box(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    next.box = pith_add(s, in->box, pith_sum(s, in->position, PITH_AXES(0)));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(own_box_function, own_box, ShardAtoms, ShardAtoms)

/* A leaf that is not replicated is named, with the line that made it. */
static void maps_refuse_variance(mesh_test *t) {
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 2 * t->size, 2 * t->size), NULL);
    pith_apply(t->s, pith_jit(t->s, pith_shard_map(t->s, &own_box_function, NULL), NULL),
               a);
    MESH_CHECK(t, strncmp(pith_message(t->s), ".box: own_box: the result", 25) == 0);
    MESH_CHECK(t, strstr(pith_message(t->s), "(cases_shard_map.c:"));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED,
                             "varies over x, because input 0 does, and its spec says"));
    MESH_CHECK(t, pith_agree(t->s));
}

static const pith_array *by_rank(pith_scope *s, const pith_array *a) {
    return pith_add(s, a, pith_cast(s, pith_axis_index(s, "y"), PITH_F64));
}
PITH_FUNCTION1(by_rank_function, by_rank, pith_array, pith_array)
static const pith_array *by_all(pith_scope *s, const pith_array *a) {
    return pith_psum(s, by_rank(s, a), "y", NULL);
}
PITH_FUNCTION1(by_all_function, by_all, pith_array, pith_array)

/* Shards over x that differ along y are no value, eagerly or compiled. */
static void maps_compare_equal_shards(mesh_test *t) {
    pith_scope *s = pith_scope_open_in(t->s);
    pith_mesh_open(s, PITH_MESH_AXES({"x", 1}, {"y", 0}), NULL);
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_shard_options o = {.in = {x}, .out = x};
    const pith_array *a = pith_shard(s, pith_arange(s, PITH_F64, 4), x);
    MESH_CHECK(t, pith_apply(s, pith_shard_map(s, &by_all_function, &o), a));
    const pith_array *wrong = pith_apply(s, pith_shard_map(s, &by_rank_function, &o), a);
    MESH_CHECK(t, !wrong == (t->size > 1));
    MESH_CHECK(t, wrong || pith_code(s) == PITH_E_DIVERGED);
    MESH_CHECK(t, wrong || strstr(pith_message(s),
                                  "replicated along y, but rank 1 (x=0, y=1) has other "
                                  "elements than rank 0 (x=0, y=0)"));
    pith_clear(s);
    pith_scope_close(s);
    MESH_CHECK(t, pith_agree(t->s));
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
        MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED,
                                 "rank 1 (x=1) has other elements than rank 0 (x=0)"));
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

/* Whatever else the function does: it reads values, and calls its parts compiled. */
static const ShardAtoms *read_and_descend(pith_scope *s, const ShardAtoms *in) {
    const pith_array *sum = pith_psum(s, in->count, NULL, NULL);
    ShardAtoms next = *in;
    next.box = pith_apply(s, pith_jit(s, pith_grad(s, &weigh_function, NULL), NULL),
                          in->box, in->position);
    next.box = pith_add(s, next.box, pith_mul(s, pith_cast(s, sum, PITH_F64), 0.0));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(read_and_descend_function, read_and_descend, ShardAtoms, ShardAtoms)

/* The gradient of what all ranks have has the terms of all ranks. An eager call does not
 * know what that is, and is recorded for it. */
static void maps_gradients(mesh_test *t) {
    const ShardAtoms *whole = atoms_of(t, 900, 900);
    const ShardAtoms *a = pith_shard(t->s, whole, NULL);
    const pith_function *f = pith_shard_map(t->s, &descend_function, NULL),
                        *reads = pith_shard_map(t->s, &read_and_descend_function, NULL),
                        *ways[] = {pith_jit(t->s, f, NULL), f, f, reads};
    const pith_array *sum = pith_sum(t->s, whole->position, PITH_AXES(0));
    const ShardAtoms *first = NULL;
    for (int k = 0; k < 4; k++) {
        const ShardAtoms *made = pith_apply(t->s, ways[k], a);
        const pith_array *rest = pith_abs(t->s, pith_sub(t->s, made->box, sum));
        const double most = pith_read_f64(t->s, pith_max(t->s, rest, PITH_ALL_AXES));
        MESH_CHECK(t, !pith_failed(t->s) && most < 1e-6);
        first = first ? first : made;
        MESH_CHECK(t, mesh_equal(t, made->box, first->box));
    }
}

static const ShardAtoms *read_after(pith_scope *s, const ShardAtoms *in) {
    const ShardAtoms *next = descend(s, in);
    const pith_array *first = pith_slice_at(s, next->box, 0, 0);
    return pith_read_f64(s, first) > 1e300 ? in : next;
}
PITH_FUNCTION1(read_after_function, read_after, ShardAtoms, ShardAtoms)
static const ShardAtoms *some_descend(pith_scope *s, const ShardAtoms *in) {
    return pith_axis_rank(s, NULL) ? in : descend(s, in);
}
PITH_FUNCTION1(some_descend_function, some_descend, ShardAtoms, ShardAtoms)
static const ShardAtoms *some_fail(pith_scope *s, const ShardAtoms *in) {
    if (pith_axis_rank(s, NULL) == 1)
        pith_fail(s, PITH_E_ARG, NULL, "no luck");
    return descend(s, in);
}
PITH_FUNCTION1(some_fail_function, some_fail, ShardAtoms, ShardAtoms)

/* Values cannot be read in a call that is recorded; and ranks do the same. */
static void maps_gradients_refused(mesh_test *t) {
    const ShardAtoms *a = pith_shard(t->s, atoms_of(t, 9, 9), NULL);
    if (t->size == 1)
        return;
    pith_apply(t->s, pith_shard_map(t->s, &read_after_function, NULL), a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_TRACED, "pith_read_f64"));
    pith_apply(t->s, pith_shard_map(t->s, &some_descend_function, NULL), a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "some ranks along x take a gradient"));
    pith_apply(t->s, pith_shard_map(t->s, &some_fail_function, NULL), a);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no luck"));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_shard_map_cases[] = {
    {"maps_arrays", maps_arrays},
    {"maps_records", maps_records},
    {"maps_identities", maps_identities},
    {"maps_grow", maps_grow},
    {"maps_grow_by_fixes", maps_grow_by_fixes},
    {"maps_assert", maps_assert},
    {"maps_refuse", maps_refuse},
    {"maps_compare_equal_shards", maps_compare_equal_shards},
    {"maps_refuse_variance", maps_refuse_variance},
    {"maps_fail", maps_fail},
    {"maps_collectives", maps_collectives},
    {"maps_gradients", maps_gradients},
    {"maps_gradients_refused", maps_gradients_refused},
    {NULL, NULL},
};
