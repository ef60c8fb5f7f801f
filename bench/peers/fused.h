/* What bench_program.c compiles, as the plainest good C loops, on one thread or more. */
#ifndef BENCH_PEERS_FUSED_H
#define BENCH_PEERS_FUSED_H

#include <stdint.h>

typedef void (*fused_loop)(double *to, const double *x, int64_t n, int threads);

/* a polynomial of degree 5 */
void fused_poly(double *to, const double *x, int64_t n, int threads);
/* where(x > 1, sqrt(x), 2 x) */
void fused_where_sqrt(double *to, const double *x, int64_t n, int threads);
/* where(x > 1, sqrt(x), exp(x)) */
void fused_where_exp(double *to, const double *x, int64_t n, int threads);

#endif
