/* Ends of saves by many ranks. A thread writes the part of its rank; that of rank 0 then
 * looks for the other parts in the folder, and names them when all are there. Only the
 * calls of pith_save_wait and others that settle a save use the engine: they tell rank 0
 * that all parts are durable or that one has failed, and every rank the outcome. */
#include "base/in_flight.h"
#include "checkpoint/save/parted.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Pauses between looks for parts, and how long rank 0 looks for parts that are durable:
 * clients of a network file system see them late. */
enum { LEAST_PAUSE_MS = 2, MOST_PAUSE_MS = 100, LATE_MS = 10000 };

/* ---- The thread ---- */

/* Wait until a member of the job changes, or for some time. Holds the lock. */
static void pause_for(pithp_parted_job *j, int ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&j->changed, &j->lock, &t);
}

/* A client of a network file system asks for the content of a folder when it opens it. */
static void refresh(const pithp_parted_job *j) {
    const int folder =
        openat(j->location.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
}

bool pithp_parted_pause(pithp_parted_job *j, int ms) {
    pthread_mutex_lock(&j->lock);
    if (!j->abandoned)
        pause_for(j, ms);
    const bool go_on = !j->abandoned;
    pthread_mutex_unlock(&j->lock);
    return go_on;
}

/* Rank 0: look until all parts are there, or the job is given up. */
static bool wait_for_parts(pithp_parted_job *j) {
    int late = 0, pause = LEAST_PAUSE_MS;
    bool over = false;
    while (!over && !pithp_parted_sees_all(j)) {
        pthread_mutex_lock(&j->lock);
        late += j->durable ? pause : 0;
        over = j->abandoned || late >= LATE_MS || j->s->error.code != PITH_OK;
        if (!over)
            pause_for(j, pause);
        pthread_mutex_unlock(&j->lock);
        pause = pause < MOST_PAUSE_MS ? 2 * pause : pause;
        refresh(j);
    }
    pthread_mutex_lock(&j->lock);
    const bool abandoned = j->abandoned;
    pthread_mutex_unlock(&j->lock);
    return !abandoned;
}

static void note_part(pithp_parted_job *j) {
    pthread_mutex_lock(&j->lock);
    j->part_error = j->s->error;
    j->written = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

static void *run(void *closure) {
    pithp_parted_job *j = closure;
    pithp_closing_helper();
    const bool written = pithp_parted_write_part(j) == PITH_OK;
    note_part(j);
    if (written && j->document && wait_for_parts(j))
        pithp_parted_write_document(j);
    return NULL;
}

pith_status pithp_parted_job_start(pithp_parted_job *j) {
    char reason[128];
    j->process = getpid(); /* the thread must not use the engine from the start */
    const int error = pithp_background_thread(&j->thread, run, j);
    if (!error)
        return PITH_OK;
    j->process = 0;
    return pithp_fail(j->agreed, PITH_E_IO, NULL,
                      "cannot start the thread of a background save: %s",
                      strerror_r(error, reason, sizeof reason));
}

/* ---- The outcome ---- */

static bool agree(pithp_parted_job *j, const char *what) {
    const pithp_intent intent = {.operation = "pith_save", .what = what, .extra = j->id};
    if (!pithp_collective_begin(j->agreed, &intent))
        return false;
    pithp_collective_end(j->agreed);
    return true;
}

/* All ranks have done a stage of the parts of their nodes, or one has failed. Only then
 * ranks of a node wait for what others of it have written. */
static void agree_on_stage(pithp_parted_job *j) {
    static const char *const names[] = {
        [PITHP_STAGE_SIZES] = "sizes", [PITHP_STAGE_PLACES] = "places"};
    const bool all = agree(j, names[j->all_stages]);
    pthread_mutex_lock(&j->lock);
    j->all_stages++;
    j->abandoned |= !all;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

bool pithp_parted_stage_done(pithp_parted_job *j, pith_status rc) {
    pthread_mutex_lock(&j->lock);
    j->stages += rc == PITH_OK;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (!j->process && rc == PITH_OK)
        agree_on_stage(j);
    return pithp_parted_pause(j, 0);
}

/* Agree on the stages that are left: with threads, all of them. A rank that has failed
 * takes part in each. */
static void finish_stages(pithp_parted_job *j) {
    while (j->all_stages < PITHP_STAGES) {
        pthread_mutex_lock(&j->lock);
        while (j->stages <= j->all_stages && !j->written)
            pthread_cond_wait(&j->changed, &j->lock);
        if (j->stages <= j->all_stages)
            pithp_saving_take_error(j->agreed, &j->part_error, "");
        pthread_mutex_unlock(&j->lock);
        agree_on_stage(j);
    }
}

/* The part of this rank: written here, or by the thread. */
static void finish_part(pithp_parted_job *j) {
    if (!j->process) {
        pithp_parted_write_part(j);
        note_part(j);
    }
    if (j->per_node)
        finish_stages(j);
    pthread_mutex_lock(&j->lock);
    while (!j->written)
        pthread_cond_wait(&j->changed, &j->lock);
    pthread_mutex_unlock(&j->lock);
    pithp_saving_take_error(j->agreed, &j->part_error, "");
}

static void finish_document(pithp_parted_job *j, bool durable) {
    if (j->process) {
        pthread_mutex_lock(&j->lock);
        j->durable = durable;
        j->abandoned = !durable;
        pthread_cond_broadcast(&j->changed);
        pthread_mutex_unlock(&j->lock);
        pthread_join(j->thread, NULL);
    } else if (durable && j->document) {
        pithp_parted_write_document(j);
    }
    if (durable)
        pithp_saving_take_error(j->agreed, &j->s->error, "");
}

/* No rank waits for parts any more: rank 0 removes those that no document names. */
static void end(pithp_parted_job *j) {
    if (j->rank == 0)
        pithp_parted_sweep(j);
    pithp_parted_job_end(j);
}

bool pithp_parted_job_settle(pith_scope *s, pithp_parted_job *j) {
    if (j->process && j->process != getpid()) /* the thread is the parent's */
        return true;
    const char *prefix = j->process ? pithp_in_background : "";
    finish_part(j);
    const bool durable = agree(j, "parts");
    finish_document(j, durable);
    const bool saved = durable && agree(j, "outcome");
    if (s)
        pithp_saving_take_error(s, &j->agreed->error, prefix);
    else if (!saved)
        pithp_log(j->rt, PITH_LOG_ERROR, "%s%s", prefix, j->agreed->error.message);
    end(j);
    return saved;
}

void pithp_parted_job_abandon(pithp_parted_job *j) {
    finish_document(j, false);
    end(j);
}
