/* Requirements: assertions with a fix where they are collected, errors of the scope where
 * they are not, and nothing read meanwhile. */
#include "capacity_test.h"

/* ---- A step that needs what its state says ---- */

typedef struct {
    const pith_array *data, *need, *wide;
    int64_t size, width;
} Work;
PITH_NODE(Work,
          PITH_LEAF(data, "f64[size]", .fill = 3),
          PITH_LEAF(need, "any[...]"),
          PITH_LEAF(wide, "i32[width]", .fill = -1),
          PITH_STATIC(size, .initial = 10),
          PITH_STATIC(width, .initial = 2))

static const pith_capacity *of_size(pith_scope *in, const Work *w, double base) {
    return pith_lens_capacity(in, PITH_LENS(Work, size), w->size, base);
}

static const Work *work(const pith_array *need) {
    Work w = pith_initial(Work);
    w.need = need;
    return pith_make(s, Work, &w, NULL);
}

static const Work *need_it(pith_scope *in, const Work *w) {
    pith_capacity_require(in, of_size(in, w, 2), w->need);
    return w;
}
PITH_FUNCTION1(need_step, need_it, Work, Work)

static const pith_result *collect(const pith_function *f, const void *state) {
    const pith_result *r = pith_as_result(s, f, PITH_ITEMS(state));
    pt_ok(s, r);
    return r;
}

Test(require, passes_what_suffices) {
    open_all();
    const double values[] = {9.5, 10, -3};
    const pith_array *needs[] = {pith_i64(s, 10),
                                 pith_i32(s, -1),
                                 pith_f64(s, 9.99),
                                 pith_array_copy(s, PITH_F64, PITH_SHAPE(3), values),
                                 pith_zeros(s, PITH_I64, PITH_SHAPE(0)),
                                 pith_cast(s, pith_i64(s, 10), PITH_U8),
                                 pith_cast(s, pith_i64(s, 10), PITH_F16)};
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        cr_assert(pith_result_all_pass(s, collect(&need_step, work(needs[i]))), "%zu", i);
    pt_ok(s);
    close_all();
}

/* Sizes at the edges of a dtype: the comparison is exact in each. */
Test(require, compares_exactly_in_every_dtype) {
    open_all();
    static const int64_t sizes[] = {0,
                                    1,
                                    100,
                                    127,
                                    128,
                                    255,
                                    256,
                                    2047,
                                    2048,
                                    2049,
                                    32767,
                                    65503,
                                    65504,
                                    65535,
                                    65536,
                                    ((int64_t)1 << 24) - 1,
                                    (int64_t)1 << 24,
                                    ((int64_t)1 << 24) + 1,
                                    INT32_MAX,
                                    UINT32_MAX,
                                    ((int64_t)1 << 53) - 1,
                                    ((int64_t)1 << 53) + 1,
                                    ((int64_t)1 << 62) + 1,
                                    INT64_MAX - 1,
                                    INT64_MAX};
    static const pith_dtype dtypes[] = {PITH_I8,  PITH_I16,  PITH_I32, PITH_I64,
                                        PITH_U8,  PITH_U16,  PITH_U32, PITH_U64,
                                        PITH_F16, PITH_BF16, PITH_F32, PITH_F64};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const pith_capacity *c =
                pith_capacity_make(s, &(pith_capacity_options){.size = sizes[i]});
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                const pith_array *need = pith_cast(s, pith_i64(s, sizes[k]), dtypes[d]);
                pith_scope *inner = pith_scope_open_in(s);
                pith_collect_begin(inner);
                pith_capacity_require(inner, c, need);
                const bool pass =
                    pith_result_all_pass(inner, pith_collect_end(inner, NULL));
                const bool valid = pith_capacity_valid(inner, c, need);
                pt_ok(inner);
                cr_assert(pass == valid, "%s: size %lld, need %lld",
                          pith_dtype_name(dtypes[d]), (long long)sizes[i],
                          (long long)sizes[k]);
                pith_scope_close(inner);
            }
        }
    close_all();
}

Test(require, is_an_assertion_with_a_fix) {
    open_all();
    const Work *in = work(pith_i64(s, 11));
    const pith_result *r = collect(&need_step, in);
    cr_assert(!pith_result_all_pass(s, r) && pith_result_failed(s, r) == 1);
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    cr_assert(pith_assertion_code(a) == PITH_E_CAPACITY);
    cr_assert_str_eq(pith_assertion_path(a), ".size");
    cr_assert_str_eq(pith_assertion_message(s, a),
                     "capacity is too small: have 10, need 11, new 16");
    cr_assert(pith_read_i64(s, pith_assertion_arg(s, a, "required")) == 11);
    const Work *out = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, out);
    cr_assert(out->size == 16 && pith_array_spec(out->data)->count == 16 &&
                  out->wide == in->wide && out->need == in->need,
              "exactly the buffers concerned grow");
    double values[16];
    cr_assert(pith_read(s, out->data, values, sizeof values) && values[9] == 3 &&
              values[15] == 3);
    cr_assert(pith_result_all_pass(s, collect(&need_step, out)));
    pt_fails(PITH_E_CAPACITY, s, pith_result_raise(s, r));
    pt_says(".size: capacity is too small: have 10, need 11, new 16 (test_require.c:");
    close_all();
}

static const Work *need_often(pith_scope *in, const Work *w) {
    const int64_t needs[] = {50, 1000, 60};
    for (int i = 0; i < 3; i++)
        pith_capacity_require(in, of_size(in, w, 2), pith_i64(in, needs[i]));
    pith_capacity_require(in, pith_lens_capacity(in, PITH_LENS(Work, width), w->width, 1),
                          pith_f64(in, 6.2));
    return w;
}
PITH_FUNCTION1(often_step, need_often, Work, Work)

/* kUPS needs three calls for needs of 50, 1000 and 60 within a scan. */
Test(require, many_of_one_call_are_repaired_at_once) {
    open_all();
    const Work *in = work(pith_i64(s, 0));
    const pith_result *r = collect(&often_step, in);
    cr_assert(pith_result_failed(s, r) == 4);
    const Work *out = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, out);
    cr_assert(out->size == 1024 && out->width == 7);
    cr_assert(pith_result_all_pass(s, collect(&often_step, out)));
    close_all();
}

/* ---- Without a collector ---- */

Test(require, is_an_error_without_a_collector) {
    open_all();
    const Work *w = work(pith_i64(s, 11));
    pith_capacity_require(s, of_size(s, w, 2), w->need);
    pt_ok(s);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    pt_says("capacity is too small: have 10, need 11, new 16 (test_require.c:");
    cr_assert_str_eq(pt_error.path, ".size");
    pith_capacity_require(s, of_size(s, w, 2), pith_i64(s, 10));
    pith_wait(s);
    pt_ok(s);
    { /* the capacity is freed before the message; several sizes are named */
        pith_scope *inner = pith_scope_open_in(s);
        const pith_lens *lens = pith_lens_merge(
            inner, PITH_LENSES(PITH_LENS(Work, size), PITH_LENS(Work, width)));
        const pith_capacity *two = pith_capacity_make(
            inner, &(pith_capacity_options){
                       .from = pith_capacity_make(
                           inner, &(pith_capacity_options){PITH_SIZES(10, 2),
                                                           .lens = lens, .base = 2}),
                       .factor = 3});
        const int64_t needs[] = {31, 9};
        pith_capacity_require(
            inner,
            pith_capacity_make(
                inner, &(pith_capacity_options){.from = two, .message = "so {it} is"}),
            pith_array_copy(inner, PITH_I64, PITH_SHAPE(2), needs));
        pith_scope_close(inner);
        pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
        pt_says(
            "capacity .size is too small: have 30 (10 * 3), need 31 (11 * 3), new 48 (16 * 3); "
            "capacity .width is too small: have 6 (2 * 3), need 9 (3 * 3), new 12 (4 * 3); so {it} is");
    }
    close_all();
}

Test(require, nothing_is_made_where_it_cannot_count) {
    open_all();
    const Work *w = work(pith_i64(s, 11));
    pith_check_set_level(s, PITH_CHECK_OFF);
    const size_t live = pith_memory_about(rt).live;
    const pith_capacity *c = of_size(s, w, 2);
    pith_capacity_require(s, c, w->need);
    cr_assert(pith_memory_about(rt).live == live);
    pith_wait(s);
    pt_ok(s);
    close_all();
}

/* ---- What cannot be repaired ---- */

static const Work *need_fixed(pith_scope *in, const Work *w) {
    pith_capacity_require(in, of_size(in, w, 2), pith_i64(in, 100));
    pith_capacity_require(
        in,
        pith_capacity_make(
            in, &(pith_capacity_options){.size = 4, .message = "lanes are {4}"}),
        pith_i64(in, 5));
    return w;
}
PITH_FUNCTION1(fixed_step, need_fixed, Work, Work)

Test(require, fixed_ones_have_no_fix) {
    open_all();
    const Work *in = work(pith_i64(s, 0));
    const pith_result *r = collect(&fixed_step, in);
    cr_assert(pith_result_failed(s, r) == 2);
    cr_assert(pith_assertion_fixable(pith_result_get_failed(s, r, 0)) &&
              !pith_assertion_fixable(pith_result_get_failed(s, r, 1)));
    const Work *out = NULL;
    pt_fails(PITH_E_CAPACITY, s, out = pith_result_fix_or_raise(s, r, in));
    pt_says("fixed capacity is too small: have 4, need 5; lanes are {4}");
    cr_assert(!pith_is(Work, out));
    close_all();
}

Test(require, what_is_no_number_fails_and_stays) {
    open_all();
    const double bad[] = {NAN, INFINITY, 1e30};
    for (int i = 0; i < 3; i++) {
        const Work *in = work(pith_f64(s, bad[i]));
        const pith_result *r = collect(&need_step, in);
        cr_assert(!pith_result_all_pass(s, r));
        pt_fails(PITH_E_CAPACITY, s, pith_result_fix_or_raise(s, r, in));
        pt_says("which exceeds every size");
    }
    close_all();
}

/* ---- Trees, dicts and batches ---- */

typedef struct {
    const void *sizes;
} Dict;
PITH_NODE(Dict, PITH_TREE(sizes))

static const Dict *need_of_dict(pith_scope *in, const Dict *d) {
    const int64_t needs[] = {5, 5, 70, 3};
    pith_capacity_require(
        in,
        pith_capacity_make(in, &(pith_capacity_options){.tree = d->sizes,
                                                        .lens = PITH_LENS(Dict, sizes),
                                                        .base = 2}),
        pith_array_copy(in, PITH_I64, PITH_SHAPE(2, 2), needs));
    return d;
}
PITH_FUNCTION1(dict_step, need_of_dict, Dict, Dict)

/* In kUPS the braces of a dict break its message, and with it the repair. */
Test(require, dicts_of_sizes_are_repaired) {
    open_all();
    const char *const keys[] = {"{a}", "b"};
    const void *dict =
        pith_dict_make(s, 2, keys, (const void *[]){pith_i64(s, 4), pith_i64(s, 64)});
    const Dict *in = pith_freeze(s, Dict, &(Dict){dict});
    const pith_result *r = collect(&dict_step, in);
    const char *text = pith_assertion_message(s, pith_result_get_failed(s, r, 0));
    pt_ok(s, text);
    cr_assert_str_eq(text,
                     "capacity .sizes['b'] is too small: have 64, need 70, new 128; "
                     "capacity .sizes['{a}'] is too small: have 4, need 5, new 8");
    const Dict *out = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, out);
    cr_assert(pith_read_i64(s, pith_dict_get(out->sizes, "{a}")) == 8 &&
              pith_read_i64(s, pith_dict_get(out->sizes, "b")) == 128);
    close_all();
}

/* Statics of records have values while a function is traced, leaves of a dict have none.
 */
Test(require, traced_sizes_are_named) {
    open_all();
    const char *const keys[] = {"a", "b"};
    const void *sizes[] = {pith_i64(s, 4), pith_i64(s, 64)};
    const Dict *in = pith_freeze(s, Dict, &(Dict){pith_dict_make(s, 2, keys, sizes)});
    const pith_function *f = pith_jit(s, &dict_step, NULL);
    pt_fails(PITH_E_TRACED, s, pith_call(s, f, PITH_ITEMS(in)));
    pt_says(".sizes['a']: pith_capacity_make: sizes: the array traced");
    pt_says("has no value yet");
    sizes[1] = pith_f64(s, 1);
    const Dict *bad = pith_freeze(s, Dict, &(Dict){pith_dict_make(s, 2, keys, sizes)});
    pt_fails(PITH_E_DTYPE, s, pith_call(s, &dict_step, PITH_ITEMS(bad)));
    pt_says(".sizes['b']: pith_capacity_make: sizes: expected an integer of rank 0");
    close_all();
}

Test(require, mistakes_are_named) {
    open_all();
    const pith_capacity *two =
        pith_capacity_make(s, &(pith_capacity_options){PITH_SIZES(1, 2)});
    pt_fails(PITH_E_SHAPE, s,
             pith_capacity_require(s, two, pith_zeros(s, PITH_I64, PITH_SHAPE(2, 3))));
    pt_says(
        "pith_capacity_require: required: expected a last extent of 2, the number of sizes, got i64[2,3]");
    pt_fails(PITH_E_DTYPE, s, pith_capacity_require(s, two, pith_bool(s, true)));
    pt_fails(PITH_E_ARG, s, pith_capacity_require(s, NULL, pith_i64(s, 1)));
    pith_capacity_require(s, two, pith_i64(s, 1));
    pith_wait(s);
    pt_ok(s);
    pith_capacity_require(s, two, pith_i64(s, 2));
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    close_all();
}

/* ---- Results are as with ample room ---- */

static const Work *fill_it(pith_scope *in, const Work *w) {
    Work next = *w;
    next.data = pith_cumsum(in, pith_add(in, w->data, pith_f64(in, 0.25)), 0, NULL);
    pith_capacity_require(in, of_size(in, w, 2), w->need);
    return pith_freeze(in, Work, &next);
}
PITH_FUNCTION1(fill_step, fill_it, Work, Work)

Test(require, results_after_growth_are_those_of_ample_room) {
    open_all();
    const Work *small = work(pith_i64(s, 60));
    Work w = pith_initial(Work);
    w.need = small->need;
    w.size = 64;
    const Work *ample = pith_make(s, Work, &w, NULL);
    const pith_result *r = collect(&fill_step, small);
    const Work *grown = pith_result_fix_or_raise(s, r, small);
    pt_ok(s, grown);
    const Work *again = pith_result_value(collect(&fill_step, grown));
    const Work *there = pith_result_value(collect(&fill_step, ample));
    cr_assert(pith_tree_equal(s, again, there));
    pt_ok(s);
    close_all();
}

Test(require, a_checkpoint_after_growth_loads) {
    open_all();
    char folder[256], path[300];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/grown.json", folder);
    const Work *in = work(pith_i64(s, 300));
    const Work *grown = pith_result_fix_or_raise(s, collect(&need_step, in), in);
    pt_ok(s, pith_save(s, grown, path, NULL));
    const Work *loaded = pith_load(s, Work, path);
    pt_ok(s, loaded);
    cr_assert(loaded->size == 512 && pith_tree_equal(s, loaded, grown));
    cr_assert(pith_result_all_pass(s, collect(&need_step, loaded)));
    char command[320];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert(system(command) == 0);
    pt_ok(s);
    close_all();
}
