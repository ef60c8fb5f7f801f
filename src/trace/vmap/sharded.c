/* Sharded leaves in batches. A batch axis is whole on every rank: an entry is sharded as
 * the batch is, without that axis. */
#include "trace/vmap/entry.h"
#include "tree/shard/shard.h"

#include <stdio.h>
#include <string.h>

/* Axes of a placement with the list of one axis taken out, or an empty one put in. */
static void
shift_lists(const char *axes, int at, bool put_in, char normal[PITHP_SHARD_TEXT]) {
    const int count = pithp_shard_text_lists(axes);
    char text[2 * PITHP_SHARD_TEXT] = "", list[PITHP_SHARD_TEXT];
    size_t n = 0;
    for (int d = 0; d < count; d++) {
        pithp_shard_text_list(axes, d, list);
        if (!put_in && d == at)
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s",
                              put_in && d == at ? ";" : "", list, ";");
    }
    pithp_shard_text_read(text, normal);
}

static bool is_of_scope(pith_scope *s, const pith_placement *p) {
    if (p->mesh == pith_mesh_of(s))
        return true;
    pithp_fail(s, PITH_E_ARG, NULL,
               "it is sharded over another mesh than that of the scope");
    return false;
}

const pith_spec *pithp_entry_unbatch(pith_scope *s,
                                     const pith_spec *batch,
                                     int axis,
                                     const pith_spec *entry) {
    const pith_placement *p = pithp_placement_of(batch);
    char list[PITHP_SHARD_TEXT], axes[PITHP_SHARD_TEXT], text[PITHP_LEAF_TEXT_BYTES];
    if (!p)
        return entry;
    if (!is_of_scope(s, p))
        return NULL;
    pithp_shard_text_list(p->axes, axis, list);
    if (list[0]) {
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "axis %d of %s is to be mapped, but its entries lie on the ranks along "
            "%s: call pith_vmap within pith_shard_map, or map another axis",
            axis, pithp_leaf_print(batch, text), list);
        return NULL;
    }
    shift_lists(p->axes, axis, false, axes);
    return pithp_shard_spec_of(s, entry, axes, p->rows[0] ? p->rows : NULL);
}

const pith_spec *pithp_entry_rebatch(pith_scope *s,
                                     const pith_spec *entry,
                                     int axis,
                                     const pith_spec *batch) {
    const pith_placement *p = pithp_placement_of(entry);
    char axes[PITHP_SHARD_TEXT], text[PITHP_LEAF_TEXT_BYTES];
    if (!p)
        return batch;
    if (entry->rank == 0 || (p->rows[0] && axis == 0)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s cannot have a batch axis%s: .out may share it, or %s",
                   pithp_leaf_print(entry, text), entry->rank ? " before its rows" : "",
                   entry->rank ? "name a later axis" : "give it an axis of its own");
        return NULL;
    }
    shift_lists(p->axes, axis, true, axes);
    return pithp_shard_spec_of(s, batch, axes, p->rows[0] ? p->rows : NULL);
}
