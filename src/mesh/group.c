/* Groups of ranks: their links, made by the first collective along their axes, and the
 * moves of data between their ranks. */
#include "mesh/world.h"

#include <stdio.h>
#include <string.h>

pithp_transport_link *pithp_mesh_group_link(pith_scope *s, pithp_mesh_group *g) {
    pithp_world *w = g->world;
    if (g->link || w->broken || w->left)
        return w->broken || w->left ? NULL : g->link;
    /* The colour numbers the ranks along the other axes. */
    int64_t colour = 0;
    bool ordered = g->size == w->joined.size;
    for (int axis = 0; axis < g->mesh->count; axis++) {
        bool inside = false;
        for (int i = 0; i < g->list.count; i++)
            inside |= g->list.axes[i] == axis;
        if (!inside)
            colour = colour * g->mesh->axes[axis].size + g->mesh->axes[axis].rank;
    }
    for (int i = 1; i < g->list.count; i++)
        ordered &= g->list.axes[i] > g->list.axes[i - 1];
    if (ordered)
        return g->link = w->joined.all;
    pithp_transport_trouble t = {.code = PITH_OK};
    if (w->transport->split(w->joined.all, colour, g->rank, &g->link, &t) != PITH_OK) {
        g->link = NULL;
        pithp_world_break(w, s, &t);
    }
    return g->link;
}

pithp_mesh_group *pithp_mesh_group_all(const pithp_mesh_group *g) {
    const pith_mesh *m = g->mesh;
    for (pithp_mesh_group *all = m->groups; all; all = all->next) {
        bool is_all = all->list.count == m->count;
        for (int i = 0; is_all && i < m->count; i++)
            is_all = all->list.axes[i] == i;
        if (is_all)
            return all;
    }
    return (pithp_mesh_group *)(uintptr_t)g;
}

void pithp_mesh_group_break(pith_scope *s, pithp_mesh_group *g, const char *text) {
    pithp_transport_trouble t = {.code = PITH_E_PEER};
    if (s->site)
        snprintf(t.text, sizeof t.text, "%s (%s)", text, pithp_site_name(s->site));
    else
        snprintf(t.text, sizeof t.text, "%s", text);
    if (g->world->joined.size > 1)
        pithp_world_break(g->world, s, &t);
    else
        pithp_fail(s, PITH_E_STRUCTURE, NULL, "%s", text);
}

/* Call a function of the transport on the link of a group of several ranks. The trouble
 * is written by an engine that fails: to clear its text takes as long as a short message.
 */
#define MOVE(function, ...)                                                              \
    do {                                                                                 \
        pithp_transport_link *link_ = pithp_mesh_group_link(s, g);                       \
        pithp_transport_trouble t_;                                                      \
        if (link_ && g->world->transport->function(link_, __VA_ARGS__, &t_) != PITH_OK)  \
            pithp_world_break(g->world, s, &t_);                                         \
    } while (0)

static void copy_bytes(void *to, const void *from, size_t bytes) {
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

void pithp_mesh_group_reduce(pith_scope *s,
                             pithp_mesh_group *g,
                             pithp_combine how,
                             pith_dtype dtype,
                             void *data,
                             int64_t count) {
    if (g->size > 1)
        MOVE(reduce, how, dtype, data, count);
}

void pithp_mesh_group_scan(pith_scope *s,
                           pithp_mesh_group *g,
                           pith_dtype dtype,
                           const void *from,
                           void *to,
                           int64_t count) {
    if (count)
        memset(to, 0, (size_t)count * pith_dtype_size(dtype));
    if (g->size > 1)
        MOVE(scan, dtype, from, to, count);
}

void pithp_mesh_group_broadcast(pith_scope *s,
                                pithp_mesh_group *g,
                                int64_t root,
                                void *data,
                                size_t bytes) {
    if (g->size > 1)
        MOVE(broadcast, root, data, bytes);
}

void pithp_mesh_group_gather(pith_scope *s,
                             pithp_mesh_group *g,
                             const void *from,
                             void *to,
                             size_t bytes) {
    if (g->size > 1)
        MOVE(gather, from, to, bytes);
    else
        copy_bytes(to, from, bytes);
}

void pithp_mesh_group_transpose(pith_scope *s,
                                pithp_mesh_group *g,
                                const void *from,
                                void *to,
                                size_t bytes) {
    if (g->size > 1)
        MOVE(transpose, from, to, bytes);
    else
        copy_bytes(to, from, bytes);
}

void pithp_mesh_group_messages(pith_scope *s,
                               pithp_mesh_group *g,
                               const pithp_exchange *x) {
    if (g->size > 1) {
        MOVE(exchange, x);
        return;
    }
    for (int i = 0; i < x->sends && i < x->receives; i++)
        copy_bytes(x->receive[i].data, x->send[i].data, x->send[i].bytes);
    if (x->meanwhile)
        x->meanwhile(x->closure);
}
