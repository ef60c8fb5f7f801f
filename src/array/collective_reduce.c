/* Reductions over ranks. Integers take the engine's reduction: their result has no order.
 * Floats are moved by the engine and combined by pith's own reduction over a stack of the
 * ranks' arrays, so that they have its bits. */
#include "array/collective.h"
#include "base/in_flight.h"

#include <string.h>

/* Combine a stack [P, n] over its first axis. */
typedef const pith_array *(*combiner)(pith_scope *s,
                                      const pith_array *stack,
                                      pith_axes axes);

typedef struct reduction {
    combiner combine;
    pithp_combine how; /* for the engine */
    bool by_engine;
} reduction;

/* Stacks up to this size are gathered whole; of larger ones each rank combines a part. */
enum { SMALL_BYTES = 32768 };

static bool is_float(const pithp_collective *c) {
    return pith_dtype_is_float(pithp_array_spec(c->a)->dtype);
}

/* ---- By the engine ---- */

/* A copy of the operand, reduced in place. */
static const pith_array *reduce_by_engine(pithp_collective *c, pithp_combine how) {
    const pith_spec *spec = pithp_array_spec(c->a);
    const pith_array *result = pithp_collective_make(c, spec->rank, spec->shape);
    if (result && spec->bytes)
        pithp_copy(c->w, result->data, c->a->data, spec->bytes);
    pithp_piece p = pithp_piece_of(c, result, true);
    if (!pithp_collective_agree(c, (uint64_t)how)) {
        pithp_piece_free(c, &p);
        return NULL;
    }
    pithp_mesh_group_reduce(c->w, c->group, how, spec->dtype, p.data, spec->count);
    pithp_collective_end(c->w);
    pithp_piece_store(c, &p);
    return result;
}

/* ---- In pith's order ---- */

/* Every rank combines the whole stack. */
static const pith_array *reduce_small(pithp_collective *c, combiner combine) {
    const pith_spec *spec = pithp_collective_fine(c) ? pithp_array_spec(c->a) : NULL;
    const int64_t shape[] = {spec ? c->group->size : 0, spec ? spec->count : 0};
    const pith_array *stack = pithp_collective_make(c, 2, shape);
    const pith_array *row =
        pithp_collective_gather(c, stack) ? combine(c->w, stack, PITH_AXES(0)) : NULL;
    return row ? pithp_collective_see(c, row, spec->rank, spec->shape) : NULL;
}

/* The operand as P parts of equal size, the last filled with zeros. */
static const pith_array *padded(pithp_collective *c, int64_t part) {
    const pith_spec *spec = pithp_array_spec(c->a);
    const int64_t count = part * c->group->size;
    if (count == spec->count || !pithp_collective_fine(c))
        return c->a;
    const pith_array *made = pithp_collective_make(c, 1, &count);
    const size_t width = pith_dtype_size(spec->dtype),
                 rest = (size_t)(count - spec->count) * width;
    const uint8_t zero = 0;
    if (made && pithp_copy(c->w, made->data, c->a->data, spec->bytes) == PITH_OK)
        pithp_fill(c->w, (char *)made->data + spec->bytes, &zero, 1, (int64_t)rest);
    return made;
}

/* Each rank combines one of P parts, and all gather the parts. */
static const pith_array *reduce_large(pithp_collective *c, combiner combine) {
    const pith_spec *spec = pithp_array_spec(c->a);
    const int64_t ranks = c->group->size, part = (spec->count + ranks - 1) / ranks;
    const int64_t shape[] = {ranks, part}, count = ranks * part;
    const size_t bytes = (size_t)part * pith_dtype_size(spec->dtype);
    const pith_array *all = padded(c, part), *stack = pithp_collective_make(c, 2, shape);
    const pith_array *whole = pithp_collective_make(c, 1, &count);
    pithp_piece from = pithp_piece_of(c, all, true), to = pithp_piece_of(c, stack, false);
    pithp_piece result = pithp_piece_of(c, whole, false);
    bool agreed = pithp_collective_agree(c, 1);
    if (agreed) {
        pithp_mesh_group_transpose(c->w, c->group, from.data, to.data, bytes);
        pithp_piece_store(c, &to);
        const pith_array *own = combine(c->w, stack, PITH_AXES(0));
        if (pithp_collective_fine(c))
            pithp_synchronise(c->w);
        pithp_piece piece = pithp_piece_of(c, own, true);
        agreed = pithp_collective_agrees(c->w);
        if (agreed)
            pithp_mesh_group_gather(c->w, c->group, piece.data, result.data, bytes);
        pithp_piece_free(c, &piece);
        pithp_collective_end(c->w);
    }
    pithp_piece_free(c, &from);
    pithp_piece_free(c, &to);
    pithp_piece_store(c, &result);
    if (!agreed || !pithp_collective_fine(c))
        return NULL;
    const pith_array *used =
        count == spec->count
            ? whole
            : pith_slice_array(c->w, whole, 1, &PITH_SLICE(0, spec->count, 1));
    return pithp_collective_see(c, used, spec->rank, spec->shape);
}

static const pith_array *reduce(pithp_collective *c, const reduction *r) {
    const bool fine = pithp_collective_fine(c);
    if (fine && r->by_engine)
        return reduce_by_engine(c, r->how);
    const pith_spec *spec = fine ? pithp_array_spec(c->a) : NULL;
    if (!spec || c->group->size == 1 || spec->count < c->group->size ||
        spec->bytes <= SMALL_BYTES / (size_t)c->group->size)
        return reduce_small(c, r->combine);
    return reduce_large(c, r->combine);
}

/* ---- The functions ---- */

/* Halves have no sum in an engine, and Open MPI 4.1 saturates integers of 8 and 16 bits.
 */
static bool engine_adds(const pithp_collective *c,
                        const pith_collective_options *options) {
    const bool unordered = options && options->unordered;
    return pith_dtype_size(pithp_array_spec(c->a)->dtype) >= 4 &&
           (!is_float(c) || unordered);
}

const pith_array *pith_psum(pith_scope *s,
                            const pith_array *a,
                            const char *axes,
                            const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_psum");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_psum", a, axes))
        return NULL;
    pithp_collective_mask(&c, options);
    reduction r = {pith_sum, PITHP_COMBINE_SUM, false};
    if (pithp_collective_fine(&c)) {
        if (pithp_array_spec(c.a)->dtype == PITH_BOOL)
            c.a = pithp_cast(c.w, c.a, PITH_I64);
        r.by_engine = pithp_collective_fine(&c) && engine_adds(&c, options);
    }
    return pithp_collective_leave(&c, reduce(&c, &r));
}

const pith_array *pith_pmean(pith_scope *s,
                             const pith_array *a,
                             const char *axes,
                             const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_pmean");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pmean", a, axes))
        return NULL;
    pithp_collective_mask(&c, options);
    if (pithp_collective_fine(&c) && !is_float(&c))
        pithp_fail(c.w, PITH_E_DTYPE, NULL, "pith_pmean: expected a float dtype, got %s",
                   pith_dtype_name(pithp_array_spec(a)->dtype));
    reduction r = {pith_mean, PITHP_COMBINE_SUM, false};
    r.by_engine = pithp_collective_fine(&c) && engine_adds(&c, options);
    const pith_array *mean = reduce(&c, &r);
    if (mean && r.by_engine) {
        const pith_array *ranks = pith_like(c.w, mean, (double)c.group->size);
        mean = pith_div(c.w, mean, ranks);
    }
    return pithp_collective_leave(&c, mean);
}

/* MPICH 4.0 compares unsigned integers as signed ones. */
static bool engine_orders(const pithp_collective *c) {
    const pith_dtype dtype = pithp_array_spec(c->a)->dtype;
    return dtype == PITH_BOOL || (dtype >= PITH_I8 && dtype <= PITH_I64);
}

static const pith_array *extreme(pith_scope *s,
                                 const char *function,
                                 const pith_array *a,
                                 const char *axes,
                                 combiner combine,
                                 pithp_combine how) {
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, function, a, axes))
        return NULL;
    const reduction r = {combine, how, pithp_collective_fine(&c) && engine_orders(&c)};
    return pithp_collective_leave(&c, reduce(&c, &r));
}

const pith_array *pith_pmax(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pmax");
    return extreme(s, "pith_pmax", a, axes, pith_max, PITHP_COMBINE_MAX);
}

const pith_array *pith_pmin(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pmin");
    return extreme(s, "pith_pmin", a, axes, pith_min, PITHP_COMBINE_MIN);
}

/* Integers of 8 and 16 bits are added in 32, and wrap when they are cast back. */
const pith_array *pith_pscan(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pscan");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pscan", a, axes))
        return NULL;
    const pith_dtype dtype =
        pithp_collective_fine(&c) ? pithp_array_spec(a)->dtype : PITH_DTYPE_NONE;
    if (dtype && !pith_dtype_is_integer(dtype))
        pithp_fail(c.w, PITH_E_DTYPE, NULL, "pith_pscan: expected integers, got %s",
                   pith_dtype_name(dtype));
    else if (dtype && pith_dtype_size(dtype) < 4)
        c.a = pithp_cast(c.w, a, PITH_U32);
    const pith_spec *spec = pithp_collective_fine(&c) ? pithp_array_spec(c.a) : NULL;
    const pith_array *result =
        spec ? pithp_collective_make(&c, spec->rank, spec->shape) : NULL;
    pithp_piece from = pithp_piece_of(&c, c.a, true),
                to = pithp_piece_of(&c, result, false);
    const bool agreed = pithp_collective_agree(&c, 0);
    if (agreed) {
        pithp_mesh_group_scan(c.w, c.group, spec->dtype, from.data, to.data, spec->count);
        pithp_collective_end(c.w);
    }
    pithp_piece_free(&c, &from);
    pithp_piece_store(&c, &to);
    if (agreed && pithp_collective_fine(&c))
        result = pithp_cast(c.w, result, dtype);
    return pithp_collective_leave(&c, result);
}
