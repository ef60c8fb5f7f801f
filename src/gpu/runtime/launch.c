/* Launches on the scope's stream. */
#include "gpu/device.h"
#include "gpu/gpu_internal.h"

pith_status pithp_launch_enqueue(pith_scope *s, const pithp_launch *l) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (l->count <= 0)
        return PITH_OK;
    if (l->args_bytes > PITHP_LAUNCH_ARGS && !st->device->backend->addressable)
        return pithp_fail(s, PITH_E_INTERNAL, NULL,
                          "%s: %zu bytes of arguments, at most %d", l->name,
                          l->args_bytes, PITHP_LAUNCH_ARGS);
    if (st->device->backend->launch(st, l, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}
