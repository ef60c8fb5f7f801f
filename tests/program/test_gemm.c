/* Single products by cuBLAS on a CUDA device that is made of host memory, and by what
 * stands there for cuBLAS (gpu/fake_cuda), which adds in the order of pith's own kernels:
 * the bits are theirs. */
#include "gemm_fake.h"
#include "series.h"

/* How many calls of cuBLAS a product is, and that its bits are those of the own kernel.
 */
static long long check_alike(const product *p, const char *cublas) {
    bench b = begin("on", "off");
    long long before = fake_cuda.gemms;
    void *want = multiply(&b, p);
    cr_assert(want && fake_cuda.gemms == before);
    end(&b);
    b = begin("on", cublas);
    before = fake_cuda.gemms;
    void *got = multiply(&b, p);
    cr_assert(got);
    const long long gemms = fake_cuda.gemms - before;
    for (int k = 0; k < 2; k++) { /* again, now that the handle is there */
        void *again = multiply(&b, p);
        cr_assert(again && memcmp(again, got, p->result.bytes) == 0);
        free(again);
    }
    cr_assert(memcmp(got, want, p->result.bytes) == 0);
    free(got), free(want);
    end(&b);
    return gemms;
}

Test(gemm, products_have_the_bits_of_the_own_kernel, .timeout = 300) {
    static const int64_t shapes[][4] = {{1, 3, 4, 5},    {2, 1, 7, 6},   {3, 5, 1, 1},
                                        {1, 20, 300, 9}, {4, 3, 257, 2}, {1, 1, 5000, 1},
                                        {1, 2, 512, 70}, {5, 1, 600, 8}};
    static const pith_dtype dtypes[] = {PITH_F16, PITH_BF16, PITH_F32, PITH_F64};
    reset();
    for (int d = 0; d < PITHP_COUNT(dtypes); d++)
        for (int k = 0; k < PITHP_COUNT(shapes); k++) {
            product p;
            matrices(&p, dtypes[d], shapes[k][0], shapes[k][1], shapes[k][2],
                     shapes[k][3]);
            /* spans of 256 terms are one call, what is left another */
            const int64_t terms = shapes[k][2];
            cr_assert_eq(check_alike(&p, "on"), (terms >= 256) + (terms % 256 != 0));
            product_free(&p);
        }
}

Test(gemm, axes_in_any_order_have_them_too, .timeout = 300) {
    static const struct {
        int64_t shape[2][4];
        pithp_dot_params params;
    } cases[] = {
        /* bmk,bnk / kmb,knb: neither rows nor columns lie side by side */
        {{{3, 4, 300}, {3, 5, 300}}, {1, 1, {{2}, {2}}, {{0}, {0}}}},
        {{{70, 4, 3}, {70, 5, 3}}, {1, 1, {{0}, {0}}, {{2}, {2}}}},
        /* two summed, in the other order; no batch */
        {{{6, 7, 8}, {8, 6, 9}}, {2, 0, {{0, 2}, {1, 0}}, {{0}, {0}}}},
        /* a batch of which one operand has 1 */
        {{{1, 4, 30}, {6, 30, 5}}, {1, 1, {{2}, {1}}, {{0}, {0}}}},
        {{{6, 4, 30}, {1, 30, 5}}, {1, 1, {{2}, {1}}, {{0}, {0}}}},
        /* nothing is summed */
        {{{2, 4, 3}, {2, 5, 7}}, {0, 1, {{0}, {0}}, {{0}, {0}}}},
    };
    reset();
    for (int k = 0; k < PITHP_COUNT(cases); k++)
        for (int d = 0; d < 2; d++) {
            product p = {.params = cases[k].params};
            for (int o = 0; o < 2; o++) {
                p.specs[o].rank = 3;
                memcpy(p.specs[o].shape, cases[k].shape[o], sizeof cases[k].shape[o]);
            }
            finish(&p, d ? PITH_F16 : PITH_F64);
            cr_assert(check_alike(&p, "on") > 0, "case %d", k);
            product_free(&p);
        }
}

Test(gemm, what_it_cannot_do_stays_with_the_own_kernel) {
    reset();
    for (int d = PITH_BOOL; d < PITH_F16; d++) {
        product p;
        matrices(&p, (pith_dtype)d, 1, 5, 6, 7);
        cr_assert_eq(check_alike(&p, "on"), 0);
        product_free(&p);
    }
    static const int64_t empty[][4] = {
        {0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}};
    for (int k = 0; k < PITHP_COUNT(empty); k++) {
        product p;
        matrices(&p, PITH_F32, empty[k][0], empty[k][1], empty[k][2], empty[k][3]);
        cr_assert_eq(check_alike(&p, "on"), 0);
        product_free(&p);
    }
}

Test(gemm, usually_it_makes_the_large_ones, .timeout = 120) {
    static const struct {
        int64_t shape[4];
        bool large;
    } cases[] = {{{1, 16, 16, 16}, false},   {{1, 100, 100, 100}, false},
                 {{1, 128, 128, 128}, true}, {{64, 32, 32, 32}, true},
                 {{1, 1, 1999, 1}, false},   {{1, 1, 2048, 1}, true}};
    reset();
    for (int k = 0; k < PITHP_COUNT(cases); k++) {
        product p;
        const int64_t *shape = cases[k].shape;
        matrices(&p, PITH_F32, shape[0], shape[1], shape[2], shape[3]);
        cr_assert_eq(check_alike(&p, NULL) > 0, cases[k].large, "case %d", k);
        product_free(&p);
    }
}

/* Terms beyond 65,536: spans grow, and the bound of the page holds. */
Test(gemm, long_sums_stay_within_the_bound, .timeout = 120) {
    reset();
    enum { TERMS = 200001 };
    bench b = begin("on", NULL);
    product p;
    matrices(&p, PITH_F32, 1, 2, TERMS, 3);
    float *out = multiply(&b, &p);
    cr_assert(out && fake_cuda.gemms == 2);
    const float *x = p.data[0], *y = p.data[1];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < TERMS; k++) {
                const double term =
                    (double)x[(size_t)i * TERMS + (size_t)k] * (double)y[3 * k + j];
                sum += term;
                size += fabs(term);
            }
            cr_assert(fabs((double)out[3 * i + j] - sum) <=
                      (256 + TERMS / 256.0) * 0x1p-24 * size);
        }
    free(out);
    product_free(&p);
    end(&b);
}

/* Where spans would take too much memory, the library adds them one after the other. */
Test(gemm, large_results_are_added_in_place, .timeout = 120) {
    enum { M = 1100, N = 1000, TERMS = 257 };
    reset();
    bench b = begin("on", NULL);
    product p;
    matrices(&p, PITH_F64, 1, M, TERMS, N);
    double *x = p.data[0], *y = p.data[1];
    for (int k = 0; k < M * TERMS; k++)
        x[k] = k % 7 - 3;
    for (int k = 0; k < TERMS * N; k++)
        y[k] = k % 5 - 2;
    double *out = multiply(&b, &p);
    cr_assert(out && fake_cuda.gemms == 2 && fake_cuda.gemm_sums == 1);
    for (size_t i = 0; i < M; i += 97)
        for (size_t j = 0; j < N; j += 41) {
            double sum = 0;
            for (size_t k = 0; k < TERMS; k++)
                sum += x[i * TERMS + k] * y[k * N + j];
            cr_assert(out[i * N + j] == sum);
        }
    free(out);
    product_free(&p);
    end(&b);
}

/* Call by call, each call of a large product failing in turn, under sanitizers some. */
Test(gemm, single_products_survive_every_refusal, .timeout = 300) {
    product p;
    matrices(&p, PITH_F16, 2, 3, 300, 4);
    reset();
    bench b = begin("on", "off");
    void *want = multiply(&b, &p);
    cr_assert(want);
    end(&b);
    bool failed = true;
    for (long long at = 1; failed; at += pt_apart()) {
        b = begin("on", "on");
        fake_cuda.fail_with = cudaErrorNotSupported;
        fake_cuda.failed = NULL;
        fake_cuda.fail_at = fake_cuda.calls + at;
        void *got = multiply(&b, &p);
        failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        const bool by_library = failed && strstr(fake_cuda.failed, "cublas");
        cr_assert(got || (failed && !by_library));
        cr_assert(!got || memcmp(got, want, p.result.bytes) == 0);
        free(got);
        /* who cannot make the device current cannot give memory back either */
        if (pith_runtime_code(b.device) == PITH_OK &&
            !(failed && strcmp(fake_cuda.failed, "CtxGetCurrent") == 0)) {
            got = multiply(&b, &p);
            cr_assert(got && memcmp(got, want, p.result.bytes) == 0);
            free(got);
            end(&b);
        } else {
            pith_scope_close(b.s);
            pith_scope_close(b.on);
            pith_close(b.host);
            pith_close(b.device);
            reset();
        }
    }
    free(want);
    product_free(&p);
}
