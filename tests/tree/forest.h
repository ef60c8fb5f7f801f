/* Random trees, with what a plain recursive walk says of them: leaves and paths in order.
 * The walk shares nothing with the library's. */
#ifndef PITH_TEST_FOREST_H
#define PITH_TEST_FOREST_H

#include "tree_types.h"

enum { FOREST_MOST = 4096, FOREST_PATH = 400 };

typedef struct forest {
    pith_scope *s;
    uint64_t state;
    int64_t nodes; /* leaves and absences included */
    int64_t count;
    const pith_array *leaves[FOREST_MOST];
    char paths[FOREST_MOST][FOREST_PATH];
    char path[FOREST_PATH];
} forest;

/* Keys in their order, and how a path shows them. */
static const struct {
    const char *key, *step;
} forest_keys[] = {
    {"", "['']"},
    {"\x01", "['\\u0001']"},
    {"\n", "['\\n']"},
    {" ", "[' ']"},
    {"\"", "['\"']"},
    {"'", "['\\'']"},
    {"0", "['0']"},
    {"['a']", "['[\\'a\\']']"},
    {"\\", "['\\\\']"},
    {"a", "['a']"},
    {"a.b", "['a.b']"},
    {"\x7f", "['\\u007f']"},
    {"\xc2\x85", "['\\u0085']"},
    {"\xc3\xa9", "['\xc3\xa9']"},
    {"\xe6\xbc\xa2", "['\xe6\xbc\xa2']"},
    {"\xf0\x9f\x98\x80", "['\xf0\x9f\x98\x80']"},
};

static inline uint64_t forest_random(forest *f, uint64_t below) {
    f->state = f->state * 6364136223846793005u + 1442695040888963407u;
    return (f->state >> 33) % below;
}

static inline const void *forest_tree(forest *f, int depth);

static inline const void *forest_child(forest *f, int depth, const char *step) {
    const size_t length = strlen(f->path);
    cr_assert(length + strlen(step) < FOREST_PATH);
    strcat(f->path, step);
    const void *child = forest_tree(f, depth);
    f->path[length] = 0;
    return child;
}

static inline const pith_array *forest_leaf(forest *f) {
    static const int64_t extents[] = {0, 1, 2, 3};
    pith_shape shape = {.rank = (int32_t)forest_random(f, 3), .extents = {0}};
    for (int i = 0; i < shape.rank; i++)
        shape.extents[i] = extents[forest_random(f, 4)];
    const pith_array *leaf = pt_array(f->s, shape, (double)forest_random(f, 100));
    cr_assert(f->count < FOREST_MOST);
    f->leaves[f->count] = leaf;
    snprintf(f->paths[f->count++], FOREST_PATH, "%s", f->path);
    return leaf;
}

static inline const void *forest_part(forest *f, int depth) {
    Part part = {.number = (int64_t)forest_random(f, 3)};
    const size_t length = strlen(f->path);
    f->nodes++;
    if (forest_random(f, 2)) {
        strcat(f->path, ".leaf");
        part.leaf = forest_leaf(f);
        f->path[length] = 0;
    }
    if (forest_random(f, 3))
        part.any = forest_child(f, depth - 1, ".any");
    else
        f->nodes++;
    return pith_freeze(f->s, Part, &part);
}

static inline const void *forest_dict(forest *f, int depth) {
    const char *keys[16];
    const void *items[16];
    int count = 0;
    for (int i = 0; i < 16; i++)
        if (forest_random(f, 5) == 0) {
            keys[count] = forest_keys[i].key;
            items[count++] = forest_child(f, depth - 1, forest_keys[i].step);
        }
    return pith_dict_make(f->s, count, keys, items);
}

static inline const void *forest_items(forest *f, int depth, bool tuple) {
    const void *items[5];
    const int count = (int)forest_random(f, 6);
    for (int i = 0; i < count; i++) {
        char step[16];
        snprintf(step, sizeof step, "[%d]", i);
        items[i] = forest_child(f, depth - 1, step);
    }
    return tuple ? (const void *)pith_tuple_make(f->s, count, items)
                 : (const void *)pith_list_make(f->s, count, items);
}

static inline const void *forest_tree(forest *f, int depth) {
    f->nodes++;
    switch (depth > 0 ? forest_random(f, 7) : forest_random(f, 3)) {
        case 0:
        case 1:
            return forest_leaf(f);
        case 2:
            return pith_none_make(f->s);
        case 3:
            return forest_dict(f, depth);
        case 4:
            return forest_part(f, depth);
        case 5:
            return forest_items(f, depth, true);
        default:
            return forest_items(f, depth, false);
    }
}

/* A tree of that seed; the same seed gives the same structure and leaf specs. */
static inline const void *forest_grow(forest *f, pith_scope *s, uint64_t seed) {
    f->s = s;
    f->state = seed * 0x9e3779b97f4a7c15u + 1;
    f->nodes = f->count = 0;
    f->path[0] = 0;
    const void *tree = forest_tree(f, 5);
    pt_ok(s, tree);
    return tree;
}

#endif
