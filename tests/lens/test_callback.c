/* What fails after a function of the user's has run within a call is said of the call:
 * its site and its name, not those of what the function called last. */
#include "../tree/tree_types.h"

#include <pith/lens.h>

typedef struct {
    const pith_array *x, *y;
} Pair;
static void check_pair(pith_scope *s, const Pair *pair);
static void match_pairs(pith_scope *s, int64_t count, const Pair **pairs);
PITH_NODE(Pair,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(y, "f64[n]", .optional = true),
          PITH_VALIDATE(check_pair),
          PITH_MATCH(match_pairs))

/* The user's functions call pith on lines of their own. */
static void call(pith_scope *s) {
    (void)pith_zeros(s, PITH_F64, PITH_SHAPE(9));
}
static void check_pair(pith_scope *s, const Pair *pair) {
    (void)pair;
    call(s);
}
static void match_pairs(pith_scope *s, int64_t count, const Pair **pairs) {
    (void)count;
    call(s);
    pairs[0] = NULL;
}
static const void *longer(pith_scope *s, const void *part, void *closure) {
    (void)part, (void)closure;
    return pith_zeros(s, PITH_F64, PITH_SHAPE(9));
}
static const void *
set_nothing(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)root, (void)value, (void)closure;
    call(s);
    return NULL;
}
static const pith_array *
map_longer(pith_scope *s, const pith_array *const *leaf, void *first) {
    return leaf[0] == first ? pith_zeros(s, PITH_F64, PITH_SHAPE(9)) : leaf[0];
}
static const pith_array *
map_nothing(pith_scope *s, const pith_array *const *leaf, void *c) {
    (void)leaf, (void)c;
    call(s);
    return NULL;
}
static const pith_array *
fold_nothing(pith_scope *s, const pith_array *value, const pith_array *leaf, void *c) {
    (void)value, (void)leaf, (void)c;
    call(s);
    return NULL;
}

static char expected[64];
/* The error's site is the line on which this stands. */
#define fails_here(s, ...)                                                               \
    do {                                                                                 \
        snprintf(expected, sizeof expected, "test_callback.c:%d", __LINE__);             \
        (void)(__VA_ARGS__);                                                             \
        cr_assert(pith_failed(s));                                                       \
        cr_assert_str_eq(pith_error_site(s), expected, "%s", pith_message(s));           \
        pith_clear(s);                                                                   \
    } while (0)

Test(callback, errors_after_it_have_the_site_of_the_call) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *two = pith_zeros(s, PITH_F64, PITH_SHAPE(2));
    const pith_array *other = pith_ones(s, PITH_F64, PITH_SHAPE(2));
    const Pair *p = pith_freeze(s, Pair, &((Pair){two, other})),
               *q = pith_freeze(s, Pair, &((Pair){two, NULL}));
    pt_ok(s, p && q);
    const pith_lens *x = PITH_LENS(Pair, x);
    const pith_lens *own = pith_lens_function(s, "own", longer, set_nothing, NULL);
    const pith_lens *behind = pith_lens_focus(s, own, ".y");
    const void *pairs[] = {p, q};
    fails_here(s, pith_lens_apply(s, x, p, longer, NULL));
    fails_here(s, pith_lens_set(s, own, p, two));
    fails_here(s, pith_lens_get(s, behind, p));
    fails_here(s, pith_bound_apply(s, pith_lens_bind(s, x, p), longer, NULL, NULL));
    fails_here(s, pith_tree_map(s, map_longer, (void *)(uintptr_t)p->x, 1,
                                (const void *[]){p}, NULL));
    fails_here(s, pith_tree_map(s, map_nothing, NULL, 1, (const void *[]){p}, NULL));
    fails_here(s, pith_tree_reduce(s, fold_nothing, NULL, p, two));
    fails_here(s, pith_tree_stack(s, 2, pairs));
    /* Check hooks of other records run before the one that fails. */
    const void *list = pith_list_make(s, PITH_ITEMS(q, p));
    fails_here(s, pith_tree_map(s, map_longer, (void *)(uintptr_t)two, 1,
                                (const void *[]){list}, NULL));
    pith_scope_close(s);
    pt_close(rt);
}
