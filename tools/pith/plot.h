/* Within pith plot: charts and canvases. */
#ifndef PITH_PLOT_H
#define PITH_PLOT_H

#include "command.h"
#include "tool.h"

typedef struct curve {
    char *name;    /* owned */
    double *x, *y; /* owned, [count]; non-finite y are not drawn */
    int64_t count;
} curve;

typedef struct chart {
    char *title, *x_label, *y_label; /* owned, cleaned */
    curve *curves;                   /* owned */
    int count;
    bool bars;        /* y[i] is a bar from x[i] to x[i] + bar_width */
    double bar_width; /* of a histogram */
} chart;

void chart_end(chart *c);
/* Add a curve of `count` points; takes the name. */
curve *chart_add(chart *c, char *name, int64_t count);

/* ---- Data of charts (plot_data.c). Exit codes; not 0: the reason was printed ---- */

/* Columns of a log by name; count 0: all of them. */
int chart_of_log(pith_scope *s,
                 const char *file,
                 const char *const *names,
                 int count,
                 chart *c);
/* A scalar leaf, or the mean of a leaf, over checkpoints; files is NULL-terminated. */
int chart_of_series(pith_scope *s, char *const *files, const char *path, chart *c);
/* Histogram of a leaf. */
int chart_of_leaf(pith_scope *s,
                  const char *file,
                  const char *path,
                  int64_t bins,
                  chart *c);

/* ---- Canvases ---- */

typedef struct canvas canvas;
struct canvas {
    double width, height;
    void *closure;
    void (*line)(canvas *c, double x, double y, double x2, double y2, uint32_t rgb);
    /* Draw a polyline, two coordinates per point. */
    void (*curve)(canvas *c, const double *points, int64_t count, uint32_t rgb);
    void (*bar)(canvas *c, double x, double y, double width, double height, uint32_t rgb);
    /* anchor: -1 start at x, 0 centred, 1 end at x. turned: rotated upwards. */
    void (*text)(canvas *c,
                 double x,
                 double y,
                 const char *text,
                 double size,
                 int anchor,
                 bool turned,
                 uint32_t rgb);
};

void draw_chart(canvas *to, const chart *c); /* plot_draw.c */
/* Draw on the terminal (plot_spark.c): one line per curve. */
void print_sparks(const chart *c, int width);
/* Write files. False: the reason was printed. */
bool write_svg(const chart *c, const char *file, int width, int height);
bool write_png(const chart *c, const char *file, int width, int height);
extern const char *const png_needs; /* library missing in this build; NULL: none */

#endif
