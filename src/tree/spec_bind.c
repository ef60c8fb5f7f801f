/* Binding of leaves to declared specs: the leaves of a node bind names of extents, then
 * every leaf is checked against the bindings. ^names are checked when the enclosing node
 * with that name is made. */
#include "base/format.h"
#include "tree/node_internal.h"

#include <stdio.h>
#include <string.h>

/* A line of text, cut if it does not fit. */
typedef struct {
    char text[PITHP_REASON_BYTES];
    size_t length;
} line;

PITH_FORMAT(2, 3) static void add(line *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = pithp_format_v(l->text + l->length, sizeof l->text - l->length, format,
                                 arguments);
    va_end(arguments);
    if (n > 0)
        l->length += (size_t)n;
    if (l->length >= sizeof l->text)
        l->length = sizeof l->text - 1;
}

/* ---- Values of extents ---- */

static const void *slot_of(const pithp_binding *b, int32_t slot) {
    const void *child;
    memcpy(&child, (const char *)b->value + b->type->slot_offsets[slot], sizeof child);
    return child;
}

/* The spec of a slot's leaf; NULL if it is absent or dropped. */
static const pith_spec *spec_at(const pithp_binding *b, int32_t slot) {
    if (b->type->slots[slot].kind != PITHP_SLOT_LEAF)
        return NULL;
    const void *leaf = slot_of(b, slot);
    return leaf && pithp_kind_is_array(leaf) ? pithp_array_spec(leaf) : NULL;
}

static int64_t static_i64(const pithp_binding *b, int32_t field) {
    int64_t value;
    memcpy(&value, (const char *)b->value + b->type->fields[field].declared.offset,
           sizeof value);
    return value;
}

static pith_dtype static_dtype(const pithp_binding *b, int32_t field) {
    pith_dtype dtype;
    memcpy(&dtype, (const char *)b->value + b->type->fields[field].declared.offset,
           sizeof dtype);
    return dtype;
}

int64_t pithp_binding_provided(const pithp_binding *b, int32_t provided) {
    const int32_t by = b->type->provided_by[provided];
    return by >= 0 ? static_i64(b, by) : b->names[~by];
}

/* The value of ^name from the enclosing nodes being made, or -1 if unknown. */
static int64_t outer_value(const pithp_binding *b, const char *name) {
    for (const pithp_binding *o = b->outer; o; o = o->outer)
        for (int32_t i = 0; i < o->type->provided_count; i++)
            if (o->type->provided[i] == name)
                return pithp_binding_provided(o, i);
    return -1;
}

/* The value of an extent's static, name or ^name, or -1 if unknown. */
static int64_t base_of(const pithp_binding *b, const pithp_extent *e) {
    switch (e->kind) {
        case PITHP_EXTENT_NUMBER:
            return 0;
        case PITHP_EXTENT_STATIC:
            return static_i64(b, e->name);
        case PITHP_EXTENT_NAME:
            return b->names[e->name];
        case PITHP_EXTENT_OUTER:
            return outer_value(b, b->type->names[e->name]);
    }
    return -1;
}

/* times * base + plus; -1 if base is unknown or the extent overflows. */
static int64_t extent_of(const pithp_extent *e, int64_t base) {
    int64_t value;
    if (base < 0 || __builtin_mul_overflow(e->times, base, &value) ||
        __builtin_add_overflow(value, e->plus, &value))
        return -1;
    return value;
}

/* The base for a given extent, or -1. */
static int64_t solve(const pithp_extent *e, int64_t extent) {
    return extent >= e->plus && (extent - e->plus) % e->times == 0
               ? (extent - e->plus) / e->times
               : -1;
}

/* ---- Binding by leaves ---- */

void pithp_binding_begin(pithp_binding *b, const pith_type *type, const void *value) {
    b->type = type;
    b->value = value;
    b->outer = NULL;
    b->before = NULL;
    b->lead_field = -1;
    b->lead_rank = 0;
    b->real = PITH_DTYPE_NONE;
    for (int32_t i = 0; i < type->name_count; i++)
        b->names[i] = -1;
}

/* Whether a leaf has the rank to bind names. */
static bool
can_bind(const pithp_binding *b, const pithp_leaf_spec *ls, const pith_spec *spec) {
    return !ls->any_shape && spec->rank - ls->rank == b->lead_rank;
}

static bool changed(const pithp_binding *b, int32_t slot) {
    const void *child;
    if (!b->before)
        return false;
    memcpy(&child, (const char *)b->before + b->type->slot_offsets[slot], sizeof child);
    return child != slot_of(b, slot);
}

static void learn_names(pithp_binding *b, bool derived, bool of_changed) {
    for (int32_t i = 0; i < b->type->slot_count; i++) {
        const pithp_leaf_spec *ls = &b->type->fields[b->type->slot_fields[i]].leaf;
        const pith_spec *spec = spec_at(b, i);
        if (!spec || changed(b, i) != of_changed || !can_bind(b, ls, spec))
            continue;
        for (int32_t k = 0; k < ls->rank; k++) {
            const pithp_extent *e = &ls->extents[k];
            const bool plain = e->times == 1 && e->plus == 0;
            if (e->kind == PITHP_EXTENT_NAME && b->names[e->name] < 0 && plain != derived)
                b->names[e->name] = solve(e, spec->shape[b->lead_rank + k]);
        }
    }
}

static void learn_from(pithp_binding *b, bool of_changed) {
    for (int32_t i = 0; i < b->type->slot_count; i++) {
        const int32_t field = b->type->slot_fields[i];
        const pithp_leaf_spec *ls = &b->type->fields[field].leaf;
        const pith_spec *spec = spec_at(b, i);
        if (!spec || changed(b, i) != of_changed)
            continue;
        if (ls->rule == PITHP_DTYPE_FLOAT && !b->real && pith_dtype_is_float(spec->dtype))
            b->real = spec->dtype;
        if (b->lead_field < 0 && !ls->any_shape && spec->rank >= ls->rank) {
            b->lead_field = field;
            b->lead_rank = spec->rank - ls->rank;
            memcpy(b->lead, spec->shape, (size_t)b->lead_rank * sizeof b->lead[0]);
        }
    }
    learn_names(b, false, of_changed);
    learn_names(b, true, of_changed);
}

void pithp_binding_learn(pithp_binding *b) {
    learn_from(b, false);
}

/* ---- Checking leaves ---- */

static void print_extent(line *l, const pithp_binding *b, const pithp_extent *e) {
    if (e->kind == PITHP_EXTENT_NUMBER) {
        add(l, "%lld", (long long)e->plus);
        return;
    }
    const char *name = e->kind == PITHP_EXTENT_STATIC
                           ? b->type->fields[e->name].declared.name
                           : b->type->names[e->name];
    if (e->times != 1)
        add(l, "%lld*", (long long)e->times);
    add(l, "%s%s", e->kind == PITHP_EXTENT_OUTER ? "^" : "", name);
    if (e->plus)
        add(l, "+%lld", (long long)e->plus);
    const int64_t value = extent_of(e, base_of(b, e));
    if (value >= 0)
        add(l, "=%lld", (long long)value);
}

/* "f64[n=256,3]" */
static void print_expected(line *l, const pithp_binding *b, const pithp_leaf_spec *ls) {
    switch (ls->rule) {
        case PITHP_DTYPE_FIXED:
            add(l, "%s", pith_dtype_name(ls->dtype));
            break;
        case PITHP_DTYPE_STATIC:
            add(l, "%s", pith_dtype_name(static_dtype(b, ls->dtype_field)));
            break;
        case PITHP_DTYPE_FLOAT:
            add(l, "%s", b->real ? pith_dtype_name(b->real) : "float");
            break;
        case PITHP_DTYPE_ANY:
            add(l, "any");
            break;
    }
    add(l, "[");
    for (int32_t i = 0; i < b->lead_rank && !ls->any_shape; i++)
        add(l, "%s%lld", i ? "," : "", (long long)b->lead[i]);
    for (int32_t i = 0; i < ls->rank; i++) {
        add(l, "%s", i || b->lead_rank ? "," : "");
        print_extent(l, b, &ls->extents[i]);
    }
    add(l, ls->any_shape ? "...]" : "]");
}

static bool
dtype_fits(const pithp_binding *b, const pithp_leaf_spec *ls, const pith_spec *spec) {
    switch (ls->rule) {
        case PITHP_DTYPE_FIXED:
            return spec->dtype == ls->dtype;
        case PITHP_DTYPE_STATIC:
            return spec->dtype == static_dtype(b, ls->dtype_field);
        case PITHP_DTYPE_FLOAT:
            return spec->dtype == b->real;
        case PITHP_DTYPE_ANY:
            return true;
    }
    return false;
}

static bool
shape_fits(const pithp_binding *b, const pithp_leaf_spec *ls, const pith_spec *spec) {
    if (ls->any_shape)
        return true;
    if (spec->rank != ls->rank + b->lead_rank ||
        memcmp(spec->shape, b->lead, (size_t)b->lead_rank * sizeof b->lead[0]) != 0)
        return false;
    for (int32_t k = 0; k < ls->rank; k++) {
        const pithp_extent *e = &ls->extents[k];
        if (e->kind != PITHP_EXTENT_OUTER &&
            spec->shape[b->lead_rank + k] != extent_of(e, base_of(b, e)))
            return false;
    }
    return true;
}

/* The field of another leaf that bound a name, or NULL. */
static const char *
learned_from(const pithp_binding *b, int32_t name, int32_t field, int64_t value) {
    for (int32_t i = 0; i < b->type->slot_count; i++) {
        const int32_t at = b->type->slot_fields[i];
        const pithp_leaf_spec *ls = &b->type->fields[at].leaf;
        const pith_spec *spec = spec_at(b, i);
        if (!spec || at == field || !can_bind(b, ls, spec))
            continue;
        for (int32_t k = 0; k < ls->rank; k++)
            if (ls->extents[k].kind == PITHP_EXTENT_NAME && ls->extents[k].name == name &&
                solve(&ls->extents[k], spec->shape[b->lead_rank + k]) == value)
                return b->type->fields[at].declared.name;
    }
    return NULL;
}

/* Append "; n is 9 in .x" for each name that the leaf contradicts. */
static void
print_sources(line *l, const pithp_binding *b, int32_t field, const pith_spec *spec) {
    const pithp_leaf_spec *ls = &b->type->fields[field].leaf;
    for (int32_t k = 0; k < ls->rank && can_bind(b, ls, spec); k++) {
        const pithp_extent *e = &ls->extents[k];
        if (e->kind != PITHP_EXTENT_NAME)
            continue;
        const int64_t value = b->names[e->name];
        const char *from = spec->shape[b->lead_rank + k] != extent_of(e, value)
                               ? learned_from(b, e->name, field, value)
                               : NULL;
        if (from)
            add(l, "; %s is %lld in .%s", b->type->names[e->name], (long long)value,
                from);
    }
}

static pith_status refuse_leaf(pith_scope *s,
                               const pithp_binding *b,
                               int32_t field,
                               const pith_spec *spec,
                               pith_status code) {
    const pithp_leaf_spec *ls = &b->type->fields[field].leaf;
    line expected = {.length = 0}, sources = {.length = 0};
    char got[PITHP_SPEC_TEXT_BYTES], path[PITHP_PATH_BYTES];
    print_expected(&expected, b, ls);
    if (code == PITH_E_SHAPE)
        print_sources(&sources, b, field, spec);
    if (code == PITH_E_SHAPE && field != b->lead_field && b->lead_rank > 0)
        add(&expected, " (extra leading extents as in .%s)",
            b->type->fields[b->lead_field].declared.name);
    snprintf(path, sizeof path, ".%s", b->type->fields[field].declared.name);
    return pithp_fail(s, code, path, "expected %s, got %s%s", expected.text,
                      pithp_spec_print(spec, got), sources.text);
}

pith_status pithp_binding_check(pith_scope *s, const pithp_binding *b) {
    for (int32_t i = 0; i < b->type->slot_count; i++) {
        const int32_t field = b->type->slot_fields[i];
        const pithp_leaf_spec *ls = &b->type->fields[field].leaf;
        const pith_spec *spec = spec_at(b, i);
        if (!spec)
            continue;
        if (!dtype_fits(b, ls, spec))
            return refuse_leaf(s, b, field, spec, PITH_E_DTYPE);
        if (!shape_fits(b, ls, spec))
            return refuse_leaf(s, b, field, spec, PITH_E_SHAPE);
    }
    return PITH_OK;
}

/* ---- Specs of leaves to be made ---- */

static pith_status dtype_of_leaf(pith_scope *s,
                                 const pithp_binding *b,
                                 const pithp_field *f,
                                 pith_dtype *dtype) {
    char path[PITHP_PATH_BYTES];
    *dtype = f->leaf.rule == PITHP_DTYPE_FIXED    ? f->leaf.dtype
             : f->leaf.rule == PITHP_DTYPE_STATIC ? static_dtype(b, f->leaf.dtype_field)
             : f->leaf.rule == PITHP_DTYPE_FLOAT  ? b->real
                                                  : PITH_DTYPE_NONE;
    if (*dtype != PITH_DTYPE_NONE)
        return PITH_OK;
    snprintf(path, sizeof path, ".%s", f->declared.name);
    return pithp_fail(s, PITH_E_DTYPE, path,
                      "a leaf of \"%s\" cannot be made: its dtype is unknown",
                      f->declared.spec);
}

bool pithp_binding_spec(pith_scope *s,
                        const pithp_binding *b,
                        const pithp_field *field,
                        const pith_spec **spec) {
    const pithp_leaf_spec *ls = &field->leaf;
    char path[PITHP_PATH_BYTES];
    pith_dtype dtype;
    int64_t shape[2 * PITH_MAX_RANK];
    snprintf(path, sizeof path, ".%s", field->declared.name);
    if (dtype_of_leaf(s, b, field, &dtype) != PITH_OK)
        return false;
    if (ls->any_shape) {
        pithp_fail(s, PITH_E_SHAPE, path,
                   "a leaf of \"%s\" cannot be made: its shape is unknown",
                   field->declared.spec);
        return false;
    }
    memcpy(shape, b->lead, (size_t)b->lead_rank * sizeof shape[0]);
    for (int32_t k = 0; k < ls->rank; k++) {
        const int64_t base = base_of(b, &ls->extents[k]);
        shape[b->lead_rank + k] = extent_of(&ls->extents[k], base);
        if (shape[b->lead_rank + k] >= 0)
            continue;
        line expected = {.length = 0};
        print_expected(&expected, b, ls);
        pithp_fail(s, PITH_E_SHAPE, path, "%s: axis %d is %s", expected.text, k,
                   base < 0 && ls->extents[k].kind != PITHP_EXTENT_STATIC
                       ? "not given by a static, leaf or extent"
                   : base < 0 ? "negative"
                              : "too large");
        return false;
    }
    *spec = pithp_spec(s, dtype, b->lead_rank + ls->rank, shape);
    if (!*spec)
        pithp_error_prefix(s, path);
    return *spec != NULL;
}

/* ---- ^names of the nodes below ---- */

/* Which names of the record a node on the path down binds too: a row of bits per
 * depth. */
typedef struct {
    pithp_binding *b;
    pithp_walk walk;
    uint64_t *rows;
    int64_t depths;    /* capacity of rows */
    int words;         /* of a row */
    uint16_t open;     /* names that no node so far binds */
    const char *field; /* field of the record on the path */
} descent;

static bool row_room(descent *d) {
    if (d->walk.depth < d->depths)
        return true;
    const size_t row = (size_t)d->words * sizeof *d->rows;
    const int64_t more = d->depths ? 2 * d->depths : 16;
    uint64_t *rows = pithp_reallocate(d->walk.rt, d->rows, (size_t)d->depths * row,
                                      (size_t)more * row);
    if (!rows)
        return false;
    d->rows = rows;
    d->depths = more;
    return true;
}

/* Record the names that the node just entered binds. Returns whether any name is still
 * unbound below it. */
static bool enter_row(descent *d) {
    const pith_type *type = pithp_node_def_of(d->walk.node)->type, *own = d->b->type;
    uint64_t *row = d->rows + (size_t)d->walk.depth * (size_t)d->words;
    memcpy(row, row - d->words, (size_t)d->words * sizeof *row);
    bool some = false;
    for (int32_t i = 0; i < own->provided_count; i++) {
        if (type && pithp_type_provides(type, own->provided[i]))
            row[i / 64] |= UINT64_C(1) << (i % 64);
        some |= !(row[i / 64] >> (i % 64) & 1);
    }
    return some;
}

static pith_status refuse_outer(pith_scope *s,
                                const descent *d,
                                const pithp_binding *inner,
                                const pithp_field *f,
                                const pith_spec *spec) {
    line expected = {.length = 0};
    char got[PITHP_SPEC_TEXT_BYTES];
    print_expected(&expected, inner, &f->leaf);
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_string_print(&path, ".%s", d->field);
    pithp_walk_path(&d->walk, &path);
    pithp_path_add_field(&path, f->declared.name);
    pithp_fail(s, PITH_E_SHAPE, path.bytes, "expected %s, got %s", expected.text,
               pithp_spec_print(spec, got));
    pithp_string_end(&path);
    return PITH_E_SHAPE;
}

/* Check one ^name of a leaf against the record that binds it, or bind it there. */
static bool
outer_fits(descent *d, const char *name, const pithp_extent *e, int64_t extent) {
    const pith_type *own = d->b->type;
    const uint64_t *row = d->rows + (size_t)(d->walk.depth - 1) * (size_t)d->words;
    for (int32_t i = 0; i < own->provided_count; i++) {
        if (own->provided[i] != name)
            continue;
        if (row[i / 64] >> (i % 64) & 1)
            return true; /* a nearer node binds it and has checked it */
        const int32_t by = own->provided_by[i];
        if (by < 0 && d->b->names[~by] < 0) {
            d->b->names[~by] = solve(e, extent);
            return d->b->names[~by] >= 0;
        }
        return extent == extent_of(e, pithp_binding_provided(d->b, i));
    }
    d->open |= pithp_name_bit(name);
    return true;
}

static pith_status check_record_below(pith_scope *s, descent *d) {
    const pithp_node_def *shape = pithp_node_def_of(d->walk.node);
    if (!shape->type || !shape->type->needs_outer)
        return PITH_OK;
    pithp_binding inner;
    pithp_binding_begin(&inner, shape->type, d->walk.node);
    pithp_binding_learn(&inner);
    inner.outer = d->b;
    for (int32_t i = 0; i < shape->type->slot_count; i++) {
        const pithp_field *f = &shape->type->fields[shape->type->slot_fields[i]];
        const pith_spec *spec = spec_at(&inner, i);
        if (!spec)
            continue;
        for (int32_t k = 0; k < f->leaf.rank; k++) {
            const pithp_extent *e = &f->leaf.extents[k];
            if (e->kind == PITHP_EXTENT_OUTER &&
                !outer_fits(d, shape->type->names[e->name], e,
                            spec->shape[inner.lead_rank + k]))
                return refuse_outer(s, d, &inner, f, spec);
        }
    }
    return PITH_OK;
}

static pith_status check_subtree(pith_scope *s, descent *d, const void *tree) {
    pith_status rc = PITH_OK;
    pithp_visit visit;
    pithp_walk_begin(&d->walk, s->runtime, tree);
    while (rc == PITH_OK && pithp_walk_next(&d->walk, &visit)) {
        if (visit != PITHP_VISIT_ENTER)
            continue;
        if (!row_room(d)) {
            rc = pithp_fail_memory(s, (size_t)d->depths * sizeof *d->rows);
            break;
        }
        rc = check_record_below(s, d);
        const uint16_t below = pithp_header_of(d->walk.node)->extra;
        if (!(below & d->b->type->provided_mask) || !enter_row(d)) {
            d->open |= below;
            pithp_walk_skip(&d->walk);
        }
    }
    if (d->walk.failed)
        rc = pithp_fail_memory(s, (size_t)d->walk.depth * sizeof(pithp_walk_frame));
    pithp_walk_end(&d->walk);
    return rc;
}

pith_status pithp_binding_check_below(pith_scope *s, pithp_binding *b, uint16_t *mask) {
    descent d = {.b = b, .words = (b->type->provided_count + 63) / 64};
    pith_status rc = PITH_OK;
    d.walk.rt = s->runtime;
    d.open = b->type->outer_mask;
    for (int32_t i = 0; i < b->type->slot_count && rc == PITH_OK; i++) {
        const void *child = slot_of(b, i);
        if (b->type->slots[i].kind == PITHP_SLOT_LEAF || !child || changed(b, i) ||
            pithp_kind_is_array(child))
            continue;
        const uint16_t below = pithp_header_of(child)->extra;
        if (!(below & b->type->provided_mask)) {
            d.open |= below;
            continue;
        }
        d.field = b->type->fields[b->type->slot_fields[i]].declared.name;
        d.walk.depth = 0;
        if (!row_room(&d)) {
            rc = pithp_fail_memory(s, sizeof *d.rows);
            break;
        }
        memset(d.rows, 0, (size_t)d.words * sizeof *d.rows);
        rc = check_subtree(s, &d, child);
    }
    pithp_release(s->runtime, d.rows,
                  (size_t)d.depths * (size_t)d.words * sizeof *d.rows);
    *mask = d.open;
    return rc;
}

/* ---- Changed records ---- */

pith_status pithp_record_check_change(pith_scope *s,
                                      const pith_type *type,
                                      const void *value,
                                      const void *before) {
    pithp_binding b, old;
    uint16_t open;
    bool differs = false;
    pithp_binding_begin(&b, type, value);
    pithp_binding_begin(&old, type, before);
    b.before = before;
    for (int32_t i = 0; i < type->slot_count && !differs; i++)
        differs = changed(&b, i) && spec_at(&b, i) != spec_at(&old, i);
    if (!differs)
        return PITH_OK;
    learn_from(&b, false);
    const pith_status rc = pithp_binding_check_below(s, &b, &open);
    if (rc != PITH_OK)
        return rc;
    learn_from(&b, true);
    return pithp_binding_check(s, &b);
}

/* ---- Conflicts of float dtypes ---- */

/* The dtype and path of the first `float` leaf of a tree. */
static pith_dtype first_real(pith_scope *s, const void *tree, pithp_string *path) {
    pithp_walk w;
    pithp_visit visit;
    pith_dtype found = PITH_DTYPE_NONE;
    pithp_walk_begin(&w, s->runtime, tree);
    while (!found && pithp_walk_next(&w, &visit)) {
        const pithp_node_def *parent =
            visit == PITHP_VISIT_LEAF && w.depth ? w.frames[w.depth - 1].node_def : NULL;
        if (!parent || !parent->type || !pithp_kind_is_array(w.node))
            continue;
        const pithp_field *f = &parent->type->fields[parent->type->slot_fields[w.slot]];
        if (f->declared.kind == PITH_FIELD_LEAF && f->leaf.rule == PITHP_DTYPE_FLOAT) {
            found = pithp_array_spec(w.node)->dtype;
            pithp_walk_path(&w, path);
        }
    }
    pithp_walk_end(&w);
    return found;
}

pith_status pithp_fail_reals(pith_scope *s,
                             const void *node,
                             const pithp_node_def *shape,
                             int64_t slot) {
    pithp_string first, second;
    pithp_string_begin(&first, s->runtime);
    pithp_string_begin(&second, s->runtime);
    const pith_dtype expected = first_real(s, node, &first);
    pithp_path_add_slot(&second, shape, slot);
    const pith_dtype got = first_real(s, *pithp_slot(node, shape, slot), &second);
    pithp_fail(s, PITH_E_DTYPE, second.bytes,
               "expected float=%s as in %s, got %s: all float leaves of a "
               "tree must agree",
               pith_dtype_name(expected), first.bytes, pith_dtype_name(got));
    pithp_string_end(&first);
    pithp_string_end(&second);
    return PITH_E_DTYPE;
}
