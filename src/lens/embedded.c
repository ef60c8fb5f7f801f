/* Embedded structs: a record that embeds the struct of another type by value, like a base
 * class. The embedded struct is read and set as a record of that type. */
#include "lens/lens_internal.h"

#include <string.h>

static bool is_member(const pith_field *f) {
    return f->kind != PITH_FIELD_HOOK;
}

/* Whether a field of a record equals a field of the embedded type at `offset`. */
static bool is_same(const pithp_field *own, const pithp_field *of, size_t offset) {
    const pith_field *a = &own->declared, *b = &of->declared;
    return a->offset == b->offset + offset && a->size == b->size && a->kind == b->kind &&
           a->static_kind == b->static_kind && own->child == of->child &&
           (a->kind != PITH_FIELD_LEAF || strcmp(a->spec, b->spec) == 0);
}

static const pithp_field *
field_of(const pith_type *type, const char *prefix, size_t length, const char *name) {
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *d = &type->fields[i].declared;
        if (is_member(d) && strncmp(d->name, prefix, length) == 0 &&
            strcmp(d->name + length, name) == 0)
            return &type->fields[i];
    }
    return NULL;
}

/* Whether a record has all fields of a type, with names that start with the prefix. */
static bool has_all(const pith_type *in,
                    const pith_type *type,
                    const char *prefix,
                    size_t length,
                    size_t offset) {
    for (int32_t i = 0; i < type->field_count; i++) {
        const pithp_field *of = &type->fields[i];
        if (!is_member(&of->declared))
            continue;
        const pithp_field *own = field_of(in, prefix, length, of->declared.name);
        if (!own || !is_same(own, of, offset))
            return false;
    }
    return true;
}

static const pith_field *first_member(const pith_type *type) {
    for (int32_t i = 0; i < type->field_count; i++)
        if (is_member(&type->fields[i].declared))
            return &type->fields[i].declared;
    return NULL;
}

/* Append the path of the struct from the record; prefix the error with it. */
static void embedded_text(pithp_string *t,
                          const pith_type *in,
                          const pith_type *type,
                          int32_t field) {
    const char *name = in->fields[field].declared.name;
    pithp_string_add(t, ".");
    pithp_string_add_n(t, name, strlen(name) - strlen(first_member(type)->name) - 1);
}

void pithp_lens_embedded_fail(pith_scope *s,
                              const void *node,
                              const pith_type *type,
                              int32_t field) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    embedded_text(&path, pithp_node_def_of(node)->type, type, field);
    pithp_error_prefix(s, path.bytes);
    pithp_string_end(&path);
}

static size_t offset_of(const pith_type *in, const pith_type *type, int32_t i) {
    return in->fields[i].declared.offset - first_member(type)->offset;
}

int32_t
pithp_lens_embedded_next(const pith_type *in, const pith_type *type, int32_t from) {
    const pith_field *first = first_member(type);
    if (!first || in == type || in->size < type->size)
        return -1;
    const size_t length = strlen(first->name);
    for (int32_t i = from; i < in->field_count; i++) {
        const pith_field *d = &in->fields[i].declared;
        const size_t whole = strlen(d->name);
        if (!is_member(d) || whole <= length || d->name[whole - length - 1] != '.' ||
            strcmp(d->name + whole - length, first->name) != 0 ||
            d->offset < first->offset)
            continue;
        if (has_all(in, type, d->name, whole - length, d->offset - first->offset))
            return i;
    }
    return -1;
}

bool pithp_lens_embedded_holds(const pith_type *in,
                               const pith_type *type,
                               size_t offset) {
    for (int32_t i = -1; (i = pithp_lens_embedded_next(in, type, i + 1)) >= 0;) {
        const size_t begin = offset_of(in, type, i);
        if (offset >= begin && offset < begin + type->size)
            return true;
    }
    return false;
}

const void *pithp_lens_embedded_get(pith_scope *s,
                                    const void *node,
                                    const pith_type *type,
                                    int32_t field) {
    const size_t offset = offset_of(pithp_node_def_of(node)->type, type, field);
    const void *made = pithp_freeze(s, type, (const char *)node + offset);
    if (s->error.code == PITH_OK)
        return made;
    pithp_lens_embedded_fail(s, node, type, field);
    return NULL;
}

const void *pithp_lens_embedded_set(pith_scope *s,
                                    const void *node,
                                    const pith_type *type,
                                    int32_t field,
                                    const void *value,
                                    const pith_lens_options *options) {
    const pith_type *in = pithp_node_def_of(node)->type;
    const size_t offset = offset_of(in, type, field);
    if (pithp_lens_check_type(s, value, type) != PITH_OK) {
        pithp_lens_embedded_fail(s, node, type, field);
        return NULL;
    }
    char *copy = pithp_scratch_allocate(s->runtime, in->size);
    if (!copy) {
        pithp_fail_memory(s, in->size);
        return NULL;
    }
    memcpy(copy, node, in->size);
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *d = &type->fields[i].declared;
        if (is_member(d))
            memcpy(copy + offset + d->offset, (const char *)value + d->offset, d->size);
    }
    const void *made = NULL;
    if (options && options->resize)
        made = pith_tree_resize_any(pithp_on_behalf(s), in, copy,
                                    &(pith_resize_options){.shrink = options->shrink});
    else if (pithp_record_check_change(s, in, copy, node) == PITH_OK)
        made = pithp_freeze(s, in, copy);
    pithp_scratch_release(s->runtime, copy, in->size);
    return s->error.code == PITH_OK ? made : NULL;
}
