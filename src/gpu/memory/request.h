/* Within gpu only: requests of memory, as the manager keeps them. */
#ifndef PITH_GPU_REQUEST_H
#define PITH_GPU_REQUEST_H

#include "gpu/memory/manager.h"

/* A request that was checked. */
typedef struct pithp_request {
    pith_request asked; /* its label is `label`; chunk_axis 0 up to rank - 1, or -1 for
                           what is whole in every chunk */
    char label[PITHP_NAME_BYTES];
    int64_t runs;            /* 0 for what is whole */
    pith_instance *instance; /* NULL: of no one yet */
    struct pithp_request *next;
} pithp_request;

/* Check what a user asked for; false: the scope's error is set, with `function`. */
bool pithp_request_check(pith_scope *s,
                         const pith_request *asked,
                         pithp_request *checked,
                         const char *function);
/* Shape when a chunk has that many runs. */
pith_shape pithp_request_shape(const pithp_request *r, int64_t length);
/* Bytes of such a shape; checked before not to overflow. */
size_t pithp_request_bytes(const pithp_request *r, int64_t length);

/* Requests in a list, checked one by one; NULL with the error set, or for none. */
pithp_request *pithp_requests_make(pith_scope *s,
                                   const pith_request *asked,
                                   int64_t count,
                                   pith_instance *instance,
                                   const char *function);
void pithp_requests_free(pithp_device *d, pithp_request *first);

/* ---- Chunks (chunk.c) ---- */

/* What a plan has to fit into. */
typedef struct pithp_budget {
    size_t available; /* for all together */
    bool capped;      /* and for every instance what its cap leaves */
} pithp_budget;

/* Equal chunks of at most `most` runs, and a short last one. */
pith_chunks pithp_chunks_of(int64_t runs, int64_t most);
/* Split the requests' runs so that they fit; false: why says why not, code too. */
bool pithp_chunks_plan(const pithp_request *first,
                       const char *group,
                       pithp_budget budget,
                       pith_chunks *chunks,
                       pithp_warnings *w,
                       pith_status *code,
                       char why[512]);

#endif
