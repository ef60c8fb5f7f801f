/* Libraries of a CUDA toolkit, opened at run time. */
#ifndef PITH_GPU_TOOLKIT_H
#define PITH_GPU_TOOLKIT_H

#include <stdbool.h>
#include <stddef.h>

/* The versions of CUDA whose libraries pith can use, newest first. */
enum { PITHP_TOOLKIT_NEWEST = 13, PITHP_TOOLKIT_OLDEST = 12 };

/* Whether a driver can run what libraries of a toolkit of that major version make or
 * load: CUDA is compatible within a major version, and a newer driver serves older
 * libraries. driver: 1000 major + 10 minor; 0: unknown. */
static inline bool pithp_toolkit_serves(int driver, int major) {
    return driver == 0 || major <= driver / 1000;
}

/* The file name of a library such as "cublas" in the newest version, counted by `index`,
 * that the driver serves; false: there are no more. */
bool pithp_toolkit_name(const char *library,
                        int driver,
                        int index,
                        char *name,
                        size_t room);

/* Open the newest library that the driver serves: from the loader's places, then from
 * lib64 of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. An environment variable that is
 * set names the file instead; the caller compares its version with the driver.
 *
 * @return For dlsym; NULL: dlerror() says why.
 */
void *pithp_toolkit_open(const char *variable, const char *library, int driver);

#endif
