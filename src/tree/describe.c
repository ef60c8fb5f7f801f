/* Values as short text: statics, sizes and first elements of leaves, for printing and
 * error messages. */
#include "tree/describe.h"

#include "tree/static_kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 60, MOST_NESTED = 3, MOST_VALUES = 6 };

/* The shortest decimal of at least 6 digits that reads back as the same number. */
void pithp_describe_f64(pithp_string *t, double value) {
    char text[32];
    int digits = 6;
    for (; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value || isnan(value))
            break;
    }
    pithp_string_add_number(t, digits, value);
}

/* Length of the common prefix of two texts that can be left out. */
static size_t same_bytes(const char *text, const char *other) {
    size_t same = 0;
    while (text[same] && text[same] == other[same])
        same++;
    same = same < MOST_TEXT / 2 ? 0 : same - MOST_TEXT / 4;
    while (same && (text[same] & 0xC0) == 0x80)
        same--; /* not inside a UTF-8 character */
    return same;
}

/* Quoted and escaped as a key of a path. Long texts lose their end and the prefix shared
 * with `other`, which may be NULL. */
static void add_quoted(pithp_string *t, const char *text, const char *other) {
    pithp_string key;
    size_t skipped = 0;
    pithp_string_begin(&key, t->rt);
    pithp_path_add_key(&key, text); /* ['...'] */
    if (key.length > MOST_TEXT + 2 && other && (skipped = same_bytes(text, other))) {
        key.length = 0;
        pithp_path_add_key(&key, text + skipped);
    }
    size_t n = key.failed ? 0 : key.length - 3;
    const bool cut = n >= MOST_TEXT;
    if (cut)
        for (n = MOST_TEXT - 1; (key.bytes[2 + n] & 0xC0) == 0x80;)
            n--; /* not inside a UTF-8 character */
    pithp_string_add(t, skipped ? "'..." : "'");
    pithp_string_add_n(t, key.bytes + 2, n);
    pithp_string_add(t, cut ? "...'" : "");
    pithp_string_end(&key);
}

static void add_static(pithp_string *t,
                       const pithp_field *field,
                       const void *record,
                       const void *other,
                       int nested);

/* The statics of a record without leaves: Box{x=1, y=2}. */
static void
add_record(pithp_string *t, const void *record, const void *other, int nested) {
    const pith_type *type = pithp_node_def_of(record)->type;
    pithp_string_print(t, "%s{", type->name);
    if (nested == MOST_NESTED)
        pithp_string_add(t, "...");
    for (int32_t i = 0; i < type->static_count && nested < MOST_NESTED; i++) {
        const pithp_field *field = &type->fields[type->statics[i].field];
        pithp_string_print(t, "%s%s=", i ? ", " : "", field->declared.name);
        add_static(t, field, record, other, nested + 1);
    }
    pithp_string_add(t, "}");
}

/* other: a record to compare with, or NULL. */
static void add_static(pithp_string *t,
                       const pithp_field *field,
                       const void *record,
                       const void *other,
                       int nested) {
    const pith_field *d = &field->declared;
    const pithp_static_value v = pithp_static_read(d, record);
    const pithp_static_value w =
        other ? pithp_static_read(d, other) : (pithp_static_value){0};
    if (pithp_static_of(d)->print)
        pithp_static_of(d)->print(t, &v);
    else if (v.text)
        add_quoted(t, v.text, w.text);
    else if (v.record)
        add_record(t, v.record, w.record, nested);
    else
        pithp_string_add(t, "NULL");
}

void pithp_static_describe(pithp_string *t,
                           const pithp_field *field,
                           const void *record) {
    add_static(t, field, record, NULL, 0);
}

void pithp_static_describe_beside(pithp_string *t,
                                  const pithp_field *field,
                                  const void *record,
                                  const void *other) {
    add_static(t, field, record, other, 0);
}

/* ---- Elements ---- */

static void add_element(pithp_string *t, pith_dtype dtype, const void *element) {
    if (dtype == PITH_BOOL)
        pithp_string_add(t, *(const uint8_t *)element ? "true" : "false");
    else if (pith_dtype_is_float(dtype))
        pithp_string_add_number(t, 6, pithp_dtype_decode(dtype, element));
    else
        pithp_string_add_element(t, dtype, element);
}

pith_status pithp_describe_elements(pith_scope *s, pithp_string *t, const pith_array *a) {
    const pith_spec *spec = pithp_array_spec(a);
    const size_t width = pith_dtype_size(spec->dtype);
    const int64_t shown = spec->count < MOST_VALUES ? spec->count : MOST_VALUES;
    unsigned char elements[MOST_VALUES * 8];
    pith_status rc = pithp_leaf_check(s, a, "pith_print", "leaf");
    if (rc == PITH_OK && shown)
        rc = pithp_copy_out(s, elements, a->data, (size_t)shown * width);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < shown; i++) {
        pithp_string_add(t, i ? " " : "");
        add_element(t, spec->dtype, elements + (size_t)i * width);
    }
    pithp_string_add(t, shown < spec->count ? " ..." : "");
    return PITH_OK;
}
