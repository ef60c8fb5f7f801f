/* Elementwise expressions. Over all leaves of a tree in one pass, in GB/s of bytes read
 * and written; peers: a memcpy of the same bytes ("copy"), and a plain loop over the
 * leaves ("c"). Over one array (map/expression by pith_expression, map/tree by
 * pith_tree_map_expression of a leaf), in microseconds; peer: the loop, into existing
 * memory. */
#include "bench.h"

typedef struct {
    pith_scope *s;
    const void *tree;
    int64_t leaves, count; /* elements of a leaf */
    float **from, **to;
    float *flat_from, *flat_to;
} Work;

static volatile intptr_t sink;

static void map(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    sink = (intptr_t)pith_tree_map_expression(s, "a * 0.999f + 0.001f", 1, &w->tree, 0,
                                              NULL);
    pith_wait(s);
    pith_scope_close(s);
}

static void map_c(void *closure) {
    const Work *w = closure;
    for (int64_t i = 0; i < w->leaves; i++) {
        const float *from = w->from[i];
        float *to = w->to[i];
        for (int64_t k = 0; k < w->count; k++)
            to[k] = from[k] * 0.999f + 0.001f;
    }
    __asm__ volatile("" ::: "memory");
}

static void copy(void *closure) {
    const Work *w = closure;
    memcpy(w->flat_to, w->flat_from, (size_t)(w->leaves * w->count) * sizeof *w->flat_to);
    __asm__ volatile("" ::: "memory");
}

/* flat: all leaves were made by one call, else one by one. */
static void
measure(pith_scope *s, int64_t leaves, int64_t count, bool flat, const char *only) {
    char row[64];
    snprintf(row, sizeof row, "map/%lldx%lld%s", (long long)leaves, (long long)count,
             flat ? "/flat" : "");
    if (!bench_wanted(row, only))
        return;
    const size_t n = (size_t)(leaves * count);
    Work w = {.s = s,
              .leaves = leaves,
              .count = count,
              .flat_from = malloc(n * sizeof(float)),
              .flat_to = malloc(n * sizeof(float)),
              .from = malloc((size_t)leaves * sizeof(float *)),
              .to = malloc((size_t)leaves * sizeof(float *))};
    const void **items = malloc((size_t)leaves * sizeof *items);
    for (int64_t i = 0; i < leaves; i++) {
        items[i] = pith_full(s, PITH_F32, PITH_SHAPE(count), 1);
        w.from[i] = malloc((size_t)count * sizeof(float));
        w.to[i] = malloc((size_t)count * sizeof(float));
        for (int64_t k = 0; k < count; k++)
            w.from[i][k] = 1, w.to[i][k] = 0;
    }
    for (size_t k = 0; k < n; k++)
        w.flat_from[k] = 1, w.flat_to[k] = 0;
    w.tree = pith_list_make(s, leaves, items);
    if (flat)
        w.tree = pith_tree_full_like(s, w.tree, 1);
    bench_check(s);
    bench_row(
        row, "GB/s", -2.0 * (double)n * sizeof(float) / 1e9, 3,
        (const bench_entry[]){{"pith", map, &w}, {"c", map_c, &w}, {"copy", copy, &w}});
    bench_check(s);
    for (int64_t i = 0; i < leaves; i++)
        free(w.from[i]), free(w.to[i]);
    free(items), free(w.from), free(w.to), free(w.flat_from), free(w.flat_to);
}

/* ---- One array ---- */

typedef struct {
    pith_scope *s;
    const pith_array *x;
    int64_t count;
    double *from, *to;
} Line;

static void expression(void *closure) {
    const Line *l = closure;
    pith_scope *s = pith_scope_open_in(l->s);
    sink = (intptr_t)pith_expression(s, "x * 0.999 + 0.001", PITH_BIND({"x", l->x}));
    pith_wait(s);
    pith_scope_close(s);
}

static void tree(void *closure) {
    const Line *l = closure;
    pith_scope *s = pith_scope_open_in(l->s);
    sink = (intptr_t)pith_tree_map_expression(s, "a * 0.999 + 0.001", PITH_ITEMS(l->x), 0,
                                              NULL);
    pith_wait(s);
    pith_scope_close(s);
}

static void line_c(void *closure) {
    const Line *l = closure;
    for (int64_t k = 0; k < l->count; k++)
        l->to[k] = l->from[k] * 0.999 + 0.001;
    __asm__ volatile("" ::: "memory");
}

static void measure_line(pith_scope *s, int64_t count, const char *only) {
    Line l = {.s = s,
              .x = pith_full(s, PITH_F64, PITH_SHAPE(count), 1),
              .count = count,
              .from = malloc((size_t)count * sizeof(double)),
              .to = malloc((size_t)count * sizeof(double))};
    for (int64_t k = 0; k < count; k++)
        l.from[k] = 1, l.to[k] = 0;
    const struct {
        const char *name;
        void (*run)(void *);
    } ways[] = {{"expression", expression}, {"tree", tree}};
    for (int k = 0; k < 2; k++) {
        char row[64];
        snprintf(row, sizeof row, "map/%s/%lld", ways[k].name, (long long)count);
        if (bench_wanted(row, only))
            bench_row(
                row, "us", 1e6, 2,
                (const bench_entry[]){{"pith", ways[k].run, &l}, {"c", line_c, &l}});
        bench_check(s);
    }
    free(l.from), free(l.to);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    measure(s, 1, 50000000, false, only);
    measure(s, 100, 500000, false, only);
    measure(s, 10000, 64, false, only);
    measure(s, 10000, 64, true, only);
    for (int k = 0; k < 3; k++)
        measure_line(s, (const int64_t[]){4, 4096, 2000000}[k], only);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
