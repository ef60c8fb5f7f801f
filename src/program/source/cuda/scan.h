/* Cumulative scan kernels (sum, product, extremes, log-sum-exp) and linear recurrences,
 * in the order of source/scan_order.h: reduce, then scan.
 *
 * A chain is a sequence that one thread combines in order. A block of threads has 32
 * chains. It moves 32 elements of each chain to shared memory at a time. So memory
 * accesses are coalesced whether the elements of a chain are contiguous or the chains
 * are. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_SCAN_H
#define PITH_PROGRAM_SOURCE_CUDA_SCAN_H

#include "program/source/scan_order.h"

M_FN u64 m_scan_step(i32 operation, i32 accumulator, u64 sofar, u64 next) {
    if (operation == M_OP_SUM || operation == M_OP_PROD)
        return m_combine(operation, accumulator, sofar, next);
    if (operation == M_OP_LOG_SUM)
        return m_bits_f64(m_log_add(m_from_bits_u64(sofar), m_from_bits_u64(next)));
    if (accumulator == M_OF_F64) { /* of equals the first stays */
        const f64 x = m_from_bits_u64(sofar), y = m_from_bits_u64(next);
        return ((operation == M_OP_MIN ? x <= y : x >= y) | (x != x)) ? sofar : next;
    }
    return m_combine(operation, accumulator, sofar, next);
}

/* ---- Chains ---- */

#define M_CHAINS 32
#define M_LINKS  32 /* elements of each chain at a time */

/* A chain: first element, step and count, in elements. */
typedef struct m_chain {
    i64 first, step, count;
} m_chain;

typedef struct m_chains {
    m_chain chain[M_CHAINS];
    u64 link[M_CHAINS][M_LINKS + 1]; /* padded by 1, against bank conflicts */
} m_chains;

typedef struct m_scan_own {
    u64 sofar;
} m_scan_own;

/* Chain c is [outer, range, column]: subrange `range` of the `ranges` of a line; each has
 * at most `most` elements. */
M_FN m_chain m_chain_of(i64 c, i64 outer, i64 length, i64 inner, i64 ranges, i64 most) {
    const i64 column = c % inner, range = c / inner % ranges, line = c / inner / ranges;
    const i64 left = length - range * most;
    m_chain x;
    x.first = (line * length + range * most) * inner + column;
    x.step = inner;
    x.count = line >= outer ? 0 : left < most ? left : most;
    return x;
}

/* Chain c of elements; `first` is the first one in scan order. */
M_FN m_chain m_block_chain(const pithp_cuda_scan_args *a, i64 c) {
    m_chain x = m_chain_of(c, a->outer, a->length, a->inner, a->blocks, M_SCANNED);
    if (a->reverse) {
        const i64 line = c / a->inner / a->blocks * a->length * a->inner + c % a->inner;
        x.first = 2 * line + (a->length - 1) * a->inner - x.first;
        x.step = -x.step;
    }
    return x;
}

/* Rounds of M_LINKS links. */
M_FN i32 m_scan_rounds(i64 length, i64 most) {
    return (i32)(((length < most ? length : most) + M_LINKS - 1) / M_LINKS);
}

/* A thread's four links of a round; k is their number. Neighbouring threads have
 * neighbours in memory: links if a chain is contiguous, else chains. */
#define M_LINKS_EACH (M_CHAINS * M_LINKS / M_BLOCK)
#define M_EACH_LINK(a, shared, t, round, statement)                                      \
    M_UNROLL for (i32 k = 0; k < M_LINKS_EACH; k++) {                                    \
        const i32 e = k * M_BLOCK + (i32)((t) % M_BLOCK);                                \
        const i32 c = (a)->inner == 1 ? e / M_LINKS : e % M_CHAINS;                      \
        const i32 l = (a)->inner == 1 ? e % M_LINKS : e / M_CHAINS;                      \
        const i64 n = (round)*M_LINKS + l;                                               \
        if (n < (shared)->chain[c].count) {                                              \
            const i64 at = (shared)->chain[c].first + n * (shared)->chain[c].step;       \
            statement                                                                    \
        }                                                                                \
    }

/* Running sums of n links, the usual scan, without choosing an operation for each. A full
 * round has a known number, so that the loads of links overlap with the sums. */
#define M_ADD_LINKS(n)                                                                   \
    M_UNROLL for (i32 l = 0; l < (n); l++) {                                             \
        const f64 next = m_from_bits_u64(link[l]);                                       \
        sum = begins && l == 0 ? next : M_SUM(sum, next);                                \
        link[l] = m_bits_f64(sum);                                                       \
    }
M_FN u64 m_add_links(u64 *link, i32 n, i32 begins, u64 sofar) {
    f64 sum = m_from_bits_u64(sofar);
    if (n == M_LINKS) {
        M_ADD_LINKS(M_LINKS)
    } else {
        M_ADD_LINKS(n)
    }
    return m_bits_f64(sum);
}

/* Inclusive scan of the links of a round, one thread per chain. */
M_FN void m_scan_links(const pithp_cuda_scan_args *a,
                       m_chains *shared,
                       i64 t,
                       i32 round,
                       u64 *sofar) {
    const i32 c = (i32)(t % M_BLOCK), accumulator = m_accumulator(a->operation, a->dtype);
    if (c >= M_CHAINS)
        return;
    const i64 left = shared->chain[c].count - (i64)round * M_LINKS;
    const i32 n = (i32)(left < M_LINKS ? left : M_LINKS);
    if (n > 0 && a->operation == M_OP_SUM && accumulator == M_OF_F64) {
        *sofar = m_add_links(shared->link[c], n, round == 0, *sofar);
        return;
    }
    for (i32 l = 0; l < n; l++) {
        const u64 next = shared->link[c][l];
        *sofar = round == 0 && l == 0
                     ? next
                     : m_scan_step(a->operation, accumulator, *sofar, next);
        shared->link[c][l] = *sofar;
    }
}

M_FN u64 m_scan_load(const pithp_cuda_scan_args *a, i64 at) {
    return m_load_number(a->from, a->dtype, at);
}

/* Block totals: partial[outer, block, column]. */
M_BLOCK_KERNEL(pithp_k_scan_blocks,
               pithp_cuda_scan_args,
               m_chains,
               m_scan_own,
               2 + 2 * m_scan_rounds(a->length, M_SCANNED)) {
    const i32 rounds = m_scan_rounds(a->length, M_SCANNED), thread = (i32)(t % M_BLOCK);
    const i64 chain = t / M_BLOCK * M_CHAINS + thread;
    if (step == 0) {
        if (thread < M_CHAINS)
            shared->chain[thread] = m_block_chain(a, chain);
    } else if (step == 1 + 2 * rounds) {
        if (thread < M_CHAINS && shared->chain[thread].count > 0)
            a->partial[chain] = own->sofar;
    } else if (step % 2) {
        M_EACH_LINK(a, shared, t, step / 2, shared->link[c][l] = m_scan_load(a, at);)
    } else {
        m_scan_links(a, shared, t, step / 2 - 1, &own->sofar);
    }
}

/* Inclusive scan of the blocks of each group, and group totals sums[outer, group,
 * column]. */
M_BLOCK_KERNEL(pithp_k_scan_groups,
               pithp_cuda_scan_args,
               m_chains,
               m_scan_own,
               2 + 3 * m_scan_rounds(a->blocks, M_GROUPED)) {
    const i32 rounds = m_scan_rounds(a->blocks, M_GROUPED), thread = (i32)(t % M_BLOCK),
              round = (step - 1) / 3;
    const i64 chain = t / M_BLOCK * M_CHAINS + thread;
    if (step == 0) {
        if (thread < M_CHAINS)
            shared->chain[thread] =
                m_chain_of(chain, a->outer, a->blocks, a->inner, a->groups, M_GROUPED);
    } else if (step == 1 + 3 * rounds) {
        if (thread < M_CHAINS && shared->chain[thread].count > 0)
            a->sums[chain] = own->sofar;
    } else if (step % 3 == 1) {
        M_EACH_LINK(a, shared, t, round, shared->link[c][l] = a->partial[at];)
    } else if (step % 3 == 2) {
        m_scan_links(a, shared, t, round, &own->sofar);
    } else {
        M_EACH_LINK(a, shared, t, round, a->partial[at] = shared->link[c][l];)
    }
}

/* Inclusive scan of the groups, one thread per line. */
M_KERNEL(pithp_k_scan_lines, pithp_cuda_scan_args) {
    enum { AHEAD = 8 }; /* overlapping loads */
    const i64 column = t % a->inner, line = t / a->inner;
    if (line >= a->outer)
        return;
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    u64 *sums = a->sums + line * a->groups * a->inner + column, sofar = 0;
    for (i64 g = 0; g < a->groups; g += AHEAD) {
        u64 next[AHEAD];
        M_UNROLL for (i32 k = 0; k < AHEAD; k++) next[k] =
            sums[(g + k < a->groups ? g + k : g) * a->inner];
        M_UNROLL for (i32 k = 0; k < AHEAD; k++) {
            if (g + k >= a->groups)
                break;
            sofar =
                g + k ? m_scan_step(a->operation, accumulator, sofar, next[k]) : next[k];
            sums[(g + k) * a->inner] = sofar;
        }
    }
}

/* Total of all blocks before that of chain c, which is not the first. */
M_FN u64 m_scan_before(const pithp_cuda_scan_args *a, i64 c) {
    const i64 column = c % a->inner, block = c / a->inner % a->blocks,
              line = c / a->inner / a->blocks, group = block / M_GROUPED;
    const u64 *partial = a->partial + (line * a->blocks + block - 1) * a->inner + column;
    const u64 *sums = a->sums + (line * a->groups + group - 1) * a->inner + column;
    if (group == 0)
        return *partial;
    return block % M_GROUPED == 0
               ? *sums
               : m_scan_step(a->operation, m_accumulator(a->operation, a->dtype), *sums,
                             *partial);
}

M_FN void m_scan_store(const pithp_cuda_scan_args *a, i64 at, u64 x) {
    const i32 accumulator = m_accumulator(a->operation, a->dtype);
    if (a->dtype == M_DTYPE_F64)
        ((f64 *)a->to)[at] = m_from_bits_u64(x);
    else if (accumulator == M_OF_F64)
        m_store_any_single(a->to, at, a->dtype, (f32)m_from_bits_u64(x));
    else
        m_store_any_unsigned(a->to, at, a->dtype, x);
}

typedef struct m_scanning {
    m_chains chains;
    i32 goes_on[M_CHAINS]; /* whether the block of a chain is not the first of its line */
    u64 before[M_CHAINS];  /* then the total of the blocks before */
} m_scanning;

/* Scan the elements, and combine each with the total of the blocks before. */
M_BLOCK_KERNEL(pithp_k_scan,
               pithp_cuda_scan_args,
               m_scanning,
               m_scan_own,
               1 + 3 * m_scan_rounds(a->length, M_SCANNED)) {
    const i32 thread = (i32)(t % M_BLOCK), round = (step - 1) / 3,
              accumulator = m_accumulator(a->operation, a->dtype);
    const i64 first = t / M_BLOCK * M_CHAINS;
    m_chains *chains = &shared->chains;
    if (step == 0) {
        if (thread >= M_CHAINS)
            return;
        chains->chain[thread] = m_block_chain(a, first + thread);
        shared->goes_on[thread] = chains->chain[thread].count > 0 &&
                                  (first + thread) / a->inner % a->blocks > 0;
        if (shared->goes_on[thread])
            shared->before[thread] = m_scan_before(a, first + thread);
    } else if (step % 3 == 1) {
        M_EACH_LINK(a, chains, t, round, chains->link[c][l] = m_scan_load(a, at);)
    } else if (step % 3 == 2) {
        m_scan_links(a, chains, t, round, &own->sofar);
    } else {
        M_EACH_LINK(a, chains, t, round, {
            const u64 x = chains->link[c][l];
            m_scan_store(a, at,
                         shared->goes_on[c] ? m_scan_step(a->operation, accumulator,
                                                          shared->before[c], x)
                                            : x);
        })
    }
}

/* ---- Recurrences ---- */

typedef struct m_recurring {
    m_chains chains; /* whose links are terms, then results */
    u64 factor[M_CHAINS][M_LINKS + 1];
} m_recurring;

/* A chain is a line. */
M_BLOCK_KERNEL(pithp_k_cumlinear,
               pithp_cuda_cumlinear_args,
               m_recurring,
               m_scan_own,
               1 + 3 * m_scan_rounds(a->length, a->length)) {
    const i32 thread = (i32)(t % M_BLOCK), round = (step - 1) / 3;
    m_chains *chains = &shared->chains;
    if (step == 0) {
        if (thread >= M_CHAINS)
            return;
        m_chain *x = &chains->chain[thread];
        *x = m_chain_of(t / M_BLOCK * M_CHAINS + thread, a->outer, a->length, a->inner, 1,
                        a->length);
        if (a->reverse) {
            x->first += (a->length - 1) * a->inner;
            x->step = -x->step;
        }
    } else if (step % 3 == 1) {
        M_EACH_LINK(a, chains, t, round, {
            chains->link[c][l] = m_load_number(a->terms, a->dtype, at);
            shared->factor[c][l] = m_load_number(a->factors, a->dtype, at);
        })
    } else if (step % 3 == 2) {
        if (thread >= M_CHAINS)
            return;
        const i64 left = chains->chain[thread].count - (i64)round * M_LINKS;
        for (i32 l = 0; l < (left < M_LINKS ? left : M_LINKS); l++) {
            const f64 term = m_from_bits_u64(chains->link[thread][l]);
            const f64 before = m_from_bits_u64(own->sofar);
            const u64 factor = a->strong & (before == 0) ? 0 : shared->factor[thread][l];
            own->sofar = m_bits_f64(round == 0 && l == 0
                                        ? term
                                        : m_recur(m_from_bits_u64(factor), before, term));
            chains->link[thread][l] = own->sofar;
        }
    } else {
        M_EACH_LINK(a, chains, t, round, {
            const f64 x = m_from_bits_u64(chains->link[c][l]);
            if (a->dtype == M_DTYPE_F64)
                ((f64 *)a->to)[at] = x;
            else
                m_store_any_single(a->to, at, a->dtype, (f32)x);
        })
    }
}

#endif
