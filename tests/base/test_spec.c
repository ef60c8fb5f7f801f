/* Specs: one object for equal dtype and shape, and sizes that never overflow. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>
#include <pthread.h>

static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void finish(void) {
    pith_scope_close(s);
    pt_close(rt);
}

#define SPEC(dtype, ...)                                                                 \
    pithp_spec(s, dtype, PITHP_COUNT(((const int64_t[]){__VA_ARGS__})),                  \
               (const int64_t[]){__VA_ARGS__})

Test(spec, is_one_object_for_equal_dtype_and_shape) {
    begin();
    const pith_spec *a = SPEC(PITH_F64, 256, 3);
    pt_ok(s, a);
    cr_assert_eq(a->count, 768);
    cr_assert_eq(a->bytes, 6144);
    cr_assert_eq(SPEC(PITH_F64, 256, 3), a);
    cr_assert_neq(SPEC(PITH_F32, 256, 3), a);
    cr_assert_neq(SPEC(PITH_F64, 3, 256), a);
    cr_assert_neq(SPEC(PITH_F64, 256, 3, 1), a);
    const pith_spec *scalar = pithp_spec(s, PITH_I8, 0, NULL);
    pt_ok(s, scalar);
    cr_assert_eq(scalar->count, 1);
    cr_assert_eq(scalar->bytes, 1);
    finish();
}

Test(spec, thousands_stay_where_they_are) {
    enum { COUNT = 5000 };
    begin();
    static const pith_spec *all[COUNT];
    for (int64_t i = 0; i < COUNT; i++)
        all[i] = SPEC(PITH_I32, i, 7);
    pt_ok(s);
    for (int64_t i = 0; i < COUNT; i++) {
        cr_assert_eq(SPEC(PITH_I32, i, 7), all[i]);
        cr_assert_eq(all[i]->shape[0], i);
    }
    finish();
}

Test(spec, empty_arrays_have_no_bytes) {
    begin();
    const pith_spec *a = SPEC(PITH_F64, 5, 0, 3);
    pt_ok(s, a);
    cr_assert_eq(a->count, 0);
    cr_assert_eq(a->bytes, 0);
    finish();
}

Test(spec, refuses_what_overflows_also_behind_an_empty_extent) {
    begin();
    const int64_t big = INT64_C(1) << 40, most = INT64_MAX;
    pt_fails(PITH_E_OVERFLOW, s, SPEC(PITH_I8, big, big));
    pt_says("i8[1099511627776,1099511627776] overflows");
    pt_fails(PITH_E_OVERFLOW, s, SPEC(PITH_F64, INT64_C(1) << 60));
    pt_fails(PITH_E_OVERFLOW, s, SPEC(PITH_F64, 0, big, big));
    pt_fails(PITH_E_OVERFLOW, s, SPEC(PITH_F64, big, big, 0));
    pt_fails(PITH_E_OVERFLOW, s, SPEC(PITH_I16, most));
    pt_fails(PITH_E_OVERFLOW, s,
             SPEC(PITH_U8, most, most, most, most, most, most, most, most));
    pt_ok(s, SPEC(PITH_I8, most));
    pt_ok(s, SPEC(PITH_F64, 0, INT64_C(1) << 59));
    finish();
}

Test(spec, refuses_ranks_and_extents_that_are_none) {
    begin();
    static const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    pt_ok(s, pithp_spec(s, PITH_F32, 8, nine));
    pt_fails(PITH_E_SHAPE, s, pithp_spec(s, PITH_F32, 9, nine));
    pt_says("rank 9, expected 0 to 8");
    pt_fails(PITH_E_SHAPE, s, pithp_spec(s, PITH_F32, -1, nine));
    pt_fails(PITH_E_SHAPE, s, SPEC(PITH_F32, 4, -3));
    pt_says("extent -3 of axis 1");
    pt_fails(PITH_E_SHAPE, s, SPEC(PITH_F32, 0, INT64_MIN));
    pt_fails(PITH_E_DTYPE, s, SPEC(PITH_DTYPE_NONE, 1));
    pt_fails(PITH_E_DTYPE, s, SPEC((pith_dtype)77, 1));
    pt_says("77");
    finish();
}

Test(spec, prints_dtype_and_shape) {
    begin();
    char text[PITHP_SPEC_TEXT_BYTES];
    cr_assert_str_eq(pithp_spec_print(SPEC(PITH_BF16, 256, 3), text), "bf16[256,3]");
    cr_assert_str_eq(pithp_spec_print(pithp_spec(s, PITH_BOOL, 0, NULL), text), "bool[]");
    const int64_t long_extents[8] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                     INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    cr_assert_lt(strlen(pithp_shape_print(8, long_extents, text)), PITHP_SPEC_TEXT_BYTES);
    finish();
}

static const pith_spec *found[4][300];

static void *intern(void *closure) {
    const int number = *(const int *)closure;
    pith_scope *own = pith_scope_open(rt);
    for (int64_t i = 0; i < 300; i++)
        found[number][i] = pithp_spec(own, PITH_F32, 1, &i);
    pith_scope_close(own);
    return NULL;
}

Test(spec, is_one_object_for_all_threads) {
    begin();
    pthread_t threads[4];
    const int numbers[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, intern, (void *)(uintptr_t)&numbers[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 300; i++)
        for (int t = 0; t < 4; t++)
            cr_assert(found[t][i] && found[t][i] == found[0][i]);
    finish();
}
