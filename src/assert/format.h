/* Within assert: Python's format specifications. */
#ifndef PITH_ASSERT_FORMAT_H
#define PITH_ASSERT_FORMAT_H

#include "base/base_internal.h"

enum { PITHP_FORMAT_WIDTH = 200, PITHP_FORMAT_PRECISION = 100 };

/* [[fill]align][sign][#][0][width][.precision][type] */
typedef struct pithp_format {
    char fill[5]; /* one UTF-8 character */
    char align;   /* < > ^ =, or 0: default of the kind */
    char sign;    /* + or space, or 0: only '-' */
    bool alternate;
    int width, precision; /* precision -1: not given */
    char type;            /* 0: not given */
} pithp_format;

/* Parse a specification that ends before `end`. NULL, or an error text. */
const char *pithp_format_parse(pithp_format *f, const char *text, const char *end);
/* NULL, or why it does not apply to numbers of a dtype; PITH_DTYPE_NONE: texts. */
const char *pithp_format_refuses(const pithp_format *f, pith_dtype dtype);
/* Append an element, or a text, with a valid format. */
void pithp_format_element(const pithp_format *f,
                          pith_dtype dtype,
                          const void *element,
                          pithp_string *t);
void pithp_format_text(const pithp_format *f, const char *text, pithp_string *t);

#endif
