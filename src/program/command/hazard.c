/* Hazards between tasks (read after write, write after read, write after write): a task
 * waits for those that access the same memory if one of the two writes.
 *
 * Each buffer has the last task that wrote it and the tasks that read it since then. The
 * workspace is divided into ranges for which these are the same. */
#include "program/command/builder.h"
#include "program/op/thresholds.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

enum { WORKSPACE, FIRST_BUFFER };

static size_t buffers_bytes(const pithp_order *o) {
    return (size_t)o->buffer_count * sizeof *o->buffers;
}

bool pithp_order_open(pithp_scheduling *g, pithp_making_frame *f, int32_t barrier) {
    pithp_order *o = &f->order;
    o->barrier = barrier;
    /* the workspace of products, the memory of moves */
    o->buffer_count = pithp_making_slots(f->plan) + 2;
    o->buffers = pithp_allocate(g->s->runtime, buffers_bytes(o));
    if (!o->buffers)
        return pithp_making_fail(g, PITH_E_MEMORY, "out of memory: %zu bytes",
                                 buffers_bytes(o));
    memset(o->buffers, -1, buffers_bytes(o));
    return true;
}

void pithp_order_close(pith_runtime *rt, pithp_order *o) {
    pithp_release(rt, o->buffers, o->buffers ? buffers_bytes(o) : 0);
    pithp_release(rt, o->ranges, (size_t)o->range_room * sizeof *o->ranges);
    pithp_release(rt, o->readers, (size_t)o->reader_room * sizeof *o->readers);
    pithp_release(rt, o->waits_for, (size_t)o->waits_room * sizeof *o->waits_for);
}

void pithp_order_begin(pithp_making_frame *f) {
    f->order.first = (int32_t)f->tasks->count;
    f->order.now_count = 0;
    f->order.all = false;
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

/* The first range that ends after an offset. */
static int64_t find_range(const pithp_order *o, uint64_t offset) {
    int64_t low = 0, high = o->range_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (o->ranges[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Replace the ranges from number `first` to `end` by one; there is room for it. */
static void
replace(pithp_order *o, int64_t first, int64_t end, pithp_workspace_range by) {
    memmove(o->ranges + first + 1, o->ranges + end,
            (size_t)(o->range_count - end) * sizeof *o->ranges);
    o->ranges[first] = by;
    o->range_count += first + 1 - end;
}

/* Divide a range in two; there is room for it. */
static void divide(pithp_order *o, int64_t k, uint64_t at) {
    pithp_workspace_range before = o->ranges[k];
    before.end = at;
    replace(o, k, k, before);
    o->ranges[k + 1].begin = at;
}

static bool add_reader(pithp_scheduling *g, pithp_order *o, int32_t *list, int32_t task) {
    if (!pithp_making_grow(g, &o->readers, o->reader_count, 1, &o->reader_room,
                           sizeof *o->readers))
        return false;
    o->readers[o->reader_count] = (pithp_reader){task, *list};
    *list = (int32_t)o->reader_count++;
    return true;
}

static bool
read_workspace(pithp_scheduling *g, pithp_order *o, const pithp_touch *t, int32_t task) {
    uint64_t at = t->begin;
    for (int64_t k = find_range(o, at); at < t->end; at = o->ranges[k++].end) {
        if (!pithp_making_grow(g, &o->ranges, o->range_count, 2, &o->range_room,
                               sizeof *o->ranges))
            return false;
        if (k == o->range_count || o->ranges[k].begin > at) { /* not accessed yet */
            const uint64_t next = k < o->range_count ? o->ranges[k].begin : t->end;
            replace(o, k, k,
                    (pithp_workspace_range){at, next < t->end ? next : t->end, {-1, -1}});
        }
        if (o->ranges[k].begin < at)
            divide(o, k++, at);
        if (o->ranges[k].end > t->end)
            divide(o, k, t->end);
        if (!add_reader(g, o, &o->ranges[k].last.readers, task))
            return false;
    }
    return true;
}

static bool
write_workspace(pithp_scheduling *g, pithp_order *o, const pithp_touch *t, int32_t task) {
    if (!pithp_making_grow(g, &o->ranges, o->range_count, 2, &o->range_room,
                           sizeof *o->ranges))
        return false;
    int64_t first = find_range(o, t->begin), end;
    if (first < o->range_count && o->ranges[first].begin < t->begin)
        divide(o, first++, t->begin);
    for (end = first; end < o->range_count && o->ranges[end].end <= t->end;)
        end++;
    if (end < o->range_count && o->ranges[end].begin < t->end)
        o->ranges[end].begin = t->end;
    replace(o, first, end, (pithp_workspace_range){t->begin, t->end, {task, -1}});
    return true;
}

/* Record the accesses of the current step, those that write last. */
static bool record(pithp_scheduling *g, pithp_order *o, int32_t task) {
    bool done = true;
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < o->now_count && done; n++) {
            const pithp_touch *t = &o->now[n];
            pithp_accessed *buffer = &o->buffers[t->buffer];
            if (t->writes != (pass == 1))
                continue;
            if (t->buffer == WORKSPACE)
                done = (t->writes ? write_workspace : read_workspace)(g, o, t, task);
            else if (t->writes)
                *buffer = (pithp_accessed){task, -1};
            else
                done = add_reader(g, o, &buffer->readers, task);
        }
    return done;
}

/* ---- Edges ---- */

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

/* Make `task` wait for the collected tasks. */
static bool set_edges(pithp_scheduling *g, pithp_making_frame *f, pithp_task *task) {
    pithp_order *o = &f->order;
    pithp_tasks *tasks = f->tasks;
    if (!pithp_making_grow(g, &tasks->edges, tasks->edge_count, o->waits_count,
                           &tasks->edge_room, sizeof *tasks->edges))
        return false;
    if (o->waits_count > 1)
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

/* Make each task of a step, except the first, wait for the one before it. */
static bool chain(pithp_scheduling *g, pithp_making_frame *f) {
    for (int64_t t = f->order.first + 1; t < f->tasks->count; t++)
        if (!wait_for(g, &f->order, (int32_t)t - 1) ||
            !set_edges(g, f, &f->tasks->list[t]))
            return false;
    return true;
}

/* Wait for the tasks since the barrier that wrote memory, or read it if it is to be
 * written. Readers are listed from the latest on. */
static bool wait_for_accesses(pithp_scheduling *g,
                              pithp_order *o,
                              const pithp_accessed *last,
                              bool writes) {
    bool done = last->writer <= o->barrier || wait_for(g, o, last->writer);
    for (int32_t r = writes ? last->readers : -1;
         r >= 0 && o->readers[r].task > o->barrier && done; r = o->readers[r].before)
        done = wait_for(g, o, o->readers[r].task);
    return done;
}

static bool wait_for_memory(pithp_scheduling *g, pithp_order *o) {
    bool done = o->barrier < 0 || wait_for(g, o, o->barrier);
    for (int n = 0; n < o->now_count && done; n++) {
        const pithp_touch *t = &o->now[n];
        if (t->buffer != WORKSPACE) {
            done = wait_for_accesses(g, o, &o->buffers[t->buffer], t->writes);
            continue;
        }
        for (int64_t k = find_range(o, t->begin);
             k < o->range_count && o->ranges[k].begin < t->end && done; k++)
            done = wait_for_accesses(g, o, &o->ranges[k].last, t->writes);
    }
    return done;
}

bool pithp_order_end(pithp_scheduling *g, pithp_making_frame *f) {
    pithp_order *o = &f->order;
    if (o->first == f->tasks->count)
        return true;
    if (!o->all && !wait_for_memory(g, o))
        return false;
    if (o->waits_count > PITHP_HAZARD_WAITS) {
        o->waits_count = 0;
        o->all = true;
    }
    if (o->all)
        return pithp_order_barrier(g, f);
    return set_edges(g, f, &f->tasks->list[o->first]) && chain(g, f) &&
           record(g, o, (int32_t)f->tasks->count - 1);
}

bool pithp_order_barrier(pithp_scheduling *g, pithp_making_frame *f) {
    pithp_order *o = &f->order;
    if (o->first == f->tasks->count)
        return true;
    if (!wait_for_all(g, f) || !set_edges(g, f, &f->tasks->list[o->first]) ||
        !chain(g, f))
        return false;
    o->barrier = (int32_t)f->tasks->count - 1;
    o->range_count = 0;
    return true;
}
