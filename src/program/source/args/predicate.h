/* Arguments of what decides a branch or whether a loop goes on. Part of texts, so the
 * names of types are those of the prologues. */
#ifndef PITH_PROGRAM_SOURCE_ARGS_PREDICATE_H
#define PITH_PROGRAM_SOURCE_ARGS_PREDICATE_H

enum { M_DECIDE_TRUTH, M_DECIDE_BELOW, M_DECIDE_CLAMP };

typedef struct m_decide_args {
    const void *value; /* an integer or a bool */
    i64 *to;           /* where the decision goes */
    i64 limit;         /* below: 1 where the value is less; clamp: 0 to one less */
    i32 kind;
    i32 size, is_signed; /* of the value, in bytes */
    i32 unused;
} m_decide_args;

#endif
