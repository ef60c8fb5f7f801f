/* Groups of instances: one stream for all, changed and made anew without a mistake of
 * order. */
#include "gpu_test.h"

#include <pith/memory.h>

TestSuite(group, .init = gt_reset);

enum { COUNT = 1000, BYTES = COUNT * sizeof(int64_t) };

static pith_instance *member(pith_scope *s, const char *name, const char *group) {
    pith_instance *i =
        pith_instance_open(s, name, &(pith_instance_options){.group = group});
    pt_ok(s, i);
    return i;
}

Test(group, shares_one_stream_and_others_have_their_own) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *a = member(s, "a", "g"), *b = member(s, "b", "g"),
                  *c = member(s, "c", "h"), *d = member(s, "d", NULL),
                  *e = member(s, "e", NULL);
    cr_assert_str_eq(pith_instance_group(a), "g");
    cr_assert_str_eq(pith_instance_group(d), "default");
    cr_assert_str_eq(pith_instance_group(NULL), "");
    cr_assert(pith_instance_is_grouped(a) && pith_instance_is_grouped(b));
    cr_assert(!pith_instance_is_grouped(c), "it is alone");
    cr_assert(!pith_instance_is_grouped(d), "\"default\" is no group");
    cr_assert_eq(pith_instance_stream(s, a), pith_instance_stream(s, b));
    cr_assert_neq(pith_instance_stream(s, a), pith_instance_stream(s, c));
    cr_assert_neq(pith_instance_stream(s, a), pith_instance_stream(s, d));
    cr_assert_eq(pith_instance_stream(s, d), pith_instance_stream(s, e));
    pith_scope *on_a = pith_scope_open_on(rt, a), *on_b = pith_scope_open_on(rt, b),
               *on_c = pith_scope_open_on(rt, c);
    cr_assert_eq(pithp_scope_stream(on_a), pithp_scope_stream(on_b));
    cr_assert_neq(pithp_scope_stream(on_a), pithp_scope_stream(on_c));
    cr_assert_neq(pithp_scope_stream(on_a), pithp_scope_stream(s));
    /* The stream of a group is not shared, even after its scopes were closed. */
    pith_scope_close(on_a);
    pith_scope_close(on_b);
    pith_scope *t = pith_scope_open(rt);
    cr_assert_neq((void *)pithp_scope_stream(t), pith_instance_stream(s, a));
    pith_instance_close(a);
    pith_instance_close(b);
    cr_assert(!pith_instance_is_grouped(b));
    pt_fails(PITH_E_ARG, s, pith_instance_stream(s, pith_instance_find(rt, "default")));
    pt_says("has no group");
    pt_close(rt);
}

Test(group, change_keeps_the_order_of_what_was_enqueued) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *a = member(s, "a", "g");
    pith_scope *first = pith_scope_open_on(rt, a);
    pithp_buffer *x = gt_buffer(first, COUNT);
    gt_launch(first, NULL, x->data, COUNT);
    pt_ok(s, pith_instance_set_group(s, a, "h"));
    cr_assert_str_eq(pith_instance_group(a), "h");
    pith_scope *second = pith_scope_open_on(rt, a);
    cr_assert_neq(pithp_scope_stream(first), pithp_scope_stream(second));
    pithp_buffer *y = gt_buffer(second, COUNT);
    gt_launch(second, x->data, y->data, COUNT); /* without a word to x */
    int64_t host[COUNT];
    pithp_copy_out(second, host, y->data, BYTES);
    pt_ok(second);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(host[i], 4 * i);
    pithp_buffer_release(x, 1);
    pithp_buffer_release(y, 1);
    pt_fails(PITH_E_ARG, s, pith_instance_set_group(s, a, ""));
    pt_ok(s, pith_instance_set_group(s, a, "h")); /* where it is */
    pith_scope_close(first);
    pith_scope_close(second);
    pt_close(rt);
}

Test(group, waiting_runs_what_was_enqueued_on_its_stream_alone) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *a = member(s, "a", "g"), *b = member(s, "b", "h");
    pith_scope *on_a = pith_scope_open_on(rt, a), *on_b = pith_scope_open_on(rt, b);
    pithp_buffer *x = gt_buffer(on_a, COUNT), *y = gt_buffer(on_b, COUNT);
    memset(x->data, 0xEE, BYTES);
    memset(y->data, 0xEE, BYTES);
    gt_launch(on_a, NULL, x->data, COUNT);
    gt_launch(on_b, NULL, y->data, COUNT);
    pt_ok(s, pith_instance_wait(s, a));
    cr_assert_eq(((int64_t *)x->data)[7], 7);
    cr_assert_neq(((int64_t *)y->data)[7], 7);
    pt_ok(on_b, pith_instance_wait(on_b, b));
    cr_assert_eq(((int64_t *)y->data)[7], 7);
    pithp_buffer_release(x, 1);
    pithp_buffer_release(y, 1);
    pt_close(rt);
}

Test(group, reset_gives_new_streams_after_the_old_ones_have_run) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *a = member(s, "a", "g"), *b = member(s, "b", "g"),
                  *c = member(s, "c", NULL);
    pith_scope *on_a = pith_scope_open_on(rt, a);
    const void *old = pith_instance_stream(s, a), *old_c = pith_instance_stream(s, c);
    pithp_buffer *x = gt_buffer(on_a, COUNT);
    memset(x->data, 0xEE, BYTES);
    gt_launch(on_a, NULL, x->data, COUNT);
    pt_ok(s, pith_memory_reset_streams(s));
    cr_assert_eq(((int64_t *)x->data)[7], 7);
    cr_assert_neq(pith_instance_stream(s, a), old);
    cr_assert_neq(pith_instance_stream(s, c), old_c);
    cr_assert_eq(pith_instance_stream(s, a), pith_instance_stream(s, b));
    cr_assert_eq((void *)pithp_scope_stream(on_a), old, "an open scope keeps its own");
    pithp_buffer_release(x, 1);
    pith_scope_close(on_a);
    pith_scope *again = pith_scope_open_on(rt, a);
    cr_assert_eq((void *)pithp_scope_stream(again), pith_instance_stream(s, a));
    pt_close(rt);
}
