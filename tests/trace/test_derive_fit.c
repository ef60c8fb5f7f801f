/* Fits by gradient descent, as a new user would write them, and their derivatives. */
#include "derive_test.h"

/* Gradient descent for the line through points, in a loop of a compiled function. */
typedef struct {
    const pith_array *slope, *offset;
} Line;
PITH_NODE(Line, PITH_LEAF(slope, "f64[]"), PITH_LEAF(offset, "f64[]"))
typedef struct {
    const pith_array *x, *y;
} Points;
PITH_NODE(Points, PITH_LEAF(x, "f64[n]"), PITH_LEAF(y, "f64[n]"))

static const pith_array *loss(pith_scope *in, const Line *line, const Points *points) {
    const pith_array *miss =
        pith_expression(in, "a * x + b - y",
                        PITH_BIND({"a", line->slope}, {"b", line->offset},
                                  {"x", points->x}, {"y", points->y}));
    return pith_mean(in, pith_mul(in, miss, miss), PITH_ALL_AXES);
}
PITH_FUNCTION2(loss_of, loss, pith_array, Line, Points)

static const Line *
descend(pith_scope *in, const pith_array *i, const Line *line, const Points *points) {
    const Line *g =
        pith_call(in, pith_grad(in, &loss_of, NULL), PITH_ITEMS(line, points));
    (void)i;
    const pith_array *rate = pith_f64(in, 0.1);
    return pith_record(
        in, Line, .slope = pith_sub(in, line->slope, pith_mul(in, rate, g->slope)),
        .offset = pith_sub(in, line->offset, pith_mul(in, rate, g->offset)));
}
PITH_FUNCTION3(descend_step, descend, Line, pith_array, Line, Points)

static const Line *fit(pith_scope *in, const Line *line, const Points *points) {
    return pith_fori(in, 0, 500, pith_partial(in, &descend_step, points), line);
}
PITH_FUNCTION2(fit_line, fit, Line, Line, Points)

Test(derive_fit, a_line_is_fitted_by_gradient_descent, .init = open_scope) {
    const Points *points = pith_record(s, Points, .x = PITH_VECTOR(s, f64, 0, 1, 2, 3),
                                       .y = PITH_VECTOR(s, f64, -1, 1.5, 4, 6.5));
    const Line *start =
        pith_record(s, Line, .slope = pith_f64(s, 0), .offset = pith_f64(s, 0));
    const Line *line =
        pith_call(s, pith_jit(s, &fit_line, NULL), PITH_ITEMS(start, points));
    pt_ok(s, line);
    cr_assert(fabs(at(line->slope, 0) - 2.5) < 1e-6 &&
              fabs(at(line->offset, 0) + 1) < 1e-6);
    cr_assert(pith_tree_equal(s, line, fit(s, start, points)));
    close_scope();
}

/* The reverse of a loop: the gradient of the end of a fit with respect to its data. */
static const pith_array *end_of_fit(pith_scope *in, const Points *points) {
    const Line *start =
        pith_record(in, Line, .slope = pith_f64(in, 0), .offset = pith_f64(in, 0));
    const Line *line =
        pith_fori(in, 0, 20, pith_partial(in, &descend_step, points), start);
    return line->slope;
}
PITH_FUNCTION1(end_of, end_of_fit, pith_array, Points)

Test(derive_fit, fits_are_derived_by_their_data, .init = open_scope) {
    double y[4] = {-1, 1.5, 4, 6.5};
    const pith_array *x = PITH_VECTOR(s, f64, 0, 1, 2, 3);
    const Points *points = pith_record(
        s, Points, .x = x, .y = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), y));
    const Points *g = pith_call(s, pith_grad(s, &end_of, NULL), PITH_ITEMS(points));
    pt_ok(s, g);
    for (int i = 0; i < 4; i++) {
        double ends[2];
        for (int k = 0; k < 2; k++) {
            y[i] += k ? -2e-3 : 1e-3;
            points = pith_record(s, Points, .x = x,
                                 .y = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), y));
            ends[k] = at(end_of_fit(s, points), 0);
        }
        y[i] += 1e-3;
        close_to(g->y, i, (ends[0] - ends[1]) / 2e-3); /* linear in y */
    }
    close_scope();
}
