/* Every allocation of a scenario over the base and gpu rooms fails once. */
#include "fail_allocator.h"
#include "gpu_test.h"

TestSuite(failure, .init = gt_reset);

enum { SMALL = 100, LARGE = 300000 };

static void describe(const void *subject,
                     const pith_report *report,
                     const char *site,
                     pithp_error *e) {
    (void)subject, (void)report;
    pithp_error_set(e, PITH_E_CHECK, NULL, site, "failed");
}

static void release(pith_scope *s, void *thing) {
    (void)s;
    pithp_buffer_release(thing, 1);
}

/* A buffer that the scope holds. */
static pithp_buffer *held(pith_scope *s, int64_t count) {
    pithp_buffer *b = pithp_buffer_make(s, (size_t)count * sizeof(int64_t));
    if (b && pithp_scope_hold(s, b, release))
        return b;
    pithp_buffer_release(b, 1);
    return NULL;
}

static void compute(pith_scope *s, int64_t count) {
    pithp_buffer *a = NULL, *b = NULL;
    static int64_t host[LARGE];
    for (int64_t i = 0; i < count; i++)
        host[i] = i;
    pt_again(s, (a = held(s, count)));
    pt_again(s, (b = held(s, count)));
    if (pith_failed(s))
        return;
    pt_again(s, pithp_copy_in(s, a->data, host, (size_t)count * 8) == PITH_OK);
    pt_again(s, pithp_check_make(s, describe, NULL));
    pt_again(s, gt_launch(s, a->data, b->data, count) == PITH_OK);
    pt_again(s, pithp_copy(s, a->data, b->data, (size_t)count * 8) == PITH_OK);
    pt_again(s, pithp_fill(s, b->data, &(int64_t){-1}, 8, count) == PITH_OK);
    pt_again(s, pithp_copy_out(s, host, a->data, (size_t)count * 8) == PITH_OK);
    if (!pith_failed(s))
        for (int64_t i = 0; i < count; i++)
            cr_assert_eq(host[i], 4 * i);
}

static void make_objects(pith_scope *s) {
    static const char tag;
    const int64_t shape[] = {3, 5};
    const pith_spec *spec = NULL;
    pt_again(s, (spec = pithp_spec(s, PITH_F32, 2, shape)));
    cr_assert(pith_failed(s) || spec == pithp_spec(s, PITH_F32, 2, shape));
    for (int i = 0; i < 3; i++)
        pt_again(s, pithp_object_make(s, PITHP_KIND_OTHER, &tag, 30000));
    pithp_string t;
    pithp_string_begin(&t, pith_scope_runtime(s));
    for (int i = 0; i < 100; i++)
        pithp_string_print(&t, "%d,", i);
    cr_assert(t.failed || strlen(t.bytes) == 290);
    pithp_string_end(&t);
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pith_scope *child = pith_scope_open_in(s), *other = pith_scope_open(rt);
    if (!pith_failed(child))
        make_objects(child);
    if (!pith_failed(child))
        compute(child, SMALL);
    if (!pith_failed(child))
        compute(child, LARGE);
    pithp_buffer *b = NULL;
    if (!pith_failed(other) && !pith_failed(s)) {
        pt_again(s, (b = held(s, LARGE)));
        pt_again(other, pithp_buffer_read(other, b) == PITH_OK);
    }
    const pith_status code = pith_code(s) ? pith_code(s) : pith_code(child);
    const pith_status result = code ? code : pith_code(other);
    pith_scope_close(child);
    pith_scope_close(other);
    pith_scope_close(s);
    cr_assert_eq(pith_memory_about(rt).live, 0);
    pith_close(rt);
    return result;
}

Test(failure, of_each_allocation_is_survived) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.allocations, 20);
    cr_assert_gt(f.errors, 5);
    cr_assert_gt(f.survived, 5);
}

Test(failure, of_each_allocation_is_survived_with_deferred_work) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.allocations, 40);
}
