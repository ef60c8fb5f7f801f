/* Building small programs by hand, and running them. */
#ifndef PITH_TESTS_GRAPH_H
#define PITH_TESTS_GRAPH_H

#ifdef RUN_SCHEDULED /* by the schedules that CUDA runs, on the host */
#    include "schedule_run.h"
#endif
#include "pith_test.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

enum { GRAPH_MOST = 32 };

/* n >= 0: a vector, else a scalar. */
static PT_UNUSED const pith_spec *graph_spec(pith_scope *s, pith_dtype dtype, int64_t n) {
    return pithp_spec(s, dtype, n >= 0, &n);
}
static PT_UNUSED pithp_value graph_input(pith_scope *s,
                                         pithp_program *p,
                                         pith_dtype dtype,
                                         int64_t n) {
    return pithp_program_input(s, p, graph_spec(s, dtype, n));
}
static PT_UNUSED pithp_value graph_integer(pith_scope *s,
                                           pithp_program *p,
                                           int64_t value) {
    return pithp_program_literal(s, p, graph_spec(s, PITH_I64, -1), &value);
}
static PT_UNUSED pithp_value graph_number(pith_scope *s, pithp_program *p, double value) {
    return pithp_program_literal(s, p, graph_spec(s, PITH_F64, -1), &value);
}
/* y < 0: there is none. */
static PT_UNUSED pithp_value graph_op(pith_scope *s,
                                      pithp_program *p,
                                      pithp_primitive primitive,
                                      pithp_value x,
                                      pithp_value y,
                                      const void *params) {
    const pithp_value operands[2] = {x, y};
    return pithp_program_add(s, p, primitive, y >= 0 ? 2 : 1, operands, params, "here:1");
}
static PT_UNUSED pithp_value graph_op2(pith_scope *s,
                                       pithp_program *p,
                                       pithp_primitive o,
                                       pithp_value x,
                                       pithp_value y) {
    return graph_op(s, p, o, x, y, NULL);
}
/* Releases the programs. */
static PT_UNUSED pithp_value graph_control(pith_scope *s,
                                           pithp_program *p,
                                           pithp_primitive primitive,
                                           const void *params,
                                           int count,
                                           const pithp_value *operands,
                                           int program_count,
                                           pithp_program **programs) {
    const pithp_new_instruction made = {.primitive = primitive,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = params,
                                        .program_count = program_count,
                                        .programs = programs,
                                        .site = "here:2"};
    const pithp_value v = pithp_program_add_many(s, p, &made);
    pt_ok(s, v >= 0);
    for (int k = 0; k < program_count; k++)
        pithp_program_release(programs[k]);
    return v;
}

/* In a static buffer. */
static PT_UNUSED const char *graph_text(const pithp_program *p) {
    static char shown[8192];
    pithp_string text;
    pithp_string_begin(&text, p->runtime);
    pithp_program_text(p, &text);
    snprintf(shown, sizeof shown, "%s", text.bytes);
    pithp_string_end(&text);
    return shown;
}
#define expect_text(text, wanted)                                                        \
    cr_assert(!strcmp((text), (wanted)), "expected\n%s, got\n%s", (wanted), (text))

/* Where output k of a run is. */
static PT_UNUSED const void *graph_output(const pithp_plan *plan,
                                          int64_t k,
                                          const void *const *inputs,
                                          void *const *outputs) {
    const pithp_place place = pithp_plan_output(plan, k);
    const pithp_program *p = plan->program;
    switch ((int)place.store) {
        case PITHP_IN_INPUT:
            return inputs[place.at];
        case PITHP_IN_LITERALS:
            return (char *)plan->literals->data + place.at;
        case PITHP_IN_CONSTANT:
            return p->constants[place.at].data;
        default:
            return outputs[place.at];
    }
}

/* Run an executable on copies of the inputs; what comes out is written to outputs. pass:
 * outputs may stay where inputs are; the bits of stayed say which did. */
static PT_UNUSED void graph_run_plan(pith_scope *s,
                                     pithp_executable *exe,
                                     bool pass,
                                     const void *const *inputs,
                                     void *const *outputs,
                                     unsigned *stayed) {
    const pithp_program *p = exe->plan->program;
    pithp_buffer *in[GRAPH_MOST], *out[GRAPH_MOST];
    const void *from[GRAPH_MOST];
    void *to[GRAPH_MOST];
    cr_assert(p->input_count <= GRAPH_MOST && p->output_count <= GRAPH_MOST);
    for (int64_t k = 0; k < p->input_count; k++) {
        const size_t bytes = p->values[p->inputs[k]].spec->bytes;
        in[k] = pithp_buffer_make(s, bytes + 64);
        from[k] = in[k]->data;
        pithp_copy_in(s, in[k]->data, inputs[k], bytes);
    }
    for (int64_t k = 0; k < p->output_count; k++) {
        out[k] = pithp_buffer_make(s, p->values[p->outputs[k]].spec->bytes + 64);
        to[k] = out[k]->data;
    }
    if (pass)
        pithp_executable_pass(s, exe, from, to);
    else
        pithp_executable_run(s, exe, from, to);
    pt_ok(s);
    for (int64_t k = 0; k < p->output_count; k++) {
        if (stayed && to[k] != out[k]->data)
            *stayed |= 1u << k;
        pithp_copy_out(s, outputs[k], graph_output(exe->plan, k, from, to),
                       p->values[p->outputs[k]].spec->bytes);
    }
    pt_ok(s);
    for (int64_t k = 0; k < p->input_count; k++)
        pithp_buffer_release(in[k], 1);
    for (int64_t k = 0; k < p->output_count; k++)
        pithp_buffer_release(out[k], 1);
}

#ifdef RUN_SCHEDULED
static PT_UNUSED void graph_run_scheduled(pith_scope *s,
                                          pithp_program *p,
                                          const void *const *inputs,
                                          void *const *outputs) {
    schedule_run run = schedule_open(s, p);
    void *to[GRAPH_MOST];
    for (int64_t k = 0; k < p->output_count; k++)
        to[k] = aligned_alloc(256, (p->values[p->outputs[k]].spec->bytes + 511) &
                                       ~(size_t)255);
    schedule_inputs(&run, inputs, to);
    for (int64_t k = 0; k < p->output_count; k++)
        memcpy(outputs[k], graph_output(run.plan, k, inputs, to),
               p->values[p->outputs[k]].spec->bytes);
    for (int64_t k = 0; k < p->output_count; k++)
        free(to[k]);
    schedule_close(&run);
}
#endif

/* The same with the program after passes; -1: as it is. */
static PT_UNUSED void graph_run(pith_scope *s,
                                pithp_program *p,
                                int passes,
                                const void *const *inputs,
                                void *const *outputs) {
    pithp_program *q = passes < 0 ? p : pithp_program_optimise(s, p, (unsigned)passes);
    pt_ok(s, q);
#ifdef RUN_SCHEDULED
    graph_run_scheduled(s, q, inputs, outputs);
#else
    pithp_executable *exe = pithp_executable_make(s, q, true);
    pt_ok(s, exe);
    graph_run_plan(s, exe, false, inputs, outputs, NULL);
    pithp_executable_free(exe);
#endif
    if (q != p)
        pithp_program_release(q);
}

#endif
