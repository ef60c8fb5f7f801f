/* Communicators: moves of data between the devices of several processes by a vendor
 * library, opened on first use. A move is plain data: a backend enqueues it on a stream
 * (transfer), or makes it a task of a graph (gpu/graph.h).
 *
 * All ranks of a communicator enqueue the same moves in the same order, all of them on
 * streams or all in graphs. Nothing here compares that: the ranks agree before. */
#ifndef PITH_GPU_COMMUNICATOR_H
#define PITH_GPU_COMMUNICATOR_H

#include "base/parcel.h"
#include "gpu/gpu_internal.h"

enum { PITHP_COMMUNICATOR_ID_BYTES = 128 };

typedef struct pithp_communicator pithp_communicator; /* of the backend */

/* How to open one, on all its ranks at once. */
typedef struct pithp_communicator_start {
    const unsigned char *id; /* from communicator_id of one rank */
    int64_t rank, size;
} pithp_communicator_start;

typedef enum pithp_transfer_kind {
    PITHP_TRANSFER_SUM, /* all ranks: from to `to`, in the library's order */
    PITHP_TRANSFER_MIN,
    PITHP_TRANSFER_MAX,
    PITHP_TRANSFER_GATHER,    /* `to` has the bytes of each rank, in their order */
    PITHP_TRANSFER_BROADCAST, /* of rank `root` */
    PITHP_TRANSFER_TRANSPOSE, /* from, to: bytes for each rank, bytes of each rank */
    PITHP_TRANSFER_PERMUTE,   /* to rank `receiver`, and from rank `sender` */
    PITHP_TRANSFER_MESSAGES, /* `sends` and `receives`; from, to and bytes are not used */
} pithp_transfer_kind;

typedef struct pithp_device_move {
    pithp_transfer_kind kind;
    pith_dtype dtype; /* of reductions */
    const void *from; /* memory of the device; `to` may be the same for reductions and
                         broadcasts */
    void *to;
    size_t bytes;                   /* of one rank, not 0 */
    int64_t root, receiver, sender; /* ranks; -1: none */
    /* To and from other ranks, in memory of the device, none of 0 bytes. Never a task of
     * a graph. */
    const pithp_parcel *sends, *receives;
    int send_count, receive_count;
} pithp_device_move;

/* Bytes of `from` and of `to`, for `size` ranks. */
static inline size_t pithp_transfer_reads(const pithp_device_move *t, int64_t size) {
    return t->kind == PITHP_TRANSFER_TRANSPOSE ? t->bytes * (size_t)size : t->bytes;
}
static inline size_t pithp_transfer_writes(const pithp_device_move *t, int64_t size) {
    return t->kind == PITHP_TRANSFER_TRANSPOSE || t->kind == PITHP_TRANSFER_GATHER
               ? t->bytes * (size_t)size
               : t->bytes;
}

/* Whether reductions have the dtype: integers of 16 bits have none in NCCL, and halves
 * would be summed in their own precision. Bool has no sum. */
static inline bool pithp_transfer_reduces(pithp_transfer_kind kind, pith_dtype dtype) {
    switch (dtype) {
        case PITH_BOOL:
            return kind != PITHP_TRANSFER_SUM;
        case PITH_I8:
        case PITH_U8:
        case PITH_I32:
        case PITH_U32:
        case PITH_I64:
        case PITH_U64:
        case PITH_F32:
        case PITH_F64:
            return true;
        case PITH_I16:
        case PITH_U16:
        case PITH_F16:
        case PITH_BF16:
        case PITH_DTYPE_NONE:
            break;
    }
    return false;
}

#endif
