/* Halos: a block of a grid with rows of its neighbours along an axis of the mesh, and the
 * transpose of that, which adds rows of a halo to where they came from. */
#include "pith/array_collective.h"
#include "pith/route.h"

#include "base/in_flight.h"
#include "route/route_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct halo {
    pithp_transfer c;
    const pith_array *a;
    const char *mesh_axis;
    bool wrap;
    int axis;
    int64_t n, before, after; /* rows of a block, and of the halo */
    int64_t left, right;      /* neighbours; -1: none */
    size_t row;               /* bytes of a row, if rows are contiguous */
    bool contiguous;          /* and the host reaches them */
} halo;

/* Rows that pass between neighbours. Those before a block come from the left. */
typedef struct strips {
    void *to_left, *to_right, *from_left, *from_right;
    size_t left_bytes, right_bytes; /* of what is sent to the left, and to the right */
} strips;

/* ---- What ranks compare ---- */

static void print(const void *closure, char what[PITHP_WHAT_BYTES]) {
    const halo *h = closure;
    char text[PITHP_SPEC_TEXT_BYTES];
    snprintf(what, PITHP_WHAT_BYTES,
             "%.80s over %.30s, axis %d, %" PRId64 " before, %" PRId64 " after%s",
             pithp_spec_print(pithp_array_spec(h->a), text), h->c.group->axes, h->axis,
             h->before, h->after, h->wrap ? ", wrap" : "");
}

/* What `print` says. */
static uint64_t digest_of(const halo *h) {
    const pith_spec *spec = pithp_array_spec(h->a);
    const char *axes = h->c.group->axes;
    const int64_t numbers[] = {
        (int64_t)spec->dtype, spec->rank, h->axis, h->before, h->after, h->wrap};
    uint64_t d = pithp_hash(0, numbers, sizeof numbers);
    if (spec->rank)
        d = pithp_hash(d, spec->shape, (size_t)spec->rank * sizeof *spec->shape);
    return pithp_hash(d, axes, strlen(axes));
}

/* ---- Entering ---- */

/* The axis, the widths and the neighbours. halo_rows: the operand has the halo already.
 */
static void describe(halo *h, int axis, bool halo_rows) {
    pithp_transfer *c = &h->c;
    const pith_spec *spec = pithp_transfer_fine(c) ? pithp_array_spec(h->a) : NULL;
    if (!spec || (h->axis = pithp_axis(c->w, c->function, axis, spec->rank)) < 0)
        return;
    const int64_t most = h->before > h->after ? h->before : h->after;
    if (h->before < 0 || h->after < 0) {
        pithp_fail(c->w, PITH_E_ARG, NULL,
                   "%s: %" PRId64 " rows before and %" PRId64
                   " after, expected 0 or more",
                   c->function, h->before, h->after);
        return;
    }
    h->n = spec->shape[h->axis];
    if (halo_rows) /* widths of up to INT64_MAX */
        h->n = h->before > h->n || h->after > h->n - h->before
                   ? -1
                   : h->n - h->before - h->after;
    if (most > h->n) {
        pithp_fail(c->w, PITH_E_SHAPE, NULL,
                   "%s: axis %d: a halo of %" PRId64
                   " rows is wider than the block of a neighbour, which has %" PRId64
                   "%s",
                   c->function, h->axis, most, h->n < 0 ? 0 : h->n,
                   halo_rows ? " without its own halo" : "");
        return;
    }
    const pithp_mesh_group *g = c->group;
    h->left = g->rank > 0 ? g->rank - 1 : h->wrap ? g->size - 1 : -1;
    h->right = g->rank + 1 < g->size ? g->rank + 1 : h->wrap ? 0 : -1;
    int64_t outer = 1;
    for (int d = 0; d < h->axis; d++)
        outer *= spec->shape[d];
    h->contiguous = outer == 1 && !c->recorded && !pithp_array_is_traced(h->a) &&
                    pithp_scope_device(c->w)->backend->addressable;
    h->row = spec->shape[h->axis] ? spec->bytes / (size_t)spec->shape[h->axis] : 0;
    c->describe = print;
    c->closure = h;
}

static bool
enter(halo *h, pith_scope *s, const char *function, int axis, bool halo_rows) {
    h->left = h->right = -1;
    pithp_transfer *c = &h->c;
    if (!pithp_transfer_enter(c, s, function, h->mesh_axis))
        return false;
    if (pithp_transfer_fine(c) &&
        pithp_operand_check(c->w, h->a, function, "a") == PITH_OK)
        describe(h, axis, halo_rows);
    return true;
}

/* ---- Parts of arrays ---- */

/* Rows begin to end of the axis. NULL: error set. */
static const pith_array *
rows_of(const halo *h, const pith_array *a, int64_t begin, int64_t end) {
    pith_slice slices[PITH_MAX_RANK];
    if (!a || !pithp_transfer_fine(&h->c))
        return NULL;
    for (int d = 0; d < h->axis; d++)
        slices[d] = PITH_WHOLE;
    slices[h->axis] = PITH_SLICE(begin, end, 1);
    return pith_slice_array(h->c.w, a, h->axis + 1, slices);
}

/* A new array like another. NULL: error set. */
static const pith_array *make_rows(halo *h, const pith_array *like, bool zero) {
    const pith_spec *spec =
        like && pithp_transfer_fine(&h->c) ? pithp_array_spec(like) : NULL;
    const pith_array *made = spec ? pithp_array_make(h->c.w, spec) : NULL;
    const uint8_t nothing = 0;
    if (made && zero && spec->bytes)
        pithp_fill(h->c.w, made->data, &nothing, 1, (int64_t)spec->bytes);
    return made;
}

static const pith_array *join(halo *h, int count, const pith_array *const *parts) {
    for (int i = 0; i < count; i++)
        if (!parts[i])
            return NULL;
    return pithp_transfer_fine(&h->c) ? pith_concatenate(h->c.w, count, parts, h->axis)
                                      : NULL;
}

/* ---- Messages ---- */

/* Agree with the other ranks, and pass the strips on. To and from one neighbour on both
 * sides, what goes to the left is what comes from the right: the first of two. device:
 * the strips in its memory, if the host does not reach them. */
static bool pass_strips(halo *h, const strips *host, const strips *device) {
    pithp_parcel sends[2], receives[2];
    int to = 0, from = 0;
    if (!pithp_transfer_agree(&h->c, pithp_transfer_fine(&h->c) ? digest_of(h) : 0))
        return false;
    const strips *p = h->c.direct ? device : host;
    if (h->left >= 0 && p->left_bytes)
        sends[to++] = (pithp_parcel){h->left, p->to_left, p->left_bytes};
    if (h->right >= 0 && p->right_bytes)
        sends[to++] = (pithp_parcel){h->right, p->to_right, p->right_bytes};
    if (h->right >= 0 && p->left_bytes)
        receives[from++] = (pithp_parcel){h->right, p->from_right, p->left_bytes};
    if (h->left >= 0 && p->right_bytes)
        receives[from++] = (pithp_parcel){h->left, p->from_left, p->right_bytes};
    pithp_transfer_pass(
        &h->c, &(pithp_exchange){
                   .sends = to, .receives = from, .send = sends, .receive = receives});
    pithp_collective_end(h->c.w);
    return true;
}

/* The same for arrays. Recorded, it is two permutations of the ranks, and their rules. */
static bool pass_rows(halo *h,
                      const pith_array *to_left,
                      const pith_array *to_right,
                      const pith_array **from_left,
                      const pith_array **from_right) {
    pithp_transfer *c = &h->c;
    if (c->recorded) {
        *from_left = pith_pshift(c->w, to_right, h->mesh_axis, 1, h->wrap, NULL);
        *from_right = pith_pshift(c->w, to_left, h->mesh_axis, -1, h->wrap, NULL);
        return pithp_transfer_fine(c);
    }
    *from_left = make_rows(h, to_right, h->left < 0);
    *from_right = make_rows(h, to_left, h->right < 0);
    pithp_piece out[] = {pithp_row_piece_of(c, to_left, true),
                         pithp_row_piece_of(c, to_right, true)};
    pithp_piece in[] = {pithp_row_piece_of(c, *from_left, h->left < 0),
                        pithp_row_piece_of(c, *from_right, h->right < 0)};
    strips host = {.left_bytes = 0}, device = {.left_bytes = 0};
    if (pithp_transfer_fine(c)) {
        const size_t left = pithp_array_spec(to_left)->bytes,
                     right = pithp_array_spec(to_right)->bytes;
        host = (strips){out[0].data, out[1].data, in[0].data, in[1].data, left, right};
        device = (strips){to_left->data,       to_right->data, (*from_left)->data,
                          (*from_right)->data, left,           right};
    }
    const bool agreed = pass_strips(h, &host, &device);
    for (int i = 0; i < 2; i++) {
        pithp_piece_free(c, &out[i]);
        pithp_row_piece_store(c, &in[i]);
    }
    return agreed && pithp_transfer_fine(c);
}

/* ---- A halo ---- */

/* Neighbours' rows go straight into the result. */
static const pith_array *halo_in_place(halo *h) {
    pithp_transfer *c = &h->c;
    int64_t shape[PITHP_MAX_RANK];
    const pith_spec *spec = pithp_transfer_fine(c) ? pithp_array_spec(h->a) : NULL;
    if (spec) {
        memcpy(shape, spec->shape, sizeof shape);
        shape[h->axis] += h->before + h->after;
        spec = pithp_spec(c->w, spec->dtype, spec->rank, shape);
    }
    const pith_array *result = spec ? pithp_array_make(c->w, spec) : NULL;
    char *own = result ? h->a->data : NULL, *to = result ? result->data : NULL;
    const size_t before = (size_t)h->before * h->row, after = (size_t)h->after * h->row,
                 bytes = (size_t)h->n * h->row;
    if (result && bytes)
        pithp_copy(c->w, to + before, own, bytes);
    strips p = {.left_bytes = after, .right_bytes = before};
    if (result) {
        p.to_left = own;
        p.to_right = own + bytes - before;
        p.from_left = to;
        p.from_right = to + before + bytes;
    }
    if (!pass_strips(h, &p, NULL))
        return NULL;
    if (h->left < 0 && before)
        memset(p.from_left, 0, before);
    if (h->right < 0 && after)
        memset(p.from_right, 0, after);
    return result;
}

static const pith_array *record(halo *h) {
    const pithp_collective_params params = {.group = h->c.group,
                                            .axis = h->axis,
                                            .root = h->before,
                                            .join = h->after,
                                            .wrap = h->wrap};
    return pithp_transfer_fine(&h->c)
               ? pithp_transfer_bind(&h->c, PITHP_OP_HALO, 1, &h->a, &params)
               : NULL;
}

static const pith_array *halo_by_parts(halo *h) {
    const pith_array *first = rows_of(h, h->a, 0, h->after), *left, *right;
    const pith_array *last = rows_of(h, h->a, h->n - h->before, h->n);
    return pass_rows(h, first, last, &left, &right)
               ? join(h, 3, (const pith_array *[]){left, h->a, right})
               : NULL;
}

const pith_array *pith_halo(pith_scope *s,
                            const pith_array *a,
                            int axis,
                            const char *mesh_axis,
                            int64_t before,
                            int64_t after,
                            bool wrap) {
    PITHP_IN_FLIGHT(s, "pith_halo");
    halo h = {
        .a = a, .mesh_axis = mesh_axis, .wrap = wrap, .before = before, .after = after};
    if (!enter(&h, s, "pith_halo", axis, false))
        return NULL;
    return pithp_transfer_leave(&h.c, h.c.recorded   ? record(&h)
                                      : h.contiguous ? halo_in_place(&h)
                                                     : halo_by_parts(&h));
}

/* ---- Its transpose ---- */

/* The block with rows added from row `at` on. */
static const pith_array *
add_rows(halo *h, const pith_array *block, int64_t at, const pith_array *rows) {
    if (!block || !rows || !pithp_transfer_fine(&h->c))
        return NULL;
    const int64_t end = at + pithp_array_spec(rows)->shape[h->axis];
    const pith_array *some = rows_of(h, block, at, end);
    const pith_array *parts[] = {rows_of(h, block, 0, at),
                                 some ? pith_add(h->c.w, some, rows) : NULL,
                                 rows_of(h, block, end, h->n)};
    return join(h, 3, parts);
}

const pith_array *pith_halo_add(pith_scope *s,
                                const pith_array *a,
                                int axis,
                                const char *mesh_axis,
                                int64_t before,
                                int64_t after,
                                bool wrap) {
    PITHP_IN_FLIGHT(s, "pith_halo_add");
    halo h = {
        .a = a, .mesh_axis = mesh_axis, .wrap = wrap, .before = before, .after = after};
    pithp_transfer *c = &h.c;
    const pith_array *left = NULL, *right = NULL;
    if (!enter(&h, s, "pith_halo_add", axis, true))
        return NULL;
    if (pithp_transfer_fine(c) && pithp_array_spec(a)->dtype == PITH_BOOL)
        pithp_fail(c->w, PITH_E_DTYPE, NULL, "pith_halo_add: expected numbers, got bool");
    const pith_array *to_left = rows_of(&h, a, 0, before);
    const int64_t end = pithp_transfer_fine(c) ? before + h.n : 0,
                  all = pithp_transfer_fine(c) ? end + after : 0;
    const pith_array *block = rows_of(&h, a, before, end);
    const pith_array *to_right = rows_of(&h, a, end, all);
    if (!pass_rows(&h, to_left, to_right, &left, &right))
        return pithp_transfer_leave(c, NULL);
    if (after)
        block = add_rows(&h, block, 0, left);
    if (before)
        block = add_rows(&h, block, h.n - before, right);
    return pithp_transfer_leave(c, block);
}
