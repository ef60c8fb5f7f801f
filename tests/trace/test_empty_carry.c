/* Loops whose carry has no leaves: call by call and compiled. */
#include "pith/pith.h"

#include "both.h"

static const pith_array *never(pith_scope *s, const void *carry) {
    (void)carry;
    return pith_bool(s, false);
}
static const void *same(pith_scope *s, const void *carry) {
    (void)s;
    return carry;
}
static const void *same_at(pith_scope *s, const void *i, const void *carry) {
    (void)s;
    (void)i;
    return carry;
}
PITH_FUNCTION1(never_test, never, pith_array, void)
PITH_FUNCTION1(same_step, same, void, void)
PITH_FUNCTION2(same_at_step, same_at, void, void, void)

typedef struct {
    const void *carry, *out;
} Empty;
PITH_NODE(Empty, PITH_TREE(carry), PITH_TREE(out))
static const Empty *empty_row(pith_scope *s, const void *carry, const void *x) {
    (void)x;
    return pith_freeze(s, Empty, &(Empty){carry, carry});
}
PITH_FUNCTION2(empty_row_step, empty_row, Empty, void, void)

static const void *empty_while(pith_scope *s, const void *c) {
    return pith_while(s, &never_test, &same_step, c);
}
static const void *empty_while_passing(pith_scope *s, const void *c) {
    return pith_while_passing(s, &never_test, &same_step, c);
}
static const void *empty_fori(pith_scope *s, const void *c) {
    return pith_fori(s, 0, 3, &same_at_step, c);
}
static const void *empty_scan(pith_scope *s, const void *c) {
    return pith_scan(s, &empty_row_step, c, NULL, NULL,
                     &(pith_loop_options){.length = 3});
}
PITH_FUNCTION1(empty_while_function, empty_while, void, void)
PITH_FUNCTION1(empty_while_passing_function, empty_while_passing, void, void)
PITH_FUNCTION1(empty_fori_function, empty_fori, void, void)
PITH_FUNCTION1(empty_scan_function, empty_scan, void, void)

/* Each loop is the first instruction of a program that has neither inputs nor values. */
BOTH(empty_carry, is_returned_by_every_loop) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *const loops[] = {&empty_while_function,
                                          &empty_while_passing_function,
                                          &empty_fori_function, &empty_scan_function};
    const void *empty = pith_tuple_make(s, 0, NULL);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        const void *eager = pith_call(s, loops[k], PITH_ITEMS(empty));
        pt_ok(s, eager);
        cr_assert(pith_child_count(eager) == 0, "loop %zu", k);
        const void *compiled =
            pith_call(s, pith_jit(s, loops[k], NULL), PITH_ITEMS(empty));
        pt_ok(s, compiled);
        cr_assert(pith_child_count(compiled) == 0, "compiled loop %zu", k);
    }
    pith_scope_close(s);
    pt_close(rt);
}
