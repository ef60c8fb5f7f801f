/* pith_save: a synchronous or background save. */
#include "base/in_flight.h"
#include "checkpoint/document/capture.h"
#include "checkpoint/save/saving.h"
#include "tree/shard/shard.h"

bool pith_save(pith_scope *s,
               const void *tree,
               const char *path,
               const pith_save_options *options) {
    PITHP_IN_FLIGHT(s, "pith_save");
    static const pith_save_options defaults;
    const pith_save_options *o = options ? options : &defaults;
    const bool fine = pithp_enter_untraced(s, "pith_save");
    if (pithp_scope_writable(s) && !s->room[PITHP_ROOM_TRACE] &&
        pithp_is_sharded(s, tree))
        return pithp_save_sharded(s, tree, path, o);
    if (!fine || pithp_tree_check(s, tree, "pith_save", "tree") != PITH_OK ||
        pithp_save_options_check(s, "pith_save", path, o) != PITH_OK)
        return false;
    if (pithp_background_settle_before(s, path) != PITH_OK ||
        pithp_synchronise(s) != PITH_OK)
        return false;
    if (o->background)
        return pithp_background_start(s, tree, path, o) == PITH_OK;
    pithp_saving *v = pithp_saving_begin(s, pithp_capture, tree, path, o);
    if (!v)
        return false;
    const bool saved = pithp_saving_write(v) == PITH_OK;
    if (saved && !o->keep) /* members of a series replace nothing */
        pithp_saving_sweep_parts(v, 0);
    pithp_saving_end(v);
    return saved;
}
