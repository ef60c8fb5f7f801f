/* Run-time compilation: C text to functions, by the system's compiler for the host and
 * NVRTC for CUDA. Code is cached in memory and on disk, under a key of everything it
 * depends on. */
#ifndef PITH_COMPILE_INTERNAL_H
#define PITH_COMPILE_INTERNAL_H

#include "gpu/gpu_internal.h"

/* A text defines one or more functions of one of these forms, and needs no include:
 *
 *   host  void NAME(const void *args, int64_t begin, int64_t end)
 *         processes indices begin..end; args points to the launch's argument struct
 *   CUDA  extern "C" __global__ void NAME(ARGS args)
 *         takes the same struct by value; thread
 *         blockIdx.x * (int64_t)blockDim.x + threadIdx.x
 *         processes the index of its number, if that is less than the count
 *
 * The host compiles C17 with `-O3 -fopenmp-simd`. NVRTC compiles C++17, where functions
 * are device functions by default. Neither contracts a * b + c. */
enum { PITHP_DEBUG_FILE_BYTES = 1024 };
typedef struct pithp_compile_options {
    const char *name; /* for messages; NULL: "program" */
    bool resources;   /* CUDA: the log lists each kernel's registers and spills */
    /* Where text and code are kept, with debug information: a path without extension
     * (".c" and ".so", ".cu" and ".cubin" are added). "": not kept. */
    char file[PITHP_DEBUG_FILE_BYTES];
} pithp_compile_options;

enum { PITHP_FUNCTION_NAME_BYTES = 128 };

/* A function of a module that was looked up. */
struct pithp_function {
    char name[PITHP_FUNCTION_NAME_BYTES];
    pithp_host_loop loops[PITHP_ISA_COUNT]; /* only the first is set: it was compiled for
                                               this machine */
    const void *cuda;
    pithp_function *next;
};

typedef struct pithp_code_key {
    uint64_t low, high;
} pithp_code_key;

/* A loaded module, reference-counted. */
struct pithp_module {
    atomic_int refs;
    pithp_device *device;
    void *handle; /* of the backend: from dlopen, or a cudaLibrary_t */
    size_t bytes; /* size of the image */
    pthread_mutex_t lock;
    pithp_function *functions; /* guarded by lock; freed with the module */
    pithp_code_key key;
    struct pithp_module *newer, *older; /* LRU list of the device's cache */
};

/* Compile a text, or find its code in a cache. *module gets one reference, which keeps
 * the code loaded. A failure is also the scope's error: PITH_E_COMPILE with the
 * compiler's first lines, PITH_E_UNSUPPORTED without a compiler. */
pith_status pithp_compile(pith_scope *s,
                          const char *text,
                          const pithp_compile_options *options,
                          pithp_module **module);
/* The same without a scope; any thread. options must not be NULL. */
pith_status pithp_compile_on(pithp_device *d,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_module **module,
                             pithp_error *e);
/* Sets l->loops or l->cuda. PITH_E_COMPILE if the module has no such function. */
pith_status
pithp_module_find(pith_scope *s, pithp_module *m, const char *name, pithp_launch *l);
pith_status
pithp_module_search(pithp_module *m, const char *name, pithp_launch *l, pithp_error *e);
/* The last release waits for the device's streams, whose work may run the code. */
void pithp_module_release(pithp_module *m);

/* Counters of compile requests, by outcome. */
typedef struct pithp_compile_counts {
    int64_t in_memory, on_disk, compiled, evicted, corrupted;
} pithp_compile_counts;
pithp_compile_counts pithp_compile_counted(const pith_runtime *rt);
/* Set the limits of the memory cache; 0: the defaults, 256 modules and 64 MiB. */
void pithp_compile_limit(pith_runtime *rt, int modules, size_t bytes);
/* Remove unused modules from the memory cache, also called if memory is short. The disk
 * cache still has them. */
void pithp_compile_clear(pith_runtime *rt);

/* Called when the device closes, before its backend closes. By then only the cache holds
 * modules. */
void pithp_compiler_close(pithp_device *d);

/* ---- Module operations of the host backend: a shared library by its path ---- */

pith_status pithp_library_load(pithp_device *d,
                               const void *path,
                               size_t bytes,
                               pithp_module *m,
                               pithp_error *e);
void pithp_library_unload(pithp_device *d, pithp_module *m);
pith_status pithp_library_find(pithp_device *d,
                               const pithp_module *m,
                               const char *name,
                               pithp_function *f,
                               pithp_error *e);

#endif
