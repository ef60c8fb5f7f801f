/* Type inference of control flow: operands and results against inputs and outputs of the
 * nested programs. */
#include "program/ir/region.h"
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

/* An element of xs: x without its leading extent, which is the length. */
static pith_status check_element(const pithp_call *call,
                                 int number,
                                 const pith_spec *x,
                                 const pith_spec *element,
                                 pithp_refusal *refusal) {
    const pithp_loop_params *l = call->params;
    char expected[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    bool fits = x->dtype == element->dtype && x->rank == element->rank + 1 &&
                x->shape[0] == l->length;
    for (int d = 0; fits && d < element->rank; d++)
        fits = x->shape[d + 1] == element->shape[d];
    if (fits)
        return PITH_OK;
    return pithp_refuse(call, refusal, PITH_E_SHAPE,
                        "x %d: expected %lld times %s, got %s", number,
                        (long long)l->length, pithp_spec_print(element, expected),
                        pithp_spec_print(x, got));
}

/* The inputs of program b are the operands that it takes. */
static pith_status check_inputs(const pithp_call *call,
                                const pithp_regions *r,
                                int b,
                                const char *what,
                                pithp_refusal *refusal) {
    const pithp_program *p = call->programs[b];
    pith_status rc = PITH_OK;
    for (int k = 0; k < p->input_count && rc == PITH_OK; k++) {
        const int o = pithp_region_operand(r, b, k);
        const pithp_operand_group *group = &r->groups[pithp_operand_group_of(r, o)];
        rc =
            group->role == PITHP_OPERAND_XS
                ? check_element(call, o - group->first, call->operands[o],
                                input_spec(p, k), refusal)
                : check_same(call, what, k, input_spec(p, k), call->operands[o], refusal);
    }
    return rc;
}

/* The first outputs of the body are the next carries. */
static pith_status check_carries(const pithp_call *call,
                                 const pithp_regions *r,
                                 pith_spec *results,
                                 pithp_refusal *refusal) {
    pith_status rc = PITH_OK;
    for (int k = 0; k < r->carries.count && rc == PITH_OK; k++) {
        const pith_spec *carry = call->operands[r->carries.first + k];
        results[k] = *carry;
        rc = check_same(call, "the body's result", k, carry,
                        output_spec(call->programs[r->body], k), refusal);
    }
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
    const pithp_regions r =
        pithp_regions_of_call(call->primitive, call->params, call->operand_count);
    char what[40];
    snprintf(what, sizeof what, "branch %d", b);
    pith_status rc = check_count(call, what, p, pithp_region_inputs(&r, b), refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, &r, b, what, refusal);
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

static pith_status
check_while(const pithp_call *call, const pithp_regions *r, pithp_refusal *refusal) {
    const pithp_program *cond = call->programs[0], *body = call->programs[1];
    pith_status rc =
        check_count(call, "the condition", cond, pithp_region_inputs(r, 0), refusal);
    if (rc == PITH_OK)
        rc = check_count(call, "the body", body, pithp_region_inputs(r, 1), refusal);
    if (rc == PITH_OK &&
        (cond->output_count != 1 || body->output_count != r->carries.count))
        return pithp_refuse(call, refusal, PITH_E_STRUCTURE,
                            "the condition returns %lld arrays, not 1, or the body %lld, "
                            "not %d",
                            (long long)cond->output_count, (long long)body->output_count,
                            r->carries.count);
    return rc;
}

static pith_status check_record(const pithp_call *call,
                                const pithp_while_params *w,
                                pithp_refusal *refusal) {
    static const pith_spec rows = {.dtype = PITH_I64, .count = 1, .bytes = 8};
    if (w->most > 0 && call->programs[1]->output_count)
        return check_same(call, "the rows of the record", 0, &rows,
                          output_spec(call->programs[1], 0), refusal);
    return pithp_refuse(
        call, refusal, PITH_E_ARG,
        "expected a record of 1 row or more, and a carry that counts them");
}

pith_status
pithp_infer_while(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const pithp_while_params *w = call->params;
    const pithp_regions r =
        pithp_regions_of_call(call->primitive, w, call->operand_count);
    static const pith_spec truth = {.dtype = PITH_BOOL, .count = 1, .bytes = 1};
    if (w->cond_operands < 0 || w->body_operands < 0 || r.carries.count < 0 ||
        call->program_count != 2)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected 2 programs and at least %d operands, got %d and %d",
                            r.carries.first, call->program_count, call->operand_count);
    pith_status rc = check_while(call, &r, refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, &r, 0, "the condition", refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, &r, 1, "the body", refusal);
    if (rc == PITH_OK && w->most)
        rc = check_record(call, w, refusal);
    if (rc == PITH_OK)
        rc = check_same(call, "the condition's result", 0, &truth,
                        output_spec(call->programs[0], 0), refusal);
    return rc == PITH_OK ? check_carries(call, &r, results, refusal) : rc;
}

/* ---- scan ---- */

int pithp_count_loop(const pithp_call *call) {
    return call->program_count == 1 ? (int)call->programs[0]->output_count : 0;
}

static pith_status stack_spec(const pithp_call *call,
                              const pith_spec *element,
                              pith_spec *result,
                              pithp_refusal *refusal) {
    int64_t shape[PITHP_MAX_RANK + 1] = {
        ((const pithp_loop_params *)call->params)->length};
    if (element->rank >= pithp_call_max_rank(call))
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "an output of rank %d cannot be stacked", element->rank);
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
    const pithp_regions r =
        pithp_regions_of_call(call->primitive, call->params, call->operand_count);
    pith_status rc = check_loop(call, refusal);
    if (rc == PITH_OK)
        rc = check_inputs(call, &r, 0, "the body", refusal);
    if (rc == PITH_OK)
        rc = check_carries(call, &r, results, refusal);
    for (int k = r.carries.count; rc == PITH_OK && k < pithp_count_loop(call); k++)
        rc = stack_spec(call, output_spec(call->programs[0], k), &results[k], refusal);
    return rc;
}
