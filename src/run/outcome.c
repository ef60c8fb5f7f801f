/* Outcome of a scope's last run, and other data of this room for a scope. */
#include "run/attempt.h"
#include "run/run_internal.h"

pithp_run_room *pithp_run_room_of(pith_scope *s) {
    pithp_run_room *room = s->room[PITHP_ROOM_RUN];
    if (room)
        return room;
    room = pithp_scope_allocate(s, sizeof *room);
    if (room)
        *room = (pithp_run_room){.tries = NULL};
    s->room[PITHP_ROOM_RUN] = room;
    return room;
}

pith_run_end pith_run_outcome(const pith_scope *s) {
    const pithp_run_room *room = pithp_scope_writable(s) ? s->room[PITHP_ROOM_RUN] : NULL;
    return room ? room->end : (pith_run_end){.reason = PITH_RUN_NONE};
}

const char *pithp_run_end_text(const pith_run_end *end) {
    switch (end->reason) {
        case PITH_RUN_NONE:
            return "running";
        case PITH_RUN_FINISHED:
            return "finished";
        case PITH_RUN_UNTIL:
            return "until";
        case PITH_RUN_TIME:
            return "time";
        case PITH_RUN_REQUEST:
            return "request";
        case PITH_RUN_SIGNAL:
            return "signal";
        case PITH_RUN_FAILED:
            return "failed";
    }
    return "failed";
}
