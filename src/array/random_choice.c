/* Random permutations and choices, made of draws, sorts and takes with JAX's
 * algorithms. */
#include "array/random.h"

#include <math.h>
#include <string.h>

/* ---- Permutations ---- */

/* Element i of an array along its first axis. */
static const pith_array *at(pith_scope *s, const pith_array *a, int64_t i) {
    const pith_spec *from = pithp_array_spec(a);
    const pith_spec *spec = pithp_spec(s, from->dtype, from->rank - 1, from->shape + 1);
    pithp_slice_params p = {.start = {i}, .limit = {i + 1}, .step = {1}};
    for (int d = 1; d < from->rank; d++) {
        p.limit[d] = from->shape[d];
        p.step[d] = 1;
    }
    const pith_array *one = spec ? pithp_bind(s, PITHP_OP_SLICE, 1, &a, &p) : NULL;
    return one ? pithp_alias(s, one, spec) : NULL;
}

/* Number of sort rounds, as in JAX: with `count` elements, the chance of ties in all
 * rounds is below count^-1. */
static int rounds_for(int64_t count) {
    return (int)ceil(3 * log(count < 1 ? 1.0 : (double)count) / log(4294967295.0));
}

/* Sort lines along an axis by random bits, several times; returns the source indices.
 * `count` is the number of all elements. */
static const pith_array *shuffled_places(pith_scope *s,
                                         const pith_array *key,
                                         pith_shape shape,
                                         int axis,
                                         int64_t count,
                                         bool original) {
    const pithp_sort_params by = {.axis = axis};
    const pithp_index_params along = {.axis = axis, .mode = PITHP_INDEX_DROP};
    const pith_array *places = NULL;
    for (int i = rounds_for(count); i > 0; i--) {
        const pith_array *keys = pithp_random_draw(s, PITHP_OP_RANDOM_SPLIT, key,
                                                   PITH_U32, PITH_SHAPE(2), original);
        const pith_array *own = keys ? at(s, keys, 1) : NULL;
        const pith_array *bits = own ? pithp_random_draw(s, PITHP_OP_RANDOM_BITS, own,
                                                         PITH_U32, shape, original)
                                     : NULL;
        const pith_array *order =
            bits ? pithp_bind(s, PITHP_OP_ARGSORT, 1, &bits, &by) : NULL;
        key = order ? at(s, keys, 0) : NULL;
        pithp_array_drop_any(s, bits);
        if (!key)
            return NULL;
        const pith_array *before = places;
        places = before ? pithp_bind_two(s, PITHP_OP_TAKE_ALONG, before, order, &along)
                        : order;
        if (before) {
            pithp_array_drop(s, before);
            pithp_array_drop(s, order);
        }
        if (!places)
            return NULL;
    }
    if (places)
        return places;
    pithp_iota_params p = {.dtype = PITH_I64, .rank = shape.rank, .axis = axis};
    memcpy(p.shape, shape.extents, sizeof shape.extents);
    return pithp_bind(s, PITHP_OP_IOTA, 0, NULL, &p);
}

/* Check a function with one key. */
static bool enter_choice(pith_scope *s,
                         const char *function,
                         const pith_array *key,
                         const pith_random_options *options,
                         bool *original) {
    return pithp_key_check(s, key, function) == PITH_OK &&
           pithp_random_options_fit(s, function, options, false, original);
}

static const pith_array *
permutation(pith_scope *s, const pith_array *key, int64_t count, bool original) {
    return shuffled_places(s, key, PITH_SHAPE(count), 0, count, original);
}

/* Check a draw along an axis of an array; returns the normalised axis, or -1. */
static int enter_along(pith_scope *s,
                       const char *name,
                       const pith_array *key,
                       const pith_array *a,
                       const char *argument,
                       int axis,
                       const pith_random_options *options,
                       bool *original) {
    if (!pithp_enter_as(s, name) || !enter_choice(s, name, key, options, original) ||
        pithp_operand_check(s, a, name, argument) != PITH_OK)
        return -1;
    return pithp_axis(s, name, axis, pithp_array_spec(a)->rank);
}

const pith_array *pith_random_permutation(pith_scope *s,
                                          const pith_array *key,
                                          int64_t count,
                                          const pith_random_options *options) {
    bool original = false;
    if (!pithp_enter(s) ||
        !enter_choice(s, "pith_random_permutation", key, options, &original) ||
        !pithp_spec(s, PITH_I64, 1, &count))
        return NULL;
    return permutation(s, key, count, original);
}

const pith_array *pith_random_permute(pith_scope *s,
                                      const pith_array *key,
                                      const pith_array *a,
                                      int axis,
                                      const pith_random_options *options) {
    static const char name[] = "pith_random_permute";
    bool original = false;
    const int counted = enter_along(s, name, key, a, "a", axis, options, &original);
    if (counted < 0)
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    const pith_array *order = permutation(s, key, spec->shape[counted], original);
    const pithp_index_params along = {.axis = counted, .mode = PITHP_INDEX_DROP};
    const pith_array *taken = pithp_bind_two(s, PITHP_OP_TAKE, a, order, &along);
    pithp_array_drop_any(s, order);
    return taken;
}

const pith_array *pith_random_shuffle(pith_scope *s,
                                      const pith_array *key,
                                      const pith_array *a,
                                      int axis,
                                      const pith_random_options *options) {
    static const char name[] = "pith_random_shuffle";
    bool original = false;
    const int counted = enter_along(s, name, key, a, "a", axis, options, &original);
    if (counted < 0)
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    const pith_array *places =
        shuffled_places(s, key, shape, counted, spec->count, original);
    const pithp_index_params along = {.axis = counted, .mode = PITHP_INDEX_DROP};
    const pith_array *taken = pithp_bind_two(s, PITHP_OP_TAKE_ALONG, a, places, &along);
    pithp_array_drop_any(s, places);
    return taken;
}

/* ---- Choices ---- */

/* Half precision as f32: sums and draws of 16 bits cannot distinguish thousands of
 * entries. The result may be the operand itself. */
static const pith_array *widened(pith_scope *s, const pith_array *a) {
    return pith_dtype_size(pithp_array_spec(a)->dtype) == 2 ? pithp_cast(s, a, PITH_F32)
                                                            : a;
}

const pith_array *pith_random_categorical(pith_scope *s,
                                          const pith_array *key,
                                          const pith_array *logits,
                                          int axis,
                                          pith_shape draws,
                                          const pith_random_options *options) {
    static const char name[] = "pith_random_categorical";
    bool original = false;
    const int counted =
        enter_along(s, name, key, logits, "logits", axis, options, &original);
    if (counted < 0)
        return NULL;
    const pith_spec *spec = pithp_array_spec(logits);
    if (draws.rank < 0 || draws.rank + spec->rank > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: draws: rank %d with logits of rank %d",
                   name, draws.rank, spec->rank);
        return NULL;
    }
    const int rank = draws.rank;
    for (int d = 0; d < spec->rank; d++)
        draws.extents[draws.rank++] = spec->shape[d];
    const pith_array *wide =
        pith_dtype_is_float(spec->dtype) ? widened(s, logits) : logits;
    const pith_array *g =
        wide ? pithp_random_gumbel(s, key, pithp_array_spec(wide)->dtype, draws, original)
             : NULL;
    const pith_array *sum = pithp_bind_two(s, PITHP_OP_ADD, g, wide, NULL);
    if (wide != logits)
        pithp_array_drop_any(s, wide);
    const pithp_reduce_params over = {1u << (rank + counted)};
    const pith_array *chosen =
        sum ? pithp_bind(s, PITHP_OP_ARGMAX, 1, &sum, &over) : NULL;
    pithp_array_drop_any(s, g);
    pithp_array_drop_any(s, sum);
    return chosen;
}

static int64_t count_of(pith_shape shape) {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    return count;
}

/* Inverse transform sampling: indices of uniform numbers in the running sum of
 * weights. */
static const pith_array *choose_by_sum(pith_scope *s,
                                       const pith_array *key,
                                       const pith_array *weights,
                                       pith_shape shape,
                                       bool original) {
    const pith_spec *spec = pithp_array_spec(weights);
    pithp_full_params one = {.dtype = spec->dtype};
    pithp_dtype_encode(spec->dtype, 1, &one.value);
    const pith_array *sums =
        pithp_bind(s, PITHP_OP_CUMSUM, 1, &weights, &(pithp_scan_params){0});
    const pith_array *u = sums ? pithp_random_draw(s, PITHP_OP_RANDOM_UNIFORM, key,
                                                   spec->dtype, shape, original)
                               : NULL;
    const pith_array *unit = u ? pithp_bind(s, PITHP_OP_FULL, 0, NULL, &one) : NULL;
    const pith_array *rest = pithp_bind_two(s, PITHP_OP_SUB, unit, u, NULL);
    const pith_array *total = rest ? at(s, sums, spec->count - 1) : NULL;
    const pith_array *drawn = pithp_bind_two(s, PITHP_OP_MUL, total, rest, NULL);
    const pith_array *chosen =
        pithp_bind_two(s, PITHP_OP_SEARCH_SORTED, sums, drawn, &(pithp_search_params){0});
    pithp_array_drop_any(s, u);
    pithp_array_drop_any(s, rest);
    pithp_array_drop_any(s, drawn);
    return chosen;
}

/* The first elements of a permutation, in a shape. */
static const pith_array *
first_of(pith_scope *s, const pith_array *order, pith_shape shape) {
    const pith_spec *spec = pithp_spec(s, PITH_I64, shape.rank, shape.extents);
    const pithp_slice_params first = {.limit = {count_of(shape)}, .step = {1}};
    const pith_array *taken =
        order && spec ? pithp_bind(s, PITHP_OP_SLICE, 1, &order, &first) : NULL;
    const pith_array *shaped = taken ? pithp_alias(s, taken, spec) : NULL;
    pithp_array_drop_any(s, order);
    return shaped;
}

/* Gumbel top-k: the greatest sums of a Gumbel number and a weight's logarithm. */
static const pith_array *choose_once(pith_scope *s,
                                     const pith_array *key,
                                     const pith_array *weights,
                                     pith_shape shape,
                                     bool original) {
    const pith_spec *spec = pithp_array_spec(weights);
    const pithp_sort_params greatest = {.descending = true};
    const pith_array *g =
        pithp_random_gumbel(s, key, spec->dtype, PITH_SHAPE(spec->count), original);
    const pith_array *logs = g ? pithp_bind(s, PITHP_OP_LOG, 1, &weights, NULL) : NULL;
    const pith_array *sum = pithp_bind_two(s, PITHP_OP_ADD, g, logs, NULL);
    const pith_array *order =
        sum ? pithp_bind(s, PITHP_OP_ARGSORT, 1, &sum, &greatest) : NULL;
    pithp_array_drop_any(s, g);
    pithp_array_drop_any(s, logs);
    pithp_array_drop_any(s, sum);
    return first_of(s, order, shape);
}

static bool check_choice(pith_scope *s,
                         int64_t count,
                         pith_shape shape,
                         const pith_choice_options *o) {
    static const char name[] = "pith_random_choice";
    char text[PITHP_SPEC_TEXT_BYTES];
    if (!pithp_spec(s, PITH_I64, shape.rank, shape.extents))
        return false;
    const int64_t drawn = count_of(shape);
    if (count < 1 && (count < 0 || drawn > 0)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: count: %lld to choose from", name,
                   (long long)count);
        return false;
    }
    if (o->once && drawn > count) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %lld of %lld without replacement", name,
                   (long long)drawn, (long long)count);
        return false;
    }
    if (!o->weights)
        return true;
    if (pithp_operand_check(s, o->weights, name, "weights") != PITH_OK)
        return false;
    const pith_spec *w = pithp_array_spec(o->weights);
    if (pith_dtype_is_float(w->dtype) && w->rank == 1 && w->shape[0] == count)
        return true;
    pithp_fail(s, pith_dtype_is_float(w->dtype) ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
               "%s: weights: expected float[%lld], got %s", name, (long long)count,
               pithp_spec_print(w, text));
    return false;
}

const pith_array *pith_random_choice(pith_scope *s,
                                     const pith_array *key,
                                     int64_t count,
                                     pith_shape shape,
                                     const pith_choice_options *options) {
    const pith_choice_options o = options ? *options : (pith_choice_options){0};
    bool original = false;
    if (!pithp_enter(s) ||
        !enter_choice(s, "pith_random_choice", key,
                      &(pith_random_options){.layout = o.layout}, &original) ||
        !check_choice(s, count, shape, &o))
        return NULL;
    if (count_of(shape) == 0) {
        pithp_full_params none = {.dtype = PITH_I64, .rank = shape.rank};
        memcpy(none.shape, shape.extents, sizeof shape.extents);
        return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &none);
    }
    if (o.weights) {
        const pith_array *weights = widened(s, o.weights);
        const pith_array *chosen =
            weights
                ? (o.once ? choose_once : choose_by_sum)(s, key, weights, shape, original)
                : NULL;
        if (weights != o.weights)
            pithp_array_drop_any(s, weights);
        return chosen;
    }
    if (o.once)
        return first_of(s, permutation(s, key, count, original), shape);
    return pithp_random_integers(s, key, shape, count, original);
}
