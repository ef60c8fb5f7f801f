/* psum_rows: the sum over the rows of all ranks, with the bits of the whole array on one
 * device.
 *
 * sum adds blocks of 4,096 rows and then the blocks by a binary tree over their numbers
 * (program/host/vector/reduce.c). The rows in use of all ranks, in their order, are
 * numbered here too. The rank with the first row of a block adds the block; the others
 * send it their rows of it. All ranks gather the sums of the blocks and add them by the
 * same tree. Floats are added in f64, which sum accumulates in.
 *
 * Memory is that of the most rows which a rank may have in use, known before. The host
 * reads how many they are, and nothing else of them if devices are connected. */
#include "program/collective/move.h"

#include <string.h>

enum { BLOCK = 4096 };

typedef struct row_sum {
    pithp_mover *m;
    pith_dtype dtype; /* of the sum */
    int64_t width;    /* elements of a row */
    size_t row;       /* its bytes, in the dtype of the sum */
    int64_t *begins;  /* the first row of each rank, and the number of all: size + 1 */
} row_sum;

static int64_t number_of_blocks(int64_t rows) {
    return (rows + BLOCK - 1) / BLOCK;
}

/* The blocks whose first row is before row n. */
static int64_t blocks_before(int64_t n) {
    return number_of_blocks(n);
}

static char *advanced(void *at, size_t bytes) {
    return at ? (char *)at + bytes : NULL;
}

/* ---- Where rows are ---- */

/* Every rank learns the numbers of all. */
static void gather_begins(row_sum *r) {
    pithp_mover *m = r->m;
    const size_t ranks = (size_t)m->group->size;
    const int64_t own = pithp_mover_has_rows(m) ? pithp_mover_used_rows(m).own
                                                : pithp_mover_operand(m)->shape[0];
    r->begins = pithp_mover_take_host(m, (ranks + 1) * sizeof *r->begins);
    if (!m->s)
        return;
    /* an engine that refuses leaves what it would have written */
    memset(r->begins, 0, (ranks + 1) * sizeof *r->begins);
    pithp_mesh_group_gather(m->s, m->group, &own, r->begins + 1, sizeof own);
    for (size_t i = 0; i < ranks; i++)
        r->begins[i + 1] += r->begins[i];
}

/* Rows of a rank that belong to a block which begins on a rank before it. */
static int64_t rows_before_a_block(const row_sum *r, int64_t rank) {
    const int64_t begin = r->begins[rank], end = r->begins[rank + 1];
    const int64_t boundary = blocks_before(begin) * BLOCK;
    return boundary < end ? boundary - begin : end - begin;
}

/* The rank with the first row of a block. */
static int64_t owner_of(const row_sum *r, int64_t block) {
    int64_t rank = 0;
    while (r->begins[rank + 1] <= block * BLOCK)
        rank++;
    return rank;
}

/* The number of blocks that begin on a rank. */
static int64_t blocks_of(const row_sum *r, int64_t rank) {
    return blocks_before(r->begins[rank + 1]) - blocks_before(r->begins[rank]);
}

/* Where the rows of this rank's own blocks end on other ranks: their parcels, one after
 * the other. Returns the number of rows. */
static int64_t
plan_receives(const row_sum *r, pithp_parcel *parcels, int *count, char *data) {
    const pithp_mesh_group *g = r->m->group;
    int64_t all = 0;
    *count = 0;
    for (int64_t rank = g->rank + 1; rank < g->size; rank++) {
        const int64_t rows = rows_before_a_block(r, rank);
        if (rows == 0 || owner_of(r, r->begins[rank] / BLOCK) != g->rank)
            continue;
        parcels[(*count)++] = (pithp_parcel){rank, advanced(data, (size_t)all * r->row),
                                             (size_t)rows * r->row};
        all += rows;
    }
    return all;
}

/* ---- Blocks ---- */

/* The rows in use in the dtype of the sum, with room for those of one block more. */
static char *take_rows(row_sum *r) {
    pithp_mover *m = r->m;
    const int64_t own = m->s ? r->begins[m->group->rank + 1] - r->begins[m->group->rank]
                             : pithp_mover_operand(m)->shape[0];
    const pith_dtype dtype = pithp_mover_operand(m)->dtype;
    const int64_t shape[] = {own, r->width};
    const pith_spec from = pithp_mover_spec(dtype, 2, shape),
                    to = pithp_mover_spec(r->dtype, 2, shape), *specs[] = {&from};
    const pithp_cast_params cast = {r->dtype};
    const void *x = pithp_mover_in(m, 0);
    char *rows =
        pithp_mover_take(m, (size_t)(pithp_mover_operand(m)->shape[0] + BLOCK) * r->row);
    if (dtype == r->dtype)
        pithp_mover_copy(m, rows, x, to.bytes);
    else
        pithp_mover_apply(m, PITHP_OP_CAST, 1, specs, &x, &cast, &to, rows);
    return rows;
}

/* Memory that the engine reaches: direct, that of the device. */
static pithp_reach reach(pithp_mover *m, char *device, size_t bytes, bool load) {
    return m->direct ? (pithp_reach){device, device, bytes}
                     : pithp_mover_reach(m, device, bytes, load);
}

/* Send the first rows to the rank on which their block begins, and append those of the
 * last block. *count: in, rows; out, those of the blocks that begin here, from the
 * returned address on. */
static char *complete_blocks(row_sum *r, char *rows, int64_t *count) {
    pithp_mover *m = r->m;
    const pithp_mesh_group *g = m->group;
    pithp_parcel *receives = pithp_mover_take_host(m, (size_t)g->size * sizeof *receives);
    const int64_t sent = m->s ? rows_before_a_block(r, g->rank) : *count;
    const pithp_reach from = reach(m, rows, (size_t)sent * r->row, true);
    const size_t room = m->s ? 0 : BLOCK * r->row;
    char *end = advanced(rows, (size_t)*count * r->row);
    if (!m->s) { /* most that may arrive */
        reach(m, end, room, false);
        return rows;
    }
    int receive_count;
    const int64_t received = plan_receives(r, receives, &receive_count, NULL);
    const pithp_reach to = reach(m, end, (size_t)received * r->row, false);
    plan_receives(r, receives, &receive_count, to.host);
    pithp_parcel send = {0};
    if (sent)
        send = (pithp_parcel){owner_of(r, r->begins[g->rank] / BLOCK), from.host,
                              (size_t)sent * r->row};
    pithp_mover_pass(m, &(pithp_exchange){.sends = sent > 0,
                                          .receives = receive_count,
                                          .send = &send,
                                          .receive = receives});
    pithp_mover_store(m, &to);
    *count += received - sent;
    return rows + (size_t)sent * r->row;
}

/* Sums of the blocks of `count` rows, of which the first begins one. */
static void sum_blocks(row_sum *r, const char *rows, int64_t count, char *sums) {
    static const pithp_reduce_params second = {2};
    const int64_t whole = count / BLOCK, rest = count % BLOCK;
    const int64_t shape[] = {whole, BLOCK, r->width};
    const pith_spec blocks = pithp_mover_spec(r->dtype, 3, shape), *specs[] = {&blocks};
    const pith_spec each =
        pithp_mover_spec(r->dtype, 2, (const int64_t[]){whole, r->width});
    const void *from[] = {rows};
    if (whole)
        pithp_mover_apply(r->m, PITHP_OP_SUM, 1, specs, from, &second, &each, sums);
    if (rest)
        pithp_mover_reduce(r->m, PITHP_OP_SUM, r->dtype, rest, r->width,
                           rows + each.count / (r->width ? r->width : 1) * BLOCK *
                                      (int64_t)r->row,
                           sums + each.bytes);
}

/* Memory for the greatest number of rows. */
static void measure_blocks(row_sum *r) {
    sum_blocks(r, NULL, (number_of_blocks(r->m->most_rows) + 1) * BLOCK, NULL);
    sum_blocks(r, NULL, BLOCK - 1, NULL);
}

/* The sums of all blocks, in order. */
static char *gather_sums(row_sum *r, const char *own, char *all, char *compact) {
    pithp_mover *m = r->m;
    int64_t most = 0, at = 0;
    for (int64_t i = 0; i < m->group->size; i++)
        most = blocks_of(r, i) > most ? blocks_of(r, i) : most;
    pithp_mover_gather(m, own, all, (size_t)most * r->row);
    for (int64_t i = 0; i < m->group->size; i++) {
        pithp_mover_copy(m, compact + (size_t)at * r->row,
                         all + (size_t)(i * most) * r->row,
                         (size_t)blocks_of(r, i) * r->row);
        at += blocks_of(r, i);
    }
    return compact;
}

/* Every second of 2 * pairs rows of x, from row `first` on. */
static void half_of(row_sum *r, int64_t first, int64_t pairs, const void *x, void *to) {
    const pithp_slice_params slice = {{first, 0}, {2 * pairs, r->width}, {2, 1}};
    const pith_spec from =
        pithp_mover_spec(r->dtype, 2, (const int64_t[]){2 * pairs, r->width});
    const pith_spec half =
        pithp_mover_spec(r->dtype, 2, (const int64_t[]){pairs, r->width});
    const pith_spec *specs[] = {&from};
    pithp_mover_apply(r->m, PITHP_OP_SLICE, 1, specs, &x, &slice, &half, to);
}

/* Neighbours are added until one is left; a last one without a neighbour stays. */
static const char *add_blocks(row_sum *r, char *sums, int64_t n, char *halves[3]) {
    for (int turn = 0; n > 1; turn = !turn) {
        const int64_t pairs = n / 2;
        char *next = turn ? sums : halves[2];
        const char *from = turn ? halves[2] : sums;
        const pith_spec half =
            pithp_mover_spec(r->dtype, 2, (const int64_t[]){pairs, r->width});
        const pith_spec *specs[] = {&half, &half};
        half_of(r, 0, pairs, from, halves[0]);
        half_of(r, 1, pairs, from, halves[1]);
        pithp_mover_apply(r->m, PITHP_OP_ADD, 2, specs, (const void *const *)halves, NULL,
                          &half, next);
        if (n % 2)
            pithp_mover_copy(r->m, next + half.bytes, from + (size_t)(n - 1) * r->row,
                             r->row);
        n = pairs + n % 2;
        if (n == 1)
            return next;
    }
    return sums;
}

/* ---- The sum ---- */

static void give(row_sum *r, const void *sum) {
    pithp_mover *m = r->m;
    const pith_spec from = pithp_mover_spec(r->dtype, 1, &r->width), *specs[] = {&from};
    const pith_spec to = pithp_mover_spec(m->result->dtype, 1, &r->width);
    const pithp_cast_params cast = {to.dtype};
    if (to.dtype == from.dtype)
        pithp_mover_copy(m, pithp_mover_out(m, 0), sum, to.bytes);
    else
        pithp_mover_apply(m, PITHP_OP_CAST, 1, specs, &sum, &cast, &to,
                          pithp_mover_out(m, 0));
}

void pithp_mover_sum_rows(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    row_sum r = {.m = m,
                 .dtype = pith_dtype_is_float(x->dtype) ? PITH_F64 : x->dtype,
                 .width = m->result->count};
    r.row = (size_t)r.width * pith_dtype_size(r.dtype);
    const size_t most = (size_t)number_of_blocks(m->most_rows) * r.row;
    char *sums[2], *all, *halves[3];
    sums[0] = pithp_mover_take(m, most);
    all = pithp_mover_take(m, most * (size_t)m->group->size);
    sums[1] = pithp_mover_take(m, most * (size_t)m->group->size);
    for (int k = 0; k < 3; k++)
        halves[k] = pithp_mover_take(m, most * (size_t)m->group->size);
    gather_begins(&r);
    if (m->rc != PITH_OK)
        return;
    char *rows = take_rows(&r);
    int64_t count =
        m->s ? r.begins[m->group->rank + 1] - r.begins[m->group->rank] : x->shape[0];
    rows = complete_blocks(&r, rows, &count);
    if (!m->s) {
        measure_blocks(&r);
        pithp_mover_gather(m, NULL, NULL, most);
        return;
    }
    sum_blocks(&r, rows, count, sums[0]);
    char *compact = gather_sums(&r, sums[0], all, sums[1]);
    const int64_t blocks = number_of_blocks(r.begins[m->group->size]);
    if (blocks)
        give(&r, add_blocks(&r, compact, blocks, halves));
    else
        pithp_mover_zero(m, pithp_mover_out(m, 0), m->result->bytes);
}
