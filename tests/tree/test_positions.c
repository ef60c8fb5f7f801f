/* Every operation over trees, with every kind of node in every position, with one leaf in
 * two places, over batches, and with the checks that the page says run. */
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

static const pith_array *
same_leaf(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)in, (void)closure;
    return leaf[0];
}

/* The operations over two trees; leaves have one row. */
static const void *map_both(const void *const *trees) {
    return pith_tree_map(s, same_leaf, NULL, 2, trees, NULL);
}
static const void *map_expression(const void *const *trees) {
    return pith_tree_map_expression(s, "a + b", 2, trees, 0, NULL);
}
static const void *stack(const void *const *trees) {
    return pith_tree_stack(s, 2, trees);
}
static const void *concat(const void *const *trees) {
    return pith_tree_concat(s, 2, trees, 0);
}
static const void *where(const void *const *trees) {
    const pith_array *pick = pith_zeros(s, PITH_BOOL, PITH_SHAPE(1));
    return pith_tree_where_broadcast_last(s, pick, trees[0], trees[1]);
}
static const void *scatter(const void *const *trees) {
    const pith_array *index = pith_zeros(s, PITH_I64, PITH_SHAPE(1));
    return pith_tree_scatter_set(s, trees[0], index, trees[1], NULL);
}

static const struct {
    const char *name;
    const void *(*run)(const void *const *trees);
} operations[] = {{"map", map_both}, {"map_expression", map_expression},
                  {"stack", stack},  {"concat", concat},
                  {"where", where},  {"scatter", scatter}};
enum { OPERATIONS = sizeof operations / sizeof operations[0], KINDS = 8 };

static void make_kinds(const void *kinds[KINDS], double value) {
    const pith_array *x = pt_array(s, PITH_SHAPE(1), value);
    const void *const made[KINDS] = {NULL,
                                     x,
                                     pith_none_make(s),
                                     pith_list_make(s, 0, NULL),
                                     pith_tuple_make(s, 0, NULL),
                                     pith_dict_make(s, 0, NULL, NULL),
                                     pith_list_make(s, PITH_ITEMS(x)),
                                     pith_freeze(s, Part, &(Part){.leaf = x})};
    memcpy(kinds, made, sizeof made);
    pt_ok(s);
}

Test(positions, every_kind_meets_only_its_own) {
    open_all();
    const void *left[KINDS], *right[KINDS];
    make_kinds(left, 1);
    make_kinds(right, 2);
    for (int o = 0; o < OPERATIONS; o++)
        for (int i = 0; i < KINDS; i++)
            for (int k = 0; k < KINDS; k++) {
                /* in a record, in a list in it, and at the root */
                const pith_array *x = pt_array(s, PITH_SHAPE(1), 5);
                const void *in_list[2][2] = {{x, left[i]}, {x, right[k]}};
                const void *trees[3][2] = {
                    {pith_freeze(s, Part, &(Part){.leaf = x, .any = left[i]}),
                     pith_freeze(s, Part, &(Part){.leaf = x, .any = right[k]})},
                    {left[i], right[k]},
                    {left[i] ? pith_list_make(s, 2, in_list[0]) : NULL,
                     right[k] ? pith_list_make(s, 2, in_list[1]) : NULL}};
                static const char *const paths[] = {".any", "", "[1]"};
                for (int p = 0; p < 3; p++) {
                    if (!trees[p][0] || !trees[p][1])
                        continue;
                    if (i == k) {
                        const void *made = operations[o].run(trees[p]);
                        pt_ok(s, pith_kind(made) == pith_kind(trees[p][0]));
                        cr_assert(pith_tree_num_leaves(made) ==
                                  pith_tree_num_leaves(trees[p][0]));
                        continue;
                    }
                    pt_fails(PITH_E_STRUCTURE, s, operations[o].run(trees[p]));
                    cr_assert_str_eq(pt_error.path, paths[p], "%s: %s",
                                     operations[o].name, pt_error.message);
                }
            }
    close_all();
}

/* One leaf in two places is two leaves: what becomes of one place does not touch the
 * other. */
Test(positions, one_leaf_in_two_places) {
    open_all();
    const pith_array *x = pt_array(s, PITH_SHAPE(1), 1),
                     *y = pt_array(s, PITH_SHAPE(1), 7);
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(x, x)),
                           pith_list_make(s, PITH_ITEMS(x, y))};
    static const double want[OPERATIONS][2] = {{1, 1}, {2, 8}, {1, 1},
                                               {1, 1}, {1, 7}, {1, 7}};
    for (int o = 0; o < OPERATIONS; o++) {
        const void *made = operations[o].run(trees);
        pt_ok(s, made);
        for (int i = 0; i < 2; i++)
            cr_assert(pt_first(s, pith_child(made, i)) == want[o][i], "%s",
                      operations[o].name);
    }
    const void *taken = pith_tree_take(s, trees[0], pith_i64(s, 0), NULL);
    cr_assert(pt_first(s, pith_child(taken, 1)) == 1);
    close_all();
}

/* A batch of records through every operation is the batch of what becomes of each. */
Test(positions, batches_of_records) {
    open_all();
    enum { BATCH = 3 };
    const void *a[BATCH], *b[BATCH], *each[BATCH];
    for (int i = 0; i < BATCH; i++) {
        a[i] = pt_sim(s, 1, 2, 10 * i);
        b[i] = pt_sim(s, 1, 2, 100 * i);
    }
    const void *batches[] = {pith_tree_stack(s, BATCH, a), pith_tree_stack(s, BATCH, b)};
    for (int o = 0; o < 2; o++) {
        for (int i = 0; i < BATCH; i++)
            each[i] = operations[o].run((const void *[]){a[i], b[i]});
        const void *made = operations[o].run(batches);
        pt_ok(s, pith_tree_equal(s, made, pith_tree_stack(s, BATCH, each)));
    }
    for (int i = 0; i < BATCH; i++)
        each[i] = concat((const void *[]){a[i], b[i]});
    pt_ok(s, pith_tree_equal(s, pith_tree_concat(s, 2, batches, 1),
                             pith_tree_stack(s, BATCH, each)));
    /* Batches of batches, and parts of them. */
    const void *twice[] = {batches[0], batches[1]};
    const Sim *deep = pith_tree_stack(s, 2, twice);
    pt_ok(s, pith_is(Sim, deep));
    cr_assert(pith_array_spec(deep->atoms->position)->rank == 4);
    const pith_array *last = pith_i64(s, 1);
    pt_ok(s, pith_tree_equal(s, pith_tree_take(s, deep, last, NULL), batches[1]));
    const void *const *halves = pith_tree_split(s, deep, 2, 0);
    pt_ok(s, pith_tree_equal(s, pith_tree_concat(s, 2, halves, 0), deep));
    /* A static names the last axis of a batched leaf: it is resized there. */
    Sim next = *deep;
    next.max_neighbour = 4;
    const Sim *wide = pith_tree_resize(s, Sim, &next, NULL);
    pt_ok(s, wide);
    cr_assert(pith_array_spec(wide->neighbour)->shape[3] == 4);
    int32_t filled[24];
    pt_ok(s, pith_read(s, wide->neighbour, filled, sizeof filled));
    cr_assert(filled[0] == 0 && filled[1] == 1 && filled[2] == -1 && filled[23] == -1);
    /* All leaves of a node agree on the batch; the children may be fewer. */
    Atoms mixed = *deep->atoms;
    mixed.force = pt_array(s, PITH_SHAPE(1, 3), 0);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Atoms, &mixed));
    close_all();
}

/* ---- Checks ---- */

typedef struct {
    const pith_array *x;
    int64_t width;
} Counted;
static int checks;
static void count_check(pith_scope *in, const Counted *counted) {
    (void)in, (void)counted;
    checks++;
}
PITH_NODE(Counted,
          PITH_LEAF(x, "f64[n,width]"),
          PITH_STATIC(width, .initial = 1),
          PITH_VALIDATE(count_check))

#define CHECKS(count, ...)                                                               \
    do {                                                                                 \
        checks = 0;                                                                      \
        pt_ok(s, __VA_ARGS__);                                                           \
        cr_assert(checks == (count), "%d checks: %s", checks, #__VA_ARGS__);             \
    } while (0)

Test(checks, run_when_and_only_when_the_page_says) {
    open_all();
    const Counted value = {pt_array(s, PITH_SHAPE(1, 1), 3), 1};
    const Counted *one = NULL;
    CHECKS(1, pith_is(Counted, one = pith_freeze(s, Counted, &value)));
    CHECKS(1, pith_is(Counted, pith_make(s, Counted, NULL, PITH_EXTENTS({"n", 2}))));
    const void *list = NULL;
    CHECKS(0, (list = pith_list_make(s, PITH_ITEMS(one, one))));
    const void *trees[] = {list, pith_list_make(s, PITH_ITEMS(one, one))};
    for (int o = 0; o < OPERATIONS; o++)
        CHECKS(o == 4 ? 0 : 2, operations[o].run(trees)); /* a choice changes nothing */
    const pith_array *none = pith_zeros(s, PITH_I64, PITH_SHAPE(0));
    CHECKS(0, pith_tree_scatter_set(s, list, none, list, NULL));
    CHECKS(2, pith_tree_take(s, list, none, NULL));
    CHECKS(2, pith_tree_slice(s, list, 0, NULL));
    CHECKS(4, pith_tree_split_at(s, list, 1, (int64_t[]){1}, 0));
    CHECKS(2, pith_tree_zeros_like(s, list));
    const pith_array *const *leaves;
    const pith_treedef *def = NULL;
    CHECKS(0, (def = pith_tree_flatten(s, list, &leaves)));
    CHECKS(2, pith_tree_unflatten(s, def, 2, leaves));
    CHECKS(0, pith_tree_equal(s, trees[0], trees[1]));
    CHECKS(0, pith_tree_flatten_up_to(s, def, list));
    pith_scope *in = pith_scope_open_in(s);
    const void *inner = pith_list_make(in, PITH_ITEMS(one, one));
    CHECKS(0, pith_keep(s, inner));
    pith_scope_close(in);
    Counted next = *one;
    CHECKS(1, pith_is(Counted, pith_tree_resize(s, Counted, &next, NULL)));
    pith_scope_set_validation(s, false);
    CHECKS(0, pith_tree_stack(s, 2, trees));
    pith_scope_set_validation(s, true);
    CHECKS(2, pith_tree_stack(s, 2, trees));
    close_all();
}
