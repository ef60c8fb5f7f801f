/* JSON reader for untrusted text in memory, token by token. */
#ifndef PITH_JSON_READ_H
#define PITH_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_reader {
    const char *at, *end;
} json_reader;

/* Consume a character after white space, if it is the next one. */
bool json_take(json_reader *r, char c);
/* Whether only white space remains. */
bool json_at_end(json_reader *r);
/* A string: zero-terminated UTF-8 text, owned. NULL: no string, or it contains a 0 or a
 * lone surrogate. */
char *json_take_string(json_reader *r);
/* A non-negative integer. */
bool json_take_size(json_reader *r, int64_t *value);

#endif
