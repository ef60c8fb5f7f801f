/* Saving and loading a sharded tree by the ranks of an MPI, in GB/s, and the memory that
 * a rank takes for it beside its shard, in MiB. Peer "c": one plain write with fsync, one
 * plain read, by one process. The files are in the folder BENCH_DIR, or the current one;
 * BENCH_GIB is the size of the tree (1).
 *
 *     mpirun -np 2 bench_checkpoint_ranks            all rows
 *     mpirun -np 2 bench_checkpoint_ranks save       one of save, save-per-node, load
 *     mpirun -np 3 bench_checkpoint_ranks load       what another number of ranks saved
 */
#include "bench.h"
#include "plain_file.h"

#include <fcntl.h>
#include <unistd.h>

enum { LEAVES = 16, REPEATS = 3, PIECE = 1 << 24 };

typedef struct {
    pith_scope *s;
    int64_t rank, ranks;
    const void *tree;
    size_t bytes; /* of all ranks */
    char path[512], plain_path[512];
} Work;

/* A field of /proc/self/status in KiB. */
static long status_of(const char *field) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    long value = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0)
            value = atol(line + strlen(field));
    if (f)
        fclose(f);
    return value;
}

static void forget_peak(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

/* ---- Work ---- */

static void save(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_save(s, w->tree, w->path, NULL);
    pith_scope_close(s);
}

static void save_per_node(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_save(s, w->tree, w->path, &(pith_save_options){.part_per_node = true});
    pith_scope_close(s);
}

static void load(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_load_any(s, NULL, w->path, NULL);
    pith_scope_close(s);
}

static void save_c(Work *w) {
    if (w->rank)
        return;
    char *piece = malloc(PIECE);
    memset(piece, 7, PIECE);
    const int file = open(w->plain_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (size_t done = 0; file >= 0 && done < w->bytes;) {
        const size_t rest = w->bytes - done;
        const ssize_t n = write(file, piece, rest < PIECE ? rest : PIECE);
        if (n <= 0)
            fail("write");
        done += (size_t)n;
    }
    if (file < 0 || fsync(file) != 0 || close(file) != 0)
        fail(w->plain_path);
    free(piece);
}

static void load_c(Work *w) {
    if (!w->rank)
        plain_read(w->plain_path, w->bytes);
}

/* Seconds of a call on all ranks. */
static double seconds_of(Work *w, void (*call)(Work *)) {
    pith_agree(w->s);
    const double start = bench_seconds();
    call(w);
    pith_agree(w->s);
    return bench_seconds() - start;
}

static void
measure(Work *w, const char *row, void (*pith)(Work *), void (*c)(Work *), bool peak) {
    double ours[REPEATS], plain[REPEATS], most = 0;
    pith(w), c(w);
    for (int r = 0; r < REPEATS; r++) {
        forget_peak();
        const long before = status_of("VmRSS:");
        ours[r] = seconds_of(w, pith);
        const double more = (double)(status_of("VmHWM:") - before) / 1024;
        most = more > most ? more : most;
        plain[r] = seconds_of(w, c);
    }
    bench_check(w->s);
    const double gigabytes = (double)w->bytes / 1e9;
    char name[100];
    if (w->rank)
        return;
    snprintf(name, sizeof name, "checkpoint/%s/%d-ranks", row, (int)w->ranks);
    bench_print(name, "GB/s", 2, (const bench_entry[]){{.name = "pith"}, {.name = "c"}},
                (const double[]){gigabytes / bench_median(ours, REPEATS),
                                 gigabytes / bench_median(plain, REPEATS)});
    snprintf(name, sizeof name, "checkpoint/%s-memory/%d-ranks", row, (int)w->ranks);
    if (peak)
        bench_print(name, "MiB", 1, (const bench_entry[]){{.name = "pith"}}, &most);
}

/* Leaves of w->bytes in all, a part of each on this rank. */
static void make_tree(Work *w) {
    const int64_t count = (int64_t)w->bytes / 8 / LEAVES / w->ranks;
    const void *items[LEAVES];
    pith_scope *made = pith_scope_open_in(w->s);
    for (int i = 0; i < LEAVES; i++) {
        const pith_array *a =
            pith_add(made, pith_cast(made, pith_arange(made, PITH_I64, count), PITH_F64),
                     pith_f64(made, i + 0.5 + (double)w->rank));
        items[i] = pith_shard_local(made, a, PITH_SPECS({"", "x", NULL}));
        items[i] = pith_keep_any(w->s, items[i]);
    }
    pith_scope_close(made);
    w->tree = pith_list_make(w->s, LEAVES, items);
}

static bool is_row(const char *only, const char *row) {
    return only && strcmp(only, row) == 0;
}

int main(int argc, char **argv) {
    const char *folder = getenv("BENCH_DIR") ? getenv("BENCH_DIR") : ".",
               *size = getenv("BENCH_GIB");
    const char *only = argc > 1 ? argv[1] : NULL;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    Work w = {.s = pith_scope_open(rt)};
    const pith_mesh_info info =
        pith_mesh_about(pith_mesh_open(w.s, PITH_MESH_AXES({"x", 0}), NULL));
    w.rank = info.rank;
    w.ranks = info.size;
    /* a leaf can be divided by any number of ranks up to 6 */
    const size_t unit = (size_t)60 * LEAVES * sizeof(double);
    w.bytes = (size_t)((size ? atof(size) : 1) * (1 << 30)) / unit * unit;
    snprintf(w.path, sizeof w.path, "%s/bench-ranks.json", folder);
    snprintf(w.plain_path, sizeof w.plain_path, "%s/bench-plain.bin", folder);
    if (!is_row(only, "load")) {
        make_tree(&w);
        bench_check(w.s);
    }
    if (!only || is_row(only, "save-per-node"))
        measure(&w, "save-per-node", save_per_node, save_c, true);
    if (!only || is_row(only, "save"))
        measure(&w, "save", save, save_c, true);
    if (!only || is_row(only, "load"))
        measure(&w, "load", load, load_c, false);
    pith_scope_close(w.s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
