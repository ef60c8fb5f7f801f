/* Within run: what others ask of a run while it lasts. */
#ifndef PITH_RUN_REQUEST_H
#define PITH_RUN_REQUEST_H

#include "pith/run.h"

#include "base/base_internal.h"

/* Counts of requests that a run has seen; those beyond are for it. */
typedef struct pithp_requests {
    pith_runtime *rt;
    unsigned saves, stops; /* of pith_run_request */
    unsigned signal_saves;
    bool signals;
} pithp_requests;

pith_status pithp_requests_begin(pithp_requests *r, pith_scope *s, bool signals);
void pithp_requests_end(pithp_requests *r);
/* The signal that asks to stop; 0: none. */
int pithp_requests_signal(const pithp_requests *r);
bool pithp_requests_stop(const pithp_requests *r);
bool pithp_requests_save(const pithp_requests *r);
/* They are obeyed: runs that begin later do not see them. */
void pithp_requests_take_save(pithp_requests *r);
void pithp_requests_take_stop(pithp_requests *r);

#endif
