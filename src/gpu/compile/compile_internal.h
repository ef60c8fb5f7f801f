/* C text into functions at run time: by the system's compiler for the host, by NVRTC for
 * CUDA, kept in memory and on disk under a key of all that the code depends on. */
#ifndef PITH_COMPILE_INTERNAL_H
#define PITH_COMPILE_INTERNAL_H

#include "gpu/gpu_internal.h"

/* What a text defines, one or more functions of either form, needing no include:
 *
 *   host  void NAME(const void *args, int64_t begin, int64_t end)
 *         work on indices begin..end; args points at the launch's argument struct
 *   CUDA  extern "C" __global__ void NAME(ARGS args)
 *         the same struct by value; thread blockIdx.x * (int64_t)blockDim.x + threadIdx.x
 *         does the work of the index of that number, if it is less than the count
 *
 * The host compiles C17 with `-O3 -fopenmp-simd`, NVRTC C++17 whose functions are device
 * functions by default. Neither contracts a * b + c. */
enum { PITHP_DEBUG_FILE_BYTES = 1024 };
typedef struct pithp_compile_options {
    const char *name; /* for messages; NULL: "program" */
    bool resources;   /* CUDA: the log lists each kernel's registers and spills */
    /* Where text and code are kept, with debug information: a whole name without its end
     * (".c" and ".so", ".cu" and ".cubin"); "": nowhere. */
    char file[PITHP_DEBUG_FILE_BYTES];
} pithp_compile_options;

enum { PITHP_FUNCTION_NAME_BYTES = 128 };

/* A function of a module that somebody asked for. */
struct pithp_function {
    char name[PITHP_FUNCTION_NAME_BYTES];
    pithp_host_loop loops[PITHP_ISA_COUNT]; /* only the first is set: it was compiled for
                                               the machine */
    const void *cuda;
    pithp_function *next;
};

typedef struct pithp_code_key {
    uint64_t low, high;
} pithp_code_key;

/* Loaded code, counted. */
struct pithp_module {
    atomic_int refs;
    pithp_device *device;
    void *handle; /* the backend's: of dlopen, or a cudaLibrary_t */
    size_t bytes; /* of the image */
    pthread_mutex_t lock;
    pithp_function *functions; /* guarded by lock; freed with the module */
    pithp_code_key key;
    struct pithp_module *newer, *older; /* in the cache of its device */
};

/* Compile text, or find what it was compiled to. *module gets one reference; its code
 * stays loaded as long as one is held. Anything but PITH_OK is also the scope's error:
 * PITH_E_COMPILE with the compiler's first lines, PITH_E_UNSUPPORTED without a compiler.
 */
pith_status pithp_compile(pith_scope *s,
                          const char *text,
                          const pithp_compile_options *options,
                          pithp_module **module);
/* The same for who has no scope; any thread. options must not be NULL. */
pith_status pithp_compile_on(pithp_device *d,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_module **module,
                             pithp_error *e);
/* Fills l->loops or l->cuda; PITH_E_COMPILE where the module has no such function. */
pith_status
pithp_module_find(pith_scope *s, pithp_module *m, const char *name, pithp_launch *l);
pith_status
pithp_module_search(pithp_module *m, const char *name, pithp_launch *l, pithp_error *e);
void pithp_module_retain(pithp_module *m);
/* The last one waits for the device's streams, whose work may run the code. */
void pithp_module_release(pithp_module *m);

/* What became of the texts that a runtime was asked to compile. */
typedef struct pithp_compile_counts {
    int64_t in_memory, on_disk, compiled, evicted, corrupted;
} pithp_compile_counts;
pithp_compile_counts pithp_compile_counted(const pith_runtime *rt);
/* How much code the cache in memory keeps; 0: the default, 256 modules of 64 MiB. */
void pithp_compile_limit(pith_runtime *rt, int modules, size_t bytes);
/* Modules that nobody has a reference to go, also where memory is short; they are found
 * on the disk again. */
void pithp_compile_clear(pith_runtime *rt);

/* Called by the device when it closes, before its backend does: by then every module has
 * been released but by the cache. */
void pithp_compiler_close(pithp_device *d);

/* ---- The host's module slots of the backend table: a shared library by its path ---- */

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
