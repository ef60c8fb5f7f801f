/* Late errors: of a rank that is in a program with collectives, where the others count on
 * it. Memory for its checks may be short, or a check may have failed; the data are right
 * nevertheless, so the rank runs the program to its end, and fails there. */
#ifndef PITH_PROGRAM_EXEC_LATE_H
#define PITH_PROGRAM_EXEC_LATE_H

#include "gpu/gpu_internal.h"

typedef struct pithp_late {
    bool set;
    pithp_error error; /* the first one */
    pith_report spare; /* of checks that have no memory; not read */
    struct pithp_late *outer;
} pithp_late;

/* From here on this thread goes on. */
void pithp_late_begin(pithp_late *late);
/* Its first error becomes that of the scope, unless it has one. */
void pithp_late_end(pithp_late *late, pith_scope *s);
/* Put the error of the scope aside. False: this thread need not go on. */
bool pithp_late_take(pith_scope *s);
/* The same; a report for a check that has none, which runs at once. NULL: none. */
pith_report *pithp_late_report(pith_scope *s);

#endif
