/* Every allocation of a scenario over records, containers and lifetimes fails once. */
#include "fail_allocator.h"
#include "nodes.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>

typedef struct Part {
    const pith_array *x;
    const struct Part *next;
} Part;
PITH_NODE(Part, PITH_LEAF(x, "f64[^n]"), PITH_CHILD(next, Part, .optional = true))
typedef struct Whole {
    const pith_array *y;
    const Part *parts;
} Whole;
PITH_NODE(Whole, PITH_LEAF(y, "f64[n]"), PITH_CHILD(parts, Part))

enum { DEPTH = 40, SHAPES = 40 };

/* A record whose check descends a chain that needs memory for its frames. */
static void fit_below(pith_scope *s) {
    const pith_array *x = NULL;
    const Part *part = NULL;
    pt_again(s, (x = pith_zeros(s, PITH_F64, PITH_SHAPE(4))));
    for (int i = 0; i < DEPTH && !pith_failed(s); i++) {
        const Part value = {x, part};
        pt_again(s, pith_is(Part, part = pith_freeze(s, Part, &value)));
    }
    const Whole value = {x, part}, *whole = NULL;
    pt_again(s, pith_is(Whole, whole = pith_freeze(s, Whole, &value)));
}

/* Many shapes, so that tables grow; strings and static records in them. */
static const void *make_tree(pith_scope *s) {
    const Everything *e = NULL;
    const pith_list *list = NULL;
    const pith_dict *dict = NULL;
    const char *keys[] = {"b", "a"};
    pt_again(s, pith_is(Everything,
                        e = pith_make(s, Everything, NULL, PITH_EXTENTS({"n", 3}))));
    for (int i = 0; i < SHAPES && !pith_failed(s); i++) {
        char label[24];
        snprintf(label, sizeof label, "label %d", i);
        Everything next = *e;
        const Config value = {.iterations = i};
        next.label = label;
        pt_again(s, pith_is(Config, next.config = pith_freeze(s, Config, &value)));
        if (!pith_failed(s))
            pt_again(s, pith_is(Everything, e = pith_freeze(s, Everything, &next)));
    }
    if (pith_failed(s))
        return NULL;
    pt_again(s, (dict = pith_dict_make(s, 2, keys, (const void *[]){e, e->atoms})));
    pt_again(s, (list = pith_list_make(s, PITH_ITEMS(dict, e->x))));
    return list;
}

static void check_tree(const void *tree) {
    const Everything *e = pith_dict_get(pith_child(tree, 0), "b");
    cr_assert(pith_is(Everything, e) && e->config->iterations == SHAPES - 1);
    cr_assert_str_eq(e->label, "label 39");
    cr_assert(e->atoms == pith_dict_get(pith_child(tree, 0), "a"));
    cr_assert(e->x == pith_child(tree, 1));
}

static void move_tree(pith_scope *s, pith_scope *inner) {
    const void *tree = make_tree(inner), *kept = NULL;
    pith_shared *shared = NULL;
    if (pith_failed(inner))
        return;
    pt_again(s, (kept = pith_keep(s, tree)));
    if (pith_failed(s))
        return;
    check_tree(kept);
    pt_again(s, (shared = pith_share(s, tree)));
    if (!pith_failed(s))
        pt_again(s, (kept = pith_adopt(s, shared)));
    if (pith_failed(s))
        pith_unshare(shared);
    else
        check_tree(kept);
    const pith_list *list = NULL; /* its items are kept by the way */
    if (!pith_failed(s))
        pt_again(s, (list = pith_list_make(s, PITH_ITEMS(tree, tree))));
    if (!pith_failed(s))
        cr_assert(pith_child(list, 0) == pith_child(list, 1));
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt), *inner = pith_scope_open_in(s);
    pith_scope_set_validation(inner, false);
    pith_clear(inner);
    if (!pith_failed(inner))
        fit_below(inner);
    if (!pith_failed(inner) && !pith_failed(s))
        move_tree(s, inner);
    const pith_status code = pith_code(s) ? pith_code(s) : pith_code(inner);
    pith_clear(inner);
    pith_scope_close(inner);
    pith_scope_close(s);
    if (pith_runtime_code(rt) == PITH_OK) {
        cr_assert_eq(pithp_node_def_count(rt), 0);
        cr_assert_eq(pith_memory_about(rt).live, 0);
    }
    pith_close(rt);
    return code;
}

Test(node_failure, of_each_allocation_is_survived) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.allocations, 100);
    cr_assert_gt(f.errors, 1);
    cr_assert_gt(f.survived, 50);
}

/* ---- Parts by path ---- */

/* A part that is there is found, one that is not is an error of its own. */
static pith_status look_up(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const Part *part = NULL;
    const Whole *whole = NULL;
    if (!pith_failed(s)) {
        const pith_array *x = NULL;
        pt_again(s, (x = pith_zeros(s, PITH_F64, PITH_SHAPE(4))));
        if (!pith_failed(s))
            pt_again(s, pith_is(Part, part = pith_freeze(s, Part, &(Part){x, NULL})));
        if (!pith_failed(s))
            pt_again(s, pith_is(Whole, whole = pith_freeze(s, Whole, &(Whole){x, part})));
        if (!pith_failed(s))
            pt_again(s, pith_tree_at(s, whole, ".parts.x"));
    }
    pith_status code = pith_code(s);
    if (code == PITH_OK) {
        cr_assert(!pith_tree_at(s, whole, ".parts.y"));
        code = pith_code(s) == PITH_E_PATH ? PITH_OK : pith_code(s);
    }
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(node_failure, parts_by_path_are_found_or_out_of_memory) {
    const pt_failures f = pt_fail_each(look_up);
    cr_assert_gt(f.errors, 1);
}
