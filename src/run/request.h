/* Within run: requests to a run from outside. */
#ifndef PITH_RUN_REQUEST_H
#define PITH_RUN_REQUEST_H

#include "pith/run.h"

#include "base/base_internal.h"

/* Counts of requests at the start of a run. Later requests are for this run. */
typedef struct pithp_requests {
    pith_runtime *rt;
    unsigned saves, stops; /* by pith_run_request */
    unsigned signal_saves;
    bool signals;
} pithp_requests;

pith_status pithp_requests_begin(pithp_requests *r, pith_scope *s, bool signals);
void pithp_requests_end(pithp_requests *r);
/* The signal that requested a stop; 0: none. */
int pithp_requests_signal(const pithp_requests *r);
bool pithp_requests_stop(const pithp_requests *r);
bool pithp_requests_save(const pithp_requests *r);
/* Consume requests: later runs do not see them. */
void pithp_requests_take_save(pithp_requests *r);
void pithp_requests_take_stop(pithp_requests *r);

#endif
