/* Within run: the lines of a log, read one by one. */
#ifndef PITH_LOG_INTERNAL_H
#define PITH_LOG_INTERNAL_H

#include "pith/run_log.h"

#include "checkpoint/store/file.h"

enum {
    PITHP_LOG_LINE = 1 << 20, /* most bytes of a row, its end included */
    PITHP_LOG_NAME = 256      /* most bytes of a name, its end included */
};

typedef struct pithp_log_lines {
    pith_scope *s;
    const char *shown; /* the path, for messages */
    int file;
    char *buffer;
    size_t room, used,
        at;         /* of the buffer: bytes; those filled; where the next line is */
    size_t offset;  /* in the file, of the buffer's first byte */
    int64_t number; /* of the line read last, from 1 */
    bool ended;     /* nothing behind the buffer */
} pithp_log_lines;

/* A line's step, and a place in the line from where its values are read. */
typedef struct pithp_log_row {
    int64_t step;
    const char *rest;
} pithp_log_row;

typedef enum pithp_log_found {
    PITHP_LOG_ERROR, /* the scope's error is set */
    PITHP_LOG_END,   /* no further line, or an unfinished one */
    PITHP_LOG_FOUND
} pithp_log_found;

pith_status
pithp_log_lines_begin(pithp_log_lines *l, pith_scope *s, int file, const char *shown);
void pithp_log_lines_end(pithp_log_lines *l);
/* The next line as a row. Texts in it live until the next call. */
pithp_log_found pithp_log_next(pithp_log_lines *l, pithp_log_row *row);
/* Offset behind the line read last. */
static inline size_t pithp_log_offset(const pithp_log_lines *l) {
    return l->offset + l->at;
}
/* The next value of a row, its name in `name`; END behind the last one. */
pithp_log_found pithp_log_value(const pithp_log_lines *l,
                                pithp_log_row *row,
                                char name[PITHP_LOG_NAME],
                                pith_run_log_value *value);

#endif
