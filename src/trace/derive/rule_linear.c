/* Rules of linear rows: the forward function of pith_custom_vjp gives the values and the
 * residuals, and its backward function the transposed map. */
#include "trace/derive/rule.h"

#include <string.h>

/* The rule of the linear row: the transposed map of one derivation. */
typedef struct map_rule {
    pithp_rule rule;
    pithp_function_rule *of; /* one reference */
    pithp_structure residual;
    bool *zeros; /* of each primal, whether it has no tangent */
} map_rule;

static bool is_float(const pithp_structure *t, int64_t k) {
    return pith_dtype_is_float(t->specs[k]->dtype);
}

/* ---- The linear row ---- */

static void free_linear(pithp_rule *rule) {
    map_rule *l = (map_rule *)(void *)rule;
    pith_runtime *rt = l->of->runtime;
    pithp_release(rt, l->zeros, (size_t)l->of->rule.first_count + 1);
    pithp_release(rt, l->rule.results,
                  ((size_t)l->of->rule.result_count + 1) * sizeof *l->rule.results);
    pithp_structure_release(rt, &l->residual);
    pithp_function_rule *of = l->of;
    pithp_release(rt, l, sizeof *l);
    pithp_rule_release(&of->rule);
}

/* The outputs for tangents that exist. The program has no other user yet. */
static void choose_outputs(const map_rule *l, pithp_program *p) {
    int64_t count = 0;
    for (int k = 0; k < l->of->rule.first_count; k++)
        if (!l->zeros[k])
            p->outputs[count++] = p->outputs[k];
    p->output_count = count;
}

/* With strong zeros: the last inputs are cotangents. */
static pithp_program *guarded(pith_scope *s, pithp_program *p, const map_rule *l) {
    const int64_t known = l->rule.first_count + l->rule.bound_count;
    pithp_program *made = pithp_program_zero_with(s, p, p->input_count - known);
    pithp_program_release(p);
    return made;
}

/* backward(residual, cotangent) */
static pithp_program *record_backward(pithp_rule *rule,
                                      pith_scope *s,
                                      bool reverse,
                                      const bool *zeros,
                                      pithp_rule **linear) {
    map_rule *l = (map_rule *)(void *)rule;
    const pithp_structure *value = &l->of->value;
    pithp_rule_recording *r = pithp_scope_allocate(s, sizeof *r);
    bool *by_leaf = pithp_scope_allocate(s, (size_t)value->item_count + 1);
    (void)reverse, (void)linear;
    if (!r || !by_leaf)
        return NULL;
    for (int64_t k = 0, next = 0; k < value->item_count; k++)
        by_leaf[k] = !is_float(value, k) || zeros[next++];
    *r = (pithp_rule_recording){.s = s, .rule = l->of, .which = PITHP_CUSTOM_BACKWARD};
    pith_status rc;
    PITH_TRY(pithp_rule_add_argument(r, &l->residual, NULL));
    PITH_TRY(pithp_rule_add_argument(r, value, by_leaf));
    PITH_TRY(pithp_rule_record(r));
    PITH_TRY(pithp_rule_check_like(r, &l->of->primals, 0, "gradients"));
    choose_outputs(l, r->part.program);
out:;
    pithp_program *p = pithp_rule_finish(r, rc);
    return p && rule->strong_zero ? guarded(s, p, l) : p;
}

/* Its bound leaves are those of the function. */
static void refuse_bound(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    pithp_rule_refuse_bound(((const map_rule *)(const void *)rule)->of, s, site, k);
}

static map_rule *make_linear(pithp_function_rule *u,
                             pith_scope *s,
                             const pithp_structure *residual,
                             const bool *zeros) {
    pith_runtime *rt = s->runtime;
    const size_t specs = ((size_t)u->rule.result_count + 1) * sizeof *u->rule.results;
    map_rule *l = pithp_allocate(rt, sizeof *l);
    if (!l) {
        pithp_fail_memory(s, sizeof *l);
        return NULL;
    }
    *l = (map_rule){.rule = {.free = free_linear,
                             .record = record_backward,
                             .refuse = refuse_bound,
                             .name = u->rule.name,
                             .reverse = true,
                             .linear = true,
                             .first_count = (int32_t)residual->item_count,
                             .bound_count = u->rule.bound_count},
                    .of = u};
    atomic_init(&l->rule.refs, 1);
    atomic_fetch_add_explicit(&u->rule.refs, 1, memory_order_relaxed);
    l->zeros = pithp_allocate(rt, (size_t)u->rule.first_count + 1);
    l->rule.results = pithp_allocate(rt, specs);
    if (!l->zeros || !l->rule.results)
        pithp_fail_memory(s, specs);
    else
        pithp_structure_copy(s, &l->residual, residual);
    if (s->error.code != PITH_OK) {
        pithp_rule_release(&l->rule);
        return NULL;
    }
    memcpy(l->zeros, zeros, (size_t)u->rule.first_count);
    l->residual.hooks = false;
    for (int64_t k = 0; k < u->value.item_count; k++)
        if (is_float(&u->value, k))
            l->rule.results[l->rule.result_count++] = u->value.specs[k];
    return l;
}

/* ---- The forward function ---- */

pithp_program *pithp_rule_record_forward(pithp_function_rule *u,
                                         pith_scope *s,
                                         const bool *zeros,
                                         pithp_rule **linear) {
    static const char *const members[2] = {"value", "residual"};
    pithp_rule_recording *r = pithp_scope_allocate(s, sizeof *r);
    map_rule *made = NULL;
    if (!r)
        return NULL;
    *r = (pithp_rule_recording){
        .s = s, .rule = u, .which = PITHP_CUSTOM_FORWARD, .members = members};
    pith_status rc = PITH_OK;
    for (int k = 0; k < u->argument_count; k++)
        PITH_TRY(pithp_rule_add_argument(r, &u->trees[k], NULL));
    PITH_TRY(pithp_rule_record(r));
    PITH_TRY(pithp_rule_check_like(r, &u->value, 0, "value"));
    made = make_linear(u, s, &r->part.flats[1].structure, zeros);
    rc = s->error.code;
out:;
    pithp_program *p = pithp_rule_finish(r, rc);
    if (p)
        *linear = &made->rule;
    else if (made)
        pithp_rule_release(&made->rule);
    return p;
}
