/* Recorded assertions and guards: their entries in the list of a trace, and their replay
 * after a run. */
#include "assert/passed.h"

/* ---- After a run ---- */

const void *pithp_recorded_fix_args(pith_scope *s,
                                    pith_scope *owner,
                                    const pithp_recorded *r,
                                    const pith_array *const *values) {
    const pith_treedef *structure = pithp_recorded_assertion(r)->fix_structure;
    if (!structure && !r->leaves)
        return NULL;
    const pith_array *const *given = values + r->count - r->leaves;
    const size_t bytes = (size_t)(r->leaves ? r->leaves : 1) * sizeof *given;
    const pith_array **leaves = pithp_scope_allocate(owner, bytes);
    const void *tree = NULL;
    bool fine = leaves != NULL;
    for (int64_t i = 0; i < r->leaves && fine; i++) {
        leaves[i] = pithp_array_view(owner, pithp_array_spec(given[i]),
                                     pithp_array_buffer(given[i]), given[i]->data);
        fine = leaves[i] != NULL;
    }
    if (fine && structure) {
        pith_call_site(owner, s->site);
        tree = (pith_tree_unflatten)(owner, structure, r->leaves, leaves);
    } else if (fine) {
        tree = leaves[0];
    }
    if (!tree)
        pithp_error_move(s, owner);
    return tree;
}

static pith_status make_check(pith_scope *s,
                              pithp_checks *c,
                              const pithp_recorded *r,
                              const pith_array *const *values) {
    pithp_collector *to = pithp_collector_of(s);
    pith_scope *owner = to ? pithp_collector_outermost(to)->scope : NULL;
    const void *fix_args = owner ? pithp_recorded_fix_args(s, owner, r, values) : NULL;
    if (s->error.code == PITH_OK)
        pithp_check_again(s, c, pithp_recorded_assertion(r), values + r->has_flag,
                          fix_args);
    return s->error.code;
}

static void release_held(pith_scope *s, void *checks) {
    (void)s;
    pithp_checks_release(checks);
}

/* The recorded guard is held as long as the collector's scope is open. */
static pith_status make_guard(pith_scope *s,
                              pithp_checks *from,
                              const pithp_recorded *r,
                              const pith_array *const *values) {
    (void)values;
    pithp_collector *c = pithp_collector_of(s);
    if (!c)
        return PITH_OK;
    pith_scope *owner = pithp_collector_outermost(c)->scope;
    pithp_guard *g = pithp_scope_allocate(owner, sizeof *g);
    pithp_checks_retain(from);
    if (!g || !pithp_scope_hold(owner, from, release_held)) {
        pithp_checks_release(from);
        pithp_error_move(s, owner);
        return s->error.code;
    }
    *g = *(const pithp_guard *)r->data;
    pithp_guard_push(c, g);
    return PITH_OK;
}

/* ---- Recording ---- */

static void set_spec(void *data, const pith_spec *predicate) {
    pith_assertion *a = data;
    a->spec = predicate;
    a->slot.count = predicate->count;
    a->slot.width = (int32_t)pith_dtype_size(predicate->dtype);
}

static const pithp_recorded_methods check_methods = {
    .bytes = sizeof(pith_assertion),
    .make = make_check,
    .set_spec = set_spec,
    .collect_passed = pithp_passed_collect,
};
static const pithp_recorded_methods guard_methods = {
    .bytes = sizeof(pithp_guard),
    .make = make_guard,
};

/* Flatten fix arguments that are a tree; the assertion gets their structure. */
static pith_status flatten_fix_args(pith_scope *s,
                                    pithp_checks *c,
                                    pith_assertion *a,
                                    int64_t *count,
                                    const pith_array *const **leaves) {
    pith_call_site(s, s->site);
    pith_call_site(c->store, s->site);
    const pith_treedef *def = (pith_tree_flatten)(s, a->fix_args, leaves);
    a->fix_structure = (pith_tree_structure)(c->store, a->fix_args);
    if (!def || !a->fix_structure) {
        pithp_error_move(s, c->store);
        return s->error.code;
    }
    *count = pith_treedef_num_leaves(def);
    return PITH_OK;
}

pith_status pithp_assertion_record(pith_scope *s,
                                   pith_assertion *a,
                                   const pith_array *const *values,
                                   bool greatest) {
    pithp_checks *c = pithp_checks_of(s);
    pithp_recorded entry = {.kind = PITHP_RECORDED_CHECK,
                            .merges = greatest,
                            .repairs = greatest || pithp_assertion_has_fix(a),
                            .site = a->slot.site,
                            .methods = &check_methods,
                            .data = a};
    if (!c)
        return s->error.code;
    const void *fix_args = a->fix_args;
    const pith_array *const *leaves = (const pith_array *const *)&fix_args;
    if (fix_args && pithp_kind_is_array(fix_args))
        entry.leaves = 1;
    else if (fix_args && flatten_fix_args(s, c, a, &entry.leaves, &leaves) != PITH_OK)
        return s->error.code;
    a->fix_args = NULL;
    return pithp_checks_add(s, &entry, 1 + a->arg_count, values, leaves);
}

pith_status pithp_guard_record(pith_scope *s,
                               const char *name,
                               const char *path,
                               const pithp_fix *fix) {
    pithp_checks *c = pithp_checks_of(s);
    pithp_guard *g = c ? pithp_guard_make(c->store, name, path, fix) : NULL;
    if (c && !g)
        pithp_error_move(s, c->store);
    if (!g)
        return s->error.code;
    const pithp_recorded entry = {
        .kind = PITHP_RECORDED_GUARD, .methods = &guard_methods, .data = g};
    return pithp_checks_add(s, &entry, 0, NULL, NULL);
}

/* ---- Rebasing ---- */

pith_status pithp_recorded_rebase(pith_scope *s, int64_t first, pithp_rebase r) {
    pithp_checks *c = pithp_scope_trace(s)->checks;
    pith_status rc = PITH_OK;
    for (int64_t i = first; c && i < c->count && rc == PITH_OK; i++) {
        const pithp_recorded *x = &c->list[i];
        if (x->kind == PITHP_RECORDED_CHECK) {
            pith_assertion *a = x->data;
            rc = pithp_rebase_one(s, c->store, &a->path, &a->rebase, &r);
        } else if (x->kind == PITHP_RECORDED_GUARD) {
            pithp_guard *g = x->data;
            rc = pithp_rebase_one(s, c->store, &g->path, &g->rebase, &r);
        }
    }
    return rc;
}
