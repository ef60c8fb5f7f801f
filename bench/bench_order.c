/* Sorts, scans, gathers and scatters of one array of a million and of ten million
 * elements, on one and two threads, in ns per element. Random indices address an array a
 * tenth as long; segments ascend. The peer "c" is peers/order.c, which writes to existing
 * memory. It is absent from rows of two threads if it has only one. */
#include "bench.h"
#include "peers/order.h"

enum { SHARE = 10 }; /* elements per index */

typedef struct {
    pith_scope *s;
    pith_dtype dtype;
    int64_t n;
    int threads;
    const pith_array *a, *table, *index, *ids; /* a, index, ids [n], table [n / SHARE] */
    void *c_a, *c_table, *c_to, *c_work;
    int32_t *c_index, *c_ids;
} Work;

static volatile intptr_t sink;

#define PITH_ROW(name, expression)                                                       \
    static void name##_pith(void *closure) {                                             \
        const Work *w = closure;                                                         \
        pith_scope *s = pith_scope_open_in(w->s);                                        \
        sink = (intptr_t)(expression);                                                   \
        pith_wait(s);                                                                    \
        pith_scope_close(s);                                                             \
    }
/* call(name) is a call of peers/order.h for elements of that name. */
#define C_ROW(name, call)                                                                \
    static void name##_c(void *closure) {                                                \
        const Work *w = closure;                                                         \
        if (w->dtype == PITH_F32)                                                        \
            call(f32);                                                                   \
        else if (w->dtype == PITH_F64)                                                   \
            call(f64);                                                                   \
        else                                                                             \
            call(i32);                                                                   \
        __asm__ volatile("" ::: "memory");                                               \
    }

PITH_ROW(sort, pith_sort(s, w->a, 0, NULL))
#define CALL(name) sort_##name(w->c_to, w->c_a, w->n, w->c_work)
C_ROW(sort, CALL)
#undef CALL

PITH_ROW(argsort, pith_argsort(s, w->a, 0, NULL))
#define CALL(name) argsort_##name(w->c_to, w->c_a, w->n, w->c_work)
C_ROW(argsort, CALL)
#undef CALL

PITH_ROW(top_k, pith_top_k(s, w->a, 100).values)

PITH_ROW(cumsum, pith_cumsum(s, w->a, 0, NULL))
#define CALL(name) cumsum_##name(w->c_to, w->c_a, w->n)
C_ROW(cumsum, CALL)
#undef CALL

PITH_ROW(take, pith_take(s, w->table, w->index, NULL))
#define CALL(name) take_##name(w->c_to, w->c_table, w->c_index, w->n, w->threads)
C_ROW(take, CALL)
#undef CALL

PITH_ROW(scatter_add, pith_scatter_add(s, w->table, w->index, w->a, NULL))
#define CALL(name)                                                                       \
    (memcpy(w->c_to, w->c_table, (size_t)(w->n / SHARE) * pith_dtype_size(w->dtype)),    \
     scatter_add_##name(w->c_to, w->c_a, w->c_index, w->n))
C_ROW(scatter_add, CALL)
#undef CALL

PITH_ROW(segment_sum, pith_segment_sum(s, w->a, w->index, w->n / SHARE, NULL))
PITH_ROW(segment_sum_sorted,
         pith_segment_sum(s,
                          w->a,
                          w->ids,
                          w->n / SHARE,
                          &(pith_segment_options){.sorted = true}))
#define CALL(name)                                                                       \
    (memset(w->c_to, 0, (size_t)(w->n / SHARE) * pith_dtype_size(w->dtype)),             \
     scatter_add_##name(w->c_to, w->c_a, w->c_index, w->n))
C_ROW(segment_sum, CALL)
#undef CALL
#define CALL(name)                                                                       \
    (memset(w->c_to, 0, (size_t)(w->n / SHARE) * pith_dtype_size(w->dtype)),             \
     scatter_add_##name(w->c_to, w->c_a, w->c_ids, w->n))
C_ROW(segment_sum_sorted, CALL)
#undef CALL

static const struct {
    const char *name;
    void (*pith)(void *), (*c)(void *); /* c NULL: there is none */
    bool shared;                        /* the loop in C has threads */
} rows[] = {
    {"sort", sort_pith, sort_c, false},
    {"argsort", argsort_pith, argsort_c, false},
    {"top_k", top_k_pith, NULL, false},
    {"cumsum", cumsum_pith, cumsum_c, false},
    {"take", take_pith, take_c, true},
    {"scatter_add", scatter_add_pith, scatter_add_c, false},
    {"segment_sum", segment_sum_pith, segment_sum_c, false},
    {"segment_sum_sorted", segment_sum_sorted_pith, segment_sum_sorted_c, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool row_name(char text[64], const Work *w, int row, const char *only) {
    snprintf(text, 64, "order/%s/%s/%lld/%d", rows[row].name, pith_dtype_name(w->dtype),
             (long long)w->n, w->threads);
    return bench_wanted(text, only);
}

/* xorshift64: the same numbers in every run. */
static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill(Work *w) {
    uint64_t state = 88172645463325252u;
    const int64_t places = w->n / SHARE;
    for (int64_t i = 0; i < w->n; i++) {
        const double x = (double)(draw(&state) >> 11) * 0x1p-52 - 1; /* from -1 to 1 */
        if (w->dtype == PITH_F32)
            ((float *)w->c_a)[i] = (float)x;
        else if (w->dtype == PITH_F64)
            ((double *)w->c_a)[i] = x;
        else
            ((int32_t *)w->c_a)[i] = (int32_t)(x * 2147483647);
        w->c_index[i] = (int32_t)(draw(&state) % (uint64_t)places);
        w->c_ids[i] = (int32_t)(i / SHARE);
    }
    const size_t size = pith_dtype_size(w->dtype);
    memcpy(w->c_table, w->c_a, (size_t)places * size);
    memset(w->c_to, 0, (size_t)w->n * 8);
    memset(w->c_work, 0, (size_t)w->n * 4 * size);
    w->a = pith_array_copy(w->s, w->dtype, PITH_SHAPE(w->n), w->c_a);
    w->table = pith_array_copy(w->s, w->dtype, PITH_SHAPE(places), w->c_table);
    w->index = pith_array_copy(w->s, PITH_I32, PITH_SHAPE(w->n), w->c_index);
    w->ids = pith_array_copy(w->s, PITH_I32, PITH_SHAPE(w->n), w->c_ids);
}

static void measure(Work *w, const char *only) {
    char text[64];
    bool any = false;
    for (int i = 0; i < ROWS; i++)
        any |= row_name(text, w, i, only);
    if (!any)
        return;
    const size_t n = (size_t)w->n, size = pith_dtype_size(w->dtype);
    w->c_a = malloc(n * size), w->c_table = malloc(n / SHARE * size);
    w->c_to = malloc(n * 8), w->c_work = malloc(n * 4 * size);
    w->c_index = malloc(n * 4), w->c_ids = malloc(n * 4);
    fill(w);
    bench_check(w->s);
    for (int i = 0; i < ROWS; i++)
        if (row_name(text, w, i, only))
            bench_row(
                text, "ns/element", 1e9 / (double)w->n,
                rows[i].c && (w->threads == 1 || rows[i].shared) ? 2 : 1,
                (const bench_entry[]){{"pith", rows[i].pith, w}, {"c", rows[i].c, w}});
    bench_check(w->s);
    free(w->c_a), free(w->c_table), free(w->c_to), free(w->c_work);
    free(w->c_index), free(w->c_ids);
}

int main(int argc, char **argv) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_F64, PITH_I32};
    const char *only = bench_only(argc, argv);
    for (int threads = 1; threads <= (bench_on_host() ? 2 : 1); threads++) {
        bench_rest_ms = threads > 1 ? 20 : 0;
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = bench_device(), .threads = threads});
        for (int64_t n = 1000000 * bench_scale(); n <= 10000000 * bench_scale(); n *= 10)
            for (int k = 0; k < 3; k++) {
                pith_scope *s = pith_scope_open(rt);
                measure(&(Work){.s = s, .dtype = dtypes[k], .n = n, .threads = threads},
                        only);
                pith_scope_close(s);
            }
        pith_close(rt);
    }
    return EXIT_SUCCESS;
}
