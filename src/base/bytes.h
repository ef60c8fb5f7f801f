/* Numbers of bytes as text with binary units. Needs libc only: tools/pith compiles it
 * too. */
#ifndef PITH_BASE_BYTES_H
#define PITH_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PITHP_BYTES_TEXT = 32 };

/* Write a number of bytes with three digits: "96 B", "1.00 KiB", "93.8 KiB", "144 MiB".
 * Returns the text. */
const char *pithp_bytes_text(char text[PITHP_BYTES_TEXT], uint64_t bytes);

/* Parse a number of bytes with an optional unit KiB, MiB, GiB or TiB. Returns false for
 * invalid text. */
bool pithp_parse_bytes(const char *text, size_t *bytes);

#endif
