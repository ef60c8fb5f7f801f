/* Collectives of one rank, on the device that PT_USUAL_DEVICE names: where the host does
 * not reach its memory, arrays are staged. */
#include "fail_allocator.h"
#include "mesh/cases.h"

#ifndef PT_USUAL_DEVICE
#    define PT_USUAL_DEVICE "host"
#endif

Test(collective_alone, every_case) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = PT_USUAL_DEVICE, .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    cr_assert(mesh_run_cases(s, NULL) == 0);
    pith_scope_close(s);
    pith_close(rt);
}

Test(collective_alone, needs_a_mesh) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = PT_USUAL_DEVICE, .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    pt_fails(PITH_E_ARG, s, pith_psum(s, pith_f64(s, 1), NULL, NULL));
    pt_says("pith_psum: the scope has no mesh: call pith_mesh_open");
    pt_fails(PITH_E_ARG, s, pith_axis_index(s, NULL));
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_fails(PITH_E_ARG, s, pith_psum(s, NULL, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_psum(s, pith_f64(s, 1), "y", NULL));
    pith_scope_close(s);
    pith_close(rt);
}

#ifndef PT_NO_FAILURES
static const pith_array *recorded(pith_scope *s, const pith_array *a) {
    const pith_array *sum = pith_psum(s, pith_mul(s, a, 2.0), NULL, NULL);
    const pith_array *back = pith_pshift(s, sum, NULL, 1, true, NULL);
    return pith_all_gather(s, pith_add(s, back, a), NULL, 1);
}
PITH_FUNCTION1(recorded_function, recorded, pith_array, pith_array)

/* Each allocation fails once. */
static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pt_again(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    const pith_array *a = pith_iota(s, PITH_F32, PITH_SHAPE(3, 2), 0);
    if (a) {
        pt_again(s, pith_psum(s, a, NULL, NULL));
        pt_again(s, pith_pmax(s, a, "x"));
        pt_again(s, pith_all_gather(s, a, NULL, 1));
        pt_again(s, pith_all_to_all(s, a, NULL, 0, 1, NULL));
        pt_again(s, pith_pshift(s, a, NULL, 1, true, NULL));
        pt_again(s, pith_psum_rows(s, a, NULL, NULL));
        pt_again(s, pith_tree_psum(s, a, NULL, NULL));
        const pith_function *f = NULL;
        pt_again(s, f = pith_jit(s, &recorded_function, NULL));
        for (int call = 0; call < 2 && f; call++)
            pt_again(s, pith_call(s, f, PITH_ITEMS(a)));
    }
    const pith_status code = pith_code(s);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(collective_alone, survives_short_memory) {
    setenv("PITH_JIT", "off", 1); /* no compiler for each */
    const pt_failures result = pt_fail_each(scenario);
    cr_assert(result.allocations > 10, "%d", result.allocations);
}
#endif
