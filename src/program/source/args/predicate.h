/* Arguments of predicates of control flow: the branch index, or the loop condition. It is
 * part of generated text, so type names are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_PREDICATE_H
#define PITH_PROGRAM_SOURCE_ARGS_PREDICATE_H

enum { M_DECIDE_TRUTH, M_DECIDE_BELOW, M_DECIDE_CLAMP };

typedef struct m_decide_args {
    const void *value; /* an integer or a bool */
    i64 *to;           /* address of the decision */
    i64 limit;         /* below: 1 if the value is less; clamp: to 0 .. limit - 1 */
    i32 kind;
    i32 size, is_signed; /* of the value: bytes, signedness */
    i32 unused;
} m_decide_args;

#endif
