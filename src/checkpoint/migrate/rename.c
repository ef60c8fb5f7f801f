/* Renames (options.renames): map names of the file to names of the program, all at
 * once. */
#include "checkpoint/migrate/edit.h"

#include <string.h>

typedef enum form { FORM_TYPE, FORM_FIELD, FORM_PATH } form;

typedef struct rename {
    const pith_rename *names;
    form form;
    size_t from_type, to_type; /* FIELD: length of the type's name */
    pithp_edit_target target;  /* PATH: the node to move */
    pithp_detached taken;
    bool pending; /* PATH: detached, not attached yet */
} rename_row;

typedef struct renaming {
    pithp_edit *e;
    pithp_mismatches *r;
    rename_row *rows;
    int64_t count;
    int64_t node_count;    /* of the file */
    const pith_type *root; /* type to be loaded; NULL: any */
} renaming;

static bool is_type(const pithp_document *d, int64_t type, const char *name, size_t n) {
    const char *own = d->types.rows[type].name;
    return strlen(own) == n && memcmp(own, name, n) == 0;
}

static bool has_type(const pithp_document *d, const char *name, size_t n) {
    for (int64_t i = 0; i < d->types.count; i++)
        if (is_type(d, i, name, n))
            return true;
    return false;
}

/* ---- Forms ---- */

/* Length of a field's type name. Names of types (PITH_NAMED) and fields may contain dots,
 * so the longest type name in the file applies. */
static size_t type_bytes(const pithp_document *d, const char *name) {
    for (size_t n = strlen(name); n-- > 1;)
        if (name[n] == '.' && has_type(d, name, n))
            return n;
    return strcspn(name, ".");
}

static form form_of(const pithp_document *d, const char *name) {
    return *name == '.' || *name == '['      ? FORM_PATH
           : !strchr(name, '.')              ? FORM_TYPE
           : has_type(d, name, strlen(name)) ? FORM_TYPE
                                             : FORM_FIELD;
}

/* Whether both names of a rename have the same form. */
static bool same_form(const renaming *v, const rename_row *row) {
    const char *to = row->names->to;
    const bool path = *to == '.' || *to == '[';
    switch (row->form) {
        case FORM_PATH:
            return path;
        case FORM_FIELD:
            return !path && strchr(to, '.');
        case FORM_TYPE:
            break;
    }
    return !path && (!strchr(to, '.') || pithp_program_type(v->root, to));
}

/* ---- Validation without the file ---- */

static pith_status refuse(const renaming *v, const char *format, ...) PITH_FORMAT(2, 3);

static pith_status refuse(const renaming *v, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const pith_status code =
        pithp_fail_v(v->e->s, PITH_E_ARG, NULL, v->e->s->site, format, arguments);
    va_end(arguments);
    return code;
}

static pith_status check_names(const renaming *v, int64_t i) {
    const pith_rename *n = v->rows[i].names;
    if (!*n->from || !n->to || !*n->to || !same_form(v, &v->rows[i]))
        return refuse(v,
                      "pith_load: the rename \"%.200s\" to \"%.200s\": expected two "
                      "types, two fields of types or two paths",
                      n->from, n->to ? n->to : "");
    for (int64_t k = 0; k < i; k++)
        if (strcmp(v->rows[k].names->from, n->from) == 0)
            return refuse(v, "pith_load: \"%.200s\" is renamed twice", n->from);
        else if (strcmp(v->rows[k].names->to, n->to) == 0)
            return refuse(v,
                          "pith_load: both \"%.200s\" and \"%.200s\" become \"%.200s\"",
                          v->rows[k].names->from, n->from, n->to);
    return PITH_OK;
}

/* The rename of a type of the file; NULL: the type keeps its name. */
static const rename_row *of_type(const renaming *v, const char *type, size_t n) {
    for (int64_t i = 0; i < v->count; i++)
        if (v->rows[i].form == FORM_TYPE && strlen(v->rows[i].names->from) == n &&
            memcmp(v->rows[i].names->from, type, n) == 0)
            return &v->rows[i];
    return NULL;
}

/* Split both names of a field rename into type and field. The program's type is the
 * file's, after renaming. */
static void split_field(const renaming *v, rename_row *row) {
    const char *to = row->names->to;
    row->from_type = type_bytes(v->e->d, row->names->from);
    const rename_row *type = of_type(v, row->names->from, row->from_type);
    const char *expected = type ? type->names->to : row->names->from;
    const size_t n = type ? strlen(expected) : row->from_type;
    const bool fits = strncmp(to, expected, n) == 0 && to[n] == '.';
    row->to_type = fits ? n : strcspn(to, ".");
}

static pith_status read_renames(renaming *v) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < v->count; i++) {
        rename_row *row = &v->rows[i];
        row->names = &v->r->options->renames[i];
        row->form = form_of(v->e->d, row->names->from);
        rc = check_names(v, i);
    }
    for (int64_t i = 0; rc == PITH_OK && i < v->count; i++)
        if (v->rows[i].form == FORM_FIELD)
            split_field(v, &v->rows[i]);
    return rc;
}

static void nothing_there(const renaming *v, const rename_row *row, const char *what) {
    pithp_mismatches_at(v->r, PITH_E_STRUCTURE,
                        row->form == FORM_PATH ? row->names->from : NULL,
                        "cannot rename \"%.200s\" to \"%.200s\": the file has no such %s",
                        row->names->from, row->names->to, what);
}

/* ---- Paths ---- */

static pith_status find_paths(renaming *v) {
    for (int64_t i = 0; i < v->count; i++) {
        rename_row *row = &v->rows[i];
        if (row->form != FORM_PATH)
            continue;
        const pith_status rc = pithp_edit_find(v->e, 0, row->names->from, &row->target);
        if (rc != PITH_OK)
            return rc;
        row->pending = pithp_edit_target_found(&row->target);
        if (!row->pending)
            nothing_there(v, row, "node or static");
        else if (!row->target.name) {
            row->pending = false;
            pithp_mismatches_at(v->r, PITH_E_STRUCTURE, row->names->from,
                                "items of lists and tuples cannot be moved");
        }
    }
    return PITH_OK;
}

/* Look up statics by name again: detaching other statics has moved them. */
static void take_paths(renaming *v) {
    for (int64_t i = 0; i < v->count; i++) {
        rename_row *row = &v->rows[i];
        if (!row->pending)
            continue;
        if (row->target.value >= 0)
            row->target.value =
                pithp_static_named(v->e->d, row->target.parent, row->target.name) -
                v->e->d->statics.rows;
        row->taken = pithp_edit_detach(v->e, &row->target);
    }
}

/* The target of a rename may lie below another renamed node. Repeat until no pending
 * rename has an existing parent. */
static pith_status put_paths(renaming *v, int64_t root) {
    bool again = true;
    while (again) {
        again = false;
        for (int64_t i = 0; i < v->count; i++) {
            rename_row *row = &v->rows[i];
            if (!row->pending)
                continue;
            pith_status rc = pithp_edit_find(v->e, root, row->names->to, &row->target);
            if (rc == PITH_OK && !pithp_edit_refusal(v->e, &row->taken, &row->target)) {
                rc = pithp_edit_attach(v->e, &row->taken, &row->target);
                row->pending = false;
                again = true;
            }
            if (rc != PITH_OK)
                return rc;
        }
    }
    for (int64_t i = 0; i < v->count; i++) {
        const rename_row *row = &v->rows[i];
        if (row->pending)
            pithp_mismatches_at(v->r, PITH_E_STRUCTURE, row->names->to,
                                "cannot put \"%.200s\" there: %s", row->names->from,
                                pithp_edit_refusal(v->e, &row->taken, &row->target));
    }
    return PITH_OK;
}

/* ---- Types and their fields ---- */

/* Number of children and statics of a record with this name. */
static int count_named(const pithp_edit *e, int64_t record, const char *name) {
    const pithp_doc_node *n = &e->d->nodes.rows[record];
    int count = 0;
    for (int64_t at = e->links[record].first; at >= 0; at = e->links[at].next)
        count += strcmp(e->d->nodes.rows[at].name, name) == 0;
    for (int64_t i = 0; i < n->static_count; i++)
        count += strcmp(e->d->statics.rows[n->first_static + i].name, name) == 0;
    return count;
}

/* The new name of a field; NULL: unchanged. */
static const char *new_name(const renaming *v, int64_t type, const char *name) {
    for (int64_t i = 0; i < v->count; i++) {
        const rename_row *row = &v->rows[i];
        if (row->form == FORM_FIELD &&
            strcmp(row->names->from + row->from_type + 1, name) == 0 &&
            is_type(v->e->d, type, row->names->from, row->from_type))
            return row->names->to + row->to_type + 1;
    }
    return NULL;
}

static void rename_in(const renaming *v, int64_t record) {
    pithp_document *d = v->e->d;
    const pithp_doc_node *n = &d->nodes.rows[record];
    for (int64_t at = v->e->links[record].first; at >= 0; at = v->e->links[at].next) {
        const char *name = new_name(v, n->type, d->nodes.rows[at].name);
        d->nodes.rows[at].name = name ? name : d->nodes.rows[at].name;
    }
    for (int64_t i = 0; i < n->static_count; i++) {
        pith_checkpoint_static *field = &d->statics.rows[n->first_static + i];
        const char *name = new_name(v, n->type, field->name);
        field->name = name ? name : field->name;
        if (name && field->node >= 0)
            d->nodes.rows[field->node].name = name;
    }
}

/* Check the rename of a field. Each failure is reported once, at its first node. */
static void check_field(renaming *v, const rename_row *row) {
    const pithp_document *d = v->e->d;
    const char *name = row->names->from + row->from_type + 1;
    const rename_row *type = of_type(v, row->names->from, row->from_type);
    const char *to_type = type ? type->names->to : row->names->from;
    const size_t to_bytes = type ? strlen(to_type) : row->from_type;
    if (to_bytes != row->to_type || memcmp(to_type, row->names->to, to_bytes) != 0) {
        pithp_mismatches_at(v->r, PITH_E_STRUCTURE, NULL,
                            "cannot rename \"%.200s\" to \"%.200s\": the program calls "
                            "its type %.*s",
                            row->names->from, row->names->to, (int)to_bytes, to_type);
        return;
    }
    for (int64_t i = 0; i < v->node_count; i++)
        if (d->nodes.rows[i].kind == PITH_NODE_RECORD &&
            is_type(d, d->nodes.rows[i].type, row->names->from, row->from_type) &&
            count_named(v->e, i, name) > 0)
            return;
    nothing_there(v, row,
                  has_type(d, row->names->from, row->from_type) ? "field or static"
                                                                : "type");
}

static void check_twice(renaming *v, const rename_row *row) {
    const pithp_document *d = v->e->d;
    for (int64_t i = 0; i < v->node_count; i++)
        if (d->nodes.rows[i].kind == PITH_NODE_RECORD &&
            is_type(d, d->nodes.rows[i].type, row->names->from, row->from_type) &&
            count_named(v->e, i, row->names->to + row->to_type + 1) > 1) {
            pithp_mismatches_add(
                v->r, PITH_E_STRUCTURE, i, row->names->to + row->to_type + 1,
                "cannot rename \"%.200s\" to \"%.200s\": the target exists already",
                row->names->from, row->names->to);
            return;
        }
}

static void rename_fields(renaming *v) {
    bool any = false;
    for (int64_t i = 0; i < v->count; i++)
        if (v->rows[i].form == FORM_FIELD) {
            check_field(v, &v->rows[i]);
            any = true;
        }
    for (int64_t i = 0; any && i < v->node_count; i++)
        if (v->e->d->nodes.rows[i].kind == PITH_NODE_RECORD)
            rename_in(v, i);
    for (int64_t i = 0; i < v->count; i++)
        if (v->rows[i].form == FORM_FIELD)
            check_twice(v, &v->rows[i]);
}

static void rename_types(renaming *v) {
    pithp_document *d = v->e->d;
    for (int64_t i = 0; i < v->count; i++) {
        const rename_row *row = &v->rows[i];
        const char *to = row->names->to;
        if (row->form != FORM_TYPE)
            continue;
        if (!has_type(d, row->names->from, strlen(row->names->from)))
            nothing_there(v, row, "type");
        else if (has_type(d, to, strlen(to)) && !of_type(v, to, strlen(to)))
            pithp_mismatches_at(v->r, PITH_E_STRUCTURE, NULL,
                                "cannot rename \"%.200s\" to \"%.200s\": the file has "
                                "such a type already",
                                row->names->from, to);
    }
    for (int64_t i = 0; i < d->types.count; i++) {
        const char *name = d->types.rows[i].name;
        const rename_row *row = of_type(v, name, strlen(name));
        d->types.rows[i].name = row ? row->names->to : name;
    }
}

/* ---- All renames ---- */

static pith_status rename_all(renaming *v, int64_t root) {
    pith_status rc;
    PITH_TRY(read_renames(v));
    PITH_TRY(find_paths(v));
    take_paths(v);
    rename_fields(v);
    rename_types(v);
    PITH_TRY(put_paths(v, root));
    rc = pithp_mismatches_end(v->r);
out:
    return rc;
}

pith_status pithp_migrate_rename(pithp_edit *e,
                                 pithp_mismatches *r,
                                 const pith_type *type,
                                 int64_t root) {
    renaming v = {.e = e, .r = r, .node_count = e->d->nodes.count, .root = type};
    const pith_rename *renames = r->options->renames;
    while (renames[v.count].from)
        v.count++;
    const size_t bytes = (size_t)v.count * sizeof *v.rows;
    v.rows = pithp_allocate(e->s->runtime, bytes);
    if (!v.rows)
        return pithp_fail_memory(e->s, bytes);
    memset(v.rows, 0, bytes);
    const pith_status rc = rename_all(&v, root);
    pithp_release(e->s->runtime, v.rows, bytes);
    return rc;
}
