/* Agreements: before a collective one reduction of 64 bytes tells every rank whether all
 * do the same and none has failed. Only if not, ranks exchange texts to say what differs.
 *
 * The least of a digest over all ranks, and that of its complement, are complements only
 * if all digests are equal. A rank that has failed takes part with neutral words. */
#include "base/in_flight.h"
#include "gpu/gpu_internal.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Words of the reduction. TROUBLE is the place, whether it is that of a failed check
 * rather than of an error, and the number of the rank. */
enum { DIGEST, COMPLEMENT, TROUBLE, LOWEST, HIGHEST, VALUES };
_Static_assert(VALUES + 3 <= PITHP_AGREE_WORDS, "all words fit");
enum { RANK_BITS = 16, CHECK_BIT = 1 << RANK_BITS, PLACE_SHIFT = RANK_BITS + 1 };
_Static_assert(1 << RANK_BITS == PITHP_MOST_RANKS, "ranks have numbers");

/* What a rank tells about itself if something is wrong. */
typedef struct account {
    int32_t code;
    uint64_t extra, number, opening;
    char operation[48], what[PITHP_WHAT_BYTES], site[PITHP_SITE_BYTES];
    char message[PITHP_MESSAGE_BYTES];
    char host[64];
} account;

/* This rank's part in an agreement. */
typedef struct part {
    pithp_world *w;
    pith_scope *s; /* NULL: of pith_close */
    const pithp_intent *intent;
    uint64_t number;    /* of the agreement */
    bool troubled;      /* this rank has failed, or ends early without an error */
    const char *reason; /* of the latter, or NULL: a check failed */
} part;

static void copy_text(char *to, size_t room, const char *from) {
    snprintf(to, room, "%s", from ? from : "");
}

/* The call site if it must be equal on all ranks; "" otherwise. */
static const char *site_of(const part *p) {
    return p->s && p->s->site && !p->intent->parts ? pithp_site_name(p->s->site) : "";
}

/* Which opening of a mesh the call is on; 0: the first one. */
static uint64_t opening_of(const part *p) {
    const pithp_opening *o = pithp_opening_of(p->s);
    return o ? o->number : 0;
}

static account own_account(const part *p) {
    account a;
    memset(&a, 0, sizeof a);
    a.extra = p->intent->extra;
    a.number = p->number;
    a.opening = opening_of(p);
    copy_text(a.operation, sizeof a.operation, p->intent->operation);
    if (p->intent->describe)
        p->intent->describe(p->intent->closure, a.what);
    else
        copy_text(a.what, sizeof a.what, p->intent->what);
    copy_text(a.host, sizeof a.host, p->w->host);
    copy_text(a.site, sizeof a.site, site_of(p));
    if (p->s && p->s->error.code != PITH_OK) {
        a.code = (int32_t)p->s->error.code;
        copy_text(a.message, sizeof a.message, p->s->error.message);
    } else if (p->troubled) {
        a.code = PITH_E_CHECK;
        copy_text(a.message, sizeof a.message, p->reason ? p->reason : "a check failed");
    }
    return a;
}

/* Whether messages show no difference. */
static bool is_same_call(const account *a, const account *b) {
    return strcmp(a->operation, b->operation) == 0 && strcmp(a->what, b->what) == 0 &&
           strcmp(a->site, b->site) == 0;
}

static bool is_same(const account *a, const account *b) {
    return a->extra == b->extra && a->number == b->number && a->opening == b->opening &&
           is_same_call(a, b);
}

/* A call site in a loop is the same text each time. */
static uint64_t digest_of_site(const part *p) {
    pithp_world *w = p->w;
    const char *site = p->s && !p->intent->parts ? p->s->site : NULL;
    if (!site)
        return 0;
    if (site != w->site) {
        const char *name = pithp_site_name(site);
        w->site = site;
        w->site_digest = pithp_hash(1, name, strlen(name));
    }
    return w->site_digest;
}

static uint64_t digest_of(const part *p) {
    const pithp_intent *i = p->intent;
    uint64_t h = pithp_hash(p->number, i->operation, strlen(i->operation));
    if (i->what && !i->describe)
        h = pithp_hash(h, i->what, strlen(i->what));
    const uint64_t rest[] = {digest_of_site(p), i->extra, opening_of(p)};
    return pithp_hash(h, rest, sizeof rest);
}

void pithp_world_break(pithp_world *w, pith_scope *s, const pithp_transport_trouble *t) {
    char line[600];
    if (s)
        pithp_fail(s, PITH_E_PEER, NULL, "the ranks cannot be reached: %s", t->text);
    if (w->broken || w->left)
        return;
    w->broken = true;
    snprintf(line, sizeof line, "rank %" PRId64 ": %s", w->joined.rank, t->text);
    pithp_world_report(w, line);
    w->transport->end(w->joined.all, PITHP_END_CODE);
}

bool pithp_world_reaches(const pithp_world *w, pithp_transport_trouble *t) {
    if (!w->broken && !w->left)
        return true;
    t->code = PITH_E_PEER;
    copy_text(t->text, sizeof t->text,
              w->left ? "the mesh was closed by MPI_Finalize, before pith_close"
                      : "the job ends");
    return false;
}

/* False: the engine has failed. */
static bool
reduce_words(pithp_world *w, pith_scope *s, uint64_t words[PITHP_AGREE_WORDS]) {
    pithp_transport_trouble t; /* written by an engine that fails */
    if (w->forked) {
        pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                   "%s: a child of fork() is no rank of the mesh",
                   pithp_function_of(s, "pith"));
        return false;
    }
    if (pithp_world_reaches(w, &t) &&
        w->transport->agree(w->joined.all, words, &t) == PITH_OK)
        return true;
    pithp_world_break(w, s, &t);
    return false;
}

static bool tell_account(pithp_world *w,
                         pith_scope *s,
                         int64_t from,
                         const account *own,
                         account *a) {
    pithp_transport_trouble t = {.code = PITH_OK};
    if (from == w->joined.rank)
        *a = *own;
    if (w->transport->broadcast(w->joined.all, from, a, sizeof *a, &t) == PITH_OK)
        return true;
    pithp_world_break(w, s, &t);
    return false;
}

/* The first failed rank tells its error. */
static void explain_failure(const part *p, int64_t failed) {
    const account own = own_account(p);
    account a;
    if (!tell_account(p->w, p->s, failed, &own, &a) || !p->s)
        return;
    pithp_fail(p->s, PITH_E_PEER, NULL,
               "%s: rank %" PRId64 " of %" PRId64 " (%s) failed: %s: %s", own.operation,
               failed, p->w->joined.size, a.host, pith_status_name((pith_status)a.code),
               a.message);
}

static void print_account(const account *a, int64_t rank, char *text, size_t room) {
    const bool check = a->code == PITH_E_CHECK;
    snprintf(text, room, "rank %" PRId64 " (%s)%s%.120s%s calls %s%s%.*s%s%s", rank,
             a->host, check ? ", on which " : "", check ? a->message : "",
             check ? "," : "", a->operation, a->what[0] ? " of " : "",
             (int)sizeof a->what - 1, a->what, a->site[0] ? " at " : "", a->site);
}

/* ---- The first part that differs ---- */

static pithp_intent_part part_of(const pithp_intent *intent, int64_t k) {
    pithp_intent_part made = {.operation = "nothing more"};
    if (k < intent->parts(intent->closure))
        intent->part(intent->closure, k, &made);
    return made;
}

/* Whether all ranks have equal parts up to k, which each of them has. */
static bool agree_on_part(const part *p, int64_t k) {
    const uint64_t digest = part_of(p->intent, k).digest;
    uint64_t words[PITHP_AGREE_WORDS] = {digest, ~digest};
    return reduce_words(p->w, p->s, words) && words[0] == ~words[1];
}

/* Replace the own account by the first part in which ranks differ, found by bisection; if
 * an intent has no parts, or all parts are equal, none is replaced. */
static void find_part(const part *p, account *own) {
    const pithp_intent *intent = p->intent;
    const uint64_t count = intent->parts ? (uint64_t)intent->parts(intent->closure) : 0;
    uint64_t words[PITHP_AGREE_WORDS] = {count, ~count};
    if (!reduce_words(p->w, p->s, words) || words[0] == 0)
        return;
    const bool as_many = words[0] == ~words[1];
    int64_t equal = 0, end = (int64_t)words[0]; /* the first `equal` parts are */
    while (equal < end) {
        const int64_t middle = equal + (end - equal) / 2;
        if (agree_on_part(p, middle))
            equal = middle + 1;
        else
            end = middle;
    }
    if (as_many && equal == (int64_t)count)
        return;
    const pithp_intent_part first = part_of(intent, equal);
    copy_text(own->operation, sizeof own->operation, first.operation);
    copy_text(own->what, sizeof own->what, first.what);
    if (first.site)
        copy_text(own->site, sizeof own->site, pithp_site_name(first.site));
}

/* Rank 0 and the first rank that differs from it tell what they do. */
static void explain_difference(const part *p) {
    pithp_world *w = p->w;
    account own = own_account(p), first, other;
    find_part(p, &own);
    if (!tell_account(w, p->s, 0, &own, &first))
        return;
    uint64_t words[PITHP_AGREE_WORDS] = {0};
    words[0] = is_same(&own, &first) ? UINT64_MAX : (uint64_t)w->joined.rank;
    if (!reduce_words(w, p->s, words))
        return;
    const bool one = words[0] == UINT64_MAX; /* calls that only their place differs in */
    const int64_t rank = one ? 0 : (int64_t)words[0];
    if (!tell_account(w, p->s, rank, &own, &other) || !p->s)
        return;
    char here[600], there[600];
    print_account(&other, rank, here, sizeof here);
    print_account(&first, 0, there, sizeof there);
    if (one)
        pithp_fail(p->s, PITH_E_DIVERGED, NULL,
                   "%s, and so do the others, but not after the same calls", here);
    else if (!is_same_call(&other, &first))
        pithp_fail(p->s, PITH_E_DIVERGED, NULL, "%s, but %s", here, there);
    else
        pithp_fail(
            p->s, PITH_E_DIVERGED, NULL, "%s, and so does rank 0 (%s), but %s", here,
            first.host,
            other.extra != first.extra
                ? "their arguments differ: structures, statics, shapes, options, or "
                  "elements that must be equal"
            : other.opening != first.opening
                ? "in a scope of another pith_mesh_open: threads that make collectives at "
                  "once do so in another order on each rank"
                : "not after the same calls");
}

/* Make the reduction. false: the engine has failed. */
static bool vote(part *p, pithp_ballot *b) {
    pithp_world *w = p->w;
    p->number = w->number + 1;
    __atomic_store_n(&w->number, p->number, __ATOMIC_RELAXED);
    pithp_state_set(w, p->intent->operation, p->s ? p->s->site : NULL);
    const bool failed = p->s && p->s->error.code != PITH_OK;
    const uint64_t rank = (uint64_t)w->joined.rank,
                   level = b->level ? b->level : UINT64_MAX,
                   trouble = failed       ? b->error
                             : b->trouble ? b->trouble - 1
                                          : UINT64_MAX,
                   check = b->checks && !failed ? CHECK_BIT : 0;
    p->troubled = trouble != UINT64_MAX;
    const uint64_t digest = p->troubled ? UINT64_MAX : digest_of(p);
    uint64_t words[PITHP_AGREE_WORDS] = {
        [DIGEST] = digest,
        [COMPLEMENT] = p->troubled ? UINT64_MAX : ~digest,
        [TROUBLE] = p->troubled ? trouble << PLACE_SHIFT | check | rank : UINT64_MAX,
        [LOWEST] = level,
        [HIGHEST] = ~level};
    memcpy(words + VALUES, b->least, sizeof b->least);
    if (!reduce_words(w, p->s, words))
        return false;
    memcpy(b->least, words + VALUES, sizeof b->least);
    b->together = words[LOWEST] == ~words[HIGHEST];
    b->lowest = words[LOWEST];
    b->highest = ~words[HIGHEST];
    b->first = words[TROUBLE] == UINT64_MAX
                   ? -1
                   : (int64_t)(words[TROUBLE] & ((1 << RANK_BITS) - 1));
    b->trouble = b->first < 0 ? 0 : (words[TROUBLE] >> PLACE_SHIFT) + 1;
    b->checks = b->first >= 0 && (words[TROUBLE] & CHECK_BIT);
    b->alike = words[DIGEST] == UINT64_MAX || words[DIGEST] == ~words[COMPLEMENT];
    return true;
}

/* Ranks do not go on together. A rank on which a check has failed has come here before
 * the others make what it leaves out. */
static void explain(const part *p, const pithp_ballot *b) {
    if (b->first >= 0 && !b->checks)
        explain_failure(p, b->first);
    else
        explain_difference(p);
}

static void end_wait(pithp_world *w) {
    pithp_state_set(w, NULL, NULL);
    pthread_mutex_unlock(&w->lock);
}

bool pithp_agree_with(pithp_world *w,
                      pith_scope *s,
                      const pithp_intent *intent,
                      pithp_ballot *b) {
    part p = {.w = w, .s = s, .intent = intent};
    pthread_mutex_lock(&w->lock);
    bool agreed = vote(&p, b);
    if (agreed) {
        agreed = b->first < 0 && b->alike;
        if (!agreed)
            explain(&p, b);
    }
    if (agreed) {
        w->agreed = p.number;
        w->decides = intent->decides;
    } else {
        end_wait(w);
    }
    return agreed;
}

/* ---- Decisions ---- */

/* Whether a rank calls pith_agree outside of the try that is decided: no error leaves
 * that out, so the rank is not on its way here. */
static bool is_elsewhere(const pithp_world *w, const pithp_ballot *b) {
    return b->highest <= PITHP_LEVEL_AGREE &&
           b->highest >= PITHP_LEVEL_AGREE - (uint64_t)w->depth;
}

/* Other ranks may still be on their way here, in collectives or decisions within: this
 * rank takes part in those as a failed one. */
bool pithp_decide(pith_scope *s, pithp_decision *d) {
    pithp_world *w = pithp_ranks_of(s);
    const pithp_intent intent = {.operation = d->operation,
                                 .what = d->what,
                                 .extra = d->extra,
                                 .describe = d->describe,
                                 .closure = d->closure};
    part p = {.w = w, .s = s, .intent = &intent, .reason = d->reason};
    pithp_ballot b;
    bool arrived = false, engine = true, explained = false;
    pthread_mutex_lock(&w->lock);
    do {
        b = (pithp_ballot){.level = PITHP_LEVEL_CLOSE + 1 + (uint64_t)w->depth,
                           .trouble = d->trouble,
                           .checks = d->checks,
                           .error = d->error,
                           .least = {d->asks ? 0 : 1, d->writes ? 0 : 1, d->least}};
        const uint64_t level = b.level;
        engine = vote(&p, &b);
        arrived = engine && b.highest <= level;
        explained = engine && (!b.together || !b.alike);
        if (engine && !b.together)
            explain(&p, &b);
        else if (explained)
            explain_difference(&p);
    } while (engine && !arrived && !is_elsewhere(w, &b));
    end_wait(w);
    d->first = engine ? b.first : -1;
    d->trouble = engine ? b.trouble : 0;
    d->asks = engine && b.least[0] == 0;
    d->writes = engine && b.least[1] == 0;
    d->least = b.least[2];
    return arrived && !explained;
}

void pithp_decision_tell(pith_scope *s, const char *operation, int64_t failed) {
    pithp_world *w = pithp_ranks_of(s);
    const pithp_intent intent = {.operation = operation};
    const part p = {.w = w, .s = s, .intent = &intent};
    pthread_mutex_lock(&w->lock);
    pithp_state_set(w, operation, s->site);
    explain_failure(&p, failed);
    end_wait(w);
}

bool pithp_ranks_least_of(pith_scope *s, const char *operation, uint64_t *value) {
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    pithp_decision d = {.operation = operation, .least = *value};
    if (!pithp_decide(s, &d))
        return false;
    *value = d.least;
    if (d.first >= 0)
        pithp_decision_tell(s, operation, d.first);
    return d.first < 0;
}

bool pithp_ranks_fine(pith_scope *s, const char *operation) {
    uint64_t none = 0;
    return pithp_ranks_least_of(s, operation, &none);
}

void pithp_decisions_nest(pith_scope *s, int by) {
    pithp_world *w = pithp_ranks_of(s);
    if (w && w->depth + by >= 0) /* the mesh may have been opened in between */
        w->depth += by;
}

/* ---- Exchanges after a decision ---- */

static pithp_world *begin_exchange(pith_scope *s) {
    pithp_world *w = pithp_ranks_of(s);
    pthread_mutex_lock(&w->lock);
    pithp_state_set(w, pithp_function_of(s, "pith"), s->site);
    return w;
}

bool pithp_ranks_least(pith_scope *s, uint64_t words[PITHP_AGREE_WORDS]) {
    pithp_world *w = begin_exchange(s);
    const bool fine = reduce_words(w, s, words);
    end_wait(w);
    return fine;
}

static bool end_exchange(pithp_world *w,
                         pith_scope *s,
                         const pithp_transport_trouble *t,
                         pith_status rc) {
    if (rc != PITH_OK)
        pithp_world_break(w, s, t);
    end_wait(w);
    return rc == PITH_OK;
}

bool pithp_ranks_broadcast(pith_scope *s, int64_t root, void *data, size_t bytes) {
    pithp_world *w = begin_exchange(s);
    pithp_transport_trouble t;
    return end_exchange(
        w, s, &t,
        pithp_world_reaches(w, &t)
            ? w->transport->broadcast(w->joined.all, root, data, bytes, &t)
            : t.code);
}

bool pithp_ranks_gather(pith_scope *s, const void *own, void *all, size_t bytes) {
    pithp_world *w = begin_exchange(s);
    pithp_transport_trouble t;
    return end_exchange(w, s, &t,
                        pithp_world_reaches(w, &t)
                            ? w->transport->gather(w->joined.all, own, all, bytes, &t)
                            : t.code);
}

bool pithp_collective_begin(pith_scope *s, const pithp_intent *intent) {
    if (!pithp_has_ranks(s))
        return s->error.code == PITH_OK;
    pithp_ballot ballot = {0};
    return pithp_agree_with(pithp_world_of(s->runtime), s, intent, &ballot);
}

void pithp_collective_end(pith_scope *s) {
    pithp_world *w = pithp_world_of(s->runtime);
    if (w && w->joined.size > 1)
        end_wait(w);
}

void pithp_collective_resume(pith_scope *s, const char *operation, const char *site) {
    pithp_world *w = pithp_world_of(s->runtime);
    if (!w || w->joined.size < 2)
        return;
    pthread_mutex_lock(&w->lock);
    pithp_state_resume(w, operation, site);
}

uint64_t pithp_collective_count(const pith_scope *s) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w ? __atomic_load_n(&w->number, __ATOMIC_RELAXED) : 0;
}

bool pithp_collective_agreed_since(const pith_scope *s, uint64_t before) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w && w->agreed > before;
}

bool pithp_collective_decides(const pith_scope *s) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w && w->decides;
}

void pithp_collective_absent(pith_scope *s, const char *operation) {
    if (!pithp_has_ranks(s) || s->error.code == PITH_OK)
        return;
    pithp_ballot ballot = {0};
    pithp_agree_with(pithp_world_of(s->runtime), s,
                     &(pithp_intent){.operation = operation}, &ballot);
}

bool pithp_collective_agrees(pith_scope *s) {
    if (!pithp_has_ranks(s))
        return s->error.code == PITH_OK;
    pithp_world *w = pithp_world_of(s->runtime);
    const pithp_intent intent = {.operation = pithp_function_of(s, "pith")};
    const part p = {.w = w, .s = s, .intent = &intent, .number = w->number};
    const bool failed = s->error.code != PITH_OK;
    uint64_t words[PITHP_AGREE_WORDS] = {failed ? (uint64_t)w->joined.rank : UINT64_MAX};
    if (!reduce_words(w, s, words))
        return false;
    if (words[0] != UINT64_MAX)
        explain_failure(&p, (int64_t)words[0]);
    return words[0] == UINT64_MAX;
}

bool pithp_ranks_all(pith_scope *s, const char *operation, bool *holds) {
    const pithp_intent intent = {.operation = operation};
    pithp_ballot b = {.least = {*holds}};
    if (!pithp_agree_with(pithp_ranks_of(s), s, &intent, &b))
        return false;
    pithp_collective_end(s);
    *holds = b.least[0];
    return true;
}

void pithp_collective_range(pith_scope *s, int64_t *least, int64_t *most) {
    if (!pithp_has_ranks(s))
        return;
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t words[PITHP_AGREE_WORDS] = {(uint64_t)*least ^ sign,
                                         ~((uint64_t)*most ^ sign)};
    if (!reduce_words(pithp_world_of(s->runtime), s, words))
        return;
    *least = (int64_t)(words[0] ^ sign);
    *most = (int64_t)(~words[1] ^ sign);
}

/* Whether ranks may still be on their way to the pith_agree of a failed rank: in a
 * collective, or in a try that this rank has left out, also in a pith_agree within. Ranks
 * at the end of a try that encloses this code do not come here. */
static bool others_come(const pithp_world *w, const pithp_ballot *b, uint64_t own) {
    const uint64_t within_tries = PITHP_LEVEL_AGREE - PITHP_MOST_DEPTH;
    const bool in_collective = b->highest > PITHP_LEVEL_AGREE;
    const bool in_try = b->lowest < within_tries
                            ? b->lowest > PITHP_LEVEL_CLOSE + (uint64_t)w->depth
                            : b->lowest < own;
    return in_collective || in_try;
}

/* A rank that has failed has maybe left out what the others do: it takes part there as a
 * failed one until all have come here. */
static bool meet(pith_scope *s) {
    pithp_world *w = pithp_world_of(s->runtime);
    const pithp_intent intent = {.operation = "pith_agree"};
    const bool waits = s->error.code != PITH_OK;
    const uint64_t level = PITHP_LEVEL_AGREE - (uint64_t)w->depth;
    pithp_ballot b;
    bool agreed;
    do {
        b = (pithp_ballot){.level = level};
        agreed = pithp_agree_with(w, s, &intent, &b);
    } while (waits && others_come(w, &b, level));
    return agreed;
}

bool pith_agree(pith_scope *s) {
    PITHP_IN_FLIGHT(s, "pith_agree");
    if (!pithp_scope_writable(s))
        return false;
    pithp_enter_untraced(s, "pith_agree");
    if (!pith_mesh_of(s))
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_agree: the scope has no mesh: call pith_mesh_open");
    if (!s->room[PITHP_ROOM_TRACE] && pithp_scope_stream(s))
        pithp_synchronise(s); /* checks that nothing has read, also of a failed scope */
    if (!pithp_has_ranks(s))
        return s->error.code == PITH_OK;
    const bool agreed = meet(s);
    if (agreed)
        pithp_collective_end(s);
    return agreed;
}
