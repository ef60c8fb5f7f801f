/* String buffer: grows as needed, and records a failure to grow. */
#ifndef PITH_BASE_STRING_BUFFER_H
#define PITH_BASE_STRING_BUFFER_H

#include "pith/base.h"

typedef struct pithp_string {
    pith_runtime *rt;
    char *bytes; /* zero-terminated; never NULL */
    size_t length, capacity;
    bool failed; /* memory was short: the text is incomplete */
} pithp_string;

void pithp_string_begin(pithp_string *t, pith_runtime *rt);
void pithp_string_add(pithp_string *t, const char *text);
void pithp_string_add_n(pithp_string *t, const char *text, size_t n);
void pithp_string_print(pithp_string *t, const char *format, ...) PITH_FORMAT(2, 3);
/* Format as "%.*g", with a decimal point in every locale. */
void pithp_string_add_number(pithp_string *t, int digits, double value);
/* Print an element as a number that reads back to the same bits. */
void pithp_string_add_element(pithp_string *t, pith_dtype dtype, const void *element);
/* Append a string as a quoted JSON string. */
void pithp_json_string(pithp_string *t, const char *text);
void pithp_string_end(pithp_string *t);

#endif
