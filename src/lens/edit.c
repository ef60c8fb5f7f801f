/* Changes of a tree: nodes on the way to any of them are opened, their children replaced,
 * and each is made once, when all that changes below it has. Nothing else is touched. */
#include "lens/lens_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Changes ---- */

void pithp_lens_edits_begin(pithp_lens_edits *e,
                            pith_scope *s,
                            const pith_lens_options *options) {
    e->s = s;
    e->options = options;
    e->list = &e->first;
    e->count = 0;
    e->room = 1;
    pithp_lens_trail_begin(&e->trail, s->runtime);
}

pith_status pithp_lens_edits_add(pithp_lens_edits *e,
                                 const void *value,
                                 const pithp_lens_scalar *scalar) {
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
    e->list[e->count++] = (pithp_lens_edit){
        .places = places, .depth = e->trail.depth, .value = value, .scalar = scalar};
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

/* How many first places two changes have in common. */
static int64_t common_places(const pithp_lens_edit *a, const pithp_lens_edit *b) {
    const int64_t most = a->depth < b->depth ? a->depth : b->depth;
    int64_t i = 0;
    while (i < most && a->places[i] == b->places[i])
        i++;
    return i;
}

static int compare_edits(const void *x, const void *y) {
    const pithp_lens_edit *a = x, *b = y;
    const int64_t i = common_places(a, b);
    if (i < a->depth && i < b->depth)
        return a->places[i] < b->places[i] ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

/* Bring changes in the order of a walk; none may be of what another one is of, or within
 * it. */
static pith_status order_edits(const pithp_lens_edits *e, const void *root) {
    bool ordered = true;
    for (int64_t i = 1; i < e->count && ordered; i++)
        ordered = compare_edits(&e->list[i - 1], &e->list[i]) < 0;
    if (!ordered)
        qsort(e->list, (size_t)e->count, sizeof *e->list, compare_edits);
    for (int64_t i = 1; i < e->count; i++) {
        const pithp_lens_edit *a = &e->list[i - 1], *b = &e->list[i];
        if (common_places(a, b) < a->depth)
            continue;
        pithp_text outer, inner;
        pithp_text_begin(&outer, e->s->runtime);
        pithp_text_begin(&inner, e->s->runtime);
        pithp_lens_places_text(&outer, root, a->places, a->depth);
        pithp_lens_places_text(&inner, root, b->places, b->depth);
        pithp_fail(e->s, PITH_E_ARG, inner.bytes,
                   "two lenses set it: what one of them sets at '%.200s' holds it, or is "
                   "it",
                   outer.bytes);
        pithp_text_end(&inner);
        pithp_text_end(&outer);
        return PITH_E_ARG;
    }
    return PITH_OK;
}

/* ---- Open nodes ---- */

typedef struct open_node {
    const void *node;
    const pithp_shape *shape;
    size_t payload;   /* where a copy of it is on the stack */
    int64_t place;    /* in the node around it */
    bool new_statics; /* of a record */
} open_node;

typedef struct remaking {
    pith_scope *s;
    const pith_lens_options *options;
    open_node *open;
    char *stack; /* payloads of open nodes */
    int64_t depth, room;
    size_t used, stack_room;
    open_node first_open[16];
    _Alignas(16) char first_stack[1024];
} remaking;

static void begin(remaking *r, const pithp_lens_edits *e) {
    r->s = e->s;
    r->options = e->options;
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

/* More memory with the old contents; NULL: it is short, and the old one stays. */
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
    const pithp_shape *shape = pithp_shape_of(node);
    const size_t payload = (shape->payload_bytes + 15) & ~(size_t)15;
    if (!reserve(r, payload))
        return pithp_fail_memory(r->s, r->stack_room);
    r->open[r->depth++] =
        (open_node){.node = node, .shape = shape, .payload = r->used, .place = place};
    if (shape->payload_bytes)
        memcpy(r->stack + r->used, node, shape->payload_bytes);
    r->used += payload;
    return PITH_OK;
}

/* What is at a place of the innermost open node: a child, or a static record. */
static const void **child_at(const remaking *r, int64_t place) {
    const open_node *top = &r->open[r->depth - 1];
    char *payload = r->stack + top->payload;
    return place >= 0 ? pithp_slot(payload, top->shape, place)
                      : (const void **)(void *)(payload + top->shape->type->fields[~place]
                                                              .declared.offset);
}

/* Put the path of the innermost open node, or of a place of it, before the error's. */
static void prefix_path(const remaking *r, const int64_t *place) {
    pithp_text path;
    pithp_text_begin(&path, r->s->runtime);
    for (int64_t i = 0; i < r->depth; i++) {
        const int64_t *next = i + 1 < r->depth ? &r->open[i + 1].place : place;
        if (next)
            pithp_lens_places_text(&path, r->open[i].node, next, 1);
    }
    pithp_error_prefix(r->s, path.bytes);
    pithp_text_end(&path);
}

static pith_status put(remaking *r, int64_t place, const pithp_lens_edit *edit) {
    open_node *top = &r->open[r->depth - 1];
    if (place >= 0) {
        *child_at(r, place) = edit->value;
        return PITH_OK;
    }
    const pithp_field *field = &top->shape->type->fields[~place];
    char *payload = r->stack + top->payload;
    top->new_statics = true;
    const pith_status rc =
        edit->scalar ? pithp_lens_static_put_scalar(r->s, payload, field, edit->scalar)
                     : pithp_lens_static_put(r->s, payload, field, edit->value);
    if (rc != PITH_OK)
        prefix_path(r, &place);
    return rc;
}

static const void *remake(remaking *r, const open_node *n) {
    const void *payload = r->stack + n->payload;
    const pith_type *type = n->shape->type;
    if (!type) {
        const int64_t count = n->shape->slot_count;
        const void *const *items = payload;
        for (int64_t i = 0; i < count; i++)
            if (!items[i]) {
                pithp_fail(r->s, PITH_E_ARG, NULL, "an item cannot be absent");
                return NULL;
            }
        return pithp_node_make(r->s, n->shape, items);
    }
    if (n->new_statics && r->options && r->options->resize) {
        const pith_resize_options options = {.shrink = r->options->shrink};
        const void *made =
            pith_tree_resize_as(pithp_on_behalf(r->s), type, payload, &options);
        return r->s->error.code == PITH_OK ? made : NULL;
    }
    return pithp_freeze(r->s, type, payload);
}

/* Make the innermost open node, and put it into the one around it. NULL: error set. */
static const void *close_node(remaking *r) {
    const open_node n = r->open[r->depth - 1];
    const void *made = remake(r, &n);
    if (!made) {
        prefix_path(r, NULL);
        return NULL;
    }
    r->depth--;
    r->used = n.payload;
    if (r->depth) {
        *child_at(r, n.place) = made;
        r->open[r->depth - 1].new_statics |= n.place < 0;
    }
    return made;
}

static const void *apply(remaking *r, const pithp_lens_edits *e, const void *root) {
    const void *made = NULL;
    if (open_child(r, root, 0) != PITH_OK)
        return NULL;
    for (int64_t i = 0; i < e->count; i++) {
        const pithp_lens_edit *edit = &e->list[i];
        const int64_t common = i ? common_places(edit - 1, edit) : 0;
        while (r->depth > common + 1)
            if (!close_node(r))
                return NULL;
        while (r->depth < edit->depth) {
            const int64_t place = edit->places[r->depth - 1];
            if (open_child(r, *child_at(r, place), place) != PITH_OK)
                return NULL;
        }
        if (put(r, edit->places[edit->depth - 1], edit) != PITH_OK)
            return NULL;
    }
    while (r->depth)
        if (!(made = close_node(r)))
            return NULL;
    return made;
}

/* The root itself is what changes, or nothing is: it outlives the scope. */
static const void *whole(pith_scope *s, const void *root) {
    if (!root) {
        pithp_fail(s, PITH_E_ARG, NULL, "the root cannot be absent");
        return NULL;
    }
    return pithp_keep_slots(s, 1, &root) == PITH_OK ? root : NULL;
}

const void *pithp_lens_edits_apply(pithp_lens_edits *e, const void *root) {
    if (e->count == 0)
        return whole(e->s, root);
    if (order_edits(e, root) != PITH_OK)
        return NULL;
    if (e->list[0].depth == 0)
        return whole(e->s, e->list[0].value);
    remaking r;
    begin(&r, e);
    const void *made = apply(&r, e, root);
    end(&r);
    return made;
}
