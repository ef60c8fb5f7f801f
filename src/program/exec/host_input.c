/* Input fusion at run time: a reduction whose operand a fused step computes block by
 * block, and a fused step that gathers its operands. */
#include "program/exec/call.h"
#include "program/exec/exec.h"
#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/plan/fuse_input.h"

#include <string.h>

typedef struct producer {
    int32_t external; /* the external that receives the elements */
    bool buffered;
} producer; /* the step's arguments follow */

static pithp_fused_args *made_by(producer *s) {
    return (pithp_fused_args *)(void *)(s + 1);
}

static const void *
make(pithp_isa isa, void *state, int64_t begin, int64_t n, void *buffer) {
    producer *s = state;
    pithp_fused_args *args = made_by(s);
    const int64_t size = args->step->externals[s->external].size;
    char **data = &args->data[s->external];
    if (s->buffered) /* so that element `begin` is the buffer's first */
        *data = (char *)((uintptr_t)buffer - (uintptr_t)(begin * size));
    pithp_fused_loops[isa](args, begin, begin + n);
    return s->buffered ? buffer : *data + begin * size;
}

pith_status pithp_run_reduction(const pithp_exec *r,
                                const pithp_step *step,
                                const pithp_call *call,
                                const pithp_memory *memory) {
    if (step->siblings)
        return pithp_run_siblings(r, step);
    const pithp_step *from = &r->plan->steps[step->producer];
    const pithp_compiled_step *code = r->code ? &r->code->steps[step->producer] : NULL;
    const pithp_sink sink = pithp_scope_sink(r->s);
    _Alignas(16) char state[PITHP_PRODUCER_BYTES];
    pithp_producer made = {.make = make, .state = state};
    if (code && code->map_reduces) {
        made.map_reduce = code->loops[0];
        made.bytes = pithp_map_reduce_bind(r, from, (char **)(void *)state);
    } else {
        producer *s = (producer *)(void *)state;
        s->buffered = from->unmaterialised >= 0;
        s->external = pithp_plan_external(from, step->produced);
        made.bytes = sizeof *s +
                     pithp_fused_bind(r, from, code ? code->loops[0] : NULL, made_by(s));
    }
    return pithp_lower_reduce_of(call, step->spec, memory, &sink, &made);
}

/* ---- Fused steps with gathers ---- */

typedef struct gather {
    int32_t external; /* the external that reads the elements */
    pithp_index_args args;
} gather;

typedef struct gather_args {
    int32_t gather_count;
    gather gathers[PITHP_GATHERS];
} gather_args; /* the step's arguments follow */

/* Memory for the arguments of a launch. */
typedef union gather_memory {
    gather_args args;
    char bytes[PITHP_LAUNCH_ARGS];
} gather_memory;
static pithp_fused_args *step_of(gather_memory *memory) {
    return (pithp_fused_args *)(void *)(memory->bytes + sizeof(gather_args));
}
_Static_assert(sizeof(gather_args) + sizeof(pithp_fused_args) +
                       PITHP_MOST_READS_TAKING * sizeof(char *) <=
                   PITHP_LAUNCH_ARGS,
               "each thread has room for them");
_Static_assert(sizeof(producer) + sizeof(pithp_fused_args) +
                       PITHP_MOST_READS * sizeof(char *) <=
                   PITHP_PRODUCER_BYTES,
               "each thread has room for them");

/* The address of index 0 of an array whose element `first` is the buffer's first. */
static char *shifted(char *buffer, int64_t first, int64_t size) {
    return (char *)((uintptr_t)buffer - (uintptr_t)(first * size));
}

/* The launch's indices are rows. */
static inline void
gather_and_fuse(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const gather_args *given = args;
    const pithp_fused_args *step = (const void *)(given + 1);
    const int64_t inner = given->gathers[0].args.inner,
                  at_once = PITHP_GATHER_AT_ONCE / inner;
    _Alignas(64) char buffers[PITHP_GATHERS][PITHP_GATHER_AT_ONCE * sizeof(uint64_t)];
    gather_memory memory;
    gather_args *a = &memory.args;
    pithp_fused_args *fused = step_of(&memory);
    memcpy(a, given, sizeof *a + pithp_fused_args_bytes(step->step));
    for (int64_t i = begin; i < end; i += at_once) {
        const int64_t last = end - i < at_once ? end : i + at_once;
        for (int k = 0; k < a->gather_count; k++) {
            gather *t = &a->gathers[k];
            t->args.to = shifted(buffers[k], i * inner, t->args.size);
            fused->data[t->external] = t->args.to;
            pithp_take_loops[isa](&t->args, i, last);
        }
        pithp_fused_loops[isa](fused, i * inner, last * inner);
    }
}
PITHP_LOOPS(gather_and_fuse)

static void bind_gather(const pithp_exec *r,
                        const pithp_step *step,
                        const pithp_step *from,
                        gather *t) {
    const pithp_instruction *i = from->call;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, from->specs, i->params);
    const void *operands[2];
    for (int k = 0; k < 2; k++)
        operands[k] = pithp_address(r, pithp_operands(r->plan->program, i)[k]);
    t->args = pithp_index_args_of(&call, &(pithp_memory){.operands = operands}, 1,
                                  call.operands[1]->count);
    t->external = pithp_plan_external(step, i->result);
}

/* Run compiled code that includes the gathers. */
static pith_status
run_code(const pithp_exec *r, const pithp_step *step, pithp_host_loop code) {
    const pithp_fused_step *a = step->fused;
    pithp_fused_args *args = (pithp_fused_args *)(void *)r->pointers;
    pithp_fused_bind(r, step, code, args);
    for (int k = 0; k < a->gather_count; k++) {
        const pithp_value *operands =
            pithp_operands(r->plan->program, r->plan->steps[step->gathers[k]].call);
        args->data[a->gathers[k].external] = pithp_address(r, operands[0]);
        args->gather_index[k] = pithp_address(r, operands[1]);
    }
    return pithp_fused_run(r->s, a, args, step->spec->count);
}

pith_status
pithp_run_gathering(const pithp_exec *r, const pithp_step *step, pithp_host_loop code) {
    if (code && step->fused->gather_count)
        return run_code(r, step, code);
    gather_memory memory;
    gather_args *a = &memory.args;
    a->gather_count = step->gather_count;
    for (int k = 0; k < step->gather_count; k++)
        bind_gather(r, step, &r->plan->steps[step->gathers[k]], &a->gathers[k]);
    const size_t bytes = pithp_fused_bind(r, step, code, step_of(&memory));
    const int64_t inner = a->gathers[0].args.inner;
    const pithp_launch launch = {.name = "fused",
                                 .loops = gather_and_fuse_loops,
                                 .args = a,
                                 .args_bytes = sizeof *a + bytes,
                                 .count = step->spec->count / inner,
                                 .grain = PITHP_GATHER_AT_ONCE / inner};
    return pithp_launch_run(r->s, &launch);
}
