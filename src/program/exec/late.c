/* Late errors (late.h). */
#include "program/exec/late.h"

static _Thread_local pithp_late *running; /* of this thread; NULL: none */

void pithp_late_begin(pithp_late *late) {
    late->set = false;
    late->outer = running;
    running = late;
}

void pithp_late_end(pithp_late *late, pith_scope *s) {
    running = late->outer;
    if (late->set && s->error.code == PITH_OK)
        s->error = late->error;
}

bool pithp_late_take(pith_scope *s) {
    if (!running)
        return false;
    if (!running->set)
        running->error = s->error;
    running->set = true;
    s->error.code = PITH_OK;
    return true;
}

pith_report *pithp_late_report(pith_scope *s) {
    if (!pithp_scope_device(s)->immediate || !pithp_late_take(s))
        return NULL;
    running->spare = (pith_report){0};
    return &running->spare;
}
