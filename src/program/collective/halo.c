/* halo (params.h): a block with rows of its neighbours along an axis. Through hosts all
 * four messages of a rank are under way at once. Where rows are contiguous they go from
 * the operand straight into the result; otherwise by strips in temporary memory. */
#include "program/collective/move.h"

#include <string.h>

typedef struct halo {
    pithp_mover *m;
    const pith_spec *x;
    int axis;
    int64_t n, before, after; /* rows of the block, and of the halo */
    int64_t left, right;      /* neighbours; -1: none */
    size_t row;               /* bytes of a row of all outer extents */
} halo;

static halo halo_of(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const pithp_collective_params *p = m->params;
    const pithp_mesh_group *g = m->group;
    const int64_t n = x->shape[p->axis];
    return (halo){.m = m,
                  .x = x,
                  .axis = (int)p->axis,
                  .n = n,
                  .before = p->root,
                  .after = p->join,
                  .left = g->rank > 0 ? g->rank - 1
                          : p->wrap   ? g->size - 1
                                      : -1,
                  .right = g->rank + 1 < g->size ? g->rank + 1
                           : p->wrap             ? 0
                                                 : -1,
                  .row = n ? x->bytes / (size_t)n : 0};
}

/* An address within memory, which is NULL while it is counted. */
static char *place(const void *memory, size_t at) {
    return memory ? (char *)(uintptr_t)memory + at : NULL;
}

/* ---- Messages ---- */

typedef struct strips {
    void *to_left, *to_right, *from_left, *from_right;
} strips;

/* Between devices: rows for one neighbour, and from the other. */
static void transfer(const halo *h,
                     const void *from,
                     void *to,
                     int64_t rows,
                     int64_t receiver,
                     int64_t sender) {
    const size_t bytes = (size_t)rows * h->row;
    if (sender < 0)
        pithp_mover_zero(h->m, to, bytes);
    if (sender >= 0 || receiver >= 0)
        pithp_mover_transfer(h->m, &(pithp_device_move){.kind = PITHP_TRANSFER_PERMUTE,
                                                        .from = from,
                                                        .to = to,
                                                        .bytes = bytes,
                                                        .receiver = receiver,
                                                        .sender = sender});
}

/* To and from one neighbour on both sides, what goes to the left is what comes from the
 * right: the first of two messages. Rows without a neighbour are zeros. meanwhile: of
 * messages of the host; or NULL. */
static void pass(const halo *h, const strips *t, void (*meanwhile)(void *h)) {
    pithp_mover *m = h->m;
    if (m->direct) {
        transfer(h, t->to_left, t->from_right, h->after, h->left, h->right);
        transfer(h, t->to_right, t->from_left, h->before, h->right, h->left);
        return;
    }
    const size_t to_left = (size_t)h->after * h->row,
                 to_right = (size_t)h->before * h->row;
    const pithp_reach out[] = {
        pithp_mover_reach(m, t->to_left, to_left, h->left >= 0),
        pithp_mover_reach(m, t->to_right, to_right, h->right >= 0)};
    const pithp_reach in[] = {pithp_mover_reach(m, t->from_right, to_left, false),
                              pithp_mover_reach(m, t->from_left, to_right, false)};
    const int64_t to[] = {h->left, h->right}, from[] = {h->right, h->left};
    pithp_parcel sends[2], receives[2];
    int going = 0, coming = 0;
    for (int i = 0; i < 2; i++) {
        if (to[i] >= 0 && out[i].bytes)
            sends[going++] = (pithp_parcel){to[i], out[i].host, out[i].bytes};
        if (from[i] >= 0 && in[i].bytes)
            receives[coming++] = (pithp_parcel){from[i], in[i].host, in[i].bytes};
    }
    if (m->s) /* whatever has failed here: the neighbours wait */
        pithp_mesh_group_messages(m->s, m->group,
                                  &(pithp_exchange){.sends = going,
                                                    .receives = coming,
                                                    .send = sends,
                                                    .receive = receives,
                                                    .meanwhile = meanwhile,
                                                    .closure = (void *)(uintptr_t)h});
    for (int i = 0; i < 2; i++) {
        if (from[i] >= 0)
            pithp_mover_store(m, &in[i]);
        else
            pithp_mover_zero(m, in[i].device, in[i].bytes);
    }
}

/* ---- Both ways ---- */

/* The block goes to its place while the strips are under way. */
static void copy_block(void *closure) {
    const halo *h = closure;
    pithp_mover_copy(h->m, place(pithp_mover_out(h->m, 0), (size_t)h->before * h->row),
                     pithp_mover_in(h->m, 0), h->x->bytes);
}

static void in_place(const halo *h) {
    const void *x = pithp_mover_in(h->m, 0);
    void *result = pithp_mover_out(h->m, 0);
    const size_t before = (size_t)h->before * h->row;
    const strips t = {.to_left = place(x, 0),
                      .to_right = place(x, h->x->bytes - before),
                      .from_left = place(result, 0),
                      .from_right = place(result, before + h->x->bytes)};
    pass(h, &t, copy_block);
}

/* A strip of rows. */
static pith_spec strip_of(const halo *h, int64_t rows) {
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, h->x->shape, sizeof shape);
    shape[h->axis] = rows;
    return pithp_mover_spec(h->x->dtype, h->x->rank, shape);
}

/* Rows of the operand in memory of their own. */
static void *rows_of(const halo *h, int64_t begin, const pith_spec *strip) {
    pithp_slice_params slice = {.start = {0}};
    memcpy(slice.limit, strip->shape, sizeof slice.limit);
    for (int d = 0; d < h->x->rank; d++)
        slice.step[d] = 1;
    slice.start[h->axis] = begin;
    slice.limit[h->axis] = begin + strip->shape[h->axis];
    const void *x = pithp_mover_in(h->m, 0);
    void *made = pithp_mover_take(h->m, strip->bytes);
    pithp_mover_apply(h->m, PITHP_OP_SLICE, 1, &h->x, &x, &slice, strip, made);
    return made;
}

static void by_strips(const halo *h) {
    pithp_mover *m = h->m;
    const pith_spec first = strip_of(h, h->before), last = strip_of(h, h->after);
    const pithp_concatenate_params join = {h->axis};
    const strips t = {.to_left = rows_of(h, 0, &last),
                      .to_right = rows_of(h, h->n - h->before, &first),
                      .from_left = pithp_mover_take(m, first.bytes),
                      .from_right = pithp_mover_take(m, last.bytes)};
    pass(h, &t, NULL);
    const pith_spec *specs[] = {&first, h->x, &last};
    const void *parts[] = {t.from_left, pithp_mover_in(m, 0), t.from_right};
    pithp_mover_apply(m, PITHP_OP_CONCATENATE, 3, specs, parts, &join, m->result,
                      pithp_mover_out(m, 0));
}

void pithp_mover_halo(pithp_mover *m) {
    const halo h = halo_of(m);
    int64_t outer = 1;
    for (int d = 0; d < h.axis; d++)
        outer *= h.x->shape[d];
    if (outer == 1 && !m->direct) /* devices move whole buffers */
        in_place(&h);
    else
        by_strips(&h);
}
