/* Capacities as objects: kinds, sizes, what they need, how they grow, and what they say.
 */
#include "capacity_test.h"

static const pith_capacity *of_edges(int64_t size, double base) {
    return pith_lens_capacity(s, PITH_LENS(Sim, max_edges), size, base);
}

/* The only size that a need makes a capacity grow to. */
static int64_t grown(const pith_capacity *c, const pith_array *need) {
    const pith_capacity *g = pith_capacity_grown(s, c, need);
    pt_ok(s, g);
    return pith_capacity_size(g);
}

Test(capacity, a_lens_capacity_grows_by_its_base) {
    open_all();
    const pith_capacity *c = of_edges(100, 2);
    pt_ok(s, c);
    cr_assert(pith_capacity_size(c) == 100 && pith_capacity_count(c) == 1);
    cr_assert(grown(c, pith_i64(s, 150)) == 256 && grown(c, pith_i32(s, 100)) == 100);
    cr_assert(pith_capacity_grown(s, c, pith_i64(s, 100)) == c,
              "itself where it suffices");
    cr_assert(grown(of_edges(100, 1), pith_i64(s, 150)) == 150, "exactly");
    cr_assert(grown(of_edges(0, 2), pith_i64(s, 3)) == 4 &&
              grown(of_edges(0, 2), pith_i64(s, 0)) == 0);
    cr_assert(grown(c, pith_i64(s, -7)) == 100, "negative needs pass");
    cr_assert_str_eq(pith_capacity_slot(s, c), ".max_edges");
    pt_ok(s);
    close_all();
}

Test(capacity, fractions_are_rounded_up) {
    open_all();
    const pith_capacity *c = of_edges(15, 1);
    cr_assert(grown(c, pith_f64(s, 15.7)) == 16 && grown(c, pith_f32(s, 15.5f)) == 16);
    cr_assert(pith_capacity_valid(s, c, pith_f64(s, 15)) &&
              !pith_capacity_valid(s, c, pith_f64(s, 15.0001)));
    const pith_array *half = pith_cast(s, pith_f64(s, 15.5), PITH_F16);
    cr_assert(grown(c, half) == 16);
    pt_ok(s);
    close_all();
}

Test(capacity, a_batch_counts_by_its_greatest) {
    open_all();
    const pith_capacity *c = of_edges(100, 2);
    cr_assert(grown(c, I64S(50, 1000, 60)) == 1024);
    const pith_array *square = pith_reshape(s, I64S(1, 2, 130, 4), PITH_SHAPE(2, 2));
    cr_assert(grown(c, square) == 256, "any shape is a batch for one size");
    const int64_t none = 0;
    cr_assert(pith_capacity_valid(s, c, i64s(0, &none)), "an empty batch needs nothing");
    const pith_capacity *two = pith_capacity_make(
        s, &(pith_capacity_options){
               PITH_SIZES(100, 3),
               .lens = pith_lens_merge(s, PITH_LENSES(PITH_LENS(Sim, max_edges),
                                                      PITH_LENS(Sim, lists->width))),
               .base = 2});
    pt_ok(s, two);
    const pith_array *batch = pith_reshape(s, I64S(90, 5, 150, 2), PITH_SHAPE(2, 2));
    const pith_capacity *g = pith_capacity_grown(s, two, batch);
    pt_ok(s, g);
    cr_assert(pith_capacity_size_at(g, 0) == 256 && pith_capacity_size_at(g, 1) == 8);
    close_all();
}

Test(capacity, several_sizes_grow_each_on_its_own) {
    open_all();
    const pith_capacity *c =
        pith_capacity_make(s, &(pith_capacity_options){PITH_SIZES(10, 20, 30)});
    cr_assert(pith_capacity_count(c) == 3 && pith_capacity_size_at(c, 2) == 30);
    cr_assert(pith_capacity_size_at(c, 3) == -1 && pith_capacity_size_at(c, -1) == -1);
    cr_assert(pith_capacity_valid(s, c, I64S(10, 20, 30)) &&
              !pith_capacity_valid(s, c, I64S(10, 21, 30)));
    cr_assert(pith_capacity_valid(s, c, pith_i64(s, 10)) &&
                  !pith_capacity_valid(s, c, pith_i64(s, 11)),
              "a scalar is needed of each");
    const void *sizes = pith_capacity_sizes(s, c);
    cr_assert(pith_kind(sizes) == PITH_NODE_TUPLE &&
              pith_read_i64(s, pith_child(sizes, 1)) == 20);
    cr_assert(pith_kind(pith_capacity_sizes(s, of_edges(7, 2))) == PITH_NODE_LEAF);
    pt_ok(s);
    pt_fails(PITH_E_SHAPE, s, pith_capacity_valid(s, c, I64S(1, 2)));
    pt_says("expected a last extent of 3, the number of sizes, got i64[2]");
    const int64_t none = 0;
    pt_fails(PITH_E_SHAPE, s, pith_capacity_valid(s, c, i64s(0, &none)));
    pt_fails(PITH_E_DTYPE, s, pith_capacity_valid(s, c, pith_bool(s, true)));
    close_all();
}

Test(capacity, options_that_contradict_each_other_are_refused) {
    open_all();
    static const pith_capacity_kind kind = {.name = "pool"};
    const pith_lens *lens = PITH_LENS(Sim, max_edges);
    const pith_capacity *c = pith_capacity_make(s, NULL);
    pt_ok(s, pith_capacity_count(c) == 1 && pith_capacity_size(c) == 0);
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.size = 1, .from = c}));
    pt_says("expected one of size, sizes, tree and from, got several");
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(
                 s, &(pith_capacity_options){PITH_SIZES(1, 2), .tree = pith_i64(s, 1)}));
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(
                 s, &(pith_capacity_options){.size = 1, .fixed = true, .kind = &kind}));
    pt_says("a fixed capacity has no kind");
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.from = c, .base = 2}));
    pt_says("takes no fixed, kind, closure or base");
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(
                 s, &(pith_capacity_options){.size = 1, .lens = lens, .base = NAN}));
    const pith_capacity *three = pith_capacity_make(
        s, &(pith_capacity_options){.size = 3, .lens = lens, .base = 2, .factor = 3});
    pt_ok(s, pith_capacity_size(three) == 9 && grown(three, pith_i64(s, 10)) == 12);
    close_all();
}

/* ---- Trees of sizes ---- */

typedef struct {
    int64_t edges, cells;
    double share; /* no size */
} Sizes;
PITH_NODE(Sizes, PITH_STATIC(edges), PITH_STATIC(cells), PITH_STATIC(share))

Test(capacity, sizes_may_be_any_tree_of_integers) {
    open_all();
    const char *const keys[] = {"b", "a"};
    const pith_array *one = pith_i32(s, 10), *two = pith_i64(s, 20);
    const void *pair = pith_tuple_make(s, PITH_ITEMS(one, two));
    const void *record = pith_freeze(s, Sizes, &(Sizes){30, 40, 0.5});
    const void *tree = pith_dict_make(s, 2, keys, (const void *[]){pair, record});
    const pith_capacity *c =
        pith_capacity_make(s, &(pith_capacity_options){.tree = tree});
    pt_ok(s, c);
    const int64_t expected[] = {30, 40, 10, 20}; /* keys are sorted */
    cr_assert(pith_capacity_count(c) == 4);
    for (int i = 0; i < 4; i++)
        cr_assert(pith_capacity_size_at(c, i) == expected[i]);
    cr_assert(pith_tree_equal(s, pith_capacity_sizes(s, c), tree));
    const void *twice = pith_capacity_sizes(
        s, pith_capacity_make(s, &(pith_capacity_options){.from = c, .factor = 2}));
    pt_ok(s, twice);
    const Sizes *part = pith_dict_get(twice, "a");
    cr_assert(part->edges == 60 && part->cells == 80 && part->share == 0.5);
    const pith_array *first = pith_child(pith_dict_get(twice, "b"), 0);
    cr_assert(pith_array_spec(first)->dtype == PITH_I32 && pith_read_i64(s, first) == 20);
    /* kUPS cannot say what is wrong with a dict of sizes, nor repair one. */
    pt_fails(PITH_E_CAPACITY, s, pith_capacity_check(s, c, I64S(31, 1, 1, 25)));
    pt_says("fixed capacity ['a'].edges is too small: have 30, need 31; "
            "fixed capacity ['b'][1] is too small: have 20, need 25");
    close_all();
}

Test(capacity, refuses_what_is_no_size) {
    open_all();
    pt_fails(
        PITH_E_DTYPE, s,
        pith_capacity_make(s, &(pith_capacity_options){
                                  .tree = pith_tuple_make(
                                      s, PITH_ITEMS(pith_i64(s, 1), pith_f64(s, 2)))}));
    pt_says("[1]: pith_capacity_make: sizes: expected an integer of rank 0, got f64");
    pt_fails(PITH_E_SHAPE, s,
             pith_capacity_make(s, &(pith_capacity_options){.tree = I64S(1, 2)}));
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.tree = pith_none_make(s)}));
    pt_says("the tree has no sizes");
    pt_fails(PITH_E_ARG, s, pith_capacity_make(s, &(pith_capacity_options){.size = -1}));
    pt_fails(PITH_E_ARG, s, pith_capacity_make(s, &(pith_capacity_options){.count = 2}));
    pt_says("expected sizes, got 2 at NULL");
    const int64_t none = 0;
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.sizes = &none}));
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.tree = pith_i64(s, -4)}));
    pt_fails(PITH_E_ARG, s, of_edges(10, NAN));
    pt_fails(PITH_E_ARG, s, of_edges(-10, 2));
    close_all();
}

/* ---- Multiplied ---- */

Test(capacity, multiplied_ones_divide_and_nest) {
    open_all();
    const pith_capacity *c = pith_capacity_make(
        s, &(pith_capacity_options){.from = of_edges(10, 2), .factor = 3});
    cr_assert(pith_capacity_size(c) == 30 && grown(c, pith_i64(s, 30)) == 30);
    cr_assert(grown(c, pith_i64(s, 31)) == 48, "11 of 3 grow to 16 of 3");
    const pith_capacity *nested = pith_capacity_make(
        s, &(pith_capacity_options){
               .from = pith_capacity_make(
                   s, &(pith_capacity_options){.from = of_edges(10, 2), .factor = 2}),
               .factor = 2});
    cr_assert(pith_capacity_size(nested) == 40 && grown(nested, pith_i64(s, 41)) == 64);
    cr_assert(grown(nested, pith_f64(s, 40.2)) == 64,
              "rounded up once, at the innermost");
    const pith_capacity *fixed = pith_capacity_make(
        s, &(pith_capacity_options){
               .from = pith_capacity_make(
                   s, &(pith_capacity_options){.size = 5, .message = "no more"}),
               .factor = 4});
    cr_assert(pith_capacity_size(fixed) == 20);
    pt_ok(s);
    pt_fails(PITH_E_CAPACITY, s, pith_capacity_grown(s, fixed, pith_i64(s, 21)));
    pt_says("fixed capacity is too small: have 20 (5 * 4), need 21 (6 * 4); no more");
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){.from = c, .factor = -1}));
    pt_fails(PITH_E_OVERFLOW, s,
             pith_capacity_make(
                 s, &(pith_capacity_options){.from = c, .factor = INT64_MAX / 2}));
    pt_fails(PITH_E_OVERFLOW, s, pith_capacity_grown(s, c, pith_i64(s, INT64_MAX)));
    close_all();
}

/* ---- Messages ---- */

Test(capacity, says_slot_have_need_and_new) {
    open_all();
    const pith_capacity *c = of_edges(100, 2);
    cr_assert_str_eq(pith_capacity_message(s, c, pith_i64(s, 150)),
                     ".max_edges: capacity is too small: have 100, need 150, new 256");
    cr_assert_str_eq(pith_capacity_message(s, c, pith_i64(s, 100)), "");
    cr_assert(pith_capacity_check(s, c, pith_i64(s, 100)));
    cr_assert_str_eq(
        pith_capacity_message(
            s,
            pith_capacity_make(
                s, &(pith_capacity_options){.from = of_edges(32, 2), .factor = 4000}),
            pith_i64(s, 216000)),
        ".max_edges: capacity is too small: have 128000 (32 * 4000), need 216000 (54 * 4000), "
        "new 256000 (64 * 4000)");
    const pith_capacity *more = pith_capacity_make(
        s,
        &(pith_capacity_options){
            .from = pith_capacity_make(
                s, &(pith_capacity_options){.from = c, .message = "edges are {pairs}"}),
            .message = "see the manual"});
    pt_ok(s, more);
    pt_fails(PITH_E_CAPACITY, s, pith_capacity_check(s, more, pith_i64(s, 101)));
    pt_says("new 128; edges are {pairs} see the manual");
    const pith_capacity *named = pith_capacity_make(
        s, &(pith_capacity_options){
               .size = 3, .lens = PITH_LENS(Sim, lists->width), .fixed = true});
    cr_assert_str_eq(pith_capacity_message(s, named, pith_i64(s, 4)),
                     ".lists.width: fixed capacity is too small: have 3, need 4");
    pt_ok(s);
    pt_fails(PITH_E_ARG, s,
             pith_capacity_make(s, &(pith_capacity_options){
                                       .from = c, .lens = PITH_LENS(Sim, lists->width)}));
    close_all();
}

Test(capacity, names_a_few_of_many) {
    open_all();
    int64_t sizes[100], needs[100];
    for (int i = 0; i < 100; i++) {
        sizes[i] = 1;
        needs[i] = 2;
    }
    const pith_capacity *c =
        pith_capacity_make(s, &(pith_capacity_options){.count = 100, .sizes = sizes});
    const char *text = pith_capacity_message(s, c, i64s(100, needs));
    cr_assert(strstr(text, "[3] is too small") && !strstr(text, "[4]") &&
                  strstr(text, "; and 96 more"),
              "%s", text);
    close_all();
}

Test(capacity, what_no_integer_can_be_is_an_error) {
    open_all();
    const pith_capacity *c = of_edges(100, 2);
    const double bad[] = {NAN, INFINITY, 1e300, 0x1p63};
    for (int i = 0; i < 4; i++) {
        const pith_array *need = pith_f64(s, bad[i]);
        cr_assert(!pith_capacity_valid(s, c, need));
        pt_fails(PITH_E_CAPACITY, s, pith_capacity_grown(s, c, need));
        pt_fails(PITH_E_CAPACITY, s, pith_capacity_check(s, c, need));
        pt_says("which exceeds every size");
    }
    const uint64_t huge = UINT64_MAX;
    pt_fails(PITH_E_CAPACITY, s,
             pith_capacity_grown(s, c, pith_array_copy(s, PITH_U64, PITH_SCALAR, &huge)));
    cr_assert(pith_capacity_valid(s, c, pith_f64(s, -INFINITY)));
    close_all();
}

/* ---- Kinds of a user's own ---- */

typedef struct {
    int64_t grows, fixes;
} Count;

static int64_t by_ten(int64_t size, int64_t need, void *closure) {
    (void)size;
    ((Count *)closure)->grows++;
    return (need + 9) / 10 * 10;
}
static int64_t too_little(int64_t size, int64_t need, void *closure) {
    (void)need, (void)closure;
    return size;
}
static const void *widen(pith_scope *in,
                         const void *root,
                         int64_t count,
                         const int64_t *sizes,
                         void *closure) {
    ((Count *)closure)->fixes++;
    cr_assert(count == 1);
    return pith_lens_set_i64_with(in, PITH_LENS(Sim, max_edges), root, sizes[0],
                                  &(pith_lens_options){.resize = true});
}

Test(capacity, kinds_of_a_users_own_work_everywhere) {
    open_all();
    Count count = {0};
    const pith_capacity_kind kind = {.name = "pool", .grow = by_ten, .fix = widen};
    const pith_capacity *c = pith_capacity_make(
        s, &(pith_capacity_options){.size = 100, .kind = &kind, .closure = &count});
    cr_assert(pith_capacity_size(c) == 100 && grown(c, pith_i64(s, 123)) == 130);
    cr_assert_str_eq(pith_capacity_message(s, c, pith_i64(s, 123)),
                     "capacity pool is too small: have 100, need 123, new 130");
    const pith_capacity *twice =
        pith_capacity_make(s, &(pith_capacity_options){.from = c, .factor = 2});
    cr_assert(grown(twice, pith_i64(s, 201)) == 220);
    const Sim *fixed = pith_capacity_fix(s, twice, start(), pith_i64(s, 205));
    pt_ok(s, fixed);
    cr_assert(fixed->max_edges == 103 && count.fixes == 1);
    const pith_capacity_kind exact = {.fix = widen},
                             bad = {.name = "bad", .grow = too_little, .fix = widen},
                             none = {.name = "n"};
    cr_assert(grown(pith_capacity_make(s, &(pith_capacity_options){.size = 5,
                                                                   .kind = &exact,
                                                                   .closure = &count}),
                    pith_i64(s, 7)) == 7);
    pt_ok(s);
    pt_fails(
        PITH_E_CAPACITY, s,
        pith_capacity_grown(
            s,
            pith_capacity_make(
                s, &(pith_capacity_options){.size = 5, .kind = &bad, .closure = &count}),
            pith_i64(s, 7)));
    pt_says("bad grows to 5, expected 7 or more");
    pt_fails(
        PITH_E_CAPACITY, s,
        pith_capacity_fix(
            s,
            pith_capacity_make(
                s, &(pith_capacity_options){.size = 5, .kind = &none, .closure = &count}),
            start(), pith_i64(s, 7)));
    close_all();
}

/* ---- Lifetimes ---- */

Test(capacity, can_be_kept) {
    open_all();
    pith_scope *inner = pith_scope_open_in(s);
    const pith_lens *lens = pith_lens_path(inner, Sim_pith_type(), ".lists.width");
    const pith_capacity *c = pith_capacity_make(
        inner, &(pith_capacity_options){.from = pith_lens_capacity(inner, lens, 3, 2),
                                        .message = "more"});
    const pith_capacity *kept = pith_keep(s, c);
    pt_ok(s, kept && kept != c);
    pith_scope_close(inner);
    cr_assert_str_eq(pith_capacity_message(s, kept, pith_i64(s, 5)),
                     ".lists.width: capacity is too small: have 3, need 5, new 8; more");
    const Sim *fixed = pith_capacity_fix(s, kept, start(), pith_i64(s, 6));
    pt_ok(s, fixed);
    cr_assert(fixed->lists->width == 6);
    cr_assert(pith_capacity_size(NULL) == -1 &&
              pith_capacity_count((const void *)lens) == 0);
    close_all();
}
