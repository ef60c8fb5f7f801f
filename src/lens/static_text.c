/* Static texts as trees: the record type pith_text. */
#include "lens/lens_internal.h"

const pith_type *pith_text_pith_type(void) {
    static const pith_type *cache;
    typedef pith_text Self;
    static const pith_field fields[] = {PITH_STATIC(text)};
    const pith_type_spec spec = {"pith_text", sizeof(Self),        _Alignof(Self),
                                 fields,      PITHP_COUNT(fields), NULL};
    const pith_type *known = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);
    return known ? known : pith_type_register(&spec, &cache);
}

const pith_text *pith_text_make(pith_scope *s, const char *text) {
    return pithp_enter(s) ? pithp_freeze(s, pith_text_pith_type(), &(pith_text){text})
                          : NULL;
}

const pith_text *pithp_lens_text_of(const void *tree) {
    return tree && pithp_kind_of(tree) == PITHP_KIND_RECORD &&
                   pithp_node_def_of(tree)->type == pith_text_pith_type()
               ? tree
               : NULL;
}
