/* Logs of runs (run_log.c). */
#ifndef PITH_TOOL_RUN_LOG_H
#define PITH_TOOL_RUN_LOG_H

#include <pith/tree.h>

typedef struct run_log {
    const pith_dict *columns;
    int64_t rows, first, last; /* steps of the first and the last row; 0: no rows */
} run_log;

/* Whether a file has the name or the content of a run log. */
bool is_run_log(const char *file);
/* False: the scope has the error. */
bool run_log_open(pith_scope *s, const char *file, run_log *l);
/* "the log of a run: 2 rows of energy, pressure"; owned. */
char *run_log_text(const run_log *l);

#endif
