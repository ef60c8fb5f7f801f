/* Communicators of groups: devices that move data by a library, without the host. They
 * are made at an agreement of all ranks, so in the same order everywhere: by the first
 * eager collective of a group, or when a program with collectives of it first runs. */
#include "gpu/communicator.h"
#include "gpu/cuda/decide.h"
#include "gpu/gpu_internal.h"
#include "mesh/world.h"

#include <stdio.h>
#include <string.h>

static pithp_device *device_of(const pithp_world *w) {
    return pithp_runtime_device(w->runtime);
}

void pithp_world_library(pithp_world *w, char *text, size_t room) {
    pithp_device *d = device_of(w);
    char version[PITHP_NCCL_VERSION_BYTES];
    text[0] = 0;
    if (!d || !d->backend->communicator_version)
        return;
    const int found = d->backend->communicator_version(d);
    pithp_nccl_version_text(found, version);
    snprintf(text, room, ", NCCL %s", version);
    w->communicates = found > 0;
}

/* What the first rank of a group tells the others. */
typedef struct invitation {
    int64_t valid;
    unsigned char id[PITHP_COMMUNICATOR_ID_BYTES];
} invitation;

static bool invite(pith_scope *s, pithp_mesh_group *g, invitation *to, pithp_error *e) {
    pithp_device *d = device_of(g->world);
    memset(to, 0, sizeof *to);
    if (g->rank == 0)
        to->valid = d->backend->communicator_id(d, to->id, e) == PITH_OK;
    pithp_mesh_group_broadcast(s, g, 0, to, sizeof *to);
    return to->valid;
}

/* Whether it is so on all ranks of the mesh. */
static bool is_everywhere(pith_scope *s, bool here) {
    int64_t least = here, most = here;
    pithp_collective_range(s, &least, &most);
    return least == 1;
}

static void list(pithp_world *w, pithp_mesh_group *g) {
    g->next_connected = w->connected;
    __atomic_store_n(&w->connected, g, __ATOMIC_RELEASE);
}

/* Every rank has its memory before the first of them waits for the others. */
static void connect(pith_scope *s, pithp_mesh_group *g) {
    pithp_world *w = g->world;
    pithp_device *d = device_of(w);
    pithp_communicator *c = NULL;
    pithp_error e = {.text = "on another rank"};
    invitation invited;
    const bool made =
        d->backend->communicator_make(d, g->axes, w->timeout_ns, &c, &e) == PITH_OK;
    const bool valid = invite(s, g, &invited, &e);
    bool opened = is_everywhere(s, made && valid);
    if (opened) {
        const pithp_communicator_start how = {invited.id, g->rank, g->size};
        opened = d->backend->communicator_open(d, c, &how, &e) == PITH_OK;
        opened = is_everywhere(s, opened);
    }
    if (opened && !w->broken) {
        g->communicator = c;
        list(w, g);
        return;
    }
    if (made)
        d->backend->communicator_close(d, c, true);
    pithp_log(w->runtime, PITH_LOG_WARNING,
              "collectives over %s go through memory of the host: %s", g->axes, e.text);
}

void pithp_mesh_group_connect(pith_scope *s, pithp_mesh_group *g) {
    pithp_world *w = g->world;
    if (g->connected || g->size == 1 || w->broken)
        return;
    g->connected = true;
    if (pithp_mesh_group_link(s, g) && w->communicates)
        connect(s, g);
}

void pithp_mesh_group_transfer(pith_scope *s,
                               pithp_mesh_group *g,
                               const struct pithp_device_move *t) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (!g->world->broken &&
        st->device->backend->transfer(st, g->communicator, t, &e) != PITH_OK)
        pithp_mesh_group_break(s, g, e.text);
}

bool pithp_world_is_connected(const pithp_world *w, pithp_error *e) {
    const pithp_mesh_group *g = __atomic_load_n(&w->connected, __ATOMIC_ACQUIRE);
    pithp_device *d = device_of(w);
    bool connected = true;
    for (; g && connected; g = g->next_connected)
        connected = d->backend->communicator_look(d, g->communicator, e) == PITH_OK;
    return connected;
}

void pithp_world_disconnect(pithp_world *w, bool aborts) {
    pithp_device *d = device_of(w);
    for (pithp_mesh_group *g = w->connected; g; g = g->next_connected) {
        d->backend->communicator_close(d, g->communicator, aborts);
        g->communicator = NULL;
    }
    w->connected = NULL;
}
