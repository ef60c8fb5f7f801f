/* search_sorted: branch-free binary search for the number of elements before each value.
 */
#include "program/host/search.h"
#include "program/host/vector/vector.h"
#include "program/op/rules.h"

typedef struct search_args {
    const void *sorted, *values;
    int64_t *to;
    int64_t n;
    int64_t each; /* adjacent values that search one sorted array */
} search_args;

pith_status
pithp_infer_search(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pith_spec *sorted = call->operands[0], *values = call->operands[1];
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    bool fits = sorted->rank >= 1 && sorted->rank - 1 <= values->rank;
    for (int d = 0; fits && d < sorted->rank - 1; d++)
        fits = sorted->shape[d] == values->shape[d];
    if (!fits || sorted->dtype != values->dtype)
        return pithp_refuse(
            call, refusal, fits ? PITH_E_DTYPE : PITH_E_SHAPE,
            "expected a sorted array of rank 1, or one for each index of leading axes of "
            "the values, and values of its dtype, got %s and %s",
            pithp_spec_print(sorted, first), pithp_spec_print(values, second));
    return pithp_spec_fill(call, refusal, result, PITH_I64, values->rank, values->shape);
}
PITHP_NO_TEMPORARY(search)

#define LESS(a, b) ((a) < (b))
/* NaN is greatest and equals NaN */
#define LESS_REAL(a, b) (((a) < (b)) | (((a) == (a)) & ((b) != (b))))

/* Branch-free bisection: `base` elements are known to precede the value. */
#define SEARCH(name, dt, BEFORE)                                                         \
    static void name##_##dt(const void *args, int64_t begin, int64_t end) {              \
        const search_args *s = args;                                                     \
        const dt *x = (const dt *)s->sorted + begin / s->each * s->n;                    \
        for (int64_t i = begin, rest = s->each - begin % s->each; i < end;               \
             i++, rest--) {                                                              \
            if (rest == 0) {                                                             \
                rest = s->each;                                                          \
                x += s->n;                                                               \
            }                                                                            \
            const T_##dt value = LOAD_##dt(((const dt *)s->values)[i]);                  \
            int64_t base = 0, length = s->n;                                             \
            while (length > 0) {                                                         \
                const int64_t half = (length + 1) / 2;                                   \
                const T_##dt here = LOAD_##dt(x[base + half - 1]);                       \
                base += BEFORE(here, value) ? half : 0;                                  \
                length = BEFORE(here, value) ? length - half : half - 1;                 \
            }                                                                            \
            s->to[i] = base;                                                             \
        }                                                                                \
    }
#define NOT_GREATER(a, b)      (!LESS(b, a))
#define NOT_GREATER_REAL(a, b) (!LESS_REAL(b, a))
#define SEARCHES(dt)                                                                     \
    SEARCH(left, dt, LESS)                                                               \
    SEARCH(right, dt, NOT_GREATER)
#define SEARCHES_REAL(dt)                                                                \
    SEARCH(left, dt, LESS_REAL)                                                          \
    SEARCH(right, dt, NOT_GREATER_REAL)
SEARCHES(i8)
SEARCHES(i16)
SEARCHES(i32)
SEARCHES(i64)
SEARCHES(u8)
SEARCHES(u16)
SEARCHES(u32)
SEARCHES(u64)
SEARCHES_REAL(f16)
SEARCHES_REAL(bf16)
SEARCHES_REAL(f32)
SEARCHES_REAL(f64)

#define LOOPS(name)                                                                      \
    {                                                                                    \
        [PITH_BOOL] = {name##_u8}, [PITH_I8] = {name##_i8}, [PITH_I16] = {name##_i16},   \
        [PITH_I32] = {name##_i32}, [PITH_I64] = {name##_i64}, [PITH_U8] = {name##_u8},   \
        [PITH_U16] = {name##_u16}, [PITH_U32] = {name##_u32}, [PITH_U64] = {name##_u64}, \
        [PITH_F16] = {name##_f16}, [PITH_BF16] = {name##_bf16},                          \
        [PITH_F32] = {name##_f32}, [PITH_F64] = {                                        \
            name##_f64                                                                   \
        }                                                                                \
    }
static const pithp_host_loop loops[2][PITH_DTYPE_COUNT][PITHP_ISA_COUNT] = {LOOPS(left),
                                                                            LOOPS(right)};

pith_status pithp_lower_search(const pithp_call *call,
                               const pith_spec *result,
                               const pithp_memory *memory,
                               const pithp_sink *sink) {
    const pithp_search_params *p = call->params;
    const search_args a = {.sorted = memory->operands[0],
                           .values = memory->operands[1],
                           .to = memory->result,
                           .n = pithp_search_length(call),
                           .each = pithp_search_each(call)};
    return pithp_launch_loops(sink, "search_sorted",
                              loops[p->right][call->operands[0]->dtype], &a, sizeof a,
                              result->count, 512);
}
