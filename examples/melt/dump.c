/* Frames of extended XYZ, for OVITO and ASE. A resumed run truncates a dump to its step,
 * so that no frame is written twice. */
#include "melt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows of an array of atoms as doubles, in the order of the atom numbers. */
static const pith_array *
by_id(pith_scope *s, const Atoms *atoms, const pith_array *rows) {
    const pith_array *order = pith_argsort(s, atoms->id, 0, NULL);
    return pith_cast(s, pith_take(s, rows, order, NULL), PITH_F64);
}

void melt_dump_frame(pith_scope *s,
                     const Atoms *atoms,
                     const pith_array *box_sides,
                     double dt,
                     int64_t step,
                     Files *files) {
    if (step <= files->dumped)
        return; /* written by the previous run */
    FILE *out = files->dump;
    const int64_t n = pith_array_spec(atoms->id)->count;
    const pith_array *position = by_id(s, atoms, atoms->position);
    const pith_array *velocity = by_id(s, atoms, atoms->velocity);
    const size_t bytes = (size_t)n * 3 * sizeof(double);
    double *x = malloc(bytes), *v = malloc(bytes), box[3];
    if (!x || !v)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for a frame of %" PRId64 " atoms",
                  n);
    if (pith_read(s, position, x, bytes) && pith_read(s, velocity, v, bytes) &&
        pith_read(s, box_sides, box, sizeof box)) {
        fprintf(
            out,
            "%" PRId64 "\nLattice=\"%.17g 0 0 0 %.17g 0 0 0 %.17g\" "
            "Properties=species:S:1:pos:R:3:velo:R:3 pbc=\"T T T\" Time=%.10g Step=%" PRId64
            "\n",
            n, box[0], box[1], box[2], (double)step * dt, step);
        for (int64_t i = 0; i < 3 * n; i += 3)
            fprintf(out, "Ar %.17g %.17g %.17g %.17g %.17g %.17g\n", x[i], x[i + 1],
                    x[i + 2], v[i], v[i + 1], v[i + 2]);
        if (fflush(out) != 0 || ferror(out))
            pith_fail(s, PITH_E_IO, NULL, "%s: the dump cannot be written: %s",
                      files->dump_name, strerror(errno));
        files->dumped = step;
    }
    free(x);
    free(v);
}

/* Skip the rest of a line. Returns false if the line has no end. */
static bool read_line(FILE *in, char *text, size_t room) {
    size_t n = 0;
    int c;
    while ((c = getc(in)) != EOF && c != '\n')
        if (n + 1 < room)
            text[n++] = (char)c;
    text[n] = 0;
    return c == '\n';
}

/* Skip a frame. *whole: it has all its lines. Returns false if it is not a frame of this
 * program. */
static bool read_frame(FILE *in, int64_t *step, bool *whole) {
    char line[1024], *end;
    *whole = read_line(in, line, sizeof line);
    const int64_t atoms = strtoll(line, &end, 10);
    if (!*line || *end || atoms < 1)
        return !*whole && !*line;
    if (*whole)
        *whole = read_line(in, line, sizeof line);
    if (!*whole)
        return true;
    const char *at = strstr(line, " Step=");
    if (!at)
        return false;
    *step = strtoll(at + 6, &end, 10);
    for (int64_t i = 0; *whole && i < atoms; i++)
        *whole = read_line(in, line, sizeof line);
    return !*end;
}

/* Find the end of the frames up to a step. Returns false if the file is not a dump. */
static bool find_end(FILE *in, int64_t last, off_t *end, int64_t *dumped) {
    int64_t step = -1;
    bool whole = true;
    while (whole) {
        if (!read_frame(in, &step, &whole))
            return false;
        if (!whole || step > last)
            break;
        *dumped = step;
        *end = ftello(in);
    }
    return true;
}

static bool cut_back(pith_scope *s, Files *files, int64_t step) {
    const char *path = files->dump_name;
    off_t end = 0;
    if (!find_end(files->dump, step, &end, &files->dumped)) {
        pith_fail(s, PITH_E_FORMAT, NULL,
                  "%s is no dump of this program; it is left alone", path);
        return false;
    }
    if (fseeko(files->dump, end, SEEK_SET) == 0 &&
        ftruncate(fileno(files->dump), end) == 0)
        return true;
    pith_fail(s, PITH_E_IO, NULL, "%s: %s", path, strerror(errno));
    return false;
}

void melt_dump_open(pith_scope *s, Files *files, bool resume, int64_t step) {
    const char *path = files->dump_name;
    struct stat st;
    files->dumped = -1;
    if (resume && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        files->dump = fopen(path, "r+");
        if (!files->dump) {
            pith_fail(s, PITH_E_IO, NULL, "%s: %s", path, strerror(errno));
            return;
        }
    }
    if (files->dump && !cut_back(s, files, step)) {
        fclose(files->dump);
        files->dump = NULL;
    } else if (!files->dump) {
        files->dump = fopen(path, "w");
        if (!files->dump)
            pith_fail(s, PITH_E_IO, NULL, "%s: %s", path, strerror(errno));
    }
}
