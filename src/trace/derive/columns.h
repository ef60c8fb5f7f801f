/* Linear programs along all unit vectors at once (within src/trace/derive). */
#ifndef PITHP_TRACE_DERIVE_COLUMNS_H
#define PITHP_TRACE_DERIVE_COLUMNS_H

#include "program/ir/program.h"

/* A chunk of columns whose ends and values take about these bytes is one batch. */
enum { PITHP_COLUMNS_BYTES = 256 << 20 };

/* A program that is linear in its last inputs, and how it is repeated. */
typedef struct pithp_columns {
    const pithp_program *each;
    int64_t fixed; /* inputs before those: they are the same for all columns */
    int64_t first; /* outputs before the linear ones: they depend on those alone */
    int64_t count; /* of columns: elements of the last inputs */
} pithp_columns;

/* A program with one reference: fixed inputs -> the first outputs, then the linear ones
 * with an axis of columns in front. Column i belongs to element i of the last inputs.
 * most: columns at a time; 0: as memory allows. NULL: error set. */
pithp_program *pithp_columns_program(pith_scope *s, const pithp_columns *c, int64_t most);

#endif
