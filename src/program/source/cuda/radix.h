/* Radix sort: parts that do not depend on the type of keys.
 *
 * A pass orders keys by one digit of 8 bits, stably: count the digits of each tile; sum
 * the counts over tiles; move each key behind those of smaller digits and of earlier
 * tiles. To write runs of neighbours, a block of threads first sorts its tile by the
 * digit, in two rounds of 4 bits. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_RADIX_H
#define PITH_PROGRAM_SOURCE_CUDA_RADIX_H

#define M_RADIX       PITHP_RADIX /* a digit for each thread of a block */
#define M_ROUND       16          /* values of a digit of a round */
#define M_ROUND_BITS  4
#define M_PART_COUNT  (M_BLOCK / M_ROUND)
#define M_ROUND_STEPS 5

/* Padding against bank conflicts: of a tile that threads read 8 neighbours at a time, and
 * of counters of which they read 16. */
#define M_RADIX_SLOT(i)    ((i) + (i) / 32)
#define M_RADIX_COUNTER(i) ((i) + (i) / M_ROUND)

#ifdef __CUDACC__
M_FN void m_count_up(u32 *counter) {
    atomicAdd(counter, 1u);
}
#else
M_FN void m_count_up(u32 *counter) { /* the host runs it on one thread */
    ++*counter;
}
#endif

/* A tile of a line. A thread finds it once, by divisions. */
typedef struct m_radix_tile {
    i64 line;     /* -1: there is no such tile */
    i64 number;   /* of all tiles */
    i64 begin;    /* along the line */
    i64 elements; /* first pass: the first element of the line */
    i32 count;
} m_radix_tile;

M_FN i64 m_radix_tiles(const pithp_cuda_sort_args *a) {
    return (a->length + M_SORT_TILE - 1) / M_SORT_TILE;
}
M_FN m_radix_tile m_radix_tile_of(const pithp_cuda_sort_args *a, i64 block) {
    const i64 tiles = m_radix_tiles(a), line = block / tiles,
              begin = (block - line * tiles) * M_SORT_TILE, left = a->length - begin;
    m_radix_tile x;
    x.line = line < a->outer * a->inner ? line : -1;
    x.number = block;
    x.begin = begin;
    x.elements = a->shift == 0 ? m_line_element(a, line, 0) : 0;
    x.count = left < M_SORT_TILE ? (i32)left : M_SORT_TILE;
    return x;
}
/* Counts of the digits of a tile. */
M_FN u32 *m_radix_counts(const pithp_cuda_sort_args *a, const m_radix_tile *x) {
    return a->counts + x->number * M_RADIX;
}

/* ---- Sums over tiles ---- */

/* A block of threads sums four digits of a line, 64 threads each. */
#define M_SUM_DIGITS 4
#define M_SUM_LANES  (M_BLOCK / M_SUM_DIGITS)
#define M_SUM_AHEAD  8 /* overlapping loads */

typedef struct m_radix_sums {
    u32 sum[M_BLOCK];
} m_radix_sums;

M_BLOCK_KERNEL(pithp_k_radix_sum, pithp_cuda_sort_args, m_radix_sums, m_none, 3) {
    const i64 tiles = m_radix_tiles(a), block = t / M_BLOCK,
              line = block / (M_RADIX / M_SUM_DIGITS);
    const i32 thread = (i32)(t % M_BLOCK), lane = thread / M_SUM_DIGITS,
              digit = (i32)(block % (M_RADIX / M_SUM_DIGITS)) * M_SUM_DIGITS +
                      thread % M_SUM_DIGITS;
    (void)own;
    if (line >= a->outer * a->inner)
        return; /* uniform: the whole block */
    if (step == 1) {
        if (thread >= M_SUM_DIGITS)
            return;
        u32 before = 0;
        for (i32 l = 0; l < M_SUM_LANES; l++) {
            const u32 sum = shared->sum[l * M_SUM_DIGITS + thread];
            shared->sum[l * M_SUM_DIGITS + thread] = before;
            before += sum;
        }
        a->totals[line * M_RADIX + digit] = before;
        return;
    }
    const i64 each = (tiles + M_SUM_LANES - 1) / M_SUM_LANES, first = lane * each,
              end = first + each < tiles ? first + each : tiles;
    u32 *const counts = a->counts + line * tiles * M_RADIX + digit;
    u32 before = step == 0 ? 0 : shared->sum[thread];
    for (i64 tile = first; tile < end; tile += M_SUM_AHEAD) {
        u32 count[M_SUM_AHEAD];
        M_UNROLL for (i32 k = 0; k < M_SUM_AHEAD; k++) count[k] =
            counts[(tile + k < end ? tile + k : tile) * M_RADIX];
        M_UNROLL for (i32 k = 0; k < M_SUM_AHEAD; k++) {
            if (tile + k >= end)
                break;
            if (step == 2)
                counts[(tile + k) * M_RADIX] = before;
            before += count[k];
        }
    }
    if (step == 0)
        shared->sum[thread] = before;
}

/* ---- Exclusive sums of 256 values in two steps ---- */

typedef struct m_radix_prefix {
    u32 sum[M_BLOCK];
    u32 part[M_PART_COUNT]; /* of 16 values */
} m_radix_prefix;

/* The first step: within parts. */
M_FN void m_sum_parts(m_radix_prefix *x, i32 thread) {
    if (thread >= M_PART_COUNT)
        return;
    u32 sum[M_ROUND], before = 0;
    M_UNROLL for (i32 k = 0; k < M_ROUND; k++) sum[k] = x->sum[thread * M_ROUND + k];
    M_UNROLL for (i32 k = 0; k < M_ROUND; k++) {
        x->sum[thread * M_ROUND + k] = before;
        before += sum[k];
    }
    x->part[thread] = before;
}
/* The second: the sum of the values before that of the thread. */
M_FN u32 m_sum_before(const m_radix_prefix *x, i32 thread) {
    u32 before = x->sum[thread];
    for (i32 k = 0; k < thread / M_ROUND; k++)
        before += x->part[k];
    return before;
}

#endif
