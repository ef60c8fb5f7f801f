/* Instructions of random programs that have several results and may report: users'
 * kernels, and calls with an index that is out of range. */
#ifndef PITH_TESTS_RANDOM_MANY_H
#define PITH_TESTS_RANDOM_MANY_H

#include "program/exec/call.h"
#include "program/op/kernel_call.h"
#include "random_kernels.h"
#include "random_rows.h"

enum { RECIPE_RESULTS = 6 };

/* ---- What they compute ---- */

static inline void recipe_run_kernel(recipe *r,
                                     const pithp_call *call,
                                     const pith_spec *results,
                                     const void *const *given,
                                     void *const *made) {
    pithp_kernel_call k;
    pithp_error e;
    void *data[PITH_KERNEL_MAX_ARGS] = {0};
    int in = 0, out = 0;
    cr_assert(pithp_kernel_call_bind(call, &k, &e) == PITH_OK, "%s", e.text);
    for (int i = 0; i < k.binding.kernel->arg_count; i++) {
        const pith_role role = k.binding.kernel->args[i].role;
        if (pithp_kernel_is_given(role))
            data[i] = (void *)(uintptr_t)given[in++];
        if (!pithp_kernel_is_made(role))
            continue;
        if (role == PITH_ROLE_INOUT)
            memcpy(made[out], data[i], results[out].bytes);
        k.binding.specs[i] = &results[out];
        data[i] = made[out++];
    }
    memset(made[out], 0, results[out].bytes);
    pithp_kernel_run(r->s, &k.binding, data, made[out]);
}

static inline void recipe_run_checked(recipe *r,
                                      const pithp_call *call,
                                      const pith_spec *results,
                                      const void *const *given,
                                      void *const *made) {
    const pithp_call inner = pithp_checked_call(call);
    const size_t bytes = pithp_temporary_bytes(&inner, results);
    void *temporary = bytes ? aligned_alloc(256, (bytes + 255) & ~(size_t)255) : NULL;
    memset(made[1], 0, results[1].bytes);
    const pithp_memory memory = {
        .operands = given, .result = made[0], .temporary = temporary, .report = made[1]};
    pithp_run(r->s, &inner, results, &memory);
    pith_wait(r->s);
    free(temporary);
}

static inline pithp_call
recipe_call_of(const recipe *r, const ingredient *x, const pith_spec **specs) {
    for (int k = 0; k < x->operand_count; k++)
        specs[k] = r->list[x->operands[k]].spec;
    return pithp_call_of(x->primitive, x->operand_count, specs, x->params);
}

static inline void recipe_run_many(recipe *r, ingredient *x) {
    const pith_spec *specs[RECIPE_OPERANDS];
    pith_spec results[RECIPE_RESULTS];
    pithp_refusal refusal;
    const void *given[RECIPE_OPERANDS];
    void *made[RECIPE_RESULTS];
    const pithp_call call = recipe_call_of(r, x, specs);
    const int count = pithp_result_count(&call);
    cr_assert(count <= RECIPE_RESULTS);
    cr_assert(pithp_infer(&call, results, &refusal) == PITH_OK, "%s", refusal.text);
    for (int k = 0; k < x->operand_count; k++)
        given[k] = r->list[x->operands[k]].data;
    for (int k = 0; k < count; k++)
        made[k] = k == x->picks ? x->data : malloc(results[k].bytes + 64);
    (x->primitive == PITHP_OP_KERNEL ? recipe_run_kernel : recipe_run_checked)(
        r, &call, results, given, made);
    pt_ok(r->s);
    pith_wait(r->s);
    for (int k = 0; k < count; k++)
        if (k != x->picks)
            free(made[k]);
}

/* ---- How they are chosen ---- */

/* One or two of the results become values. False: the row refuses the operands. */
static inline bool recipe_many(recipe *r, ingredient *x) {
    const pith_spec *specs[RECIPE_OPERANDS];
    pith_spec results[RECIPE_RESULTS];
    pithp_refusal refusal;
    const pithp_call call = recipe_call_of(r, x, specs);
    const int count = pithp_result_count(&call) - r->values;
    x->kind = RECIPE_MANY;
    if (pithp_infer(&call, results, &refusal) != PITH_OK)
        return false;
    for (int k = 0; k < count; k++)
        if (results[k].count > r->largest)
            return false;
    const int first = (int)recipe_random(r, (uint64_t)count);
    const int more = r->count + 1 < RECIPE_MOST ? (int)recipe_random(r, 2) : 0;
    for (int k = 0; k <= more; k++) {
        x->picks = (first + k) % count;
        const pith_spec *spec = &results[x->picks];
        x->spec = pithp_spec(r->s, spec->dtype, spec->rank, spec->shape);
        const int at = recipe_add(r, x);
        recipe_compute(r, &r->list[at]);
        x->sibling = 1 + at;
    }
    return true;
}

/* A value of that spec, or one that is made up. */
static inline int recipe_value_of(recipe *r, pith_dtype dtype, int64_t n) {
    const pith_spec *spec = pithp_spec(r->s, dtype, 1, &n);
    for (int k = r->count; k-- > 0;)
        if (r->list[k].spec == spec && recipe_random(r, 4))
            return k;
    if (dtype == PITH_I32 || dtype == PITH_I64)
        return recipe_integers(r, dtype, 1, &n, 0, 20);
    const int at = recipe_given(r, dtype, 1, &n);
    recipe_fill(r, spec, r->list[at].data);
    return at;
}

enum { RECIPE_GROW, RECIPE_PAIRS, RECIPE_BELOW, RECIPE_COUNT, RECIPE_KERNELS };

static inline const pith_kernel_variant *recipe_kernel(int64_t which, bool f32) {
    static const pith_kernel *const kernels[] = {
        &random_grow_kernel, &random_pairs_kernel, &random_below_kernel,
        &random_count_kernel};
    const pith_kernel *kernel = kernels[which];
    return f32 ? kernel->f32() : kernel->f64();
}

/* Its number is in x->length, and whether it is that for f32 in x->rows. */
static inline void recipe_bind_kernel(ingredient *x) {
    ((pithp_kernel_params *)(void *)x->params)->kernel =
        recipe_kernel(x->length, x->rows);
}

static inline bool recipe_launch(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    const int64_t n = from->rank == 1 ? from->shape[0] : 1 + (int64_t)recipe_random(r, 9);
    const pith_dtype real = recipe_random(r, 2) ? PITH_F32 : PITH_F64;
    if (n > 500 || !recipe_has_room(r))
        return false;
    ingredient x = recipe_blank(PITHP_OP_KERNEL, 1);
    pithp_kernel_params *p = (void *)x.params;
    const double factor = 0.5 * (double)recipe_random(r, 5);
    x.length = (int64_t)recipe_random(r, RECIPE_KERNELS);
    x.rows = real == PITH_F32;
    recipe_bind_kernel(&x);
    switch (x.length) {
        case RECIPE_GROW:
            x.operand_count = 3;
            for (int k = 0; k < 3; k++)
                x.operands[k] = recipe_value_of(r, k < 2 ? real : PITH_I64, n);
            memcpy(&p->values[2], &factor, sizeof factor);
            break;
        case RECIPE_PAIRS:
            x.operand_count = 2;
            x.operands[0] = recipe_value_of(r, real, n > 40 ? 40 : n);
            x.operands[1] = recipe_value_of(r, real, (int64_t)recipe_random(r, 6));
            p->values[2] = recipe_random(r, 12);
            break;
        default: /* a limit, or bins */
            x.operands[0] = recipe_value_of(r, PITH_I32, n);
            p->values[1] = 1 + recipe_random(r, 25);
    }
    return recipe_many(r, &x);
}

/* Places that may be out of range are reported. */
static inline bool recipe_check_places(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    if (from->rank == 0 || !recipe_has_room(r))
        return false;
    ingredient x = recipe_blank(PITHP_OP_CHECKED, 2);
    pithp_checked_params *p = (void *)x.params;
    p->primitive = PITHP_OP_TAKE;
    p->index.mode = PITHP_INDEX_ERROR;
    p->index.axis = (int32_t)recipe_random(r, (uint64_t)from->rank);
    x.operands[0] = first;
    x.operands[1] = recipe_places(r, recipe_index_dtype(r), from->shape[p->index.axis],
                                  1 + (int64_t)recipe_random(r, 4), recipe_random(r, 2));
    return recipe_many(r, &x);
}

#endif
