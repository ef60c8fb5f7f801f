/* Variance analysis: a forward walk over a program, in loops to a fixed point. Sets only
 * grow, and are kept between walks, so that a program is walked again at most once for
 * each axis of each of its inputs, at any depth. */
#include "program/vary/area.h"

#include <string.h>

typedef struct mark {
    pithp_axis_set varies, drawn;
} mark;

static bool walk(pith_scope *s, pithp_area *a);

static void *zeroed(pith_scope *s, int64_t count, size_t each) {
    const size_t bytes = ((size_t)count + 1) * each;
    void *memory = pithp_scope_allocate(s, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

static bool enter(pith_scope *s, pithp_area *a, const pithp_program *p) {
    int64_t inner = 0;
    if (a->program)
        return true;
    for (int64_t k = 0; k < p->instruction_count; k++)
        inner += p->instructions[k].program_count;
    a->program = p;
    if (!a->varies)
        a->varies = zeroed(s, p->value_count, sizeof *a->varies);
    a->drawn = zeroed(s, p->value_count, sizeof *a->drawn);
    a->inner = zeroed(s, inner, sizeof *a->inner);
    return a->varies && a->drawn && a->inner;
}

/* ---- Marks of values ---- */

static mark mark_of(const pithp_area *a, pithp_value v) {
    return (mark){a->varies[v], a->drawn[v]};
}

static mark joined(mark x, mark y) {
    return (mark){x.varies | y.varies, x.drawn | y.drawn};
}

static void add_mark(pithp_area *a, pithp_value v, mark m) {
    a->varies[v] |= m.varies;
    a->drawn[v] |= m.drawn;
}

static void add_results(pithp_area *a, const pithp_instruction *i, mark m) {
    for (int32_t k = 0; k < i->result_count; k++)
        add_mark(a, i->result + k, m);
}

/* Returns whether the input had less. */
static bool add_input(pithp_area *a, int64_t input, mark m) {
    const pithp_value v = a->program->inputs[input];
    if (!(m.varies & ~a->varies[v]) && !(m.drawn & ~a->drawn[v]))
        return false;
    add_mark(a, v, m);
    a->walked = false;
    return true;
}

static mark of_input(const pithp_area *a, int64_t input) {
    return mark_of(a, a->program->inputs[input]);
}
static mark of_output(const pithp_area *a, int64_t output) {
    return mark_of(a, a->program->outputs[output]);
}

static mark of_operands(const pithp_area *a, const pithp_instruction *i) {
    const pithp_value *operands = pithp_operands(a->program, i);
    mark all = {0, 0};
    for (int32_t k = 0; k < i->operand_count; k++)
        all = joined(all, mark_of(a, operands[k]));
    return all;
}

/* ---- Rows ---- */

bool pithp_draws(const pithp_instruction *i) {
    return pithp_op_has(i->primitive, PITHP_TRAIT_RANDOM) &&
           i->primitive != PITHP_OP_RANDOM_SPLIT && i->primitive != PITHP_OP_FOLD_IN;
}

/* Results of a function with a rule are its last operands. */
static void add_rule(pithp_area *a, const pithp_instruction *i) {
    const pithp_rule *rule = ((const pithp_rule_params *)i->params)->rule;
    const pithp_value *operands = pithp_operands(a->program, i);
    const int values = i->operand_count - i->result_count;
    for (int32_t k = 0; k < i->result_count; k++)
        add_mark(a, i->result + k,
                 rule->linear ? of_operands(a, i) : mark_of(a, operands[values + k]));
}

static void add_row(pithp_area *a, const pithp_instruction *i) {
    const pithp_axes_of_row row = pithp_axes_of(i);
    mark m = of_operands(a, i);
    if (row.effect == PITHP_AXES_TAKEN && !pithp_is_expectation(i))
        m.varies &= ~row.axes;
    if (row.effect == PITHP_AXES_ADDED)
        m.varies |= row.axes;
    if (pithp_draws(i))
        m.drawn |= ~a->varies[pithp_operands(a->program, i)[0]];
    add_results(a, i, m);
}

/* ---- Control flow ---- */

/* The inputs of program b are the operands that it takes; those of a program that runs
 * on a decision vary as the decision does. */
static void take_operands(pithp_area *to,
                          const pithp_area *a,
                          const pithp_instruction *i,
                          const pithp_regions *layout,
                          int b,
                          pithp_axis_set decision) {
    const pithp_value *operands = pithp_operands(a->program, i);
    for (int k = 0; k < to->program->input_count; k++)
        add_input(to, k,
                  joined(mark_of(a, operands[pithp_region_operand(layout, b, k)]),
                         (mark){decision, 0}));
}

static bool
walk_cond(pith_scope *s, pithp_area *a, const pithp_instruction *i, pithp_area *inner) {
    const pithp_regions layout = pithp_regions_of(i);
    const pithp_axis_set decision = pithp_area_decision(a, i, inner);
    add_results(a, i, (mark){decision, 0});
    for (int32_t b = 0; b < i->program_count; b++) {
        take_operands(&inner[b], a, i, &layout, b, decision);
        if (!walk(s, &inner[b]))
            return false;
        for (int32_t k = 0; k < i->result_count; k++)
            add_mark(a, i->result + k, of_output(&inner[b], k));
    }
    return true;
}

/* A body to the fixed point of its carries. */
static bool walk_body(pith_scope *s, pithp_area *body, int first, int carries) {
    for (bool changed = true; changed;) {
        if (!walk(s, body))
            return false;
        changed = false;
        for (int k = 0; k < carries; k++)
            changed |= add_input(body, first + k, of_output(body, k));
    }
    return true;
}

static bool
walk_scan(pith_scope *s, pithp_area *a, const pithp_instruction *i, pithp_area *body) {
    const pithp_regions layout = pithp_regions_of(i);
    const int first = pithp_region_first_carry(&layout, 0), n = layout.carries.count;
    take_operands(body, a, i, &layout, 0, 0);
    if (!walk_body(s, body, first, n))
        return false;
    for (int32_t k = 0; k < i->result_count; k++)
        add_mark(a, i->result + k,
                 k < n ? of_input(body, first + k) : of_output(body, k));
    return true;
}

/* Body and condition, if the number of iterations varies over `decision`. */
static bool walk_iterations(pith_scope *s,
                            const pithp_area *a,
                            const pithp_instruction *i,
                            pithp_area *inner,
                            pithp_axis_set decision) {
    const pithp_regions layout = pithp_regions_of(i);
    const int to = pithp_region_first_carry(&layout, 0),
              from = pithp_region_first_carry(&layout, layout.body),
              n = layout.carries.count;
    pithp_area *cond = &inner[0], *body = &inner[layout.body];
    take_operands(body, a, i, &layout, layout.body, decision);
    if (!walk_body(s, body, from, n))
        return false;
    take_operands(cond, a, i, &layout, 0, decision);
    for (int k = 0; k < n; k++)
        add_input(cond, to + k, of_input(body, from + k));
    return walk(s, cond);
}

/* The number of iterations, and with it every carry, varies as the condition does. */
static bool
walk_while(pith_scope *s, pithp_area *a, const pithp_instruction *i, pithp_area *inner) {
    const pithp_regions layout = pithp_regions_of(i);
    const pithp_area *body = &inner[layout.body];
    const int from = pithp_region_first_carry(&layout, layout.body);
    for (pithp_axis_set before = 0, now = 0;; before = now) {
        if (!walk_iterations(s, a, i, inner, now))
            return false;
        now = pithp_area_decision(a, i, inner);
        if (now == before)
            break;
    }
    for (int k = 0; k < layout.carries.count; k++)
        add_mark(a, i->result + k, of_input(body, from + k));
    return true;
}

bool pithp_area_own_loop(pith_scope *s,
                         const pithp_area *a,
                         const pithp_instruction *i,
                         pithp_area *inner) {
    for (int32_t k = 0; k < i->program_count; k++)
        if (!enter(s, &inner[k], i->programs[k]))
            return false;
    return walk_iterations(s, a, i, inner, 0);
}

pithp_axis_set pithp_area_decision(const pithp_area *a,
                                   const pithp_instruction *i,
                                   const pithp_area *inner) {
    switch ((int)i->primitive) {
        case PITHP_OP_COND:
            return a->varies[pithp_operands(a->program, i)[PITHP_COND_INDEX]];
        case PITHP_OP_WHILE:
            return inner[0].program ? pithp_area_output(&inner[0], 0) : 0;
        default:
            return 0; /* a scan has the same length on all ranks */
    }
}

static bool walk_control(pith_scope *s,
                         pithp_area *a,
                         const pithp_instruction *i,
                         pithp_area *inner) {
    for (int32_t k = 0; k < i->program_count; k++)
        if (!enter(s, &inner[k], i->programs[k]))
            return false;
    switch ((int)i->primitive) {
        case PITHP_OP_COND:
            return walk_cond(s, a, i, inner);
        case PITHP_OP_SCAN:
            return walk_scan(s, a, i, inner);
        default:
            return walk_while(s, a, i, inner);
    }
}

pithp_axis_set pithp_area_mistakes(const pithp_area *a, const pithp_instruction *i) {
    return pithp_is_expectation(i)
               ? pithp_axes_of(i).axes & a->varies[pithp_operands(a->program, i)[0]]
               : 0;
}

/* ---- Programs ---- */

static bool walk(pith_scope *s, pithp_area *a) {
    const pithp_program *p = a->program;
    pithp_area *inner = a->inner;
    if (a->walked)
        return true;
    a->walked = true;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS)) {
            if (!walk_control(s, a, i, inner))
                return false;
        } else if (i->primitive == PITHP_OP_RULE) {
            add_rule(a, i);
        } else {
            add_row(a, i);
        }
        inner += i->program_count;
    }
    return true;
}

bool pithp_area_analyse(pith_scope *s,
                        pithp_area *area,
                        const pithp_program *p,
                        const pithp_axis_set *inputs) {
    if (!enter(s, area, p))
        return false;
    for (int64_t k = 0; k < p->input_count; k++)
        area->varies[p->inputs[k]] |= inputs[k];
    return walk(s, area);
}

bool pithp_program_variance(pith_scope *s,
                            const pithp_program *p,
                            const pithp_axis_set *inputs,
                            pithp_axis_set *values) {
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return false;
    }
    pithp_area area = {.varies = values};
    memset(values, 0, (size_t)p->value_count * sizeof *values);
    const bool fine = pithp_area_analyse(work, &area, p, inputs);
    pith_scope_close(work); /* its error moves to s */
    return fine;
}
