/* Sparklines: charts on a terminal, one line of blocks per curve. */
#include "plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_WIDTH = 8, MOST_WIDTH = 60, LEVELS = 8 };

/* The mean of the finite values in a column; NaN: none. */
static double column_of(const curve *c, int column, int width) {
    const int64_t first = c->count * column / width;
    int64_t end = c->count * (column + 1) / width;
    double sum = 0;
    int64_t n = 0;
    end = end > first ? end : first + 1;
    for (int64_t i = first; i < end; i++)
        if (isfinite(c->y[i]))
            sum += c->y[i], n++;
    return n ? sum / (double)n : (double)NAN;
}

/* Blocks from the lowest to the highest column; bars start at 0. Owned. */
static char *blocks(const curve *c, int width, bool bars) {
    double *heights = room_for((size_t)width, sizeof *heights);
    double low = (double)INFINITY, high = -low;
    for (int i = 0; i < width; i++) {
        heights[i] = column_of(c, i, width);
        if (isfinite(heights[i])) {
            low = fmin(low, heights[i]);
            high = fmax(high, heights[i]);
        }
    }
    if (bars)
        low = 0;
    char *text = room_for((size_t)width * 3 + 1, 1), *to = text;
    for (int i = 0; i < width; i++) {
        const double part = high > low ? (heights[i] - low) / (high - low) : 0.5;
        const int level = (int)fmin(part * LEVELS, LEVELS - 1);
        if (isnan(heights[i]) || (bars && heights[i] <= 0))
            *to++ = ' ';
        else
            to += sprintf(to, "\xe2\x96%c", 0x81 + level);
    }
    free(heights);
    return text;
}

static void add_row(table *t, const chart *c, const curve *of, int width) {
    double low = (double)INFINITY, high = -low;
    int64_t last = -1, missing = 0;
    for (int64_t i = 0; i < of->count; i++) {
        missing += !isfinite(of->y[i]);
        if (!isfinite(of->y[i]))
            continue;
        low = fmin(low, of->y[i]);
        high = fmax(high, of->y[i]);
        last = i;
    }
    table_row *row = table_add(t);
    row->cells[0].text = text_of("%s", of->name);
    if (last >= 0)
        row->cells[1] = (cell){blocks(of, width, c->bars), CYAN, false};
    if (c->bars) {
        row->cells[2].text =
            text_of("%.6g to %.6g", of->x[0], of->x[of->count - 1] + c->bar_width);
        row->cells[3].text = text_of("at most %.6g in a bin", high);
        return;
    }
    row->cells[2].text =
        last < 0 ? text_of("nothing finite") : text_of("%.6g to %.6g", low, high);
    if (last >= 0)
        row->cells[3].text = text_of("last %.6g", of->y[last]);
    if (missing)
        row->cells[4] = (cell){text_of("%" PRId64 " missing", missing), DIM, false};
}

void print_sparks(const chart *c, int width) {
    table t = {0};
    colour_to(stdout, BOLD);
    printf("%s", c->title);
    colour_to(stdout, PLAIN);
    const curve *first = &c->curves[0];
    if (!c->bars && first->count)
        printf("  %s %.10g to %.10g, %" PRId64 " %s", c->x_label, first->x[0],
               first->x[first->count - 1], first->count,
               plural(first->count, "point", "points"));
    putchar('\n');
    int room = width ? width - 60 : MOST_WIDTH;
    room = room < LEAST_WIDTH ? LEAST_WIDTH : room > MOST_WIDTH ? MOST_WIDTH : room;
    for (int i = 0; i < c->count; i++) {
        const int64_t n = c->curves[i].count;
        add_row(&t, c, &c->curves[i], n < room ? (int)(n > 0 ? n : 1) : room);
    }
    table_print(&t, stdout, width);
    table_end(&t);
}
