/* Private interface of gpu: device state shared by its files. */
#ifndef PITH_GPU_DEVICE_H
#define PITH_GPU_DEVICE_H

#include "gpu/gpu_internal.h"

/* Scope hooks: a root scope takes a stream of its own, children share it. */
void pithp_stream_attach(pith_scope *s);
void pithp_stream_detach(pith_scope *s);
void pithp_streams_close(pithp_device *d);
/* An idle stream or a new one, with the caller as user. NULL sets the error. */
pithp_stream *pithp_stream_join(pith_scope *s, pithp_device *d);
pithp_stream *pithp_stream_make(pith_scope *s, pithp_device *d); /* always a new one */
void pithp_stream_add_user(pithp_stream *st);
void pithp_stream_leave(pithp_stream *st); /* without users it becomes idle */

/* The current list of streams, linked by `next`; they live until the runtime closes. */
pithp_stream *pithp_streams_first(pithp_device *d);

/* Cache of free buffers: one per device if work runs when it is enqueued, else one per
 * stream. NULL if memory is short. */
struct pithp_cache *pithp_cache_make(pithp_device *d);
void pithp_cache_free(pithp_device *d, struct pithp_cache *c);

/* Convert failed checks of a synchronised stream to errors of the scopes that enqueued
 * them. */
pith_status pithp_pending_examine(pithp_stream *st, pithp_error *e);
/* Move the pending checks of `from` to `to`. */
void pithp_pending_hand_over(pithp_stream *st, const pith_scope *from, pith_scope *to);
void pithp_pending_close(pithp_stream *st);

#endif
