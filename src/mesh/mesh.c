/* Meshes of a runtime: opened by all ranks with the same axes, and interned. */
#include "base/in_flight.h"
#include "gpu/gpu_internal.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pith_mesh *alive;

void pithp_mesh_begin(pith_mesh *m) {
    pthread_mutex_lock(&lock);
    m->next_alive = alive;
    alive = m;
    pthread_mutex_unlock(&lock);
}

void pithp_mesh_end(pith_mesh *m) {
    pthread_mutex_lock(&lock);
    pith_mesh **at = &alive;
    while (*at != m)
        at = &(*at)->next_alive;
    *at = m->next_alive;
    pthread_mutex_unlock(&lock);
}

static bool is_alive(const pith_mesh *mesh) {
    pthread_mutex_lock(&lock);
    const pith_mesh *m = alive;
    while (m && m != mesh)
        m = m->next_alive;
    pthread_mutex_unlock(&lock);
    return m != NULL;
}

static bool is_same(const pith_mesh *a, const pith_mesh *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = a->axes[i].size == b->axes[i].size &&
               strcmp(a->axes[i].name, b->axes[i].name) == 0;
    return same;
}

/* The mesh of the world with the same axes, or a new one. NULL: error set. */
static pith_mesh *intern(pith_scope *s, pithp_world *w, const pith_mesh *like) {
    pith_mesh *m = w->meshes;
    while (m && !is_same(m, like))
        m = m->next;
    if (m)
        return m;
    m = pithp_allocate(s->runtime, sizeof *m);
    if (!m) {
        pithp_fail_memory(s, sizeof *m);
        return NULL;
    }
    *m = *like;
    m->number = w->meshes ? w->meshes->number + 1 : 1;
    m->next = w->meshes;
    w->meshes = m;
    pithp_mesh_begin(m);
    return m;
}

/* Every rank makes the mesh first, so that none fails after the agreement. */
static const pith_mesh *
open_mesh(pith_scope *s, pithp_world *w, const pith_mesh_axis *axes) {
    pith_mesh like = {.world = w};
    pith_mesh *m = NULL;
    pithp_opening *o = s->room[PITHP_ROOM_MESH];
    char what[PITHP_WHAT_BYTES] = "";
    if (s->error.code == PITH_OK &&
        pithp_axes_lay_out(s, axes, w->joined.size, &like) == PITH_OK) {
        pithp_axes_number(&like, w->joined.rank);
        pthread_mutex_lock(&w->lock);
        m = intern(s, w, &like);
        pthread_mutex_unlock(&w->lock);
        o = o ? o : pithp_scope_allocate(s, sizeof *o);
    }
    for (int i = 0, at = 0; m && i < m->count && at < (int)sizeof what; i++)
        at += snprintf(what + at, sizeof what - (size_t)at, "%s%s=%" PRId64,
                       i ? ", " : "", m->axes[i].name, m->axes[i].size);
    if (!pithp_collective_begin(s,
                                &(pithp_intent){.operation = s->function, .what = what}))
        return NULL;
    *o = (pithp_opening){.mesh = m, .number = w->number};
    pithp_collective_end(s);
    s->room[PITHP_ROOM_MESH] = o;
    return m;
}

/* Of a mesh open in any of the three ways. A scope that has failed takes part. */
static const pith_mesh *open_by(pith_scope *s,
                                const pithp_join *how,
                                const pith_mesh_axis *axes,
                                const pith_mesh_options *options) {
    static const pith_mesh_options none;
    pithp_world *w = pithp_world_of(s->runtime);
    if (w && how->communicator)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the runtime has joined its ranks before",
                   s->function);
    if (!w && !(w = pithp_world_join(s, how, options ? options : &none)))
        return NULL;
    return open_mesh(s, w, axes);
}

const pith_mesh *pith_mesh_open(pith_scope *s,
                                const pith_mesh_axis *axes,
                                const pith_mesh_options *options) {
    PITHP_IN_FLIGHT(s, "pith_mesh_open");
    pithp_enter_untraced(s, "pith_mesh_open");
    return pithp_scope_writable(s) ? open_by(s, &(pithp_join){0}, axes, options) : NULL;
}

const pith_mesh *pith_mesh_open_over(pith_scope *s,
                                     const char *library,
                                     const void *communicator,
                                     size_t bytes,
                                     const pith_mesh_axis *axes,
                                     const pith_mesh_options *options) {
    PITHP_IN_FLIGHT(s, "pith_mesh_open_over");
    pithp_enter_untraced(s, "pith_mesh_open_over");
    if (!pithp_scope_writable(s))
        return NULL;
    if (!library || !communicator || !bytes) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_mesh_open_over: no communicator");
        return NULL;
    }
    const pithp_join how = {
        .library = library, .communicator = communicator, .communicator_bytes = bytes};
    return open_by(s, &how, axes, options);
}

const pith_mesh *pithp_mesh_open_by(pith_scope *s,
                                    const pithp_transport *transport,
                                    void *closure,
                                    const pith_mesh_axis *axes,
                                    const pith_mesh_options *options) {
    PITHP_IN_FLIGHT(s, "pith_mesh_open");
    pithp_enter_untraced(s, "pith_mesh_open");
    const pithp_join how = {.transport = transport, .closure = closure};
    return pithp_scope_writable(s) ? open_by(s, &how, axes, options) : NULL;
}

const pith_mesh *pith_mesh_of(const pith_scope *s) {
    if (!pithp_scope_writable(s))
        return NULL;
    const pithp_opening *o = pithp_opening_of(s);
    return o ? o->mesh : NULL;
}

uint32_t pithp_mesh_number(const pith_scope *s) {
    const pith_mesh *m = pith_mesh_of(s);
    return m ? m->number : 0;
}

pith_mesh_info pith_mesh_about(const pith_mesh *mesh) {
    if (!is_alive(mesh))
        return (pith_mesh_info){.transport = "", .library = "", .device = "", .host = ""};
    const pithp_world *w = mesh->world;
    const pithp_joined *j = &w->joined;
    return (pith_mesh_info){.rank = j->rank,
                            .size = j->size,
                            .node_rank = j->node_rank,
                            .node_size = j->node_size,
                            .node = j->node,
                            .nodes = j->nodes,
                            .transport = w->transport ? w->transport->name : "self",
                            .library = j->library,
                            .device = w->device,
                            .host = w->host};
}

bool pithp_mesh_tells(const pith_mesh *mesh, uint64_t key) {
    _Atomic uint64_t *told = mesh->world->told;
    for (int k = 0; k < PITHP_COUNT(mesh->world->told); k++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&told[k], &found, key | 1))
            return true;
        if (found == (key | 1))
            return false;
    }
    return true;
}

/* ---- Ranks of a scope ---- */

pithp_world *pithp_ranks_of(const pith_scope *s) {
    pithp_world *w = pithp_world_of(s->runtime);
    if (!w || w->joined.size < 2)
        return NULL;
    return pithp_opening_of(s) ? w : NULL;
}

bool pithp_ranks_compare(const pith_scope *s) {
    const pithp_world *w = pithp_ranks_of(s);
    return w && w->compares;
}

bool pithp_scope_joins(const pith_scope *s) {
    return pithp_scope_writable(s) && !s->room[PITHP_ROOM_TRACE] && pithp_ranks_of(s);
}

int64_t pithp_ranks_own(const pith_scope *s) {
    return pithp_ranks_of(s)->joined.rank;
}

int64_t pithp_ranks_count(const pith_scope *s) {
    return pithp_ranks_of(s)->joined.size;
}

bool pithp_ranks_write(const pith_scope *s) {
    const pithp_world *w = pithp_ranks_of(s);
    return !w || w->joined.rank == 0;
}

bool pithp_has_ranks(const pith_scope *s) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w && w->joined.size > 1;
}
