/* Values that only a later fused step reads are computed there: the same bits, and fewer
 * values in memory. */
#include "emit_test.h"
#include "op_list.h"

enum { ROWS = 60, LENGTH = 100, ELEMENTS = ROWS * LENGTH };

static char *x, *y;

static bench begin_with_memory(pith_dtype dtype) {
    const int64_t n = ELEMENTS;
    const bench b = begin();
    recipe r = {.s = b.s, .state = 7 + (uint64_t)dtype};
    x = malloc(ELEMENTS * 8 + 64);
    y = malloc(ELEMENTS * 8 + 64);
    recipe_fill(&r, pithp_spec(b.s, dtype, 1, &n), x);
    recipe_fill(&r, pithp_spec(b.s, dtype, 1, &n), y);
    return b;
}

static void finish(bench *b) {
    free(x);
    free(y);
    end(b);
}

/* The bytes of results of fused steps in the workspace, and the number of fused steps. */
static void expect_plan(const bench *b, const char *what, int64_t bytes, int steps) {
    pithp_executable *exe = plan_of(b, "off");
    int64_t found = 0;
    int fused = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        fused += exe->plan->steps[k].kind == PITHP_STEP_FUSED;
    for (pithp_value v = 0; v < b->p->value_count; v++) {
        const pithp_instruction *i = pithp_maker(b->p, v);
        if (i && pithp_can_fuse(i->primitive) &&
            exe->plan->places[v].store == PITHP_IN_WORKSPACE)
            found += (int64_t)pithp_value_spec(b->p, v)->bytes;
    }
    pithp_executable_free(exe);
    cr_assert(found == bytes && fused == steps, "%s: %lld bytes, %d fused steps", what,
              (long long)found, fused);
    expect_same(b, what);
}

static pithp_value running_sum(bench *b, pithp_value v) {
    const pithp_value r =
        pithp_program_add(b->s, b->p, PITHP_OP_CUMSUM, 1, &v,
                          &(pithp_scan_params){.axis = 1, .reverse = false}, NULL);
    pt_ok(b->s, r >= 0);
    return r;
}

/* a = w + w goes through a running sum; from[k] are made beside it, and read after it. */
static void sinks(int way, int64_t bytes, int steps) {
    static const int64_t shape[2] = {ROWS, LENGTH}, row[1] = {LENGTH};
    bench b = begin_with_memory(PITH_F64);
    const pithp_value v = input(&b, PITH_F64, 2, shape, x),
                      w = input(&b, PITH_F64, 2, shape, y),
                      few = input(&b, PITH_F64, 1, row, x);
    const pithp_value a = op(&b, PITHP_OP_ADD, 2, w, w);
    pithp_value late = op(&b, PITHP_OP_MUL, 2, a, v); /* of a and an input */
    if (way == 1) { /* a chain, with an operand that is broadcast */
        late = op(&b, PITHP_OP_SUB, 2, late, few);
        late = op(&b, PITHP_OP_NEG, 1, late);
    }
    if (way == 2) { /* a narrow value is cheaper to keep than its operand */
        const pithp_cast_params narrow = {PITH_F32}, wide = {PITH_F64};
        late = op(&b, PITHP_OP_MUL, 2, late, op(&b, PITHP_OP_NEG, 1, late));
        late = pithp_program_add(b.s, b.p, PITHP_OP_CAST, 1, &late, &narrow, NULL);
        const pithp_value sum = running_sum(&b, op(&b, PITHP_OP_ADD, 2, a, v));
        late = pithp_program_add(b.s, b.p, PITHP_OP_CAST, 1, &late, &wide, NULL);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SUB, 2, sum, late));
    } else {
        const pithp_value sum = running_sum(&b, a);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SUB, 2, sum, late));
    }
    if (way == 3) /* an output is where it is made */
        pithp_program_output(b.s, b.p, late);
    expect_plan(&b, "sinks", bytes, steps);
    finish(&b);
}

Test(fuse_sink, values_are_computed_where_they_are_read, .timeout = 300) {
    use_cache();
    sinks(0, 8 * ELEMENTS, 2); /* a */
    sinks(1, 8 * ELEMENTS, 2);
    sinks(2, (8 + 4) * ELEMENTS, 2); /* the summand, and the narrow value */
    sinks(3, 8 * ELEMENTS, 2);
}

/* All members of a step may sink: the step vanishes, and later ones keep their order. */
Test(fuse_sink, steps_without_members_vanish, .timeout = 100) {
    static const int64_t shape[2] = {ROWS, LENGTH};
    use_cache();
    bench b = begin_with_memory(PITH_F32);
    const pithp_value v = input(&b, PITH_F32, 2, shape, x),
                      w = input(&b, PITH_F32, 2, shape, y);
    const pithp_value early = op(&b, PITHP_OP_NEG, 1, op(&b, PITHP_OP_MUL, 2, v, w));
    const pithp_value once = running_sum(&b, v), twice = running_sum(&b, once);
    const pithp_value end = op(&b, PITHP_OP_ADD, 2, twice, early);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SUB, 2, running_sum(&b, end), once));
    expect_plan(&b, "vanish", 4 * ELEMENTS, 2);
    finish(&b);
}

/* Reads of a value that is updated in place stay before the update. */
Test(fuse_sink, reads_stay_before_updates_in_place, .timeout = 100) {
    static const int64_t shape[2] = {ROWS, LENGTH}, part[2] = {1, LENGTH};
    static const int64_t zeros[2] = {0, 0}, two = 2;
    use_cache();
    bench b = begin_with_memory(PITH_F64);
    const pithp_value v = input(&b, PITH_F64, 2, shape, x),
                      row = input(&b, PITH_F64, 2, part, y),
                      at = input(&b, PITH_I64, 1, &two, zeros);
    const pithp_value made = running_sum(&b, v);
    const pithp_value before = op(&b, PITHP_OP_NEG, 1, made);
    const pithp_value updated =
        pithp_program_add(b.s, b.p, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                          (const pithp_value[]){made, row, at}, NULL, NULL);
    pt_ok(b.s, updated >= 0);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, updated, before));
    expect_plan(&b, "updates", 8 * ELEMENTS, 2);
    finish(&b);
}
