/* Tree edits: nodes on the path to a change are opened and their children replaced. Each
 * opened node is remade once, after all changes below it. Other nodes are shared. */
#include "lens/lens_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Changes ---- */

void pithp_lens_edits_begin(pithp_lens_edits *e,
                            pith_scope *s,
                            const pith_lens_options *options) {
    e->s = s;
    e->options = options;
    e->lens = NULL;
    e->list = &e->first;
    e->count = 0;
    e->room = 1;
    pithp_lens_trail_begin(&e->trail, s->runtime);
}

pith_status pithp_lens_edits_add(pithp_lens_edits *e, const pithp_lens_edit *edit) {
    if (e->count == e->room) {
        const size_t bytes = (size_t)e->room * sizeof *e->list;
        pithp_lens_edit *grown = pithp_allocate(e->s->runtime, 2 * bytes);
        if (!grown)
            return pithp_fail_memory(e->s, 2 * bytes);
        memcpy(grown, e->list, bytes);
        if (e->list != &e->first)
            pithp_release(e->s->runtime, e->list, bytes);
        e->list = grown;
        e->room *= 2;
    }
    const size_t bytes = (size_t)e->trail.depth * sizeof(int64_t);
    int64_t *places = bytes ? pithp_allocate(e->s->runtime, bytes) : NULL;
    if (bytes && !places)
        return pithp_fail_memory(e->s, bytes);
    if (bytes)
        memcpy(places, e->trail.places, bytes);
    pithp_lens_edit *added = &e->list[e->count];
    *added = *edit;
    added->places = places;
    added->depth = e->trail.depth;
    added->lens = e->lens;
    added->number = e->count++;
    return PITH_OK;
}

void pithp_lens_edits_end(pithp_lens_edits *e) {
    pith_runtime *rt = e->s->runtime;
    for (int64_t i = 0; i < e->count; i++)
        pithp_release(rt, e->list[i].places,
                      (size_t)e->list[i].depth * sizeof *e->list[i].places);
    if (e->list != &e->first)
        pithp_release(rt, e->list, (size_t)e->room * sizeof *e->list);
    pithp_lens_trail_end(&e->trail);
}

int64_t pithp_lens_common_places(const pithp_lens_edit *a, const pithp_lens_edit *b) {
    const int64_t most = a->depth < b->depth ? a->depth : b->depth;
    int64_t i = 0;
    while (i < most && a->places[i] == b->places[i])
        i++;
    return i;
}

/* Walk order. A computed change comes when the walk leaves the node. */
static int compare_edits(const void *x, const void *y) {
    const pithp_lens_edit *a = x, *b = y;
    const int64_t i = pithp_lens_common_places(a, b);
    if (i < a->depth && i < b->depth)
        return a->places[i] < b->places[i] ? -1 : 1;
    if (i < a->depth) /* a is an ancestor of b */
        return b->parts ? -1 : 1;
    if (i < b->depth)
        return a->parts ? 1 : -1;
    if (!a->parts != !b->parts)
        return a->parts ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Sort changes; a change at or below a replaced position is an error. */
static pith_status order_edits(const pithp_lens_edits *e, const void *root) {
    bool ordered = true;
    for (int64_t i = 1; i < e->count && ordered; i++)
        ordered = compare_edits(&e->list[i - 1], &e->list[i]) < 0;
    if (!ordered)
        qsort(e->list, (size_t)e->count, sizeof *e->list, compare_edits);
    for (int64_t i = 1; i < e->count; i++) {
        const pithp_lens_edit *a = &e->list[i - 1], *b = &e->list[i];
        if (!a->parts && pithp_lens_common_places(a, b) == a->depth)
            return pithp_lens_conflict(e, root, a, b);
    }
    return PITH_OK;
}

/* ---- Open nodes ---- */

typedef struct open_node {
    const void *node;
    const pithp_node_def *node_def;
    size_t payload;   /* offset of its copy on the stack */
    int64_t place;    /* in the parent */
    bool new_statics; /* statics of the record have changed */
} open_node;

typedef struct remaking {
    pith_scope *s;
    const pith_lens_options *options;
    const void *root; /* the current root */
    open_node *open;
    char *stack; /* copies of open nodes */
    int64_t depth, room;
    size_t used, stack_room;
    open_node first_open[16];
    _Alignas(16) char first_stack[1024];
} remaking;

static void begin(remaking *r, const pithp_lens_edits *e, const void *root) {
    r->s = e->s;
    r->options = e->options;
    r->root = root;
    r->open = r->first_open;
    r->stack = r->first_stack;
    r->depth = 0;
    r->used = 0;
    r->room = PITHP_COUNT(r->first_open);
    r->stack_room = sizeof r->first_stack;
}

static void end(remaking *r) {
    if (r->open != r->first_open)
        pithp_scratch_release(r->s->runtime, r->open, (size_t)r->room * sizeof *r->open);
    if (r->stack != r->first_stack)
        pithp_scratch_release(r->s->runtime, r->stack, r->stack_room);
}

/* Enlarge memory and copy its contents; NULL: out of memory, and the old memory stays. */
static void *
grow(pith_runtime *rt, void *old, const void *first, size_t bytes, size_t more) {
    void *grown = pithp_scratch_allocate(rt, more);
    if (!grown)
        return NULL;
    memcpy(grown, old, bytes);
    if (old != first)
        pithp_scratch_release(rt, old, bytes);
    return grown;
}

static bool reserve(remaking *r, size_t payload) {
    pith_runtime *rt = r->s->runtime;
    if (r->depth == r->room) {
        const size_t bytes = (size_t)r->room * sizeof *r->open;
        open_node *open = grow(rt, r->open, r->first_open, bytes, 2 * bytes);
        if (!open)
            return false;
        r->open = open;
        r->room *= 2;
    }
    if (r->stack_room - r->used < payload) {
        const size_t more = 2 * r->stack_room + payload;
        char *stack = grow(rt, r->stack, r->first_stack, r->stack_room, more);
        if (!stack)
            return false;
        r->stack = stack;
        r->stack_room = more;
    }
    return true;
}

static pith_status open_child(remaking *r, const void *node, int64_t place) {
    const pithp_node_def *node_def = pithp_node_def_of(node);
    const size_t payload = (node_def->payload_bytes + 15) & ~(size_t)15;
    if (!reserve(r, payload))
        return pithp_fail_memory(r->s, r->stack_room);
    r->open[r->depth++] = (open_node){
        .node = node, .node_def = node_def, .payload = r->used, .place = place};
    if (node_def->payload_bytes)
        memcpy(r->stack + r->used, node, node_def->payload_bytes);
    r->used += payload;
    return PITH_OK;
}

/* The slot at a position of the innermost open node (a child or a static record), or the
 * root. */
static const void **child_at(remaking *r, int64_t place) {
    if (!r->depth)
        return &r->root;
    const open_node *top = &r->open[r->depth - 1];
    char *payload = r->stack + top->payload;
    return place >= 0
               ? pithp_slot(payload, top->node_def, place)
               : (const void **)(void *)(payload + top->node_def->type->fields[~place]
                                                       .declared.offset);
}

/* Prefix the error with the path of the innermost open node, extended by positions. */
static void prefix_path(const remaking *r, const int64_t *places, int64_t count) {
    pithp_string path;
    pithp_string_begin(&path, r->s->runtime);
    for (int64_t i = 1; i < r->depth; i++)
        pithp_lens_places_text(&path, r->open[i - 1].node, &r->open[i].place, 1);
    pithp_lens_places_text(&path, r->depth ? r->open[r->depth - 1].node : r->root, places,
                           count);
    pithp_error_prefix(r->s, path.bytes);
    pithp_string_end(&path);
}

/* The new node of an edit. NULL: absent, or the error is set. */
static const void *
new_value(const pithp_lens_edits *e, pithp_lens_edit *edit, const void *there) {
    if (edit->parts)
        return edit->made = pithp_lens_set_computed(e, edit, there);
    if (edit->rows)
        return pithp_lens_set_row(e->s, there, edit->rows,
                                  edit->places + edit->depth - edit->rows, edit->value);
    return edit->value;
}

static pith_status put_static(remaking *r,
                              int64_t place,
                              const pithp_static_value *scalar,
                              const void *value) {
    open_node *top = &r->open[r->depth - 1];
    const pithp_field *field = &top->node_def->type->fields[~place];
    char *payload = r->stack + top->payload;
    top->new_statics = true;
    return scalar ? pithp_lens_static_put_scalar(r->s, payload, field, scalar)
                  : pithp_lens_static_put(r->s, payload, field, value);
}

/* Apply a change at a position of the innermost open node, or the root. */
static pith_status
put(remaking *r, const pithp_lens_edits *e, int64_t i, pithp_lens_changes *changes) {
    pithp_lens_edit *edit = &e->list[i];
    const int64_t depth = edit->depth - edit->rows,
                  place = depth ? edit->places[depth - 1] : 0;
    /* a static not reached by a lens may be a number: do not read it as a pointer */
    const void *there = place >= 0 || edit->parts ? *child_at(r, place) : NULL;
    const void *value = new_value(e, edit, there);
    pith_status rc = r->s->error.code;
    if (rc == PITH_OK && place < 0)
        rc = put_static(r, place, edit->scalar, value);
    else if (rc == PITH_OK)
        *child_at(r, place) = value;
    if (rc != PITH_OK) {
        const int64_t first = depth ? depth - 1 : 0;
        prefix_path(r, edit->places + first, edit->depth - first);
        return rc;
    }
    return edit->parts && e->count > 1 ? pithp_lens_changes_add(changes, i, there, value)
                                       : PITH_OK;
}

static const void *remake(remaking *r, const open_node *n) {
    const void *payload = r->stack + n->payload;
    const pith_type *type = n->node_def->type;
    if (!type) {
        const int64_t count = n->node_def->slot_count;
        const void *const *items = payload;
        for (int64_t i = 0; i < count; i++)
            if (!items[i]) {
                pithp_fail(r->s, PITH_E_ARG, NULL, "an item cannot be absent");
                return NULL;
            }
        return pithp_node_make(r->s, n->node_def, items);
    }
    if (n->new_statics && r->options && r->options->resize) {
        const pith_resize_options options = {.shrink = r->options->shrink};
        const void *made =
            pith_tree_resize_any(pithp_on_behalf(r->s), type, payload, &options);
        return r->s->error.code == PITH_OK ? made : NULL;
    }
    return pithp_record_check_change(r->s, type, payload, n->node) == PITH_OK
               ? pithp_freeze(r->s, type, payload)
               : NULL;
}

/* Remake the innermost open node, and store it in its parent. */
static pith_status close_node(remaking *r) {
    const open_node n = r->open[r->depth - 1];
    const void *made = remake(r, &n);
    if (!made) {
        prefix_path(r, NULL, 0);
        return r->s->error.code;
    }
    r->depth--;
    r->used = n.payload;
    *child_at(r, n.place) = made;
    if (r->depth)
        r->open[r->depth - 1].new_statics |= n.place < 0;
    return PITH_OK;
}

/* Open the nodes down to the parent of an edit, and close others. */
static pith_status
open_around(remaking *r, const pithp_lens_edit *before, const pithp_lens_edit *edit) {
    const int64_t depth = edit->depth - edit->rows;
    const int64_t common = before ? pithp_lens_common_places(before, edit) : 0;
    const int64_t stay = common < depth ? common + 1 : depth;
    pith_status rc = PITH_OK;
    while (r->depth > stay && rc == PITH_OK)
        rc = close_node(r);
    while (r->depth < depth && rc == PITH_OK) {
        const int64_t place = r->depth ? edit->places[r->depth - 1] : 0;
        rc = open_child(r, *child_at(r, place), place);
    }
    return rc;
}

static pith_status
apply(remaking *r, const pithp_lens_edits *e, pithp_lens_changes *changes) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < e->count && rc == PITH_OK; i++) {
        rc = open_around(r, i ? &e->list[i - 1] : NULL, &e->list[i]);
        if (rc == PITH_OK)
            rc = put(r, e, i, changes);
    }
    while (r->depth && rc == PITH_OK)
        rc = close_node(r);
    return rc;
}

const void *pithp_lens_edits_apply(pithp_lens_edits *e, const void *root) {
    pith_scope *s = e->s;
    if (order_edits(e, root) != PITH_OK)
        return NULL;
    remaking r;
    pithp_lens_changes changes;
    begin(&r, e, root);
    pithp_lens_changes_begin(&changes, e, root);
    pith_status rc = apply(&r, e, &changes);
    if (rc == PITH_OK && !r.root)
        rc = pithp_fail(s, PITH_E_ARG, NULL, "the root cannot be absent");
    if (rc == PITH_OK) /* the edit may replace the root itself */
        rc = pithp_keep_slots(s, 1, &r.root);
    if (rc == PITH_OK)
        rc = pithp_lens_changes_check(&changes);
    pithp_lens_changes_end(&changes);
    end(&r);
    return rc == PITH_OK ? r.root : NULL;
}
