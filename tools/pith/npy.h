/* Headers of NumPy's array files. */
#ifndef PITH_NPY_H
#define PITH_NPY_H

#include "tool.h"

typedef struct npy {
    pith_dtype dtype;
    pith_shape shape;
    bool swapped; /* big-endian elements */
    bool fortran; /* Fortran order: the first axis varies fastest */
} npy;

/* The padded header; owned. */
char *npy_print(pith_dtype dtype, const pith_shape *shape, size_t *bytes);
enum { NPY_START = 12 }; /* bytes that give the length of the header */
/* Length of the whole header, from its first NPY_START bytes; 0: not a NumPy array. */
size_t npy_length(const unsigned char start[NPY_START]);
extern const char *const npy_dtype_unknown;
/* NULL, or the error: npy_dtype_unknown, or another text. */
const char *npy_parse(const char *header, size_t bytes, npy *array);
/* Elements in pith's layout, from data in the file's layout: a new array, owned, or
 * `data` itself. */
void *npy_elements(const npy *array, void *data, int64_t count);

#endif
