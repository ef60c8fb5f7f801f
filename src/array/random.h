/* Within the array room: shared functions of random numbers. */
#ifndef PITH_ARRAY_RANDOM_INTERNAL_H
#define PITH_ARRAY_RANDOM_INTERNAL_H

#include "array/array_internal.h"

/* Check one key, u32[2]. */
pith_status pithp_key_check(pith_scope *s, const pith_array *key, const char *function);
/* Check options; NULL: the defaults. `unbiased` is for integers only. */
bool pithp_random_options_fit(pith_scope *s,
                              const char *function,
                              const pith_random_options *options,
                              bool integers,
                              bool *original);
/* pith_random_split, bits and uniform (from 0 to 1) on a checked key. Public functions do
 * not call one another: each call consumes a call site of the scope. */
const pith_array *pithp_random_draw(pith_scope *s,
                                    pithp_primitive primitive,
                                    const pith_array *key,
                                    pith_dtype dtype,
                                    pith_shape shape,
                                    bool original);
/* i64 in [0, count). */
const pith_array *pithp_random_integers(pith_scope *s,
                                        const pith_array *key,
                                        pith_shape shape,
                                        int64_t count,
                                        bool original);
/* pith_random_gumbel for a function that has entered the scope. */
const pith_array *pithp_random_gumbel(pith_scope *s,
                                      const pith_array *key,
                                      pith_dtype dtype,
                                      pith_shape shape,
                                      bool original);

/* Bind a primitive with two operands. */
static inline const pith_array *pithp_bind_two(pith_scope *s,
                                               pithp_primitive primitive,
                                               const pith_array *a,
                                               const pith_array *b,
                                               const void *params) {
    const pith_array *operands[] = {a, b};
    return a && b ? pithp_bind(s, primitive, 2, operands, params) : NULL;
}
/* Drop an array or NULL. */
static inline void pithp_array_drop_any(pith_scope *s, const pith_array *a) {
    if (a)
        pithp_array_drop(s, a);
}

#endif
