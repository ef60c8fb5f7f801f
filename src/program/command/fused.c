/* Commands of generated kernels: fused steps, and reductions of what they make. */
#include "program/command/builder.h"
#include "program/emit/emit.h"

#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
typedef uint64_t u64;
#include "program/source/args/reduce.h"

/* What emissions are of. */
typedef struct work {
    const pithp_making_frame *f;
    const pithp_step *step;
    int32_t number; /* of the function */
} work;

/* The number of the function that does that work. */
static int32_t function_of(pithp_scheduling *g, const pithp_kernel_work *does) {
    pithp_schedule *to = g->to;
    for (int64_t k = to->fused_count; k-- > 0;)
        if (pithp_kernel_alike(&to->fused[k], does))
            return (int32_t)k;
    if (!pithp_making_grow(g, &to->fused, to->fused_count, 1, &to->fused_room,
                           sizeof *to->fused))
        return -1;
    to->fused[to->fused_count++] = *does;
    to->reduces |= does->reduction.kind != PITHP_REDUCING_NOTHING;
    return (int32_t)to->fused_count - 1;
}

static void
touch_fused(const pithp_scheduling *g, pithp_making_frame *f, const pithp_step *step) {
    const pithp_fused_args *a = step->fused;
    bool written[PITHP_FUSED_EXTERNALS] = {false};
    for (int k = 0; k < a->op_count; k++)
        if (a->ops[k].to >= a->temporary_count)
            written[a->ops[k].to - a->temporary_count] = true;
    for (int e = 0; e < a->external_count + a->piece_count; e++)
        pithp_touch_value(g, f, step->operands[e].value, written[e]);
}

/* ---- Fused steps ---- */

/* Arguments of a fused step's kernel: memory has PITHP_KERNEL_LAUNCH_BYTES. */
static void fused_launch(const pithp_scheduling *g,
                         const pithp_making_frame *f,
                         const pithp_step *step,
                         pithp_launch *launch,
                         void *memory) {
    pithp_fused_args args;
    memcpy(&args, step->fused, pithp_fused_bytes(step->fused));
    for (int e = 0; e < args.external_count + args.piece_count; e++)
        if (args.externals[e].access != PITHP_ACCESS_PIECES)
            args.externals[e].data =
                (char *)pithp_false_address(g, f, step->operands[e].value) +
                step->operands[e].offset * args.externals[e].size;
    pithp_kernel_launch(launch, &args, step->spec->count, memory);
}

static pith_status
emit_fused(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    _Alignas(8) char memory[PITHP_KERNEL_LAUNCH_BYTES];
    pithp_launch launch = {.name = NULL};
    fused_launch(g, w->f, w->step, &launch, memory);
    return pithp_record_launch(sink, PITHP_CODE_FUSED, w->number, NULL, &launch);
}

bool pithp_schedule_fused(pithp_scheduling *g,
                          pithp_making_frame *f,
                          const pithp_step *step) {
    const pithp_kernel_work does = {.step = step->fused};
    const work w = {f, step, step->spec->count ? function_of(g, &does) : 0};
    if (step->spec->count == 0)
        return true;
    touch_fused(g, f, step);
    return w.number >= 0 && pithp_record(g, f, &f->writes, emit_fused, &w);
}

/* ---- Reductions ---- */

/* What makes the elements that a reduction reads. */
static const pithp_step *source_of(const pithp_making_frame *f, const pithp_step *step) {
    return &f->plan->steps[step->source];
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
        .reduction = {.kind = (uint8_t)pithp_reducing_of(&call),
                      .external = (uint8_t)pithp_plan_external(from, step->source_value),
                      .dtype = (uint8_t)step->specs[0]->dtype,
                      .to_dtype = (uint8_t)step->spec->dtype,
                      .operation = (uint8_t)pithp_cuda_reduction(&call)}};
    return function_of(g, &does);
}

typedef struct making {
    const pithp_scheduling *g;
    const work *w;
} making;

/* A kernel that makes elements: its arguments are those of a reduction, then the step's.
 */
static pith_status launch_making(const void *closure,
                                 const pithp_sink *sink,
                                 const char *name,
                                 const m_reduce_args *args,
                                 int64_t threads) {
    const making *m = closure;
    _Alignas(8) char memory[sizeof *args + PITHP_KERNEL_LAUNCH_BYTES];
    pithp_launch launch = {.name = NULL};
    fused_launch(m->g, m->w->f, source_of(m->w->f, m->w->step), &launch,
                 memory + sizeof *args);
    memcpy(memory, args, sizeof *args);
    launch.name = name;
    launch.args = memory;
    launch.args_bytes += sizeof *args;
    launch.count = threads;
    return pithp_record_launch(sink, PITHP_CODE_FUSED, m->w->number, NULL, &launch);
}

static pith_status
emit_reduction(const pithp_scheduling *g, const pithp_sink *sink, const void *what) {
    const work *w = what;
    const pithp_call call = call_of(w->step);
    const making made = {g, w};
    const pithp_memory memory = {
        .operands = (const void *[]){NULL},
        .result = pithp_false_address(g, w->f, w->step->call->result),
        .temporary = (void *)(uintptr_t)(g->base + g->regions[w->f->region].begin +
                                         (uint64_t)w->step->temporary)};
    return pithp_cuda_lower_reduce_of(&call, w->step->spec, &memory, sink,
                                      &(pithp_cuda_maker){launch_making, &made});
}

bool pithp_schedule_reduction(pithp_scheduling *g,
                              pithp_making_frame *f,
                              const pithp_step *step) {
    const work w = {f, step, reducing_function(g, f, step)};
    pithp_touch_value(g, f, step->call->result, true);
    pithp_touch_temporary(g, f, step);
    touch_fused(g, f, source_of(f, step));
    return w.number >= 0 && pithp_record(g, f, &f->writes, emit_reduction, &w);
}
