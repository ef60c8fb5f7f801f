/* Take, gather and scatter by index arrays, and dynamic slices. */
#include "oracle.h"

#include <string.h>

#define RUN(name)                                                                        \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call)

static pith_index_mode mode_of(oracle_call *call) {
    static const struct {
        const char *name;
        pith_index_mode mode;
    } modes[] = {
        {"", PITH_INDEX_DEFAULT},    {"drop", PITH_INDEX_DROP},
        {"clip", PITH_INDEX_CLIP},   {"fill", PITH_INDEX_FILL},
        {"wrap", PITH_INDEX_WRAP},   {"promise_in_bounds", PITH_INDEX_PROMISE},
        {"raise", PITH_INDEX_ERROR},
    };
    const char *name = oracle_text(call, "mode");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, name))
            return modes[i].mode;
    oracle_trouble(call, "no mode \"%s\"", name);
    return PITH_INDEX_DEFAULT;
}

/* Mode, axis and, if given, the fill value, which is stored in *fill. */
static pith_take_options options_of(oracle_call *call, double *fill) {
    const golden_json *value = golden_get(call->params, "fill");
    pith_take_options options = {.axis = (int)oracle_integer(call, "axis", 0),
                                 .mode = mode_of(call)};
    if (value && value->kind != 'z') {
        *fill = value->kind == 't' ? 1 : oracle_number(call, "fill", 0);
        options.fill = fill;
    }
    return options;
}

RUN(take) {
    (void)row;
    double fill;
    const pith_take_options options = options_of(call, &fill);
    const golden_json *axis = golden_get(call->params, "axis");
    const pith_array *from = call->in[0];
    if (!axis || axis->kind == 'z')
        from = pith_reshape(s, from, PITH_SHAPE(-1));
    oracle_give(call, pith_take(s, from, call->in[1], &options));
}

RUN(take_along_axis) {
    (void)row;
    double fill;
    const pith_take_options options = options_of(call, &fill);
    oracle_give(call, pith_take_along_axis(s, call->in[0], call->in[1], &options));
}

/* params.index: one entry per leading axis; index arrays are operands from the second
 * on. */
static int entries_of(oracle_call *call, pith_index_entry entries[PITH_MAX_RANK + 1]) {
    int count = 0;
    const golden_json *list = oracle_list(call, "index");
    for (const golden_json *one = list ? list->child : NULL;
         one && count <= PITH_MAX_RANK; one = one->next, count++) {
        const golden_json *array = golden_get(one, "array"),
                          *place = golden_get(one, "int"),
                          *slice = golden_get(one, "slice");
        const int64_t which = array ? golden_integer(array) + 1 : 0;
        if (array && which > 0 && which < call->count)
            entries[count] = PITH_ENTRY_ARRAY(call->in[which]);
        else if (place)
            entries[count] = PITH_ENTRY_AT(golden_integer(place));
        else if (slice)
            entries[count] = (pith_index_entry){.kind = PITH_ENTRY_IS_SLICE,
                                                .slice = oracle_slice_of(slice)};
        else
            oracle_trouble(call, "no such entry of an index: %d", count);
    }
    return count;
}

RUN(gather) {
    (void)row;
    double fill;
    const pith_take_options options = options_of(call, &fill);
    pith_index_entry entries[PITH_MAX_RANK + 1];
    const int count = entries_of(call, entries);
    oracle_give(call, pith_gather(s, call->in[0], count, entries, &options));
}

static void scatter(pith_scope *s, oracle_call *call, pith_scatter_operation operation) {
    const pith_scatter_options options = {.mode = mode_of(call)};
    pith_index_entry entries[PITH_MAX_RANK + 1];
    const int count = entries_of(call, entries);
    oracle_give(call, pith_scatter(s, operation, call->in[0], count, entries,
                                   call->in[call->count - 1], &options));
}

#define SCATTER(name, OPERATION)                                                         \
    RUN(scatter_##name) {                                                                \
        (void)row;                                                                       \
        scatter(s, call, PITH_SCATTER_##OPERATION);                                      \
    }
SCATTER(set, SET)
SCATTER(add, ADD)
SCATTER(mul, MUL)
SCATTER(min, MIN)
SCATTER(max, MAX)
SCATTER(and, AND)
SCATTER(or, OR)

RUN(dynamic_slice) {
    (void)row;
    oracle_give(call, pith_dynamic_slice(s, call->in[0], call->in[1],
                                         oracle_shape_of(oracle_list(call, "sizes"))));
}

RUN(dynamic_update_slice) {
    (void)row;
    oracle_give(call,
                pith_dynamic_update_slice(s, call->in[0], call->in[1], call->in[2]));
}

const oracle_row oracle_index[] = {
    {.op = "take", .run = run_take},
    {.op = "take_along_axis", .run = run_take_along_axis},
    {.op = "gather", .run = run_gather},
    {.op = "scatter_set", .run = run_scatter_set},
    {.op = "scatter_add", .run = run_scatter_add},
    {.op = "scatter_mul", .run = run_scatter_mul},
    {.op = "scatter_min", .run = run_scatter_min},
    {.op = "scatter_max", .run = run_scatter_max},
    {.op = "scatter_and", .run = run_scatter_and},
    {.op = "scatter_or", .run = run_scatter_or},
    {.op = "dynamic_slice", .run = run_dynamic_slice},
    {.op = "dynamic_update_slice", .run = run_dynamic_update_slice},
    {.op = NULL},
};
