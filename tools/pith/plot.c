/* pith plot: charts of a log, a series of checkpoints or a leaf, on the terminal or in a
 * file. */
#include "plot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Parse "800x500". */
static bool read_size(const command *c, int *width, int *height) {
    const char *text = given_value(c, "--size");
    int used = 0;
    if (!text)
        return true;
    if (sscanf(text, "%5dx%5d%n", width, height, &used) == 2 && !text[used] &&
        *width >= 200 && *width <= 10000 && *height >= 150 && *height <= 10000)
        return true;
    complain("plot", "--size takes WIDTHxHEIGHT, from 200x150 to 10000x10000, got \"%s\"",
             text);
    return false;
}

static int of_checkpoints(pith_scope *s, const command *c, int64_t bins, chart *made) {
    if (c->word_count < 2) {
        complain("plot", "takes the path of a leaf after the checkpoints");
        return TROUBLE;
    }
    const char *path = c->words[c->word_count - 1];
    char **files = series_expand(c->words, c->word_count - 1);
    const int code = files[0] && files[1] ? chart_of_series(s, files, path, made)
                                          : chart_of_leaf(s, files[0], path, bins, made);
    series_end(files);
    return code;
}

static int write_chart(const chart *made, const char *file, int width, int height) {
    const bool good = ends_with(file, ".png") ? write_png(made, file, width, height)
                                              : write_svg(made, file, width, height);
    return good ? SAME : TROUBLE;
}

static int plot(pith_scope *s, const command *c) {
    const char *file = given_value(c, "--output");
    int width = 720, height = 432;
    int64_t bins = 40;
    chart made = {0};
    if (!given_i64(c, "--bins", 1, 1000, &bins) || !read_size(c, &width, &height))
        return TROUBLE;
    if (file && !ends_with(file, ".svg") && !ends_with(file, ".png"))
        return complain("plot",
                        "--output takes a name that ends with .svg or .png, got \"%s\"",
                        file),
               TROUBLE;
    if (file && ends_with(file, ".png") && png_needs)
        become_formats();
    if (file && ends_with(file, ".png") && png_needs)
        return complain("plot", "\"%s\": this pith was built without %s", file,
                        png_needs),
               TROUBLE;
    int code = ends_with(c->words[0], ".jsonl")
                   ? chart_of_log(s, c->words[0], c->words + 1, c->word_count - 1, &made)
                   : of_checkpoints(s, c, bins, &made);
    if (code == SAME && file)
        code = write_chart(&made, file, width, height);
    else if (code == SAME)
        print_sparks(&made, terminal_width());
    chart_end(&made);
    return code;
}

static const option options[] = {
    {"--output", "FILE", "write the chart to this file, as SVG or PNG by its name", NULL,
     'o'},
    {"--size", "WxH", "of that file, in pixels (720x432)", NULL, 0},
    {"--bins", "N", "of a histogram (40)", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb plot_verb = {
    .name = "plot",
    .words = "FILE... [NAME...]",
    .takes = "a log and names of columns, or checkpoints and the path of a leaf",
    .least = 1,
    .most = -1,
    .extensions = "jsonl json",
    .summary = "a log, a series or a leaf as a chart",
    .more =
        "A log (.jsonl): the columns of these names, or all of them, by step. Several\n"
        "checkpoints, or the name of a series, and the path of a leaf: its value by\n"
        "step, or the mean of a leaf of many elements. One checkpoint and the path of\n"
        "a leaf: a histogram of its values. Without --output the chart is a line of\n"
        "blocks on the terminal.",
    .options = options,
    .run = plot};
