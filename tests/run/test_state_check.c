/* States whose kind a step changes: dtype, structure and extents are refused with the
 * path. */
#include "pith_test.h"

#include <pith/pith.h>

typedef struct {
    const pith_array *x, *v;
} Pair;
PITH_NODE(Pair, PITH_LEAF(x, "float[n]"), PITH_LEAF(v, "float[n]"))

static const Pair *promote(pith_scope *s, const Pair *in) {
    Pair next = *in;
    const pith_array *dt = pith_f64(s, 0.1);
    next.v = pith_sub(s, in->v, pith_mul(s, dt, in->x));
    next.x = pith_add(s, in->x, pith_mul(s, dt, next.v));
    return pith_freeze(s, Pair, &next);
}
PITH_FUNCTION1(promote_step, promote, Pair, Pair)

static const Pair *follow(pith_scope *s, const Pair *in) {
    Pair next = *in;
    const pith_array *dt = pith_like(s, in->x, 0.1);
    next.v = pith_sub(s, in->v, pith_mul(s, dt, in->x));
    next.x = pith_add(s, in->x, pith_mul(s, dt, next.v));
    return pith_freeze(s, Pair, &next);
}
PITH_FUNCTION1(follow_step, follow, Pair, Pair)

static const Pair *widen(pith_scope *s, const Pair *in) {
    const Pair next = {pith_ones(s, PITH_F32, PITH_SHAPE(5)),
                       pith_ones(s, PITH_F32, PITH_SHAPE(5))};
    (void)in;
    return pith_freeze(s, Pair, &next);
}
PITH_FUNCTION1(widen_step, widen, Pair, Pair)

/* A list that gets longer. */
static const void *lengthen(pith_scope *s, const void *in) {
    const void *items[] = {pith_child(in, 0), pith_child(in, 0), pith_child(in, 0)};
    return pith_list_make(s, 3, items);
}
PITH_FUNCTION1(lengthen_step, lengthen, void, void)

/* An extent that a static names may change with it. */
typedef struct {
    const pith_array *x;
    int64_t room;
} Growing;
PITH_NODE(Growing, PITH_LEAF(x, "f64[room]"), PITH_STATIC(room))

static const Growing *grow(pith_scope *s, const Growing *in) {
    const Growing next = {.x = pith_zeros(s, PITH_F64, PITH_SHAPE(in->room + 1)),
                          .room = in->room + 1};
    return pith_freeze(s, Growing, &next);
}
PITH_FUNCTION1(grow_step, grow, Growing, Growing)

static const Pair *start(pith_scope *s) {
    const Pair pair = {.x = pith_ones(s, PITH_F32, PITH_SHAPE(4))};
    return pith_make(s, Pair, &pair, NULL);
}

Test(state, whose_dtype_a_step_promotes_is_refused) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_function *const steps[] = {&promote_step,
                                          pith_jit(s, &promote_step, NULL)};
    for (int i = 0; i < 2; i++)
        for (int64_t every = 0; every < 3; every += 2) {
            const void *last = NULL;
            pt_fails(PITH_E_DTYPE, s,
                     pith_run(s, Pair, steps[i], start(s),
                              &(pith_run_options){
                                  .steps = 3, .check_every = every, .last = &last}));
            pt_says(".x: step 1: the result of promote: expected f32[4] as the state "
                    "has, got f64[4]; make constants with pith_like(s, in->x, 0.1), or "
                    "convert the result with pith_cast");
            pt_fails(PITH_E_DTYPE, s, pith_propagate(s, Pair, steps[i], start(s), NULL));
        }
    const Pair *fine =
        pith_run(s, Pair, &follow_step, start(s), &(pith_run_options){.steps = 3});
    pt_ok(s, fine);
    cr_assert(pith_array_spec(fine->x)->dtype == PITH_F32);
    pith_scope_close(s);
    pt_close(rt);
}

Test(state, whose_extents_or_structure_change_is_refused) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_fails(PITH_E_SHAPE, s,
             pith_run(s, Pair, &widen_step, start(s), &(pith_run_options){.steps = 3}));
    pt_says(".x: step 1: the result of widen: expected f32[4] as the state has, got "
            "f32[5]; the leaves of a state keep their extents");
    const void *item = pith_f64(s, 1);
    const void *list = pith_list_make(s, 1, &item);
    pt_fails(
        PITH_E_STRUCTURE, s,
        pith_run_any(s, NULL, &lengthen_step, list, &(pith_run_options){.steps = 3}));
    pt_says("expected a list of 1, got a list of 3 (the result of lengthen)");
    const Growing growing = {.x = pith_zeros(s, PITH_F64, PITH_SHAPE(1)), .room = 1};
    const Growing *grown =
        pith_run(s, Growing, &grow_step, pith_freeze(s, Growing, &growing),
                 &(pith_run_options){.steps = 3});
    pt_ok(s, grown);
    cr_assert(grown->room == 4 && pith_array_spec(grown->x)->shape[0] == 4);
    pith_scope_close(s);
    pt_close(rt);
}
