/* What is seen of a run: the thermodynamic table, frames of extended XYZ, the performance
 * line. */
#include "melt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int64_t melt_step(pith_scope *s, const Sim *sim) {
    return pith_failed(s) ? 0 : pith_read_i64(s, sim->step);
}

/* A row as LAMMPS prints it: reduced units, energies per atom. */
static void show_thermo(pith_scope *s, const Sim *sim, int64_t step, Output *output) {
    const Lists *lists = sim->lists;
    const melt_observe_result of_atoms =
        pith_launch(s, melt_observe, sim->atoms->position, sim->atoms->velocity,
                    lists->neighbour, lists->count, sim->box, sim->cutoff);
    const double potential =
        pith_read_f64(s, pith_sum(s, of_atoms.energy, PITH_ALL_AXES));
    const double virial = pith_read_f64(s, pith_sum(s, of_atoms.virial, PITH_ALL_AXES));
    const double kinetic = pith_read_f64(s, pith_sum(s, of_atoms.kinetic, PITH_ALL_AXES));
    double box[3];
    if (!pith_read(s, sim->box, box, sizeof box))
        return;
    const double n = (double)pith_array_spec(lists->count)->count,
                 freedom = n > 1 ? 3 * n - 3 : 1;
    const double pressure = (2 * kinetic + virial) / (3 * box[0] * box[1] * box[2]);
    if (!output->headed)
        printf("%10s %18s %18s %18s %18s %18s\n", "Step", "Temp", "PotEng", "KinEng",
               "TotEng", "Press");
    output->headed = true;
    printf("%10" PRId64 " %18.10g %18.10g %18.10g %18.10g %18.10g\n", step,
           2 * kinetic / freedom, potential / n, kinetic / n, (potential + kinetic) / n,
           pressure);
    fflush(stdout);
}

/* Rows of an array of the atoms, in the order of their numbers, as doubles. */
static const pith_array *
by_id(pith_scope *s, const Atoms *atoms, const pith_array *rows) {
    const pith_array *order = pith_argsort(s, atoms->id, 0, NULL);
    return pith_cast(s, pith_take(s, rows, order, NULL), PITH_F64);
}

static void write_frame(pith_scope *s, const Sim *sim, int64_t step, FILE *out) {
    const int64_t n = pith_array_spec(sim->lists->count)->count;
    const pith_array *position = by_id(s, sim->atoms, sim->atoms->position);
    const pith_array *velocity = by_id(s, sim->atoms, sim->atoms->velocity);
    const size_t bytes = (size_t)n * 3 * sizeof(double);
    double *x = malloc(bytes), *v = malloc(bytes), box[3];
    if (!x || !v)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for a frame of %" PRId64 " atoms",
                  n);
    if (pith_read(s, position, x, bytes) && pith_read(s, velocity, v, bytes) &&
        pith_read(s, sim->box, box, sizeof box)) {
        fprintf(
            out,
            "%" PRId64 "\nLattice=\"%.17g 0 0 0 %.17g 0 0 0 %.17g\" "
            "Properties=species:S:1:pos:R:3:velo:R:3 pbc=\"T T T\" Time=%.10g Step=%" PRId64
            "\n",
            n, box[0], box[1], box[2], (double)step * sim->dt, step);
        for (int64_t i = 0; i < 3 * n; i += 3)
            fprintf(out, "Ar %.17g %.17g %.17g %.17g %.17g %.17g\n", x[i], x[i + 1],
                    x[i + 2], v[i], v[i + 1], v[i + 2]);
        if (fflush(out) != 0 || ferror(out))
            pith_fail(s, PITH_E_IO, NULL, "the dump cannot be written: %s",
                      strerror(errno));
    }
    free(x);
    free(v);
}

int64_t melt_show_every(const Options *o) {
    int64_t a = o->thermo, b = o->dump ? o->dump_every : o->thermo;
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool due(int64_t step, int64_t first, int64_t last, int64_t every) {
    return step == first || step == last || step % every == 0;
}

void melt_show(pith_scope *s, const void *state, int64_t step, void *closure) {
    Output *output = closure;
    const Options *o = output->options;
    if (!output->started)
        output->first = step, output->started = true;
    const int64_t last = output->first + o->steps;
    if (due(step, output->first, last, o->thermo))
        show_thermo(s, state, step, output);
    if (!o->dump || !due(step, output->first, last, o->dump_every))
        return;
    if (!output->dump)
        output->dump = fopen(o->dump, "w");
    if (output->dump)
        write_frame(s, state, step, output->dump);
    else
        pith_fail(s, PITH_E_IO, NULL, "%s: %s", o->dump, strerror(errno));
}

void melt_performance(pith_runtime *rt, const Sim *sim, const Output *output) {
    const int64_t atoms = pith_array_spec(sim->lists->count)->count,
                  steps = output->options->steps;
    const double seconds = output->seconds;
    const int threads = pith_device_threads(rt);
    printf("Performance: %.2f M atom-steps/s (%" PRId64 " atoms, %" PRId64
           " steps, %.3f s, %s",
           seconds > 0 ? (double)atoms * (double)steps / seconds / 1e6 : 0, atoms, steps,
           seconds, pith_device_kind(rt));
    if (threads > 0)
        printf(", %d thread%s", threads, threads == 1 ? "" : "s");
    printf(")\n");
}

void melt_close(Output *output) {
    if (output->dump && fclose(output->dump) != 0)
        fprintf(stderr, "melt: the dump cannot be written: %s\n", strerror(errno));
}
