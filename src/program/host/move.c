/* Strided copies (transposes included). Dimensions are coalesced first, so that the loops
 * see few and long rows. Transposes use square tiles, so that both sides use whole cache
 * lines. Values are copied as bits. */
#include "program/host/move.h"

#include "program/host/device_target.h"
#include "program/host/move_row.h"
#include "program/host/pack.h"

#include <string.h>

enum { TILE = 16 };

/* Several rows of 2, 3 or 4 elements, contiguous in both views. */
#define NARROW(type)                                                                     \
    static inline __attribute__((always_inline)) void narrow_words_##type(               \
        char *to, const char *from, int64_t to_pitch, int64_t from_pitch, int64_t rows,  \
        int64_t n) {                                                                     \
        for (int64_t r = 0; r < rows; r++)                                               \
            for (int64_t i = 0; i < n; i++)                                              \
                ((type *)(void *)(to + r * to_pitch))[i] =                               \
                    ((const type *)(const void *)(from + r * from_pitch))[i];            \
    }                                                                                    \
    static void narrow_##type(char *to, const char *from, int64_t to_pitch,              \
                              int64_t from_pitch, int64_t rows, int64_t n) {             \
        switch (n) {                                                                     \
            case 2:                                                                      \
                narrow_words_##type(to, from, to_pitch, from_pitch, rows, 2);            \
                break;                                                                   \
            case 3:                                                                      \
                narrow_words_##type(to, from, to_pitch, from_pitch, rows, 3);            \
                break;                                                                   \
            default:                                                                     \
                narrow_words_##type(to, from, to_pitch, from_pitch, rows, 4);            \
        }                                                                                \
    }
NARROW(uint8_t)
NARROW(uint16_t)
NARROW(uint32_t)
NARROW(uint64_t)

static void move_narrow(char *to, const char *from, const pithp_move *m, int64_t rows) {
    const int last = m->rank - 1;
    const int64_t n = m->shape[last], to_pitch = m->to_stride[last - 1],
                  from_pitch = m->from_stride[last - 1];
    switch (m->size) {
        case 1:
            narrow_uint8_t(to, from, to_pitch, from_pitch, rows, n);
            break;
        case 2:
            narrow_uint16_t(to, from, to_pitch, from_pitch, rows, n);
            break;
        case 4:
            narrow_uint32_t(to, from, to_pitch, from_pitch, rows, n);
            break;
        default:
            narrow_uint64_t(to, from, to_pitch, from_pitch, rows, n);
    }
}

/* ---- Elements begin..end in C order of the index space ---- */

static void move_rows(const void *args, int64_t begin, int64_t end) {
    const pithp_move *m = args;
    const int last = m->rank - 1;
    const int64_t length = m->shape[last];
    int64_t index[PITHP_MAX_RANK], rest = begin;
    char *to = m->to;
    const char *from = m->from;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % m->shape[d];
        rest /= m->shape[d];
        to += index[d] * m->to_stride[d];
        from += index[d] * m->from_stride[d];
    }
    const bool side_by_side =
        m->from_stride[last] == m->size && m->to_stride[last] == m->size;
    const bool narrow = side_by_side && last > 0 && length >= 2 && length <= 4;
    for (int64_t i = begin; i < end;) {
        const int64_t row = length - index[last], n = row < end - i ? row : end - i;
        int64_t rows = 1;
        if (narrow && n == length) { /* all whole rows of this plane at once */
            const int64_t more = m->shape[last - 1] - index[last - 1];
            rows = (end - i) / length < more ? (end - i) / length : more;
            move_narrow(to, from, m, rows);
        } else if (side_by_side && n > 64) {
            memcpy(to, from, (size_t)(n * m->size));
        } else {
            pithp_move_row(to, from, m->to_stride[last], m->from_stride[last], m->size,
                           n);
        }
        i += n * rows;
        to -= index[last] * m->to_stride[last];
        from -= index[last] * m->from_stride[last];
        index[last] = 0;
        for (int d = last - 1; d >= 0; d--, rows = 1) {
            to += rows * m->to_stride[d];
            from += rows * m->from_stride[d];
            index[d] += rows;
            if (index[d] < m->shape[d])
                break;
            to -= m->shape[d] * m->to_stride[d];
            from -= m->shape[d] * m->from_stride[d];
            index[d] = 0;
        }
    }
}

/* ---- Transposes: the last dimension is contiguous in `to`, the one before in `from`.
 * Indices are bands of TILE rows. ---- */

#define TILES(type)                                                                      \
    static void band_##type(const pithp_move *m, char *restrict to,                      \
                            const char *restrict from, int64_t rows) {                   \
        const int last = m->rank - 1;                                                    \
        const int64_t columns = m->shape[last], to_step = m->to_stride[last - 1],        \
                      from_step = m->from_stride[last];                                  \
        for (int64_t c = 0; c < columns; c += TILE) {                                    \
            const int64_t width = columns - c < TILE ? columns - c : TILE;               \
            for (int64_t r = 0; r < rows; r++) {                                         \
                type *d = (type *)(void *)(to + r * to_step) + c;                        \
                const char *x = from + c * from_step + r * (int64_t)sizeof(type);        \
                for (int64_t j = 0; j < width; j++)                                      \
                    d[j] = *(const type *)(const void *)(x + j * from_step);             \
            }                                                                            \
        }                                                                                \
    }
TILES(uint8_t)
TILES(uint16_t)
TILES(uint32_t)
TILES(uint64_t)

static int64_t bands_of(const pithp_move *m) {
    return (m->shape[m->rank - 2] + TILE - 1) / TILE;
}

static void move_tiles(const void *args, int64_t begin, int64_t end) {
    const pithp_move *m = args;
    const int across = m->rank - 2;
    const int64_t bands = bands_of(m);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % bands * TILE, left = m->shape[across] - first;
        const int64_t rows = left < TILE ? left : TILE;
        int64_t rest = i / bands;
        char *to = m->to + first * m->to_stride[across];
        const char *from = m->from + first * m->from_stride[across];
        for (int d = across - 1; d >= 0; d--) {
            const int64_t at = rest % m->shape[d];
            rest /= m->shape[d];
            to += at * m->to_stride[d];
            from += at * m->from_stride[d];
        }
        switch (m->size) {
            case 1:
                band_uint8_t(m, to, from, rows);
                break;
            case 2:
                band_uint16_t(m, to, from, rows);
                break;
            case 4:
                band_uint32_t(m, to, from, rows);
                break;
            default:
                band_uint64_t(m, to, from, rows);
        }
    }
}

/* ---- Fills ---- */

typedef struct fill_args {
    char *to;
    uint64_t value;
    int32_t size;
} fill_args;

static void fill(const void *args, int64_t begin, int64_t end) {
    const fill_args *a = args;
    const uint64_t value = a->value;
    pithp_move_row(a->to + begin * a->size, (const char *)&value, a->size, 0, a->size,
                   end - begin);
}

/* ---- Lowering ---- */

static const pithp_host_loop rows_loops[PITHP_ISA_COUNT] = {move_rows};
static const pithp_host_loop tiles_loops[PITHP_ISA_COUNT] = {move_tiles};
static const pithp_host_loop fill_loops[PITHP_ISA_COUNT] = {fill};

void pithp_move_simplify(pithp_move *m) {
    int64_t *const stride[] = {m->to_stride, m->from_stride};
    m->rank = pithp_coalesce(m->rank, m->shape, 2, stride, 0, NULL);
    if (m->shape[0] == 1) /* a single element */
        m->to_stride[0] = m->from_stride[0] = m->size;
}

/* Whether tiles pay off. If so, moves the dimension that is contiguous in `from` to the
 * position before the last. */
static bool make_tiled(pithp_move *m) {
    const int last = m->rank - 1;
    if (last < 1 || m->to_stride[last] != m->size || m->from_stride[last] <= m->size ||
        m->shape[last] < TILE / 2)
        return false;
    for (int d = 0; d < last; d++) {
        if (m->from_stride[d] != m->size || m->shape[d] < TILE / 2)
            continue;
        const int64_t extent = m->shape[d], to = m->to_stride[d];
        for (int e = d; e + 1 < last; e++) {
            m->shape[e] = m->shape[e + 1];
            m->to_stride[e] = m->to_stride[e + 1];
            m->from_stride[e] = m->from_stride[e + 1];
        }
        m->shape[last - 1] = extent;
        m->to_stride[last - 1] = to;
        m->from_stride[last - 1] = m->size;
        return true;
    }
    return false;
}

pith_status
pithp_launch_move(const pithp_sink *sink, const char *name, const pithp_move *move) {
    pithp_move m = *move;
    int64_t count = 1;
    pithp_move_simplify(&m);
    for (int d = 0; d < m.rank; d++)
        count *= m.shape[d];
    if (count == 0)
        return PITH_OK;
    const bool tiled = make_tiled(&m);
    if (sink->cuda)
        return sink->cuda->encode->move(sink, name, &m, count, tiled);
    if (!tiled)
        return pithp_launch_loops(sink, name, rows_loops, &m, sizeof m, count, 0);
    const int64_t plane = m.shape[m.rank - 1] * m.shape[m.rank - 2];
    const int64_t bands = count / plane * bands_of(&m);
    const int64_t grain = PITHP_GRAIN / (TILE * m.shape[m.rank - 1]) + 1;
    return pithp_launch_loops(sink, name, tiles_loops, &m, sizeof m, bands, grain);
}

pith_status pithp_launch_copy(const pithp_sink *sink,
                              const char *name,
                              void *to,
                              const void *from,
                              int32_t size,
                              int64_t count) {
    const pithp_move m = {.to = to,
                          .from = from,
                          .size = size,
                          .rank = 1,
                          .shape = {count},
                          .to_stride = {size},
                          .from_stride = {size}};
    return to == from ? PITH_OK : pithp_launch_move(sink, name, &m);
}

pith_status pithp_launch_fill(const pithp_sink *sink,
                              const char *name,
                              void *to,
                              int32_t size,
                              uint64_t value,
                              int64_t count) {
    if (sink->cuda)
        return sink->cuda->encode->fill(sink, name, to, size, value, count);
    const fill_args a = {.to = to, .value = value, .size = size};
    return pithp_launch_loops(sink, name, fill_loops, &a, sizeof a, count, 0);
}
