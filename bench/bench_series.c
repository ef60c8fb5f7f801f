/* Incremental and compressed saves beside full ones of the same state, loads of documents
 * with many records that are upgraded or completed, and the pith command on a large file.
 * Files are in the folder BENCH_DIR, or the current one. */
#include "bench.h"

#include <fcntl.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

enum { LEAVES = 64, LEAF_BYTES = 4 << 20, REPEATS = 5, CHUNK = 1 << 20 };

typedef struct Work {
    pith_scope *s;
    char path[512], plain_path[512];
    const void *items[LEAVES];
    int turn;
} Work;

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static void measure(Work *w,
                    const char *row,
                    const char *unit,
                    double scale,
                    const char *peer,
                    void (*pith)(Work *),
                    void (*other)(Work *),
                    int repeats,
                    const char *only) {
    if (!bench_wanted(row, only))
        return;
    double ours[REPEATS], theirs[REPEATS];
    if (repeats > 1)
        pith(w), other(w);
    for (int r = 0; r < repeats; r++) {
        double start = bench_seconds();
        pith(w);
        ours[r] = bench_seconds() - start;
        start = bench_seconds();
        other(w);
        theirs[r] = bench_seconds() - start;
    }
    bench_check(w->s);
    const double a = bench_median(ours, repeats), b = bench_median(theirs, repeats);
    const double values[] = {scale > 0 ? a * scale : -scale / a,
                             scale > 0 ? b * scale : -scale / b};
    bench_print(row, unit, 2, (const bench_entry[]){{.name = "pith"}, {.name = peer}},
                values);
}

/* ---- 256 MiB in 64 leaves, one of which changes ---- */

static int32_t *neighbours(void) {
    static int32_t list[LEAF_BYTES / 4];
    for (int i = 0; i < LEAF_BYTES / 4; i++)
        list[i] = i % 160 < 90 ? (int32_t)(i / 160 + i * 7919 % 3000) : -1;
    return list;
}

static void make_leaves(Work *w) {
    for (int i = 0; i < LEAVES; i++)
        w->items[i] =
            pith_array_copy(w->s, PITH_I32, PITH_SHAPE(LEAF_BYTES / 4), neighbours());
}

static void save_incremental(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    const void *items[LEAVES];
    memcpy(items, w->items, sizeof items);
    items[0] = pith_full(s, PITH_I32, PITH_SHAPE(LEAF_BYTES / 4), w->turn++);
    pith_save(s, pith_list_make(s, LEAVES, items), w->path,
              &(pith_save_options){.keep = 2, .incremental = true});
    bench_check(s);
    pith_scope_close(s);
}

static void write_all(int file, const void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        const ssize_t now = write(file, (const char *)bytes + done, n - done);
        if (now <= 0)
            fail("write");
        done += (size_t)now;
    }
}

static int create(const Work *w) {
    const int file = open(w->plain_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        fail(w->plain_path);
    return file;
}

static void finish(int file) {
    if (fsync(file) != 0 || close(file) != 0)
        fail("fsync");
}

static void write_one(Work *w) {
    const int file = create(w);
    write_all(file, neighbours(), LEAF_BYTES);
    finish(file);
}

static void save_compressed(Work *w) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_save(s, pith_list_make(s, LEAVES, w->items), w->path,
              &(pith_save_options){.compress = 1});
    bench_check(s);
    pith_scope_close(s);
}

static void write_compressed(Work *w) {
    static char packed[2 * CHUNK];
    ZSTD_CCtx *context = ZSTD_createCCtx();
    const int file = create(w);
    const char *from = (const char *)neighbours();
    for (int i = 0; i < LEAVES; i++)
        for (size_t at = 0; at < LEAF_BYTES; at += CHUNK)
            write_all(
                file, packed,
                ZSTD_compressCCtx(context, packed, sizeof packed, from + at, CHUNK, 1));
    finish(file);
    ZSTD_freeCCtx(context);
}

/* ---- Records ---- */

typedef struct Old {
    const pith_array *x;
    int64_t k;
} Old;
PITH_NODE(Old, PITH_LEAF(x, "f64"), PITH_STATIC(k))

typedef struct New {
    const pith_array *x, *y;
    int64_t n;
} New;
static void old_to_new(pith_scope *s, pith_upgrade *u) {
    pith_upgrade_rename(s, u, ".k", ".n");
    pith_upgrade_set(s, u, ".y", pith_upgrade_array(s, u, ".x"));
}
PITH_NODE(New,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, old_to_new),
          PITH_LEAF(x, "f64"),
          PITH_LEAF(y, "f64"),
          PITH_STATIC(n))

typedef struct Wide {
    const pith_array *x, *y;
    int64_t k;
} Wide;
PITH_NODE(Wide, PITH_LEAF(x, "f64"), PITH_LEAF(y, "f64"), PITH_STATIC(k))

static const void *wide; /* what fields come from that the file lacks */

static void make_records(Work *w, int64_t count) {
    const void **olds = malloc((size_t)count * sizeof *olds),
               **wides = malloc((size_t)count * sizeof *wides);
    const pith_array *one = pith_f64(w->s, 1);
    if (!olds || !wides)
        fail("malloc");
    for (int64_t i = 0; i < count; i++) {
        olds[i] = pith_freeze(w->s, Old, &(const Old){one, i});
        wides[i] = pith_freeze(w->s, Wide, &(const Wide){one, one, i});
    }
    pith_save(w->s, pith_list_make(w->s, count, olds), w->path, NULL);
    wide = pith_list_make(w->s, count, wides);
    bench_check(w->s);
    free(olds);
    free(wides);
}

static void load(Work *w, const pith_load_options *options) {
    pith_scope *s = pith_scope_open_in(w->s);
    pith_load_any(s, NULL, w->path, options);
    bench_check(s);
    pith_scope_close(s);
}

static void load_plain(Work *w) {
    load(w, NULL);
}
static void load_upgraded(Work *w) {
    load(w, &(pith_load_options){.renames = PITH_RENAMES({"Old", "New"})});
}
static void load_initial(Work *w) {
    load(w,
         &(pith_load_options){.renames = PITH_RENAMES({"Old", "Wide"}), .initial = wide});
}

static void measure_records(Work *w, const char *only) {
    static const int64_t counts[] = {100000, 1000000};
    Old_pith_type(), New_pith_type(), Wide_pith_type();
    for (int i = 0; i < 2; i++) {
        char upgrade[64], initial[64];
        snprintf(upgrade, sizeof upgrade, "checkpoint/upgrade/1e%d", i + 5);
        snprintf(initial, sizeof initial, "checkpoint/initial/1e%d", i + 5);
        if (!bench_wanted(upgrade, only) && !bench_wanted(initial, only))
            continue;
        make_records(w, counts[i]);
        const double each = 1e6 / (double)counts[i];
        measure(w, upgrade, "us/record", each, "plain", load_upgraded, load_plain,
                i ? 1 : 3, only);
        measure(w, initial, "us/record", each, "plain", load_initial, load_plain,
                i ? 1 : 3, only);
    }
}

/* ---- A leaf of 10 GiB, most of it a hole ---- */

static void print_digest(const void *bytes, size_t n, char text[33]) {
    const XXH128_hash_t h = XXH3_128bits(bytes, n);
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

static void write_text(const char *path, const char *text, size_t n) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        fail(path);
    write_all(file, text, n);
    close(file);
}

static void make_large(const Work *w, const char *folder) {
    static const unsigned long long bytes = 10ULL << 30;
    char header[256], text[2048], digest[33], path[600];
    const uint64_t length = 120;
    memset(header, ' ', sizeof header);
    memcpy(header, &length, 8);
    const int used = snprintf(header + 8, sizeof header - 8,
                              "{\"x\":{\"dtype\":\"F64\",\"shape\":[%llu],"
                              "\"data_offsets\":[0,%llu]}}",
                              bytes / 8, bytes);
    header[8 + used] = ' ';
    snprintf(path, sizeof path, "%s/bench-large.safetensors", folder);
    write_text(path, header, 128);
    if (truncate(path, (off_t)(bytes + 128)) != 0)
        fail(path);
    print_digest(header, 128, digest);
    int n = snprintf(
        text, sizeof text,
        "{\"pith\":\"checkpoint\",\n\"format\":2,\n\"sidecars\":[\n"
        "{\"file\":\"bench-large.safetensors\",\"bytes\":%llu,\"data\":128,"
        "\"checksum\":\"%s\"}],\n\"library\":\"0.1.0\",\n\"step\":0,\n\"metadata\":{},\n"
        "\"types\":[],\n\"nodes\":[\n{\"kind\":\"leaf\",\"leaf\":0}],\n\"leaves\":[\n"
        "{\"path\":\"\",\"dtype\":\"f64\",\"shape\":[%llu],\"checksum\":\"%s\","
        "\"sidecar\":0,\"tensor\":\"x\",\"begin\":0,\"end\":%llu}],\n",
        bytes + 128, digest, bytes / 8, digest, bytes);
    print_digest(text, (size_t)n, digest);
    n += snprintf(text + n, sizeof text - (size_t)n, "\"checksum\":\"%s\"}\n", digest);
    write_text(w->path, text, (size_t)n);
}

static void run(const char *command) {
    if (system(command) != 0)
        fail(command);
}

static void show(Work *w) {
    char command[1200];
    snprintf(command, sizeof command, "'%s' show --no-stats '%s' >/dev/null",
             PITH_COMMAND, w->path);
    run(command);
}

/* The process alone. */
static void version(Work *w) {
    (void)w;
    run("'" PITH_COMMAND "' --version >/dev/null");
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv),
               *folder = getenv("BENCH_DIR") ? getenv("BENCH_DIR") : ".";
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    Work w = {.s = pith_scope_open(rt)};
    snprintf(w.path, sizeof w.path, "%s/bench-series.json", folder);
    snprintf(w.plain_path, sizeof w.plain_path, "%s/bench-series.bin", folder);
    make_leaves(&w);
    measure(&w, "checkpoint/incremental/256MiB", "ms", 1e3, "c", save_incremental,
            write_one, REPEATS, only);
    measure(&w, "checkpoint/compressed/256MiB", "GB/s",
            -(double)LEAVES * LEAF_BYTES / 1e9, "c", save_compressed, write_compressed,
            REPEATS, only);
    measure_records(&w, only);
    if (bench_wanted("checkpoint/show/10GiB", only)) {
        make_large(&w, folder);
        measure(&w, "checkpoint/show/10GiB", "ms", 1e3, "process", show, version, REPEATS,
                only);
    }
    pith_scope_close(w.s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
