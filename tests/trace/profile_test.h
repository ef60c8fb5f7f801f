/* What the tests of profiles share: a profile whose times add up, its rows, and a loop.
 */
#ifndef PROFILE_TEST_H
#define PROFILE_TEST_H

#include "scope_test.h"

enum { CALLS = 5 };

/* A call whose line is noted, for the sites of rows. */
#define NOTED(line, call) (line = __LINE__, call)

static const pith_profile *profile_of(const pith_function *f, const pith_array *x) {
    const pith_profile *p = pith_program_profile(s, f, PITH_ITEMS(x), CALLS);
    pt_ok(s, p);
    cr_assert(p->calls == CALLS && strcmp(p->name, f->name) == 0, "%s", p->name);
    double sum = 0;
    for (int64_t k = 0; k < p->row_count; k++) {
        const pith_profile_row *row = &p->rows[k];
        cr_assert(row->calls > 0 && row->seconds >= 0 && row->inside < p->row_count);
        cr_assert(k == 0 || row->seconds <= row[-1].seconds);
        cr_assert(fabs(row->share * p->seconds - row->seconds) <= 1e-9);
        sum += row->seconds;
    }
    cr_assert(sum <= p->seconds * (1 + 1e-9) && sum > 0, "%g of %g", sum, p->seconds);
    return p;
}

static const pith_profile_row *row_named(const pith_profile *p, const char *name) {
    for (int64_t k = 0; k < p->row_count; k++)
        if (strcmp(p->rows[k].name, name) == 0)
            return &p->rows[k];
    cr_assert(false, "no row \"%s\" in\n%s", name, p->text);
    return NULL;
}

static const pith_array *is_small(pith_scope *in, const pith_array *x) {
    return pith_all(in, pith_less(in, x, pith_f64(in, 64)), PITH_ALL_AXES);
}
PITH_FUNCTION1(is_small_function, is_small, pith_array, pith_array)
static const pith_array *doubled(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, x);
}
PITH_FUNCTION1(doubled_function, doubled, pith_array, pith_array)
static const pith_array *looped(pith_scope *in, const pith_array *x) {
    return pith_while(in, &is_small_function, &doubled_function, x);
}
PITH_FUNCTION1(looped_function, looped, pith_array, pith_array)

#endif
