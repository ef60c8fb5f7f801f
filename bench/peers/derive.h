/* Plain C for the rows of bench_derive.c: values, and values with gradients by hand. */
#ifndef PEERS_DERIVE_H
#define PEERS_DERIVE_H

#include <stdint.h>

enum { DERIVE_CELLS = 10, DERIVE_ATOMS = 4 * DERIVE_CELLS * DERIVE_CELLS * DERIVE_CELLS };
#define DERIVE_BOX    16.795961913825074 /* of density 0.8442 */
#define DERIVE_CUTOFF 2.5
#define DERIVE_REACH  2.8

typedef struct {
    const double *x;     /* n numbers, or the positions of n / 3 atoms */
    double *gradient;    /* n; or NULL: the value alone */
    const int32_t *near; /* [n / 3, width]: an atom of each pair, or the atom itself */
    int64_t n, width;
    double value; /* the result */
} derive_data;

void derive_polynomial(derive_data *d);
void derive_transcendental(derive_data *d);
void derive_lj(derive_data *d);

/* Positions of a face-centred lattice that are moved a little: [DERIVE_ATOMS, 3]. */
void derive_positions(double *x);
/* Full lists of the atoms within DERIVE_REACH, padded with the atom itself, and their
 * width. The caller frees them. */
int32_t *derive_lists(const double *x, int64_t *width);

#endif
