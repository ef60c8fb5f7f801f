/* Interned leaf names for reports after the call ends; the runtime owns them. */
#include "tree/tree_internal.h"

#include <string.h>

enum { BUCKETS = 1024 };

typedef struct leaf_name {
    struct leaf_name *next;
    size_t bytes; /* of this allocation */
    char text[];
} leaf_name;

struct pithp_leaf_names {
    leaf_name *buckets[BUCKETS];
};

void pithp_leaf_names_free(pith_runtime *rt, struct pithp_leaf_names *names) {
    if (!names)
        return;
    for (int i = 0; i < BUCKETS; i++)
        while (names->buckets[i]) {
            leaf_name *first = names->buckets[i];
            names->buckets[i] = first->next;
            pithp_release(rt, first, first->bytes);
        }
    pithp_release(rt, names, sizeof *names);
}

/* The caller holds the lock of the runtime. NULL if memory is short. */
static const char *
find_or_add(pith_runtime *rt, pithp_tree_room *room, const char *text) {
    const size_t length = strlen(text), bytes = sizeof(leaf_name) + length + 1;
    if (!room->leaf_names) {
        room->leaf_names = pithp_allocate(rt, sizeof *room->leaf_names);
        if (!room->leaf_names)
            return NULL;
        memset(room->leaf_names, 0, sizeof *room->leaf_names);
    }
    leaf_name **bucket =
        &room->leaf_names->buckets[pithp_hash(0, text, length) % BUCKETS];
    for (const leaf_name *n = *bucket; n; n = n->next)
        if (strcmp(n->text, text) == 0)
            return n->text;
    leaf_name *made = pithp_allocate(rt, bytes);
    if (!made)
        return NULL;
    *made = (leaf_name){.next = *bucket, .bytes = bytes};
    memcpy(made->text, text, length + 1);
    *bucket = made;
    return made->text;
}

const char *pithp_report_name(pith_scope *s, const pithp_string *text) {
    pith_runtime *rt = s->runtime;
    pithp_tree_room *room = pithp_tree_room_of(s);
    const char *name = NULL;
    if (!room)
        return NULL;
    pthread_mutex_lock(&rt->lock);
    if (!text->failed)
        name = find_or_add(rt, room, text->bytes);
    pthread_mutex_unlock(&rt->lock);
    if (!name)
        pithp_fail_memory(s, text->length);
    return name;
}

const char *pithp_leaf_name(pith_scope *s,
                            const char *function,
                            const pithp_structure *t,
                            int64_t item) {
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    pithp_string_print(&text, "%s\n", function);
    pithp_structure_path(s->runtime, t, item, &text);
    const char *name = pithp_report_name(s, &text);
    pithp_string_end(&text);
    return name;
}
