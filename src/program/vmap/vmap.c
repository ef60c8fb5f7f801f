/* Batching of a program, instruction by instruction. */
#include "program/vmap/control.h"

#include <string.h>

typedef struct walk {
    pithp_batching b;
    pithp_value *operands; /* of an instruction, in the batched program */
    bool *batched;         /* of each */
    pithp_value *scratch;  /* as many for a rule, and one more */
    bool *used;            /* of each value of from, whether it is to be in the batch */
} walk;

static int most_operands(const pithp_program *p) {
    int most = 0;
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (p->instructions[k].operand_count > most)
            most = p->instructions[k].operand_count;
    return most;
}

/* ---- Instructions ---- */

/* What depends on no batched input is computed once. */
static bool copy(walk *w, pithp_value v, const pithp_instruction *i) {
    for (int k = 0; k < (i ? i->result_count : 1); k++)
        w->b.batched[v + k] = false;
    return pithp_program_copy(w->b.s, w->b.to, w->b.from, v, i, w->b.names);
}

/* The operands of an instruction; whether one is batched. */
static bool find_operands(walk *w, const pithp_instruction *i) {
    bool any = false;
    for (int k = 0; k < i->operand_count; k++) {
        const pithp_value v = pithp_operands(w->b.from, i)[k];
        w->operands[k] = w->b.names[v];
        w->batched[k] = w->b.batched[v];
        any |= w->batched[k];
    }
    return any;
}

/* Arrays of the user end at PITH_MAX_RANK. Values that derivations made may be above. */
static bool rank_fits(walk *w, const pithp_instruction *i) {
    const pith_spec *spec = pithp_value_spec(w->b.from, i->result);
    char text[PITHP_SPEC_TEXT_BYTES];
    if (spec->rank != PITH_MAX_RANK && spec->rank < PITHP_MAX_RANK)
        return true;
    pithp_fail_at(w->b.s, PITH_E_SHAPE, NULL, i->site,
                  "%s gives %s, to which a batch adds an axis; arrays have at most %d",
                  pithp_ops[i->primitive].name, pithp_spec_print(spec, text),
                  PITH_MAX_RANK);
    return false;
}

static bool batch_lowered(walk *w, const pithp_batched_call *c, pithp_batch_row row) {
    const pithp_instruction *i = c->i;
    if (!rank_fits(w, i))
        return false;
    const pithp_value v =
        row.kind == PITHP_BATCH_SHIFT
            ? row.shift(&w->b, c)
            : pithp_batch_pointwise(&w->b, i->primitive, i->operand_count, c->operands,
                                    c->batched, i->params);
    w->b.names[i->result] = v;
    w->b.batched[i->result] = true;
    return v >= 0;
}

static bool batch_instruction(walk *w, const pithp_instruction *i) {
    const pithp_batch_row row = pithp_batch_of(i->primitive);
    const pithp_batched_call c = {i, w->operands, w->batched, w->scratch};
    w->b.site = i->site;
    w->b.to->remat = i->remat;
    const bool some =
        w->b.mask >= 0 && i->primitive != PITHP_OP_RULE && pithp_instruction_uses_mask(i);
    if (!find_operands(w, i) && !some)
        return copy(w, i->result, i);
    return row.kind == PITHP_BATCH_FLOW
               ? row.flow(&w->b, &c, w->b.names + i->result, w->b.batched + i->result)
               : batch_lowered(w, &c, row);
}

/* ---- Functions with a rule for batches ---- */

/* Mark the operands that the batch of an instruction uses. The results of a function are
 * the last operands of its rule, which stands for it. */
static void use_operands(walk *w, const pithp_instruction *i) {
    const pithp_rule *rule = pithp_batch_rule_of(i);
    const int count = rule ? rule->first_count + rule->bound_count : i->operand_count;
    for (int k = 0; k < count; k++)
        w->used[pithp_operands(w->b.from, i)[k]] = true;
}

static bool is_used(const walk *w, const pithp_instruction *i) {
    bool used = i->result_count == 0 || pithp_has_effects(i);
    for (int k = 0; k < i->result_count && !used; k++)
        used = w->used[i->result + k];
    return used;
}

/* Mark the values that are to be in the batch. A function that a rule stands for need not
 * be one that can be batched: it is left out. */
static void find_used(walk *w) {
    const pithp_program *p = w->b.from;
    bool any = false;
    for (int64_t k = 0; k < p->instruction_count && !any; k++)
        any = pithp_batch_rule_of(&p->instructions[k]);
    memset(w->used, !any, (size_t)p->value_count);
    for (int64_t k = 0; k < p->output_count; k++)
        w->used[p->outputs[k]] = true;
    for (int64_t k = p->instruction_count; any && k-- > 0;)
        if (is_used(w, &p->instructions[k]))
            use_operands(w, &p->instructions[k]);
}

/* Whether the batch has an instruction already. */
static bool is_added(const walk *w, const pithp_instruction *i) {
    return i->result_count == 0 || w->b.names[i->result] >= 0;
}

static bool add_used(walk *w, const pithp_instruction *i);

/* Add the function of a rule that does not stand for it, as no operand is batched. */
static bool add_function(walk *w, const pithp_instruction *row) {
    const pithp_program *p = w->b.from;
    const int64_t end = row - p->instructions;
    int64_t first = end;
    bool fine = true;
    for (int k = 0; k < row->operand_count; k++)
        w->used[pithp_operands(p, row)[k]] = true;
    for (int64_t k = end; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        if (is_added(w, i) || !is_used(w, i))
            continue;
        use_operands(w, i);
        first = k;
    }
    for (int64_t k = first; k < end && fine; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (!is_added(w, i) && is_used(w, i))
            fine = add_used(w, i);
    }
    return fine;
}

static bool add_rule(walk *w, const pithp_instruction *i) {
    const pithp_rule *rule = pithp_batch_rule_of(i);
    bool stands = false;
    for (int k = 0; k < rule->first_count + rule->bound_count; k++)
        stands |= w->b.batched[pithp_operands(w->b.from, i)[k]];
    return (stands || add_function(w, i)) && batch_instruction(w, i);
}

static bool add_used(walk *w, const pithp_instruction *i) {
    return pithp_batch_rule_of(i) ? add_rule(w, i) : batch_instruction(w, i);
}

/* ---- The program ---- */

static bool add_inputs(walk *w, const bool *batched, bool masked) {
    const pithp_program *p = w->b.from;
    const pith_spec *mask = masked ? pithp_spec(w->b.s, PITH_BOOL, 1, &w->b.size) : NULL;
    w->b.mask = mask ? pithp_program_input(w->b.s, w->b.to, mask) : -1;
    if (masked && w->b.mask < 0)
        return false;
    for (int64_t k = 0; k < p->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(p, p->inputs[k]);
        if (batched[k])
            spec = pithp_batched_spec(&w->b, spec);
        const pithp_value v = spec ? pithp_program_input(w->b.s, w->b.to, spec) : -1;
        w->b.names[p->inputs[k]] = v;
        w->b.batched[p->inputs[k]] = batched[k];
        if (v < 0)
            return false;
    }
    return true;
}

static bool add_instructions(walk *w) {
    pithp_graph_walk g = {w->b.from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(w->b.to, w->b.from);
    while (fine && pithp_graph_next(&g, &v, &i)) {
        if (i && !is_used(w, i))
            continue;
        if (i)
            fine = add_used(w, i);
        else if (w->b.from->values[v].origin == PITHP_FROM_CONSTANT)
            fine = copy(w, v, NULL);
    }
    w->b.to->remat = (pithp_remat){0};
    return fine;
}

static bool add_outputs(walk *w, bool *batched) {
    const pithp_program *p = w->b.from;
    bool fine = true;
    for (int64_t k = 0; k < p->output_count && fine; k++) {
        batched[k] = w->b.batched[p->outputs[k]];
        fine = pithp_program_output(w->b.s, w->b.to, w->b.names[p->outputs[k]]);
    }
    return fine;
}

pithp_program *pithp_program_vmap(pith_scope *s,
                                  const pithp_program *p,
                                  int64_t size,
                                  const bool *batched,
                                  const pithp_vmap_options *options,
                                  bool *outputs_batched) {
    return pithp_batch_program(s, p, size, batched, options, false, outputs_batched);
}

pithp_program *pithp_batch_program(pith_scope *s,
                                   const pithp_program *p,
                                   int64_t size,
                                   const bool *batched,
                                   const pithp_vmap_options *options,
                                   bool masked,
                                   bool *outputs_batched) {
    static const pithp_vmap_options none = {0};
    const size_t values = (size_t)p->value_count + 1, most = (size_t)most_operands(p);
    const size_t bytes =
        (values + 2 * most + 1) * sizeof(pithp_value) + (2 * values + most);
    pithp_value *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    bool *flags = (bool *)(memory + values + 2 * most + 1);
    walk w = {.b = {.s = s,
                    .from = p,
                    .to = pithp_program_make(s),
                    .size = size,
                    .options = options ? options : &none,
                    .names = memory,
                    .batched = flags},
              .operands = memory + values,
              .scratch = memory + values + most,
              .batched = flags + values,
              .used = flags + values + most};
    memset(memory, 0xff, values * sizeof *memory); /* no value has a name */
    memset(flags, 0, values);
    find_used(&w);
    const bool fine = w.b.to && add_inputs(&w, batched, masked) && add_instructions(&w) &&
                      add_outputs(&w, outputs_batched);
    pithp_release(s->runtime, memory, bytes);
    if (fine) {
        PITHP_VERIFY(w.b.to);
        return w.b.to;
    }
    pithp_program_release(w.b.to);
    return NULL;
}
