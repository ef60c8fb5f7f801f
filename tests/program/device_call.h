/* Runs a call on the device that CALL_DEVICE names, over memory of its own: operands are
 * copied in, the result out. Where the device is not there the program ends as skipped.
 */
#ifndef PITH_TESTS_DEVICE_CALL_H
#define PITH_TESTS_DEVICE_CALL_H

#include "pith_test.h"
#include "program/exec/call.h"
#include "program/op/call.h"

#include <pith/kernel.h>
#include <pith/runtime.h>

/* Of the process: a device context is dear. */
static PT_UNUSED pith_scope *device_scope(void) {
    static pith_runtime *rt;
    static pith_scope *s;
    if (!rt) {
#ifdef CALL_CUBLAS /* what PITH_CUBLAS is */
        setenv("PITH_CUBLAS", CALL_CUBLAS, 1);
#endif
        rt = pith_open(&(pith_open_options){.device = CALL_DEVICE});
        s = pith_scope_open(rt);
    }
    if (pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        cr_log_warn("%s", pith_runtime_message(rt));
        exit(77); /* the program is skipped, also where a test of it needs no device */
    }
    pt_ok(s);
    return s;
}

static PT_UNUSED pithp_buffer *device_copy(pith_scope *s, const void *data, size_t n) {
    pithp_buffer *b = pithp_buffer_make(s, n);
    if (b)
        pithp_copy_in(s, b->data, data, n);
    return b;
}

/* result_bytes: of out, guard included. */
static PT_UNUSED pith_status device_run(const pithp_call *call,
                                        const pith_spec *result,
                                        const void *const *operands,
                                        void *out,
                                        size_t result_bytes,
                                        pith_report *report) {
    enum { MOST = 64 };
    pith_scope *s = device_scope();
    pithp_buffer *in[MOST], *to = device_copy(s, out, result_bytes);
    const void *data[MOST];
    cr_assert(call->operand_count <= MOST);
    for (int k = 0; k < call->operand_count; k++) {
        in[k] = device_copy(s, operands[k], call->operands[k]->bytes);
        data[k] = in[k] ? in[k]->data : NULL;
    }
    pithp_buffer *words = report ? device_copy(s, report, sizeof *report) : NULL;
    pithp_buffer *temporary =
        pithp_buffer_make(s, pithp_temporary_bytes(call, result) + 1);
    pt_ok(s);
    const pithp_memory memory = {.operands = data,
                                 .result = to->data,
                                 .temporary = temporary->data,
                                 .report = words ? words->data : NULL};
    pith_status rc = pithp_run(s, call, result, &memory);
    if (rc == PITH_OK)
        rc = pithp_copy_out(s, out, to->data, result_bytes);
    if (rc == PITH_OK && words)
        rc = pithp_copy_out(s, report, words->data, sizeof *report);
    if (rc != PITH_OK) {
        cr_log_error("%s", pith_message(s));
        pith_clear(s);
    }
    for (int k = 0; k < call->operand_count; k++)
        pithp_buffer_release(in[k], 1);
    pithp_buffer_release(words, 1);
    pithp_buffer_release(temporary, 1);
    pithp_buffer_release(to, 1);
    return rc;
}

#endif
