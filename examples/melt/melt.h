/* The state of the melt, and declarations that the sources share. */
#ifndef MELT_H
#define MELT_H

#include "melt_kernels.h"

#include <pith/pith.h>

typedef struct {
    const pith_array *position, *velocity, *force, *id;
} Atoms;

typedef struct {
    const pith_array *neighbour, *count, *origin, *box;
    int64_t max_neighbours, max_cells;
} Lists;

typedef struct {
    const Atoms *atoms;
    const Lists *lists;
    const pith_array *box, *step;
    double cutoff, skin, dt, compression;
    bool fixed_capacity;
} Sim;

PITH_NODE(Atoms,
          PITH_LEAF(position, "float[n,3]", .unit = "sigma"),
          PITH_LEAF(velocity, "float[n,3]", .unit = "sigma/tau"),
          PITH_LEAF(force, "float[n,3]", .unit = "epsilon/sigma"),
          PITH_LEAF(id, "i32[n]", .doc = "from 0, in the order of the start"))

PITH_NODE(Lists,
          PITH_LEAF(neighbour,
                    "i32[n,max_neighbours]",
                    .doc = "atoms within cutoff + skin"),
          PITH_LEAF(count, "i32[n]", .doc = "entries of each row that are used"),
          PITH_LEAF(origin,
                    "float[n,3]",
                    .unit = "sigma",
                    .doc = "positions at the last build"),
          PITH_LEAF(box, "f64[3]", .unit = "sigma", .doc = "at the last build"),
          PITH_STATIC(max_neighbours, .initial = 8),
          PITH_STATIC(max_cells, .initial = 1))

PITH_NODE(Sim,
          PITH_CHILD(atoms, Atoms),
          PITH_CHILD(lists, Lists),
          PITH_LEAF(box, "f64[3]", .unit = "sigma"),
          PITH_LEAF(step, "i64"),
          PITH_STATIC(cutoff, .initial = 2.5, .unit = "sigma"),
          PITH_STATIC(skin, .initial = 0.3, .unit = "sigma"),
          PITH_STATIC(dt, .initial = 0.005, .unit = "tau"),
          PITH_STATIC(compression, .unit = "1/tau"),
          PITH_STATIC(fixed_capacity))

/* ---- options.c ---- */

typedef struct {
    const char *data, *save, *resume, *dump, *log, *status, *device;
    int64_t steps, steps_per_launch, thermo, save_every, dump_every, initial_capacity;
    double dt, cutoff, skin, compression;
    int64_t seed, batch;
    bool dt_given, compression_given, fixed_capacity, seed_given, jit;
    bool gradient;  /* forces from the energy by reverse differentiation */
    bool recompute; /* of the energy only its arguments are kept */
    bool ranks;     /* bricks or parts of a batch, also on one rank */
    bool balance;   /* cuts between bricks move */
    bool quiet;     /* of all ranks one prints */
    int threads;
    pith_dtype real; /* PITH_F64 or PITH_F32 */
} Options;

/* Parse the command line. Prints an error or the help, and exits, if it is invalid or
 * asks for help. */
Options melt_options(int argc, char **argv);

/* ---- step.c ---- */

/* The state at step 0, with neighbour lists and forces of these atoms. Force and id are
 * ignored.
 */
const Sim *
melt_start(pith_scope *s, const Atoms *atoms, const pith_array *box, const Options *o);
/* Whether cutoff + skin is less than each side of the box; otherwise an error. */
bool melt_fits(pith_scope *s, const pith_array *box, const Options *o);
/* Compute neighbour lists and forces of the current atoms. */
const Sim *melt_begin(pith_scope *s, const Sim *in);
/* One step of velocity Verlet, with forces of the kernel. */
const Sim *melt_verlet(pith_scope *s, const Sim *in);
/* The step of the options: melt_verlet, or the same with melt_forces; of one melt. */
const pith_function *melt_step(const Options *o);

/* ---- lists.c: cells and lists of neighbours ---- */

/* What lists are made of: own rows, which come first, with neighbours in `reach`. */
typedef struct {
    const pith_array *box; /* f64[3] */
    int64_t own, max_neighbours;
    double reach;
} Listed;

/* Atoms by cells: all of the box, or those of a brick and its ghosts. */
typedef struct {
    const pith_array *grid, *window, *need; /* of melt_cells; need: cells in the window */
    const pith_array *start, *axes, *row;   /* of melt_sort */
} Cells;

/* The order of cells, and atoms with their positions folded into the box. */
typedef struct {
    Cells cells;
    const pith_array *folded, *order; /* float[n,3]; i32[n]: row at each place */
} Sorted;

Sorted melt_sort_by_cells(pith_scope *s,
                          const Atoms *atoms,
                          const pith_array *box,
                          double reach,
                          int64_t max_cells);
/* Lists of the own atoms; entries are rows. */
melt_neighbours_result melt_list(pith_scope *s, const Listed *l, const Cells *cells);

/* ---- batch.c: several melts as one state ---- */

/* Melts of a state: all, and those of this rank, `count` from `first` on. */
typedef struct {
    int64_t all; /* 0: the state is one melt, without a batch axis */
    int64_t first, count;
    bool shared; /* among ranks: leaves are sharded */
} Batch;

/* As many melts as the options say: each leaf gets an axis in front, which ranks share.
 * Of entry k the velocities are those of the seed of the options plus k. */
const Sim *melt_batch(pith_scope *s, const Sim *one, const Options *o);
Batch melt_batch_of(const Sim *sim);
/* Whether a checkpoint is one of a batch. A file that cannot be read is none. */
bool melt_saved_batch(pith_scope *s, const char *path);
/* A batch that one process has saved, shared among ranks. */
const Sim *melt_share(pith_scope *s, const Sim *sim);
/* The melts of this rank, as plain arrays. */
const Sim *melt_here(pith_scope *s, const Sim *sim);
/* A function of one melt for a batch. */
const pith_function *
melt_of_batch(pith_scope *s, const pith_function *f, const Batch *batch);
/* The melt of an entry of plain arrays: the state of its own run. */
const Sim *melt_entry(pith_scope *s, const Sim *sim, int64_t entry);

/* ---- energy.c ---- */

/* Atoms with lists, and rows that are in lists only. */
typedef struct {
    const pith_array *position;  /* float[m,3]: those with lists first */
    const pith_array *neighbour; /* i32[n,max_neighbours] */
    const pith_array *box;
    double cutoff;
} Pairs;

/* The potential energy of the atoms with lists, half of each of their pairs, by array
 * operations: a scalar. */
const pith_array *melt_energy_of(pith_scope *s, const Pairs *p);
const pith_array *melt_energy(pith_scope *s, const Sim *sim);
/* The negative gradient of melt_energy with respect to the positions. With recompute the
 * backward half computes values of the energy again: the same bits. */
const pith_array *melt_forces(pith_scope *s, const Sim *sim, bool recompute);

/* ---- lattice.c, data.c: initial atoms ---- */

/* Atoms of the start with the numbers from `first` on: all, or a slice. */
typedef struct {
    int64_t atoms, first, count;       /* in all; those here */
    const double *position, *velocity; /* [count, 3] */
    double lengths[3]; /* of the box, which has corners at 0 and lengths */
} Slice;

/* The same as a state has it. */
typedef struct {
    const pith_array *position, *velocity, *box; /* float[count,3] twice, f64[3] */
    int64_t atoms, first, count;
} Start;

/* The first number of a slice, of `parts` slices of about the same size. */
int64_t melt_slice_begin(int64_t atoms, int64_t part, int64_t parts);
/* A slice of the initial atoms: from the data file of the options, or of a lattice. */
Start melt_read_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts);
/* The initial state of all of them. */
const Sim *melt_read(pith_scope *s, const Options *o);
/* Read atoms from a LAMMPS data file. The error of the scope names an invalid line; one
 * outside of the slice may be read by another rank alone. */
Start melt_data_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts);
/* 4,000 atoms of a face-centred cubic lattice of density 0.8442, at temperature 1.44. */
Start melt_lattice_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts);
const Sim *melt_lattice(pith_scope *s, const Options *o);
/* Arrays of atoms. With --seed the velocities are those of the seed. */
Start melt_start_of(pith_scope *s, const Options *o, const Slice *slice);
/* Make a state of atoms given as doubles, [n, 3] each. */
const Sim *melt_atoms(pith_scope *s,
                      const Options *o,
                      int64_t count,
                      const double *position,
                      const double *velocity,
                      const double lengths[3]);
/* Velocities f64[count, 3] of a Maxwell-Boltzmann distribution at temperature 1.44. */
const pith_array *melt_velocities(pith_scope *s, const pith_array *key, int64_t count);

/* ---- observe.c: what a row of the table shows ---- */

/* Atoms of this program, with lists of their neighbours. */
typedef struct {
    const pith_array *position, *velocity, *neighbour, *count, *box; /* of melt_observe */
    double cutoff;
    int64_t atoms; /* of the melt */
    int64_t max_neighbours, max_cells;
    bool bricks; /* other ranks have the others */
} Observed;

/* Sums over the atoms of a melt. Their bits do not depend on the number of ranks. */
typedef struct {
    double potential, kinetic, virial, atoms, volume;
    int64_t most; /* entries of the longest list, for the log */
    int64_t max_neighbours, max_cells;
} Row;

/* With bricks a call of all ranks. Returns false after an error. */
bool melt_observed(pith_scope *s, const Observed *o, Row *row);

/* ---- output.c: output of a run ---- */

/* The files of a melt. */
typedef struct {
    pith_run_log *log; /* NULL: no log */
    FILE *dump;        /* NULL: no dump */
    char *dump_name;
    int64_t dumped; /* step of the last frame in the dump; -1: none */
} Files;

typedef struct {
    const Options *options;
    Files *files;   /* of the melt, or of each of a batch */
    double seconds; /* time of the steps */
    Batch batch;
    bool headed;   /* the header of the table is printed */
    int64_t first; /* step of the initial state */
} Output;

/* Print a row as LAMMPS does: reduced units, energies per atom. The log also has the
 * largest number of neighbours of an atom, and the capacity of the lists. */
void melt_print_row(pith_scope *s,
                    Output *output,
                    int64_t step,
                    int64_t entry,
                    const Row *r);
/* Whether a row is due at a step, and a frame of a dump. */
bool melt_due(const Output *output, int64_t step);
bool melt_frame_due(const Output *output, int64_t step, const Files *files);
/* Greatest common divisor of the intervals of all output. */
int64_t melt_show_every(const Options *o);
/* Open the output files of the options, of a run that starts at output->first; of entry 3
 * of a batch FILE.jsonl is FILE-3.jsonl. A resumed run truncates them to its step. */
void melt_open(pith_scope *s, Output *output);
/* Write a row of the thermodynamic table and of the log, and a frame of the dump, if they
 * are due; of a batch those of each entry. On ranks rank 0 writes the rows of all. */
void melt_show(pith_scope *s, const void *state, int64_t step, void *output);
/* Save each melt of this rank as the checkpoint of a run of its own: FILE.json of entry 3
 * is FILE-3.json. here: of melt_here. */
void melt_save_entries(pith_scope *s, const Sim *here, const Output *output);
/* Report a capacity that has grown to stderr. */
void melt_repaired(pith_scope *s, const pith_repair *repair, void *output);
/* Print the performance, and the reason for the end if not all steps are done. ranks: how
 * many, in words; NULL for one process without ranks. */
void melt_end(pith_scope *s, int64_t atoms, const char *ranks, const Output *output);
void melt_close(Output *output);

/* ---- dump.c: frames of extended XYZ ---- */

/* Open the dump of files->dump_name. With resume, later frames and an incomplete last
 * frame are removed. Sets files->dump and files->dumped. */
void melt_dump_open(pith_scope *s, Files *files, bool resume, int64_t step);
/* A frame of atoms in any order. dt: the length of a step. */
void melt_dump_frame(pith_scope *s,
                     const Atoms *atoms,
                     const pith_array *box,
                     double dt,
                     int64_t step,
                     Files *files);

#endif
