/* Compiled for this machine with fast arithmetic, so that sums vectorise. */
#include "derive.h"

#include <math.h>
#include <stdlib.h>

void derive_polynomial(derive_data *d) {
    double sum = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const double x = d->x[i];
        sum += ((((0.5 * x + 1.5) * x - 2) * x + 0.25) * x - 1) * x + 3;
        if (d->gradient)
            d->gradient[i] = (((2.5 * x + 6) * x - 6) * x + 0.5) * x - 1;
    }
    d->value = sum;
}

/* sqrt(exp(sin(x)) + 1). The cosines have a loop of their own: the compiler makes one
 * call of the sine and the cosine of a number, which has no vector form. */
void derive_transcendental(derive_data *d) {
    enum { BLOCK = 512 };
    double sum = 0;
    for (int64_t from = 0; from < d->n; from += BLOCK) {
        const double *x = d->x + from;
        const int64_t n = d->n - from < BLOCK ? d->n - from : BLOCK;
        double slope[BLOCK];
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            const double e = exp(sin(x[i])), root = sqrt(e + 1);
            sum += root;
            slope[i] = 0.5 / root * e;
        }
#pragma omp simd
        for (int64_t i = 0; i < (d->gradient ? n : 0); i++)
            d->gradient[from + i] = slope[i] * cos(x[i]);
    }
    d->value = sum;
}

void derive_lj(derive_data *d) {
    const double box = DERIVE_BOX, inverse = 1 / box, cutoff = DERIVE_CUTOFF;
    double total = 0;
    for (int64_t i = 0; i < d->n / 3; i++) {
        const int32_t *near = d->near + i * d->width;
        const double x = d->x[3 * i], y = d->x[3 * i + 1], z = d->x[3 * i + 2];
        double energy = 0, fx = 0, fy = 0, fz = 0;
#pragma omp simd reduction(+ : energy, fx, fy, fz)
        for (int64_t k = 0; k < d->width; k++) {
            const double *o = d->x + 3 * (int64_t)near[k];
            double a = x - o[0], b = y - o[1], c = z - o[2];
            a -= box * rint(a * inverse);
            b -= box * rint(b * inverse);
            c -= box * rint(c * inverse);
            const double r2 = a * a + b * b + c * c;
            const double in = r2 > 0 && r2 < cutoff * cutoff ? 1 : 0;
            const double over = in / (r2 + (1 - in)), six = over * over * over;
            energy += 4 * six * (six - in);
            const double slope = over * six * (24 * in - 48 * six);
            fx += slope * a;
            fy += slope * b;
            fz += slope * c;
        }
        total += energy;
        if (d->gradient) { /* each pair is in both lists */
            d->gradient[3 * i] = fx;
            d->gradient[3 * i + 1] = fy;
            d->gradient[3 * i + 2] = fz;
        }
    }
    d->value = 0.5 * total;
}

void derive_positions(double *x) {
    static const double basis[4][3] = {
        {0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    const double constant = DERIVE_BOX / DERIVE_CELLS;
    for (int64_t i = 0; i < DERIVE_ATOMS; i++) {
        const int64_t cell = i / 4;
        const int64_t at[3] = {cell % DERIVE_CELLS, cell / DERIVE_CELLS % DERIVE_CELLS,
                               cell / DERIVE_CELLS / DERIVE_CELLS};
        for (int64_t a = 0; a < 3; a++) {
            const double moved = (double)((i * 7919 + a * 104729) % 4096) / 4096 - 0.5;
            x[3 * i + a] = ((double)at[a] + basis[i % 4][a]) * constant + 0.1 * moved;
        }
    }
}

static int close_by(const double *a, const double *b) {
    double r2 = 0;
    for (int k = 0; k < 3; k++) {
        const double apart = a[k] - b[k] - DERIVE_BOX * rint((a[k] - b[k]) / DERIVE_BOX);
        r2 += apart * apart;
    }
    return r2 < DERIVE_REACH * DERIVE_REACH;
}

int32_t *derive_lists(const double *x, int64_t *width) {
    const int64_t n = DERIVE_ATOMS, most = 128;
    int32_t *all = malloc((size_t)(n * most) * sizeof *all);
    *width = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = 0;
        for (int64_t j = 0; j < n; j++)
            if (j != i && close_by(x + 3 * i, x + 3 * j))
                all[i * most + count++] = (int32_t)j;
        *width = count > *width ? count : *width;
        for (; count < most; count++)
            all[i * most + count] = (int32_t)i;
    }
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = 0; k < *width; k++)
            all[i * *width + k] = all[i * most + k];
    return all;
}
