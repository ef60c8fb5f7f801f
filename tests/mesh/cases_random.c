/* Random sequences of collectives and of local operations: arrays of every dtype, of 0 to
 * 5 axes, some of them empty, and rows in use that differ between ranks. Eager calls,
 * compiled functions and functions over shards give the bits that one device computes
 * from the arrays of all ranks.
 *
 *   PITH_TEST_PROGRAMS=n  so many;  PITH_SEED=n  this one, with its steps */
#include "mesh/random_values.h"
#include "series.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 7, USUAL = 6, MOST_EXTENT = 4, MOST_ELEMENTS = 400, MOST_AXES = 5 };

/* ---- Local operations ---- */

static int64_t elements(const pith_array *a) {
    const pith_spec *spec = pith_array_spec(a);
    int64_t count = 1;
    for (int d = 0; d < spec->rank; d++)
        count *= spec->shape[d];
    return count;
}

/* Parts of a large array, and fewer axes. */
static const pith_array *smaller(pith_scope *s, const pith_array *a) {
    const pith_spec *spec = pith_array_spec(a);
    for (int d = 0; d < spec->rank && elements(a) > MOST_ELEMENTS; d++)
        if (spec->shape[d] > MOST_EXTENT)
            a = random_part(s, a, d, spec->shape[d] - MOST_EXTENT, spec->shape[d]);
    while (pith_array_spec(a)->rank > MOST_AXES || elements(a) > MOST_ELEMENTS)
        a = pith_slice_at(s, a, 0, 0);
    return a;
}

static const pith_array *
local(random_values *v, const pith_array *a, int kind, int64_t n) {
    pith_scope *s = v->s;
    const pith_dtype dtype = pith_array_spec(a)->dtype;
    const int rank = pith_array_spec(a)->rank;
    switch (kind) {
        case 0:
            return pith_cast(s, a, (pith_dtype)(PITH_BOOL + n));
        case 1:
            return dtype == PITH_BOOL ? pith_logical_not(s, a)
                                      : pith_add(s, pith_mul(s, a, 3.0), 1.0);
        case 2:
            return pith_transpose(s, a, NULL);
        case 3:
            return rank ? pith_flip(s, a, PITH_AXES((int8_t)(n % rank))) : a;
        case 4:
            return rank < MOST_AXES
                       ? pith_expand_dims(s, a, PITH_AXES((int8_t)(n % (rank + 1))))
                       : a;
        case 5:
            return rank ? random_joined(s, a, a, (int)n % rank) : a;
        default:
            return dtype == PITH_BOOL ? a : pith_minimum(s, pith_abs(s, a), 100.0);
    }
}

static void compute(random_values *v) {
    const int a = (int)random_draw(v, RANDOM_VALUES),
              to = (int)random_draw(v, RANDOM_VALUES);
    const int kind = (int)random_draw(v, 7);
    const int64_t n = random_draw(v, PITH_DTYPE_COUNT - 1);
    if (v->prints)
        fprintf(stderr, "  %d = local %d of %d, %d\n", to, kind, a, (int)n);
    for (int64_t r = 0; r < v->have; r++)
        v->of[to][r] = local(v, v->of[a][r], kind, n);
}

static void run(random_values *v) {
    for (int k = 0; k < STEPS && !pith_failed(v->s); k++) {
        if (random_draw(v, 3))
            random_move(v);
        else
            compute(v);
        for (int i = 0; i < RANDOM_VALUES && !pith_failed(v->s); i++)
            for (int64_t r = 0; r < v->have; r++)
                v->of[i][r] = smaller(v->s, v->of[i][r]);
    }
}

/* ---- Forms ---- */

/* A sequence as a function of a list of the values of one rank. */
typedef struct sequence {
    pith_function call; /* first */
    random_values begin;
} sequence;

static const void *
call_sequence(const pith_function *f, pith_scope *s, const void *const *arguments) {
    random_values v = ((const sequence *)(const void *)f)->begin;
    const void *made[RANDOM_VALUES];
    v.s = s;
    for (int i = 0; i < RANDOM_VALUES; i++)
        v.of[i][0] = pith_child(arguments[0], i);
    run(&v);
    if (pith_failed(s))
        return NULL;
    for (int i = 0; i < RANDOM_VALUES; i++)
        made[i] = v.of[i][0];
    return pith_list_make(s, RANDOM_VALUES, made);
}

static pith_shape draw_shape(random_values *v) {
    pith_shape shape = {.rank = (int)random_draw(v, 5)};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] = random_draw(v, 12) ? 1 + random_draw(v, MOST_EXTENT) : 0;
    return shape;
}

static void check_form(mesh_test *t,
                       const random_values *want,
                       const void *list,
                       const char *form,
                       uint64_t seed) {
    for (int i = 0; i < RANDOM_VALUES; i++) {
        const pith_array *got = list ? pith_child(list, i) : NULL;
        if (list && mesh_equal(t, got, want->of[i][t->rank]))
            continue;
        fprintf(stderr,
                "seed %llu, %d rows of y, %s, value %d: ", (unsigned long long)seed,
                (int)want->ny, form, i);
        MESH_CHECK(t, !"the values of one device");
        return;
    }
}

static void check_sequence(mesh_test *t, uint64_t seed, bool prints) {
    sequence f = {.call = {.name = "sequence", .call = call_sequence, .arity = 1}};
    random_values *begin = &f.begin, all;
    const void *own[RANDOM_VALUES];
    *begin = (random_values){
        .s = t->s, .size = t->size, .have = 1, .state = (seed + 1) * 0x9E3779B97F4A7C15u};
    do
        begin->ny = 1 + random_draw(begin, t->size);
    while (t->size % begin->ny);
    if (!pith_mesh_open(t->s, PITH_MESH_AXES({"x", 0}, {"y", begin->ny}), NULL))
        return;
    all = *begin;
    all.all = true;
    all.have = t->size;
    for (int i = 0; i < RANDOM_VALUES; i++) {
        const pith_dtype dtype = (pith_dtype)(PITH_BOOL + random_draw(&all, PITH_F64));
        const pith_shape shape = draw_shape(&all);
        for (int64_t r = 0; r < t->size; r++)
            all.of[i][r] = mesh_data(t, 10 * r + i, dtype, shape);
        own[i] = all.of[i][t->rank];
    }
    begin->state = all.state;
    all.prints = prints && t->rank == 0;
    run(&all);
    MESH_CHECK(t, !pith_failed(t->s));
    const void *list = pith_list_make(t->s, RANDOM_VALUES, own);
    check_form(t, &all, pith_apply(t->s, &f.call, list), "eager", seed);
    const pith_function *compiled = pith_jit(t->s, &f.call, NULL);
    for (int call = 0; call < 3; call++)
        check_form(t, &all, pith_apply(t->s, compiled, list), "compiled", seed);
    const pith_shard_spec *over = PITH_SPECS({"", "x,y", NULL});
    const pith_function *mapped =
        pith_shard_map(t->s, &f.call, &(pith_shard_options){.in = {over}, .out = over});
    const void *shards = pith_shard_local(t->s, list, over);
    check_form(t, &all, pith_unshard_local(t->s, pith_apply(t->s, mapped, shards)),
               "mapped", seed);
    check_form(
        t, &all,
        pith_unshard_local(t->s, pith_apply(t->s, pith_jit(t->s, mapped, NULL), shards)),
        "mapped and compiled", seed);
    pith_jit_clear(pith_scope_runtime(t->s)); /* functions are known by their address */
}

static void random_sequences(mesh_test *t) {
    const char *only = getenv("PITH_SEED");
    const uint64_t first = pt_series_first(0),
                   count = only ? 1 : (uint64_t)pt_series(USUAL);
    pith_scope *outer = t->s;
    for (uint64_t k = 0; k < count && !t->failures; k++) {
        t->s = pith_scope_open_in(outer);
        check_sequence(t, only ? strtoull(only, NULL, 10) : first + k, only != NULL);
        const bool failed = !pith_agree(t->s);
        MESH_CHECK(t, !failed);
        pith_clear(t->s);
        pith_scope_close(t->s);
    }
    t->s = outer;
}

const mesh_case mesh_random_cases[] = {
    {"random_sequences", random_sequences},
    {NULL, NULL},
};
