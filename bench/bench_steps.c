/* Compiled functions of several operations: moves, gathers, scatters and reductions with
 * their producers and consumers, on one thread, in ns per element; loops of small steps,
 * in ns per iteration; and the first result of a new process, in ms. The peer "tier0" is
 * the interpreter, "c" peers/steps.c. Rows: steps/... */
#include "bench.h"
#include "bench_steps_kernels.h"
#include "peers/steps.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;

typedef struct {
    const pith_array *a, *b, *index;
} Data;
PITH_NODE(Data,
          PITH_LEAF(a, "f64[n]"),
          PITH_LEAF(b, "f64[n]"),
          PITH_LEAF(index, "i32[n]"))

static const pith_array *number(pith_scope *s, double value) {
    return pith_f64(s, value);
}

/* ---- Steps ---- */

static int64_t side_of(const pith_array *a) {
    int64_t side = 1;
    while (side * side < pith_array_spec(a)->count)
        side++;
    return side;
}

static const pith_array *square_of(pith_scope *s, const pith_array *a) {
    return pith_reshape(s, a, PITH_SHAPE(side_of(a), side_of(a)));
}

static const pith_array *
part(pith_scope *s, const pith_array *a, int64_t from_row, int64_t from_column) {
    const int64_t n = pith_array_spec(a)->shape[0] - 2;
    return pith_slice_array(
        s, a, 2,
        (pith_slice[]){{from_row, from_row + n, 1}, {from_column, from_column + n, 1}});
}

static const pith_array *five(pith_scope *s, const pith_array *const x[5]) {
    const pith_array *around =
        pith_add(s, pith_add(s, pith_add(s, x[1], x[2]), x[3]), x[4]);
    return pith_add(s, pith_mul(s, number(s, 0.5), x[0]),
                    pith_mul(s, number(s, 0.125), around));
}

static const pith_array *stencil(pith_scope *s, const Data *d) {
    const pith_array *a = square_of(s, d->a);
    const pith_array *x[] = {part(s, a, 1, 1), part(s, a, 0, 1), part(s, a, 2, 1),
                             part(s, a, 1, 0), part(s, a, 1, 2)};
    return five(s, x);
}

static const pith_array *roll(pith_scope *s, const Data *d) {
    const pith_array *a = square_of(s, d->a);
    const pith_array *x[] = {a, pith_roll(s, a, 1, 0), pith_roll(s, a, -1, 0),
                             pith_roll(s, a, 1, 1), pith_roll(s, a, -1, 1)};
    return five(s, x);
}

static const pith_array *transposed(pith_scope *s, const Data *d) {
    return pith_add(s, square_of(s, d->a), pith_transpose(s, square_of(s, d->b), NULL));
}

static const pith_array *gather(pith_scope *s, const Data *d) {
    const pith_array *taken = pith_take(s, d->a, d->index, NULL);
    return pith_add(s, pith_mul(s, taken, d->b), number(s, 1));
}

static const pith_array *scatter_add(pith_scope *s, const Data *d) {
    const pith_array *into =
        pith_zeros(s, PITH_F64, PITH_SHAPE(pith_array_spec(d->a)->count / 10));
    return pith_scatter_add(s, into, d->index, pith_mul(s, d->a, d->b), NULL);
}

static const pith_array *
squares(pith_scope *s, const pith_array *a, const pith_array *b) {
    return pith_square(s, pith_add(s, pith_mul(s, a, b), number(s, 1)));
}

static const pith_array *sum(pith_scope *s, const Data *d) {
    return pith_sum(s, squares(s, d->a, d->b), PITH_ALL_AXES);
}
static const pith_array *sum_rows(pith_scope *s, const Data *d) {
    return pith_sum(s, squares(s, square_of(s, d->a), square_of(s, d->b)), PITH_AXES(1));
}
static const pith_array *sum_columns(pith_scope *s, const Data *d) {
    return pith_sum(s, squares(s, square_of(s, d->a), square_of(s, d->b)), PITH_AXES(0));
}

static const pith_array *softmax(pith_scope *s, const Data *d) {
    const pith_array *a = square_of(s, d->a);
    const pith_array *e = pith_exp(s, pith_sub(s, a, pith_max(s, a, PITH_AXES_KEPT(1))));
    return pith_div(s, e, pith_sum(s, e, PITH_AXES_KEPT(1)));
}

static const pith_array *threes(pith_scope *s, const pith_array *a) {
    const int64_t rows = pith_array_spec(a)->count / 3;
    return pith_reshape(s, pith_slice_array(s, a, 1, (pith_slice[]){{0, 3 * rows, 1}}),
                        PITH_SHAPE(rows, 3));
}
static const pith_array *few(pith_scope *s, const pith_array *a, int64_t n) {
    return pith_slice_array(s, a, 1, (pith_slice[]){{0, n, 1}});
}
static const pith_array *small_rows(pith_scope *s, const Data *d) {
    const pith_array *a = threes(s, d->a);
    const int64_t rows = pith_array_spec(a)->shape[0];
    const pith_array *by = pith_reshape(s, few(s, d->b, rows), PITH_SHAPE(rows, 1));
    return pith_add(s, pith_mul(s, a, by), few(s, d->b, 3));
}
static const pith_array *norms(pith_scope *s, const Data *d) {
    const pith_array *apart = pith_sub(s, threes(s, d->a), threes(s, d->b));
    return pith_sqrt(s, pith_sum(s, pith_square(s, apart), PITH_AXES(1)));
}

/* ---- Loops ---- */

typedef struct {
    const pith_array *carry, *out;
} Row;
PITH_NODE(Row, PITH_LEAF(carry, "any"), PITH_LEAF(out, "any"))

/* A carry with what stays as it is. */
typedef struct {
    const void *x, *b, *index; /* arrays of any shapes */
} State;
PITH_NODE(State, PITH_TREE(x), PITH_TREE(b), PITH_TREE(index))

static const Row *scan_body(pith_scope *s, const pith_array *c, const pith_array *x) {
    const pith_array *next = pith_add(s, pith_mul(s, c, number(s, 0.999)), x);
    return pith_freeze(s, Row, &(Row){next, next});
}
PITH_FUNCTION2(scan_body_step, scan_body, Row, pith_array, pith_array)
static const pith_array *loop_scan(pith_scope *s, const Data *d) {
    const void *outs = NULL;
    pith_scan(s, &scan_body_step, number(s, 0), d->a, &outs, NULL);
    return outs;
}

static const pith_array *below(pith_scope *s, const State *c) {
    return pith_less(s, c->index, pith_i64(s, STEPS_TIMES));
}
static const State *newton(pith_scope *s, const State *c) {
    State next = *c;
    next.x =
        pith_mul(s, number(s, 0.5), pith_add(s, c->x, pith_div(s, number(s, 2), c->x)));
    next.index = pith_add(s, c->index, pith_i64(s, 1));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(below_test, below, pith_array, State)
PITH_FUNCTION1(newton_step, newton, State, State)
static const pith_array *loop_while(pith_scope *s, const Data *d) {
    const State start = {pith_slice_at(s, d->a, 0, 0), number(s, 0), pith_i64(s, 0)};
    const State *end =
        pith_while(s, &below_test, &newton_step, pith_freeze(s, State, &start));
    return end->x;
}

/* Bodies on a State: x becomes what EXPRESSION gives of x, b, index and the iteration i.
 */
#define LOOP_BODY(name, EXPRESSION)                                                      \
    static const State *name##_body(pith_scope *s, const pith_array *i,                  \
                                    const State *c) {                                    \
        State next = *c;                                                                 \
        (void)i;                                                                         \
        next.x = EXPRESSION;                                                             \
        return pith_freeze(s, State, &next);                                             \
    }                                                                                    \
    PITH_FUNCTION2(name##_step, name##_body, State, pith_array, State)
#define LOOP(name, ELEMENTS, X, B, EXPRESSION)                                           \
    LOOP_BODY(name, EXPRESSION)                                                          \
    static const pith_array *loop_##name(pith_scope *s, const Data *d) {                 \
        const State start = {X, B, few(s, d->index, ELEMENTS)};                          \
        const State *end =                                                               \
            pith_fori(s, 0, STEPS_TIMES, &name##_step, pith_freeze(s, State, &start));   \
        return end->x;                                                                   \
    }

LOOP(madd,
     STEPS_SMALL,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, STEPS_SMALL),
     pith_add(s, pith_mul(s, c->x, number(s, 0.999)), c->b))

LOOP(broadcast,
     3,
     pith_reshape(s, few(s, d->a, 3 * STEPS_ROWS), PITH_SHAPE(STEPS_ROWS, 3)),
     pith_reshape(s, few(s, d->b, STEPS_ROWS), PITH_SHAPE(STEPS_ROWS, 1)),
     pith_add(s,
              pith_mul(s, c->x, c->b),
              pith_reshape(s,
                           pith_slice_array(s, c->b, 1, (pith_slice[]){{0, 3, 1}}),
                           PITH_SHAPE(3))))

static const pith_array *normalised(pith_scope *s, const pith_array *x) {
    const pith_array *sum = pith_sum(s, pith_square(s, x), PITH_ALL_AXES);
    const pith_array *below =
        pith_add(s, number(s, 1), pith_mul(s, number(s, 1e-6), sum));
    return pith_mul(s, x, pith_div(s, number(s, 1), below));
}
LOOP(sum, 1, few(s, d->a, STEPS_SMALL), few(s, d->b, 1), normalised(s, c->x))

static const pith_array *half(pith_scope *s, const pith_array *x) {
    return pith_mul(s, x, number(s, 0.5));
}
static const pith_array *square_and_one(pith_scope *s, const pith_array *x) {
    return pith_add(s, pith_mul(s, x, x), number(s, 1));
}
PITH_FUNCTION1(half_step, half, pith_array, pith_array)
PITH_FUNCTION1(square_and_one_step, square_and_one, pith_array, pith_array)
LOOP(cond,
     1,
     pith_slice_at(s, d->a, 0, 0),
     few(s, d->b, 1),
     pith_cond(s,
               pith_greater(s, c->x, number(s, 0.5)),
               &half_step,
               &square_and_one_step,
               c->x))

LOOP(take,
     STEPS_SMALL,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, 1),
     pith_add(
         s,
         pith_mul(s,
                  pith_take(s,
                            c->x,
                            pith_bitwise_and(s, c->index, pith_i32(s, STEPS_SMALL - 1)),
                            NULL),
                  number(s, 0.5)),
         number(s, 1)))

LOOP(row,
     1,
     pith_zeros(s, PITH_F64, PITH_SHAPE(STEPS_SMALL)),
     pith_reshape(s,
                  few(s, d->a, STEPS_TIMES *STEPS_SMALL),
                  PITH_SHAPE(STEPS_TIMES, STEPS_SMALL)),
     pith_add(s, c->x, pith_take(s, c->b, i, NULL)))

LOOP(scatter,
     STEPS_ROWS,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, STEPS_ROWS),
     pith_scatter_add(s,
                      c->x,
                      pith_bitwise_and(s, c->index, pith_i32(s, STEPS_SMALL - 1)),
                      c->b,
                      NULL))

LOOP_BODY(inner, pith_add(s, pith_mul(s, c->x, number(s, 0.999)), c->b))
static const State *outer_body(pith_scope *s, const pith_array *i, const State *c) {
    const State *end = pith_fori(s, 0, 10, &inner_step, c);
    State next = *end;
    (void)i;
    next.x = pith_add(s, end->x, number(s, 1));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION2(outer_step, outer_body, State, pith_array, State)
static const pith_array *loop_nested(pith_scope *s, const Data *d) {
    const State start = {few(s, d->a, STEPS_ROWS), few(s, d->b, STEPS_ROWS),
                         few(s, d->index, 1)};
    const State *end =
        pith_fori(s, 0, STEPS_TIMES / 10, &outer_step, pith_freeze(s, State, &start));
    return end->x;
}

/* A check of all elements in each iteration, and in the first one that fails what they
 * were at most. */
static const pith_array *
checked(pith_scope *s, const pith_array *x, const pith_array *b) {
    const pith_array *next = pith_add(s, pith_mul(s, x, number(s, 0.999)), b);
    pith_check(s, pith_less(s, next, number(s, 1e6)), "{most} is too much",
               .level = PITH_CHECK_ALWAYS,
               .args = {{"most", pith_max(s, next, PITH_ALL_AXES)}});
    return next;
}
LOOP(check,
     STEPS_SMALL,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, STEPS_SMALL),
     checked(s, c->x, c->b))

static const pith_array *drawn(pith_scope *s, const pith_array *i, const pith_array *x) {
    const pith_array *key = pith_random_fold_in(s, pith_random_key(s, 1), i);
    const pith_array *noise =
        pith_random_uniform(s, key, PITH_F64, PITH_SHAPE(STEPS_SMALL), -1, 1, NULL);
    return pith_add(s, pith_mul(s, x, number(s, 0.999)), noise);
}
LOOP(draw, 1, few(s, d->a, STEPS_SMALL), few(s, d->b, 1), drawn(s, i, c->x))

LOOP(product,
     1,
     few(s, d->a, STEPS_ROWS),
     pith_reshape(s,
                  few(s, d->b, STEPS_ROWS *STEPS_ROWS),
                  PITH_SHAPE(STEPS_ROWS, STEPS_ROWS)),
     pith_add(s, pith_mul(s, pith_matmul(s, c->b, c->x), number(s, 0.05)), number(s, 1)))

LOOP(kernel,
     1,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, STEPS_SMALL),
     pith_launch(s, relax, c->x, c->b).next)

LOOP(sort,
     1,
     few(s, d->a, STEPS_SMALL),
     few(s, d->b, STEPS_SMALL),
     pith_sort(s, pith_add(s, pith_mul(s, c->x, number(s, -0.999)), c->b), 0, NULL))

static const pith_array *mixed(pith_scope *s, const Data *d) {
    return pith_add(s, pith_mul(s, d->a, pith_cast(s, d->index, PITH_F64)), d->b);
}
static const pith_array *sort(pith_scope *s, const Data *d) {
    return pith_mul(s, pith_sort(s, mixed(s, d), 0, NULL), number(s, 2));
}
static const pith_array *argsort(pith_scope *s, const Data *d) {
    return pith_add(s, pith_argsort(s, mixed(s, d), 0, NULL), pith_i64(s, 1));
}
static const pith_array *matmul(pith_scope *s, const Data *d) {
    const pith_array *product = pith_matmul(s, square_of(s, d->a), square_of(s, d->b));
    return pith_maximum(s, pith_sub(s, product, number(s, 128)), number(s, 0));
}

/* ---- Rows ---- */

#define STEP(name) PITH_FUNCTION1(name##_function, name, pith_array, Data)
STEP(stencil)
STEP(roll)
STEP(transposed)
STEP(gather)
STEP(scatter_add)
STEP(sum)
STEP(sum_rows)
STEP(sum_columns)
STEP(softmax)
STEP(small_rows)
STEP(norms)
STEP(sort)
STEP(argsort)
STEP(matmul)
STEP(loop_scan)
STEP(loop_while)
STEP(loop_madd)
STEP(loop_broadcast)
STEP(loop_sum)
STEP(loop_cond)
STEP(loop_take)
STEP(loop_row)
STEP(loop_scatter)
STEP(loop_nested)
STEP(loop_check)
STEP(loop_draw)
STEP(loop_product)
STEP(loop_kernel)
STEP(loop_sort)

static const struct {
    const char *name;
    const pith_function *step;
    void (*plain)(const steps_data *);
    int64_t side; /* the arrays have side^2 elements; 0: a loop */
    int64_t most; /* the greatest index, or 0: n - 1 */
} rows[] = {
    {"stencil", &stencil_function, steps_stencil, 2048, 0},
    {"roll", &roll_function, steps_roll, 2048, 0},
    {"transposed", &transposed_function, steps_transposed, 1024, 0},
    {"gather", &gather_function, steps_gather, 1000, 99999},
    {"scatter_add", &scatter_add_function, steps_scatter_add, 1000, 99999},
    {"sum", &sum_function, steps_sum, 1000, 0},
    {"sum_rows", &sum_rows_function, steps_sum_rows, 1000, 0},
    {"sum_columns", &sum_columns_function, steps_sum_columns, 1000, 0},
    {"softmax", &softmax_function, steps_softmax, 1000, 0},
    {"small_rows", &small_rows_function, steps_small_rows, 1000, 0},
    {"norms", &norms_function, steps_norms, 1000, 0},
    {"sort", &sort_function, steps_sort, 1000, 99999},
    {"argsort", &argsort_function, steps_argsort, 1000, 99999},
    {"matmul", &matmul_function, steps_matmul, 512, 0},
    {"loop/scan", &loop_scan_function, steps_loop_scan, 0, 0},
    {"loop/while", &loop_while_function, steps_loop_while, 0, 0},
    {"loop/madd", &loop_madd_function, steps_loop_madd, 0, 0},
    {"loop/broadcast", &loop_broadcast_function, steps_loop_broadcast, 0, 0},
    {"loop/sum", &loop_sum_function, steps_loop_sum, 0, 0},
    {"loop/cond", &loop_cond_function, steps_loop_cond, 0, 0},
    {"loop/take", &loop_take_function, steps_loop_take, 0, 0},
    {"loop/row", &loop_row_function, steps_loop_row, 0, 0},
    {"loop/scatter", &loop_scatter_function, steps_loop_scatter, 0, 0},
    {"loop/nested", &loop_nested_function, steps_loop_nested, 0, 0},
    {"loop/check", &loop_check_function, steps_loop_check, 0, 0},
    {"loop/draw", &loop_draw_function, steps_loop_draw, 0, 0},
    {"loop/product", &loop_product_function, steps_loop_product, 0, 0},
    {"loop/kernel", &loop_kernel_function, steps_loop_kernel, 0, 0},
    {"loop/sort", &loop_sort_function, steps_loop_sort, 0, 0},
};

typedef struct {
    pith_scope *s;
    const pith_function *compiled;
    const Data *data;
    void (*plain)(const steps_data *);
    steps_data c;
} Work;

static void run_pith(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->compiled, w->data);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}

static void run_c(void *closure) {
    const Work *w = closure;
    w->plain(&w->c);
    __asm__ volatile("" ::: "memory");
}

/* A function that was called once, while the environment says when code is compiled. */
static Work prepare(pith_runtime *rt, const char *when, size_t row, const steps_data *c) {
    Work w = {.s = pith_scope_open(rt), .plain = rows[row].plain, .c = *c};
    setenv("PITH_JIT", when, 1);
    w.compiled = pith_jit(w.s, rows[row].step, NULL);
    const Data data = {pith_array_borrow(w.s, PITH_F64, PITH_SHAPE(c->n), c->a),
                       pith_array_borrow(w.s, PITH_F64, PITH_SHAPE(c->n), c->b),
                       pith_array_borrow(w.s, PITH_I32, PITH_SHAPE(c->n), c->index)};
    w.data = pith_freeze(w.s, Data, &data);
    run_pith(&w);
    return w;
}

/* Memory in large pages, as arrays have, so that all may read the same: copies for each
 * would drive one another out of the cache, where a peer in a process of its own has one.
 * Parts of it begin at different places of their pages, or a processor would take reads
 * of one for those of what was just written to another. */
enum { PAGE = 4096, APART = 13 * 64 };
static size_t part_bytes(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE + APART;
}
static void *huge(size_t bytes) {
    const size_t page = (size_t)1 << 21, whole = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, whole);
    madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

static steps_data make_data(size_t row) {
    const int64_t loop =
        rows[row].step == &loop_scan_function ? STEPS_TIMES : STEPS_TIMES * STEPS_SMALL;
    const int64_t side = rows[row].side * bench_scale(), n = side ? side * side : loop;
    const int64_t places = rows[row].most ? rows[row].most + 1 : n;
    const size_t each = part_bytes((size_t)n * sizeof(double));
    char *memory = huge(4 * each + (size_t)n * 4 * sizeof(double));
    double *a = (void *)memory, *b = (void *)(memory + each),
           *to = (void *)(memory + 2 * each), *work = (void *)(memory + 4 * each);
    int32_t *index = (void *)(memory + 3 * each);
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = 0.25 + (double)(i * 7919 % 4096) / 8192;
        b[i] = 0.25 + (double)(i * 104729 % 4096) / 8192;
        index[i] = (int32_t)((state >> 33) % (uint64_t)places);
        to[i] = 0;
    }
    memset(work, 0, (size_t)n * 4 * sizeof *work);
    return (steps_data){a, b, index, to, work, n, side};
}

static void free_data(const steps_data *c) {
    free((void *)(uintptr_t)c->a); /* all of it */
}

static void measure(const char *text, size_t row) {
    const pith_open_options host = {.device = bench_device(), .threads = 1};
    pith_runtime *compiling = pith_open(&host), *interpreting = pith_open(&host);
    steps_data c = make_data(row);
    Work compiled = prepare(compiling, "wait", row, &c),
         interpreted = prepare(interpreting, "off", row, &c);
    const bool loop = rows[row].side == 0;
    bench_row(text, loop ? "ns/iteration" : "ns/element",
              1e9 / (double)(loop ? STEPS_TIMES : c.n), 3,
              (const bench_entry[]){{"pith", run_pith, &compiled},
                                    {"tier0", run_pith, &interpreted},
                                    {"c", run_c, &compiled}});
    pith_scope_close(compiled.s);
    pith_scope_close(interpreted.s);
    pith_close(compiling);
    pith_close(interpreting);
    free_data(&c);
}

/* ---- The first result of a process ---- */

/* What the process does: the norms of 64,000 differences, once. */
static int first(void) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = bench_device(), .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_arange(s, PITH_F64, STEPS_TIMES * STEPS_SMALL);
    const Data data = {a, pith_sqrt(s, a), pith_cast(s, a, PITH_I32)};
    const pith_function *compiled = pith_jit(s, &norms_function, NULL);
    const pith_array *norm = pith_apply(s, compiled, pith_freeze(s, Data, &data));
    const double sum = pith_read_f64(s, pith_sum(s, norm, PITH_ALL_AXES));
    bench_check(s);
    pith_scope_close(s);
    pith_close(rt);
    return sum > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void run_first(void *closure) {
    char *const arguments[] = {closure, (char *)(uintptr_t) "--first", NULL};
    pid_t child;
    int status = 0;
    if (posix_spawn(&child, closure, NULL, NULL, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "bench: the process fails\n");
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--first") == 0)
        return first();
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char text[64];
        snprintf(text, sizeof text, "steps/%s", rows[row].name);
        if (bench_wanted(text, only))
            measure(text, row);
    }
    setenv("PITH_JIT", "async", 1);
    if (bench_wanted("steps/first", only))
        bench_row("steps/first", "ms", 1e3, 1,
                  (const bench_entry[]){{"pith", run_first, argv[0]}});
    return EXIT_SUCCESS;
}
