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

typedef uint32_t pithp_axis_set; /* bit k: axis k of a mesh */
enum { PITHP_AXES_BYTES = PITHP_MESH_AXES * (PITHP_AXIS_BYTES + 1) };

/* A permutation of the ranks of a group: from_to[k][0] sends to from_to[k][1], in
 * ascending order of the senders. Lives as long as its group; equal ones are one. */
typedef struct pithp_mesh_pairs {
    const struct pithp_mesh_pairs *next;
    int64_t to, from; /* of this rank: whom it sends to and receives from; -1: no rank */
    int64_t count;
    int64_t from_to[][2];
} pithp_mesh_pairs;

/* The ranks that differ only along some axes. Lives as long as the runtime. */
typedef struct pithp_mesh_group {
    pithp_axis_numbers list;
    int64_t size, rank;
    pithp_world *world;
    const pith_mesh *mesh;
    pithp_transport_link *link; /* NULL: not made yet */
    struct pithp_communicator
        *communicator; /* of the ranks' devices; NULL: data goes through the host */
    bool connected;    /* it was made, or cannot be */
    char axes[PITHP_AXES_BYTES];   /* "x,y" */
    const pithp_mesh_pairs *pairs; /* that were made */
    struct pithp_mesh_group *next, *next_connected;
} pithp_mesh_group;

/* ---- Meshes ---- */

/* The ranks along axes of the scope's mesh. NULL: error set. */
pithp_mesh_group *pithp_mesh_group_of(pith_scope *s, const char *axes);
/* The ranks along a set of axes of a mesh, in the order of the mesh. NULL: error set. */
pithp_mesh_group *
pithp_mesh_group_along(pith_scope *s, const pith_mesh *mesh, pithp_axis_set axes);
static inline pithp_axis_set pithp_mesh_group_axes(const pithp_mesh_group *g) {
    pithp_axis_set axes = 0;
    for (int i = 0; i < g->list.count; i++)
        axes |= (pithp_axis_set)1 << g->list.axes[i];
    return axes;
}
/* All axes of a mesh. */
pithp_axis_set pithp_mesh_axes(const pith_mesh *mesh);
/* The names of axes, "x,y"; text must have PITHP_AXES_BYTES. */
void pithp_mesh_axes_text(const pith_mesh *mesh, pithp_axis_set axes, char *text);
/* A number that tells the scope's mesh from others of the runtime; 0: none. */
uint32_t pithp_mesh_number(const pith_scope *s);
/* Whether a message is new, which is logged once for a mesh's runtime; the key tells it
 * from others. Of many messages the last ones are always new. */
bool pithp_mesh_tells(const pith_mesh *mesh, uint64_t key);
/* A permutation of a group's ranks. Numbers are ranks of it, each at most once on a side;
 * otherwise, and without memory, NULL: error set. */
const pithp_mesh_pairs *pithp_mesh_pairs_of(pith_scope *s,
                                            pithp_mesh_group *g,
                                            int64_t count,
                                            const int64_t (*from_to)[2]);
/* The permutation in which each rank sends `by` ranks on. */
const pithp_mesh_pairs *
pithp_mesh_shift_of(pith_scope *s, pithp_mesh_group *g, int64_t by, bool wrap);
/* The permutation that sends everything back. */
const pithp_mesh_pairs *
pithp_mesh_pairs_back(pith_scope *s, pithp_mesh_group *g, const pithp_mesh_pairs *pairs);
/* The group of all ranks of a group's mesh, which pithp_mesh_group_of has made before. */
pithp_mesh_group *pithp_mesh_group_all(const pithp_mesh_group *g);
/* This rank cannot do what the others wait for: end the job, and say why. */
void pithp_mesh_group_break(pith_scope *s, pithp_mesh_group *g, const char *text);
/* The number over all ranks of a rank of a group. */
int64_t pithp_mesh_group_world_rank(const pithp_mesh_group *g, int64_t rank);
/* The first rank, over all, of the ranks that differ from a rank of the mesh only along
 * the axes of a group. */
int64_t pithp_mesh_group_first(const pithp_mesh_group *g, int64_t rank);
/* The number of a rank of the mesh within the group of this rank; -1: it is not in it. */
int64_t pithp_mesh_group_find(const pithp_mesh_group *g, int64_t rank);
/* The coordinates of a rank, "x=1, y=0"; text must have PITHP_WHAT_BYTES. */
void pithp_mesh_place(const pith_mesh *mesh, int64_t rank, char *text);

/* ---- Agreements ---- */

/* A part of an intent. */
typedef struct pithp_intent_part {
    uint64_t digest;              /* of the parts up to this one */
    const char *operation, *site; /* site: or NULL */
    char what[PITHP_WHAT_BYTES];
} pithp_intent_part;

/* What this rank is about to do. `what` describes it in messages: "f64[3] over x". Both
 * texts, the extra value and the call site must be equal on all ranks. A text that costs
 * time is made by `describe` instead, where ranks differ; then `extra` has a digest of
 * what it says. */
typedef struct pithp_intent {
    const char *operation; /* "pith_psum" */
    const char *what;
    uint64_t extra;
    void (*describe)(const void *closure, char what[PITHP_WHAT_BYTES]); /* (optional) */
    bool decides; /* a decision follows, if no checks are collected */
    /* What it consists of, for messages: ranks that differ name the first part in which
     * they do. Then the call sites need not be equal. (optional) */
    int64_t (*parts)(const void *closure);
    void (*part)(const void *closure, int64_t k, pithp_intent_part *part);
    const void *closure;
} pithp_intent;

/* Whether the runtime of s has several ranks. */
bool pithp_has_ranks(const pith_scope *s);
/* Begin a collective: compare what all ranks are about to do, and whether their scopes
 * have failed. False: no rank goes on, and every scope has an error. True: the caller
 * moves its data by the functions below, in which no rank can fail alone, and calls
 * pithp_collective_end. */
bool pithp_collective_begin(pith_scope *s, const pithp_intent *intent);
void pithp_collective_end(pith_scope *s);
/* Begin a collective of which all ranks know that they make it: nothing is compared.
 * operation: a literal. */
void pithp_collective_resume(pith_scope *s, const char *operation, const char *site);
/* Agreements so far. */
uint64_t pithp_collective_count(const pith_scope *s);
/* Whether all ranks have agreed in one since then. */
bool pithp_collective_agreed_since(const pith_scope *s, uint64_t before);
/* Whether a decision follows the last one, as its intents have said. */
bool pithp_collective_decides(const pith_scope *s);
/* Take part in the next agreement of the other ranks with the error of s, which has
 * failed before it could do what they do. */
void pithp_collective_absent(pith_scope *s, const char *operation);
/* Within a collective: whether the scope of no rank has failed since its begin. */
bool pithp_collective_agrees(pith_scope *s);
/* Whether a condition holds on all ranks: a collective of its own. False: every scope has
 * an error. Only for scopes with ranks. */
bool pithp_ranks_all(pith_scope *s, const char *operation, bool *holds);
/* The least and the greatest of a value over all ranks, within a collective. */
void pithp_collective_range(pith_scope *s, int64_t *least, int64_t *most);

/* ---- Decisions ----
 *
 * Where every rank comes, whatever has happened to it before: the end of a try, of a fix,
 * of a callback, of a save. A rank with an error waits here for the others, and takes
 * part as a failed one in the collectives in which they still are. Only for scopes with
 * ranks, and with the same calls on all ranks. */

/* The world of the scope's mesh; NULL: the scope has no mesh, or there is one rank. */
pithp_world *pithp_ranks_of(const pith_scope *s);

/* Whether plain arguments are held against those of other ranks: .compare. */
bool pithp_ranks_compare(const pith_scope *s);
/* Whether a call on a scope takes part in decisions: the scope is open, is not traced,
 * and has ranks. Safe for any pointer; the scope may have failed. */
bool pithp_scope_joins(const pith_scope *s);

typedef struct pithp_decision {
    const char *operation; /* "pith_propagate" */
    const char *what; /* what this rank asks for, which must be equal, too; or NULL */
    uint64_t extra;   /* must be equal on all ranks without trouble */
    /* As in an intent: what extra is a digest of. (optional) */
    void (*describe)(const void *closure, char what[PITHP_WHAT_BYTES]);
    const void *closure;
    uint64_t trouble;   /* in: the place of this rank's failure, from 1, or 0: none; at
                           most 2^46. out: the least of all ranks */
    uint64_t error;     /* in: the place, from 0, if the scope has failed */
    bool checks;        /* in: this rank's failure is no error: a check failed */
    const char *reason; /* in: what it is, for messages: "the state is not finite"; NULL:
                           a check failed */
    bool asks, writes;  /* in: this rank has a request, writes a file; out: a rank */
    uint64_t least;     /* in: a value; out: the least of all ranks */
    int64_t first;      /* out: the rank of the least trouble, or -1 */
} pithp_decision;

/* Decide. false: every rank's scope has an error. Otherwise nothing is done about
 * trouble, of which all know the same. */
bool pithp_decide(pith_scope *s, pithp_decision *d);
/* The scopes of the other ranks get PITH_E_PEER with the error of a rank, unless they
 * have one. */
void pithp_decision_tell(pith_scope *s, const char *operation, int64_t failed);
/* A decision about errors alone: whether no rank's scope has failed; else all have an
 * error. Without ranks: whether the scope has not. */
bool pithp_ranks_fine(pith_scope *s, const char *operation);
/* The least value of all ranks, if no rank's scope has failed; else all have an error.
 * Without ranks: whether the scope has not. */
bool pithp_ranks_least_of(pith_scope *s, const char *operation, uint64_t *value);
/* Decisions of code within a try: by 1, and -1 at its end. */
void pithp_decisions_nest(pith_scope *s, int by);
/* After a decision: the least of each word of all ranks; bytes of one rank; the same
 * number of bytes of each. false: the job ends, and the scope has an error. */
bool pithp_ranks_least(pith_scope *s, uint64_t words[PITHP_AGREE_WORDS]);
bool pithp_ranks_broadcast(pith_scope *s, int64_t root, void *data, size_t bytes);
bool pithp_ranks_gather(pith_scope *s, const void *own, void *all, size_t bytes);
/* The number of this rank, and of all, of a scope with ranks. */
int64_t pithp_ranks_own(const pith_scope *s);
int64_t pithp_ranks_count(const pith_scope *s);
/* Whether this rank writes what one rank writes: rank 0, or the only one. */
bool pithp_ranks_write(const pith_scope *s);
enum { PITHP_MOST_RANKS = 1 << 16 };

/* Failed checks (raise.c): on every rank the failure that rank `first` describes in e,
 * which the other ranks need not set. failed: of this rank, too. */
void pithp_ranks_raise(pith_scope *s, int64_t first, pithp_error *e, bool failed);
/* The end of a compiled call with collectives whose checks have no collector: waits
 * for them. false: every rank has an error, that of the first failed check. */
bool pithp_ranks_end_call(pith_scope *s, const char *operation);

/* Connect the devices of a group, once, within a collective that all ranks of the mesh
 * make: they connect groups in the order of such collectives. If that fails on a rank,
 * all of them move the group's data through memory of the host. */
void pithp_mesh_group_connect(pith_scope *s, pithp_mesh_group *g);
/* Move data between the devices of a group of several ranks that is connected, in the
 * order of the scope's stream. A failure ends the job. */
struct pithp_device_move;
void pithp_mesh_group_transfer(pith_scope *s,
                               pithp_mesh_group *g,
                               const struct pithp_device_move *t);

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
void pithp_mesh_group_messages(pith_scope *s,
                               pithp_mesh_group *g,
                               const pithp_exchange *x);
static inline void pithp_mesh_group_exchange(pith_scope *scope,
                                             pithp_mesh_group *g,
                                             int sends,
                                             const pithp_parcel *send,
                                             int receives,
                                             const pithp_parcel *receive) {
    pithp_mesh_group_messages(
        scope, g,
        &(pithp_exchange){
            .sends = sends, .receives = receives, .send = send, .receive = receive});
}

/* Join the world of a transport, for tests, in place of the one of the launcher. */
const pith_mesh *pithp_mesh_open_by(pith_scope *s,
                                    const pithp_transport *transport,
                                    void *closure,
                                    const pith_mesh_axis *axes,
                                    const pith_mesh_options *options);

#endif
