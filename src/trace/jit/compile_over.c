/* Compiling functions that transform others: static arguments stay static. */
#include "trace/jit/jit_internal.h"

/* The compiled function that f is, perhaps with bound trees; or NULL. */
static const pithp_jit *compiled_below(const pith_function *f) {
    for (const pithp_closure *c = f->closure; c; c = c->base->closure) {
        const pithp_jit_closure *compiled = pithp_jit_closure_of(c->function);
        if (compiled)
            return compiled->jit;
        if (c->kind->traced)
            return NULL;
    }
    return NULL;
}

/* The static paths of a function whose first `arity` parameters are left, in memory of s.
 * NULL: error set. */
static const char **
paths_left(pith_scope *s, const char *const *paths, int arity, int *kept) {
    int count = 0, argument;
    while (paths && paths[count])
        count++;
    const char **left = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *left);
    *kept = 0;
    for (int i = 0; left && i < count; i++)
        if (pithp_jit_path(paths[i], arity, &argument))
            left[(*kept)++] = paths[i];
    if (left)
        left[*kept] = NULL;
    return left;
}

const pith_function *
pithp_jit_compile_over(pith_scope *s, const pith_function *made, const pith_function *f) {
    const pithp_jit *below = compiled_below(f);
    pith_jit_options o = {0};
    int kept = 0;
    if (below) {
        const char **paths =
            paths_left(s, (const char *const *)below->static_paths, f->arity, &kept);
        if (!paths)
            return NULL;
        o.static_paths = kept ? paths : NULL;
        o.static_arguments = below->static_arguments & ((1u << f->arity) - 1);
    }
    return (pith_jit)(pithp_on_behalf(s), made, &o);
}
