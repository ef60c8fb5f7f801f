/* Leaf spec parser: "f64[n,3]", "float[2*n,^width+1]", "any[...]". The grammar is in
 * node.h.
 *   spec   := dtype [ "[" ( "..." | extent { "," extent } ) "]" ]
 *   extent := [ number "*" ] [ "^" ] name [ "+" number ] | number */
#include "base/format.h"
#include "tree/node_internal.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    pithp_spec_reader *reader;
    const char *text, *next;
} cursor;

PITH_FORMAT(2, 3) static bool refuse(pithp_spec_reader *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(r->reason, sizeof r->reason, format, arguments);
    va_end(arguments);
    return false;
}

static void skip_blanks(cursor *c) {
    while (*c->next == ' ')
        c->next++;
}

static bool take(cursor *c, char wanted) {
    skip_blanks(c);
    if (*c->next != wanted)
        return false;
    c->next++;
    return true;
}

static bool starts_name(char ch) {
    return isalpha((unsigned char)ch) || ch == '_';
}

/* Read a name, dots included (box.x); returns its length, or 0. */
static size_t take_name(cursor *c, const char **name) {
    skip_blanks(c);
    *name = c->next;
    if (!starts_name(*c->next))
        return 0;
    while (isalnum((unsigned char)*c->next) || *c->next == '_' ||
           (*c->next == '.' && starts_name(c->next[1])))
        c->next++;
    return (size_t)(c->next - *name);
}

static bool take_number(cursor *c, int64_t *number) {
    skip_blanks(c);
    if (!isdigit((unsigned char)*c->next))
        return refuse(c->reader, "\"%s\": expected a number or a name at \"%s\"", c->text,
                      c->next);
    *number = 0;
    for (; isdigit((unsigned char)*c->next); c->next++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, *c->next - '0', number))
            return refuse(c->reader, "\"%s\": a number is too large", c->text);
    return true;
}

/* The static field of that name, or -1. */
static int32_t find_static(const pithp_spec_reader *r, const char *name, size_t length) {
    for (size_t i = 0; i < r->field_count; i++)
        if (r->fields[i].kind == PITH_FIELD_STATIC &&
            strlen(r->fields[i].name) == length &&
            memcmp(r->fields[i].name, name, length) == 0)
            return (int32_t)i;
    return -1;
}

static bool
add_name(pithp_spec_reader *r, const char *name, size_t length, int32_t *index) {
    const char *interned = pithp_name_intern(name, length);
    if (!interned) {
        r->short_of_memory = true;
        return refuse(r, "out of memory");
    }
    for (*index = 0; *index < r->name_count; ++*index)
        if (r->names[*index] == interned)
            return true;
    if (r->name_count == PITHP_MOST_NAMES)
        return refuse(r, "more than %d names of extents", PITHP_MOST_NAMES);
    r->names[r->name_count++] = interned;
    return true;
}

static bool parse_named(cursor *c, pithp_extent *e) {
    pithp_spec_reader *r = c->reader;
    const bool outer = take(c, '^');
    const char *name;
    const size_t length = take_name(c, &name);
    if (!length)
        return refuse(r, "\"%s\": expected a name at \"%s\"", c->text, c->next);
    const int32_t field = outer ? -1 : find_static(r, name, length);
    if (field >= 0) {
        if (r->fields[field].static_kind != PITH_STATIC_KIND_I64)
            return refuse(r,
                          "\"%s\": the static %s is not an int64_t, so it cannot be "
                          "an extent",
                          c->text, r->fields[field].name);
        e->kind = PITHP_EXTENT_STATIC;
        e->name = field;
    } else {
        e->kind = outer ? PITHP_EXTENT_OUTER : PITHP_EXTENT_NAME;
        if (!add_name(r, name, length, &e->name))
            return false;
    }
    return !take(c, '+') || take_number(c, &e->plus);
}

static bool parse_extent(cursor *c, pithp_extent *e) {
    *e = (pithp_extent){.times = 1};
    skip_blanks(c);
    if (*c->next == '^' || starts_name(*c->next))
        return parse_named(c, e);
    int64_t number;
    if (!take_number(c, &number))
        return false;
    if (!take(c, '*')) {
        *e = (pithp_extent){.kind = PITHP_EXTENT_NUMBER, .times = 1, .plus = number};
        return true;
    }
    if (number == 0)
        return refuse(c->reader, "\"%s\": 0 times a name is not an extent", c->text);
    e->times = number;
    return parse_named(c, e);
}

static bool parse_dtype(cursor *c, pithp_leaf_spec *spec) {
    pithp_spec_reader *r = c->reader;
    const char *name;
    const size_t length = take_name(c, &name);
    char word[16] = "";
    if (length && length < sizeof word)
        memcpy(word, name, length);
    spec->dtype = pith_dtype_parse(word);
    const int32_t field = find_static(r, name, length);
    if (spec->dtype != PITH_DTYPE_NONE) {
        spec->rule = PITHP_DTYPE_FIXED;
    } else if (strcmp(word, "float") == 0) {
        spec->rule = PITHP_DTYPE_FLOAT;
    } else if (strcmp(word, "any") == 0) {
        spec->rule = PITHP_DTYPE_ANY;
    } else if (length && field >= 0) {
        if (r->fields[field].static_kind != PITH_STATIC_KIND_DTYPE)
            return refuse(r, "\"%s\": the static %s is not a pith_dtype", c->text,
                          r->fields[field].name);
        spec->rule = PITHP_DTYPE_STATIC;
        spec->dtype_field = field;
    } else if (!length) {
        return refuse(r, "\"%s\": expected a dtype first", c->text);
    } else {
        return refuse(r, "\"%s\": no dtype or static has the name \"%.*s\"", c->text,
                      (int)(length < 64 ? length : 64), name);
    }
    return true;
}

bool pithp_leaf_spec_parse(pithp_spec_reader *r,
                           const char *text,
                           pithp_leaf_spec *spec) {
    cursor c = {r, text, text};
    *spec = (pithp_leaf_spec){.dtype_field = -1};
    r->reason[0] = 0;
    if (!parse_dtype(&c, spec))
        return false;
    if (take(&c, '[')) {
        skip_blanks(&c);
        if (strncmp(c.next, "...", 3) == 0) {
            c.next += 3;
            spec->any_shape = true;
        } else if (*c.next != ']') {
            do {
                if (spec->rank == PITH_MAX_RANK)
                    return refuse(r, "\"%s\": more than %d extents", text, PITH_MAX_RANK);
                if (!parse_extent(&c, &spec->extents[spec->rank++]))
                    return false;
            } while (take(&c, ','));
        }
        if (!take(&c, ']'))
            return refuse(r, "\"%s\": expected \",\" or \"]\" at \"%s\"", text, c.next);
    }
    skip_blanks(&c);
    if (*c.next)
        return refuse(r, "\"%s\": unexpected \"%s\" at the end", text, c.next);
    return true;
}
