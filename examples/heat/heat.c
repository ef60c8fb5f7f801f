/* Reaction-diffusion (Gray and Scott) on a periodic grid: a loop inside a compiled step,
 * a child scope for an eager loop, and a log that `pith plot` draws. */
#include <pith/pith.h>
#include <stdio.h>

enum { SIDE = 64, STEPS = 2000, STEPS_PER_CALL = 50 };

typedef struct {
    const pith_array *u, *v; /* the two concentrations */
    double feed, kill;
} Grid;
PITH_NODE(Grid,
          PITH_LEAF(u, "f64[rows,columns]"),
          PITH_LEAF(v, "f64[rows,columns]"),
          PITH_STATIC(feed, .initial = 0.037),
          PITH_STATIC(kill, .initial = 0.06))

/* The sum of the four neighbours minus four times the element. */
static const pith_array *laplacian(pith_scope *s, const pith_array *x) {
    const pith_array *sum = pith_mul(s, -4, x);
    for (int axis = 0; axis < 2; axis++)
        for (int shift = -1; shift <= 1; shift += 2)
            sum = pith_add(s, sum, pith_roll(s, x, shift, axis));
    return sum;
}

/* One time step of length 1. */
static const Grid *react(pith_scope *s, const pith_array *i, const Grid *in) {
    Grid next = *in;
    const pith_array *feed = pith_f64(s, in->feed),
                     *loss = pith_f64(s, in->feed + in->kill);
    const pith_array *rate = pith_mul(s, in->u, pith_square(s, in->v));
    next.u = pith_expression(s, "u + 0.16 * lu - rate + feed * (1 - u)",
                             PITH_BIND({"u", in->u}, {"lu", laplacian(s, in->u)},
                                       {"rate", rate}, {"feed", feed}));
    next.v = pith_expression(s, "v + 0.08 * lv + rate - loss * v",
                             PITH_BIND({"v", in->v}, {"lv", laplacian(s, in->v)},
                                       {"rate", rate}, {"loss", loss}));
    (void)i;
    return pith_freeze(s, Grid, &next);
}
PITH_FUNCTION2(react_body, react, Grid, pith_array, Grid)

static const Grid *fifty(pith_scope *s, const Grid *in) {
    return pith_fori(s, 0, STEPS_PER_CALL, &react_body, in);
}
PITH_FUNCTION1(fifty_steps, fifty, Grid, Grid)

/* Called with each state that was committed; arrays made in s are freed on return. */
static void log_mean(pith_scope *s, const void *state, int64_t step, void *log) {
    const Grid *grid = state;
    const double mean = pith_read_f64(s, pith_mean(s, grid->v, PITH_ALL_AXES));
    pith_run_log_add(s, log, step, PITH_LOG_ROW(PITH_LOG_F64("mean_v", mean)));
    if (step % 500 == 0)
        printf("step %4d: mean of v %.4f\n", (int)step, mean);
}

/* A square of v in the middle of a grid of u. */
static const Grid *square(pith_scope *s) {
    const pith_array *inside = pith_full(s, PITH_F64, PITH_SHAPE(SIDE / 8, SIDE / 8), 1);
    const pith_padding around = {SIDE * 7 / 16, SIDE * 7 / 16, 0};
    const pith_array *mask =
        pith_pad(s, inside, pith_f64(s, 0), 2, (const pith_padding[]){around, around});
    Grid start = pith_initial(Grid);
    start.v = pith_mul(s, 0.25, mask);
    start.u = pith_sub(s, 1, pith_mul(s, 0.5, mask));
    return pith_freeze(s, Grid, &start);
}

int main(void) {
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    const Grid *start = square(s);

    pith_run_log *log = pith_run_log_open(s, "heat.jsonl", NULL);
    const Grid *end = pith_run(s, Grid, pith_jit(s, &fifty_steps, NULL), start,
                               &(pith_run_options){.steps = STEPS,
                                                   .steps_per_call = STEPS_PER_CALL,
                                                   .each = log_mean,
                                                   .each_every = STEPS_PER_CALL,
                                                   .closure = log,
                                                   .log = log});

    /* The first steps again, eagerly. Each one runs in a child scope: its temporaries are
     * freed when the child closes, and pith_keep moves the new state outward. */
    pith_scope *states = pith_scope_open_in(s);
    const Grid *now = start;
    for (int step = 0; step < STEPS_PER_CALL; step++) {
        pith_scope *temporary = pith_scope_open_in(s), *next = pith_scope_open_in(s);
        now = pith_keep(next, react(temporary, NULL, now));
        pith_scope_close(temporary);
        pith_scope_close(states); /* with the old state */
        states = next;
    }
    const Grid *compiled = pith_apply(s, pith_jit(s, &fifty_steps, NULL), start);
    printf("eager and compiled: %s\n",
           pith_tree_equal(s, now, compiled) ? "equal" : "different");
    printf("u from %.3f to %.3f\n", pith_read_f64(s, pith_min(s, end->u, PITH_ALL_AXES)),
           pith_read_f64(s, pith_max(s, end->u, PITH_ALL_AXES)));

    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
