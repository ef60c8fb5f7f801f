/* Reductions of what fused steps make, block by block, give the bits of one call after
 * the other, interpreted and compiled; and views that are reshaped stay views. */
#include "emit_test.h"
#include "op_list.h"

enum { ELEMENTS = 20000 };

static char *x, *y;

static void make_elements(const bench *b, pith_dtype dtype, int64_t n) {
    recipe r = {.s = b->s, .state = 99 + (uint64_t)dtype};
    x = malloc((size_t)n * 8 + 64);
    y = malloc((size_t)n * 8 + 64);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), x);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), y);
}

static void make_inputs(const bench *b, pith_dtype dtype) {
    make_elements(b, dtype, ELEMENTS);
}

static void free_inputs(void) {
    free(x);
    free(y);
}

static int count_sources(const bench *b) {
    pithp_executable *exe = plan_of(b, "off");
    int count = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        count += exe->plan->steps[k].runs_in_consumer; /* those of bands included */
    pithp_executable_free(exe);
    return count;
}

/* Sources there are as many; and every step on its own gives the same. */
static void expect_sources(const bench *b, int sources) {
    cr_assert_eq(count_sources(b), sources, "%d", count_sources(b));
    expect_same(b, "sources");
}

static pithp_value
reduction(bench *b, pithp_primitive primitive, pithp_value v, uint32_t axes) {
    const pithp_reduce_params params = {axes};
    const pithp_value r = pithp_program_add(b->s, b->p, primitive, 1, &v, &params, NULL);
    pt_ok(b->s, r >= 0);
    return r;
}

static void every_shape(pith_dtype dtype) {
    static const int64_t shapes[][2] = {{1, 5000}, {100, 60}, {4000, 3}, {5000, 2},
                                        {2, 9000}, {1, 4096}, {64, 128}, {3, 6174}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        bench b = begin();
        make_inputs(&b, dtype);
        const pithp_value v = input(&b, dtype, 2, shapes[k], x),
                          w = input(&b, dtype, 2, shapes[k], y);
        const bool large = shapes[k][0] * shapes[k][1] > 4096;
        int made = 0;
        for (OPS_WITH(p, PITHP_TRAIT_REDUCTION)) {
            if (dtype == PITH_BOOL && (p == PITHP_OP_SUM || p == PITHP_OP_PROD))
                continue;
            /* apart from those of the other reductions, which would be one step */
            const pithp_value chain =
                op(&b, made++ % 2 ? PITHP_OP_MIN : PITHP_OP_MAX, 2, v, w);
            const pithp_value mine = reduction(&b, (pithp_primitive)p, chain, 2);
            pithp_program_output(b.s, b.p, mine);
        }
        expect_sources(&b, large ? count_sources(&b) : 0);
        cr_assert(!large || count_sources(&b) > 0);
        free_inputs();
        end(&b);
    }
}

Test(fuse_input, reductions_of_chains_give_the_bits_of_calls, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I8,  PITH_I64,
                                        PITH_BF16, PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 6; d++)
        every_shape(dtypes[d]);
}

/* Columns: fewer rows than lanes, more, several blocks and tiles of them. */
static void every_column(pith_dtype dtype) {
    static const int64_t shapes[][3] = {{1, 9000, 2},  {1, 40, 500}, {4, 300, 10},
                                        {2, 65, 130},  {1, 5000, 3}, {3, 2000, 3},
                                        {1, 17, 1000}, {2, 64, 64},  {9, 1999, 1},
                                        {1, 70, 280},  {2, 9, 1025}, {1, 33, 600}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        bench b = begin();
        make_inputs(&b, dtype);
        const pithp_value v = input(&b, dtype, 3, shapes[k], x),
                          w = input(&b, dtype, 3, shapes[k], y);
        int made = 0;
        for (OPS_WITH(p, PITHP_TRAIT_REDUCTION)) {
            if (dtype == PITH_BOOL && (p == PITHP_OP_SUM || p == PITHP_OP_PROD))
                continue;
            const pithp_value chain =
                op(&b, made++ % 2 ? PITHP_OP_MIN : PITHP_OP_MAX, 2, v, w);
            pithp_program_output(b.s, b.p, reduction(&b, (pithp_primitive)p, chain, 2));
        }
        cr_assert(count_sources(&b) > 0, "shape %zu", k);
        expect_same(&b, "columns");
        free_inputs();
        end(&b);
    }
}

Test(fuse_input, columns_of_chains_give_the_bits_of_calls, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I8,  PITH_I64,
                                        PITH_BF16, PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 6; d++)
        every_column(dtypes[d]);
}

Test(fuse_input, wide_columns_of_several_blocks_give_the_bits_of_calls, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BF16, PITH_F64};
    const int64_t shape[2] = {4096 + 67, 290};
    use_cache();
    for (int d = 0; d < 2; d++) {
        bench b = begin();
        make_elements(&b, dtypes[d], shape[0] * shape[1]);
        const pithp_value v = input(&b, dtypes[d], 2, shape, x),
                          w = input(&b, dtypes[d], 2, shape, y);
        const pithp_value chain = op(&b, PITHP_OP_ADD, 2, v, w);
        pithp_program_output(b.s, b.p, reduction(&b, PITHP_OP_SUM, chain, 1));
        expect_sources(&b, 1);
        free_inputs();
        end(&b);
    }
}

/* What has no columns, or no rows, is no source. */
Test(fuse_input, reductions_of_nothing_have_no_source, .timeout = 100) {
    static const int64_t shapes[][3] = {{5000, 0, 3}, {5, 3000, 0}, {0, 3000, 5}};
    use_cache();
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        bench b = begin();
        make_inputs(&b, PITH_F64);
        const pithp_value v = input(&b, PITH_F64, 3, shapes[k], x);
        const pithp_value chain = op(&b, PITHP_OP_MUL, 2, v, v);
        pithp_program_output(b.s, b.p, reduction(&b, PITHP_OP_SUM, chain, 2));
        expect_sources(&b, 0);
        free_inputs();
        end(&b);
    }
}

/* x y + x, over all axes but those below. */
static pithp_value chain(bench *b, int64_t rows, pithp_value *v) {
    const int64_t shape[2] = {rows, ELEMENTS / rows};
    *v = input(b, PITH_F64, 2, shape, x);
    const pithp_value w = input(b, PITH_F64, 2, shape, y);
    return op(b, PITHP_OP_ADD, 2, op(b, PITHP_OP_MUL, 2, *v, w), *v);
}

Test(fuse_input, what_others_read_is_written, .timeout = 300) {
    use_cache();
    for (int way = 0; way < 6; way++) {
        bench b = begin();
        make_inputs(&b, PITH_F64);
        pithp_value v;
        const pithp_value c = chain(&b, 40, &v);
        pithp_value sum = reduction(&b, PITHP_OP_SUM, c, way == 5 ? 1 : way == 4 ? 3 : 2);
        if (way == 1) /* an output */
            pithp_program_output(b.s, b.p, c);
        if (way == 2) { /* a later step */
            const pithp_reshape_params shape = {2, {40, 1}};
            const pithp_value up =
                pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &sum, &shape, NULL);
            pithp_program_output(b.s, b.p, op(&b, PITHP_OP_DIV, 2, c, up));
        }
        if (way == 3) { /* two of them */
            pithp_program_output(b.s, b.p, reduction(&b, PITHP_OP_MAX_OF, c, 2));
        }
        pithp_program_output(b.s, b.p, sum);
        expect_sources(&b, way == 2 || way == 3 ? 2 : 1);
        free_inputs();
        end(&b);
    }
}

static int count_map_reduces(const bench *b) {
    pithp_executable *exe = plan_of(b, "off");
    int count = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        count += exe->plan->steps[k].kind == PITHP_STEP_FUSED &&
                 pithp_map_reduce_of(exe->plan, &exe->plan->steps[k]).reducer >= 0;
    pithp_executable_free(exe);
    return count;
}

/* way 0: nothing else; 1: the chain is an output; 2: a root follows, in a band; 3: the
 * chain calls a function; 4: the order of rows does not matter; 5: columns of that; 6:
 * another value of the step is an output, and stored by the same loop */
static void
map_reduced(pith_dtype dtype, int64_t rows, uint32_t axes, int way, int count) {
    const int64_t shape[2] = {rows, ELEMENTS / rows};
    bench b = begin();
    make_inputs(&b, dtype);
    const pithp_value v = input(&b, dtype, 2, shape, x),
                      w = input(&b, dtype, 2, shape, y),
                      by = input(&b, dtype, 0, NULL, x);
    pithp_value c = op(&b, PITHP_OP_SUB, 2, op(&b, PITHP_OP_MUL, 2, v, by), w);
    if (way == 3)
        c = op(&b, PITHP_OP_SIN, 1, c);
    if (way == 1)
        pithp_program_output(b.s, b.p, c);
    if (way == 6)
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, c, v));
    pithp_value r =
        reduction(&b, way == 4 || way == 5 ? PITHP_OP_MAX_OF : PITHP_OP_SUM, c, axes);
    if (way == 2)
        r = op(&b, PITHP_OP_SQRT, 1, r);
    pithp_program_output(b.s, b.p, r);
    cr_assert_eq(count_map_reduces(&b), count, "way %d, axes %u: %d", way, axes,
                 count_map_reduces(&b));
    expect_same(&b, "map-reduce");
    free_inputs();
    end(&b);
}

Test(fuse_input, compiled_code_makes_and_reduces_in_one_loop, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_F16, PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 3; d++) {
        for (uint32_t axes = 1; axes <= 3; axes++)
            map_reduced(dtypes[d], 40, axes, 0, 1);
        map_reduced(dtypes[d], 5000, 2, 0, 1);
        map_reduced(dtypes[d], 5000, 2, 2, 1);
        map_reduced(dtypes[d], ELEMENTS / 70, 1, 0, 1);
        for (uint32_t axes = 1; axes <= 3; axes++)
            map_reduced(dtypes[d], 40, axes, 6, 1);
        map_reduced(dtypes[d], 5000, 2, 6, 1);
        map_reduced(dtypes[d], 40, 1, 1, 0);
        map_reduced(dtypes[d], 40, 2, 3, 0);
        map_reduced(dtypes[d], 40, 2, 4, 0);
        map_reduced(dtypes[d], 40, 1, 5, 1);
    }
}

/* A step with a reader before the reduction cannot be delayed to it. */
Test(fuse_input, a_step_that_is_read_before_runs_before, .timeout = 100) {
    use_cache();
    bench b = begin();
    make_inputs(&b, PITH_F64);
    pithp_value v;
    const pithp_value c = chain(&b, 40, &v);
    const pithp_scan_params along = {.axis = 1};
    const pithp_value sums =
        pithp_program_add(b.s, b.p, PITHP_OP_CUMSUM, 1, &c, &along, NULL);
    pithp_program_output(b.s, b.p, sums);
    pithp_program_output(b.s, b.p, reduction(&b, PITHP_OP_SUM, c, 2));
    pithp_program_output(b.s, b.p, reduction(&b, PITHP_OP_SUM, sums, 2));
    expect_sources(&b, 0);
    free_inputs();
    end(&b);
}

/* Norms of rows of a part of a list: slices that are reshaped are read where they lie. */
Test(fuse_input, reshaped_slices_are_views, .timeout = 100) {
    use_cache();
    bench b = begin();
    make_inputs(&b, PITH_F64);
    const int64_t n = ELEMENTS;
    const pithp_value v = input(&b, PITH_F64, 1, &n, x),
                      w = input(&b, PITH_F64, 1, &n, y);
    const pithp_slice_params part = {{5}, {5 + 18000}, {1}}, every = {{0}, {18000}, {3}};
    const pithp_reshape_params rows = {2, {6000, 3}}, few = {2, {2000, 3}};
    const pithp_value in[] = {v, w};
    pithp_value made[2], some[2];
    for (int k = 0; k < 2; k++) {
        made[k] = pithp_program_add(b.s, b.p, PITHP_OP_SLICE, 1, &in[k], &part, NULL);
        made[k] = pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &made[k], &rows, NULL);
        some[k] = pithp_program_add(b.s, b.p, PITHP_OP_SLICE, 1, &in[k], &every, NULL);
        some[k] = pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &some[k], &few, NULL);
    }
    const pithp_value apart = op(&b, PITHP_OP_SUB, 2, made[0], made[1]);
    const pithp_value sum =
        reduction(&b, PITHP_OP_SUM, op(&b, PITHP_OP_MUL, 2, apart, apart), 2);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_SQRT, 1, sum));
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_ADD, 2, some[0], some[1]));
    pithp_program_output(b.s, b.p, made[0]); /* in memory, and read as a view of it */
    pithp_executable *exe = plan_of(&b, "off");
    int copies = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        copies += exe->plan->steps[k].call &&
                  exe->plan->steps[k].call->primitive == PITHP_OP_SLICE;
    cr_assert(copies <= 3, "%d slices are copied", copies);
    pithp_executable_free(exe);
    expect_sources(&b, 2);
    free_inputs();
    end(&b);
}

/* ---- What is taken ---- */

/* take(v, index) w + take(v, other), by rows; way 1: one is an output; 2: read as a view;
 * 3: one is an output of another shape. */
static void taken(int64_t inner, pith_dtype dtype, int way, int sources) {
    static int64_t index[2][ELEMENTS];
    bench b = begin();
    make_inputs(&b, dtype);
    const int64_t rows = 5000, n = inner > 1 ? 3000 : 9000;
    const int64_t shape[2] = {rows, inner}, wide[2] = {n, inner};
    for (int64_t k = 0; k < n; k++)
        for (int j = 0; j < 2; j++)
            index[j][k] = (k * 7919 + j * 31) % (rows + 20) - 10;
    const int rank = inner > 1 ? 2 : 1;
    const pithp_value v = input(&b, dtype, rank, shape, x),
                      w = input(&b, dtype, rank, wide, y),
                      first = input(&b, PITH_I64, 1, &n, index[0]),
                      second = input(&b, PITH_I64, 1, &n, index[1]);
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP, .fill = 1};
    pithp_value got[2];
    for (int k = 0; k < 2; k++) {
        const pithp_value in[2] = {v, k ? second : first};
        got[k] = pithp_program_add(b.s, b.p, PITHP_OP_TAKE, 2, in, &params, NULL);
    }
    const pithp_value sum =
        op(&b, PITHP_OP_ADD, 2, op(&b, PITHP_OP_MUL, 2, got[0], w), got[1]);
    if (way == 1)
        pithp_program_output(b.s, b.p, got[1]);
    if (way == 2) {
        const pithp_reverse_params turned = {1};
        const pithp_value back =
            pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &got[1], &turned, NULL);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, sum, back));
    }
    if (way == 3) {
        const pithp_reshape_params halves = {2, {2, n * inner / 2}};
        pithp_program_output(
            b.s, b.p,
            pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &got[1], &halves, NULL));
    }
    pithp_program_output(b.s, b.p, sum);
    expect_sources(&b, sources);
    free_inputs();
    end(&b);
}

Test(fuse_input, what_is_taken_is_read_where_it_is_needed, .timeout = 300) {
    use_cache();
    taken(1, PITH_F64, 0, 2);
    taken(3, PITH_F64, 0, 2);
    taken(3, PITH_BF16, 0, 2);
    taken(1, PITH_I8, 0, 2);
    taken(1, PITH_F32, 1, 1);
    taken(3, PITH_F32, 2, 1);
    taken(1, PITH_F32, 3, 1);
}

/* In range, in every third line of 100 all of them or all but the last, and beyond it on
 * both sides. */
static int64_t some_index(int64_t k, int64_t rows) {
    const int64_t line = k / 100;
    if (line % 3 || rows == 0)
        return (k * 7919) % (2 * rows + 40) - rows / 2 - 20;
    return line % 2 && k % 100 == 99 ? rows : (k * 7919) % rows;
}

/* take(v, index) w + column over [90, 100] */
static void taken_by(pith_dtype dtype,
                     pith_dtype index_dtype,
                     int mode,
                     bool no_negative,
                     int64_t rows) {
    static char index[9000 * 8];
    const size_t size = pith_dtype_size(index_dtype);
    const int64_t shape[2] = {90, 100}, upright[2] = {90, 1};
    bench b = begin();
    make_inputs(&b, dtype);
    for (int64_t k = 0; k < 9000; k++) {
        const int64_t i = some_index(k, rows);
        memcpy(index + (size_t)k * size, &i, size); /* its low bytes */
    }
    const pithp_value v = input(&b, dtype, 1, &rows, x),
                      at = input(&b, index_dtype, 2, shape, index),
                      w = input(&b, dtype, 2, shape, y),
                      column = input(&b, dtype, 2, upright, x);
    const pithp_index_params params = {.mode = (pithp_index_mode)mode,
                                       .no_negative = no_negative,
                                       .fill = 0x4041424344454601u};
    const pithp_value in[2] = {v, at};
    const pithp_value got =
        pithp_program_add(b.s, b.p, PITHP_OP_TAKE, 2, in, &params, NULL);
    pt_ok(b.s, got >= 0);
    pithp_program_output(
        b.s, b.p, op(&b, PITHP_OP_MAX, 2, op(&b, PITHP_OP_MIN, 2, got, w), column));
    expect_sources(&b, 1);
    free_inputs();
    end(&b);
}

Test(fuse_input, indices_of_all_kinds_are_taken_by, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I8,  PITH_U16, PITH_F16,
                                        PITH_BF16, PITH_I32, PITH_F32, PITH_U64},
                            indices[] = {PITH_I8,  PITH_U8,  PITH_I16, PITH_U16,
                                         PITH_I32, PITH_U32, PITH_I64, PITH_U64};
    use_cache();
    for (int k = 0; k < 8; k++)
        for (int mode = PITHP_INDEX_DROP; mode < PITHP_INDEX_ERROR; mode++)
            taken_by(dtypes[(k + mode) % 8], indices[k], mode, k % 2, 50 + k * 1000);
    taken_by(PITH_F64, PITH_I32, PITHP_INDEX_DROP, false, 1);
    taken_by(PITH_F64, PITH_I32, PITHP_INDEX_DROP, false, 0);
}
