/* The queues of the fake's streams. Work that is enqueued waits there; what must have run
 * before a call returns runs within that call, and with it perhaps other work, in one of
 * the orders that streams and events leave open. */
#ifndef PITH_TESTS_FAKE_QUEUE_H
#define PITH_TESTS_FAKE_QUEUE_H

#include "fake_cuda.h"

/* call: for messages. */
typedef void (*fake_task)(const char *call, const void *closure);

/* Behind all that the stream has; `bytes` of the closure are copied. */
void fake_queue_add(const char *call,
                    cudaStream_t stream,
                    fake_task task,
                    const void *closure,
                    size_t bytes);
/* The same, or, where the stream is captured, a node of its graph. */
void fake_queue_capture(const char *call,
                        cudaStream_t stream,
                        fake_task task,
                        const void *closure,
                        size_t bytes);
/* Work that goes on by pieces when `ready` says that it can: a piece returns whether it
 * was the last. No thread waits within it, because that thread may have to enqueue what
 * it waits for. */
typedef bool (*fake_ready)(void *closure);
typedef bool (*fake_piece)(const char *call, void *closure);
void fake_queue_add_pieces(const char *call,
                           cudaStream_t stream,
                           fake_piece piece,
                           fake_ready ready,
                           const void *closure,
                           size_t bytes);
bool fake_queue_captures(cudaStream_t stream);
cudaGraph_t fake_queue_graph(cudaStream_t stream);
void *fake_queue_context(cudaStream_t stream);
/* What such work waits for may have come. */
void fake_queue_changed(void);
/* Seconds of a wait for what another thread never enqueues; 0: 120. */
extern int fake_queue_patience;
/* The stream goes on when the other has come to where it is now. */
void fake_queue_wait(const char *call, cudaStream_t stream, cudaStream_t other);
/* Run what was enqueued on the stream, and what that waits for. */
void fake_queue_run(const char *call, cudaStream_t stream);
/* Within a task that takes a while: others may run. */
void fake_queue_between(void);
/* Whether a task that waits or is at work has a closure that fits. */
bool fake_queue_has(fake_task task,
                    fake_piece piece, /* or NULL */
                    bool (*fits)(const void *closure, const void *what),
                    const void *what);
/* All that waits runs. */
void fake_queue_finish(void);
/* All that waits will never run: the device is lost. */
void fake_queue_drop(void);
/* A number below `count`; 0 where all runs at once. */
uint64_t fake_queue_chance(uint64_t count);

/* ---- Graphs (fake_graph.c) ---- */

cudaGraph_t fake_graph_new(void);
/* Append a node of the kind that CUDA gives such work. */
void fake_graph_add_work(const char *call,
                         cudaGraph_t graph,
                         enum cudaGraphNodeType type,
                         fake_task task,
                         const void *closure,
                         size_t bytes);

/* ---- Moves between ranks (fake_nccl_move.c, fake_nccl.c) ---- */

/* Marks nodes of graphs whose closure is a move. */
void fake_nccl_run(const char *call, const void *closure);
/* The graph is launched: its moves are made again. */
void fake_nccl_begin(void *closure);
/* The move has come to its turn: whether all its ranks have, so that it is made. */
bool fake_nccl_meets(void *closure);
/* Ends the program if the stream has a move that its rank has not polled for. */
void fake_nccl_check_behind(const char *call, cudaStream_t stream);
/* The node that holds the communicator is made, by 1, or destroyed, by -1. */
void fake_nccl_hold(const void *closure, int by);

/* ---- Memory (fake_memory.c) ---- */

/* Whether the device, where it is now, has the memory: it was allocated, and not freed.
 * In contrast to fake_cuda_is_device, which is where the host is. */
bool fake_memory_lives(const void *at, size_t bytes);
/* Bytes that pools and plain allocations hold of the device, also for reuse. */
size_t fake_memory_reserved(void);
bool fake_memory_is_pinned(const void *at, size_t bytes);
/* Ends the program if freed memory was written to. */
void fake_memory_check(void);

/* ---- Copies (fake_copy.c) ---- */

/* Whether a copy that waits reads or writes some of the bytes. */
bool fake_copy_needs(const void *at, size_t bytes);

#endif
