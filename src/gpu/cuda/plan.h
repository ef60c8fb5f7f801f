/* What the CUDA backend decides without asking a device: plain C, so that every machine
 * tests it. No CUDA header is included here; codes and versions are numbers. */
#ifndef PITH_CUDA_PLAN_H
#define PITH_CUDA_PLAN_H

#include "pith/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Whether a machine will do ---- */

enum { PITHP_CUDA_OLDEST = 12080 }; /* 1000 major + 10 minor, as CUDA counts */

/* What the runtime library says of the machine. */
typedef struct pithp_cuda_machine {
    int runtime;           /* version this library was built with */
    int driver;            /* newest version the driver serves; 0: there is no driver */
    int code;              /* of counting the devices; 0: success */
    const char *code_name; /* such as "cudaErrorNoDevice" */
    int devices;           /* 0 where code is not */
} pithp_cuda_machine;

/* Why device `ordinal` cannot be used, as one line in text; false where nothing is known
 * against it. */
bool pithp_cuda_refused(const pithp_cuda_machine *machine,
                        int ordinal,
                        char *text,
                        size_t room);

/* Codes that refuse one call and leave the device as it was: X(name, value, status).
 * After any other code the device takes no more work of this process. */
#define PITHP_CUDA_REFUSAL_LIST(X)                                                       \
    X(InvalidValue, 1, PITH_E_INTERNAL)                                                  \
    X(MemoryAllocation, 2, PITH_E_MEMORY)                                                \
    X(InvalidConfiguration, 9, PITH_E_INTERNAL)                                          \
    X(CallRequiresNewerDriver, 36, PITH_E_UNSUPPORTED)                                   \
    X(InvalidDeviceFunction, 98, PITH_E_UNSUPPORTED)                                     \
    X(InvalidKernelImage, 200, PITH_E_COMPILE)                                           \
    X(NoKernelImageForDevice, 209, PITH_E_UNSUPPORTED)                                   \
    X(InvalidPtx, 218, PITH_E_COMPILE)                                                   \
    X(JitCompilerNotFound, 221, PITH_E_UNSUPPORTED)                                      \
    X(UnsupportedPtxVersion, 222, PITH_E_UNSUPPORTED)                                    \
    X(JitCompilationDisabled, 223, PITH_E_UNSUPPORTED)                                   \
    X(SharedObjectSymbolNotFound, 302, PITH_E_COMPILE)                                   \
    X(SharedObjectInitFailed, 303, PITH_E_COMPILE)                                       \
    X(InvalidResourceHandle, 400, PITH_E_INTERNAL)                                       \
    X(SymbolNotFound, 500, PITH_E_COMPILE)                                               \
    X(LaunchOutOfResources, 701, PITH_E_UNSUPPORTED)                                     \
    X(NotPermitted, 800, PITH_E_UNSUPPORTED)                                             \
    X(NotSupported, 801, PITH_E_UNSUPPORTED)

/* The status of a code other than 0; PITH_E_DEVICE where the device is lost. */
pith_status pithp_cuda_status(int code);

/* Whether a code only says that what was done cannot be captured: a refusal. */
static inline bool pithp_cuda_is_capture(int code) {
    return code >= 900 && code <= 908; /* cudaErrorStreamCaptureUnsupported and on */
}

/* ---- How many threads ---- */

typedef struct pithp_cuda_grid {
    unsigned blocks, threads; /* of a one-dimensional launch */
} pithp_cuda_grid;

/* The grid that gives each of count > 0 indices a thread; false where there cannot be so
 * many. */
bool pithp_cuda_grid_for(int64_t count, pithp_cuda_grid *grid);

/* ---- Copies through pinned memory: segments used in turn ---- */

enum { PITHP_STAGING_SEGMENTS = 4 };
#define PITHP_STAGING_SEGMENT_BYTES ((size_t)1 << 20)

typedef struct pithp_staging {
    int at;      /* segment that is being filled */
    size_t used; /* bytes of it */
} pithp_staging;

typedef struct pithp_staging_piece {
    bool turn; /* another segment begins: the one before is complete, and this one
                  must have been drained */
    int segment;
    size_t offset; /* in the segment */
    size_t bytes;  /* at least 1 for a copy of at least 1 */
} pithp_staging_piece;

/* Where the next bytes of a copy go. */
pithp_staging_piece pithp_staging_next(pithp_staging *staging, size_t bytes);
/* The next piece begins a segment. */
void pithp_staging_turn(pithp_staging *staging);

/* ---- Filling memory with a pattern ---- */

typedef struct pithp_fill_plan {
    bool byte;     /* every byte of the pattern is the same: a plain memset */
    uint64_t word; /* the pattern repeated over 8 bytes */
} pithp_fill_plan;

/* width: 1, 2, 4 or 8. */
pithp_fill_plan pithp_fill_plan_for(const void *pattern, size_t width);

#endif
