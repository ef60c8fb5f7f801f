/* Type inference of instructions with a report: kernel calls, and indexing calls in mode
 * error. The report is their last result. */
#include "program/op/kernel_call.h"

#include "program/op/rules.h"

#include <inttypes.h>
#include <string.h>

/* The spec of a result; in a batch of kernels with the axis of the entries. */
static pith_status result_spec(const pithp_call *call,
                               const pithp_kernel_binding *batch,
                               pith_spec *result,
                               pithp_refusal *refusal,
                               const pith_spec *entry) {
    int64_t shape[PITHP_MAX_RANK + 1];
    const int more = batch && batch->batched;
    if (more)
        shape[0] = batch->entries;
    memcpy(shape + more, entry->shape, (size_t)entry->rank * sizeof *shape);
    return pithp_spec_fill(call, refusal, result, entry->dtype, entry->rank + more,
                           shape);
}

static pith_status report_spec(const pithp_call *call,
                               const pithp_kernel_binding *batch,
                               pith_spec *result,
                               pithp_refusal *refusal) {
    const pith_spec words = {
        .dtype = PITH_U64, .rank = 1, .shape = {sizeof(pith_report) / sizeof(uint64_t)}};
    return result_spec(call, batch, result, refusal, &words);
}

/* ---- kernel ---- */

uint64_t pithp_kernel_value(const pith_kernel_arg *arg, const pith_operand *operand) {
    uint64_t bits = (uint64_t)operand->integer;
    if (arg->role == PITH_ROLE_SIZE)
        return 0;
    if (arg->dtype == PITH_F32 || arg->dtype == PITH_F64)
        memcpy(&bits, &operand->number, sizeof bits);
    return bits;
}

static pith_operand operand_of(const pith_kernel_arg *arg, uint64_t bits) {
    pith_operand operand = {.integer = (int64_t)bits};
    if (arg->dtype == PITH_F32 || arg->dtype == PITH_F64) {
        operand.integer = 0;
        memcpy(&operand.number, &bits, sizeof bits);
    }
    return operand;
}

int pithp_count_kernel(const pithp_call *call) {
    const pith_kernel_variant *k = ((const pithp_kernel_params *)call->params)->kernel;
    int count = 1;
    for (int i = 0; i < k->arg_count; i++)
        count += pithp_kernel_is_made(k->args[i].role);
    return count;
}

/* The batch of a call. */
static void take_batch(pithp_kernel_binding *b, const pithp_kernel_params *params) {
    b->batched = params->batched;
    b->masked = params->masked;
    b->entries = params->entries;
    b->mapped = (uint32_t)params->mapped;
    for (int i = 0; b->batched && i < b->kernel->arg_count; i++)
        if (pithp_kernel_is_made(b->kernel->args[i].role))
            b->mapped |= 1u << i;
}

/* Replace the spec of a mapped operand by an entry's. */
static pith_status take_entry(pithp_kernel_binding *b, int argument, pithp_error *e) {
    const pith_spec *array = b->specs[argument];
    char text[PITHP_SPEC_TEXT_BYTES];
    if (!array || !(b->mapped >> argument & 1))
        return PITH_OK;
    b->specs[argument] = &b->made[argument];
    if (pithp_kernel_entry(array, b->entries, &b->made[argument]))
        return PITH_OK;
    pithp_error_set(e, PITH_E_SHAPE, NULL, NULL,
                    "%s: %s: expected %" PRId64 " entries along axis 0, got %s",
                    b->kernel->name, b->kernel->args[argument].name, b->entries,
                    pithp_spec_print(array, text));
    return PITH_E_SHAPE;
}

pith_status
pithp_kernel_call_bind(const pithp_call *call, pithp_kernel_call *k, pithp_error *e) {
    const pithp_kernel_params *params = call->params;
    const pith_kernel_variant *variant = params->kernel;
    int given = 0;
    k->binding.kernel = variant;
    k->binding.operands = k->operands;
    take_batch(&k->binding, params);
    for (int i = 0; i < variant->arg_count; i++) {
        const bool takes = pithp_kernel_is_given(variant->args[i].role);
        k->operands[i] = operand_of(&variant->args[i], params->values[i]);
        k->binding.specs[i] =
            takes && given < call->operand_count ? call->operands[given] : NULL;
        given += takes;
        if (takes && take_entry(&k->binding, i, e) != PITH_OK)
            return e->code;
    }
    given += params->masked;
    if (given == call->operand_count)
        return pithp_kernel_bind(&k->binding, e);
    pithp_error_set(e, PITH_E_ARG, NULL, NULL, "%s: expected %d arrays, got %d",
                    variant->name, given, call->operand_count);
    return PITH_E_ARG;
}

pith_status
pithp_infer_kernel(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    pithp_kernel_call k;
    pithp_error e;
    if (pithp_kernel_call_bind(call, &k, &e) != PITH_OK)
        return pithp_refuse(call, refusal, e.code, "%s", e.text);
    const pith_kernel_variant *variant = k.binding.kernel;
    pith_status rc = PITH_OK;
    for (int i = 0; i < variant->arg_count && rc == PITH_OK; i++) {
        const pith_spec *spec = k.binding.specs[i];
        if (pithp_kernel_is_made(variant->args[i].role))
            rc = result_spec(call, &k.binding, results++, refusal, spec);
    }
    return rc == PITH_OK ? report_spec(call, &k.binding, results, refusal) : rc;
}

/* ---- checked ---- */

int pithp_count_checked(const pithp_call *call) {
    (void)call;
    return 2;
}

pith_status
pithp_infer_checked(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const pithp_call inner = pithp_checked_call(call);
    const pith_status rc = pithp_infer(&inner, results, refusal);
    return rc == PITH_OK ? report_spec(call, NULL, results + 1, refusal) : rc;
}
