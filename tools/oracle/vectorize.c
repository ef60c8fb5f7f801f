/* Functions over loop axes: handler of the rows vectorize_ of the family batch, whose
 * signature and excluded arguments the case gives. */
#include "oracle.h"

enum { MOST_ARGUMENTS = 3 };

/* The row, which is bound: its name is static. */
typedef struct {
    const char *op;
} Row;
PITH_NODE(Row, PITH_STATIC(op))

/* The results of one call: an array, or a tuple of several. */
static const void *call(pith_scope *s, const Row *of, const pith_array *const *in) {
    const oracle_row *row = oracle_find("batch", of->op);
    const pith_array *out[ORACLE_RESULTS] = {NULL};
    row->function(s, in, out);
    if (pith_failed(s))
        return NULL;
    return row->outputs == 1 ? (const void *)out[0]
                             : pith_tuple_make(s, row->outputs, (const void *const *)out);
}
static const void *call_1(pith_scope *s, const pith_array *x, const Row *row) {
    return call(s, row, (const pith_array *[]){x});
}
static const void *
call_2(pith_scope *s, const pith_array *x, const pith_array *y, const Row *row) {
    return call(s, row, (const pith_array *[]){x, y});
}
static const void *call_3(pith_scope *s,
                          const pith_array *x,
                          const pith_array *y,
                          const pith_array *z,
                          const Row *row) {
    return call(s, row, (const pith_array *[]){x, y, z});
}
PITH_FUNCTION2(call_of_1, call_1, void, pith_array, Row)
PITH_FUNCTION3(call_of_2, call_2, void, pith_array, pith_array, Row)
PITH_FUNCTION4(call_of_3, call_3, void, pith_array, pith_array, pith_array, Row)

static void vectorize(pith_scope *s, const oracle_row *row, oracle_call *one) {
    static const pith_function *const functions[MOST_ARGUMENTS + 1] = {
        NULL, &call_of_1, &call_of_2, &call_of_3};
    const golden_json *excluded = oracle_list(one, "excluded");
    pith_vectorize_options o = {.signature = oracle_text(one, "signature")};
    for (int k = 0; k < golden_length(excluded); k++)
        o.excluded |= PITH_ARGUMENT((unsigned)golden_integer(golden_item(excluded, k)));
    const pith_function *f =
        pith_partial(s, functions[one->count], pith_record(s, Row, .op = row->op));
    f = pith_vectorize(s, f, &o);
    const void *got =
        pith_failed(s) ? NULL : pith_call(s, f, one->count, (const void *const *)one->in);
    for (int k = 0; k < row->outputs; k++)
        one->out[one->results++] = !got                ? NULL
                                   : row->outputs == 1 ? got
                                                       : pith_child(got, k);
}

/* ---- Functions ---- */

ORACLE_DERIVED(product) {
    out[0] = pith_matmul(s, in[0], in[1]);
}
ORACLE_DERIVED(scalar) {
    out[0] = pith_add(s, pith_mul(s, in[0], in[1]), 1.0);
}
ORACLE_DERIVED(normalize) {
    out[0] = pith_div(s, in[0], pith_sum(s, in[0], PITH_ALL_AXES));
}
ORACLE_DERIVED(sum_and_shift) {
    out[0] = pith_sum(s, in[0], PITH_ALL_AXES);
    out[1] = pith_sub(s, in[0], pith_slice_at(s, in[0], 0, 0));
}
ORACLE_DERIVED(cross) {
    const pith_array *forth = pith_mul(s, pith_roll(s, in[0], -1, 0),
                                       pith_roll(s, in[1], -2, 0)),
                     *back = pith_mul(s, pith_roll(s, in[0], -2, 0),
                                      pith_roll(s, in[1], -1, 0));
    out[0] = pith_sub(s, forth, back);
}
ORACLE_DERIVED(no_input_core) {
    out[0] = pith_mul(s, in[0], in[1]);
}
ORACLE_DERIVED(flatten) {
    out[0] = pith_sum(s, in[0], PITH_AXES(1));
}
ORACLE_DERIVED(outer) {
    out[0] = pith_mul(s, pith_expand_dims(s, in[0], PITH_AXES(1)), in[1]);
}
ORACLE_DERIVED(grow) {
    out[0] = pith_concatenate(s, 2, (const pith_array *[]){in[0], in[0]}, 0);
}
/* The sum of products along each antidiagonal. */
ORACLE_DERIVED(convolve) {
    const int64_t n = pith_array_spec(in[0])->shape[0],
                  m = pith_array_spec(in[1])->shape[0];
    const pith_array *i = pith_expand_dims(s, pith_arange(s, PITH_I64, n), PITH_AXES(1)),
                     *at = pith_add(s, i, pith_arange(s, PITH_I64, m)),
                     *products =
                         pith_mul(s, pith_expand_dims(s, in[0], PITH_AXES(1)), in[1]);
    out[0] = pith_scatter_add(s, pith_zeros(s, PITH_F64, PITH_SHAPE(n + m - 1)), at,
                              products, NULL);
}
ORACLE_DERIVED(trace) {
    const pith_array *i = pith_arange(s, PITH_I64, pith_array_spec(in[0])->shape[0]);
    const pith_array *diagonal = pith_equal(s, pith_expand_dims(s, i, PITH_AXES(1)), i);
    out[0] = pith_sum(s, pith_where(s, diagonal, in[0], 0.0), PITH_ALL_AXES);
}
ORACLE_DERIVED(excluded_power) {
    out[0] = pith_pow(s, in[0], in[1]);
}
ORACLE_DERIVED(three) {
    out[0] = pith_add(s, pith_mul(s, in[0], in[2]), in[1]);
}

/* ---- The table ---- */

#define VECTORIZED(name, f, count)                                                       \
    { .op = "vectorize_" name, .run = vectorize, .function = f, .outputs = count }

const oracle_row oracle_vectorized[] = {
    VECTORIZED("matvec", product, 1),      VECTORIZED("matmul", product, 1),
    VECTORIZED("dot", product, 1),         VECTORIZED("scalar", scalar, 1),
    VECTORIZED("normalize", normalize, 1), VECTORIZED("sum_and_shift", sum_and_shift, 2),
    VECTORIZED("cross", cross, 1),         VECTORIZED("no_input_core", no_input_core, 1),
    VECTORIZED("flatten", flatten, 1),     VECTORIZED("outer", outer, 1),
    VECTORIZED("grow", grow, 1),           VECTORIZED("convolve", convolve, 1),
    VECTORIZED("trace", trace, 1),         VECTORIZED("excluded", excluded_power, 1),
    VECTORIZED("three", three, 1),         {.op = NULL},
};
