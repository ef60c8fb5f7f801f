/* Guards: fixes for launches in which pith_require_capacity found a size too small. */
#include "array/checks/length.h"
#include "assert/recorded.h"

#include <string.h>

pithp_guard *pithp_guard_make(pith_scope *owner,
                              const char *name,
                              const char *path,
                              const pithp_fix *fix) {
    const size_t n = strlen(name) + 1, m = strlen(path) + 1;
    pithp_guard *g = pithp_scope_allocate(owner, sizeof *g + fix->closure_bytes + n + m);
    if (!g)
        return NULL;
    char *closure = (char *)(g + 1), *texts = closure + fix->closure_bytes;
    memcpy(closure, fix->closure, fix->closure_bytes);
    *g = (pithp_guard){.fix = *fix};
    g->fix.closure = closure;
    g->name = memcpy(texts, name, n);
    g->path = memcpy(texts + n, path, m);
    return !g->fix.keep || g->fix.keep(owner, closure) == PITH_OK ? g : NULL;
}

void pithp_guard_push(pithp_collector *c, pithp_guard *g) {
    g->next = c->guards;
    g->first = c->count;
    c->guards = g;
}

pith_status
pithp_guard_add(pith_scope *s, const char *name, const char *path, const pithp_fix *fix) {
    pithp_collector *c = pithp_collector_of(s);
    if (!c)
        return PITH_OK;
    if (PITHP_UNLIKELY(pithp_scope_trace(s)))
        return pithp_guard_record(s, name, path, fix);
    pith_scope *owner = pithp_collector_outermost(c)->scope;
    pithp_guard *g = pithp_guard_make(owner, name, path, fix);
    if (!g) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    pithp_guard_push(c, g);
    return PITH_OK;
}

/* An i64 of rank 0, owned by a scope; NULL with its error set. */
static const pith_array *number(pith_scope *owner, int64_t value) {
    const pith_spec *spec = pithp_spec(owner, PITH_I64, 0, NULL);
    pith_array *a = spec ? pithp_array_make(owner, spec) : NULL;
    return a && pithp_copy_in(owner, a->data, &value, sizeof value) == PITH_OK ? a : NULL;
}

pith_status pithp_guard_apply(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    int64_t need = 0;
    const char *size = pithp_kernel_lacks(a->of, &need);
    if (!size)
        size = pithp_length_lacks(a->of, &need);
    const pithp_guard *g = a->of->guards;
    while (size && g && strcmp(g->name, size) != 0)
        g = g->next;
    if (!size || !g)
        return PITH_OK;
    a->fix = g->fix;
    a->path = g->path;
    a->rebase = g->rebase;
    a->greatest = g->fix.greatest;
    a->fix_args = number(owner, need);
    if (!a->fix_args)
        pithp_error_move(s, owner);
    return s->error.code;
}
