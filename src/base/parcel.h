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

/* Messages to and from other ranks, and what a rank does while they are under way: it
 * must not touch their memory. */
typedef struct pithp_exchange {
    int sends, receives;
    const pithp_parcel *send, *receive;
    void (*meanwhile)(void *closure); /* or NULL; left out by an engine that fails */
    void *closure;
} pithp_exchange;

#endif
