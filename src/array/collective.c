/* The frame of collectives: entering, agreeing, and memory that engines reach. */
#include "array/collective.h"

#include <stdio.h>
#include <string.h>

/* ---- Entering and leaving ---- */

static bool is_recorded(pith_scope *s, const char *function) {
    if (!pithp_scope_trace(s))
        return false;
    pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
               "%s: collectives are not recorded: call it outside of traced functions",
               function);
    return true;
}

bool pithp_collective_enter(pithp_collective *c,
                            pith_scope *s,
                            const char *function,
                            const pith_array *a,
                            const char *axes) {
    *c = (pithp_collective){.s = s, .w = s, .function = function, .a = a};
    const bool fine = pithp_enter_as(s, function);
    if (!pithp_scope_writable(s) || is_recorded(s, function))
        return false;
    char text[PITHP_SPEC_TEXT_BYTES];
    if (fine && (c->group = pithp_mesh_group_of(s, axes)) &&
        pithp_array_check(s, a, function, "a") == PITH_OK) {
        snprintf(c->what, sizeof c->what, "%.100s over %.50s",
                 pithp_spec_print(pithp_array_spec(a), text), c->group->axes);
        pith_scope *w = pithp_temporaries_open(s);
        c->w = w ? w : s;
    }
    return true;
}

bool pithp_collective_agree(pithp_collective *c, uint64_t extra) {
    if (pithp_collective_fine(c))
        pithp_synchronise(c->w);
    const pithp_intent intent = {
        .operation = c->function, .what = c->what, .extra = extra};
    return pithp_collective_begin(c->w, &intent);
}

const pith_array *pithp_collective_leave(pithp_collective *c, const pith_array *result) {
    if (c->w == c->s)
        return NULL;
    return pithp_temporaries_close(c->s, c->w, pithp_collective_fine(c) ? result : NULL);
}

/* ---- Arrays ---- */

const pith_array *
pithp_collective_make(pithp_collective *c, int rank, const int64_t *shape) {
    if (!pithp_collective_fine(c))
        return NULL;
    const pith_spec *spec = pithp_spec(c->w, pithp_array_spec(c->a)->dtype, rank, shape);
    return spec ? pithp_array_make(c->w, spec) : NULL;
}

const pith_array *pithp_collective_see(pithp_collective *c,
                                       const pith_array *a,
                                       int rank,
                                       const int64_t *shape) {
    if (!pithp_collective_fine(c) || !a)
        return NULL;
    const pith_spec *spec = pithp_spec(c->w, pithp_array_spec(a)->dtype, rank, shape);
    return spec ? pithp_alias(c->w, a, spec) : NULL;
}

void pithp_collective_mask(pithp_collective *c, const pith_collective_options *options) {
    const pith_array *rows = options ? options->rows : NULL;
    if (!rows || !pithp_collective_fine(c) ||
        pithp_array_check(c->w, rows, c->function, "rows") != PITH_OK)
        return;
    const pith_spec *spec = pithp_array_spec(c->a), *count = pithp_array_spec(rows);
    if (count->dtype != PITH_I64 || count->rank != 0) {
        pithp_fail(c->w, PITH_E_DTYPE, NULL, "%s: rows: expected an i64 of rank 0",
                   c->function);
        return;
    }
    if (spec->rank == 0) {
        pithp_fail(c->w, PITH_E_SHAPE, NULL, "%s: rows of an array of rank 0",
                   c->function);
        return;
    }
    pith_shape column = {.rank = spec->rank, .extents = {spec->shape[0]}};
    for (int d = 1; d < spec->rank; d++)
        column.extents[d] = 1;
    const pith_array *number = pith_iota(c->w, PITH_I64, column, 0);
    const pith_array *zero = pith_zeros(c->w, spec->dtype, PITH_SCALAR);
    const pith_array *masked =
        pith_where(c->w, pith_less(c->w, number, rows), c->a, zero);
    c->a = masked ? masked : c->a;
}

/* ---- Memory that engines reach ---- */

/* The host reaches the elements of arrays of its own device. Others are staged. */
pithp_piece pithp_piece_of(pithp_collective *c, const pith_array *a, bool load) {
    pithp_piece p = {.array = NULL};
    if (!a || !pithp_collective_fine(c)) /* else it may be no array */
        return p;
    p.array = a;
    const size_t bytes = pithp_array_spec(a)->bytes;
    if (pithp_scope_device(c->w)->backend->addressable) {
        p.data = a->data;
        return p;
    }
    p.data = pithp_allocate(c->w->runtime, bytes ? bytes : 1);
    p.staged = p.data != NULL;
    if (!p.data)
        pithp_fail_memory(c->w, bytes);
    else if (load && bytes)
        pithp_copy_out(c->w, p.data, a->data, bytes);
    return p;
}

void pithp_piece_store(pithp_collective *c, pithp_piece *p) {
    const size_t bytes = p->array ? pithp_array_spec(p->array)->bytes : 0;
    if (p->staged && bytes && pithp_collective_fine(c))
        pithp_copy_in(c->w, p->array->data, p->data, bytes);
    pithp_piece_free(c, p);
}

void pithp_piece_free(pithp_collective *c, pithp_piece *p) {
    const size_t bytes = p->array ? pithp_array_spec(p->array)->bytes : 0;
    if (p->staged)
        pithp_release(c->w->runtime, p->data, bytes ? bytes : 1);
    p->staged = false;
}

bool pithp_collective_gather(pithp_collective *c, const pith_array *all) {
    pithp_piece from = pithp_piece_of(c, c->a, true), to = pithp_piece_of(c, all, false);
    const bool agreed = pithp_collective_agree(c, 0);
    if (agreed) {
        pithp_mesh_group_gather(c->w, c->group, from.data, to.data,
                                pithp_array_spec(c->a)->bytes);
        pithp_collective_end(c->w);
    }
    pithp_piece_free(c, &from);
    pithp_piece_store(c, &to);
    return agreed;
}
