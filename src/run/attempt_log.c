/* Log rows of an attempt: buffered until the attempt passes, discarded if it fails. */
#include "run/attempt.h"

#include <string.h>

/* The innermost attempt of this scope itself. */
static pithp_attempt_log *try_of(const pith_scope *s) {
    const pithp_run_room *room = s->room[PITHP_ROOM_RUN];
    return room ? room->tries : NULL;
}

pith_status pithp_attempt_log_begin(pithp_attempt_log *t, pith_scope *s) {
    *t = (pithp_attempt_log){.scope = s, .last = &t->first};
    for (const pith_scope *up = s->parent; up && !t->outer; up = up->parent)
        t->outer = try_of(up);
    pithp_run_room *room = pithp_run_room_of(s);
    if (!room)
        return s->error.code;
    room->tries = t;
    return PITH_OK;
}

pithp_attempt_log *pithp_attempt_log_of(const pith_scope *s, const pith_run_log *log) {
    pithp_attempt_log *t = NULL;
    for (; s && !t; s = s->parent)
        t = try_of(s);
    /* A log owned by the attempt's scope needs no buffering. */
    const pith_scope *owner = pithp_owner_of(log);
    while (t && pithp_scope_reaches(owner, t->scope))
        t = t->outer;
    return t;
}

int64_t pithp_attempt_log_last(const pithp_attempt_log *t, const pith_run_log *log) {
    int64_t step = -1;
    for (; t && step < 0; t = t->outer)
        for (const pithp_attempt_row *row = t->first; row; row = row->next)
            if (row->log == log)
                step = row->step;
    return step;
}

pith_status pithp_attempt_log_add(pith_scope *s,
                                  pithp_attempt_log *t,
                                  pith_run_log *log,
                                  int64_t step,
                                  const pithp_string *text) {
    const size_t size = sizeof(pithp_attempt_row) + text->length;
    pithp_attempt_row *row = pithp_allocate(s->runtime, size);
    if (!row)
        return pithp_fail_memory(s, size);
    *row = (pithp_attempt_row){
        .log = log, .step = step, .bytes = text->length, .size = size};
    memcpy(row->text, text->bytes, text->length);
    *t->last = row;
    t->last = &row->next;
    return PITH_OK;
}

void pithp_attempt_log_discard(pithp_attempt_log *t) {
    while (t->first) {
        pithp_attempt_row *row = t->first;
        t->first = row->next;
        pithp_release(t->scope->runtime, row, row->size);
    }
    t->last = &t->first;
    pithp_run_room *room = t->scope->room[PITHP_ROOM_RUN];
    room->tries = NULL;
}

pith_status pithp_attempt_log_commit(pith_scope *s, pithp_attempt_log *t) {
    pith_status rc = PITH_OK;
    if (t->outer && t->first) {
        *t->outer->last = t->first;
        t->outer->last = t->last;
        t->first = NULL;
    }
    for (const pithp_attempt_row *row = t->first; row && rc == PITH_OK; row = row->next)
        rc = pithp_log_write(s, row->log, row->step, row->text, row->bytes);
    pithp_attempt_log_discard(t);
    return rc;
}
