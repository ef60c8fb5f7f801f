/* Within gpu only: the buffers that a stream keeps for reuse. */
#ifndef PITH_GPU_CACHE_H
#define PITH_GPU_CACHE_H

#include "gpu/gpu_internal.h"

/* What the manager alone knows of a buffer: every buffer is the first member of one. */
typedef struct pithp_buffer_record {
    pithp_buffer buffer;
    atomic_bool held;            /* between its making and its end */
    struct pithp_source *source; /* of the data (source.h); NULL: the backend's pool */
#ifndef NDEBUG
    _Atomic(const char *) site; /* of the call that made it; or NULL */
#endif
} pithp_buffer_record;
static inline pithp_buffer_record *pithp_buffer_record_of(const pithp_buffer *b) {
    return (pithp_buffer_record *)(uintptr_t)b;
}

/* A buffer without data, its stream set; NULL when memory is short. Any thread. */
pithp_buffer *pithp_cache_struct(pithp_stream *st);
void pithp_cache_struct_back(pithp_buffer *b);
/* A buffer with data of its class; NULL where none is kept. Any thread. */
pithp_buffer *pithp_cache_take(pithp_stream *st, int class);
/* Keep a buffer with its data; false where enough is kept already. Any thread. */
bool pithp_cache_keep(pithp_buffer *b);
/* Call `see` with every buffer that is held. */
void pithp_cache_each(pithp_stream *st,
                      void (*see)(const pithp_buffer_record *r, void *closure),
                      void *closure);
/* Give the data of what is kept back to the backend. Any thread. */
void pithp_cache_trim(pithp_stream *st);

#endif
