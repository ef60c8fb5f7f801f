/* Reductions of all elements of several values of one step share its computation, with
 * the bits of one call after the other: interpreted and compiled, for each reduction and
 * dtype, whatever else reads the values. */
#include "emit_test.h"
#include "op_list.h"

enum { ELEMENTS = 20000 };

static char *x, *y;

static void make_inputs(const bench *b, pith_dtype dtype) {
    const int64_t n = ELEMENTS;
    recipe r = {.s = b->s, .state = 17 + (uint64_t)dtype};
    x = malloc(ELEMENTS * 8 + 64);
    y = malloc(ELEMENTS * 8 + 64);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), x);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), y);
}

static void free_inputs(void) {
    free(x);
    free(y);
}

static pithp_value all_of(bench *b, pithp_primitive primitive, pithp_value v, int rank) {
    const pithp_reduce_params params = {(1u << rank) - 1};
    const pithp_value r = pithp_program_add(b->s, b->p, primitive, 1, &v, &params, NULL);
    pt_ok(b->s, r >= 0);
    return r;
}

/* Groups of siblings, their reductions, and values that are never in memory. */
static void expect_siblings(const bench *b,
                            const char *what,
                            int groups,
                            int reductions,
                            int nowhere) {
    pithp_executable *exe = plan_of(b, "off");
    int found = 0, steps = 0, buffered = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++) {
        found += exe->plan->steps[k].siblings > 0;
        steps += exe->plan->steps[k].siblings ? exe->plan->steps[k].siblings + 1 : 0;
    }
    for (int64_t v = 0; v < b->p->value_count; v++)
        buffered += pithp_is_buffered(exe->plan, (pithp_value)v);
    pithp_executable_free(exe);
    cr_assert(found == groups && steps == reductions && buffered == nowhere,
              "%s: %d groups of %d, %d values", what, found, steps, buffered);
    expect_same(b, what);
}

/* Steps whose values are reduced in the loop that computes them, where code is compiled.
 */
static int count_loops(const bench *b) {
    pithp_executable *exe = plan_of(b, "off");
    int count = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        count += exe->plan->steps[k].kind == PITHP_STEP_FUSED &&
                 pithp_map_reduce_of(exe->plan, &exe->plan->steps[k]).sibling_count > 0;
    pithp_executable_free(exe);
    return count;
}

/* A value and something like its tangent. way 1: both are outputs; 2: two reductions of
 * one of them; 3: a later step reads the second. */
static void pair(pith_dtype dtype, int64_t rows, int way) {
    const int64_t shape[2] = {rows, ELEMENTS / rows};
    bench b = begin();
    make_inputs(&b, dtype);
    const pithp_value v = input(&b, dtype, 2, shape, x),
                      w = input(&b, dtype, 2, shape, y);
    const pithp_value value = op(&b, PITHP_OP_MUL, 2, v, v),
                      moved = op(&b, PITHP_OP_MUL, 2, value, w);
    pithp_program_output(b.s, b.p, all_of(&b, PITHP_OP_SUM, value, 2));
    pithp_program_output(b.s, b.p, all_of(&b, PITHP_OP_SUM, moved, 2));
    if (way == 1) {
        pithp_program_output(b.s, b.p, value);
        pithp_program_output(b.s, b.p, moved);
    }
    if (way == 2)
        pithp_program_output(b.s, b.p, all_of(&b, PITHP_OP_MAX_OF, value, 2));
    if (way == 3) {
        const pithp_reverse_params turned = {1};
        pithp_program_output(
            b.s, b.p,
            pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &moved, &turned, NULL));
    }
    expect_siblings(&b, "pair", 1, way == 2 ? 3 : 2, way == 1 ? 0 : way == 3 ? 1 : 2);
    cr_assert_eq(count_loops(&b), !(way == 2 && pith_dtype_is_float(dtype)));
    free_inputs();
    end(&b);
}

Test(fuse_siblings, sums_of_a_value_and_a_tangent_share_its_step, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I64, PITH_BF16, PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 5; d++)
        for (int way = 0; way < 4; way++)
            pair(dtypes[d], way % 2 ? 1 : 40, way);
}

/* More values than one group has, of each reduction one, again and again: the others are
 * read from memory. */
Test(fuse_siblings, every_reduction_of_many_values, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I32, PITH_F16, PITH_F64};
    static const int64_t lengths[] = {4097, 8192, 4096 + 63, 3 * 4096 + 65};
    use_cache();
    for (int d = 0; d < 4; d++) {
        bench b = begin();
        make_inputs(&b, dtypes[d]);
        const pithp_value v = input(&b, dtypes[d], 1, &lengths[d], x),
                          w = input(&b, dtypes[d], 1, &lengths[d], y);
        pithp_value chain = v;
        for (int round = 0; round < 2; round++)
            for (OPS_WITH(p, PITHP_TRAIT_REDUCTION)) {
                if (dtypes[d] == PITH_BOOL && (p == PITHP_OP_SUM || p == PITHP_OP_PROD))
                    continue;
                chain = op(&b, p % 2 ? PITHP_OP_MIN : PITHP_OP_MAX, 2, chain, w);
                pithp_program_output(b.s, b.p, all_of(&b, (pithp_primitive)p, chain, 1));
                chain = op(&b, PITHP_OP_MAX, 2, chain, v);
            }
        pithp_executable *exe = plan_of(&b, "off");
        int groups = 0;
        for (int64_t k = 0; k < exe->plan->step_count; k++)
            groups += exe->plan->steps[k].siblings > 0;
        cr_assert(groups == 1, "%d", groups);
        pithp_executable_free(exe);
        expect_same(&b, "many values");
        free_inputs();
        end(&b);
    }
}

/* Not what is read before the last of them, nor reductions of rows. */
Test(fuse_siblings, others_are_apart, .timeout = 100) {
    use_cache();
    for (int way = 0; way < 2; way++) {
        const int64_t shape[2] = {2, ELEMENTS / 2};
        bench b = begin();
        make_inputs(&b, PITH_F64);
        const pithp_value v = input(&b, PITH_F64, 2, shape, x),
                          w = input(&b, PITH_F64, 2, shape, y);
        const pithp_value value = op(&b, PITHP_OP_MUL, 2, v, v),
                          moved = op(&b, PITHP_OP_MUL, 2, value, w);
        const pithp_scan_params along = {.axis = 1};
        const pithp_reduce_params rows = {2};
        pithp_value first = all_of(&b, PITHP_OP_SUM, value, 2);
        if (way == 0)
            pithp_program_output(
                b.s, b.p,
                pithp_program_add(b.s, b.p, PITHP_OP_CUMSUM, 1, &moved, &along, NULL));
        else
            first = pithp_program_add(b.s, b.p, PITHP_OP_SUM, 1, &value, &rows, NULL);
        pithp_program_output(b.s, b.p, first);
        pithp_program_output(b.s, b.p, all_of(&b, PITHP_OP_SUM, moved, 2));
        expect_siblings(&b, "apart", 0, 0, 0);
        free_inputs();
        end(&b);
    }
}
