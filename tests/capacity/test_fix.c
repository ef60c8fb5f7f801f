/* Fixes by themselves: sizes through a lens, and the leaves that follow. */
#include "capacity_test.h"

static void holds(const pith_array *a, int64_t kept, int32_t fill) {
    int32_t values[4096];
    const int64_t count = pith_array_spec(a)->count;
    cr_assert(count <= 4096 && pith_read(s, a, values, (size_t)count * 4));
    for (int64_t i = kept; i < count; i++)
        cr_assert(values[i] == fill, "%lld: %d", (long long)i, values[i]);
}

Test(fix, sets_the_size_and_leaves_follow) {
    open_all();
    const Sim *in = start();
    const pith_capacity *c =
        pith_lens_capacity(s, PITH_LENS(Sim, max_edges), in->max_edges, 2);
    const Sim *out = pith_capacity_fix(s, c, in, pith_f64(s, 150.2));
    pt_ok(s, out);
    cr_assert(out->max_edges == 151 && in->max_edges == 100,
              "rounded up; the original stays");
    cr_assert(pith_array_spec(out->edges)->shape[0] == 151);
    holds(out->edges, 0, -2);
    cr_assert(out->lists == in->lists && out->x == in->x, "all else is shared");
    cr_assert(pith_capacity_fix(s, c, in, pith_i64(s, 40)) == in, "never shrinks");
    cr_assert(pith_capacity_fix(s, c, out, pith_i64(s, 120))->max_edges == 151,
              "what is there counts");
    cr_assert(pith_capacity_fix(s, c, in, I64S(120, 130, 110))->max_edges == 130,
              "of a batch the greatest");
    cr_assert(pith_capacity_fix(
                  s,
                  pith_capacity_make(s, &(pith_capacity_options){.from = c, .factor = 3}),
                  in, pith_i64(s, 400))
                  ->max_edges == 134);
    pt_ok(s);
    close_all();
}

Test(fix, contents_stay_and_the_tail_is_filled) {
    open_all();
    Sim next = *start();
    Lists lists = *next.lists;
    int32_t values[12], got[32];
    for (int i = 0; i < 12; i++)
        values[i] = i;
    lists.list = pith_array_copy(s, PITH_I32, PITH_SHAPE(4, 3), values);
    next.lists = pith_freeze(s, Lists, &lists);
    const Sim *in = pith_freeze(s, Sim, &next);
    const pith_capacity *c = pith_lens_capacity(s, PITH_LENS(Sim, lists->width), 3, 2);
    const Sim *out = pith_capacity_fix(s, c, in, pith_i64(s, 5));
    pt_ok(s, out);
    cr_assert(out->lists->width == 5 && pith_read(s, out->lists->list, got, 4 * 5 * 4));
    for (int i = 0; i < 20; i++)
        cr_assert(got[i] == (i % 5 < 3 ? i / 5 * 3 + i % 5 : -1));
    cr_assert(out->edges == in->edges && out->lists->other == in->lists->other);
    close_all();
}

Test(fix, merged_lenses_change_together) {
    open_all();
    const Sim *in = start();
    const pith_lens *lens = pith_lens_merge(s, PITH_LENSES(PITH_LENS(Sim, max_edges),
                                                           PITH_LENS(Sim, lists->depth),
                                                           PITH_LENS(Sim, lists->width)));
    const pith_capacity *c = pith_capacity_make(
        s, &(pith_capacity_options){
               PITH_SIZES(in->max_edges, in->lists->depth, in->lists->width),
               .lens = lens, .base = 2});
    const Sim *out = pith_capacity_fix(s, c, in, I64S(101, 3, 9));
    pt_ok(s, out);
    cr_assert(out->max_edges == 101 && out->lists->depth == 5 && out->lists->width == 9);
    cr_assert(out->lists->other == in->lists->other &&
              out->lists->list != in->lists->list);
    const char *text = pith_capacity_message(s, c, I64S(101, 3, 9));
    cr_assert(strstr(text, ".max_edges is too small: have 100, need 101, new 128") &&
                  strstr(text, ".lists.width is too small: have 3, need 9, new 16"),
              "%s", text);
    close_all();
}

/* Sizes that are leaves of the state, and statics of a record in a child. */
typedef struct {
    int64_t cells, pairs;
} Caps;
PITH_NODE(Caps, PITH_STATIC(cells), PITH_STATIC(pairs))
typedef struct {
    const Caps *caps;
    const void *sizes;
} Holder;
PITH_NODE(Holder, PITH_CHILD(caps, Caps), PITH_TREE(sizes))

Test(fix, trees_of_sizes_keep_their_form) {
    open_all();
    const char *const keys[] = {"a{}", "b"};
    const void *dict =
        pith_dict_make(s, 2, keys, (const void *[]){pith_i32(s, 4), pith_i64(s, 8)});
    const Holder *in =
        pith_freeze(s, Holder, &(Holder){pith_freeze(s, Caps, &(Caps){10, 20}), dict});
    const pith_capacity *c = pith_capacity_make(
        s, &(pith_capacity_options){
               .tree = dict, .lens = PITH_LENS(Holder, sizes), .base = 2});
    pt_ok(s, c);
    const Holder *out = pith_capacity_fix(s, c, in, I64S(2, 9));
    pt_ok(s, out);
    const pith_array *a = pith_dict_get(out->sizes, "a{}"),
                     *b = pith_dict_get(out->sizes, "b");
    cr_assert(pith_read_i64(s, a) == 4 && pith_read_i64(s, b) == 9 &&
              pith_array_spec(a)->dtype == PITH_I32);
    cr_assert(out->caps == in->caps);
    cr_assert_str_eq(
        pith_capacity_message(s, c, I64S(5, 9)),
        "capacity .sizes['a{}'] is too small: have 4, need 5, new 8; capacity .sizes['b'] is too small: have 8, need 9, new 16");
    const pith_capacity *statics = pith_capacity_make(
        s, &(pith_capacity_options){
               .tree = in->caps, .lens = PITH_LENS(Holder, caps), .base = 2});
    out = pith_capacity_fix(s, statics, in, I64S(11, 12));
    pt_ok(s, out);
    cr_assert(out->caps->cells == 11 && out->caps->pairs == 20 &&
              out->sizes == in->sizes);
    pt_ok(s);
    pt_fails(PITH_E_OVERFLOW, s,
             pith_capacity_fix(s, c, in, pith_i64(s, (int64_t)1 << 40)));
    pt_says("a size of 1099511627776 does not fit i32");
    close_all();
}

Test(fix, mistakes_are_named) {
    open_all();
    const Sim *in = start();
    const pith_capacity *two = pith_capacity_make(
        s, &(pith_capacity_options){PITH_SIZES(1, 2), .lens = PITH_LENS(Sim, max_edges),
                                    .base = 2});
    pt_fails(PITH_E_STRUCTURE, s, pith_capacity_fix(s, two, in, pith_i64(s, 500)));
    pt_says("the capacity has 2 sizes, but its lens .max_edges finds 1");
    pt_fails(PITH_E_CAPACITY, s,
             pith_capacity_fix(s,
                               pith_capacity_make(s, &(pith_capacity_options){.size = 3}),
                               in, pith_i64(s, 5)));
    pt_says("fixed capacity is too small: have 3, need 5");
    const pith_capacity *c = pith_lens_capacity(s, PITH_LENS(Sim, max_edges), 100, 2);
    pt_fails(PITH_E_CAPACITY, s, pith_capacity_fix(s, c, in, pith_f64(s, NAN)));
    pt_fails(PITH_E_TYPE, s, pith_capacity_fix(s, c, in->lists, pith_i64(s, 500)));
    const Sim *nil = NULL;
    pt_fails(PITH_E_DTYPE, s, nil = pith_capacity_fix(s, c, in, pith_bool(s, true)));
    cr_assert(nil && !pith_is(Sim, nil), "the nil record");
    close_all();
}
