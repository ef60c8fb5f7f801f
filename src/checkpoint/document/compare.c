/* Schema comparison: a document against the types that the program declares. It allocates
 * no array, so every mismatch is known before a load asks for memory. */
#include "checkpoint/document/compare.h"

#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Differences ---- */

static void
record(pithp_mismatches *r, pith_status code, const char *path, const char *text) {
    const size_t used = strlen(r->text), more = strlen(path) + strlen(text) + 8;
    if (r->options->difference)
        r->options->difference(path, text, r->options->closure);
    if (r->count++ == 0) {
        r->code = code;
        snprintf(r->path, sizeof r->path, "%s", path);
        snprintf(r->text, sizeof r->text, "%s", text);
        r->shown = 1;
    } else if (r->shown == r->count - 1 && used + more < sizeof r->text - 200) {
        snprintf(r->text + used, sizeof r->text - used, "; %s%s%s", path,
                 *path ? ": " : "", text);
        r->shown++;
    }
}

/* Format the text of a difference. */
#define PRINT_TEXT(text, format)                                                         \
    char text[PITHP_MESSAGE_BYTES / 2];                                                  \
    va_list arguments;                                                                   \
    va_start(arguments, format);                                                         \
    pithp_format_v(text, sizeof text, format, arguments);                                \
    va_end(arguments)

static void print_place(const pithp_mismatches *r,
                        int64_t node,
                        const char *field,
                        char path[PITHP_PATH_BYTES]) {
    pithp_document_error_path(r->d, node, path);
    const size_t n = strlen(path);
    if (field)
        snprintf(path + n, PITHP_PATH_BYTES - n, ".%s", field);
}

void pithp_mismatches_add(pithp_mismatches *r,
                          pith_status code,
                          int64_t node,
                          const char *field,
                          const char *format,
                          ...) {
    char path[PITHP_PATH_BYTES];
    PRINT_TEXT(text, format);
    print_place(r, node, field, path);
    record(r, code, path, text);
}

void pithp_mismatches_at(pithp_mismatches *r,
                         pith_status code,
                         const char *path,
                         const char *format,
                         ...) {
    PRINT_TEXT(text, format);
    record(r, code, path ? path : "", text);
}

void pithp_mismatches_report(pithp_mismatches *r,
                             int64_t node,
                             const char *field,
                             const char *format,
                             ...) {
    char path[PITHP_PATH_BYTES];
    if (!r->options->difference)
        return;
    PRINT_TEXT(text, format);
    print_place(r, node, field, path);
    r->options->difference(path, text, r->options->closure);
}

void pithp_mismatches_absorb(pithp_mismatches *r, pith_scope *s, int64_t node) {
    char path[PITHP_PATH_BYTES];
    const pith_status code = pith_code(s);
    pithp_error_prefix(s, pithp_document_error_path(r->d, node, path));
    record(r, code, s->error.path, s->error.text);
    pith_clear(s);
}

pith_status pithp_mismatches_end(const pithp_mismatches *r) {
    if (r->count == 0)
        return PITH_OK;
    if (r->count == 1)
        return pithp_fail(r->s, r->code, r->path, "%s", r->text);
    if (r->shown == r->count)
        return pithp_fail(r->s, r->code, r->path, "%s (%" PRId64 " differences)", r->text,
                          r->count);
    return pithp_fail(r->s, r->code, r->path,
                      "%s; and %" PRId64 " more (%" PRId64 " differences)", r->text,
                      r->count - r->shown, r->count);
}

/* ---- Lookup ---- */

int64_t pithp_child_named(const pithp_document *d,
                          const pithp_children *children,
                          int64_t node,
                          const char *name,
                          int64_t at) {
    const int64_t *rows = children->rows + children->base[node];
    const int64_t count = d->nodes.rows[node].child_count;
    if (at < count && strcmp(d->nodes.rows[rows[at]].name, name) == 0)
        return rows[at];
    for (int64_t i = 0; i < count; i++)
        if (strcmp(d->nodes.rows[rows[i]].name, name) == 0)
            return rows[i];
    return -1;
}

const pith_checkpoint_static *
pithp_static_named(const pithp_document *d, int64_t node, const char *name) {
    const pithp_doc_node *n = &d->nodes.rows[node];
    for (int64_t i = 0; i < n->static_count; i++)
        if (strcmp(d->statics.rows[n->first_static + i].name, name) == 0)
            return &d->statics.rows[n->first_static + i];
    return NULL;
}

/* ---- Leaves ---- */

static bool shape_fits(const pithp_document *d,
                       const pith_type *type,
                       const pithp_leaf_spec *spec,
                       int64_t record_row,
                       const pith_shape *shape) {
    if (spec->any_shape)
        return true;
    if (shape->rank < spec->rank)
        return false;
    for (int32_t i = 0; i < spec->rank; i++) {
        const pithp_extent *e = &spec->extents[i];
        int64_t expected = 0;
        if (e->kind == PITHP_EXTENT_STATIC) {
            const pith_checkpoint_static *value =
                pithp_static_named(d, record_row, type->fields[e->name].declared.name);
            if (!value || value->kind != PITH_STATIC_KIND_I64)
                continue; /* reported as a difference of its own */
            if (__builtin_mul_overflow(e->times, value->i64, &expected))
                return false;
        } else if (e->kind != PITHP_EXTENT_NUMBER) {
            continue; /* bound when the record is made */
        }
        if (__builtin_add_overflow(expected, e->plus, &expected) ||
            shape->extents[shape->rank - spec->rank + i] != expected)
            return false;
    }
    return true;
}

static bool dtype_fits(const pithp_document *d,
                       const pith_type *type,
                       const pithp_leaf_spec *spec,
                       int64_t record_row,
                       pith_dtype dtype) {
    const pith_checkpoint_static *value;
    switch (spec->rule) {
        case PITHP_DTYPE_FIXED:
            return dtype == spec->dtype;
        case PITHP_DTYPE_FLOAT:
            return pith_dtype_is_float(dtype);
        case PITHP_DTYPE_STATIC:
            value = pithp_static_named(d, record_row,
                                       type->fields[spec->dtype_field].declared.name);
            return !value || value->kind != PITH_STATIC_KIND_DTYPE ||
                   strcmp(value->text, pith_dtype_name(dtype)) == 0;
        case PITHP_DTYPE_ANY:
            break;
    }
    return true;
}

static void compare_leaf(pithp_mismatches *r,
                         const pith_type *type,
                         const pithp_field *field,
                         int64_t row) {
    const pithp_doc_node *n = &r->d->nodes.rows[row];
    const pithp_doc_leaf *leaf = &r->d->leaves.rows[n->leaf];
    const char *unit = field->declared.options.unit;
    char shape[PITHP_SPEC_TEXT_BYTES];
    const bool dtype = dtype_fits(r->d, type, &field->leaf, n->parent, leaf->dtype);
    if (!dtype || !shape_fits(r->d, type, &field->leaf, n->parent, &leaf->shape))
        pithp_mismatches_add(
            r, dtype ? PITH_E_SHAPE : PITH_E_DTYPE, row, NULL, "expected %s, got %s%s",
            field->declared.spec, pith_dtype_name(leaf->dtype),
            pithp_shape_print(leaf->shape.rank, leaf->shape.extents, shape));
    if (unit && leaf->unit && strcmp(unit, leaf->unit) != 0)
        pithp_mismatches_add(r, PITH_E_STRUCTURE, row, NULL,
                             "expected the unit %s, got %.80s", unit, leaf->unit);
}

/* ---- Fields ---- */

static const char *
describe(const pithp_document *d, const pithp_doc_node *n, char text[160]) {
    static const char *const kinds[] = {"nothing", "a leaf", "a record", "a list",
                                        "a tuple", "a dict", "none"};
    if (n->kind == PITH_NODE_RECORD)
        snprintf(text, 160, "a record %.100s", d->types.rows[n->type].name);
    else
        snprintf(text, 160, "%s", kinds[n->kind]);
    return text;
}

static bool
is_record_of(const pithp_document *d, const pithp_doc_node *n, const pith_type *type) {
    return n->kind == PITH_NODE_RECORD &&
           strcmp(d->types.rows[n->type].name, type->name) == 0;
}

/* Compare a list or dict with its declaration: each item is a record of one type. */
static void compare_items(pithp_mismatches *r,
                          const pithp_children *children,
                          const pithp_field *field,
                          int64_t row) {
    const pithp_doc_node *n = &r->d->nodes.rows[row];
    const bool list = field->declared.kind == PITH_FIELD_LIST;
    char got[160];
    if (n->kind != (list ? PITH_NODE_LIST : PITH_NODE_DICT)) {
        pithp_mismatches_add(
            r, PITH_E_STRUCTURE, row, NULL, "expected a %s of records %s, got %s",
            list ? "list" : "dict", field->child->name, describe(r->d, n, got));
        return;
    }
    for (int64_t i = 0; i < n->child_count; i++) {
        const int64_t at = children->rows[children->base[row] + i];
        const pithp_doc_node *item = &r->d->nodes.rows[at];
        if (!is_record_of(r->d, item, field->child))
            pithp_mismatches_add(r, PITH_E_STRUCTURE, at, NULL,
                                 "expected a record %s, got %s", field->child->name,
                                 describe(r->d, item, got));
    }
}

static void compare_slot(pithp_mismatches *r,
                         const pithp_children *children,
                         const pith_type *type,
                         const pithp_field *field,
                         int64_t row) {
    const pithp_doc_node *n = &r->d->nodes.rows[row];
    char got[160];
    if (n->kind == PITH_NODE_ABSENT) {
        if (!field->declared.options.optional)
            pithp_mismatches_add(r, PITH_E_STRUCTURE, row, NULL,
                                 "absent in the file, but not optional");
        return;
    }
    switch (field->declared.kind) {
        case PITH_FIELD_LEAF:
            if (n->kind == PITH_NODE_LEAF)
                compare_leaf(r, type, field, row);
            else
                pithp_mismatches_add(r, PITH_E_STRUCTURE, row, NULL,
                                     "expected a leaf %s, got %s", field->declared.spec,
                                     describe(r->d, n, got));
            break;
        case PITH_FIELD_CHILD:
            if (!is_record_of(r->d, n, field->child))
                pithp_mismatches_add(r, PITH_E_STRUCTURE, row, NULL,
                                     "expected a record %s, got %s", field->child->name,
                                     describe(r->d, n, got));
            break;
        case PITH_FIELD_LIST:
        case PITH_FIELD_DICT:
            compare_items(r, children, field, row);
            break;
        case PITH_FIELD_TREE:
        case PITH_FIELD_STATIC:
        case PITH_FIELD_IGNORE:
        case PITH_FIELD_HOOK:
            break;
    }
}

const pith_type *pithp_program_type(const pith_type *root, const char *name) {
    return root && root != pith_array_pith_type() && strcmp(root->name, name) == 0
               ? root
               : pithp_type_find(name);
}

static bool has_choice(const pith_field *field, const char *name) {
    for (int i = 0; field->names[i]; i++)
        if (strcmp(field->names[i], name) == 0)
            return true;
    return false;
}

static void compare_static(pithp_mismatches *r, const pithp_field *field, int64_t row) {
    const pith_field *declared = &field->declared;
    const pith_checkpoint_static *value = pithp_static_named(r->d, row, declared->name);
    char got[160];
    if (!value) {
        pithp_mismatches_add(r, PITH_E_STRUCTURE, row, declared->name,
                             "missing: the file has no such static");
    } else if (value->kind != declared->static_kind) {
        pithp_mismatches_add(
            r, PITH_E_STRUCTURE, row, declared->name, "expected a static %s, got %s",
            pithp_static_of(declared)->name, pithp_static_kinds[value->kind].name);
    } else if (value->kind == PITH_STATIC_KIND_ENUM &&
               !has_choice(declared, value->text)) {
        pithp_mismatches_add(r, PITH_E_STRUCTURE, row, declared->name,
                             "the enum has no value \"%.80s\"", value->text);
    } else if (value->kind == PITH_STATIC_KIND_RECORD && value->node >= 0) {
        const pithp_doc_node *n = &r->d->nodes.rows[value->node];
        if (strcmp(r->d->types.rows[n->type].name, field->child->name) != 0)
            pithp_mismatches_add(r, PITH_E_STRUCTURE, row, declared->name,
                                 "expected a record %s, got %s", field->child->name,
                                 describe(r->d, n, got));
    }
}

static const pithp_field *
field_named(const pith_type *type, const char *name, bool is_static) {
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *f = &type->fields[i].declared;
        const bool of_kind =
            is_static ? f->kind == PITH_FIELD_STATIC : type->fields[i].slot >= 0;
        if (of_kind && strcmp(f->name, name) == 0)
            return &type->fields[i];
    }
    return NULL;
}

static void compare_record(pithp_mismatches *r,
                           const pithp_children *children,
                           const pith_type *type,
                           int64_t row) {
    const pithp_doc_node *n = &r->d->nodes.rows[row];
    for (int32_t i = 0; i < type->field_count; i++) {
        const pithp_field *field = &type->fields[i];
        if (field->declared.kind == PITH_FIELD_STATIC) {
            compare_static(r, field, row);
        } else if (field->slot >= 0) {
            const int64_t child =
                pithp_child_named(r->d, children, row, field->declared.name, field->slot);
            if (child >= 0)
                compare_slot(r, children, type, field, child);
            else
                pithp_mismatches_add(r, PITH_E_STRUCTURE, row, field->declared.name,
                                     "missing: the file has no such field");
        }
    }
    for (int64_t i = 0; i < n->child_count; i++) {
        const int64_t child = children->rows[children->base[row] + i];
        const char *name = r->d->nodes.rows[child].name;
        if (!field_named(type, name, false))
            pithp_mismatches_add(r, PITH_E_STRUCTURE, child, NULL,
                                 "extra: in the file, but no field of %s", type->name);
        else if (pithp_child_named(r->d, children, row, name, 0) != child)
            pithp_mismatches_add(r, PITH_E_STRUCTURE, child, NULL, "twice in the file");
    }
    for (int64_t i = 0; i < n->static_count; i++) {
        const char *name = r->d->statics.rows[n->first_static + i].name;
        if (!field_named(type, name, true))
            pithp_mismatches_add(r, PITH_E_STRUCTURE, row, name,
                                 "extra: in the file, but no static of %s", type->name);
    }
}

/* The first node of a type; -1: none. Each type is reported once, at that node. */
static int64_t first_of_type(const pithp_document *d, int64_t type) {
    for (int64_t i = 0; i < d->nodes.count; i++)
        if (d->nodes.rows[i].type == type)
            return i;
    return -1;
}

pithp_upgrade_hook pithp_upgrade_from(const pith_type *type, int32_t version) {
    for (int32_t i = 0; i < type->field_count; i++) {
        const pith_field *d = &type->fields[i].declared;
        if (d->kind == PITH_FIELD_HOOK && d->hook_kind == PITH_HOOK_UPGRADE &&
            (int32_t)d->options.initial == version)
            return (pithp_upgrade_hook)d->hook;
    }
    return NULL;
}

static int32_t first_without_upgrade(const pith_type *type, int32_t version) {
    while (version < type->version && pithp_upgrade_from(type, version))
        version++;
    return version;
}

static void compare_types(pithp_mismatches *r, const pith_type *const *types) {
    for (int64_t i = 0; i < r->d->types.count; i++) {
        const pithp_doc_type *got = &r->d->types.rows[i];
        const int64_t first =
            types[i] && types[i]->version == got->version ? -1 : first_of_type(r->d, i);
        if (first < 0)
            continue;
        if (!types[i])
            pithp_mismatches_add(
                r, PITH_E_TYPE, first, NULL,
                "the record type %.100s is unknown to the program (call %s_pith_type(), "
                "or add PITH_USES where its tree is declared)",
                got->name, strchr(got->name, '.') ? "T" : got->name);
        else if (types[i]->version < got->version)
            pithp_mismatches_add(r, PITH_E_TYPE, first, NULL,
                                 "the file holds version %" PRId32
                                 " of %s, this program knows it up to version %" PRId32,
                                 got->version, types[i]->name, types[i]->version);
        else
            pithp_mismatches_add(r, PITH_E_TYPE, first, NULL,
                                 "expected version %" PRId32
                                 " of %s, got version %" PRId32
                                 ", and there is no upgrade from version %" PRId32,
                                 types[i]->version, types[i]->name, got->version,
                                 first_without_upgrade(types[i], got->version));
    }
}

void pithp_compare(pithp_mismatches *r,
                   const pithp_children *children,
                   const pith_type *const *types) {
    compare_types(r, types);
    for (int64_t i = 0; i < r->d->nodes.count; i++) {
        const pithp_doc_node *n = &r->d->nodes.rows[i];
        const pith_type *type = n->kind == PITH_NODE_RECORD ? types[n->type] : NULL;
        if (type && type->version == r->d->types.rows[n->type].version)
            compare_record(r, children, type, i);
    }
}
