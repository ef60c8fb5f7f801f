/* Program builder, with an arena per program for parameters, literals and lists. */
#include "program/ir/program.h"

#include <string.h>

/* Memory of instructions: grows in chunks, and is freed with the program. */
typedef struct pithp_arena {
    struct pithp_arena *next;
    size_t bytes, used; /* of data */
    _Alignas(64) char data[];
} pithp_arena;

enum { ARENA_BYTES = 8192, FIRST_ROOM = 16, ALIGNMENT = 64 };

static void *arena_take(pith_scope *s, pithp_program *p, size_t bytes, size_t alignment) {
    pithp_arena *a = p->arena;
    size_t at = a ? (a->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!a || at > a->bytes || bytes > a->bytes - at) {
        const size_t room = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
        a = pithp_allocate_aligned(p->runtime, sizeof *a + room, ALIGNMENT);
        if (!a) {
            pithp_fail_memory(s, room);
            return NULL;
        }
        *a = (pithp_arena){.next = p->arena, .bytes = room};
        p->arena = a;
        at = 0;
    }
    a->used = at + bytes;
    return a->data + at;
}

pithp_program *pithp_program_make(pith_scope *s) {
    pithp_program *p = pithp_allocate(s->runtime, sizeof *p);
    if (!p) {
        pithp_fail_memory(s, sizeof *p);
        return NULL;
    }
    *p = (pithp_program){.runtime = s->runtime};
    atomic_init(&p->refs, 1);
    return p;
}

void pithp_program_retain(pithp_program *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

/* References that parameters hold. */
static void retain_params(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_RULE)
        atomic_fetch_add_explicit(&((const pithp_rule_params *)i->params)->rule->refs, 1,
                                  memory_order_relaxed);
    if (i->primitive == PITHP_OP_EXPOSE)
        atomic_fetch_add_explicit(
            &((const pithp_expose_params *)i->params)->exposed->refs, 1,
            memory_order_relaxed);
}

static void release_params(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_RULE)
        pithp_rule_release(((const pithp_rule_params *)i->params)->rule);
    if (i->primitive == PITHP_OP_EXPOSE)
        pithp_exposed_release(((const pithp_expose_params *)i->params)->exposed);
}

void pithp_program_release(pithp_program *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
        return;
    pith_runtime *rt = p->runtime;
    for (int64_t i = 0; i < p->constant_count; i++)
        pithp_buffer_release(p->constants[i].buffer, 1);
    for (int64_t i = 0; i < p->instruction_count; i++) {
        for (int k = 0; k < p->instructions[i].program_count; k++)
            pithp_program_release(p->instructions[i].programs[k]);
        release_params(&p->instructions[i]);
    }
#define RELEASE(list, room) pithp_release(rt, list, (size_t)(room) * sizeof *(list))
    RELEASE(p->values, p->value_room);
    RELEASE(p->inputs, p->input_room);
    RELEASE(p->constants, p->constant_room);
    RELEASE(p->instructions, p->instruction_room);
    RELEASE(p->operands, p->operand_room);
    RELEASE(p->outputs, p->output_room);
#undef RELEASE
    for (pithp_arena *a = p->arena; a;) {
        pithp_arena *next = a->next;
        pithp_release_aligned(rt, a, sizeof *a + a->bytes, ALIGNMENT);
        a = next;
    }
    pithp_release(rt, p, sizeof *p);
}

size_t pithp_program_bytes(const pithp_program *p) {
    size_t bytes = sizeof *p + (size_t)p->value_room * sizeof *p->values +
                   (size_t)p->instruction_room * sizeof *p->instructions +
                   (size_t)p->operand_room * sizeof *p->operands +
                   (size_t)p->output_room * sizeof *p->outputs;
    for (const pithp_arena *a = p->arena; a; a = a->next)
        bytes += sizeof *a + a->bytes;
    for (int64_t c = 0; c < p->constant_count; c++)
        if (p->constants[c].buffer)
            bytes += pithp_value_spec(p, p->constants[c].value)->bytes;
    for (int64_t k = 0; k < p->instruction_count; k++)
        for (int b = 0; b < p->instructions[k].program_count; b++)
            bytes += pithp_program_bytes(p->instructions[k].programs[b]);
    return bytes;
}

/* Grow a list: it has room for `more` beyond count. An empty list is allocated even if
 * more is 0, so that NULL always means that the error is set and the list is unchanged.
 */
static void *grown(pith_scope *s,
                   pithp_program *p,
                   void *list,
                   size_t each,
                   int64_t count,
                   int64_t more,
                   int64_t *room) {
    if (list && count + more <= *room)
        return list;
    int64_t wanted = *room ? 2 * *room : FIRST_ROOM;
    wanted = wanted < count + more ? count + more : wanted;
    void *bigger =
        pithp_reallocate(p->runtime, list, (size_t)*room * each, (size_t)wanted * each);
    if (bigger)
        *room = wanted;
    else
        pithp_fail_memory(s, (size_t)wanted * each);
    return bigger;
}
/* Grow a list of p, or return `otherwise`. */
#define GROW(s, p, list, count, more, room, otherwise)                                   \
    do {                                                                                 \
        void *list_ =                                                                    \
            grown(s, p, (p)->list, sizeof *(p)->list, (p)->count, more, &(p)->room);     \
        if (!list_)                                                                      \
            return otherwise;                                                            \
        (p)->list = list_;                                                               \
    } while (0)

/* The same, by the length of another program's list. */
#define GROW_LIKE(s, p, like, list, count, room)                                         \
    do {                                                                                 \
        if ((like)->count)                                                               \
            GROW(s, p, list, count, (like)->count, room, false);                         \
    } while (0)

bool pithp_program_reserve(pith_scope *s, pithp_program *p, const pithp_program *like) {
    GROW_LIKE(s, p, like, values, value_count, value_room);
    GROW_LIKE(s, p, like, inputs, input_count, input_room);
    GROW_LIKE(s, p, like, constants, constant_count, constant_room);
    GROW_LIKE(s, p, like, instructions, instruction_count, instruction_room);
    GROW_LIKE(s, p, like, operands, operand_count, operand_room);
    GROW_LIKE(s, p, like, outputs, output_count, output_room);
    return true;
}

static pithp_value add_value(pithp_program *p, /* with room in `values` */
                             const pith_spec *spec,
                             pithp_origin origin,
                             int64_t at) {
    p->values[p->value_count] = (pithp_value_info){spec, origin, (int32_t)at};
    return (pithp_value)p->value_count++;
}

/* Value numbers have 32 bits. */
static bool is_full(pith_scope *s, const pithp_program *p, int64_t more) {
    if (PITHP_LIKELY(p->value_count <= INT32_MAX - more))
        return false;
    pithp_fail(s, PITH_E_OVERFLOW, NULL, "a program of more than %d values", INT32_MAX);
    return true;
}

pithp_value pithp_program_input(pith_scope *s, pithp_program *p, const pith_spec *spec) {
    PITH_ASSERT(p->value_count == p->input_count);
    if (is_full(s, p, 1))
        return -1;
    GROW(s, p, values, value_count, 1, value_room, -1);
    GROW(s, p, inputs, input_count, 1, input_room, -1);
    const pithp_value v = add_value(p, spec, PITHP_FROM_INPUT, p->input_count);
    p->inputs[p->input_count++] = v;
    return v;
}

static pithp_value add_constant(pith_scope *s,
                                pithp_program *p,
                                const pith_spec *spec,
                                const void *data,
                                pithp_buffer *buffer) {
    if (is_full(s, p, 1))
        return -1;
    GROW(s, p, values, value_count, 1, value_room, -1);
    GROW(s, p, constants, constant_count, 1, constant_room, -1);
    const pithp_value v = add_value(p, spec, PITHP_FROM_CONSTANT, p->constant_count);
    p->constants[p->constant_count++] = (pithp_constant){v, data, buffer};
    return v;
}

pithp_value pithp_program_literal(pith_scope *s,
                                  pithp_program *p,
                                  const pith_spec *spec,
                                  const void *elements) {
    void *copy = arena_take(s, p, spec->bytes ? spec->bytes : 1, ALIGNMENT);
    if (!copy)
        return -1;
    if (spec->bytes)
        memcpy(copy, elements, spec->bytes);
    return add_constant(s, p, spec, copy, NULL);
}

pithp_value pithp_program_constant(pith_scope *s,
                                   pithp_program *p,
                                   const pith_spec *spec,
                                   pithp_buffer *buffer,
                                   const void *data) {
    const pithp_value v = add_constant(s, p, spec, data, buffer);
    if (v >= 0)
        pithp_buffer_retain(buffer, 1);
    return v;
}

pithp_call pithp_instruction_call(const pithp_program *p,
                                  const pithp_instruction *i,
                                  const pith_spec **specs) {
    for (int k = 0; k < i->operand_count; k++)
        specs[k] = p->values[pithp_operands(p, i)[k]].spec;
    return (pithp_call){.primitive = i->primitive,
                        .operand_count = i->operand_count,
                        .operands = specs,
                        .params = i->params,
                        .program_count = i->program_count,
                        .programs = i->programs};
}

bool pithp_has_effects(const pithp_instruction *i) {
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, NULL, i->params);
    bool effects = !pithp_op_has(i->primitive, PITHP_TRAIT_PURE) ||
                   (pithp_is_lowered(i->primitive) && pithp_call_reports(&call));
    for (int k = 0; k < i->program_count; k++)
        effects |= i->programs[k]->has_effects;
    return effects;
}

bool pithp_has_collectives(const pithp_instruction *i) {
    bool collectives = pithp_op_has(i->primitive, PITHP_TRAIT_COLLECTIVE);
    for (int k = 0; k < i->program_count; k++)
        collectives |= i->programs[k]->has_collectives;
    return collectives;
}

bool pithp_has_checks(const pithp_instruction *i) {
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, NULL, i->params);
    bool checks = pithp_op_has(i->primitive, PITHP_TRAIT_REPORT) ||
                  (pithp_is_lowered(i->primitive) && pithp_call_reports(&call));
    for (int k = 0; k < i->program_count; k++)
        checks |= i->programs[k]->has_checks;
    return checks;
}

bool pithp_has_marks(const pithp_instruction *i) {
    bool marks = pithp_op_has(i->primitive, PITHP_TRAIT_MARK);
    for (int k = 0; k < i->program_count; k++)
        marks |= i->programs[k]->has_marks;
    return marks;
}

bool pithp_has_refusals(const pithp_instruction *i) {
    bool refusals = i->primitive == PITHP_OP_NON_DIFFERENTIABLE;
    for (int k = 0; k < i->program_count; k++)
        refusals |= i->programs[k]->has_refusals;
    return refusals;
}

/* ---- Instructions ---- */

enum { FEW_RESULTS = 8 };

/* Copy parameters and nested programs into the arena; false: error set. */
static bool copy_lists(pith_scope *s,
                       pithp_program *p,
                       const pithp_call *call,
                       pithp_instruction *i) {
    const size_t bytes = pithp_params_bytes(call->primitive);
    if (bytes) {
        void *params = arena_take(s, p, bytes, 16);
        if (!params)
            return false;
        pithp_params_copy(call, params);
        i->params = params;
    }
    if (call->program_count) {
        const size_t list = (size_t)call->program_count * sizeof *i->programs;
        i->programs = arena_take(s, p, list, sizeof *i->programs);
        if (!i->programs)
            return false;
        memcpy(i->programs, call->programs, list);
    }
    return true;
}

/* The interned spec of a result. It is usually that of an operand too. */
static const pith_spec *
result_spec(pith_scope *s, const pithp_call *call, const pith_spec *result) {
    const pith_spec *first = call->operand_count ? call->operands[0] : NULL;
    return first && first->dtype == result->dtype && first->rank == result->rank &&
                   !memcmp(first->shape, result->shape,
                           (size_t)first->rank * sizeof *first->shape)
               ? first
               : pithp_spec_of_value(s, result->dtype, result->rank, result->shape);
}

/* Append an instruction whose call was accepted; the lists have room. specs: the results'
 * specs, used if the caller gave none. */
static pithp_value append(pith_scope *s,
                          pithp_program *p,
                          const pithp_call *call,
                          const pithp_new_instruction *given,
                          int result_count,
                          const pith_spec *specs) {
    /* Filled in place, member by member: built apart and copied, it stalls on loads that
       overlap several stores. */
    pithp_instruction *i = &p->instructions[p->instruction_count];
    i->primitive = call->primitive;
    i->operand_count = call->operand_count;
    i->first_operand = p->operand_count;
    i->params = NULL;
    i->result_count = result_count;
    i->result = (pithp_value)p->value_count;
    i->program_count = call->program_count;
    i->programs = NULL;
    i->site = given->site;
    i->remat = p->remat;
    for (int k = 0; k < result_count; k++) {
        const pith_spec *spec =
            given->spec ? given->spec : result_spec(s, call, &specs[k]);
        if (!spec) {
            p->value_count = i->result;
            return -1;
        }
        add_value(p, spec, PITHP_FROM_INSTRUCTION, p->instruction_count);
    }
    if (!copy_lists(s, p, call, i)) {
        p->value_count = i->result;
        return -1;
    }
    if (i->operand_count)
        memcpy(p->operands + p->operand_count, given->operands,
               (size_t)i->operand_count * sizeof *given->operands);
    for (int k = 0; k < i->program_count; k++)
        pithp_program_retain(i->programs[k]);
    retain_params(i);
    p->operand_count += i->operand_count;
    p->instruction_count++;
    p->has_effects |= pithp_has_effects(i);
    p->has_collectives |= pithp_has_collectives(i);
    p->has_checks |= pithp_has_checks(i);
    p->has_marks |= pithp_has_marks(i);
    p->has_refusals |= pithp_has_refusals(i);
    return i->result;
}

/* Append an instruction whose operands' specs are known. */
static pithp_value add_call(pith_scope *s,
                            pithp_program *p,
                            const pithp_call *call,
                            const pithp_new_instruction *given) {
    pith_spec few[FEW_RESULTS], *results = few;
    pithp_refusal refusal;
    const int count = pithp_result_count(call);
    const size_t bytes = (size_t)count * sizeof *results;
    if (is_full(s, p, count))
        return -1;
    GROW(s, p, values, value_count, count, value_room, -1);
    if (count > FEW_RESULTS && !(results = pithp_allocate(p->runtime, bytes))) {
        pithp_fail_memory(s, bytes);
        return -1;
    }
    pithp_value v = -1;
    if (PITHP_LIKELY(given->spec || pithp_infer(call, results, &refusal) == PITH_OK))
        v = append(s, p, call, given, count, results);
    else
        pithp_fail_function(s, refusal.code, refusal.function, "%s", refusal.text);
    if (results != few)
        pithp_release(p->runtime, results, bytes);
    return v;
}

pithp_value pithp_program_add_many(pith_scope *s,
                                   pithp_program *p,
                                   const pithp_new_instruction *given) {
    const pith_spec *few[PITHP_FEW_OPERANDS], **specs = few;
    const int count = given->operand_count;
    GROW(s, p, instructions, instruction_count, 1, instruction_room, -1);
    GROW(s, p, operands, operand_count, count, operand_room, -1);
    if (count > PITHP_FEW_OPERANDS) {
        specs = pithp_allocate(p->runtime, (size_t)count * sizeof *specs);
        if (!specs) {
            pithp_fail_memory(s, (size_t)count * sizeof *specs);
            return -1;
        }
    }
    for (int k = 0; k < count; k++)
        specs[k] = p->values[given->operands[k]].spec;
    const pithp_call call = {.primitive = given->primitive,
                             .operand_count = count,
                             .operands = specs,
                             .params = given->params,
                             .program_count = given->program_count,
                             .max_rank = given->max_rank,
                             .programs = given->programs};
    const pithp_value v = add_call(s, p, &call, given);
    if (specs != few)
        pithp_release(p->runtime, specs, (size_t)count * sizeof *specs);
    return v;
}

pithp_value pithp_program_add(pith_scope *s,
                              pithp_program *p,
                              pithp_primitive primitive,
                              int count,
                              const pithp_value *operands,
                              const void *params,
                              const char *site) {
    const pithp_new_instruction given = {.primitive = primitive,
                                         .operand_count = count,
                                         .operands = operands,
                                         .params = params,
                                         .site = site};
    return pithp_program_add_many(s, p, &given);
}

bool pithp_program_output(pith_scope *s, pithp_program *p, pithp_value value) {
    GROW(s, p, outputs, output_count, 1, output_room, false);
    p->outputs[p->output_count++] = value;
    return true;
}
