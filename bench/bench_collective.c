/* Sums over two ranks and the agreements of steps, in microseconds, beside MPI on the
 * same memory: mpirun -np 2 bench_collective.
 *
 * ranks/step/psum: a sum of 8 bytes in a compiled step of 64 sums, a sixty-fourth of the
 * call, beside MPI_Allreduce. ranks/step/one: a call of a step with one sum, beside
 * MPI_Allreduce of 64 bytes and of 8; ranks/step/checked: with a check, too, beside two
 * of 64 bytes and one of 8. ranks/agree: what pith_agree takes, and what pith_propagate
 * takes longer with ranks than without, beside MPI_Allreduce of 64 bytes. ranks/psum/N:
 * an ordered sum of N bytes, f64, in a compiled function of several, beside
 * MPI_Allreduce, whose order is the engine's; ranks/eager/N: as an eager call;
 * ranks/unordered/N. ranks/rows/N: an ordered sum of N bytes of which a sixteenth is in
 * use, in a compiled function of several, beside MPI_Allreduce of 8 bytes and of what is
 * in use. */
#include "bench_ranks.h"

enum { CHAIN = 64, WORDS = 8 };

typedef struct {
    pith_scope *s, *alone; /* the mesh is of s */
    const pith_function *step;
    const pith_array *a, *rows;
    int64_t bytes, sums; /* of an array; in a step */
    double *own, *sum;
} Work;

/* ---- pith ---- */

static int64_t sums; /* in the step that is recorded */
static bool unordered;
static const void *add_up(pith_scope *s, const void *a) {
    for (int64_t i = 0; i < sums; i++)
        a = pith_psum(s, a, "x", &(pith_collective_options){.unordered = unordered});
    return a;
}
PITH_FUNCTION1(add_up_step, add_up, void, void)

static const void *add_up_checked(pith_scope *s, const void *a) {
    pith_check(s, pith_is_finite(s, a), "finite");
    return pith_psum(s, a, "x", NULL);
}
PITH_FUNCTION1(add_up_checked_step, add_up_checked, void, void)

static const void *scaled(pith_scope *s, const void *a) {
    return pith_mul(s, a, pith_f64(s, 0.5));
}
PITH_FUNCTION1(scaled_step, scaled, void, void)

static void call_step(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->step, w->a);
    pith_scope_close(s);
}

static void psum(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_psum(s, w->a, "x", NULL);
    pith_scope_close(s);
}

static void agree(void *closure) {
    pith_agree(((const Work *)closure)->s);
}

static void propagate(pith_scope *in, const Work *w) {
    pith_scope *s = pith_scope_open_in(in);
    pith_propagate_any(s, NULL, w->step, w->a, NULL);
    pith_scope_close(s);
}
static void propagate_ranks(void *closure) {
    propagate(((const Work *)closure)->s, closure);
}
static void propagate_alone(void *closure) {
    propagate(((const Work *)closure)->alone, closure);
}

enum { PARTS = 16, COLUMNS = 8 };

static const void *add_up_rows(pith_scope *s, const void *a, const void *rows) {
    for (int64_t i = 0; i < sums; i++)
        a = pith_psum(s, a, "x", &(pith_collective_options){.rows = rows});
    return a;
}
PITH_FUNCTION2(add_up_rows_step, add_up_rows, void, void, void)

static void call_step_of_rows(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_call(s, w->step, 2, (const void *[]){w->a, w->rows});
    pith_scope_close(s);
}

/* ---- MPI ---- */

static void reduce_all(void *closure) {
    const Work *w = closure;
    for (int64_t i = 0; i < w->sums; i++)
        MPI_Allreduce(w->own, w->sum, (int)(w->bytes / 8), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
}
static void reduce_part(void *closure) {
    const Work *w = closure;
    for (int64_t i = 0; i < w->sums; i++) {
        int64_t most = 0;
        MPI_Allreduce(&i, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(w->own, w->sum, (int)(w->bytes / 8 / PARTS), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}
static void reduce_words(void *closure) {
    const Work *w = closure;
    MPI_Allreduce(w->own, w->sum, WORDS, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
}
static void reduce_checked(void *closure) {
    reduce_words(closure);
    reduce_all(closure);
    reduce_words(closure);
}
static void reduce_both(void *closure) {
    reduce_words(closure);
    reduce_all(closure);
}

/* ---- Rows ---- */

static void compile(Work *w, int64_t count, bool in_any_order) {
    sums = count;
    unordered = in_any_order;
    w->sums = count;
    pith_jit_clear(pith_scope_runtime(w->s));
    w->step = pith_jit(w->s, &add_up_step, NULL);
    call_step(w);
}

static void rows_of_steps(Work *w, const char *only) {
    w->bytes = 8;
    w->a = pith_f64(w->s, 0);
    if (bench_wanted("ranks/step/psum", only)) {
        compile(w, CHAIN, false);
        bench_ranks_of("ranks/step/psum", 8, CHAIN, w, call_step, reduce_all);
    }
    if (bench_wanted("ranks/step/one", only)) {
        compile(w, 1, false);
        bench_ranks_of("ranks/step/one", 8, 1, w, call_step, reduce_both);
    }
    if (bench_wanted("ranks/step/checked", only)) {
        w->sums = 1;
        w->step = pith_jit(w->s, &add_up_checked_step, NULL);
        call_step(w);
        bench_ranks_of("ranks/step/checked", 8, 1, w, call_step, reduce_checked);
    }
    if (bench_wanted("ranks/agree/eager", only))
        bench_ranks_of("ranks/agree/eager", 8, 1, w, agree, reduce_words);
    if (bench_wanted("ranks/agree/step", only)) {
        void (*const run[])(void *) = {propagate_ranks, propagate_alone, reduce_words};
        double values[3];
        w->step = pith_jit(w->s, &scaled_step, NULL);
        bench_ranks_measure(3, run, w, 1000, values);
        bench_ranks_print("ranks/agree/step",
                          (double[]){values[0] - values[1], values[2]});
    }
}

/* One size: calls of a step with several sums, unless they are large. */
static void rows_of_size(Work *w, int64_t bytes, const char *only) {
    static const char *const kinds[] = {"psum", "unordered", "eager"};
    pith_scope *outer = w->s, *s = pith_scope_open_in(outer);
    w->s = s;
    w->bytes = bytes;
    w->a = pith_full(s, PITH_F64, PITH_SHAPE(bytes / 8), 1);
    for (int k = 0; k < 3; k++) {
        char row[64];
        snprintf(row, sizeof row, "ranks/%s/%lld", kinds[k], (long long)bytes);
        if (!bench_wanted(row, only))
            continue;
        if (k < 2)
            compile(w, bytes > 1 << 16 ? 4 : CHAIN / 4, k == 1);
        else
            w->sums = 1;
        bench_ranks_of(row, bytes, (double)w->sums, w, k < 2 ? call_step : psum,
                       reduce_all);
    }
    pith_scope_close(s);
    w->s = outer;
}

/* Rows of 64 bytes, a sixteenth of which is in use. */
static void rows_in_use(Work *w, int64_t bytes, const char *only) {
    char row[64];
    pith_scope *outer = w->s, *s = pith_scope_open_in(outer);
    const int64_t n = bytes / 8 / COLUMNS;
    snprintf(row, sizeof row, "ranks/rows/%lld", (long long)bytes);
    if (bench_wanted(row, only)) {
        w->s = s;
        w->bytes = bytes;
        w->a = pith_full(s, PITH_F64, PITH_SHAPE(n, COLUMNS), 1);
        w->rows = pith_i64(s, n / PARTS);
        sums = w->sums = bytes > 1 << 20 ? 4 : CHAIN / 4;
        pith_jit_clear(pith_scope_runtime(s));
        w->step = pith_jit(s, &add_up_rows_step, NULL);
        call_step_of_rows(w);
        bench_ranks_of(row, bytes, (double)w->sums, w, call_step_of_rows, reduce_part);
    }
    pith_scope_close(s);
    w->s = outer;
}

static void rows(pith_scope *s, int rank, const char *only) {
    const int64_t most = 64 << 20;
    (void)rank;
    Work w = {.s = s,
              .alone = pith_scope_open(pith_scope_runtime(s)),
              .own = calloc((size_t)most, 1),
              .sum = calloc((size_t)most, 1)};
    for (int64_t k = 0; w.own && k < most / 8; k++) /* else its pages are one page */
        w.own[k] = 1;
    if (w.own && w.sum) {
        rows_of_steps(&w, only);
        for (int64_t bytes = 64; bytes <= most; bytes *= 8)
            rows_of_size(&w, bytes, only);
        rows_of_size(&w, 64 << 10, only);
        rows_of_size(&w, most, only);
        for (int64_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 16)
            rows_in_use(&w, bytes, only);
    }
    bench_check(w.alone);
    pith_scope_close(w.alone);
    free(w.own);
    free(w.sum);
}

int main(int argc, char **argv) {
    return bench_ranks_main(argc, argv, rows);
}
