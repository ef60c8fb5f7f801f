/* Functions of a part and its root: the focus of a lens becomes a parameter. Trees that
 * the lens holds are bound in the function, as pith_partial binds trees. */
#include "lens/lens_internal.h"

#include <string.h>

typedef struct at_focus {
    pithp_closure closure; /* bound: a tuple of the trees that the lens holds, or NULL */
    const pith_lens *lens; /* without these trees */
} at_focus;

/* ---- Identity ---- */

static void add_lens(pithp_string *t, const pith_lens *lens);

/* The lenses of a merge are the only parts with parts of their own. */
static void add_part(pithp_string *t, const pithp_lens_part *part) {
    const bool merge = part->kind == &pithp_lens_merge_kind;
    pithp_string_add_n(t, (const char *)&part->kind, sizeof part->kind);
    pithp_string_add_n(t, (const char *)&part->count, sizeof part->count);
    if (part->kind->identity)
        part->kind->identity(t, part);
    for (int32_t i = 0; merge && i < part->count; i++)
        add_lens(t, part->merged[i]);
}

static void add_lens(pithp_string *t, const pith_lens *lens) {
    pithp_string_add_n(t, (const char *)&lens->type, sizeof lens->type);
    pithp_string_add_n(t, (const char *)&lens->part_count, sizeof lens->part_count);
    for (int32_t i = 0; i < lens->part_count; i++)
        add_part(t, &lens->parts[i]);
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    add_lens(text, ((const at_focus *)(const void *)closure)->lens);
}

/* ---- Calls ---- */

/* The lens with the trees that are bound. NULL: error set. */
static const pith_lens *lens_of(const at_focus *f, pith_scope *s) {
    const int64_t count = f->closure.bound ? pith_child_count(f->closure.bound) : 0;
    if (!count)
        return f->lens;
    const void **trees = pithp_scope_allocate(s, (size_t)count * sizeof *trees);
    for (int64_t k = 0; trees && k < count; k++)
        trees[k] = pith_child(f->closure.bound, k);
    return trees ? pithp_lens_with_held(s, f->lens, trees) : NULL;
}

static const void *
call_at_focus(const pith_function *self, pith_scope *s, const void *const *given) {
    const at_focus *f = self->closure;
    const pith_function *base = f->closure.base;
    pith_scope *on = pithp_on_behalf(s);
    const void *all[PITHP_MOST_PARAMETERS];
    const pith_lens *lens = lens_of(f, s);
    if (!lens)
        return NULL;
    all[0] = (pith_lens_set_with)(on, lens, given[1], given[0], NULL);
    memcpy(all + 1, given + 2, (size_t)(base->arity - 1) * sizeof *all);
    return pith_failed(s) ? NULL : (pith_call)(on, base, base->arity, all);
}

/* ---- Making ---- */

static pith_status keep_lens(pith_scope *s, pithp_closure *closure) {
    at_focus *f = (at_focus *)(void *)closure;
    pithp_block *block = NULL;
    pithp_block_find((const char *)f->lens - 1, &block);
    if (block && block->runtime && !pithp_scope_reaches(s, block->owner) &&
        !(f->lens = pithp_lens_with_held(s, f->lens, NULL)))
        return s->error.code;
    return PITH_OK;
}

static const pithp_closure_kind kind = {.name = "at_focus",
                                        .bytes = sizeof(at_focus),
                                        .made = keep_lens,
                                        .identity = add_identity};

static pith_status
check(pith_scope *s, const pith_lens *lens, const pith_function *function) {
    static const char *const name = "pith_at_focus";
    if (pithp_lens_check(s, lens, name, "lens") != PITH_OK ||
        pithp_function_check(s, function, name) != PITH_OK ||
        function->arity < PITHP_MOST_PARAMETERS)
        return s->error.code;
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s: %s: expected a function of at most %d trees: the focus is one "
                      "more",
                      name, function->name, PITHP_MOST_PARAMETERS - 1);
}

/* Take the trees out of the lens and bind them. */
static pith_status bind_held(pith_scope *s, at_focus *f) {
    const int64_t count = pithp_lens_held(f->lens, 0, NULL);
    if (!count)
        return PITH_OK;
    const void **trees = pithp_scope_allocate(s, (size_t)count * sizeof *trees);
    if (!trees)
        return s->error.code;
    pithp_lens_held(f->lens, count, trees);
    f->closure.bound = pith_tuple_make(pithp_on_behalf(s), count, trees);
    f->lens = f->closure.bound ? pithp_lens_with_held(s, f->lens, NULL) : NULL;
    return s->error.code;
}

const pith_function *
pith_at_focus(pith_scope *s, const pith_lens *lens, const pith_function *function) {
    at_focus f = {.closure = {.kind = &kind, .base = function}, .lens = lens};
    if (!pithp_enter(s) || check(s, lens, function) != PITH_OK ||
        bind_held(s, &f) != PITH_OK)
        return NULL;
    pith_function like = *function;
    like.call = call_at_focus;
    memcpy(like.parameters + 1, function->parameters,
           (size_t)function->arity * sizeof *like.parameters);
    like.parameters[0] = NULL;
    like.arity++;
    const pithp_closure *made = pithp_function_make(s, &like, &f.closure);
    return made ? made->function : NULL;
}
