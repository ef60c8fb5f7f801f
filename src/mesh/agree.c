/* Agreements: before a collective one reduction of 64 bytes tells every rank whether all
 * do the same and none has failed. Only if not, ranks exchange texts to say what differs.
 *
 * The least of a digest over all ranks, and that of its complement, are complements only
 * if all digests are equal. A rank that has failed takes part with neutral words. */
#include "base/in_flight.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Words of the reduction. */
enum { DIGEST, COMPLEMENT, FIRST_FAILED, FIRST_OPEN, VALUES };
_Static_assert(VALUES + 3 < PITHP_AGREE_WORDS, "a word is left");

/* What a rank tells about itself if something is wrong. */
typedef struct account {
    int32_t code;
    uint64_t extra, number;
    char operation[48], what[PITHP_WHAT_BYTES], site[PITHP_SITE_BYTES];
    char message[PITHP_MESSAGE_BYTES];
    char host[64];
} account;

static void copy_text(char *to, size_t room, const char *from) {
    snprintf(to, room, "%s", from ? from : "");
}

/* The call site if it must be equal on all ranks; "" otherwise. */
static const char *site_of(const pith_scope *s, const pithp_intent *intent) {
    return s && s->site && !intent->parts ? pithp_site_name(s->site) : "";
}

static account
own_account(const pithp_world *w, const pith_scope *s, const pithp_intent *intent) {
    account a;
    memset(&a, 0, sizeof a);
    a.extra = intent->extra;
    a.number = w->number;
    copy_text(a.operation, sizeof a.operation, intent->operation);
    copy_text(a.what, sizeof a.what, intent->what);
    copy_text(a.host, sizeof a.host, w->host);
    copy_text(a.site, sizeof a.site, site_of(s, intent));
    if (s && s->error.code != PITH_OK) {
        a.code = (int32_t)s->error.code;
        copy_text(a.message, sizeof a.message, s->error.message);
    }
    return a;
}

static bool is_same(const account *a, const account *b) {
    return a->extra == b->extra && a->number == b->number &&
           strcmp(a->operation, b->operation) == 0 && strcmp(a->what, b->what) == 0 &&
           strcmp(a->site, b->site) == 0;
}

static uint64_t digest_of(const pithp_world *w,
                          const pith_scope *s,
                          const pithp_intent *intent) {
    const char *site = site_of(s, intent), *what = intent->what ? intent->what : "";
    uint64_t h = pithp_hash(w->number, intent->operation, strlen(intent->operation));
    h = pithp_hash(h, what, strlen(what));
    h = pithp_hash(h, site, strlen(site));
    return pithp_hash(h, &intent->extra, sizeof intent->extra);
}

void pithp_world_break(pithp_world *w, pith_scope *s, const pithp_transport_trouble *t) {
    char line[600];
    if (s)
        pithp_fail(s, PITH_E_PEER, NULL, "the ranks cannot be reached: %s", t->text);
    if (w->broken)
        return;
    w->broken = true;
    snprintf(line, sizeof line, "rank %" PRId64 ": %s", w->joined.rank, t->text);
    pithp_world_report(w, line);
    w->transport->end(w->joined.all, PITHP_END_CODE);
}

/* False: the engine has failed. */
static bool
reduce_words(pithp_world *w, pith_scope *s, uint64_t words[PITHP_AGREE_WORDS]) {
    pithp_transport_trouble t = {.code = PITH_E_PEER, .text = "the job ends"};
    if (w->forked) {
        pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                   "%s: a child of fork() is no rank of the mesh", s->function);
        return false;
    }
    if (!w->broken && w->transport->agree(w->joined.all, words, &t) == PITH_OK)
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
static void
explain_failure(pithp_world *w, pith_scope *s, const account *own, int64_t failed) {
    account a;
    if (!tell_account(w, s, failed, own, &a) || !s)
        return;
    pithp_fail(s, PITH_E_PEER, NULL,
               "%s: rank %" PRId64 " of %" PRId64 " (%s) failed: %s: %s", own->operation,
               failed, w->joined.size, a.host, pith_status_name((pith_status)a.code),
               a.message);
}

static void print_account(const account *a, int64_t rank, char *text, size_t room) {
    snprintf(text, room, "rank %" PRId64 " (%s) calls %s%s%.*s%s%s", rank, a->host,
             a->operation, a->what[0] ? " of " : "", (int)sizeof a->what - 1, a->what,
             a->site[0] ? " at " : "", a->site);
}

/* ---- The first part that differs ---- */

static pithp_intent_part part_of(const pithp_intent *intent, int64_t k) {
    pithp_intent_part part = {.operation = "nothing more"};
    if (k < intent->parts(intent->closure))
        intent->part(intent->closure, k, &part);
    return part;
}

/* Whether all ranks have equal parts up to k, which each of them has. */
static bool
agree_on_part(pithp_world *w, pith_scope *s, const pithp_intent *intent, int64_t k) {
    const uint64_t digest = part_of(intent, k).digest;
    uint64_t words[PITHP_AGREE_WORDS] = {digest, ~digest};
    return reduce_words(w, s, words) && words[0] == ~words[1];
}

/* Replace the own account by the first part in which ranks differ, found by bisection; if
 * an intent has no parts, none is replaced. */
static void
find_part(pithp_world *w, pith_scope *s, const pithp_intent *intent, account *own) {
    uint64_t words[PITHP_AGREE_WORDS] = {
        intent->parts ? (uint64_t)intent->parts(intent->closure) : 0};
    if (!reduce_words(w, s, words) || words[0] == 0)
        return;
    int64_t equal = 0, end = (int64_t)words[0]; /* the first `equal` parts are */
    while (equal < end) {
        const int64_t middle = equal + (end - equal) / 2;
        if (agree_on_part(w, s, intent, middle))
            equal = middle + 1;
        else
            end = middle;
    }
    const pithp_intent_part part = part_of(intent, equal);
    copy_text(own->operation, sizeof own->operation, part.operation);
    copy_text(own->what, sizeof own->what, part.what);
    if (part.site)
        copy_text(own->site, sizeof own->site, pithp_site_name(part.site));
}

/* Rank 0 and the first rank that differs from it tell what they do. */
static void explain_difference(pithp_world *w,
                               pith_scope *s,
                               const pithp_intent *intent,
                               account *own) {
    account first, other;
    find_part(w, s, intent, own);
    if (!tell_account(w, s, 0, own, &first))
        return;
    uint64_t words[PITHP_AGREE_WORDS] = {0};
    words[0] = is_same(own, &first) ? UINT64_MAX : (uint64_t)w->joined.rank;
    if (!reduce_words(w, s, words))
        return;
    const int64_t rank = words[0] == UINT64_MAX ? 0 : (int64_t)words[0];
    if (!tell_account(w, s, rank, own, &other) || !s)
        return;
    char here[480], there[480];
    print_account(&other, rank, here, sizeof here);
    print_account(&first, 0, there, sizeof there);
    pithp_fail(s, PITH_E_DIVERGED, NULL, "%s, but %s", here, there);
}

/* failed: the first rank that has failed; -1: the ranks differ. */
static void
explain(pithp_world *w, pith_scope *s, const pithp_intent *intent, int64_t failed) {
    account own = own_account(w, s, intent);
    if (failed >= 0)
        explain_failure(w, s, &own, failed);
    else
        explain_difference(w, s, intent, &own);
}

bool pithp_agree_with(pithp_world *w,
                      pith_scope *s,
                      const pithp_intent *intent,
                      pithp_ballot *b) {
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->number, w->number + 1, __ATOMIC_RELAXED);
    pithp_state_set(w->own, intent->operation, s ? s->site : NULL);
    const bool failed = s && s->error.code != PITH_OK;
    const uint64_t digest = digest_of(w, s, intent), rank = (uint64_t)w->joined.rank;
    uint64_t words[PITHP_AGREE_WORDS] = {
        [DIGEST] = failed ? UINT64_MAX : digest,
        [COMPLEMENT] = failed ? UINT64_MAX : ~digest,
        [FIRST_FAILED] = failed ? rank : UINT64_MAX,
        [FIRST_OPEN] = b->closing ? UINT64_MAX : rank,
    };
    memcpy(words + VALUES, b->least, sizeof b->least);
    bool agreed = reduce_words(w, s, words);
    if (agreed) {
        memcpy(b->least, words + VALUES, sizeof b->least);
        b->all_close = words[FIRST_OPEN] == UINT64_MAX;
        agreed = words[FIRST_FAILED] == UINT64_MAX && words[DIGEST] == ~words[COMPLEMENT];
        if (!agreed)
            explain(w, s, intent, (int64_t)words[FIRST_FAILED]);
    }
    if (!agreed) {
        pithp_state_set(w->own, NULL, NULL);
        pthread_mutex_unlock(&w->lock);
    }
    return agreed;
}

bool pithp_has_ranks(const pith_scope *s) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w && w->joined.size > 1;
}

bool pithp_collective_begin(pith_scope *s, const pithp_intent *intent) {
    if (!pithp_has_ranks(s))
        return s->error.code == PITH_OK;
    pithp_ballot ballot = {0};
    return pithp_agree_with(pithp_world_of(s->runtime), s, intent, &ballot);
}

void pithp_collective_end(pith_scope *s) {
    if (!pithp_has_ranks(s))
        return;
    pithp_world *w = pithp_world_of(s->runtime);
    pithp_state_set(w->own, NULL, NULL);
    pthread_mutex_unlock(&w->lock);
}

void pithp_collective_resume(pith_scope *s, const char *operation, const char *site) {
    if (!pithp_has_ranks(s))
        return;
    pithp_world *w = pithp_world_of(s->runtime);
    pthread_mutex_lock(&w->lock);
    pithp_state_set(w->own, operation, site);
}

uint64_t pithp_collective_count(const pith_scope *s) {
    const pithp_world *w = pithp_world_of(s->runtime);
    return w ? __atomic_load_n(&w->number, __ATOMIC_RELAXED) : 0;
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
    const account own =
        own_account(w, s, &(pithp_intent){.operation = pithp_function_of(s, "pith")});
    const bool failed = own.code != PITH_OK;
    uint64_t words[PITHP_AGREE_WORDS] = {
        [FIRST_FAILED] = failed ? (uint64_t)w->joined.rank : UINT64_MAX};
    if (!reduce_words(w, s, words))
        return false;
    if (words[FIRST_FAILED] != UINT64_MAX)
        explain_failure(w, s, &own, (int64_t)words[FIRST_FAILED]);
    return words[FIRST_FAILED] == UINT64_MAX;
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

bool pith_agree(pith_scope *s) {
    PITHP_IN_FLIGHT(s, "pith_agree");
    if (!pithp_scope_writable(s))
        return false;
    pithp_enter_untraced(s, "pith_agree");
    if (!pith_mesh_of(s))
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_agree: the scope has no mesh: call pith_mesh_open");
    const bool agreed =
        pithp_collective_begin(s, &(pithp_intent){.operation = "pith_agree"});
    if (agreed)
        pithp_collective_end(s);
    return agreed;
}
