/* Tangents of scatters that multiply, and of those that keep extremes. */
#include "program/derive/rules.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c);   \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c)

#define num(x)         pithp_derive_number(d, x)
#define add(x, y)      pithp_derive_2(d, PITHP_OP_ADD, x, y)
#define mul(x, y)      pithp_derive_2(d, PITHP_OP_MUL, x, y)
#define div(x, y)      pithp_derive_2(d, PITHP_OP_DIV, x, y)
#define eq(x, y)       pithp_derive_2(d, PITHP_OP_EQ, x, y)
#define where(c, x, y) pithp_derive_3(d, PITHP_OP_WHERE, c, x, y)

/* ---- Operands ---- */

static int count_arrays(const pithp_moving_call *c) {
    return c->i->operand_count - 2;
}
static pithp_value updates_of(const pithp_moving_call *c) {
    return c->operands[c->i->operand_count - 1];
}
static pithp_value tangent_of_updates(const pithp_moving_call *c) {
    return c->tangents[c->i->operand_count - 1];
}

/* The elements of x that the updates belong to. */
static pithp_value taken(pithp_derivation *d, const pithp_moving_call *c, pithp_value x) {
    return pithp_derive_indexed(d, c, count_arrays(c), PITHP_OP_TAKE, x, PITHP_ABSENT);
}

static pithp_value scattered(pithp_derivation *d,
                             const pithp_moving_call *c,
                             pithp_primitive op,
                             pithp_value x,
                             pithp_value updates) {
    return pithp_derive_indexed(d, c, count_arrays(c), op, x, updates);
}

static bool has_updates(pithp_derivation *d, const pithp_moving_call *c) {
    return pithp_derived_spec(d, updates_of(c))->count &&
           pithp_derived_spec(d, c->operands[0])->count;
}

static pithp_value reshape(pithp_derivation *d, pithp_value v, const pith_spec *spec) {
    pithp_reshape_params to = {.rank = spec->rank};
    memcpy(to.shape, spec->shape, sizeof to.shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &to);
}

static pithp_value cast(pithp_derivation *d, pithp_value v, pith_dtype dtype) {
    const pithp_cast_params p = {dtype};
    return v >= 0 && pithp_derived_spec(d, v)->dtype == dtype
               ? v
               : pithp_derive_call(d, PITHP_OP_CAST, 1, &v, &p);
}

/* ---- Products ---- */

/* Positions of updates, sorted by the elements that they belong to. */
typedef struct sorted {
    pithp_derivation *d;
    pith_spec flat;     /* of updates with one axis in place of those of the indices */
    int axis;           /* that one */
    pithp_value order;  /* the positions */
    pithp_value places; /* a number for each element; -1: none */
} sorted;

static pithp_value along(const sorted *g, pithp_value x, pithp_value index, int axis) {
    const pithp_index_params p = {.axis = axis, .mode = PITHP_INDEX_PROMISE};
    return pithp_derive_call(g->d, PITHP_OP_TAKE, 2, (const pithp_value[]){x, index}, &p);
}

/* The element before, or after; the first, or the last, has `fill`. */
static pithp_value
neighbour(const sorted *g, pithp_value x, int axis, bool after, pithp_value fill) {
    pithp_pad_params pad = {{0}, {0}, {0}};
    pad.low[axis] = after ? -1 : 1;
    pad.high[axis] = -pad.low[axis];
    return pithp_derive_call(g->d, PITHP_OP_PAD, 2, (const pithp_value[]){x, fill}, &pad);
}

static bool sort_positions(sorted *g, const pithp_moving_call *c) {
    pithp_derivation *d = g->d;
    const int arrays = count_arrays(c);
    const pith_spec *x = pithp_derived_spec(d, c->operands[0]),
                    *index = pithp_derived_spec(d, c->operands[1]);
    pithp_index_params p = pithp_derived_index(c);
    pith_spec targets = {.rank = arrays}, line = {.rank = 1, .shape = {index->count}};
    pithp_iota_params iota = {.dtype = PITH_I64, .rank = 1, .shape = {1}};
    g->axis = p.axis;
    g->flat = (pith_spec){.rank = x->rank - arrays + 1};
    for (int n = 0; n < x->rank; n++) {
        const bool selected = n >= p.axis && n < p.axis + arrays;
        if (selected)
            iota.shape[0] *= targets.shape[n - p.axis] = x->shape[n];
        g->flat.shape[n < p.axis + arrays ? (selected ? p.axis : n) : n - arrays + 1] =
            selected ? index->count : x->shape[n];
    }
    p.axis = 0;
    p.axes = 0;
    p.fill = UINT64_MAX;
    pithp_value operands[PITHP_MAX_RANK + 1] = {
        reshape(d, pithp_derive_call(d, PITHP_OP_IOTA, 0, NULL, &iota), &targets)};
    memcpy(operands + 1, c->operands + 1, (size_t)arrays * sizeof *operands);
    const pithp_value places =
        reshape(d, pithp_derive_call(d, PITHP_OP_TAKE, arrays + 1, operands, &p), &line);
    g->order =
        pithp_derive_call(d, PITHP_OP_ARGSORT, 1, &places, &(pithp_sort_params){0});
    g->places = along(g, places, g->order, 0);
    return g->places >= 0;
}

/* Products of the updates u of the same element before each one, or after it. */
static pithp_value products(const sorted *g, pithp_value u, bool after) {
    pithp_derivation *d = g->d;
    const pithp_full_params none = {.dtype = PITH_I64, .value = UINT64_MAX - 1};
    const pithp_value same =
        eq(g->places, neighbour(g, g->places, 0, after,
                                pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &none)));
    pithp_broadcast_params to = {.rank = g->flat.rank, .dimensions = {g->axis}};
    memcpy(to.shape, g->flat.shape, sizeof to.shape);
    const pithp_value joined = pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &same, &to);
    const pithp_value operands[2] = {
        where(joined, neighbour(g, u, g->axis, after, num(1)), num(0)),
        where(joined, num(0), num(1))};
    return pithp_derive_call(d, PITHP_OP_CUMLINEAR, 2, operands,
                             &(pithp_scan_params){.axis = g->axis, .reverse = after});
}

/* For each update the product of all others at its element, without a division: zeros
 * are exact. */
static pithp_value others(pithp_derivation *d, const pithp_moving_call *c) {
    const pith_spec *spec = pithp_derived_spec(d, updates_of(c));
    sorted g = {.d = d};
    if (!sort_positions(&g, c))
        return -1;
    const pithp_value u = along(&g, reshape(d, updates_of(c), &g.flat), g.order, g.axis);
    const pithp_value all = mul(products(&g, u, false), products(&g, u, true));
    const pithp_value back =
        pithp_derive_call(d, PITHP_OP_ARGSORT, 1, &g.order, &(pithp_sort_params){0});
    return reshape(d, along(&g, all, back, g.axis), spec);
}

RULE(scatter_mul) {
    const bool unique = ((const pithp_index_params *)c->i->params)->unique;
    const pithp_value x = c->operands[0], t = tangent_of_updates(c);
    const pithp_value into =
        c->tangents[0] == PITHP_ABSENT
            ? pithp_derive_zeros(d, pithp_derived_spec(d, x))
            : scattered(d, c, PITHP_OP_SCATTER_MUL, c->tangents[0], updates_of(c));
    if (t == PITHP_ABSENT || !has_updates(d, c))
        return into;
    const pithp_value at = taken(d, c, x);
    return scattered(d, c, PITHP_OP_SCATTER_ADD, into,
                     mul(t, unique ? at : mul(at, others(d, c))));
}

pithp_value pithp_transpose_scatter_mul(pithp_derivation *d,
                                        const pithp_moving_call *c,
                                        pithp_value ct,
                                        int k);

/* What is multiplied into has the cotangent multiplied into. */
pithp_value pithp_transpose_scatter_mul(pithp_derivation *d,
                                        const pithp_moving_call *c,
                                        pithp_value ct,
                                        int k) {
    (void)k;
    return scattered(d, c, PITHP_OP_SCATTER_MUL, ct, updates_of(c));
}

/* ---- Extremes ---- */

/* Equal extremes, updates and the element itself, share equally. */
RULE(scatter_extreme) {
    const pithp_value t = c->tangents[0], tu = tangent_of_updates(c), zero = num(0);
    const pith_spec *spec = pithp_derived_spec(d, c->operands[0]);
    const pith_dtype wide = pithp_wide_dtype(d->dtype);
    if (!has_updates(d, c))
        return t == PITHP_ABSENT ? pithp_derive_zeros(d, spec) : t;
    const pithp_value in_x = pithp_derive_is_extreme(d, c->operands[0], c->result),
                      in_u = pithp_derive_is_extreme(d, updates_of(c),
                                                     taken(d, c, c->result));
    pithp_value all = cast(
        d, t == PITHP_ABSENT ? pithp_derive_zeros(d, spec) : where(in_x, t, zero), wide);
    if (tu != PITHP_ABSENT)
        all = scattered(d, c, PITHP_OP_SCATTER_ADD, all,
                        cast(d, where(in_u, tu, zero), wide));
    const pithp_value count = scattered(d, c, PITHP_OP_SCATTER_ADD,
                                        cast(d, in_x, PITH_I64), cast(d, in_u, PITH_I64));
    return cast(d, div(all, cast(d, count, wide)), d->dtype);
}
