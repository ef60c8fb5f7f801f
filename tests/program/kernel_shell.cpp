// The CUDA shells of kernels, run by the host thread by thread, as NVRTC would compile
// them: with their own integer types.
extern "C" {
double sqrt(double), fabs(double), floor(double), ceil(double), trunc(double),
    rint(double), exp(double), log(double), sin(double), cos(double), pow(double, double),
    fma(double, double, double);
}

#define __CUDACC_RTC__
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__

static thread_local struct { unsigned x; } blockIdx, blockDim, threadIdx;

#define ATOMICS(type)                                                                    \
    static inline type atomicAdd(type *p, type v) {                                      \
        const type old = *p;                                                             \
        *p = old + v;                                                                    \
        return old;                                                                      \
    }                                                                                    \
    static inline type atomicMax(type *p, type v) {                                      \
        const type old = *p;                                                             \
        *p = v > old ? v : old;                                                          \
        return old;                                                                      \
    }                                                                                    \
    static inline type atomicMin(type *p, type v) {                                      \
        const type old = *p;                                                             \
        *p = v < old ? v : old;                                                          \
        return old;                                                                      \
    }
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(long long)
ATOMICS(unsigned long long)

static inline unsigned __float_as_uint(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float __uint_as_float(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

#define PITH_KERNEL_REAL f64
#include "random_kernels.h"

#define SHELL(name)                                                                      \
    extern "C" void name##_shell(const void *args, long long threads, int by_address) {  \
        const name##_args *given = (const name##_args *)args;                            \
        blockDim.x = 64;                                                                 \
        for (long long at = 0; at < threads; at++) {                                     \
            blockIdx.x = (unsigned)(at / 64);                                            \
            threadIdx.x = (unsigned)(at % 64);                                           \
            if (by_address)                                                              \
                name##_f64_cuda_at(given);                                               \
            else                                                                         \
                name##_f64_cuda(*given);                                                 \
        }                                                                                \
    }
SHELL(random_grow)
SHELL(random_below)
SHELL(random_pairs)
SHELL(random_count)
