/* Jobs that many tests start: the cases of a list on some ranks, and a body in which one
 * rank is short of memory. */
#ifndef FAKE_MESH_JOBS_H
#define FAKE_MESH_JOBS_H

#include "fail_allocator.h"
#include "mesh/cases.h"
#include "mesh/fake/fake.h"
#include "pith_test.h"
#include "series.h"

typedef struct fake_cases {
    const mesh_case *list; /* NULL: all cases */
    const char *only;
    uint64_t seed;
} fake_cases;

static inline void fake_cases_run(fake_rank *r) {
    const fake_cases *c = r->closure;
    r->failures +=
        c->list ? mesh_run_list(r->s, c->list, c->only, (const void *)(uintptr_t)c->seed)
                : mesh_run_cases(r->s, c->only);
}

/* Whether a case that is made on up to `most` ranks is made on `size`: sanitizers with a
 * share leave out numbers between one and the most. */
static inline bool fake_takes(int size, int most) {
    return !PT_SANITIZED || pt_share() == 1 || size == 1 || size == most;
}

/* A case passes on some ranks. list NULL: of all lists. */
static inline void
fake_case_passes(const mesh_case *list, const char *only, int size, uint64_t seed) {
    fake_cases c = {list, only, seed};
    const fake_result result = fake_run(
        &(fake_options){.size = size, .seed = seed, .timeout = 120, .closure = &c},
        fake_cases_run);
    cr_assert(result.failures == 0 && !result.ended, "%s on %d, seed %d: %s", only, size,
              (int)seed, result.report);
}

/* Allocations that no runtime makes here: those that fail are counted from there on. */
enum { FAKE_FAR = 1000000 };

/* In a heap of rank 1 of three, its closure, allocation n fails, for all n (pt_apart)
 * that a body reaches: `fail_at` is FAKE_FAR + n, until the body sets it. No rank waits
 * for it. late: the body opens the mesh. least: the body reaches more. */
static inline void fake_short_memory(void (*body)(fake_rank *r), bool late, int least) {
    bool reached = true;
    int n = 1;
    for (; reached; n += pt_apart()) {
        pt_heap heap = {.fail_at = FAKE_FAR + n};
        const pith_allocator allocator = pt_allocator(&heap);
        const pith_open_options little = {
            .device = "host", .threads = 1, .allocator = &allocator};
        const fake_result result =
            fake_run(&(fake_options){.size = 3,
                                     .timeout = 20,
                                     .open_late = late,
                                     .closure = &heap,
                                     .open = {NULL, &little, NULL}},
                     body);
        cr_assert(result.failures == 0 && !result.ended, "allocation %d: %s", n,
                  result.report);
        reached = atomic_load(&heap.allocations) >= atomic_load(&heap.fail_at);
        pt_no_leak(&heap);
    }
    cr_assert(n > least, "%d", n);
}

/* A body on two ranks of a device, each with a heap of its own: its closure is both. */
static inline void fake_with_heaps(const char *device, void (*body)(fake_rank *r)) {
    pt_heap heaps[2] = {{0}, {0}};
    pith_allocator allocators[2];
    pith_open_options open[2];
    for (int i = 0; i < 2; i++) {
        allocators[i] = pt_allocator(&heaps[i]);
        open[i] = (pith_open_options){
            .device = device, .threads = 1, .allocator = &allocators[i]};
    }
    const fake_result result = fake_run(
        &(fake_options){
            .size = 2, .timeout = 60, .closure = heaps, .open = {&open[0], &open[1]}},
        body);
    cr_assert(result.failures == 0 && !result.ended, "%s", result.report);
}

#endif
