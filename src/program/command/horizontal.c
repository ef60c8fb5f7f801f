/* Horizontal fusion: one task does the same work on many arrays. Its arguments refer to
 * those of the single tasks, and a table gives each block of threads its array and the
 * number of the block within it. */
#include "program/command/builder.h"
#include "program/op/thresholds.h"
#include "program/plan/hazard.h"

#include <stdlib.h>
#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
typedef uint32_t u32;
typedef uint64_t u64;
#include "program/source/args/grouped.h"
#include "program/source/shell.h"

enum { WORD = sizeof(uint64_t) };

/* ---- Independent steps ---- */

static bool are_alike(const pithp_step *a, const pithp_step *b) {
    return pithp_kernel_alike(&(pithp_kernel_work){.step = a->fused},
                              &(pithp_kernel_work){.step = b->fused});
}

static bool is_candidate(const pithp_step *step) {
    return step->kind == PITHP_STEP_FUSED && !step->runs_in_consumer &&
           step->spec->count > 0;
}

/* Equal independent fused steps. */
static int64_t fused_steps(const pithp_making_frame *f, int64_t first) {
    const pithp_plan *plan = f->plan;
    const pithp_step *steps = plan->steps;
    int64_t end = first + 1;
    if (!f->stamps || !is_candidate(&steps[first]) || end >= plan->step_count ||
        !is_candidate(&steps[end]) || !are_alike(&steps[first], &steps[end]))
        return 1;
    for (end = first; end < plan->step_count && is_candidate(&steps[end]) &&
                      are_alike(&steps[first], &steps[end]) &&
                      pithp_step_is_independent(plan, f->stamps, first, end);
         end++)
        pithp_step_stamp(plan, f->stamps, end);
    if (end - first >= PITHP_HORIZONTAL_LEAST_STEPS)
        return end - first;
    for (int64_t k = first; k < end; k++) /* the next search begins within these steps */
        pithp_step_unstamp(plan, f->stamps, k);
    return 1;
}

/* Whether a run may write the result to an input's buffer, which other steps read. */
static bool reuses(const pithp_plan *plan, const pithp_step *step) {
    const pithp_place place = plan->places[step->call->result];
    return plan->reused && place.store == PITHP_IN_OUTPUT && plan->reused[place.at] >= 0;
}

/* Concurrent reductions of any kind, with the steps that are fused into them. */
static int64_t reducing_steps(const pithp_plan *plan, int64_t first) {
    int64_t count = 0, end = first;
    for (int64_t k = first; k < plan->steps[first].concurrent_until; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->kind == PITHP_STEP_FUSED)
            continue;
        if (reuses(plan, step))
            break;
        end = k + 1;
        count++;
    }
    return count >= PITHP_HORIZONTAL_LEAST_STEPS ? end - first : 1;
}

int64_t pithp_many_steps(const pithp_making_frame *f, int64_t first) {
    return f->plan->steps[first].concurrent_until ? reducing_steps(f->plan, first)
                                                  : fused_steps(f, first);
}

/* ---- Combined tasks ---- */

/* The combined form of a built-in kernel; -1: it has none. */
static int32_t builtin_many(int32_t number) {
    switch (number) {
        case PITHP_CUDA_reduce_short:
            return PITHP_CUDA_reduce_short_many;
        case PITHP_CUDA_reduce_team:
            return PITHP_CUDA_reduce_team_many;
        case PITHP_CUDA_reduce_lanes:
            return PITHP_CUDA_reduce_lanes_many;
        case PITHP_CUDA_reduce_tree:
            return PITHP_CUDA_reduce_tree_many;
        case PITHP_CUDA_find:
            return PITHP_CUDA_find_many;
        default:
            return -1;
    }
}

static bool can_join(const pithp_task *task) {
    return task->source == PITHP_CODE_FUSED ||
           (task->source == PITHP_CODE_BUILTIN && builtin_many(task->number) >= 0);
}

/* A task of one of the steps. */
typedef struct ranked {
    pithp_task task;
    int64_t place, number; /* among the tasks of its step, and among all */
} ranked;

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_work(const ranked *a, const ranked *b) {
    const int places = compare_numbers(a->place, b->place);
    const int sources = compare_numbers(a->task.source, b->task.source);
    return places    ? places
           : sources ? sources
                     : compare_numbers(a->task.number, b->task.number);
}

/* Equal work is adjacent. The first tasks of all steps precede the second ones. */
static int compare(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    const int work = compare_work(x, y);
    return work ? work : compare_numbers(x->number, y->number);
}

static int64_t blocks_of(const ranked *x) {
    return (x->task.threads + M_BLOCK - 1) / M_BLOCK;
}

/* Each word is a pair of 32-bit numbers: the offset of the arguments, and the block. */
static void
fill_table(pithp_scheduling *g, const ranked *all, int64_t count, int32_t at) {
    for (int64_t k = 0; k < count; k++)
        for (int64_t b = 0; b < blocks_of(&all[k]); b++) {
            const u32 pair[2] = {(u32)(all[k].task.args - all[0].task.args), (u32)b};
            memcpy(&g->to->words[at++], pair, sizeof pair);
        }
}

/* Turn the first task into one that does the work of all. */
static bool join(pithp_scheduling *g, ranked *all, int64_t count, int64_t blocks) {
    pithp_task *task = &all[0].task;
    const int32_t args = pithp_words(g, sizeof(m_many_args) / WORD);
    const int32_t table = args < 0 ? -1 : pithp_words(g, blocks);
    if (table < 0)
        return false;
    fill_table(g, all, count, table);
    const int32_t words = args + (int32_t)offsetof(m_many_args, words) / WORD;
    const int32_t of_blocks = args + (int32_t)offsetof(m_many_args, blocks) / WORD;
    const bool joined =
        pithp_own_address(g, words, task->args) && pithp_own_address(g, of_blocks, table);
    task->many = task->source == PITHP_CODE_FUSED;
    if (!task->many)
        task->number = builtin_many(task->number);
    g->to->many_count += task->many;
    task->args = args;
    task->threads = blocks * M_BLOCK;
    return joined;
}

/* Append sorted tasks of equal work to the list, as one task if possible. */
static bool add_work(pithp_scheduling *g, pithp_tasks *to, ranked *all, int64_t count) {
    int64_t blocks = 0, tasks = count;
    for (int64_t k = 0; k < count; k++)
        blocks += blocks_of(&all[k]);
    if (count > 1 && can_join(&all[0].task) && blocks <= INT32_MAX / 2) {
        if (!join(g, all, count, blocks))
            return false;
        tasks = 1;
    }
    for (int64_t k = 0; k < tasks; k++)
        to->list[to->count++] = all[k].task;
    return true;
}

/* Replace the tasks of the list from number `first` on by `all`. */
static bool add_all(pithp_scheduling *g,
                    pithp_making_frame *f,
                    int64_t first,
                    ranked *all,
                    int64_t count) {
    bool added = true;
    if (count)
        qsort(all, (size_t)count, sizeof *all, compare);
    f->tasks->count = first;
    for (int64_t k = 0, end; k < count && added; k = end) {
        for (end = k + 1; end < count && compare_work(&all[k], &all[end]) == 0; end++)
            ;
        added = add_work(g, f->tasks, &all[k], end - k);
    }
    return added;
}

static bool
schedule_one(pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    return step->kind == PITHP_STEP_FUSED ? pithp_schedule_fused(g, f, step)
           : step->producer >= 0          ? pithp_schedule_reduction(g, f, step)
                                          : pithp_schedule_call(g, f, step);
}

bool pithp_schedule_many(pithp_scheduling *g,
                         pithp_making_frame *f,
                         int64_t first,
                         int64_t steps) {
    const pithp_tasks *tasks = f->tasks;
    const int64_t begin = tasks->count;
    ranked *all = NULL;
    int64_t count = 0, room = 0;
    bool done = true;
    for (int64_t k = first; k < first + steps && done; k++) {
        const pithp_step *step = &f->plan->steps[k];
        const int64_t own = tasks->count;
        if (step->runs_in_consumer)
            continue;
        done = schedule_one(g, f, step) &&
               pithp_making_grow(g, &all, count, tasks->count - own, &room, sizeof *all);
        for (int64_t t = own; t < tasks->count && done; t++, count++)
            all[count] = (ranked){tasks->list[t], t - own, t};
    }
    done = done && add_all(g, f, begin, all, count);
    pithp_release(g->s->runtime, all, (size_t)room * sizeof *all);
    return done;
}
