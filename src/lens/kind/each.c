/* The traversal of items: those of a list, tuple or dict that a slice picks. */
#include "lens/lens_internal.h"

static pith_status find_items(pith_scope *s,
                              const pithp_lens_part *part,
                              const void *node,
                              pithp_lens_finds *f) {
    const pithp_kind kind = node ? pithp_kind_of(node) : PITHP_KIND_FREE;
    if (kind != PITHP_KIND_LIST && kind != PITHP_KIND_TUPLE && kind != PITHP_KIND_DICT) {
        pithp_string got;
        pithp_string_begin(&got, s->runtime);
        pithp_node_describe(&got, node);
        pithp_fail(s, PITH_E_PATH, NULL, "%s has no items", got.bytes);
        pithp_string_end(&got);
        return PITH_E_PATH;
    }
    const pithp_node_def *node_def = pithp_node_def_of(node);
    const pithp_picked p = pithp_slice_pick(part->each, node_def->slot_count);
    for (int64_t i = 0; i < p.count; i++) {
        const int64_t place = p.start + i * p.step;
        if (!pithp_lens_find_place(f, place) ||
            !pithp_lens_find_add(f, *pithp_slot(node, node_def, place), -1))
            return pithp_fail_memory(s, (size_t)f->node_room * sizeof *f->nodes);
    }
    return PITH_OK;
}

static void each_text(pithp_string *t, const pithp_lens_part *part) {
    const pith_slice *each = &part->each;
    const bool begins = each->start == 0, ends = each->limit == INT64_MAX;
    if (begins && ends && each->step == 1) {
        pithp_string_add(t, "[*]");
        return;
    }
    pithp_string_add(t, "[");
    pithp_slice_text(t, each);
    pithp_string_add(t, "]");
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, (const char *)&part->each, sizeof part->each);
}

static const pithp_lens_kind each_kind = {.get = pithp_lens_get_finds,
                                          .set = pithp_lens_set_finds,
                                          .find = find_items,
                                          .text = each_text,
                                          .identity = add_identity};
const pithp_lens_part pithp_lens_each_part = {.kind = &each_kind,
                                              .each = {0, INT64_MAX, 1}};

const pith_lens *pith_lens_each(pith_scope *s, const pith_lens *lens) {
    return pithp_lens_traverse(s, "pith_lens_each", lens, &pithp_lens_each_part);
}

const pith_lens *pith_lens_items(pith_scope *s, const pith_lens *lens, pith_slice slice) {
    const pith_lens *made =
        pithp_lens_traverse(s, "pith_lens_items", lens,
                            &(pithp_lens_part){.kind = &each_kind, .each = slice});
    if (!made || (slice.step != 0 && slice.step != INT64_MIN))
        return made;
    pithp_fail(s, PITH_E_ARG, NULL, "pith_lens_items: step %lld", (long long)slice.step);
    return NULL;
}
