/* Array values: handles over buffers; creation, host transfer, and release. */
#include "array/handle.h"
#include "base/in_flight.h"

#include <string.h>

/* Small arrays are cut from a block shared within the scope. */
enum { SMALL_BYTES = 4096, SMALL_BLOCK_BYTES = 65536 };

/* Number of dropped handles that stay unused, so that stale pointers are detected. */
enum { QUARANTINE = 1024 };

/* Data of a scope for its arrays: the current block for small ones, and dropped
 * handles. */
typedef struct {
    pithp_hold *hold;
    char *cursor, *limit;
    pithp_header *dropped_first, *dropped_last; /* linked by `shape` */
    int dropped_count;
} scope_arrays;

static scope_arrays *arrays_of(pith_scope *s) {
    scope_arrays *arrays = s->room[PITHP_ROOM_ARRAY];
    if (PITHP_LIKELY(arrays != NULL))
        return arrays;
    arrays = pithp_scope_allocate(s, sizeof *arrays);
    if (arrays)
        *arrays = (scope_arrays){0};
    s->room[PITHP_ROOM_ARRAY] = arrays;
    return arrays;
}

static pithp_header *reused_handle(scope_arrays *arrays) {
    pithp_header *h = arrays->dropped_first;
    arrays->dropped_first = (pithp_header *)(uintptr_t)h->descriptor;
    arrays->dropped_count--;
    return h;
}

static pith_array *
make_handle(pith_scope *s, const pith_spec *spec, pithp_hold *hold, void *data) {
    scope_arrays *arrays = arrays_of(s);
    if (!arrays)
        return NULL;
    pithp_header *h = arrays->dropped_count > QUARANTINE
                          ? reused_handle(arrays)
                          : pithp_slab_make(s, PITHP_HANDLE_BYTES);
    if (!h)
        return NULL;
    pithp_handle_init(h, spec, hold, data);
    return (pith_array *)(h + 1);
}

/* The scope's block for small arrays, with at least `bytes` left. NULL: error set. */
static scope_arrays *small_block(pith_scope *s, size_t bytes) {
    scope_arrays *arrays = arrays_of(s);
    if (!arrays ||
        PITHP_LIKELY(arrays->hold && (size_t)(arrays->limit - arrays->cursor) >= bytes))
        return arrays;
    pithp_buffer *buffer = pithp_buffer_make(s, SMALL_BLOCK_BYTES);
    if (!buffer)
        return NULL;
    pithp_hold *hold = pithp_hold_buffer(s, buffer);
    if (!hold)
        return NULL;
    if (arrays->hold)
        pithp_hold_drop(s,
                        arrays->hold); /* the block's own use; its arrays have theirs */
    arrays->hold = hold;
    arrays->cursor = buffer->data;
    arrays->limit = arrays->cursor + SMALL_BLOCK_BYTES;
    return arrays;
}

pith_array *pithp_array_make(pith_scope *s, const pith_spec *spec) {
    if (PITHP_LIKELY(spec->bytes <= SMALL_BYTES)) {
        const size_t bytes = pithp_array_step(spec);
        scope_arrays *small = small_block(s, bytes);
        if (!small)
            return NULL;
        pith_array *a = make_handle(s, spec, small->hold, small->cursor);
        if (!a)
            return NULL;
        small->cursor += bytes;
        small->hold->live++;
        return a;
    }
    pithp_buffer *buffer = pithp_buffer_make(s, spec->bytes);
    if (!buffer)
        return NULL;
    pithp_hold *hold = pithp_hold_buffer(s, buffer);
    if (!hold)
        return NULL;
    pith_array *a = make_handle(s, spec, hold, buffer->data);
    if (!a)
        pithp_hold_drop(s, hold);
    return a;
}

pith_array *
pithp_array_view(pith_scope *s, const pith_spec *spec, pithp_buffer *buffer, void *data) {
    pithp_hold *hold = pithp_share_hold(s, buffer);
    if (!hold)
        return NULL;
    pith_array *a = make_handle(s, spec, hold, data);
    if (!a)
        pithp_hold_drop(s, hold);
    return a;
}

/* Target of donated handles: a buffer without memory, never released. */
static pithp_buffer no_buffer;
static pithp_hold donated = {.thing = &no_buffer};

void pithp_array_donate(const pith_array *a, const char *site) {
    pithp_arrays_donate(1, &a, site);
}

void pithp_arrays_donate(int64_t count,
                         const pith_array *const *arrays,
                         const char *site) {
    for (int64_t k = 0; k < count;) {
        pithp_hold *hold = arrays[k]->hold;
        pith_scope *owner = pithp_owner_of(arrays[k]);
        uint32_t given = 0;
        for (; k < count && arrays[k]->hold == hold; k++, given++) {
            pith_array *a = (pith_array *)(uintptr_t)arrays[k];
            pithp_header_of(a)->extra = PITHP_ARRAY_DONATED;
            a->hold = &donated;
            a->data = (void *)(uintptr_t)site;
        }
        hold->live -= given - 1;
        pithp_hold_drop(owner, hold);
    }
}

const char *pithp_array_donated_at(const pith_array *a, const char **at) {
    const char *site = a->data;
    *at = site ? pithp_site_name(site) : "";
    return site ? " at " : "";
}

void pithp_array_drop(pith_scope *s, const pith_array *a) {
    pithp_header *h = pithp_header_of(a);
    if (PITHP_UNLIKELY(h->extra & PITHP_ARRAY_TRACED))
        return; /* owned by the trace */
    pithp_hold *hold = a->hold;
    h->kind = PITHP_KIND_FREE;
    h->descriptor = NULL;
    if (PITHP_LIKELY(hold != &donated))
        pithp_hold_drop(s, hold);
    scope_arrays *arrays = s->room[PITHP_ROOM_ARRAY];
    if (!arrays) /* the handle came from a slab and is released with its scope */
        return;
    if (arrays->dropped_count++)
        arrays->dropped_last->descriptor = h;
    else
        arrays->dropped_first = h;
    arrays->dropped_last = h;
}

void pith_drop(pith_scope *s, const pith_array *a) {
    pithp_block *block = NULL;
    if (!pithp_scope_writable(s) || pithp_pointer_check(a, &block) != PITHP_POINTER_OK)
        return;
    if (block->owner == s && pithp_kind_is_array(a) && !pithp_array_is_traced(a))
        pithp_array_drop(s, a);
}

static pith_status check_slow(pith_scope *s,
                              const pith_array *a,
                              const char *function,
                              const char *name,
                              bool takes_traced,
                              bool takes_sharded) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(a, &block);
    if (verdict != PITHP_POINTER_OK)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: expected an array, got a pointer that is %s", function,
                          name, pithp_pointer_text(verdict));
    const pithp_header *h = pithp_header_of(a);
    if (h->kind != PITHP_KIND_ARRAY)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: expected an array, got another object", function,
                          name);
    if (block->runtime != s->runtime)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: the array belongs to another runtime", function, name);
    if (h->extra & PITHP_ARRAY_DONATED) {
        const char *at, *where = pithp_array_donated_at(a, &at);
        return pithp_fail(s, PITH_E_DONATED, NULL, "%s: %s: the array was donated%s%s",
                          function, name, where, at);
    }
    if ((h->flags & PITHP_FLAG_SHARDED) && !takes_sharded) {
        char text[PITHP_LEAF_TEXT_BYTES];
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: expected a plain array, got %s: map the function with "
                          "pith_shard_map, or use pith_unshard",
                          function, name, pithp_leaf_print(pithp_array_spec(a), text));
    }
    if (h->extra & PITHP_ARRAY_TRACED)
        return pithp_trace_check(s, a, function, name, takes_traced);
    return pithp_buffer_read(s, pithp_array_buffer(a));
}

pith_status pithp_array_check_slow(pith_scope *s,
                                   const pith_array *a,
                                   const char *function,
                                   const char *name) {
    return check_slow(s, a, function, name, false, false);
}

pith_status pithp_operand_check_slow(pith_scope *s,
                                     const pith_array *a,
                                     const char *function,
                                     const char *name) {
    return check_slow(s, a, function, name, true, false);
}

pith_status pithp_leaf_check(pith_scope *s,
                             const pith_array *a,
                             const char *function,
                             const char *name) {
    return PITHP_LIKELY(pithp_array_is_ready(s, a))
               ? PITH_OK
               : check_slow(s, a, function, name, true, true);
}

/* ---- Host data in ---- */

static const pith_spec *spec_of(pith_scope *s, pith_dtype dtype, pith_shape shape) {
    return pithp_spec(s, dtype, shape.rank, shape.extents);
}

static const pith_array *copy_of(pith_scope *s, const pith_spec *spec, const void *data) {
    pith_array *a = pithp_array_make(s, spec);
    if (!a)
        return NULL;
    if (spec->bytes && pithp_copy_in(s, a->data, data, spec->bytes) != PITH_OK) {
        pithp_array_drop(s, a);
        return NULL;
    }
    return a;
}

/* Check the bytes of a bool array: operations rely on 0 and 1. */
static bool
are_bools(pith_scope *s, int64_t count, const uint8_t *bytes, const char *function) {
    uint8_t any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= bytes[i];
    if (any <= 1)
        return true;
    int64_t i = 0;
    while (bytes[i] <= 1)
        i++;
    pithp_fail(s, PITH_E_ARG, NULL,
               "%s: element %lld of a bool array: expected 0 or 1, got %d", function,
               (long long)i, bytes[i]);
    return false;
}

static bool
check_data(pith_scope *s, const pith_spec *spec, const void *data, const char *function) {
    if (data || spec->bytes == 0)
        return spec->dtype != PITH_BOOL || are_bools(s, spec->count, data, function);
    pithp_fail(s, PITH_E_ARG, NULL, "%s: data is NULL", function);
    return false;
}

const pith_array *
pith_array_copy(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data) {
    if (!pithp_enter(s))
        return NULL;
    const pith_spec *spec = spec_of(s, dtype, shape);
    if (!spec || !check_data(s, spec, data, "pith_array_copy"))
        return NULL;
    return copy_of(s, spec, data);
}

const pith_array *
pith_array_borrow(pith_scope *s, pith_dtype dtype, pith_shape shape, const void *data) {
    if (!pithp_enter(s))
        return NULL;
    const pith_spec *spec = spec_of(s, dtype, shape);
    if (!spec || !check_data(s, spec, data, "pith_array_borrow"))
        return NULL;
    if (spec->bytes == 0)
        return copy_of(s, spec, data);
    pithp_buffer *buffer =
        pithp_buffer_wrap(s, (void *)(uintptr_t)data, spec->bytes, NULL, NULL);
    pithp_hold *hold = buffer ? pithp_hold_buffer(s, buffer) : NULL;
    return hold ? make_handle(s, spec, hold, buffer->data) : NULL;
}

const pith_array *pith_array_own(pith_scope *s,
                                 pith_dtype dtype,
                                 pith_shape shape,
                                 void *data,
                                 void (*release)(void *closure, void *data),
                                 void *closure) {
    const pith_array *a = NULL;
    if (!pithp_enter(s))
        goto release_now;
    const pith_spec *spec = spec_of(s, dtype, shape);
    if (!spec || !check_data(s, spec, data, "pith_array_own"))
        goto release_now;
    if (spec->bytes == 0) {
        a = copy_of(s, spec, data);
        goto release_now;
    }
    pithp_buffer *buffer = pithp_buffer_wrap(s, data, spec->bytes, release, closure);
    if (!buffer)
        goto release_now;
    pithp_hold *hold = pithp_hold_buffer(s, buffer); /* the buffer now owns the data */
    return hold ? make_handle(s, spec, hold, buffer->data) : NULL;
release_now:
    if (release)
        release(closure, data);
    return a;
}

const pith_array *pithp_scalar(pith_scope *s, pith_dtype dtype, const void *element) {
    const pith_spec *spec = spec_of(s, dtype, PITH_SCALAR);
    return spec ? copy_of(s, spec, element) : NULL;
}

static const pith_array *
scalar_of(pith_scope *s, const char *function, pith_dtype dtype, const void *element) {
    return pithp_enter_as(s, function) ? pithp_scalar(s, dtype, element) : NULL;
}

const pith_array *pith_f64(pith_scope *s, double value) {
    return scalar_of(s, __func__, PITH_F64, &value);
}

const pith_array *pith_f32(pith_scope *s, float value) {
    return scalar_of(s, __func__, PITH_F32, &value);
}

const pith_array *pith_i64(pith_scope *s, int64_t value) {
    return scalar_of(s, __func__, PITH_I64, &value);
}

const pith_array *pith_i32(pith_scope *s, int32_t value) {
    return scalar_of(s, __func__, PITH_I32, &value);
}

const pith_array *pith_bool(pith_scope *s, bool value) {
    const uint8_t element = value;
    return scalar_of(s, __func__, PITH_BOOL, &element);
}

const pith_array *pith_like(pith_scope *s, const pith_array *like, double value) {
    if (!pithp_enter(s) || pithp_operand_check(s, like, "pith_like", "like") != PITH_OK)
        return NULL;
    const pith_dtype dtype = pithp_array_spec(like)->dtype;
    uint64_t element = 0;
    if (!pithp_dtype_encode(dtype, value, &element) && !pith_dtype_is_float(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_like: %g is not exact in %s", value,
                   pith_dtype_name(dtype));
        return NULL;
    }
    return pithp_scalar(s, dtype, &element);
}

/* ---- Getters ---- */

const pith_spec *pith_array_spec(const pith_array *a) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(a, &block) != PITHP_POINTER_OK || !pithp_kind_is_array(a))
        return NULL;
    return pithp_array_spec(a);
}

bool pith_is_traced(const pith_array *a) {
    pithp_block *block = NULL;
    return pithp_pointer_check(a, &block) == PITHP_POINTER_OK && pithp_kind_is_array(a) &&
           pithp_array_is_traced(a);
}

pith_status pithp_array_read(pith_scope *s, const pith_array *a, void *host) {
    const pith_status rc =
        pithp_synchronise(s); /* report failed checks before a value is read */
    if (rc != PITH_OK)
        return rc;
    return pithp_copy_out(s, host, a->data, pithp_array_spec(a)->bytes);
}

bool pith_read(pith_scope *s, const pith_array *a, void *host, size_t bytes) {
    PITHP_IN_FLIGHT(s, "pith_read");
    if (!pithp_enter(s) || pithp_array_check(s, a, "pith_read", "array") != PITH_OK)
        return false;
    const pith_spec *spec = pithp_array_spec(a);
    if (bytes != spec->bytes || (!host && bytes)) {
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_read: expected room for %zu bytes of %s, got %s of %zu bytes",
                   spec->bytes, pithp_spec_print(spec, text), host ? "memory" : "NULL",
                   bytes);
        return false;
    }
    return pithp_array_read(s, a, host) == PITH_OK;
}

/* The single element of an array, on the host. */
static bool read_element(pith_scope *s,
                         const pith_array *a,
                         const char *function,
                         pith_dtype *dtype,
                         uint64_t *element) {
    PITHP_IN_FLIGHT(s, function);
    if (!pithp_enter_as(s, function) ||
        pithp_array_check(s, a, function, "array") != PITH_OK)
        return false;
    const pith_spec *spec = pithp_array_spec(a);
    if (spec->count != 1) {
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: expected one element, got %s", function,
                   pithp_spec_print(spec, text));
        return false;
    }
    *dtype = spec->dtype;
    *element = 0;
    return pithp_array_read(s, a, element) == PITH_OK;
}

double pith_read_f64(pith_scope *s, const pith_array *a) {
    pith_dtype dtype;
    uint64_t element;
    return read_element(s, a, "pith_read_f64", &dtype, &element)
               ? pithp_dtype_decode(dtype, &element)
               : 0;
}

int64_t pith_read_i64(pith_scope *s, const pith_array *a) {
    pith_dtype dtype;
    uint64_t element;
    if (!read_element(s, a, "pith_read_i64", &dtype, &element))
        return 0;
    if (dtype == PITH_I64 || (dtype == PITH_U64 && element <= INT64_MAX)) {
        int64_t value;
        memcpy(&value, &element, sizeof value);
        return value;
    }
    if (dtype == PITH_U64 || pith_dtype_is_float(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL,
                   "pith_read_i64: expected an integer that fits, got %s",
                   pith_dtype_name(dtype));
        return 0;
    }
    return (int64_t)pithp_dtype_decode(dtype, &element);
}

bool pith_read_bool(pith_scope *s, const pith_array *a) {
    pith_dtype dtype;
    uint64_t element;
    return read_element(s, a, "pith_read_bool", &dtype, &element) &&
           pithp_dtype_decode(dtype, &element) != 0;
}
