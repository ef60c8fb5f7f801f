/* Failures of several ranks: all ranks raise the same one, or repair the same ones with
 * the same arguments. Only after a decision that a check has failed.
 *
 * Ranks go through their failures in program order, and the least of all is next. Its
 * rank says which check it is; every rank looks for it among its own checks, or among the
 * guards of its launches. A rank may have no such check, if it took another branch of a
 * program that runs call by call: then no fix runs. */
#include "pith/array_collective.h"

#include "assert/assert_internal.h"
#include "mesh/mesh_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a rank tells of its failure. */
typedef struct notice {
    uint64_t identity, path; /* digests; of a launch only the path is known elsewhere */
    int64_t leaves;          /* of its fix arguments */
    bool launch, has_fix, greatest;
    bool follows; /* pithp_assertion_follows */
    char site[PITHP_SITE_BYTES];
} notice;

/* A failure of one rank or more. */
typedef struct joint {
    struct joint *next;
    notice of;
    int64_t first;             /* the rank */
    const pith_assertion *own; /* NULL: none here */
    bool failed;               /* here, too */
} joint;

typedef struct unite {
    pith_scope *s;
    const pithp_collector *c;
    pithp_outcome *o;
    const uint64_t *identities; /* of all checks of o */
    joint *first, **last;
    int64_t count, done; /* done: of the counting failures of this rank */
} unite;

/* ---- Identities ---- */

static uint64_t digest_text(uint64_t h, const char *text) {
    return pithp_hash(h, text, strlen(text));
}

static uint64_t digest_of(const pith_assertion *a) {
    const char *site = a->slot.site ? pithp_site_name(a->slot.site) : "";
    const uint64_t h = digest_text(digest_text(1, site), a->path);
    return digest_text(h + (uint64_t)a->code, a->message);
}

/* Digests of all checks of this rank, and a list of failures of its own. Equal checks are
 * counted: of steps, or of iterations. */
static void identify(unite *u) {
    const int64_t n = u->o->count;
    uint64_t *own = pithp_scope_allocate(u->s, (size_t)(2 * n + 1) * sizeof *own);
    for (int64_t i = 0; own && i < n; i++) {
        uint64_t equal = 0;
        own[i] = digest_of(u->o->all[i]);
        for (int64_t k = 0; k < i; k++)
            equal += own[k] == own[i];
        own[n + i] = pithp_hash(own[i], &equal, sizeof equal);
    }
    u->identities = own ? own + n : NULL;
    const int64_t failures = u->o->counting_count;
    const pith_assertion **counting =
        pithp_scope_allocate(u->s, (size_t)(failures + 1) * sizeof *counting);
    if (counting && failures)
        memcpy(counting, u->o->counting, (size_t)failures * sizeof *counting);
    u->o->counting = counting; /* which is reordered */
}

static int64_t index_of(const pithp_outcome *o, const pith_assertion *a) {
    int64_t i = 0;
    while (o->all[i] != a)
        i++;
    return i;
}

static int64_t leaves_of(pith_scope *s, const void *args) {
    const pith_array *const *leaves;
    if (!args)
        return 0;
    const pith_treedef *def = (pith_tree_flatten)(s, args, &leaves);
    return def ? pith_treedef_num_leaves(def) : 0;
}

static notice notice_of(const unite *u, int64_t index) {
    const pith_assertion *a = u->o->all[index];
    notice n;
    memset(&n, 0, sizeof n);
    n.launch = a->of->describe != NULL;
    n.has_fix = pithp_assertion_has_fix(a);
    n.greatest = a->greatest;
    n.follows = pithp_assertion_follows(a);
    n.path = digest_text(1, a->path);
    n.identity = u->identities[index];
    n.leaves = leaves_of(u->s, a->fix_args);
    snprintf(n.site, sizeof n.site, "%s",
             a->slot.site ? pithp_site_name(a->slot.site) : "");
    return n;
}

/* ---- The same check on this rank ---- */

/* The failure of this rank with that identity, among those that are not done. */
static const pith_assertion *find_failure(unite *u, const notice *n) {
    pithp_outcome *o = u->o;
    for (int64_t i = u->done; i < o->counting_count; i++) {
        const pith_assertion *a = o->counting[i];
        const bool launch = a->of->describe != NULL;
        if (launch != n->launch)
            continue;
        if (launch ? digest_text(1, a->path) != n->path
                   : u->identities[index_of(o, a)] != n->identity)
            continue;
        memmove(o->counting + u->done + 1, o->counting + u->done,
                (size_t)(i - u->done) * sizeof *o->counting);
        o->counting[u->done++] = a;
        return a;
    }
    return NULL;
}

static pith_assertion *make(pith_scope *s, const pith_assertion *like) {
    pith_assertion *a =
        pithp_object_make(s, PITHP_KIND_OTHER, pithp_assertion_tag, sizeof *a);
    if (a)
        *a = *like;
    return a;
}

/* The guard of a launch that has passed, as an assertion. */
static const pith_assertion *find_guard(unite *u, const notice *n) {
    const pithp_guard *g = u->c->guards;
    while (g && digest_text(1, g->path) != n->path)
        g = g->next;
    if (!g)
        return NULL;
    pith_assertion *a = make(u->s, &(pith_assertion){.slot = {.known = true},
                                                     .message = "",
                                                     .path = g->path,
                                                     .level = PITH_CHECK_ALWAYS,
                                                     .code = PITH_E_CAPACITY,
                                                     .greatest = g->fix.greatest,
                                                     .fix = g->fix,
                                                     .rebase = g->rebase});
    const int64_t none = 0;
    const pith_spec *spec = a ? pithp_spec(u->s, PITH_I64, 0, NULL) : NULL;
    pith_array *need = spec ? pithp_array_make(u->s, spec) : NULL;
    if (!need || pithp_copy_in(u->s, need->data, &none, sizeof none) != PITH_OK)
        return NULL;
    a->of = &a->slot;
    a->fix_args = need;
    return a;
}

static const pith_assertion *find_passed(unite *u, const notice *n) {
    const pithp_outcome *o = u->o;
    if (n->launch)
        return find_guard(u, n);
    for (int64_t i = 0; i < o->count; i++)
        if (!pithp_assertion_failed(o->all[i]) && u->identities[i] == n->identity)
            return o->all[i];
    return NULL;
}

/* ---- The failures of all ranks ---- */

/* The rank of the next failure; -1: there is none, or the job ends. */
static int64_t next_rank(unite *u) {
    const pithp_outcome *o = u->o;
    uint64_t words[PITHP_AGREE_WORDS] = {UINT64_MAX};
    if (u->done < o->counting_count)
        words[0] = (uint64_t)index_of(o, o->counting[u->done]) * PITHP_MOST_RANKS +
                   (uint64_t)pithp_ranks_own(u->s);
    if (!pithp_ranks_least(u->s, words) || words[0] == UINT64_MAX)
        return -1;
    return (int64_t)(words[0] % PITHP_MOST_RANKS);
}

/* false: there is no further one. Without memory the scope fails, and takes part. */
static bool list_next(unite *u) {
    notice n;
    const int64_t rank = next_rank(u);
    if (rank < 0)
        return false;
    if (rank == pithp_ranks_own(u->s))
        n = notice_of(u, index_of(u->o, u->o->counting[u->done]));
    if (!pithp_ranks_broadcast(u->s, rank, &n, sizeof n))
        return false;
    joint *j = pithp_scope_allocate(u->s, sizeof *j);
    const pith_assertion *failed = find_failure(u, &n);
    if (!j)
        return true;
    *j = (joint){.of = n, .first = rank, .own = failed, .failed = failed != NULL};
    if (!failed && n.has_fix && !(j->own = find_passed(u, &n)))
        pithp_fail(u->s, PITH_E_DIVERGED, NULL,
                   "rank %" PRId64 " does not make the check at %s that fails on rank "
                   "%" PRId64 ", so that it cannot be repaired",
                   pithp_ranks_own(u->s), n.site[0] ? n.site : "an unknown line", rank);
    *u->last = j;
    u->last = &j->next;
    u->count++;
    return true;
}

/* Remove failures that follow from others, maybe of other ranks. */
static void follow(unite *u) {
    bool repairs = false;
    for (const joint *j = u->first; j; j = j->next)
        repairs |= j->of.has_fix;
    for (joint **at = &u->first; repairs && *at;) {
        if ((*at)->of.follows) {
            *at = (*at)->next;
            u->count--;
        } else {
            at = &(*at)->next;
        }
    }
}

/* ---- Raising ---- */

static void raise_joint(unite *u, const joint *j) {
    pithp_error e;
    memset(&e, 0, sizeof e);
    if (j->first == pithp_ranks_own(u->s))
        pithp_assertion_describe(pithp_scope_stream(u->s), j->own, &e);
    pithp_ranks_raise(u->s, j->first, &e, j->failed);
}

/* ---- Arguments of the fixes ---- */

static const pith_array *agree_on(pith_scope *s, const pith_array *leaf, const joint *j) {
    return j->of.greatest ? (pith_pmax)(s, leaf, NULL)
                          : (pith_pbroadcast)(s, leaf, NULL, j->first);
}

/* The own check with the agreed arguments. Every rank makes the same collectives,
 * whatever fails. NULL: the scope has failed. */
static const pith_assertion *with_arguments(pith_scope *s, const joint *j) {
    const pith_array *const *own = NULL;
    const void *args = j->own ? j->own->fix_args : NULL;
    const pith_treedef *def = args ? (pith_tree_flatten)(s, args, &own) : NULL;
    const int64_t n = j->of.leaves, mine = def ? pith_treedef_num_leaves(def) : 0;
    const pith_array **leaves = pithp_scope_allocate(s, (size_t)(n + 1) * sizeof *leaves);
    if (mine != n)
        pithp_fail(s, PITH_E_DIVERGED, NULL,
                   "the fix of the check at %s has %" PRId64 " arguments here, and "
                   "%" PRId64 " on rank %" PRId64,
                   j->of.site, mine, n, j->first);
    for (int64_t i = 0; i < n; i++) {
        const pith_array *leaf = agree_on(s, i < mine ? own[i] : NULL, j);
        if (leaves)
            leaves[i] = leaf;
    }
    if (s->error.code != PITH_OK)
        return NULL;
    pith_assertion *a = make(s, j->own);
    if (a && args)
        a->fix_args = (pith_tree_unflatten)(s, def, n, leaves);
    return s->error.code == PITH_OK ? a : NULL;
}

static void list_fixes(unite *u) {
    pithp_outcome *o = u->o;
    const pith_assertion **list =
        pithp_scope_allocate(u->s, (size_t)(u->count + 1) * sizeof *list);
    int64_t made = 0;
    for (const joint *j = u->first; j; j = j->next) {
        const pith_assertion *a = with_arguments(u->s, j);
        if (list)
            list[made++] = a;
    }
    o->counting = list;
    o->counting_count = made;
}

bool pithp_outcome_unite(pith_scope *s,
                         const char *operation,
                         const pithp_collector *c,
                         pithp_outcome *o,
                         bool may_repair) {
    unite u = {.s = s, .c = c, .o = o};
    u.last = &u.first;
    identify(&u);
    if (!pithp_ranks_fine(s, operation)) /* the outcome is known on all ranks */
        return false;
    while (list_next(&u))
        ;
    if (!pithp_ranks_fine(s, operation)) /* and the list of failures */
        return false;
    follow(&u);
    const joint *worst = may_repair ? NULL : u.first;
    for (const joint *j = u.first; j && !worst; j = j->next)
        worst = j->of.has_fix ? NULL : j;
    if (worst)
        raise_joint(&u, worst);
    else
        list_fixes(&u);
    return pithp_ranks_fine(s, operation);
}

/* ---- Results ---- */

enum { PLACE_OF_ERRORS, PLACE_OF_CHECKS };

bool pithp_pass_joint(pith_scope *s, const char *operation, bool passed) {
    pithp_decision d = {.operation = operation,
                        .trouble = passed ? 0 : 1 + PLACE_OF_CHECKS,
                        .error = PLACE_OF_ERRORS,
                        .checks = !passed};
    if (!pithp_decide(s, &d))
        return false;
    if (d.first >= 0 && d.trouble == 1 + PLACE_OF_ERRORS)
        pithp_decision_tell(s, operation, d.first);
    return d.first < 0;
}

bool pithp_fix_agreed(pith_scope *s, const char *operation, const void *root) {
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    pithp_decision d = {.operation = operation};
    if (s->error.code == PITH_OK)
        d.extra = pithp_tree_digest(s, root);
    if (!pithp_decide(s, &d))
        return false;
    if (d.first >= 0)
        pithp_decision_tell(s, operation, d.first);
    return d.first < 0;
}

const void *pithp_repair_joint(pith_scope *s,
                               const char *operation,
                               const pithp_collector *c,
                               const pithp_outcome *o,
                               const void *root) {
    pithp_outcome all = {0};
    if (o)
        all = *o;
    if (pithp_pass_joint(s, operation, all.failed_count == 0))
        return root;
    if (s->error.code != PITH_OK ||
        !pithp_outcome_unite(s, operation, c, &all, root != NULL))
        return NULL;
    for (int64_t i = 0; i < all.counting_count && root; i++) {
        pithp_decisions_nest(s, 1);
        root = pithp_assertion_fix(s, all.counting[i], root);
        pithp_decisions_nest(s, -1);
        pithp_synchronise(s); /* checks of the fix that nothing collects */
        if (!pithp_fix_agreed(s, operation, root))
            return NULL;
    }
    return root;
}
