/* Checks inside kernels: when their failures surface, where, and with what. */
#include "gpu_test.h"

#include <pith/memory.h>
#include <pith/runtime.h>

TestSuite(check, .init = gt_reset);

typedef struct {
    pith_report *report;
    int64_t from; /* indices from here on fail */
} check_args;

static void check_loop(const void *args, int64_t begin, int64_t end) {
    const check_args *a = args;
    for (int64_t i = begin; i < end; i++)
        if (i >= a->from && ~(uint64_t)i > a->report->first)
            a->report->first = ~(uint64_t)i;
}
static const pithp_host_loop check_loops[PITHP_ISA_COUNT] = {check_loop};

static void describe(const void *subject,
                     const pith_report *report,
                     const char *site,
                     pithp_error *e) {
    pithp_error_set(e, PITH_E_CHECK, ".somewhere", site, "%s at %llu",
                    (const char *)subject, (unsigned long long)~report->first);
}

static void launch(pith_scope *s, const char *subject, int64_t from) {
    pith_report *report = pithp_check_make(s, describe, subject);
    if (!report)
        return;
    const check_args args = {report, from};
    pithp_launch_run(s, &(pithp_launch){.name = subject,
                                        .loops = check_loops,
                                        .args = &args,
                                        .args_bytes = sizeof args,
                                        .count = 20});
}

enum { NONE = 1000 };

static void surfaces(void) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    launch(s, "good", NONE);
    pith_wait(s);
    pt_ok(s);
    pith_call_site(s, "melt.c:12");
    pt_ok(s, pithp_enter_as(s, "pith_test"));
    launch(s, "bad", 17);
    pith_call_site(s, "melt.c:13");
    pt_ok(s, pithp_enter_as(s, "pith_test"));
    launch(s, "worse", 3);
    cr_assert(!pith_failed(s), "asking does not wait");
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says(".somewhere: bad at 17 (melt.c:12)");
    cr_assert_str_eq(pt_error.site, "melt.c:12");
    launch(s, "good", NONE); /* on reports that were used before */
    pith_wait(s);
    pt_ok(s);
    int64_t host = 0;
    pithp_buffer *b = gt_buffer(s, 1);
    launch(s, "read", 1);
    pt_fails(PITH_E_CHECK, s, pithp_copy_out(s, &host, b->data, 8));
    pt_says("read at 1");
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(check, surfaces_at_a_wait) {
    surfaces();
}
Test(check, surfaces_at_a_wait_for_deferred_work) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    surfaces();
}

static char told[512];
static void listen(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level == PITH_LOG_ERROR)
        snprintf(told, sizeof told, "%s", message);
}

static void closing(void) {
    pith_runtime *rt = pt_open();
    told[0] = 0;
    pith_set_log_hook(rt, listen, NULL);
    pith_scope *s = pith_scope_open(rt), *child = pith_scope_open_in(s);
    launch(child, "of a child", 2);
    pith_scope_close(child);
    pt_ok(s);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("of a child at 2");
    launch(s, "of a root", 5);
    cr_assert_str_eq(told, "");
    pith_scope_close(s);
    cr_assert(strstr(told, "of a root at 5"), "%s", told);
    s = pith_scope_open(rt); /* the same stream */
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(check, left_unread_goes_to_the_parent_or_the_log) {
    closing();
}
Test(check, left_unread_goes_to_the_parent_or_the_log_deferred) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    closing();
}

static void bounded(int launches) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < launches; i++)
        launch(s, "good", NONE);
    pith_wait(s);
    const long long bytes = atomic_load(&pt_default_heap.bytes);
    for (int i = 0; i < 5 * launches; i++)
        launch(s, "good", NONE);
    cr_assert_eq(atomic_load(&pt_default_heap.bytes), bytes);
    launch(s, "one in many", 4);
    for (int i = 0; i < launches; i++)
        launch(s, "bad", 1);
    cr_assert(pith_failed(s), "the bound was reached, so it was waited");
    pith_wait(s);
    cr_assert(strstr(pith_message(s), "one in many at 4"), "%s", pith_message(s));
    pith_scope_close(s);
    pt_close(rt);
}

Test(check, of_many_launches_takes_bounded_memory) {
    bounded(5000);
}

Test(check, blames_each_scope_for_its_own) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *child = pith_scope_open_in(s);
    pith_scope *other = pith_scope_open_in(s);
    launch(other, "other", 8);
    launch(child, "child", 9);
    pith_wait(s);
    pt_ok(s);
    cr_assert(strstr(pith_message(child), "child at 9"));
    cr_assert(strstr(pith_message(other), "other at 8"));
    pith_clear(child);
    pith_clear(other);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Where reports lie ---- */

static int taken, given;
static void *take(void *context, size_t bytes, size_t alignment, void *stream) {
    (void)context, (void)stream;
    taken++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void
give(void *context, void *data, size_t bytes, size_t alignment, void *stream) {
    (void)context, (void)bytes, (void)alignment, (void)stream;
    given++;
    free(data);
}

Test(check, reports_lie_in_memory_of_the_manager) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    taken = given = 0;
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){
                        .kind = PITH_ALLOCATOR_USER, .allocate = take, .release = give}));
    const int64_t before = pith_memory_about(rt).live_count;
    launch(s, "good", NONE);
    cr_assert_eq(pith_memory_about(rt).live_count, before + 1);
    cr_assert_gt(pith_memory_about(rt).live, 0);
    cr_assert_gt(taken, 0);
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    cr_assert_eq(pith_memory_about(rt).live, 0, "they go with the root scope");
    pith_memory_trim(rt);
    cr_assert_eq(taken, given);
    pt_close(rt);
}

static void give_up(pith_instance *i, void *closure) {
    (void)i;
    ++*(int *)closure;
}

Test(check, reports_are_made_room_for) {
    setenv("PITH_HOST_MEMORY", "1MiB", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int evicted = 0;
    pith_instance *i = pith_instance_open(
        s, "idle", &(pith_instance_options){.invalidate = give_up, .closure = &evicted});
    pt_ok(s, pith_instance_allocate(s, i,
                                    &(pith_request){.label = "x",
                                                    .dtype = PITH_U8,
                                                    .shape = PITH_SHAPE(1 << 20)}));
    launch(s, "good", NONE);
    pith_wait(s);
    pt_ok(s);
    cr_assert_eq(evicted, 1);
    pith_scope_close(s);
    pt_close(rt);
}
