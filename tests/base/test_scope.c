/* Scopes: what they own, who closes them, and what is left when they are closed. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

static const char tag;

Test(scope, knows_its_runtime_until_it_closes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    cr_assert_eq(pith_scope_runtime(s), rt);
    cr_assert_gt(pith_scope_bytes(s), 0);
    pith_scope_close(s);
    cr_assert_null(pith_scope_runtime(s));
    cr_assert_eq(pith_scope_bytes(s), 0);
    cr_assert_eq(pith_code(s), PITH_E_SCOPE);
    cr_assert_str_eq(pith_message(s), pith_status_text(PITH_E_SCOPE));
    cr_assert_str_eq(pith_error_path(s), "");
    cr_assert_str_eq(pith_error_site(s), "");
    pith_scope_close(s); /* twice does nothing */
    pith_scope_close(NULL);
    pt_close(rt);
}

Test(scope, what_is_no_scope_is_refused) {
    pith_runtime *rt = pt_open();
    char stack[8192] = {0};
    pith_scope *odd[] = {NULL, (pith_scope *)(void *)stack, (pith_scope *)(void *)rt,
                         (pith_scope *)(uintptr_t)0xdeadbeefdeadbeef};
    for (int i = 0; i < PITHP_COUNT(odd); i++) {
        cr_assert_eq(pith_code(odd[i]), PITH_E_SCOPE);
        cr_assert(pith_failed(odd[i]));
        cr_assert_not(pithp_enter_as(odd[i], "pith_test"));
        pith_scope *child = pith_scope_open_in(odd[i]);
        cr_assert_eq(pith_code(child), PITH_E_SCOPE);
        cr_assert(strstr(pith_message(child), "parent"));
        pith_clear(child);
        cr_assert_eq(pith_code(child), PITH_E_SCOPE, "it is shared, and never written");
        pith_scope_close(child);
        pith_scope_close(odd[i]);
        pith_clear(odd[i]);
        cr_assert_null(pith_scope_runtime(odd[i]));
    }
    pt_close(rt);
}

Test(scope, closing_closes_the_children_first) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_scope *a = pith_scope_open_in(s), *b = pith_scope_open_in(s);
    pith_scope *c = pith_scope_open_in(a), *d = pith_scope_open_in(a);
    pith_scope_close(c);
    cr_assert_eq(pith_code(d), PITH_OK);
    pith_scope_close(a);
    cr_assert_eq(pith_code(d), PITH_E_SCOPE);
    cr_assert_eq(pith_code(b), PITH_OK);
    pith_scope_close(s);
    cr_assert_eq(pith_code(b), PITH_E_SCOPE);
    pt_close(rt);
}

Test(scope, a_long_chain_closes_without_recursion) {
    enum { DEPTH = 3000 };
    pith_runtime *rt = pt_open();
    pith_scope *root = pith_scope_open(rt), *last = root;
    for (int i = 0; i < DEPTH; i++)
        last = pith_scope_open_in(last);
    pt_ok(last);
    cr_assert(pithp_scope_reaches(last, root));
    cr_assert_not(pithp_scope_reaches(root, last));
    pith_scope_close(root);
    cr_assert_eq(pith_code(last), PITH_E_SCOPE);
    pt_close(rt);
}

Test(scope, opened_in_turn_takes_no_more_memory) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < 1000; i++)
        pith_scope_close(pith_scope_open_in(s));
    const size_t bytes = pithp_bytes_allocated(rt);
    for (int i = 0; i < 3000; i++) {
        pith_scope *child = pith_scope_open_in(s);
        pt_ok(child, pithp_object_make(child, PITHP_KIND_OTHER, &tag, 15000));
        pith_scope_close(child);
    }
    cr_assert_eq(pithp_bytes_allocated(rt), bytes);
    pt_close(rt);
}

/* A child for which there is no memory carries the error, and cannot pass it on at its
 * close, so the parent gets it at once. */
Test(scope, a_child_that_cannot_be_opened_is_an_error_of_its_parent) {
    pt_heap heap = {.fail_at = 0};
    const pith_allocator allocator = pt_allocator(&heap);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .allocator = &allocator});
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s);
    pith_scope *child = s;
    heap.fail_at = atomic_load(&heap.allocations) + 1;
    for (int i = 0; i < 10000 && !pith_failed(child); i++) /* cached blocks come first */
        child = pith_scope_open_in(s);
    cr_assert_eq(pith_code(child), PITH_E_MEMORY);
    cr_assert_eq(pith_code(s), PITH_E_MEMORY);
    pith_clear(s);
    pith_scope *next = pith_scope_open_in(s);
    pt_ok(next);
    pith_scope_close(s);
    pith_close(rt);
}

Test(scope, owns_memory_of_any_size) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const size_t sizes[] = {0,     1,     16,    100,   4096,
                                   16384, 16385, 65000, 65536, 1000000};
    unsigned char *all[PITHP_COUNT(sizes)];
    for (int i = 0; i < PITHP_COUNT(sizes); i++) {
        all[i] = pithp_scope_allocate(s, sizes[i]);
        pt_ok(s, all[i]);
        cr_assert_eq((uintptr_t)all[i] % 16, 0);
        memset(all[i], i, sizes[i]);
    }
    for (int i = 0; i < PITHP_COUNT(sizes); i++)
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(all[i][k], i);
    pt_fails(PITH_E_MEMORY, s, pithp_scope_allocate(s, SIZE_MAX));
    pt_fails(PITH_E_MEMORY, s, pithp_scope_allocate(s, PTRDIFF_MAX));
    pt_fails(PITH_E_MEMORY, s,
             pithp_object_make(s, PITHP_KIND_OTHER, &tag, SIZE_MAX - 8));
    pith_scope_close(s);
    pt_close(rt);
}

static int released[200];
static void release(pith_scope *s, void *thing) {
    cr_assert(pithp_scope_valid(s));
    ++*(int *)thing;
}

Test(scope, releases_what_it_holds_once) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pithp_hold *holds[200];
    memset(released, 0, sizeof released);
    for (int i = 0; i < 200; i++) {
        holds[i] = pithp_scope_hold(s, &released[i], release);
        pt_ok(s, holds[i]);
    }
    for (int i = 0; i < 200; i += 2)
        pithp_hold_drop(s, holds[i]);
    holds[1]->live++;
    pithp_hold_drop(s, holds[1]); /* one of two users */
    for (int i = 0; i < 200; i++)
        cr_assert_eq(released[i], i % 2 == 0);
    pith_scope_close(s);
    for (int i = 0; i < 200; i++)
        cr_assert_eq(released[i], 1);
    pt_close(rt);
}

Test(scope, reuses_the_room_of_holds_that_were_dropped) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < 1000; i++)
        pithp_hold_drop(s, pithp_scope_hold(s, &released[0], release));
    const size_t bytes = pith_scope_bytes(s);
    for (int i = 0; i < 20000; i++)
        pithp_hold_drop(s, pithp_scope_hold(s, &released[0], release));
    cr_assert_eq(pith_scope_bytes(s), bytes);
    pith_scope_close(s);
    pt_close(rt);
}

static int opened, closing;
static void on_open(pith_scope *s) {
    opened++;
    cr_assert_null(s->parent);
    s->room[PITHP_ROOM_TRACE] = &opened;
    s->room[PITHP_ROOM_RUN] = &opened;
}
static void on_close(pith_scope *s) {
    cr_assert(pithp_scope_valid(s));
    closing++;
}

Test(scope, tells_rooms_of_its_life) {
    static const pithp_room_hooks hooks = {.root_opened = on_open,
                                           .scope_closing = on_close};
    opened = closing = 0;
    pith_runtime *rt = pt_open();
    pithp_room_hook(rt, PITHP_ROOM_RUN, &hooks);
    pith_scope *s = pith_scope_open(rt);
    const pith_scope *inner = pith_scope_open_in(pith_scope_open_in(s));
    cr_assert_eq(opened, 1);
    cr_assert_eq(inner->room[PITHP_ROOM_TRACE], (void *)&opened);
    cr_assert_null(inner->room[PITHP_ROOM_RUN]);
    cr_assert_eq(inner->room[PITHP_ROOM_GPU], s->room[PITHP_ROOM_GPU]);
    s->room[PITHP_ROOM_TRACE] = NULL; /* it is no trace */
    pith_scope_close(s);
    cr_assert_eq(closing, 3);
    pt_close(rt);
}
