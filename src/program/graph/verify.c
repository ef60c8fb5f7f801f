/* The verifier: what every program must be, however it was made. */
#include "program/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pith_status wrong(pithp_refusal *why, const char *format, ...) PITH_FORMAT(2, 3);

static pith_status wrong(pithp_refusal *why, const char *format, ...) {
    va_list arguments;
    why->code = PITH_E_INTERNAL;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return why->code;
}

static bool same_spec(const pith_spec *a, const pith_spec *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

/* Every value is what its origin says it is. */
static pith_status verify_values(const pithp_program *p, pithp_refusal *why) {
    if (p->value_count != p->input_count + p->constant_count + p->instruction_count)
        return wrong(
            why, "%lld values, but %lld inputs, constants and instructions",
            (long long)p->value_count,
            (long long)(p->input_count + p->constant_count + p->instruction_count));
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_node *n = &p->values[v];
        const int64_t count = n->origin == PITHP_FROM_INPUT      ? p->input_count
                              : n->origin == PITHP_FROM_CONSTANT ? p->constant_count
                                                                 : p->instruction_count;
        if (!n->spec || n->at < 0 || n->at >= count)
            return wrong(why, "value %lld has no spec or no origin", (long long)v);
        const pithp_value made = n->origin == PITHP_FROM_INPUT ? p->inputs[n->at]
                                 : n->origin == PITHP_FROM_CONSTANT
                                     ? p->constants[n->at].value
                                     : p->instructions[n->at].result;
        if (made != v)
            return wrong(why, "value %lld is not what its origin makes", (long long)v);
        if (n->origin == PITHP_FROM_INPUT && v != n->at)
            return wrong(why, "input %d comes behind other values", n->at);
    }
    return PITH_OK;
}

/* The result's spec and the parameters are those that follow from the call. */
static pith_status verify_call(const pithp_program *p,
                               const pithp_instruction *i,
                               const pith_spec **specs,
                               pithp_refusal *why) {
    const char *name = pithp_rows[i->primitive].name;
    const pithp_call call = pithp_instruction_call(p, i, specs);
    const size_t bytes = pithp_params_bytes(i->primitive);
    char canonical[sizeof(pithp_full_params) + sizeof(pithp_slice_params)] = {0};
    pith_spec spec;
    if ((bytes > 0) != (i->params != NULL))
        return wrong(why, "%%%d: %s with%s parameters", i->result, name,
                     bytes ? "out" : "");
    if (pithp_infer(&call, &spec, why) != PITH_OK)
        return PITH_E_INTERNAL;
    if (!same_spec(&spec, p->values[i->result].spec)) {
        char wanted[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
        return wrong(why, "%%%d: %s makes %s, but the value is %s", i->result, name,
                     pithp_spec_print(&spec, wanted),
                     pithp_spec_print(p->values[i->result].spec, got));
    }
    pithp_params_copy(&call, canonical);
    if (bytes && memcmp(canonical, i->params, bytes) != 0)
        return wrong(why, "%%%d: the parameters of %s are not canonical", i->result,
                     name);
    return PITH_OK;
}

static pith_status verify_instruction(const pithp_program *p,
                                      const pithp_instruction *i,
                                      pithp_refusal *why) {
    if ((unsigned)i->primitive >= PITHP_PRIMITIVE_COUNT)
        return wrong(why, "%%%d: no such primitive (%d)", i->result, (int)i->primitive);
    if (i->operand_count < 0 || i->first_operand < 0 ||
        i->first_operand + i->operand_count > p->operand_count)
        return wrong(why, "%%%d: operands beyond the program's", i->result);
    for (int k = 0; k < i->operand_count; k++) {
        const pithp_value v = pithp_operands(p, i)[k];
        if (v < 0 || v >= i->result)
            return wrong(why, "%%%d: operand %d is %%%d, which is not made before",
                         i->result, k, v);
    }
    const pith_spec *few[PITHP_FEW_OPERANDS], **specs = few;
    const size_t bytes = (size_t)i->operand_count * sizeof *specs;
    if (i->operand_count > PITHP_FEW_OPERANDS)
        specs = pithp_allocate(p->runtime, bytes);
    if (!specs)
        return PITH_OK; /* memory is short: nothing is known to be wrong */
    const pith_status rc = verify_call(p, i, specs, why);
    if (specs != few)
        pithp_release(p->runtime, specs, bytes);
    return rc;
}

pith_status pithp_program_verify(const pithp_program *p, pithp_refusal *why) {
    pith_status rc = verify_values(p, why);
    pithp_value last = -1;
    for (int64_t k = 0; k < p->instruction_count && rc == PITH_OK; k++) {
        if (p->instructions[k].result <= last)
            return wrong(why, "instruction %lld is out of order", (long long)k);
        last = p->instructions[k].result;
        rc = verify_instruction(p, &p->instructions[k], why);
    }
    for (int64_t k = 0; k < p->output_count && rc == PITH_OK; k++)
        if (p->outputs[k] < 0 || p->outputs[k] >= p->value_count)
            return wrong(why, "output %lld is %%%d, which is no value", (long long)k,
                         p->outputs[k]);
    return rc;
}

void pithp_program_must_verify(const pithp_program *p) {
    pithp_refusal why = {.text = ""};
    const bool good = pithp_program_verify(p, &why) == PITH_OK;
    if (!good)
        pithp_log(p->runtime, PITH_LOG_ERROR, "a program is wrong: %s", why.text);
    PITH_ASSERT(good);
}
