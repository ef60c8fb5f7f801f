/* Reductions against golden values, and the order of sums against a plain statement of
 * it. */
#include "call.h"

static pithp_primitive row_of(const char *op) {
    return !strcmp(op, "min")   ? PITHP_OP_MIN_OF
           : !strcmp(op, "max") ? PITHP_OP_MAX_OF
                                : call_primitive(op);
}

static uint32_t axis_bit(const golden_json *axis, int rank) {
    const int64_t a = golden_integer(axis);
    const int64_t at = a < 0 ? a + rank : a;
    return 1u << (at >= 0 && at < 31 ? at : 31); /* 31: beyond every rank */
}

static uint32_t axes_of(const golden_json *p, int rank) {
    const golden_json *axes = golden_get(p, "axes"), *axis = golden_get(p, "axis");
    if (axis && axis->kind != 'z')
        return axis_bit(axis, rank);
    if (!axes || axes->kind == 'z')
        return (1u << rank) - 1;
    uint32_t set = 0;
    for (const golden_json *a = axes->child; a; a = a->next)
        set |= axis_bit(a, rank);
    return set;
}

Test(reduce, gives_the_golden_values) {
    const golden_family *g = golden_open("reduce");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_tensor *x = golden_tensor_of(g, one, "in", 0);
        const golden_json *p = golden_get(one, "params"),
                          *keep = golden_get(p, "keepdims");
        const pithp_reduce_params params = {axes_of(p, x->spec.rank)};
        call c = {
            .primitive = row_of(golden_text(one, "op")), .count = 1, .params = &params};
        if (c.primitive == PITHP_PRIMITIVE_COUNT ||
            strstr(golden_text(one, "name"), "bad_axis")) /* a set has no axis twice */
            continue;
        /* a sum in another dtype is a sum after a cast */
        const pithp_cast_params to = {pith_dtype_parse(golden_text(p, "dtype"))};
        call cast = {.primitive = PITHP_OP_CAST,
                     .count = 1,
                     .specs = {&x->spec},
                     .data = {x->data},
                     .params = &to};
        c.specs[0] = &x->spec;
        c.data[0] = x->data;
        if (to.dtype && to.dtype != x->spec.dtype) {
            cr_assert(call_run(&cast) == PITH_OK);
            c.specs[0] = &cast.result;
            c.data[0] = cast.out;
        }
        for (int i = 0; i < 3 * PITHP_ISA_COUNT; i++) {
            c.isa = (pithp_isa)(i / 3);
            c.split = i % 3 * 3;
            if (!call_isa_runs(c.isa))
                continue;
            const pith_status rc = call_run(&c);
            if (!strcmp(golden_text(one, "expect"), "error")) {
                failed += rc == PITH_OK;
                if (rc == PITH_OK)
                    fprintf(stderr, "%s was not refused\n", golden_text(one, "name"));
            } else {
                if (keep && keep->kind == 't' && c.out) {
                    const golden_tensor *want = golden_tensor_of(g, one, "out", 0);
                    c.result.rank = want->spec.rank;
                    memcpy(c.result.shape, want->spec.shape, sizeof c.result.shape);
                }
                failed += !call_agrees(&c, g, one, 0);
            }
            call_free(&c);
        }
        call_free(&cast);
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 500, "only %d cases ran", ran);
}

/* ---- The order of sums ---- */

static double pairwise(double *x, int64_t n) {
    while (n > 1) {
        for (int64_t i = 0; i < n / 2; i++)
            x[i] = x[2 * i] + x[2 * i + 1];
        if (n % 2)
            x[n / 2] = x[n - 1];
        n = (n + 1) / 2;
    }
    return x[0];
}

/* As the contract says it: lanes of a block, a tree over lanes, a tree over blocks. */
static double stated_sum(const double *x, int64_t n, int64_t pitch) {
    double blocks[64];
    int64_t count = 0;
    for (int64_t b = 0; b < n; b += 4096) {
        double lanes[64] = {0};
        for (int64_t i = b; i < n && i < b + 4096; i++)
            lanes[(i - b) % 64] += x[i * pitch];
        blocks[count++] = pairwise(lanes, 64);
    }
    return count ? pairwise(blocks, count) : 0.0;
}

static uint64_t seed = 1;
static double noise(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(int64_t)seed, -63) * ldexp(1, (int)(seed >> 59) - 16);
}

static const int64_t lengths[] = {0,   1,    2,    3,    4,    5,    7,     31,
                                  63,  64,   65,   66,   97,   127,  128,   191,
                                  450, 1000, 4095, 4096, 4097, 4160, 10000, 70001};

Test(reduce, sums_in_the_stated_order) {
    enum { MOST = 70001 };
    double *x = malloc((MOST + 1) * sizeof *x);
    for (int k = 0; k < PITHP_COUNT(lengths); k++) {
        const int64_t n = lengths[k];
        for (int offset = 0; offset < 2; offset++) {
            for (int64_t i = 0; i < n; i++)
                x[i + offset] = noise();
            const double want = stated_sum(x + offset, n, 1);
            const pith_spec spec = {PITH_F64, 1, n, (size_t)n * 8, {n}};
            const pithp_reduce_params all = {1};
            for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
                call c = {.primitive = PITHP_OP_SUM,
                          .count = 1,
                          .specs = {&spec},
                          .data = {x + offset},
                          .params = &all,
                          .isa = (pithp_isa)isa,
                          .split = offset};
                if (!call_isa_runs(c.isa))
                    continue;
                cr_assert(call_run(&c) == PITH_OK);
                cr_assert(memcmp(c.out, &want, 8) == 0, "n %lld, isa %d: %a, want %a",
                          (long long)n, isa, *(double *)c.out, want);
                call_free(&c);
            }
        }
    }
    free(x);
}

Test(reduce, sums_columns_in_the_same_order) {
    static const int64_t widths[] = {2, 3, 5, 16, 64, 65, 200, 257, 600};
    for (int k = 1; k < PITHP_COUNT(lengths) - 1; k++) {
        for (int w = 0; w < PITHP_COUNT(widths); w++) {
            const int64_t n = lengths[k], m = widths[w], outer = n < 500 ? 3 : 1;
            if (n * m > 2600000)
                continue;
            double *x = malloc((size_t)(outer * n * m) * sizeof *x);
            for (int64_t i = 0; i < outer * n * m; i++)
                x[i] = noise();
            const pith_spec spec = {
                PITH_F64, 3, outer * n * m, (size_t)(outer * n * m) * 8, {outer, n, m}};
            const pithp_reduce_params middle = {2};
            for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
                call c = {.primitive = PITHP_OP_SUM,
                          .count = 1,
                          .specs = {&spec},
                          .data = {x},
                          .params = &middle,
                          .isa = (pithp_isa)isa,
                          .split = w};
                if (!call_isa_runs(c.isa))
                    continue;
                cr_assert(call_run(&c) == PITH_OK);
                for (int64_t i = 0; i < outer * m; i++) {
                    const double want = stated_sum(x + i / m * n * m + i % m, n, m);
                    cr_assert(memcmp((double *)c.out + i, &want, 8) == 0,
                              "n %lld, m %lld, isa %d", (long long)n, (long long)m, isa);
                }
                call_free(&c);
            }
            free(x);
        }
    }
}

/* Axes that are not neighbours, in C order of the reduced ones. */
Test(reduce, sums_scattered_axes_in_c_order) {
    enum { A = 5, B = 7, C = 11, D = 3 };
    static double x[A * B * C * D], line[A * C];
    for (int i = 0; i < A * B * C * D; i++)
        x[i] = noise();
    const pith_spec spec = {PITH_F64, 4, A * B * C * D, sizeof x, {A, B, C, D}};
    const pithp_reduce_params p = {1 | 4};
    call c = {.primitive = PITHP_OP_SUM,
              .count = 1,
              .specs = {&spec},
              .data = {x},
              .params = &p};
    cr_assert(call_run(&c) == PITH_OK && c.result.rank == 2);
    for (int b = 0; b < B; b++) {
        for (int d = 0; d < D; d++) {
            for (int i = 0; i < A * C; i++)
                line[i] = x[((i / C * B + b) * C + i % C) * D + d];
            const double want = stated_sum(line, A * C, 1);
            cr_assert(memcmp((double *)c.out + b * D + d, &want, 8) == 0);
        }
    }
    call_free(&c);
}

/* Floats in f32 are summed in f64 and rounded once. */
Test(reduce, sums_single_precision_in_double) {
    enum { N = 5000 };
    static float x[N];
    static double wide[N];
    for (int i = 0; i < N; i++)
        wide[i] = (double)(x[i] = (float)noise());
    const float want = (float)stated_sum(wide, N, 1);
    const pith_spec spec = {PITH_F32, 1, N, sizeof x, {N}};
    const pithp_reduce_params p = {1};
    call c = {.primitive = PITHP_OP_SUM,
              .count = 1,
              .specs = {&spec},
              .data = {x},
              .params = &p};
    cr_assert(call_run(&c) == PITH_OK);
    cr_assert(memcmp(c.out, &want, 4) == 0);
    call_free(&c);
}

/* ---- The least and the greatest ---- */

static double extreme_of(double a, double b, bool greatest) {
    return (greatest ? a > b : a < b) || isnan(a) ? a : b;
}

/* Of at most a block, in the same order, which chooses among zeros. */
static double stated_extreme(const double *x, int64_t n, bool greatest) {
    const double none = greatest ? -INFINITY : INFINITY;
    double lanes[64];
    for (int j = 0; j < 64; j++)
        lanes[j] = none;
    for (int64_t i = 0; i < n; i++)
        lanes[i % 64] = i < 64 ? x[i] : extreme_of(lanes[i % 64], x[i], greatest);
    for (int left = 32; left; left /= 2)
        for (int j = 0; j < left; j++)
            lanes[j] = extreme_of(lanes[2 * j], lanes[2 * j + 1], greatest);
    return lanes[0];
}

/* Rows of n elements of a kind: negative ones and zeros of both signs, among which zero
 * is the greatest; positive ones and those zeros; both, with infinities; with a nan. */
static void fill_rows(double *x, int64_t rows, int64_t n, int kind) {
    for (int64_t i = 0; i < rows * n; i++) {
        const double value = noise(), size = fabs(value);
        x[i] = kind == 0 ? -size : kind == 1 ? size : value;
        if (kind < 2 && seed >> 61 == 0)
            x[i] = seed >> 60 & 1 ? 0.0 : -0.0;
        if (kind == 2 && seed >> 59 == 3)
            x[i] = seed >> 58 & 1 ? INFINITY : -INFINITY;
    }
    for (int64_t i = 0; kind == 3 && i < rows; i++)
        x[i * n + (int64_t)(fabs(noise()) * (double)n) % n] = NAN;
}

static void check_extremes(int64_t rows, int64_t n, int kind, pithp_isa isa) {
    static double x[8 * 4096];
    static float narrow[8 * 4096];
    fill_rows(x, rows, n, kind);
    for (int64_t i = 0; i < rows * n; i++)
        x[i] = narrow[i] = (float)x[i];
    for (int k = 0; k < 4; k++) {
        const bool greatest = k & 1, wide = k & 2;
        const size_t size = wide ? sizeof *x : sizeof *narrow;
        const pith_spec spec = {.dtype = wide ? PITH_F64 : PITH_F32,
                                .rank = 2,
                                .shape = {rows, n},
                                .count = rows * n,
                                .bytes = (size_t)(rows * n) * size};
        const pithp_reduce_params last = {2};
        call c = {.primitive = greatest ? PITHP_OP_MAX_OF : PITHP_OP_MIN_OF,
                  .count = 1,
                  .specs = {&spec},
                  .data = {wide ? (const void *)x : narrow},
                  .params = &last,
                  .isa = isa};
        cr_assert(call_run(&c) == PITH_OK);
        for (int64_t i = 0; i < rows; i++) {
            const double want = stated_extreme(x + i * n, n, greatest),
                         got = wide ? ((double *)c.out)[i] : (double)((float *)c.out)[i];
            cr_assert(isnan(want) ? isnan(got) : memcmp(&got, &want, 8) == 0,
                      "%s of %lld, kind %d, isa %d: %a, want %a",
                      greatest ? "max" : "min", (long long)n, kind, (int)isa, got, want);
        }
        call_free(&c);
    }
}

Test(reduce, extremes_of_rows_in_the_stated_order) {
    for (int isa = 0; isa < PITHP_ISA_COUNT; isa++)
        for (int kind = 0; kind < 4 && call_isa_runs((pithp_isa)isa); kind++) {
            for (int64_t n = 1; n < 270; n++)
                check_extremes(8, n, kind, (pithp_isa)isa);
            check_extremes(5, 1000, kind, (pithp_isa)isa);
            check_extremes(5, 4096, kind, (pithp_isa)isa);
        }
}
