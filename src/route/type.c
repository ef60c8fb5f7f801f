/* The record type pith_route, and empty routes. */
#include "route/route_internal.h"

const pith_type *pith_route_pith_type(void) {
    static const pith_type *cache;
    typedef pith_route Self;
    static const pith_field fields[] = {
        PITH_LEAF(peer, "i32[max_peers]", .fill = -1),
        PITH_LEAF(send, "i32[max_peers,max_send]", .fill = -1),
        PITH_LEAF(sent, "i64[max_peers]"),
        PITH_LEAF(received, "i64[max_peers]"),
        PITH_LEAF(need, "i64[3]"),
        PITH_STATIC(max_peers, .initial = 8),
        PITH_STATIC(max_send, .initial = 64),
        PITH_STATIC(max_receive, .initial = 64),
    };
    const pith_type_spec spec = {"pith_route", sizeof(Self),        _Alignof(Self),
                                 fields,       PITHP_COUNT(fields), NULL};
    const pith_type *known = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);
    return known ? known : pith_type_register(&spec, &cache);
}

const pith_route *
pith_route_room(pith_scope *s, int64_t max_peers, int64_t max_send, int64_t max_receive) {
    const pith_route sizes = {
        .max_peers = max_peers, .max_send = max_send, .max_receive = max_receive};
    return pithp_enter(s) ? pith_make(pithp_on_behalf(s), pith_route, &sizes, NULL)
                          : NULL;
}
