/* A swarm whose forces come from two kernels. The list of neighbours is a capacity: the
 * kernel reports what it needs, and a guard gives that check a fix. */
#include "kernel_kernels.h"

#include <pith/pith.h>
#include <stdio.h>

typedef struct {
    const pith_array *position, *velocity, *neighbour, *count;
    int64_t width; /* the most neighbours of a particle */
    double dt;
} Swarm;
PITH_NODE(Swarm,
          PITH_LEAF(position, "f64[n,2]"),
          PITH_LEAF(velocity, "f64[n,2]"),
          PITH_LEAF(neighbour, "i32[n,width]", .fill = -1),
          PITH_LEAF(count, "i32[n]"),
          PITH_STATIC(width, .initial = 4),
          PITH_STATIC(dt, .initial = 0.02))

static const Swarm *move(pith_scope *s, const Swarm *in) {
    Swarm next = *in;
    /* A launch after this guard that fails pith_require_capacity(width, ...) grows width
     * to a power of 2, resizes the leaves that name it, and repeats the step. */
    pith_capacity_guard(s, pith_lens_capacity(s, PITH_LENS(Swarm, width), in->width, 2.0),
                        "width");
    const find_neighbours_result list =
        pith_launch(s, find_neighbours, in->position, 0.25, in->width);
    next.neighbour = list.neighbour;
    next.count = list.count;
    const pith_array *force =
        pith_launch(s, attract, in->position, in->velocity, list.neighbour, list.count)
            .force;
    next.velocity = pith_add(s, in->velocity, pith_mul(s, in->dt, force));
    next.position = pith_add(s, in->position, pith_mul(s, in->dt, next.velocity));
    return pith_freeze(s, Swarm, &next);
}
PITH_FUNCTION1(move_step, move, Swarm, Swarm)

static void show_repair(pith_scope *s, const pith_repair *repair, void *closure) {
    printf("step %3d: %s\n", (int)repair->step,
           pith_assertion_message(s, repair->assertion));
    (void)closure;
}

static void show(pith_scope *s, const Swarm *swarm, const char *when) {
    const pith_array *most = pith_max(s, swarm->count, PITH_ALL_AXES);
    const pith_array *spread = pith_std(s, swarm->position, PITH_ALL_AXES, 0);
    printf("%s: at most %d neighbours, room for %d, spread %.4f\n", when,
           (int)pith_read_i64(s, most), (int)swarm->width, pith_read_f64(s, spread));
}

int main(void) {
    pith_runtime *rt = pith_open(NULL); /* the same program on the host and on CUDA */
    pith_scope *s = pith_scope_open(rt);
    fprintf(stderr, "device: %s\n", pith_device_name(rt));

    Swarm start = pith_initial(Swarm);
    start.position = pith_random_uniform(s, pith_random_key(s, 3), PITH_F64,
                                         PITH_SHAPE(100, 2), 0, 1, NULL);
    const Swarm *swarm = pith_make(s, Swarm, &start, NULL);
    const pith_function *step = pith_jit(s, &move_step, NULL);
    swarm = pith_run(s, Swarm, step, swarm,
                     &(pith_run_options){.steps = 1, .repaired = show_repair});
    show(s, swarm, "after 1 step");
    swarm = pith_run(
        s, Swarm, step, swarm,
        &(pith_run_options){.steps = 60, .first_step = 1, .repaired = show_repair});
    show(s, swarm, "after 61 steps");

    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
