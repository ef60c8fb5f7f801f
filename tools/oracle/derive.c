/* Derivatives: handler of the family autodiff. A row is a function of arrays; the
 * parameter `mode` names the derivative. Each derivative is computed in several ways,
 * all of which must give the golden results. */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SELECTED = 4, PATH_BYTES = 32 };

/* Operands and the function. Its name is static, so that derived programs of two
 * functions are cached apart. */
typedef struct {
    const char *op;
    const void *operands;
} Point;
PITH_NODE(Point, PITH_STATIC(op), PITH_TREE(operands))

typedef struct {
    const pith_array *value;
    const void *aux;
} Valued;
PITH_NODE(Valued, PITH_LEAF(value, "f64[]"), PITH_TREE(aux))

typedef struct {
    oracle_call *call;
    const Point *point;
    int selected, wrt[MOST_SELECTED]; /* indices of operands */
    int directions; /* tangents of the selected operands, or cotangents of the results */
    const pith_array *const *direction;
    char text[MOST_SELECTED][PATH_BYTES];
    const char *paths[MOST_SELECTED + 1];
    pith_derive_options options;
} derivation;

/* ---- Functions that are derived ---- */

static int outputs_of(const oracle_row *row) {
    return row->outputs ? row->outputs : 1;
}

/* A formula of the operands x, y and z. */
static const pith_array *
formula(pith_scope *s, const char *text, int64_t count, const pith_array *const *in) {
    pith_binding bindings[] = {{"x", NULL}, {"y", NULL}, {"z", NULL}, {NULL, NULL}};
    for (int64_t i = 0; i < 3; i++)
        if (i < count)
            bindings[i].array = in[i];
        else
            bindings[i].name = NULL;
    return pith_expression(s, text, bindings);
}

/* The results as a tuple. */
static const void *results(pith_scope *s, const Point *at) {
    const oracle_row *row = oracle_find("autodiff", at->op);
    const pith_array *in[ORACLE_OPERANDS] = {NULL}, *out[ORACLE_RESULTS] = {NULL};
    const int64_t count = pith_child_count(at->operands);
    for (int64_t i = 0; i < count; i++)
        in[i] = pith_child(at->operands, i);
    if (row->formula)
        out[0] = formula(s, row->formula, count, in);
    else
        row->function(s, in, out);
    return pith_failed(s) ? NULL
                          : pith_tuple_make(s, outputs_of(row), (const void *const *)out);
}
PITH_FUNCTION1(results_of, results, void, Point)

/* The sum of the first result. */
static const pith_array *total(pith_scope *s, const Point *at) {
    return pith_sum(s, pith_child(results(s, at), 0), PITH_ALL_AXES);
}
PITH_FUNCTION1(total_of, total, pith_array, Point)

/* The inner product of the results with cotangents; aux: the results. */
static const void *weighted(pith_scope *s, const Point *at, const void *cotangents) {
    const void *values = results(s, at);
    const pith_array *sum = pith_f64(s, 0);
    for (int64_t k = 0; k < pith_child_count(cotangents); k++)
        sum = pith_add(s, sum,
                       pith_sum(s,
                                pith_mul(s, pith_child(values, k),
                                         (const pith_array *)pith_child(cotangents, k)),
                                PITH_ALL_AXES));
    return pith_record(s, Valued, .value = sum, .aux = values);
}
PITH_FUNCTION2(weighted_of, weighted, void, Point, void)

/* ---- Derivations ---- */

/* A tree of arrays as the next results. */
static void append(oracle_call *call, const void *tree) {
    const int64_t count = pith_kind(tree) == PITH_NODE_TUPLE ? pith_child_count(tree) : 1;
    if (call->results + count > ORACLE_RESULTS)
        oracle_trouble(call, "more than %d results", ORACLE_RESULTS);
    else if (pith_kind(tree) == PITH_NODE_TUPLE)
        for (int64_t k = 0; k < count; k++)
            call->out[call->results++] = pith_child(tree, k);
    else
        call->out[call->results++] = tree;
}

static void way(oracle_call *call, const char *name) {
    call->ways[call->way_count++] = name;
}

/* The directions as a tuple. */
static const void *directions(pith_scope *s, const derivation *d) {
    return pith_tuple_make(s, d->directions, (const void *const *)d->direction);
}

/* The directions as a tree like the selected operands. */
static const void *tangent(pith_scope *s, const derivation *d) {
    return d->selected == 1 ? (const void *)d->direction[0] : directions(s, d);
}

static void jvp(pith_scope *s, const derivation *d) {
    const void *along = tangent(s, d);
    way(d->call, "pith_jvp");
    const pith_pushed pushed =
        pith_jvp(s, &results_of, PITH_ITEMS(d->point), along, &d->options);
    append(d->call, pushed.value);
    append(d->call, pushed.tangent);
    way(d->call, "pith_linearize");
    const pith_linearized linear =
        pith_linearize(s, &results_of, PITH_ITEMS(d->point), &d->options);
    append(d->call, linear.value);
    append(d->call, pith_failed(s) ? NULL : pith_apply(s, linear.map, along));
}

/* The transpose of the linear map. */
static const void *
transposed(pith_scope *s, const derivation *d, const pith_function *map) {
    const void *selected[MOST_SELECTED];
    for (int k = 0; k < d->selected; k++)
        selected[k] = d->call->in[d->wrt[k]];
    const void *like =
        d->selected == 1 ? selected[0] : pith_tuple_make(s, d->selected, selected);
    const pith_function *transpose = pith_linear_transpose(s, map, like);
    return pith_failed(s) ? NULL : pith_apply(s, transpose, directions(s, d));
}

static void vjp(pith_scope *s, const derivation *d) {
    way(d->call, "pith_vjp");
    const pith_linearized pulled =
        pith_vjp(s, &results_of, PITH_ITEMS(d->point), &d->options);
    append(d->call, pulled.value);
    append(d->call, pith_failed(s) ? NULL : pith_apply(s, pulled.map, directions(s, d)));
    if (pith_failed(s))
        return;
    way(d->call, "pith_linear_transpose");
    const pith_linearized linear =
        pith_linearize(s, &results_of, PITH_ITEMS(d->point), &d->options);
    append(d->call, linear.value);
    append(d->call, pith_failed(s) ? NULL : transposed(s, d, linear.map));
    way(d->call, "pith_value_and_grad");
    pith_derive_options options = d->options;
    options.aux = true;
    const pith_function *both = pith_value_and_grad(s, &weighted_of, &options);
    const void *all =
        pith_failed(s) ? NULL : pith_apply(s, both, d->point, directions(s, d));
    if (pith_failed(s))
        return;
    append(d->call, pith_child(all, 2));
    append(d->call, pith_child(all, 1));
}

/* ---- Second derivatives: those of the first operand ---- */

static const pith_derive_options first_operand = {.paths = PITH_PATHS("[0].operands[0]"),
                                                  .cuts = PITH_CUTS_ARE_ZERO};
static const pith_derive_options first_operand_aux = {.paths =
                                                          PITH_PATHS("[0].operands[0]"),
                                                      .cuts = PITH_CUTS_ARE_ZERO,
                                                      .aux = true};

/* The derivative of the total along a direction, by reverse mode; aux: the gradient. */
static const void *backward(pith_scope *s, const Point *at, const void *direction) {
    const pith_function *gradient = pith_grad(s, &total_of, &first_operand);
    const pith_array *slope = pith_failed(s) ? NULL : pith_apply(s, gradient, at);
    const pith_array *product = pith_mul(s, slope, (const pith_array *)direction);
    return pith_record(s, Valued, .value = pith_sum(s, product, PITH_ALL_AXES),
                       .aux = slope);
}
PITH_FUNCTION2(backward_of, backward, void, Point, void)

/* The same by forward mode. */
static const pith_array *forward(pith_scope *s, const Point *at, const void *direction) {
    return pith_jvp(s, &total_of, PITH_ITEMS(at), direction, &first_operand).tangent;
}
PITH_FUNCTION2(forward_of, forward, pith_array, Point, void)

/* The derivative of the first result along a direction. */
static const void *pushed(pith_scope *s, const Point *at, const void *direction) {
    const void *tangent =
        pith_jvp(s, &results_of, PITH_ITEMS(at), direction, &first_operand).tangent;
    return pith_failed(s) ? NULL : pith_child(tangent, 0);
}
PITH_FUNCTION2(pushed_of, pushed, void, Point, void)

static void append_if(bool wanted, oracle_call *call, const void *tree) {
    if (wanted)
        append(call, tree);
}

/* Product of the Hessian of the total with a direction, after the gradient if wanted. */
static void hessian(pith_scope *s,
                    oracle_call *call,
                    const Point *at,
                    const void *direction,
                    bool gradient) {
    way(call, "pith_hessian_product");
    const pith_function *product = pith_hessian_product(s, &total_of, &first_operand);
    const void *got = pith_failed(s) ? NULL : pith_apply(s, product, at, direction);
    append_if(gradient, call, pith_failed(s) ? NULL : pith_child(got, 0));
    append(call, pith_failed(s) ? NULL : pith_child(got, 1));
    way(call, "reverse over reverse");
    const pith_function *twice = pith_grad(s, &backward_of, &first_operand_aux);
    got = pith_failed(s) ? NULL : pith_apply(s, twice, at, direction);
    append_if(gradient, call, pith_failed(s) ? NULL : pith_child(got, 1));
    append(call, pith_failed(s) ? NULL : pith_child(got, 0));
    way(call, "reverse over forward");
    const pith_function *slope = pith_grad(s, &total_of, &first_operand),
                        *mixed = pith_grad(s, &forward_of, &first_operand);
    append_if(gradient, call, pith_failed(s) ? NULL : pith_apply(s, slope, at));
    append(call, pith_failed(s) ? NULL : pith_apply(s, mixed, at, direction));
}

/* The second derivative of an elementwise function: its Hessian is diagonal. */
static void second(pith_scope *s, oracle_call *call, const Point *at) {
    const pith_array *x = call->in[0];
    pith_shape shape = {.rank = oracle_rank(x)};
    memcpy(shape.extents, pith_array_spec(x)->shape, sizeof shape.extents);
    const pith_array *ones = pith_ones(s, pith_array_spec(x)->dtype, shape);
    hessian(s, call, at, ones, false);
    way(call, "forward over forward");
    append(call,
           pith_jvp(s, &pushed_of, PITH_ITEMS(at, ones), ones, &first_operand).tangent);
}

/* ---- The handler ---- */

/* Read `wrt`, and split the inputs into operands and directions. */
static bool begin(pith_scope *s, const oracle_row *row, const char *mode, derivation *d) {
    oracle_call *call = d->call;
    const golden_json *wrt = oracle_list(call, "wrt");
    d->selected = golden_length(wrt);
    d->directions = !strcmp(mode, "vjp")   ? outputs_of(row)
                    : !strcmp(mode, "jvp") ? d->selected
                    : !strcmp(mode, "hvp") ? 1
                                           : 0;
    const int operands = call->count - d->directions;
    if (d->selected < 1 || d->selected > MOST_SELECTED || operands < 1) {
        oracle_trouble(call, "%d operands, %d of them selected", operands, d->selected);
        return false;
    }
    for (int k = 0; k < d->selected; k++) {
        d->wrt[k] = (int)golden_integer(golden_item(wrt, k));
        snprintf(d->text[k], PATH_BYTES, "[0].operands[%d]", d->wrt[k]);
        d->paths[k] = d->text[k];
    }
    d->options = (pith_derive_options){.paths = d->paths, .cuts = PITH_CUTS_ARE_ZERO};
    d->direction = call->in + operands;
    d->point = pith_record(
        s, Point, .op = call->op,
        .operands = pith_list_make(s, operands, (const void *const *)call->in));
    return !pith_failed(s);
}

void oracle_derive(pith_scope *s, const oracle_row *row, oracle_call *call) {
    const char *mode = oracle_text(call, "mode");
    derivation d = {.call = call};
    call->results = call->way_count = 0; /* a traced handler may run twice */
    if (!begin(s, row, mode, &d))
        return;
    if (!strcmp(mode, "jvp"))
        jvp(s, &d);
    else if (!strcmp(mode, "vjp"))
        vjp(s, &d);
    else if (d.wrt[0] != 0)
        oracle_trouble(call, "second derivatives of operand %d", d.wrt[0]);
    else if (!strcmp(mode, "hvp"))
        hessian(s, call, d.point, d.direction[0], true);
    else if (!strcmp(mode, "second"))
        second(s, call, d.point);
    else
        oracle_trouble(call, "no mode \"%s\"", mode);
    /* What cannot be differentiated is refused in the course of the derivation. */
    if (pith_failed(s) && pith_code(s) != PITH_E_DERIVATIVE)
        oracle_trouble(call, "%s: %s", pith_status_name(pith_code(s)), pith_message(s));
}
