/* What the fuzz targets share; see fuzz.h. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

enum { INPUTS_PER_RUNTIME = 1000 };

/* ---- Memory ---- */

static struct { atomic_size_t live, peak; } heap;

static void *allocate(void *closure, size_t bytes, size_t alignment) {
    (void)closure;
    const size_t room = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, room ? room : alignment);
    if (memory) {
        const size_t live = atomic_fetch_add(&heap.live, bytes) + bytes;
        if (live > atomic_load(&heap.peak))
            atomic_store(&heap.peak, live);
    }
    return memory;
}

static void release(void *closure, void *memory, size_t bytes, size_t alignment) {
    (void)closure;
    (void)alignment;
    if (memory)
        atomic_fetch_sub(&heap.live, bytes);
    free(memory);
}

size_t fuzz_peak(void) {
    static size_t base;
    const size_t peak = atomic_load(&heap.peak);
    const size_t over = peak > base ? peak - base : 0;
    base = atomic_load(&heap.live);
    atomic_store(&heap.peak, base);
    return over;
}

static pith_runtime *rt;
static pith_scope *kept;
static void (*make_kept)(pith_scope *s);

pith_runtime *fuzz_runtime(void) {
    static int inputs;
    if (rt && ++inputs % INPUTS_PER_RUNTIME == 0) {
        pith_scope_close(kept);
        pith_close(rt);
        rt = NULL;
        FUZZ_REQUIRE(atomic_load(&heap.live) == 0, "%zu bytes were not given back",
                     (size_t)atomic_load(&heap.live));
    }
    if (!rt) {
        const pith_allocator allocator = {allocate, release, NULL};
        rt = pith_open(&(pith_open_options){
            .device = "host", .threads = 1, .allocator = &allocator});
        FUZZ_REQUIRE(pith_runtime_code(rt) == PITH_OK, "%s", pith_runtime_message(rt));
        kept = pith_scope_open(rt);
        if (make_kept)
            make_kept(kept);
    }
    return rt;
}

void fuzz_keep(void (*make)(pith_scope *s)) {
    make_kept = make;
}

/* ---- Sanitizers ---- */

/* Most of the time of a small input would go to the stacks of allocations and to a
 * quarantine larger than the caches. A finding is run again with both at their defaults.
 */
const char *__asan_default_options(void);
__attribute__((used, visibility("default"))) const char *__asan_default_options(void) {
    return "malloc_context_size=0:quarantine_size_mb=32";
}

/* ---- Files ---- */

static char folder[256];

static void remove_folder(void) {
    DIR *listing = opendir(folder);
    if (!listing)
        return;
    for (struct dirent *e; (e = readdir(listing));)
        unlinkat(dirfd(listing), e->d_name, 0);
    closedir(listing);
    rmdir(folder);
}

void fuzz_folder(void) {
    const char *parent = getenv("TMPDIR");
    if (!parent)
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/pith-fuzz-XXXXXX", parent);
    FUZZ_REQUIRE(mkdtemp(folder) && chdir(folder) == 0, "no folder in %s", parent);
    atexit(remove_folder);
}

void fuzz_write(const char *name, const void *bytes, size_t n) {
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_REQUIRE(file >= 0 && (n == 0 || write(file, bytes, n) == (ssize_t)n), "%s",
                 name);
    close(file);
}

char *fuzz_read(const char *name, size_t *n) {
    FILE *in = fopen(name, "rb");
    FUZZ_REQUIRE(in && fseek(in, 0, SEEK_END) == 0, "%s is not there", name);
    *n = (size_t)ftell(in);
    rewind(in);
    char *bytes = malloc(*n + 1);
    FUZZ_REQUIRE(bytes && fread(bytes, 1, *n, in) == *n, "%s", name);
    fclose(in);
    return bytes;
}
