/* The oracle: runs golden cases through pith's public functions and tells what differs.
 *
 * A family of cases has a table from operations to handlers, one file a family. A handler
 * maps operands and parameters to results and knows nothing of how it is called; a mode
 * (mode.c) does: at once, and later traced or by the reference interpreter. */
#ifndef PITH_ORACLE_H
#define PITH_ORACLE_H

#include "golden.h"

#include <pith/pith.h>

enum { ORACLE_OPERANDS = 64, ORACLE_RESULTS = 16, ORACLE_TEXT_BYTES = 1024 };

/* One call of an operation. A handler sets results, or leaves an error on the scope. */
typedef struct oracle_call {
    const char *op, *name;
    const golden_json *params; /* NULL where the case has none */
    int count, results;
    const pith_array *in[ORACLE_OPERANDS], *out[ORACLE_RESULTS];
    char trouble[ORACLE_TEXT_BYTES]; /* set: the case asks for what the handler does not
                                        know; it has failed whatever was expected */
    bool checked; /* its program makes checks, which the host looks at after a run */
    char aside[ORACLE_TEXT_BYTES]; /* set: why the mode has nothing to do */
} oracle_call;

typedef const pith_array *(*oracle_unary)(pith_scope *s, const pith_array *a);
typedef const pith_array *(*oracle_binary)(pith_scope *s,
                                           const pith_array *a,
                                           const pith_array *b);

typedef struct oracle_row {
    const char *op;
    void (*run)(pith_scope *s, const struct oracle_row *row, oracle_call *call);
    oracle_unary unary; /* for handlers that serve several rows */
    oracle_binary binary;
    /* Of operations that do not map arrays to arrays: whether the case holds; text says
     * why it does not. */
    bool (*judge)(pith_scope *s, const golden_json *one, char text[ORACLE_TEXT_BYTES]);
} oracle_row;

/* Tables end with a row without a name. */
extern const oracle_row oracle_cast[];
extern const oracle_row oracle_elementwise[];
extern const oracle_row oracle_index[];
extern const oracle_row oracle_order[];
extern const oracle_row oracle_product[];
extern const oracle_row oracle_random[];
extern const oracle_row oracle_reduce[];
extern const oracle_row oracle_shape[];
extern const oracle_row oracle_tree[];

/* What pith would need for a family that it has no operations for, whose cases are left
 * out; NULL: it serves the family. */
const char *oracle_absent(const char *family);

/* The row of a family's operation; NULL where there is none. */
const oracle_row *oracle_find(const char *family, const char *op);

/* ---- Handlers and parameters that several tables need ---- */

void oracle_run_unary(pith_scope *s, const oracle_row *row, oracle_call *call);
void oracle_run_binary(pith_scope *s, const oracle_row *row, oracle_call *call);
#define ORACLE_UNARY(name, function)                                                     \
    { .op = name, .run = oracle_run_unary, .unary = function }
#define ORACLE_BINARY(name, function)                                                    \
    { .op = name, .run = oracle_run_binary, .binary = function }

/* The result of a handler with one. */
void oracle_give(oracle_call *call, const pith_array *result);
void oracle_trouble(oracle_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parameters; missing ones, null ones and those of another kind: the default. */
int64_t oracle_integer(const oracle_call *call, const char *key, int64_t otherwise);
double oracle_number(const oracle_call *call, const char *key, double otherwise);
const char *oracle_text(const oracle_call *call, const char *key); /* or "" */
bool oracle_flag(const oracle_call *call, const char *key);
/* A list, or NULL. */
const golden_json *oracle_list(const oracle_call *call, const char *key);
pith_dtype oracle_dtype(oracle_call *call, const char *key);
/* More than 8 extents or axes leave a rank or count beyond 8, which pith refuses. */
pith_shape oracle_shape_of(const golden_json *list);
pith_axes oracle_axes_of(const golden_json *list);
/* Python's [start, stop, step], null where left out. */
pith_slice oracle_slice_of(const golden_json *list);
/* An array's rank; 0 of none. */
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
    const char *tier;   /* of PITH_JIT; NULL: as the environment says */
    const char *device; /* NULL: any */
    bool texts;         /* nothing runs: kernels are compiled, a family's together */
    bool joins; /* several cases may be one program, so that a compiler runs once */
} oracle_mode;

/* What differs, in one line or several; empty where nothing does. */
typedef struct oracle_report {
    char text[ORACLE_REPORT_BYTES];
    bool aside; /* not counted; the text says why */
} oracle_report;

const oracle_mode *oracle_mode_named(const char *name); /* NULL: there is none */

/* Run at most ORACLE_BATCH cases, each in a scope of its own, or those together that the
 * mode joins. */
void oracle_cases(pith_runtime *rt,
                  const oracle_mode *mode,
                  const golden_family *family,
                  int count,
                  const golden_json *const *cases,
                  oracle_report *reports);

/* The handlers of some cases as one compiled function, and what it is called with. */
const pith_function *oracle_compiled(pith_scope *s,
                                     int count,
                                     const oracle_case_run *runs,
                                     const void **operands);

/* ---- Text for CUDA (cuda_text.c) ---- */

/* False: there is no NVRTC, and why. */
bool oracle_texts_begin(pith_runtime *rt, char why[ORACLE_TEXT_BYTES]);
void oracle_texts_end(void);
/* The call of the mode: keeps the kernels of the schedules. */
void oracle_call_text(pith_scope *s, int count, const oracle_case_run *runs);
/* Compile what was kept since the last time, and print how many kernels that are; returns
 * how many failed. */
int64_t oracle_compile_texts(const char *family);

#endif
