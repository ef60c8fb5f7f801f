/* Shapes, slices, joins, padding, and filled arrays. */
#include "oracle.h"

#include <string.h>

#define RUN(name)                                                                        \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call)

RUN(slice) {
    (void)row;
    pith_slice slices[PITH_MAX_RANK + 1];
    int count = 0;
    const golden_json *list = oracle_list(call, "slices");
    for (const golden_json *one = list ? list->child : NULL;
         one && count <= PITH_MAX_RANK; one = one->next)
        slices[count++] = oracle_slice_of(one);
    oracle_give(call, pith_slice_array(s, call->in[0], count, slices));
}

static int paddings(const golden_json *list, pith_padding padding[PITH_MAX_RANK + 1]) {
    int count = 0;
    for (const golden_json *one = list ? list->child : NULL;
         one && count <= PITH_MAX_RANK; one = one->next, count++) {
        const golden_json *interior = golden_item(one, 2);
        padding[count] =
            (pith_padding){.low = golden_integer(golden_item(one, 0)),
                           .high = golden_integer(golden_item(one, 1)),
                           .interior = interior ? golden_integer(interior) : 0};
    }
    return count;
}

RUN(pad) {
    (void)row;
    pith_padding padding[PITH_MAX_RANK + 1];
    const int count = paddings(oracle_list(call, "config"), padding);
    oracle_give(call, pith_pad(s, call->in[0], call->in[1], count, padding));
}

RUN(pad_mode) {
    (void)row;
    static const char *const names[] = {"edge", "reflect", "symmetric", "wrap"};
    pith_padding padding[PITH_MAX_RANK + 1];
    const int count = paddings(oracle_list(call, "widths"), padding);
    for (int i = 0; i < 4; i++)
        if (!strcmp(oracle_text(call, "mode"), names[i])) {
            oracle_give(call,
                        pith_extend(s, call->in[0], (pith_extension)i, count, padding));
            return;
        }
    oracle_trouble(call, "no mode \"%s\"", oracle_text(call, "mode"));
}

RUN(reverse) {
    (void)row;
    oracle_give(call,
                pith_flip(s, call->in[0], oracle_axes_of(oracle_list(call, "axes"))));
}

/* pith_transpose requires as many axes as the array has; other numbers are refused
 * here. */
RUN(transpose) {
    (void)row;
    const golden_json *list = oracle_list(call, "permutation");
    int order[PITH_MAX_RANK], count = 0;
    for (const golden_json *a = list ? list->child : NULL; a && count < PITH_MAX_RANK;
         a = a->next)
        order[count++] = (int)golden_integer(a);
    if (golden_length(list) != oracle_rank(call->in[0]))
        pith_fail(s, PITH_E_ARG, NULL, "%d axes", golden_length(list));
    oracle_give(call, pith_transpose(s, call->in[0], order));
}

RUN(concatenate) {
    (void)row;
    oracle_give(call, pith_concatenate(s, call->count, call->in,
                                       (int)oracle_integer(call, "axis", 0)));
}

RUN(stack) {
    (void)row;
    oracle_give(
        call, pith_stack(s, call->count, call->in, (int)oracle_integer(call, "axis", 0)));
}

RUN(broadcast_to) {
    (void)row;
    oracle_give(call, pith_broadcast_to(s, call->in[0],
                                        oracle_shape_of(oracle_list(call, "shape"))));
}

RUN(reshape) {
    (void)row;
    oracle_give(
        call, pith_reshape(s, call->in[0], oracle_shape_of(oracle_list(call, "shape"))));
}

RUN(squeeze) {
    (void)row;
    const golden_json *axes = oracle_list(call, "axes");
    oracle_give(
        call, pith_squeeze(s, call->in[0], axes ? oracle_axes_of(axes) : PITH_ALL_AXES));
}

RUN(expand_dims) {
    (void)row;
    oracle_give(call, pith_expand_dims(s, call->in[0],
                                       oracle_axes_of(oracle_list(call, "axes"))));
}

/* A list of integers; its length. */
static int64_t integers(const golden_json *list, int64_t *values, int64_t most) {
    int64_t n = 0;
    for (const golden_json *v = list ? list->child : NULL; v && n < most; v = v->next)
        values[n++] = golden_integer(v);
    return n;
}

enum { MOST_REPEATS = 4096 };

RUN(repeat) {
    (void)row;
    const int axis = (int)oracle_integer(call, "axis", 0);
    const golden_json *list = oracle_list(call, "repeats");
    int64_t repeats[MOST_REPEATS];
    if (!list)
        oracle_give(
            call, pith_repeat(s, call->in[0], oracle_integer(call, "repeats", 0), axis));
    else
        oracle_give(call, pith_repeat_each(s, call->in[0],
                                           integers(list, repeats, MOST_REPEATS), repeats,
                                           axis));
}

RUN(tile) {
    (void)row;
    int64_t repeats[MOST_REPEATS];
    const int64_t count = integers(oracle_list(call, "repeats"), repeats, MOST_REPEATS);
    oracle_give(call, pith_tile(s, call->in[0], (int)count, repeats));
}

RUN(roll) {
    (void)row;
    const golden_json *axes = oracle_list(call, "axes"),
                      *shifts = oracle_list(call, "shifts");
    const pith_array *a = pith_cast(s, call->in[0], pith_array_spec(call->in[0])->dtype);
    for (int i = 0; i < golden_length(axes); i++)
        a = pith_roll(s, a, golden_integer(golden_item(shifts, i)),
                      (int)golden_integer(golden_item(axes, i)));
    oracle_give(call, a);
}

RUN(split) {
    (void)row;
    int64_t at[ORACLE_RESULTS];
    const int64_t count = integers(oracle_list(call, "at"), at, ORACLE_RESULTS - 1);
    const pith_array *const *parts =
        pith_split(s, call->in[0], (int)count, at, (int)oracle_integer(call, "axis", 0));
    for (int64_t i = 0; parts && i <= count; i++)
        call->out[call->results++] = parts[i];
}

RUN(iota) {
    (void)row;
    oracle_give(call, pith_iota(s, oracle_dtype(call, "dtype"),
                                oracle_shape_of(oracle_list(call, "shape")),
                                (int)oracle_integer(call, "axis", 0)));
}

RUN(arange) {
    (void)row;
    oracle_give(
        call, pith_range(s, oracle_dtype(call, "dtype"), oracle_number(call, "start", 0),
                         oracle_number(call, "stop", 0), oracle_number(call, "step", 1)));
}

RUN(linspace) {
    (void)row;
    oracle_give(call, pith_linspace(s, oracle_dtype(call, "dtype"),
                                    oracle_number(call, "start", 0),
                                    oracle_number(call, "stop", 0),
                                    oracle_integer(call, "count", 0),
                                    oracle_flag(call, "endpoint")));
}

RUN(eye) {
    (void)row;
    const int64_t rows = oracle_integer(call, "rows", 0);
    oracle_give(call, pith_eye(s, oracle_dtype(call, "dtype"), rows,
                               oracle_integer(call, "columns", rows),
                               oracle_integer(call, "diagonal", 0)));
}

RUN(tril) {
    (void)row;
    oracle_give(call, pith_tril(s, call->in[0], oracle_integer(call, "diagonal", 0)));
}

RUN(triu) {
    (void)row;
    oracle_give(call, pith_triu(s, call->in[0], oracle_integer(call, "diagonal", 0)));
}

RUN(diagonal) {
    (void)row;
    oracle_give(call, pith_diagonal(s, call->in[0], oracle_integer(call, "offset", 0)));
}

RUN(movedim) {
    (void)row;
    oracle_give(call,
                pith_moveaxis(s, call->in[0], (int)oracle_integer(call, "source", 0),
                              (int)oracle_integer(call, "destination", 0)));
}

const oracle_row oracle_shape[] = {
    {.op = "slice", .run = run_slice},
    {.op = "pad", .run = run_pad},
    {.op = "pad_mode", .run = run_pad_mode},
    {.op = "reverse", .run = run_reverse},
    {.op = "transpose", .run = run_transpose},
    {.op = "concatenate", .run = run_concatenate},
    {.op = "stack", .run = run_stack},
    {.op = "broadcast_to", .run = run_broadcast_to},
    ORACLE_BINARY("broadcast_add", pith_add),
    {.op = "reshape", .run = run_reshape},
    {.op = "squeeze", .run = run_squeeze},
    {.op = "expand_dims", .run = run_expand_dims},
    {.op = "repeat", .run = run_repeat},
    {.op = "tile", .run = run_tile},
    {.op = "roll", .run = run_roll},
    {.op = "split", .run = run_split},
    {.op = "iota", .run = run_iota},
    {.op = "arange", .run = run_arange},
    {.op = "linspace", .run = run_linspace},
    {.op = "eye", .run = run_eye},
    {.op = "tril", .run = run_tril},
    {.op = "triu", .run = run_triu},
    {.op = "diagonal", .run = run_diagonal},
    {.op = "movedim", .run = run_movedim},
    {.op = NULL},
};
