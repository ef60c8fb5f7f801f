/* Kernel shells: the code around a kernel's body. On the host it is a loop over indices
 * begin..end, on CUDA one thread. The body is the same; it needs a prologue.
 *
 *   M_KERNEL(name, args_type) { ... *a ... t ... }
 *
 * a points to the launch's arguments, t is the number of the thread. A launch may have a
 * few more threads than requested, so a body checks its t.
 *
 *   M_BLOCK_KERNEL(name, args_type, shared_type, own_type, steps) {
 *       ... *a ... t ... *shared ... *own ... step ...
 *   }
 *
 * is a kernel of cooperating threads, M_BLOCK at a time. The body runs once per step,
 * from 0 to steps - 1, with a barrier between steps. A step may read values of other
 * threads of the block, in *shared or in memory, only if they were written in earlier
 * steps. *own has the same lifetime and belongs to the thread. steps is an expression of
 * a. On the host the threads of a block run one after the other, forwards or backwards.
 * Uninitialised memory has all bits set, so that its use gives NaN. */
#ifndef PITH_PROGRAM_SOURCE_SHELL_H
#define PITH_PROGRAM_SOURCE_SHELL_H

/* Redefined around a kernel: M_RESIDENT(n) bounds its registers so that a multiprocessor
 * has room for n blocks of threads. */
#define M_BOUNDS

#ifdef __CUDACC__
#    define M_RESIDENT(n) __launch_bounds__(M_BLOCK, n)
#    define M_THREAD_     (blockIdx.x * (i64)blockDim.x + threadIdx.x)
#    define M_BY_VALUE_(kernel, thread, args)                                            \
        extern "C" __global__ void M_BOUNDS kernel(const __grid_constant__ args a) {     \
            thread(&a, M_THREAD_);                                                       \
        }
#    define M_BY_ADDRESS_(kernel, thread, args)                                          \
        extern "C" __global__ void M_BOUNDS kernel(const args *__restrict__ a) {         \
            thread(a, M_THREAD_);                                                        \
        }
#    if defined(M_INDIRECT) /* arguments in device memory */
#        define M_SHELL_(name, at, thread, args) M_BY_ADDRESS_(name, thread, args)
#    elif defined(M_BY_BOTH) /* name: by value; name_at: by address */
#        define M_SHELL_(name, at, thread, args)                                         \
            M_BY_VALUE_(name, thread, args)                                              \
            M_BY_ADDRESS_(at, thread, args)
#    else
#        define M_SHELL_(name, at, thread, args) M_BY_VALUE_(name, thread, args)
#    endif
#    define M_KERNEL(name, args)                                                         \
        M_FN void name##_thread(const args *a, i64 t);                                   \
        M_SHELL_(name, name##_at, name##_thread, args)                                   \
        M_FN void name##_thread(const args *a, i64 t)
#    define M_BLOCK_KERNEL(name, args, shared_type, own_type, steps)                     \
        M_FN void name##_step(const args *a, i64 t, shared_type *shared, own_type *own,  \
                              i32 step);                                                 \
        M_FN void name##_thread(const args *a, i64 t) {                                  \
            __shared__ shared_type shared;                                               \
            own_type own;                                                                \
            const i32 count = (steps);                                                   \
            for (i32 step = 0; step < count; step++) {                                   \
                if (step > 0)                                                            \
                    __syncthreads();                                                     \
                name##_step(a, t, &shared, &own, step);                                  \
            }                                                                            \
        }                                                                                \
        M_SHELL_(name, name##_at, name##_thread, args)                                   \
        M_FN void name##_step(const args *a, i64 t, shared_type *shared, own_type *own,  \
                              i32 step)
#    define M_UNROLL _Pragma("unroll")
#else
#    ifndef M_LINKAGE /* `static` if the loops are local to the file */
#        define M_LINKAGE
#    endif
#    define M_KERNEL(name, args)                                                         \
        M_FN void name##_thread(const args *a, i64 t);                                   \
        M_LINKAGE void name(const void *p, i64 begin, i64 end);                          \
        M_LINKAGE void name(const void *p, i64 begin, i64 end) {                         \
            for (i64 t = begin; t < end; t++)                                            \
                name##_thread((const args *)p, t);                                       \
        }                                                                                \
        M_FN void name##_thread(const args *a, i64 t)
/* A block runs in the range that has its first thread. */
#    define M_BLOCK_KERNEL(name, args, shared_type, own_type, steps)                     \
        M_FN void name##_step(const args *a, i64 t, shared_type *shared, own_type *own,  \
                              i32 step);                                                 \
        M_LINKAGE void name(const void *p, i64 begin, i64 end);                          \
        M_LINKAGE void name(const void *p, i64 begin, i64 end) {                         \
            const args *const a = (const args *)p;                                       \
            shared_type shared;                                                          \
            own_type own[M_BLOCK];                                                       \
            for (i64 first = (begin + M_BLOCK - 1) / M_BLOCK * M_BLOCK; first < end;     \
                 first += M_BLOCK) {                                                     \
                const i32 count = (steps), last = first & M_BLOCK ? M_BLOCK - 1 : 0;     \
                M_SPOIL_(shared)                                                         \
                M_SPOIL_(own)                                                            \
                for (i32 step = 0; step < count; step++)                                 \
                    for (i32 k = 0; k < M_BLOCK; k++)                                    \
                        name##_step(a, first + (k ^ last), &shared, &own[k ^ last],      \
                                    step);                                               \
            }                                                                            \
        }                                                                                \
        M_FN void name##_step(const args *a, i64 t, shared_type *shared, own_type *own,  \
                              i32 step)
#    define M_SPOIL_(x)                                                                  \
        for (i64 k = 0; k < (i64)sizeof x; k++)                                          \
            ((unsigned char *)&x)[k] = 0xFF;
#    define M_UNROLL
#endif

/* State of a thread without values of its own. */
typedef struct m_none {
    char unused;
} m_none;

/* A thread processes four elements at a stride of the block's width, so that neighbouring
 * threads access neighbours in memory. k is the number of the element among the four.
 * Kernels that load all four before the first store reload the last of `count` for
 * elements beyond it. */
#define M_BLOCK         256
#define M_EACH          4
#define M_ELEMENT(t, k) ((t) / M_BLOCK * (M_BLOCK * M_EACH) + (t) % M_BLOCK + (k)*M_BLOCK)
#define M_ELEMENT_WITHIN(t, k, count)                                                    \
    (M_ELEMENT(t, k) < (count) ? M_ELEMENT(t, k) : (count)-1)

#endif
