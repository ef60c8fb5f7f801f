/* Hostile programs: ranks that call different functions, or one of which fails wherever
 * user code can. Each must end in an error on every rank, and then all go on. */
#include "mesh/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Calls ---- */

enum { N = 4 };

static const pith_array *row(mesh_test *t) {
    return pith_ones(t->s, PITH_F64, PITH_SHAPE(N));
}

static const pith_array *add(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_mul(s, a, 2.0), NULL, NULL);
}
PITH_FUNCTION1(add_function, add, pith_array, pith_array)

static const pith_array *add_twice(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_psum(s, a, NULL, NULL), NULL, NULL);
}
PITH_FUNCTION1(add_twice_function, add_twice, pith_array, pith_array)

static const pith_array *add_checked(pith_scope *s, const pith_array *a) {
    pith_check(s, pith_greater(s, a, 0.0), "positive");
    return pith_psum(s, a, NULL, NULL);
}
PITH_FUNCTION1(add_checked_function, add_checked, pith_array, pith_array)

static const pith_array *add_of_rank(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_sum(s, a, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION1(add_of_rank_function, add_of_rank, pith_array, pith_array)

static void call_psum(mesh_test *t) {
    pith_psum(t->s, row(t), NULL, NULL);
}
static void call_psum_of_rows(mesh_test *t) {
    pith_psum(t->s, row(t), NULL, &(pith_collective_options){.rows = pith_i64(t->s, 2)});
}
static void call_unordered(mesh_test *t) {
    pith_psum(t->s, row(t), NULL, &(pith_collective_options){.unordered = true});
}
static void call_psum_of_bits(mesh_test *t) {
    pith_psum(t->s, pith_ones(t->s, PITH_I64, PITH_SHAPE(N)), NULL, NULL);
}
static void call_psum_rows(mesh_test *t) {
    pith_psum_rows(t->s, row(t), NULL, NULL);
}
static void call_pmax(mesh_test *t) {
    pith_pmax(t->s, row(t), NULL);
}
static void call_all_stack(mesh_test *t) {
    pith_all_stack(t->s, row(t), NULL);
}
static void call_tree(mesh_test *t) {
    const void *pair[] = {row(t), pith_i32(t->s, 1)};
    pith_tree_psum(t->s, pith_tuple_make(t->s, 2, pair), NULL, NULL);
}
static void call_compiled(mesh_test *t) {
    pith_apply(t->s, pith_jit(t->s, &add_function, NULL), row(t));
}
static void call_compiled_twice(mesh_test *t) {
    pith_apply(t->s, pith_jit(t->s, &add_twice_function, NULL), row(t));
}
static void call_compiled_checked(mesh_test *t) {
    pith_apply(t->s, pith_jit(t->s, &add_checked_function, NULL), row(t));
}
static void call_propagate(mesh_test *t) {
    pith_propagate_any(t->s, NULL, pith_jit(t->s, &add_checked_function, NULL), row(t),
                       &(pith_propagate_options){.steps = 3, .max_tries = 1});
}
static void call_propagate_eager(mesh_test *t) {
    pith_propagate_any(t->s, NULL, &add_function, row(t),
                       &(pith_propagate_options){.steps = 2, .check_every = 2});
}
static void call_run(mesh_test *t) {
    pith_run_any(t->s, NULL, &add_function, row(t), &(pith_run_options){.steps = 2});
}
static void call_chunks(mesh_test *t) {
    pith_run_chunked_any(t->s, NULL, &add_function, row(t), 0,
                         &(pith_chunked_options){.length = 2});
}
static void call_route(mesh_test *t) {
    const pith_array *k = pith_arange(t->s, PITH_I64, N);
    const pith_route *room = pith_route_room(t->s, t->size, N, N * t->size);
    const pith_route *route =
        pith_route_make(t->s, k, pith_zeros(t->s, PITH_I64, PITH_SHAPE(N)), NULL, room);
    pith_route_send(t->s, route, row(t));
}
static void call_halo(mesh_test *t) {
    pith_halo(t->s, row(t), 0, NULL, 1, 1, true);
}
static void call_shard(mesh_test *t) {
    pith_unshard(t->s, pith_shard_local(t->s, row(t), PITH_SPECS({"", "x", NULL})), -1);
}
static void call_map(mesh_test *t) {
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_function *f = pith_shard_map(
        t->s, &add_of_rank_function,
        &(pith_shard_options){.in = {x}, .out = PITH_SPECS({"", "", NULL})});
    pith_apply(t->s, f, pith_shard_local(t->s, row(t), x));
}
static void call_mesh(mesh_test *t) {
    pith_scope *in = pith_scope_open_in(t->s);
    pith_mesh_open(in, PITH_MESH_AXES({"y", t->size}, {"z", 1}), NULL);
    pith_scope_close(in);
}
static void call_save(mesh_test *t) {
    char path[300];
    snprintf(path, sizeof path, "%s/hostile.json", getenv("MESH_FOLDER"));
    pith_save(t->s, pith_shard_local(t->s, row(t), PITH_SPECS({"", "x", NULL})), path,
              NULL);
}
static void call_agree(mesh_test *t) {
    pith_agree(t->s);
}
static void call_nothing(mesh_test *t) {
    (void)t;
}

typedef struct hostile_call {
    const char *name;
    void (*call)(mesh_test *t);
} hostile_call;

static const hostile_call calls[] = {
    {"psum", call_psum},
    {"psum of rows in use", call_psum_of_rows},
    {"psum, unordered", call_unordered},
    {"psum of i64", call_psum_of_bits},
    {"psum_rows", call_psum_rows},
    {"pmax", call_pmax},
    {"all_stack", call_all_stack},
    {"tree_psum", call_tree},
    {"a compiled sum", call_compiled},
    {"two compiled sums", call_compiled_twice},
    {"a compiled sum with a check", call_compiled_checked},
    {"propagate", call_propagate},
    {"propagate, call by call", call_propagate_eager},
    {"run", call_run},
    {"run_chunked", call_chunks},
    {"routes", call_route},
    {"halo", call_halo},
    {"shards", call_shard},
    {"shard_map", call_map},
    {"mesh_open", call_mesh},
    {"save", call_save},
    {"agree", call_agree},
    {"nothing", call_nothing},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Ranks may be some agreements apart, so some find errors of the others first. */
static void come_together(mesh_test *t, const char *what, const char *other) {
    for (int tries = 0; tries < 20; tries++) {
        if (pith_agree(t->s))
            return;
        pith_clear(t->s);
    }
    fprintf(stderr, "%s against %s: ", what, other);
    MESH_CHECK(t, false);
}

/* Ranks that agree once, and ranks that agree twice. */
static bool is_quiet(int k, int other) {
    return k >= CALLS - 2 && other >= CALLS - 2;
}

/* Every call against every other one: rank `odd` makes another call than the rest. */
static void calls_differ(mesh_test *t) {
    if (t->size == 1)
        return;
    for (int k = 0; k < CALLS; k++) /* each works, and is recorded */
        calls[k].call(t);
    MESH_CHECK(t, pith_agree(t->s));
    for (int k = 0; k < CALLS; k++)
        for (int other = 0; other < CALLS; other++) {
            const bool odd = t->rank == (k + other) % t->size;
            const hostile_call *own = &calls[odd ? other : k];
            if (k == other)
                continue;
            own->call(t);
            pith_agree(t->s); /* a rank may be here too early */
            const pith_status code = pith_code(t->s);
            if (code != PITH_E_DIVERGED && code != PITH_E_PEER && !is_quiet(k, other)) {
                fprintf(stderr, "%s against %s: ", own->name,
                        calls[odd ? k : other].name);
                MESH_CHECK(t, false);
            }
            pith_clear(t->s);
            come_together(t, own->name, calls[odd ? k : other].name);
        }
}

/* ---- One rank fails within user code ---- */

static _Thread_local bool is_odd;
static _Thread_local int fails_at; /* the place in user code */

static void maybe_fail(pith_scope *s, int place) {
    if (is_odd && place == fails_at)
        pith_fail(s, PITH_E_ARG, NULL, "no luck at place %d", place);
}

static const pith_array *unlucky(pith_scope *s, const pith_array *a) {
    maybe_fail(s, 0);
    a = pith_psum(s, a, NULL, NULL);
    maybe_fail(s, 1);
    a = pith_pmax(s, a, NULL);
    maybe_fail(s, 2);
    return a;
}
PITH_FUNCTION1(unlucky_function, unlucky, pith_array, pith_array)

static const pith_array *unlucky_inside(pith_scope *s, const pith_array *a) {
    a = pith_apply(s, pith_jit(s, &unlucky_function, NULL), a);
    return pith_psum(s, a, NULL, NULL);
}
PITH_FUNCTION1(unlucky_inside_function, unlucky_inside, pith_array, pith_array)

/* What a form of the function gives, or NULL. */
static const void *run_form(mesh_test *t, int form, bool compiled) {
    pith_scope *s = t->s;
    const pith_function *f = &unlucky_function;
    if (compiled)
        f = pith_jit(s, form == 1 ? &unlucky_inside_function : f, NULL);
    switch (form) {
        case 0:
        case 1:
            return pith_apply(s, f, row(t));
        case 2:
            return pith_propagate_any(s, NULL, f, row(t),
                                      &(pith_propagate_options){.steps = 2});
        case 3:
            return pith_propagate_any(
                s, NULL, f, row(t),
                &(pith_propagate_options){.steps = 2, .check_every = 2});
        case 4:
            return pith_run_any(s, NULL, f, row(t), &(pith_run_options){.steps = 2});
        case 5:
            return pith_run_chunked_any(s, NULL, f, row(t), 0,
                                        &(pith_chunked_options){.length = 2});
        default: {
            const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
            const pith_shard_options specs = {.in = {x}, .out = x};
            return pith_apply(s, pith_shard_map(s, f, &specs),
                              pith_shard_local(s, row(t), x));
        }
    }
}
enum { FORMS = 7, PLACES = 3 };

static void user_code_fails(mesh_test *t) {
    if (t->size == 1)
        return;
    for (int form = 0; form < FORMS; form++)
        for (int compiled = form == 1; compiled < 2; compiled++)
            for (fails_at = 0; fails_at < PLACES; fails_at++)
                for (int64_t odd = 0; odd < t->size; odd++) {
                    char text[32];
                    snprintf(text, sizeof text, "no luck at place %d", fails_at);
                    pith_jit_clear(pith_scope_runtime(t->s)); /* recorded anew */
                    is_odd = t->rank == odd;
                    run_form(t, form, compiled);
                    pith_agree(t->s);
                    const pith_status code = is_odd ? PITH_E_ARG : PITH_E_PEER;
                    if (pith_code(t->s) != code)
                        fprintf(stderr, "form %d, compiled %d: ", form, compiled);
                    MESH_CHECK(t, mesh_fails(t, code, text));
                    is_odd = false;
                    come_together(t, "user code", text);
                    MESH_CHECK(t, run_form(t, form, compiled));
                    MESH_CHECK(t, pith_agree(t->s));
                }
    is_odd = false;
}

/* ---- Arguments that are wrong on one rank ---- */

static const pith_array *two(pith_scope *s, const pith_array *a, const pith_array *b) {
    return pith_psum(s, pith_add(s, a, b), NULL, NULL);
}
PITH_FUNCTION2(two_function, two, pith_array, pith_array, pith_array)

/* A call of a compiled function of two arrays. */
static void call_two(mesh_test *t, int count, const pith_array *a, const pith_array *b) {
    const void *given[] = {a, b};
    pith_call(t->s, pith_jit(t->s, &two_function, NULL), count, given);
}

static void arguments_differ(mesh_test *t) {
    if (t->size == 1)
        return;
    const bool odd = t->rank == t->size - 1;
    const pith_array *a = row(t), *b = row(t);
    call_two(t, 2, a, b);
    MESH_CHECK(t, pith_agree(t->s));
    for (int k = 0; k < 6; k++) {
        const pith_array *wrong =
            k == 1   ? NULL
            : k == 2 ? pith_ones(t->s, PITH_F32, PITH_SHAPE(N))
            : k == 3 ? pith_ones(t->s, PITH_F64, PITH_SHAPE(N + 1))
            : k == 4 ? pith_ones(t->s, PITH_F64, PITH_SHAPE(2, 1, N))
                     : (const pith_array *)pith_tuple_make(t->s, 0, NULL);
        if (odd)
            call_two(t, k == 0 ? 1 : 2, a, k == 0 ? b : wrong);
        else
            call_two(t, 2, a, b);
        pith_agree(t->s);
        if (!pith_failed(t->s))
            fprintf(stderr, "arguments %d: ", k);
        MESH_CHECK(t, pith_failed(t->s));
        MESH_CHECK(t, odd || pith_code(t->s) == PITH_E_PEER ||
                          pith_code(t->s) == PITH_E_DIVERGED);
        pith_clear(t->s);
        come_together(t, "arguments", "others");
        call_two(t, 2, a, b);
        MESH_CHECK(t, pith_agree(t->s));
    }
}

/* ---- Axes: on a mesh of two rows ---- */

static const pith_array *x_then_y(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_psum(s, a, "x", NULL), "y", NULL);
}
PITH_FUNCTION1(x_then_y_function, x_then_y, pith_array, pith_array)
static const pith_array *y_then_x(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_psum(s, a, "y", NULL), "x", NULL);
}
PITH_FUNCTION1(y_then_x_function, y_then_x, pith_array, pith_array)

/* The sum along x of some rows, then that along y. */
static const pith_array *
rows_then_y(pith_scope *s, const pith_array *a, const pith_array *rows) {
    const pith_array *sum =
        pith_psum_rows(s, a, "x", &(pith_collective_options){.rows = rows});
    return pith_psum(s, sum, "y", NULL);
}
PITH_FUNCTION2(rows_then_y_function, rows_then_y, pith_array, pith_array, pith_array)

static void orders_of_axes_differ(mesh_test *t) {
    if (t->size % 2)
        return;
    pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL);
    for (int compiled = 0; compiled < 2; compiled++)
        for (int64_t odd = 0; odd < t->size; odd++) {
            const pith_function *f =
                t->rank == odd ? &y_then_x_function : &x_then_y_function;
            pith_apply(t->s, compiled ? pith_jit(t->s, f, NULL) : f, row(t));
            MESH_CHECK(t, pith_code(t->s) == PITH_E_DIVERGED);
            MESH_CHECK(t, strstr(pith_message(t->s), "over y") &&
                              strstr(pith_message(t->s), "over x"));
            pith_clear(t->s);
            MESH_CHECK(t, pith_agree(t->s));
        }
}

/* A wrong number of rows of one rank is an error of all, also of those in another column:
 * of a compiled call the same one. */
static void rows_are_wrong_in_one_column(mesh_test *t) {
    if (t->size % 2)
        return;
    pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL);
    for (int compiled = 0; compiled < 2; compiled++)
        for (int64_t odd = 0; odd < t->size; odd++) {
            const pith_function *f = &rows_then_y_function;
            const void *given[] = {row(t), pith_i64(t->s, t->rank == odd ? 99 : 2)};
            pith_call(t->s, compiled ? pith_jit(t->s, f, NULL) : f, 2, given);
            pith_agree(t->s);
            MESH_CHECK(t, pith_code(t->s) ==
                              (compiled || t->rank == odd ? PITH_E_INDEX : PITH_E_PEER));
            pith_clear(t->s);
            MESH_CHECK(t, pith_agree(t->s));
        }
}

/* ---- Checks that fail again and again ---- */

enum { OFTEN = 5000 };

static const void *take_once(pith_scope *s, const pith_array *i, const void *pair) {
    const pith_array *k = pith_child(pair, 1);
    const pith_array *a = pith_take(s, pith_child(pair, 0), k,
                                    &(pith_take_options){.mode = PITH_INDEX_ERROR});
    (void)i;
    return pith_tuple_make(s, 2, (const void *[]){pith_pmax(s, a, NULL), k});
}
PITH_FUNCTION2(take_once_function, take_once, void, pith_array, void)

static const void *take_often(pith_scope *s, const void *pair) {
    return pith_fori(s, 0, OFTEN, &take_once_function, pair);
}
PITH_FUNCTION1(take_often_function, take_often, void, void)

/* More failed checks than a runtime keeps before it raises one: the rank makes its
 * collectives all the same. */
static void checks_fail_often(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &take_often_function, NULL);
    for (int odd = 0; odd < 2 && t->size > 1; odd++) {
        const int64_t wrong[N] = {0, 1, 2, odd && t->rank == 1 ? 99 : 3};
        const void *pair[] = {row(t),
                              pith_array_copy(t->s, PITH_I64, PITH_SHAPE(N), wrong)};
        pith_apply(t->s, f, pith_tuple_make(t->s, 2, pair));
        pith_agree(t->s);
        MESH_CHECK(t, pith_failed(t->s) == odd);
        MESH_CHECK(t, !odd || strstr(pith_message(t->s), "99"));
        pith_clear(t->s);
        come_together(t, "failed checks", "others");
    }
}

const mesh_case mesh_hostile_cases[] = {
    {"calls_differ", calls_differ},
    {"user_code_fails", user_code_fails},
    {"arguments_differ", arguments_differ},
    {"checks_fail_often", checks_fail_often},
    {"orders_of_axes_differ", orders_of_axes_differ},
    {"rows_are_wrong_in_one_column", rows_are_wrong_in_one_column},
    {NULL, NULL},
};
