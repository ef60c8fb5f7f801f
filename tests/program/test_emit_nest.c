/* Nests of loops, whatever is broadcast, sliced or turned along which dimension, give the
 * bits of the interpreter: short rows, which are laid out, and long ones. */
#include "emit_test.h"

enum { ROOM = 200000 };

static char *memory[4];

static void make_memory(const bench *b, pith_dtype dtype) {
    const int64_t n = ROOM;
    for (int k = 0; k < 4; k++) {
        recipe r = {.s = b->s, .state = 7 * (uint64_t)k + (uint64_t)dtype};
        memory[k] = malloc(ROOM * 8 + 64);
        recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), memory[k]);
    }
}

static void free_memory(void) {
    for (int k = 0; k < 4; k++)
        free(memory[k]);
}

/* An input of the shape, with those dimensions of one element. */
static pithp_value flattened(bench *b,
                             pith_dtype dtype,
                             int rank,
                             const int64_t *shape,
                             uint32_t ones,
                             int from) {
    int64_t own[PITH_MAX_RANK];
    for (int d = 0; d < rank; d++)
        own[d] = ones >> d & 1 ? 1 : shape[d];
    return input(b, dtype, rank, own, memory[from]);
}

/* An input that is twice as wide in each dimension but the first, and a part of it. */
static pithp_value wider(bench *b, pith_dtype dtype, int rank, const int64_t *shape) {
    int64_t wide[PITH_MAX_RANK];
    for (int d = 0; d < rank; d++)
        wide[d] = (d == 0 ? 1 : 2) * shape[d] + 1;
    return input(b, dtype, rank, wide, memory[3]);
}
static pithp_value every_second(bench *b, pithp_value v, int rank, const int64_t *shape) {
    pithp_slice_params part = {.start = {0}};
    for (int d = 0; d < rank; d++) {
        part.start[d] = 1;
        part.step[d] = d == 0 ? 1 : 2;
        part.limit[d] = part.step[d] * shape[d] + 1;
    }
    return pithp_program_add(b->s, b->p, PITHP_OP_SLICE, 1, &v, &part, NULL);
}

static pithp_value turned(bench *b, pithp_value v, uint32_t axes) {
    const pithp_reverse_params params = {axes};
    return pithp_program_add(b->s, b->p, PITHP_OP_REVERSE, 1, &v, &params, NULL);
}

/* Each subset of dimensions is broadcast once; with a sum of it, whose blocks begin
 * anywhere in a row. */
static void every_walk(pith_dtype dtype, int rank, const int64_t *shape) {
    bench b = begin();
    make_memory(&b, dtype);
    const pithp_primitive both = dtype == PITH_BOOL ? PITHP_OP_BITWISE_XOR : PITHP_OP_SUB;
    pithp_value v[8];
    for (uint32_t ones = 0; ones < 1u << rank; ones++)
        v[ones] = flattened(&b, dtype, rank, shape, ones, (int)ones % 3);
    const pithp_value whole = v[0], twice = wider(&b, dtype, rank, shape);
    for (uint32_t ones = 1; ones < 1u << rank; ones++)
        pithp_program_output(b.s, b.p, op(&b, both, 2, whole, v[ones]));
    const pithp_value part = every_second(&b, twice, rank, shape);
    const pithp_value back = turned(&b, whole, 1u << (rank - 1));
    const pithp_value mixed =
        op(&b, PITHP_OP_MAX, 2, op(&b, both, 2, part, back), turned(&b, part, 1));
    pithp_program_output(b.s, b.p, mixed);
    if (dtype != PITH_BOOL) {
        const pithp_reduce_params all = {(1u << rank) - 1};
        const pithp_value apart = op(&b, PITHP_OP_MUL, 2, part, turned(&b, whole, 1));
        pithp_program_output(
            b.s, b.p, pithp_program_add(b.s, b.p, PITHP_OP_SUM, 1, &apart, &all, NULL));
    }
    expect_same(&b, "nest");
    free_memory();
    end(&b);
}

static const struct {
    int rank;
    int64_t shape[3];
} shapes[] = {
    {2, {5001, 3}},    {2, {4, 3}},      {2, {1, 3}},     {2, {0, 3}},
    {2, {3, 0}},       {2, {2500, 1}},   {2, {700, 16}},  {2, {301, 17}},
    {2, {2, 5000}},    {3, {601, 3, 3}}, {3, {70, 5, 4}}, {3, {9, 100, 2}},
    {3, {50, 3, 101}}, {3, {0, 2, 2}},   {3, {2, 2, 2}},  {3, {1, 7, 3}},
    {3, {300, 1, 4}},
};

Test(emit_nest, every_shape_and_walk_gives_the_bits_of_the_interpreter, .timeout = 600) {
    use_cache();
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        every_walk(PITH_F64, shapes[k].rank, shapes[k].shape);
}

Test(emit_nest, every_dtype_gives_the_bits_of_the_interpreter, .timeout = 600) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I8,  PITH_U16,  PITH_I32,
                                        PITH_U64,  PITH_F16, PITH_BF16, PITH_F32};
    use_cache();
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        every_walk(dtypes[k], 2, (const int64_t[]){3333, 3});
        every_walk(dtypes[k], 3, (const int64_t[]){70, 5, 4});
    }
}

/* Rows that compilers leave scalar, functions, and more than one step's worth of work:
 * what is laid out is bounded. */
Test(emit_nest, rows_of_all_kinds_give_the_bits_of_the_interpreter, .timeout = 600) {
    static const int64_t widths[] = {2, 3, 8, 16, 40};
    use_cache();
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        bench b = begin();
        const int64_t shape[2] = {1000, widths[k]};
        make_memory(&b, PITH_F64);
        const pithp_value v = flattened(&b, PITH_F64, 2, shape, 0, 0),
                          w = flattened(&b, PITH_F64, 2, shape, 2, 1),
                          u = flattened(&b, PITH_F64, 2, shape, 1, 2);
        pithp_program_output(b.s, b.p,
                             op(&b, PITHP_OP_FMOD, 2, op(&b, PITHP_OP_EXP, 1, v), w));
        pithp_value sum = op(&b, PITHP_OP_MUL, 2, v, u);
        for (int n = 0; n < 30; n++)
            sum = op(&b, n % 2 ? PITHP_OP_ADD : PITHP_OP_MUL, 2, sum, n % 3 ? w : u);
        pithp_program_output(b.s, b.p, sum);
        expect_same(&b, "rows");
        free_memory();
        end(&b);
    }
}

static pithp_value
neighbours(bench *b, pithp_value v, int64_t n, int64_t row, int64_t at) {
    const pithp_slice_params part = {
        .start = {row, at}, .limit = {n - 2 + row, n - 2 + at}, .step = {1, 1}};
    return pithp_program_add(b->s, b->p, PITHP_OP_SLICE, 1, &v, &part, NULL);
}

/* Results of some bytes and of many, which have loops of their own. */
Test(emit_nest, stencils_near_and_far_give_the_bits_of_the_interpreter, .timeout = 600) {
    static const int64_t sizes[] = {5, 100, 1300};
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_I32};
    use_cache();
    for (int k = 0; k < 9; k++) {
        bench b = begin();
        const int64_t n = sizes[k % 3], shape[2] = {n, n};
        const pith_dtype dtype = dtypes[k / 3];
        const pith_spec *spec = pithp_spec(b.s, dtype, 2, shape);
        recipe r = {.s = b.s, .state = (uint64_t)k};
        char *all = malloc(spec->bytes);
        recipe_fill(&r, spec, all);
        const pithp_value v = input(&b, dtype, 2, shape, all);
        pithp_value sum = neighbours(&b, v, n, 1, 1);
        for (int64_t at = 0; at <= 2; at += 2) {
            sum = op(&b, PITHP_OP_ADD, 2, sum, neighbours(&b, v, n, at, 1));
            sum = op(&b, PITHP_OP_MUL, 2, neighbours(&b, v, n, 1, at), sum);
        }
        pithp_program_output(b.s, b.p, sum);
        expect_same(&b, "stencil");
        free(all);
        end(&b);
    }
}

/* Strides and extents of long rows are arguments: an array that grew, and a slice of
 * another one, run the same code. */
Test(emit_nest, other_extents_need_no_compiler, .timeout = 100) {
    use_fresh_cache();
    bench b = begin();
    make_memory(&b, PITH_F64);
    for (int64_t n = 100; n < 300; n += 100) {
        pithp_program_release(b.p);
        b.p = pithp_program_make(b.s);
        b.input_count = 0;
        const int64_t shape[2] = {n, n + 3};
        const pithp_value twice = wider(&b, PITH_F64, 2, shape),
                          column = flattened(&b, PITH_F64, 2, shape, 2, 0);
        const pithp_value part = every_second(&b, twice, 2, shape);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_ADD, 2, part, column));
        expect_same(&b, "grown");
    }
    const pithp_compile_counts counts = pithp_compile_counted(b.rt);
    cr_assert(counts.compiled == 1 && counts.in_memory == 1, "%lld",
              (long long)counts.compiled);
    free_memory();
    end(&b);
}
