/* What the fuzz targets share: requirements that end the process, files in a folder of
 * its own, and a runtime whose memory is counted.
 *
 * A target is LLVMFuzzerTestOneInput. Under clang with PITH_FUZZ libFuzzer drives it;
 * elsewhere replay.c runs the corpus through it as a test. */
#ifndef FUZZ_H
#define FUZZ_H

#include <pith/pith.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FUZZ_REQUIRE(condition, ...)                                                     \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: not true: %s: ", __FILE__, __LINE__, #condition);    \
            fprintf(stderr, __VA_ARGS__);                                                \
            fputc('\n', stderr);                                                         \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* The runtime of all inputs: opened at the first, and anew from time to time, when all
 * that it had must have been given back. */
pith_runtime *fuzz_runtime(void);
/* What `make` makes in a scope of every such runtime stays until that is closed. To be
 * said before the first runtime. */
void fuzz_keep(void (*make)(pith_scope *s));
/* Bytes of host memory that were live at most since the last call, over what was then. */
size_t fuzz_peak(void);
/* Change into a new folder, in memory where that can be; it goes away at exit. */
void fuzz_folder(void);
void fuzz_write(const char *name, const void *bytes, size_t n);
/* The bytes of a file, freed by the caller. */
char *fuzz_read(const char *name, size_t *n);

#endif
