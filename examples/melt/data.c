/* Reads LAMMPS data files: atom style atomic, one type of mass 1, an orthogonal periodic
 * box. Other content is refused with the file and line. */
#include "melt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NUMBERS = 9, SHORTEST_ATOM = 10 /* bytes: "1 1 0 0 0\n" */ };

typedef struct {
    pith_scope *s;
    const char *file;
    FILE *in;
    int line;
    char *text; /* of the line */
    size_t room;
    int64_t atoms, bytes; /* bytes: size of the file; 0 if it is not a regular file */
    double low[3], high[3];
    bool has_bounds[3], has_atoms, has_velocities;
    int64_t part, parts, first, count; /* the slice of atoms that is kept */
    double *position, *velocity;       /* [count, 3] */
    bool *placed; /* [atoms]: its line in the current section was read */
} Reader;

static bool refuse(Reader *r, const char *format, ...) PITH_FORMAT(2, 3);
static bool refuse(Reader *r, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pith_fail(r->s, PITH_E_FORMAT, NULL, "%s:%d: %s", r->file, r->line, text);
    return false;
}

/* Read the next line into r->text, without its comment and surrounding space. style
 * receives the text after '#'. */
static bool next_line(Reader *r, char *style, size_t room) {
    if (getline(&r->text, &r->room, r->in) < 0)
        return false;
    r->line++;
    if (style)
        *style = 0;
    char *hash = strchr(r->text, '#');
    if (hash) {
        if (style)
            sscanf(hash + 1, room >= 64 ? "%63s" : "%1s", style);
        *hash = 0;
    }
    char *end = r->text + strlen(r->text);
    while (end > r->text && isspace((unsigned char)end[-1]))
        *--end = 0;
    return true;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t")] == 0;
}

/* Parse the numbers of a line; -1 if the line has other text. */
static int numbers(const char *text, double *values, int most) {
    int count = 0;
    for (;;) {
        text += strspn(text, " \t");
        if (!*text)
            return count;
        char *end;
        const double value = strtod(text, &end);
        if (end == text || (*end && !isspace((unsigned char)*end)) || count == most)
            return -1;
        values[count++] = value;
        text = end;
    }
}

/* Read the next line of a section that is not blank. */
static bool next_row(Reader *r, const char *section) {
    do {
        if (!next_line(r, NULL, 0))
            return refuse(r, "the file ends inside the section %s", section);
    } while (is_blank(r->text));
    return true;
}

/* Parse a line of a section, which must have one of two counts of numbers. */
static bool row(Reader *r, const char *section, int least, int most, double *values) {
    const int count = numbers(r->text, values, MOST_NUMBERS);
    if (count != least && count != most)
        return refuse(r, "%s: expected %d numbers, got '%.80s'", section, least, r->text);
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return refuse(r, "%s: '%.80s' has a number that is not finite", section,
                          r->text);
    return true;
}

/* Index of an atom by its number. Each number occurs once in a section. */
static bool place_of(Reader *r, const char *section, double number, int64_t *place) {
    if (number < 1 || number > (double)r->atoms || number != floor(number))
        return refuse(r, "%s: expected an atom of 1 to %" PRId64 ", got %g", section,
                      r->atoms, number);
    *place = (int64_t)number - 1;
    if (r->placed[*place])
        return refuse(r, "%s: atom %" PRId64 " comes twice", section, *place + 1);
    r->placed[*place] = true;
    return true;
}

/* Read the next line of an atom. *place: its index in the slice; -1: it is of another
 * slice, and only its number is read. */
static bool row_of_atom(Reader *r,
                        const char *section,
                        int least,
                        int most,
                        double *v,
                        int64_t *place) {
    if (!next_row(r, section))
        return false;
    char *end;
    v[0] = strtod(r->text, &end);
    const bool alone = end > r->text && isspace((unsigned char)*end);
    const double first = (double)r->first, after = (double)(r->first + r->count);
    const bool here = !alone || !(v[0] > 0) || v[0] > (double)r->atoms ||
                      (v[0] > first && v[0] <= after);
    if ((here && !row(r, section, least, most, v)) || !place_of(r, section, v[0], place))
        return false;
    *place = here ? *place - r->first : -1;
    return true;
}

static bool read_atoms(Reader *r) {
    if (r->has_atoms)
        return refuse(r, "a second section Atoms");
    memset(r->placed, 0, (size_t)r->atoms);
    for (int64_t i = 0; i < r->atoms; i++) {
        double v[MOST_NUMBERS];
        int64_t place = 0;
        if (!row_of_atom(r, "Atoms", 5, 8, v, &place))
            return false;
        if (place < 0)
            continue;
        if (v[1] != 1)
            return refuse(r, "Atoms: expected type 1, got %g", v[1]);
        for (int d = 0; d < 3; d++)
            r->position[3 * place + d] = v[2 + d] - r->low[d];
    }
    return r->has_atoms = true;
}

static bool read_velocities(Reader *r) {
    if (r->has_velocities)
        return refuse(r, "a second section Velocities");
    memset(r->placed, 0, (size_t)r->atoms);
    for (int64_t i = 0; i < r->atoms; i++) {
        double v[MOST_NUMBERS];
        int64_t place = 0;
        if (!row_of_atom(r, "Velocities", 4, 4, v, &place))
            return false;
        for (int d = 0; place >= 0 && d < 3; d++)
            r->velocity[3 * place + d] = v[1 + d];
    }
    return r->has_velocities = true;
}

static bool read_masses(Reader *r) {
    double v[MOST_NUMBERS];
    if (!next_row(r, "Masses") || !row(r, "Masses", 2, 2, v))
        return false;
    return (v[0] == 1 && v[1] == 1) ||
           refuse(r, "Masses: expected type 1 of mass 1, got type %g of mass %g", v[0],
                  v[1]);
}

static bool ends_with(const char *text, const char *words) {
    const size_t n = strlen(text), m = strlen(words);
    return n > m && strcmp(text + n - m, words) == 0 &&
           isspace((unsigned char)text[n - m - 1]);
}

/* Allocate the atoms, whose number is in the header. */
static bool make_room(Reader *r) {
    if (r->position)
        return true;
    if (r->atoms < 1)
        return refuse(r, "the head does not say how many atoms there are");
    for (int d = 0; d < 3; d++)
        if (!r->has_bounds[d])
            return refuse(r, "the head has no '%clo %chi'", "xyz"[d], "xyz"[d]);
    if (r->bytes && r->atoms > r->bytes / SHORTEST_ATOM)
        return refuse(r, "the file is too short for %" PRId64 " atoms", r->atoms);
    r->first = melt_slice_begin(r->atoms, r->part, r->parts);
    r->count = melt_slice_begin(r->atoms, r->part + 1, r->parts) - r->first;
    r->position = calloc((size_t)r->count + 1, 3 * sizeof *r->position);
    r->velocity = calloc((size_t)r->count + 1, 3 * sizeof *r->velocity);
    r->placed = calloc((size_t)r->atoms, sizeof *r->placed);
    if (r->position && r->velocity && r->placed)
        return true;
    pith_fail(r->s, PITH_E_MEMORY, NULL, "%s: no memory for %" PRId64 " atoms", r->file,
              r->atoms);
    return false;
}

static bool read_head(Reader *r) {
    double v[MOST_NUMBERS];
    char *text = r->text;
    if (ends_with(text, "atoms")) {
        text[strlen(text) - strlen("atoms")] = 0;
        if (numbers(text, v, 1) != 1 || v[0] < 1 || v[0] > 1 << IMAGE_SHIFT ||
            v[0] != floor(v[0]))
            return refuse(r, "expected 1 to %d atoms", 1 << IMAGE_SHIFT);
        if (r->atoms)
            return refuse(r, "atoms are counted twice");
        r->atoms = (int64_t)v[0];
        return true;
    }
    if (ends_with(text, "atom types"))
        return (numbers(strtok(text, "a"), v, 1) == 1 && v[0] == 1) ||
               refuse(r, "expected 1 atom type");
    for (int d = 0; d < 3; d++) {
        char words[] = {"xyz"[d], 'l', 'o', ' ', "xyz"[d], 'h', 'i', 0};
        if (!ends_with(text, words))
            continue;
        text[strlen(text) - strlen(words)] = 0;
        if (numbers(text, v, 2) != 2 || !(v[0] < v[1]) || !isfinite(v[1] - v[0]))
            return refuse(r, "%s: expected two numbers, the second larger", words);
        r->low[d] = v[0], r->high[d] = v[1];
        return r->has_bounds[d] = true;
    }
    if (ends_with(text, "xy xz yz"))
        return refuse(r, "the box is tilted; expected an orthogonal one");
    return refuse(
        r,
        "'%.80s' is not supported in the head: expected atoms, atom types, xlo xhi, ylo yhi, zlo zhi",
        text);
}

/* Read one line outside of sections: a line of the header, or the name of a section,
 * whose lines are then read. */
static bool read_part(Reader *r, const char *style) {
    if (is_blank(r->text))
        return true;
    if (isdigit((unsigned char)r->text[strspn(r->text, " \t-+")]))
        return read_head(r);
    if (strcmp(r->text, "Masses") == 0)
        return read_masses(r);
    if (strcmp(r->text, "Atoms") == 0) {
        if (*style && strcmp(style, "atomic") != 0)
            return refuse(r, "atom style %s; expected atomic", style);
        return make_room(r) && read_atoms(r);
    }
    if (strcmp(r->text, "Velocities") == 0)
        return make_room(r) && read_velocities(r);
    return refuse(
        r, "the section '%.80s' is not supported: expected Masses, Atoms or Velocities",
        r->text);
}

static bool read_file(Reader *r) {
    char style[64];
    if (!next_line(r, NULL, 0)) /* the first line is a title */
        return refuse(r, "%s", ferror(r->in) ? strerror(errno) : "the file is empty");
    while (next_line(r, style, sizeof style))
        if (!read_part(r, style))
            return false;
    if (ferror(r->in))
        return refuse(r, "%s", strerror(errno));
    return r->has_atoms || refuse(r, "there is no section Atoms");
}

Start melt_data_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts) {
    Reader r = {
        .s = s, .file = o->data, .in = fopen(o->data, "r"), .part = part, .parts = parts};
    Start start = {.atoms = 0};
    struct stat st;
    if (r.in && fstat(fileno(r.in), &st) == 0 && S_ISREG(st.st_mode))
        r.bytes = (int64_t)st.st_size;
    if (!r.in)
        pith_fail(s, PITH_E_IO, NULL, "%s: %s", o->data, strerror(errno));
    else if (read_file(&r)) {
        Slice slice = {.atoms = r.atoms,
                       .first = r.first,
                       .count = r.count,
                       .position = r.position,
                       .velocity = r.velocity};
        for (int d = 0; d < 3; d++)
            slice.lengths[d] = r.high[d] - r.low[d];
        start = melt_start_of(s, o, &slice);
    }
    if (r.in)
        fclose(r.in);
    free(r.position);
    free(r.velocity);
    free(r.placed);
    free(r.text);
    return start;
}
