/* The headers of NumPy's arrays in files. */
#ifndef PITH_NPY_H
#define PITH_NPY_H

#include "tool.h"

typedef struct npy {
    pith_dtype dtype;
    pith_shape shape;
    bool swapped; /* big-endian elements */
    bool fortran; /* the first axis varies fastest */
} npy;

/* The header with its padding; owned. */
char *npy_print(pith_dtype dtype, const pith_shape *shape, size_t *bytes);
enum { NPY_START = 12 }; /* bytes that say how long the header is */
/* Bytes of the whole header from its first NPY_START; 0: this is no array of NumPy's. */
size_t npy_length(const unsigned char start[NPY_START]);
extern const char *const npy_dtype_unknown;
/* NULL, or what is wrong with the header: npy_dtype_unknown, or another text. */
const char *npy_parse(const char *header, size_t bytes, npy *array);
/* Elements as pith has them, from data as the file has them: another array, owned, or
 * `data` itself. */
void *npy_elements(const npy *array, void *data, int64_t count);

#endif
