/* The sum over the rows of all ranks, with the bits of the whole array on one device.
 *
 * pith_sum adds blocks of 4,096 rows and then the blocks by a binary tree over their
 * numbers (program/host/vector/reduce.c). The rows in use of all ranks, in their order,
 * are numbered here too. The rank with the first row of a block adds the block; the
 * others send it their rows of it. All ranks gather the sums of the blocks and add them
 * by the same tree. Floats are added in f64, which pith_sum accumulates in. */
#include "array/collective.h"
#include "base/in_flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 4096 };

typedef struct row_sum {
    pithp_collective c;
    const pith_array *rows; /* in use, [own, width], in the dtype of the sum */
    int64_t own, width;
    int64_t *begins; /* the first row of each rank, and the number of all: size + 1 */
    size_t begins_bytes;
} row_sum;

static int64_t number_of_blocks(int64_t rows) {
    return (rows + BLOCK - 1) / BLOCK;
}

/* The blocks whose first row is before row n. */
static int64_t blocks_before(int64_t n) {
    return number_of_blocks(n);
}

/* ---- Rows ---- */

static const pith_array *
part(pith_scope *w, const pith_array *a, int64_t begin, int64_t end) {
    return pith_slice_array(w, a, 1, &PITH_SLICE(begin, end, 1));
}

/* The rows in use of the operand, as [own, width], floats as f64. */
static void take_rows(row_sum *r, const pith_collective_options *options) {
    pithp_collective *c = &r->c;
    if (!pithp_collective_fine(c))
        return;
    const pith_spec *spec = pithp_array_spec(c->a);
    if (spec->rank == 0) {
        pithp_fail(c->w, PITH_E_SHAPE, NULL,
                   "pith_psum_rows: rows of an array of rank 0");
        return;
    }
    r->own = spec->shape[0];
    r->width = 1;
    for (int d = 1; d < spec->rank; d++)
        r->width *= spec->shape[d];
    if (options && options->rows) {
        const int64_t used = pith_read_i64(c->w, options->rows);
        if (pithp_collective_fine(c) && (used < 0 || used > r->own))
            pithp_fail(c->w, PITH_E_INDEX, NULL,
                       "pith_psum_rows: %" PRId64 " rows in use, expected 0 to %" PRId64,
                       used, r->own);
        r->own = used;
    }
    if (!pithp_collective_fine(c))
        return;
    const pith_array *used = part(c->w, c->a, 0, r->own);
    const pith_dtype dtype = pith_dtype_is_float(spec->dtype) ? PITH_F64
                             : spec->dtype == PITH_BOOL       ? PITH_I64
                                                              : spec->dtype;
    used = used ? pithp_cast(c->w, used, dtype) : NULL;
    r->rows = pithp_collective_see(c, used, 2, (const int64_t[]){r->own, r->width});
}

/* Which rows the other ranks have. The number of the first axis may differ between ranks,
 * so only the other extents are compared. */
static void describe_rows(row_sum *r) {
    pithp_collective *c = &r->c;
    char text[PITHP_SPEC_TEXT_BYTES];
    if (!pithp_collective_fine(c))
        return;
    const pith_spec *spec = pithp_array_spec(c->a);
    snprintf(c->what, sizeof c->what, "rows %.20s%.80s over %.40s",
             pith_dtype_name(spec->dtype),
             pithp_shape_print(spec->rank - 1, spec->shape + 1, text), c->group->axes);
}

/* ---- Blocks ---- */

/* Sums of the blocks of [rows, width], of which the first row begins one: [blocks,
 * width]. */
static const pith_array *
sum_blocks(pith_scope *w, const pith_array *rows, int64_t width) {
    const int64_t n = pithp_array_spec(rows)->shape[0], whole = n / BLOCK;
    const pith_array *sums[2];
    int count = 0;
    if (whole) {
        const pith_array *blocks = pith_reshape(w, part(w, rows, 0, whole * BLOCK),
                                                PITH_SHAPE(whole, BLOCK, width));
        sums[count++] = pith_sum(w, blocks, PITH_AXES(1));
    }
    if (n % BLOCK)
        sums[count++] = pith_sum(w, part(w, rows, whole * BLOCK, n), PITH_AXES_KEPT(0));
    if (!count)
        return pith_zeros(w, pithp_array_spec(rows)->dtype, PITH_SHAPE(0, width));
    return count == 1 ? sums[0] : pith_concatenate(w, 2, sums, 0);
}

/* Neighbours are added until one is left; a last one without a neighbour stays. */
static const pith_array *add_blocks(pith_scope *w, const pith_array *sums, int64_t n) {
    while (n > 1 && sums) {
        const int64_t pairs = n / 2;
        const pith_array *left =
            pith_slice_array(w, sums, 1, &PITH_SLICE(0, 2 * pairs, 2));
        const pith_array *right =
            pith_slice_array(w, sums, 1, &PITH_SLICE(1, 2 * pairs, 2));
        const pith_array *added[] = {pith_add(w, left, right), NULL};
        if (n % 2) {
            added[1] = part(w, sums, n - 1, n);
            added[0] = pith_concatenate(w, 2, added, 0);
        }
        sums = added[0];
        n = pairs + n % 2;
    }
    return sums;
}

/* ---- Steps, which all ranks make ---- */

/* The first row of each rank. */
static bool gather_begins(row_sum *r) {
    pithp_collective *c = &r->c;
    const int64_t ranks = c->group ? c->group->size : 0;
    r->begins_bytes = ((size_t)ranks + 1) * sizeof *r->begins;
    if (pithp_collective_fine(c) &&
        !(r->begins = pithp_allocate(c->w->runtime, r->begins_bytes)))
        pithp_fail_memory(c->w, r->begins_bytes);
    if (!pithp_collective_agree(c, 0))
        return false;
    pithp_mesh_group_gather(c->w, c->group, &r->own, r->begins + 1, sizeof r->own);
    pithp_collective_end(c->w);
    r->begins[0] = 0;
    for (int64_t i = 0; i < ranks; i++)
        r->begins[i + 1] += r->begins[i];
    return true;
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

/* Where the rows of this rank's own blocks end on other ranks: their parcels, one after
 * the other. Returns the number of parcels. */
static int
plan_receives(const row_sum *r, pithp_parcel *parcels, char *data, size_t row) {
    const pithp_mesh_group *g = r->c.group;
    int count = 0;
    for (int64_t rank = g->rank + 1; rank < g->size; rank++) {
        const int64_t rows = rows_before_a_block(r, rank);
        if (rows == 0 || owner_of(r, r->begins[rank] / BLOCK) != g->rank)
            continue;
        if (parcels) {
            parcels[count] = (pithp_parcel){rank, data, (size_t)rows * row};
            data += (size_t)rows * row;
        }
        count++;
    }
    return count;
}

static int64_t rows_received(const row_sum *r) {
    const pithp_mesh_group *g = r->c.group;
    int64_t all = 0;
    for (int64_t rank = g->rank + 1; rank < g->size; rank++)
        if (rows_before_a_block(r, rank) &&
            owner_of(r, r->begins[rank] / BLOCK) == g->rank)
            all += rows_before_a_block(r, rank);
    return all;
}

/* The rows of the blocks that begin on this rank. NULL: error set. */
static const pith_array *complete_blocks(row_sum *r) {
    pithp_collective *c = &r->c;
    const pithp_mesh_group *g = c->group;
    const int64_t sent = rows_before_a_block(r, g->rank), received = rows_received(r);
    const size_t row =
        (size_t)r->width * pith_dtype_size(pithp_array_spec(r->rows)->dtype);
    pithp_parcel send = {0}, *receives = NULL;
    const int count = plan_receives(r, NULL, NULL, row);
    const size_t bytes = ((size_t)count + 1) * sizeof *receives;
    const pith_spec *spec = pithp_spec(c->w, pithp_array_spec(r->rows)->dtype, 2,
                                       (const int64_t[]){received, r->width});
    const pith_array *foreign = spec ? pithp_array_make(c->w, spec) : NULL;
    if (pithp_collective_fine(c) && !(receives = pithp_allocate(c->w->runtime, bytes)))
        pithp_fail_memory(c->w, bytes);
    pithp_piece from = pithp_piece_of(c, r->rows, true),
                to = pithp_piece_of(c, foreign, false);
    const bool agreed = pithp_collective_agree(c, 1);
    if (agreed) {
        if (sent)
            send = (pithp_parcel){owner_of(r, r->begins[g->rank] / BLOCK), from.data,
                                  (size_t)sent * row};
        plan_receives(r, receives, to.data, row);
        pithp_mesh_group_exchange(c->w, c->group, sent > 0, &send, count, receives);
        pithp_collective_end(c->w);
    }
    pithp_release(c->w->runtime, receives, receives ? bytes : 0);
    pithp_piece_free(c, &from);
    pithp_piece_store(c, &to);
    if (!agreed || !pithp_collective_fine(c))
        return NULL;
    const pith_array *own = part(c->w, r->rows, sent, r->own);
    return received ? pith_concatenate(c->w, 2, (const pith_array *[]){own, foreign}, 0)
                    : own;
}

/* The number of blocks that begin on a rank. */
static int64_t blocks_of(const row_sum *r, int64_t rank) {
    return blocks_before(r->begins[rank + 1]) - blocks_before(r->begins[rank]);
}

/* The sums of all blocks, from those of this rank. NULL: error set. */
static const pith_array *gather_sums(row_sum *r, const pith_array *own) {
    pithp_collective *c = &r->c;
    const int64_t ranks = c->group->size;
    int64_t most = 0;
    for (int64_t i = 0; i < ranks; i++)
        most = blocks_of(r, i) > most ? blocks_of(r, i) : most;
    const pith_dtype dtype = pithp_array_spec(r->rows)->dtype;
    const pith_array *padded = NULL, *all = NULL;
    const int64_t extents[] = {ranks * most, r->width};
    const pith_spec *spec = pithp_spec(c->w, dtype, 2, extents);
    if (own && spec) {
        const pith_padding rest = {.high = most - blocks_of(r, c->group->rank)};
        padded = pith_pad(c->w, own, NULL, 1, &rest);
        all = pithp_array_make(c->w, spec);
    }
    pithp_piece from = pithp_piece_of(c, padded, true),
                to = pithp_piece_of(c, all, false);
    const bool agreed = pithp_collective_agree(c, 2);
    if (agreed) {
        pithp_mesh_group_gather(c->w, c->group, from.data, to.data,
                                spec->bytes / (size_t)ranks);
        pithp_collective_end(c->w);
    }
    pithp_piece_free(c, &from);
    pithp_piece_store(c, &to);
    if (!agreed || !pithp_collective_fine(c))
        return NULL;
    const pith_array **parts = pithp_scope_allocate(c->w, (size_t)ranks * sizeof *parts);
    for (int64_t i = 0; parts && i < ranks; i++)
        parts[i] = part(c->w, all, i * most, i * most + blocks_of(r, i));
    return parts ? pith_concatenate(c->w, ranks, parts, 0) : NULL;
}

const pith_array *pith_psum_rows(pith_scope *s,
                                 const pith_array *a,
                                 const char *axes,
                                 const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_psum_rows");
    row_sum r = {0};
    pithp_collective *c = &r.c;
    if (!pithp_collective_enter(c, s, "pith_psum_rows", a, axes))
        return NULL;
    take_rows(&r, options);
    describe_rows(&r);
    const pith_array *sum = NULL;
    if (gather_begins(&r)) { /* from here on each rank makes every step */
        const pith_array *rows = complete_blocks(&r);
        const pith_array *own = rows ? sum_blocks(c->w, rows, r.width) : NULL;
        const pith_array *sums = gather_sums(&r, own);
        const int64_t blocks = number_of_blocks(r.begins[c->group->size]);
        sum = blocks ? add_blocks(c->w, sums, blocks) : sums;
        if (sum && !blocks)
            sum =
                pith_zeros(c->w, pithp_array_spec(r.rows)->dtype, PITH_SHAPE(1, r.width));
    }
    const pith_spec *spec = sum && pithp_collective_fine(c) ? pithp_array_spec(a) : NULL;
    if (spec) {
        sum = pithp_collective_see(c, sum, spec->rank - 1, spec->shape + 1);
        sum = sum && pith_dtype_is_float(spec->dtype) ? pithp_cast(c->w, sum, spec->dtype)
                                                      : sum;
    }
    pithp_release(s->runtime, r.begins, r.begins ? r.begins_bytes : 0);
    return pithp_collective_leave(c, sum);
}
