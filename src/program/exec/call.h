/* Eager execution: a single call of an operation, on a scope's stream. */
#ifndef PITH_PROGRAM_EXEC_CALL_H
#define PITH_PROGRAM_EXEC_CALL_H

#include "program/op/prepared.h"
#include "program/op/rules.h"

/* A sink that runs launches on the scope's stream. */
pithp_sink pithp_scope_sink(pith_scope *s);

/* Run a call on the stream of s. */
pith_status pithp_run(pith_scope *s,
                      const pithp_call *call,
                      const pith_spec *result,
                      const pithp_memory *memory);
/* Run a prepared call on the stream of s, which is of the host. */
pith_status
pithp_run_prepared(pith_scope *s, const pithp_prepared *p, const pithp_memory *memory);

#endif
