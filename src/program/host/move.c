/* Strided copies. Dimensions are dropped and merged first, so that the loops see the
 * fewest and longest rows; transposes go through square tiles, so that both sides use
 * whole cache lines. Values are moved as bits. */
#include "program/host/move.h"

#include "gpu/stage.h"
#include "program/cuda/cuda.h"

#include <string.h>

enum { TILE = 16 };

/* ---- Rows ---- */

#define ROW(type)                                                                        \
    static inline void row_##type(char *to, const char *from, int64_t to_step,           \
                                  int64_t from_step, int64_t n) {                        \
        const int64_t size = sizeof(type);                                               \
        if (from_step == 0 && to_step == size) {                                         \
            const type value = *(const type *)(const void *)from;                        \
            for (int64_t i = 0; i < n; i++)                                              \
                ((type *)(void *)to)[i] = value;                                         \
        } else if (from_step == size && to_step == size) {                               \
            for (int64_t i = 0; i < n; i++)                                              \
                ((type *)(void *)to)[i] = ((const type *)(const void *)from)[i];         \
        } else {                                                                         \
            for (int64_t i = 0; i < n; i++)                                              \
                *(type *)(void *)(to + i * to_step) =                                    \
                    *(const type *)(const void *)(from + i * from_step);                 \
        }                                                                                \
    }
ROW(uint8_t)
ROW(uint16_t)
ROW(uint32_t)
ROW(uint64_t)

static inline void move_row(char *to,
                            const char *from,
                            int64_t to_step,
                            int64_t from_step,
                            int32_t size,
                            int64_t n) {
    switch (size) {
        case 1:
            row_uint8_t(to, from, to_step, from_step, n);
            break;
        case 2:
            row_uint16_t(to, from, to_step, from_step, n);
            break;
        case 4:
            row_uint32_t(to, from, to_step, from_step, n);
            break;
        default:
            row_uint64_t(to, from, to_step, from_step, n);
    }
}

/* Several rows of 2, 3 or 4 elements that lie side by side in both views. */
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
    int64_t index[PITH_MAX_RANK], rest = begin;
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
        if (narrow && n == length) { /* as many whole rows as lie in this plane */
            const int64_t more = m->shape[last - 1] - index[last - 1];
            rows = (end - i) / length < more ? (end - i) / length : more;
            move_narrow(to, from, m, rows);
        } else if (side_by_side && n > 64) {
            memcpy(to, from, (size_t)(n * m->size));
        } else {
            move_row(to, from, m->to_stride[last], m->from_stride[last], m->size, n);
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

/* ---- Transposes: the last dimension lies side by side in `to`, the one before in
 * `from`. Indices are bands of TILE rows. ---- */

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
    move_row(a->to + begin * a->size, (const char *)&value, a->size, 0, a->size,
             end - begin);
}

/* ---- Emission ---- */

static const pithp_host_loop rows_loops[PITHP_ISA_COUNT] = {move_rows};
static const pithp_host_loop tiles_loops[PITHP_ISA_COUNT] = {move_tiles};
static const pithp_host_loop fill_loops[PITHP_ISA_COUNT] = {fill};

/* Drop extents of 1 and merge neighbours that both sides walk as one dimension. */
static void simplify(pithp_move *to, const pithp_move *m) {
    int rank = 0;
    *to = (pithp_move){.to = m->to, .from = m->from, .size = m->size};
    for (int d = 0; d < m->rank; d++) {
        const int64_t extent = m->shape[d];
        if (extent == 1)
            continue;
        if (rank > 0 && to->to_stride[rank - 1] == m->to_stride[d] * extent &&
            to->from_stride[rank - 1] == m->from_stride[d] * extent) {
            rank--;
            to->shape[rank] *= extent;
        } else {
            to->shape[rank] = extent;
        }
        to->to_stride[rank] = m->to_stride[d];
        to->from_stride[rank++] = m->from_stride[d];
    }
    if (rank == 0) {
        to->shape[0] = 1;
        to->to_stride[0] = to->from_stride[0] = m->size;
        rank = 1;
    }
    to->rank = rank;
}

/* Whether tiles pay, and if so the dimension that lies side by side in `from` moved to
 * the place before the last. */
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
pithp_emit_move(const pithp_sink *sink, const char *name, const pithp_move *move) {
    pithp_move m;
    int64_t count = 1;
    simplify(&m, move);
    for (int d = 0; d < m.rank; d++)
        count *= m.shape[d];
    if (count == 0)
        return PITH_OK;
    const bool tiled = make_tiled(&m);
    if (sink->cuda)
        return pithp_cuda_emit_move(sink, name, &m, count, tiled);
    if (!tiled)
        return pithp_emit(sink, name, rows_loops, &m, sizeof m, count, 0);
    const int64_t plane = m.shape[m.rank - 1] * m.shape[m.rank - 2];
    const int64_t bands = count / plane * bands_of(&m);
    const int64_t grain = 4096 / (TILE * m.shape[m.rank - 1]) + 1;
    return pithp_emit(sink, name, tiles_loops, &m, sizeof m, bands, grain);
}

pith_status pithp_emit_copy(const pithp_sink *sink,
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
    return to == from ? PITH_OK : pithp_emit_move(sink, name, &m);
}

pith_status pithp_emit_fill(const pithp_sink *sink,
                            const char *name,
                            void *to,
                            int32_t size,
                            uint64_t value,
                            int64_t count) {
    if (sink->cuda)
        return pithp_cuda_emit_fill(sink, name, to, size, value, count);
    const fill_args a = {.to = to, .value = value, .size = size};
    return pithp_emit(sink, name, fill_loops, &a, sizeof a, count, 0);
}

/* ---- Many small moves ---- */

/* Elements of a chunk, as powers of two; when a launch is shared by threads; into how
 * many pieces one move is cut at most. */
enum { LEAST_SHIFT = 5, MOST_SHIFT = 16, PIECES_GRAIN = 16384, MOST_PIECES = 64 };

static void move_elements(const pithp_piece *p, int64_t begin, int64_t end) {
    const int64_t row = begin / p->row, column = begin % p->row;
    char *to = p->to + row * p->to_pitch;
    const char *from = p->from + row * p->from_pitch;
    for (int64_t i = begin, c = column; i < end; c = 0) {
        const int64_t left = p->row - c, n = left < end - i ? left : end - i;
        const int64_t at = c * p->size, bytes = n * p->size;
        const int32_t size = p->size > 8 ? 8 : (int32_t)p->size;
        if (bytes > 64)
            memcpy(to + at, from + at, (size_t)bytes);
        else
            move_row(to + at, from + at, size, size, size, bytes / size);
        i += n;
        to += p->to_pitch;
        from += p->from_pitch;
    }
}

static void move_pieces(const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_pieces_args *a = args;
    while (begin < end) {
        const int64_t piece = begin >> a->shift, first = piece << a->shift;
        const pithp_piece *p = &a->list[piece];
        const int64_t last = end - first < p->count ? end - first : p->count;
        if (begin - first < last)
            move_elements(p, p->begin + (begin - first), p->begin + last);
        begin = first + ((int64_t)1 << a->shift);
    }
}

static const pithp_host_loop pieces_loops[PITHP_ISA_COUNT] = {move_pieces};

pith_status pithp_emit_pieces(const pithp_sink *sink,
                              const char *name,
                              const pithp_cuda_pieces_args *args) {
    if (sink->cuda)
        return pithp_cuda_emit(sink, PITHP_CUDA_pieces, name, args, sizeof *args,
                               args->total);
    return pithp_emit(sink, name, pieces_loops, args, sizeof *args, args->total,
                      PIECES_GRAIN);
}

int64_t pithp_pieces_shift(int64_t count, int64_t elements) {
    int64_t shift = LEAST_SHIFT;
    while (shift < MOST_SHIFT && (count << shift) < elements)
        shift++;
    return shift;
}

static pith_status reserve(pithp_pieces *p, int64_t room) {
    const size_t each = sizeof *p->list;
    size_t bytes;
    if (pithp_mul_overflows((size_t)room, each, &bytes))
        bytes = SIZE_MAX;
    pithp_piece *list = pithp_scratch_allocate(p->s->runtime, bytes);
    if (!list)
        return pithp_fail_memory(p->s, bytes);
    if (p->count)
        memcpy(list, p->list, (size_t)p->count * each);
    pithp_scratch_release(p->s->runtime, p->list, (size_t)p->room * each);
    p->list = list;
    p->room = room;
    return PITH_OK;
}

pith_status pithp_pieces_begin(pith_scope *s, pithp_pieces *p, int64_t room) {
    *p = (pithp_pieces){.s = s};
    return reserve(p, room ? room : MOST_PIECES);
}

void pithp_pieces_end(pithp_pieces *p) {
    pithp_scratch_release(p->s->runtime, p->list, (size_t)p->room * sizeof *p->list);
}

pith_status pithp_pieces_add(pithp_pieces *p,
                             void *to,
                             const void *from,
                             int64_t rows,
                             int64_t row_bytes,
                             int64_t to_pitch,
                             int64_t from_pitch) {
    if (rows == 0 || row_bytes == 0)
        return PITH_OK;
    if (PITHP_UNLIKELY(p->count == p->room)) {
        const pith_status rc = reserve(p, 2 * p->room);
        if (rc != PITH_OK)
            return rc;
    }
    if (rows == 1 || (to_pitch == row_bytes && from_pitch == row_bytes)) {
        row_bytes *= rows;
        to_pitch = from_pitch = 0;
        rows = 1;
    }
    /* The widest elements that all rows consist of. */
    const uintptr_t bits = (uintptr_t)to | (uintptr_t)from | (uintptr_t)row_bytes |
                           (uintptr_t)to_pitch | (uintptr_t)from_pitch | 16;
    const int64_t size = (int64_t)(bits & -bits), row = row_bytes / size;
    p->list[p->count++] = (pithp_piece){.to = to,
                                        .from = from,
                                        .count = rows * row,
                                        .row = row,
                                        .to_pitch = to_pitch,
                                        .from_pitch = from_pitch,
                                        .size = size};
    p->elements += rows * row;
    p->longest = rows * row > p->longest ? rows * row : p->longest;
    return PITH_OK;
}

pith_status
pithp_pieces_add_move(pithp_pieces *p, const char *name, const pithp_move *move) {
    pithp_move m;
    int64_t outer = 1;
    simplify(&m, move);
    const int last = m.rank - 1;
    for (int d = 0; d < last - 1; d++)
        outer *= m.shape[d];
    if (m.to_stride[last] != m.size || m.from_stride[last] != m.size ||
        outer > MOST_PIECES) {
        const pithp_sink sink = pithp_scope_sink(p->s);
        return pithp_emit_move(&sink, name, move);
    }
    const int64_t rows = last > 0 ? m.shape[last - 1] : 1;
    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i, to = 0, from = 0;
        for (int d = last - 2; d >= 0; d--) {
            to += rest % m.shape[d] * m.to_stride[d];
            from += rest % m.shape[d] * m.from_stride[d];
            rest /= m.shape[d];
        }
        const pith_status rc = pithp_pieces_add(
            p, m.to + to, m.from + from, rows, m.shape[last] * m.size,
            last > 0 ? m.to_stride[last - 1] : 0, last > 0 ? m.from_stride[last - 1] : 0);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* The pieces, none longer than a chunk. */
static pith_status cut(pithp_pieces *p, int64_t shift) {
    pithp_pieces parts;
    const int64_t width = (int64_t)1 << shift;
    int64_t count = 0;
    for (int64_t i = 0; i < p->count; i++)
        count += (p->list[i].count + width - 1) >> shift;
    const pith_status rc = pithp_pieces_begin(p->s, &parts, count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < p->count; i++)
        for (int64_t at = 0; at < p->list[i].count; at += width) {
            pithp_piece *part = &parts.list[parts.count++];
            *part = p->list[i];
            part->begin = at;
            part->count = part->count - at < width ? part->count - at : width;
        }
    pithp_pieces_end(p);
    *p = parts;
    return PITH_OK;
}

pith_status pithp_pieces_run(pithp_pieces *p, const char *name) {
    if (p->count == 0)
        return PITH_OK;
    const int64_t shift = pithp_pieces_shift(p->count, p->elements);
    pith_status rc = p->longest > (int64_t)1 << shift ? cut(p, shift) : PITH_OK;
    if (rc != PITH_OK)
        return rc;
    pithp_buffer *staged = NULL;
    const size_t bytes = (size_t)p->count * sizeof *p->list;
    const pithp_cuda_pieces_args args = {.list =
                                             pithp_stage(p->s, p->list, bytes, &staged),
                                         .total = p->count << shift,
                                         .shift = shift};
    if (!args.list)
        return p->s->error.code;
    const pithp_sink sink = pithp_scope_sink(p->s);
    rc = pithp_emit_pieces(&sink, name, &args);
    pithp_buffer_release(staged, 1);
    return rc;
}
