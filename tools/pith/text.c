/* Text for terminals: colours, sizes, and escaped content of files. */
#include "base/bytes.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool coloured, asked; /* asked: by "always" */

bool colours_choose(const char *when) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(when, "auto") == 0)
        coloured = isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
                   !(term && strcmp(term, "dumb") == 0);
    else if (strcmp(when, "always") == 0)
        coloured = asked = true;
    else if (strcmp(when, "never") == 0)
        coloured = false;
    else
        return false;
    return true;
}

void colours_only_asked(void) {
    coloured = asked;
}

int terminal_width(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

void colour_to(FILE *out, colour c) {
    static const char *const codes[] = {
        [PLAIN] = "0",  [BOLD] = "1",    [DIM] = "2",  [RED] = "31",
        [GREEN] = "32", [YELLOW] = "33", [CYAN] = "36"};
    if (coloured)
        fprintf(out, "\033[%sm", codes[c]);
}

static void die(void) {
    fputs("pith: out of memory\n", stderr);
    exit(TROUBLE);
}

static char *text_from(const char *format, va_list arguments) {
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        die();
    return text;
}

char *text_of(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = text_from(format, arguments);
    va_end(arguments);
    return text;
}

void *room_for(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory)
        die();
    return memory;
}

/* Escape control characters, which could move the cursor or worse: ASCII ones, and C1 (C2
 * 80 to 9F). */
char *clean(const char *text) {
    char *copy = room_for(4 * strlen(text) + 1, 1), *to = copy;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        const bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0;
        if (*c >= ' ' && *c != 0x7F && !c1) {
            *to++ = (char)*c;
        } else {
            c += c1;
            to += sprintf(to, "\\x%02x", *c);
        }
    }
    return copy;
}

char *quoted(const char *text) {
    if (!text)
        return text_of("NULL");
    char *inner = clean(text);
    char *outer = text_of("\"%s\"", inner);
    free(inner);
    return outer;
}

char *bytes_text(size_t bytes) {
    char text[PITHP_BYTES_TEXT];
    return text_of("%s", pithp_bytes_text(text, bytes));
}

char *shape_text(pith_dtype dtype, const pith_shape *shape) {
    char text[256];
    int n = snprintf(text, sizeof text, "%s", pith_dtype_name(dtype));
    for (int32_t i = 0; i < shape->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64, i ? "," : "[",
                      shape->extents[i]);
    return text_of("%s%s", text, shape->rank ? "]" : "");
}

const char *plural(int64_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}

int columns(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += (*text & 0xC0) != 0x80;
    return count;
}

/* In one piece: processes of a job write to one terminal. */
void complain(const char *verb, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = text_from(format, arguments);
    va_end(arguments);
    fprintf(stderr, "pith%s%s: %s\n", *verb ? " " : "", verb, text);
    free(text);
}
