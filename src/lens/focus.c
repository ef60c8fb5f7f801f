/* Functions of a part and its root: the focus of a lens becomes a parameter. */
#include "lens/lens_internal.h"

#include <string.h>

typedef struct at_focus {
    pithp_closure closure;
    const pith_lens *lens;
    uint64_t serial; /* distinguishes lenses that hold arrays; 0: the lens holds none */
} at_focus;

/* ---- Identity ---- */

static bool add_lens(pithp_string *t, const pith_lens *lens);

/* The lenses of a merge are the only parts with parts of their own. */
static bool add_part(pithp_string *t, const pithp_lens_part *part) {
    bool known = part->kind->identity || part->kind == &pithp_lens_merge_kind;
    pithp_string_add_n(t, (const char *)&part->kind, sizeof part->kind);
    pithp_string_add_n(t, (const char *)&part->count, sizeof part->count);
    if (part->kind->identity)
        part->kind->identity(t, part);
    for (int32_t i = 0; part->kind == &pithp_lens_merge_kind && i < part->count; i++)
        known &= add_lens(t, part->merged[i]);
    return known;
}

static bool add_lens(pithp_string *t, const pith_lens *lens) {
    bool known = true;
    pithp_string_add_n(t, (const char *)&lens->type, sizeof lens->type);
    pithp_string_add_n(t, (const char *)&lens->part_count, sizeof lens->part_count);
    for (int32_t i = 0; i < lens->part_count; i++)
        known &= add_part(t, &lens->parts[i]);
    return known;
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const at_focus *f = (const at_focus *)(const void *)closure;
    add_lens(text, f->lens);
    pithp_string_add_n(text, (const char *)&f->serial, sizeof f->serial);
}

/* ---- Calls ---- */

static const void *
call_at_focus(const pith_function *self, pith_scope *s, const void *const *given) {
    const at_focus *f = self->closure;
    const pith_function *base = f->closure.base;
    pith_scope *on = pithp_on_behalf(s);
    const void *all[PITHP_MOST_PARAMETERS];
    all[0] = (pith_lens_set_with)(on, f->lens, given[1], given[0], NULL);
    memcpy(all + 1, given + 2, (size_t)(base->arity - 1) * sizeof *all);
    return pith_failed(s) ? NULL : (pith_call)(on, base, base->arity, all);
}

/* ---- Making ---- */

static pith_status keep_lens(pith_scope *s, pithp_closure *closure) {
    at_focus *f = (at_focus *)(void *)closure;
    pithp_block *block = NULL;
    pithp_block_find((const char *)f->lens - 1, &block);
    if (block && block->runtime && !pithp_scope_reaches(s, block->owner) &&
        !(f->lens = pithp_lens_copy(s, f->lens)))
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

const pith_function *
pith_at_focus(pith_scope *s, const pith_lens *lens, const pith_function *function) {
    static _Atomic uint64_t serial;
    if (!pithp_enter(s) || check(s, lens, function) != PITH_OK)
        return NULL;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    const bool known = add_lens(&text, lens);
    pithp_string_end(&text);
    pith_function like = *function;
    like.call = call_at_focus;
    memcpy(like.parameters + 1, function->parameters,
           (size_t)function->arity * sizeof *like.parameters);
    like.parameters[0] = NULL;
    like.arity++;
    const at_focus f = {.closure = {.kind = &kind, .base = function},
                        .lens = lens,
                        .serial = known ? 0 : atomic_fetch_add(&serial, 1) + 1};
    const pithp_closure *made = pithp_function_make(s, &like, &f.closure);
    return made ? made->function : NULL;
}
