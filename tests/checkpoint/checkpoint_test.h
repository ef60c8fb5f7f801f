/* What the tests of checkpoints share: a folder of their own, whole files, and record
 * types that have every kind of field. */
#ifndef CHECKPOINT_TEST_H
#define CHECKPOINT_TEST_H

#include "checkpoint/checkpoint_internal.h"
#include "pith_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pith/checkpoint.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum Phase { PHASE_SOLID, PHASE_LIQUID, PHASE_GAS } Phase;
static const char *const phase_names[] = {"solid", "liquid", "gas", NULL};

typedef struct Cell {
    double x, y, z;
} Cell;

typedef struct Units {
    const char *length, *energy;
} Units;
PITH_NODE(Units, PITH_STATIC(length), PITH_STATIC(energy))

typedef struct Force {
    double cutoff;
    const Units *units;
} Force;
PITH_NODE(Force, PITH_STATIC(cutoff), PITH_STATIC_RECORD(units, Units))

typedef struct Atoms {
    const pith_array *position, *charge;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "float[n,3]", .unit = "sigma"),
          PITH_LEAF(charge, "i8[n]", .optional = true))

typedef struct Sim {
    const Atoms *atoms, *spare;
    const pith_array *neighbour, *energy;
    const void *extra;
    int64_t width;
    double timestep;
    bool periodic;
    const char *label;
    Phase phase;
    pith_dtype real;
    Cell cell;
    const Force *force;
} Sim;
PITH_NODE(Sim,
          PITH_TYPE_VERSION(3),
          PITH_CHILD(atoms, Atoms),
          PITH_CHILD(spare, Atoms, .optional = true),
          PITH_LEAF(neighbour, "i32[n,width]", .fill = -1),
          PITH_LEAF(energy, "f64"),
          PITH_TREE(extra, .optional = true),
          PITH_STATIC(width, .initial = 4),
          PITH_STATIC(timestep, .initial = 0.005),
          PITH_STATIC(periodic),
          PITH_STATIC(label),
          PITH_STATIC_ENUM(phase, phase_names),
          PITH_STATIC_DTYPE(real),
          PITH_STATIC_STRUCT(cell, x, y, z),
          PITH_STATIC_RECORD(force, Force))

/* A state of n atoms whose values follow from `seed`. */
static PT_UNUSED const Sim *make_sim(pith_scope *s, int64_t n, int seed) {
    double *x = malloc((size_t)n * 3 * sizeof *x);
    int32_t *list = malloc((size_t)n * 4 * sizeof *list);
    for (int64_t i = 0; i < 3 * n; i++)
        x[i] = sin((double)(i + 31 * seed)) * 10;
    for (int64_t i = 0; i < 4 * n; i++)
        list[i] = (int32_t)((i * 7 + seed) % n);
    const Units units = {"sigma", "\u03b5 \"deep\" \\ \t end"};
    const Force force = {2.5, pith_freeze(s, Units, &units)};
    const Atoms atoms = {pith_array_copy(s, PITH_F64, PITH_SHAPE(n, 3), x), NULL};
    const Sim sim = {.atoms = pith_freeze(s, Atoms, &atoms),
                     .neighbour = pith_array_copy(s, PITH_I32, PITH_SHAPE(n, 4), list),
                     .energy = pith_f64(s, -6.77 + seed),
                     .width = 4,
                     .timestep = 0.1,
                     .periodic = true,
                     .label = "melt",
                     .phase = PHASE_LIQUID,
                     .real = PITH_F64,
                     .cell = {1.5, -0.0, 1e300},
                     .force = pith_freeze(s, Force, &force)};
    free(x);
    free(list);
    return pith_freeze(s, Sim, &sim);
}

/* ---- Files ---- */

static PT_UNUSED char ct_folder[256];

/* A new folder that the test works in; in memory where that can be (scripts/test), since
 * files are cut and flushed by the thousand. */
static PT_UNUSED void ct_begin(void) {
    const char *memory = getenv("PITH_TEST_MEMORY");
    if (memory && *memory)
        setenv("TMPDIR", memory, 1);
    else if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    pt_folder(ct_folder);
    cr_assert(chdir(ct_folder) == 0);
}

static PT_UNUSED int ct_count_files(void) {
    int count = 0;
    DIR *listing = opendir(".");
    for (struct dirent *e; (e = readdir(listing));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(listing);
    return count;
}

/* Remove the folder and what is in it. */
static PT_UNUSED void ct_end(void) {
    chmod(".", 0700);
    DIR *listing = opendir(".");
    for (struct dirent *e; (e = readdir(listing));)
        if (unlinkat(dirfd(listing), e->d_name, 0) != 0)
            unlinkat(dirfd(listing), e->d_name, AT_REMOVEDIR);
    closedir(listing);
    cr_assert(chdir("/") == 0 && rmdir(ct_folder) == 0);
}

typedef struct ct_file {
    char *bytes; /* zero behind its end */
    size_t n;
} ct_file;

static PT_UNUSED ct_file ct_read(const char *name) {
    FILE *in = fopen(name, "rb");
    cr_assert(in, "%s is not there", name);
    fseek(in, 0, SEEK_END);
    ct_file f = {.n = (size_t)ftell(in)};
    rewind(in);
    f.bytes = malloc(f.n + 1);
    cr_assert(fread(f.bytes, 1, f.n, in) == f.n);
    f.bytes[f.n] = 0;
    fclose(in);
    return f;
}

static PT_UNUSED void ct_write(const char *name, const void *bytes, size_t n) {
    FILE *out = fopen(name, "wb");
    cr_assert(out && fwrite(bytes, 1, n, out) == n && fclose(out) == 0);
}

/* The only file of the folder whose name ends so. */
static PT_UNUSED char *ct_find(const char *ending) {
    static char name[300];
    int count = 0;
    DIR *listing = opendir(".");
    for (struct dirent *e; (e = readdir(listing));) {
        const size_t n = strlen(e->d_name), m = strlen(ending);
        if (n < m || strcmp(e->d_name + n - m, ending) != 0)
            continue;
        snprintf(name, sizeof name, "%s", e->d_name);
        count++;
    }
    closedir(listing);
    cr_assert(count == 1, "%d files end with %s", count, ending);
    return name;
}

/* How many documents of the folder name a file. */
static PT_UNUSED int ct_named(const char *file) {
    pithp_claims its;
    int count = 0;
    DIR *listing = opendir(".");
    for (struct dirent *e; (e = readdir(listing));)
        if (strstr(e->d_name, ".json") &&
            pithp_folder_claims_of(dirfd(listing), e->d_name, &its))
            for (int i = 0; i < its.count; i++)
                count += strcmp(its.rows[i].file, file) == 0;
    closedir(listing);
    return count;
}

/* Whether every file of the folder is a document or a sidecar that one of them names. */
static PT_UNUSED bool ct_nothing_is_left(void) {
    bool nothing = true;
    DIR *listing = opendir(".");
    for (struct dirent *e; nothing && (e = readdir(listing));)
        nothing = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                  strstr(e->d_name, ".json") || ct_named(e->d_name) > 0;
    closedir(listing);
    return nothing;
}

/* Give a document's text a checksum that fits it, as a forger would. */
static PT_UNUSED void ct_seal(char *text, size_t n) {
    char digest[PITHP_DIGEST_TEXT];
    enum { TAIL = 12 + 32 + 3 };
    pithp_digest_print(pithp_digest_of(text, n - TAIL), digest);
    memcpy(text + n - TAIL + 12, digest, 32);
}

/* Replace all of a text in a document by another one, and its checksum. */
static PT_UNUSED void ct_replace(const char *file, const char *from, const char *to) {
    const ct_file f = ct_read(file);
    char *text = calloc(2, f.n + 4096), *end = text;
    int count = 0;
    for (const char *at = f.bytes; *at;) {
        if (strncmp(at, from, strlen(from)) == 0) {
            end += sprintf(end, "%s", to);
            at += strlen(from);
            count++;
        } else {
            *end++ = *at++;
        }
    }
    cr_assert(count > 0, "%s is not in the document", from);
    ct_seal(text, (size_t)(end - text));
    ct_write(file, text, (size_t)(end - text));
    free(text);
    free(f.bytes);
}

/* Bits, not values: every byte of every leaf. */
static PT_UNUSED bool ct_same_bits(pith_scope *s, const void *a, const void *b) {
    const pith_array *const *x, *const *y;
    const pith_treedef *p = pith_tree_flatten(s, a, &x), *q = pith_tree_flatten(s, b, &y);
    if (!pith_treedef_equal(p, q))
        return false;
    bool same = true;
    for (int64_t i = 0; same && i < pith_treedef_num_leaves(p); i++) {
        const size_t n = pith_array_spec(x[i])->bytes;
        char *u = malloc(n + 1), *v = malloc(n + 1);
        same =
            pith_read(s, x[i], u, n) && pith_read(s, y[i], v, n) && memcmp(u, v, n) == 0;
        free(u);
        free(v);
    }
    return same;
}

#endif
