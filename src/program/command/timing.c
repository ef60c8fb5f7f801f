/* Timing of the tasks of a command buffer that the host runs one by one. */
#include "program/command/timing.h"

#include <string.h>
#include <time.h>

enum { MARKS = 256 }; /* marks that are set and not yet read */

struct pithp_timing {
    pithp_device *device;
    pithp_profile *profile;
    pithp_stream *stream;            /* of the run */
    void *marks[MARKS];              /* or NULL */
    const pithp_task *before[MARKS]; /* the task that ran before each mark */
    int count;                       /* marks that are set */
    int64_t last;                    /* without marks: end of the last task */
    double spent;                    /* seconds of the run */
};

static bool has_marks(const pithp_timing *t) {
    return t->device->backend->mark_make != NULL;
}

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

pithp_timing *pithp_timing_make(pithp_device *d, pithp_profile *profile) {
    pithp_timing *t = pithp_allocate(d->runtime, sizeof *t);
    if (t) {
        memset(t, 0, sizeof *t);
        t->device = d;
        t->profile = profile;
    }
    return t;
}

void pithp_timing_free(pithp_timing *t) {
    if (!t)
        return;
    for (int k = 0; k < MARKS; k++)
        if (t->marks[k])
            t->device->backend->mark_free(t->device, t->marks[k]);
    pithp_release(t->device->runtime, t, sizeof *t);
}

/* ---- Marks ---- */

static pith_status set_mark(pithp_timing *t, const pithp_task *before, pithp_error *e) {
    const pithp_backend *b = t->device->backend;
    void **mark = &t->marks[t->count];
    if (!*mark && !(*mark = b->mark_make(t->device, e)))
        return e->code;
    t->before[t->count++] = before;
    return b->mark_set(t->stream, *mark, e);
}

static void take(pithp_timing *t, const pithp_task *task, double seconds) {
    t->spent += seconds;
    if (task && task->entry_count)
        pithp_profile_share(t->profile, task->entry, task->entry_count,
                            (int64_t)(seconds * 1e9));
}

/* Read all marks. The last one becomes the first of the next ones. */
static pith_status read_marks(pithp_timing *t, pithp_error *e) {
    pith_status rc = PITH_OK;
    const int last = t->count - 1;
    for (int k = 1; k <= last && rc == PITH_OK; k++) {
        double seconds = 0;
        rc = t->device->backend->mark_elapsed(t->device, t->marks[k - 1], t->marks[k],
                                              &seconds, e);
        take(t, t->before[k], seconds);
    }
    void *mark = t->marks[0];
    t->marks[0] = t->marks[last];
    t->marks[last] = mark;
    t->count = 1;
    return rc;
}

/* ---- Runs ---- */

pith_status pithp_timing_begin(pithp_timing *t, pithp_stream *st, pithp_error *e) {
    t->stream = st;
    t->count = 0;
    t->spent = 0;
    if (has_marks(t))
        return set_mark(t, NULL, e);
    const pith_status rc = t->device->backend->synchronise(st, e);
    t->last = now();
    return rc;
}

pith_status pithp_timing_task(pithp_timing *t, const pithp_task *task, pithp_error *e) {
    pith_status rc = PITH_OK;
    if (task->begins)
        pithp_profile_count(t->profile, task->entry, task->entry_count);
    if (!has_marks(t)) {
        const int64_t begun = t->last;
        rc = t->device->backend->synchronise(t->stream, e);
        t->last = now();
        take(t, task, (double)(t->last - begun) * 1e-9);
        return rc;
    }
    rc = set_mark(t, task, e);
    return rc == PITH_OK && t->count == MARKS ? read_marks(t, e) : rc;
}

void pithp_timing_enter(const pithp_timing *t, const pithp_task *task) {
    if (task->begins)
        pithp_profile_count(t->profile, task->entry, task->entry_count);
}

pith_status pithp_timing_end(pithp_timing *t, pithp_error *e) {
    const pith_status rc = has_marks(t) ? read_marks(t, e) : PITH_OK;
    pithp_profile_add_run(t->profile, (int64_t)(t->spent * 1e9));
    return rc;
}
