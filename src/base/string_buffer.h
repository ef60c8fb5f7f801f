/* String buffer: grows as needed, and records a failure to grow. */
#ifndef PITH_BASE_STRING_BUFFER_H
#define PITH_BASE_STRING_BUFFER_H

#include "pith/base.h"

typedef struct pithp_text {
    pith_runtime *rt;
    char *bytes; /* zero-terminated; never NULL */
    size_t length, room;
    bool failed; /* memory was short: the text is incomplete */
} pithp_text;

void pithp_text_begin(pithp_text *t, pith_runtime *rt);
void pithp_text_add(pithp_text *t, const char *text);
void pithp_text_add_n(pithp_text *t, const char *text, size_t n);
void pithp_text_print(pithp_text *t, const char *format, ...) PITH_FORMAT(2, 3);
/* Format as "%.*g", with a decimal point in every locale. */
void pithp_text_add_number(pithp_text *t, int digits, double value);
/* Print an element as a number that reads back to the same bits. */
void pithp_text_add_element(pithp_text *t, pith_dtype dtype, const void *element);
/* Append a string as a quoted JSON string. */
void pithp_json_string(pithp_text *t, const char *text);
void pithp_text_end(pithp_text *t);

#endif
