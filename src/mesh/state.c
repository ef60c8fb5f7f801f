/* States of ranks: what the watch threads of a node read about each other. */
#include "mesh/process.h"
#include "mesh/world.h"

#include <string.h>
#include <time.h>

uint64_t pithp_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pithp_state_begin(pithp_rank_state *own, int64_t rank) {
    const pithp_process p = pithp_process_own();
    atomic_store_explicit(&own->rank, rank, memory_order_relaxed);
    atomic_store_explicit(&own->space, p.space, memory_order_relaxed);
    atomic_store_explicit(&own->process, p.number, memory_order_release);
    atomic_store_explicit(&own->phase, PITHP_PHASE_USER, memory_order_release);
    pithp_state_note(own, pithp_nanoseconds());
}

/* No number has 61 bits. */
static uint64_t mark_of(const pithp_rank_state *state) {
    const uint64_t number = atomic_load(&state->number);
    return number << 3 | atomic_load(&state->phase);
}

void pithp_state_note(pithp_rank_state *state, uint64_t now) {
    const uint64_t mark = mark_of(state);
    if (atomic_load(&state->seen) == mark)
        return;
    atomic_store(&state->since, now);
    atomic_store(&state->seen, mark);
}

uint64_t pithp_state_lasts(const pithp_rank_state *state, uint64_t now) {
    const uint64_t since = atomic_load(&state->since);
    return atomic_load(&state->seen) == mark_of(state) && now > since ? now - since : 0;
}

/* As words, which a reader may see while they change: a torn text, but no race. */
static void set_text(pithp_rank_state *own, const char *operation, const char *site) {
    union {
        char text[8 * PITHP_STATE_WORDS];
        uint64_t words[PITHP_STATE_WORDS];
    } u;
    memset(&u, 0, sizeof u);
    const size_t n = strnlen(operation, PITHP_STATED_BYTES), room = sizeof u.text - 1;
    memcpy(u.text, operation, n);
    if (site) {
        const char *name = pithp_site_name(site);
        const size_t most = room - n - 2, length = strnlen(name, most);
        memcpy(u.text + n, ", ", 2);
        memcpy(u.text + n + 2, name, length);
    }
    for (int i = 0; i < PITHP_STATE_WORDS; i++)
        atomic_store_explicit(&own->text[i], u.words[i], memory_order_relaxed);
}

/* Steps call the same collective again and again. Call sites are texts that live as long
 * as the program. */
static bool is_stated(const pithp_world *w, const char *operation, const char *site) {
    return site == w->stated_site &&
           (operation == w->stated_name ||
            strncmp(operation, w->stated, PITHP_STATED_BYTES) == 0);
}

static void state(pithp_world *w, const char *operation, const char *site) {
    if (is_stated(w, operation, site))
        return;
    set_text(w->own, operation, site);
    w->stated_name = NULL;
    w->stated_site = site;
    memset(w->stated, 0, sizeof w->stated);
    memcpy(w->stated, operation, strnlen(operation, PITHP_STATED_BYTES));
}

void pithp_state_resume(pithp_world *w, const char *operation, const char *site) {
    pithp_state_set(w, operation, site);
    w->stated_name = operation;
}

void pithp_state_set(pithp_world *w, const char *operation, const char *site) {
    pithp_rank_state *own = w->own;
    if (!own)
        return;
    if (operation) {
        state(w, operation, site);
        /* only this rank writes it, with the lock: no locked instruction */
        const uint64_t number = atomic_load_explicit(&own->number, memory_order_relaxed);
        atomic_store_explicit(&own->number, number + 1, memory_order_relaxed);
    }
    atomic_store_explicit(&own->phase, operation ? PITHP_PHASE_WAITING : PITHP_PHASE_USER,
                          memory_order_release);
}
