/* Matrix products of one element type. Included by host/vector/dot.c for each of them
 * with
 *
 *   T                        the type of an element
 *   NAME(x)                  x for this kind
 *   FUSED(a, b, c)           a * b + c of elements
 *   FUSED_VECTOR(a, b, c)    the same of vectors
 *   ADDED(a, b)              the sum of elements or vectors
 *
 * A register tile holds ROWS times VECTORS vectors of sums. Each term costs ROWS
 * broadcasts and VECTORS loads. */

typedef T NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef T NAME(loose)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
enum { NAME(LANES) = VECTOR_BYTES / sizeof(T), NAME(COLUMNS) = VECTORS * NAME(LANES) };

/* Tiles at the edge are stored through memory. */
static void NAME(store_some)(T *c,
                             int64_t pitch,
                             int64_t rows,
                             int64_t columns,
                             bool add,
                             const T *sums,
                             int64_t sums_pitch) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const T sum = sums[i * sums_pitch + j];
            c[i * pitch + j] = add ? (T)ADDED(c[i * pitch + j], sum) : sum;
        }
}

/* Terms of a span: element i of a term of a is at row * i; terms are `a_term` and
 * `b_term` apart. height and vectors are compile-time constants after inlining. */
PITHP_INLINE void NAME(tile)(const int height,
                             const int vectors,
                             int64_t terms,
                             const T *a,
                             int64_t row,
                             int64_t a_term,
                             const T *b,
                             int64_t b_term,
                             T *c,
                             int64_t pitch,
                             int64_t rows,
                             int64_t columns,
                             bool add) {
    NAME(vector) sum[ROWS][VECTORS];
    EACH(i, height) {
        EACH(v, vectors) {
            sum[i][v] = (NAME(vector)){0};
            if (rows == height) /* prefetches the lines of the stores */
                __builtin_prefetch(c + i * pitch + v * NAME(LANES), 1);
        }
    }
    for (int64_t k = 0; k < terms; k++, a += a_term, b += b_term) {
        NAME(vector) right[VECTORS];
        EACH(v, vectors) {
            right[v] = *(const NAME(loose) *)(b + v * NAME(LANES));
        }
        EACH(i, height) {
            const NAME(vector) left = a[i * row] - (NAME(vector)){0};
            EACH(v, vectors) {
                sum[i][v] = FUSED_VECTOR(left, right[v], sum[i][v]);
            }
        }
    }
    if (rows == height && columns == vectors * NAME(LANES)) {
        EACH(i, height) {
            EACH(v, vectors) {
                NAME(loose) *to = (NAME(loose) *)(c + i * pitch + v * NAME(LANES));
                *to = add ? (NAME(vector))ADDED(*to, sum[i][v]) : sum[i][v];
            }
        }
        return;
    }
    T some[ROWS * NAME(COLUMNS)];
    EACH(i, height) {
        EACH(v, vectors) {
            memcpy(some + i * NAME(COLUMNS) + v * NAME(LANES), &sum[i][v], VECTOR_BYTES);
        }
    }
    NAME(store_some)(c, pitch, rows, columns, add, some, NAME(COLUMNS));
}

/* Tiles with as many vectors as the columns need. */
#define TILES(name, height, row, a_term)                                                 \
    static __attribute__((noinline)) void NAME(name)(                                    \
        int64_t terms, const T *a, int64_t a_row, int64_t a_step, const T *b,            \
        int64_t b_term, T *c, int64_t pitch, int64_t rows, int64_t columns, bool add) {  \
        (void)a_row, (void)a_step;                                                       \
        if (columns > 2 * NAME(LANES))                                                   \
            NAME(tile)                                                                   \
        (height, 3, terms, a, row, a_term, b, b_term, c, pitch, rows, columns, add);     \
        else if (columns > NAME(LANES)) NAME(tile)(                                      \
            height, 2, terms, a, row, a_term, b, b_term, c, pitch, rows, columns, add);  \
        else NAME(tile)(height, 1, terms, a, row, a_term, b, b_term, c, pitch, rows,     \
                        columns, add);                                                   \
    }
TILES(tile_packed, ROWS, 1, ROWS)
TILES(tile_direct, ROWS, a_row, a_step)
TILES(tile_row, 1, 0, a_step)

/* ROWS rows of contiguous terms, term by term. */
PITHP_INLINE void
NAME(interleave)(T *restrict to, const T *restrict x, int64_t stride, int64_t terms) {
    for (int64_t t = 0; t < terms; t++)
        EACH(i, ROWS) {
            to[t * ROWS + i] = x[i * stride + t];
        }
}

/* The same in a panel of `width` neighbours. Terms go through a buffer: stores with gaps
 * are not vectorised. */
PITHP_INLINE void NAME(pack_rows)(T *restrict panel,
                                  const int64_t width,
                                  const T *restrict x,
                                  int64_t stride,
                                  int64_t terms) {
    int64_t k = 0;
    for (; k + INTERLEAVED <= terms; k += INTERLEAVED) {
        T some[INTERLEAVED * ROWS];
        NAME(interleave)(some, x + k, stride, INTERLEAVED);
        for (int64_t t = 0; t < INTERLEAVED; t++)
            memcpy(panel + (k + t) * width, some + t * ROWS, ROWS * sizeof(T));
    }
    for (; k < terms; k++)
        EACH(i, ROWS) {
            panel[k * width + i] = x[i * stride + k];
        }
}

/* width is a compile-time constant after inlining, so that vectors move whole rows of a
 * panel and interleave ROWS of them. */
PITHP_INLINE void NAME(pack_wide)(const int64_t width,
                                  T *restrict panel,
                                  const T *restrict x,
                                  int64_t stride,
                                  int64_t term_stride,
                                  int64_t count,
                                  int64_t terms) {
    if (stride == 1 && count == width) {
        for (int64_t t = 0; t < terms; t++)
            memcpy(panel + t * width, x + t * term_stride, (size_t)width * sizeof(T));
        return;
    }
    if (width == ROWS && term_stride == 1 && count == width) {
        NAME(interleave)(panel, x, stride, terms);
        return;
    }
    /* few terms at a time, so that the panel's part stays in the L1 cache */
    const int64_t whole = term_stride == 1 ? count / ROWS * ROWS : 0;
    for (int64_t k = 0; k < terms; k += 64) {
        const int64_t end = terms - k < 64 ? terms : k + 64;
        for (int64_t i = 0; i < whole; i += ROWS)
            NAME(pack_rows)
        (panel + k * width + i, width, x + i * stride + k, stride, end - k);
        for (int64_t i = whole; i < count; i++)
            for (int64_t t = k; t < end; t++)
                panel[t * width + i] = x[i * stride + t * term_stride];
        for (int64_t t = k; t < end; t++)
            for (int64_t i = count; i < width; i++)
                panel[t * width + i] = (T)0;
    }
}

/* width: ROWS or COLUMNS */
static void NAME(pack)(void *to,
                       const void *from,
                       int64_t width,
                       int64_t stride,
                       int64_t term_stride,
                       int64_t count,
                       int64_t terms) {
    if (width == ROWS)
        NAME(pack_wide)(ROWS, to, from, stride, term_stride, count, terms);
    else
        NAME(pack_wide)(NAME(COLUMNS), to, from, stride, term_stride, count, terms);
}

/* Rows of a in one span: those of whole tiles, and the remaining ones in a panel. */
typedef struct NAME(left) {
    const T *data, *rest;
    int64_t rows, whole;
    int64_t next, row, column; /* strides of tiles' rows, rows and terms */
    bool packed;
} NAME(left);

/* Rows that fill no tile are copied to `rest`, padded with zeros. */
static NAME(left) NAME(left_of)(const pithp_matrix *a,
                                int64_t m,
                                int64_t terms,
                                int64_t k,
                                int64_t span,
                                T *rest) {
    const T *data = a->data;
    if (a->panels)
        return (NAME(left)){data + k * ROWS, NULL, m, m, terms, 1, ROWS, true};
    const int64_t whole = m / ROWS * ROWS;
    data += k * a->column;
    if (whole < m && m > 1) {
        NAME(pack)(rest, data + whole * a->row, ROWS, a->row, a->column, m - whole, span);
    }
    return (NAME(left)){data, rest, m, whole, a->row, a->row, a->column, false};
}

/* Columns of b in one span, with terms `*step` apart; those that fill no vector are
 * copied to `edge`, padded with zeros. */
static const T *NAME(right_of)(const pithp_matrix *b,
                               int64_t terms,
                               int64_t k,
                               int64_t span,
                               int64_t j,
                               int64_t columns,
                               T *edge,
                               int64_t *step) {
    const T *data = b->data;
    *step = NAME(COLUMNS);
    if (b->panels)
        return data + j * terms + k * NAME(COLUMNS);
    data += k * b->row + j;
    if (columns % NAME(LANES)) {
        NAME(pack)(edge, data, NAME(COLUMNS), 1, b->row, columns, span);
        return edge;
    }
    *step = b->row;
    return data;
}

/* All rows by the columns of one tile. */
static void NAME(tile_column)(const NAME(left) * a,
                              int64_t span,
                              const T *b,
                              int64_t step,
                              T *c,
                              int64_t pitch,
                              int64_t columns,
                              bool add) {
    const int64_t m = a->rows;
    if (m == 1 && !a->packed) {
        NAME(tile_row)(span, a->data, 0, a->column, b, step, c, pitch, 1, columns, add);
        return;
    }
    for (int64_t i = 0; i < a->whole; i += ROWS) {
        const int64_t rows = m - i < ROWS ? m - i : ROWS;
        const T *x = a->data + i * a->next;
        if (a->packed) {
            NAME(tile_packed)
            (span, x, 1, ROWS, b, step, c + i * pitch, pitch, rows, columns, add);
        } else {
            NAME(tile_direct)
            (span, x, a->row, a->column, b, step, c + i * pitch, pitch, rows, columns,
             add);
        }
    }
    if (a->whole < m) {
        NAME(tile_packed)
        (span, a->rest, 1, ROWS, b, step, c + a->whole * pitch, pitch, m - a->whole,
         columns, add);
    }
}

/* Reads stay within a matrix. */
static void NAME(tiles)(void *c,
                        int64_t pitch,
                        int64_t m,
                        int64_t n,
                        int64_t terms,
                        const pithp_matrix *a,
                        const pithp_matrix *b) {
    T edge[PITHP_PRODUCT_SPAN * NAME(COLUMNS)], rest[PITHP_PRODUCT_SPAN * ROWS];
    for (int64_t k = 0; k < terms; k += PITHP_PRODUCT_SPAN) {
        const int64_t rests = terms - k,
                      span = rests < PITHP_PRODUCT_SPAN ? rests : PITHP_PRODUCT_SPAN;
        const NAME(left) left = NAME(left_of)(a, m, terms, k, span, rest);
        for (int64_t j = 0; j < n; j += NAME(COLUMNS)) {
            const int64_t columns = n - j < NAME(COLUMNS) ? n - j : NAME(COLUMNS);
            int64_t step;
            const T *right = NAME(right_of)(b, terms, k, span, j, columns, edge, &step);
            NAME(tile_column)
            (&left, span, right, step, (T *)c + j, pitch, columns, k > 0);
        }
    }
}

PITHP_INLINE void NAME(small_of)(T *c,
                                 int64_t m,
                                 const int n,
                                 const int terms,
                                 const pithp_matrix *a,
                                 const pithp_matrix *b) {
    const T *x = a->data, *y = b->data;
    T right[PITHP_PRODUCT_SMALL][PITHP_PRODUCT_SMALL];
    EACH(k, terms) {
        EACH(j, n) {
            right[k][j] = y[k * b->row + j * b->column];
        }
    }
    /* Rows are loaded whole before any of the result is stored. Large arrays begin at the
     * same page offset, so the processor would mistake the stores for aliases of later
     * loads (4K aliasing). */
    for (int64_t i = 0; i < m; i++, x += a->row, c += n) {
        T left[PITHP_PRODUCT_SMALL], sum[PITHP_PRODUCT_SMALL];
        EACH(k, terms) {
            left[k] = x[k * a->column];
        }
        EACH(j, n) {
            sum[j] = (T)0;
            EACH(k, terms) {
                sum[j] = (T)FUSED(left[k], right[k][j], sum[j]);
            }
        }
        EACH(j, n) {
            c[j] = sum[j];
        }
    }
}

static void NAME(small)(void *c,
                        int64_t count,
                        int64_t m,
                        int64_t n,
                        int64_t terms,
                        const pithp_matrix *a,
                        const pithp_matrix *b) {
    pithp_matrix x = *a, y = *b;
    T *to = c;
#define SMALL(columns, terms)                                                            \
    case columns * 8 + terms:                                                            \
        for (int64_t i = 0; i < count; i++, to += m * columns) {                         \
            x.data = (const T *)a->data + i * a->next;                                   \
            y.data = (const T *)b->data + i * b->next;                                   \
            NAME(small_of)(to, m, columns, terms, &x, &y);                               \
        }                                                                                \
        return;
#define SMALL_ROW(columns)                                                               \
    SMALL(columns, 1) SMALL(columns, 2) SMALL(columns, 3) SMALL(columns, 4)
    switch (n * 8 + terms) { SMALL_ROW(1) SMALL_ROW(2) SMALL_ROW(3) SMALL_ROW(4) }
#undef SMALL_ROW
#undef SMALL
}

/* `height` rows at once, which reuse the loaded part of b. */
PITHP_INLINE void NAME(dot_rows)(const int height,
                                 T *to,
                                 int64_t step,
                                 const T *a,
                                 int64_t row,
                                 const T *b,
                                 int64_t terms) {
    enum {
        LANES = PITHP_PRODUCT_LANES / sizeof(T),
        WIDE = PITHP_PRODUCT_LANES / VECTOR_BYTES
    };
    NAME(vector) sum[DOT_ROWS][WIDE];
    EACH(i, height) {
        EACH(v, WIDE) {
            sum[i][v] = (NAME(vector)){0};
        }
    }
    int64_t k = 0;
    for (; k + LANES <= terms; k += LANES) {
        EACH(v, WIDE) {
            const int64_t at = k + v * NAME(LANES);
            const NAME(vector) right = *(const NAME(loose) *)(b + at);
            EACH(i, height) {
                const NAME(vector) left = *(const NAME(loose) *)(a + i * row + at);
                sum[i][v] = FUSED_VECTOR(left, right, sum[i][v]);
            }
        }
    }
    for (int i = 0; i < height; i++) {
        T lanes[LANES];
        memcpy(lanes, sum[i], sizeof lanes);
        for (int64_t r = k; r < terms; r++)
            lanes[r - k] = (T)FUSED(a[i * row + r], b[r], lanes[r - k]);
        UNROLL
        for (int half = LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++)
                lanes[l] = (T)ADDED(lanes[l], lanes[l + half]);
        to[i * step] = lanes[0];
    }
}

static void NAME(dots)(void *to,
                       int64_t step,
                       const void *a,
                       int64_t row,
                       int64_t rows,
                       const void *b,
                       int64_t terms) {
    T *c = to;
    const T *x = a;
    int64_t i = 0;
    for (; i + DOT_ROWS <= rows; i += DOT_ROWS)
        NAME(dot_rows)(DOT_ROWS, c + i * step, step, x + i * row, row, b, terms);
    for (; i < rows; i++)
        NAME(dot_rows)(1, c + i * step, step, x + i * row, row, b, terms);
}

#undef TILES
#undef T
#undef NAME
#undef FUSED
#undef FUSED_VECTOR
#undef ADDED
