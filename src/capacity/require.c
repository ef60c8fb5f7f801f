/* Requirements as assertions: a predicate on the device, with the requirement as the
 * argument of its fix. The collector, or the stream if there is none, keeps the data for
 * the message. */
#include "assert/assert_internal.h"
#include "capacity/capacity_internal.h"

#include <math.h>
#include <string.h>

/* ---- The predicate ---- */

/* The largest value of a dtype that does not exceed a size. The requirement is compared
 * in its own dtype, exactly: integers and floats of up to 8 bytes. */
static void bound_of(pith_dtype dtype, int64_t size, unsigned char element[8]) {
    const size_t bytes = pith_dtype_size(dtype);
    memset(element, 0, 8);
    if (!pith_dtype_is_float(dtype)) {
        const int bits = 8 * (int)bytes - pithp_dtype_is_signed(dtype);
        const int64_t most = bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
        const int64_t bound = size < most ? size : most;
        memcpy(element, &bound, bytes);
        return;
    }
    /* Start with a float below the size, then increase it while it does not exceed the
     * size. */
    double low = (double)size;
    if (low >= 0x1p63 || (int64_t)low > size)
        low = nextafter(low, 0);
    pithp_dtype_encode(dtype, low, element);
    while (!(pithp_dtype_decode(dtype, element) <= low)) {
        uint64_t bits = 0; /* adjacent positive floats have adjacent bit patterns */
        memcpy(&bits, element, bytes);
        bits--;
        memcpy(element, &bits, bytes);
    }
}

/* Bounds of the sizes in the dtype of a requirement: rank 0 for one size, else [n]. */
static const pith_array *
bounds_of(pith_scope *s, const pith_capacity *c, pith_dtype dtype) {
    unsigned char few[8 * 8];
    const size_t width = pith_dtype_size(dtype), bytes = (size_t)c->count * width;
    unsigned char *elements = bytes <= sizeof few ? few : pithp_scope_allocate(s, bytes);
    const pith_spec *spec = pithp_spec(s, dtype, c->one ? 0 : 1, &c->count);
    pith_array *bounds = elements && spec ? pithp_array_make(s, spec) : NULL;
    for (int64_t i = 0; bounds && i < c->count; i++) {
        unsigned char element[8];
        bound_of(dtype, pithp_capacity_size(c, i), element);
        memcpy(elements + (size_t)i * width, element, width);
    }
    return bounds && pithp_copy_in(s, bounds->data, elements, bytes) == PITH_OK ? bounds
                                                                                : NULL;
}

/* ---- With a collector: an assertion with a fix ---- */

static const pith_capacity *capacity_of(const void *closure) {
    return *(const pith_capacity *const *)closure;
}

static pith_status print(pithp_stream *st,
                         const pith_assertion *a,
                         const void *closure,
                         pithp_string *t,
                         pithp_error *e) {
    /* fix argument; of a loop, the greatest requirement */
    const pith_array *required = a->fix_args;
    const pith_spec *spec = required ? pithp_array_spec(required) : a->args[0].spec;
    const void *data = required ? required->data : a->args[0].data;
    return pithp_required_describe(st, capacity_of(closure), spec, data, t, e);
}

static const void *
repair(pith_scope *s, const void *root, const void *args, const void *closure) {
    return pithp_capacity_repair(s, capacity_of(closure), root, args, true);
}

static pith_status keep(pith_scope *owner, void *closure) {
    const pith_capacity *c = pithp_capacity_keep(owner, capacity_of(closure));
    if (c)
        memcpy(closure, &c, sizeof c);
    return owner->error.code;
}

/* The fix and the message of an assertion whose first argument is the requirement. *c
 * must live until it is copied. */
static pithp_fix fix_of(const pith_capacity *const *c) {
    return (pithp_fix){.call = pithp_capacity_can_grow(*c) ? repair : NULL,
                       .closure = c,
                       .closure_bytes = sizeof *c,
                       .greatest = true,
                       .keep = keep,
                       .print = print};
}

const pith_capacity *pithp_capacity_of_fix(const pithp_fix *fix) {
    return fix->keep == keep ? capacity_of(fix->closure) : NULL;
}

static void collect(pith_scope *s,
                    const pith_capacity *c,
                    const pith_array *predicate,
                    const pith_array *required) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    if (c->one)
        pithp_capacity_name(c, 0, &path);
    const pithp_fix fix = fix_of(&c);
    if (path.failed)
        pithp_fail_memory(s, path.capacity);
    else
        pithp_check(s, predicate,
                    &(pith_check_options){.message = "capacity is too small",
                                          .args = {{"required", required}},
                                          .level = PITH_CHECK_ALWAYS,
                                          .code = PITH_E_CAPACITY,
                                          .path = path.bytes,
                                          .fix_greatest = true,
                                          .fix_args = required},
                    &fix);
    pithp_string_end(&path);
}

/* ---- Without a collector: a pending check for the next synchronising call ---- */

typedef struct {
    pith_runtime *rt;
    pithp_stream *stream;
    size_t bytes;
    pithp_buffer *predicate, *required;
    const pith_spec *spec; /* of the requirement */
    const void *data;
    struct pith_capacity capacity; /* its sizes, names and texts follow the note */
} note;

static void release_note(const void *subject) {
    note *n = (note *)(uintptr_t)subject;
    pithp_buffer_release(n->predicate, 1);
    pithp_buffer_release(n->required, 1);
    pithp_release(n->rt, n, n->bytes);
}

static void describe_note(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e) {
    const note *n = subject;
    pithp_string text;
    (void)report;
    pithp_string_begin(&text, n->rt);
    if (pithp_required_describe(n->stream, &n->capacity, n->spec, n->data, &text, e) ==
        PITH_OK)
        pithp_error_set(e, PITH_E_CAPACITY, n->capacity.one ? n->capacity.names[0] : NULL,
                        site, "%s", text.bytes);
    pithp_string_end(&text);
}

/* Copy the capacity and all data for its description into one allocation. texts: names of
 * the sizes, concatenated, each with its terminator. */
static note *
write_note(pith_scope *s, const pith_capacity *c, const pithp_string *texts) {
    const size_t names = (size_t)c->count * sizeof(char *);
    const size_t sizes = (size_t)c->count * sizeof(int64_t);
    const size_t bytes =
        sizeof(note) + sizes + names + texts->length + strlen(c->message) + 1;
    note *n = texts->failed ? NULL : pithp_allocate(s->runtime, bytes);
    if (!n) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    *n = (note){.rt = s->runtime, .stream = pithp_scope_stream(s), .bytes = bytes};
    n->capacity = *c;
    n->capacity.sizes = memcpy(n + 1, c->sizes, sizes);
    const char **name = (const char **)(void *)((char *)(n + 1) + sizes);
    char *text = memcpy((char *)name + names, texts->bytes, texts->length);
    n->capacity.names = name;
    for (int64_t i = 0; i < c->count; i++) {
        name[i] = text;
        text += strlen(text) + 1;
    }
    n->capacity.message = strcpy(text, c->message);
    n->capacity.lens = NULL;
    n->capacity.tree = NULL;
    return n;
}

static void pend(pith_scope *s,
                 const pith_capacity *c,
                 const pith_array *predicate,
                 const pith_array *required) {
    const pith_spec *spec = pithp_array_spec(predicate);
    int64_t first = -1;
    if (pithp_scope_device(s)->immediate) {
        first = pithp_first_zero(predicate->data, 1, spec->count);
        if (PITHP_LIKELY(first < 0))
            return;
    }
    pithp_string texts;
    pithp_string_begin(&texts, s->runtime);
    for (int64_t i = 0; i < c->count; i++) {
        pithp_capacity_name(c, i, &texts);
        pithp_string_add_n(&texts, "", 1);
    }
    note *n = write_note(s, c, &texts);
    pithp_string_end(&texts);
    if (!n)
        return;
    n->predicate = pithp_array_buffer(predicate);
    n->required = pithp_array_buffer(required);
    n->spec = pithp_array_spec(required);
    n->data = required->data;
    pithp_buffer_retain(n->predicate, 1);
    pithp_buffer_retain(n->required, 1);
    const pithp_pending pending = {
        .describe = describe_note,
        .subject = n,
        .release = release_note,
        .first = ~(uint64_t)first,
        .predicate = {.data = predicate->data, .count = spec->count, .width = 1},
        .evaluate = pithp_check_evaluate};
    if (pithp_check_pend(s, &pending) != PITH_OK)
        release_note(n);
}

/* ---- The calls ---- */

void pith_capacity_require(pith_scope *s,
                           const pith_capacity *capacity,
                           const pith_array *required) {
    static const char *const function = "pith_capacity_require";
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, function, "capacity") != PITH_OK ||
        pithp_need_check(s, capacity, required, function) != PITH_OK ||
        !pith_check_enabled(s, PITH_CHECK_ALWAYS))
        return;
    const pith_array *operands[] = {
        required, bounds_of(s, capacity, pithp_array_spec(required)->dtype)};
    const pith_array *predicate =
        operands[1] ? pithp_bind(s, PITHP_OP_LE, 2, operands, NULL) : NULL;
    if (!predicate)
        return;
    if (pithp_collector_of(s) || pithp_scope_trace(s))
        collect(s, capacity, predicate, required);
    else
        pend(s, capacity, predicate, required);
    pithp_array_drop(s, predicate);
    pithp_array_drop(s, operands[1]);
}

void pith_capacity_guard(pith_scope *s, const pith_capacity *capacity, const char *name) {
    static const char *const function = "pith_capacity_guard";
    if (!pithp_enter(s) ||
        pithp_capacity_check(s, capacity, function, "capacity") != PITH_OK)
        return;
    if (!name || !capacity->one) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   name ? "%s: expected a capacity of one size" : "%s: name is NULL",
                   function);
        return;
    }
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_capacity_name(capacity, 0, &path);
    const pithp_fix fix = fix_of(&capacity);
    if (path.failed)
        pithp_fail_memory(s, path.capacity);
    else
        pithp_guard_add(s, name, path.bytes, &fix);
    pithp_string_end(&path);
}
