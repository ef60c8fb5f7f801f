// Lenses made and used in C++20, which also reads this file as CUDA.
#include "languages.h"

const pith_lens *grid_x_in_cxx(void) {
    return grid_x();
}

/* The grid with x and twice the spacing; what goes wrong is in the scope. */
const Grid *set_in_cxx(pith_scope *s, const Grid *grid, const pith_array *x) {
    const pith_lens *spacing = PITH_LENS(Grid, spacing);
    const pith_lens *both =
        pith_lens_merge(s, PITH_LENSES(PITH_LENS(Grid, cell->x), spacing));
    const double twice = 2 * pith_lens_get_f64(s, spacing, grid);
    grid = pith_lens_set(s, both, grid,
                         pith_tuple_make(s, PITH_ITEMS(x, pith_f64(s, twice))));
    const pith_lens_options resize = {.resize = true};
    const int64_t count = pith_lens_get_i64(s, PITH_LENS(Grid, cell->count), grid);
    return static_cast<const Grid *>(pith_lens_set_i64_with(
        s, PITH_LENS(Grid, cell->count), grid, count + 1, &resize));
}

#ifdef __CUDACC__
#    include <cstdio>
#    include <pith/runtime.h>
int main() {
    pith_runtime *rt = pith_open(nullptr);
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {1, 2};
    const Cell cell = {pith_array_copy(s, PITH_F64, PITH_SHAPE(2), x), 2};
    const Grid value = {pith_freeze(s, Cell, &cell), 0.5};
    const Grid *grid = set_in_cxx(s, pith_freeze(s, Grid, &value), cell.x);
    const bool good = !pith_failed(s) && grid->spacing == 1 && grid->cell->count == 3 &&
                      pith_lens_get(s, grid_x(), grid) == grid->cell->x;
    std::printf("%s\n", good ? "lenses work in CUDA" : pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return good ? 0 : 1;
}
#endif
