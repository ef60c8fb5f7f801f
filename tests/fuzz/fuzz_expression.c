/* Expressions: a text is refused with a caret, or has a value, which is the same traced
 * and over more elements. Nothing that it says runs. */
#include "fuzz.h"

enum { FEW = 5, MANY = 16390 };

static const char *text; /* of the step below */

static const pith_array *formula(pith_scope *s,
                                 const pith_array *x,
                                 const pith_array *n,
                                 const pith_array *flag,
                                 const pith_array *one) {
    return pith_expression(s, text,
                           PITH_BIND({"x", x}, {"n", n}, {"flag", flag}, {"one", one}));
}
PITH_FUNCTION4(formula_step,
               formula,
               pith_array,
               pith_array,
               pith_array,
               pith_array,
               pith_array)

static const pith_array *mapped(pith_scope *s, const pith_array *x, const pith_array *n) {
    static const double p[] = {0.5, -3};
    return pith_tree_map_expression(s, text, 2, (const void *[]){x, n}, 2, p);
}
PITH_FUNCTION2(mapped_step, mapped, pith_array, pith_array, pith_array)

/* What a failed call leaves behind; the scope can be used again. */
static void require_refusal(pith_scope *s, const void *made) {
    const pith_status code = pith_code(s);
    FUZZ_REQUIRE(!made && (code == PITH_E_ARG || code == PITH_E_DTYPE), "%s",
                 pith_message(s));
    FUZZ_REQUIRE(strstr(pith_message(s), "^"), "no caret: %s", pith_message(s));
    pith_clear(s);
}

/* Bits but those of NaN, of the first elements of both. */
static void require_same(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_spec *x = pith_array_spec(a), *y = pith_array_spec(b);
    FUZZ_REQUIRE(x->dtype == y->dtype && x->rank == y->rank, "other specs");
    double p[FEW], q[FEW];
    if (x->rank == 1)
        b = pith_slice_array(s, b, 1, &PITH_SLICE(0, FEW, 1));
    const size_t bytes = (size_t)x->count * 8;
    FUZZ_REQUIRE(pith_read(s, pith_cast(s, a, PITH_F64), p, bytes) &&
                     pith_read(s, pith_cast(s, b, PITH_F64), q, bytes),
                 "%s", pith_message(s));
    for (int64_t i = 0; i < x->count; i++)
        FUZZ_REQUIRE(memcmp(&p[i], &q[i], 8) == 0 || (p[i] != p[i] && q[i] != q[i]),
                     "element %d: %g and %g", (int)i, p[i], q[i]);
}

static const pith_array *repeated(pith_scope *s, const pith_array *a, int64_t count) {
    const pith_array *place = pith_iota(s, PITH_I32, PITH_SHAPE(count), 0);
    const pith_array *index = pith_expression(s, "i % 5", PITH_BIND({"i", place}));
    return pith_take(s, a, index, NULL);
}

static void try_formula(pith_scope *s, const pith_array *const *given) {
    const pith_array *made = formula(s, given[0], given[1], given[2], given[3]);
    if (pith_failed(s)) {
        require_refusal(s, made);
        return;
    }
    FUZZ_REQUIRE(made, "no result");
    const pith_jit_options keep = {.keep_unused = true};
    const void *arguments[] = {given[0], given[1], given[2], given[3]};
    require_same(s, made, pith_call(s, pith_jit(s, &formula_step, &keep), 4, arguments));
    require_same(s, made,
                 formula(s, repeated(s, given[0], MANY), repeated(s, given[1], MANY),
                         repeated(s, given[2], MANY), given[3]));
}

static void try_map(pith_scope *s, const pith_array *x, const pith_array *n) {
    const void *made = mapped(s, x, n);
    if (pith_failed(s)) {
        require_refusal(s, made);
        return;
    }
    const pith_jit_options keep = {.keep_unused = true};
    const void *arguments[] = {x, n};
    require_same(s, made, pith_call(s, pith_jit(s, &mapped_step, &keep), 2, arguments));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    setenv("PITH_JIT", "off", 1);
    char *copy = malloc(n + 1);
    if (!copy)
        return 0;
    memcpy(copy, data, n);
    copy[n] = 0;
    text = copy;
    pith_runtime *rt = fuzz_runtime();
    pith_scope *s = pith_scope_open(rt);
    static const float reals[FEW] = {0.5F, -2, 1e30F, 0, 100};
    static const int32_t wholes[FEW] = {INT32_MAX, -1, 0, 33, -7};
    static const bool flags[FEW] = {true, false, true, true, false};
    const pith_array *const given[] = {
        pith_array_copy(s, PITH_F32, PITH_SHAPE(FEW), reals),
        pith_array_copy(s, PITH_I32, PITH_SHAPE(FEW), wholes),
        pith_array_copy(s, PITH_BOOL, PITH_SHAPE(FEW), flags), pith_f32(s, 1)};
    try_formula(s, given);
    try_map(s, given[0], given[1]);
    FUZZ_REQUIRE(!pith_failed(s), "%s", pith_message(s));
    pith_scope_close(s);
    pith_jit_clear(rt); /* `text` is no part of the key */
    free(copy);
    return 0;
}
