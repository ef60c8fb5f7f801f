/* Type inference of control flow: operands and results against inputs and outputs of the
 * nested programs. */
#include "program/ir/program.h"
#include "program/op/rules.h"

#include <stdio.h>
#include <string.h>

static pith_status check_programs(const pithp_call *call,
                                  int least_operands,
                                  int programs,
                                  pithp_refusal *refusal) {
    if (call->operand_count < least_operands || call->program_count < programs)
        return pithp_refuse(
            call, refusal, PITH_E_ARG,
            "expected at least %d operands and %d programs, got %d and %d",
            least_operands, programs, call->operand_count, call->program_count);
    return PITH_OK;
}

static pith_status check_count(const pithp_call *call,
                               const char *what,
                               const pithp_program *p,
                               int64_t count,
                               pithp_refusal *refusal) {
    if (p->input_count == count)
        return PITH_OK;
    return pithp_refuse(call, refusal, PITH_E_STRUCTURE, "%s takes %lld arrays, got %lld",
                        what, (long long)p->input_count, (long long)count);
}

/* Compare corresponding specs: "array 2 of the body: expected f64[], got i32[]". */
static pith_status check_same(const pithp_call *call,
                              const char *what,
                              int64_t number,
                              const pith_spec *wanted,
                              const pith_spec *got,
                              pithp_refusal *refusal) {
    char expected[PITHP_SPEC_TEXT_BYTES], text[PITHP_SPEC_TEXT_BYTES];
    if (pithp_spec_same(wanted, got))
        return PITH_OK;
    return pithp_refuse(call, refusal,
                        wanted->dtype == got->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                        "array %lld of %s: expected %s, got %s", (long long)number, what,
                        pithp_spec_print(wanted, expected), pithp_spec_print(got, text));
}

static const pith_spec *input_spec(const pithp_program *p, int64_t k) {
    return p->values[p->inputs[k]].spec;
}
static const pith_spec *output_spec(const pithp_program *p, int64_t k) {
    return p->values[p->outputs[k]].spec;
}

/* Compare inputs of p, from `first` on, with operands. */
static pith_status check_inputs(const pithp_call *call,
                                const char *what,
                                const pithp_program *p,
                                int64_t first,
                                const pith_spec *const *operands,
                                int64_t count,
                                pithp_refusal *refusal) {
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < count && rc == PITH_OK; k++)
        rc = check_same(call, what, first + k, input_spec(p, first + k), operands[k],
                        refusal);
    return rc;
}

/* ---- cond ---- */

int pithp_count_cond(const pithp_call *call) {
    return call->program_count ? (int)call->programs[0]->output_count : 0;
}

static pith_status check_index(const pithp_call *call, pithp_refusal *refusal) {
    char got[PITHP_SPEC_TEXT_BYTES];
    const pith_status rc = check_programs(call, 1, 1, refusal);
    if (rc != PITH_OK)
        return rc;
    const pith_spec *index = call->operands[0];
    if (index->rank != 0 || pith_dtype_is_float(index->dtype))
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected an integer or bool of rank 0, got %s",
                            pithp_spec_print(index, got));
    if (index->dtype == PITH_BOOL && call->program_count != 2)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "a bool index selects between 2 branches, got %d",
                            call->program_count);
    return PITH_OK;
}

static pith_status check_branch(const pithp_call *call, int b, pithp_refusal *refusal) {
    const pithp_program *p = call->programs[b], *first = call->programs[0];
    const int64_t count = call->operand_count - 1;
    char what[40];
    snprintf(what, sizeof what, "branch %d", b);
    pith_status rc = check_count(call, what, p, count, refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, what, p, 0, call->operands + 1, count, refusal);
    if (rc == PITH_OK && p->output_count != first->output_count)
        return pithp_refuse(
            call, refusal, PITH_E_STRUCTURE, "branch 0 returns %lld arrays, %s %lld",
            (long long)first->output_count, what, (long long)p->output_count);
    snprintf(what, sizeof what, "the result of branch %d", b);
    for (int64_t k = 0; k < p->output_count && rc == PITH_OK; k++)
        rc = check_same(call, what, k, output_spec(first, k), output_spec(p, k), refusal);
    return rc;
}

pith_status
pithp_infer_cond(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    pith_status rc = check_index(call, refusal);
    for (int b = 0; b < call->program_count && rc == PITH_OK; b++)
        rc = check_branch(call, b, refusal);
    for (int k = 0; rc == PITH_OK && k < pithp_count_cond(call); k++)
        results[k] = *output_spec(call->programs[0], k);
    return rc;
}

/* ---- while ---- */

int pithp_count_while(const pithp_call *call) {
    return call->program_count == 2 ? (int)call->programs[1]->output_count : 0;
}

pith_status
pithp_infer_while(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const pithp_while_params *w = call->params;
    const int fixed = w->cond_operands + w->body_operands;
    const int carries = call->operand_count - fixed;
    const pith_spec *const *operands = call->operands;
    static const pith_spec truth = {.dtype = PITH_BOOL, .count = 1, .bytes = 1};
    if (w->cond_operands < 0 || w->body_operands < 0 || carries < 0 ||
        call->program_count != 2)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected 2 programs and at least %d operands, got %d and %d",
                            fixed, call->program_count, call->operand_count);
    const pithp_program *cond = call->programs[0], *body = call->programs[1];
    pith_status rc =
        check_count(call, "the condition", cond, w->cond_operands + carries, refusal);
    if (rc == PITH_OK)
        rc = check_count(call, "the body", body, w->body_operands + carries, refusal);
    if (rc == PITH_OK && (cond->output_count != 1 || body->output_count != carries))
        return pithp_refuse(call, refusal, PITH_E_STRUCTURE,
                            "the condition returns %lld arrays, not 1, or the body %lld, "
                            "not %d",
                            (long long)cond->output_count, (long long)body->output_count,
                            carries);
    if (rc == PITH_OK)
        rc = check_inputs(call, "the condition", cond, 0, operands, w->cond_operands,
                          refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, "the condition", cond, w->cond_operands, operands + fixed,
                          carries, refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, "the body", body, 0, operands + w->cond_operands,
                          w->body_operands, refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, "the body", body, w->body_operands, operands + fixed,
                          carries, refusal);
    if (rc == PITH_OK)
        rc = check_same(call, "the condition's result", 0, &truth, output_spec(cond, 0),
                        refusal);
    for (int k = 0; k < carries && rc == PITH_OK; k++) {
        results[k] = *operands[fixed + k];
        rc = check_same(call, "the body's result", k, operands[fixed + k],
                        output_spec(body, k), refusal);
    }
    return rc;
}

/* ---- scan ---- */

int pithp_count_loop(const pithp_call *call) {
    return call->program_count == 1 ? (int)call->programs[0]->output_count : 0;
}

/* Compare an element of x with the body's input: x without its leading extent, which is
 * the length. */
static pith_status check_element(const pithp_call *call,
                                 int operand,
                                 const pith_spec *element,
                                 pithp_refusal *refusal) {
    const pithp_loop_params *l = call->params;
    const pith_spec *x = call->operands[operand];
    char expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    bool fits = x->dtype == element->dtype && x->rank == element->rank + 1 &&
                x->shape[0] == l->length;
    for (int d = 0; fits && d < element->rank; d++)
        fits = x->shape[d + 1] == element->shape[d];
    if (fits)
        return PITH_OK;
    return pithp_refuse(call, refusal, PITH_E_SHAPE,
                        "x %d: expected %lld times %s, got %s",
                        operand - l->constants - l->carries, (long long)l->length,
                        pithp_spec_print(element, expected), pithp_spec_print(x, got));
}

static pith_status stack_spec(const pithp_call *call,
                              const pith_spec *element,
                              pith_spec *result,
                              pithp_refusal *refusal) {
    int64_t shape[PITH_MAX_RANK + 1] = {
        ((const pithp_loop_params *)call->params)->length};
    if (element->rank == PITH_MAX_RANK)
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "an output of rank %d cannot be stacked", PITH_MAX_RANK);
    memcpy(shape + 1, element->shape, (size_t)element->rank * sizeof *shape);
    return pithp_spec_fill(call, refusal, result, element->dtype, element->rank + 1,
                           shape);
}

static pith_status check_loop(const pithp_call *call, pithp_refusal *refusal) {
    const pithp_loop_params *l = call->params;
    if (l->constants < 0 || l->carries < 0 || l->length < 0 || call->program_count != 1 ||
        l->constants + l->carries > call->operand_count)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected a program and at least %d operands, got %d and %d",
                            l->constants + l->carries, call->program_count,
                            call->operand_count);
    const pithp_program *body = call->programs[0];
    if (body->output_count < l->carries)
        return pithp_refuse(call, refusal, PITH_E_STRUCTURE,
                            "the body returns %lld arrays, but there are %d carries",
                            (long long)body->output_count, l->carries);
    return check_count(call, "the body", body, call->operand_count, refusal);
}

pith_status
pithp_infer_loop(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const pithp_loop_params *l = call->params;
    const int fixed = l->constants + l->carries;
    pith_status rc = check_loop(call, refusal);
    if (rc != PITH_OK)
        return rc;
    const pithp_program *body = call->programs[0];
    rc = check_inputs(call, "the body", body, 0, call->operands, fixed, refusal);
    for (int k = fixed; k < call->operand_count && rc == PITH_OK; k++)
        rc = check_element(call, k, input_spec(body, k), refusal);
    for (int k = 0; k < pithp_count_loop(call) && rc == PITH_OK; k++) {
        const pith_spec *spec = output_spec(body, k);
        if (k >= l->carries) {
            rc = stack_spec(call, spec, &results[k], refusal);
            continue;
        }
        results[k] = *spec;
        rc = check_same(call, "the body's result", k, call->operands[l->constants + k],
                        spec, refusal);
    }
    return rc;
}
