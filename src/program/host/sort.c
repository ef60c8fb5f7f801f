/* sort and argsort: stable, along one axis, by radix. An element becomes an unsigned key
 * in whose order it belongs; keys that are equal are elements that are equal, so -0 has
 * the key of 0 and every NaN that of the greatest. sort turns keys back into elements,
 * and puts zeros and NaNs back as they were given. */
#include "program/host/sort.h"

#include "program/host/vector/rank.h"

#include <string.h>

enum {
    FEW = PITHP_RANK_MOST,
    LEAST_RANKED = 12,
    MOST_DIGITS = 8,
    MOST_BUCKETS = 2048,
    MANY = 8192
};

typedef struct {
    const char *from;
    void *to;
    char *temporary;       /* argsort: two arrays of places; then two of keys */
    int64_t extent, inner; /* elements of a line, and between two of its neighbours */
    int64_t count;         /* elements of all lines */
    pith_dtype dtype;
    bool descending;
} sort_args;

pith_status
pithp_infer_sort(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->axis < 0 || p->axis >= x->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "axis %d of rank %d", p->axis,
                            x->rank);
    const pith_dtype dtype = call->primitive == PITHP_OP_ARGSORT ? PITH_I64 : x->dtype;
    return pithp_spec_fill(call, refusal, result, dtype, x->rank, x->shape);
}

size_t pithp_temporary_sort(const pithp_call *call, const pith_spec *result) {
    const pith_spec *x = call->operands[0];
    const pithp_sort_params *p = call->params;
    if (x->shape[p->axis] <= FEW)
        return 0;
    const size_t places = call->primitive == PITHP_OP_ARGSORT ? sizeof(int64_t) : 0;
    const size_t size = pith_dtype_size(x->dtype);
    return (size_t)result->count * 2 * (size + places) +
           (pithp_sorts_long(x->count, x->shape[p->axis], size)
                ? pithp_long_sort_bytes() + 64
                : 0);
}

/* Those of processors that compare many keys at a time. */
#ifdef __x86_64__
#    define RANK_V3(K) pithp_rank_##K##_v3
#    define RANK_V4(K) pithp_rank_##K##_v4
#else
#    define RANK_V3(K) pithp_rank_##K##_base
#    define RANK_V4(K) pithp_rank_##K##_base
#endif

/* Everything for keys of one width. Passes run over digits of `bits` bits; counts of all
 * digits are made in one pass over the keys, and a digit that all keys share moves
 * nothing. */
#define WIDTH(K, BITS)                                                                   \
    static void insert_##K(K *keys, int64_t *places, int64_t n) {                        \
        for (int64_t i = 1; i < n; i++) {                                                \
            const K key = keys[i];                                                       \
            const int64_t place = places ? places[i] : 0;                                \
            int64_t j = i;                                                               \
            for (; j > 0 && keys[j - 1] > key; j--) {                                    \
                keys[j] = keys[j - 1];                                                   \
                if (places)                                                              \
                    places[j] = places[j - 1];                                           \
            }                                                                            \
            keys[j] = key;                                                               \
            if (places)                                                                  \
                places[j] = place;                                                       \
        }                                                                                \
    }                                                                                    \
    /* By ranks. places: what they are before, or NULL. */                               \
    static void rank_##K(pithp_isa isa, K *keys, int64_t *places, int64_t n) {           \
        K from[FEW];                                                                     \
        uint8_t ranks[FEW];                                                              \
        memcpy(from, keys, (size_t)n * sizeof *keys);                                    \
        (isa == PITHP_ISA_V4 ? RANK_V4(K) : RANK_V3(K))(from, n, ranks);                 \
        for (int64_t i = 0; i < n; i++)                                                  \
            keys[ranks[i]] = from[i];                                                    \
        for (int64_t i = 0; places && i < n; i++)                                        \
            places[ranks[i]] = i;                                                        \
    }                                                                                    \
    /* Sorts *keys, and *places with them, swapping each with its spare as passes go. */ \
    static void radix_##K(K **keys, K **spare, int64_t **places, int64_t **spare_places, \
                          int64_t n) {                                                   \
        const int bits = BITS <= 16 || n < MANY ? 8 : 11;                                \
        const int digits = (BITS + bits - 1) / bits, buckets = 1 << bits;                \
        int64_t counts[MOST_DIGITS][MOST_BUCKETS];                                       \
        for (int d = 0; d < digits; d++)                                                 \
            memset(counts[d], 0, (size_t)buckets * sizeof counts[d][0]);                 \
        for (int64_t i = 0; i < n; i++)                                                  \
            for (int d = 0; d < digits; d++)                                             \
                counts[d][(*keys)[i] >> (d * bits) & (K)(buckets - 1)]++;                \
        for (int d = 0; d < digits; d++) {                                               \
            const int shift = d * bits;                                                  \
            const K mask = (K)(buckets - 1);                                             \
            int64_t *at = counts[d], total = 0;                                          \
            if (at[(*keys)[0] >> shift & mask] == n)                                     \
                continue;                                                                \
            for (int b = 0; b < buckets; b++) {                                          \
                const int64_t here = at[b];                                              \
                at[b] = total;                                                           \
                total += here;                                                           \
            }                                                                            \
            const K *from = *keys;                                                       \
            K *to = *spare;                                                              \
            if (places) {                                                                \
                const int64_t *from_place = *places;                                     \
                int64_t *to_place = *spare_places;                                       \
                for (int64_t i = 0; i < n; i++) {                                        \
                    const int64_t place = at[from[i] >> shift & mask]++;                 \
                    to[place] = from[i];                                                 \
                    to_place[place] = from_place[i];                                     \
                }                                                                        \
                *spare_places = *places;                                                 \
                *places = to_place;                                                      \
            } else {                                                                     \
                for (int64_t i = 0; i < n; i++)                                          \
                    to[at[from[i] >> shift & mask]++] = from[i];                         \
            }                                                                            \
            *spare = *keys;                                                              \
            *keys = to;                                                                  \
        }                                                                                \
    }                                                                                    \
    /* The zeros and NaNs of a line, which share a key, in the order they came. */       \
    static void restore_##K(const sort_args *a, const K *from, K *to, const K *keys,     \
                            K infinity) {                                                \
        const K sign = (K)1 << (BITS - 1),                                               \
                zero = key_##K(0, FLOAT, infinity, a->descending);                       \
        const K nan = a->descending ? 0 : (K) ~(K)0;                                     \
        int64_t zeros = 0, nans = 0;                                                     \
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
    static void line_##K(pithp_isa isa, const sort_args *a, int64_t line,                \
                         bool argsort) {                                                 \
        const int64_t n = a->extent,                                                     \
                      base = line / a->inner * n * a->inner + line % a->inner;           \
        const K *from = (const K *)(const void *)a->from + base;                         \
        const K infinity = (K)infinity_of(a->dtype), sign = (K)1 << (BITS - 1);          \
        const key_kind kind = kind_of(a->dtype);                                         \
        K few[FEW], *keys = few, *spare = NULL;                                          \
        int64_t few_places[FEW], *places = few_places, *spare_places = NULL;             \
        if (n > FEW) {                                                                   \
            int64_t *all_places = (int64_t *)(void *)a->temporary;                       \
            K *all = (K *)(void *)(all_places + (argsort ? 2 * a->count : 0));           \
            keys = all + line * n;                                                       \
            spare = all + a->count + line * n;                                           \
            places = argsort ? all_places + line * n : NULL;                             \
            spare_places = argsort ? all_places + a->count + line * n : NULL;            \
        }                                                                                \
        bool special = false;                                                            \
        for (int64_t i = 0; i < n; i++) {                                                \
            const K x = from[i * a->inner];                                              \
            special |= kind == FLOAT && (x == sign || (x & (K)~sign) > infinity);        \
            keys[i] = key_##K(x, kind, infinity, a->descending);                         \
        }                                                                                \
        for (int64_t i = 0; argsort && i < n; i++)                                       \
            places[i] = i;                                                               \
        if (n <= FEW && n >= LEAST_RANKED && isa != PITHP_ISA_BASE)                      \
            rank_##K(isa, keys, argsort ? places : NULL, n);                             \
        else if (n <= FEW)                                                               \
            insert_##K(keys, argsort ? places : NULL, n);                                \
        else                                                                             \
            radix_##K(&keys, &spare, argsort ? &places : NULL, &spare_places, n);        \
        if (argsort) {                                                                   \
            int64_t *to = (int64_t *)a->to + base;                                       \
            for (int64_t i = 0; i < n; i++)                                              \
                to[i * a->inner] = places[i];                                            \
            return;                                                                      \
        }                                                                                \
        K *to = (K *)a->to + base;                                                       \
        for (int64_t i = 0; i < n; i++)                                                  \
            to[i * a->inner] = element_##K(keys[i], kind, a->descending);                \
        if (special)                                                                     \
            restore_##K(a, from, to, keys, infinity);                                    \
    }                                                                                    \
    static void sort_##K(pithp_isa isa, const void *args, int64_t begin, int64_t end) {  \
        for (int64_t line = begin; line < end; line++)                                   \
            line_##K(isa, args, line, false);                                            \
    }                                                                                    \
    static void argsort_##K(pithp_isa isa, const void *args, int64_t begin,              \
                            int64_t end) {                                               \
        for (int64_t line = begin; line < end; line++)                                   \
            line_##K(isa, args, line, true);                                             \
    }                                                                                    \
    PITHP_LOOPS(sort_##K)                                                                \
    PITHP_LOOPS(argsort_##K)

WIDTH(uint8_t, 8)
WIDTH(uint16_t, 16)
WIDTH(uint32_t, 32)
WIDTH(uint64_t, 64)

static const pithp_host_loop *loops_of(size_t size, bool argsort) {
    switch (size) {
        case 1:
            return argsort ? argsort_uint8_t_loops : sort_uint8_t_loops;
        case 2:
            return argsort ? argsort_uint16_t_loops : sort_uint16_t_loops;
        case 4:
            return argsort ? argsort_uint32_t_loops : sort_uint32_t_loops;
        default:
            return argsort ? argsort_uint64_t_loops : sort_uint64_t_loops;
    }
}

/* Lines that are few and long, one after the other. */
static pith_status
sort_long_lines(const pithp_call *call, const sort_args *a, const pithp_sink *sink) {
    const int64_t size = (int64_t)pith_dtype_size(a->dtype);
    const int64_t to_size = call->primitive == PITHP_OP_ARGSORT ? 8 : size;
    pith_status rc = PITH_OK;
    for (int64_t line = 0; line < a->count / a->extent && !rc; line++) {
        const int64_t base = line / a->inner * a->extent * a->inner + line % a->inner;
        rc = pithp_emit_long_sort(sink, call, a->from + base * size,
                                  (char *)a->to + base * to_size, a->temporary, a->extent,
                                  a->inner);
    }
    return rc;
}

pith_status pithp_lower_sort(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (result->count == 0)
        return PITH_OK;
    sort_args a = {.from = memory->operands[0],
                   .to = memory->result,
                   .temporary = memory->temporary,
                   .extent = x->shape[p->axis],
                   .inner = 1,
                   .count = x->count,
                   .dtype = x->dtype,
                   .descending = p->descending};
    for (int d = p->axis + 1; d < x->rank; d++)
        a.inner *= x->shape[d];
    if (pithp_sorts_long(x->count, a.extent, pith_dtype_size(x->dtype)))
        return sort_long_lines(call, &a, sink);
    const int64_t grain = 4096 / a.extent + 1;
    return pithp_emit(
        sink, pithp_rows[call->primitive].name,
        loops_of(pith_dtype_size(x->dtype), call->primitive == PITHP_OP_ARGSORT), &a,
        sizeof a, x->count / a.extent, grain);
}
