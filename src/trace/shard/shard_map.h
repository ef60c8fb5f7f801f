/* Within the trace room: what a call of pith_shard_map under way means for others. */
#ifndef PITH_TRACE_SHARD_MAP_H
#define PITH_TRACE_SHARD_MAP_H

#include <stdbool.h>

/* Whether an eager call is under way on this thread that has arguments which are equal
 * along mapped axes. Only traces know which values these are, and without that knowledge
 * cotangents would lack the sum over ranks. */
bool pithp_shard_map_forgets(void);
/* A gradient is refused for that reason (PITH_E_UNSUPPORTED): the call is repeated, and
 * recorded. */
void pithp_shard_map_refuse(void);

/* Whether a call is under way on this thread: plain arrays may be shards, which differ
 * between ranks. */
bool pithp_shard_map_inside(void);

#endif
