/* Programs that no thread runs are freed before an allocation is refused. */
#include "pith/pith.h"

#include "pith_test.h"

enum { MIB = 1 << 17 }; /* elements of f64 */

static pith_runtime *rt;
static pith_scope *s;
static double addend;

static void begin(void) {
    setenv("PITH_HOST_MEMORY", "64MiB", 1);
    rt = pt_open_on("host"); /* whose memory the variable limits */
    unsetenv("PITH_HOST_MEMORY");
    s = pith_scope_open(rt);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* A program with a constant of 20 MiB. */
static const pith_array *with_constant(pith_scope *in, const pith_array *x) {
    double *values = malloc((size_t)20 * MIB * sizeof *values);
    for (int64_t k = 0; k < 20 * MIB; k++)
        values[k] = addend + (double)(k % 7);
    const pith_array *c = pith_array_copy(in, PITH_F64, PITH_SHAPE(20 * MIB), values);
    free(values);
    return pith_max(in, pith_add(in, c, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(first_step, with_constant, pith_array, pith_array)
PITH_FUNCTION1(second_step, with_constant, pith_array, pith_array)

static double call(const pith_function *f, double value) {
    pith_scope *in = pith_scope_open_in(s);
    addend = value;
    const pith_array *y = pith_apply(in, f, pith_f64(in, 1));
    const double got = pith_read_f64(in, y);
    pt_ok(in);
    pith_scope_close(in);
    return got;
}

Test(reclaim, idle_programs_make_room, .init = begin) {
    const pith_function *first = pith_jit(s, &first_step, NULL),
                        *second = pith_jit(s, &second_step, NULL);
    cr_assert(call(first, 10) == 17 && call(second, 20) == 27);
    cr_assert(pith_jit_about(rt).programs == 2);
    const pith_array *large = pith_zeros(s, PITH_F64, PITH_SHAPE(40 * MIB));
    pt_ok(s, large);
    cr_assert(pith_jit_about(rt).programs == 0);
    cr_assert(pith_jit_about(rt).evictions == 2);
    pith_drop(s, large);
    cr_assert(call(first, 30) == 37, "traced again");
    cr_assert(call(first, 40) == 37, "and kept");
    end();
}

/* The constant, and a result of 30 MiB. */
static const pith_array *with_result(pith_scope *in, const pith_array *x) {
    return pith_broadcast_to(in, with_constant(in, x), PITH_SHAPE(30 * MIB));
}
PITH_FUNCTION1(large_step, with_result, pith_array, pith_array)

Test(reclaim, the_program_that_runs_stays, .init = begin) {
    const pith_function *first = pith_jit(s, &first_step, NULL),
                        *large = pith_jit(s, &large_step, NULL);
    for (int k = 0; k < 2; k++) {
        pith_scope *in = pith_scope_open_in(s);
        addend = 10;
        const pith_array *y = pith_apply(in, large, pith_f64(in, 1));
        pt_ok(in, y);
        cr_assert(pith_read_f64(in, pith_min(in, y, PITH_ALL_AXES)) == 17);
        cr_assert(pith_jit_about(rt).programs == 1, "its own");
        pith_scope_close(in);
        call(first, 10); /* then there are two constants, and no room for the result */
    }
    end();
}

static int told;
static void free_all(pith_instance *i, void *closure) {
    told++;
    cr_assert(closure == &told);
    pith_instance_free_all(i);
    cr_assert_null(pith_instance_find_allocation(i, "x"));
}

/* It runs while the function is traced, which may not free them. */
Test(reclaim, hooks_of_idle_instances_free_their_allocations, .init = begin) {
    pith_instance *idle = pith_instance_open(
        s, "idle", &(pith_instance_options){.invalidate = free_all, .closure = &told});
    const pith_request x = {.label = "x",
                            .dtype = PITH_F64,
                            .shape = PITH_SHAPE(50 * MIB),
                            .unchunkable = true};
    pt_ok(s, pith_instance_allocate(s, idle, &x));
    cr_assert(call(pith_jit(s, &first_step, NULL), 10) == 17);
    cr_assert(told == 1);
    pith_instance_close(idle);
    end();
}
