/* Within run: sequential reader of the lines of a log. */
#ifndef PITH_LOG_INTERNAL_H
#define PITH_LOG_INTERNAL_H

#include "pith/run_log.h"

#include "checkpoint/store/file.h"

enum {
    PITHP_LOG_LINE = 1 << 20, /* maximum bytes of a row, with its end */
    PITHP_LOG_NAME = 256      /* maximum bytes of a name, with its end */
};

typedef struct pithp_log_lines {
    pith_scope *s;
    const char *shown; /* the path, for messages */
    int file;
    char *buffer;
    size_t room, used,
        at;         /* of the buffer: capacity, filled bytes, offset of the next line */
    size_t offset;  /* file offset of the buffer's first byte */
    int64_t number; /* number of the last line read, from 1 */
    bool ended;     /* the file ends with the buffer */
} pithp_log_lines;

/* A line's step, and the position of its next value. */
typedef struct pithp_log_row {
    int64_t step;
    const char *rest;
} pithp_log_row;

typedef enum pithp_log_found {
    PITHP_LOG_ERROR, /* the scope's error is set */
    PITHP_LOG_END,   /* no further line, or an incomplete one */
    PITHP_LOG_FOUND
} pithp_log_found;

pith_status
pithp_log_lines_begin(pithp_log_lines *l, pith_scope *s, int file, const char *shown);
void pithp_log_lines_end(pithp_log_lines *l);
/* The next line as a row. Its texts are valid until the next call. */
pithp_log_found pithp_log_next(pithp_log_lines *l, pithp_log_row *row);
/* Offset of the end of the last line read. */
static inline size_t pithp_log_offset(const pithp_log_lines *l) {
    return l->offset + l->at;
}
/* The next value of a row, with its name in `name`; END after the last value. */
pithp_log_found pithp_log_value(const pithp_log_lines *l,
                                pithp_log_row *row,
                                char name[PITHP_LOG_NAME],
                                pith_run_log_value *value);

#endif
