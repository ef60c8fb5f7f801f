/* Packing of strided views. */
#include "program/host/pack.h"

#include "base/base_internal.h"

#include <string.h>

#define REPEAT(type)                                                                     \
    static void repeat_##type(void *to, const void *from, int64_t stride, int64_t run,   \
                              int64_t n) {                                               \
        type *d = to;                                                                    \
        const type *x = from;                                                            \
        if (stride == 0) {                                                               \
            const type value = *x;                                                       \
            for (int64_t i = 0; i < n; i++)                                              \
                d[i] = value;                                                            \
            return;                                                                      \
        }                                                                                \
        switch (run) {                                                                   \
            case 1:                                                                      \
                for (int64_t i = 0; i < n; i++)                                          \
                    d[i] = x[i * stride];                                                \
                break;                                                                   \
            case 2:                                                                      \
                for (int64_t i = 0; i < n / 2; i++)                                      \
                    d[2 * i] = d[2 * i + 1] = x[i * stride];                             \
                break;                                                                   \
            case 3:                                                                      \
                for (int64_t i = 0; i < n / 3; i++)                                      \
                    d[3 * i] = d[3 * i + 1] = d[3 * i + 2] = x[i * stride];              \
                break;                                                                   \
            case 4:                                                                      \
                for (int64_t i = 0; i < n / 4; i++)                                      \
                    d[4 * i] = d[4 * i + 1] = d[4 * i + 2] = d[4 * i + 3] =              \
                        x[i * stride];                                                   \
                break;                                                                   \
            default:                                                                     \
                for (int64_t i = 0; i < n; x += stride)                                  \
                    for (int64_t j = 0; j < run; j++)                                    \
                        d[i++] = *x;                                                     \
        }                                                                                \
    }
REPEAT(uint8_t)
REPEAT(uint16_t)
REPEAT(uint32_t)
REPEAT(uint64_t)

/* Pack n / run elements, `stride` elements apart, each repeated `run` times. */
static void
repeat(void *to, const void *from, int32_t size, int64_t stride, int64_t run, int64_t n) {
    switch (size) {
        case 1:
            repeat_uint8_t(to, from, stride, run, n);
            break;
        case 2:
            repeat_uint16_t(to, from, stride, run, n);
            break;
        case 4:
            repeat_uint32_t(to, from, stride, run, n);
            break;
        default:
            repeat_uint64_t(to, from, stride, run, n);
    }
}

/* Pack n elements at a distance of `stride`. */
static void gather(void *to, const char *from, int32_t size, int64_t stride, int64_t n) {
    if (stride == 1)
        memcpy(to, from, (size_t)(n * size));
    else
        repeat(to, from, size, stride, 1, n);
}

void pithp_broadcast_strides(int rank,
                             int64_t *stride,
                             int operand_rank,
                             const int64_t *operand_shape) {
    int64_t step = 1;
    for (int d = operand_rank - 1, at = rank - 1; d >= 0; d--, at--) {
        stride[at] = operand_shape[d] == 1 ? 0 : step;
        step *= operand_shape[d];
    }
}

int64_t pithp_period(int rank, const int64_t *shape, const int64_t *stride) {
    int64_t period = 1;
    int d = rank;
    while (d > 0 && stride[d - 1] != 0)
        period *= shape[--d];
    while (d > 0 && stride[d - 1] == 0)
        d--;
    return d == 0 ? period : 0;
}

void pithp_stage_view(char *to,
                      const char *from,
                      int32_t size,
                      int rank,
                      const int64_t *shape,
                      const int64_t *stride,
                      int64_t begin,
                      int64_t n) {
    int64_t index[PITHP_MAX_RANK], rest = begin, at = 0;
    /* few axes: the compiler would unroll the loops for the largest rank */
#pragma GCC unroll 1
    for (int d = rank - 1; d >= 0; d--) {
        index[d] = rest % shape[d];
        rest /= shape[d];
        at += index[d] * stride[d];
    }
    const int last = rank - 1;
    while (n > 0) {
        int64_t run = shape[last] - index[last];
        const int64_t outer = last > 0 ? shape[last - 1] - index[last - 1] : 1;
        int64_t rows = 1;
        if (run == shape[last] && stride[last] == 0 && n >= run && outer > 1) {
            /* whole rows, each one repeated element */
            rows = n / run < outer ? n / run : outer;
            repeat(to, from + at * size, size, stride[last - 1], run, rows * run);
            run *= rows;
        } else {
            run = run < n ? run : n;
            if (stride[last])
                gather(to, from + at * size, size, stride[last], run);
            else
                repeat(to, from + at * size, size, 0, run, run);
        }
        to += run * size;
        n -= run;
        /* advance the index by rows of the innermost dimension */
        at -= index[last] * stride[last];
        index[last] = 0;
#pragma GCC unroll 1
        for (int d = last - 1, by = (int)rows; d >= 0; d--, by = 1) {
            index[d] += by;
            at += by * stride[d];
            if (index[d] < shape[d])
                break;
            at -= index[d] * stride[d];
            index[d] = 0;
        }
    }
}
