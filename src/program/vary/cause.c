/* Causes of variance, for messages: a backward slice from the predicate of a branch, or
 * from the condition of a loop, along the values that vary. */
#include "program/vary/area.h"

#include <string.h>

/* A search backwards for what makes a value vary. */
typedef struct search {
    const pithp_instruction *decides;
    const pithp_area *area;
    pithp_axis_set axes;
    bool *reached; /* of the values of the area */
    /* An instruction that varies although its operands do not; and, where inputs vary,
     * the last one with another line than the branch or loop. */
    const pithp_instruction *first, *last;
} search;

static bool begin_search(pith_scope *s,
                         search *x,
                         const pithp_instruction *decides,
                         const pithp_area *a) {
    const size_t bytes = (size_t)a->program->value_count + 1;
    *x = (search){
        .decides = decides, .area = a, .reached = pithp_scope_allocate(s, bytes)};
    if (x->reached)
        memset(x->reached, 0, bytes);
    return x->reached;
}

static void reach_operands(search *x, const pithp_instruction *i) {
    const pithp_value *operands = pithp_operands(x->area->program, i);
    bool inherits = false;
    for (int32_t k = 0; k < i->operand_count; k++) {
        const bool varies = x->area->varies[operands[k]] & x->axes;
        x->reached[operands[k]] |= varies;
        inherits |= varies;
    }
    if (!inherits)
        x->first = i;
    if (!x->last && i->site != x->decides->site)
        x->last = i;
}

/* From the values that are marked as reached. */
static void search_back(search *x, pithp_axis_set axes) {
    const pithp_program *p = x->area->program;
    x->axes = axes;
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        bool reached = false;
        for (int32_t n = 0; n < i->result_count; n++)
            reached |=
                x->reached[i->result + n] && (x->area->varies[i->result + n] & axes);
        if (reached)
            reach_operands(x, i);
    }
}

/* Mark the results of the body that become carries which a program reads. Returns whether
 * there are others than before. */
static bool reach_carries(search *body, const search *from, int program) {
    const pithp_regions layout = pithp_regions_of(body->decides);
    const int first = pithp_region_first_carry(&layout, program);
    bool any = false;
    for (int k = 0; k < layout.carries.count; k++) {
        const pithp_value v = body->area->program->outputs[k];
        const bool read = from->reached[from->area->program->inputs[first + k]];
        any |= read && !body->reached[v];
        body->reached[v] |= read;
    }
    return any;
}

/* The condition may read what the body makes. */
static const pithp_instruction *cause_of_loop(pith_scope *s,
                                              const pithp_area *a,
                                              const pithp_instruction *i,
                                              pithp_axis_set axes) {
    const int at = pithp_regions_of(i).body;
    pithp_area own[2] = {{.program = NULL}, {.program = NULL}};
    search cond, body;
    if (!pithp_area_own_loop(s, a, i, own) || !begin_search(s, &cond, i, &own[0]) ||
        !begin_search(s, &body, i, &own[at]))
        return NULL;
    cond.reached[own[0].program->outputs[0]] = true;
    search_back(&cond, axes);
    for (bool more = reach_carries(&body, &cond, 0); more;) {
        search_back(&body, axes);
        more = reach_carries(&body, &body, at);
    }
    return cond.first   ? cond.first
           : body.first ? body.first
           : body.last  ? body.last
                        : cond.last;
}

static const pithp_instruction *cause_of_branch(pith_scope *s,
                                                const pithp_area *a,
                                                const pithp_instruction *i,
                                                pithp_axis_set axes) {
    search x;
    if (!begin_search(s, &x, i, a))
        return NULL;
    x.reached[pithp_operands(a->program, i)[PITHP_COND_INDEX]] = true;
    search_back(&x, axes);
    return x.first ? x.first : x.last;
}

const pithp_instruction *pithp_area_cause(pith_scope *s,
                                          const pithp_area *a,
                                          const pithp_instruction *decides,
                                          pithp_axis_set axes) {
    return decides->primitive == PITHP_OP_WHILE ? cause_of_loop(s, a, decides, axes)
                                                : cause_of_branch(s, a, decides, axes);
}
