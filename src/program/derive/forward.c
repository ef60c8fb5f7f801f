/* Forward mode: a program is copied instruction by instruction, each followed by the
 * instructions of its tangent. */
#include "program/derive/called.h"
#include "program/derive/called_rows.h"
#include "program/derive/split.h"

#include <string.h>

typedef struct forward {
    pithp_derivation d;
    const pithp_program *from;
    pithp_value *names;    /* of each value of from: its copy; */
    pithp_value *tangents; /* its tangent, or PITHP_ABSENT */
    pithp_value *operands; /* copies of the operands of an instruction, and */
    pithp_value *moving;   /* their tangents */
    pithp_value *scratch;  /* as many for a rule */
    const pithp_derive_mode *mode;
    pithp_call_segments segments;  /* of calls that are equal to others */
    pithp_derive_watches *watches; /* receives them; or NULL */
    bool nested;                   /* in control flow: d.inside examines */
} forward;

bool pithp_set_has(pithp_operand_set set, int count, int k) {
    switch (set) {
        case PITHP_OPERANDS_NONE:
            return false;
        case PITHP_OPERANDS_FIRST:
            return k == 0;
        case PITHP_OPERANDS_SECOND:
            return k == 1;
        case PITHP_OPERANDS_FIRST_TWO:
            return k < 2;
        case PITHP_OPERANDS_FIRST_AND_LAST:
            return k == 0 || k == count - 1;
        case PITHP_OPERANDS_EVERY:
            return true;
    }
    return false;
}

/* ---- Tangents by the kind of the row ---- */

static pithp_value sum_of_terms(pithp_derivation *d,
                                const pithp_tangent_row *row,
                                const pithp_moving_call *c) {
    pithp_value operands[3] = {PITHP_ABSENT, PITHP_ABSENT, PITHP_ABSENT};
    pithp_value all = PITHP_ABSENT;
    memcpy(operands, c->operands, (size_t)c->i->operand_count * sizeof *operands);
    for (int k = 0; k < c->i->operand_count && all != -1; k++)
        if (c->tangents[k] >= 0)
            all = pithp_derive_sum(d, all,
                                   row->term(d, operands, c->result, c->tangents[k], k));
    return all;
}

/* The row on some operands replaced by others. */
static pithp_value
on(pithp_derivation *d, const pithp_moving_call *c, const pithp_value *operands) {
    pithp_index_params index;
    const void *params = c->i->params;
    if (pithp_op_has(c->i->primitive, PITHP_TRAIT_INDEXED)) {
        index = pithp_derived_index(c);
        params = &index;
    }
    return pithp_derive_call(d, c->i->primitive, c->i->operand_count, operands, params);
}

/* The row is constant almost everywhere. */
static pithp_value ends(pithp_derivation *d, const pithp_moving_call *c) {
    if (!d->no_cuts)
        return PITHP_ABSENT;
    pithp_fail_at(d->s, PITH_E_ARG, NULL, c->i->site,
                  "the function is not linear: %s is constant almost everywhere",
                  pithp_ops[c->i->primitive].name);
    return -1;
}

/* Whether this matters, and the row is constant in an operand that moves. */
static bool is_cut(const pithp_derivation *d,
                   const pithp_tangent_row *row,
                   const pithp_moving_call *c) {
    bool cut = false;
    for (int k = 0; d->no_cuts && k < c->i->operand_count; k++)
        cut |= c->tangents[k] >= 0 && (row->cut >> k & 1);
    return cut;
}

static pithp_value
linear_in(pithp_derivation *d, const pithp_tangent_row *row, const pithp_moving_call *c) {
    pithp_value *operands = c->scratch;
    const int n = c->i->operand_count;
    if (!pith_dtype_is_float(d->dtype))
        return ends(d, c); /* a cast: cut */
    for (int k = 0; k < n; k++) {
        operands[k] = c->operands[k];
        if (pithp_set_has(row->set, n, k))
            operands[k] =
                c->tangents[k] >= 0
                    ? c->tangents[k]
                    : pithp_derive_zeros(d, pithp_derived_spec(d, c->operands[k]));
    }
    return on(d, c, operands);
}

static pithp_value bilinear_in(pithp_derivation *d, const pithp_moving_call *c) {
    pithp_value all = PITHP_ABSENT;
    for (int k = 0; k < 2 && all != -1; k++) {
        pithp_value operands[2] = {c->operands[0], c->operands[1]};
        if (c->tangents[k] < 0)
            continue;
        operands[k] = c->tangents[k];
        all = pithp_derive_sum(d, all, on(d, c, operands));
    }
    return all;
}

static pithp_value refuse(pithp_derivation *d, const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_NON_DIFFERENTIABLE)
        pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, i->site,
                      "a tangent reaches a value that is marked as non-differentiable");
    else
        pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, i->site,
                      "%s has no derivative, and a tangent reaches it",
                      pithp_ops[i->primitive].name);
    return -1;
}

static pithp_value tangent_of(pithp_derivation *d, const pithp_moving_call *c) {
    const pithp_tangent_row row = pithp_tangent_of(c->i->primitive);
    switch (row.kind) {
        case PITHP_TANGENT_NONE:
        case PITHP_TANGENT_CUT:
            return ends(d, c);
        case PITHP_TANGENT_STOPPED:
            return PITHP_ABSENT;
        case PITHP_TANGENT_PASSED:
            return c->tangents[0];
        case PITHP_TANGENT_REFUSED:
            return refuse(d, c->i);
        case PITHP_TANGENT_EACH:
            return pith_dtype_is_float(d->dtype) && !is_cut(d, &row, c)
                       ? sum_of_terms(d, &row, c)
                       : ends(d, c);
        case PITHP_TANGENT_LINEAR:
            return linear_in(d, &row, c);
        case PITHP_TANGENT_BILINEAR:
            return bilinear_in(d, c);
        case PITHP_TANGENT_BY:
            return row.by(d, c);
        case PITHP_TANGENT_RULE:
        case PITHP_TANGENT_FLOW:
            break; /* derive_instruction has it */
    }
    return -1;
}

pithp_value pithp_tangent_checked(pithp_derivation *d, const pithp_moving_call *c);
pithp_value pithp_tangent_kernel(pithp_derivation *d, const pithp_moving_call *c);

/* The tangent of the row that is checked. Its report belongs to the values alone. */
pithp_value pithp_tangent_checked(pithp_derivation *d, const pithp_moving_call *c) {
    const pithp_checked_params *params = c->i->params;
    pithp_instruction inner = *c->i;
    pithp_moving_call call = *c;
    inner.primitive = params->primitive;
    inner.params = &params->index;
    call.i = &inner;
    return tangent_of(d, &call);
}

/* The name of the array argument that operand k is. */
static const char *argument_name(const pith_kernel_variant *kernel, int k) {
    const pith_kernel_arg *arg = kernel->args;
    for (;; arg++) {
        const bool is_operand = arg->role == PITH_ROLE_IN || arg->role == PITH_ROLE_INOUT;
        if (is_operand && k-- == 0)
            return arg->name;
    }
}

pithp_value pithp_tangent_kernel(pithp_derivation *d, const pithp_moving_call *c) {
    const pith_kernel_variant *kernel =
        ((const pithp_kernel_params *)c->i->params)->kernel;
    int k = 0;
    while (c->tangents[k] < 0)
        k++;
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "kernel %s has no derivative, and a tangent reaches its argument %s",
                  kernel->name, argument_name(kernel, k));
    return -1;
}

/* ---- Watches ---- */

/* The watches of a kind; NULL: it is not watched. */
static pithp_derive_watches *watching(const forward *f, pithp_derive_watched watched) {
    pithp_derive_watches *w = f->nested ? f->d.inside : f->watches;
    return w && w->watched == watched && (!f->nested || w->rule) ? w : NULL;
}

static bool is_watched(const pith_spec *spec) {
    return spec->count && spec->rank <= PITH_MAX_RANK;
}

static pithp_rule *rule_for(forward *f, const pithp_derive_watch *watch) {
    const pithp_derive_watches *w = f->d.inside;
    pithp_derive_watch of = *watch;
    of.place = w->count;
    return w->rule(w, f->d.s, &of, pithp_derived_spec(&f->d, of.guard),
                   pithp_derived_spec(&f->d, of.shown));
}

/* Examine a tangent by the program of a rule. */
static bool examine(forward *f, const pithp_derive_watch *watch) {
    static const bool all = false;
    pithp_value out = -1;
    pithp_rule *rule = rule_for(f, watch);
    pithp_program *p = rule ? rule->record(rule, f->d.s, true, &all, NULL) : NULL;
    const pithp_value in[] = {watch->guard, watch->shown, watch->derivative};
    const bool fine = p && pithp_program_inline(f->d.s, f->d.to, p, in, &out);
    pithp_program_release(p);
    pithp_rule_release(rule);
    return fine;
}

/* The tangent after a linear row whose transpose examines its cotangent; -1: error set.
 */
static pithp_value examined_later(forward *f, const pithp_derive_watch *watch) {
    pithp_rule *rule = rule_for(f, watch);
    const pithp_rule_params params = {rule};
    const pithp_value in[] = {watch->guard, watch->shown, watch->derivative};
    const pithp_new_instruction row = {.primitive = PITHP_OP_RULE,
                                       .operand_count = 3,
                                       .operands = in,
                                       .params = &params,
                                       .site = watch->site};
    const pithp_value v = rule ? pithp_program_add_many(f->d.s, f->d.to, &row) : -1;
    pithp_rule_release(rule);
    return v;
}

static bool add_watch(forward *f, const pithp_derive_watch *watch) {
    pithp_derive_watches *w = f->watches;
    if (w->count == w->room) {
        const int64_t room = 2 * w->room + 16;
        pithp_derive_watch *more =
            pithp_scope_allocate(f->d.s, (size_t)room * sizeof *more);
        if (!more)
            return false;
        if (w->count)
            memcpy(more, w->list, (size_t)w->count * sizeof *more);
        w->list = more;
        w->room = room;
    }
    w->list[w->count] = *watch;
    w->list[w->count].place = w->count;
    w->count++;
    return true;
}

/* The tangent after a mark or row whose cotangent is watched; -1: error set. */
static pithp_value watched_later(forward *f, pithp_derive_watch *watch) {
    static const pithp_named_params params = {"watched"};
    if (f->nested)
        return examined_later(f, watch);
    watch->derivative = pithp_program_add(f->d.s, f->d.to, PITHP_OP_NAME, 1,
                                          &watch->derivative, &params, watch->site);
    return watch->derivative >= 0 && add_watch(f, watch) ? watch->derivative : -1;
}

/* The tangent of each operand passes a mark, whose cotangent is that of the operand. */
static bool watch_operands(forward *f, const pithp_instruction *i) {
    if (!watching(f, PITHP_WATCH_COTANGENTS))
        return true;
    for (int k = 0; k < i->operand_count; k++) {
        if (f->moving[k] < 0)
            continue;
        pithp_derive_watch watch = {.row = i->primitive,
                                    .operand = k,
                                    .beside = k,
                                    .site = i->site,
                                    .spec = pithp_derived_spec(&f->d, f->operands[k]),
                                    .rule = f->d.rule,
                                    .derivative = f->moving[k],
                                    .guard = f->operands[k],
                                    .shown = f->operands[k]};
        if (!is_watched(watch.spec))
            continue;
        /* In a linear program operands that move have no value. */
        if (f->d.dependent &&
            !pithp_watch_beside(&f->d, i, f->operands, f->moving, &watch))
            return false;
        f->moving[k] = watched_later(f, &watch);
        if (f->moving[k] < 0 || !pithp_derive_linear(&f->d, f->moving[k]))
            return false;
    }
    return true;
}

/* The first operand that moves, elementwise at the elements of the result. */
static bool
find_shown(forward *f, const pithp_instruction *i, pithp_derive_watch *watch) {
    if (!pithp_is_elementwise(i->primitive))
        return true;
    for (int k = 0; k < i->operand_count; k++) {
        if (f->moving[k] < 0)
            continue;
        pith_spec spec = *watch->spec;
        spec.dtype = pithp_derived_spec(&f->d, f->operands[k])->dtype;
        watch->beside = k;
        watch->shown = pithp_derive_broadcast(&f->d, f->operands[k], &spec);
        return watch->shown >= 0;
    }
    return true;
}

static bool watch_results(forward *f, const pithp_instruction *i) {
    if (!watching(f, PITHP_WATCH_TANGENTS))
        return true;
    for (int k = 0; k < i->result_count; k++) {
        const pithp_value v = i->result + k, t = f->tangents[v];
        pithp_derive_watch watch = {.row = i->primitive,
                                    .operand = -1,
                                    .beside = -1,
                                    .site = i->site,
                                    .spec = pithp_value_spec(f->from, v),
                                    .derivative = t,
                                    .guard = f->names[v],
                                    .shown = f->names[v]};
        if (t < 0 || !is_watched(watch.spec))
            continue;
        if (!find_shown(f, i, &watch) ||
            !(f->nested ? examine(f, &watch) : add_watch(f, &watch)))
            return false;
    }
    return true;
}

/* ---- Instructions ---- */

/* A copy moves if its rule says so, below. */
static bool copy(forward *f, pithp_value v, const pithp_instruction *i) {
    for (int k = 0; k < (i ? i->result_count : 1); k++)
        f->tangents[v + k] = PITHP_ABSENT;
    return pithp_copy_value(f->d.s, f->d.to, f->from, v, i, f->names);
}

/* The copies and tangents of the operands; whether one moves. */
static bool find_operands(forward *f, const pithp_instruction *i) {
    bool moves = false;
    for (int k = 0; k < i->operand_count; k++) {
        const pithp_value v = pithp_operands(f->from, i)[k];
        f->operands[k] = f->names[v];
        f->moving[k] = f->tangents[v];
        moves |= f->moving[k] >= 0;
    }
    return moves;
}

static bool derive_control(forward *f, const pithp_moving_call *c) {
    pithp_value *tangents = f->tangents + c->i->result;
    bool fine = pithp_derive_control(&f->d, c, f->names + c->i->result, tangents);
    for (int k = 0; k < c->i->result_count && fine; k++)
        fine = pithp_derive_linear(&f->d, tangents[k]);
    return fine;
}

/* The rules of linear programs (linear.c): the value that moves becomes zeros. What an
 * instruction without results reports of tangents is left to forward mode. */
static bool derive_linear(forward *f, const pithp_moving_call *c) {
    const pithp_instruction *i = c->i;
    pithp_value *name = &f->names[i->result], *tangent = &f->tangents[i->result];
    if (!i->result_count)
        return true;
    if (pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
        return derive_control(f, c);
    if (i->primitive == PITHP_OP_RULE)
        return pithp_linear_rule(&f->d, c, name, tangent);
    f->d.dtype = pithp_value_spec(f->from, i->result)->dtype;
    *tangent = pithp_linear_row(&f->d, c);
    if (*tangent < 0)
        return false;
    if (i->primitive == PITHP_OP_CHECKED)
        return pithp_copy_value(f->d.s, f->d.to, f->from, i->result, i, f->names);
    *name = pithp_derive_zeros(&f->d, pithp_value_spec(f->from, i->result));
    return *name >= 0;
}

static bool derive_instruction(forward *f, const pithp_instruction *i) {
    const bool any = find_operands(f, i),
               moves = any && (i->result_count || pithp_has_refusals(i));
    pithp_moving_call c = {i, f->from, f->operands, f->moving, -1, f->scratch};
    f->d.site = i->site;
    f->d.to->remat = i->remat;
    if (moves && !watch_operands(f, i))
        return false;
    if (any && f->d.dependent)
        return derive_linear(f, &c);
    if (moves && pithp_is_called(f->d.callees, f->from, i))
        return pithp_derive_called(&f->d, &c, f->names + i->result,
                                   f->tangents + i->result);
    if (moves && pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
        return derive_control(f, &c) && watch_results(f, i);
    if (moves && i->primitive == PITHP_OP_RULE)
        return pithp_derive_rule(&f->d, &c, f->names + i->result,
                                 f->tangents + i->result) &&
               watch_results(f, i);
    if (!copy(f, i->result, i))
        return false;
    f->d.to->remat.kept = false;
    if (!moves)
        return true;
    const pith_spec *spec = pithp_value_spec(f->from, i->result);
    c.result = f->names[i->result];
    f->d.dtype = spec->dtype;
    f->tangents[i->result] = pithp_derive_broadcast(&f->d, tangent_of(&f->d, &c), spec);
    return f->tangents[i->result] != -1 && watch_results(f, i);
}

/* ---- Calls ---- */

/* The watches of a callee, whose values are among those of its program. */
static bool take_watches(forward *f, const pithp_called *e, const pithp_value *outputs) {
    for (int64_t k = 0; k < e->watches.count; k++) {
        pithp_derive_watch watch = e->watches.list[k];
        watch.derivative = *outputs++;
        watch.guard = *outputs++;
        watch.shown = *outputs++;
        if (!add_watch(f, &watch))
            return false;
    }
    return true;
}

/* Name what a callee has as outputs: values, tangents, watches. */
static bool take_outputs(forward *f,
                         const pithp_call_segment *g,
                         const pithp_called *e,
                         const pithp_value *outputs) {
    const int64_t count = g->callee->program->output_count;
    const pithp_value *next = outputs + count;
    bool fine = true;
    for (int64_t k = 0; k < count && fine; k++) {
        f->names[g->outputs[k]] = outputs[k];
        f->tangents[g->outputs[k]] = e->marks[k] ? *next++ : PITHP_ABSENT;
        fine = pithp_derive_linear(&f->d, f->tangents[g->outputs[k]]);
    }
    return fine && take_watches(f, e, next);
}

/* Put in what is derived of a segment's callee. *done: false if the segment is to be
 * derived by itself. */
static bool derive_segment(forward *f, const pithp_call_segment *g, bool *done) {
    const int64_t inputs = g->callee->program->input_count;
    const pithp_called *e = NULL;
    bool any = false, *moving = pithp_scope_allocate(f->d.s, (size_t)inputs + 1);
    for (int64_t k = 0; moving && k < inputs; k++)
        any |= moving[k] = f->tangents[g->inputs[k]] >= 0;
    *done = false;
    if (!moving || (any && !pithp_called_forward(&f->d, g, f->mode, moving, &e)))
        return false;
    if (!e)
        return true;
    const size_t count = (size_t)(e->program->input_count + e->program->output_count);
    pithp_value *list = pithp_scope_allocate(f->d.s, (count + 1) * sizeof *list),
                *next = list;
    for (int64_t k = 0; list && k < inputs; k++)
        *next++ = f->names[g->inputs[k]];
    for (int64_t k = 0; list && k < inputs; k++)
        if (moving[k])
            *next++ = f->tangents[g->inputs[k]];
    return list && pithp_called_add(&f->d, g, e, list, next, done) &&
           (!*done || take_outputs(f, g, e, next));
}

/* ---- The walk ---- */

/* Inputs first, then tangents of those that move. */
static bool add_inputs(forward *f, const bool *moving) {
    const pithp_program *p = f->from;
    bool fine = true;
    for (int64_t k = 0; k < p->input_count && fine; k++)
        fine = (f->names[p->inputs[k]] = pithp_program_input(
                    f->d.s, f->d.to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    for (int64_t k = 0; k < p->input_count && fine; k++) {
        const pith_spec *spec = pithp_value_spec(p, p->inputs[k]);
        PITH_ASSERT(!moving[k] || pith_dtype_is_float(spec->dtype));
        f->tangents[p->inputs[k]] =
            moving[k] ? pithp_program_input(f->d.s, f->d.to, spec) : PITHP_ABSENT;
        fine = f->tangents[p->inputs[k]] != -1 &&
               pithp_derive_linear(&f->d, f->tangents[p->inputs[k]]);
    }
    return fine;
}

static bool walk(forward *f) {
    pithp_graph_walk w = {f->from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    const pithp_call_segment *g = f->segments.list, *end = g + f->segments.count;
    bool fine = true, done = false;
    pithp_program_take_groups(f->d.to, f->from);
    while (fine && pithp_graph_next(&w, &v, &i)) {
        const int64_t at = w.instruction - 1;
        if (i && g < end && at == g->end)
            g++, done = false;
        if (i && g < end && at == g->first && !derive_segment(f, g, &done))
            return false;
        if (i)
            fine = done || derive_instruction(f, i);
        else if (f->from->values[v].origin == PITHP_FROM_CONSTANT)
            fine = copy(f, v, NULL);
    }
    f->d.to->remat = (pithp_remat){0};
    return fine;
}

static bool add_outputs(forward *f, bool *moves) {
    const pithp_program *p = f->from;
    bool fine = true;
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(f->d.s, f->d.to, f->names[p->outputs[k]]);
    for (int64_t k = 0; k < p->output_count && fine; k++) {
        moves[k] = f->tangents[p->outputs[k]] >= 0;
        fine = !moves[k] ||
               pithp_program_output(f->d.s, f->d.to, f->tangents[p->outputs[k]]);
    }
    for (int64_t k = 0; f->watches && k < f->watches->count && fine; k++) {
        const pithp_derive_watch *w = &f->watches->list[k];
        fine = pithp_program_output(f->d.s, f->d.to, w->derivative) &&
               pithp_program_output(f->d.s, f->d.to, w->guard) &&
               pithp_program_output(f->d.s, f->d.to, w->shown);
    }
    return fine;
}

pithp_program *pithp_program_jvp(pith_scope *s,
                                 const pithp_program *p,
                                 const bool *moving,
                                 const pithp_derive_options *options,
                                 bool *moves) {
    const pithp_derive_mode mode = {.strong_zero = options && options->strong_zero,
                                    .watches = options ? options->watches : NULL,
                                    .calls = options ? options->calls : NULL,
                                    .callees = options ? options->callees : NULL};
    return pithp_program_check_cuts(s, p, moving, options)
               ? pithp_forward(s, p, moving, mode, moves)
               : NULL;
}

pithp_program *pithp_forward(pith_scope *s,
                             const pithp_program *p,
                             const bool *moving,
                             pithp_derive_mode mode,
                             bool *moves) {
    const size_t values = (size_t)p->value_count + 1,
                 most = (size_t)pithp_most_operands(p);
    const size_t bytes = (2 * values + 3 * most) * sizeof(pithp_value);
    pithp_value *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    forward f = {.d = {.s = s,
                       .to = pithp_program_make(s),
                       .split = mode.split,
                       .reverse = mode.reverse,
                       .strong_zero = mode.strong_zero,
                       .no_cuts = mode.no_cuts,
                       .inside = mode.watches ? mode.watches : mode.inside,
                       .calls = mode.calls,
                       .callees = mode.callees,
                       .rule = mode.rule,
                       .nest = mode.nest,
                       .kept = mode.kept},
                 .from = p,
                 .names = memory,
                 .tangents = memory + values,
                 .operands = memory + 2 * values,
                 .moving = memory + 2 * values + most,
                 .scratch = memory + 2 * values + 2 * most,
                 .mode = &mode,
                 .watches = mode.watches,
                 .nested = !mode.watches};
    if (mode.direct)
        f.d.dependent = pithp_dependent(s, p, moving);
    const bool fine =
        f.d.to && (!mode.direct || f.d.dependent) &&
        (mode.callees || pithp_call_segments_find(s, p, NULL, &f.segments)) &&
        add_inputs(&f, moving) && walk(&f) && add_outputs(&f, moves);
    pithp_call_segments_end(&f.segments);
    pithp_derive_end(&f.d);
    pithp_release(s->runtime, memory, bytes);
    if (fine) {
        PITHP_VERIFY(f.d.to);
        return f.d.to;
    }
    pithp_program_release(f.d.to);
    return NULL;
}
