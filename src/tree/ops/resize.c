/* Resizing: leaves follow changed statics that name extents. Each occurrence of a leaf
 * requires a spec: the statics of its record determine it, and for ^names those of
 * enclosing nodes. A leaf that occurs several times is resized once. */
#include "program/exec/copy_many.h"
#include "tree/node_internal.h"

#include <string.h>

/* An occurrence of a leaf, and its required result. */
typedef struct place {
    const pith_array *leaf, *result;
    const pith_spec *demand; /* the required spec, or NULL */
    double fill;
    int64_t first; /* the first occurrence of the same leaf */
} place;

typedef struct resizing {
    pith_scope *s;
    const pith_type *type;
    const char *value; /* the user's struct */
    bool shrink;
    place *places;
    int64_t count, room;
} resizing;

static const void *slot_of(const resizing *r, int32_t slot) {
    const void *child;
    memcpy(&child, r->value + r->type->slot_offsets[slot], sizeof child);
    return child;
}

/* ---- Paths for errors ---- */

/* The path of an occurrence, by a second walk. Occurrences are numbered in walk order. */
static void path_of(const resizing *r, int64_t wanted, pithp_string *path) {
    int64_t seen = 0;
    for (int32_t i = 0; i < r->type->slot_count; i++) {
        pithp_walk w;
        pithp_visit visit;
        pithp_walk_begin(&w, r->s->runtime, slot_of(r, i));
        while (pithp_walk_next(&w, &visit)) {
            if (visit != PITHP_VISIT_LEAF || seen++ != wanted)
                continue;
            const pith_type *type = r->type;
            pithp_path_add_field(path, type->fields[type->slot_fields[i]].declared.name);
            pithp_walk_path(&w, path);
            pithp_walk_end(&w);
            return;
        }
        pithp_walk_end(&w);
    }
}

/* Two occurrences of one leaf have different requirements. */
static pith_status fail_conflict(const resizing *r, int64_t a, int64_t b) {
    const place *x = &r->places[a], *y = &r->places[b];
    pithp_string first, second;
    char want[2][PITHP_LEAF_TEXT_BYTES];
    pithp_string_begin(&first, r->s->runtime);
    pithp_string_begin(&second, r->s->runtime);
    path_of(r, a, &first);
    path_of(r, b, &second);
    if (x->demand != y->demand)
        pithp_fail(r->s, PITH_E_SHAPE, second.bytes,
                   "resizes to %s, but the same leaf at %s to %s",
                   pithp_leaf_print(y->demand, want[1]), first.bytes,
                   pithp_leaf_print(x->demand, want[0]));
    else
        pithp_fail(r->s, PITH_E_SHAPE, second.bytes,
                   "is filled with %g, but the same leaf at %s with %g", y->fill,
                   first.bytes, x->fill);
    pithp_string_end(&second);
    pithp_string_end(&first);
    return PITH_E_SHAPE;
}

/* ---- Required specs ---- */

static int64_t static_i64(const pith_type *type, const void *record, int32_t field) {
    int64_t value;
    memcpy(&value, (const char *)record + type->fields[field].declared.offset,
           sizeof value);
    return value;
}

/* The static field that ^name refers to in a record. -1: a bound name, which is
 * unchanged; -2: the record does not have the name. */
static int32_t provider(const pith_type *type, const char *name) {
    for (int32_t i = 0; i < type->provided_count; i++)
        if (type->provided[i] == name)
            return type->provided_by[i] >= 0 ? type->provided_by[i] : -1;
    return -2;
}

/* The integer static that an extent depends on. Returns false if the extent keeps its
 * size. w: the walk inside the record, or NULL for the root. */
static bool find_static(const resizing *r,
                        const pithp_walk *w,
                        const pith_type *type,
                        const void *record,
                        const pithp_extent *e,
                        int64_t *value) {
    if (e->kind == PITHP_EXTENT_STATIC) {
        *value = static_i64(type, record, e->name);
        return true;
    }
    if (e->kind != PITHP_EXTENT_OUTER || !w)
        return false;
    const char *name = type->names[e->name];
    for (int64_t i = w->depth - 1; i-- > 0;) {
        const pithp_walk_frame *f = &w->frames[i];
        const int32_t by = f->node_def->type ? provider(f->node_def->type, name) : -2;
        if (by == -2)
            continue;
        if (by >= 0)
            *value = static_i64(f->node_def->type, f->node, by);
        return by >= 0;
    }
    const int32_t by = provider(r->type, name);
    if (by >= 0)
        *value = static_i64(r->type, r->value, by);
    return by >= 0;
}

/* The spec that a record requires of the leaf in one of its slots. */
static pith_status demand_of(const resizing *r,
                             const pithp_walk *w,
                             const pith_type *type,
                             const void *record,
                             int64_t slot,
                             place *p) {
    const pithp_field *f = &type->fields[type->slot_fields[slot]];
    const pithp_leaf_spec *ls = &f->leaf;
    const pith_spec *spec = pithp_array_spec(p->leaf);
    if (type->slots[slot].kind != PITHP_SLOT_LEAF || ls->any_shape ||
        spec->rank < ls->rank)
        return PITH_OK; /* misfits are refused when the record is made */
    p->fill = f->declared.options.fill;
    pith_spec wanted = *spec;
    int64_t *extents = wanted.shape + (spec->rank - ls->rank);
    for (int32_t k = 0; k < ls->rank; k++) {
        const pithp_extent *e = &ls->extents[k];
        int64_t base = 0; /* silences a false warning of gcc */
        if (find_static(r, w, type, record, e, &base) &&
            (__builtin_mul_overflow(base, e->times, &extents[k]) ||
             __builtin_add_overflow(extents[k], e->plus, &extents[k])))
            return pithp_fail(r->s, PITH_E_OVERFLOW, NULL,
                              "the extent of axis %d overflows",
                              spec->rank - ls->rank + k);
    }
    /* the shards of a sharded leaf are resized in place */
    p->demand = pithp_spec(r->s, spec->dtype, spec->rank, wanted.shape);
    if (p->demand)
        p->demand = pithp_spec_placed(r->s, p->demand, pithp_placement_of(spec));
    return p->demand ? PITH_OK : r->s->error.code;
}

static pith_status add_place(resizing *r,
                             const pithp_walk *w,
                             const pith_type *type,
                             const void *record,
                             int64_t slot,
                             const void *leaf) {
    if (r->count == r->room) {
        const size_t old = (size_t)r->room * sizeof(place);
        const int64_t room = r->room ? 2 * r->room : 64;
        place *grown =
            pithp_reallocate(r->s->runtime, r->places, old, (size_t)room * sizeof(place));
        if (!grown)
            return pithp_fail_memory(r->s, 2 * old);
        r->places = grown;
        r->room = room;
    }
    place *p = &r->places[r->count++];
    *p = (place){.leaf = leaf, .first = r->count - 1};
    const pith_status rc = type ? demand_of(r, w, type, record, slot, p) : PITH_OK;
    if (rc != PITH_OK) {
        pithp_string path;
        pithp_string_begin(&path, r->s->runtime);
        path_of(r, r->count - 1, &path);
        pithp_error_prefix(r->s, path.bytes);
        pithp_string_end(&path);
    }
    return rc;
}

/* Collect the occurrences of leaves in a child of the root. */
static pith_status collect_child(resizing *r, int32_t slot, const void *child) {
    if (pithp_kind_of(child) == PITHP_KIND_ARRAY)
        return add_place(r, NULL, r->type, r->value, slot, child);
    pithp_walk w;
    pithp_visit visit;
    pith_status rc = PITH_OK;
    pithp_walk_begin(&w, r->s->runtime, child);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit)) {
        if (visit != PITHP_VISIT_LEAF)
            continue;
        const pithp_walk_frame *parent = &w.frames[w.depth - 1];
        rc = add_place(r, &w, parent->node_def->type, parent->node, w.slot, w.node);
    }
    if (w.failed)
        rc = pithp_fail_memory(r->s, (size_t)w.room * sizeof *w.frames);
    pithp_walk_end(&w);
    return rc;
}

static pith_status collect(resizing *r) {
    for (int32_t i = 0; i < r->type->slot_count; i++) {
        const pithp_field *f = &r->type->fields[r->type->slot_fields[i]];
        const void *child = slot_of(r, i);
        pithp_string path;
        pithp_string_begin(&path, r->s->runtime);
        pithp_path_add_field(&path, f->declared.name);
        pith_status rc = child ? pithp_child_check(r->s, child, path.bytes) : PITH_OK;
        pithp_string_end(&path);
        if (rc == PITH_OK && child)
            rc = collect_child(r, i, child);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* ---- Leaves with several occurrences ---- */

static bool same_fill(const place *a, const place *b) {
    return memcmp(&a->fill, &b->fill, sizeof a->fill) == 0;
}

/* Merge an occurrence into the first one of its leaf. */
static pith_status merge(const resizing *r, int64_t first, int64_t other) {
    place *a = &r->places[first], *b = &r->places[other];
    b->first = first;
    if (!b->demand)
        return PITH_OK;
    if (!a->demand) {
        a->demand = b->demand;
        a->fill = b->fill;
        return PITH_OK;
    }
    const bool changes = a->demand != pithp_array_spec(a->leaf);
    if (a->demand != b->demand || (changes && !same_fill(a, b)))
        return fail_conflict(r, first, other);
    return PITH_OK;
}

static pith_status merge_all(const resizing *r) {
    size_t mask = 15;
    while ((int64_t)mask < 2 * r->count)
        mask = 2 * mask + 1;
    const size_t bytes = (mask + 1) * sizeof(int64_t);
    int64_t *table =
        pithp_scratch_allocate(r->s->runtime, bytes); /* index + 1; 0: free */
    if (!table)
        return pithp_fail_memory(r->s, bytes);
    memset(table, 0, bytes);
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < r->count && rc == PITH_OK; i++) {
        const pith_array *leaf = r->places[i].leaf;
        size_t at = (size_t)pithp_hash(0, &leaf, sizeof leaf) & mask;
        while (table[at] && r->places[table[at] - 1].leaf != leaf)
            at = (at + 1) & mask;
        if (table[at])
            rc = merge(r, table[at] - 1, i);
        else
            table[at] = i + 1;
    }
    pithp_scratch_release(r->s->runtime, table, bytes);
    return rc;
}

/* ---- Leaves ---- */

/* Whether this is the first occurrence of a leaf that changes its spec. */
static bool changes(const resizing *r, int64_t i) {
    const place *p = &r->places[i];
    return p->first == i && p->demand && p->demand != pithp_array_spec(p->leaf);
}

/* Check that a leaf may take the required spec, and encode its fill. */
static pith_status check_change(const resizing *r, const place *p, uint64_t *fill) {
    const pith_spec *from = pithp_array_spec(p->leaf), *to = p->demand;
    for (int32_t k = 0; k < from->rank; k++) {
        if (to->shape[k] >= from->shape[k] || r->shrink)
            continue;
        char old[PITHP_SPEC_TEXT_BYTES], new[PITHP_SPEC_TEXT_BYTES];
        return pithp_fail(r->s, PITH_E_SHAPE, NULL,
                          "would shrink from %s to %s, which drops elements: "
                          "options.shrink allows it",
                          pithp_spec_print(from, old), pithp_spec_print(to, new));
    }
    *fill = 0;
    if (!pithp_dtype_encode(from->dtype, p->fill, fill) &&
        !pith_dtype_is_float(from->dtype))
        return pithp_fail(r->s, PITH_E_DTYPE, NULL, "its fill %.17g is not exact in %s",
                          p->fill, pith_dtype_name(from->dtype));
    return pithp_leaf_check(r->s, p->leaf, "pith_tree_resize", "leaf");
}

/* Add the move of the elements that a leaf and its result share. */
static pith_status add_common(pithp_copies *copies, const place *p) {
    const pith_spec *from = pithp_array_spec(p->leaf), *to = p->demand;
    pithp_move m = {.to = p->result->data,
                    .from = p->leaf->data,
                    .size = (int32_t)pith_dtype_size(from->dtype),
                    .rank = from->rank};
    for (int d = 0; d < m.rank; d++) {
        m.shape[d] = from->shape[d] < to->shape[d] ? from->shape[d] : to->shape[d];
        if (m.shape[d] == 0)
            return PITH_OK;
    }
    pithp_c_strides(m.rank, to->shape, m.size, m.to_stride);
    pithp_c_strides(m.rank, from->shape, m.size, m.from_stride);
    return pithp_copies_add_move(copies, "pith_tree_resize", &m);
}

/* The `count` leaves that change: indices, specs, fills and results. */
typedef struct change_list {
    int64_t count;
    int64_t *places;
    const pith_spec **specs;
    uint64_t *fills;
    const pith_array **results;
} change_list;

static pith_status move_leaves(resizing *r, const change_list *c) {
    pithp_copies copies;
    pith_status rc = pithp_copies_begin(r->s, &copies, c->count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < c->count && rc == PITH_OK; i++) {
        r->places[c->places[i]].result = c->results[i];
        rc = add_common(&copies, &r->places[c->places[i]]);
    }
    if (rc == PITH_OK)
        rc = pithp_copies_run(&copies, "pith_tree_resize");
    pithp_copies_end(&copies);
    return rc;
}

/* Resize a leaf by a primitive. */
static const pith_array *pad_leaf(pith_scope *s, const place *p, uint64_t fill) {
    const pith_spec *from = pithp_array_spec(p->leaf);
    const pithp_full_params full = {.dtype = from->dtype, .value = fill};
    pithp_pad_params pad = {{0}, {0}, {0}};
    for (int d = 0; d < from->rank; d++)
        pad.high[d] = p->demand->shape[d] - from->shape[d];
    const pith_array *operands[2] = {p->leaf,
                                     pithp_bind(s, PITHP_OP_FULL, 0, NULL, &full)};
    const pith_array *made =
        operands[1] ? pithp_bind(s, PITHP_OP_PAD, 2, operands, &pad) : NULL;
    return made ? pithp_array_place(s, made, p->demand) : NULL;
}

/* For traced leaves, which have no memory to move. */
static pith_status pad_leaves(resizing *r, const change_list *c) {
    for (int64_t i = 0; i < c->count; i++) {
        place *p = &r->places[c->places[i]];
        p->result = pad_leaf(r->s, p, c->fills[i]);
        if (!p->result)
            return r->s->error.code;
    }
    return PITH_OK;
}

/* Make the results of all changes, filled, and move the remaining elements into them. */
static pith_status make_leaves(resizing *r, const change_list *c) {
    pith_status rc = PITH_OK;
    bool traced = false;
    for (int64_t i = 0; i < c->count; i++)
        traced |= pithp_array_is_traced(r->places[c->places[i]].leaf);
    for (int64_t i = 0; i < c->count && rc == PITH_OK; i++) {
        rc = check_change(r, &r->places[c->places[i]], &c->fills[i]);
        if (rc != PITH_OK) {
            pithp_string path;
            pithp_string_begin(&path, r->s->runtime);
            path_of(r, c->places[i], &path);
            pithp_error_prefix(r->s, path.bytes);
            pithp_string_end(&path);
        }
    }
    if (rc == PITH_OK && traced)
        return pad_leaves(r, c);
    if (rc == PITH_OK)
        rc = pithp_arrays_make(r->s, c->count, c->specs, c->results);
    if (rc != PITH_OK)
        return rc;
    rc = pithp_arrays_fill(r->s, c->count, c->results, c->fills);
    if (rc == PITH_OK)
        rc = move_leaves(r, c);
    for (int64_t i = 0; rc != PITH_OK && i < c->count; i++)
        pithp_array_drop(r->s, c->results[i]);
    return rc;
}

/* Compute the result of every occurrence. */
static pith_status resize_leaves(resizing *r) {
    change_list c = {0};
    for (int64_t i = 0; i < r->count; i++)
        c.count += changes(r, i);
    const size_t bytes = (size_t)c.count * (sizeof *c.places + sizeof *c.specs +
                                            sizeof *c.fills + sizeof *c.results);
    c.places = pithp_scratch_allocate(r->s->runtime, bytes);
    if (!c.places)
        return pithp_fail_memory(r->s, bytes);
    c.specs = (const pith_spec **)(c.places + c.count);
    c.fills = (uint64_t *)(c.specs + c.count);
    c.results = (const pith_array **)(c.fills + c.count);
    for (int64_t i = 0, next = 0; i < r->count; i++) {
        r->places[i].result = r->places[i].leaf;
        if (changes(r, i)) {
            c.specs[next] = r->places[i].demand;
            c.places[next++] = i;
        }
    }
    const pith_status rc = c.count ? make_leaves(r, &c) : PITH_OK;
    for (int64_t i = 0; i < r->count; i++)
        r->places[i].result = r->places[r->places[i].first].result;
    pithp_scratch_release(r->s->runtime, c.places, bytes);
    return rc;
}

/* ---- Nodes ---- */

/* Rebuild a child with the results of its occurrences from `next` on; returns the child
 * itself if none changed. */
static const void *rebuilt(const resizing *r, const void *child, int64_t *next) {
    pithp_flat f;
    if (pithp_flat_make(r->s, &f, child, NULL, NULL) != PITH_OK)
        return NULL;
    bool changed = false;
    for (int64_t i = 0; i < f.structure.item_count; i++) {
        const place *p = &r->places[*next + i];
        changed |= p->result != p->leaf;
        f.items[i] = p->result;
    }
    *next += f.structure.item_count;
    const void *made =
        changed ? pithp_build(r->s, &f.structure, pithp_owner_of(child), f.items) : child;
    pithp_flat_end(&f);
    return made;
}

static const void *rebuild(const resizing *r) {
    const size_t bytes = (size_t)r->type->slot_count * sizeof(void *);
    const void **slots = pithp_allocate(r->s->runtime, bytes);
    if (!slots) {
        pithp_fail_memory(r->s, bytes);
        return NULL;
    }
    int64_t next = 0;
    bool good = true;
    for (int32_t i = 0; i < r->type->slot_count && good; i++) {
        slots[i] = slot_of(r, i);
        if (!slots[i])
            continue;
        slots[i] = rebuilt(r, slots[i], &next);
        good = slots[i];
        if (!good) {
            pithp_string step;
            pithp_string_begin(&step, r->s->runtime);
            pithp_path_add_field(&step,
                                 r->type->fields[r->type->slot_fields[i]].declared.name);
            pithp_error_prefix(r->s, step.bytes);
            pithp_string_end(&step);
        }
    }
    const pithp_node_def *shape =
        good ? pithp_node_def_record(r->s, r->type, r->value) : NULL;
    const void *made = shape ? pithp_record_make(r->s, shape, slots) : NULL;
    pithp_release(r->s->runtime, slots, bytes);
    return made;
}

const void *pith_tree_resize_any(pith_scope *s,
                                 const pith_type *type,
                                 const void *value,
                                 const pith_resize_options *options) {
    const void *nil = pithp_nil(type);
    if (!pithp_enter_as(s, "pith_tree_resize"))
        return nil;
    if (!pithp_type_valid(type) || type->error || !value) {
        const bool bad = !pithp_type_valid(type) || type->error;
        pithp_fail(s, bad ? PITH_E_TYPE : PITH_E_ARG, NULL, "pith_tree_resize: %s",
                   !pithp_type_valid(type) ? "type is not a record type"
                   : type->error           ? type->error
                                           : "value is NULL");
        return nil;
    }
    resizing r = {
        .s = s, .type = type, .value = value, .shrink = options && options->shrink};
    const void *made = NULL;
    if (collect(&r) == PITH_OK && merge_all(&r) == PITH_OK &&
        resize_leaves(&r) == PITH_OK)
        made = rebuild(&r);
    pithp_release(s->runtime, r.places, (size_t)r.room * sizeof(place));
    return made ? made : nil;
}
