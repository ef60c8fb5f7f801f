/* Records that the tests of whole trees are written with. */
#ifndef PITH_TEST_TREE_TYPES_H
#define PITH_TEST_TREE_TYPES_H

#include "pith_test.h"

#include <pith/tree.h>

typedef struct {
    const pith_array *position, *velocity, *force;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "float[n,3]", .unit = "sigma", .doc = "where atoms are"),
          PITH_LEAF(velocity, "float[n,3]"),
          PITH_LEAF(force, "float[n,3]"))

typedef struct {
    const Atoms *atoms;
    const pith_array *neighbour;
    int64_t max_neighbour;
    double cutoff;
} Sim;
PITH_NODE(Sim,
          PITH_CHILD(atoms, Atoms),
          PITH_LEAF(neighbour, "i32[n,max_neighbour]", .fill = -1),
          PITH_STATIC(max_neighbour, .initial = 64),
          PITH_STATIC(cutoff, .unit = "sigma"))

/* A leaf and a child in which anything may be, or nothing. */
typedef struct {
    const pith_array *leaf;
    const void *any;
    int64_t number;
} Part;
PITH_NODE(Part,
          PITH_LEAF(leaf, "any[...]", .optional = true),
          PITH_TREE(any, .optional = true),
          PITH_STATIC(number))

typedef struct Chain {
    const pith_array *leaf;
    const struct Chain *next;
} Chain;
PITH_NODE(Chain, PITH_LEAF(leaf, "any[...]"), PITH_CHILD(next, Chain, .optional = true))

static inline const pith_array *pt_array(pith_scope *in, pith_shape shape, double first) {
    double values[256];
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.extents[i];
    cr_assert(count <= 256);
    for (int64_t i = 0; i < count; i++)
        values[i] = first + (double)i;
    return pith_array_copy(in, PITH_F64, shape, values);
}

static inline const Atoms *pt_atoms(pith_scope *in, int64_t n, double first) {
    return pith_freeze(in, Atoms,
                       &(Atoms){pt_array(in, PITH_SHAPE(n, 3), first),
                                pt_array(in, PITH_SHAPE(n, 3), first + 100),
                                pt_array(in, PITH_SHAPE(n, 3), first + 200)});
}

static inline const Sim *pt_sim(pith_scope *in, int64_t n, int64_t width, double first) {
    int32_t values[256];
    for (int i = 0; i < 256; i++)
        values[i] = i;
    const pith_array *neighbour =
        pith_array_copy(in, PITH_I32, PITH_SHAPE(n, width), values);
    return pith_freeze(in, Sim, &(Sim){pt_atoms(in, n, first), neighbour, width, 2.5});
}

/* A chain of that many levels, made from its end. */
static inline const Chain *pt_chain(pith_scope *in, int64_t levels) {
    const pith_array *leaf = pith_f64(in, 1);
    const Chain *chain = NULL;
    for (int64_t i = 0; i < levels && !pith_failed(in); i++)
        chain = pith_freeze(in, Chain, &(Chain){leaf, chain});
    return chain;
}

static inline double pt_first(pith_scope *in, const pith_array *a) {
    double values[256] = {0};
    cr_assert(pith_read(in, a, values, pith_array_spec(a)->bytes), "%s",
              pith_message(in));
    return values[0];
}

#endif
