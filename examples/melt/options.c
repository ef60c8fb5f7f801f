/* The command line of the melt. */
#include "melt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: melt [options]\n"
    "\n"
    "Run a Lennard-Jones fluid at constant energy, in reduced units. Without --data: 4,000\n"
    "atoms of a lattice, made on the spot.\n"
    "\n"
    "  --data FILE          read a LAMMPS data file (atom style atomic, orthogonal box)\n"
    "  --resume FILE        go on from a checkpoint; --log and --dump files are cut back to\n"
    "                       its step and go on\n"
    "  --steps N            steps to run (400); further steps after --resume\n"
    "  --steps-per-launch N number of steps in one compiled loop (1)\n"
    "  --dt X               time step (0.005)\n"
    "  --cutoff X           of the potential (2.5)\n"
    "  --skin X             of the neighbour lists (0.3)\n"
    "  --compress X         shrink the box, and the atoms in it, by that part of its sides\n"
    "                       a unit of time (0)\n"
    "  --initial-capacity N room that neighbour lists and cells start with (8); what does\n"
    "                       not suffice grows, and the step is done again\n"
    "  --fixed-capacity     fail instead\n"
    "  --precision P        double or single (double)\n"
    "  --seed N             draw velocities of a Maxwell-Boltzmann distribution at\n"
    "                       temperature 1.44 with the key of N; other N, other velocities\n"
    "  --batch N            run N melts as one batch: entry k, from 0, is the run of its own\n"
    "                       with --seed S + k, bit for bit (S: --seed, or 0). The table shows\n"
    "                       the entry of each row; --log FILE.jsonl and --dump FILE.xyz have\n"
    "                       a file an entry: FILE-k.jsonl, FILE-k.xyz. --save FILE.json saves\n"
    "                       the batch, which --resume goes on with, and at the end each entry\n"
    "                       as a checkpoint of its own: FILE-k.json\n"
    "  --forces F           kernel: forces of a kernel in C (the default); grad: the gradient\n"
    "                       of the energy, an array expression, by reverse differentiation\n"
    "  --recompute          with --forces grad: keep no value of the energy for the backward\n"
    "                       half; the same bits\n"
    "  --jit on|off         run a step as one compiled function (on): the same bits\n"
    "  --thermo N           steps between rows of the table (100); the first and last are shown\n"
    "  --save FILE          save checkpoints there, the last one when the run ends\n"
    "  --save-every N       steps between them\n"
    "  --log FILE           append the rows at multiples of --thermo, as JSON lines\n"
    "  --status FILE        keep step, rate, time left and memory there, as JSON\n"
    "  --dump FILE          write frames as extended XYZ, for OVITO and ASE\n"
    "  --dump-every N       steps between them (100)\n"
    "  --device D           host or cuda (CUDA where there is a device)\n"
    "  --threads N          on the host (one a core)\n"
    "  --ranks              divide the box into bricks, one a rank; without it if a launcher\n"
    "                       such as mpirun has started several processes. The rows are the\n"
    "                       same on any number of ranks, bit for bit, and those of a run\n"
    "                       without bricks; with --forces grad but for rounding. A\n"
    "                       checkpoint may be resumed on any number of ranks, with --ranks\n"
    "                       on one. Ranks share the melts of a --batch instead, of which\n"
    "                       each has as many: the bits and files of one process\n"
    "  --balance            on ranks: move the cuts between bricks to where loads are equal\n"
    "  --help\n"
    "\n"
    "SIGTERM and SIGINT end a run after the steps in progress, with a checkpoint; SIGUSR1\n"
    "saves one.\n";

#define MOST_STEPS 1000000000000000
enum { MOST_CAPACITY = 1 << 24, MOST_THREADS = 1024, MOST_BATCH = 1 << 20 };

static void refuse(const char *option, const char *expected, const char *got) {
    fprintf(stderr, "melt: %s: expected %s, got %s\n", option, expected,
            got && *got ? got : "nothing");
    exit(EXIT_FAILURE);
}

static int64_t whole(const char *option, const char *text, int64_t least, int64_t most) {
    char expected[64], *end = NULL;
    errno = 0;
    const long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < least || value > most) {
        snprintf(expected, sizeof expected, "a whole number from %lld to %lld",
                 (long long)least, (long long)most);
        refuse(option, expected, text);
    }
    return value;
}

static double number(const char *option, const char *text, const char *expected) {
    char *end = NULL;
    const double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !isfinite(value))
        refuse(option, expected, text);
    return value;
}

static double positive(const char *option, const char *text) {
    const double value = number(option, text, "a number above 0");
    if (value <= 0)
        refuse(option, "a number above 0", text);
    return value;
}

static const char *
one_of(const char *option, const char *text, const char *a, const char *b) {
    char expected[64];
    if (!text || (strcmp(text, a) != 0 && strcmp(text, b) != 0)) {
        snprintf(expected, sizeof expected, "%s or %s", a, b);
        refuse(option, expected, text);
    }
    return text;
}

static const char *name(const char *option, const char *text) {
    if (!text || !*text)
        refuse(option, "a file name", text);
    return text;
}

static bool is(const char *argument, const char *option) {
    return strcmp(argument, option) == 0;
}

static void check_batch(const Options *o) {
    if (!o->batch)
        return;
    if (o->seed > INT64_MAX - o->batch)
        refuse("--batch", "seeds of up to 9223372036854775807", "more");
}

Options melt_options(int argc, char **argv) {
    Options o = {.steps = 400,
                 .thermo = 100,
                 .initial_capacity = 8,
                 .dt = 0.005,
                 .cutoff = 2.5,
                 .skin = 0.3,
                 .jit = true,
                 .real = PITH_F64};
    const char *of_state = NULL;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (is(option, "--help")) {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        }
        if (is(option, "--fixed-capacity")) {
            o.fixed_capacity = true;
            continue;
        }
        if (is(option, "--ranks")) {
            o.ranks = true;
            continue;
        }
        if (is(option, "--balance")) {
            o.balance = true;
            continue;
        }
        if (is(option, "--recompute")) {
            o.recompute = true;
            continue;
        }
        if (is(option, "--data"))
            o.data = of_state = name(option, value);
        else if (is(option, "--resume"))
            o.resume = name(option, value);
        else if (is(option, "--save"))
            o.save = name(option, value);
        else if (is(option, "--dump"))
            o.dump = name(option, value);
        else if (is(option, "--log"))
            o.log = name(option, value);
        else if (is(option, "--status"))
            o.status = name(option, value);
        else if (is(option, "--steps"))
            o.steps = whole(option, value, 0, MOST_STEPS);
        else if (is(option, "--steps-per-launch"))
            o.steps_per_launch = whole(option, value, 1, MOST_STEPS);
        else if (is(option, "--thermo"))
            o.thermo = whole(option, value, 1, MOST_STEPS);
        else if (is(option, "--save-every"))
            o.save_every = whole(option, value, 1, MOST_STEPS);
        else if (is(option, "--dump-every"))
            o.dump_every = whole(option, value, 1, MOST_STEPS);
        else if (is(option, "--initial-capacity"))
            o.initial_capacity = whole(option, value, 1, MOST_CAPACITY),
            of_state = option;
        else if (is(option, "--threads"))
            o.threads = (int)whole(option, value, 1, MOST_THREADS);
        else if (is(option, "--dt"))
            o.dt = positive(option, value), o.dt_given = true;
        else if (is(option, "--compress"))
            o.compression = number(option, value, "a number"), o.compression_given = true;
        else if (is(option, "--cutoff"))
            o.cutoff = positive(option, value), of_state = option;
        else if (is(option, "--skin"))
            o.skin = positive(option, value), of_state = option;
        else if (is(option, "--seed"))
            o.seed = whole(option, value, 0, INT64_MAX), o.seed_given = true,
            of_state = option;
        else if (is(option, "--batch"))
            o.batch = whole(option, value, 1, MOST_BATCH), of_state = option;
        else if (is(option, "--jit"))
            o.jit = is(one_of(option, value, "on", "off"), "on");
        else if (is(option, "--forces"))
            o.gradient = is(one_of(option, value, "kernel", "grad"), "grad");
        else if (is(option, "--device"))
            o.device = one_of(option, value, "host", "cuda");
        else if (is(option, "--precision")) {
            o.real = is(one_of(option, value, "double", "single"), "single") ? PITH_F32
                                                                             : PITH_F64;
            of_state = option;
        } else
            refuse(option, "an option (melt --help lists them)", "another argument");
        i++;
    }
    if (o.resume && of_state) {
        fprintf(
            stderr,
            "melt: --resume: the checkpoint holds the state; %s%s does not go with it\n",
            of_state == o.data ? "--data " : "", of_state);
        exit(EXIT_FAILURE);
    }
    if (o.save_every && !o.save)
        refuse("--save-every", "--save FILE with it", "none");
    if (o.dump_every && !o.dump)
        refuse("--dump-every", "--dump FILE with it", "none");
    if (o.dump && !o.dump_every)
        o.dump_every = 100;
    if (o.recompute && !o.gradient)
        refuse("--recompute", "--forces grad with it", "--forces kernel");
    if (o.steps_per_launch > 1 && !o.jit)
        refuse("--steps-per-launch", "--jit on with it", "--jit off");
    check_batch(&o);
    return o;
}
