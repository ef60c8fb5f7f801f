/* Lenses are the same in C and in C++. */
#include "languages.h"
#include "pith_test.h"

Test(lens_languages, share_types_and_meaning) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Cell cell = {pith_zeros(s, PITH_F64, PITH_SHAPE(2)), 2};
    const Grid value = {pith_freeze(s, Cell, &cell), 0.5};
    const Grid *grid = pith_freeze(s, Grid, &value);
    pt_ok(s, pith_lens_get(s, grid_x_in_cxx(), grid) == cell.x);
    cr_assert_str_eq(pith_lens_text(s, grid_x_in_cxx()), pith_lens_text(s, grid_x()));
    const Grid *next = set_in_cxx(s, grid, pith_ones(s, PITH_F64, PITH_SHAPE(2)));
    pt_ok(s, pith_is(Grid, next));
    cr_assert(next->spacing == 1 && next->cell->count == 3);
    double x[3];
    pt_ok(s, pith_read(s, next->cell->x, x, sizeof x) && x[1] == 1 && x[2] == 0);
    pith_scope_close(s);
    pt_close(rt);
}
