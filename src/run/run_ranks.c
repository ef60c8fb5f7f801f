/* Runs of several ranks: what is asked of one is asked of all, and what one rank does for
 * all has succeeded on all. */
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/request.h"
#include "run/run_internal.h"

#include <inttypes.h>
#include <string.h>

static const char operation[] = "pith_run";

bool pithp_run_agreed(pith_scope *s) {
    return pithp_ranks_fine(s, operation);
}

bool pithp_run_refused(pith_scope *s, bool fine) {
    return pithp_scope_joins(s) ? !pithp_ranks_fine(s, operation) : !fine;
}

/* ---- Options ---- */

typedef struct common {
    const char *name;
    int64_t value;
} common;
enum { COMMON = 17 };

/* What all ranks must have in common. */
static void list_common(const pith_run_options *o, common list[COMMON]) {
    const common all[COMMON] = {{"steps", o->steps},
                                {"first_step", o->first_step},
                                {"check_every", o->check_every},
                                {"max_tries", o->max_tries},
                                {"save_every", o->save_every},
                                {"each_every", o->each_every},
                                {"log_every", o->log_every},
                                {"steps_per_call", o->steps_per_call},
                                {"steps_per_launch", o->steps_per_launch},
                                {"resume", o->resume},
                                {"finite", o->finite},
                                {"save", o->save != NULL},
                                {"each", o->each != NULL},
                                {"log", o->log != NULL},
                                {"until", o->until != NULL},
                                {"log_row", o->log_row != NULL},
                                {"save_part", o->save_part != NULL}};
    memcpy(list, all, sizeof all);
}

uint64_t pithp_run_digest(const pith_run_options *o) {
    common list[COMMON];
    int64_t values[COMMON];
    list_common(o, list);
    for (int i = 0; i < COMMON; i++)
        values[i] = list[i].value;
    return pithp_hash(0, values, sizeof values);
}

void pithp_run_describe(const void *options, char what[]) {
    common list[COMMON];
    list_common(options, list);
    for (int i = 0; i < COMMON; i++)
        pithp_describe_number(what, list[i].name, list[i].value);
}

/* ---- Requests ---- */

static bool is_any(const pithp_asked *a) {
    return a->signal || a->stop || a->save || a->over || a->due || a->met;
}

/* A signal has a number, which all ranks return; the others are yes or no. */
static void exchange(pith_scope *s, pithp_asked *a) {
    bool *const flags[] = {&a->stop, &a->save, &a->over, &a->due, &a->met};
    uint64_t words[PITHP_AGREE_WORDS] = {a->signal ? (uint64_t)a->signal : UINT64_MAX};
    for (int i = 0; i < PITHP_COUNT(flags); i++)
        words[1 + i] = *flags[i] ? 0 : 1;
    if (!pithp_ranks_least(s, words))
        return;
    a->signal = words[0] == UINT64_MAX ? 0 : (int)words[0];
    for (int i = 0; i < PITHP_COUNT(flags); i++)
        *flags[i] = words[1 + i] == 0;
}

bool pithp_run_ask(pith_scope *s, pithp_asked *a, bool decide, bool known) {
    bool any = known;
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    if (decide) {
        pithp_decision d = {.operation = operation, .asks = is_any(a)};
        if (!pithp_decide(s, &d))
            return false;
        any |= d.asks;
        if (d.first >= 0)
            pithp_decision_tell(s, operation, d.first);
        if (d.first >= 0)
            return false;
    }
    if (any)
        exchange(s, a);
    else
        *a = (pithp_asked){.signal = 0}; /* of this rank alone, until the next decision */
    return s->error.code == PITH_OK;
}

/* ---- Resuming ---- */

/* What a rank has found. */
typedef struct found {
    int64_t step; /* -1: no checkpoint */
    char host[64];
} found;

static void print_found(const found *f, int64_t rank, char text[160]) {
    if (f->step < 0)
        snprintf(text, 160, "rank %" PRId64 " (%s) sees no checkpoint", rank, f->host);
    else
        snprintf(text, 160, "rank %" PRId64 " (%s) sees step %" PRId64, rank, f->host,
                 f->step);
}

bool pithp_run_resumes_alike(pith_scope *s, const char *name, int64_t step) {
    found own = {.step = step}, first, other;
    char here[160], there[160];
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    snprintf(own.host, sizeof own.host, "%s", pith_mesh_about(pith_mesh_of(s)).host);
    first = own;
    if (!pithp_ranks_fine(s, operation) ||
        !pithp_ranks_broadcast(s, 0, &first, sizeof first))
        return false;
    uint64_t words[PITHP_AGREE_WORDS] = {
        own.step == first.step ? UINT64_MAX : (uint64_t)pithp_ranks_own(s)};
    if (!pithp_ranks_least(s, words) || words[0] == UINT64_MAX)
        return s->error.code == PITH_OK;
    const int64_t rank = (int64_t)words[0];
    other = own;
    if (!pithp_ranks_broadcast(s, rank, &other, sizeof other))
        return false;
    print_found(&other, rank, here);
    print_found(&first, 0, there);
    pithp_fail(s, PITH_E_IO, NULL,
               "resume: \"%s\": %s, but %s: do all hosts see its folder?", name, here,
               there);
    return false;
}
