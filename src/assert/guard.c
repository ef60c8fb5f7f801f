/* Guards: what repairs a launch in which pith_require_capacity found a size too small. */
#include "array/array_internal.h"
#include "assert/assert_internal.h"

#include <string.h>

pith_status
pithp_guard_add(pith_scope *s, const char *name, const char *path, const pithp_fix *fix) {
    pithp_collector *c = pithp_collector_of(s);
    if (!c)
        return PITH_OK;
    pith_scope *owner = pithp_collector_outermost(c)->scope;
    const size_t n = strlen(name) + 1, m = strlen(path) + 1;
    pithp_guard *g = pithp_scope_allocate(owner, sizeof *g + fix->closure_bytes + n + m);
    if (!g) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    char *closure = (char *)(g + 1), *texts = closure + fix->closure_bytes;
    memcpy(closure, fix->closure, fix->closure_bytes);
    *g = (pithp_guard){.next = c->guards, .fix = *fix, .first = c->count};
    g->fix.closure = closure;
    g->name = memcpy(texts, name, n);
    g->path = memcpy(texts + n, path, m);
    if (g->fix.keep && g->fix.keep(owner, closure) != PITH_OK) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    c->guards = g;
    return PITH_OK;
}

/* An i64 of rank 0 that belongs to a scope; NULL with its error set. */
static const pith_array *number(pith_scope *owner, int64_t value) {
    const pith_spec *spec = pithp_spec(owner, PITH_I64, 0, NULL);
    pith_array *a = spec ? pithp_array_make(owner, spec) : NULL;
    return a && pithp_copy_in(owner, a->data, &value, sizeof value) == PITH_OK ? a : NULL;
}

pith_status pithp_guard_apply(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    int64_t need = 0;
    const char *size = pithp_kernel_lacks(a->of, &need);
    const pithp_guard *g = a->of->guards;
    while (size && g && strcmp(g->name, size) != 0)
        g = g->next;
    if (!size || !g)
        return PITH_OK;
    a->fix = g->fix;
    a->path = g->path;
    a->rebase = g->rebase;
    a->fix_args = number(owner, need);
    if (!a->fix_args)
        pithp_error_move(s, owner);
    return s->error.code;
}
