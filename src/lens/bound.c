/* Bound lenses: a lens with a root, and the operations on the pair. */
#include "lens/lens_internal.h"

struct pith_bound {
    const pith_lens *lens;
    const void *root;
};

static const void *keep_bound(pith_scope *outer, const void *object);
static const pithp_class bound_class = {"a bound lens", keep_bound};

/* Copy a checked lens and root to s as a pair. NULL: error set. */
static const pith_bound *bind(pith_scope *s, const pith_lens *lens, const void *root) {
    const pith_lens *kept = lens ? pith_keep_any(pithp_on_behalf(s), lens) : NULL;
    if (!kept || pithp_keep_slots(s, 1, &root) != PITH_OK)
        return NULL;
    pith_bound *bound =
        pithp_object_make(s, PITHP_KIND_CLASS, &bound_class, sizeof *bound);
    if (bound)
        *bound = (pith_bound){kept, root};
    return bound;
}

static const void *keep_bound(pith_scope *outer, const void *object) {
    const pith_bound *bound = object;
    return bind(outer, bound->lens, bound->root);
}

static bool is_bound(const void *object, pithp_block **block) {
    return pithp_pointer_check(object, block) == PITHP_POINTER_OK &&
           pithp_header_of(object)->kind == PITHP_KIND_CLASS &&
           pithp_header_of(object)->descriptor == &bound_class;
}

static bool enter(pith_scope *s, const char *function, const pith_bound *bound) {
    pithp_block *block = NULL;
    if (!pithp_enter_as(s, function))
        return false;
    if (is_bound(bound, &block) && block->runtime == s->runtime)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: bound: expected a result of pith_lens_bind",
               function);
    return false;
}

const pith_bound *pith_lens_bind(pith_scope *s, const pith_lens *lens, const void *root) {
    static const char function[] = "pith_lens_bind";
    return pithp_enter(s) && pithp_lens_check(s, lens, function, "lens") == PITH_OK &&
                   pithp_lens_check_root(s, lens, root, function) == PITH_OK
               ? bind(s, lens, root)
               : NULL;
}

const pith_lens *pith_bound_lens(const pith_bound *bound) {
    pithp_block *block = NULL;
    return is_bound(bound, &block) ? bound->lens : NULL;
}

const void *pith_bound_root(const pith_bound *bound) {
    pithp_block *block = NULL;
    return is_bound(bound, &block) ? bound->root : NULL;
}

const void *pith_bound_get(pith_scope *s, const pith_bound *bound) {
    return enter(s, "pith_bound_get", bound)
               ? pith_lens_get(pithp_on_behalf(s), bound->lens, bound->root)
               : NULL;
}

const void *pith_bound_set(pith_scope *s,
                           const pith_bound *bound,
                           const void *value,
                           const pith_lens_options *options) {
    return enter(s, "pith_bound_set", bound)
               ? pith_lens_set_with(pithp_on_behalf(s), bound->lens, bound->root, value,
                                    options)
               : pithp_nil_for(pith_bound_root(bound));
}

const void *pith_bound_apply(pith_scope *s,
                             const pith_bound *bound,
                             pith_lens_modifier function,
                             void *closure,
                             const pith_lens_options *options) {
    return enter(s, "pith_bound_apply", bound)
               ? pith_lens_apply_with(pithp_on_behalf(s), bound->lens, bound->root,
                                      function, closure, options)
               : pithp_nil_for(pith_bound_root(bound));
}

const pith_bound *
pith_bound_focus(pith_scope *s, const pith_bound *bound, const char *path) {
    return enter(s, "pith_bound_focus", bound)
               ? bind(s, pith_lens_focus(pithp_on_behalf(s), bound->lens, path),
                      bound->root)
               : NULL;
}

const pith_bound *
pith_bound_nest(pith_scope *s, const pith_bound *bound, const pith_lens *inner) {
    return enter(s, "pith_bound_nest", bound)
               ? bind(s, pith_lens_nest(pithp_on_behalf(s), bound->lens, inner),
                      bound->root)
               : NULL;
}

const pith_bound *pith_bound_at(pith_scope *s,
                                const pith_bound *bound,
                                const pith_array *index,
                                const pith_lens_at_options *options) {
    return enter(s, "pith_bound_at", bound)
               ? bind(s, pith_lens_at(pithp_on_behalf(s), bound->lens, index, options),
                      bound->root)
               : NULL;
}
