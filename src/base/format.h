/* Locale-independent printf for messages and documents: numbers always have a decimal
 * point. */
#ifndef PITH_BASE_FORMAT_H
#define PITH_BASE_FORMAT_H

#include "base/base_internal.h"

/* As vsnprintf and snprintf. */
int pithp_format_v(char *to, size_t room, const char *format, va_list arguments)
    PITH_FORMAT(3, 0);
int pithp_format(char *to, size_t room, const char *format, ...) PITH_FORMAT(3, 4);

#endif
