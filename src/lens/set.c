/* Lens setters: the focus of a lens becomes a set of changes at positions, which are
 * applied together. Computed parts (functions, row lenses) change the node they apply
 * to. */
#include "lens/lens_internal.h"

#include <string.h>

pith_status pithp_lens_expand(pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value) {
    return count ? parts->kind->set(e, parts, count, node, value)
                 : pithp_lens_edits_add(e, &(pithp_lens_edit){.value = value});
}

pith_status pithp_lens_expand_computed(pithp_lens_edits *e,
                                       const pithp_lens_part *parts,
                                       int32_t count,
                                       const void *node,
                                       const void *value) {
    (void)node;
    return pithp_lens_edits_add(
        e, &(pithp_lens_edit){.value = value, .parts = parts, .part_count = count});
}

const void *pithp_lens_set_in(const pithp_lens_edits *e,
                              const pithp_lens_part *parts,
                              int32_t count,
                              const void *node,
                              const void *value) {
    if (count == 0)
        return value;
    pithp_lens_edits inner;
    pithp_lens_edits_begin(&inner, e->s, e->options);
    const void *made = pithp_lens_expand(&inner, parts, count, node, value) == PITH_OK
                           ? pithp_lens_edits_apply(&inner, node)
                           : NULL;
    pithp_lens_edits_end(&inner);
    return made;
}

/* ---- Several at once ---- */

pith_status pithp_lens_check_items(pith_scope *s,
                                   const void *value,
                                   bool list,
                                   int64_t count,
                                   const char *of) {
    const pithp_kind kind = value ? pithp_kind_of(value) : PITHP_KIND_FREE;
    const bool fits = (kind == PITHP_KIND_LIST && list) || kind == PITHP_KIND_TUPLE;
    if (fits && pithp_node_def_of(value)->slot_count == count)
        return PITH_OK;
    pithp_string got;
    pithp_string_begin(&got, s->runtime);
    pithp_node_describe(&got, value);
    const pith_status code = fits ? PITH_E_STRUCTURE : PITH_E_TYPE;
    pithp_fail(s, code, NULL, "expected a %s of %lld, one for each %s, got %s",
               list ? "list" : "tuple", (long long)count, of, got.bytes);
    pithp_string_end(&got);
    return code;
}

const void *pithp_lens_item(const void *value, int64_t i) {
    return *pithp_slot(value, pithp_node_def_of(value), i);
}

/* ---- Parts ---- */

const void *pithp_lens_set_behind(const pithp_lens_edits *e,
                                  const pithp_lens_part *parts,
                                  int32_t count,
                                  const void *node,
                                  const void *value) {
    if (count == 1)
        return value;
    const void *there = pithp_lens_look(e->s, parts, 1, node);
    return e->s->error.code == PITH_OK
               ? pithp_lens_set_in(e, parts + 1, count - 1, there, value)
               : NULL;
}

const void *pithp_lens_set_computed(const pithp_lens_edits *e,
                                    const pithp_lens_edit *edit,
                                    const void *node) {
    return pithp_lens_present(e->s, node) == PITH_OK
               ? edit->parts->kind->make(e, edit, node)
               : NULL;
}

bool pithp_lens_rows_present(pith_scope *s, const void *value) {
    if (!value)
        pithp_fail(s, PITH_E_ARG, NULL, "rows cannot be absent");
    return value;
}

/* ---- Direct replacement of a leaf ---- */

enum { STRAIGHT = 16 };

/* Whether a leaf can replace another without checks of its ancestors. */
static bool replaces(const void *old, const void *value) {
    const pithp_header *a = pithp_header_of(old), *b = pithp_header_of(value);
    return a->kind == PITHP_KIND_ARRAY && b->kind == PITHP_KIND_ARRAY &&
           a->descriptor == b->descriptor && a->extra == b->extra;
}

static void prefix_steps(pith_scope *s, const pithp_lens_part *path, int32_t steps) {
    pithp_string to;
    pithp_string_begin(&to, s->runtime);
    pithp_string_add_n(&to, path->text, steps ? path->steps[steps - 1].end : 0);
    pithp_error_prefix(s, to.bytes);
    pithp_string_end(&to);
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
    made = pithp_lens_expand(&e, lens->parts, lens->part_count, root, value) == PITH_OK
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
        if (lens->parts[i].kind != &pithp_lens_path_kind)
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
