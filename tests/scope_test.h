/* A runtime and a scope of it for tests that need no others: Test(room, name, .init =
 * open_scope) { ... close_scope(); } */
#ifndef PITH_TESTS_SCOPE_H
#define PITH_TESTS_SCOPE_H

#include "pith/pith.h"

#include "pith_test.h"

static pith_runtime *rt;
static pith_scope *s;

static PT_UNUSED void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
/* The test must leave no error. */
static PT_UNUSED void close_scope(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

#endif
