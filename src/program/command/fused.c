/* Commands of generated kernels: fused steps, and reductions of what they make. */
#include "program/command/builder.h"
#include "program/emit/emit.h"

#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
typedef uint64_t u64;
#include "program/source/args/reduce.h"

/* The data of a lowering. */
typedef struct work {
    const pithp_making_frame *f;
    const pithp_step *step;
    int32_t number; /* number of the function */
} work;

/* The number of the function for some work; -1 sets e. */
static int32_t function_of(pithp_scheduling *g, const pithp_kernel_work *does) {
    pithp_schedule *to = g->to;
    const uint64_t hash = pithp_kernel_hash(does);
    for (int32_t k = pithp_hash_index_last(&g->functions, hash); k >= 0;
         k = pithp_hash_index_before(&g->functions, k))
        if (pithp_kernel_alike(&to->fused[k], does))
            return k;
    if (!pithp_making_grow(g, &to->fused, to->fused_count, 1, &to->fused_room,
                           sizeof *to->fused))
        return -1;
    if (!pithp_hash_index_reserve(g->s->runtime, &g->functions, 1)) {
        pithp_making_fail(g, PITH_E_MEMORY, "out of memory");
        return -1;
    }
    pithp_hash_index_add(&g->functions, hash);
    to->fused[to->fused_count++] = *does;
    to->reduces |= does->reduction.kind != PITHP_REDUCE_KERNEL_NOTHING;
    return (int32_t)to->fused_count - 1;
}

static void touch_fused(pithp_making_frame *f, const pithp_step *step) {
    const pithp_fused_step *a = step->fused;
    bool written[PITHP_FUSED_EXTERNALS];
    pithp_fused_written(a, written);
    for (int e = 0; e < a->external_count + a->piece_count; e++)
        pithp_touch_value(f, step->operands[e].value,
                          e < a->external_count && written[e]);
}

/* ---- Fused steps ---- */

/* Memory for the arguments of a fused step's kernel, after `before` bytes, and for the
 * step's arguments, from which they are computed. */
typedef struct room {
    char *launch;
    pithp_fused_args *args;
    size_t bytes; /* of both */
} room;

/* launch is NULL if memory is short. */
static room
room_for(const pithp_scheduling *g, const pithp_fused_step *a, size_t before) {
    const size_t launch = before + pithp_kernel_launch_bytes(a);
    room r = {.bytes = launch + pithp_fused_args_bytes(a)};
    r.launch = pithp_allocate(g->s->runtime, r.bytes);
    if (r.launch)
        r.args = (pithp_fused_args *)(void *)(r.launch + launch);
    return r;
}

/* Compute the arguments of a fused step's kernel, at `to` in the room. */
static void fused_launch(const pithp_scheduling *g,
                         const pithp_making_frame *f,
                         const pithp_step *step,
                         pithp_launch *launch,
                         const room *r,
                         void *to) {
    const pithp_fused_step *a = step->fused;
    *r->args = (pithp_fused_args){.step = a};
    for (int e = 0; e < a->external_count + a->piece_count; e++)
        r->args->data[e] =
            a->externals[e].access == PITHP_ACCESS_PIECES
                ? NULL
                : (char *)pithp_false_address(g, f, step->operands[e].value) +
                      step->operands[e].offset * a->externals[e].size;
    pithp_kernel_launch(launch, r->args, step->spec->count, to);
}

static pith_status
lower_fused(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const room r = room_for(g, w->step->fused, 0);
    pithp_launch launch = {.name = NULL};
    if (!r.launch)
        return pithp_fail_memory(g->s, r.bytes);
    fused_launch(g, w->f, w->step, &launch, &r, r.launch);
    const pith_status rc =
        pithp_record_launch(sink, PITHP_CODE_FUSED, w->number, NULL, &launch);
    pithp_release(g->s->runtime, r.launch, r.bytes);
    return rc;
}

bool pithp_schedule_fused(pithp_scheduling *g,
                          pithp_making_frame *f,
                          const pithp_step *step) {
    const pithp_kernel_work does = {.step = step->fused};
    const work w = {f, step, step->spec->count ? function_of(g, &does) : 0};
    if (step->spec->count == 0)
        return true;
    touch_fused(f, step);
    return w.number >= 0 && pithp_record(g, f, &f->writes, lower_fused, &w);
}

/* ---- Reductions ---- */

/* The step that makes the elements of a reduction. */
static const pithp_step *source_of(const pithp_making_frame *f, const pithp_step *step) {
    return &f->plan->steps[step->producer];
}

static pithp_call call_of(const pithp_step *step) {
    return pithp_call_of(step->call->primitive, step->call->operand_count, step->specs,
                         step->call->params);
}

static int32_t reducing_function(pithp_scheduling *g,
                                 const pithp_making_frame *f,
                                 const pithp_step *step) {
    const pithp_step *from = source_of(f, step);
    const pithp_call call = call_of(step);
    const pithp_kernel_work does = {
        .step = from->fused,
        .reduction = {.kind = (uint8_t)pithp_reduce_kernel_of(&call),
                      .external = (uint16_t)pithp_plan_external(from, step->produced),
                      .dtype = (uint8_t)step->specs[0]->dtype,
                      .to_dtype = (uint8_t)step->spec->dtype,
                      .operation = (uint8_t)pithp_cuda_reduction(&call)}};
    return function_of(g, &does);
}

typedef struct making {
    const pithp_scheduling *g;
    const work *w;
} making;

/* Launch a reduction that makes its elements: the reduction's arguments precede those of
 * the step. */
static pith_status launch_making(const void *closure,
                                 const pithp_sink *sink,
                                 const char *name,
                                 const m_reduce_args *args,
                                 int64_t threads) {
    const making *m = closure;
    const pithp_step *from = source_of(m->w->f, m->w->step);
    const room r = room_for(m->g, from->fused, sizeof *args);
    pithp_launch launch = {.name = NULL};
    if (!r.launch)
        return pithp_fail_memory(m->g->s, r.bytes);
    fused_launch(m->g, m->w->f, from, &launch, &r, r.launch + sizeof *args);
    memcpy(r.launch, args, sizeof *args);
    launch.name = name;
    launch.args = r.launch;
    launch.args_bytes += sizeof *args;
    launch.count = threads;
    const pith_status rc =
        pithp_record_launch(sink, PITHP_CODE_FUSED, m->w->number, NULL, &launch);
    pithp_release(m->g->s->runtime, r.launch, r.bytes);
    return rc;
}

static pith_status
lower_reduction(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const pithp_call call = call_of(w->step);
    const making made = {g, w};
    const pithp_memory memory = {
        .operands = (const void *[]){NULL},
        .result = pithp_false_address(g, w->f, w->step->call->result),
        .temporary = (void *)(uintptr_t)(g->base + g->regions[w->f->region].begin +
                                         (uint64_t)w->step->temporary)};
    return pithp_cuda_lower_reduce_of(&call, w->step->spec, &memory, sink,
                                      &(pithp_cuda_producer){launch_making, &made});
}

bool pithp_schedule_reduction(pithp_scheduling *g,
                              pithp_making_frame *f,
                              const pithp_step *step) {
    const work w = {f, step, reducing_function(g, f, step)};
    pithp_touch_value(f, step->call->result, true);
    pithp_touch_temporary(f, step);
    touch_fused(f, source_of(f, step));
    return w.number >= 0 && pithp_record(g, f, &f->writes, lower_reduction, &w);
}
