/* Arguments and a value of functions that have rules. */
#ifndef PITH_TESTS_RULE_FUNCTIONS_H
#define PITH_TESTS_RULE_FUNCTIONS_H

#include "rule_test.h"

static PT_UNUSED const double xs[3] = {0.5, -1.25, 2};
static PT_UNUSED const pith_array *some_x(void) {
    return PITH_VECTOR(s, f64, 0.5, -1.25, 2);
}
static PT_UNUSED const Ions *some_ions(void) {
    Ions ions = pith_initial(Ions);
    ions.position = some_x();
    ions.charge = PITH_VECTOR(s, f64, 1, 2, 3);
    ions.kind = PITH_VECTOR(s, i64, 1, 2, 3);
    ions.width = 7;
    return pith_freeze(s, Ions, &ions);
}

/* The sum of f(x)^2. */
static PT_UNUSED const pith_array *squares(pith_scope *in, const pith_array *y) {
    return pith_sum(in, pith_mul(in, y, y), PITH_ALL_AXES);
}

#endif
