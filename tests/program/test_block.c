/* Block functions: casts against golden values, and that a result depends on the operands
 * alone: not on the place in an array, its length, the instruction set, or on whether the
 * result lies on an operand. */
#include "call.h"

Test(block, casts_give_the_golden_values) {
    const golden_family *g = golden_open("cast");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_tensor *x = golden_tensor_of(g, one, "in", 0);
        if (!x)
            continue;
        const golden_json *p = golden_get(one, "params");
        const pithp_cast_params to = {golden_tensor_of(g, one, "out", 0)->spec.dtype};
        cr_assert(!golden_get(p, "to") ||
                  pith_dtype_parse(golden_text(p, "to")) == to.dtype);
        call c = {.primitive = PITHP_OP_CAST,
                  .count = 1,
                  .specs = {&x->spec},
                  .data = {x->data},
                  .params = &to};
        for (int i = 0; i < 2 * PITHP_ISA_COUNT; i++) {
            c.isa = (pithp_isa)(i / 2);
            c.split = i % 2 * 5;
            if (!call_isa_runs(c.isa))
                continue;
            cr_assert(call_run(&c) == PITH_OK);
            failed += !call_agrees(&c, g, one, 0);
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 150, "only %d cases ran", ran);
}

Test(block, promotes_as_the_array_standard_does) {
    const golden_family *g = golden_open("cast");
    int ran = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_json *p = golden_get(one, "params"), *want = golden_get(p, "result");
        if (strcmp(golden_text(one, "op"), "promote"))
            continue;
        const pith_dtype a = pith_dtype_parse(golden_text(p, "a")),
                         b = pith_dtype_parse(golden_text(p, "b"));
        /* the standard has no bf16; it widens to the larger floats as in JAX */
        const bool widens =
            (a == PITH_BF16 && b >= PITH_F32) || (b == PITH_BF16 && a >= PITH_F32);
        const pith_dtype wanted = widens ? pith_dtype_parse(golden_text(p, "jax"))
                                  : want->kind == 'z' ? PITH_DTYPE_NONE
                                                      : pith_dtype_parse(want->text);
        cr_expect(pithp_promote(a, b) == wanted && pithp_promote(b, a) == wanted,
                  "%s: %s", golden_text(one, "name"),
                  pith_dtype_name(pithp_promote(a, b)));
        ran++;
    }
    cr_expect(ran > 30, "only %d cases ran", ran);
}

/* ---- Places, lengths, instruction sets ---- */

/* ROOM: more elements than f16 and bf16 rows convert at a time. */
enum { LONGEST = 65, OFFSETS = 9, ROOM = 300 };

static uint64_t seed = 5;
static uint64_t noise(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Elements of many kinds: all bits, small numbers, special ones. */
static void fill(pith_dtype dtype, void *to, int n) {
    static const double special[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     2,
                                     1e-3,
                                     708,
                                     708.5,
                                     710,
                                     88.8,
                                     -708.5,
                                     -745,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     1e300,
                                     1e-310,
                                     1e38,
                                     16777217.,
                                     3e-40,
                                     127,
                                     -128.0,
                                     255,
                                     65504.,
                                     1e18,
                                     -5.5,
                                     0x1.065c829d6873p+40,
                                     -0x1.921fb54442d18p+1};
    const size_t size = pith_dtype_size(dtype);
    for (int i = 0; i < n; i++) {
        char *at = (char *)to + (size_t)i * size;
        const uint64_t bits = dtype == PITH_BOOL ? noise() & 1 : noise();
        const double value = noise() % 3 ? ldexp((double)(int64_t)noise(), -58)
                                         : special[noise() % PITHP_COUNT(special)];
        if (noise() % 3 == 0)
            memcpy(at, &bits, size);
        else
            pithp_cast_block(PITHP_ISA_BASE, PITH_F64, dtype)(at, &value, NULL, NULL, 1);
    }
}

/* Equal bits, or both NaN: the bits of a NaN are unspecified. */
static bool same(pith_dtype dtype, const void *a, const void *b, int64_t i) {
    const size_t size = pith_dtype_size(dtype);
    const char *p = (const char *)a + (size_t)i * size,
               *q = (const char *)b + (size_t)i * size;
    if (memcmp(p, q, size) == 0)
        return true;
    if (!pith_dtype_is_float(dtype))
        return false;
    double x, y;
    pithp_cast_block(PITHP_ISA_BASE, dtype, PITH_F64)(&x, p, NULL, NULL, 1);
    pithp_cast_block(PITHP_ISA_BASE, dtype, PITH_F64)(&y, q, NULL, NULL, 1);
    return isnan(x) && isnan(y);
}

/* The block function at every offset and length against single elements on the base set.
 */
static void check_function(const char *name,
                           const pithp_block_function f[PITHP_ISA_COUNT],
                           const pith_dtype from[3],
                           pith_dtype to) {
    _Alignas(64) char x[3][ROOM * 8], want[ROOM * 8], got[ROOM * 8];
    const size_t to_size = pith_dtype_size(to);
    size_t size[3];
    for (int k = 0; k < 3; k++) {
        fill(from[k], x[k], ROOM);
        size[k] = pith_dtype_size(from[k]);
    }
    for (int i = 0; i < ROOM; i++)
        f[0](want + (size_t)i * to_size, x[0] + (size_t)i * size[0],
             x[1] + (size_t)i * size[1], x[2] + (size_t)i * size[2], 1);
    for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
        if (!call_isa_runs((pithp_isa)isa))
            continue;
        for (int n = 0; n <= LONGEST; n++) {
            const size_t o = (size_t)(n * 5 % OFFSETS);
            f[isa](got + o * to_size, x[0] + o * size[0], x[1] + o * size[1],
                   x[2] + o * size[2], n);
            for (int i = 0; i < n; i++)
                cr_assert(same(to, got + o * to_size, want + o * to_size, i),
                          "%s of %s, isa %d, n %d, element %d", name,
                          pith_dtype_name(from[2]), isa, n, i);
        }
        for (int k = 0; k < 3; k++) { /* on an operand */
            if (from[k] != to)
                continue;
            memcpy(got, x[k], sizeof got);
            f[isa](got, k == 0 ? got : x[0], k == 1 ? got : x[1], k == 2 ? got : x[2],
                   ROOM);
            for (int i = 0; i < ROOM; i++)
                cr_assert(same(to, got, want, i), "%s of %s in place of operand %d", name,
                          pith_dtype_name(to), k);
        }
    }
}

Test(block, results_depend_on_operands_alone) {
    for (int p = 0; p < PITHP_ELEMENTWISE_COUNT; p++) {
        for (int d = 1; d < PITH_DTYPE_COUNT; d++) {
            const pith_dtype dtype = (pith_dtype)d;
            const pith_dtype from[3] = {p == PITHP_OP_WHERE ? PITH_BOOL : dtype, dtype,
                                        dtype};
            pithp_block_function f[PITHP_ISA_COUNT];
            for (int isa = 0; isa < PITHP_ISA_COUNT; isa++)
                f[isa] =
                    pithp_elementwise_block((pithp_isa)isa, (pithp_primitive)p, dtype);
            cr_assert((f[0] != NULL) == (pithp_ops[p].dtypes >> d & 1));
            if (f[0])
                for (int repeat = 0; repeat < 4; repeat++)
                    check_function(pithp_ops[p].name, f, from,
                                   pithp_ops[p].predicate ? PITH_BOOL : dtype);
        }
    }
}

Test(block, casts_depend_on_operands_alone) {
    for (int a = 1; a < PITH_DTYPE_COUNT; a++) {
        for (int b = 1; b < PITH_DTYPE_COUNT; b++) {
            const pith_dtype from[3] = {(pith_dtype)a, (pith_dtype)a, (pith_dtype)a};
            pithp_block_function f[PITHP_ISA_COUNT];
            for (int isa = 0; isa < PITHP_ISA_COUNT; isa++)
                f[isa] = pithp_cast_block((pithp_isa)isa, from[0], (pith_dtype)b);
            check_function("cast", f, from, (pith_dtype)b);
        }
    }
}

/* Infinite powers of 0 are right. SLEEF's infinite power of a finite number may be wrong,
 * and is corrected in its lane alone. */
Test(block, corrects_powers_beside_those_of_zero) {
    enum { LANES = 8 };
    const double greatest = 0x1.fffffffffffffp1023, infinite = INFINITY;
    for (int isa = 0; isa < PITHP_ISA_COUNT; isa++) {
        const pithp_block_function power =
            pithp_elementwise_block((pithp_isa)isa, PITHP_OP_POWER, PITH_F64);
        for (int at = 0; at < LANES && call_isa_runs((pithp_isa)isa); at++) {
            double x[LANES] = {0}, y[LANES], z[LANES];
            for (int i = 0; i < LANES; i++)
                y[i] = -1. / 6;
            x[at] = greatest;
            y[at] = 1;
            x[(at + 1) % LANES] = -infinite;
            y[(at + 1) % LANES] = 3;
            power(z, x, y, NULL, LANES);
            for (int i = 0; i < LANES; i++) {
                const double want = i == at                 ? greatest
                                    : i == (at + 1) % LANES ? -infinite
                                                            : infinite;
                cr_expect(z[i] == want, "isa %d: element %d beside %d is %g", isa, i, at,
                          z[i]);
            }
        }
    }
}

/* ---- Broadcasting ---- */

/* Every kind of broadcast operand against index arithmetic. */
Test(block, broadcasts_as_index_arithmetic_says) {
    static const struct {
        int rank[2];
        int64_t shape[2][4];
    } cases[] = {
        {{1, 0}, {{1000}}},
        {{2, 1}, {{700, 3}, {3}}},
        {{2, 2}, {{700, 3}, {700, 1}}},
        {{2, 2}, {{1, 5}, {400, 1}}},
        {{2, 2}, {{3, 2000}, {3, 1}}},
        {{2, 1}, {{3, 2000}, {2000}}},
        {{3, 2}, {{5, 7, 11}, {7, 1}}},
        {{4, 4}, {{3, 1, 5, 4}, {1, 6, 1, 4}}},
        {{4, 3}, {{2, 3, 1, 700}, {3, 5, 1}}},
        {{3, 3}, {{40, 1, 2}, {1, 30, 2}}},
        {{2, 2}, {{0, 3}, {1, 3}}},
        {{3, 1}, {{2, 600, 1}, {600}}},
    };
    static double x[2][200000];
    for (int i = 0; i < 200000; i++) {
        x[0][i] = i;
        x[1][i] = 1e6 * i;
    }
    for (int k = 0; k < PITHP_COUNT(cases); k++) {
        pith_spec specs[2];
        for (int j = 0; j < 2; j++) {
            specs[j] =
                (pith_spec){.dtype = PITH_F64, .rank = cases[k].rank[j], .count = 1};
            for (int d = 0; d < specs[j].rank; d++)
                specs[j].count *= specs[j].shape[d] = cases[k].shape[j][d];
        }
        for (int swap = 0; swap < 2; swap++) {
            for (int64_t split = 0; split < 3000; split = split * 7 + 11) {
                call c = {.primitive = PITHP_OP_ADD,
                          .count = 2,
                          .specs = {&specs[swap], &specs[!swap]},
                          .data = {x[swap], x[!swap]},
                          .split = split};
                cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
                for (int64_t i = 0; i < c.result.count; i++) {
                    double want = 0;
                    for (int j = 0; j < 2; j++) {
                        int64_t rest = i, at = 0, step = 1;
                        for (int d = 1; d <= c.result.rank; d++) {
                            const int64_t extent = c.result.shape[c.result.rank - d];
                            if (d <= specs[j].rank) {
                                const int64_t own = specs[j].shape[specs[j].rank - d];
                                at += own == 1 ? 0 : rest % extent * step;
                                step *= own;
                            }
                            rest /= extent;
                        }
                        want += x[j][at];
                    }
                    cr_assert(((double *)c.out)[i] == want, "case %d, element %lld", k,
                              (long long)i);
                }
                call_free(&c);
            }
        }
    }
}
