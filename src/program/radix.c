/* One long line sorted by radix, by many threads. It is cut into chunks. A pass over a
 * digit counts it in every chunk, gives every chunk its place within every bucket, and
 * moves elements there; so passes are stable whatever runs when. A digit that all
 * elements share moves nothing.
 *
 * What moves is a key, or for argsort a key with its place: packed into 8 bytes where the
 * key has at most 4. */
#include "program/sort.h"

#include <stdatomic.h>

enum { CHUNKS = 32, BITS = 11, BUCKETS = 1 << BITS };

typedef struct {
    uint64_t key, place;
} pair;

typedef struct {
    int current;         /* the array that holds the line before the last pass */
    int moved;           /* the last pass went to the other one */
    atomic_bool special; /* zeros of both signs or NaN: keys have lost which */
} state;

typedef struct {
    const char *from;
    char *to;
    char *line[2];
    int64_t (*counts)[BUCKETS]; /* of chunks */
    state *state;
    int64_t extent, inner;
    int32_t shift; /* of the digit */
    pith_dtype dtype;
    bool descending;
} radix_args;

size_t pithp_long_sort_bytes(void) {
    return CHUNKS * BUCKETS * sizeof(int64_t) + 64;
}

static int64_t chunk_begin(const radix_args *a, int64_t chunk) {
    return a->extent / CHUNKS * chunk + (chunk == CHUNKS ? a->extent % CHUNKS : 0);
}

static int now(const radix_args *a) {
    return a->state->current ^ a->state->moved;
}

static void start(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    (void)begin, (void)end;
    a->state->current = a->state->moved = 0;
    atomic_store(&a->state->special, false);
}
static const pithp_host_loop start_loops[PITHP_ISA_COUNT] = {start};

/* Counts become places, bucket by bucket and in each chunk by chunk. */
static void place(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    int64_t total = 0;
    bool moves = true;
    (void)begin, (void)end;
    for (int b = 0; b < BUCKETS; b++) {
        const int64_t before = total;
        for (int c = 0; c < CHUNKS; c++) {
            const int64_t here = a->counts[c][b];
            a->counts[c][b] = total;
            total += here;
        }
        moves &= total - before != a->extent;
    }
    a->state->current = now(a);
    a->state->moved = moves;
}
static const pithp_host_loop place_loops[PITHP_ISA_COUNT] = {place};

/* Passes over elements E, whose digits are those of KEY. */
#define PASSES(E, KEY)                                                                   \
    static void count_##E(const void *args, int64_t begin, int64_t end) {                \
        const radix_args *a = args;                                                      \
        for (int64_t c = begin; c < end; c++) {                                          \
            const E *x = (const E *)(void *)a->line[now(a)];                             \
            int64_t *counts = a->counts[c];                                              \
            for (int b = 0; b < BUCKETS; b++)                                            \
                counts[b] = 0;                                                           \
            for (int64_t i = chunk_begin(a, c), n = chunk_begin(a, c + 1); i < n; i++)   \
                counts[KEY(x[i]) >> a->shift & (BUCKETS - 1)]++;                         \
        }                                                                                \
    }                                                                                    \
    static void move_##E(const void *args, int64_t begin, int64_t end) {                 \
        const radix_args *a = args;                                                      \
        for (int64_t c = begin; c < end && a->state->moved; c++) {                       \
            const E *x = (const E *)(void *)a->line[a->state->current];                  \
            E *to = (E *)(void *)a->line[!a->state->current];                            \
            int64_t *at = a->counts[c];                                                  \
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

/* Elements of type K as E, and back to results of type R. */
#define ENDS(name, K, E, MAKE, R, RESULT)                                                \
    static void load_##name(const void *args, int64_t begin, int64_t end) {              \
        const radix_args *a = args;                                                      \
        const K infinity = (K)infinity_of(a->dtype),                                     \
                sign = (K)((K)1 << (8 * sizeof(K) - 1));                                 \
        const key_kind kind = kind_of(a->dtype);                                         \
        const K *from = (const K *)(const void *)a->from;                                \
        E *line = (E *)(void *)a->line[0];                                               \
        for (int64_t c = begin; c < end; c++) {                                          \
            bool special = false;                                                        \
            for (int64_t i = chunk_begin(a, c), n = chunk_begin(a, c + 1); i < n; i++) { \
                const K x = from[i * a->inner];                                          \
                const K key = key_##K(x, kind, infinity, a->descending);                 \
                special |= x == sign || (x & (K)~sign) > infinity;                       \
                line[i] = MAKE(key, i);                                                  \
            }                                                                            \
            if (special && kind == FLOAT)                                                \
                atomic_store(&a->state->special, true);                                  \
        }                                                                                \
    }                                                                                    \
    static void store_##name(const void *args, int64_t begin, int64_t end) {             \
        const radix_args *a = args;                                                      \
        const key_kind kind = kind_of(a->dtype);                                         \
        const E *line = (const E *)(void *)a->line[now(a)];                              \
        R *to = (R *)(void *)a->to;                                                      \
        (void)kind;                                                                      \
        for (int64_t c = begin; c < end; c++)                                            \
            for (int64_t i = chunk_begin(a, c), n = chunk_begin(a, c + 1); i < n; i++)   \
                to[i * a->inner] = RESULT(line[i]);                                      \
    }                                                                                    \
    static const pithp_host_loop load_##name##_loops[PITHP_ISA_COUNT] = {load_##name};   \
    static const pithp_host_loop store_##name##_loops[PITHP_ISA_COUNT] = {store_##name};
#define KEY_ALONE(key, i)  (key)
#define KEY_PACKED(key, i) ((uint64_t)(key) << 32 | (uint64_t)(i))
#define KEY_PAIR(key, i)   ((pair){(key), (uint64_t)(i)})
#define ELEMENT_32(e)      element_uint32_t(e, kind, a->descending)
#define ELEMENT_64(e)      element_uint64_t(e, kind, a->descending)
#define PLACE_PACKED(e)    ((int64_t)((e)&UINT32_MAX))
#define PLACE_PAIR(e)      ((int64_t)(e).place)
ENDS(sort_32, uint32_t, u32e, KEY_ALONE, uint32_t, ELEMENT_32)
ENDS(sort_64, uint64_t, u64e, KEY_ALONE, uint64_t, ELEMENT_64)
ENDS(argsort_32, uint32_t, u64e, KEY_PACKED, int64_t, PLACE_PACKED)
ENDS(argsort_64, uint64_t, pair, KEY_PAIR, int64_t, PLACE_PAIR)

/* The zeros and NaNs of a sorted line, which share a key, in the order they came. */
#define RESTORE(K)                                                                       \
    static void restore_##K(const void *args, int64_t begin, int64_t end) {              \
        const radix_args *a = args;                                                      \
        const K infinity = (K)infinity_of(a->dtype),                                     \
                sign = (K)((K)1 << (8 * sizeof(K) - 1));                                 \
        const K *from = (const K *)(const void *)a->from,                                \
                *keys = (const K *)(void *)a->line[now(a)];                              \
        const K zero = key_##K(0, FLOAT, infinity, a->descending),                       \
                nan = a->descending ? 0 : (K) ~(K)0;                                     \
        K *to = (K *)(void *)a->to;                                                      \
        int64_t zeros = 0, nans = 0;                                                     \
        (void)begin, (void)end;                                                          \
        if (!atomic_load(&a->state->special))                                            \
            return;                                                                      \
        while (zeros < a->extent && keys[zeros] < zero)                                  \
            zeros++;                                                                     \
        while (nans < a->extent && keys[nans] < nan)                                     \
            nans++;                                                                      \
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

/* By argsort, then wide. */
static const struct {
    const pithp_host_loop *load, *count, *move, *store, *restore;
    size_t bytes;
    int first; /* bit of the key */
} ways[2][2] = {
    {{load_sort_32_loops, count_u32e_loops, move_u32e_loops, store_sort_32_loops,
      restore_uint32_t_loops, 4, 0},
     {load_sort_64_loops, count_u64e_loops, move_u64e_loops, store_sort_64_loops,
      restore_uint64_t_loops, 8, 0}},
    {{load_argsort_32_loops, count_u64e_loops, move_u64e_loops, store_argsort_32_loops,
      NULL, 8, 32},
     {load_argsort_64_loops, count_pair_loops, move_pair_loops, store_argsort_64_loops,
      NULL, 16, 0}},
};

pith_status pithp_emit_long_sort(const pithp_sink *sink,
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
    const char *name = pithp_rows[call->primitive].name;
    const size_t bytes = ways[argsort][wide].bytes * (size_t)extent;
    radix_args a = {.from = from,
                    .to = to,
                    .line = {(char *)temporary, (char *)temporary + bytes},
                    .extent = extent,
                    .inner = inner,
                    .dtype = dtype,
                    .descending = p->descending};
    char *rest = (char *)temporary + (2 * bytes + 63) / 64 * 64;
    a.counts = (int64_t(*)[BUCKETS])(void *)rest;
    a.state = (state *)(void *)(rest + CHUNKS * BUCKETS * sizeof(int64_t));
    pith_status rc = pithp_emit(sink, name, start_loops, &a, sizeof a, 1, 1);
    if (!rc)
        rc = pithp_emit(sink, name, ways[argsort][wide].load, &a, sizeof a, CHUNKS, 1);
    for (int bit = 0; bit < (wide ? 64 : 32) && !rc; bit += BITS) {
        a.shift = ways[argsort][wide].first + bit;
        rc = pithp_emit(sink, name, ways[argsort][wide].count, &a, sizeof a, CHUNKS, 1);
        if (!rc)
            rc = pithp_emit(sink, name, place_loops, &a, sizeof a, 1, 1);
        if (!rc)
            rc =
                pithp_emit(sink, name, ways[argsort][wide].move, &a, sizeof a, CHUNKS, 1);
    }
    if (!rc)
        rc = pithp_emit(sink, name, ways[argsort][wide].store, &a, sizeof a, CHUNKS, 1);
    if (!rc && ways[argsort][wide].restore && pith_dtype_is_float(dtype))
        rc = pithp_emit(sink, name, ways[argsort][wide].restore, &a, sizeof a, 1, 1);
    return rc;
}
