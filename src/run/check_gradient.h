/* Within pith_check_gradient: the comparisons of one order, and the check of a leaf. */
#ifndef PITHP_RUN_CHECK_GRADIENT_H
#define PITHP_RUN_CHECK_GRADIENT_H

#include "run/run_internal.h"

/* A leaf that is selected, in the order of the leaves of the gradient. */
typedef struct pithp_checked_leaf {
    int argument;
    int64_t leaf;
} pithp_checked_leaf;

/* A comparison, and the one with the largest excess over its bound. */
typedef struct pithp_comparison {
    double ratio; /* of error and bound if that is exceeded; else 0 */
    pithp_checked_leaf leaf;
    int64_t output, element; /* leaf of the value, and its element; -1: of the products of
                                reverse and forward mode */
    double got, wanted, bound;
    bool unsteady; /* differences of two steps differ by more than the bound */
} pithp_comparison;

typedef struct pithp_gradient_checking {
    pith_scope *s;
    const pith_function *f; /* the value alone is its result */
    const void *const *given;
    const pith_gradient_check *options;
    pith_derive_options derive; /* without aux */
    const pith_array *key;
    int64_t draws; /* made from the key */
    int argument_count;
    pithp_flat arguments[PITHP_MOST_PARAMETERS];
    pithp_checked_leaf *selected;
    int64_t selected_count;
    const pith_function *map; /* of cotangents of the value to the gradient */
    bool joint;               /* all ranks of the mesh make the check together */
    double **cotangent;       /* of the value, by leaf; NULL: integers */
    pithp_comparison worst;
} pithp_gradient_checking;

/* Elements of a leaf as numbers, of a sharded one those of its own shard, in memory of s.
 * NULL: error set. */
double *pithp_gradient_read(pith_scope *s, const pith_array *a);
/* A leaf of s with these elements. NULL: error set. */
const pith_array *
pithp_gradient_write(pith_scope *s, const pith_spec *spec, const double *values);
/* A tree that is not validated: a tangent, or a value beside a valid one. NULL: error
 * set. */
const void *pithp_gradient_build(pith_scope *s,
                                 const pithp_structure *like,
                                 const pith_array *const *items);
/* Numbers between 1/2 and 1, and their negatives; others on ranks that differ along the
 * axes. NULL: error set. */
double *pithp_gradient_draw(pithp_gradient_checking *c,
                            pith_scope *s,
                            int64_t count,
                            uint32_t axes);
/* Compare the derivatives by the selected leaf k. gradient: of the product of value and
 * cotangent. False: error set. */
bool pithp_gradient_check_leaf(pithp_gradient_checking *c,
                               const pithp_flat *gradient,
                               int64_t k);

/* ---- Among ranks (check_gradient_ranks.c): without a joint check, those of one ---- */

/* Whether a tree has sharded leaves. */
bool pithp_gradient_is_sharded(const pithp_flat *flat);
/* The number of this rank along axes; 0: none. */
int64_t
pithp_gradient_rank(const pithp_gradient_checking *c, pith_scope *s, uint32_t axes);
/* Replace two numbers by their sums over the ranks along axes. False: error set. */
bool pithp_gradient_sum(const pithp_gradient_checking *c,
                        pith_scope *s,
                        uint32_t axes,
                        double sums[2]);
/* The product of a leaf of a value and one of a cotangent, in a trace; of sharded ones
 * the sum of products. NULL: error set. */
const pith_array *
pithp_gradient_multiply(pith_scope *s, const pith_array *value, const pith_array *by);
/* The least number of all ranks. NaN: error set. */
double pithp_gradient_least(const pithp_gradient_checking *c, pith_scope *s, double x);
/* The rank with the worst comparison; -1: none has failed, or an error is set. */
int64_t pithp_gradient_worst_rank(const pithp_gradient_checking *c);

#endif
