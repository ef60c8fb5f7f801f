/* Cases of pith_check_gradient on ranks: of functions over shards, whose arguments all
 * ranks have or each its own; and of wrong rules, of which all ranks learn the same. */
#include "mesh/shard_trees.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 12 }; /* a multiple of 1 to 4 */

static const pith_array *wave(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_sin(s, pith_mul(s, w, x));
}
PITH_FUNCTION2(wave_function, wave, pith_array, pith_array, pith_array)

/* Along the first axis of the mesh. */
static const pith_array *loss(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_psum(s, pith_sum(s, wave(s, w, x), PITH_ALL_AXES), "x", NULL);
}
PITH_FUNCTION2(loss_function, loss, pith_array, pith_array, pith_array)

/* Of each rank its own, by the sum of all ranks. */
static const pith_array *share(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_mul(s, x, loss(s, w, x));
}
PITH_FUNCTION2(share_function, share, pith_array, pith_array, pith_array)

static const pith_function *
over_shards(pith_scope *s, const pith_function *f, const char *out) {
    const pith_shard_options o = {.in = {PITH_SPECS({"", ""}), PITH_SPECS({"", "x"})},
                                  .out = PITH_SPECS({"", out})};
    return pith_shard_map(s, f, &o);
}

static bool checks(pith_scope *s,
                   const pith_function *f,
                   const pith_array *w,
                   const pith_array *x,
                   int order) {
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    return pith_check_gradient(s, f, PITH_ITEMS(w, x),
                               &(pith_gradient_check){.order = order, .derive = &both});
}

static void check_all(mesh_test *t, pith_scope *s) {
    const pith_array *w = pith_f64(s, 0.75),
                     *all = pith_iota(s, PITH_F64, PITH_SHAPE(ROWS), 0),
                     *x = pith_shard(s, all, PITH_SPECS({"", "x"}));
    const pith_function *f = over_shards(s, &loss_function, "");
    MESH_CHECK(t, checks(s, f, w, x, 2) && checks(s, pith_jit(s, f, NULL), w, x, 1));
    MESH_CHECK(t, checks(s, over_shards(s, &wave_function, "x"), w, x, 2));
    MESH_CHECK(t, checks(s, over_shards(s, &share_function, "x"), w, x, 2));
    MESH_CHECK(t, pith_check_gradient(s, pith_partial(s, f, x), PITH_ITEMS(w), NULL));
}

static void checks_gradients(mesh_test *t) {
    check_all(t, t->s);
    if (t->size % 2 == 0) { /* shards that two ranks have */
        pith_scope *s = pith_scope_open_in(t->s);
        pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"y", 2}), NULL);
        check_all(t, s);
        pith_scope_close(s);
    }
}

/* Plain arrays are each rank's own. A rank may check a function without collectives
 * alone. */
static void checks_own_gradients(mesh_test *t) {
    const pith_array *w = pith_f64(t->s, 1 + 0.25 * (double)t->rank),
                     *x = pith_add(t->s, pith_arange(t->s, PITH_F64, 3),
                                   0.5 + 0.75 * (double)t->rank);
    MESH_CHECK(t, checks(t->s, &loss_function, w, x, 1));
    MESH_CHECK(t, checks(t->s, &share_function, w, x, 1));
    MESH_CHECK(t, checks(t->s, pith_jit(t->s, &share_function, NULL), w, x, 1));
    MESH_CHECK(t, t->rank || checks(t->s, &wave_function, w, x, 2));
}

/* ---- Wrong rules ---- */

typedef struct Moved {
    const pith_array *value, *tangent;
} Moved;
PITH_NODE(Moved, PITH_LEAF(value, "f64[...]"), PITH_LEAF(tangent, "f64[...]"))

static const pith_array *square(pith_scope *s, const pith_array *x) {
    return pith_square(s, x);
}
PITH_FUNCTION1(square_function, square, pith_array, pith_array)
/* Wrong for the last element of all. */
static const Moved *push(pith_scope *s, const pith_array *x, const pith_array *tangent) {
    const pith_array *slope =
        pith_where(s, pith_less(s, x, ROWS - 1.5), pith_mul(s, x, 2.0), x);
    return pith_record(s, Moved, .value = pith_square(s, x),
                       .tangent = pith_mul(s, slope, tangent));
}
PITH_FUNCTION2(push_function, push, Moved, pith_array, pith_array)
static const pith_array *wrong(pith_scope *s, const pith_array *x) {
    return pith_apply(s, pith_custom_jvp(s, &square_function, &push_function), x);
}
PITH_FUNCTION1(wrong_function, wrong, pith_array, pith_array)
static const pith_array *wrong_sum(pith_scope *s, const pith_array *x) {
    return pith_psum(s, pith_sum(s, wrong(s, x), PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION1(wrong_sum_function, wrong_sum, pith_array, pith_array)

static void finds_wrong_gradients(mesh_test *t) {
    const pith_shard_spec *shards = PITH_SPECS({"", "x"});
    const pith_array *x =
        pith_shard(t->s, pith_iota(t->s, PITH_F64, PITH_SHAPE(ROWS), 0), shards);
    char text[64] = "";
    const int last = (int)t->size - 1;
    for (int k = 0; k < 2; k++) {
        const pith_shard_options o = {.in = {shards},
                                      .out = k ? PITH_SPECS({"", ""}) : shards};
        const pith_function *f =
            pith_shard_map(t->s, k ? &wrong_sum_function : &wrong_function, &o);
        if (last) /* elements of the last rank, or a sum that all ranks have */
            snprintf(text, sizeof text, "[0]: rank %d of %d (x=%d)", k ? 0 : last,
                     (int)t->size, k ? 0 : last);
        MESH_CHECK(t, !pith_check_gradient(t->s, f, PITH_ITEMS(x), NULL));
        MESH_CHECK(t, strncmp(pith_message(t->s), text, strlen(text)) == 0);
        MESH_CHECK(t, strstr(pith_message(t->s), k ? "value: forward" : "value["));
        MESH_CHECK(t, mesh_fails(t, PITH_E_CHECK, "forward mode gives"));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_shard_check_cases[] = {
    {"checks_gradients", checks_gradients},
    {"checks_own_gradients", checks_own_gradients},
    {"finds_wrong_gradients", finds_wrong_gradients},
    {NULL, NULL},
};
