/* The rules of control flow: how operands and results belong to those of the programs. */
#include "program/graph/graph.h"
#include "program/rules.h"

#include <stdio.h>

/* A program's inputs are operands from `first` on. */
static pith_status check_inputs(const pithp_call *call,
                                const char *what,
                                const pithp_program *p,
                                const pith_spec *const *operands,
                                int64_t count,
                                pithp_refusal *refusal) {
    if (p->input_count != count)
        return pithp_refuse(call, refusal, PITH_E_STRUCTURE,
                            "%s takes %lld arrays, but gets %lld", what,
                            (long long)p->input_count, (long long)count);
    for (int64_t k = 0; k < count; k++) {
        const pith_spec *wanted = p->values[p->inputs[k]].spec;
        char expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
        if (!pithp_spec_same(wanted, operands[k]))
            return pithp_refuse(
                call, refusal,
                wanted->dtype == operands[k]->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                "array %lld of %s: expected %s, got %s", (long long)k, what,
                pithp_spec_print(wanted, expected), pithp_spec_print(operands[k], got));
    }
    return PITH_OK;
}

/* ---- cond ---- */

int pithp_count_cond(const pithp_call *call) {
    return call->program_count ? (int)call->programs[0]->output_count : 0;
}

static pith_status check_index(const pithp_call *call, pithp_refusal *refusal) {
    char got[PITHP_SPEC_TEXT_BYTES];
    if (call->operand_count < 1 || call->program_count < 1)
        return pithp_refuse(call, refusal, PITH_E_ARG, "expected an index and programs");
    const pith_spec *index = call->operands[0];
    if (index->rank != 0 || pith_dtype_is_float(index->dtype))
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected an integer or bool of rank 0, got %s",
                            pithp_spec_print(index, got));
    if (index->dtype == PITH_BOOL && call->program_count != 2)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "a bool chooses between 2 branches, but there are %d",
                            call->program_count);
    return PITH_OK;
}

pith_status
pithp_infer_cond(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    pith_status rc = check_index(call, refusal);
    for (int b = 0; b < call->program_count && rc == PITH_OK; b++) {
        const pithp_program *p = call->programs[b];
        char what[32], expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
        snprintf(what, sizeof what, "branch %d", b);
        rc = check_inputs(call, what, p, call->operands + 1, call->operand_count - 1,
                          refusal);
        const int64_t count = pithp_count_cond(call);
        if (rc == PITH_OK && p->output_count != count)
            return pithp_refuse(call, refusal, PITH_E_STRUCTURE,
                                "branch 0 gives %lld arrays, %s %lld", (long long)count,
                                what, (long long)p->output_count);
        for (int64_t k = 0; k < count && rc == PITH_OK; k++) {
            const pith_spec *spec = p->values[p->outputs[k]].spec;
            if (b == 0)
                results[k] = *spec;
            else if (!pithp_spec_same(&results[k], spec))
                rc = pithp_refuse(call, refusal, PITH_E_SHAPE,
                                  "result %lld: branch 0 gives %s, %s %s", (long long)k,
                                  pithp_spec_print(&results[k], expected), what,
                                  pithp_spec_print(spec, got));
        }
    }
    return rc;
}
