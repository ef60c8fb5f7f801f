/* The frame of eager calls that move rows: entering, agreeing, leaving, and memory that
 * engines reach. */
#include "gpu/communicator.h"
#include "route/route_internal.h"

#include <string.h>

/* ---- Entering and leaving ---- */

/* Whether devices move rows without the host. */
static bool connects(const pithp_transfer *c) {
    return c->group->size == 1 || c->group->communicator;
}

bool pithp_transfer_enter(pithp_transfer *c,
                          pith_scope *s,
                          const char *function,
                          const char *axes) {
    *c = (pithp_transfer){.s = s, .w = s, .function = function};
    const bool fine = pithp_enter_as(s, function);
    if (!pithp_scope_writable(s))
        return false;
    c->recorded = pithp_scope_trace(s);
    if (fine && (c->group = pithp_mesh_group_of(s, axes))) {
        c->staged = !pithp_scope_device(s)->backend->addressable && !connects(c);
        pith_scope *w = pithp_temporaries_open(s);
        c->w = w ? w : s;
    }
    return true;
}

bool pithp_transfer_agree(pithp_transfer *c, uint64_t extra) {
    if (pithp_transfer_fine(c))
        pithp_synchronise(c->w);
    const pithp_intent intent = {.operation = c->function,
                                 .what = c->what,
                                 .extra = extra,
                                 .describe = c->describe,
                                 .closure = c->closure};
    if (!pithp_collective_begin(c->w, &intent))
        return false;
    pithp_mesh_group_connect(c->w, c->group);
    c->direct = !pithp_scope_device(c->w)->backend->addressable && connects(c);
    return true;
}

const pith_array *pithp_transfer_leave(pithp_transfer *c, const pith_array *result) {
    if (c->w == c->s)
        return NULL;
    return pithp_temporaries_close(c->s, c->w, pithp_transfer_fine(c) ? result : NULL);
}

/* ---- Messages ---- */

void pithp_transfer_copy(pithp_transfer *c, void *to, const void *from, size_t bytes) {
    if (bytes && c->direct)
        pithp_copy(c->w, to, from, bytes);
    else if (bytes)
        memcpy(to, from, bytes);
}

void pithp_transfer_clear(pithp_transfer *c, void *to, size_t bytes) {
    const uint8_t nothing = 0;
    if (bytes && c->direct)
        pithp_fill(c->w, to, &nothing, 1, (int64_t)bytes);
    else if (bytes)
        memset(to, 0, bytes);
}

void pithp_transfer_pass(pithp_transfer *c, const pithp_exchange *x) {
    if (!c->direct) {
        pithp_mesh_group_messages(c->w, c->group, x);
        return;
    }
    if (c->group->size > 1 && (x->sends || x->receives))
        pithp_mesh_group_transfer(c->w, c->group,
                                  &(pithp_device_move){.kind = PITHP_TRANSFER_MESSAGES,
                                                       .sends = x->send,
                                                       .receives = x->receive,
                                                       .send_count = x->sends,
                                                       .receive_count = x->receives});
    for (int i = 0; c->group->size == 1 && i < x->sends && i < x->receives; i++)
        pithp_transfer_copy(c, x->receive[i].data, x->send[i].data, x->send[i].bytes);
    if (x->meanwhile)
        x->meanwhile(x->closure);
}

/* ---- Memory of messages ---- */

void *pithp_transfer_room(pithp_transfer *c, size_t bytes) {
    void *room = pithp_kept_allocate(c->w->runtime, bytes);
    if (!room)
        pithp_fail_memory(c->w, bytes);
    return room;
}

void pithp_transfer_give_back(pithp_transfer *c, void *room, size_t bytes) {
    pithp_kept_release(c->w->runtime, room, bytes);
}

/* ---- Memory that engines reach ---- */

/* The host reaches the elements of arrays of its own device. Others are staged. */
pithp_piece pithp_piece_of(pithp_transfer *c, const pith_array *a, bool load) {
    pithp_piece p = {.array = NULL};
    if (!a || !pithp_transfer_fine(c)) /* else it may be no array */
        return p;
    p.array = a;
    const size_t bytes = pithp_array_spec(a)->bytes;
    if (pithp_scope_device(c->w)->backend->addressable) {
        p.data = a->data;
        return p;
    }
    p.data = pithp_kept_allocate(c->w->runtime, bytes);
    p.staged = p.data != NULL;
    if (!p.data)
        pithp_fail_memory(c->w, bytes);
    else if (load && bytes)
        pithp_copy_out(c->w, p.data, a->data, bytes);
    return p;
}

void pithp_piece_store(pithp_transfer *c, pithp_piece *p) {
    const size_t bytes = p->array ? pithp_array_spec(p->array)->bytes : 0;
    if (p->staged && bytes && pithp_transfer_fine(c))
        pithp_copy_in(c->w, p->array->data, p->data, bytes);
    pithp_piece_free(c, p);
}

void pithp_piece_free(pithp_transfer *c, pithp_piece *p) {
    const size_t bytes = p->array ? pithp_array_spec(p->array)->bytes : 0;
    if (p->staged)
        pithp_kept_release(c->w->runtime, p->data, bytes);
    p->staged = false;
}

pithp_piece pithp_row_piece_of(pithp_transfer *c, const pith_array *a, bool load) {
    const bool here = a && pithp_transfer_fine(c) && !c->staged;
    return here ? (pithp_piece){.array = a, .data = a->data} : pithp_piece_of(c, a, load);
}

void pithp_row_piece_store(pithp_transfer *c, pithp_piece *p) {
    if (c->direct)
        pithp_piece_free(c, p);
    else
        pithp_piece_store(c, p);
}
