/* A transport whose ranks are threads of the test, with seeded delays, deaths of ranks
 * and refusals of the engine. It aborts if ranks make different calls on it: pith must
 * not let that happen. */
#ifndef FAKE_MESH_H
#define FAKE_MESH_H

#include "mesh/mesh_internal.h"

#include <pith/runtime.h>
#include <stdatomic.h>

enum { FAKE_MOST_RANKS = 8, FAKE_REPORT_BYTES = 8192 };

/* Messages that ranks have given to the transport, in exchanges. */
extern atomic_llong fake_parcels;

typedef struct fake_job fake_job;

/* A rank of a job, and what befalls it. */
typedef struct fake_rank {
    fake_job *job;
    int rank;
    uint64_t random;
    int64_t calls, refuse_at; /* on the engine; the call that it refuses, 0: none */
    int64_t messages, sent;   /* moves of data, and the bytes that it gave to them */
    bool dead;
    pith_runtime *runtime;
    pith_scope *s; /* with the mesh "x" of all ranks, or what `open` makes */
    void *closure;
    void (*body)(struct fake_rank *r);
    int failures;
} fake_rank;

/* What a job is like. */
typedef struct fake_options {
    int size, nodes; /* nodes 0: one */
    uint64_t seed;   /* 0: no delays */
    double timeout;
    void *closure;
    int64_t refuse_rank, refuse_at;
    const pith_open_options *open[FAKE_MOST_RANKS]; /* of each rank's runtime, or NULL */
    bool compare;                                   /* of pith_mesh_options, on rank 0 */
    bool open_late;                                 /* the body opens the mesh */
} fake_options;

/* What came of it. */
typedef struct fake_result {
    int failures; /* of checks in bodies */
    int ended;    /* the exit code of a job that was ended; 0: none */
    char report[FAKE_REPORT_BYTES];
} fake_result;

/* Run a body on threads, one a rank, each with a runtime of its own. */
fake_result fake_run(const fake_options *options, void (*body)(fake_rank *r));
const pith_mesh *fake_open(fake_rank *r, pith_scope *s, const pith_mesh_axis *axes);
/* The process of the rank is gone. */
void fake_die(fake_rank *r);
void fake_failed(fake_rank *r, const char *file, int line, const char *what);
#define FAKE_CHECK(r, ...)                                                               \
    ((__VA_ARGS__) ? (void)0 : fake_failed((r), __FILE__, __LINE__, #__VA_ARGS__))

#endif
