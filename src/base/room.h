/* Rooms: what upper rooms hang on runtimes and scopes. */
#ifndef PITH_BASE_ROOM_H
#define PITH_BASE_ROOM_H

#include "pith/base.h"

typedef enum pithp_room {
    PITHP_ROOM_GPU,
    PITHP_ROOM_MEMORY, /* of a scope: the instance that its arrays are counted for */
    PITHP_ROOM_PROGRAM,
    PITHP_ROOM_ARRAY,
    PITHP_ROOM_TREE,
    PITHP_ROOM_CHECKPOINT,
    PITHP_ROOM_TRACE,
    PITHP_ROOM_ASSERT,
    PITHP_ROOM_RUN,
    PITHP_ROOM_COUNT
} pithp_room;

typedef struct pithp_room_hooks {
    /* A scope without a parent was opened. (optional) */
    void (*root_opened)(pith_scope *s);
    /* A scope is about to close; its objects still live. Called from the top room down.
     * (optional) */
    void (*scope_closing)(pith_scope *s);
    /* The user is about to clear the error of a scope. (optional) */
    void (*error_clearing)(pith_scope *s);
    /* The runtime is about to close; called from the top room down. (optional) */
    void (*runtime_closing)(pith_runtime *rt);
    /* Before that, with all scopes open: threads of the room come to their end.
     * (optional) */
    void (*threads_joining)(pith_runtime *rt);
} pithp_room_hooks;

/* Hang a room on a runtime, once; any thread, with scopes open. */
void pithp_room_hook(pith_runtime *rt, pithp_room room, const pithp_room_hooks *hooks);

#endif
