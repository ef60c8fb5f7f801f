/* Loop-invariant code motion: calls of the body with invariant operands run before the
 * loop, if a result is no larger than the operands or each element depends on more than
 * one element of each operand. Data movement stays: steps of the body read through it.
 * Calls that may report stay too. */
#include "program/pass/rewrite.h"

#include <string.h>

typedef struct hoisting {
    pithp_flow *f;
    pithp_regions regions;
    const pithp_program *p; /* the body */
    bool *fixed;            /* invariant values */
    bool *moved;            /* invariant values that move outside */
    bool *live;             /* values that the body needs */
    pithp_value *exports;   /* moved values that the body reads */
    int64_t count;
} hoisting;

static bool is_loop(const pithp_flow *f) {
    return f->primitive == PITHP_OP_WHILE ||
           (f->primitive == PITHP_OP_SCAN && f->params.as_loop.length > 1);
}

/* Whether an input of the body is invariant; these come first. */
static bool is_fixed_input(const hoisting *h, int64_t input) {
    return input < pithp_region_first_carry(&h->regions, h->regions.body);
}

static bool is_move(const pithp_instruction *i) {
    return pithp_ops[i->primitive].arity == 0 ||
           pithp_op_has(i->primitive, PITHP_TRAIT_VIEW);
}

/* Bytes of a value's sources, seen through data movement. */
static size_t source_bytes(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    while (i && is_move(i) && i->operand_count) {
        v = pithp_operands(p, i)[0];
        i = pithp_maker(p, v);
    }
    return i && is_move(i) ? 0 : pithp_value_spec(p, v)->bytes;
}

static bool is_worth_it(const pithp_program *p, const pithp_instruction *i) {
    if (is_move(i))
        return false;
    if (!pithp_op_has(i->primitive, PITHP_TRAIT_POINTWISE))
        return true;
    size_t bytes = 0;
    for (int o = 0; o < i->operand_count; o++)
        bytes += source_bytes(p, pithp_operands(p, i)[o]);
    return pithp_value_spec(p, i->result)->bytes <= bytes;
}

static void find_moved(hoisting *h) {
    const pithp_program *p = h->p;
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_instruction *i = pithp_maker(p, (pithp_value)v);
        bool fixed =
            i ? pithp_is_lowered(i->primitive) && !pithp_has_effects(i) &&
                    !pithp_has_refusals(i)
              : p->values[v].origin == PITHP_FROM_CONSTANT || is_fixed_input(h, v);
        for (int o = 0; i && fixed && o < i->operand_count; o++)
            fixed = h->fixed[pithp_operands(p, i)[o]];
        h->fixed[v] = fixed;
        h->moved[v] = fixed && i && is_worth_it(p, i);
    }
}

static void find_exports(hoisting *h) {
    const pithp_program *p = h->p;
    for (int64_t k = 0; k < p->output_count; k++)
        h->live[p->outputs[k]] = true;
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        bool wanted = pithp_has_effects(i) || pithp_has_refusals(i);
        for (int v = 0; v < i->result_count; v++)
            wanted |= h->live[i->result + v];
        if (wanted && i->result_count == 1 && h->moved[i->result])
            h->exports[h->count++] = i->result;
        else
            for (int o = 0; wanted && o < i->operand_count; o++)
                h->live[pithp_operands(p, i)[o]] = true;
    }
}

/* Names for a rebuild of the body. */
static bool begin_names(const hoisting *h, pithp_rebuild *r) {
    const size_t values = (size_t)h->p->value_count + 1;
    r->names = pithp_scope_allocate(r->s, values * sizeof *r->names);
    r->live = pithp_scope_allocate(r->s, 2 * values);
    if (!r->names || !r->live)
        return false;
    r->wanted = r->live + values;
    memset(r->names, -1, values * sizeof *r->names);
    return true;
}

/* Compute the moved values before the loop. */
static bool compute_outside(const hoisting *h, pithp_value *outside) {
    const pithp_flow *f = h->f;
    pithp_rebuild r = *f->r;
    r.from = h->p;
    r.shallow = r.values_only = true;
    r.passes = (f->r->passes & PITHP_PASS_COMMON) | PITHP_PASS_DEAD;
    if (!begin_names(h, &r))
        return false;
    for (int64_t k = 0; k < h->p->input_count; k++) /* others are not read */
        r.names[k] =
            is_fixed_input(h, k)
                ? f->operands[pithp_region_operand(&h->regions, h->regions.body, (int)k)]
                : INT32_MAX;
    if (!pithp_rebuild_values(&r, h->count, h->exports))
        return false;
    for (int64_t k = 0; k < h->count; k++)
        outside[k] = r.names[h->exports[k]];
    return true;
}

/* Rebuild the body with inputs for the moved values, after the fixed ones. NULL sets the
 * error. */
static pithp_program *take_in(const hoisting *h) {
    const pithp_program *p = h->p;
    pith_scope *s = h->f->r->s;
    pithp_rebuild r = {.s = s, .from = p, .passes = PITHP_PASS_DEAD, .shallow = true};
    if (!begin_names(h, &r) || !(r.to = pithp_program_make(s)))
        return NULL;
    bool fine = true;
    int64_t input = 0;
    for (; input < p->input_count && is_fixed_input(h, input) && fine; input++)
        fine = (r.names[input] = pithp_program_input(
                    s, r.to, pithp_value_spec(p, (pithp_value)input))) >= 0;
    for (int64_t k = 0; k < h->count && fine; k++)
        fine = (r.names[h->exports[k]] = pithp_program_input(
                    s, r.to, pithp_value_spec(p, h->exports[k]))) >= 0;
    fine = fine && pithp_rebuild_values(&r, p->output_count, p->outputs);
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(s, r.to, r.names[p->outputs[k]]);
    if (fine)
        return r.to;
    pithp_program_release(r.to);
    return NULL;
}

static bool replace_body(hoisting *h, const pithp_value *outside) {
    pithp_flow *f = h->f;
    const int before = h->regions.carries.first, count = (int)h->count;
    const pithp_operand_group *groups = h->regions.groups;
    int counts[PITHP_OPERAND_GROUPS];
    pithp_value *operands = pithp_scope_allocate(
        f->r->s, ((size_t)f->operand_count + (size_t)count) * sizeof *operands);
    pithp_program *body = operands ? take_in(h) : NULL;
    if (!body)
        return false;
    for (int k = 0; k < f->operand_count; k++)
        operands[k < before ? k : k + count] = f->operands[k];
    memcpy(operands + before, outside, (size_t)count * sizeof *operands);
    pithp_program_release(f->programs[h->regions.body]);
    f->programs[h->regions.body] = body;
    f->operands = operands;
    f->operand_count += count;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) /* those of the body before carries */
        counts[g] = groups[g].count + (groups[g].role == PITHP_OPERAND_CONSTANT &&
                                               groups[g].program == h->regions.body
                                           ? count
                                           : 0);
    pithp_regions_resize(f->primitive, &f->params, counts);
    return true;
}

bool pithp_flow_hoist(pithp_flow *f) {
    if (!is_loop(f) || !f->result_count)
        return true;
    hoisting h = {.f = f, .regions = pithp_flow_regions(f)};
    h.p = f->programs[h.regions.body];
    const size_t values = (size_t)h.p->value_count + 1;
    pith_scope *s = f->r->s;
    h.fixed = pithp_scope_allocate(s, 3 * values);
    h.exports = pithp_scope_allocate(s, values * sizeof *h.exports);
    pithp_value *outside = pithp_scope_allocate(s, values * sizeof *outside);
    if (!h.fixed || !h.exports || !outside)
        return false;
    h.moved = h.fixed + values;
    h.live = h.moved + values;
    memset(h.live, false, values);
    find_moved(&h);
    find_exports(&h);
    return h.count == 0 || (compute_outside(&h, outside) && replace_body(&h, outside));
}
