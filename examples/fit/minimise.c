/* A quasi-Newton search over the two parameters. */
#include "fit.h"

#include <math.h>

enum { ROUNDS = 40, HALVINGS = 12 };

typedef struct {
    double x[2], value, slope[2]; /* x: epsilon, sigma */
} Point;

const Potential *potential_of(pith_scope *s, double epsilon, double sigma) {
    return pith_record(s, Potential, .epsilon = pith_f64(s, epsilon),
                       .sigma = pith_f64(s, sigma));
}

static Point
evaluate(pith_scope *s, const pith_function *f, double epsilon, double sigma) {
    Point p = {.x = {epsilon, sigma}, .value = NAN};
    pith_scope *in = pith_scope_open_in(s);
    const pith_tuple *pair = pith_apply(in, f, potential_of(in, epsilon, sigma));
    if (!pith_failed(in)) {
        const Potential *slope = pith_child(pair, 1);
        p.value = pith_read_f64(in, pith_child(pair, 0));
        p.slope[0] = pith_read_f64(in, slope->epsilon);
        p.slope[1] = pith_read_f64(in, slope->sigma);
    }
    pith_scope_close(in);
    return p;
}

/* A point below `from` along a direction: the step is halved until the value falls. */
static Point
descend(pith_scope *s, const pith_function *f, Point from, const double p[2]) {
    double step = 1;
    for (int i = 0; i < HALVINGS; i++, step /= 2) {
        const Point to = evaluate(s, f, from.x[0] + step * p[0], from.x[1] + step * p[1]);
        if (to.value < from.value)
            return to;
    }
    return from;
}

/* Update of the inverse Hessian h by a step and its change of slope. */
static void update(double h[2][2], const Point *a, const Point *b) {
    double d[2], y[2], hy[2], dy = 0, yhy = 0;
    for (int i = 0; i < 2; i++) {
        d[i] = b->x[i] - a->x[i];
        y[i] = b->slope[i] - a->slope[i];
        dy += d[i] * y[i];
    }
    if (dy <= 0) /* the curvature is not positive */
        return;
    for (int i = 0; i < 2; i++) {
        hy[i] = h[i][0] * y[0] + h[i][1] * y[1];
        yhy += y[i] * hy[i];
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            h[i][j] +=
                (1 + yhy / dy) * d[i] * d[j] / dy - (hy[i] * d[j] + d[i] * hy[j]) / dy;
}

const Potential *minimise(pith_scope *s, const pith_function *f, const Potential *start) {
    Point at =
        evaluate(s, f, pith_read_f64(s, start->epsilon), pith_read_f64(s, start->sigma));
    const double first = 0.02 / hypot(at.slope[0], at.slope[1]); /* length of step 1 */
    double h[2][2] = {{first, 0}, {0, first}};
    for (int i = 0; i < ROUNDS; i++) {
        const double p[2] = {-h[0][0] * at.slope[0] - h[0][1] * at.slope[1],
                             -h[1][0] * at.slope[0] - h[1][1] * at.slope[1]};
        const Point next = descend(s, f, at, p);
        if (!(next.value < at.value) || hypot(p[0], p[1]) < 1e-6)
            break;
        update(h, &at, &next);
        at = next;
    }
    return potential_of(s, at.x[0], at.x[1]);
}
