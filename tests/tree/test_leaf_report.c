/* With mode error, an index out of range of a leaf is reported with the leaf's path. */
#include "tree_types.h"

#include <pith/jit.h>
#include <pith/lens.h>

static const pith_take_options strict = {.mode = PITH_INDEX_ERROR};
static const pith_scatter_options strictly = {.mode = PITH_INDEX_ERROR};

static const pith_list *make(pith_scope *s) {
    const pith_array *three = pt_array(s, PITH_SHAPE(3), 1),
                     *two = pt_array(s, PITH_SHAPE(2), 1);
    const char *const keys[] = {"a", "b"};
    return pith_list_make(
        s, PITH_ITEMS(three, pith_dict_make(s, 2, keys, (const void *[]){three, two})));
}

static const pith_array *index_of(pith_scope *s, int32_t i) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(2), (int32_t[]){0, i});
}

Test(leaf_report, names_the_path_of_the_leaf) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_list *tree = make(s);
    pt_fails(PITH_E_INDEX, s,
             (pith_tree_take(s, tree, index_of(s, 2), &strict), pith_wait(s)));
    pt_says("[1]['b']: pith_tree_take: index 2 at position 1 is out of range for axis 0 "
            "with extent 2");
    cr_assert_str_eq(pt_error.path, "[1]['b']");
    const void *rows = pith_tree_take(s, tree, index_of(s, 1), &strict);
    pt_ok(s, rows);
    pt_fails(
        PITH_E_INDEX, s,
        (pith_tree_scatter_set(s, tree, index_of(s, -3), rows, &strictly), pith_wait(s)));
    pt_says("[1]['b']: pith_tree_scatter_set: index -3");
    const pith_lens *at = pith_lens_at(s, pith_lens_path(s, NULL, "[1]"), index_of(s, 5),
                                       &(pith_lens_at_options){.mode = PITH_INDEX_ERROR});
    pt_fails(PITH_E_INDEX, s, (pith_lens_get(s, at, tree), pith_wait(s)));
    pt_says("['a']: pith_lens_get: index 5");
    /* Arrays by themselves are what they were. */
    pt_fails(PITH_E_INDEX, s,
             (pith_take(s, pith_child(tree, 0), index_of(s, 9), &strict), pith_wait(s)));
    cr_assert_str_eq(pt_error.path, "");
    pith_scope_close(s);
    pt_close(rt);
}

typedef struct {
    const pith_array *a, *b;
} Rows;
PITH_NODE(Rows, PITH_LEAF(a, "f64[n]"), PITH_LEAF(b, "f64[m]"))
static const Rows *take(pith_scope *s, const Rows *tree, const pith_array *at) {
    return pith_tree_take(s, tree, at, &strict);
}
PITH_FUNCTION2(take_function, take, Rows, Rows, pith_array)

Test(leaf_report, names_it_in_compiled_functions) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *f = pith_jit(s, &take_function, NULL);
    for (int k = 0; k < 3; k++) {
        const Rows rows = {pt_array(s, PITH_SHAPE(3), 1), pt_array(s, PITH_SHAPE(2), 1)};
        const void *arguments[] = {pith_freeze(s, Rows, &rows), index_of(s, 2)};
        pt_fails(PITH_E_INDEX, s, (pith_call(s, f, 2, arguments), pith_wait(s)));
        pt_says(".b: pith_tree_take: index 2 at position 1");
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* An option that is invalid for one leaf names that leaf too. */
Test(leaf_report, names_the_leaf_of_an_invalid_option) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_list *tree = make(s);
    pt_fails(PITH_E_ARG, s,
             pith_tree_take(s, tree, index_of(s, 0),
                            &(pith_take_options){.mode = (pith_index_mode)77}));
    pt_says("[0]: pith_tree_take: invalid index mode 77");
    pt_fails(PITH_E_ARG, s,
             pith_tree_scatter_set(s, tree, index_of(s, 0), tree,
                                   &(pith_scatter_options){.mode = (pith_index_mode)77}));
    pt_says("[0]: pith_scatter_set: invalid index mode 77");
    pith_scope_close(s);
    pt_close(rt);
}
