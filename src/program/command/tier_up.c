/* Tier-up: when a product of a plan is made, and by which thread. */
#include "program/command/tier_up.h"

#include "program/op/thresholds.h"

#include <stddef.h>
#include <string.h>

bool pithp_tier_begin(pithp_tier_up *t, pith_runtime *rt, const pithp_tier_maker *maker) {
    memset(t, 0, sizeof *t);
    t->runtime = rt;
    t->maker = maker;
    atomic_init(&t->refs, 1);
    atomic_init(&t->due, PITHP_RUNS_WORTH_COMPILING);
    t->pause = PITHP_RUNS_WORTH_COMPILING;
    if (pithp_code_when_set() == PITHP_CODE_WAIT)
        pithp_tier_wait(t);
    return pthread_mutex_init(&t->lock, NULL) == 0;
}

void pithp_tier_wait(pithp_tier_up *t) {
    t->wait = true;
    t->pause = 1;
    atomic_store(&t->due, 1);
}

static void release(pithp_tier_up *t) {
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&t->lock);
    t->maker->free(t);
}

void pithp_tier_abandon(pithp_tier_up *t) {
    atomic_store(&t->abandoned, true);
    release(t);
}

bool pithp_tier_is_over(const pithp_tier_up *t) {
    return atomic_load(&t->abandoned) ||
           pithp_background_ends(pithp_runtime_device(t->runtime));
}

/* ---- Stages ---- */

/* While memory is short, each pause is twice the one before, so that attempts cost
 * little. */
static void postpone(pithp_tier_up *t) {
    t->postponed = true;
    atomic_store_explicit(&t->runs, 0, memory_order_relaxed);
    atomic_store_explicit(&t->due, t->pause, memory_order_relaxed);
    t->pause = t->pause < PITHP_LONGEST_PAUSE ? 2 * t->pause : t->pause;
}

void pithp_tier_settle(pithp_tier_up *t, pithp_tier_stage stage) {
    if (stage == PITHP_TIER_COUNTING)
        postpone(t);
    atomic_store_explicit(&t->stage, (int)stage, memory_order_release);
}

pithp_tier_stage
pithp_tier_failed(const pithp_tier_up *t, const pithp_error *e, const char *runs) {
    pithp_device *d = pithp_runtime_device(t->runtime);
    if (pithp_tier_is_over(t))
        return PITHP_TIER_NEVER;
    if (e->code == PITH_E_MEMORY) {
        pithp_log(t->runtime, PITH_LOG_INFO, "programs %s, to be tried again: %s", runs,
                  e->text);
        return PITHP_TIER_COUNTING;
    }
    if (!atomic_exchange(&d->compiler_complained, true))
        pithp_log(t->runtime, PITH_LOG_WARNING, "programs %s: %s", runs, e->text);
    return PITHP_TIER_NEVER;
}

/* ---- Making ---- */

static void make_in_background(pithp_background_work *work, bool given_up) {
    pithp_tier_up *t =
        (pithp_tier_up *)(void *)((char *)work - offsetof(pithp_tier_up, work));
    if (!given_up && !atomic_load(&t->abandoned))
        pithp_tier_settle(t, t->maker->make(t, NULL));
    release(t);
}

/* The thread that took the stage. */
static void make(pith_scope *s, pithp_tier_up *t) {
    pithp_device *d = pithp_runtime_device(t->runtime);
    if (t->wait) {
        pithp_tier_settle(t, t->maker->make(t, s));
        return;
    }
    t->work.run = make_in_background;
    atomic_fetch_add(&t->refs, 1);
    if (pithp_background_do(d, &t->work))
        return;
    atomic_fetch_sub(&t->refs, 1);
    pithp_tier_settle(t,
                      pithp_background_ends(d) ? PITHP_TIER_NEVER : PITHP_TIER_COUNTING);
}

/* Whether this run is the one that makes it. */
static bool take_stage(pithp_tier_up *t) {
    int counting = PITHP_TIER_COUNTING;
    return atomic_load_explicit(&t->stage, memory_order_acquire) == counting &&
           atomic_fetch_add_explicit(&t->runs, 1, memory_order_relaxed) + 1 >=
               atomic_load_explicit(&t->due, memory_order_relaxed) &&
           atomic_compare_exchange_strong(&t->stage, &counting, PITHP_TIER_MAKING);
}

pithp_tier_stage pithp_tier_poll(pith_scope *s, pithp_tier_up *t) {
    const pithp_tier_stage stage = pithp_tier_look(t);
    if (stage == PITHP_TIER_READY || stage == PITHP_TIER_NEVER)
        return stage;
    if (t->wait)
        pthread_mutex_lock(&t->lock);
    if (take_stage(t))
        make(s, t);
    if (t->wait)
        pthread_mutex_unlock(&t->lock);
    return pithp_tier_look(t);
}

void pithp_tier_make_now(pith_scope *s, pithp_tier_up *t) {
    int counting = PITHP_TIER_COUNTING;
    if (!atomic_compare_exchange_strong(&t->stage, &counting, PITHP_TIER_MAKING))
        return;
    if (!t->postponed)
        pithp_tier_settle(t, t->maker->make(t, s));
    else
        atomic_store_explicit(&t->stage, PITHP_TIER_COUNTING, memory_order_release);
}
