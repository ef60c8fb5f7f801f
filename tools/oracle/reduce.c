/* Reductions over axes. */
#include "oracle.h"

typedef const pith_array *(*reduction)(pith_scope *s,
                                       const pith_array *a,
                                       pith_axes axes);

/* params.axes (null: all) or params.axis (null: all), and params.keepdims. */
static pith_axes axes_of(const oracle_call *call) {
    const golden_json *list = oracle_list(call, "axes"),
                      *axis = golden_get(call->params, "axis");
    pith_axes axes = list ? oracle_axes_of(list) : PITH_ALL_AXES;
    if (axis && axis->kind == 'n')
        axes = PITH_AXES((int8_t)golden_integer(axis));
    axes.keep = oracle_flag(call, "keepdims");
    return axes;
}

static void reduce(pith_scope *s, oracle_call *call, reduction function) {
    const pith_array *a = call->in[0];
    if (golden_get(call->params, "dtype")) /* of the accumulation and the result */
        a = pith_cast(s, a, oracle_dtype(call, "dtype"));
    oracle_give(call, function(s, a, axes_of(call)));
}

#define REDUCTION(name)                                                                  \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call) {    \
        (void)row;                                                                       \
        reduce(s, call, pith_##name);                                                    \
    }
REDUCTION(sum)
REDUCTION(prod)
REDUCTION(min)
REDUCTION(max)
REDUCTION(any)
REDUCTION(all)
REDUCTION(argmin)
REDUCTION(argmax)
REDUCTION(mean)

REDUCTION(count_nonzero)
REDUCTION(logsumexp)

#define MOMENT(name)                                                                     \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call) {    \
        (void)row;                                                                       \
        oracle_give(call, pith_##name(s, call->in[0], axes_of(call),                     \
                                      oracle_number(call, "ddof", 0)));                  \
    }
MOMENT(var)
MOMENT(std)

/* params.where and params.initial: operand indices; NULL if missing. */
static const pith_array *operand_named(const oracle_call *call, const char *key) {
    const int64_t which = oracle_integer(call, key, -1);
    return which >= 0 && which < call->count ? call->in[which] : NULL;
}

#define REDUCTION_WITH(name)                                                             \
    static void run_##name##_with(pith_scope *s, const oracle_row *row,                  \
                                  oracle_call *call) {                                   \
        (void)row;                                                                       \
        const pith_reduce_options options = {.where = operand_named(call, "where"),      \
                                             .initial = operand_named(call, "initial")}; \
        oracle_give(call, pith_##name##_with(s, call->in[0], axes_of(call), &options));  \
    }
REDUCTION_WITH(sum)
REDUCTION_WITH(prod)
REDUCTION_WITH(min)
REDUCTION_WITH(max)
REDUCTION_WITH(any)
REDUCTION_WITH(all)

const oracle_row oracle_reduce[] = {
    {.op = "sum", .run = run_sum},
    {.op = "prod", .run = run_prod},
    {.op = "min", .run = run_min},
    {.op = "max", .run = run_max},
    {.op = "any", .run = run_any},
    {.op = "all", .run = run_all},
    {.op = "argmin", .run = run_argmin},
    {.op = "argmax", .run = run_argmax},
    {.op = "mean", .run = run_mean},
    {.op = "var", .run = run_var},
    {.op = "std", .run = run_std},
    {.op = "logsumexp", .run = run_logsumexp},
    {.op = "count_nonzero", .run = run_count_nonzero},
    {.op = "sum_with", .run = run_sum_with},
    {.op = "prod_with", .run = run_prod_with},
    {.op = "min_with", .run = run_min_with},
    {.op = "max_with", .run = run_max_with},
    {.op = "any_with", .run = run_any_with},
    {.op = "all_with", .run = run_all_with},
    {.op = NULL},
};
