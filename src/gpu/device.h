/* Within gpu only: the parts of a runtime's device that its files share. */
#ifndef PITH_GPU_DEVICE_H
#define PITH_GPU_DEVICE_H

#include "gpu/gpu_internal.h"

/* Hooks of scopes: a root takes a stream of its own, children share it. */
void pithp_stream_attach(pith_scope *s);
void pithp_stream_detach(pith_scope *s);
void pithp_streams_close(pithp_device *d);
/* A stream that is idle, or a new one, with the caller as its user; NULL: error set. */
pithp_stream *pithp_stream_join(pith_scope *s, pithp_device *d);
pithp_stream *pithp_stream_make(pith_scope *s, pithp_device *d); /* always a new one */
void pithp_stream_add_user(pithp_stream *st);
void pithp_stream_leave(pithp_stream *st); /* without users it is idle */

/* All streams there are now, by `next`: they stay until the runtime closes. */
pithp_stream *pithp_streams_first(pithp_device *d);

/* Buffers that are kept for reuse: by all streams of a device where work runs when it is
 * enqueued, else by each. NULL when memory is short. */
struct pithp_cache *pithp_cache_make(pithp_device *d);
void pithp_cache_free(pithp_device *d, struct pithp_cache *c);

/* Turn failed checks of a stream that has been synchronised into errors of the scopes
 * that enqueued them. */
pith_status pithp_pending_examine(pithp_stream *st, pithp_error *e);
/* The checks that `from` enqueued count as those of `to` from here on. */
void pithp_pending_hand_over(pithp_stream *st, const pith_scope *from, pith_scope *to);
void pithp_pending_close(pithp_stream *st);

#endif
