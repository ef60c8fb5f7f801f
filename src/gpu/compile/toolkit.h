/* CUDA toolkit libraries, opened at run time. */
#ifndef PITH_GPU_TOOLKIT_H
#define PITH_GPU_TOOLKIT_H

#include <stdbool.h>
#include <stddef.h>

/* The supported major versions of the CUDA libraries, newest first. */
enum { PITHP_TOOLKIT_NEWEST = 13, PITHP_TOOLKIT_OLDEST = 12 };

/* Whether a driver supports libraries of a toolkit's major version. CUDA is compatible
 * within a major version, and newer drivers support older libraries. driver: 1000 major +
 * 10 minor; 0: unknown. */
static inline bool pithp_toolkit_serves(int driver, int major) {
    return driver == 0 || major <= driver / 1000;
}

/* File name of a library such as "cublas" for the index-th version, newest first, that
 * the driver supports. Returns false after the last. */
bool pithp_toolkit_name(const char *library,
                        int driver,
                        int index,
                        char *name,
                        size_t room);

/* Open the newest library that the driver supports: by the loader's search path, then in
 * lib64 of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. If `variable` is set in the
 * environment it names the file instead, and the caller compares its version with the
 * driver's.
 *
 * @return A handle for dlsym; NULL: dlerror() has the reason. */
void *pithp_toolkit_open(const char *variable, const char *library, int driver);
/* The same for a file whose name has no version of the toolkit. */
void *pithp_toolkit_open_file(const char *variable, const char *name);

#endif
