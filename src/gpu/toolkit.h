/* Libraries of a CUDA toolkit, opened at run time. */
#ifndef PITH_GPU_TOOLKIT_H
#define PITH_GPU_TOOLKIT_H

/* The first of the names that the loader finds, or that a toolkit has in its usual place:
 * $CUDA_HOME, $CUDA_PATH or /usr/local/cuda. The file of an environment variable counts
 * instead, if it is set.
 *
 * @return For dlsym; NULL: dlerror() says why.
 */
void *pithp_toolkit_open(const char *variable, const char *const *names, int count);

#endif
