/* Functions made at run time: closures, and partial application of the last parameter. */
#include "tree/node_internal.h"

#include <dlfcn.h>
#include <string.h>

/* A function and its closure are one object. */
typedef struct made_function {
    pith_function function;
    char closure[];
} made_function;

static const void *keep_function(pith_scope *outer, const void *object);
const pithp_class pithp_function_class = {"a function", keep_function};

static bool is_made(const pith_function *f) {
    pithp_block *block = NULL;
    return pithp_pointer_check(f, &block) == PITHP_POINTER_OK &&
           pithp_header_of(f)->descriptor == &pithp_function_class;
}

pith_status
pithp_function_check_slow(pith_scope *s, const pith_function *f, const char *function) {
    pithp_block *block = NULL;
    if (!f)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a function, got NULL",
                          function);
    const pithp_block_state state = pithp_block_find(f, &block);
    if (state == PITHP_BLOCK_FREED)
        return pithp_fail(s, PITH_E_SCOPE, NULL,
                          "%s: the scope of the function is closed", function);
    if (state == PITHP_BLOCK_LIVE && !is_made(f))
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a function", function);
    if (state == PITHP_BLOCK_LIVE && block->runtime != s->runtime)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s belongs to another runtime",
                          function, f->name);
    if (!f->name || !f->call || f->arity < 1 || f->arity > PITHP_MOST_PARAMETERS ||
        (state != PITHP_BLOCK_LIVE && f->closure))
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: expected a function made by PITH_FUNCTION", function);
    return PITH_OK;
}

/* Whether a function outside all blocks is made by PITH_FUNCTION. It may also lie in the
 * freed memory of a closed runtime, which must not be read. */
static bool is_static(const pith_function *f) {
    Dl_info where;
    return dladdr(f, &where) != 0;
}

const void *pithp_function_nil(const pith_function *f) {
    pithp_block *block = NULL;
    if (!f ||
        !(pithp_block_find(f, &block) == PITHP_BLOCK_NONE ? is_static(f) : is_made(f)))
        return NULL;
    const pith_type *type = f->result ? f->result() : NULL;
    return type && type != pith_array_pith_type() ? pithp_nil(type) : NULL;
}

pith_status
pithp_step_check(pith_scope *s, const pith_function *f, const char *function) {
    if (pithp_function_check(s, f, function) != PITH_OK || f->arity == 1)
        return s->error.code;
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s: expected a function of one tree, got %s of %d", function,
                      f->name, f->arity);
}

pithp_closure *pithp_function_make(pith_scope *s,
                                   const pith_function *like,
                                   const pithp_closure *closure) {
    const size_t bytes = closure->kind->bytes;
    made_function *made = pithp_object_make(s, PITHP_KIND_CLASS, &pithp_function_class,
                                            sizeof *made + bytes);
    if (!made)
        return NULL;
    memcpy(made->closure, closure, bytes);
    pithp_closure *copy = (pithp_closure *)(void *)made->closure;
    made->function = *like;
    made->function.closure = copy;
    copy->function = &made->function;
    copy->base = pithp_function_keep(s, copy->base);
    bool kept = copy->base;
    for (int k = 0; k < PITHP_MORE_BASES && kept; k++)
        kept = !copy->more[k] ||
               (copy->more[k] = pithp_function_keep(s, copy->more[k])) != NULL;
    if (!kept || (copy->bound && pithp_keep_slots(s, 1, &copy->bound) != PITH_OK) ||
        (copy->kind->made && copy->kind->made(s, copy) != PITH_OK)) {
        pithp_header_of(made)->kind = PITHP_KIND_FREE;
        return NULL;
    }
    return copy;
}

static const void *keep_function(pith_scope *outer, const void *object) {
    const pith_function *f = object;
    const pithp_closure *kept = pithp_function_make(outer, f, f->closure);
    return kept ? kept->function : NULL;
}

const pith_function *pithp_function_keep(pith_scope *outer, const pith_function *f) {
    if (!is_made(f) || pithp_scope_reaches(outer, pithp_owner_of(f)))
        return f;
    return keep_function(outer, f);
}

/* ---- Partial application ---- */

static const void *
call_bound(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_closure *c = self->closure;
    const void *all[PITHP_MOST_PARAMETERS];
    memcpy(all, given, (size_t)self->arity * sizeof *all);
    all[self->arity] = c->bound;
    return c->base->call(c->base, s, all);
}

static const pithp_closure_kind partial_kind = {.name = "partial",
                                                .bytes = sizeof(pithp_closure)};

/* The function with one parameter less. */
static pith_function one_less(const pith_function *f) {
    pith_function less = *f;
    less.call = call_bound;
    less.arity--;
    less.parameters[less.arity] = NULL;
    return less;
}

const pith_function *
pith_partial(pith_scope *s, const pith_function *function, const void *tree) {
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_partial") != PITH_OK)
        return NULL;
    if (function->arity < 2) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_partial: %s has only one parameter",
                   function->name);
        return NULL;
    }
    if (pithp_argument_check(s, function, function->arity - 1, tree) != PITH_OK)
        return NULL;
    const pithp_closure c = {.kind = &partial_kind, .base = function, .bound = tree};
    const pith_function like = one_less(function);
    const pithp_closure *made = pithp_function_make(s, &like, &c);
    return made ? made->function : NULL;
}

int64_t pithp_function_bound(const pith_function *f, int64_t room, const void **trees) {
    int64_t count = 0;
    for (const pithp_closure *c = f->closure; c; c = c->base->closure) {
        if (c->bound) {
            if (count < room)
                trees[count] = c->bound;
            count++;
        }
        bool any = false;
        for (int k = 0; k < PITHP_MORE_BASES; k++)
            any |= c->more[k] != NULL;
        if (!any)
            continue;
        /* The base has no other, or it comes first. */
        for (int k = -1; k < PITHP_MORE_BASES; k++) {
            const pith_function *base = k < 0 ? c->base : c->more[k];
            const int64_t left = room > count ? room - count : 0;
            if (base)
                count += pithp_function_bound(base, left, left ? trees + count : NULL);
        }
        break;
    }
    return count;
}

/* A function in the closure with its own trees, which are passed. */
static const pith_function *
rebind_next(pith_scope *s, const pith_function *f, const void *const **trees) {
    const pith_function *made = pithp_function_rebind(s, f, *trees);
    *trees += pithp_function_bound(f, 0, NULL);
    return made;
}

const pith_function *
pithp_function_rebind(pith_scope *s, const pith_function *f, const void *const *trees) {
    const pithp_closure *c = f->closure;
    if (!c)
        return f;
    pithp_closure *copy = pithp_allocate(s->runtime, c->kind->bytes);
    if (!copy) {
        pithp_fail_memory(s, c->kind->bytes);
        return NULL;
    }
    memcpy(copy, c, c->kind->bytes);
    copy->bound = c->bound ? *trees++ : NULL;
    copy->base = rebind_next(s, c->base, &trees);
    bool fine = copy->base;
    for (int k = 0; k < PITHP_MORE_BASES && fine; k++)
        fine =
            !c->more[k] || (copy->more[k] = rebind_next(s, c->more[k], &trees)) != NULL;
    const pithp_closure *made = fine ? pithp_function_make(s, f, copy) : NULL;
    pithp_release(s->runtime, copy, c->kind->bytes);
    return made ? made->function : NULL;
}

void pithp_function_identity(const pith_function *f, pithp_string *text) {
    for (const pithp_closure *c = f->closure; c; f = c->base, c = f->closure) {
        const bool bound = c->bound != NULL;
        pithp_string_add_n(text, (const char *)&c->kind, sizeof(void *));
        pithp_string_add_n(text, (const char *)&bound, sizeof bound);
        if (c->kind->identity)
            c->kind->identity(c, text);
        for (int k = 0; k < PITHP_MORE_BASES; k++) {
            const bool more = c->more[k] != NULL;
            pithp_string_add_n(text, (const char *)&more, sizeof more);
            if (more)
                pithp_function_identity(c->more[k], text);
        }
    }
    pithp_string_add_n(text, (const char *)&f->call, sizeof f->call);
    pithp_string_add_n(text, (const char *)&f->result, sizeof f->result);
    pithp_string_add_n(text, (const char *)&f->arity, sizeof f->arity);
}
