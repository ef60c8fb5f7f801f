/* Requests of memory under test: a small device, instances whose hooks are counted. */
#ifndef PITH_REQUEST_TEST_H
#define PITH_REQUEST_TEST_H

#include "gpu_test.h"

#include <pith/memory.h>

#define MIB ((size_t)1 << 20)

static int warnings[5];
static void warn(pith_warning warning, const char *message, void *closure) {
    (void)message, (void)closure;
    warnings[warning]++;
}

typedef struct {
    pith_runtime *rt;
    pith_scope *s;
} pair;

static inline pair open_small(const char *memory) {
    setenv("PITH_HOST_MEMORY", memory, 1);
    memset(warnings, 0, sizeof warnings);
    pith_runtime *rt = pt_open();
    pith_memory_set_warning_hook(rt, warn, NULL);
    return (pair){rt, pith_scope_open(rt)};
}
static inline void close_pair(pair p) {
    pith_scope_close(p.s);
    pt_close(p.rt);
}

/* What a ready hook saw, and how often the other one was called. */
typedef struct {
    pith_runtime *rt;
    int ready, invalidated;
    int64_t count;
    pith_chunks chunks;
    const pith_allocation *allocations[8];
    size_t live_when_invalidated;
} listener;

static void on_ready(pith_instance *i, const pith_response *r, void *closure) {
    listener *l = closure;
    l->ready++;
    l->count = r->count;
    l->chunks = r->chunks;
    for (int64_t k = 0; k < r->count; k++)
        l->allocations[k] = r->allocations[k];
    /* No lock is held: the manager can be used. */
    cr_assert_eq(pith_instance_find_allocation(i, r->allocations[0]->label),
                 r->allocations[0]);
}
static void on_invalidate(pith_instance *i, void *closure) {
    listener *l = closure;
    l->invalidated++;
    l->live_when_invalidated = pith_memory_about(l->rt).live;
    (void)pith_instance_proportion(i);
}

static inline pith_instance *
listening(pair p, const char *name, const char *group, double proportion, listener *l) {
    *l = (listener){.rt = p.rt};
    pith_instance *i =
        pith_instance_open(p.s, name,
                           &(pith_instance_options){.proportion = proportion,
                                                    .group = group,
                                                    .invalidate = on_invalidate,
                                                    .ready = on_ready,
                                                    .closure = l});
    pt_ok(p.s, i);
    return i;
}

/* f64[runs, 1024]: 8 KiB a run */
static inline pith_request runs_of(const char *label, int64_t runs) {
    return (pith_request){
        .label = label, .dtype = PITH_F64, .shape = PITH_SHAPE(runs, 1024)};
}
static inline pith_request bytes_of(const char *label, size_t bytes) {
    return (pith_request){.label = label,
                          .dtype = PITH_U8,
                          .shape = PITH_SHAPE((int64_t)bytes),
                          .unchunkable = true};
}

#endif
