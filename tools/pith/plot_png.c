/* Charts as PNG, by cairo. */
#include "plot.h"

#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <string.h>

const char *const png_needs = NULL;

static void colour_of(cairo_t *cr, uint32_t rgb) {
    cairo_set_source_rgb(cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0);
}

/* Lines of one pixel are aligned to pixels. */
static void line(canvas *c, double x, double y, double x2, double y2, uint32_t rgb) {
    cairo_t *cr = c->closure;
    colour_of(cr, rgb);
    cairo_set_line_width(cr, 1);
    cairo_move_to(cr, floor(x) + 0.5, floor(y) + 0.5);
    cairo_line_to(cr, floor(x2) + 0.5, floor(y2) + 0.5);
    cairo_stroke(cr);
}

static void draw_points(canvas *c, const double *points, int64_t count, uint32_t rgb) {
    cairo_t *cr = c->closure;
    colour_of(cr, rgb);
    cairo_set_line_width(cr, 1.5);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_new_path(cr); /* text leaves a current point */
    for (int64_t i = 0; i < count; i++)
        cairo_line_to(cr, points[2 * i], points[2 * i + 1]);
    cairo_stroke(cr);
}

static void
bar(canvas *c, double x, double y, double width, double height, uint32_t rgb) {
    cairo_t *cr = c->closure;
    colour_of(cr, rgb);
    cairo_rectangle(cr, x, y, width, height);
    cairo_fill(cr);
}

static void text(canvas *c,
                 double x,
                 double y,
                 const char *content,
                 double size,
                 int anchor,
                 bool turned,
                 uint32_t rgb) {
    cairo_t *cr = c->closure;
    cairo_text_extents_t extents;
    colour_of(cr, rgb);
    cairo_set_font_size(cr, size);
    cairo_text_extents(cr, content, &extents);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    if (turned)
        cairo_rotate(cr, -acos(-1.0) / 2);
    cairo_move_to(cr, -extents.x_advance * (anchor + 1) / 2, 0);
    cairo_show_text(cr, content);
    cairo_restore(cr);
}

static cairo_status_t put(void *closure, const unsigned char *bytes, unsigned n) {
    return fwrite(bytes, 1, n, closure) == n ? CAIRO_STATUS_SUCCESS
                                             : CAIRO_STATUS_WRITE_ERROR;
}

bool write_png(const chart *c, const char *file, int width, int height) {
    FILE *out = fopen(file, "wb");
    if (!out)
        return complain("plot", "cannot write \"%s\": %s", file, strerror(errno)), false;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cr = cairo_create(surface);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    canvas to = {.width = width,
                 .height = height,
                 .closure = cr,
                 .line = line,
                 .curve = draw_points,
                 .bar = bar,
                 .text = text};
    draw_chart(&to, c);
    cairo_status_t status = cairo_status(cr);
    errno = 0;
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, put, out);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    if (fclose(out) == 0 && status == CAIRO_STATUS_SUCCESS)
        return true;
    complain("plot", "cannot write \"%s\": %s", file,
             errno ? strerror(errno) : cairo_status_to_string(status));
    return false;
}
