/* Data of charts: columns of a log, a scalar over checkpoints, histograms of leaves. */
#include "plot.h"

#include <inttypes.h>
#include <math.h>
#include <pith/run_log.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 65536 };

void chart_end(chart *c) {
    for (int i = 0; i < c->count; i++) {
        free(c->curves[i].name);
        free(c->curves[i].x);
        free(c->curves[i].y);
    }
    free(c->curves);
    free(c->title);
    free(c->x_label);
    free(c->y_label);
    *c = (chart){0};
}

curve *chart_add(chart *c, char *name, int64_t count) {
    curve *grown = room_for((size_t)c->count + 1, sizeof *grown);
    if (c->count)
        memcpy(grown, c->curves, (size_t)c->count * sizeof *grown);
    free(c->curves);
    c->curves = grown;
    curve *added = &c->curves[c->count++];
    *added = (curve){.name = name,
                     .x = room_for((size_t)count + 1, sizeof(double)),
                     .y = room_for((size_t)count + 1, sizeof(double)),
                     .count = count};
    return added;
}

static int told(pith_scope *s) {
    complain("plot", "%s", pith_message(s));
    return pith_code(s) == PITH_E_FORMAT ? DIFFERENT : TROUBLE;
}

/* ---- Logs ---- */

static bool read_column(pith_scope *s, const pith_array *column, double *to) {
    const pith_spec *spec = pith_array_spec(column);
    void *elements = room_for((size_t)spec->count, pith_dtype_size(spec->dtype));
    const bool read = pith_read(s, column, elements, spec->bytes);
    for (int64_t i = 0; read && i < spec->count; i++)
        to[i] = pith_element_f64(spec->dtype, elements, i);
    free(elements);
    return read;
}

static bool add_column(pith_scope *s, const pith_dict *log, const char *name, chart *c) {
    const pith_array *step = pith_dict_get(log, "step"),
                     *column = pith_dict_get(log, name);
    curve *added = chart_add(c, clean(name), pith_array_spec(column)->count);
    return read_column(s, step, added->x) && read_column(s, column, added->y);
}

static int no_column(const pith_dict *log, const char *file, const char *name) {
    char *list = text_of("%s", "");
    for (int64_t i = 0; i < pith_child_count(log); i++) {
        if (strcmp(pith_child_name(log, i), "step") == 0)
            continue;
        char *column = clean(pith_child_name(log, i)),
             *longer = text_of("%s%s%s", list, *list ? ", " : "", column);
        free(column);
        free(list);
        list = longer;
    }
    complain("plot", "\"%s\" has no column \"%s\"; it has %s", file, name,
             *list ? list : "only the step");
    free(list);
    return TROUBLE;
}

int chart_of_log(pith_scope *s,
                 const char *file,
                 const char *const *names,
                 int count,
                 chart *c) {
    const pith_dict *log = pith_run_log_read(s, file);
    if (!log)
        return told(s);
    for (int i = 0; i < count; i++) {
        if (!pith_dict_get(log, names[i]))
            return no_column(log, file, names[i]);
        if (!add_column(s, log, names[i], c))
            return told(s);
    }
    for (int64_t i = 0; count == 0 && i < pith_child_count(log); i++)
        if (strcmp(pith_child_name(log, i), "step") != 0 &&
            !add_column(s, log, pith_child_name(log, i), c))
            return told(s);
    if (c->count == 0)
        return no_column(log, file, "");
    c->title = clean(file);
    c->x_label = text_of("step");
    c->y_label = text_of("%s", c->count == 1 ? c->curves[0].name : "");
    return SAME;
}

/* ---- Checkpoints ---- */

/* Open a checkpoint and find a leaf. NULL: the scope has the error. */
static const pith_checkpoint *find_leaf(pith_scope *s,
                                        const char *file,
                                        const char *path,
                                        int64_t *number,
                                        pith_checkpoint_leaf *leaf) {
    const pith_checkpoint *c = pith_checkpoint_open(s, file);
    const int64_t node = c ? pith_checkpoint_find(s, c, path) : -1;
    pith_checkpoint_node row;
    if (node < 0)
        return NULL;
    pith_checkpoint_get_node(c, node, &row);
    *number = row.leaf;
    if (pith_checkpoint_get_leaf(c, row.leaf, leaf))
        return c;
    pith_fail(s, PITH_E_STRUCTURE, NULL, "\"%s\" is not a leaf of \"%s\"", path, file);
    return NULL;
}

/* The value of one element, or the mean of several. */
static bool scalar_of(pith_scope *s,
                      const pith_checkpoint *c,
                      int64_t number,
                      const pith_checkpoint_leaf *leaf,
                      double *value) {
    pith_leaf_statistics m;
    unsigned char element[8];
    if (leaf->count == 1) {
        if (!pith_checkpoint_read(s, c, number, 0, 1, element, leaf->bytes))
            return false;
        *value = pith_element_f64(leaf->dtype, element, 0);
        return true;
    }
    if (!pith_checkpoint_statistics(s, c, number, &m))
        return false;
    *value = m.nans || m.infinities ? (double)NAN : m.mean;
    return true;
}

static char *label_of(const char *path, const char *unit, bool mean) {
    char *name = clean(*path ? path : "the leaf"), *in = unit ? clean(unit) : NULL;
    char *label = text_of("%s%s%s%s%s", mean ? "mean of " : "", name, in ? " (" : "",
                          in ? in : "", in ? ")" : "");
    free(name);
    free(in);
    return label;
}

int chart_of_series(pith_scope *s, char *const *files, const char *path, chart *c) {
    int64_t count = 0;
    while (files[count])
        count++;
    curve *points = chart_add(c, clean(*path ? path : "the leaf"), count);
    for (int64_t i = 0; i < count; i++) {
        pith_scope *inner = pith_scope_open_in(s);
        pith_checkpoint_leaf leaf;
        int64_t number;
        const pith_checkpoint *from = find_leaf(inner, files[i], path, &number, &leaf);
        const bool good = from && scalar_of(inner, from, number, &leaf, &points->y[i]);
        if (good) {
            points->x[i] = (double)pith_checkpoint_about(from)->step;
            if (!c->y_label)
                c->y_label = label_of(path, leaf.unit, leaf.count != 1);
        }
        pith_scope_close(inner);
        if (!good)
            return told(s);
    }
    c->title = text_of("%s", c->y_label);
    c->x_label = text_of("step");
    return SAME;
}

/* ---- Histograms ---- */

typedef struct histogram {
    double low, high, width; /* of the finite values; width: of a bin */
    int64_t bins, finite, others;
    double *counts; /* NULL: the range is being computed */
} histogram;

static void see(histogram *h, double x) {
    if (!isfinite(x)) {
        h->others++;
    } else if (!h->counts) {
        h->finite++;
        h->low = fmin(h->low, x);
        h->high = fmax(h->high, x);
    } else {
        const double bin = floor((x - h->low) / h->width);
        h->counts[bin < 0 ? 0 : bin >= (double)h->bins ? h->bins - 1 : (int64_t)bin]++;
    }
}

static bool scan(pith_scope *s,
                 const pith_checkpoint *c,
                 int64_t number,
                 const pith_checkpoint_leaf *leaf,
                 histogram *h) {
    const size_t step = pith_dtype_size(leaf->dtype);
    void *piece = room_for(PIECE, step);
    bool read = true;
    for (int64_t at = 0; read && at < leaf->count; at += PIECE) {
        const int64_t n = leaf->count - at < PIECE ? leaf->count - at : PIECE;
        read = pith_checkpoint_read(s, c, number, at, n, piece, (size_t)n * step);
        for (int64_t i = 0; read && i < n; i++)
            see(h, pith_element_f64(leaf->dtype, piece, i));
    }
    free(piece);
    return read;
}

/* Integer histograms have bins of integer width, from half a unit below the least value.
 */
static void choose_bins(histogram *h, pith_dtype dtype, int64_t bins) {
    const double range = h->high - h->low;
    h->bins = bins;
    if (!pith_dtype_is_float(dtype)) {
        h->width = fmax(1, ceil((range + 1) / (double)bins));
        h->bins = (int64_t)fmin((double)bins, ceil((range + 1) / h->width));
        h->low -= 0.5;
    } else if (range > 0 && isfinite(range)) {
        h->width = range / (double)bins;
    } else {
        h->width = fmax(fabs(h->low) * 1e-3, 1e-300);
        h->bins = 1;
        h->low -= h->width / 2;
    }
}

int chart_of_leaf(pith_scope *s,
                  const char *file,
                  const char *path,
                  int64_t bins,
                  chart *c) {
    histogram h = {.low = (double)INFINITY, .high = -(double)INFINITY};
    pith_checkpoint_leaf leaf;
    int64_t number;
    const pith_checkpoint *from = find_leaf(s, file, path, &number, &leaf);
    if (!from || !pith_checkpoint_verify(s, from, number) ||
        !scan(s, from, number, &leaf, &h))
        return told(s);
    if (h.finite == 0) {
        complain("plot", "\"%s\" of \"%s\" has no finite element", path, file);
        return TROUBLE;
    }
    if (!isfinite(h.high - h.low)) {
        complain("plot", "the range of \"%s\", %g to %g, overflows", path, h.low, h.high);
        return TROUBLE;
    }
    choose_bins(&h, leaf.dtype, bins);
    curve *bars = chart_add(c, clean(*path ? path : "the leaf"), h.bins);
    h.counts = bars->y;
    for (int64_t i = 0; i < h.bins; i++)
        bars->x[i] = h.low + (double)i * h.width;
    if (!scan(s, from, number, &leaf, &h))
        return told(s);
    char *name = clean(file), *shape = shape_text(leaf.dtype, &leaf.shape);
    char *others =
        h.others ? text_of(", %" PRId64 " not finite", h.others / 2) : text_of("%s", "");
    c->title = text_of("%s  %s%s", name, shape, others);
    c->x_label = label_of(path, leaf.unit, false);
    c->y_label = text_of("elements");
    c->bars = true;
    c->bar_width = h.width;
    free(name);
    free(shape);
    free(others);
    return SAME;
}
