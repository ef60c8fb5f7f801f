/* Lists, tuples, dicts and none; looking at the nodes of any tree. */
#include "nodes.h"
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>

static pith_runtime *rt;
static pith_scope *s;
static void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_scope(void) {
    pith_scope_close(s);
    pt_close(rt);
}

Test(container, holds_items_in_order, .init = open_scope) {
    const pith_array *a = pith_f64(s, 1), *b = pith_i32(s, 2);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(a, b, a));
    const pith_tuple *tuple = pith_tuple_make(s, PITH_ITEMS(list, b));
    const pith_none *none = pith_none_make(s);
    pt_ok(s, list && tuple && none);
    cr_assert(pith_kind(list) == PITH_NODE_LIST && pith_kind(tuple) == PITH_NODE_TUPLE &&
              pith_kind(none) == PITH_NODE_NONE && pith_kind(a) == PITH_NODE_LEAF);
    cr_assert(pith_child_count(list) == 3 && pith_child_count(tuple) == 2 &&
              pith_child_count(none) == 0 && pith_child_count(a) == 0);
    cr_assert(pith_child(list, 0) == a && pith_child(list, 1) == b &&
              pith_child(tuple, 0) == list);
    cr_assert_null(pith_child(list, 3));
    cr_assert_null(pith_child(list, -1));
    cr_assert_null(pith_child(a, 0));
    cr_assert_null(pith_child_name(list, 0));
    cr_assert(pithp_node_def_of(list)->all_leaves &&
              !pithp_node_def_of(tuple)->all_leaves);
    const pith_list *empty = pith_list_make(s, 0, NULL);
    pt_ok(s, empty);
    cr_assert_eq(pith_child_count(empty), 0);
    close_scope();
}

Test(container, dicts_are_sorted_by_code_point, .init = open_scope) {
    const void *items[6];
    for (int i = 0; i < 6; i++)
        items[i] = pith_i32(s, i);
    const char *keys[6] = {"b", "\xf0\x9f\x98\x80", "", "\xef\xbf\xbd", "a.b['x']", "B"};
    const pith_dict *dict = pith_dict_make(s, 6, keys, items);
    pt_ok(s, dict);
    const char *order[6] = {"", "B", "a.b['x']", "b", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
    for (int i = 0; i < 6; i++)
        cr_assert_str_eq(pith_child_name(dict, i), order[i]);
    for (int i = 0; i < 6; i++)
        cr_assert(pith_dict_get(dict, keys[i]) == items[i]);
    cr_assert_null(pith_dict_get(dict, "c"));
    cr_assert_null(pith_dict_get(dict, NULL));
    cr_assert_null(pith_dict_get((const pith_dict *)items[0], "b"));
    cr_assert_eq(pith_kind(dict), PITH_NODE_DICT);
    close_scope();
}

Test(container, keys_that_are_none_are_refused, .init = open_scope) {
    const void *items[2] = {pith_f64(s, 1), pith_f64(s, 2)};
    pt_fails(PITH_E_ARG, s, pith_dict_make(s, 2, (const char *[]){"x", "x"}, items));
    pt_says("['x']: duplicate key");
    static const char *const malformed[] = {"\x80",
                                            "\xc1\xbf",
                                            "\xe0\x80\x80",
                                            "\xed\xa0\x80",
                                            "\xf0\x80\x80\x80",
                                            "\xf4\x90\x80\x80",
                                            "\xf5\x80\x80\x80",
                                            "a\xc3",
                                            "\xe2\x82",
                                            "\xff"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        pt_fails(PITH_E_ARG, s,
                 pith_dict_make(s, 2, (const char *[]){"a", malformed[i]}, items));
        pt_says("key 1 is not valid UTF-8");
    }
    pt_fails(PITH_E_ARG, s, pith_dict_make(s, 2, (const char *[]){NULL, "a"}, items));
    pt_says("key 0 is NULL");
    pt_fails(PITH_E_ARG, s, pith_dict_make(s, 2, NULL, items));
    close_scope();
}

Test(container, items_that_are_none_are_refused, .init = open_scope) {
    const pith_array *a = pith_f64(s, 1);
    double number = 1;
    pt_fails(PITH_E_ARG, s, pith_list_make(s, PITH_ITEMS(a, NULL)));
    pt_says("[1]: expected a tree, got NULL");
    pt_fails(PITH_E_ARG, s, pith_tuple_make(s, PITH_ITEMS(&number, a)));
    pt_says("[0]: expected a tree, got a pointer that is not frozen");
    pt_fails(PITH_E_ARG, s,
             pith_dict_make(s, 2, (const char *[]){"k", "it's"}, (const void *[]){a, s}));
    pt_says("['it\\'s']: expected a tree");
    pt_fails(PITH_E_ARG, s, pith_list_make(s, 1, NULL));
    pt_fails(PITH_E_ARG, s, pith_list_make(s, -PITH_ITEMS(a)));
    pt_fails(PITH_E_ARG, s, pith_list_make(s, INT64_MAX, (const void *[]){a}));
    pt_fails(PITH_E_ARG, s,
             pith_list_make(s, PITH_ITEMS(pith_initial_any(Atoms_pith_type()))));
    close_scope();
}

Test(container, records_are_looked_at_alike, .init = open_scope) {
    const Everything *e = pith_make(s, Everything, NULL, PITH_EXTENTS({"n", 2}));
    pt_ok(s, e);
    cr_assert_eq(pith_kind(e), PITH_NODE_RECORD);
    cr_assert_eq(pith_child_count(e), 5);
    cr_assert(pith_child(e, 0) == e->atoms && pith_child(e, 1) == e->x);
    cr_assert_null(pith_child(e, 2));
    cr_assert_str_eq(pith_child_name(e, 4), "next");
    cr_assert_null(pith_child_name(e, 5));
    close_scope();
}

Test(container, what_is_no_tree_is_absent, .init = open_scope) {
    double number = 1;
    cr_assert_eq(pith_kind(NULL), PITH_NODE_ABSENT);
    cr_assert_str_eq(pith_node_kind_name(PITH_NODE_ABSENT), "absent");
    cr_assert_str_eq(pith_node_kind_name(PITH_NODE_RECORD), "record");
    cr_assert_str_eq(pith_node_kind_name(PITH_NODE_NONE), "none");
    cr_assert(!pith_node_kind_name((pith_node_kind)(PITH_NODE_NONE + 1)));
    cr_assert_eq(pith_kind(&number), PITH_NODE_ABSENT);
    cr_assert_eq(pith_kind(s), PITH_NODE_ABSENT);
    cr_assert_eq(pith_child_count(&number), 0);
    cr_assert_null(pith_child(s, 0));
    cr_assert_null(pith_type_of(&number));
    close_scope();
}

Test(container, a_million_items, .init = open_scope) {
    enum { COUNT = 1000000 };
    const void **items = malloc(COUNT * sizeof *items);
    const pith_array *two[2] = {pith_f64(s, 0), pith_f64(s, 1)};
    for (int i = 0; i < COUNT; i++)
        items[i] = two[i % 2];
    const pith_list *list = pith_list_make(s, COUNT, items);
    pt_ok(s, list);
    cr_assert(pith_child(list, COUNT - 1) == two[1]);
    free(items);
    close_scope();
}
