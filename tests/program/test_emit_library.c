/* Bodies of compiled loops call the library for what has no text of its own: sorts,
 * products, scans, draws, checked indices; and for what has many elements. */
#include "emit_body.h"

enum { ROWS = 6, COLUMNS = 7, PLACES = 9 };

/* Sorts and scans along each axis. */
static int ordered(const body *y, pithp_value x, bool arithmetic, pithp_value *outputs) {
    int count = 0;
    for (int axis = 0; axis < 2; axis++)
        for (int turned = 0; turned < 2; turned++) {
            const pithp_sort_params sort = {axis, turned};
            const pithp_scan_params scan = {.axis = axis, .reverse = turned};
            outputs[count++] = body_op(y, PITHP_OP_SORT, 1, &x, &sort);
            outputs[count++] = body_op(y, PITHP_OP_ARGSORT, 1, &x, &sort);
            if (arithmetic)
                outputs[count++] = body_op(y, PITHP_OP_CUMSUM, 1, &x, &scan);
            outputs[count++] = body_op(y, PITHP_OP_CUMMAX, 1, &x, &scan);
        }
    return count;
}

/* x x^T, x^T x, and x by a vector, both ways. */
static int
multiplied(const body *y, pithp_value x, pithp_value row, pithp_value *outputs) {
    int count = 0;
    for (int axis = 0; axis < 2; axis++) {
        const pithp_dot_params square = {1, 0, {{(int8_t)axis}, {(int8_t)axis}}, {{0}}};
        outputs[count++] =
            body_op(y, PITHP_OP_DOT_GENERAL, 2, (pithp_value[]){x, x}, &square);
    }
    const pithp_dot_params right = {1, 0, {{1}, {0}}, {{0}}},
                           left = {1, 0, {{0}, {1}}, {{0}}};
    outputs[count++] =
        body_op(y, PITHP_OP_DOT_GENERAL, 2, (pithp_value[]){x, row}, &right);
    outputs[count++] =
        body_op(y, PITHP_OP_DOT_GENERAL, 2, (pithp_value[]){row, x}, &left);
    return count;
}

static void every_row(pith_dtype dtype) {
    static const int64_t shape[2] = {ROWS, COLUMNS}, columns = COLUMNS;
    bench b = begin();
    body y = body_of(&b);
    void *data = values(&b, dtype, ROWS * COLUMNS, 3 + (uint64_t)dtype);
    const pithp_value x = body_input(&y, dtype, 2, shape, data),
                      row = body_input(&y, dtype, 1, &columns, data);
    pithp_value outputs[40];
    body_begin(&y);
    int count = ordered(&y, x, dtype != PITH_BOOL, outputs);
    count += multiplied(&y, x, row, outputs + count);
    body_end(&y, count, outputs);
    free(data);
    end(&b);
}

Test(emit_library, sorts_scans_and_products_are_called, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I16, PITH_U64,
                                        PITH_F16,  PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 6; d++)
        every_row(dtypes[d]);
}

/* Values that only the body sees take the places of one another, in several dtypes: as
 * arrays of the function, which calls of the library and updates in place reach by their
 * addresses, and beyond a length in the workspace. */
static void handed_from_call_to_call(int64_t n) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_I64, PITH_F64, PITH_I16, PITH_F64};
    int32_t index[600];
    for (int64_t i = 0; i < n; i++)
        index[i] = (int32_t)(i * 7 % n);
    bench b = begin();
    body y = body_of(&b);
    void *data = values(&b, PITH_F64, n, 21);
    pithp_value v = body_input(&y, PITH_F64, 1, &n, data), outputs[2] = {0};
    const pithp_value places = body_input(&y, PITH_I32, 1, &n, index);
    body_begin(&y);
    for (int k = 0; k < 5; k++) {
        v = body_op(&y, PITHP_OP_CUMMAX, 1, &v,
                    &(pithp_scan_params){.axis = 0, .reverse = k % 2});
        v = body_op(&y, PITHP_OP_CAST, 1, &v, &(pithp_cast_params){dtypes[k]});
        const pithp_value turned =
            body_op(&y, PITHP_OP_REVERSE, 1, &v, &(pithp_reverse_params){1});
        v = body_op(&y, PITHP_OP_SCATTER_ADD, 3, (pithp_value[]){v, places, turned},
                    &(pithp_index_params){.mode = PITHP_INDEX_CLIP});
        if (k == 2)
            outputs[0] = body_op(&y, PITHP_OP_SORT, 1, &v, &(pithp_sort_params){0, 1});
    }
    outputs[1] = v;
    body_end(&y, 2, outputs);
    free(data);
    end(&b);
}

Test(emit_library, values_take_the_places_of_one_another, .timeout = 100) {
    static const int64_t lengths[] = {1, 2, 64, 128, 129, 600};
    use_cache();
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        handed_from_call_to_call(lengths[k]);
}

/* Keys that go from one draw to the next, and draws of each. */
Test(emit_library, draws_are_called, .timeout = 100) {
    static const int64_t pair = 2;
    static const uint32_t words[2] = {7, 1u << 31};
    static const pith_dtype dtypes[] = {PITH_U8, PITH_F16, PITH_F32, PITH_F64};
    use_cache();
    bench b = begin();
    body y = body_of(&b);
    pithp_value outputs[20];
    int count = 0;
    pithp_value key = body_input(&y, PITH_U32, 1, &pair, words);
    body_begin(&y);
    const pithp_cast_params narrow = {PITH_U32};
    const pithp_value number = body_op(&y, PITHP_OP_CAST, 1, &y.step, &narrow);
    key = outputs[count++] =
        body_op(&y, PITHP_OP_FOLD_IN, 2, (pithp_value[]){key, number}, NULL);
    outputs[count++] = body_op(&y, PITHP_OP_RANDOM_SPLIT, 1, &key,
                               &(pithp_random_params){.rank = 1, .shape = {3}});
    for (int d = 0; d < 4; d++) {
        const pithp_random_params params = {
            .dtype = dtypes[d], .rank = 1, .shape = {11}, .low = -2, .high = 3};
        const pithp_random_params bytes = {
            .dtype = PITH_U8, .rank = 1, .shape = {11 + d}};
        outputs[count++] = body_op(&y, PITHP_OP_RANDOM_BITS, 1, &key, &bytes);
        for (int normal = 0; d && normal < 2; normal++)
            outputs[count++] =
                body_op(&y, normal ? PITHP_OP_RANDOM_NORMAL : PITHP_OP_RANDOM_UNIFORM, 1,
                        &key, &params);
    }
    body_end(&y, count, outputs);
    end(&b);
}

/* Checked indices: the report of each iteration is a result. */
Test(emit_library, checked_indices_are_called, .timeout = 100) {
    static const int64_t rows[2] = {ROWS, 3}, places = PLACES, updates[2] = {PLACES, 3};
    static const int64_t list[PLACES] = {0, 5, -1, 2, 6, -7, 1, 1, 100};
    use_cache();
    bench b = begin();
    body y = body_of(&b);
    void *data = values(&b, PITH_F64, PLACES * 3, 8);
    const pithp_value x = body_input(&y, PITH_F64, 2, rows, data),
                      update = body_input(&y, PITH_F64, 2, updates, data),
                      index = body_input(&y, PITH_I64, 1, &places, list);
    body_begin(&y);
    const pithp_value at =
        body_op(&y, PITHP_OP_SUB, 2, (pithp_value[]){index, y.step}, NULL);
    pithp_value outputs[6];
    pithp_checked_params params = {PITHP_OP_TAKE,
                                   {.mode = PITHP_INDEX_ERROR, .fill = 0x40}};
    outputs[0] = body_op(&y, PITHP_OP_CHECKED, 2, (pithp_value[]){x, at}, &params);
    params.primitive = PITHP_OP_SCATTER_ADD;
    outputs[2] =
        body_op(&y, PITHP_OP_CHECKED, 3, (pithp_value[]){x, at, update}, &params);
    params.index.no_negative = true;
    outputs[4] =
        body_op(&y, PITHP_OP_CHECKED, 3, (pithp_value[]){x, at, update}, &params);
    for (int k = 0; k < 6; k += 2)
        outputs[k + 1] = outputs[k] + 1;
    body_end(&y, 6, outputs);
    free(data);
    end(&b);
}

/* What has more elements than are laid out, in a loop that is small but for it. */
Test(emit_library, what_is_large_is_called, .timeout = 100) {
    static const int64_t many[2] = {100, 90}, axis = 9000;
    use_cache();
    bench b = begin();
    body y = body_of(&b);
    void *data = values(&b, PITH_F32, 9000, 4);
    const pithp_value x = body_input(&y, PITH_F32, 2, many, data),
                      flat = body_input(&y, PITH_F32, 1, &axis, data);
    body_begin(&y);
    const pithp_transpose_params turned = {{1, 0}};
    const pithp_slice_params few = {{10}, {40}, {1}};
    const pithp_value sorted =
        body_op(&y, PITHP_OP_SORT, 1, &flat, &(pithp_sort_params){0, false});
    pithp_value outputs[] = {
        body_op(&y, PITHP_OP_SUM, 1, &x, &(pithp_reduce_params){2}),
        body_op(&y, PITHP_OP_SUM, 1, &flat, &(pithp_reduce_params){1}),
        body_op(&y, PITHP_OP_TRANSPOSE, 1, &x, &turned),
        body_op(&y, PITHP_OP_SLICE, 1, &sorted, &few),
    };
    body_end(&y, 4, outputs);
    free(data);
    end(&b);
}
