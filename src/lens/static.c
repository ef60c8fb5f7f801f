/* Statics as trees and numbers: reading, and writing into the struct of a new record. */
#include "lens/lens_internal.h"

#include <string.h>

/* ---- Getting ---- */

const void *
pithp_lens_static_get(pith_scope *s, const void *record, const pithp_field *field) {
    const pithp_static_value v = pithp_static_read(&field->declared, record);
    return v.kind == PITH_STATIC_KIND_RECORD ? v.record : pithp_lens_scalar_tree(s, &v);
}

/* ---- Setting ---- */

static pith_status wrong_kind(pith_scope *s, const pith_field *d, const char *got) {
    return pithp_fail(s, PITH_E_DTYPE, NULL, "expected %s, got %s",
                      pithp_static_of(d)->expected, got);
}

static pith_status
put_array(pith_scope *s, char *at, const pith_field *d, const pith_array *value) {
    const pith_spec *spec = pithp_array_spec(value);
    char text[PITHP_SPEC_TEXT_BYTES];
    const bool is_bool = spec->dtype == PITH_BOOL;
    if (d->static_kind == PITH_STATIC_KIND_TEXT)
        return wrong_kind(s, d, pithp_spec_print(spec, text));
    if (spec->rank)
        return pithp_fail(s, PITH_E_SHAPE, NULL,
                          "expected a number (an array of rank 0), got %s",
                          pithp_spec_print(spec, text));
    if (d->static_kind == PITH_STATIC_KIND_BOOL  ? !is_bool
        : d->static_kind == PITH_STATIC_KIND_F64 ? is_bool
                                                 : !pith_dtype_is_integer(spec->dtype))
        return wrong_kind(s, d, pithp_spec_print(spec, text));
    pithp_static_value v = {.kind = d->static_kind};
    if (d->static_kind == PITH_STATIC_KIND_BOOL)
        v.i64 = pith_read_bool(pithp_on_behalf(s), value);
    else if (d->static_kind == PITH_STATIC_KIND_F64)
        v.f64 = pith_read_f64(pithp_on_behalf(s), value);
    else
        v.i64 = pith_read_i64(pithp_on_behalf(s), value);
    if (s->error.code == PITH_OK) /* freezing refuses invalid enums and dtypes */
        pithp_static_of(d)->write(&v, at);
    return s->error.code;
}

pith_status pithp_lens_static_put(pith_scope *s,
                                  void *record,
                                  const pithp_field *field,
                                  const void *value) {
    const pith_field *d = &field->declared;
    char *at = (char *)record + d->offset;
    if (!value)
        return pithp_fail(s, PITH_E_ARG, NULL, "a static cannot be absent");
    const pith_text *text = pithp_lens_text_of(value);
    if (text && d->static_kind != PITH_STATIC_KIND_RECORD)
        return pithp_lens_static_put_scalar(
            s, record, field,
            &(pithp_static_value){.kind = PITH_STATIC_KIND_TEXT, .text = text->text});
    if (d->static_kind == PITH_STATIC_KIND_RECORD) {
        const pith_status rc = pithp_lens_check_type(s, value, field->child);
        memcpy(at, &value, sizeof value);
        return rc;
    }
    if (pithp_kind_is_array(value))
        return put_array(s, at, d, value);
    pithp_string got;
    pithp_string_begin(&got, s->runtime);
    pithp_node_describe(&got, value);
    wrong_kind(s, d, got.bytes);
    pithp_string_end(&got);
    return s->error.code;
}

/* ---- Scalars ---- */

pith_status pithp_lens_static_put_scalar(pith_scope *s,
                                         void *record,
                                         const pithp_field *field,
                                         const pithp_static_value *scalar) {
    const pith_field *d = &field->declared;
    const pithp_static_operations *kind = pithp_static_of(d);
    const bool text = scalar->kind == PITH_STATIC_KIND_TEXT;
    pithp_static_value v = {.kind = d->static_kind};
    if (!pithp_static_convert(d, scalar, &v))
        return wrong_kind(s, d,
                          !text ? pithp_static_kinds[scalar->kind].expected
                          : kind->is_named && !scalar->text ? "NULL"
                                                            : "a text");
    if (kind->is_named && text && v.i64 < 0)
        return pithp_fail(s, PITH_E_ARG, NULL, "'%.80s' is not a valid %s", scalar->text,
                          d->static_kind == PITH_STATIC_KIND_DTYPE ? "dtype"
                                                                   : "name of the enum");
    pithp_static_write(d, &v, record);
    return PITH_OK;
}

const void *pithp_lens_scalar_tree(pith_scope *s, const pithp_static_value *scalar) {
    pith_scope *on_behalf = pithp_on_behalf(s);
    return scalar->kind == PITH_STATIC_KIND_TEXT
               ? (const void *)pith_text_make(on_behalf, scalar->text)
           : scalar->kind == PITH_STATIC_KIND_F64 ? pith_f64(on_behalf, scalar->f64)
           : scalar->kind == PITH_STATIC_KIND_BOOL
               ? pith_bool(on_behalf, scalar->i64 != 0)
               : pith_i64(on_behalf, scalar->i64);
}

/* ---- Numbers without arrays ---- */

/* The static or tree in the focus of a lens. False: error set. */
static bool find_place(pith_scope *s,
                       const pith_lens *lens,
                       const void *root,
                       const char *function,
                       pithp_lens_place *place) {
    if (!pithp_enter_as(s, function) ||
        pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_root(s, lens, root, function) != PITH_OK)
        return false;
    *place = (pithp_lens_place){0};
    if (pithp_lens_is_path(lens)) {
        if (pithp_lens_locate(s, lens, root, place) != PITH_OK)
            return false;
        if (place->field)
            return true;
        place->node = pithp_lens_value_at(s, place);
    } else {
        place->node = pithp_lens_look(s, lens->parts, lens->part_count, root);
    }
    return s->error.code == PITH_OK;
}

static void refuse_place(pith_scope *s,
                         const char *function,
                         const char *wanted,
                         const pithp_lens_place *place) {
    pithp_string got;
    pithp_string_begin(&got, s->runtime);
    pithp_node_describe(&got, place->node);
    pithp_fail(s, PITH_E_TYPE, NULL, "%s: expected %s, got %s", function, wanted,
               got.bytes);
    pithp_string_end(&got);
}

/* The same for a number: a static or an array. */
static bool find_number(pith_scope *s,
                        const pith_lens *lens,
                        const void *root,
                        const char *function,
                        pithp_lens_place *place) {
    if (!find_place(s, lens, root, function, place))
        return false;
    if (place->field || (place->node && pithp_kind_is_array(place->node)))
        return true;
    refuse_place(s, function, "a number", place);
    return false;
}

static void fail_number(pith_scope *s,
                        const char *function,
                        const pith_field *d,
                        const char *wanted) {
    char path[PITHP_PATH_BYTES];
    snprintf(path, sizeof path, "%.400s", d->name);
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: '%.100s' is no %s", function, path, wanted);
}

int64_t pith_lens_get_i64(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_i64";
    pithp_lens_place p;
    if (!find_number(s, lens, root, function, &p))
        return 0;
    if (!p.field)
        return pith_read_i64(pithp_on_behalf(s), p.node);
    const pith_field *d = &p.field->declared;
    if (d->static_kind == PITH_STATIC_KIND_I64 || pithp_static_of(d)->is_named)
        return pithp_static_read(d, p.node).i64;
    fail_number(s, function, d, "integer");
    return 0;
}

double pith_lens_get_f64(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_f64";
    pithp_lens_place p;
    if (!find_number(s, lens, root, function, &p))
        return 0;
    if (!p.field)
        return pith_read_f64(pithp_on_behalf(s), p.node);
    const pith_field *d = &p.field->declared;
    const pithp_static_value v = pithp_static_read(d, p.node);
    if (v.kind == PITH_STATIC_KIND_F64 || v.kind == PITH_STATIC_KIND_I64)
        return v.kind == PITH_STATIC_KIND_F64 ? v.f64 : (double)v.i64;
    fail_number(s, function, d, "number");
    return 0;
}

bool pith_lens_get_bool(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_bool";
    pithp_lens_place p;
    if (!find_number(s, lens, root, function, &p))
        return false;
    if (!p.field)
        return pith_read_bool(pithp_on_behalf(s), p.node);
    const pith_field *d = &p.field->declared;
    if (d->static_kind == PITH_STATIC_KIND_BOOL)
        return pithp_static_read(d, p.node).i64 != 0;
    fail_number(s, function, d, "bool");
    return false;
}

/* The text of a static; NULL and an error if it has none. */
static const char *
text_of_static(pith_scope *s, const char *function, const pithp_lens_place *p) {
    const pith_field *d = &p->field->declared;
    if (d->static_kind == PITH_STATIC_KIND_TEXT || pithp_static_of(d)->is_named)
        return pithp_static_read(d, p->node).text;
    pithp_fail(s, PITH_E_TYPE, NULL, "%s: '%.100s' is not a text, enum or dtype",
               function, d->name);
    return NULL;
}

const char *pith_lens_get_text(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_text";
    pithp_lens_place p;
    if (!find_place(s, lens, root, function, &p))
        return NULL;
    if (p.field)
        return text_of_static(s, function, &p);
    const pith_text *text = pithp_lens_text_of(p.node);
    if (!text)
        refuse_place(s, function, "a text", &p);
    return text ? text->text : NULL;
}
