/* Derivation of calls: a callee is derived once for each pattern of moving inputs, and
 * its linear segments are transposed once for each pattern of cotangents. */
#include "program/derive/called.h"

#include "program/ir/select.h"

#include <string.h>

void pithp_call_segments_end(pithp_call_segments *segments) {
    for (pithp_callee *c = segments->callees; c; c = c->next) {
        for (pithp_called *e = c->derived; e; e = e->next)
            pithp_program_release(e->program);
        pithp_program_release(c->program);
    }
    *segments = (pithp_call_segments){0};
}

/* ---- What the place of a segment matters to ---- */

/* Sums of cotangents and of tangents join parts of arrays with zeros around them
 * (builder.c). */
static bool is_part(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    return i && i->primitive == PITHP_OP_PAD;
}

static bool is_input(const pithp_program *p, pithp_value v) {
    return p->values[v].origin == PITHP_FROM_INPUT;
}

/* Whether an addition is one if its operands are no parts. */
static bool may_join(const pithp_program *p, const pithp_instruction *i) {
    const pithp_value *of = pithp_operands(p, i);
    return i->primitive == PITHP_OP_ADD && (is_input(p, of[0]) || is_input(p, of[1])) &&
           (is_input(p, of[0]) || is_part(p, of[0])) &&
           (is_input(p, of[1]) || is_part(p, of[1]));
}

/* List such additions. False sets the error. */
static bool find_sums(pith_scope *s, pithp_called *e) {
    const pithp_program *p = e->program;
    int64_t count = 0;
    for (int64_t n = 0; n < p->instruction_count; n++)
        count += may_join(p, &p->instructions[n]);
    e->sums = pithp_scope_allocate(s, (2 * (size_t)count + 1) * sizeof *e->sums);
    for (int64_t n = 0; e->sums && n < p->instruction_count; n++)
        if (may_join(p, &p->instructions[n]))
            memcpy(e->sums + 2 * e->sum_count++, pithp_operands(p, &p->instructions[n]),
                   2 * sizeof *e->sums);
    return e->sums;
}

/* Whether an addition joins parts instead, with these inputs. */
static bool
joins(const pithp_derivation *d, const pithp_called *e, const pithp_value *inputs) {
    bool any = false;
    for (int64_t k = 0; k < e->sum_count && !any; k++) {
        any = true;
        for (int side = 0; side < 2; side++) {
            const pithp_value v = e->sums[2 * k + side];
            any &= !is_input(e->program, v) ||
                   is_part(d->to, inputs[e->program->values[v].at]);
        }
    }
    return any;
}

/* Whether a program has checks of rules in a divided loop: those of its parts are told by
 * the rows that they come from (lift.c), which equal segments would share. */
static bool has_divided_checks(const pithp_program *p) {
    bool any = false;
    for (int64_t n = 0; n < p->instruction_count && !any; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (i->primitive == PITHP_OP_RULE)
            any = ((const pithp_rule_params *)i->params)->rule->of.nest;
        else if (i->primitive == PITHP_OP_EXPOSE)
            any = ((const pithp_expose_params *)i->params)->exposed->of.nest;
        for (int b = 0; b < i->program_count && !any; b++)
            any = has_divided_checks(i->programs[b]);
    }
    return any;
}

/* Whether what is derived of control flow depends on more than its operands: watches in
 * it are numbered, loops of a divided loop are found by their programs, and whether a
 * while moves depends on the whole linear program. */
static bool is_placed(const pithp_derivation *d,
                      const pithp_derive_mode *mode,
                      const pithp_instruction *i) {
    const bool control = pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS);
    return (mode->watches && (control || i->primitive == PITHP_OP_RULE)) ||
           (control && (d->dependent || (d->kept && d->kept->body)));
}

/* ---- Derived programs ---- */

/* What is derived for the pattern; *is_new: it is to be made. NULL sets the error. */
static pithp_called *find_derived(pith_scope *s,
                                  pithp_callee *callee,
                                  const bool *pattern,
                                  size_t count,
                                  bool *is_new) {
    pithp_called *e;
    *is_new = false;
    for (e = callee->derived; e; e = e->next)
        if (!memcmp(e->pattern, pattern, count))
            return e;
    if (!(e = pithp_scope_allocate(s, sizeof *e)))
        return NULL;
    *e = (pithp_called){.next = callee->derived, .pattern = pattern};
    *is_new = true;
    return callee->derived = e;
}

/* Take a derived program, one reference. False sets the error. */
static bool take(pith_scope *s, pithp_called *e, pithp_program *p) {
    if (p && has_divided_checks(p)) {
        pithp_program_release(p);
        return true;
    }
    e->program = p;
    return p && find_sums(s, e);
}

static bool derive(pithp_derivation *d,
                   const pithp_program *p,
                   const pithp_derive_mode *mode,
                   pithp_called *e) {
    pithp_derive_mode own = *mode;
    for (int64_t n = 0; n < p->instruction_count; n++)
        if (is_placed(d, mode, &p->instructions[n]))
            return true;
    if (mode->kept) {
        e->kept = *mode->kept;
        e->kept.bytes = 0;
        e->kept.has_inner = e->kept.held = false;
        own.kept = &e->kept;
    }
    if (mode->watches) {
        e->watches = *mode->watches;
        e->watches.count = e->watches.room = 0;
        e->watches.list = NULL;
        own.watches = &e->watches;
    }
    if (d->calls)
        d->calls->derivations++;
    e->marks = pithp_scope_allocate(d->s, (size_t)p->output_count + 1);
    return e->marks && take(d->s, e, pithp_forward(d->s, p, e->pattern, own, e->marks));
}

bool pithp_called_forward(pithp_derivation *d,
                          const pithp_call_segment *g,
                          const pithp_derive_mode *mode,
                          const bool *moving,
                          const pithp_called **found) {
    const pithp_program *p = g->callee->program;
    bool is_new;
    pithp_called *e =
        find_derived(d->s, g->callee, moving, (size_t)p->input_count, &is_new);
    *found = e && (!is_new || derive(d, p, mode, e)) && e->program ? e : NULL;
    return d->s->error.code == PITH_OK;
}

/* ---- Transposition ---- */

static bool turn(pithp_derivation *d, const pithp_program *p, pithp_called *e) {
    const bool *linear = e->pattern, *sums = linear + p->input_count,
               *there = sums + p->input_count, *wanted = there + p->output_count;
    int64_t shown = 0;
    for (int64_t k = 0; k < p->output_count; k++)
        shown += wanted[k];
    pithp_program *some =
        has_divided_checks(p) ? NULL : pithp_program_select(d->s, p, there, wanted);
    e->marks = pithp_scope_allocate(d->s, (size_t)(p->input_count + shown) + 1);
    e->comes = e->marks + p->input_count;
    const bool fine =
        !some || (e->marks && take(d->s, e,
                                   pithp_transpose_shown(d->s, some, linear, sums,
                                                         e->marks, shown, e->comes)));
    pithp_program_release(some);
    return fine;
}

bool pithp_called_transposed(pithp_derivation *d,
                             const pithp_call_segment *g,
                             const bool *pattern,
                             const pithp_called **found) {
    const pithp_program *p = g->callee->program;
    bool is_new;
    pithp_called *e =
        find_derived(d->s, g->callee, pattern,
                     (size_t)(2 * (p->input_count + p->output_count)), &is_new);
    *found = e && (!is_new || turn(d, p, e)) && e->program ? e : NULL;
    return d->s->error.code == PITH_OK;
}

/* ---- Segments ---- */

/* Count the call, and in forward mode what its loops keep. */
static void note(pithp_derivation *d, const pithp_called *e) {
    if (d->kept) {
        d->kept->bytes += e->kept.bytes;
        d->kept->has_inner |= e->kept.has_inner;
        d->kept->held |= e->kept.held;
    }
    if (d->calls)
        d->calls->calls++;
}

bool pithp_called_add(pithp_derivation *d,
                      const pithp_call_segment *g,
                      const pithp_called *e,
                      const pithp_value *inputs,
                      pithp_value *outputs,
                      bool *done) {
    *done = !joins(d, e, inputs);
    if (!*done)
        return true;
    note(d, e);
    d->to->remat = (pithp_remat){.call = g->call};
    const bool fine = pithp_program_inline_groups(
        d->s, d->to, e->program, g->callee->program->groups, g->groups, inputs, outputs);
    d->to->remat = (pithp_remat){0};
    return fine;
}
