/* The mode cuda-text: every case becomes a program and a schedule, whose kernels NVRTC
 * compiles. It needs no device; nothing runs. */
#include "gpu/compile/toolchain.h"
#include "kernels.h"
#include "oracle.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

enum { KERNELS_A_TEXT = 64 };

static kernels all;
static int64_t compiled; /* of these */

bool oracle_texts_begin(pith_runtime *rt, char why[ORACLE_TEXT_BYTES]) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e = {.code = PITH_OK};
    const bool there = pithp_rtc_open(identity, &e) == PITH_OK;
    snprintf(why, ORACLE_TEXT_BYTES, "%s", there ? identity : e.text);
    kernels_begin(&all, rt);
    return there;
}

void oracle_texts_end(void) {
    kernels_end(&all);
}

/* Reasons for a program without a schedule, documented in
 * docs/internals/compiled-code.md. */
static bool is_documented(const pithp_error *e) {
    return e->code == PITH_E_UNSUPPORTED &&
           strstr(e->text, "reports to the scope that calls it");
}

static void schedule(pith_scope *s, pithp_program *p, oracle_call *call) {
    pithp_error e = {.code = PITH_OK};
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *made =
        plan ? pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e) : NULL;
    if (made)
        kernels_add(&all, made, call->name);
    else if (!plan)
        oracle_trouble(call, "no plan: %s", pith_message(s));
    else if (is_documented(&e))
        snprintf(call->aside, sizeof call->aside, "no schedule: %.900s", e.text);
    else
        oracle_trouble(call, "no schedule: %s", e.text);
    pithp_schedule_free(made);
    pithp_plan_free(plan);
}

void oracle_call_text(pith_scope *s, int count, const oracle_case_run *runs) {
    const void *operands;
    const pith_function *f = oracle_compiled(s, count, runs, &operands);
    pithp_jit_program *p =
        pith_failed(s) ? NULL
                       : pithp_jit_program_of(s, pithp_jit_closure_of(f), &operands);
    for (int k = 0; k < count && p; k++) {
        runs[k].call->checked = p->checks != NULL;
        if (!runs[k].call->trouble[0])
            schedule(s, p->plan->program, runs[k].call);
    }
    if (p)
        pithp_jit_program_release(p);
}

/* Compile one kernel alone to find the faulty one. */
static int64_t blame(int64_t n, int arch) {
    pithp_string log;
    pithp_string_begin(&log, all.rt);
    const bool fine = kernels_compile(&all, n, 1, arch, false, &log);
    if (!fine)
        printf("%s: for sm_%d: %s\n", all.list[n].label, arch, log.bytes);
    pithp_string_end(&log);
    return !fine;
}

static int64_t compile(int64_t first, int64_t count, int arch) {
    pithp_string log;
    int64_t failed = 0;
    pithp_string_begin(&log, all.rt);
    if (!kernels_compile(&all, first, count, arch, false, &log)) {
        for (int64_t n = first; n < first + count; n++)
            failed += blame(n, arch);
        if (!failed) {
            printf("kernels %lld to %lld together, for sm_%d: %s\n", (long long)first,
                   (long long)(first + count - 1), arch, log.bytes);
            failed = 1;
        }
    }
    pithp_string_end(&log);
    return failed;
}

int64_t oracle_compile_texts(const char *family, bool once) {
    static const int archs[] = {75, 90};
    const int64_t before = compiled;
    int64_t failed = 0;
    for (int turn = 0; compiled < all.count; compiled += KERNELS_A_TEXT, turn++) {
        const int64_t left = all.count - compiled;
        const int64_t count = left < KERNELS_A_TEXT ? left : KERNELS_A_TEXT;
        for (int a = 0; a < PITHP_COUNT(archs); a++)
            if (!once || a == turn % PITHP_COUNT(archs))
                failed += compile(compiled, count, archs[a]);
    }
    compiled = all.count;
    printf("%s: %lld kernels for %s, %lld did not compile in silence\n", family,
           (long long)(compiled - before), once ? "sm_75 or sm_90" : "sm_75 and sm_90",
           (long long)failed);
    return failed;
}
