/* Records from their declaration (pith_make). Missing parts are made in a child scope and
 * kept once the record is complete, so that a failure leaves nothing behind. */
#include "tree/node_internal.h"

#include <stdio.h>
#include <string.h>

/* One call of pith_make. */
typedef struct {
    pith_scope *s;
    const pith_extent *extents; /* terminated by an entry without a name, or NULL */
} request;

/* Address of a field in the struct that is being completed. */
static void *field_of(void *value, const pith_type *type, int32_t field) {
    return (char *)value + type->fields[field].declared.offset;
}

static const void *pointer_at(const void *value, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)value + offset, sizeof pointer);
    return pointer;
}

/* ---- Extents from the caller ---- */

static bool has_name(const pith_type *type, const char *name) {
    for (int32_t i = 0; i < type->provided_count; i++)
        if (strcmp(type->provided[i], name) == 0)
            return true;
    for (int32_t i = 0; i < type->name_count; i++)
        if (strcmp(type->names[i], name) == 0)
            return true;
    return false;
}

/* Whether the type, or the type of a child to be made, has an extent of that name. */
static bool names_something(const pith_type *type, const void *value, const char *name) {
    if (has_name(type, name))
        return true;
    for (int32_t i = 0; i < type->slot_count; i++) {
        const pithp_slot_info *info = &type->slots[i];
        if (info->kind == PITHP_SLOT_CHILD && !info->optional &&
            (!value || !pointer_at(value, info->offset)) &&
            names_something(info->child, NULL, name))
            return true;
    }
    return false;
}

static pith_status
check_extents(const request *q, const pith_type *type, const void *value) {
    for (const pith_extent *e = q->extents; e && e->name; e++) {
        if (e->size < 0)
            return pithp_fail(q->s, PITH_E_ARG, NULL, "pith_make: the extent %s is %lld",
                              e->name, (long long)e->size);
        if (!names_something(type, value, e->name))
            return pithp_fail(q->s, PITH_E_ARG, NULL,
                              "pith_make: no leaf of %s has an extent %s", type->name,
                              e->name);
    }
    return PITH_OK;
}

/* Bind the names that no leaf has bound. */
static pith_status bind_extents(const request *q, pithp_binding *b) {
    for (const pith_extent *e = q->extents; e && e->name; e++)
        for (int32_t i = 0; i < b->type->provided_count; i++) {
            if (strcmp(b->type->provided[i], e->name) != 0)
                continue;
            const int32_t by = b->type->provided_by[i];
            const int64_t known = pithp_binding_provided(b, i);
            if (by < 0 && known < 0)
                b->names[~by] = e->size;
            else if (known != e->size)
                return pithp_fail(
                    q->s, PITH_E_SHAPE, NULL, "the extent %s is %lld from %s, not %lld",
                    e->name, (long long)known, by >= 0 ? "the static field" : "a leaf",
                    (long long)e->size);
        }
    return PITH_OK;
}

/* ---- Missing parts ---- */

static const void *make_record(const request *q,
                               const pith_type *type,
                               const void *value,
                               const pithp_binding *outer);

/* Check that the given leaves and children can be read; a fault is reported as by
 * pith_freeze. */
static pith_status
check_given(const request *q, const pith_type *type, const void *value) {
    char path[PITHP_PATH_BYTES];
    for (int32_t i = 0; i < type->slot_count; i++) {
        const pithp_slot_info *info = &type->slots[i];
        const void *child = pointer_at(value, info->offset);
        if (!child)
            continue;
        snprintf(path, sizeof path, ".%s", type->fields[info->field].declared.name);
        if (pithp_child_check(q->s, child, path) != PITH_OK)
            return q->s->error.code;
        if (info->kind == PITHP_SLOT_LEAF && !pithp_kind_is_array(child))
            return pithp_fail(q->s, PITH_E_TYPE, path,
                              "expected %s, got a tree that is not an array",
                              type->fields[info->field].declared.spec);
    }
    return PITH_OK;
}

/* The float dtype of the given children. */
static pith_dtype real_of_children(const pith_type *type, const void *value) {
    for (int32_t i = 0; i < type->slot_count; i++) {
        const void *child = pointer_at(value, type->slot_offsets[i]);
        if (!child || pithp_kind_is_array(child))
            continue;
        const pith_dtype real = pithp_real_of_flags(pithp_header_of(child)->flags);
        if (real)
            return real;
    }
    return PITH_DTYPE_NONE;
}

static pith_status learn(const request *q, pithp_binding *b, const pithp_binding *outer) {
    const pith_type *type = b->type;
    uint16_t open, below = 0;
    pithp_binding_learn(b);
    b->outer = outer;
    if (bind_extents(q, b) != PITH_OK)
        return q->s->error.code;
    for (int32_t i = 0; i < type->slot_count; i++) {
        const void *child = pointer_at(b->value, type->slot_offsets[i]);
        if (child && !pithp_kind_is_array(child))
            below |= pithp_header_of(child)->extra;
    }
    if ((below & type->provided_mask) &&
        pithp_binding_check_below(q->s, b, &open) != PITH_OK)
        return q->s->error.code;
    if (!b->real)
        b->real = real_of_children(type, b->value);
    for (const pithp_binding *o = outer; o && !b->real; o = o->outer)
        b->real = o->real;
    if (!b->real)
        b->real = PITH_F64;
    return PITH_OK;
}

static pith_status make_children(const request *q, const pithp_binding *b, void *value) {
    const pith_type *type = b->type;
    for (int32_t i = 0; i < type->slot_count; i++) {
        const pithp_slot_info *info = &type->slots[i];
        if (info->kind != PITHP_SLOT_CHILD || info->optional ||
            pointer_at(value, info->offset))
            continue;
        const void *child = make_record(q, info->child, info->child->initial, b);
        if (!child) {
            char path[PITHP_PATH_BYTES];
            snprintf(path, sizeof path, ".%s", type->fields[info->field].declared.name);
            pithp_error_prefix(q->s, path);
            return q->s->error.code;
        }
        memcpy(field_of(value, type, info->field), &child, sizeof child);
    }
    return PITH_OK;
}

static pith_status
fill_leaf(const request *q, const pithp_field *f, const pith_array *leaf) {
    const pith_spec *spec = pithp_array_spec(leaf);
    const double fill = f->declared.options.fill;
    uint64_t element = 0;
    if (!pithp_dtype_encode(spec->dtype, fill, &element)) {
        char path[PITHP_PATH_BYTES];
        snprintf(path, sizeof path, ".%s", f->declared.name);
        return pithp_fail(q->s, PITH_E_DTYPE, path, "the fill %g is not exact in %s",
                          fill, pith_dtype_name(spec->dtype));
    }
    return spec->count ? pithp_fill(q->s, leaf->data, &element,
                                    pith_dtype_size(spec->dtype), spec->count)
                       : PITH_OK;
}

/* Make all missing leaves in one block. */
static pith_status make_leaves(const request *q, const pithp_binding *b, void *value) {
    const pith_type *type = b->type;
    pith_runtime *rt = q->s->runtime;
    const size_t bytes = (size_t)type->slot_count * 2 * sizeof(void *);
    const pith_spec **specs = pithp_allocate(rt, bytes);
    if (!specs)
        return pithp_fail_memory(q->s, bytes);
    const pith_array **leaves = (const pith_array **)(specs + type->slot_count);
    pith_status rc = PITH_OK;
    int64_t count = 0, made = 0;
    for (int32_t i = 0; i < type->slot_count && rc == PITH_OK; i++) {
        const pithp_slot_info *info = &type->slots[i];
        if (info->kind == PITHP_SLOT_LEAF && !info->optional &&
            !pointer_at(value, info->offset) &&
            !pithp_binding_spec(q->s, b, &type->fields[info->field], &specs[count++]))
            rc = q->s->error.code;
    }
    if (rc == PITH_OK && count)
        rc = pithp_arrays_make(q->s, count, specs, leaves);
    for (int32_t i = 0; i < type->slot_count && rc == PITH_OK && made < count; i++) {
        const pithp_slot_info *info = &type->slots[i];
        if (info->kind != PITHP_SLOT_LEAF || info->optional ||
            pointer_at(value, info->offset))
            continue;
        memcpy(field_of(value, type, info->field), &leaves[made], sizeof leaves[made]);
        rc = fill_leaf(q, &type->fields[info->field], leaves[made++]);
    }
    pithp_release(rt, specs, bytes);
    return rc;
}

static void set_static_records(const pith_type *type, void *value) {
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        if (info->kind == PITH_STATIC_KIND_RECORD && !pointer_at(value, info->offset))
            memcpy(field_of(value, type, info->field),
                   &type->fields[info->field].child->initial, sizeof(void *));
    }
}

/* Required children form no cycle of types, so the recursion ends. */
static const void *make_record(const request *q,
                               const pith_type *type,
                               const void *value,
                               const pithp_binding *outer) {
    pith_runtime *rt = q->s->runtime;
    const void *record = NULL;
    const size_t bytes = type->size + sizeof(pithp_binding);
    pithp_binding *b = pithp_allocate(rt, bytes);
    if (!b) {
        pithp_fail_memory(q->s, bytes);
        return NULL;
    }
    void *next = memcpy(b + 1, value, type->size);
    set_static_records(type, next);
    pithp_binding_begin(b, type, next);
    if (check_given(q, type, next) == PITH_OK && learn(q, b, outer) == PITH_OK &&
        make_children(q, b, next) == PITH_OK && make_leaves(q, b, next) == PITH_OK)
        record = pithp_freeze(q->s, type, next);
    pithp_release(rt, b, bytes);
    return record;
}

const void *pith_make_any(pith_scope *s,
                          const pith_type *type,
                          const void *value,
                          const pith_extent *extents) {
    if (!pithp_enter_as(s, "pith_make") ||
        pithp_type_check(s, type, "pith_make") != PITH_OK)
        return pithp_nil(type);
    request q = {s, extents};
    if (check_extents(&q, type, value) != PITH_OK)
        return type->nil;
    q.s = pith_scope_open_in(s);
    if (!pithp_scope_writable(q.s)) {
        pithp_fail_memory(s, sizeof *q.s);
        return type->nil;
    }
    const void *record = make_record(&q, type, value ? value : type->initial, NULL);
    if (record && pithp_keep_slots(s, 1, &record) != PITH_OK)
        record = NULL;
    pith_scope_close(q.s);
    return record ? record : type->nil;
}
