/* Records with a match hook are brought into line before maps, stacks, concats, choices
 * and scatters, where and only where the page says so. */
#include "tree_types.h"

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

/* Values in a unit: matched, all are in the smallest one. */
typedef struct {
    const pith_array *value;
    double unit;
} Length;

static void match_lengths(pith_scope *in, int64_t count, const Length **nodes);
PITH_NODE(Length,
          PITH_LEAF(value, "f64[n]"),
          PITH_STATIC(unit),
          PITH_MATCH(match_lengths))

static int calls;
static enum { ALIGN, NOTHING, ANOTHER, FAILS } does = ALIGN;

static void match_lengths(pith_scope *in, int64_t count, const Length **nodes) {
    double least = nodes[0]->unit;
    calls++;
    if (does == FAILS) {
        pith_fail(in, PITH_E_ARG, ".unit", "no units today");
        return;
    }
    for (int64_t i = 1; i < count; i++)
        least = nodes[i]->unit < least ? nodes[i]->unit : least;
    for (int64_t i = 0; i < count; i++) {
        if (!(nodes[i]->unit > least))
            continue;
        const pith_array *ratio = pith_f64(in, nodes[i]->unit / least);
        nodes[i] = pith_freeze(in, Length,
                               &(Length){pith_mul(in, nodes[i]->value, ratio), least});
    }
    if (does == NOTHING)
        nodes[0] = NULL;
    if (does == ANOTHER)
        nodes[1] = (const Length *)(const void *)pith_none_make(in);
}
/* A record around it whose check counts. */
typedef struct {
    const Length *length;
    const pith_array *x;
} Rod;
static int checks;
static void check_rod(pith_scope *in, const Rod *rod) {
    (void)in, (void)rod;
    checks++;
}
PITH_NODE(Rod,
          PITH_CHILD(length, Length),
          PITH_LEAF(x, "f64[m]"),
          PITH_VALIDATE(check_rod))

static const Rod *rod(double first, double unit) {
    const Length length = {pt_array(s, PITH_SHAPE(2), first), unit};
    return pith_freeze(
        s, Rod,
        &(Rod){pith_freeze(s, Length, &length), pt_array(s, PITH_SHAPE(2), first)});
}

static const pith_array *
add(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)closure;
    return pith_add(in, leaf[0], leaf[1]);
}
static const pith_array *
same_leaf(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)in, (void)closure;
    return leaf[0];
}
static bool is_length(const void *node, void *closure) {
    (void)closure;
    return pith_is(Length, node);
}
static const void *first(pith_scope *in, const void *const *node, void *closure) {
    (void)in, (void)closure;
    return node[0];
}

Test(match, aligns_before_every_operation_over_trees) {
    open_all();
    const Rod *metres = rod(1, 1), *halves = rod(10, 0.5);
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(metres)),
                           pith_list_make(s, PITH_ITEMS(halves))};
    calls = 0;
    const Rod *sum = pith_child(pith_tree_map(s, add, NULL, 2, trees, NULL), 0);
    pt_ok(s, pith_is(Rod, sum));
    cr_assert(calls == 1 && sum->length->unit == 0.5);
    cr_assert(pt_first(s, sum->length->value) == 12 && pt_first(s, sum->x) == 11);
    cr_assert(metres->length->unit == 1);

    const Rod *joined = pith_child(pith_tree_concat(s, 2, trees, 0), 0);
    pt_ok(s, joined);
    cr_assert(joined->length->unit == 0.5 && pt_first(s, joined->length->value) == 2);
    const Rod *stacked = pith_child(pith_tree_stack(s, 2, trees), 0);
    pt_ok(s, stacked);
    cr_assert(pt_first(s, stacked->length->value) == 2);
    const Rod *chosen = pith_child(
        pith_tree_where_broadcast_last(s, pith_bool(s, true), trees[0], trees[1]), 0);
    pt_ok(s, chosen);
    cr_assert(chosen->length->unit == 0.5 && pt_first(s, chosen->length->value) == 2);
    const Rod *set = pith_child(
        pith_tree_scatter_set(
            s, trees[1], pith_array_copy(s, PITH_I64, PITH_SHAPE(2), (int64_t[]){1, 0}),
            trees[0], NULL),
        0);
    pt_ok(s, set);
    cr_assert(pt_first(s, set->length->value) == 4);
    cr_assert(calls == 5);
    close_all();
}

Test(match, is_asked_only_where_it_matters) {
    open_all();
    const Rod *a = rod(1, 1), *b = rod(10, 1), *c = rod(10, 0.5);
    calls = checks = 0;
    const void *one[] = {a};
    pt_ok(s, pith_tree_map(s, same_leaf, NULL, 1, one, NULL));
    cr_assert(calls == 0, "a single tree");
    /* Records that agree are left as they are: the nodes around them are not made anew.
     */
    const void *same[] = {a, b}, *other[] = {a, c};
    checks = 0;
    pt_ok(s, pith_tree_map(s, add, NULL, 2, same, NULL));
    cr_assert(calls == 1 && checks == 1, "the result's check only");
    checks = 0;
    pt_ok(s, pith_tree_map(s, add, NULL, 2, other, NULL));
    cr_assert(calls == 2 && checks == 3, "both trees are made anew: %d", checks);
    /* Below what the map's predicate picks nothing is matched. */
    const pith_map_options options = {.is_leaf = is_length, .whole = first};
    const Rod *made = pith_tree_map(s, add, NULL, 2, other, &options);
    pt_ok(s, made);
    cr_assert(calls == 2 && made->length == a->length);
    /* Equality looks at what is there. */
    cr_assert(!pith_tree_equal(s, a, c) && calls == 2);
    close_all();
}

Test(match, tells_what_goes_wrong_with_the_path) {
    open_all();
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(rod(1, 1))),
                           pith_list_make(s, PITH_ITEMS(rod(1, 0.5)))};
    does = NOTHING;
    pt_fails(PITH_E_CALLBACK, s, pith_tree_map(s, add, NULL, 2, trees, NULL));
    pt_says("[0].length: the match hook of Length returned another type for tree 0");
    does = ANOTHER;
    pt_fails(PITH_E_CALLBACK, s, pith_tree_stack(s, 2, trees));
    pt_says("for tree 1");
    does = FAILS;
    pt_fails(PITH_E_ARG, s, pith_tree_concat(s, 2, trees, 0));
    pt_says("[0].length.unit: no units today");
    does = ALIGN;
    /* Where another tree has something else. */
    const void *mixed[] = {pith_list_make(s, PITH_ITEMS(rod(1, 1)->length)),
                           pith_list_make(s, PITH_ITEMS(rod(1, 1)))};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_map(s, add, NULL, 2, mixed, NULL));
    pt_says("[0]: expected Length, got Rod (pith_tree_map: tree 1 against tree 0)");
    /* Other differences are reported as without a hook. */
    const void *uneven[] = {trees[0],
                            pith_list_make(s, PITH_ITEMS(rod(1, 0.5), rod(1, 0.5)))};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_map(s, add, NULL, 2, uneven, NULL));
    pt_says("expected a list of 1, got a list of 2");
    close_all();
}

static void twice(pith_scope *in, int64_t count, const pith_type_spec **nodes) {
    (void)in, (void)count, (void)nodes;
}

Test(match, is_one_a_type) {
    const pith_field fields[] = {
        {.name = "a",
         .kind = PITH_FIELD_HOOK,
         .hook_kind = PITH_HOOK_MATCH,
         .hook = (void (*)(void))twice},
        {.name = "b",
         .kind = PITH_FIELD_HOOK,
         .hook_kind = PITH_HOOK_MATCH,
         .hook = (void (*)(void))twice},
    };
    const pith_type_spec spec = {"TwoMatches", 8, 8, fields, 2, NULL};
    const char *error = pith_type_error(pith_type_register(&spec, NULL));
    cr_assert(error && strstr(error, "a second match, b: a type has only one"), "%s",
              error);
}
