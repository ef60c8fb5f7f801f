/* Saving and loading 1 GiB in 100 leaves, in GB/s. Peer "c": one plain write with fsync,
 * one plain read. The file is in the folder BENCH_DIR, or the current one. */
#include "bench.h"
#include "plain_file.h"

#include <fcntl.h>
#include <unistd.h>

enum { LEAVES = 100, REPEATS = 3 };

typedef struct {
    pith_scope *s;
    const void *tree;
    size_t bytes;
    char *plain;
    char path[512], plain_path[512];
} Work;

static void save(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_save(s, w->tree, w->path, NULL);
    pith_scope_close(s);
}

static void load(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_load_any(s, NULL, w->path, NULL);
    pith_scope_close(s);
}

static void save_c(Work *w) {
    const int file = open(w->plain_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (size_t done = 0; file >= 0 && done < w->bytes;) {
        const ssize_t n = write(file, w->plain + done,
                                w->bytes - done < 1 << 24 ? w->bytes - done : 1 << 24);
        if (n <= 0)
            fail("write");
        done += (size_t)n;
    }
    if (file < 0 || fsync(file) != 0 || close(file) != 0)
        fail(w->plain_path);
}

static void load_c(Work *w) {
    plain_read(w->plain_path, w->bytes);
}

static void measure(Work *w,
                    const char *row,
                    void (*pith)(Work *),
                    void (*c)(Work *),
                    const char *only) {
    if (!bench_wanted(row, only))
        return;
    double ours[REPEATS], plain[REPEATS];
    pith(w), c(w);
    for (int r = 0; r < REPEATS; r++) {
        double start = bench_seconds();
        pith(w);
        ours[r] = bench_seconds() - start;
        start = bench_seconds();
        c(w);
        plain[r] = bench_seconds() - start;
    }
    bench_check(w->s);
    const double gigabytes = (double)w->bytes / 1e9;
    bench_print(row, "GB/s", 2, (const bench_entry[]){{.name = "pith"}, {.name = "c"}},
                (const double[]){gigabytes / bench_median(ours, REPEATS),
                                 gigabytes / bench_median(plain, REPEATS)});
}

/* How long a save in the background holds up the program, beside one copy of the bytes.
 */
static void measure_pause(Work *w) {
    double ours[REPEATS], plain[REPEATS];
    char *copy = malloc(w->bytes);
    memset(copy, 1, w->bytes);
    for (int r = 0; r < REPEATS; r++) {
        double start = bench_seconds();
        pith_save(w->s, w->tree, w->path, &(pith_save_options){.background = true});
        ours[r] = 1e3 * (bench_seconds() - start);
        pith_save_wait(w->s);
        start = bench_seconds();
        memcpy(copy, w->plain, w->bytes);
        plain[r] = 1e3 * (bench_seconds() - start);
        if (memcmp(copy, w->plain, w->bytes) != 0) /* nor may the copy be left out */
            fail("memcpy");
    }
    free(copy);
    bench_check(w->s);
    bench_print(
        "checkpoint/pause/1GiB", "ms", 2,
        (const bench_entry[]){{.name = "pith"}, {.name = "c"}},
        (const double[]){bench_median(ours, REPEATS), bench_median(plain, REPEATS)});
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv),
               *folder = getenv("BENCH_DIR") ? getenv("BENCH_DIR") : ".";
    if (only && strncmp("checkpoint", only, strlen(only)) != 0 &&
        strncmp(only, "checkpoint", 10) != 0)
        return EXIT_SUCCESS;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    Work w = {.s = pith_scope_open(rt)};
    const int64_t count = ((int64_t)1 << 30) / LEAVES / 8;
    const void *items[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        items[i] =
            pith_add(w.s, pith_cast(w.s, pith_arange(w.s, PITH_I64, count), PITH_F64),
                     pith_f64(w.s, i + 0.5));
    w.tree = pith_list_make(w.s, LEAVES, items);
    bench_check(w.s);
    w.bytes = (size_t)count * 8 * LEAVES;
    w.plain = malloc(w.bytes);
    memset(w.plain, 7, w.bytes);
    snprintf(w.path, sizeof w.path, "%s/bench-checkpoint.json", folder);
    snprintf(w.plain_path, sizeof w.plain_path, "%s/bench-plain.bin", folder);
    if (bench_wanted("checkpoint/save/1GiB", only))
        measure(&w, "checkpoint/save/1GiB", save, save_c, only);
    else
        save(&w), save_c(&w); /* something to load */
    measure(&w, "checkpoint/load/1GiB", load, load_c, only);
    if (bench_wanted("checkpoint/pause/1GiB", only))
        measure_pause(&w);
    pith_scope_close(w.s);
    pith_close(rt);
    free(w.plain);
    return EXIT_SUCCESS;
}
