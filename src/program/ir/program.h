/* Programs: what a traced function computes, as a graph in static single assignment form.
 *
 * A program has values, numbered from 0: inputs, constants and results of instructions.
 * Instructions are primitives over values that were made before them, in an order in
 * which they can run. Every value has an interned spec; what an instruction's result is
 * follows from its operands, parameters and programs alone (pithp_infer), and the
 * verifier holds it to that. Most instructions have one result; control flow and kernels
 * have as many as they say, which are values beside each other.
 *
 * Control flow holds the programs that it runs. They see nothing of the program around
 * them: what they read are their inputs, which the instruction hands them.
 *
 * A program is built by one thread and not changed once it is built; then any thread may
 * read it. Passes (program/pass) make new programs of old ones. */
#ifndef PITH_PROGRAM_IR_PROGRAM_H
#define PITH_PROGRAM_IR_PROGRAM_H

#include "program/op/call.h"

typedef int32_t pithp_value; /* its number in a program; -1: none, and an error is set */

typedef enum pithp_origin {
    PITHP_FROM_INPUT,
    PITHP_FROM_CONSTANT,
    PITHP_FROM_INSTRUCTION,
} pithp_origin;

typedef struct pithp_node {
    const pith_spec *spec; /* interned */
    pithp_origin origin;
    int32_t at; /* its number among inputs, constants or instructions */
} pithp_node;

/* Small constants are folded into the program; others are a buffer it keeps. */
enum { PITHP_LITERAL_BYTES = 4096 };

typedef struct pithp_constant {
    pithp_value value;
    const void *data;     /* literal: host memory of the program; else a device address */
    pithp_buffer *buffer; /* that data lies in, with a reference; NULL: a literal */
} pithp_constant;

typedef struct pithp_instruction {
    pithp_primitive primitive;
    int32_t operand_count;
    int64_t first_operand; /* in the program's operands */
    const void *params;    /* canonical (pithp_params_copy), of the program; or NULL */
    int32_t result_count;
    pithp_value result; /* the first one; where there are none, the value made next */
    int32_t program_count;
    struct pithp_program **programs; /* a reference each; of the program, or NULL */
    const char *site;                /* of the call that made it; NULL: unknown */
} pithp_instruction;

typedef struct pithp_program {
    atomic_int refs;
    pith_runtime *runtime;
    pithp_node *values;
    pithp_value *inputs; /* the first values, in order */
    pithp_constant *constants;
    pithp_instruction *instructions;
    pithp_value *operands; /* of all instructions */
    pithp_value *outputs;
    int64_t value_count, input_count, constant_count, instruction_count, operand_count,
        output_count;
    int64_t value_room, input_room, constant_room, instruction_room, operand_room,
        output_room;
    struct pithp_arena *arena; /* parameters, literals and lists of programs */
    bool has_effects; /* an instruction must run even if its results are unused */
} pithp_program;

static inline const pithp_value *pithp_operands(const pithp_program *p,
                                                const pithp_instruction *i) {
    return p->operands + i->first_operand;
}
static inline const pith_spec *pithp_value_spec(const pithp_program *p, pithp_value v) {
    return p->values[v].spec;
}
/* The instruction that makes a value; NULL: an input or a constant. */
static inline const pithp_instruction *pithp_maker(const pithp_program *p,
                                                   pithp_value v) {
    return p->values[v].origin == PITHP_FROM_INSTRUCTION
               ? &p->instructions[p->values[v].at]
               : NULL;
}

/* Constants and instructions (and inputs before them) in the order in which they were
 * made: also instructions without results, which no value tells of. */
typedef struct pithp_graph_walk {
    const pithp_program *program;
    int64_t value, instruction; /* the next ones; begin with {program} */
} pithp_graph_walk;

/* False: that was the last one. *instruction: NULL where it is an input or a constant,
 * which *value then is; else *value is the first result. */
static inline bool pithp_graph_next(pithp_graph_walk *w,
                                    pithp_value *value,
                                    const pithp_instruction **instruction) {
    const pithp_program *p = w->program;
    const pithp_instruction *i =
        w->instruction < p->instruction_count ? &p->instructions[w->instruction] : NULL;
    *value = (pithp_value)w->value;
    *instruction = i && i->result == w->value ? i : NULL;
    if (!*instruction)
        return w->value++ < p->value_count;
    w->value += i->result_count;
    w->instruction++;
    return true;
}

/* The elements of a literal; NULL: the value is none. */
static inline const void *pithp_literal_of(const pithp_program *p, pithp_value v) {
    const pithp_node *n = &p->values[v];
    return n->origin == PITHP_FROM_CONSTANT && !p->constants[n->at].buffer
               ? p->constants[n->at].data
               : NULL;
}

/* ---- Building: NULL and -1 mean that the scope's error is set ---- */

/* An empty program with one reference. */
pithp_program *pithp_program_make(pith_scope *s);
/* Make room for as much as another has. False: error set. */
bool pithp_program_reserve(pith_scope *s, pithp_program *p, const pithp_program *like);
void pithp_program_retain(pithp_program *p);
void pithp_program_release(pithp_program *p); /* NULL does nothing */
/* Inputs come before every other value. */
pithp_value pithp_program_input(pith_scope *s, pithp_program *p, const pith_spec *spec);
/* A constant with these elements, which are copied from host memory. */
pithp_value pithp_program_literal(pith_scope *s,
                                  pithp_program *p,
                                  const pith_spec *spec,
                                  const void *elements);
/* A constant whose elements lie in a buffer, which is retained. */
pithp_value pithp_program_constant(pith_scope *s,
                                   pithp_program *p,
                                   const pith_spec *spec,
                                   pithp_buffer *buffer,
                                   const void *data);
/* The result of a primitive; refused as pithp_infer refuses it. site may be NULL. */
pithp_value pithp_program_add(pith_scope *s,
                              pithp_program *p,
                              pithp_primitive primitive,
                              int count,
                              const pithp_value *operands,
                              const void *params,
                              const char *site);
/* An instruction with any number of results. */
typedef struct pithp_new_instruction {
    pithp_primitive primitive;
    int operand_count;
    const pithp_value *operands;
    const void *params;
    int program_count;
    pithp_program *const *programs; /* of the same runtime; they are retained */
    const char *site;               /* may be NULL */
    const pith_spec *spec; /* of its one result, of a call that is known to be right;
                              NULL: it is checked */
} pithp_new_instruction;
/* The first result (the others follow it), or where there are none the value that will be
 * made next. */
pithp_value pithp_program_add_many(pith_scope *s,
                                   pithp_program *p,
                                   const pithp_new_instruction *instruction);
bool pithp_program_output(pith_scope *s, pithp_program *p, pithp_value value);
/* The instructions of another program, whose inputs are values of `to`; sets what its
 * outputs are there. False: error set. */
bool pithp_program_inline(pith_scope *s,
                          pithp_program *to,
                          const pithp_program *from,
                          const pithp_value *inputs,
                          pithp_value *outputs);
/* The other way round: what was added to a program since the walk stood at its end, as a
 * program of its own, whose inputs are values made before that. NULL: it reads others of
 * those, or the error is set. */
pithp_program *pithp_program_extract(pith_scope *s,
                                     pithp_graph_walk since,
                                     int64_t input_count,
                                     const pithp_value *inputs,
                                     int64_t output_count,
                                     const pithp_value *outputs);

/* Whether an instruction must run even if its results are unused: it reports, is not
 * pure, or runs a program in which such a one is. */
bool pithp_has_effects(const pithp_instruction *i);

enum { PITHP_FEW_OPERANDS = 16 };
/* The call that an instruction stands for; specs must have room for its operands. */
pithp_call pithp_instruction_call(const pithp_program *p,
                                  const pithp_instruction *i,
                                  const pith_spec **specs);

/* ---- Looking at programs ---- */

/* Memory of the program, of what it holds and of the programs that it runs. */
size_t pithp_program_bytes(const pithp_program *p);

/* Which outputs depend on the inputs that are marked: their values, and what decides
 * which of them are computed and how often. False: error set. */
bool pithp_program_reach(pith_scope *s,
                         const pithp_program *p,
                         const bool *inputs,
                         bool *outputs);
/* Give every value the marks of those that it depends on: bits, by value; some are set
 * before. False: error set. */
bool pithp_program_follow(pith_scope *s, const pithp_program *p, uint64_t *marks);

/* PITH_OK, or PITH_E_INTERNAL with what is wrong in `why`: operands are made before they
 * are used, specs are what pithp_infer says and interned, parameters are canonical, every
 * number is in range. */
pith_status pithp_program_verify(const pithp_program *p, pithp_refusal *why);
#ifdef PITH_DEBUG
#    define PITHP_VERIFY(p) pithp_program_must_verify(p)
#else
#    define PITHP_VERIFY(p) ((void)0)
#endif
void pithp_program_must_verify(const pithp_program *p); /* asserts it */

/* A line a value:
 *     program(%0: f64[n], ...) {
 *       %1 = constant f64[] 0.5
 *       %2 = mul %0, %1 : f64[3]
 *       return %2
 *     }
 * The programs of an instruction follow it, numbered and indented.
 */
void pithp_program_text(const pithp_program *p, pithp_text *text);

/* Equal: the same inputs, constants (literals by their bits, others the same memory),
 * instructions in the same order with equal programs, and outputs; sites are not looked
 * at. */
uint64_t pithp_program_hash(const pithp_program *p);
bool pithp_program_equal(const pithp_program *a, const pithp_program *b);

#endif
