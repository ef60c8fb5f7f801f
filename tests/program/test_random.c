/* Draws against words reckoned one by one as JAX says, in both layouts, every instruction
 * set and range split, and beyond 2^32 counts. */
#include "call.h"
#include "program/source/args/library.h"

#include <sys/mman.h>

/* ---- What JAX does, word by word ---- */

static const uint32_t key_words[] = {0x13198A2E, 0x03707344, 0, 0, 0xFFFFFFFF, 42};

static void threefry(const uint32_t *key, uint32_t *x) {
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    x[0] += k[0];
    x[1] += k[1];
    for (uint32_t i = 0; i < 5; i++) {
        for (int r = 0; r < 4; r++) {
            const int turn = turns[i % 2][r];
            x[0] += x[1];
            x[1] = (x[1] << turn | x[1] >> (32 - turn)) ^ x[0];
        }
        x[0] += k[(i + 1) % 3];
        x[1] += k[(i + 2) % 3] + i + 1;
    }
}

/* Word w of `words` that count 0, 1, ..., an odd number padded with one 0, in halves. */
static uint32_t half_word(const uint32_t *key, int64_t words, int64_t w) {
    const int64_t half = words / 2 + words % 2, j = w % half;
    uint32_t x[2] = {(uint32_t)j, (uint32_t)(j + half < words ? j + half : 0)};
    threefry(key, x);
    return x[w >= half];
}

/* More words than counts have: blocks under keys of their own. */
static uint32_t original_word(const uint32_t *key, int64_t words, int64_t w) {
    const int64_t most = 0xFFFFFFFF, blocks = words / most, block = w / most;
    if (blocks == 0)
        return half_word(key, words, w);
    const uint32_t own[2] = {half_word(key, 2 * (blocks + 1), 2 * block),
                             half_word(key, 2 * (blocks + 1), 2 * block + 1)};
    return half_word(own, block < blocks ? most : words % most, w % most);
}

/* Draw i of n, of `bits` bits. */
static uint64_t draw(const uint32_t *key, bool original, int bits, int64_t n, int64_t i) {
    const uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    if (!original) {
        uint32_t x[2] = {(uint32_t)(i >> 32), (uint32_t)i};
        threefry(key, x);
        return (bits == 64 ? (uint64_t)x[0] << 32 | x[1] : x[0] ^ x[1]) & mask;
    }
    if (bits == 64)
        return (uint64_t)original_word(key, 2 * n, i) << 32 |
               original_word(key, 2 * n, n + i);
    const int64_t words = (n * bits + 31) / 32;
    return original_word(key, words, i * bits / 32) >> (i * bits % 32) & mask;
}

/* Word w of the keys that a key is split into. */
static uint32_t split_word(const uint32_t *key, bool original, int64_t n, int64_t w) {
    uint32_t x[2] = {(uint32_t)(w / 2 >> 32), (uint32_t)(w / 2)};
    if (original)
        return half_word(key, 2 * n, w);
    threefry(key, x);
    return x[w % 2];
}

typedef struct wanted {
    pithp_primitive primitive;
    const pithp_random_params *params;
    int64_t n; /* elements a key draws */
} wanted;

__extension__ typedef unsigned __int128 u128;

/* The first of many words for element i that is not below the least: the two that a draw
 * modulo the span takes, then those that the element counts under later keys. */
static uint64_t
accepted(const wanted *w, const uint32_t *key, int64_t i, int bits, u128 least) {
    for (uint32_t k = 0;; k++) {
        const bool original = w->params->original && k < 2;
        uint32_t own[2] = {0, k};
        if (original)
            memcpy(own,
                   (uint32_t[]){split_word(key, true, 2, 2 * k),
                                split_word(key, true, 2, 2 * k + 1)},
                   sizeof own);
        else
            threefry(key, own);
        const uint64_t word = draw(own, original, bits, w->n, i);
        if (word >= least)
            return word;
    }
}

static uint64_t within(const wanted *w, const uint32_t *key, int64_t i) {
    const pithp_random_params *p = w->params;
    const int bits = pith_dtype_size(p->dtype) == 8 ? 64 : 32;
    const u128 numbers = (u128)1 << bits,
               span = (p->greatest - p->least) % numbers + (u128)1,
               root = ((u128)1 << bits / 2) % span,
               multiplier = root * root % numbers % span;
    if (p->unbiased)
        return p->least + (uint64_t)(accepted(w, key, i, bits, numbers % span) % span);
    u128 drawn[2];
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t own[2] = {split_word(key, p->original, 2, 2 * k),
                                 split_word(key, p->original, 2, 2 * k + 1)};
        drawn[k] = draw(own, p->original, bits, w->n, i);
    }
    const u128 sum = drawn[0] % span * multiplier % numbers + drawn[1] % span;
    return p->least + (uint64_t)(sum % numbers % span);
}

/* The bits of element i of the draws of a key; normal numbers as their uniform ones. */
static uint64_t element(const wanted *w, const uint32_t *key, int64_t i) {
    const pithp_random_params *p = w->params;
    const int bits = 8 * (int)pith_dtype_size(p->dtype);
    uint64_t result = 0;
    if (w->primitive == PITHP_OP_RANDOM_SPLIT)
        return split_word(key, p->original, w->n / 2, i);
    if (w->primitive == PITHP_OP_RANDOM_BITS)
        return draw(key, p->original, bits, w->n, i);
    if (w->primitive == PITHP_OP_RANDOM_INTEGERS)
        result = within(w, key, i);
    else if (p->dtype == PITH_F64)
        result = draw(key, p->original, 64, w->n, i) >> 12 | (uint64_t)0x3FF << 52;
    else if (p->dtype == PITH_F32)
        result = draw(key, p->original, 32, w->n, i) >> 9 | 0x3F800000u;
    if (w->primitive == PITHP_OP_RANDOM_UNIFORM && p->dtype == PITH_F64) {
        double x;
        memcpy(&x, &result, sizeof x);
        x = (x - 1) * (p->high - p->low) + p->low;
        memcpy(&result, &x, sizeof x);
    } else if (w->primitive == PITHP_OP_RANDOM_UNIFORM) {
        float x;
        memcpy(&x, &result, sizeof x);
        x = (x - 1) * (float)(p->high - p->low) + (float)p->low;
        result = 0;
        memcpy(&result, &x, sizeof x);
    }
    return bits == 64 ? result : result & ((UINT64_C(1) << bits) - 1);
}

/* ---- Every way to run against it ---- */

static void check_draws(const wanted *w, int keys) {
    const pith_spec spec = {.dtype = PITH_U32,
                            .rank = 2,
                            .count = 2 * keys,
                            .bytes = 8 * (size_t)keys,
                            .shape = {keys, 2}};
    for (int k = 0; k < 4 * PITHP_ISA_COUNT; k++) {
        static const int64_t splits[] = {0, 1, 13, 700};
        call c = {.primitive = w->primitive,
                  .count = 1,
                  .specs = {&spec},
                  .data = {key_words},
                  .params = w->params,
                  .isa = (pithp_isa)(k / 4),
                  .split = splits[k % 4]};
        if (!call_isa_runs(c.isa))
            continue;
        cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
        const size_t size = pith_dtype_size(c.result.dtype);
        for (int64_t i = 0; i < c.result.count; i++) {
            const uint64_t want = element(w, key_words + 2 * (i / w->n), i % w->n);
            cr_assert(memcmp((char *)c.out + (size_t)i * size, &want, size) == 0,
                      "%s of %s, %lld a key, original %d, isa %d: element %lld",
                      pithp_ops[w->primitive].name, pith_dtype_name(c.result.dtype),
                      (long long)w->n, w->params->original, k / 4, (long long)i);
        }
        call_free(&c);
    }
}

static void check_sizes(pithp_primitive primitive, pithp_random_params p) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 127, 1023, 1024, 1025, 2600};
    for (int k = 0; k < 2 * PITHP_COUNT(sizes); k++) {
        const int64_t n = sizes[k / 2];
        p.rank = 1;
        p.shape[0] = n;
        p.original = k % 2;
        const wanted w = {primitive, &p, primitive == PITHP_OP_RANDOM_SPLIT ? 2 * n : n};
        check_draws(&w, n < 10 ? 3 : 2);
    }
}

Test(random, words_are_those_of_jax) {
    check_sizes(PITHP_OP_RANDOM_SPLIT, (pithp_random_params){.dtype = PITH_U32});
    for (int d = PITH_U8; d <= PITH_U64; d++)
        check_sizes(PITHP_OP_RANDOM_BITS, (pithp_random_params){.dtype = (pith_dtype)d});
}

Test(random, uniform_numbers_are_fractions_of_words) {
    check_sizes(PITHP_OP_RANDOM_UNIFORM,
                (pithp_random_params){.dtype = PITH_F32, .low = -3, .high = 5});
    check_sizes(PITHP_OP_RANDOM_UNIFORM,
                (pithp_random_params){.dtype = PITH_F64, .low = 0, .high = 1});
}

Test(random, integers_are_words_modulo_the_span) {
    static const struct {
        pith_dtype dtype;
        int64_t least, greatest;
    } ranges[] = {{PITH_I8, -128, 127},      {PITH_U16, 3, 3},
                  {PITH_U32, 0, 0xFFFFFFFF}, {PITH_I32, -2147483647 - 1, 99},
                  {PITH_I64, -5, 4},         {PITH_I64, INT64_MIN, INT64_MAX},
                  {PITH_U64, 1, -1},         {PITH_U64, 0, INT64_MIN},
                  {PITH_U32, 0, 0xC0000000}};
    for (int k = 0; k < 2 * PITHP_COUNT(ranges); k++)
        check_sizes(PITHP_OP_RANDOM_INTEGERS,
                    (pithp_random_params){.dtype = ranges[k / 2].dtype,
                                          .unbiased = k % 2,
                                          .least = (uint64_t)ranges[k / 2].least,
                                          .greatest = (uint64_t)ranges[k / 2].greatest});
}

/* sqrt(2) * erf_inv(u), by the row of that name. */
Test(random, normal_numbers_are_made_of_uniform_ones) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_F64, PITH_F16, PITH_BF16};
    enum { N = 3001 };
    const pith_spec key = {
        .dtype = PITH_U32, .rank = 1, .count = 2, .bytes = 8, .shape = {2}};
    for (int k = 0; k < 2 * PITHP_COUNT(dtypes); k++) {
        const pith_dtype dtype = dtypes[k / 2];
        const double low = dtype == PITH_F64   ? -0x1.fffffffffffffp-1
                           : dtype == PITH_F32 ? -0x1.fffffep-1
                           : dtype == PITH_F16 ? -0x1.ffcp-1
                                               : -0x1.fep-1;
        const pithp_random_params p = {.dtype = dtype,
                                       .rank = 1,
                                       .shape = {N},
                                       .original = k % 2,
                                       .low = low,
                                       .high = 1};
        for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
            call c[3] = {{.primitive = PITHP_OP_RANDOM_NORMAL,
                          .count = 1,
                          .specs = {&key},
                          .data = {key_words},
                          .params = &p}};
            if (!call_isa_runs((pithp_isa)isa))
                continue;
            c[0].isa = (pithp_isa)isa;
            c[0].split = isa * 100;
            c[1] = c[0];
            c[1].primitive = PITHP_OP_RANDOM_UNIFORM;
            cr_assert(call_run(&c[0]) == PITH_OK && call_run(&c[1]) == PITH_OK);
            const pithp_block_function widen = pithp_cast_block(PITHP_ISA_BASE, dtype,
                                                                PITH_F64),
                                       inverse = pithp_elementwise_block(
                                           PITHP_ISA_BASE, PITHP_OP_ERF_INV, PITH_F64);
            static double z[N], u[N];
            widen(z, c[0].out, NULL, NULL, N);
            widen(u, c[1].out, NULL, NULL, N);
            inverse(u, u, NULL, NULL, N);
            const double ulp = dtype == PITH_F64   ? 0x1p-52
                               : dtype == PITH_F32 ? 0x1p-23
                               : dtype == PITH_F16 ? 0x1p-10
                                                   : 0x1p-7;
            for (int i = 0; i < N; i++)
                cr_assert(fabs(z[i] - u[i] * sqrt(2.0)) <=
                              (pith_dtype_size(dtype) == 2 ? 0.51 : 5) * ulp *
                                  fabs(u[i] * sqrt(2.0)),
                          "%s, isa %d, element %d: %.17g, %.17g", pith_dtype_name(dtype),
                          isa, i, z[i], u[i] * sqrt(2.0));
            call_free(&c[0]);
            call_free(&c[1]);
        }
    }
}

/* ---- Given counts ---- */

Test(random, threefry_is_that_of_random123) {
    static const uint32_t keys[] = {0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0x13198A2E, 0x03707344},
                          counts[] = {0,          0,          0xFFFFFFFF,
                                      0xFFFFFFFF, 0x243F6A88, 0x85A308D3},
                          words[] = {0x6B200159, 0x99BA4EFE, 0x1CB996FC,
                                     0xBB002BE7, 0xC4923A9C, 0x483DF7A0};
    const pith_spec spec = {
        .dtype = PITH_U32, .rank = 2, .count = 6, .bytes = 24, .shape = {3, 2}};
    call c = {.primitive = PITHP_OP_THREEFRY,
              .count = 2,
              .specs = {&spec, &spec},
              .data = {keys, counts},
              .split = 2};
    cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
    cr_assert(memcmp(c.out, words, sizeof words) == 0);
    call_free(&c);
}

/* ---- Beyond 2^32 ---- */

#ifndef CALL_DEVICE
/* Indices of a launch around `middle`, and where their results would lie. */
typedef struct window {
    const pithp_launch *launch;
    char args[PITHP_LAUNCH_ARGS];
} window;

static pith_status keep(void *closure, const pithp_launch *launch) {
    window *w = closure;
    static pithp_launch kept;
    kept = *launch;
    memcpy(w->args, launch->args, launch->args_bytes);
    w->launch = &kept;
    return PITH_OK;
}

/* Run the launch around index `at` into memory of which only that part is ever touched,
 * and look at the elements around each of `places`. */
static void
check_far(const wanted *w, int64_t at, int64_t radius, const int64_t *places) {
    const size_t size = pith_dtype_size(w->params->dtype);
    const size_t bytes = (size_t)w->n * size;
    char *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const pith_spec key = {
        .dtype = PITH_U32, .rank = 1, .count = 2, .bytes = 8, .shape = {2}};
    const pith_spec *specs[] = {&key};
    const pithp_call it = pithp_call_of(w->primitive, 1, specs, w->params);
    const void *operands[] = {key_words};
    pith_spec result;
    pithp_refusal refusal;
    window seen = {0};
    if (out == MAP_FAILED)
        cr_skip_test("no address space for %zu bytes", bytes);
    cr_assert(pithp_infer(&it, &result, &refusal) == PITH_OK, "%s", refusal.text);
    const pithp_memory memory = {.operands = operands, .result = out};
#    ifdef CALL_CUDA
    const pithp_sink sink = {keep, &seen, &call_cuda_target};
    cr_assert(pithp_lower_cuda(&it, &result, &memory, &sink) == PITH_OK);
#    else
    const pithp_sink sink = {.launch = keep, .closure = &seen};
    cr_assert(pithp_lower(&it, &result, &memory, &sink) == PITH_OK);
#    endif
    const int64_t begin = at - radius, end = at + radius < seen.launch->count
                                                 ? at + radius
                                                 : seen.launch->count;
    pithp_loop_for(seen.launch, PITHP_ISA_BASE)(seen.args, begin, end);
    for (const int64_t *p = places; *p >= 0; p++)
        for (int64_t i = *p - radius / 2; i < *p + radius / 2 && i < w->n; i++) {
            const uint64_t want = element(w, key_words, i);
            cr_assert(memcmp(out + (size_t)i * size, &want, size) == 0,
                      "%s of %s, original %d: element %lld", pithp_ops[w->primitive].name,
                      pith_dtype_name(w->params->dtype), w->params->original,
                      (long long)i);
        }
    munmap(out, bytes);
}

static void check_far_bits(pith_dtype dtype,
                           bool original,
                           int64_t n,
                           int64_t at,
                           const int64_t *places) {
    const pithp_random_params p = {
        .dtype = dtype, .rank = 1, .shape = {n}, .original = original};
    const wanted w = {PITHP_OP_RANDOM_BITS, &p, n};
    check_far(&w, at, 600, places);
}

Test(random, counts_go_beyond_32_bits) {
    const int64_t two32 = (int64_t)1 << 32, stretch = two32 - 1, pairs = two32 / 2;
    const int64_t n = two32 + 5001;
    /* one count more in the high word */
    check_far_bits(PITH_U8, false, n, two32, (int64_t[]){two32, -1});
    check_far_bits(PITH_U64, false, n, two32, (int64_t[]){two32, -1});
    /* 2^32 + 5001 words: a whole stretch and a rest */
    check_far_bits(PITH_U32, true, n, pairs, (int64_t[]){pairs - 300, stretch - 1, -1});
    check_far_bits(PITH_U32, true, n, pairs + 700,
                   (int64_t[]){stretch + 700, stretch + 2501 + 700, -1});
    check_far_bits(PITH_U32, true, n, pairs + 2501, (int64_t[]){n - 1, -1});
    /* bytes fit into one */
    check_far_bits(PITH_U8, true, n, n / 8, (int64_t[]){n / 2 - 1000, n - 1000, -1});
    /* 2n words of which n are more than a stretch */
    check_far_bits(PITH_U64, true, n, two32, (int64_t[]){two32, -1});
    check_far_bits(PITH_U64, true, pairs + 77, pairs, (int64_t[]){pairs, -1});
}
#endif
