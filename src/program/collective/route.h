/* Routes in programs, as the steps of a collective read them (within
 * src/program/collective).
 *
 * A route in a program was made by route_make, or is an argument. A rank that finds one
 * in which it cannot send has no way to tell the others, which wait for its rows: the job
 * ends. */
#ifndef PITH_PROGRAM_COLLECTIVE_ROUTE_H
#define PITH_PROGRAM_COLLECTIVE_ROUTE_H

#include "program/collective/move.h"
#include "program/op/route.h"

/* The arrays of a route on the host. Ranks in use come first. */
typedef struct pithp_mover_route {
    const int32_t *peer, *send;
    const int64_t *sent, *received;
    int64_t max_peers, max_send, max_receive;
    int64_t peers;   /* in use */
    int32_t *index;  /* on the device: the row of each slot of send; -1: not in use */
    int64_t *result; /* on the device: the numbers, [3, max_peers], and a word */
} pithp_mover_route;

/* Operand k where the host reads it. */
const void *pithp_mover_in_on_host(pithp_mover *m, int k);

/* End the job. Returns false. */
bool pithp_mover_refuse(pithp_mover *m, const char *format, ...) PITH_FORMAT(2, 3);
bool pithp_mover_refuse_row(pithp_mover *m, int32_t row, int64_t rows);

/* The route of a row that moves by one. */
pithp_mover_route pithp_mover_route_read(pithp_mover *m);
/* Count the ranks in use. False: the numbers are not those of a route, and the job ends.
 * Zeros are an empty route: a batch runs a branch also for entries that have not taken
 * it, with residuals of zeros. */
bool pithp_mover_route_check(pithp_mover *m, pithp_mover_route *r);

/* Between devices only the numbers of rows come to the host, which has to know them and
 * the ranks for each message. Pass the route through a kernel, which checks that arrays
 * of this number of rows have the rows: its index and result. Later wait for the numbers.
 */
pithp_mover_route pithp_mover_route_on_device(pithp_mover *m, int64_t rows);
void pithp_mover_route_numbers(pithp_mover *m, pithp_mover_route *r, int64_t rows);

#endif
