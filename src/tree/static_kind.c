/* Operations of static fields by kind: reading, writing, conversion, canonical form,
 * equality, hash, text and initial values. A new kind is a row of the table at the end.
 */
#include "tree/static_kind.h"

#include "tree/describe.h"
#include "tree/node_def_internal.h"
#include "tree/type_internal.h"

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

static bool is_whole(double value, double least, double beyond) {
    return value >= least && value < beyond && value == floor(value);
}

/* ---- Members stored as one member of the value ---- */

#define MEMBER(kind, part)                                                               \
    static void read_##kind(const pith_field *d, const void *member,                     \
                            pithp_static_value *v) {                                     \
        (void)d;                                                                         \
        memcpy(&v->part, member, sizeof v->part);                                        \
    }                                                                                    \
    static void write_##kind(const pithp_static_value *v, void *member) {                \
        memcpy(member, &v->part, sizeof v->part);                                        \
    }

MEMBER(i64, i64)
MEMBER(f64, f64)
MEMBER(text, text)
MEMBER(record, record)

/* ---- i64 ---- */

static void print_i64(pithp_string *t, const pithp_static_value *v) {
    pithp_string_print(t, "%lld", (long long)v->i64);
}

static void check_initial_i64(pith_type *t, const pith_field *d) {
    if (!is_whole(d->options.initial, -0x1p63, 0x1p63))
        pithp_type_refuse(t, d->name, "the initial value %g is not an int64_t",
                          d->options.initial);
}

/* ---- f64 ---- */

static bool
convert_f64(const pith_field *d, const pithp_static_value *from, pithp_static_value *to) {
    (void)d;
    to->f64 = from->kind == PITH_STATIC_KIND_I64 ? (double)from->i64 : from->f64;
    return from->kind == PITH_STATIC_KIND_I64 || from->kind == PITH_STATIC_KIND_F64;
}

static pith_status
canonicalise_f64(pith_scope *s, const pithp_field *f, const char *member, char *to) {
    (void)s;
    (void)f;
    double number;
    memcpy(&number, member, sizeof number);
    if (isnan(number))
        number = (double)NAN;
    memcpy(to, &number, sizeof number);
    return PITH_OK;
}

static bool equal_f64(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (isnan(x) && isnan(y)) || memcmp(a, b, sizeof x) == 0;
}

static void print_f64(pithp_string *t, const pithp_static_value *v) {
    pithp_describe_f64(t, v->f64);
}

/* ---- bool ---- */

static void read_bool(const pith_field *d, const void *member, pithp_static_value *v) {
    (void)d;
    v->i64 = *(const unsigned char *)member != 0;
}

static void write_bool(const pithp_static_value *v, void *member) {
    *(unsigned char *)member = v->i64 != 0;
}

static pith_status
canonicalise_bool(pith_scope *s, const pithp_field *f, const char *member, char *to) {
    (void)s;
    (void)f;
    *to = *member != 0;
    return PITH_OK;
}

static void print_bool(pithp_string *t, const pithp_static_value *v) {
    pithp_string_add(t, v->i64 ? "true" : "false");
}

static void check_initial_bool(pith_type *t, const pith_field *d) {
    if (!is_whole(d->options.initial, 0, 2))
        pithp_type_refuse(t, d->name, "the initial value %g is not a bool",
                          d->options.initial);
}

/* ---- Texts ---- */

static bool equal_text(const void *a, const void *b) {
    const char *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y || (x && y && strcmp(x, y) == 0);
}

static uint64_t hash_text(uint64_t seed, const void *member) {
    const char *text;
    memcpy(&text, member, sizeof text);
    return text ? pithp_hash(seed, text, strlen(text) + 1) : seed + 1;
}

static void check_initial_text(pith_type *t, const pith_field *d) {
    if (d->options.initial < 0 || d->options.initial > 0)
        pithp_type_refuse(t, d->name, "a string takes .initial_text, not .initial");
}

/* ---- Enums and dtypes: integers with names ---- */

_Static_assert(sizeof(pith_dtype) == sizeof(int), "a dtype is stored as an enum");

static int count_names(const pith_field *d) {
    int count = 0;
    while (d->names && d->names[count])
        count++;
    return count;
}

static void read_enum(const pith_field *d, const void *member, pithp_static_value *v) {
    int number;
    memcpy(&number, member, sizeof number);
    v->i64 = number;
    v->text = number >= 0 && number < count_names(d) ? d->names[number] : NULL;
}

static void read_dtype(const pith_field *d, const void *member, pithp_static_value *v) {
    pith_dtype dtype;
    (void)d;
    memcpy(&dtype, member, sizeof dtype);
    v->i64 = dtype;
    v->text = pith_dtype_name(dtype);
}

static void write_named(const pithp_static_value *v, void *member) {
    const int number = v->i64 < INT32_MIN || v->i64 > INT32_MAX ? -1 : (int)v->i64;
    memcpy(member, &number, sizeof number);
}

static int64_t enum_number(const pith_field *d, const char *name) {
    for (int i = 0; i < count_names(d); i++)
        if (strcmp(d->names[i], name) == 0)
            return i;
    return -1;
}

static int64_t dtype_number(const char *name) {
    const pith_dtype dtype = pith_dtype_parse(name);
    return dtype == PITH_DTYPE_NONE && strcmp(name, "none") != 0 ? -1 : (int64_t)dtype;
}

static bool convert_enum(const pith_field *d,
                         const pithp_static_value *from,
                         pithp_static_value *to) {
    const bool text = from->kind == PITH_STATIC_KIND_TEXT && from->text;
    to->i64 = text ? enum_number(d, from->text) : from->i64;
    return text || from->kind == PITH_STATIC_KIND_I64;
}

static bool convert_dtype(const pith_field *d,
                          const pithp_static_value *from,
                          pithp_static_value *to) {
    const bool text = from->kind == PITH_STATIC_KIND_TEXT && from->text;
    (void)d;
    to->i64 = text ? dtype_number(from->text) : from->i64;
    return text || from->kind == PITH_STATIC_KIND_I64;
}

static pith_status
canonicalise_enum(pith_scope *s, const pithp_field *f, const char *member, char *to) {
    const pith_field *d = &f->declared;
    const int count = count_names(d);
    int choice;
    memcpy(&choice, member, sizeof choice);
    if (choice < 0 || choice >= count)
        return refuse_static(s, d, "expected 0 to %d (%s to %s), got %d", count - 1,
                             d->names[0], d->names[count - 1], choice);
    memcpy(to, member, sizeof choice);
    return PITH_OK;
}

static pith_status
canonicalise_dtype(pith_scope *s, const pithp_field *f, const char *member, char *to) {
    int dtype;
    memcpy(&dtype, member, sizeof dtype);
    if (dtype < 0 || dtype >= PITH_DTYPE_COUNT)
        return refuse_static(s, &f->declared, "invalid dtype %d", dtype);
    memcpy(to, member, sizeof dtype);
    return PITH_OK;
}

static void print_named(pithp_string *t, const pithp_static_value *v) {
    if (v->text)
        pithp_string_add(t, v->text);
    else
        print_i64(t, v);
}

static void check_initial_enum(pith_type *t, const pith_field *d) {
    const int count = count_names(d);
    if (count < 1)
        pithp_type_refuse(t, d->name, "an enum needs names of its values");
    else if (!is_whole(d->options.initial, 0, count))
        pithp_type_refuse(t, d->name, "the initial value %g is not among the %d names",
                          d->options.initial, count);
}

static void check_initial_dtype(pith_type *t, const pith_field *d) {
    if (!is_whole(d->options.initial, 0, PITH_DTYPE_COUNT))
        pithp_type_refuse(t, d->name, "the initial value %g is not a dtype",
                          d->options.initial);
}

/* ---- Records without leaves ---- */

/* The node definition of a record in a static field: a frozen record, or the initial
 * values of a type. NULL sets the error. */
static const pithp_node_def *
shape_of_record(pith_scope *s, const pithp_field *f, const void *record) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(record, &block);
    if (verdict != PITHP_POINTER_OK) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      record ? "a pointer that is " : "", pithp_pointer_text(verdict));
        return NULL;
    }
    const pithp_header *h = pithp_header_of(record);
    const pithp_node_def *node_def = h->kind == PITHP_KIND_RECORD ? h->descriptor : NULL;
    if (!node_def || node_def->type != f->child ||
        ((h->flags & PITHP_FLAG_NIL) && !(h->flags & PITHP_FLAG_INITIAL))) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      node_def && node_def->type == f->child
                          ? "the nil record of a failed call: "
                      : node_def ? "another record: "
                                 : "an object that is not a record",
                      node_def ? node_def->type->name : "");
        return NULL;
    }
    /* By value: equal statics give the same node definition, in any scope. */
    return pithp_node_def_record(s, f->child, record);
}

static pith_status
canonicalise_record(pith_scope *s, const pithp_field *f, const char *member, char *to) {
    const void *record;
    memcpy(&record, member, sizeof record);
    const pithp_node_def *node_def = shape_of_record(s, f, record);
    if (!node_def)
        return s->error.code;
    memcpy(to, &node_def, sizeof node_def);
    return PITH_OK;
}

/* ---- The table ---- */

const pithp_static_operations pithp_static_kinds[] = {
    [PITH_STATIC_KIND_NONE] = {.name = "none", .expected = "nothing"},
    [PITH_STATIC_KIND_I64] = {.name = "i64",
                              .expected = "an integer",
                              .size = sizeof(int64_t),
                              .is_number = true,
                              .read = read_i64,
                              .write = write_i64,
                              .print = print_i64,
                              .check_initial = check_initial_i64},
    [PITH_STATIC_KIND_F64] = {.name = "f64",
                              .expected = "a number",
                              .size = sizeof(double),
                              .is_number = true,
                              .read = read_f64,
                              .write = write_f64,
                              .convert = convert_f64,
                              .canonicalise = canonicalise_f64,
                              .equal = equal_f64,
                              .print = print_f64},
    [PITH_STATIC_KIND_BOOL] = {.name = "bool",
                               .expected = "a bool",
                               .size = sizeof(bool),
                               .is_number = true,
                               .read = read_bool,
                               .write = write_bool,
                               .canonicalise = canonicalise_bool,
                               .print = print_bool,
                               .check_initial = check_initial_bool},
    [PITH_STATIC_KIND_TEXT] = {.name = "text",
                               .expected = "a text (a pith_text)",
                               .size = sizeof(const char *),
                               .read = read_text,
                               .write = write_text,
                               .equal = equal_text,
                               .hash = hash_text,
                               .check_initial = check_initial_text},
    [PITH_STATIC_KIND_ENUM] = {.name = "enum",
                               .expected = "a name or number of the enum",
                               .size = sizeof(int),
                               .is_named = true,
                               .read = read_enum,
                               .write = write_named,
                               .convert = convert_enum,
                               .canonicalise = canonicalise_enum,
                               .print = print_named,
                               .check_initial = check_initial_enum},
    [PITH_STATIC_KIND_DTYPE] = {.name = "dtype",
                                .expected = "a dtype",
                                .size = sizeof(pith_dtype),
                                .is_named = true,
                                .read = read_dtype,
                                .write = write_named,
                                .convert = convert_dtype,
                                .canonicalise = canonicalise_dtype,
                                .print = print_named,
                                .check_initial = check_initial_dtype},
    [PITH_STATIC_KIND_RECORD] = {.name = "record",
                                 .expected = "a record",
                                 .size = sizeof(const void *),
                                 .read = read_record,
                                 .write = write_record,
                                 .canonicalise = canonicalise_record},
};

/* ---- Defaults ---- */

bool pithp_static_convert(const pith_field *d,
                          const pithp_static_value *from,
                          pithp_static_value *to) {
    if (pithp_static_of(d)->convert)
        return pithp_static_of(d)->convert(d, from, to);
    *to = *from;
    return from->kind == d->static_kind;
}

pith_status pithp_static_canonicalise(pith_scope *s,
                                      const pithp_field *f,
                                      const char *member,
                                      char *to) {
    const pithp_static_operations *kind = pithp_static_of(&f->declared);
    if (kind->canonicalise)
        return kind->canonicalise(s, f, member, to);
    memcpy(to, member, kind->size);
    return PITH_OK;
}

bool pithp_static_equal(pith_static_kind kind, const void *a, const void *b) {
    const pithp_static_operations *of = &pithp_static_kinds[kind];
    return of->equal ? of->equal(a, b) : memcmp(a, b, of->size) == 0;
}

uint64_t pithp_static_hash(pith_static_kind kind, uint64_t seed, const void *member) {
    const pithp_static_operations *of = &pithp_static_kinds[kind];
    return of->hash ? of->hash(seed, member) : pithp_hash(seed, member, of->size);
}

pithp_static_value pithp_static_initial(const pithp_field *f) {
    const pith_field_options *o = &f->declared.options;
    pithp_static_value v = {.kind = f->declared.static_kind,
                            .f64 = o->initial,
                            .text = o->initial_text,
                            .record = f->child ? f->child->initial : NULL};
    if (v.kind != PITH_STATIC_KIND_F64)
        v.i64 = (int64_t)o->initial;
    return v;
}

pith_static_kind pithp_static_kind_named(const char *name) {
    for (int i = PITH_STATIC_KIND_NONE + 1; i < PITHP_COUNT(pithp_static_kinds); i++)
        if (strcmp(pithp_static_kinds[i].name, name) == 0)
            return (pith_static_kind)i;
    return PITH_STATIC_KIND_NONE;
}
