/* The oracle: runs golden cases through pith's public functions and reports differences.
 *
 * A family of cases has a table from operations to handlers, one file per family. A
 * handler maps operands and parameters to results, independent of the calling mode. A
 * mode (mode.c) calls handlers eagerly or traced. */
#ifndef PITH_ORACLE_H
#define PITH_ORACLE_H

#include "golden.h"

#include <pith/pith.h>

enum {
    ORACLE_OPERANDS = 64,
    ORACLE_RESULTS = 24,
    ORACLE_WAYS = 4,
    ORACLE_TEXT_BYTES = 1024
};

/* One call of an operation. A handler sets results, or an error of the scope. */
typedef struct oracle_call {
    const char *op, *name;
    const golden_json *params; /* NULL: no parameters */
    int count, results;
    const pith_array *in[ORACLE_OPERANDS], *out[ORACLE_RESULTS];
    /* Names of the ways in which the results were computed, one after the other; each
     * must give the golden results. No names: one way. */
    int way_count;
    const char *ways[ORACLE_WAYS];
    char
        trouble[ORACLE_TEXT_BYTES]; /* set: the case is not supported, and always fails */
    bool checked; /* its program makes checks, which the host reads after a run */
    char aside[ORACLE_TEXT_BYTES]; /* set: why the mode skips the case */
} oracle_call;

typedef const pith_array *(*oracle_unary)(pith_scope *s, const pith_array *a);
typedef const pith_array *(*oracle_binary)(pith_scope *s,
                                           const pith_array *a,
                                           const pith_array *b);

typedef struct oracle_row {
    const char *op;
    void (*run)(pith_scope *s, const struct oracle_row *row, oracle_call *call);
    oracle_unary unary; /* for handlers of several rows */
    oracle_binary binary;
    /* For operations that do not map arrays to arrays: whether the case passes; otherwise
     * `text` receives the reason. */
    bool (*judge)(pith_scope *s, const golden_json *one, char text[ORACLE_TEXT_BYTES]);
    /* For derivatives and batches: the function, as a formula of its operands x, y and z
     * or in C, and the number of its results; 0: 1. */
    const char *formula;
    void (*function)(pith_scope *s, const pith_array *const *in, const pith_array **out);
    int outputs;
} oracle_row;

/* Tables end with a row without a name. */
extern const oracle_row oracle_batches[];
extern const oracle_row oracle_cast[];
extern const oracle_row oracle_derive_arrays[];
extern const oracle_row oracle_derive_elementwise[];
extern const oracle_row oracle_derive_loops[];
extern const oracle_row oracle_derive_energies[];
extern const oracle_row oracle_elementwise[];
extern const oracle_row oracle_index[];
extern const oracle_row oracle_order[];
extern const oracle_row oracle_product[];
extern const oracle_row oracle_random[];
extern const oracle_row oracle_reduce[];
extern const oracle_row oracle_shape[];
extern const oracle_row oracle_tree[];
extern const oracle_row oracle_vectorized[];

/* The missing feature of a family without operations, whose cases are left out; NULL: the
 * family is supported. */
const char *oracle_absent(const char *family);

/* The row of a family's operation; NULL: unknown. */
const oracle_row *oracle_find(const char *family, const char *op);

/* ---- Shared handlers and parameters ---- */

void oracle_run_unary(pith_scope *s, const oracle_row *row, oracle_call *call);
void oracle_run_binary(pith_scope *s, const oracle_row *row, oracle_call *call);
#define ORACLE_UNARY(name, function)                                                     \
    { .op = name, .run = oracle_run_unary, .unary = function }
#define ORACLE_BINARY(name, function)                                                    \
    { .op = name, .run = oracle_run_binary, .binary = function }

/* The derivatives of the row's function. */
void oracle_derive(pith_scope *s, const oracle_row *row, oracle_call *call);
#define ORACLE_FORMULA(name, text)                                                       \
    { .op = name, .run = oracle_derive, .formula = text }
#define ORACLE_FUNCTION(name, count)                                                     \
    { .op = #name, .run = oracle_derive, .function = name, .outputs = count }
/* A function of the same name: static void name(s, in, out). */
#define ORACLE_DERIVED(name)                                                             \
    static void name(pith_scope *s, const pith_array *const *in, const pith_array **out)

/* The row's function, mapped by the levels of a case. */
void oracle_batch(pith_scope *s, const oracle_row *row, oracle_call *call);

/* Set the only result of a handler. */
void oracle_give(oracle_call *call, const pith_array *result);
void oracle_trouble(oracle_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parameters; the default if missing, null, or of another kind. */
int64_t oracle_integer(const oracle_call *call, const char *key, int64_t otherwise);
double oracle_number(const oracle_call *call, const char *key, double otherwise);
const char *oracle_text(const oracle_call *call, const char *key); /* or "" */
bool oracle_flag(const oracle_call *call, const char *key);
/* A list, or NULL. */
const golden_json *oracle_list(const oracle_call *call, const char *key);
pith_dtype oracle_dtype(oracle_call *call, const char *key);
/* More than 8 extents or axes give a rank or count above 8, which pith refuses. */
pith_shape oracle_shape_of(const golden_json *list);
pith_axes oracle_axes_of(const golden_json *list);
/* Python's [start, stop, step], null if omitted. */
pith_slice oracle_slice_of(const golden_json *list);
/* An array's rank; 0 for NULL. */
int oracle_rank(const pith_array *a);

/* ---- Modes ---- */

enum { ORACLE_BATCH = 32, ORACLE_REPORT_BYTES = 16384 };

typedef struct oracle_case_run {
    const oracle_row *row;
    oracle_call *call;
} oracle_case_run;

typedef struct oracle_mode {
    const char *name;
    void (*call)(pith_scope *s, int count, const oracle_case_run *runs);
    const char *tier;   /* of PITH_JIT; NULL: from the environment */
    const char *device; /* NULL: any */
    bool texts;         /* nothing runs: kernels of a family are compiled together */
    bool once;          /* each for one architecture */
    bool joins; /* several cases may share a program, so that the compiler runs once */
} oracle_mode;

/* Differences, in one or more lines; empty: no difference. */
typedef struct oracle_report {
    char text[ORACLE_REPORT_BYTES];
    bool aside; /* not counted; the text has the reason */
} oracle_report;

const oracle_mode *oracle_mode_named(const char *name); /* NULL: unknown */

/* Run at most ORACLE_BATCH cases, each in a scope of its own, or jointly if the mode
 * allows it. */
void oracle_cases(pith_runtime *rt,
                  const oracle_mode *mode,
                  const golden_family *family,
                  int count,
                  const golden_json *const *cases,
                  oracle_report *reports);

/* The handlers of several cases as one compiled function, and its operands. */
const pith_function *oracle_compiled(pith_scope *s,
                                     int count,
                                     const oracle_case_run *runs,
                                     const void **operands);

/* ---- CUDA text (cuda_text.c) ---- */

/* False: NVRTC is missing; `why` has the reason. */
bool oracle_texts_begin(pith_runtime *rt, char why[ORACLE_TEXT_BYTES]);
void oracle_texts_end(void);
/* The mode's call: collects the kernels of the schedules. */
void oracle_call_text(pith_scope *s, int count, const oracle_case_run *runs);
/* Compile the kernels collected since the last call, and print their number; returns the
 * number of failures. */
int64_t oracle_compile_texts(const char *family, bool once);

#endif
