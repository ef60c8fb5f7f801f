/* Whatever pointer a user passes, it is known for what it is before it is read. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

static const char tag;

static pithp_pointer check(const void *p) {
    pithp_block *block = NULL;
    return pithp_pointer_check(p, &block);
}

Test(pointer, is_an_object_only_at_its_start) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char *object = pithp_object_make(s, PITHP_KIND_OTHER, &tag, 200);
    cr_assert_eq(check(object), PITHP_POINTER_OK);
    cr_assert_eq(pithp_owner_of(object), s);
    for (int i = 0; i < 200; i++)
        cr_assert_eq(object[i], 0);
    cr_assert_eq(check(object + 1), PITHP_POINTER_FOREIGN);
    cr_assert_eq(check(object + 16), PITHP_POINTER_NO_OBJECT);
    cr_assert_eq(check(object + 160), PITHP_POINTER_NO_OBJECT);
    cr_assert_eq(check(s), PITHP_POINTER_NO_OBJECT);
    cr_assert_eq(check(rt), PITHP_POINTER_NO_OBJECT);
    pithp_header_of(object)->kind = PITHP_KIND_FREE;
    cr_assert_eq(check(object), PITHP_POINTER_DROPPED);
    pith_scope_close(s);
    pt_close(rt);
}

Test(pointer, to_other_memory_is_foreign) {
    _Alignas(16) char stack[64] = {0};
    static _Alignas(16) char fixed[64];
    void *heap = malloc(200000);
    cr_assert_eq(check(NULL), PITHP_POINTER_NULL);
    cr_assert_eq(check(stack + 32), PITHP_POINTER_FOREIGN);
    cr_assert_eq(check(fixed + 32), PITHP_POINTER_FOREIGN);
    cr_assert_eq(check(heap), PITHP_POINTER_FOREIGN);
    cr_assert_eq(check((char *)heap + 65536), PITHP_POINTER_FOREIGN);
    for (int bit = 0; bit < 64; bit++)
        cr_assert_neq(check((const void *)((uintptr_t)1 << bit)), PITHP_POINTER_OK);
    cr_assert_neq(check((const void *)UINTPTR_MAX), PITHP_POINTER_OK);
    cr_assert_neq(check((const void *)(UINTPTR_MAX - 15)), PITHP_POINTER_OK);
    free(heap);
}

Test(pointer, into_a_closed_scope_is_freed) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const char *small = pithp_object_make(s, PITHP_KIND_OTHER, &tag, 64);
    const char *large = pithp_object_make(s, PITHP_KIND_OTHER, &tag, 300000);
    cr_assert_eq(check(small), PITHP_POINTER_OK);
    cr_assert_eq(check(large), PITHP_POINTER_OK);
    cr_assert_eq(check(large + 160000), PITHP_POINTER_NO_OBJECT);
    pith_scope_close(s);
    cr_assert_eq(check(small), PITHP_POINTER_FREED);
    cr_assert_neq(check(large), PITHP_POINTER_OK);
#ifdef PITH_DEBUG
    for (int i = 0; i < 200; i++) { /* others take other memory for a while */
        pith_scope *other = pith_scope_open(rt);
        pithp_object_make(other, PITHP_KIND_OTHER, &tag, 64);
        pith_scope_close(other);
        cr_assert_eq(check(small), PITHP_POINTER_FREED);
    }
#endif
    pt_close(rt);
    cr_assert_eq(check(small), PITHP_POINTER_FOREIGN);
}

Test(pointer, every_verdict_has_a_text) {
    for (int i = PITHP_POINTER_OK; i <= PITHP_POINTER_DROPPED; i++)
        cr_assert_neq(pithp_pointer_text((pithp_pointer)i)[0], 0);
    cr_assert(strstr(pithp_pointer_text(PITHP_POINTER_FOREIGN), "not frozen"));
}

Test(pointer, permanent_memory_outlives_runtimes) {
    pithp_header *h = pithp_permanent(sizeof *h + 100);
    cr_assert_not_null(h);
    *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC, .kind = PITHP_KIND_RECORD};
    pt_close(pt_open());
    cr_assert_eq(check(h + 1), PITHP_POINTER_OK);
    cr_assert_null(pithp_owner_of(h + 1));
    char *large = pithp_permanent(1000000);
    cr_assert_not_null(large);
    for (int i = 0; i < 1000000; i++)
        cr_assert_eq(large[i], 0);
    cr_assert_null(pithp_permanent(SIZE_MAX));
}
