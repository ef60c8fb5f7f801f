/* Lifetimes: what is kept outlives the scope it was made in, costs no more than it must,
 * and travels between threads. */
#include "nodes.h"
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>
#include <pthread.h>

static pith_runtime *rt;
static pith_scope *s;
static void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_scope(void) {
    pith_scope_close(s);
    cr_assert_eq(pithp_node_def_count(rt), 0);
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pt_close(rt);
}

static const pith_array *numbers(pith_scope *in, int64_t count, double first) {
    const pith_array *a =
        pith_add(in, pith_arange(in, PITH_F64, count), pith_f64(in, first));
    pt_ok(in, a);
    return a;
}
static double number_at(const pith_array *a, int64_t i) {
    double all[4096];
    const size_t bytes = pith_array_spec(a)->bytes;
    cr_assert_leq(bytes, sizeof all);
    pt_ok(s, pith_read(s, a, all, bytes));
    return all[i];
}
#define SAME(a, b) cr_assert(!((a) < (b)) && !((a) > (b)), "%g is not %g", (a), (b))

Test(keep, a_tree_outlives_its_scope, .init = open_scope) {
    const pith_array *ours = numbers(s, 4, 100);
    pith_scope *inner = pith_scope_open_in(s);
    Atoms atoms = {pith_zeros(inner, PITH_F64, PITH_SHAPE(5, 3)),
                   pith_ones(inner, PITH_F64, PITH_SHAPE(5, 3))};
    const Atoms *made = pith_freeze(inner, Atoms, &atoms);
    const char *keys[] = {"b", "a"};
    const pith_dict *dict =
        pith_dict_make(inner, 2, keys, (const void *[]){made, numbers(inner, 3, 7)});
    const pith_list *tree =
        pith_list_make(inner, PITH_ITEMS(dict, ours, made, pith_none_make(inner)));
    pt_ok(inner, tree);
    const pith_list *kept = pith_keep(s, tree);
    pt_ok(s, kept && kept != tree);
    pith_scope_close(inner);
    cr_assert(pith_child(kept, 1) == ours, "what lives outside is shared");
    const pith_dict *d = pith_child(kept, 0);
    cr_assert(pith_dict_get(d, "b") == pith_child(kept, 2), "shared parts stay shared");
    cr_assert_str_eq(pith_child_name(d, 0), "a");
    SAME(number_at(pith_dict_get(d, "a"), 2), 9.0);
    const Atoms *back = pith_child(kept, 2);
    cr_assert(pith_is(Atoms, back));
    SAME(number_at(back->velocity, 14), 1.0);
    cr_assert(pith_keep(s, kept) == kept, "what outlives the scope already is itself");
    pith_scope *child = pith_scope_open_in(s);
    cr_assert(pith_keep(child, kept) == kept);
    close_scope();
}

Test(keep, children_are_kept_where_they_must, .init = open_scope) {
    pith_scope *inner = pith_scope_open_in(s), *side = pith_scope_open(rt);
    Atoms atoms = {pith_zeros(inner, PITH_F64, PITH_SHAPE(5, 3)),
                   pith_ones(side, PITH_F64, PITH_SHAPE(5, 3))};
    const Atoms *made = pith_freeze(s, Atoms, &atoms); /* into the outer one */
    pt_ok(s,
          made && made->position != atoms.position && made->velocity != atoms.velocity);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(numbers(inner, 3, 1), made));
    pith_scope_close(inner);
    pith_scope_close(side);
    SAME(number_at(made->velocity, 3), 1.0);
    SAME(number_at(pith_child(list, 0), 2), 3.0);
    close_scope();
}

Test(keep, a_static_record_is_kept_apart_from_its_owner, .init = open_scope) {
    pith_scope *inner = pith_scope_open_in(s);
    Config config = {.iterations = 9, .method = "cg"};
    Everything v = pith_initial(Everything);
    v.config = pith_freeze(inner, Config, &config);
    const Everything *e = pith_make(inner, Everything, &v, PITH_EXTENTS({"n", 1}));
    pt_ok(inner, e);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(e->config));
    pith_scope_close(inner);
    const Config *kept = pith_child(list, 0);
    cr_assert(pith_is(Config, kept) && kept->iterations == 9);
    cr_assert_str_eq(kept->method, "cg");
    close_scope();
}

Test(keep, a_small_part_holds_no_large_block, .init = open_scope) {
    pith_scope *inner = pith_scope_open_in(s);
    const pith_array *small = NULL;
    for (int i = 0; i < 100; i++) /* in blocks that scalars share */
        small = numbers(inner, 8, i);
    const pith_array *large = numbers(inner, 100000, 0);
    const pith_array *part =
        pith_slice_array(inner, large, 1, (pith_slice[]){PITH_SLICE(0, 100, 1)});
    const pith_list *tree = pith_list_make(inner, PITH_ITEMS(small, part));
    const pith_array *most = numbers(inner, 4000, 5);
    pt_ok(inner, tree);
    const size_t before = pith_memory_about(rt).live;
    const pith_list *kept = pith_keep(s, tree);
    const pith_array *whole = pith_keep(s, most);
    pt_ok(s, kept && whole);
    cr_assert_leq(pith_memory_about(rt).live - before, (size_t)8192,
                  "data is shared or small");
    cr_assert(pithp_array_buffer(whole) == pithp_array_buffer(most),
              "a whole buffer is shared");
    pith_scope_close(inner);
    cr_assert_leq(pith_memory_about(rt).live, (size_t)(4000 * 8 + 16384));
    SAME(number_at(pith_child(kept, 0), 7), 106.0);
    SAME(number_at(pith_child(kept, 1), 99), 99.0);
    SAME(number_at(whole, 3999), 4004.0);
    close_scope();
}

Test(keep, many_small_leaves_share_one_copy, .init = open_scope) {
    pith_scope *inner = pith_scope_open_in(s);
    enum { COUNT = 50 };
    const void *items[COUNT];
    for (int i = 0; i < COUNT; i++) {
        items[i] = numbers(inner, 3 + i % 5, i);
        (void)numbers(inner, 200, 0);
    }
    const pith_list *kept = pith_keep(s, pith_list_make(inner, COUNT, items));
    pt_ok(s, kept);
    pith_scope_close(inner);
    const pith_array *first = pith_child(kept, 0);
    for (int i = 0; i < COUNT; i++) {
        const pith_array *a = pith_child(kept, i);
        cr_assert(pithp_array_buffer(a) == pithp_array_buffer(first));
        SAME(number_at(a, 2), i + 2.0);
    }
    close_scope();
}

typedef struct Chain {
    const pith_array *x;
    const struct Chain *next;
} Chain;
PITH_NODE(Chain, PITH_LEAF(x, "f64[n]"), PITH_CHILD(next, Chain, .optional = true))

Test(keep, a_chain_of_any_depth, .init = open_scope) {
    enum { DEPTH = 100000 };
    pith_scope *inner = pith_scope_open_in(s);
    const pith_array *x = numbers(inner, 3, 0), *last = numbers(inner, 3, 50);
    const Chain *chain = NULL;
    for (int i = 0; i < DEPTH; i++)
        chain = pith_freeze(inner, Chain, &(Chain){i ? x : last, chain});
    const Chain *kept = pith_keep(s, chain);
    pt_ok(s, kept);
    pith_scope_close(inner);
    int depth = 1;
    const pith_array *shared = kept->x;
    for (; kept->next; kept = kept->next, depth++)
        cr_assert(kept->x == shared);
    cr_assert_eq(depth, DEPTH);
    SAME(number_at(kept->x, 1), 51.0);
    close_scope();
}

Test(keep, a_list_of_a_million_leaves, .init = open_scope) {
    enum { COUNT = 1000000 };
    pith_scope *inner = pith_scope_open_in(s);
    const pith_spec **specs = malloc(COUNT * sizeof *specs);
    const void **items = malloc(COUNT * sizeof *items);
    const int64_t one = 1;
    const pith_spec *spec = pithp_spec(inner, PITH_F64, 1, &one);
    for (int i = 0; i < COUNT; i++)
        specs[i] = spec;
    cr_assert_eq(
        pithp_arrays_make(inner, COUNT, specs, (const pith_array **)(void *)items),
        PITH_OK);
    const pith_list *kept = pith_keep(s, pith_list_make(inner, COUNT, items));
    pt_ok(s, kept);
    pith_scope_close(inner);
    cr_assert_eq(pith_array_spec(pith_child(kept, COUNT - 1)), spec);
    free(specs), free(items);
    close_scope();
}

Test(keep, what_cannot_be_kept_is_named, .init = open_scope) {
    pith_scope *inner = pith_scope_open_in(s);
    const pith_array *a = numbers(inner, 3, 0), *b = numbers(inner, 3, 0);
    Atoms atoms = {pith_zeros(inner, PITH_F64, PITH_SHAPE(5, 3)),
                   pith_ones(inner, PITH_F64, PITH_SHAPE(5, 3))};
    const pith_list *list =
        pith_list_make(inner, PITH_ITEMS(a, pith_freeze(inner, Atoms, &atoms), b));
    pt_ok(inner, list);
    pithp_header *h = pithp_header_of(atoms.velocity);
    const size_t live = pith_memory_about(rt).live;
    static uint64_t ended[64]; /* a trace without a program */
    pith_array *velocity = (pith_array *)(uintptr_t)atoms.velocity;
    void *const elements = velocity->data;
    velocity->data = ended;
    h->extra = PITHP_ARRAY_TRACED;
    const pith_list *none = list;
    pt_fails(PITH_E_TRACED, s, none = pith_keep(s, list));
    pt_says("[1].velocity: a traced array cannot be moved out of its trace");
    cr_assert_null(none);
    pt_fails(PITH_E_TRACED, s, pith_list_make(s, PITH_ITEMS(list)));
    pt_says("[0][1].velocity: a traced");
    static char site[] = "here.c:1";
    velocity->data = site;
    h->extra = PITHP_ARRAY_DONATED;
    pt_fails(PITH_E_DONATED, s, pith_keep(s, list));
    velocity->data = elements;
    h->extra = 0;
    pith_drop(inner, b);
    pt_fails(PITH_E_ARG, s, pith_keep(s, list));
    pt_says("[2]: the array was dropped");
    cr_assert_leq(pith_memory_about(rt).live, live);
    pt_fails(PITH_E_ARG, s, pith_keep(s, &atoms));
    pt_fails(PITH_E_ARG, s, pith_keep_any(s, NULL));
    close_scope();
}

Test(keep, the_result_of_a_failed_scope_is_nil, .init = open_scope) {
    const Everything *e = pith_make(s, Everything, NULL, PITH_EXTENTS({"n", 1}));
    pith_fail(s, PITH_E_CHECK, NULL, "on purpose");
    const Everything *nil = pith_keep(s, e);
    cr_assert(nil && nil->count == 0 && nil->atoms && !nil->x);
    cr_assert_null(pith_keep(s, e->x));
    pith_clear(s);
    close_scope();
}

/* ---- Between threads ---- */

typedef struct {
    pith_shared *shared;
    double sum;
    const char *failure;
} errand;

static void *adopt_in_thread(void *argument) {
    errand *e = argument;
    pith_scope *own = pith_scope_open(rt);
    const pith_list *list = pith_adopt(own, e->shared);
    const Atoms *atoms = pith_child(list, 0);
    if (!pith_is(Atoms, atoms)) {
        e->failure = "no atoms";
    } else {
        double all[150];
        if (pith_read(own, atoms->position, all, sizeof all))
            for (int i = 0; i < 150; i++)
                e->sum += all[i];
        const pith_list *back = pith_list_make(own, PITH_ITEMS(atoms->velocity, list));
        e->shared = pith_share(own, back);
    }
    if (pith_failed(own))
        e->failure = "failed";
    pith_scope_close(own);
    return NULL;
}

Test(keep, trees_travel_between_threads, .init = open_scope) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    errand errands[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pith_scope *inner = pith_scope_open_in(s);
        Atoms atoms = {pith_full(inner, PITH_F64, PITH_SHAPE(50, 3), i),
                       pith_full(inner, PITH_F64, PITH_SHAPE(50, 3), 10 + i)};
        const pith_list *list =
            pith_list_make(inner, PITH_ITEMS(pith_freeze(inner, Atoms, &atoms)));
        errands[i] = (errand){.shared = pith_share(inner, list)};
        pt_ok(inner, errands[i].shared);
        pith_scope_close(inner);
        cr_assert_eq(pthread_create(&threads[i], NULL, adopt_in_thread, &errands[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_null(errands[i].failure, "%s", errands[i].failure);
        SAME(errands[i].sum, 150.0 * i);
        const pith_list *back = pith_adopt(s, errands[i].shared);
        pt_ok(s, back);
        SAME(number_at(pith_child(back, 0), 149), 10.0 + i);
        const Atoms *atoms = pith_child(pith_child(back, 1), 0);
        cr_assert(atoms->velocity == pith_child(back, 0));
    }
    close_scope();
}

Test(keep, a_shared_tree_is_taken_once, .init = open_scope) {
    pith_shared *shared = pith_share(s, numbers(s, 3, 0));
    pt_ok(s, shared && pith_adopt(s, shared));
    pt_fails(PITH_E_ARG, s, pith_adopt(s, shared));
    pt_says("a result of pith_share that was not adopted yet");
    pith_unshare(shared);
    pith_unshare(NULL);
    pith_unshare(pith_share(s, numbers(s, 3, 0)));
    pt_fails(PITH_E_ARG, s, pith_adopt(s, NULL));
    pt_fails(PITH_E_ARG, s, pith_share(s, NULL));
    pith_runtime *other = pt_open();
    pith_scope *there = pith_scope_open(other);
    shared = pith_share(s, numbers(s, 3, 0));
    pt_fails(PITH_E_ARG, there, pith_adopt(there, shared));
    pt_says("another runtime");
    pt_ok(s, pith_adopt(s, shared)); /* a failure did not take it */
    pith_scope_close(there);
    pt_close(other);
    pt_ok(s,
          pith_share(s, numbers(s, 3, 0))); /* never adopted: it goes with the runtime */
    pith_scope_close(s);
    pt_close(rt);
}
