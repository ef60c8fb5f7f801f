/* Operations on trees with traced leaves: recorded, optimised and run by an executable
 * they give the bits that they give at once. */
#ifndef PITH_TRACE_TEST_H
#define PITH_TRACE_TEST_H

#include "pith/pith.h"

#include "array/array_internal.h"
#include "pith_test.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

enum { PT_LEAVES = 4, PT_MOST = 16 };

typedef const void *(*pt_operation)(pith_scope *s, const pith_array *const *leaves);

/* Compare the leaves of both results; the recorded call runs on an executable. */
static inline void pt_same_traced(pt_operation f) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *inner = pith_scope_open_in(s);
    const pith_array *given[PT_LEAVES], *traced[PT_LEAVES];
    const void *inputs[PT_LEAVES];
    pithp_trace *t = pithp_trace_begin(inner);
    for (int k = 0; k < PT_LEAVES; k++) {
        const pith_array *numbers = pith_arange(s, k % 2 ? PITH_F32 : PITH_F64, 6);
        given[k] = pith_reshape(s, pith_add(s, numbers, pith_like(s, numbers, k)),
                                PITH_SHAPE(2, 3));
        inputs[k] = given[k]->data;
        traced[k] = pithp_trace_input(inner, t, pith_array_spec(given[k]));
    }
    const void *now = f(s, given), *later = f(inner, traced);
    pt_ok(s, now);
    pt_ok(inner, later);
    const pith_array *const *want, *const *got;
    const pith_treedef *def = pith_tree_flatten(s, now, &want);
    pith_tree_flatten(inner, later, &got);
    pt_ok(s, def);
    pt_ok(inner);
    const int64_t count = pith_treedef_num_leaves(def);
    cr_assert(count > 0 && count <= PT_MOST);
    void *made[PT_MOST];
    for (int64_t k = 0; k < count; k++) {
        cr_assert(pith_is_traced(got[k]));
        cr_assert(pith_array_spec(got[k]) == pith_array_spec(want[k]));
        pithp_program_output(inner, t->program, pithp_trace_value(inner, t, got[k]));
        made[k] = malloc(pith_array_spec(got[k])->bytes);
    }
    pithp_program *p = pithp_trace_end(inner, t);
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pithp_executable *exe = pithp_executable_make(s, better, true);
    pt_ok(s, exe);
    pithp_executable_run(s, exe, inputs, made);
    pt_ok(s);
    pith_wait(s);
    for (int64_t k = 0; k < count; k++) {
        const pithp_place place = pithp_plan_output(exe->plan, k);
        const void *data =
            place.store == PITHP_IN_INPUT ? inputs[place.at] : made[place.at];
        cr_assert(!memcmp(data, want[k]->data, pith_array_spec(want[k])->bytes),
                  "leaf %lld", (long long)k);
    }
    for (int64_t k = 0; k < count; k++)
        free(made[k]);
    pithp_executable_free(exe);
    pithp_program_release(better);
    pithp_program_release(p);
    pith_scope_close(s);
    pt_close(rt);
}

#endif
