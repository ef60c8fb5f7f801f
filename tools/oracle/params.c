/* Parameters of golden cases, and handlers shared by several tables. */
#include "oracle.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void oracle_give(oracle_call *call, const pith_array *result) {
    call->out[0] = result;
    call->results = 1;
}

void oracle_trouble(oracle_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->trouble, sizeof call->trouble, format, arguments);
    va_end(arguments);
}

void oracle_run_unary(pith_scope *s, const oracle_row *row, oracle_call *call) {
    oracle_give(call, row->unary(s, call->in[0]));
}

void oracle_run_binary(pith_scope *s, const oracle_row *row, oracle_call *call) {
    oracle_give(call, row->binary(s, call->in[0], call->in[1]));
}

int64_t oracle_integer(const oracle_call *call, const char *key, int64_t otherwise) {
    const golden_json *v = golden_get(call->params, key);
    return v && (v->kind == 'n' || v->kind == 's') ? golden_integer(v) : otherwise;
}

double oracle_number(const oracle_call *call, const char *key, double otherwise) {
    const golden_json *v = golden_get(call->params, key);
    if (v && v->kind == 's') /* nan, inf, -inf, and integers beyond 2^53 */
        return strtod(v->text, NULL);
    return v && v->kind == 'n' ? v->number : otherwise;
}

const char *oracle_text(const oracle_call *call, const char *key) {
    return golden_text(call->params, key);
}

bool oracle_flag(const oracle_call *call, const char *key) {
    const golden_json *v = golden_get(call->params, key);
    return v && v->kind == 't';
}

const golden_json *oracle_list(const oracle_call *call, const char *key) {
    const golden_json *v = golden_get(call->params, key);
    return v && v->kind == '[' ? v : NULL;
}

pith_dtype oracle_dtype(oracle_call *call, const char *key) {
    const pith_dtype dtype = pith_dtype_parse(oracle_text(call, key));
    if (dtype == PITH_DTYPE_NONE)
        oracle_trouble(call, "%s: no dtype: \"%s\"", key, oracle_text(call, key));
    return dtype;
}

pith_shape oracle_shape_of(const golden_json *list) {
    pith_shape shape = {0, {0}};
    for (const golden_json *d = list ? list->child : NULL; d; d = d->next, shape.rank++)
        if (shape.rank < PITH_MAX_RANK)
            shape.extents[shape.rank] = golden_integer(d);
    return shape;
}

pith_axes oracle_axes_of(const golden_json *list) {
    pith_axes axes = {.count = 0};
    for (const golden_json *a = list ? list->child : NULL; a && axes.count < INT8_MAX;
         a = a->next, axes.count++) {
        const int64_t axis = golden_integer(a);
        if (axes.count < PITH_MAX_RANK)
            axes.axes[axes.count] = (int8_t)(axis < -100 || axis > 100 ? 100 : axis);
    }
    return axes;
}

pith_slice oracle_slice_of(const golden_json *list) {
    const golden_json *start = golden_item(list, 0), *stop = golden_item(list, 1),
                      *step = golden_item(list, 2);
    pith_slice slice = {.step = step && step->kind != 'z' ? golden_integer(step) : 1};
    slice.start = slice.step > 0 ? 0 : INT64_MAX;
    slice.limit = slice.step > 0 ? INT64_MAX : INT64_MIN;
    if (start && start->kind != 'z')
        slice.start = golden_integer(start);
    if (stop && stop->kind != 'z')
        slice.limit = golden_integer(stop);
    return slice;
}

int oracle_rank(const pith_array *a) {
    const pith_spec *spec = a ? pith_array_spec(a) : NULL;
    return spec ? spec->rank : 0;
}
