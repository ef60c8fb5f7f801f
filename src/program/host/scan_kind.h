/* The loops of one scan. scan.c includes this header once per operation and dtype with
 *
 *   OP, DT          cumsum, f32, ...
 *   A               the type of an accumulator
 *   COMBINE(a, b)   accumulator a, combined with b */
#define NAME(x)    PITHP_PASTE(OP, PITHP_PASTE(x, DT))
#define E          DT
#define LOAD(x)    ((A)PITHP_PASTE(LOAD, DT)(x))
#define JOIN(a, b) ((A)(COMBINE(a, b)))
#define KEEP(x)    PITHP_PASTE(STORE, DT)((PITHP_PASTE(T, DT))(x))

/* One line. Four blocks are computed side by side, which hides the latency of the
 * dependent additions. */
PITHP_INLINE void NAME(alone)(const E *from, E *to, int64_t extent, int64_t step) {
    A local[ABREAST * BLOCK], offset = 0, before = 0, within = 0;
    for (int64_t at = 0; at < extent; at += ABREAST * BLOCK) {
        const int64_t left = extent - at, n = ABREAST * BLOCK;
        if (left >= n) {
            A sofar[ABREAST];
            for (int64_t g = 0; g < ABREAST; g++)
                local[g * BLOCK] = sofar[g] = LOAD(from[(at + g * BLOCK) * step]);
            for (int64_t i = 1; i < BLOCK; i++)
                for (int64_t g = 0; g < ABREAST; g++) {
                    const A next = LOAD(from[(at + g * BLOCK + i) * step]);
                    sofar[g] = JOIN(sofar[g], next);
                    local[g * BLOCK + i] = sofar[g];
                }
        } else {
            for (int64_t i = 0; i < left; i++) {
                const A next = LOAD(from[(at + i) * step]);
                local[i] = i % BLOCK ? JOIN(local[i - 1], next) : next;
            }
        }
        for (int64_t b = 0; b < ABREAST && b * BLOCK < left; b++) {
            const A *here = local + b * BLOCK;
            const int64_t rest = left - b * BLOCK, m = rest < BLOCK ? rest : BLOCK;
            const bool first = at + b == 0;
            E *out = to + (at + b * BLOCK) * step;
            if (first) {
                for (int64_t i = 0; i < m; i++)
                    out[i * step] = KEEP(here[i]);
            } else {
                PITHP_SIMD
                for (int64_t i = 0; i < m; i++) {
                    const A all = JOIN(offset, here[i]);
                    out[i * step] = KEEP(all);
                }
            }
            ADVANCE(at / BLOCK + b, here[m - 1], before, within, offset);
        }
    }
}

/* Adjacent lines side by side, element by element, or a single line. */
static void NAME(lines)(const void *args, int64_t begin, int64_t end) {
    const scan_args *a = args;
    for (int64_t line = begin; line < end;) {
        const int64_t first = line % a->inner;
        int64_t width = a->inner - first;
        width = width < end - line ? width : end - line;
        width = width < LINES ? width : LINES;
        const int64_t base = line / a->inner * a->extent * a->inner + first;
        const int64_t step = a->reverse ? -a->inner : a->inner;
        const int64_t start = a->reverse ? base + (a->extent - 1) * a->inner : base;
        const E *from = (const E *)a->from + start;
        E *to = (E *)a->to + start;
        if (a->inner == 1) {
            if (a->reverse)
                NAME(alone)(from, to, a->extent, -1);
            else
                NAME(alone)(from, to, a->extent, 1);
            line++;
            continue;
        }
        A sofar[LINES] = {0}, offset[LINES] = {0}, before[LINES] = {0},
          within[LINES] = {0};
        for (int64_t i = 0; i < a->extent; i++, from += step, to += step) {
            if (i % BLOCK == 0) { /* a complete block goes to the offsets */
                for (int64_t j = 0; j < width; j++) {
                    if (i > 0)
                        ADVANCE(i / BLOCK - 1, sofar[j], before[j], within[j], offset[j]);
                    sofar[j] = LOAD(from[j]);
                }
            } else {
                PITHP_SIMD
                for (int64_t j = 0; j < width; j++) {
                    const A next = LOAD(from[j]);
                    sofar[j] = JOIN(sofar[j], next);
                }
            }
            if (i < BLOCK) {
                PITHP_SIMD
                for (int64_t j = 0; j < width; j++)
                    to[j] = KEEP(sofar[j]);
            } else {
                PITHP_SIMD
                for (int64_t j = 0; j < width; j++) {
                    const A all = JOIN(offset[j], sofar[j]);
                    to[j] = KEEP(all);
                }
            }
        }
        line += width;
    }
}

static const pithp_host_loop NAME(loops)[PITHP_ISA_COUNT] = {NAME(lines)};

#undef NAME
#undef E
#undef LOAD
#undef JOIN
#undef KEEP
#undef DT
