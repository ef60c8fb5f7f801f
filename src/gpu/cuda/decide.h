/* CUDA decisions without a device, in plain C, so that every machine tests them. No CUDA
 * header is included; codes and versions are numbers. */
#ifndef PITH_CUDA_PLAN_H
#define PITH_CUDA_PLAN_H

#include "pith/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Supported machines ---- */

enum { PITHP_CUDA_OLDEST = 12080 }; /* 1000 major + 10 minor, as CUDA counts */

/* The machine as the runtime library reports it. */
typedef struct pithp_cuda_machine {
    int runtime;           /* version this library was built with */
    int driver;            /* newest version that the driver supports; 0: no driver */
    int code;              /* of the device count; 0: success */
    const char *code_name; /* such as "cudaErrorNoDevice" */
    int devices;           /* 0 if code is not */
} pithp_cuda_machine;

/* Whether device `ordinal` is known to be unusable; text gets the reason in one line. */
bool pithp_cuda_refused(const pithp_cuda_machine *machine,
                        int ordinal,
                        char *text,
                        size_t room);

/* The device of a process that names none: device 0; in a job with several devices that
 * of its rank within the node (-1: no job). */
int pithp_cuda_ordinal(const pithp_cuda_machine *machine, int64_t local_rank);

/* Codes that refuse one call and leave the device usable: X(name, value, status). After
 * any other code the process cannot use the device. */
#define PITHP_CUDA_REFUSAL_LIST(X)                                                       \
    X(InvalidValue, 1, PITH_E_INTERNAL)                                                  \
    X(MemoryAllocation, 2, PITH_E_MEMORY)                                                \
    X(CudartUnloading, 4, PITH_E_UNSUPPORTED) /* the process ends */                     \
    X(InvalidConfiguration, 9, PITH_E_INTERNAL)                                          \
    X(InvalidSymbol, 13, PITH_E_INTERNAL)                                                \
    X(InvalidHostPointer, 16, PITH_E_INTERNAL)                                           \
    X(InvalidDevicePointer, 17, PITH_E_INTERNAL)                                         \
    X(InvalidMemcpyDirection, 21, PITH_E_INTERNAL)                                       \
    X(CallRequiresNewerDriver, 36, PITH_E_UNSUPPORTED)                                   \
    X(DevicesUnavailable, 46, PITH_E_MEMORY) /* busy, or short of memory */              \
    X(MissingConfiguration, 52, PITH_E_INTERNAL)                                         \
    X(InvalidDeviceFunction, 98, PITH_E_UNSUPPORTED)                                     \
    X(InvalidDevice, 101, PITH_E_INTERNAL)                                               \
    X(InvalidKernelImage, 200, PITH_E_COMPILE)                                           \
    X(DeviceUninitialized, 201, PITH_E_INTERNAL) /* no context is current */             \
    X(NoKernelImageForDevice, 209, PITH_E_UNSUPPORTED)                                   \
    X(UnsupportedLimit, 215, PITH_E_UNSUPPORTED)                                         \
    X(InvalidPtx, 218, PITH_E_COMPILE)                                                   \
    X(JitCompilerNotFound, 221, PITH_E_UNSUPPORTED)                                      \
    X(UnsupportedPtxVersion, 222, PITH_E_UNSUPPORTED)                                    \
    X(JitCompilationDisabled, 223, PITH_E_UNSUPPORTED)                                   \
    X(UnsupportedDevSideSync, 225, PITH_E_UNSUPPORTED)                                   \
    X(InvalidSource, 300, PITH_E_COMPILE)                                                \
    X(FileNotFound, 301, PITH_E_IO)                                                      \
    X(SharedObjectSymbolNotFound, 302, PITH_E_COMPILE)                                   \
    X(SharedObjectInitFailed, 303, PITH_E_COMPILE)                                       \
    X(OperatingSystem, 304, PITH_E_IO)                                                   \
    X(InvalidResourceHandle, 400, PITH_E_INTERNAL)                                       \
    X(IllegalState, 401, PITH_E_INTERNAL)                                                \
    X(LossyQuery, 402, PITH_E_INTERNAL)                                                  \
    X(SymbolNotFound, 500, PITH_E_COMPILE)                                               \
    X(NotReady, 600, PITH_E_INTERNAL)                                                    \
    X(LaunchOutOfResources, 701, PITH_E_UNSUPPORTED)                                     \
    X(HostMemoryAlreadyRegistered, 712, PITH_E_INTERNAL)                                 \
    X(HostMemoryNotRegistered, 713, PITH_E_INTERNAL)                                     \
    X(CooperativeLaunchTooLarge, 720, PITH_E_UNSUPPORTED)                                \
    X(NotPermitted, 800, PITH_E_UNSUPPORTED)                                             \
    X(NotSupported, 801, PITH_E_UNSUPPORTED)                                             \
    X(StreamCaptureUnsupported, 900, PITH_E_INTERNAL) /* conflicts with a capture */     \
    X(StreamCaptureInvalidated, 901, PITH_E_INTERNAL)                                    \
    X(StreamCaptureMerge, 902, PITH_E_INTERNAL)                                          \
    X(StreamCaptureUnmatched, 903, PITH_E_INTERNAL)                                      \
    X(StreamCaptureUnjoined, 904, PITH_E_INTERNAL)                                       \
    X(StreamCaptureIsolation, 905, PITH_E_INTERNAL)                                      \
    X(StreamCaptureImplicit, 906, PITH_E_INTERNAL)                                       \
    X(CapturedEvent, 907, PITH_E_INTERNAL)                                               \
    X(StreamCaptureWrongThread, 908, PITH_E_INTERNAL)                                    \
    X(GraphExecUpdateFailure, 910, PITH_E_UNSUPPORTED)                                   \
    X(InvalidClusterSize, 912, PITH_E_UNSUPPORTED)                                       \
    X(FunctionNotLoaded, 913, PITH_E_COMPILE)                                            \
    X(InvalidResourceType, 914, PITH_E_INTERNAL)                                         \
    X(InvalidResourceConfiguration, 915, PITH_E_INTERNAL)

/* The status of a code other than 0; PITH_E_DEVICE if the device is lost. */
pith_status pithp_cuda_status(int code);

/* Whether a code is about stream captures only, and not about enqueued work. */
static inline bool pithp_cuda_is_capture(int code) {
    return code >= 900 && code <= 908; /* from cudaErrorStreamCaptureUnsupported */
}

/* Whether a code means that the device cannot run the code of this build. */
static inline bool pithp_cuda_is_foreign_code(int code) {
    return code == 98 || code == 200 || code == 209 || code == 222;
}

/* Workspace that a new cuBLAS handle allocates, in bytes, by compute capability (10 major
 * + minor). From the documentation of cuBLAS. */
size_t pithp_cublas_workspace(int arch);

/* "2.28.9" of a version as NCCL counts, 22809; "none" of 0. */
enum { PITHP_NCCL_VERSION_BYTES = 24 };
void pithp_nccl_version_text(int version, char text[PITHP_NCCL_VERSION_BYTES]);

/* ---- Launch configuration ---- */

typedef struct pithp_cuda_grid {
    unsigned blocks, threads; /* of a one-dimensional launch */
} pithp_cuda_grid;

/* The grid with one thread per index, for count > 0. Returns false if the count is over
 * the limit of a grid. */
bool pithp_cuda_grid_for(int64_t count, pithp_cuda_grid *grid);

/* ---- Staging: copies through a ring of pinned segments ---- */

enum { PITHP_STAGING_SEGMENTS = 4 };
#define PITHP_STAGING_SEGMENT_BYTES ((size_t)1 << 20)

typedef struct pithp_staging {
    int at;      /* current segment */
    size_t used; /* bytes in use in it */
} pithp_staging;

typedef struct pithp_staging_piece {
    bool turn; /* begins another segment: the old one is complete, and this one must be
                  drained first */
    int segment;
    size_t offset; /* in the segment */
    size_t bytes;  /* at least 1 for a copy of at least 1 */
} pithp_staging_piece;

/* The place of the next bytes of a copy in the ring. */
pithp_staging_piece pithp_staging_next(pithp_staging *staging, size_t bytes);
/* Make the next piece begin a segment. */
void pithp_staging_turn(pithp_staging *staging);

/* ---- Fills ---- */

typedef struct pithp_fill_plan {
    bool byte;     /* all bytes of the pattern are equal: a plain memset */
    uint64_t word; /* the pattern repeated over 8 bytes */
} pithp_fill_plan;

/* width: 1, 2, 4 or 8. */
pithp_fill_plan pithp_fill_plan_for(const void *pattern, size_t width);

#endif
