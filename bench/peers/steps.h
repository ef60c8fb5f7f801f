/* Plain C for the rows of bench_steps.c. */
#ifndef PEERS_STEPS_H
#define PEERS_STEPS_H

#include <stdint.h>

/* What a row works on: f64 a, b [n], i32 index [n], and results that it has already. */
typedef struct {
    const double *a, *b;
    const int32_t *index;
    double *to, *work; /* n, and 4 n */
    int64_t n;
    int64_t side; /* of the square that n is */
} steps_data;

enum { STEPS_TIMES = 1000, STEPS_SMALL = 64, STEPS_ROWS = 16 };

void steps_stencil(const steps_data *d);
void steps_roll(const steps_data *d);
void steps_transposed(const steps_data *d);
void steps_gather(const steps_data *d);
void steps_scatter_add(const steps_data *d);
void steps_sum(const steps_data *d);
void steps_sum_rows(const steps_data *d);
void steps_sum_columns(const steps_data *d);
void steps_softmax(const steps_data *d);
void steps_small_rows(const steps_data *d);
void steps_norms(const steps_data *d);
void steps_sort(const steps_data *d);
void steps_argsort(const steps_data *d);
void steps_matmul(const steps_data *d);

/* STEPS_TIMES iterations each, from `a` on. */
void steps_loop_scan(const steps_data *d);
void steps_loop_while(const steps_data *d);
void steps_loop_madd(const steps_data *d);
void steps_loop_broadcast(const steps_data *d);
void steps_loop_sum(const steps_data *d);
void steps_loop_cond(const steps_data *d);
void steps_loop_take(const steps_data *d);
void steps_loop_row(const steps_data *d);
void steps_loop_scatter(const steps_data *d);
void steps_loop_nested(const steps_data *d);
void steps_loop_check(const steps_data *d);
void steps_loop_draw(const steps_data *d);
void steps_loop_product(const steps_data *d);
void steps_loop_kernel(const steps_data *d);
void steps_loop_sort(const steps_data *d);

#endif
