/* Derivation of programs: each row of the table. */
#include "derive_check.h"
#include "program/vary/axes.h"

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
            unary(s, ops[k], &(pithp_scan_params){.axis = axis, .reverse = false});
            unary(s, ops[k], &(pithp_scan_params){.axis = axis, .reverse = true});
        }
    unary(s, PITHP_OP_SORT, &(pithp_sort_params){1, false});
    unary(s, PITHP_OP_SORT, &(pithp_sort_params){2, true});
}

SCOPED(recurrences) {
    for (int axis = 0; axis < 3; axis++)
        for (int reverse = 0; reverse < 2; reverse++) {
            one_call c = call_on(s, 3, wide);
            add_input(&c, 3, wide);
            finish(&c, PITHP_OP_CUMLINEAR,
                   &(pithp_scan_params){.axis = axis, .reverse = reverse});
        }
}

/* Derivatives of products are products of other factors, of which some are 0. */
SCOPED(products_with_zeros) {
    const int64_t at[] = {3, 0, 3, -1, 7, 3}, shape[] = {2, 6, 5}, of[] = {2, 4, 5};
    for (int reverse = 0; reverse < 2; reverse++) {
        one_call c = call_on(s, 3, wide);
        c.zeros = true;
        finish(&c, PITHP_OP_CUMPROD, &(pithp_scan_params){.axis = 1, .reverse = reverse});
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

/* A row with a rule has a test above. Those of control flow are in test_derive_control.c,
 * kernels and functions with rules are those of a user: tests/trace/test_derive_rules.c.
 */
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
                      pithp_op_has(op, PITHP_TRAIT_REGIONS) || op == PITHP_OP_KERNEL ||
                      op == PITHP_OP_RULE || pithp_is_collective(op) ||
                      pithp_is_axis_mark(op), /* tests/mesh/test_derive.c */
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
        PITHP_OP_AXIS_INDEX,
        PITHP_OP_PSCAN,
        PITHP_OP_ROUTE_MAKE,
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
