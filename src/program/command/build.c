/* Command buffer construction: the steps of a plan as tasks. */
#include "base/format.h"
#include "program/command/builder.h"
#include "program/emit/emit.h"
#include "program/op/kernel_call.h"

#include <stdarg.h>
#include <string.h>

/* ---- Lists ---- */

bool pithp_making_fail(pithp_scheduling *g, pith_status code, const char *format, ...) {
    char text[PITHP_REFUSAL_BYTES];
    va_list args;
    va_start(args, format);
    pithp_format_v(text, sizeof text, format, args);
    va_end(args);
    pithp_error_set(g->e, code, NULL, NULL, "%s", text);
    return false;
}

bool pithp_making_grow(pithp_scheduling *g,
                       void *list,
                       int64_t count,
                       int64_t more,
                       int64_t *room,
                       size_t each) {
    void *old;
    memcpy(&old, list, sizeof old); /* a pointer of any type */
    if (count + more <= *room)
        return true;
    int64_t want = *room ? 2 * *room : 16;
    want = want < count + more ? count + more : want;
    void *grown =
        pithp_reallocate(g->s->runtime, old, (size_t)*room * each, (size_t)want * each);
    if (!grown)
        return pithp_making_fail(g, PITH_E_MEMORY, "out of memory: %zu bytes",
                                 (size_t)want * each);
    memcpy(list, &grown, sizeof grown);
    *room = want;
    return true;
}

int32_t pithp_words(pithp_scheduling *g, int64_t count) {
    pithp_schedule *to = g->to;
    if (to->word_count + count > INT32_MAX) {
        pithp_making_fail(g, PITH_E_UNSUPPORTED, "the program is too large");
        return -1;
    }
    if (!pithp_making_grow(g, &to->words, to->word_count, count, &to->word_room,
                           sizeof *to->words))
        return -1;
    memset(to->words + to->word_count, 0, (size_t)count * sizeof *to->words);
    to->word_count += count;
    return (int32_t)(to->word_count - count);
}

bool pithp_region_add(pithp_scheduling *g,
                      int32_t word,
                      uint64_t bytes,
                      uint64_t alignment) {
    enum { GAP = 8192 };
    if (!pithp_making_grow(g, &g->regions, g->region_count, 1, &g->region_room,
                           sizeof *g->regions))
        return false;
    const uint64_t begin = (g->space + GAP - 1) / GAP * GAP + GAP;
    if (bytes > (uint64_t)1 << 56 || begin + bytes > (uint64_t)1 << 57)
        return pithp_making_fail(g, PITH_E_UNSUPPORTED, "the program is too large");
    g->regions[g->region_count++] = (pithp_region){begin, bytes, alignment, word};
    g->space = begin + bytes;
    return true;
}

bool pithp_write_add(pithp_scheduling *g, pithp_writes *to, pithp_cuda_write write) {
    if (!pithp_making_grow(g, &to->list, to->count, 1, &to->room, sizeof *to->list))
        return false;
    to->list[to->count++] = write;
    return true;
}

/* ---- Accesses of a step ---- */

void pithp_touch_value(pithp_making_frame *f, pithp_value v, bool writes) {
    const pithp_plan *plan = f->plan;
    const pithp_place place = plan->places[v];
    pithp_touch touch = {.end = pithp_value_spec(plan->program, v)->bytes,
                         .writes = writes};
    switch (place.store) {
        case PITHP_IN_INPUT:
            touch.buffer = 1 + place.at;
            break;
        case PITHP_IN_OUTPUT:
            touch.buffer = 1 + plan->program->input_count + place.at;
            if (plan->reused && plan->reused[place.at] >= 0)
                /* a run may write it to that input's buffer */
                touch.buffer = 1 + plan->reused[place.at];
            break;
        case PITHP_IN_WORKSPACE:
            touch.begin = (uint64_t)place.at;
            touch.end += touch.begin;
            break;
        case PITHP_IN_CONSTANT: /* never written */
        case PITHP_IN_LITERALS:
        case PITHP_FORWARDED: /* not in a scheduled plan */
        case PITHP_NOWHERE:
            return;
    }
    pithp_order_touch(f, &touch);
}

void pithp_touch_temporary(pithp_making_frame *f, const pithp_step *step) {
    const uint64_t begin = (uint64_t)step->temporary;
    pithp_order_touch(f, &(pithp_touch){0, begin, begin + step->temporary_bytes, true});
}

/* Workspace of the library for a step's product; 0: it is not a library call. */
static size_t step_gemm_bytes(const pithp_scheduling *g, const pithp_step *step) {
    if (step->call->primitive != PITHP_OP_DOT_GENERAL)
        return 0;
    const pithp_call call =
        pithp_call_of(step->call->primitive, step->call->operand_count, step->specs,
                      step->call->params);
    return pithp_cuda_gemm_bytes(&call, g->gemm);
}

/* Reserve the workspace that all library products share: a region, and the word for its
 * address. */
static bool need_gemm(pithp_scheduling *g, size_t bytes) {
    pithp_schedule *to = g->to;
    to->gemm_bytes = bytes > to->gemm_bytes ? bytes : to->gemm_bytes;
    if (bytes == 0 || g->gemm_region >= 0)
        return true;
    to->gemm_word = pithp_words(g, 1);
    g->gemm_region = g->region_count;
    return to->gemm_word >= 0 &&
           pithp_region_add(g, to->gemm_word, (uint64_t)1 << 40, PITHP_ALIGNMENT);
}

static void
touch_call(const pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    for (int k = 0; k < i->operand_count; k++)
        pithp_touch_value(f, pithp_operands(f->plan->program, i)[k], false);
    for (int k = 0; k < i->result_count; k++)
        pithp_touch_value(f, i->result + k, true);
    pithp_touch_temporary(f, step);
    if (step_gemm_bytes(g, step)) /* one workspace: products run in order */
        pithp_order_touch(f, &(pithp_touch){pithp_making_slots(f->plan), 0, 1, true});
}

/* ---- Calls ---- */

/* The data of a lowering. */
typedef struct work {
    const pithp_making_frame *f;
    const pithp_step *step;
} work;

static pith_status zero_reports(const pithp_sink *sink, void *reports, int64_t count) {
    const int64_t words = sizeof(pith_report) / sizeof(uint64_t);
    return count ? pithp_cuda_encoder.fill(sink, "report", reports, sizeof(uint64_t), 0,
                                           words * count)
                 : PITH_OK;
}

static void *temporary_address(const pithp_scheduling *g, const work *w) {
    return (void *)(uintptr_t)(g->base + g->regions[w->f->region].begin +
                               (uint64_t)w->step->temporary);
}

static pith_status
lower_call(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const pithp_step *step = w->step;
    const pithp_instruction *i = step->call;
    const pithp_program *p = w->f->plan->program;
    pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    const size_t bytes = ((size_t)i->operand_count + 1) * sizeof(void *);
    const void **operands = pithp_allocate(g->s->runtime, bytes);
    if (!operands)
        return pithp_fail_memory(g->s, bytes);
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = pithp_false_address(g, w->f, pithp_operands(p, i)[k]);
    pithp_memory memory = {.operands = operands,
                           .result = pithp_false_address(g, w->f, i->result),
                           .temporary = temporary_address(g, w)};
    pith_status rc = PITH_OK;
    if (step_gemm_bytes(g, step))
        memory.gemm = (void *)(uintptr_t)(g->base + g->regions[g->gemm_region].begin);
    if (i->primitive == PITHP_OP_CHECKED) {
        call = pithp_checked_call(&call);
        memory.report = pithp_false_address(g, w->f, i->result + 1);
        rc = zero_reports(sink, memory.report, 1);
    }
    if (rc == PITH_OK)
        rc = pithp_lower_cuda(&call, step->spec, &memory, sink);
    pithp_release(g->s->runtime, operands, bytes);
    return rc;
}

bool pithp_schedule_call(pithp_scheduling *g,
                         pithp_making_frame *f,
                         const pithp_step *step) {
    const work w = {f, step};
    const pithp_call call =
        pithp_call_of(step->call->primitive, step->call->operand_count, step->specs,
                      step->call->params);
    if (step->call->primitive != PITHP_OP_CHECKED && pithp_call_reports(&call))
        return pithp_making_fail(g, PITH_E_UNSUPPORTED,
                                 "%s reports to the scope that calls it",
                                 pithp_ops[call.primitive].name);
    if (!need_gemm(g, step_gemm_bytes(g, step)))
        return false;
    touch_call(g, f, step);
    return pithp_record(g, f, &f->writes, lower_call, &w);
}

/* ---- Steps of the host: messages and collectives ---- */

/* The addresses of operands, results and workspace are recorded as arguments of a kernel,
 * so that they are relocated as all others. */
static pith_status
lower_host(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const pithp_instruction *i = w->step->call;
    const size_t bytes = pithp_task_host_bytes(i);
    const void **at = pithp_allocate(g->s->runtime, bytes);
    if (!at)
        return pithp_fail_memory(g->s, bytes);
    for (int k = 0; k < i->operand_count; k++)
        at[k] = pithp_false_address(g, w->f, pithp_operands(w->f->plan->program, i)[k]);
    for (int k = 0; k < i->result_count; k++)
        at[i->operand_count + k] = pithp_false_address(g, w->f, i->result + k);
    at[i->operand_count + i->result_count] =
        w->step->temporary_bytes ? temporary_address(g, w) : NULL;
    const pithp_launch launch = {
        .name = "host", .args = at, .args_bytes = bytes, .count = 1};
    const pith_status rc =
        pithp_record_launch(sink, PITHP_CODE_BUILTIN, 0, NULL, &launch);
    pithp_release(g->s->runtime, at, bytes);
    return rc;
}

static bool
schedule_host(pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    const work w = {f, step};
    touch_call(g, f, step);
    if (!pithp_record(g, f, &f->writes, lower_host, &w))
        return false;
    pithp_task *task = &f->tasks->list[f->tasks->count - 1];
    task->kind = PITHP_TASK_HOST;
    task->step = step;
    return true;
}

/* ---- Users' kernels ---- */

static pith_status
copy_bytes(const pithp_sink *sink, void *to, const void *from, size_t n) {
    const pithp_move move = {.to = to,
                             .from = from,
                             .size = 1,
                             .rank = 1,
                             .shape = {(int64_t)n},
                             .to_stride = {1},
                             .from_stride = {1}};
    return n ? pithp_cuda_encoder.move(sink, "copy", &move, (int64_t)n, false) : PITH_OK;
}

/* Fill an out argument, copy an inout argument. */
static pith_status prepare(const pithp_scheduling *g,
                           const pithp_sink *sink,
                           const pithp_kernel_binding *b,
                           int argument,
                           void *made,
                           const void *given) {
    const pith_spec *spec = b->specs[argument];
    const int64_t times = pithp_kernel_times(b, argument);
    if (b->kernel->args[argument].role == PITH_ROLE_INOUT)
        return copy_bytes(sink, made, given, spec->bytes * (size_t)times);
    uint64_t pattern;
    const size_t width = pithp_kernel_fill(g->s, b, argument, &pattern);
    return width ? pithp_cuda_encoder.fill(sink, "fill", made, (int32_t)width, pattern,
                                           spec->count * times)
                 : g->s->error.code;
}

static pith_status
lower_kernel(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const pithp_kernel_binding *b = &w->step->kernel->binding;
    const pithp_value *operand = pithp_operands(w->f->plan->program, w->step->call);
    pithp_value result = w->step->call->result;
    void *data[PITH_KERNEL_MAX_ARGS + 1] = {0};
    pith_status rc = PITH_OK;
    for (int i = 0; i < b->kernel->arg_count && rc == PITH_OK; i++) {
        const pith_role role = b->kernel->args[i].role;
        void *given =
            pithp_kernel_is_given(role) ? pithp_false_address(g, w->f, *operand++) : NULL;
        data[i] =
            pithp_kernel_is_made(role) ? pithp_false_address(g, w->f, result++) : given;
        if (pithp_kernel_is_made(role))
            rc = prepare(g, sink, b, i, data[i], given);
    }
    if (b->masked)
        data[b->kernel->arg_count] = pithp_false_address(g, w->f, *operand);
    void *report = pithp_false_address(g, w->f, result);
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES];
    pithp_launch launch;
    if (rc == PITH_OK)
        rc = zero_reports(sink, report, pithp_kernel_reports(b));
    if (rc == PITH_OK)
        rc = pithp_kernel_pack(b, data, report, args, &launch, g->e);
    return rc == PITH_OK
               ? pithp_record_launch(sink, PITHP_CODE_USER, 0, b->kernel, &launch)
               : rc;
}

static bool
schedule_kernel(pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    const work w = {f, step};
    touch_call(g, f, step);
    return pithp_record(g, f, &f->writes, lower_kernel, &w);
}

/* ---- Copies ---- */

static pith_status
lower_copy(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const pithp_copying *c = what;
    const void *from = c->value >= 0 ? pithp_false_address(g, c->f, c->value)
                                     : (const void *)(uintptr_t)(g->base + c->from);
    return copy_bytes(sink, (void *)(uintptr_t)(g->base + c->to), from, c->bytes);
}

bool pithp_schedule_copy(pithp_scheduling *g,
                         pithp_making_frame *f,
                         pithp_writes *writes,
                         const pithp_copying *copying) {
    return pithp_record(g, f, writes, lower_copy, copying);
}

/* ---- All ---- */

/* Assign the tasks from number `first` on to the profile entries of these steps. */
static void
note_entries(const pithp_making_frame *f, int64_t first, int64_t step, int64_t steps) {
    bool begun = false;
    for (int64_t t = first; t < f->tasks->count; t++) {
        pithp_task *task = &f->tasks->list[t];
        task->entry = f->plan->first_entry + step;
        task->entry_count = steps;
        task->begins = !begun && (task->kind != PITHP_TASK_KERNEL || task->threads > 0);
        begun |= task->begins;
    }
}

static bool
schedule_other(pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    return pithp_step_needs(step->call) & PITHP_NEEDS_HOST ? schedule_host(g, f, step)
           : pithp_is_collective(step->call->primitive)
               ? pithp_schedule_collective(g, f, step)
               : pithp_schedule_call(g, f, step);
}

bool pithp_schedule_steps(pithp_scheduling *g, pithp_making_frame *f) {
    for (int64_t k = 0, steps; k < f->plan->step_count; k += steps) {
        const pithp_step *step = &f->plan->steps[k];
        const int64_t first = f->tasks->count;
        steps = pithp_many_steps(f, k);
        if (steps == 1 && step->runs_in_consumer)
            continue;
        pithp_order_begin(f);
        if (step->kind == PITHP_STEP_CONTROL) {
            if (!pithp_schedule_control(g, f, step))
                return false;
            note_entries(f, first, k, 1);
            continue;
        }
        const bool done = steps > 1 ? pithp_schedule_many(g, f, k, steps)
                          : step->kind == PITHP_STEP_FUSED
                              ? pithp_schedule_fused(g, f, step)
                          : step->producer >= 0 ? pithp_schedule_reduction(g, f, step)
                          : step->kind == PITHP_STEP_KERNEL ? schedule_kernel(g, f, step)
                                                            : schedule_other(g, f, step);
        if (!done || !pithp_order_end(g, f))
            return false;
        note_entries(f, first, k, steps);
    }
    return true;
}

static void count_tasks(pithp_schedule *to, const pithp_tasks *tasks) {
    to->task_count += tasks->count;
    for (int64_t k = 0; k < tasks->count; k++) {
        to->control_count += pithp_task_controls(&tasks->list[k]);
        to->gemm_count += tasks->list[k].kind == PITHP_TASK_GEMM;
        to->host_count += tasks->list[k].kind == PITHP_TASK_HOST;
        to->driven_count += pithp_task_controls(&tasks->list[k]) && tasks->list[k].driven;
        for (int b = 0; b < tasks->list[k].body_count; b++)
            count_tasks(to, &tasks->list[k].bodies[b]);
    }
}

static bool make(pithp_scheduling *g, const pithp_plan *plan) {
    const pithp_program *p = plan->program;
    const int64_t count = pithp_making_slots(plan);
    const size_t bytes = (size_t)count * sizeof(uint64_t);
    uint64_t *alignments = pithp_allocate(g->s->runtime, bytes);
    pithp_making_frame f;
    if (!alignments || pithp_words(g, PITHP_WORD_WORKSPACE) < 0) {
        pithp_release(g->s->runtime, alignments, bytes);
        return pithp_making_fail(g, PITH_E_MEMORY, "out of memory: %zu bytes", bytes);
    }
    /* an input may be part of another array, so it has the alignment of its dtype */
    for (int64_t k = 0; k + 1 < count; k++)
        alignments[k] = k < p->input_count
                            ? pith_dtype_size(pithp_value_spec(p, p->inputs[k])->dtype)
                            : PITHP_ALIGNMENT;
    g->to->table_count = count;
    const pithp_making_interface in = {.alignments = alignments};
    bool done = pithp_making_open(g, &f, plan, &g->to->tasks, &in, NULL) &&
                pithp_schedule_steps(g, &f);
    done &= pithp_making_close(g, &f);
    pithp_release(g->s->runtime, alignments, bytes);
    count_tasks(g->to, &g->to->tasks);
    return done;
}

pithp_schedule *pithp_schedule_make(pith_scope *s,
                                    const pithp_plan *plan,
                                    pithp_gemm_use gemm,
                                    pithp_error *e) {
    pith_runtime *rt = s->runtime;
    pithp_schedule *to = pithp_allocate(rt, sizeof *to);
    pithp_scheduling g = {.s = s,
                          .to = to,
                          .e = e,
                          .base = (uint64_t)1 << 60,
                          .gemm = gemm,
                          .gemm_region = -1,
                          .move_region = -1};
    e->code = PITH_OK;
    if (!to) {
        pithp_making_fail(&g, PITH_E_MEMORY, "out of memory: %zu bytes", sizeof *to);
        return NULL;
    }
    memset(to, 0, sizeof *to);
    to->runtime = rt;
    pithp_debug_prefix(to->prefix, plan);
    const bool made = make(&g, plan);
    pithp_release(rt, g.regions, (size_t)g.region_room * sizeof *g.regions);
    pithp_hash_index_free(rt, &g.functions);
    if (made)
        return to;
    if (e->code == PITH_OK)
        pithp_making_fail(&g, PITH_E_INTERNAL, "no schedule was made");
    pithp_schedule_free(to);
    return NULL;
}

void pithp_tasks_free(pith_runtime *rt, pithp_tasks *tasks) {
    for (int64_t k = 0; k < tasks->count; k++) {
        pithp_task *task = &tasks->list[k];
        for (int b = 0; b < task->body_count; b++)
            pithp_tasks_free(rt, &task->bodies[b]);
        pithp_release(rt, task->gemm, sizeof *task->gemm);
        pithp_release(rt, task->transfer, task->transfer ? sizeof *task->transfer : 0);
        pithp_release(rt, task->bodies, (size_t)task->body_count * sizeof *task->bodies);
    }
    pithp_release(rt, tasks->list, (size_t)tasks->room * sizeof *tasks->list);
    pithp_release(rt, tasks->edges, (size_t)tasks->edge_room * sizeof *tasks->edges);
}

void pithp_schedule_free(pithp_schedule *schedule) {
    if (!schedule)
        return;
    pith_runtime *rt = schedule->runtime;
    pithp_tasks_free(rt, &schedule->tasks);
    pithp_release(rt, schedule->words,
                  (size_t)schedule->word_room * sizeof *schedule->words);
    pithp_release(rt, schedule->writes,
                  (size_t)schedule->write_room * sizeof *schedule->writes);
    pithp_release(rt, schedule->own, (size_t)schedule->own_room * sizeof *schedule->own);
    pithp_release(rt, (void *)(uintptr_t)schedule->fused,
                  (size_t)schedule->fused_room * sizeof *schedule->fused);
    pithp_release(rt, schedule, sizeof *schedule);
}

/* ---- Costs ---- */

static int64_t launches_of(const pithp_tasks *tasks) {
    int64_t count = 0;
    for (int64_t k = 0; k < tasks->count; k++) {
        const pithp_task *task = &tasks->list[k];
        int64_t own = !pithp_task_controls(task) && task->kind != PITHP_TASK_HOST &&
                      (task->kind != PITHP_TASK_KERNEL || task->threads > 0);
        for (int b = 0; b < task->body_count; b++) {
            const int64_t body = launches_of(&task->bodies[b]);
            own = body > own ? body : own;
        }
        if (task->kind == PITHP_TASK_WHILE && task->repeats >= 0 &&
            __builtin_mul_overflow(own, task->repeats, &own))
            own = INT64_MAX;
        count = count > INT64_MAX - own ? INT64_MAX : count + own;
    }
    return count;
}

int64_t pithp_schedule_launches(const pithp_schedule *schedule) {
    return launches_of(&schedule->tasks);
}

/* ---- Memory ---- */

static size_t words_bytes(const pithp_schedule *schedule) {
    return (size_t)schedule->word_count * sizeof *schedule->words;
}

size_t pithp_schedule_image_bytes(const pithp_schedule *schedule) {
    return words_bytes(schedule) +
           (size_t)schedule->write_count * sizeof *schedule->writes;
}

static size_t gemm_offset(const pithp_schedule *schedule) {
    return (pithp_schedule_image_bytes(schedule) + PITHP_ALIGNMENT - 1) /
           PITHP_ALIGNMENT * PITHP_ALIGNMENT;
}

static size_t moves_offset(const pithp_schedule *schedule) {
    return pithp_aligned(schedule->gemm_bytes
                             ? gemm_offset(schedule) + schedule->gemm_bytes
                             : pithp_schedule_image_bytes(schedule));
}

size_t pithp_schedule_bytes(const pithp_schedule *schedule) {
    return schedule->move_bytes   ? moves_offset(schedule) + schedule->move_bytes
           : schedule->gemm_bytes ? gemm_offset(schedule) + schedule->gemm_bytes
                                  : pithp_schedule_image_bytes(schedule);
}

void *pithp_schedule_moves(const pithp_schedule *schedule, void *memory) {
    return schedule->move_bytes ? (char *)memory + moves_offset(schedule) : NULL;
}

void *pithp_schedule_gemm(const pithp_schedule *schedule, void *memory) {
    return schedule->gemm_bytes ? (char *)memory + gemm_offset(schedule) : NULL;
}

void pithp_schedule_image(const pithp_schedule *schedule,
                          void *image,
                          uintptr_t address) {
    uint64_t *words = image;
    const size_t bytes = words_bytes(schedule);
    memcpy(words, schedule->words, bytes);
    if (schedule->write_count)
        memcpy((char *)image + bytes, schedule->writes,
               pithp_schedule_image_bytes(schedule) - bytes);
    if (schedule->gemm_bytes)
        words[schedule->gemm_word] = address + gemm_offset(schedule);
    if (schedule->move_bytes)
        words[schedule->move_word] = address + moves_offset(schedule);
    for (int64_t k = 0; k < schedule->own_count; k++) {
        const int32_t own = schedule->own[k];
        words[own < 0 ? ~own : own] += address + (own < 0 ? bytes : 0);
    }
}

void pithp_schedule_table(const pithp_schedule *schedule,
                          const pithp_plan *plan,
                          const void *workspace,
                          const void *const *inputs,
                          void *const *outputs,
                          uint64_t *table) {
    const int64_t count = plan->program->input_count;
    table[0] = (uintptr_t)workspace;
    for (int64_t k = 0; k < count; k++)
        table[1 + k] = (uintptr_t)inputs[k];
    for (int64_t k = 0; k < plan->program->output_count; k++)
        table[1 + count + k] = (uintptr_t)outputs[k];
    PITH_ASSERT(schedule->table_count == 1 + count + plan->program->output_count);
    (void)schedule;
}
