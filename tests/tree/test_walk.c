/* The walker: the order of its visits, skipping, jumping, depth, and the paths it gives.
 */
#include "tree/tree_internal.h"
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

/* All visits as text: "<path" enters, ">path" leaves, "=path" a leaf, "-path" absent. */
static void visits(const void *tree, const char *skip, const char *expected) {
    char text[1024] = "";
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, rt, tree);
    while (pithp_walk_next(&w, &visit)) {
        pithp_string path;
        pithp_string_begin(&path, rt);
        pithp_walk_path(&w, &path);
        static const char marks[] = {[PITHP_VISIT_LEAF] = '=',
                                     [PITHP_VISIT_ENTER] = '<',
                                     [PITHP_VISIT_LEAVE] = '>',
                                     [PITHP_VISIT_ABSENT] = '-'};
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%c%s ", marks[visit], path.bytes);
        if (visit == PITHP_VISIT_ENTER && skip && strcmp(path.bytes, skip) == 0)
            pithp_walk_skip(&w);
        pithp_string_end(&path);
    }
    cr_assert_not(w.failed);
    pithp_walk_end(&w);
    cr_assert_str_eq(text, expected);
}

Test(walk, visits_in_order) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const pith_tuple *pair = pith_tuple_make(s, PITH_ITEMS(x, pith_none_make(s)));
    const Part *part = pith_freeze(s, Part, &(Part){.any = pair});
    const pith_list *list = pith_list_make(s, PITH_ITEMS(part, x));
    visits(list, NULL,
           "< <[0] -[0].leaf <[0].any =[0].any[0] <[0].any[1] >[0].any[1] >[0].any >[0] "
           "=[1] > ");
    visits(list, "[0]", "< <[0] >[0] =[1] > ");
    visits(list, "", "< > ");
    visits(x, NULL, "= ");
    visits(NULL, NULL, "- ");
    visits(pith_list_make(s, 0, NULL), NULL, "< > ");
    close_all();
}

Test(walk, jumps_within_a_node) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(x, x, x, x, x, x));
    pithp_walk w;
    pithp_visit visit;
    pithp_walk_begin(&w, rt, list);
    cr_assert(pithp_walk_next(&w, &visit) && visit == PITHP_VISIT_ENTER);
    cr_assert(pithp_walk_next(&w, &visit) && w.slot == 0);
    pithp_walk_jump(&w, 4);
    cr_assert(pithp_walk_next(&w, &visit) && w.slot == 4);
    pithp_walk_jump(&w, 100);
    cr_assert(pithp_walk_next(&w, &visit) && visit == PITHP_VISIT_LEAVE);
    cr_assert_not(pithp_walk_next(&w, &visit));
    pithp_walk_end(&w);
    close_all();
}

/* Memory for depth may be short: the walk says so, and nothing is lost. */
Test(walk, fails_cleanly_without_memory) {
    open_all();
    const Chain *chain = pt_chain(s, 1000);
    for (int at = 1; at < 4; at++) {
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const int64_t leaves = pith_tree_num_leaves(chain);
        const size_t bytes = pith_tree_bytes(chain);
        atomic_store(&pt_default_heap.fail_at, 0);
        cr_assert(leaves == 1000 || leaves == -1);
        cr_assert(bytes == 8000 || bytes == SIZE_MAX);
        if (at == 1)
            cr_assert(leaves == -1);
    }
    cr_assert(pith_tree_num_leaves(chain) == 1000 && pith_tree_bytes(chain) == 8000);
    close_all();
}
