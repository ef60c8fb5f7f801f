/* Where memory comes from: the pool, plain allocations, arenas, and users' functions. */
#include "fail_allocator.h"
#include "gpu_test.h"

#include <pith/memory.h>

#define MIB ((size_t)1 << 20)

static pith_runtime *open_with(size_t memory) {
    static pith_allocator allocator;
    allocator = pt_allocator(&pt_default_heap);
    pith_runtime *rt = pith_open(&(pith_open_options){
        .device = "host", .allocator = &allocator, .memory = memory});
    cr_assert(pith_runtime_code(rt) == PITH_OK, "%s", pith_runtime_message(rt));
    pt_open_runtimes++;
    return rt;
}

static bool set_arena(pith_scope *s, size_t bytes) {
    return pith_memory_set_allocator(
        s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_ARENA, .arena = bytes});
}

/* ---- Arenas ---- */

enum { LIVE = 200 };

Test(allocator, an_arena_hands_out_blocks_that_do_not_overlap) {
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, set_arena(s, 32 * MIB));
    cr_assert(pith_memory_allocator_kind(rt) == PITH_ALLOCATOR_ARENA);
    const size_t whole = pith_memory_about(rt).free;
    cr_assert(whole == 32 * MIB);
    pithp_buffer *live[LIVE] = {0};
    uint64_t state = 7;
    for (int k = 0; k < 40000; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int at = (int)((state >> 33) % LIVE);
        if (live[at]) {
            const unsigned char *data = live[at]->data;
            cr_assert(data[0] == at && data[live[at]->bytes - 1] == at, "piece %d", at);
            pithp_buffer_release(live[at], 1);
            live[at] = NULL;
            continue;
        }
        const size_t bytes = 1 + (size_t)(state >> 40) % (k % 3 ? 3000 : 300000);
        live[at] = pithp_buffer_make(s, bytes);
        pt_ok(s, live[at]);
        cr_assert((uintptr_t)live[at]->data % 256 == 0);
        memset(live[at]->data, at, bytes);
    }
    for (int k = 0; k < LIVE; k++)
        pithp_buffer_release(live[k], 1);
    pith_memory_trim(rt);
    cr_assert(pith_memory_about(rt).free == whole && pith_memory_about(rt).live == 0);
    pithp_buffer *all = pithp_buffer_make(s, 32 * MIB);
    pt_ok(s, all); /* one piece again */
    pithp_buffer_release(all, 1);
    pith_scope_close(s);
    pt_close(rt);
}

/* What was freed beside each other is there for something larger. */
Test(allocator, freed_neighbours_are_joined) {
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, set_arena(s, 10 * MIB));
    pithp_buffer *a = pithp_buffer_make(s, 3 * MIB), *b = pithp_buffer_make(s, 3 * MIB);
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    pithp_buffer *c = pithp_buffer_make(s, 6 * MIB);
    pt_ok(s, c); /* 0.3 and 0.3 freed, then 0.6 */
    pithp_buffer *d = pithp_buffer_make(s, 4 * MIB);
    pt_ok(s, d);
    pithp_buffer_release(c, 1);
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, 7 * MIB));
    pt_says("the largest free block of the arena of 10485760 has 6291456");
    pithp_buffer_release(d, 1);
    for (size_t k = 1; k <= 10; k++) { /* big, freed, then bigger */
        pithp_buffer *e = pithp_buffer_make(s, k * MIB);
        pt_ok(s, e);
        pithp_buffer_release(e, 1);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* The smallest place that is large enough, so that large ones stay whole. */
Test(allocator, an_arena_uses_the_smallest_place_that_fits) {
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, set_arena(s, 10 * MIB));
    pithp_buffer *kept[4];
    kept[0] = pithp_buffer_make(s, 3 * MIB);
    kept[1] = pithp_buffer_make(s, MIB);
    kept[2] = pithp_buffer_make(s, 2 * MIB);
    kept[3] = pithp_buffer_make(s, MIB);
    const void *place = kept[2]->data;
    pithp_buffer_release(kept[0], 1);
    pithp_buffer_release(kept[2], 1);
    pithp_buffer *small = pithp_buffer_make(s, 2 * MIB - 1000);
    cr_assert(small->data == place, "not in one of 3 MiB");
    pithp_buffer *large = pithp_buffer_make(s, 3 * MIB);
    pt_ok(s, large);
    pithp_buffer_release(small, 1);
    pithp_buffer_release(large, 1);
    pithp_buffer_release(kept[1], 1);
    pithp_buffer_release(kept[3], 1);
    pith_scope_close(s);
    pt_close(rt);
}

/* Two streams that free in turns: the pieces of both are joined, and who takes them waits
 * for the work of both. */
static void two_streams(void) {
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    pt_ok(s, set_arena(s, 16 * MIB));
    for (int round = 0; round < 20; round++) {
        pithp_buffer *pieces[16];
        for (int k = 0; k < 16; k++) {
            pieces[k] = pithp_buffer_make(k % 2 ? s : t, MIB);
            pt_ok(k % 2 ? s : t, pieces[k]);
        }
        for (int k = 0; k < 16; k++) {
            const int64_t pattern = -1;
            cr_assert(pithp_fill(k % 2 ? s : t, pieces[k]->data, &pattern, 8, 1000) ==
                      PITH_OK);
            pithp_buffer_release(pieces[k], 1);
        }
        pithp_buffer *all = pithp_buffer_make(round % 2 ? s : t, 16 * MIB);
        pt_ok(round % 2 ? s : t, all);
        /* Work that is still queued for a piece must not write to what is here now. */
        cr_assert(gt_launch(round % 2 ? s : t, NULL, all->data, 1000) == PITH_OK);
        pith_wait(round % 2 ? s : t);
        pith_wait(round % 2 ? t : s);
        for (int64_t i = 0; i < 1000; i++)
            cr_assert(((int64_t *)all->data)[i] == i);
        pithp_buffer_release(all, 1);
    }
    pith_scope_close(t);
    pith_scope_close(s);
    pt_close(rt);
}
Test(allocator, frees_of_two_streams_in_turns_leave_no_fragments) {
    gt_reset();
    two_streams();
}
Test(allocator, frees_of_two_streams_in_turns_leave_no_fragments_deferred) {
    gt_reset();
    setenv("PITH_HOST_ASYNC", "1", 1);
    two_streams();
    gt_reset();
}

/* What is replaced goes after the work that is queued for it. */
Test(allocator, memory_outlives_the_work_that_is_queued_for_it) {
    gt_reset();
    setenv("PITH_HOST_ASYNC", "1", 1);
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    for (int k = 0; k < 4; k++) {
        const int64_t pattern = -1;
        pt_ok(s, set_arena(s, 32 * MIB));
        pithp_buffer *b = pithp_buffer_make(t, 16 * MIB);
        pt_ok(s, pith_memory_set_allocator(s, NULL));
        cr_assert(pithp_fill(t, b->data, &pattern, 8, 1 << 21) == PITH_OK);
        pithp_buffer_release(b, 1); /* the last of the arena */
        pith_wait(t);
    }
    pith_scope_close(t);
    pith_scope_close(s);
    pt_close(rt);
    gt_reset();
}

/* ---- Users' functions ---- */

typedef struct {
    int64_t blocks, calls;
    size_t bytes, refuse_over;
    size_t shift; /* off the alignment */
    bool wrong;
} counter;

static void *user_allocate(void *context, size_t bytes, size_t alignment, void *stream) {
    counter *c = context;
    c->wrong = c->wrong || alignment != 256 || !stream;
    c->calls++;
    if (c->refuse_over && bytes > c->refuse_over)
        return NULL;
    c->blocks++;
    c->bytes += bytes;
    return (char *)aligned_alloc(256, (bytes + 511) / 256 * 256) + c->shift;
}
static void
user_release(void *context, void *data, size_t bytes, size_t alignment, void *stream) {
    counter *c = context;
    c->wrong = c->wrong || alignment != 256 || !stream;
    c->blocks--;
    c->bytes -= bytes;
    free((char *)data - c->shift);
}
static bool set_user(pith_scope *s, counter *c) {
    return pith_memory_set_allocator(s,
                                     &(pith_memory_allocator){.kind = PITH_ALLOCATOR_USER,
                                                              .allocate = user_allocate,
                                                              .release = user_release,
                                                              .context = c});
}

static int invalidated;
static void invalidate(pith_instance *instance, void *closure) {
    (void)instance, (void)closure;
    invalidated++;
}

Test(allocator, a_users_functions_get_every_block_and_get_it_back) {
    counter first = {0}, second = {0};
    invalidated = 0;
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i =
        pith_instance_open(s, "part", &(pith_instance_options){.invalidate = invalidate});
    pithp_buffer *before = gt_buffer(s, 100000);
    pt_ok(s, set_user(s, &first));
    cr_assert(pith_memory_allocator_kind(rt) == PITH_ALLOCATOR_USER && invalidated == 1);
    pithp_buffer *a = gt_buffer(s, 10), *b = gt_buffer(s, 200000);
    pt_ok(s, pith_instance_allocate(s, i,
                                    &(pith_request){.label = "x",
                                                    .dtype = PITH_F64,
                                                    .shape = PITH_SHAPE(1000, 100)}));
    cr_assert(first.blocks == 3);
    ((int64_t *)b->data)[0] = 42;
    pithp_buffer_release(before, 1); /* to where it came from */
    cr_assert(first.blocks == 3);
    pt_ok(s, set_user(s, &second));
    cr_assert(invalidated == 2 && first.blocks == 2, "allocations went, arrays stay");
    cr_assert(!pith_instance_find_allocation(i, "x"));
    cr_assert(((int64_t *)b->data)[0] == 42);
    pithp_buffer *c = gt_buffer(s, 10);
    cr_assert(second.blocks == 1, "what the first one gave is not used again");
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    cr_assert(first.blocks == 0 && first.bytes == 0);
    pt_ok(s, pith_memory_set_allocator(s, NULL));
    cr_assert(pith_memory_allocator_kind(rt) == PITH_ALLOCATOR_POOL);
    pithp_buffer_release(c, 1);
    cr_assert(second.blocks == 0 && second.bytes == 0);
    const int64_t calls = second.calls;
    pithp_buffer_release(gt_buffer(s, 100000), 1);
    cr_assert(second.calls == calls && !first.wrong && !second.wrong);
    pith_scope_close(s);
    pt_close(rt);
}

Test(allocator, what_a_users_function_does_wrong_is_an_error) {
    counter c = {.shift = 64};
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, set_user(s, &c));
    pt_fails(PITH_E_CALLBACK, s, pithp_buffer_make(s, 1000));
    pt_says("not a multiple of 256");
    cr_assert(c.blocks == 0, "it was given back");
    c = (counter){.refuse_over = 50000};
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, 100000));
    pt_says("the allocator failed for");
    pt_says("evicting 0 idle instances"); /* after the ladder */
    cr_assert(c.calls > 1 && pith_memory_about(rt).live == 0);
    pithp_buffer *b = pithp_buffer_make(s, 40000);
    pt_ok(s, b);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt); /* what was kept for reuse goes back, too */
    cr_assert(c.blocks == 0);
}

/* ---- The pool, plain allocations, mistakes ---- */

Test(allocator, plain_blocks_go_straight_back) {
    pith_runtime *rt = open_with(0);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_PLAIN}));
    const long long before = atomic_load(&pt_default_heap.bytes);
    pithp_buffer *b = pithp_buffer_make(s, 8 * MIB);
    cr_assert(atomic_load(&pt_default_heap.bytes) >= before + (long long)(8 * MIB));
    pithp_buffer_release(b, 1);
    cr_assert(atomic_load(&pt_default_heap.bytes) < before + (long long)MIB);
    cr_assert(pith_memory_about(rt).live == 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(allocator, the_pool_keeps_as_much_as_it_may) {
    pith_runtime *rt = open_with(0);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer_release(pithp_buffer_make(s, 20 * MIB), 1);
    cr_assert(pith_memory_about(rt).pool >= 20 * MIB, "for what comes next");
    pt_ok(s, pith_memory_set_allocator(s, &(pith_memory_allocator){.keep = 4 * MIB}));
    for (size_t k = 1; k <= 20; k++)
        pithp_buffer_release(pithp_buffer_make(s, k * MIB), 1);
    cr_assert(pith_memory_about(rt).pool <= 6 * MIB, "%zu", pith_memory_about(rt).pool);
    pt_ok(s,
          pith_memory_set_allocator(s, &(pith_memory_allocator){.reproducible = true}));
    pithp_buffer_release(pithp_buffer_make(s, 20 * MIB), 1);
    cr_assert(pith_memory_about(rt).pool >= 20 * MIB);
    cr_assert(pith_memory_trim(rt) >= 20 * MIB);
    cr_assert(pith_memory_trim(NULL) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* Tools that look for memory errors see every block come and go. */
Test(allocator, plain_blocks_of_every_size_go_straight_back) {
    static const size_t sizes[] = {1, 1000, 65536, 100000, 3 * MIB};
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer_release(pithp_buffer_make(s, 1000), 1);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_PLAIN}));
    for (int i = 0; i < PITHP_COUNT(sizes); i++)
        for (int turn = 0; turn < 3; turn++) {
            const long long before = atomic_load(&pt_default_heap.allocations),
                            bytes = atomic_load(&pt_default_heap.bytes);
            pithp_buffer *b = pithp_buffer_make(s, sizes[i]);
            pt_ok(s, b);
            cr_assert_gt(atomic_load(&pt_default_heap.allocations), before);
            pithp_buffer_release(b, 1);
            cr_assert(turn == 0 || atomic_load(&pt_default_heap.bytes) == bytes, "%zu",
                      sizes[i]);
        }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- No lock is held ---- */

typedef struct {
    pith_runtime *rt;
    int releases;
} from_within;

static void *work_elsewhere(void *argument) {
    pith_runtime *rt = argument;
    pith_scope *s = pith_scope_open(rt); /* which takes a stream */
    pithp_buffer *b = pithp_buffer_make(s, 100000);
    const bool good = b && pith_memory_about(rt).live >= 100000 && !pith_failed(s);
    pith_instance *i = pith_instance_open(s, "elsewhere", NULL);
    (void)pith_memory_json(s);
    pith_instance_close(i);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    return good ? rt : NULL;
}

/* Another thread is done with all that before a user's function returns. */
static void call_back(pith_runtime *rt) {
    pthread_t thread;
    void *result = NULL;
    cr_assert_eq(pthread_create(&thread, NULL, work_elsewhere, rt), 0);
    pthread_join(thread, &result);
    cr_assert(result);
}

static void *
allocate_from_within(void *context, size_t bytes, size_t alignment, void *st) {
    (void)context, (void)st;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_from_within(void *context,
                                void *data,
                                size_t bytes,
                                size_t alignment,
                                void *stream) {
    from_within *w = context;
    (void)bytes, (void)alignment, (void)stream;
    free(data);
    if (w->releases++ == 0)
        call_back(w->rt);
}

Test(allocator, functions_of_users_run_without_a_lock) {
    from_within w = {.rt = open_with(64 * MIB)};
    pith_scope *s = pith_scope_open(w.rt);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_USER,
                                             .allocate = allocate_from_within,
                                             .release = release_from_within,
                                             .context = &w}));
    pithp_buffer_release(pithp_buffer_make(s, 1000), 1); /* kept for reuse */
    cr_assert_eq(w.releases, 0);
    pith_memory_trim(w.rt);
    cr_assert_gt(w.releases, 0);
    pith_scope_close(s);
    pt_close(w.rt);
}

static void invalidate_from_within(pith_instance *i, void *closure) {
    (void)i;
    call_back(closure);
}

static void ready_from_within(pith_instance *i, const pith_response *r, void *closure) {
    (void)i, (void)r;
    call_back(closure);
}

static void warn_from_within(pith_warning warning, const char *message, void *closure) {
    (void)warning, (void)message;
    call_back(closure);
}

Test(allocator, hooks_run_without_a_lock) {
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i =
        pith_instance_open(s, "i",
                           &(pith_instance_options){.group = "g",
                                                    .invalidate = invalidate_from_within,
                                                    .ready = ready_from_within,
                                                    .closure = rt});
    const pith_request r = {
        .label = "x", .dtype = PITH_U8, .shape = PITH_SHAPE(8, 4 * (int64_t)MIB)};
    pt_ok(s, pith_instance_queue(s, i, 1, &r));
    pt_ok(s, pith_instance_allocate_queue(s, i));
    pithp_buffer *b = pithp_buffer_make(s, 60 * MIB);
    pt_ok(s, b); /* it was evicted */
    pithp_buffer_release(b, 1);
    pith_memory_set_warning_hook(rt, warn_from_within, rt);
    pith_memory_invalidate_all(rt);
    pt_ok(s, pith_instance_set_proportion(s, i, 0.97)); /* little is left */
    pith_scope_close(s);
    pt_close(rt);
}

Test(allocator, mistakes_change_nothing) {
    counter c = {0};
    pith_runtime *rt = open_with(64 * MIB);
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, set_user(s, &c));
    pt_fails(PITH_E_ARG, s,
             pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_USER}));
    pt_fails(PITH_E_ARG, s,
             pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = (pith_allocator_kind)9}));
    pt_fails(PITH_E_MEMORY, s, set_arena(s, 100));
    pt_fails(PITH_E_MEMORY, s, set_arena(s, SIZE_MAX / 2));
    cr_assert(pith_memory_allocator_kind(rt) == PITH_ALLOCATOR_USER);
    cr_assert(pith_memory_allocator_kind(NULL) == PITH_ALLOCATOR_POOL);
    pith_scope_close(s);
    pt_close(rt);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    set_arena(s, MIB);
    pithp_buffer *b = pith_failed(s) ? NULL : pithp_buffer_make(s, 100000);
    pithp_buffer *c = pith_failed(s) ? NULL : pithp_buffer_make(s, 3000);
    pithp_buffer_release(b, 1);
    pithp_buffer_release(c, 1);
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}
Test(allocator, every_allocation_may_fail) {
    cr_assert(pt_fail_each(scenario).errors > 0);
}
