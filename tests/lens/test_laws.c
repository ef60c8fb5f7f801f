/* The laws of lenses over random trees and random parts of them: what is set is got,
 * setting what was got changes nothing, the last setting counts, all that is off the way
 * is shared by pointer, and the root that was given stays what it was. */
#include "../tree/forest.h"
#include "lens_types.h"

enum { MOST = 2048, SEEDS = 400 };

/* Every place of a tree, by a plain recursive walk. */
typedef struct {
    int count;
    char paths[MOST][FOREST_PATH];
    const void *nodes[MOST]; /* NULL: absent */
    bool leaf_slot[MOST];    /* holds leaves alone */
    bool optional[MOST];
} places;

static places all, after;
static forest grown, other;

static void step_to(char *path, const void *node, int64_t i) {
    const size_t n = strlen(path);
    const char *name = pith_child_name(node, i);
    if (pith_kind(node) == PITH_NODE_DICT) {
        for (size_t k = 0; k < sizeof forest_keys / sizeof *forest_keys; k++)
            if (strcmp(forest_keys[k].key, name) == 0)
                snprintf(path + n, FOREST_PATH - n, "%s", forest_keys[k].step);
    } else if (name) {
        snprintf(path + n, FOREST_PATH - n, ".%s", name);
    } else {
        snprintf(path + n, FOREST_PATH - n, "[%lld]", (long long)i);
    }
}

static void
collect(places *p, const void *node, char *path, bool leaf_slot, bool optional) {
    if (p->count == MOST)
        return;
    snprintf(p->paths[p->count], FOREST_PATH, "%s", path);
    p->leaf_slot[p->count] = leaf_slot;
    p->optional[p->count] = optional;
    p->nodes[p->count++] = node;
    const bool part = pith_kind(node) == PITH_NODE_RECORD;
    for (int64_t i = 0; i < pith_child_count(node); i++) {
        const size_t n = strlen(path);
        step_to(path, node, i);
        collect(p, pith_child(node, i), path, part && i == 0, part);
        path[n] = 0;
    }
}

static void collect_all(places *p, const void *tree) {
    char path[FOREST_PATH] = "";
    p->count = 0;
    collect(p, tree, path, false, false);
}

static bool begins(const char *path, const char *with) {
    const size_t n = strlen(with);
    return strncmp(path, with, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
}

/* All that is neither on the way to a path nor below it is the same object. */
static void check_shared(const void *before, const void *now, const char *path) {
    collect_all(&all, before);
    collect_all(&after, now);
    for (int i = 0, j = 0; i < all.count; i++) {
        if (begins(path, all.paths[i]) || begins(all.paths[i], path))
            continue;
        while (j < after.count && strcmp(after.paths[j], all.paths[i]) != 0)
            j++;
        cr_assert(j < after.count, "%s is gone", all.paths[i]);
        cr_assert(after.nodes[j] == all.nodes[i], "%s is another object", all.paths[i]);
    }
}

/* Structure, statics and every element of a tree as text. */
static const char *picture(pith_scope *s, const void *tree) {
    return pith_tree_text(s, tree,
                          &(pith_print_options){.most_lines = -1, .values = true});
}

/* A value for a place: an array where no other will do. */
static const void *value_for(pith_scope *s, int place, uint64_t seed) {
    if (all.leaf_slot[place])
        return pt_array(s, PITH_SHAPE(2), (double)seed);
    return forest_grow(&other, s, seed);
}

Test(lens_laws, hold_for_paths) {
    pith_runtime *rt = pt_open();
    int tried = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&grown, s, seed);
        const char *before = picture(s, tree);
        collect_all(&all, tree);
        const int count = all.count;
        for (int k = 0; k < 4; k++, tried++) {
            collect_all(&all, tree);
            const int place = (int)(forest_random(&grown, (uint64_t)count));
            char path[FOREST_PATH];
            snprintf(path, sizeof path, "%s", all.paths[place]);
            const void *old = all.nodes[place];
            const bool optional = all.optional[place];
            const pith_lens *lens =
                pith_lens_path(s, k % 2 && place ? pith_type_of(tree) : NULL, path);
            pt_ok(s, lens);
            cr_assert_str_eq(pith_lens_text(s, lens), path);
            cr_assert(pith_lens_get(s, lens, tree) == old);
            const void *a = value_for(s, place, 1000 + seed),
                       *b = value_for(s, place, 2000 + seed);
            /* Set, then get. */
            const void *set = pith_lens_set(s, lens, tree, a);
            pt_ok(s, set);
            cr_assert(pith_lens_get(s, lens, set) == a, "%s", path);
            check_shared(tree, set, path);
            /* Set again. */
            const void *twice = pith_lens_set(s, lens, set, b);
            pt_ok(s, pith_tree_equal(s, twice, pith_lens_set(s, lens, tree, b)));
            /* Get, then set. */
            const void *same = pith_lens_set(s, lens, tree, old);
            pt_ok(s, pith_tree_equal(s, same, tree));
            cr_assert(pith_treedef_equal(pith_tree_structure(s, same),
                                         pith_tree_structure(s, tree)));
            if (optional) {
                const void *without = pith_lens_set(s, lens, set, NULL);
                pt_ok(s, without);
                cr_assert(!pith_lens_get(s, lens, without));
                pt_ok(s);
            }
            cr_assert_str_eq(picture(s, tree), before);
        }
        pith_scope_close(s);
    }
    cr_assert(tried > 500);
    pt_close(rt);
}

/* Two places merged: both are set, or, where one holds the other, refused. */
Test(lens_laws, hold_for_merged_paths_that_do_not_overlap) {
    pith_runtime *rt = pt_open();
    int set = 0, refused = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&grown, s, seed);
        const char *before = picture(s, tree);
        collect_all(&all, tree);
        const int i = (int)forest_random(&grown, (uint64_t)all.count),
                  j = (int)forest_random(&grown, (uint64_t)all.count);
        char first[FOREST_PATH], second[FOREST_PATH];
        snprintf(first, sizeof first, "%s", all.paths[i]);
        snprintf(second, sizeof second, "%s", all.paths[j]);
        const pith_lens *both =
            pith_lens_merge(s, PITH_LENSES(pith_lens_path(s, NULL, first),
                                           pith_lens_path(s, NULL, second)));
        const void *a = value_for(s, i, 1000 + seed), *b = value_for(s, j, 2000 + seed);
        const void *pair = pith_tuple_make(s, PITH_ITEMS(a, b));
        pt_ok(s, both && pair);
        if (begins(first, second) || begins(second, first)) {
            pt_fails(PITH_E_ARG, s, pith_lens_set(s, both, tree, pair));
            refused++;
        } else {
            const void *made = pith_lens_set(s, both, tree, pair);
            pt_ok(s, made);
            const void *got = pith_lens_get(s, both, made);
            cr_assert(pith_child(got, 0) == a && pith_child(got, 1) == b);
            set++;
        }
        cr_assert_str_eq(picture(s, tree), before);
        pith_scope_close(s);
    }
    cr_assert(set > SEEDS / 8 && refused > 10, "%d set, %d refused", set, refused);
    pt_close(rt);
}

static bool has_two(const void *node, void *closure) {
    (void)closure;
    return pith_child_count(node) == 2;
}

/* Everything that is found, replaced, is found again; and put back gives the tree. */
Test(lens_laws, hold_for_traversals) {
    pith_runtime *rt = pt_open();
    int64_t found = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&grown, s, seed);
        const char *before = picture(s, tree);
        const pith_lens *whole = pith_lens_identity();
        const pith_lens *lenses[] = {pith_lens_leaves_where(s, whole, NULL, NULL),
                                     pith_lens_all_of(s, whole, Part),
                                     pith_lens_all_where(s, whole, has_two, NULL)};
        for (int k = 0; k < 3; k++) {
            const void *got = pith_lens_get(s, lenses[k], tree);
            pt_ok(s, got);
            const int64_t count = pith_child_count(got);
            pt_ok(s, pith_tree_equal(s, pith_lens_set(s, lenses[k], tree, got), tree));
            static const void *values[FOREST_MOST];
            for (int64_t i = 0; i < count; i++) /* of the same kind, so found again */
                values[i] = pith_tree_full_like(s, pith_child(got, i), 3);
            const void *list = pith_list_make(s, count, values);
            const void *set = pith_lens_set(s, lenses[k], tree, list);
            pt_ok(s, set);
            const void *again = pith_lens_get(s, lenses[k], set);
            cr_assert(pith_child_count(again) == count);
            for (int64_t i = 0; i < count; i++)
                cr_assert(pith_child(again, i) == values[i]);
            const void *more = pith_lens_set(s, lenses[k], set, got);
            pt_ok(s, pith_tree_equal(s, more, tree));
            found += count;
            const void *longer = pith_list_make(s, 0, NULL);
            if (count)
                pt_fails(PITH_E_STRUCTURE, s, pith_lens_set(s, lenses[k], tree, longer));
        }
        cr_assert_str_eq(picture(s, tree), before);
        pith_scope_close(s);
    }
    cr_assert(found > 1000, "%lld", (long long)found);
    pt_close(rt);
}

/* Rows at random indices of random trees whose leaves all have rows. */
Test(lens_laws, hold_for_rows) {
    pith_runtime *rt = pt_open();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pith_scope *s = pith_scope_open(rt);
        const void *tree = forest_grow(&grown, s, seed);
        const pith_array *const *leaves;
        const pith_treedef *def = pith_tree_flatten(s, tree, &leaves);
        static const pith_array *wide[FOREST_MOST];
        for (int64_t i = 0; i < grown.count; i++)
            wide[i] = pt_array(s, PITH_SHAPE(5, 1 + i % 3), (double)i);
        tree = pith_tree_unflatten(s, def, grown.count, wide);
        pt_ok(s, tree);
        int32_t index[3]; /* distinct, some negative */
        for (int i = 0; i < 3; i++)
            index[i] = (int32_t)((seed + (uint64_t)i * 2) % 5) - (i % 2 ? 5 : 0);
        const pith_lens *at =
            pith_lens_at(s, pith_lens_identity(),
                         pith_array_copy(s, PITH_I32, PITH_SHAPE(3), index), NULL);
        const void *got = pith_lens_get(s, at, tree);
        pt_ok(s, pith_tree_equal(s, pith_lens_set(s, at, tree, got), tree));
        const void *value = pith_tree_full_like(s, got, -7);
        const void *set = pith_lens_set(s, at, tree, value);
        pt_ok(s, pith_tree_equal(s, pith_lens_get(s, at, set), value));
        pt_ok(s, pith_tree_equal(s, pith_lens_set(s, at, set, got), tree));
        pith_scope_close(s);
    }
    pt_close(rt);
}
