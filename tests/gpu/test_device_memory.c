/* What the memory manager does on every device alike: reuse, allocators, limits, trims,
 * and running short. Built once for the host, and once for CUDA, where it is skipped
 * without a device. */
#include "gpu/gpu_internal.h"
#include "pith_test.h"

#include <pith/memory.h>

#ifndef PT_DEVICE
#    error "PT_DEVICE names the device"
#endif

#define MIB ((size_t)1 << 20)

typedef struct {
    pith_runtime *rt;
    pith_scope *s;
} device;

static device open_device(void) {
    unsetenv("PITH_HOST_MEMORY");
    unsetenv("PITH_HOST_ASYNC");
    device d = {
        .rt = pith_open(&(pith_open_options){.device = PT_DEVICE, .memory = 256 * MIB})};
    if (pith_runtime_code(d.rt) == PITH_E_UNSUPPORTED) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", pith_runtime_message(d.rt));
        pith_close(d.rt);
        cr_skip_test("%s", reason);
    }
    cr_assert(pith_runtime_code(d.rt) == PITH_OK, "%s", pith_runtime_message(d.rt));
    d.s = pith_scope_open(d.rt);
    return d;
}

static void close_device(device d) {
    cr_assert(!pith_failed(d.s), "%s", pith_message(d.s));
    cr_assert_eq(pith_memory_about(d.rt).live, 0);
    pith_scope_close(d.s);
    pith_close(d.rt);
}

/* Written by work of the stream, and read back: memory that can be used. */
static void use(pith_scope *s, pithp_buffer *b, unsigned char what) {
    unsigned char end[2] = {0, 0};
    pt_ok(s, b);
    pt_ok(s, pithp_fill(s, b->data, &what, 1, (int64_t)b->bytes) == PITH_OK);
    pt_ok(s, pithp_copy_out(s, end, b->data, 1) == PITH_OK);
    pt_ok(s, pithp_copy_out(s, end + 1, (char *)b->data + b->bytes - 1, 1) == PITH_OK);
    cr_assert(end[0] == what && end[1] == what);
}

Test(device_memory, every_allocator_hands_out_memory_that_can_be_used) {
    static const pith_memory_allocator all[] = {
        {.kind = PITH_ALLOCATOR_POOL},
        {.kind = PITH_ALLOCATOR_POOL, .keep = 8 * MIB},
        {.kind = PITH_ALLOCATOR_POOL, .reproducible = true},
        {.kind = PITH_ALLOCATOR_PLAIN},
        {.kind = PITH_ALLOCATOR_ARENA, .arena = 128 * MIB}};
    static const size_t sizes[] = {1, 300, 65536, 65537, MIB, 9 * MIB};
    device d = open_device();
    for (int a = 0; a < PITHP_COUNT(all); a++) {
        pt_ok(d.s, pith_memory_set_allocator(d.s, &all[a]));
        for (int turn = 0; turn < 3; turn++) {
            pithp_buffer *made[PITHP_COUNT(sizes)];
            pt_ok(d.s,
                  pithp_buffers_make(d.s, PITHP_COUNT(sizes), sizes, made) == PITH_OK);
            for (int i = 0; i < PITHP_COUNT(sizes); i++) {
                cr_assert_eq((uintptr_t)made[i]->data % PITHP_ALIGNMENT, 0);
                use(d.s, made[i], (unsigned char)(a + i + turn));
            }
            cr_assert_eq(pith_memory_about(d.rt).live_count, PITHP_COUNT(sizes));
            for (int i = 0; i < PITHP_COUNT(sizes); i++)
                pithp_buffer_release(made[i], 1);
        }
    }
    pt_ok(d.s, pith_memory_set_allocator(d.s, NULL));
    close_device(d);
}

/* Large, freed, larger; 0.3 and 0.3 freed, then 0.6; and two streams that free in turns.
 */
Test(device_memory, what_was_freed_is_there_for_something_larger) {
    device d = open_device();
    for (size_t bytes = 16 * MIB; bytes <= 240 * MIB; bytes += 32 * MIB) {
        pithp_buffer *b = pithp_buffer_make(d.s, bytes);
        use(d.s, b, 1);
        pithp_buffer_release(b, 1);
    }
    for (int round = 0; round < 5; round++) {
        pithp_buffer *a = pithp_buffer_make(d.s, 76 * MIB),
                     *b = pithp_buffer_make(d.s, 76 * MIB);
        pt_ok(d.s, a && b);
        pithp_buffer_release(a, 1);
        pithp_buffer_release(b, 1);
        pithp_buffer *c = pithp_buffer_make(d.s, 153 * MIB);
        use(d.s, c, 2);
        pithp_buffer_release(c, 1);
    }
    pith_scope *t = pith_scope_open(d.rt);
    for (size_t k = 1; k <= 40; k++) {
        pithp_buffer *a = pithp_buffer_make(k % 2 ? d.s : t, k * 5 * MIB),
                     *b = pithp_buffer_make(k % 2 ? t : d.s, 40 * MIB);
        pt_ok(d.s, a && b);
        pithp_buffer_release(a, 1);
        pithp_buffer_release(b, 1);
    }
    pith_scope_close(t);
    close_device(d);
}

Test(device_memory, beyond_the_limit_is_an_error_with_numbers_and_leaves_all_usable) {
    device d = open_device();
    pithp_buffer *a = pithp_buffer_make(d.s, 200 * MIB);
    pt_ok(d.s, a);
    pt_fails(PITH_E_MEMORY, d.s, pithp_buffer_make(d.s, 57 * MIB));
    pt_says("209715200 bytes are in use of 268435456");
    static const size_t sizes[] = {20 * MIB, 20 * MIB, 20 * MIB};
    pithp_buffer *three[3];
    pt_fails(PITH_E_MEMORY, d.s,
             pithp_buffers_make(d.s, 3, sizes, three) == PITH_OK ? three : NULL);
    cr_assert_eq(pith_memory_about(d.rt).live, 200 * MIB);
    pithp_buffer *b = pithp_buffer_make(d.s, 56 * MIB);
    use(d.s, b, 3);
    use(d.s, a, 4);
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    close_device(d);
}

Test(device_memory, a_trim_returns_what_is_kept) {
    device d = open_device();
    pithp_buffer_release(pithp_buffer_make(d.s, 64 * MIB), 1);
    cr_assert_geq(pith_memory_about(d.rt).pool, 64 * MIB);
    cr_assert_geq(pith_memory_trim(d.rt), 64 * MIB);
    cr_assert_lt(pith_memory_about(d.rt).pool, 64 * MIB);
    close_device(d);
}

/* The order of the program alone says what is reused. */
Test(device_memory, a_reproducible_pool_gives_the_addresses_of_the_last_round) {
    enum { ROUNDS = 6, COUNT = 12 };
    device d = open_device();
    void *first[COUNT] = {NULL};
    pt_ok(d.s,
          pith_memory_set_allocator(d.s, &(pith_memory_allocator){.reproducible = true}));
    for (int round = 0; round < ROUNDS; round++) {
        pithp_buffer *made[COUNT];
        for (int k = 0; k < COUNT; k++) {
            made[k] = pithp_buffer_make(d.s, (size_t)(k % 4 + 1) * MIB);
            use(d.s, made[k], (unsigned char)k);
            if (round == 1)
                first[k] = made[k]->data;
            cr_assert(round < 2 || first[k] == made[k]->data, "round %d, %d", round, k);
        }
        for (int k = COUNT; k-- > 0;)
            pithp_buffer_release(made[k], 1);
        pith_wait(d.s);
    }
    close_device(d);
}

Test(device_memory, idle_instances_make_room) {
    device d = open_device();
    pith_instance *i = pith_instance_open(d.s, "idle", NULL);
    pt_ok(d.s, pith_instance_allocate(
                   d.s, i,
                   &(pith_request){.label = "x",
                                   .dtype = PITH_U8,
                                   .shape = PITH_SHAPE(200 * (int64_t)MIB)}));
    pithp_buffer *b = pithp_buffer_make(d.s, 100 * MIB);
    use(d.s, b, 5);
    cr_assert_null(pith_instance_find_allocation(i, "x"));
    pithp_buffer_release(b, 1);
    pith_instance_close(i);
    close_device(d);
}
