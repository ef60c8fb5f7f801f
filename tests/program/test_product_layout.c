/* Layout of products: what is transposed after or before a product is multiplied in
 * another order instead, with the same bits. */
#include "graph_test.h"
#include "scope_test.h"

static pithp_value matrix(pithp_program *p, int64_t rows, int64_t columns) {
    return pithp_program_input(
        s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){rows, columns}));
}

/* Contracts these dimensions of two matrices. */
static pithp_value dot(pithp_program *p, pithp_value x, int a, pithp_value y, int b) {
    const pithp_dot_params params = {.contracts = 1,
                                     .contract = {{(int8_t)a}, {(int8_t)b}}};
    return graph_op(s, p, PITHP_OP_DOT_GENERAL, x, y, &params);
}
static pithp_value swap(pithp_program *p, pithp_value x) {
    return graph_op(s, p, PITHP_OP_TRANSPOSE, x, -1,
                    &(pithp_transpose_params){.permutation = {1, 0}});
}

static int count(const pithp_program *p, pithp_primitive op) {
    int found = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        found += p->instructions[k].primitive == op;
        for (int b = 0; b < p->instructions[k].program_count; b++)
            found += count(p->instructions[k].programs[b], op);
    }
    return found;
}

/* Transpositions and products after the passes; releases the program. */
static void expect(pithp_program *p, int transpositions, int products) {
    pt_ok(s);
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    pt_ok(s, better);
    pithp_refusal why;
    cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
    cr_expect(count(better, PITHP_OP_TRANSPOSE) == transpositions &&
                  count(better, PITHP_OP_DOT_GENERAL) == products,
              "%s", graph_text(better));
    pithp_program_release(better);
    pithp_program_release(p);
}

/* ---- Which ---- */

Test(product_layout, a_transposed_product_has_its_operands_exchanged) {
    open_scope();
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = matrix(p, 20, 6), y = matrix(p, 30, 20);
    pithp_program_output(s, p, swap(p, dot(p, x, 0, y, 1)));
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    pt_ok(s, better);
    expect_text(graph_text(better),
                "program(%0: f64[20,6], %1: f64[30,20]) {\n"
                "  %2 = dot_general %1, %0 {contracts=1, batches=0, contract[0]=[1], "
                "contract[1]=[0], batch[0]=[], batch[1]=[]} : f64[30,6]\n"
                "  return %2\n"
                "}\n");
    pithp_program_release(better);
    pithp_program_release(p);
    close_scope();
}

Test(product_layout, a_product_that_is_read_again_stays) {
    open_scope();
    pithp_program *p = pithp_program_make(s);
    const pithp_value y = dot(p, matrix(p, 20, 6), 0, matrix(p, 30, 20), 1);
    pithp_program_output(s, p, swap(p, y));
    pithp_program_output(s, p, y);
    expect(p, 1, 1);
    close_scope();
}

/* The exchanged product would pack 100 by 20 elements; the transposition moves 100 by 2.
 */
Test(product_layout, a_product_stays_whose_exchange_moves_more) {
    open_scope();
    pithp_program *p = pithp_program_make(s);
    pithp_program_output(s, p,
                         swap(p, dot(p, matrix(p, 100, 20), 1, matrix(p, 20, 2), 0)));
    expect(p, 1, 1);
    close_scope();
}

Test(product_layout, a_product_by_a_vector_stays) {
    open_scope();
    pithp_program *p = pithp_program_make(s);
    pithp_program_output(s, p,
                         swap(p, dot(p, matrix(p, 20, 1), 0, matrix(p, 30, 20), 1)));
    expect(p, 1, 1);
    close_scope();
}

Test(product_layout, a_literal_is_transposed_once) {
    static const double values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    open_scope();
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = matrix(p, 20, 4),
                      y = pithp_program_literal(
                          s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){3, 4}),
                          values);
    pithp_program_output(s, p, dot(p, x, 1, y, 1));
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    pt_ok(s, better);
    expect_text(graph_text(better),
                "program(%0: f64[20,4]) {\n"
                "  %1 = constant f64[4,3] 1, 5, 9, 2, ...\n"
                "  %2 = dot_general %0, %1 {contracts=1, batches=0, contract[0]=[1], "
                "contract[1]=[0], batch[0]=[], batch[1]=[]} : f64[20,3]\n"
                "  return %2\n"
                "}\n");
    pithp_program_release(better);
    pithp_program_release(p);
    close_scope();
}

/* ---- Bits ---- */

static uint64_t seed = 11;
static int64_t draw(int64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

/* Extents of one role, one for each pair, and where they are in each operand. */
typedef struct roles {
    int batches, contracts, free[2];
    int64_t shape[2][8];
    pithp_dot_params params;
} roles;

/* Dimensions in a random order. */
static roles random_roles(void) {
    roles r = {.batches = (int)draw(2), .contracts = 1 + (int)draw(2)};
    int64_t shared[4];
    for (int k = 0; k < r.batches + r.contracts; k++)
        shared[k] = 1 + draw(9);
    r.params.batches = r.batches;
    r.params.contracts = r.contracts;
    for (int side = 0; side < 2; side++) {
        r.free[side] = 1 + (int)draw(2);
        const int rank = r.batches + r.contracts + r.free[side];
        int order[8];
        for (int k = 0; k < rank; k++) {
            const int at = (int)draw(k + 1);
            order[k] = order[at];
            order[at] = k;
        }
        for (int k = 0; k < rank; k++) {
            const bool is_shared = k < r.batches + r.contracts;
            r.shape[side][order[k]] =
                is_shared ? shared[k] : 1 + draw(r.free[side] > 1 ? 7 : 40);
            if (k < r.batches)
                r.params.batch[side][k] = (int8_t)order[k];
            else if (is_shared)
                r.params.contract[side][k - r.batches] = (int8_t)order[k];
        }
    }
    return r;
}

/* The transposed product of two inputs, or of one and a literal. */
static pithp_program *
transposed_product(const roles *r, pith_dtype dtype, const void *literal) {
    pithp_program *p = pithp_program_make(s);
    pithp_value in[2];
    for (int side = 0; side < 2; side++) {
        const pith_spec *spec = pithp_spec(
            s, dtype, r->batches + r->contracts + r->free[side], r->shape[side]);
        in[side] = side && literal ? pithp_program_literal(s, p, spec, literal)
                                   : pithp_program_input(s, p, spec);
    }
    pithp_transpose_params turn = {{0}};
    int next = 0;
    for (int k = 0; k < r->batches; k++)
        turn.permutation[next++] = k;
    for (int k = 0; k < r->free[1]; k++)
        turn.permutation[next++] = r->batches + r->free[0] + k;
    for (int k = 0; k < r->free[0]; k++)
        turn.permutation[next++] = r->batches + k;
    const pithp_value y = graph_op(s, p, PITHP_OP_DOT_GENERAL, in[0], in[1], &r->params);
    pithp_program_output(s, p,
                         literal ? y : graph_op(s, p, PITHP_OP_TRANSPOSE, y, -1, &turn));
    pt_ok(s);
    return p;
}

static void fill(pith_dtype dtype, char *to, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        const double x =
            dtype == PITH_BOOL ? (double)draw(2) : (double)draw(2001) / 16 - 60;
        pithp_dtype_encode(dtype, x, to + (size_t)k * pith_dtype_size(dtype));
    }
}

enum { MOST = 1 << 19 };

Test(product_layout, bits_are_those_without_it) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_I32,
                                        PITH_BOOL};
    static _Alignas(64) char x[MOST], y[MOST], want[MOST], got[MOST];
    int changed[2] = {0};
    open_scope();
    for (int k = 0; k < 600; k++) {
        const pith_dtype dtype = dtypes[k % 5];
        const roles r = random_roles();
        const bool literal = k % 3 == 0;
        pithp_program *p = transposed_product(&r, dtype, literal ? y : NULL);
        const pith_spec *spec = pithp_value_spec(p, p->outputs[0]);
        cr_assert(spec->bytes <= MOST);
        fill(dtype, x, pithp_value_spec(p, p->inputs[0])->count);
        fill(dtype, y, MOST / 8);
        pithp_program_release(p);
        p = transposed_product(&r, dtype, literal ? y : NULL);
        pithp_program *q = pithp_program_optimise(s, p, PITHP_PASS_LAYOUT);
        pt_ok(s, q);
        changed[literal] += !pithp_program_equal(p, q);
        pithp_program_release(q);
        graph_run(s, p, -1, (const void *[]){x, y}, (void *[]){want});
        graph_run(s, p, PITHP_PASS_RUN, (const void *[]){x, y}, (void *[]){got});
        pithp_program_release(p);
        cr_expect(!memcmp(want, got, spec->bytes), "product %d", k);
    }
    cr_expect(changed[0] > 50 && changed[1] > 5, "only %d and %d are changed", changed[0],
              changed[1]);
    close_scope();
}
