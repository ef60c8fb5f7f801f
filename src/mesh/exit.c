/* The end of a process whose mesh is open: it ends the job, because the other ranks would
 * wait for it. */
#include "mesh/world.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pithp_world *worlds;

static void end_jobs(void) {
    pthread_mutex_lock(&lock);
    for (pithp_world *w = worlds; w; w = w->next) {
        if (w->forked)
            continue;
        const bool may_call = pthread_mutex_trylock(&w->lock) == 0;
        if (w->own)
            atomic_store(&w->own->phase, PITHP_PHASE_LEFT);
        fflush(NULL);
        pithp_world_end(w, -1, may_call);
    }
    pthread_mutex_unlock(&lock);
}

/* A child of fork is no rank. */
static void leave_to_parent(void) {
    for (pithp_world *w = worlds; w; w = w->next)
        w->forked = true;
}

static void watch_exit(void) {
    atexit(end_jobs);
    pthread_atfork(NULL, NULL, leave_to_parent);
}

void pithp_exit_watch(pithp_world *w) {
    if (!w->transport->process)
        return;
    pthread_once(&once, watch_exit);
    pthread_mutex_lock(&lock);
    w->next = worlds;
    worlds = w;
    pthread_mutex_unlock(&lock);
}

void pithp_exit_forget(pithp_world *w) {
    pthread_mutex_lock(&lock);
    for (pithp_world **at = &worlds; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}
