/* Cases of derivatives of every mode of functions over shards: with rules of users, with
 * values that are computed again, with loops and with a collective in a loop. They are
 * those of the same function of the rows of all ranks, without a collective. */
#include "mesh/shard_trees.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 2, MANY = 3, STEPS = 2 }; /* rows of a rank */

/* ---- One activation with a rule for each mode ---- */

typedef struct Moved {
    const pith_array *value, *tangent;
} Moved;
PITH_NODE(Moved, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))

static const pith_array *act(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_tanh(s, pith_mul(s, w, x));
}
PITH_FUNCTION2(act_function, act, pith_array, pith_array, pith_array)

static const pith_array *slope_of(pith_scope *s, const pith_array *value) {
    return pith_sub(s, pith_f64(s, 1), pith_square(s, value));
}
static const Moved *push(pith_scope *s, const void *at, const void *tangents) {
    const pith_array *w = pith_child(at, 0), *x = pith_child(at, 1),
                     *value = act(s, w, x),
                     *sum = pith_add(s, pith_mul(s, pith_child(tangents, 0), x),
                                     pith_mul(s, w, pith_child(tangents, 1)));
    return pith_record(s, Moved, .value = value,
                       .tangent = pith_mul(s, slope_of(s, value), sum));
}
PITH_FUNCTION2(push_function, push, Moved, void, void)

typedef struct Triple {
    const pith_array *w, *x, *value;
} Triple;
PITH_NODE(Triple,
          PITH_LEAF(w, "f64[...]"),
          PITH_LEAF(x, "f64[...]"),
          PITH_LEAF(value, "f64[...]"))
typedef struct Left {
    const pith_array *value;
    const Triple *residual;
} Left;
PITH_NODE(Left, PITH_LEAF(value, "f64[...]"), PITH_CHILD(residual, Triple))
static const Left *leave(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *value = act(s, w, x);
    return pith_record(s, Left, .value = value,
                       .residual =
                           pith_record(s, Triple, .w = w, .x = x, .value = value));
}
PITH_FUNCTION2(leave_function, leave, Left, pith_array, pith_array)
/* The weights have one row for all rows of x. */
static const void *pull(pith_scope *s, const Triple *r, const pith_array *ct) {
    const pith_array *each = pith_mul(s, slope_of(s, r->value), ct);
    return pith_tuple_make(s,
                           PITH_ITEMS(pith_sum(s, pith_mul(s, each, r->x), PITH_AXES(0)),
                                      pith_mul(s, each, r->w)));
}
PITH_FUNCTION2(pull_function, pull, void, Triple, pith_array)

static const pith_array *
act_by_jvp(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_apply(s, pith_custom_jvp(s, &act_function, &push_function), w, x);
}
static const pith_array *
act_by_vjp(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_apply(
        s, pith_custom_vjp(s, &act_function, &leave_function, &pull_function), w, x);
}
static const pith_array *
act_again(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_apply(s, pith_recompute(s, &act_function, NULL), w, x);
}

/* ---- Steps that couple the ranks: y - mean of all ranks / 4 ---- */

static const pith_array *couple(pith_scope *s, const pith_array *y) {
    return pith_sub(s, y, pith_mul(s, pith_pmean(s, y, "x", NULL), 0.25));
}
PITH_FUNCTION1(couple_function, couple, pith_array, pith_array)
static const pith_array *
couple_at(pith_scope *s, const pith_array *i, const pith_array *y) {
    (void)i;
    return couple(s, y);
}
PITH_FUNCTION2(couple_at_function, couple_at, pith_array, pith_array, pith_array)
static const pith_array *couple_steps(pith_scope *s, const pith_array *y) {
    return pith_fori(s, 0, STEPS, &couple_at_function, y);
}

static const pith_array *is_below(pith_scope *s, const void *pair) {
    return pith_less(s, pith_child(pair, 0), pith_i64(s, STEPS));
}
PITH_FUNCTION1(is_below_function, is_below, pith_array, void)
static const void *couple_pair(pith_scope *s, const void *pair) {
    return pith_tuple_make(s, PITH_ITEMS(pith_add(s, pith_child(pair, 0), pith_i64(s, 1)),
                                         couple(s, pith_child(pair, 1))));
}
PITH_FUNCTION1(couple_pair_function, couple_pair, void, void)
static const pith_array *couple_recorded(pith_scope *s, const pith_array *y) {
    const void *first = pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 0), y));
    return pith_child(pith_while_recorded(s, &is_below_function, &couple_pair_function,
                                          first, &(pith_record_options){.most = STEPS}),
                      1);
}
static const pith_array *couple_again(pith_scope *s, const pith_array *y) {
    const pith_function *f = pith_recompute(s, &couple_function, NULL);
    for (int k = 0; k < STEPS; k++)
        y = pith_apply(s, f, y);
    return y;
}

/* ---- The functions ---- */

typedef const pith_array *
act_call(pith_scope *s, const pith_array *w, const pith_array *x);
typedef const pith_array *couple_call(pith_scope *s, const pith_array *y);
static const struct {
    const char *name;
    act_call *act;
    couple_call *couple;
    bool forward; /* it has a derivative in forward mode */
} kinds[] = {
    {"plain", act, couple_steps, true},
    {"rule for forward mode", act_by_jvp, couple_steps, true},
    {"rule for reverse mode", act_by_vjp, couple_steps, false},
    {"recomputed", act_again, couple_again, true},
    {"recorded", act, couple_recorded, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct over_rows {
    pith_function call; /* first */
    int kind;
    int64_t ranks; /* whose rows are here, without collectives; 0: of one, with them */
} over_rows;

static const pith_array *couple_all(pith_scope *s, const pith_array *y) {
    const pith_shape one = PITH_SHAPE(1, ROWS, MANY);
    for (int k = 0; k < STEPS; k++) {
        const pith_array *mean = pith_reshape(s, pith_mean(s, y, PITH_AXES(0)), one);
        y = pith_sub(s, y, pith_mul(s, mean, 0.25));
    }
    return y;
}

static const void *
call_over_rows(const pith_function *self, pith_scope *s, const void *const *given) {
    const over_rows *o = (const over_rows *)(const void *)self;
    const pith_array *w = given[0], *x = given[1];
    if (!o->ranks) {
        const pith_array *y = kinds[o->kind].couple(s, kinds[o->kind].act(s, w, x));
        return pith_psum(s, pith_sum(s, pith_square(s, y), PITH_ALL_AXES), NULL, NULL);
    }
    const pith_array *y =
        couple_all(s, pith_reshape(s, act(s, w, x), PITH_SHAPE(o->ranks, ROWS, MANY)));
    return pith_sum(s, pith_square(s, y), PITH_ALL_AXES);
}

static const pith_function *
mapped(pith_scope *s, const pith_function *f, const pith_shard_spec *out) {
    const pith_shard_options o = {.in = {PITH_SPECS({"", ""}), PITH_SPECS({"", "x"})},
                                  .out = out};
    return pith_shard_map(s, f, &o);
}

/* ---- Comparison ---- */

static bool near(mesh_test *t, const void *got, const void *want) {
    const pith_array *a = pith_unshard(t->s, got, -1), *b = want;
    double x[64], y[64];
    const size_t n = b ? pith_array_spec(b)->bytes / sizeof *x : 0;
    if (!a || !b || n > 64 || pith_array_spec(a)->bytes != n * sizeof *x ||
        !pith_read(t->s, a, x, n * sizeof *x) || !pith_read(t->s, b, y, n * sizeof *y))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * (1 + fabs(y[i]))))
            return false;
    return true;
}

typedef struct setting {
    int kind;
    const pith_array *w, *x, *shards, *v, *u, *v_shards; /* v, u: directions */
    const pith_function *own, *all, *map;
} setting;

/* Call by call and compiled. */
static void check(mesh_test *t,
                  const setting *z,
                  const char *mode,
                  const pith_function *f,
                  int count,
                  const void *const *given,
                  const void *want,
                  bool pair) {
    for (int way = 0; way < 2; way++, f = pith_jit(t->s, f, NULL)) {
        const void *got = pith_call(t->s, f, count, given);
        const bool fine = !pith_failed(t->s) &&
                          (pair ? near(t, pith_child(got, 0), pith_child(want, 0)) &&
                                      near(t, pith_child(got, 1), pith_child(want, 1))
                                : near(t, got, want));
        if (!fine)
            fprintf(stderr, "rank %d of %d: %s, %s%s: %s\n", (int)t->rank, (int)t->size,
                    kinds[z->kind].name, mode, way ? ", compiled" : "",
                    pith_message(t->s));
        MESH_CHECK(t, fine);
        pith_clear(t->s);
    }
}

static const pith_derive_options both = {.arguments =
                                             PITH_ARGUMENT(0) | PITH_ARGUMENT(1)},
                                 weights = {.arguments = PITH_ARGUMENT(0)};

static void check_reverse(mesh_test *t, const setting *z) {
    const void *own[] = {z->w, z->shards}, *all[] = {z->w, z->x};
    const void *want = pith_call(t->s, pith_value_and_grad(t->s, z->all, &both), 2, all),
               *slopes = pith_child(want, 1);
    check(t, z, "gradient", pith_grad(t->s, z->map, &both), 2, own, slopes, true);
    check(t, z, "value and gradient", pith_value_and_grad(t->s, z->map, &weights), 2, own,
          pith_tuple_make(t->s, PITH_ITEMS(pith_child(want, 0), pith_child(slopes, 0))),
          true);
    check(t, z, "gradient inside",
          mapped(t->s, pith_grad(t->s, z->own, &both),
                 PITH_SPECS({"[0]", ""}, {"[1]", "x"})),
          2, own, slopes, true);
    const pith_linearized l = pith_vjp(t->s, z->map, 2, own, &both);
    const void *pulled =
        l.map ? pith_call(t->s, l.map, 1, (const void *[]){l.value}) : NULL;
    const pith_array *value = pith_child(want, 0);
    MESH_CHECK(
        t, near(t, pith_child(pulled, 0), pith_mul(t->s, pith_child(slopes, 0), value)));
    MESH_CHECK(
        t, near(t, pith_child(pulled, 1), pith_mul(t->s, pith_child(slopes, 1), value)));
}

static void check_forward(mesh_test *t, const setting *z) {
    const void *own[] = {z->w, z->shards}, *all[] = {z->w, z->x},
               *t_own = pith_tuple_make(t->s, PITH_ITEMS(z->v, z->v_shards)),
               *t_all = pith_tuple_make(t->s, PITH_ITEMS(z->v, z->u));
    const pith_pushed got = pith_jvp(t->s, z->map, 2, own, t_own, &both),
                      want = pith_jvp(t->s, z->all, 2, all, t_all, &both);
    MESH_CHECK(t, near(t, got.value, want.value) && near(t, got.tangent, want.tangent));
    const pith_linearized l = pith_linearize(t->s, z->map, 2, own, &both);
    MESH_CHECK(t, l.map && near(t, pith_call(t->s, l.map, 1, &t_own), want.tangent));
    const void *own3[] = {z->w, z->shards, z->v}, *all3[] = {z->w, z->x, z->v};
    check(t, z, "product with the Hessian", pith_hessian_product(t->s, z->map, &weights),
          3, own3, pith_call(t->s, pith_hessian_product(t->s, z->all, &weights), 3, all3),
          true);
}

static void derives_in_every_mode(mesh_test *t) {
    for (int kind = 0; kind < KINDS; kind++) {
        pith_jit_clear(
            pith_scope_runtime(t->s)); /* functions are known by their address */
        const over_rows own = {
            .call = {.name = "own", .call = call_over_rows, .arity = 2}, .kind = kind};
        over_rows all = own;
        all.ranks = t->size;
        setting z = {.kind = kind, .own = &own.call, .all = &all.call};
        const pith_shape whole = PITH_SHAPE(ROWS * t->size, MANY);
        z.w = mesh_data(t, 1, PITH_F64, PITH_SHAPE(MANY));
        z.x = mesh_data(t, 2, PITH_F64, whole);
        z.v = mesh_data(t, 3, PITH_F64, PITH_SHAPE(MANY));
        z.u = mesh_data(t, 4, PITH_F64, whole);
        z.shards = pith_shard(t->s, z.x, PITH_SPECS({"", "x"}));
        z.v_shards = pith_shard(t->s, z.u, PITH_SPECS({"", "x"}));
        z.map = mapped(t->s, z.own, PITH_SPECS({"", ""}));
        check_reverse(t, &z);
        if (kinds[kind].forward)
            check_forward(t, &z);
        if (pith_failed(t->s))
            fprintf(stderr, "%s: %s\n", kinds[kind].name, pith_message(t->s));
        MESH_CHECK(t, pith_agree(t->s));
        pith_clear(t->s);
        pith_jit_clear(pith_scope_runtime(t->s));
    }
}

const mesh_case mesh_shard_mode_cases[] = {
    {"derives_in_every_mode", derives_in_every_mode},
    {NULL, NULL},
};
