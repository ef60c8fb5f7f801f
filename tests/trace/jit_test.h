/* What tests of compiled functions share: a state, and functions that count how often
 * they are traced. */
#ifndef PITH_TESTS_JIT_H
#define PITH_TESTS_JIT_H

#include "pith/pith.h"

#include "pith_test.h"
#include "trace/jit/jit_internal.h"

typedef struct {
    const pith_array *position, *velocity;
} Atoms;
typedef struct {
    const Atoms *atoms;
    const pith_array *count;
    int64_t width;
    double cutoff;
    const char *name;
} Sim;
PITH_NODE(Atoms, PITH_LEAF(position, "float[n,3]"), PITH_LEAF(velocity, "float[n,3]"))
PITH_NODE(Sim,
          PITH_CHILD(atoms, Atoms),
          PITH_LEAF(count, "i32[]"),
          PITH_STATIC(width, .initial = 4),
          PITH_STATIC(cutoff, .initial = 2.5),
          PITH_STATIC(name))

static pith_runtime *rt;
static pith_scope *s;
static int runs; /* of the functions below */

static PT_UNUSED void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
    runs = 0;
}
static PT_UNUSED void close_scope(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}
static PT_UNUSED const Sim *some_sim(int64_t n) {
    Atoms atoms = {.position = pith_arange(s, PITH_F64, 3 * n)};
    atoms.position = pith_reshape(s, atoms.position, PITH_SHAPE(n, 3));
    atoms.velocity = pith_full(s, PITH_F64, PITH_SHAPE(n, 3), 0.5);
    Sim sim = pith_initial(Sim);
    sim.atoms = pith_freeze(s, Atoms, &atoms);
    sim.count = pith_i32(s, 0);
    const Sim *made = pith_freeze(s, Sim, &sim);
    pt_ok(s, made);
    return made;
}
static PT_UNUSED const Sim *with_width(const Sim *sim, int64_t width) {
    Sim next = *sim;
    next.width = width;
    return pith_freeze(s, Sim, &next);
}
static PT_UNUSED double element(const pith_array *a, int64_t i) {
    double values[300];
    const pith_spec *spec = pith_array_spec(a);
    pt_ok(s, spec && spec->bytes <= sizeof values);
    pt_ok(s, pith_read(s, a, values, spec->bytes));
    return values[i];
}

/* x += width v; the count goes up. */
static PT_UNUSED const Sim *drift(pith_scope *in, const Sim *sim) {
    runs++;
    Atoms atoms = *sim->atoms;
    Sim next = *sim;
    atoms.position =
        pith_add(in, atoms.position,
                 pith_mul(in, atoms.velocity, pith_f64(in, (double)sim->width)));
    next.atoms = pith_freeze(in, Atoms, &atoms);
    next.count = pith_add(in, sim->count, pith_i32(in, 1));
    return pith_freeze(in, Sim, &next);
}
PITH_FUNCTION1(drift_step, drift, Sim, Sim)

static PT_UNUSED const void *none_of(pith_scope *in, const void *tree) {
    (void)tree;
    return pith_tuple_make(in, 0, NULL);
}
PITH_FUNCTION1(none_function, none_of, void, void)

static PT_UNUSED const pith_array *
power(pith_scope *in, const pith_array *x, const pith_array *n) {
    runs++;
    const pith_array *y = pith_ones(in, PITH_F64, PITH_SCALAR);
    for (int64_t i = pith_read_i64(in, n); i > 0; i--)
        y = pith_mul(in, y, x);
    return y;
}
PITH_FUNCTION2(power_function, power, pith_array, pith_array, pith_array)

#endif
