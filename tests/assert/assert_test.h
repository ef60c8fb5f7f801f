/* What tests of assertions share: a step that checks, and both ways of running work. */
#ifndef ASSERT_TEST_H
#define ASSERT_TEST_H

#include "both.h"

#include <pith/pith.h>

#define RUNTIME                                                                          \
    pith_runtime *rt = pt_open();                                                        \
    pith_scope *s = pith_scope_open(rt)
#define CLOSE                                                                            \
    pt_ok(s);                                                                            \
    pith_scope_close(s);                                                                 \
    pt_close(rt)

static PT_UNUSED const pith_array *not_negative(pith_scope *s, const pith_array *x) {
    return pith_greater_equal(s, x, pith_f64(s, 0));
}

/* The root of x, with a check that there is one. */
static PT_UNUSED const pith_array *checked_sqrt(pith_scope *s, const pith_array *x) {
    pith_check(s, not_negative(s, x), "cannot take the root of {value}",
               .args = {{"value", x}});
    return pith_sqrt(s, x);
}
PITH_FUNCTION1(sqrt_step, checked_sqrt, pith_array, pith_array)

#define ARGS(...) PITH_ITEMS(__VA_ARGS__)

/* The last error's message ends with the line of this file. */
#define pt_site(line)                                                                    \
    do {                                                                                 \
        char site_[64];                                                                  \
        const char *slash_ = strrchr(__FILE__, '/');                                     \
        snprintf(site_, sizeof site_, "%s:%d", slash_ ? slash_ + 1 : __FILE__, (line));  \
        cr_assert_str_eq(pt_error.site, site_, "%s", pt_error.site);                     \
    } while (0)

#endif
