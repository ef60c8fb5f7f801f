/* Kernel launches on arrays: called by the launch function of every kernel (kernel.h).
 * Validation and packing are in src/gpu/kernel; here arrays become specs and
 * addresses. */
#include "array/checks/checks.h"
#include "gpu/kernel/kernel_internal.h"
#include "program/op/kernel_call.h"

#include <string.h>

/* Check the given arrays: live, concrete, of this runtime. Finds the real dtype among
 * them. */
static pith_status take_given(pith_scope *s, pithp_kernel_binding *b, pith_dtype *real) {
    const pith_kernel_variant *k = b->kernel;
    for (int i = 0; i < k->arg_count; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        const pith_array *a = b->operands[i].array;
        b->specs[i] = NULL;
        if (!pithp_kernel_is_given(arg->role))
            continue;
        const pith_status rc = pithp_operand_check(s, a, k->name, arg->name);
        if (rc != PITH_OK)
            return rc;
        b->specs[i] = pithp_array_spec(a);
        if (arg->real && *real == PITH_DTYPE_NONE)
            *real = b->specs[i]->dtype;
    }
    return PITH_OK;
}

/* Make the out and inout arrays, in order; an inout array starts as a copy of its
 * operand. */
static pith_status make_results(pith_scope *s,
                                const pithp_kernel_binding *b,
                                const pith_array **made,
                                void **data) {
    const pith_kernel_variant *k = b->kernel;
    const pith_spec *specs[PITH_KERNEL_MAX_ARGS];
    int64_t count = 0;
    for (int i = 0; i < k->arg_count; i++)
        if (pithp_kernel_is_made(k->args[i].role))
            specs[count++] = b->specs[i];
    pith_status rc = pithp_arrays_make(s, count, specs, made);
    for (int i = 0, next = 0; i < k->arg_count && rc == PITH_OK; i++) {
        const pith_array *given = b->operands[i].array;
        if (k->args[i].role == PITH_ROLE_IN) {
            data[i] = given->data;
        } else if (pithp_kernel_is_made(k->args[i].role)) {
            data[i] = made[next++]->data;
            if (given && b->specs[i]->bytes)
                rc = pithp_copy(s, data[i], given->data, b->specs[i]->bytes);
        }
    }
    return rc;
}

/* Check the operands, and determine the results. */
static pith_status
bind(pith_scope *s, pithp_kernel_binding *b, const pith_kernel *kernel, pith_dtype real) {
    pithp_error e;
    b->kernel = pithp_kernel_any(s, kernel);
    if (!b->kernel || take_given(s, b, &real) != PITH_OK ||
        !(b->kernel = pithp_kernel_choose(s, kernel, real)))
        return s->error.code;
    if (pithp_kernel_bind(b, &e) != PITH_OK)
        return pithp_fail(s, e.code, NULL, "%s", e.text);
    for (int i = 0; i < b->kernel->arg_count; i++) {
        const pith_spec *made = &b->made[i];
        if (b->kernel->args[i].role == PITH_ROLE_OUT &&
            !(b->specs[i] = pithp_spec(s, made->dtype, made->rank, made->shape)))
            return s->error.code;
    }
    return PITH_OK;
}

/* ---- Recording ---- */

static void
record(pith_scope *s, const pithp_kernel_binding *b, const pith_array **results) {
    const pith_kernel_variant *k = b->kernel;
    const pith_array *given[PITH_KERNEL_MAX_ARGS];
    const pith_array *made[PITH_KERNEL_MAX_ARGS + 1] = {0};
    pithp_kernel_params params = {.kernel = k};
    int count = 0, made_count = 0;
    for (int i = 0; i < k->arg_count; i++) {
        if (pithp_kernel_is_given(k->args[i].role))
            given[count++] = b->operands[i].array;
        else
            params.values[i] = pithp_kernel_value(&k->args[i], &b->operands[i]);
        made_count += pithp_kernel_is_made(k->args[i].role);
    }
    if (pithp_trace_bind_many(s, PITHP_OP_KERNEL, count, given, &params, made) !=
            PITH_OK ||
        pithp_trace_report(s, made[made_count], pithp_kernel_describe, k, true) !=
            PITH_OK)
        return;
    memcpy(results, made, (size_t)made_count * sizeof *made);
}

void pith_kernel_launch(pith_scope *s,
                        const pith_kernel *kernel,
                        pith_dtype real,
                        const pith_operand *operands,
                        const pith_array **results) {
    if (!pithp_enter(s))
        return;
    if (!operands || !results) {
        pithp_fail(s, PITH_E_ARG, NULL, "operands and results are NULL");
        return;
    }
    pithp_kernel_binding b;
    b.operands = operands;
    b.batched = b.masked = false;
    b.mapped = 0;
    if (bind(s, &b, kernel, real) != PITH_OK)
        return;
    if (PITHP_UNLIKELY(pithp_scope_trace(s))) { /* it may report */
        record(s, &b, results);
        return;
    }
    const pith_array *made[PITH_KERNEL_MAX_ARGS] = {0};
    void *data[PITH_KERNEL_MAX_ARGS] = {0};
    const bool ran = make_results(s, &b, made, data) == PITH_OK &&
                     pithp_kernel_run(s, &b, data, NULL) == PITH_OK;
    for (int i = 0; i < PITH_KERNEL_MAX_ARGS && made[i]; i++)
        if (ran)
            results[i] = made[i];
        else
            pith_drop(s, made[i]);
}
