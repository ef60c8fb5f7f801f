/* What is around a kernel's body: on the host a loop over indices begin..end, on CUDA a
 * thread. The same body in both, after a prologue.
 *
 *     M_KERNEL(name, args_type) { ... *a ... t ... }
 *
 * a points at the launch's arguments, t is the number of the thread. A launch may have a
 * few more threads than it asked for, so a body checks what its t stands for. */
#ifndef PITHP_SHELL_H
#define PITHP_SHELL_H

#ifdef __CUDACC__
#    define M_THREAD_ (blockIdx.x * (i64)blockDim.x + threadIdx.x)
#    define M_BY_VALUE_(kernel, thread, args)                                            \
        extern "C" __global__ void kernel(const __grid_constant__ args a) {              \
            thread(&a, M_THREAD_);                                                       \
        }
#    define M_BY_ADDRESS_(kernel, thread, args)                                          \
        extern "C" __global__ void kernel(const args *__restrict__ a) {                  \
            thread(a, M_THREAD_);                                                        \
        }
#    if defined(M_INDIRECT) /* arguments lie in memory of the device */
#        define M_SHELL_(name, at, thread, args) M_BY_ADDRESS_(name, thread, args)
#    elif defined(M_BOTH) /* name by value, name_at by address */
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
#else
#    ifndef M_LINKAGE /* `static` where the loops are for their own file */
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
#endif

/* A thread does four elements a block's width apart, so that neighbours in a block touch
 * neighbours in memory: element of thread t, number k of its four. */
#define M_BLOCK         256
#define M_EACH          4
#define M_ELEMENT(t, k) ((t) / M_BLOCK * (M_BLOCK * M_EACH) + (t) % M_BLOCK + (k)*M_BLOCK)

#endif
