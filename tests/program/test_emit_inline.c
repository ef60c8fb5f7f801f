/* Bodies of compiled loops give the bits of interpreted ones: each kind of step that is
 * laid out in them, over dtypes, extents and special values. */
#include "emit_body.h"
#include "op_list.h"
#include "series.h"

/* ---- Reductions ---- */

/* All that a dtype has, in one program. */
static void every_reduction(pith_dtype dtype) {
    static const int64_t shapes[][3] = {{2, 3, 1},   {3, 7, 2}, {1, 64, 1},
                                        {2, 130, 1}, {0, 2, 3}, {2, 0, 3}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    bench b = begin();
    body y = body_of(&b);
    pithp_value x[SHAPES], outputs[24 * SHAPES];
    void *data = values(&b, dtype, 1000, 5 + (uint64_t)dtype);
    int count = 0;
    for (int k = 0; k < SHAPES; k++)
        x[k] = body_input(&y, dtype, 3, shapes[k], data);
    body_begin(&y);
    for (int k = 0; k < SHAPES; k++)
        for (OPS_WITH(p, PITHP_TRAIT_REDUCTION)) {
            const bool arithmetic = p == PITHP_OP_SUM || p == PITHP_OP_PROD;
            const bool chooses = p == PITHP_OP_MIN_OF || p == PITHP_OP_MAX_OF;
            if ((arithmetic && dtype == PITH_BOOL) || (chooses && k >= SHAPES - 2))
                continue;
            /* the middle one, and all of what there is little */
            for (uint32_t axes = 2; axes < (k < 2 ? 8 : 3); axes += 5)
                outputs[count++] = body_op(&y, (pithp_primitive)p, 1, &x[k],
                                           &(pithp_reduce_params){axes});
        }
    body_end(&y, count, outputs);
    free(data);
    end(&b);
}

/* Zeros of both signs and nans that can be told apart, among which the order of the
 * reduction chooses, and numbers. */
static void fill_extremes(pith_dtype dtype, int64_t rows, int64_t length, void *to) {
    for (int64_t i = 0; i < rows * length; i++) {
        const int64_t row = i / length, j = i % length;
        const bool odd = (j * 7 + row) % 3 == 1;
        const uint64_t nan = 0x7FF8000000000000 | (uint64_t)(j + 1) << 32;
        double x = odd ? -0.0 : 0.0;
        if (odd && (row == 2 || row == 3))
            x = (row == 2 ? -1.5 : 1.5) * (double)(j % 11);
        if (row >= 4 && j % (row == 4 ? 5 : 64) == 3)
            memcpy(&x, &nan, sizeof x);
        if (dtype == PITH_F64)
            ((double *)to)[i] = x;
        else
            ((float *)to)[i] = (float)x;
    }
}

static void extremes(pith_dtype dtype) {
    enum { ROWS = 6, LENGTHS = 10 };
    static const int64_t lengths[LENGTHS] = {1, 2, 3, 8, 31, 63, 64, 65, 130, 600};
    static double data[LENGTHS][ROWS * 600];
    bench b = begin();
    body y = body_of(&b);
    pithp_value x[LENGTHS], outputs[2 * LENGTHS];
    for (int k = 0; k < LENGTHS; k++) {
        fill_extremes(dtype, ROWS, lengths[k], data[k]);
        x[k] = body_input(&y, dtype, 2, (const int64_t[]){ROWS, lengths[k]}, data[k]);
    }
    body_begin(&y);
    for (int k = 0; k < 2 * LENGTHS; k++)
        outputs[k] = body_op(&y, k % 2 ? PITHP_OP_MAX_OF : PITHP_OP_MIN_OF, 1, &x[k / 2],
                             &(pithp_reduce_params){2});
    body_end(&y, 2 * LENGTHS, outputs);
    end(&b);
}

Test(emit_inline, the_least_and_the_greatest_are_those_of_the_order, .timeout = 300) {
    use_cache();
    extremes(PITH_F64);
    extremes(PITH_F32);
}

/* Rows of which one element at most differs from the others: at each place, and none. */
static void truth(pith_dtype dtype) {
    enum { LENGTHS = 5, COUNT = 2 * LENGTHS, LONGEST = 63 };
    static const int64_t lengths[LENGTHS] = {1, 7, 8, 40, LONGEST};
    static const uint8_t true_bytes[] = {0x80, 0x01, 0xFF, 0x7F};
    static uint8_t data[COUNT][(LONGEST + 1) * LONGEST];
    bench b = begin();
    body y = body_of(&b);
    pithp_value outputs[COUNT], x[COUNT];
    for (int k = 0; k < COUNT; k++) {
        const int64_t n = lengths[k / 2];
        for (int64_t i = 0; i < (n + 1) * n; i++) {
            const bool differs = i / n == i % n;
            const uint8_t one = dtype == PITH_BOOL ? 1 : true_bytes[i % 4];
            /* any of zeros, all of others */
            data[k][i] = differs == (k % 2 == 0) ? one : 0;
        }
        x[k] = body_input(&y, dtype, 2, (const int64_t[]){n + 1, n}, data[k]);
    }
    body_begin(&y);
    for (int k = 0; k < COUNT; k++)
        outputs[k] = body_op(&y, k % 2 ? PITHP_OP_ALL : PITHP_OP_ANY, 1, &x[k],
                             &(pithp_reduce_params){2});
    body_end(&y, COUNT, outputs);
    end(&b);
}

Test(emit_inline, a_single_byte_decides, .timeout = 300) {
    use_cache();
    truth(PITH_BOOL);
    truth(PITH_U8);
    truth(PITH_I8);
}

Test(emit_inline, reductions_keep_their_order, .timeout = 300) {
    use_cache();
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        every_reduction((pith_dtype)d);
}

/* ---- Products ---- */

/* [2, m, terms] by [2, terms, n], each with its last two axes one way or the other, and
 * of vectors. */
static void every_product(pith_dtype dtype, int64_t m, int64_t n, int64_t terms) {
    bench b = begin();
    body y = body_of(&b);
    void *left = values(&b, dtype, 2 * m * terms, 3 + (uint64_t)terms),
         *right = values(&b, dtype, 2 * n * terms, 4 + (uint64_t)terms);
    const int64_t shapes[5][3] = {
        {2, m, terms}, {2, terms, m}, {2, terms, n}, {2, n, terms}, {terms}};
    pithp_value x[5], outputs[12];
    int count = 0;
    for (int k = 0; k < 5; k++)
        x[k] = body_input(&y, dtype, k < 4 ? 3 : 1, shapes[k], k < 2 ? left : right);
    body_begin(&y);
    for (int way = 0; way < 4; way++) {
        const pithp_value both[] = {x[way & 1], x[2 + way / 2]};
        const pithp_dot_params batched = {
            1, 1, {{way & 1 ? 1 : 2}, {way / 2 ? 2 : 1}}, {{0}, {0}}};
        outputs[count++] = body_op(&y, PITHP_OP_DOT_GENERAL, 2, both, &batched);
        const pithp_dot_params vector = {
            1, 0, {{way == 1 || way == 2 ? 1 : 2}, {0}}, {{0}}};
        outputs[count++] =
            body_op(&y, PITHP_OP_DOT_GENERAL, 2, (pithp_value[]){x[way], x[4]}, &vector);
    }
    const pithp_dot_params one = {1, 0, {{0}, {0}}, {{0}}};
    outputs[count++] =
        body_op(&y, PITHP_OP_DOT_GENERAL, 2, (pithp_value[]){x[4], x[4]}, &one);
    body_end(&y, count, outputs);
    free(left);
    free(right);
    end(&b);
}

Test(emit_inline, products_keep_their_order, .timeout = 300) {
    static const int64_t sizes[][3] = {{1, 1, 1},   {3, 3, 3},   {2, 7, 4},  {5, 1, 16},
                                       {1, 6, 17},  {4, 4, 33},  {3, 5, 64}, {1, 2, 65},
                                       {2, 2, 256}, {2, 3, 257}, {30, 1, 4}, {29, 1, 5},
                                       {29, 1, 16}, {30, 1, 33}, {29, 1, 64}};
    use_cache();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t d = 0; d < 2; d++)
            if (pt_share() == 1 || (k + d) % 2) /* a share: each of one dtype */
                every_product(d ? PITH_F32 : PITH_F64, sizes[k][0], sizes[k][1],
                              sizes[k][2]);
}

/* ---- Indices ---- */

static const pithp_index_mode modes[] = {PITHP_INDEX_DROP, PITHP_INDEX_CLIP,
                                         PITHP_INDEX_WRAP, PITHP_INDEX_PROMISE};

/* Indices in and out of range; from the end, where the dtype has negative numbers. */
static void *indices(pith_dtype dtype, int64_t n) {
    static const int64_t list[] = {0, 3, 1, 1, -1, 4, 5, -5, -6, 100, -100, 2, 0, 3};
    char *data = malloc((size_t)n * 8 + 64);
    for (int64_t k = 0; k < n; k++)
        memcpy(data + k * (int64_t)pith_dtype_size(dtype), &list[k % 14],
               pith_dtype_size(dtype));
    return data;
}

static void every_mode(pith_dtype index_dtype, pith_dtype dtype) {
    const int64_t shape[3] = {2, 5, 3}, places = 14, taken[3] = {2, 14, 3},
                  no[2] = {0, 3};
    bench b = begin();
    body y = body_of(&b);
    void *data = values(&b, dtype, 30, 11), *news = values(&b, dtype, 84, 12),
         *at = indices(index_dtype, places);
    const pithp_value x = body_input(&y, dtype, 3, shape, data);
    const pithp_value index = body_input(&y, index_dtype, 1, &places, at);
    const pithp_value update = body_input(&y, dtype, 3, taken, news);
    const pithp_value nothing = body_input(&y, dtype, 2, no, data);
    const pithp_value flat = body_input(&y, dtype, 1, &shape[1], data);
    pithp_value outputs[96];
    int count = 0;
    body_begin(&y);
    for (int m = 0; m < 8; m++) {
        pithp_index_params params = {
            .axis = 1, .mode = modes[m / 2], .no_negative = m % 2, .fill = 0x7};
        outputs[count++] =
            body_op(&y, PITHP_OP_TAKE, 2, (pithp_value[]){x, index}, &params);
        params.axis = 0; /* elements, by vectors */
        outputs[count++] =
            body_op(&y, PITHP_OP_TAKE, 2, (pithp_value[]){flat, index}, &params);
        params.axis = 1;
        for (OPS_WITH(p, PITHP_TRAIT_SCATTER)) {
            const bool adds = p == PITHP_OP_SCATTER_ADD || p == PITHP_OP_SCATTER_MUL;
            if ((adds && dtype == PITH_BOOL) ||
                ((p == PITHP_OP_SCATTER_AND || p == PITHP_OP_SCATTER_OR) &&
                 pith_dtype_is_float(dtype)))
                continue;
            params.fill = 0;
            outputs[count++] = body_op(&y, (pithp_primitive)p, 3,
                                       (pithp_value[]){x, index, update}, &params);
        }
    }
    /* two arrays; none to take from */
    const pithp_index_params both = {.axis = 0, .mode = PITHP_INDEX_CLIP},
                             first = {.axis = 0, .mode = PITHP_INDEX_DROP};
    outputs[count++] =
        body_op(&y, PITHP_OP_TAKE, 3, (pithp_value[]){x, index, index}, &both);
    outputs[count++] =
        body_op(&y, PITHP_OP_TAKE, 2, (pithp_value[]){nothing, index}, &first);
    body_end(&y, count, outputs);
    free(data), free(news), free(at);
    end(&b);
}

Test(emit_inline, indices_lead_where_they_do, .timeout = 300) {
    use_cache();
    static const pith_dtype index[] = {PITH_I8, PITH_I16, PITH_I32, PITH_I64,
                                       PITH_U8, PITH_U16, PITH_U32, PITH_U64};
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        every_mode(index[d % 8], (pith_dtype)d);
}

Test(emit_inline, boxes_fit_where_they_do, .timeout = 100) {
    static const int64_t shape[2] = {5, 4}, box[2] = {2, 3}, two = 2;
    static const int64_t starts[][2] = {{0, 0}, {1, 1}, {-1, -1}, {-9, 9}, {3, -3}};
    use_cache();
    for (int d = PITH_I8; d <= PITH_U64; d++) {
        bench b = begin();
        body y = body_of(&b);
        void *data = values(&b, PITH_F32, 20, 3), *news = values(&b, PITH_F32, 6, 4);
        char at[5][16];
        pithp_value outputs[16];
        int count = 0;
        const pithp_value x = body_input(&y, PITH_F32, 2, shape, data);
        const pithp_value update = body_input(&y, PITH_F32, 2, box, news);
        const size_t size = pith_dtype_size((pith_dtype)d);
        pithp_value from[5];
        for (int k = 0; k < 5; k++) {
            memcpy(at[k], &starts[k][0], size);
            memcpy(at[k] + size, &starts[k][1], size);
            from[k] = body_input(&y, (pith_dtype)d, 1, &two, at[k]);
        }
        body_begin(&y);
        for (int k = 0; k < 5; k++) {
            const pithp_dynamic_params params = {{2, 3}};
            outputs[count++] = body_op(&y, PITHP_OP_DYNAMIC_SLICE, 2,
                                       (pithp_value[]){x, from[k]}, &params);
            outputs[count++] = body_op(&y, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                                       (pithp_value[]){x, update, from[k]}, NULL);
        }
        body_end(&y, count, outputs);
        free(data), free(news);
        end(&b);
    }
}

/* ---- Moves ---- */

Test(emit_inline, moves_and_broadcasts_are_laid_out, .timeout = 100) {
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I16, PITH_BF16, PITH_F32,
                                        PITH_F64};
    const int64_t shape[3] = {4, 1, 3}, row[1] = {3}, wide[3] = {4, 5, 3};
    use_cache();
    for (int k = 0; k < 5; k++) {
        bench b = begin();
        body y = body_of(&b);
        void *data = values(&b, dtypes[k], 60, 8);
        const pithp_value x = body_input(&y, dtypes[k], 3, shape, data);
        const pithp_value r = body_input(&y, dtypes[k], 1, row, data);
        const pithp_value w = body_input(&y, dtypes[k], 3, wide, data);
        pithp_value outputs[16];
        int count = 0;
        body_begin(&y);
        const pithp_value whole =
            body_op(&y, PITHP_OP_BROADCAST, 1, &x,
                    &(pithp_broadcast_params){3, {4, 5, 3}, {0, 1, 2}});
        outputs[count++] = whole;
        outputs[count++] =
            body_op(&y, PITHP_OP_TRANSPOSE, 1, &w, &(pithp_transpose_params){{2, 0, 1}});
        outputs[count++] =
            body_op(&y, PITHP_OP_REVERSE, 1, &w, &(pithp_reverse_params){5});
        outputs[count++] =
            body_op(&y, PITHP_OP_SLICE, 1, &w,
                    &(pithp_slice_params){{3, 0, 2}, {-1, 5, 0}, {-1, 2, -1}});
        outputs[count++] =
            body_op(&y, PITHP_OP_CONCATENATE, 3, (pithp_value[]){w, whole, w},
                    &(pithp_concatenate_params){1});
        outputs[count++] =
            body_op(&y, PITHP_OP_FULL, 0, NULL,
                    &(pithp_full_params){
                        dtypes[k], 2, {2, 7}, dtypes[k] == PITH_BOOL ? 1 : 0x42});
        outputs[count++] = body_op(&y, PITHP_OP_MAX, 2, (pithp_value[]){x, r}, NULL);
        outputs[count++] = body_op(&y, PITHP_OP_MIN, 2, (pithp_value[]){w, x}, NULL);
        outputs[count++] = body_op(&y, PITHP_OP_EQ, 2, (pithp_value[]){w, r}, NULL);
        body_end(&y, count, outputs);
        free(data);
        end(&b);
    }
}

/* ---- Control flow in loops ---- */

static pithp_value body_control(const body *y,
                                pithp_primitive primitive,
                                const void *params,
                                int count,
                                const pithp_value *operands,
                                int program_count,
                                pithp_program **programs) {
    bench inner = *y->b;
    inner.p = y->p;
    return control(&inner, primitive, params, count, operands, program_count, programs);
}

/* x + x, x x, x itself, or a constant, by kind */
static pithp_program *branch(bench *b, int64_t n, int kind) {
    static const double constant[8] = {1, -0.0, 3};
    pithp_program *p = pithp_program_make(b->s);
    const pithp_value x = input_of(b, p, PITH_F64, n);
    pithp_program_output(
        b->s, p,
        kind == 0   ? op_in(b, p, PITHP_OP_ADD, x, x)
        : kind == 1 ? op_in(b, p, PITHP_OP_MUL, x, x)
        : kind == 2 ? x
                    : pithp_program_literal(
                          b->s, p, pithp_spec(b->s, PITH_F64, n > 0, &n), constant));
    return p;
}

/* The branch of each iteration is its number, beyond the last one too. */
Test(emit_inline, branches_in_loops_are_taken, .timeout = 100) {
    use_cache();
    for (int64_t n = 0; n < 6; n += 5)
        for (int branches = 1; branches <= 4; branches++) {
            bench b = begin();
            body y = body_of(&b);
            void *data = values(&b, PITH_F64, 5, 21);
            pithp_program *programs[4];
            const pithp_value x = body_input(&y, PITH_F64, n > 0, &n, data);
            body_begin(&y);
            for (int k = 0; k < branches; k++)
                programs[k] = branch(&b, n, k);
            const pithp_value chosen =
                body_control(&y, PITHP_OP_COND, NULL, 2, (const pithp_value[]){y.step, x},
                             branches, programs);
            const pithp_value outputs[] = {chosen,
                                           op_in(&b, y.p, PITHP_OP_ADD, chosen, x), x};
            body_end(&y, 3, outputs);
            free(data);
            end(&b);
        }
}

/* Scans and whiles within a scan, whose carries are numbers and arrays, swapped and
 * handed on. */
Test(emit_inline, loops_in_loops_are_laid_out, .timeout = 100) {
    use_cache();
    for (int64_t n = 0; n < 8; n += 7) {
        bench b = begin();
        body y = body_of(&b);
        void *data = values(&b, PITH_F64, 7, 22), *other = values(&b, PITH_F64, 7, 23);
        const pithp_value first = body_input(&y, PITH_F64, n > 0, &n, data);
        const pithp_value second = body_input(&y, PITH_F64, n > 0, &n, other);
        body_begin(&y);
        pithp_program *swap = pithp_program_make(b.s);
        const pithp_value a = input_of(&b, swap, PITH_F64, n),
                          c = input_of(&b, swap, PITH_F64, n);
        pithp_program_output(b.s, swap, c); /* a and c change places, then a sum */
        pithp_program_output(b.s, swap, a);
        pithp_program_output(b.s, swap, op_in(&b, swap, PITHP_OP_SUB, a, c));
        pithp_program_output(b.s, swap, a);
        const pithp_loop_params swaps = {.length = 5, .carries = 2, .reverse = true};
        const pithp_value swapped = body_control(
            &y, PITHP_OP_SCAN, &swaps, 2, (const pithp_value[]){first, second}, 1, &swap);
        /* as long as i is below the step: i + 1, x x, what stays */
        pithp_program *below = pithp_program_make(b.s), *again = pithp_program_make(b.s);
        const pithp_value most = input_of(&b, below, PITH_I64, 0),
                          i = input_of(&b, below, PITH_I64, 0);
        input_of(&b, below, PITH_F64, n);
        input_of(&b, below, PITH_F64, n);
        pithp_program_output(b.s, below, op_in(&b, below, PITHP_OP_LT, i, most));
        const pithp_value unit = input_of(&b, again, PITH_I64, 0),
                          j = input_of(&b, again, PITH_I64, 0),
                          x = input_of(&b, again, PITH_F64, n),
                          stays = input_of(&b, again, PITH_F64, n);
        pithp_program_output(b.s, again, op_in(&b, again, PITHP_OP_ADD, j, unit));
        pithp_program_output(b.s, again, op_in(&b, again, PITHP_OP_MUL, x, stays));
        pithp_program_output(b.s, again, stays);
        const int64_t zero = 0, one = 1;
        const pith_spec *number = pithp_spec(b.s, PITH_I64, 0, NULL);
        const pithp_value none = pithp_program_literal(b.s, y.p, number, &zero),
                          some = pithp_program_literal(b.s, y.p, number, &one);
        const pithp_value looped =
            body_control(&y, PITHP_OP_WHILE, &(pithp_while_params){1, 1, 0}, 5,
                         (const pithp_value[]){y.step, some, none, swapped, second}, 2,
                         (pithp_program *[]){below, again});
        const pithp_value outputs[] = {swapped, swapped + 1, swapped + 2, swapped + 3,
                                       looped,  looped + 1,  looped + 2};
        body_end(&y, 7, outputs);
        free(data), free(other);
        end(&b);
    }
}
