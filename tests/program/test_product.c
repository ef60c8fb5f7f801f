/* Products of random shapes, axes and dtypes against sums written out, and what is
 * promised about rounding. */
#include "base/base_internal.h"
#include "call.h"
#include "series.h"

enum { LABELS = 12 };

static uint64_t seed = 7;
static uint64_t draw(void) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 29);
}

/* A product with named dimensions: batch, then summed, then a's own, then b's own. */
typedef struct problem {
    int batches, contracts, own[2];
    int64_t extent[LABELS]; /* by label */
    int one[2];             /* a batch label of which operand 0 or 1 has only 1; or -1 */
    int rank[2], labels[2][PITH_MAX_RANK];
    pith_spec specs[2];
    pithp_dot_params params;
} problem;

static void add(problem *p, int operand, int label) {
    const int at = p->rank[operand]++;
    p->labels[operand][at] = label;
}

static void shuffle(int *labels, int count) {
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)(draw() % (uint64_t)(i + 1)), keep = labels[i];
        labels[i] = labels[j];
        labels[j] = keep;
    }
}

static void finish(problem *p, pith_dtype dtype) {
    const int summed = p->batches, end = p->batches + p->contracts;
    p->params = (pithp_dot_params){.contracts = p->contracts, .batches = p->batches};
    for (int k = 0; k < 2; k++) {
        pith_spec *x = &p->specs[k];
        *x = (pith_spec){.dtype = dtype, .rank = p->rank[k], .count = 1};
        for (int d = 0; d < p->rank[k]; d++) {
            const int label = p->labels[k][d];
            x->shape[d] = p->one[k] == label ? 1 : p->extent[label];
            x->count *= x->shape[d];
            if (label < summed)
                p->params.batch[k][label] = (int8_t)d;
            else if (label < end)
                p->params.contract[k][label - summed] = (int8_t)d;
        }
        x->bytes = (size_t)x->count * pith_dtype_size(dtype);
    }
}

static problem any_problem(pith_dtype dtype, bool shuffled) {
    static const int64_t extents[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 25, 33, 0};
    problem p = {.one = {-1, -1}};
    p.batches = (int)(draw() % 3);
    p.contracts = (int)(draw() % 3);
    p.own[0] = (int)(draw() % 3);
    p.own[1] = (int)(draw() % 3);
    const int shared = p.batches + p.contracts, all = shared + p.own[0] + p.own[1];
    for (int label = 0; label < all; label++)
        p.extent[label] = extents[draw() % (draw() % 8 ? PITHP_COUNT(extents) - 1
                                                       : PITHP_COUNT(extents))];
    for (int label = 0; label < all; label++) {
        if (label < shared + p.own[0])
            add(&p, 0, label);
        if (label < shared || label >= shared + p.own[0])
            add(&p, 1, label);
    }
    if (p.batches && draw() % 4 == 0)
        p.one[draw() % 2] = 0;
    for (int k = 0; k < 2 && shuffled; k++)
        shuffle(p.labels[k], p.rank[k]);
    finish(&p, dtype);
    return p;
}

/* A plain matrix product: `ta` and `tb` where an operand lies transposed. */
static problem
matrices(pith_dtype dtype, int64_t m, int64_t terms, int64_t n, bool ta, bool tb) {
    problem p = {.contracts = 1, .own = {1, 1}, .extent = {terms, m, n}, .one = {-1, -1}};
    add(&p, 0, ta ? 0 : 1), add(&p, 0, ta ? 1 : 0);
    add(&p, 1, tb ? 2 : 0), add(&p, 1, tb ? 0 : 2);
    finish(&p, dtype);
    return p;
}

/* As many plain products side by side. */
static problem
batch(pith_dtype dtype, int64_t count, int64_t m, int64_t terms, int64_t n) {
    problem p = {.batches = 1,
                 .contracts = 1,
                 .own = {1, 1},
                 .extent = {count, terms, m, n},
                 .one = {-1, -1}};
    add(&p, 0, 0), add(&p, 0, 2), add(&p, 0, 1);
    add(&p, 1, 0), add(&p, 1, 1), add(&p, 1, 3);
    finish(&p, dtype);
    return p;
}

/* ---- Values ---- */

/* Integers of any bits; floats of which all sums are exact. */
static void *values(const pith_spec *spec) {
    const size_t size = pith_dtype_size(spec->dtype);
    char *data = malloc(spec->bytes + 1);
    for (int64_t i = 0; i < spec->count; i++) {
        uint64_t bits = draw();
        if (spec->dtype == PITH_BOOL)
            bits = bits >> 62 == 0;
        else if (pith_dtype_is_float(spec->dtype))
            pithp_dtype_encode(spec->dtype,
                               (double)(bits >> 40) / (1 << 24) > 0.5
                                   ? 1
                                   : (double)(int64_t)(bits % 3) - 1,
                               &bits);
        memcpy(data + (size_t)i * size, &bits, size);
    }
    return data;
}

static int64_t whole(const pith_spec *spec, const void *data, int64_t i) {
    const size_t size = pith_dtype_size(spec->dtype);
    uint64_t bits = 0;
    if (pith_dtype_is_float(spec->dtype))
        return (int64_t)pithp_dtype_decode(spec->dtype,
                                           (const char *)data + (size_t)i * size);
    memcpy(&bits, (const char *)data + (size_t)i * size, size);
    return (int64_t)bits;
}

/* ---- The product written out ---- */

static int64_t place(const problem *p, int operand, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < p->rank[operand]; d++) {
        const int label = p->labels[operand][d];
        i = i * p->specs[operand].shape[d] + (p->one[operand] == label ? 0 : at[label]);
    }
    return i;
}

/* Next index over the labels [first, end); false after the last. */
static bool advance(const problem *p, int64_t *at, const int *labels, int count) {
    for (int i = count - 1; i >= 0; i--) {
        if (++at[labels[i]] < p->extent[labels[i]])
            return true;
        at[labels[i]] = 0;
    }
    return false;
}

static bool any_empty(const problem *p, const int *labels, int count) {
    for (int i = 0; i < count; i++)
        if (p->extent[labels[i]] == 0)
            return true;
    return false;
}

/* The result's labels: batch, then the rest of each operand as it has them. */
static int result_labels(const problem *p, int *labels) {
    int count = 0;
    for (int label = 0; label < p->batches; label++)
        labels[count++] = label;
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < p->rank[k]; d++)
            if (p->labels[k][d] >= p->batches + p->contracts)
                labels[count++] = p->labels[k][d];
    return count;
}

static uint64_t element(const problem *p, void *const *data, const int64_t *fixed) {
    const bool logical = p->specs[0].dtype == PITH_BOOL;
    int summed[PITH_MAX_RANK];
    int64_t at[LABELS];
    uint64_t sum = 0;
    memcpy(at, fixed, sizeof at);
    for (int i = 0; i < p->contracts; i++)
        at[summed[i] = p->batches + i] = 0;
    if (any_empty(p, summed, p->contracts))
        return 0;
    do {
        const uint64_t x = (uint64_t)whole(&p->specs[0], data[0], place(p, 0, at)),
                       y = (uint64_t)whole(&p->specs[1], data[1], place(p, 1, at));
        sum = logical ? sum | (x & y) : sum + x * y;
    } while (advance(p, at, summed, p->contracts));
    return sum;
}

/* All elements, as the result has them. */
static uint64_t *elements(const problem *p, void *const *data) {
    int labels[LABELS];
    const int rank = result_labels(p, labels);
    int64_t at[LABELS] = {0}, count = 1;
    for (int d = 0; d < rank; d++)
        count *= p->extent[labels[d]];
    uint64_t *all = malloc(sizeof *all * (size_t)count + 1);
    for (int64_t i = 0; i < count; i++) {
        all[i] = element(p, data, at);
        advance(p, at, labels, rank);
    }
    return all;
}

static void check_against_sums(const problem *p, int64_t split) {
    void *data[] = {values(&p->specs[0]), values(&p->specs[1])};
    uint64_t *wanted = elements(p, data);
    const size_t size = pith_dtype_size(p->specs[0].dtype);
    const uint64_t mask = size == 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * size)) - 1;
    for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
        call c = {.primitive = PITHP_OP_DOT_GENERAL,
                  .count = 2,
                  .specs = {&p->specs[0], &p->specs[1]},
                  .data = {data[0], data[1]},
                  .params = &p->params,
                  .isa = (pithp_isa)isa,
                  .split = split};
        if (!call_isa_runs(c.isa))
            continue;
        cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
        int labels[LABELS];
        const int rank = result_labels(p, labels);
        cr_assert_eq(c.result.rank, rank);
        for (int d = 0; d < rank; d++)
            cr_assert_eq(c.result.shape[d], p->extent[labels[d]]);
        for (int64_t i = 0; i < c.result.count; i++) {
            const uint64_t want = wanted[i], got = (uint64_t)whole(&c.result, c.out, i);
            char texts[2][PITHP_SPEC_TEXT_BYTES];
            const bool same = pith_dtype_is_float(c.result.dtype)
                                  ? got == want
                                  : ((got ^ want) & mask) == 0;
            cr_assert(same, "%s x %s, isa %d, element %lld: %llx, want %llx",
                      pithp_spec_print(&p->specs[0], texts[0]),
                      pithp_spec_print(&p->specs[1], texts[1]), isa, (long long)i,
                      (unsigned long long)got, (unsigned long long)want);
        }
        call_free(&c);
    }
    free(data[0]), free(data[1]), free(wanted);
}

Test(product, of_any_axes_is_the_sum_written_out, .timeout = 300) {
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        for (int k = 0; k < pt_series(60); k++) {
            const problem p = any_problem((pith_dtype)d, k % 3 != 0);
            if (p.specs[0].count * p.specs[1].count < 300000)
                check_against_sums(&p, k % 5);
        }
}

/* Every way of multiplying: few columns, vectors, as they lie, panels; edges of tiles. */
Test(product, of_matrices_is_the_sum_written_out, .timeout = 300) {
    static const int64_t shapes[][3] = {
        {1, 1, 1},   {1, 700, 1},  {700, 3, 3},   {300, 4, 1},  {1, 3, 200},
        {1, 9, 100}, {40, 300, 1}, {1, 300, 40},  {9, 5, 7},    {8, 8, 8},
        {31, 2, 90}, {33, 257, 5}, {65, 300, 49}, {5, 520, 130}};
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        for (int k = 0; k < PITHP_COUNT(shapes); k++)
            for (int t = 0; t < 4; t++) {
                if (!pt_in_share(d + k + t))
                    continue;
                const problem p = matrices((pith_dtype)d, shapes[k][0], shapes[k][1],
                                           shapes[k][2], t & 1, t >> 1);
                check_against_sums(&p, t);
            }
    const problem large = matrices(PITH_F64, 70, 300, 260, false, false);
    check_against_sums(&large, 1);
    const problem larger = matrices(PITH_F32, 100, 513, 300, false, false);
    check_against_sums(&larger, 0);
}

/* Pieces of rows that a thread multiplies at once: more of them than it may, up to the
 * end of a column of pieces and of a matrix, however they are handed out. */
Test(product, of_many_pieces_is_the_sum_written_out, .timeout = 300) {
    for (int64_t split = 0; split < 4; split++) {
        const problem wide = matrices(PITH_F64, 300, 100, 800, split & 1, split >> 1),
                      several = batch(PITH_F64, 3, 41, 100, 800),
                      unpacked = batch(PITH_U8, 2, 300, 9, 30),
                      small = batch(PITH_F32, 700, 3, 2, 4),
                      tall = batch(PITH_I16, 3, 400, 3, 2);
        check_against_sums(&wide, split);
        check_against_sums(&several, split);
        check_against_sums(&unpacked, split);
        check_against_sums(&small, split);
        check_against_sums(&tall, split);
    }
}

/* Matrices that are fetched while others are multiplied: no cache holds all of them. */
Test(product, of_many_matrices_is_the_sum_written_out, .timeout = 300) {
    const problem even = batch(PITH_F64, 5600, 16, 16, 16),
                  odd = batch(PITH_F32, 12600, 15, 17, 13);
    check_against_sums(&even, 0);
    check_against_sums(&odd, 1000);
}

/* ---- Rounding ---- */

static double noise(void) {
    return ldexp((double)(int64_t)draw(), -63);
}

static void *noises(const pith_spec *spec) {
    void *data = malloc(spec->bytes + 1);
    for (int64_t i = 0; i < spec->count; i++)
        if (spec->dtype == PITH_F64)
            ((double *)data)[i] = noise();
        else
            ((float *)data)[i] = (float)noise();
    return data;
}

static long double real(const pith_spec *spec, const void *data, int64_t i) {
    return spec->dtype == PITH_F64 ? (long double)((const double *)data)[i]
                                   : (long double)((const float *)data)[i];
}

/* The sum of each element, and how far the page lets a result be from it. */
typedef struct bounded {
    long double sum, most;
} bounded;

static bounded *bounds(const problem *p, void *const *data) {
    const int64_t terms = p->extent[0], m = p->extent[1], n = p->extent[2];
    const long double u = p->specs[0].dtype == PITH_F64 ? 0x1p-53L : 0x1p-24L;
    bounded *all = malloc(sizeof *all * (size_t)(m * n));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t at[LABELS] = {0, i / n, i % n};
        long double sum = 0, size = 0;
        for (at[0] = 0; at[0] < terms; at[0]++) {
            const long double x = real(&p->specs[0], data[0], place(p, 0, at)) *
                                  real(&p->specs[1], data[1], place(p, 1, at));
            sum += x;
            size += fabsl(x);
        }
        all[i] = (bounded){sum, (256 + (long double)terms / 256) * u * size};
    }
    return all;
}

/* Each element within the bound of the page, the same bits where instruction sets have
 * fused multiply-adds, however the work is split. */
static void check_rounding(const problem *p) {
    void *data[] = {noises(&p->specs[0]), noises(&p->specs[1])}, *first = NULL;
    bounded *wanted = bounds(p, data);
    for (int run = 0; run < 2 * PITHP_ISA_COUNT; run++) {
        call c = {.primitive = PITHP_OP_DOT_GENERAL,
                  .count = 2,
                  .specs = {&p->specs[0], &p->specs[1]},
                  .data = {data[0], data[1]},
                  .params = &p->params,
                  .isa = (pithp_isa)(run / 2),
                  .split = run % 2};
        if (!call_isa_runs(c.isa))
            continue;
        cr_assert(call_run(&c) == PITH_OK);
        cr_assert_eq(c.result.count, p->extent[1] * p->extent[2]);
        for (int64_t i = 0; i < c.result.count; i++)
            cr_assert(fabsl(real(&c.result, c.out, i) - wanted[i].sum) <= wanted[i].most);
        if (first && c.isa != PITHP_ISA_BASE)
            cr_assert(memcmp(first, c.out, c.result.bytes) == 0, "isa %d, split %d",
                      (int)c.isa, (int)c.split);
        if (!first && c.isa != PITHP_ISA_BASE) {
            first = c.out;
            c.out = NULL;
        }
        call_free(&c);
    }
    free(first), free(data[0]), free(data[1]), free(wanted);
}

Test(product, rounds_within_its_bound_and_alike, .timeout = 120) {
    static const int64_t shapes[][3] = {{1, 5000, 1}, {40, 700, 1},  {50, 3, 3},
                                        {20, 520, 9}, {65, 600, 50}, {70, 300, 260}};
    for (int k = 0; k < PITHP_COUNT(shapes); k++)
        for (int t = 0; t < 4; t++)
            for (int d = 0; d < 2; d++) {
                const problem p = matrices(d ? PITH_F32 : PITH_F64, shapes[k][0],
                                           shapes[k][1], shapes[k][2], t & 1, t >> 1);
                check_rounding(&p);
            }
}

/* ---- Golden values ---- */

static void
read_pairs(const golden_json *pairs, int32_t *count, int8_t to[2][PITHP_MAX_RANK]) {
    *count = golden_length(golden_item(pairs, 0));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < golden_length(golden_item(pairs, k)); i++)
            to[k][i] = (int8_t)golden_integer(golden_item(golden_item(pairs, k), i));
}

Test(product, gives_the_golden_values) {
    const golden_family *g = golden_open("product");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_json *p = golden_get(one, "params");
        const golden_tensor *x = golden_tensor_of(g, one, "in", 0),
                            *y = golden_tensor_of(g, one, "in", 1);
        pithp_dot_params params = {0};
        if (!strcmp(golden_text(one, "op"), "dot_general")) {
            if (pith_dtype_parse(golden_text(p, "dtype")) != x->spec.dtype ||
                strstr(golden_text(one, "name"), "counts")) /* made of other calls */
                continue;
            read_pairs(golden_get(p, "contract"), &params.contracts, params.contract);
            read_pairs(golden_get(p, "batch"), &params.batches, params.batch);
        } else if (!strncmp(golden_text(one, "op"), "matmul", 6) && x->spec.rank == 2 &&
                   y->spec.rank == 2) {
            params = (pithp_dot_params){.contracts = 1, .contract = {{1}, {0}}};
        } else {
            continue;
        }
        for (int i = 0; i < 3 * PITHP_ISA_COUNT; i++) {
            call c = {.primitive = PITHP_OP_DOT_GENERAL,
                      .count = 2,
                      .specs = {&x->spec, &y->spec},
                      .data = {x->data, y->data},
                      .params = &params,
                      .isa = (pithp_isa)(i / 3),
                      .split = i % 3};
            if (!call_isa_runs(c.isa))
                continue;
            const pith_status rc = call_run(&c);
            if (!strcmp(golden_text(one, "expect"), "error"))
                failed += rc == PITH_OK;
            else
                failed += !call_agrees(&c, g, one, 0);
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 40, "only %d cases ran", ran);
}
