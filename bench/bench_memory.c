/* Memory: allocation and release of a block with its ledger entry, as for each array,
 * beside malloc and, if installed, mimalloc. The same for requests of instances and for
 * many blocks at once. Page faults of a step that makes a leaf of 64 MiB. Leaves are
 * written, blocks are not. */
#include "bench.h"
#include "gpu/gpu_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>

enum { MANY = 64 };

typedef struct {
    pith_scope *s;
    pith_instance *instance;
    pith_request request;
    size_t bytes;
    void *(*allocate)(size_t bytes);
    void (*release)(void *data);
} work;

static void run_block(void *closure) {
    const work *w = closure;
    pithp_buffer_release(pithp_buffer_make(w->s, w->bytes), 1);
}

static void run_request(void *closure) {
    work *w = closure;
    pith_instance_allocate(w->s, w->instance, &w->request);
    pith_instance_free(w->s, w->instance, "block");
}

static void run_peer(void *closure) {
    const work *w = closure;
    void *volatile data = w->allocate(w->bytes);
    w->release(data);
}

static void run_many(void *closure) {
    const work *w = closure;
    size_t sizes[MANY];
    pithp_buffer *buffers[MANY];
    for (int i = 0; i < MANY; i++)
        sizes[i] = w->bytes;
    pithp_buffers_make(w->s, MANY, sizes, buffers);
    for (int i = 0; i < MANY; i++)
        pithp_buffer_release(buffers[i], 1);
}

static void run_many_of_peer(void *closure) {
    const work *w = closure;
    void *volatile data[MANY];
    for (int i = 0; i < MANY; i++)
        data[i] = w->allocate(w->bytes);
    for (int i = 0; i < MANY; i++)
        w->release(data[i]);
}

typedef void (*run)(void *);

/* One row: `each` operations in a call. */
static void
measure(pith_scope *s, const char *row, run pith, run peer, work entries[3], int each) {
    const bench_entry all[] = {{"pith", pith, &entries[0]},
                               {"malloc", peer, &entries[1]},
                               {"mimalloc", peer, &entries[2]}};
    bench_row(row, "ns", 1e9 / each, entries[2].allocate ? 3 : 2, all);
    bench_check(s);
}

static void measure_size(pith_scope *s, const char *only, size_t bytes, work entries[3]) {
    char row[64];
    for (int i = 0; i < 3; i++)
        entries[i].bytes = bytes;
    entries[0].request = (pith_request){
        .label = "block", .dtype = PITH_U8, .shape = PITH_SHAPE((int64_t)bytes)};
    snprintf(row, sizeof row, "memory/block/%zu", bytes);
    if (bench_wanted(row, only))
        measure(s, row, run_block, run_peer, entries, 1);
    snprintf(row, sizeof row, "memory/request/%zu", bytes);
    if (bytes % 4096 == 0 && bench_wanted(row, only))
        measure(s, row, run_request, run_peer, entries, 1);
    snprintf(row, sizeof row, "memory/many/%zu", bytes);
    if (bytes <= 65536 && bench_wanted(row, only))
        measure(s, row, run_many, run_many_of_peer, entries, MANY);
}

static void measure_blocks(pith_scope *s, const char *only) {
    void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    work entries[3] = {{.s = s, .instance = pith_instance_open(s, "bench", NULL)},
                       {.allocate = malloc, .release = free}};
    if (library) {
        *(void **)&entries[2].allocate = dlsym(library, "mi_malloc");
        *(void **)&entries[2].release = dlsym(library, "mi_free");
    }
    for (size_t bytes = 64; bytes <= (size_t)64 << 20; bytes *= 4)
        measure_size(s, only, bytes, entries);
}

/* Two threads at once on one device. */
static void *run_thread(void *closure) {
    for (int i = 0; i < 1000000; i++)
        run_block(closure);
    return NULL;
}

static void measure_threads(pith_scope *s, const char *only) {
    const char *row = "memory/threads/2";
    double samples[BENCH_REPEATS];
    if (!bench_wanted(row, only))
        return;
    pith_scope *other = pith_scope_open(s->runtime);
    work mine = {.s = s, .bytes = 4096}, theirs = {.s = other, .bytes = 4096};
    for (int r = 0; r < BENCH_REPEATS; r++) {
        pthread_t thread;
        const double start = bench_seconds();
        if (pthread_create(&thread, NULL, run_thread, &theirs) != 0)
            exit(EXIT_FAILURE);
        run_thread(&mine);
        pthread_join(thread, NULL);
        samples[r] = (bench_seconds() - start) / 1000000 * 1e9;
    }
    pith_scope_close(other);
    const bench_entry entry = {.name = "pith"};
    const double value = bench_median(samples, BENCH_REPEATS);
    bench_print(row, "ns", 1, &entry, &value);
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* A step that makes a leaf anew, once the first ones have been made. */
static void measure_faults(pith_scope *s, const char *only) {
    enum { STEPS = 20 };
    const pith_shape shape = PITH_SHAPE(8 << 20);
    const char *row = "memory/faults/64MiB";
    long start = 0;
    if (!bench_wanted(row, only))
        return;
    for (int step = -2; step < STEPS; step++) {
        if (step == 0)
            start = faults();
        pith_drop(s, pith_ones(s, PITH_F64, shape));
    }
    const long pith = faults() - start;
    bench_check(s);
    start = faults();
    for (int step = 0; step < STEPS; step++) {
        char *data = malloc((size_t)64 << 20);
        memset(data, step, (size_t)64 << 20);
        __asm__ volatile("" : : "r"(data) : "memory");
        free(data);
    }
    const bench_entry entries[] = {{.name = "pith"}, {.name = "malloc"}};
    const double values[] = {(double)pith / STEPS, (double)(faults() - start) / STEPS};
    bench_print(row, "faults a step", 2, entries, values);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    bench_check(s);
    measure_blocks(s, only);
    measure_threads(s, only);
    measure_faults(s, only);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
