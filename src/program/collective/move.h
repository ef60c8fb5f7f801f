/* What collectives are made of: temporary memory, calls of other rows on it, and moves
 * between ranks (within src/program/collective).
 *
 * A mover runs the steps of a collective; without a scope it only counts the memory that
 * they need, so that both follow the same code. */
#ifndef PITH_PROGRAM_COLLECTIVE_MOVE_H
#define PITH_PROGRAM_COLLECTIVE_MOVE_H

#include "gpu/communicator.h"
#include "program/collective/collective.h"
#include "program/host/device_target.h"

typedef struct pithp_mover {
    pith_scope *s; /* NULL: memory is counted */
    const pithp_call *call;
    const pithp_collective_params *params;
    pithp_mesh_group *group;
    const pith_spec *result; /* of a collective with one */
    int64_t most_rows;
    bool on_host;  /* the host reaches the memory of the device */
    bool enqueues; /* the device may not be done with what it was given */
    bool direct;   /* devices move data without the host */
    const pithp_collective_memory *memory;
    const pithp_collective_recorder *recorder; /* NULL: steps run */
    pithp_collective_needs used;
    pith_status rc; /* the first failure: later steps do nothing */
} pithp_mover;

static inline bool pithp_mover_runs(const pithp_mover *m) {
    return m->s && m->rc == PITH_OK;
}
static inline const pith_spec *pithp_mover_operand(const pithp_mover *m) {
    return m->call->operands[0];
}
/* Operand and result k; NULL while memory is counted. */
static inline const void *pithp_mover_in(const pithp_mover *m, int k) {
    return m->s ? m->memory->operands[k] : NULL;
}
static inline void *pithp_mover_out(const pithp_mover *m, int k) {
    return m->s ? m->memory->results[k] : NULL;
}

/* Temporary memory; NULL while it is counted. */
void *pithp_mover_take(pithp_mover *m, size_t bytes);
void *pithp_mover_take_host(pithp_mover *m, size_t bytes);

/* A full spec, not interned. */
pith_spec pithp_mover_spec(pith_dtype dtype, int rank, const int64_t *shape);
/* Run a row of one result on the device. */
void pithp_mover_apply(pithp_mover *m,
                       pithp_primitive primitive,
                       int count,
                       const pith_spec *const *specs,
                       const void *const *operands,
                       const void *params,
                       const pith_spec *result,
                       void *to);
/* Launch a kernel of the library on a device that the host does not reach. */
void pithp_mover_launch(pithp_mover *m,
                        pithp_cuda_kernel_id id,
                        const char *name,
                        const void *args,
                        size_t args_bytes,
                        int64_t threads);
void pithp_mover_copy(pithp_mover *m, void *to, const void *from, size_t bytes);
/* n copies of the first `size` bytes of a value (little-endian). */
void pithp_mover_fill(pithp_mover *m, void *to, uint32_t value, size_t size, size_t n);
void pithp_mover_zero(pithp_mover *m, void *to, size_t bytes);
/* x [a, b, rest] as [b, a, rest]: new memory, or that of x if nothing moves. */
const void *pithp_mover_exchange(pithp_mover *m,
                                 const void *x,
                                 pith_dtype dtype,
                                 const int64_t shape[3]);
/* Reduce x [n, count] over axis 0 into `to`. */
void pithp_mover_reduce(pithp_mover *m,
                        pithp_primitive primitive,
                        pith_dtype dtype,
                        int64_t n,
                        int64_t count,
                        const void *x,
                        void *to);
/* Wait for the device, and copy elements to the host. */
void pithp_mover_read(pithp_mover *m, void *host, const void *from, size_t bytes);

/* ---- Memory that engines reach ---- */

/* Device memory seen by the host: itself, or a copy in host memory (staging). */
typedef struct pithp_reach {
    void *device, *host;
    size_t bytes;
} pithp_reach;
/* Wait for the device, and copy to the host what it does not reach. */
pithp_reach pithp_mover_stage(pithp_mover *m, void *device, size_t bytes, bool load);
/* load: with the elements. */
static inline pithp_reach
pithp_mover_reach(pithp_mover *m, const void *device, size_t bytes, bool load) {
    void *const at = (void *)(uintptr_t)device;
    return m->on_host && !m->enqueues ? (pithp_reach){at, at, bytes}
                                      : pithp_mover_stage(m, at, bytes, load);
}
/* What an engine wrote. */
void pithp_mover_store(pithp_mover *m, const pithp_reach *r);

/* ---- Moves between ranks; `bytes` are those of one rank ---- */

/* Between devices. A group of one rank copies. */
void pithp_mover_transfer(pithp_mover *m, const pithp_device_move *t);

/* If a step has failed on this rank alone, the others wait for it: the job ends. */
void pithp_mover_give_up(const pithp_mover *m);

/* Messages to and from other ranks, of memory that the engine reaches: direct, that of
 * the device. Ranks that have none need not call it. */
void pithp_mover_pass(pithp_mover *m, const pithp_exchange *x);

void pithp_mover_gather(pithp_mover *m, const void *from, void *to, size_t bytes);
void pithp_mover_transpose(pithp_mover *m, const void *from, void *to, size_t bytes);

/* ---- Rows in use (in_use.c) ----
 *
 * Of axis 0 of the operand, by a second operand. The others are zeros, which do not
 * travel. A number that the array does not have is the nearest that it has. */

typedef struct pithp_used_rows {
    int64_t extent, own; /* of axis 0; in use on this rank */
    size_t row;          /* bytes */
} pithp_used_rows;

static inline bool pithp_mover_has_rows(const pithp_mover *m) {
    return m->call->operand_count > 1;
}
pithp_used_rows pithp_mover_used_rows(pithp_mover *m);
/* The greatest number of the group. */
int64_t pithp_mover_most_rows(pithp_mover *m, const pithp_used_rows *u);
/* The first `rows` rows: those in use, and zeros. */
const void *pithp_mover_rows(pithp_mover *m, const pithp_used_rows *u, int64_t rows);
/* Rows of an array from `begin` on become zeros. */
void pithp_mover_zero_rows(pithp_mover *m,
                           const pithp_used_rows *u,
                           void *array,
                           int64_t begin);
/* The blocks of the operand [outer, P, inner] go to their ranks: [P, ...] of all ranks,
 * in `to`. */
void *pithp_mover_exchange_rows(pithp_mover *m, const int64_t shape[3], void *to);
/* A permutation. */
void pithp_mover_permute_rows(pithp_mover *m);

/* psum_rows (rows.c). */
void pithp_mover_sum_rows(pithp_mover *m);

/* A halo (halo.c). */
void pithp_mover_halo(pithp_mover *m);

/* Routes of rows (route_make.c, route_move.c). */
void pithp_mover_route_make(pithp_mover *m);
void pithp_mover_route_send(pithp_mover *m);
void pithp_mover_route_return(pithp_mover *m);

#endif
