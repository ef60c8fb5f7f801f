/* Private interface of gpu: memory requests. */
#ifndef PITH_GPU_REQUEST_H
#define PITH_GPU_REQUEST_H

#include "gpu/memory/manager.h"

/* A validated request. */
typedef struct pithp_request {
    pith_request asked; /* its label is `label`; chunk_axis: 0 to rank - 1, or -1 if it is
                           not chunked */
    char label[PITHP_NAME_BYTES];
    int64_t runs;            /* 0 if it is not chunked */
    pith_instance *instance; /* NULL: no instance yet */
    struct pithp_request *next;
} pithp_request;

/* Validate a request of the user; false sets the scope's error, with `function`. */
bool pithp_request_check(pith_scope *s,
                         const pith_request *asked,
                         pithp_request *checked,
                         const char *function);
/* Shape of a chunk of `length` runs. */
pith_shape pithp_request_shape(const pithp_request *r, int64_t length);
/* Bytes of that shape; validation has excluded overflow. */
size_t pithp_request_bytes(const pithp_request *r, int64_t length);

/* Validate and copy requests to a list; NULL with the error set, also for an empty
 * list. */
pithp_request *pithp_requests_make(pith_scope *s,
                                   const pith_request *asked,
                                   int64_t count,
                                   pith_instance *instance,
                                   const char *function);
void pithp_requests_free(pithp_device *d, pithp_request *first);

/* ---- Chunks (chunk.c) ---- */

/* Limits of a plan. */
typedef struct pithp_budget {
    size_t available; /* total for all requests */
    bool capped;      /* also limit each instance to the rest of its cap */
} pithp_budget;

/* Equal chunks of at most `most` runs, and a short last one. */
pith_chunks pithp_chunks_of(int64_t runs, int64_t most);
/* Split the requests' runs to fit the budget. False: why and code have the reason. */
bool pithp_chunks_plan(const pithp_request *first,
                       const char *group,
                       pithp_budget budget,
                       pith_chunks *chunks,
                       pithp_warnings *w,
                       pith_status *code,
                       char why[512]);

#endif
