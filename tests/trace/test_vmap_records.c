/* Batches of functions over records: lenses and gradients of what they focus, statics
 * that stay, loops of narrow dtypes, vectorized functions inside, and capacities that
 * grow in batches of batches. */
#include "vmap_test.h"

/* ---- Lenses ---- */

typedef struct {
    const pith_array *position, *charge;
} Ions;
PITH_NODE(Ions, PITH_LEAF(position, "f64[n,3]"), PITH_LEAF(charge, "f64[n]"))

typedef struct {
    const Ions *ions;
    const pith_array *scale;
    int64_t room;
    const char *name;
} Box;
PITH_NODE(Box,
          PITH_CHILD(ions, Ions),
          PITH_LEAF(scale, "f64"),
          PITH_STATIC(room, .initial = 2),
          PITH_STATIC(name))

static const Box *shift(pith_scope *in, const Box *b, const pith_array *by) {
    const pith_lens *x = PITH_LENS(Box, ions->position);
    const pith_array *moved = pith_add(in, pith_lens_get(in, x, b), by);
    b = pith_lens_set(in, x, b, moved);
    return pith_lens_set(in, PITH_LENS(Box, scale), b, pith_mul(in, b->scale, 2.0));
}
PITH_FUNCTION2(shift_of, shift, Box, Box, pith_array)
static const pith_array *energy(pith_scope *in, const Box *b, const pith_array *by) {
    const pith_array *r = pith_sum(in, pith_square(in, b->ions->position), PITH_AXES(1));
    return pith_mul(in, by,
                    pith_mul(in, b->scale,
                             pith_sum(in, pith_mul(in, pith_sin(in, r), b->ions->charge),
                                      PITH_AXES(0))));
}
PITH_FUNCTION2(energy_of, energy, pith_array, Box, pith_array)
static const pith_array *focus_force(pith_scope *in, const Box *b, const pith_array *by) {
    const pith_lens *x = PITH_LENS(Box, ions->position);
    const pith_function *g = pith_grad(in, pith_at_focus(in, x, &energy_of), NULL);
    return pith_call(in, g, PITH_ITEMS(b->ions->position, b, by));
}
PITH_FUNCTION2(focus_force_of, focus_force, pith_array, Box, pith_array)
static const void *box_grad(pith_scope *in, const Box *b, const pith_array *by) {
    return pith_call(in, pith_value_and_grad(in, &energy_of, NULL), PITH_ITEMS(b, by));
}
PITH_FUNCTION2(box_grad_of, box_grad, void, Box, pith_array)

static const Box *boxes(int64_t n) {
    return pith_record(s, Box,
                       .ions =
                           pith_record(s, Ions, .position = numbers(PITH_SHAPE(n, 2, 3)),
                                       .charge = numbers(PITH_SHAPE(n, 2))),
                       .scale = numbers(PITH_SHAPE(n)), .room = 5, .name = "box");
}
static const Box *box_at(const Box *all, int64_t i) {
    return pith_record(
        s, Box,
        .ions = pith_record(s, Ions, .position = entry_of(all->ions->position, i, 0),
                            .charge = entry_of(all->ions->charge, i, 0)),
        .scale = entry_of(all->scale, i, 0), .room = 5, .name = "box");
}

Test(vmap_records, lenses_set_and_focus_parts_of_entries, .init = open_scope) {
    const Box *all = boxes(4);
    const pith_array *by = numbers(PITH_SHAPE(4));
    for (int64_t chunk = 0; chunk < 4; chunk++) {
        const pith_vmap_options o = {.chunk = chunk};
        const Box *got = pith_apply(s, pith_vmap(s, &shift_of, &o), all, by);
        const pith_array *f = pith_apply(s, pith_vmap(s, &focus_force_of, &o), all, by);
        const void *vg = pith_apply(s, pith_vmap(s, &box_grad_of, &o), all, by);
        pt_ok(s, got && f && vg);
        cr_assert(got->room == 5 && !strcmp(got->name, "box"));
        for (int64_t i = 0; i < 4; i++) {
            const Box *one = pith_apply(s, &shift_of, box_at(all, i), entry_of(by, i, 0));
            same_bits(entry_of(got->ions->position, i, 0), one->ions->position);
            same_bits(entry_of(got->scale, i, 0), one->scale);
            same_bits(entry_of(f, i, 0),
                      pith_apply(s, &focus_force_of, box_at(all, i), entry_of(by, i, 0)));
            const void *v1 =
                pith_apply(s, &box_grad_of, box_at(all, i), entry_of(by, i, 0));
            const Box *g = pith_child(vg, 1), *g1 = pith_child(v1, 1);
            same_bits(entry_of(g->ions->position, i, 0), g1->ions->position);
            same_bits(entry_of(g->ions->charge, i, 0), g1->ions->charge);
        }
    }
    close_scope();
}

/* The scale of a shared box is mapped. */
static const pith_array *by_scale(pith_scope *in, const pith_array *scale, const Box *b) {
    return energy(in, pith_lens_set(in, PITH_LENS(Box, scale), b, scale),
                  pith_f64(in, 2));
}
PITH_FUNCTION2(by_scale_of, by_scale, pith_array, pith_array, Box)

Test(vmap_records, a_part_of_a_shared_record_is_mapped, .init = open_scope) {
    const Box *b = box_at(boxes(2), 1);
    const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    const pith_array *x = numbers(PITH_SHAPE(5));
    const pith_array *y = pith_apply(s, pith_vmap(s, &by_scale_of, &o), x, b);
    for (int64_t i = 0; i < 5; i++)
        same_bits(entry_of(y, i, 0), pith_apply(s, &by_scale_of, entry_of(x, i, 0), b));
    const pith_function *bound = pith_vmap(s, pith_partial(s, &by_scale_of, b), NULL);
    same_bits(pith_apply(s, bound, x), y);
    close_scope();
}

/* ---- Vectorized functions in batches ---- */

static const pith_array *weigh(pith_scope *in, const pith_array *m, const pith_array *v) {
    return pith_add(in, pith_sum(in, pith_mul(in, m, v), PITH_AXES(1)), 1.0);
}
PITH_FUNCTION2(weigh_of, weigh, pith_array, pith_array, pith_array)
static const pith_array *vec(pith_scope *in, const pith_array *m, const pith_array *v) {
    const pith_function *f = pith_vectorize(
        in, &weigh_of, &(pith_vectorize_options){.signature = "(m,n),(n)->(m)"});
    return pith_sin(in, pith_apply(in, f, m, v));
}
PITH_FUNCTION2(vec_of, vec, pith_array, pith_array, pith_array)
static const pith_array *
vec_total(pith_scope *in, const pith_array *m, const pith_array *v) {
    return pith_sum(in, vec(in, m, v), PITH_ALL_AXES);
}
PITH_FUNCTION2(vec_total_of, vec_total, pith_array, pith_array, pith_array)

Test(vmap_records, vectorized_functions_are_batched, .init = open_scope) {
    const pith_array *m = pith_mul(s, numbers(PITH_SHAPE(4, 5, 1, 2, 3)), 0.01),
                     *v = pith_mul(s, numbers(PITH_SHAPE(2, 4, 3)), 0.1);
    const pith_vmap_options o = {
        .in = PITH_MAPPED({"[1]", 1}), .chunk = 3, .out = PITH_MAPPED({"", -1})};
    const pith_array *y = pith_apply(s, pith_vmap(s, &vec_of, &o), m, v);
    const pith_vmap_options og = {.in = PITH_MAPPED({"[1]", 1}), .chunk = 3};
    const pith_array *g =
        pith_apply(s, pith_vmap(s, pith_grad(s, &vec_total_of, NULL), &og), m, v);
    pt_ok(s, y && g);
    for (int64_t i = 0; i < 4; i++) {
        same_bits(entry_of(y, i, 3),
                  pith_apply(s, &vec_of, entry_of(m, i, 0), entry_of(v, i, 1)));
        same_bits(entry_of(g, i, 0), pith_apply(s, pith_grad(s, &vec_total_of, NULL),
                                                entry_of(m, i, 0), entry_of(v, i, 1)));
    }
    close_scope();
}

/* ---- Narrow dtypes in loops ---- */

typedef struct {
    const pith_array *b, *u, *h;
} Narrow;
PITH_NODE(Narrow, PITH_LEAF(b, "bool"), PITH_LEAF(u, "u8"), PITH_LEAF(h, "f16"))
static const pith_array *goes(pith_scope *in, const Narrow *n) {
    return pith_logical_and(
        in, n->b, pith_less(in, n->u, pith_cast(in, pith_i64(in, 200), PITH_U8)));
}
PITH_FUNCTION1(goes_of, goes, pith_array, Narrow)
static const Narrow *turn(pith_scope *in, const Narrow *n) {
    const pith_array *u = pith_add(in, n->u, pith_cast(in, pith_i64(in, 37), PITH_U8));
    return pith_record(
        in, Narrow,
        .b = pith_greater(
            in, pith_bitwise_and(in, u, pith_cast(in, pith_i64(in, 31), PITH_U8)),
            pith_cast(in, pith_i64(in, 3), PITH_U8)),
        .u = u, .h = pith_mul(in, n->h, pith_cast(in, pith_f64(in, 1.1), PITH_F16)));
}
PITH_FUNCTION1(turn_of, turn, Narrow, Narrow)
static const Narrow *run(pith_scope *in, const Narrow *n) {
    return pith_while(in, &goes_of, &turn_of, n);
}
PITH_FUNCTION1(run_of, run, Narrow, Narrow)

Test(vmap_records, loops_carry_narrow_dtypes, .init = open_scope) {
    enum { M = 60 };
    const pith_array *n = pith_arange(s, PITH_I64, M);
    const Narrow *all = pith_record(s, Narrow, .b = pith_greater(s, n, 1),
                                    .u = pith_cast(s, pith_mul(s, n, 3), PITH_U8),
                                    .h = pith_cast(s, n, PITH_F16));
    for (int64_t chunk = 0; chunk < 20; chunk += 7) {
        const Narrow *got = pith_apply(
            s, pith_vmap(s, &run_of, &(pith_vmap_options){.chunk = chunk}), all);
        pt_ok(s, got);
        for (int64_t i = 0; i < M; i++) {
            const Narrow *one = pith_apply(
                s, &run_of,
                pith_record(s, Narrow, .b = entry_of(all->b, i, 0),
                            .u = entry_of(all->u, i, 0), .h = entry_of(all->h, i, 0)));
            same_bits(entry_of(got->b, i, 0), one->b);
            same_bits(entry_of(got->u, i, 0), one->u);
            same_bits(entry_of(got->h, i, 0), one->h);
        }
    }
    close_scope();
}

/* ---- Growth in batches of batches ---- */

typedef struct {
    const pith_array *x;
    int64_t room;
} Buf;
PITH_NODE(Buf, PITH_LEAF(x, "f64[...]"), PITH_STATIC(room, .initial = 2))
static const pith_array *need(pith_scope *in, const pith_array *x, const Buf *b) {
    pith_capacity_require(in, pith_lens_capacity(in, PITH_LENS(Buf, room), b->room, 1),
                          pith_cast(in, x, PITH_I64));
    return pith_add(in, x, 1.0);
}
PITH_FUNCTION2(need_of, need, pith_array, pith_array, Buf)
static const Buf *grow_step(pith_scope *in, const Buf *b) {
    const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED}), .chunk = 2};
    const pith_function *f = pith_vmap(in, pith_vmap(in, &need_of, &o), &o);
    Buf next = *b;
    next.x = pith_apply(in, f, b->x, pith_stop_gradient(in, b));
    return pith_freeze(in, Buf, &next);
}
PITH_FUNCTION1(grow_step_of, grow_step, Buf, Buf)
static int repair_count;
static void count_repair(pith_scope *in, const pith_repair *r, void *c) {
    (void)in;
    (void)r;
    (void)c;
    repair_count++;
}

Test(vmap_records, capacities_grow_in_batches_of_batches, .init = open_scope) {
    const Buf *b = pith_record(s, Buf, .x = numbers(PITH_SHAPE(5, 3)), .room = 2);
    b = pith_propagate(s, Buf, &grow_step_of, b,
                       &(pith_propagate_options){.repaired = count_repair});
    pt_ok(s, b);
    cr_assert(b->room == 14 && repair_count == 1, "%d, %d", (int)b->room, repair_count);
    b = pith_run(s, Buf, &grow_step_of, b, &(pith_run_options){.steps = 5});
    pt_ok(s, b);
    cr_assert(b->room >= 19, "%d", (int)b->room);
    close_scope();
}
