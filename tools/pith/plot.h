/* Between the files of pith plot: what is drawn, and what it is drawn on. */
#ifndef PITH_PLOT_H
#define PITH_PLOT_H

#include "command.h"
#include "tool.h"

typedef struct curve {
    char *name; /* owned */
    double *x,
        *y; /* owned, [count]; y is NaN or infinite where there is nothing to draw */
    int64_t count;
} curve;

typedef struct chart {
    char *title, *x_label, *y_label; /* owned, harmless */
    curve *curves;                   /* owned */
    int count;
    bool bars;        /* y[i] stands on x[i] to x[i] + bar_width */
    double bar_width; /* of a histogram */
} chart;

void chart_end(chart *c);
/* Room for a curve of so many points; takes the name. */
curve *chart_add(chart *c, char *name, int64_t count);

/* ---- Where charts come from (plot_data.c). The exit code; not 0: the reason was printed
 * ---- */

/* Columns of a log by name; names_count 0: all of them. */
int chart_of_log(pith_scope *s,
                 const char *file,
                 const char *const *names,
                 int count,
                 chart *c);
/* A leaf of one element, or the mean of one of more, over checkpoints; ends with NULL. */
int chart_of_series(pith_scope *s, char *const *files, const char *path, chart *c);
/* How often values come in a leaf. */
int chart_of_leaf(pith_scope *s,
                  const char *file,
                  const char *path,
                  int64_t bins,
                  chart *c);

/* ---- What they are drawn on ---- */

typedef struct canvas canvas;
struct canvas {
    double width, height;
    void *closure;
    void (*line)(canvas *c, double x, double y, double x2, double y2, uint32_t rgb);
    /* A polygon's edge without its end, two coordinates a point. */
    void (*curve)(canvas *c, const double *points, int64_t count, uint32_t rgb);
    void (*bar)(canvas *c, double x, double y, double width, double height, uint32_t rgb);
    /* anchor -1: it begins at x, 0: it is centred there, 1: it ends there. turned: it
     * runs upwards. */
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
/* On the terminal (plot_spark.c): a line a curve. */
void print_sparks(const chart *c, int width);
/* Files. False: the reason was printed. */
bool write_svg(const chart *c, const char *file, int width, int height);
bool write_png(const chart *c, const char *file, int width, int height);
extern const char *const png_needs; /* the library that this build lacks; NULL: nothing */

#endif
