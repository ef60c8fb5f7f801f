/* Reductions in an order that depends on indices alone: element i of a block of 4,096
 * goes to lane i % 64, a lane combines its elements in order, the lanes combine by a
 * binary tree over neighbours (0 with 1, 2 with 3, ...), and so do the blocks. Missing
 * lanes and blocks are the identity. Every instruction set, thread count and alignment
 * gives the same bits. */
#include "program/host/vector/reduce.h"

#include "program/host/vector/fetch.h"
#include "program/host/vector/vector.h"
#include "program/source/reducers.h"

#include <string.h>

#ifdef __x86_64__
#    include <immintrin.h>
#endif

#define LANES PITHP_REDUCE_LANES
/* Rows that are fetched before they are needed: strips of rows defeat the hardware. */
#define AHEAD 8
/* Bytes that are fetched ahead of long rows. */
#define FAR   12288
#define PIECE 64 /* columns whose lanes stay in the first cache */

/* Lanes whose accumulators stay in registers; more passes over a block read other lines.
 */
#if defined(__AVX512F__)
#    define AT_ONCE      64
#    define VECTOR_BYTES 64
#elif defined(__AVX2__)
#    define AT_ONCE      32
#    define VECTOR_BYTES 32
#else
#    define AT_ONCE      16
#    define VECTOR_BYTES 16
#endif

/* ---- One reducer: A accumulates what LOADED makes of a dt, by COMBINE(a, b) ---- */

/* The inner loops, element by element. The compiler makes vectors of them. */
#define BY_ELEMENT(name, dt, A, LOADED)                                                  \
    /* Elements begin..end, LANES apart, go to AT_ONCE lanes. */                         \
    static inline __attribute__((always_inline)) void name##_to_some(                    \
        A *some, const dt *x, int64_t begin, int64_t end, bool fetches) {                \
        for (int64_t i = begin; i < end; i += LANES) {                                   \
            if (fetches)                                                                 \
                pithp_fetch(x + i, FAR, AT_ONCE * (int64_t)sizeof(dt));                  \
            PITHP_SIMD                                                                   \
            for (int j = 0; j < AT_ONCE; j++)                                            \
                some[j] = name##_join(some[j], LOADED(x[i + j]));                        \
        }                                                                                \
    }                                                                                    \
    /* n more elements, one a lane. */                                                   \
    static inline __attribute__((always_inline)) void name##_rest_to_some(               \
        A *some, const dt *x, int64_t n) {                                               \
        EACH_OF_REST(j, n) some[j] = name##_join(some[j], LOADED(x[j]));                 \
    }                                                                                    \
    /* Each lane takes its rows of `groups` times as many rows as lanes, in turn. A lane \
     * is read and written once, and the rows are `groups` streams. Lanes hold nothing   \
     * before if it `begins`. */                                                         \
    static inline __attribute__((always_inline)) void name##_piece(                      \
        A *lane, const dt *row, int64_t group, int64_t n, int groups, bool begins) {     \
        PITHP_SIMD                                                                       \
        for (int64_t c = 0; c < n; c++) {                                                \
            A some = begins ? LOADED(row[c]) : lane[c];                                  \
            for (int g = begins; g < groups; g++)                                        \
                some = name##_join(some, LOADED(row[g * group + c]));                    \
            lane[c] = some;                                                              \
        }                                                                                \
    }

/* A mask keeps the accumulators in registers. */
#ifdef __AVX512F__
#    define EACH_OF_REST(j, n)                                                           \
        PITHP_SIMD                                                                       \
        for (int j = 0; j < AT_ONCE; j++)                                                \
            if (j < (n))
#else
#    define EACH_OF_REST(j, n) for (int j = 0; j < (n) && j < AT_ONCE; j++)
#endif

/* The same loops over f32 with f64 accumulators, by vectors: each vector is converted as
 * it is loaded. gcc would load whole registers of f32 and take them apart, which is
 * slower. */
typedef f32 f32s __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
typedef f64 f64s __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
enum { F64S = VECTOR_BYTES / 8 };

/* Intrinsics, because gcc splits __builtin_convertvector as well. */
static inline __attribute__((always_inline)) f64s load_f64s(const f32 *x) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX2__)
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return __builtin_convertvector(*(const f32s *)x, f64s);
#endif
}

#ifdef __AVX512F__
#    define REST_BY_VECTOR(name, COMBINE)                                                \
        for (int j = 0; j < AT_ONCE; j += F64S) {                                        \
            const uint64_t first = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;         \
            const __mmask8 here = (__mmask8)(first >> j);                                \
            f64s *to = (f64s *)(some + j);                                               \
            const f64s next = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(here, x + j));       \
            *to = _mm512_mask_blend_pd(here, *to, COMBINE(*to, next));                   \
        }
#else
#    define REST_BY_VECTOR(name, COMBINE)                                                \
        EACH_OF_REST(j, n) some[j] = COMBINE(some[j], (f64)x[j]);
#endif

#define BY_VECTOR(name, COMBINE)                                                         \
    static inline __attribute__((always_inline)) void name##_to_some(                    \
        f64 *some, const f32 *x, int64_t begin, int64_t end, bool fetches) {             \
        f64s all[AT_ONCE / F64S];                                                        \
        memcpy(all, some, sizeof all);                                                   \
        for (int64_t i = begin; i < end; i += LANES) {                                   \
            if (fetches)                                                                 \
                pithp_fetch(x + i, FAR, AT_ONCE * (int64_t)sizeof(f32));                 \
            for (int j = 0; j < AT_ONCE / F64S; j++)                                     \
                all[j] = COMBINE(all[j], load_f64s(x + i + j * F64S));                   \
        }                                                                                \
        memcpy(some, all, sizeof all);                                                   \
    }                                                                                    \
    static inline __attribute__((always_inline)) void name##_rest_to_some(               \
        f64 *some, const f32 *x, int64_t n) {                                            \
        REST_BY_VECTOR(name, COMBINE)                                                    \
    }                                                                                    \
    static inline __attribute__((always_inline)) void name##_piece(                      \
        f64 *lane, const f32 *row, int64_t group, int64_t n, int groups, bool begins) {  \
        int64_t c = 0;                                                                   \
        for (; c + F64S <= n; c += F64S) {                                               \
            f64s *to = (f64s *)(lane + c), some = begins ? load_f64s(row + c) : *to;     \
            for (int g = begins; g < groups; g++)                                        \
                some = COMBINE(some, load_f64s(row + g * group + c));                    \
            *to = some;                                                                  \
        }                                                                                \
        for (; c < n; c++) {                                                             \
            f64 some = begins ? (f64)row[c] : lane[c];                                   \
            for (int g = begins; g < groups; g++)                                        \
                some = COMBINE(some, (f64)row[g * group + c]);                           \
            lane[c] = some;                                                              \
        }                                                                                \
    }

#define JOIN(name, A, COMBINE)                                                           \
    static inline __attribute__((always_inline)) A name##_join(A a, A b) {               \
        return COMBINE(a, b);                                                            \
    }
#define LANES_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                                 \
    /* Neighbours of `count` rows of `width` meet until one is left, in rows[0]. */      \
    static inline __attribute__((always_inline)) void name##_meet(                       \
        A *rows, int64_t pitch, int64_t count, int64_t width) {                          \
        for (; count > 1; count = (count + 1) / 2) {                                     \
            for (int64_t i = 0; i < count / 2; i++) {                                    \
                A *to = rows + i * pitch;                                                \
                const A *left = rows + 2 * i * pitch, *right = left + pitch;             \
                PITHP_SIMD                                                               \
                for (int64_t c = 0; c < width; c++)                                      \
                    to[c] = COMBINE(left[c], right[c]);                                  \
            }                                                                            \
            if (count % 2)                                                               \
                for (int64_t c = 0; c < width; c++)                                      \
                    rows[count / 2 * pitch + c] = rows[(count - 1) * pitch + c];         \
        }                                                                                \
    }                                                                                    \
    static __attribute__((noinline)) void name##_tree(void *blocks, int64_t pitch,       \
                                                      int64_t count, int64_t width) {    \
        name##_meet(blocks, pitch, count, width);                                        \
    }                                                                                    \
    /* Whole trees over 2, 4, 8 elements, and over fewer than 64: the trees of the       \
     * powers of two in n, the last and least ones joined first. */                      \
    static inline A name##_2(const dt *x) {                                              \
        return name##_join(LOADED(x[0]), LOADED(x[1]));                                  \
    }                                                                                    \
    static inline A name##_4(const dt *x) {                                              \
        return name##_join(name##_2(x), name##_2(x + 2));                                \
    }                                                                                    \
    static inline A name##_8(const dt *x) {                                              \
        return name##_join(name##_4(x), name##_4(x + 4));                                \
    }                                                                                    \
    static inline A name##_few(const dt *x, int64_t n) {                                 \
        int64_t at = n & ~(int64_t)7;                                                    \
        A some = IDENTITY;                                                               \
        if (n & 1)                                                                       \
            some = LOADED(x[n - 1]);                                                     \
        if (n & 2)                                                                       \
            some = n & 1 ? name##_join(name##_2(x + (n & ~(int64_t)3)), some)            \
                         : name##_2(x + (n & ~(int64_t)3));                              \
        if (n & 4)                                                                       \
            some = n & 3 ? name##_join(name##_4(x + at), some) : name##_4(x + at);       \
        for (int64_t size = 8; at; size *= 2) {                                          \
            if (!(at & size))                                                            \
                continue;                                                                \
            A trees[8];                                                                  \
            at -= size;                                                                  \
            for (int64_t i = 0; i < size / 8; i++)                                       \
                trees[i] = name##_8(x + at + 8 * i);                                     \
            for (int64_t left = size / 16; left; left /= 2)                              \
                for (int64_t i = 0; i < left; i++)                                       \
                    trees[i] = name##_join(trees[2 * i], trees[2 * i + 1]);              \
            some = n & (size - 1) ? name##_join(trees[0], some) : trees[0];              \
        }                                                                                \
        return some;                                                                     \
    }                                                                                    \
    /* Elements go to their lanes, which hold those before them, or, where it `begins`,  \
     * nothing. `more` elements that follow are fetched with them. */                    \
    static inline __attribute__((always_inline)) void name##_to_lanes(                   \
        A *lanes, const dt *x, int64_t length, bool begins, int64_t more) {              \
        const int64_t whole = length / LANES * LANES, rest = length - whole;             \
        const int64_t fetched = length + more - FAR / (int64_t)sizeof(dt);               \
        const int64_t far = fetched < whole ? fetched / LANES * LANES : whole;           \
        for (int first = 0; first < LANES; first += AT_ONCE) {                           \
            A some[AT_ONCE];                                                             \
            int64_t i = begins ? LANES : 0;                                              \
            PITHP_SIMD                                                                   \
            for (int j = 0; j < AT_ONCE; j++)                                            \
                some[j] = begins ? LOADED(x[first + j]) : lanes[first + j];              \
            if (i < far) {                                                               \
                name##_to_some(some, x + first, i, far, true);                           \
                i = far;                                                                 \
            }                                                                            \
            name##_to_some(some, x + first, i, whole, false);                            \
            if (rest > first)                                                            \
                name##_rest_to_some(some, x + whole + first, rest - first);              \
            for (int j = 0; j < AT_ONCE; j++)                                            \
                lanes[first + j] = some[j];                                              \
        }                                                                                \
    }                                                                                    \
    static inline __attribute__((always_inline)) void name##_halve(A *lanes, int left) { \
        PITHP_SIMD                                                                       \
        for (int j = 0; j < left; j++)                                                   \
            lanes[j] = name##_join(lanes[2 * j], lanes[2 * j + 1]);                      \
    }                                                                                    \
    /* No loop: so the lanes stay in registers. */                                       \
    static inline __attribute__((always_inline)) A name##_of_lanes(A *lanes) {           \
        name##_halve(lanes, 32);                                                         \
        name##_halve(lanes, 16);                                                         \
        name##_halve(lanes, 8);                                                          \
        name##_halve(lanes, 4);                                                          \
        name##_halve(lanes, 2);                                                          \
        return name##_join(IDENTITY, name##_join(lanes[0], lanes[1]));                   \
    }                                                                                    \
    static __attribute__((noinline))                                                     \
    A name##_row_in_order(const dt *x, int64_t length, int64_t more) {                   \
        A lanes[LANES];                                                                  \
        if (length < LANES)                                                              \
            return name##_join(IDENTITY, name##_few(x, length));                         \
        name##_to_lanes(lanes, x, length, true, more);                                   \
        return name##_of_lanes(lanes);                                                   \
    }

#define ROW_IN_ORDER(name, dt, A)                                                        \
    static A name##_row(const dt *x, int64_t length, int64_t more) {                     \
        return name##_row_in_order(x, length, more);                                     \
    }

#define NUMBERS (AT_ONCE / 2)
/* Of the least and the greatest the order chooses among nans and zeros, and nothing else,
 * so that the processor's own minimum finds what is neither. */
#define ROW_OF_NUMBERS(name, dt, A, LOADED, COMBINE)                                     \
    static inline __attribute__((always_inline)) void name##_meet_numbers(               \
        A *some, A *nans, const dt *x) {                                                 \
        PITHP_SIMD                                                                       \
        for (int j = 0; j < NUMBERS; j++) {                                              \
            const A one = LOADED(x[j]);                                                  \
            nans[j] = __builtin_isunordered(some[j], one) ? 1 : nans[j];                 \
            some[j] = COMBINE##_NUMBER(some[j], one);                                    \
        }                                                                                \
    }                                                                                    \
    static A name##_row(const dt *x, int64_t length, int64_t more) {                     \
        A some[NUMBERS], nans[NUMBERS]; /* 1: met one */                                 \
        if (length < 2 * NUMBERS)                                                        \
            return name##_row_in_order(x, length, more);                                 \
        PITHP_SIMD                                                                       \
        for (int j = 0; j < NUMBERS; j++) {                                              \
            some[j] = LOADED(x[j]);                                                      \
            nans[j] = 0;                                                                 \
        }                                                                                \
        for (int64_t i = NUMBERS; i + NUMBERS <= length; i += NUMBERS)                   \
            name##_meet_numbers(some, nans, x + i);                                      \
        /* some once more rather than fewer */                                           \
        name##_meet_numbers(some, nans, x + length - NUMBERS);                           \
        for (int left = NUMBERS / 2; left; left /= 2) {                                  \
            PITHP_SIMD                                                                   \
            for (int j = 0; j < left; j++) {                                             \
                nans[j] += nans[left + j];                                               \
                some[j] = COMBINE##_NUMBER(some[j], some[left + j]);                     \
            }                                                                            \
        }                                                                                \
        return nans[0] > 0 || some[0] == 0 ? name##_row_in_order(x, length, more)        \
                                           : some[0];                                    \
    }

#define BLOCKS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                                \
    static void name##_rows(void *to, const void *from, int64_t length, int64_t count,   \
                            int64_t more) {                                              \
        A *out = to;                                                                     \
        const dt *x = from;                                                              \
        if (length == 2) {                                                               \
            PITHP_SIMD                                                                   \
            for (int64_t i = 0; i < count; i++)                                          \
                out[i] = name##_join(IDENTITY, name##_2(x + 2 * i));                     \
        } else if (length == 3) {                                                        \
            PITHP_SIMD                                                                   \
            for (int64_t i = 0; i < count; i++)                                          \
                out[i] = name##_join(                                                    \
                    IDENTITY, name##_join(name##_2(x + 3 * i), LOADED(x[3 * i + 2])));   \
        } else if (length < 16) {                                                        \
            for (int64_t i = 0; i < count; i++, x += length)                             \
                out[i] = name##_join(IDENTITY, name##_few(x, length));                   \
        } else {                                                                         \
            for (int64_t i = 0; i < count; i++, x += length)                             \
                out[i] = name##_row(x, length, (count - 1 - i) * length + more);         \
        }                                                                                \
    }                                                                                    \
    /* The first meeting of `used` rows, straight from where they lie. */                \
    static inline __attribute__((always_inline)) void name##_first(                      \
        A *lanes, const dt *x, int64_t pitch, int64_t used, int64_t width) {             \
        for (int64_t i = 0; i < used / 2; i++) {                                         \
            const dt *left = x + 2 * i * pitch, *right = left + pitch;                   \
            A *to = lanes + i * width;                                                   \
            PITHP_SIMD                                                                   \
            for (int64_t c = 0; c < width; c++)                                          \
                to[c] = name##_join(LOADED(left[c]), LOADED(right[c]));                  \
        }                                                                                \
        if (used % 2)                                                                    \
            for (int64_t c = 0; c < width; c++)                                          \
                lanes[used / 2 * width + c] = LOADED(x[(used - 1) * pitch + c]);         \
    }                                                                                    \
    /* The same of a long row, and what lies `ahead` elements behind it is fetched. */   \
    static inline __attribute__((always_inline)) void name##_pieces(                     \
        A *lane, const dt *row, int64_t group, int64_t n, int groups, bool begins,       \
        int64_t ahead) {                                                                 \
        const int64_t bytes = sizeof(dt);                                                \
        int64_t c = 0;                                                                   \
        for (; c + PIECE <= n; c += PIECE) {                                             \
            for (int g = 0; g < groups; g++)                                             \
                pithp_fetch(row + g * group + c, ahead * bytes, PIECE * bytes);          \
            name##_piece(lane + c, row + c, group, PIECE, groups, begins);               \
        }                                                                                \
        name##_piece(lane + c, row + c, group, n - c, groups, begins);                   \
    }                                                                                    \
    /* `at_once` lanes are one long row. */                                              \
    static inline __attribute__((always_inline)) void name##_groups(                     \
        A *lanes, const dt *x, int64_t pitch, int64_t width, int64_t at_once,            \
        int groups, bool begins) {                                                       \
        for (int64_t i = 0; i < LANES; i += at_once)                                     \
            name##_pieces(lanes + i * width, x + i * pitch, LANES * pitch,               \
                          at_once * width, groups, begins, pitch);                       \
    }                                                                                    \
    /* As many groups of rows as there are; how many rows they were. */                  \
    static inline __attribute__((always_inline))                                         \
    int64_t name##_all_groups(A *lanes, const dt *x, int64_t pitch, int64_t count,       \
                              int64_t width, bool begins) {                              \
        const int64_t at_once = pitch == width ? LANES : 1, group = LANES * pitch;       \
        int64_t n = 0;                                                                   \
        if (begins)                                                                      \
            name##_groups(lanes, x, pitch, width, at_once, 1, true), n++;                \
        for (; (n + 4) * LANES <= count; n += 4)                                         \
            name##_groups(lanes, x + n * group, pitch, width, at_once, 4, false);        \
        if ((n + 2) * LANES <= count) {                                                  \
            name##_groups(lanes, x + n * group, pitch, width, at_once, 2, false);        \
            n += 2;                                                                      \
        }                                                                                \
        if ((n + 1) * LANES <= count)                                                    \
            name##_groups(lanes, x + n++ * group, pitch, width, at_once, 1, false);      \
        return n * LANES;                                                                \
    }                                                                                    \
    /* Rows first..first + count, one after the other. */                                \
    static inline __attribute__((always_inline)) void name##_each(                       \
        A *lanes, const dt *x, int64_t pitch, int64_t first, int64_t count,              \
        int64_t width) {                                                                 \
        const int64_t size = sizeof(dt), bytes = width * size;                           \
        const int64_t ahead = AHEAD * pitch * size;                                      \
        for (int64_t n = 0; n < count; n++) {                                            \
            A *lane = lanes + (first + n) % LANES * width;                               \
            const dt *row = x + n * pitch;                                               \
            if (n + AHEAD < count)                                                       \
                pithp_fetch(row, ahead, bytes);                                          \
            if (first + n < LANES) {                                                     \
                PITHP_SIMD                                                               \
                for (int64_t c = 0; c < width; c++)                                      \
                    lane[c] = LOADED(row[c]);                                            \
            } else {                                                                     \
                PITHP_SIMD                                                               \
                for (int64_t c = 0; c < width; c++)                                      \
                    lane[c] = name##_join(lane[c], LOADED(row[c]));                      \
            }                                                                            \
        }                                                                                \
    }                                                                                    \
    /* Rows `first` on go to their lanes, which hold the rows before them. Columns that  \
     * fill their rows are walked as one long row of lanes. */                           \
    static void name##_fold(void *into, const void *from, int64_t pitch, int64_t first,  \
                            int64_t count, int64_t width) {                              \
        const bool whole = first % LANES == 0 && count >= LANES;                         \
        if (whole && pitch == 1 && width == 1) {                                         \
            name##_to_lanes(into, from, count, first == 0, 0);                           \
            return;                                                                      \
        }                                                                                \
        const dt *x = from;                                                              \
        const int64_t n =                                                                \
            whole ? name##_all_groups(into, x, pitch, count, width, first == 0) : 0;     \
        name##_each(into, x + n * pitch, pitch, first + n, count - n, width);            \
    }                                                                                    \
    /* The lanes that rows are in meet. */                                               \
    static void name##_finish(void *to, void *lanes, int64_t used, int64_t width) {      \
        A *out = to, *all = lanes;                                                       \
        if (width == 1 && used == LANES) {                                               \
            out[0] = name##_of_lanes(all);                                               \
            return;                                                                      \
        }                                                                                \
        if (width == 3) /* unrolled: vectors in space */                                 \
            name##_meet(all, 3, used, 3);                                                \
        else                                                                             \
            for (int64_t c = 0; c < width; c += PIECE)                                   \
                name##_tree(all + c, width, used,                                        \
                            width - c < PIECE ? width - c : PIECE);                      \
        for (int64_t c = 0; c < width; c++)                                              \
            out[c] = name##_join(IDENTITY, all[c]);                                      \
    }                                                                                    \
    /* One lane: four rows at a time, which are so many streams. */                      \
    static void name##_lane(void *to, const void *from, int64_t pitch, int64_t count,    \
                            int64_t width, int64_t step) {                               \
        A *lane = to;                                                                    \
        const dt *x = from;                                                              \
        int64_t n = count < 4 ? 1 : 4;                                                   \
        if (n == 4)                                                                      \
            name##_pieces(lane, x, pitch, width, 4, true, n < count ? 4 * pitch : step); \
        else                                                                             \
            name##_pieces(lane, x, pitch, width, 1, true, n < count ? pitch : step);     \
        for (; n + 4 <= count; n += 4)                                                   \
            name##_pieces(lane, x + n * pitch, pitch, width, 4, false,                   \
                          n + 4 < count ? 4 * pitch : step - n * pitch);                 \
        for (; n < count; n++)                                                           \
            name##_pieces(lane, x + n * pitch, pitch, width, 1, false,                   \
                          n + 1 < count ? pitch : step - n * pitch);                     \
    }                                                                                    \
    static void name##_columns(void *to, const void *from, int64_t pitch,                \
                               int64_t length, int64_t width, void *scratch) {           \
        A *lanes = scratch;                                                              \
        int64_t used = length < LANES ? length : LANES;                                  \
        if (length == 0)                                                                 \
            for (int64_t c = 0; c < width; c++)                                          \
                lanes[c] = IDENTITY;                                                     \
        if (length > LANES) {                                                            \
            name##_fold(lanes, from, pitch, 0, length, width);                           \
        } else {                                                                         \
            if (width == 3)                                                              \
                name##_first(lanes, from, pitch, used, 3);                               \
            else                                                                         \
                name##_first(lanes, from, pitch, used, width);                           \
            used = (used + 1) / 2;                                                       \
        }                                                                                \
        name##_finish(to, lanes, used, width);                                           \
    }

#define REDUCER(name, dt, A, LOADED, IDENTITY, COMBINE)                                  \
    JOIN(name, A, COMBINE)                                                               \
    BY_ELEMENT(name, dt, A, LOADED)                                                      \
    LANES_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                                     \
    ROW_IN_ORDER(name, dt, A)                                                            \
    BLOCKS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)
#define WIDENED_REDUCER(name, dt, A, LOADED, IDENTITY, COMBINE)                          \
    JOIN(name, A, COMBINE)                                                               \
    BY_VECTOR(name, COMBINE)                                                             \
    LANES_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                                     \
    ROW_IN_ORDER(name, dt, A)                                                            \
    BLOCKS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)
#define EXTREME_REDUCER(name, dt, A, LOADED, IDENTITY, COMBINE)                          \
    JOIN(name, A, COMBINE)                                                               \
    BY_ELEMENT(name, dt, A, LOADED)                                                      \
    LANES_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                                     \
    ROW_OF_NUMBERS(name, dt, A, LOADED, COMBINE)                                         \
    BLOCKS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)
M_REDUCERS_OF_OTHERS(REDUCER)
M_REDUCERS_OF_WIDENED(WIDENED_REDUCER)
M_REDUCERS_OF_EXTREMES(EXTREME_REDUCER)

/* ---- argmin, argmax ---- */

/* The first element that no other one beats: nan beats numbers. A row keeps the best of
 * each block by the reducer's `extreme`, then looks for it in the block that had it
 * first. */
#define FINDER(name, dt, extreme, A, LOADED, BEATS)                                      \
    static int64_t name##_row(const void *from, int64_t length) {                        \
        const dt *x = from;                                                              \
        const dt *block = x;                                                             \
        A best = LOADED(x[0]);                                                           \
        for (int64_t i = 0; i < length; i += PITHP_REDUCE_BLOCK) {                       \
            const int64_t left = length - i,                                             \
                          n = left < PITHP_REDUCE_BLOCK ? left : PITHP_REDUCE_BLOCK;     \
            const A here = extreme##_row(x + i, n, left - n);                            \
            if (BEATS(here, best)) {                                                     \
                best = here;                                                             \
                block = x + i;                                                           \
            }                                                                            \
        }                                                                                \
        for (;; block++) {                                                               \
            const A here = LOADED(*block);                                               \
            if (here == best || (here != here && best != best))                          \
                return block - x;                                                        \
        }                                                                                \
    }                                                                                    \
    static void name##_columns(int64_t *to, const void *from, int64_t pitch,             \
                               int64_t length, int64_t width) {                          \
        const dt *x = from;                                                              \
        A best[PITHP_REDUCE_TILE];                                                       \
        for (int64_t c = 0; c < width; c++) {                                            \
            best[c] = LOADED(x[c]);                                                      \
            to[c] = 0;                                                                   \
        }                                                                                \
        for (int64_t r = 1; r < length; r++) {                                           \
            const dt *row = x + r * pitch;                                               \
            PITHP_SIMD                                                                   \
            for (int64_t c = 0; c < width; c++) {                                        \
                const A here = LOADED(row[c]), before = best[c];                         \
                const bool wins = BEATS(here, before);                                   \
                best[c] = wins ? here : before;                                          \
                to[c] = wins ? r : to[c];                                                \
            }                                                                            \
        }                                                                                \
    }

#define LESS(a, b)         ((a) < (b))
#define GREATER(a, b)      ((a) > (b))
#define LESS_REAL(a, b)    (((a) < (b)) | (((a) != (a)) & ((b) == (b))))
#define GREATER_REAL(a, b) (((a) > (b)) | (((a) != (a)) & ((b) == (b))))

#define FINDERS(dt, A, LOADED, BELOW, ABOVE)                                             \
    FINDER(argmin_##dt, dt, min_##dt, A, LOADED, BELOW)                                  \
    FINDER(argmax_##dt, dt, max_##dt, A, LOADED, ABOVE)
FINDERS(i8, i8, M_SAME, LESS, GREATER)
FINDERS(i16, i16, M_SAME, LESS, GREATER)
FINDERS(i32, i32, M_SAME, LESS, GREATER)
FINDERS(i64, i64, M_SAME, LESS, GREATER)
FINDERS(u8, u8, M_SAME, LESS, GREATER)
FINDERS(u16, u16, M_SAME, LESS, GREATER)
FINDERS(u32, u32, M_SAME, LESS, GREATER)
FINDERS(u64, u64, M_SAME, LESS, GREATER)
FINDERS(f16, f32, m_load_f16, LESS_REAL, GREATER_REAL)
FINDERS(bf16, f32, m_load_bf16, LESS_REAL, GREATER_REAL)
FINDERS(f32, f32, M_SAME, LESS_REAL, GREATER_REAL)
FINDERS(f64, f64, M_SAME, LESS_REAL, GREATER_REAL)

/* ---- The table ---- */

#define USE(name, A)                                                                     \
    {                                                                                    \
        DTYPE_##A, name##_rows, name##_columns, name##_lane, name##_fold, name##_finish, \
            name##_tree                                                                  \
    }
#define ARITHMETIC(op)                                                                   \
    [PITH_I8] = USE(op##_u8, u8), [PITH_I16] = USE(op##_u16, u16),                       \
    [PITH_I32] = USE(op##_u32, u32), [PITH_I64] = USE(op##_u64, u64),                    \
    [PITH_U8] = USE(op##_u8, u8), [PITH_U16] = USE(op##_u16, u16),                       \
    [PITH_U32] = USE(op##_u32, u32), [PITH_U64] = USE(op##_u64, u64),                    \
    [PITH_F16] = USE(op##_f16, f64), [PITH_BF16] = USE(op##_bf16, f64),                  \
    [PITH_F32] = USE(op##_f32, f64), [PITH_F64] = USE(op##_f64, f64)
#define EXTREME(op)                                                                      \
    [PITH_BOOL] = USE(op##_u8, u8), [PITH_I8] = USE(op##_i8, i8),                        \
    [PITH_I16] = USE(op##_i16, i16), [PITH_I32] = USE(op##_i32, i32),                    \
    [PITH_I64] = USE(op##_i64, i64), [PITH_U8] = USE(op##_u8, u8),                       \
    [PITH_U16] = USE(op##_u16, u16), [PITH_U32] = USE(op##_u32, u32),                    \
    [PITH_U64] = USE(op##_u64, u64), [PITH_F16] = USE(op##_f16, f32),                    \
    [PITH_BF16] = USE(op##_bf16, f32), [PITH_F32] = USE(op##_f32, f32),                  \
    [PITH_F64] = USE(op##_f64, f64)
#define LOGICAL(op)                                                                      \
    [PITH_BOOL] = USE(op##_8, u8), [PITH_I8] = USE(op##_8, u8),                          \
    [PITH_I16] = USE(op##_16, u16), [PITH_I32] = USE(op##_32, u32),                      \
    [PITH_I64] = USE(op##_64, u64), [PITH_U8] = USE(op##_8, u8),                         \
    [PITH_U16] = USE(op##_16, u16), [PITH_U32] = USE(op##_32, u32),                      \
    [PITH_U64] = USE(op##_64, u64), [PITH_F16] = USE(op##_half, u16),                    \
    [PITH_BF16] = USE(op##_half, u16), [PITH_F32] = USE(op##_f32, u32),                  \
    [PITH_F64] = USE(op##_f64, u64)
#define FIND(name)                                                                       \
    { name##_row, name##_columns }
#define FIND_ALL(op)                                                                     \
    [PITH_BOOL] = FIND(op##_u8), [PITH_I8] = FIND(op##_i8), [PITH_I16] = FIND(op##_i16), \
    [PITH_I32] = FIND(op##_i32), [PITH_I64] = FIND(op##_i64), [PITH_U8] = FIND(op##_u8), \
    [PITH_U16] = FIND(op##_u16), [PITH_U32] = FIND(op##_u32),                            \
    [PITH_U64] = FIND(op##_u64), [PITH_F16] = FIND(op##_f16),                            \
    [PITH_BF16] = FIND(op##_bf16), [PITH_F32] = FIND(op##_f32),                          \
    [PITH_F64] = FIND(op##_f64)

const pithp_reduce_table PITHP_FOR_ISA(pithp_reduce) = {
    .reducers = {[PITHP_REDUCE_SUM] = {ARITHMETIC(sum)},
                 [PITHP_REDUCE_PROD] = {ARITHMETIC(prod)},
                 [PITHP_REDUCE_MIN] = {EXTREME(min)},
                 [PITHP_REDUCE_MAX] = {EXTREME(max)},
                 [PITHP_REDUCE_ANY] = {LOGICAL(any)},
                 [PITHP_REDUCE_ALL] = {LOGICAL(all)}},
    .finders = {{FIND_ALL(argmin)}, {FIND_ALL(argmax)}},
};
