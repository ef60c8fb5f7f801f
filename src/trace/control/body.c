/* Branches and loop bodies: validation of their functions and results, and the state of
 * eager loops. */
#include "mesh/mesh_internal.h"
#include "program/exec/predicate_all.h"
#include "trace/control/control_internal.h"

#include <stdio.h>
#include <string.h>

pith_status pithp_body_check(pith_scope *s,
                             const pith_function *f,
                             int arity,
                             const char *function,
                             const char *name) {
    if (!f)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: expected a function, got NULL",
                          function, name);
    if (pithp_function_check(s, f, function) != PITH_OK || f->arity == arity)
        return s->error.code;
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s: %s: expected a function of %d tree%s, got %s of %d", function,
                      name, arity, arity == 1 ? "" : "s", f->name, f->arity);
}

/* ---- Carries ---- */

/* Both are no records, or records of one type. */
static bool are_alike(const void *a, const void *b) {
    const bool record = pithp_kind_of(a) == PITHP_KIND_RECORD;
    return pithp_kind_of(b) == PITHP_KIND_RECORD
               ? record && pithp_node_def_of(a)->type == pithp_node_def_of(b)->type
               : !record;
}

pith_status pithp_scan_parts(pith_scope *s,
                             const char *function,
                             const pith_function *body,
                             const void *result,
                             const void *alone,
                             const void *parts[2]) {
    static const char *const names[2] = {"carry", "out"};
    const pithp_returned r = {function, "body", body, "result"};
    if (!alone || !are_alike(result, alone))
        return pithp_returned_members(s, &r, names, result, parts);
    parts[0] = result;
    parts[1] = pith_none_make(pithp_on_behalf(s));
    return s->error.code;
}

/* ---- Predicates and indices ---- */

pith_status pithp_scalar_check(pith_scope *s,
                               const pith_array *a,
                               bool integer,
                               const char *function,
                               const char *name) {
    const pith_status rc = pithp_operand_check(s, a, function, name);
    if (rc != PITH_OK)
        return rc;
    const pith_spec *spec = pithp_array_spec(a);
    char got[PITHP_SPEC_TEXT_BYTES];
    const bool fits = integer
                          ? spec->dtype != PITH_BOOL && !pith_dtype_is_float(spec->dtype)
                          : spec->dtype == PITH_BOOL;
    if (fits && spec->rank == 0)
        return PITH_OK;
    return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: expected %s of rank 0, got %s",
                      function, name, integer ? "an integer" : "a bool",
                      pithp_spec_print(spec, got));
}

pith_status pithp_control_read(pith_scope *s,
                               const pith_array *a,
                               const char *function,
                               const char *name,
                               int64_t *value) {
    uint64_t bits = 0;
    pith_status rc = pithp_array_check(s, a, function, name);
    if (rc == PITH_OK)
        rc = pithp_array_read(s, a, &bits);
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    const int unused = 64 - 8 * (int)pith_dtype_size(dtype);
    *value = pithp_dtype_is_signed(dtype) ? (int64_t)(bits << unused) >> unused
                                          : (int64_t)bits;
    return rc;
}

/* ---- Eager loops ---- */

void pithp_holder_begin(pithp_holder *h, pith_scope *s, const void *state) {
    *h = (pithp_holder){.s = s, .state = state};
    pithp_looping_begin(s, &h->looping);
}

pith_scope *pithp_holder_next(pithp_holder *h) {
    pith_scope *next = pith_scope_open_in(h->s);
    if (pithp_scope_writable(next)) {
        next->site = h->s->site;
        return next;
    }
    pithp_fail_memory(h->s, PITHP_BLOCK_BYTES);
    return NULL;
}

bool pithp_holder_step(pithp_holder *h, pith_scope *next, const void *state) {
    const bool fine = state && next->error.code == PITH_OK &&
                      pithp_keep_slots(next, 1, &state) == PITH_OK;
    if (!fine) {
        pith_scope_close(next); /* its error moves to the outer scope */
        return false;
    }
    if (h->scope)
        pith_scope_close(h->scope);
    h->scope = next;
    h->state = state;
    pithp_looping_next(&h->looping);
    return h->s->error.code == PITH_OK;
}

const void *pithp_holder_end(pithp_holder *h) {
    const void *last = h->state;
    pithp_looping_end(&h->looping);
    const bool fine =
        h->s->error.code == PITH_OK && pithp_keep_slots(h->s, 1, &last) == PITH_OK;
    if (h->scope)
        pith_scope_close(h->scope);
    h->scope = NULL;
    return fine && h->s->error.code == PITH_OK ? last : NULL;
}

/* ---- Loops that end at a failed check ---- */

pith_status pithp_ending_begin(pith_scope *s, pithp_ending *e, const char *function) {
    *e = (pithp_ending){.function = function,
                        .around = s->collector,
                        .agreed = pithp_collective_count(s)};
    if (function && pithp_collector_of(s))
        e->checks = pithp_collector_begin(s, false);
    return s->error.code;
}

/* Whether the checks of all ranks pass. A rank with an error does not come here: it takes
 * part in this as a failed one, wherever it waits. */
static bool all_ranks_pass(pith_scope *s, pithp_ending *e, bool all_pass) {
    if (!pithp_ranks_of(s) || pithp_collective_count(s) == e->agreed)
        return all_pass;
    const bool agreed = pithp_ranks_all(s, e->function, &all_pass);
    e->agreed = pithp_collective_count(s);
    return agreed && all_pass;
}

bool pithp_ending_goes_on(const pithp_holder *h, pithp_ending *e) {
    bool all_pass = true;
    if (e->checks)
        pithp_collector_all_pass(h->s, e->checks, &all_pass);
    else if (e->function && pithp_pending_any(pithp_scope_stream(h->s)))
        pithp_synchronise(h->s); /* a failure becomes the error of its scope */
    const bool failed =
        h->s->error.code != PITH_OK || (h->scope && h->scope->error.code != PITH_OK);
    if (failed || !e->function)
        return !failed;
    return all_ranks_pass(h->s, e, all_pass);
}

void pithp_ending_end(pith_scope *s, pithp_ending *e) {
    if (e->checks)
        pithp_collector_end(e->checks);
    s->collector = e->around;
}
