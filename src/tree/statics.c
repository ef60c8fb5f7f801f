/* Statics of records in one form, by which their node definitions are told apart: every
 * NaN is one, bools are 0 or 1, enums and dtypes are known ones, static records stand for
 * their node definitions. */
#include "tree/node_def_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static pith_status
refuse_static(pith_scope *s, const pith_field *d, const char *format, ...)
    PITH_FORMAT(3, 4);
static pith_status
refuse_static(pith_scope *s, const pith_field *d, const char *format, ...) {
    char path[PITHP_PATH_BYTES];
    snprintf(path, sizeof path, ".%s", d->name);
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, PITH_E_ARG, path, s->site, format, arguments);
    va_end(arguments);
    return PITH_E_ARG;
}

/* The record that a static field points to: frozen, or a type's initial one. NULL: error
 * set. */
static const pithp_node_def *
static_record(pith_scope *s, const pithp_field *f, const void *record) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(record, &block);
    if (verdict != PITHP_POINTER_OK) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      record ? "a pointer that is " : "", pithp_pointer_text(verdict));
        return NULL;
    }
    const pithp_header *h = pithp_header_of(record);
    const pithp_node_def *node_def = h->kind == PITHP_KIND_RECORD ? h->shape : NULL;
    if (!node_def || node_def->type != f->child ||
        ((h->flags & PITHP_FLAG_NIL) && !(h->flags & PITHP_FLAG_INITIAL))) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      node_def && node_def->type == f->child
                          ? "the nil record of a failed call: "
                      : node_def ? "another record: "
                                 : "an object that is no record",
                      node_def ? node_def->type->name : "");
        return NULL;
    }
    /* By value: the same statics give the same node definition, wherever the record
     * lives. */
    return pithp_node_def_record(s, f->child, record);
}

static pith_status
canonical_static(pith_scope *s, const pithp_field *f, const char *value, char *to) {
    const pith_field *d = &f->declared;
    const char *from = value + d->offset;
    to += d->offset;
    switch (d->static_kind) {
        case PITH_STATIC_I64:
        case PITH_STATIC_TEXT:
            memcpy(to, from, d->size);
            break;
        case PITH_STATIC_F64: {
            double number;
            memcpy(&number, from, sizeof number);
            if (isnan(number))
                number = (double)NAN;
            memcpy(to, &number, sizeof number);
            break;
        }
        case PITH_STATIC_BOOL:
            *to = *from != 0;
            break;
        case PITH_STATIC_CHOICE: {
            int choice, count = 0;
            memcpy(&choice, from, sizeof choice);
            while (d->names[count])
                count++;
            if (choice < 0 || choice >= count)
                return refuse_static(s, d, "expected 0 to %d (%s to %s), got %d",
                                     count - 1, d->names[0], d->names[count - 1], choice);
            memcpy(to, from, sizeof choice);
            break;
        }
        case PITH_STATIC_DTYPE_: {
            int dtype;
            memcpy(&dtype, from, sizeof dtype);
            if (dtype < 0 || dtype >= PITH_DTYPE_COUNT)
                return refuse_static(s, d, "%d is no dtype", dtype);
            memcpy(to, from, sizeof dtype);
            break;
        }
        case PITH_STATIC_RECORD_: {
            const void *record;
            memcpy(&record, from, sizeof record);
            const pithp_node_def *node_def = static_record(s, f, record);
            if (!node_def)
                return s->error.code;
            memcpy(to, &node_def, sizeof node_def);
            break;
        }
        case PITH_STATIC_NONE:
            break;
    }
    return PITH_OK;
}

static uint64_t hash_statics(const pith_type *type, const char *statics) {
    uint64_t hash = pithp_hash(PITHP_KIND_RECORD, &type, sizeof type);
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        const char *text;
        if (info->kind == PITH_STATIC_TEXT) {
            memcpy(&text, statics + info->offset, sizeof text);
            hash = text ? pithp_hash(hash, text, strlen(text) + 1) : hash + 1;
        } else {
            hash = pithp_hash(hash, statics + info->offset, info->size);
        }
    }
    return hash;
}

pithp_node_def *
pithp_node_def_of_statics(pith_scope *s, const pith_type *type, const void *value) {
    enum { ROOM = 1024 };
    char few[ROOM];
    char *statics = type->size <= ROOM ? few : pithp_allocate(s->runtime, type->size);
    if (!statics) {
        pithp_fail_memory(s, type->size);
        return NULL;
    }
    memset(statics, 0, type->size);
    pith_status rc = PITH_OK;
    for (int32_t i = 0; i < type->static_count && rc == PITH_OK; i++)
        rc = canonical_static(s, &type->fields[type->statics[i].field], value, statics);
    pithp_node_def *node_def = NULL;
    if (rc == PITH_OK) {
        pithp_node_def_key key = {.kind = PITHP_KIND_RECORD,
                                  .type = type,
                                  .statics = statics,
                                  .hash = hash_statics(type, statics)};
        node_def = pithp_node_def_find(s, &key);
    }
    if (statics != few)
        pithp_release(s->runtime, statics, type->size);
    return node_def;
}
