/* Operation rules: type inference, scratch size and lowering of each structural row, with
 * helpers that refuse a call, fill in a spec and pass a launch to a sink. */
#ifndef PITH_PROGRAM_OP_RULES_H
#define PITH_PROGRAM_OP_RULES_H

#include "program/op/call.h"

/* The three functions of a rule; see pithp_infer, pithp_temporary_bytes and pithp_lower.
 */
#define PITHP_RULE(rule)                                                                 \
    pith_status pithp_infer_##rule(const pithp_call *call, pith_spec *result,            \
                                   pithp_refusal *refusal);                              \
    size_t pithp_temporary_##rule(const pithp_call *call, const pith_spec *result);      \
    pith_status pithp_lower_##rule(const pithp_call *call, const pith_spec *result,      \
                                   const pithp_memory *memory, const pithp_sink *sink);
PITHP_RULE(elementwise)
PITHP_RULE(cast)
PITHP_RULE(full)
PITHP_RULE(iota)
PITHP_RULE(broadcast)
PITHP_RULE(reshape)
PITHP_RULE(transpose)
PITHP_RULE(slice)
PITHP_RULE(reverse)
PITHP_RULE(concatenate)
PITHP_RULE(pad)
PITHP_RULE(scan)
PITHP_RULE(cumlinear)
PITHP_RULE(sort)
PITHP_RULE(search)
PITHP_RULE(reduce)
PITHP_RULE(product)
PITHP_RULE(take)
PITHP_RULE(take_along)
PITHP_RULE(scatter)
PITHP_RULE(dynamic)
PITHP_RULE(threefry)
PITHP_RULE(random)
PITHP_RULE(mark)
PITHP_RULE(named)
PITHP_RULE(vary)

/* The two functions of a control-flow rule; see pithp_result_count and pithp_infer. */
#define PITHP_CONTROL_RULE(rule)                                                         \
    int pithp_count_##rule(const pithp_call *call);                                      \
    pith_status pithp_infer_##rule(const pithp_call *call, pith_spec *results,           \
                                   pithp_refusal *refusal);
PITHP_CONTROL_RULE(cond)
PITHP_CONTROL_RULE(while)
PITHP_CONTROL_RULE(loop)
PITHP_CONTROL_RULE(rule)
PITHP_CONTROL_RULE(kernel)
PITHP_CONTROL_RULE(checked)
PITHP_CONTROL_RULE(debug)
PITHP_CONTROL_RULE(expose)
PITHP_CONTROL_RULE(collective)

/* The rule needs no temporary memory. */
#define PITHP_NO_TEMPORARY(rule)                                                         \
    size_t pithp_temporary_##rule(const pithp_call *call, const pith_spec *result) {     \
        (void)call, (void)result;                                                        \
        return 0;                                                                        \
    }

/* Fill in the refusal; returns its code. */
pith_status pithp_refuse(const pithp_call *call,
                         pithp_refusal *refusal,
                         pith_status code,
                         const char *format,
                         ...) PITH_FORMAT(4, 5);

/* Make a full spec from dtype and shape; refuses overflow. shape may be result->shape. */
pith_status pithp_spec_fill(const pithp_call *call,
                            pithp_refusal *refusal,
                            pith_spec *result,
                            pith_dtype dtype,
                            int rank,
                            const int64_t *shape);

/* Pass a launch to the sink; it has one loop per instruction set, or one for all. */
static inline pith_status pithp_launch_loops(const pithp_sink *sink,
                                             const char *name,
                                             const pithp_host_loop *loops,
                                             const void *args,
                                             size_t args_bytes,
                                             int64_t count,
                                             int64_t grain) {
    const pithp_launch launch = {.name = name,
                                 .loops = loops,
                                 .args = args,
                                 .args_bytes = args_bytes,
                                 .count = count,
                                 .grain = grain};
    return sink->launch(sink->closure, &launch);
}

/* A table of one loop per instruction set, from one function NAME(isa, args, begin, end).
 */
#define PITHP_LOOPS(name) PITHP_LOOPS_(name)
#define PITHP_LOOPS_(name)                                                               \
    static void name##_base(const void *args, int64_t begin, int64_t end) {              \
        name(PITHP_ISA_BASE, args, begin, end);                                          \
    }                                                                                    \
    static void name##_v3(const void *args, int64_t begin, int64_t end) {                \
        name(PITHP_ISA_V3, args, begin, end);                                            \
    }                                                                                    \
    static void name##_v4(const void *args, int64_t begin, int64_t end) {                \
        name(PITHP_ISA_V4, args, begin, end);                                            \
    }                                                                                    \
    static const pithp_host_loop name##_loops[PITHP_ISA_COUNT] = {name##_base,           \
                                                                  name##_v3, name##_v4};

#endif
