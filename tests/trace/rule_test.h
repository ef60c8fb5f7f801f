/* What tests of rules share: the records that rules return. */
#ifndef PITH_TESTS_RULE_H
#define PITH_TESTS_RULE_H

#include "derive_test.h"

typedef struct {
    const pith_array *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))
typedef struct {
    const pith_array *value;
    const void *residual;
} Kept;
PITH_NODE(Kept, PITH_LEAF(value, "f64[...]"), PITH_TREE(residual))

#endif
