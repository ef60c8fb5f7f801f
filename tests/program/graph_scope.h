/* Programs of numbers in the scope of the test: inputs, sums, outputs. */
#ifndef PITH_TESTS_GRAPH_SCOPE_H
#define PITH_TESTS_GRAPH_SCOPE_H

#include "graph_test.h"
#include "scope_test.h"

static inline pithp_value number(pithp_program *p) {
    return graph_input(s, p, PITH_F64, -1);
}
static inline pithp_value add(pithp_program *p, pithp_value x, pithp_value y) {
    return graph_op2(s, p, PITHP_OP_ADD, x, y);
}
static inline void outputs(pithp_program *p, int count, const pithp_value *values) {
    for (int k = 0; k < count; k++)
        pithp_program_output(s, p, values[k]);
}
#define OUTPUTS(p, ...)                                                                  \
    outputs(p, (int)(sizeof((pithp_value[]){__VA_ARGS__}) / sizeof(pithp_value)),        \
            (pithp_value[]){__VA_ARGS__})

#endif
