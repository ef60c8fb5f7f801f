/* Parallel LSD radix sort of one long line.
 *
 * The line is cut into chunks. A pass over a digit counts it in every chunk, computes the
 * offset of every chunk in every bucket (prefix sums), and moves elements there. So
 * passes are stable in any order of execution. A digit that all elements share moves
 * nothing. The first count is fused with the conversion of elements to keys, and the last
 * move with the conversion back. A sorted item is a key, or for argsort a key with its
 * index. Both are packed into 8 bytes if the key has at most 4. */
#include "program/host/sort.h"

#include <stdatomic.h>
#include <string.h>

enum { CHUNKS = 32, BITS = 11, BUCKETS = 1 << BITS, NEAR = 1024 /* elements */ };

typedef struct {
    uint64_t key, index;
} pair;

typedef struct {
    int current;         /* the array that holds the line before the last pass */
    int moved;           /* the last pass moved items to the other array */
    atomic_bool special; /* zeros of both signs or NaN: their keys are equal */
} state;

typedef struct {
    const char *from;
    void *to;
    char *line[2];
    uint32_t (*counts)[BUCKETS]; /* of chunks; an extent is below 2^32 */
    state *state;
    int64_t extent, inner;
    int32_t shift; /* of the digit */
    pith_dtype dtype;
    bool descending;
} radix_args;

size_t pithp_long_sort_bytes(void) {
    return CHUNKS * BUCKETS * sizeof(uint32_t) + 64;
}

static int64_t chunk_begin(const radix_args *a, int64_t chunk) {
    return a->extent / CHUNKS * chunk + (chunk == CHUNKS ? a->extent % CHUNKS : 0);
}

static int line_now(const radix_args *a) {
    return a->state->current ^ a->state->moved;
}

static void reset(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    (void)begin, (void)end;
    a->state->current = a->state->moved = 0;
    atomic_store(&a->state->special, false);
}
static const pithp_host_loop reset_loops[PITHP_ISA_COUNT] = {reset};

/* Exclusive prefix sums: counts become offsets, by bucket, then by chunk. */
static void scan_counts(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    uint32_t next[BUCKETS] = {0}, total = 0;
    bool moves = true;
    (void)begin, (void)end;
    for (int c = 0; c < CHUNKS; c++)
        for (int b = 0; b < BUCKETS; b++)
            next[b] += a->counts[c][b];
    for (int b = 0; b < BUCKETS; b++) {
        const uint32_t here = next[b];
        moves &= here != a->extent;
        next[b] = total;
        total += here;
    }
    for (int c = 0; c < CHUNKS; c++)
        for (int b = 0; b < BUCKETS; b++) {
            const uint32_t here = a->counts[c][b];
            a->counts[c][b] = next[b];
            next[b] += here;
        }
    a->state->current = line_now(a);
    a->state->moved = moves;
}
static const pithp_host_loop scan_loops[PITHP_ISA_COUNT] = {scan_counts};

/* Passes over items E with keys KEY. */
#define PASSES(E, KEY)                                                                   \
    static inline void add_##E(uint32_t *counts, const E *x, int64_t n, int shift) {     \
        for (int64_t i = 0; i < n; i++)                                                  \
            counts[KEY(x[i]) >> shift & (BUCKETS - 1)]++;                                \
    }                                                                                    \
    static void count_##E(const void *args, int64_t begin, int64_t end) {                \
        const radix_args *a = args;                                                      \
        for (int64_t c = begin; c < end; c++) {                                          \
            const E *x = (const E *)(void *)a->line[line_now(a)];                        \
            const int64_t first = chunk_begin(a, c);                                     \
            memset(a->counts[c], 0, sizeof a->counts[c]);                                \
            add_##E(a->counts[c], x + first, chunk_begin(a, c + 1) - first, a->shift);   \
        }                                                                                \
    }                                                                                    \
    static void move_##E(const void *args, int64_t begin, int64_t end) {                 \
        const radix_args *a = args;                                                      \
        for (int64_t c = begin; c < end && a->state->moved; c++) {                       \
            const E *x = (const E *)(void *)a->line[a->state->current];                  \
            E *to = (E *)(void *)a->line[!a->state->current];                            \
            uint32_t *at = a->counts[c];                                                 \
            const int shift = a->shift;                                                  \
            for (int64_t i = chunk_begin(a, c), n = chunk_begin(a, c + 1); i < n; i++) { \
                const E e = x[i];                                                        \
                to[at[KEY(e) >> shift & (BUCKETS - 1)]++] = e;                           \
            }                                                                            \
        }                                                                                \
    }                                                                                    \
    static const pithp_host_loop count_##E##_loops[PITHP_ISA_COUNT] = {count_##E};       \
    static const pithp_host_loop move_##E##_loops[PITHP_ISA_COUNT] = {move_##E};
#define SELF(x) (x)
#define PAIR(x) ((x).key)
typedef uint32_t u32e;
typedef uint64_t u64e;
PASSES(u32e, SELF)
PASSES(u64e, SELF)
PASSES(pair, PAIR)

/* Elements to keys, and keys to results in the last pass, which may move nothing. */
#define KEY_ALONE(key, i)  (key)
#define KEY_PACKED(key, i) ((uint64_t)(key) << 32 | (uint64_t)(i))
#define KEY_PAIR(key, i)   ((pair){(key), (uint64_t)(i)})
#define ELEMENT_32(e)      element_uint32_t(e, kind, descending)
#define ELEMENT_64(e)      element_uint64_t(e, kind, descending)
#define INDEX_PACKED(e)    ((int64_t)((e)&UINT32_MAX))
#define INDEX_PAIR(e)      ((int64_t)(e).index)
/* clang-format off */
#define WAY sort_32
#define K uint32_t
#define E u32e
#define DIGITS SELF
#define MAKE KEY_ALONE
#define R uint32_t
#define RESULT ELEMENT_32
#include "program/host/radix_ends.h"

#define WAY sort_64
#define K uint64_t
#define E u64e
#define DIGITS SELF
#define MAKE KEY_ALONE
#define R uint64_t
#define RESULT ELEMENT_64
#include "program/host/radix_ends.h"

#define WAY argsort_32
#define K uint32_t
#define E u64e
#define DIGITS SELF
#define MAKE KEY_PACKED
#define R int64_t
#define RESULT INDEX_PACKED
#include "program/host/radix_ends.h"

#define WAY argsort_64
#define K uint64_t
#define E pair
#define DIGITS PAIR
#define MAKE KEY_PAIR
#define R int64_t
#define RESULT INDEX_PAIR
#include "program/host/radix_ends.h"
/* clang-format on */

/* Restore the zeros and NaNs of a sorted line, which share a key, in stable order. */
#define RESTORE(K)                                                                       \
    /* Number of elements before those of a key. */                                      \
    static int64_t before_##K(const radix_args *a, K key) {                              \
        const K infinity = (K)infinity_of(a->dtype), *sorted = a->to;                    \
        int64_t low = 0, high = a->extent;                                               \
        while (low < high) {                                                             \
            const int64_t middle = low + (high - low) / 2;                               \
            const K x = sorted[middle * a->inner];                                       \
            if (key_##K(x, FLOAT, infinity, a->descending) < key)                        \
                low = middle + 1;                                                        \
            else                                                                         \
                high = middle;                                                           \
        }                                                                                \
        return low;                                                                      \
    }                                                                                    \
    static void restore_##K(const void *args, int64_t begin, int64_t end) {              \
        const radix_args *a = args;                                                      \
        const K infinity = (K)infinity_of(a->dtype),                                     \
                sign = (K)((K)1 << (8 * sizeof(K) - 1));                                 \
        const K *from = (const K *)(const void *)a->from;                                \
        K *to = (K *)(void *)a->to;                                                      \
        (void)begin, (void)end;                                                          \
        if (!atomic_load(&a->state->special))                                            \
            return;                                                                      \
        int64_t zeros = before_##K(a, key_##K(0, FLOAT, infinity, a->descending)),       \
                nans = before_##K(a, a->descending ? 0 : (K) ~(K)0);                     \
        for (int64_t i = 0; i < a->extent; i++) {                                        \
            const K x = from[i * a->inner], magnitude = x & (K)~sign;                    \
            if (magnitude == 0)                                                          \
                to[zeros++ * a->inner] = x;                                              \
            else if (magnitude > infinity)                                               \
                to[nans++ * a->inner] = x;                                               \
        }                                                                                \
    }                                                                                    \
    static const pithp_host_loop restore_##K##_loops[PITHP_ISA_COUNT] = {restore_##K};
RESTORE(uint32_t)
RESTORE(uint64_t)

/* Indexed by argsort, then wide. */
typedef struct {
    const pithp_host_loop *load, *count, *move, *finish, *restore;
    size_t bytes;
    int first; /* bit of the key */
} radix_kind;
static const radix_kind kinds[2][2] = {
    {{load_loops_sort_32, count_u32e_loops, move_u32e_loops, finish_loops_sort_32,
      restore_uint32_t_loops, 4, 0},
     {load_loops_sort_64, count_u64e_loops, move_u64e_loops, finish_loops_sort_64,
      restore_uint64_t_loops, 8, 0}},
    {{load_loops_argsort_32, count_u64e_loops, move_u64e_loops, finish_loops_argsort_32,
      NULL, 8, 32},
     {load_loops_argsort_64, count_pair_loops, move_pair_loops, finish_loops_argsort_64,
      NULL, 16, 0}},
};

pith_status pithp_launch_long_sort(const pithp_sink *sink,
                                   const pithp_call *call,
                                   const void *from,
                                   void *to,
                                   void *temporary,
                                   int64_t extent,
                                   int64_t inner) {
    const pithp_sort_params *p = call->params;
    const pith_dtype dtype = call->operands[0]->dtype;
    const bool argsort = call->primitive == PITHP_OP_ARGSORT;
    const int wide = pith_dtype_size(dtype) == 8;
    const char *name = pithp_ops[call->primitive].name;
    const radix_kind *way = &kinds[argsort][wide];
    const size_t bytes = way->bytes * (size_t)extent;
    radix_args a = {.from = from,
                    .to = to,
                    .line = {(char *)temporary, (char *)temporary + bytes},
                    .extent = extent,
                    .inner = inner,
                    .dtype = dtype,
                    .descending = p->descending};
    char *rest = (char *)temporary + (2 * bytes + 63) / 64 * 64;
    a.counts = (uint32_t(*)[BUCKETS])(void *)rest;
    a.state = (state *)(void *)(rest + CHUNKS * BUCKETS * sizeof(uint32_t));
    const int bits = wide ? 64 : 32;
    pith_status rc = pithp_launch_loops(sink, name, reset_loops, &a, sizeof a, 1, 1);
    for (int bit = 0; bit < bits && !rc; bit += BITS) {
        const bool last = bit + BITS >= bits;
        a.shift = way->first + bit;
        rc = pithp_launch_loops(sink, name, bit ? way->count : way->load, &a, sizeof a,
                                CHUNKS, 1);
        if (!rc)
            rc = pithp_launch_loops(sink, name, scan_loops, &a, sizeof a, 1, 1);
        if (!rc)
            rc = pithp_launch_loops(sink, name, last ? way->finish : way->move, &a,
                                    sizeof a, CHUNKS, 1);
    }
    if (!rc && way->restore && pith_dtype_is_float(dtype))
        rc = pithp_launch_loops(sink, name, way->restore, &a, sizeof a, 1, 1);
    return rc;
}
