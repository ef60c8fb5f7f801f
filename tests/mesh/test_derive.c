/* Derivatives and batches of functions over ranks: random functions (ranked.h) against
 * themselves over the arrays of all ranks on one, which need no rule of a collective. */
#include "mesh/fake/fake.h"
#include "mesh/ranked.h"
#include "pith_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SEEDS
#    define SEEDS 12
#endif
enum { OWN = RANKED_VALUES - RANKED_SHARED, ENTRIES = 3 };

typedef struct sample {
    uint64_t seed;
    int64_t sizes[2];
} sample;

/* ---- Data ---- */

static double element(uint64_t seed, int64_t rank, int64_t k, int64_t i) {
    uint64_t x = seed * 0x9E3779B97F4A7C15u + (uint64_t)(rank * 1009 + k * 31 + i) + 1;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (double)((x ^ (x >> 31)) % 20001) / 10000 - 1;
}

static const pith_array *data(pith_scope *s, uint64_t seed, int64_t rank, int64_t k) {
    double values[RANKED_EXTENT];
    for (int64_t i = 0; i < RANKED_EXTENT; i++)
        values[i] = element(seed, rank, k, i);
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(RANKED_EXTENT), values);
}

/* Own arrays of ranks from `first` on, and shared ones. */
static void arguments(pith_scope *s,
                      uint64_t seed,
                      int64_t first,
                      int64_t count,
                      const void *lists[2]) {
    const void *own[OWN * RANKED_RANKS], *shared[RANKED_SHARED];
    int64_t n = 0;
    for (int64_t r = first; r < first + count; r++)
        for (int k = 0; k < OWN; k++)
            own[n++] = data(s, seed, r, k);
    for (int k = 0; k < RANKED_SHARED; k++)
        shared[k] = data(s, seed, 1000, k);
    lists[0] = pith_list_make(s, n, own);
    lists[1] = pith_list_make(s, RANKED_SHARED, shared);
}

/* ---- Comparison ---- */

static bool same_bits(pith_scope *s, const pith_array *a, const pith_array *b) {
    double x = 0, y = 1;
    pith_read(s, a, &x, sizeof x);
    pith_read(s, b, &y, sizeof y);
    return memcmp(&x, &y, sizeof x) == 0;
}

static double distance(pith_scope *s, const pith_array *a, const pith_array *b) {
    double x[RANKED_EXTENT], y[RANKED_EXTENT], most = 0;
    pith_read(s, a, x, sizeof x);
    pith_read(s, b, y, sizeof y);
    for (int i = 0; i < RANKED_EXTENT && !pith_failed(s); i++) {
        const double d = fabs(x[i] - y[i]) / (1 + fabs(y[i]));
        most = d <= most ? most : d; /* NaN too */
    }
    return pith_failed(s) ? (double)INFINITY : most;
}

typedef struct forms {
    pith_scope *s;
    ranked_function *f, *all; /* of a rank, and of all */
    const void *given[2], *given_all[2];
} forms;

static void tell(fake_rank *r, const sample *x, const forms *m, const char *what) {
    if (r->rank == 0 || pith_failed(m->s)) {
        fprintf(stderr, "seed %llu on %d x %d, rank %d: %s: %s\n",
                (unsigned long long)x->seed, (int)x->sizes[0], (int)x->sizes[1], r->rank,
                what, pith_message(m->s));
        if (r->rank == 0)
            ranked_print(m->f);
    }
    r->failures++;
}
#define EXPECT(what, ...) ((__VA_ARGS__) ? (void)0 : tell(r, x, m, (what)))

/* ---- Values and gradients ---- */

static void open_forms(fake_rank *r, const sample *x, forms *m) {
    const int64_t ranks = x->sizes[0] * x->sizes[1];
    m->s = pith_scope_open_in(r->s);
    fake_open(r, m->s, PITH_MESH_AXES({"x", x->sizes[0]}, {"y", x->sizes[1]}));
    m->f = ranked_make(x->seed, x->sizes, false);
    m->all = ranked_make(x->seed, x->sizes, true);
    arguments(m->s, x->seed, r->rank, 1, m->given);
    arguments(m->s, x->seed, 0, ranks, m->given_all);
}

static void close_forms(forms *m) {
    pith_scope_close(m->s);
    ranked_free(m->f);
    ranked_free(m->all);
}

static void check_value(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const ranked_function *f = m->f;
    m->all->locals = true;
    const void *locals = pith_call(s, &m->all->call, 2, m->given_all);
    m->all->locals = false;
    const void *total = f->reduced ? pith_call(s, &m->all->call, 2, m->given_all)
                                   : pith_child(locals, r->rank);
    const pith_function *compiled = pith_jit(s, &f->call, NULL);
    for (int call = 0; call < 2; call++) {
        const pith_array *eager = pith_call(s, &f->call, 2, m->given),
                         *made = pith_call(s, compiled, 2, m->given);
        EXPECT("failed", !pith_failed(s));
        EXPECT("an eager value differs", same_bits(s, eager, total));
        EXPECT("a value differs", same_bits(s, made, total));
    }
}

/* Gradients of a rank, and those of all. */
static void compare_gradients(fake_rank *r,
                              const sample *x,
                              forms *m,
                              const void *own,
                              const void *all) {
    pith_scope *s = m->s;
    for (int k = 0; k < OWN && !pith_failed(s); k++)
        EXPECT("a gradient differs",
               distance(s, pith_child(pith_child(own, 0), k),
                        pith_child(pith_child(all, 0), r->rank * OWN + k)) < 1e-11);
    for (int k = 0; k < RANKED_SHARED && !pith_failed(s); k++)
        EXPECT("a shared gradient differs",
               distance(s, pith_child(pith_child(own, 1), k),
                        pith_child(pith_child(all, 1), k)) < 1e-11);
}

static const void *gradients_of_all(forms *m) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .cuts = PITH_CUTS_ARE_ZERO};
    return pith_call(m->s, pith_grad(m->s, &m->all->call, &both), 2, m->given_all);
}

static void check_gradient(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .cuts = PITH_CUTS_ARE_ZERO};
    const void *own = pith_call(s, pith_grad(s, &m->f->call, &both), 2, m->given);
    pith_jit_clear(r->runtime);
    const void *all = gradients_of_all(m);
    EXPECT("failed", !pith_failed(s));
    compare_gradients(r, x, m, own, all);
}

/* ---- Functions over shards: specs say what is shared ---- */

typedef struct over_shards {
    pith_function call; /* first */
    ranked_function *f;
    bool again; /* within a map over x, map over y */
} over_shards;

static const pith_function *
map_of(pith_scope *s, const over_shards *o, const char *axes) {
    const pith_shard_options options = {
        .in = {PITH_SPECS({"", "x,y", NULL}), PITH_SPECS({"", "", NULL})},
        .out = PITH_SPECS({"[0]", o->f->reduced ? "" : "x,y", NULL},
                          {"[1][0]", "x,y", NULL}, {"[1][1]", "", NULL}),
        .axes = axes};
    return pith_shard_map(s, &o->call, &options);
}

/* The value and its gradients. */
static const void *
call_over_shards(const pith_function *self, pith_scope *s, const void *const *given) {
    const over_shards *o = (const over_shards *)(const void *)self;
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .cuts = PITH_CUTS_ARE_ZERO};
    if (o->again) {
        over_shards inner = *o;
        inner.again = false;
        return pith_call(s, map_of(s, &inner, "y"), 2, given);
    }
    const void *both_of[] = {pith_call(s, &o->f->call, 2, given),
                             pith_call(s, pith_grad(s, &o->f->call, &both), 2, given)};
    return pith_tuple_make(s, 2, both_of);
}

static void check_map(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const over_shards o = {
        .call = {.name = "over_shards", .call = call_over_shards, .arity = 2},
        .f = m->f,
        .again = x->seed % 2};
    m->all->locals = true;
    const void *locals = pith_call(s, &m->all->call, 2, m->given_all);
    m->all->locals = false;
    const void *total = m->f->reduced ? pith_call(s, &m->all->call, 2, m->given_all)
                                      : pith_child(locals, r->rank);
    const void *all = gradients_of_all(m);
    pith_jit_clear(r->runtime);
    m->f->unmarked = true;
    const void *given[] = {
        pith_shard_local(s, m->given[0], PITH_SPECS({"", "x,y", NULL})), m->given[1]};
    const pith_function *map = map_of(s, &o, o.again ? "x" : NULL),
                        *ways[] = {map, pith_jit(s, map, NULL)};
    for (int k = 0; k < 3; k++) {
        const void *made = pith_unshard_local(s, pith_call(s, ways[k > 0], 2, given));
        EXPECT("failed", !pith_failed(s));
        if (pith_failed(s))
            break;
        EXPECT("a mapped value differs", same_bits(s, pith_child(made, 0), total));
        compare_gradients(r, x, m, pith_child(made, 1), all);
    }
    m->f->unmarked = false;
}

/* ---- Forward mode ---- */

/* The directional derivative, and that of the gradient. */
static void check_tangents(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const ranked_function *f = m->f;
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .cuts = PITH_CUTS_ARE_ZERO};
    const int64_t ranks = x->sizes[0] * x->sizes[1];
    const void *lists[2], *lists_all[2];
    arguments(s, x->seed + 77, r->rank, 1, lists);
    arguments(s, x->seed + 77, 0, ranks, lists_all);
    const void *t = pith_tuple_make(s, 2, lists),
               *t_all = pith_tuple_make(s, 2, lists_all);
    m->all->locals = true;
    const pith_pushed own = pith_jvp(s, &f->call, 2, m->given, t, &both);
    pith_jit_clear(r->runtime);
    const pith_pushed all = pith_jvp(s, &m->all->call, 2, m->given_all, t_all, &both);
    m->all->locals = false;
    EXPECT("failed", !pith_failed(s));
    if (pith_failed(s))
        return;
    double made = pith_read_f64(s, own.tangent), wanted = 0;
    for (int64_t k = 0; k < ranks; k++)
        if (f->reduced || k == r->rank)
            wanted += pith_read_f64(s, pith_child(all.tangent, k));
    EXPECT("a tangent differs", fabs(made - wanted) <= 1e-11 * (1 + fabs(wanted)));
}

static void check_hessian(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const ranked_function *f = m->f;
    const pith_derive_options shared = {.arguments = PITH_ARGUMENT(1),
                                        .cuts = PITH_CUTS_ARE_ZERO};
    const void *lists[2];
    arguments(s, x->seed + 77, r->rank, 1, lists);
    const void *given[] = {m->given[0], m->given[1], lists[1]},
               *given_all[] = {m->given_all[0], m->given_all[1], lists[1]};
    const void *own = pith_call(s, pith_hessian_product(s, &f->call, &shared), 3, given);
    pith_jit_clear(r->runtime);
    const void *all =
        pith_call(s, pith_hessian_product(s, &m->all->call, &shared), 3, given_all);
    EXPECT("failed", !pith_failed(s));
    for (int k = 0; k < RANKED_SHARED && !pith_failed(s); k++)
        EXPECT("a product with the Hessian differs",
               distance(s, pith_child(pith_child(own, 1), k),
                        pith_child(pith_child(all, 1), k)) < 1e-9);
}

/* ---- Descent: gradients of shared arrays in a loop, which carries them ---- */

typedef struct descent {
    pith_function call, step; /* of own and shared arrays; of a number and of them */
    ranked_function *f;
} descent;

static const void *
descend(const pith_function *self, pith_scope *s, const void *const *a) {
    const char *at = (const char *)self - offsetof(descent, step);
    const descent *d = (const descent *)(const void *)at;
    const pith_derive_options shared = {.arguments = PITH_ARGUMENT(1),
                                        .cuts = PITH_CUTS_ARE_ZERO};
    const void *given[] = {pith_child(a[1], 0), pith_child(a[1], 1)},
               *next[RANKED_SHARED];
    const void *gradient = pith_call(s, pith_grad(s, &d->f->call, &shared), 2, given);
    if (pith_failed(s))
        return NULL;
    for (int k = 0; k < RANKED_SHARED; k++)
        next[k] = pith_sub(
            s, pith_child(given[1], k),
            pith_mul(s, pith_tanh(s, pith_child(gradient, k)), pith_f64(s, 0.01)));
    given[1] = pith_list_make(s, RANKED_SHARED, next);
    return pith_tuple_make(s, 2, given);
}

static const void *
call_descent(const pith_function *self, pith_scope *s, const void *const *a) {
    const descent *d = (const descent *)(const void *)self;
    const void *shared[RANKED_SHARED], *given[2] = {a[0]};
    for (int k = 0; k < RANKED_SHARED; k++)
        shared[k] =
            d->f->all ? pith_child(a[1], k) : ranked_shared(s, pith_child(a[1], k));
    given[1] = pith_list_make(s, RANKED_SHARED, shared);
    const void *last = pith_fori(s, 0, 3, &d->step, pith_tuple_make(s, 2, given));
    return last ? pith_child(last, 1) : NULL;
}

static void check_descent(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    descent own = {.call = {.name = "descent", .call = call_descent, .arity = 2},
                   .step = {.name = "step", .call = descend, .arity = 2},
                   .f = m->f},
            all = own;
    all.f = m->all;
    m->f->unmarked = true;
    const void *made = pith_call(s, pith_jit(s, &own.call, NULL), 2, m->given);
    pith_jit_clear(r->runtime);
    const void *wanted = pith_call(s, pith_jit(s, &all.call, NULL), 2, m->given_all);
    m->f->unmarked = false;
    EXPECT("failed", !pith_failed(s));
    for (int k = 0; k < RANKED_SHARED && !pith_failed(s); k++)
        EXPECT("a descent differs",
               distance(s, pith_child(made, k), pith_child(wanted, k)) < 1e-9);
}

/* ---- Batches ---- */

/* Entries of a batch, and the batch. */
static const void *batched(pith_scope *s, const void *const *entries) {
    return pith_tree_stack(s, ENTRIES, entries);
}

static void check_batch(fake_rank *r, const sample *x, forms *m) {
    pith_scope *s = m->s;
    const ranked_function *f = m->f;
    const void *entries[2][ENTRIES], *given[2];
    for (int e = 0; e < ENTRIES; e++) {
        const void *lists[2];
        arguments(s, x->seed + 100 * (uint64_t)e, r->rank, 1, lists);
        entries[0][e] = lists[0];
        entries[1][e] = lists[1];
    }
    given[0] = batched(s, entries[0]);
    given[1] = batched(s, entries[1]);
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1),
                                      .cuts = PITH_CUTS_ARE_ZERO};
    const pith_function *gradient = pith_value_and_grad(s, &f->call, &both);
    const void *all = pith_call(s, pith_vmap(s, gradient, NULL), 2, given);
    EXPECT("failed", !pith_failed(s));
    for (int e = 0; e < ENTRIES && !pith_failed(s); e++) {
        const void *one[] = {entries[0][e], entries[1][e]};
        const void *alone = pith_call(s, gradient, 2, one),
                   *entry = pith_tree_take(s, all, pith_i64(s, e), NULL);
        EXPECT("an entry of a batch differs",
               !pith_failed(s) && pith_tree_equal(s, alone, entry));
    }
}

static void body(fake_rank *r) {
    static void (*const checks[])(fake_rank * r, const sample *x, forms *m) = {
        check_value,   check_gradient, check_map,  check_tangents,
        check_hessian, check_descent,  check_batch};
    const sample *x = r->closure;
    const char *only = getenv("PITH_CHECK");
    forms m;
    open_forms(r, x, &m);
    for (int k = 0; k < (int)(sizeof checks / sizeof *checks) && !pith_failed(m.s); k++)
        if (!only || atoi(only) == k) {
            pith_jit_clear(r->runtime); /* functions are known by their address */
            checks[k](r, x, &m);
        }
    pith_jit_clear(r->runtime);
    pith_clear(m.s);
    close_forms(&m);
}

static void runs(sample x, void (*run)(fake_rank *r)) {
    const fake_result result = fake_run(
        &(fake_options){
            .size = (int)(x.sizes[0] * x.sizes[1]), .timeout = 120, .closure = &x},
        run);
    cr_assert(result.failures == 0 && !result.ended, "seed %llu on %d x %d: %s",
              (unsigned long long)x.seed, (int)x.sizes[0], (int)x.sizes[1],
              result.report);
}

/* PITH_SEED chooses one seed; PITH_SEEDS, "100000:500", as many from there on. */
static void runs_seeds(int64_t nx, int64_t ny, uint64_t first, uint64_t count) {
    const char *chosen = getenv("PITH_SEED"), *many = getenv("PITH_SEEDS");
    char *rest = NULL;
    if (many && (first += strtoull(many, &rest, 10)) && *rest == ':')
        count = strtoull(rest + 1, NULL, 10);
    if (chosen)
        runs((sample){strtoull(chosen, NULL, 10), {nx, ny}}, body);
    for (uint64_t seed = first; !chosen && seed < first + count; seed++)
        runs((sample){seed, {nx, ny}}, body);
}

Test(derive, on_one_rank) {
    runs_seeds(1, 1, 0, SEEDS);
}
Test(derive, on_two_ranks) {
    runs_seeds(2, 1, 1000, SEEDS);
}
Test(derive, on_three_ranks) {
    runs_seeds(1, 3, 2000, SEEDS);
}
Test(derive, on_four_ranks_along_two_axes) {
    runs_seeds(2, 2, 3000, SEEDS);
}

/* The interpreter alone: without compiled code. */
Test(derive, interpreted) {
    setenv("PITH_JIT", "off", 1);
    runs_seeds(2, 1, 1000, 4);
    runs_seeds(2, 2, 3000, 4);
}
