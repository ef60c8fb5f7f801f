/* Room hooks: data and callbacks of upper rooms on runtimes and scopes. */
#ifndef PITH_BASE_ROOM_H
#define PITH_BASE_ROOM_H

#include "pith/base.h"

typedef enum pithp_room {
    PITHP_ROOM_GPU,
    PITHP_ROOM_MEMORY, /* of a scope: the instance that accounts for its arrays */
    PITHP_ROOM_MESH,   /* of a runtime: its world; of a scope: the mesh opened in it */
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
    /* After a scope without a parent is opened. (optional) */
    void (*root_opened)(pith_scope *s);
    /* Before a scope closes; its objects still live. Called from the top room down.
     * (optional) */
    void (*scope_closing)(pith_scope *s);
    /* Before the user clears the error of a scope. (optional) */
    void (*error_clearing)(pith_scope *s);
    /* Before the runtime closes; called from the top room down. (optional) */
    void (*runtime_closing)(pith_runtime *rt);
    /* Before runtime_closing, with all scopes open: join the threads of the room.
     * (optional) */
    void (*threads_joining)(pith_runtime *rt);
} pithp_room_hooks;

/* Attach a room to a runtime, once; any thread, with scopes open. */
void pithp_room_hook(pith_runtime *rt, pithp_room room, const pithp_room_hooks *hooks);

#endif
