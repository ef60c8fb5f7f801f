/* Monte Carlo of particles in a box that shrinks: their list of pairs overflows, grows,
 * and the step is repeated. The result is that of a run with enough room from the start.
 */
#include <pith/pith.h>

enum { PARTICLES = 64, STEPS = 400 };

typedef struct {
    const pith_array *position; /* in units of the box */
    const pith_array *box;      /* its length */
    const pith_array *pair;     /* the pairs within range, then -1 */
    const pith_array *energy, *accepted, *key;
    int64_t max_pairs;
} Gas;
PITH_NODE(Gas,
          PITH_LEAF(position, "f64[n,2]"),
          PITH_LEAF(box, "f64", .unit = "sigma"),
          PITH_LEAF(pair, "i64[max_pairs,2]", .fill = -1),
          PITH_LEAF(energy, "f64"),
          PITH_LEAF(accepted, "i64"),
          PITH_LEAF(key, "u32[2]"),
          PITH_STATIC(max_pairs, .initial = 16))

/* Distances between positions [..., 2] of a periodic box, a and b broadcast. */
static const pith_array *
distance(pith_scope *s, const Gas *gas, const pith_array *a, const pith_array *b) {
    const pith_array *apart = pith_sub(s, a, b);
    apart = pith_mul(s, gas->box, pith_sub(s, apart, pith_round(s, apart)));
    return pith_sqrt(s, pith_sum(s, pith_square(s, apart), PITH_AXES(-1)));
}

/* The pairs (i < j) that are nearer than 1, in a list of at most max_pairs. */
static const Gas *list_pairs(pith_scope *s, const Gas *in) {
    const pith_array *column = pith_expand_dims(s, in->position, PITH_AXES(1));
    const pith_array *far = distance(s, in, column, in->position); /* [n, n] */
    const pith_array *at = pith_arange(s, PITH_I64, PARTICLES);
    const pith_array *upper = pith_less(s, pith_expand_dims(s, at, PITH_AXES(1)), at);
    const pith_array *near = pith_logical_and(s, upper, pith_less(s, far, 1));
    /* State what is needed: if the list is too short, pith_run makes it longer and
     * repeats the step. */
    const pith_array *need = pith_sum(s, pith_cast(s, near, PITH_I64), PITH_ALL_AXES);
    pith_capacity_require(
        s, pith_lens_capacity(s, PITH_LENS(Gas, max_pairs), in->max_pairs, 2.0), need);
    const pith_indices found =
        pith_nonzero(s, near, in->max_pairs, &(pith_nonzero_options){-1});
    Gas next = *in;
    next.pair = pith_stack(s, 2, found.axes, -1);
    return pith_freeze(s, Gas, &next);
}

/* The energy of soft discs: (1 - r)^2 for each pair of the list. */
static const pith_array *energy(pith_scope *s, const Gas *gas) {
    const pith_array *i = pith_slice_at(s, gas->pair, 1, 0),
                     *j = pith_slice_at(s, gas->pair, 1, 1);
    const pith_array *far = distance(s, gas, pith_take(s, gas->position, i, NULL),
                                     pith_take(s, gas->position, j, NULL));
    const pith_array *each = pith_expression(s, "i < 0 ? 0.0 : square(1 - r)",
                                             PITH_BIND({"i", i}, {"r", far}));
    return pith_sum(s, each, PITH_ALL_AXES);
}

static const Gas *move(pith_scope *s, const Gas *in) {
    const pith_array *keys = pith_random_split(s, in->key, PITH_SHAPE(3), NULL);
    const pith_array *shift = pith_random_normal(
        s, pith_slice_at(s, keys, 0, 1), PITH_F64, PITH_SHAPE(PARTICLES, 2), NULL);
    const pith_array *draw = pith_random_uniform(s, pith_slice_at(s, keys, 0, 2),
                                                 PITH_F64, PITH_SCALAR, 0, 1, NULL);
    Gas same = *in;
    same.key = pith_slice_at(s, keys, 0, 0);
    Gas trial = same; /* all particles move a little, and the box shrinks */
    trial.box = pith_mul(s, in->box, 0.995);
    trial.position = pith_add(s, in->position, pith_mul(s, shift, 0.002));
    trial.accepted = pith_add(s, in->accepted, 1);
    trial = *list_pairs(s, pith_freeze(s, Gas, &trial));
    trial.energy = energy(s, &trial);
    const pith_array *cost = pith_sub(s, trial.energy, in->energy);
    const pith_array *accept = pith_less(s, draw, pith_exp(s, pith_mul(s, -3, cost)));
    return pith_tree_where_broadcast_last(s, accept, pith_freeze(s, Gas, &trial),
                                          pith_freeze(s, Gas, &same));
}
PITH_FUNCTION1(move_step, move, Gas, Gas)

static void show_repair(pith_scope *s, const pith_repair *repair, void *out) {
    fprintf(out, "step %3d: %s\n", (int)repair->step,
            pith_assertion_message(s, repair->assertion));
}

static const Gas *run(pith_scope *s, int64_t max_pairs, pith_repair_callback repaired) {
    Gas start = pith_initial(Gas);
    start.max_pairs = max_pairs;
    start.key = pith_random_key(s, 1);
    start.box = pith_f64(s, 30);
    start.position = pith_random_uniform(s, pith_random_key(s, 2), PITH_F64,
                                         PITH_SHAPE(PARTICLES, 2), 0, 1, NULL);
    const Gas *gas = pith_make(s, Gas, &start, NULL);
    int64_t gaps; /* sizes without a capacity */
    pith_capacity_audit(s, &move_step, gas, &gaps);
    printf("room for %d pairs, %d sizes without a capacity\n", (int)max_pairs, (int)gaps);
    return pith_run(
        s, Gas, pith_jit(s, &move_step, NULL), gas,
        &(pith_run_options){.steps = STEPS, .repaired = repaired, .closure = stdout});
}

int main(void) {
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    const Gas *grown = run(s, 16, show_repair), *ample = run(s, 1024, NULL);
    printf("%d of %d moves accepted, room for %d pairs at the end\n",
           (int)pith_read_i64(s, grown->accepted), STEPS, (int)grown->max_pairs);
    printf("positions of both runs: %s\n",
           pith_tree_equal(s, grown->position, ample->position) ? "equal" : "different");
    if (pith_failed(s))
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return 0;
}
