/* Room data of the array room for a runtime, and its hooks. */
#include "array/room.h"

static void runtime_closing(pith_runtime *rt) {
    pithp_array_room *room = pithp_array_room_at(rt);
    pithp_fused_cache_close(rt);
    pithp_graves_close(rt);
    pithp_placements_close(rt);
    pithp_release(rt, room, sizeof *room);
    rt->room[PITHP_ROOM_ARRAY] = NULL;
}

static const pithp_room_hooks hooks = {.runtime_closing = runtime_closing,
                                       .error_clearing = pithp_graves_note_cleared};

pithp_array_room *pithp_array_room_of(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    pithp_array_room *room = pithp_array_room_at(rt);
    if (PITHP_LIKELY(room != NULL))
        return room;
    pthread_mutex_lock(&rt->lock);
    room = rt->room[PITHP_ROOM_ARRAY];
    if (!room && (room = pithp_allocate(rt, sizeof *room)) != NULL) {
        *room = (pithp_array_room){0};
        pithp_room_hook(rt, PITHP_ROOM_ARRAY, &hooks);
        __atomic_store_n((pithp_array_room **)&rt->room[PITHP_ROOM_ARRAY], room,
                         __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&rt->lock);
    if (!room)
        pithp_fail_memory(s, sizeof *room);
    return room;
}
