/* Sorting, searching and running results against golden values. */
#include "call.h"

typedef union {
    pithp_sort_params sort;
    pithp_scan_params scan;
    pithp_search_params search;
} params;

static bool is_true(const golden_json *p, const char *key) {
    const golden_json *v = golden_get(p, key);
    return v && v->kind == 't';
}

/* Parameters of a golden case; false: the operation is made of several primitives. */
static bool read_params(const golden_json *one, call *c, params *u) {
    const char *op = golden_text(one, "op");
    const golden_json *p = golden_get(one, "params");
    memset(u, 0, sizeof *u);
    c->params = u;
    const int64_t axis = (int64_t)golden_number(p, "axis", 0);
    const int32_t at = (int32_t)(axis < 0 ? axis + c->specs[0]->rank : axis);
    if (!strcmp(op, "sort") || !strcmp(op, "argsort")) {
        u->sort = (pithp_sort_params){at, is_true(p, "descending")};
    } else if (!strcmp(op, "searchsorted")) {
        c->primitive = PITHP_OP_SEARCH_SORTED;
        u->search.right = !strcmp(golden_text(p, "side"), "right");
        return true;
    } else if (!strncmp(op, "cum", 3)) {
        u->scan = (pithp_scan_params){.axis = at, .reverse = is_true(p, "reverse")};
    } else {
        return false;
    }
    c->primitive = call_primitive(op);
    return c->primitive != PITHP_PRIMITIVE_COUNT;
}

/* Positions are i64 here and i32 in some golden cases. */
static void narrow(call *c, const golden_tensor *want) {
    if (want->spec.dtype != PITH_I32 || c->result.dtype != PITH_I64)
        return;
    for (int64_t i = 0; i < c->result.count; i++)
        ((int32_t *)c->out)[i] = (int32_t)((int64_t *)c->out)[i];
    c->result.dtype = PITH_I32;
}

Test(order, gives_the_golden_values) {
    const golden_family *g = golden_open("order");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        call c = {0};
        params u;
        for (; golden_tensor_of(g, one, "in", c.count); c.count++) {
            const golden_tensor *t = golden_tensor_of(g, one, "in", c.count);
            c.specs[c.count] = &t->spec;
            c.data[c.count] = t->data;
        }
        if (!golden_get(one, "out") || !read_params(one, &c, &u))
            continue;
        for (int i = 0; i < 2 * PITHP_ISA_COUNT; i++) {
            c.isa = (pithp_isa)(i / 2);
            c.split = i % 2;
            if (!call_isa_runs(c.isa))
                continue;
            call_run(&c);
            narrow(&c, golden_tensor_of(g, one, "out", 0));
            failed += !call_agrees(&c, g, one, 0);
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 160, "only %d cases ran", ran);
}

static uint64_t seed = 3;
static uint32_t noise(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

/* Long lines with many equal elements: argsort is a stable permutation that sorts. */
Test(order, sorts_long_lines_stably) {
    enum { N = 30000 };
    static float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(noise() % 1000) - 500 + (noise() % 50 ? 0.0f : NAN);
    const pith_spec spec = {PITH_F32, 1, N, sizeof x, {N}};
    for (int descending = 0; descending < 2; descending++) {
        const pithp_sort_params p = {0, descending};
        call c = {.primitive = PITHP_OP_ARGSORT,
                  .count = 1,
                  .specs = {&spec},
                  .data = {x},
                  .params = &p};
        cr_assert(call_run(&c) == PITH_OK);
        const int64_t *at = c.out;
        for (int i = 1; i < N; i++) {
            const float a = x[at[i - 1]], b = x[at[i]];
            const bool equal = a == b || (isnan(a) && isnan(b));
            const bool less = isnan(b) ? !isnan(a) : a < b;
            const bool greater = isnan(a) ? !isnan(b) : a > b;
            cr_assert(equal ? at[i - 1] < at[i] : descending ? greater : less);
        }
        call_free(&c);
    }
}

/* Running sums of single precision carry double and round each result once. */
Test(order, carries_running_sums_in_double) {
    enum { N = 5000, M = 3 };
    static float x[N * M], want[N * M];
    double sofar[M] = {0};
    for (int i = 0; i < N * M; i++) {
        x[i] = (float)noise() * 1e-3f;
        sofar[i % M] += (double)x[i];
        want[i] = (float)sofar[i % M];
    }
    const pith_spec spec = {PITH_F32, 2, N * M, sizeof x, {N, M}};
    const pithp_scan_params p = {.axis = 0};
    call c = {.primitive = PITHP_OP_CUMSUM,
              .count = 1,
              .specs = {&spec},
              .data = {x},
              .params = &p,
              .split = 2};
    cr_assert(call_run(&c) == PITH_OK);
    cr_assert(memcmp(c.out, want, sizeof want) == 0);
    call_free(&c);
}

/* A prefix of a scan is the scan of the prefix, to the bit, wherever blocks end. */
Test(order, scans_depend_on_the_place_alone) {
    enum { N = 4000 };
    static double x[N], whole[N];
    for (int i = 0; i < N; i++)
        x[i] = (double)noise() * (noise() % 3 ? 1e-9 : 1.0) - 1e8;
    for (int n = N; n > 0; n -= n > 1000 ? 997 : 61) {
        const pith_spec spec = {PITH_F64, 1, n, (size_t)n * sizeof *x, {n}};
        const pithp_scan_params p = {.axis = 0};
        call c = {.primitive = PITHP_OP_CUMSUM,
                  .count = 1,
                  .specs = {&spec},
                  .data = {x},
                  .params = &p};
        cr_assert(call_run(&c) == PITH_OK);
        if (n == N)
            memcpy(whole, c.out, sizeof whole);
        cr_assert(memcmp(c.out, whole, spec.bytes) == 0, "%d elements", n);
        long double exact = 0;
        for (int i = 0; i < n; i++) {
            exact += (long double)x[i];
            cr_assert(fabsl(exact - (long double)whole[i]) <= 1e-15L * 1e9L * (i + 1));
        }
        call_free(&c);
    }
}

/* y[k] = a[k] y[k - 1] + b[k], by a loop: of lines side by side and apart. A factor 0
 * begins anew, also after NaN, and so does strong after 0; the first factor of a line is
 * not used. */
Test(order, recurrences_are_loops) {
    enum { OUTER = 3, EXTENT = 70, INNER = 67, N = OUTER * EXTENT * INNER };
    static double a[N], b[N], want[N];
    for (int inner = 1; inner <= INNER; inner += 11)
        for (int way = 0; way < 4; way++) {
            const bool reverse = way & 1, strong = way & 2;
            const int n = OUTER * EXTENT * inner;
            for (int i = 0; i < n; i++) {
                a[i] = i % 9 == 4    ? 0
                       : i % 13 == 5 ? (double)NAN
                                     : (double)(noise() % 64) / 32;
                b[i] = i % 18 == 4   ? 0
                       : i % 17 == 3 ? (double)INFINITY
                                     : (double)(noise() % 1024) / 512 - 1;
            }
            for (int line = 0; line < OUTER * inner; line++)
                for (int k = 0; k < EXTENT; k++) {
                    const int place = reverse ? EXTENT - 1 - k : k;
                    const int at = (line / inner * EXTENT + place) * inner + line % inner;
                    const int last = reverse ? at + inner : at - inner;
                    const bool anew = k == 0 || a[at] == 0 || (strong && want[last] == 0);
                    want[at] = anew ? b[at] : a[at] * want[last] + b[at];
                }
            const pith_spec spec = {
                PITH_F64, 3, n, (size_t)n * 8, {OUTER, EXTENT, inner}};
            const pithp_scan_params p = {.axis = 1, .reverse = reverse, .strong = strong};
            for (int split = 0; split < 8; split += 7) {
                call c = {.primitive = PITHP_OP_CUMLINEAR,
                          .count = 2,
                          .specs = {&spec, &spec},
                          .data = {a, b},
                          .params = &p,
                          .split = split};
                cr_assert(call_run(&c) == PITH_OK);
                for (int i = 0; i < n; i++) {
                    const double y = ((double *)c.out)[i];
                    cr_assert(y == want[i] || (isnan(y) && isnan(want[i])),
                              "%d of %d beside: %g, expected %g", i, inner, y, want[i]);
                }
                call_free(&c);
            }
        }
}

Test(order, refuses_other_recurrences) {
    const pith_spec x = {PITH_F64, 1, 3, 24, {3}}, more = {PITH_F64, 1, 4, 32, {4}},
                    single = {PITH_F32, 1, 3, 12, {3}}, whole = {PITH_I64, 1, 3, 24, {3}};
    const pith_spec *const pairs[][2] = {
        {&x, &more}, {&x, &single}, {&whole, &whole}, {&x, &x}};
    const pith_status codes[] = {PITH_E_SHAPE, PITH_E_DTYPE, PITH_E_DTYPE, PITH_E_SHAPE};
    for (int k = 0; k < 4; k++) {
        const pithp_scan_params p = {.axis = k == 3};
        const pithp_call one = pithp_call_of(PITHP_OP_CUMLINEAR, 2, pairs[k], &p);
        pith_spec result;
        pithp_refusal refusal;
        cr_assert_eq(pithp_infer(&one, &result, &refusal), codes[k]);
    }
}

/* Lines long enough for many threads, of every width, sorted as short ones are: elements
 * with their signs of zero and payloads, places stable. */
Test(order, sorts_lines_for_many_threads) {
    enum { N = 70001 };
    static const pith_dtype dtypes[] = {PITH_I8,  PITH_U8,  PITH_I16, PITH_F16, PITH_I32,
                                        PITH_U32, PITH_F32, PITH_I64, PITH_U64, PITH_F64};
    enum { DTYPES = PITHP_COUNT(dtypes) };
    static uint64_t x[N], sorted[N];
    static uint8_t seen[N];
    for (int k = 0; k < 4 * DTYPES; k++) {
        const pith_dtype dtype = dtypes[k % DTYPES];
        const size_t size = pith_dtype_size(dtype);
        const pithp_sort_params p = {0, k / DTYPES % 2};
        for (int i = 0; i < N; i++) {
            const uint64_t bits =
                k < 2 * DTYPES ? (uint64_t)noise() << 32 | noise() : noise() % 50;
            memcpy((char *)x + (size_t)i * size, &bits, size);
        }
        const pith_spec spec = {dtype, 1, N, N * size, {N}};
        call c = {.primitive = PITHP_OP_ARGSORT,
                  .count = 1,
                  .specs = {&spec},
                  .data = {x},
                  .params = &p,
                  .split = 3};
        cr_assert(call_run(&c) == PITH_OK);
        const int64_t *at = c.out;
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < N; i++) {
            cr_assert(at[i] >= 0 && at[i] < N && !seen[at[i]]++);
            memcpy((char *)sorted + (size_t)i * size, (char *)x + (size_t)at[i] * size,
                   size);
        }
        for (int i = 1; i < N; i++) {
            double a, b; /* enough to see the order of what differs much */
            pithp_cast_block(PITHP_ISA_BASE, dtype, PITH_F64)(
                &a, (char *)sorted + (size_t)(i - 1) * size, NULL, NULL, 1);
            pithp_cast_block(PITHP_ISA_BASE, dtype, PITH_F64)(
                &b, (char *)sorted + (size_t)i * size, NULL, NULL, 1);
            const double less = p.descending ? b : a, more = p.descending ? a : b;
            cr_assert(less <= more || isnan(more));
            cr_assert(memcmp((char *)sorted + (size_t)(i - 1) * size,
                             (char *)sorted + (size_t)i * size, size) != 0 ||
                      at[i - 1] < at[i]);
        }
        call_free(&c);
        c.primitive = PITHP_OP_SORT;
        cr_assert(call_run(&c) == PITH_OK);
        cr_assert(memcmp(c.out, sorted, N * size) == 0, "%s", pith_dtype_name(dtype));
        call_free(&c);
    }
}

/* So long that a device sorts keys of 64 bits digit by digit. */
Test(order, sorts_a_very_long_line) {
    enum { N = 524288 + 5 };
    uint64_t *x = malloc(N * sizeof *x);
    for (int64_t i = 0; i < N; i++)
        x[i] = i % 3 ? (uint64_t)noise() << 32 | noise() : noise() % 1000;
    const pith_spec spec = {PITH_U64, 1, N, N * sizeof *x, {N}};
    const pithp_sort_params p = {0, false};
    call c = {.primitive = PITHP_OP_ARGSORT,
              .count = 1,
              .specs = {&spec},
              .data = {x},
              .params = &p,
              .split = 3};
    cr_assert(call_run(&c) == PITH_OK);
    const int64_t *at = c.out;
    for (int64_t i = 1; i < N; i++)
        cr_assert(x[at[i - 1]] < x[at[i]] ||
                      (x[at[i - 1]] == x[at[i]] && at[i - 1] < at[i]),
                  "element %lld", (long long)i);
    call_free(&c);
    free(x);
}

/* Lines of [3, length, 2], around the lengths at which work is cut in another way. */
Test(order, sorts_lines_beside_each_other) {
    static const int64_t lengths[] = {511, 512, 513, 2047, 2048, 2049, 4096, 6001, 69633};
    static float x[3 * 69633 * 2];
    for (int k = 0; k < 2 * PITHP_COUNT(lengths); k++) {
        const int64_t n = lengths[k / 2], count = 6 * n;
        const pithp_sort_params p = {1, k % 2};
        const pith_spec spec = {PITH_F32, 3, count, (size_t)count * sizeof *x, {3, n, 2}};
        for (int64_t i = 0; i < count; i++)
            x[i] = noise() % 60 ? (float)(noise() % 300) - 150 : NAN;
        call c = {.primitive = PITHP_OP_ARGSORT,
                  .count = 1,
                  .specs = {&spec},
                  .data = {x},
                  .params = &p,
                  .split = 7};
        cr_assert(call_run(&c) == PITH_OK);
        const int64_t *at = c.out;
        for (int64_t i = 0; i < count; i++) {
            const int64_t along = i / 2 % n, first = i - 2 * along;
            cr_assert(at[i] >= 0 && at[i] < n);
            if (along == 0)
                continue;
            const float a = x[first + 2 * at[i - 2]], b = x[first + 2 * at[i]];
            const bool equal = a == b || (isnan(a) && isnan(b));
            const bool less = isnan(b) ? !isnan(a) : a < b;
            const bool greater = isnan(a) ? !isnan(b) : a > b;
            cr_assert(equal          ? at[i - 2] < at[i]
                      : p.descending ? greater
                                     : less,
                      "length %lld, element %lld", (long long)n, (long long)i);
        }
        call_free(&c);
    }
}
