/* Compiled for this machine with fast arithmetic: it contracts, and exp comes from the C
 * library's vector forms. */
#include "fused.h"

#include <math.h>

#define FUSED(name, expression)                                                          \
    void fused_##name(double *to, const double *from, int64_t n, int threads) {          \
        if (threads == 1) {                                                              \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                        \
                const double x = from[i];                                                \
                to[i] = expression;                                                      \
            }                                                                            \
            return;                                                                      \
        }                                                                                \
        _Pragma("omp parallel for simd num_threads(threads) schedule(static)") for (     \
            int64_t i = 0; i < n; i++) {                                                 \
            const double x = from[i];                                                    \
            to[i] = expression;                                                          \
        }                                                                                \
    }
FUSED(poly, ((((0.5 * x + 1.5) * x - 2.0) * x + 0.25) * x - 1.0) * x + 3.0)
FUSED(where_sqrt, x > 1 ? sqrt(x) : 2 * x)
FUSED(where_exp, x > 1 ? sqrt(x) : exp(x))
