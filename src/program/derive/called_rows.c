/* Derivation of calls: the program of a call is linearized once for each pattern of
 * moving inputs, and transposed once for each pattern of cotangents. Each call has rows
 * of these programs. */
#include "program/derive/called_rows.h"

#include <string.h>

/* The transpose of the linear program of a callee, for some cotangents. Inputs:
 * residuals, the cotangents that are there, and those of inputs so far, which are added
 * to. */
typedef struct turned {
    struct turned *next;
    const bool *pattern; /* of each output, then of each tangent: whether it is there */
    pithp_program *program;
    bool *reaches; /* by tangent: whether there is an output */
    bool *joins; /* by cotangent that is there: it is added to a part of an array, and may
                    be one itself: their sum is both parts (builder.c) */
    bool in_place; /* a result is such a part, or a cotangent: not a row of its own */
} turned;

/* What is derived of a program for a pattern of moving inputs. */
typedef struct pithp_row_callee {
    struct pithp_row_callee *next;
    const pithp_program *program;
    const int *tangents;    /* of each input: the first one with its tangent; -1: none */
    pithp_program *forward; /* in forward mode with tangents as further outputs, and */
    pithp_program *linear;  /* NULL */
    int residual_count, tangent_count; /* inputs of linear */
    int64_t *residuals; /* of each: result of forward, or -1 - the input that it is */
    int *moves;         /* of each output: result of linear; -1: it does not move; -2 - n:
                           its tangent is that of input n */
    turned *turned;
} pithp_row_callee;

enum { INDEX = 1 }; /* operands before those of a call */

void pithp_callees_end(pithp_callees *callees) {
    for (pithp_row_callee *e = callees->list; e; e = e->next) {
        for (turned *t = e->turned; t; t = t->next)
            pithp_program_release(t->program);
        pithp_program_release(e->forward);
        pithp_program_release(e->linear);
    }
    callees->list = NULL;
    pithp_program_release(callees->outlined);
    callees->outlined = NULL;
}

/* Whether a value may be part of an array with zeros around it, of which sums are made by
 * joining parts (builder.c). */
static bool is_part(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    return i && i->primitive == PITHP_OP_PAD;
}

static bool refuse(pithp_derivation *d) {
    d->callees->refused = true;
    return false;
}

/* A row of a program, whose operands have room for the index before them. Returns the
 * first result; -1: error set. */
static pithp_value
add_row(pithp_derivation *d, pithp_value index, pithp_program *p, pithp_value *operands) {
    operands[0] = index;
    const pithp_new_instruction row = {.primitive = PITHP_OP_COND,
                                       .operand_count = (int)p->input_count + INDEX,
                                       .operands = operands,
                                       .program_count = 1,
                                       .programs = &p,
                                       .site = d->site};
    return pithp_program_add_many(d->s, d->to, &row);
}

/* ---- Programs with other inputs and outputs ---- */

/* Add the inputs of a program; same: of each input, the earlier one that it is, or NULL.
 * values: of each, then room for outputs. False sets the error. */
static bool take_in(pith_scope *s,
                    const pithp_program *from,
                    const int *same,
                    pithp_program *to,
                    pithp_value *values) {
    bool fine = true;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine =
            (values[k] = same && same[k] < k
                             ? values[same[k]]
                             : pithp_program_input(
                                   s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    return fine && pithp_program_inline(s, to, from, values, values + from->input_count);
}

static pithp_value *values_of(pith_scope *s, const pithp_program *p) {
    return pithp_scope_allocate(s, (size_t)(p->input_count + p->output_count + 1) *
                                       sizeof(pithp_value));
}

/* A program with some of the outputs. NULL: error set. */
static pithp_program *
with_outputs(pith_scope *s, const pithp_program *from, const bool *wanted) {
    pithp_value *values = values_of(s, from);
    pithp_program *to = values ? pithp_program_make(s) : NULL;
    bool fine = to && take_in(s, from, NULL, to, values);
    for (int64_t k = 0; k < from->output_count && fine; k++)
        fine = !wanted[k] || pithp_program_output(s, to, values[from->input_count + k]);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}

/* ---- Linearization ---- */

/* Residuals that are inputs or values are these, and no outputs of their own. */
static bool
set_forward(pith_scope *s, pithp_row_callee *e, const pithp_program *forward) {
    const int64_t outputs = e->program->output_count;
    bool *wanted = pithp_scope_allocate(s, (size_t)forward->output_count + 1);
    e->residuals =
        pithp_scope_allocate(s, ((size_t)e->residual_count + 1) * sizeof *e->residuals);
    if (!wanted || !e->residuals)
        return false;
    int64_t next = outputs;
    memset(wanted, 1, (size_t)forward->output_count + 1);
    for (int k = 0; k < e->residual_count; k++) {
        const pithp_value v = forward->outputs[outputs + k];
        const pithp_value_info *n = &forward->values[v];
        int64_t same = 0;
        while (same < outputs && forward->outputs[same] != v)
            same++;
        wanted[outputs + k] = n->origin != PITHP_FROM_INPUT && same == outputs;
        e->residuals[k] = n->origin == PITHP_FROM_INPUT ? -1 - (int64_t)n->at
                          : same < outputs              ? same
                                                        : next++;
    }
    return (e->forward = with_outputs(s, forward, wanted)) != NULL;
}

/* The tangent that a value of the linear program is: the number of its input of the
 * callee; -1: it is computed. */
static int
passed_tangent(const pithp_row_callee *e, const pithp_program *linear, pithp_value v) {
    int64_t at = linear->values[v].origin == PITHP_FROM_INPUT
                     ? linear->values[v].at - e->residual_count
                     : -1;
    for (int64_t k = 0; at >= 0 && k < e->program->input_count; k++)
        if (e->tangents[k] == k && at-- == 0)
            return (int)k;
    return -1;
}

/* Outputs that are equal, or are tangents of inputs, are no outputs of their own: their
 * cotangents are sums in the order of the uses of the one value. */
static bool add_moves(pith_scope *s,
                      pithp_row_callee *e,
                      const bool *moves,
                      const pithp_value *outputs) {
    pithp_program *p = e->linear;
    int results = 0;
    for (int64_t k = 0, n = 0; k < e->program->output_count; k++) {
        e->moves[k] = -1;
        if (!moves[k])
            continue;
        const pithp_value v = outputs[n++];
        const int passed = passed_tangent(e, p, v);
        int at = 0;
        while (at < results && p->outputs[at] != v)
            at++;
        e->moves[k] = passed >= 0 ? -2 - passed : at;
        if (passed < 0 && at == results && (results++, !pithp_program_output(s, p, v)))
            return false;
    }
    return true;
}

/* The linear program with one input for equal tangents. */
static bool set_linear(pith_scope *s,
                       pithp_row_callee *e,
                       const pithp_program *linear,
                       const bool *moves) {
    const int64_t inputs = linear->input_count, all = e->program->input_count;
    int *same = pithp_scope_allocate(s, ((size_t)inputs + 1) * sizeof *same),
        *rank = pithp_scope_allocate(s, ((size_t)all + 1) * sizeof *rank);
    pithp_value *values = values_of(s, linear);
    e->moves = pithp_scope_allocate(s, ((size_t)e->program->output_count + 1) *
                                           sizeof *e->moves);
    if (!same || !rank || !values || !e->moves)
        return false;
    int n = e->residual_count;
    for (int k = 0; k < n; k++)
        same[k] = k;
    for (int64_t k = 0; k < all; k++) {
        if (e->tangents[k] < 0)
            continue;
        rank[k] = n;
        same[n++] = rank[e->tangents[k]];
        e->tangent_count += e->tangents[k] == k;
    }
    return (e->linear = pithp_program_make(s)) &&
           take_in(s, linear, same, e->linear, values) &&
           add_moves(s, e, moves, values + inputs);
}

static bool linearize(pithp_derivation *d, pithp_row_callee *e) {
    pith_scope *s = d->s;
    const pithp_program *p = e->program;
    const pithp_derive_mode mode = {.reverse = d->reverse, .strong_zero = d->strong_zero};
    bool *moving =
             pithp_scope_allocate(s, (size_t)(p->input_count + p->output_count) + 1),
         *moves = moving + p->input_count;
    pithp_linearization l;
    for (int64_t k = 0; moving && k < p->input_count; k++)
        moving[k] = e->tangents[k] >= 0;
    if (!moving || !pithp_split(s, p, moving, mode, moves, &l))
        return false;
    e->residual_count = (int)l.residual_count;
    const bool fine = set_forward(s, e, l.forward) && set_linear(s, e, l.linear, moves);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    d->callees->counts.derivations++;
    return fine;
}

/* Derive in forward mode. False sets the error. */
static bool derive(pithp_derivation *d, pithp_row_callee *e) {
    const pithp_program *p = e->program;
    const size_t inputs = (size_t)p->input_count, outputs = (size_t)p->output_count;
    const pithp_derive_mode mode = {.strong_zero = d->strong_zero};
    bool *moving = pithp_scope_allocate(d->s, inputs + outputs + 1),
         *moves = moving + inputs;
    e->moves = pithp_scope_allocate(d->s, (outputs + 1) * sizeof *e->moves);
    if (!moving || !e->moves)
        return false;
    for (size_t k = 0; k < inputs; k++)
        moving[k] = e->tangents[k] >= 0;
    if (!(e->forward = pithp_forward(d->s, p, moving, mode, moves)))
        return false;
    int next = (int)outputs;
    for (size_t k = 0; k < outputs; k++)
        e->moves[k] = moves[k] ? next++ : -1;
    d->callees->counts.derivations++;
    return true;
}

/* Whether a tangent that enters or leaves the callee may be joined with others. */
static bool has_parts(const pithp_derivation *d,
                      const pithp_moving_call *c,
                      const pithp_row_callee *e) {
    const pithp_program *p = e->linear ? e->linear : e->forward;
    bool any = false;
    for (int k = INDEX; k < c->i->operand_count; k++)
        any |= c->tangents[k] >= 0 && is_part(d->to, c->tangents[k]);
    for (int64_t k = 0; k < p->output_count; k++)
        any |= is_part(p, p->outputs[k]);
    return any;
}

/* The callee for the pattern of a call. NULL: error set. */
static pithp_row_callee *find_callee(pithp_derivation *d, const pithp_moving_call *c) {
    const pithp_program *p = c->i->programs[0];
    const size_t bytes = (size_t)p->input_count * sizeof(int);
    const pithp_value *t = c->tangents + INDEX;
    int *tangents = pithp_scope_allocate(d->s, bytes + sizeof *tangents);
    pithp_row_callee *e;
    for (int64_t k = 0; tangents && k < p->input_count; k++) {
        tangents[k] = t[k] < 0 ? -1 : 0;
        while (t[k] >= 0 && t[tangents[k]] != t[k])
            tangents[k]++;
    }
    for (e = d->callees->list; tangents && e; e = e->next)
        if (e->program == p && !memcmp(e->tangents, tangents, bytes))
            return e;
    if (!tangents || !(e = pithp_scope_allocate(d->s, sizeof *e)))
        return NULL;
    *e = (pithp_row_callee){.next = d->callees->list, .program = p, .tangents = tangents};
    d->callees->list = e;
    return (d->split ? linearize(d, e) : derive(d, e)) ? e : NULL;
}

static bool add_linear(pithp_derivation *d,
                       const pithp_moving_call *c,
                       const pithp_row_callee *e,
                       pithp_value first,
                       pithp_value *operands,
                       pithp_value *tangents) {
    pithp_value *next = operands + INDEX;
    for (int k = 0; k < e->residual_count; k++)
        *next++ = e->residuals[k] < 0 ? c->operands[INDEX - 1 - e->residuals[k]]
                                      : first + (pithp_value)e->residuals[k];
    for (int64_t k = 0; k < e->program->input_count; k++)
        if (e->tangents[k] == k)
            *next++ = c->tangents[INDEX + k];
    const pithp_value linear =
        e->linear->output_count ? add_row(d, c->operands[0], e->linear, operands) : 0;
    bool fine = linear >= 0;
    for (int k = 0; k < c->i->result_count && fine; k++) {
        const int at = e->moves[k];
        tangents[k] = at == -1 ? PITHP_ABSENT
                      : at < 0 ? c->tangents[INDEX - 2 - at]
                               : linear + at;
        fine = pithp_derive_linear(d, tangents[k]);
    }
    return fine;
}

/* A row of values and tangents. */
static bool add_forward(pithp_derivation *d,
                        const pithp_moving_call *c,
                        const pithp_row_callee *e,
                        pithp_value *operands,
                        pithp_value *results,
                        pithp_value *tangents) {
    pithp_value *next = operands + c->i->operand_count;
    for (int64_t k = 0; k < e->program->input_count; k++)
        if (e->tangents[k] >= 0)
            *next++ = c->tangents[INDEX + k];
    const pithp_value first = add_row(d, c->operands[0], e->forward, operands);
    bool fine = first >= 0;
    for (int k = 0; k < c->i->result_count && fine; k++) {
        results[k] = first + k;
        tangents[k] = e->moves[k] < 0 ? PITHP_ABSENT : first + e->moves[k];
        fine = pithp_derive_linear(d, tangents[k]);
    }
    return fine;
}

bool pithp_derive_called(pithp_derivation *d,
                         const pithp_moving_call *c,
                         pithp_value *results,
                         pithp_value *tangents) {
    const pithp_row_callee *e = find_callee(d, c);
    if (!e)
        return false;
    if (has_parts(d, c, e))
        return refuse(d);
    const size_t most =
        (size_t)(e->forward->input_count + (e->linear ? e->linear->input_count : 0));
    pithp_value *operands =
        pithp_scope_allocate(d->s, (most + 2 * INDEX) * sizeof *operands);
    if (!operands)
        return false;
    memcpy(operands, c->operands, (size_t)c->i->operand_count * sizeof *operands);
    if (!d->split)
        return add_forward(d, c, e, operands, results, tangents);
    const pithp_value first = add_row(d, c->operands[0], e->forward, operands);
    for (int k = 0; k < c->i->result_count; k++)
        results[k] = first + k;
    return first >= 0 && add_linear(d, c, e, first, operands, tangents);
}

/* ---- Transposition ---- */

/* Find what joins parts of arrays, or returns them. */
static void find_parts(const pithp_program *p, int64_t known, turned *t) {
    memset(t->joins, 0, (size_t)(p->input_count - known));
    for (int64_t n = 0; n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        const pithp_value *of = pithp_operands(p, i);
        for (int k = 0; i->primitive == PITHP_OP_ADD && k < 2; k++)
            if (of[k] >= known && of[k] < p->input_count &&
                (of[1 - k] < p->input_count || is_part(p, of[1 - k])))
                t->joins[of[k] - known] = true;
    }
    for (int64_t k = 0; k < p->output_count; k++)
        t->in_place |= is_part(p, p->outputs[k]) ||
                       p->values[p->outputs[k]].origin == PITHP_FROM_INPUT;
}

static bool turn(pithp_derivation *d, const pithp_row_callee *e, turned *t) {
    pith_scope *s = d->s;
    const size_t inputs = (size_t)e->linear->input_count,
                 residuals = (size_t)e->residual_count,
                 outputs = (size_t)e->linear->output_count;
    bool *marks = pithp_scope_allocate(s, 3 * inputs + outputs + 1),
         *sums = marks + inputs;
    pithp_program *some = marks ? with_outputs(s, e->linear, t->pattern) : NULL;
    if (!some)
        return false;
    memset(marks, 0, residuals);
    memset(marks + residuals, 1, inputs - residuals);
    memset(sums, 0, residuals);
    memcpy(sums + residuals, t->pattern + outputs, inputs - residuals);
    t->program = pithp_transpose_onto(s, some, marks, sums, sums + inputs);
    t->reaches = sums + inputs + residuals;
    pithp_program_release(some);
    t->joins =
        t->program ? pithp_scope_allocate(s, (size_t)t->program->input_count + 1) : NULL;
    if (!t->joins)
        return false;
    find_parts(t->program, e->residual_count, t);
    return true;
}

/* The transposed program for the cotangents that are there. NULL: error set. */
static const turned *
find_turned(pithp_derivation *d, pithp_row_callee *e, bool *pattern) {
    const size_t bytes = (size_t)e->linear->output_count + (size_t)e->tangent_count;
    turned *t;
    for (t = e->turned; t; t = t->next)
        if (!memcmp(t->pattern, pattern, bytes))
            return t;
    if (!(t = pithp_scope_allocate(d->s, sizeof *t)))
        return NULL;
    *t = (turned){.next = e->turned, .pattern = pattern};
    e->turned = t;
    return turn(d, e, t) ? t : NULL;
}

/* The cotangents of results and of inputs so far; then room. NULL: error set. */
static pithp_value *list_cotangents(pithp_derivation *d,
                                    const pithp_moving_call *c,
                                    const pithp_row_callee *e,
                                    const pithp_value *cotangents,
                                    bool *pattern) {
    const pithp_value *of = pithp_operands(c->from, c->i);
    const size_t most = (size_t)e->linear->input_count + (size_t)c->i->result_count +
                        (size_t)e->tangent_count + INDEX;
    pithp_value *operands = pithp_scope_allocate(d->s, (most + 1) * sizeof *operands),
                *next = operands;
    if (!operands)
        return NULL;
    memcpy(next, c->operands, (size_t)(INDEX + e->residual_count) * sizeof *next);
    next += INDEX + e->residual_count;
    for (int k = 0; k < c->i->result_count + e->tangent_count; k++) {
        const pithp_value ct =
            k < c->i->result_count
                ? cotangents[c->i->result + k]
                : cotangents[of[INDEX + e->residual_count + k - c->i->result_count]];
        pattern[k] = ct != PITHP_ABSENT;
        if (pattern[k])
            *next++ = ct;
    }
    return operands;
}

bool pithp_transpose_called(pithp_derivation *d,
                            const pithp_moving_call *c,
                            pithp_value *cotangents) {
    pithp_row_callee *e = d->callees->list;
    while (e->linear != c->i->programs[0])
        e = e->next;
    const int results = c->i->result_count;
    bool any = false;
    bool *pattern = pithp_scope_allocate(d->s, (size_t)(results + e->tangent_count) + 1);
    pithp_value *operands =
        pattern ? list_cotangents(d, c, e, cotangents, pattern) : NULL;
    if (!operands)
        return false;
    for (int k = 0; k < results; k++)
        any |= pattern[k];
    if (!any)
        return true;
    const turned *t = find_turned(d, e, pattern);
    if (!t)
        return false;
    const pithp_program *p = t->program;
    for (int64_t k = e->residual_count; k < p->input_count; k++)
        if (t->joins[k - e->residual_count] && is_part(d->to, operands[INDEX + k]))
            return refuse(d);
    pithp_value *outputs =
        pithp_scope_allocate(d->s, ((size_t)p->output_count + 1) * sizeof *outputs);
    bool fine = outputs;
    if (fine && t->in_place) {
        fine = pithp_program_inline(d->s, d->to, p, operands + INDEX, outputs);
    } else if (fine && p->output_count) {
        const pithp_value first = add_row(d, c->operands[0], t->program, operands);
        for (int64_t k = 0; k < p->output_count; k++)
            outputs[k] = first + (pithp_value)k;
        fine = first >= 0;
    }
    const pithp_value *of = pithp_operands(c->from, c->i) + INDEX + e->residual_count;
    for (int k = 0; k < e->tangent_count && fine; k++)
        if (t->reaches[k])
            cotangents[of[k]] = *outputs++;
    return fine;
}
