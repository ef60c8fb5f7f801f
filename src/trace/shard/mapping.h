/* A call of a function over shards under way (within src/trace/shard). */
#ifndef PITH_TRACE_SHARD_MAPPING_H
#define PITH_TRACE_SHARD_MAPPING_H

#include "pith/shard.h"

#include "base/base_internal.h"
#include "tree/shard/text.h"

/* Calls under way on a thread, innermost first. */
typedef struct pithp_map_level {
    struct pithp_map_level *outer;
    const char *axes;
    bool forgets; /* see pithp_shard_map_forgets */
    bool refused; /* a gradient, because it forgets or one around it does */
} pithp_map_level;

typedef struct pithp_mapping {
    pith_scope *s;
    const pith_shard_spec *const *in; /* by argument; NULL: as declared */
    const pith_shard_spec *out;
    const char *name; /* of the function */
    const char *axes; /* that are mapped, as a list */
    const pith_mesh *mesh;
    const pithp_map_level *outer; /* calls around this one */
    bool agrees;                  /* eager, with other ranks */
    bool forgets;    /* eager, with an argument that is equal along mapped axes */
    uint64_t digest; /* of the structures of the arguments */
} pithp_mapping;

/* The leaves of a result that its specs call equal along mapped axes, unless they are
 * traced. Memory of the runtime. */
typedef struct pithp_replica {
    int64_t leaf, digest;
    char axes[PITHP_SHARD_TEXT]; /* along which it is equal */
    bool whole;                  /* these are all mapped axes */
} pithp_replica;
typedef struct pithp_replicas {
    int64_t count, room;
    pithp_replica *list;
} pithp_replicas;

/* ---- Trees on the way in and out (leaves.c) ---- */

/* The tree that the function gets as argument i. NULL: error set. */
const void *pithp_mapping_enter(pithp_mapping *x, int i, const void *given);
/* The result with the placements of its specs. NULL: error set. */
const void *
pithp_mapping_leave(const pithp_mapping *x, const void *local, pithp_replicas *replicas);
void pithp_replicas_free(const pithp_mapping *x, pithp_replicas *replicas);

/* ---- What ranks agree on in eager calls (agree.c) ---- */

/* Before the call: no rank goes on alone, and all have arguments of one structure. */
bool pithp_mapping_begin(const pithp_mapping *x);
/* The leaves that all ranks should have, if the mesh says so (.compare). Within a call
 * plain arrays are parts. */
void pithp_mapping_compare(const pithp_mapping *x, const void *const *given, int count);
/* After it: no other rank has failed, the results that are called replicated have the
 * same elements along the mapped axes, and all were refused a gradient, or none. */
pith_status pithp_mapping_agree(const pithp_mapping *x,
                                const void *result,
                                const pithp_replicas *replicas,
                                bool refused);

#endif
