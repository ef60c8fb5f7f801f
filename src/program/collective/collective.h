/* Collectives on memory of a device: the same steps for eager calls and for programs.
 *
 * All memory is given by the caller, before the ranks begin: nothing here can fail on one
 * rank alone, so no rank is left waiting. */
#ifndef PITH_PROGRAM_COLLECTIVE_COLLECTIVE_H
#define PITH_PROGRAM_COLLECTIVE_COLLECTIVE_H

#include "mesh/mesh_internal.h"
#include "program/op/rules.h"

/* Memory of a run. */
typedef struct pithp_collective_needs {
    size_t device; /* of the scope's device, aligned to PITHP_ALIGNMENT */
    size_t host;   /* of the host, which need not reach that of the device */
} pithp_collective_needs;

/* result: of a collective with one result; others have several, and need none. most_rows:
 * of psum_rows, the greatest extent of axis 0 over all ranks; 0: they are equal. on_host:
 * the host reaches the memory of the device. */
pithp_collective_needs pithp_collective_measure(const pithp_call *call,
                                                const pith_spec *result,
                                                int64_t most_rows,
                                                bool on_host);

typedef struct pithp_collective_memory {
    const void *const *operands;
    void *const *results; /* they overlap no operand */
    void *device, *host;  /* as measured; NULL where 0 */
} pithp_collective_memory;

/* Run a collective, on every rank of the mesh, within pithp_collective_begin and _end. If
 * it fails, it fails on all ranks, or the engine has failed and the job ends. */
pith_status pithp_collective_run(pith_scope *s,
                                 const pithp_call *call,
                                 const pith_spec *result,
                                 int64_t most_rows,
                                 const pithp_collective_memory *memory);

/* ---- Recording: for graphs of a device ---- */

struct pithp_device_move;

/* Whether a collective of some operands reads nothing on the host, so that its steps can
 * be recorded. */
bool pithp_collective_is_on_device(pithp_primitive primitive, int operands);

typedef struct pithp_collective_recorder {
    const pithp_sink *sink; /* of launches for CUDA */
    pith_status (*transfer)(void *closure,
                            const pithp_mesh_group *group,
                            const struct pithp_device_move *t);
    void *closure;
} pithp_collective_recorder;

pith_status
pithp_record_copy(const pithp_sink *sink, void *to, const void *from, size_t bytes);
/* Pass the steps of a collective to a recorder in place of running them. The group is
 * connected, or has one rank; memory->host is not used. */
pith_status pithp_collective_record(pith_scope *s,
                                    const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_collective_memory *memory,
                                    const pithp_collective_recorder *recorder);

/* A digest of the parameters, equal on all ranks: without the number of this one. */
uint64_t pithp_collective_digest(const pithp_collective_params *params);

#endif
