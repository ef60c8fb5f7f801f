/* Steps that work row by row run band by band, with the bits of one call after the
 * other: softmaxes, norms and variances, whatever rows they have, and what must not be in
 * a band. Inputs are overwritten only where no row that is still to come needs them. */
#include "band_test.h"

static const struct {
    int rank, axes;
    int64_t shape[3];
} shapes[] = {
    {2, 1, {2, 4096}},   {2, 1, {5000, 3}},   {2, 1, {17, 300}},    {2, 1, {4097, 2}},
    {3, 2, {90, 5, 12}}, {3, 1, {7, 11, 64}}, {3, 1, {300, 1, 16}}, {2, 1, {5, 1025}},
};

/* Softmax, and what comes before and after it. */
static void softmax(pith_dtype dtype, int k, bool outputs) {
    const int rank = shapes[k].rank, axes = shapes[k].axes;
    const int64_t *shape = shapes[k].shape;
    bench b = begin();
    make_memory(&b, dtype);
    const pithp_value v = input(&b, dtype, rank, shape, x);
    const pithp_value most = kept(&b, PITHP_OP_MAX_OF, v, axes, rank, shape);
    const pithp_value apart = op(&b, PITHP_OP_SUB, 2, v, most);
    const pithp_value e = pith_dtype_is_float(dtype) ? op(&b, PITHP_OP_EXP, 1, apart)
                                                     : op(&b, PITHP_OP_NEG, 1, apart);
    const pithp_value sum = kept(&b, PITHP_OP_SUM, e, axes, rank, shape);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_DIV, 2, e, sum));
    if (outputs) {
        pithp_program_output(b.s, b.p, most);
        pithp_program_output(b.s, b.p, e);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_ADD, 2, most, sum));
    }
    expect_same(&b, "softmax");
    free_memory();
    end(&b);
}

Test(fuse_rows, softmaxes_give_the_bits_of_calls, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I64, PITH_F16, PITH_BF16, PITH_F32};
    use_cache();
    for (int k = 0; k < (int)(sizeof shapes / sizeof *shapes); k++)
        for (int outputs = 0; outputs < 2; outputs++)
            softmax(PITH_F64, k, outputs);
    for (int d = 0; d < 5; d++)
        softmax(dtypes[d], 1 + d % 3, d % 2);
}

/* A mean and a variance of each row, normalised: seven steps. */
Test(fuse_rows, rows_are_normalised_in_one_band, .timeout = 100) {
    use_cache();
    bench b = begin();
    make_memory(&b, PITH_F32);
    const int64_t shape[2] = {60, 200};
    const pithp_value v = input(&b, PITH_F32, 2, shape, x),
                      by = input(&b, PITH_F32, 1, &shape[1], y);
    const pithp_value mean = kept(&b, PITHP_OP_SUM, v, 1, 2, shape);
    const pithp_value apart = op(&b, PITHP_OP_SUB, 2, v, mean);
    const pithp_value squares = op(&b, PITHP_OP_MUL, 2, apart, apart);
    const pithp_value variance = kept(&b, PITHP_OP_SUM, squares, 1, 2, shape);
    const pithp_value root = op(&b, PITHP_OP_SQRT, 1, variance);
    const pithp_value normal = op(&b, PITHP_OP_DIV, 2, apart, root);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, normal, by));
    expect_bands(&b, "normalised", 1, 5);
    free_memory();
    end(&b);
}

/* What reads other rows than the one at hand waits for all of them. */
Test(fuse_rows, what_reads_other_rows_is_in_no_band, .timeout = 100) {
    use_cache();
    for (int way = 0; way < 4; way++) {
        bench b = begin();
        make_memory(&b, PITH_F64);
        const int64_t shape[2] = {80, 80};
        const pithp_value v = input(&b, PITH_F64, 2, shape, x);
        const pithp_value most = kept(&b, PITHP_OP_MAX_OF, v, 1, 2, shape);
        const pithp_value apart = op(&b, PITHP_OP_SUB, 2, v, most);
        pithp_program_output(b.s, b.p, apart);
        pithp_value other = most;
        if (way == 0) { /* of a column: the rows' maxima across */
            const pithp_reshape_params across = {2, {1, 80}};
            other =
                pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &most, &across, NULL);
        } else if (way == 1) {
            const pithp_reverse_params turned = {1};
            other =
                pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &apart, &turned, NULL);
        } else if (way == 2) {
            const pithp_reverse_params turned = {1};
            other =
                pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &most, &turned, NULL);
        } else { /* within the row, but not as it lies */
            const pithp_reverse_params turned = {2};
            other =
                pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &apart, &turned, NULL);
        }
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, v, other));
        const bool apart_step = way % 2; /* else one step reads it both ways */
        expect_bands(&b, "other rows", apart_step, apart_step ? 2 : 0);
        free_memory();
        end(&b);
    }
}

/* Two reductions of one operand are a band, of different ones not; and short loops are
 * compiled as a whole. */
Test(fuse_rows, reductions_meet_on_what_they_reduce, .timeout = 100) {
    use_cache();
    for (int way = 0; way < 3; way++) {
        bench b = begin();
        make_memory(&b, PITH_F64);
        const int64_t shape[2] = {way == 2 ? 40 : 80, 80};
        const pithp_value v = input(&b, PITH_F64, 2, shape, x),
                          w = input(&b, PITH_F64, 2, shape, y);
        pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, 2, w, w)); /* compiled */
        pithp_program_output(b.s, b.p, kept(&b, PITHP_OP_MAX_OF, v, 1, 2, shape));
        pithp_program_output(b.s, b.p,
                             kept(&b, PITHP_OP_SUM, way == 1 ? w : v, 1, 2, shape));
        expect_bands(&b, "reductions", way == 0, way == 0 ? 2 : 0);
        free_memory();
        end(&b);
    }
}

/* ---- Inputs that may be overwritten ---- */

/* way 0: the rows are read no more; 1: a later step of the band reads them; 2: a row is
 * read by all of them. */
Test(fuse_rows, inputs_are_overwritten_where_no_row_needs_them, .timeout = 100) {
    static const int64_t expected[] = {0, -1, -1};
    use_cache();
    for (int way = 0; way < 3; way++)
        for (int compiled = 0; compiled < 2; compiled++) {
            bench b = begin();
            make_memory(&b, PITH_F64);
            const int64_t shape[2] = {90, 90}, *column = way == 2 ? &shape[1] : shape;
            const pithp_value a = input(&b, PITH_F64, way == 2 ? 1 : 2, column, x),
                              v = input(&b, PITH_F64, 2, shape, y);
            const pithp_value first = way == 2 ? v : a;
            const pithp_value most = kept(&b, PITHP_OP_MAX_OF, first, 1, 2, shape);
            const pithp_value apart = op(&b, PITHP_OP_SUB, 2, first, most);
            const pithp_value scaled = op(&b, PITHP_OP_MUL, 2, apart, way == 2 ? a : v);
            const pithp_value sum = kept(&b, PITHP_OP_SUM, scaled, 1, 2, shape);
            if (way == 2) { /* [90] of the band, while its rows read a [90] */
                const pithp_reshape_params flat = {1, {90}};
                pithp_program_output(
                    b.s, b.p,
                    pithp_program_add(b.s, b.p, PITHP_OP_RESHAPE, 1, &sum, &flat, NULL));
            } else {
                if (way == 1)
                    pithp_program_output(b.s, b.p, scaled);
                const pithp_value quotient = op(&b, PITHP_OP_DIV, 2, scaled, sum);
                pithp_program_output(b.s, b.p,
                                     way == 1 ? kept(&b, PITHP_OP_MIN_OF,
                                                     op(&b, PITHP_OP_ADD, 2, quotient, a),
                                                     1, 2, shape)
                                              : quotient);
            }
            overwrite(&b, compiled ? "wait" : "off", expected[way]);
            free_memory();
            end(&b);
        }
}

/* A gather reads other rows than those that the band has written. */
Test(fuse_rows, gathered_inputs_are_not_overwritten, .timeout = 100) {
    enum { ROWS = 135, LENGTH = 60 };
    static int32_t index[ROWS];
    const int64_t rows[2] = {ROWS, LENGTH};
    use_cache();
    for (int k = 0; k < ROWS; k++)
        index[k] = ROWS - 1 - k;
    bench b = begin();
    make_memory(&b, PITH_F64);
    const pithp_value a = input(&b, PITH_F64, 2, rows, x),
                      at = input(&b, PITH_I32, 1, rows, index);
    const pithp_index_params params = {.mode = PITHP_INDEX_CLIP};
    const pithp_value got = pithp_program_add(
        b.s, b.p, PITHP_OP_TAKE, 2, (const pithp_value[]){a, at}, &params, NULL);
    pt_ok(b.s, got >= 0);
    const pithp_value twice = op(&b, PITHP_OP_ADD, 2, got, got);
    pithp_program_output(b.s, b.p, twice);
    pithp_program_output(b.s, b.p, kept(&b, PITHP_OP_SUM, twice, 1, 2, rows));
    expect_bands(&b, "gathered", 1, 3);
    overwrite(&b, "off", -1);
    free_memory();
    end(&b);
}

/* ---- Gathers in a band ---- */

/* Sums of the rows of take(v, index) - w and of its squares. way 1: the taken elements
 * are an output, and have memory; 2: another step reads them too; 3: the index is one of
 * another gather. */
static void taken(pith_dtype dtype, pith_dtype index_dtype, int64_t inner, int way) {
    enum { ROWS = 90, LENGTH = 120, FROM = 50 };
    static char index[ROWS * LENGTH * 8];
    bench b = begin();
    make_memory(&b, dtype);
    const int64_t size = (int64_t)pith_dtype_size(index_dtype), each = LENGTH / inner;
    const int64_t shape[3] = {ROWS, each, inner}, from[2] = {FROM, inner};
    for (int64_t k = 0; k < ROWS * each; k++) {
        const int64_t i = (k * 31) % (FROM + 20) - 10; /* some are out of range */
        memcpy(index + k * size, &i, (size_t)size);
    }
    const int rank = inner > 1 ? 3 : 2;
    const pithp_value v = input(&b, dtype, rank - 1, from, x),
                      w = input(&b, dtype, rank, shape, y);
    pithp_value at = input(&b, index_dtype, 2, shape, index);
    const pithp_index_params params = {.mode = PITHP_INDEX_CLIP, .fill = 1};
    if (way == 3) {
        const pithp_value numbers = input(&b, index_dtype, 1, &from[0], index);
        at = pithp_program_add(b.s, b.p, PITHP_OP_TAKE, 2,
                               (const pithp_value[]){numbers, at}, &params, NULL);
    }
    const pithp_value got = pithp_program_add(
        b.s, b.p, PITHP_OP_TAKE, 2, (const pithp_value[]){v, at}, &params, NULL);
    pt_ok(b.s, got >= 0);
    const pithp_value apart = op(&b, PITHP_OP_SUB, 2, got, w);
    const pithp_value squares = op(&b, PITHP_OP_MUL, 2, apart, apart);
    pithp_program_output(b.s, b.p, kept(&b, PITHP_OP_SUM, apart, rank - 1, rank, shape));
    pithp_program_output(b.s, b.p,
                         kept(&b, PITHP_OP_SUM, squares, rank - 1, rank, shape));
    if (way == 1)
        pithp_program_output(b.s, b.p, got);
    if (way == 2) {
        const pithp_reverse_params turned = {1};
        pithp_program_output(
            b.s, b.p,
            pithp_program_add(b.s, b.p, PITHP_OP_REVERSE, 1, &got, &turned, NULL));
    }
    /* the gather, one step of elementwise work and two reductions */
    expect_bands(&b, "taken", 1, way == 1 || way == 2 ? 3 : 4);
    free_memory();
    end(&b);
}

Test(fuse_rows, gathers_are_in_the_band_that_reads_them, .timeout = 300) {
    use_cache();
    for (int way = 0; way < 4; way++)
        taken(PITH_F64, PITH_I32, 1, way);
    taken(PITH_F32, PITH_I64, 1, 0);
    taken(PITH_BF16, PITH_I16, 1, 0);
    taken(PITH_F64, PITH_I64, 3, 0);
    taken(PITH_F32, PITH_U8, 4, 1);
}

/* ---- Longer rows ---- */

/* Distances of pairs [atoms, near, 3], and sums over the pairs of each atom: the rows of
 * the band become those of atoms. The sum of all that stands between is delayed. way 1:
 * what is summed is an output; 2: more follows, one element a row of the band; 3: so does
 * a sum over the pairs of something else. */
static void
pairs(pith_dtype dtype, int64_t atoms, int64_t near, int way, int64_t members) {
    const int64_t shape[3] = {atoms, near, 3};
    bench b = begin();
    make_memory(&b, dtype);
    const pithp_value v = input(&b, dtype, 3, shape, x),
                      w = input(&b, dtype, 3, shape, y);
    const pithp_value apart = op(&b, PITHP_OP_SUB, 2, v, w);
    const pithp_value r2 =
        kept(&b, PITHP_OP_SUM, op(&b, PITHP_OP_MUL, 2, apart, apart), 1, 3, shape);
    const pithp_reduce_params all = {7}, near_of = {2};
    const pithp_value energy = op(&b, PITHP_OP_MAX, 2, r2, r2);
    const pithp_value total =
        pithp_program_add(b.s, b.p, PITHP_OP_SUM, 1, &energy, &all, NULL);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_ADD, 2, total, total));
    const pithp_value force =
        op(&b, PITHP_OP_MUL, 2, op(&b, PITHP_OP_MIN, 2, r2, energy), apart);
    pithp_value sum =
        pithp_program_add(b.s, b.p, PITHP_OP_SUM, 1, &force, &near_of, NULL);
    if (way == 1)
        pithp_program_output(b.s, b.p, force);
    if (way == 2)
        sum = op(&b, PITHP_OP_NEG, 1, sum);
    pithp_program_output(b.s, b.p, sum);
    if (way == 3)
        pithp_program_output(
            b.s, b.p,
            pithp_program_add(b.s, b.p, PITHP_OP_MAX_OF, 1, &apart, &near_of, NULL));
    expect_bands(&b, "pairs", 1, members);
    free_memory();
    end(&b);
}

Test(fuse_rows, sums_over_pairs_lengthen_the_rows, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_I8, PITH_I64, PITH_BF16, PITH_F32, PITH_F64};
    use_cache();
    for (int d = 0; d < 5; d++) {
        pairs(dtypes[d], 70, 80, 0, 5);
        pairs(dtypes[d], 70, 64, d % 2, 5);
        pairs(dtypes[d], 110, 50, 2, 6);
        pairs(dtypes[d], 30, 199, 3, 6);
        pairs(dtypes[d], 3, 1400, 0, 4); /* the row of an atom is too long */
    }
}
