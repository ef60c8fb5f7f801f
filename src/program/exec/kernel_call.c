/* Kernel calls: copy the operands that a kernel updates, clear its report, and run it. */
#include "program/op/kernel_call.h"

#include "program/exec/exec.h"

pith_status pithp_zero_report(pith_scope *s, pith_report *report) {
    const uint64_t zero = 0;
    return pithp_fill(s, report, &zero, sizeof zero, sizeof *report / sizeof zero);
}

pith_status pithp_run_kernel(pith_scope *s,
                             const pithp_step *step,
                             const void *const *operands,
                             void *const *results) {
    const pithp_kernel_binding *b = &step->kernel->binding;
    void *data[PITH_KERNEL_MAX_ARGS] = {0};
    pith_status rc = PITH_OK;
    for (int i = 0; i < b->kernel->arg_count && rc == PITH_OK; i++) {
        const pith_role role = b->kernel->args[i].role;
        const void *given = pithp_kernel_is_given(role) ? *operands++ : NULL;
        data[i] = pithp_kernel_is_made(role) ? *results++ : (void *)(uintptr_t)given;
        if (role == PITH_ROLE_INOUT && b->specs[i]->bytes && data[i] != given)
            rc = pithp_copy(s, data[i], given, b->specs[i]->bytes);
    }
    if (rc == PITH_OK)
        rc = pithp_zero_report(s, *results);
    return rc == PITH_OK ? pithp_kernel_run(s, b, data, *results) : rc;
}
