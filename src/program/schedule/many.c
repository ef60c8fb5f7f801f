/* Equal work on many leaves as one task: its arguments name those of each, and a table
 * which block of threads works for which. */
#include "program/emit/batch.h"
#include "program/schedule/making.h"

#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
typedef uint32_t u32;
#include "program/emit/many_args.h"
#include "program/emit/shell.h"

enum { LEAST_STEPS = 4, WORD = sizeof(uint64_t) };

static bool are_alike(const pithp_step *a, const pithp_step *b) {
    return pithp_kernel_alike(&(pithp_kernel_work){.step = a->fused},
                              &(pithp_kernel_work){.step = b->fused});
}

static bool is_candidate(const pithp_step *step) {
    return !step->call && !step->is_source && step->spec->count > 0;
}

int64_t pithp_many_steps(pithp_scheduling *g, const pithp_plan *plan, int64_t first) {
    const pithp_step *steps = plan->steps;
    int64_t end = first + 1;
    if (!is_candidate(&steps[first]) || end >= plan->step_count ||
        !is_candidate(&steps[end]) || !are_alike(&steps[first], &steps[end]))
        return 1;
    const size_t bytes =
        (size_t)(plan->program->input_count + plan->program->output_count + 1) *
        sizeof(pithp_stamps);
    pithp_stamps *memory = pithp_allocate(g->s->runtime, bytes);
    if (!memory)
        return 1; /* they run one by one */
    memset(memory, 0, bytes);
    for (end = first; end < plan->step_count && is_candidate(&steps[end]) &&
                      are_alike(&steps[first], &steps[end]) &&
                      pithp_step_is_independent(plan, memory, first, end);
         end++)
        pithp_step_stamp(plan, memory, end);
    pithp_release(g->s->runtime, memory, bytes);
    return end - first >= LEAST_STEPS ? end - first : 1;
}

static int64_t blocks_of(const pithp_task *task) {
    return (task->threads + M_BLOCK - 1) / M_BLOCK;
}

/* Words as they are in memory: pairs of a launch and its block. */
static void
fill_table(pithp_scheduling *g, const pithp_task *tasks, int64_t count, int32_t at) {
    for (int64_t k = 0; k < count; k++)
        for (int64_t b = 0; b < blocks_of(&tasks[k]); b++) {
            const u32 pair[2] = {(u32)k, (u32)b};
            memcpy(&g->to->words[at++], pair, sizeof pair);
        }
}

bool pithp_many_join(pithp_scheduling *g, pithp_making_frame *f, int64_t first) {
    const int64_t count = f->tasks->count - first;
    pithp_task *tasks = &f->tasks->list[first];
    int64_t blocks = 0;
    bool regular = count > 1;
    for (int64_t k = 0; k < count && regular; k++) {
        regular = tasks[k].args - tasks[0].args == k * (tasks[1].args - tasks[0].args);
        blocks += blocks_of(&tasks[k]);
    }
    if (!regular || blocks > INT32_MAX / 2)
        return true; /* they stay as they are, in one chain */
    const int64_t stride = (int64_t)(tasks[1].args - tasks[0].args) * WORD;
    const int32_t args = pithp_words(g, (sizeof(m_many_args) + WORD - 1) / WORD);
    const int32_t table = args < 0 ? -1 : pithp_words(g, blocks);
    if (table < 0)
        return false;
    const m_many_args given = {.stride = stride};
    memcpy(&g->to->words[args], &given, sizeof given);
    fill_table(g, tasks, count, table);
    const int32_t own = tasks[0].args;
    tasks[0].many = true;
    tasks[0].args = args;
    tasks[0].threads = blocks * M_BLOCK;
    f->tasks->count = first + 1;
    g->to->many_count++;
    return pithp_own_address(g, args + (int32_t)offsetof(m_many_args, first) / WORD,
                             own) &&
           pithp_own_address(g, args + (int32_t)offsetof(m_many_args, blocks) / WORD,
                             table);
}
