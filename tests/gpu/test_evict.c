/* Eviction: which idle instances give up their allocations if memory is short, and what
 * stays. */
#include "request_test.h"

TestSuite(evict, .init = gt_reset);

Test(evict, idle_instances_make_room_least_recently_used_first) {
    const pair p = open_small("10MiB");
    listener l[4];
    pith_instance *a = listening(p, "a", NULL, 0, &l[0]),
                  *b = listening(p, "b", NULL, 0, &l[1]),
                  *c = listening(p, "c", NULL, 0, &l[2]);
    const pith_request x = bytes_of("x", 3 * MIB);
    pt_ok(p.s, pith_instance_allocate(p.s, a, &x));
    pt_ok(p.s, pith_instance_allocate(p.s, b, &x));
    pt_ok(p.s, pith_instance_allocate(p.s, c, &x));
    pith_scope *busy = pith_scope_open_on(p.rt, a); /* a is the oldest, and not idle */
    pithp_buffer *kept = pithp_buffer_make(p.s, 2 * MIB);
    pt_ok(p.s, kept);
    cr_assert(l[0].invalidated == 0 && l[1].invalidated == 1 && l[2].invalidated == 0);
    cr_assert_null(pith_instance_find_allocation(b, "x"));
    pithp_buffer *more = pithp_buffer_make(p.s, 5 * MIB);
    pt_ok(p.s, more);
    cr_assert(l[0].invalidated == 0 && l[1].invalidated == 1 && l[2].invalidated == 1);
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 4 * MIB));
    pt_says("evicting 0 idle instances freed 0");
    pith_scope_close(busy);
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 4 * MIB));
    pt_says("evicting 1 idle instances freed 3145728");
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 11 * MIB));
    cr_assert_eq(pith_memory_about(p.rt).live, 7 * MIB, "arrays of scopes stay");
    pithp_buffer_release(more, 1);
    pithp_buffer_release(kept, 1);
    close_pair(p);
}

/* Memory runs out in the middle of several arrays: who is idle gives way, and what was
 * allocated before stays as it was written. */
Test(evict, eviction_in_the_middle_of_several_arrays_keeps_the_first_ones) {
    const pair p = open_small("10MiB");
    listener l;
    pith_instance *idle = listening(p, "idle", NULL, 0, &l),
                  *busy = pith_instance_open(p.s, "busy", NULL);
    const pith_request x = bytes_of("x", 4 * MIB),
                       rs[4] = {bytes_of("a", 2 * MIB), bytes_of("b", 3 * MIB),
                                bytes_of("c", 2 * MIB), bytes_of("d", 2 * MIB)};
    pt_ok(p.s, pith_instance_allocate(p.s, idle, &x));
    pithp_buffer *first = pithp_buffer_make(p.s, MIB / 2);
    memset(first->data, 5, first->bytes);
    pt_ok(p.s, pith_instance_allocate_all(p.s, busy, 4, rs));
    cr_assert(l.invalidated == 1 && !pith_instance_find_allocation(idle, "x"));
    for (int k = 0; k < 4; k++) {
        const pith_allocation *a = pith_instance_find_allocation(busy, rs[k].label);
        cr_assert(a);
        memset(a->data, k + 1, a->bytes);
    }
    for (int k = 0; k < 4; k++) {
        const unsigned char *data =
            pith_instance_find_allocation(busy, rs[k].label)->data;
        cr_assert(data[0] == k + 1 && data[2 * MIB - 1] == k + 1);
    }
    cr_assert(((unsigned char *)first->data)[MIB / 2 - 1] == 5);
    /* If no instance can be evicted, earlier allocations are returned: all or nothing. */
    pith_instance_free_all(busy);
    pithp_buffer *more = pithp_buffer_make(p.s, 4 * MIB);
    const size_t live = pith_memory_about(p.rt).live;
    pt_fails(PITH_E_MEMORY, p.s, pith_instance_allocate_all(p.s, busy, 4, rs));
    cr_assert_eq(pith_memory_about(p.rt).live, live);
    pithp_buffer_release(more, 1);
    pithp_buffer_release(first, 1);
    close_pair(p);
}

Test(evict, an_allocation_that_cannot_fit_evicts_no_instance) {
    const pair p = open_small("10MiB");
    listener l;
    pith_instance *a = listening(p, "a", NULL, 0, &l);
    const pith_request x = bytes_of("x", 3 * MIB);
    pt_ok(p.s, pith_instance_allocate(p.s, a, &x));
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 10 * MIB + 1));
    cr_assert_eq(l.invalidated, 0);
    close_pair(p);
}

/* An idle instance in a group of its own that holds that many bytes. */
static pith_instance *idle_with(pair p, const char *name, size_t bytes, listener *l) {
    pith_instance *i = listening(p, name, NULL, 0, l);
    const pith_request held = bytes_of("held", bytes);
    pt_ok(p.s, pith_instance_allocate(p.s, i, &held));
    return i;
}

Test(evict, a_queue_that_cannot_be_split_evicts_an_idle_instance) {
    const pair p = open_small("8MiB");
    listener l, m;
    pith_instance *idle = idle_with(p, "idle", 6 * MIB, &l),
                  *asks = listening(p, "asks", "b", 0, &m);
    const pith_request whole = bytes_of("whole", 4 * MIB);
    pt_ok(p.s, pith_instance_queue(p.s, asks, 1, &whole));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, asks));
    cr_assert(l.invalidated == 1 && m.ready == 1);
    cr_assert_null(pith_instance_find_allocation(idle, "held"));
    cr_assert_eq(pith_memory_about(p.rt).live, 4 * MIB);
    close_pair(p);
}

Test(evict, a_queue_evicts_only_as_many_idle_instances_as_it_needs) {
    const pair p = open_small("8MiB");
    listener l[3], m;
    idle_with(p, "oldest", 2 * MIB, &l[0]);
    idle_with(p, "older", 2 * MIB, &l[1]);
    idle_with(p, "recent", 2 * MIB, &l[2]);
    pith_instance *asks = listening(p, "asks", "b", 0, &m);
    const pith_request runs = runs_of("runs", 512); /* 4 MiB */
    pith_chunks expected;
    pt_ok(p.s, pith_memory_chunks(p.s, "b", 1, &runs, &expected));
    cr_assert(expected.count == 1 && l[0].invalidated == 0, "a question evicts nothing");
    pt_ok(p.s, pith_instance_queue(p.s, asks, 1, &runs));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, asks));
    cr_assert_eq(m.chunks.count, 1);
    cr_assert(l[0].invalidated == 1 && l[1].invalidated == 0 && l[2].invalidated == 0);
    close_pair(p);
}

Test(evict, chunks_are_as_long_as_eviction_allows) {
    const pair p = open_small("8MiB");
    listener l, busy_listener, m;
    idle_with(p, "idle", 3 * MIB, &l);
    pith_instance *busy = idle_with(p, "busy", 4 * MIB, &busy_listener);
    pith_scope *use = pith_scope_open_on(p.rt, busy);
    pith_instance *asks = listening(p, "asks", "b", 0, &m);
    const pith_request runs = runs_of("runs", 1024); /* 8 MiB: 4 are free at most */
    pt_ok(p.s, pith_instance_queue(p.s, asks, 1, &runs));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, asks));
    cr_assert(l.invalidated == 1 && busy_listener.invalidated == 0);
    cr_assert(m.chunks.length == 512 && m.chunks.count == 2);
    pith_scope_close(use);
    close_pair(p);
}

Test(evict, a_queue_that_cannot_fit_evicts_no_instance) {
    const pair p = open_small("8MiB");
    listener l, m;
    idle_with(p, "idle", 2 * MIB, &l);
    pith_instance *asks = listening(p, "asks", "b", 0.25, &m);
    const pith_request whole = bytes_of("whole", 8 * MIB + 1),
                       runs = runs_of("runs", 1024);
    pt_ok(p.s, pith_instance_queue(p.s, asks, 1, &whole));
    pt_fails(PITH_E_MEMORY, p.s, pith_instance_allocate_queue(p.s, asks));
    cr_assert_eq(l.invalidated, 0, "larger than the device");
    pith_instance_clear_queue(asks);
    pt_ok(p.s, pith_memory_set_limits(p.s, PITH_LIMITS_ACTIVE));
    pt_ok(p.s, pith_instance_queue(p.s, asks, 1, &runs));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, asks));
    cr_assert_eq(m.chunks.length, 256, "2 MiB of its own share");
    cr_assert_eq(l.invalidated, 0, "the cap binds, not the device");
    close_pair(p);
}
