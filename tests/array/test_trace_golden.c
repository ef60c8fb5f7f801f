/* Every operation that the golden cases know, traced: each case is recorded as a program,
 * optimised and run by a plan, and has to give what it gives when it is called. */
#include "array/array_internal.h"
#include "oracle.h"
#include "pith_test.h"
#include "program/interpret/plan.h"
#include "program/pass/pass.h"

enum { TEXT_BYTES = 16384 };

/* Record the call: its operands become inputs, its results outputs. NULL: refused. */
static pithp_program *record(pith_scope *s, const oracle_row *row, oracle_call *call) {
    pith_scope *inner = pith_scope_open_in(s);
    pithp_trace *t = pithp_trace_begin(inner);
    const pith_array *given[ORACLE_OPERANDS];
    memcpy(given, call->in, sizeof given);
    for (int k = 0; k < call->count; k++)
        call->in[k] = pithp_trace_input(inner, t, pith_array_spec(given[k]));
    row->run(inner, row, call);
    for (int k = 0; k < call->results && !pith_failed(inner); k++)
        if (pithp_operand_check(inner, call->out[k], row->op, "result") == PITH_OK)
            pithp_program_output(inner, t->program,
                                 pithp_trace_value(inner, t, call->out[k]));
    memcpy(call->in, given, sizeof given);
    pithp_program *p = pithp_trace_end(inner, t);
    const bool failed = pith_failed(inner);
    pith_scope_close(inner);
    if (!failed)
        return p;
    pithp_program_release(p);
    return NULL;
}

static const pith_array *output_of(pith_scope *s,
                                   const pithp_plan *plan,
                                   const oracle_call *call,
                                   void *const *made,
                                   int k) {
    const pithp_program *p = plan->program;
    const pith_spec *spec = pithp_value_spec(p, p->outputs[k]);
    const pithp_place place = pithp_plan_output(plan, k);
    const void *data = place.store == PITHP_IN_INPUT ? call->in[place.at]->data
                       : place.store == PITHP_IN_LITERALS
                           ? (char *)plan->literals->data + place.at
                       : place.store == PITHP_IN_CONSTANT ? p->constants[place.at].data
                                                          : made[place.at];
    pith_array *a = pithp_array_make(s, spec);
    if (a && spec->bytes && a->data != data)
        pithp_copy(s, a->data, data, spec->bytes);
    return a;
}

static void run_program(pith_scope *s, pithp_program *p, oracle_call *call) {
    const void *inputs[ORACLE_OPERANDS];
    void *made[ORACLE_RESULTS];
    for (int k = 0; k < call->count; k++)
        inputs[k] = call->in[k]->data;
    for (int k = 0; k < call->results; k++)
        made[k] = pithp_array_make(s, pithp_value_spec(p, p->outputs[k]))->data;
    pithp_plan *plan = pithp_plan_make(s, p, true);
    pt_ok(s, plan);
    pithp_plan_run(s, plan, inputs, made);
    for (int k = 0; k < call->results && !pith_failed(s); k++)
        call->out[k] = output_of(s, plan, call, made, k);
    pithp_plan_free(plan);
}

static void call_traced(pith_scope *s, const oracle_row *row, oracle_call *call) {
    pithp_program *p = record(s, row, call);
    if (!p)
        return;
    pithp_refusal why;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s: %s", row->op, why.text);
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pithp_program_release(p);
    pt_ok(s, better);
    run_program(s, better, call);
    pithp_program_release(better);
}

static void run_family(const char *name) {
    static char text[TEXT_BYTES];
    const oracle_mode traced = {"traced", call_traced, NULL, NULL};
    pith_runtime *rt = pt_open();
    golden_family *g = golden_read(PITH_GOLDEN_DIR, name);
    cr_assert(g, "there is no golden family %s", name);
    int64_t failed = 0, passed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_json *informative = golden_get(one, "informative");
        oracle_case(rt, &traced, g, one, text, sizeof text);
        if (informative && informative->kind == 't')
            continue;
        passed += !text[0];
        failed += text[0] != 0;
        if (text[0])
            fprintf(stderr, "%s (%s): %s", golden_text(one, "name"),
                    golden_text(one, "op"), text);
    }
    cr_assert(failed == 0 && passed > 0, "%lld of %lld cases of %s differ",
              (long long)failed, (long long)(failed + passed), name);
    pt_close(rt);
}

#define FAMILY(name)                                                                     \
    Test(trace, golden_cases_of_##name##_traced) {                                       \
        run_family(#name);                                                               \
    }
FAMILY(elementwise)
FAMILY(transcendental)
FAMILY(cast)
FAMILY(reduce)
FAMILY(index)
FAMILY(shape)
FAMILY(order)
FAMILY(product)
FAMILY(random)
