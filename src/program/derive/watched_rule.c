/* Watches in the program of a rule of the user: which result in it is the first NaN or
 * infinity. They speak only if a derivative that the rule returns has one: what a rule
 * computes and does not use is its own affair. */
#include "program/derive/control.h"
#include "program/derive/split.h"

#include <math.h>
#include <string.h>

typedef struct watching {
    pithp_derivation d;
    const pithp_program *from;
    const pithp_derive_watches *watches;
    const char *name;
    int64_t known;    /* inputs of from before tangents or cotangents; then come: */
    int primal_count; /* primals that are inputs of the copy alone */
    const pith_spec *const *primals;
    pithp_value *names; /* of each value of from, then of the primals */
    bool *moves;        /* of each value of from, whether it depends on others */
    pithp_value wrong;  /* whether a derivative is, a bool of rank 0; -1: error set */
} watching;

static bool is_float(const pith_spec *spec) {
    return pith_dtype_is_float(spec->dtype);
}

/* The inputs of the copy. False sets the error. */
static bool add_inputs(watching *w) {
    const pithp_program *p = w->from;
    pithp_value *primals = w->names + p->value_count;
    bool fine = true;
    for (int64_t k = 0; k <= p->input_count && fine; k++) {
        for (int n = 0; k == w->known && n < w->primal_count && fine; n++)
            fine =
                (primals[n] = pithp_program_input(w->d.s, w->d.to, w->primals[n])) >= 0;
        if (k < p->input_count && fine)
            fine = (w->names[p->inputs[k]] = pithp_program_input(
                        w->d.s, w->d.to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    }
    return fine;
}

/* Copy the program. False sets the error. */
static bool copy(watching *w) {
    const pithp_program *p = w->from;
    pithp_graph_walk walk = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = add_inputs(w);
    pithp_program_take_groups(w->d.to, p);
    while (fine && pithp_graph_next(&walk, &v, &i)) {
        w->d.to->remat = i ? i->remat : (pithp_remat){0};
        if (i || p->values[v].origin == PITHP_FROM_CONSTANT)
            fine = pithp_program_copy(w->d.s, w->d.to, p, v, i, w->names);
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

/* Whether a derivative is not finite where its value is; absent: no floats. */
static pithp_value wrong_where(watching *w, pithp_value value, pithp_value derivative) {
    if (!is_float(pithp_derived_spec(&w->d, value)) ||
        !is_float(pithp_derived_spec(&w->d, derivative)))
        return PITHP_ABSENT;
    const pithp_value bad =
        pithp_derive_1(&w->d, PITHP_OP_LOGICAL_NOT, is_finite(w, derivative));
    return reduced(
        w, pithp_derive_2(&w->d, PITHP_OP_LOGICAL_AND, is_finite(w, value), bad), false);
}

static pithp_value wrong_tangents(watching *w) {
    const pithp_program *p = w->from;
    const int64_t count = p->output_count / 2;
    pithp_value any = PITHP_ABSENT;
    for (int64_t k = 0; k < count && any != -1; k++) {
        const pithp_value one =
            wrong_where(w, w->names[p->outputs[k]], w->names[p->outputs[count + k]]);
        any = one == PITHP_ABSENT ? any : either(w, any, one);
    }
    return any;
}

/* A cotangent that is returned, if those that are taken are finite. */
static pithp_value wrong_cotangents(watching *w) {
    const pithp_program *p = w->from;
    pithp_value any = PITHP_ABSENT;
    PITH_ASSERT(p->output_count == w->primal_count);
    for (int k = 0; k < w->primal_count && any != -1; k++) {
        const pithp_value one =
            wrong_where(w, w->names[p->value_count + k], w->names[p->outputs[k]]);
        any = one == PITHP_ABSENT ? any : either(w, any, one);
    }
    for (int64_t k = w->known; k < p->input_count && any >= 0; k++)
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

static bool broadcasts(const pith_spec *from, const pith_spec *to) {
    const int added = to->rank - from->rank;
    bool fits = added >= 0;
    for (int k = 0; k < from->rank && fits; k++)
        fits = from->shape[k] == 1 || from->shape[k] == to->shape[k + added];
    return fits;
}

bool pithp_watch_beside(pithp_derivation *d,
                        const pithp_instruction *i,
                        const pithp_value *operands,
                        const pithp_value *moving,
                        pithp_derive_watch *w) {
    w->beside = -1;
    for (int k = 0; pithp_is_elementwise(i->primitive) && k < i->operand_count; k++) {
        const pith_spec *own = pithp_derived_spec(d, operands[k]);
        pith_spec spec = *w->spec;
        spec.dtype = own->dtype;
        if (moving[k] >= 0 || !is_float(own) || pithp_literal_of(d->to, operands[k]) ||
            !broadcasts(own, &spec))
            continue;
        w->beside = k;
        w->shown = pithp_derive_broadcast(d, operands[k], &spec);
        return w->shown >= 0;
    }
    return true;
}

/* An operand that the derivative is multiplied by or divided by tells more than one that
 * depends on tangents. */
static bool find_shown(watching *w, const pithp_instruction *i, pithp_derive_watch *of) {
    enum { MOST = 3 };
    pithp_value operands[MOST], moving[MOST],
        none[MOST] = {PITHP_ABSENT, PITHP_ABSENT, PITHP_ABSENT};
    for (int k = 0; k < i->operand_count && k < MOST; k++) {
        const pithp_value v = pithp_operands(w->from, i)[k];
        operands[k] = w->names[v];
        moving[k] = w->moves[v] ? 0 : PITHP_ABSENT;
    }
    of->shown = of->derivative;
    return pithp_watch_beside(&w->d, i, operands, moving, of) &&
           (of->beside >= 0 || pithp_watch_beside(&w->d, i, operands, none, of));
}

static bool add_watch(watching *w, const pithp_instruction *i, int k) {
    pith_scope *s = w->d.s;
    static const bool all = false;
    pithp_derive_watch of = {.row = i->primitive,
                             .operand = -1,
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

/* The program with watches. NULL: error set. */
static pithp_program *watch(watching *w, bool tangents) {
    const pithp_program *p = w->from;
    pith_scope *s = w->d.s;
    const size_t count = (size_t)(p->value_count + w->primal_count) + 1;
    w->d.to = pithp_program_make(s);
    w->names = pithp_scope_allocate(s, count * sizeof *w->names);
    w->moves = pithp_scope_allocate(s, (size_t)(p->value_count + p->input_count) + 1);
    bool fine = w->d.to && w->names && w->moves;
    if (fine) {
        bool *inputs = w->moves + p->value_count;
        for (int64_t k = 0; k < p->input_count; k++)
            inputs[k] = k >= w->known;
        pithp_colour(p, inputs, w->moves);
        fine = copy(w);
    }
    if (fine) {
        w->wrong = tangents ? wrong_tangents(w) : wrong_cotangents(w);
        fine = add_watches(w);
    }
    if (fine)
        return w->d.to;
    pithp_program_release(w->d.to);
    return NULL;
}

pithp_program *pithp_watched_tangents(pith_scope *s,
                                      const pithp_program *p,
                                      const pithp_derive_watches *watches,
                                      const char *name,
                                      int64_t known) {
    watching w = {
        .d = {.s = s}, .from = p, .watches = watches, .name = name, .known = known};
    return watch(&w, true);
}

/* ---- The linear row ---- */

/* A linear rule whose program is watched. */
typedef struct watched_linear {
    pithp_rule rule;
    pith_runtime *runtime;
    pithp_rule *of; /* one reference */
    pithp_derive_watches watches;
    int primal_count;
    const pith_spec *primals[]; /* interned */
} watched_linear;

static size_t linear_bytes(int primal_count) {
    return sizeof(watched_linear) + (size_t)primal_count * sizeof(const pith_spec *);
}

static const watched_linear *linear_of(const pithp_rule *rule) {
    return (const watched_linear *)(const void *)rule;
}

static void free_linear(pithp_rule *rule) {
    watched_linear *l = (watched_linear *)(void *)rule;
    pithp_rule_release(l->of);
    pithp_release(l->runtime, l, linear_bytes(l->primal_count));
}

static void
refuse_linear(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    linear_of(rule)->of->refuse(linear_of(rule)->of, s, site, k);
}

/* bound, residuals, primals, cotangents -> cotangents of the primals */
static pithp_program *record_linear(pithp_rule *rule,
                                    pith_scope *s,
                                    bool reverse,
                                    const bool *zeros,
                                    pithp_rule **linear) {
    const watched_linear *l = linear_of(rule);
    pithp_program *p = l->of->record(l->of, s, reverse, zeros, linear);
    watching w = {.d = {.s = s},
                  .from = p,
                  .watches = &l->watches,
                  .name = rule->name,
                  .known = l->of->first_count + l->of->bound_count,
                  .primal_count = l->primal_count,
                  .primals = l->primals};
    pithp_program *watched = p ? watch(&w, false) : NULL;
    pithp_program_release(p);
    return watched;
}

pithp_rule *pithp_watched_linear(pithp_derivation *d,
                                 const pithp_moving_call *c,
                                 pithp_rule *linear) {
    const int first = ((const pithp_rule_params *)c->i->params)->rule->first_count;
    int count = 0;
    for (int k = 0; k < first; k++)
        count += c->tangents[k] >= 0;
    watched_linear *l = pithp_allocate(d->s->runtime, linear_bytes(count));
    if (!l) {
        pithp_fail_memory(d->s, linear_bytes(count));
        return NULL;
    }
    *l = (watched_linear){.rule = *linear,
                          .runtime = d->s->runtime,
                          .of = linear,
                          .watches = *d->inside,
                          .primal_count = count};
    l->watches.list = NULL;
    l->rule.free = free_linear;
    l->rule.record = record_linear;
    l->rule.batch = NULL;
    l->rule.refuse = refuse_linear;
    l->rule.first_count += count;
    atomic_init(&l->rule.refs, 1);
    atomic_fetch_add_explicit(&linear->refs, 1, memory_order_relaxed);
    for (int k = 0, next = 0; k < first; k++)
        if (c->tangents[k] >= 0)
            l->primals[next++] = pithp_derived_spec(d, c->operands[k]);
    return &l->rule;
}
