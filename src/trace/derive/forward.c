/* Forward mode: values with their tangents, and products with Hessians. */
#include "base/in_flight.h"
#include "program/derive/outlined.h"
#include "program/pass/pass.h"
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Tangents ---- */

/* Derive a program in forward mode, with rows for calls where it may have them. NULL:
 * error set. */
static pithp_program *derive(pithp_derivation_call *c,
                             const pithp_program *p,
                             pithp_derive_options *options,
                             bool *moves) {
    pith_scope *s = c->s;
    pithp_callees callees = {0};
    pithp_program *jvp = NULL;
    if (pithp_derivation_may_have_rows(c) && !pithp_callees_begin(s, p, &callees))
        return NULL;
    if (callees.outlined) {
        options->callees = &callees;
        jvp = pithp_program_jvp(s, callees.outlined, c->moves, options, moves);
        options->callees = NULL;
    }
    if (!callees.outlined || (!jvp && callees.refused && s->error.code == PITH_OK))
        jvp = pithp_program_jvp(s, p, c->moves, options, moves);
    else
        pithp_derivation_count_calls(c, &callees.counts);
    pithp_callees_end(&callees);
    return jvp;
}

/* Add a program in forward mode. `moves`: by its outputs. NULL: error set. */
static pithp_value *
add_forward(pithp_derivation_call *c, const pithp_program *p, bool *moves) {
    pithp_derive_watches watches = {.watched = PITHP_WATCH_TANGENTS};
    pithp_derive_options options = pithp_derivation_options(c, &watches);
    pithp_program *jvp = derive(c, p, &options, moves);
    const pithp_value *inputs = jvp ? pithp_derivation_tangents(c) : NULL;
    pithp_value *outputs = inputs ? pithp_derivation_add(c, jvp, inputs) : NULL;
    const bool fine =
        outputs && pithp_derivation_checks(c, outputs) == PITH_OK &&
        pithp_watches_check(c->s, c->function, &watches,
                            outputs + jvp->output_count - pithp_watches_outputs(&watches),
                            &c->rule_checks) == PITH_OK;
    pithp_program_release(jvp);
    return fine ? outputs : NULL;
}

static const void *push(pithp_derivation_call *c) {
    const pithp_program *p = c->program;
    bool *moves = pithp_scope_allocate(c->s, (size_t)p->output_count + 1);
    const pithp_value *outputs = moves ? add_forward(c, p, moves) : NULL;
    if (!outputs)
        return NULL;
    const void *value = pithp_derivation_value(c, outputs),
               *tangent =
                   value ? pithp_derivation_tangent(c, moves, outputs + p->output_count)
                         : NULL;
    return tangent ? pithp_derivation_tuple(c, value, tangent, outputs) : NULL;
}

static const pithp_derived_kind jvp_kind = {.function = "pith_jvp",
                                            .tangent = "tangent",
                                            .derive = push};

/* Make the function in a scope of its own, and call it. */
static const void *call_apart(pith_scope *s,
                              const pithp_derived_kind *kind,
                              const pith_function *f,
                              const void *const *primals,
                              const void *tangent,
                              const pith_derive_options *o) {
    pith_scope *work = pithp_temporaries_open(s);
    pith_function like = *f;
    like.result = NULL;
    const pith_function *derived =
        work ? pithp_derived_compile(
                   work, pithp_derived_make(work, kind, f, &like, tangent, o), f)
             : NULL;
    const void *result =
        derived ? (pith_call)(pithp_on_behalf(s), derived, f->arity, primals) : NULL;
    if (result)
        pithp_jit_note_apart(s, kind->function, f, derived);
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return pith_failed(s) ? NULL : result;
}

pith_pushed pith_jvp(pith_scope *s,
                     const pith_function *function,
                     int64_t count,
                     const void *const *primals,
                     const void *tangent,
                     const pith_derive_options *options) {
    static const char *const name = "pith_jvp";
    PITHP_IN_FLIGHT(s, "pith_jvp");
    pith_pushed pushed = {NULL, NULL, NULL};
    pith_derive_options o;
    if (!pithp_enter(s) ||
        pithp_derive_check(s, name, function, options, &o) != PITH_OK ||
        pithp_jit_check_count(s, function, count, primals, name) != PITH_OK ||
        pithp_tree_check(s, tangent, name, "tangent") != PITH_OK)
        return pushed;
    const void *made = call_apart(s, &jvp_kind, function, primals, tangent, &o);
    if (made) {
        pushed.value = pith_child(made, 0);
        pushed.tangent = pith_child(made, 1);
        pushed.aux = o.aux ? pith_child(made, 2) : NULL;
    }
    return pushed;
}

/* ---- Products with Hessians ---- */

/* The product, whose values are among the tangents of the gradient's program. */
static const void *product_of(pithp_derivation_call *c,
                              const bool *reached,
                              const bool *moves,
                              const pithp_value *tangents) {
    const int64_t inputs = c->program->input_count, values = c->program->output_count;
    bool *moved = pithp_scope_allocate(c->s, (size_t)inputs + 1);
    pithp_value *of = pithp_scope_allocate(c->s, ((size_t)inputs + 1) * sizeof *of);
    int64_t n = 0;
    if (!moved || !of)
        return NULL;
    for (int64_t k = 0; k < values; k++)
        tangents += moves[k];
    moves += values;
    for (int64_t k = 0; k < inputs; k++) {
        moved[k] = reached[k] && *moves;
        if (moved[k])
            of[n++] = *tangents++;
        moves += reached[k];
    }
    return pithp_derivation_gradient(c, moved, of);
}

static const void *multiply(pithp_derivation_call *c) {
    pithp_split split;
    if (!pithp_split_make(c, true, false, &split))
        return NULL;
    pithp_program *p = pithp_split_gradient(c, &split);
    bool *moves = p ? pithp_scope_allocate(c->s, (size_t)p->output_count + 1) : NULL;
    const pithp_value *outputs = moves ? add_forward(c, p, moves) : NULL;
    const void *result = NULL;
    if (outputs) {
        const void *gradient = pithp_derivation_gradient(
                       c, split.reached, outputs + c->program->output_count),
                   *product = gradient ? product_of(c, split.reached, moves,
                                                    outputs + p->output_count)
                                       : NULL;
        result = product ? pithp_derivation_tuple(c, gradient, product, outputs) : NULL;
    }
    pithp_program_release(p);
    pithp_split_end(&split);
    return result;
}

static const pithp_derived_kind hessian_kind = {.function = "pith_hessian_product",
                                                .scalar = true,
                                                .reverse = true,
                                                .tangent = "direction",
                                                .derive = multiply};

const pith_function *pith_hessian_product(pith_scope *s,
                                          const pith_function *function,
                                          const pith_derive_options *options) {
    static const char *const name = "pith_hessian_product";
    pith_derive_options o;
    if (!pithp_enter(s) || pithp_derive_check(s, name, function, options, &o) != PITH_OK)
        return NULL;
    if (function->arity == PITHP_MOST_PARAMETERS) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: %s: expected a function of at most %d trees: the direction is "
                   "one more",
                   name, function->name, PITHP_MOST_PARAMETERS - 1);
        return NULL;
    }
    pith_function like = *function;
    like.result = NULL;
    like.parameters[like.arity++] = pithp_gradient_type(function, &o);
    return pithp_derived_compile(
        s, pithp_derived_make(s, &hessian_kind, function, &like, NULL, &o), function);
}
