/* Errors of indices out of range name the function called, the index, its position in the
 * caller's index array, the axis of the caller's array and its extent: call by call and
 * compiled. */
#include "pith_test.h"

#include <pith/pith.h>

static const pith_take_options taking = {.mode = PITH_INDEX_ERROR};
static const pith_scatter_options scattering = {.mode = PITH_INDEX_ERROR};

/* x is f64[2, 3, 4]; i, j and k are vectors of two indices. */
#define CALL(name, expression)                                                           \
    static const pith_array *name(pith_scope *s, const pith_array *x,                    \
                                  const pith_array *i, const pith_array *j) {            \
        (void)i, (void)j;                                                                \
        return expression;                                                               \
    }                                                                                    \
    PITH_FUNCTION3(name##_function, name, pith_array, pith_array, pith_array, pith_array)

#define ENTRIES(...)                                                                     \
    sizeof((pith_index_entry[]){__VA_ARGS__}) / sizeof(pith_index_entry),                \
        (pith_index_entry[]) {                                                           \
        __VA_ARGS__                                                                      \
    }

CALL(take_middle,
     pith_take(s, x, i, &(pith_take_options){.axis = 1, .mode = PITH_INDEX_ERROR}))
CALL(gather_three,
     pith_gather(s,
                 x,
                 ENTRIES(PITH_ENTRY_ARRAY(j), PITH_ENTRY_ARRAY(i), PITH_ENTRY_AT(3)),
                 &taking))
CALL(gather_apart,
     pith_gather(s,
                 x,
                 ENTRIES(PITH_ENTRY_ARRAY(j), PITH_ENTRY_WHOLE, PITH_ENTRY_ARRAY(i)),
                 &taking))
CALL(scatter_apart,
     pith_scatter(
         s,
         PITH_SCATTER_ADD,
         x,
         ENTRIES(PITH_ENTRY_ARRAY(j), PITH_ENTRY_SLICE(0, 3, 2), PITH_ENTRY_ARRAY(i)),
         pith_f64(s, 1),
         &scattering))
CALL(set_rows, pith_scatter_set(s, x, i, pith_f64(s, 1), &scattering))
CALL(take_along,
     pith_take_along_axis(s,
                          x,
                          pith_reshape(s, i, PITH_SHAPE(1, 2, 1)),
                          &(pith_take_options){.axis = 1, .mode = PITH_INDEX_ERROR}))
CALL(put_along,
     pith_put_along_axis(s,
                         PITH_SCATTER_MAX,
                         x,
                         pith_reshape(s, i, PITH_SHAPE(1, 1, 2)),
                         pith_f64(s, 1),
                         &(pith_scatter_options){.axis = 2, .mode = PITH_INDEX_ERROR}))

static const struct {
    const pith_function *function;
    int64_t i[2], j[2];
    const char *message;
} cases[] = {
    {&take_middle_function,
     {2, INT64_MIN},
     {0, 0},
     "pith_take: index -9223372036854775808 at position 1 is out of range for axis 1 with "
     "extent 3"},
    {&gather_three_function,
     {0, 3},
     {0, 0},
     "pith_gather: index 3 at position 1 is out of range for axis 1 with extent 3"},
    {&gather_three_function,
     {0, 0},
     {-3, 0},
     "pith_gather: index -3 at position 0 is out of range for axis 0 with extent 2"},
    {&gather_apart_function,
     {0, INT64_MAX},
     {1, 1},
     "pith_gather: index 9223372036854775807 at position 1 is out of range for axis 2 "
     "with extent 4"},
    {&scatter_apart_function,
     {0, 4},
     {1, 1},
     "pith_scatter: index 4 at position 1 is out of range for axis 2 with extent 4"},
    {&set_rows_function,
     {1, 2},
     {0, 0},
     "pith_scatter_set: index 2 at position 1 is out of range for axis 0 with extent 2"},
    {&take_along_function,
     {2, -4},
     {0, 0},
     "pith_take_along_axis: index -4 at position 4 is out of range for axis 1 with "
     "extent 3"},
    {&put_along_function,
     {3, 4},
     {0, 0},
     "pith_put_along_axis: index 4 at position 1 is out of range for axis 2 with "
     "extent 4"},
};

static void names_what_was_called(const char *when) {
    setenv("PITH_JIT", when, 1);
    pith_runtime *rt = pt_open();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3, 4)),
                         *i = pith_array_copy(s, PITH_I64, PITH_SHAPE(2), cases[k].i),
                         *j = pith_array_copy(s, PITH_I64, PITH_SHAPE(2), cases[k].j);
        const pith_function *f = pith_jit(s, cases[k].function, NULL);
        for (int compiled = 0; compiled < 2; compiled++) {
            pith_call(s, compiled ? f : cases[k].function, PITH_ITEMS(x, i, j));
            pt_fails(PITH_E_INDEX, s, pith_wait(s));
            pt_says(cases[k].message);
            pt_says("test_index_messages.c:");
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(index_messages, name_function_axis_index_and_extent) {
    names_what_was_called("off");
}
Test(index_messages, of_machine_code_are_the_same) {
    names_what_was_called("wait");
}

Test(index_messages, of_unsigned_indices_show_the_whole_number) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const uint64_t places[] = {1, UINT64_MAX};
    const pith_array *i = pith_array_copy(s, PITH_U64, PITH_SHAPE(2), places);
    pith_take(s, pith_zeros(s, PITH_I8, PITH_SHAPE(2)), i, &taking);
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says(
        "pith_take: index 18446744073709551615 at position 1 is out of range for axis "
        "0 with extent 2");
    pith_scope_close(s);
    pt_close(rt);
}

Test(index_messages, of_axes_without_elements_name_the_axis) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3, 0)),
                     *i = pith_zeros(s, PITH_I32, PITH_SHAPE(2));
    pt_fails(
        PITH_E_INDEX, s,
        pith_gather(s, x,
                    ENTRIES(PITH_ENTRY_ARRAY(i), PITH_ENTRY_WHOLE, PITH_ENTRY_ARRAY(i)),
                    &(pith_take_options){.mode = PITH_INDEX_CLIP}));
    pt_says("pith_gather: axis 2 has extent 0: no element to choose");
    pith_scope_close(s);
    pt_close(rt);
}

/* Functions that are made of others name themselves. */
Test(index_messages, name_what_the_user_called) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3)),
                     *n = pith_zeros(s, PITH_I32, PITH_SHAPE(4)),
                     *v = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    const pith_array *one = pith_f64(s, 1);
    const pith_slice none = PITH_SLICE(0, 5, 0);
    const pith_index_entry still = {.kind = PITH_ENTRY_IS_SLICE, .slice = none};
#define NAMES(code, text, ...)                                                           \
    do {                                                                                 \
        pt_fails(code, s, __VA_ARGS__);                                                  \
        pt_says(text);                                                                   \
    } while (0)
    NAMES(PITH_E_ARG, "pith_gather: entry 1: step 0 along axis 1",
          pith_gather(s, x, ENTRIES(PITH_ENTRY_WHOLE, still), NULL));
    NAMES(PITH_E_ARG, "pith_scatter: entry 1: step 0 along axis 1",
          pith_scatter(s, PITH_SCATTER_ADD, x, ENTRIES(PITH_ENTRY_WHOLE, still), one,
                       NULL));
    NAMES(PITH_E_ARG, "pith_slice_array: step 0 along axis 0",
          pith_slice_array(s, x, 1, &none));
    NAMES(PITH_E_SHAPE, "pith_mean_with: axis 7",
          pith_mean_with(s, x, PITH_AXES(7), NULL));
    NAMES(PITH_E_SHAPE, "pith_norm: axis 3", pith_norm(s, x, 2, PITH_AXES(3)));
    NAMES(PITH_E_ARG, "pith_norm: axis 0 is named twice",
          pith_norm(s, x, 1, PITH_AXES(0, 0)));
    NAMES(PITH_E_SHAPE, "pith_count_nonzero: axis 3",
          pith_count_nonzero(s, x, PITH_AXES(3)));
    NAMES(PITH_E_DTYPE, "pith_all_close: f64 and i32",
          pith_all_close(s, v, n, 0, 0, false));
    NAMES(PITH_E_DTYPE, "pith_histogram: i32 and f64", pith_histogram(s, v, n, NULL));
    NAMES(PITH_E_DTYPE, "pith_one_hot: invalid dtype",
          pith_one_hot(s, n, 3, (pith_dtype)99));
    NAMES(PITH_E_SHAPE, "pith_solve_triangular: expected a [..., n, n]",
          pith_solve_triangular(s, pith_eye(s, PITH_F64, 2, 2, 0), v, NULL));
    NAMES(PITH_E_SHAPE, "pith_sum: axis 3", pith_sum(s, x, PITH_AXES(3)));
    NAMES(PITH_E_DTYPE, "pith_add: f64 and i32", pith_add(s, v, n));
    pith_scope_close(s);
    pt_close(rt);
}
