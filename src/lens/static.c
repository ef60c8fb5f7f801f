/* Statics as trees and numbers: what is got of them, and how they are written into a
 * struct that becomes a record. */
#include "lens/lens_internal.h"

#include <math.h>
#include <string.h>

/* ---- Getting ---- */

const void *
pithp_lens_static_get(pith_scope *s, const void *record, const pithp_field *field) {
    const pith_field *d = &field->declared;
    const char *at = (const char *)record + d->offset;
    int64_t i64;
    double f64;
    int number;
    const void *pointer;
    switch (d->static_kind) {
        case PITH_STATIC_I64:
            memcpy(&i64, at, sizeof i64);
            return pith_i64(pithp_on_behalf(s), i64);
        case PITH_STATIC_F64:
            memcpy(&f64, at, sizeof f64);
            return pith_f64(pithp_on_behalf(s), f64);
        case PITH_STATIC_BOOL:
            return pith_bool(pithp_on_behalf(s), *at != 0);
        case PITH_STATIC_CHOICE:
        case PITH_STATIC_DTYPE_:
            memcpy(&number, at, sizeof number);
            return pith_i64(pithp_on_behalf(s), number);
        case PITH_STATIC_RECORD_:
            memcpy(&pointer, at, sizeof pointer);
            return pointer;
        case PITH_STATIC_TEXT:
            memcpy(&pointer, at, sizeof pointer);
            return pith_text_make(pithp_on_behalf(s), pointer);
        case PITH_STATIC_NONE:
            break;
    }
    return NULL;
}

/* ---- Setting ---- */

static pith_status put_integer(pith_scope *s, char *at, const pith_field *d, int64_t i) {
    if (d->static_kind == PITH_STATIC_I64) {
        memcpy(at, &i, sizeof i);
        return PITH_OK;
    }
    /* An enum or dtype: freezing refuses numbers that are none. */
    const int number = i < INT32_MIN || i > INT32_MAX ? -1 : (int)i;
    memcpy(at, &number, sizeof number);
    return s->error.code;
}

static pith_status wrong_kind(pith_scope *s, const pith_field *d, const char *got) {
    static const char *const expected[] = {[PITH_STATIC_NONE] = "nothing",
                                           [PITH_STATIC_I64] = "an integer",
                                           [PITH_STATIC_F64] = "a number",
                                           [PITH_STATIC_BOOL] = "a bool",
                                           [PITH_STATIC_TEXT] = "a text (a pith_text)",
                                           [PITH_STATIC_CHOICE] = "a name or number of "
                                                                  "the enum",
                                           [PITH_STATIC_DTYPE_] = "a dtype",
                                           [PITH_STATIC_RECORD_] = "a record"};
    return pithp_fail(s, PITH_E_DTYPE, NULL, "expected %s, got %s",
                      expected[d->static_kind], got);
}

static pith_status
put_array(pith_scope *s, char *at, const pith_field *d, const pith_array *value) {
    const pith_spec *spec = pithp_array_spec(value);
    char text[PITHP_SPEC_TEXT_BYTES];
    const bool is_bool = spec->dtype == PITH_BOOL;
    if (d->static_kind == PITH_STATIC_TEXT)
        return wrong_kind(s, d, pithp_spec_print(spec, text));
    if (spec->rank)
        return pithp_fail(s, PITH_E_SHAPE, NULL,
                          "expected a number (an array of rank 0), got %s",
                          pithp_spec_print(spec, text));
    if (d->static_kind == PITH_STATIC_BOOL  ? !is_bool
        : d->static_kind == PITH_STATIC_F64 ? is_bool
                                            : !pith_dtype_is_integer(spec->dtype))
        return wrong_kind(s, d, pithp_spec_print(spec, text));
    if (d->static_kind == PITH_STATIC_BOOL) {
        const bool boolean = pith_read_bool(pithp_on_behalf(s), value);
        memcpy(at, &boolean, sizeof boolean);
    } else if (d->static_kind == PITH_STATIC_F64) {
        const double number = pith_read_f64(pithp_on_behalf(s), value);
        memcpy(at, &number, sizeof number);
    } else {
        const int64_t number = pith_read_i64(pithp_on_behalf(s), value);
        return s->error.code == PITH_OK ? put_integer(s, at, d, number) : s->error.code;
    }
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
    if (text && d->static_kind != PITH_STATIC_RECORD_)
        return pithp_lens_static_put_scalar(
            s, record, field,
            &(pithp_lens_scalar){.kind = PITH_STATIC_TEXT, .text = text->text});
    if (d->static_kind == PITH_STATIC_RECORD_) {
        const pith_status rc = pithp_lens_check_type(s, value, field->child);
        memcpy(at, &value, sizeof value);
        return rc;
    }
    if (pithp_kind_is_array(value))
        return put_array(s, at, d, value);
    pithp_text got;
    pithp_text_begin(&got, s->runtime);
    pithp_node_describe(&got, value);
    wrong_kind(s, d, got.bytes);
    pithp_text_end(&got);
    return s->error.code;
}

/* ---- Scalars ---- */

static pith_status
put_name(pith_scope *s, char *at, const pith_field *d, const char *text) {
    if (!text)
        return wrong_kind(s, d, "NULL");
    int number = -1;
    if (d->static_kind == PITH_STATIC_DTYPE_) {
        const pith_dtype dtype = pith_dtype_parse(text);
        number = dtype == PITH_DTYPE_NONE && strcmp(text, "none") != 0 ? -1 : (int)dtype;
    } else {
        for (int i = 0; d->names[i]; i++)
            if (strcmp(d->names[i], text) == 0)
                number = i;
    }
    if (number < 0)
        return pithp_fail(s, PITH_E_ARG, NULL, "'%.80s' is no %s", text,
                          d->static_kind == PITH_STATIC_DTYPE_ ? "dtype"
                                                               : "name of the enum");
    memcpy(at, &number, sizeof number);
    return PITH_OK;
}

pith_status pithp_lens_static_put_scalar(pith_scope *s,
                                         void *record,
                                         const pithp_field *field,
                                         const pithp_lens_scalar *scalar) {
    const pith_field *d = &field->declared;
    char *at = (char *)record + d->offset;
    const bool named =
        d->static_kind == PITH_STATIC_CHOICE || d->static_kind == PITH_STATIC_DTYPE_;
    if (scalar->kind == PITH_STATIC_TEXT && d->static_kind == PITH_STATIC_TEXT)
        memcpy(at, &scalar->text, sizeof scalar->text);
    else if (scalar->kind == PITH_STATIC_TEXT && named)
        return put_name(s, at, d, scalar->text);
    else if (scalar->kind == PITH_STATIC_I64 &&
             (named || d->static_kind == PITH_STATIC_I64))
        return put_integer(s, at, d, scalar->i64);
    else if (scalar->kind == PITH_STATIC_I64 && d->static_kind == PITH_STATIC_F64) {
        const double number = (double)scalar->i64;
        memcpy(at, &number, sizeof number);
    } else if (scalar->kind == PITH_STATIC_F64 && d->static_kind == PITH_STATIC_F64)
        memcpy(at, &scalar->f64, sizeof scalar->f64);
    else if (scalar->kind == PITH_STATIC_BOOL && d->static_kind == PITH_STATIC_BOOL)
        memcpy(at, &scalar->boolean, sizeof scalar->boolean);
    else
        return wrong_kind(s, d,
                          scalar->kind == PITH_STATIC_I64    ? "an integer"
                          : scalar->kind == PITH_STATIC_F64  ? "a number"
                          : scalar->kind == PITH_STATIC_BOOL ? "a bool"
                                                             : "a text");
    return PITH_OK;
}

const void *pithp_lens_scalar_tree(pith_scope *s, const pithp_lens_scalar *scalar) {
    if (scalar->kind == PITH_STATIC_I64)
        return pith_i64(pithp_on_behalf(s), scalar->i64);
    if (scalar->kind == PITH_STATIC_F64)
        return pith_f64(pithp_on_behalf(s), scalar->f64);
    if (scalar->kind == PITH_STATIC_BOOL)
        return pith_bool(pithp_on_behalf(s), scalar->boolean);
    return pith_text_make(pithp_on_behalf(s), scalar->text);
}

/* ---- Numbers without arrays ---- */

/* The static, or the tree, that a lens looks at. False: error set. */
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
    pithp_text got;
    pithp_text_begin(&got, s->runtime);
    pithp_node_describe(&got, place->node);
    pithp_fail(s, PITH_E_TYPE, NULL, "%s: expected %s, got %s", function, wanted,
               got.bytes);
    pithp_text_end(&got);
}

/* The same of a number: a static or an array. */
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
    const char *at = (const char *)p.node + d->offset;
    int64_t i64 = 0;
    int number;
    if (d->static_kind == PITH_STATIC_I64) {
        memcpy(&i64, at, sizeof i64);
    } else if (d->static_kind == PITH_STATIC_CHOICE ||
               d->static_kind == PITH_STATIC_DTYPE_) {
        memcpy(&number, at, sizeof number);
        i64 = number;
    } else {
        fail_number(s, function, d, "integer");
    }
    return i64;
}

double pith_lens_get_f64(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_f64";
    pithp_lens_place p;
    if (!find_number(s, lens, root, function, &p))
        return 0;
    if (!p.field)
        return pith_read_f64(pithp_on_behalf(s), p.node);
    const pith_field *d = &p.field->declared;
    const char *at = (const char *)p.node + d->offset;
    int64_t i64;
    double f64 = 0;
    if (d->static_kind == PITH_STATIC_F64) {
        memcpy(&f64, at, sizeof f64);
    } else if (d->static_kind == PITH_STATIC_I64) {
        memcpy(&i64, at, sizeof i64);
        f64 = (double)i64;
    } else {
        fail_number(s, function, d, "number");
    }
    return f64;
}

bool pith_lens_get_bool(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_get_bool";
    pithp_lens_place p;
    if (!find_number(s, lens, root, function, &p))
        return false;
    if (!p.field)
        return pith_read_bool(pithp_on_behalf(s), p.node);
    const pith_field *d = &p.field->declared;
    if (d->static_kind == PITH_STATIC_BOOL)
        return *((const char *)p.node + d->offset) != 0;
    fail_number(s, function, d, "bool");
    return false;
}

/* The text of a static; NULL and an error where it has none. */
static const char *
text_of_static(pith_scope *s, const char *function, const pithp_lens_place *p) {
    const pith_field *d = &p->field->declared;
    const char *at = (const char *)p->node + d->offset, *text;
    int number;
    if (d->static_kind == PITH_STATIC_TEXT) {
        memcpy(&text, at, sizeof text);
        return text;
    }
    if (d->static_kind != PITH_STATIC_CHOICE && d->static_kind != PITH_STATIC_DTYPE_) {
        pithp_fail(s, PITH_E_TYPE, NULL, "%s: '%.100s' is no text, enum or dtype",
                   function, d->name);
        return NULL;
    }
    memcpy(&number, at, sizeof number);
    return d->static_kind == PITH_STATIC_CHOICE ? d->names[number]
                                                : pith_dtype_name((pith_dtype)number);
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
