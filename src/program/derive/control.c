/* Derivation of control flow. In forward mode one instruction carries tangents beside
 * values. In a linearization there are two: the first also has the residuals of its
 * programs as results, the second is linear in the tangents. */
#include "program/derive/control.h"

#include "program/derive/split.h"
#include "program/ir/region.h"

#include <string.h>

/* ---- Programs with other inputs and outputs ---- */

/* An output that is another program's, or zeros. */
typedef struct chosen {
    int64_t output; /* -1: zeros */
    const pith_spec *spec;
} chosen;

/* The inputs of p in another order, with some that p does not have, and some outputs. */
typedef struct arrangement {
    pith_scope *s;
    const pithp_program *p;
    int64_t input_count, output_count;
    const pith_spec **specs; /* of each input */
    int64_t *inputs;         /* of p: each is one of the inputs */
    chosen *outputs;
} arrangement;

static bool begin(arrangement *a,
                  pith_scope *s,
                  const pithp_program *p,
                  int64_t inputs,
                  int64_t outputs) {
    *a = (arrangement){.s = s, .p = p};
    const size_t bytes = (size_t)inputs * sizeof *a->specs +
                         (size_t)p->input_count * sizeof *a->inputs +
                         (size_t)outputs * sizeof *a->outputs;
    char *memory = pithp_scope_allocate(s, bytes + 1);
    if (!memory)
        return false;
    a->outputs = (chosen *)(void *)memory;
    a->inputs = (int64_t *)(void *)(a->outputs + outputs);
    a->specs = (const pith_spec **)(void *)(a->inputs + p->input_count);
    return true;
}

/* The next input; `of`: the input of p that it is, or -1. */
static void add_input(arrangement *a, const pith_spec *spec, int64_t of) {
    if (of >= 0)
        a->inputs[of] = a->input_count;
    a->specs[a->input_count++] = spec;
}

static void add_output(arrangement *a, int64_t output, const pith_spec *spec) {
    a->outputs[a->output_count++] = (chosen){output, spec};
}

static bool add_values(arrangement *a, pithp_program *to, pithp_value *memory) {
    const pithp_program *p = a->p;
    pithp_derivation d = {.s = a->s, .to = to};
    pithp_value *all = memory, *in = all + a->input_count, *out = in + p->input_count;
    bool fine = true;
    for (int64_t k = 0; k < a->input_count && fine; k++)
        fine = (all[k] = pithp_program_input(a->s, to, a->specs[k])) >= 0;
    for (int64_t k = 0; k < p->input_count; k++)
        in[k] = all[a->inputs[k]];
    fine = fine && pithp_program_inline(a->s, to, p, in, out);
    for (int64_t k = 0; k < a->output_count && fine; k++) {
        const chosen *c = &a->outputs[k];
        const pithp_value v =
            c->output >= 0 ? out[c->output] : pithp_derive_zeros(&d, c->spec);
        fine = v >= 0 && pithp_program_output(a->s, to, v);
    }
    return fine;
}

static pithp_program *arrange(arrangement *a) {
    const size_t bytes =
        (size_t)(a->input_count + a->p->input_count + a->p->output_count + 1) *
        sizeof(pithp_value);
    pithp_value *memory = pithp_scope_allocate(a->s, bytes);
    pithp_program *to = memory ? pithp_program_make(a->s) : NULL;
    if (to && add_values(a, to, memory))
        return to;
    pithp_program_release(to);
    return NULL;
}

/* ---- A control flow instruction that is derived ---- */

typedef struct flow {
    pithp_derivation *d;
    const pithp_moving_call *c;
    const pithp_instruction *i;
    pithp_regions r;
    bool *moving; /* operands that move, with those carries that come to move */
    bool *moves;  /* results that move */
} flow;

static const pith_spec *operand_spec(const flow *f, int k) {
    return pithp_value_spec(f->c->from, pithp_operands(f->c->from, f->i)[k]);
}

/* The tangent of an operand, with zeros for a carry that does not move at first. */
static pithp_value tangent(const flow *f, int k) {
    return f->c->tangents[k] >= 0 ? f->c->tangents[k]
                                  : pithp_derive_zeros(f->d, operand_spec(f, k));
}

/* The inputs of a program that move, and its outputs that move with them. False sets the
 * error. */
static bool moves_of(const flow *f, int program, bool *inputs, bool *outputs) {
    const pithp_program *p = f->i->programs[program];
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = f->moving[pithp_region_operand(&f->r, program, (int)k)];
    return pithp_program_moves(f->d->s, p, inputs, outputs);
}

/* The operands of the derived instruction, group by group: those of the instruction, with
 * tangents after them. */
static int
add_operands(const flow *f, pithp_value *list, int counts[PITHP_OPERAND_GROUPS]) {
    int n = 0;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        const pithp_operand_group *group = &f->r.groups[g];
        const int before = n;
        for (int k = group->first; k < group->first + group->count; k++)
            list[n++] = f->c->operands[k];
        for (int k = group->first; k < group->first + group->count; k++)
            if (f->moving[k])
                list[n++] = tangent(f, k);
        counts[g] = n - before;
    }
    return n;
}

/* A program of the instruction in forward mode: its inputs by groups as add_operands has
 * operands; its outputs, if they are results, with tangents after the carries and after
 * the others. */
static pithp_program *forward_program(const flow *f, int b, bool *inputs, bool *outputs) {
    const pithp_program *p = f->i->programs[b];
    const bool yields = pithp_region_yields(&f->r, b);
    pith_scope *s = f->d->s;
    arrangement a;
    if (!moves_of(f, b, inputs, outputs))
        return NULL;
    if (!yields)
        memset(inputs, 0, (size_t)p->input_count * sizeof *inputs);
    pithp_program *jvp = pithp_program_jvp(s, p, inputs, outputs);
    if (!jvp || !begin(&a, s, jvp, 2 * p->input_count, 2 * p->output_count)) {
        pithp_program_release(jvp);
        return NULL;
    }
    int64_t *tangents =
        pithp_scope_allocate(s, ((size_t)p->input_count + 1) * sizeof *tangents);
    if (!tangents) {
        pithp_program_release(jvp);
        return NULL;
    }
    for (int64_t k = 0, next = p->input_count; k < p->input_count; k++)
        tangents[k] = inputs[k] ? next++ : -1;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        int first;
        if (!pithp_region_takes(&f->r, b, g, &first))
            continue;
        const int count = f->r.groups[g].count;
        for (int k = first; k < first + count; k++)
            add_input(&a, pithp_value_spec(p, p->inputs[k]), k);
        for (int k = first; k < first + count; k++)
            if (f->moving[f->r.groups[g].first + k - first])
                add_input(&a, pithp_value_spec(p, p->inputs[k]), tangents[k]);
    }
    const int64_t carries = yields ? f->r.carries.count : 0;
    int64_t next = p->output_count;
    for (int part = 0; part < 2; part++) {
        const int64_t from = part ? carries : 0, to = part ? p->output_count : carries;
        for (int64_t k = from; k < to; k++)
            add_output(&a, k, NULL);
        for (int64_t k = from; k < to && yields; k++)
            if (f->moves[k]) {
                add_output(&a, outputs[k] ? next : -1,
                           pithp_value_spec(p, p->outputs[k]));
                next += outputs[k];
            }
    }
    pithp_program *made = arrange(&a);
    pithp_program_release(jvp);
    return made;
}

/* Whether result k is the stacked outputs of a scan, and so on: where results and
 * tangents of the derived instruction are. */
static void name_results(const flow *f,
                         pithp_value first,
                         pithp_value *results,
                         pithp_value *tangents) {
    const int carries = f->r.carries.count;
    pithp_value next = first;
    for (int part = 0; part < 2; part++) {
        const int from = part ? carries : 0, to = part ? f->i->result_count : carries;
        for (int k = from; k < to; k++)
            results[k] = next++;
        for (int k = from; k < to; k++)
            tangents[k] = f->moves[k] ? next++ : PITHP_ABSENT;
    }
}

static bool derive_forward(flow *f,
                           bool *inputs,
                           bool *outputs,
                           pithp_value *results,
                           pithp_value *tangents) {
    pith_scope *s = f->d->s;
    const size_t most = 2 * (size_t)f->i->operand_count + 1;
    pithp_value *list = pithp_scope_allocate(s, most * sizeof *list);
    pithp_program **programs =
        pithp_scope_allocate(s, ((size_t)f->i->program_count + 1) * sizeof *programs);
    if (!list || !programs)
        return false;
    union {
        pithp_while_params as_while;
        pithp_loop_params as_loop;
    } params;
    const size_t bytes = pithp_params_bytes(f->i->primitive);
    if (bytes)
        memcpy(&params, f->i->params, bytes);
    int counts[PITHP_OPERAND_GROUPS], made = 0;
    const int count = add_operands(f, list, counts);
    pithp_regions_resize(f->i->primitive, &params, counts);
    bool fine = true;
    for (int k = 0; k < count; k++)
        fine &= list[k] >= 0;
    for (; made < f->i->program_count && fine; made += fine)
        fine = (programs[made] = forward_program(f, made, inputs, outputs)) != NULL;
    const pithp_new_instruction derived = {.primitive = f->i->primitive,
                                           .operand_count = count,
                                           .operands = list,
                                           .params = bytes ? &params : NULL,
                                           .program_count = f->i->program_count,
                                           .programs = programs,
                                           .site = f->i->site};
    const pithp_value first = fine ? pithp_program_add_many(s, f->d->to, &derived) : -1;
    for (int k = 0; k < made; k++)
        pithp_program_release(programs[k]);
    if (first >= 0)
        name_results(f, first, results, tangents);
    return first >= 0;
}

static int64_t most_of(const pithp_instruction *i) {
    int64_t most = i->operand_count + i->result_count;
    for (int k = 0; k < i->program_count; k++) {
        const pithp_program *p = i->programs[k];
        most = p->input_count > most ? p->input_count : most;
        most = p->output_count > most ? p->output_count : most;
    }
    return most + 1;
}

bool pithp_derive_control(pithp_derivation *d,
                          const pithp_moving_call *c,
                          pithp_value *results,
                          pithp_value *tangents) {
    const size_t most = (size_t)most_of(c->i);
    bool *memory = pithp_scope_allocate(d->s, 4 * most);
    if (!memory)
        return false;
    flow f = {.d = d,
              .c = c,
              .i = c->i,
              .r = pithp_regions_of(c->i),
              .moving = memory,
              .moves = memory + most};
    for (int k = 0; k < c->i->operand_count; k++)
        f.moving[k] = c->tangents[k] >= 0;
    return pithp_control_moves(d->s, c->i, f.moving, f.moves) &&
           derive_forward(&f, memory + 2 * most, memory + 3 * most, results, tangents);
}
