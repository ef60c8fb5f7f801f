/* Reading JSON token by token, of a text in memory that may be anybody's. */
#ifndef PITH_JSON_READ_H
#define PITH_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_reader {
    const char *at, *end;
} json_reader;

/* Take a character behind spaces, if it is the next one. */
bool json_take(json_reader *r, char c);
/* Nothing but spaces is left. */
bool json_at_end(json_reader *r);
/* A string: its UTF-8 text with a 0 behind it, owned. NULL: there is none, or it holds a
 * 0 or half a surrogate pair. */
char *json_take_string(json_reader *r);
/* A whole number from 0 on. */
bool json_take_size(json_reader *r, int64_t *value);

#endif
