/* Derivation of programs: forward mode against differences, the map of a linearization
 * against forward mode, its transpose by the dot product. */
#include "graph_test.h"
#include "program/derive/rules.h"

#include <math.h>

enum { MOST = 512 };

/* The rows whose derivatives were tested by this process. */
static bool met[PITHP_PRIMITIVE_COUNT];

static void meet(const pithp_program *p) {
    for (int64_t n = 0; n < p->instruction_count; n++) {
        met[p->instructions[n].primitive] = true;
        for (int b = 0; b < p->instructions[n].program_count; b++)
            meet(p->instructions[n].programs[b]);
    }
}

static pithp_derive_options zeros = {.cuts_are_zero = true};

/* Inputs, directions and results of a run, as doubles. */
typedef struct arrays {
    double at[GRAPH_MOST][MOST];
    const void *in[GRAPH_MOST];
    void *out[GRAPH_MOST];
} arrays;

static void point(arrays *a) {
    for (int k = 0; k < GRAPH_MOST; k++)
        a->in[k] = a->out[k] = a->at[k];
}

static uint64_t state;
static double draw(double low, double high) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(state >> 11) / 0x1p53;
}

static int64_t count_of(const pithp_program *p, pithp_value v) {
    return pithp_value_spec(p, v)->count;
}

static void run(pith_scope *s, pithp_program *p, arrays *in, arrays *out) {
    point(in), point(out);
    graph_run(s, p, 0, in->in, out->out);
}

/* Output k of p at inputs + h * direction. */
static void shifted(pith_scope *s,
                    pithp_program *p,
                    const arrays *x,
                    const arrays *t,
                    double h,
                    arrays *out) {
    static arrays moved;
    for (int64_t k = 0; k < p->input_count; k++)
        for (int64_t n = 0; n < count_of(p, p->inputs[k]); n++)
            moved.at[k][n] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64
                                 ? x->at[k][n] + h * t->at[k][n]
                                 : x->at[k][n];
    run(s, p, &moved, out);
}

/* The derivative along t by central differences, extrapolated to order 4. */
static void differences(pith_scope *s,
                        pithp_program *p,
                        const arrays *x,
                        const arrays *t,
                        arrays *d) {
    static arrays a, b, c, e;
    const double h = 1e-3;
    shifted(s, p, x, t, h, &a), shifted(s, p, x, t, -h, &b);
    shifted(s, p, x, t, 2 * h, &c), shifted(s, p, x, t, -2 * h, &e);
    for (int64_t k = 0; k < p->output_count; k++)
        for (int64_t n = 0; n < count_of(p, p->outputs[k]); n++)
            d->at[k][n] =
                (8 * (a.at[k][n] - b.at[k][n]) - (c.at[k][n] - e.at[k][n])) / (12 * h);
}

static double dot(const arrays *a,
                  int a_first,
                  const arrays *b,
                  int b_first,
                  const pithp_program *p,
                  const pithp_value *values,
                  int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        for (int64_t n = 0; n < count_of(p, values[k]); n++)
            sum += a->at[a_first + k][n] * b->at[b_first + k][n];
    return sum;
}

/* A direction for the f64 inputs, which all move; how many there are. */
static int64_t choose(const pithp_program *p, arrays *in, arrays *t, bool *moving) {
    int64_t tangents = 0;
    for (int64_t k = 0; k < p->input_count; k++) {
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
        for (int64_t n = 0; n < count_of(p, p->inputs[k]) && moving[k]; n++)
            t->at[k][n] = in->at[p->input_count + tangents][n] = draw(-1, 1);
        tangents += moving[k];
    }
    return tangents;
}

/* Forward mode against differences. `all` is set to its outputs. */
static void check_forward(pith_scope *s,
                          pithp_program *p,
                          const arrays *x,
                          const char *what,
                          arrays *in,
                          arrays *all) {
    static arrays t, wanted;
    bool moving[GRAPH_MOST], moves[GRAPH_MOST];
    *in = *x;
    meet(p);
    choose(p, in, &t, moving);
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &zeros, moves);
    pt_ok(s, jvp);
    run(s, jvp, in, all);
    differences(s, p, x, &t, &wanted);
    int64_t next = p->output_count;
    for (int64_t k = 0; k < p->output_count; k++) {
        for (int64_t n = 0; n < count_of(p, p->outputs[k]) && moves[k]; n++) {
            const double y = all->at[next][n], z = wanted.at[k][n];
            cr_assert(fabs(y - z) <= 1e-8 * (1 + fabs(z)),
                      "%s: output %d[%d]: %.17g, differences %.17g\n%s", what, (int)k,
                      (int)n, y, z, graph_text(jvp));
        }
        next += moves[k];
    }
    pithp_program_release(jvp);
}

/* A transpose transposed once more against the map, at its inputs. */
static void check_twice(pith_scope *s,
                        pithp_program *transposed,
                        int64_t residuals,
                        const arrays *in,
                        const arrays *wanted,
                        const char *what) {
    static arrays at, out;
    bool marks[GRAPH_MOST], reaches[GRAPH_MOST];
    at = *in;
    for (int64_t k = 0; k < transposed->input_count; k++)
        marks[k] = k >= residuals;
    pithp_program *twice = pithp_program_transpose(s, transposed, marks, reaches);
    pt_ok(s, twice);
    run(s, twice, &at, &out);
    int64_t from = 0;
    for (int64_t k = residuals; k < transposed->input_count; k++) {
        if (!reaches[k])
            continue;
        for (int64_t n = 0; n < count_of(transposed, transposed->inputs[k]); n++) {
            const double y = out.at[from][n], z = wanted->at[k - residuals][n];
            cr_assert(fabs(y - z) <= 1e-12 * (1 + fabs(z)),
                      "%s: transposed twice, output %d[%d]: %.17g, the map has %.17g\n%s",
                      what, (int)(k - residuals), (int)n, y, z, graph_text(twice));
        }
        from++;
    }
    pithp_program_release(twice);
}

/* The map of a linearization against the tangents of forward mode, bit by bit, and its
 * transpose by the dot product. */
static void check_map(pith_scope *s,
                      pithp_program *p,
                      const arrays *x,
                      const char *what,
                      const arrays *in,
                      const arrays *all) {
    static arrays got, mapped, back, ct, gradient, again;
    bool moving[GRAPH_MOST], moves[GRAPH_MOST], reaches[GRAPH_MOST];
    int64_t tangents = 0;
    for (int64_t k = 0; k < p->input_count; k++)
        tangents += moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pithp_linearization l;
    pt_ok(s, pithp_program_linearize(s, p, moving, &zeros, moves, &l));
    mapped = *x;
    run(s, l.forward, &mapped, &got);
    for (int64_t k = 0; k < l.residual_count; k++)
        memcpy(mapped.at[k], got.at[p->output_count + k], sizeof *mapped.at);
    back = mapped;
    for (int64_t k = 0; k < tangents; k++)
        memcpy(mapped.at[l.residual_count + k], in->at[p->input_count + k],
               sizeof *mapped.at);
    run(s, l.linear, &mapped, &got);
    for (int64_t k = 0; k < l.linear->output_count; k++) {
        const int64_t count = count_of(l.linear, l.linear->outputs[k]);
        cr_assert(!memcmp(got.at[k], all->at[p->output_count + k], (size_t)count * 8),
                  "%s: the map has other bits", what);
        for (int64_t n = 0; n < count; n++)
            ct.at[k][n] = back.at[l.residual_count + k][n] = draw(-1, 1);
    }
    bool marks[GRAPH_MOST];
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *transposed = pithp_program_transpose(s, l.linear, marks, reaches);
    pt_ok(s, transposed);
    run(s, transposed, &back, &mapped);
    memset(&gradient, 0, sizeof gradient);
    again = back;
    for (int64_t k = 0, from = 0; k < tangents; k++)
        if (reaches[l.residual_count + k]) {
            memcpy(again.at[l.residual_count + from], in->at[p->input_count + k],
                   sizeof *again.at);
            memcpy(gradient.at[k], mapped.at[from++], sizeof *gradient.at);
        }
    check_twice(s, transposed, l.residual_count, &again, &got, what);
    const double left =
        dot(&ct, 0, &got, 0, l.linear, l.linear->outputs, l.linear->output_count);
    const double right = dot(&gradient, 0, in, (int)p->input_count, l.linear,
                             l.linear->inputs + l.residual_count, tangents);
    cr_assert(fabs(left - right) <= 1e-12 * (1 + fabs(left)),
              "%s: <c, Jt> = %.17g, <J'c, t> = %.17g\n%s", what, left, right,
              graph_text(transposed));
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(transposed);
}

/* The inputs of p and a cotangent of each moving output -> gradients of the inputs that
 * reach one. */
static pithp_program *gradient_of(pith_scope *s, pithp_program *p) {
    bool moving[GRAPH_MOST], moves[GRAPH_MOST], marks[GRAPH_MOST], reaches[GRAPH_MOST];
    pithp_value in[GRAPH_MOST], out[GRAPH_MOST];
    pithp_linearization l;
    for (int64_t k = 0; k < p->input_count; k++)
        moving[k] = pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64;
    pt_ok(s, pithp_program_linearize(s, p, moving, &zeros, moves, &l));
    for (int64_t k = 0; k < l.linear->input_count; k++)
        marks[k] = k >= l.residual_count;
    pithp_program *back = pithp_program_transpose(s, l.linear, marks, reaches);
    pithp_program *g = pithp_program_make(s);
    for (int64_t k = 0; k < p->input_count; k++)
        in[k] = pithp_program_input(s, g, pithp_value_spec(p, p->inputs[k]));
    for (int64_t k = 0; k < l.linear->output_count; k++)
        in[p->input_count + k] =
            pithp_program_input(s, g, pithp_value_spec(l.linear, l.linear->outputs[k]));
    pt_ok(s, pithp_program_inline(s, g, l.forward, in, out));
    memcpy(out + p->output_count + l.residual_count, in + p->input_count,
           (size_t)l.linear->output_count * sizeof *in);
    pt_ok(s, pithp_program_inline(s, g, back, out + p->output_count, in));
    for (int64_t k = 0; k < back->output_count; k++)
        pithp_program_output(s, g, in[k]);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    pithp_program_release(back);
    return g;
}

static void
check_once(pith_scope *s, pithp_program *p, const arrays *x, const char *what) {
    static arrays in, all;
    check_forward(s, p, x, what, &in, &all);
    check_map(s, p, x, what, &in, &all);
}

/* Also of the gradient: forward over reverse and reverse over reverse. */
static void check(pith_scope *s, pithp_program *p, const arrays *x, const char *what) {
    static arrays more;
    check_once(s, p, x, what);
    pithp_program *g = gradient_of(s, p);
    more = *x;
    for (int64_t k = p->input_count; k < g->input_count; k++)
        for (int64_t n = 0; n < count_of(g, g->inputs[k]); n++)
            more.at[k][n] = draw(-1, 1);
    if (g->output_count)
        check_once(s, g, &more, what);
    pithp_program_release(g);
}

static const pith_spec *spec(pith_scope *s, int rank, const int64_t *shape) {
    return pithp_spec(s, PITH_F64, rank, shape);
}

/* ---- Elementwise rows ---- */

static const struct {
    pithp_primitive op;
    double low, high;
} domains[] = {
    {PITHP_OP_ACOSH, 1.5, 3},   {PITHP_OP_TGAMMA, 0.8, 2},  {PITHP_OP_LGAMMA, 0.8, 2},
    {PITHP_OP_DIGAMMA, 1.5, 4}, {PITHP_OP_POLYGAMMA, 2, 4},
};

static void elementwise_row(pith_scope *s, pithp_primitive op) {
    static arrays x;
    const int64_t n = 7;
    double low = 0.35, high = 0.9;
    for (size_t k = 0; k < sizeof domains / sizeof *domains; k++)
        if (domains[k].op == op)
            low = domains[k].low, high = domains[k].high;
    pithp_program *p = pithp_program_make(s);
    pithp_value operands[3];
    const int arity = pithp_ops[op].arity;
    for (int k = 0; k < arity; k++)
        operands[k] =
            pithp_program_input(s, p, spec(s, k != 1, &n)); /* one is a scalar */
    for (int k = 0; k < arity; k++)
        for (int i = 0; i < n; i++)
            x.at[k][i] = /* far from kinks: no two operands are close */
                low + (high - low) * (floor(draw(0, 20)) + 0.3 * k) / 21;
    if (op == PITHP_OP_WHERE)
        operands[0] = graph_op2(s, p, PITHP_OP_GT, operands[0], graph_number(s, p, 0.5));
    if (op == PITHP_OP_POLYGAMMA)
        operands[0] = graph_number(s, p, 2);
    if (op == PITHP_OP_LDEXP)
        operands[1] = graph_number(s, p, 3);
    const pithp_value y = pithp_program_add(s, p, op, arity, operands, NULL, "here:1");
    pt_ok(s, y >= 0 && pithp_program_output(s, p, y));
    check(s, p, &x, pithp_ops[op].name);
    pithp_program_release(p);
}

#define SCOPED(name) PT_SCOPED(derive, name)

SCOPED(elementwise_rows) {
    static const pithp_primitive ops[] = {
#define PITHP_ELEMENTWISE(ENUM, text, arity, types, result, real, integer, traits, KIND, \
                          ...)                                                           \
    KIND##_ROW(ENUM)
#define NONE_ROW(ENUM)
#define CUT_ROW(ENUM)
#define REFUSED_ROW(ENUM)
#define EACH_ROW(ENUM) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        pith_scope *own = pith_scope_open_in(s);
        elementwise_row(own, ops[k]);
        pt_ok(own);
        pith_scope_close(own);
    }
}

/* ---- Structural rows ---- */

static const int64_t wide[] = {3, 4, 5};

/* A program of one call on x f64[3,4,5], and other operands. */
typedef struct one_call {
    pith_scope *s;
    pithp_program *p;
    pithp_value operands[4];
    int count;
    bool zeros; /* a third of the numbers is 0 */
} one_call;

static one_call call_on(pith_scope *s, int rank, const int64_t *shape) {
    one_call c = {.s = s, .p = pithp_program_make(s), .count = 1};
    c.operands[0] = pithp_program_input(s, c.p, spec(s, rank, shape));
    return c;
}

static void add_input(one_call *c, int rank, const int64_t *shape) {
    c->operands[c->count++] = pithp_program_input(c->s, c->p, spec(c->s, rank, shape));
}

static void add_index(one_call *c, int64_t count, const int64_t *index) {
    const pith_spec *of = pithp_spec(c->s, PITH_I64, 1, &count);
    c->operands[c->count++] = pithp_program_literal(c->s, c->p, of, index);
}

/* Numbers between -1 and 1: the first 256 are further apart than steps of differences. */
static double scattered(int n, int first) {
    return -1 + 2 * ((n * 149 + first) % 256 + 0.5) / 256;
}

static void finish(one_call *c, pithp_primitive op, const void *params) {
    static arrays x;
    const int first = (int)draw(0, 256);
    for (int k = 0; k < GRAPH_MOST; k++)
        for (int n = 0; n < MOST; n++)
            x.at[k][n] = c->zeros && n % 3 == 1 ? 0 : scattered(96 * k + n, first);
    const pithp_value y =
        pithp_program_add(c->s, c->p, op, c->count, c->operands, params, "here:1");
    pt_ok(c->s, y >= 0);
    pt_ok(c->s, pithp_program_output(c->s, c->p, y));
    check(c->s, c->p, &x, pithp_ops[op].name);
    pithp_program_release(c->p);
}

static void unary(pith_scope *s, pithp_primitive op, const void *params) {
    one_call c = call_on(s, 3, wide);
    finish(&c, op, params);
}

SCOPED(views) {
    unary(s, PITHP_OP_RESHAPE, &(pithp_reshape_params){2, {6, 10}});
    unary(s, PITHP_OP_TRANSPOSE, &(pithp_transpose_params){{2, 0, 1}});
    unary(s, PITHP_OP_REVERSE, &(pithp_reverse_params){5});
    unary(s, PITHP_OP_SLICE, &(pithp_slice_params){{1, 3, 0}, {3, -1, 5}, {1, -2, 3}});
    unary(s, PITHP_OP_SLICE, &(pithp_slice_params){{1, 3, 4}, {1, 4, 5}, {1, 1, 1}});
    unary(s, PITHP_OP_BROADCAST, &(pithp_broadcast_params){4, {3, 2, 4, 5}, {0, 2, 3}});
    const int64_t thin[] = {3, 1};
    one_call c = call_on(s, 2, thin);
    finish(&c, PITHP_OP_BROADCAST, &(pithp_broadcast_params){3, {2, 3, 4}, {1, 2}});
}

SCOPED(joins) {
    const int64_t more[] = {3, 2, 5};
    one_call c = call_on(s, 3, wide);
    add_input(&c, 3, more);
    add_input(&c, 3, wide);
    finish(&c, PITHP_OP_CONCATENATE, &(pithp_concatenate_params){1});
    c = call_on(s, 3, wide);
    add_input(&c, 0, NULL);
    finish(&c, PITHP_OP_PAD, &(pithp_pad_params){{1, -1, 0}, {2, 1, -2}, {0, 1, 2}});
}

SCOPED(reductions) {
    const pithp_reduce_params some = {5}, all = {7}, none = {0};
    static const pithp_primitive ops[] = {PITHP_OP_SUM, PITHP_OP_PROD, PITHP_OP_MIN_OF,
                                          PITHP_OP_MAX_OF};
    for (int k = 0; k < 4; k++) {
        unary(s, ops[k], &some);
        unary(s, ops[k], &all);
        unary(s, ops[k], &none);
    }
}

SCOPED(cumulative) {
    static const pithp_primitive ops[] = {PITHP_OP_CUMSUM, PITHP_OP_CUMPROD,
                                          PITHP_OP_CUMMIN, PITHP_OP_CUMMAX,
                                          PITHP_OP_CUMLOGSUMEXP};
    for (int k = 0; k < 5; k++)
        for (int axis = 0; axis < 3; axis++) {
            unary(s, ops[k], &(pithp_scan_params){axis, false});
            unary(s, ops[k], &(pithp_scan_params){axis, true});
        }
    unary(s, PITHP_OP_SORT, &(pithp_sort_params){1, false});
    unary(s, PITHP_OP_SORT, &(pithp_sort_params){2, true});
}

SCOPED(recurrences) {
    for (int axis = 0; axis < 3; axis++)
        for (int reverse = 0; reverse < 2; reverse++) {
            one_call c = call_on(s, 3, wide);
            add_input(&c, 3, wide);
            finish(&c, PITHP_OP_CUMLINEAR, &(pithp_scan_params){axis, reverse});
        }
}

/* Derivatives of products are products of other factors, of which some are 0. */
SCOPED(products_with_zeros) {
    const int64_t at[] = {3, 0, 3, -1, 7, 3}, shape[] = {2, 6, 5}, of[] = {2, 4, 5};
    for (int reverse = 0; reverse < 2; reverse++) {
        one_call c = call_on(s, 3, wide);
        c.zeros = true;
        finish(&c, PITHP_OP_CUMPROD, &(pithp_scan_params){1, reverse});
        c = call_on(s, 3, wide);
        c.zeros = true;
        finish(&c, PITHP_OP_PROD, &(pithp_reduce_params){reverse ? 3 : 4});
        c = call_on(s, 3, of);
        add_input(&c, 3, shape);
        const pithp_value updates = c.operands[--c.count];
        add_index(&c, 6, at);
        c.operands[c.count++] = updates;
        c.zeros = true;
        finish(&c, PITHP_OP_SCATTER_MUL,
               &(pithp_index_params){
                   .axis = 1, .mode = reverse ? PITHP_INDEX_WRAP : PITHP_INDEX_DROP});
    }
}

SCOPED(products) {
    const int64_t left[] = {2, 3, 4, 5}, right[] = {5, 2, 6, 3};
    one_call c = call_on(s, 4, left);
    add_input(&c, 4, right);
    finish(&c, PITHP_OP_DOT_GENERAL,
           &(pithp_dot_params){2, 1, {{3, 1}, {0, 3}}, {{0}, {1}}});
    const int64_t once[] = {1, 3, 4, 5};
    c = call_on(s, 4, once);
    add_input(&c, 4, right);
    finish(&c, PITHP_OP_DOT_GENERAL, &(pithp_dot_params){1, 1, {{3}, {0}}, {{0}, {1}}});
}

SCOPED(gathers_and_scatters) {
    const int64_t at[] = {3, 0, 3, -1, 7}, shape[] = {3, 5, 5};
    static const pithp_index_mode modes[] = {PITHP_INDEX_DROP, PITHP_INDEX_CLIP,
                                             PITHP_INDEX_WRAP};
    for (int k = 0; k < 3; k++) {
        uint64_t fill = 0;
        const double filled = 2;
        memcpy(&fill, &filled, sizeof fill);
        const pithp_index_params p = {.axis = 1, .mode = modes[k], .fill = fill};
        one_call c = call_on(s, 3, wide);
        add_index(&c, 5, at);
        finish(&c, PITHP_OP_TAKE, &p);
        static const pithp_primitive scatters[] = {
            PITHP_OP_SCATTER_SET, PITHP_OP_SCATTER_ADD, PITHP_OP_SCATTER_MUL,
            PITHP_OP_SCATTER_MIN, PITHP_OP_SCATTER_MAX};
        for (int n = 0; n < 5; n++) {
            c = call_on(s, 3, wide);
            add_input(&c, 3, shape);
            const pithp_value updates = c.operands[--c.count];
            add_index(&c, 5, at);
            c.operands[c.count++] = updates;
            finish(&c, scatters[n], &(pithp_index_params){.axis = 1, .mode = modes[k]});
        }
    }
}

SCOPED(along_an_axis) {
    const int64_t at[] = {1, 2, 0, -1, 2, 9}, of[] = {2, 3}, x[] = {2, 3};
    static const pithp_index_mode modes[] = {PITHP_INDEX_DROP, PITHP_INDEX_CLIP,
                                             PITHP_INDEX_WRAP};
    for (int k = 0; k < 3; k++) {
        one_call c = call_on(s, 2, x);
        c.operands[c.count++] =
            pithp_program_literal(s, c.p, pithp_spec(s, PITH_I64, 2, of), at);
        finish(&c, PITHP_OP_TAKE_ALONG,
               &(pithp_index_params){.axis = 1, .mode = modes[k]});
    }
}

SCOPED(dynamic_slices) {
    const int64_t starts[] = {1, -2, 9}, box[] = {2, 2, 2};
    one_call c = call_on(s, 3, wide);
    add_index(&c, 3, starts);
    finish(&c, PITHP_OP_DYNAMIC_SLICE, &(pithp_dynamic_params){{2, 2, 2}});
    c = call_on(s, 3, wide);
    add_input(&c, 3, box);
    add_index(&c, 3, starts);
    finish(&c, PITHP_OP_DYNAMIC_UPDATE_SLICE, NULL);
}

/* ---- Control flow ---- */

static pithp_value at_index(pith_scope *s, pithp_program *p, pithp_value i, int64_t n) {
    return graph_op2(s, p, PITHP_OP_LT, i, graph_integer(s, p, n));
}

/* Iterations i, x, y -> i + 1, sin(x) y, x: y moves at the second iteration only. */
SCOPED(a_while) {
    static arrays x, in, all;
    const int64_t n = 3;
    pithp_program *programs[2] = {pithp_program_make(s), pithp_program_make(s)};
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k];
        const pithp_value i = graph_input(s, q, PITH_I64, -1);
        const pithp_value a = graph_input(s, q, PITH_F64, n);
        const pithp_value b = graph_input(s, q, PITH_F64, n);
        if (k == 0) {
            pithp_program_output(s, q, at_index(s, q, i, 4));
            continue;
        }
        pithp_program_output(s, q,
                             graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        pithp_program_output(
            s, q,
            graph_op2(s, q, PITHP_OP_MUL, graph_op(s, q, PITHP_OP_SIN, a, -1, NULL), b));
        pithp_program_output(s, q, a);
    }
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, n);
    const double ones[3] = {1, 2, 3};
    const pithp_value operands[3] = {
        graph_integer(s, p, 0), a,
        pithp_program_literal(s, p, graph_spec(s, PITH_F64, n), ones)};
    const pithp_value v = graph_control(s, p, PITHP_OP_WHILE, &(pithp_while_params){0}, 3,
                                        operands, 2, programs);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, v + k);
    for (int k = 0; k < n; k++)
        x.at[0][k] = 0.3 + k;
    check_forward(s, p, &x, "while", &in, &all);
    pithp_program_release(p);
}

/* rows, i, x, y, z -> the marked constant, i + 1, sin(x) y c, x, z: while i < length. */
static pithp_program *a_recorded_program(pith_scope *s, int64_t length, int64_t most) {
    const int64_t n = 3;
    pithp_program *programs[2] = {pithp_program_make(s), pithp_program_make(s)};
    for (int k = 0; k < 2; k++) {
        pithp_program *q = programs[k];
        const pithp_value c = k ? graph_input(s, q, PITH_F64, -1) : -1;
        const pithp_value rows = graph_input(s, q, PITH_I64, -1);
        const pithp_value i = graph_input(s, q, PITH_I64, -1);
        const pithp_value a = graph_input(s, q, PITH_F64, n);
        const pithp_value b = graph_input(s, q, PITH_F64, n);
        const pithp_value z = graph_input(s, q, PITH_F64, -1);
        if (k == 0) {
            pithp_program_output(s, q, at_index(s, q, i, length));
            continue;
        }
        pithp_program_output(s, q,
                             graph_op(s, q, PITHP_OP_STOP_GRADIENT, rows, -1, NULL));
        pithp_program_output(s, q,
                             graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
        pithp_value v =
            graph_op2(s, q, PITHP_OP_MUL, graph_op(s, q, PITHP_OP_SIN, a, -1, NULL), b);
        v = graph_op2(s, q, PITHP_OP_MUL, v, graph_op2(s, q, PITHP_OP_MUL, c, z));
        pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_ADD, v, b));
        pithp_program_output(s, q, a);
        pithp_program_output(s, q, z);
    }
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, n),
                      c = graph_input(s, p, PITH_F64, -1);
    const pithp_value z = graph_input(s, p, PITH_F64, -1);
    const double ones[3] = {1, 2, 3};
    const pithp_value operands[6] = {
        c,
        graph_integer(s, p, 0),
        graph_integer(s, p, 0),
        a,
        pithp_program_literal(s, p, graph_spec(s, PITH_F64, n), ones),
        z};
    const pithp_while_params params = {.body_operands = 1, .most = most};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_WHILE, &params, 6, operands, 2, programs);
    for (int k = 0; k < 5; k++)
        pithp_program_output(s, p, v + k);
    return p;
}

SCOPED(a_recorded_while) {
    static arrays x;
    for (int64_t length = 0; length < 6; length++) {
        pithp_program *p = a_recorded_program(s, length, length < 4 ? 4 : length);
        zeros.reverse = true;
        for (int k = 0; k < 3; k++)
            for (int n = 0; n < 3; n++)
                x.at[k][n] = draw(-1, 1);
        check(s, p, &x, "recorded while");
        pithp_program_release(p);
    }
    zeros.reverse = false;
}

/* constants c; carry h -> h tanh(c) + x[i]; out h * x[i], and an integer. */
static pithp_program *a_scan_program(pith_scope *s, bool reverse) {
    const int64_t n = 3, xs[] = {5, 3};
    pithp_program *q = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_value c = graph_input(s, q, PITH_F64, n), h = graph_input(s, q, PITH_F64, n),
                x = graph_input(s, q, PITH_F64, n);
    const pithp_value t = graph_op(s, q, PITHP_OP_TANH, c, -1, NULL);
    const pithp_value next =
        graph_op2(s, q, PITHP_OP_ADD, graph_op2(s, q, PITHP_OP_MUL, h, t), x);
    pithp_program_output(s, q, next);
    pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_MUL, next, x));
    pithp_program_output(s, q, graph_integer(s, q, 7));
    c = graph_input(s, p, PITH_F64, n);
    h = graph_input(s, p, PITH_F64, n);
    x = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, xs));
    const pithp_loop_params loop = {
        .length = 5, .constants = 1, .carries = 1, .reverse = reverse};
    const pithp_value operands[3] = {c, h, x};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &loop, 3, operands, 1, &q);
    for (int k = 0; k < 3; k++)
        pithp_program_output(s, p, v + k);
    return p;
}

SCOPED(a_scan) {
    static arrays x;
    for (int reverse = 0; reverse < 2; reverse++) {
        pithp_program *p = a_scan_program(s, reverse);
        for (int k = 0; k < 3; k++)
            for (int n = 0; n < 15; n++)
                x.at[k][n] = draw(-1, 1);
        check(s, p, &x, "scan");
        pithp_program_release(p);
    }
}

/* Branches x y, exp(x); x - y, 2; y, x. */
SCOPED(a_cond) {
    static arrays x;
    for (int64_t which = 0; which < 3; which++) {
        pithp_program *ways[3], *p = pithp_program_make(s);
        for (int k = 0; k < 3; k++) {
            pithp_program *q = ways[k] = pithp_program_make(s);
            const pithp_value a = graph_input(s, q, PITH_F64, -1);
            const pithp_value b = graph_input(s, q, PITH_F64, -1);
            pithp_program_output(
                s, q,
                k == 2 ? b : graph_op2(s, q, k ? PITHP_OP_SUB : PITHP_OP_MUL, a, b));
            pithp_program_output(s, q,
                                 k == 0   ? graph_op(s, q, PITHP_OP_EXP, a, -1, NULL)
                                 : k == 1 ? graph_number(s, q, 2)
                                          : a);
        }
        const pithp_value a = graph_input(s, p, PITH_F64, -1);
        const pithp_value b = graph_input(s, p, PITH_F64, -1);
        const pithp_value operands[3] = {graph_integer(s, p, which), a, b};
        const pithp_value v =
            graph_control(s, p, PITHP_OP_COND, NULL, 3, operands, 3, ways);
        pithp_program_output(s, p, v);
        pithp_program_output(s, p, v + 1);
        x.at[0][0] = 0.5, x.at[1][0] = -0.7;
        check(s, p, &x, "cond");
        pithp_program_release(p);
    }
}

/* A scan whose body chooses by i % 2 between h sin(x) and an inner scan over the rows of
 * c, h <- h c[k] + x: constants, carries and xs of both loops move. */
static pithp_program *inner_scan(pith_scope *s) {
    const int64_t n = 3, of_c[] = {4, 3};
    pithp_program *q = pithp_program_make(s), *p = pithp_program_make(s);
    pithp_value x = graph_input(s, q, PITH_F64, n), h = graph_input(s, q, PITH_F64, n),
                c = graph_input(s, q, PITH_F64, n);
    pithp_program_output(
        s, q, graph_op2(s, q, PITHP_OP_ADD, graph_op2(s, q, PITHP_OP_MUL, h, c), x));
    h = graph_input(s, p, PITH_F64, n);
    x = graph_input(s, p, PITH_F64, n);
    c = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value operands[3] = {x, h, c};
    const pithp_loop_params loop = {.length = 4, .constants = 1, .carries = 1};
    pithp_program_output(s, p,
                         graph_control(s, p, PITHP_OP_SCAN, &loop, 3, operands, 1, &q));
    return p;
}

static pithp_program *sine(pith_scope *s) {
    const int64_t of_c[] = {4, 3};
    pithp_program *p = pithp_program_make(s);
    const pithp_value h = graph_input(s, p, PITH_F64, 3),
                      x = graph_input(s, p, PITH_F64, 3);
    pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    pithp_program_output(
        s, p,
        graph_op2(s, p, PITHP_OP_MUL, h, graph_op(s, p, PITHP_OP_SIN, x, -1, NULL)));
    return p;
}

static pithp_program *nested_body(pith_scope *s) {
    const int64_t of_c[] = {4, 3};
    pithp_program *ways[2] = {sine(s), inner_scan(s)}, *q = pithp_program_make(s);
    const pithp_value c = pithp_program_input(s, q, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value i = graph_input(s, q, PITH_I64, -1),
                      h = graph_input(s, q, PITH_F64, 3),
                      x = graph_input(s, q, PITH_F64, 3);
    const pithp_value odd =
        graph_op2(s, q, PITHP_OP_BITWISE_AND, i, graph_integer(s, q, 1));
    const pithp_value operands[4] = {odd, h, x, c};
    const pithp_value next =
        graph_control(s, q, PITHP_OP_COND, NULL, 4, operands, 2, ways);
    pithp_program_output(s, q, graph_op2(s, q, PITHP_OP_ADD, i, graph_integer(s, q, 1)));
    pithp_program_output(s, q, next);
    return q;
}

SCOPED(a_scan_in_a_cond_in_a_scan) {
    static arrays x;
    const int64_t of_c[] = {4, 3}, of_x[] = {3, 3};
    pithp_program *q = nested_body(s), *p = pithp_program_make(s);
    const pithp_value c = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_c));
    const pithp_value h = graph_input(s, p, PITH_F64, 3);
    const pithp_value xs = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, of_x));
    const pithp_value operands[4] = {c, graph_integer(s, p, 0), h, xs};
    const pithp_loop_params loop = {.length = 3, .constants = 1, .carries = 2};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &loop, 4, operands, 1, &q);
    pithp_program_output(s, p, v + 1);
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < 12; n++)
            x.at[k][n] = draw(-1, 1);
    check(s, p, &x, "nest");
    pithp_program_release(p);
}

/* ---- Refusals and cuts ---- */

/* f(x, ...) derived in forward mode; NULL: refused. */
static pithp_program *
forward_of(pith_scope *s, pithp_primitive op, const void *params, bool *moves) {
    pithp_program *p = pithp_program_make(s);
    pithp_value operands[3];
    static const bool moving[3] = {true, true, true};
    for (int k = 0; k < pithp_ops[op].arity; k++)
        operands[k] = graph_input(s, p, PITH_F64, 3);
    const pithp_value y =
        pithp_program_add(s, p, op, pithp_ops[op].arity, operands, params, "here:1");
    pithp_program_output(s, p, y);
    pt_ok(s);
    meet(p);
    pithp_program *jvp = pithp_program_jvp(s, p, moving, &zeros, moves);
    pithp_program_release(p);
    return jvp;
}

SCOPED(rows_without_a_derivative_are_refused_with_their_line) {
    static const pithp_primitive ops[] = {PITHP_OP_NEXTAFTER,
                                          PITHP_OP_NON_DIFFERENTIABLE};
    for (int k = 0; k < 2; k++) {
        bool moves;
        pt_fails(PITH_E_DERIVATIVE, s, forward_of(s, ops[k], NULL, &moves));
        pt_says("here:1");
        if (k == 0)
            pt_says("nextafter has no derivative");
    }
}

static void stays(pith_scope *s, pithp_primitive op, const void *params) {
    bool moves = true;
    pithp_program *jvp = forward_of(s, op, params, &moves);
    pt_ok(s, jvp);
    cr_assert(!moves && jvp->output_count == 1, "%s moves", pithp_ops[op].name);
    pithp_program_release(jvp);
}

SCOPED(cuts_do_not_move) {
    static const pithp_primitive ops[] = {
#define PITHP_ELEMENTWISE(ENUM, text, arity, types, result, real, integer, traits, KIND, \
                          ...)                                                           \
    KIND##_ROW(ENUM)
#undef EACH_ROW
#undef CUT_ROW
#define EACH_ROW(ENUM)
#define CUT_ROW(ENUM) PITHP_OP_##ENUM,
#include "program/op/primitives.def"
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        stays(s, ops[k], NULL);
    static const pithp_primitive reductions_of[] = {PITHP_OP_ANY, PITHP_OP_ALL,
                                                    PITHP_OP_ARGMIN, PITHP_OP_ARGMAX};
    for (int k = 0; k < 4; k++)
        stays(s, reductions_of[k], &(pithp_reduce_params){1});
    stays(s, PITHP_OP_ARGSORT, &(pithp_sort_params){0, false});
    stays(s, PITHP_OP_SEARCH_SORTED, &(pithp_search_params){0});
    stays(s, PITHP_OP_STOP_GRADIENT, NULL);
}

SCOPED(names_are_passed) {
    unary(s, PITHP_OP_NAME, &(pithp_named_params){"x"});
}

/* A gather in mode error: its report is made once, by the values. */
SCOPED(a_checked_gather) {
    static arrays x, in, all;
    const int64_t at[] = {2, 0, 2};
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = graph_input(s, p, PITH_F64, 4),
                      b = graph_op(s, p, PITHP_OP_SIN, a, -1, NULL);
    const pithp_value operands[2] = {
        b, pithp_program_literal(s, p, graph_spec(s, PITH_I64, 3), at)};
    const pithp_checked_params params = {PITHP_OP_TAKE, {.mode = PITHP_INDEX_ERROR}};
    const pithp_value v =
        graph_control(s, p, PITHP_OP_CHECKED, &params, 2, operands, 0, NULL);
    pithp_program_output(s, p, v);
    pt_ok(s);
    for (int k = 0; k < 4; k++)
        x.at[0][k] = 0.3 * k;
    check_forward(s, p, &x, "checked take", &in, &all);
    check(s, p, &x, "checked take");
    pithp_program_release(p);
}

/* ---- All rows ---- */

/* A row with a rule has a test above. Kernels and functions with rules are those of a
 * user: tests/trace/test_derive_rules.c. */
SCOPED(every_rule_has_its_test) {
    static void (*const tests[])(pith_scope *) = {
        elementwise_rows,
        views,
        joins,
        reductions,
        cumulative,
        recurrences,
        products,
        gathers_and_scatters,
        along_an_axis,
        dynamic_slices,
        a_while,
        a_scan,
        a_cond,
        rows_without_a_derivative_are_refused_with_their_line,
        cuts_do_not_move,
        names_are_passed,
        a_checked_gather,
    };
    memset(met, 0, sizeof met);
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        tests[k](s);
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++) {
        const pithp_primitive op = (pithp_primitive)p;
        cr_assert(met[p] || pithp_tangent_of(op).kind == PITHP_TANGENT_NONE ||
                      op == PITHP_OP_KERNEL || op == PITHP_OP_RULE,
                  "the derivative of %s has no test", pithp_ops[p].name);
    }
}

/* Rows without a rule have no derivative that could be lost: elementwise ones refuse
 * floats, and others have no float operands, or no results. */
SCOPED(rows_without_a_rule_take_no_floats) {
    static const pithp_primitive others[] = {
        PITHP_OP_FULL,
        PITHP_OP_IOTA,
        PITHP_OP_SCATTER_AND,
        PITHP_OP_SCATTER_OR,
        PITHP_OP_THREEFRY,
        PITHP_OP_FOLD_IN,
        PITHP_OP_RANDOM_SPLIT,
        PITHP_OP_RANDOM_BITS,
        PITHP_OP_RANDOM_UNIFORM,
        PITHP_OP_RANDOM_NORMAL,
        PITHP_OP_RANDOM_INTEGERS,
        PITHP_OP_DEBUG,
        PITHP_OP_EXPOSE,
    };
    for (int n = 0; n < PITHP_PRIMITIVE_COUNT; n++) {
        const pithp_primitive op = (pithp_primitive)n;
        bool known = false;
        if (pithp_tangent_of(op).kind != PITHP_TANGENT_NONE)
            continue;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            known |= others[k] == op;
        if (!pithp_is_elementwise(op)) {
            cr_assert(known, "%s has no derivative: does it take floats?",
                      pithp_ops[op].name);
            continue;
        }
        pithp_program *p = pithp_program_make(s);
        const pithp_value x = graph_input(s, p, PITH_F64, 3), operands[3] = {x, x, x};
        pt_fails(
            PITH_E_DTYPE, s,
            pithp_program_add(s, p, op, pithp_ops[op].arity, operands, NULL, "here:1"));
        pithp_program_release(p);
    }
}
