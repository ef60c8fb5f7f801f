/* The part that is rows of every leaf, at an array of indices. */
#include "lens/lens_internal.h"

static pith_status copy_at(pith_scope *s, pithp_lens_part *part) {
    return pithp_keep_slots(s, 1, (const void **)&part->at.index);
}

static const void *
get_at(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    (void)count;
    return pithp_lens_present(s, node) == PITH_OK
               ? pithp_tree_take_back(s, "pith_lens_get", node, parts->at.index,
                                      &parts->at.options,
                                      parts->at.fills ? &parts->at.fill : NULL)
               : NULL;
}

static const void *
make_at(const pithp_lens_edits *e, const pithp_lens_edit *edit, const void *node) {
    const pithp_lens_part *part = edit->parts;
    return pithp_lens_rows_present(e->s, edit->value)
               ? pithp_tree_scatter_set(e->s, "pith_lens_set", node, part->at.index,
                                        edit->value, true, &part->at.options)
               : NULL;
}

static void at_text(pithp_string *t, const pithp_lens_part *part) {
    char spec[PITHP_SPEC_TEXT_BYTES];
    pithp_string_print(t, ".at(%s)",
                       pithp_spec_print(pithp_array_spec(part->at.index), spec));
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    const pith_scatter_options *o = &part->at.options;
    const int numbers[] = {o->axis, (int)o->mode, o->unique, o->sorted, part->at.fills};
    pithp_string_add_n(t, (const char *)numbers, sizeof numbers);
    pithp_string_add_n(t, (const char *)&part->at.fill, sizeof part->at.fill);
}

static const void **held_index(pithp_lens_part *part) {
    return (const void **)&part->at.index;
}

static const pithp_lens_kind at_kind = {.leaves = true,
                                        .copy = copy_at,
                                        .get = get_at,
                                        .set = pithp_lens_expand_computed,
                                        .make = make_at,
                                        .text = at_text,
                                        .identity = add_identity,
                                        .held = held_index};

const pith_lens *pith_lens_at(pith_scope *s,
                              const pith_lens *lens,
                              const pith_array *index,
                              const pith_lens_at_options *options) {
    static const char function[] = "pith_lens_at";
    static const pith_lens_at_options defaults;
    pithp_index_params checked;
    const pith_lens_at_options *o = options ? options : &defaults;
    pithp_lens_part part = {.kind = &at_kind,
                            .at = {.index = index,
                                   .options = {.axis = o->axis,
                                               .mode = o->mode,
                                               .unique = o->unique,
                                               .sorted = o->sorted},
                                   .fill = o->fill ? *o->fill : 0,
                                   .fills = o->fill}};
    if (!pithp_enter(s) || pithp_lens_check(s, lens, function, "lens") != PITH_OK ||
        pithp_lens_check_open(s, lens, function) != PITH_OK ||
        !pithp_index_check(s, function, "index", index) ||
        !pithp_scatter_params(s, function, &part.at.options, &checked))
        return NULL;
    return pithp_lens_extend(s, lens, &part);
}
