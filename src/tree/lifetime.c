/* Lifetimes: promotion of trees to an outer scope, and transfer between threads. Nodes
 * that the outer scope does not reach are copied, shared subtrees once. Array data is
 * shared, unless a small array would hold a block of more than twice its size. */
#include "tree/node_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Hash table from pointers to numbers ---- */

typedef struct {
    const void *key;
    int64_t value;
} table_entry;

typedef struct {
    table_entry *entries;
    size_t room, count;
} table;

static table_entry *find(const table *t, const void *key) {
    size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20 & (t->room - 1);
    while (t->entries[i].key && t->entries[i].key != key)
        i = (i + 1) & (t->room - 1);
    return &t->entries[i];
}

static bool grow(pith_runtime *rt, table *t) {
    if (2 * (t->count + 1) <= t->room)
        return true;
    table bigger = {.room = t->room ? 4 * t->room : 64, .count = t->count};
    bigger.entries = pithp_allocate(rt, bigger.room * sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    memset(bigger.entries, 0, bigger.room * sizeof *bigger.entries);
    for (size_t i = 0; i < t->room; i++)
        if (t->entries[i].key)
            *find(&bigger, t->entries[i].key) = t->entries[i];
    pithp_release(rt, t->entries, t->room * sizeof *t->entries);
    *t = bigger;
    return true;
}

/* The entry of a key; a new entry has the value -1. NULL if memory is short. */
static table_entry *enter(pith_runtime *rt, table *t, const void *key) {
    if (!grow(rt, t))
        return NULL;
    table_entry *e = find(t, key);
    if (!e->key) {
        *e = (table_entry){key, -1};
        t->count++;
    }
    return e;
}

/* ---- Objects to copy ---- */

typedef struct {
    const void *from;
    const void *to;
    bool array, compact; /* compact: its data is copied */
} moved;

typedef struct {
    const pithp_buffer *buffer;
    size_t bytes; /* of its kept arrays, with the alignment of a block */
} use;

typedef struct {
    pith_scope *outer;
    pith_runtime *rt;
    table seen, buffers;
    moved *list;
    use *uses;
    int64_t count, room, array_count, compact_count, use_count, use_room;
} moving;

/* Reserve room for one more element of an array. */
static bool
reserve(pith_runtime *rt, void **array, int64_t count, int64_t *room, size_t each) {
    if (count < *room)
        return true;
    const int64_t more = *room ? 2 * *room : 32;
    void *grown = pithp_reallocate(rt, *array, (size_t)*room * each, (size_t)more * each);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static bool note_buffer(moving *m, const pith_array *a) {
    table_entry *e = enter(m->rt, &m->buffers, pithp_array_buffer(a));
    if (!e)
        return false;
    if (e->value < 0) {
        void *uses = m->uses;
        if (!reserve(m->rt, &uses, m->use_count, &m->use_room, sizeof *m->uses))
            return false;
        m->uses = uses;
        e->value = m->use_count;
        m->uses[m->use_count++] = (use){.buffer = pithp_array_buffer(a)};
    }
    m->uses[e->value].bytes += pithp_array_step(pithp_array_spec(a));
    return true;
}

/* Add an object to the copy list. *known: it was in the list before. */
static bool note(moving *m, const void *object, bool *known) {
    table_entry *e = enter(m->rt, &m->seen, object);
    if (!e)
        return false;
    *known = e->value >= 0;
    if (*known)
        return true;
    void *list = m->list;
    if (!reserve(m->rt, &list, m->count, &m->room, sizeof *m->list))
        return false;
    m->list = list;
    const bool array = pithp_kind_is_array(object);
    e->value = m->count;
    m->list[m->count++] = (moved){.from = object, .array = array};
    m->array_count += array;
    return !array || note_buffer(m, object);
}

/* Check that a leaf can be kept; a failure sets the error. */
static pith_status check_leaf(moving *m, const pithp_walk *w) {
    const pithp_header *h = pithp_header_of(w->node);
    const bool dropped = h->kind == PITHP_KIND_FREE;
    if (!dropped && !h->extra)
        return PITH_OK;
    const pith_status code = dropped                            ? PITH_E_ARG
                             : (h->extra & PITHP_ARRAY_DONATED) ? PITH_E_DONATED
                                                                : PITH_E_TRACED;
    pithp_string path;
    pithp_string_begin(&path, m->rt);
    pithp_walk_path(w, &path);
    const char *at = "", *where = "";
    if (code == PITH_E_DONATED)
        where = pithp_array_donated_at(w->node, &at);
    pithp_fail(m->outer, code, path.bytes, "%s%s%s",
               dropped ? "the array was dropped"
               : code == PITH_E_DONATED
                   ? "the array was donated"
                   : "a traced array cannot be moved out of its trace",
               where, at);
    pithp_string_end(&path);
    return code == PITH_E_TRACED ? pithp_trace_refuse(m->outer, w->node) : code;
}

/* Add all objects that a tree reaches and that do not outlive the outer scope. */
static pith_status gather(moving *m, const void *tree) {
    pithp_walk w;
    pithp_visit visit;
    pith_status rc = PITH_OK;
    pithp_walk_begin(&w, m->rt, tree);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit)) {
        bool known = false;
        if (visit == PITHP_VISIT_LEAVE || visit == PITHP_VISIT_ABSENT)
            continue;
        const bool stays =
            pithp_scope_reaches(m->outer, pithp_owner_of(w.node)) ||
            (visit == PITHP_VISIT_LEAF && pithp_trace_has(m->outer, w.node));
        if (!stays && visit == PITHP_VISIT_LEAF)
            rc = check_leaf(m, &w);
        if (!stays && rc == PITH_OK && !note(m, w.node, &known))
            rc = pithp_fail_memory(m->outer, sizeof *m->list);
        if (rc == PITH_OK && visit == PITHP_VISIT_ENTER && (stays || known))
            pithp_walk_skip(&w);
    }
    if (w.failed)
        rc = pithp_fail_memory(m->outer, sizeof *w.frames);
    pithp_walk_end(&w);
    return rc;
}

/* ---- Copying ---- */

static void choose_compact(moving *m) {
    for (int64_t i = 0; i < m->count; i++) {
        if (!m->list[i].array)
            continue;
        const pith_array *a = m->list[i].from;
        const use *u = &m->uses[find(&m->buffers, pithp_array_buffer(a))->value];
        m->list[i].compact = pithp_keep_copies(pithp_array_buffer(a), u->bytes);
        m->compact_count += m->list[i].compact;
    }
}

/* Copy runs of arrays that are contiguous in both the old buffer and the new block. */
static pith_status copy_data(moving *m, const pith_array **from, const pith_array **to) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < m->compact_count && rc == PITH_OK;) {
        const char *source = from[i]->data;
        char *target = to[i]->data;
        size_t bytes = pithp_array_spec(from[i])->bytes;
        int64_t next = i + 1;
        while (next < m->compact_count &&
               pithp_array_buffer(from[next]) == pithp_array_buffer(from[i]) &&
               pithp_array_buffer(to[next]) == pithp_array_buffer(to[i]) &&
               (const char *)from[next]->data - source ==
                   (char *)to[next]->data - target &&
               (const char *)from[next]->data >= source + bytes) {
            bytes = (size_t)((const char *)from[next]->data - source) +
                    pithp_array_spec(from[next])->bytes;
            next++;
        }
        rc = pithp_buffer_read(m->outer, pithp_array_buffer(from[i]));
        if (rc == PITH_OK && bytes)
            rc = pithp_copy(m->outer, target, source, bytes);
        i = next;
    }
    return rc;
}

static pith_status move_compact(moving *m) {
    if (m->compact_count == 0)
        return PITH_OK;
    const size_t each = 3 * sizeof(void *), bytes = (size_t)m->compact_count * each;
    const pith_array **from = pithp_allocate(m->rt, bytes);
    if (!from)
        return pithp_fail_memory(m->outer, bytes);
    const pith_array **to = from + m->compact_count;
    const pith_spec **specs = (const pith_spec **)(to + m->compact_count);
    int64_t n = 0;
    for (int64_t i = 0; i < m->count; i++)
        if (m->list[i].compact) {
            from[n] = m->list[i].from;
            specs[n] = pithp_array_spec(from[n]);
            n++;
        }
    pith_status rc = pithp_arrays_make(m->outer, n, specs, to);
    if (rc == PITH_OK) {
        n = 0;
        for (int64_t i = 0; i < m->count; i++)
            if (m->list[i].compact)
                m->list[i].to = to[n++];
        rc = copy_data(m, from, to);
    }
    pithp_release(m->rt, from, bytes);
    return rc;
}

static pith_status move_objects(moving *m) {
    for (int64_t i = 0; i < m->count; i++) {
        moved *e = &m->list[i];
        if (e->compact)
            continue;
        if (e->array) {
            const pith_array *a = e->from;
            e->to = pithp_array_view(m->outer, pithp_array_spec(a), pithp_array_buffer(a),
                                     a->data);
        } else {
            e->to = pithp_node_copy(m->outer, e->from);
        }
        if (!e->to)
            return m->outer->error.code;
    }
    return PITH_OK;
}

/* The replacement of an object in the outer scope. */
static const void *moved_to(const moving *m, const void *object) {
    const table_entry *e = object && m->seen.room ? find(&m->seen, object) : NULL;
    return e && e->key ? m->list[e->value].to : object;
}

static void patch_nodes(moving *m) {
    for (int64_t i = 0; i < m->count; i++) {
        if (m->list[i].array)
            continue;
        const pithp_node_def *node_def = pithp_node_def_of(m->list[i].to);
        for (int64_t k = 0; k < node_def->slot_count; k++) {
            const void **slot = pithp_slot(m->list[i].to, node_def, k);
            *slot = moved_to(m, *slot);
        }
    }
}

static void undo(moving *m) {
    for (int64_t i = 0; i < m->count; i++) {
        const moved *e = &m->list[i];
        if (e->to && e->array)
            pithp_array_drop(m->outer, e->to);
        else if (e->to)
            pithp_header_of(e->to)->kind = PITHP_KIND_FREE;
    }
}

static pith_status move(moving *m) {
    pith_status rc;
    choose_compact(m);
    PITH_TRY(move_compact(m));
    PITH_TRY(move_objects(m));
    patch_nodes(m);
    return PITH_OK;
out:
    undo(m);
    return rc;
}

static void end(moving *m) {
    pithp_release(m->rt, m->seen.entries, m->seen.room * sizeof *m->seen.entries);
    pithp_release(m->rt, m->buffers.entries,
                  m->buffers.room * sizeof *m->buffers.entries);
    pithp_release(m->rt, m->list, (size_t)m->room * sizeof *m->list);
    pithp_release(m->rt, m->uses, (size_t)m->use_room * sizeof *m->uses);
}

pith_status pithp_keep_slots(pith_scope *outer, int64_t count, const void **slots) {
    if (count == 1 && slots[0] && pithp_scope_reaches(outer, pithp_owner_of(slots[0])))
        return PITH_OK;
    moving m = {.outer = outer, .rt = outer->runtime};
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++)
        rc = gather(&m, slots[i]);
    if (rc == PITH_OK)
        rc = move(&m);
    for (int64_t i = 0; i < count && rc == PITH_OK; i++)
        slots[i] = moved_to(&m, slots[i]);
    end(&m);
    return rc;
}

pith_status
pithp_keep_children(pith_scope *s, const void *node, const pithp_node_def *node_def) {
    moving m = {.outer = s, .rt = s->runtime};
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < node_def->slot_count && rc == PITH_OK; i++) {
        const void *child = *pithp_slot(node, node_def, i);
        rc = child ? gather(&m, child) : PITH_OK;
        if (rc != PITH_OK) {
            pithp_string path;
            pithp_string_begin(&path, s->runtime);
            pithp_path_add_slot(&path, node_def, i);
            pithp_error_prefix(s, path.bytes);
            pithp_string_end(&path);
        }
    }
    if (rc == PITH_OK)
        rc = move(&m);
    for (int64_t i = 0; i < node_def->slot_count && rc == PITH_OK; i++) {
        const void **slot = pithp_slot(node, node_def, i);
        *slot = moved_to(&m, *slot);
    }
    end(&m);
    return rc;
}

/* The class of a live object of the scope's runtime or of the process, or NULL. */
static const pithp_class *class_of(const pith_scope *s, const void *object) {
    pithp_block *block = NULL;
    return pithp_pointer_check(object, &block) == PITHP_POINTER_OK &&
                   pithp_kind_of(object) == PITHP_KIND_CLASS &&
                   (!block->runtime || block->runtime == s->runtime)
               ? pithp_header_of(object)->descriptor
               : NULL;
}

const void *pith_keep_any(pith_scope *outer, const void *object) {
    if (!pithp_enter(outer))
        return pithp_nil_for(object);
    const pithp_class *class = class_of(outer, object);
    if (class)
        return pithp_scope_reaches(outer, pithp_owner_of(object))
                   ? object
                   : class->keep(outer, object);
    if (pithp_tree_check(outer, object, "pith_keep", "object") != PITH_OK)
        return pithp_nil_for(object);
    const void *kept = object;
    return pithp_keep_slots(outer, 1, &kept) == PITH_OK ? kept : pithp_nil_for(object);
}

/* ---- Between threads ---- */

/* A shared tree lives in a hidden root scope of its own. */
struct pith_shared {
    pith_scope *scope;
    const void *tree;
};

static const char shared_tag[] = "shared tree";

/* Whether a pointer is a shared tree that was not adopted yet. */
static bool is_shared(const void *object) {
    pithp_block *block = NULL;
    return pithp_pointer_check(object, &block) == PITHP_POINTER_OK &&
           pithp_kind_of(object) == PITHP_KIND_OTHER &&
           pithp_header_of(object)->descriptor == shared_tag;
}

static void close_failed(pith_scope *s, pith_scope *hidden) {
    const pithp_error *e = &hidden->error;
    pithp_fail(s, e->code, e->path, "%s", e->text[0] ? e->text : e->message);
    pith_clear(hidden);
    pith_scope_close(hidden);
}

pith_shared *pith_share(pith_scope *s, const void *tree) {
    if (!pithp_enter(s) || pithp_tree_check(s, tree, "pith_share", "tree") != PITH_OK)
        return NULL;
    pith_scope *hidden = pith_scope_open(s->runtime);
    pith_shared *shared = NULL;
    if (pithp_scope_writable(hidden) && hidden->error.code == PITH_OK) {
        hidden->site = s->site;
        shared = pithp_object_make(hidden, PITHP_KIND_OTHER, shared_tag, sizeof *shared);
    }
    if (shared) {
        *shared = (pith_shared){hidden, tree};
        if (pithp_keep_slots(hidden, 1, &shared->tree) == PITH_OK)
            return shared;
    }
    close_failed(s, hidden);
    return NULL;
}

const void *pith_adopt(pith_scope *s, pith_shared *shared) {
    if (!pithp_enter(s))
        return NULL;
    if (!is_shared(shared) || shared->scope->runtime != s->runtime) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_adopt: %s",
                   is_shared(shared)
                       ? "the tree was shared in another runtime"
                       : "expected a result of pith_share that was not adopted yet");
        return NULL;
    }
    const void *tree = shared->tree;
    if (pithp_keep_slots(s, 1, &tree) != PITH_OK)
        return pithp_nil_for(shared->tree);
    pith_scope_close(shared->scope);
    return tree;
}

void pith_unshare(pith_shared *shared) {
    if (is_shared(shared))
        pith_scope_close(shared->scope);
}
