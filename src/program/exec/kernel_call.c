/* Kernel calls: copy the operands that a kernel updates, clear its report, and run it. */
#include "program/op/kernel_call.h"

#include "program/exec/exec.h"

static pith_status zero_reports(pith_scope *s, pith_report *reports, int64_t count) {
    const uint64_t zero = 0;
    return pithp_fill(s, reports, &zero, sizeof zero,
                      count * (int64_t)(sizeof *reports / sizeof zero));
}

pith_status pithp_zero_report(pith_scope *s, pith_report *report) {
    return zero_reports(s, report, 1);
}

pith_status pithp_run_kernel(pith_scope *s,
                             const pithp_step *step,
                             const void *const *operands,
                             void *const *results) {
    const pithp_kernel_binding *b = &step->kernel->binding;
    void *data[PITH_KERNEL_MAX_ARGS + 1] = {0};
    pith_status rc = PITH_OK;
    for (int i = 0; i < b->kernel->arg_count && rc == PITH_OK; i++) {
        const pith_role role = b->kernel->args[i].role;
        const void *given = pithp_kernel_is_given(role) ? *operands++ : NULL;
        data[i] = pithp_kernel_is_made(role) ? *results++ : (void *)(uintptr_t)given;
        const size_t bytes =
            b->specs[i] ? b->specs[i]->bytes * (size_t)pithp_kernel_times(b, i) : 0;
        if (role == PITH_ROLE_INOUT && bytes && data[i] != given)
            rc = pithp_copy(s, data[i], given, bytes);
    }
    if (b->masked)
        data[b->kernel->arg_count] = (void *)(uintptr_t)*operands;
    if (rc == PITH_OK)
        rc = zero_reports(s, *results, pithp_kernel_reports(b));
    return rc == PITH_OK ? pithp_kernel_run(s, b, data, *results) : rc;
}
