/* Compiled for this machine with fast arithmetic, so that sums vectorise. */
#include "steps.h"

#include "order.h"

#include <math.h>
#include <string.h>

#define BARRIER(p) __asm__ volatile("" : : "r"(p) : "memory")

void steps_stencil(const steps_data *d) {
    const int64_t n = d->side;
    const double *a = d->a;
    for (int64_t i = 1; i < n - 1; i++) {
        double *to = d->to + (i - 1) * (n - 2) - 1;
        for (int64_t j = 1; j < n - 1; j++)
            to[j] =
                0.5 * a[i * n + j] +
                0.125 * (((a[(i - 1) * n + j] + a[(i + 1) * n + j]) + a[i * n + j - 1]) +
                         a[i * n + j + 1]);
    }
}

/* Periodic: the ends of rows apart. */
void steps_roll(const steps_data *d) {
    const int64_t n = d->side;
    for (int64_t i = 0; i < n; i++) {
        const double *a = d->a + i * n, *up = d->a + (i ? i - 1 : n - 1) * n,
                     *down = d->a + (i < n - 1 ? i + 1 : 0) * n;
        double *to = d->to + i * n;
        for (int64_t j = 1; j < n - 1; j++)
            to[j] = 0.5 * a[j] + 0.125 * (((up[j] + down[j]) + a[j - 1]) + a[j + 1]);
        to[0] = 0.5 * a[0] + 0.125 * (((up[0] + down[0]) + a[n - 1]) + a[1]);
        to[n - 1] =
            0.5 * a[n - 1] + 0.125 * (((up[n - 1] + down[n - 1]) + a[n - 2]) + a[0]);
    }
}

/* a + b^T, in tiles */
void steps_transposed(const steps_data *d) {
    enum { TILE = 16 };
    const int64_t n = d->side;
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t j = 0; j < n; j += TILE)
            for (int64_t x = i; x < i + TILE && x < n; x++)
                for (int64_t y = j; y < j + TILE && y < n; y++)
                    d->to[x * n + y] = d->a[x * n + y] + d->b[y * n + x];
}

void steps_gather(const steps_data *d) {
    for (int64_t i = 0; i < d->n; i++)
        d->to[i] = d->a[d->index[i]] * d->b[i] + 1;
}

void steps_scatter_add(const steps_data *d) {
    memset(d->to, 0, (size_t)(d->n / 10) * sizeof *d->to);
    for (int64_t i = 0; i < d->n; i++)
        d->to[d->index[i]] += d->a[i] * d->b[i];
}

void steps_sum(const steps_data *d) {
    double sum = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const double x = d->a[i] * d->b[i] + 1;
        sum += x * x;
    }
    d->to[0] = sum;
}

void steps_sum_rows(const steps_data *d) {
    const int64_t n = d->side;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            const double x = d->a[i * n + j] * d->b[i * n + j] + 1;
            sum += x * x;
        }
        d->to[i] = sum;
    }
}

void steps_sum_columns(const steps_data *d) {
    const int64_t n = d->side;
    memset(d->to, 0, (size_t)n * sizeof *d->to);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double x = d->a[i * n + j] * d->b[i * n + j] + 1;
            d->to[j] += x * x;
        }
}

void steps_softmax(const steps_data *d) {
    const int64_t n = d->side;
    for (int64_t i = 0; i < n; i++) {
        const double *a = d->a + i * n;
        double *to = d->to + i * n, most = a[0], sum = 0;
        for (int64_t j = 0; j < n; j++)
            most = a[j] > most ? a[j] : most;
        for (int64_t j = 0; j < n; j++) {
            to[j] = exp(a[j] - most);
            sum += to[j];
        }
        for (int64_t j = 0; j < n; j++)
            to[j] /= sum;
    }
}

/* [n / 3, 3] by [n / 3, 1] and [3] */
void steps_small_rows(const steps_data *d) {
    for (int64_t i = 0; i < d->n / 3; i++)
        for (int64_t j = 0; j < 3; j++)
            d->to[i * 3 + j] = d->a[i * 3 + j] * d->b[i] + d->b[j];
}

/* sqrt of the sum over 3 of squares of a - b */
void steps_norms(const steps_data *d) {
    for (int64_t i = 0; i < d->n / 3; i++) {
        double sum = 0;
        for (int64_t j = 0; j < 3; j++) {
            const double x = d->a[i * 3 + j] - d->b[i * 3 + j];
            sum += x * x;
        }
        d->to[i] = sqrt(sum);
    }
}

/* ---- Loops ---- */

static void mix(const steps_data *d) {
    for (int64_t i = 0; i < d->n; i++)
        d->to[i] = d->a[i] * d->index[i] + d->b[i];
}

void steps_sort(const steps_data *d) {
    mix(d);
    sort_f64(d->to, d->to, d->n, d->work);
    for (int64_t i = 0; i < d->n; i++)
        d->to[i] *= 2;
}

void steps_argsort(const steps_data *d) {
    mix(d);
    int64_t *to = (void *)d->to;
    argsort_f64(to, d->to, d->n, d->work);
    for (int64_t i = 0; i < d->n; i++)
        to[i] += 1;
}

/* Four rows at a time, over tiles of b that stay in the first cache. */
void steps_matmul(const steps_data *d) {
    enum { DEEP = 32, WIDE = 128 };
    const int64_t n = d->side;
    memset(d->to, 0, (size_t)d->n * sizeof *d->to);
    for (int64_t k0 = 0; k0 < n; k0 += DEEP)
        for (int64_t j0 = 0; j0 < n; j0 += WIDE)
            for (int64_t i = 0; i < n; i += 4)
                for (int64_t k = k0; k < k0 + DEEP; k++) {
                    const double *a = d->a + i * n + k;
                    const double x[4] = {a[0], a[n], a[2 * n], a[3 * n]};
                    const double *restrict b = d->b + k * n + j0;
                    double *restrict to = d->to + i * n + j0;
                    for (int64_t j = 0; j < WIDE; j++) {
                        to[j] += x[0] * b[j];
                        to[n + j] += x[1] * b[j];
                        to[2 * n + j] += x[2] * b[j];
                        to[3 * n + j] += x[3] * b[j];
                    }
                }
    for (int64_t i = 0; i < d->n; i++)
        d->to[i] = d->to[i] > 128 ? d->to[i] - 128 : 0;
}

void steps_loop_scan(const steps_data *d) {
    double c = 0;
    for (int t = 0; t < STEPS_TIMES; t++) {
        c = c * 0.999 + d->a[t];
        d->to[t] = c;
    }
}

void steps_loop_while(const steps_data *d) {
    double x = d->a[0];
    for (int64_t i = 0; i < STEPS_TIMES; i++)
        x = 0.5 * (x + 2 / x);
    d->to[0] = x;
}

void steps_loop_madd(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int j = 0; j < STEPS_SMALL; j++)
            v[j] = v[j] * 0.999 + d->b[j];
        BARRIER(v);
    }
}

void steps_loop_broadcast(const steps_data *d) {
    double *m = d->to;
    memcpy(m, d->a, 3 * STEPS_ROWS * sizeof *m);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int i = 0; i < STEPS_ROWS; i++)
            for (int j = 0; j < 3; j++)
                m[i * 3 + j] = m[i * 3 + j] * d->b[i] + d->b[j];
        BARRIER(m);
    }
}

void steps_loop_sum(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        double sum = 0;
        for (int j = 0; j < STEPS_SMALL; j++)
            sum += v[j] * v[j];
        const double by = 1 / (1 + 1e-6 * sum);
        for (int j = 0; j < STEPS_SMALL; j++)
            v[j] *= by;
        BARRIER(v);
    }
}

void steps_loop_cond(const steps_data *d) {
    double x = d->a[0];
    for (int t = 0; t < STEPS_TIMES; t++) {
        if (x > 0.5)
            x = x * 0.5;
        else
            x = x * x + 1;
        BARRIER(&x);
    }
    d->to[0] = x;
}

void steps_loop_take(const steps_data *d) {
    double *v = d->to, *next = d->work;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int j = 0; j < STEPS_SMALL; j++)
            next[j] = v[d->index[j] & (STEPS_SMALL - 1)] * 0.5 + 1;
        double *free = v;
        v = next;
        next = free;
        BARRIER(v);
    }
}

/* the sum of the rows [STEPS_SMALL] of a table, looked up one by one */
void steps_loop_row(const steps_data *d) {
    double *v = d->to;
    memset(v, 0, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int j = 0; j < STEPS_SMALL; j++)
            v[j] += d->a[t * STEPS_SMALL + j];
        BARRIER(v);
    }
}

void steps_loop_scatter(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int j = 0; j < STEPS_ROWS; j++)
            v[d->index[j] & (STEPS_SMALL - 1)] += d->b[j];
        BARRIER(v);
    }
}

void steps_loop_nested(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_ROWS * sizeof *v);
    for (int t = 0; t < STEPS_TIMES / 10; t++) {
        for (int k = 0; k < 10; k++) {
            for (int j = 0; j < STEPS_ROWS; j++)
                v[j] = v[j] * 0.999 + d->b[j];
            BARRIER(v);
        }
        for (int j = 0; j < STEPS_ROWS; j++)
            v[j] = v[j] + 1;
    }
}

/* A flag for all elements, and of the first iteration that fails the greatest. */
void steps_loop_check(const steps_data *d) {
    double *v = d->to, worst = 0;
    int failed = 0;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        double most = -INFINITY;
        int fine = 1;
        for (int j = 0; j < STEPS_SMALL; j++) {
            v[j] = v[j] * 0.999 + d->b[j];
            fine &= v[j] < 1e6;
            most = v[j] > most ? v[j] : most;
        }
        if (!fine && !failed) {
            failed = 1;
            worst = most;
        }
        BARRIER(v);
    }
    d->work[0] = worst;
}

/* Threefry-2x32, 20 rounds */
static inline void threefry(uint32_t k0, uint32_t k1, uint32_t *a, uint32_t *b) {
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
    uint32_t x = *a + keys[0], y = *b + keys[1];
    for (int five = 0; five < 5; five++) {
        for (int r = 0; r < 4; r++) {
            const int by = rotations[five % 2][r];
            x += y;
            y = (y << by | y >> (32 - by)) ^ x;
        }
        x += keys[(five + 1) % 3];
        y += keys[(five + 2) % 3] + (uint32_t)five + 1;
    }
    *a = x;
    *b = y;
}

/* Numbers in [-1, 1) of a key of each iteration. */
void steps_loop_draw(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        uint32_t k0 = 0, k1 = (uint32_t)t;
        threefry(0, 1, &k0, &k1);
        for (int j = 0; j < STEPS_SMALL; j++) {
            uint32_t high = 0, low = (uint32_t)j;
            threefry(k0, k1, &high, &low);
            const uint64_t bits = (uint64_t)high << 32 | low;
            v[j] = v[j] * 0.999 + ((double)(bits >> 12) * 0x1p-52 * 2 - 1);
        }
        BARRIER(v);
    }
}

void steps_loop_product(const steps_data *d) {
    double *v = d->to, *next = d->work;
    memcpy(v, d->a, STEPS_ROWS * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int i = 0; i < STEPS_ROWS; i++) {
            double sum = 0;
            for (int j = 0; j < STEPS_ROWS; j++)
                sum += d->b[i * STEPS_ROWS + j] * v[j];
            next[i] = sum * 0.05 + 1;
        }
        double *free = v;
        v = next;
        next = free;
        BARRIER(v);
    }
}

void steps_loop_kernel(const steps_data *d) {
    double *v = d->to, *next = d->work;
    int64_t failed = INT64_MAX;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int64_t i = 0; i < STEPS_SMALL; i++) {
            const double left = v[i > 0 ? i - 1 : 0],
                         right = v[i < STEPS_SMALL - 1 ? i + 1 : STEPS_SMALL - 1];
            if (!(v[i] < 1e6) && i < failed)
                failed = i;
            next[i] = 0.25 * left + 0.5 * v[i] + 0.25 * right + 0.001 * d->b[i];
        }
        double *free = v;
        v = next;
        next = free;
        BARRIER(v);
    }
    d->work[STEPS_SMALL] = (double)failed;
}

/* by insertion */
void steps_loop_sort(const steps_data *d) {
    double *v = d->to;
    memcpy(v, d->a, STEPS_SMALL * sizeof *v);
    for (int t = 0; t < STEPS_TIMES; t++) {
        for (int j = 0; j < STEPS_SMALL; j++)
            v[j] = v[j] * -0.999 + d->b[j];
        for (int j = 1; j < STEPS_SMALL; j++) {
            const double x = v[j];
            int at = j;
            for (; at > 0 && v[at - 1] > x; at--)
                v[at] = v[at - 1];
            v[at] = x;
        }
        BARRIER(v);
    }
}
