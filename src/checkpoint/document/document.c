/* In-memory document: growing tables whose rows point into an arena, and the paths of
 * nodes, which follow from the node table. */
#include "checkpoint/document/document.h"

#include <string.h>

enum { ARENA_BYTES = 1 << 16 };

struct pithp_arena_chunk {
    pithp_arena_chunk *next;
    size_t used, room; /* in bytes, after this header */
    size_t padding;
};

_Static_assert(sizeof(pithp_arena_chunk) % 16 == 0, "memory after the header is aligned");

void pithp_document_begin(pithp_document *d, pith_runtime *rt) {
    *d = (pithp_document){.rt = rt, .format = PITHP_CHECKPOINT_FORMAT, .library = ""};
}

#define RELEASE(table)                                                                   \
    pithp_release(d->rt, d->table.rows, (size_t)d->table.room * sizeof *d->table.rows)

void pithp_document_end(pithp_document *d) {
    if (!d->rt)
        return;
    for (pithp_arena_chunk *chunk = d->arena, *next; chunk; chunk = next) {
        next = chunk->next;
        pithp_release(d->rt, chunk, sizeof *chunk + chunk->room);
    }
    RELEASE(sidecars);
    RELEASE(parts);
    RELEASE(axes);
    RELEASE(metadata);
    RELEASE(types);
    RELEASE(nodes);
    RELEASE(statics);
    RELEASE(leaves);
    *d = (pithp_document){0};
}

void *pithp_document_allocate(pithp_document *d, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    pithp_arena_chunk *chunk = d->arena;
    if (!chunk || chunk->room - chunk->used < bytes) {
        const size_t room = bytes > ARENA_BYTES / 4 ? bytes : ARENA_BYTES - sizeof *chunk;
        pithp_arena_chunk *fresh = pithp_allocate(d->rt, sizeof *fresh + room);
        if (!fresh)
            return NULL;
        *fresh = (pithp_arena_chunk){.room = room};
        if (chunk && room == bytes) { /* large: the first chunk stays in use */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            d->arena = fresh;
        }
        chunk = fresh;
    }
    void *memory = (char *)(chunk + 1) + chunk->used;
    chunk->used += bytes;
    return memory;
}

const char *pithp_document_text(pithp_document *d, const char *text, size_t n) {
    char *copy = n < SIZE_MAX ? pithp_document_allocate(d, n + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

void *pithp_table_add(pith_runtime *rt,
                      void *rows_pointer,
                      int64_t *count,
                      int64_t *room,
                      size_t row_bytes) {
    void *rows; /* accessed as bytes: the pointer has the type of its rows */
    memcpy(&rows, rows_pointer, sizeof rows);
    if (*count == *room) {
        const int64_t more = *room ? 2 * *room : 16;
        rows = pithp_reallocate(rt, rows, (size_t)*room * row_bytes,
                                (size_t)more * row_bytes);
        if (!rows)
            return NULL;
        memcpy(rows_pointer, &rows, sizeof rows);
        *room = more;
    }
    char *row = (char *)rows + (size_t)(*count)++ * row_bytes;
    memset(row, 0, row_bytes);
    return row;
}

/* ---- Paths ---- */

static void add_step(const pithp_document *d, const pithp_doc_node *n, pithp_string *t) {
    if (n->parent < 0)
        return;
    const pith_node_kind parent = d->nodes.rows[n->parent].kind;
    if (parent == PITH_NODE_RECORD)
        pithp_path_add_field(t, n->name);
    else if (parent == PITH_NODE_DICT)
        pithp_path_add_key(t, n->name);
    else
        pithp_path_add_index(t, n->index);
}

/* Counted up to most + 1. While a document is being changed, its rows still describe the
 * file. */
static int64_t depth_of(const pithp_document *d, int64_t node, size_t most) {
    int64_t depth = 0;
    while ((size_t)depth <= most && (node = d->nodes.rows[node].parent) >= 0)
        depth++;
    return depth;
}

bool pithp_document_path(const pithp_document *d,
                         int64_t node,
                         size_t most,
                         pithp_string *t) {
    /* Each path element takes two bytes or more, which bounds their number in a path that
     * fits. */
    enum { STEPS = 256 };
    int64_t few[STEPS], *steps = few;
    int64_t count = 0;
    const int64_t depth = depth_of(d, node, most / 2);
    const size_t start = t->length;
    if (depth > (int64_t)(most / 2))
        return false;
    if (depth > STEPS) {
        steps = pithp_allocate(t->rt, (size_t)depth * sizeof *steps);
        if (!steps)
            return t->failed = true, false;
    }
    for (int64_t i = node; d->nodes.rows[i].parent >= 0; i = d->nodes.rows[i].parent)
        steps[count++] = i;
    while (count-- > 0 && t->length - start <= most)
        add_step(d, &d->nodes.rows[steps[count]], t);
    if (steps != few)
        pithp_release(t->rt, steps, (size_t)depth * sizeof *steps);
    return t->length - start <= most;
}

/* Children follow their parent, so one pass finds the path elements in order. */
int64_t pithp_document_find(const pithp_document *d, const char *path) {
    pithp_string t;
    pithp_string_begin(&t, d->rt);
    int64_t row = 0;
    for (int64_t i = 1; *path && i < d->nodes.count; i++) {
        if (d->nodes.rows[i].parent != row)
            continue;
        t.length = 0;
        add_step(d, &d->nodes.rows[i], &t);
        if (t.failed)
            break;
        const char next = strncmp(path, t.bytes, t.length) == 0 ? path[t.length] : '-';
        if (next == '\0' || next == '.' || next == '[') {
            path += t.length;
            row = i;
        }
    }
    const bool failed = t.failed;
    pithp_string_end(&t);
    return failed ? -2 : *path ? -1 : row;
}

const char *pithp_document_error_path(const pithp_document *d,
                                      int64_t node,
                                      char path[PITHP_PATH_BYTES]) {
    pithp_string t;
    pithp_string_begin(&t, d->rt);
    int64_t i = node;
    for (int64_t depth = depth_of(d, node, SIZE_MAX / 2); depth > PITHP_PATH_BYTES / 4;
         depth--)
        i = d->nodes.rows[i].parent; /* a deep node is named by an ancestor */
    const bool whole = pithp_document_path(d, i, PITHP_PATH_BYTES - 8, &t) && !t.failed;
    const size_t n = t.length < PITHP_PATH_BYTES - 8 ? t.length : PITHP_PATH_BYTES - 8;
    memcpy(path, t.bytes, n);
    path[n] = 0;
    if (i != node || !whole)
        strcpy(path + n, "...");
    pithp_string_end(&t);
    return path;
}

size_t pithp_document_leaf_bytes(const pithp_document *d) {
    size_t bytes = 0;
    for (int64_t i = 0; i < d->leaves.count; i++)
        bytes += d->leaves.rows[i].bytes;
    return bytes;
}
