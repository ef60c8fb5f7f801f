/* Numbers of bytes: printed and parsed with binary units. */
#include "base/bytes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* Digits are printed as integers: a decimal point does not depend on the locale. */
const char *pithp_bytes_text(char text[PITHP_BYTES_TEXT], uint64_t bytes) {
    if (bytes < 1000) {
        snprintf(text, PITHP_BYTES_TEXT, "%d B", (int)bytes);
        return text;
    }
    int unit = 1;
    double size = (double)bytes / 1024;
    for (; size >= 999.5; unit++)
        size /= 1024;
    const int hundredths = (int)lrint(100 * size), tenths = (int)lrint(10 * size);
    if (size < 9.995)
        snprintf(text, PITHP_BYTES_TEXT, "%d.%02d %s", hundredths / 100, hundredths % 100,
                 units[unit]);
    else if (size < 99.95)
        snprintf(text, PITHP_BYTES_TEXT, "%d.%d %s", tenths / 10, tenths % 10,
                 units[unit]);
    else
        snprintf(text, PITHP_BYTES_TEXT, "%d %s", (int)lrint(size), units[unit]);
    return text;
}

bool pithp_parse_bytes(const char *text, size_t *bytes) {
    enum { MOST_UNIT = 4 }; /* TiB */
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno)
        return false;
    for (int i = 0; i <= MOST_UNIT; i++)
        if (strcmp(end, units[i]) == 0 && number <= (SIZE_MAX >> (10 * i))) {
            *bytes = (size_t)number << (10 * i);
            return true;
        }
    return false;
}
