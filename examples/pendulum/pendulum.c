/* A thousand pendulums: a state, a step that runs eagerly and compiled, and a checkpoint.
 */
#include <pith/pith.h>
#include <stdio.h>

/* The state: a C struct, and a declaration of its members. */
typedef struct {
    const pith_array *angle, *speed;
    double dt;
} Pendulums;
PITH_NODE(Pendulums,
          PITH_LEAF(angle, "f64[n]", .unit = "rad"),
          PITH_LEAF(speed, "f64[n]", .unit = "rad/s"),
          PITH_STATIC(dt, .initial = 0.001))

/* A step: copy the struct, edit the copy, freeze it. Members that were not edited are
 * shared with the state before. */
static const Pendulums *swing(pith_scope *s, const Pendulums *in) {
    Pendulums next = *in;
    next.speed = pith_sub(s, in->speed, pith_mul(s, in->dt, pith_sin(s, in->angle)));
    next.angle = pith_add(s, in->angle, pith_mul(s, in->dt, next.speed));
    return pith_freeze(s, Pendulums, &next);
}
PITH_FUNCTION1(swing_step, swing, Pendulums, Pendulums)

/* Kinetic and potential energy of all pendulums. */
static double energy(pith_scope *s, const Pendulums *p) {
    const pith_array *kinetic = pith_mul(s, 0.5, pith_square(s, p->speed));
    const pith_array *potential = pith_sub(s, 1, pith_cos(s, p->angle));
    return pith_read_f64(s, pith_sum(s, pith_add(s, kinetic, potential), PITH_ALL_AXES));
}

int main(void) {
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);

    Pendulums start = pith_initial(Pendulums);
    start.angle = pith_mul(s, pith_arange(s, PITH_F64, 1000), 0.003);
    const Pendulums *first = pith_make(s, Pendulums, &start, NULL); /* speed: zeros */
    printf("energy at the start: %.3f\n", energy(s, first));

    /* The same step eagerly, call by call, and compiled. */
    const pith_function *step = pith_jit(s, &swing_step, NULL);
    const pith_run_options hundred = {.steps = 100};
    const Pendulums *eager = pith_run(s, Pendulums, &swing_step, first, &hundred);
    const Pendulums *compiled = pith_run(s, Pendulums, step, first, &hundred);
    printf("eager and compiled are %s\n",
           pith_tree_equal(s, eager, compiled) ? "equal, bit for bit" : "different");

    /* A longer run that saves its last state, and that state loaded again. */
    const Pendulums *last = pith_run(
        s, Pendulums, step, compiled,
        &(pith_run_options){.steps = 2000, .first_step = 100, .save = "pendulum.json"});
    printf("energy at the end:   %.3f\n", energy(s, last));
    const Pendulums *loaded = pith_load(s, Pendulums, "pendulum.json");
    printf("saved and loaded are %s\n",
           pith_tree_equal(s, last, loaded) ? "equal, bit for bit" : "different");
    pith_print(s, loaded, stdout, NULL);

    const bool failed = pith_failed(s); /* errors stay on the scope */
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
