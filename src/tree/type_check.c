/* Validation of record type declarations. Each error names the field and the expected
 * declaration. */
#include "tree/static_kind.h"
#include "tree/type_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fields ---- */

static void check_leaf(pith_type *t, const pithp_field *f) {
    const pith_field *d = &f->declared;
    uint64_t element;
    if (d->size != sizeof(void *))
        pithp_type_refuse(t, d->name, "a leaf is a const pith_array *");
    else if (f->leaf.rule == PITHP_DTYPE_FIXED &&
             !pithp_dtype_encode(f->leaf.dtype, d->options.fill, &element))
        pithp_type_refuse(t, d->name, "the fill %g is not exact in %s", d->options.fill,
                          pith_dtype_name(f->leaf.dtype));
}

static bool is_whole(double value, double least, double beyond) {
    return value >= least && value < beyond && value == floor(value);
}

static void check_static(pith_type *t, const pith_field *d) {
    if (d->static_kind == PITH_STATIC_KIND_NONE || d->size != pithp_static_of(d)->size)
        pithp_type_refuse(t, d->name, "a static of %zu bytes has no known kind", d->size);
    else if (d->static_kind == PITH_STATIC_KIND_ENUM && !d->names)
        pithp_type_refuse(t, d->name, "an enum needs names of its values");
    else if (d->options.initial_text && d->static_kind != PITH_STATIC_KIND_TEXT)
        pithp_type_refuse(t, d->name, ".initial_text is for strings");
    else if (d->options.optional)
        pithp_type_refuse(t, d->name, ".optional is for leaves and children");
    else if (pithp_static_of(d)->check_initial)
        pithp_static_of(d)->check_initial(t, d);
}

static void
set_hook(pith_type *t, const pith_field *d, const char *kind, void (**hook)(void)) {
    if (*hook)
        pithp_type_refuse(t, NULL, "a second %s, %s: a type has only one", kind, d->name);
    *hook = d->hook;
}

static void check_upgrade(pith_type *t, int32_t field) {
    const pith_field *d = &t->fields[field].declared;
    if (!is_whole(d->options.initial, 1, 0x1p31))
        pithp_type_refuse(t, NULL,
                          "the upgrade %s starts from %g, which is not a version",
                          d->name, d->options.initial);
    for (int32_t i = 0; i < field; i++) {
        const pith_field *other = &t->fields[i].declared;
        if (other->hook_kind == PITH_HOOK_UPGRADE &&
            (int32_t)other->options.initial == (int32_t)d->options.initial)
            pithp_type_refuse(t, NULL, "%s and %s both upgrade from version %d",
                              other->name, d->name, (int)d->options.initial);
    }
}

/* Upgrades may be declared before the version. */
static void check_upgrades(pith_type *t) {
    for (int32_t i = 0; i < t->field_count && !t->error; i++) {
        const pith_field *d = &t->fields[i].declared;
        if (d->kind != PITH_FIELD_HOOK || d->hook_kind != PITH_HOOK_UPGRADE)
            continue;
        check_upgrade(t, i);
        if (!t->error && (int32_t)d->options.initial >= t->version)
            pithp_type_refuse(t, NULL,
                              "the upgrade %s starts from version %d, the type has %d",
                              d->name, (int)d->options.initial, (int)t->version);
    }
}

/* Identifiers separated by dots: type names appear in files, messages and renames. */
static bool is_name(const char *text) {
    enum { LONGEST = 100 };
    const char *const whole = text;
    for (;;) {
        const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (n == 0 || (*text >= '0' && *text <= '9'))
            return false;
        text += n;
        if (*text != '.')
            return !*text && text - whole <= LONGEST;
        text++;
    }
}

static void check_name(pith_type *t, const char *name) {
    if (!name || !is_name(name))
        pithp_type_refuse(t, NULL,
                          "PITH_NAMED(\"%.120s\"): expected identifiers with dots "
                          "between them, of at most 100 characters",
                          name ? name : "");
    else if (strcmp(name, t->name) != 0)
        pithp_type_refuse(t, NULL, "a second name, \"%s\": a type has only one", name);
}

static void check_hook(pith_type *t, const pith_field *d) {
    switch (d->hook_kind) {
        case PITH_HOOK_NONE:
        case PITH_HOOK_UPGRADE:
        case PITH_HOOK_USES:
            break;
        case PITH_HOOK_FORMERLY:
            if (!d->options.initial_text || !d->options.initial_text[0] ||
                strcmp(d->options.initial_text, t->name) == 0)
                pithp_type_refuse(t, NULL, "the former name \"%s\" is invalid",
                                  d->options.initial_text ? d->options.initial_text : "");
            break;
        case PITH_HOOK_NAMED:
            check_name(t, d->options.initial_text);
            break;
        case PITH_HOOK_VALIDATE:
            set_hook(t, d, "check", &t->check);
            break;
        case PITH_HOOK_MATCH:
            set_hook(t, d, "match", &t->match);
            break;
        case PITH_HOOK_SCATTER_ARGS:
            set_hook(t, d, "scatter_args", &t->scatter_args);
            break;
        case PITH_HOOK_VERSION:
            if (!is_whole(d->options.initial, 1, 0x1p31))
                pithp_type_refuse(t, NULL, "the version %g is not a positive int",
                                  d->options.initial);
            else
                t->version = (int32_t)d->options.initial;
            break;
    }
}

/* Check for options that a field of that kind does not support. */
static void check_options(pith_type *t, const pith_field *d) {
    const pith_field_options *o = &d->options;
    const bool fill = o->fill < 0 || o->fill > 0 || isnan(o->fill);
    const bool initial = o->initial < 0 || o->initial > 0 || isnan(o->initial);
    if (fill && d->kind != PITH_FIELD_LEAF)
        pithp_type_refuse(t, d->name, ".fill is for leaves");
    else if ((initial || o->initial_text) && d->kind != PITH_FIELD_STATIC)
        pithp_type_refuse(t, d->name, ".initial is for statics; a leaf has .fill");
    else if (o->compress && d->kind != PITH_FIELD_LEAF && d->kind != PITH_FIELD_TREE)
        pithp_type_refuse(t, d->name, ".compress is for leaves");
    else if (o->compress > 19)
        pithp_type_refuse(t, d->name, ".compress is a level from 1 to 19, got %d",
                          o->compress);
}

void pithp_type_check_fields(pith_type *t) {
    if (t->alignment > 16)
        pithp_type_refuse(t, NULL, "the struct is aligned to %zu bytes, a record to 16",
                          t->alignment);
    for (int32_t i = 0; i < t->field_count; i++) {
        const pithp_field *f = &t->fields[i];
        const pith_field *d = &f->declared;
        if (d->kind == PITH_FIELD_HOOK) {
            check_hook(t, d);
            continue;
        }
        if (!d->name[0])
            pithp_type_refuse(t, NULL, "field %d has no name", i);
        for (int32_t k = 0; k < i; k++)
            if (t->fields[k].declared.kind != PITH_FIELD_HOOK &&
                strcmp(t->fields[k].declared.name, d->name) == 0)
                pithp_type_refuse(t, d->name, "described twice");
        check_options(t, d);
        pithp_type_check_shard(t, f);
        if (d->kind == PITH_FIELD_LEAF)
            check_leaf(t, f);
        else if (d->kind == PITH_FIELD_STATIC)
            check_static(t, d);
    }
    check_upgrades(t);
}

/* ---- Bytes ---- */

static bool is_covering(const pith_field *d) {
    return d->kind != PITH_FIELD_HOOK && d->size > 0;
}

/* The field of each byte, counted from 1; 0: none. Returns false after an error. */
static bool cover(pith_type *t, int32_t *owner) {
    for (int32_t i = 0; i < t->field_count; i++) {
        const pith_field *d = &t->fields[i].declared;
        if (!is_covering(d))
            continue;
        if (d->offset > t->size || d->size > t->size - d->offset) {
            pithp_type_refuse(t, d->name, "it lies outside the struct");
            return false;
        }
        for (size_t at = d->offset; at < d->offset + d->size; at++) {
            if (owner[at]) {
                pithp_type_refuse(t, d->name, "it overlaps %s",
                                  t->fields[owner[at] - 1].declared.name);
                return false;
            }
            owner[at] = i + 1;
        }
    }
    return true;
}

/* The alignment that the field at an offset may require. */
static size_t alignment_at(const pith_type *t, const int32_t *owner, size_t offset) {
    size_t alignment = t->alignment;
    if (offset == t->size)
        return alignment;
    const pith_field *d = &t->fields[owner[offset] - 1].declared;
    if (d->kind == PITH_FIELD_IGNORE) {
        while (alignment > 1 && offset % alignment)
            alignment /= 2;
        return alignment;
    }
    return d->size;
}

static void refuse_gap(pith_type *t, size_t begin, size_t end) {
    if (end - begin == 1)
        pithp_type_refuse(t, NULL,
                          "byte %zu belongs to no field: describe the member, or "
                          "PITH_IGNORE it",
                          begin);
    else
        pithp_type_refuse(t, NULL,
                          "bytes %zu..%zu belong to no field: describe the member, or "
                          "PITH_IGNORE it",
                          begin, end - 1);
}

void pithp_type_check_layout(pith_type *t, const unsigned char *members) {
    if (t->error)
        return;
    int32_t *owner = calloc(t->size, sizeof *owner);
    if (!owner) {
        pithp_type_refuse(t, NULL, "out of memory");
        return;
    }
    size_t at = cover(t, owner) ? 0 : t->size;
    while (at < t->size && !t->error) {
        if (owner[at] || (members && !members[at])) {
            at++;
            continue;
        }
        size_t end = at + 1;
        while (end < t->size && !owner[end] && (!members || members[end]))
            end++;
        /* Without a list of members, a gap that alignment explains counts as padding. */
        if (members || end - at >= alignment_at(t, owner, end))
            refuse_gap(t, at, end);
        at = end;
    }
    free(owner);
}

/* ---- Misspelt names of extents ---- */

/* Whether two names have edit distance 1 (insertion, deletion, replacement or
 * transposition; F. Damerau 1964). Names of fewer than four letters never count. */
static bool is_similar(const char *a, const char *b) {
    const size_t m = strlen(a), n = strlen(b);
    if (m < 4 || n < 4 || m > n + 1 || n > m + 1)
        return false;
    size_t first = 0, last = 0;
    while (first < m && first < n && a[first] == b[first])
        first++;
    while (last < m - first && last < n - first && a[m - 1 - last] == b[n - 1 - last])
        last++;
    const size_t rest_a = m - first - last, rest_b = n - first - last;
    /* width1 and width2 are two names, not one misspelt. */
    if (rest_a == 1 && rest_b == 1)
        return !(a[first] >= '0' && a[first] <= '9') &&
               !(b[first] >= '0' && b[first] <= '9');
    return (rest_a <= 1 && rest_b <= 1) ||
           (rest_a == 2 && rest_b == 2 && a[first] == b[first + 1] &&
            a[first + 1] == b[first]);
}

static int
count_uses(const pith_type *t, pithp_extent_kind kind, int32_t name, int32_t *field) {
    int uses = 0;
    for (int32_t i = 0; i < t->slot_count; i++) {
        const pithp_leaf_spec *spec = &t->fields[t->slot_fields[i]].leaf;
        for (int32_t k = 0; k < spec->rank; k++)
            if (spec->extents[k].kind == kind && spec->extents[k].name == name) {
                *field = t->slot_fields[i];
                uses++;
            }
    }
    return uses;
}

/* A name that one leaf uses once, and that is similar to a static that no leaf uses, is
 * taken for a misspelt static. */
void pithp_type_check_names(pith_type *t) {
    for (int32_t i = 0; i < t->name_count && !t->error; i++) {
        int32_t field = -1, unused;
        if (count_uses(t, PITHP_EXTENT_NAME, i, &field) != 1)
            continue;
        for (int32_t k = 0; k < t->static_count; k++) {
            const char *name = t->fields[t->statics[k].field].declared.name;
            if (t->statics[k].kind == PITH_STATIC_KIND_I64 &&
                is_similar(t->names[i], name) &&
                count_uses(t, PITHP_EXTENT_STATIC, t->statics[k].field, &unused) == 0)
                pithp_type_refuse(
                    t, t->fields[field].declared.name,
                    "leaf spec \"%s\": there is no static %s, but there is %s",
                    t->fields[field].declared.spec, t->names[i], name);
        }
    }
}

static bool is_needed(const pith_type *t, const char *name) {
    for (int32_t i = 0; i < t->slot_count; i++) {
        const pith_type *child = t->slots[i].child;
        for (int32_t k = 0; child && k < child->need_count; k++)
            if (child->needs[k] == name)
                return true;
    }
    return false;
}

void pithp_type_check_needs(pith_type *t) {
    for (int32_t i = 0; i < t->slot_count && !t->error; i++) {
        const pith_type *child = t->slots[i].child;
        for (int32_t k = 0; child && k < child->need_count; k++) {
            const char *need = child->needs[k];
            if (pithp_type_provides(t, need))
                continue;
            for (int32_t p = 0; p < t->provided_count; p++)
                if (is_similar(need, t->provided[p]) && !is_needed(t, t->provided[p]))
                    pithp_type_refuse(
                        t, t->fields[t->slots[i].field].declared.name,
                        "its leaves need ^%s, but %s has no extent of that name; "
                        "it has %s",
                        need, t->name, t->provided[p]);
        }
    }
}

/* ---- Children ---- */

/* Whether each record of the type has a record of the field's type. */
static bool is_required(const pith_field *d) {
    return (d->kind == PITH_FIELD_CHILD || d->kind == PITH_FIELD_STATIC) &&
           !d->options.optional;
}

/* Whether required children lead from one type to another. Registered types cannot lead
 * to an unregistered one. */
static bool leads_back(const pith_type *from, const pith_type *to, int32_t visit) {
    if (from == to)
        return true;
    if (from->ready || !from->nil || from->visit == visit)
        return false;
    ((pith_type *)(uintptr_t)from)->visit = visit;
    for (int32_t i = 0; i < from->field_count; i++) {
        const pithp_field *f = &from->fields[i];
        if (f->child && is_required(&f->declared) && leads_back(f->child, to, visit))
            return true;
    }
    return false;
}

void pithp_type_check_children(pith_type *t) {
    for (int32_t i = 0; i < t->field_count && !t->error; i++) {
        const pithp_field *f = &t->fields[i];
        const pith_field *d = &f->declared;
        const bool is_static = d->kind == PITH_FIELD_STATIC;
        const bool is_use = d->kind == PITH_FIELD_HOOK && d->hook_kind == PITH_HOOK_USES;
        if (d->kind != PITH_FIELD_CHILD && d->kind != PITH_FIELD_LIST &&
            d->kind != PITH_FIELD_DICT && !is_use &&
            !(is_static && d->static_kind == PITH_STATIC_KIND_RECORD))
            continue;
        if (!f->child || f->child == pith_array_pith_type())
            pithp_type_refuse(t, d->name,
                              "%s is not a record type: an array is a PITH_LEAF, any "
                              "tree a PITH_TREE",
                              d->child_name ? d->child_name : "it");
        else if (is_static && f->child->slot_count > 0)
            pithp_type_refuse(t, d->name,
                              "%s has leaves or children: a static record has neither",
                              f->child->name);
        else if (is_required(d) && leads_back(f->child, t, pithp_type_begin_visit()))
            pithp_type_refuse(
                t, d->name,
                "a required %s leads back to %s without end: make it .optional",
                f->child->name, t->name);
    }
}
