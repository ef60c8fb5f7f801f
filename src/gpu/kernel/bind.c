/* Kernel binding: checks the arguments of a launch against the kernel's declaration.
 *
 * Extents are declared as "[e,e,...]" with e a number or [k*]name[+c|-c]. The first array
 * with a name binds its value; every later use must agree. */
#include "gpu/kernel/kernel_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One extent: scale * name + offset; or the offset only. */
typedef struct extent {
    const char *name;
    int length;
    int64_t scale, offset;
} extent;

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static const char *skip_spaces(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

static const char *parse_number(const char *p, int64_t *number) {
    if (!is_digit(*p))
        return NULL;
    for (*number = 0; is_digit(*p); p++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, *p - '0', number))
            return NULL;
    return skip_spaces(p);
}

/* Parse one extent. Returns the end of it, or NULL. */
static const char *parse_extent(const char *p, extent *e) {
    *e = (extent){NULL, 0, 1, 0};
    p = skip_spaces(p);
    if (is_digit(*p)) {
        int64_t number = 0;
        if (!(p = parse_number(p, &number)))
            return NULL;
        if (*p != '*') {
            e->offset = number;
            return p;
        }
        if (number == 0)
            return NULL;
        e->scale = number;
        p = skip_spaces(p + 1);
    }
    if (!is_name_start(*p))
        return NULL;
    for (e->name = p; is_name_start(*p) || is_digit(*p); p++)
        e->length++;
    p = skip_spaces(p);
    if (*p == '+' || *p == '-') {
        const bool minus = *p == '-';
        if (!(p = parse_number(skip_spaces(p + 1), &e->offset)))
            return NULL;
        if (minus)
            e->offset = -e->offset;
    }
    return p;
}

/* Parse "[e,e,...]". Returns the rank, or -1 for invalid text. */
static int parse_extents(const char *p, extent extents[PITH_MAX_RANK]) {
    int rank = 0;
    p = skip_spaces(p);
    if (*p++ != '[')
        return -1;
    p = skip_spaces(p);
    if (*p == ']')
        return p[1] ? -1 : 0;
    for (;;) {
        if (rank == PITH_MAX_RANK || !(p = parse_extent(p, &extents[rank])))
            return -1;
        rank++;
        if (*p == ']')
            return p[1] ? -1 : rank;
        if (*p++ != ',')
            return -1;
    }
}

static pithp_kernel_name *
find_name(pithp_kernel_binding *b, const char *text, int length) {
    for (int i = 0; i < b->name_count; i++)
        if (b->names[i].length == length &&
            memcmp(b->names[i].text, text, (size_t)length) == 0)
            return &b->names[i];
    return NULL;
}

static bool add_name(pithp_kernel_binding *b,
                     const char *text,
                     int length,
                     int binder,
                     int64_t value) {
    if (b->name_count == PITHP_KERNEL_NAMES)
        return false;
    b->names[b->name_count++] = (pithp_kernel_name){text, length, binder, value};
    return true;
}

/* The value of an extent whose name is bound. */
static bool evaluate(pithp_kernel_binding *b, const extent *e, int64_t *value) {
    *value = e->offset;
    if (!e->name)
        return true;
    const pithp_kernel_name *name = find_name(b, e->name, e->length);
    int64_t product = 0;
    return name && !__builtin_mul_overflow(name->value, e->scale, &product) &&
           !__builtin_add_overflow(product, e->offset, value);
}

/* Whether an extent of an input array matches `got`; binds an unbound name. */
static bool match(pithp_kernel_binding *b, const extent *e, int argument, int64_t got) {
    int64_t value = 0;
    if (!e->name || find_name(b, e->name, e->length))
        return evaluate(b, e, &value) && value == got;
    int64_t rest = 0;
    if (__builtin_sub_overflow(got, e->offset, &rest) || rest < 0 || rest % e->scale)
        return false;
    return add_name(b, e->name, e->length, argument, rest / e->scale);
}

/* Print the declaration of an array argument, with the values of names bound by other
 * arguments: "f64[n=256,3]". */
static const char *declared_text(const pithp_kernel_binding *b,
                                 int argument,
                                 char text[PITHP_SPEC_TEXT_BYTES]) {
    const pith_kernel_arg *arg = &b->kernel->args[argument];
    const size_t room = PITHP_SPEC_TEXT_BYTES;
    size_t at = 0;
    const int head = snprintf(text, room, "%s", pith_dtype_name(arg->dtype));
    at = head > 0 ? (size_t)head : 0;
    for (const char *p = arg->extents; *p && at + 1 < room;) {
        const char *start = p;
        if (is_name_start(*p))
            while (is_name_start(*p) || is_digit(*p))
                p++;
        else
            p++;
        const int length = (int)(p - start);
        const pithp_kernel_name *name = NULL;
        for (int i = 0; i < b->name_count; i++)
            if (b->names[i].length == length && b->names[i].binder != argument &&
                memcmp(b->names[i].text, start, (size_t)length) == 0)
                name = &b->names[i];
        const int wrote = name ? snprintf(text + at, room - at, "%.*s=%" PRId64, length,
                                          start, name->value)
                               : snprintf(text + at, room - at, "%.*s", length, start);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return text;
}

/* Set e and evaluate to the code. */
#define REFUSE(e, code, ...) (pithp_error_set(e, code, NULL, NULL, __VA_ARGS__), (code))

static pith_status fail_declaration(pithp_error *e,
                                    const pith_kernel_variant *k,
                                    const char *name,
                                    const char *text) {
    return REFUSE(e, PITH_E_ARG,
                  "%s: %s: the declared extents \"%s\" are malformed, or use "
                  "more than %d names",
                  k->name, name, text, (int)PITHP_KERNEL_NAMES);
}

/* Check an input array against its declaration. */
static pith_status bind_given(pithp_error *e, pithp_kernel_binding *b, int argument) {
    const pith_kernel_arg *arg = &b->kernel->args[argument];
    const pith_spec *spec = b->specs[argument];
    extent extents[PITH_MAX_RANK];
    const int rank = parse_extents(arg->extents, extents);
    if (rank < 0)
        return fail_declaration(e, b->kernel, arg->name, arg->extents);
    bool fits = rank == spec->rank;
    for (int i = 0; fits && i < rank; i++)
        fits = match(b, &extents[i], argument, spec->shape[i]);
    if (fits && spec->dtype == arg->dtype)
        return PITH_OK;
    char expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    return REFUSE(e, fits ? PITH_E_DTYPE : PITH_E_SHAPE, "%s: %s: expected %s, got %s",
                  b->kernel->name, arg->name, declared_text(b, argument, expected),
                  pithp_spec_print(spec, got));
}

/* Compute the spec of an output array. */
static pith_status bind_out(pithp_error *e, pithp_kernel_binding *b, int argument) {
    const pith_kernel_arg *arg = &b->kernel->args[argument];
    extent extents[PITH_MAX_RANK];
    int64_t shape[PITH_MAX_RANK];
    const int rank = parse_extents(arg->extents, extents);
    if (rank < 0)
        return fail_declaration(e, b->kernel, arg->name, arg->extents);
    for (int i = 0; i < rank; i++) {
        if (extents[i].name && !find_name(b, extents[i].name, extents[i].length))
            return REFUSE(e, PITH_E_ARG,
                          "%s: %s: no argument gives the extent %.*s of %s",
                          b->kernel->name, arg->name, extents[i].length, extents[i].name,
                          arg->extents);
        if (!evaluate(b, &extents[i], &shape[i]) || shape[i] < 0) {
            char declared[PITHP_SPEC_TEXT_BYTES];
            return REFUSE(
                e, PITH_E_SHAPE, "%s: %s: extent %d of %s is negative or overflows",
                b->kernel->name, arg->name, i, declared_text(b, argument, declared));
        }
    }
    pith_spec *made = &b->made[argument];
    *made = (pith_spec){.dtype = arg->dtype, .rank = rank};
    memcpy(made->shape, shape, (size_t)rank * sizeof *shape);
    b->specs[argument] = made;
    return PITH_OK;
}

static pith_status bind_over(pithp_error *e, pithp_kernel_binding *b) {
    int64_t bounds[2] = {1, 1}, count = 0;
    for (int i = 0; i < 2 && b->kernel->over[i]; i++) {
        const char *text = b->kernel->over[i];
        extent x;
        const char *rest = parse_extent(text, &x);
        if (!rest || *rest)
            return fail_declaration(e, b->kernel, "over", text);
        if (!evaluate(b, &x, &bounds[i]) || bounds[i] < 0)
            return REFUSE(e, PITH_E_ARG,
                          "%s: over: no argument gives %s, or it is negative",
                          b->kernel->name, text);
    }
    if (__builtin_mul_overflow(bounds[0], bounds[1], &count))
        return REFUSE(e, PITH_E_OVERFLOW,
                      "%s: over: %" PRId64 " times %" PRId64 " indices overflow",
                      b->kernel->name, bounds[0], bounds[1]);
    b->n = bounds[0];
    b->m = bounds[1];
    return PITH_OK;
}

pith_status pithp_kernel_bind(pithp_kernel_binding *b, pithp_error *e) {
    const pith_kernel_variant *k = b->kernel;
    pith_status rc = PITH_OK;
    b->name_count = 0;
    for (int i = 0; i < k->arg_count; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        const int64_t value = b->operands[i].integer;
        if (arg->role != PITH_ROLE_EXTENT)
            continue;
        if (value < 0)
            return REFUSE(e, PITH_E_ARG, "%s: %s: extent %" PRId64 " is negative",
                          k->name, arg->name, value);
        if (!add_name(b, arg->name, (int)strlen(arg->name), i, value))
            return fail_declaration(e, k, arg->name, arg->name);
    }
    for (int i = 0; i < k->arg_count && rc == PITH_OK; i++)
        if (pithp_kernel_is_given(k->args[i].role))
            rc = bind_given(e, b, i);
    for (int i = 0; i < k->arg_count && rc == PITH_OK; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        if (arg->role == PITH_ROLE_OUT)
            rc = bind_out(e, b, i);
        else if (arg->role == PITH_ROLE_SIZE &&
                 !find_name(b, arg->name, (int)strlen(arg->name)))
            rc = REFUSE(e, PITH_E_ARG, "%s: size(%s): no argument gives it", k->name,
                        arg->name);
    }
    return rc == PITH_OK ? bind_over(e, b) : rc;
}
