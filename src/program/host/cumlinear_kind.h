/* The loops of cumlinear for one dtype. cumlinear.c includes this header once for each
 * DT. */
#define NAME(x) PITHP_PASTE(x, DT)
#define LOAD(x) ((f64)NAME(LOAD)(x))
#define KEEP(x) NAME(STORE)((NAME(T))(x))

/* `width` lines, `across` apart, each in steps of `step`. */
PITHP_INLINE void NAME(beside)(const DT *factors,
                               const DT *terms,
                               DT *to,
                               int64_t width,
                               int64_t across,
                               int64_t extent,
                               int64_t step,
                               bool strong) {
    f64 y[ADJACENT];
    for (int64_t j = 0; j < width; j++) {
        y[j] = LOAD(terms[j * across]);
        to[j * across] = KEEP(y[j]);
    }
    for (int64_t i = 1; i < extent; i++) {
        factors += step, terms += step, to += step;
        PITHP_SIMD
        for (int64_t j = 0; j < width; j++) {
            const f64 factor = LOAD(factors[j * across]);
            y[j] =
                m_recur(strong & (y[j] == 0) ? 0 : factor, y[j], LOAD(terms[j * across]));
            to[j * across] = KEEP(y[j]);
        }
    }
}

static void NAME(lines)(const void *args, int64_t begin, int64_t end) {
    const recurrence_args *a = args;
    const int64_t inner = a->inner, back = a->reverse ? (a->extent - 1) * inner : 0;
    for (int64_t line = begin; line < end;) {
        const int64_t column = line % inner;
        const int64_t at = (line - column) * a->extent + column + back;
        const DT *factors = (const DT *)a->factors + at,
                 *terms = (const DT *)a->terms + at;
        DT *to = (DT *)a->to + at;
        int64_t width = inner == 1                  ? APART
                        : inner - column < ADJACENT ? inner - column
                                                    : ADJACENT;
        width = width < end - line ? width : end - line;
        const int64_t step = a->reverse ? -inner : inner;
        if (inner > 1) {
            NAME(beside)(factors, terms, to, width, 1, a->extent, step, a->strong);
        } else if (width == APART) { /* the compiler knows the width */
            NAME(beside)
            (factors, terms, to, APART, a->extent, a->extent, step, a->strong);
        } else {
            NAME(beside)
            (factors, terms, to, width, a->extent, a->extent, step, a->strong);
        }
        line += width;
    }
}

static const pithp_host_loop NAME(loops)[PITHP_ISA_COUNT] = {NAME(lines)};

#undef NAME
#undef LOAD
#undef KEEP
#undef DT
