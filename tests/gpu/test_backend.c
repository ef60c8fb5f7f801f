/* What the room makes of a backend that fails: on tables that wrap the host's. */
#include "gpu_test.h"

#include <pith/runtime.h>

static struct {
    pith_status open, stream, allocate, copy, launch,
        wait;     /* what each slot fails with */
    int failures; /* of allocate, before it works again; -1: always */
    int waits, trims, synchronised;
} fake;

static pith_status say(pith_status code, pithp_error *e) {
    if (code != PITH_OK)
        pithp_error_set(e, code, NULL, NULL, "the fake says %s", pith_status_name(code));
    return code;
}
static pith_status open_fake(pithp_device *d, int ordinal, int threads, pithp_error *e) {
    if (say(fake.open, e) != PITH_OK)
        return fake.open;
    const pith_status rc = pithp_backend_host.open(d, ordinal, threads, e);
    d->immediate = false; /* so that nothing is run behind the table's back */
    return rc;
}
static pith_status stream_open_fake(pithp_stream *st, pithp_error *e) {
    return fake.stream ? say(fake.stream, e) : pithp_backend_host.stream_open(st, e);
}
static void *allocate_fake(pithp_stream *st, size_t bytes, pithp_error *e) {
    if (fake.allocate && fake.failures) {
        fake.failures -= fake.failures > 0;
        say(fake.allocate, e);
        return NULL;
    }
    return pithp_backend_host.allocate(st, bytes, e);
}
static pith_status
copy_in_fake(pithp_stream *st, void *to, const void *host, size_t bytes, pithp_error *e) {
    return fake.copy ? say(fake.copy, e)
                     : pithp_backend_host.copy_in(st, to, host, bytes, e);
}
static pith_status launch_fake(pithp_stream *st, const pithp_launch *l, pithp_error *e) {
    return fake.launch ? say(fake.launch, e) : pithp_backend_host.launch(st, l, e);
}
static pith_status wait_for_fake(pithp_stream *st, pithp_stream *other, pithp_error *e) {
    fake.waits++;
    return fake.wait ? say(fake.wait, e) : pithp_backend_host.wait_for(st, other, e);
}
static pith_status synchronise_fake(pithp_stream *st, pithp_error *e) {
    fake.synchronised++;
    return pithp_backend_host.synchronise(st, e);
}
static void trim_fake(pithp_device *d) {
    fake.trims++;
    pithp_backend_host.trim(d);
}

static pithp_backend table(void) {
    pithp_backend b = pithp_backend_host;
    memset(&fake, 0, sizeof fake);
    b.kind = "fake";
    b.open = open_fake;
    b.stream_open = stream_open_fake;
    b.allocate = allocate_fake;
    b.copy_in = copy_in_fake;
    b.launch = launch_fake;
    b.wait_for = wait_for_fake;
    b.synchronise = synchronise_fake;
    b.trim = trim_fake;
    return b;
}

static pith_runtime *open_on(const pithp_backend *b) {
    const pith_allocator allocator = pt_allocator(&pt_default_heap);
    pt_open_runtimes++;
    return pithp_open_backend(b, 0, &(pith_open_options){.allocator = &allocator});
}

Test(backend, a_device_error_kills_the_runtime_for_good) {
    const pithp_backend b = table();
    pith_runtime *rt = open_on(&b);
    pith_scope *s = pith_scope_open(rt), *child = pith_scope_open_in(s);
    pith_scope *other = pith_scope_open(rt);
    pithp_buffer *buffer = gt_buffer(s, 10);
    fake.launch = PITH_E_DEVICE;
    cr_assert_eq(gt_launch(child, NULL, buffer->data, 10), PITH_E_DEVICE);
    cr_assert(strstr(pith_message(child), "the fake says PITH_E_DEVICE"));
    cr_assert_eq(pith_runtime_code(rt), PITH_E_DEVICE);
    cr_assert(strstr(pith_runtime_message(rt), "dead"), "%s", pith_runtime_message(rt));
    fake.launch = PITH_OK;
    /* Every later call on any scope says so, also after pith_clear. */
    for (int turn = 0; turn < 2; turn++) {
        pith_clear(child);
        pith_clear(other);
        pith_wait(child);
        pith_wait(other);
        cr_assert_eq(pith_code(child), PITH_E_DEVICE);
        cr_assert_eq(pith_code(other), PITH_E_DEVICE);
        cr_assert(strstr(pith_message(other), "dead"));
    }
    pith_scope *late = pith_scope_open(rt);
    cr_assert_eq(pith_code(late), PITH_E_DEVICE);
    pithp_buffer_release(buffer, 1);
    pt_close(rt);
}

Test(backend, another_error_leaves_it_alive) {
    const pithp_backend b = table();
    pith_runtime *rt = open_on(&b);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *buffer = gt_buffer(s, 10);
    fake.launch = PITH_E_UNSUPPORTED;
    pt_fails(PITH_E_UNSUPPORTED, s, gt_launch(s, NULL, buffer->data, 10));
    fake.launch = PITH_OK;
    pt_ok(s, gt_launch(s, NULL, buffer->data, 10) == PITH_OK);
    cr_assert_eq(pith_runtime_code(rt), PITH_OK);
    pithp_buffer_release(buffer, 1);
    pt_close(rt);
}

Test(backend, that_cannot_open_is_a_failed_runtime) {
    const pithp_backend b = table();
    fake.open = PITH_E_UNSUPPORTED;
    pith_runtime *rt = open_on(&b);
    cr_assert_eq(pith_runtime_code(rt), PITH_E_UNSUPPORTED);
    pith_scope *s = pith_scope_open(rt);
    cr_assert_eq(pith_code(s), PITH_E_UNSUPPORTED);
    cr_assert_not(pithp_enter_as(s, "pith_test"));
    pith_clear(s);
    cr_assert_not(pithp_enter_as(s, "pith_test"));
    pt_close(rt);
}

Test(backend, a_table_that_is_not_whole_is_refused) {
    pithp_backend b = table();
    b.fill = NULL;
    pith_runtime *rt = open_on(&b);
    cr_assert_eq(pith_runtime_code(rt), PITH_E_INTERNAL);
    pt_close(rt);
    b = table();
    b.version++;
    rt = open_on(&b);
    cr_assert_eq(pith_runtime_code(rt), PITH_E_INTERNAL);
    pt_close(rt);
}

Test(backend, a_scope_without_a_stream_stays_failed) {
    const pithp_backend b = table();
    pith_runtime *rt = open_on(&b);
    fake.stream = PITH_E_MEMORY;
    pith_scope *s = pith_scope_open(rt);
    cr_assert_eq(pith_code(s), PITH_E_MEMORY);
    pith_clear(s);
    cr_assert_eq(pith_code(s), PITH_E_MEMORY);
    pith_scope *child = pith_scope_open_in(s);
    pith_clear(child);
    cr_assert_eq(pith_code(child), PITH_E_MEMORY);
    pith_wait(child);
    pith_scope_close(s);
    fake.stream = PITH_OK;
    s = pith_scope_open(rt);
    pt_ok(s);
    pt_close(rt);
}

Test(backend, short_memory_is_asked_for_once_more_after_trimming) {
    const pithp_backend b = table();
    pith_runtime *rt = open_on(&b);
    pith_scope *s = pith_scope_open(rt);
    fake.allocate = PITH_E_MEMORY;
    fake.failures = 1;
    pithp_buffer *buffer = gt_buffer(s, 100);
    cr_assert_eq(fake.trims, 1);
    cr_assert_geq(fake.synchronised, 1);
    pithp_buffer_release(buffer, 1);
    fake.failures = -1;
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, 100000));
    cr_assert_eq(fake.trims, 2);
    pt_says("0 bytes are in use");
    pt_says("trimming returned 0");
    cr_assert_eq(pith_memory_about(rt).live, 0);
    fake.failures = 1;
    fake.allocate = PITH_E_DEVICE; /* no use trying again */
    cr_assert_null(pithp_buffer_make(s, 100000));
    cr_assert_eq(fake.trims, 2);
    cr_assert_eq(pith_runtime_code(rt), PITH_E_DEVICE);
    pt_close(rt);
}

Test(backend, streams_wait_only_where_buffers_cross) {
    const pithp_backend b = table();
    pith_runtime *rt = open_on(&b);
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    pithp_buffer *buffer = gt_buffer(s, 100);
    pithp_buffer_read(s, buffer);
    cr_assert_eq(fake.waits, 0);
    pithp_buffer_read(t, buffer);
    cr_assert_eq(fake.waits, 1);
    pithp_buffer_release(buffer, 1);
    cr_assert_eq(fake.waits, 2, "freeing waits for the reader");
    buffer = gt_buffer(s, 100);
    pithp_buffer_release(buffer, 1);
    cr_assert_eq(fake.waits, 2);
    buffer = gt_buffer(s, 100);
    fake.wait = PITH_E_UNSUPPORTED;
    pt_fails(PITH_E_UNSUPPORTED, t, pithp_buffer_read(t, buffer));
    const int before = fake.synchronised;
    pithp_buffer_release(buffer, 1);
    cr_assert_gt(fake.synchronised, before, "what cannot be ordered is waited for");
    pt_close(rt);
}

static void count_release(void *closure, void *data) {
    (void)data;
    ++*(int *)closure;
}

Test(backend, without_host_memory_a_lent_array_is_copied) {
    pithp_backend b = table();
    b.addressable = false;
    pith_runtime *rt = open_on(&b);
    pith_scope *s = pith_scope_open(rt);
    int64_t numbers[4] = {1, 2, 3, 4};
    int released = 0;
    pithp_buffer *buffer =
        pithp_buffer_wrap(s, numbers, sizeof numbers, count_release, &released);
    pt_ok(s, buffer);
    cr_assert_eq(released, 1);
    cr_assert_neq(buffer->data, (void *)numbers);
    cr_assert_arr_eq(buffer->data, numbers, sizeof numbers);
    pithp_buffer_release(buffer, 1);
    fake.copy = PITH_E_IO;
    pt_fails(PITH_E_IO, s,
             pithp_buffer_wrap(s, numbers, sizeof numbers, count_release, &released));
    cr_assert_eq(released, 1, "what was not taken is still the caller's");
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pt_close(rt);
}
