/* Messages: rows of the table that move leaves by one route, one after the other, become
 * one row, which sends the leaves in one message to each rank.
 *
 *   route_send(a, route), f, route_send(b, route) -> f, route_send(a, b, route)
 *
 * Between them are no other rows that must run, so every collective stays where it was
 * among those; and b reads no result of the first row. A function that sends a tree has
 * such rows, and so have its tangents, its transposition and its batches. */
#include "program/op/route.h"
#include "program/pass/rewrite.h"

#include <string.h>

/* Rows that become one, from instruction `first` to before `end`, in r->from. */
typedef struct joining {
    pithp_rebuild *r;
    const pithp_program *p;
    int64_t first, end;
    bool *waits;  /* values that depend on results of the rows */
    bool *needed; /* values that the rows read */
    bool *joins;  /* of each instruction */
    int leaves;   /* of all rows */
} joining;

static const pithp_value *route_of(const pithp_program *p, const pithp_instruction *i) {
    return pithp_operands(p, i) + i->operand_count - PITHP_ROUTE_OPERANDS;
}

static int leaves_of(const pithp_instruction *i) {
    return pithp_route_leaves(i->primitive, i->operand_count);
}

/* The rows that receivers have, of what they send back. */
static int64_t received(const pithp_program *p, const pithp_instruction *i) {
    return i->primitive == PITHP_OP_ROUTE_RETURN
               ? pithp_value_spec(p, pithp_operands(p, i)[0])->shape[0]
               : 0;
}

/* Whether two rows do the same by the same route. */
static bool are_alike(const pithp_program *p,
                      const pithp_instruction *a,
                      const pithp_instruction *b) {
    return a->primitive == b->primitive &&
           !memcmp(a->params, b->params, pithp_params_bytes(a->primitive)) &&
           !memcmp(route_of(p, a), route_of(p, b),
                   PITHP_ROUTE_OPERANDS * sizeof(pithp_value)) &&
           received(p, a) == received(p, b);
}

/* ---- Which rows ---- */

static bool reads(const pithp_program *p, const pithp_instruction *i, const bool *marks) {
    bool any = false;
    for (int k = 0; k < i->operand_count; k++)
        any |= marks[pithp_operands(p, i)[k]];
    return any;
}

static void add_row(joining *j, int64_t n) {
    j->joins[n] = true;
    j->end = n + 1;
    j->leaves += leaves_of(&j->p->instructions[n]);
}

/* Look for rows that can join the first one. */
static void find_rows(joining *j) {
    const pithp_instruction *first = &j->p->instructions[j->first];
    add_row(j, j->first);
    memset(j->waits + first->result, 1, (size_t)first->result_count);
    for (int64_t n = j->first + 1; n < j->p->instruction_count; n++) {
        const pithp_instruction *i = &j->p->instructions[n];
        const bool waits = reads(j->p, i, j->waits),
                   alike =
                       pithp_moves_by_route(i->primitive) && are_alike(j->p, first, i);
        if (pithp_has_effects(i) && (waits || !alike))
            return;
        if (alike)
            add_row(j, n);
        if (waits || alike)
            memset(j->waits + i->result, 1, (size_t)i->result_count);
    }
}

/* ---- The row ---- */

/* Take what the rows read and is computed between them. */
static bool take_operands(joining *j) {
    const pithp_program *p = j->p;
    bool fine = true;
    for (int64_t n = j->end; n-- > j->first;) {
        const pithp_instruction *i = &p->instructions[n];
        bool needed = j->joins[n];
        for (int k = 0; k < i->result_count; k++)
            needed |= j->needed[i->result + k];
        for (int k = 0; needed && k < i->operand_count; k++)
            j->needed[pithp_operands(p, i)[k]] = true;
    }
    for (int64_t v = 0; v < p->value_count && fine; v++) {
        const pithp_instruction *i = pithp_maker(p, (pithp_value)v);
        if (j->needed[v] && j->r->names[v] < 0)
            fine = pithp_rebuild_take(j->r, (pithp_value)v, i);
    }
    return fine;
}

/* The operands of all rows: x of each leaf, what they are added to, and the route. */
static void list_operands(const joining *j, pithp_value *operands) {
    const pithp_program *p = j->p;
    const pithp_value *names = j->r->names;
    pithp_value *x = operands, *into = operands + j->leaves;
    for (int64_t n = j->first; n < j->end; n++) {
        const pithp_instruction *i = &p->instructions[n];
        const pithp_value *of = pithp_operands(p, i);
        const int leaves = leaves_of(i), arrays = i->operand_count - PITHP_ROUTE_OPERANDS;
        for (int k = 0; j->joins[n] && k < arrays; k++)
            *(k < leaves ? x++ : into++) = names[of[k]];
    }
    const pithp_instruction *first = &p->instructions[j->first];
    const pithp_value *route = route_of(p, first);
    for (int k = 0; k < PITHP_ROUTE_OPERANDS; k++)
        operands[pithp_route_arrays(first->primitive) * j->leaves + k] = names[route[k]];
}

static bool add_joined(joining *j) {
    const pithp_instruction *first = &j->p->instructions[j->first];
    pithp_proposal c = {.primitive = first->primitive, .params = first->params};
    c.count = pithp_route_arrays(first->primitive) * j->leaves + PITHP_ROUTE_OPERANDS;
    const size_t bytes = (size_t)c.count * sizeof *c.operands;
    pithp_value *operands = pithp_allocate(j->r->s->runtime, bytes);
    if (!operands) {
        pithp_fail_memory(j->r->s, bytes);
        return false;
    }
    list_operands(j, operands);
    c.operands = operands;
    pithp_value v = pithp_rebuild_call(j->r, &c, first->site);
    const bool fine = v >= 0;
    for (int64_t n = j->first; n < j->end && fine; n++)
        for (int k = 0; j->joins[n] && k < j->p->instructions[n].result_count; k++)
            j->r->names[j->p->instructions[n].result + k] = v++;
    pithp_release(j->r->s->runtime, operands, bytes);
    return fine;
}

bool pithp_rebuild_messages(pithp_rebuild *r, const pithp_instruction *i) {
    const size_t values = (size_t)r->from->value_count,
                 bytes = 2 * values + (size_t)r->from->instruction_count;
    bool *marks = pithp_allocate(r->s->runtime, bytes);
    if (!marks) {
        pithp_fail_memory(r->s, bytes);
        return false;
    }
    memset(marks, 0, bytes);
    joining j = {.r = r,
                 .p = r->from,
                 .first = i - r->from->instructions,
                 .waits = marks,
                 .needed = marks + values,
                 .joins = marks + 2 * values};
    find_rows(&j);
    const pithp_remat own = r->to->remat;
    bool fine = take_operands(&j);
    r->to->remat = own;
    fine = fine && add_joined(&j);
    pithp_release(r->s->runtime, marks, bytes);
    return fine;
}

bool pithp_has_messages_to_join(const pithp_program *p) {
    int64_t rows = 0;
    bool any = false;
    for (int64_t k = 0; k < p->instruction_count && !any; k++) {
        const pithp_instruction *i = &p->instructions[k];
        rows += pithp_moves_by_route(i->primitive);
        for (int n = 0; n < i->program_count && !any; n++)
            any = pithp_has_messages_to_join(i->programs[n]);
    }
    return any || rows > 1;
}
