/* The runtime and scope of a test of checkpoints, in a folder of its own. */
#ifndef CHECKPOINT_SCOPE_H
#define CHECKPOINT_SCOPE_H

#include "checkpoint_test.h"

static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    ct_begin();
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

#endif
