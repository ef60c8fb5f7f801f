/* Messages between ranks, as transports and communicators pass them. */
#ifndef PITH_BASE_PARCEL_H
#define PITH_BASE_PARCEL_H

#include <stddef.h>
#include <stdint.h>

/* A message to or from a rank of a group. Messages from one rank to another arrive in the
 * order of the lists in which they are sent. */
typedef struct pithp_parcel {
    int64_t peer;
    void *data;
    size_t bytes;
} pithp_parcel;

#endif
