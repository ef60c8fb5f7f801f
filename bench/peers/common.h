#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static int cmpd(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
/* prints median [min..max] */
static void rep(const char *name, double *v, int n, const char *unit) {
    qsort(v, n, sizeof *v, cmpd);
    double m = n & 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
    printf("%-44s med %10.4g  [%10.4g .. %10.4g] %s (n=%d)\n", name, m, v[0], v[n - 1],
           unit, n);
    fflush(stdout);
}
