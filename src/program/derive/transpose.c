/* Transposition of linear programs: a walk from the last instruction to the first adds
 * the cotangents of operands. */
#include "program/derive/called.h"
#include "program/derive/called_rows.h"
#include "program/derive/split.h"

#include <string.h>

typedef struct transposition {
    pithp_derivation d;
    const pithp_program *from;
    const bool
        *sums; /* inputs whose cotangent begins as an input of the result; or NULL */
    bool *linear;
    pithp_value *names;      /* of values that depend on no tangent: their copies */
    pithp_value *cotangents; /* of linear values: the sum so far, or PITHP_ABSENT */
    pithp_value *operands;   /* copies of the known operands of an instruction; */
    pithp_value *moving;     /* whether the others are there: not PITHP_ABSENT */
    pithp_value *pending;    /* known values that are to be copied */
    int64_t output_count;    /* without those that have no cotangents */
    bool *wanted; /* of each value, whether its cotangent is wanted; NULL: of none */
    bool *comes;  /* of each of the last outputs, whether it has a cotangent */
    pithp_call_segments segments; /* of calls that are equal to others */
} transposition;

/* ---- Elementwise rows ---- */

/* The rows that tangent formulas use, in an operand that they are linear in. */
static pithp_value
elementwise(pithp_derivation *d, const pithp_moving_call *c, pithp_value ct, int k) {
    const pithp_primitive op = c->i->primitive;
    if (op == PITHP_OP_ADD)
        return ct;
    if (op == PITHP_OP_SUB)
        return k == 0 ? ct : pithp_derive_1(d, PITHP_OP_NEG, ct);
    if (op == PITHP_OP_NEG)
        return pithp_derive_1(d, PITHP_OP_NEG, ct);
    if (op == PITHP_OP_MUL || op == PITHP_OP_MUL_STRONG)
        return pithp_derive_2(d, op, ct, c->operands[1 - k]);
    if (k == 0 &&
        (op == PITHP_OP_DIV || op == PITHP_OP_DIV_STRONG || op == PITHP_OP_LDEXP))
        return pithp_derive_2(d, op, ct, c->operands[1]);
    if (op == PITHP_OP_WHERE && k > 0) {
        const pithp_value zero = pithp_derive_number(d, 0);
        return pithp_derive_3(d, op, c->operands[0], k == 1 ? ct : zero,
                              k == 1 ? zero : ct);
    }
    return pithp_refuse_nonlinear(d, c, k);
}

/* The cotangent of operand k, with its spec. */
static pithp_value
cotangent_of(transposition *t, const pithp_moving_call *c, pithp_value ct, int k) {
    pithp_derivation *d = &t->d;
    const pith_spec *spec = pithp_value_spec(t->from, pithp_operands(t->from, c->i)[k]);
    const pithp_tangent_row row = pithp_tangent_of(c->i->primitive);
    d->dtype = spec->dtype;
    if (pithp_is_elementwise(c->i->primitive))
        return pithp_derive_unbroadcast(d, elementwise(d, c, ct, k), spec);
    if (row.kind == PITHP_TANGENT_PASSED)
        return ct;
    if (row.transpose && pithp_set_has(row.set, c->i->operand_count, k))
        return row.transpose(d, c, ct, k);
    return pithp_refuse_nonlinear(d, c, k);
}

/* ---- Instructions ---- */

/* Copy a known value and its operands before the first use. Values that are computed
 * again then live as short as possible. */
static bool copy_known(transposition *t, pithp_value v) {
    const pithp_program *p = t->from;
    int64_t count = 0;
    t->pending[count++] = v;
    while (count) {
        const pithp_value next = t->pending[count - 1];
        const pithp_instruction *i = pithp_maker(p, next);
        const int64_t before = count;
        if (t->names[next] >= 0) {
            count--;
            continue;
        }
        for (int k = i ? i->operand_count : 0; k-- > 0;)
            if (t->names[pithp_operands(p, i)[k]] < 0)
                t->pending[count++] = pithp_operands(p, i)[k];
        if (count == before &&
            !pithp_copy_value(t->d.s, t->d.to, p, i ? i->result : next, i, t->names))
            return false;
    }
    return true;
}

/* Known instructions that report run in any case, and in order. */
static bool copy_effects(transposition *t) {
    const pithp_program *p = t->from;
    bool fine = true;
    for (int64_t n = 0; n < p->instruction_count && fine; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (i->result_count && !t->linear[i->result] && pithp_has_effects(i))
            fine = copy_known(t, i->result);
    }
    return fine;
}

/* Operands from the last to the first: later uses come first in the sum. */
static bool transpose_instruction(transposition *t, const pithp_instruction *i) {
    const pithp_value ct = i->result_count ? t->cotangents[i->result] : PITHP_ABSENT;
    const pithp_value *of = pithp_operands(t->from, i);
    const pithp_moving_call c = {
        .i = i, .from = t->from, .operands = t->operands, .tangents = t->moving};
    const bool control = pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS);
    t->d.site = i->site;
    if (!i->result_count || !t->linear[i->result] ||
        (ct == PITHP_ABSENT && !control && i->primitive != PITHP_OP_RULE))
        return true;
    for (int k = 0; k < i->operand_count; k++) {
        if (!t->linear[of[k]] && !copy_known(t, of[k]))
            return false;
        t->operands[k] = t->linear[of[k]] ? PITHP_ABSENT : t->names[of[k]];
        t->moving[k] = t->linear[of[k]] ? 0 : PITHP_ABSENT;
    }
    t->d.to->remat = i->remat;
    t->d.to->remat.kept = false;
    if (pithp_is_called(t->d.callees, t->from, i))
        return pithp_transpose_called(&t->d, &c, t->cotangents);
    if (control)
        return pithp_transpose_control(&t->d, &c, t->cotangents);
    if (i->primitive == PITHP_OP_RULE)
        return pithp_transpose_rule(&t->d, &c, t->cotangents);
    const int wrong = pithp_not_linear(&c);
    if (wrong >= 0) /* tangents of rows are linear; those of a rule may not be */
        return pithp_refuse_nonlinear(&t->d, &c, wrong) >= 0;
    for (int k = i->operand_count; k-- > 0;) {
        if (!t->linear[of[k]])
            continue;
        const pithp_value part = cotangent_of(t, &c, ct, k);
        t->cotangents[of[k]] =
            part == -1 ? -1 : pithp_derive_sum(&t->d, t->cotangents[of[k]], part);
        if (t->cotangents[of[k]] == -1)
            return false;
    }
    return true;
}

/* ---- Calls ---- */

/* The pattern of a segment (called.h). *any: whether an output has a cotangent. NULL:
 * error set. */
static bool *pattern_of(const transposition *t, const pithp_call_segment *g, bool *any) {
    const size_t inputs = (size_t)g->callee->program->input_count,
                 outputs = (size_t)g->callee->program->output_count;
    bool *linear = pithp_scope_allocate(t->d.s, 2 * (inputs + outputs) + 1);
    *any = false;
    for (size_t k = 0; linear && k < inputs; k++) {
        linear[k] = t->linear[g->inputs[k]];
        linear[inputs + k] = linear[k] && t->cotangents[g->inputs[k]] >= 0;
    }
    for (size_t k = 0; linear && k < outputs; k++) {
        const pithp_value v = g->outputs[k];
        *any |= linear[2 * inputs + k] = t->cotangents[v] >= 0;
        linear[2 * inputs + outputs + k] = t->wanted && t->wanted[v];
    }
    return linear;
}

/* The inputs of a transposed callee, then room for its outputs. NULL: error set. */
static pithp_value *
segment_inputs(transposition *t, const pithp_call_segment *g, const pithp_called *e) {
    const int64_t inputs = g->callee->program->input_count;
    const bool *sums = e->pattern + inputs, *there = sums + inputs;
    const size_t count = (size_t)(e->program->input_count + e->program->output_count);
    pithp_value *list = pithp_scope_allocate(t->d.s, (count + 1) * sizeof *list),
                *next = list;
    if (!list)
        return NULL;
    for (int64_t k = 0; k < inputs; k++) {
        if (t->linear[g->inputs[k]])
            continue;
        if (!copy_known(t, g->inputs[k]))
            return NULL;
        *next++ = t->names[g->inputs[k]];
    }
    for (int64_t k = 0; k < g->callee->program->output_count; k++)
        if (there[k])
            *next++ = t->cotangents[g->outputs[k]];
    for (int64_t k = 0; k < inputs; k++)
        if (sums[k])
            *next++ = t->cotangents[g->inputs[k]];
    return list;
}

/* Put in the transposed program of a segment's callee. *done: false if the segment is to
 * be transposed by itself. */
static bool transpose_segment(transposition *t, const pithp_call_segment *g, bool *done) {
    const int64_t inputs = g->callee->program->input_count;
    const pithp_called *e = NULL;
    bool any;
    const bool *pattern = pattern_of(t, g, &any);
    *done = !any;
    if (!pattern || (any && !pithp_called_transposed(&t->d, g, pattern, &e)))
        return false;
    if (!e)
        return true;
    const bool *wanted = e->pattern + 2 * inputs + g->callee->program->output_count;
    pithp_value *list = segment_inputs(t, g, e),
                *outputs = list ? list + e->program->input_count : NULL;
    if (!list || !pithp_called_add(&t->d, g, e, list, outputs, done))
        return false;
    for (int64_t k = 0; k < inputs && *done; k++)
        if (e->marks[k])
            t->cotangents[g->inputs[k]] = *outputs++;
    const bool *comes = e->comes;
    for (int64_t k = 0; k < g->callee->program->output_count && *done; k++)
        if (wanted[k])
            t->cotangents[g->outputs[k]] = *comes++ ? *outputs++ : PITHP_ABSENT;
    return true;
}

/* ---- The walk ---- */

static bool begin(transposition *t, const bool *marks) {
    const pithp_program *p = t->from;
    bool fine = true;
    for (pithp_value v = 0; v < p->value_count; v++) {
        t->cotangents[v] = PITHP_ABSENT;
        t->names[v] = -1;
    }
    pithp_colour(p, marks, t->linear);
    for (int64_t k = 0; k < p->input_count && fine; k++)
        fine = marks[k] || (t->names[p->inputs[k]] = pithp_program_input(
                                t->d.s, t->d.to, pithp_value_spec(p, p->inputs[k]))) >= 0;
    return fine;
}

/* One cotangent for each output; an output may be a value that others are too. Then the
 * sums, which other cotangents are added to. */
static bool add_cotangents(transposition *t) {
    const pithp_program *p = t->from;
    const pithp_value first = (pithp_value)t->d.to->value_count;
    bool fine = true;
    for (int64_t k = 0; k < t->output_count && fine; k++)
        fine =
            pithp_program_input(t->d.s, t->d.to, pithp_value_spec(p, p->outputs[k])) >= 0;
    for (int64_t k = 0; t->sums && k < p->input_count && fine; k++) {
        const pithp_value v = p->inputs[k];
        if (t->sums[k])
            fine = (t->cotangents[v] = pithp_program_input(t->d.s, t->d.to,
                                                           pithp_value_spec(p, v))) >= 0;
    }
    for (int64_t k = t->output_count; k-- > 0 && fine;) {
        pithp_value *ct = &t->cotangents[p->outputs[k]];
        if (t->linear[p->outputs[k]])
            fine = (*ct = pithp_derive_sum(&t->d, *ct, first + (pithp_value)k)) != -1;
    }
    return fine;
}

/* A sum that nothing was added to. A cotangent of an output alone is no sum. */
static bool is_input(const transposition *t, pithp_value ct) {
    return t->d.to->values[ct].origin == PITHP_FROM_INPUT;
}

static bool walk(transposition *t) {
    const pithp_program *p = t->from;
    bool fine = true;
    int64_t next = t->segments.count - 1;
    for (int64_t n = p->instruction_count; n > 0 && fine;) {
        const pithp_call_segment *g = next >= 0 ? &t->segments.list[next] : NULL;
        bool done = false;
        if (g && n == g->end) {
            fine = transpose_segment(t, g, &done);
            next--;
        }
        if (done)
            n = g->first;
        else
            fine = fine && transpose_instruction(t, &p->instructions[--n]);
    }
    return fine;
}

static bool run(transposition *t, const bool *marks, bool *reaches) {
    const pithp_program *p = t->from;
    bool fine =
        begin(t, marks) && add_cotangents(t) && copy_effects(t) &&
        (t->d.callees || pithp_call_segments_find(t->d.s, p, t->linear, &t->segments));
    pithp_program_take_groups(t->d.to, p);
    fine = fine && walk(t);
    pithp_call_segments_end(&t->segments);
    t->d.to->remat = (pithp_remat){0};
    for (int64_t k = 0; k < p->input_count && fine; k++) {
        const pithp_value ct = marks[k] ? t->cotangents[p->inputs[k]] : PITHP_ABSENT;
        reaches[k] = ct >= 0 && !(t->sums && t->sums[k] && is_input(t, ct));
        fine = !reaches[k] || pithp_program_output(t->d.s, t->d.to, ct);
    }
    return fine;
}

/* Watches of cotangents become outputs. */
static bool add_watches(transposition *t, pithp_derive_watches *watches) {
    const pithp_value *of = t->from->outputs + t->output_count;
    int64_t kept = 0;
    bool fine = true;
    for (int64_t k = 0; k < watches->count && fine; k++, of += PITHP_WATCH_OUTPUTS) {
        const pithp_value ct = t->cotangents[of[0]];
        if (ct < 0)
            continue;
        if (!copy_known(t, of[1]) || !copy_known(t, of[2]))
            return false;
        pithp_derive_watch *w = &watches->list[kept++];
        *w = watches->list[k];
        w->derivative = ct;
        w->guard = t->names[of[1]];
        w->shown = t->names[of[2]];
        fine = pithp_program_output(t->d.s, t->d.to, w->derivative) &&
               pithp_program_output(t->d.s, t->d.to, w->guard) &&
               pithp_program_output(t->d.s, t->d.to, w->shown);
    }
    watches->count = kept;
    return fine;
}

/* Cotangents of the last outputs become outputs, those that there are. */
static bool add_shown(transposition *t) {
    const pithp_value *of = t->from->outputs + t->output_count;
    bool fine = true;
    for (int64_t k = 0; t->output_count + k < t->from->output_count && fine; k++) {
        t->comes[k] = t->cotangents[of[k]] >= 0;
        fine =
            !t->comes[k] || pithp_program_output(t->d.s, t->d.to, t->cotangents[of[k]]);
    }
    return fine;
}

/* Mark the values whose cotangents watches are to have. False sets the error. */
static bool want(transposition *t, const pithp_derive_watches *watches) {
    const pithp_value *of = t->from->outputs + t->output_count;
    if (!watches || !watches->count)
        return true;
    const size_t count = (size_t)t->from->value_count + 1;
    if (!(t->wanted = pithp_scope_allocate(t->d.s, count)))
        return false;
    memset(t->wanted, 0, count);
    for (int64_t k = 0; k < watches->count; k++)
        t->wanted[of[PITHP_WATCH_OUTPUTS * k]] = true;
    return true;
}

/* what: its program and what is asked for beside the cotangents of inputs. */
static pithp_program *transpose(pith_scope *s,
                                transposition what,
                                const bool *marks,
                                bool *reaches,
                                pithp_derive_watches *watches) {
    const pithp_program *linear = what.from;
    const size_t n = (size_t)linear->value_count + 1,
                 most = (size_t)pithp_most_operands(linear);
    const size_t counts = 2 * n + 2 * most + (size_t)linear->operand_count + 1;
    const size_t bytes = counts * sizeof(pithp_value) + n * sizeof(bool);
    pithp_value *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    transposition t = what;
    t.d = (pithp_derivation){
        .s = s, .to = pithp_program_make(s), .callees = what.d.callees};
    t.names = memory;
    t.cotangents = t.names + n;
    t.operands = t.cotangents + n;
    t.moving = t.operands + most;
    t.pending = t.moving + most;
    t.linear = (bool *)(memory + counts);
    const bool fine = t.d.to && want(&t, watches) && run(&t, marks, reaches) &&
                      (watches ? add_watches(&t, watches) : add_shown(&t));
    pithp_release(s->runtime, memory, bytes);
    if (fine) {
        PITHP_VERIFY(t.d.to);
        return t.d.to;
    }
    pithp_program_release(t.d.to);
    return NULL;
}

pithp_program *pithp_program_transpose(pith_scope *s,
                                       const pithp_program *linear,
                                       const bool *marks,
                                       bool *reaches) {
    return pithp_transpose_onto(s, linear, marks, NULL, reaches);
}

pithp_program *pithp_program_transpose_watched(pith_scope *s,
                                               const pithp_program *linear,
                                               const bool *marks,
                                               bool *reaches,
                                               pithp_derive_watches *watches) {
    const transposition what = {.from = linear,
                                .output_count = linear->output_count -
                                                watches->count * PITHP_WATCH_OUTPUTS};
    return transpose(s, what, marks, reaches, watches);
}

pithp_program *pithp_program_transpose_called(pith_scope *s,
                                              const pithp_program *linear,
                                              const bool *marks,
                                              bool *reaches,
                                              pithp_callees *callees) {
    const transposition what = {
        .d.callees = callees, .from = linear, .output_count = linear->output_count};
    return transpose(s, what, marks, reaches, NULL);
}

pithp_program *pithp_transpose_onto(pith_scope *s,
                                    const pithp_program *linear,
                                    const bool *marks,
                                    const bool *sums,
                                    bool *reaches) {
    return pithp_transpose_shown(s, linear, marks, sums, reaches, 0, NULL);
}

pithp_program *pithp_transpose_shown(pith_scope *s,
                                     const pithp_program *linear,
                                     const bool *marks,
                                     const bool *sums,
                                     bool *reaches,
                                     int64_t shown,
                                     bool *comes) {
    const transposition what = {.from = linear,
                                .sums = sums,
                                .output_count = linear->output_count - shown,
                                .comes = comes};
    return transpose(s, what, marks, reaches, NULL);
}
