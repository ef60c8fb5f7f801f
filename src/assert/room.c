/* Hooks of the room: a scope ends its collections, and a runtime frees its messages. */
#include "assert/assert_internal.h"

void pithp_assert_room(pith_runtime *rt) {
    static const pithp_room_hooks hooks = {.scope_closing = pithp_collecting_close,
                                           .runtime_closing = pithp_debug_close};
    pithp_room_hook(rt, PITHP_ROOM_ASSERT, &hooks);
}
