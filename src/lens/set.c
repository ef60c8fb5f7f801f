/* Lens setters: the focus of a lens becomes a set of changes at positions, which are
 * applied together. Computed parts (functions, row lenses) change the node they apply
 * to. */
#include "lens/lens_internal.h"

#include <string.h>

static pith_status expand(pithp_lens_edits *e,
                          const pithp_lens_part *parts,
                          int32_t count,
                          const void *node,
                          const void *value);

/* A node with the focus of parts replaced. NULL: absent, or the error is set. */
static const void *set_in(const pithp_lens_edits *e,
                          const pithp_lens_part *parts,
                          int32_t count,
                          const void *node,
                          const void *value) {
    if (count == 0)
        return value;
    pithp_lens_edits inner;
    pithp_lens_edits_begin(&inner, e->s, e->options);
    const void *made = expand(&inner, parts, count, node, value) == PITH_OK
                           ? pithp_lens_edits_apply(&inner, node)
                           : NULL;
    pithp_lens_edits_end(&inner);
    return made;
}

/* ---- Paths ---- */

const void *pithp_lens_set_row(pith_scope *s,
                               const pith_array *leaf,
                               int32_t count,
                               const int64_t *row,
                               const void *value) {
    if (!value || !pithp_kind_is_array(value)) {
        pithp_text got;
        pithp_text_begin(&got, s->runtime);
        pithp_node_describe(&got, value);
        pithp_fail(s, PITH_E_TYPE, NULL, "expected an array for a row, got %s",
                   got.bytes);
        pithp_text_end(&got);
        return NULL;
    }
    pith_index_entry entries[PITH_MAX_RANK];
    for (int32_t i = 0; i < count; i++)
        entries[i] = PITH_ENTRY_AT(row[i]);
    return pith_scatter(pithp_on_behalf(s), PITH_SCATTER_SET, leaf, count, entries, value,
                        NULL);
}

/* Normalise row indices to non-negative ones, so that equal rows have equal positions. */
static pith_status
add_row(pithp_lens_edits *e, const pithp_lens_place *place, const void *value) {
    const int64_t depth = e->trail.depth;
    const int64_t *extents = pithp_array_spec(place->node)->shape;
    pith_status rc = PITH_OK;
    for (int32_t i = 0; i < place->row_count && rc == PITH_OK; i++) {
        const int64_t index = place->rows[i].index;
        if (!pithp_lens_trail_add(&e->trail, index < 0 ? index + extents[i] : index))
            rc = pithp_fail_memory(e->s, (size_t)e->trail.room * sizeof index);
    }
    if (rc == PITH_OK)
        rc = pithp_lens_edits_add(
            e, &(pithp_lens_edit){.rows = place->row_count, .value = value});
    e->trail.depth = depth;
    return rc;
}

static pith_status expand_place(pithp_lens_edits *e,
                                const pithp_lens_part *rest,
                                int32_t count,
                                const pithp_lens_place *place,
                                const void *value) {
    pith_scope *s = e->s;
    if (!place->field && !place->rows)
        return expand(e, rest, count, place->node, value);
    if (count) { /* computed from the current node */
        const void *there = pithp_lens_value_at(s, place);
        if (s->error.code == PITH_OK)
            value = set_in(e, rest, count, there, value);
    }
    if (s->error.code != PITH_OK)
        return s->error.code;
    return place->rows ? add_row(e, place, value)
                       : pithp_lens_edits_add(e, &(pithp_lens_edit){.value = value});
}

static pith_status expand_path(pithp_lens_edits *e,
                               const pithp_lens_part *parts,
                               int32_t count,
                               const void *node,
                               const void *value) {
    const int64_t depth = e->trail.depth;
    pithp_lens_place place;
    pith_status rc = pithp_lens_follow(e->s, parts, node, &place, &e->trail);
    if (rc == PITH_OK) {
        rc = expand_place(e, parts + 1, count - 1, &place, value);
        if (rc != PITH_OK)
            pithp_error_prefix(e->s, parts->text);
    }
    e->trail.depth = depth;
    return rc;
}

/* ---- Several values ---- */

/* Check that the value has one item per target. */
static pith_status
check_items(pith_scope *s, const void *value, bool list, int64_t count, const char *of) {
    const pithp_kind kind = value ? pithp_kind_of(value) : PITHP_KIND_FREE;
    const bool fits = (kind == PITHP_KIND_LIST && list) || kind == PITHP_KIND_TUPLE;
    if (fits && pithp_node_def_of(value)->slot_count == count)
        return PITH_OK;
    pithp_text got;
    pithp_text_begin(&got, s->runtime);
    pithp_node_describe(&got, value);
    const pith_status code = fits ? PITH_E_STRUCTURE : PITH_E_TYPE;
    pithp_fail(s, code, NULL, "expected a %s of %lld, one for each %s, got %s",
               list ? "list" : "tuple", (long long)count, of, got.bytes);
    pithp_text_end(&got);
    return code;
}

static const void *item_of(const void *value, int64_t i) {
    return *pithp_slot(value, pithp_node_def_of(value), i);
}

static pith_status expand_merged(pithp_lens_edits *e,
                                 const pithp_lens_part *part,
                                 const void *node,
                                 const void *value) {
    const pith_lens *around = e->lens;
    pith_status rc = check_items(e->s, value, false, part->count, "lens");
    for (int32_t i = 0; i < part->count && rc == PITH_OK; i++) {
        const pith_lens *lens = part->merged[i];
        if (lens->type)
            rc = pithp_lens_check_type(e->s, node, lens->type);
        e->lens = lens;
        if (rc == PITH_OK)
            rc = expand(e, lens->parts, lens->part_count, node, item_of(value, i));
    }
    e->lens = around;
    return rc;
}

static pith_status expand_all(pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value) {
    pithp_lens_finds finds;
    pith_status rc = pithp_lens_find_all(e->s, parts, node, &finds);
    if (rc != PITH_OK)
        return rc;
    const int64_t above = e->trail.depth;
    rc = check_items(e->s, value, true, finds.count, "part found");
    for (int64_t i = 0; i < finds.count && rc == PITH_OK; i++) {
        int64_t depth;
        const int64_t *places = pithp_lens_find_places(&finds, i, &depth);
        for (int64_t k = 0; k < depth && rc == PITH_OK; k++)
            if (!pithp_lens_trail_add(&e->trail, places[k]))
                rc = pithp_fail_memory(e->s, (size_t)e->trail.room * sizeof *places);
        if (rc == PITH_OK)
            rc = finds.fields[i] < 0
                     ? expand(e, parts + 1, count - 1, finds.nodes[i], item_of(value, i))
                     : pithp_lens_edits_add(e,
                                            &(pithp_lens_edit){.value = item_of(value, i),
                                                               .parts = parts,
                                                               .part_count = count,
                                                               .field = finds.fields[i]});
        if (rc != PITH_OK)
            pithp_lens_find_prefix(e->s, &finds, i, node);
        e->trail.depth = above;
    }
    pithp_lens_finds_end(&finds);
    return rc;
}

/* ---- Parts ---- */

/* The node returned by the user's set function. */
static const void *set_function(pith_scope *s,
                                const pithp_lens_part *part,
                                const void *node,
                                const void *value) {
    if (!part->function.set) {
        pithp_fail(s, PITH_E_ARG, NULL, "the lens %s() has no set function",
                   part->function.name);
        return NULL;
    }
    const pithp_call_site call = pithp_user_begins(s);
    const void *made = part->function.set(s, node, value, part->function.closure);
    pithp_user_ends(s, call);
    made = pithp_lens_admit(s, made, part->function.name, "what set returned");
    if (!made && s->error.code == PITH_OK)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: set returned NULL, and no error",
                   part->function.name);
    return made;
}

/* The value of a part with a node of its own: later parts are set inside it. */
static const void *set_behind(const pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value) {
    if (count == 1)
        return value;
    const void *there = pithp_lens_look(e->s, parts, 1, node);
    return e->s->error.code == PITH_OK ? set_in(e, parts + 1, count - 1, there, value)
                                       : NULL;
}

/* A record with its embedded struct replaced, or with later parts set inside it. */
static const void *
set_embedded(const pithp_lens_edits *e, const pithp_lens_edit *edit, const void *node) {
    const pith_type *type = edit->parts->where.type;
    const void *value = edit->value;
    if (edit->part_count > 1) {
        const void *there = pithp_lens_embedded_get(e->s, node, type, edit->field);
        if (there)
            value = set_in(e, edit->parts + 1, edit->part_count - 1, there, value);
        if (there && e->s->error.code != PITH_OK)
            pithp_lens_embedded_fail(e->s, node, type, edit->field);
    }
    return e->s->error.code == PITH_OK
               ? pithp_lens_embedded_set(e->s, node, type, edit->field, value, e->options)
               : NULL;
}

const void *pithp_lens_set_computed(const pithp_lens_edits *e,
                                    const pithp_lens_edit *edit,
                                    const void *node) {
    const pithp_lens_part *part = edit->parts;
    if (pithp_lens_present(e->s, node) != PITH_OK)
        return NULL;
    if (part->kind == PITHP_LENS_WHERE)
        return set_embedded(e, edit, node);
    if (part->kind != PITHP_LENS_FUNCTION)
        return pithp_lens_leaves_set(e->s, part, node, edit->value);
    const void *value = set_behind(e, part, edit->part_count, node, edit->value);
    return e->s->error.code == PITH_OK ? set_function(e->s, part, node, value) : NULL;
}

static pith_status expand_merge(pithp_lens_edits *e,
                                const pithp_lens_part *parts,
                                int32_t count,
                                const void *node,
                                const void *value) {
    pith_status rc = pithp_lens_present(e->s, node);
    if (rc == PITH_OK) {
        value = set_behind(e, parts, count, node, value);
        rc = e->s->error.code;
    }
    return rc == PITH_OK ? expand_merged(e, parts, node, value) : rc;
}

/* Add the changes that set the focus of parts below the node at the trail. */
static pith_status expand(pithp_lens_edits *e,
                          const pithp_lens_part *parts,
                          int32_t count,
                          const void *node,
                          const void *value) {
    if (count == 0)
        return pithp_lens_edits_add(e, &(pithp_lens_edit){.value = value});
    pith_status rc = PITH_OK;
    switch (parts->kind) {
        case PITHP_LENS_PATH:
            return expand_path(e, parts, count, node, value);
        case PITHP_LENS_CHECK:
            rc = pithp_lens_check_type(e->s, node, parts->type);
            return rc == PITH_OK ? expand(e, parts + 1, count - 1, node, value) : rc;
        case PITHP_LENS_CONSTANT:
            return PITH_OK;
        case PITHP_LENS_MERGE:
            return expand_merge(e, parts, count, node, value);
        case PITHP_LENS_FUNCTION:
        case PITHP_LENS_AT:
        case PITHP_LENS_SLICE:
            return pithp_lens_edits_add(
                e,
                &(pithp_lens_edit){.value = value, .parts = parts, .part_count = count});
        case PITHP_LENS_EACH:
        case PITHP_LENS_WHERE:
            rc = pithp_lens_present(e->s, node);
            return rc == PITH_OK ? expand_all(e, parts, count, node, value) : rc;
    }
    return rc;
}

/* ---- Direct replacement of a leaf ---- */

enum { STRAIGHT = 16 };

/* Whether a leaf can replace another without checks of its ancestors. */
static bool replaces(const void *old, const void *value) {
    const pithp_header *a = pithp_header_of(old), *b = pithp_header_of(value);
    return a->kind == PITHP_KIND_ARRAY && b->kind == PITHP_KIND_ARRAY &&
           a->shape == b->shape && a->extra == b->extra;
}

static void prefix_steps(pith_scope *s, const pithp_lens_part *path, int32_t steps) {
    pithp_text to;
    pithp_text_begin(&to, s->runtime);
    pithp_text_add_n(&to, path->text, steps ? path->steps[steps - 1].end : 0);
    pithp_error_prefix(s, to.bytes);
    pithp_text_end(&to);
}

/* Replace a leaf by one of the same spec, at a path of slots: ancestors are copied.
 * False: not applicable, nothing was done. NULL: error set. */
static bool set_straight(pith_scope *s,
                         const pithp_lens_part *path,
                         const void *root,
                         const void *value,
                         const void **made) {
    const void *nodes[STRAIGHT + 1];
    if (path->count > STRAIGHT)
        return false;
    nodes[0] = root;
    for (int32_t i = 0; i < path->count; i++) {
        memcpy(&nodes[i + 1], (const char *)nodes[i] + path->steps[i].offset,
               sizeof nodes[i]);
        if (!nodes[i + 1])
            return false;
    }
    if (!replaces(nodes[path->count], value) ||
        !pithp_scope_reaches(s, pithp_owner_of(root)) ||
        !pithp_scope_reaches(s, pithp_owner_of(value)))
        return false;
    for (int32_t i = path->count; i-- > 0;) {
        char *copy = pithp_node_copy(s, nodes[i]);
        *made = NULL;
        if (!copy)
            return true;
        memcpy(copy + path->steps[i].offset, &value, sizeof value);
        if (pithp_record_check(s, copy) != PITH_OK) {
            prefix_steps(s, path, i);
            return true;
        }
        value = copy;
    }
    *made = value;
    return true;
}

/* ---- Calls ---- */

static const void *set(pith_scope *s,
                       const pith_lens *lens,
                       const void *root,
                       const void *value,
                       const pith_lens_options *options) {
    const void *made;
    if (PITHP_LIKELY(lens->direct && value) &&
        PITHP_LIKELY(set_straight(s, lens->parts, root, value, &made)))
        return made;
    pithp_lens_edits e;
    pithp_lens_edits_begin(&e, s, options);
    made = expand(&e, lens->parts, lens->part_count, root, value) == PITH_OK
               ? pithp_lens_edits_apply(&e, root)
               : NULL;
    pithp_lens_edits_end(&e);
    if (made && lens->type && pithp_lens_check_type(s, made, lens->type) != PITH_OK)
        return NULL; /* the root itself was replaced */
    return made;
}

/* Check a lens and its root. */
static bool
enter(pith_scope *s, const char *function, const pith_lens *lens, const void *root) {
    return PITHP_LIKELY(pithp_enter_as(s, function)) &&
           (PITHP_LIKELY(pithp_lens_is_direct(s, lens, root)) ||
            (pithp_lens_check(s, lens, function, "lens") == PITH_OK &&
             pithp_lens_check_root(s, lens, root, function) == PITH_OK));
}

const void *pith_lens_set_with(pith_scope *s,
                               const pith_lens *lens,
                               const void *root,
                               const void *value,
                               const pith_lens_options *options) {
    static const char function[] = "pith_lens_set";
    const void *made = NULL;
    if (enter(s, function, lens, root) &&
        (!value || pithp_tree_check(s, value, function, "value") == PITH_OK))
        made = set(s, lens, root, value, options);
    return made ? made : pithp_nil_for(root);
}

const void *pith_lens_apply_with(pith_scope *s,
                                 const pith_lens *lens,
                                 const void *root,
                                 pith_lens_modifier function,
                                 void *closure,
                                 const pith_lens_options *options) {
    static const char name[] = "pith_lens_apply";
    const void *made = NULL;
    if (!enter(s, name, lens, root))
        return pithp_nil_for(root);
    if (!function) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: function is NULL", name);
        return pithp_nil_for(root);
    }
    const void *part = pithp_lens_look(s, lens->parts, lens->part_count, root);
    if (s->error.code == PITH_OK) {
        const pithp_call_site call = pithp_user_begins(s);
        part = function(s, part, closure);
        pithp_user_ends(s, call);
        part = pithp_lens_admit(s, part, name, "what the function returned");
    }
    if (s->error.code == PITH_OK)
        made = set(s, lens, root, part, options);
    return made ? made : pithp_nil_for(root);
}

/* ---- Numbers and texts ---- */

/* Follow the paths of a lens to a static, and set it; false: the focus is no static. */
static bool set_static(pithp_lens_edits *e,
                       const pith_lens *lens,
                       const void *root,
                       const pithp_static_value *scalar) {
    pithp_lens_place place;
    const void *node = root;
    if (!pithp_lens_is_path(lens) ||
        pithp_lens_locate(e->s, lens, root, &place) != PITH_OK || !place.field)
        return e->s->error.code != PITH_OK;
    for (int32_t i = 0; i < lens->part_count; i++) {
        if (lens->parts[i].kind != PITHP_LENS_PATH)
            continue;
        if (pithp_lens_follow(e->s, &lens->parts[i], node, &place, &e->trail) != PITH_OK)
            return true;
        node = place.node;
    }
    pithp_lens_edits_add(e, &(pithp_lens_edit){.scalar = scalar});
    return true;
}

static const void *put_scalar(pith_scope *s,
                              const char *function,
                              const pith_lens *lens,
                              const void *root,
                              const pithp_static_value *scalar,
                              const pith_lens_options *options) {
    const void *made = NULL;
    if (!enter(s, function, lens, root))
        return pithp_nil_for(root);
    pithp_lens_edits e;
    pithp_lens_edits_begin(&e, s, options);
    const bool is_static = set_static(&e, lens, root, scalar);
    if (is_static && s->error.code == PITH_OK)
        made = pithp_lens_edits_apply(&e, root);
    pithp_lens_edits_end(&e);
    const void *value = is_static ? NULL : pithp_lens_scalar_tree(s, scalar);
    if (value)
        made = set(s, lens, root, value, options);
    return made ? made : pithp_nil_for(root);
}

const void *pith_lens_set_i64_with(pith_scope *s,
                                   const pith_lens *lens,
                                   const void *root,
                                   int64_t value,
                                   const pith_lens_options *options) {
    return put_scalar(s, "pith_lens_set_i64", lens, root,
                      &(pithp_static_value){.kind = PITH_STATIC_KIND_I64, .i64 = value},
                      options);
}

const void *pith_lens_set_f64_with(pith_scope *s,
                                   const pith_lens *lens,
                                   const void *root,
                                   double value,
                                   const pith_lens_options *options) {
    return put_scalar(s, "pith_lens_set_f64", lens, root,
                      &(pithp_static_value){.kind = PITH_STATIC_KIND_F64, .f64 = value},
                      options);
}

const void *pith_lens_set_bool_with(pith_scope *s,
                                    const pith_lens *lens,
                                    const void *root,
                                    bool value,
                                    const pith_lens_options *options) {
    return put_scalar(s, "pith_lens_set_bool", lens, root,
                      &(pithp_static_value){.kind = PITH_STATIC_KIND_BOOL, .i64 = value},
                      options);
}

const void *pith_lens_set_text_with(pith_scope *s,
                                    const pith_lens *lens,
                                    const void *root,
                                    const char *value,
                                    const pith_lens_options *options) {
    return put_scalar(s, "pith_lens_set_text", lens, root,
                      &(pithp_static_value){.kind = PITH_STATIC_KIND_TEXT, .text = value},
                      options);
}
