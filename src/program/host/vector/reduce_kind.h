/* The functions of one reducer. host/vector/reduce.c includes this header once per
 * reducer with
 *
 *   REDUCER   its name in source/reducers.h; reduce.c defines from that list
 *               REDUCER_element, REDUCER_accumulator   the types
 *               REDUCER_load(x)                        an element as an accumulator
 *               REDUCER_join(a, b)                     two accumulators combined
 *               REDUCER_none()                         the identity
 *   WIDENED   if elements are f32 and accumulators f64; then there is also
 *               REDUCER_join_vectors(a, b)
 *   EXTREME   if it is the minimum or maximum of floats; then there is also
 *               REDUCER_join_numbers(a, b)   for numbers that are not NaN */
#define NAME(x) PITHP_PASTE(REDUCER, x)
#define T       NAME(element)
#define A       NAME(accumulator)

/* ---- The inner loops ---- */

#ifndef WIDENED
/* Element by element; the compiler vectorises. Elements begin..end, LANES apart, are
 * combined into AT_ONCE lanes. */
PITHP_INLINE void
NAME(to_some)(A *some, const T *x, int64_t begin, int64_t end, bool fetches) {
    for (int64_t i = begin; i < end; i += LANES) {
        if (fetches)
            pithp_fetch(x + i, FAR, AT_ONCE * (int64_t)sizeof(T));
        PITHP_SIMD
        for (int j = 0; j < AT_ONCE; j++)
            some[j] = NAME(join)(some[j], NAME(load)(x[i + j]));
    }
}

/* n more elements, one per lane. */
PITHP_INLINE void NAME(rest_to_some)(A *some, const T *x, int64_t n) {
    EACH_OF_REST(j, n) some[j] = NAME(join)(some[j], NAME(load)(x[j]));
}

/* Each lane combines its rows of `groups` times as many rows as lanes, in order. The rows
 * are `groups` streams. Lanes are uninitialised if it `begins`. A lane is read and
 * written once. */
PITHP_INLINE void
NAME(chains)(A *lane, const T *row, int64_t group, int64_t n, int groups, bool begins) {
    PITHP_SIMD
    for (int64_t c = 0; c < n; c++) {
        A some = begins ? NAME(load)(row[c]) : lane[c];
        for (int g = begins; g < groups; g++)
            some = NAME(join)(some, NAME(load)(row[g * group + c]));
        lane[c] = some;
    }
}
PITHP_INLINE void
NAME(strip)(A *lane, const T *row, int64_t group, int64_t n, int groups, bool begins) {
#    ifdef EXTREME
    /* Row by row: gcc vectorises one comparison with NaN, but no chain of them. Fewer
     * columns than a vector has are faster as chains. */
    if (n >= (VECTOR_BYTES < 32 ? 16 : 32) / (int64_t)sizeof(A)) {
        if (begins) {
            PITHP_SIMD
            for (int64_t c = 0; c < n; c++)
                lane[c] = NAME(load)(row[c]);
        }
        for (int g = begins; g < groups; g++) {
            PITHP_SIMD
            for (int64_t c = 0; c < n; c++)
                lane[c] = NAME(join)(lane[c], NAME(load)(row[g * group + c]));
        }
        return;
    }
#    endif
    NAME(chains)(lane, row, group, n, groups, begins);
}
#else
/* By vectors: each vector is converted as it is loaded. gcc would load full registers of
 * f32 and split them, which is slower. */
PITHP_INLINE void
NAME(to_some)(f64 *some, const f32 *x, int64_t begin, int64_t end, bool fetches) {
    f64s all[AT_ONCE / F64S];
    memcpy(all, some, sizeof all);
    for (int64_t i = begin; i < end; i += LANES) {
        if (fetches)
            pithp_fetch(x + i, FAR, AT_ONCE * (int64_t)sizeof(f32));
        for (int j = 0; j < AT_ONCE / F64S; j++)
            all[j] = NAME(join_vectors)(all[j], load_f64s(x + i + j * F64S));
    }
    memcpy(some, all, sizeof all);
}

PITHP_INLINE void NAME(rest_to_some)(f64 *some, const f32 *x, int64_t n) {
#    ifdef __AVX512F__
    for (int j = 0; j < AT_ONCE; j += F64S) {
        const uint64_t first = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
        const __mmask8 here = (__mmask8)(first >> j);
        f64s *to = (f64s *)(some + j);
        const f64s next = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(here, x + j));
        *to = _mm512_mask_blend_pd(here, *to, NAME(join_vectors)(*to, next));
    }
#    else
    EACH_OF_REST(j, n) some[j] = NAME(join)(some[j], (f64)x[j]);
#    endif
}

PITHP_INLINE void NAME(
    strip)(f64 *lane, const f32 *row, int64_t group, int64_t n, int groups, bool begins) {
    int64_t c = 0;
    for (; c + F64S <= n; c += F64S) {
        f64s *to = (f64s *)(lane + c), some = begins ? load_f64s(row + c) : *to;
        for (int g = begins; g < groups; g++)
            some = NAME(join_vectors)(some, load_f64s(row + g * group + c));
        *to = some;
    }
    for (; c < n; c++) {
        f64 some = begins ? (f64)row[c] : lane[c];
        for (int g = begins; g < groups; g++)
            some = NAME(join)(some, (f64)row[g * group + c]);
        lane[c] = some;
    }
}
#endif

/* ---- Trees and lanes ---- */

/* Combine neighbours of `count` rows of `width` until one is left, in rows[0]. */
PITHP_INLINE void
NAME(combine_rows)(A *rows, int64_t pitch, int64_t count, int64_t width) {
    for (; count > 1; count = (count + 1) / 2) {
        for (int64_t i = 0; i < count / 2; i++) {
            A *to = rows + i * pitch;
            const A *left = rows + 2 * i * pitch, *right = left + pitch;
            PITHP_SIMD
            for (int64_t c = 0; c < width; c++)
                to[c] = NAME(join)(left[c], right[c]);
        }
        if (count % 2)
            for (int64_t c = 0; c < width; c++)
                rows[count / 2 * pitch + c] = rows[(count - 1) * pitch + c];
    }
}

static __attribute__((noinline)) void
NAME(tree)(void *blocks, int64_t pitch, int64_t count, int64_t width) {
    NAME(combine_rows)(blocks, pitch, count, width);
}

/* Complete trees over 2, 4, 8 elements, and over fewer than 64: the trees of the powers
 * of two in n. The last and smallest ones are joined first. */
static inline A NAME(2)(const T *x) {
    return NAME(join)(NAME(load)(x[0]), NAME(load)(x[1]));
}

static inline A NAME(4)(const T *x) {
    return NAME(join)(NAME(2)(x), NAME(2)(x + 2));
}

static inline A NAME(8)(const T *x) {
    return NAME(join)(NAME(4)(x), NAME(4)(x + 4));
}

static inline A NAME(few)(const T *x, int64_t n) {
    int64_t at = n & ~(int64_t)7;
    A some = NAME(none)();
    if (n & 1)
        some = NAME(load)(x[n - 1]);
    if (n & 2)
        some = n & 1 ? NAME(join)(NAME(2)(x + (n & ~(int64_t)3)), some)
                     : NAME(2)(x + (n & ~(int64_t)3));
    if (n & 4)
        some = n & 3 ? NAME(join)(NAME(4)(x + at), some) : NAME(4)(x + at);
    for (int64_t size = 8; at; size *= 2) {
        if (!(at & size))
            continue;
        A trees[8];
        at -= size;
        for (int64_t i = 0; i < size / 8; i++)
            trees[i] = NAME(8)(x + at + 8 * i);
        for (int64_t left = size / 16; left; left /= 2)
            for (int64_t i = 0; i < left; i++)
                trees[i] = NAME(join)(trees[2 * i], trees[2 * i + 1]);
        some = n & (size - 1) ? NAME(join)(trees[0], some) : trees[0];
    }
    return some;
}

/* Combine elements into their lanes, which are uninitialised if it `begins`. `more`
 * elements after them are prefetched. */
PITHP_INLINE void
NAME(to_lanes)(A *lanes, const T *x, int64_t length, bool begins, int64_t more) {
    const int64_t whole = length / LANES * LANES, rest = length - whole;
    const int64_t fetched = length + more - FAR / (int64_t)sizeof(T);
    const int64_t far = fetched < whole ? fetched / LANES * LANES : whole;
    for (int first = 0; first < LANES; first += AT_ONCE) {
        A some[AT_ONCE];
        int64_t i = begins ? LANES : 0;
        PITHP_SIMD
        for (int j = 0; j < AT_ONCE; j++)
            some[j] = begins ? NAME(load)(x[first + j]) : lanes[first + j];
        if (i < far) {
            NAME(to_some)(some, x + first, i, far, true);
            i = far;
        }
        NAME(to_some)(some, x + first, i, whole, false);
        if (rest > first)
            NAME(rest_to_some)(some, x + whole + first, rest - first);
        for (int j = 0; j < AT_ONCE; j++)
            lanes[first + j] = some[j];
    }
}

PITHP_INLINE void NAME(halve)(A *lanes, int left) {
    PITHP_SIMD
    for (int j = 0; j < left; j++)
        lanes[j] = NAME(join)(lanes[2 * j], lanes[2 * j + 1]);
}

/* Not a loop, so that the lanes stay in registers. */
PITHP_INLINE A NAME(of_lanes)(A *lanes) {
    NAME(halve)(lanes, 32);
    NAME(halve)(lanes, 16);
    NAME(halve)(lanes, 8);
    NAME(halve)(lanes, 4);
    NAME(halve)(lanes, 2);
    return NAME(join)(NAME(none)(), NAME(join)(lanes[0], lanes[1]));
}

/* All lanes of three columns, which are separated first. */
static inline void NAME(of_threes)(A *to, const A *lanes) {
    A x[LANES], y[LANES], z[LANES];
    PITHP_SIMD
    for (int j = 0; j < LANES; j++) {
        x[j] = lanes[3 * j];
        y[j] = lanes[3 * j + 1];
        z[j] = lanes[3 * j + 2];
    }
    to[0] = NAME(of_lanes)(x);
    to[1] = NAME(of_lanes)(y);
    to[2] = NAME(of_lanes)(z);
}

#if defined(WIDENED) && defined(__AVX512F__)
#    include "program/host/vector/reduce_row_avx512.h"
#else
static __attribute__((noinline)) A
NAME(row_in_order)(const T *x, int64_t length, int64_t more) {
    A lanes[LANES];
    if (length < LANES)
        return NAME(join)(NAME(none)(), NAME(few)(x, length));
    NAME(to_lanes)(lanes, x, length, true, more);
    return NAME(of_lanes)(lanes);
}
#endif

/* ---- One row ---- */

#ifndef EXTREME
static A NAME(row)(const T *x, int64_t length, int64_t more) {
    return NAME(row_in_order)(x, length, more);
}
#else
/* The order matters only for NaN and zeros, so the processor's own minimum decides other
 * results. */
PITHP_INLINE void NAME(add_numbers)(A *some, A *nans, const T *x) {
    PITHP_SIMD
    for (int j = 0; j < NUMBERS; j++) {
        const A one = NAME(load)(x[j]);
        nans[j] = __builtin_isunordered(some[j], one) ? 1 : nans[j];
        some[j] = NAME(join_numbers)(some[j], one);
    }
}

static A NAME(row)(const T *x, int64_t length, int64_t more) {
    A some[NUMBERS], nans[NUMBERS]; /* 1: has met a NaN */
    if (length < 2 * NUMBERS)
        return NAME(row_in_order)(x, length, more);
    PITHP_SIMD
    for (int j = 0; j < NUMBERS; j++) {
        some[j] = NAME(load)(x[j]);
        nans[j] = 0;
    }
    for (int64_t i = NUMBERS; i + NUMBERS <= length; i += NUMBERS)
        NAME(add_numbers)(some, nans, x + i);

    /* the last vector overlaps the one before */
    NAME(add_numbers)(some, nans, x + length - NUMBERS);
    for (int left = NUMBERS / 2; left; left /= 2) {
        PITHP_SIMD
        for (int j = 0; j < left; j++) {
            nans[j] += nans[left + j];
            some[j] = NAME(join_numbers)(some[j], some[left + j]);
        }
    }
    return nans[0] > 0 || some[0] == 0 ? NAME(row_in_order)(x, length, more) : some[0];
}
#endif

/* ---- Blocks ---- */

static void
NAME(rows)(void *to, const void *from, int64_t length, int64_t count, int64_t more) {
    A *out = to;
    const T *x = from;
    if (length == 2) {
        PITHP_SIMD
        for (int64_t i = 0; i < count; i++)
            out[i] = NAME(join)(NAME(none)(), NAME(2)(x + 2 * i));
    } else if (length == 3) {
        PITHP_SIMD
        for (int64_t i = 0; i < count; i++)
            out[i] = NAME(join)(NAME(none)(),
                                NAME(join)(NAME(2)(x + 3 * i), NAME(load)(x[3 * i + 2])));
    } else if (length < 16) {
        for (int64_t i = 0; i < count; i++, x += length)
            out[i] = NAME(join)(NAME(none)(), NAME(few)(x, length));
    } else {
        for (int64_t i = 0; i < count; i++, x += length)
            out[i] = NAME(row)(x, length, (count - 1 - i) * length + more);
    }
}

/* The first level of the tree over `used` rows, read in place. */
PITHP_INLINE void
NAME(first)(A *lanes, const T *x, int64_t pitch, int64_t used, int64_t width) {
    for (int64_t i = 0; i < used / 2; i++) {
        const T *left = x + 2 * i * pitch, *right = left + pitch;
        A *to = lanes + i * width;
        PITHP_SIMD
        for (int64_t c = 0; c < width; c++)
            to[c] = NAME(join)(NAME(load)(left[c]), NAME(load)(right[c]));
    }
    if (used % 2)
        for (int64_t c = 0; c < width; c++)
            lanes[used / 2 * width + c] = NAME(load)(x[(used - 1) * pitch + c]);
}

/* The same for a long row; elements `ahead` after it are prefetched. */
#define STRIPS(name, groups, begins)                                                     \
    static __attribute__((noinline)) void NAME(name)(                                    \
        A * lane, const T *row, int64_t group, int64_t n, int64_t ahead) {               \
        const int64_t bytes = sizeof(T);                                                 \
        int64_t c = 0;                                                                   \
        for (; c + STRIP <= n; c += STRIP) {                                             \
            for (int g = 0; g < groups; g++)                                             \
                pithp_fetch(row + g * group + c, ahead * bytes, STRIP * bytes);          \
            NAME(strip)(lane + c, row + c, group, STRIP, groups, begins);                \
        }                                                                                \
        NAME(strip)(lane + c, row + c, group, n - c, groups, begins);                    \
    }
STRIPS(begin_one, 1, true)
STRIPS(begin_four, 4, true)
STRIPS(add_one, 1, false)
STRIPS(add_four, 4, false)
#undef STRIPS

static inline void NAME(strips)(A *lane,
                                const T *row,
                                int64_t group,
                                int64_t n,
                                bool four,
                                bool begins,
                                int64_t ahead) {
    if (four)
        (begins ? NAME(begin_four) : NAME(add_four))(lane, row, group, n, ahead);
    else
        (begins ? NAME(begin_one) : NAME(add_one))(lane, row, group, n, ahead);
}

/* As many groups of rows as possible; returns the number of their rows. Columns that fill
 * their rows are one long row of lanes. */
static int64_t NAME(all_groups)(A *lanes,
                                const T *x,
                                int64_t pitch,
                                int64_t count,
                                int64_t width,
                                bool begins) {
    const int64_t at_once = pitch == width ? LANES : 1, group = LANES * pitch;
    int64_t n = 0;
    while ((n + 1) * LANES <= count) {
        const bool four = (n + 4) * LANES <= count;
        for (int64_t i = 0; i < LANES; i += at_once) {
            A *lane = lanes + i * width;
            const T *row = x + n * group + i * pitch;
            NAME(strips)(lane, row, group, at_once * width, four, begins, pitch);
        }
        begins = false;
        n += four ? 4 : 1;
    }
    return n * LANES;
}

/* Rows first..first + count, one after the other. */
PITHP_INLINE void NAME(each)(A *lanes,
                             const T *x,
                             int64_t pitch,
                             int64_t first,
                             int64_t count,
                             int64_t width) {
    const int64_t size = sizeof(T), bytes = width * size;
    const int64_t ahead = AHEAD * pitch * size;
    for (int64_t n = 0; n < count; n++) {
        A *lane = lanes + (first + n) % LANES * width;
        const T *row = x + n * pitch;
        if (n + AHEAD < count)
            pithp_fetch(row, ahead, bytes);
        if (first + n < LANES) {
            PITHP_SIMD
            for (int64_t c = 0; c < width; c++)
                lane[c] = NAME(load)(row[c]);
        } else {
            PITHP_SIMD
            for (int64_t c = 0; c < width; c++)
                lane[c] = NAME(join)(lane[c], NAME(load)(row[c]));
        }
    }
}

/* Combine rows from `first` on into their lanes, which hold the rows before them. Columns
 * that fill their rows are treated as one long row of lanes. */
static void NAME(accumulate)(void *into,
                             const void *from,
                             int64_t pitch,
                             int64_t first,
                             int64_t count,
                             int64_t width) {
    const bool whole = first % LANES == 0 && count >= LANES;
    if (whole && pitch == 1 && width == 1) {
        NAME(to_lanes)(into, from, count, first == 0, 0);
        return;
    }
    const T *x = from;
    int64_t n = whole ? NAME(all_groups)(into, x, pitch, count, width, first == 0) : 0;
    if (n && pitch == width && width < STRIP) { /* the rest is a part of a long row */
        NAME(add_one)(into, x + n * width, 0, (count - n) * width, 0);
        return;
    }
    NAME(each)(into, x + n * pitch, pitch, first + n, count - n, width);
}

/* Combine the used lanes. */
static void NAME(finish)(void *to, void *lanes, int64_t used, int64_t width) {
    A *out = to, *all = lanes;
    if (width == 1 && used == LANES) {
        out[0] = NAME(of_lanes)(all);
        return;
    }
    if (width == 3 && used == LANES) { /* vectors in space */
        NAME(of_threes)(out, all);
        return;
    }
    if (width == 3) /* unrolled */
        NAME(combine_rows)(all, 3, used, 3);
    else
        for (int64_t c = 0; c < width; c += STRIP)
            NAME(tree)(all + c, width, used, width - c < STRIP ? width - c : STRIP);
    for (int64_t c = 0; c < width; c++)
        out[c] = NAME(join)(NAME(none)(), all[c]);
}

/* One lane: four rows at a time, as four streams. */
static void NAME(lane)(void *to,
                       const void *from,
                       int64_t pitch,
                       int64_t count,
                       int64_t width,
                       int64_t step) {
    A *lane = to;
    const T *x = from;
    for (int64_t n = 0; n < count;) {
        const bool four = n + 4 <= count;
        const int64_t rows = four ? 4 : 1, next = n + rows;
        const int64_t ahead = next < count ? rows * pitch : step - n * pitch;
        NAME(strips)(lane, x + n * pitch, pitch, width, four, n == 0, ahead);
        n = next;
    }
}

static void NAME(columns)(void *to,
                          const void *from,
                          int64_t pitch,
                          int64_t length,
                          int64_t width,
                          void *scratch) {
    A *lanes = scratch;
    int64_t used = length < LANES ? length : LANES;
    if (length == 0)
        for (int64_t c = 0; c < width; c++)
            lanes[c] = NAME(none)();
    if (length > LANES) {
        NAME(accumulate)(lanes, from, pitch, 0, length, width);
    } else {
        if (width == 3)
            NAME(first)(lanes, from, pitch, used, 3);
        else
            NAME(first)(lanes, from, pitch, used, width);
        used = (used + 1) / 2;
    }
    NAME(finish)(to, lanes, used, width);
}

#undef NAME
#undef T
#undef A
#undef REDUCER
#undef WIDENED
#undef EXTREME
