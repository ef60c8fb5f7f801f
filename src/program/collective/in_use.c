/* Collectives of arrays of which some rows are in use: sums, blocks and permutations move
 * these rows only. A rank that receives rows knows from a message before how many. */
#include "program/collective/move.h"

#include <string.h>

/* Addresses are NULL while memory is counted. */
static char *advanced(const void *at, size_t bytes) {
    return at ? (char *)(uintptr_t)at + bytes : NULL;
}

static int64_t clamp(int64_t n, int64_t most) {
    return n < 0 ? 0 : n < most ? n : most;
}

pithp_used_rows pithp_mover_used_rows(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const int64_t extent = x->shape[0];
    int64_t own = extent;
    pithp_mover_read(m, &own, pithp_mover_in(m, 1), sizeof own);
    return (pithp_used_rows){.extent = extent,
                             .own = clamp(own, extent),
                             .row = extent ? x->bytes / (size_t)extent : 0};
}

int64_t pithp_mover_most_rows(pithp_mover *m, const pithp_used_rows *u) {
    int64_t most = u->own;
    if (m->s)
        pithp_mesh_group_reduce(m->s, m->group, PITHP_COMBINE_MAX, PITH_I64, &most, 1);
    return most;
}

const void *pithp_mover_rows(pithp_mover *m, const pithp_used_rows *u, int64_t rows) {
    if (m->s && u->own == rows)
        return pithp_mover_in(m, 0);
    char *made = pithp_mover_take(m, (size_t)rows * u->row);
    const size_t used = (size_t)u->own * u->row;
    pithp_mover_copy(m, made, pithp_mover_in(m, 0), used);
    pithp_mover_zero(m, advanced(made, used), (size_t)rows * u->row - used);
    return made;
}

void pithp_mover_zero_rows(pithp_mover *m,
                           const pithp_used_rows *u,
                           void *array,
                           int64_t begin) {
    const size_t used = (size_t)begin * u->row;
    pithp_mover_zero(m, advanced(array, used), (size_t)u->extent * u->row - used);
}

/* ---- Blocks ---- */

/* The blocks of a rank's array. Rows in use are at the front of a block. */
typedef struct blocks {
    const pithp_mesh_group *group;
    int64_t rows;         /* of a block */
    bool one_after_other; /* the rows of the array are divided among the blocks */
    size_t row, bytes;    /* of a row of a block, and of a block */
} blocks;

static blocks blocks_of(const pithp_mover *m, const pithp_used_rows *u) {
    const int64_t ranks = m->group->size;
    const bool divided = m->params->axis == 0;
    return (blocks){.group = m->group,
                    .rows = divided ? u->extent / ranks : u->extent,
                    .one_after_other = divided,
                    .row = divided ? u->row : u->row / (size_t)ranks,
                    .bytes = pithp_mover_operand(m)->bytes / (size_t)ranks};
}

/* Bytes in use of the block number `block` of an array with `used` rows in use. */
static size_t used_bytes(const blocks *b, int64_t used, int64_t block) {
    return b->row *
           (size_t)(b->one_after_other ? clamp(used - block * b->rows, b->rows) : used);
}

/* All blocks of equal size, with zeros. */
static void exchange_whole(pithp_mover *m,
                           const pithp_used_rows *u,
                           const int64_t shape[3],
                           void *to) {
    const void *rows = pithp_mover_rows(m, u, u->extent);
    const void *all = pithp_mover_exchange(m, rows, pithp_mover_operand(m)->dtype, shape);
    pithp_mover_transpose(m, all, to, pithp_mover_operand(m)->bytes / (size_t)shape[1]);
}

/* What is in use of the blocks moves between memory of the host. used: of each rank. */
static void
exchange_used(pithp_mover *m, const blocks *b, const int64_t *used, char *out, char *in) {
    const int64_t ranks = b->group->size, rank = b->group->rank;
    pithp_parcel *sends = pithp_mover_take_host(m, 2 * (size_t)ranks * sizeof *sends),
                 *receives = sends ? sends + ranks : NULL;
    int to = 0, from = 0;
    for (int64_t i = 0; m->s && b->bytes && i < ranks; i++) {
        const size_t go = used_bytes(b, used[rank], i),
                     come = used_bytes(b, used[i], rank);
        char *const here = in + (size_t)i * b->bytes;
        memset(here + come, 0, b->bytes - come);
        if (i == rank && come)
            memcpy(here, out + (size_t)i * b->bytes, come);
        else if (i != rank && go)
            sends[to++] = (pithp_parcel){i, out + (size_t)i * b->bytes, go};
        if (i != rank && come)
            receives[from++] = (pithp_parcel){i, here, come};
    }
    if (m->s)
        pithp_mesh_group_exchange(m->s, m->group, to, sends, from, receives);
}

void *pithp_mover_exchange_rows(pithp_mover *m, const int64_t shape[3], void *to) {
    const pith_spec *x = pithp_mover_operand(m);
    const pithp_used_rows u = pithp_mover_used_rows(m);
    if (m->direct) {
        exchange_whole(m, &u, shape, to);
        return to;
    }
    const blocks b = blocks_of(m, &u);
    const void *all = pithp_mover_exchange(m, pithp_mover_in(m, 0), x->dtype, shape);
    const pithp_reach out = pithp_mover_reach(m, all, x->bytes, true);
    const pithp_reach in = pithp_mover_reach(m, to, x->bytes, false);
    int64_t *used = pithp_mover_take_host(m, (size_t)shape[1] * sizeof *used);
    if (m->s) { /* an engine that refuses leaves what it would have written */
        memset(used, 0, (size_t)shape[1] * sizeof *used);
        pithp_mesh_group_gather(m->s, m->group, &u.own, used, sizeof u.own);
    }
    exchange_used(m, &b, used, out.host, in.host);
    pithp_mover_store(m, &in);
    return to;
}

/* ---- Permutations ---- */

static void permute_direct(pithp_mover *m, const pithp_used_rows *u) {
    const pithp_mesh_pairs *pairs = m->params->pairs;
    const int64_t most = pithp_mover_most_rows(m, u);
    const void *rows = pithp_mover_rows(m, u, most);
    pithp_mover_zero_rows(m, u, pithp_mover_out(m, 0), pairs->from >= 0 ? most : 0);
    if (pairs->from >= 0 || pairs->to >= 0)
        pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_PERMUTE,
                                                     .from = rows,
                                                     .to = pithp_mover_out(m, 0),
                                                     .bytes = (size_t)most * u->row,
                                                     .receiver = pairs->to,
                                                     .sender = pairs->from});
}

/* A message to the next rank, and one from the rank before; none if it is empty. */
static void pass_on(pithp_mover *m, void *out, size_t go, void *in, size_t come) {
    const pithp_mesh_pairs *pairs = m->params->pairs;
    const pithp_parcel send = {pairs->to, out, go}, receive = {pairs->from, in, come};
    if (m->s)
        pithp_mesh_group_exchange(m->s, m->group, pairs->to >= 0 && go, &send,
                                  pairs->from >= 0 && come, &receive);
}

void pithp_mover_permute_rows(pithp_mover *m) {
    const size_t bytes = pithp_mover_operand(m)->bytes;
    const pithp_used_rows u = pithp_mover_used_rows(m);
    if (m->direct) {
        permute_direct(m, &u);
        return;
    }
    int64_t own = u.own, theirs = 0;
    pass_on(m, &own, sizeof own, &theirs, sizeof theirs);
    const pithp_reach out = pithp_mover_reach(m, pithp_mover_in(m, 0), bytes, true);
    const pithp_reach in = pithp_mover_reach(m, pithp_mover_out(m, 0), bytes, false);
    pass_on(m, out.host, (size_t)own * u.row, in.host, (size_t)theirs * u.row);
    if (m->s && bytes)
        memset((char *)in.host + (size_t)theirs * u.row, 0,
               bytes - (size_t)theirs * u.row);
    pithp_mover_store(m, &in);
}
