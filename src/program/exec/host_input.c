/* Execution of fused inputs: a reduction whose operand a fused step makes block by block,
 * and a fused step that gathers its operands. */
#include "program/exec/call.h"
#include "program/exec/exec.h"
#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/plan/fuse_input.h"

#include <string.h>

typedef struct source {
    int32_t external; /* where the elements are written */
    bool buffered;
    pithp_fused_args args;
} source;
_Static_assert(offsetof(source, args) + offsetof(pithp_fused_args, externals) +
                       PITHP_MOST_READS * sizeof(pithp_external) <=
                   PITHP_SOURCE_BYTES,
               "one launch takes them");

static const void *
make(pithp_isa isa, void *state, int64_t begin, int64_t n, void *buffer) {
    source *s = state;
    pithp_external *x = &s->args.externals[s->external];
    if (s->buffered) /* so that element `begin` is the buffer's first */
        x->data = (char *)((uintptr_t)buffer - (uintptr_t)(begin * x->size));
    pithp_fused_loops[isa](&s->args, begin, begin + n);
    return s->buffered ? buffer : x->data + begin * x->size;
}

pith_status pithp_run_reduction(const pithp_exec *r,
                                const pithp_step *step,
                                const pithp_call *call,
                                const pithp_memory *memory) {
    const pithp_step *from = &r->plan->steps[step->source];
    const pithp_compiled_step *code = r->code ? &r->code->steps[step->source] : NULL;
    const pithp_sink sink = pithp_scope_sink(r->s);
    char *at[PITHP_FUSED_EXTERNALS];
    source s = {.buffered = from->unplaced >= 0};
    pithp_source made = {.make = make, .state = &s};
    if (code && code->folds) {
        made = (pithp_source){.fold = code->loops[0], .state = at};
        made.bytes = pithp_fold_bind(r, from, at);
    } else {
        s.external = pithp_plan_external(from, step->source_value);
        made.bytes = offsetof(source, args) +
                     pithp_fused_bind(r, from, code ? code->loops[0] : NULL, &s.args);
    }
    return pithp_lower_reduce_of(call, step->spec, memory, &sink, &made);
}

/* ---- Fused steps that read what is taken ---- */

typedef struct taking {
    int32_t external; /* that reads it */
    pithp_index_args args;
} taking;

typedef struct taken_args {
    int32_t take_count;
    taking takes[PITHP_TAKES];
    pithp_fused_args fused;
} taken_args;
_Static_assert(offsetof(taken_args, fused) + offsetof(pithp_fused_args, externals) +
                       PITHP_MOST_READS_TAKING * sizeof(pithp_external) <=
                   PITHP_LAUNCH_ARGS,
               "one launch takes them");

/* So that element `first` of it is the buffer's first. */
static char *shifted(char *buffer, int64_t first, int64_t size) {
    return (char *)((uintptr_t)buffer - (uintptr_t)(first * size));
}

/* Indices are rows. */
static inline void
take_and_fuse(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const taken_args *given = args;
    const int64_t inner = given->takes[0].args.inner,
                  at_once = PITHP_TAKEN_AT_ONCE / inner;
    _Alignas(64) char buffers[PITHP_TAKES][PITHP_TAKEN_AT_ONCE * sizeof(uint64_t)];
    taken_args a;
    memcpy(&a, given, offsetof(taken_args, fused) + pithp_fused_bytes(&given->fused));
    for (int64_t i = begin; i < end; i += at_once) {
        const int64_t last = end - i < at_once ? end : i + at_once;
        for (int k = 0; k < a.take_count; k++) {
            taking *t = &a.takes[k];
            t->args.to = shifted(buffers[k], i * inner, t->args.size);
            a.fused.externals[t->external].data = t->args.to;
            pithp_take_loops[isa](&t->args, i, last);
        }
        pithp_fused_loops[isa](&a.fused, i * inner, last * inner);
    }
}
PITHP_LOOPS(take_and_fuse)

static void bind_take(const pithp_exec *r,
                      const pithp_step *step,
                      const pithp_step *from,
                      taking *t) {
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

/* Compiled code that takes them itself. */
static pith_status
run_code(const pithp_exec *r, const pithp_step *step, pithp_host_loop code) {
    pithp_fused_args args;
    pithp_fused_bind(r, step, code, &args);
    for (int k = 0; k < args.taken_count; k++) {
        const pithp_value *operands =
            pithp_operands(r->plan->program, r->plan->steps[step->takes[k]].call);
        args.externals[args.taken[k].external].data = pithp_address(r, operands[0]);
        args.taken_from[k].index = pithp_address(r, operands[1]);
    }
    return pithp_fused_run(r->s, &args, step->spec->count);
}

pith_status
pithp_run_taking(const pithp_exec *r, const pithp_step *step, pithp_host_loop code) {
    if (code && step->fused->taken_count)
        return run_code(r, step, code);
    taken_args a = {.take_count = step->take_count};
    for (int k = 0; k < step->take_count; k++)
        bind_take(r, step, &r->plan->steps[step->takes[k]], &a.takes[k]);
    const size_t bytes = pithp_fused_bind(r, step, code, &a.fused);
    const int64_t inner = a.takes[0].args.inner;
    const pithp_launch launch = {.name = "fused",
                                 .loops = take_and_fuse_loops,
                                 .args = &a,
                                 .args_bytes = offsetof(taken_args, fused) + bytes,
                                 .count = step->spec->count / inner,
                                 .grain = PITHP_TAKEN_AT_ONCE / inner};
    return pithp_launch_run(r->s, &launch);
}
