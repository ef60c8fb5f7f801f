/* A checkpoint written again as the ranks of a mesh would have saved it, by one process:
 * what it becomes, and the elements of its parts. */
#ifndef PITH_SAVE_RESHARD_H
#define PITH_SAVE_RESHARD_H

#include "checkpoint/save/parted.h"
#include "checkpoint/store/open.h"

typedef struct pithp_reshard {
    pith_scope *s; /* of temporaries */
    const pith_checkpoint *from;
    pith_checkpoint to;  /* only its document: the tables of `from`, and its shards */
    pithp_parted *cuts;  /* by leaf of the document */
    int64_t rank, ranks; /* rank: of the part that is written */
    int64_t *by_key;     /* all leaves, by their keys */
    int64_t *leaves;     /* of that part */
    int64_t leaf_count;
    uint64_t number; /* of the save */
} pithp_reshard;

/* Note the axes of the mesh, and how each leaf is cut: as the specs say (NULL: as it is
 * in `from`). The error of s names the leaf (reshard_specs.c). */
pith_status pithp_reshard_read(pithp_reshard *x,
                               const pith_mesh_axis *axes,
                               const pith_shard_spec *specs);

/* Stream the piece of a leaf of the part that is written: rows in use, then zeros
 * (reshard_part.c). */
pithp_leaf_stream pithp_reshard_stream;

#endif
