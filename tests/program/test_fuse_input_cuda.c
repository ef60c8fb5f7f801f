/* On CUDA a reduction reads concatenations, pads, other views and what fused steps make
 * where it needs an element: it gives the bits of one that reads a copy. */
#include "fuse_concat_test.h"
#include "op_list.h"
#include "program/host/reduce.h"
#include "series.h"

/* The outputs of every reduction over axes that has one. */
static void reduce_all_ways(const building *x, pithp_value v, uint32_t axes) {
    const pith_spec *specs[] = {spec_of(x, v)};
    const pithp_reduce_params params = {axes};
    pith_spec result;
    pithp_refusal refusal;
    for (OPS_WITH(p, OP_REDUCTIONS)) {
        const pithp_call call = pithp_call_of((pithp_primitive)p, 1, specs, &params);
        if (pithp_infer(&call, &result, &refusal) == PITH_OK)
            pithp_program_output(x->b->s, x->p,
                                 add(x, (pithp_primitive)p, 1, &v, &params));
    }
}

/* Rolls of each axis, nested; what is joined with nothing, cut off and padded. */
static int moves_of(const building *x, pithp_value v, pithp_value moved[4]) {
    const int rank = spec_of(x, v)->rank, last = rank - 1;
    const int64_t n = spec_of(x, v)->shape[0];
    pithp_value corners = v;
    for (int d = rank > 3; d < rank; d++) /* at most 8 pieces */
        if (spec_of(x, v)->shape[d] > 1)
            corners = roll(x, corners, d, 1);
    moved[0] = corners;
    moved[1] = join(x, join(x, part(x, v, 0, n / 2, n), part(x, v, 0, 1, 1), 0),
                    part(x, v, 0, 0, n - 1), 0);
    moved[2] = pad_axis(x, pad_axis(x, v, 0, 2, -1, 0), last, -1, 1, 0);
    moved[3] = pad_axis(x, roll(x, v, last, spec_of(x, v)->shape[last] - 1), 0, 1, 0, 0);
    return 4;
}

/* Short and long lines, of several blocks, whole arrays, rows, columns, what lies
 * between, and axes that are no neighbours: these are moved together, which is a copy,
 * where what lies side by side is not reduced. */
static const struct {
    int64_t shape[5]; /* rank, extents */
    uint32_t axes;
    bool copied;
} cases[] = {
    {{1, 40}, 1, false},         {{1, 5000}, 1, false},        {{2, 6, 5}, 2, false},
    {{2, 6, 5}, 1, false},       {{2, 70, 71}, 1, false},      {{2, 3, 1500}, 2, false},
    {{3, 4, 300, 3}, 2, false},  {{3, 5, 6, 7}, 7, false},     {{3, 3, 100, 4}, 6, false},
    {{3, 3, 100, 4}, 5, false},  {{4, 6, 3, 20, 1}, 5, false}, {{4, 3, 7, 5, 6}, 5, true},
    {{4, 3, 7, 5, 6}, 10, false}};

/* A quarter of the cases for each dtype: each has three dtypes. Of a share, one case. */
static void reduce_moves(pith_dtype dtype) {
    char name[60];
    for (int k = dtype % 4; k < PITHP_COUNT(cases); k += 4) {
        if (pt_share() > 1 && k / 4 != (int)dtype / 4 % 3)
            continue;
        bench b = begin();
        building x = {&b, b.p, {.state = (uint64_t)dtype * 31 + (uint64_t)k}, 0};
        const int64_t *shape = cases[k].shape;
        pithp_value moved[4];
        const pithp_value v = input(&b, dtype, (int)shape[0], shape + 1, memory);
        fill_memory(&x, spec_of(&x, v));
        const int count = moves_of(&x, v, moved);
        for (int m = 0; m < count; m++)
            reduce_all_ways(&x, moved[m], cases[k].axes);
        snprintf(name, sizeof name, "%s, case %d", pith_dtype_name(dtype), k);
        const kernels found = expect_scheduled(&b, name);
        cr_assert_eq(found.copies > 0, cases[k].copied, "%s: %d copies", name,
                     found.copies);
        cr_assert_eq(found.both > 0, !cases[k].copied, "%s", name);
        end(&b);
    }
}

Test(fuse_input_cuda, of_every_dtype_are_read_where_they_lie, .timeout = 600) {
    use_cache();
    for (int d = PITH_DTYPE_NONE + 1; d < PITH_DTYPE_COUNT; d++)
        reduce_moves((pith_dtype)d);
}

/* Slices, reversals, transposes of rows, broadcasts, reshapes and one element for all. */
Test(fuse_input_cuda, views_are_read_where_they_lie, .timeout = 300) {
    static const int64_t shape[] = {9, 8, 30};
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 1}, 0};
    const pithp_value v = input(&b, PITH_F32, 3, shape, memory);
    fill_memory(&x, spec_of(&x, v));
    const pithp_reverse_params back = {5};
    const pithp_transpose_params swap = {{1, 0, 2}};
    const pithp_broadcast_params more = {
        .rank = 4, .shape = {9, 8, 5, 30}, .dimensions = {0, 1, 3}};
    const pithp_reshape_params line = {.rank = 1, .shape = {9 * 8 * 30}};
    const pithp_value turned = add(&x, PITHP_OP_REVERSE, 1, &v, &back),
                      swapped = add(&x, PITHP_OP_TRANSPOSE, 1, &v, &swap),
                      rolled = roll(&x, swapped, 2, 7);
    const pithp_value views[] = {part(&x, v, 1, 2, 7),
                                 turned,
                                 swapped,
                                 add(&x, PITHP_OP_BROADCAST, 1, &v, &more),
                                 add(&x, PITHP_OP_RESHAPE, 1, &v, &line),
                                 part(&x, rolled, 0, 1, 8),
                                 add(&x, PITHP_OP_REVERSE, 1, &rolled, &back)};
    for (int k = 0; k < PITHP_COUNT(views); k++)
        for (uint32_t axes = 0; !(axes >> spec_of(&x, views[k])->rank); axes++)
            reduce_all_ways(&x, views[k], axes);
    cr_assert_gt(expect_scheduled(&b, "views").both, 0);
    end(&b);
}

/* ---- Of what fused steps make ---- */

static pithp_value times(const building *x, pithp_value v, pithp_value w) {
    return add(x, PITHP_OP_MUL, 2, (pithp_value[]){v, w}, NULL);
}

static int64_t launches_of(const bench *b) {
    pithp_error e;
    pithp_plan *plan = pithp_plan_make_for(b->s, b->p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *schedule = pithp_schedule_make(b->s, plan, PITHP_GEMM_NONE, &e);
    const int64_t launches = pithp_schedule_launches(schedule);
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    return launches;
}

/* A sum of products with a roll: no launch and no memory but the sum's. */
Test(fuse_input_cuda, products_are_made_where_they_are_summed, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F16, PITH_I8, PITH_BF16, PITH_U32};
    use_cache();
    for (int k = 0; k < PITHP_COUNT(cases); k++)
        for (int d = 0; d < PITHP_COUNT(dtypes) && !cases[k].copied; d++) {
            if (!pt_in_share(k + d))
                continue;
            bench b = begin();
            building x = {&b, b.p, {.state = (uint64_t)(k + d)}, 0};
            const int64_t *shape = cases[k].shape;
            const pithp_value v = input(&b, dtypes[d], (int)shape[0], shape + 1, memory);
            fill_memory(&x, spec_of(&x, v));
            const pithp_reduce_params over = {cases[k].axes};
            const pithp_value made = times(&x, v, roll(&x, v, 0, 1));
            pithp_program_output(b.s, b.p, add(&x, PITHP_OP_SUM, 1, &made, &over));
            const kernels found = expect_scheduled(&b, "product");
            cr_assert(found.choose == 1 && found.both == 1 && found.copies == 0);
            bench plain = begin();
            const pithp_value w =
                input(&plain, dtypes[d], (int)shape[0], shape + 1, memory);
            building y = {&plain, plain.p, {.state = 1}, 0};
            pithp_program_output(plain.s, plain.p, add(&y, PITHP_OP_SUM, 1, &w, &over));
            cr_assert(launches_of(&b) <= launches_of(&plain));
            end(&plain);
            end(&b);
        }
}

/* What others read too, or is an output, has memory, and is read there. */
Test(fuse_input_cuda, what_others_read_is_made_once, .timeout = 300) {
    const int64_t n = 3000;
    use_cache();
    for (int reader = 0; reader < 4; reader++) {
        bench b = begin();
        building x = {&b, b.p, {.state = 1}, 0};
        const pithp_value v = input(&b, PITH_F64, 1, &n, memory);
        fill_memory(&x, spec_of(&x, v));
        const pithp_reduce_params all = {1};
        const pithp_value made = times(&x, v, v),
                          sum = add(&x, PITHP_OP_SUM, 1, &made, &all),
                          turned = add(&x, PITHP_OP_NEG, 1, &made, NULL);
        pithp_program_output(b.s, b.p, sum);
        if (reader == 0)
            pithp_program_output(b.s, b.p, made);
        else if (reader == 1)
            pithp_program_output(b.s, b.p, add(&x, PITHP_OP_ARGMAX, 1, &made, &all));
        else if (reader == 2)
            pithp_program_output(b.s, b.p, turned);
        cr_assert_eq(expect_scheduled(&b, "shared").reduce, reader == 3);
        end(&b);
    }
}

/* Of what a step makes for two reductions each is made in memory; a reshape between is
 * none. */
Test(fuse_input_cuda, reshapes_between_are_no_memory, .timeout = 300) {
    static const int64_t shape[] = {50, 40};
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 1}, 0};
    const pithp_value v = input(&b, PITH_F32, 2, shape, memory);
    fill_memory(&x, spec_of(&x, v));
    const pithp_reshape_params flat = {.rank = 3, .shape = {5, 100, 4}};
    const pithp_reduce_params middle = {2};
    const pithp_value made = times(&x, v, roll(&x, v, 1, 3)),
                      other = add(&x, PITHP_OP_RESHAPE, 1, &made, &flat);
    pithp_program_output(b.s, b.p, add(&x, PITHP_OP_SUM, 1, &other, &middle));
    const kernels found = expect_scheduled(&b, "reshape");
    cr_assert(found.choose == 1 && found.both == 1);
    end(&b);
}

/* ---- Memory ---- */

/* A donated array that a reduction reads in pieces is not written before. */
Test(fuse_input_cuda, are_no_memory_for_results, .timeout = 100) {
    const int64_t n = 5000;
    for (int made = 0; made < 2; made++) {
        bench b = begin();
        building x = {&b, b.p, {.state = 1}, 0};
        const pithp_reduce_params all = {1};
        const pithp_value v = input(&b, PITH_F64, 1, &n, memory),
                          turned = add(&x, PITHP_OP_NEG, 1, &v, NULL),
                          rolled = roll(&x, v, 0, 1),
                          read = made ? times(&x, rolled, rolled) : rolled;
        pithp_program_output(b.s, b.p, turned);
        pithp_program_output(b.s, b.p, add(&x, PITHP_OP_SUM, 1, &read, &all));
        pithp_plan *plan = pithp_plan_make_for(b.s, b.p, PITHP_PLAN_SCHEDULED);
        pt_ok(b.s, plan);
        int64_t output = 0;
        pithp_plan_reuse(b.s, plan, NULL, (const int64_t[]){0}, 1, &output);
        cr_assert_eq(output, -1);
        pithp_plan_free(plan);
        end(&b);
    }
}

/* ---- Batches ---- */

/* Reductions of many leaves that are cut alike share a kernel. */
Test(fuse_input_cuda, of_equal_leaves_share_a_kernel, .timeout = 100) {
    enum { LEAVES = 8 };
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 5}, 0};
    const pithp_reduce_params all = {1};
    pithp_value leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = input(&b, PITH_F32, 1, (const int64_t[]){900 + k}, memory + 4096 * k);
    for (int k = 0; k < LEAVES; k++) {
        const pithp_value moved = roll(&x, leaves[k], 0, 1 + k);
        pithp_program_output(b.s, b.p, add(&x, PITHP_OP_MAX_OF, 1, &moved, &all));
    }
    fill_memory(&x, pithp_spec(b.s, PITH_F32, 1, (const int64_t[]){1024 * LEAVES}));
    const kernels found = expect_scheduled(&b, "leaves");
    cr_assert(found.both == 1 && found.copies == 0);
    end(&b);
}
