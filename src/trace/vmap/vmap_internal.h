/* Within src/trace/vmap: batches of functions over trees.
 *
 * A batched function is a closure under a compiled function, so that it always runs in a
 * trace. It records its base function for one entry as a program of its own, makes the
 * program of all entries of it (program/vmap), and adds that to the trace. */
#ifndef PITHP_TRACE_VMAP_H
#define PITHP_TRACE_VMAP_H

#include "pith/vmap.h"

#include "trace/part/part.h"

/* ---- Axes (axes.c) ---- */

/* The axis of a part of an argument, or of the result. */
typedef struct pithp_part_axis {
    pithp_part_path part; /* of the result: argument 0 */
    int axis;
} pithp_part_axis;

/* A list in which a part comes before the parts in it. */
typedef struct pithp_axis_list {
    const pithp_part_axis *list;
    int64_t count;
} pithp_axis_list;

/* Read the axes of arguments of f, or of its result; in memory of s. */
pith_status pithp_axis_list_read(pith_scope *s,
                                 const char *function,
                                 const pith_function *f,
                                 const pith_mapped *given,
                                 bool result,
                                 pithp_axis_list *axes);
/* Copy the list to memory of s. */
pith_status pithp_axis_list_copy(pith_scope *s, pithp_axis_list *axes);
/* Append equal bytes for equal lists. */
void pithp_axis_list_identity(const pithp_axis_list *axes, pithp_string *text);
/* The axis of each leaf of a tree, as the list says or 0; in memory of s. argument: -1
 * for the result. NULL: error set. */
int *pithp_axis_list_apply(pith_scope *s,
                           const pithp_axis_list *axes,
                           int argument,
                           const void *tree,
                           const pithp_flat *flat);

/* ---- Functions (function.c) ---- */

/* The closure of a batched function. */
typedef struct pithp_batched {
    pithp_closure closure;
    pithp_axis_list in, out;
    int64_t size;  /* where nothing is mapped */
    int64_t chunk; /* most entries at a time; 0: no limit */
} pithp_batched;

/* ---- Calls (call.c) ---- */

/* The implementation of pith_function.call of batched functions. */
const void *pithp_batched_function_call(const pith_function *self,
                                        pith_scope *s,
                                        const void *const *given);

/* ---- Vectorized functions (vectorize.c) ---- */

/* The closure of a function over loop axes. */
typedef struct pithp_vectorized {
    pithp_closure closure;
    pith_vectorize_options options; /* with a signature of the scope */
} pithp_vectorized;

/* The implementation of pith_function.call of these functions (vectorize_call.c). */
const void *
pithp_vectorized_call(const pith_function *self, pith_scope *s, const void *const *given);

#endif
