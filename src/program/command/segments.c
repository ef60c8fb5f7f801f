/* Segments: the tasks of a program with collectives that run without the host, as graphs.
 * Between them the host makes its own steps, and drives branches and loops that a
 * conditional node cannot hold; their bodies have segments of their own. */
#include "program/collective/collective.h"
#include "program/command/replay_internal.h"

#include <string.h>

static bool is_of_host(const pithp_task *task) {
    return task->kind == PITHP_TASK_HOST || (pithp_task_controls(task) && task->driven);
}

/* Number the ranges of a list. Returns the count so far. */
static int32_t number(pithp_tasks *tasks, int32_t count) {
    int64_t first = 0;
    for (int64_t k = 0; k <= tasks->count; k++) {
        const pithp_task *task = k < tasks->count ? &tasks->list[k] : NULL;
        if (task && !is_of_host(task))
            continue;
        if (k > first) {
            tasks->list[first].segment = ++count;
            tasks->list[first].segment_count = k - first;
        }
        for (int b = 0; task && b < task->body_count; b++)
            count = number(&task->bodies[b], count);
        first = k + 1;
    }
    return count;
}

static size_t bytes_of(const pithp_replay *r) {
    return (size_t)r->segment_count * sizeof *r->segments;
}

bool pithp_segments_find(pithp_replay *r) {
    r->segment_count = number(&r->schedule->tasks, 0);
    r->segments = pithp_allocate(r->tier.runtime, bytes_of(r));
    if (r->segments)
        memset(r->segments, 0, bytes_of(r));
    return r->segments != NULL;
}

/* ---- Graphs ---- */

static pithp_communicator *communicator(void *closure, const pithp_task *task) {
    const pithp_step *step = task->step;
    (void)closure;
    return ((const pithp_collective_params *)step->call->params)->group->communicator;
}

static bool
make_list(pith_scope *s, pithp_replay *r, const pithp_tasks *tasks, pithp_error *e) {
    pithp_stream *st = pithp_scope_stream(s);
    bool made = true;
    for (int64_t k = 0; k < tasks->count && made; k++) {
        const pithp_task *task = &tasks->list[k];
        if (is_of_host(task)) {
            for (int b = 0; b < task->body_count && made; b++)
                made = make_list(s, r, &task->bodies[b], e);
            continue;
        }
        const pithp_graph_plan plan = {
            .tasks = tasks,
            .first = k,
            .count = task->segment_count,
            .memory = r->memory->data,
            .gemm = pithp_schedule_gemm(r->schedule, r->memory->data),
            .moves = pithp_schedule_moves(r->schedule, r->memory->data),
            .communicator = communicator,
            .kernel = pithp_replay_kernel,
            .closure = r};
        PITH_ASSERT(task->segment);
        made = st->device->backend->graph_make(st, &plan, &r->segments[task->segment - 1],
                                               e) == PITH_OK;
        k += task->segment_count - 1;
    }
    return made;
}

bool pithp_segments_make(pith_scope *s, pithp_replay *r, pithp_error *e) {
    r->captured = make_list(s, r, &r->schedule->tasks, e);
    if (!r->captured)
        pithp_segments_drop(r);
    return r->captured;
}

void pithp_segments_drop(pithp_replay *r) {
    pithp_device *d = pithp_runtime_device(r->tier.runtime);
    for (int32_t k = 0; k < r->segment_count && r->segments; k++) {
        if (r->segments[k])
            d->backend->graph_free(d, r->segments[k]);
        r->segments[k] = NULL;
    }
    r->captured = false;
}

void pithp_segments_free(pithp_replay *r) {
    pithp_segments_drop(r);
    pithp_release(r->tier.runtime, (void *)(uintptr_t)r->segments,
                  r->segments ? bytes_of(r) : 0);
    r->segments = NULL;
    r->segment_count = 0;
}
