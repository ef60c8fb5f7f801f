/* Results: ended collections and their outcome. */
#include "array/checks/length.h"
#include "assert/passed.h"
#include "mesh/mesh_internal.h"

#include <string.h>

struct pith_result {
    pithp_collector *collector;
    pith_scope *scope; /* owner */
    const void *value;
    bool asked, all_pass; /* asked: all_pass is known */
    bool read;            /* the outcome is known */
    pithp_outcome outcome;
};

static const char tag[] = "result"; /* identifies these objects by its address */

/* ---- Collecting ---- */

static pith_result *make_result(pith_scope *s, pithp_collector *c, const void *value) {
    if (pithp_collector_conjoin(s, c) != PITH_OK)
        return NULL;
    pith_result *r = pithp_object_make(s, PITHP_KIND_OTHER, tag, sizeof *r);
    if (r)
        *r = (pith_result){.collector = c, .scope = s, .value = value};
    return r;
}

/* NULL: error set. */
static pithp_collector *begin(pith_scope *s) {
    if (PITHP_LIKELY(!pithp_scope_trace(s)))
        return pithp_collector_begin(s, false);
    pithp_fail(s, PITH_E_TRACED, NULL,
               "the outcome of checks is unknown while a function is traced: "
               "collect them around the compiled call");
    return NULL;
}

/* Collect the checks of the function as a result of s; NULL: error set. */
static const pith_result *collect_call(pith_scope *s,
                                       const pith_function *function,
                                       int64_t count,
                                       const void *const *arguments) {
    pithp_collector *before = s->collector;
    pithp_collector *c = begin(s);
    if (!c)
        return NULL;
    pith_call_site(s, s->site); /* for pith_call */
    const void *value = pith_call(s, function, count, arguments);
    for (pithp_collector *inner = s->collector; inner != c; inner = inner->outer)
        pithp_collector_end(inner); /* begun by the function and not ended */
    pithp_collector_end(c);
    s->collector = before;
    return s->error.code == PITH_OK ? make_result(s, c, value) : NULL;
}

const pith_result *(pith_as_result)(pith_scope *s,
                                    const pith_function *function,
                                    int64_t count,
                                    const void *const *arguments) {
    return pithp_enter(s) ? collect_call(s, function, count, arguments) : NULL;
}

const void *(pith_with_assertions)(pith_scope *s,
                                   const pith_function *function,
                                   int64_t count,
                                   const void *const *arguments,
                                   const pith_result **assertions) {
    const bool fine = pithp_enter(s);
    if (assertions)
        *assertions = NULL;
    else if (fine)
        pithp_fail(s, PITH_E_ARG, NULL, "pith_with_assertions: assertions is NULL");
    if (fine && assertions)
        *assertions = collect_call(s, function, count, arguments);
    if (assertions && *assertions)
        return (*assertions)->value;
    return pithp_function_nil(function);
}

void(pith_collect_begin)(pith_scope *s) {
    if (!pithp_enter(s))
        return;
    pithp_collector *c = begin(s);
    if (!c)
        return;
    c->block = true;
    pithp_assert_room(s->runtime);
}

const pith_result *(pith_collect_end)(pith_scope *s, const void *value) {
    const bool fine = pithp_enter(s);
    if (!pithp_scope_writable(s))
        return NULL;
    pithp_collector *c = s->collector;
    if (!c || c->scope != s || !c->block || c->ended) {
        if (fine)
            pithp_fail(s, PITH_E_ARG, NULL,
                       "pith_collect_end: this scope has no collection");
        return NULL;
    }
    pithp_collector_end(c); /* even if the scope has an error */
    s->collector = c->outer;
    if (!fine || (value && pithp_tree_check(s, value, "pith_collect_end", "value") != 0))
        return NULL;
    if (value && pithp_keep_slots(s, 1, &value) != PITH_OK)
        return NULL;
    return make_result(s, c, value);
}

/* Report the outcome of a collection that was not ended. */
void pithp_collecting_close(pith_scope *s) {
    pithp_collector *c = s->collector;
    if (!c || c->scope != s || c->ended || c->outer || !c->block)
        return;
    pithp_outcome outcome;
    pithp_collector_end(c);
    s->collector = NULL;
    if (s->error.code != PITH_OK || s->runtime->silent_checks ||
        pithp_outcome_read(s, s, c, c->count, &outcome) != PITH_OK)
        return;
    for (int64_t i = 0; i < outcome.failed_count; i++)
        if (outcome.failed[i]->level == PITH_CHECK_ALWAYS)
            pithp_assertion_raise(s, outcome.failed[i]);
}

const pithp_guard *pithp_result_guards(const pith_result *result) {
    return result->collector->guards;
}

/* ---- Outcome ---- */

static int64_t assertions_in(pithp_check_slot *slot) {
    const pithp_passed *p = pithp_passed_of(slot);
    return p ? pithp_passed_count(p) : 1;
}

/* Append the assertions of a slot; of a launch, the failed ones. last: the latest failed
 * slot that counts. */
static pith_status list_slot(pith_scope *s,
                             pith_scope *owner,
                             const pithp_collector *c,
                             pithp_check_slot *slot,
                             const pithp_check_slot **last,
                             pithp_outcome *outcome) {
    const bool failed = slot->seen.first != 0;
    pithp_passed *passed = pithp_passed_of(slot);
    if (passed) {
        pith_assertion *const *made = pithp_passed_assertions(s, passed);
        for (int64_t k = 0; made && k < pithp_passed_count(passed); k++)
            outcome->all[outcome->count++] = made[k];
        return s->error.code;
    }
    const pith_assertion *a = (const pith_assertion *)(const void *)slot;
    if (!pithp_slot_is_assertion(slot)) {
        if (!failed)
            return PITH_OK;
        a = pithp_assertion_of_launch(s, owner, slot);
    }
    if (!a)
        return s->error.code;
    outcome->all[outcome->count++] = a;
    if (failed) {
        /* After the first failure that does not count, no later one counts. */
        if (outcome->counting_count == outcome->failed_count &&
            (!*last || pithp_collector_counts_after(c, *last, slot)))
            outcome->counting[outcome->counting_count++] = a;
        outcome->failed[outcome->failed_count++] = a;
        *last = slot;
    }
    return PITH_OK;
}

bool pithp_assertion_follows(const pith_assertion *a) {
    return !pithp_assertion_has_fix(a) && pithp_rows_exceed(a->of);
}

/* Remove failures that follow from others; returns the number of those that stay. */
static int64_t remove_followers(const pith_assertion **list, int64_t count) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (!pithp_assertion_follows(list[i]))
            list[kept++] = list[i];
    return kept;
}

static void follow(pithp_outcome *o) {
    bool repairs = false;
    for (int64_t i = 0; i < o->counting_count; i++)
        repairs |= pithp_assertion_has_fix(o->counting[i]);
    if (!repairs)
        return;
    o->failed_count = remove_followers(o->failed, o->failed_count);
    o->counting_count = remove_followers(o->counting, o->counting_count);
}

pith_status pithp_outcome_read(pith_scope *s,
                               pith_scope *owner,
                               pithp_collector *c,
                               int64_t count,
                               pithp_outcome *outcome) {
    *outcome = (pithp_outcome){0};
    if (pithp_collector_conjoin(s, c) != PITH_OK || pithp_synchronise(s) != PITH_OK ||
        pithp_collector_read(s, c) != PITH_OK)
        return s->error.code;
    int64_t most = 0;
    const pithp_check_slot *last = NULL;
    for (int64_t i = 0; i < count; i++)
        most += assertions_in(c->slots[i]);
    const size_t bytes = (size_t)(most ? 3 * most : 1) * sizeof *outcome->all;
    outcome->all = pithp_scope_allocate(owner, bytes);
    if (!outcome->all) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    outcome->failed = outcome->all + most;
    outcome->counting = outcome->failed + most;
    for (int64_t i = 0; i < count; i++)
        if (list_slot(s, owner, c, c->slots[i], &last, outcome) != PITH_OK)
            return s->error.code;
    follow(outcome);
    return PITH_OK;
}

/* ---- Public functions ---- */

static bool is_result(const pith_result *r, pithp_pointer *verdict, pithp_block **block) {
    *verdict = pithp_pointer_check(r, block);
    return *verdict == PITHP_POINTER_OK && pithp_header_of(r)->kind == PITHP_KIND_OTHER &&
           pithp_header_of(r)->descriptor == tag;
}

/* Check that the scope can work, and that r is a result of its stream. The result, which
 * may be completed; NULL: the error is set. */
static pith_result *enter(pith_scope *s, const pith_result *r, const char *function) {
    pithp_pointer verdict;
    pithp_block *block = NULL;
    if (!pithp_enter_as(s, function))
        return NULL;
    if (!is_result(r, &verdict, &block)) {
        const bool other = verdict == PITHP_POINTER_OK;
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a result, got %s%s", function,
                   other ? "another object" : "a pointer that is ",
                   other ? "" : pithp_pointer_text(verdict));
        return NULL;
    }
    if (pithp_scope_stream(s) != pithp_scope_stream(r->scope)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: the result was made in a scope that does not enclose this one",
                   function);
        return NULL;
    }
    return (pith_result *)(uintptr_t)r;
}

/* The outcome of a result; NULL: error set. */
static const pithp_outcome *outcome_of(pith_scope *s, pith_result *r) {
    if (r && !r->read) {
        if (pithp_outcome_read(s, r->scope, r->collector, r->collector->count,
                               &r->outcome) != PITH_OK)
            return NULL;
        r->read = true;
    }
    return r ? &r->outcome : NULL;
}

const void *pith_result_value(const pith_result *result) {
    pithp_pointer verdict;
    pithp_block *block = NULL;
    return is_result(result, &verdict, &block) ? result->value : NULL;
}

bool(pith_result_all_pass)(pith_scope *s, const pith_result *result) {
    pith_result *r = enter(s, result, "pith_result_all_pass");
    if (PITHP_UNLIKELY(r && !r->asked)) {
        if (pithp_collector_all_pass(s, r->collector, &r->all_pass) == PITH_OK)
            r->asked = true;
        else
            r = NULL;
    }
    if (PITHP_UNLIKELY(pithp_scope_joins(s)))
        return pithp_pass_joint(s, "pith_result_all_pass", r && r->all_pass);
    return r && r->all_pass;
}

int64_t(pith_result_count)(pith_scope *s, const pith_result *result) {
    const pithp_outcome *o = outcome_of(s, enter(s, result, "pith_result_count"));
    return o ? o->count : -1;
}

int64_t(pith_result_failed)(pith_scope *s, const pith_result *result) {
    const pithp_outcome *o = outcome_of(s, enter(s, result, "pith_result_failed"));
    return o ? o->failed_count : -1;
}

static const pith_assertion *
pick(pith_scope *s, const pith_assertion **list, int64_t count, int64_t index) {
    if (index >= 0 && index < count)
        return list[index];
    pithp_fail(s, PITH_E_INDEX, NULL, "there is no assertion %lld of %lld",
               (long long)index, (long long)count);
    return NULL;
}

const pith_assertion *(pith_result_get)(pith_scope *s,
                                        const pith_result *result,
                                        int64_t index) {
    const pithp_outcome *o = outcome_of(s, enter(s, result, "pith_result_get"));
    return o ? pick(s, o->all, o->count, index) : NULL;
}

const pith_assertion *(pith_result_get_failed)(pith_scope *s,
                                               const pith_result *result,
                                               int64_t index) {
    const pithp_outcome *o = outcome_of(s, enter(s, result, "pith_result_get_failed"));
    return o ? pick(s, o->failed, o->failed_count, index) : NULL;
}

pith_status(pith_result_raise)(pith_scope *s, const pith_result *result) {
    pith_result *r = enter(s, result, "pith_result_raise");
    const pithp_outcome *o = outcome_of(s, r);
    if (PITHP_UNLIKELY(pithp_scope_joins(s))) {
        pithp_repair_joint(s, "pith_result_raise", o ? r->collector : NULL, o, NULL);
        return pith_code(s);
    }
    if (!o)
        return pith_code(s);
    return o->failed_count ? pithp_assertion_raise(s, o->failed[0]) : PITH_OK;
}

const void *(pith_result_fix_or_raise_any)(pith_scope *s,
                                           const pith_result *result,
                                           const void *root) {
    pith_result *r = enter(s, result, "pith_result_fix_or_raise_any");
    const pithp_outcome *o = outcome_of(s, r);
    const void *fixed = NULL;
    if (o)
        pithp_tree_check(s, root, "pith_result_fix_or_raise", "root");
    if (PITHP_UNLIKELY(pithp_scope_joins(s)))
        fixed = pithp_repair_joint(s, "pith_result_fix_or_raise", o ? r->collector : NULL,
                                   o, root);
    else if (o && s->error.code == PITH_OK)
        fixed = pithp_outcome_repair(s, o, root);
    return fixed ? fixed : pithp_nil_for(root);
}
