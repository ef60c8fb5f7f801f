/* Chart layout: axes with round numbers, a light grid, curves or bars. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INK = 0x222222, QUIET = 0x666666, GRID = 0xE4E4E4, WANTED_TICKS = 6 };
static const double small = 12, large = 15; /* font sizes */

/* Colour-blind safe palette (Okabe and Ito). */
static const uint32_t colours[] = {0x0072B2, 0xD55E00, 0x009E73,
                                   0xCC79A7, 0xE69F00, 0x56B4E9};
enum { COLOURS = sizeof colours / sizeof colours[0] };

typedef struct axis {
    double low, high;   /* of the data, widened */
    double from, to;    /* on the canvas */
    double first, step; /* ticks */
    double scale;       /* labels are values divided by this power of ten */
    int decimals;
} axis;

static double place(const axis *a, double value) {
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* Step of 1, 2 or 5 times a power of ten, for at most WANTED_TICKS ticks. */
static double round_step(double range) {
    const double raw = range / WANTED_TICKS, power = pow(10, floor(log10(raw)));
    const double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void see(double *low, double *high, double value) {
    if (!isfinite(value))
        return;
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

static axis make_axis(double low, double high, double from, double to) {
    axis a = {.low = low, .high = high, .from = from, .to = to, .scale = 1};
    if (!(low <= high))
        a.low = 0, a.high = 1;
    if (!(a.high - a.low > 1e-14 * fmax(fabs(a.low), fabs(a.high)))) {
        const double some = a.low != 0 ? fabs(a.low) * 0.05 : 0.5;
        a.low -= some;
        a.high += some;
    }
    a.step = round_step(a.high - a.low);
    a.first = ceil(a.low / a.step - 1e-9) * a.step;
    const double most = fmax(fabs(a.low), fabs(a.high));
    const int exponent = (int)floor(log10(most));
    if (exponent > 5 || exponent < -3)
        a.scale = pow(10, exponent);
    const double decimals = -floor(log10(a.step / a.scale) + 1e-9);
    a.decimals = decimals > 0 ? (int)decimals : 0;
    return a;
}

static char *tick_text(const axis *a, double value) {
    const double shown = fabs(value) < 1e-9 * a->step ? 0 : value / a->scale;
    return text_of("%.*f", a->decimals < 15 ? a->decimals : 15, shown);
}

/* If two labels touch, every second one is dropped. */
static double label_step(const axis *a, double room) {
    double step = a->step;
    char *low = tick_text(a, a->low), *high = tick_text(a, a->high);
    const size_t n = strlen(low) > strlen(high) ? strlen(low) : strlen(high);
    while (fabs(place(a, step) - place(a, 0)) < (double)n * room &&
           step < a->high - a->low)
        step *= 2;
    free(low);
    free(high);
    return step;
}

static char *axis_label(const char *label, const axis *a) {
    if (a->scale > 0.5 && a->scale < 2)
        return text_of("%s", label);
    return text_of("%s (\u00d7 1e%+d)", label, (int)lround(log10(a->scale)));
}

static void draw_x(canvas *to, const axis *x, const axis *y, const char *label) {
    const double every = label_step(x, 0.75 * small);
    for (double v = x->first; v <= x->high + 1e-9 * x->step; v += x->step) {
        const double at = place(x, v);
        to->line(to, at, y->to, at, y->from, GRID);
        to->line(to, at, y->from, at, y->from + 4, INK);
        if (fabs(remainder(v - x->first, every)) > 1e-6 * every)
            continue;
        char *text = tick_text(x, v);
        to->text(to, at, y->from + 18, text, small, 0, false, INK);
        free(text);
    }
    char *text = axis_label(label, x);
    to->text(to, (x->from + x->to) / 2, y->from + 38, text, small, 0, false, INK);
    free(text);
}

static void draw_y(canvas *to, const axis *x, const axis *y, const char *label) {
    for (double v = y->first; v <= y->high + 1e-9 * y->step; v += y->step) {
        const double at = place(y, v);
        char *text = tick_text(y, v);
        to->line(to, x->from, at, x->to, at, GRID);
        to->line(to, x->from - 4, at, x->from, at, INK);
        to->text(to, x->from - 8, at + 4, text, small, 1, false, INK);
        free(text);
    }
    char *text = axis_label(label, y);
    to->text(to, 18, (y->from + y->to) / 2, text, small, 0, true, INK);
    free(text);
}

/* Draw a run of finite values. */
static void flush(canvas *to, const double *points, int64_t n, uint32_t rgb) {
    if (n == 1) /* a single point */
        to->bar(to, points[0] - 1.5, points[1] - 1.5, 3, 3, rgb);
    else if (n)
        to->curve(to, points, n, rgb);
}

/* Add a point. Each pixel column keeps at most four: first, lowest, highest and last,
 * which look the same as all. */
static int64_t add_point(double *points, int64_t n, double x, double y) {
    if (n < 4 || floor(points[2 * (n - 4)]) != floor(x)) {
        points[2 * n] = x;
        points[2 * n + 1] = y;
        return n + 1;
    }
    double *second = points + 2 * (n - 3), *third = second + 2, *last = third + 2;
    const double a = second[1], b = third[1], c = last[1];
    second[1] = fmin(a, fmin(b, c));
    third[1] = fmax(a, fmax(b, c));
    last[0] = x;
    last[1] = y;
    return n;
}

static void
draw_curve(canvas *to, const curve *c, const axis *x, const axis *y, uint32_t rgb) {
    double *points = room_for((size_t)c->count * 2 + 2, sizeof *points);
    int64_t n = 0;
    for (int64_t i = 0; i < c->count; i++) {
        if (isfinite(c->y[i])) {
            n = add_point(points, n, place(x, c->x[i]), place(y, c->y[i]));
            continue;
        }
        flush(to, points, n, rgb);
        n = 0;
    }
    flush(to, points, n, rgb);
    free(points);
}

static void
draw_bars(canvas *to, const chart *c, const axis *x, const axis *y, uint32_t rgb) {
    const curve *counts = &c->curves[0];
    for (int64_t i = 0; i < counts->count; i++) {
        const double left = place(x, counts->x[i]);
        const double right = place(x, counts->x[i] + c->bar_width);
        const double gap = right - left > 4 ? 1 : 0;
        if (counts->y[i] > 0)
            to->bar(to, left, place(y, counts->y[i]), right - left - gap,
                    place(y, 0) - place(y, counts->y[i]), rgb);
    }
}

static void draw_legend(canvas *to, const chart *c, double left, double y) {
    for (int i = 0; c->count > 1 && i < c->count; i++) {
        const uint32_t rgb = colours[i % COLOURS];
        to->bar(to, left, y - 8, 14, 4, rgb);
        to->text(to, left + 20, y - 2, c->curves[i].name, small, -1, false, INK);
        left += 20 + 0.62 * small * (columns(c->curves[i].name) + 3);
    }
}

/* Left margin for tick labels. */
static double left_margin(const axis *y) {
    size_t most = 0;
    for (double v = y->first; v <= y->high + 1e-9 * y->step; v += y->step) {
        char *text = tick_text(y, v);
        most = strlen(text) > most ? strlen(text) : most;
        free(text);
    }
    return 40 + 0.62 * small * (double)most;
}

void draw_chart(canvas *to, const chart *c) {
    double x_low = (double)INFINITY, x_high = -x_low, y_low = x_low, y_high = -x_low;
    for (int i = 0; i < c->count; i++)
        for (int64_t k = 0; k < c->curves[i].count; k++) {
            see(&x_low, &x_high, c->curves[i].x[k]);
            see(&y_low, &y_high, c->curves[i].y[k]);
        }
    if (c->bars) {
        x_high += c->bar_width;
        y_low = 0;
        y_high = y_high > 0 ? 1.05 * y_high : 1;
    } else if (y_low < y_high) {
        const double some = 0.05 * (y_high - y_low);
        y_low -= some;
        y_high += some;
    }
    const double top = c->count > 1 ? 58 : 40;
    const axis y = make_axis(y_low, y_high, to->height - 52, top);
    const axis x = make_axis(x_low, x_high, left_margin(&y), to->width - 24);
    to->text(to, x.from, 24, c->title, large, -1, false, INK);
    draw_legend(to, c, x.from, top - 10);
    draw_x(to, &x, &y, c->x_label);
    draw_y(to, &x, &y, c->y_label);
    if (c->bars)
        draw_bars(to, c, &x, &y, colours[0]);
    else
        for (int i = 0; i < c->count; i++)
            draw_curve(to, &c->curves[i], &x, &y, colours[i % COLOURS]);
    to->line(to, x.from, y.from, x.to, y.from, QUIET);
    to->line(to, x.from, y.from, x.from, y.to, QUIET);
}
