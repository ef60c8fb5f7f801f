/* The need of a route as a requirement of its three sizes. */
#include "pith/capacity.h"
#include "pith/route.h"

#include "tree/tree_internal.h"

/* The lens of the three sizes of the route that a lens finds. NULL: error set. */
static const pith_lens *sizes_of(pith_scope *s, const pith_lens *lens) {
    static const char *const paths[] = {".max_peers", ".max_send", ".max_receive"};
    const pith_lens *parts[3];
    for (int i = 0; i < 3; i++)
        if (!(parts[i] = pith_lens_focus(s, lens, paths[i])))
            return NULL;
    return pith_lens_merge(s, 3, parts);
}

void pith_route_require(pith_scope *s,
                        const pith_route *route,
                        const pith_lens *lens,
                        double base) {
    static const char function[] = "pith_route_require";
    if (!pithp_enter(s) || pithp_tree_check(s, route, function, "route") != PITH_OK)
        return;
    if (!pith_is(pith_route, route)) {
        pithp_fail(s, PITH_E_TYPE, NULL, "%s: route: expected a pith_route", function);
        return;
    }
    pith_scope *on = pithp_on_behalf(s);
    const pith_lens *sizes = sizes_of(on, lens);
    const pith_capacity *capacity =
        sizes ? pith_capacity_make(
                    on,
                    &(pith_capacity_options){
                        PITH_SIZES(route->max_peers, route->max_send, route->max_receive),
                        .lens = sizes, .base = base})
              : NULL;
    if (capacity)
        pith_capacity_require(on, capacity, route->need);
}
