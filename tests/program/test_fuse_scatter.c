/* Scatters run in the band that makes their updates, block by block, with the bits of one
 * call after the other: forces of pairs that are added to atoms. Arrays that the band
 * reads otherwise, and promised indices, are left alone. */
#include "band_test.h"

enum { ATOMS = 200, NEAR = 60, EXTENT = 210, LARGEST = 4 };

/* What a test varies. */
typedef struct variant {
    pith_dtype dtype, index_dtype;
    pithp_primitive primitive;
    pithp_index_mode mode;
    int64_t inner;
    bool unique, sorted;
} variant;

static const variant usual = {
    PITH_F64, PITH_I32, PITHP_OP_SCATTER_ADD, PITHP_INDEX_DROP, 3, false, false};

/* A program of pairs under construction. */
typedef struct pairs {
    bench b;
    variant v;
    pithp_value arrays[2], index, apart, updates; /* arrays: inputs */
} pairs;

static char indices[ATOMS * NEAR * 8];

/* Some indices are negative, and some out of range. */
static void fill_indices(const variant *v) {
    const size_t size = pith_dtype_size(v->index_dtype);
    for (int64_t k = 0; k < ATOMS * NEAR; k++) {
        const int64_t i = v->sorted ? k / NEAR : (k * 7919) % (EXTENT + 20) - 10;
        memcpy(indices + (size_t)k * size, &i, size);
    }
}

/* Updates of pairs: what they are apart, times a sum over coordinates. */
static pairs begin_pairs(const variant *v) {
    const int64_t shape[3] = {ATOMS, NEAR, v->inner};
    pairs p = {.b = begin(), .v = *v};
    make_memory(&p.b, v->dtype);
    fill_indices(v);
    const pithp_value a = input(&p.b, v->dtype, 3, shape, x),
                      c = input(&p.b, v->dtype, 3, shape, y);
    p.index = input(&p.b, v->index_dtype, 2, shape, indices);
    for (int k = 0; k < 2; k++)
        p.arrays[k] = input(&p.b, v->dtype, 2, (const int64_t[]){EXTENT, v->inner},
                            (k ? x : y) + 1024);
    p.apart = op(&p.b, PITHP_OP_SUB, 2, a, c);
    const pithp_value square = op(&p.b, PITHP_OP_MUL, 2, p.apart, p.apart);
    const pithp_value near = kept(&p.b, PITHP_OP_SUM, square, 1, 3, shape);
    p.updates = op(&p.b, PITHP_OP_MUL, 2, p.apart, near);
    return p;
}

static pithp_value zeros(pairs *p) {
    const pithp_full_params full = {
        .dtype = p->v.dtype, .rank = 2, .shape = {EXTENT, p->v.inner}};
    const pithp_value v =
        pithp_program_add(p->b.s, p->b.p, PITHP_OP_FULL, 0, NULL, &full, NULL);
    pt_ok(p->b.s, v >= 0);
    return v;
}

static pithp_value scatter(pairs *p, pithp_value array, pithp_value updates) {
    const pithp_index_params params = {
        .mode = p->v.mode, .unique = p->v.unique, .sorted = p->v.sorted};
    const pithp_value v =
        pithp_program_add(p->b.s, p->b.p, p->v.primitive, 3,
                          (const pithp_value[]){array, p->index, updates}, &params, NULL);
    pt_ok(p->b.s, v >= 0);
    return v;
}

static void give(pairs *p, pithp_value v) {
    pt_ok(p->b.s, pithp_program_output(p->b.s, p->b.p, v));
}

static void end_pairs(pairs *p) {
    free_memory();
    end(&p->b);
}

/* Bytes of the workspace of the fused plan. */
static size_t workspace_of(const pairs *p) {
    pithp_executable *exe = plan_of(&p->b, "off");
    const size_t bytes = exe->plan->workspace_bytes;
    pithp_executable_free(exe);
    return bytes;
}

/* ---- In the band ---- */

static void one_scatter(const variant *v) {
    pairs p = begin_pairs(v);
    give(&p, scatter(&p, zeros(&p), p.updates));
    expect_bands(&p.b, "one scatter", 1, 4);
    cr_assert(workspace_of(&p) <= PITHP_BAND_BLOCK_BYTES + 8192,
              "updates have more memory than that of a block: %zu", workspace_of(&p));
    end_pairs(&p);
}

Test(fuse_scatter, updates_are_scattered_as_they_are_made, .timeout = 300) {
    static const variant variants[] = {
        {PITH_F64, PITH_I32, PITHP_OP_SCATTER_ADD, PITHP_INDEX_DROP, 3, false, false},
        {PITH_F64, PITH_I64, PITHP_OP_SCATTER_SET, PITHP_INDEX_WRAP, 4, false, false},
        {PITH_F64, PITH_U64, PITHP_OP_SCATTER_ADD, PITHP_INDEX_PROMISE, 7, false, false},
        {PITH_F64, PITH_I16, PITHP_OP_SCATTER_MAX, PITHP_INDEX_CLIP, 2, false, false},
        {PITH_I64, PITH_I32, PITHP_OP_SCATTER_MUL, PITHP_INDEX_DROP, 3, false, false},
    };
    use_cache();
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++)
        one_scatter(&variants[k]);
}

Test(fuse_scatter, any_number_of_threads_gives_the_same_bits, .timeout = 300) {
    use_cache();
    for (int threads = 1; threads <= 3; threads++) {
        char text[8];
        snprintf(text, sizeof text, "%d", threads);
        setenv("PITH_THREADS", text, 1);
        one_scatter(&usual);
    }
}

/* A later row of the same block, and what a sum over pairs adds beside the scatter. A sum
 * of all updates is delayed past it. */
Test(fuse_scatter, sums_of_updates_are_in_the_band_too, .timeout = 100) {
    const pithp_reduce_params pairs_of = {2}, all = {7};
    use_cache();
    pairs p = begin_pairs(&usual);
    give(&p,
         pithp_program_add(p.b.s, p.b.p, PITHP_OP_SUM, 1, &p.updates, &pairs_of, NULL));
    const pithp_value energy = op(&p.b, PITHP_OP_NEG, 1, p.apart);
    give(&p, pithp_program_add(p.b.s, p.b.p, PITHP_OP_SUM, 1, &energy, &all, NULL));
    give(&p, scatter(&p, zeros(&p), p.updates));
    expect_bands(&p.b, "with a sum", 1, 5);
    end_pairs(&p);
}

/* way 0: two scatters of different updates into one array; 1: of the same updates into
 * two arrays; 2: the updates are an output; 3: the arrays are inputs. */
Test(fuse_scatter, scatters_of_one_band, .timeout = 200) {
    use_cache();
    for (int way = 0; way < 4; way++) {
        pairs p = begin_pairs(&usual);
        const pithp_value first = way == 3 ? p.arrays[0] : zeros(&p),
                          second = way == 1 || way == 3 ? p.arrays[1] : first;
        give(&p, scatter(&p, first, p.updates));
        if (way != 2)
            give(&p, scatter(&p, second,
                             way == 1 ? p.updates
                                      : op(&p.b, PITHP_OP_ADD, 2, p.updates, p.apart)));
        if (way == 2)
            give(&p, p.updates);
        expect_bands(&p.b, "scatters", 1, way == 2 ? 4 : 5);
        end_pairs(&p);
    }
}

/* ---- Not in the band ---- */

/* The band's steps alone: the scatter is none of them. */
static void expect_apart(pairs *p, const char *what) {
    pithp_executable *exe = plan_of(&p->b, "off");
    for (int64_t k = 0; k < exe->plan->step_count; k++)
        cr_assert_eq(exe->plan->steps[k].band_block, 0, "%s", what);
    pithp_executable_free(exe);
    expect_same(&p->b, what);
    end_pairs(p);
}

Test(fuse_scatter, arrays_that_the_band_reads_are_updated_after_it, .timeout = 200) {
    use_cache();
    const pithp_slice_params rows = {{0, 0}, {ATOMS, 3}, {1, 1}};
    const pithp_reshape_params up = {3, {ATOMS, 1, 3}};
    pairs p = begin_pairs(&usual);
    /* an array that may be updated in place */
    const pithp_value array = op(&p.b, PITHP_OP_NEG, 1, p.arrays[0]);
    pithp_value row =
        pithp_program_add(p.b.s, p.b.p, PITHP_OP_SLICE, 1, &array, &rows, NULL);
    row = pithp_program_add(p.b.s, p.b.p, PITHP_OP_RESHAPE, 1, &row, &up, NULL);
    give(&p, scatter(&p, array, op(&p.b, PITHP_OP_MUL, 2, p.updates, row)));
    expect_apart(&p, "read array");
}

Test(fuse_scatter, a_scatter_into_another_one_waits_for_it, .timeout = 200) {
    use_cache();
    pairs p = begin_pairs(&usual);
    const pithp_value first = scatter(&p, zeros(&p), p.updates);
    give(&p, scatter(&p, first, op(&p.b, PITHP_OP_ADD, 2, p.updates, p.apart)));
    expect_bands(&p.b, "chain", 1, 4);
    end_pairs(&p);
}

Test(fuse_scatter, promised_indices_stay_for_all_threads, .timeout = 200) {
    use_cache();
    for (int way = 0; way < 2; way++) {
        variant v = usual;
        v.unique = way == 0;
        v.sorted = way == 1;
        v.primitive = way == 0 ? PITHP_OP_SCATTER_ADD : usual.primitive;
        pairs p = begin_pairs(&v);
        if (way == 0) /* as promised */
            for (int64_t k = 0; k < ATOMS * NEAR; k++)
                ((int32_t *)(void *)indices)[k] = (int32_t)(k < EXTENT ? k : EXTENT);
        give(&p, scatter(&p, zeros(&p), p.updates));
        expect_apart(&p, "promised");
    }
}

/* ---- Inputs that may be overwritten ---- */

/* way 0: the array itself; 1: what the band reads, whose spec is that of the result; 2:
 * that a gather of the band reads. */
Test(fuse_scatter, inputs_are_overwritten_where_no_block_needs_them, .timeout = 200) {
    static const int64_t expected[] = {0, -1, -1};
    const int64_t shape[2] = {ATOMS * NEAR, 3};
    use_cache();
    for (int way = 0; way < 3; way++) {
        pairs p = {.b = begin(), .v = usual};
        make_memory(&p.b, PITH_F64);
        fill_indices(&usual);
        const pithp_value a = input(&p.b, PITH_F64, 2, shape, x),
                          c = input(&p.b, PITH_F64, 2, shape, y);
        p.index = input(&p.b, PITH_I32, 1, shape, indices);
        const pithp_index_params clip = {.mode = PITHP_INDEX_CLIP};
        const pithp_value read =
            way == 0 ? op(&p.b, PITHP_OP_NEG, 1, c)
            : way == 1
                ? a
                : pithp_program_add(p.b.s, p.b.p, PITHP_OP_TAKE, 2,
                                    (const pithp_value[]){a, p.index}, &clip, NULL);
        const pithp_value apart = op(&p.b, PITHP_OP_SUB, 2, read, c);
        const pithp_value near = kept(&p.b, PITHP_OP_SUM, apart, 1, 2, shape);
        const pithp_full_params full = {
            .dtype = PITH_F64, .rank = 2, .shape = {ATOMS * NEAR, 3}};
        const pithp_value array =
            way == 0
                ? a
                : pithp_program_add(p.b.s, p.b.p, PITHP_OP_FULL, 0, NULL, &full, NULL);
        give(&p, scatter(&p, array, op(&p.b, PITHP_OP_MUL, 2, apart, near)));
        overwrite(&p.b, "off", expected[way]);
        end_pairs(&p);
    }
}
