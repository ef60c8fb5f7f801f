/* Conjunction of predicates: one launch evaluates a table of checks, writes their reports
 * and reduces them to one flag. */
#include "program/exec/predicate_all.h"

#include "program/cuda/cuda.h"
#include "program/source/args/library.h"

#include <string.h>

_Static_assert(sizeof(pithp_cuda_conjunction_args) <= PITHP_LAUNCH_ARGS,
               "the table travels with the launch");
_Static_assert(sizeof(pithp_predicate) == sizeof(pithp_cuda_predicate) &&
                   offsetof(pithp_predicate, report) ==
                       offsetof(pithp_cuda_predicate, report) &&
                   offsetof(pithp_predicate, width) ==
                       offsetof(pithp_cuda_predicate, width),
               "the table is that of the kernel");

/* Host loop; an index is a predicate. */
static void conjoin(const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_conjunction_args *a = args;
    for (int64_t i = begin; i < end; i++) {
        const pithp_cuda_predicate *p = &a->list[i];
        if (p->width) {
            const int64_t first = pithp_first_zero(p->data, p->width, p->count);
            if (first >= 0)
                pith_raise_(&p->report->first, ~(uint64_t)first);
        }
        if (a->flag && p->report->first)
            pith_raise_(&a->flag->first, ~(uint64_t)(a->base + i));
    }
}
static const pithp_host_loop loops[PITHP_ISA_COUNT] = {conjoin};

/* log2 of the threads per predicate: enough for the longest one, at most 4,096. */
static int64_t shift_for(const pithp_predicate *list, int64_t count) {
    int64_t most = 1, shift = 0;
    for (int64_t i = 0; i < count; i++)
        most = list[i].count > most ? list[i].count : most;
    while (shift < 12 && (int64_t)1 << shift < most)
        shift++;
    return shift;
}

pith_status pithp_check_evaluate(pithp_stream *st,
                                 const pithp_predicate *list,
                                 int64_t count,
                                 pith_report *flag,
                                 int64_t base,
                                 pithp_error *e) {
    const bool cuda = st->device->backend == pithp_backend_cuda;
    pith_status rc = PITH_OK;
    for (int64_t at = 0; at < count && rc == PITH_OK; at += PITHP_CUDA_PREDICATES) {
        const int64_t n =
            count - at < PITHP_CUDA_PREDICATES ? count - at : PITHP_CUDA_PREDICATES;
        pithp_cuda_conjunction_args args = {.flag = (void *)flag,
                                            .base = base + at,
                                            .items = n,
                                            .shift = cuda ? shift_for(list + at, n) : 0};
        memcpy(args.list, list + at, (size_t)n * sizeof *list);
        const pithp_launch launch = {
            .name = "conjunction",
            .loops = loops,
            .cuda = cuda ? pithp_cuda_kernel(PITHP_CUDA_conjunction) : NULL,
            .args = &args,
            .args_bytes = sizeof args,
            .count = n << args.shift,
            .grain = 1};
        rc = st->device->backend->launch(st, &launch, e);
    }
    return rc;
}

/* ---- Collectors ---- */

static pith_status evaluate_slots(pith_scope *s, pithp_collector *c) {
    const int64_t count = c->count - c->evaluated;
    const size_t bytes = (size_t)count * sizeof(pithp_predicate);
    pithp_predicate *list = pithp_allocate(s->runtime, bytes);
    if (!list)
        return pithp_fail_memory(s, bytes);
    for (int64_t i = 0; i < count; i++) {
        pithp_check_slot *slot = c->slots[c->evaluated + i];
        list[i] = (pithp_predicate){.data = slot->data,
                                    .count = slot->count,
                                    .report = slot->report,
                                    .width = slot->evaluated ? 0 : slot->width};
    }
    pithp_error e;
    pith_status rc = pithp_check_evaluate(pithp_scope_stream(s), list, count, c->flag,
                                          c->evaluated, &e);
    if (rc == PITH_OK)
        for (; c->evaluated < c->count; c->evaluated++)
            c->slots[c->evaluated]->evaluated = true;
    else
        rc = pithp_fail_device(s, &e);
    pithp_release(s->runtime, list, bytes);
    return rc;
}

pith_status pithp_collector_conjoin(pith_scope *s, pithp_collector *c) {
    if (pithp_scope_device(s)->immediate || c->evaluated == c->count)
        return PITH_OK;
    if (!c->flag && !(c->flag = pithp_collector_report(s, c)))
        return s->error.code;
    return evaluate_slots(s, c);
}

pith_status pithp_collector_all_pass(pith_scope *s, pithp_collector *c, bool *all_pass) {
    *all_pass = false;
    if (pithp_scope_device(s)->immediate) {
        for (int64_t i = 0; i < c->count && !c->failed; i++)
            c->failed = c->slots[i]->seen.first != 0;
    } else if (!c->failed && c->count) {
        pith_report flag;
        pith_status rc = pithp_collector_conjoin(s, c);
        if (rc == PITH_OK)
            rc = pithp_copy_out(s, &flag.first, &c->flag->first, sizeof flag.first);
        if (rc != PITH_OK)
            return rc;
        c->failed = flag.first != 0;
    }
    *all_pass = !c->failed;
    return PITH_OK;
}
