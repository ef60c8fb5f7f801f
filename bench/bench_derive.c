/* Derivatives beside values: compiled gradients, tangents and Hessian-vector products,
 * the gradient of a scan, the bytes that it keeps and its times and peaks with budgets,
 * first results of new structures, and host work of calls. One thread.
 *
 * Peers within pith: "value" computes the value alone, "gradient" the gradient,
 * "function" a compiled function with the results of a gradient, "none" makes no checks,
 * "least" is what steps must keep, "whole" has no budget. "c" is plain C by hand, "c
 * value" its value alone. Rows: derive/... */
#include "bench_derive_models.h"

#include <math.h>

enum {
    ELEMENTS = 1000000,
    SIDE = 256,
    BATCH = 128,
    LEAF = 64,
    MANY = 1000,
    PARTS = 10,
    BUDGETS = 20
};

typedef struct {
    pith_scope *s;
    const pith_function *f; /* that is called */
    const Input *in;
    const void *along; /* a tangent like in->x; or NULL */
    derive_data c;
    void (*plain)(derive_data *d);
    int64_t tag;
    bool cost; /* the program is recorded and not run */
} work;

static const pith_derive_options of_x = {.paths = PITH_PATHS("[0].x")};
static const pith_derive_options with_aux = {.paths = PITH_PATHS("[0].x"), .aux = true};

/* ---- Calls ---- */

static void call(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const void *arguments[] = {w->in, w->along};
    pith_call(s, w->f, w->along ? 2 : 1, arguments);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void push(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_jvp(s, w->f, PITH_ITEMS(w->in), w->along, &of_x);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void pull(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_vjp(s, w->f, PITH_ITEMS(w->in), &of_x);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void make_gradient(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, pith_grad(s, w->f, &of_x), w->in);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void call_map(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->f, w->along);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void collect(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const pith_result *r = pith_as_result(s, w->f, PITH_ITEMS(w->in));
    if (!pith_result_all_pass(s, r))
        bench_check(s);
    pith_scope_close(s);
}
/* A structure that has not been seen: the first result, or the program alone. */
static const Input *new_input(work *w, pith_scope *s) {
    return pith_record(s, Input, .x = w->in->x, .data = w->in->data, .tag = ++w->tag);
}
static void anew(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    const void *in = new_input(w, s);
    if (w->cost)
        pith_program_cost(s, w->f, 1, &in);
    else
        pith_call(s, w->f, 1, &in);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
/* The same in other modes, whose program cannot be had alone. */
static void push_anew(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_jvp(s, w->f, PITH_ITEMS(new_input(w, s)), w->along, &of_x);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void linearize_anew(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_linearize(s, w->f, PITH_ITEMS(new_input(w, s)), &of_x);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void pull_anew(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_vjp(s, w->f, PITH_ITEMS(new_input(w, s)), &of_x);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void plain(void *closure) {
    work *w = closure;
    w->plain(&w->c);
    __asm__ volatile("" : : "r"(&w->c) : "memory");
}

/* ---- Arguments ---- */

static const Input *input(pith_scope *s, const void *x, const void *data) {
    const Input in = {.x = x, .data = data ? data : pith_list_make(s, 0, NULL)};
    return pith_freeze(s, Input, &in);
}
static const pith_array *
numbers(pith_scope *s, pith_dtype dtype, pith_shape shape, double by) {
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++)
        n *= shape.extents[i];
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = by * (0.25 + (double)(i * 7919 % 4096) / 2048);
    const pith_array *a = pith_array_copy(s, PITH_F64, shape, values);
    free(values);
    return dtype == PITH_F64 ? a : pith_cast(s, a, dtype);
}
static const Input *vector_input(pith_scope *s, int64_t n) {
    return input(s, numbers(s, PITH_F64, PITH_SHAPE(n), 1), NULL);
}
static const Input *network_input(pith_scope *s) {
    const void *layers[2 * LAYERS];
    for (int k = 0; k < LAYERS; k++) {
        const pith_array *weight = numbers(s, PITH_F32, PITH_SHAPE(SIDE, SIDE), 0.1);
        layers[2 * k] = pith_sub(s, weight, 0.125);
        layers[2 * k + 1] = pith_zeros(s, PITH_F32, PITH_SHAPE(SIDE));
    }
    return input(s, pith_list_make(s, 2 * LAYERS, layers),
                 numbers(s, PITH_F32, PITH_SHAPE(BATCH, SIDE), 1));
}
static const Input *leaves_input(pith_scope *s, int64_t n) {
    const void *items[MANY];
    for (int64_t k = 0; k < n; k++)
        items[k] = numbers(s, PITH_F32, PITH_SHAPE(LEAF), 1);
    return input(s, pith_list_make(s, n, items), NULL);
}
static const Input *ten_input(pith_scope *s) {
    const pith_array *x = numbers(s, PITH_F32, PITH_SHAPE(LEAF), 1);
    return input(s, x, x);
}
static const Input *scan_input(pith_scope *s, int64_t n) {
    const pith_array *x = numbers(s, PITH_F64, PITH_SHAPE(n), 1);
    return input(s, pith_list_make(s, PITH_ITEMS(x, x)), NULL);
}
static const Input *lj_input(pith_scope *s) {
    double *x = malloc(3 * DERIVE_ATOMS * sizeof *x);
    int64_t width;
    derive_positions(x);
    int32_t *near = derive_lists(x, &width);
    const Input *in =
        input(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(DERIVE_ATOMS, 3), x),
              pith_array_copy(s, PITH_I32, PITH_SHAPE(DERIVE_ATOMS, width), near));
    free(x);
    free(near);
    return in;
}

/* The same for plain C. */
static derive_data plain_data(pith_scope *s, const Input *in, bool lists) {
    const pith_array *x = in->x;
    derive_data d = {.n = pith_array_spec(x)->count};
    double *copy = malloc((size_t)d.n * sizeof *copy);
    pith_read(s, x, copy, (size_t)d.n * sizeof *copy);
    d.x = copy;
    d.gradient = calloc((size_t)d.n, sizeof *d.gradient);
    if (lists)
        d.near = derive_lists(d.x, &d.width);
    return d;
}
static void plain_free(derive_data *d) {
    free((void *)(uintptr_t)d->x);
    free(d->gradient);
    free((void *)(uintptr_t)d->near);
}

/* ---- Rows: values and derivatives ---- */

typedef struct {
    const char *name;
    const pith_function *f;
    const Input *in;
    void (*plain)(derive_data *d); /* or NULL */
} model;

static bool named(char row[64], const char *kind, const char *name, const char *only) {
    snprintf(row, 64, "derive/%s/%s", kind, name);
    return bench_wanted(row, only);
}

/* The same number and gradient as plain C. */
static void compare(const work *both, const derive_data *c) {
    pith_scope *s = pith_scope_open_in(both->s);
    const void *pair = pith_apply(s, both->f, both->in);
    bench_check(s);
    const double value = pith_read_f64(s, pith_child(pair, 0));
    double *g = malloc((size_t)c->n * sizeof *g);
    pith_read(s, pith_child(pair, 1), g, (size_t)c->n * sizeof *g);
    double most = 0, apart = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const double size = g[i] < 0 ? -g[i] : g[i], off = g[i] - c->gradient[i];
        most = size > most ? size : most;
        apart = off > apart ? off : -off > apart ? -off : apart;
    }
    const double off = value - c->value, bound = 1e-9 * (value < 0 ? -value : value);
    if (off > bound || -off > bound || apart > 1e-9 * most) {
        fprintf(stderr, "bench: value %g and %g, gradients differ by %g of %g\n", value,
                c->value, apart, most);
        exit(EXIT_FAILURE);
    }
    free(g);
    pith_scope_close(s);
}

static void gradient_row(pith_scope *s, const model *m, const char *only) {
    char row[64];
    if (!named(row, "gradient", m->name, only))
        return;
    work both = {.s = s, .f = pith_value_and_grad(s, m->f, &of_x), .in = m->in};
    work value = {.s = s, .f = pith_jit(s, m->f, NULL), .in = m->in};
    bench_check(s);
    if (!m->plain) {
        bench_row(row, "ms", 1e3, 2,
                  (bench_entry[]){{"pith", call, &both}, {"value", call, &value}});
        return;
    }
    both.plain = value.plain = m->plain;
    both.c = value.c = plain_data(s, m->in, m->plain == derive_lj);
    value.c.gradient = NULL;
    plain(&both);
    compare(&both, &both.c);
    bench_row(row, "ms", 1e3, 4,
              (bench_entry[]){{"pith", call, &both},
                              {"value", call, &value},
                              {"c", plain, &both},
                              {"c value", plain, &value}});
    plain_free(&both.c);
}
static void forward_row(pith_scope *s, const model *m, const char *only) {
    char row[64];
    if (!named(row, "forward", m->name, only))
        return;
    work pushed = {.s = s, .f = m->f, .in = m->in, .along = m->in->x};
    work value = {.s = s, .f = pith_jit(s, m->f, NULL), .in = m->in};
    bench_row(row, "ms", 1e3, 2,
              (bench_entry[]){{"pith", push, &pushed}, {"value", call, &value}});
}
static void hessian_row(pith_scope *s, const model *m, const char *only) {
    char row[64];
    if (!named(row, "hessian", m->name, only))
        return;
    work product = {.s = s,
                    .f = pith_hessian_product(s, m->f, &of_x),
                    .in = m->in,
                    .along = m->in->x};
    work gradient = {.s = s, .f = pith_grad(s, m->f, &of_x), .in = m->in};
    bench_check(s);
    bench_row(row, "ms", 1e3, 2,
              (bench_entry[]){{"pith", call, &product}, {"gradient", call, &gradient}});
}
static void derivatives(pith_scope *s, const char *only) {
    const Input *numbers = vector_input(s, ELEMENTS);
    const model models[] = {
        /* near: x and its gradient are in the L2 cache */
        {"polynomial", &polynomial_of, numbers, derive_polynomial},
        {"near polynomial", &polynomial_of, vector_input(s, ELEMENTS / 10),
         derive_polynomial},
        {"transcendental", &transcendental_of, numbers, derive_transcendental},
        {"network", &network_of, network_input(s), NULL},
        {"lj", &lj_of, lj_input(s), derive_lj}};
    bench_check(s);
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        gradient_row(s, &models[k], only);
        forward_row(s, &models[k], only);
        hessian_row(s, &models[k], only);
    }
}

/* ---- Rows: scans ---- */

static void scans(pith_scope *s, const char *only) {
    static const int64_t sizes[] = {64, 4096};
    for (int k = 0; k < 2; k++) {
        char row[64], name[32];
        const Input *in = scan_input(s, sizes[k]);
        work both = {.s = s, .f = pith_value_and_grad(s, &scan_of, &of_x), .in = in};
        work value = {.s = s, .f = pith_jit(s, &scan_of, NULL), .in = in};
        snprintf(name, sizeof name, "2x%lld", (long long)sizes[k]);
        if (named(row, "scan", name, only))
            bench_row(row, "ms", 1e3, 2,
                      (bench_entry[]){{"pith", call, &both}, {"value", call, &value}});
        if (!named(row, "kept", name, only))
            continue;
        const void *arguments[] = {in};
        const pith_program_costs costs = pith_program_cost(s, both.f, 1, arguments);
        const double least = (double)(SCAN_STEPS * sizes[k]) * sizeof(double);
        bench_print(row, "MB", 2, (bench_entry[]){{.name = "pith"}, {.name = "least"}},
                    (double[]){1e-6 * (double)costs.workspace_bytes, 1e-6 * least});
    }
}

/* ---- Rows: scans with a budget ---- */

/* The greatest part of a budget that peaks need beyond what one step does, over budgets
 * from all that is kept to a thirtieth of it. */
static double greatest_part(pith_scope *s, const Input *in, double least) {
    const void *arguments[] = {in};
    double part = 0, step = 0;
    for (int k = 0; k <= BUDGETS; k++) {
        const double budget = least * pow(30, -(double)k / BUDGETS);
        const pith_derive_options o = {.paths = PITH_PATHS("[0].x"),
                                       .kept_bytes = k ? (size_t)budget : 0};
        pith_scope *inner = pith_scope_open_in(s);
        const pith_function *f = pith_value_and_grad(inner, &drifted_of, &o);
        const double peak = (double)pith_measure_peak(inner, f, 1, arguments);
        const pith_program_costs costs = pith_program_cost(inner, f, 1, arguments);
        bench_check(inner);
        pith_scope_close(inner);
        if (k == 0)
            step = peak - (double)costs.kept_bytes;
        else if ((peak - step) / budget > part)
            part = (peak - step) / budget;
    }
    return part;
}

static void budgets(pith_scope *s, const char *only) {
    static const int64_t sizes[] = {64, 4096};
    static const struct {
        const char *name;
        int part;
    } parts[] = {{"drift", 0}, {"tenth", 10}, {"thirtieth", 30}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char row[64], size[32];
        snprintf(size, sizeof size, "%lld", (long long)sizes[k]);
        const Input *in = vector_input(s, sizes[k]);
        const size_t least = (size_t)(SCAN_STEPS * sizes[k]) * sizeof(double);
        work whole = {.s = s, .f = pith_value_and_grad(s, &drifted_of, &of_x), .in = in};
        work value = {.s = s, .f = pith_jit(s, &drifted_of, NULL), .in = in};
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
            if (!named(row, parts[j].name, size, only))
                continue;
            const pith_derive_options o = {
                .paths = PITH_PATHS("[0].x"),
                .kept_bytes = parts[j].part ? least / (size_t)parts[j].part : 0};
            work within = {
                .s = s, .f = pith_value_and_grad(s, &drifted_of, &o), .in = in};
            bench_row(row, "ms", 1e3, parts[j].part ? 3 : 2,
                      (bench_entry[]){{"pith", call, &within},
                                      {"value", call, &value},
                                      {"whole", call, &whole}});
        }
        /* arrays of 64 are less than a block of memory */
        if (sizes[k] > 64 && named(row, "peaks", size, only))
            bench_print(row, "of budget", 1, (bench_entry[]){{.name = "pith"}},
                        (double[]){greatest_part(s, in, (double)least)});
    }
}

/* ---- Rows: new structures ---- */

static void first_rows(pith_scope *s, const char *only) {
    const model models[] = {{"10 operations", &ten_of, ten_input(s), NULL},
                            {"lj", &lj_of, lj_input(s), NULL},
                            {"1000 leaves", &leaves_of, leaves_input(s, MANY), NULL},
                            {"100 calls", &hundred_of, ten_input(s), NULL},
                            {"100 plain calls", &hundred_plain_of, ten_input(s), NULL}};
    called_of = pith_jit(s, &steps_of, NULL);
    for (size_t k = 0; k < sizeof models / sizeof *models; k++)
        for (int cost = 0; cost < 2; cost++) {
            char row[64];
            if (!named(row, cost ? "record" : "first", models[k].name, only))
                continue;
            const pith_function *f = models[k].f;
            work both = {.s = s,
                         .f = pith_value_and_grad(s, f, &of_x),
                         .in = models[k].in,
                         .cost = cost};
            work value = {
                .s = s, .f = pith_jit(s, f, NULL), .in = models[k].in, .cost = cost};
            bench_row(row, "ms", 1e3, 2,
                      (bench_entry[]){{"pith", anew, &both}, {"value", anew, &value}});
        }
}

/* Functions with equal calls of a compiled function, and of the function itself. */
static void called_rows(pith_scope *s, const char *only) {
    const struct {
        const char *name;
        void (*run)(void *closure);
    } modes[] = {{"jvp", push_anew}, {"linearize", linearize_anew}, {"vjp", pull_anew}};
    const Input *in = ten_input(s);
    called_of = pith_jit(s, &steps_of, NULL);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        char row[64];
        if (!named(row, "first calls", modes[k].name, only))
            continue;
        work calls = {.s = s, .f = &hundred_of, .in = in, .along = in->x};
        work none = {.s = s, .f = &hundred_plain_of, .in = in, .along = in->x};
        bench_row(row, "ms", 1e3, 2,
                  (bench_entry[]){{"pith", modes[k].run, &calls},
                                  {"plain", modes[k].run, &none}});
    }
}

/* ---- Rows: host work ---- */

static void calls(pith_scope *s, const char *only) {
    const Input *in = leaves_input(s, PARTS), *small = ten_input(s);
    work gradient = {.s = s, .f = pith_grad(s, &leaves_of, &of_x), .in = in};
    work by_hand = {.s = s, .f = pith_jit(s, &leaves_gradient, NULL), .in = in};
    work eager = {.s = s, .f = &ten_of, .in = small, .along = small->x};
    const pith_linearized line = pith_linearize(s, &ten_of, PITH_ITEMS(small), &of_x);
    const pith_linearized pulled = pith_vjp(s, &ten_of, PITH_ITEMS(small), &of_x);
    work map = {.s = s, .f = line.map, .along = small->x};
    work transposed = {.s = s, .f = pulled.map, .along = pith_f32(s, 1)};
    bench_check(s);
    if (bench_wanted("derive/call/gradient", only))
        bench_row(
            "derive/call/gradient", "us", 1e6, 2,
            (bench_entry[]){{"pith", call, &gradient}, {"function", call, &by_hand}});
    const struct {
        const char *row;
        bench_entry entry;
    } rows[] = {{"derive/call/map", {"pith", call_map, &map}},
                {"derive/call/transposed map", {"pith", call_map, &transposed}},
                {"derive/eager/gradient", {"pith", make_gradient, &eager}},
                {"derive/eager/jvp", {"pith", push, &eager}},
                {"derive/eager/vjp", {"pith", pull, &eager}}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (bench_wanted(rows[k].row, only))
            bench_row(rows[k].row, "us", 1e6, 1, &rows[k].entry);
}

static void checks(pith_scope *s, const char *only) {
    if (!bench_wanted("derive/check", only))
        return;
    const Input *in = vector_input(s, ELEMENTS / 10);
    work with = {.s = s, .f = pith_value_and_grad(s, &checked_of, &with_aux), .in = in};
    work none = {.s = s, .f = pith_value_and_grad(s, &unchecked_of, &with_aux), .in = in};
    bench_check(s);
    bench_row("derive/check", "us", 1e6, 2,
              (bench_entry[]){{"pith", collect, &with}, {"none", collect, &none}});
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    bench_compiled("wait", derivatives, only);
    bench_compiled("wait", scans, only);
    bench_compiled("wait", budgets, only);
    bench_compiled("wait", calls, only);
    bench_compiled("wait", checks, only);
    bench_compiled("async", first_rows, only);
    bench_compiled("async", called_rows, only);
    return 0;
}
