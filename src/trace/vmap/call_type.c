/* The record that rules of the user for batches get. */
#include "pith/node.h"
#include "pith/vmap.h"

#include "tree/node_def.h"

const pith_type *pith_vmap_call_pith_type(void) {
    typedef pith_vmap_call Self;
    static const pith_type *cache;
    static const pith_field fields[] = {PITH_STATIC(size), PITH_STATIC(mapped),
                                        PITH_TREE(arguments)};
    static const pith_type_spec spec = {"pith_vmap_call",
                                        sizeof(Self),
                                        _Alignof(Self),
                                        fields,
                                        sizeof fields / sizeof *fields,
                                        NULL};
    const pith_type *known = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);
    return known ? known : pith_type_register(&spec, &cache);
}
