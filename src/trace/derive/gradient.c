/* Gradients by reverse mode. */
#include "trace/derive/derive_internal.h"

/* ---- Gradients ---- */

/* The values of the outputs of the program and of the gradient. NULL: error set. */
static pithp_value *add_gradient(pithp_derivation_call *c, bool **reached) {
    pithp_split split;
    pithp_value *outputs = NULL;
    if (!pithp_split_make(c, true, false, &split))
        return NULL;
    pithp_program *joined = pithp_split_join(c, &split);
    if (joined)
        outputs = pithp_derivation_add(c, joined, c->inputs);
    *reached = split.reached;
    const bool fine = outputs && pithp_derivation_checks(c, outputs) == PITH_OK &&
                      pithp_watches_check(c->s, c->function, &split.watches,
                                          outputs + joined->output_count -
                                              pithp_watches_outputs(&split.watches),
                                          &c->rule_checks) == PITH_OK;
    pithp_program_release(joined);
    pithp_split_end(&split);
    return fine ? outputs : NULL;
}

static const void *derive_gradient(pithp_derivation_call *c, bool with_value) {
    bool *reached;
    const pithp_value *outputs = add_gradient(c, &reached);
    if (!outputs)
        return NULL;
    const void *value = with_value ? pithp_derivation_value(c, outputs) : NULL,
               *gradient = pithp_derivation_gradient(c, reached,
                                                     outputs + c->program->output_count);
    return gradient && !with_value == !value
               ? pithp_derivation_tuple(c, value, gradient, outputs)
               : NULL;
}

static const void *grad(pithp_derivation_call *c) {
    return derive_gradient(c, false);
}

static const void *value_and_grad(pithp_derivation_call *c) {
    return derive_gradient(c, true);
}

static const pithp_derived_kind grad_kind = {.function = "pith_grad",
                                             .scalar = true,
                                             .reverse = true,
                                             .derive = grad};
static const pithp_derived_kind value_and_grad_kind = {.function = "pith_value_and_grad",
                                                       .scalar = true,
                                                       .reverse = true,
                                                       .derive = value_and_grad};

const pith_function *
pith_grad(pith_scope *s, const pith_function *f, const pith_derive_options *options) {
    pith_derive_options o;
    if (!pithp_enter(s) || pithp_derive_check(s, "pith_grad", f, options, &o) != PITH_OK)
        return NULL;
    pith_function like = *f;
    like.result = o.aux ? NULL : pithp_gradient_type(f, &o);
    return pithp_derived_compile(s, pithp_derived_make(s, &grad_kind, f, &like, NULL, &o),
                                 f);
}

const pith_function *pith_value_and_grad(pith_scope *s,
                                         const pith_function *f,
                                         const pith_derive_options *options) {
    pith_derive_options o;
    if (!pithp_enter(s) ||
        pithp_derive_check(s, "pith_value_and_grad", f, options, &o) != PITH_OK)
        return NULL;
    pith_function like = *f;
    like.result = NULL;
    return pithp_derived_compile(
        s, pithp_derived_make(s, &value_and_grad_kind, f, &like, NULL, &o), f);
}
