/* pith mesh: what a launcher of parallel jobs starts, and how fast its ranks reach each
 * other. Every rank runs it; the first one prints. */
#include "command.h"
#include "tool.h"

#include <inttypes.h>
#include <pith/array_collective.h>
#include <pith/mesh.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One rank, as all ranks tell each other. */
typedef struct member {
    char host[64], device[32], kind[64], library[80];
    int64_t node, node_rank, threads, cores;
    char settings[4096]; /* PITH_*: "NAME=value" texts, ended by an empty one */
} member;

extern char **environ;

/* Those that are too long are left out. */
static void list_settings(char *list, size_t room) {
    for (char **e = environ; e && *e; e++) {
        const size_t n = strlen(*e) + 1;
        if (strncmp(*e, "PITH_", 5) != 0 || n >= room)
            continue;
        memcpy(list, *e, n);
        list += n;
        room -= n;
    }
}

static int64_t cores_here(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* Before ranks join: then all take the least instruction set. */
static member describe(const pith_runtime *rt) {
    member m;
    memset(&m, 0, sizeof m);
    snprintf(m.kind, sizeof m.kind, "%.60s", pith_device_name(rt));
    m.cores = cores_here();
    list_settings(m.settings, sizeof m.settings);
    return m;
}

static void place(member *m, const pith_runtime *rt, const pith_mesh_info *info) {
    snprintf(m->host, sizeof m->host, "%s", info->host);
    snprintf(m->device, sizeof m->device, "%s", info->device);
    snprintf(m->library, sizeof m->library, "%.76s", info->library);
    m->node = info->node;
    m->node_rank = info->node_rank;
    m->threads = pith_device_threads(rt);
}

/* All ranks' members, freed by the caller; NULL: the scope has an error. */
static member *gather_members(pith_scope *s, const member *own, int64_t size) {
    const pith_array *bytes = pith_array_copy(s, PITH_U8, PITH_SHAPE(sizeof *own), own);
    member *all = room_for((size_t)size, sizeof *all);
    if (pith_read(s, pith_all_stack(s, bytes, NULL), all, (size_t)size * sizeof *all))
        return all;
    free(all);
    return NULL;
}

/* ---- The ranks ---- */

static void print_members(const member *all, int64_t size) {
    static const char *const heads[] = {"rank",    "node",   "host", "cores",
                                        "threads", "device", "kind"};
    table t = {0};
    table_row *head = table_add(&t);
    for (int i = 0; i < 7; i++)
        head->cells[i] = (cell){.text = text_of("%s", heads[i]), .colour = DIM};
    for (int64_t i = 0; i < size; i++) {
        const member *m = &all[i];
        table_row *row = table_add(&t);
        row->cells[0].text = text_of("%" PRId64, i);
        row->cells[1].text = text_of("%" PRId64 ".%" PRId64, m->node, m->node_rank);
        row->cells[2].text = clean(m->host);
        row->cells[3].text = text_of("%" PRId64, m->cores);
        row->cells[4].text = m->threads ? text_of("%" PRId64, m->threads) : text_of("-");
        row->cells[5].text = clean(m->device);
        row->cells[6].text = clean(m->kind);
    }
    table_print(&t, stdout, terminal_width());
    table_end(&t);
}

static int
print_difference(const char *what, int64_t rank, const char *there, const char *here) {
    char *names[] = {clean(what), clean(there), clean(here)};
    colour_to(stdout, YELLOW);
    printf("differs: rank %" PRId64 " has %s %s, rank 0 has %s\n", rank, names[0],
           names[1], names[2]);
    colour_to(stdout, PLAIN);
    for (int i = 0; i < 3; i++)
        free(names[i]);
    return 1;
}

/* The value of a rank's setting; NULL: it has none. n: of the name. */
static const char *value_of(const member *m, const char *name, size_t n) {
    for (const char *e = m->settings; *e; e += strlen(e) + 1)
        if (strncmp(e, name, n) == 0 && e[n] == '=')
            return e + n + 1;
    return NULL;
}

/* Settings of a rank that rank 0 has not, or with another value; or (missing) those of
 * rank 0 that it has not. */
static int
print_settings(int64_t rank, const member *m, const member *first, bool missing) {
    int count = 0;
    for (const char *e = missing ? first->settings : m->settings; *e;
         e += strlen(e) + 1) {
        const size_t n = strcspn(e, "=");
        const char *there = value_of(m, e, n), *here = value_of(first, e, n);
        if (missing ? there != NULL : here && strcmp(here, there) == 0)
            continue;
        char *name = text_of("%.*s", (int)n, e);
        count += print_difference(name, rank, there ? there : "not set",
                                  here ? here : "it not set");
        free(name);
    }
    return count;
}

/* What slows a job down, or changes between its ranks. Returns the number of lines. */
static int print_differences(const member *all, int64_t size) {
    int count = 0;
    for (int64_t i = 1; i < size; i++) {
        const member *m = &all[i];
        char there[32], here[32];
        if (strcmp(m->kind, all->kind) != 0)
            count += print_difference("a device", i, m->kind, all->kind);
        if (strcmp(m->library, all->library) != 0)
            count += print_difference("the MPI", i, m->library, all->library);
        const int64_t numbers[2][2] = {{m->threads, all->threads},
                                       {m->cores, all->cores}};
        for (int k = 0; k < 2; k++) {
            if (numbers[k][0] == numbers[k][1])
                continue;
            snprintf(there, sizeof there, "%" PRId64, numbers[k][0]);
            snprintf(here, sizeof here, "%" PRId64, numbers[k][1]);
            count += print_difference(k ? "cores" : "threads", i, there, here);
        }
        count += print_settings(i, m, all, false);
        count += print_settings(i, m, all, true);
    }
    return count;
}

/* ---- Times ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef enum { SUM, SUM_UNORDERED, SHIFT, AGREEMENT } measured;

/* Seconds of a call of pith, the greatest of all ranks. */
static double time_pith(pith_scope *s, measured what, int64_t bytes, int64_t repeats) {
    const pith_collective_options unordered = {.unordered = true};
    pith_scope *w = pith_scope_open_in(s);
    const pith_array *a = pith_ones(w, PITH_F64, PITH_SHAPE(bytes / 8));
    double began = 0;
    for (int64_t i = -1; i < repeats; i++) {
        if (i == 0)
            began = now();
        pith_scope *inner = pith_scope_open_in(w);
        if (what == AGREEMENT)
            pith_agree(inner);
        else if (what == SHIFT)
            pith_pshift(inner, a, NULL, 1, true, NULL);
        else
            pith_psum(inner, a, NULL, what == SUM_UNORDERED ? &unordered : NULL);
        pith_scope_close(inner);
    }
    const double own = (now() - began) / (double)repeats;
    const double most = pith_read_f64(w, pith_pmax(w, pith_f64(w, own), NULL));
    pith_scope_close(w);
    return most;
}

static void print_times(pith_scope *s, bool prints) {
    static const int64_t sizes[] = {8, 4096, 65536, 1048576, 8388608};
    const double agreement = time_pith(s, AGREEMENT, 8, 1000);
    const double raw = pith_mesh_time_engine(s, "agree", 0, 1000);
    if (prints)
        printf(
            "\nagreement %.2f us, raw %.2f us\n\n%10s  %-27s  %-17s  %9s\n%10s  %8s %9s %8s  %8s %8s  %9s\n",
            1e6 * agreement, 1e6 * raw, "us a call", " sum over all ranks",
            " to the next rank", "", "bytes", "pith", "any order", "MPI", "pith", "MPI",
            "GB/s");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t bytes = sizes[i], repeats = bytes > 100000 ? 20 : 200;
        const double sum = time_pith(s, SUM, bytes, repeats);
        const double any = time_pith(s, SUM_UNORDERED, bytes, repeats);
        const double raw_sum = pith_mesh_time_engine(s, "reduce", bytes, repeats);
        const double shift = time_pith(s, SHIFT, bytes, repeats);
        const double raw_shift = pith_mesh_time_engine(s, "exchange", bytes, repeats);
        char *size = bytes_text((size_t)bytes);
        if (prints)
            printf("%10s  %8.2f %9.2f %8.2f  %8.2f %8.2f  %9.2f\n", size, 1e6 * sum,
                   1e6 * any, 1e6 * raw_sum, 1e6 * shift, 1e6 * raw_shift,
                   1e-9 * (double)bytes / shift);
        free(size);
    }
}

/* ---- The verb ---- */

static int show(const pith_runtime *rt, pith_scope *s, bool times) {
    member own = describe(rt);
    const pith_mesh_info info =
        pith_mesh_about(pith_mesh_open(s, PITH_MESH_AXES({"ranks", 0}), NULL));
    if (pith_failed(s))
        return TROUBLE;
    if (info.size > 1) /* launchers give their ranks a terminal of their own */
        colours_only_asked();
    place(&own, rt, &info);
    member *all = gather_members(s, &own, info.size);
    int differences = 0;
    if (all && info.rank == 0) {
        printf("%" PRId64 " %s on %" PRId64 " %s, %s%s%s\n\n", info.size,
               plural(info.size, "rank", "ranks"), info.nodes,
               plural(info.nodes, "node", "nodes"), info.transport,
               info.library[0] ? ": " : "", info.library);
        print_members(all, info.size);
        differences = print_differences(all, info.size);
        if (info.size == 1)
            printf("\nOne process. A launcher starts several: mpirun -np 4 pith mesh\n");
    }
    free(all);
    if (times && info.size > 1 && !pith_failed(s))
        print_times(s, info.rank == 0);
    return pith_failed(s) ? TROUBLE : differences ? DIFFERENT : SAME;
}

static int run(pith_scope *unused, const command *c) {
    (void)unused; /* on the host: the ranks are shown with their devices */
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    const int code = show(rt, s, !given(c, "--no-times"));
    if (pith_failed(s))
        complain("mesh", "%s", pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

static const option options[] = {
    {"--no-times", NULL, "only the ranks, without latencies and bandwidths", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb mesh_verb = {
    .name = "mesh",
    .words = "",
    .takes = "no words",
    .least = 0,
    .most = 0,
    .extensions = "",
    .summary = "show the ranks that a launcher starts: mpirun -np 4 pith mesh",
    .more =
        "Ranks, hosts, cores, devices, and what differs between ranks; then times of\n"
        "pith's operations beside those of MPI alone on the same ranks.",
    .options = options,
    .run = run,
    .takes_failed = true, /* a rank tells the others */
};
