/* Internal interface of mesh: what ranks agree on, and links between ranks along axes. */
#ifndef PITH_MESH_INTERNAL_H
#define PITH_MESH_INTERNAL_H

#include "pith/mesh.h"

#include "base/base_internal.h"
#include "mesh/transport.h"

typedef struct pithp_world pithp_world;

enum { PITHP_MESH_AXES = 8, PITHP_AXIS_BYTES = 16, PITHP_WHAT_BYTES = 160 };

/* A list of axes of a mesh, by their numbers. */
typedef struct pithp_axis_numbers {
    int count;
    int8_t axes[PITHP_MESH_AXES];
} pithp_axis_numbers;

/* The ranks that differ only along some axes. Lives as long as the runtime. */
typedef struct pithp_mesh_group {
    pithp_axis_numbers list;
    int64_t size, rank;
    pithp_world *world;
    const pith_mesh *mesh;
    pithp_transport_link *link;                          /* NULL: not made yet */
    char axes[PITHP_MESH_AXES * (PITHP_AXIS_BYTES + 1)]; /* "x,y" */
    struct pithp_mesh_group *next;
} pithp_mesh_group;

/* ---- Meshes ---- */

/* The ranks along axes of the scope's mesh. NULL: error set. */
pithp_mesh_group *pithp_mesh_group_of(pith_scope *s, const char *axes);
/* The coordinates of a rank, "x=1, y=0"; text must have PITHP_WHAT_BYTES. */
void pithp_mesh_place(const pith_mesh *mesh, int64_t rank, char *text);

/* ---- Agreements ---- */

/* What this rank is about to do. `what` describes it in messages: "f64[3] over x". Both
 * texts, the extra value and the call site must be equal on all ranks. */
typedef struct pithp_intent {
    const char *operation; /* "pith_psum" */
    const char *what;
    uint64_t extra;
} pithp_intent;

/* Whether the runtime of s has several ranks. */
bool pithp_has_ranks(const pith_scope *s);
/* Begin a collective: compare what all ranks are about to do, and whether their scopes
 * have failed. False: no rank goes on, and every scope has an error. True: the caller
 * moves its data by the functions below, in which no rank can fail alone, and calls
 * pithp_collective_end. */
bool pithp_collective_begin(pith_scope *s, const pithp_intent *intent);
void pithp_collective_end(pith_scope *s);
/* Within a collective: whether the scope of no rank has failed since its begin. */
bool pithp_collective_agrees(pith_scope *s);
/* The least and the greatest of a value over all ranks, within a collective. */
void pithp_collective_range(pith_scope *s, int64_t *least, int64_t *most);

/* Moves of data between the ranks of a group, within a collective. A group of one rank
 * does nothing but the copies. A failure of the engine ends the job. See transport.h. */
void pithp_mesh_group_reduce(pith_scope *s,
                             pithp_mesh_group *g,
                             pithp_combine how,
                             pith_dtype dtype,
                             void *data,
                             int64_t count);
void pithp_mesh_group_scan(pith_scope *s,
                           pithp_mesh_group *g,
                           pith_dtype dtype,
                           const void *from,
                           void *to,
                           int64_t count);
void pithp_mesh_group_broadcast(pith_scope *s,
                                pithp_mesh_group *g,
                                int64_t root,
                                void *data,
                                size_t bytes);
void pithp_mesh_group_gather(pith_scope *s,
                             pithp_mesh_group *g,
                             const void *from,
                             void *to,
                             size_t bytes);
void pithp_mesh_group_transpose(pith_scope *s,
                                pithp_mesh_group *g,
                                const void *from,
                                void *to,
                                size_t bytes);
void pithp_mesh_group_exchange(pith_scope *s,
                               pithp_mesh_group *g,
                               int sends,
                               const pithp_parcel *send,
                               int receives,
                               const pithp_parcel *receive);

/* Join the world of a transport, for tests, in place of the one of the launcher. */
const pith_mesh *pithp_mesh_open_by(pith_scope *s,
                                    const pithp_transport *transport,
                                    void *closure,
                                    const pith_mesh_axis *axes,
                                    const pith_mesh_options *options);

#endif
