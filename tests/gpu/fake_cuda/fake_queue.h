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
/* The stream goes on when the other has come to where it is now. */
void fake_queue_wait(const char *call, cudaStream_t stream, cudaStream_t other);
/* Run what was enqueued on the stream, and what that waits for. */
void fake_queue_run(const char *call, cudaStream_t stream);
/* Within a task that takes a while: others may run. */
void fake_queue_between(void);
/* Whether a task that waits or is at work has a closure that fits. */
bool fake_queue_has(fake_task task,
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
