/* Functions over loop axes: closures over a base function, and their signatures. */
#include "trace/jit/jit_internal.h"
#include "trace/vmap/signature.h"
#include "trace/vmap/vmap_internal.h"

#include <string.h>

static const char *const name = "pith_vectorize";

static pith_status copy_signature(pith_scope *s, pithp_closure *closure) {
    pithp_vectorized *v = (pithp_vectorized *)(void *)closure;
    const char *from = v->options.signature;
    if (!from)
        return PITH_OK;
    char *copy = pithp_scope_allocate(s, strlen(from) + 1);
    if (copy)
        v->options.signature = strcpy(copy, from);
    return s->error.code;
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const pith_vectorize_options *o =
        &((const pithp_vectorized *)(const void *)closure)->options;
    pithp_string_add_n(text, (const char *)&o->excluded, sizeof o->excluded);
    if (o->signature)
        pithp_string_add_n(text, o->signature, strlen(o->signature) + 1);
    pithp_string_add_n(text, "", 1);
}

static const pithp_closure_kind kind = {.name = "vectorize",
                                        .traced = true,
                                        .bytes = sizeof(pithp_vectorized),
                                        .made = copy_signature,
                                        .identity = add_identity};

static pith_status
check_options(pith_scope *s, const pith_function *f, const pith_vectorize_options *o) {
    pithp_signature signature;
    if (o->excluded >> f->arity)
        return pithp_fail(
            s, PITH_E_ARG, NULL,
            "%s: %s: .excluded names argument [%d]: expected [0] to [%d]", name, f->name,
            f->arity + __builtin_ctz(o->excluded >> f->arity), f->arity - 1);
    return o->signature
               ? pithp_signature_parse(s, name, f->name, o->signature, &signature)
               : PITH_OK;
}

const pith_function *pith_vectorize(pith_scope *s,
                                    const pith_function *function,
                                    const pith_vectorize_options *options) {
    static const pith_vectorize_options defaults;
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK ||
        check_options(s, function, options ? options : &defaults) != PITH_OK)
        return NULL;
    const pithp_vectorized v = {.closure = {.kind = &kind, .base = function},
                                .options = options ? *options : defaults};
    pith_function like = *function;
    like.call = pithp_vectorized_call;
    const pithp_closure *made = pithp_function_make(s, &like, &v.closure);
    return made ? pithp_jit_compile_over(s, made->function, function) : NULL;
}
