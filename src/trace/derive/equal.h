/* Cotangents of values that are equal on all ranks (within src/trace/derive). */
#ifndef PITH_TRACE_DERIVE_EQUAL_H
#define PITH_TRACE_DERIVE_EQUAL_H

#include "trace/derive/derive_internal.h"

/* Whether a map has such values. Then each call outside of traces compares before it is
 * compiled. */
bool pithp_cotangents_marked(const pithp_linear *l);
/* In a trace: the cotangents, an argument of the map, vary over no axis along which their
 * values are equal. They are replaced by ones that say so, for loops around. */
pith_status pithp_cotangents_check(pith_scope *s,
                                   const pith_function *map,
                                   const pithp_linear *l,
                                   pithp_flat *cotangents);
/* Outside of traces: their elements are the same there. Every rank makes the call. */
pith_status pithp_cotangents_compare(pith_scope *s,
                                     const pith_function *map,
                                     const pithp_linear *l,
                                     const void *cotangents);
/* Outside of traces, with a scope that has failed: take part in that. */
void pithp_cotangents_absent(pith_scope *s,
                             const pith_function *map,
                             const pithp_linear *l);

#endif
