/* Charts as SVG. */
#include "plot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_escaped(FILE *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
            case '<':
                fputs("&lt;", out);
                break;
            case '>':
                fputs("&gt;", out);
                break;
            case '&':
                fputs("&amp;", out);
                break;
            default:
                putc(*text, out);
        }
}

static void line(canvas *c, double x, double y, double x2, double y2, uint32_t rgb) {
    fprintf(c->closure,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#%06x\"/>\n",
            x, y, x2, y2, rgb);
}

static void draw_points(canvas *c, const double *points, int64_t count, uint32_t rgb) {
    fprintf(c->closure,
            "<polyline fill=\"none\" stroke=\"#%06x\" stroke-width=\"1.5\" "
            "stroke-linejoin=\"round\" points=\"",
            rgb);
    for (int64_t i = 0; i < count; i++)
        fprintf(c->closure, "%s%.2f,%.2f", i ? " " : "", points[2 * i],
                points[2 * i + 1]);
    fputs("\"/>\n", c->closure);
}

static void
bar(canvas *c, double x, double y, double width, double height, uint32_t rgb) {
    fprintf(
        c->closure,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%06x\"/>\n",
        x, y, width, height, rgb);
}

static void text(canvas *c,
                 double x,
                 double y,
                 const char *content,
                 double size,
                 int anchor,
                 bool turned,
                 uint32_t rgb) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(
        c->closure,
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\" fill=\"#%06x\"",
        x, y, size, anchors[anchor + 1], rgb);
    if (turned)
        fprintf(c->closure, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    putc('>', c->closure);
    put_escaped(c->closure, content);
    fputs("</text>\n", c->closure);
}

bool write_svg(const chart *c, const char *file, int width, int height) {
    FILE *out = fopen(file, "w");
    if (!out)
        return complain("plot", "cannot write \"%s\": %s", file, strerror(errno)), false;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
    canvas to = {.width = width,
                 .height = height,
                 .closure = out,
                 .line = line,
                 .curve = draw_points,
                 .bar = bar,
                 .text = text};
    draw_chart(&to, c);
    fputs("</svg>\n", out);
    const bool failed = ferror(out);
    if (fclose(out) == 0 && !failed)
        return true;
    complain("plot", "cannot write \"%s\": %s", file, strerror(errno ? errno : EIO));
    return false;
}
