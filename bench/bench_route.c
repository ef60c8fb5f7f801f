/* Halos and routes between two ranks, from 1 KiB to 8 MiB a message, in microseconds, in
 * compiled steps of several and (route/eager/...) as eager calls: mpirun -np 2
 * bench_route. The peer "mpi" does the same by hand, in memory that it has already: it
 * packs rows, starts MPI_Isend and MPI_Irecv, and waits.
 *
 * halo/N: a block of two rows of N bytes, with one row of each neighbour. The peer copies
 * the block, too. route/N: half of the rows f64[n,3] of an array, N bytes, to the other
 * rank and back from it. leaves/N: N bytes of rows in all, of two leaves f64[n,3] that
 * have 50 times as many. */
#include "bench_ranks.h"

typedef struct {
    pith_scope *s;
    int other; /* rank */
    const pith_array *block, *rows;
    const pith_route *route;
    const void *routes;                         /* two equal ones */
    const pith_function *halo_step, *send_step; /* compiled */
    int64_t bytes, count;                       /* of a message; rows in it */
    const double *own;                          /* the peer's */
    double *packed, *result;
    const int32_t *index;
} Work;

/* ---- pith ---- */

static void halo_pith(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_halo(s, w->block, 0, "x", 1, 1, true);
    pith_scope_close(s);
}

static void route_pith(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_route_send(s, w->route, w->rows);
    pith_scope_close(s);
}

/* The same in steps that are compiled, of several each; the route is an argument. */
static int64_t chain; /* of the steps that are recorded */

static const void *halo_of(pith_scope *s, const void *a) {
    const pith_array *last = NULL;
    for (int64_t k = 0; k < chain; k++)
        last = pith_halo(s, a, 0, "x", 1, 1, true);
    return last;
}
PITH_FUNCTION1(halo_step, halo_of, void, void)

/* By two routes in turn: what goes by one route at once is one message. */
static const void *send_by(pith_scope *s, const void *routes, const void *rows) {
    const void *last = NULL;
    for (int64_t k = 0; k < chain; k++)
        last = pith_route_send(s, pith_child(routes, k % 2), rows);
    return last;
}
PITH_FUNCTION2(send_step, send_by, void, void, void)

static void halo_compiled(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->halo_step, w->block);
    pith_scope_close(s);
}

static void route_compiled(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->send_step, w->routes, w->rows);
    pith_scope_close(s);
}

/* ---- By hand ---- */

static void halo_mpi(void *closure) {
    const Work *w = closure;
    const size_t row = (size_t)w->bytes;
    char *to = (char *)w->result;
    const char *own = (const char *)w->own;
    const int n = (int)w->bytes;
    MPI_Request r[4];
    MPI_Irecv(to + 3 * row, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(to, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(own, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(own + row, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[3]);
    memcpy(to + row, own, 2 * row);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void route_mpi(void *closure) {
    const Work *w = closure;
    const int n = (int)w->bytes;
    MPI_Request r[2];
    MPI_Irecv(w->result, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[0]);
    for (int64_t k = 0; k < w->count; k++)
        memcpy(w->packed + 3 * k, w->own + 3 * w->index[k], 3 * sizeof(double));
    MPI_Isend(w->packed, n, MPI_BYTE, w->other, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void halos_mpi(void *closure) {
    for (int64_t k = 0; k < chain; k++)
        halo_mpi(closure);
}
static void routes_mpi(void *closure) {
    for (int64_t k = 0; k < chain; k++)
        route_mpi(closure);
}

/* ---- Rows ---- */

static void row_of(const char *name,
                   const Work *w,
                   double parts,
                   void (*pith)(void *),
                   void (*mpi)(void *),
                   const char *only) {
    char row[64];
    snprintf(row, sizeof row, "route/%s/%lld", name, (long long)w->bytes);
    if (bench_wanted(row, only))
        bench_ranks_of(row, w->bytes, parts, (void *)(uintptr_t)w, pith, mpi);
}

static void rows_of(pith_scope *s, int rank, int64_t bytes, const char *only) {
    Work w = {.s = s, .other = 1 - rank, .bytes = bytes / 24 * 24};
    w.count = w.bytes / 24;
    const int64_t row = w.bytes / 8, all = 2 * row;
    w.block = pith_iota(s, PITH_F64, PITH_SHAPE(2, row), 1);
    w.rows = pith_iota(s, PITH_F64, PITH_SHAPE(2 * w.count, 3), 0);
    const pith_array *index = pith_mul(s, pith_arange(s, PITH_I32, w.count), 2);
    const pith_array *to = pith_full(s, PITH_I32, PITH_SHAPE(w.count), w.other);
    w.route = pith_route_make(s, index, to, "x", NULL);
    w.routes = pith_tuple_make(
        s, 2, (const void *[]){w.route, pith_route_make(s, index, to, "x", NULL)});
    double *own = calloc((size_t)all, sizeof *own);
    int32_t *places = calloc((size_t)w.count, sizeof *places);
    w.packed = calloc((size_t)row, sizeof *w.packed);
    w.result = calloc((size_t)(2 * all), sizeof *w.result);
    if (own && places && w.packed && w.result) {
        for (int64_t k = 0; k < w.count; k++)
            places[k] = (int32_t)(2 * k);
        for (int64_t k = 0; k < all; k++) /* else all its pages are one page of zeros */
            own[k] = (double)k;
        w.own = own;
        w.index = places;
        w.halo_step = pith_jit(s, &halo_step, NULL);
        w.send_step = pith_jit(s, &send_step, NULL);
        chain = bytes > 1 << 17 ? 2 : bytes > 1 << 12 ? 16 : 64;
        pith_jit_clear(pith_scope_runtime(s));
        row_of("eager/halo", &w, 1, halo_pith, halo_mpi, only);
        row_of("eager/rows", &w, 1, route_pith, route_mpi, only);
        row_of("halo", &w, (double)chain, halo_compiled, halos_mpi, only);
        row_of("rows", &w, (double)chain, route_compiled, routes_mpi, only);
    }
    free(own);
    free(places);
    free(w.packed);
    free(w.result);
}

/* ---- Several leaves ---- */

enum { LEAF_ROWS = 100000, LEAF_SENT = 2000, LEAF_APART = LEAF_ROWS / LEAF_SENT };

typedef struct {
    pith_scope *s;
    int other;
    const void *leaves;
    const void *routes; /* one */
    const pith_function *step;
    double *own[2], *packed, *result;
} Leaves;

static void leaves_compiled(void *closure) {
    const Leaves *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->step, w->routes, w->leaves);
    pith_scope_close(s);
}

static void copy_rows(double *to, size_t to_row, const double *from, size_t from_row) {
    for (size_t k = 0; k < LEAF_SENT; k++)
        memcpy(to + to_row * k, from + from_row * k, 3 * sizeof(double));
}

static void leaves_mpi(void *closure) {
    const Leaves *w = closure;
    const int n = 6 * LEAF_SENT;
    MPI_Request r[2];
    MPI_Irecv(w->packed + n, n, MPI_DOUBLE, w->other, 0, MPI_COMM_WORLD, &r[0]);
    for (int i = 0; i < 2; i++)
        copy_rows(w->packed + 3 * i, 6, w->own[i], 3 * LEAF_APART);
    MPI_Isend(w->packed, n, MPI_DOUBLE, w->other, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++)
        copy_rows(w->result + 3 * LEAF_SENT * i, 3, w->packed + n + 3 * i, 6);
}

static void leaves(pith_scope *s, int rank) {
    Leaves w = {.s = s, .other = 1 - rank};
    const pith_array *a = pith_iota(s, PITH_F64, PITH_SHAPE(LEAF_ROWS, 3), 0);
    const pith_array *index =
        pith_mul(s, pith_arange(s, PITH_I32, LEAF_SENT), LEAF_APART);
    const pith_array *to = pith_full(s, PITH_I32, PITH_SHAPE(LEAF_SENT), w.other);
    w.leaves = pith_tuple_make(s, 2, (const void *[]){a, pith_add(s, a, 1)});
    const pith_route *route = pith_route_make(s, index, to, "x", NULL);
    w.routes = pith_tuple_make(s, 1, (const void *[]){route});
    double *memory = calloc(6 * (LEAF_ROWS + 3 * LEAF_SENT), sizeof *memory);
    if (memory) {
        for (int k = 0; k < 6 * LEAF_ROWS; k++)
            memory[k] = k;
        w.own[0] = memory;
        w.own[1] = memory + 3 * LEAF_ROWS;
        w.packed = memory + 6 * LEAF_ROWS;
        w.result = w.packed + 12 * LEAF_SENT;
        chain = 1; /* equal leaves would be packed once */
        pith_jit_clear(pith_scope_runtime(s));
        w.step = pith_jit(s, &send_step, NULL);
        bench_ranks_of("route/leaves/96000", 1 << 17, 1, &w, leaves_compiled, leaves_mpi);
    }
    free(memory);
}

static void rows(pith_scope *s, int rank, const char *only) {
    if (bench_wanted("route/leaves/96000", only))
        leaves(s, rank);
    for (int64_t bytes = 1024; bytes <= 8 << 20; bytes *= bytes == 1 << 22 ? 2 : 8) {
        pith_scope *in = pith_scope_open_in(s);
        rows_of(in, rank, bytes, only);
        pith_scope_close(in);
    }
}

int main(int argc, char **argv) {
    return bench_ranks_main(argc, argv, rows);
}
