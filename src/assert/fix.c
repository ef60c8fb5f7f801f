/* Fixes: functions of a root, also if that root has become a part of another root. */
#include "assert/passed.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const pith_assertion *assertion;
    const pithp_rebase *rebase;
} rest;

/* Public functions take the site of the current call. */
static const void *
call_with_site(pith_scope *s, const pith_function *f, int n, const void *const *given) {
    pith_call_site(s, s->site);
    return pith_call(s, f, n, given);
}

static const void *fix_part(pith_scope *s, const void *part, void *closure) {
    const rest *r = closure;
    const pith_assertion *a = r->assertion;
    const pithp_rebase *rebase = r->rebase;
    if (rebase)
        return rebase->apply(s, part, rebase->closure, fix_part,
                             &(rest){a, rebase->inner});
    if (a->function)
        return call_with_site(s, a->function, a->function->arity,
                              (const void *[]){part, a->fix_args});
    return a->fix.call(s, part, a->fix_args, a->fix.closure);
}

const void *
pithp_assertion_fix(pith_scope *s, const pith_assertion *a, const void *root) {
    const void *fixed = fix_part(s, root, &(rest){a, a->rebase});
    if (!pith_failed(s))
        return fixed;
    pithp_error_context(s, "the fix of the check at %s",
                        a->slot.site ? pithp_site_name(a->slot.site) : "an unknown line");
    return NULL;
}

bool pithp_outcome_raise_unfixable(pith_scope *s, const pithp_outcome *outcome) {
    for (int64_t i = 0; i < outcome->counting_count; i++)
        if (!pithp_assertion_has_fix(outcome->counting[i])) {
            pithp_assertion_raise(s, outcome->counting[i]);
            return true;
        }
    return false;
}

const void *
pithp_outcome_repair(pith_scope *s, const pithp_outcome *outcome, const void *root) {
    if (pithp_outcome_raise_unfixable(s, outcome))
        return NULL;
    for (int64_t i = 0; i < outcome->counting_count && root; i++)
        root = pithp_assertion_fix(s, outcome->counting[i], root);
    return root;
}

/* ---- Rebasing ---- */

pith_status pithp_rebase_one(pith_scope *s,
                             pith_scope *owner,
                             const char **path_of,
                             const pithp_rebase **rebase,
                             const pithp_rebase *r) {
    const size_t before = r->path ? strlen(r->path) : 0,
                 n = before + strlen(*path_of) + 1;
    pithp_rebase *mine = pithp_scope_allocate(owner, sizeof *mine);
    char *path = mine ? pithp_scope_allocate(owner, n) : NULL;
    if (!path) {
        pithp_error_move(s, owner);
        return PITH_E_MEMORY;
    }
    snprintf(path, n, "%s%s", r->path ? r->path : "", *path_of);
    *mine = *r;
    mine->inner = *rebase;
    *rebase = mine;
    *path_of = path;
    return PITH_OK;
}

/* Rebase all assertions of a slot. */
static pith_status rebase_slot(pith_scope *s,
                               pith_scope *owner,
                               pithp_check_slot *slot,
                               const pithp_rebase *r) {
    pithp_passed *passed = pithp_passed_of(slot);
    pith_assertion *own = (pith_assertion *)(void *)slot, *const *list = &own;
    int64_t count = pithp_slot_is_assertion(slot);
    if (passed) {
        list = pithp_passed_assertions(s, passed);
        count = pithp_passed_count(passed);
    }
    pith_status rc = list ? PITH_OK : s->error.code;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++)
        rc = pithp_rebase_one(s, owner, &list[i]->path, &list[i]->rebase, r);
    return rc;
}

pith_status
pithp_collector_rebase(pith_scope *s, pithp_collector *c, int64_t first, pithp_rebase r) {
    pith_scope *owner = pithp_collector_outermost(c)->scope;
    pith_status rc = PITH_OK;
    for (int64_t i = first; i < c->count && rc == PITH_OK; i++)
        rc = rebase_slot(s, owner, c->slots[i], &r);
    for (pithp_guard *g = (pithp_guard *)(uintptr_t)c->guards;
         g && g->first >= first && rc == PITH_OK; g = (pithp_guard *)(uintptr_t)g->next)
        rc = pithp_rebase_one(s, owner, &g->path, &g->rebase, &r);
    return rc;
}
