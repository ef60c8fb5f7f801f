/* Treedefs: equality and hash by value, absence against none, empty and leaf, rebuilding,
 * lifetimes, and every way in which unflatten refuses. */
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

static bool same(const void *a, const void *b) {
    const pith_treedef *x = pith_tree_structure(s, a), *y = pith_tree_structure(s, b);
    pt_ok(s, x && y);
    const bool equal = pith_treedef_equal(x, y);
    if (equal)
        cr_assert(pith_treedef_hash(x) == pith_treedef_hash(y));
    cr_assert(equal == pith_treedef_equal(y, x));
    return equal;
}

/* In every position of a record, list and dict: what is there is part of the structure.
 */
Test(treedef, tells_absent_none_empty_and_leaf_apart) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *inner[] = {
        NULL,
        x,
        pith_none_make(s),
        pith_list_make(s, 0, NULL),
        pith_tuple_make(s, 0, NULL),
        pith_dict_make(s, 0, NULL, NULL),
        pith_list_make(s, PITH_ITEMS(x)),
        pith_tuple_make(s, PITH_ITEMS(x)),
        pith_freeze(s, Part, &(Part){.number = 1}),
        pith_freeze(s, Part, &(Part){.leaf = x}),
    };
    enum { KINDS = sizeof inner / sizeof inner[0] };
    pt_ok(s);
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) {
            const Part *a = pith_freeze(s, Part, &(Part){.any = inner[i]});
            const Part *b = pith_freeze(s, Part, &(Part){.any = inner[j]});
            cr_assert(same(a, b) == (i == j), "%d %d", i, j);
            if (!inner[i] || !inner[j])
                continue;
            cr_assert(same(inner[i], inner[j]) == (i == j));
            for (int at = 0; at < 3; at++) {
                const void *left[] = {x, x, x}, *right[] = {x, x, x};
                left[at] = inner[i];
                right[at] = inner[j];
                cr_assert(same(pith_list_make(s, 3, left), pith_list_make(s, 3, right)) ==
                          (i == j));
                static const char *const keys[] = {"a", "b", "c"};
                cr_assert(same(pith_dict_make(s, 3, keys, left),
                               pith_dict_make(s, 3, keys, right)) == (i == j));
            }
        }
    /* the same leaves in the same order, in other nodes */
    const void *pair = pith_list_make(s, PITH_ITEMS(x, x));
    cr_assert(!same(pith_list_make(s, PITH_ITEMS(pair, x)),
                    pith_list_make(s, PITH_ITEMS(x, pair))));
    cr_assert(!same(pith_list_make(s, PITH_ITEMS(pair)), pair));
    close_all();
}

Test(treedef, compares_statics_specs_and_keys) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f32(s, 1);
    const pith_array *v = pt_array(s, PITH_SHAPE(1), 1);
    cr_assert(same(pith_freeze(s, Part, &(Part){.leaf = x, .number = 3}),
                   pith_freeze(s, Part, &(Part){.leaf = pith_f64(s, 9), .number = 3})));
    cr_assert(!same(pith_freeze(s, Part, &(Part){.leaf = x, .number = 3}),
                    pith_freeze(s, Part, &(Part){.leaf = x, .number = 4})));
    cr_assert(!same(x, y));
    cr_assert(!same(x, v), "rank 0 is not [1]");
    cr_assert(!same(pith_list_make(s, PITH_ITEMS(x)), pith_list_make(s, PITH_ITEMS(y))));
    static const char *const a[] = {"a"}, *const b[] = {"b"};
    const void *items[] = {x};
    cr_assert(!same(pith_dict_make(s, 1, a, items), pith_dict_make(s, 1, b, items)));
    cr_assert(same(pith_dict_make(s, 1, a, items), pith_dict_make(s, 1, a, items)));
    close_all();
}

/* Statics with gaps between them, whose bytes are whatever was on the stack. */
typedef struct {
    const pith_array *leaf;
    bool flag;
    double number;
    bool other;
} Gaps;
PITH_NODE(Gaps,
          PITH_LEAF(leaf, "any[...]"),
          PITH_STATIC(flag),
          PITH_STATIC(number),
          PITH_STATIC(other))

static const Gaps *gaps(const pith_array *leaf, double number, int noise) {
    Gaps value;
    memset(&value, noise, sizeof value);
    value.leaf = leaf;
    value.flag = value.other = true;
    value.number = number;
    return pith_freeze(s, Gaps, &value);
}

static void compare_numbers(void) {
    const uint64_t payload = UINT64_C(0xfff8000000000123);
    double nan;
    memcpy(&nan, &payload, sizeof nan);
    const pith_array *x = pith_f64(s, 1);
    const double numbers[] = {0, -0.0, (double)NAN, 1, nextafter(1, 2), 5e-324};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
    for (int i = 0; i < NUMBERS; i++)
        for (int k = 0; k < NUMBERS; k++) {
            const void *a = gaps(x, numbers[i], 0x5a), *b = gaps(x, numbers[k], 0xa5);
            const void *pair = pith_list_make(s, PITH_ITEMS(a, x));
            cr_assert(same(a, b) == (i == k), "%g %g", numbers[i], numbers[k]);
            cr_assert(same(pair, pith_list_make(s, PITH_ITEMS(b, x))) == (i == k));
            cr_assert(!same(pair, pith_tuple_make(s, PITH_ITEMS(b, x))));
        }
    cr_assert(same(gaps(x, nan, 0), gaps(x, (double)NAN, 0xff)), "all NaN are one");
}

Test(treedef, compares_numbers_by_value_and_no_padding) {
    open_all();
    compare_numbers();
    close_all();
}

/* The same where all hashes of nodes are one. */
Test(treedef, that_collide_stay_apart) {
    open_all();
    pithp_node_def_hash_mask = 0;
    compare_numbers();
    close_all();
    pithp_node_def_hash_mask = UINT64_MAX;
}

/* Counts and emptiness; nothing is asked of what is no structure. */
Test(treedef, counts) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_treedef *def = pith_tree_structure(s, sim);
    cr_assert(pith_treedef_num_leaves(def) == 4);
    cr_assert(pith_treedef_num_nodes(def) == 6);
    cr_assert(pith_tree_bytes(sim) == 3 * 4 * 3 * 8 + 4 * 8 * 4);
    const pith_treedef *none = pith_tree_structure(s, pith_none_make(s));
    cr_assert(pith_treedef_num_leaves(none) == 0 && pith_treedef_num_nodes(none) == 1);
    cr_assert(pith_treedef_num_leaves(NULL) == 0);
    cr_assert(pith_treedef_num_nodes((const pith_treedef *)(const void *)sim) == 0);
    cr_assert(pith_treedef_hash(NULL) == 0);
    cr_assert(!pith_treedef_equal(def, NULL));
    cr_assert(!pith_treedef_equal((const pith_treedef *)(const void *)&rt, def));
    cr_assert(pith_tree_num_leaves(NULL) == 0 && pith_tree_bytes(&rt) == 0);
    cr_assert(pith_tree_num_leaves(def) == 0);
    close_all();
}

Test(treedef, rebuilds_a_leaf_and_an_empty_tree) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const pith_treedef *def = pith_tree_structure(s, x);
    cr_assert(pith_tree_unflatten(s, def, 1, &y) == y);
    def = pith_tree_structure(s, pith_none_make(s));
    cr_assert(pith_kind(pith_tree_unflatten(s, def, 0, NULL)) == PITH_NODE_NONE);
    const void *empty = pith_list_make(s, 0, NULL);
    def = pith_tree_structure(s, empty);
    cr_assert(pith_kind(pith_tree_unflatten(s, def, 0, NULL)) == PITH_NODE_LIST);
    close_all();
}

Test(treedef, keeps_statics_and_shared_leaves) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_list *twice = pith_list_make(s, PITH_ITEMS(sim, sim, sim->neighbour));
    const pith_array *const *leaves;
    const pith_treedef *def = pith_tree_flatten(s, twice, &leaves);
    cr_assert(leaves[0] == leaves[4] && leaves[3] == leaves[8]);
    const pith_list *made = pith_tree_unflatten(s, def, 9, leaves);
    pt_ok(s, made);
    const Sim *again = pith_child(made, 1);
    cr_assert(pith_is(Sim, again) && again != sim);
    cr_assert(again->max_neighbour == 8 && again->cutoff == 2.5);
    cr_assert(again->atoms->velocity == sim->atoms->velocity);
    cr_assert(pith_tree_equal(s, twice, made));
    close_all();
}

Test(treedef, refuses_leaves_that_do_not_fit) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_array *const *leaves;
    const pith_treedef *def = pith_tree_flatten(s, sim, &leaves);
    const pith_array *mine[4];
    memcpy(mine, leaves, sizeof mine);

    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 3, mine));
    pt_says("expected 4 leaves, got 3");
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 4, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, NULL, 4, mine));
    pt_says("def is NULL");
    pt_fails(PITH_E_ARG, s,
             pith_tree_unflatten(s, (const pith_treedef *)(const void *)sim, 4, mine));
    pt_says("not a treedef");

    mine[1] = NULL;
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 4, mine));
    cr_assert_str_eq(pt_error.path, ".atoms.velocity");
    pt_says("the leaf is NULL");
    mine[1] = (const pith_array *)(const void *)sim;
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 4, mine));
    pt_says(".atoms.velocity: expected a leaf, got Sim");
    mine[1] = (const pith_array *)(const void *)mine;
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 4, mine));
    const pith_array *dropped = pt_array(s, PITH_SHAPE(4, 3), 0);
    pith_drop(s, dropped);
    mine[1] = dropped;
    pt_fails(PITH_E_ARG, s, pith_tree_unflatten(s, def, 4, mine));
    pt_says("dropped");

    mine[1] = pt_array(s, PITH_SHAPE(5, 3), 0);
    pt_fails(PITH_E_SHAPE, s, pith_tree_unflatten(s, def, 4, mine));
    cr_assert_str_eq(pt_error.path, ".atoms.velocity");
    pt_says("expected f64[n=4,3], got f64[5,3]");
    mine[1] = leaves[1];
    mine[3] = leaves[0];
    pt_fails(PITH_E_DTYPE, s, pith_tree_unflatten(s, def, 4, mine));
    cr_assert_str_eq(pt_error.path, ".neighbour");

    /* other specs that fit what the records declare are welcome */
    for (int i = 0; i < 3; i++)
        mine[i] = pt_array(s, PITH_SHAPE(2, 3), i);
    int32_t zeros[16] = {0};
    mine[3] = pith_array_copy(s, PITH_I32, PITH_SHAPE(2, 8), zeros);
    const Sim *small = pith_tree_unflatten(s, def, 4, mine);
    pt_ok(s, small);
    cr_assert(small->atoms->force == mine[2] && small->max_neighbour == 8);
    close_all();
}

Test(treedef, gives_the_nil_record_on_failure) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_treedef *def = pith_tree_structure(s, sim);
    const Sim *nil = pith_tree_unflatten(s, def, 0, NULL);
    cr_assert(nil && nil->max_neighbour == 0 && nil->atoms);
    nil = pith_tree_zeros_like(s, sim); /* on a failed scope */
    cr_assert(nil && nil->max_neighbour == 0);
    cr_assert(pith_code(s) == PITH_E_ARG);
    pith_clear(s);
    pt_fails(PITH_E_ARG, s, pith_tree_structure(s, nil));
    close_all();
}

/* A structure outlives the tree it was made of, and leaves are kept where they must be.
 */
Test(treedef, outlives_the_tree) {
    open_all();
    pith_scope *inner = pith_scope_open_in(s);
    const Sim *sim = pt_sim(inner, 4, 8, 7);
    const pith_treedef *def = pith_tree_structure(s, sim);
    pt_ok(s, def);
    const pith_array *const *leaves;
    pith_tree_flatten(inner, sim, &leaves);
    const Sim *made = pith_tree_unflatten(s, def, 4, leaves);
    pt_ok(s, made);
    cr_assert(made->neighbour != leaves[3], "it was kept");
    pith_scope_close(inner);
    cr_assert(pt_first(s, made->atoms->position) == 7);
    cr_assert(made->max_neighbour == 8);

    /* and with the structure in the shorter scope */
    inner = pith_scope_open_in(s);
    sim = pt_sim(inner, 4, 8, 7);
    def = pith_tree_flatten(inner, sim, &leaves);
    const pith_array *own[4];
    const pith_treedef *mine = pith_tree_flatten(s, made, &leaves);
    memcpy(own, leaves, sizeof own);
    cr_assert(pith_treedef_equal(def, mine));
    const Sim *third = pith_tree_unflatten(s, def, 4, own);
    pith_scope_close(inner);
    cr_assert(third->cutoff == 2.5 && third->atoms->position == own[0]);
    cr_assert(pith_treedef_equal(pith_tree_structure(s, third), mine));
    close_all();
}

Test(treedef, finds_a_dropped_leaf) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *y = pith_f64(s, 2);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(x, y, x));
    const Part *part = pith_freeze(s, Part, &(Part){.leaf = x, .any = list});
    pt_ok(s, part);
    pith_drop(s, y);
    pt_fails(PITH_E_ARG, s, pith_tree_structure(s, part));
    cr_assert_str_eq(pt_error.path, ".any[1]");
    pt_says("dropped");
    close_all();
}

/* Hooks run for rebuilt records, also where no leaf changed, unless they are suspended.
 */
typedef struct {
    const pith_array *value;
    int64_t most;
} Checked;
static int hook_calls;
static void check_value(pith_scope *in, const Checked *c) {
    hook_calls++;
    if (pith_array_spec(c->value)->count > c->most)
        pith_fail(in, PITH_E_CHECK, ".value", "more than %lld", (long long)c->most);
}
PITH_NODE(Checked,
          PITH_LEAF(value, "any[...]"),
          PITH_STATIC(most),
          PITH_VALIDATE(check_value))

Test(treedef, runs_hooks) {
    open_all();
    const pith_array *v = pt_array(s, PITH_SHAPE(3), 0);
    const Checked *c = pith_freeze(s, Checked, &(Checked){v, 3});
    const pith_list *list = pith_list_make(s, PITH_ITEMS(c, c));
    const pith_array *const *leaves;
    const pith_treedef *def = pith_tree_flatten(s, list, &leaves);
    hook_calls = 0;
    pt_ok(s, pith_tree_unflatten(s, def, 2, leaves));
    cr_assert(hook_calls == 2);
    const pith_array *mine[] = {v, pt_array(s, PITH_SHAPE(4), 0)};
    pt_fails(PITH_E_CHECK, s, pith_tree_unflatten(s, def, 2, mine));
    cr_assert_str_eq(pt_error.path, "[1].value");
    pt_says("more than 3");
    pith_scope_set_validation(s, false);
    hook_calls = 0;
    pt_ok(s, pith_tree_unflatten(s, def, 2, mine));
    cr_assert(hook_calls == 0);
    close_all();
}

/* Many unflattenings in scopes of their own leave memory as it was. */
Test(treedef, leaves_memory_flat) {
    open_all();
    const pith_array *const *leaves;
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(sim, sim, sim, sim));
    size_t bytes = 0;
    for (int i = 0; i < 2000; i++) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_treedef *def = pith_tree_flatten(inner, list, &leaves);
        pt_ok(inner, pith_tree_unflatten(inner, def, 16, leaves));
        pith_scope_close(inner);
        if (i == 1000)
            bytes = pithp_bytes_allocated(rt);
    }
    cr_assert(pithp_bytes_allocated(rt) == bytes);
    close_all();
}

/* Every allocation fails once: a clean error, and nothing is lost. */
Test(treedef, survives_allocation_failure) {
    open_all();
    const pith_array *x = pith_f64(s, 1);
    const void *items[100];
    for (int i = 0; i < 100; i++)
        items[i] = i % 2 ? (const void *)pith_list_make(s, PITH_ITEMS(x, x, x)) : x;
    const pith_list *list = pith_list_make(s, 100, items);
    const pith_array *const *leaves;
    pt_ok(s, pith_tree_flatten(s, list, &leaves));
    int failures = 0;
    for (long long at = 1; at < 200; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        pith_clear(inner);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_treedef *def = pith_tree_flatten(inner, list, &leaves);
        const void *made = pith_tree_unflatten(inner, def, 200, leaves);
        atomic_store(&pt_default_heap.fail_at, 0);
        if (pith_failed(inner)) {
            cr_assert(pith_code(inner) == PITH_E_MEMORY, "%s", pith_message(inner));
            cr_assert_null(made);
            failures++;
        } else {
            cr_assert(made);
        }
        pith_clear(inner);
        pith_scope_close(inner);
    }
    cr_assert(failures >= 3, "%d", failures);
    cr_assert(pith_tree_num_leaves(list) == 200);
    close_all();
}
