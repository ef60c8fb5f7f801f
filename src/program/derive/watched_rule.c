/* Watches in the program of a rule of the user: which result in it is the first NaN or
 * infinity. They speak only if a derivative that the rule returns has one: what a rule
 * computes and does not use is its own affair. */
#include "program/derive/control.h"

#include <math.h>
#include <string.h>

typedef struct watching {
    pithp_derivation d;
    const pithp_program *from;
    const pithp_derive_watches *watches;
    const char *name;
    pithp_value *names; /* of each value of from */
    pithp_value wrong;  /* whether a derivative is, a bool of rank 0; -1: error set */
} watching;

static bool is_float(const pith_spec *spec) {
    return pith_dtype_is_float(spec->dtype);
}

/* Copy the program. False sets the error. */
static bool copy(watching *w) {
    const pithp_program *p = w->from;
    pithp_graph_walk walk = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(w->d.to, p);
    while (fine && pithp_graph_next(&walk, &v, &i)) {
        w->d.to->remat = i ? i->remat : (pithp_remat){0};
        if (i || p->values[v].origin == PITHP_FROM_CONSTANT)
            fine = pithp_program_copy(w->d.s, w->d.to, p, v, i, w->names);
        else
            fine = (w->names[v] = pithp_program_input(w->d.s, w->d.to,
                                                      pithp_value_spec(p, v))) >= 0;
    }
    w->d.to->remat = (pithp_remat){0};
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(w->d.s, w->d.to, w->names[p->outputs[k]]);
    return fine;
}

/* ---- Whether a derivative is wrong ---- */

static pithp_value is_finite(watching *w, pithp_value v) {
    return pithp_derive_1(&w->d, PITHP_OP_IS_FINITE, v);
}

/* Whether any element, or with `all` every one, is true. */
static pithp_value reduced(watching *w, pithp_value v, bool all) {
    const int rank = v < 0 ? 0 : pithp_derived_spec(&w->d, v)->rank;
    const pithp_reduce_params axes = {(1U << rank) - 1};
    return rank
               ? pithp_derive_call(&w->d, all ? PITHP_OP_ALL : PITHP_OP_ANY, 1, &v, &axes)
               : v;
}

static pithp_value either(watching *w, pithp_value a, pithp_value b) {
    return a == PITHP_ABSENT ? b : pithp_derive_2(&w->d, PITHP_OP_LOGICAL_OR, a, b);
}

/* A tangent where the value is finite. */
static pithp_value wrong_tangents(watching *w) {
    const pithp_program *p = w->from;
    const int64_t count = p->output_count / 2;
    pithp_value any = PITHP_ABSENT;
    for (int64_t k = 0; k < count && any != -1; k++) {
        const pithp_value value = w->names[p->outputs[k]],
                          tangent = w->names[p->outputs[count + k]];
        if (!is_float(pithp_derived_spec(&w->d, value)) ||
            !is_float(pithp_derived_spec(&w->d, tangent)))
            continue;
        const pithp_value bad =
            pithp_derive_1(&w->d, PITHP_OP_LOGICAL_NOT, is_finite(w, tangent));
        any = either(
            w, any,
            reduced(w,
                    pithp_derive_2(&w->d, PITHP_OP_LOGICAL_AND, is_finite(w, value), bad),
                    false));
    }
    return any;
}

/* A cotangent, where residuals and cotangents are finite. */
static pithp_value wrong_cotangents(watching *w) {
    const pithp_program *p = w->from;
    pithp_value any = PITHP_ABSENT;
    for (int64_t k = 0; k < p->output_count && any != -1; k++) {
        const pithp_value v = w->names[p->outputs[k]];
        if (is_float(pithp_derived_spec(&w->d, v)))
            any = either(
                w, any,
                reduced(w, pithp_derive_1(&w->d, PITHP_OP_LOGICAL_NOT, is_finite(w, v)),
                        false));
    }
    for (int64_t k = 0; k < p->input_count && any >= 0; k++)
        if (is_float(pithp_value_spec(p, p->inputs[k])))
            any = pithp_derive_2(&w->d, PITHP_OP_LOGICAL_AND, any,
                                 reduced(w, is_finite(w, w->names[p->inputs[k]]), true));
    return any;
}

/* ---- Results ---- */

/* A finite number where a derivative is wrong, and NaN otherwise, of a spec. */
static pithp_value guard_of(watching *w, const pith_spec *spec) {
    w->d.dtype = spec->dtype;
    return pithp_derive_broadcast(&w->d,
                                  pithp_derive_3(&w->d, PITHP_OP_WHERE, w->wrong,
                                                 pithp_derive_number(&w->d, 1),
                                                 pithp_derive_number(&w->d, (double)NAN)),
                                  spec);
}

/* The first operand of an elementwise instruction, at the elements of the result. */
static bool find_shown(watching *w, const pithp_instruction *i, pithp_derive_watch *of) {
    of->operand = -1;
    of->shown = of->derivative;
    for (int k = 0; pithp_is_elementwise(i->primitive) && k < i->operand_count; k++) {
        const pithp_value v = w->names[pithp_operands(w->from, i)[k]];
        pith_spec spec = *of->spec;
        spec.dtype = pithp_derived_spec(&w->d, v)->dtype;
        if (!is_float(&spec) || pithp_literal_of(w->d.to, v))
            continue;
        of->operand = k;
        of->shown = pithp_derive_broadcast(&w->d, v, &spec);
        break;
    }
    return of->shown >= 0;
}

static bool add_watch(watching *w, const pithp_instruction *i, int k) {
    pith_scope *s = w->d.s;
    static const bool all = false;
    pithp_derive_watch of = {.row = i->primitive,
                             .site = i->site,
                             .spec = pithp_value_spec(w->from, i->result + k),
                             .rule = w->name,
                             .derivative = w->names[i->result + k],
                             .place = w->watches->count};
    pithp_value out = -1;
    if (!is_float(of.spec) || !of.spec->count || of.spec->rank > PITH_MAX_RANK)
        return true;
    w->d.site = i->site;
    of.guard = guard_of(w, of.spec);
    if (of.guard < 0 || !find_shown(w, i, &of))
        return false;
    pithp_rule *rule =
        w->watches->rule(w->watches, s, &of, pithp_derived_spec(&w->d, of.guard),
                         pithp_derived_spec(&w->d, of.shown));
    pithp_program *p = rule ? rule->record(rule, s, true, &all, NULL) : NULL;
    const pithp_value in[] = {of.guard, of.shown, of.derivative};
    const bool fine = p && pithp_program_inline(s, w->d.to, p, in, &out);
    pithp_program_release(p);
    pithp_rule_release(rule);
    return fine;
}

static bool add_watches(watching *w) {
    const pithp_program *p = w->from;
    bool fine = w->wrong != -1;
    for (int64_t n = 0; n < p->instruction_count && w->wrong >= 0 && fine; n++)
        for (int k = 0; k < p->instructions[n].result_count && fine; k++)
            fine = add_watch(w, &p->instructions[n], k);
    return fine;
}

pithp_program *pithp_watched_rule(pith_scope *s,
                                  const pithp_program *p,
                                  const pithp_derive_watches *watches,
                                  const char *name,
                                  bool tangents) {
    watching w = {
        .d = {.s = s, .to = pithp_program_make(s)},
        .from = p,
        .watches = watches,
        .name = name,
        .names = pithp_scope_allocate(s, ((size_t)p->value_count + 1) * sizeof *w.names)};
    bool fine = w.d.to && w.names && copy(&w);
    if (fine) {
        w.wrong = tangents ? wrong_tangents(&w) : wrong_cotangents(&w);
        fine = add_watches(&w);
    }
    if (fine)
        return w.d.to;
    pithp_program_release(w.d.to);
    return NULL;
}
