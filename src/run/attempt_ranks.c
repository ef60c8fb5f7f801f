/* Attempts of several ranks: one reduction at the end of each tells all ranks of the
 * first failure. A rank that has failed in an earlier call than others, or alone, waits
 * there for them. */
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/monitor.h"
#include "trace/shard/shard_map.h"
#include "tree/static_kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char operation[] = "pith_propagate";

/* The place of a failure: the call, then what it is, then the check. Errors come before
 * failed checks of the same call. */
enum { CHECK_BITS = 20, KIND_BITS = 2 };
_Static_assert(PITHP_ATTEMPT_CALLS <= 1 << 24, "places have 46 bits");

static const pithp_trouble kinds[] = {PITHP_TROUBLE_ERROR, PITHP_TROUBLE_CHECK,
                                      PITHP_TROUBLE_FINITE, PITHP_TROUBLE_UNTIL};

static uint64_t place_of(int64_t call, pithp_trouble trouble, int64_t check) {
    uint64_t kind = 0;
    const int64_t most = (1 << CHECK_BITS) - 1;
    while (kinds[kind] != trouble)
        kind++;
    return ((uint64_t)call << KIND_BITS | kind) << CHECK_BITS |
           (uint64_t)(check < most ? check : most);
}

bool pithp_attempts_joint(const pith_scope *s) {
    return pithp_ranks_of(s) != NULL;
}

bool pithp_attempt_digest(pith_scope *s,
                          const pith_function *step,
                          const void *state,
                          uint64_t *digest) {
    if (!pithp_scope_joins(s))
        return !pith_failed(s);
    if (pithp_ranks_compare(s) && !pithp_shard_map_inside())
        pithp_tree_compare(s, operation, state); /* a failed scope takes part */
    const char *name = step && !pith_failed(s) ? step->name : "";
    if (!pith_failed(s))
        *digest = pithp_hash(*digest + pithp_tree_digest(s, state), name, strlen(name));
    return !pith_failed(s);
}

/* ---- The end of an attempt ---- */

/* The slot of the first failed check of a call. */
static int64_t failed_slot(const pithp_attempt *t) {
    int64_t slot = 0;
    while (slot < t->collector->count && t->collector->slots[slot]->seen.first == 0)
        slot++;
    return slot;
}

/* Why this rank ends a try early, for messages. */
static const char *
reason_of(const pithp_attempt *t, int64_t slot, char *text, size_t room) {
    const char *site =
        slot < t->collector->count ? t->collector->slots[slot]->site : NULL;
    if (t->trouble == PITHP_TROUBLE_FINITE)
        return "the state is not finite";
    if (t->trouble == PITHP_TROUBLE_UNTIL)
        return "the run ends";
    if (!site)
        return NULL;
    snprintf(text, room, "the check at %s failed", pithp_site_name(site));
    return text;
}

/* A failure of another rank, or of this one. told: ranks differ, and the scope has the
 * error that says so. */
static void take(pithp_attempt *t, uint64_t place, bool told) {
    const int64_t call = (int64_t)(place >> (KIND_BITS + CHECK_BITS));
    const pithp_trouble trouble = kinds[place >> CHECK_BITS & ((1 << KIND_BITS) - 1)];
    const bool own = t->failing == call && t->trouble == PITHP_TROUBLE_ERROR;
    if (!(own || told) || trouble != PITHP_TROUBLE_ERROR)
        pith_clear(t->scope); /* a consequence, in this call or a later one */
    t->failing = call;
    t->trouble = trouble;
}

/* ---- What ranks must have in common ---- */

void pithp_describe_number(char what[], const char *name, int64_t value) {
    const size_t at = strlen(what);
    if (value)
        snprintf(what + at, PITHP_WHAT_BYTES - at, ", %s=%" PRId64, name, value);
}

typedef struct tried {
    const pithp_stepper *stepper;
    const void *state; /* with which the next try begins */
} tried;

/* "Sim (7168 bytes), max_edges=256, steps=5, check_every=2" */
static void describe(const void *closure, char what[PITHP_WHAT_BYTES]) {
    const tried *t = closure;
    const pith_type *type = pith_type_of(t->state);
    snprintf(what, PITHP_WHAT_BYTES, "%.40s (%zu bytes)", type ? type->name : "a tree",
             pith_tree_bytes(t->state));
    for (int32_t i = 0; type && i < type->static_count; i++) {
        const pith_field *field = &type->fields[type->statics[i].field].declared;
        const pithp_static_value value = pithp_static_read(field, t->state);
        if (value.kind == PITH_STATIC_KIND_I64)
            pithp_describe_number(what, field->name, value.i64);
    }
    if (t->stepper->describe)
        t->stepper->describe(t->stepper->options, what);
}

/* What ranks must have in common: states that a step has resized, too. Without memory the
 * attempt fails. */
static uint64_t digest_of(const pithp_stepper *p, pithp_attempt *t) {
    if (!t->changes || t->failing >= 0)
        return p->digest;
    const uint64_t digest = p->digest + pithp_tree_digest(t->scope, t->result);
    if (pith_failed(t->scope)) {
        t->failing = t->ran;
        t->trouble = PITHP_TROUBLE_ERROR;
    }
    return digest;
}

void pithp_attempt_agree(pithp_stepper *p, pithp_attempt *t) {
    const uint64_t digest = digest_of(p, t);
    const tried state = {.stepper = p, .state = t->changes ? t->result : p->state};
    const bool failed = t->failing >= 0, error = t->trouble == PITHP_TROUBLE_ERROR,
               other = failed && !error;
    const int64_t slot = other ? failed_slot(t) : 0;
    char text[PITHP_SITE_BYTES + 32];
    pithp_decision d = {
        .operation = operation,
        .extra = digest,
        .describe = describe,
        .closure = &state,
        .trouble = other ? 1 + place_of(t->failing, t->trouble, slot) : 0,
        .checks = other,
        .reason = other ? reason_of(t, slot, text, sizeof text) : NULL,
        .error = place_of(failed ? t->failing : t->ran, PITHP_TROUBLE_ERROR, 0),
        .asks = p->pause && p->pause(p->closure),
        .writes = t->log.first != NULL || p->passed};
    const bool fine = !pith_failed(t->scope), decided = pithp_decide(t->scope, &d);
    p->asked = d.asks;
    t->writes = d.writes;
    t->first = d.first;
    if (!decided) {
        t->failing = 0;
        t->trouble = PITHP_TROUBLE_ERROR;
    } else if (d.first >= 0) {
        take(t, d.trouble - 1, fine && pith_failed(t->scope));
        if (t->trouble == PITHP_TROUBLE_ERROR)
            pithp_decision_tell(t->scope, operation, d.first);
    }
}

void pithp_attempt_refuse(pith_scope *s) {
    if (!pithp_scope_joins(s))
        return;
    pithp_decision d = {.operation = operation};
    if (pithp_decide(s, &d) && d.first >= 0)
        pithp_decision_tell(s, operation, d.first);
}

/* ---- After it ---- */

/* Only conditions that are equal on all ranks, so that all of them come here or none. */
bool pithp_attempt_agree_commit(const pithp_stepper *p, const pithp_attempt *t) {
    bool may_fail = t->writes;
    for (int64_t i = 0; i < t->ran; i++)
        may_fail |= t->calls[i].seen != NULL;
    return may_fail ? pithp_ranks_fine(p->s, operation) : !pith_failed(p->s);
}

void pithp_attempt_raise_value(pithp_attempt *t) {
    pithp_error e;
    memset(&e, 0, sizeof e);
    pithp_finite_fail(t->scope, t->result);
    const bool failed = pith_failed(t->scope);
    if (failed) {
        e = t->scope->error;
        pith_clear(t->scope);
    }
    pithp_ranks_raise(t->scope, t->first, &e, failed);
}
