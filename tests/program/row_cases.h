/* Calls of every row of the primitive table, for tests of all of them: on special values,
 * numbers and empty arrays. */
#ifndef PITH_TESTS_ROW_CASES_H
#define PITH_TESTS_ROW_CASES_H

#include "emit_test.h"
#include "mesh/mesh_internal.h"

#include <float.h>

enum { N = 70, CUBE = 60 };

/* ---- Values ---- */

/* Zeros, infinities, nan, the least and the greatest, subnormal ones, ends of integers.
 */
static inline void fill_special(const bench *b, pith_dtype dtype, int64_t n, char *to) {
    static const double reals[] = {0.0,      -0.0,      1,       -1,     0.5,
                                   INFINITY, -INFINITY, NAN,     1e-310, -5e-324,
                                   DBL_MAX,  -DBL_MAX,  DBL_MIN, 1e-40,  65504,
                                   3.3e38,   2.5,       -3,      1e10,   7};
    const size_t size = pith_dtype_size(dtype);
    recipe r = {.s = b->s, .state = 5 + (uint64_t)dtype};
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), to);
    for (int64_t i = 0; i < n && i < 20; i++) {
        uint64_t bits = 0;
        if (pith_dtype_is_float(dtype))
            pithp_dtype_encode(dtype, reals[i], &bits);
        else if (i < 6 && dtype != PITH_BOOL)
            bits = i == 0   ? 0
                   : i == 1 ? ~(uint64_t)0                  /* -1, or the greatest */
                   : i == 2 ? (uint64_t)1 << (8 * size - 1) /* the least */
                   : i == 3 ? ((uint64_t)1 << (8 * size - 1)) - 1 /* the greatest */
                            : (uint64_t)i;
        else
            continue;
        memcpy(to + (size_t)i * size, &bits, size);
    }
}

/* What cases are made of; all but the numbers are made by fused steps. */
typedef struct operands {
    bench *b;
    pith_dtype dtype;
    pithp_value number, none, list, cube; /* [], [0, 3], [70], [3, 5, 4] */
    pithp_value other, condition, key, places, along, starts;
    char *data[4];
    /* receives the calls */
    void (*take)(const struct operands *o, const pithp_call *call, const pithp_value *in);
    void *closure;
} operands;

static inline pithp_value made(bench *b, pithp_value v) {
    return op(b, PITHP_OP_MAX, 2, v, v);
}

static inline void open_operands(operands *o, bench *b, pith_dtype dtype) {
    static const int64_t none[2] = {0, 3}, list = N, cube[3] = {3, 5, 4}, few = 3,
                         two = 2;
    static const uint32_t key[2] = {1234567, 89};
    static const int32_t places[3] = {2, -1, 1}, starts[3] = {1, -2, 0};
    static uint8_t condition[N];
    static int32_t along[CUBE];
    *o = (operands){.b = b, .dtype = dtype};
    for (int k = 0; k < 4; k++) {
        o->data[k] = malloc(N * 8 + 64);
        fill_special(b, dtype, N, o->data[k]);
    }
    for (int k = 0; k < N; k++)
        condition[k] = k % 3 == 0;
    for (int k = 0; k < CUBE; k++)
        along[k] = k % 7 - 3;
    for (int k = 0; k < N / 2; k++) { /* the other way round */
        const size_t size = pith_dtype_size(dtype);
        char *first = o->data[1] + (size_t)k * size,
             *last = o->data[1] + (size_t)(N - 1 - k) * size, kept[8];
        memcpy(kept, first, size), memcpy(first, last, size), memcpy(last, kept, size);
    }
    o->number = input(b, dtype, 0, NULL, o->data[0]);
    o->none = input(b, dtype, 2, none, o->data[0]);
    o->list = input(b, dtype, 1, &list, o->data[0]);
    o->cube = input(b, dtype, 3, cube, o->data[2]);
    o->other = input(b, dtype, 1, &list, o->data[1]);
    o->condition = input(b, PITH_BOOL, 1, &list, condition);
    o->key = input(b, PITH_U32, 1, &two, key);
    o->places = input(b, PITH_I32, 1, &few, places);
    o->along = input(b, PITH_I32, 3, cube, along);
    o->starts = input(b, PITH_I32, 1, &few, starts);
    o->none = made(b, o->none);
    o->list = made(b, o->list);
    o->cube = made(b, o->cube);
    o->other = made(b, o->other);
}

static inline void close_operands(operands *o) {
    for (int k = 0; k < 4; k++)
        free(o->data[k]);
}

/* ---- Cases ---- */

/* Nothing where the row refuses the operands. */
static inline int add(const operands *o,
                      pithp_primitive primitive,
                      const void *params,
                      int count,
                      const pithp_value *in) {
    const pith_spec *specs[4];
    pith_spec result;
    pithp_refusal refusal;
    for (int k = 0; k < count; k++)
        specs[k] = pithp_value_spec(o->b->p, in[k]);
    const pithp_call call = pithp_call_of(primitive, count, specs, params);
    if (pithp_infer(&call, &result, &refusal) != PITH_OK)
        return 0;
    o->take(o, &call, in);
    return 1;
}
#define ADD(params, ...)                                                                 \
    add(o, p, params, (int)(sizeof(pithp_value[]){__VA_ARGS__} / sizeof(pithp_value)),   \
        (const pithp_value[]){__VA_ARGS__})

static inline int elementwise_cases(const operands *o, pithp_primitive p) {
    const int arity = pithp_ops[p].arity;
    int count = 0;
    if (p == PITHP_OP_WHERE)
        return ADD(NULL, o->condition, o->list, o->other) +
               ADD(NULL, o->condition, o->list, o->number);
    if (arity == 1)
        return ADD(NULL, o->number) + ADD(NULL, o->none) + ADD(NULL, o->list);
    if (arity == 2) {
        count = ADD(NULL, o->list, o->other) + ADD(NULL, o->list, o->number) +
                ADD(NULL, o->none, o->number) + ADD(NULL, o->number, o->number);
        return count;
    }
    return ADD(NULL, o->list, o->number, o->other) +
           ADD(NULL, o->list, o->other, o->list);
}

static inline int move_cases(const operands *o, pithp_primitive p) {
    const pith_dtype d = o->dtype;
    switch ((int)p) {
        case PITHP_OP_FULL:
            return add(o, p,
                       &(pithp_full_params){d, 2, {3, 2}, d != PITH_BOOL ? 0x41 : 1}, 0,
                       NULL) +
                   add(o, p, &(pithp_full_params){d, 1, {0}, 1}, 0, NULL);
        case PITHP_OP_IOTA:
            return add(o, p, &(pithp_iota_params){d, 2, {300, 2}, 0}, 0, NULL) +
                   add(o, p, &(pithp_iota_params){d, 2, {0, 2}, 1}, 0, NULL);
        case PITHP_OP_BROADCAST:
            return ADD(&((pithp_broadcast_params){2, {2, N}, {1}}), o->list) +
                   ADD(&((pithp_broadcast_params){1, {5}, {0}}), o->number);
        case PITHP_OP_RESHAPE:
            return ADD(&((pithp_reshape_params){1, {CUBE}}), o->cube) +
                   ADD(&((pithp_reshape_params){3, {5, 0, 2}}), o->none);
        case PITHP_OP_TRANSPOSE:
            return ADD(&((pithp_transpose_params){{2, 0, 1}}), o->cube);
        case PITHP_OP_SLICE:
            return ADD(&((pithp_slice_params){{2, 0, 1}, {-1, 5, 4}, {-2, 2, 3}}),
                       o->cube) +
                   ADD(&((pithp_slice_params){{0, 3}, {0, 3}, {1, 1}}), o->none);
        case PITHP_OP_REVERSE:
            return ADD(&((pithp_reverse_params){5}), o->cube) +
                   ADD(&((pithp_reverse_params){2}), o->none);
        case PITHP_OP_CONCATENATE:
            return ADD(&((pithp_concatenate_params){1}), o->cube, o->cube, o->cube) +
                   ADD(&((pithp_concatenate_params){0}), o->none, o->none);
        case PITHP_OP_PAD:
            return ADD(&((pithp_pad_params){{1, -1, 0}, {2, 0, -2}, {1, 0, 2}}), o->cube,
                       o->number) +
                   ADD(&((pithp_pad_params){{1, 0}, {1, 1}, {0, 0}}), o->none, o->number);
        case PITHP_OP_STOP_GRADIENT:
        case PITHP_OP_NON_DIFFERENTIABLE:
            return ADD(NULL, o->cube) + ADD(NULL, o->none);
        case PITHP_OP_VARY:
        case PITHP_OP_REPLICATED: {
            static pithp_mesh_group alone = {.size = 1, .axes = "x"};
            const pithp_vary_params marks = {.group = &alone};
            return ADD(&marks, o->list) + ADD(&marks, o->none);
        }
        case PITHP_OP_NAME:
            return ADD(&((pithp_named_params){"cube"}), o->cube);
        default:
            return -1;
    }
}

static inline int order_cases(const operands *o, pithp_primitive p) {
    switch ((int)p) {
        case PITHP_OP_CUMSUM:
        case PITHP_OP_CUMPROD:
        case PITHP_OP_CUMMIN:
        case PITHP_OP_CUMMAX:
        case PITHP_OP_CUMLOGSUMEXP:
            return ADD(&((pithp_scan_params){.axis = 0, .reverse = false}), o->list) +
                   ADD(&((pithp_scan_params){.axis = 1, .reverse = true}), o->cube) +
                   ADD(&((pithp_scan_params){.axis = 1, .reverse = false}), o->none);
        case PITHP_OP_CUMLINEAR:
            return ADD(&((pithp_scan_params){.axis = 0, .reverse = false}), o->list,
                       o->other) +
                   ADD(&((pithp_scan_params){.axis = 1, .reverse = true}), o->cube,
                       o->cube) +
                   ADD(&((pithp_scan_params){
                           .axis = 1, .reverse = false, .strong = true}),
                       o->cube, o->cube) +
                   ADD(&((pithp_scan_params){.axis = 2, .reverse = false}), o->cube,
                       o->cube) +
                   ADD(&((pithp_scan_params){.axis = 1, .reverse = false}), o->none,
                       o->none);
        case PITHP_OP_SORT:
        case PITHP_OP_ARGSORT:
            return ADD(&((pithp_sort_params){0, false}), o->list) +
                   ADD(&((pithp_sort_params){1, true}), o->cube) +
                   ADD(&((pithp_sort_params){0, false}), o->none);
        case PITHP_OP_SEARCH_SORTED: {
            const pithp_value sorted =
                pithp_program_add(o->b->s, o->b->p, PITHP_OP_SORT, 1, &o->list,
                                  &(pithp_sort_params){0, false}, NULL);
            return ADD(&((pithp_search_params){false}), sorted, o->other) +
                   ADD(&((pithp_search_params){true}), sorted, o->cube);
        }
        case PITHP_OP_SUM:
        case PITHP_OP_PROD:
        case PITHP_OP_MIN_OF:
        case PITHP_OP_MAX_OF:
        case PITHP_OP_ANY:
        case PITHP_OP_ALL:
        case PITHP_OP_ARGMIN:
        case PITHP_OP_ARGMAX:
            return ADD(&((pithp_reduce_params){1}), o->list) +
                   ADD(&((pithp_reduce_params){2}), o->cube) +
                   ADD(&((pithp_reduce_params){5}), o->cube) +
                   ADD(&((pithp_reduce_params){7}), o->cube) +
                   ADD(&((pithp_reduce_params){2}), o->none) +
                   ADD(&((pithp_reduce_params){0}), o->number);
        case PITHP_OP_DOT_GENERAL:
            return ADD(&((pithp_dot_params){1, 1, {{2}, {2}}, {{0}, {0}}}), o->cube,
                       o->cube) +
                   ADD(&((pithp_dot_params){.contracts = 1}), o->list, o->other);
        default:
            return -1;
    }
}

static inline int index_cases(const operands *o, pithp_primitive p) {
    const pithp_index_params clip = {.axis = 1, .mode = PITHP_INDEX_CLIP},
                             drop = {.axis = 1, .mode = PITHP_INDEX_DROP, .fill = 1},
                             first = {.axis = 0, .mode = PITHP_INDEX_DROP};
    if (pithp_op_has(p, PITHP_TRAIT_SCATTER)) {
        const pithp_index_params into = {.axis = 2, .mode = PITHP_INDEX_DROP};
        const pithp_slice_params part = {{0, 0, 0}, {3, 5, 3}, {1, 1, 1}};
        const pithp_value updates =
            pithp_program_add(o->b->s, o->b->p, PITHP_OP_SLICE, 1, &o->cube, &part, NULL);
        return ADD(&into, o->cube, o->places, updates);
    }
    switch ((int)p) {
        case PITHP_OP_TAKE:
            return ADD(&clip, o->cube, o->places) + ADD(&drop, o->cube, o->along) +
                   ADD(&first, o->none, o->places);
        case PITHP_OP_TAKE_ALONG:
            return ADD(&clip, o->cube, o->along) + ADD(&drop, o->cube, o->along);
        case PITHP_OP_DYNAMIC_SLICE:
            return ADD(&((pithp_dynamic_params){{2, 2, 4}}), o->cube, o->starts);
        case PITHP_OP_DYNAMIC_UPDATE_SLICE: {
            const pithp_slice_params part = {{0, 0, 0}, {2, 2, 4}, {1, 1, 1}};
            const pithp_value box = pithp_program_add(o->b->s, o->b->p, PITHP_OP_SLICE, 1,
                                                      &o->cube, &part, NULL);
            return ADD(NULL, o->cube, box, o->starts);
        }
        default:
            return -1;
    }
}

static inline int random_cases(const operands *o, pithp_primitive p) {
    const pithp_random_params drawn = {.dtype = o->dtype,
                                       .rank = 2,
                                       .shape = {3, 5},
                                       .low = 0,
                                       .high = 1,
                                       .least = 1,
                                       .greatest = 6},
                              empty = {
                                  .dtype = o->dtype, .rank = 1, .high = 1, .greatest = 6};
    switch ((int)p) {
        case PITHP_OP_THREEFRY:
            return ADD(NULL, o->key, o->key);
        case PITHP_OP_FOLD_IN: {
            const pithp_value datum =
                pithp_program_add(o->b->s, o->b->p, PITHP_OP_SUM, 1, &o->key,
                                  &(pithp_reduce_params){1}, NULL);
            return ADD(NULL, o->key, datum);
        }
        case PITHP_OP_RANDOM_SPLIT:
        case PITHP_OP_RANDOM_BITS:
        case PITHP_OP_RANDOM_UNIFORM:
        case PITHP_OP_RANDOM_NORMAL:
        case PITHP_OP_RANDOM_INTEGERS:
            return ADD(&drawn, o->key) + ADD(&empty, o->key);
        default:
            return -1;
    }
}

static inline int cast_cases(const operands *o, pithp_primitive p) {
    int count = 0;
    for (int to = PITH_BOOL; to < PITH_DTYPE_COUNT; to++)
        count += ADD(&((pithp_cast_params){(pith_dtype)to}), o->list) +
                 ADD(&((pithp_cast_params){(pith_dtype)to}), o->number);
    return count;
}

static inline int cases(const operands *o, pithp_primitive p) {
    int (*const families[])(const operands *, pithp_primitive) = {
        move_cases, order_cases, index_cases, random_cases};
    if (pithp_is_elementwise(p))
        return elementwise_cases(o, p);
    if (p == PITHP_OP_CAST)
        return cast_cases(o, p);
    for (int k = 0; k < 4; k++) {
        const int count = families[k](o, p);
        if (count >= 0)
            return count;
    }
    return 0;
}

#endif
