/* Batched functions: closures over a base function, and their options. */
#include "trace/jit/jit_internal.h"
#include "trace/vmap/vmap_internal.h"

#include <inttypes.h>

static pith_status copy_axes(pith_scope *s, pithp_closure *closure) {
    pithp_batched *b = (pithp_batched *)(void *)closure;
    return pithp_axis_list_copy(s, &b->in) == PITH_OK ? pithp_axis_list_copy(s, &b->out)
                                                      : s->error.code;
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const pithp_batched *b = (const pithp_batched *)(const void *)closure;
    const int64_t numbers[2] = {b->size, b->chunk};
    pithp_string_add_n(text, (const char *)numbers, sizeof numbers);
    pithp_axis_list_identity(&b->in, text);
    pithp_axis_list_identity(&b->out, text);
}

static const pithp_closure_kind kind = {.name = "vmap",
                                        .traced = true,
                                        .bytes = sizeof(pithp_batched),
                                        .made = copy_axes,
                                        .identity = add_identity};

static pith_status
check_count(pith_scope *s, const pith_function *f, const char *name, int64_t count) {
    return count >= 0 ? PITH_OK
                      : pithp_fail(s, PITH_E_ARG, NULL,
                                   "pith_vmap: %s: %s must not be negative, got %" PRId64,
                                   f->name, name, count);
}

static pith_status check_options(pith_scope *s,
                                 const pith_function *f,
                                 const pith_vmap_options *o,
                                 pithp_batched *b) {
    static const char *const name = "pith_vmap";
    pith_status rc;
    PITH_TRY(pithp_function_check(s, f, name));
    PITH_TRY(check_count(s, f, ".size", o->size));
    PITH_TRY(check_count(s, f, ".chunk", o->chunk));
    PITH_TRY(pithp_axis_list_read(s, name, f, o->in, false, &b->in));
    PITH_TRY(pithp_axis_list_read(s, name, f, o->out, true, &b->out));
out:
    return rc;
}

const pith_function *pith_vmap(pith_scope *s,
                               const pith_function *function,
                               const pith_vmap_options *options) {
    static const pith_vmap_options defaults;
    const pith_vmap_options *o = options ? options : &defaults;
    if (!pithp_enter(s))
        return NULL;
    pithp_batched b = {
        .closure = {.kind = &kind, .base = function}, .size = o->size, .chunk = o->chunk};
    if (check_options(s, function, o, &b) != PITH_OK)
        return NULL;
    pith_function like = *function;
    like.call = pithp_batched_function_call;
    const pithp_closure *made = pithp_function_make(s, &like, &b.closure);
    return made ? pithp_jit_compile_over(s, made->function, function) : NULL;
}
