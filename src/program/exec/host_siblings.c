/* Siblings at run time: reductions of all elements of several values that one fused step
 * computes, such as a value and its tangent. A block of elements is computed once for all
 * of them, and values without other readers are never in memory. */
#include "program/exec/call.h"
#include "program/exec/exec.h"
#include "program/host/reduce.h"
#include "program/plan/fuse_input.h"

#include <string.h>

typedef uint8_t b8;
typedef int64_t i64;
#include "program/source/args/map_reduce.h"

enum {
    BLOCK = PITHP_REDUCE_BLOCK,
    LANES = PITHP_REDUCE_LANES,
    WIDEST = PITHP_REDUCE_WIDEST,
    AT_ONCE = 2048, /* elements of all values: they fit in the L1 cache */
};

typedef struct sibling {
    pithp_reduce_args reduce;
    int32_t external; /* the producer's, of the value that it reduces */
    bool buffered;
} sibling;

typedef struct siblings_args {
    int64_t count, at_once; /* at_once: elements, a multiple of the lanes */
    sibling list[PITHP_SIBLINGS];
    pithp_host_loop code; /* one loop for the producer and all siblings, whose addresses
                             follow; NULL: the producer's arguments follow */
} siblings_args;

/* Memory for the arguments of a launch. */
typedef union siblings_memory {
    siblings_args args;
    char bytes[PITHP_LAUNCH_ARGS];
} siblings_memory;
_Static_assert(sizeof(siblings_args) + sizeof(pithp_fused_args) +
                       PITHP_MOST_READS_SIBLINGS * sizeof(char *) <=
                   PITHP_LAUNCH_ARGS,
               "each thread has room for them");

static pithp_fused_args *producer_of(siblings_memory *memory) {
    return (pithp_fused_args *)(void *)(memory->bytes + sizeof(siblings_args));
}

static const pithp_reducer *reducer_of(pithp_isa isa, const pithp_reduce_args *a) {
    return &pithp_reduce_tables[isa]->reducers[a->operation][a->dtype];
}

/* Compute n elements from `first` on, which follow r others of their block, and combine
 * them with the lanes of each sibling. */
static void add_elements(pithp_isa isa,
                         siblings_memory *memory,
                         int64_t first,
                         int64_t r,
                         int64_t n,
                         char (*lanes)[LANES * WIDEST]) {
    _Alignas(64) char buffers[AT_ONCE * WIDEST];
    const siblings_args *a = &memory->args;
    pithp_fused_args *producer = producer_of(memory);
    for (int64_t k = 0; k < a->count; k++)
        if (a->list[k].buffered) /* so that element `first` is the buffer's first */
            producer->data[a->list[k].external] =
                (char *)((uintptr_t)buffers +
                         (uintptr_t)(k * a->at_once * WIDEST -
                                     first * a->list[k].reduce.size));
    pithp_fused_loops[isa](producer, first, first + n);
    for (int64_t k = 0; k < a->count; k++) {
        const pithp_reduce_args *reduce = &a->list[k].reduce;
        const char *data = producer->data[a->list[k].external];
        reducer_of(isa, reduce)
            ->accumulate(
                lanes[k],
                (const char *)((uintptr_t)data + (uintptr_t)(first * reduce->size)), 1, r,
                n, 1);
    }
}

/* Combine the lanes of a block of that length. */
static void finish(pithp_isa isa,
                   const siblings_args *args,
                   int64_t block,
                   int64_t length,
                   char (*lanes)[LANES * WIDEST]) {
    for (int64_t k = 0; k < args->count; k++) {
        const pithp_reduce_args *a = &args->list[k].reduce;
        reducer_of(isa, a)->finish(a->partial + block * a->accumulator_size, lanes[k],
                                   length < LANES ? length : LANES, 1);
    }
}

/* The launch's indices are blocks. */
static inline void
reduce_siblings(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    _Alignas(64) char lanes[PITHP_SIBLINGS][LANES * WIDEST];
    const siblings_args *given = args;
    const pithp_fused_args *producer = (const void *)(given + 1);
    siblings_memory memory;
    memcpy(&memory, given, sizeof *given + pithp_fused_args_bytes(producer->step));
    for (int64_t i = begin; i < end; i++) {
        const int64_t length = pithp_reduce_block_length(&memory.args.list[0].reduce, i);
        for (int64_t r = 0, n; r < length; r += n) {
            n = length - r < memory.args.at_once ? length - r : memory.args.at_once;
            add_elements(isa, &memory, i * BLOCK + r, r, n, lanes);
        }
        finish(isa, &memory.args, i, length, lanes);
    }
}
PITHP_LOOPS(reduce_siblings)

/* The same in one compiled loop. */
static inline void
map_siblings(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    _Alignas(64) char lanes[PITHP_SIBLINGS][LANES * WIDEST];
    const siblings_args *a = args;
    void *to[PITHP_SIBLINGS];
    const m_map_siblings_args given = {.at = (char *const *)(const void *)(a + 1),
                                       .lanes = to};
    for (int64_t k = 0; k < a->count; k++)
        to[k] = lanes[k];
    for (int64_t i = begin; i < end; i++) {
        const int64_t length = pithp_reduce_block_length(&a->list[0].reduce, i);
        a->code(&given, i * BLOCK, i * BLOCK + length);
        finish(isa, a, i, length, lanes);
    }
}
PITHP_LOOPS(map_siblings)

static sibling bind(const pithp_exec *r, const pithp_step *step, const pithp_step *from) {
    const pithp_instruction *i = step->call;
    const pithp_call call = pithp_call_of(i->primitive, 1, step->specs, i->params);
    const pithp_reduce_view view = pithp_reduce_view_of(&call);
    const void *operand = pithp_address(r, step->produced);
    const pithp_memory memory = {.operands = &operand,
                                 .result = pithp_address(r, i->result)};
    sibling s = {.reduce = pithp_reduce_args_of(&call, step->spec, &memory, &view),
                 .external = pithp_plan_external(from, step->produced),
                 .buffered = pithp_is_buffered(r->plan, step->produced)};
    s.reduce.partial = r->workspace + step->temporary;
    return s;
}

pith_status pithp_run_siblings(const pithp_exec *r, const pithp_step *step) {
    const pithp_step *from = &r->plan->steps[step->producer];
    const pithp_compiled_step *code = r->code ? &r->code->steps[step->producer] : NULL;
    const pithp_sink sink = pithp_scope_sink(r->s);
    siblings_memory memory;
    siblings_args *a = &memory.args;
    a->count = step->siblings + 1;
    a->code = code && code->map_reduces ? code->loops[0] : NULL;
    a->at_once = AT_ONCE / a->count / LANES * LANES;
    for (int64_t k = 0; k < a->count; k++)
        a->list[k] = bind(r, step + k, from);
    const size_t bytes = a->code
                             ? pithp_map_reduce_bind(r, from, (char **)(void *)(a + 1))
                             : pithp_fused_bind(r, from, code ? code->loops[0] : NULL,
                                                producer_of(&memory));
    const pithp_launch launch = {.name = "reductions",
                                 .loops =
                                     a->code ? map_siblings_loops : reduce_siblings_loops,
                                 .args = &memory,
                                 .args_bytes = sizeof *a + bytes,
                                 .count = a->list[0].reduce.blocks,
                                 .grain = PITHP_REDUCE_GRAIN / BLOCK};
    pith_status rc = pithp_launch_run(r->s, &launch);
    for (int64_t k = 0; k < a->count && rc == PITH_OK; k++)
        rc = pithp_reduce_launch_tree(pithp_ops[step[k].call->primitive].name,
                                      &a->list[k].reduce, &sink);
    return rc;
}
