/* Hazards between tasks (RAW, WAR, WAW): a task waits for those that touch the same
 * memory if one of the two writes. */
#include "program/command/builder.h"
#include "program/op/thresholds.h"

#include <stdlib.h>
#include <string.h>

void pithp_order_begin(pithp_making_frame *f) {
    f->order.first = (int32_t)f->tasks->count;
    f->order.now_count = 0;
    f->order.all = f->order.count > PITHP_HAZARD_TOUCHES;
}

void pithp_order_touch(pithp_making_frame *f, const pithp_touch *touch) {
    pithp_order *o = &f->order;
    if (touch->begin == touch->end)
        return;
    if (o->now_count == PITHP_COUNT(o->now))
        o->all = true;
    else
        o->now[o->now_count++] = *touch;
}

static bool wait_for(pithp_scheduling *g, pithp_order *o, int32_t task) {
    if (!pithp_making_grow(g, &o->waits_for, o->waits_count, 1, &o->waits_room,
                           sizeof *o->waits_for))
        return false;
    o->waits_for[o->waits_count++] = task;
    return true;
}

static int compare(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The tasks gathered become those that `task` waits for. */
static bool set_edges(pithp_scheduling *g, pithp_making_frame *f, pithp_task *task) {
    pithp_order *o = &f->order;
    pithp_tasks *tasks = f->tasks;
    if (!pithp_making_grow(g, &tasks->edges, tasks->edge_count, o->waits_count,
                           &tasks->edge_room, sizeof *tasks->edges))
        return false;
    if (o->waits_count)
        qsort(o->waits_for, (size_t)o->waits_count, sizeof *o->waits_for, compare);
    task->first_after = (int32_t)tasks->edge_count;
    for (int64_t k = 0; k < o->waits_count; k++)
        if (k == 0 || o->waits_for[k] != o->waits_for[k - 1])
            tasks->edges[tasks->edge_count++] = o->waits_for[k];
    task->after_count = (int32_t)(tasks->edge_count - task->first_after);
    o->waits_count = 0;
    return true;
}

/* Tasks since the barrier without a waiting task. */
static bool wait_for_all(pithp_scheduling *g, pithp_making_frame *f) {
    const pithp_tasks *tasks = f->tasks;
    const int32_t from = f->order.barrier < 0 ? 0 : f->order.barrier;
    const size_t bytes = (size_t)(f->order.first - from) + 1;
    bool *awaited = pithp_allocate(g->s->runtime, bytes);
    if (!awaited)
        return pithp_making_fail(g, PITH_E_MEMORY, "out of memory");
    memset(awaited, 0, bytes);
    for (int32_t t = from; t < f->order.first; t++)
        for (int32_t k = 0; k < tasks->list[t].after_count; k++) {
            const int32_t other = tasks->edges[tasks->list[t].first_after + k];
            if (other >= from)
                awaited[other - from] = true;
        }
    bool done = true;
    for (int32_t t = from; t < f->order.first && done; t++)
        done = awaited[t - from] || wait_for(g, &f->order, t);
    pithp_release(g->s->runtime, awaited, bytes);
    return done;
}

/* The tasks of a step but the first wait for the one before. */
static bool chain(pithp_scheduling *g, pithp_making_frame *f) {
    for (int64_t t = f->order.first + 1; t < f->tasks->count; t++)
        if (!wait_for(g, &f->order, (int32_t)t - 1) ||
            !set_edges(g, f, &f->tasks->list[t]))
            return false;
    return true;
}

static bool meet(const pithp_touch *a, const pithp_touch *b) {
    return a->begin < b->end && b->begin < a->end && (a->writes || b->writes);
}

static bool wait_for_memory(pithp_scheduling *g, pithp_making_frame *f) {
    pithp_order *o = &f->order;
    if (o->barrier >= 0 && !wait_for(g, o, o->barrier))
        return false;
    int64_t kept = 0;
    for (int64_t k = 0; k < o->count; k++) {
        const pithp_touch *before = &o->touches[k];
        bool meets = false, covered = false;
        for (int n = 0; n < o->now_count; n++) {
            const pithp_touch *now = &o->now[n];
            meets |= meet(before, now);
            covered |=
                now->writes && now->begin <= before->begin && before->end <= now->end;
        }
        if (meets && !wait_for(g, o, before->task))
            return false;
        if (!covered)
            o->touches[kept++] = *before;
    }
    o->count = kept;
    return true;
}

bool pithp_order_end(pithp_scheduling *g, pithp_making_frame *f) {
    pithp_order *o = &f->order;
    if (o->first == f->tasks->count)
        return true;
    if (o->all)
        return pithp_order_barrier(g, f);
    if (!wait_for_memory(g, f) || !set_edges(g, f, &f->tasks->list[o->first]) ||
        !chain(g, f) ||
        !pithp_making_grow(g, &o->touches, o->count, o->now_count, &o->room,
                           sizeof *o->touches))
        return false;
    for (int n = 0; n < o->now_count; n++) {
        o->now[n].task = (int32_t)f->tasks->count - 1;
        o->touches[o->count++] = o->now[n];
    }
    return true;
}

bool pithp_order_barrier(pithp_scheduling *g, pithp_making_frame *f) {
    pithp_order *o = &f->order;
    if (o->first == f->tasks->count)
        return true;
    if (!wait_for_all(g, f) || !set_edges(g, f, &f->tasks->list[o->first]) ||
        !chain(g, f))
        return false;
    o->barrier = (int32_t)f->tasks->count - 1;
    o->count = 0;
    return true;
}
