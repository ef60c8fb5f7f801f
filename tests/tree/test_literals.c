/* Records, calls and small arrays from literals, without double parentheses. */
#include "literals.h"
#include "pith_test.h"

static const Grid *swap(pith_scope *s, const Grid *a, const Cell *cell) {
    (void)cell;
    return pith_record(s, Grid, .x = a->y, .y = a->x, .n = a->n);
}
PITH_FUNCTION2(swap_grid, swap, Grid, Grid, Cell)

static void literals_in_c(pith_scope *s, const void *made[LITERAL_COUNT]) {
    const Grid *grid = pith_record(s, Grid, .x = PITH_VECTOR(s, f64, 1, 2, 3),
                                   .y = PITH_VECTOR(s, f64, 4, 5, 6), .n = 3);
    const Cell *cell = pith_record(
        s, Cell,
        .grid = pith_record(s, Grid, .x = grid->x, .y = pith_mul(s, grid->x, 2), .n = 3),
        .number = 9);
    const Grid *swapped = pith_apply(s, &swap_grid, grid, cell);
    made[LITERAL_RECORD] = grid;
    made[LITERAL_NESTED] = cell;
    made[LITERAL_APPLIED] = swapped;
    made[LITERAL_SMALL] = pith_gather(
        s, pith_reshape(s, PITH_VECTOR(s, i32, 1, 2, 3, 4, 5, 6), PITH_SHAPE(2, 3)),
        PITH_ENTRIES(PITH_ENTRY_AT(1), PITH_ENTRY_SLICE(0, 2, 1)), NULL);
}

static void expect(pith_scope *s, const pith_array *a, int64_t n, const double *values) {
    double got[8];
    pt_ok(s, a && pith_array_spec(a)->count == n);
    pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), got, (size_t)n * sizeof *got));
    cr_assert(memcmp(got, values, (size_t)n * sizeof *got) == 0);
}

static void check(void (*literals)(pith_scope *, const void *made[LITERAL_COUNT])) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *made[LITERAL_COUNT];
    literals(s, made);
    pt_ok(s);
    const Grid *grid = made[LITERAL_RECORD], *swapped = made[LITERAL_APPLIED];
    const Cell *cell = made[LITERAL_NESTED];
    cr_assert(pith_is(Grid, grid) && grid->n == 3 && cell->number == 9);
    expect(s, grid->x, 3, (double[]){1, 2, 3});
    expect(s, cell->grid->y, 3, (double[]){2, 4, 6});
    cr_assert(swapped->x == grid->y && swapped->y == grid->x);
    cr_assert(pith_array_spec(made[LITERAL_SMALL])->dtype == PITH_I32);
    expect(s, made[LITERAL_SMALL], 2, (double[]){4, 5});
    pith_scope_close(s);
    pt_close(rt);
}

Test(literals, in_c) {
    check(literals_in_c);
}
#ifdef PITH_TEST_CXX
Test(literals, in_cxx) {
    check(literals_in_cxx);
}
#endif

/* Every macro that takes a struct takes a literal with commas. */
Test(literals, need_no_second_parentheses) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = PITH_VECTOR(s, f64, 1, 2, 3), *y = PITH_VECTOR(s, f64, 1, 2, 3);
    const Grid *grid = pith_freeze(s, Grid, &(Grid){.x = x, .y = x, .n = 3});
    const Grid *same = pith_freeze(s, Grid, &(const Grid){x, x, 3});
    pt_ok(s, grid && same);
    const Grid *filled = pith_make(s, Grid, &(Grid){.x = x, .n = 3}, NULL);
    expect(s, filled->y, 3, (double[]){5, 5, 5});
    const Grid *larger = pith_tree_resize(s, Grid, &(Grid){.x = x, .y = y, .n = 4}, NULL);
    expect(s, larger->x, 4, (double[]){1, 2, 3, 7});
    const Grid *smaller = pith_tree_resize(s, Grid, &(Grid){.x = x, .y = y, .n = 1},
                                           &(pith_resize_options){.shrink = true});
    expect(s, smaller->y, 1, (double[]){1});
    const Cell *cell = pith_record(s, Cell, .grid = grid);
    pt_fails(
        PITH_E_SHAPE, s,
        pith_lens_set(s, PITH_LENS(Cell, grid), cell,
                      pith_freeze(s, Grid, &(Grid){.x = x, .y = larger->x, .n = 3})));
    cell = pith_lens_set(s, PITH_LENS(Cell, grid), pith_record(s, Cell, .grid = grid),
                         pith_record(s, Grid, .x = x, .y = grid->x, .n = 3));
    pt_ok(s, cell->grid->x == x);
    /* The initial values and errors are as before. */
    cr_assert(pith_make(s, Grid, NULL, NULL)->n == 2);
    pt_fails(PITH_E_SHAPE, s, pith_record(s, Grid, .x = x, .y = x, .n = 4));
    pt_says("test_literals.c");
    pt_fails(PITH_E_ARG, s,
             pith_make(s, Grid, NULL, PITH_EXTENTS({"n", 5}, {"other", 6})));
    pt_says("test_literals.c");
    pt_fails(PITH_E_SHAPE, s,
             pith_tree_resize(s, Grid, &(Grid){.x = x, .y = y, .n = 1}, NULL));
    pt_says("test_literals.c");
    pith_scope_close(s);
    pt_close(rt);
}

static void expect_vector(pith_scope *s, const pith_array *a, pith_dtype dtype) {
    pt_ok(s, a);
    cr_assert(pith_array_spec(a)->dtype == dtype && pith_array_spec(a)->rank == 1);
    expect(s, a, 2, (double[]){1, 0});
}

Test(literals, vectors_of_every_dtype) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    expect_vector(s, PITH_VECTOR(s, bool, true, false), PITH_BOOL);
    expect_vector(s, PITH_VECTOR(s, i8, 1, 0), PITH_I8);
    expect_vector(s, PITH_VECTOR(s, i16, 1, 0), PITH_I16);
    expect_vector(s, PITH_VECTOR(s, i32, 1, 0), PITH_I32);
    expect_vector(s, PITH_VECTOR(s, i64, 1, 0), PITH_I64);
    expect_vector(s, PITH_VECTOR(s, u8, 1, 0), PITH_U8);
    expect_vector(s, PITH_VECTOR(s, u16, 1, 0), PITH_U16);
    expect_vector(s, PITH_VECTOR(s, u32, 1, 0), PITH_U32);
    expect_vector(s, PITH_VECTOR(s, u64, 1, 0), PITH_U64);
    expect_vector(s, PITH_VECTOR(s, f32, 1, 0), PITH_F32);
    expect_vector(s, PITH_VECTOR(s, f64, 1, 0), PITH_F64);
    const pith_array *many = PITH_VECTOR(s, i64, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    cr_assert(pith_array_spec(many)->count == 12);
    pith_scope_close(s);
    pt_close(rt);
}
