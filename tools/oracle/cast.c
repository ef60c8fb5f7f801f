/* Conversions between dtypes, and dtype promotion. */
#include "oracle.h"

static void run_cast(pith_scope *s, const oracle_row *row, oracle_call *call) {
    (void)row;
    const pith_dtype to = oracle_dtype(call, "to");
    oracle_give(call, pith_cast(s, call->in[0], to));
}

/* The expected promotion. The case follows the array standard, which has no bf16. With
 * wider floats, bf16 promotes as in JAX and NumPy. */
static pith_dtype promoted(const golden_json *p, pith_dtype a, pith_dtype b) {
    const bool widens = (a == PITH_BF16 && (b == PITH_F32 || b == PITH_F64)) ||
                        (b == PITH_BF16 && (a == PITH_F32 || a == PITH_F64));
    return pith_dtype_parse(golden_text(p, widens ? "jax" : "result"));
}

/* The query function and an operation that accepts every dtype must agree. */
static bool
judge_promote(pith_scope *s, const golden_json *one, char text[ORACLE_TEXT_BYTES]) {
    const golden_json *p = golden_get(one, "params");
    const pith_dtype a = pith_dtype_parse(golden_text(p, "a")),
                     b = pith_dtype_parse(golden_text(p, "b")), want = promoted(p, a, b),
                     got = pith_promote_types(a, b);
    const pith_array *of =
        pith_maximum(s, pith_zeros(s, a, PITH_SCALAR), pith_zeros(s, b, PITH_SCALAR));
    const pith_spec *spec = pith_array_spec(of);
    const pith_dtype done = spec ? spec->dtype : PITH_DTYPE_NONE;
    snprintf(text, ORACLE_TEXT_BYTES, "expected %s, got %s; maximum has %s",
             pith_dtype_name(want), pith_dtype_name(got), pith_dtype_name(done));
    return a && b && want == got && want == done;
}

const oracle_row oracle_cast[] = {
    {.op = "cast", .run = run_cast},
    {.op = "cast_twice", .run = run_cast},
    {.op = "promote", .judge = judge_promote},
    {.op = NULL},
};
