/* Runs one primitive over host memory as a backend would: infers the result, lowers the
 * call, and runs each launch in uneven ranges. With CALL_CUDA the launches are those for
 * CUDA (cuda_target.c), with CALL_DEVICE the call runs on that device, so that every test
 * can be built for all of them. */
#ifndef PITH_TESTS_CALL_H
#define PITH_TESTS_CALL_H

#include "golden.h"
#include "pith_test.h"
#include "program/op/prepared.h"
#ifdef CALL_CUDA
#    include "cuda_target.h"
#endif
#ifdef CALL_DEVICE
#    include "device_call.h"
#endif

enum { CALL_OPERANDS = 64 };

/* A family of the cases in tests/data/golden. */
static PT_UNUSED golden_family *golden_open(const char *name) {
    golden_family *g = golden_read(PITH_GOLDEN_DIR, name);
    cr_assert(g, "there is no golden family %s", name);
    return g;
}

typedef struct call {
    pithp_primitive primitive;
    int count;
    const pith_spec *specs[CALL_OPERANDS];
    const void *data[CALL_OPERANDS];
    const void *params;
    pith_report *report;
    pithp_isa isa;
    int64_t split;  /* longest range; 0: each launch in one */
    bool backwards; /* the last range first: launches have no order */
    pith_spec result;
    void *out; /* of the result; freed by call_free */
    pithp_refusal refusal;
} call;

/* Whether this machine runs loops of that instruction set. */
static PT_UNUSED bool call_isa_runs(pithp_isa isa) {
#ifdef __x86_64__
    if (isa == PITHP_ISA_V4)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512cd");
    if (isa == PITHP_ISA_V3)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
#endif
    return isa == PITHP_ISA_BASE;
}

static PT_UNUSED pith_status call_launch(void *closure, const pithp_launch *launch) {
    const call *c = closure;
#ifdef CALL_CUDA
    cr_assert(launch->cuda, "%s has no kernel", launch->name);
#endif
    char args[PITHP_LAUNCH_ARGS];
    cr_assert(launch->args_bytes <= sizeof args);
    memcpy(args, launch->args,
           launch->args_bytes); /* nothing may point into the original */
    int64_t n = c->split ? c->split : launch->count;
    if (c->backwards) {
        for (int64_t end = launch->count; end > 0; end -= n)
            pithp_loop_for(launch, c->isa)(args, end < n ? 0 : end - n, end);
        return PITH_OK;
    }
    for (int64_t i = 0; i < launch->count; i += n) {
        n = c->split && i ? c->split + i % 3 : n;
        const int64_t end = launch->count - i < n ? launch->count : i + n;
        pithp_loop_for(launch, c->isa)(args, i, end);
    }
    return PITH_OK;
}

#if !defined CALL_CUDA && !defined CALL_DEVICE
/* The prepared call has the same launches over any memory: the same result and report. An
 * update also runs in place. */
static PT_UNUSED void
call_prepared(call *c, const pithp_call *it, const pithp_memory *lowered) {
    pith_runtime rt = {.allocator = pithp_libc_allocator};
    pithp_prepared *p =
        pithp_prepare(&rt, it, &c->result, pithp_temporary_bytes(it, &c->result));
    const char *name = pithp_ops[c->primitive].name;
    const pithp_sink sink = {.launch = call_launch, .closure = c};
    const void *operands[CALL_OPERANDS];
    if (!p) { /* a launch for each of many operands */
        cr_assert(c->primitive == PITHP_OP_CONCATENATE, "%s is not prepared", name);
        return;
    }
    for (int in_place = 0; in_place <= pithp_op_has(c->primitive, PITHP_TRAIT_UPDATE);
         in_place++) {
        pith_report report = {0};
        pithp_memory memory = *lowered;
        memory.report = c->report ? &report : NULL;
        memory.result = malloc(c->result.bytes + 1);
        memset(memory.result, 0xA5, c->result.bytes);
        memcpy(operands, c->data, (size_t)c->count * sizeof *operands);
        memory.operands = operands;
        if (in_place) {
            memcpy(memory.result, c->data[0], c->result.bytes);
            operands[0] = memory.result;
        }
        cr_assert(pithp_prepared_lower(p, &memory, &sink) == PITH_OK);
        cr_assert(memcmp(memory.result, c->out, c->result.bytes) == 0,
                  "%s, prepared, has another result", name);
        if (c->report)
            cr_assert(memcmp(&report, c->report, sizeof report) == 0,
                      "%s, prepared, has another report", name);
        free(memory.result);
    }
    pithp_prepared_free(&rt, p);
}
#endif

/* Over host memory, or by copies over the device's. */
static PT_UNUSED pith_status call_lower(call *c, const pithp_call *it) {
#ifdef CALL_DEVICE
    return device_run(it, &c->result, c->data, c->out, c->result.bytes + 8, c->report);
#else
#    ifdef CALL_CUDA
    const size_t temporary = pithp_cuda_temporary_bytes(it, &c->result);
#    else
    const size_t temporary = pithp_temporary_bytes(it, &c->result);
#    endif
    const pithp_memory memory = {
        .operands = c->data,
        .result = c->out,
        .temporary = temporary ? malloc(temporary) : NULL,
        .report = c->report,
    };
#    ifdef CALL_CUDA
    const pithp_sink sink = {call_launch, c, &call_cuda_target};
    const pith_status rc = pithp_lower_cuda(it, &c->result, &memory, &sink);
#    else
    const pithp_sink sink = {.launch = call_launch, .closure = c};
    const pith_status rc = pithp_lower(it, &c->result, &memory, &sink);
    if (rc == PITH_OK && c->result.bytes <= 65536)
        call_prepared(c, it, &memory);
#    endif
    free(memory.temporary);
    return rc;
#endif
}

/* Runs it; a refused call leaves its reason in c->refusal and out NULL. */
static PT_UNUSED pith_status call_run(call *c) {
    const pithp_call it = pithp_call_of(c->primitive, c->count, c->specs, c->params);
    c->out = NULL;
    const pith_status rc = pithp_infer(&it, &c->result, &c->refusal);
    if (rc)
        return rc;
    c->out = malloc(c->result.bytes + 8);
    memset(c->out, 0xA5, c->result.bytes + 8);
    const pith_status ran = call_lower(c, &it);
    uint64_t guard;
    memcpy(&guard, (char *)c->out + c->result.bytes, 8);
    cr_assert(guard == 0xA5A5A5A5A5A5A5A5u, "%s wrote beyond its result",
              pithp_ops[c->primitive].name);
    return ran;
}

static PT_UNUSED void call_free(call *c) {
    free(c->out);
    c->out = NULL;
}

/* The primitive of that name, or PITHP_PRIMITIVE_COUNT. */
static PT_UNUSED pithp_primitive call_primitive(const char *name) {
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++)
        if (!strcmp(pithp_ops[p].name, name))
            return (pithp_primitive)p;
    return PITHP_PRIMITIVE_COUNT;
}

/* Whether the run is as good as the golden case's k-th result; prints what is not. */
static PT_UNUSED bool
call_agrees(const call *c, const golden_family *g, const golden_json *one, int k) {
    const golden_tensor *want = golden_tensor_of(g, one, "out", k);
    char got_text[64], want_text[64];
    if (!c->out || c->result.dtype != want->spec.dtype ||
        c->result.rank != want->spec.rank ||
        memcmp(c->result.shape, want->spec.shape,
               (size_t)want->spec.rank * sizeof(int64_t)) != 0) {
        fprintf(stderr, "%s: spec differs (%s)\n", golden_text(one, "name"),
                c->out ? "ran" : c->refusal.text);
        return false;
    }
    const int64_t at = golden_compare(g, one, k, c->out, NULL);
    if (at < 0)
        return true;
    fprintf(stderr, "%s, isa %d, element %lld: got %s, want %s; operands",
            golden_text(one, "name"), (int)c->isa, (long long)at,
            golden_print(&want->spec, c->out, at, got_text),
            golden_print(&want->spec, want->data, at, want_text));
    for (int i = 0; i < c->count && i < 4; i++)
        if (c->specs[i]->count == want->spec.count)
            fprintf(stderr, " %s", golden_print(c->specs[i], c->data[i], at, got_text));
    fprintf(stderr, "\n");
    return false;
}

#endif
