/* Plain C for the rows of bench_vmap.c. */
#ifndef PEERS_VMAP_H
#define PEERS_VMAP_H

#include <stdint.h>

#define VMAP_FACTOR 0.999
#define VMAP_TERM   0.001
#define VMAP_END    20.0

/* The arrays of a row, of n elements. */
typedef struct {
    int64_t n, width; /* width: elements of an entry */
    const double *x, *scale, *mu;
    const int64_t *left;
    double *to;
} vmap_data;

void vmap_chain(const vmap_data *d);
void vmap_count(const vmap_data *d);
/* to: x at VMAP_END, from x = v = 1 and steps of 0.01 */
void vmap_oscillators(const vmap_data *d);
void vmap_oscillators_lanes(const vmap_data *d);

#endif
