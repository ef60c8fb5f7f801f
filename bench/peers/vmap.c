/* Compiled for this machine with fast arithmetic. Loops of unknown length run entry by
 * entry, as one writes them. Oscillators run in groups as well, each until its last entry
 * ends. */
#include "vmap.h"

#include <math.h>

void vmap_chain(const vmap_data *d) {
    for (int64_t i = 0; i < d->n; i += d->width)
        for (int64_t k = 0; k < d->width; k++) {
            const double x = d->x[i + k], scale = d->scale[k];
            double y = x * scale + 0.5;
            y = y * y - x;
            y = (y * 0.25 + x) * scale;
            d->to[i + k] = sqrt(fabs(y) + 1);
        }
}

void vmap_count(const vmap_data *d) {
    for (int64_t i = 0; i < d->n; i++) {
        double x = d->x[i];
        for (int64_t left = d->left[i]; left > 0; left--)
            x = x * VMAP_FACTOR + VMAP_TERM;
        d->to[i] = x;
    }
}

static double error_of(double h, const double k[4], double to) {
    const double change = k[0] * (-5. / 72) + k[1] / 12 + k[2] / 9 - k[3] / 8;
    return h * change / (1e-6 * (1 + fabs(to)));
}

static double oscillator(double mu) {
    double x = 1, v = 1, t = 0, next = 0.01;
    while (t < VMAP_END) {
        const double left = VMAP_END - t, h = next < left ? next : left;
        double kx[4] = {v}, kv[4] = {mu * (1 - x * x) * v - x};
        for (int i = 1; i < 3; i++) {
            const double part = i == 1 ? 0.5 * h : 0.75 * h;
            const double at = x + part * kx[i - 1];
            kx[i] = v + part * kv[i - 1];
            kv[i] = mu * (1 - at * at) * kx[i] - at;
        }
        const double tx = x + h * (2. / 9 * kx[0] + kx[1] / 3 + 4. / 9 * kx[2]);
        const double tv = v + h * (2. / 9 * kv[0] + kv[1] / 3 + 4. / 9 * kv[2]);
        kx[3] = tv;
        kv[3] = mu * (1 - tx * tx) * tv - tx;
        const double ex = error_of(h, kx, tx), ev = error_of(h, kv, tv);
        const double error = (ex * ex + ev * ev) / 2;
        double factor = 0.9 * pow(error, -1. / 6);
        factor = factor < 0.2 ? 0.2 : factor > 5 ? 5 : factor;
        if (error <= 1) {
            x = tx;
            v = tv;
            t = h == left ? VMAP_END : t + h;
        }
        next = h * factor;
    }
    return x;
}

void vmap_oscillators(const vmap_data *d) {
    for (int64_t i = 0; i < d->n; i++)
        d->to[i] = oscillator(d->mu[i]);
}

/* ---- Many oscillators at a time ---- */

enum { LANES = 64 };
typedef struct {
    double mu[LANES], x[LANES], v[LANES], t[LANES], next[LANES];
} lanes;

/* One attempt in each lane; those that ended keep their values. Returns how many go on.
 */
static int attempt(lanes *l) {
    int going = 0;
#pragma omp simd reduction(+ : going)
    for (int i = 0; i < LANES; i++) {
        const double mu = l->mu[i], x = l->x[i], v = l->v[i], t = l->t[i];
        const double left = VMAP_END - t, h = l->next[i] < left ? l->next[i] : left;
        const double a1 = mu * (1 - x * x) * v - x;
        const double x2 = x + 0.5 * h * v, v2 = v + 0.5 * h * a1,
                     a2 = mu * (1 - x2 * x2) * v2 - x2;
        const double x3 = x + 0.75 * h * v2, v3 = v + 0.75 * h * a2,
                     a3 = mu * (1 - x3 * x3) * v3 - x3;
        const double tx = x + h * (2. / 9 * v + v2 / 3 + 4. / 9 * v3);
        const double tv = v + h * (2. / 9 * a1 + a2 / 3 + 4. / 9 * a3);
        const double a4 = mu * (1 - tx * tx) * tv - tx;
        const double ex = h * (v * (-5. / 72) + v2 / 12 + v3 / 9 - tv / 8) /
                          (1e-6 * (1 + fabs(tx))),
                     ev = h * (a1 * (-5. / 72) + a2 / 12 + a3 / 9 - a4 / 8) /
                          (1e-6 * (1 + fabs(tv)));
        const double error = (ex * ex + ev * ev) / 2;
        double factor = 0.9 * pow(error, -1. / 6);
        factor = factor < 0.2 ? 0.2 : factor > 5 ? 5 : factor;
        const int good = error <= 1, on = t < VMAP_END;
        l->x[i] = on && good ? tx : x;
        l->v[i] = on && good ? tv : v;
        l->t[i] = on && good ? (h == left ? VMAP_END : t + h) : t;
        l->next[i] = on ? h * factor : l->next[i];
        going += l->t[i] < VMAP_END;
    }
    return going;
}

void vmap_oscillators_lanes(const vmap_data *d) {
    for (int64_t first = 0; first < d->n; first += LANES) {
        lanes l;
        for (int i = 0; i < LANES; i++) {
            l.mu[i] = d->mu[first + i < d->n ? first + i : d->n - 1];
            l.x[i] = l.v[i] = 1;
            l.t[i] = 0;
            l.next[i] = 0.01;
        }
        while (attempt(&l) > 0)
            continue;
        for (int i = 0; i < LANES && first + i < d->n; i++)
            d->to[first + i] = l.x[i];
    }
}
