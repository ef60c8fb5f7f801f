/* Products through the public interface: Einstein sums against sums written out, what is
 * refused and how, and independence of threads. */
#include "pith_test.h"

#include <pith/array.h>

/* ---- Random Einstein sums ---- */

static uint64_t seed = 3;
static int64_t draw(int64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)below);
}

enum { LETTERS = 6, MOST = 4 };

typedef struct sums {
    int count, rank[MOST + 1]; /* of operands, then of the result */
    int letters[MOST + 1][4];
    int64_t extent[LETTERS];
    int64_t *data[MOST];
} sums;

static int64_t at_of(const sums *e, int k, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < e->rank[k]; d++)
        at = at * e->extent[e->letters[k][d]] + index[e->letters[k][d]];
    return at;
}

static void write_out(const sums *e, int64_t *result) {
    int64_t index[LETTERS] = {0};
    bool used[LETTERS] = {false};
    for (int k = 0; k < e->count; k++)
        for (int d = 0; d < e->rank[k]; d++)
            used[e->letters[k][d]] = true;
    for (;;) {
        uint64_t term = 1;
        for (int k = 0; k < e->count; k++)
            term *= (uint64_t)e->data[k][at_of(e, k, index)];
        int64_t *to = &result[at_of(e, e->count, index)];
        *to = (int64_t)((uint64_t)*to + term);
        int letter = LETTERS - 1;
        for (; letter >= 0; letter--) {
            if (used[letter] && ++index[letter] < e->extent[letter])
                break;
            index[letter] = 0;
        }
        if (letter < 0)
            return;
    }
}

static void draw_sums(sums *e, char *text) {
    bool seen[LETTERS] = {false};
    e->count = 1 + (int)draw(MOST);
    for (int i = 0; i < LETTERS; i++)
        e->extent[i] = 1 + draw(4);
    for (int k = 0; k <= e->count; k++) {
        e->rank[k] = (int)draw(5);
        if (k == e->count)
            memcpy(text, "->", 2), text += 2;
        else if (k > 0)
            *text++ = ',';
        int rank = 0;
        for (int d = 0; d < e->rank[k]; d++) {
            const int letter = (int)draw(LETTERS);
            if (k == e->count) { /* of the result: once, and known */
                if (!seen[letter])
                    continue;
                seen[letter] = false;
            }
            e->letters[k][rank++] = letter;
            *text++ = (char)('a' + letter);
        }
        e->rank[k] = rank;
        for (int d = 0; k < e->count && d < rank; d++)
            seen[e->letters[k][d]] = true;
    }
    *text = 0;
}

static int64_t shape_of(const sums *e, int k, pith_shape *shape) {
    int64_t count = 1;
    shape->rank = e->rank[k];
    for (int d = 0; d < e->rank[k]; d++)
        count *= shape->extents[d] = e->extent[e->letters[k][d]];
    return count;
}

Test(product, einsum_is_the_sum_written_out) {
    pith_runtime *rt = pt_open();
    for (int turn = 0; turn < 600; turn++) {
        pith_scope *s = pith_scope_open(rt);
        sums e;
        char text[64];
        const pith_array *x[MOST];
        pith_shape shape;
        draw_sums(&e, text);
        for (int k = 0; k < e.count; k++) {
            const int64_t n = shape_of(&e, k, &shape);
            e.data[k] = malloc((size_t)n * sizeof(int64_t));
            for (int64_t i = 0; i < n; i++)
                e.data[k][i] = draw(19) - 9;
            x[k] = pith_array_copy(s, PITH_I64, shape, e.data[k]);
        }
        const int64_t n = shape_of(&e, e.count, &shape);
        int64_t *want = calloc((size_t)n, sizeof *want), *got = calloc((size_t)n, 8);
        write_out(&e, want);
        const pith_array *result = pith_einsum(s, text, e.count, x);
        pt_ok(s, pith_read(s, result, got, (size_t)n * 8));
        cr_assert(memcmp(want, got, (size_t)n * 8) == 0, "%s", text);
        for (int k = 0; k < e.count; k++)
            free(e.data[k]);
        free(want), free(got);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* ---- Dtypes ---- */

Test(product, promotes_and_knows_bool) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_ones(s, PITH_F32, PITH_SHAPE(2, 3)),
                     *y = pith_ones(s, PITH_F64, PITH_SHAPE(3)),
                     *half = pith_full(s, PITH_F16, PITH_SHAPE(1, 3000), 1),
                     *is = pith_ones(s, PITH_BOOL, PITH_SHAPE(2, 300));
    pt_ok(s, pith_array_spec(pith_matmul(s, x, y))->dtype == PITH_F64);
    pt_ok(s, pith_read_f64(s, pith_cast(s, pith_inner(s, half, half), PITH_F64)) == 3000);
    const pith_array *any = pith_einsum(s, "ij,ij->", 2, (const pith_array *[]){is, is});
    pt_ok(s, pith_array_spec(any)->dtype == PITH_BOOL && pith_read_bool(s, any));
    pt_fails(PITH_E_DTYPE, s,
             pith_matmul(s, half, pith_zeros(s, PITH_BF16, PITH_SHAPE(3000))));
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Refusals name what is wrong ---- */

#define says(code, s, expression, ...)                                                   \
    do {                                                                                 \
        static const char *const parts_[] = {__VA_ARGS__};                               \
        pt_fails(code, s, expression);                                                   \
        for (size_t i_ = 0; i_ < sizeof parts_ / sizeof *parts_; i_++)                   \
            cr_assert(strstr(pt_error.message, parts_[i_]), "%s", pt_error.message);     \
    } while (0)

Test(product, refuses_with_names_and_numbers) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_ones(s, PITH_F64, PITH_SHAPE(2, 3)),
                     *b = pith_ones(s, PITH_F64, PITH_SHAPE(4, 5)),
                     *batch = pith_ones(s, PITH_F64, PITH_SHAPE(2, 2, 3)),
                     *other = pith_ones(s, PITH_F64, PITH_SHAPE(3, 3, 2)),
                     *pair[] = {a, b}, *twice[] = {a, a};
    const pith_array *one = pith_f64(s, 1);
    says(PITH_E_SHAPE, s, pith_matmul(s, a, b), "f64[2,3]", "f64[4,5]", "3", "4");
    says(PITH_E_SHAPE, s, pith_matmul(s, one, b), "rank");
    says(PITH_E_SHAPE, s, pith_matmul(s, batch, other), "leading axes");
    says(PITH_E_SHAPE, s, pith_tensordot(s, a, b, 1), "f64[2,3]", "3 and 4 differ");
    says(PITH_E_SHAPE, s, pith_tensordot(s, a, b, 3), "3 axes");
    says(PITH_E_SHAPE, s, pith_tensordot_axes(s, a, b, PITH_AXES(2), PITH_AXES(0)),
         "axis 2");
    says(PITH_E_ARG, s, pith_tensordot_axes(s, a, a, PITH_AXES(0, 0), PITH_AXES(0, 1)),
         "named twice");
    says(PITH_E_ARG, s, pith_tensordot_axes(s, a, a, PITH_AXES(0), PITH_AXES(0, 1)),
         "1 and 2");
    says(PITH_E_SHAPE, s,
         pith_dot_general(
             s, a, b, &(pith_dot_general_options){.batch = {PITH_AXES(0), PITH_AXES(0)}}),
         "batch axes 0 of a and 0 of b", "2 and 4");
    says(PITH_E_SHAPE, s, pith_einsum(s, "ij,jk->ik", 2, pair), "operand 2", "f64[4,5]",
         "extent 3 of j", "operand 1", "got 4");
    says(PITH_E_SHAPE, s, pith_einsum(s, "ijk,jk", 2, pair), "operand 1", "f64[2,3]");
    says(PITH_E_SHAPE, s, pith_einsum(s, "ijk...,jk", 2, pair), "operand 1");
    says(PITH_E_ARG, s, pith_einsum(s, "ij,ik->iq", 2, twice), "q of the result");
    says(PITH_E_ARG, s, pith_einsum(s, "ij,kl->ii", 2, pair), "i of the result");
    says(PITH_E_ARG, s, pith_einsum(s, "ij,kl->im", 2, pair), "m of the result");
    says(PITH_E_ARG, s, pith_einsum(s, "ij,kl,m->im", 2, pair),
         "does not have 2 operands");
    says(PITH_E_ARG, s, pith_einsum(s, "i1->i", 1, pair), "'1'", "position 2");
    says(PITH_E_ARG, s, pith_einsum(s, "...j->j", 1, pair), "lacks ...");
    says(PITH_E_ARG, s, pith_einsum(s, "ij->i->j", 1, pair), "one ->");
    says(PITH_E_ARG, s, pith_einsum(s, NULL, 1, pair), "NULL");
    says(PITH_E_ARG, s, pith_einsum(s, "ij->i", 0, pair), "operands");
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Threads ---- */

Test(product, does_not_depend_on_threads) {
    enum { M = 150, K = 700, N = 190 };
    static double x[M * K], y[K * N], first[M * N], z[M * N];
    for (int i = 0; i < M * K; i++)
        x[i] = ldexp((double)draw(1 << 30), -29) - 1;
    for (int i = 0; i < K * N; i++)
        y[i] = ldexp((double)draw(1 << 30), -29) - 1;
    for (int threads = 1; threads <= 5; threads++) {
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = threads});
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(M, K), x),
                         *b = pith_array_copy(s, PITH_F64, PITH_SHAPE(K, N), y);
        pt_ok(s, pith_read(s, pith_matmul(s, a, b), threads > 1 ? z : first, sizeof z));
        cr_assert(threads == 1 || memcmp(first, z, sizeof z) == 0, "%d threads", threads);
        pith_scope_close(s);
        pith_close(rt);
    }
}
