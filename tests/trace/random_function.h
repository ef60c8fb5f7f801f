/* Random programs as functions that a user writes: over trees, with pith's control flow,
 * kernel launches and checks, so that one function runs at once and compiled. */
#ifndef PITH_TESTS_RANDOM_FUNCTION_H
#define PITH_TESTS_RANDOM_FUNCTION_H

#include "pith/pith.h"

#include "array/array_internal.h"
#include "program/random_file.h"

typedef struct {
    const void *carry, *out;
} Turn;
PITH_NODE(Turn, PITH_TREE(carry), PITH_TREE(out))

typedef struct {
    const void *inputs;
    int64_t way; /* 1: results are handed over in the opposite order */
} Arguments;
PITH_NODE(Arguments, PITH_TREE(inputs), PITH_STATIC(way))

/* A function and what it is made from. */
typedef struct random_part {
    pith_function function;
    const recipe *r;
    const ingredient *x; /* the loop whose body or condition it is; or NULL */
} random_part;

static inline void random_apply(pith_scope *s,
                                const recipe *r,
                                const pith_array *const *inputs,
                                const pith_array **values);

static inline const pith_array *random_constant(pith_scope *s, const ingredient *x) {
    pith_shape shape = {.rank = x->spec->rank};
    memcpy(shape.extents, x->spec->shape, (size_t)shape.rank * sizeof(int64_t));
    return pith_array_copy(s, x->spec->dtype, shape, x->data);
}

static inline random_part random_part_of(const char *name,
                                         const void *(*call)(const pith_function *,
                                                             pith_scope *,
                                                             const void *const *),
                                         const recipe *r,
                                         const ingredient *x) {
    return (random_part){{.name = name, .call = call, .arity = 1}, r, x};
}

static inline const pith_array *random_i64(pith_scope *s, int64_t value) {
    return pith_i64(s, value);
}

/* ---- Bodies ---- */

static inline const pith_array *
random_output(pith_scope *s, const recipe *r, const void *a, const void *b, int k) {
    const pith_array *inputs[2] = {a, b}, *values[RECIPE_MOST] = {0};
    random_apply(s, r, inputs, values);
    return values[r->outputs[k]];
}

/* (a, b) -> out */
static inline const void *
random_branch(const pith_function *self, pith_scope *s, const void *const *arguments) {
    const random_part *part = (const void *)self;
    return random_output(s, part->r, pith_child(arguments[0], 0),
                         pith_child(arguments[0], 1), 0);
}

/* (i, carry, constant) -> the same */
static inline const void *
random_turn(const pith_function *self, pith_scope *s, const void *const *arguments) {
    const random_part *part = (const void *)self;
    const void *carry = pith_child(arguments[0], 1),
               *constant = pith_child(arguments[0], 2);
    const pith_array *i = pith_add(s, pith_child(arguments[0], 0), random_i64(s, 1));
    return pith_list_make(
        s, PITH_ITEMS(i, random_output(s, part->r, carry, constant, 0), constant));
}

static inline const void *random_below_length(const pith_function *self,
                                              pith_scope *s,
                                              const void *const *arguments) {
    const ingredient *x = ((const random_part *)(const void *)self)->x;
    const pith_array *i = pith_child(arguments[0], 0),
                     *carry = pith_child(arguments[0], 1);
    const pith_array *below = pith_less(s, i, random_i64(s, x->length));
    if (!x->ends)
        return below;
    return pith_logical_and(s, below,
                            pith_all(s, pith_equal(s, carry, carry), PITH_ALL_AXES));
}

/* (carry, row) or ((constant, carry), none) -> {carry, out} */
static inline const void *
random_scanned(const pith_function *self, pith_scope *s, const void *const *arguments) {
    const random_part *part = (const void *)self;
    const bool rows = part->x->rows;
    const pith_array *inputs[2] = {rows ? arguments[0] : pith_child(arguments[0], 0),
                                   rows ? arguments[1] : pith_child(arguments[0], 1)};
    const pith_array *values[RECIPE_MOST] = {0};
    random_apply(s, part->r, inputs, values);
    const void *carry = values[part->r->outputs[0]];
    const Turn turn = {.carry =
                           rows ? carry : pith_list_make(s, PITH_ITEMS(inputs[0], carry)),
                       .out = values[part->r->outputs[1]]};
    return pith_freeze(s, Turn, &turn);
}

/* ---- Calls ---- */

/* That there is no nan; the text says which check of all bodies it is. */
static inline void
random_check(pith_scope *s, const recipe *r, int k, const pith_array *value) {
    char where[64];
    snprintf(where, sizeof where, "%p/%d", (const void *)r, k);
    pith_check(s, pith_equal(s, value, value), "{where} has a nan: {v}",
               .args = {{"v", value}}, .info = {{"where", where}});
}

static inline const pith_array *
random_control(pith_scope *s, const ingredient *x, const pith_array *const *in) {
    random_part parts[3];
    const pith_function *list[3];
    for (int b = 0; b < x->body_count; b++) {
        parts[b] = random_part_of("body", random_branch, x->bodies[b], x);
        list[b] = &parts[b].function;
    }
    if (x->primitive == PITHP_OP_COND)
        return pith_switch(s, in[0], x->body_count, list,
                           pith_list_make(s, PITH_ITEMS(in[1], in[2])));
    if (x->primitive == PITHP_OP_WHILE) {
        const random_part below =
            random_part_of("below", random_below_length, x->bodies[0], x);
        parts[0].function.call = random_turn;
        return pith_child(
            pith_while(s, &below.function, list[0],
                       pith_list_make(s, PITH_ITEMS(random_i64(s, 0), in[0], in[1]))),
            1);
    }
    const pith_loop_options options = {
        .length = x->length, .reverse = x->reverse, .unroll = 1 + (int)(x->length % 5)};
    const void *outs = NULL;
    parts[0].function.call = random_scanned;
    parts[0].function.arity = 2;
    const void *carry = pith_scan(s, list[0],
                                  x->rows ? (const void *)in[0]
                                          : pith_list_make(s, PITH_ITEMS(in[0], in[1])),
                                  x->rows ? in[1] : NULL, &outs, &options);
    return x->picks ? outs : x->rows ? carry : pith_child(carry, 1);
}

static inline const pith_array *
random_many(pith_scope *s, const ingredient *x, const pith_array *const *in) {
    s->function = NULL; /* primitives are bound without a function: errors name none */
    if (x->primitive == PITHP_OP_CHECKED) {
        const pithp_checked_params *p = (const void *)x->params;
        return pithp_bind(s, p->primitive, x->operand_count, in, &p->index);
    }
    const pithp_kernel_params *p = (const void *)x->params;
    const pith_kernel_variant *k = p->kernel;
    const pith_array *results[PITH_KERNEL_MAX_ARGS] = {0};
    pith_operand operands[PITH_KERNEL_MAX_ARGS] = {0};
    static const pith_kernel *const kernels[] = {
        &random_grow_kernel, &random_pairs_kernel, &random_below_kernel,
        &random_count_kernel};
    for (int i = 0, given = 0; i < k->arg_count; i++) {
        if (k->args[i].role == PITH_ROLE_IN || k->args[i].role == PITH_ROLE_INOUT)
            operands[i].array = in[given++];
        else if (pith_dtype_is_float(k->args[i].dtype))
            memcpy(&operands[i].number, &p->values[i], sizeof(double));
        else
            operands[i].integer = (int64_t)p->values[i];
    }
    pith_kernel_launch(s, kernels[x->length], PITH_DTYPE_NONE, operands, results);
    return results[x->picks];
}

static inline void random_apply(pith_scope *s,
                                const recipe *r,
                                const pith_array *const *inputs,
                                const pith_array **values) {
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        const pith_array *in[RECIPE_OPERANDS];
        s->function = NULL;
        for (int o = 0; o < x->operand_count; o++)
            in[o] = values[x->operands[o]];
        if (x->kind == RECIPE_INPUT)
            values[k] = *inputs++;
        else if (x->kind == RECIPE_LITERAL)
            values[k] = random_constant(s, x);
        else if (x->kind == RECIPE_CALL)
            values[k] = pithp_bind(s, x->primitive, x->operand_count, in, x->params);
        else
            values[k] =
                x->kind == RECIPE_MANY ? random_many(s, x, in) : random_control(s, x, in);
        if (!values[k])
            return; /* the scope has the error */
        if (x->kind == RECIPE_CALL && k % 4 == 0 && pith_dtype_is_float(x->spec->dtype))
            random_check(s, r, k, values[k]);
    }
}

/* The whole: a list of inputs -> a list of outputs. */
static inline const void *
random_whole(const pith_function *self, pith_scope *s, const void *const *arguments) {
    const recipe *r = ((const random_part *)(const void *)self)->r;
    const Arguments *a = arguments[0];
    const pith_array *inputs[RECIPE_MOST], *values[RECIPE_MOST] = {0};
    const void *outputs[RECIPE_MOST];
    for (int64_t k = 0; k < pith_child_count(a->inputs); k++)
        inputs[k] = pith_child(a->inputs, k);
    random_apply(s, r, inputs, values);
    for (int k = 0; k < r->output_count; k++)
        outputs[a->way ? r->output_count - 1 - k : k] = values[r->outputs[k]];
    return pith_failed(s) ? NULL : pith_list_make(s, r->output_count, outputs);
}

static inline const Arguments *
random_arguments(pith_scope *s, const recipe *r, int64_t way) {
    const void *inputs[RECIPE_MOST];
    int64_t count = 0;
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind == RECIPE_INPUT)
            inputs[count++] = random_constant(s, &r->list[k]);
    const Arguments a = {.inputs = pith_list_make(s, count, inputs), .way = way};
    return pith_freeze(s, Arguments, &a);
}

/* ---- Runs ---- */

/* A test of random functions. */
typedef struct random_test {
    uint64_t seeds;                                 /* first of the numbers of recipes */
    bool (*differs)(const recipe *r, void *number); /* given the number of the function */
    const char **wrong;                             /* what did, for the message */
} random_test;

/* Test the functions of numbers first .. first + count - 1. One that differs is shrunk
 * and kept. */
static inline void random_run(const random_test *test, int64_t first, int64_t count) {
    pith_runtime *rt = pt_open();
    for (int64_t k = first; k < first + count; k++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make_for(s, pt_series_first(test->seeds) + (uint64_t)k,
                                    4 + (int)(k % 30), (recipe_options){.values = true});
        if (test->differs(r, &k)) {
            recipe_shrink(r, test->differs, &k);
            test->differs(r, &k);
            recipe_fail(r, *test->wrong);
        }
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* All programs of this process are compiled. */
static inline void random_compiles(void) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0); /* where ctest says, if it does */
    setenv("PITH_CC", PITH_TEST_SOURCE "/../program/cc_quick", 1);
    setenv("PITH_JIT", "wait", 1);
}

#endif
