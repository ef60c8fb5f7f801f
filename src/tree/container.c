/* Containers: lists, tuples, dicts and none, with dense items after the header and keys
 * in the node definition. Also access to the children of any node. */
#include "tree/node_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making containers ---- */

/* Facts about all items from one pass. */
typedef struct {
    bool keep, all_leaves;
    uint8_t real;  /* PITHP_FLAG_REAL of the items */
    uint16_t open; /* open names of the items */
    int64_t mixed; /* an item whose float dtype differs from another's, or -1 */
} items_seen;

static pith_status
refuse_item(pith_scope *s, const char *const *keys, int64_t index, const void *item) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    if (keys)
        pithp_path_add_key(&path, keys[index]);
    else
        pithp_path_add_index(&path, index);
    if (item)
        pithp_child_check(s, item, path.bytes);
    else
        pithp_fail(s, PITH_E_ARG, path.bytes,
                   "expected a tree, got NULL (pith_none_make makes an empty one)");
    pithp_string_end(&path);
    return s->error.code;
}

static pith_status look_at_items(pith_scope *s,
                                 const char *const *keys,
                                 int64_t count,
                                 const void *const *items,
                                 items_seen *seen) {
    pithp_block_seen block = {0, NULL};
    *seen = (items_seen){.all_leaves = true, .mixed = -1};
    for (int64_t i = 0; i < count; i++) {
        const void *item = items[i];
        if (PITHP_UNLIKELY(!item || !pithp_child_look(s, item, &block, &seen->keep)))
            return refuse_item(s, keys, i, item);
        const pithp_header *h = pithp_header_of(item);
        if (PITHP_LIKELY(h->kind == PITHP_KIND_ARRAY)) {
            if (PITHP_UNLIKELY(h->extra & PITHP_ARRAY_DONATED))
                return refuse_item(s, keys, i, item);
            continue;
        }
        if (PITHP_UNLIKELY(h->kind < PITHP_KIND_RECORD || h->kind > PITHP_KIND_NONE ||
                           (h->flags & PITHP_FLAG_NIL)))
            return refuse_item(s, keys, i, item);
        const uint8_t real = h->flags & PITHP_FLAG_REAL;
        seen->all_leaves = false;
        seen->open |= h->extra;
        if (PITHP_UNLIKELY(real && seen->real && real != seen->real && seen->mixed < 0))
            seen->mixed = i;
        seen->real |= real;
    }
    return PITH_OK;
}

static const void *make_container(pith_scope *s,
                                  const pithp_node_def *node_def,
                                  const void *const *items,
                                  const items_seen *seen) {
    pithp_header *h = pithp_slab_make(s, sizeof *h + node_def->payload_bytes);
    if (!h)
        return NULL;
    *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                        .kind = (uint8_t)node_def->kind,
                        .flags = seen->real,
                        .extra = seen->open,
                        .descriptor = node_def};
    if (node_def->payload_bytes)
        memcpy(h + 1, items, node_def->payload_bytes);
    if (seen->mixed >= 0)
        pithp_fail_reals(s, h + 1, node_def, seen->mixed);
    else if (!seen->keep || pithp_keep_children(s, h + 1, node_def) == PITH_OK)
        return h + 1;
    h->kind = PITHP_KIND_FREE;
    return NULL;
}

const void *pithp_container_make(pith_scope *s,
                                 const pithp_node_def *node_def,
                                 const void *const *slots) {
    items_seen seen;
    if (look_at_items(s, node_def->keys, node_def->slot_count, slots, &seen) != PITH_OK)
        return NULL;
    PITH_ASSERT(seen.all_leaves == node_def->all_leaves);
    return make_container(s, node_def, slots, &seen);
}

static const void *make(pith_scope *s,
                        pithp_kind kind,
                        int64_t count,
                        const char *const *keys,
                        const void *const *items) {
    items_seen seen;
    if (look_at_items(s, keys, count, items, &seen) != PITH_OK)
        return NULL;
    const pithp_node_def *node_def =
        pithp_node_def_container(s, kind, count, keys, seen.all_leaves);
    return node_def ? make_container(s, node_def, items, &seen) : NULL;
}

/* First statement of the makers: check scope, count and pointers. */
static bool enter(pith_scope *s,
                  const char *function,
                  int64_t count,
                  const void *first,
                  const void *items) {
    if (!pithp_enter_as(s, function))
        return false;
    if (count < 0 || (size_t)count > (SIZE_MAX >> 8) / sizeof(void *)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: invalid count %lld", function,
                   (long long)count);
        return false;
    }
    if (count > 0 && (!first || !items)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s is NULL", function,
                   first ? "items" : "keys");
        return false;
    }
    return true;
}

const pith_list *pith_list_make(pith_scope *s, int64_t count, const void *const *items) {
    return enter(s, "pith_list_make", count, "", items)
               ? make(s, PITHP_KIND_LIST, count, NULL, items)
               : NULL;
}

const pith_tuple *
pith_tuple_make(pith_scope *s, int64_t count, const void *const *items) {
    return enter(s, "pith_tuple_make", count, "", items)
               ? make(s, PITHP_KIND_TUPLE, count, NULL, items)
               : NULL;
}

const pith_none *pith_none_make(pith_scope *s) {
    return enter(s, "pith_none_make", 0, "", NULL)
               ? make(s, PITHP_KIND_NONE, 0, NULL, NULL)
               : NULL;
}

/* ---- Dicts ---- */

/* Length in bytes of the UTF-8 character at p, or 0 if it is malformed (RFC 3629). */
static int utf8_length(const unsigned char *p) {
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        const unsigned char low = p[0] == 0xe0 ? 0xa0 : 0x80;
        const unsigned char high = p[0] == 0xed ? 0x9f : 0xbf; /* no surrogates */
        return p[1] >= low && p[1] <= high && (p[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        const unsigned char low = p[0] == 0xf0 ? 0x90 : 0x80;
        const unsigned char high = p[0] == 0xf4 ? 0x8f : 0xbf;
        return p[1] >= low && p[1] <= high && (p[2] & 0xc0) == 0x80 &&
                       (p[3] & 0xc0) == 0x80
                   ? 4
                   : 0;
    }
    return 0;
}

static bool is_utf8(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        const int length = utf8_length(p);
        if (!length)
            return false;
        p += length;
    }
    return true;
}

typedef struct {
    const char *key;
    const void *item;
} dict_entry;

static int compare_entries(const void *a, const void *b) {
    const dict_entry *x = a, *y = b;
    return strcmp(x->key, y->key); /* UTF-8 byte order is code point order */
}

/* Copy and sort the entries; keys and items follow the sorted order. */
static bool sort_entries(pith_scope *s,
                         int64_t count,
                         dict_entry *entries,
                         const char **keys,
                         const void **items) {
    bool sorted = true;
    for (int64_t i = 0; i < count; i++) {
        if (!entries[i].key || !is_utf8(entries[i].key)) {
            pithp_fail(s, PITH_E_ARG, NULL, "pith_dict_make: key %lld is %s",
                       (long long)i, entries[i].key ? "not valid UTF-8" : "NULL");
            return false;
        }
        sorted = sorted && (i == 0 || compare_entries(&entries[i - 1], &entries[i]) < 0);
    }
    if (!sorted)
        qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    for (int64_t i = 0; i < count; i++) {
        keys[i] = entries[i].key;
        items[i] = entries[i].item;
        if (i > 0 && strcmp(keys[i - 1], keys[i]) == 0) {
            pithp_string path;
            pithp_string_begin(&path, s->runtime);
            pithp_path_add_key(&path, keys[i]);
            pithp_fail(s, PITH_E_ARG, path.bytes, "duplicate key");
            pithp_string_end(&path);
            return false;
        }
    }
    return true;
}

const pith_dict *pith_dict_make(pith_scope *s,
                                int64_t count,
                                const char *const *keys,
                                const void *const *items) {
    if (!enter(s, "pith_dict_make", count, keys, items))
        return NULL;
    const size_t n = (size_t)count, bytes = n * (sizeof(dict_entry) + 2 * sizeof(void *));
    dict_entry *entries = pithp_allocate(s->runtime, bytes);
    if (!entries) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        entries[i] = (dict_entry){keys[i], items[i]};
    const char **sorted_keys = (const char **)(entries + n);
    const void **sorted_items = (const void **)(sorted_keys + n);
    const void *dict = sort_entries(s, count, entries, sorted_keys, sorted_items)
                           ? make(s, PITHP_KIND_DICT, count, sorted_keys, sorted_items)
                           : NULL;
    pithp_release(s->runtime, entries, bytes);
    return dict;
}

int64_t pithp_node_def_find_key(const pithp_node_def *node_def, const char *key) {
    int64_t low = 0, high = node_def->slot_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(key, node_def->keys[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

const void *pith_dict_get(const pith_dict *dict, const char *key) {
    if (pith_kind(dict) != PITH_NODE_DICT || !key)
        return NULL;
    const pithp_node_def *node_def = pithp_node_def_of(dict);
    const int64_t place = pithp_node_def_find_key(node_def, key);
    return place < 0 ? NULL : *pithp_slot(dict, node_def, place);
}

/* ---- Access to nodes ---- */

const char *pith_node_kind_name(pith_node_kind kind) {
    static const char *const names[] = {
        [PITH_NODE_ABSENT] = "absent", [PITH_NODE_LEAF] = "leaf",
        [PITH_NODE_RECORD] = "record", [PITH_NODE_LIST] = "list",
        [PITH_NODE_TUPLE] = "tuple",   [PITH_NODE_DICT] = "dict",
        [PITH_NODE_NONE] = "none"};
    return (unsigned)kind < (unsigned)PITHP_COUNT(names) ? names[kind] : NULL;
}

pith_node_kind pith_kind(const void *tree) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(tree, &block) != PITHP_POINTER_OK)
        return PITH_NODE_ABSENT;
    switch (pithp_kind_of(tree)) {
        case PITHP_KIND_ARRAY:
            return PITH_NODE_LEAF;
        case PITHP_KIND_RECORD:
            return pithp_is_nil(tree) ? PITH_NODE_ABSENT : PITH_NODE_RECORD;
        case PITHP_KIND_LIST:
            return PITH_NODE_LIST;
        case PITHP_KIND_TUPLE:
            return PITH_NODE_TUPLE;
        case PITHP_KIND_DICT:
            return PITH_NODE_DICT;
        case PITHP_KIND_NONE:
            return PITH_NODE_NONE;
        case PITHP_KIND_FREE:
        case PITHP_KIND_TREEDEF:
        case PITHP_KIND_OTHER:
        case PITHP_KIND_CLASS:
            break;
    }
    return PITH_NODE_ABSENT;
}

/* The node definition of a node with slots; NULL for anything else. */
static const pithp_node_def *shape_with_slots(const void *tree) {
    const pith_node_kind kind = pith_kind(tree);
    return kind == PITH_NODE_ABSENT || kind == PITH_NODE_LEAF ? NULL
                                                              : pithp_node_def_of(tree);
}

int64_t pith_child_count(const void *tree) {
    const pithp_node_def *node_def = shape_with_slots(tree);
    return node_def ? node_def->slot_count : 0;
}

const void *pith_child(const void *tree, int64_t index) {
    const pithp_node_def *node_def = shape_with_slots(tree);
    return node_def && index >= 0 && index < node_def->slot_count
               ? *pithp_slot(tree, node_def, index)
               : NULL;
}

const char *pith_child_name(const void *tree, int64_t index) {
    const pithp_node_def *node_def = shape_with_slots(tree);
    if (!node_def || index < 0 || index >= node_def->slot_count)
        return NULL;
    if (node_def->type)
        return node_def->type->fields[node_def->type->slot_fields[index]].declared.name;
    return node_def->keys ? node_def->keys[index] : NULL;
}
