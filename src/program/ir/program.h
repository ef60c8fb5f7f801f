/* Programs: the intermediate representation of a traced function, in static single
 * assignment form.
 *
 * A program has values, numbered from 0: inputs, constants and results of instructions.
 * Instructions are primitives over earlier values, in an order of execution. Every value
 * has an interned spec. Operands, parameters and nested programs determine the specs of
 * an instruction's results (pithp_infer); the verifier checks them. Most instructions
 * have one result. Control flow and kernels have any number of results, with consecutive
 * numbers.
 *
 * Control flow owns its nested programs (regions). They cannot refer to values of the
 * outer program: the instruction passes them all their inputs.
 *
 * One thread builds a program. A finished program is immutable, and any thread may read
 * it. Passes (program/pass) make new programs. */
#ifndef PITH_PROGRAM_IR_PROGRAM_H
#define PITH_PROGRAM_IR_PROGRAM_H

#include "program/op/call.h"

typedef int32_t pithp_value; /* number in a program; -1: none, and the error is set */

typedef enum pithp_origin {
    PITHP_FROM_INPUT,
    PITHP_FROM_CONSTANT,
    PITHP_FROM_INSTRUCTION,
} pithp_origin;

typedef struct pithp_value_info {
    const pith_spec *spec; /* interned */
    pithp_origin origin;
    int32_t at; /* index among inputs, constants or instructions */
} pithp_value_info;

/* Constants up to this size are literals, held in the program; larger ones keep a buffer.
 */
enum { PITHP_LITERAL_BYTES = 4096 };

typedef struct pithp_constant {
    pithp_value value;
    const void *data;     /* literal: host memory of the program; else a device address */
    pithp_buffer *buffer; /* the buffer of data, with a reference; NULL: a literal */
} pithp_constant;

/* Rematerialisation: what a derivation keeps of an instruction, and whether it is
 * computed again. */
typedef struct pithp_remat {
    int32_t group; /* instructions of which a derivation keeps what they read from others,
                      from 1; 0: no group */
    int32_t call;  /* the innermost call of a compiled function that made it, from 1; 0:
                      none. A hint: instructions of one call may be alike those of others
                      (program/derive/outline.c) */
    uint16_t stage; /* equal calls of different stages are not merged: those that a
                       derivation computes again have one of their own */
    bool kept;      /* a derivation keeps the results, although there is a group */
    bool whole; /* control flow of a group, computed again although it prints or refuses
                   tangents: without that */
} pithp_remat;

typedef struct pithp_instruction {
    pithp_primitive primitive;
    int32_t operand_count;
    int64_t first_operand; /* index among the program's operands */
    const void *params;    /* canonical (pithp_params_copy), of the program; or NULL */
    int32_t result_count;
    pithp_value result; /* the first result; without results, the next value */
    int32_t program_count;
    struct pithp_program *
        *programs;    /* one reference each; the array belongs to the program; or NULL */
    const char *site; /* call site; NULL: unknown */
    pithp_remat remat;
} pithp_instruction;

typedef struct pithp_program {
    atomic_int refs;
    pith_runtime *runtime;
    pithp_value_info *values;
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
    bool has_effects;     /* an instruction must run even if its results are unused */
    bool has_collectives; /* all ranks must run it together */
    bool has_checks;      /* a run makes some, or its caller does of the results */
    bool has_marks;       /* there is an identity mark, */
    bool has_refusals;    /* one that refuses tangents; both with nested programs */
    pithp_remat remat;    /* of the instructions that are added */
    int32_t calls;        /* the greatest call, */
    int32_t groups;       /* the greatest group, and */
    uint16_t stages;      /* the greatest stage, without those of nested programs */
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

/* A walk over inputs, constants and instructions in the order of their creation; it
 * includes instructions without results. */
typedef struct pithp_graph_walk {
    const pithp_program *program;
    int64_t value, instruction; /* the next ones; initialise with {program} */
} pithp_graph_walk;

/* Returns false at the end. *instruction is NULL for an input or constant, the value
 * *value; else *value is the first result. */
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

/* The elements of a literal; NULL for other values. */
static inline const void *pithp_literal_of(const pithp_program *p, pithp_value v) {
    const pithp_value_info *n = &p->values[v];
    return n->origin == PITHP_FROM_CONSTANT && !p->constants[n->at].buffer
               ? p->constants[n->at].data
               : NULL;
}

/* ---- Building: NULL and -1 mean that the scope's error is set ---- */

/* An empty program with one reference. */
pithp_program *pithp_program_make(pith_scope *s);
/* Reserve memory for a program of the size of another. False sets the error. */
bool pithp_program_reserve(pith_scope *s, pithp_program *p, const pithp_program *like);
void pithp_program_retain(pithp_program *p);
void pithp_program_release(pithp_program *p); /* NULL does nothing */
/* Add an input. Inputs come before all other values. */
pithp_value pithp_program_input(pith_scope *s, pithp_program *p, const pith_spec *spec);
/* Add a literal, copying the elements from host memory. */
pithp_value pithp_program_literal(pith_scope *s,
                                  pithp_program *p,
                                  const pith_spec *spec,
                                  const void *elements);
/* Add a constant in a buffer, which is retained. */
pithp_value pithp_program_constant(pith_scope *s,
                                   pithp_program *p,
                                   const pith_spec *spec,
                                   pithp_buffer *buffer,
                                   const void *data);
/* Add an instruction with one result; errors as pithp_infer. site may be NULL. */
pithp_value pithp_program_add(pith_scope *s,
                              pithp_program *p,
                              pithp_primitive primitive,
                              int count,
                              const pithp_value *operands,
                              const void *params,
                              const char *site);
/* A new instruction with any number of results. */
typedef struct pithp_new_instruction {
    pithp_primitive primitive;
    int operand_count;
    const pithp_value *operands;
    const void *params;
    int program_count;
    int max_rank;                   /* of results; 0: PITHP_MAX_RANK */
    pithp_program *const *programs; /* of the same runtime; they are retained */
    const char *site;               /* may be NULL */
    const pith_spec *spec; /* spec of the only result of a call that is known to be valid;
                              NULL: infer and check */
} pithp_new_instruction;
/* Add an instruction. Returns its first result (the others follow), or without results
 * the number of the next value. */
pithp_value pithp_program_add_many(pith_scope *s,
                                   pithp_program *p,
                                   const pithp_new_instruction *instruction);
bool pithp_program_output(pith_scope *s, pithp_program *p, pithp_value value);
/* Where groups and calls of another program begin: its group 1 becomes group + 1. */
typedef struct pithp_taken {
    int32_t group, call;
} pithp_taken;
/* Take over groups, calls and stages of another program. */
pithp_taken pithp_program_take_groups(pithp_program *to, const pithp_program *from);
/* The remat of an instruction that is taken over: a group around it wins, and the inner
 * call. */
static inline pithp_remat
pithp_remat_within(pithp_remat around, pithp_taken first, pithp_remat inner) {
    if (inner.group)
        inner.group += first.group;
    inner.call = !inner.call                           ? around.call
                 : inner.call > INT32_MAX - first.call ? INT32_MAX
                                                       : inner.call + first.call;
    if (around.group) {
        inner.group = around.group;
        inner.kept = false;
    }
    if (around.stage > inner.stage)
        inner.stage = around.stage;
    return inner;
}
/* Add a copy of an instruction whose operands have names or, if it is NULL, of the
 * constant v. Sets the names of its results. False sets the error. */
bool pithp_program_copy(pith_scope *s,
                        pithp_program *to,
                        const pithp_program *from,
                        pithp_value v,
                        const pithp_instruction *i,
                        pithp_value *names);
/* Inlining: add the instructions of another program, with values of `to` as its inputs.
 * Sets `outputs` to the values of its outputs. False sets the error. */
bool pithp_program_inline(pith_scope *s,
                          pithp_program *to,
                          const pithp_program *from,
                          const pithp_value *inputs,
                          pithp_value *outputs);
/* The same for a program whose first groups are groups of `to`. */
bool pithp_program_inline_groups(pith_scope *s,
                                 pithp_program *to,
                                 const pithp_program *from,
                                 int32_t group_count,
                                 const int32_t *groups,
                                 const pithp_value *inputs,
                                 pithp_value *outputs);
/* Outlining: make a program of the instructions added since `since`, with earlier values
 * as inputs. NULL: they read other earlier
 * values, or the error is set. */
pithp_program *pithp_program_extract(pith_scope *s,
                                     pithp_graph_walk since,
                                     int64_t input_count,
                                     const pithp_value *inputs,
                                     int64_t output_count,
                                     const pithp_value *outputs);

/* Whether an instruction must run even if its results are unused: it reports, is impure,
 * or has a nested program with such an instruction. */
bool pithp_has_effects(const pithp_instruction *i);
/* Whether an instruction is an identity mark or has one in a nested program; or one that
 * refuses tangents, which stays for derivations even if its result is unused. */
/* Whether an instruction is a collective or has one in a nested program: all ranks run it
 * together. */
bool pithp_has_collectives(const pithp_instruction *i);
/* Whether an instruction makes a check, or has one in a nested program that does. */
bool pithp_has_checks(const pithp_instruction *i);
bool pithp_has_marks(const pithp_instruction *i);
bool pithp_has_refusals(const pithp_instruction *i);

enum { PITHP_FEW_OPERANDS = PITHP_MAX_RANK + 2 }; /* a scatter along all axes */
/* The call of an instruction; specs must hold its operands. */
pithp_call pithp_instruction_call(const pithp_program *p,
                                  const pithp_instruction *i,
                                  const pith_spec **specs);

/* ---- Analysis ---- */

/* Bytes of a program, its constants and nested programs. */
size_t pithp_program_bytes(const pithp_program *p);

/* Dependence: outputs that depend on marked inputs, by value or by control (whether and
 * how often they are computed). False sets the error. */
bool pithp_program_reach(pith_scope *s,
                         const pithp_program *p,
                         const bool *inputs,
                         bool *outputs);
/* Dataflow: propagate marks (bits of each value, some set by the caller) to all dependent
 * values. False sets the error. */
bool pithp_program_follow(pith_scope *s, const pithp_program *p, uint64_t *marks);

/* Verifier: PITH_OK, or PITH_E_INTERNAL with the reason in `why`. Operands precede their
 * uses, specs are interned and those of pithp_infer, parameters are canonical, and all
 * numbers are in range. */
pith_status pithp_program_verify(const pithp_program *p, pithp_refusal *why);
#ifdef PITH_DEBUG
#    define PITHP_VERIFY(p) pithp_program_must_verify(p)
#else
#    define PITHP_VERIFY(p) ((void)0)
#endif
void pithp_program_must_verify(const pithp_program *p); /* asserts pithp_program_verify */

/* Text of a program, one line for each value:
 *     program(%0: f64[n], ...) {
 *       %1 = constant f64[] 0.5
 *       %2 = mul %0, %1 : f64[3]
 *       return %2
 *     }
 * The nested programs of an instruction follow it, numbered and indented.
 */
void pithp_program_text(const pithp_program *p, pithp_string *text);

/* Equality of inputs, constants (literals by their bits, others by address), instructions
 * in order with their nested programs, and outputs. Call sites are ignored. */
uint64_t pithp_program_hash(const pithp_program *p);
bool pithp_program_equal(const pithp_program *a, const pithp_program *b);
/* Hash the results of instructions from number `first` on, and constants, as expressions
 * of the values before, whose hashes are set. Equal expressions have equal hashes, in
 * different programs too. False sets the error. */
bool pithp_program_expressions(pith_scope *s,
                               const pithp_program *p,
                               int64_t first,
                               uint64_t *hashes);

/* ---- Ranks of a mesh (digest.c) ---- */

/* A digest of the content, equal on all ranks that have the same program: of specs,
 * primitives, parameters, literals and elements of constants, without addresses and call
 * sites. Waits for the constants on the stream of s. 0 sets the error. */
uint64_t pithp_program_digest(pith_scope *s, const pithp_program *p);
/* Its parts, for messages of ranks that differ: inputs, constants, instructions and
 * outputs, with those of nested programs. closure: a pithp_parts. */
struct pithp_intent_part;
typedef struct pithp_parts {
    pith_scope *s;
    const pithp_program *p;
} pithp_parts;
int64_t pithp_program_parts(const void *closure);
void pithp_program_part(const void *closure, int64_t k, struct pithp_intent_part *part);

#endif
