/* Value numbering by hashes: values of different programs that are the same expression of
 * the same values have the same hash.
 *
 * Identity marks are what they mark. A result of a loop is hashed as the expression after
 * a fixed number of iterations, so that other carries of the loop do not matter to it. */
#include "program/ir/region.h"

#include <string.h>

enum { ITERATIONS = 6 }; /* more than a difference takes to reach a result */

static bool
hash_values(pith_scope *s, const pithp_program *p, int64_t first, uint64_t *hashes);

static uint64_t mix(uint64_t hash, uint64_t other) {
    return pithp_hash(hash, &other, sizeof other);
}

/* Literals by their bits: a function that is recorded twice makes them anew. */
static uint64_t hash_constant(const pithp_program *p, const pithp_constant *c) {
    const pith_spec *spec = pithp_value_spec(p, c->value);
    const uint64_t hash = mix(PITHP_FROM_CONSTANT, (uint64_t)(uintptr_t)spec);
    return c->buffer ? pithp_hash(hash, &c->data, sizeof c->data)
                     : pithp_hash(hash, c->data, spec->bytes);
}

/* ---- Control flow ---- */

/* The programs of an instruction, and hashes of their values. */
typedef struct hashed_flow {
    pith_scope *s;
    const pithp_program *p;
    const pithp_instruction *i;
    pithp_regions r;
    uint64_t *operands; /* hashes of the operands, those of carries after iterations */
    uint64_t **values;  /* of each program */
} hashed_flow;

/* Hash the values of program b for the hashes of its inputs. */
static bool hash_program(const hashed_flow *f, int b) {
    const pithp_program *p = f->i->programs[b];
    for (int64_t k = 0; k < p->input_count; k++)
        f->values[b][p->inputs[k]] = f->operands[pithp_region_operand(&f->r, b, (int)k)];
    return hash_values(f->s, p, 0, f->values[b]);
}

static uint64_t output(const hashed_flow *f, int b, int k) {
    return f->values[b][f->i->programs[b]->outputs[k]];
}

static bool hash_branches(const hashed_flow *f, uint64_t *results) {
    for (int b = 0; b < f->i->program_count; b++) {
        if (!hash_program(f, b))
            return false;
        for (int k = 0; k < f->i->result_count; k++)
            results[k] =
                mix(b ? results[k] : f->operands[PITHP_COND_INDEX], output(f, b, k));
    }
    return true;
}

/* What decides the number of iterations. */
static uint64_t hash_length(const hashed_flow *f) {
    if (f->i->primitive == PITHP_OP_WHILE)
        return output(f, 0, 0);
    const pithp_loop_params *loop = f->i->params;
    return mix((uint64_t)loop->length, loop->reverse);
}

static bool hash_iterations(const hashed_flow *f, uint64_t *results) {
    const int carries = f->r.carries.count, body = f->r.body;
    for (int round = 0; round < ITERATIONS; round++) {
        for (int b = 0; b <= body; b++)
            if (!hash_program(f, b))
                return false;
        for (int k = 0; k < carries; k++)
            f->operands[f->r.carries.first + k] = output(f, body, k);
    }
    for (int k = 0; k < f->i->result_count; k++)
        results[k] = mix(mix(output(f, body, k), hash_length(f)), k < carries);
    return true;
}

static bool hash_flow(pith_scope *s,
                      const pithp_program *p,
                      const pithp_instruction *i,
                      uint64_t *hashes) {
    hashed_flow f = {.s = s, .p = p, .i = i, .r = pithp_regions_of(i)};
    size_t bytes = ((size_t)i->operand_count + 1) * sizeof *f.operands +
                   ((size_t)i->program_count + 1) * sizeof *f.values;
    for (int b = 0; b < i->program_count; b++)
        bytes += (size_t)i->programs[b]->value_count * sizeof **f.values;
    f.values = pithp_allocate(p->runtime, bytes);
    if (!f.values)
        return false;
    f.operands = (uint64_t *)(f.values + i->program_count + 1);
    uint64_t *next = f.operands + i->operand_count + 1;
    for (int b = 0; b < i->program_count; b++, next += i->programs[b - 1]->value_count)
        f.values[b] = next;
    for (int k = 0; k < i->operand_count; k++)
        f.operands[k] = hashes[pithp_operands(p, i)[k]];
    const bool fine = i->primitive == PITHP_OP_COND
                          ? hash_branches(&f, hashes + i->result)
                          : hash_iterations(&f, hashes + i->result);
    pithp_release(p->runtime, f.values, bytes);
    return fine;
}

/* ---- Instructions ---- */

/* The operand that result k of an identity mark is; -1: no mark. */
static int marked_operand(const pithp_instruction *i, int k) {
    if (i->primitive == PITHP_OP_RULE) /* its last operands are the values */
        return i->operand_count - i->result_count + k;
    return i->primitive == PITHP_OP_STOP_GRADIENT || i->primitive == PITHP_OP_NAME ? 0
                                                                                   : -1;
}

static void
hash_call(const pithp_program *p, const pithp_instruction *i, uint64_t *hashes) {
    const pithp_value *of = pithp_operands(p, i);
    uint64_t hash = mix(PITHP_FROM_INSTRUCTION, (uint64_t)i->primitive);
    for (int k = 0; k < i->operand_count; k++)
        hash = mix(hash, hashes[of[k]]);
    if (i->params)
        hash = pithp_hash(hash, i->params, pithp_params_bytes(i->primitive));
    for (int k = 0; k < i->result_count; k++) {
        const int marked = marked_operand(i, k);
        hashes[i->result + k] = marked >= 0 ? hashes[of[marked]] : mix(hash, (uint64_t)k);
    }
}

/* False: out of memory, or error set. */
static bool
hash_values(pith_scope *s, const pithp_program *p, int64_t first, uint64_t *hashes) {
    for (int64_t k = 0; k < p->constant_count; k++)
        hashes[p->constants[k].value] = hash_constant(p, &p->constants[k]);
    for (int64_t n = first; n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (!i->program_count)
            hash_call(p, i, hashes);
        else if (!hash_flow(s, p, i, hashes))
            return false;
    }
    return true;
}

bool pithp_program_expressions(pith_scope *s,
                               const pithp_program *p,
                               int64_t first,
                               uint64_t *hashes) {
    if (hash_values(s, p, first, hashes))
        return true;
    if (s->error.code == PITH_OK)
        pithp_fail_memory(s, sizeof *hashes);
    return false;
}
