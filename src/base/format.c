/* Locale-independent printf. Each call sets the thread's locale to "C", which glibc keeps
 * allocated, and restores it. Other threads and the locale of the program are not
 * affected. */
#include "base/format.h"

#include <locale.h>
#include <stdio.h>

int pithp_format_v(char *to, size_t room, const char *format, va_list arguments) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c ? uselocale(c) : (locale_t)0;
    const int n = vsnprintf(to, room, format, arguments);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return n;
}

int pithp_format(char *to, size_t room, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = pithp_format_v(to, room, format, arguments);
    va_end(arguments);
    return n;
}
