/* Verifier: invariants of programs. */
#include "base/format.h"
#include "program/ir/program.h"

#include <stdarg.h>
#include <string.h>

static pith_status wrong(pithp_refusal *why, const char *format, ...) PITH_FORMAT(2, 3);

static pith_status wrong(pithp_refusal *why, const char *format, ...) {
    va_list arguments;
    why->code = PITH_E_INTERNAL;
    va_start(arguments, format);
    pithp_format_v(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return why->code;
}

/* Every value matches its origin. */
static pith_status verify_values(const pithp_program *p, pithp_refusal *why) {
    int64_t made = p->input_count + p->constant_count;
    for (int64_t k = 0; k < p->instruction_count; k++)
        made += p->instructions[k].result_count;
    if (p->value_count != made)
        return wrong(why, "%lld values, but %lld inputs, constants and results",
                     (long long)p->value_count, (long long)made);
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_value_info *n = &p->values[v];
        const int64_t count = n->origin == PITHP_FROM_INPUT      ? p->input_count
                              : n->origin == PITHP_FROM_CONSTANT ? p->constant_count
                                                                 : p->instruction_count;
        if (!n->spec || n->at < 0 || n->at >= count)
            return wrong(why, "value %lld has no spec or no origin", (long long)v);
        const pithp_instruction *i =
            n->origin == PITHP_FROM_INSTRUCTION ? &p->instructions[n->at] : NULL;
        const pithp_value first = i ? i->result
                                  : n->origin == PITHP_FROM_INPUT
                                      ? p->inputs[n->at]
                                      : p->constants[n->at].value;
        if (v < first || v - first >= (i ? i->result_count : 1))
            return wrong(why, "value %lld does not match its origin", (long long)v);
        if (n->origin == PITHP_FROM_INPUT && v != n->at)
            return wrong(why, "input %d comes after other values", n->at);
    }
    return PITH_OK;
}

/* The results' specs equal the inferred ones. */
static pith_status verify_results(const pithp_program *p,
                                  const pithp_instruction *i,
                                  const pithp_call *call,
                                  pithp_refusal *why) {
    pith_spec one, *specs = &one;
    const char *name = pithp_ops[i->primitive].name;
    const int count = pithp_result_count(call);
    const size_t bytes = (size_t)count * sizeof *specs;
    if (count != i->result_count)
        return wrong(why, "%%%d: %s makes %d results, but there are %d", i->result, name,
                     count, i->result_count);
    if (count > 1 && !(specs = pithp_allocate(p->runtime, bytes)))
        return PITH_OK; /* out of memory: no fault was found */
    pith_status rc = pithp_infer(call, specs, why) == PITH_OK ? PITH_OK : PITH_E_INTERNAL;
    for (int k = 0; k < count && rc == PITH_OK; k++) {
        const pith_spec *made = p->values[i->result + k].spec;
        char wanted[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
        if (!pithp_spec_same(&specs[k], made))
            rc = wrong(why, "%%%d: %s makes %s, but the value is %s", i->result + k, name,
                       pithp_spec_print(&specs[k], wanted), pithp_spec_print(made, got));
    }
    if (specs != &one)
        pithp_release(p->runtime, specs, bytes);
    return rc;
}

static pith_status
verify_programs(const pithp_program *p, const pithp_instruction *i, pithp_refusal *why) {
    pith_status rc = PITH_OK;
    for (int k = 0; k < i->program_count && rc == PITH_OK; k++) {
        pithp_refusal inner;
        rc = i->programs[k]->runtime == p->runtime
                 ? pithp_program_verify(i->programs[k], &inner)
                 : wrong(&inner, "belongs to another runtime");
        if (rc != PITH_OK)
            wrong(why, "%%%d: program %d: %.400s", i->result, k, inner.text);
    }
    return rc;
}

/* Results, nested programs and parameters agree with the call. */
static pith_status verify_call(const pithp_program *p,
                               const pithp_instruction *i,
                               const pith_spec **specs,
                               pithp_refusal *why) {
    const char *name = pithp_ops[i->primitive].name;
    const pithp_call call = pithp_instruction_call(p, i, specs);
    const size_t bytes = pithp_params_bytes(i->primitive);
    char canonical[sizeof(pithp_full_params) + sizeof(pithp_slice_params)] = {0};
    if ((bytes > 0) != (i->params != NULL))
        return wrong(why, "%%%d: %s with%s parameters", i->result, name,
                     bytes ? "out" : "");
    pith_status rc = verify_programs(p, i, why);
    if (rc == PITH_OK)
        rc = verify_results(p, i, &call, why);
    if (rc != PITH_OK)
        return rc;
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
    if (i->result_count < 0 || i->program_count < 0)
        return wrong(why, "%%%d: negative counts", i->result);
    if (i->operand_count < 0 || i->first_operand < 0 ||
        i->first_operand + i->operand_count > p->operand_count)
        return wrong(why, "%%%d: operands beyond the program's", i->result);
    for (int k = 0; k < i->operand_count; k++) {
        const pithp_value v = pithp_operands(p, i)[k];
        if (v < 0 || v >= i->result)
            return wrong(why, "%%%d: operand %d is %%%d, which is not defined before",
                         i->result, k, v);
    }
    if (i->remat.group < 0 || i->remat.group > p->groups || i->remat.stage > p->stages)
        return wrong(why, "%%%d: group %d or stage %d beyond the program's", i->result,
                     i->remat.group, i->remat.stage);
    const pith_spec *few[PITHP_FEW_OPERANDS], **specs = few;
    const size_t bytes = (size_t)i->operand_count * sizeof *specs;
    if (i->operand_count > PITHP_FEW_OPERANDS)
        specs = pithp_allocate(p->runtime, bytes);
    if (!specs)
        return PITH_OK; /* out of memory: no fault was found */
    const pith_status rc = verify_call(p, i, specs, why);
    if (specs != few)
        pithp_release(p->runtime, specs, bytes);
    return rc;
}

pith_status pithp_program_verify(const pithp_program *p, pithp_refusal *why) {
    pith_status rc = verify_values(p, why);
    pithp_value next = 0;
    for (int64_t k = 0; k < p->instruction_count && rc == PITH_OK; k++) {
        if (p->instructions[k].result < next)
            return wrong(why, "instruction %lld is out of order", (long long)k);
        next = p->instructions[k].result + p->instructions[k].result_count;
        rc = verify_instruction(p, &p->instructions[k], why);
        if (rc == PITH_OK && pithp_has_effects(&p->instructions[k]) && !p->has_effects)
            rc = wrong(why, "instruction %lld has effects, but the program has none",
                       (long long)k);
        if (rc == PITH_OK && pithp_has_marks(&p->instructions[k]) && !p->has_marks)
            rc = wrong(why, "instruction %lld is a mark, but the program has none",
                       (long long)k);
    }
    for (int64_t k = 0; k < p->output_count && rc == PITH_OK; k++)
        if (p->outputs[k] < 0 || p->outputs[k] >= p->value_count)
            return wrong(why, "output %lld is %%%d, not a value", (long long)k,
                         p->outputs[k]);
    return rc;
}

void pithp_program_must_verify(const pithp_program *p) {
    pithp_refusal why = {.text = ""};
    const bool good = pithp_program_verify(p, &why) == PITH_OK;
    if (!good)
        pithp_log(p->runtime, PITH_LOG_ERROR, "invalid program: %s", why.text);
    PITH_ASSERT(good);
}
