/* Native views: addresses of array elements and their stream, for other libraries on the
 * same device. */
#include "array/array_internal.h"
#include "base/in_flight.h"

/* On the host, the user may access the memory at once: it is not ordered by the
 * stream. */
static pith_status order_with_user(pith_scope *s) {
    return pithp_scope_device(s)->backend->native_stream ? PITH_OK : pithp_synchronise(s);
}

bool pith_array_view(pith_scope *s, const pith_array *a, pith_view *view) {
    static const char function[] = "pith_array_view";
    PITHP_IN_FLIGHT(s, function);
    if (view)
        *view = (pith_view){0};
    if (!pithp_enter(s))
        return false;
    if (!view) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: view is NULL", function);
        return false;
    }
    if (pithp_array_check(s, a, function, "array") != PITH_OK ||
        order_with_user(s) != PITH_OK)
        return false;
    const pithp_stream *st = pithp_scope_stream(s);
    const size_t bytes = pithp_array_spec(a)->bytes;
    *view = (pith_view){.data = bytes ? a->data : NULL,
                        .bytes = bytes,
                        .kind = st->device->backend->kind,
                        .device = st->device->ordinal,
                        .stream = pithp_stream_native(st)};
    return true;
}

const pith_array *
pith_array_unwritten(pith_scope *s, pith_dtype dtype, pith_shape shape, void **data) {
    static const char function[] = "pith_array_unwritten";
    PITHP_IN_FLIGHT(s, function);
    if (data)
        *data = NULL;
    if (!pithp_enter_untraced(s, function))
        return NULL;
    if (!data) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: data is NULL", function);
        return NULL;
    }
    const pith_spec *spec = pithp_spec(s, dtype, shape.rank, shape.extents);
    const pith_array *made = spec ? pithp_array_make(s, spec) : NULL;
    if (!made || order_with_user(s) != PITH_OK)
        return NULL;
    *data = spec->bytes ? made->data : NULL;
    return made;
}

void *pith_scope_stream(pith_scope *s) {
    return pithp_enter(s) ? pithp_stream_native(pithp_scope_stream(s)) : NULL;
}
