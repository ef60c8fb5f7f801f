/* One rank without memory for one allocation, at each place where it allocates: no other
 * rank waits for it, none has a wrong number, and all can go on. */
#include "mesh/fake/jobs.h"
#include "mesh/parts_test.h"

enum { N = 6, STEPS = 3, TURNS = 200 };

/* ---- What ranks call: each gives one number, the same on all ranks ---- */

typedef struct scenario {
    const char *name;
    const void *(*call)(pith_scope *s);
} scenario;

static const pith_array *ones(pith_scope *s) {
    return pith_ones(s, PITH_F64, PITH_SHAPE(N));
}

/* The elements in another order, by indices that are checked. */
static const pith_array *turned(pith_scope *s, const pith_array *a) {
    const pith_array *last = pith_i64(s, N - 1);
    const pith_array *k = pith_sub(s, last, pith_iota(s, PITH_I64, PITH_SHAPE(N), 0));
    return pith_take(s, a, k, &(pith_take_options){.mode = PITH_INDEX_ERROR});
}

static const pith_array *mean_turned(pith_scope *s, const pith_array *a) {
    return pith_pmean(s, turned(s, a), NULL, NULL);
}
PITH_FUNCTION1(mean_turned_function, mean_turned, pith_array, pith_array)

static const pith_array *gathers(pith_scope *s, const pith_array *a) {
    const pith_array *b = mean_turned(s, a);
    b = mean_turned(s, pith_mul(s, b, 2.0));
    return pith_sum(s, pith_psum(s, turned(s, b), NULL, NULL), PITH_ALL_AXES);
}
PITH_FUNCTION1(gathers_function, gathers, pith_array, pith_array)

static const void *call_gathers(pith_scope *s) {
    return pith_apply(s, pith_jit(s, &gathers_function, NULL), ones(s));
}

static const void *body(pith_scope *s, const pith_array *i, const void *a) {
    (void)i;
    return mean_turned(s, a);
}
PITH_FUNCTION2(body_function, body, void, pith_array, void)

static const pith_array *keeps(pith_scope *s, const pith_array *a) {
    (void)s;
    return a;
}
PITH_FUNCTION1(keeps_function, keeps, pith_array, pith_array)

static const pith_array *loops(pith_scope *s, const pith_array *a) {
    const pith_array *b = pith_fori(s, 0, TURNS, &body_function, a);
    const pith_array *sum = pith_psum(s, pith_sum(s, b, PITH_ALL_AXES), NULL, NULL);
    b = pith_cond(s, pith_greater(s, sum, 0.0), &mean_turned_function, &keeps_function,
                  b);
    return pith_sum(s, b, PITH_ALL_AXES);
}
PITH_FUNCTION1(loops_function, loops, pith_array, pith_array)

static const void *call_loops(pith_scope *s) {
    return pith_apply(s, pith_jit(s, &loops_function, NULL), ones(s));
}

static const pith_array *sums(pith_scope *s, const pith_array *a) {
    const pith_collective_options some = {.rows = pith_i64(s, N / 2)};
    a = pith_psum(s, a, NULL, &some);
    a = pith_add(s, a, pith_pshift(s, a, NULL, 1, true, &some));
    a = pith_add(s, a, pith_pbroadcast(s, a, NULL, 1));
    a = pith_reduce_scatter(s, a, NULL, 0, NULL);
    a = pith_all_gather(s, a, NULL, 0);
    a = pith_psum_rows(s, a, NULL, NULL);
    const void *pair[] = {a, pith_i32(s, 2)};
    const void *sum = pith_tree_psum(s, pith_tuple_make(s, 2, pair), NULL, NULL);
    return pith_failed(s) ? NULL : pith_child(sum, 0);
}
PITH_FUNCTION1(sums_function, sums, pith_array, pith_array)

static const void *call_sums(pith_scope *s) {
    return sums(s, ones(s));
}
static const void *call_compiled_sums(pith_scope *s) {
    return pith_apply(s, pith_jit(s, &sums_function, NULL), ones(s));
}

static const pith_array *routes(pith_scope *s, const pith_array *a) {
    const pith_array *k = pith_iota(s, PITH_I32, PITH_SHAPE(N), 0);
    const int32_t ranks = (int32_t)pith_axis_size(s, NULL);
    const pith_array *to = pith_remainder(s, k, pith_i32(s, ranks));
    const pith_route *room = pith_route_room(s, 3, N, N);
    const pith_route *route = pith_route_make(s, k, to, NULL, room);
    const pith_array *there = pith_route_send(s, route, a);
    const pith_array *back = pith_route_return(s, route, there, a);
    return pith_psum(s, pith_sum(s, back, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION1(routes_function, routes, pith_array, pith_array)

static const void *call_routes(pith_scope *s) {
    return routes(s, ones(s));
}
static const void *call_compiled_routes(pith_scope *s) {
    return pith_apply(s, pith_jit(s, &routes_function, NULL), ones(s));
}

/* Steps whose checks have a collector. */
static const pith_array *step(pith_scope *s, const pith_array *a) {
    const pith_array *b = mean_turned(s, a);
    pith_check(s, pith_greater(s, b, 0.0), "positive");
    return pith_psum(s, turned(s, b), NULL, NULL);
}
PITH_FUNCTION1(step_function, step, pith_array, pith_array)

static const void *propagate(pith_scope *s, const pith_function *f, int64_t every) {
    const void *end = pith_propagate_any(
        s, NULL, f, ones(s),
        &(pith_propagate_options){.steps = STEPS, .check_every = every, .max_tries = 1});
    return end ? pith_sum(s, end, PITH_ALL_AXES) : NULL;
}
static const void *call_propagate(pith_scope *s) {
    return propagate(s, pith_jit(s, &step_function, NULL), 1);
}
static const void *call_window(pith_scope *s) {
    return propagate(s, pith_jit(s, &step_function, NULL), STEPS);
}
static const void *call_eager_window(pith_scope *s) {
    return propagate(s, &step_function, STEPS);
}

static const pith_array *map_body(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_sum(s, a, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION1(map_body_function, map_body, pith_array, pith_array)

static const void *map(pith_scope *s, bool compiled) {
    const pith_shard_spec *rows = PITH_SPECS({"", "x", NULL}),
                          *none = PITH_SPECS({"", "", NULL});
    const pith_function *f = pith_shard_map(
        s, &map_body_function, &(pith_shard_options){.in = {rows}, .out = none});
    const void *a = pith_shard_local(s, ones(s), rows);
    return pith_apply(s, compiled ? pith_jit(s, f, NULL) : f, a);
}
static const void *call_map(pith_scope *s) {
    return map(s, false);
}
static const void *call_compiled_map(pith_scope *s) {
    return map(s, true);
}

static char folder[256]; /* of saves */

/* Of leaves that shrink, in one part for the ranks. */
static const void *call_save(pith_scope *s) {
    char path[300];
    const pith_shard_spec *rows = PITH_SPECS({"", "x", NULL});
    const void *a =
        pith_shard_local(s, pith_zeros(s, PITH_F64, PITH_SHAPE(N, 1000)), rows);
    snprintf(path, sizeof path, "%s/a.json", folder);
    const pith_save_options o = {.part_per_node = true, .compress = 1};
    return pith_save(s, a, path, &o) ? pith_f64(s, 1) : NULL;
}

static const scenario scenarios[] = {
    {"gathers", call_gathers},
    {"loops", call_loops},
    {"sums", call_sums},
    {"compiled sums", call_compiled_sums},
    {"routes", call_routes},
    {"compiled routes", call_compiled_routes},
    {"propagate", call_propagate},
    {"window", call_window},
    {"eager window", call_eager_window},
    {"map", call_map},
    {"compiled map", call_compiled_map},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* ---- The scenario ---- */

typedef struct trial {
    const scenario *of;
    pt_heap heap;
    long long fail_at; /* counted from the third call, or from the first */
    bool cold;         /* from the first */
} trial;

/* A number if the call has one; NULL with the error set otherwise. */
static bool number_of(fake_rank *r, const scenario *of, double *number) {
    pith_scope *in = pith_scope_open_in(r->s);
    pith_scope *s = pith_failed(r->s) ? r->s : in;
    const pith_array *made = of->call(s);
    FAKE_CHECK(r, pith_failed(s) || made);
    if (!pith_failed(s))
        *number = pith_read_f64(s, made);
    const bool fine = !pith_failed(s);
    if (in)
        pith_scope_close(in); /* its error moves to r->s */
    return fine && !pith_failed(r->s);
}

/* A rank without a scope takes part in nothing: ranks may be some agreements apart. */
static void come_together(fake_rank *r) {
    for (int tries = 0; tries < 20; tries++) {
        pith_clear(r->s);
        if (pith_agree(r->s))
            return;
    }
    FAKE_CHECK(r, false);
}

static void try(fake_rank *r) {
    trial *t = r->closure;
    double first = 0, number = 0;
    for (int call = 0; call < 2 && !t->cold; call++)
        FAKE_CHECK(r, number_of(r, t->of, &first));
    FAKE_CHECK(r, pith_agree(r->s));
    if (r->rank == 1)
        atomic_store(&t->heap.fail_at, atomic_load(&t->heap.allocations) + t->fail_at);
    for (int call = 0; call < 2; call++) {
        const bool fine = number_of(r, t->of, &number);
        if (fine && first == 0)
            first = number;
        FAKE_CHECK(r, !fine || number == first);
        pith_agree(r->s);
        const pith_status code = pith_code(r->s);
        FAKE_CHECK(r,
                   code == PITH_OK || code == PITH_E_MEMORY || code == PITH_E_PEER ||
                       (code == PITH_E_DIVERGED && t->cold)); /* takes part in nothing */
        FAKE_CHECK(r, fine || code != PITH_OK);
        come_together(r);
    }
}

static void survives(const scenario *of, int size, bool cold) {
    bool reached = true;
    int n = 1;
    for (; reached; n++) {
        trial t = {.of = of, .heap = {.fail_at = FAKE_FAR}, .fail_at = n, .cold = cold};
        const pith_allocator allocator = pt_allocator(&t.heap);
        const pith_open_options little = {
            .device = "host", .threads = 1, .allocator = &allocator};
        const fake_result result =
            fake_run(&(fake_options){.size = size,
                                     .timeout = 120,
                                     .closure = &t,
                                     .open = {NULL, &little, NULL}},
                     try);
        cr_assert(result.failures == 0 && !result.ended, "%s on %d, allocation %d: %s",
                  of->name, size, n, result.report);
        reached = atomic_load(&t.heap.allocations) >= atomic_load(&t.heap.fail_at);
        pt_no_leak(&t.heap);
    }
    cr_assert(n > 2, "%s: %d", of->name, n);
}

static void survives_on_ranks(int size) {
    for (int k = 0; k < SCENARIOS; k++)
        survives(&scenarios[k], size, false);
}

/* The first call of each: it is recorded, and its caches are empty. */
Test(little_memory, of_first_calls) {
    for (int k = 0; k < SCENARIOS; k++)
        survives(&scenarios[k], 2, true);
}

Test(little_memory, on_two_ranks) {
    survives_on_ranks(2);
}
Test(little_memory, on_three_ranks) {
    survives_on_ranks(3);
}
Test(little_memory, of_saves) {
    static const scenario save = {"save", call_save};
    pt_folder(folder);
    survives(&save, 2, false);
    remove_folder(folder);
}
Test(little_memory, call_by_call) {
    setenv("PITH_JIT", "off", 1);
    survives_on_ranks(2);
}
